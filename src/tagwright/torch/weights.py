"""The weights of the CRF layer, and the forms in which sums and decoders take them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from tagwright import _core, checks
from tagwright.constraints.constraints import Constraints
from tagwright.decoding.edges import Edges, ints
from tagwright.decoding.tensors import tensor_values
from tagwright.torch import plain

_LARGE = 1 << 15  # bytes, from which comparing them is faster than comparing numbers

Pairs: TypeAlias = tuple[object, object]
"""Previous and current labels."""


class Weights(nn.Module):
    """Start, end and transition weights; see `CRF`."""

    def __init__(self, num_tags: int, batch_first: bool, edges: str | Pairs, constraints: Constraints | None) -> None:
        checks.at_least_one("num_tags", num_tags)
        super().__init__()
        self.num_tags, self.batch_first = int(num_tags), bool(batch_first)
        self.start_transitions = nn.Parameter(torch.empty(num_tags))
        self.end_transitions = nn.Parameter(torch.empty(num_tags))
        if isinstance(edges, str):
            checks.one_of("edges", edges, ("dense",))
            self.transitions = nn.Parameter(torch.empty(num_tags, num_tags))
            self.previous = self.current = None
        else:
            if not isinstance(edges, Sequence) or len(edges) != 2:
                raise ValueError("edges must be 'dense' or two arrays of labels: previous and current")
            previous, current = ints("edges[0]", edges[0]), ints("edges[1]", edges[1])
            _core.Pairs(num_tags, previous, current)  # raises the error that names what is wrong
            self.transitions = nn.Parameter(torch.empty(len(previous)))
            self.register_buffer("previous", torch.from_numpy(previous.astype(np.int64)))
            self.register_buffer("current", torch.from_numpy(current.astype(np.int64)))
        # What may be; not part of a state_dict, and None where there are no constraints.
        for name, may in zip(("may_start", "may_stop", "may_follow"), _limits(constraints, num_tags), strict=True):
            self.register_buffer(name, may, persistent=False)
        # Asking a module for a tensor by its name takes as long as a small sum.
        self._paired = self.previous is not None
        self._limited = not (self.may_start is self.may_stop is self.may_follow is None)
        self._made: dict[str, Any] = {}
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights from the uniform distribution between -0.1 and 0.1."""
        for weights in (self.start_transitions, self.end_transitions, self.transitions):
            nn.init.uniform_(weights, -0.1, 0.1)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_made": {}}

    def _batch_first(self, tensor: Tensor) -> Tensor:
        """Swap the first two dimensions, unless the batch is first."""
        return tensor if self.batch_first or tensor.dim() < 2 else tensor.transpose(0, 1)

    @staticmethod
    def _need_shape(what: str, tensor: Tensor, shape: Sequence[int]) -> None:
        if tuple(tensor.shape) != tuple(shape):
            raise ValueError(
                f"{what} must have shape {tuple(shape)} beside these emissions, not {tuple(tensor.shape)} "
                "(the batch first, whatever batch_first is)"
            )

    def _stepwise(self, transitions: Tensor, emissions: Tensor) -> Tensor:
        """Return the transitions of every token, (B, T-1, L, L)."""
        B, T, L = emissions.shape
        given = self._batch_first(transitions)
        self._need_shape("transitions", given, (B, max(T - 1, 0), L, L))
        return given.to(emissions.dtype) + self._matrix(emissions.dtype)

    def _ends(self, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Return start and end scores; -inf where constraints forbid."""
        start, stop = self.start_transitions.to(dtype), self.end_transitions.to(dtype)
        if not self._limited:
            return start, stop
        if self.may_start is not None:
            start = start.masked_fill(~self.may_start, -torch.inf)
        if self.may_stop is not None:
            stop = stop.masked_fill(~self.may_stop, -torch.inf)
        return start, stop

    def _matrix(self, dtype: torch.dtype) -> Tensor:
        """Return the scores of all transitions, (L, L); -inf where constraints forbid."""
        matrix = self.transitions.to(dtype)
        if not self._paired and not self._limited:
            return matrix
        if self.previous is not None and self.current is not None:
            matrix = plain.dense_transitions(matrix, self.previous, self.current, self.num_tags)
        return matrix if self.may_follow is None else matrix.masked_fill(~self.may_follow, -torch.inf)

    @property
    def _by_pairs(self) -> bool:
        """Whether sums go over pairs: a pair that has no weight and is forbidden needs the matrix."""
        return self._paired and self.may_follow is None

    def _pairs(self) -> _core.Pairs | None:
        if not self._by_pairs:
            return None
        where = (tensor_values("pairs", self.previous), tensor_values("pairs", self.current))
        made = self._made.get("pairs")
        if made is None or not all(np.array_equal(a, b) for a, b in zip(made[0], where, strict=True)):
            core = _core.Pairs(self.num_tags, *(ints("pairs", own) for own in where))
            made = self._made["pairs"] = tuple(own.copy() for own in where), core
        core = made[1]
        return core

    @torch.no_grad()
    def _edges(self, scores: Tensor, lengths: npt.NDArray[np.int64], transitions: Tensor | None) -> Any:
        """Return the transitions as decoders take them; made again only when weights have changed."""
        if transitions is not None:
            steps = tensor_values("transitions", self._stepwise(transitions, scores))
            ends = [tensor_values("ends", own) for own in self._ends(scores.dtype)]
            return [Edges(own[: max(length - 1, 0)], *ends) for own, length in zip(steps, lengths, strict=True)]
        weights = [self.start_transitions, self.end_transitions, self.transitions]
        if self.previous is not None and self.current is not None:
            weights += [self.previous, self.current]
        made = self._made.get("edges")
        if made is None or not all(_same(a, b) for a, b in zip(made[0], weights, strict=True)):
            dtype = self.transitions.dtype
            ends = [tensor_values("ends", own) for own in self._ends(dtype)]
            if self._by_pairs:
                pairs = [tensor_values("weights", own) for own in (self.previous, self.current, self.transitions)]
                edges = Edges.from_exceptions(self.num_tags, 0.0, *pairs, *ends)
            else:
                edges = Edges(tensor_values("transitions", self._matrix(dtype)), *ends)
            made = self._made["edges"] = [own.detach().clone() for own in weights], edges
        return made[1]

    def _check_tags(self, tags: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]) -> None:
        """Complain about tags that constraints forbid: nothing could make them likely."""
        if not self._limited:
            return
        there = np.arange(tags.shape[1]) < lengths[:, None]
        fine = (tags >= 0) & (tags < self.num_tags) & there
        broken = np.zeros_like(there)
        safe = np.where(fine, tags, 0)
        if self.may_follow is not None:
            both = fine[:, 1:] & fine[:, :-1]
            broken[:, 1:] |= both & ~tensor_values("may", self.may_follow)[safe[:, :-1], safe[:, 1:]]
        for may, at in ((self.may_start, np.zeros_like(lengths)), (self.may_stop, lengths - 1)):
            if may is not None and tags.shape[1]:
                rows = np.arange(len(tags))
                broken[rows, at] |= fine[rows, at] & ~tensor_values("may", may)[safe[rows, at]]
        if broken.any():
            b, t = (int(n) for n in np.argwhere(broken)[0])
            raise ValueError(f"sentence {b}: the tag of token {t}, {tags[b, t]}, breaks the constraints there")


def _limits(constraints: Constraints | None, L: int) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
    """Return which labels may start, may stop, and may follow which; None where all may."""
    if constraints is None:
        return None, None, None
    if not isinstance(constraints, Constraints):
        raise ValueError(f"constraints must be tw.Constraints, not {checks.shown(constraints)}")
    if len(constraints.labels) != L:
        raise ValueError(f"the constraints are for {len(constraints.labels)} labels, but num_tags is {L}")
    if constraints.words is not None:
        raise ValueError(
            "the constraints have a tag dictionary, and the layer sees no words; set emissions of labels that a token "
            "may not have to -inf instead"
        )
    constraints.without_labelling_rules("the layer, which sums over labellings,")
    flags = constraints.start, constraints.stop
    start, stop = (None if own is None else torch.tensor(own, dtype=torch.bool) for own in flags)
    previous, current = (np.ascontiguousarray(own.ravel(), dtype=np.int32) for own in np.indices((L, L)))
    follow = torch.from_numpy(constraints.core().may_follow(previous, current).reshape(L, L).astype(np.bool_))
    return start, stop, None if follow.all() else follow


def _same(a: Tensor, b: Tensor) -> bool:
    """Return whether two tensors hold the same numbers. Versions would not do: changes of `.data` leave them alone."""
    if a.dtype != b.dtype or a.shape != b.shape or a.device != b.device:
        return False
    if a.nbytes < _LARGE or not (a.is_cpu and a.is_contiguous() and b.is_contiguous()):
        return bool(torch.equal(a, b))
    return _core.same_bytes(a.detach().numpy(), b.detach().numpy())
