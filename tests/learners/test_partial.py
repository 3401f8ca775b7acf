"""Labels that are partly known, and sentences that count more than others."""

import itertools

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.base import clone
from support.commands import complaint, printed
from support.corpora import many_labels, same_arrays, ten_sentences
from support.flat import crf

import tagwright as tw
from tagwright.cli.main import main  # noqa: F401  (the commands are registered)
from tagwright.decoding.keep import keep_arguments
from tagwright.learners.batch import BatchTraining
from tagwright.learners.examples import Examples
from tagwright.learners.options import set_flat

X10, Y10 = ten_sentences()
WORD = "U:%x[0,0]\nB\n"
DEPENDENT = "U0:%x[0,0]\nB\nB1:%x[0,0]\n"
LEARNERS = {
    "perceptron": lambda: tw.Perceptron(WORD, epochs=3),
    "crf": lambda: tw.CRF(WORD, solver=tw.LBFGS(l2=0.1, max_iterations=8)),
    "crf with token-dependent edges": lambda: tw.CRF(DEPENDENT, solver=tw.LBFGS(l2=0.1, max_iterations=8)),
    "crf by adagrad": lambda: tw.CRF(WORD, solver=tw.AdaGrad(l2=0.1), pruning="exact", epochs=3),
    "crf by adagrad, pruned": lambda: tw.CRF(WORD, epochs=6),
    "crf by adagrad, order 2": lambda: tw.CRF(WORD, order=2, epochs=6),
    "perceptron of order 2": lambda: tw.Perceptron(WORD, order=2, batch=2, epochs=4),
    "hmm": tw.HMM,
}
ONLINE = ("perceptron", "perceptron of order 2", "crf by adagrad", "crf by adagrad, pruned", "crf by adagrad, order 2")
TAKE_WEIGHTS = LEARNERS | {"memm": lambda: tw.MEMM(WORD.replace("B\n", ""), solver=tw.LBFGS(max_iterations=8))}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def hidden(y, share, seed=0, names=None):
    """Labels of which a share is not known: half of them None, half a set with a wrong label."""
    rng = np.random.default_rng(seed)
    names = sorted({label for labels in y for label in labels}) if names is None else names
    return [
        [
            label if (chance := rng.random()) > share else None if chance < share / 2 else {label, rng.choice(names)}
            for label in labels
        ]
        for labels in y
    ]


@pytest.mark.parametrize("name", LEARNERS)
def test_sets_of_one_label_are_that_label(name):
    plain = LEARNERS[name]().fit(X10, Y10).model_
    sets = LEARNERS[name]().fit(X10, [[{label} for label in labels] for labels in Y10]).model_
    frozen = LEARNERS[name]().fit(X10, [[frozenset([label]) for label in labels] for labels in Y10]).model_
    assert plain.labels == sets.labels
    assert same_arrays(plain.arrays, sets.arrays)
    assert same_arrays(plain.arrays, frozen.arrays)


@pytest.mark.parametrize("name", LEARNERS)
def test_what_is_hidden_can_be_learnt_from_the_rest(name):
    model = LEARNERS[name]().fit(X10 * 2, [*Y10, *hidden(Y10, 0.6)]).model_
    assert {*model.labels} == {label for labels in Y10 for label in labels}
    found = model.tag_batch(X10)
    assert np.mean([a == b for p, g in zip(found, Y10, strict=True) for a, b in zip(p, g, strict=True)]) > 0.8


def trainer_of(X, y, features=WORD, weights=None, **options):
    learner = crf(features, l2=0.0, **options)
    return BatchTraining(learner, Examples(X, y, weights))


def value(run, w, rule, threads=1):
    gradient = np.empty(len(w))
    observed = np.empty(len(w))
    run.trainer.observe(run.everyone, observed)
    log_z, _, _ = run.trainer.expect(w, keep_arguments(rule), run.everyone, threads, gradient)
    return log_z - observed @ w, gradient - observed


