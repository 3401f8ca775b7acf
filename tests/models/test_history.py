"""What a model keeps of its training, and that files can be the same every time."""

import math

import pytest
from support.commands import columns, printed, run
from support.corpora import ten_sentences

import tagwright as tw
from tagwright.cli.info import describe

X10, Y10 = ten_sentences()

LEARNERS = [
    (lambda: tw.Perceptron(epochs=3), {"error", "dev", "seconds"}),
    (lambda: tw.CRF(solver=tw.LBFGS(max_iterations=12)), {"objective", "gradient", "kept", "seconds"}),
    (lambda: tw.CRF(epochs=3), {"objective", "kept", "missing", "dev", "seconds"}),
    (lambda: tw.CRF(solver="adagrad", pruning="exact", epochs=3), {"objective", "kept", "missing", "dev", "seconds"}),
    (lambda: tw.MEMM(solver=tw.LBFGS(max_iterations=12)), {"objective", "gradient", "kept", "seconds"}),
]


@pytest.mark.parametrize(("make", "names"), LEARNERS)
def test_a_model_keeps_the_history_of_its_training(tmp_path, make, names):
    learner = make().fit(X10, Y10, dev=(X10, Y10))
    model = learner.model_
    assert model.history == learner.history_
    assert set(model.history[0]) == names
    assert "dev" in model.history[-1]
    assert all(fact["seconds"] >= 0 for fact in model.history)
    model.save(tmp_path / "m")
    assert tw.load(tmp_path / "m").history == learner.history_
    # It is the model's own: who changes the estimator's does not change it, and the other way round.
    learner.history_[0]["seconds"] = -1
    model.history[0]["seconds"] = -1
    assert model.history[0]["seconds"] >= 0


def test_the_history_continues_after_the_model_that_is_kept():
    X, y = X10[:5], Y10[:5]
    learner = tw.Perceptron(epochs=30, patience=3).fit(X, y, dev=(X10[5:], Y10[5:]))
    assert learner.model_.facts["epochs_done"] < len(learner.model_.history) < 30


def test_both_sides_of_a_bidirectional_model_have_one(tmp_path):
    learner = tw.Bidirectional().fit(X10, Y10)
    learner.model_.save(tmp_path / "m")
    model = tw.load(tmp_path / "m")
    assert model.history == []
    assert (model.left.history, model.right.history) == (learner.left_.history_, learner.right_.history_)
    assert printed("info", tmp_path / "m").count("iteration  objective") == 2


def test_counted_and_older_models_have_none():
    assert tw.HMM().fit(X10, Y10).model_.history == []
    model = tw.Perceptron(epochs=1).fit(X10, Y10).model_
    del model.facts["history"]
    assert model.history == []
    assert "seconds" not in describe(model)


@pytest.mark.parametrize(
    ("junk", "kept"),
    [
        ("long ago", []),
        ({"epoch": 1}, []),
        ([1, 2], []),
        ([{"error": 0.5}, None], []),
        ([{"error": "half", "dev": True, "seconds": None, "who": "me"}], [{}]),
        ([{"error": math.nan, "dev": math.inf, "objective": 10**400, "seconds": 1}], [{"seconds": 1.0}]),
    ],
    ids=repr,
)
def test_whatever_the_facts_say(junk, kept):
    model = tw.Perceptron(epochs=1).fit(X10, Y10).model_
    model.facts["history"] = junk
    assert model.history == kept
    assert "learner" in describe(model)


# The same file every time


@pytest.mark.parametrize(("make", "names"), LEARNERS)
def test_seconds_are_left_out_where_files_must_be_the_same(tmp_path, monkeypatch, make, names):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    for name in ("one", "two"):
        make().fit(X10, Y10, dev=(X10, Y10)).model_.save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    model = tw.load(tmp_path / "one")
    assert set(model.history[0]) == names - {"seconds"}
    assert "seconds" not in printed("info", tmp_path / "one")


@pytest.mark.parametrize("learner", ["perceptron", "bidirectional"])
def test_a_command_that_is_run_again_makes_the_same_file(tmp_path, monkeypatch, learner):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    (tmp_path / "ten.txt").write_text(columns(X10, Y10))
    for name in ("one", "two"):
        printed("train", tmp_path / "ten.txt", tmp_path / name, "--learner", learner)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_finished_training_that_is_run_again_makes_the_same_file(tmp_path):
    # Its seconds come from the checkpoint.
    (tmp_path / "ten.txt").write_text(columns(X10, Y10))
    for name in ("one", "two"):
        printed("train", tmp_path / "ten.txt", tmp_path / name, "--checkpoint", tmp_path / "c")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert all("seconds" in fact for fact in tw.load(tmp_path / "one").history)


# info


def history_table(text):
    """The rows of the table of epochs or iterations."""
    (block,) = (part for part in text.split("\n\n") if part.split()[0] in ("epoch", "iteration"))
    header, rule, *rows = block.splitlines()
    assert all(len(line) <= len(rule) for line in (header, *rows))
    return header.split(), [row.split() for row in rows]


@pytest.mark.parametrize("done", [1, 2, 12, 13, 30, 100, 137, 1000, 12345])
def test_info_shows_the_first_the_last_and_some_in_between(done):
    model = tw.Perceptron(epochs=1).fit(X10, Y10).model_
    model.facts["history"] = [{"error": 1 / (n + 1), "seconds": 0.5} for n in range(done)]
    header, rows = history_table(describe(model))
    assert header == ["epoch", "error", "seconds", "in", "all"]
    shown = [int(row[0]) for row in rows]
    assert (shown[0], shown[-1]) == (1, done)
    assert len(shown) <= 14
    assert shown == list(range(1, done + 1)) if done <= 12 else len(shown) >= 5
    for n, error, seconds in rows:
        assert (error, seconds) == (f"{1 / int(n):.2%}", f"{int(n) / 2:.1f}")
    _, rows = history_table(describe(model, history=True))
    assert [int(row[0]) for row in rows] == list(range(1, done + 1))


def test_info_of_a_crf(tmp_path):
    (tmp_path / "ten.txt").write_text(columns(X10, Y10))
    run(
        "train",
        tmp_path / "ten.txt",
        tmp_path / "m",
        "--learner",
        "crf",
        "--set",
        "solver=lbfgs",
        "--set",
        "max_iterations=15",
        "--dev",
        tmp_path / "ten.txt",
    )
    history = tw.load(tmp_path / "m").history
    header, rows = history_table(printed("info", tmp_path / "m", "--history"))
    assert header == ["iteration", "objective", "gradient", "kept", "dev", "seconds", "in", "all"]
    assert [row[1] for row in rows] == [f"{fact['objective']:,.1f}" for fact in history]
    assert [len(row) for row in rows] == [6 if "dev" in fact else 5 for fact in history]
    assert [n for n, fact in enumerate(history, 1) if "dev" in fact] == [10, 15]
