"""Curves of a training: the points are those of the history that the model keeps."""

import pytest
from support.corpora import ten_sentences

import tagwright as tw
from tagwright.models.model import Model
from tagwright.reports.charts import rounded, short, ticks
from tagwright.reports.curves import curves_of


@pytest.fixture(scope="module")
def model():
    X, y = ten_sentences()
    return tw.Perceptron(epochs=4).fit(X, y, dev=(X[:3], y[:3])).model_


def with_history(model: Model, history):
    return type(model)(model.labels, model.features, model.arrays, {**model.facts, "history": history})


def test_curves_are_those_of_the_history(model):
    found = {curve.key: curve for curve in curves_of(model)}
    assert found["error"].points == [(n, 100 * fact["error"]) for n, fact in enumerate(model.history, 1)]
    assert (found["error"].name, found["error"].unit) == ("training error, %", "epoch")


def test_both_sides_have_curves():
    X, y = ten_sentences()
    sides = [tw.MEMM(direction=way, solver=tw.LBFGS(max_iterations=3)) for way in ("right", "left")]
    model = tw.Bidirectional(*sides).fit(X, y).model_
    assert [(curve.side, curve.name, curve.unit) for curve in curves_of(model)] == [
        ("left", "objective", "iteration"),
        ("right", "objective", "iteration"),
    ]


def test_what_does_not_change_or_cannot_be_drawn_is_left_out(model):
    history = [{"error": 0.5, "kept": 7.0, "objective": 1e308}, {"error": 0.5, "kept": 7.0, "objective": -1e308}]
    assert curves_of(with_history(model, history)) == []
    assert curves_of(with_history(model, "nonsense")) == []


def test_long_histories_are_thinned(model):
    points = curves_of(with_history(model, [{"objective": float(n)} for n in range(1, 12_346)]))[0].points
    assert len(points) <= 501
    assert points[0] == (1, 1.0)
    assert points[-1] == (12_345, 12_345.0)
    assert all(n == value for n, value in points)


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [(0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (1, 4, [1, 2, 3, 4]), (-3, 17, [0, 5, 10, 15]), (2, 2, [2]), (0, 1e9, None)],
)
def test_ticks_are_round_and_few(low, high, wanted):
    found = ticks(low, high)
    assert 1 <= len(found) <= 6
    assert all(low <= tick <= high for tick in found)
    if wanted:
        assert found == pytest.approx(wanted)


def test_numbers_are_short():
    assert [short(n) for n in (7, 999, 1000, 1949, 12_345, 999_999, 1_500_000)] == [
        "7", "999", "1.0k", "1.9k", "12k", "999k", "1.5M",
    ]  # fmt: skip
    assert [rounded(x) for x in (0.25, 9999.0, 20_000.0, 1e12)] == ["0.25", "9999", "20k", "1e+12"]
