"""Maxent Markov models: a beam over label histories, and the rules that answers keep to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.constraints.arrays import SOFT, from_arrays, from_word_index
from tagwright.constraints.constraints import Constraints
from tagwright.decoding.decoders import Decoder, Plan, plan_by_score
from tagwright.decoding.edges import Edges
from tagwright.features.templates import Features
from tagwright.models.facts import checked
from tagwright.models.file import Arrays
from tagwright.models.limits import Limits
from tagwright.models.model import Model
from tagwright.models.native import Sentences
from tagwright.models.tagging import Lattice, Tagging, TagOptions, TagResult
from tagwright.schemes import span_labels

_SEARCHES = ("auto", "beam")
"""Decoders that stand for the model's own search; all others need a lattice."""


class MemmModel(Model):
    """A maxent Markov model: p(y_i | x, y_1 .. y_i-1), with features and weights as in `Model`, and no edges.

    `facts["memm"]` has the direction, the beam, whether labels keep to the rules of spans, and, for ready-made
    features, the templates that look at labels. Constraints whose arrays begin with ``soft.``, a tag dictionary, are
    relaxed at tokens where they leave no labelling, and so are the rules of spans.

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
        super().__init__(labels, features, arrays, facts)
        own: dict[str, Any] = dict(facts["memm"])
        self._own = own
        self._check_options(own)
        self.beam = own["beam"]
        self.leftward = own["direction"] == "left"
        # Ready-made features have templates for labels only.
        templates = Features.restored(own["templates"], {}) if features is None else features
        self.soft = from_arrays(self.labels, arrays, SOFT) or from_word_index(self.labels, arrays)
        """Constraints that are relaxed at tokens where they leave no labelling."""
        self._memm = _core.Memm.make(
            self.labels, templates.core, arrays, leftward=self.leftward, width=self.beam,
            rules=_span_rules(self.labels) if own["spans"] else None,
            dictionary=None if self.soft is None else self.soft.dictionary(),
        )  # fmt: skip

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
        return self._directed(super().text(X))

    def _directed(self, text: _core.Text) -> _core.Text:
        return text.reversed() if self.leftward else text

    def _results(self, X: Sentences, chosen: Plan, options: TagOptions, limits: Limits) -> list[TagResult]:
        text = super().text(X)
        lists = limits.allowed(text)
        if chosen.row.name not in _SEARCHES or options.deadline is not None:
            return [self._by_lattice(list(own), options, limits.of_sentence(s)) for s, own in enumerate(X)]
        if chosen.options.get("pruning") is not None:
            raise ValueError("the beam of a MEMM has a width; it takes no pruning rule")
        width = int(chosen.options.get("width") or self.beam)
        found = self._memm.decode(self._directed(text), width, options.k, options.threads, limits.rules, lists)
        return self._unpack(text.lengths().tolist(), *found)

    def proven(self, X: Sentences, k: int = 1, threads: int = 1) -> list[bool]:
        """Return for each sentence whether its k best labellings are proven to be the k best.

        They are where no partial sequence that the beam dropped could have become better: scores only decrease.
        """
        return [found.exact for found in self.tag_results(X, TagOptions(k, threads=threads))]

    def _by_lattice(self, sentence: list[object], options: TagOptions, limits: Limits) -> TagResult:
        found = self._lattice(sentence, limits).decode(options.k, options.decoder, options.deadline)
        taggings = [Tagging([self.labels[y] for y in path.labels.tolist()], path.score) for path in found.paths]
        return TagResult(taggings, found.exact, found.gap, found.work)

    def _lattice(self, sentence: list[object], limits: Limits) -> Lattice:
        """Return the scores of a sentence as a lattice, which a history of at most 1 makes possible.

        Where the model goes to the right, the edge from i to j into token t is log p(j | x, i), with its normaliser,
        since that depends on i; the first token has no label before it, so that its log p(j | x) is in the nodes. Where
        the model goes to the left, all this is mirrored. Without a history, edges do not depend on i. Labels and pairs
        that the limits or the model's own rules forbid have -inf; at a token where its own rules would leave no
        labelling they are relaxed, as in the beam.
        """
        if self.order > 1:
            raise ValueError(
                f"a MEMM that looks back at {self.order} labels is not a lattice; train one with history=1, "
                "or use the decoder 'auto' or a beam"
            )
        text = super().text([sentence])
        steps = self._memm.steps(self._directed(text), 0, limits.rules, limits.allowed(text))  # (T, L + 1, L)
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
        """Return the search that dual decomposition runs under prices: the model's beam."""
        plan_by_score(decoder, "an agreement")
        return self._memm


def _span_rules(labels: list[str]) -> _core.PairRules | None:
    """Return the rules of the labels' scheme; None where they are not of one that marks where spans begin."""
    found = span_labels(labels)
    if found is None:
        return None
    none = np.zeros(0, np.int32)
    return _core.PairRules.make(len(labels), [("spans", *found.rule())], none, none, found.start, found.stop)
