"""Model: labels, features, weights and edges. Text in, labels out; saved to and mapped from one file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, overload

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.decoding.decoders import Decoder, plan
from tagwright.decoding.edges import Edges
from tagwright.decoding.keep import Keep, keep_arguments
from tagwright.features.templates import Features
from tagwright.models import file as container
from tagwright.models.file import Arrays, ModelError

__all__ = ["Lattice", "Model", "Tagging", "load"]

BUILT_IN = Path(__file__).with_name("english.safetensors")
"""A POS tagger for English that comes with the package; see NOTICE."""

# Up to this many labels an edge matrix is small enough to be had beside the exceptions.
_MATRIX = 1500


class Tagging(NamedTuple):
    """One labelling of a sentence."""

    labels: list[str]
    """The name of each token's label."""
    score: float
    """Its score under the model; higher is better."""
    probability: float | None = None
    """Of the whole labelling, exp(score - log Z); where it was asked for."""
    marginals: list[float] | None = None
    """The probability of each token's label, whatever the others have; where they were asked for."""


class Lattice(NamedTuple):
    """A sentence's scores, to be decoded by any means, as in ``tw.decode(lattice.nodes, lattice.edges, k=5)``.

    A model with token-dependent edges needs ``switched_on=lattice.switched_on`` there too.
    """

    nodes: npt.NDArray[np.floating[Any]]
    """(T, L); label y is ``model.labels[y]``."""
    edges: Edges
    """The model's edges, shared by all sentences; of a MEMM those of the sentence."""
    switched_on: list[list[int]] | None
    """For each step the correction sets that count there, where the model has token-dependent edges."""


