"""Trainings that resume from a checkpoint exactly, and checkpoints that are refused."""

import contextlib
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from support.comparing import comparing
from support.corpora import many_labels, same_arrays, ten_sentences, train_and_dev, untimed
from support.flat import crf

import tagwright as tw
from tagwright.learners.batch import Objective
from tagwright.learners.options import learner_class, set_flat
from tagwright.models import file as container

X10, Y10 = ten_sentences()
FEW = many_labels(sentences=20, labels=12)
WORD = "U:%x[0,0]\nB\n"
RICH = "U0:%x[0,0]\nU1:%x[-1,0]\nUV\nB\n"
DEPENDENT = RICH + "B01:%x[0,0]\n"


# Going on

TRAIN = """
import sys
sys.path.insert(0, {tests!r})
import tagwright as tw
from support.corpora import many_labels
from tagwright.learners.options import learner_class, set_flat
set_flat(learner_class({learner!r})(), **{options!r}).fit(*many_labels(), checkpoint={path!r})
"""


def killed_on_the_way(path, learner, options):
    """Start a training that never ends and kill it when its checkpoint has been written; return how far it was."""
    tests = os.path.dirname(os.path.dirname(__file__))
    code = TRAIN.format(tests=tests, learner=learner, options=options, path=str(path))
    child = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
    try:
        for _ in range(2000):
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(timeout=0.02)
            if path.exists() or child.returncode is not None:
                break
        assert child.returncode is None, child.stderr.read().decode()
    finally:
        child.kill()
        child.wait()
        child.stderr.close()
    assert child.returncode == -signal.SIGKILL
    return len(container.read(path)[1]["resume"]["history"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"order": 3, "min_ngram_count": 2},
        {"parts": "", "margin": 1},
        {"batch": 4, "threads": 2},
        {"parts": "L", "pairs": "observed"},
    ],
    ids=str,
)
def test_a_killed_training_resumes_to_the_same_weights(tmp_path, options):
    path = tmp_path / "checkpoint"
    options = {"features": DEPENDENT, **options}
    done = killed_on_the_way(path, "perceptron", {"epochs": 10**6, **options})
    assert done >= 1
    X, y = many_labels()
    resumed = tw.Perceptron(epochs=done + 2, **options).fit(X, y, checkpoint=path)
    whole = tw.Perceptron(epochs=done + 2, **options).fit(X, y)
    assert same_arrays(resumed.model_.arrays, whole.model_.arrays)
    assert resumed.model_.labels == whole.model_.labels
    assert untimed(resumed.model_) == untimed(whole.model_)
    assert [fact["error"] for fact in resumed.history_] == [fact["error"] for fact in whole.history_]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "options"),
    [("crf", {}), ("crf", {"l1": 0.01}), ("memm", {})],
    ids=str,
)
def test_a_killed_batch_training_resumes_to_the_same_weights(tmp_path, learner, options):
    path = tmp_path / "checkpoint"
    options = {"solver": "lbfgs", "features": RICH, "l2": 1e-9, "tolerance": 0, **options}
    done = killed_on_the_way(path, learner, options)
    assert done >= 10
    X, y = many_labels()
    options["max_iterations"] = done + 7
    one, other = (set_flat(learner_class(learner)(), **options) for _ in range(2))
    assert_same(one.fit(X, y, checkpoint=path), other.fit(X, y))


def test_a_checkpoint_is_a_model(tmp_path):
    path = tmp_path / "checkpoint"
    learner = tw.Perceptron(features=DEPENDENT, epochs=2).fit(X10, Y10, checkpoint=path)
    loaded = tw.load(path)
    assert loaded.tag_kbest(X10, 3) == learner.model_.tag_kbest(X10, 3)
    # A second call has nothing left to do.
    again = tw.Perceptron(features=DEPENDENT, epochs=2).fit(X10, Y10, checkpoint=path)
    assert same_arrays(again.model_.arrays, learner.model_.arrays)
    assert again.history_ == learner.history_
    # What is returned holds no state of the training.
    again.model_.save(tmp_path / "model")
    assert (tmp_path / "model").stat().st_size < path.stat().st_size


