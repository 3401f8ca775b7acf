"""What a maxent Markov model tags with: a beam over label histories, and the rules that answers keep to."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.decoding.decode import decode
from tagwright.decoding.decoders import Decoder, Plan, plan
from tagwright.decoding.edges import Edges
from tagwright.features.templates import Features
from tagwright.models.model import Lattice, Model, Tagging, core_templates, cut

__all__ = ["MemmModel", "SpanRules", "span_rules"]

Bytes = npt.NDArray[np.uint8]

# Prefixes of labels, by scheme: what begins a span, goes on, ends it, and is a span of its own.
_SCHEMES = ("BI  ", "BIES", "BILU", "BMES")


class SpanRules(NamedTuple):
    """Which labels may be first, last, and one behind the other, where labels are those of spans; 1 for yes."""

    start: Bytes
    """(L,)"""
    stop: Bytes
    """(L,)"""
    follows: Bytes
    """(L, L), indexed [previous, current]."""

    def reversed(self) -> SpanRules:
        """Give the same rules for sentences that are read from their end."""
        return SpanRules(self.stop, self.start, np.ascontiguousarray(self.follows.T))


class MemmModel(Model):
    """A maxent Markov model: p(y_i | x, y_1 .. y_i-1), features and weights as in `Model`, and no edges.

    `facts["memm"]` has the direction, the beam, whether labels keep to the rules of spans, and, where features come
    ready-made, the templates that look at labels. A tag dictionary is in the arrays dictionary.slots, .ends, .bytes
    (an index of words), .end and .label (a row of labels a word).

    A score is log p(labels | sentence). The decoder "auto" is Algorithm 1 of Wang et al. (2013) with the model's own
    beam, `Beam(width)` with another one. A model with a history of 1 is a lattice, too, which all other decoders take.
    """

    looks_back = True

    def __init__(self, labels: Sequence[str], features: Features | None, arrays: Any, facts: dict[str, Any]) -> None:
        """Check that the parts fit together."""
        own = facts["memm"]
        if own["direction"] not in ("right", "left"):
            raise ValueError(f"direction must be 'right' or 'left', not {own['direction']!r}")
        self.beam = own["beam"]
        checks.at_least_one("beam", self.beam)
        self.leftward = own["direction"] == "left"
        super().__init__(labels, features, arrays, facts)
        if len(arrays["edges.score"]):
            raise ValueError("a maxent Markov model has no edges")
        rules = span_rules(self.labels) if own["spans"] else None
        nothing = np.empty(0, np.uint8)
        start, stop, follows = (nothing, nothing, nothing)
        if rules is not None:
            start, stop, follows = rules.reversed() if self.leftward else rules
        end, label = arrays.get("dictionary.end"), arrays.get("dictionary.label")
        self._memm = _core.Memm.make(
            self._scorer,
            self.labels,
            self.leftward,
            self.beam,
            start,
            stop,
            follows.ravel(),
            self._index("dictionary"),
            np.empty(0, np.uint64) if end is None else end,
            np.empty(0, np.uint16) if label is None else label,
        )

    def core_templates(self) -> _core.Templates:
        """Templates as the core takes them; ready-made features have some for labels only."""
        if self.features is not None:
            return core_templates(self.features)
        return Features.restored(self.facts["memm"]["templates"], {}).core

    @property
    def history(self) -> int:
        """How many labels back the model looks."""
        return self._memm.history

    def text(self, X: Sequence[Sequence[object]]) -> _core.Text:
        """Sentences as the core takes them, in the direction of the model."""
        text = super().text(X)
        return text.reversed() if self.leftward else text

    def need_probabilities(self) -> None:
        """Complain: only whole labellings have probabilities here."""
        raise ValueError(
            "a MEMM has the probability of a whole labelling, exp(score), but none of single labels; "
            "train a CRF to get those"
        )

    def _kbest(
        self, X: Sequence[Sequence[object]], k: int, decoder: str | Decoder, threads: int, proba: bool
    ) -> list[list[Tagging]]:
        chosen = plan(decoder)
        if chosen.row.name not in ("auto", "beam"):
            return [self._by_lattice(sentence, k, decoder) for sentence in X]
        found, _ = self._found(X, k, self._width(chosen), threads)
        return found

    def proven(self, X: Sequence[Sequence[object]], k: int = 1, threads: int = 1) -> list[bool]:
        """Say of each sentence whether its k best are known to be the k best.

        They are where nothing that the beam dropped could have become better: its score only falls as it goes on.
        """
        checks.at_least_one("k", k)
        checks.at_least_one("threads", threads)
        _, exact = self._found(X, k, self.beam, threads)
        return exact

    def _found(
        self, X: Sequence[Sequence[object]], k: int, width: int, threads: int
    ) -> tuple[list[list[Tagging]], list[bool]]:
        text = self.text(X)
        flat, scores, work = self._memm.decode(text, width, k, threads)
        names = [self.labels[y] for y in flat.tolist()]
        found = list(cut(names, scores, text.lengths().tolist(), [row[0] for row in work]))
        return found, [exact for *_, exact, _ in work]

    def _width(self, chosen: Plan) -> int:
        if chosen.options.get("keep") is not None:
            raise ValueError("the beam of a MEMM has a width; it takes no rule for what to keep")
        return int(chosen.options.get("width", self.beam))

    def _by_lattice(self, sentence: Sequence[object], k: int, decoder: str | Decoder) -> list[Tagging]:
        nodes, edges, _ = self.lattice(sentence)
        if not len(nodes):
            return [Tagging([], 0.0)]
        paths = decode(nodes, edges, k, decoder).paths
        return [Tagging([self.labels[y] for y in path.labels.tolist()], path.score) for path in paths]

    def lattice(self, sentence: Sequence[object]) -> Lattice:
        """Score a sentence as a lattice, which a history of at most 1 makes possible.

        Where the model goes to the right, the edge from i to j into token t is log p(j | x, i), with its normaliser,
        since that depends on i; the first token has no label before it, so there it is all in the nodes. Where it goes
        to the left, all this is mirrored. Without a history there is nothing for edges to do. The rules' -inf are in
        it; they may leave no path, where the beam would put the tag dictionary aside.
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

    @cached_property
    def edges(self) -> NoReturn:
        """Complain: there are none."""
        raise ValueError("a MEMM has no edges of its own; lattice(sentence).edges has those of a sentence")

    def priced(self, decoder: str | Decoder = "auto") -> _core.PricedModel:
        """Give what dual decomposition asks: the best labels under prices, by the model's beam."""
        plan(decoder)  # refuses what is no decoder
        return self._memm


