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
from support.corpora import same_arrays, ten_sentences

import tagwright as tw
from tagwright.cli.learners import settings_of
from tagwright.cli.train import train
from tagwright.learners import LEARNERS
from tagwright.learners.learner import Learner
from tagwright.learners.options import flat_options

OPTIONS = [option for option in train.params if isinstance(option, click.Option)]


def test_the_help_is_one_screen_of_options():
    lines = printed("train", "--help").splitlines()
    names = [line.split()[0].rstrip(",") for line in lines if line.startswith("  -")]
    visible = [option.opts[0] for option in OPTIONS if not option.hidden]
    assert sorted(names) == sorted([*visible, "--help-all", "-h"])
    assert len(names) <= 22


def test_every_option_of_every_learner_can_be_set_and_is_listed():
    said = printed("train", "--help-all")
    assert said.startswith(printed("train", "--help").rstrip("\n"))
    flags = {option.name for option in OPTIONS if not option.hidden}
    for kind in LEARNERS:
        section = said.partition(f"--set of --learner {kind}:\n")[2].partition("\n\n")[0]
        listed = {line.split("=")[0].strip() for line in section.splitlines() if re.match(r"  \w+=", line)}
        assert listed == {*settings_of(kind)}
        python = {*flat_options(kind)} - {"constraints", "left", "right"}  # --scheme and --dictionary, and two MEMMs
        assert python <= listed | flags


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("--margin 2 --seed 3", "--set margin=2 --set seed=3"),
        (
            "--learner crf --l2 0.1 --max-iterations 4",
            "--learner crf --set solver=lbfgs --set l2=0.1 --set max_iterations=4",
        ),
        (
            "--learner crf --keep all --max-iterations 4",
            "--learner crf --set solver=lbfgs --set pruning=exact --set max_iterations=4",
        ),
        ("--learner memm --no-spans --max-iterations 4", "--learner memm --set spans=false --set max_iterations=4"),
    ],
)
def test_options_of_earlier_releases_still_work(files, tmp_path, old, new):
    corpus, _, _ = files
    one, two = (run("train", corpus, tmp_path / name, "-q", *own.split()) for name, own in (("old", old), ("new", new)))
    assert (one.exit_code, two.exit_code) == (0, 0)
    warning, *rest = one.stderr.splitlines()
    assert warning.startswith("Warning: --")
    assert {*re.findall(r"--set (\S+)", warning)} == {*re.findall(r"--set (\S+)", new)}
    assert rest == two.stderr.splitlines()
    assert same_arrays(tw.load(tmp_path / "old").arrays, tw.load(tmp_path / "new").arrays)


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
    "perceptron --epochs 9 --set patience=2": printed,
    "crf --set solver=lbfgs --set max_iterations=13": stopped,
    "crf --set solver=lbfgs --set max_iterations=25 --set patience=1": printed,
    "crf --set solver=adagrad --epochs 2": printed,
    "memm --set max_iterations=12": stopped,
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


def test_dev_accuracy_with_the_decoder_that_is_requested(files, tmp_path):
    corpus, dev, (X, y) = files
    said = printed("train", corpus, tmp_path / "m", "--dev", dev, "--epochs", "1", "--set", "decoder=beam:1")
    assert shown(said) == accuracy(tw.load(tmp_path / "m").tag_batch(X, "beam:1"), y)


def test_dev_accuracy_of_a_finished_checkpoint_is_that_on_the_file_given_now(files, tmp_path):
    corpus, dev, _ = files
    common = ["train", corpus, tmp_path / "m", "--epochs", "5", "--checkpoint", tmp_path / "c"]
    first = shown(printed(*common, "--dev", dev))
    X, y = ten_sentences()
    second = shown(printed(*common, "--dev", corpus))
    assert second == accuracy(tw.load(tmp_path / "m").tag_batch(X), y) != first


def test_min_weight_of_earlier_releases(files, tmp_path):
    corpus, _, _ = files
    result = run(
        "train", corpus, tmp_path / "m", "-q", "--epochs", "3", "--min-weight", "0.2", "--learner", "perceptron"
    )
    assert (result.exit_code, result.stderr) == (0, "Warning: --min-weight will be removed\n")
    with pytest.warns(DeprecationWarning, match="min_weight"):
        same = tw.Perceptron(epochs=3, min_weight=0.2).fit(*ten_sentences()).model_
    assert same_arrays(tw.load(tmp_path / "m").arrays, same.arrays)
    result = run("train", corpus, tmp_path / "m", "--min-weight", "0.2")
    assert result.exit_code == 2
    assert "--min-weight is for --learner perceptron" in result.stderr


# What it says while it works


def started(*arguments):
    """The options of a process of its own."""
    return [sys.executable, "-m", "tagwright", *map(str, arguments)]


def test_a_line_per_epoch_on_standard_error(files, tmp_path):
    corpus, dev, _ = files
    done = subprocess.run(
        started("train", corpus, tmp_path / "m", "--learner", "perceptron", "--epochs", "3", "--dev", dev),
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
def test_quiet_prints_nothing(files, tmp_path, learner):
    corpus, dev, _ = files
    result = run("train", corpus, tmp_path / "m", "--learner", learner, "--dev", dev, "--quiet")
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    assert tw.load(tmp_path / "m").facts["learner"] == learner


@pytest.mark.parametrize("learner", ["perceptron", "crf", "hmm"])
def test_orders(files, tmp_path, learner):
    corpus, _, _ = files
    model = tmp_path / "m"
    more = [] if learner == "hmm" else ["--set", "min_ngram_count=2"]
    assert run("train", corpus, model, "-q", "--learner", learner, "--set", "order=2", *more).exit_code == 0
    made = tw.load(model)
    assert made.facts["options"]["order"] == 2
    assert made.edges.ngrams == len(made.arrays["ngrams.score"]) > 0
    assert f"ngrams {made.edges.ngrams}" in " ".join(printed("info", model).split())
    assert "--set order is not for --learner memm" in complaint(
        "train", corpus, model, "--learner", "memm", "--set", "order=2"
    )


def test_quiet_still_warns_and_complains(files, tmp_path):
    corpus, _, _ = files
    result = run(
        "train", corpus, tmp_path / "m", "-q", "--learner", "crf", "--set", "solver=lbfgs", "--set", "max_iterations=2"
    )
    assert (result.exit_code, result.stdout) == (0, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("Warning: CRF: stopped after 2 iterations, before it converged; raise max_iterations")
    assert "choose one of --quiet and --verbose" in complaint("train", corpus, tmp_path / "m", "-q", "-v")


def test_verbose_prints_more(files, tmp_path):
    corpus, dev, _ = files
    result = run("train", corpus, tmp_path / "m", "-v", "--learner", "crf", "--set", "solver=lbfgs", "--dev", dev)
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
