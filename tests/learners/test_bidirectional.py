"""Dual decomposition against brute force over summed scores, and models that tag together."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone
from support.brute_force import Case, all_paths
from support.corpora import same_arrays, ten_sentences
from support.memms import TEMPLATES, all_labellings, at_random, made, small_corpus, tiny

import tagwright as tw
from tagwright.models.bidirectional import BidirectionalModel
from tagwright.models.tagging import Tagging

X10, Y10 = ten_sentences()
FIRST = TEMPLATES.replace("UY2:%y[-2]/%y[-1]\n", "")
CLOSE = 1e-5


def whole_numbered(seed):
    """Two lattices over the same labels, with scores that make ties likely and sums exact."""
    rng = np.random.default_rng(seed)
    T, L = int(rng.integers(1, 6)), int(rng.integers(1, 5))
    return [(rng.integers(-4, 5, (T, L)).astype(float), rng.integers(-3, 4, (L, L)).astype(float)) for _ in range(2)]


def searcher(nodes, edges, seen=None, decoder="auto"):
    """A callable from prices to labels, which notes the prices."""

    def best(prices):
        if seen is not None:
            seen.append(prices.copy())
        return tw.decode(nodes + prices, edges, decoder=decoder).paths[0].labels

    return best


def joint(lattices):
    return lambda labels: sum(tw.score(nodes, edges, labels) for nodes, edges in lattices)


@pytest.mark.parametrize("schedule", ["constant", "falling"])
def test_agreement_is_the_best_by_the_summed_score(schedule):
    agreed = 0
    for seed in range(120):
        (left, right) = lattices = whole_numbered(seed)
        T, L = left[0].shape
        steps = np.repeat((left[1] + right[1])[None], T - 1, axis=0)
        truth = all_paths(Case(left[0] + right[0], None, None, steps, np.zeros(L), np.zeros(L)))
        found = tw.dual_decomposition(
            searcher(*left), searcher(*right), T, L, 200, 0.5, schedule, score=joint(lattices), exact=True
        )
        assert found.score == joint(lattices)(found.labels)
        assert found.certain == found.agreed == (found.disputed == [])
        assert 1 <= found.rounds <= 200
        assert found.agreed or found.rounds == 200
        agreed += found.agreed
        if found.certain:
            assert found.score == truth[0][0]
        else:
            assert found.score <= truth[0][0]
    assert agreed > 80


@pytest.mark.parametrize("schedule", ["constant", "falling"])
def test_prices(schedule):
    for seed in range(30):
        left, right = whole_numbered(seed)
        T, L = left[0].shape
        mine, its, disputes = [], [], np.zeros(T)
        found = tw.dual_decomposition(searcher(*left, mine), searcher(*right, its), T, L, 12, 0.5, schedule)
        assert len(mine) == len(its) == found.rounds
        assert not mine[0].any()
        for n, (a, b) in enumerate(zip(mine, its, strict=True)):
            # What one is paid the other pays; and what a column's labels are paid is paid by its other labels.
            assert np.array_equal(a, -b)
            assert a.sum(axis=1) == pytest.approx(np.zeros(T), abs=1e-12)
            if n:
                moved = np.abs(a - mine[n - 1])
                in_dispute = moved.any(axis=1)
                disputes += in_dispute
                assert in_dispute.any()
                for t in np.flatnonzero(in_dispute):
                    step = 0.5 if schedule == "constant" else 0.5 / disputes[t]
                    assert np.sort(moved[t])[::-1] == pytest.approx([step, step] + [0] * (L - 2), abs=1e-12)
        if found.disputed:
            labels = [searcher(*one)(prices[-1]) for one, prices in ((left, mine), (right, its))]
            assert found.disputed == np.flatnonzero(labels[0] != labels[1]).tolist()


def test_the_dual_is_a_bound():
    for seed in range(20):
        left, right = whole_numbered(seed)
        T, L = left[0].shape
        best = max(joint((left, right))(list(path)) for path in itertools.product(range(L), repeat=T))
        prices = []
        tw.dual_decomposition(searcher(*left, prices), searcher(*right), T, L, 6)
        for mu in prices:
            bounds = [tw.decode(one[0] + sign * mu, one[1]).paths[0].score for one, sign in ((left, 1), (right, -1))]
            assert sum(bounds) >= best - 1e-9


def test_no_agreement():
    # Both halves of the sentence pull in two ways: there is nothing that whole labels agree on.
    left = (np.zeros((2, 2)), np.array([[9.0, 0.0], [0.0, 8.0]]))
    right = (np.zeros((2, 2)), np.array([[0.0, 4.0], [9.0, 0.0]]))
    found = tw.dual_decomposition(searcher(*left), searcher(*right), 2, 2, 1, score=joint((left, right)))
    assert (found.agreed, found.certain, found.rounds, found.disputed) == (False, False, 1, [0])
    assert (found.labels, found.score) == ([0, 0], 9.0)
    assert tw.dual_decomposition(searcher(*left), searcher(*right), 2, 2, 1).score is None
    right = (np.zeros((2, 2)), np.array([[0.0, 4.0], [9.5, 0.0]]))
    better = tw.dual_decomposition(searcher(*left), searcher(*right), 2, 2, 1, score=joint((left, right)))
    assert (better.labels, better.score) == ([1, 0], 9.5)


def test_nothing_to_agree_on():
    empty = tw.dual_decomposition(lambda prices: [], lambda prices: [], 0, 3)
    assert empty == ([], None, True, 1, [], False)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ([0, 1, 2], "left must give one label per token: there are more labels than tokens, 2"),
        ([0], "left must give one label per token: 2 tokens, but 1 labels"),
        ([0, 3], "left must give one label per token: labels go from 0 to 2"),
        ([0, -1], "labels go from 0 to 2"),
        ([0, "a"], "labels go from 0 to 2"),
        (None, "the answer of left must be a list of labels, not None"),
    ],
)
def test_answers_that_are_none(answer, says):
    with pytest.raises(ValueError, match=says):
        tw.dual_decomposition(lambda prices: answer, lambda prices: [0, 0], 2, 3)


def test_what_a_search_raises_comes_through():
    def angry(prices):
        raise RuntimeError("not today")

    with pytest.raises(RuntimeError, match="not today"):
        tw.dual_decomposition(lambda prices: [0], angry, 1, 2)


OPTIONS = [
    ({"rounds": 0}, "rounds must be a whole number of at least 1"),
    ({"step": 0}, "step must be a number above 0, not 0"),
    ({"step": float("nan")}, "step must be a number above 0"),
    ({"step": float("inf")}, "step must be a number above 0"),
    ({"schedule": "rising"}, "schedule must be 'constant' or 'falling', not 'rising'"),
]


@pytest.mark.parametrize(("options", "says"), [*OPTIONS, ({"L": 0}, "L must be"), ({"T": -1}, "T must be")])
def test_bad_options(options, says):
    with pytest.raises(ValueError, match=says):
        tw.dual_decomposition(lambda prices: [0], lambda prices: [0], **{"T": 1, "L": 2, **options})


@pytest.mark.parametrize(
    ("options", "says"), [*OPTIONS, ({"left": 5}, "left must be an estimator, a model or the path")]
)
def test_bad_options_of_the_learner(options, says):
    with pytest.raises(ValueError, match=says):
        tw.Bidirectional(**options).fit(X10, Y10)


# The story of figure 1


def test_would_service_be_voluntary_or_compulsory():
    """Left is wrong on "service", behind a modal; right on "compulsory", with which it begins; both together are right.

    The weights are round numbers: "service" and "compulsory" are ambiguous, and the neighbour's label is more
    informative, but only to the model that has already labelled the neighbour.
    """
    words = ["Would", "service", "be", "voluntary", "or", "compulsory", "?"]
    labels = ["NN", "VB", "MD", "JJ", "CC", "."]
    templates = "U:%x[0,0]\nUY:%y[-1]\n"
    known = {
        ("U:Would", "MD"): 9,
        ("U:service", "NN"): 6,
        ("U:service", "VB"): 5.5,
        ("U:be", "VB"): 9,
        ("U:voluntary", "JJ"): 9,
        ("U:or", "CC"): 9,
        ("U:compulsory", "JJ"): 6,
        ("U:compulsory", "NN"): 5.5,
        ("U:?", "."): 9,
    }
    # Behind a modal mostly comes a verb; behind "or" comes what came before it.
    left = made(labels, templates, {**known, ("UY:MD", "VB"): 1, ("UY:CC", "JJ"): 2})
    # Before a verb mostly stands a noun; and a sentence mostly ends with one.
    right = made(labels, templates, {**known, ("UY:VB", "NN"): 2, ("UY:.", "NN"): 1}, direction="left")
    gold = ["MD", "NN", "VB", "JJ", "CC", "JJ", "."]
    assert left.tag(words) == ["MD", "VB", "VB", "JJ", "CC", "JJ", "."]
    assert right.tag(words) == ["MD", "NN", "VB", "JJ", "CC", "NN", "."]

    both = tw.Bidirectional(left, right).fit().model_
    (found,) = both.agree([words])
    assert found.labels == gold
    assert found.agreed
    assert found.certain
    assert found.rounds > 1
    assert found.disputed == []
    scores = {tuple(path): score for score, path in all_labellings(left, words[:3])}
    assert max(scores, key=scores.get) == ("MD", "VB", "VB")
    (undecided,) = both.agree([words], rounds=1)
    assert (undecided.agreed, undecided.disputed) == (False, [1, 5])


# Models


def pair(seed, first=TEMPLATES, second=TEMPLATES, **options):
    return (
        at_random(seed, templates=first, **options),
        at_random(seed + 1000, templates=second, direction="left", **options),
    )


def brute_joint(left, right, words):
    """Every labelling by the sum of two models' log probabilities, best first."""
    its = {tuple(path): score for score, path in all_labellings(right, words)}
    return sorted(((score + its[tuple(path)], path) for score, path in all_labellings(left, words)), reverse=True)


