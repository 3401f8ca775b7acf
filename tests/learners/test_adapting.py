"""What a CRF adapts by itself: the step size, where averages begin, and the temperature."""

import itertools

import numpy as np
import pytest
from support.corpora import many_labels, ten_sentences

import tagwright as tw
from tagwright.learners.calibrating import calibrated, fitted_temperature, scaled, temperature_of
from tagwright.learners.examples import Examples
from tagwright.learners.online import OnlineTraining

X10, Y10 = ten_sentences()
RICH = "U0:%x[0,0]\nU1:%x[-1,0]\nUV\nB\n"
PLAIN = tw.AdaGrad(calibration=None)


def adagrad(**options):
    return tw.CRF(RICH, **{"epochs": 5, "solver": PLAIN} | options)


def same(one, other):
    assert one.arrays.keys() == other.arrays.keys()
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array, other.arrays[name], name)


# The step size


def words_of(rows):
    """Templates of so many features of a token that every token has."""
    return "".join(f"U{n}:%x[0,0]\n" for n in range(rows)) + "B\n"


@pytest.mark.parametrize(("features", "rate"), [(3, 0.5), (12, 0.5), (15, 0.4), (60, 0.1)])
def test_the_step_size_is_divided_by_the_number_of_features(features, rate):
    X, y = many_labels(sentences=40, labels=12)
    model = tw.CRF(words_of(features), epochs=2, solver=PLAIN).fit(X, y).model_
    assert model.facts["options"]["rate"] == pytest.approx(rate)
    found = model.facts["options"]["rate"]
    same(model, tw.CRF(words_of(features), epochs=2, solver=tw.AdaGrad(rate=found)).fit(X, y).model_)


def test_features_that_min_count_leaves_out_do_not_count():
    X, y = [[f"w{s}" for _ in range(4)] for s in range(6)], [["A", "B", "A", "B"]] * 6
    # A feature with what lies four tokens to the left of a word occurs once, before the sentence.
    templates = words_of(20) + "".join(f"U{n + 20}:%x[0,0]/%x[-4,0]\n" for n in range(20))
    rates = [tw.CRF(templates, min_count=least, epochs=1).fit(X, y).model_.facts["options"]["rate"] for least in (1, 3)]
    assert rates == pytest.approx([6 / 40, 6 / 20])


def test_later_portions_keep_the_step_size():
    y = [["A", "B"]] * 4
    dense, sparse = ([[[f"f{n}" for n in range(size)]] * 2] * 4 for size in (20, 40))
    learner = tw.CRF(None, solver=PLAIN)
    learner.partial_fit(dense, y)
    first = learner.model_.facts["options"]["rate"]
    learner.partial_fit(sparse, [["C", "D"]] * 4)
    assert learner.model_.facts["options"]["rate"] == first == pytest.approx(6 / 20)


# Averages


@pytest.mark.parametrize(
    ("begin", "epochs", "those"), [(3, 5, (3, 4, 5)), (1, 3, (1, 2, 3)), (4, 2, (1, 2)), (2, 2, (2,))]
)
def test_averages_begin_with_an_epoch(begin, epochs, those):
    # With one step per epoch, the weights after each are those of a training that ends there.
    X, y = many_labels(sentences=30, labels=8)
    solver = tw.AdaGrad(batch=len(X), average_from=begin, pairs="observed", calibration=None)
    found = adagrad(epochs=epochs, solver=solver).fit(X, y).model_.arrays

    def after(done):
        run = OnlineTraining(adagrad(epochs=done, solver=solver), Examples(X, y))
        run.run()
        return run.trainer.last().arrays(0.0, "")

    each = [after(done) for done in those]
    for name in ("rows.weight", "edges.score"):
        np.testing.assert_allclose(found[name], np.mean([own[name] for own in each], axis=0), atol=1e-5)


def test_a_resumed_training_begins_its_average_where_the_whole_one_does(tmp_path):
    X, y = many_labels(sentences=40, labels=12)
    for done in (1, 2, 3):
        path = tmp_path / f"after {done}"
        adagrad(epochs=done).fit(X, y, checkpoint=path)
        same(adagrad(epochs=5).fit(X, y, checkpoint=path).model_, adagrad(epochs=5).fit(X, y).model_)


