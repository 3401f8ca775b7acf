"""Every learner with everything that a learner can do: it trains and has an effect, or one table refuses it."""

import itertools
import math
import re
from dataclasses import dataclass, field

import numpy as np
import pytest
from support.commands import columns
from support.corpora import runs_of, same_arrays, weights_of
from support.engines import InProcess

import tagwright as tw
from tagwright.learners.options import REFUSED

LABELS = ["A|x", "A|y", "B|x", "B|y"]
FORBIDDEN = [("B|y", "A|x"), ("A|y", "A|y")]
L2 = 0.2


def drawn_corpus(seed=0, sentences=40):
    """Sentences of one to four words whose labels never have a forbidden pair."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    while len(X) < sentences:
        words = [f"w{n}" for n in rng.integers(0, 6, rng.integers(1, 5))]
        labels = [LABELS[(int(word[1]) + int(rng.random() < 0.4) + 2 * int(rng.random() < 0.3)) % 4] for word in words]
        if not any(pair in FORBIDDEN for pair in itertools.pairwise(labels)):
            X.append(words)
            y.append(labels)
    return X, y


X, Y = drawn_corpus()


@dataclass
class Case:
    """A training: the learner's name and options, labels, and weights of sentences."""

    learner: str
    features: str = "U0:%x[0,0]\nU1:%x[-1,0]\nB\n"
    options: dict = field(default_factory=dict)
    constraints: list = field(default_factory=list)
    y: list = field(default_factory=lambda: [list(labels) for labels in Y])
    weights: np.ndarray | None = None

    def made(self, **changed):
        options = {**self.options, **changed}
        if self.constraints:
            options["constraints"] = list(self.constraints)
        if self.learner == "perceptron":
            return tw.Perceptron(self.features, **{"epochs": 3, **options})
        if self.learner == "adagrad":
            own = {name: options.pop(name) for name in ("batch",) if name in options}
            return tw.CRF(self.features, solver=tw.AdaGrad(**own), **{"epochs": 3, **options})
        own = {"l2": L2, "max_iterations": options.pop("max_iterations", None), "tolerance": 1e-9}
        if self.learner == "lbfgs":
            return tw.CRF(self.features, solver=tw.LBFGS(**own), **options)
        return tw.MEMM(self.features, solver=tw.LBFGS(**own), spans=False, **{"history": 1, **options})

    def fitted(self, run=None, **changed):
        return self.made(**changed).fit(X, self.y, sample_weight=self.weights, **(run or {}))


# --- what is trained ---


def partial_labels(case):
    rng = np.random.default_rng(1)
    for labels in case.y[::2]:
        for t, label in enumerate(labels):
            if rng.random() < 0.4:
                labels[t] = None if rng.random() < 0.5 else {label, LABELS[int(rng.integers(4))]}


def sample_weight(case):
    case.weights = np.random.default_rng(2).choice([0.5, 1.0, 3.0], len(X))


def ngrams(case):
    if case.learner == "memm":
        case.options["history"] = 2
        case.features += "U3:%y[-2]/%y[-1]\n"
    else:
        case.options["order"] = 2


def parts(case):
    case.options["parts"] = "|"


def margin(case):
    case.options["margin"] = 2.0


def constraints(case):
    case.constraints.append(tw.Constraints(LABELS, forbid=FORBIDDEN))


def tag_dictionary(case):
    case.constraints.append(12)


def token_dependent_edges(case):
    case.features += "U2:%y[-1]/%x[0,0]\n" if case.learner == "memm" else "B0:%x[0,0]\n"


WHAT = (partial_labels, sample_weight, ngrams, parts, margin, constraints, tag_dictionary, token_dependent_edges)
NOT_OF_A_MEMM = {
    parts: "parts: its classifiers have no option",
    margin: "margin: its classifiers have no option",
}
LEARNERS = ("perceptron", "adagrad", "lbfgs", "memm")


def reason(learner, changes):
    """Return why the table refuses a combination, if it does."""
    for change in changes:
        name = change.__name__.replace("_", " ")
        if (learner, name) in REFUSED:
            return REFUSED[learner, name]
    return None


def case_of(learner, changes):
    case = Case(learner)
    for change in changes:
        change(case)
    return case


def named(changes):
    return "+".join(change.__name__ for change in changes) or "plain"


def combinations():
    """Yield each learner with nothing special, with one thing, with each two, and with all that it can do."""
    for learner in LEARNERS:
        own = [change for change in WHAT if learner != "memm" or change not in NOT_OF_A_MEMM]
        everything = tuple(change for change in own if not reason(learner, [change]))
        for changes in [(), *((one,) for one in own), *itertools.combinations(own, 2), everything]:
            yield pytest.param(learner, changes, id=f"{learner}-{named(changes)}")


def legal(case, model):
    """Check that labellings keep to the constraints, also of sentences that are new."""
    words, _ = drawn_corpus(seed=5, sentences=60)
    predicted = model.tag_batch(words)
    for one in case.constraints:
        if isinstance(one, tw.Constraints):
            assert not any(pair in FORBIDDEN for labels in predicted for pair in itertools.pairwise(labels))
        else:
            learnt = tw.Constraints.learnt(X, case.y, one, labels=model.labels)
            may = [learnt.allowed(own) for own in words]
            for labels, allowed in zip(predicted, may, strict=True):
                for label, own in zip(labels, allowed, strict=True):
                    assert own is None or label in own or model.labels.index(label) in own


def log_sum(scores):
    most = max(scores)
    return most + math.log(sum(math.exp(score - most) for score in scores))


