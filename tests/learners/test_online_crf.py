"""CRFs trained online: the bound on log Z, and steps against plain Python."""

import itertools
import math
from collections import defaultdict

import numpy as np
import pytest
from support.brute_force import Case
from support.corpora import many_labels, ten_sentences, weights_of
from support.flat import crf
from support.levels import run_at
from support.sums import enumerated

import tagwright as tw
from tagwright.learners.examples import Examples
from tagwright.learners.online import OnlineTraining

X10, Y10 = ten_sentences()
RICH = "U0:%x[0,0]\nU1:%x[-1,0]\nUV\nB\n"
DEPENDENT = "U0:%x[0,0]\nUV\nB\nB07:%x[0,0]\n"
STEP_FROM, NEW_FROM = 0.01, 0.05
ROUNDING = 1e-4  # of weights and scores in single precision


def all_weights_of(model):
    nodes, edges, sets = weights_of(model)
    return nodes | edges | sets


def trained(X, y, epochs, **options):
    """A training after this many epochs."""
    run = OnlineTraining(crf(solver="adagrad", epochs=epochs, **options), Examples(X, y))
    run.run()
    return run


# The promise


def limits_of(X, y):
    """Constraints that the corpus keeps to: pairs and ends that it does not have, and a dictionary of its words."""
    labels = sorted({label for own in y for label in own})
    met = {pair for own in y for pair in itertools.pairwise(own)}
    rare = [pair for n, pair in enumerate(itertools.product(labels, labels)) if pair not in met and n % 3]
    rules = tw.Constraints(
        labels, forbid=rare, start=sorted({own[0] for own in y}), stop=sorted({own[-1] for own in y})
    )
    return rules & tw.Constraints.learnt(X, y, min_count=10, labels=labels)


@pytest.mark.parametrize("limited", [False, True], ids=["free", "limited"])
@pytest.mark.parametrize("features", [RICH, DEPENDENT], ids=["shared", "sets"])
@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1.0])
def test_log_z_is_within_the_promised_bound(features, epsilon, limited):
    # Labels depend on their neighbours, and rates are large, so that edges matter.
    X, y = many_labels(sentences=30, labels=50)
    limits = limits_of(X, y) if limited else None
    fewer = 0
    for epochs in (1, 2, 6):
        run = trained(X, y, epochs, features=features, pruning=tw.KeepDivergence(epsilon), rate=1.0, constraints=limits)
        model = run.model(run.trainer.last(), epochs)
        for s, (found, missing) in enumerate(run.trainer.log_z(np.arange(len(X), dtype=np.int32))):
            scores = model.lattice(X[s])
            under = {}
            if limited:
                own = limits.for_labels(model.labels)
                under = {"constraints": own.without_words(), "allowed": own.allowed(X[s])}
            exact = tw.marginals(scores.nodes, scores.edges, active=scores.active, **under).log_z
            assert found <= exact + ROUNDING
            assert exact <= found + missing + ROUNDING
            assert missing <= epsilon * len(X[s])
            fewer += exact > found + ROUNDING
    if epsilon > 0.01:  # where it is less, bounds prune nothing of such a small label set
        assert fewer > 0
        assert run.history[-1]["kept"] < 50


@pytest.mark.parametrize("order", [1, 2])
def test_missing_mass_is_reported_where_nothing_is_promised(order):
    X, y = many_labels(sentences=30, labels=50)
    run = trained(X, y, 2, features=RICH, pruning=tw.KeepSize(3), order=order)
    model = run.model(run.trainer.last(), 2)
    for s, (found, missing) in enumerate(run.trainer.log_z(np.arange(len(X), dtype=np.int32))):
        scores = model.lattice(X[s])
        exact = tw.marginals(scores.nodes, scores.edges).log_z
        assert found - ROUNDING <= exact <= found + missing + ROUNDING
    assert run.history[-1]["kept"] <= 4
    assert run.history[-1]["missing"] > 0


def test_an_infinite_bound_is_in_the_history_and_survives_a_checkpoint(tmp_path, monkeypatch):
    path = tmp_path / "run.safetensors"
    pass_over = OnlineTraining.pass_over
    # Sums of n-grams have no bound where it overflows.
    monkeypatch.setattr(OnlineTraining, "pass_over", lambda *own: {**pass_over(*own), "missing": math.inf})
    assert [fact["missing"] for fact in crf(RICH, epochs=1).fit(X10, Y10, checkpoint=path).history_] == [math.inf]
    resumed = crf(RICH, epochs=2).fit(X10, Y10, checkpoint=path)
    assert [fact["missing"] for fact in resumed.history_] == [math.inf, math.inf]
    # A model file holds finite numbers only.
    assert [sorted(fact) for fact in tw.load(path).history] == 2 * [["kept", "objective", "seconds"]]


