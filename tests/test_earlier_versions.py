"""Models that earlier versions wrote are still read, and give the answers that they gave then."""

import json
from pathlib import Path

import pytest

import tagwright as tw

DATA = Path(__file__).parent / "data" / "0.5.0"  # make.py in there says how it was made
MODELS = [
    "perceptron", "perceptron_parts", "perceptron_edges", "perceptron_ready_made", "crf", "crf_edges", "hmm", "memm",
    "bidirectional",
]  # fmt: skip
TOLERANCE = 1e-6


def stored(name):
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


def near(expected):
    return pytest.approx(expected, abs=TOLERANCE, rel=TOLERANCE)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_0_5_0_answers_as_it_did(name):
    model, expected = tw.load(DATA / f"{name}.safetensors"), stored(name)
    X = stored("ready_made" if name.endswith("ready_made") else "words")
    found = model.tag_kbest(X, 3)
    assert len(found) == len(expected) == 40
    for own, right in zip(found, expected, strict=True):
        assert [tagging.labels for tagging in own] == [one["labels"] for one in right]
        assert [tagging.score for tagging in own] == near([one["score"] for one in right])


@pytest.mark.parametrize("name", ["crf", "crf_edges", "hmm"])
def test_a_model_of_0_5_0_gives_the_same_probabilities(name):
    found = tw.load(DATA / f"{name}.safetensors").tag_kbest(stored("words"), 3, proba=True)
    for own, right in zip(found, stored(name), strict=True):
        assert [tagging.probability for tagging in own] == near([one["probability"] for one in right])
        assert own[0].marginals == near(right[0]["marginals"])


def test_every_model_of_0_5_0_is_checked():
    assert sorted(path.stem for path in DATA.glob("*.safetensors")) == sorted(MODELS)
