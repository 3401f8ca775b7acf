"""Ctrl-C at the least convenient moments of a training."""

import os
import signal

import pytest
from sklearn.base import clone
from support.corpora import same_arrays, ten_sentences

import tagwright as tw
from tagwright.learners.interrupts import stops

X10, Y10 = ten_sentences()
WORD = "U:%x[0,0]\nB\n"
RICH = "U0:%x[0,0]\nU1:%x[-1,0]\nUV\nB\n"


class Interrupting(list):
    """Sentences that are looked at once too often: then it is as if Ctrl-C were pressed."""

    left = 0

    def __len__(self):
        self.left -= 1
        if self.left == 0:
            signal.raise_signal(signal.SIGINT)
        return super().__len__()


def looks_taken(learner, **options):
    """How often a training looks at its dev data."""
    dev = Interrupting(X10)
    clone(learner).set_params(**options).fit(X10, Y10, dev=(dev, Y10))
    return -dev.left


def test_an_interrupted_perceptron_keeps_the_last_epoch(tmp_path):
    dev, path = Interrupting(X10), tmp_path / "checkpoint"
    dev.left = looks_taken(tw.Perceptron(WORD), epochs=3) + 1  # in the fourth epoch
    learner = tw.Perceptron(WORD, epochs=10, checkpoint=path)
    with pytest.warns(UserWarning, match="interrupted in epoch 4; the model is that of epoch 3"):
        learner.fit(X10, Y10, dev=(dev, Y10))
    assert len(learner.history_) == 3
    assert same_arrays(learner.model_.arrays, tw.Perceptron(WORD, epochs=3).fit(X10, Y10).model_.arrays)
    # And it can go on from there.
    learner = tw.Perceptron(WORD, epochs=6, checkpoint=path).fit(X10, Y10)
    assert same_arrays(learner.model_.arrays, tw.Perceptron(WORD, epochs=6).fit(X10, Y10).model_.arrays)


@pytest.mark.parametrize(
    ("learner", "called", "each"),
    [
        (tw.CRF(RICH, l2=1e-3, tolerance=0), "max_iterations", 10),
        (tw.CRF(RICH, solver="adagrad"), "epochs", 1),
    ],
    ids=["lbfgs", "adagrad"],
)
def test_an_interrupted_crf_keeps_what_it_has(learner, called, each):
    dev = Interrupting(X10)
    dev.left = looks_taken(learner, **{called: each}) + 1  # in the second measurement
    interrupted = clone(learner).set_params(**{called: 5 * each})
    with pytest.warns(UserWarning, match=r"interrupted after \d+ (iterations|epochs); the model is as it was then"):
        interrupted.fit(X10, Y10, dev=(dev, Y10))
    done = len(interrupted.history_)
    assert each <= done <= 2 * each
    assert interrupted.model_.facts["epochs_done" if each == 1 else "iterations_done"] == done
    then = clone(learner).set_params(**{called: done}).fit(X10, Y10)
    assert same_arrays(interrupted.model_.arrays, then.model_.arrays)


@pytest.mark.parametrize("learner", [tw.Perceptron(WORD), tw.CRF(RICH, solver="adagrad")], ids=["perceptron", "crf"])
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
    learner = tw.Perceptron(epochs=50, checkpoint=checkpoint(tmp_path / "c"))
    try:
        with pytest.warns(UserWarning, match=r"interrupted in epoch \d+; the model is that of epoch \d+"):
            learner.fit(X10, Y10)
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
