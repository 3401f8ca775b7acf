"""Models of one lattice per sentence: perceptron, CRF and HMM."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.constraints.allowed import AllowedLabels
from tagwright.constraints.constraints import Constraints
from tagwright.data.sentence import LineForm
from tagwright.decoding.decoders import Decoder, plan, plan_by_score
from tagwright.decoding.edges import Edges, sides_of
from tagwright.decoding.keep import Keep, keep_arguments
from tagwright.decoding.sampling import sample
from tagwright.decoding.spans import Span, SpanReader
from tagwright.features.templates import Features
from tagwright.models.explanation import Explanation, Rows, explained
from tagwright.models.facts import fact_in
from tagwright.models.file import Arrays
from tagwright.models.limits import Limits, limit_tokens
from tagwright.models.model import Lattice, Model, Tagging
from tagwright.models.native import Sentences, core_templates, make_scorer

__all__ = ["LinearModel"]


_NO_LABEL = 65_535  # behind a run of three labels


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
        said = "first_only" in (fact_in(self.facts, dict) or {})
        return {"first_only": self._first_only} if said or self._first_only else {}

    @cached_property
    def edges(self) -> Edges:
        """The edges, in the form that suits their number (cpp/lattice/edge_form.h)."""
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

    def _best(self, X: Sentences, decoder: str | Decoder, threads: int) -> list[list[str]]:
        return self._scorer.tag(self.text(X), self.edges._core, plan(decoder).core, threads, self.labels)

    def tag_lines(
        self, block: bytes, form: LineForm, decoder: str | Decoder = "auto", threads: int = 1
    ) -> bytes | None:
        """Return complete sentences of a file with their best labels; None where they are to be read as usual.

        form: that of the file, where it is plain. Each piece of the block is read, tagged and written by one thread.
        """
        checks.at_least_one("threads", threads)
        if self.features is None or form.columns < self.columns or self.constraints is not None:
            return None
        form = form._replace(columns=self.columns)
        numbers = form.conllu, form.tab, form.width, form.columns, form.pick
        edges, chosen = self.edges._core, plan(decoder).core
        return self._scorer.tag_lines(block, edges, chosen, threads, self.labels, numbers, form.separator)

    def _under(self, limits: Limits, text: _core.Text) -> tuple[_core.Edges, _core.AllowedLists | None]:
        """Return edges and lists that limits leave."""
        edges = self.edges._core if limits.constraints is None else self.edges.constrained(limits.constraints)
        return edges, limits.core(self.labels, text.lengths().tolist())

    def _kbest(
        self, X: Sentences, k: int, decoder: str | Decoder, threads: int, proba: bool, limits: Limits
    ) -> list[list[Tagging]]:
        chosen = plan(decoder)
        if k > 1 and not chosen.row.kbest:
            raise ValueError(f'decoder {chosen.row.name!r} gives one path only, but k = {k}; use "auto" or another')
        text = self.text(X)
        edges, lists = self._under(limits, text)
        found = self._scorer.decode(text, edges, chosen.core, k, threads, lists, sure=proba)
        return self._sure(text, *found) if proba else self._taggings(text, found)

    def _sure(
        self,
        text: _core.Text,
        flat: npt.NDArray[np.int32],
        scores: Sequence[float],
        work: Sequence[tuple[Any, ...]],
        log_z: npt.NDArray[np.float64],
        marginals: npt.NDArray[np.float64],
    ) -> list[list[Tagging]]:
        """Return labellings with their probabilities, given what the core lists for all sentences."""
        # Rounding may put a score that is all of Z a little above it.
        shares = np.minimum(np.array(scores) - np.repeat(log_z, [row[0] for row in work]), 0)
        return self._taggings(text, (flat, scores, work), shares.tolist(), marginals.tolist())

    @cached_property
    def _span_reader(self) -> SpanReader:
        return SpanReader(self.labels)

    def tag_spans(
        self,
        X: Sentences,
        k: int | None = None,
        decoder: str | Decoder = "auto",
        threads: int = 1,
        *,
        constraints: Constraints | str | None = None,
        allowed: Sequence[AllowedLabels | None] | None = None,
    ) -> list[tuple[Tagging, list[Span]]]:
        """Return for each sentence its best labelling, with probabilities, and what `spans` returns of it."""
        self.need_probabilities()
        checks.at_least_one("threads", threads)
        reader, text = self._span_reader, self.text(X)
        edges, lists = self._under(self._limiter.of(X, constraints, allowed), text)
        *found, spans = self._scorer.decode(
            text, edges, plan(decoder).core, 1, threads, lists, sure=True, span_rules=reader.core,
            spans=reader.count(k),
        )  # fmt: skip
        return [(own[0], reader.named(its)) for own, its in zip(self._sure(text, *found), spans, strict=True)]

    def sample(
        self,
        sentence: Sequence[object],
        n: int = 1,
        seed: int = 0,
        *,
        constraints: Constraints | str | None = None,
        allowed: AllowedLabels | None = None,
    ) -> list[list[str]]:
        """Return n labellings of a sentence, drawn as `tw.sample` draws them; ValueError if not probabilistic."""
        self.need_probabilities()
        limits = self._limiter.of([sentence], constraints, None if allowed is None else [allowed])
        nodes, _, on = self.lattice(sentence)
        lists = None if limits.lists is None else limit_tokens(limits.lists[0], self.labels)
        drawn = sample(nodes, self.edges, n, seed, active=on, constraints=limits.pairs, allowed=lists)
        return [[self.labels[y] for y in own] for own in drawn.tolist()]

    def marginals(
        self,
        X: Sentences,
        keep: Keep | None = None,
        threads: int = 1,
        *,
        constraints: Constraints | str | None = None,
        allowed: Sequence[AllowedLabels | None] | None = None,
    ) -> list[npt.NDArray[np.float32]]:
        """Return the probability of every label; see `Model.marginals`."""
        self.need_probabilities()
        checks.at_least_one("threads", threads)
        text = self.text(X)
        edges, lists = self._under(self._limiter.of(X, constraints, allowed), text)
        return self._scorer.marginals(text, edges, keep_arguments(keep), threads, allowed=lists)

    def lattice(self, sentence: Sequence[object]) -> Lattice:
        """Return the scores of a sentence without decoding it; -inf for pairs that the model's constraints forbid."""
        nodes, on = self._scorer.nodes(self.text([sentence]), 0)
        return Lattice(nodes, self._own_edges, on or None)

    @cached_property
    def _own_edges(self) -> Edges:
        """The edges under the model's own constraints."""
        own = self.constraints
        return self.edges if own is None or not own.limits_edges else Edges._of(self.edges.constrained(own))

    def explain(
        self,
        sentence: Sequence[object],
        token: int,
        labels: Sequence[str] | None = None,
        *,
        lattice: Lattice | None = None,
    ) -> Explanation:
        """Return why a token of a sentence has its label; see `Model.explain`.

        lattice: the sentence's own scores, of which some were set to -inf; None for `lattice(sentence)`.
        """
        sentence = list(sentence)

        def rows_of(t: int, own: list[int]) -> Rows:
            return self._scorer.explain(self.text([sentence]), 0, t, own)

        return explained(self, sentence, token, labels, rows_of, lattice)

    def priced(self, decoder: str | Decoder = "auto", constraints: Constraints | None = None) -> _core.PricedModel:
        """Return what dual decomposition asks for the best labels under prices, found by this decoder."""
        edges = self.edges._core if constraints is None else self.edges.constrained(constraints)
        return _core.LatticeModel.make(self._scorer, edges, plan_by_score(decoder, "an agreement").core)
