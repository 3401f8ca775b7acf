"""Models of other tools, beside the tools: CRFsuite through python-crfsuite, CRF++ by what crf_test has printed."""

import gzip
import math
import pickle
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from support.commands import complaint, printed

import tagwright as tw

crfsuite = pytest.importorskip("pycrfsuite", reason="python-crfsuite is not installed: pip install python-crfsuite")
CRFPP = Path(__file__).parents[1] / "data" / "crfpp"


def drawn_items(rng, names, most=12):
    """A sentence of attributes with values; some are in no model."""
    return [
        {str(rng.choice(names)): float(rng.choice([1.0, 0.5, 2.0, -1.0])) for _ in range(rng.integers(0, 6))}
        for _ in range(rng.integers(1, most))
    ]


@pytest.fixture(scope="module", params=["lbfgs", "ap", "one label", "all pairs"])
def trained(request, tmp_path_factory):
    """A model file, and the names of its attributes."""
    rng = np.random.default_rng(7)
    names = [f"w={n}" for n in range(40)] + ["naïve:größe", "%", "a b"]
    labels = ["O"] if request.param == "one label" else ["B-PER", "I-PER", "O", "好"]
    path = tmp_path_factory.mktemp("crfsuite") / "model.crfsuite"
    trainer = crfsuite.Trainer("ap" if request.param == "ap" else "lbfgs", verbose=False)
    trainer.set("max_iterations", 20)
    if request.param == "all pairs":
        trainer.set("feature.possible_transitions", 1)
    for _ in range(60):
        items = drawn_items(rng, names)
        trainer.append(items, [str(rng.choice(labels)) for _ in items])
    trainer.train(str(path))
    return path, [*names, "in no model"]


def test_crfsuite_labels_scores_and_probabilities(trained):
    path, names = trained
    model, tagger = tw.load(path), crfsuite.Tagger()
    tagger.open(str(path))
    assert model.labels == tagger.labels()
    rng = np.random.default_rng(8)
    for _ in range(200):
        items = drawn_items(rng, names)
        labels = tagger.tag(items)
        (best,) = model.tag_kbest([items], 1, proba=True)[0]
        assert best.labels == labels == model.tag(items)
        assert math.isclose(best.probability, tagger.probability(labels), rel_tol=1e-5)
        (marginals,) = model.marginals([items])
        for t in range(len(items)):
            for y, label in enumerate(model.labels):
                assert math.isclose(marginals[t, y], tagger.marginal(label, t), rel_tol=1e-5, abs_tol=1e-7)


def test_an_imported_model_is_an_ordinary_model(trained, tmp_path):
    path, names = trained
    model = tw.import_model(path.read_bytes())
    model.save(tmp_path / "m.safetensors")
    again = tw.load(tmp_path / "m.safetensors")
    items = drawn_items(np.random.default_rng(9), names)
    assert again.tag(items) == model.tag(items)
    assert again.facts["imported_from"] == "crfsuite"
    assert len(again.tag_kbest([items], 3)[0]) == min(3, len(model.labels) ** len(items))
    first = model.labels[0]
    assert model.tag(items, allowed=[[first]] * len(items)) == [first] * len(items)
    assert again.explain(items, 0).reasons[0].label == model.tag(items)[0]


def test_wrapped_files(trained, tmp_path):
    path, names = trained
    items = drawn_items(np.random.default_rng(10), names)
    expected = tw.load(path).tag(items)
    (tmp_path / "m.gz").write_bytes(gzip.compress(path.read_bytes()))
    # As sklearn-crfsuite keeps the file of an estimator.
    estimator = {"algorithm": "lbfgs", "modelfile": {"name": "x", "bytes": path.read_bytes()}, "verbose": False}
    for protocol in (2, 4, 5):
        (tmp_path / f"m{protocol}.pickle").write_bytes(pickle.dumps(estimator, protocol))
        assert tw.load(tmp_path / f"m{protocol}.pickle").tag(items) == expected
    assert tw.load(tmp_path / "m.gz").tag(items) == expected
    with pytest.raises(tw.ModelError, match="pickles are not loaded"):
        tw.import_model(pickle.dumps({"no": "model"}))


