"""Models under constraints: their own and those of a call; every learner."""

import itertools

import numpy as np
import pytest

import tagwright as tw
from tagwright import _core
from tagwright.models.bidirectional import BidirectionalModel

WORDS = ["Ann", "of", "Bonn", "met", "Bob", "in", "Rome"]
LABELS = ["B-PER", "I-PER", "O", "B-LOC", "I-LOC"]


def corpus(n=40, seed=0):
    """Sentences whose labels keep to BIO, with words that can have several labels."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        words, labels = [], []
        for _ in range(rng.integers(1, 4)):
            words += [str(rng.choice(["met", "in"]))] * int(rng.integers(0, 2))
            labels += ["O"] * (len(words) - len(labels))
            kind = str(rng.choice(["PER", "LOC"]))
            length = int(rng.integers(1, 3))
            words += rng.choice(["Ann", "Bonn", "Bob", "of", "Rome"], length).tolist()
            labels += [f"B-{kind}"] + [f"I-{kind}"] * (length - 1)
        X.append(words)
        y.append(labels)
    return X, y


X, Y = corpus()

LEARNERS = {
    "perceptron": tw.Perceptron("pos", epochs=3),
    "perceptron with parts": tw.Perceptron("pos", epochs=3, parts="-"),
    "crf": tw.CRF("pos", solver=tw.LBFGS(max_iterations=20)),
    "crf all pairs": tw.CRF("pos", solver=tw.LBFGS(max_iterations=10, pairs="all")),
    "adagrad": tw.CRF("pos", solver="adagrad", epochs=2),
    "hmm": tw.HMM(),
    "memm": tw.MEMM("pos", solver=tw.LBFGS(max_iterations=20), spans=False),
    "memm to the left": tw.MEMM("pos", solver=tw.LBFGS(max_iterations=20), spans=False, direction="left", history=1),
    "bidirectional": tw.Bidirectional(
        tw.MEMM("pos", solver=tw.LBFGS(max_iterations=20), spans=False),
        tw.MEMM("pos", solver=tw.LBFGS(max_iterations=20), spans=False, direction="left"),
    ),
    "mixed": tw.Bidirectional(
        tw.CRF("pos", solver=tw.LBFGS(max_iterations=20)),
        tw.MEMM("pos", solver=tw.LBFGS(max_iterations=20), spans=False),
    ),
}


def legal(labels):
    before = "O"
    for label in labels:
        if label.startswith("I-") and before[2:] != label[2:]:
            return False
        before = label
    return True


@pytest.fixture(scope="module", params=LEARNERS)
def learner(request):
    return LEARNERS[request.param]


@pytest.fixture(scope="module")
def model(learner):
    from sklearn.base import clone

    return clone(learner).fit(X, Y).model_


@pytest.fixture(scope="module")
def unseen():
    """Sentences of words in any order: what was learnt does not fit, so that rules matter."""
    rng = np.random.default_rng(1)
    return [rng.choice(WORDS, rng.integers(1, 7)).tolist() for _ in range(30)] + [[]]


def test_a_scheme_given_with_a_call(model, unseen):
    found = model.tag_batch(unseen, constraints="BIO")
    assert all(map(legal, found))
    assert found == model.tag_batch(unseen, constraints=tw.Constraints(sorted(LABELS), "BIO"), threads=2)
    assert found == [model.tag(own, constraints="BIO") for own in unseen]
    for own in model.tag_kbest(unseen[:5], 4, constraints="BIO"):
        assert all(legal(tagging.labels) for tagging in own)


def is_hmm(model):
    """Known words of an HMM have only the labels that they have in training, whatever else is allowed."""
    return model.facts["learner"] == "hmm"


def test_names_of_labels_may_be_those_of_numpy(model):
    names = np.array(["O", "B-PER"])
    assert model.tag(["Ann"], allowed=[[*names]]) == model.tag(["Ann"], allowed=[names.tolist()])


def test_lists_and_forced_labels(model, unseen):
    if is_hmm(model):
        with pytest.raises(ValueError, match="no path: all labels allowed for token 0 have scores of -inf"):
            model.tag(["met"], allowed=[["B-PER"]])
        return
    rng = np.random.default_rng(2)
    lists = [
        [None if rng.random() < 0.5 else rng.choice(model.labels, 2, replace=False).tolist() for _ in own]
        for own in unseen
    ]
    for own, labels in zip(lists, model.tag_batch(unseen, allowed=lists), strict=True):
        assert all(its is None or label in its for its, label in zip(own, labels, strict=True))
    forced = [rng.choice(LABELS, len(own)).tolist() for own in unseen]
    assert model.tag_batch(unseen, allowed=[[[label] for label in own] for own in forced]) == forced
    # Nothing is requested: nothing changes.
    assert model.tag_batch(unseen, allowed=[[None] * len(own) for own in unseen]) == model.tag_batch(unseen)


def test_the_answer_is_the_best_of_those_allowed(model, unseen):
    """By the scores of all labellings of short sentences, for models that are lattices."""
    if isinstance(model, BidirectionalModel) or (hasattr(model, "order") and model.order > 1):
        return
    rng = np.random.default_rng(3)
    bio = tw.Constraints(model.labels, "BIO")
    for sentence in (own[:4] for own in unseen[:12]):
        allowed = [
            None if rng.random() < 0.4 else rng.choice(model.labels, 3, replace=False).tolist() for _ in sentence
        ]
        nodes, edges, on = model.lattice(sentence)
        scored = {}
        for labels in itertools.product(range(len(model.labels)), repeat=len(sentence)):
            names = [model.labels[y] for y in labels]
            if legal(names) and all(own is None or name in own for own, name in zip(allowed, names, strict=True)):
                scored[tuple(names)] = tw.score(nodes, edges, labels, active=on)
        best = sorted(scored.values(), reverse=True)[:3]
        if not best or best[-1] == -np.inf:
            continue
        found = model.tag_kbest([sentence], 3, constraints=bio, allowed=[allowed])[0]
        assert [tagging.score for tagging in found] == pytest.approx(best, rel=1e-5)
        if not model.probabilistic:
            continue
        weights = np.exp(np.array(list(scored.values())))
        marginals = model.marginals([sentence], constraints=bio, allowed=[allowed])[0]
        for t in range(len(sentence)):
            for y, name in enumerate(model.labels):
                share = sum(w for labels, w in zip(scored, weights, strict=True) if labels[t] == name) / weights.sum()
                assert marginals[t, y] == pytest.approx(share, abs=1e-4)
        sure = model.tag_kbest([sentence], 1, proba=True, constraints=bio, allowed=[allowed])[0][0]
        assert sure.probability == pytest.approx(weights.max() / weights.sum(), rel=1e-3)


def test_a_dictionary_and_who_wins(model, unseen):
    if is_hmm(model):
        return
    words = tw.Constraints(model.labels, words={"of": ["O"], "Rome": ["B-LOC", "I-LOC"]})
    for own, labels in zip(unseen, model.tag_batch(unseen, constraints=words), strict=True):
        for word, label in zip(own, labels, strict=True):
            assert word != "of" or label == "O"
            assert word != "Rome" or label in ("B-LOC", "I-LOC")
    # A forced label wins over the dictionary.
    assert model.tag(["of"], constraints=words, allowed=[["B-PER"]]) == ["B-PER"]


@pytest.mark.parametrize("name", ["perceptron", "crf", "crf all pairs", "adagrad", "hmm", "memm"])
def test_models_keep_what_they_were_trained_with(name, unseen, tmp_path):
    from sklearn.base import clone

    learner = clone(LEARNERS[name]).set_params(constraints=["BIO", 6])
    trained = learner.fit(X, Y).model_
    assert [rule.name for rule in trained.constraints.rules] == ["scheme BIO"]
    observed = {}
    for word, label in ((word, label) for own in zip(X, Y, strict=True) for word, label in zip(*own, strict=True)):
        observed.setdefault(word, []).append(label)
    found = trained.tag_batch(unseen)
    assert all(map(legal, found))
    for own, labels in zip(unseen, found, strict=True):
        assert all(
            word not in observed or len(observed[word]) < 6 or label in observed[word]
            for word, label in zip(own, labels, strict=True)
        )
    trained.save(tmp_path / "model.safetensors")
    again = tw.load(tmp_path / "model.safetensors")
    assert again.tag_batch(unseen) == found
    assert repr(again.constraints) == repr(trained.constraints)
    sides = tw.Bidirectional(trained, trained).fit().model_
    assert all(map(legal, sides.tag_batch(unseen)))


@pytest.mark.parametrize("learner", [tw.Perceptron("pos", epochs=4), tw.CRF("pos", solver=tw.LBFGS(max_iterations=10))])
def test_training_under_constraints_is_another_training(learner):
    """The same corpus, with and without: what is never guessed is never unlearnt."""
    from sklearn.base import clone

    plain, ruled = (clone(learner).set_params(constraints=c).fit(X, Y).model_ for c in (None, "BIO"))
    assert not np.array_equal(plain.arrays["rows.weight"], ruled.arrays["rows.weight"])
    assert learner.fit(X, Y).score(X, Y) <= 1


def test_log_z_and_gradient_of_a_constrained_crf():
    from tagwright.models.native import core_templates, core_text

    features = tw.Features("U00:%x[0,0]\nB\n")
    labels = ["O", "B-X", "I-X"]
    sentences = [["a", "b", "a"], ["b"], ["a", "a"]]
    right = np.array([0, 1, 2, 1, 0, 0], np.int32)
    for options in (
        {"scheme": "BIO"},
        {"forbid": [("B-X", "O"), ("O", "I-X")]},
        {"scheme": "BIO", "forbid": [("O", "B-X")]},
    ):
        constraints = tw.Constraints(labels, **options)
        if options.get("forbid") == [("O", "B-X")]:
            right = np.array([0, 0, 0, 1, 0, 0], np.int32)
        for lists in (None, [[None, [0, 1, 2], [0, 2]], [[1]], None]):
            for dense in (False, True):
                more = {} if lists is None else {"allowed": _core.AllowedLists.read(lists, [3, 1, 2], [3])}
                text = core_text(sentences, features)
                corpus = _core.Corpus.read(text, core_templates(features), right, names=labels)
                trainer = _core.BatchObjective.make(
                    corpus, all_pairs=True, dense_edges=dense, rules=constraints.core(), **more
                )
                rng = np.random.default_rng(4)
                weights = rng.normal(size=trainer.size)
                counts = np.zeros(trainer.size)

                def log_z(w, trainer=trainer):
                    return trainer.expect(w, ("", 0.0, 1), np.arange(3, dtype=np.int32), 1, np.zeros(trainer.size))[0]

                found = trainer.expect(weights, ("", 0.0, 1), np.arange(3, dtype=np.int32), 1, counts)[0]
                model = tw.Model(labels, features, trainer.model_weights(weights).arrays(), {"learner": "crf"})
                truth = 0.0
                for sentence, own in zip(sentences, lists or [None] * 3, strict=True):
                    nodes, edges, on = model.lattice(sentence)
                    scores = [
                        tw.score(nodes, edges, path, active=on)
                        for path in itertools.product(range(3), repeat=len(sentence))
                        if all(constraints.may_follow(labels[i], labels[j]) for i, j in itertools.pairwise(path))
                        and (constraints.start is None or constraints.start[path[0]])
                        and (own is None or all(its is None or y in its for its, y in zip(own, path, strict=True)))
                    ]
                    truth += np.logaddexp.reduce(scores)
                assert found == pytest.approx(truth, rel=1e-5)
                for at in range(trainer.size):
                    step = np.zeros(trainer.size)
                    step[at] = 1e-5
                    slope = (log_z(weights + step) - log_z(weights - step)) / 2e-5
                    assert counts[at] == pytest.approx(slope, abs=1e-6)


def test_what_training_refuses():
    with pytest.raises(
        ValueError, match=r"the labels of sentence 1 break the constraints .*'I-PER' of token 1 may not follow"
    ):
        tw.Perceptron("pos", constraints="BIO").fit([["a"], ["b", "c"]], [["O"], ["O", "I-PER"]])
    with pytest.raises(ValueError, match="'I-PER' may not be the first"):
        tw.CRF("pos", constraints="BIO").fit([["a"]], [["I-PER"]])
    with pytest.raises(ValueError, match="the label 'NN' is not of scheme BIO"):
        tw.HMM(constraints="BIO").fit([["a"]], [["NN"]])
    with pytest.raises(ValueError, match=r"constraints must be tw\.Constraints, its arguments, a scheme or a number"):
        tw.CRF("pos", constraints=2.5).fit([["a"]], [["O"]])
    with pytest.raises(ValueError, match="a scheme is a name such as BIO, or BIO:1"):
        tw.CRF("pos", constraints="BIO:x").fit([["a"]], [["O"]])


def test_joint_labels():
    y = [[f"N|{label}" for label in own] for own in Y]
    model = tw.Perceptron("pos", epochs=2, constraints="BIO:1").fit(X, y).model_
    for own in model.tag_batch(X):
        assert legal([label.partition("|")[2] for label in own])


def test_what_tagging_refuses(model):
    with pytest.raises(ValueError, match=r"allowed\[0\] names 'X', which is no label of the model"):
        model.tag(["a"], allowed=[["X"]])
    with pytest.raises(ValueError, match="allowed has 1 entries, but there are 2 tokens"):
        model.tag(["a", "b"], allowed=[["O"]])
    with pytest.raises(ValueError, match="the constraints do not know the label"):
        model.tag(["a"], constraints=tw.Constraints(["O"], forbid=[("O", "O")]))
    with pytest.raises(ValueError, match="no path"):
        model.tag(["a", "b"], constraints="BIO", allowed=[["O"], ["I-PER"]])
    both = tw.Constraints(model.labels, words={"a": ["O"]}) & tw.Constraints(model.labels, words={"a": ["B-PER"]})
    with pytest.raises(ValueError, match="sentence 0: the tag dictionary leaves no label for token 1, 'a'"):
        model.tag(["b", "a"], constraints=both)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("entry", lambda a: a[:-1]),
        ("exit", lambda a: np.append(a, a[:1])),
        ("entry", lambda a: a - 7),
        ("previous", lambda a: np.append(a, np.int32(0))),
        ("start", lambda a: a[:-1]),
        ("list", lambda a: a + np.int32(99)),
        ("list", lambda a: a[::-1].copy()),
        ("list_end", lambda a: a[::-1].copy()),
        ("word_end", lambda a: a + np.uint64(1)),
        ("names", lambda a: a[:0]),
    ],
)
def test_damaged_files(name, change, tmp_path):
    model = tw.Perceptron("pos", epochs=1, constraints=["BIO", 2]).fit(X, Y).model_
    arrays = {**model.arrays, f"constraints.{name}": change(model.arrays[f"constraints.{name}"])}
    with pytest.raises(ValueError, match=r"constraints|index|labels"):
        tw.Model(model.labels, model.features, arrays, model.facts)


def test_files_are_tagged_with_a_dictionary_as_lists_are(tmp_path):
    words = [["the", "dog", "barks"], ["a", "dog", "the"], ["unheard", "of"]]
    labels = [["DT", "NN", "VB"], ["DT", "NN", "DT"], ["VB", "DT"]]
    made = tw.Perceptron("pos", epochs=3, constraints=2).fit(words, labels).model_
    assert made.constraints.words
    block = "".join("".join(f"{word}\n" for word in own) + "\n" for own in words).encode()
    form = _core.LineFormat.make(
        conllu=False, comments=False, tab=True, width=1, columns=1, picks=[], labelled=False, separator="\t"
    )
    lines = [line.split("\t")[1] for line in made.tag_lines(block, form).decode().split("\n") if line]
    assert lines == [label for own in made.tag_batch(words) for label in own]
    known = {"the": {"DT"}, "dog": {"NN"}}
    for own, found in zip(words, made.tag_batch(words), strict=True):
        assert all(y in known.get(word, {"DT", "NN", "VB"}) for word, y in zip(own, found, strict=True))
