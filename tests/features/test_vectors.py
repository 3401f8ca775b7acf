"""Word vectors: scores against NumPy, training against ready-made features of the same values, file formats."""

import contextlib
import gzip
import json
import lzma
import pickle
import random
import re
import struct

import numpy as np
import pytest
from sklearn.base import clone
from support.commands import complaint, printed
from support.corpora import drawn, names_of, ten_sentences, weights_of

import tagwright as tw
from tagwright import _core
from tagwright.features.templates import Features, TemplateError
from tagwright.models.explanation import summed
from tagwright.models.native import core_text

WORDS = ["the", "dog", "cat", "Kim", "ünder", "00", "new york", "a_b"]
VALUES = np.random.default_rng(5).normal(size=(len(WORDS), 6)).astype(np.float32)
TEMPLATES = "U0:%x[0,0]\nU1:%vector[0,0,v]\nU2:%vector[-1,0,v]@\nU3:%vector[1,0,v]\nB\n"


def vectors_of(sentences, d=5, seed=0, share=0.8):
    """Vectors for most words of some sentences."""
    rng = np.random.default_rng(seed)
    words = sorted({word for sentence in sentences for word in sentence})
    words = [word for word in words if rng.random() < share]
    return tw.Vectors(words, rng.normal(size=(len(words), d)))


def ready(sentences, vectors):
    """The features of TEMPLATES as dicts with values."""
    made = []
    for own in sentences:
        made.append([])
        for t, word in enumerate(own):
            token = {f"U0:{word}": 1.0}
            for row, form in ((0, "U1:{}"), (-1, "U2:{}@"), (1, "U3:{}")):
                if 0 <= t + row < len(own) and own[t + row] in vectors:
                    token |= {form.format(k): float(v) for k, v in enumerate(vectors[own[t + row]])}
            made[-1].append(token)
    return made


