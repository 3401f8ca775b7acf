"""Why a label: contributions that are the score to the last bit, and labellings that are the best with a label."""

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from support.commands import complaint, printed
from support.corpora import drawn, ten_sentences

import tagwright as tw
from tagwright.models.explanation import summed

X10, Y10 = ten_sentences()
EDGES = "U:%x[0,0]\nU1:%x[-1,0]\nU2:%suffix[0,0,1]\nB\nB01:%x[0,0]\n"
VALUES = [[{"word": word, "size": len(word) / 3, "odd": -0.7} for word in words] for words in X10]
KINDS = {
    "perceptron": (tw.Perceptron(features=EDGES, epochs=3), X10),
    "observed pairs": (tw.Perceptron(features=EDGES, epochs=3, pairs="observed"), X10),
    "parts": (tw.Perceptron(epochs=3, parts=""), X10),
    "crf": (tw.CRF(features=EDGES, solver=tw.LBFGS(l2=0.1)), X10),
    "hmm": (tw.HMM(), X10),
    "values": (tw.CRF(features=None, solver=tw.LBFGS(l2=0.1)), VALUES),
}


@pytest.fixture(scope="module", params=KINDS)
def trained(request):
    learner, X = KINDS[request.param]
    return learner.fit(X, Y10).model_, X


def test_contributions_are_the_node_score_to_the_last_bit(trained):
    model, X = trained
    unseen = [X[0][::-1], X[3] + X[5], [X[1][-1]]]
    for sentence in X[:4] + unseen:
        nodes = model.lattice(sentence).nodes
        for t in range(len(sentence)):
            for y, reason in enumerate(model.explain(sentence, t, model.labels).reasons):
                assert (reason.label, reason.score) == (model.labels[y], nodes[t, y])
                assert summed(reason.contributions) == nodes[t, y]
                assert all(one.score == np.float32(one.weight) * np.float32(one.value) for one in reason.contributions)


def test_labellings_are_the_best_with_each_label(trained):
    """By trying all labellings of three tokens."""
    model, X = trained
    sentence = X[7][:3]
    nodes, edges, on = model.lattice(sentence)
    scores = {
        path: tw.score(nodes, edges, path, active=on) for path in itertools.product(range(len(model.labels)), repeat=3)
    }
    for t in range(3):
        for y, reason in enumerate(model.explain(sentence, t, model.labels).reasons):
            best = max(score for path, score in scores.items() if path[t] == y)
            assert reason.total == pytest.approx(best, rel=1e-6)
            if best > -math.inf:
                numbers = [model.labels.index(name) for name in reason.labels]
                assert numbers[t] == y
                assert scores[tuple(numbers)] == reason.total
        best, *rivals = model.explain(sentence, t).reasons
        assert best.labels == model.tag(sentence)
        others = max(score for path, score in scores.items() if path[t] != model.labels.index(best.label))
        assert [rival.total for rival in rivals] == [others] * (others > -math.inf)
        assert model.explain(sentence, t).margin == best.total - others


def test_all_that_is_shown_of_a_labelling_adds_up_to_its_score(trained):
    model, X = trained
    for sentence in X:
        labels = model.tag(sentence)
        reasons = [model.explain(sentence, t, [name]).reasons[0] for t, name in enumerate(labels)]
        total = reasons[0].start + reasons[-1].stop
        for t, reason in enumerate(reasons):
            assert reason.labels == labels
            total += reason.score
            if t:
                assert reason.before == reasons[t - 1].after
                assert (reason.before.previous, reason.before.current) == tuple(labels[t - 1 : t + 1])
                assert len(reason.before.features) <= 1
                total += reason.before.score
        assert (reasons[0].before, reasons[-1].after) == (None, None)
        assert total == pytest.approx(reasons[0].total, rel=1e-9)


def test_edge_features_are_shown_with_what_they_add():
    X, y = drawn(3, sentences=30)
    model = tw.Perceptron(features=EDGES, epochs=5).fit(X, y).model_
    visited = [
        step for words in X if words for t in range(len(words)) for step in [model.explain(words, t).reasons[0].before]
    ]
    features = [(step, name, added) for step in visited if step for name, added in step.features]
    assert len({name for _, name, _ in features}) > 3
    for step, name, added in features:
        assert name.startswith("B01:w")
        assert step.score != 0 or added != 0


def test_what_a_word_has_that_the_model_does_not():
    model = tw.Perceptron(features="U:%x[0,0]\nU1:%suffix[0,0,1]\n", epochs=2).fit(X10, Y10).model_
    why = model.explain(["the", "zebran"], -1)
    assert (why.token, why.word, why.unknown) == (1, "zebran", ["U:zebran"])
    assert model.explain(["the", "zebran"], 0).unknown == []
    assert all(one.feature == "U1:n" for reason in why.reasons for one in reason.contributions)