def enumerated_objective(case, model):
    """Return what L-BFGS minimises, by all labellings that the model's lattice has."""
    total = 0.0
    for s, (words, known) in enumerate(zip(X, case.y, strict=True)):
        found = model.lattice(words).decode(k=4 ** len(words) + 1, decoder="viterbi")
        allowed = [LABELS if own is None else [own] if isinstance(own, str) else own for own in known]
        every, right = [], []
        for path in found.paths:
            wrong = sum(model.labels[j] not in own for j, own in zip(path.labels, allowed, strict=True))
            every.append(path.score + case.options.get("margin", 0.0) * wrong)
            right += [] if wrong else [path.score]
        weight = 1.0 if case.weights is None else case.weights[s]
        total += weight * (log_sum(every) - log_sum(right))
    return total


def squares(model):
    names = ("rows.weight", "edges.score", "corrections.score", "ngrams.score")
    return sum(float((model.arrays[name].astype(np.float64) ** 2).sum()) for name in names if name in model.arrays)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("learner", "changes"), list(combinations()))
def test_it_trains_and_has_an_effect_or_is_refused(learner, changes):
    case = case_of(learner, changes)
    if why := reason(learner, changes):
        with pytest.raises(ValueError, match=re.escape(why)):
            case.fitted()
        return
    model = case.fitted().model_
    for change in changes:
        without = case_of(learner, [other for other in changes if other is not change]).fitted().model_
        assert not same_arrays(model.arrays, without.arrays), f"{change.__name__} changes nothing"
    legal(case, model)
    if learner == "lbfgs":
        fitted = case.fitted()
        expected = enumerated_objective(case, fitted.model_) + L2 * squares(fitted.model_)
        assert fitted.objective_ == pytest.approx(expected, rel=1e-4)


# --- how it is trained: the model is always that of `fit` ---


def with_threads(case, tmp_path):
    if case.learner in ("perceptron", "adagrad"):
        return case.fitted(batch=4, threads=3), case.fitted(batch=4)
    return case.fitted(threads=3), case.fitted()


def with_checkpoints(case, tmp_path):
    length = {"perceptron": "epochs", "adagrad": "epochs"}.get(case.learner, "max_iterations")
    path = tmp_path / "run.safetensors"
    few, many = (1, 3) if length == "epochs" else (10, 25)
    case.fitted({"checkpoint": path}, **{length: few})
    return case.fitted({"checkpoint": path}, **{length: many}), case.fitted(**{length: many})


def on_a_cluster(case, tmp_path):
    workers = 1 if case.learner == "perceptron" else 3  # a perceptron of several shards is mixed
    return case.fitted({"cluster": InProcess(workers)}), case.fitted()


def from_files(case, tmp_path):
    def text(label):
        return "_" if label is None else label if isinstance(label, str) else ",".join(sorted(label))

    path = tmp_path / "corpus.txt"
    path.write_text(columns(X, [[text(label) for label in labels] for labels in case.y]), encoding="utf-8")
    case.weights = None  # which files do not have
    return case.made().fit_files(path, partial=True), case.fitted()


def in_portions(case, tmp_path):
    if case.learner == "adagrad" and "parts" in case.options:
        case.options["pruning"] = "exact"  # what is pruned depends on rounding
    learner = case.made(epochs=1)
    order = np.random.default_rng([learner.seed, 0]).permutation(len(X))
    whole = case.fitted(epochs=1)
    weights = [1.0] * len(X) if case.weights is None else case.weights
    # A label n-gram has a weight from the call that first has it.
    half = len(X) if "order" in case.options else 8 * (len(X) // 16)
    for some in filter(len, (order[:half], order[half:])):
        own, labels = [X[s] for s in some], [case.y[s] for s in some]
        classes = whole.classes_ if some[0] == order[0] else None
        learner.partial_fit(own, labels, classes, [weights[s] for s in some])
    return learner, whole


HOW = (with_threads, with_checkpoints, on_a_cluster, from_files, in_portions)


def ways():
    for learner, how in itertools.product(LEARNERS, HOW):
        if learner == "memm" and how in (on_a_cluster, from_files, in_portions):
            continue  # methods and parameters that a MEMM does not have
        own = [change for change in WHAT if (learner != "memm" or change not in NOT_OF_A_MEMM)]
        able = [change for change in own if not reason(learner, [change])]
        for changes in [(), *((one,) for one in able), tuple(able)]:
            yield pytest.param(learner, changes, how, id=f"{learner}-{named(changes)}-{how.__name__}")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("learner", "changes", "how"), list(ways()))
def test_every_way_of_training_makes_the_same_model(learner, changes, how, tmp_path):
    case = case_of(learner, changes)
    if how is in_portions:
        why = REFUSED.get((learner, "partial_fit"))
        why = why or (tag_dictionary in changes and REFUSED["partial_fit", "a tag dictionary"])
        if why:
            with pytest.raises(ValueError, match=re.escape(why)):
                case.made().partial_fit(X, case.y)
            return
        found, expected = how(case, tmp_path)
        assert found.classes_ == expected.classes_
        if parts in changes:  # weights of parts have other numbers, and their sums another order
            for words in X:
                nodes = [own.model_.lattice(words).nodes for own in (found, expected)]
                assert np.allclose(*nodes, rtol=0, atol=1e-4)
        else:
            assert weights_of_all(found.model_) == weights_of_all(expected.model_)
        return
    found, expected = how(case, tmp_path)
    assert same_arrays(found.model_.arrays, expected.model_.arrays)


def weights_of_all(model):
    """Return the weights that are not 0, by name."""
    nodes, edges, sets = weights_of(model)
    return {name: w for own in (nodes, edges, sets, runs_of(model)) for name, w in own.items() if w}


@pytest.mark.parametrize(("owner", "what"), list(REFUSED))
def test_what_is_refused_has_a_reason(owner, what):
    assert re.search(r"\w{3,}.*\w{3,}", REFUSED[owner, what])
