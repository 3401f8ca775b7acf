"""Learners: one contract for all of them, and each against a plain-Python account of itself."""

import itertools
import math
import re
from collections import Counter, defaultdict
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from support.brute_force import Case, all_paths
from support.comparing import comparing
from support.corpora import (
    drawn,
    many_labels,
    names_of,
    runs_met,
    runs_of,
    same_arrays,
    ten_sentences,
    train_and_dev,
    untimed,
    weights_of,
)
from support.memory import measurable, megabytes

import tagwright as tw

X10, Y10 = ten_sentences()
WORD = "U:%x[0,0]\nB\n"
DEPENDENT = "U0:%x[0,0]\nU1:%x[-1,0]\nB\nB01:%x[0,0]\n"

LEARNERS = {
    "perceptron": tw.Perceptron(),
    "observed pairs": tw.Perceptron(pairs="observed"),
    "rare features dropped": tw.Perceptron(min_count=2),
    "staggered": tw.Perceptron(decoder="staggered"),
    "beam": tw.Perceptron(decoder=tw.Beam(width=4)),
    "token-dependent edges": tw.Perceptron(features=DEPENDENT),
    "margin": tw.Perceptron(margin=2),
    "batches": tw.Perceptron(batch=4),
    "parts": tw.Perceptron(parts="", epochs=12),
    "parts, observed pairs": tw.Perceptron(parts="N", pairs="observed", margin=0.5),
    "order 2": tw.Perceptron(order=2),
    "order 3": tw.Perceptron(order=3, min_ngram_count=2, margin=1),
    "hmm": tw.HMM(),
    "crf": tw.CRF(solver=tw.LBFGS(l2=0.01, max_iterations=30)),
    "crf, sparse": tw.CRF(solver=tw.LBFGS(l2=0.01, max_iterations=30), pruning=tw.KeepDivergence(0.001, at_least=2)),
    "crf, dense edges": comparing(tw.CRF, l2=0.01, max_iterations=30, dense_edges=True),
    "crf, edges": tw.CRF("U:%x[0,0]\nB\nB1:%x[0,0]\n", solver=tw.LBFGS(l2=0.01, max_iterations=30)),
    "crf, l1": tw.CRF(solver=tw.LBFGS(l1=0.01, l2=0.01, max_iterations=30)),
    "crf, adagrad": tw.CRF(solver=tw.AdaGrad(l2=0.01), pruning="exact", epochs=20),
    "crf, the default": tw.CRF(),
    "crf, pruned": tw.CRF(solver=tw.AdaGrad(l2=0.01, pairs="observed"), pruning=tw.KeepDivergence(0.01, at_least=2)),
    "crf, parts": tw.CRF(parts="", epochs=15),
    "crf, one label": tw.CRF(solver=tw.AdaGrad(batch=1), pruning=tw.KeepSize(1)),
    "crf, ratio, edges": tw.CRF("U:%x[0,0]\nB\nB1:%x[0,0]\n", solver=tw.AdaGrad(batch=3), pruning=tw.KeepRatio(0.1)),
    "crf, order 2": tw.CRF(order=2),
    "crf, order 2, l-bfgs": tw.CRF(order=2, solver=tw.LBFGS(l2=0.01, max_iterations=30)),
    "crf, order 3, sparse": tw.CRF(
        order=3, solver=tw.LBFGS(l2=0.01, max_iterations=30), pruning=tw.KeepDivergence(0.001, at_least=2)
    ),
    "crf, order 3, adagrad": tw.CRF(DEPENDENT, order=3, solver=tw.AdaGrad(l2=0.01), pruning="exact", epochs=20),
    "crf, order 3, pruned": tw.CRF(order=3, min_ngram_count=2, solver=tw.AdaGrad(l2=0.01), pruning=tw.KeepSize(3)),
    "memm": tw.MEMM(history=1, solver=tw.LBFGS(l2=0.01, max_iterations=30)),
    "memm, left": tw.MEMM(history=1, direction="left", dictionary=2, solver=tw.LBFGS(l2=0.01, max_iterations=30)),
    "bidirectional": tw.Bidirectional(
        tw.MEMM(solver=tw.LBFGS(l2=0.01, max_iterations=30)),
        tw.MEMM(direction="left", solver=tw.LBFGS(l2=0.01, max_iterations=30)),
    ),
}
PERCEPTRONS = [name for name, learner in LEARNERS.items() if isinstance(learner, tw.Perceptron)]


@pytest.fixture(params=LEARNERS)
def learner(request):
    return clone(LEARNERS[request.param])


def is_beam(learner):
    return isinstance(learner.decoder, tw.Beam)


# The contract


def test_overfits_ten_sentences(learner):
    right = learner.fit(X10, Y10).score(X10, Y10)
    predicted = list(itertools.chain(*learner.predict(X10)))
    assert right == np.mean([a == b for a, b in zip(predicted, itertools.chain(*Y10), strict=True)])
    assert right == 1.0 if not isinstance(learner, tw.HMM) else right > 0.9


def test_same_seed_same_weights(learner):
    once = learner.fit(X10, Y10).model_
    again = clone(learner).fit(X10, Y10).model_
    assert once is not again
    assert same_arrays(once.arrays, again.arrays)
    assert once.labels == again.labels


@pytest.mark.parametrize("name", PERCEPTRONS)
def test_another_seed_other_weights(name):
    models = [clone(LEARNERS[name]).set_params(seed=seed).fit(X10, Y10).model_ for seed in (0, 1)]
    assert not same_arrays(models[0].arrays, models[1].arrays)


def test_threads_do_not_change_weights(learner):
    alone = learner.fit(X10, Y10).model_
    for threads in (2, 3, 16):
        many = clone(learner).set_params(threads=threads).fit(X10, Y10)
        assert same_arrays(alone.arrays, many.model_.arrays)
        assert many.predict(X10) == learner.predict(X10)


@pytest.mark.parametrize("threads", [2, 3, 5])
def test_threads_do_not_change_weights_of_features_with_values(threads):
    rng = np.random.default_rng(0)
    X = [
        [{f"f{n}": float(v) for n, v in zip(rng.integers(0, 5, 3), rng.normal(size=3), strict=True)}] for _ in range(9)
    ]
    X[0][0]["f0"] = 2.5
    y = [[str(rng.integers(3))] for _ in X]
    models = [tw.Perceptron(features=None, epochs=3, threads=n).fit(X, y).model_ for n in (1, threads)]
    assert same_arrays(models[0].arrays, models[1].arrays)


def test_save_and_load_are_identical(learner, tmp_path):
    model = learner.fit(X10, Y10).model_
    model.save(tmp_path / "model")
    loaded = tw.load(tmp_path / "model")
    assert same_arrays(model.arrays, loaded.arrays)
    assert (loaded.labels, loaded.facts, loaded.columns) == (model.labels, model.facts, model.columns)
    X = [*X10, ["unheard", "of", "words"], []]
    assert loaded.tag_batch(X) == model.tag_batch(X)
    assert loaded.tag_kbest(X, 3) == model.tag_kbest(X, 3)


