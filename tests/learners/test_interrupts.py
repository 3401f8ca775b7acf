"""Ctrl-C at the least convenient moments of a training."""

import os
import signal

import pytest
from support.corpora import same_arrays, ten_sentences

import tagwright as tw
from tagwright.learners.interrupts import stops


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
    X, y = ten_sentences()
    learner = tw.Perceptron(epochs=50, checkpoint=checkpoint(tmp_path / "c"))
    try:
        with pytest.warns(UserWarning, match=r"interrupted in epoch \d+; the model is that of epoch \d+"):
            learner.fit(X, y)
    except KeyboardInterrupt:
        pytest.fail("training was lost")
    epochs = learner.model_.facts["epochs_done"]
    assert 1 <= epochs < 50
    assert same_arrays(learner.model_.arrays, tw.Perceptron(epochs=epochs).fit(X, y).model_.arrays)


def press_ctrl_c_at_the_end():
    with stops() as check:
        check()
        signal.raise_signal(signal.SIGINT)


def test_ctrl_c_behind_the_last_check_is_heard():
    with pytest.raises(KeyboardInterrupt):
        press_ctrl_c_at_the_end()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
