"""Every kind of model takes a decoder as `tw.decode` does, and refuses what is none in the same words."""

import json
from pathlib import Path

import pytest

import tagwright as tw

MODELS = sorted((Path(__file__).parents[1] / "data" / "0.5.0").glob("*.safetensors"))


@pytest.mark.parametrize("decoder", [5, None, ["beam"], tw.Decoder(), tw.Beam])
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_what_is_no_decoder(path, decoder):
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
