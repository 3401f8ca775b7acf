"""Where the mistakes are, beside plain loops over the tokens."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwright.evaluation.breakdown import LENGTHS, Group, accuracy_by_frequency, accuracy_by_length, confusion_of
from tagwright.evaluation.evaluate import evaluate

labellings = st.lists(
    st.lists(st.tuples(st.sampled_from("ABCDE"), st.sampled_from("ABCDEF")), max_size=25), min_size=1, max_size=12
).filter(any)


def split(pairs):
    return [[a for a, _ in own] for own in pairs], [[b for _, b in own] for own in pairs]


@given(labellings)
def test_groups_of_labels_are_those_of_plain_loops(pairs):
    gold, guess = split(pairs)
    count = Counter(a for own in gold for a in own)
    names = {-1: "unknown to the model", 0: "1", 1: "2 to 9", 2: "10 to 99", 3: "100 to 999"}
    rows = {}
    for own in pairs:
        for a, b in own:
            key = -1 if a == "E" else 0 if count[a] == 1 else 1 if count[a] < 10 else 2 if count[a] < 100 else 3
            row = rows.setdefault(key, [set(), 0, 0])
            row[0].add(a)
            row[1] += 1
            row[2] += a == b
    expected = [Group(names[key], len(row[0]), *row[1:]) for key, row in sorted(rows.items())]
    assert accuracy_by_frequency(evaluate(gold, guess), set("ABCDF")) == expected


@given(labellings)
def test_groups_of_sentences_are_those_of_plain_loops(pairs):
    found = accuracy_by_length(*split(pairs))
    whole = [own for own in pairs if own]
    assert sum(own.members for own in found) == len(whole)
    for own in found:
        low, high = (int(n) for n in own.name.split(" to "))
        assert low in LENGTHS
        mine = [sentence for sentence in whole if low <= len(sentence) <= high]
        assert own.members == len(mine)
        assert own.tokens == sum(map(len, mine))
        assert own.right == sum(a == b for sentence in mine for a, b in sentence)
        assert own.members_right == sum(all(a == b for a, b in sentence) for sentence in mine)


def test_long_sentences_are_one_group():
    found = accuracy_by_length([["A"] * 5000, ["A"] * 100], [["A"] * 5000, ["B"] * 100])
    assert found == [Group("100 and more", 2, 5100, 5000, 1)]


@given(labellings, st.integers(1, 7))
def test_the_confusion_table_counts_every_token_of_its_labels(pairs, most):
    gold, guess = split(pairs)
    found = confusion_of(evaluate(gold, guess), most)
    count = Counter(pair for own in pairs for pair in own)
    assert len(found.labels) <= most
    assert found.labels == sorted(found.labels)
    for g, a in enumerate(found.labels):
        assert found.counts[g][:-1] == [count[a, b] for b in found.labels]
        assert sum(found.counts[g]) == sum(n for (own, _), n in count.items() if own == a)
    assert found.wrong == sum(n for (a, b), n in count.items() if a != b)
    assert found.shown == sum(count[a, b] for a in found.labels for b in found.labels if a != b)


def test_the_labels_of_the_most_frequent_confusions_are_chosen():
    pairs = [[("A", "B")] * 5 + [("C", "D")] * 4 + [("B", "C")] * 3 + [("E", "E")] * 9]
    result = evaluate(*split(pairs))
    assert confusion_of(result, 2).labels == ["A", "B"]
    assert confusion_of(result, 3).labels == ["A", "B", "C"]  # A and B, then C beside B: D no longer fits
    assert confusion_of(result, 9).labels == ["A", "B", "C", "D"]
    right = evaluate([["A", "B"]], [["A", "B"]])
    assert confusion_of(right, 5).counts == [[1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize(
    ("right", "tokens", "low", "high"),
    # Newcombe (1998), "Two-sided confidence intervals for the single proportion", Table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_intervals_are_those_of_wilson(right, tokens, low, high):
    assert Group("", 1, tokens, right).interval == pytest.approx((low, high), abs=6e-5)
