"""The C API: the same bytes as Python, from ctypes and from a C99 program, and only its own symbols."""

import ctypes as c
import json
import math
import os
import re
import shutil
import subprocess
import threading
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from support.capi import HEADER, MARGINALS, PROBABILITIES, CapiError, Library, build_folder, library_path, options
from support.corpora import ten_sentences

import tagwright as tw

DATA = Path(__file__).parents[1] / "data" / "0.5.0"
ENGLISH = Path(tw.__file__).parent / "models" / "english.safetensors"
TEXT = "I can't stay. See you at 5pm!\n\n“Naïve” Dr. Smith paid US$5.50, didn't he?\nTime flies like an arrow"


@pytest.fixture(scope="module")
def library():
    return Library(library_path())


def expected(found):
    return [[(one.labels, one.score, one.probability or 0.0, one.marginals) for one in sentence] for sentence in found]


@pytest.mark.parametrize("path", sorted(DATA.glob("*.safetensors")), ids=lambda path: path.stem)
def test_every_kind_of_model_answers_as_in_python(library, path):
    ready = path.stem.endswith("ready_made")
    X = json.loads((DATA / ("ready_made.json" if ready else "words.json")).read_text(encoding="utf-8"))
    model, handle = tw.load(path), library.load(path)
    flags = PROBABILITIES if model.probabilistic else 0
    right = expected(model.tag_kbest(X, 3, proba=model.probabilistic))
    tag = library.tag_features if ready else library.tag
    assert tag(handle, X, k=3, threads=2, flags=flags) == right
    own = library.own
    assert [own.tw_model_label(handle, y).decode() for y in range(own.tw_model_labels(handle))] == model.labels
    assert own.tw_model_columns(handle) == model.columns
    assert own.tw_model_probabilistic(handle) == model.probabilistic
    assert own.tw_model_learner(handle).decode() == model.facts["learner"]
    own.tw_model_free(handle)


def test_models_that_are_trained_here_answer_as_in_python(library, tmp_path):
    X, y = ten_sentences()
    features = "U:%x[0,0]\nUV:%x[-1,0]\nB\n"
    spans = [
        [
            "B-X" if now == "DT" else "I-X" if now == "NN" and before == "DT" else "O"
            for before, now in pairwise(["", *own])
        ]
        for own in y
    ]
    left, right = (tw.MEMM(direction=way, features="U:%x[0,0]\nUY:%y[-1]\n") for way in ("right", "left"))
    numbers = np.random.default_rng(0).normal(size=(4, 3))
    lists = {"v": tw.Vectors(["the", "dog", "can", "kim"], numbers), "l": ["the dog"]}
    vectors = tw.Features("U:%x[0,0]\nUV:%vector[0,0,v]\nUN:%vector[1,0,v]\nUI:%in[0,0,l]\n", lists)
    models = {
        "limited": tw.CRF(features=features, constraints=tw.Constraints(["B-X", "I-X", "O"], "BIO")).fit(X, spans),
        "dictionary": tw.Perceptron(features=features, constraints=tw.Constraints.learnt(X, y)).fit(X, y),
        "spans": tw.MEMM(features="U:%x[0,0]\nUY:%y[-1]\n").fit(X, spans),
        "leftward": tw.MEMM(direction="left", features="U:%x[0,0]\nUY:%y[-1]\n").fit(X, y),
        "order": tw.CRF(features=features, order=2).fit(X, y),
        "both": tw.Bidirectional(left, right).fit(X, y),
        "vectors": tw.CRF(vectors).fit(X, y),
        "memm of vectors": tw.MEMM(features=vectors).fit(X, y),
        "both with vectors": tw.Bidirectional(tw.MEMM(features=vectors), tw.CRF(vectors)).fit(X, y),
    }
    for name, learner in models.items():
        model = learner.model_
        model.save(tmp_path / name)
        handle = library.load(tmp_path / name)
        right_answers = expected(model.tag_kbest(X, 4))
        assert library.tag(handle, X, k=4) == right_answers, name
        library.own.tw_model_free(handle)


