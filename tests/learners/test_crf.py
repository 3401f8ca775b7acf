"""The CRF: sums against enumeration, gradients against differences, optima against python-crfsuite's."""

import dataclasses
import itertools
import json
import math
import pickle
import re
from collections import Counter

import numpy as np
import pytest
import scipy.optimize
import scipy.special
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from support.brute_force import Case
from support.comparing import comparing
from support.corpora import drawn, many_labels, names_of, same_arrays, ten_sentences, train_and_dev, weights_of
from support.flat import crf
from support.sums import choose, enumerated, exact, kept_labels

import tagwright as tw
from tagwright import _core
from tagwright.decoding.keep import keep_arguments
from tagwright.learners.batch import BatchTraining
from tagwright.learners.examples import Examples
from tagwright.learners.options import set_flat

X10, Y10 = ten_sentences()
FEW = many_labels(sentences=20, labels=12)
WORD = "U0:%x[0,0]\nB\n"
RICH = "U0:%x[0,0]\nU1:%x[-1,0]\nUV\nB\n"
DEPENDENT = "U0:%x[0,0]\nUV\nB\nB07:%x[0,0]\n"
FINE = {"tolerance": 1e-10}


# A CRF in plain Python and NumPy. Weights have names: (feature, label), (previous, current), (set, previous, current).


def node_features(tokens, text):
    """The features of each token, with their values; text None: they are ready-made."""
    if text is None:
        return [list(token.items()) if isinstance(token, dict) else [(name, 1) for name in token] for token in tokens]
    templates = {
        "U0:%x[0,0]": lambda t: f"U0:{tokens[t]}",
        "U1:%x[-1,0]": lambda t: f"U1:{tokens[t - 1] if t else '_B-1'}",
        "UV": lambda t: "UV",
    }
    used = [templates[line] for line in text.split("\n") if line.startswith("U")]
    return [[(made(t), 1) for made in used] for t in range(len(tokens))]


def set_features(tokens, text):
    """The sets of each step."""
    there = text is not None and "B07:%x[0,0]" in text
    return [[f"B07:{word}"] if there else [] for word in tokens[1:]]


def names_met(X, y, text, all_pairs=False):
    """The weights that there must be."""
    met, features, labels = set(), set(), set(itertools.chain(*y))
    for tokens, path in zip(X, y, strict=True):
        for found, label in zip(node_features(tokens, text), path, strict=True):
            features.update(name for name, _ in found)
            met.update((name, label) for name, _ in found)
        for sets, pair in zip(set_features(tokens, text), itertools.pairwise(path), strict=True):
            if text is None or "B" in text.split("\n"):
                met.add(pair)
            met.update((name, *pair) for name in sets)
    if all_pairs:
        met.update(itertools.product(features, labels))
        met.update(itertools.product(labels, labels))
    return met


def case_of(tokens, text, labels, weights):
    """The lattice of a sentence under weights by name."""
    L = len(labels)
    nodes = [
        [sum(value * weights.get((name, y), 0.0) for name, value in found) for y in labels]
        for found in node_features(tokens, text)
    ]
    edges = np.array([[weights.get(pair, 0.0) for pair in itertools.product([i], labels)] for i in labels])
    steps = np.repeat(edges[None], max(0, len(tokens) - 1), axis=0)
    by_set = {}
    for name, weight in weights.items():
        if len(name) == 3:
            by_set.setdefault(name[0], []).append((labels.index(name[1]), labels.index(name[2]), weight))
    for step, sets in zip(steps, set_features(tokens, text), strict=True):
        for i, j, weight in itertools.chain(*(by_set.get(name, []) for name in sets)):
            step[i, j] += weight
    return Case(np.reshape(np.array(nodes, float), (len(tokens), L)), None, None, steps, np.zeros(L), np.zeros(L))


def restricted(case, rule, right):
    """The sums over labels that a rule keeps, as support/sums.py says, and the right ones; how many a column keeps."""

    def chosen(beliefs, t):
        best, close = choose(beliefs, rule, 1e-9)
        assert not close or len(np.unique(beliefs)) < len(beliefs)  # equal beliefs: the lower label goes first
        return np.union1d(best, [right[t]])

    kept = kept_labels(case.nodes, case.steps, chosen)
    made = enumerated(case._replace(nodes=np.where(kept, case.nodes, -np.inf)))
    return made._replace(kept=kept.sum(axis=1))


def truth(X, y, text, labels, weights, sums=lambda case, right: enumerated(case)):
    """What a corpus sums to: log Z, the scores of the right labels, expected and observed counts, labels kept."""
    log_z, scored, kept, expected, observed = 0.0, 0.0, 0, Counter(), Counter()
    pairs = [name for name in weights if len(name) == 2 and name[0] in labels]
    by_set = {}
    for name in weights:
        if len(name) == 3:
            by_set.setdefault(name[0], []).append(name)
    for tokens, path in zip(X, y, strict=True):
        right = [labels.index(label) for label in path]
        case = case_of(tokens, text, labels, weights)
        found = sums(case, right)
        log_z, kept = log_z + found.log_z, kept + int(found.kept.sum())
        for t, features in enumerate(node_features(tokens, text)):
            scored += case.nodes[t, right[t]]
            for (name, value), n in itertools.product(features, range(len(labels))):
                if (name, labels[n]) in weights:
                    expected[name, labels[n]] += value * found.nodes[t, n]
                    observed[name, labels[n]] += value * (n == right[t])
        for t, sets in enumerate(set_features(tokens, text)):
            scored += case.steps[t, right[t], right[t + 1]]
            for name in itertools.chain(pairs, *(by_set.get(one, []) for one in sets)):
                i, j = (labels.index(label) for label in name[-2:])
                expected[name] += found.edges[t, i, j]
                observed[name] += (i, j) == (right[t], right[t + 1])
    return log_z, scored, expected, observed, kept


def objective_of(X, y, text, weights, l2=1.0, l1=0.0, labels=None):
    """What training minimises, at weights by name; labels: where there are more than those of the corpus."""
    labels = labels or sorted(set(itertools.chain(*y)))
    log_z = scored = 0.0
    for tokens, path in zip(X, y, strict=True):
        case = case_of(tokens, text, labels, weights)
        log_z += exact(case).log_z
        numbers = [labels.index(label) for label in path]
        scored += sum(case.nodes[t, n] for t, n in enumerate(numbers))
        scored += sum(case.steps[t, i, j] for t, (i, j) in enumerate(itertools.pairwise(numbers)))
    all_weights = np.array([*weights.values(), 0.0])
    return log_z - scored + l1 * abs(all_weights).sum() + l2 * (all_weights**2).sum()


# The same from the package


def all_weights_of(model):
    nodes, edges, sets = weights_of(model)
    return nodes | edges | sets


