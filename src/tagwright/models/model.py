"""What all models share: text in, labels and the k best labellings out; saved to and mapped from one file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.decoding.decoders import Decoder
from tagwright.decoding.edges import Edges
from tagwright.decoding.keep import Keep
from tagwright.features.templates import Features
from tagwright.models import file as container
from tagwright.models.file import Arrays, ModelError
from tagwright.models.kinds import KINDS, kind_of

__all__ = ["Lattice", "Model", "Tagging", "load"]

Sentences: TypeAlias = Sequence[Sequence[object]]
"""Tokens of each sentence: words, rows of columns, or ready-made features."""

BUILT_IN = Path(__file__).with_name("english.safetensors")
"""The POS tagger for English that is part of the package; see NOTICE."""


class Tagging(NamedTuple):
    """One labelling of a sentence."""

    labels: list[str]
    """The name of each token's label."""
    score: float
    """Its score under the model; higher is better."""
    probability: float | None = None
    """Probability of the whole labelling, exp(score - log Z); None unless it was asked for."""
    marginals: list[float] | None = None
    """Probability of each token's label, whatever the labels of the others; None unless they were asked for."""


class Lattice(NamedTuple):
    """A sentence's scores, to be decoded by any means, as in ``tw.decode(lattice.nodes, lattice.edges, k=5)``.

    A model with token-dependent edges needs ``switched_on=lattice.switched_on`` there too.
    """

    nodes: npt.NDArray[np.floating[Any]]
    """(T, L); label y is ``model.labels[y]``."""
    edges: Edges
    """The model's edges, shared by all sentences; for a MEMM those of the sentence."""
    switched_on: list[list[int]] | None
    """For each step the correction sets that count there; None for a model without token-dependent edges."""


