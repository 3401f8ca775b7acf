"""The page in a real browser: what a person sees, and what happens when they click."""

import json
import subprocess
from xml.etree import ElementTree

import numpy as np
import pytest
from support.browser import complaints
from support.corpora import ten_sentences
from support.pages import open_page, quiet
from support.servers import served, until

import tagwright as tw
from tagwright.models.model import BUILT_IN

pytestmark = pytest.mark.slow
TIME_FLIES = "#text=Time+flies+like+an+arrow.&k=6"
WORDS = ["Time", "flies", "like", "an", "arrow", "."]
X10, Y10 = ten_sentences()
MANY = 3282  # labels of the largest label set


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    tw.Perceptron(epochs=3).fit(X10, Y10).model_.save(folder / "words.safetensors")
    chunks = [["B-NP" if label == "DT" else "I-NP" if label[0] == "N" else "O" for label in own] for own in Y10]
    tw.CRF(solver=tw.LBFGS(l2=0.1)).fit(X10, chunks).model_.save(folder / "chunks.safetensors")
    columns = [list(map(list, zip(*own, strict=True))) for own in zip(X10, Y10, strict=True)]
    template = "U0:%x[0,0]\nU1:%x[0,1]\nB\n"
    tw.Perceptron(features=template, epochs=3).fit(columns, chunks).model_.save(folder / "columns.safetensors")
    # Every label once or twice, each word with some labels.
    rng = np.random.default_rng(0)
    labels = [f"{kind}{n}" for n in range(MANY // 6) for kind in ("NN-", "VB-", "JJ-", "RB-", "IN-", "DT-")]
    X = [[f"w{n}" for n in rng.integers(0, 400, 20)] for _ in range(2 * MANY // 20 + 1)]
    order = iter(np.concatenate([rng.permutation(MANY) for _ in range(3)]).tolist())
    y = [[labels[next(order)] for _ in own] for own in X]
    tw.Perceptron(features="U:%x[0,0]\nU1:%x[-1,0]\nB\n", epochs=1).fit(X, y).model_.save(folder / "many.safetensors")
    return folder


@pytest.fixture(scope="module")
def server(models):
    names = [part for name in ("words", "chunks", "columns", "many") for part in ("-m", models / f"{name}.safetensors")]
    with served("-m", f"english={BUILT_IN}", *names) as running:
        yield running


@pytest.fixture(scope="module")
def opened(tmp_path_factory, server, models):
    made = open_page(tmp_path_factory.mktemp("profile"), server)
    made.models = models
    yield made
    made.browser.quit()


@pytest.fixture
def page(opened):
    yield from quiet(opened)


def test_labels_over_words_and_the_best_where_they_differ(page):
    page.open(TIME_FLIES)
    found = tw.load().tag_kbest([WORDS], 6, proba=True)[0]
    assert page.words == WORDS
    assert page.labels == found[0].labels
    said = [element.get_attribute("aria-label") for element in page.all("#best .word")]
    assert said[1] == f"flies: VBZ, {100 * found[0].marginals[1]:.0f} %"
    rows = page.texts("#kbest li")
    assert len(rows) == 6
    assert "proven to be the best" in page.texts("#status")[0]
    for own, row in zip(found[1:], page.all("#kbest li")[1:], strict=True):
        differ = [label for label, best in zip(own.labels, found[0].labels, strict=True) if label != best]
        assert [chip.text for chip in row.find_elements("css selector", ".label")] == differ
    page.picture("light")


def test_the_lattice_has_the_nodes_that_the_server_names(page):
    page.open(TIME_FLIES)
    answer = page.server.post("/v1/lattice", {"text": " ".join(WORDS), "tokenize": "whitespace", "k": 6}).json()
    shown = page.run(
        "return [...document.querySelectorAll('.node')].map((n) => [Number(n.dataset.token), n.dataset.label])"
    )
    assert shown == [[t, node["label"]] for t, column in enumerate(answer["columns"]) for node in column]
    assert len(page.all(".edge")) == len(answer["edges"])
    assert len(page.all(".edge.best")) == len(WORDS) - 1
    assert page.texts(".node.best") == answer["kbest"][0]["labels"]
    cells = dict(zip(page.texts("#heat tbody th"), page.all("#heat tbody tr"), strict=True))
    assert cells["NNS"].find_elements("css selector", "td")[1].text == "42 %"


def test_a_forced_label_changes_the_path_and_a_forbidden_one_too(page):
    page.open(TIME_FLIES)
    before = page.labels
    page.click('.node[data-token="1"][data-label="NNS"]')
    assert page.labels == [*before[:1], "NNS", *before[2:]]
    assert page.texts(".node.best")[1] == "NNS"
    assert page.texts("#rules")[0].startswith("flies is NNS")
    page.click("#rules button")
    assert page.labels == before
    page.click('.choice[data-label="VBZ"] button[aria-label="forbid VBZ"]')
    assert page.labels[1] == "NNS"
    assert page.texts("#rules")[0].startswith("flies is not VBZ")
    page.click('.choice[data-label="VBZ"] button[aria-label="forbid VBZ"]')
    assert page.labels == before
    # Any label of the model may be forced by its name.
    page.browser.find_element("id", "any-label").send_keys("JJ")
    page.click(".choice.any button")
    assert page.labels[1] == "JJ"


def test_why_this_label(page):
    page.open(TIME_FLIES)
    assert not page.all("#token")[0].is_displayed()
    page.click('#best [data-token="1"]')
    why = tw.load().explain(WORDS, 1)
    best, rival = why.reasons
    assert page.texts(".verdict")[0] == f"flies: VBZ rather than NNS, by {why.margin:.3f}"
    rows = page.run(
        "return [...document.querySelectorAll('.reasons tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"
    )
    cells = {row[0]: [float(cell.replace("−", "-").replace("+", "")) for cell in row[1:4]] for row in rows}
    assert cells["all features"][:2] == pytest.approx([best.score, rival.score], abs=1e-3)
    assert cells["edge from NN"][:2] == pytest.approx([best.before.score, rival.before.score], abs=1e-3)
    assert cells["whole labelling"][:2] == pytest.approx([best.total, rival.total], abs=1e-3)
    assert sum(
        own[2] for name, own in cells.items() if name not in ("all features", "whole labelling")
    ) == pytest.approx(why.margin, abs=0.02)
    assert "word flies" in page.text(".unknown")
    # Features are in words, with their names beside them.
    readable = page.texts(".reasons tr[data-kind=feature] th > span")
    assert "lower-case suffix ies" in readable
    named = page.run(
        "return [...document.querySelectorAll('.reasons tr[data-kind=feature]')].map((r) => r.dataset.name)"
    )
    assert "U23:ies" in named
    assert set(named) <= {own.feature for reason in why.reasons for own in reason.contributions}


def test_a_link_shows_the_same_again(page):
    page.open(TIME_FLIES)
    page.click('#best [data-token="3"]')
    page.click('.node[data-token="1"][data-label="NNS"]')
    page.run("document.getElementById('k').value = 3; document.getElementById('k').dispatchEvent(new Event('input'))")
    page.drawn()
    link, labels, rows = page.run("return location.hash"), page.labels, page.texts("#kbest li")
    assert len(rows) == 3
    page.open(link)
    assert (page.labels, page.texts("#kbest li")) == (labels, rows)
    assert page.run("return document.querySelector('#best [aria-selected=true]').dataset.token") == "1"


def test_models_are_compared_by_the_labels_that_both_have(page):
    link = "#text=the+dog+can+see+Kim&k=3"
    page.open(link + "&other=model:words")
    words = ["the", "dog", "can", "see", "Kim"]
    here, there = tw.load(), tw.load(page.models / "words.safetensors")
    pairs = list(zip(words, here.tag(words), there.tag(words), strict=True))
    shared = set(here.labels) & set(there.labels)
    known = [pair for pair in pairs if {pair[1], pair[2]} <= shared]
    same = sum(a == b for _, a, b in known)
    said = page.text("#agreement")
    assert said.startswith(f"{same} of {len(known)} words have the same label")
    assert f"{len(shared)} labels are shared, of {len(here.labels)} and {len(there.labels)}" in said
    rows = page.run(
        "return [...document.querySelectorAll('.differences tbody tr')].map((row) =>"
        "[...row.querySelectorAll('button, .label')].map((e) => e.textContent))"
    )
    assert rows == [list(pair) for pair in known if pair[1] != pair[2]]
    assert all("ms" in side and "edges" in side for side in page.texts(".side"))
    page.open(TIME_FLIES + "&other=decoder:beam")
    assert "6 of 6 words have the same label" in page.text("#agreement")
    assert "not proven" in page.texts(".side")[1]
    # Both models label the same words of the same sentence, although only one of them splits text into sentences.
    page.open("#text=They+can+fish.+Time+flies+like+an+arrow.&sentence=1&other=model:words")
    table = dict(zip(page.texts(".differences button"), page.texts(".differences td:last-child .label"), strict=True))
    labels = dict(zip(WORDS, there.tag(WORDS), strict=True))
    assert table
    assert table == {word: labels[word] for word in table}
    # The other model cannot read this text: its part says so, and the answer stays.
    page.open(TIME_FLIES + "&other=model:columns")
    assert "but the model reads 2" in page.text("#sides")
    assert len(page.labels) == 6


def test_models_without_probabilities_and_with_spans(page):
    page.open("#text=the+dog+can+run&model=words&token=2")
    assert not page.all("#heat-section")[0].is_displayed()
    assert page.labels == page.server.tag(text="the dog can run", model="words")[0]["labels"]
    assert not page.all("#scheme")[0].is_displayed()
    page.open("#text=run+can+the+dog&model=chunks&allowed=1:I-NP")
    rules = {"text": "run can the dog", "model": "chunks", "allowed": [{"1": ["I-NP"]}]}
    assert page.labels == page.server.tag(**rules)[0]["labels"]
    assert page.labels[0] == "O"
    page.click("#scheme")
    assert "scheme=1" in page.run("return location.hash")
    assert page.labels == page.server.tag(**rules, constraints={"scheme": "BIO"})[0]["labels"]
    assert page.labels[:2] == ["B-NP", "I-NP"]
    page.click("#once")
    assert "once=1" in page.run("return location.hash")
    assert page.labels == page.server.tag(**rules, constraints={"scheme": "BIO", "once": True})[0]["labels"]


def test_what_is_typed_is_shown(page):
    page.open(TIME_FLIES)
    page.run(
        "const t = document.getElementById('text'); t.value = 'Dogs bark. Cats sleep.';"
        "t.dispatchEvent(new Event('input'))"
    )
    until(lambda: page.words == ["Dogs", "bark", "."])
    page.drawn()
    assert "sentence 1 of 2" in page.texts("#sentences")[0]
    page.click('#sentences button[aria-label="Next sentence"]')
    assert page.words == ["Cats", "sleep", "."]
    # All text of others is text: nothing of it becomes part of the page.
    page.open("#text=%3Cimg%20src=x%20onerror=alert(1)%3E%20%3Cb%3Ebold%3C/b%3E")
    assert page.all("#best img") == []


def test_an_error_leaves_no_answer_behind(page):
    page.open("#text=Dogs&allowed=0:NOTHING")
    assert page.one("#error").is_displayed()
    assert not page.one("#answer").is_displayed()
    assert "the model has no label" in page.text("#error")
    page.click("#drop")
    assert page.one("#answer").is_displayed()
    assert not page.one("#error").is_displayed()
    # A model that cannot read the text: not the answer of the last model under its name.
    page.set("model", "columns")
    assert not page.one("#answer").is_displayed()
    assert "but the model reads 2" in page.text("#error")
    page.set("model", "english")
    assert page.text("#of-model") == "english, auto"
    complaints(page.browser)  # the browser's own message about the refused request


def test_a_slow_answer_that_arrives_late_is_not_shown(page):
    page.open("#text=the+dog+can+run")
    expected = page.server.tag(sentences=[["the", "dog", "can", "run"]], model="words")[0]["labels"]
    # Requests for one model are answered by hand, and are not ended when they are given up.
    page.run("""
        const real = fetch; window.held = [];
        window.fetch = (path, how) => {
          if (!how?.body?.includes('"chunks"')) return real(path, how);
          return new Promise((go) => held.push(go)).then(() => real(path, { ...how, signal: null }));
        };
        const model = document.getElementById("model");
        for (const name of ["chunks", "words"]) { model.value = name; model.dispatchEvent(new Event("change")); }
    """)
    until(lambda: page.text("#of-model") == "words, auto")
    page.browser.execute_async_script("""
        const done = arguments[0], json = Response.prototype.json;
        Response.prototype.json = async function () {
          const made = await json.call(this);
          setTimeout(done); // after what waits for the answer
          return made;
        };
        held.forEach((go) => go());
    """)
    assert page.text("#of-model") == "words, auto"
    assert page.run("return document.getElementById('model').value") == "words"
    assert page.labels == expected


def test_decoders_that_a_model_cannot_use_are_disabled(page):
    page.open("#text=the+dog&model=words&decoder=posterior")
    assert page.run("return document.getElementById('decoder').value") == "auto"
    assert "cannot use the decoder posterior" in page.text("#note")
    disabled = page.run(
        "return [...document.querySelectorAll('#decoder option:disabled')].map((o) => [o.value, o.title])"
    )
    assert "posterior" in [name for name, _ in disabled]
    assert all(reason for _, reason in disabled)
    # What is not disabled answers.
    for name in page.run("return [...document.querySelectorAll('#decoder option:enabled')].map((o) => o.value)"):
        page.set("decoder", name)
        assert page.text("#of-model") == f"words, {name}"
        assert len(page.labels) == 2
    page.set("model", "english")
    page.set("decoder", "posterior")
    assert "proven" not in page.text("#status")
    assert "most words expected to be right" in page.text("#status")


def test_columns_have_a_format_examples_and_hints(page):
    text = "the%09DT%0Adog%09NN%0Acan%09MD"
    page.open(f"#model=columns&text={text}")
    rows = [["the", "DT"], ["dog", "NN"], ["can", "MD"]]
    assert page.words == ["the", "dog", "can"]
    assert page.labels == page.server.tag(sentences=[rows], model="columns")[0]["labels"]
    assert "2 columns" in page.text("#format")
    page.set("text", "the DT\ndog NN\n\nKim NNP\ncan MD", "input")
    until(lambda: page.words == ["the", "dog"])
    page.drawn()
    page.click('[data-key="next"]')
    rows = [["Kim", "NNP"], ["can", "MD"]]
    assert page.words == ["Kim", "can"]
    assert page.labels == page.server.tag(sentences=[rows], model="columns")[0]["labels"]
    page.set("text", "the DT\ndog\ncan MD", "input")
    until(page.one("#error").is_displayed)
    assert page.text("#error").startswith("Line 2 (“dog”) has 1 column, but the model reads 2")
    page.set("text", "the dog can", "input")
    until(lambda: "Line 1" in page.text("#error"))
    assert not page.one("#answer").is_displayed()


def test_text_that_is_split_at_blanks_has_a_warning(page):
    page.open("#model=words&text=the+dog+can+run.")
    assert "“run.” is one word" in page.text("#warning")
    assert page.words == ["the", "dog", "can", "run."]
    page.click("#warning button")
    assert page.words == ["the", "dog", "can", "run", "."]
    assert not page.one("#warning").is_displayed()
    page.open(TIME_FLIES)
    assert not page.one("#warning").is_displayed()


def test_rows_say_which_of_two_equal_words_they_mean(page):
    words = ["the", "can", "can", "can"]
    page.open(f"#model=words&k=6&text={'+'.join(words)}")
    found = tw.load(page.models / "words.safetensors").tag_kbest([words], 6)[0]
    for own, row in zip(found[1:], page.all("#kbest li")[1:], strict=True):
        differ = [t for t in range(4) if own.labels[t] != found[0].labels[t]]
        which = [place.text for place in row.find_elements("css selector", ".which")]
        assert which == [f"word {t + 1}" for t in differ if t > 0]


def test_the_parts_of_a_word_are_linked(page):
    from selenium.webdriver.common.action_chains import ActionChains

    page.open(TIME_FLIES + "&token=1")
    chosen = page.run(
        "return [...document.querySelectorAll('.chosen')].map((e) => [e.dataset.token, e.getAttribute('class')])"
    )
    assert {token for token, _ in chosen} == {"1"}
    kinds = " ".join(names for _, names in chosen)
    assert all(kind in kinds for kind in ("word", "node", "head", "diff"))
    assert page.one("#token").get_attribute("data-token") == "1"
    ActionChains(page.browser).move_to_element(page.one('#best [data-token="2"]')).perform()
    linked = page.run("return [...document.querySelectorAll('.linked')].map((e) => e.dataset.token + e.tagName)")
    assert set(linked) >= {"2DIV", "2g", "2text", "2TD"}
    assert {own[0] for own in linked} == {"2"}
    # A change in a row of the k best leads to its word.
    page.click('#kbest [data-rank="1"] [data-token]')
    page.click('#kbest [data-rank="1"] [data-token]')
    row = page.one('#kbest [data-rank="1"] [data-token]').get_attribute("data-token")
    assert page.run("return location.hash").endswith(f"token={row}")


def test_spans_are_boxes_over_their_words(page):
    text = "the dog can see a long can"
    page.open(f"#model=chunks&text={text.replace(' ', '+')}")
    expected = page.server.tag(sentences=[text.split()], model="chunks", spans=True, proba=True)[0]["spans"]
    assert len(expected) >= 2
    shown = page.run("""
        const box = (e) => e.getBoundingClientRect(), all = (name) => [...document.querySelectorAll(`#best ${name}`)];
        const has = (a, b) => b.left >= a.left && b.right <= a.right && b.top >= a.top && b.bottom < a.bottom;
        return all(".span").map((span) => [Number(span.dataset.start), Number(span.dataset.end), span.textContent,
          all(".word").filter((word) => has(box(span), box(word))).map((word) => Number(word.dataset.token))]);
    """)
    assert [own[:2] for own in shown] == [[span["start"], span["end"]] for span in expected]
    for (start, end, said, words), span in zip(shown, expected, strict=True):
        assert words == list(range(start, end))
        share = span["probability"]
        assert said == f"{span['label']} {'100' if share >= 0.9995 else f'{100 * share:.0f}'} %"
    said = page.one('#best [data-token="1"]').get_attribute("aria-label")
    assert f", in {shown[0][2]}" in said


def test_a_forced_label_has_a_cost(page):
    page.open(TIME_FLIES)
    assert not page.one("#cost").is_displayed()
    assert not any(one.is_displayed() for one in page.all(".given"))
    page.click('.node[data-token="1"][data-label="NNS"]')
    free, given = tw.load().tag_kbest([WORDS], 2, proba=True)[0]
    assert given.labels[1] == "NNS"
    assert page.text("#cost").startswith(f"The rules cost {free.score - given.score:.3f} in score")
    shares = [f"{100 * own.probability:.0f} %" for own in (given, free)]
    assert f"and of {shares[0]} without them, where the best has {shares[1]}" in page.text("#cost")
    assert all(one.is_displayed() for one in page.all(".given"))
    page.click('[data-key="clear"]')
    assert not page.one("#cost").is_displayed()


def test_the_uncertainty_of_a_long_text(page):
    sentences = [["The", "dog", "sleeps", "."], WORDS]
    page.open(f"#text={'+'.join(' '.join(own) for own in sentences)}".replace(" ", "+"))
    found = [own[0] for own in tw.load().tag_kbest(sentences, 1, proba=True)]
    unsure = {(s, t): 1 - p for s, own in enumerate(found) for t, p in enumerate(own.marginals) if p <= 0.95}
    marks = page.run(
        "return [...document.querySelectorAll('#uncertainty mark')].map((e) => [Number(e.dataset.s),"
        "Number(e.dataset.t), Number(e.style.getPropertyValue('--u'))])"
    )
    assert {(s, t): u for s, t, u in marks} == pytest.approx(unsure, abs=0.006)
    text = page.run("return document.getElementById('uncertainty').innerText").split()
    assert text == [word for own in sentences for word in own]
    (s, t), u = max(unsure.items(), key=lambda item: item[1])
    worst = page.one("#worst button")
    assert worst.text == f"{sentences[s][t]} {100 * (1 - u):.0f} %"
    page.click('#uncertainty mark[data-s="1"]')
    assert "sentence 2 of 2" in page.text("#sentences")
    assert page.words == sentences[1]
    assert page.one("#token").is_displayed()
    # Rules for the second sentence are sent for it.
    page.run("document.getElementById('any-label').value = 'NNP'")
    page.click('[data-key="force any"]')
    assert page.labels[int(page.one("#token").get_attribute("data-token"))] == "NNP"


def test_the_uncertainty_of_a_long_text_without_probabilities(page):
    words = ["the", "dog", "can", "see", "a", "long", "can"] * 5
    page.open(f"#model=words&text={'+'.join(words)}")
    rivals = page.server.post("/v1/lattice", {"sentences": [words], "model": "words"}).json()["rivals"]
    least = min(own["margin"] for own in rivals)
    assert page.text("#worst button:first-of-type").endswith(f"{least:.3f} ahead")


def test_saved_as_svg_json_and_curl(page, tmp_path):
    page.browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    page.open(TIME_FLIES + "&allowed=1:NNS")
    page.one("#save-svg").click()
    page.one("#save-json").click()
    until(lambda: {"lattice.svg", "labelling.json"} <= {path.name for path in tmp_path.iterdir()})
    saved = json.loads((tmp_path / "labelling.json").read_text(encoding="utf-8"))
    assert saved["answer"]["kbest"][0]["labels"] == page.labels
    drawn = ElementTree.parse(tmp_path / "lattice.svg").getroot()
    texts = [element.text for element in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert set(texts) == {*WORDS, *(node["label"] for column in saved["answer"]["columns"] for node in column)}
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}path"))) == len(saved["answer"]["edges"])
    fills = {element.get("fill") for element in drawn.iter("{http://www.w3.org/2000/svg}rect")}
    assert len(fills) > 3
    assert all(fill[0] == "#" for fill in fills)
    page.run("document.getElementById('curl-part').open = true")
    done = subprocess.run(["bash", "-c", page.text("#curl")], capture_output=True, check=True)
    answer = json.loads(done.stdout)
    assert answer["kbest"] == saved["answer"]["kbest"]


def test_quotes_and_other_scripts_survive_the_shell(page):
    page.open("#text=It's%20%22na%C3%AFve%22%20%24HOME%20%60x%60%20%F0%9F%91%8D")
    done = subprocess.run(["bash", "-c", page.text("#curl")], capture_output=True, check=True)
    assert json.loads(done.stdout)["tokens"] == page.words


def test_a_model_card(page):
    page.open("#model=chunks&text=the+dog")
    page.run("document.querySelector('#card').closest('details').open = true")
    facts = {
        row.find_element("css selector", "dt").text: row.find_element("css selector", "dd").text
        for row in page.all("#card div")
    }
    assert facts["Learner"] == "crf"
    assert facts["Labels"] == "3"
    model = tw.load(page.models / "chunks.safetensors")
    assert facts["Size of the weights"] == f"{sum(own.nbytes for own in model.arrays.values()) / 1e3:.1f} kB"
    assert facts["Order"] == "1"
    assert facts["Constraints"] == "none"


def test_many_labels_are_offered_by_what_is_typed(page):
    page.open("#model=many&k=2&token=0&text=w7+w8")
    page.run("const e = document.getElementById('any-label'); e.value = 'NN-11'; e.dispatchEvent(new Event('input'))")
    offered = page.run("return [...document.getElementById('labels').options].map((o) => o.value)")
    assert offered == [label for label in tw.load(page.models / "many.safetensors").labels if "NN-11" in label][:50]
    page.run("document.getElementById('any-label').value = 'NN-113'")
    page.click('[data-key="force any"]')
    assert page.labels[0] == "NN-113"


def test_a_server_that_needs_a_token_is_given_one(page, tmp_path):
    secret = tmp_path / "token"
    secret.write_text("the-right-token-of-this-server\n", encoding="utf-8")
    with served("--token-file", secret, ready=False) as server:
        page.browser.get("about:blank")
        page.browser.get(f"{server.address}/{TIME_FLIES}")
        until(lambda: page.all("#token-of-server"))
        for token, message in (("wrong", "the token is wrong"), ("the-right-token-of-this-server", None)):
            page.one("#token-of-server").send_keys(token)
            page.one("#error form button").click()
            until(lambda m=message: m in page.text("#error") if m else page.one("#answer").is_displayed())
        until(lambda: page.labels == tw.load().tag(WORDS))
        assert not page.one("#error").is_displayed()
        assert 'Authorization: Bearer $TOKEN"' in page.text("#curl")
        assert "the-right-token-of-this-server" not in page.run(
            "return document.documentElement.innerHTML + location.href"
        )
    complaints(page.browser)  # the browser's own messages about the refused requests
