"""How good predicted labels are: accuracies, scores for each label, scores for spans, and what is confused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from tagwright.evaluation.calibration import calibrate
from tagwright.evaluation.resampling import SentenceCounts
from tagwright.evaluation.result import Evaluation, Ints, all_scores, mean_f1
from tagwright.evaluation.spans import score_spans
from tagwright.label_parts import check_separators

__all__ = ["evaluate"]

Sentences = Sequence[Sequence[str]]
Bools = npt.NDArray[np.bool_]


def evaluate(
    gold: Sentences,
    predicted: Sentences,
    known: Sequence[Sequence[bool]] | None = None,
    probabilities: Sequence[Sequence[float]] | None = None,
    *,
    parts: str | None = None,
) -> Evaluation:
    """Compare predicted labels with gold labels.

    Parameters
    ----------
    gold : list of list of str
        The gold labels of each sentence.
    predicted : list of list of str
        The predicted labels.
    known : list of list of bool, optional
        For each token, whether its word was observed in training; adds the accuracy of known and unknown words.
    probabilities : list of list of float, optional
        Probability of each predicted label, as in `Tagging.marginals`; adds the calibration.
    parts : str, optional
        The characters that separate the parts of a label, as for learners: ``"|"`` for NN|B-NP, an empty string if
        each character is a part. By default, ``| ; + : [ ]`` and positional tags are recognised. Confusions are then
        counted by part, too.

    Returns
    -------
    Evaluation
        Accuracy, F1 of labels and spans, confusions, calibration and intervals; `Evaluation.compare` tests it against
        another one.

    Raises
    ------
    ValueError
        If there are no tokens, or if the lengths differ.

    Examples
    --------
    >>> import tagwright as tw
    >>> found = tw.evaluate([["B-NP", "I-NP", "O"]], [["B-NP", "O", "O"]])
    >>> round(found.token_accuracy, 3), found.spans.micro.f1
    (0.667, 0.0)

    Notes
    -----
    Spans are scored where every gold label is O or PREFIX-TYPE, PREFIX being one of B I O E S L U M, and at least one
    is B, I, S or U. Joint labels count too: if not the whole labels, then the parts after their last "|"
    (``NN|B-NP``), or else those after their first ":" (``alarm_query:B-date``) may all be of that form. A predicted
    label that is not counts as O. The numbers are those of seqeval's default mode, as conlleval has it for BIO:

    * A span opens at B and S, at I and E after O, E or S, and wherever the type changes.
    * A span closes after E and S, after B and I before B, S or O, and wherever the type changes.

    So L, U and M only continue a span of their type, as in seqeval: where a span of the same type follows at once,
    the two are merged or the first is lost. Rewrite L to E, U to S and M to I to have each counted.
    """
    if parts is not None:
        check_separators(parts)
    lengths = _lengths(gold, predicted, "predicted labels")
    if not lengths.sum():
        raise ValueError("there are no tokens to evaluate")
    names = list(dict.fromkeys(chain(chain.from_iterable(gold), chain.from_iterable(predicted))))
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise ValueError(f"labels must be strings, not {type(wrong[0]).__name__} ({wrong[0]!r})")
    index = {name: y for y, name in enumerate(names)}
    truth, guess = (_numbers(map(index.__getitem__, chain.from_iterable(y))) for y in (gold, predicted))
    right = truth == guess
    is_known = None
    if known is not None:
        _lengths(gold, known, "marks in known")
        is_known = np.fromiter(chain.from_iterable(known), dtype=np.bool_)
    shares = None
    if probabilities is not None:
        _lengths(gold, probabilities, "probabilities")
        shares = np.fromiter(chain.from_iterable(probabilities), dtype=np.float64)
    labels = all_scores(names, truth[right], truth, guess)
    scored = score_spans(names, truth, guess, lengths)
    starts = (lengths.cumsum() - lengths)[lengths > 0]
    return Evaluation(
        sentences=len(starts),
        tokens=len(truth),
        token_accuracy=float(right.mean()),
        sentence_accuracy=float(np.logical_and.reduceat(right, starts).mean()),
        macro_f1=mean_f1(labels),
        labels=labels,
        spans=None if scored is None else scored[0],
        known=None if is_known is None else _share(right[is_known]),
        unknown=None if is_known is None else _share(right[~is_known]),
        confusions=_confusions(names, truth[~right], guess[~right]),
        calibration=None if shares is None else calibrate(shares, right),
        separators=parts,
        counts=_counts(right, is_known, lengths, None if scored is None else scored[1]),
        right=right,
    )


def _counts(right: Bools, known: Bools | None, lengths: Ints, spans: Ints | None) -> SentenceCounts:
    """Return what each sentence that is not empty adds to the figures.

    spans: right, gold and predicted spans of every sentence, [sentence, 3].
    """
    starts = (lengths.cumsum() - lengths)[lengths > 0]

    def summed(tokens: Bools) -> Ints:
        found: Ints = np.add.reduceat(tokens.astype(np.int64), starts)
        return found

    hits, tokens = summed(right), lengths[lengths > 0]
    columns = {
        "sentence_accuracy": ((hits == tokens).astype(np.int64), np.ones_like(tokens)),
        "token_accuracy": (hits, tokens),
    }
    if known is not None:
        columns["known"] = summed(right & known), summed(known)
        columns["unknown"] = summed(right & ~known), summed(~known)
    if spans is not None:
        both, gold, predicted = spans[lengths > 0].T
        columns["span_precision"] = both, predicted
        columns["span_recall"] = both, gold
        columns["span_f1"] = 2 * both, gold + predicted
    columns = {name: column for name, column in columns.items() if column[1].any()}
    return SentenceCounts(tuple(columns), *(np.stack(own, axis=1) for own in zip(*columns.values(), strict=True)))


def _lengths(gold: Sentences, other: Sequence[Sequence[object]], what: str) -> Ints:
    """Return the number of tokens of each sentence, after a check that the other has as many."""
    if any(isinstance(sentence, str) for sentence in chain(gold, other)):
        raise ValueError("give a list of labels for each sentence, not one string")
    if len(gold) != len(other):
        raise ValueError(f"{len(gold)} sentences in gold but {len(other)} of {what}")
    for s, (own, others) in enumerate(zip(gold, other, strict=True)):
        if len(own) != len(others):
            raise ValueError(f"sentence {s} has {len(own)} gold labels but {len(others)} {what}")
    return _numbers(map(len, gold))


def _numbers(values: Iterable[int]) -> Ints:
    return np.fromiter(values, dtype=np.int64)


def _share(right: Bools) -> tuple[float, int] | None:
    return (float(right.mean()), len(right)) if len(right) else None


def _confusions(names: Sequence[str], truth: Ints, guess: Ints) -> list[tuple[str, str, int]]:
    pairs, counts = np.unique(truth * len(names) + guess, return_counts=True)
    rows = [
        (names[pair // len(names)], names[pair % len(names)], count)
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True)
    ]
    return sorted(rows, key=lambda row: (-row[2], row[0], row[1]))