class Model:
    """What training makes and tagging uses.

    There is one class for each way to tag: one lattice per sentence (`LinearModel`: perceptron, CRF, HMM), a beam over
    label histories (`MemmModel`), two models that must agree (`BidirectionalModel`). ``Model(...)`` makes a
    `LinearModel`, and `load` a model of the kind that its file names.

    Args:
        labels: their names, most frequent first.
        features: templates, or None where tokens are given as ready-made features.
        arrays: names.slots, names.ends, names.bytes (the feature index), rows.end, rows.label, rows.weight (one sparse
            row per feature), edges.previous, edges.current, edges.score; where there are any, start, stop, and for
            token-dependent edges edge_names.* and corrections.set, .previous, .current, .score.
        facts: learner, options, and what it was trained on.

    """

    looks_back: ClassVar[bool] = False
    """Whether templates may look at the labels of earlier tokens."""
    lacks: ClassVar[Mapping[str, str]] = {}
    """Members that this kind of model does not have, each with the error that says what to ask instead."""

    def __new__(cls, *parts: object, **named: object) -> Self:
        """Return an empty model, for ``Model(...)`` itself one of one lattice per sentence."""
        made: Any = KINDS["perceptron"].model_class if cls is Model else cls
        model: Self = super().__new__(made)
        return model

    def __init__(self, labels: Sequence[str], features: Features | None, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Keep the parts; subclasses check that they fit together."""
        self.labels = list(labels)
        self.features = features
        self.arrays = arrays
        self.facts = facts

    @property
    def columns(self) -> int:
        """How many columns a token must have; 0 for ready-made features."""
        return self.features.columns if self.features else 0

    def knows(self, word: str) -> bool | None:
        """Return whether a word was in the training data at least min_count times; None if no feature is the word."""
        prefix = self.features.word_prefix() if self.features else None
        if prefix is None:
            return None
        slots, ends, names = (self.arrays[f"names.{part}"] for part in ("slots", "ends", "bytes"))
        return _core.index_find((slots, ends, names), prefix + word) >= 0

    @property
    def probabilistic(self) -> bool:
        """Whether exp(score - log Z) is a probability that was trained to be one: true of CRFs and HMMs."""
        return kind_of(self.facts).probabilistic

    def need_probabilities(self) -> None:
        """Raise ValueError unless scores are log probabilities."""
        if not self.probabilistic:
            raise self._lacking("probabilities")

    def _lacking(self, member: str) -> ValueError:
        return ValueError(self.lacks[member].format(learner=self.facts.get("learner", "model of unknown making")))

    @overload
    def tag(
        self, sentence: Sequence[object], decoder: str | Decoder = "auto", proba: Literal[False] = False
    ) -> list[str]: ...
    @overload
    def tag(
        self, sentence: Sequence[object], decoder: str | Decoder = "auto", *, proba: Literal[True]
    ) -> list[tuple[str, float]]: ...

    def tag(
        self, sentence: Sequence[object], decoder: str | Decoder = "auto", proba: bool = False
    ) -> list[str] | list[tuple[str, float]]:
        """Return the best label of each token of one sentence; with `proba`, pairs of a label and its probability."""
        best = self.tag_kbest([sentence], 1, decoder, proba=proba)[0][0]
        return best.labels if best.marginals is None else list(zip(best.labels, best.marginals, strict=True))

    def tag_batch(self, X: Sentences, decoder: str | Decoder = "auto", threads: int = 1) -> list[list[str]]:
        """Return the best labels of many sentences: one native call, `threads` threads over the sentences."""
        return [found[0].labels for found in self.tag_kbest(X, 1, decoder, threads)]

    def tag_kbest(
        self, X: Sentences, k: int, decoder: str | Decoder = "auto", threads: int = 1, proba: bool = False
    ) -> list[list[Tagging]]:
        """Return the k best labellings of each sentence, best first; fewer where there are no more.

        With `proba` each has its probability and those of its labels; ValueError if the model is not probabilistic.
        """
        if proba:
            self.need_probabilities()
        checks.at_least_one("k", k)
        checks.at_least_one("threads", threads)
        return self._kbest(X, k, decoder, threads, proba)

    def _kbest(self, X: Sentences, k: int, decoder: str | Decoder, threads: int, proba: bool) -> list[list[Tagging]]:
        raise NotImplementedError

    def _taggings(
        self,
        text: _core.Text,
        found: tuple[npt.NDArray[np.int32], Sequence[float], Sequence[tuple[Any, ...]]],
        probabilities: Sequence[float] = (),
        marginals: Sequence[float] = (),
    ) -> list[list[Tagging]]:
        """Return the labellings of each sentence, given labels, scores and work as the core lists them for all."""
        labels, scores, work = found
        names = [self.labels[y] for y in labels.tolist()]
        made = []
        at = path = 0
        for length, counts in zip(text.lengths().tolist(), work, strict=True):
            own = []
            for _ in range(counts[0]):
                more = (probabilities[path], list(marginals[at : at + length])) if probabilities else ()
                own.append(Tagging(names[at : at + length], scores[path], *more))
                at, path = at + length, path + 1
            made.append(own)
        return made

    def marginals(self, X: Sentences, keep: Keep | None = None, threads: int = 1) -> list[npt.NDArray[np.float32]]:
        """Return the probability of every label: one array (T, L) per sentence, label y being ``labels[y]``.

        keep: a rule for sparse sums, as for `tw.marginals`; None for exact ones.
        """
        raise self._lacking("probabilities")

    @property
    def edges(self) -> Edges:
        """The edges that all sentences share; ValueError if the model has none of its own."""
        raise self._lacking("edges")

    def lattice(self, sentence: Sequence[object]) -> Lattice:
        """Return the scores of a sentence without decoding it; ValueError if the model is not a lattice."""
        raise self._lacking("lattice")

    def priced(self, decoder: str | Decoder = "auto") -> _core.PricedModel:
        """Return what dual decomposition asks for the best labels under prices, found by this decoder."""
        raise self._lacking("priced")

    def text(self, X: Sentences) -> _core.Text:
        """Return sentences as the core takes them."""
        return core_text(X, self.features)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one safetensors file, which `load` maps."""
        self.save_with(path, {}, {})

    def save_with(self, path: str | os.PathLike[str], more: Arrays, meta: dict[str, Any]) -> None:
        """Write the model with arrays and metadata of a training that is under way."""
        from tagwright import __version__

        told = {"format": container.FORMAT, "version": __version__, **self.meta(), **meta}
        container.write(path, {**self.arrays, **more}, told)

    def meta(self) -> dict[str, Any]:
        """Return what a file keeps of the model beside its arrays."""
        return {
            "labels": self.labels,
            "templates": self.features.text if self.features else None,
            "lists": self.features.lists if self.features else {},
            "finds": bool(self.features and self.features.finds),
            "facts": self.facts,
        }

    @classmethod
    def restored(cls, meta: dict[str, Any], arrays: Arrays) -> Self:
        """Return the model of this class that a file's metadata and arrays describe."""
        features = None
        if meta["templates"] is not None:
            features = Features.restored(meta["templates"], meta["lists"], bool(meta.get("finds", False)))
        return cls(meta["labels"], features, arrays, dict(meta["facts"]))

    def __reduce__(self) -> tuple[Any, ...]:
        """Let scikit-learn send a model to another process; files are for `save`."""
        arrays = {name: np.array(array) for name, array in self.arrays.items()}
        return type(self), (self.labels, self.features, arrays, self.facts)

    def __repr__(self) -> str:
        """Return the learner and the sizes."""
        features, weights = len(self.arrays["rows.end"]), len(self.arrays["rows.weight"])
        learner = self.facts.get("learner", "model")
        return f"Model({learner}, {len(self.labels)} labels, {features:,} features, {weights:,} weights)"


def load(path: str | os.PathLike[str] | None = None) -> Model:
    """Map a model from its file; without a path, the built-in one for English POS tags.

    Raises:
        ModelError: if the file is damaged or not a model.

    """
    return opened(BUILT_IN if path is None else path)[0]


def opened(path: str | os.PathLike[str]) -> tuple[Model, Arrays, dict[str, Any]]:
    """Return the model that a file holds, with all arrays and all metadata of the file."""
    arrays, meta = container.read(path)
    try:
        own = {name: array for name, array in arrays.items() if not name.startswith("state.")}
        model = model_from(meta, own)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise ModelError(f"{os.fspath(path)}: damaged ({error}); get or train it again") from None
    return model, arrays, meta


def model_from(meta: dict[str, Any], arrays: Arrays) -> Model:
    """Return the model that metadata and arrays describe, of the kind that its facts name."""
    return kind_of(dict(meta["facts"])).model_class.restored(meta, arrays)


def core_text(X: Sentences, features: Features | None) -> _core.Text:
    """Return sentences as the core takes them: tokens as text for templates, or as ready-made features."""
    return _core.Text.from_rows(X, features.columns) if features else _core.Text.from_ready(X)


def core_templates(features: Features | None) -> _core.Templates:
    """Return templates as the core takes them: none where tokens are given as ready-made features."""
    return features.core if features else _core.Templates.make([], [], [])


def make_scorer(
    labels: list[str], templates: _core.Templates, arrays: Arrays, first_only: bool = False
) -> _core.Scorer:
    """Return the core's scorer of tokens; ValueError where labels and arrays do not fit together.

    first_only: whether a token's scores are the row of the first of its features that the model has, as in an HMM.
    """
    if not all(isinstance(name, str) for name in labels) or len(set(labels)) < len(labels):
        raise ValueError("label names must be strings that differ")
    for end in ("start", "stop"):
        if end in arrays and (arrays[end].shape != (len(labels),) or not np.isfinite(arrays[end]).all()):
            raise ValueError(f"{end} must hold a finite score for each label")
    return _core.Scorer(templates, _core.Weights.from_arrays(len(labels), arrays, first_only))
