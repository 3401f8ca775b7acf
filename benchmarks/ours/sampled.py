"""Corpora of any size: sentences sampled from a hidden Markov model."""

from __future__ import annotations

from pathlib import Path

import numpy as np

LABELS, WORDS, LENGTH = 20, 20_000, 20
_SENTENCES = 20_000  # that are drawn at a time


def write_sample(path: Path, tokens: int, seed: int = 0) -> None:
    """Write a column file of this many tokens, in sentences of twenty; the same words, whatever the size."""
    rng = np.random.default_rng(seed)
    follows = np.cumsum(rng.dirichlet(np.full(LABELS, 0.3), LABELS), axis=1)  # [i][j]
    # Each label has its own order of the words, whose frequencies fall as Zipf has it.
    shares = np.cumsum(1 / np.arange(1, WORDS + 1))
    words = np.array([rng.permutation(WORDS) for _ in range(LABELS)])
    lines = np.array([[f"w{word}\tL{label}" for word in range(WORDS)] for label in range(LABELS)])
    with path.open("w", encoding="utf-8") as file:
        for begin in range(0, tokens // LENGTH, _SENTENCES):
            many = min(_SENTENCES, tokens // LENGTH - begin)
            labels = np.empty((many, LENGTH), np.int64)
            labels[:, 0] = rng.integers(LABELS, size=many)
            for t in range(1, LENGTH):
                drawn = rng.random(many)
                labels[:, t] = np.minimum((follows[labels[:, t - 1]] < drawn[:, None]).sum(axis=1), LABELS - 1)
            ranks = np.searchsorted(shares, rng.random((many, LENGTH)) * shares[-1])
            text = lines[labels, words[labels, ranks]]
            file.write("".join("\n".join(sentence) + "\n\n" for sentence in text.tolist()))
