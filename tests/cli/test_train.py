"""`tagwright train`: which options are for which learner, its help in sections, and the accuracy on dev data."""

from itertools import chain

import click
import pytest
from support.commands import columns, printed
from support.corpora import ten_sentences

import tagwright as tw
from tagwright.cli.learners import options_of
from tagwright.cli.options import SectionOption
from tagwright.cli.train import train
from tagwright.learners import LEARNERS
from tagwright.learners.learner import Learner

READING = {"label", "format", "comments", "dev", "learner"}
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


TRAININGS = [
    ["perceptron", "--epochs", "3"],
    ["perceptron", "--epochs", "9", "--patience", "2"],
    ["crf", "--max-iterations", "13"],
    ["crf", "--max-iterations", "25", "--patience", "1"],
    ["crf", "--solver", "adagrad", "--epochs", "2"],
    ["memm", "--max-iterations", "12"],
]


@pytest.mark.parametrize("training", TRAININGS, ids=" ".join)
def test_dev_accuracy_is_that_of_the_model_and_measured_once(files, tmp_path, monkeypatch, training):
    def again(*_):
        raise AssertionError("the dev data is tagged once more")

    corpus, dev, (X, y) = files
    monkeypatch.setattr(Learner, "score", again)
    said = printed("train", corpus, tmp_path / "m", "--dev", dev, "--learner", *training)
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
