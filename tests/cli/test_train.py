"""`tagwright train`: which options are for which learner, its help in sections, and the accuracy on dev data."""

import contextlib
import logging
import os
import re
import subprocess
import sys
import termios
from itertools import chain

import click
import pytest
from support.commands import columns, complaint, printed, run, stopped
from support.corpora import ten_sentences

import tagwright as tw
from tagwright.cli.learners import options_of
from tagwright.cli.options import SectionOption
from tagwright.cli.train import train
from tagwright.learners import LEARNERS
from tagwright.learners.learner import Learner

READING = {"label", "partial", "format", "comments", "tokenize", "dev", "learner", "quiet", "verbose", "force"}
OPTIONS = [option for option in train.params if isinstance(option, click.Option) and option.name not in READING]


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_options_name_the_learners_that_take_them(option):
    named = option.learners if isinstance(option, SectionOption) else LEARNERS
    assert sorted(named) == sorted(kind for kind in LEARNERS if option.name in options_of(kind))


def test_help_lists_every_option_once_in_its_section():
    lines = printed("train", "--help").splitlines()
    titles = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert titles[0] == "Common options:"
    assert [title.split()[0] for title in titles[1:]] == ["Perceptron", "CRF", "MEMM", "Bidirectional"]
    names = [line.split()[0].rstrip(",") for line in lines if line.startswith("  -")]
    options = [option for option in train.params if isinstance(option, click.Option)]
    assert sorted(names) == sorted([*(option.opts[0] for option in options), "-h"])
    for option in options:
        title = option.title if isinstance(option, SectionOption) else "Common options"
        at = next(n for n, line in enumerate(lines) if line.startswith(f"  {option.opts[0]}"))
        assert [line for line in lines[:at] if line in titles][-1] == f"{title}:"


@pytest.fixture
def files(tmp_path):
    """A corpus, and dev data with a wrong label and an unknown word."""
    X, y = ten_sentences()
    (tmp_path / "corpus.txt").write_text(columns(X, y))
    y[0] = ["XX", *y[0][1:]]
    X[1] = ["zebra", *X[1][1:]]
    (tmp_path / "dev.txt").write_text(columns(X, y))
    return tmp_path / "corpus.txt", tmp_path / "dev.txt", (X, y)


def shown(said):
    """The accuracy that `train` prints."""
    return next(line.split()[-1] for line in said.splitlines() if line.startswith("dev accuracy"))


def accuracy(predicted, gold):
    pairs = list(zip(chain(*predicted), chain(*gold), strict=True))
    return f"{sum(p == g for p, g in pairs) / len(pairs):.2%}"


TRAININGS = {
    "perceptron --epochs 3": printed,
    "perceptron --epochs 9 --patience 2": printed,
    "crf --solver lbfgs --max-iterations 13": stopped,
    "crf --solver lbfgs --max-iterations 25 --patience 1": printed,
    "crf --solver adagrad --epochs 2": printed,
    "memm --max-iterations 12": stopped,
}


@pytest.mark.parametrize(("training", "ends"), TRAININGS.items())
def test_dev_accuracy_is_that_of_the_model_and_measured_once(files, tmp_path, monkeypatch, training, ends):
    def again(*_):
        raise AssertionError("the dev data is tagged once more")

    corpus, dev, (X, y) = files
    monkeypatch.setattr(Learner, "score", again)
    said = ends("train", corpus, tmp_path / "m", "--dev", dev, "--learner", *training.split())
    assert shown(said) == accuracy(tw.load(tmp_path / "m").tag_batch(X), y) != "100.00%"


@pytest.mark.parametrize("learner", ["hmm", "bidirectional"])
def test_dev_accuracy_of_learners_that_do_not_measure_it(files, tmp_path, learner):
    corpus, dev, (X, y) = files
    said = printed("train", corpus, tmp_path / "m", "--dev", dev, "--learner", learner)
    assert shown(said) == accuracy(tw.load(tmp_path / "m").tag_batch(X), y)


def test_dev_accuracy_with_the_decoder_that_is_asked_for(files, tmp_path):
    corpus, dev, (X, y) = files
    said = printed("train", corpus, tmp_path / "m", "--dev", dev, "--epochs", "1", "--decoder", "beam:1")
    assert shown(said) == accuracy(tw.load(tmp_path / "m").tag_batch(X, "beam:1"), y)


def test_dev_accuracy_of_a_finished_checkpoint_is_that_on_the_file_given_now(files, tmp_path):
    corpus, dev, _ = files
    common = ["train", corpus, tmp_path / "m", "--epochs", "5", "--checkpoint", tmp_path / "c"]
    first = shown(printed(*common, "--dev", dev))
    X, y = ten_sentences()
    second = shown(printed(*common, "--dev", corpus))
    assert second == accuracy(tw.load(tmp_path / "m").tag_batch(X), y) != first


