"""Ctrl-C at the least convenient moments of a training."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from support.corpora import same_arrays, ten_sentences

import tagwright as tw
from tagwright import _core
from tagwright.learners.interrupts import stops

X10, Y10 = ten_sentences()
WORD = "U:%x[0,0]\nB\n"
RICH = "U0:%x[0,0]\nU1:%x[-1,0]\nUV\nB\n"
PLAIN = tw.AdaGrad(calibration=None)


class Interrupting(list):
    """Sentences that raise KeyboardInterrupt, as Ctrl-C does, once they are read too often."""

    left = 0

    def __len__(self):
        self.left -= 1
        if self.left == 0:
            signal.raise_signal(signal.SIGINT)
        return super().__len__()


def looks_taken(learner, **options):
    """How often a training reads its dev data."""
    dev = Interrupting(X10)
    clone(learner).set_params(**options).fit(X10, Y10, dev=(dev, Y10))
    return -dev.left


def test_an_interrupted_perceptron_keeps_the_last_epoch(tmp_path):
    dev, path = Interrupting(X10), tmp_path / "checkpoint"
    dev.left = looks_taken(tw.Perceptron(WORD), epochs=3) + 1  # in the fourth epoch
    learner = tw.Perceptron(WORD, epochs=10)
    with pytest.warns(UserWarning, match="interrupted in epoch 4; the model is that of epoch 3"):
        learner.fit(X10, Y10, dev=(dev, Y10), checkpoint=path)
    assert len(learner.history_) == 3
    assert same_arrays(learner.model_.arrays, tw.Perceptron(WORD, epochs=3).fit(X10, Y10).model_.arrays)
    # And it can resume from there.
    learner = tw.Perceptron(WORD, epochs=6).fit(X10, Y10, checkpoint=path)
    assert same_arrays(learner.model_.arrays, tw.Perceptron(WORD, epochs=6).fit(X10, Y10).model_.arrays)


@pytest.mark.parametrize(
    ("learner", "called", "each"),
    [
        (tw.CRF(RICH, solver=tw.LBFGS(l2=1e-3, tolerance=0)), "solver__max_iterations", 10),
        (tw.CRF(RICH, solver=PLAIN), "epochs", 1),
    ],
    ids=["lbfgs", "adagrad"],
)
def test_an_interrupted_crf_keeps_what_it_has(learner, called, each):
    dev = Interrupting(X10)
    dev.left = looks_taken(learner, **{called: each}) + 1  # in the second measurement
    interrupted = clone(learner).set_params(**{called: 5 * each})
    with pytest.warns(
        UserWarning,
        match=r"interrupted (after \d+ iterations|in epoch \d+); the model is that of (the last one|epoch \d+)",
    ):
        interrupted.fit(X10, Y10, dev=(dev, Y10))
    done = len(interrupted.history_)
    assert each <= done <= 2 * each
    assert interrupted.model_.facts["epochs_done" if each == 1 else "iterations_done"] == done
    then = clone(learner).set_params(**{called: done}).fit(X10, Y10)
    assert same_arrays(interrupted.model_.arrays, then.model_.arrays)


def test_an_interrupted_calibration_leaves_the_weights_as_they_are():
    learner, dev = tw.CRF(RICH, epochs=2), Interrupting(X10)
    dev.left = looks_taken(learner, epochs=2) - 1
    with pytest.warns(UserWarning, match="interrupted: the model is not calibrated"):
        model = clone(learner).fit(X10, Y10, dev=(dev, Y10)).model_
    plain = clone(learner).set_params(solver=PLAIN).fit(X10, Y10).model_
    assert "temperature" not in model.facts
    assert same_arrays(model.arrays, plain.arrays)


@pytest.mark.parametrize("learner", [tw.Perceptron(WORD), tw.CRF(RICH, solver=PLAIN)], ids=["perceptron", "crf"])
def test_an_interruption_before_the_first_epoch_ends_is_passed_on(learner):
    dev = Interrupting(X10)
    dev.left = looks_taken(learner, epochs=1) - 1
    with pytest.raises(KeyboardInterrupt):
        clone(learner).fit(X10, Y10, dev=(dev, Y10))


class InterruptedWriting(os.PathLike):
    """A file name that presses Ctrl-C when the file is written for the second time."""

    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        if self.path.exists():
            self.press()
        return str(self.path)

    def press(self):
        signal.raise_signal(signal.SIGINT)


class InterruptedDestructor(InterruptedWriting):
    """The same where Python forgets what is raised."""

    def press(self):
        class Last:
            def __del__(self):
                signal.raise_signal(signal.SIGINT)

        Last()


@pytest.mark.parametrize("checkpoint", [InterruptedWriting, InterruptedDestructor])
def test_ctrl_c_between_two_epochs(tmp_path, checkpoint):
    learner = tw.Perceptron(epochs=50)
    try:
        with pytest.warns(UserWarning, match=r"interrupted in epoch \d+; the model is that of epoch \d+"):
            learner.fit(X10, Y10, checkpoint=checkpoint(tmp_path / "c"))
    except KeyboardInterrupt:
        pytest.fail("training was lost")
    epochs = learner.model_.facts["epochs_done"]
    assert 1 <= epochs < 50
    assert same_arrays(learner.model_.arrays, tw.Perceptron(epochs=epochs).fit(X10, Y10).model_.arrays)


def press_ctrl_c_at_the_end():
    with stops() as check:
        check()
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_behind_the_last_check_is_heard():
    with pytest.raises(KeyboardInterrupt):
        press_ctrl_c_at_the_end()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_stop_within_another_is_heard_by_both():
    heard = []

    def outer():
        with stops():
            try:
                with stops() as check:
                    signal.raise_signal(signal.SIGINT)
                    check()
            except KeyboardInterrupt:
                heard.append("inner")
            heard.append("behind it")

    with pytest.raises(KeyboardInterrupt):
        outer()
    assert heard == ["inner", "behind it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_ends_both_directions():
    dev = Interrupting(X10)
    left = tw.MEMM(RICH, patience=5, solver=tw.LBFGS(l2=1e-3, tolerance=0))
    dev.left = looks_taken(left, solver__max_iterations=10) + 1  # in the second measurement of the first model
    both = tw.Bidirectional(left, tw.Perceptron(WORD, patience=1))
    with pytest.warns(UserWarning, match="interrupted after"), pytest.raises(KeyboardInterrupt):
        both.fit(X10, Y10, dev=(dev, Y10))
    assert not hasattr(both, "model_")
    assert dev.left > -looks_taken(tw.Perceptron(WORD, patience=1), epochs=1)  # the second was never begun


def test_ctrl_c_in_the_second_direction_keeps_both():
    dev = Interrupting(X10)
    left, right = tw.Perceptron(WORD, epochs=2, patience=9), tw.Perceptron(WORD, epochs=50, patience=50)
    dev.left = looks_taken(left) + looks_taken(right, epochs=3) + 1  # in the fourth epoch of the second model
    with pytest.warns(UserWarning, match=r"interrupted in epoch 4; the model is that of epoch \d"):
        both = tw.Bidirectional(left, right).fit(X10, Y10, dev=(dev, Y10))
    assert both.model_.right.facts["epochs_done"] <= 3
    assert len(both.predict(X10)) == len(X10)


@pytest.fixture
def ticks():
    """For each of a train of signals, whether it was heard in the middle of native work."""
    heard = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: heard.append(_core.hearing()))
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    yield heard
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["perceptron", "crf", "adagrad", "baum-welch", "memm"])
def test_training_hears_signals_in_the_middle_of_native_work(ticks, name):
    rng = np.random.default_rng(1)
    # So long that some calls of the core take a second or so.
    long = [[f"w{n}" for n in rng.integers(0, 50, 8000)] for _ in range(2)]
    y = [[f"L{n}" for n in rng.integers(0, 250, 8000)] for _ in range(2)]
    fit = {
        "perceptron": lambda: tw.Perceptron(WORD, epochs=1, decoder="viterbi").fit(long, y),
        "crf": lambda: tw.CRF(WORD, solver=tw.LBFGS(max_iterations=1)).fit(long, y),
        "adagrad": lambda: tw.CRF(WORD, solver="adagrad", epochs=1).fit(long, y),
        "baum-welch": lambda: tw.HMM().fit_unlabelled(long, labels=250, iterations=1),
        "memm": lambda: tw.MEMM(WORD, solver=tw.LBFGS(max_iterations=1)).fit(long, y).predict(long),
    }
    fit[name]()
    assert any(ticks)


class PressedError(Exception):
    """What a program of its own raises for Ctrl-C."""


def test_a_program_that_hears_ctrl_c_in_its_own_way():
    def own(number, frame):
        raise PressedError

    before = signal.signal(signal.SIGINT, own)
    try:
        dev = Interrupting(X10)
        dev.left = looks_taken(tw.Perceptron(WORD), epochs=3) + 1
        with pytest.raises(PressedError):
            tw.Perceptron(WORD, epochs=10).fit(X10, Y10, dev=(dev, Y10))
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_signal_that_was_swallowed_before_a_training_ends_it():
    code = """
import contextlib, signal
from tagwright.learners.interrupts import Ending, stops
Ending()
with contextlib.suppress(BaseException):
    signal.raise_signal(signal.SIGTERM)
try:
    with stops():
        print("trained")
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")