@pytest.mark.parametrize("order", [1, 2])
def test_the_bound_is_always_reported(order):
    X, y = many_labels(sentences=30, labels=20)
    pruned = crf(RICH, epochs=1, pruning=tw.KeepSize(3), order=order).fit(X, y)
    assert pruned.history_[0]["missing"] > 0
    exact = crf(RICH, epochs=1, pruning="exact", order=order).fit(X, y)
    assert exact.history_[0]["missing"] == 0


# Steps


class Plain:
    """AdaGrad over all labellings of a sentence, by enumeration: what training comes to where nothing is left out."""

    def __init__(self, X, y, rate, l2, margin=0, forbidden=()):
        self.X, self.y, self.rate, self.l2, self.seen, self.forbidden = X, y, rate, l2, 0, forbidden
        self.margin = margin
        self.labels = tw.CRF(epochs=1).fit(X, y).model_.labels
        self.weight, self.squares, self.late = defaultdict(float), defaultdict(float), defaultdict(float)
        tokens = [(s, t) for s in range(len(X)) for t in range(len(X[s]))]
        self.known = {name for s, t in tokens for name in self.names(s, t, *self.right(s, t))}

    def right(self, s, t):
        return (self.y[s][t - 1] if t else None), self.y[s][t]

    def features(self, s, t):
        return [f"U0:{self.X[s][t]}", f"U1:{self.X[s][t - 1] if t else '_B-1'}", "UV"]

    def names(self, s, t, i, j):
        return [(f, j) for f in self.features(s, t)] + ([(i, j)] if i is not None else [])

    def asked(self, s):
        """The gradients of a sentence's labels and pairs of labels, in the order in which they are stepped."""
        T, L = len(self.X[s]), len(self.labels)
        nodes = np.array([[sum(self.weight[f, j] for f in self.features(s, t)) for j in self.labels] for t in range(T)])
        nodes -= self.margin * np.array([[label == own for label in self.labels] for own in self.y[s]])
        edges = np.array(
            [[-np.inf if (i, j) in self.forbidden else self.weight[i, j] for j in self.labels] for i in self.labels]
        )
        none = np.zeros(L)
        sums = enumerated(Case(nodes, edges, None, np.repeat(edges[None], max(T - 1, 0), axis=0), none, none))
        steps = []
        for t in range(T):
            for j in range(L):
                g = sums.nodes[t][j] - (self.labels[j] == self.y[s][t])
                steps += [((f, self.labels[j]), g) for f in self.features(s, t)]
        for t in range(1, T):
            for i in range(L):
                for j in range(L):
                    own = (self.labels[i], self.labels[j])
                    steps.append((own, sums.edges[t - 1][i][j] - (own == self.right(s, t))))
        return [(name, g) for name, g in steps if abs(g) >= STEP_FROM]

    def change(self, name, by):
        self.weight[name] += by
        self.late[name] += self.seen * by

    def epoch(self, order, batch):
        for begin in range(0, len(order), batch):
            some = order[begin : begin + batch]
            for name, g in [step for s in some for step in self.asked(s)]:
                if abs(g) >= NEW_FROM:
                    self.known.add(name)
                if name in self.known:
                    self.squares[name] += g * g
                    self.change(name, -self.rate * g / math.sqrt(1 + self.squares[name]))
            self.seen += len(some)
        for name in self.known:
            by = 1 + 2 * self.l2 * self.rate / math.sqrt(1 + self.squares[name])
            self.change(name, self.weight[name] / by - self.weight[name])

    def average(self):
        return {name: self.weight[name] - self.late[name] / self.seen for name in self.known}


@pytest.mark.parametrize("pruning", [tw.KeepDivergence(1e-9), "exact"], ids=str)
@pytest.mark.parametrize("forbidden", [[], [("R", "R"), ("P", "P"), ("R", "Q")]], ids=["free", "limited"])
@pytest.mark.parametrize(("batch", "l2", "margin"), [(1, 0.0, 0), (3, 0.0, 1.5), (2, 0.1, 0), (1, 0.1, 3)])
def test_steps_against_a_plain_version(batch, l2, margin, forbidden, pruning):
    X = [["a", "b"], ["b", "a", "a"], ["c"], ["a", "c", "b"], ["b", "b"]]
    y = [["P", "Q"], ["Q", "R", "P"], ["R"], ["P", "Q", "R"], ["Q", "P"]]
    plain = Plain(X, y, 0.7, l2, margin, forbidden)
    options = {"features": RICH, "pruning": pruning, "rate": 0.7, "l2": l2, "batch": batch, "average_from": 1}
    options["margin"] = margin
    options["constraints"] = tw.Constraints(["P", "Q", "R"], forbid=forbidden) if forbidden else None
    for epoch in range(3):
        plain.epoch(np.random.default_rng([0, epoch]).permutation(len(X)), batch)
    found = all_weights_of(trained(X, y, 3, **options).learner.model_)
    expected = {name: w for name, w in plain.average().items() if abs(w) > ROUNDING}
    assert {name: w for name, w in found.items() if abs(w) > ROUNDING} == pytest.approx(expected, abs=ROUNDING)


