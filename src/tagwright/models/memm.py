"""Maxent Markov models: a beam over label histories, and the rules that answers keep to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.decoding.decode import decode
from tagwright.decoding.decoders import Decoder, plan
from tagwright.decoding.edges import Edges
from tagwright.features.templates import Features
from tagwright.models.file import Arrays
from tagwright.models.model import Lattice, Model, Sentences, Tagging, make_scorer
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
        "edges": "a MEMM has no edges of its own; lattice(sentence).edges has those of a sentence",
    }

    def __init__(self, labels: Sequence[str], features: Features | None, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Check that the parts fit together."""
        super().__init__(labels, features, arrays, facts)
        own = facts["memm"]
        checks.one_of("direction", own["direction"], ("right", "left"))
        checks.at_least_one("beam", own["beam"])
        self.beam = own["beam"]
        self.leftward = own["direction"] == "left"
        # Ready-made features have templates for labels only.
        templates = Features.restored(own["templates"], {}) if features is None else features
        scorer = make_scorer(self.labels, templates.core, arrays)
        if len(arrays["edges.score"]):
            raise ValueError("a maxent Markov model has no edges")
        start = stop = follows = np.empty(0, bool)
        spans = span_labels(self.labels) if own["spans"] else None
        if spans is not None:
            start, stop, follows = spans.rules(backwards=self.leftward)
        rules = {"start": start.view(np.uint8), "stop": stop.view(np.uint8), "follows": follows.ravel().view(np.uint8)}
        self._memm = _core.Memm.make(scorer, self.labels, arrays, leftward=self.leftward, width=self.beam, **rules)

    @property
    def history(self) -> int:
        """How many labels back the model looks."""
        return self._memm.history

    def text(self, X: Sentences) -> _core.Text:
        """Return sentences as the core takes them, in the direction of the model."""
        text = super().text(X)
        return text.reversed() if self.leftward else text

    def _kbest(self, X: Sentences, k: int, decoder: str | Decoder, threads: int, proba: bool) -> list[list[Tagging]]:
        row, options, _ = plan(decoder)
        if row.name not in ("auto", "beam"):
            return [self._by_lattice(sentence, k, decoder) for sentence in X]
        if options.get("keep") is not None:
            raise ValueError("the beam of a MEMM has a width; it takes no rule for what to keep")
        text = self.text(X)
        return self._taggings(text, self._memm.decode(text, int(options.get("width", self.beam)), k, threads))

    def proven(self, X: Sentences, k: int = 1, threads: int = 1) -> list[bool]:
        """Return for each sentence whether its k best are known to be the k best.

        They are where nothing that the beam dropped could have become better: its score only falls as it goes on.
        """
        checks.at_least_one("k", k)
        checks.at_least_one("threads", threads)
        *_, work = self._memm.decode(self.text(X), self.beam, k, threads)
        return [exact for *_, exact, _ in work]

    def _by_lattice(self, sentence: Sequence[object], k: int, decoder: str | Decoder) -> list[Tagging]:
        nodes, edges, _ = self.lattice(sentence)
        if not len(nodes):
            return [Tagging([], 0.0)]
        paths = decode(nodes, edges, k, decoder).paths
        return [Tagging([self.labels[y] for y in path.labels.tolist()], path.score) for path in paths]

    def lattice(self, sentence: Sequence[object]) -> Lattice:
        """Return the scores of a sentence as a lattice, which a history of at most 1 makes possible.

        Where the model goes to the right, the edge from i to j into token t is log p(j | x, i), with its normaliser,
        since that depends on i; the first token has no label before it, so that its log p(j | x) is in the nodes. Where
        the model goes to the left, all this is mirrored. Without a history, edges do not depend on i. What the rules
        and the tag dictionary forbid has -inf; that may leave no path, where the beam would ignore the dictionary.
        """
        if self.history > 1:
            raise ValueError(
                f"a MEMM that looks back at {self.history} labels is no lattice; train one with history=1, "
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

    def priced(self, decoder: str | Decoder = "auto") -> _core.PricedModel:
        """Return what dual decomposition asks for the best labels under prices, found by the model's beam."""
        plan(decoder)  # refuses what is no decoder
        return self._memm
