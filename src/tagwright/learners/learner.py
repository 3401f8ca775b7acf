"""What all learners share: scikit-learn's manners, and tagging with the model that was fitted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Sized
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from tagwright.decoding.decoders import Decoder
from tagwright.decoding.keep import Keep
from tagwright.learners.partial import Numbers, Weights, label_counts
from tagwright.models.model import Model, Tagging

__all__ = ["Learner"]

MOST_LABELS = 65_535

Sentences = Sequence[Sequence[Any]]
Labels = Sequence[Sequence[str]]


class Learner(BaseEstimator):  # type: ignore[misc]
    """A scikit-learn estimator over sentences: `fit` makes `model_`, everything else asks it.

    X is a list of sentences, a sentence a list of tokens; a token is a string, a row of columns, or a dict or list of
    ready-made features. y is a list of lists of label names. It is no ClassifierMixin, since scikit-learn's
    classifiers do not take ragged y.
    """

    model_: Model
    decoder: str | Decoder = "auto"
    threads: int = 1
    _side = ""
    """Which of two models this one is trained to be: "left", "right" or neither."""

    @property
    def fitted(self) -> Model:
        """The model; NotFittedError before `fit`."""
        if not hasattr(self, "model_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit(X, y) first")
        return self.model_

    def predict(self, X: Sentences) -> list[list[str]]:
        """Return the best labels of each sentence."""
        return self.fitted.tag_batch(X, self.decoder, self.threads)

    def predict_kbest(self, X: Sentences, k: int = 5) -> list[list[Tagging]]:
        """Return the k best labellings of each sentence, best first, with their scores, as the decoder finds them.

        CRFs and HMMs give the probability of each labelling and of each of its labels, too. ValueError for k > 1 and a
        decoder that gives one path only; ``set_params(decoder="auto")`` helps.
        """
        model = self.fitted
        return model.tag_kbest(X, k, self.decoder, self.threads, model.probabilistic)

    def predict_marginals(self, X: Sentences, keep: Keep | None = None) -> list[npt.NDArray[np.float32]]:
        """Return the probability of every label of every token: an array (T, L) per sentence, columns as `classes_`.

        keep: a rule for sparse sums, as for `tw.marginals`. ValueError where scores are no log probabilities, as those
        of a perceptron.
        """
        return self.fitted.marginals(X, keep, self.threads)

    @property
    def classes_(self) -> list[str]:
        """Label names, in the order of the columns of `predict_marginals`."""
        return self.fitted.labels

    def score(self, X: Sentences, y: Labels) -> float:
        """Return the share of tokens whose label is right."""
        return accuracy(self.fitted, X, y, self.decoder, self.threads)

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` was called."""
        return hasattr(self, "model_")


def accuracy(model: Model, X: Sentences, y: Labels, decoder: str | Decoder = "auto", threads: int = 1) -> float:
    """Return the share of tokens whose label is right."""
    check(X, y)
    predicted = model.tag_batch(X, decoder, threads)
    right = sum(a == b for p, g in zip(predicted, y, strict=True) for a, b in zip(p, g, strict=True))
    return right / max(1, sum(map(len, y)))


def check(X: Sentences, y: Labels, first: int = 0) -> None:
    """Check that sentences and labels fit together; what tokens may be is checked when they are read.

    first: the number of the first sentence, for messages.
    """
    for name, given in (("X", X), ("y", y)):
        if isinstance(given, str) or not isinstance(given, Sized):
            raise ValueError(f"{name} must be a list with a list for each sentence, not {type(given).__name__}")
    if len(X) != len(y):
        raise ValueError(f"X has {len(X)} sentences, but y has {len(y)}")
    for s, (tokens, labels) in enumerate(zip(X, y, strict=True), first):
        if isinstance(labels, str) or not isinstance(labels, Sized):
            kind = "a string" if isinstance(labels, str) else type(labels).__name__
            raise ValueError(f"y[{s}] is {kind}; labels of a sentence are a list of strings, one per token")
        if isinstance(tokens, Sized) and not isinstance(tokens, str) and len(tokens) != len(labels):
            raise ValueError(f"sentence {s} has {len(tokens)} tokens, but {len(labels)} labels")


def rank(y: Labels, first: Sequence[str] = (), weights: Weights | None = None) -> list[str]:
    """Return the label names by frequency, most frequent first; those of `first` that y does not have come last.

    weights: of the sentences.
    """
    return rank_counted(label_counts(y, weights), any(len(labels) for labels in y), first)


def rank_counted(counted: Counter[Any], tokens: bool, first: Sequence[str] = ()) -> list[str]:
    """Return the same for labels that were counted; tokens: whether there is a token at all."""
    count: Counter[Any] = Counter(dict.fromkeys(first, 0))
    count.update(counted)
    for name in count:
        if not isinstance(name, str):
            raise ValueError(f"labels must be strings, not {type(name).__name__} ({name!r})")
        if not name.isprintable() or " " in name or not name:
            raise ValueError(f"label {name!r} cannot be written to a column: it is empty or holds blanks")
    if not count:
        raise ValueError("every label of y is None" if tokens else "there is no token to learn from")
    if len(count) > MOST_LABELS:
        raise ValueError(f"{len(count):,} labels; a model has at most {MOST_LABELS:,}")
    return sorted(count, key=lambda name: (-count[name], name))


def numbers(y: Labels, names: Sequence[str]) -> npt.NDArray[np.int32]:
    """Return the labels of all tokens as numbers."""
    number = Numbers(names)
    return np.fromiter((number[label] for labels in y for label in labels), np.int32)
