"""Confusions by part of the label, beside plain loops over the tokens."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwright.evaluation.evaluate import evaluate

values = st.sampled_from(["a", "b", "c", ""])
pairs = st.tuples(st.tuples(values, values, values), st.tuples(values, values, values))


@given(st.lists(pairs, min_size=1, max_size=60))
def test_parts_by_place_are_those_of_plain_loops(tokens):
    gold, guess = ([["|".join(own) for own in side]] for side in zip(*tokens, strict=True))
    found = evaluate(gold, guess, parts="|").parts
    for k in range(3):
        mine = [(a[k], b[k]) for a, b in tokens if a[k] or b[k]]
        wrong = Counter(pair for pair in mine if pair[0] != pair[1])
        [part] = [own for own in found.parts if own.name == f"part {k + 1}"] or [None]
        if part is None:
            assert not wrong
            continue
        assert (part.tokens, part.wrong) == (len(mine), wrong.total())
        assert {row[:2]: row[2] for row in part.confusions} == wrong
        right = Counter(a for a, b in mine if a == b)
        assert {name: count for name, count in part.right.items() if count} == right
        assert part.accuracy == pytest.approx(right.total() / len(mine))
    differing = [sum(x != y for x, y in zip(a, b, strict=True)) for a, b in tokens if a != b]
    assert found.wrong_parts == dict(sorted(Counter(differing).items()))
    assert [part.wrong for part in found.parts] == sorted((part.wrong for part in found.parts), reverse=True)


@given(
    st.lists(pairs, min_size=1, max_size=60), st.sets(st.tuples(st.sampled_from(["part 1", "part 2"]), values, values))
)
def test_what_tables_cover_is_that_of_plain_loops(tokens, shown):
    tokens = [tuple(tuple(value or "x" for value in label) for label in pair) for pair in tokens]
    gold, guess = ([["|".join(own) for own in side]] for side in zip(*tokens, strict=True))
    expected = 0
    for a, b in tokens:
        differences = {(f"part {k + 1}", a[k], b[k]) for k in range(3) if a[k] != b[k]}
        expected += bool(differences) and differences <= shown
    assert evaluate(gold, guess, parts="|").parts.covered(shown) == expected


def test_features_are_compared_by_their_names():
    gold = [["NOUN|Case=Nom|Number=Sing", "VERB|Mood=Ind", "PUNCT|_", "NOUN|Case=Acc|Gender=M|Number=Sing"]]
    guess = [
        ["NOUN|Case=Acc|Gender=F|Number=Sing", "NOUN|Case=Nom|Number=Sing", "PUNCT|_", "NOUN|Case=Acc|Number=Plur"]
    ]
    found = evaluate(gold, guess, parts="|").parts
    rows = {part.name: (part.tokens, part.confusions) for part in found.parts}
    assert rows == {
        "Case": (3, [("", "Nom", 1), ("Nom", "Acc", 1)]),
        "Number": (3, [("", "Sing", 1), ("Sing", "Plur", 1)]),
        "Gender": (2, [("", "F", 1), ("M", "", 1)]),
        "part 1": (4, [("VERB", "NOUN", 1)]),
        "Mood": (1, [("Ind", "", 1)]),
    }
    assert found.wrong_parts == {2: 2, 4: 1}


def test_characters_are_compared_where_the_first_agrees():
    gold = [["ncms", "ncms", "vmn", "q", "ncm"]]
    guess = [["ncfs", "vmn", "vmni", "q", "npms"]]
    found = evaluate(gold, guess, parts="").parts
    rows = {part.name: (part.tokens, part.confusions) for part in found.parts}
    assert rows == {
        "character 1": (5, [("n", "v", 1)]),
        "character 3 of n…": (2, [("m", "f", 1)]),
        "character 2 of n…": (2, [("c", "p", 1)]),
        "character 4 of n…": (2, [("", "s", 1)]),
        "character 4 of v…": (1, [("", "i", 1)]),
    }
    assert found.wrong_parts == {1: 3, 2: 1}
    assert found.covered({("character 1", "n", "v"), ("character 2 of n…", "c", "p")}) == 1


def test_brackets_have_parts_1_and_2():
    found = evaluate([["[/N][Nom]", "[/N]", "X"]], [["[/N][Acc]", "[/V]", "[/N]"]], parts="[]").parts
    assert {part.name: part.confusions for part in found.parts} == {
        "part 1": [("/N", "/V", 1), ("X", "/N", 1)],
        "part 2": [("Nom", "Acc", 1)],
    }


def test_labels_that_differ_in_no_part_are_not_covered():
    found = evaluate([["a|b", "a|b|"]], [["a+b", "a|c"]], parts="|+").parts
    assert found.wrong_parts == {0: 1, 1: 1}
    assert found.covered({("part 2", "b", "c")}) == 1


@pytest.mark.parametrize("parts", [5, ["|"], b"|", "\ud800"])
def test_separators_are_strings(parts):
    with pytest.raises(ValueError, match="parts must be None or a string of separators"):
        evaluate([["a|b"]], [["a|c"]], parts=parts)


def test_labels_without_parts():
    assert evaluate([["NN", "VB"]], [["NN", "NN"]]).parts is None
    assert "part of the label" not in evaluate([["NN", "VB"]], [["NN", "NN"]]).table()
    text = evaluate([["NN|B", "VB|O"]], [["NN|B", "NN|O"]], parts="|").table()
    assert "part of the label  accuracy  tokens  wrong" in text
    assert "part 1                50.00       2      1" in text
