"""`tagwright tune`: its table and its model are those of trainings one by one."""

import re

import pytest
from support.commands import columns, complaint, printed
from support.corpora import drawn, same_arrays
from support.flat import crf

import tagwright as tw

WORD = "U0:%x[0,0]\nU1:%x[-1,0]\nB\n"
TRAIN, DEV = drawn(1, sentences=150, words=40, labels=5), drawn(1, sentences=200, words=40, labels=5)


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.txt").write_text(columns(*TRAIN))
    (tmp_path / "dev.txt").write_text(columns(*DEV))
    (tmp_path / "word").write_text(WORD)


def tuned(*options):
    return printed("tune", "train.txt", "best.safetensors", "--dev", "dev.txt", "-f", "word", *options)


def cells(said):
    return [line.split() for line in said.splitlines()[2:-2]]


def read(name):
    """The file as it is read again: sentences without a word are left out."""
    return tw.read(name)


def test_the_best_of_all_is_found_where_all_are_trained_in_full():
    said = tuned("--try", "margin=0,2", "--epochs", "2")
    X, y = read("train.txt")
    by_margin = {margin: tw.CRF("word", epochs=2, margin=margin).fit(X, y).score(*read("dev.txt")) for margin in (0, 2)}
    expected = sorted(by_margin, key=lambda margin: -by_margin[margin])
    assert [(int(row[0]), row[1], row[2]) for row in cells(said)] == [
        (margin, "2", f"{100 * by_margin[margin]:.2f}") for margin in expected
    ]
    assert said.splitlines()[-1] == f"best.safetensors: margin={expected[0]}"
    alone = tw.CRF("word", epochs=2, margin=expected[0]).fit(X, y, dev=read("dev.txt"))
    assert same_arrays(tw.load("best.safetensors").arrays, alone.model_.arrays)


def test_a_third_continues_and_every_accuracy_is_that_of_its_epochs():
    said = tuned("--learner", "crf", "--try", "l2=0,0.5", "--try", "margin=0,1,4", "--epochs", "6", "--jobs", "2")
    rows = cells(said)
    assert [row[2] for row in rows] == ["6", "6", "2", "2", "2", "2"]
    X, y = read("train.txt")
    for l2, margin, epochs, accuracy, _ in rows:
        options = {"l2": float(l2), "margin": float(margin), "epochs": int(epochs), "solver": "adagrad"}
        assert accuracy == f"{100 * crf('word', **options).fit(X, y).score(*read('dev.txt')):.2f}"
    assert {row[:2] == rows[0][:2] for row in rows[1:]} == {False}
    assert float(rows[0][3]) >= float(rows[1][3])


def test_what_is_tried_by_default_is_what_the_learner_has():
    head = tuned("--epochs", "1").splitlines()[0]
    assert re.match("min_count +margin +l2 +epochs ", head)
    head = tuned("--learner", "perceptron", "--epochs", "1").splitlines()[0]
    assert re.match("min_count +margin +epochs ", head)
    head = tuned("--learner", "crf", "--try", "solver=lbfgs", "--epochs", "1").splitlines()[0]
    assert re.match("min_count +margin +l2 +iterations ", head)


@pytest.mark.parametrize(
    ("tried", "message"),
    [
        ("margin", "write NAME=VALUE"),
        ("speed=1", "--learner crf has no such option to try; it has average_from, batch, calibration, l1"),
        ("epochs=1,2", "no such option to try"),
        ("cluster=none", "no such option to try"),
        ("progress=true", "no such option to try"),
        ("solver=lbfgs,adagrad", "one of adagrad and lbfgs"),
        ("l2=much", "l2 must be"),
    ],
)
def test_what_cannot_be_tried_is_reported(tried, message):
    said = complaint("tune", "train.txt", "no.safetensors", "--dev", "dev.txt", "--learner", "crf", "--try", tried)
    assert message in said


def test_lists_schemes_dictionaries_and_partial_labels(tmp_path):
    (tmp_path / "bio.txt").write_text("a\tB-X\nb\tI-X,O\nc\t_\n\n" * 3 + "a\tB-X\nb\tI-X\nc\tO\n\n")
    (tmp_path / "dev.bio").write_text("a\tB-X\nb\tI-X\nc\tO\n\n")
    (tmp_path / "names.txt").write_text("a\n")
    (tmp_path / "listed").write_text("U0:%x[0,0]\nU1:%in[0,0,names]\nB\n")
    options = [
        "--scheme",
        "BIO",
        "--dictionary",
        "2",
        "--list",
        "names=names.txt",
        "--partial",
        "--tokenize",
        "english",
    ]
    said = printed(
        "tune", "bio.txt", "m", "--dev", "dev.bio", "-f", "listed", "--try", "margin=0,1", "-e", "2", *options
    )
    assert said.splitlines()[-1].startswith("m: margin=")
    made = tw.load("m")
    assert made.constraints.words is not None
    assert made.constraints.rules
    assert made.facts["data"]["tokenize"] == "english"
    assert made.tag(["a", "b"])[0] == "B-X"
