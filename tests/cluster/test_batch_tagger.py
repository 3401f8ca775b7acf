"""BatchTagger: batches as data engines hand them out, and what it must refuse."""

import pickle
import re

import numpy as np
import pytest
from support.corpora import ten_sentences

import tagwright as tw
from tagwright.cluster import BatchTagger


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    X, y = ten_sentences()
    folder = tmp_path_factory.mktemp("models")
    for learner in (tw.Perceptron(epochs=3), tw.CRF(epochs=3)):
        learner.fit(X, y).model_.save(folder / f"{type(learner).__name__}.safetensors")
    return folder


def object_array(items):
    made = np.empty(len(items), object)
    made[:] = items
    return made


X, _ = ten_sentences()
FORMS = {
    "lists": X,
    "tuples": [tuple(words) for words in X],
    "arrays of objects": object_array([np.array(words, object) for words in X]),
    "arrays of strings": object_array([np.array(words) for words in X]),
    "rows of columns": object_array([object_array([np.array([word]) for word in words]) for words in X]),
}


@pytest.mark.parametrize("form", FORMS)
def test_labels_are_those_of_the_model_whatever_holds_the_tokens(paths, form):
    path = paths / "Perceptron.safetensors"
    found = BatchTagger(path)({"id": list(range(len(X))), "tokens": FORMS[form]})
    assert list(found) == ["id", "tokens", "labels"]
    assert found["labels"] == tw.load(path).tag_batch(X)
    assert found["id"] == list(range(len(X)))


def test_k_best_and_probabilities_are_those_of_the_model(paths):
    path = paths / "CRF.safetensors"
    found = BatchTagger(str(path), column="words", k=3, proba=True, threads=2)({"words": X})
    expected = tw.load(path).tag_kbest(X, 3, proba=True)
    assert found["kbest"] == [[one.labels for one in own] for own in expected]
    assert found["kbest_score"] == [[one.score for one in own] for own in expected]
    assert found["kbest_probability"] == [[one.probability for one in own] for own in expected]
    for name in ("labels", "score", "probability", "marginals"):
        assert found[name] == [getattr(own[0], name) for own in expected]


def test_an_empty_batch_has_the_same_columns(paths):
    path = paths / "CRF.safetensors"
    for options in ({}, {"k": 2}, {"proba": True}, {"k": 2, "proba": True}):
        tagger = BatchTagger(path, **options)
        nothing, something = tagger({"tokens": []}), tagger({"tokens": [["a", "cat"], []]})
        assert list(nothing) == list(something)
        assert all(values == [] for values in nothing.values())
        assert something["labels"][1] == []


def test_what_is_sent_to_other_processes_is_small_and_opens_the_model_there(paths):
    tagger = BatchTagger(paths / "Perceptron.safetensors")
    before = tagger.model
    sent = pickle.dumps(tagger)
    assert len(sent) < 1000
    again = pickle.loads(sent)
    assert again.model is before  # once per process
    assert again({"tokens": X[:1]}) == tagger({"tokens": X[:1]})


def test_a_model_that_was_replaced_is_opened_again(paths, tmp_path):
    path = tmp_path / "model.safetensors"
    tw.load(paths / "Perceptron.safetensors").save(path)
    tagger = BatchTagger(path)
    assert tagger({"tokens": [["dogs", "run"]]})["labels"] == [["NNS", "VBP"]]
    tw.Perceptron().fit([["dogs", "run"]], [["A", "B"]]).model_.save(path)
    assert tagger({"tokens": [["dogs", "run"]]})["labels"] == [["A", "B"]]


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({"text": X}, "no column 'tokens' in the batch, which has 'text'; name it with column="),
        ({}, "no column 'tokens' in the batch, which has none"),
        (
            {"tokens": [["a"], "a dog"]},
            "column 'tokens', row 1: a sentence must be a list of tokens, not 'a dog'; split",
        ),
        ({"tokens": [None]}, "column 'tokens', row 0: a sentence must be a list of tokens, not None"),
        ({"tokens": [{"a": 1}]}, "column 'tokens', row 0: a sentence must be a list of tokens, not {'a': 1}"),
        ({"tokens": [["a", None]]}, "sentence 0, token 1 must be a string or a list of columns, not None"),
        ({"tokens": [["a"]], "labels": [[]]}, "the batch has a column 'labels' already; rename it"),
    ],
)
def test_bad_batches_are_refused_with_the_place(paths, batch, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        BatchTagger(paths / "Perceptron.safetensors")(batch)


def test_missing_probabilities_are_reported(paths, tmp_path):
    with pytest.raises(ValueError, match="not probabilities"):
        BatchTagger(paths / "Perceptron.safetensors", proba=True)({"tokens": X})
    with pytest.raises(FileNotFoundError):
        BatchTagger(tmp_path / "none.safetensors")({"tokens": X})
    with pytest.raises(ValueError, match="k must be"):
        BatchTagger(None, k=0)