class Core:
    """The sums that a learner trains with, and the place of each weight by its name."""

    def __init__(self, X, y, **options):
        run = BatchTraining(comparing(tw.CRF, solver="lbfgs", **options), Examples(X, y))
        self.trainer, self.labels, self.size = run.trainer, run.labels, run.trainer.size
        numbered = run.trainer.model_weights(np.arange(1.0, self.size + 1))
        self.place = {name: int(n) - 1 for name, n in all_weights_of(run.model(numbered, 0)).items()}
        assert sorted(self.place.values()) == list(range(self.size))
        self.everyone = np.arange(run.sentences, dtype=np.int32)

    def expect(self, weights, keep=None, threads=1, sentences=None):
        """log Z, labels kept, expected counts."""
        some = self.everyone if sentences is None else np.array(sentences, np.int32)
        counts = np.full(self.size, np.nan)
        log_z, tokens, kept = self.trainer.expect(weights, keep_arguments(keep), some, threads, counts)
        assert kept >= tokens
        return log_z, kept, counts

    def observe(self):
        counts = np.full(self.size, np.nan)
        self.trainer.observe(self.everyone, counts)
        return counts

    def check(self, found, log_z, expected, **near):
        """Whether what `expect` returned is log Z and these expected counts."""
        assert found[0] == pytest.approx(log_z, rel=1e-12)
        counts = np.array([expected[name] for name in self.place], float)
        assert found[2][list(self.place.values())] == pytest.approx(counts, **near)

    def named(self, values):
        return {name: float(values[at]) for name, at in self.place.items()}

    def drawn(self, seed, scale=1.0):
        return np.random.default_rng(seed).normal(scale=scale, size=self.size)


def ready_made(X, repeat=False):
    """Tokens as lists of features; one is there twice, and one token has none."""
    return [
        [[] if (s, t) == (2, 0) else ["bias", f"w={w}", *([f"w={w}"] if repeat else [])] for t, w in enumerate(words)]
        for s, words in enumerate(X)
    ]


def with_values(X):
    """Tokens as dicts of features with values that float32 has, some of them negative."""
    rng = np.random.default_rng(7)
    return [[{"bias": 1.0, f"w={w}": 0.5, "x": float(rng.integers(-12, 13)) / 8} for w in words] for words in X]


SMALL = drawn(3, sentences=16, words=4, labels=3, longest=5)
FORMS = {
    "default": (SMALL[0], {"features": RICH}),
    "dense": (SMALL[0], {"features": RICH, "dense_edges": True}),
    "all pairs": (SMALL[0], {"features": RICH, "pairs": "all"}),
    "all pairs, dense": (SMALL[0], {"features": RICH, "pairs": "all", "dense_edges": True}),
    "sets": (SMALL[0], {"features": DEPENDENT}),
    "sets, dense": (SMALL[0], {"features": DEPENDENT, "dense_edges": True}),
    "sets, all pairs": (SMALL[0], {"features": DEPENDENT, "pairs": "all"}),
    "sets without B": (SMALL[0], {"features": "U0:%x[0,0]\nB07:%x[0,0]\n"}),
    "no edges": (SMALL[0], {"features": "U0:%x[0,0]\nUV\n"}),
    "edges only": (SMALL[0], {"features": "B\n"}),
    "ready-made": (ready_made(SMALL[0]), {"features": None}),
    "ready-made, twice": (ready_made(SMALL[0], repeat=True), {"features": None, "pairs": "all"}),
    "values": (with_values(SMALL[0]), {"features": None}),
    "values, all pairs": (with_values(SMALL[0]), {"features": None, "pairs": "all"}),
}
RULES = [
    tw.KeepDivergence(0.05),
    tw.KeepDivergence(0.7),
    tw.KeepDivergence(0.4, at_least=2),
    tw.KeepSize(1),
    tw.KeepSize(2),
    tw.KeepRatio(0.3),
]


def rule_of(keep):
    """As support/sums.py takes it."""
    return (type(keep).__name__, *dataclasses.astuple(keep))


@pytest.fixture(params=FORMS)
def form(request):
    X, options = FORMS[request.param]
    return Core(X, SMALL[1], **options), X, options


# Sums and gradients


def test_the_weights_are_those_the_corpus_has(form):
    core, X, options = form
    assert set(core.place) == names_met(X, SMALL[1], options["features"], options.get("pairs") == "all")