CASES = list(itertools.product([WORD, DEPENDENT], [False, True], [None, [0.5, 2, 1, 0, 3]]))


@pytest.mark.parametrize(("features", "all_pairs", "weights"), CASES, ids=str)
def test_gradients_are_finite_differences(features, all_pairs, weights):
    X, y = X10[:5], hidden(Y10[:5], 0.7, 3)
    run = trainer_of(
        X, y, features, None if weights is None else np.array(weights, float), pairs="all" if all_pairs else "observed"
    )
    w = np.random.default_rng(1).normal(size=run.trainer.size)
    some = np.random.default_rng(2).permutation(len(w))[:60]

    def at(part):
        moved = w.copy()
        moved[some] = part
        return value(run, moved, None)[0]

    loss, gradient = value(run, w, None)
    assert loss >= 0
    np.testing.assert_allclose(gradient[some], approx_fprime(w[some], at, 1e-6), rtol=1e-4, atol=1e-4)


def test_the_loss_is_that_of_all_allowed_labellings():
    """log Z less log Z of what is allowed, path by path."""
    X, y = X10[:3], hidden(Y10[:3], 0.8, 5, sorted({label for labels in Y10[:3] for label in labels}))
    run = trainer_of(X, y)
    w = np.random.default_rng(3).normal(size=run.trainer.size)
    model = run.model(run.trainer.model_weights(w), 1)
    expected = 0.0
    for sentence, known in zip(X, y, strict=True):
        nodes, edges, _ = model.lattice(sentence)
        masked = nodes.astype(float)
        for t, label in enumerate(known):
            names = {label} if isinstance(label, str) else set(model.labels) if label is None else label
            masked[t, [name not in names for name in model.labels]] = -np.inf
        expected += tw.marginals(nodes, edges).log_z - tw.marginals(masked, edges).log_z
    assert value(run, w, None)[0] == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("rule", [None, tw.KeepSize(1000)], ids=str)
def test_under_constraints_both_sums_are_over_what_these_leave(rule):
    """Log Z of the labellings that keep to the rules, less that of those that are allowed as well."""
    X, y = X10[:4], hidden(Y10[:4], 0.7, 13, sorted({label for labels in Y10[:4] for label in labels}))
    labels = sorted({label for own in Y10[:4] for label in own})
    met = {pair for own in Y10[:4] for pair in itertools.pairwise(own)}
    rare = [pair for n, pair in enumerate(itertools.product(labels, labels)) if pair not in met and n % 2]
    limits = tw.Constraints(labels, forbid=rare) & tw.Constraints.learnt(X, Y10[:4], min_count=2, labels=labels)
    run = trainer_of(X, y, constraints=limits)
    w = np.random.default_rng(3).normal(size=run.trainer.size)
    # A model of the same weights that knows of no limits.
    model = tw.Model(run.labels, run.features, run.trainer.model_weights(w).arrays(), {"learner": "crf"})
    own = limits.for_labels(model.labels)
    number = {name: n for n, name in enumerate(model.labels)}
    expected = 0.0
    for sentence, known in zip(X, y, strict=True):
        words = own.allowed(sentence)
        # Labels that are known to be possible are allowed even where the dictionary does not have them.
        given = [() if label is None else {label} if isinstance(label, str) else label for label in known]
        lists = [
            its and sorted({*its, *(number[str(name)] for name in names)})
            for its, names in zip(words, given, strict=True)
        ]
        nodes, edges, _ = model.lattice(sentence, allowed=lists)
        every = tw.marginals(nodes, edges, constraints=own.without_words(), allowed=lists).log_z
        masked = nodes.astype(float)
        for t, names in enumerate(given):
            masked[t, [bool(names) and name not in names for name in model.labels]] = -np.inf
        expected += every - tw.marginals(masked, edges, constraints=own.without_words(), allowed=lists).log_z
    loss, gradient = value(run, w, rule)
    assert loss == pytest.approx(expected, rel=1e-5)
    slopes = approx_fprime(w, lambda v: value(run, v, rule)[0], 1e-6)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", LEARNERS)
