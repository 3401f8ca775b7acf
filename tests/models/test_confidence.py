"""Spans, samples and posterior decoding of models, and what `tag --spans` writes of them."""

import json
import math

import pytest
from support.commands import complaint, printed
from support.corpora import ten_sentences

import tagwright as tw
from tagwright.cli.main import main  # noqa: F401  (the commands are registered)

X = [["the", "dog", "saw", "the", "old", "man"], ["Kim", "saw", "dogs"], ["old", "dogs", "and", "the", "man", "run"]]
Y = [
    ["B-NP", "I-NP", "B-VP", "B-NP", "I-NP", "I-NP"],
    ["B-NP", "B-VP", "B-NP"],
    ["B-NP", "I-NP", "O", "B-NP", "I-NP", "B-VP"],
]
NEW = [["the", "old", "Kim", "saw", "man"], [], ["dogs"], ["a", "cat", "and", "Kim"]]
LEARNERS = {
    "crf": lambda: tw.CRF("U:%x[0,0]\nB\n", solver=tw.LBFGS(l2=0.3, max_iterations=20)),
    "crf with token-dependent edges": lambda: tw.CRF(
        "U0:%x[0,0]\nB\nB1:%x[0,0]\n", solver=tw.LBFGS(l2=0.3, max_iterations=20)
    ),
    "hmm": tw.HMM,
}


@pytest.fixture(params=LEARNERS, scope="module")
def model(request):
    return LEARNERS[request.param]().fit(X, Y).model_


def joint(labels):
    return [[f"{'N' if word < 'p' else 'V'}|{label}" for word, label in zip(x, y, strict=True)] for x, y in labels]


def test_spans_are_those_of_the_lattice(model):
    for sentence in [*X, *NEW]:
        nodes, edges, on = model.lattice(sentence)
        for k in (None, 1, 4, 100):
            found = model.spans(sentence, k)
            truth = tw.spans(nodes, edges, model.labels, k, active=on)
            assert [own[:3] for own in found] == [own[:3] for own in truth]
            assert [own.probability for own in found] == pytest.approx([own.probability for own in truth], abs=1e-9)
        labels = model.tag(sentence)
        begins = [t for t, label in enumerate(labels) if label[0] == "B"]
        assert {own.start for own in model.spans(sentence)} >= {*begins}


def test_tag_spans_is_tag_and_spans_for_any_number_of_threads(model):
    for k in (None, 3):
        found = model.tag_spans(NEW, k)
        assert found == model.tag_spans(NEW, k, threads=3)
        for sentence, (tagging, spans) in zip(NEW, found, strict=True):
            assert tagging == model.tag_kbest([sentence], 1, proba=True)[0][0]
            assert spans == model.spans(sentence, k)


def test_joint_labels_have_the_spans_of_their_part():
    model = (
        tw.CRF("U:%x[0,0]\nB\n", solver=tw.LBFGS(l2=0.3, max_iterations=20))
        .fit(X, joint(zip(X, Y, strict=True)))
        .model_
    )
    for sentence in NEW:
        nodes, edges, _ = model.lattice(sentence)
        found = model.spans(sentence, 9)
        assert {own.label for own in found} <= {"NP", "VP"}
        assert [own[:3] for own in found] == [own[:3] for own in tw.spans(nodes, edges, model.labels, 9)]


def test_samples_are_those_of_the_lattice(model):
    for sentence in NEW:
        nodes, edges, on = model.lattice(sentence)
        drawn = tw.sample(nodes, edges, 20, 7, active=on)
        assert model.sample(sentence, 20, 7) == [[model.labels[y] for y in own] for own in drawn.tolist()]


def test_posterior_has_the_most_probable_labels(model):
    tables = model.marginals(NEW)
    for sentence, table in zip(NEW, tables, strict=True):
        labels = model.tag(sentence, decoder="posterior")
        expected = sum(table[t, model.labels.index(label)] for t, label in enumerate(labels))
        assert expected == pytest.approx(table.max(axis=1).sum() if len(table) else 0, abs=1e-5)
    with pytest.raises(ValueError, match="gives one path only"):
        model.tag_kbest(NEW, 2, decoder="posterior")


