"""partial_fit: a training in several calls is the training of one call."""

import itertools
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from support.corpora import drawn, many_labels, ten_sentences, weights_of
from support.flat import crf
from support.memory import measurable, megabytes

import tagwright as tw

WORD = "U0:%x[0,0]\nU1:%x[-1,0]\nB\n"
PAIRS = "U0:%x[0,0]\nB0:%x[0,0]\nB\n"
X10, Y10 = ten_sentences()
OPTIONS = [
    {},
    {"features": PAIRS},
    {"margin": 1, "parts": ""},
    {"pairs": "observed"},
]


def in_order(X, y, order):
    return [X[s] for s in order], [y[s] for s in order]


def ranked(y):
    """The labels as `fit` numbers them."""
    names = [label for labels in y for label in labels]
    return sorted(set(names), key=lambda name: (-names.count(name), name))


def scores_of(model, X):
    """All weights by their names; or of a model with parts of labels, the scores that they add up to."""
    if "parts" not in model.arrays:
        return weights_of(model)
    edges = [model.arrays[f"edges.{part}"].tolist() for part in ("previous", "current", "score")]
    return [model.lattice(words).nodes.tolist() for words in X if words], edges


def epoch_order(n, epoch):
    return np.random.default_rng([0, epoch]).permutation(n)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_perceptron_in_pieces_is_one_pass(options):
    X, y = drawn(5, sentences=90, words=20, labels=5)
    whole = tw.Perceptron(**{"features": WORD, "epochs": 1, **options}).fit(X, y)
    X1, y1 = in_order(X, y, epoch_order(len(X), 0))
    pieces = tw.Perceptron(**{"features": WORD, "pairs": "touched", **options})
    cuts = [0, 1, 40, 41, 90] if options.get("pairs") != "observed" else [0, 90]
    for number, (begin, end) in enumerate(itertools.pairwise(cuts)):
        pieces.partial_fit(X1[begin:end], y1[begin:end], classes=None if number else ranked(y))
    assert pieces.model_.labels == whole.model_.labels
    assert scores_of(pieces.model_, X) == scores_of(whole.model_, X)


@pytest.mark.parametrize("options", [{}, {"parts": "", "l2": 0.01, "solver": "adagrad"}, {"features": PAIRS}], ids=str)
def test_a_crf_in_two_calls_is_two_epochs(options):
    X, y = many_labels(sentences=60, labels=15)
    options = {"features": WORD, **options}
    whole = crf(epochs=2, **options).fit(X, y)
    pieces = crf(**options)
    for epoch in range(2):
        order = epoch_order(len(X), epoch)
        pieces.partial_fit(*in_order(X, y, order), classes=None if epoch else ranked(y))
        assert pieces.history_[epoch]["objective"] == whole.history_[epoch]["objective"]
    assert scores_of(pieces.model_, X) == scores_of(whole.model_, X)


@pytest.mark.parametrize("learner", [tw.Perceptron, tw.CRF])
@pytest.mark.parametrize("parts", [None, "", "-"])
def test_new_labels_and_features_are_learnt(learner, parts):
    tagger = learner(WORD, parts=parts)
    tagger.partial_fit(*zip(*[(["a", "b"], ["A-x", "B-x"])] * 5, strict=True))
    assert tagger.predict([["a", "b"]]) == [["A-x", "B-x"]]
    for _ in range(8):
        tagger.partial_fit([["c", "d"], ["a", "c"]], [["C-y-z", "D-y"], ["A-x", "C-y-z"]])
    assert tagger.classes_ == ["A-x", "B-x", "C-y-z", "D-y"]
    assert tagger.predict([["a", "b"], ["c", "d"], ["a", "c"]]) == [["A-x", "B-x"], ["C-y-z", "D-y"], ["A-x", "C-y-z"]]
    assert tagger.model_.facts["sentences"] == 21
    assert len(tagger.history_) == 9


@pytest.mark.parametrize("parts", [None, "-"])
def test_a_new_label_alone_changes_no_weight(parts):
    """The same sentences: labels that are known from the start, and labels that come later."""
    X, y = [["a", "b"], ["b", "a"], ["a", "c"]], [["A-x", "B-x"], ["B-x", "A-x"], ["A-x", "C-y"]]
    known, late = (tw.Perceptron(WORD, parts=parts) for _ in range(2))
    known.partial_fit(X[:2], y[:2], classes=["A-x", "B-x", "C-y"])
    known.partial_fit(X[2:], y[2:])
    late.partial_fit(X[:2], y[:2], classes=["A-x", "B-x"])
    late.partial_fit(X[2:], y[2:])
    assert known.classes_ == late.classes_
    assert scores_of(known.model_, X) == scores_of(late.model_, X)