def test_kbest(learner):
    if isinstance(learner, tw.Bidirectional):
        pytest.skip("not applicable: two models have no lattice in common; they have tests of their own")
    model = learner.fit(X10, Y10).model_
    best = learner.predict(X10)
    number = {label: n for n, label in enumerate(model.labels)}
    if learner.decoder == "staggered":
        with pytest.raises(ValueError, match="decoder 'staggered' gives one path only"):
            learner.predict_kbest(X10, 5)
        learner.set_params(decoder="auto")
    for sentence, found, first in zip(X10, learner.predict_kbest(X10, 5), best, strict=True):
        nodes, edges, active = model.lattice(sentence)
        assert nodes.shape == (len(sentence), len(model.labels))
        assert (active is not None) == ("corrections.set" in model.arrays)
        assert is_beam(learner) or found[0].labels == first
        assert len({tuple(tagging.labels) for tagging in found}) == len(found) >= 1
        scores = [tagging.score for tagging in found]
        assert scores == sorted(scores, reverse=True)
        for labels, score, *_ in found:
            assert score == tw.score(nodes, edges, [number[label] for label in labels], active=active)


def test_the_best_path_by_brute_force(learner):
    if isinstance(learner, tw.MEMM | tw.Bidirectional):
        pytest.skip("not applicable: these have tests of their own")
    model = learner.fit(*drawn(1, labels=3, longest=4)).model_
    L = len(model.labels)
    matrix = np.zeros((L, L))
    matrix[model.arrays["edges.previous"], model.arrays["edges.current"]] = model.arrays["edges.score"]
    border = [model.arrays.get(name, np.zeros(L)) for name in ("start", "stop")]
    sets = weights_of(model)[2] if "corrections.set" in model.arrays else {}
    for sentence in [["w0", "w1", "w2", "w3"], ["w5", "new", "w1", "w0"], ["w2"]]:
        steps = np.repeat(matrix[None], len(sentence) - 1, axis=0)
        for t, word in enumerate(sentence[1:]):
            for (name, previous, current), score in sets.items():
                if name.endswith(f":{word}"):
                    steps[t, model.labels.index(previous), model.labels.index(current)] += score
        runs = {tuple(map(model.labels.index, run)): score for run, score in runs_of(model).items()}
        case = Case(model.lattice(sentence).nodes, None, None, steps, *border, runs)
        truth = all_paths(case)
        found = model.tag_kbest([sentence], 4)[0]
        assert [tagging.score for tagging in found] == pytest.approx([score for score, _ in truth[:4]], rel=1e-6)


