"""The native sums as an autograd function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from tagwright import _core
from tagwright.decoding.keep import KeepArguments
from tagwright.torch import plain


@dataclass(frozen=True)
class Term:
    """One sum of a batch: `sign` times log Z, less the score of the tags where there are some."""

    sign: float
    tags: npt.NDArray[np.int64] | None = None
    allowed: npt.NDArray[np.bool_] | None = None
    """(B, T, L): the labels that tokens may have; all where there is none."""


@dataclass(frozen=True)
class Sums:
    """What is summed, beside the tensors through which gradients go."""

    lengths: npt.NDArray[np.int64]
    terms: tuple[Term, ...]
    pruning: KeepArguments
    threads: int
    pairs: _core.Pairs | None = None
    indices: tuple[Tensor, Tensor] | None = field(default=None, repr=False)
    """The pairs again, as tensors."""

    def values_and_gradients(
        self, scores: tuple[Tensor, ...], weight: float, weights: npt.NDArray[np.float64], with_gradients: bool
    ) -> tuple[npt.NDArray[np.float64], list[Tensor]]:
        """Return the value of each sentence, (B,), and the gradients of their weighted sum with respect to scores.

        scores: emissions, start, stop, transitions; on the CPU, of one type, contiguous. weights: one per sentence, or
        none where all have `weight`.
        """
        nodes, start, stop, edges = (score.detach().numpy() for score in scores)
        matrix, values = (edges, None) if self.pairs is None else (None, edges)
        given: Any = (matrix, self.pairs, values, 0.0, start, stop)
        total: Any = 0.0
        gradients: list[Tensor] = []
        for term in self.terms:
            log_z, tags = np.empty(len(nodes)), np.empty(0 if term.tags is None else len(nodes))
            own = [torch.empty_like(score) for score in scores] if with_gradients else []
            filled = [gradient.numpy() for gradient in own] or [None] * 4
            inputs = (term.allowed, term.tags, term.sign * weight, term.sign * weights)
            outputs: Any = (log_z, tags, filled[0], filled[3], self.pairs, filled[1], filled[2])
            single = nodes.dtype == np.float32
            _core.fill_sums(nodes, self.lengths, given, inputs, self.pruning, single, outputs, self.threads)
            total = total + term.sign * (log_z - tags if term.tags is not None else log_z)
            gradients = [a.add_(b) for a, b in zip(gradients, own, strict=True)] if gradients else own
        return total, gradients

    def plain_values(self, emissions: Tensor, start: Tensor, stop: Tensor, transitions: Tensor) -> Tensor:
        """Return the values by PyTorch's own operations, which are differentiable any number of times."""
        device = emissions.device
        lengths = torch.tensor(self.lengths, device=device)
        if self.indices is not None:
            i, j = self.indices
            transitions = plain.dense_transitions(transitions, i.to(device), j.to(device), len(start))
        plain.check_scores(emissions, lengths, start, stop, transitions)
        total = emissions.new_zeros(len(self.lengths))
        for term in self.terms:
            nodes = emissions
            if term.allowed is not None:
                nodes = emissions.masked_fill(~torch.tensor(term.allowed, device=device), -torch.inf)
            value = plain.log_z(nodes, lengths, start, stop, transitions)
            plain.check_path_exists(value, lengths)
            if term.tags is not None:
                self._check_range(term.tags, len(start))
                tags = torch.tensor(term.tags, device=device)
                value = value - plain.path_score(nodes, tags, lengths, start, stop, transitions)
            total = total + term.sign * value
        return total

    def _check_range(self, tags: npt.NDArray[np.int64], L: int) -> None:
        wrong = (np.arange(tags.shape[1]) < self.lengths[:, None]) & ((tags < 0) | (tags >= L))
        if wrong.any():
            b, t = (int(n) for n in np.argwhere(wrong)[0])
            raise ValueError(f"sentence {b}: token {t} has label {tags[b, t]}, but labels go from 0 to {L - 1}")


_NO_WEIGHTS = np.empty(0)


class _Native(torch.autograd.Function):
    """Values of sentences, (B,), or their weighted sum, ().

    Gradients of a sum are made on the way forward, in the same pass; those of single values when their weights are
    known. Nearly always the negative of a sum is what is minimised, so those of the negative are made. Second
    derivatives go through `Sums.plain_values`.
    """

    @staticmethod
    def forward(ctx: Any, sums: Sums, weight: float | None, *scores: Tensor) -> Tensor:
        with_gradients = weight is not None and any(ctx.needs_input_grad)
        values, gradients = sums.values_and_gradients(
            scores, 1.0 if weight is None else -weight, _NO_WEIGHTS, with_gradients
        )
        ctx.sums, ctx.weight, ctx.gradients = sums, weight, gradients
        ctx.save_for_backward(*scores)
        found = values if weight is None else values.sum() * weight
        return torch.tensor(found, dtype=scores[0].dtype)

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> Any:
        sums, weight, scores, (grad,) = ctx.sums, ctx.weight, ctx.saved_tensors, outer
        if torch.is_grad_enabled():  # create_graph: a second derivative will be computed
            if sums.pruning[0]:
                raise RuntimeError("sparse sums (pruning=) have no second derivatives; use pruning=None for them")
            values = sums.plain_values(*scores)
            total = values if weight is None else values.sum() * weight
            needed = [score for score, needs in zip(scores, ctx.needs_input_grad[2:], strict=True) if needs]
            found = iter(torch.autograd.grad(total, needed, grad, create_graph=True, allow_unused=True))
            return None, None, *(next(found) if needs else None for needs in ctx.needs_input_grad[2:])
        gradients, ctx.gradients = ctx.gradients, []  # A second pass backward computes them again.
        if not gradients:
            if weight is None:
                _, gradients = sums.values_and_gradients(scores, 1.0, grad.double().contiguous().numpy(), True)
            else:
                _, gradients = sums.values_and_gradients(scores, weight * grad.item(), _NO_WEIGHTS, True)
        elif (factor := -grad.item()) != 1:
            for gradient in gradients:
                gradient.mul_(factor)
        return None, None, *gradients


def _native(sums: Sums, weight: float | None, scores: tuple[Tensor, ...]) -> Tensor:
    return _Native.apply(sums, weight, *(score.contiguous() for score in scores))


@cache
def _outside_graphs() -> Callable[..., Tensor]:
    """Return the same for torch.compile, which cannot look into native code: left out of its graphs."""
    return torch.compiler.disable(_native)


def summed(sums: Sums, weight: float | None, native: bool, *scores: Tensor) -> Tensor:
    """Return the values of sentences, (B,), or, with a weight, that times their sum.

    Native code computes them if `native` is set, the scores are on the CPU and no `torch.func` transform is active;
    otherwise PyTorch's own operations do.
    """
    if native and scores[0].device.type == "cpu":
        if torch.compiler.is_compiling():
            return _outside_graphs()(sums, weight, scores)
        if not torch._C._are_functorch_transforms_active():
            return _native(sums, weight, scores)
    if sums.pruning[0]:
        raise ValueError(
            "sparse sums (pruning=) need native=True, the CPU, and no torch.func transform; use pruning=None"
        )
    values = sums.plain_values(*scores)
    return values if weight is None else values.sum() * weight