@pytest.mark.parametrize("scale", [0.0, 1.0, 4.0])
def test_sums_are_those_of_all_labellings(form, scale):
    core, X, options = form
    weights = core.drawn(1, scale)
    log_z, scored, expected, observed, kept = truth(X, SMALL[1], options["features"], core.labels, core.named(weights))
    found = core.expect(weights)
    core.check(found, log_z, expected, abs=1e-10)
    assert found[1] == kept
    assert core.named(core.observe()) == {name: observed[name] for name in core.place}
    assert float(core.observe() @ weights) == pytest.approx(scored, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("keep", RULES, ids=str)
def test_sparse_sums_are_those_of_kept_labels(form, keep):
    core, X, options = form
    weights = core.drawn(2, 1.5)
    log_z, _, expected, _, kept = truth(
        X, SMALL[1], options["features"], core.labels, core.named(weights),
        lambda case, right: restricted(case, rule_of(keep), right),
    )  # fmt: skip
    found = core.expect(weights, keep)
    core.check(found, log_z, expected, abs=1e-10)
    assert found[1] == kept < len(core.labels) * sum(map(len, X))


@pytest.mark.parametrize("keep", [None, *RULES[::2]], ids=str)
def test_gradient_is_that_of_differences(form, keep):
    core, _, _ = form
    weights, observed = core.drawn(3), core.observe()

    def loss(w):
        return core.expect(w, keep)[0] - float(observed @ w)

    gradient = core.expect(weights, keep)[2] - observed
    step = 1e-5
    differences = [(loss(weights + step * one) - loss(weights - step * one)) / (2 * step) for one in np.eye(core.size)]
    assert gradient == pytest.approx(np.array(differences), abs=1e-7)
    assert abs(gradient).max() > 0.1


def test_sums_over_some_sentences(form):
    core, _, _ = form
    weights = core.drawn(4)
    parts = [core.expect(weights, sentences=[s]) for s in core.everyone]
    for some in ([0, 3, 4], [8, 1], [5], [15, 2, 2], []):
        log_z, kept, counts = core.expect(weights, sentences=some)
        assert log_z == pytest.approx(sum(parts[s][0] for s in some), rel=1e-13)
        assert kept == sum(parts[s][1] for s in some)
        assert counts == pytest.approx(sum((parts[s][2] for s in some), np.zeros(core.size)), abs=1e-12)


# Forms that must agree


def all_lengths():
    """60 labels, in sentences of all lengths: none, one token, and up to 11."""
    X, y = many_labels(sentences=14)
    alone = [([f"w{n // 3}"], [f"L{n}"]) for n in range(0, 60)]
    return [[], *X, [], *(words for words, _ in alone)], [[], *y, [], *(labels for _, labels in alone)]


MANY = all_lengths()
EXACT = {
    "default": ({}, None),
    "dense": ({"dense_edges": True}, None),
    "kept": ({}, tw.KeepSize(60)),
    "kept, dense": ({"dense_edges": True}, tw.KeepSize(60)),
}


def large_weights(core, kind):
    """Weights by kind; edges come behind nodes."""
    rng = np.random.default_rng(5)
    nodes = core.trainer.nodes
    weights = rng.normal(size=core.size)
    if kind == "30":
        weights *= 30
    elif kind == "-40":
        # A word's first label has all belief but e^-60 of it. The edges cost less, but nothing but the digits behind
        # e^-40 is left where all edges together are taken as 1 each, less what these have less.
        weights /= 100
        weights[nodes:] -= 40
        words = {}
        for name, at in core.place.items():
            if name[0].startswith("U0:"):
                words.setdefault(name[0], at)
        weights[list(words.values())] += 60
    elif kind in ("290", "320"):
        # As far apart as sums with factors go, and a little further.
        weights[:nodes] *= 200
        half = int(kind) / 2
        weights[nodes:] = np.append(rng.uniform(-half, half, core.size - nodes - 2), [-half, half])
    elif kind == "1000":
        weights *= 1000
    return weights


@pytest.mark.slow
@pytest.mark.parametrize("features", [RICH, DEPENDENT], ids=["shared", "sets"])
@pytest.mark.parametrize("kind", ["1", "30", "-40", "290", "320", "1000"])
def test_exact_forms_agree(kind, features):
    X, y = MANY
    first = None
    for options, keep in EXACT.values():
        core = Core(X, y, features=features, **options)
        assert len(core.labels) == 60
        weights = large_weights(core, kind)
        log_z, kept, counts = core.expect(weights, keep)
        if first is None:
            first = truth(X, y, features, core.labels, core.named(weights), lambda case, right: exact(case))
        assert np.isfinite(counts).all()
        assert math.isfinite(log_z)
        core.check((log_z, kept, counts), first[0], first[2], rel=1e-9, abs=1e-8 if kind == "1000" else 1e-9)
        assert keep or kept == 60 * sum(map(len, X))
        for threads in (2, 3, 5) if not options else ():
            again = core.expect(weights, keep, threads)
            assert again[:2] == (log_z, kept)
            assert again[2].tobytes() == counts.tobytes()


@pytest.mark.parametrize("keep", RULES[:3], ids=str)
def test_threads_do_not_change_sparse_sums(keep):
    for features in (RICH, DEPENDENT):
        core = Core(*MANY, features=features)
        weights = core.drawn(6, 2.0)
        alone = core.expect(weights, keep)
        for threads in (2, 3, 5):
            many = core.expect(weights, keep, threads)
            assert many[:2] == alone[:2]
            assert many[2].tobytes() == alone[2].tobytes()


@pytest.mark.parametrize("scale", [1.0, 30.0, 1000.0])
def test_features_on_many_labels_with_values(scale):
    # Rows of all sizes, held whole or not; counts of values are rounded too.
    X, y = MANY
    X = [[{"bias": 1.0, w: 0.75, "x": len(w) - 2.5} for w in words] for words in X]
    core = Core(X, y, features=None)
    weights = core.drawn(7, scale)
    log_z, _, expected, observed, _ = truth(
        X, y, None, core.labels, core.named(weights), lambda case, right: exact(case)
    )
    for keep in (None, tw.KeepSize(60)):
        core.check(core.expect(weights, keep), log_z, expected, rel=1e-9, abs=1e-8)
    assert core.named(core.observe()) == pytest.approx({name: observed[name] for name in core.place})


def test_training_does_not_depend_on_threads():
    few = {"max_iterations": 5}
    for options in (
        few,
        few | {"pruning": tw.KeepDivergence(0.01)},
        few | {"l1": 0.5},
        {"solver": "adagrad", "epochs": 2},
        {"solver": "adagrad", "epochs": 2, "pruning": "exact"},
    ):
        models = [crf(features=RICH, threads=threads, **options).fit(*MANY).model_ for threads in (1, 2, 3, 5)]
        for other in models[1:]:
            assert same_arrays(models[0].arrays, other.arrays)


# Optima


def as_ready_made(X):
    """Lists of strings that CRFsuite takes just so."""
    return [
        [["bias", f"w={w}", f"before={words[t - 1] if t else '|'}", f"last={w[-1]}"] for t, w in enumerate(words)]
        for words in X
    ]


def crfsuite(X, y, path, c1, c2, all_pairs=False):
    """The weights that python-crfsuite finds, by name (6 digits behind the point)."""
    pycrfsuite = pytest.importorskip("pycrfsuite")
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
    trainer.set_params(
        {
            "c1": c1, "c2": c2, "max_iterations": 1000, "epsilon": 1e-9, "delta": 1e-13,
            "feature.possible_states": all_pairs, "feature.possible_transitions": all_pairs,
        }
    )  # fmt: skip
    for tokens, labels in zip(X, y, strict=True):
        trainer.append(tokens, labels)
    trainer.train(str(path))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    info = tagger.info()
    found = dict(info.state_features) | dict(info.transitions)
    tagger.close()
    return found


BOTH = {
    "ten sentences": (as_ready_made(X10), Y10),
    "drawn": (as_ready_made(drawn(1)[0]), drawn(1)[1]),
    "many labels": (as_ready_made(many_labels(sentences=20)[0]), many_labels(sentences=20)[1]),
}


@pytest.mark.parametrize("all_pairs", [False, True], ids=["observed", "all pairs"])
@pytest.mark.parametrize("c2", [0.05, 1.0])
@pytest.mark.parametrize("corpus", BOTH)
def test_optimum_is_that_of_crfsuite(tmp_path, corpus, c2, all_pairs):
    X, y = BOTH[corpus]
    theirs = crfsuite(X, y, tmp_path / "model", 0.0, c2, all_pairs)
    learner = crf(features=None, l2=c2, pairs="all" if all_pairs else "observed", **FINE).fit(X, y)
    ours = all_weights_of(learner.model_)
    assert ours.keys() >= theirs.keys()
    assert ours == pytest.approx({name: theirs.get(name, 0.0) for name in ours}, abs=1e-3)
    best = objective_of(X, y, None, theirs, c2)
    assert objective_of(X, y, None, ours, c2) == pytest.approx(best, rel=1e-4)
    assert learner.objective_ == pytest.approx(best, rel=1e-4)
    assert learner.objective_ == pytest.approx(objective_of(X, y, None, ours, c2), rel=1e-6)


@pytest.mark.parametrize(("c1", "c2"), [(0.1, 0.1), (0.5, 0.01), (1.0, 0.0), (2.0, 1.0)])
@pytest.mark.parametrize("corpus", ["ten sentences", "drawn"])
def test_optimum_with_l1_is_that_of_crfsuite(tmp_path, corpus, c1, c2):
    X, y = BOTH[corpus]
    theirs = crfsuite(X, y, tmp_path / "model", c1, c2)
    learner = crf(features=None, solver=tw.LBFGS(l1=c1, l2=c2), **FINE).fit(X, y)
    ours = all_weights_of(learner.model_)
    best = objective_of(X, y, None, theirs, c2, c1)
    assert learner.objective_ == pytest.approx(best, rel=1e-4)
    assert objective_of(X, y, None, ours, c2, c1) == pytest.approx(learner.objective_, rel=1e-6)
    if c2:
        # Where the optimum is one point, the same weights are 0, but for some on the verge of it.
        large = [{name for name, w in weights.items() if abs(w) > 1e-3} for weights in (ours, theirs)]
        assert len(large[0] ^ large[1]) <= 0.02 * len(large[0])
        union = ours.keys() | theirs.keys()
        assert {n: ours.get(n, 0.0) for n in union} == pytest.approx({n: theirs.get(n, 0.0) for n in union}, abs=1e-2)


def test_l1_leaves_weights_out():
    X, y = FEW
    sizes, all_names = [], names_met(X, y, DEPENDENT)
    for l1 in (0.0, 0.1, 0.5, 1.0, 2.0):
        model = tw.CRF(features=DEPENDENT, solver=tw.LBFGS(l1=l1, l2=0.1)).fit(X, y).model_
        weights = all_weights_of(model)
        assert all(weights.values())
        assert weights.keys() <= all_names
        sizes.append(len(weights))
        if l1:
            assert set(names_of(model.arrays, "edge_names")) == {name[0] for name in weights if len(name) == 3}
        assert [len(path) for path in model.tag_batch(X)] == [len(path) for path in y]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] == len(all_names)
    assert len(set(sizes)) == len(sizes)


