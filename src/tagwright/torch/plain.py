"""The sums of a linear-chain CRF in PyTorch's own operations, on any device.

The layer uses them where the native sums do not apply: on devices other than the CPU, under `torch.func` transforms,
for second derivatives, and for transitions that depend on the token. They take memory for T * L * L numbers per
sentence while gradients are recorded.

Conventions: B sentences, T tokens, L labels; emissions (B, T, L); lengths (B,); transitions (L, L), indexed [previous,
current], or (B, T-1, L, L). Padding may hold anything, NaN included: no value or gradient depends on it.
"""

from __future__ import annotations

import torch
from torch import Tensor


def dense_transitions(values: Tensor, previous: Tensor, current: Tensor, labels: int) -> Tensor:
    """Return the (L, L) matrix that has `values` at the given pairs and 0 at all others."""
    return torch.zeros(labels, labels, dtype=values.dtype, device=values.device).index_put((previous, current), values)


def _step(transitions: Tensor, t: int, inside: Tensor) -> Tensor:
    """Return the transitions into token t, (L, L) or (B, L, L); 0 for sentences that have no token t."""
    return transitions if transitions.dim() == 2 else torch.where(inside[:, None, None], transitions[:, t - 1], 0.0)


def _log_sum(scores: Tensor, dim: int) -> Tensor:
    """Return torch.logsumexp, with derivatives of 0 where all scores are -inf."""
    most = scores.detach().amax(dim=dim, keepdim=True)
    most = torch.where(torch.isfinite(most), most, torch.zeros_like(most))
    total = (scores - most).exp().sum(dim=dim)
    positive = total > 0
    return torch.where(positive, torch.where(positive, total, 1.0).log() + most.squeeze(dim), -torch.inf)


def log_z(emissions: Tensor, lengths: Tensor, start: Tensor, stop: Tensor, transitions: Tensor) -> Tensor:
    """Return log Z of each sentence, (B,); 0 for sentences without tokens."""
    B, T, _ = emissions.shape
    if T == 0:
        return emissions.new_zeros(B)
    # A branch of `where` that is not selected must be finite, or its derivative of 0 * inf would be NaN.
    emissions = torch.where(_inside(lengths, T).unsqueeze(2), emissions, 0.0)
    alpha = start + emissions[:, 0]
    for t in range(1, T):
        inside = t < lengths
        before = alpha.unsqueeze(2) + _step(transitions, t, inside)
        alpha = torch.where(inside.unsqueeze(1), _log_sum(before, 1) + emissions[:, t], alpha)
    return torch.where(lengths > 0, _log_sum(alpha + stop, 1), 0.0)


def _inside(lengths: Tensor, T: int) -> Tensor:
    """Return (B, T): True for tokens, False for padding."""
    return torch.arange(T, device=lengths.device) < lengths.unsqueeze(1)


def path_score(
    emissions: Tensor, tags: Tensor, lengths: Tensor, start: Tensor, stop: Tensor, transitions: Tensor
) -> Tensor:
    """Return the score of each sentence's tags, (B,). Tags in the padding may be anything."""
    B, T, _ = emissions.shape
    if T == 0 or B == 0:
        return emissions.new_zeros(B)
    there = _inside(lengths, T)
    tags = torch.where(there, tags, 0)
    nodes = emissions.gather(2, tags.unsqueeze(2)).squeeze(2)
    total = torch.where(there, nodes, 0.0).sum(1)
    if T > 1:
        i, j = tags[:, :-1], tags[:, 1:]
        if transitions.dim() == 2:
            edges = transitions[i, j]
        else:
            rows = torch.arange(B, device=tags.device).unsqueeze(1)
            edges = transitions[rows, torch.arange(T - 1, device=tags.device), i, j]
        total = total + torch.where(there[:, 1:], edges, 0.0).sum(1)
    last = tags.gather(1, (lengths - 1).clamp(min=0).unsqueeze(1)).squeeze(1)
    return total + torch.where(lengths > 0, start[tags[:, 0]] + stop[last], 0.0)


def check_scores(emissions: Tensor, lengths: Tensor, start: Tensor, stop: Tensor, transitions: Tensor) -> None:
    """Raise a ValueError that names the first score of a token that is NaN or +inf.

    Values cannot be read under `torch.compile` and `torch.vmap`; there nothing is checked.
    """
    T = emissions.shape[1]
    inside = _inside(lengths, T)
    used = inside[:, 1:, None, None] if transitions.dim() == 4 else inside.new_ones(())
    for name, given, where in (
        ("sentence {}: the node score of token {}, label {}", emissions, inside.unsqueeze(2)),
        ("the start score of label {}", start, inside.new_ones(())),
        ("the stop score of label {}", stop, inside.new_ones(())),
        ("the edge score {} -> {}" if transitions.dim() == 2 else "sentence {}, step {}: the edge score {} -> {}",
         transitions, used),
    ):  # fmt: skip
        scores = given.detach()
        wrong = (scores.isnan() | scores.isposinf()) & where
        if _any(wrong):
            place = wrong.nonzero()[0].tolist()
            value = "NaN" if scores[tuple(place)].isnan() else "+inf"
            raise ValueError(f"{name.format(*place)} is {value}; scores must be finite numbers or -inf")


def check_path_exists(log_z: Tensor, lengths: Tensor) -> None:
    """Raise a ValueError that names the first sentence all of whose paths score -inf."""
    wrong = log_z.detach().isneginf() & (lengths > 0)
    if _any(wrong):
        raise ValueError(f"sentence {int(wrong.nonzero()[0])}: no path: every labelling scores -inf; allow a label")


def _any(flags: Tensor) -> bool:
    if torch.compiler.is_compiling():
        return False
    try:
        return bool(flags.any())
    except RuntimeError:  # torch.vmap
        return False
