"""Corpora as the core holds them: the same sentences, labels and models as from lists."""

import pickle

import numpy as np
import pytest

import tagwright as tw
from tagwright.data.corpus import CorpusLabels, CorpusRows
from tagwright.data.files import inputs_of
from tagwright.data.reading import read
from tagwright.learners.streams import Files

LINES = "the DT B\ndog NN I\n\ncan MD,NN O\nthe DT B\n_ _ O\n\nx X O\n"
READING = {"format": "auto", "label": "last", "comments": False}


def held(path, label="last", partial=False):
    return Files(inputs_of([str(path)]), {**READING, "label": label}, partial).held()


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text(LINES)
    return path


def test_sentences_and_labels_are_those_of_read(corpus):
    X, y = held(corpus)
    assert isinstance(X, CorpusRows)
    assert isinstance(y, CorpusLabels)
    rows, labels = read(corpus)
    assert (list(X), list(y)) == (rows, labels)
    assert (X[1], X[-1], X[1:], y[:2]) == (rows[1], rows[-1], rows[1:], labels[:2])
    assert pickle.loads(pickle.dumps(X)) == rows
    with pytest.raises(IndexError, match="sentence 3 of 3"):
        X[3]


def test_partial_labels(corpus):
    y = held(corpus, "2", partial=True)[1]
    assert y.partial
    assert list(y) == [["DT", "NN"], [frozenset({"MD", "NN"}), "DT", None], ["X"]]
    assert not held(corpus, "2")[1].partial


def test_files_with_different_columns_are_lists(corpus, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("a Z\n\n")
    X, y = Files(inputs_of([str(corpus), str(other)]), READING).held()
    assert [*read(corpus)[0], [["a"]]] == X
    assert y[-1] == ["Z"]


@pytest.mark.parametrize(
    "learner",
    [
        tw.Perceptron(features="U:%x[0,0]\nU1:%x[-1,0]/%x[0,1]\nB\n", epochs=3, constraints=1),
        tw.CRF(features="U:%x[0,0]\nB\n", epochs=3),
        tw.MEMM(features="U:%x[0,0]\n", dictionary=1, direction="left"),
        tw.HMM(),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_models_are_those_of_lists(corpus, learner):
    X, y = held(corpus)
    native = learner.fit(X, y).model_
    lists = learner.fit(*read(corpus)).model_
    assert native.labels == lists.labels
    assert native.arrays.keys() == lists.arrays.keys()
    assert all(np.array_equal(native.arrays[name], lists.arrays[name]) for name in lists.arrays)
    assert native.tag_batch(X) == lists.tag_batch(list(X))


def test_tokens_with_too_few_columns_are_named(corpus):
    with pytest.raises(ValueError, match="sentence 0, token 0 has 2 columns"):
        tw.Perceptron(features="U:%x[0,2]\n").fit(*held(corpus))