def test_a_large_l1_leaves_no_weight():
    # With all weights 0 every labelling is as good as any other.
    learner = tw.CRF(features=DEPENDENT, solver=tw.LBFGS(l1=1000.0)).fit(X10, Y10)
    assert all_weights_of(learner.model_) == {}
    tokens = sum(map(len, X10))
    assert learner.objective_ == pytest.approx(tokens * math.log(len(learner.model_.labels)), rel=1e-12)
    assert [len(path) for path in learner.predict(X10)] == [len(path) for path in Y10]


@pytest.mark.parametrize("features", [RICH, DEPENDENT], ids=["shared", "sets"])
def test_more_l2_smaller_weights(features):
    norms, losses = [], []
    for l2 in (0.01, 0.1, 1.0, 10.0):
        learner = crf(features=features, solver=tw.LBFGS(l2=l2), **FINE).fit(X10, Y10)
        weights = all_weights_of(learner.model_)
        norms.append(sum(w * w for w in weights.values()))
        losses.append(learner.objective_ - l2 * norms[-1])
        assert learner.objective_ == pytest.approx(objective_of(X10, Y10, features, weights, l2), rel=1e-6)
    assert norms == sorted(norms, reverse=True)
    assert losses == sorted(losses)


@pytest.mark.parametrize("options", [{}, {"l1": 0.3}, {"pairs": "all"}, {"features": DEPENDENT}], ids=str)
def test_the_objective_falls_to_where_the_gradient_ends(options):
    learner = crf(**{"features": RICH, "l2": 0.1, **FINE, **options}).fit(*FEW)
    found = [fact["objective"] for fact in learner.history_]
    assert all(later <= earlier for earlier, later in itertools.pairwise(found))
    assert learner.objective_ == found[-1] < 0.5 * found[0]
    if "l1" not in options:
        assert learner.history_[-1]["gradient"] < 1e-3 * learner.history_[0]["gradient"]
    assert all(fact["seconds"] >= 0 and fact["kept"] == 12 for fact in learner.history_)


@pytest.mark.parametrize("features", [RICH, DEPENDENT], ids=["shared", "sets"])
@pytest.mark.parametrize("l1", [0.0, 0.3])
def test_every_start_leads_to_the_same_end(features, l1):
    X, y = drawn(5, sentences=20)
    options = {"features": features, "l2": 0.3, "l1": l1, **FINE}
    cold = crf(**options).fit(X, y)
    for other in (
        tw.Perceptron(features=features, epochs=3),
        tw.CRF(features=features, solver=tw.LBFGS(l2=1e-3, max_iterations=40)),
    ):
        start = other.fit(X, y).model_
        warm = crf(warm_start=start, **options).fit(X, y)
        assert warm.history_[0]["objective"] != cold.history_[0]["objective"]
        assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-6)
        ours, its = all_weights_of(warm.model_), all_weights_of(cold.model_)
        assert {n: ours.get(n, 0.0) for n in ours.keys() | its} == pytest.approx(
            {n: its.get(n, 0.0) for n in ours.keys() | its}, abs=2e-3
        )


def test_tolerance():
    X, y = many_labels()
    lengths = []
    for tolerance in (0.1, 1e-3, 1e-6):
        history = tw.CRF(features=RICH, solver=tw.LBFGS(l2=0.1, tolerance=tolerance)).fit(X, y).history_
        found = [fact["objective"] for fact in history]
        lengths.append(len(found))
        falls = [(a - b) / b for a, b in zip(found, found[10:], strict=False)]
        # The last 10 iterations, and no 10 before, brought less than this.
        assert [fall < tolerance for fall in falls] == [False] * (len(falls) - 1) + [True]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]


def test_max_iterations():
    X, y = many_labels()
    whole = tw.CRF(features=RICH, solver=tw.LBFGS(max_iterations=12)).fit(X, y)
    assert len(whole.history_) == whole.model_.facts["iterations_done"] == 12
    for most in (1, 5):
        learner = tw.CRF(features=RICH, solver=tw.LBFGS(max_iterations=most)).fit(X, y)
        objectives = [fact["objective"] for fact in learner.history_]
        assert objectives == [fact["objective"] for fact in whole.history_[:most]]
        assert objectives[-1] == pytest.approx(objective_of(X, y, RICH, all_weights_of(learner.model_)), rel=1e-6)