def test_text_is_split_and_tagged_as_by_python(library):
    model, handle = tw.load(), library.load(ENGLISH)
    assert library.own.tw_model_tokenizer(handle) == b"english"
    assert library.tag_text(handle, TEXT, k=2) == expected(model.tag_kbest(tw.sentences(TEXT), 2))
    words = [line.split() for line in TEXT.split("\n") if line]
    assert library.tag_text(handle, TEXT, tokenizer=b"whitespace") == expected(model.tag_kbest(words, 1))
    assert library.tag_text(handle, "") == library.tag_text(handle, " \n\n") == []
    library.own.tw_model_free(handle)


def test_offsets_are_those_of_the_tokens_in_bytes(library):
    data, begin, end = TEXT.encode(), c.c_size_t(), c.c_size_t()
    handle, found = library.made("tokenize", data, len(data), None), []
    for s in range(library.own.tw_result_sentences(handle)):
        found.append([])
        for t in range(library.own.tw_result_tokens(handle, s)):
            assert library.own.tw_result_offsets(handle, s, t, c.byref(begin), c.byref(end)) == 1
            found[-1].append(data[begin.value : end.value].decode())
    library.own.tw_result_free(handle)
    assert found == tw.sentences(TEXT)


def test_marginals_of_a_model_are_those_of_python(library):
    model, handle = tw.load(DATA / "crf.safetensors"), library.load(DATA / "crf.safetensors")
    X = json.loads((DATA / "words.json").read_text(encoding="utf-8"))[1:4]
    cells = [cell.encode() for own in X for row in own for cell in row]
    lengths = (c.c_size_t * 3)(*map(len, X))
    result = library.made(
        "tag_tokens", handle, (c.c_char_p * len(cells))(*cells), len(X[0][0]), lengths, 3,
        c.byref(options(flags=MARGINALS)),
    )  # fmt: skip
    for s, right in enumerate(model.marginals(X)):
        found = library.own.tw_result_marginals(result, s)
        assert np.array_equal(np.ctypeslib.as_array(found, right.shape), right)
    library.own.tw_result_free(result)
    library.own.tw_model_free(handle)


@pytest.mark.parametrize("name", ["perceptron", "perceptron_parts", "crf", "hmm"])
def test_scores_and_explanations_are_those_of_python(library, name):
    own, path = library.own, DATA / f"{name}.safetensors"
    model, handle = tw.load(path), library.load(path)
    X = json.loads((DATA / "words.json").read_text(encoding="utf-8"))[3]
    cells = [cell.encode() for row in X for cell in row]
    given, (T, L) = ((c.c_char_p * len(cells))(*cells), len(X[0]), len(X)), (len(X), len(model.labels))
    nodes, edges = np.empty((T, L)), np.empty((L, L))
    library.call("scores", handle, *given, doubles(nodes), doubles(edges))
    found = tw.decode(nodes, edges, 3).paths
    right = model.tag_kbest([X], 3)[0]
    assert [[model.labels[y] for y in path.labels] for path in found] == [one.labels for one in right]
    assert [path.score for path in found] == pytest.approx([one.score for one in right], rel=1e-12)
    for t, label in ((0, 1), (T - 1, 0)):
        why = library.made("explain", handle, *given, t, label)
        rows = [
            (own.tw_explanation_feature(why, n).decode(), own.tw_explanation_score(why, n),
             own.tw_explanation_part(why, n) or None)
            for n in range(own.tw_explanation_features(why))
        ]  # fmt: skip
        unknown = []
        while (feature := own.tw_explanation_unknown(why, len(unknown))) is not None:
            unknown.append(feature.decode())
        names = {*unknown, *(name for name, _, _ in rows)}
        words = {name: own.tw_explanation_words(why, name.encode()) for name in names}
        assert own.tw_explanation_words(why, b"no feature") is own.tw_explanation_words(None, b"U") is None
        own.tw_explanation_free(why)
        expected_why = model.explain(X, t, [model.labels[label]])
        assert {name: said.decode() for name, said in words.items() if said} == {
            name: said for name, said in expected_why.descriptions.items() if name in names
        }
        assert rows == [(one.feature, one.score, one.part) for one in expected_why.reasons[0].contributions]
        assert unknown == expected_why.unknown
    own.tw_model_free(handle)


def test_what_a_model_cannot_do_is_unsupported(library):
    for name, call in (("memm", "explain"), ("perceptron_edges", "scores"), ("bidirectional", "scores")):
        handle = library.load(DATA / f"{name}.safetensors")
        columns = library.own.tw_model_columns(handle)
        cells = (c.c_char_p * columns)(*[b"a"] * columns)
        L = library.own.tw_model_labels(handle)
        room = doubles(np.empty(L * L)), doubles(np.empty(L * L))
        more = room if call == "scores" else (0, 0, c.byref(c.c_void_p()))
        with pytest.raises(CapiError) as error:
            library.call(call, handle, cells, columns, 1, *more)
        assert error.value.args[0] == 3
        library.own.tw_model_free(handle)


