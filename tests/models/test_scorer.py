"""Node scores: the same bits whatever was scored before, in the order that cpp/model/scorer.h promises."""

import numpy as np
import pytest

import tagwright as tw
from tagwright import _core

TEMPLATES = """
U00:%x[-2,0]
U01:%x[0,0]
U02:%shape[0,0]
U03:%suffix[0,0,2]/%x[0,1]
U04:%x[1,1]
U05:%x[-1,0]/%x[0,0]
U06:%capital[0,0]
U07:const
U08:%in[0,0,l]
U09:%x[2,0]
B
B01:%x[0,0]
"""
FORMS = {"U02", "U06", "U07"}
"""Templates of the form of a token, and those that look at nothing, come first."""
ALONE = {"U01", "U03"}


def words(rng, sentences, distinct):
    """Sentences of words and of a second column, some long, some with cells that join to the same text."""
    pool = [f"{'Wx'[n % 2]}o{n}" for n in range(distinct)] + ["w" * 60, "é" * 40, "", "ab", "a"]
    second = ["N", "V", "b", ""]
    return [
        [[pool[rng.integers(len(pool))], second[rng.integers(len(second))]] for _ in range(rng.integers(0, 90))]
        for _ in range(sentences)
    ]


def trained(X, labels, parts=None):
    y = [[f"{labels[(len(word) + 3 * len(tag)) % len(labels)]}" for word, tag in rows] for rows in X]
    return (
        tw.Perceptron(tw.Features(TEMPLATES, {"l": ["wo1 wo2", "xo3"]}), epochs=2, parts=parts)
        .fit([x for x in X if x], [own for own in y if own])
        .model_
    )


def order_of(feature):
    name = feature[:3]
    return 0 if name in FORMS else 1 if name in ALONE else 2


def reference(model, rows):
    """Sum the rows of all features in float32, one after the other."""
    L, text = len(model.labels), model.text([rows])
    ends = model.arrays["rows.end"].astype(np.int64)
    index = tuple(model.arrays[f"names.{part}"] for part in ("slots", "ends", "bytes"))
    parts = model.arrays.get("parts")
    keys = L + (0 if parts is None else int(parts.max()) + 1)
    made = []
    for features, _ in model.features.core.expand(text, 0):
        scores = np.zeros(keys, np.float32)
        for feature in sorted(features, key=order_of):
            row = _core.index_find(index, feature)
            if row >= 0:
                at = slice(ends[row - 1] if row else 0, ends[row])
                scores[model.arrays["rows.label"][at]] += model.arrays["rows.weight"][at]
        for part in [] if parts is None else parts.reshape(-1, L):
            scores[:L] += scores[L:][part]
        made.append(scores[:L])
    return np.array(made, np.float32).reshape(len(rows), L)


@pytest.mark.parametrize(("labels", "parts"), [(3, None), (9, None), (70, None), (700, None), (20, "|")])
def test_scores_are_sums_in_the_promised_order_whatever_was_scored_before(labels, parts):
    rng = np.random.default_rng(labels)
    names = [f"{n % 4}|{n}" if parts else f"L{n}" for n in range(labels)]
    model = trained(words(rng, 40, 200), names, parts)
    # A thousand distinct tokens do not fit where a sum is large; the second time some are there and some are not.
    X = words(rng, 12, 1000)
    for _ in range(2):
        for rows in X:
            assert np.array_equal(model.lattice(rows).nodes, reference(model, rows))


def test_cells_that_join_to_the_same_text_are_different_tokens():
    rng = np.random.default_rng(1)
    model = trained(words(rng, 30, 20), ["A", "B", "C"])
    one, other = [["ab", "N"]], [["a", "bN"]]
    for rows in (one, other, one):
        assert np.array_equal(model.lattice(rows).nodes, reference(model, rows))


def test_threads_and_other_sentences_change_nothing():
    rng = np.random.default_rng(2)
    X = words(rng, 60, 300)
    model = trained(X, [f"L{n}" for n in range(600)])
    alone = [found[0].labels for found in (model.tag_kbest([rows], 1)[0] for rows in X)]
    assert model.tag_batch(X) == alone
    assert model.tag_batch(X, threads=3) == alone
    again = tw.Model(model.labels, model.features, model.arrays, model.facts)
    assert again.tag_batch(X[::-1], threads=2)[::-1] == alone