def test_a_label_without_a_rival():
    model = tw.Perceptron(epochs=1).fit([["a", "b"]], [["X", "X"]]).model_
    why = model.explain(["a"], 0)
    assert [reason.label for reason in why.reasons] == ["X"]
    assert why.margin == math.inf


def test_an_impossible_label_has_no_labelling():
    model = tw.HMM().fit(X10, Y10).model_
    the = model.explain(["the", "dog"], 0, ["MD"]).reasons[0]
    assert (the.score, the.total, the.labels, the.before, the.after) == (-math.inf, -math.inf, [], None, None)


@pytest.mark.parametrize(
    ("token", "labels", "said"),
    [
        (2, None, "token 2 of a sentence of 2 tokens; they are counted from 0"),
        (-3, None, "token -3 of a sentence of 2 tokens"),
        (True, None, "token must be a whole number, counted from 0, not True"),
        ("dog", None, "token must be a whole number"),
        (0, ["DT", "QQ"], "the model has no label 'QQ'; model.labels lists them"),
        (0, [["DT"]], "the model has no label"),
    ],
)
def test_what_cannot_be_explained(token, labels, said):
    model = tw.Perceptron(epochs=1).fit(X10, Y10).model_
    with pytest.raises(ValueError, match=said):
        model.explain(["the", "dog"], token, labels)


@pytest.mark.parametrize("name", ["memm", "bidirectional"])
def test_models_whose_scores_are_not_sums_raise(name):
    model = tw.load(Path(__file__).parents[1] / "data" / "0.5.0" / f"{name}.safetensors")
    with pytest.raises(ValueError, match=r"train a CRF|model\.left"):
        model.explain(["a"], 0)


# The command


@pytest.fixture(scope="module")
def ten(tmp_path_factory):
    path = tmp_path_factory.mktemp("explain") / "ten.safetensors"
    tw.CRF(solver=tw.LBFGS(l2=0.1)).fit(X10, Y10).model_.save(path)
    return path


def test_command(ten):
    given = "dogs run\nthe old can see dogs\n"
    said = printed("explain", "-m", ten, "--sentence", 2, "--token", "can", "--most", 3, given=given).splitlines()
    why = tw.load(ten).explain(["the", "old", "can", "see", "dogs"], 2)
    best, rival = why.reasons
    assert said[0] == f"can, token 3 of 5: MD rather than {rival.label}, by {why.margin:.6f}"
    assert said[2].split() == ["MD", rival.label, "difference"]
    rows = {line[:20].strip(): line.split()[-3:] for line in said[4:] if len(line.split()) > 3}
    assert rows["all features"] == [f"{best.score:.4f}", f"{rival.score:.4f}", f"{best.score - rival.score:+.4f}"]
    assert rows["whole labelling"][:2] == [f"{best.total:.4f}", f"{rival.total:.4f}"]
    assert len(said) < 16
    # The columns add up.
    parts = [line.split()[-1] for line in said[4:8]]
    assert sum(map(float, parts)) == pytest.approx(best.score - rival.score, abs=1e-3)


def test_command_as_json(ten):
    answer = json.loads(printed("explain", "-m", ten, "--json", "--token", 2, "--label", "NN", given="the can\n"))
    why = tw.load(ten).explain(["the", "can"], 1, ["NN"])
    assert answer["token"] == 1
    assert answer["margin"] is None
    assert answer["reasons"][0]["score"] == why.reasons[0].score
    assert answer["reasons"][0]["contributions"] == [one._asdict() for one in why.reasons[0].contributions]


def test_without_a_token_it_is_one_about_which_labellings_differ(ten):
    model = tw.load(ten)
    words = ["Kim", "can", "can", "cats"]
    best, second = (found.labels for found in model.tag_kbest([words], 2)[0])
    token = next(t for t in range(4) if best[t] != second[t])
    assert printed("explain", "-m", ten, given="Kim can can cats\n").startswith(
        f"{words[token]}, token {token + 1} of 4"
    )


def test_commands_that_name_nothing(ten):
    assert complaint("explain", "-m", ten, "--sentence", 3, given="the can\n") == "--sentence 3: there is only 1"
    assert complaint("explain", "-m", ten, "--token", "dog", given="the can\n").startswith(
        "--token 'dog': neither a word"
    )
    assert "no label 'QQ'" in complaint("explain", "-m", ten, "--label", "QQ", given="the can\n")
