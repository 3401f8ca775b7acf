"""Probabilities of models: of labels, of labellings, on the command line; and none where scores are no such thing."""

import numpy as np
import pytest
from sklearn.base import clone
from support.commands import columns, complaint, printed, stopped
from support.corpora import CONLLU, drawn, many_labels, ten_sentences

import tagwright as tw
from tagwright.cli.main import main  # noqa: F401  (the commands are registered)
from tagwright.decoding.keep import parse_keep

X10, Y10 = ten_sentences()
DEPENDENT = "U0:%x[0,0]\nB\nB1:%x[0,0]\n"
LEARNERS = {
    "crf": tw.CRF(solver=tw.LBFGS(l2=0.1, max_iterations=20)),
    "crf with token-dependent edges": tw.CRF(DEPENDENT, solver=tw.LBFGS(l2=0.1, max_iterations=20)),
    "hmm": tw.HMM(),
}
NEW = [["the", "unheard", "can", "run"], ["Kim"], ["dogs", "can", "see", "Kim"]]


@pytest.fixture(params=LEARNERS)
def learner(request):
    return clone(LEARNERS[request.param]).fit(X10, Y10)


def test_probabilities_are_those_of_the_lattice(learner):
    model = learner.model_
    for sentence, table in zip(NEW, learner.predict_marginals(NEW), strict=True):
        nodes, edges, on = model.lattice(sentence)
        truth = tw.marginals(nodes, edges, active=on)
        np.testing.assert_allclose(table, truth.nodes, rtol=0, atol=1e-6)
        assert table.sum(axis=1) == pytest.approx(np.ones(len(sentence)), abs=1e-5)
        found = model.tag(sentence, proba=True)
        assert [label for label, _ in found] == model.tag(sentence)
        for t, (label, p) in enumerate(found):
            assert p == pytest.approx(truth.nodes[t, model.labels.index(label)], abs=1e-9)
        for labels, score, probability, marginals, log_probability in learner.predict_kbest([sentence], 4)[0]:
            assert probability == pytest.approx(np.exp(score - truth.log_z), abs=1e-9)
            assert log_probability == pytest.approx(score - truth.log_z, abs=1e-9)
            assert marginals == pytest.approx(
                [truth.nodes[t, model.labels.index(label)] for t, label in enumerate(labels)], abs=1e-9
            )


def test_all_labellings_together_are_certain(learner):
    every = learner.predict_kbest([["the", "can"], ["Kim"]], k=1000)
    for found in every:
        assert sum(tagging.probability for tagging in found) == pytest.approx(1, abs=1e-9)
        assert [tagging.probability for tagging in found] == sorted((t.probability for t in found), reverse=True)
        for t in range(len(found[0].labels)):
            for tagging in found:
                same = sum(other.probability for other in found if other.labels[t] == tagging.labels[t])
                assert tagging.marginals[t] == pytest.approx(same, abs=1e-6)


def test_columns_are_the_classes(learner):
    assert learner.classes_ == learner.model_.labels
    (table,) = learner.predict_marginals([X10[0]])
    best = [learner.classes_[y] for y in table.argmax(axis=1)]
    assert np.mean([a == b for a, b in zip(best, Y10[0], strict=True)]) > 0.8


def test_sentences_of_no_token():
    model = tw.CRF(solver=tw.LBFGS(max_iterations=5)).fit(X10, Y10).model_
    assert model.tag([], proba=True) == []
    assert [table.shape for table in model.marginals([[], ["the"], []])] == [
        (0, len(model.labels)),
        (1, len(model.labels)),
        (0, len(model.labels)),
    ]
    (found,) = model.tag_kbest([[]], 3, proba=True)
    assert found == [([], 0.0, 1.0, [], 0.0)]