@pytest.mark.slow
def test_scikit_learn(learner):
    X, y = X10 * 3, Y10 * 3
    assert repr(clone(learner).get_params()) == repr(learner.get_params())
    assert cross_val_score(learner, X, y, cv=3).min() > 0.9
    grid = {"decoder": ["viterbi", "staggered"]}
    search = GridSearchCV(learner, grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.8
    assert search.predict(X10[:1]) == [Y10[0]]


@pytest.mark.slow
def test_templates_that_were_read():
    templates = tw.Features("U0:%x[0,0]\nU1:%x[-1,0]/%in[0,0,l]\nB\n", {"l": ["can", "run"]})
    learner = tw.Perceptron(features=templates, epochs=5)
    copied = clone(learner)
    text = tw.Perceptron(features=tw.Features(templates.text, {"l": ["can", "run"]}), epochs=5)
    for one in (learner, copied, text):
        one.fit(X10, Y10)
        assert same_arrays(one.model_.arrays, learner.model_.arrays)
        assert untimed(one.model_) == untimed(learner.model_)
    X, y = X10 * 3, Y10 * 3
    alone = cross_val_score(learner, X, y, cv=2).tolist()
    assert cross_val_score(learner, X, y, cv=2, n_jobs=2).tolist() == alone
    assert cross_val_score(text, X, y, cv=2, n_jobs=2).tolist() == alone


def test_not_fitted(learner):
    for call in (lambda: learner.predict(X10), lambda: learner.predict_kbest(X10), lambda: learner.score(X10, Y10)):
        with pytest.raises(NotFittedError, match=rf"this {type(learner).__name__} is not fitted yet; call fit"):
            call()


@pytest.mark.parametrize(
    ("X", "y", "says"),
    [
        ([["a"]], [["A"], ["B"]], "X has 1 sentences, but y has 2"),
        ([["a"], ["a", "b"]], [["A"], ["A"]], "sentence 1 has 2 tokens, but 1 labels"),
        ([["a"]], ["A"], r"y\[0\] is a string"),
        ([], [], "there is no token to learn from"),
        ([[], []], [[], []], "there is no token to learn from"),
        ([["a"]], [[""]], "label '' is empty or holds characters that cannot be printed"),
        ([["a"]], [["A\n"]], "cannot be printed"),
        ([["a"]], [["A\u3000"]], "cannot be printed"),
        ([["DT"]], [[["a", "b"]]], r"y\[0\]\[0\] is a list, but a label is a string .*: are X and y swapped\?"),
        ("the dog", [["DT", "NN"]], "X must be a list of sentences, not str"),
        ([["a"]], 5, "y must be a list with the labels of each sentence, not int"),
        ([["a", "b"]], [["x", 5]], r"labels must be strings, not int \(5\)"),
        ([["a", "b"]], [[5, "x"]], r"integers and strings"),
        ([["a", 5]], [["A", "A"]], "^sentence 0, token 1"),
    ],
)
def test_data_that_does_not_fit(learner, X, y, says):
    with pytest.raises(ValueError, match=says):
        learner.fit(X, y)


@pytest.mark.parametrize("kind", [int, np.int64])
def test_integer_labels_are_returned_as_they_were_given(learner, kind):
    X = [["the", "dog", "barks"], ["a", "cat"]] * 6
    names, y = [["D", "N", "V"], ["D", "N"]] * 6, [[kind(7), kind(-2), kind(0)], [kind(7), kind(-2)]] * 6
    found = learner.fit((iter(own) for own in X), (own for own in y)).predict(X)
    assert found == y
    assert {type(label) for own in found for label in own} == {int}
    assert sorted(learner.classes_) == [-2, 0, 7]
    assert set(learner.model_.labels) == {"-2", "0", "7"}
    assert learner.score(X, y) == tw.token_accuracy(learner, X, y) == tw.sequence_accuracy(y, found) == 1
    assert learner.predict_kbest(X[:1], 1)[0][0].labels == y[0]
    assert learner.fit(X, names).predict(X) == names


def test_series_and_arrays_of_objects(learner):
    pandas = pytest.importorskip("pandas")
    X, y = [["the", "dog", "barks"], ["a", "cat"]] * 3, [["D", "N", "V"], ["D", "N"]] * 3
    expected = learner.fit(X, y).predict(X)
    for made in (pandas.Series, lambda own: pandas.Series(own, index=range(9, 3, -1)), objects):
        assert clone(learner).fit(made(X), made(y)).predict(made(X)) == expected


def objects(lists):
    made = np.empty(len(lists), object)
    made[:] = lists
    return made


def test_labels_that_change_while_they_are_read(learner):
    class Fickle(str):
        def __hash__(self):
            return next(hashes)

    hashes = itertools.count(1)
    with pytest.raises(ValueError, match="y changed while it was read"):
        learner.fit([["a", "b"]], [[Fickle("A"), Fickle("B")]])


@pytest.mark.parametrize("token", [5, None, ["a"], [], {"w": "a"}, "\ud800", ["a", None], ["a", "\ud800"]])
@pytest.mark.parametrize("name", ["hmm", "perceptron"])
def test_tokens_that_are_not_text_are_named(name, token):
    learner = tw.HMM(column=1) if name == "hmm" else tw.Perceptron(features="U:%x[0,1]\n")
    good = ["x", "a"]
    with pytest.raises(ValueError, match=r"^sentence 1, token 2"):
        learner.fit([[good, good], [good, good, token]], [["A", "B"], ["A", "B", "A"]])


def test_empty_sentences_are_passed_over(learner):
    X, y = [[], *X10, []], [[], *Y10, []]
    learner.fit(X, y)
    assert learner.predict(X) == [[], *learner.predict(X10), []]


def test_a_fit_that_fails_leaves_the_old_model(learner):
    model = learner.fit(X10, Y10).model_
    with pytest.raises(ValueError, match="sentence 0 has"):
        learner.fit([["a"]], [[]])
    assert learner.model_ is model


# The perceptron


def tie_preferences(L):
    """What breaks ties, as cpp/train/perceptron.cpp documents it: frequent labels first, otherwise random."""
    state, ties = 0x853C49E6748FEA9B, np.empty((61, L))
    for t, y in itertools.product(range(61), range(L)):
        state ^= state << 13 & 0xFFFFFFFFFFFFFFFF
        state ^= state >> 7
        state ^= state << 17 & 0xFFFFFFFFFFFFFFFF
        ties[t, y] = -min(y, 4095) * 2.0**-20 - (state >> 49) * 2.0**-36
    return ties


def parts_of(label, labels, separator):
    """What else than itself a label is: its parts (k, text), as many for all labels."""
    if separator is None:
        return []
    blanks = str.maketrans(dict.fromkeys(separator, " "))
    pieces = {name: list(name) if separator == "" else name.translate(blanks).split(" ") for name in labels}
    most = max(map(len, pieces.values()))
    return list(enumerate(pieces[label] + [""] * (most - len(pieces[label]))))


def collins(
    X, y, labels, epochs, seed=0, observed=False, templates=("U", "B"), margin=0, parts=None, batch=1, order=1, least=1
):  # fmt: skip
    """Collins (2002), figure 1 and section 2.3: weights after every sentence are summed, in the end divided.

    Features: U:word, a constant V, edges, B01:word for edges, and label n-grams of the corpus. Every labelling
    is enumerated; with a margin, each right label scores that much less. Sentences of a batch are decoded with the same
    weights, and then change them by the mean of their updates (Zhao and Huang 2013, figure 2).
    """
    weight, total = defaultdict(float), Counter()
    ties = tie_preferences(len(labels))
    keys = {label: [label, *parts_of(label, labels, parts)] for label in labels}
    runs = runs_met(y, order, least)

    def features(words, path):
        found = Counter()
        for word, label in zip(words, path, strict=True):
            found.update(("U:" + word, key) for key in keys[label])
            found.update(("UV", key) for key in keys[label] if "V" in templates)
        for t in range(1, len(path)):
            found[path[t - 1], path[t]] += 1 * ("B" in templates)
            found["B01:" + words[t], path[t - 1], path[t]] += 1 * ("B01" in templates)
            for length in range(3, min(4, t + 1) + 1):
                run = tuple(path[t + 1 - length : t + 1])
                found[run] += run in runs
        return found

    def best(words, truth):
        def score(path):
            preference = sum(ties[t % 61, labels.index(label)] for t, label in enumerate(path))
            preference -= margin * sum(a == b for a, b in zip(path, truth, strict=True))
            return sum(weight[f] * count for f, count in features(words, path).items()) + preference

        return max(itertools.product(labels, repeat=len(words)), key=score)

    met = set().union(*(features(words, path) for words, path in zip(X, y, strict=True)))
    history, n = [], 0
    for epoch in range(epochs):
        wrong = 0
        order = np.random.default_rng([seed, epoch]).permutation(len(X))
        for at in range(0, len(X), batch):
            guesses = [(s, best(X[s], y[s])) for s in order[at : at + batch]]
            for s, guess in guesses:
                wrong += sum(a != b for a, b in zip(guess, y[s], strict=True))
                for path, sign in ((y[s], 1), (guess, -1)):
                    for f, count in features(X[s], path).items():
                        if not observed or f in met:
                            weight[f] += sign * count / batch
            for _ in guesses:
                total.update(weight)
                n += 1
        history.append(wrong / sum(map(len, X)))
    return {f: value / n for f, value in total.items() if value}, history


def all_weights_of(model, separator=None):
    """The weights of a model by name, as `collins` names them."""
    L, numbers = len(model.labels), model.arrays.get("parts", np.empty(0, np.uint16)).tolist()
    names = {}
    for k, y in itertools.product(range(len(numbers) // L), range(L)):
        name = parts_of(model.labels[y], model.labels, separator)[k]
        # One number per part, and one part per number.
        assert names.setdefault(numbers[k * L + y], name) == name
    assert len(set(names.values())) == len(names)
    keys = [*model.labels, *(names[n] for n in sorted(names))]
    nodes, edges, sets = weights_of(SimpleNamespace(arrays=model.arrays, labels=keys))
    return nodes | edges | sets | runs_of(model)


def is_collins(learner, X, y, templates=("U", "B")):
    """Whether a learner comes to the weights and errors of `collins`; the model, to look further."""
    text = "".join({"U": "U:%x[0,0]\n", "V": "UV\n", "B": "B\n", "B01": "B01:%x[0,0]\n"}[name] for name in templates)
    learner.set_params(features=text, decoder="viterbi").fit(X, y)
    options = learner.get_params()
    weights, history = collins(
        X, y, learner.model_.labels, options["epochs"], options["seed"], options["pairs"] == "observed",
        templates, options["margin"], options["parts"], options["batch"], options["order"], options["min_ngram_count"],
    )  # fmt: skip
    assert len(weights) > 10
    assert all_weights_of(learner.model_, options["parts"]) == pytest.approx(weights, abs=1e-5)
    assert [fact["error"] for fact in learner.history_] == history
    return learner.model_


def scores_are_sums(model, separator=None, sentence=("w0", "w3", "rare", "new", "w1")):
    """Whether a label's score is the sum of its features' weights, its own and those for its parts."""
    weights = all_weights_of(model, separator)
    for row, word in zip(model.lattice(sentence).nodes, sentence, strict=True):
        for label, score in zip(model.labels, row, strict=True):
            keys = [label, *parts_of(label, model.labels, separator)]
            truth = sum(weights.get((name, key), 0) for name in (f"U:{word}", "UV") for key in keys)
            assert score == pytest.approx(truth, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("pairs", ["touched", "observed"])
@pytest.mark.parametrize("templates", [("U",), ("U", "B"), ("U", "B", "B01")], ids="+".join)
@pytest.mark.parametrize("seed", range(3))
def test_perceptron_is_collins(seed, templates, pairs):
    X, y = drawn(seed, sentences=8, labels=3, longest=5)
    is_collins(tw.Perceptron(epochs=4, seed=seed, pairs=pairs), X, y, templates)


@pytest.mark.parametrize("min_ngram_count", [1, 2])
@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_orders(seed, order, min_ngram_count):
    X, y = drawn(seed, sentences=8, labels=3, longest=6)
    model = is_collins(tw.Perceptron(epochs=5, seed=seed, order=order, min_ngram_count=min_ngram_count), X, y)
    found = runs_of(model)
    assert set(found) <= runs_met(y, order, min_ngram_count)
    assert found or min_ngram_count > 1


@pytest.mark.parametrize("options", [{}, {"pairs": "observed", "margin": 1}, {"parts": "L"}], ids=str)
@pytest.mark.parametrize("batch", [2, 4, 64])
def test_batches(batch, options):
    X, y = drawn(batch, sentences=11, labels=3, longest=5)
    is_collins(tw.Perceptron(epochs=6, batch=batch, threads=3, **options), X, y, ("U", "B", "B01"))


@pytest.mark.parametrize("pairs", ["touched", "observed"])
@pytest.mark.parametrize("margin", [0.5, 1, 3])
def test_margin(margin, pairs):
    X, y = drawn(4, sentences=8, labels=3, longest=5)
    model = is_collins(tw.Perceptron(epochs=4, margin=margin, pairs=pairs), X, y, ("U", "B", "B01"))
    none = tw.Perceptron(features=model.features, epochs=4, pairs=pairs).fit(X, y)
    zero = tw.Perceptron(features=model.features, epochs=4, pairs=pairs, margin=0.0).fit(X, y)
    assert none.get_params()["margin"] == 0
    assert same_arrays(none.model_.arrays, zero.model_.arrays)
    assert not same_arrays(none.model_.arrays, model.arrays)


# Labels whose parts have a separator, labels of unequal numbers of parts, one that is the part of another.
NAMES = {
    "|": ["A|x", "A|y", "B|x", "A", "B|", "x|A|y"],
    "": ["ax", "ay", "bx", "a", "xa", "byx"],
    "+": ["A", "B|x", "C", "D"],
    "-|": ["A-x|1", "A|x", "A-x", "B"],
}


def renamed(y, names):
    return [[names[int(label[1:])] for label in path] for path in y]


@pytest.mark.parametrize("pairs", ["touched", "observed"])
@pytest.mark.parametrize("separator", NAMES)
@pytest.mark.parametrize("margin", [0, 1])
def test_parts(separator, margin, pairs):
    X, y = drawn(6, sentences=12, words=4, labels=len(NAMES[separator]), longest=3)
    y = renamed(y, NAMES[separator])
    learner = tw.Perceptron(epochs=3, parts=separator, margin=margin, pairs=pairs)
    model = is_collins(learner, X, y, ("U", "V", "B"))
    assert any(isinstance(key, tuple) for _, key, *_ in all_weights_of(model, separator))
    scores_are_sums(model, separator)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"pairs": "observed"}, {"margin": 1}, {"parts": "L"}], ids=str)
def test_features_that_name_many_labels(options):
    # UV and the two words soon name more than a third of the labels: they are added by another loop.
    X, y = drawn(0, sentences=40, words=2, labels=25, longest=2)
    rare = [["rare"], ["seldom", "w0"]], [["L1"], ["L2", "L3"]]
    model = is_collins(tw.Perceptron(epochs=2, **options), X + rare[0], y + rare[1], ("U", "V", "B"))
    sizes = np.diff(model.arrays["rows.end"].astype(int), prepend=0)
    keys = int(max(model.arrays["rows.label"])) + 1
    assert (3 * sizes > keys).any()
    assert (3 * sizes < keys).any()
    scores_are_sums(model, options.get("parts"))


def test_perceptron_goes_past_the_rows_of_preferences():
    # Sentences longer than the 61 rows of tie preferences; with one label per word nothing else decides.
    X, y = [["a"] * 130], [["A", "B"] * 65]
    models = [
        tw.Perceptron(features=WORD, epochs=3, decoder=decoder).fit(X, y).model_
        for decoder in ("viterbi", "staggered", "carpediem")
    ]
    assert same_arrays(models[0].arrays, models[1].arrays)
    assert same_arrays(models[0].arrays, models[2].arrays)


@pytest.mark.parametrize(
    "options", [{}, {"margin": 1, "parts": ""}, {"margin": 3, "pairs": "observed"}, {"batch": 8}], ids=str
)
def test_exact_decoders_lead_to_the_same_weights(options):
    X, y = many_labels()
    options = {"features": DEPENDENT + "UV\n", "epochs": 3, **options}
    first = comparing(tw.Perceptron, decoder="viterbi", dense_edges=True, **options).fit(X, y).model_
    assert len(first.labels) > 50
    for row in tw.decoders():
        for dense in (True, False):
            if row.exact and row.maximises == "score":
                learner = comparing(tw.Perceptron, decoder=row.name, dense_edges=dense, **options)
                assert same_arrays(learner.fit(X, y).model_.arrays, first.arrays), (row.name, dense)


def test_a_narrow_beam_leads_to_other_weights():
    X, y = many_labels()
    exact, beam = (
        tw.Perceptron(features=WORD, epochs=3, decoder=decoder).fit(X, y).model_
        for decoder in ("auto", tw.Beam(width=1))
    )
    assert not same_arrays(exact.arrays, beam.arrays)


@measurable
@pytest.mark.parametrize("learner", ["Perceptron(batch={})", "CRF(solver=tw.AdaGrad(batch={}))"])
def test_memory_follows_the_sentences_and_not_the_batch(learner):
    code = """
import tagwright as tw
X, y = [["the", "dog", "barks"]] * 9, [["D", "N", "V"]] * 9
tw.{}.fit(X, y)
begin()
tw.{}.fit(X, y)
"""
    assert megabytes(code.format(learner.format(8), learner.format(2_000_000_000))) < 5


def test_error_falls():
    X, y = many_labels()
    history = tw.Perceptron(features="U:%x[0,0]\nU1:%x[-1,0]\nB\n", epochs=8).fit(X, y).history_
    assert len(history) == 8
    errors = [fact["error"] for fact in history]
    assert errors[-1] < errors[3] < errors[0]
    assert all(fact["seconds"] >= 0 for fact in history)


@pytest.mark.parametrize("learner", [tw.Perceptron(epochs=5), tw.CRF()], ids=lambda learner: type(learner).__name__)
def test_min_count(learner):
    X, y = drawn(5, sentences=12, words=20)
    count = Counter(itertools.chain(*X))
    for least in (1, 2, 3):
        learner.set_params(features="U0:%x[0,0]\nUV\nB\nB01:%x[0,0]\n", min_count=least)
        arrays = learner.fit(X, y).model_.arrays
        assert min(count[name[3:]] for name in names_of(arrays) if name != "UV") == least
        assert min(count[name[4:]] for name in names_of(arrays, "edge_names")) >= least


def test_min_count_is_of_tokens():
    X, y = [[["a", "a"]], [["b"]], [["b"]]], [["B"], ["A"], ["A"]]
    for least in (1, 2):
        model = tw.Perceptron(features=None, min_count=least, epochs=1).fit(X, y).model_
        assert ("a" in names_of(model.arrays)) == (least == 1)


@pytest.mark.parametrize("parts", [None, ""])
def test_min_weight(parts):
    X, y = many_labels()
    options = {"features": DEPENDENT, "epochs": 3, "parts": parts}
    whole = tw.Perceptron(**options).fit(X, y).model_
    weights = all_weights_of(whole, parts)
    names = set(names_of(whole.arrays))
    for least in (0.3, 1, 1e9):
        with pytest.warns(DeprecationWarning, match="min_weight"):
            model = tw.Perceptron(min_weight=least, **options).fit(X, y).model_
        large = {f: w for f, w in weights.items() if f[0] not in names or abs(w) >= least}
        assert all_weights_of(model, parts) == large
        assert len(large) < len(weights)
        words = {name for name in names if name.startswith("U0:")}  # a model keeps all observed words
        assert set(names_of(model.arrays)) == {f[0] for f in large} & names | words
        edges = [name for name in whole.arrays if name.startswith(("edges.", "edge_names.", "corrections."))]
        assert len(edges) == 10
        assert same_arrays(*({name: one.arrays[name] for name in edges} for one in (model, whole)))


def test_observed_pairs_are_those_of_the_corpus():
    X, y = many_labels()
    nodes, edges, sets = weights_of(tw.Perceptron(features=DEPENDENT, pairs="observed", epochs=3).fit(X, y).model_)
    met = {(f"U0:{w}", label) for words, path in zip(X, y, strict=True) for w, label in zip(words, path, strict=True)}
    assert {pair for pair in nodes if pair[0].startswith("U0")} <= met
    assert set(edges) <= {pair for path in y for pair in itertools.pairwise(path)}
    assert {pair[1:] for pair in sets} <= set(edges) | {pair for path in y for pair in itertools.pairwise(path)}


def test_templates_without_nodes_or_without_edges():
    model = tw.Perceptron(features="B\n", epochs=3).fit([["x", "y", "z"]], [["A", "B", "A"]]).model_
    assert model.columns == 0
    assert len(model.arrays["rows.end"]) == 0
    assert model.tag([["never"], "seen", []]) in (["A", "B", "A"], ["B", "A", "B"])
    model = tw.Perceptron(features="U:%x[0,0]\n", epochs=3).fit(X10, Y10).model_
    assert len(model.arrays["edges.score"]) == 0


def test_more_labels_than_a_matrix_is_made_for():
    L = 1600
    y = [[f"L{n}" for n in range(s, s + 40)] for s in range(0, L, 40)]
    X = [[label.replace("L", "w") for label in path] for path in y]
    model = tw.Perceptron(features=WORD, epochs=2).fit(X, y).model_
    assert len(model.labels) == L
    nodes, edges, _ = model.lattice(X[3])
    assert edges.sparse
    matrix = np.zeros((L, L), np.float32)
    matrix[model.arrays["edges.previous"], model.arrays["edges.current"]] = model.arrays["edges.score"]
    best = tw.decode(nodes, tw.Edges(matrix, sparse=False), decoder="viterbi").paths[0]
    assert model.tag_kbest(X[3:4], 1)[0][0].score == pytest.approx(best.score, rel=1e-6)
    assert model.tag_batch(X) == y


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"epochs": 0}, "epochs must be a whole number"),
        ({"epochs": 2.5}, "epochs must be a whole number"),
        ({"min_count": 0}, "min_count must be"),
        ({"threads": 0}, "threads must be"),
        ({"patience": 1}, "patience needs dev data"),
        ({"pairs": "all"}, "pairs must be 'touched' or 'observed', not 'all'"),
        ({"decoder": "viterbo"}, "did you mean viterbi"),
        ({"features": "poss"}, "no preset and no template file"),
        *(
            ({name: value}, rf"^{name} must be a (whole )?number of at least 0, not {re.escape(repr(value))}")
            for name in ("margin", "seed")
            for value in (-1, -0.5, math.nan, "1", None, True, [])
        ),
        ({"seed": 1.5}, "seed must be"),
        ({"margin": math.inf}, "margin must be a number of at least 0, not inf"),
        ({"parts": 5}, "parts must be"),
        ({"features": tw.Features("pos", {"l": ["a"]})}, "no template reads the word list 'l'"),
        ({"features": tw.Features(WORD, {"l": ["a"]})}, "no template reads the word list 'l'"),
        ({"features": tw.Features("U:%in[0,0,m]\n", {"l": ["a"], "m": ["b"]})}, "no template reads the word list 'l'"),
    ],
)
def test_bad_options(options, says):
    with pytest.raises(ValueError, match=says):
        tw.Perceptron(**options).fit(X10, Y10)