def sentences_of_crfpp():
    """Rows, labels, and the probability of the labelling and of each label, as crf_test has printed them."""
    for block in (CRFPP / "tagged.txt").read_text().strip().split("\n\n"):
        first, *lines = block.split("\n")
        cells = [line.split("\t") for line in lines]
        found = [cell[-1].rpartition("/") for cell in cells]
        yield (
            [cell[:2] for cell in cells],
            [label for label, _, _ in found],
            float(first.split()[-1]),
            [float(p) for _, _, p in found],
        )


@pytest.mark.parametrize("name", ["model", "model_as_text.txt"])
def test_crfpp_labels_and_probabilities(name):
    model = tw.load(CRFPP / name)
    assert model.facts["imported_from"] == "crf++"
    # Token-dependent edges, too.
    assert len(model.arrays["corrections.set"]) > 0
    rows, labels, probability, of_labels = zip(*sentences_of_crfpp(), strict=True)
    assert len(rows) > 20
    best = [own[0] for own in model.tag_kbest(rows, 1, proba=True)]
    assert [own.labels for own in best] == list(labels)
    # Printed with six decimals.
    assert np.allclose([own.probability for own in best], probability, rtol=0, atol=1e-6)
    for own, expected in zip(best, of_labels, strict=True):
        assert np.allclose(own.marginals, expected, rtol=0, atol=1e-6)


def test_a_plain_edge_template_of_crfpp_may_have_a_name():
    text = (CRFPP / "model_as_text.txt").read_text()
    renamed = re.sub(r"^(\d+ )?B$", r"\1B00", text, flags=re.M)
    assert renamed.count("B00") == 2
    (rows, labels, _, _), *_ = sentences_of_crfpp()
    model = tw.import_model(renamed.encode())
    assert model.tag(rows) == labels
    assert np.array_equal(model.arrays["edges.score"], tw.load(CRFPP / "model_as_text.txt").arrays["edges.score"])


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files_are_refused_or_read(seed, trained):
    """Cut and altered files end in an error with a place, or in a model that tags."""
    path, names = trained
    rng = np.random.default_rng(seed)
    files = [path.read_bytes(), (CRFPP / "model").read_bytes(), (CRFPP / "model_as_text.txt").read_bytes()]
    items = drawn_items(rng, names)
    for content in files:
        for _ in range(60):
            damaged = bytearray(content)
            for _ in range(rng.integers(1, 4)):
                at = int(rng.integers(len(damaged))) if rng.random() < 0.5 else int(rng.integers(200))
                damaged[at] = int(rng.integers(256))
            if rng.random() < 0.3:
                del damaged[int(rng.integers(len(damaged))) :]
            try:
                model = tw.import_model(bytes(damaged))
            except tw.ModelError as error:
                assert str(error)  # noqa: PT017
            else:
                sentence = items if model.features is None else [["a"] * max(model.columns, 1)] * 3
                assert len(model.tag(sentence)) == len(sentence)


def test_messages_name_the_place(trained):
    content = trained[0].read_bytes()
    with pytest.raises(tw.ModelError, match=r"^offset 4: the file is truncated"):
        tw.import_model(content[:-1])
    with pytest.raises(tw.ModelError, match=r"^offset 12: this version"):
        tw.import_model(content[:12] + struct.pack("<I", 99) + content[16:])
    with pytest.raises(tw.ModelError, match="not a model of tagwright, CRFsuite, CRF"):
        tw.import_model(b"something else")
    text = (CRFPP / "model_as_text.txt").read_bytes()
    with pytest.raises(tw.ModelError, match=r"^line 3: 'maxid: ' expected"):
        tw.import_model(text.replace(b"maxid", b"minid"))
    with pytest.raises(tw.ModelError, match=r"^line \d+: the number of weights"):
        tw.import_model(text[: text.rstrip().rindex(b"\n") + 1])


def test_command(trained, tmp_path):
    target = tmp_path / "m.safetensors"
    assert "imported from" in printed("import", trained[0], "-o", target)
    assert tw.load(target).labels == tw.load(trained[0]).labels
    (tmp_path / "corpus.txt").write_text("a\tB\n")
    assert "not overwritten" in complaint("import", trained[0], "-o", tmp_path / "corpus.txt")
    assert "is also an input" in complaint("import", trained[0], "-o", trained[0])
    assert "corpus.txt: not a model" in complaint("import", tmp_path / "corpus.txt", "-o", target)
