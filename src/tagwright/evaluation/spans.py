"""Scores of whole spans, as seqeval has them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagwright.evaluation.result import Ints, Scores, Spans, all_scores, mean_f1, scores_of
from tagwright.schemes import PARTS, PREFIXES, find_spans, scheme_of, span_parts, split_label

__all__ = ["score_spans"]


def score_spans(names: Sequence[str], truth: Ints, guess: Ints, lengths: Ints) -> Spans | None:
    """Return the scores of the spans in gold and predicted labels; None if gold labels are not span labels.

    Parameters
    ----------
    names
        Names of the labels.
    truth
        Numbers of the gold labels of all tokens, sentence by sentence.
    guess
        Numbers of the predicted labels.
    lengths
        Tokens of each sentence.

    """
    read = span_parts([names[y] for y in np.unique(truth)], typed=True)
    if read is None:
        return None
    where, gold = read
    parts = [_span_part(PARTS[where](label)) or ("O", "_") for label in names]
    micro, types = _scores(parts, truth, guess, lengths)
    return Spans(scheme_of({prefix for prefix, _ in gold}) or "mixed", where, micro, mean_f1(types), types)


def _span_part(part: str) -> tuple[str, str] | None:
    """Return prefix and type; None if it is not O or PREFIX-TYPE. The type of O is "_", as in seqeval."""
    if part == "O":
        return "O", "_"
    found = split_label(part)
    return found if found and found[1] else None


def _scores(parts: Sequence[tuple[str, str]], truth: Ints, guess: Ints, lengths: Ints) -> tuple[Scores, list[Scores]]:
    """Return the scores of all spans and of each type, given the prefix and type of each label."""
    names = list(dict.fromkeys(["_", *(name for _, name in parts)]))
    number = {name: n for n, name in enumerate(names)}
    prefix_of = np.array([PREFIXES.index(prefix) for prefix, _ in parts], np.int64)
    type_of = np.array([number[name] for _, name in parts], np.int64)

    # Each sentence is followed by one more O, so that no span leaves it.
    places = np.arange(len(truth)) + np.repeat(np.arange(len(lengths)), lengths)
    found = []
    for labels in (truth, guess):
        prefixes, types = np.zeros((2, len(truth) + len(lengths)), dtype=np.int64)
        prefixes[places], types[places] = prefix_of[labels], type_of[labels]
        found.append((*find_spans(prefixes, types), types[:-1]))
    (gold_last, gold_first, gold_type), (last, first, own_type) = found

    right = gold_last & last & (gold_first == first) & (gold_type == own_type)
    micro = scores_of("all", int(right.sum()), int(gold_last.sum()), int(last.sum()))
    return micro, all_scores(names, own_type[right], gold_type[gold_last], own_type[last])