TAKE_DEV = {"perceptron": tw.Perceptron(), "crf": tw.CRF(), "crf, adagrad": tw.CRF(solver="adagrad")}


@pytest.mark.parametrize("dev", [X10, (X10,), (X10, Y10, Y10), "ab", 5, {"X": X10, "y": Y10}], ids=type)
@pytest.mark.parametrize("name", TAKE_DEV)
def test_dev_that_is_not_a_pair(name, dev):
    with pytest.raises(ValueError, match=r"dev must be a pair: fit\(X, y, dev=\(X_dev, y_dev\)\)"):
        clone(TAKE_DEV[name]).fit(X10, Y10, dev=dev)


@pytest.mark.parametrize("name", TAKE_DEV)
def test_dev_and_patience_are_checked_before_training(name):
    with pytest.raises(ValueError, match="X has 10 sentences, but y has 9"):
        clone(TAKE_DEV[name]).fit(X10, Y10, dev=(X10, Y10[1:]))
    for value in (0, -1, 2.5, True, "3"):
        with pytest.raises(ValueError, match=r"^patience must be a whole number"):
            clone(TAKE_DEV[name]).set_params(patience=value).fit(X10, Y10, dev=(X10, Y10))


def test_dev_may_be_a_list():
    listed = tw.Perceptron(features=WORD, epochs=1).fit(X10, Y10, dev=[X10, Y10])
    assert listed.history_[0]["dev"] == listed.score(X10, Y10)


