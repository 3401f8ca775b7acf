"""Models of one lattice per sentence: perceptron, CRF and HMM."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.decoding.decoders import Decoder, plan
from tagwright.decoding.edges import Edges, sides_of
from tagwright.decoding.keep import Keep, keep_arguments
from tagwright.features.templates import Features
from tagwright.models.file import Arrays
from tagwright.models.model import Lattice, Model, Sentences, Tagging, core_templates, make_scorer

__all__ = ["LinearModel"]


class LinearModel(Model):
    """A model that scores a labelling by the sum of node and edge scores: one lattice per sentence.

    Its arguments are those of `Model`. With `facts["first_only"]`, as in an HMM, a token's scores are those of the
    first of its features that the model has; otherwise they are the sum over all of them.
    """

    lacks: ClassVar = {
        "probabilities": "the scores of a {learner} are not probabilities: they only rank labellings; "
        "train a CRF (or an HMM) to get some",
    }

    def __init__(self, labels: Sequence[str], features: Features | None, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Check that the parts fit together."""
        super().__init__(labels, features, arrays, facts)
        templates = core_templates(features)
        if templates.history:
            raise ValueError("the templates look at earlier labels, which only a MEMM can")
        self._scorer = make_scorer(self.labels, templates, arrays, bool(facts.get("first_only", False)))

    @cached_property
    def edges(self) -> Edges:
        """The edges, in the form that suits their number (cpp/lattice/edge_form.h)."""
        arrays = self.arrays
        corrections = None
        if "corrections.set" in arrays:
            corrections = [arrays[f"corrections.{part}"] for part in ("set", "previous", "current", "score")]
        sides = sides_of(arrays.get("start"), arrays.get("stop"), None, corrections)
        previous, current = (arrays[f"edges.{part}"].astype(np.int32) for part in ("previous", "current"))
        scores = arrays["edges.score"]
        return Edges._of(_core.Edges.from_triples(len(self.labels), 0.0, previous, current, scores, True, sides))

    def _kbest(self, X: Sentences, k: int, decoder: str | Decoder, threads: int, proba: bool) -> list[list[Tagging]]:
        chosen = plan(decoder)
        if k > 1 and not chosen.row.kbest:
            raise ValueError(f'decoder {chosen.row.name!r} gives one path only, but k = {k}; use "auto" or another')
        text = self.text(X)
        flat, scores, work, *sums = self._scorer.decode(text, self.edges._core, chosen.core, k, threads, sure=proba)
        found = flat, scores, work
        if not proba:
            return self._taggings(text, found)
        log_z, marginals = sums
        # Rounding may put a score that is all of Z a little above it.
        probabilities = np.exp(np.minimum(np.array(scores) - np.repeat(log_z, [row[0] for row in work]), 0))
        return self._taggings(text, found, probabilities.tolist(), marginals.tolist())

    def marginals(self, X: Sentences, keep: Keep | None = None, threads: int = 1) -> list[npt.NDArray[np.float32]]:
        """Return the probability of every label: one array (T, L) per sentence, label y being ``labels[y]``.

        keep: a rule for sparse sums, as for `tw.marginals`; None for exact ones.
        """
        self.need_probabilities()
        checks.at_least_one("threads", threads)
        return self._scorer.marginals(self.text(X), self.edges._core, keep_arguments(keep), threads)

    def lattice(self, sentence: Sequence[object]) -> Lattice:
        """Return the scores of a sentence without decoding it."""
        nodes, on = self._scorer.nodes(self.text([sentence]), 0)
        return Lattice(nodes, self.edges, on or None)

    def priced(self, decoder: str | Decoder = "auto") -> _core.PricedModel:
        """Return what dual decomposition asks for the best labels under prices, found by this decoder."""
        return _core.LatticeModel.make(self._scorer, self.edges._core, plan(decoder).core)
