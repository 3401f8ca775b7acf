"""Signals that end a command, wherever it is: one line, the exit code that shells expect, nothing left behind."""

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import columns
from support.corpora import many_labels, ten_sentences

import tagwright as tw

# As `python` starts, before anything of ours: presses Ctrl-C when a module is looked for.
PRESSING = """
import signal, sys

class Pressing:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            {press}

sys.meta_path.insert(0, Pressing())
"""
AT_ONCE = "signal.raise_signal(signal.{signal})"
# Where Python forgets what is raised.
IN_A_DESTRUCTOR = "type('Last', (), {{'__del__': lambda self: signal.raise_signal(signal.{signal})}})()"
SCRIPT = Path(sys.executable).with_name("tagwright")
COMMANDS = {"module": [sys.executable, "-m", "tagwright"], "script": [SCRIPT]}


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text(columns(*ten_sentences()), encoding="utf-8")
    return path


def pressed(tmp_path, module, press, command):
    (tmp_path / "start").mkdir()
    code = PRESSING.format(module=module, press=press)
    (tmp_path / "start" / "sitecustomize.py").write_text(code, encoding="utf-8")
    there = os.pathsep.join(filter(None, [str(tmp_path / "start"), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": there}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300, check=False)


@pytest.mark.parametrize("program", COMMANDS)
@pytest.mark.parametrize("module", ["tagwright.cli.main", "click", "numpy", "tagwright._core"])
def test_ctrl_c_while_it_starts(tmp_path, corpus, program, module):
    if program == "script" and not SCRIPT.exists():
        pytest.skip("the script is not installed")
    done = pressed(tmp_path, module, AT_ONCE.format(signal="SIGINT"), [*COMMANDS[program], "tag", corpus])
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Error: interrupted\n")


@pytest.mark.slow
@pytest.mark.parametrize("press", [AT_ONCE, IN_A_DESTRUCTOR], ids=["at once", "in a destructor"])
@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
@pytest.mark.parametrize("module", ["sklearn", "tagwright.learners.crf"])
def test_a_signal_while_a_learner_is_imported(tmp_path, corpus, module, number, code, press):
    model = tmp_path / "model"
    command = [*COMMANDS["module"], "train", corpus, model, "--epochs", "1000000"]
    done = pressed(tmp_path, module, press.format(signal=number), command)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "Error: interrupted\n")
    assert not model.exists()


@contextlib.contextmanager
def training(tmp_path, *options, ignored=""):
    """A training without end that has written a checkpoint."""
    train, checkpoint = tmp_path / "train.txt", tmp_path / "checkpoint"
    train.write_text(columns(*many_labels()), encoding="utf-8")

    ignoring = ["sh", "-c", f"trap '' {ignored}; exec \"$@\"", "sh"] if ignored else []
    command = [
        *ignoring,
        *COMMANDS["module"],
        "train",
        train,
        tmp_path / "model",
        "--quiet",
        "--checkpoint",
        checkpoint,
        *options,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            for _ in range(10_000):
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(timeout=0.02)
                if checkpoint.exists() or child.returncode is not None:
                    break
            assert child.returncode is None, child.stderr.read()
            yield child
        finally:
            child.kill()


ENDLESS = {
    "perceptron": ["--learner", "perceptron", "--epochs", "1000000"],
    "crf": ["--learner", "crf", "--set", "solver=lbfgs", "--set", "tolerance=0", "--set", "l2=1e-9"],
}


@pytest.mark.slow
@pytest.mark.parametrize("learner", ENDLESS)
@pytest.mark.parametrize(("number", "code"), [("SIGINT", 0), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_ends_a_training_which_keeps_what_it_has(tmp_path, learner, number, code):
    with training(tmp_path, *ENDLESS[learner]) as child:
        child.send_signal(getattr(signal, number))
        _, said = child.communicate(timeout=300)
    assert child.returncode == code
    assert said.startswith("Warning: interrupted")
    assert said.count("\n") == 1
    assert {path.name for path in tmp_path.iterdir()} == {"train.txt", "model", "checkpoint"}
    X, _ = many_labels()
    assert len(tw.load(tmp_path / "model").tag_batch(X)) == len(X)
    assert len(tw.load(tmp_path / "checkpoint").tag_batch(X)) == len(X)


@pytest.mark.slow
@pytest.mark.parametrize("learner", ENDLESS)
def test_five_times_ctrl_c(tmp_path, learner):
    with training(tmp_path, *ENDLESS[learner]) as child:
        for _ in range(5):
            child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=300)
    assert child.returncode in (0, 130)  # whether the first was heard alone
    assert "Traceback" not in said
    assert said.count("\n") == 1
    left = {path.name for path in tmp_path.iterdir()}
    assert left - {"model"} == {"train.txt", "checkpoint"}
    assert ("model" in left) == (child.returncode == 0)


@pytest.mark.slow
def test_what_is_ignored_stays_ignored(tmp_path):
    with training(tmp_path, *ENDLESS["perceptron"], ignored="HUP INT") as child:
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            child.send_signal(number)
        child.communicate(timeout=300)
    assert child.returncode == 143


@pytest.mark.parametrize(("number", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_signal_ends_a_command_that_waits(tmp_path, number, code):
    os.mkfifo(tmp_path / "fifo")
    command = [*COMMANDS["module"], "tag", tmp_path / "fifo"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child,
        open(tmp_path / "fifo", "w", encoding="utf-8"),  # waits until it is read
    ):
        child.send_signal(getattr(signal, number))
        out, said = child.communicate(timeout=300)
    assert (child.returncode, out, said) == (code, "", "Error: interrupted\n")
