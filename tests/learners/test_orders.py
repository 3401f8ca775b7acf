"""Learners of order 2 and 3, against enumeration and against counting by hand."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from sklearn.base import clone
from support.brute_force import Case, paths
from support.corpora import drawn, many_labels, runs_met, runs_of, same_arrays, ten_sentences, weights_of
from support.flat import crf

import tagwright as tw
from tagwright.learners.examples import Examples
from tagwright.learners.online import OnlineTraining

WORD = "U:%x[0,0]\nB\n"
X10, Y10 = ten_sentences()


def case_of(model, sentence):
    """The lattice of a sentence as brute force takes it, from the arrays of a model."""
    L = len(model.labels)
    matrix = np.zeros((L, L))
    matrix[model.arrays["edges.previous"], model.arrays["edges.current"]] = model.arrays["edges.score"]
    border = [model.arrays.get(name, np.zeros(L)) for name in ("start", "stop")]
    runs = {tuple(map(model.labels.index, run)): score for run, score in runs_of(model).items()}
    steps = np.repeat(matrix[None], max(len(sentence) - 1, 0), axis=0)
    return Case(model.lattice(sentence).nodes, None, None, steps, *border, runs)


def names_counted(words, labels, runs):
    """What a labelling counts: words with labels, pairs, and runs."""
    found = Counter((f"U:{word}", label) for word, label in zip(words, labels, strict=True))
    found.update(itertools.pairwise(labels))
    for length in (3, 4):
        own = (tuple(labels[end - length : end]) for end in range(length, len(labels) + 1))
        found.update(run for run in own if run in runs)
    return found


def expected(model, words, runs):
    """log Z and expected counts by enumeration."""
    labels, found = paths(case_of(model, words))
    log_z = found.max() + math.log(np.exp(found - found.max()).sum())
    counts = Counter()
    for path, score in zip(labels.T.tolist(), found.tolist(), strict=True):
        for name, times in names_counted(words, [model.labels[y] for y in path], runs).items():
            counts[name] += times * math.exp(score - log_z)
    return log_z, counts


@pytest.mark.parametrize("min_ngram_count", [1, 2])
@pytest.mark.parametrize("order", [2, 3])
def test_crf_ends_where_the_gradient_is_0(order, min_ngram_count):
    X, y = drawn(5, sentences=14, words=4, labels=3, longest=5)
    l2 = 0.3
    learner = tw.CRF(WORD, solver=tw.LBFGS(l2=l2, tolerance=0), order=order, min_ngram_count=min_ngram_count).fit(X, y)
    model = learner.model_
    runs = runs_met(y, order, min_ngram_count)
    nodes, edges, _ = weights_of(model)
    weights = nodes | edges | runs_of(model)
    assert runs
    assert set(runs_of(model)) <= runs
    gradient, objective = Counter(), l2 * sum(w * w for w in weights.values())
    for words, labels in zip(X, y, strict=True):
        log_z, counts = expected(model, words, runs)
        gradient.update(counts)
        right = names_counted(words, labels, runs)
        gradient.subtract(right)
        objective += log_z - sum(weights.get(name, 0) * times for name, times in right.items())
    assert learner.objective_ == pytest.approx(objective, rel=1e-5)
    observed = set().union(*(names_counted(words, labels, runs) for words, labels in zip(X, y, strict=True)))
    assert set(weights) <= observed
    for name in observed:
        assert gradient[name] + 2 * l2 * weights.get(name, 0) == pytest.approx(0, abs=2e-3)


def test_crf_of_kept_labels_comes_near():
    """With all labels kept by a rule the weights are those of exact sums."""
    X, y = drawn(6, sentences=10, words=4, labels=3, longest=5)
    options = {"features": WORD, "l2": 0.3, "order": 2, "tolerance": 1e-9}
    exact = crf(**options).fit(X, y)
    kept = crf(**options, solver="lbfgs", pruning=tw.KeepSize(3)).fit(X, y)
    assert kept.objective_ == pytest.approx(exact.objective_, rel=1e-6)
    assert runs_of(kept.model_) == pytest.approx(runs_of(exact.model_), abs=1e-3)


@pytest.mark.parametrize("order", [2, 3])
def test_pruned_adagrad_takes_exact_steps_where_nothing_is_pruned(order):
    """One sentence and one step: AdaGrad's step from weights of 0, where all labellings are as likely."""
    X, y = [["a", "b", "c", "a", "b"]], [["P", "Q", "R", "Q", "P"]]
    rate = 0.7
    learner = tw.CRF(WORD, epochs=1, solver=tw.AdaGrad(rate=rate), pruning=tw.KeepSize(3), order=order).fit(X, y)
    runs = runs_met(y, order)
    # The last weights, not their average, which is of weights that were 0 until the end.
    run = OnlineTraining(clone(learner), Examples(X, y))
    before = run.trainer.log_z(np.array([0], np.int32))[0][0]
    assert before == pytest.approx(5 * math.log(3))
    run.trainer.run(np.array([0], np.int32), 1)
    model = run.model(run.trainer.last(), 1)
    found = runs_of(model)
    assert set(found) == runs == set(runs_of(learner.model_)) | runs
    for run_of_labels in runs:
        length = len(run_of_labels)
        weight, squares = 0.0, 0.0
        for end in range(length, 6):
            g = 3.0**-length - (tuple(y[0][end - length : end]) == run_of_labels)
            if abs(g) < 0.01:
                continue
            squares += g * g
            weight -= rate * g / math.sqrt(1 + squares)
        assert found[run_of_labels] == pytest.approx(weight, rel=1e-5)