def test_start_on_some_sentences():
    X, y = many_labels(sentences=40, labels=20)
    options = {"features": RICH, "l2": 0.3}
    cold = crf(**options, **FINE).fit(X, y)
    for share in (0.01, 0.3, 1):
        learner = crf(solver=tw.LBFGS(start_on=share), **options, **FINE).fit(X, y)
        assert learner.objective_ == pytest.approx(cold.objective_, rel=1e-6)
        # The history is that of the whole corpus, which begins further down.
        assert share < 0.1 or learner.history_[0]["objective"] < cold.history_[0]["objective"]
    first = [crf(solver=tw.LBFGS(start_on=0.3, max_iterations=1), seed=seed, **options).fit(X, y) for seed in (0, 0, 1)]
    assert same_arrays(first[0].model_.arrays, first[1].model_.arrays)
    assert not same_arrays(first[0].model_.arrays, first[2].model_.arrays)
    assert [len(learner.history_) for learner in first] == [1, 1, 1]


@pytest.mark.parametrize(
    "options",
    [{"solver": "lbfgs"}, {"l1": 1.0}, {"l2": 1.0, "pruning": tw.KeepSize(2)}, {"solver": "adagrad"}],
    ids=str,
)
@pytest.mark.parametrize(
    ("features", "X", "y"),
    [
        (WORD, [["a"]], [["A"]]),
        (WORD, [["a", "b", "a"], []], [["A", "A", "A"], []]),
        ("B\n", [["a"], ["b"]], [["A"], ["B"]]),
    ],
    ids=["one token", "one label", "no weight"],
)
def test_nothing_to_learn(features, X, y, options):
    learner = crf(features=features, **options).fit(X, y)
    ambiguous = sum(map(len, X)) if len(learner.model_.labels) > 1 else 0
    assert learner.objective_ == pytest.approx(ambiguous * math.log(2), abs=1e-6)
    assert len(learner.history_) >= 1
    assert len(learner.predict(X)[0]) == len(X[0])


# Sparse training


def sure_labels():
    """12 labels; all words have one, but for "like", which has the label before it or the one below."""
    rng = np.random.default_rng(11)
    X, y = [], []
    for _ in range(40):
        labels = [int(n) for n in rng.integers(0, 12, rng.integers(4, 9))]
        words = [f"w{n}" for n in labels]
        for t in range(1, len(labels)):
            if rng.random() < 0.3:
                labels[t] = labels[t - 1] // 2 * 2
                words[t] = "like"
        X.append(words)
        y.append([f"L{n}" for n in labels])
    return X, y


SURE = sure_labels()


@pytest.mark.parametrize(
    ("keep", "features"),
    [
        (tw.KeepDivergence(0.001), WORD),
        (tw.KeepDivergence(0.001), DEPENDENT),
        (tw.KeepRatio(1e-3), WORD),
        (tw.KeepSize(8), WORD),
    ],
    ids=str,
)
def test_sparse_training_is_as_accurate(keep, features):
    options = {"features": features, "l2": 0.01}
    learner = crf(solver="lbfgs", pruning=keep, **options).fit(*SURE)
    whole = crf(**options).fit(*SURE)
    assert whole.score(*SURE) > 0.97
    assert learner.score(*SURE) >= whole.score(*SURE) - 0.005
    assert learner.history_[-1]["kept"] < 11
    assert all(1 <= fact["kept"] <= 12 for fact in learner.history_)
    assert all(fact["kept"] == 12 for fact in whole.history_)
    # What is kept sums to less than everything does.
    ours = all_weights_of(learner.model_)
    assert learner.objective_ <= objective_of(*SURE, features, ours, 0.01) * (1 + 1e-6)


@pytest.mark.parametrize("corpus", ["later", "first"])
def test_a_failed_line_search_is_reported(corpus):
    # Far from the end, or even before the first step, where the model would know nothing at all.
    X, y, keep = (*FEW, tw.KeepSize(1)) if corpus == "later" else (*drawn(1), tw.KeepSize(2))
    with pytest.warns(UserWarning, match="a line search failed: the pruning rule keeps too few labels"):
        learner = tw.CRF(features=RICH, solver=tw.LBFGS(l2=0.01), pruning=keep).fit(X, y)
    assert learner.history_[-1]["gradient"] > 0.1 * learner.history_[0]["gradient"]
    assert (len(all_weights_of(learner.model_)) > 0) == (corpus == "later")


# dev data, warm starts


def test_dev_is_measured_every_ten_iterations():
    train, dev = train_and_dev(40)
    learner = tw.CRF(features=RICH, solver=tw.LBFGS(l2=1e-3, max_iterations=35, tolerance=0)).fit(*train, dev=dev)
    measured = {n: fact["dev"] for n, fact in enumerate(learner.history_, 1) if "dev" in fact}
    assert list(measured) == [10, 20, 30, 35]
    for n, found in measured.items():
        assert (
            tw.CRF(features=RICH, solver=tw.LBFGS(l2=1e-3, max_iterations=n, tolerance=0)).fit(*train).score(*dev)
            == found
        )
    whole = tw.CRF(features=RICH, solver=tw.LBFGS(l2=1e-3, max_iterations=35, tolerance=0)).fit(*train)
    assert same_arrays(learner.model_.arrays, whole.model_.arrays)


@pytest.mark.parametrize("features", [RICH, DEPENDENT], ids=["shared", "sets"])
def test_warm_start_continues_from_the_old_weights(tmp_path, features):
    X, y = FEW
    options = {"features": features, "l2": 0.1, "max_iterations": 12}
    begun = crf(warm_start=True, **options).fit(X, y)
    old, model = begun.objective_, begun.model_
    model.save(tmp_path / "model")
    begun.fit(X, y)
    from_model = crf(warm_start=model, **options).fit(X, y)
    from_path = crf(warm_start=tmp_path / "model", **options).fit(X, y)
    for learner in (begun, from_model, from_path):
        assert learner.history_[0]["objective"] <= old
        assert same_arrays(learner.model_.arrays, begun.model_.arrays)
    assert begun.objective_ < old
    cold = crf(**options).fit(X, y)
    assert cold.history_[0]["objective"] > old