# The temperature


def sampled(factor, sentences=400):
    """A model whose weights are a factor too large, and sentences with labels that the right ones have drawn."""
    X, y = many_labels(sentences=60, labels=6)
    model = adagrad(epochs=2).fit(X, y).model_
    many = [X[n % len(X)] for n in range(sentences)]
    drawn = [model.sample(sentence, seed=n)[0] for n, sentence in enumerate(many)]
    return type(model)(model.labels, model.features, scaled(model.arrays, factor), model.facts), many, drawn


@pytest.mark.parametrize("factor", [0.6, 1.0, 2.5])
def test_the_temperature_of_labels_that_a_model_has_drawn_is_known(factor):
    model, X, y = sampled(factor)
    assert fitted_temperature(model, X, y) == pytest.approx(factor, rel=0.1)


def test_probabilities_are_those_of_scores_divided_by_the_temperature():
    X, y = many_labels(sentences=40, labels=5)
    model = adagrad().fit(X, y).model_
    made = calibrated(model, 1.7)
    assert temperature_of(made) == made.facts["temperature"] == 1.7
    for sentence in [own[:4] for own in X[:8]]:
        lattice = model.lattice(sentence)
        paths = list(itertools.product(range(5), repeat=len(sentence)))
        scores = np.array([path.score for path in tw.decode(lattice.nodes, lattice.edges, k=len(paths)).paths])
        shares = np.exp((scores - scores.max()) / 1.7)
        shares /= shares.sum()
        found = made.tag_kbest([sentence], 3, proba=True)[0]
        assert [own.labels for own in found] == [own.labels for own in model.tag_kbest([sentence], 3)[0]]
        np.testing.assert_allclose([own.probability for own in found], shares[:3], rtol=1e-4)


def test_dev_data_calibrate_and_leave_labels_as_they_are():
    X, y = many_labels(sentences=80, labels=20)
    train, dev = (X[:50], y[:50]), (X[50:], y[50:])
    plain = adagrad(margin=3.0).fit(*train, dev=dev).model_
    model = adagrad(margin=3.0, solver="adagrad").fit(*train, dev=dev).model_
    t = model.facts["temperature"]
    assert t == fitted_temperature(plain, *dev)
    assert model.tag_batch(X) == plain.tag_batch(X)
    same(model, calibrated(plain, t))
    assert "temperature" not in plain.facts


def test_a_held_out_tenth_calibrates_where_there_are_no_dev_data(tmp_path):
    X, y = many_labels(sentences=900, labels=20)
    assert 5_000 < sum(map(len, X)) < 10_000
    solver = tw.AdaGrad()
    model = adagrad(margin=3.0, solver=solver).fit(X, y).model_
    plain = adagrad(margin=3.0).fit(X, y).model_
    held = range(9, 900, 10)
    rest = [s for s in range(900) if s not in held]
    # A training without the tenth, in the same order of the others.
    run = OnlineTraining(adagrad(margin=3.0), Examples(X, y))
    for epoch in range(5):
        if epoch == 2:
            run.trainer.restart_average()
        order = np.random.default_rng([0, epoch]).permutation(np.array(rest, np.int32))
        run.trainer.run(order, 1)
        run.trainer.end_epoch()
    first = run.model(run.trainer.average(), 5)
    t = fitted_temperature(first, [X[s] for s in held], [y[s] for s in held])
    same(model, calibrated(plain, t))
    # From files, and resumed from a checkpoint, it is the same model.
    pairs = [(list(zip(sentence)), labels) for sentence, labels in zip(X, y, strict=True)]
    same(adagrad(margin=3.0, solver=solver).fit_files(pairs).model_, model)
    adagrad(margin=3.0, solver=solver, epochs=3).fit(X, y, checkpoint=tmp_path / "run")
    same(adagrad(margin=3.0, solver=solver).fit(X, y, checkpoint=tmp_path / "run").model_, model)


