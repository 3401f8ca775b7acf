"""The base class of learners: the interface of scikit-learn's estimators, and tagging with the fitted model."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Sized
from collections.abc import Set as AbstractSet
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from tagwright import checks
from tagwright.data.corpus import CorpusLabels, CorpusRows
from tagwright.decoding.decoders import Decoder
from tagwright.decoding.keep import Keep
from tagwright.features.templates import Features
from tagwright.learners.options import OptionError, options_of, solver_of, warn_renamed
from tagwright.models.model import Model, Tagging

Sentences: TypeAlias = Iterable[Iterable[Any]]
Labels: TypeAlias = Iterable[Iterable[str]]
KnownLabels: TypeAlias = Iterable[Iterable[str | AbstractSet[str] | None]]
"""Labels of which some are partly known: a set, one of which is right, or None where nothing is known."""
Dev: TypeAlias = tuple[Any, Any]
"""Sentences and labels, as X and y of `fit`."""


class Labellings(list[list[str]]):
    """The labels of some sentences: a list that NumPy takes as an array of lists, whatever their lengths."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        made = np.empty(len(self), object)
        for n, labels in enumerate(self):
            made[n] = labels
        return made


class IntegerLabels(list[Any]):
    """Labels of sentences that were given as integers, as the strings that models have."""


@dataclasses.dataclass
class RunOptions:
    """Options of one call of `fit`, which do not belong to the estimator."""

    dev: Any = None
    checkpoint: str | os.PathLike[str] | None = None
    cluster: Any = None
    progress: bool | None = None