@pytest.mark.parametrize("features", [RICH, DEPENDENT], ids=["shared", "sets"])
def test_warm_start_with_new_labels_and_features(features):
    old = tw.CRF(features=features, solver=tw.LBFGS(l2=0.1)).fit(X10, Y10)
    X = [*X10[:7], ["Kim", "sees", "the", "sea"], ["sees", "Kim"]]
    y = [*Y10[:7], ["NNP", "SEE", "DT", "NN"], ["SEE", "NNP"]]
    options = {"features": features, "l2": 0.1, "warm_start": old.model_}
    run = BatchTraining(crf(**options), Examples(X, y))
    assert set(run.labels) == set(itertools.chain(*Y10)) | {"SEE"}
    begun = all_weights_of(run.model(run.trainer.model_weights(run.weights), 0))
    before, met = all_weights_of(old.model_), names_met(X, y, features)
    assert begun == {name: w for name, w in before.items() if name in met}
    assert 0 < len(begun) < len(before)
    learner = crf(**options, **FINE).fit(X, y)
    start = objective_of(X, y, features, begun, 0.1, labels=run.labels)
    assert learner.history_[0]["objective"] <= start
    assert learner.predict(X[-2:]) == y[-2:]
    assert all_weights_of(learner.model_).keys() == met


def test_warm_start_from_weights_for_parts_is_refused():
    parts = tw.Perceptron(features=WORD, epochs=1, parts="").fit(X10, Y10).model_
    with pytest.raises(ValueError, match="the model was trained with parts=''; set parts=''"):
        tw.CRF(features=WORD, warm_start=parts, parts=None).fit(X10, Y10)


def test_warm_start_from_a_perceptron():
    perceptron = tw.Perceptron(features=DEPENDENT, epochs=5).fit(X10, Y10).model_
    run = BatchTraining(tw.CRF(features=DEPENDENT, solver="lbfgs", warm_start=perceptron), Examples(X10, Y10))
    begun = all_weights_of(run.model(run.trainer.model_weights(run.weights), 0))
    met = names_met(X10, Y10, DEPENDENT)
    assert begun == {name: w for name, w in all_weights_of(perceptron).items() if name in met}
    warm = crf(features=DEPENDENT, warm_start=perceptron, **FINE).fit(X10, Y10)
    assert warm.objective_ == pytest.approx(crf(features=DEPENDENT, **FINE).fit(X10, Y10).objective_, rel=1e-6)
    adagrad = tw.CRF(features=DEPENDENT, warm_start=perceptron, solver=tw.AdaGrad(l2=0), epochs=1).fit(X10, Y10)
    cold = tw.CRF(features=DEPENDENT, solver=tw.AdaGrad(l2=0), epochs=1).fit(X10, Y10)
    assert adagrad.objective_ < cold.objective_


@pytest.mark.parametrize(("parts", "margin"), [("|", 0.0), (None, 1.0), ("|", 1.5)])
def test_optimum_with_parts_and_margin_is_that_of_scipy(parts, margin):
    X = [["a", "b", "a"], ["b", "c"], ["c", "a", "b", "c"]]
    y = [["N|s", "V|s", "N|p"], ["V|p", "N|s"], ["N|p", "V|s", "V|p", "N|s"]]
    labels, l2 = sorted({label for path in y for label in path}), 0.1

    def names(tokens, path):
        """The weights that count in the score of a labelling."""
        for word, label in zip(tokens, path, strict=True):
            yield word, label
            if parts:
                yield from ((word, k, piece) for k, piece in enumerate(label.split(parts)))
        yield from ((None, *pair) for pair in itertools.pairwise(path))

    paths = [list(itertools.product(labels, repeat=len(tokens))) for tokens in X]
    place = {}
    for tokens, own in zip(X, paths, strict=True):
        for path in own:
            for name in names(tokens, path):
                place.setdefault(name, len(place))
    counts, costs = [], []
    for tokens, right, own in zip(X, y, paths, strict=True):
        counts.append(np.zeros((len(own), len(place))))
        for row, path in zip(counts[-1], own, strict=True):
            for name in names(tokens, path):
                row[place[name]] += 1
        costs.append(np.array([margin * sum(map(str.__ne__, path, right)) for path in own]))

    def objective(w):
        value, gradient = l2 * w @ w, 2 * l2 * w
        for count, cost, own, right in zip(counts, costs, paths, y, strict=True):
            observed = count[own.index(tuple(right))]
            scores = count @ w + cost
            log_z = scipy.special.logsumexp(scores)
            value += log_z - observed @ w
            gradient = gradient + np.exp(scores - log_z) @ count - observed
        return value, gradient

    best = scipy.optimize.minimize(
        objective, np.zeros(len(place)), jac=True, method="L-BFGS-B", options={"gtol": 1e-9, "ftol": 1e-14}
    )
    learner = crf(features=WORD, l2=l2, pairs="all", parts=parts, margin=margin, **FINE).fit(X, y)
    assert learner.objective_ == pytest.approx(best.fun, rel=1e-7)
    assert learner.history_[0]["objective"] <= objective(np.zeros(len(place)))[0]
    for tokens, own, count in zip(X, paths, counts, strict=True):
        assert learner.predict([tokens])[0] == list(own[int(np.argmax(count @ best.x))])
    threaded = crf(features=WORD, l2=l2, pairs="all", parts=parts, margin=margin, threads=2, **FINE).fit(X, y)
    assert threaded.objective_ == learner.objective_


@pytest.mark.parametrize("solver", ["lbfgs", "adagrad"])
def test_warm_start_takes_over_weights_for_parts(solver):
    old = tw.CRF(features=WORD, solver="lbfgs", parts="").fit(X10, Y10)
    new = tw.CRF(features=WORD, solver=solver, parts="", warm_start=old.model_)
    if solver == "lbfgs":
        assert new.fit(X10, Y10).history_[0]["objective"] == pytest.approx(old.objective_, rel=1e-3)
    assert new.fit(X10, Y10).model_.arrays.keys() == old.model_.arrays.keys()


# AdaGrad


@pytest.mark.parametrize("features", [RICH, DEPENDENT], ids=["shared", "sets"])
@pytest.mark.parametrize("corpus", ["ten", "few"])
@pytest.mark.parametrize("batch", [1, 8])
def test_adagrad_comes_near_the_optimum(corpus, features, batch):
    X, y = (X10, Y10) if corpus == "ten" else FEW
    learner = tw.CRF(
        features=features, solver=tw.AdaGrad(l2=0.3, batch=batch, pairs="observed"), pruning="exact", epochs=60
    ).fit(X, y)
    best = crf(features=features, solver=tw.LBFGS(l2=0.3), **FINE).fit(X, y).objective_
    found = objective_of(X, y, features, all_weights_of(learner.model_), 0.3)
    assert best * (1 - 1e-6) <= found <= best * 1.03
    assert len(learner.history_) == 60
    assert all(fact["seconds"] >= 0 for fact in learner.history_)


@pytest.mark.parametrize("pruning", [None, "exact"])
def test_adagrad_is_the_same_for_the_same_seed(pruning):
    X, y = many_labels()
    options = {"features": RICH, "solver": "adagrad", "pruning": pruning, "epochs": 2}
    models = [crf(seed=seed, **options).fit(X, y).model_ for seed in (0, 0, 1)]
    assert same_arrays(models[0].arrays, models[1].arrays)
    assert not same_arrays(models[0].arrays, models[2].arrays)