# dev data, patience


def test_dev_is_measured_after_each_epoch():
    X, y = many_labels()
    learner = tw.Perceptron(features=WORD, epochs=4).fit(X[:30], y[:30], dev=(X[30:], y[30:]))
    for epochs, fact in enumerate(learner.history_, 1):
        model = tw.Perceptron(features=WORD, epochs=epochs).fit(X[:30], y[:30])
        assert fact["dev"] == model.score(X[30:], y[30:])
    assert same_arrays(learner.model_.arrays, model.model_.arrays)


@pytest.mark.parametrize(
    ("learner", "sentences", "called", "each"),
    [
        (tw.Perceptron(WORD, epochs=40, patience=3), 20, "epochs", 1),
        (tw.CRF(DEPENDENT, solver=tw.LBFGS(l2=1e-4, tolerance=0), patience=2), 40, "solver__max_iterations", 10),
        (tw.CRF(DEPENDENT, solver=tw.AdaGrad(l2=1e-4, calibration=None), epochs=60, patience=2), 40, "epochs", 1),
    ],
    ids=["perceptron", "crf", "crf, adagrad"],
)
def test_patience_stops_and_keeps_the_best(learner, sentences, called, each):
    train, dev = train_and_dev(sentences)
    learner.fit(*train, dev=dev)
    found = [fact["dev"] for fact in learner.history_ if "dev" in fact]
    best = max(found)
    assert len(learner.history_) == each * len(found) < (learner.get_params()[called] or math.inf)
    # The last ones, as many as `patience` says, brought nothing better; before, no such run did not.
    assert len(found) - 1 - found.index(best) == learner.patience
    assert learner.score(*dev) == best
    done = each * max(n for n, value in enumerate(found, 1) if value == best)
    assert learner.model_.facts[f"{called.removeprefix('solver__max_')}_done"] == done
    then = clone(learner).set_params(patience=None, **{called: done}).fit(*train)
    assert same_arrays(learner.model_.arrays, then.model_.arrays)