def test_threads_do_not_change_probabilities():
    X, y = many_labels()
    model = tw.CRF("U:%x[0,0]\nB\n", solver=tw.LBFGS(l2=0.1, max_iterations=10)).fit(X, y).model_
    alone = model.tag_kbest(X, 3, proba=True)
    tables = model.marginals(X)
    for threads in (2, 3, 16):
        assert model.tag_kbest(X, 3, threads=threads, proba=True) == alone
        assert all((a == b).all() for a, b in zip(tables, model.marginals(X, threads=threads), strict=True))


@pytest.mark.parametrize("keep", [tw.KeepDivergence(0.05), tw.KeepSize(8), tw.KeepRatio(0.02)])
def test_sparse_sums_are_those_of_the_lattice(keep):
    X, y = many_labels()
    learner = tw.CRF("U:%x[0,0]\nB\n", solver=tw.LBFGS(l2=0.01, max_iterations=30)).fit(X, y)
    tables = learner.predict_marginals(X, keep)
    for sentence, table in zip(X, tables, strict=True):
        nodes, edges, _ = learner.model_.lattice(sentence)
        np.testing.assert_allclose(table, tw.marginals(nodes, edges, keep).nodes, rtol=0, atol=1e-6)
    assert (np.concatenate(tables) == 0).mean() > 0.3


def test_a_perceptron_has_none():
    learner = tw.Perceptron(epochs=2).fit(X10, Y10)
    model = learner.model_
    assert not model.probabilistic
    for ask in (
        lambda: model.tag(X10[0], proba=True),
        lambda: model.tag_kbest(X10, 2, proba=True),
        lambda: model.marginals(X10),
        lambda: learner.predict_marginals(X10),
    ):
        with pytest.raises(ValueError, match="the scores of a perceptron are not probabilities"):
            ask()
    assert {tagging.probability for tagging in learner.predict_kbest(X10, 2)[0]} == {None}


def test_a_saved_model_has_the_same(tmp_path):
    model = tw.CRF(solver=tw.LBFGS(max_iterations=10)).fit(*drawn(2)).model_
    model.save(tmp_path / "m")
    X = drawn(3)[0]
    assert tw.load(tmp_path / "m").tag_kbest(X, 2, proba=True) == model.tag_kbest(X, 2, proba=True)


def test_bad_arguments():
    model = tw.CRF(solver=tw.LBFGS(max_iterations=2)).fit(X10, Y10).model_
    with pytest.raises(ValueError, match="KeepDivergence"):
        model.marginals(X10, pruning=3)
    with pytest.raises(ValueError, match="threads"):
        model.marginals(X10, threads=0)


# The command line


@pytest.fixture(scope="module")
def crf(tmp_path_factory):
    """A trained CRF: its corpus, its file, and what training printed."""
    folder = tmp_path_factory.mktemp("crf")
    (folder / "train.txt").write_text(columns(X10, Y10))
    said = printed(
        "train",
        folder / "train.txt",
        folder / "m",
        "--learner",
        "crf",
        "--set",
        "solver=lbfgs",
        "--set",
        "l2=0.1",
        "--set",
        "tolerance=1e-3",
    )
    return folder / "train.txt", folder / "m", said


def test_training(crf):
    _, model, said = crf
    for row in ("sentences", "weights", "iterations", "objective"):
        assert row in said
    assert tw.load(model).facts["learner"] == "crf"
    assert "crf" in printed("info", model)


def test_a_column_of_probabilities(crf):
    _, path, _ = crf
    out = printed("tag", "-m", path, "--proba", "--format", "text", given="the dog can see\n")
    rows = [line.split("\t") for line in out.strip().split("\n")]
    expected = tw.load(path).tag(["the", "dog", "can", "see"], proba=True)
    assert [(word, label) for word, label, _ in rows] == list(
        zip(["the", "dog", "can", "see"], [label for label, _ in expected], strict=True)
    )
    assert [float(p) for *_, p in rows] == pytest.approx([p for _, p in expected], abs=1e-6)


