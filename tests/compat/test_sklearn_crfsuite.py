"""tagwright.compat.sklearn_crfsuite: the estimator, and its tutorial on a corpus of ours."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import RandomizedSearchCV, cross_val_predict, cross_val_score

import tagwright as tw
from tagwright.compat import sklearn_crfsuite
from tagwright.compat.crfsuite import Trainer
from tagwright.compat.sklearn_crfsuite import metrics, scorers

EXAMPLES = Path(__file__).parents[2] / "examples"


def features(sentence, i):
    word, pos = sentence[i][:2]
    made = {
        "bias": 1.0, "word.lower()": word.lower(), "word[-3:]": word[-3:], "word.isupper()": word.isupper(),
        "word.istitle()": word.istitle(), "postag": pos,
    }  # fmt: skip
    for step, name in ((-1, "BOS"), (1, "EOS")):
        if 0 <= i + step < len(sentence):
            made[f"{step:+}:word.lower()"] = sentence[i + step][0].lower()
            made[f"{step:+}:postag"] = sentence[i + step][1]
        else:
            made[name] = True
    return made


def corpus(name, most=None):
    blocks = (EXAMPLES / name).read_text(encoding="utf-8").strip().split("\n\n")[:most]
    sentences = [[line.split() for line in block.split("\n")] for block in blocks]
    X = [[features(sentence, i) for i in range(len(sentence))] for sentence in sentences]
    return X, [[token[2] for token in sentence] for sentence in sentences]


def test_the_tutorial():
    X_train, y_train = corpus("train.txt")
    X_test, y_test = corpus("test.txt")
    crf = sklearn_crfsuite.CRF(algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100, all_possible_transitions=True)
    crf.fit(X_train, y_train)
    labels = [label for label in crf.classes_ if label != "O"]
    y_pred = crf.predict(X_test)
    assert metrics.flat_f1_score(y_test, y_pred, average="weighted", labels=labels, zero_division=0) > 0.8
    ordered = sorted(labels, key=lambda name: (name[1:], name[0]))
    report = metrics.flat_classification_report(y_test, y_pred, labels=ordered, digits=3, zero_division=0)
    assert "B-NP" in report
    strongest = max(crf.transition_features_, key=crf.transition_features_.get)
    assert set(strongest) <= set(crf.classes_)
    assert max(crf.state_features_.values()) > 0

    crf = sklearn_crfsuite.CRF(algorithm="lbfgs", max_iterations=10)
    f1_scorer = make_scorer(metrics.flat_f1_score, average="weighted", labels=labels, zero_division=0)
    search = RandomizedSearchCV(
        crf, {"c1": [0.01, 0.5], "c2": [0.01, 0.05]}, cv=2, n_iter=2, scoring=f1_scorer, random_state=0
    )
    search.fit(X_train[:60], y_train[:60])
    assert search.best_score_ > 0.5
    assert search.best_estimator_.predict(X_test[:3])


@pytest.fixture(scope="module")
def fitted():
    X, y = corpus("train.txt", 40)
    return sklearn_crfsuite.CRF(c2=0.1).fit(X, y), X, y


def test_attributes(fitted):
    crf, X, y = fitted
    assert set(crf.classes_) == {label for sentence in y for label in sentence}
    assert len(crf.attributes_) == crf.num_attributes_ > 100
    assert crf.size_ == Path(crf.modelfile.name).stat().st_size
    assert {label for pair in crf.transition_features_ for label in pair} <= set(crf.classes_)
    assert {name for name, _ in crf.state_features_} <= set(crf.attributes_)
    assert crf.predict(X) == [crf.predict_single(own) for own in X]
    assert crf.score(X, y) == metrics.flat_accuracy_score(y, crf.predict(X)) > 0.9
    marginals = crf.predict_marginals(X[:2])
    model = tw.load(crf.modelfile.name)
    for own, expected in zip(marginals, model.marginals(X[:2]), strict=True):
        assert np.allclose([[token[label] for label in model.labels] for token in own], expected, atol=1e-5)


def test_before_fit():
    crf = sklearn_crfsuite.CRF()
    for name in ("tagger_", "size_", "classes_", "num_attributes_", "attributes_", "state_features_"):
        assert getattr(crf, name) is None
    with pytest.raises(ValueError, match="not fitted"):
        crf.predict([[["a"]]])
    with pytest.raises(ValueError, match="both"):
        crf.fit([[["a"]]], [["x"]], [[["a"]]])


def test_pickles_and_clones(fitted, tmp_path):
    crf, X, y = fitted
    again = pickle.loads(pickle.dumps(crf))
    assert again.predict(X) == crf.predict(X)
    name = Path(again.modelfile.name)
    assert name != Path(crf.modelfile.name)
    del again
    assert not name.exists()
    assert clone(crf).get_params() == crf.get_params()
    path = str(tmp_path / "model.crfsuite")
    sklearn_crfsuite.CRF(model_filename=path).fit(X, y)
    read = sklearn_crfsuite.CRF(model_filename=path)
    assert read.score(X, y) > 0.9
    assert pickle.loads(pickle.dumps(read)).score(X, y) > 0.9


def test_cross_validation(fitted):
    _, X, y = fitted
    crf = sklearn_crfsuite.CRF(max_iterations=5)
    for scoring in (scorers.flat_accuracy, scorers.sequence_accuracy, tw.token_accuracy, tw.span_f1):
        assert len(cross_val_score(crf, X, y, cv=2, scoring=scoring)) == 2
    crf = sklearn_crfsuite.CRF("ap", max_iterations=3)
    assert cross_val_score(crf, X, y, cv=2).mean() > 0.4
    for estimator in (crf, tw.Perceptron(None, epochs=2)):
        found = cross_val_predict(estimator, X, y, cv=2)
        assert [len(own) for own in found] == [len(own) for own in y]


def test_verbose_and_trainers(fitted, capsys):
    _, X, y = fitted
    sklearn_crfsuite.CRF(verbose=True, max_iterations=2).fit(X, y, X[:5], y[:5])
    printed = capsys.readouterr().out
    assert "Iter 1   time=" in printed
    assert "Precision" in printed

    class Own(Trainer):
        def on_iteration(self, log, info):
            print("own", info["num"])

    crf = sklearn_crfsuite.CRF(verbose=True, max_iterations=2, trainer_cls=Own).fit(X, y)
    assert "own 2" in capsys.readouterr().out
    assert crf.training_log_.last_iteration["num"] == 2


def test_metrics_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    y, p = ([[str(label) for label in rng.choice(list("abc"), n)] for n in (3, 0, 7, 5)] for _ in range(2))
    flat = [label for own in y for label in own], [label for own in p for label in own]
    for name in ("precision", "recall", "f1"):
        mine, expected = getattr(metrics, f"flat_{name}_score"), getattr(sklearn_metrics, f"{name}_score")
        assert mine(y, p, average="macro") == expected(*flat, average="macro")
    assert metrics.flat_fbeta_score(y, p, beta=2, average="micro") == sklearn_metrics.fbeta_score(
        *flat, beta=2, average="micro"
    )
    assert metrics.flat_classification_report(y, p) == sklearn_metrics.classification_report(*flat)
    assert metrics.sequence_accuracy_score([], []) == 0
    assert metrics.sequence_accuracy_score([[1], (2,)], [[1], [3]]) == 0.5