class Learner(BaseEstimator):  # type: ignore[misc]
    """A scikit-learn estimator over sentences: `fit` makes `model_`, which everything else uses.

    X holds sentences, a sentence tokens; a token is a string, a row of columns, or a dict or list of ready-made
    features. y holds a list of label names for each sentence. It is not a ClassifierMixin, since scikit-learn's
    classifiers do not take ragged y.
    """

    model_: Model
    decoder: str | Decoder = "auto"
    threads: int = 1
    _side = ""
    """Which of two models this one is trained to be: "left", "right" or neither."""
    _solvers: ClassVar[tuple[str, ...]] = ()
    """The names of the solvers that it has, the default first."""
    _old_names: ClassVar[frozenset[str]] = frozenset()
    """Parameters of 0.5.0 that are spelled differently now."""
    features: Any
    _integers = False
    """Whether labels were given as integers; a model has their digits as names."""
    _old_run: dict[str, Any] | None = None
    """Options of `fit` that were given to the constructor, as in 0.5.0."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; deep: also those of the solver, as `solver__name`."""
        params: dict[str, Any] = super().get_params(deep)
        if deep and self._solvers:
            solver = solver_of(self)
            params |= {f"solver__{name}": getattr(solver, name) for name in options_of(type(solver))}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; `solver__name` is an option of the solver."""
        of_solver = {name.partition("__")[2]: params.pop(name) for name in [*params] if name.startswith("solver__")}
        old = {name: params.pop(name) for name in [*params] if name in self._old_names}
        super().set_params(**params)
        if of_solver:
            solver = solver_of(self)
            for name in of_solver:
                if name not in options_of(type(solver)):
                    raise OptionError(f"solver={solver.name!r} has no option {name!r}")
            self.solver = dataclasses.replace(solver, **of_solver)
        if old:
            self._take_old(old, frozenset(params))
        return self

    def _take_old(self, old: dict[str, Any], given: frozenset[str]) -> None:
        """Apply parameters of 0.5.0, with a warning for each; given: the other parameters that were set."""
        for name in ("checkpoint", "progress"):
            if name in old:
                warn_renamed(type(self), f"{name}=...", f"fit(X, y, {name}=...)", 5)
                self._old_run = {**(self._old_run or {}), name: old.pop(name)}
        if "lists" in old:
            lists = old.pop("lists")
            if lists is not None and self.features is not None:
                warn_renamed(type(self), "lists=...", "features=tw.Features(features, lists)", 5)
                self.features = Features(self.features, lists)

    def _run_options(self, **given: Any) -> RunOptions:
        """Return the options of a training, those of 0.5.0's constructor where `fit` was not given others."""
        set_here = {name: value for name, value in given.items() if value is not None}
        return RunOptions(**{**(self._old_run or {}), **set_here})

    @property
    def fitted(self) -> Model:
        """The model; NotFittedError before `fit`."""
        if not hasattr(self, "model_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit(X, y) first")
        return self.model_

    def _checked(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Return sentences and labels to train on, checked; note whether labels were integers."""
        X, y = check(X, y)
        self._integers = isinstance(y, IntegerLabels)
        return X, y

    def _given(self, labels: list[str]) -> list[Any]:
        """Return labels as they were given to `fit`."""
        return list(map(int, labels)) if self._integers else labels

    def predict(self, X: Sentences) -> list[list[Any]]:
        """Return the best labels of each sentence: strings, or integers if `fit` was given integers."""
        found = self.fitted.tag_batch(sentences_of(X), self.decoder, self.threads)
        return Labellings(map(self._given, found) if self._integers else found)

    def predict_kbest(self, X: Sentences, k: int = 5) -> list[list[Tagging]]:
        """Return the k best labellings of each sentence, best first, with their scores, as the decoder finds them.

        CRFs and HMMs give the probability of each labelling and of each of its labels, too. ValueError for k > 1 and a
        decoder that gives one path only; ``set_params(decoder="auto")`` helps.
        """
        model = self.fitted
        found = model.tag_kbest(sentences_of(X), k, self.decoder, self.threads, model.probabilistic)
        if not self._integers:
            return found
        return [[one._replace(labels=self._given(one.labels)) for one in own] for own in found]

    @checks.renamed(keep="pruning")
    def predict_marginals(self, X: Sentences, pruning: Keep | None = None) -> list[npt.NDArray[np.float32]]:
        """Return the probability of every label of every token: an array (T, L) per sentence, columns as `classes_`.

        pruning: a rule as for `tw.marginals`. ValueError where scores are not log probabilities, as those of a
        perceptron.
        """
        return self.fitted.marginals(sentences_of(X), pruning, self.threads)

    @property
    def classes_(self) -> list[Any]:
        """The labels as they were given, in the order of the columns of `predict_marginals`."""
        return self._given(self.fitted.labels)

    def score(self, X: Sentences, y: Labels) -> float:
        """Return the share of tokens whose label is right."""
        return accuracy(self.fitted, X, y, self.decoder, self.threads)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")


def accuracy(model: Model, X: Sentences, y: Labels, decoder: str | Decoder = "auto", threads: int = 1) -> float:
    """Return the share of tokens whose label is right."""
    sentences, labels = check(X, y)
    predicted = model.tag_batch(sentences, decoder, threads)
    right = sum(a == b for p, g in zip(predicted, labels, strict=True) for a, b in zip(p, g, strict=True))
    return float(right / max(1, sum(map(len, labels))))


def sentences_of(X: Any, name: str = "X") -> Any:
    """Return sentences, or labels, as a sequence of sequences: generators, arrays and data frame columns as lists."""
    if isinstance(X, str | bytes) or not isinstance(X, Iterable) or isinstance(X, dict | AbstractSet):
        found = "None" if X is None else type(X).__name__
        hint = "; write [text.split()] for the words of a text" if isinstance(X, str) else ""
        what = "a list of sentences" if name == "X" else "a list with the labels of each sentence"
        raise ValueError(f"{name} must be {what}, not {found}{hint}")
    if isinstance(X, CorpusRows | CorpusLabels) or (
        isinstance(X, list | tuple) and all(isinstance(own, list | tuple) for own in X)
    ):
        return X
    return [_sequence(own) for own in X]


def _sequence(own: Any) -> Any:
    """Return the tokens or labels of a sentence as a list; anything else is reported when it is read."""
    if isinstance(own, list | tuple | str | bytes | dict | AbstractSet) or not isinstance(own, Iterable):
        return own
    return list(own)


def check(X: Any, y: Any, first: int = 0) -> tuple[Any, Any]:
    """Return sentences and labels as sequences, after a check that they fit together.

    What tokens may be is checked when they are read. first: the number of the first sentence, for messages.
    """
    X, y = sentences_of(X), sentences_of(y, "y")
    if len(X) != len(y):
        raise ValueError(f"X has {len(X)} sentences, but y has {len(y)}")
    if isinstance(X, CorpusRows) and isinstance(y, CorpusLabels):
        return X, y
    for s, (tokens, labels) in enumerate(zip(X, y, strict=True), first):
        if isinstance(labels, str) or not isinstance(labels, Sized):
            kind = "a string" if isinstance(labels, str) else type(labels).__name__
            raise ValueError(f"y[{s}] is {kind}; labels of a sentence are a list of strings, one per token")
        if isinstance(tokens, Sized) and not isinstance(tokens, str) and len(tokens) != len(labels):
            raise ValueError(f"sentence {s} has {len(tokens)} tokens, but {len(labels)} labels")
    for s, labels in enumerate(y, first):
        for t, label in enumerate(labels):
            if type(label) is not str and isinstance(label, list | tuple | dict | np.ndarray):
                raise ValueError(
                    f"y[{s}][{t}] is a {type(label).__name__}, but a label is a string (or a set of strings, or None): "
                    "are X and y swapped?"
                )
    return X, _as_names(y)


def _is_integer(label: object) -> bool:
    return isinstance(label, int | np.integer) and not isinstance(label, bool)


def _as_names(y: Any) -> Any:
    """Return integer labels as the strings that models have; others as they are."""
    first = next((label for own in y for label in own if label is not None), None)
    some = first if isinstance(first, AbstractSet) else [first]
    if not some or not all(map(_is_integer, some)):
        return y

    def name(label: Any) -> Any:
        if isinstance(label, AbstractSet):
            return {name(own) for own in label}
        if isinstance(label, str):
            raise ValueError(f"y has integers and strings ({label!r}); give labels of one type")
        # What is neither an integer nor None is reported when the labels are counted.
        return str(int(label)) if _is_integer(label) else label

    return IntegerLabels([name(label) for label in own] for own in y)


def one_type(before: bool | None, y: Any, first: int = 0) -> bool | None:
    """Return whether labels are integers, as those `before` were; ValueError if not. None where no label is known.

    first: the number of the first sentence of y.
    """
    known = any(label is not None for own in y for label in own)
    integers = True if isinstance(y, IntegerLabels) else False if known else before
    if before is not None and integers != before:
        types = ("integers", "strings") if integers else ("strings", "integers")
        raise ValueError(f"y[{first}] has {types[0]}, but earlier sentences have {types[1]}; give labels of one type")
    return integers


def check_dev(dev: Any, sample_weight: object = None) -> None:
    """Check that dev data are a pair of sentences and labels."""
    hint = "dev must be a pair: fit(X, y, dev=(X_dev, y_dev))"
    if dev is not None and (not isinstance(dev, tuple | list) or len(dev) != 2):
        raise ValueError(hint)
    given = sample_weight if isinstance(sample_weight, list | tuple) else ()
    if any(isinstance(own, Iterable) for own in given):
        raise ValueError(f"sample_weight holds {checks.shown(given[0])}, but needs a number per sentence; {hint}")