def test_partial_labels_are_taken():
    tagger = tw.Perceptron(WORD)
    for _ in range(5):
        tagger.partial_fit([["a", "b"], ["b"]], [["A", {"B", "A"}], ["B"]])
    assert tagger.predict([["a", "b"]]) == [["A", "B"]]
    tagger = tw.CRF(WORD)
    for _ in range(5):
        tagger.partial_fit([["a", "b"], ["b"]], [["A", {"B", "A"}], ["B"]])
    assert tagger.predict([["a", "b"]]) == [["A", "B"]]


@pytest.mark.parametrize("learner", [tw.Perceptron, tw.CRF])
def test_it_continues_from_a_model_as_a_warm_start_does(learner, tmp_path):
    more = ([["wow", "dogs"]], [["UH", "NNS"]])
    fitted = learner(WORD, epochs=3).fit(X10, Y10)
    old = fitted.model_
    old.save(tmp_path / "old")
    warm = learner(WORD, epochs=1, warm_start=old).fit(*more)
    fitted.partial_fit(*more)
    loaded = learner(WORD, warm_start=tmp_path / "old").partial_fit(*more)
    assert set(fitted.classes_) == set(warm.classes_)
    assert weights_of(fitted.model_) == weights_of(loaded.model_)
    if learner is tw.CRF:  # a perceptron's ties depend on the order of labels
        assert weights_of(fitted.model_) == weights_of(warm.model_)
    assert old.knows("wow") is False
    assert fitted.model_.knows("wow")


def test_fit_begins_anew():
    tagger = tw.Perceptron(WORD, epochs=2).partial_fit([["x"]], [["Z"]])
    tagger.fit(X10, Y10)
    assert "Z" not in tagger.classes_
    tagger.partial_fit([["x"]], [["Z"]])
    assert tagger.classes_[-1] == "Z"


def test_copies_are_those_of_the_model():
    tagger = tw.CRF(WORD).partial_fit(X10, Y10)
    again = pickle.loads(pickle.dumps(tagger))
    assert again.predict(X10) == tagger.predict(X10)
    assert again.partial_fit(X10, Y10).predict(X10) == tw.CRF(WORD, warm_start=tagger.model_).partial_fit(
        X10, Y10
    ).predict(X10)
    with pytest.raises(NotFittedError):
        clone(tagger).predict(X10)


def test_the_model_is_made_on_request():
    tagger = tw.Perceptron(WORD).partial_fit(X10[:5], Y10[:5])
    assert tagger._model is None
    first = tagger.model_
    assert tagger.model_ is first
    kept = weights_of(first)
    tagger.partial_fit(X10[5:], Y10[5:])
    assert tagger.model_ is not first
    assert weights_of(first) == kept


@pytest.mark.parametrize(
    ("tagger", "message"),
    [
        (tw.CRF(solver=tw.LBFGS(l2=1)), "partial_fit cannot be combined with solver='lbfgs': it minimises"),
        (tw.Perceptron(constraints=2), "a tag dictionary cannot be combined with partial_fit: it is counted"),
        (tw.Perceptron(margin=-1), "margin"),
    ],
)
def test_unsupported_options_are_refused(tagger, message):
    with pytest.raises(ValueError, match=message):
        tagger.partial_fit(X10, Y10)


def test_bad_sentences_are_refused_and_nothing_is_lost():
    tagger = tw.Perceptron(WORD).partial_fit(X10, Y10)
    before = weights_of(tagger.model_)
    for X, y in (([["a"]], [["DT", "NN"]]), ([[7]], [["DT"]]), ([["a"]], [["a\tb"]])):
        with pytest.raises(ValueError, match=r"sentence|label"):
            tagger.partial_fit(X, y)
    assert weights_of(tagger.model_) == before
    tagger.partial_fit([], [])
    assert tagger.predict(X10[:1]) == [Y10[0]]