class Model:
    """What training makes and tagging uses.

    Args:
        labels: their names, most frequent first.
        features: templates, or None where tokens come with ready-made features.
        arrays: names.slots, names.ends, names.bytes (the feature index), rows.end, rows.label, rows.weight (a sparse
            row a feature), edges.previous, edges.current, edges.score; where there are any, start, stop, and for
            token-dependent edges edge_names.* and corrections.set, .previous, .current, .score.
        facts: learner, options, and what it was trained on.

    """

    looks_back = False
    """Whether templates may look at the labels of earlier tokens."""

    def __init__(self, labels: Sequence[str], features: Features | None, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Check that the parts fit together."""
        self.labels = list(labels)
        self.features = features
        self.arrays = arrays
        self.facts = facts
        _check(self.labels, arrays)
        templates = self.core_templates()
        if templates.history and not self.looks_back:
            raise ValueError("the templates look at earlier labels, which only a MEMM can")
        weights = _core.Weights.from_arrays(len(self.labels), arrays, bool(facts.get("first_only", False)))
        self._scorer = _core.Scorer(templates, weights)

    def core_templates(self) -> _core.Templates:
        """Templates as the core takes them."""
        return core_templates(self.features)

    def _index(self, name: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]:
        if f"{name}.slots" not in self.arrays:
            return np.empty(0, np.uint64), np.empty(0, np.uint32), np.empty(0, np.uint8)
        return self.arrays[f"{name}.slots"], self.arrays[f"{name}.ends"], self.arrays[f"{name}.bytes"]

    @cached_property
    def edges(self) -> Edges:
        """The edges, in the form that is fastest to decode over."""
        L = len(self.labels)
        previous, current = (self.arrays[f"edges.{part}"].astype(np.int32) for part in ("previous", "current"))
        scores = self.arrays["edges.score"]
        start, stop = self.arrays.get("start"), self.arrays.get("stop")
        if L > _MATRIX:
            return Edges.from_exceptions(
                L, 0.0, previous, current, scores, start, stop, corrections=self._corrections()
            )
        matrix = np.zeros((L, L), np.float32)
        matrix[previous, current] = scores
        return Edges(matrix, start, stop, corrections=self._corrections())

    def _corrections(self) -> tuple[object, object, object, object] | None:
        if "corrections.set" not in self.arrays:
            return None
        sets, previous, current = (self.arrays[f"corrections.{part}"] for part in ("set", "previous", "current"))
        return sets, previous, current, self.arrays["corrections.score"]

    @property
    def columns(self) -> int:
        """How many columns a token must have; 0 for ready-made features."""
        return self.features.columns if self.features else 0

    def knows(self, word: str) -> bool | None:
        """Whether a word was met in training, at least min_count times; None where no feature is the word itself."""
        prefix = self.features.word_prefix() if self.features else None
        return None if prefix is None else _core.index_find(self._index("names"), prefix + word) >= 0

    @property
    def probabilistic(self) -> bool:
        """Whether exp(score - log Z) is a probability that was trained to be one: of CRFs and HMMs it is."""
        return self.facts.get("learner") in ("crf", "hmm")

    def need_probabilities(self) -> None:
        """Complain where scores are no log probabilities."""
        if not self.probabilistic:
            learner = self.facts.get("learner", "model of unknown making")
            raise ValueError(
                f"the scores of a {learner} are not probabilities: they only rank labellings; "
                "train a CRF (or an HMM) to get some"
            )

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
        """Give the best label of each token of one sentence; with `proba`, beside it the probability of that label."""
        best = self.tag_kbest([sentence], 1, decoder, proba=proba)[0][0]
        return best.labels if best.marginals is None else list(zip(best.labels, best.marginals, strict=True))

    def tag_batch(
        self, X: Sequence[Sequence[object]], decoder: str | Decoder = "auto", threads: int = 1
    ) -> list[list[str]]:
        """Give the best labels of many sentences: one native call, `threads` threads over the sentences."""
        return [found[0].labels for found in self.tag_kbest(X, 1, decoder, threads)]

    def tag_kbest(
        self,
        X: Sequence[Sequence[object]],
        k: int,
        decoder: str | Decoder = "auto",
        threads: int = 1,
        proba: bool = False,
    ) -> list[list[Tagging]]:
        """Give the k best labellings of each sentence, best first; fewer where there are no more.

        With `proba` each has its probability and those of its labels; ValueError where the model has none to give.
        """
        if proba:
            self.need_probabilities()
        checks.at_least_one("k", k)
        checks.at_least_one("threads", threads)
        return self._kbest(X, k, decoder, threads, proba)

    def _kbest(
        self, X: Sequence[Sequence[object]], k: int, decoder: str | Decoder, threads: int, proba: bool
    ) -> list[list[Tagging]]:
        chosen = plan(decoder)
        if k > 1 and not chosen.row.kbest:
            raise ValueError(f'decoder {chosen.row.name!r} gives one path only, but k = {k}; use "auto" or another')
        text = self.text(X)
        flat, scores, work, *sums = self._scorer.decode(text, self.edges._core, chosen.core, k, threads, sure=proba)
        names = [self.labels[y] for y in flat.tolist()]
        paths, lengths = [row[0] for row in work], text.lengths().tolist()
        if not proba:
            return list(cut(names, scores, lengths, paths))
        log_z, marginals = sums
        # Rounding may put a score that is all of Z a little above it.
        sure = np.exp(np.minimum(np.array(scores) - np.repeat(log_z, paths), 0)).tolist()
        return list(cut(names, scores, lengths, paths, sure, marginals.tolist()))

    def marginals(
        self, X: Sequence[Sequence[object]], keep: Keep | None = None, threads: int = 1
    ) -> list[npt.NDArray[np.float32]]:
        """Give the probability of every label: an array (T, L) a sentence, label y being ``labels[y]``.

        keep: a rule for sparse sums, as for `tw.marginals`; None for exact ones.
        """
        self.need_probabilities()
        checks.at_least_one("threads", threads)
        return cast(
            list[npt.NDArray[np.float32]],
            self._scorer.marginals(self.text(X), self.edges._core, keep_arguments(keep), threads),
        )

    def lattice(self, sentence: Sequence[object]) -> Lattice:
        """Score a sentence without decoding it."""
        nodes, on = self._scorer.nodes(self.text([sentence]), 0)
        return Lattice(nodes, self.edges, on or None)

    def text(self, X: Sequence[Sequence[object]]) -> _core.Text:
        """Sentences as the core takes them."""
        return core_text(X, self.features)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one safetensors file, which `load` maps."""
        self.save_with(path, {}, {})

    def save_with(self, path: str | os.PathLike[str], more: Arrays, meta: dict[str, Any]) -> None:
        """Write the model with arrays and facts of a training that is under way."""
        from tagwright import __version__

        told = {"format": container.FORMAT, "version": __version__, **self.meta(), **meta}
        container.write(path, {**self.arrays, **more}, told)

    def meta(self) -> dict[str, Any]:
        """All but the arrays, for a file."""
        return {
            "labels": self.labels,
            "templates": self.features.text if self.features else None,
            "lists": self.features.lists if self.features else {},
            "finds": bool(self.features and self.features.finds),
            "facts": self.facts,
        }

    def priced(self, decoder: str | Decoder = "auto") -> _core.PricedModel:
        """Give what dual decomposition asks: the best labels under prices, by this decoder."""
        return _core.LatticeModel.make(self._scorer, self.edges._core, plan(decoder).core)

    def __reduce__(self) -> tuple[Any, ...]:
        """Let scikit-learn send a model to another process; files are for `save`."""
        return type(self), (
            self.labels,
            self.features,
            {name: np.array(a) for name, a in self.arrays.items()},
            self.facts,
        )

    def __repr__(self) -> str:
        """Say what it is."""
        features, weights = len(self.arrays["rows.end"]), len(self.arrays["rows.weight"])
        learner = self.facts.get("learner", "model")
        return f"Model({learner}, {len(self.labels)} labels, {features:,} features, {weights:,} weights)"


def load(path: str | os.PathLike[str] | None = None) -> Model:
    """Map a model from its file; `ModelError` where it is damaged or none. Without a path: English POS tags."""
    return opened(BUILT_IN if path is None else path)[0]


def opened(path: str | os.PathLike[str]) -> tuple[Model, Arrays, dict[str, Any]]:
    """Map a model, with all its arrays and all that is said about them."""
    arrays, meta = container.read(path)
    try:
        own = {name: array for name, array in arrays.items() if not name.startswith("state.")}
        model = restored(meta, own)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise ModelError(f"{os.fspath(path)}: damaged ({error}); get or train it again") from None
    return model, arrays, meta


def restored(meta: dict[str, Any], arrays: Arrays) -> Model:
    """Make the model that a file describes."""
    facts = dict(meta["facts"])
    made = Model
    if facts.get("learner") == "bidirectional":
        from tagwright.models.bidirectional import BidirectionalModel

        return BidirectionalModel.restored(meta, arrays)
    if facts.get("learner") == "memm":
        from tagwright.models.memm import MemmModel

        made = MemmModel
    features = None
    if meta["templates"] is not None:
        features = Features.restored(meta["templates"], meta["lists"], bool(meta.get("finds", False)))
    return made(meta["labels"], features, arrays, facts)


def _check(labels: list[str], arrays: Arrays) -> None:
    """Complain about parts that do not fit together; the core looks at the weights itself."""
    if not all(isinstance(name, str) for name in labels) or len(set(labels)) < len(labels):
        raise ValueError("label names must be strings that differ")
    for end in ("start", "stop"):
        if end in arrays and (arrays[end].shape != (len(labels),) or not np.isfinite(arrays[end]).all()):
            raise ValueError(f"{end} must hold a finite score for each label")


def core_text(X: Sequence[Sequence[object]], features: Features | None) -> _core.Text:
    """Sentences as the core takes them: tokens as text for templates, or as ready-made features."""
    return _core.Text.from_rows(X, features.columns) if features else _core.Text.from_ready(X)


def core_templates(features: Features | None) -> _core.Templates:
    """Templates as the core takes them: none where features come ready-made."""
    return features.core if features else _core.Templates.make([], [], [])


def cut(
    names: list[str],
    scores: Sequence[float],
    lengths: Sequence[int],
    paths: Sequence[int],
    sure: Sequence[float] = (),
    marginals: Sequence[float] = (),
) -> Iterator[list[Tagging]]:
    """Give the labellings of each sentence, out of those of all sentences one behind the other."""
    at = path = 0
    for length, count in zip(lengths, paths, strict=True):
        found = []
        for _ in range(count):
            more = (sure[path], list(marginals[at : at + length])) if sure else ()
            found.append(Tagging(names[at : at + length], scores[path], *more))
            at, path = at + length, path + 1
        yield found
