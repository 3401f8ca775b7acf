"""What an HMM counts: transitions, and a row of log probabilities per word and suffix (Brants 2000)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tagwright import _core
from tagwright.learners.baum_welch import LEAST_BACKOFF, WORD, Emissions, Transitions, names_of
from tagwright.learners.hmm_counts import Counts
from tagwright.models.file import Arrays
from tagwright.models.model import Model

__all__ = ["Row", "interpolated", "row_arrays", "suffix_rows", "suffixes_of", "with_backoff"]

_UNLIKELY = 1e-4  # of the likeliest: labels that a suffix speaks against so strongly are left out of its row

_RAREST = 1e-9  # of all labels: no label is rarer

Row = dict[int, float]
"""Scores by label."""


def suffix_rows(
    suffixes: Mapping[str, Mapping[int, float]], shorter: Mapping[str, str], prior: npt.NDArray[np.float64]
) -> dict[str, Row]:
    """Return log p(suffix | label), but for a constant, from counts of labels; shorter: the next suffix to ask."""
    weight = float(prior.std(ddof=1)) if len(prior) > 1 else 0.0
    likely: dict[str, Row] = {}
    for asked in suffixes:
        chain = [asked]
        while chain[-1] not in likely and chain[-1] in shorter:
            chain.append(shorter[chain[-1]])
        for name in reversed(chain):
            if name in likely:
                continue
            met, n = suffixes[name], sum(suffixes[name].values())
            before = likely[shorter[name]] if name in shorter else {}
            scale = 1 + weight if before else 1.0
            row = {j: weight * p / scale for j, p in before.items()}
            for j, times in met.items():
                row[j] = row.get(j, 0.0) + times / n / scale
            least = _UNLIKELY * max(row.values())
            likely[name] = {j: p for j, p in row.items() if p >= least}
    return {name: {j: math.log(p / prior[j]) for j, p in row.items()} for name, row in likely.items()}


def interpolated(counted: Counts) -> Transitions:
    """Return transitions by deleted interpolation of pairs and single labels."""
    L = len(counted.frequency)
    pairs = np.array(sorted(counted.pairs), np.int64)
    count = np.array([counted.pairs[pair] for pair in pairs.tolist()], np.float64)
    i, j = pairs // (L + 1), pairs % (L + 1)
    unigram = np.append(counted.frequency, counted.sentences)
    total = unigram.sum()

    # 0 / 0 is taken as 0.
    from_bigram = (count - 1) / np.maximum(unigram[i] - 1, 1)
    from_unigram = (unigram[j] - 1) / max(total - 1, 1)
    votes = float(count[from_bigram > from_unigram].sum())
    b = min(max(1 - votes / (count.sum() or 1), LEAST_BACKOFF), 1 - LEAST_BACKOFF)
    # A label whose expected count is next to nothing is as rare as `BaumWelch` lets labels be.
    share = np.maximum(b * unigram / total, b * _RAREST)
    return Transitions(b, np.log(share), i, j, (1 - b) * count / unigram[i])


def with_backoff(rows: dict[str, Row], transitions: Transitions) -> dict[str, Row]:
    """Return rows with what stands behind b added."""
    backoff = transitions.backoff.tolist()
    return {name: {j: score + backoff[j] for j, score in row.items()} for name, row in rows.items()}


def row_arrays(rows: Mapping[str, Row]) -> Arrays:
    """Return rows as a model has them."""
    slots, ends, text = _core.index_arrays(list(rows))
    label = [j for row in rows.values() for j in sorted(row)]
    weight = [row[j] for row in rows.values() for j in sorted(row)]
    return {
        "names.slots": slots,
        "names.ends": ends,
        "names.bytes": text,
        "rows.end": np.cumsum([len(row) for row in rows.values()], dtype=np.uint64),
        "rows.label": np.array(label, np.uint16),
        "rows.weight": np.array(weight, np.float32),
    }


def suffixes_of(model: Model) -> dict[str, Row]:
    """Return the rows of a model's suffixes, without what stands behind b."""
    _, backoff = Emissions.of(model)
    rows, begin = {}, 0
    for name, end in zip(names_of(model), model.arrays["rows.end"].tolist(), strict=True):
        if not name.startswith(WORD):
            label, weight = (model.arrays[f"rows.{part}"][begin:end].tolist() for part in ("label", "weight"))
            rows[name] = {j: score - backoff[j] for j, score in zip(label, weight, strict=True)}
        begin = end
    return rows