def test_probabilities_of_labellings(crf):
    corpus, path, _ = crf
    out = printed("tag", "-m", path, "--proba", "-k", "3", corpus)
    heads = [line.split() for line in out.split("\n") if line.startswith("# ")]
    found = tw.load(path).tag_kbest(X10, 3, proba=True)
    expected = [(str(rank), tagging.probability) for taggings in found for rank, tagging in enumerate(taggings)]
    assert [head[1] for head in heads] == [rank for rank, _ in expected]
    assert [float(head[2]) for head in heads] == pytest.approx([p for _, p in expected], abs=1e-6)


def test_probabilities_in_conllu(tmp_path):
    (tmp_path / "t.conllu").write_text(CONLLU)
    stopped(
        "train",
        tmp_path / "t.conllu",
        tmp_path / "m",
        "--label",
        "upos",
        "--learner",
        "crf",
        "--set",
        "solver=lbfgs",
        "--set",
        "max_iterations=5",
    )
    out = printed("tag", "-m", tmp_path / "m", "--proba", tmp_path / "t.conllu")
    misc = {line.split("\t")[1]: line.split("\t")[9] for line in out.split("\n") if line[:1].isdigit()}
    assert misc["mar"].startswith("SpaceAfter=No|Prob=0.")
    assert misc["nos"].startswith("Prob=0.")
    assert misc["que"] == "_"  # an empty node is no token
    again = printed("tag", "-m", tmp_path / "m", "--proba", "--format", "conllu", given=out)
    assert again == out


def test_the_command_line_reports_what_has_none(tmp_path):
    tw.Perceptron(epochs=2).fit(X10, Y10).model_.save(tmp_path / "m")
    said = complaint("tag", "-m", tmp_path / "m", "--proba", given="It is .\n")
    assert "the scores of a perceptron are not probabilities" in said


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--learner", "hmm", "--set", "l2=1"], "--set l2 is not for --learner hmm"),
        (["--learner", "perceptron", "--set", "pruning=size:3"], "--set pruning is not for --learner perceptron"),
        (["--learner", "memm", "--set", "margin=1"], "--set margin is not for --learner memm"),
        (["--learner", "crf", "--set", "pruning=size:0"], "KeepSize"),
        (["--learner", "crf", "--set", "pruning=most"], "'most' is not a pruning rule"),
        (
            ["--learner", "crf", "--set", "solver=adagrad", "--set", "start_on=0.5"],
            "solver='adagrad' has no option 'start_on'; it is for solver='lbfgs'",
        ),
        (["--learner", "crf", "--set", "l1=-1"], "--set l1"),
    ],
)
def test_training_options_that_do_not_fit(crf, tmp_path, options, says):
    assert says in complaint("train", crf[0], tmp_path / "m", *options)


def test_training_with_rules(crf, tmp_path):
    for keep in ("exact", "divergence:0.01:2", "size:5", "ratio:0.001"):
        stopped(
            "train",
            crf[0],
            tmp_path / "m",
            "--learner",
            "crf",
            "--set",
            "solver=lbfgs",
            "--set",
            f"pruning={keep}",
            "--set",
            "max_iterations=5",
        )
        assert tw.load(tmp_path / "m").facts["options"]["pruning"] == keep


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("divergence:0.01", tw.KeepDivergence(0.01)),
        ("divergence:1e-3:10", tw.KeepDivergence(0.001, 10)),
        ("size:20", tw.KeepSize(20)),
        ("ratio:0.5", tw.KeepRatio(0.5)),
    ],
)
def test_rules_as_text(text, rule):
    assert parse_keep(text) == rule
    assert parse_keep(str(rule)) == rule


@pytest.mark.parametrize(
    "text", ["", "size", "size:", "size:1.5", "size:1:2", "ratio:2", "divergence:-1", "divergence:1:0"]
)
def test_rules_that_are_none(text):
    with pytest.raises(ValueError, match=r"rule|write|Keep"):
        parse_keep(text)
