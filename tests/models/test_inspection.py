"""Weights as records, beside the arrays of the model."""

import json

import pytest
from support.commands import printed

import tagwright as tw
from tagwright.models.inspection import FeatureWeight, Transition


@pytest.fixture(scope="module")
def model():
    X = [["the", "dog", "barks"], ["a", "cat", "sleeps"]]
    return tw.CRF("pos", solver="lbfgs").fit(X, [["D", "N", "V"], ["D", "N", "V"]]).model_


def test_weights_are_those_that_explain(model):
    contributions = model.explain(["the", "cat"], 0).reasons[0].contributions
    weights = {(own.feature, own.label): own.weight for own in model.weights(top=None)}
    assert len(weights) == len(model.arrays["rows.weight"])
    found = [own for own in contributions if (own.feature, "D") in weights]
    assert found
    for own in found:
        assert weights[own.feature, "D"] == pytest.approx(own.weight)


def test_top_and_label(model):
    everything = model.weights(top=None)
    assert [own.weight for own in everything] == sorted((own.weight for own in everything), reverse=True)
    strongest = sorted((abs(own.weight) for own in everything), reverse=True)[:7]
    assert sorted((abs(own.weight) for own in model.weights(top=7)), reverse=True) == strongest
    assert len(model.weights()) == 20
    of_one = model.weights("N", top=None)
    assert set(of_one) == {own for own in everything if own.label == "N"}
    assert isinstance(of_one[0], FeatureWeight)
    with pytest.raises(ValueError, match="no label 'X'"):
        model.weights("X")
    with pytest.raises(ValueError, match="top"):
        model.weights(top=0)


def test_transitions(model):
    found = model.transitions()
    assert isinstance(found[0], Transition)
    scores = {(own.previous, own.label): own.weight for own in found}
    lattice = model.lattice(["the", "dog", "barks"])
    labels = [model.labels.index(name) for name in ("D", "N", "V")]
    nodes = sum(float(lattice.nodes[t, y]) for t, y in enumerate(labels))
    assert tw.score(lattice.nodes, lattice.edges, labels) == pytest.approx(nodes + scores["D", "N"] + scores["N", "V"])
    assert [own.weight for own in found] == sorted((own.weight for own in found), reverse=True)


def test_models_of_two_sides():
    X, y = [["the", "dog"]] * 3, [["D", "N"]] * 3
    model = tw.Bidirectional().fit(X, y).model_
    with pytest.raises(ValueError, match=r"model\.left\.weights"):
        model.weights()
    with pytest.raises(ValueError, match=r"model\.left\.transitions"):
        model.transitions()
    assert model.left.weights()


def test_info_as_json(model, tmp_path):
    model.save(tmp_path / "m.safetensors")
    found = json.loads(printed("info", "--json", "--most", 3, tmp_path / "m.safetensors"))
    assert found["learner"] == "crf"
    assert found["labels"] == model.labels
    assert found["sizes"]["weights"] == len(model.arrays["rows.weight"])
    assert found["transitions"] == [own._asdict() for own in model.transitions()]
    assert [own for own in found["weights"] if own["label"] == "N"] == [own._asdict() for own in model.weights("N", 3)]
    assert len(found["history"]) == len(model.history)
    assert {row["name"] for row in json.loads(printed("info", "--json", "--decoders"))} == {
        row.name for row in tw.decoders()
    }
