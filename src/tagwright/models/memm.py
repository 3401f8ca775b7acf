"""Maxent Markov models: a beam over label histories, and the rules that answers keep to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.constraints.allowed import AllowedLabels
from tagwright.constraints.constraints import Constraints
from tagwright.decoding.decode import decode
from tagwright.decoding.decoders import Decoder, plan, plan_by_score
from tagwright.decoding.edges import Edges
from tagwright.features.templates import Features
from tagwright.models.facts import checked
from tagwright.models.file import Arrays
from tagwright.models.limits import Limits, limit_tokens
from tagwright.models.model import Lattice, Model, Tagging
from tagwright.models.native import Sentences, make_scorer
from tagwright.schemes import span_labels

__all__ = ["MemmModel"]


class MemmModel(Model):
    """A maxent Markov model: p(y_i | x, y_1 .. y_i-1), with features and weights as in `Model`, and no edges.

    `facts["memm"]` has the direction, the beam, whether labels keep to the rules of spans, and, for ready-made
    features, the templates that look at labels. A tag dictionary is in the arrays dictionary.slots, .ends, .bytes
    (an index of words), .end and .label (one row of labels per word).

    A score is log p(labels | sentence). The decoder "auto" is Algorithm 1 of Wang et al. (2013) with the model's own
    beam, `Beam(width)` with another one. A model with a history of 1 is a lattice, too, which all other decoders take.
    """

    looks_back = True
    lacks: ClassVar = {
        "probabilities": "a MEMM has the probability of a whole labelling, exp(score), but none of single labels; "
        "train a CRF to get those",
        "explain": "a MEMM's scores are log probabilities, not sums of weights; train a CRF to explain its labels",
        "edges": "a MEMM has no edges of its own; lattice(sentence).edges has those of a sentence",
    }

    def __init__(self, labels: Sequence[str], features: Features | None, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Check that the parts fit together."""
        super().__init__(labels, features, arrays, facts)
        own: dict[str, Any] = dict(facts["memm"])
        self._own = own
        self._check_options(own)
        self.beam = own["beam"]
        self.leftward = own["direction"] == "left"
        # Ready-made features have templates for labels only.
        templates = Features.restored(own["templates"], {}) if features is None else features
        scorer = make_scorer(self.labels, templates.core, arrays)
        if len(arrays["edges.score"]):
            raise ValueError("a maxent Markov model has no edges")
        spans = span_labels(self.labels) if own["spans"] else None
        if spans is not None and self.leftward:
            spans = spans.reversed()
        self._memm = _core.Memm.make(scorer, self.labels, arrays, leftward=self.leftward, width=self.beam, spans=spans)

    def _check_options(self, own: dict[str, Any]) -> None:
        checks.one_of("direction", own["direction"], ("right", "left"))
        checks.at_least_one("beam", own["beam"])
        checks.one_of("spans", str(own["spans"]), ("True", "False"))
        if self.features is None:
            Features.restored(own["templates"], {})

    def needed_facts(self) -> dict[str, Any]:
        """Return what kind of model it is, and its options."""
        return {"learner": "memm", "memm": checked(self.facts, "memm", self._check_options, self._own)}

    @property
    def order(self) -> int:
        """How many labels back the model looks."""
        return self._memm.history

    def text(self, X: Sentences) -> _core.Text:
        """Return sentences as the core takes them, in the direction of the model."""
        text = super().text(X)
        return text.reversed() if self.leftward else text

    def _kbest(
        self, X: Sentences, k: int, decoder: str | Decoder, threads: int, proba: bool, limits: Limits
    ) -> list[list[Tagging]]:
        row, options, _ = plan(decoder)
        if row.name not in ("auto", "beam"):
            given = limits.lists or [None] * len(X)
            return [self._by_lattice(own, k, decoder, limits, given[s]) for s, own in enumerate(X)]
        if options.get("keep") is not None:
            raise ValueError("the beam of a MEMM has a width; it takes no rule for what to keep")
        text = self.text(X)
        rules, lists = limits.searches(self.labels, text)
        found = self._memm.decode(text, int(options.get("width") or self.beam), k, threads, rules, lists)
        return self._taggings(text, found)

    def proven(self, X: Sentences, k: int = 1, threads: int = 1) -> list[bool]:
        """Return for each sentence whether its k best are known to be the k best.

        They are where nothing that the beam dropped could have become better: its score only falls as it goes on.
        """
        checks.at_least_one("k", k)
        checks.at_least_one("threads", threads)
        text = self.text(X)
        *_, work = self._memm.decode(
            text, self.beam, k, threads, *self._limiter.of(X, None, None).searches(self.labels, text)
        )
        return [exact for *_, exact, _ in work]

    def _by_lattice(
        self, sentence: Sequence[object], k: int, decoder: str | Decoder, limits: Limits, allowed: AllowedLabels | None
    ) -> list[Tagging]:
        nodes, edges, _ = self.lattice(sentence)
        if not len(nodes):
            return [Tagging([], 0.0)]
        lists = None if allowed is None else limit_tokens(allowed, self.labels)
        paths = decode(nodes, edges, k, decoder, constraints=limits.pairs, allowed=lists).paths
        return [Tagging([self.labels[y] for y in path.labels.tolist()], path.score) for path in paths]

    def lattice(self, sentence: Sequence[object]) -> Lattice:
        """Return the scores of a sentence as a lattice, which a history of at most 1 makes possible.

        Where the model goes to the right, the edge from i to j into token t is log p(j | x, i), with its normaliser,
        since that depends on i; the first token has no label before it, so that its log p(j | x) is in the nodes. Where
        the model goes to the left, all this is mirrored. Without a history, edges do not depend on i. What the rules
        and the tag dictionary forbid has -inf; that may leave no path, where the beam would ignore the dictionary.
        """
        if self.order > 1:
            raise ValueError(
                f"a MEMM that looks back at {self.order} labels is no lattice; train one with history=1, "
                "or use the decoder 'auto' or a beam"
            )
        steps = self._memm.steps(self.text([sentence]), 0)  # (T, L + 1, L), in the model's order
        T, L = len(steps), len(self.labels)
        nodes = np.zeros((T, L))
        if not T:
            return Lattice(nodes, Edges(np.zeros((L, L))), None)
        nodes[-1 if self.leftward else 0] = steps[0, L]
        edges: npt.NDArray[np.float64] = steps[1:, :L]
        if self.leftward:
            edges = edges[::-1].transpose(0, 2, 1)
        return Lattice(nodes, Edges(np.ascontiguousarray(edges) if T > 1 else np.zeros((L, L))), None)

    def priced(self, decoder: str | Decoder = "auto", constraints: Constraints | None = None) -> _core.PricedModel:
        """Return what dual decomposition asks for the best labels under prices, found by the model's beam."""
        plan_by_score(decoder, "an agreement")
        return self._memm