def test_labels_none_of_which_can_be_right(name):
    limits = tw.Constraints(["P", "Q", "R"], forbid=[("P", "Q"), ("P", "R")])
    X, y = [["a", "a"], ["b", "b"], ["a", "b", "b"]], [["P", "P"], ["Q", "R"], ["P", {"Q", "R"}, None]]
    with pytest.raises(ValueError, match=r"sentence 2: no labelling has labels that y allows|no path: forbidden pairs"):
        LEARNERS[name]().set_params(constraints=limits).fit(X, y)


@pytest.mark.parametrize("rule", [tw.KeepSize(2), tw.KeepDivergence(0.05), tw.KeepSize(1000)], ids=str)
def test_sparse_sums_keep_an_allowed_labelling(rule):
    X, y = many_labels()
    run = trainer_of(X[:20], hidden(y[:20], 0.6, 7))
    w = np.random.default_rng(4).normal(size=run.trainer.size)
    loss, gradient = value(run, w, rule)
    exact, slopes = value(run, w, None)
    assert loss >= -1e-9  # allowed and kept is a subset of kept
    if rule == tw.KeepSize(1000):
        assert loss == pytest.approx(exact, rel=1e-9)
        np.testing.assert_allclose(gradient, slopes, rtol=0, atol=1e-7)
    assert same_arrays(dict(enumerate(value(run, w, rule)[1:])), dict(enumerate(value(run, w, rule, 3)[1:])))


@pytest.mark.parametrize("keep", [None, tw.KeepDivergence(0.01), "exact"], ids=str)
def test_pruned_crfs_learn_from_what_is_known(keep):
    learner = tw.CRF(WORD, solver=tw.LBFGS(l2=0.1, max_iterations=20), pruning=keep).fit(X10, hidden(Y10, 0.4, 9))
    assert learner.objective_ < learner.history_[0]["objective"]
    assert learner.score(X10, Y10) > 0.8


@pytest.mark.parametrize("name", LEARNERS)
def test_threads_do_not_change_what_is_learnt(name):
    y = hidden(Y10, 0.5, 11)
    models = [LEARNERS[name]().set_params(threads=threads).fit(X10, y).model_ for threads in (1, 3)]
    assert same_arrays(models[0].arrays, models[1].arrays)


def weighted(name, weights):
    return TAKE_WEIGHTS[name]().fit(X10, Y10, sample_weight=weights).model_


@pytest.mark.parametrize("learner", [tw.CRF(WORD, solver="lbfgs"), tw.MEMM(WORD.replace("B\n", ""))], ids=repr)
@pytest.mark.parametrize("heavy", [1e-6, 1e4, 1e9])
def test_heavy_sentences_are_a_small_penalty(learner, heavy):
    # Only the ratio of loss and penalty matters; the labels of words are ambiguous, so that weights stay small.
    X = [["a", "b", "a"], ["b", "a"], ["a", "b"], ["b", "b", "a"]] * 3
    y = [["X", "Y", "Y"], ["X", "Y"], ["X", "X"], ["Y", "X", "X"]] * 3
    options = {"tolerance": 1e-12, "max_iterations": 500}
    light = set_flat(clone(learner), l2=0.5, **options).fit(X, y)
    weighted = set_flat(clone(learner), l2=0.5 * heavy, **options).fit(X, y, sample_weight=np.full(len(X), heavy))
    assert weighted.objective_ == pytest.approx(heavy * light.objective_, rel=1e-6)
    for part, array in light.model_.arrays.items():
        np.testing.assert_allclose(weighted.model_.arrays[part], array, rtol=1e-3, atol=1e-3)
    assert any(abs(weighted.model_.arrays["rows.weight"]) > 0.1)


