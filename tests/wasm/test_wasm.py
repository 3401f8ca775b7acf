"""The WASM runtime: the same bytes as Python, under Node.js and in Chromium."""

import contextlib
import functools
import http.server
import itertools
import json
import os
import shutil
import subprocess
import threading
from pathlib import Path

import numpy as np
import pytest
from support.browser import complaints, open_browser
from support.commands import run
from support.servers import until

import tagwright as tw
from tagwright.models.model import BUILT_IN

ROOT = Path(__file__).parents[2]
PACKAGE = Path(os.environ.get("TAGWRIGHT_WASM", ROOT / "build" / "wasm" / "package"))
DATA = ROOT / "tests" / "data" / "0.5.0"
KINDS = ["perceptron", "perceptron_parts", "perceptron_edges", "crf", "crf_edges", "hmm", "memm", "bidirectional"]
TEXT = "I can't stay. “Naïve” Dr. Smith 👍 paid US$5.50, didn't he?\nTime flies"
COUNT = 1000

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (PACKAGE / "tagwright.wasm").exists(), reason="`make wasm` builds it; needs emscripten"),
]


def a_thousand_sentences():
    """Sentences of all lengths from the words of the documentation."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").rglob("*.md")))
    return list(itertools.islice((own for own in tw.sentences(text) if len(own) < 60), COUNT))


def different(found, expected):
    """Return the numbers of the sentences whose answers differ."""
    return [s for s, (own, right) in enumerate(zip(found, expected, strict=True)) if own != right]


@pytest.fixture(scope="module")
def given():
    words = json.loads((DATA / "words.json").read_text(encoding="utf-8"))
    models = [{"path": str(DATA / f"{name}.safetensors"), "sentences": words, "k": 3} for name in KINDS]
    models.append({"path": str(BUILT_IN), "sentences": a_thousand_sentences(), "k": 2})
    rng = np.random.default_rng(1)
    scores = {"nodes": rng.normal(size=7 * 5).tolist(), "edges": rng.normal(size=25).tolist(), "L": 5}
    return {"models": models, "text": TEXT, "scores": scores, "explain": [["Time", "flies"], 1, 3]}


@pytest.fixture(scope="module")
def answers(given, tmp_path_factory):
    if not shutil.which("node"):
        pytest.skip("Node.js is not installed")
    path = tmp_path_factory.mktemp("node") / "input.json"
    path.write_text(json.dumps(given), encoding="utf-8")
    command = ["node", Path(__file__).with_name("answers.mjs"), PACKAGE, path]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def test_every_model_answers_as_in_python(given, answers):
    for asked, found in zip(given["models"], answers["models"], strict=True):
        model = tw.load(asked["path"])
        assert (found["labels"], found["probabilistic"]) == (model.labels, model.probabilistic)
        right = model.tag_kbest(asked["sentences"], asked["k"], proba=model.probabilistic)
        expected = [[[one.labels, one.score, one.probability or 0, one.marginals] for one in own] for own in right]
        # Not compared as a whole: the difference of such lists would take minutes to print.
        assert different(found["found"], expected) == [], asked["path"]
    assert len(answers["models"][-1]["found"]) == COUNT


def test_text_is_split_with_places_in_the_string(answers):
    sentences, model = tw.sentences(TEXT), tw.load()
    data = TEXT.encode("utf-16-le")
    for found in (answers["tokens"], answers["text"]):
        assert [own["tokens"] for own in found] == sentences
        for own in found:
            cut = [data[2 * begin : 2 * end].decode("utf-16-le") for begin, end in own["offsets"]]
            assert cut == own["tokens"]
    labels = [[one["labels"] for one in own["labellings"]] for own in answers["text"]]
    assert labels == [[one.labels for one in own] for own in model.tag_kbest(sentences, 2)]


def test_scores_are_decoded_and_summed_as_by_python(given, answers):
    nodes, edges = (np.reshape(given["scores"][name], (-1, 5)) for name in ("nodes", "edges"))
    right, sums = tw.decode(nodes, edges, 3), tw.marginals(nodes, edges, with_edges=True)
    assert answers["paths"] == [{"labels": path.labels.tolist(), "score": path.score} for path in right.paths]
    assert answers["sums"]["nodes"] == sums.nodes.ravel().tolist()
    assert answers["sums"]["edges"] == sums.edges.ravel().tolist()
    assert answers["sums"]["logZ"] == sums.log_z


def test_explanations_are_those_of_python(answers):
    model = tw.load()
    (reason,) = model.explain(["Time", "flies"], 1, [model.labels[3]]).reasons
    found = answers["explain"]["contributions"]
    assert [(one["feature"], one["score"]) for one in found] == [
        (one.feature, one.score) for one in reason.contributions
    ]


def test_errors_have_a_status_and_a_message(answers):
    assert [error[:2] for error in answers["errors"]] == [[True, 2], [True, 1], [True, 1]]
    assert "NaN" in answers["errors"][1][2]
    assert answers["version"] == tw.__version__


def test_the_package_is_small_and_typed():
    packed = subprocess.run(
        ["tar", "-C", PACKAGE, "-cz", "index.js", "tagwright.mjs", "tagwright.wasm"], capture_output=True, check=True
    ).stdout
    assert len(packed) < 350_000
    about = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))
    assert about["version"] == tw.__version__
    types, code = ((PACKAGE / name).read_text(encoding="utf-8") for name in ("index.d.ts", "index.js"))
    for name in ("load", "tokenize", "decode", "marginals", "version", "start"):
        assert f"function {name}(" in types
        assert f"function {name}(" in code


@contextlib.contextmanager
def static_server(folder):
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=folder)
    handler.func.log_message = lambda *_: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def test_the_exported_page_works_without_our_server(tmp_path):
    folder = tmp_path / "public"
    done = run("serve", "--export", folder, "--runtime", PACKAGE)
    assert done.exit_code == 0, done.output
    browser = open_browser(tmp_path / "profile")
    try:
        with static_server(folder) as address:
            browser.get(f"{address}/#text=Time+flies+like+an+arrow.&k=6&token=1")
            until(lambda: browser.execute_script("return document.body.dataset.drawn"))
            model, words = tw.load(), ["Time", "flies", "like", "an", "arrow", "."]
            shown = browser.find_element("id", "best").text.split()
            assert shown == [part for pair in zip(words, model.tag(words), strict=True) for part in pair]
            assert len(browser.find_elements("css selector", "#kbest li")) == 6
            assert browser.find_elements("css selector", "#lattice svg")
            assert "rather than" in browser.find_element("id", "why").text
            assert "suffix ies" in browser.find_element("id", "why").text
            # The same parts as with a server, without what needs one.
            assert [
                part.is_displayed() for part in browser.find_elements("css selector", "#save-json, #curl-part")
            ] == [True, False]
            rule = "#text=Time+flies+like+an+arrow.+They+can+fish.&k=6&allowed=1:NNS"
            browser.execute_script("delete document.body.dataset.drawn; location.hash = arguments[0]", rule)
            until(lambda: browser.execute_script("return document.body.dataset.drawn === location.hash"))
            best = model.tag_kbest([words], 2, proba=True)[0]
            assert best[1].labels[1] == "NNS"
            cost = browser.find_element("id", "cost").text
            assert cost.startswith(f"The rules cost {best[0].score - best[1].score:.3f} in score")
            assert f"and of {100 * best[1].probability:.0f} % without them" in cost
            assert len(browser.find_elements("css selector", "#uncertainty p")) == 2
            sentences = a_thousand_sentences()
            found = browser.execute_async_script(
                """
                const [sentences, done] = arguments;
                import("./wasm/index.js").then(async ({ load }) => {
                  const model = await load(new URL("./models/english.safetensors", location.href));
                  done(model.tag(sentences, { k: 2 }).map((own) => own.labellings.map(
                    (one) => [one.labels, one.score, one.probability, one.labelProbabilities])));
                });
                """,
                sentences,
            )
            right = model.tag_kbest(sentences, 2, proba=True)
            expected = [[[one.labels, one.score, one.probability, one.marginals] for one in own] for own in right]
            assert different(found, expected) == []
            assert complaints(browser) == []
    finally:
        browser.quit()


def test_models_that_need_the_server_are_refused(tmp_path):
    for name, message in {"memm": "not a linear model", "perceptron_edges": "depend on tokens"}.items():
        done = run("serve", "-m", DATA / f"{name}.safetensors", "--export", tmp_path, "--runtime", PACKAGE)
        assert done.exit_code == 2
        assert message in done.output
    assert "--runtime" in run("serve", "--export", tmp_path).output