def test_touched_pairs_get_weights_and_observed_ones_do_not():
    X, y = many_labels(sentences=30, labels=50)
    met = set()
    for words, labels in zip(X, y, strict=True):
        met |= {(f"U0:{word}", label) for word, label in zip(words, labels, strict=True)}
    found = {}
    for pairs in ("touched", "observed"):
        model = tw.CRF("U0:%x[0,0]\nB\n", solver=tw.AdaGrad(pairs=pairs), epochs=2).fit(X, y).model_
        found[pairs] = {name for name in all_weights_of(model) if name[0].startswith("U0")}
    assert found["observed"] <= met
    assert found["touched"] - met


def test_parts_share_what_is_learnt():
    # Whole labels cannot distinguish which of the two does not occur with this word; parts can.
    X = [["a", "x"], ["b", "x"], ["a", "y"], ["b", "y"], ["c", "x"]]
    y = [["A|1", "X|2"], ["B|1", "X|2"], ["A|1", "Y|2"], ["B|1", "Y|2"], ["C|1", "X|2"]]
    learner = tw.CRF("U0:%x[0,0]\nU1:%x[-1,0]\nB\n", parts="|", epochs=5).fit(X, y)
    model = learner.model_
    assert learner.score(X, y) == 1
    assert len(model.arrays["parts"]) == 2 * len(model.labels)
    again = tw.CRF("U0:%x[0,0]\nU1:%x[-1,0]\nB\n", parts="|", epochs=1, warm_start=model).fit(X, y)
    assert again.objective_ < learner.history_[0]["objective"]
    # A label's score is its own weight and those of its parts, in training as in the model.
    run = trained(X, y, 3, features="U0:%x[0,0]\nB\n", pruning=tw.KeepDivergence(1e-6), parts="|")
    last = run.model(run.trainer.last(), 3)
    for s, (found, _) in enumerate(run.trainer.log_z(np.arange(len(X), dtype=np.int32))):
        scores = last.lattice(X[s])
        assert found == pytest.approx(tw.marginals(scores.nodes, scores.edges).log_z, abs=ROUNDING)


# Levels, solvers


def test_weights_do_not_depend_on_the_kernels():
    code = """
import numpy as np, tagwright as tw
from support.corpora import many_labels
arrays = tw.CRF("U0:%x[0,0]\\nU1:%x[-1,0]\\nB\\n", epochs=3).fit(*many_labels(sentences=30, labels=90)).model_.arrays
print(tw._core.digest([arrays[name] for name in ("rows.weight", "edges.score")]))
"""
    base, best = (run_at(level, code) for level in ("base", "avx2"))
    if "avx2 is" in best.stderr:
        pytest.skip("not applicable: this CPU has one level")
    assert base.stdout == best.stdout != ""


def test_no_option_changes_the_solver():
    for options in ({}, {"epochs": 3}, {"pruning": tw.KeepSize(3)}, {"pruning": "exact"}, {"order": 2}, {"threads": 2}):
        assert tw.CRF(**{"epochs": 2, **options}).fit(X10, Y10).model_.facts["options"]["solver"] == "adagrad"
    default = tw.CRF(solver="lbfgs").fit(X10, Y10).model_.facts["options"]
    assert (default["l2"], default["pruning"], default["solver"]) == (1.0, None, "lbfgs")


def test_warm_start():
    first = tw.CRF(DEPENDENT, epochs=5).fit(X10, Y10)
    warm = tw.CRF(DEPENDENT, epochs=1, warm_start=first.model_).fit(X10, Y10)
    cold = tw.CRF(DEPENDENT, epochs=1).fit(X10, Y10)
    assert warm.objective_ < cold.objective_
    more = tw.CRF(DEPENDENT, epochs=5, warm_start=first.model_).fit([["wow", "dogs"]], [["UH", "NNS"]])
    assert {"UH", "MD"} <= set(more.model_.labels)
    assert more.predict([["wow"]]) == [["UH"]]


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("state.nodes.weight", lambda values: values * np.nan),
        ("state.nodes.squares", lambda values: values - 1e9),
        ("state.edges.row", lambda values: values + 1000),
        ("state.nodes.key", lambda values: values + 1000),
        ("state.edges.sum", lambda values: values[1:]),
    ],
)
def test_a_state_that_someone_changed(name, change):
    run = trained(X10, Y10, 2)
    state = {key: np.array(value) for key, value in run.trainer.state().items()}
    state[name] = change(state[name]).astype(state[name].dtype)
    fresh = OnlineTraining(tw.CRF(epochs=2), Examples(X10, Y10))
    with pytest.raises(ValueError, match="state: "):
        fresh.trainer.restore(run.trainer.visited, state)
