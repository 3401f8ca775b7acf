"""Models under rules about whole labellings: tagging, model files, training, and what refuses them."""

import itertools
import json

import numpy as np
import pytest
from support.commands import complaint, printed

import tagwright as tw
from tagwright import _core
from tagwright.models.tagging import TagOptions

WORDS = ["Ann", "Bonn", "Bob", "of", "Rome"]


def corpus(n=40, seed=0):
    """Sentences with at most one span of each type, whose words can have several labels."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        words, labels = [], []
        for kind in rng.permutation(["PER", "LOC"])[: rng.integers(1, 3)]:
            words += ["met"] * int(rng.integers(0, 2))
            labels += ["O"] * (len(words) - len(labels))
            length = int(rng.integers(1, 3))
            words += rng.choice(WORDS, length).tolist()
            labels += [f"B-{kind}"] + [f"I-{kind}"] * (length - 1)
        X.append(words)
        y.append(labels)
    return X, y


X, Y = corpus()
RNG = np.random.default_rng(1)
TEST = [RNG.choice([*WORDS, "met"], int(RNG.integers(0, 8))).tolist() for _ in range(60)]
SENTENCE = ["Ann", "met", "Bob", "of", "Rome", "Bonn"]
ONCE = {"once": ["PER", "LOC"], "at_most": {"O": 2}}


def satisfies(labels):
    spans = [label for t, label in enumerate(labels) if label[0] == "B" or (label[0] == "I" and opened(labels, t))]
    outside = [t for t, label in enumerate(labels) if label == "O" and (t == 0 or labels[t - 1] != "O")]
    return max((sum(s[2:] == kind for s in spans) for kind in ("PER", "LOC")), default=0) <= 1 and len(outside) <= 2


def opened(labels, t):
    return t == 0 or labels[t - 1][2:] != labels[t][2:]


@pytest.fixture(scope="module")
def crf():
    return tw.CRF("pos", solver=tw.LBFGS(max_iterations=20)).fit(X, Y).model_


@pytest.mark.parametrize("learner", [tw.Perceptron("pos", epochs=2), tw.CRF("pos", order=2, epochs=2), tw.HMM()])
def test_every_view_of_a_model_applies_the_rules(learner):
    model = learner.fit(X, Y).model_
    rules = tw.Constraints(model.labels, "BIO", **ONCE)
    plain = model.tag_batch(TEST, constraints="BIO")
    assert not all(map(satisfies, plain))
    tagged = model.tag_batch(TEST, constraints=rules)
    assert all(map(satisfies, tagged))
    best = model.tag_kbest(TEST, 3, constraints=rules, threads=2)
    number = {name: y for y, name in enumerate(model.labels)}
    for sentence, labels, own in zip(TEST, tagged, best, strict=True):
        lattice = model.lattice(sentence, constraints="BIO")
        paths = tw.paths(lattice.nodes, lattice.edges, active=lattice.active)
        named = ([model.labels[y] for y in path.labels] for path in paths)
        right = list(itertools.islice(filter(satisfies, named), 3)) if sentence else [[]]
        scores = [
            tw.score(lattice.nodes, lattice.edges, [number[name] for name in one], active=lattice.active)
            for one in right
        ]
        assert [labelling.score for labelling in own] == pytest.approx(scores)
        assert model.tag(sentence, constraints=rules) == labels
        assert all(satisfies(labelling.labels) for labelling in own)
        if sentence:
            drawn = model.lattice(sentence, constraints=rules)
            assert drawn.decode().paths[0].score == pytest.approx(scores[0])
            assert drawn.without_labelling_rules().decode().paths[0].score >= scores[0] - 1e-6
    results = model.tag_results(TEST, TagOptions(2), rules)
    assert all(result.exact and result.gap == 0 for result in results)
    assert model.explain(SENTENCE, 0, constraints=rules).reasons


def test_probabilities_are_refused(crf):
    rules = tw.Constraints(crf.labels, once=["PER"])
    for call in (
        lambda: crf.tag(SENTENCE, proba=True, constraints=rules),
        lambda: crf.tag_kbest(TEST, 2, proba=True, constraints=rules),
        lambda: crf.marginals(TEST, constraints=rules),
        lambda: crf.sample(SENTENCE, constraints=rules),
        lambda: crf.spans(SENTENCE, constraints=rules),
    ):
        with pytest.raises(ValueError, match=r"cannot apply rules about whole labellings \(at most 1 span of PER\)"):
            call()
    assert crf.has_probabilities()
    assert not crf.has_probabilities(rules)


def test_a_model_keeps_its_rules(tmp_path):
    learner = tw.CRF("pos", solver=tw.LBFGS(max_iterations=20), constraints=["BIO", {**ONCE, "limit": 77}])
    model = learner.fit(X, Y).model_
    model.save(tmp_path / "m")
    again = tw.load(tmp_path / "m")
    assert again.constraints.limit == 77
    assert repr(again.constraints) == repr(model.constraints)
    assert again.tag_batch(TEST) == model.tag_batch(TEST)
    assert all(map(satisfies, again.tag_batch(TEST)))
    text = "\n".join("\n".join([*words, ""]) for words in TEST if words)
    lines = printed("tag", "-m", str(tmp_path / "m"), "--format", "columns", given=text + "\n")
    expected = [label for words, labels in zip(TEST, again.tag_batch(TEST), strict=True) if words for label in labels]
    assert [line.split("\t")[1] for line in lines.splitlines() if line] == expected


def test_damaged_rules_are_refused(tmp_path, crf):
    rules = tw.Constraints(crf.labels, once=["PER"])
    own = rules.counts[0]
    for wrong in (
        own._replace(labels=own.labels[:1]), own._replace(labels=own.labels[::-1].copy()),
        own._replace(flags=own.flags + np.uint8(8)), own._replace(least=3, most=1), own._replace(least=-1),
        own._replace(labels=own.labels + np.int32(100)),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="constraints"):
            _core.LabellingRules.make(crf.labels, [tuple(wrong)], [], 5)


def test_gold_labels_that_violate_a_rule_are_an_error():
    with pytest.raises(ValueError, match=r"sentence 1 .*at most 1 span of PER"):
        tw.CRF("pos", constraints={"once": ["PER"]}).fit([["a"], ["b", "c"]], [["B-PER"], ["B-PER", "B-PER"]])


def test_what_refuses_rules(crf):
    rules = tw.Constraints(crf.labels, once=["PER"])
    with pytest.raises(ValueError, match="a MEMM cannot apply rules about whole labellings"):
        tw.MEMM("pos", constraints={"once": ["PER"]}).fit(X, Y)
    memm = tw.MEMM("pos", solver=tw.LBFGS(max_iterations=3)).fit(X, Y).model_
    with pytest.raises(ValueError, match="cannot apply rules about whole labellings"):
        memm.tag(SENTENCE, constraints=rules.for_labels(memm.labels))
    with pytest.raises(ValueError, match="accept is a Python function"):
        tw.CRF("pos", constraints={"accept": len}).fit(X, Y)


def test_the_command_line(tmp_path, crf):
    crf.save(tmp_path / "m")
    text = "\n".join("\n".join([*words, ""]) for words in TEST if words) + "\n"
    options = ("--scheme", "BIO", "--once", "PER", "--once", "LOC", "--at-most", "O=2")
    lines = printed("tag", "-m", str(tmp_path / "m"), "--format", "columns", *options, given=text)
    rules = tw.Constraints(crf.labels, "BIO", **ONCE)
    expected = crf.tag_batch([words for words in TEST if words], constraints=rules)
    assert [line.split("\t")[1] for line in lines.splitlines() if line] == list(itertools.chain(*expected))
    gold = "\n".join("\n".join([*map("\t".join, zip(*pair, strict=True)), ""]) for pair in zip(X, Y, strict=True))
    (tmp_path / "gold.txt").write_text(gold + "\n")
    found = json.loads(
        printed("eval", "-m", str(tmp_path / "m"), str(tmp_path / "gold.txt"), "--json", "--once", "all")
    )
    assert found["tokens"] == sum(map(len, X))
    train = ("train", str(tmp_path / "gold.txt"), str(tmp_path / "own"), "--epochs", "1", "--once", "all", "--at-least")
    assert "at least 1 span of LOC" in complaint(*train, "LOC=1")
    printed(*train[:-1])
    assert "at most 1 span of PER" in repr(tw.load(tmp_path / "own").constraints)
    assert "TYPE=NUMBER" in complaint("tag", "-m", str(tmp_path / "m"), "--at-most", "PER")
    assert "neither a span type nor a label" in complaint("tag", "-m", str(tmp_path / "m"), "--once", "ORG")