@pytest.mark.parametrize("name", TAKE_WEIGHTS)
def test_weights_of_one_change_nothing(name):
    plain = TAKE_WEIGHTS[name]().fit(X10, Y10).model_
    assert same_arrays(plain.arrays, weighted(name, np.ones(len(X10))).arrays)


@pytest.mark.parametrize("name", [name for name in TAKE_WEIGHTS if name not in ONLINE])
def test_a_weight_of_two_is_the_sentence_twice(name):
    weights = np.array([1, 2, 1, 3, 1, 1, 1, 2, 1, 1])
    twice = [s for s, times in enumerate(weights) for _ in range(times)]
    repeated = TAKE_WEIGHTS[name]().fit([X10[s] for s in twice], [Y10[s] for s in twice]).model_
    heavy = weighted(name, weights)
    assert heavy.labels == repeated.labels
    for part, array in repeated.arrays.items():
        if array.dtype.kind == "f" and name != "hmm":  # sums of losses are taken in another order
            np.testing.assert_allclose(heavy.arrays[part], array, rtol=1e-4, atol=1e-4)
        else:
            np.testing.assert_array_equal(heavy.arrays[part], array)


def test_an_hmm_ignores_sentences_of_weight_0():
    nothing = tw.HMM().fit(X10, Y10, sample_weight=[0, *[1] * 9]).model_
    assert same_arrays(nothing.arrays, tw.HMM().fit(X10[1:], Y10[1:]).model_.arrays)


@pytest.mark.parametrize("weight", [2.5, 0.25, 16])
def test_the_loss_of_a_weighted_sentence_is_multiplied(weight):
    y = hidden(Y10, 0.3, 13)
    plain, heavy = trainer_of(X10, y), trainer_of(X10, y, weights=np.full(10, weight))
    assert plain.labels == heavy.labels
    w = np.random.default_rng(5).normal(size=plain.trainer.size)
    for some in ([0], [1], [2, 5, 7], range(10)):
        plain.everyone = heavy.everyone = np.array(some, np.int32)
        loss, gradient = value(plain, w, None)
        found, slopes = value(heavy, w, None)
        assert found == pytest.approx(weight * loss, rel=1e-9)
        np.testing.assert_allclose(slopes, weight * gradient, rtol=0, atol=1e-9)


def test_a_perceptron_multiplies_its_updates():
    """One sentence of weight 3: every weight is three times as large, and the answers are the same."""
    one = tw.Perceptron(WORD, epochs=1).fit(X10[:1], Y10[:1]).model_
    three = tw.Perceptron(WORD, epochs=1).fit(X10[:1], Y10[:1], sample_weight=[3]).model_
    np.testing.assert_array_equal(three.arrays["rows.weight"], 3 * one.arrays["rows.weight"])
    nothing, alone = (
        tw.Perceptron(WORD, epochs=1).fit(X10[:n], Y10[:n], sample_weight=own).model_
        for n, own in ((2, [0, 1]), (1, [1]))
    )
    assert alone.arrays["rows.weight"].any()
    words = {*X10[0]} - {*X10[1]}  # those that only the sentence of weight 0 has
    assert words
    scores = [nothing.lattice([word]).nodes for word in words]
    assert not np.any(scores)


def test_an_hmm_of_hidden_labels_counts_by_probability():
    """Two words of one label each; what is hidden is decided by the word, so that counts are those of all labels."""
    X, y = [["a", "b"], ["b", "a"], ["a", "a"]], [["A", "B"], ["B", "A"], ["A", "A"]]
    model = tw.HMM().fit(X * 4, [*y * 3, ["A", None], [None, "A"], [{"A", "B"}, "A"]]).model_
    assert model.tag_batch(X) == y
    learner = tw.HMM().fit(X10 * 2, [*Y10, *hidden(Y10, 0.5)])
    assert learner.history_[-1]["log_likelihood"] >= learner.history_[0]["log_likelihood"]