@pytest.mark.parametrize("beam", [1, 3, 20])
def test_certain_means_the_best_of_all(beam):
    certain = 0
    for seed in range(10):
        left, right = pair(seed, beam=beam)
        words = list("abcab"[: 2 + seed % 4])
        truth = brute_joint(left, right, words)
        scores = {tuple(path): score for score, path in truth}
        (found,) = tw.Bidirectional(left, right, rounds=300).fit().model_.agree([words])
        assert found.score == pytest.approx(scores[tuple(found.labels)], abs=CLOSE)
        certain += found.certain
        assert not found.certain or found.score == pytest.approx(truth[0][0], abs=CLOSE)
        assert found.agreed or not found.certain
    assert certain > (4 if beam == 20 else 0)


@pytest.mark.parametrize("schedule", ["constant", "falling"])
def test_native_rounds_are_those_of_the_function(schedule):
    for seed in range(8):
        left, right = pair(seed, FIRST, FIRST, beam=3)
        words = list("abcabcab")
        lattices = [model.lattice(words)[:2] for model in (left, right)]
        found = tw.dual_decomposition(
            *(searcher(nodes, edges, decoder="viterbi") for nodes, edges in lattices),
            len(words), 3, 20, 0.3, schedule, score=joint(lattices), exact=True,
        )  # fmt: skip
        (native,) = tw.Bidirectional(left, right).fit().model_.agree([words], rounds=20, step=0.3, schedule=schedule)
        assert native.labels == [left.labels[y] for y in found.labels]
        assert native.score == pytest.approx(found.score, abs=1e-9)
        assert native[2:] == found[2:]