@pytest.mark.parametrize(("sentences", "held"), [(2_000, 200), (9_000, 750)])
def test_no_more_is_held_out_than_one_number_needs(sentences, held, monkeypatch):
    X, y = many_labels(sentences=sentences, labels=5)
    read = []
    monkeypatch.setattr(Examples, "some", lambda self, which: read.append(len(which)) or ([], []))
    adagrad(epochs=1, solver="adagrad", margin=0.0).fit(X, y)
    assert read == [held]


def test_small_corpora_have_no_margin_parts_or_temperature():
    X, y = many_labels(sentences=600, labels=20)
    assert 4_000 < sum(map(len, X)) < 5_000
    joint = [[f"{label}|{n % 3}" for n, label in enumerate(labels)] for labels in y]
    facts = tw.CRF(RICH, epochs=2).fit(X, joint).model_.facts
    assert (facts["options"]["margin"], facts["options"]["parts"], "temperature" in facts) == (0, None, False)


# Margin and parts


def compared(X, y, templates, candidates, epochs):
    """The number of right labels on each fifth sentence, by trainings on the others with (parts, margin)."""
    held = range(4, len(X), 5)
    rest = [s for s in range(len(X)) if s not in held]
    right = {}
    for parts, margin in candidates:
        learner = tw.CRF(templates, epochs=epochs, margin=margin, parts=parts, solver=PLAIN)
        # The features of all sentences are known, as those of the held-out ones are.
        run = OnlineTraining(learner, Examples(X, y))
        for epoch in range(epochs):
            run.trainer.run(np.random.default_rng([0, epoch]).permutation(np.array(rest, np.int32)), 1)
            run.trainer.end_epoch()
        found = run.model(run.trainer.average(), epochs).tag_batch([X[s] for s in held])
        pairs = ((a, b) for s, own in zip(held, found, strict=True) for a, b in zip(own, y[s], strict=True))
        right[parts, margin] = sum(a == b for a, b in pairs)
    return right


@pytest.mark.parametrize("seed", range(4))
def test_the_margin_is_0_or_2_whichever_is_more_accurate_on_held_out_sentences(seed):
    X, y = many_labels(seed=seed, sentences=900, labels=20)
    right = compared(X, y, RICH, [(None, 0.0), (None, 2.0)], epochs=2)
    chosen = max(right, key=right.__getitem__)[1]
    model = tw.CRF(RICH, epochs=2).fit(X, y).model_
    assert model.facts["options"]["margin"] == chosen
    assert 0.2 <= model.facts["temperature"] <= 10
    same(model, tw.CRF(RICH, epochs=2, margin=chosen, parts=None).fit(X, y).model_)


def test_without_calibration_there_is_no_margin():
    X, y = many_labels(sentences=900, labels=20)
    plain = tw.CRF(RICH, epochs=2, solver=PLAIN).fit(X, y).model_
    assert plain.facts["options"]["margin"] == 0
    same(plain, tw.CRF(RICH, epochs=2, solver=PLAIN, margin=0.0).fit(X, y).model_)
    batch = tw.CRF(RICH, solver=tw.LBFGS(l2=0.1, max_iterations=3))
    with pytest.warns(UserWarning, match="converge"):
        assert batch.fit(X, y).model_.facts["options"]["margin"] == 0


@pytest.mark.parametrize(("parts", "margin"), [(None, 0), ("x", 8)])
def test_more_than_a_thousand_labels_have_a_larger_margin_with_parts_and_none_without(parts, margin):
    X, y = many_labels(sentences=900, labels=20)
    many = [[f"{label}x{n % 90}" for n, label in enumerate(labels, s)] for s, labels in enumerate(y)]
    found = tw.CRF(RICH, epochs=1, parts=parts).fit(X, many).model_
    assert len(found.labels) > 1_000
    assert found.facts["options"]["margin"] == margin