def test_partial_labels_are_refused_where_they_mean_nothing():
    y = hidden(Y10, 0.5)
    with pytest.raises(
        ValueError, match="partial labels cannot be combined with a MEMM: its features read the labels before"
    ):
        tw.MEMM().fit(X10, y)
    with pytest.raises(
        ValueError, match="partial labels cannot be combined with a MEMM: its features read the labels before"
    ):
        tw.Bidirectional(tw.CRF(WORD, solver=tw.LBFGS(max_iterations=2)), tw.MEMM(WORD[:-2])).fit(X10, y)
    both = tw.Bidirectional(tw.HMM(), tw.Perceptron(WORD, epochs=2)).fit(X10, y, sample_weight=np.ones(10))
    assert len(both.predict(X10)) == 10
    with pytest.raises(ValueError, match="dev must have one label per token"):
        tw.Perceptron(WORD).fit(X10, y, dev=(X10, y))


@pytest.mark.parametrize("options", [{}, {"order": 2}, {"pruning": "exact"}], ids=str)
def test_online_losses_are_those_of_what_is_allowed(options):
    """Of one batch, where weights are 0: log of the number of labellings over that of allowed ones, weighted."""
    y, weights = hidden(Y10, 0.5), np.arange(1.0, 11.0)
    L = len({label for own in Y10 for label in own})
    learner = tw.CRF(WORD, solver=tw.AdaGrad(batch=10), epochs=1, **{"pruning": tw.KeepSize(1000), **options})
    learner.fit(X10, y, sample_weight=weights)
    known = [[len(label) if isinstance(label, set) else L if label is None else 1 for label in own] for own in y]
    expected = sum(w * sum(np.log(L / n) for n in own) for w, own in zip(weights, known, strict=True))
    assert learner.history_[0]["objective"] == pytest.approx(expected, rel=1e-5)


def test_bad_sets_and_weights():
    with pytest.raises(ValueError, match=r"y\[0\]\[1\] is an empty set"):
        tw.CRF().fit([["a", "b"]], [["A", set()]])
    with pytest.raises(ValueError, match=r"y\[0\]\[0\] holds 3; the labels of a set are strings"):
        tw.CRF().fit([["a", "b"]], [[{"A", 3}, "B"]])
    with pytest.raises(ValueError, match="every label of y is None"):
        tw.CRF().fit([["a", "b"]], [[None, None]])
    for bad, said in (([1], "one number per sentence: 2"), ([1, -1], r"sample_weight\[1\] is -1"),
                      ([1, np.nan], r"sample_weight\[1\] is nan"), ([0, 0], "0 for every sentence"),
                      ("x", "a number per sentence")):  # fmt: skip
        for learner in (tw.CRF(), tw.Perceptron(), tw.HMM(), tw.MEMM()):
            with pytest.raises(ValueError, match=said):
                learner.fit([["a"], ["b"]], [["A"], ["B"]], sample_weight=bad)


def test_train_reads_labels_that_are_partly_known(tmp_path):
    rows = ["the DT", "can NN,VB", ", ,", "run _", "", "the DT", "run VB", "can NN", ""]
    (tmp_path / "c").write_text("\n".join(row.replace(" ", "\t") for row in rows), encoding="utf-8")
    for learner in ("perceptron", "crf", "hmm"):
        printed("train", tmp_path / "c", tmp_path / "m", "--learner", learner, "--partial", "-q")
        model = tw.load(tmp_path / "m")
        assert {*model.labels} == {"DT", "NN", "VB", ","}
    printed("train", tmp_path / "c", tmp_path / "m", "-q")
    assert "NN,VB" in tw.load(tmp_path / "m").labels
    assert "not joint ones" in complaint("train", tmp_path / "c", tmp_path / "m", "--partial", "-l", "1+2")