# warm_start


def test_warm_start_from_itself_a_model_and_a_path(tmp_path):
    X, y = many_labels()
    begun = tw.Perceptron(features=DEPENDENT, epochs=2, warm_start=True).fit(X, y)
    model = begun.model_
    model.save(tmp_path / "model")
    begun.fit(X, y)
    from_model = tw.Perceptron(features=DEPENDENT, epochs=2, warm_start=model).fit(X, y).model_
    from_path = tw.Perceptron(features=DEPENDENT, epochs=2, warm_start=tmp_path / "model").fit(X, y).model_
    cold = tw.Perceptron(features=DEPENDENT, epochs=2).fit(X, y)
    assert same_arrays(begun.model_.arrays, from_model.arrays)
    assert same_arrays(begun.model_.arrays, from_path.arrays)
    assert not same_arrays(begun.model_.arrays, cold.model_.arrays)
    assert begun.history_[0]["error"] < cold.history_[0]["error"]


@pytest.mark.parametrize("features", [WORD, DEPENDENT])
def test_a_model_without_errors_is_not_changed(features):
    done = tw.Perceptron(features=features, epochs=30).fit(X10, Y10).model_
    assert done.tag_batch(X10) == Y10
    again = tw.Perceptron(features=features, epochs=2, warm_start=done).fit(X10, Y10)
    assert [fact["error"] for fact in again.history_] == [0, 0]
    assert weights_of(again.model_) == weights_of(done)


def test_warm_start_with_labels_new_and_old():
    old = tw.Perceptron(features=WORD, epochs=20).fit(X10, Y10).model_
    X, y = [["Kim", "sees", "Kim"], ["sees"]], [["NNP", "SEE", "NNP"], ["SEE"]]
    learner = tw.Perceptron(features=WORD, epochs=10, warm_start=old).fit(X, y)
    model = learner.model_
    assert set(model.labels) == set(old.labels) | {"SEE"}
    # By frequency in the new corpus; labels that it does not have come last.
    assert model.labels == ["NNP", "SEE", *sorted(set(old.labels) - {"NNP"})]
    assert learner.predict(X) == y
    before, after = weights_of(old)[0], weights_of(model)[0]
    untouched = {pair: w for pair, w in before.items() if pair[0] not in ("U:Kim", "U:sees")}
    assert untouched
    assert untouched.items() <= after.items()


def with_parts(X, y):
    """Ten sentences, their labels with parts: NN is N|N, VBZ is V|B|Z."""
    return X, [["|".join(label) for label in path] for path in y]


def by_label(model, sentence):
    """The node scores of each label."""
    rows = enumerate(model.lattice(sentence).nodes.tolist())
    return {(t, label): score for t, row in rows for label, score in zip(model.labels, row, strict=True)}


@pytest.mark.parametrize("pairs", ["touched", "observed"])
def test_warm_start_with_parts(pairs):
    X, y = with_parts(X10, Y10)
    options = {"features": DEPENDENT, "parts": "|", "pairs": pairs}
    old = tw.Perceptron(epochs=30, **options).fit(X, y).model_
    assert old.tag_batch(X) == y
    # Without an error nothing changes, but labels (and so parts) have other numbers.
    few = [2, 4, 9, 9, 9]
    again = tw.Perceptron(epochs=2, warm_start=old, **options).fit([X[s] for s in few], [y[s] for s in few])
    assert [fact["error"] for fact in again.history_] == [0, 0]
    assert sorted(again.model_.labels) == sorted(old.labels) != old.labels != again.model_.labels
    assert again.model_.arrays["parts"].tolist() != old.arrays["parts"].tolist()
    assert all_weights_of(again.model_, "|") == all_weights_of(old, "|")
    for sentence in X:
        assert by_label(again.model_, sentence) == pytest.approx(by_label(old, sentence), rel=1e-5)