@pytest.mark.parametrize("solver", ["adagrad", "lbfgs"])
def test_probabilities_are_those_of_all_labellings(solver):
    X, y = drawn(7, sentences=12, words=4, labels=3, longest=5)
    model = crf(WORD, order=2, solver=solver, **({"l2": 0.1} if solver == "lbfgs" else {})).fit(X, y).model_
    for words in X[:5]:
        labels, found = paths(case_of(model, words))
        p = np.exp(found - found.max())
        p /= p.sum()
        best = model.tag_kbest([words], 3, proba=True)[0]
        assert [own.probability for own in best] == pytest.approx(np.sort(p)[::-1][:3].tolist(), rel=1e-4)
        nodes = np.zeros((len(words), 3))
        for t in range(len(words)):
            np.add.at(nodes[t], labels[t], p)
        shares = model.marginals([words])[0]
        assert np.array(shares) == pytest.approx(nodes, abs=1e-4)


# HMM


def test_hmm_of_trigrams_by_hand():
    rng = np.random.default_rng(8)
    likely = rng.dirichlet([0.3] * 3, size=(3, 3))  # of a label, given the two before
    y = []
    for _ in range(60):
        own = rng.integers(0, 3, 2).tolist()
        while len(own) < rng.integers(1, 7):
            own.append(int(rng.choice(3, p=likely[own[-2], own[-1]])))
        y.append(["ABC"[label] for label in own[: rng.integers(0, 7)]])
    X = [[f"w{rng.integers(0, 5)}" for _ in labels] for labels in y]
    model = tw.HMM(order=2).fit(X, y).model_
    single, pairs, runs, emitted = Counter(), Counter(), Counter(), Counter()
    for words, labels in zip(X, y, strict=True):
        if not labels:
            continue
        single.update([*labels, "|"])
        around = ["|", *labels, "|"]
        pairs.update(itertools.pairwise(around))
        runs.update(zip(labels, labels[1:], labels[2:], strict=False))
        emitted.update(zip(words, labels, strict=True))
    n = sum(single.values())
    votes = Counter()
    for (i, j, k), times in runs.items():
        # Brants (2000), figure 1: 0 / 0 is 0.
        cases = [
            (single[k] - 1) / (n - 1),
            (pairs[j, k] - 1) / max(single[j] - 1, 1),
            (times - 1) / max(pairs[i, j] - 1, 1),
        ]
        votes[cases.index(max(cases))] += times
    shares = [votes[q] / sum(votes.values()) for q in range(3)]
    assert min(shares) > 0.01

    def of_two(j, k):
        return (shares[0] * single[k] / n + shares[1] * pairs[j, k] / single[j]) / (shares[0] + shares[1])

    for words in X[:8]:
        nodes, edges, _ = model.lattice(words)
        if not words:
            continue
        scores = {}
        for path in itertools.product(range(3), repeat=len(words)):
            labels = [model.labels[y] for y in path]
            if any(emitted[word, label] == 0 for word, label in zip(words, labels, strict=True)):
                assert tw.score(nodes, edges, path) == -np.inf
                continue
            p = of_two("|", labels[0]) * of_two(labels[-1], "|")
            for t, label in enumerate(labels):
                p *= emitted[words[t], label] / single[label]
                if t == 1:
                    p *= of_two(labels[0], label)
                elif t > 1:
                    i, j = labels[t - 2], labels[t - 1]
                    trigram = runs[i, j, label] / pairs[i, j] if pairs[i, j] else 0
                    # What is left of p(k | i, j) once the constant 1 - l3 is taken off.
                    p *= of_two(j, label) + shares[2] / (1 - shares[2]) * trigram
            scores[path] = math.log(p)
        for path, right in scores.items():
            assert tw.score(nodes, edges, path) == pytest.approx(right, abs=1e-4)


def test_hmm_of_trigrams_is_refused_where_it_means_nothing():
    with pytest.raises(ValueError, match="order must be 1 or 2, not 3"):
        tw.HMM(order=3).fit(X10, Y10)
    with pytest.raises(ValueError, match="order=2 counts labels that are all known"):
        tw.HMM(order=2).fit([["a", "b"]], [["A", None]])
    with pytest.raises(ValueError, match="fit_unlabelled is for order=1"):
        tw.HMM(order=2).fit_unlabelled([["a"]], labels=2)
    with pytest.raises(ValueError, match="the model is of order 2"):
        tw.HMM(order=2).fit(X10, Y10).fit_unlabelled(X10)


