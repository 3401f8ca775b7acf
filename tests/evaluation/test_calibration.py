"""The calibration, beside plain loops over the tokens."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tagwright as tw
from tagwright.evaluation.calibration import calibrate


def by_hand(shares, right):
    """(low, high, tokens, mean, accuracy) of each bin (low, high] with a token, and the error."""
    rows, error = [], 0.0
    for n in range(10):
        mine = [(p, r) for p, r in zip(shares, right, strict=True) if n / 10 < p <= (n + 1) / 10 or n == p == 0]
        if mine:
            mean, accuracy = (sum(values) / len(mine) for values in zip(*mine, strict=True))
            rows.append((n / 10, (n + 1) / 10, len(mine), mean, accuracy))
            error += len(mine) / len(shares) * abs(mean - accuracy)
    return rows, error


@given(st.lists(st.tuples(st.floats(0, 1) | st.sampled_from([n / 10 for n in range(11)]), st.booleans()), min_size=1))
def test_bins_and_error_are_those_of_plain_loops(tokens):
    shares, right = zip(*tokens, strict=True)
    found = calibrate(np.array(shares), np.array(right))
    rows, error = by_hand(shares, right)
    assert [(own.low, own.high, own.tokens) for own in found.bins] == [row[:3] for row in rows]
    for own, row in zip(found.bins, rows, strict=True):
        assert (own.probability, own.accuracy) == pytest.approx(row[3:])
    assert found.error == pytest.approx(error)


def test_perfect_and_worst_probabilities():
    assert calibrate(np.ones(3), np.ones(3, bool)).error == 0
    assert calibrate(np.ones(3), np.zeros(3, bool)).error == 1
    assert calibrate(np.full(4, 0.75), np.array([True, True, True, False])).error == 0


@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan, math.inf])
def test_what_is_no_probability_is_refused(share):
    with pytest.raises(ValueError, match="from 0 to 1"):
        calibrate(np.array([0.5, share]), np.array([True, False]))


def test_evaluate_takes_probabilities():
    gold, guess = [["A", "B"], ["A"]], [["A", "A"], ["A"]]
    found = tw.evaluate(gold, guess, probabilities=[[0.95, 0.65], [0.55]])
    assert [(own.low, own.tokens, own.accuracy) for own in found.calibration.bins] == [
        (0.5, 1, 1.0),
        (0.6, 1, 0.0),
        (0.9, 1, 1.0),
    ]
    assert found.calibration.error == pytest.approx((0.45 + 0.65 + 0.05) / 3)
    assert found.as_dict()["calibration"]["bins"][1]["probability"] == pytest.approx(0.65)
    assert "0.6 - 0.7         1  65.00    0.00" in found.table()
    assert tw.evaluate(gold, guess).calibration is None
    with pytest.raises(ValueError, match=r"sentence 1 has 1 gold labels but 2 probabilities"):
        tw.evaluate(gold, guess, probabilities=[[0.5, 0.5], [0.5, 0.5]])