def test_log_probabilities_where_probabilities_are_nothing(model):
    long = ["the", "unheard"] * 3000
    (best, second) = model.tag_kbest([long], 2, proba=True)[0]
    assert best.probability == 0.0
    assert -1e6 < second.log_probability <= best.log_probability < -750
    assert best.log_probability - second.log_probability == pytest.approx(best.score - second.score, abs=1e-6)


@pytest.mark.parametrize("learner", [tw.Perceptron("U:%x[0,0]\nB\n"), tw.MEMM("U:%x[0,0]\n"), None], ids=str)
def test_models_without_probabilities_refuse(learner):
    learner = learner or tw.Bidirectional(tw.MEMM("U:%x[0,0]\n"), tw.MEMM("U:%x[0,0]\n", direction="left"))
    model = learner.fit(X, Y).model_
    for ask in (
        lambda: model.spans(X[0]),
        lambda: model.tag_spans(X),
        lambda: model.sample(X[0]),
        lambda: model.tag(X[0], decoder="posterior"),
    ):
        with pytest.raises(ValueError, match=r"not probabilities|none of single labels"):
            ask()


def test_who_needs_the_best_score_refuses_posterior():
    with pytest.raises(ValueError, match="maximises expected right tokens, but the perceptron needs"):
        tw.Perceptron(decoder="posterior").fit(X, Y)
    crf = tw.CRF(solver=tw.LBFGS(max_iterations=3))
    with pytest.raises(ValueError, match="maximises expected right tokens, but an agreement needs"):
        tw.Bidirectional(crf, tw.CRF(solver=tw.LBFGS(max_iterations=3)), decoder="posterior").fit(X, Y)


def test_models_whose_labels_are_not_of_spans_raise():
    model = tw.HMM().fit(*ten_sentences()).model_
    with pytest.raises(ValueError, match="not labels of spans"):
        model.spans(["the"])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spans")
    tw.CRF("U:%x[0,0]\nB\n", solver=tw.LBFGS(l2=0.3, max_iterations=20)).fit(X, Y).model_.save(folder / "m")
    (folder / "text").write_text("\n\n".join("\n".join(own) for own in (NEW[0], NEW[3])) + "\n", encoding="utf-8")
    return str(folder / "m"), str(folder / "text")


def test_tag_writes_spans(files):
    path, source = files
    model = tw.load(path)
    for more, k in ([], None), (["-k", "4"], 4):
        blocks = printed("tag", "-m", path, "--spans", *more, source).split("\n\n")[:-1]
        for sentence, block in zip((NEW[0], NEW[3]), blocks, strict=True):
            rows = [line.split("\t") for line in block.split("\n")]
            truth = model.spans(sentence, k)
            assert [row[:3] for row in rows] == [[str(own.start + 1), str(own.end), own.label] for own in truth]
            assert [row[3] for row in rows] == [f"{own.probability:.6f}" for own in truth]
            assert [row[4] for row in rows] == [" ".join(sentence[own.start : own.end]) for own in truth]
        lines = printed("tag", "-m", path, "--spans", "--json", *more, source).splitlines()
        for sentence, line in zip((NEW[0], NEW[3]), lines, strict=True):
            answer = json.loads(line)
            assert answer["labels"] == model.tag(sentence)
            assert answer["log_probability"] == pytest.approx(math.log(answer["probability"]))
            assert [tuple(own.values())[:4] for own in answer["spans"]] == model.spans(sentence, k)
            assert all(own["log_probability"] == pytest.approx(math.log(own["probability"])) for own in answer["spans"])


def test_tag_rejects_what_does_not_go_with_spans(files):
    path, source = files
    assert "--to diff and --spans do not go together" in complaint(
        "tag", "-m", path, "--spans", "--to", "diff", "-k", "2", source
    )
    assert "--spans and --proba all do not go" in complaint("tag", "-m", path, "--spans", "--proba", "all", source)
    assert "not labels of spans" in complaint("tag", "--spans", source)