FIRST, SECOND = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def of_parts(letters, sentences=1_500, seed=3):
    """Words of two letters, each of which mostly decides a part of the label."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(sentences):
        pairs = rng.integers(letters, size=(int(rng.integers(3, 8)), 2)).tolist()
        X.append([FIRST[a] + SECOND[b] for a, b in pairs])
        y.append([f"P{a}|Q{b if rng.random() < 0.8 else rng.integers(letters)}" for a, b in pairs])
    return X, y


PIECES = "U0:%x[0,0]\nU1:%prefix[0,0,1]\nU2:%suffix[0,0,1]\nB\n"


@pytest.mark.parametrize(("templates", "letters", "chosen"), [(PIECES, 26, "|"), ("U0:%x[0,0]\n", 6, None)])
def test_labels_have_parts_where_these_are_more_accurate_on_held_out_sentences(templates, letters, chosen):
    X, y = of_parts(letters)
    options = {"epochs": 2, "margin": 0.0, "solver": PLAIN}
    model = tw.CRF(templates, **options).fit(X, y).model_
    right = compared(X, y, templates, [(None, 0.0), ("|", 0.0)], epochs=2)
    assert chosen == ("|" if right["|", 0.0] > right[None, 0.0] else None) == model.facts["options"]["parts"]
    same(model, tw.CRF(templates, parts=chosen, **options).fit(X, y).model_)


def test_parts_are_chosen_for_files_and_perceptrons_too_and_kept_by_a_warm_start():
    X, y = of_parts(26)
    options = {"epochs": 1, "margin": 0.0, "solver": PLAIN}
    first = tw.CRF(PIECES, **options).fit(X, y)
    assert first.model_.facts["options"]["parts"] == "|"
    pairs = [([[word] for word in sentence], labels) for sentence, labels in zip(X, y, strict=True)]
    same(tw.CRF(PIECES, **options).fit_files(pairs).model_, first.model_)
    again = tw.CRF(PIECES, **options, warm_start=first.model_).fit(X[:20], y[:20]).model_
    assert again.facts["options"]["parts"] == "|"
    assert tw.Perceptron(PIECES, epochs=1, parts="auto").fit(X, y).model_.facts["options"]["parts"] == "|"
    assert tw.Perceptron(PIECES, epochs=1).fit(X, y).model_.facts["options"]["parts"] is None


def test_a_warm_start_begins_with_the_weights_before_calibration():
    X, y = many_labels(sentences=60, labels=20)
    plain = adagrad().fit(X, y).model_
    still = tw.AdaGrad(rate=0.0, calibration=None)
    again = adagrad(warm_start=calibrated(plain, 2.5), solver=still, epochs=1).fit(X, y).model_
    for name in ("rows.weight", "edges.score"):
        np.testing.assert_allclose(again.arrays[name][again.arrays[name] != 0], plain.arrays[name], rtol=1e-6)
    assert "temperature" not in again.facts


def test_dev_data_without_tokens_or_known_labels_calibrate_nothing_harmful():
    X, y = many_labels(sentences=20, labels=5)
    model = adagrad(solver="adagrad").fit(X, y, dev=([[]], [[]])).model_
    assert "temperature" not in model.facts
    strange = adagrad(solver="adagrad").fit(X, y, dev=(X[:3], [["?"] * len(own) for own in X[:3]])).model_
    assert 1 < strange.facts["temperature"] <= 10


def test_few_dev_data_ask_for_no_extreme_temperature():
    """Without a prior, one sentence that is right would give the least temperature."""
    X, y = many_labels(sentences=40, labels=5)
    model = adagrad(solver="adagrad").fit(X, y).model_
    assert 0.5 < fitted_temperature(model, X[:1], [model.tag(X[0])]) < 1


def test_a_training_is_not_lost_where_its_calibration_fails():
    """Training allows the right labels, whatever the tag dictionary; the held-out sentence has no labelling."""
    rules = tw.Constraints(["D", "N", "V"], forbid=[("N", "V")], words={"dog": ["N"], "barks": ["V"]})
    X = [["the", "dog"]] * 9 + [["dog", "barks"]]
    y = [["D", "N"]] * 9 + [["D", "V"]]
    X, y = 300 * X, 300 * y
    learner = adagrad(solver="adagrad", margin=0.0, constraints=rules)
    with pytest.warns(UserWarning, match="no path.*: the model is not calibrated"):
        model = learner.fit(X, y).model_
    same(model, adagrad(constraints=rules).fit(X, y).model_)
