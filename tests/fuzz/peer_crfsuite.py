"""Not an attack on tagwright: model files of python-crfsuite, damaged as those of `peer_tagwright` are."""

from pathlib import Path

import pycrfsuite

from tests.fuzz.models import WORDS, stored

EXPECTED = (Exception,)
X = [[[f"word={word}", f"tag={tag}", f"suffix={word[-3:]}"] for word, tag in row] for row in WORDS[1:]]


def trained(path="crfsuite.model"):
    trainer = pycrfsuite.Trainer(params={"c2": 0.1}, verbose=False)
    for features, (best, *_) in zip(X, stored("crf")[1:], strict=True):
        trainer.append(features, best["labels"])
    trainer.train(path)
    data = Path(path).read_bytes()
    Path(path).unlink()
    return data


MODEL = []


def attempt(draw):
    if not MODEL:
        MODEL.append(trained())
    Path("damaged").write_bytes(draw.damaged(MODEL[0]))
    tagger = pycrfsuite.Tagger()
    tagger.open("damaged")
    tagger.labels()
    for features in X[:5]:
        tagger.tag(features)
    return False