def test_adagrad_sums_over_what_is_kept():
    options = {"features": WORD, "solver": "adagrad", "epochs": 10, "rate": 1.0, "l2": 0.01}
    whole = crf(pruning="exact", **options).fit(*SURE)
    learner = crf(pruning=tw.KeepDivergence(0.02), **options).fit(*SURE)
    assert learner.history_[-1]["kept"] < 12
    assert all(fact["kept"] == 12 for fact in whole.history_)
    assert learner.score(*SURE) >= whole.score(*SURE) - 0.01
    assert not same_arrays(learner.model_.arrays, whole.model_.arrays)


# scikit-learn


def test_scikit_learn():
    X, y = X10 * 3, Y10 * 3
    learner = tw.CRF(features=RICH, solver=tw.LBFGS(l2=0.1), pruning=tw.KeepDivergence(0.01), seed=3)
    assert clone(learner).get_params() == learner.get_params()
    assert tw.CRF(**learner.get_params(deep=False)).get_params() == learner.get_params()
    assert set(learner.get_params()) >= {"solver__l1", "solver__l2", "pruning", "solver", "solver__start_on"}
    assert len(learner.get_params(deep=False)) <= 16
    assert cross_val_score(tw.CRF(features=RICH, solver=tw.LBFGS(l2=0.1)), X, y, cv=3).min() > 0.9
    search = GridSearchCV(tw.CRF(features=RICH, solver="lbfgs"), {"solver__l2": [100.0, 0.1]}, cv=2).fit(X, y)
    assert search.best_params_ == {"solver__l2": 0.1}
    assert search.predict(X10[:1]) == [Y10[0]]


def test_a_fitted_estimator_can_be_sent():
    learner = tw.CRF(features=DEPENDENT, solver=tw.LBFGS(l2=0.1)).fit(X10, Y10)
    copy = pickle.loads(pickle.dumps(learner))
    assert copy.get_params() == learner.get_params()
    assert same_arrays(copy.model_.arrays, learner.model_.arrays)
    assert copy.predict_kbest(X10, 3) == learner.predict_kbest(X10, 3)
    assert (copy.history_, copy.objective_) == (learner.history_, learner.objective_)


def test_fitting_twice_is_fitting_once():
    learner = tw.CRF(features=RICH).fit(*SURE)
    once = tw.CRF(features=RICH).fit(X10, Y10)
    assert same_arrays(learner.fit(X10, Y10).model_.arrays, once.model_.arrays)
    assert len(learner.history_) == len(once.history_)


# Complaints


@pytest.mark.parametrize(
    ("options", "says"),
    [
        *(
            ({name: value}, rf"^\w+\({name}=...\) must be a number of at least 0, not {re.escape(repr(value))}")
            for name in ("l1", "l2", "tolerance", "rate")
            for value in (-1, -0.5, math.nan, math.inf, "x", None, True)
            if value is not None or name not in ("l2", "tolerance", "rate")  # which have other defaults
        ),
        *(
            ({name: value}, rf"^(\w+\({name}=...\)|{name}) must be a whole number")
            for name in ("epochs", "batch", "min_count", "threads", "max_iterations")
            for value in (0, -1, 2.5, "3", True)
        ),
        *(({"seed": value}, "^seed must be a whole number of at least 0") for value in (-1, 1.5, "1", None, True)),
        *(
            ({"start_on": value}, r"^LBFGS\(start_on=...\) must be a number above 0 and at most 1, not")
            for value in (0, 2, -0.1, 1.0001, math.nan, "x")
        ),
        *(
            (
                {"pruning": value},
                r"pruning must be None, 'exact', KeepDivergence\(...\), KeepSize\(...\) or KeepRatio\(...\)",
            )
            for value in ("sparse", "divergence:0.1", 5, tw.KeepSize, True)
        ),
        ({"solver": "adagrad", "pairs": "all"}, r"AdaGrad\(pairs=...\) must be 'touched' or 'observed'"),
        ({"l2": 0.1, "epochs": 3}, "epochs cannot be combined with solver='lbfgs': it iterates until it has converged"),
        ({"pairs": "some"}, r"AdaGrad\(pairs=...\) must be"),
        ({"parts": 1}, "parts must be None or a string of separators, not 1"),
        ({"patience": 1}, "patience needs dev data"),
        ({"decoder": "viterbo"}, "did you mean viterbi"),
        ({"features": "poss"}, "no preset and no template file"),
    ],
    ids=str,
)
def test_bad_options(options, says):
    with pytest.raises(ValueError, match=says):
        crf(**options).fit(X10, Y10)


def test_an_option_of_another_solver_is_refused():
    for bad in (3, "sgd", None, tw.Perceptron()):
        with pytest.raises(ValueError, match=r"solver must be 'adagrad' or tw.AdaGrad\(...\) or 'lbfgs' or tw.LBFGS"):
            tw.CRF(solver=bad).fit(X10, Y10)
    for solver, name, other in (
        ("adagrad", "l1", "lbfgs"),
        ("adagrad", "start_on", "lbfgs"),
        ("lbfgs", "rate", "adagrad"),
    ):
        with pytest.raises(ValueError, match=f"solver='{solver}' has no option '{name}'; it is for solver='{other}'"):
            set_flat(tw.CRF(), **{"solver": solver, name: 0.5})
    with pytest.raises(ValueError, match="solver='adagrad' has no option 'speed'"):
        set_flat(tw.CRF(), speed=2)


def test_a_parameter_that_moved_leaves_the_solver_as_it_is():
    with pytest.warns(DeprecationWarning, match=r"write fit\(X, y, progress"):
        learner = tw.CRF(solver=tw.LBFGS(max_iterations=3, l2=0.5), progress=False)
    assert learner.solver == tw.LBFGS(max_iterations=3, l2=0.5)


def test_the_spelling_of_0_5_0_still_works():
    for old, now in (
        ({"l2": 0.1}, tw.CRF(solver=tw.LBFGS(l2=0.1))),
        ({"l1": 0.1, "all_pairs": True}, tw.CRF(solver=tw.LBFGS(l1=0.1, pairs="all"))),
        (
            {"max_iterations": 3, "keep": tw.KeepSize(4)},
            tw.CRF(solver=tw.LBFGS(max_iterations=3), pruning=tw.KeepSize(4)),
        ),
        ({"solver": "adagrad", "l2": 0.1, "rate": 0.2}, tw.CRF(solver=tw.AdaGrad(l2=0.1, rate=0.2))),
        ({"solver": "adagrad", "keep": "all"}, tw.CRF(solver=tw.AdaGrad(), pruning="exact")),
    ):
        with pytest.warns(DeprecationWarning, match=r"is deprecated; write solver=tw\."):
            learner = tw.CRF(**old)
        assert (learner.solver, learner.pruning) == (now.solver, now.pruning)
    with pytest.warns(DeprecationWarning, match=r"write features=tw\.Features"):
        lists = tw.CRF("U:%in[0,0,l]\nB\n", lists={"l": ["can"]}).fit(X10, Y10)
    assert lists.model_.features.lists == {"l": ["can"]}
    with pytest.warns(DeprecationWarning, match=r"write fit\(X, y, progress"):
        tw.CRF(progress=False, epochs=1).fit(X10, Y10)