@pytest.mark.parametrize("new", ["X|X|X", "J|X|X", "J", "J|J|R|S"])
def test_warm_start_with_new_labels_that_have_parts(new):
    old = tw.Perceptron(features=WORD, epochs=30, parts="|").fit(*with_parts(X10, Y10)).model_
    data = [["sees", "sees", "cat"], ["sees"]], [[new, new, "N|N"], [new]]
    learner = tw.Perceptron(features=WORD, epochs=10, parts="|", warm_start=old).fit(*data)
    assert learner.model_.labels[:2] == [new, "N|N"]
    assert learner.predict(data[0]) == data[1]
    # Words that the new sentences do not have score as before; the new label has the parts it shares.
    words = ["the", "old", "can", "run"]
    before, after = by_label(old, words), by_label(learner.model_, words)
    extra = [after.pop((t, new)) for t in range(len(words))]
    assert after == pytest.approx(before, rel=1e-5)
    assert any(extra) == (new != "X|X|X")


@pytest.mark.parametrize(("first", "then"), [("|", None), (None, "|"), ("|", ""), ("|", "+"), ("", None)])
def test_warm_start_with_other_parts_is_refused(first, then):
    X, y = X10[3:4] * 2, [["N|N+S", "V|B+P"]] * 2
    old = tw.Perceptron(features=WORD, epochs=2, parts=first).fit(X, y).model_
    with pytest.raises(ValueError, match=r"warm_start: the model was trained with parts=.*; set parts="):
        tw.Perceptron(features=WORD, parts=then, warm_start=old).fit(X, y)


@pytest.mark.parametrize("cls", [tw.Perceptron, tw.CRF], ids=lambda cls: cls.__name__)
def test_warm_start_is_refused_where_it_means_nothing(tmp_path, cls):
    hmm, other = (learner.fit(X10, Y10).model_ for learner in (tw.HMM(), cls(features=WORD)))
    with pytest.raises(ValueError, match="warm_start"):
        cls(warm_start=hmm).fit(X10, Y10)
    says = f"warm_start: the model is an HMM, whose scores a {cls.__name__.lower()} cannot start from"
    with pytest.raises(ValueError, match=says):
        cls(features=hmm.features.text, warm_start=hmm).fit(X10, Y10)
    with pytest.raises(ValueError, match="the model has other templates"):
        cls(features=DEPENDENT, warm_start=other).fit(X10, Y10)
    with pytest.raises(FileNotFoundError):
        cls(warm_start=tmp_path / "none").fit(X10, Y10)


# The HMM

# n = 10 with the sentence ends: A 4, B 3, border 3.
HX = [["x", "y", "x"], ["x", "z"], ["y", "y"]]
HY = [["A", "B", "A"], ["A", "B"], ["B", "A"]]
HPAIRS = {
    ("|", "A"): 2, ("|", "B"): 1, ("A", "B"): 2, ("B", "A"): 2, ("A", "|"): 2, ("B", "|"): 1,
}  # fmt: skip
HCOUNT = {"A": 4, "B": 3, "|": 3}


def test_hmm_by_hand():
    # Each pair votes: (c(i,j) - 1) / (c(i) - 1) against (c(j) - 1) / (n - 1), with the weight c(i,j).
    #   | A: 1/2 > 3/9 bigram, 2     | B: 0 < 2/9 unigram, 1    A B: 1/3 > 2/9 bigram, 2
    #   B A: 1/2 > 3/9 bigram, 2     A |: 1/3 > 2/9 bigram, 2   B |: 0 < 2/9 unigram, 1
    a, b = 8 / 10, 2 / 10

    def p(i, j):
        return a * HPAIRS.get((i, j), 0) / HCOUNT[i] + b * HCOUNT[j] / 10

    for i in HCOUNT:
        assert sum(p(i, j) for j in HCOUNT) == pytest.approx(1)
    model = tw.HMM().fit(HX, HY).model_
    assert model.labels == ["A", "B"]
    words = [("x", "A"), ("y", "B"), ("y", "A"), ("z", "B")]
    # x is A three times, y is A once and B twice, z is B once.
    emission = {("x", "A"): 3 / 4, ("y", "A"): 1 / 4, ("y", "B"): 2 / 3, ("z", "B"): 1 / 3}
    for length in (1, 2, 3):
        for path in itertools.product(words, repeat=length):
            labels = ["|", *(label for _, label in path), "|"]
            truth = sum(math.log(emission[pair]) for pair in path)
            truth += sum(math.log(p(i, j)) for i, j in itertools.pairwise(labels))
            nodes, edges, _ = model.lattice([word for word, _ in path])
            numbers = ["AB".index(label) for _, label in path]
            assert tw.score(nodes, edges, numbers) == pytest.approx(truth, abs=1e-5)
    # A word never has a label that it does not have in training.
    assert model.lattice(["x"]).nodes[0, 1] == model.lattice(["z"]).nodes[0, 0] == -np.inf


@pytest.mark.parametrize("seed", range(4))
def test_hmm_transitions_sum_to_one(seed):
    X, y = drawn(seed, sentences=15, words=5, labels=5)
    model = tw.HMM().fit(X, y).model_
    L, arrays = len(model.labels), model.arrays
    # Take the emission of a known word off its node score: what is left is what stands behind b.
    count = Counter((w, j) for ws, js in zip(X, y, strict=True) for w, j in zip(ws, js, strict=True))
    frequency = Counter(itertools.chain(*y))
    backoff = np.empty(L)
    for (word, label), n in count.items():
        j = model.labels.index(label)
        backoff[j] = model.lattice([word]).nodes[0, j] - math.log(n / frequency[label])
    edges = np.zeros((L, L))
    edges[arrays["edges.previous"], arrays["edges.current"]] = arrays["edges.score"]
    inner = np.exp(edges + backoff).sum(axis=1)
    assert inner + np.exp(arrays["stop"]) == pytest.approx(np.ones(L), rel=1e-5)
    # A sentence begins with a label or is empty, which has the share of sentence ends in b.
    begin = np.exp(arrays["start"] + backoff).sum()
    assert 0 < begin < 1
    emissions = defaultdict(float)
    for (_, label), n in count.items():
        emissions[label] += n / frequency[label]
    assert list(emissions.values()) == pytest.approx([1] * L)


def test_hmm_unknown_words_go_by_their_suffix():
    X = [["walking", "talking", "eating"], ["red", "bed", "wed"], ["Walking", "Paris"], ["Berlin", "Rome"]]
    y = [["VBG", "VBG", "VBG"], ["JJ", "NN", "VB"], ["NNP", "NNP"], ["NNP", "NNP"]]
    learner = tw.HMM().fit(X, y)
    assert learner.predict([["sleeping"], ["Zurich"]]) == [["VBG"], ["NNP"]]
    assert learner.model_.knows("walking")
    assert not learner.model_.knows("sleeping")


