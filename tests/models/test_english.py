"""The English model of the package: what it is, how good it is, and that its examples are not in its training data."""

import lzma
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import printed
from support.corpora import CORPORA

import tagwright as tw
from tagwright.cli.demo import SENTENCES
from tagwright.models.model import BUILT_IN

ROOT = Path(__file__).resolve().parents[2]
EWT = CORPORA / "pos_ewt"
needs_ewt = pytest.mark.skipif(not EWT.exists(), reason="pos_ewt is not beside the project (../shared/data)")

# The sentences of the demo, labelled by hand, and the rank at which the right labelling is.
RIGHT = {
    "The dog that I saw saw me too .": ("DT NN WDT PRP VBD VBD PRP RB .", 1),
    "The kids train dogs on the train .": ("DT NNS VBP NNS IN DT NN .", 2),
    "Time flies like an arrow .": ("NN VBZ IN DT NN .", 2),
}


def test_it_is_a_small_crf():
    assert BUILT_IN.stat().st_size <= 6_000_000
    model = tw.load()
    assert model.probabilistic
    assert model.facts["data"]["tokenize"] == "english"


def test_probabilities_at_once():
    lines = printed("tag", "--proba", given="The dog sees the cat .\n").splitlines()
    assert [line.split("\t")[:2] for line in lines[:6]] == [
        ["The", "DT"], ["dog", "NN"], ["sees", "VBZ"], ["the", "DT"], ["cat", "NN"], [".", "."]
    ]  # fmt: skip
    assert all(0.5 < float(line.split("\t")[2]) <= 1 for line in lines[:6])


@pytest.mark.parametrize("sentence", SENTENCES)
def test_sentences_of_the_demo_come_out_right_or_nearly(sentence):
    """Where the best labelling is wrong, the second best is right, and its probability is close."""
    best, second = tw.load().tag_kbest([sentence.split()], 2, proba=True)[0]
    right, rank = RIGHT[sentence]
    assert (best, second)[rank - 1].labels == right.split()
    assert second.probability > best.probability / 2 if rank == 2 else best.probability > 0.9


@needs_ewt
def test_it_is_no_less_accurate_than_the_perceptron_that_it_replaced():
    X, y = tw.read(EWT / "test.txt.xz")
    assert tw.evaluate(y, tw.load().tag_batch(X)).token_accuracy >= 0.9459


@needs_ewt
def test_what_it_is_shown_with_is_not_in_its_training_text():
    def plain(text):
        return " " + " ".join(re.findall(r"[\w']+", text.lower())) + " "

    pages = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/tagwright/cli/*.py")]
    shown = {text for page in pages for text in re.findall(r'echo "([^"]+)" \|', page.read_text(encoding="utf-8"))}
    assert len(shown) >= 2
    X, _ = tw.read(EWT / "train.txt.xz")
    observed = "".join(plain(" ".join(row[0] for row in sentence)) for sentence in X)
    assert [text for text in {*shown, *SENTENCES} if plain(text) in observed] == []


def test_the_tool_makes_the_same_file_twice(tmp_path):
    """On the sample corpus, as the English Web Treebank takes minutes."""
    for part, source in (("train", "train"), ("dev", "test"), ("test", "test")):
        text = (ROOT / "examples" / f"{source}.txt").read_text(encoding="utf-8")
        rows = [line.split("\t") for line in text.split("\n")]
        lines = ["\t".join([row[0], "_", row[1]]) if len(row) > 1 else "" for row in rows]
        (tmp_path / f"{part}.txt.xz").write_bytes(lzma.compress("\n".join(lines).encode()))
    made = []
    for name in ("first", "second"):
        tool = [sys.executable, ROOT / "tools" / "english_model.py", tmp_path, tmp_path / name]
        ran = subprocess.run(tool, capture_output=True, text=True, check=True)
        assert "test: " in ran.stdout
        made.append((tmp_path / name).read_bytes())
    assert made[0] == made[1]
    assert tw.load(tmp_path / "first").tag(["the", "old", "dog", "sleeps"])[0] == "DT"
