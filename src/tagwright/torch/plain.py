"""The sums of a linear-chain CRF in PyTorch's own operations, on any device.

They are what the layer uses where the native sums cannot be: on other devices than the CPU, for second derivatives,
and for transitions that depend on the token. They take memory for T * L * L numbers per sentence while gradients are
recorded.

Conventions: B sentences, T tokens, L labels; emissions (B, T, L); lengths (B,); transitions (L, L), indexed [previous,
current], or (B, T-1, L, L).
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["dense_transitions", "log_z", "path_score"]


def dense_transitions(values: Tensor, previous: Tensor, current: Tensor, labels: int) -> Tensor:
    """Return the (L, L) matrix that has `values` at some pairs and 0 elsewhere."""
    return torch.zeros(labels, labels, dtype=values.dtype, device=values.device).index_put((previous, current), values)


def _step(transitions: Tensor, t: int) -> Tensor:
    return transitions if transitions.dim() == 2 else transitions[:, t]


def _log_sum(scores: Tensor, dim: int) -> Tensor:
    """Return torch.logsumexp, with derivatives of 0 where all scores are -inf."""
    most = scores.detach().amax(dim=dim, keepdim=True)
    most = torch.where(torch.isfinite(most), most, torch.zeros_like(most))
    total = (scores - most).exp().sum(dim=dim)
    there = total > 0
    return torch.where(there, torch.where(there, total, 1.0).log() + most.squeeze(dim), -torch.inf)


def log_z(emissions: Tensor, lengths: Tensor, start: Tensor, stop: Tensor, transitions: Tensor) -> Tensor:
    """Return log Z of each sentence, (B,); 0 for sentences without tokens."""
    B, T, _ = emissions.shape
    if T == 0:
        return emissions.new_zeros(B)
    alpha = start + emissions[:, 0]
    for t in range(1, T):
        before = alpha.unsqueeze(2) + _step(transitions, t - 1)
        alpha = torch.where((t < lengths).unsqueeze(1), _log_sum(before, 1) + emissions[:, t], alpha)
    return torch.where(lengths > 0, _log_sum(alpha + stop, 1), 0.0)


def path_score(
    emissions: Tensor, tags: Tensor, lengths: Tensor, start: Tensor, stop: Tensor, transitions: Tensor
) -> Tensor:
    """Return the score of each sentence's tags, (B,). Tags in the padding may be anything."""
    B, T, _ = emissions.shape
    if T == 0 or B == 0:
        return emissions.new_zeros(B)
    there = torch.arange(T, device=emissions.device) < lengths.unsqueeze(1)
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