@pytest.mark.parametrize("pairs", ["touched", "observed"])
def test_a_warm_start_that_is_resumed_ends_the_same(tmp_path, pairs):
    rng = np.random.default_rng(5)
    for trial in range(20):
        X = [[f"w{n}" for n in rng.integers(0, 4, 3)] for _ in range(4)]
        y = [[f"L{n}" for n in rng.integers(0, 3, 3)] for _ in range(4)]
        options = {"features": "U:%x[0,0]\nU1:%x[-1,0]\nB\n", "pairs": pairs}
        old = tw.Perceptron(epochs=1, seed=9, **options).fit(X, y).model_
        whole = tw.Perceptron(epochs=3, warm_start=old, **options).fit(X, y)
        path = tmp_path / f"{trial}"
        tw.Perceptron(epochs=1, warm_start=old, **options).fit(X, y, checkpoint=path)
        resumed = tw.Perceptron(epochs=3, warm_start=old, **options).fit(X, y, checkpoint=path)
        assert same_arrays(whole.model_.arrays, resumed.model_.arrays)


FITTED = {
    "l2": (tw.CRF(RICH, solver=tw.LBFGS(l2=0.1, tolerance=1e-7)), FEW),
    "l1": (tw.CRF(RICH, solver=tw.LBFGS(l1=0.2, l2=0, tolerance=1e-6)), FEW),
    "l1 and l2": (tw.CRF(RICH, solver=tw.LBFGS(l1=0.1, l2=0.01)), FEW),
    "dependent edges": (tw.CRF(DEPENDENT, solver=tw.LBFGS(l2=0.1)), FEW),
    "order 2": (tw.CRF(RICH, solver=tw.LBFGS(l2=0.1), order=2), FEW),
    "keep": (tw.CRF(RICH, solver=tw.LBFGS(l2=0.1), pruning=tw.KeepDivergence(0.1)), FEW),
    "all pairs": (tw.CRF(WORD, solver=tw.LBFGS(l2=0.1, pairs="all")), FEW),
    "to the end": (tw.CRF(WORD, solver=tw.LBFGS(l2=1, tolerance=0)), (X10, Y10)),
    "memm": (tw.MEMM(RICH, solver=tw.LBFGS(l2=0.1, tolerance=1e-6)), FEW),
    "leftward memm": (tw.MEMM(WORD, direction="left", dictionary=2, solver=tw.LBFGS(l2=0.01)), FEW),
}
"""Trainings by L-BFGS and their corpora."""


def measurements(learner):
    """The history, but for the time it took."""
    return [{name: value for name, value in fact.items() if name != "seconds"} for fact in learner.history_]


def assert_same(one, other):
    assert same_arrays(one.model_.arrays, other.model_.arrays)
    assert untimed(one.model_) == untimed(other.model_)
    assert measurements(one) == measurements(other)
    assert one.objective_ == other.objective_


