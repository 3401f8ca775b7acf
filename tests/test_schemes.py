"""Label schemes: legal labellings are those that spans can be written as, and their spans are found again."""

import itertools
import random

import numpy as np
import pytest

from tagwright.schemes import PREFIXES, SCHEMES, SpanLabels, find_spans, scheme_of, span_labels, split_label

KINDS = ["X", "Y"]


def written(spans, T, name):
    """Write spans (first, last, type) of T tokens as labels; the definition of each scheme, in words of its own."""
    labels = ["O"] * T
    first_prefix, inner, last_prefix, single = {
        "IO": "IIII", "BIO": "BIIB", "IOB1": "IIII", "IOBES": "BIES", "BILOU": "BILU", "BMES": "BMES",
    }[name]  # fmt: skip
    before = None
    for first, last, kind in spans:
        prefixes = [single] if first == last else [first_prefix, *inner * (last - first - 1), last_prefix]
        if name == "IOB1" and before == (first - 1, kind):
            prefixes[0] = "B"
        labels[first : last + 1] = [f"{prefix}-{kind}" for prefix in prefixes]
        before = (last, kind)
    return labels


def segmentations(T, begin=0):
    """All sets of spans over T tokens, each with a type."""
    if begin >= T:
        yield []
        return
    for rest in segmentations(T, begin + 1):
        yield rest
    for last in range(begin, T):
        for kind in KINDS:
            for rest in segmentations(T, last + 1):
                yield [(begin, last, kind), *rest]


def rules(name):
    scheme = SCHEMES[name]
    labels = ["O", *(f"{prefix}-{kind}" for kind in KINDS for prefix in sorted(scheme.prefixes - {"O"}))]
    return labels, SpanLabels.of([split_label(label) for label in labels], scheme)


@pytest.mark.parametrize("T", [1, 2, 3, 4])
@pytest.mark.parametrize("name", SCHEMES)
def test_legal_labellings_are_those_that_spans_are_written_as(name, T):
    labels, may = rules(name)
    legal = {
        tuple(labels[y] for y in path)
        for path in itertools.product(range(len(labels)), repeat=T)
        if may.start[path[0]]
        and may.stop[path[-1]]
        and all(itertools.starmap(may.may_follow, itertools.pairwise(path)))
    }
    assert legal == {tuple(written(spans, T, name)) for spans in segmentations(T)}


@pytest.mark.parametrize("name", ["BIO", "IOBES"])
def test_spans_are_found_again(name):
    everything = [(spans, T) for T in range(1, 6) for spans in segmentations(T)]
    for spans, T in random.Random(3).sample(everything, 400):
        parts = [split_label(label) for label in [*written(spans, T, name), "O"]]
        kinds = np.array([0 if kind == "" else 1 + KINDS.index(kind) for _, kind in parts])
        closes, first = find_spans(np.array([PREFIXES.index(prefix) for prefix, _ in parts]), kinds)
        found = [(first[t], t, KINDS[kinds[t] - 1]) for t in np.flatnonzero(closes)]
        assert found == spans


def test_schemes_are_recognised_by_their_prefixes():
    found = {prefixes: scheme_of(prefixes) for prefixes in ("I", "OI", "BI", "OB", "BE", "S", "BL", "U", "M", "BMES")}
    assert found == {
        "I": "IO", "OI": "IO", "BI": "BIO", "OB": "BIO", "BE": "IOBES", "S": "IOBES", "BL": "BILOU", "U": "BILOU",
        "M": "BMES", "BMES": "BMES",
    }  # fmt: skip
    assert scheme_of("BIM") is None


@pytest.mark.parametrize(
    ("label", "parts"),
    [
        ("O", ("O", "")),
        ("B", ("B", "")),
        ("B-NP", ("B", "NP")),
        ("I-A-B", ("I", "A-B")),
        ("NN", None),
        ("NN-X", None),
        ("-X", None),
        ("", None),
        ("X-NP", None),
    ],
)
def test_a_label_is_split(label, parts):
    assert split_label(label) == parts


def test_spans_may_end_anywhere_where_no_label_ends_them():
    labels = ["O", "B-X", "I-X", "S-X"]
    may = span_labels(labels)
    assert may.stop.all()
    pairs = {(a, b) for a, b in itertools.product(labels, repeat=2) if may.may_follow(labels.index(a), labels.index(b))}
    assert pairs == {(a, b) for a in labels for b in ("O", "B-X", "S-X")} | {("B-X", "I-X"), ("I-X", "I-X")}


def test_thousands_of_labels():
    labels = ["O", *(f"{prefix}-{kind}" for kind in range(1000) for prefix in "BI")]
    may, every = span_labels(labels), np.arange(len(labels))
    follows = may.may_follow(every[:, None], every)
    # O and every B behind anything; every I behind the B and the I of its type.
    assert follows.sum() == len(labels) * 1001 + 1000 * 2
    assert follows[labels.index("B-7"), labels.index("I-7")]
    assert not follows[labels.index("B-7"), labels.index("I-8")]
