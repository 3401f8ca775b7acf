"""What a training logs while it works: lines in the log, bars, and a warning where it did not converge."""

import logging
import re
import sys
import warnings
from functools import partial

import pytest
from sklearn.exceptions import ConvergenceWarning
from support.corpora import ten_sentences
from support.flat import crf, memm

import tagwright as tw

X10, Y10 = ten_sentences()
TOKENS = sum(map(len, X10))


def lines(caplog, level=logging.INFO):
    """What was logged at a level, and only by the package's own logger."""
    assert {record.name for record in caplog.records} <= {"tagwright"}
    return [record.getMessage() for record in caplog.records if record.levelno >= level]


def numbers(line):
    """The number, the values by name, and the rate of a line."""
    found = re.fullmatch(r"(?:epoch|iteration) +(\d+)(?:/(\d+))?  (.*?) +([0-9.]+) s +([0-9,]+) tokens/s(.*)", line)
    assert found, line
    values = dict(re.findall(r"([a-z-]+) +([0-9.,e+-]+)", found[3] + found[6]))
    return int(found[1]), values, int(found[5].replace(",", ""))


@pytest.mark.parametrize(
    ("learner", "name"),
    [(tw.Perceptron(epochs=12), "error"), (tw.CRF(solver="adagrad", epochs=12), "objective")],
    ids=["perceptron", "adagrad"],
)
def test_a_line_per_epoch(caplog, learner, name):
    with caplog.at_level(logging.INFO, logger="tagwright"):
        learner.fit(X10, Y10, dev=(X10, Y10))
    said = lines(caplog)
    assert len({line.index(" s ") for line in said}) == 1  # aligned
    for n, (line, fact) in enumerate(zip(said, learner.history_, strict=True), 1):
        assert line.startswith(f"epoch {n:>2}/12  ")
        number, values, rate = numbers(line)
        assert number == n
        scale = 100 if name == "error" else 1
        assert float(values[name].replace(",", "")) == pytest.approx(scale * fact[name], abs=0.051)
        assert float(values["dev"]) == pytest.approx(100 * fact["dev"], abs=0.0051)
        assert rate == pytest.approx(TOKENS / fact["seconds"], rel=1e-3, abs=1)


@pytest.mark.parametrize("make", [crf, memm])
def test_a_line_per_ten_iterations_or_per_iteration(caplog, make):
    with caplog.at_level(logging.INFO, logger="tagwright"):
        learner = make(tolerance=1e-9).fit(X10, Y10)
    *said, last = lines(caplog)
    done = len(learner.history_)
    assert done > 20
    assert [numbers(line)[0] for line in said] == list(range(10, done + 1, 10))
    assert last.startswith(f"converged after {done} iterations: objective {learner.objective_:,.1f}")

    caplog.clear()
    with caplog.at_level(logging.DEBUG, logger="tagwright"):
        learner = make(tolerance=1e-9).fit(X10, Y10)
    indexing, indexed, *said, last = lines(caplog, logging.DEBUG)
    assert indexing == f"indexing the features of 10 sentences, {TOKENS} tokens, {len(learner.model_.labels)} labels"
    assert re.fullmatch(r"indexed in [0-9.]+ s: [0-9,]+ weights", indexed)
    assert [numbers(line)[0] for line in said] == list(range(1, done + 1))


def test_iterations_on_a_share_of_the_corpus_are_logged_separately(caplog):
    with caplog.at_level(logging.DEBUG, logger="tagwright"):
        learner = tw.CRF(solver=tw.LBFGS(start_on=0.5)).fit(X10, Y10)
    said = lines(caplog, logging.DEBUG)
    assert sum(line.startswith("on 5 sentences: objective ") for line in said) >= 1
    assert sum(line.startswith("iteration ") for line in said) == len(learner.history_)