@pytest.mark.filterwarnings("ignore:a line search failed", "ignore:.*before it converged")
@pytest.mark.parametrize("name", FITTED)
def test_lbfgs_resumes_to_the_same_weights(tmp_path, name):
    learner, (X, y) = FITTED[name]
    whole = clone(learner).fit(X, y)
    iterations = len(whole.history_)
    assert iterations > 10
    assert_same(clone(learner).fit(X, y, checkpoint=tmp_path / "never stopped"), whole)
    for limit in sorted({1, 2, 9, 10, 11, iterations // 2, iterations - iterations % 10, iterations - 1, iterations}):
        path = tmp_path / f"{limit}"
        begun = clone(learner).set_params(solver__max_iterations=limit).fit(X, y, checkpoint=path)
        assert tw.load(path).tag_kbest(X, 2) == begun.model_.tag_kbest(X, 2)
        resumed = clone(learner).fit(X, y, checkpoint=path)
        assert_same(resumed, whole)
        # What is done is not done again.
        before = path.read_bytes()
        again = clone(learner).fit(X, y, checkpoint=path)
        assert_same(again, whole)
        assert again.model_.facts == resumed.model_.facts
        assert path.read_bytes() == before


@pytest.mark.parametrize(
    "learner",
    [tw.CRF(RICH, solver=tw.LBFGS(l2=1e-4, tolerance=0)), tw.MEMM(RICH, solver=tw.LBFGS(l2=1e-4, tolerance=0))],
    ids=["crf", "memm"],
)
def test_lbfgs_resumes_with_its_patience(tmp_path, learner):
    train, dev = train_and_dev(120)
    learner.set_params(patience=2)
    whole = clone(learner).fit(*train, dev=dev)
    best = whole.model_.facts["iterations_done"]
    assert 10 <= best < len(whole.history_)  # it is not the last that was kept
    for limit in sorted({3, 10, 14, best, best + 1, len(whole.history_)}):
        path = tmp_path / f"{limit}"
        clone(learner).set_params(solver__max_iterations=limit).fit(*train, dev=dev, checkpoint=path)
        assert_same(clone(learner).fit(*train, dev=dev, checkpoint=path), whole)
        assert_same(clone(learner).fit(*train, dev=dev, checkpoint=path), whole)


@pytest.mark.filterwarnings("ignore:interrupted after")
@pytest.mark.parametrize(
    "learner",
    [
        tw.CRF(RICH, solver=tw.LBFGS(l2=0.1)),
        tw.CRF(RICH, solver=tw.LBFGS(l1=0.2, l2=0)),
        tw.CRF(RICH, solver=tw.LBFGS(l2=0.1), pruning=tw.KeepDivergence(0.1)),
        tw.CRF(RICH, solver=tw.LBFGS(l2=0.1, start_on=0.3)),
        tw.MEMM(RICH, solver=tw.LBFGS(l2=0.1)),
    ],
    ids=str,
)
def test_ctrl_c_and_resume(tmp_path, learner, monkeypatch):
    X, y = FEW
    look, looks, when = Objective.__call__, 0, 0

    def pressed(self, weights):
        nonlocal looks
        looks += 1
        if looks == when:
            signal.raise_signal(signal.SIGINT)
        return look(self, weights)

    monkeypatch.setattr(Objective, "__call__", pressed)
    whole = clone(learner).fit(X, y)
    for when in range(1, looks, max(1, looks // 8)):
        looks = 0
        path = tmp_path / f"{when}"
        stopped = clone(learner)
        with contextlib.suppress(KeyboardInterrupt):  # before the first iteration
            stopped.fit(X, y, checkpoint=path)
            assert stopped.model_.facts["iterations_done"] == len(stopped.history_)
        assert measurements(stopped) == measurements(whole)[: len(stopped.history_)]
        assert len(stopped.history_) < when
        looks = when
        assert_same(clone(learner).fit(X, y, checkpoint=path), whole)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"pruning": tw.KeepDivergence(0.1)},
        {"features": DEPENDENT},
        {"pruning": "exact"},
        {"pruning": "exact", "features": DEPENDENT},
        {"parts": "", "features": DEPENDENT},
        {"pairs": "observed", "batch": 3, "rate": 2.0},
        {"order": 2},
        {"order": 3, "min_ngram_count": 2, "pruning": "exact", "features": DEPENDENT},
    ],
    ids=str,
)
def test_adagrad_resumes_to_the_same_weights(tmp_path, options):
    X, y = FEW
    path = tmp_path / "checkpoint"
    options = {"features": RICH, "solver": "adagrad", "l2": 0.1, **options}
    whole = crf(epochs=6, **options).fit(X, y)
    for epochs in (2, 3, 6):
        resumed = crf(epochs=epochs, **options).fit(X, y, checkpoint=path)
        assert tw.load(path).tag_kbest(X, 2) == resumed.model_.tag_kbest(X, 2)
    assert same_arrays(resumed.model_.arrays, whole.model_.arrays)
    assert untimed(resumed.model_) == untimed(whole.model_)
    assert [fact["objective"] for fact in resumed.history_] == [fact["objective"] for fact in whole.history_]


@pytest.mark.parametrize(
    ("learner", "sentences", "steps"),
    [
        (tw.Perceptron(WORD, patience=3), 20, range(1, 41)),
        (tw.CRF(RICH, solver=tw.AdaGrad(l2=1e-4), patience=2), 40, (1, 2, 4, 7, 60)),
    ],
    ids=["perceptron", "crf"],
)
def test_patience_counts_over_a_checkpoint(tmp_path, learner, sentences, steps):
    train, dev = train_and_dev(sentences)
    whole = clone(learner).set_params(epochs=steps[-1]).fit(*train, dev=dev)
    for epochs in steps:
        own = clone(learner).set_params(epochs=epochs).fit(*train, dev=dev, checkpoint=tmp_path / "checkpoint")
    assert [fact["dev"] for fact in own.history_] == [fact["dev"] for fact in whole.history_]
    assert same_arrays(own.model_.arrays, whole.model_.arrays)
    assert untimed(own.model_) == untimed(whole.model_)


def test_options_that_may_change_when_a_training_is_resumed(tmp_path):
    # Neither of these changes what is computed, but for rounding.
    path = tmp_path / "checkpoint"
    tw.CRF(features=RICH, solver=tw.LBFGS(max_iterations=10, l2=0.01)).fit(X10, Y10, checkpoint=path)
    for options in ({"threads": 2}, {"dense_edges": True}):
        learner = comparing(tw.CRF, features=RICH, max_iterations=10, l2=0.01, **options)
        assert len(learner.fit(X10, Y10, checkpoint=path).history_) == 10


# Checkpoints that are refused

BEGUN = {
    "perceptron": (tw.Perceptron(WORD, epochs=1), ([["a", "b"], ["c"]], [["A", "B"], ["B"]]), {"epochs": 2}),
    "crf": (tw.CRF(WORD, solver=tw.LBFGS(max_iterations=10)), (X10, Y10), {"max_iterations": 20}),
}
"""By learner: a training, its corpus, and the options of one that would resume."""

OTHERS = {
    "perceptron": {
        "labels": ([["a", "b"], ["c"]], [["A", "B"], ["C"]]),
        "label order": ([["a", "b"], ["c"]], [["B", "A"], ["A"]]),
        "another word": ([["a", "b"], ["d"]], [["A", "B"], ["B"]]),
        "words of other names": ([["e", "f"], ["g"]], [["A", "B"], ["B"]]),
        "sentence borders": ([["a"], ["b", "c"]], [["A"], ["B", "B"]]),
        "seed": {"seed": 1},
        "pairs": {"pairs": "observed"},
        "decoder": {"decoder": "beam:1"},
        "templates": {"features": "U:%x[0,0]\n"},
        "min_count": {"min_count": 2},
        "margin": {"margin": 1},
        "parts": {"parts": ""},
    },
    "crf": {
        "corpus": (X10[1:], Y10[1:]),
        "order": (X10[::-1], Y10[::-1]),
        "labels": (X10, [["X"] * len(path) for path in Y10]),
        "l2": {"l2": 2},
        "l1": {"l1": 1},
        "pruning": {"pruning": tw.KeepSize(3)},
        "solver": {"solver": "adagrad"},
        "tolerance": {"tolerance": 1e-3},
        "start_on": {"start_on": 0.5},
        "pairs": {"pairs": "all"},
        "min_count": {"min_count": 2},
        "seed": {"seed": 1},
        "templates": {"features": RICH},
    },
}
"""Another corpus, or other options."""


@pytest.mark.parametrize(("name", "what"), [(name, what) for name in OTHERS for what in OTHERS[name]])
def test_the_checkpoint_of_another_training_is_refused(tmp_path, name, what):
    learner, corpus, options = BEGUN[name]
    path = tmp_path / "checkpoint"
    clone(learner).fit(*corpus, checkpoint=path)
    before = path.read_bytes()
    other = OTHERS[name][what]
    if isinstance(other, dict):
        options = other if "solver" in other else options | other
    else:
        corpus = other
    with pytest.raises(ValueError, match=r"the checkpoint of another training \(other \w+\); remove it"):
        set_flat(clone(learner), **options).fit(*corpus, checkpoint=path)
    assert path.read_bytes() == before


def test_files_that_cannot_be_resumed_from(tmp_path):
    path = tmp_path / "checkpoint"
    tw.CRF(features=RICH, solver=tw.LBFGS(max_iterations=10, l2=0.01)).fit(X10, Y10, checkpoint=path)
    with pytest.raises(
        ValueError, match=r"10 iterations are done, but .*=5; remove the file or set max_iterations higher"
    ):
        tw.CRF(features=RICH, solver=tw.LBFGS(max_iterations=5, l2=0.01)).fit(X10, Y10, checkpoint=path)
    tw.Perceptron(features=WORD, epochs=1).fit(X10, Y10, checkpoint=tmp_path / "perceptron")
    with pytest.raises(ValueError, match=r"the checkpoint of another training \(other learner\)"):
        tw.CRF(features=WORD).fit(X10, Y10, checkpoint=tmp_path / "perceptron")
    tw.load(path).save(tmp_path / "model")
    with pytest.raises(ValueError, match="a finished model, not a checkpoint"):
        tw.CRF(features=RICH).fit(X10, Y10, checkpoint=tmp_path / "model")


@pytest.mark.parametrize("cls", [tw.Perceptron, tw.CRF], ids=lambda cls: cls.__name__)
def test_a_model_is_not_a_checkpoint(tmp_path, cls):
    path = tmp_path / "model"
    cls(features=WORD).fit(X10, Y10).model_.save(path)
    with pytest.raises(ValueError, match="a finished model, not a checkpoint"):
        cls(features=WORD).fit(X10, Y10, checkpoint=path)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(tw.ModelError):
        cls(features=WORD).fit(X10, Y10, checkpoint=path)


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays: arrays.pop("state.weights"),
        lambda arrays: arrays.update({"state.weights": arrays["state.weights"].astype(np.float32)}),
        lambda arrays: arrays.update({"state.weights": arrays["state.weights"] * np.nan}),
        lambda arrays: arrays.update({"state.weights": arrays["state.weights"][1:]}),
    ],
)
def test_state_of_a_checkpoint_that_someone_changed(tmp_path, change):
    path = tmp_path / "c"
    learner = tw.CRF(WORD, solver=tw.LBFGS(max_iterations=10))
    learner.fit(X10, Y10, checkpoint=path)
    arrays, meta = container.read(path)
    arrays = {name: np.array(array) for name, array in arrays.items()}
    change(arrays)
    container.write(path, arrays, meta)
    with pytest.raises(ValueError, match="to resume from; remove the file"):
        clone(learner).set_params(solver__max_iterations=20).fit(X10, Y10, checkpoint=path)


