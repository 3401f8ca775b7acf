"""Kinds of span errors: by hand, and beside seqeval and all pairs of spans."""

import random
from collections import Counter

import pytest

from tagwright.evaluation.evaluate import evaluate
from tagwright.evaluation.span_errors import KINDS, TypedSpan


def kinds(gold, guess):
    return Counter(error.kind for error in evaluate([gold.split()], [guess.split()]).spans.errors)


@pytest.mark.parametrize(
    ("gold", "guess", "expected"),
    [
        ("B-X I-X O", "B-X I-X O", {}),
        ("B-X I-X O", "B-Y I-Y O", {"type": 1}),
        ("B-X I-X O", "B-X O O", {"boundary": 1}),
        ("B-X I-X O", "B-X I-X I-X", {"boundary": 1}),
        ("B-X I-X O", "B-Y O O", {"boundary and type": 1}),
        ("B-X I-X O", "O O O", {"missed": 1}),
        ("B-X O O", "B-X O B-X", {"spurious": 1}),
        ("B-X O O", "O O B-X", {"missed": 1, "spurious": 1}),
        # Two for one: the span of the same type stands for it, then the one with more tokens in common.
        ("B-X I-X I-X", "B-Y I-Y B-X", {"boundary": 1, "spurious": 1}),
        ("B-X I-X I-X", "B-X B-X I-X", {"boundary": 1, "spurious": 1}),
        ("B-X B-X I-X", "B-X I-X I-X", {"boundary": 1, "missed": 1}),
        # The same tokens come first, whatever the types are.
        ("B-X I-X B-Y", "B-Y I-Y B-X", {"type": 2}),
        # The first of two that match as well.
        ("B-X B-Y I-Y", "B-Y I-Y B-Y", {"boundary": 1, "missed": 1, "spurious": 1}),
    ],
)
def test_by_hand(gold, guess, expected):
    assert kinds(gold, guess) == expected


def test_where_errors_are():
    gold = [[], ["B-X", "I-X"], ["O", "B-X", "O", "B-Y"]]
    guess = [[], ["B-X", "O"], ["B-Z", "B-Y", "O", "O"]]
    found = evaluate(gold, guess).spans
    assert [(own.kind, own.sentence, own.gold, own.predicted) for own in found.errors] == [
        ("boundary", 1, TypedSpan(0, 1, "X"), TypedSpan(0, 0, "X")),
        ("spurious", 2, None, TypedSpan(0, 0, "Z")),
        ("type", 2, TypedSpan(1, 1, "X"), TypedSpan(1, 1, "Y")),
        ("missed", 2, TypedSpan(3, 3, "Y"), None),
    ]
    assert [*found.error_counts] == ["X", "Y", "Z"]
    assert found.error_counts["Z"] == {**dict.fromkeys(KINDS, 0), "spurious": 1}


def all_pairs(gold, guess):
    """The same by looking at all pairs of spans, which are (type, first, last), best pairs first."""
    ours, theirs = {*gold} - {*guess}, {*guess} - {*gold}
    found = Counter()
    pairs = []
    for g in ours:
        for p in theirs:
            common = {*range(g[1], g[2] + 1)} & {*range(p[1], p[2] + 1)}
            if common:
                kind = "type" if g[1:] == p[1:] else "boundary" if g[0] == p[0] else "boundary and type"
                order = ["type", "boundary", "boundary and type"].index(kind)
                pairs.append((order, -len(common), g[1], p[1], kind, g, p))
    for *_, kind, g, p in sorted(pairs):
        if g in ours and p in theirs:
            ours.remove(g)
            theirs.remove(p)
            found[kind] += 1
    return found + Counter(missed=len(ours), spurious=len(theirs))


@pytest.mark.parametrize("prefixes", ["OBI", "OBIES"])
def test_errors_are_those_of_all_pairs_of_seqevals_spans(prefixes):
    get_entities = pytest.importorskip("seqeval.metrics.sequence_labeling").get_entities
    rng = random.Random(0)
    labels = ["O", *(f"{prefix}-{kind}" for prefix in prefixes[1:] for kind in "XYZ")]
    total = Counter()
    for _ in range(300):
        lengths = [rng.randrange(0, 12) for _ in range(rng.randrange(1, 5))]
        gold = [rng.choices(labels, k=n) for n in lengths]
        guess = [[own if rng.random() < 0.7 else rng.choice(labels) for own in sentence] for sentence in gold]
        if not any(gold):
            continue
        found = evaluate(gold, guess).spans
        if found is None:
            continue
        expected = Counter()
        for own, other in zip(gold, guess, strict=True):
            expected += all_pairs(get_entities(own), get_entities(other))
        counts = Counter(error.kind for error in found.errors)
        assert counts == expected
        # Every span is right or in one error.
        right = round(found.micro.recall * found.micro.support)
        assert found.micro.support == right + counts.total() - counts["spurious"]
        assert found.micro.predicted == right + counts.total() - counts["missed"]
        total += counts
    assert all(total[kind] > 10 for kind in KINDS), total