# What it says while it works


def started(*arguments):
    """The options of a process of its own."""
    return [sys.executable, "-m", "tagwright", *map(str, arguments)]


def test_a_line_per_epoch_on_standard_error(files, tmp_path):
    corpus, dev, _ = files
    done = subprocess.run(
        started("train", corpus, tmp_path / "m", "--epochs", "3", "--dev", dev),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    history = tw.load(tmp_path / "m").history
    said = done.stderr.splitlines()
    assert [line.split()[:4] for line in said] == [
        ["epoch", f"{n}/3", "error", f"{fact['error']:.2%}"] for n, fact in enumerate(history, 1)
    ]
    assert [line.split()[-2:] for line in said] == [["dev", f"{fact['dev']:.2%}"] for fact in history]
    assert done.stdout.startswith(str(tmp_path / "m"))


@pytest.mark.parametrize("learner", LEARNERS)
def test_quiet_says_nothing(files, tmp_path, learner):
    corpus, dev, _ = files
    result = run("train", corpus, tmp_path / "m", "--learner", learner, "--dev", dev, "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert tw.load(tmp_path / "m").facts["learner"] == learner


@pytest.mark.parametrize("learner", ["perceptron", "crf", "hmm"])
def test_orders(files, tmp_path, learner):
    corpus, _, _ = files
    model = tmp_path / "m"
    more = [] if learner == "hmm" else ["--min-ngram-count", "2"]
    assert run("train", corpus, model, "-q", "--learner", learner, "--order", "2", *more).exit_code == 0
    made = tw.load(model)
    assert made.facts["options"]["order"] == 2
    assert made.edges.ngrams == len(made.arrays["ngrams.score"]) > 0
    assert f"ngrams {made.edges.ngrams}" in " ".join(printed("info", model).split())
    assert "--order is not for --learner memm" in complaint("train", corpus, model, "--learner", "memm", "--order", "2")


def test_quiet_still_warns_and_complains(files, tmp_path):
    corpus, _, _ = files
    result = run(
        "train", corpus, tmp_path / "m", "-q", "--learner", "crf", "--solver", "lbfgs", "--max-iterations", "2"
    )
    assert (result.exit_code, result.stdout) == (0, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("Warning: CRF: stopped after 2 iterations, before it converged; raise max_iterations")
    assert "choose one of --quiet and --verbose" in complaint("train", corpus, tmp_path / "m", "-q", "-v")


def test_verbose_says_more(files, tmp_path):
    corpus, dev, _ = files
    result = run("train", corpus, tmp_path / "m", "-v", "--learner", "crf", "--solver", "lbfgs", "--dev", dev)
    assert result.exit_code == 0, result.output
    found = [re.fullmatch(r"\[ *[0-9.]+ s +[0-9,]+ MB\]  (.*)", line) for line in result.stderr.splitlines()]
    assert all(found), result.stderr
    reading_dev, _, reading, read, indexing, indexed, *lines, last = (line[1] for line in found)
    assert (reading, reading_dev) == (f"reading {corpus}", f"reading {dev}")
    tokens = sum(map(len, ten_sentences()[0]))
    assert read.startswith(f"read 10 sentences, {tokens} tokens in ")
    assert indexing.startswith(f"indexing the features of 10 sentences, {tokens} tokens, ")
    assert re.fullmatch(r"indexed in [0-9.]+ s: [0-9,]+ weights", indexed)
    model = tw.load(tmp_path / "m")
    assert [line.split()[1] for line in lines] == [str(n + 1) for n in range(len(model.history))]
    assert last.startswith(f"converged after {len(model.history)} iterations")
    assert logging.getLogger("tagwright").level == logging.NOTSET


@pytest.mark.parametrize(("more", "bars", "lines"), [([], True, False), (["-q"], False, False), (["-v"], True, True)])
def test_a_terminal_shows_bars(files, tmp_path, patience, more, bars, lines):
    corpus, _, _ = files
    screen, terminal = os.openpty()
    termios.tcsetwinsize(terminal, (24, 100))
    command = started("train", corpus, tmp_path / "m", "--epochs", "2", *more)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal) as process:
        os.close(terminal)
        shown = b""
        with contextlib.suppress(OSError):  # what Linux says at the end
            while piece := os.read(screen, 4096):
                shown += piece
    os.close(screen)
    assert process.returncode == 0
    assert (b"epoch 2/2: 100%" in shown) == bars
    assert (b"tokens/s" in shown) == lines
    assert shown or more
