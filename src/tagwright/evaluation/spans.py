"""Scores of whole spans, as seqeval has them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagwright.evaluation.result import Ints, Spans, all_scores, mean_f1, scores_of
from tagwright.evaluation.span_errors import SpanList
from tagwright.schemes import PARTS, PREFIXES, find_spans, scheme_of, span_parts, split_label

__all__ = ["score_spans"]


def score_spans(names: Sequence[str], truth: Ints, guess: Ints, lengths: Ints) -> tuple[Spans, Ints] | None:
    """Return the scores of the spans in gold and predicted labels, and counts; None if gold labels are not span labels.

    The counts are those of right, gold and predicted spans in each sentence, [sentence, 3].

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
    types = list(dict.fromkeys(["_", *(name for _, name in parts)]))
    own, other = (_spans(parts, types, labels, lengths) for labels in (truth, guess))
    _, ours, theirs = np.intersect1d(own.last, other.last, assume_unique=True, return_indices=True)
    same = (own.first[ours] == other.first[theirs]) & (own.type[ours] == other.type[theirs])
    ours, theirs = ours[same], theirs[same]
    micro = scores_of("all", len(ours), len(own.type), len(other.type))
    by_type = all_scores(types, own.type[ours], own.type, other.type)
    sentences = (own.sentence[ours], own.sentence, other.sentence)
    counts = np.stack([np.bincount(own, minlength=len(lengths)) for own in sentences], axis=1)
    wrong = _left(own, ours, lengths), _left(other, theirs, lengths), types
    scheme = scheme_of({prefix for prefix, _ in gold}) or "mixed"
    return Spans(scheme, where, micro, mean_f1(by_type), by_type, wrong), counts


def _span_part(part: str) -> tuple[str, str] | None:
    """Return prefix and type; None if it is not O or PREFIX-TYPE. The type of O is "_", as in seqeval."""
    if part == "O":
        return "O", "_"
    found = split_label(part)
    return found if found and found[1] else None


def _spans(parts: Sequence[tuple[str, str]], names: Sequence[str], labels: Ints, lengths: Ints) -> SpanList:
    """Return the spans of labels, given the prefix and type of each label.

    Tokens are counted over all sentences; each sentence is followed by one more O, so that no span leaves it.
    """
    number = {name: n for n, name in enumerate(names)}
    prefix_of = np.array([PREFIXES.index(prefix) for prefix, _ in parts], np.int64)
    type_of = np.array([number[name] for _, name in parts], np.int64)
    places = np.arange(len(labels)) + np.repeat(np.arange(len(lengths)), lengths)
    prefixes, types = np.zeros((2, len(labels) + len(lengths)), dtype=np.int64)
    prefixes[places], types[places] = prefix_of[labels], type_of[labels]
    is_last, first = find_spans(prefixes, types)
    last = np.flatnonzero(is_last)
    return SpanList(np.searchsorted((lengths + 1).cumsum(), last, side="right"), first[last], last, types[last])


def _left(spans: SpanList, right: Ints, lengths: Ints) -> SpanList:
    """Return the spans that are not right, given those that are; tokens are counted within their sentences."""
    kept = SpanList(*(np.delete(column, right) for column in spans))
    begin = (lengths + 1).cumsum()[kept.sentence] - lengths[kept.sentence] - 1
    return kept._replace(first=np.maximum(kept.first - begin, 0), last=kept.last - begin)