def test_hmm_suffix_by_hand():
    # Words that occur once; labels A 3, B 1: their probabilities 3/4 and 1/4, whose standard deviation is the weight.
    X, y = [["ba", "ca", "da", "ea"]], [["A", "A", "A", "B"]]
    theta = math.sqrt(((3 / 4 - 1 / 2) ** 2 + (1 / 4 - 1 / 2) ** 2) / 1)
    prior = {"A": 3 / 4, "B": 1 / 4}
    # Uany and the form without capitals: all four words. Suffix a: all four. Suffix ea: B once.
    any_word = {"A": 3 / 4, "B": 1 / 4}
    form = {j: (any_word[j] + theta * any_word[j]) / (1 + theta) for j in prior}
    a = {j: (prior[j] + theta * form[j]) / (1 + theta) for j in prior}
    ea = {j: ((j == "B") + theta * a[j]) / (1 + theta) for j in prior}
    model = tw.HMM().fit(X, y).model_
    nodes = model.lattice(["xea", "xa", "x"]).nodes
    # But for a constant for each word, and for what stands behind b, which "ba" (A) and "ea" (B) show.
    behind = [
        model.lattice(["ba"]).nodes[0, 0] - math.log(1 / 3),
        model.lattice(["ea"]).nodes[0, 1] - math.log(1 / 1),
    ]
    for row, truth in zip(nodes, (ea, a, form), strict=True):
        scores = [row[0] - behind[0], row[1] - behind[1]]
        assert scores[1] - scores[0] == pytest.approx(
            math.log(truth["B"] / prior["B"]) - math.log(truth["A"] / prior["A"]), abs=1e-5
        )


def test_hmm_options():
    X, y = [[["1", "walking"], ["2", "red"]]], [["VBG", "JJ"]]
    learner = tw.HMM(column=1, suffix=3).fit(X, y)
    assert learner.predict([[["9", "talking"], ["9", "bed"]]]) == [["VBG", "JJ"]]
    assert not any("lking" in name for name in names_of(learner.model_.arrays) if not name.startswith("Uword"))
    for options in ({"suffix": 0}, {"rare": 0}):
        with pytest.raises(ValueError, match="must be a whole number of at least 1"):
            tw.HMM(**options).fit(X10, Y10)


def test_hmm_takes_the_longest_suffix_it_may():
    model = tw.HMM(suffix=1000).fit([["a" * 2000, "b"]], [["A", "B"]]).model_
    assert model.tag(["c" + "a" * 1500]) == ["A"]


def test_no_warm_start_is_none():
    model = tw.Perceptron(warm_start=None, epochs=1).fit([["a"]], [["A"]]).model_
    assert model.labels == ["A"]


def test_kbest_of_a_beam_are_the_beams():
    X, y = many_labels()
    learner = tw.Perceptron(decoder=tw.Beam(width=2), epochs=1).fit(X, y)
    assert learner.predict_kbest(X, 2) == learner.model_.tag_kbest(X, 2, tw.Beam(width=2))
    assert learner.predict_kbest(X, 2) != learner.model_.tag_kbest(X, 2, "auto")


@pytest.mark.parametrize("cls", [tw.Perceptron, tw.CRF, tw.MEMM], ids=lambda cls: cls.__name__)
def test_warm_start_reads_word_lists_as_the_old_model_does(cls):
    templates, lists = "U:%x[0,0]\nUL:%in[0,0,*]\n", {"animals": ["dog", "cat"]}
    short = {"epochs": 2} if cls is tw.Perceptron else {"solver": tw.LBFGS(max_iterations=2)}
    as_before = tw.Features(templates, lists, finds=False)
    old = cls(features=as_before, **short).fit(X10, Y10).model_
    assert old.features.finds is False
    warm = cls(features=tw.Features(templates, lists), warm_start=old, **short).fit(X10, Y10).model_
    assert warm.features.finds is False
    same = cls(features=as_before, warm_start=old, **short).fit(X10, Y10).model_
    assert same_arrays(warm.arrays, same.arrays)


# What a user brings


FORMS = {
    "generators": lambda own: (iter(words) for words in own),
    "tuples": lambda own: tuple(map(tuple, own)),
    "an object array": lambda own: np.array([*own, None], dtype=object)[:-1],
    "arrays in a list": lambda own: [np.array(words, dtype=object) for words in own],
    "a column of pandas": lambda own: pytest.importorskip("pandas").Series(list(own)),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["perceptron", "crf", "crf, the default", "hmm", "memm"])
def test_sentences_in_other_containers(form, name):
    learner, given = clone(LEARNERS[name]), FORMS[form]
    own = clone(learner).fit(given(X10), given(Y10))
    assert same_arrays(own.model_.arrays, learner.fit(X10, Y10).model_.arrays)
    assert own.predict(given(X10)) == learner.predict(X10)
    assert own.score(given(X10), given(Y10)) == learner.score(X10, Y10)
    if name != "hmm":
        dev = clone(learner).fit(X10, Y10, dev=(given(X10), given(Y10)))
        assert dev.history_[-1]["dev"] == learner.score(X10, Y10)


@pytest.mark.parametrize("name", ["perceptron", "crf, the default", "hmm"])
def test_cross_val_predict(name):
    X, y = X10 * 2, Y10 * 2
    found = cross_val_predict(clone(LEARNERS[name]), X, y, cv=2)
    halves = [clone(LEARNERS[name]).fit(X[10:], y[10:]), clone(LEARNERS[name]).fit(X[:10], y[:10])]
    assert list(found) == [*halves[0].predict(X[:10]), *halves[1].predict(X[10:])]


@pytest.mark.parametrize("name", ["perceptron", "crf, the default", "hmm", "memm"])
def test_labels_with_blanks(name, tmp_path):
    y = [[f"part {label}" for label in own] for own in Y10]
    learner = clone(LEARNERS[name]).fit(X10, y)
    assert learner.score(X10, y) > 0.8
    learner.model_.save(tmp_path / "model")
    assert tw.load(tmp_path / "model").tag_batch(X10) == learner.predict(X10)


@pytest.mark.parametrize("name", ["perceptron", "crf", "crf, the default", "memm"])
def test_dev_data_that_are_not_a_pair(name):
    for arguments in ((X10, Y10, X10, Y10), (X10, Y10, X10[:2], Y10[:2])):
        with pytest.raises(ValueError, match=r"dev must be a pair: fit\(X, y, dev=\(X_dev, y_dev\)\)"):
            clone(LEARNERS[name]).fit(*arguments)


def test_estimators_have_few_parameters():
    most = {tw.CRF: 16, tw.Perceptron: 15, tw.MEMM: 15, tw.HMM: 15, tw.Bidirectional: 15}
    for cls, limit in most.items():
        assert len(cls().get_params(deep=False)) <= limit
