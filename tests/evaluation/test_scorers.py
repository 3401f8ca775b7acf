"""Measures for scikit-learn, beside `evaluate` and seqeval."""

import numpy as np
import pytest
import seqeval.metrics
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score

import tagwright as tw

LABELS = ["B-A", "I-A", "B-B", "I-B", "O"]


def drawn(rng, lengths):
    return [[str(label) for label in rng.choice(LABELS, n)] for n in lengths]


def test_measures_are_those_of_evaluate():
    rng = np.random.default_rng(0)
    for _ in range(20):
        lengths = rng.integers(1, 9, 12)
        y, predicted = drawn(rng, lengths), drawn(rng, lengths)
        predicted[0] = y[0]
        flat = [a == b for own, found in zip(y, predicted, strict=True) for a, b in zip(own, found, strict=True)]
        assert tw.token_accuracy(y, predicted) == pytest.approx(np.mean(flat))
        whole = [own == found for own, found in zip(y, predicted, strict=True)]
        assert tw.sequence_accuracy(y, predicted) == pytest.approx(np.mean(whole))
        assert tw.span_f1(y, predicted) == pytest.approx(seqeval.metrics.f1_score(y, predicted))


def test_scorers_of_searches():
    X, y = [["the", "dog"], ["dogs"], ["a", "cat"]] * 4, [["B-A", "I-A"], ["B-A"], ["B-A", "I-A"]] * 4
    learner = tw.Perceptron("pos", epochs=2)
    for measure in (tw.token_accuracy, tw.span_f1, tw.sequence_accuracy):
        direct = cross_val_score(learner, X, y, cv=2, scoring=measure)
        assert direct.tolist() == cross_val_score(learner, X, y, cv=2, scoring=make_scorer(measure)).tolist()
    search = GridSearchCV(
        learner, {"epochs": [1, 3]}, scoring={"f1": tw.span_f1, "all": tw.sequence_accuracy}, refit="f1"
    )
    assert search.fit(X, y).best_score_ > 0.5


def test_labels_without_spans():
    with pytest.raises(ValueError, match="labels of spans"):
        tw.span_f1([["DT"]], [["DT"]])
    assert tw.token_accuracy([[1, 2]], [np.array([1, 3])]) == 0.5
