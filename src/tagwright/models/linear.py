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
from tagwright.decoding.edges import Edges
from tagwright.decoding.keep import Keep, keep_arguments
from tagwright.decoding.spans import SpanReader
from tagwright.features.templates import Features
from tagwright.models.explanation import Explanation, Rows, explained
from tagwright.models.facts import fact_in
from tagwright.models.file import Arrays
from tagwright.models.limits import Limits
from tagwright.models.model import Model
from tagwright.models.native import Sentences, core_templates
from tagwright.models.tagging import Lattice, TagOptions, TagResult


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
        super().__init__(labels, features, arrays, facts)
        self._first_only = bool(fact_in(facts, bool, "first_only"))
        if not all(isinstance(name, str) for name in labels):
            raise ValueError("label names must be strings that differ")
        names = [name.encode("utf-8", "surrogatepass") for name in self.labels]
        self._core = _core.Model.make(names, core_templates(features), arrays, self._first_only)

    def needed_facts(self) -> dict[str, Any]:
        """Return how the scores of features are put together."""
        named = "first_only" in (fact_in(self.facts, dict) or {})
        return {"first_only": self._first_only} if named or self._first_only else {}

    @cached_property
    def edges(self) -> Edges:
        """The edges without constraints, in the form that suits their number (cpp/lattice/edge_form.h)."""
        return Edges._of(self._core.edges)

    def _best(self, X: Sentences, chosen: Plan, options: TagOptions, limits: Limits) -> list[list[str]]:
        text, edges = self.text(X), self._edges_under(limits.constraints)._core
        return self._core.tag(text, edges, chosen.core, options.threads, self.labels, limits.allowed(text))

    def tag_lines(
        self, block: bytes, format: _core.LineFormat, decoder: str | Decoder = "auto", threads: int = 1
    ) -> bytes | None:
        """Return complete sentences of a file with their best labels; None if Python must read them.

        Each piece of the block is read, tagged and written by one thread. What is malformed is read in Python instead,
        which reports the error with its line.

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
        dictionary = None if limits is None else limits.dictionary()
        if self.features is None or format.columns < self.columns or (dictionary is not None and not self.columns):
            return None
        edges, lines = self._edges_under(limits)._core, format.with_columns(self.columns)
        return self._core.tag_lines(block, edges, chosen.core, threads, lines, dictionary)

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
        search = _core.plan_for(chosen.core, options.k, deadline, options.proven)
        labels, scores, work, *sums = self._core.decode(
            text, self._edges_under(limits.constraints)._core, search, options.threads, limits.allowed(text),
            options.proba, spans,
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
        self, X: Sentences, pruning: Keep | None, threads: int, limits: Limits
    ) -> list[npt.NDArray[np.float32]]:
        text = self.text(X)
        edges = self._edges_under(limits.constraints)._core
        return self._core.marginals(text, edges, keep_arguments(pruning), threads, allowed=limits.allowed(text))

    def _lattice(self, sentence: list[object], limits: Limits) -> Lattice:
        text = self.text([sentence])
        nodes, active = self._core.nodes(text, 0)
        lists = limits.allowed(text)
        edges = self._edges_under(limits.constraints)
        return Lattice.masked(nodes, edges, active or None, None if lists is None else lists.lists())

    def _explain(self, sentence: list[object], lattice: Lattice, t: int, labels: Sequence[str] | None) -> Explanation:
        text = self.text([sentence])

        def rows_of(numbers: list[int]) -> Rows:
            return self._core.explain(text, 0, t, numbers)

        descriptions = {} if self.features is None else self.features.described(text, t)
        return explained(self, sentence, lattice, t, labels, rows_of, descriptions)

    def priced(self, decoder: str | Decoder = "auto", constraints: Constraints | None = None) -> _core.PricedModel:
        """Return the search that dual decomposition runs under prices, with this decoder."""
        edges = self._edges_under(constraints)._core
        return _core.LatticeModel.make(self._core, edges, plan_by_score(decoder, "an agreement").core)