def doubles(array):
    return array.ctypes.data_as(c.POINTER(c.c_double))


@pytest.mark.parametrize("seed", range(20))
def test_scores_are_decoded_and_summed_as_by_python(library, seed):
    rng = np.random.default_rng(seed)
    T, L = int(rng.integers(1, 12)), int(rng.integers(1, 30))
    nodes, edges = rng.normal(size=(T, L)), rng.normal(size=(L, L))
    edges[rng.random((L, L)) < 0.2] = -math.inf
    np.fill_diagonal(edges, 0.0)
    found = library.result(library.made("decode", doubles(nodes), doubles(edges), T, L, c.byref(options(k=3))))
    right = tw.decode(nodes, edges, 3)
    assert [(labels, score) for labels, score, *_ in found[0]] == [(p.labels.tolist(), p.score) for p in right.paths]
    probabilities, pairs, log_z = np.empty((T, L)), np.empty((T - 1, L, L)), c.c_double()
    library.call("marginals", doubles(nodes), doubles(edges), T, L, doubles(probabilities), doubles(pairs), log_z)
    sums = tw.marginals(nodes, edges, with_edges=True)
    assert np.array_equal(probabilities, sums.nodes)
    assert np.array_equal(pairs, sums.edges)
    assert log_z.value == sums.log_z


def test_errors_have_a_status_and_a_message(library, tmp_path):
    (tmp_path / "bad").write_bytes(ENGLISH.read_bytes()[:-1])
    for path, status, message in [
        (tmp_path / "bad", 2, "cut short|digest"),
        (tmp_path / "none", 4, "No such file"),
        (tmp_path, 4, "directory"),
        (Path(__file__), 2, "not a tagwright model|cut short"),
    ]:
        with pytest.raises(CapiError) as error:
            library.load(path)
        assert error.value.args[0] == status, error.value
        assert re.search(message, error.value.args[1]), error.value


def test_threads_have_their_own_messages(library):
    messages = {}

    def fail(name):
        with pytest.raises(CapiError) as error:
            library.made("tokenize", b"a", 1, name.encode())
        messages[name] = error.value.args[1]

    threads = [threading.Thread(target=fail, args=(f"tokenizer{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(messages) == 8
    assert all(f"'{name}'" in message for name, message in messages.items())


@pytest.mark.skipif(not shutil.which("nm"), reason="nm is not installed")
def test_only_the_c_api_is_exported():
    done = subprocess.run(["nm", "-D", "--defined-only", library_path()], capture_output=True, text=True, check=True)
    names = {line.split()[-1].partition("@")[0] for line in done.stdout.splitlines()}
    declared = set(re.findall(r"\b(tw_\w+)\(", (HEADER / "tagwright.h").read_text(encoding="utf-8")))
    if "asan" not in str(build_folder()):
        assert names - {"TAGWRIGHT_1"} == declared
    assert declared <= names


@pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")
def test_a_c99_program_prints_what_python_returns(tmp_path):
    program, library = tmp_path / "example", library_path()
    flags = ["-fsanitize=address,undefined"] if library.parent.name == "asan" else []
    subprocess.run(
        ["cc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", *flags, f"-I{HEADER}",
         Path(__file__).with_name("example.c"), library, f"-Wl,-rpath,{library.parent}", "-o", program],
        check=True,
    )  # fmt: skip
    (tmp_path / "text").write_text(TEXT, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    done = subprocess.run(
        [program, ENGLISH, tmp_path / "text", "2"], capture_output=True, text=True, check=True, env=environment
    )
    lines, model = [], tw.load()
    for sentence in tw.sentences(TEXT):
        for one in model.tag_kbest([sentence], 2, proba=True)[0]:
            tokens = zip(sentence, one.labels, one.marginals, strict=True)
            lines.append(f"# {one.score:.17g} {one.probability:.17g}")
            lines += [f"{word}\t{label}\t{share:.17g}" for word, label, share in tokens]
            lines.append("")
    assert done.stdout.splitlines() == lines