def test_two_directions_are_named_in_the_log(caplog):
    with caplog.at_level(logging.INFO, logger="tagwright"):
        tw.Bidirectional(left=tw.MEMM(solver=tw.LBFGS(tolerance=1e-6)), right=tw.Perceptron(epochs=2)).fit(X10, Y10)
    said = lines(caplog)
    assert [line for line in said if line.startswith("right: ")] == said[-2:]
    assert all(line.startswith(("left: iteration ", "left: converged after ")) for line in said[:-2])
    assert len(said) > 3


def test_an_hmm_without_labels(caplog):
    with caplog.at_level(logging.INFO, logger="tagwright"):
        learner = tw.HMM().fit_unlabelled(X10, 3, iterations=4, tolerance=0)
    said = [numbers(line) for line in lines(caplog)]
    assert [number for number, _, _ in said] == [1, 2, 3, 4]
    found = [float(values["log-likelihood"].replace(",", "")) for _, values, _ in said]
    assert found == pytest.approx([fact["log_likelihood"] for fact in learner.history_], abs=0.051)
    assert learner.model_.history == learner.history_


def test_a_resumed_training_continues_to_count(caplog, tmp_path):
    tw.Perceptron(epochs=3).fit(X10, Y10, checkpoint=tmp_path / "c")
    with caplog.at_level(logging.INFO, logger="tagwright"):
        tw.Perceptron(epochs=5).fit(X10, Y10, checkpoint=tmp_path / "c")
    assert [numbers(line)[0] for line in lines(caplog)] == [4, 5]


def test_nothing_is_shown_by_default(capfd):
    for learner in (
        tw.Perceptron(epochs=2),
        tw.CRF(solver=tw.LBFGS(max_iterations=12)),
        tw.CRF(solver="adagrad", epochs=2),
    ):
        learner.fit(X10, Y10)
    tw.HMM().fit_unlabelled(X10, 2, iterations=2)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("learner", [tw.Perceptron(epochs=3), tw.CRF(solver="adagrad", epochs=3)], ids=repr)
def test_lines_do_not_run_into_bars(capsys, learner):
    handler = logging.StreamHandler(sys.stderr)
    log = logging.getLogger("tagwright")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        learner.fit(X10, Y10, progress=True)
    finally:
        log.removeHandler(handler)
        log.setLevel(logging.NOTSET)
    shown = capsys.readouterr().err
    assert "100%" in shown
    said = [piece for piece in re.split(r"[\r\n]+", shown) if piece.endswith("tokens/s")]
    assert [numbers(line)[0] for line in said] == [1, 2, 3]


# Convergence


def warned(learner):
    """The warnings of a training."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        learner.fit(X10, Y10)
    return [(warning.category, str(warning.message), warning.filename) for warning in found]


@pytest.mark.parametrize("make", [partial(crf, solver="lbfgs"), memm], ids=["CRF", "MEMM"])
def test_a_training_that_did_not_converge_warns(make):
    whole = make()
    assert warned(whole) == []
    done = len(whole.history_)
    ((category, message, file),) = warned(make(max_iterations=done - 1))
    assert (category, file) == (ConvergenceWarning, __file__)
    name = type(whole).__name__
    assert message.startswith(f"{name}: stopped after {done - 1} iterations, before it converged; raise max_iterations")
    # The last iteration that is allowed may be the one that it converges in.
    assert warned(make(max_iterations=done)) == []


def test_a_training_that_patience_ends_does_not_warn():
    learner = tw.CRF(patience=1, solver=tw.LBFGS(tolerance=0, max_iterations=1000))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.fit(X10, Y10, dev=(X10, Y10))
    assert len(learner.history_) < 1000


def test_each_of_two_directions_warns():
    sides = {
        "left": tw.MEMM(solver=tw.LBFGS(max_iterations=2)),
        "right": tw.MEMM(direction="left", solver=tw.LBFGS(max_iterations=3)),
    }
    left, right = (message for _, message, _ in warned(tw.Bidirectional(**sides)))
    assert left.startswith("left: stopped after 2 iterations")
    assert right.startswith("right: stopped after 3 iterations")
