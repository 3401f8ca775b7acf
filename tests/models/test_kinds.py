"""The kinds of models: one class for each way to tag, recognised by the learner that the facts name."""

import json
import pickle
from pathlib import Path

import pytest
from support.corpora import ten_sentences

import tagwright as tw
from tagwright.decoding.decoders import Decoder
from tagwright.models.bidirectional import BidirectionalModel
from tagwright.models.kinds import KINDS, kind_of
from tagwright.models.linear import LinearModel
from tagwright.models.memm import MemmModel

MODELS = sorted((Path(__file__).parents[1] / "data" / "0.5.0").glob("*.safetensors"))
X10, Y10 = ten_sentences()
CLASSES = {
    "perceptron": LinearModel,
    "crf": LinearModel,
    "hmm": LinearModel,
    "memm": MemmModel,
    "bidirectional": BidirectionalModel,
}
LEARNERS = {
    "perceptron": tw.Perceptron(epochs=1),
    "crf": tw.CRF(solver=tw.LBFGS(max_iterations=2)),
    "hmm": tw.HMM(),
    "memm": tw.MEMM(solver=tw.LBFGS(max_iterations=2)),
    "bidirectional": tw.Bidirectional(
        tw.MEMM(solver=tw.LBFGS(max_iterations=1)), tw.MEMM(solver=tw.LBFGS(max_iterations=1), direction="left")
    ),
}


def test_every_kind_is_in_the_table():
    assert {name: kind.model_class for name, kind in KINDS.items()} == CLASSES
    assert LEARNERS.keys() == KINDS.keys()


@pytest.mark.parametrize("name", KINDS)
def test_a_model_stays_of_its_kind(name, tmp_path):
    model = LEARNERS[name].fit(X10, Y10).model_
    model.save(tmp_path / "m")
    for own in (model, tw.load(tmp_path / "m"), pickle.loads(pickle.dumps(model))):
        assert isinstance(own, tw.Model)
        assert type(own) is CLASSES[name]
        assert own.facts["learner"] == name
        assert own.probabilistic == (name in ("crf", "hmm"))
        assert own.tag_kbest(X10[:3], 2) == model.tag_kbest(X10[:3], 2)


def test_kinds_are_siblings():
    for own in set(CLASSES.values()):
        assert own.__bases__ == (tw.Model,)


def test_a_model_made_by_hand_is_a_lattice_per_sentence():
    model = LEARNERS["crf"].fit(X10, Y10).model_
    made = tw.Model(model.labels, model.features, model.arrays, model.facts)
    assert type(made) is LinearModel
    assert made.probabilistic
    assert made.tag_kbest(X10, 2, proba=True) == model.tag_kbest(X10, 2, proba=True)
    nameless = tw.Model(labels=model.labels, features=model.features, arrays=model.arrays, facts={})
    assert not nameless.probabilistic
    assert nameless.tag_batch(X10) == model.tag_batch(X10)
    with pytest.raises(ValueError, match="the scores of a model of unknown making are not probabilities"):
        nameless.marginals(X10)


@pytest.mark.parametrize("learner", [None, "gradient boosting", 3, ["crf"]], ids=repr)
def test_an_unknown_learner_is_read_as_a_perceptron(learner):
    assert kind_of({"learner": learner}) == KINDS["perceptron"]


# Every kind of model takes a decoder as `tw.decode` does, and refuses what is none in the same words.


@pytest.mark.parametrize("decoder", [5, None, ["beam"], Decoder(), tw.Beam])
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_what_is_not_a_decoder(path, decoder):
    model = tw.load(path)
    text = "ready_made.json" if model.features is None else "words.json"
    sentence = json.loads((path.parent / text).read_text(encoding="utf-8"))[0]
    for ask in (
        lambda: model.tag(sentence, decoder=decoder),
        lambda: model.tag_batch([sentence], decoder=decoder),
        lambda: model.tag_kbest([sentence], 2, decoder=decoder),
    ):
        with pytest.raises(ValueError, match="decoder must be a name or a decoder such as"):
            ask()


@pytest.mark.parametrize("learner", [tw.Perceptron, tw.CRF, tw.HMM, tw.MEMM])
def test_what_is_no_decoder_of_a_learner(learner):
    X, y = [["a", "b"]], [["A", "B"]]
    with pytest.raises(ValueError, match="decoder must be a name or a decoder such as"):
        learner(decoder=5).fit(X, y).predict(X)
