"""What models return: one labelling of a sentence, how it was found, and the scores of a sentence before decoding."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagwright import _core
from tagwright.decoding.decode import Decoding, Work, decode, one_lattice
from tagwright.decoding.decoders import Decoder
from tagwright.decoding.edges import Edges
from tagwright.decoding.keep import Keep
from tagwright.decoding.marginals import Marginals, marginals, sample
from tagwright.decoding.spans import Span
from tagwright.models.summary import tagging_table

TokenLists = list[list[int] | None]
"""For each token the numbers of the labels it may have, in rising order, or None where it may have all."""


class Tagging(NamedTuple):
    """One labelling of a sentence."""

    labels: list[str]
    """The name of each token's label."""
    score: float
    """Its score under the model; higher is better."""
    probability: float | None = None
    """Probability of the whole labelling, exp(score - log Z); None unless probabilities were requested."""
    marginals: list[float] | None = None
    """Probability of each token's label, summed over the labels of the others; None unless requested."""
    log_probability: float | None = None
    """score - log Z, which is useful where the probability of a long sentence is next to 0."""

    def _repr_html_(self) -> str:
        """Return a table of the tokens' labels for a notebook."""
        return tagging_table(self)


class TagOptions(NamedTuple):
    """How sentences are tagged."""

    k: int = 1
    """Number of labellings."""
    decoder: str | Decoder = "auto"
    threads: int = 1
    proba: bool = False
    """Whether labellings come with probabilities."""
    spans: int | None = None
    """None: no spans; 0: the spans of the best labelling; n: the n most probable spans of any labelling."""
    deadline: float | None = None
    """Seconds per sentence, for decoders that can stop."""
    proven: bool = False
    """Whether it is an error that rules about whole labellings take more searches than their limit."""


class TagResult(NamedTuple):
    """The labellings of one sentence, and how they were found."""

    taggings: list[Tagging]
    """Best first."""
    exact: bool
    """Whether they are proven to be the best."""
    gap: float
    """An upper bound on how far the best score lies above that of the first labelling: 0 if exact."""
    work: Work
    """Counted operations."""
    spans: list[Span] | None = None
    """Spans with their probabilities, where they were requested."""


class Through(NamedTuple):
    """Best labellings through nodes and edges of a lattice, beside the labels of interest."""

    best: float
    """Score of the best labelling."""
    nodes: list[npt.NDArray[np.float64]]
    """[t][i]: how far the best labelling through that node is behind; inf where there is none."""
    edges: list[npt.NDArray[np.float64]]
    """[t][i, j]: the same for the edge from node i of token t to node j of the next."""
    probabilities: list[npt.NDArray[np.float64]]
    """[t][i, j]: probability of that edge over all labellings."""


class _Scores(NamedTuple):
    nodes: npt.NDArray[np.floating[Any]]
    """(T, L); label y is ``model.labels[y]``, and -inf stands where a token may not have it."""
    edges: Edges
    """Edges under the constraints, shared by all sentences; for a MEMM those of the sentence."""
    active: list[list[int]] | None
    """For each step the active correction sets; None for a model without token-dependent edges."""


