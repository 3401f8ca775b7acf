"""Intervals and paired tests, beside SciPy, binomial distributions, enumeration and plain loops."""

import itertools
import json
import math

import numpy as np
import pytest
from scipy import stats

import tagwright as tw
from tagwright.evaluation.comparison import TokenCounts
from tagwright.evaluation.resampling import (
    RESAMPLES,
    SEED,
    TRIALS,
    SentenceCounts,
    intervals,
    paired_tests,
)


def drawn(seed, sentences, share, longest=20):
    """Gold labels and predicted ones, of which this share is right."""
    rng = np.random.default_rng(seed)
    gold = [rng.choice(["B-X", "I-X", "B-Y", "O"], rng.integers(1, longest)).tolist() for _ in range(sentences)]
    hard = rng.beta(2, 2, sentences) * 2 * (1 - share)  # errors are not independent: some sentences are harder
    guess = [
        [label if rng.random() > h else str(rng.choice(["B-X", "I-X", "B-Y", "O"])) for label in labels]
        for labels, h in zip(gold, hard, strict=True)
    ]
    return gold, guess


def of_sentences(right):
    """Counts in which a sentence is right or wrong as a whole."""
    hits = np.array(right, np.int64)[:, None]
    return SentenceCounts(("accuracy",), hits, np.ones_like(hits))


# --- intervals ---


def test_resamples_are_those_of_plain_loops():
    gold, guess = drawn(0, 37, 0.8)
    found = tw.evaluate(gold, guess)
    S = len(gold)
    raw = iter(np.random.PCG64(SEED).random_raw(RESAMPLES * S).tolist())
    values = []
    for _ in range(RESAMPLES):
        sample = [(next(raw) >> 32) * S >> 32 for _ in range(S)]
        right = sum(a == b for s in sample for a, b in zip(gold[s], guess[s], strict=True))
        values.append(right / sum(len(gold[s]) for s in sample))
    expected = np.quantile(values, [0.025, 0.975])
    assert found.intervals["token_accuracy"] == pytest.approx(expected, abs=1e-15)


def test_an_interval_of_sentences_is_that_of_a_binomial_distribution():
    """Drawing n of n sentences, of which a share p is right, gives a binomial number of right ones."""
    low, high = intervals(of_sentences([1] * 300 + [0] * 100))["accuracy"]
    assert [400 * low, 400 * high] == pytest.approx(stats.binom.ppf([0.025, 0.975], 400, 0.75), abs=3)


@pytest.mark.parametrize("key", ["token_accuracy", "span_precision", "span_recall", "span_f1", "sentence_accuracy"])
def test_intervals_are_those_of_scipy(key):
    gold, guess = drawn(3, 400, 0.9)
    found = tw.evaluate(gold, guess)
    at = found.counts.names.index(key)
    columns = found.counts.hits[:, at], found.counts.totals[:, at]
    share = lambda hits, totals, axis: hits.sum(axis) / totals.sum(axis)  # noqa: E731
    other = stats.bootstrap(
        columns,
        share,
        method="percentile",
        paired=True,
        n_resamples=9999,
        vectorized=True,
        rng=np.random.default_rng(1),
    ).confidence_interval
    low, high = found.intervals[key]
    width = other.high - other.low
    assert (low, high) == pytest.approx((other.low, other.high), abs=0.12 * width)


def test_intervals_cover_the_truth():
    """Of many corpora, 95 % have an interval with the true accuracy, though errors come in bunches."""
    covered, true = 0, 0.8 + 0.2 / 4  # a wrong draw is right by chance in one of four cases
    for seed in range(1000, 1200):
        low, high = tw.evaluate(*drawn(seed, 60, 0.8)).intervals["token_accuracy"]
        covered += low <= true <= high
    assert 180 <= covered <= 198


def test_known_and_unknown_words_have_intervals_and_means_of_labels_have_none():
    gold, guess = drawn(1, 30, 0.7)
    known = [[t % 2 == 0 for t in range(len(labels))] for labels in gold]
    shares = [[0.5] * len(labels) for labels in gold]
    found = tw.evaluate(gold, guess, known, shares)
    for own in found.figures:
        if own.key in ("macro_f1", "span_macro_f1", "calibration"):
            assert own.key not in found.intervals
        else:
            low, high = found.intervals[own.key]
            assert low <= own.value <= high
            at = found.counts.names.index(own.key)
            assert own.value == pytest.approx(
                found.counts.hits[:, at].sum() / found.counts.totals[:, at].sum(), abs=1e-15
            )
    always = tw.evaluate(gold, guess, [[True] * len(labels) for labels in gold])
    assert "known" in always.intervals
    assert "unknown" not in always.intervals
    assert "95 % interval" in found.table()


def test_few_sentences_have_no_interval():
    gold, guess = drawn(2, 9, 0.8)
    assert tw.evaluate(gold, guess).intervals == {}
    assert "interval" not in tw.evaluate(gold, guess).table()
    assert tw.evaluate([*gold, ["O"]], [*guess, ["O"]]).intervals
    assert tw.evaluate([*gold, []], [*guess, []]).intervals == {}  # an empty sentence is none


