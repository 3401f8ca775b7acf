"""Models of one lattice per sentence: perceptron, CRF and HMM."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tagwright import _core
from tagwright.cached import cached_property
from tagwright.constraints.constraints import Constraints
from tagwright.decoding.decoders import Decoder, Plan, plan_by_score
from tagwright.decoding.edges import Edges, sides_of
from tagwright.decoding.keep import Keep, keep_arguments
from tagwright.decoding.spans import SpanReader
from tagwright.features.templates import Features
from tagwright.models.explanation import Explanation, Rows, explained
from tagwright.models.facts import fact_in
from tagwright.models.file import Arrays
from tagwright.models.limits import Limits
from tagwright.models.model import Model
from tagwright.models.native import Sentences, core_templates, make_scorer
from tagwright.models.tagging import Lattice, TagOptions, TagResult

__all__ = ["LinearModel"]


_NO_LABEL = 65_535  # pads n-grams of three labels


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
        self._first_only = bool(fact_in(facts, bool, "first_only"))
        self._scorer = make_scorer(self.labels, templates, arrays, self._first_only)

    def needed_facts(self) -> dict[str, Any]:
        """Return how the scores of features are put together."""
        named = "first_only" in (fact_in(self.facts, dict) or {})
        return {"first_only": self._first_only} if named or self._first_only else {}

    @cached_property
    def edges(self) -> Edges:
        """The edges without constraints, in the form that suits their number (cpp/lattice/edge_form.h)."""
        arrays = self.arrays
        corrections = None
        if "corrections.set" in arrays:
            corrections = [arrays[f"corrections.{part}"] for part in ("set", "previous", "current", "score")]
        ngrams = None
        if "ngrams.score" in arrays:
            runs = arrays["ngrams.labels"].reshape(-1, 4).astype(np.int32)
            runs[runs == _NO_LABEL] = -1
            ngrams = runs, arrays["ngrams.score"]
        sides = sides_of(arrays.get("start"), arrays.get("stop"), None, corrections, ngrams)
        previous, current = (arrays[f"edges.{part}"].astype(np.int32) for part in ("previous", "current"))
        scores = arrays["edges.score"]
        return Edges._of(_core.Edges.from_triples(len(self.labels), 0.0, previous, current, scores, True, sides))

    def _best(self, X: Sentences, chosen: Plan, options: TagOptions, limits: Limits) -> list[list[str]]:
        if limits.lists is not None:
            return super()._best(X, chosen, options, limits)
        edges = self._edges_under(limits.constraints)._core
        return self._scorer.tag(self.text(X), edges, chosen.core, options.threads, self.labels)

    def tag_lines(
        self, block: bytes, format: _core.LineFormat, decoder: str | Decoder = "auto", threads: int = 1
    ) -> bytes | None:
        """Return complete sentences of a file with their best labels; None if Python must read them.

        Each piece of the block is read, tagged and written by one thread. What is malformed, or needs a list of labels
        per token, is read in Python instead.

        Parameters
        ----------
        block
            Lines of complete sentences.
        format
            The format of the lines.
        decoder, threads
            As for `tag_batch`.

        """
        chosen = self._plan(TagOptions(1, decoder, threads))
        limits = self._limiter.compose(None)
        if self.features is None or format.columns < self.columns or (limits is not None and limits.words is not None):
            return None
        edges, lines = self._edges_under(limits)._core, format.with_columns(self.columns)
        return self._scorer.tag_lines(block, edges, chosen.core, threads, self.labels, lines)

    def _edges_under(self, constraints: Constraints | None) -> Edges:
        """Return the edges under constraints; what is derived from them is made once for each of the constraints."""
        if constraints is None or not constraints.limits_edges:
            return self.edges
        return Edges._of(self.edges.constrained(constraints))

    def _results(self, X: Sentences, chosen: Plan, options: TagOptions, limits: Limits) -> list[TagResult]:
        text = self.text(X)
        lengths = text.lengths().tolist()
        reader = None if options.spans is None else self._span_reader
        deadline = math.inf if options.deadline is None else options.deadline
        spans = None if reader is None else (reader.core, options.spans or 0)
        labels, scores, work, *sums = self._scorer.decode(
            text, self._edges_under(limits.constraints)._core, _core.plan_for(chosen.core, options.k, deadline),
            options.threads, limits.allowed(lengths), options.proba, spans,
        )  # fmt: skip
        if not chosen.row.exact:
            work = [(*row[:4], False, math.inf) for row in work]
        if reader is not None:
            sums[-1] = list(map(reader.named, sums[-1]))
        return self._unpack(lengths, labels, scores, work, *sums)

    @cached_property
    def _span_reader(self) -> SpanReader:
        return SpanReader(self.labels)

    def _marginals(
        self, X: Sentences, keep: Keep | None, threads: int, limits: Limits
    ) -> list[npt.NDArray[np.float32]]:
        text = self.text(X)
        edges, lists = self._edges_under(limits.constraints)._core, limits.allowed(text.lengths().tolist())
        return self._scorer.marginals(text, edges, keep_arguments(keep), threads, allowed=lists)

    def _lattice(self, sentence: list[object], limits: Limits) -> Lattice:
        nodes, active = self._scorer.nodes(self.text([sentence]), 0)
        edges = self._edges_under(limits.constraints)
        return Lattice.masked(nodes, edges, active or None, limits.of_token(0, len(sentence)))

    def _explain(self, sentence: list[object], lattice: Lattice, t: int, labels: Sequence[str] | None) -> Explanation:
        def rows_of(numbers: list[int]) -> Rows:
            return self._scorer.explain(self.text([sentence]), 0, t, numbers)

        return explained(self, sentence, lattice, t, labels, rows_of)

    def priced(self, decoder: str | Decoder = "auto", constraints: Constraints | None = None) -> _core.PricedModel:
        """Return the search that dual decomposition runs under prices, with this decoder."""
        edges = self._edges_under(constraints)._core
        return _core.LatticeModel.make(self._scorer, edges, plan_by_score(decoder, "an agreement").core)