def span_rules(labels: Sequence[str]) -> SpanRules | None:
    """Give the rules of labels such as B-NP, I-NP and O; None where labels are not all of one such scheme.

    Schemes are BIO, IOBES, BILOU and BMES, with types or without: what goes on or ends a span stands behind what begins
    it or goes on, of the same type; and where spans have ends, they are closed.
    """
    split = [("O", "") if name == "O" else (name.partition("-")[0], name.partition("-")[2]) for name in labels]
    prefixes = {prefix for prefix, _ in split} - {"O"}
    scheme = next((own for own in _SCHEMES if prefixes <= set(own) and own[0] in prefixes and len(prefixes) > 1), None)
    if scheme is None:
        return None
    begin, inside, end = scheme[0], scheme[1], scheme[2]
    closed = end in prefixes
    opened = np.array([prefix in (begin, inside) for prefix, _ in split])
    goes_on = np.array([prefix in (inside, end) for prefix, _ in split])
    same = np.array([[a[1] == b[1] for b in split] for a in split])
    within = opened[:, None] & goes_on & same
    # A span that must have an end cannot be left, or begun anew.
    between = ~goes_on & ~(opened[:, None] & closed)
    stop = ~opened if closed else np.ones(len(split), bool)
    return SpanRules(*((rule).astype(np.uint8) for rule in (~goes_on, stop, within | between)))
