"""A linear-chain CRF layer: `CRF`."""

from __future__ import annotations

from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tagwright import checks
from tagwright.constraints.constraints import Constraints
from tagwright.decoding.arrays import decode_arrays
from tagwright.decoding.decoders import Decoder
from tagwright.decoding.edges import array_of
from tagwright.decoding.keep import Keep, keep_arguments
from tagwright.decoding.marginals import marginals_batch, sample
from tagwright.decoding.padded import lengths_of
from tagwright.torch import plain
from tagwright.torch.function import Sums, Term, summed
from tagwright.torch.weights import Pairs, Weights

_REDUCTIONS = ("none", "sum", "mean", "token_mean")


class KBest(NamedTuple):
    """The k best labellings of a batch."""

    labels: list[list[list[int]]]
    """For each sentence its labellings, best first: k of them, or all there are."""
    scores: Tensor
    """(B, k): their scores; -inf where there are fewer than k."""
    probabilities: Tensor
    """(B, k): exp(score - log Z)."""


class CRF(Weights):
    """A linear-chain conditional random field over the emissions of a network (Lafferty, McCallum and Pereira 2001).

    The interface is that of pytorch-crf, whose ``state_dict`` can be loaded; the sums are tagwright's own, exact, in
    native code. The score of a labelling is start + emissions + transitions + end along it, and its log-likelihood
    that score less log Z.

    Parameters
    ----------
    num_tags : int
        Number of labels.
    batch_first : bool, default=False
        Whether tensors are (B, T, L) and (B, T), not (T, B, L) and (T, B).
    edges : "dense" or (previous, current), default="dense"
        The pairs of labels that have weights: all, or those of two arrays of labels. All other transitions score 0.
        With 1 % of the pairs, a step with thousands of labels takes as long as a few passes over their emissions.
    constraints : tagwright.Constraints, optional
        Rules that every labelling must satisfy, in sums and in decoding. With `edges` of pairs the sums become dense.
    pruning : KeepDivergence, KeepSize or KeepRatio, optional
        Pruning rule for sparse sums (Pal, Sutton and McCallum 2006); None for exact sums.
    threads : int, optional
        Threads over sentences; by default ``torch.get_num_threads()``.
    native : bool, default=True
        Whether sums on the CPU are computed natively. Otherwise, and on other devices, they are computed by operations
        of PyTorch, which is much slower.

    Attributes
    ----------
    start_transitions, end_transitions : Parameter of shape (L,)
    transitions : Parameter of shape (L, L), indexed [previous, current], or (pairs,)

    Examples
    --------
    >>> import torch
    >>> from tagwright.torch import CRF
    >>> crf = CRF(5, batch_first=True)
    >>> emissions = torch.randn(2, 3, 5, requires_grad=True)
    >>> tags = torch.tensor([[0, 2, 1], [4, 0, 0]])
    >>> mask = torch.tensor([[True, True, True], [True, False, False]])
    >>> loss = -crf(emissions, tags, mask, reduction="mean")
    >>> loss.backward()
    >>> [len(labels) for labels in crf.decode(emissions, mask)]
    [3, 1]

    """

    def __init__(
        self,
        num_tags: int,
        batch_first: bool = False,
        *,
        edges: str | Pairs = "dense",
        constraints: Constraints | None = None,
        pruning: Keep | None = None,
        threads: int | None = None,
        native: bool = True,
    ) -> None:
        if threads is not None:
            checks.at_least_one("threads", threads)
        super().__init__(num_tags, batch_first, edges, constraints)
        self.pruning, self.threads, self.native = pruning, threads, bool(native)
        keep_arguments(self.pruning)

    def extra_repr(self) -> str:
        """Return the options for the layer's repr."""
        pairs = "" if self.previous is None else f", edges={len(self.previous)} pairs"
        rule = "" if self.pruning is None else f", pruning={self.pruning}"
        return f"num_tags={self.num_tags}, batch_first={self.batch_first}{pairs}{rule}"

    # --- training ---

    def forward(
        self,
        emissions: Tensor,
        tags: Tensor,
        mask: Tensor | None = None,
        reduction: str = "sum",
        *,
        transitions: Tensor | None = None,
        label_smoothing: float = 0.0,
    ) -> Tensor:
        """Return the log-likelihood of tags. A loss is its negative.

        Parameters
        ----------
        emissions : Tensor of shape (B, T, L), or (T, B, L)
            Scores of labels: float32, float64, or half precision, which is summed as float32.
        tags : Tensor of shape (B, T), or a boolean one of shape (B, T, L)
            The right labels; or for each token the labels that may be right, of which at least one must be (partial
            labels): then the result is the logarithm of the probability that the labelling is one of those.
        mask : Tensor of shape (B, T), optional
            True for tokens, False for the padding behind them. A sentence may have no token.
        reduction : "sum", "mean", "token_mean" or "none"
            The sum over sentences, divided by their number, divided by that of tokens; or one number per sentence.
        transitions : Tensor of shape (B, T-1, L, L), or (T-1, B, L, L), optional
            Scores of transitions that depend on the token, added to those of the layer. Summed by PyTorch's own
            operations.
        label_smoothing : float, default=0
            The share of the uniform distribution over labellings in the one that the network is to learn.

        """
        checks.one_of("reduction", reduction, _REDUCTIONS)
        emissions, lengths = self._read(emissions, mask)
        given = self._batch_first(tags)
        if given.dtype == torch.bool:
            self._need_shape("boolean tags", given, emissions.shape)
            if label_smoothing:
                raise ValueError("label_smoothing needs tags of shape (B, T)")
            allowed = np.ascontiguousarray(_values("tags", given))
            terms: tuple[Term, ...] = (Term(1.0, allowed=allowed), Term(-1.0))
        else:
            self._need_shape("tags", given, emissions.shape[:2])
            labels = np.ascontiguousarray(_labels(given))
            self._check_tags(labels, lengths)
            terms = (Term(-1.0, tags=labels),)
        weight = _weight(reduction, lengths)
        value = self._sum(terms, emissions, lengths, weight, transitions)
        if label_smoothing:
            more = self._smoothing(label_smoothing, emissions, terms[0].tags, lengths, transitions)
            value = value + (more if weight is None else more.sum() * weight)
        return value

    def log_z(self, emissions: Tensor, mask: Tensor | None = None, *, transitions: Tensor | None = None) -> Tensor:
        """Return the logarithm of the sum of exp(score) over all labellings, (B,). Gradients go through."""
        emissions, lengths = self._read(emissions, mask)
        return self._sum((Term(1.0),), emissions, lengths, None, transitions)

    def _sum(
        self,
        terms: tuple[Term, ...],
        emissions: Tensor,
        lengths: npt.NDArray[np.int64],
        weight: float | None,
        transitions: Tensor | None,
    ) -> Tensor:
        start, stop = self._ends(emissions.dtype)
        threads = self.threads or torch.get_num_threads()
        rule = keep_arguments(self.pruning)
        if transitions is not None:
            if self.pruning is not None:
                raise ValueError("transitions that depend on the token are summed exactly; use pruning=None")
            sums = Sums(lengths, terms, rule, threads)
            return summed(sums, weight, False, emissions, start, stop, self._stepwise(transitions, emissions))
        own = self.transitions.to(emissions.dtype) if self._by_pairs else self._matrix(emissions.dtype)
        indices = (self.previous, self.current) if self._by_pairs else None
        sums = Sums(lengths, terms, rule, threads, self._pairs(), indices)
        return summed(sums, weight, self.native, emissions, start, stop, own)

    def _smoothing(
        self,
        share: float,
        emissions: Tensor,
        tags: npt.NDArray[np.int64] | None,
        lengths: npt.NDArray[np.int64],
        transitions: Tensor | None,
    ) -> Tensor:
        """Return what the uniform distribution over labellings adds to each log-likelihood, (B,)."""
        if not (checks.is_number(share) and 0 <= share < 1):
            raise ValueError(f"label_smoothing must be a number from 0 to below 1, not {checks.shown(share)}")
        if self._limited:
            raise ValueError("label_smoothing needs every labelling to be possible, and there are constraints")
        device = emissions.device
        count = torch.tensor(lengths, device=device)
        inside = torch.arange(emissions.shape[1], device=device) < count.unsqueeze(1)
        start, stop = self._ends(emissions.dtype)
        edges = self._matrix(emissions.dtype) if transitions is None else self._stepwise(transitions, emissions)
        right = plain.path_score(emissions, torch.as_tensor(tags, device=device), count, start, stop, edges)
        nodes = torch.where(inside, emissions.mean(2), 0.0).sum(1)
        if edges.dim() == 2:
            usual = edges.mean() * (count - 1).clamp(min=0)
        else:
            usual = torch.where(inside[:, 1:], edges.mean((2, 3)), 0.0).sum(1)
        uniform = nodes + usual + torch.where(count > 0, start.mean() + stop.mean(), 0.0)
        return share * (uniform - right)

    # --- answers ---

    @overload
    def decode(
        self,
        emissions: Tensor,
        mask: Tensor | None = None,
        *,
        k: None = None,
        transitions: Tensor | None = None,
        decoder: str | Decoder = "auto",
    ) -> list[list[int]]: ...

    @overload
    def decode(
        self,
        emissions: Tensor,
        mask: Tensor | None = None,
        *,
        k: int,
        transitions: Tensor | None = None,
        decoder: str | Decoder = "auto",
    ) -> KBest: ...

    def decode(
        self,
        emissions: Tensor,
        mask: Tensor | None = None,
        *,
        k: int | None = None,
        transitions: Tensor | None = None,
        decoder: str | Decoder = "auto",
    ) -> list[list[int]] | KBest:
        """Return the best labelling of each sentence as a list of labels; with `k`, a `KBest` of the k best.

        The answer is exact, by any exact decoder of `tagwright.decoders()`.
        """
        scores, lengths = self._read(emissions, mask)
        with torch.no_grad():
            edges = self._edges(scores, lengths, transitions)
            threads = self.threads or torch.get_num_threads()
            found = decode_arrays(scores, edges, k or 1, decoder, lengths=lengths, threads=threads)
            if k is None:
                rows = found.labels[:, 0].tolist()
                return [row[:length] for row, length in zip(rows, lengths.tolist(), strict=True)]
            total = self._sum((Term(1.0),), scores, lengths, None, transitions).double().cpu()
        labels = [
            [row[:length] for row in rows[:count]]
            for rows, length, count in zip(found.labels.tolist(), lengths.tolist(), found.counts.tolist(), strict=True)
        ]
        best = torch.from_numpy(found.scores)
        return KBest(labels, best, (best - total.unsqueeze(1)).exp())

    @torch.no_grad()
    def marginals(self, emissions: Tensor, mask: Tensor | None = None, *, transitions: Tensor | None = None) -> Tensor:
        """Return the probability of each label of each token, in the shape of the emissions; 0 in the padding.

        No gradients go through; they are themselves the gradients of `log_z` with respect to the emissions.
        """
        scores, lengths = self._read(emissions, mask)
        if transitions is None and self.pruning is None and scores.device.type == "cpu":
            with torch.enable_grad():
                leaf = scores.detach().requires_grad_()
                value = self._sum((Term(1.0),), leaf, lengths, 1.0, None)
                (found,) = torch.autograd.grad(value, leaf)
        else:
            found = torch.zeros_like(scores)
            edges = self._edges(scores, lengths, transitions)
            rows = marginals_batch(scores, edges, self.pruning, lengths=lengths)
            for own, row in zip(found, rows, strict=True):
                own[: len(row.nodes)] = torch.from_numpy(row.nodes)
        return self._batch_first(found)

    @torch.no_grad()
    def entropy(self, emissions: Tensor, mask: Tensor | None = None, *, transitions: Tensor | None = None) -> Tensor:
        """Return the entropy of the distribution over labellings of each sentence, (B,), in nats; no gradients."""
        scores, lengths = self._read(emissions, mask)
        edges, threads = self._edges(scores, lengths, transitions), self.threads or torch.get_num_threads()
        rows = marginals_batch(scores, edges, self.pruning, lengths=lengths, threads=threads)
        return torch.tensor([row.entropy for row in rows], dtype=scores.dtype, device=scores.device)

    @torch.no_grad()
    def sample(
        self,
        emissions: Tensor,
        n: int = 1,
        mask: Tensor | None = None,
        *,
        seed: int = 0,
        transitions: Tensor | None = None,
    ) -> Tensor:
        """Return n labellings of each sentence, (B, n, T), drawn from the distribution; -1 in the padding.

        The draws are exact and independent, and depend on the seed, the scores and the sentence's place only.
        """
        checks.at_least_one("n", n)
        checks.seed(seed)
        scores, lengths = self._read(emissions, mask)
        edges = self._edges(scores, lengths, transitions)
        drawn = torch.full((len(lengths), n, scores.shape[1]), -1)
        for b, (own, length) in enumerate(zip(scores, lengths.tolist(), strict=True)):
            own_seed = int(np.random.SeedSequence([seed, b]).generate_state(1, np.uint64)[0])
            labels = sample(own[:length], edges[b] if isinstance(edges, list) else edges, n, own_seed)
            drawn[b, :, :length] = torch.from_numpy(labels)
        return drawn.to(emissions.device)

    # --- what is given ---

    def _read(self, emissions: Tensor, mask: Tensor | None) -> tuple[Tensor, npt.NDArray[np.int64]]:
        """Return emissions, the batch first and of a type that is summed, and the number of tokens of each sentence."""
        if not isinstance(emissions, Tensor) or emissions.dim() != 3:
            shape = tuple(emissions.shape) if isinstance(emissions, Tensor) else checks.shown(emissions)
            raise ValueError(f"emissions must be a tensor of three dimensions, not {shape}")
        if emissions.shape[2] != self.num_tags:
            raise ValueError(f"emissions are for {emissions.shape[2]} labels, but num_tags is {self.num_tags}")
        if not emissions.dtype.is_floating_point:
            raise ValueError(f"emissions must be floating-point numbers, not {emissions.dtype}")
        scores = self._batch_first(emissions)
        if scores.dtype not in (torch.float32, torch.float64):
            scores = scores.float()
        inside = None if mask is None else _values("mask", self._batch_first(mask))
        return scores, lengths_of(scores.shape[0], scores.shape[1], mask=inside)


def _labels(tags: Tensor) -> npt.NDArray[np.int64]:
    if tags.dtype.is_floating_point or tags.dtype.is_complex:
        raise ValueError(f"tags must be whole numbers or truth values, not {tags.dtype}")
    return _values("tags", tags.long())


def _values(what: str, tensor: Tensor) -> npt.NDArray[Any]:
    """Return the values of tags or a mask, which under a `torch.func` transform have no memory to map."""
    if isinstance(tensor, Tensor) and torch._C._are_functorch_transforms_active():
        kind = np.bool_ if tensor.dtype == torch.bool else np.float64 if tensor.is_floating_point() else np.int64
        return np.array(tensor.tolist(), kind).reshape(tensor.shape)
    return array_of(what, tensor)


def _weight(reduction: str, lengths: npt.NDArray[np.int64]) -> float | None:
    """Return what each sentence's value is multiplied with; None where values are not summed."""
    if reduction in ("sum", "none"):
        return 1.0 if reduction == "sum" else None
    count = len(lengths) if reduction == "mean" else int(lengths.sum())
    return 1 / count if count else float("nan")