# The model


@pytest.mark.parametrize(
    ("options", "X"),
    [
        ({"features": "pos"}, X10),
        ({"features": DEPENDENT, "l1": 0.2}, X10),
        ({"features": None, "pairs": "all"}, as_ready_made(X10)),
        ({"features": RICH, "solver": "adagrad", "pruning": tw.KeepRatio(0.01), "rate": 0.5}, X10),
    ],
    ids=["pos", "sets", "ready-made", "adagrad"],
)
def test_save_and_load_are_identical(tmp_path, options, X):
    learner = crf(l2=0.1, **options).fit(X, Y10)
    assert learner.score(X, Y10) == 1
    learner.model_.save(tmp_path / "model")
    loaded = tw.load(tmp_path / "model")
    assert same_arrays(loaded.arrays, learner.model_.arrays)
    assert loaded.tag_kbest(X, 3) == learner.model_.tag_kbest(X, 3)
    assert loaded.labels == learner.model_.labels
    assert loaded.facts == learner.model_.facts == json.loads(json.dumps(loaded.facts))
    assert loaded.facts["learner"] == "crf"
    assert (loaded.facts["sentences"], loaded.facts["tokens"]) == (10, sum(map(len, X10)))
    assert loaded.facts["options"]["l2"] == 0.1
    assert loaded.facts["options"]["pruning"] == (str(options["pruning"]) if "pruning" in options else None)
    assert repr(loaded).startswith("Model(crf, ")


def test_the_model_scores_as_it_was_trained():
    for features in (RICH, DEPENDENT):
        model = tw.CRF(features=features, solver=tw.LBFGS(l2=0.1)).fit(X10, Y10).model_
        for sentence in X10:
            case = case_of(sentence, features, model.labels, all_weights_of(model))
            nodes, edges, active = model.lattice(sentence)
            assert nodes == pytest.approx(case.nodes, rel=1e-5, abs=1e-5)
            found = tw.marginals(nodes, edges, active=active, with_edges=True)
            true = exact(case)
            assert found.log_z == pytest.approx(true.log_z, rel=1e-5)
            assert found.nodes == pytest.approx(true.nodes, abs=1e-5)
            assert found.edges == pytest.approx(true.edges, abs=1e-5)


def flipping(seed, sentences):
    """The word says whether the label stays or changes: no node and no single edge knows anything."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(sentences):
        label = int(rng.integers(2))
        words, labels = [f"first{label}"], [f"L{label}"]
        for change in rng.integers(0, 2, rng.integers(3, 8)).tolist():
            label ^= change
            words.append("change" if change else "stay")
            labels.append(f"L{label}")
        X.append(words)
        y.append(labels)
    return X, y


@pytest.mark.parametrize(
    "options", [{"solver": "lbfgs"}, {"solver": "adagrad"}, {"pruning": tw.KeepDivergence(0.001)}], ids=str
)
def test_only_token_dependent_edges_can_tell(options):
    train, test = flipping(0, 60), flipping(1, 40)
    learner = crf(features="U0:%x[0,0]\nB\nB07:%x[0,0]\n", l2=0.1, **options).fit(*train)
    assert learner.score(*test) == 1
    assert crf(features=WORD, l2=0.1, **options).fit(*train).score(*test) < 0.9
    assert set(names_of(learner.model_.arrays, "edge_names")) == {"B07:change", "B07:stay"}


# What a review found


def test_a_trainer_without_labels_has_nothing_to_observe():
    text = _core.Text.from_ready([[["0", "<s>"], ["0", "</s>"]]] * 3)
    end, label, none = np.array([2, 4, 6], np.uint64), np.array([0, 1] * 3, np.uint16), np.array([], np.uint16)
    trainer = _core.BatchObjective.hmm(text, 2, ["0", "<s>", "</s>"], end, label, none, none)
    everyone, counts = np.arange(3, dtype=np.int32), np.zeros(trainer.size)
    with pytest.raises(ValueError, match="labels are not known"):
        trainer.observe(everyone, counts)


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("weight", [-35.0, -50.0, -200.0, -280.0])
def test_corrections_far_below_leave_the_other_counts_alone(weight, dense):
    core = Core([["a", "b", "a"]], [["X", "X", "X"]], features=DEPENDENT, dense_edges=dense)
    nodes, weights = core.trainer.nodes, np.zeros(core.size)
    weights[nodes + core.trainer.edges :] = weight
    log_z, _, counts = core.expect(weights)
    assert log_z == pytest.approx(2 * weight)
    assert counts[nodes] == pytest.approx(2)  # the one pair of labels
    assert counts[nodes + core.trainer.edges :] == pytest.approx([1, 1])


def test_one_feature_of_large_values_does_not_make_others_coarse():
    rng = np.random.default_rng(0)
    X = [[{"time": 1.7e9, f"w{n}": 1} for n in rng.integers(0, 3, 5)] for _ in range(200)]
    y = [[str(n) for n in rng.integers(0, 3, 5)] for _ in X]
    core = Core(X, y, features=None)
    alone, many = (core.expect(np.zeros(core.size), threads=threads)[2] for threads in (1, 3))
    assert alone[core.trainer.nodes :] == pytest.approx(np.full(9, 800 / 9), rel=1e-9)
    assert (many == alone).all()


def test_weights_that_are_not_numbers_are_refused():
    core = Core(X10, Y10, features=WORD)
    for bad, at in itertools.product((np.nan, np.inf, -np.inf), (0, core.trainer.nodes)):
        weights = np.zeros(core.size)
        weights[at] = bad
        with pytest.raises(ValueError, match="not finite"):
            core.expect(weights)


def test_arrays_that_are_filled_are_not_copies():
    run = BatchTraining(tw.CRF(WORD, solver="lbfgs"), Examples(X10, Y10))
    weights = np.zeros(run.trainer.size)
    with pytest.raises(TypeError):
        run.trainer.expect(weights, keep_arguments(None), run.everyone, 1, weights.astype(np.float32))
    with pytest.raises(TypeError):
        run.trainer.observe(run.everyone, weights.astype(np.float32))
