"""Parts of labels: what separates them is found, and learners divide labels in the same way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagwright.label_parts import find_separators, split_labels
from tagwright.learners.labels import label_parts

PENN = (
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH VB VBD VBG VBN VBP VBZ"
)
PENN += " WDT WP WP$ WRB # $ '' `` , . : -LRB- -RRB- HYPH NFP ADD AFX"
CHUNKS = ["NP", "VP", "PP", "ADVP", "SBAR"]
JOINT = [f"{tag}|{prefix}-{chunk}" for tag in PENN.split()[:9] for prefix in "BI" for chunk in CHUNKS]
NOUNS = [f"n{a}{b}{c}{d}{e}" for a in "cp" for b in "mf" for c in "sp" for d in "ngdal" for e in "1456"]
FEATURES = [
    f"Case={case}|Gender={gender}|Number={number}" for case in "NGDAL" for gender in "MF" for number in ("Sing", "Plur")
]
BRACKETS = [f"[/{kind}][{case}]" for kind in "NAV" for case in ("Nom", "Acc", "Dat", "Subl")]
BIO = ["O", *(f"{prefix}-{kind}" for prefix in "BI" for kind in CHUNKS)]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (PENN.split(), None),
        (BIO, None),  # evaluations have spans of their own
        (JOINT, "|"),
        (FEATURES, "|"),
        ([*FEATURES, "_"], "|"),
        ([label.replace("|", ";") for label in JOINT], ";"),
        ([label.replace("|", "+") for label in JOINT], "+"),
        ([f"{intent}:{label}" for intent in ("play", "book", "rate") for label in BIO], ":"),
        (BRACKETS, "[]"),
        (NOUNS, ""),
        ([*NOUNS, "zs", "zc", "q", "cc"], ""),
        (["a|b", "c", "d", "e"], None),  # nothing in common
        (["a", "b"], None),
        (["x"], None),
        ([], None),
        ([f"word{n:03}" for n in range(1000)], ""),
        ([f"a label of {n} and {m} which is long and is of words" for n in range(30) for m in range(30)], None),
    ],
)
def test_separators_are_found(labels, expected):
    assert find_separators(labels) == expected
    assert find_separators([*labels, *labels]) == expected


def test_labels_are_divided():
    assert split_labels(["NN|B-NP", "a|b|c", "x"], "|") == [["NN", "B-NP"], ["a", "b", "c"], ["x"]]
    assert split_labels(["a+b|c"], "|+") == [["a", "b", "c"]]
    assert split_labels(["[a][b]"], "[]") == [["", "a", "", "b", ""]]
    assert split_labels(["ncm", ""], "") == [["n", "c", "m"], []]


@given(st.lists(st.text("ab|+]^-\\", max_size=5), min_size=1, unique=True), st.sampled_from(["|", "|+", "", "]^-\\"]))
def test_learners_number_the_same_parts(labels, separators):
    numbers, count = label_parts(labels, separators)
    split = split_labels(labels, separators)
    each = max(map(len, split))
    assert len(numbers) == each * len(labels)
    named = {}
    for k in range(each):
        for y, parts in enumerate(split):
            own = (k, parts[k] if k < len(parts) else "")
            assert named.setdefault(own, numbers[k * len(labels) + y]) == numbers[k * len(labels) + y]
    assert len({*named.values()}) == len(named) == count
