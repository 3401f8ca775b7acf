"""Measures as scikit-learn uses them: of labels, with `make_scorer`, or as a scorer of an estimator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tagwright.evaluation.evaluate import evaluate
from tagwright.evaluation.result import Evaluation

__all__ = ["sequence_accuracy", "span_f1", "token_accuracy"]


def token_accuracy(y_true: Any, y_pred: Any, y: Any = None) -> float:
    """Return the share of tokens whose label is right.

    Parameters
    ----------
    y_true, y_pred : list of list
        The right and the predicted labels of each sentence. With three arguments this is a scorer of scikit-learn: an
        estimator, sentences, and their right labels.
    y : list of list, optional
        The right labels, as the third argument of a scorer.

    Returns
    -------
    float
        From 0 to 1.

    Examples
    --------
    >>> import tagwright as tw
    >>> tw.token_accuracy([["DT", "NN"]], [["DT", "VB"]])
    0.5
    >>> from sklearn.model_selection import cross_val_score
    >>> X, labels = [[["the", "dog"]] * 4, [["DT", "NN"]] * 4]
    >>> cross_val_score(tw.Perceptron("pos"), X, labels, cv=2, scoring=tw.token_accuracy).tolist()
    [1.0, 1.0]
    """
    return _evaluated(y_true, y_pred, y).token_accuracy


def sequence_accuracy(y_true: Any, y_pred: Any, y: Any = None) -> float:
    """Return the share of sentences whose labels are all right; sentences without tokens do not count.

    The arguments are those of `token_accuracy`.

    Examples
    --------
    >>> import tagwright as tw
    >>> tw.sequence_accuracy([["DT", "NN"], ["DT"]], [["DT", "VB"], ["DT"]])
    0.5
    """
    return _evaluated(y_true, y_pred, y).sentence_accuracy


def span_f1(y_true: Any, y_pred: Any, y: Any = None) -> float:
    """Return the F1 score of spans, over spans of all types, as `evaluate` counts them.

    The arguments are those of `token_accuracy`. ValueError if the labels are not those of spans, such as B-NP and O.

    Examples
    --------
    >>> import tagwright as tw
    >>> tw.span_f1([["B-NP", "I-NP", "B-NP"]], [["B-NP", "O", "B-NP"]])
    0.5
    """
    found = _evaluated(y_true, y_pred, y).spans
    if found is None:
        raise ValueError("span_f1 needs labels of spans, such as B-NP, I-NP and O")
    return found.micro.f1


def _evaluated(first: Any, second: Any, y: Any) -> Evaluation:
    if y is None:
        return evaluate(_names(first), _names(second))
    return evaluate(_names(y), _names(first.predict(second)))


def _names(labels: Iterable[Iterable[Any]]) -> list[list[str]]:
    """Return labels as strings; integers by their digits."""
    integers = (int, np.integer)
    return [[str(own) if isinstance(own, integers) else own for own in sentence] for sentence in labels]