def test_any_two_models():
    X, y = small_corpus(2, 40)
    learners = [
        tw.Perceptron(features="U:%x[0,0]\nB\n", epochs=3),
        tw.Perceptron(features="U:%x[0,0]\nUV:%x[1,0]\nB\nB1:%x[0,0]\n", epochs=2, seed=1),
        tw.CRF(features="U:%x[0,0]\nB\n", solver=tw.LBFGS(max_iterations=10)),
        tw.HMM(),
        tiny(),
    ]
    for first, second in itertools.combinations(learners, 2):
        model = tw.Bidirectional(first, second).fit(X, y).model_
        for words in (list("abc"), list("dcba"), []):
            scores = {
                path: model.joint_scores([words], [[list(path)]])[0][0]
                for path in itertools.product(model.labels, repeat=len(words))
            }
            (found,) = model.agree([words])
            assert found.score == pytest.approx(scores[tuple(found.labels)], abs=1e-6)
            assert not found.certain or found.score == pytest.approx(max(scores.values()), abs=1e-6)
        assert all(own.certain == own.agreed for own in model.agree(X))


def test_labels_in_another_order():
    weights = {("U:a", "A"): 2.0, ("U:b", "B"): 1.0, ("UY:A", "C"): 1.5, ("U:c", "C"): 0.5}
    templates = "U:%x[0,0]\nUY:%y[-1]\n"
    left = made(["A", "B", "C"], templates, {**weights, ("U:b", "A"): 1.4})
    orders = list(itertools.permutations("ABC"))
    X = [list("abcba"), list("bca"), list("b")]
    found = [
        tw.Bidirectional(left, made(list(order), templates, weights, direction="left")).fit().model_.agree(X)
        for order in orders
    ]
    for own in found:
        assert [one.labels for one in own] == [one.labels for one in found[0]]
        assert [one.score for one in own] == pytest.approx([one.score for one in found[0]])