def rows_of(model):
    """The weights of each feature that has some: of labels and of their parts."""
    arrays = model.arrays
    weights = list(zip(arrays["rows.label"].tolist(), arrays["rows.weight"].tolist(), strict=True))
    ends = arrays["rows.end"].tolist()
    rows = [weights[begin:end] for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
    return {name: row for name, row in zip(names_of(arrays), rows, strict=True) if row}


def learners(features):
    return {
        "crf": tw.CRF(features, epochs=3),
        "pruned": tw.CRF(features, epochs=2, pruning=tw.KeepSize(2)),
        "lbfgs": tw.CRF(features, solver=tw.LBFGS(max_iterations=15)),
        "perceptron": tw.Perceptron(features, epochs=4),
        "margin": tw.Perceptron(features, epochs=2, margin=1.0),
        "parts": tw.CRF(features, epochs=2, parts=""),
    }


@pytest.mark.parametrize("name", sorted(learners(None)))
def test_training_is_that_of_features_with_these_values(name):
    X, y = drawn(1, sentences=30, words=25, labels=6)
    vectors = vectors_of(X)
    own, plain = (learners(features)[name] for features in (tw.Features(TEMPLATES, {"v": vectors}), None))
    mine, its = own.fit(X, y).model_, plain.fit(ready(X, vectors), y).model_
    assert rows_of(mine) == rows_of(its)
    assert np.array_equal(mine.arrays["edges.score"], its.arrays["edges.score"])
    assert len([name for name in names_of(mine.arrays) if name.startswith("U1:")]) == 5
    found, right = (model.lattice(X) for model, X in ((mine, X[3]), (its, ready(X, vectors)[3])))
    assert found.nodes == pytest.approx(right.nodes, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("labels", [1, 3, 40, 600])
def test_scores_are_the_products_of_numpy(labels):
    X, y = drawn(labels, sentences=60, words=40, labels=labels)
    # Letters in place of digits, which would be looked up as 0.
    X = [[word.translate({n: n + 50 for n in range(48, 58)}) for word in own] for own in X]
    vectors = vectors_of(X, d=9, seed=labels)
    model = tw.CRF(tw.Features(TEMPLATES, {"v": vectors}), epochs=1).fit(X, y).model_
    nodes = weights_of(model)[0]
    number = {name: n for n, name in enumerate(model.labels)}
    W = {row: np.zeros((9, len(number))) for row in (-1, 0, 1)}
    words = {}
    for (feature, label), weight in nodes.items():
        kind, rest = feature.split(":", 1)
        if kind == "U0":
            words.setdefault(rest, np.zeros(len(number)))[number[label]] = weight
        else:
            W[{"U1": 0, "U2": -1, "U3": 1}[kind]][int(rest.removesuffix("@")), number[label]] = weight
    table = dict(zip(vectors.words, vectors.values.astype(np.float64), strict=True))
    for own in [*X[:20], ["we", "unknown", "WC", "wb", "Wd", "wf"], []]:
        expected = np.zeros((len(own), len(number)))
        forms = [word.lower() for word in own]
        for t, word in enumerate(own):
            expected[t] += words.get(word, 0)
            for row, weights in W.items():
                if 0 <= t + row < len(own) and forms[t + row] in table:
                    expected[t] += table[forms[t + row]] @ weights
        assert model.lattice(own).nodes == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_forms_in_which_words_are_found():
    vectors = tw.Vectors(["Dog", "dog", "x00", "y00", "0É"], np.arange(5)[:, None] + 1.0)
    forms = {"Dog": 1, "dog": 2, "DOG": 2, "x12": 3, "X12": 3, "Y٣4": 4, "9É": 5, "9é": None, "do": None, "": None}
    assert {word: vectors[word][0] if word in vectors else None for word in forms} == forms
    with pytest.raises(KeyError, match="do"):
        vectors["do"]
    # As it is, with digits as 0, in lower case, both.
    ordered = tw.Vectors(["A1", "A0", "a1", "a0"], np.arange(4)[:, None])
    assert [ordered.find(word) for word in ("A1", "A2", "a1", "a2")] == [0, 1, 2, 3]
    assert tw.Vectors(["a1", "a0"], [[1.0], [2.0]]).find("A1") == 0


def test_names_and_values_of_features():
    vectors = tw.Vectors(["a", "b"], [[1.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
    features = Features("U:%vector[0,0,v]/x\nUn%%:%vector[1,0,v]\n", {"v": vectors})
    found = features.core.expand(core_text([["a", "b", "A", "c"]], features), 0)
    assert [nodes for nodes, _ in found] == [["U:0/x", "U:2/x"], ["Un%:0", "Un%:2"], ["U:0/x", "U:2/x"], []]
    assert features.columns == 1
    assert features.lists == {"v": vectors}


# --- views ---


def trained(learner=tw.CRF, **options):
    X, y = ten_sentences()
    features = tw.Features(TEMPLATES, {"v": vectors_of(X)})
    return X, y, learner(features, epochs=3, **options).fit(X, y).model_


@pytest.mark.parametrize("learner", [tw.CRF, tw.Perceptron])
@pytest.mark.parametrize("parts", [None, ""])
def test_views_agree(learner, parts, tmp_path):
    X, _, model = trained(learner, parts=parts)
    tagged = model.tag_batch(X)
    for own, labels in zip(X, tagged, strict=True):
        lattice = model.lattice(own)
        best = lattice.decode().paths[0]
        assert [model.labels[n] for n in best.labels] == labels
        (one,) = model.tag_kbest([own], 1)
        assert one[0].labels == labels
        assert one[0].score == pytest.approx(best.score)
        for t in range(len(own)):
            for reason in model.explain(own, t).reasons:
                assert summed(reason.contributions) == np.float32(reason.score)
    model.save(tmp_path / "model")
    loaded = tw.load(tmp_path / "model")
    assert loaded.tag_batch(X, threads=2) == tagged
    assert loaded.features.lists == model.features.lists
    assert all(np.array_equal(loaded.lattice(own).nodes, model.lattice(own).nodes) for own in X)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    mapped = pickle.loads(pickle.dumps(loaded))
    assert mapped.tag_batch(X) == tagged
    assert mapped.features.lists == model.features.lists


def test_an_explanation_has_one_contribution_per_vector():
    X, _, model = trained()
    vectors = model.features.lists["v"]
    places = [(own, t) for own in X for t in range(1, len(own) - 1)]
    words, t = next((own, t) for own, t in places if all(word in vectors for word in own[t - 1 : t + 2]))
    found = model.explain(words, t)
    nodes = weights_of(model)[0]
    for reason in found.reasons:
        by_name = {one.feature: one for one in reason.contributions}
        for name, row, form in (("U1:0..4", 0, "U1:{}"), ("U2:0..4@", -1, "U2:{}@"), ("U3:0..4", 1, "U3:{}")):
            weights = [nodes.get((form.format(k), reason.label), 0.0) for k in range(5)]
            product = float(vectors[words[t + row]] @ np.array(weights))
            assert by_name[name].score == by_name[name].weight == pytest.approx(product, rel=1e-4, abs=1e-6)
            assert by_name[name].value == 1
    assert found.unknown == []
    assert found.descriptions["U1:0..4"] == f"vector {words[t]}"
    assert found.descriptions["U2:0..4@"] == f"vector {words[t - 1]} of the previous word"


def test_limits_leave_the_scores_of_the_labels_that_remain():
    X, y = drawn(2, sentences=60, words=40, labels=200)
    model = tw.CRF(tw.Features(TEMPLATES, {"v": vectors_of(X)}), epochs=1).fit(X, y).model_
    own = next(own for own in X if len(own) > 2)
    everything = model.lattice(own).nodes
    allowed = [[model.labels[3], model.labels[50]] for _ in own]
    limited = model.lattice(own, allowed=allowed).nodes
    assert np.array_equal(limited[:, [3, 50]], everything[:, [3, 50]])
    best = model.tag(own, allowed=allowed)
    score = model.tag_kbest([own], 1, allowed=[allowed])[0][0].score
    assert set(best) <= {model.labels[3], model.labels[50]}
    assert score == pytest.approx(model.lattice(own, allowed=allowed).decode().paths[0].score)


def test_scores_do_not_depend_on_what_the_cache_holds():
    """More words than the cache of products has places for: 3,000 labels leave about 2,000."""
    rng = np.random.default_rng(0)
    L = 3000
    arrays = {"rows.label": np.tile(np.arange(L, dtype=np.uint16), 2), "rows.end": np.array([L, 2 * L], np.uint64)}
    arrays["rows.weight"] = rng.normal(size=2 * L).astype(np.float32)
    for part, array in zip(("slots", "ends", "bytes"), _core.index_arrays(["U:0", "U:1"]), strict=True):
        arrays[f"names.{part}"] = array
    for name in ("previous", "current"):
        arrays[f"edges.{name}"] = np.empty(0, np.uint16)
    arrays["edges.score"] = np.empty(0, np.float32)
    numbered = [f"w{chr(97 + n // 676)}{chr(97 + n // 26 % 26)}{chr(97 + n % 26)}" for n in range(6000)]
    vectors = tw.Vectors(numbered, rng.normal(size=(6000, 2)))
    features = tw.Features("U:%vector[0,0,v]\n", {"v": vectors})
    model = tw.Model([str(n) for n in range(L)], features, arrays, {"learner": "perceptron"})
    weights = arrays["rows.weight"].reshape(2, L)
    order = rng.permutation(6000)[:3000].tolist()
    for n in [*order, *order[:50], *order[-50:]]:
        x, y = vectors.values[n]
        expected = weights[0] * x + weights[1] * y
        assert np.array_equal(model.lattice([numbered[n]]).nodes[0], expected)


def test_kinds_of_models():
    """Labels that only the vectors tell apart, of words that training did not have."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(4, 8)) * 3
    kind = {f"w{a}{b}": n % 4 for n, (a, b) in enumerate((a, b) for a in "abcdefghij" for b in "klmnopqrst")}
    vectors = tw.Vectors(kind, [centres[k] + rng.normal(size=8) * 0.3 for k in kind.values()])
    words = list(kind)
    X = [[words[n] for n in rng.integers(0, 60, 6)] for _ in range(60)]
    new = [[words[n] for n in rng.integers(60, 100, 6)] for _ in range(20)]
    y, expected = ([[f"L{kind[word]}" for word in own] for own in data] for data in (X, new))
    features = tw.Features("U:%vector[0,0,v]\n", {"v": vectors})
    memm = tw.MEMM(features=tw.Features("U:%vector[0,0,v]\nUY:%y[-1]\n", {"v": vectors}))
    for learner in (tw.CRF(features), tw.CRF(features, solver=tw.LBFGS()), tw.Perceptron(features), memm):
        assert learner.fit(X, y).predict(new) == expected, learner
    both = tw.Bidirectional(*(tw.MEMM(direction=way, features=memm.features) for way in ("right", "left"))).fit(X, y)
    assert both.predict(new) == expected


def test_training_continues(tmp_path):
    X, y = ten_sentences()
    vectors = vectors_of(X)
    features = tw.Features(TEMPLATES, {"v": vectors})
    learner = tw.CRF(features, epochs=2)
    learner.partial_fit(X[:5], y[:5], classes=sorted({label for own in y for label in own}))
    learner.partial_fit(X[5:], y[5:])
    learner.model_.save(tmp_path / "model")
    same = tw.CRF(tw.Features(TEMPLATES, {"v": tw.Vectors(vectors.words, vectors.values)}), epochs=1)
    same.set_params(warm_start=str(tmp_path / "model")).fit(X, y)
    assert same.model_.features.lists["v"] == vectors
    other = tw.CRF(tw.Features(TEMPLATES, {"v": tw.Vectors(vectors.words, vectors.values + 1)}), epochs=1)
    with pytest.raises(ValueError, match="other templates or word lists"):
        other.set_params(warm_start=str(tmp_path / "model")).fit(X, y)


def test_files_caches_and_checkpoints(tmp_path):
    X, y = ten_sentences()
    vectors = vectors_of(X)
    other = tw.Vectors(vectors.words, vectors.values * 2)

    def learner(own, epochs=2):
        return tw.CRF(tw.Features(TEMPLATES, {"v": own}), epochs=epochs)

    corpus = tmp_path / "corpus.txt"
    corpus.write_text(
        "\n".join("".join(f"{w} {label}\n" for w, label in zip(*own, strict=True)) for own in zip(X, y, strict=True))
    )
    expected = rows_of(learner(vectors).fit(X, y).model_)
    assert rows_of(learner(vectors).fit_files(corpus).model_) == expected
    for own in (vectors, other, vectors):
        found = rows_of(learner(own).fit_files(corpus, cache=tmp_path / "cache").model_)
        assert (found == expected) == (own is vectors)
    learner(vectors, 1).fit(X, y, checkpoint=tmp_path / "checkpoint")
    with pytest.raises(ValueError, match=r"the checkpoint of another training \(other templates"):
        learner(other).fit(X, y, checkpoint=tmp_path / "checkpoint")
    assert rows_of(learner(vectors).fit(X, y, checkpoint=tmp_path / "checkpoint").model_) == expected


def test_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = ten_sentences()
    vectors = vectors_of(X)
    (tmp_path / "v.txt").write_bytes(word2vec_text(vectors.words, vectors.values))
    (tmp_path / "t.tpl").write_text(TEMPLATES, encoding="utf-8")
    rows = [[f"{w}\t{label}\n" for w, label in zip(*own, strict=True)] for own in zip(X, y, strict=True)]
    (tmp_path / "corpus.txt").write_text("\n".join(map("".join, rows)), encoding="utf-8")
    printed("train", "corpus.txt", "m", "--features", "t.tpl", "--list", "v=v.txt", "--epochs", "3", "-q")
    model = tw.load("m")
    assert model.features.lists == {"v": vectors}
    assert rows_of(model) == rows_of(trained()[2])
    tagged = printed("tag", "corpus.txt", "-m", "m", "--label", "1")
    assert [line.split("\t")[-1] for line in tagged.split("\n") if line] == [
        label for own in model.tag_batch(X) for label in own
    ]
    described = printed("info", "m", "--labels", "50", "--most", "50")
    assert "U1:" in described
    assert f"vectors v  {len(vectors)} words, 5 dimensions" in re.sub(" {2,}", "  ", described)
    word = next(word for word in X[0] if word in vectors)
    explained = printed("explain", "-m", "m", "--token", word, "--most", "50", given=" ".join(X[0]) + "\n")
    assert "U1:0..4" in explained
    (tmp_path / "v.txt").write_bytes(b"2 2\na 1 2\nb 1 x\n")
    assert "v.txt:3: 'x' is not a number" in complaint("train", "corpus.txt", "n", "-f", "t.tpl", "--list", "v=v.txt")


def test_the_model_file_holds_float32():
    _, _, model = trained()
    vectors = model.features.lists["v"]
    assert model.arrays["vectors.v.values"].dtype == np.float32
    assert model.arrays["vectors.v.values"].size == len(vectors) * 5
    assert model.meta()["lists"] == {}
    size = sum(array.nbytes for name, array in model.arrays.items() if name.startswith("vectors."))
    assert size <= len(vectors) * (4 * 5 + 14 + 8) + sum(map(len, vectors.words)) + 8 * 8


@pytest.mark.parametrize(
    ("part", "array", "says"),
    [
        ("values", np.full(1, np.nan, np.float32), "NaN or beyond"),
        ("values", np.empty(0, np.float32), "between 1 and 10,000"),
        ("values", np.zeros(7, np.float32), "one vector per word"),
        ("values", np.zeros(1, np.int32), "values holds int32"),
        ("ends", np.array([99], np.uint32), "feature index"),
        ("slots", np.zeros(3, np.uint64), "feature index"),
    ],
)
def test_arrays_that_do_not_fit_together(part, array, says):
    vectors = tw.Vectors(["a", "b"] if len(array) == 7 else ["a"], np.ones((2 if len(array) == 7 else 1, 1)))
    with pytest.raises(ValueError, match=says):
        tw.Vectors.of_arrays(vectors._arrays | {part: array})


def test_a_model_without_one_of_its_arrays_is_refused():
    _, _, model = trained()
    for name in [name for name in model.arrays if name.startswith("vectors.")]:
        arrays = {own: array for own, array in model.arrays.items() if own != name}
        with pytest.raises((ValueError, KeyError)):
            type(model).restored(model.meta(), arrays)


# --- errors of templates and lists ---


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("U:%vector[0,0,w]\n", "templates:1:3: no word list named 'w'; there are list, v"),
        ("U:%vector[0,0,list]\n", "templates:1:3: the list 'list' has no vectors"),
        ("U:%in[0,0,v]\n", "templates:1:3: the list 'v' has vectors, which only %vector reads"),
        ("U:%class[0,0,v]\n", "templates:1:3: the list 'v' has vectors"),
        ("B:%vector[0,0,v]\n", "templates:1:1: %vector needs a U template of its own"),
        ("U:%vector[0,0,v]%x[0,0]\n", "templates:1:1: %vector needs a U template of its own"),
        ("*:%vector[0,0,v]\nu:%x[0,0]\n", "templates:1:1: %vector needs a U template of its own"),
        ("U:%vector[0,0,*]\n", "templates:1:15: %vector reads one list, by its name"),
        ("u:%vector[@1,0,v]\n", "templates:1:3: the row of %vector is counted from the token"),
        ("U:%vector[0,0]\n", r"templates:1:3: %vector is written %vector[row,column,list], not"),
    ],
)
def test_template_errors(text, says):
    vectors = tw.Vectors(["a"], [[1.0]])
    with pytest.raises(TemplateError) as error:
        _ = Features(text, {"v": vectors, "list": ["a"]}).core
    assert str(error.value).startswith(says)


def test_a_list_that_no_template_reads_is_an_error():
    with pytest.raises(ValueError, match="no template reads the word list 'v'; %in"):
        tw.CRF(tw.Features("U:%x[0,0]\n", {"v": tw.Vectors(["a"], [[1.0]])})).fit([["a"]], [["A"]])


@pytest.mark.parametrize(
    ("words", "values", "says"),
    [
        (["a"], [1.0], "one row of numbers for each of the 1 words, not float64 of shape"),
        (["a"], [[1.0], [2.0]], "one row of numbers"),
        (["a"], [["x"]], "one row of numbers"),
        (["a", ""], [[1.0], [2.0]], "word 1, counted from 0, is ''"),
        (["a", 5], [[1.0], [2.0]], "word 1, counted from 0, is 5"),
        (["\ud800"], [[1.0]], "word 0"),
        (["a", "b"], [[1.0], [np.nan]], "the vector of 'b' has the component nan"),
        (["a"], [[1e31]], "has the component 1e[+]31; it must be finite, below 1e30"),
        (["a"], np.ones((1, 10_001)), "10,001 components; between 1 and 10,000 are possible"),
        (["a"], np.ones((1, 0)), "has 0 components"),
        ([], np.ones((0, 3)), "there are no words"),
    ],
)
def test_vectors_that_are_refused(words, values, says):
    with pytest.raises(ValueError, match=says):
        tw.Vectors(words, values)


def test_the_first_of_equal_words_counts():
    vectors = tw.Vectors(["a", "b", "a"], [[1.0], [2.0], [3.0]])
    assert (vectors.words, vectors.values.ravel().tolist()) == (["a", "b"], [1, 2])
    assert repr(vectors) == "Vectors(2 words, 1 dimensions)"
    assert list(vectors) == ["a", "b"]
    assert vectors == tw.Vectors(["a", "b"], [[1], [2]])
    assert vectors != tw.Vectors(["a", "c"], [[1], [2]])
    assert vectors != ["a", "b"]


def test_vectors_are_copies(tmp_path):
    values = VALUES.copy()
    vectors, read = tw.Vectors(WORDS, values), tw.Vectors.read(npy(tmp_path))
    values[:] = np.nan
    (tmp_path / "m.npy").write_bytes(b"")
    check(vectors)
    check(read)
    learner = clone(tw.CRF(tw.Features("U:%vector[0,0,v]\n", {"v": vectors})))
    assert learner.features.lists["v"] is vectors
    with pytest.raises(ValueError, match="read-only"):
        vectors.values[0, 0] = 1


# --- files ---


def text_lines(words=WORDS, values=VALUES):
    return [f"{word} {' '.join(map(repr, map(float, row)))}" for word, row in zip(words, values, strict=True)]


def glove(words=WORDS, values=VALUES):
    return ("\n".join(text_lines(words, values)) + "\n").encode()


def word2vec_text(words=WORDS, values=VALUES):
    return f"{len(words)} {values.shape[1]}\n".encode() + glove(words, values)


def word2vec_binary(words=WORDS, values=VALUES, line_break=b"\n"):
    rows = [word.encode() + b" " + row.tobytes() + line_break for word, row in zip(words, values, strict=True)]
    return f"{len(words)} {values.shape[1]}\n".encode() + b"".join(rows)


def safetensors(values=VALUES, meta=None, dtype="F32", more=None, data=None):
    data = values.tobytes() if data is None else data
    header = {"E": {"dtype": dtype, "shape": list(values.shape), "data_offsets": [0, len(data)]}, **(more or {})}
    text = json.dumps({"__metadata__": meta, **header} if meta else header).encode()
    return len(text).to_bytes(8, "little") + text + data


def npy(folder, values=VALUES, words=WORDS, ending=".vocab"):
    np.save(folder / "m.npy", values)
    (folder / f"m{ending}").write_text("".join(f"{word}\n" for word in words), encoding="utf-8")
    return folder / "m.npy"


def check(vectors, words=WORDS, values=VALUES):
    assert vectors.words == words
    assert np.array_equal(vectors.values, values)


@pytest.mark.parametrize("first", [None, 1, 3, 100])
def test_formats(tmp_path, first):
    one_word = [word.replace(" ", "_") for word in WORDS]
    files = {
        "glove.txt": (glove(), WORDS),
        "word2vec.txt": (word2vec_text(), WORDS),
        "crlf.txt": (word2vec_text().replace(b"\n", b"\r\n"), WORDS),
        "blank.vec": (word2vec_text().replace(b"\n", b" \n") + b"\n\n", WORDS),
        "tabs.txt": (glove(one_word).replace(b" ", b"\t"), one_word),
        "no_end.txt": (glove()[:-1], WORDS),
        "word2vec.bin": (word2vec_binary(one_word), one_word),
        "tight.bin": (word2vec_binary(one_word, line_break=b""), one_word),
        "m.safetensors": (safetensors(meta={"vocab": "\n".join(WORDS)}), WORDS),
    }
    for name, (content, words) in files.items():
        for ending, pack in (("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)):
            if ending and "safetensors" in name:
                continue
            (tmp_path / f"{name}{ending}").write_bytes(pack(content))
            check(tw.Vectors.read(tmp_path / f"{name}{ending}", first), words[:first], VALUES[:first])
    check(tw.Vectors.read(npy(tmp_path), first), WORDS[:first], VALUES[:first])
    (tmp_path / "m.vocab").rename(tmp_path / "m.txt")
    check(tw.Vectors.read(tmp_path / "m.npy", first), WORDS[:first], VALUES[:first])
    (tmp_path / "m.safetensors").write_bytes(safetensors())
    check(tw.Vectors.read(tmp_path / "m.safetensors", first), WORDS[:first], VALUES[:first])


def test_forms_of_numbers(tmp_path):
    half = VALUES.astype(np.float16)
    for values in (half, VALUES.astype(np.float64), np.asfortranarray(VALUES)):
        check(tw.Vectors.read(npy(tmp_path, values)), values=values.astype(np.float32))
    for dtype, values in (("F16", half), ("F64", VALUES.astype(np.float64))):
        (tmp_path / "m.safetensors").write_bytes(safetensors(values, dtype=dtype))
        check(tw.Vectors.read(tmp_path / "m.safetensors"), values=values.astype(np.float32))
    short = (VALUES.view(np.uint32) >> 16).astype(np.uint16)
    (tmp_path / "m.safetensors").write_bytes(safetensors(short, dtype="BF16"))
    check(tw.Vectors.read(tmp_path / "m.safetensors"), values=(short.astype(np.uint32) << 16).view(np.float32))


def test_large_vectors_are_read_as_text_and_as_binary(tmp_path):
    """A line longer than what is looked at to tell them apart."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(3, 9000)).astype(np.float32)
    for name, content in (("t", word2vec_text(WORDS[:3], values)), ("b", word2vec_binary(WORDS[:3], values))):
        (tmp_path / name).write_bytes(content)
        check(tw.Vectors.read(tmp_path / name), WORDS[:3], values)


def test_files_as_lists(tmp_path):
    X, y = ten_sentences()
    vectors = vectors_of(X)
    (tmp_path / "v.txt").write_bytes(glove(vectors.words, vectors.values))
    (tmp_path / "words.txt").write_text("the dog\n", encoding="utf-8")
    text = "U:%vector[0,0,v]\nUI:%in[0,0,list]\n# %vector[0,0,list]\n"
    features = tw.Features(text, {"v": tmp_path / "v.txt", "list": str(tmp_path / "words.txt")})
    assert features.lists == {"v": vectors, "list": ["the dog"]}
    assert tw.CRF(features, epochs=2).fit(X, y).model_.features.lists == features.lists


MANY = [f"w{n}" for n in range(40)]
DAMAGED = {
    "empty": (b"", r"f: empty"),
    "words": (b"the\ncat\n", r"f:1: a word without numbers"),
    "number": (glove().replace(b" ", b" x", 1), r"f:1: 'x[-0-9.e]+' is not a number; a vector has 6 of them"),
    "short": (glove() + b"z 1 2\n", r"f:9: 2 numbers behind the word, not 6 as before"),
    "nan": (b"a 1 2\nb 1 nan\n", r"f:2: the vector of 'b' has the component nan"),
    "inf": (b"a 1 2\nb 1 1e39\n", r"f:2: the vector of 'b' has the component inf"),
    "large": (b"a 1 2\nb 1 2e30\n", r"f:2: the vector of 'b' has the component"),
    "middle": (b"a 1 2\n\nb 1 2\n", r"f:2: an empty line"),
    "utf8": (b"a 1 2\n\xff 1 2\n", r"f:2: a word that is not UTF-8"),
    "fewer": (b"3 2\na 1 2\nb 1 2\n", r"f: ends after 2 of the 3 words"),
    "more": (b"1 2\na 1 2\nb 1 2\n", r"f:3: more vectors than the 1 that the first line declares"),
    "none": (b"0 5\n", r"f:1: the header declares no words"),
    "wide": (b"5 100000\n", r"f:1: vectors of 100,000 components"),
    "flat": (b"5 0\n", r"f:1: vectors of 0 components"),
    "huge": (b"999999999999999999 3\na 1 2 3\n", r"f: ends after 1 of the 999,999,999,999,999,999 words"),
    "line": (b"x" * (1 << 22) + b" 1\n", r"f:1: longer than"),
    "cut": (word2vec_binary(MANY, np.ones((40, 3), np.float32))[:-9], r"f: ends at byte \d+ within word 40 of the 40"),
    "huge binary": (b"999999999999 3\na " + b"\0" * 12, r"f: ends at byte 29 within word 2 of"),
    "binary nan": (
        word2vec_binary(["a", "b"], np.array([[1, 2], [3, np.nan]], np.float32)),
        r"f: byte 17: the vector of 'b' has the component nan",
    ),
    "binary more": (
        word2vec_binary(MANY, np.ones((40, 3), np.float32)).replace(b"40 3", b"39 3"), r"f: byte \d+: more vectors",
    ),
    "binary word": (b"1 1\n" + b"\x01" * 5000 + b" abcd", r"f: no word ends within 4,096 bytes from byte 4 on"),
    "binary utf8": (b"1 1\n\xff \0\0\0\0", r"f: byte 4: a word that is not UTF-8"),
    "npy": (b"\x93NUMPY\x01\x00", r"f: byte 8: not the header of NumPy"),
    "header": (b"\x05\0\0\0\0\0\0\0{....", r"f: byte 8: not the header"),
    "no matrix": (safetensors(np.ones(3, np.float32)), r"f: one matrix of float numbers is needed; there are: none"),
    "two": (
        safetensors(more={"F": {"dtype": "F32", "shape": [1, 1], "data_offsets": [0, 4]}}),
        r"f: one matrix of float numbers is needed; there are: E, F",
    ),
    "tensor cut": (safetensors()[:-1], r"f: byte \d+: the matrix 'E' is not whole"),
    "tensor shape": (
        safetensors(VALUES, data=b"\0" * 8), r"f: byte \d+: the matrix 'E' is not whole",
    ),
    "vocab": (safetensors(meta={"vocab": "a\nb"}), r"f: vocab: 2 words for the 8 vectors of .*f"),
    "no vocab": (safetensors(), r"f: its words must be in .*f\.vocab or f\.txt beside it, one on each line"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(DAMAGED))
def test_damaged_files(tmp_path, name):
    content, says = DAMAGED[name]
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(tw.DataError, match=says) as error:
        tw.Vectors.read(tmp_path / "f")
    assert str(error.value).startswith(str(tmp_path / "f"))


def test_files_that_do_not_fit_together(tmp_path):
    def fails(says, **given):
        with pytest.raises(tw.DataError, match=says):
            tw.Vectors.read(npy(tmp_path, **given))

    fails(r"m\.vocab: 7 words for the 8 vectors of .*m\.npy", words=WORDS[1:])
    fails(r"m\.vocab:2: a vector without a word", words=["a", "", *WORDS[2:]])
    fails(r"m\.npy: a matrix of float numbers is needed, not <i8 of shape \(8, 1\)", values=np.ones((8, 1), int))
    fails(r"m\.npy: a matrix of float numbers is needed, not <f4 of shape \(6,\)", values=VALUES[0])
    fails(
        r"m\.npy: row 1, counted from 0: the vector of 'dog' has the component inf",
        values=np.abs(VALUES) * [[1], *[[np.inf]] * 7],
    )
    np.save(tmp_path / "m.npy", np.array([["a"]], object), allow_pickle=True)
    with pytest.raises(tw.DataError, match=r"of float numbers is needed, not \|O of shape"):
        tw.Vectors.read(tmp_path / "m.npy")
    npy(tmp_path)
    (tmp_path / "m.vocab").unlink()
    with pytest.raises(tw.DataError, match="its words must be in"):
        tw.Vectors.read(tmp_path / "m.npy")
    (tmp_path / "x.gz").write_bytes(gzip.compress(glove())[:-20])
    with pytest.raises(tw.DataError, match=r"x\.gz: cannot be unpacked"):
        tw.Vectors.read(tmp_path / "x.gz")
    with pytest.raises(FileNotFoundError):
        tw.Vectors.read(tmp_path / "nowhere")
    for first in (0, -1, 1.5, True):
        with pytest.raises(ValueError, match="first must be a whole number"):
            tw.Vectors.read(tmp_path / "x.gz", first)


@pytest.mark.slow
def test_files_damaged_at_random(tmp_path):
    """They are read or refused."""
    rng = random.Random(3)
    one_word = [word.replace(" ", "_") for word in WORDS]
    files = [glove(), word2vec_text(), word2vec_binary(one_word), safetensors(meta={"vocab": "\n".join(WORDS)})]
    np.save(tmp_path / "m.npy", VALUES)
    files.append((tmp_path / "m.npy").read_bytes())
    (tmp_path / "f.vocab").write_text("\n".join(WORDS), encoding="utf-8")
    path, read = tmp_path / "f", 0
    for _ in range(1500):
        content = bytearray(rng.choice(files))
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(content))
            match rng.randrange(4):
                case 0:
                    content[at] = rng.randrange(256)
                case 1:
                    del content[at : at + rng.randint(1, 30)]
                case 2:
                    content[at:at] = rng.choice([b" ", b"\n", b"9", b"nan ", struct.pack("<f", float("inf")), b"{"])
                case _:
                    content = content[: at + 1]
        path.write_bytes(content)
        vectors = None
        with contextlib.suppress(tw.DataError):
            vectors = tw.Vectors.read(path)
        if vectors is not None:
            read += 1
            assert np.isfinite(vectors.values).all()
            assert vectors.values.shape == (len(vectors.words), vectors.dimensions)
    assert read > 50
