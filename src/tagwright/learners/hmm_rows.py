"""Estimates of an HMM from counts: transitions, and log probabilities of words and suffixes (Brants 2000)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from tagwright import _core
from tagwright.learners.baum_welch import WORD, Emissions, names_of
from tagwright.learners.hmm_counts import Counts
from tagwright.learners.hmm_transitions import LEAST_BACKOFF, Transitions
from tagwright.models.file import Arrays
from tagwright.models.model import Model

__all__ = ["Rows", "Weights", "count_rows", "interpolated", "suffix_rows", "suffixes_of", "weight_arrays"]

_UNLIKELY = 1e-4  # labels that are less likely than the best one by this factor are left out of a suffix's row

_RAREST = 1e-9  # of all labels: no label is rarer

Floats = npt.NDArray[np.float64]


class Weights(NamedTuple):
    """Rows of weights as a model has them."""

    names: list[str]
    sizes: npt.NDArray[np.int64]
    label: npt.NDArray[np.uint16]
    weight: npt.NDArray[np.float32]


def weight_arrays(rows: Sequence[Weights]) -> Arrays:
    """Return the arrays of a model that has all these rows, in this order."""
    slots, ends, text = _core.index_arrays([name for own in rows for name in own.names])
    return {
        "names.slots": slots,
        "names.ends": ends,
        "names.bytes": text,
        "rows.end": np.cumsum(np.concatenate([own.sizes for own in rows]), dtype=np.uint64),
        "rows.label": np.concatenate([own.label for own in rows]),
        "rows.weight": np.concatenate([own.weight for own in rows]),
    }


class Rows(NamedTuple):
    """Counts or probabilities by word or suffix and label."""

    names: list[str]
    numbers: csr_array
    """(names, L)."""

    def logs(self, plus: Floats, before: str = "") -> Weights:
        """Return logarithms; plus: added for each label; before: prefix of the names."""
        own = self.numbers
        made = np.log(own.data)
        made += plus[own.indices]
        names = [before + name for name in self.names] if before else self.names
        return Weights(names, np.diff(own.indptr), own.indices.astype(np.uint16), made.astype(np.float32))

    def totals(self) -> Floats:
        """Return the sum of each row."""
        found: Floats = np.asarray(self.numbers.sum(axis=1), np.float64)
        return found

    def some(self, which: Sequence[int]) -> Rows:
        """Return some of the rows."""
        return Rows([self.names[n] for n in which], self.numbers[np.asarray(which, np.int64)])


def count_rows(counted: Mapping[str, Mapping[int, float]], L: int) -> Rows:
    """Return counts as rows."""
    label = [j for row in counted.values() for j in sorted(row)]
    count = [row[j] for row in counted.values() for j in sorted(row)]
    ends = np.cumsum([0, *map(len, counted.values())])
    numbers = csr_array((np.array(count, np.float64), np.array(label, np.int32), ends), (len(counted), L))
    return Rows(list(counted), numbers)


def suffix_rows(count: Rows, chains: Iterable[Sequence[str]], prior: Floats, plus: Floats) -> list[Weights]:
    """Return log p(suffix | label), but for a constant; shorter suffixes come first.

    Parameters
    ----------
    count : Rows
        Counts of words by label.
    chains : iterable of sequences of str
        For each word its suffixes, the longest first.
    prior : array of shape (L,)
        Probabilities of the labels.
    plus : array of shape (L,)
        Added for each label.

    """
    number: dict[str, int] = {}
    shorter: list[int] = []  # [suffix]: the next shorter one, or -1
    depth: list[int] = []
    row, column = [], []
    for word, names in enumerate(chains):
        before = -1
        for name in reversed(names):
            if name not in number:
                number[name] = len(number)
                shorter.append(before)
                depth.append(depth[before] + 1 if before >= 0 else 0)
            before = number[name]
            row.append(before)
            column.append(word)
    has = csr_array((np.ones(len(row)), (row, column)), (len(number), len(count.names)))
    weight = float(prior.std(ddof=1)) if len(prior) > 1 else 0.0
    above, deep = np.array(shorter), np.array(depth)
    place = np.empty(len(number), np.int64)  # among those of the same depth
    likely, made, names = None, [], list(number)
    for level in range(deep.max(initial=-1) + 1):
        here = np.flatnonzero(deep == level)
        place[here] = np.arange(len(here))
        own = has[here] @ count.numbers
        own.data /= np.repeat(np.asarray(own.sum(axis=1)), np.diff(own.indptr))
        if likely is not None:
            own = (likely[place[above[here]]] * weight + own) * (1 / (1 + weight))
        likely = _without_unlikely(own)
        made.append(Rows([names[n] for n in here.tolist()], likely).logs(plus - np.log(prior)))
    return made


def _without_unlikely(rows: csr_array) -> csr_array:
    rows = rows.tocsr()
    rows.sort_indices()
    best = np.maximum.reduceat(rows.data, rows.indptr[:-1])  # every row has a label
    keep = rows.data >= _UNLIKELY * np.repeat(best, np.diff(rows.indptr))
    ends = np.concatenate([[0], np.cumsum(keep)])[rows.indptr]
    return csr_array((rows.data[keep], rows.indices[keep], ends), rows.shape)


def interpolated(counted: Counts, share: float | None = None) -> Transitions:
    """Return transitions by deleted interpolation of pairs and single labels; share: that of the latter, if known."""
    L = len(counted.frequency)
    pairs = np.array(sorted(counted.pairs), np.int64)
    count = np.array([counted.pairs[pair] for pair in pairs.tolist()], np.float64)
    i, j = pairs // (L + 1), pairs % (L + 1)
    unigram = np.append(counted.frequency, counted.sentences)
    total = unigram.sum()

    # 0 / 0 counts as 0.
    from_bigram = (count - 1) / np.maximum(unigram[i] - 1, 1)
    from_unigram = (unigram[j] - 1) / max(total - 1, 1)
    votes = float(count[from_bigram > from_unigram].sum())
    b = 1 - votes / (count.sum() or 1) if share is None else share
    b = min(max(b, LEAST_BACKOFF), 1 - LEAST_BACKOFF)
    # No label is rarer than `BaumWelch` lets labels become.
    single = np.maximum(b * unigram / total, b * _RAREST)
    return Transitions(b, np.log(single), i, j, (1 - b) * count / unigram[i])


def suffixes_of(model: Model, plus: Floats) -> Weights:
    """Return the rows of a model's suffixes with a new backoff, `plus`, in place of the model's."""
    _, backoff = Emissions.of(model)
    names = names_of(model)
    ends = np.concatenate([[0], model.arrays["rows.end"].astype(np.int64)])
    sizes = ends[1:] - ends[:-1]
    wanted = np.array([not name.startswith(WORD) for name in names], bool)
    entries = np.repeat(wanted, sizes)
    label, weight = model.arrays["rows.label"][entries], model.arrays["rows.weight"][entries]
    own = [name for name in names if not name.startswith(WORD)]
    return Weights(own, sizes[wanted], label, (weight + (plus - backoff)[label]).astype(np.float32))