def test_kbest_is_the_best_of_the_union():
    for seed in range(6):
        left, right = pair(seed)
        words = list("abca")
        model = tw.Bidirectional(left, right).fit().model_
        everything = brute_joint(left, right, words)
        found = model.tag_kbest([words], 81)[0]
        assert [one.score for one in found] == pytest.approx([score for score, _ in everything], abs=CLOSE)
        few = model.tag_kbest([words, [], words], 4)
        assert few[0] == few[2]
        assert few[1] == [Tagging([], 0.0)]
        lists = [[tuple(one.labels) for one in part.tag_kbest([words], 4)[0]] for part in (left, right)]
        union = {*lists[0], *lists[1], tuple(model.tag(words))}
        truth = [score for score, path in everything if tuple(path) in union][:4]
        assert [one.score for one in few[0]] == pytest.approx(truth, abs=CLOSE)


def test_threads_and_columns_that_did_not_change():
    X = [list(np.random.default_rng(s).choice(list("abc"), 9)) for s in range(80)]
    left, right = pair(5)
    model = tw.Bidirectional(left, right).fit().model_
    alone = model.agree(X)
    assert model.agree(X, threads=3) == alone
    assert any(own.rounds > 3 for own in alone)
    # One sentence at a time, from the start: nothing is left over from the one before.
    assert [model.agree([words])[0] for words in X] == alone


def test_save_and_load(tmp_path):
    learner = tw.Bidirectional(tiny(), tw.CRF(features="U:%x[0,0]\nB\n", solver=tw.LBFGS(max_iterations=9))).fit(
        X10, Y10
    )
    model = learner.model_
    model.save(tmp_path / "both")
    loaded = tw.load(tmp_path / "both")
    assert isinstance(loaded, BidirectionalModel)
    assert same_arrays(model.arrays, loaded.arrays)
    assert (loaded.labels, loaded.facts, loaded.columns) == (model.labels, model.facts, model.columns)
    assert loaded.agree(X10) == model.agree(X10)
    assert loaded.tag_kbest(X10, 3) == model.tag_kbest(X10, 3)
    assert type(loaded.left) is type(model.left)
    assert loaded.knows("dog")
    assert not loaded.knows("unheard")
    again = tw.Bidirectional(loaded.left, loaded.right, rounds=3).fit().model_
    assert again.facts["bidirectional"]["rounds"] == 3
    model.right.save(tmp_path / "right")
    assert tw.Bidirectional(model.left, tmp_path / "right").fit().predict(X10) == learner.predict(X10)


def test_the_learner():
    learner = tw.Bidirectional(tiny(), tiny(direction="left"))
    assert learner.fit(X10, Y10).score(X10, Y10) == 1
    assert learner.left_.model_ is learner.model_.left
    assert learner.right_.model_.leftward
    assert not hasattr(learner.left, "model_")  # what was given is left as it was
    assert clone(learner).get_params()["left__beam"] == 20
    assert learner.set_params(left__beam=3).fit(X10, Y10).model_.left.beam == 3
    dev = tw.Bidirectional(tiny(max_iterations=40, patience=1), tiny(direction="left", max_iterations=40, patience=1))
    assert "dev" in dev.fit(X10, Y10, dev=(X10[:3], Y10[:3])).left_.history_[-1]
    default = tw.Bidirectional().fit(X10, Y10)
    assert default.score(X10, Y10) == 1
    assert (default.model_.left.leftward, default.model_.right.leftward) == (False, True)


def test_models_that_do_not_fit():
    model = tiny(max_iterations=2).fit(X10, Y10).model_
    with pytest.raises(ValueError, match="needs sentences and labels"):
        tw.Bidirectional(model).fit()
    other = at_random(0)
    with pytest.raises(ValueError, match="must have the same labels, but only one of them has 'A' and"):
        tw.Bidirectional(model, other).fit()
    both = tw.Bidirectional(other, other).fit().model_
    with pytest.raises(ValueError, match="cannot be one of two"):
        tw.Bidirectional(both, other).fit()
    for call in (lambda: both.lattice(["a"]), lambda: both.edges, both.priced):
        with pytest.raises(ValueError, match="left"):
            call()
    for call in (lambda: both.tag(["a"], proba=True), lambda: both.marginals([["a"]])):
        with pytest.raises(ValueError, match="not probabilities"):
            call()
    ready = (
        tw.MEMM(solver=tw.LBFGS(max_iterations=1)).fit([[{"w": word} for word in words] for words in X10], Y10).model_
    )
    with pytest.raises(ValueError, match="both must read the same"):
        tw.Bidirectional(model, ready).fit()
    with pytest.raises(ValueError, match="sentence 0, token 1"):
        both.agree([["a", 5]])