def test_hmm_of_trigrams_in_short_sentences():
    model = tw.HMM(order=2).fit([["a"], ["b", "a"]], [["A"], ["B", "A"]]).model_
    assert model.tag_batch([["a"], ["b", "a"], ["b", "a", "a"], []]) == [["A"], ["B", "A"], ["B", "A", "A"], []]


# Orders one after the other


@pytest.mark.parametrize(
    "learner", [tw.Perceptron(WORD, epochs=3), tw.CRF(WORD, epochs=3), tw.CRF(WORD, solver=tw.LBFGS(l2=0.1))]
)
def test_from_order_1_to_order_2(learner):
    X, y = many_labels(sentences=40, labels=12)
    first = learner.fit(X, y).model_
    options = learner.get_params(deep=False) | {"order": 2, "warm_start": first}
    second = type(learner)(**options).fit(X, y).model_
    assert runs_of(second)
    assert second.labels == first.labels
    with pytest.raises(ValueError, match="longer n-grams than this order allows"):
        type(learner)(**(learner.get_params(deep=False) | {"warm_start": second})).fit(X, y)
    third = type(learner)(**(options | {"warm_start": second})).fit(X, y).model_
    assert set(runs_of(third)) <= runs_met(y, 2)


@pytest.mark.parametrize("learner", [tw.Perceptron, tw.CRF])
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"order": 0}, "order must be 1, 2 or 3, not 0"),
        ({"order": 4}, "order must be 1, 2 or 3, not 4"),
        ({"order": 2.5}, "order must be 1, 2 or 3"),
        ({"order": "2"}, "order must be 1, 2 or 3"),
        ({"order": 2, "min_ngram_count": 0}, "min_ngram_count must be a whole number of at least 1"),
    ],
)
def test_bad_orders(learner, options, says):
    with pytest.raises(ValueError, match=says):
        learner(**options).fit(X10, Y10)


@pytest.mark.parametrize("decoder", ["astar", "carpediem"])
def test_decoders_without_ngrams_are_refused(decoder):
    with pytest.raises(ValueError, match=f"'{decoder}' cannot handle label n-grams"):
        tw.Perceptron(order=2, decoder=decoder).fit(X10, Y10)
    model = tw.CRF(order=2).fit(X10, Y10).model_
    with pytest.raises(ValueError, match=f"'{decoder}' cannot handle label n-grams"):
        model.tag_batch(X10, decoder)


def test_spans_do_not_support_ngrams():
    X, y = [["a", "b", "c"]] * 3, [["B-X", "I-X", "O"]] * 3
    model = tw.CRF(WORD, order=2, epochs=2).fit(X, y).model_
    with pytest.raises(ValueError, match="probabilities of spans know no ngrams"):
        model.spans(X[0])


def test_only_order_2_can_tell():
    """A label that depends on the one before the last: order 1 must guess, order 2 knows."""
    rng = np.random.default_rng(9)
    X, y = [], []
    for _ in range(120):
        labels = list(rng.choice(["A", "B"], 2))
        while len(labels) < 9:
            labels.append(labels[-2])
        X.append([*labels[:2], *["w"] * 7])
        y.append([str(label) for label in labels])
    for learner in (tw.Perceptron, tw.CRF):
        found = [learner(WORD, epochs=8, order=order).fit(X, y).score(X, y) for order in (1, 2)]
        assert found[0] < 0.9
        assert found[1] == 1.0
    found = [tw.HMM(order=order).fit(X, y).score(X, y) for order in (1, 2)]
    assert found[0] < 0.9
    assert found[1] == 1.0


def test_two_orders_may_be_combined():
    X, y = many_labels(sentences=40, labels=12)
    both = tw.Bidirectional(
        tw.Perceptron(WORD, order=2, epochs=3), tw.MEMM(WORD, direction="left", solver=tw.LBFGS(max_iterations=10))
    )
    model = both.fit(X, y).model_
    side = tw.Perceptron(WORD, order=2, epochs=3).fit(X, y).model_
    assert same_arrays({name: model.arrays[f"left.{name}"] for name in side.arrays}, side.arrays)
    assert both.score(X, y) > 0.5


def test_files_are_learnt_from_as_lists_are(tmp_path):
    X, y = many_labels(sentences=30, labels=8)
    path = tmp_path / "train.txt"
    lines = ("".join(f"{w} {label}\n" for w, label in zip(*own, strict=True)) + "\n" for own in zip(X, y, strict=True))
    path.write_text("".join(lines))
    X = [[[word] for word in words] for words in X]
    for learner in (tw.Perceptron(WORD, order=3, epochs=3), tw.CRF(WORD, order=2, epochs=3)):
        whole = type(learner)(**learner.get_params(deep=False)).fit(X, y).model_
        assert runs_of(whole)
        assert same_arrays(learner.fit_files(path).model_.arrays, whole.arrays)


@pytest.mark.parametrize("batch", [2, 8])
def test_batches_of_a_perceptron(batch):
    X, y = many_labels(sentences=40, labels=12)
    models = [tw.Perceptron(WORD, order=2, epochs=4, batch=batch, threads=n).fit(X, y).model_ for n in (1, 3)]
    assert same_arrays(models[0].arrays, models[1].arrays)
    assert runs_of(models[0])
