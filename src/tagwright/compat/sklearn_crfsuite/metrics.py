"""Measures of labellings: those of scikit-learn over the labels of all tokens, and one over whole sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn import metrics

from tagwright.compat.sklearn_crfsuite.utils import flatten

__all__ = [
    "flat_accuracy_score",
    "flat_classification_report",
    "flat_f1_score",
    "flat_fbeta_score",
    "flat_precision_score",
    "flat_recall_score",
    "sequence_accuracy_score",
]

Labels = Sequence[Sequence[Any]]


def flat_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """Return the share of tokens whose label is right."""
    return float(metrics.accuracy_score(flatten(y_true), flatten(y_pred)))


def flat_precision_score(y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    """Return the precision over all tokens; options: those of `sklearn.metrics.precision_score`."""
    return metrics.precision_score(flatten(y_true), flatten(y_pred), **options)


def flat_recall_score(y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    """Return the recall over all tokens; options: those of `sklearn.metrics.recall_score`."""
    return metrics.recall_score(flatten(y_true), flatten(y_pred), **options)


def flat_f1_score(y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    """Return the F1 score over all tokens; options: those of `sklearn.metrics.f1_score`."""
    return metrics.f1_score(flatten(y_true), flatten(y_pred), **options)


def flat_fbeta_score(y_true: Labels, y_pred: Labels, beta: float, **options: Any) -> Any:
    """Return the F-beta score over all tokens; options: those of `sklearn.metrics.fbeta_score`."""
    return metrics.fbeta_score(flatten(y_true), flatten(y_pred), beta=beta, **options)


def flat_classification_report(y_true: Labels, y_pred: Labels, labels: Any = None, **options: Any) -> Any:
    """Return precision, recall and F1 of each label; options: those of `sklearn.metrics.classification_report`."""
    return metrics.classification_report(flatten(y_true), flatten(y_pred), labels=labels, **options)


def sequence_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """Return the share of sentences whose labels are all right; 0 without sentences."""
    if not len(y_true):
        return 0.0
    return sum(list(own) == list(found) for own, found in zip(y_true, y_pred, strict=False)) / len(y_true)