def test_of_very_many_sentences_runs_are_drawn():
    right = np.random.default_rng(0).permutation([1, 1, 1, 0] * 300_000)
    many = of_sentences(right)
    assert len(many.units) == 1 << 14
    assert many.units.sum(axis=0).tolist() == [900_000, 1_200_000]
    low, high = intervals(many)["accuracy"]
    error = 1.96 * math.sqrt(0.75 * 0.25 / len(many.hits))
    assert (low, high) == pytest.approx((0.75 - error, 0.75 + error), abs=error / 5)


# --- paired tests ---


@pytest.mark.parametrize(("only_first", "only_second"), [(3, 12), (10, 11), (0, 6), (40, 70), (1, 0)])
def test_whole_sentences_are_tested_as_by_mcnemar(only_first, only_second):
    one = of_sentences([1] * 50 + [0] * 20 + [1] * only_first + [0] * only_second)
    two = of_sentences([1] * 50 + [0] * 20 + [0] * only_first + [1] * only_second)
    exact = stats.binomtest(only_second, only_first + only_second).pvalue
    p = paired_tests(one, two)["accuracy"].p
    assert p == pytest.approx(exact, abs=4 * math.sqrt(max(exact * (1 - exact), 1e-4) / TRIALS) + 1 / TRIALS)


@pytest.mark.parametrize("seed", range(4))
def test_every_figure_is_tested_as_by_all_swaps(seed):
    gold, first = drawn(seed, 8, 0.6)
    second = drawn(seed, 8, 0.9)[1]
    both = tw.evaluate(gold, first), tw.evaluate(gold, second)
    tests = {own.key: own for own in both[0].compare(both[1]).differences}
    observed = {own.key: abs(own.difference) for own in tests.values() if own.p is not None}
    at_least = dict.fromkeys(observed, 0)
    for swaps in itertools.product([False, True], repeat=len(gold)):
        one = [b if swap else a for a, b, swap in zip(first, second, swaps, strict=True)]
        two = [a if swap else b for a, b, swap in zip(first, second, swaps, strict=True)]
        values = [{own.key: own.value for own in tw.evaluate(gold, own).figures} for own in (one, two)]
        for key, own in observed.items():
            at_least[key] += abs(values[1][key] - values[0][key]) >= own - 1e-12
    assert set(observed) == {"sentence_accuracy", "token_accuracy", "span_precision", "span_recall", "span_f1"}
    for key, count in at_least.items():
        exact = count / 2 ** len(gold)
        assert tests[key].p == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / TRIALS) + 2 / TRIALS)


def test_equal_models_and_swapped_models():
    gold, first = drawn(5, 50, 0.7)
    second = drawn(5, 50, 0.8)[1]
    one, two = tw.evaluate(gold, first), tw.evaluate(gold, second)
    for own in one.compare(one).differences:
        assert own.difference == 0
        assert own.p in (1.0, None)
        assert own.interval in ((0.0, 0.0), None)
    for own, other in zip(one.compare(two).differences, two.compare(one).differences, strict=True):
        assert (own.difference, own.p) == (-other.difference, other.p)
        if own.interval:
            assert own.interval == pytest.approx([-end for end in other.interval[::-1]], abs=1e-12)
            assert own.interval[0] <= own.difference <= own.interval[1]


def test_p_is_uniform_where_models_are_equally_good():
    small = 0
    for seed in range(100):
        gold, first = drawn(2 * seed, 40, 0.8)
        rng = np.random.default_rng(seed)
        # The same errors, each given to one of the two at random, sentence by sentence.
        pairs = [(a, b) if rng.random() < 0.5 else (b, a) for a, b in zip(gold, first, strict=True)]
        one, two = ([pair[n] for pair in pairs] for n in (0, 1))
        [own] = [
            row
            for row in tw.evaluate(gold, one).compare(tw.evaluate(gold, two)).differences
            if row.key == "token_accuracy"
        ]
        small += own.p < 0.1
    assert 3 <= small <= 18


def test_tokens_that_both_have_right():
    gold = [["A", "B", "C", "D"]] * 10
    one, two = tw.evaluate(gold, [["A", "B", "x", "x"]] * 10), tw.evaluate(gold, [["A", "x", "C", "x"]] * 10)
    found = one.compare(two)
    assert found.tokens == TokenCounts(10, 10, 10, 10)
    plain = found.as_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["tokens"]["only_second"] == 10
    assert plain["differences"]["token_accuracy"]["difference"] == 0.0
    assert "token accuracy" in found._repr_html_()


def test_the_table_of_a_comparison():
    gold = [["A", "B"]] * 20
    found = tw.evaluate(gold, [["A", "x"]] * 20).compare(tw.evaluate(gold, gold))
    assert found.table(["old", "new"]).splitlines()[2:4] == [
        "sentence accuracy         20   0.00  100.00     +100.00  +100.00 +100.00  0.0001",
        "token accuracy            40  50.00  100.00      +50.00    +50.00 +50.00  0.0001",
    ]


def test_other_sentences_are_refused():
    one = tw.evaluate([["A", "B"], ["A"]], [["A", "B"], ["A"]])
    with pytest.raises(ValueError, match="not of the same sentences: 2 with 3 tokens and 1 with 3"):
        one.compare(tw.evaluate([["A", "B", "A"]], [["A", "B", "A"]]))
    with pytest.raises(ValueError, match="not of the same sentences"):
        one.compare(tw.evaluate([["A"], ["A", "B"]], [["A"], ["A", "B"]]))