@pytest.mark.parametrize(
    "change",
    [
        lambda arrays, descent: arrays.pop("state.step.3"),
        lambda arrays, descent: arrays.update({"state.change.0": arrays["state.change.0"] * np.inf}),
        lambda arrays, descent: arrays.update({"state.step.0": arrays["state.step.0"][:-1]}),
        lambda arrays, descent: descent.update(steps=11),
        lambda arrays, descent: descent.update(steps="many"),
        lambda arrays, descent: descent.update(begun=1000),
        lambda arrays, descent: descent.update(begun=-1),
    ],
)
def test_state_of_lbfgs_that_someone_changed(tmp_path, change):
    path = tmp_path / "c"
    learner = tw.CRF(RICH, solver=tw.LBFGS(l2=0.01, max_iterations=10))
    learner.fit(X10, Y10, checkpoint=path)
    arrays, meta = container.read(path)
    arrays = {name: np.array(array) for name, array in arrays.items()}
    change(arrays, meta["resume"]["descent"])
    container.write(path, arrays, meta)
    with pytest.raises(ValueError, match=r"(to resume from|that does not fit); remove the file"):
        clone(learner).set_params(solver__max_iterations=20).fit(X10, Y10, checkpoint=path)


OLD_IDENTITY = (  # what 0.5.0 noted of a CRF
    "templates", "learner", "l2", "tolerance", "min_count", "patience", "l1", "solver", "start_on", "seed",
    "warm_start", "labels", "corpus",
)  # fmt: skip


def test_a_checkpoint_of_0_5_0_is_resumed(tmp_path):
    path = tmp_path / "c"
    learner = tw.CRF(RICH, solver=tw.LBFGS(l2=0.01))
    clone(learner).set_params(solver__max_iterations=10).fit(X10, Y10, checkpoint=path)
    arrays, meta = container.read(path)
    meta["going_on"] = meta.pop("resume")
    del meta["going_on"]["descent"]
    its = meta["going_on"]["identity"]
    its |= {"keep": None, "rate": 0.5, "batch": 8, "all_pairs": False}
    meta["going_on"]["identity"] = {name: its[name] for name in (*OLD_IDENTITY, "keep", "rate", "batch", "all_pairs")}
    container.write(path, {name: array for name, array in arrays.items() if "state.step" not in name}, meta)
    resumed, whole = clone(learner).fit(X10, Y10, checkpoint=path), clone(learner).fit(X10, Y10)
    assert measurements(resumed)[:10] == measurements(whole)[:10]
    assert resumed.objective_ == pytest.approx(whole.objective_, rel=1e-4)