@pytest.mark.parametrize("learner", [tw.Perceptron, tw.CRF])
@pytest.mark.parametrize("bad", [["new", 7], ["new", {"a": "b"}], ["new", None]], ids=str)
def test_a_refused_call_leaves_the_learner_as_it_was(learner, bad):
    """A token is refused in a call that has a new label, too."""
    tagger, other = (learner(WORD).partial_fit(X10, Y10) for _ in range(2))
    before, labels = weights_of(tagger.model_), list(tagger.classes_)
    with pytest.raises(ValueError, match=r"token"):
        tagger.partial_fit([bad], [["NEW", "DT"]])
    assert tagger.classes_ == labels
    assert weights_of(tagger.model_) == before
    for own in (tagger, other):
        own.partial_fit([["new", "dogs"]], [["UH", "NNS"]])
    assert tagger.classes_ == other.classes_
    assert weights_of(tagger.model_) == weights_of(other.model_)


@pytest.mark.parametrize("learner", [tw.Perceptron, tw.CRF])
def test_the_history_of_many_calls_is_bounded(learner, monkeypatch):
    monkeypatch.setattr("tagwright.learners.online._HISTORY", 20)
    tagger = learner(WORD)
    for _ in range(50):
        tagger.partial_fit([["a"]], [["A"]])
    assert len(tagger.history_) == 20
    assert tagger.model_.facts["epochs_done"] == 50


@measurable
@pytest.mark.parametrize("learner", ["Perceptron", "CRF"])
def test_memory_does_not_grow_with_calls(learner):
    grown = megabytes(
        f"""
import tagwright as tw
learner = tw.{learner}("U0:%x[0,0]\\nB\\n")
def train(calls):
    for _ in range(calls):
        learner.partial_fit([["the", "dog", "barks"]], [["D", "N", "V"]])
train(1500)
begin()
train(8500)
"""
    )
    assert grown < 0.5  # 60 bytes per call; the history took 300


@pytest.mark.parametrize("learner", [tw.Perceptron, tw.CRF])
@pytest.mark.parametrize("order", [2, 3])
def test_ngrams_of_new_sentences_are_learnt(learner, order):
    """The label of "x" is that of the token two or three before it: only n-grams of that length know."""
    rng = np.random.default_rng(0)
    tagger = learner("U0:%x[0,0]\nB\n", order=order)
    for _ in range(60):
        X, y = [], []
        for _ in range(4):
            first = str(rng.integers(2))
            X.append([first, *["m"] * (order - 1), "x"])
            y.append([first, *["M"] * (order - 1), first])
        tagger.partial_fit(X, y)
    for first in "01":
        words = [first, *["m"] * (order - 1), "x"]
        assert tagger.predict([words]) == [[first, *["M"] * (order - 1), first]]
    assert len(tagger.model_.arrays["ngrams.score"]) > 0


@pytest.mark.parametrize("learner", [tw.Perceptron, tw.CRF])
def test_constraints_hold_for_every_call(learner):
    tagger = learner(WORD, constraints="BIO")
    tagger.partial_fit([["a", "b"]], [["B-x", "I-x"]])
    tagger.partial_fit([["c", "d"]], [["B-y", "I-y"]])  # with new labels
    found = tagger.predict([["b", "d"], ["d", "d"]])
    assert all(own[0].startswith(("B", "O")) for own in found)
    with pytest.raises(ValueError, match=r"may not follow|may not be the first"):
        tagger.partial_fit([["a", "d"]], [["B-x", "I-y"]])
    labels = ["DT", "NN", "VB"]
    words = tw.Constraints.learnt([["the", "can"]] * 3, [["DT", "NN"], ["DT", "VB"], ["DT", "NN"]], 1, labels=labels)
    tagger = learner(WORD, constraints=words)
    for y in (["DT", "NN"], ["DT", "VB"], *[["DT", "NN"]] * 6):
        tagger.partial_fit([["the", "can"]], [y], classes=None if hasattr(tagger, "history_") else labels)
    assert tagger.predict([["can", "the"]])[0] in (["NN", "DT"], ["VB", "DT"])
    assert tagger.predict([["other"]])[0][0] in labels


def test_labels_of_all_calls_are_of_one_type():
    names = tw.Perceptron(WORD).partial_fit([["a", "b"]], [["X", "Y"]])
    with pytest.raises(ValueError, match=r"y\[0\] has integers, but earlier sentences have strings"):
        names.partial_fit([["a"]], [[1]])
    assert names.partial_fit([["a"]], [[None]]).predict([["a", "b"]]) == [["X", "Y"]]
    numbers = tw.Perceptron(WORD).partial_fit([["a", "b"]], [[3, 4]])
    with pytest.raises(ValueError, match=r"y\[0\] has strings, but earlier sentences have integers"):
        numbers.partial_fit([["a"]], [["X"]])
    assert numbers.partial_fit([["a"]], [[None]]).predict([["a", "b"]]) == [[3, 4]]