class Lattice(_Scores):
    """The scores of a sentence with all its limits, as in ``tw.decode(lattice.nodes, lattice.edges, k=5)``.

    Scheme, forbidden pairs, tag dictionary and allowed labels are part of the scores: a forbidden pair has an edge of
    -inf, a label that is not allowed a node of -inf. Rules about whole labellings belong to the edges. A model with
    token-dependent edges needs ``active=lattice.active`` there too. The methods `decode` and `marginals` pass
    everything on.
    """

    allowed: TokenLists | None = None
    """The lists that the nodes were masked with; None where every token may have every label."""

    @classmethod
    def masked(
        cls,
        nodes: npt.NDArray[np.floating[Any]],
        edges: Edges,
        active: list[list[int]] | None,
        allowed: TokenLists | None,
    ) -> Lattice:
        """Return a lattice whose nodes are -inf where `allowed` does not list a label."""
        lists = allowed if allowed is not None and any(own is not None for own in allowed) else None
        if lists is not None:
            own = np.full_like(nodes, -np.inf)
            for t, labels in enumerate(lists):
                among = slice(None) if labels is None else labels
                own[t, among] = nodes[t, among]
            nodes = own
        made = cls(nodes, edges, active)
        made.allowed = lists
        return made

    def forbidding(self, labels: Mapping[int, Sequence[int]]) -> Lattice:
        """Return the lattice without some labels of some tokens."""
        lists: TokenLists = list(self.allowed or [None] * len(self.nodes))
        for t, own in labels.items():
            listed = np.arange(self.nodes.shape[1]) if lists[t] is None else np.array(lists[t])
            lists[t] = listed[~np.isin(listed, np.asarray(own, np.int64))].tolist()
        return Lattice.masked(self.nodes, self.edges, self.active, lists)

    def without_labelling_rules(self) -> Lattice:
        """Return the lattice without rules about whole labellings, which sums cannot apply; self if it has none."""
        if not self.edges._core.has_labelling_rules:
            return self
        made = Lattice(self.nodes, Edges._of(self.edges._core.without_labelling_rules()), self.active)
        made.allowed = self.allowed
        return made

    def decode(self, k: int = 1, decoder: str | Decoder = "auto", deadline: float | None = None) -> Decoding:
        """Return the k best paths, as `tw.decode` does."""
        more: Any = {"active": self.active, "allowed": self.allowed, "deadline": deadline}
        return decode(self.nodes, self.edges, k, decoder, **more)

    def marginals(self, pruning: Keep | None = None, *, with_edges: bool = False) -> Marginals:
        """Return the sums over all paths, as `tw.marginals` does."""
        more: Any = {"active": self.active, "allowed": self.allowed}
        return marginals(self.nodes, self.edges, pruning, with_edges=with_edges, **more)

    def sample(self, n: int = 1, seed: int = 0) -> npt.NDArray[np.int32]:
        """Return n labellings (n, T), drawn as `tw.sample` draws them."""
        return sample(self.nodes, self.edges, n, seed, active=self.active, allowed=self.allowed)

    def behind(self) -> npt.NDArray[np.float64]:
        """Return how far the best labelling through each node is behind the best of all: (T, L); inf if none.

        Exact over all labellings; rules about whole labellings are refused.
        """
        given = one_lattice(self.nodes, self.edges, self.active, None, self.allowed)
        return _core.behind_best(*given)

    def through(self, labels: list[list[int]]) -> Through:
        """Return how good the best labellings through some nodes, and through the edges between them, are.

        labels: for each token the labels of interest; what is returned is exact over all labels.
        """
        given = one_lattice(self.nodes, self.edges, self.active, None, self.allowed)
        return Through(*_core.paths_through(*given, labels, True))


def word_of(token: object) -> str:
    """Return how a token is shown: the word, its first column, or its first ready-made feature."""
    if isinstance(token, str):
        return token
    try:
        return str(next(iter(token), ""))  # type: ignore[call-overload]
    except TypeError:
        return str(token)


def labelling(tagging: Tagging) -> dict[str, Any]:
    """Return a labelling with its score and, where they were requested, its probabilities."""
    payload: dict[str, Any] = {"labels": tagging.labels, "score": finite(tagging.score)}
    if tagging.probability is not None and tagging.marginals is not None:
        payload["probability"] = finite(tagging.probability)
        if tagging.log_probability is not None:
            payload["log_probability"] = finite(tagging.log_probability)
        payload["marginals"] = list(map(share, tagging.marginals))
    return payload


def share(p: float) -> float:
    """Return a probability to six digits, which a float32 has."""
    return float(f"{p:.6g}")


def finite(number: float) -> float | None:
    """Return a number that JSON has; null in place of the others."""
    return number if math.isfinite(number) else None
