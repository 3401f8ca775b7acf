"""Decoding of given scores by HMM packages, which want rows of transitions that sum to 1."""

from __future__ import annotations

import numpy as np

from benchmarks.peers.packages import Nodes, Ready, one_thread


def normalised(nodes: Nodes, scores: np.ndarray) -> tuple[Nodes, np.ndarray]:
    """Return the same scores as an HMM's: log transitions whose rows sum to 1; every path keeps its score.

    What a row is divided by goes to the node scores of the label that it starts from. In double precision.
    """
    wide = scores.astype(np.float64)
    most = wide.max(1)
    total = most + np.log(np.exp(wide - most[:, None]).sum(1))
    moved = [own.astype(np.float64) for own in nodes]
    for own in moved:
        own[:-1] += total
    return moved, wide - total[:, None]


def hmmlearn(nodes: Nodes, scores: np.ndarray, k: int) -> Ready:
    from hmmlearn.base import BaseHMM

    class Given(BaseHMM):
        def _compute_log_likelihood(self, X: np.ndarray) -> np.ndarray:
            return X

    inputs, transitions = normalised(nodes, scores)
    model = Given(len(scores))
    model.n_features = len(scores)
    model.startprob_ = np.full(len(scores), 1 / len(scores))
    model.transmat_ = np.exp(transitions)
    return inputs, lambda own: [[model.decode(own)[1]]]


def pomegranate(nodes: Nodes, scores: np.ndarray, k: int) -> Ready:
    torch = one_thread()
    from pomegranate.distributions import Categorical
    from pomegranate.hmm import DenseHMM

    inputs, transitions = normalised(nodes, scores)
    L = len(scores)
    even = torch.full((L,), 1 / L)
    model = DenseHMM([Categorical([[1.0]]) for _ in range(L)], np.full((L, L), 1 / L, np.float32), even, even)
    # Set as logarithms: as probabilities in single precision the least would become 0.
    model.edges.copy_(torch.from_numpy(transitions.astype(np.float32)))
    return [torch.from_numpy(own.astype(np.float32))[None] for own in inputs], lambda own: [
        [model.viterbi(emissions=own)[0].tolist()]
    ]


def librosa(nodes: Nodes, scores: np.ndarray, k: int) -> Ready:
    """librosa takes probabilities up to 1: what is less than e^-708 of a token's best is lost."""
    from librosa.sequence import viterbi

    inputs, transitions = normalised(nodes, scores)
    matrix = np.exp(transitions)
    viterbi(np.full((3, 2), 0.5).T, np.full((2, 2), 0.5))  # compiles
    return [np.exp(own - own.max(1, keepdims=True)).T for own in inputs], lambda own: [[viterbi(own, matrix)]]


def dynamax(nodes: Nodes, scores: np.ndarray, k: int) -> Ready:
    import jax
    from dynamax.hidden_markov_model import hmm_posterior_mode

    inputs, transitions = normalised(nodes, scores)
    matrix, even = jax.numpy.exp(transitions), jax.numpy.full(len(scores), 1 / len(scores))
    compiled = jax.jit(hmm_posterior_mode)
    arrays = [jax.numpy.asarray(own) for own in inputs]
    for T in {len(own) for own in nodes}:
        compiled(even, matrix, next(own for own in arrays if len(own) == T))
    return arrays, lambda own: [[np.asarray(compiled(even, matrix, own))]]
