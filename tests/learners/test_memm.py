"""Maxent Markov models against a plain reading of equations 2 and 3, brute force, and every exact decoder."""

import itertools
import math

import numpy as np
import pytest
from support.corpora import names_of, same_arrays, ten_sentences, weights_of
from support.limited import run_limited
from support.memms import TEMPLATES, all_labellings, at_random, log_probability, made, small_corpus, tiny

import tagwright as tw
from tagwright import _core
from tagwright.features.templates import Features
from tagwright.learners.batch import Objective
from tagwright.learners.examples import Examples
from tagwright.learners.memm import MemmTraining, reversed_labels
from tagwright.models import file as container
from tagwright.models.memm import MemmModel
from tagwright.schemes import span_labels

X10, Y10 = ten_sentences()
FIRST = TEMPLATES.replace("UY2:%y[-2]/%y[-1]\n", "")
THIRD = TEMPLATES + "UY3:%y[-3]/%y[-1]\n"
EXACT = [row.name for row in tw.decoders() if row.exact and row.maximises == "score"]
CLOSE = 1e-5  # weights are float32


# Features of earlier labels


def test_features_of_earlier_labels():
    templates = "U:%x[0,0]\nUY:%y[-1]\nUZ:%y[-2]/%x[0,0]/%y[-1]\n"
    model = tw.MEMM(templates, solver=tw.LBFGS(max_iterations=2)).fit([["a", "b", "c"]], [["A", "B", "A"]]).model_
    expected = {"U:a", "U:b", "U:c", "UY:_B-1", "UY:A", "UY:B", "UZ:_B-2/a/_B-1", "UZ:_B-1/b/A", "UZ:A/c/B"}
    assert set(names_of(model.arrays)) == expected
    assert model.order == 2
    assert model.columns == 1


def test_label_templates_are_added_where_there_are_none():
    text = tw.MEMM("pos", history=2, solver=tw.LBFGS(max_iterations=1)).fit(X10, Y10).model_.features.text
    assert text.endswith("UY1:%y[-1]\nUY2:%y[-2]/%y[-1]\nUYW:%y[-1]/%x[0,0]\nUYV:%y[-2]/%y[-1]/%x[0,0]\n")
    own = "U:%x[0,0]\nUY:%y[-1]\n"
    model = tw.MEMM(own, history=3, solver=tw.LBFGS(max_iterations=1)).fit(X10, Y10).model_
    assert (model.features.text, model.order) == (own, 1)
    for history in (1, 2, 3, 4):
        assert tw.MEMM("pos", history=history, solver=tw.LBFGS(max_iterations=1)).fit(X10, Y10).model_.order == history


@pytest.mark.parametrize(
    ("templates", "says"),
    [
        ("U:%y[0]\n", r"templates:1:3: back must be a whole number from -4 to -1, not '0'"),
        ("U:%y[1]\n", "back must be a whole number from -4 to -1"),
        ("U:%y[-5]\n", "back must be a whole number from -4 to -1"),
        ("U:%y[-1,0]\n", r"templates:1:3: %y is written %y\[back\], not %y\[-1,0\]"),
        ("U:%x[0,0]\nB1:%y[-1]/%x[0,0]\n", "templates:2:1: %y is for U templates"),
    ],
)
def test_templates_that_cannot_look_at_labels(templates, says):
    with pytest.raises(tw.TemplateError, match=says):
        tw.Features(templates)


@pytest.mark.parametrize("learner", [tw.Perceptron(), tw.CRF()], ids=["perceptron", "crf"])
def test_other_learners_do_not_look_at_labels(learner):
    with pytest.raises(ValueError, match=r"read earlier labels \(%y\[-2\]\), which a (perceptron|crf) cannot"):
        learner.set_params(features=TEMPLATES).fit(X10, Y10)
    model = tw.Perceptron(epochs=1).fit(X10, Y10).model_
    with pytest.raises(ValueError, match="only a MEMM can"):
        tw.Model(model.labels, Features(TEMPLATES), model.arrays, model.facts)


# Training


def trained_numbers(run):
    """Weight numbers by (feature, label), as the trainer has them."""
    arrays = run.model(run.trainer.model_weights(np.ones(run.trainer.size)), 0).arrays
    names, ends, labels = names_of(arrays), arrays["rows.end"], arrays["rows.label"]
    row = np.repeat(np.arange(len(ends)), np.diff(ends.astype(int), prepend=0))
    return [(names[f], run.labels[y]) for f, y in zip(row, labels, strict=True)]


@pytest.mark.parametrize("direction", ["right", "left"])
def test_loss_and_gradient(direction):
    X, y = small_corpus()
    run = MemmTraining(tiny(direction=direction, l2=0.3), Examples(X, y), None)
    rng = np.random.default_rng(1)
    weights = rng.normal(size=run.trainer.size)
    objective = Objective(run, run.everyone, None)
    loss, gradient = objective(weights)

    by_name = dict(zip(trained_numbers(run), weights, strict=True))
    model = run.model(run.trainer.model_weights(weights), 0)
    truth = -sum(log_probability(model, words, path, by_name) for words, path in zip(X, y, strict=True))
    assert loss == pytest.approx(truth + 0.3 * weights @ weights, rel=1e-9)

    for n in rng.choice(len(weights), 25, replace=False):
        step = np.zeros(len(weights))
        step[n] = 1e-5
        slope = (objective(weights + step)[0] - objective(weights - step)[0]) / 2e-5
        assert gradient[n] == pytest.approx(slope, abs=1e-5)


def test_training_ends_where_nothing_is_better():
    X, y = small_corpus()
    run_learner = tiny(max_iterations=None, tolerance=1e-9, l2=0.5).fit(X, y)
    losses = [fact["objective"] for fact in run_learner.history_]
    assert losses == sorted(losses, reverse=True)
    assert run_learner.history_[-1]["gradient"] < 1e-3
    assert run_learner.objective_ == losses[-1]


@pytest.mark.parametrize("threads", [2, 3])
def test_threads(threads):
    X, y = small_corpus(sentences=60)
    alone, many = (tiny(threads=n).fit(X, y) for n in (1, threads))
    assert same_arrays(alone.model_.arrays, many.model_.arrays)
    assert alone.predict_kbest(X, 3) == many.predict_kbest(X, 3)


def test_dev_patience_checkpoint_and_warm_start(tmp_path):
    X, y = small_corpus()
    learner = tiny(max_iterations=200, tolerance=0, patience=2).fit(X, y, dev=(X[:5], y[:5]))
    measured = [fact["dev"] for fact in learner.history_ if "dev" in fact]
    assert len(learner.history_) < 200
    assert learner.score(X[:5], y[:5]) == max(measured)

    path = tmp_path / "resumed"
    tiny(max_iterations=10).fit(X, y, checkpoint=path)
    assert isinstance(tw.load(path), MemmModel)
    assert len(tiny(max_iterations=20).fit(X, y, checkpoint=path).history_) == 20
    with pytest.raises(ValueError, match="other direction"):
        tiny(max_iterations=20, direction="left").fit(X, y, checkpoint=path)

    first = tiny(max_iterations=None, tolerance=1e-7).fit(X, y)
    warm = tiny(max_iterations=1, warm_start=first.model_).fit(X, y)
    assert warm.objective_ == pytest.approx(first.objective_, rel=1e-4)
    with pytest.raises(ValueError, match="the model has the other direction"):
        tiny(warm_start=first.model_, direction="left").fit(X, y)
    with pytest.raises(ValueError, match="other templates"):
        tiny(warm_start=first.model_, features=FIRST).fit(X, y)
    with pytest.raises(ValueError, match="not a MEMM"):
        tiny(warm_start=tw.Perceptron(epochs=1).fit(X, y).model_).fit(X, y)


def test_features_that_are_ready_made():
    X = [[{"word": word, "n": len(word) / 2} for word in words] for words in X10]
    learner = tw.MEMM(solver=tw.LBFGS(l2=0.01)).fit(X, Y10)
    assert learner.score(X, Y10) == 1
    assert learner.model_.order == 2
    assert any(name == "UY2:DT/NN" for name in names_of(learner.model_.arrays))
    lists = [[[f"word={word}"] for word in words] for words in X10]
    assert tw.MEMM(features=None, solver=tw.LBFGS(l2=0.01), direction="left").fit(lists, Y10).score(lists, Y10) > 0.95
    with pytest.raises(ValueError, match="dictionary needs words"):
        tw.MEMM(features=None, dictionary=1).fit(lists, Y10)


# Directions


def test_reversing_twice_is_the_identity():
    X = [["a", "b", "c"], [], ["d"], ["e", "f"]]
    templates = Features("U:%x[0,0]/%x[-1,0]/%x[1,0]\n").core
    text = _core.Text.from_rows(X, 1)
    turned = text.reversed()
    assert turned.lengths().tolist() == [3, 0, 1, 2]
    for s, words in enumerate(X):
        again = templates.expand(turned.reversed(), s)
        assert again == templates.expand(text, s)
        assert templates.expand(turned, s) == templates.expand(_core.Text.from_rows([words[::-1]], 1), 0)
    ready = _core.Text.from_ready([[{"a": 2.0, "b": "c"}, {"d": 1.5}], [{"e": 0.5}]])
    nothing = _core.Templates()
    assert nothing.expand(ready.reversed(), 0) == nothing.expand(ready, 0)[::-1]
    labels = np.array([1, 2, 3, 4, 5, 6], np.int32)
    assert reversed_labels(labels, [3, 0, 1, 2]).tolist() == [3, 2, 1, 4, 6, 5]
    assert reversed_labels(reversed_labels(labels, [3, 0, 1, 2]), [3, 0, 1, 2]).tolist() == labels.tolist()


def test_left_is_right_for_reversed_sentences():
    X, y = small_corpus(3, 30)
    left = tiny(direction="left").fit(X, y)
    right = tiny().fit([words[::-1] for words in X], [labels[::-1] for labels in y])
    assert same_arrays(left.model_.arrays, right.model_.arrays)
    assert left.predict(X) == [labels[::-1] for labels in right.predict([words[::-1] for words in X])]


# Decoding


@pytest.mark.parametrize("direction", ["right", "left"])
@pytest.mark.parametrize("templates", [FIRST, TEMPLATES, THIRD, "U:%x[0,0]\n"], ids=["1", "2", "3", "0"])
def test_all_labellings_by_brute_force(templates, direction):
    for seed in range(4):
        model = at_random(seed, templates=templates, direction=direction)
        for words in (list("abca"), list("cz"), ["b"]):
            truth = all_labellings(model, words)
            found = model.tag_kbest([words], len(truth), tw.Beam(width=1000))[0]
            assert [one.score for one in found] == pytest.approx([score for score, _ in truth], abs=CLOSE)
            assert math.fsum(math.exp(one.score) for one in found) == pytest.approx(1, abs=CLOSE)
            for tagging in found:
                assert tagging.score == pytest.approx(log_probability(model, words, tagging.labels), abs=CLOSE)


@pytest.mark.parametrize("direction", ["right", "left"])
def test_a_beam_that_reports_exactness_is_exact(direction):
    said = []
    for seed, beam, k in itertools.product(range(12), (1, 2, 5), (1, 3)):
        model = at_random(seed, direction=direction, beam=beam, scale=1 + seed % 3)
        words = list("abcab"[: 3 + seed % 3])
        truth = [score for score, _ in all_labellings(model, words)[:k]]
        found = [one.score for one in model.tag_kbest([words], k)[0]]
        exact = model.proven([words], k)[0]
        assert len(found) == k
        said.append(exact)
        if exact:
            assert found == pytest.approx(truth, abs=CLOSE)
        else:
            assert found[0] <= truth[0] + CLOSE
    assert 5 < sum(said) < len(said)


def test_a_wider_beam_is_proven_at_last():
    for seed in range(5):
        words = list("abcabc")
        proven = [at_random(seed, beam=beam, scale=0.3).proven([words])[0] for beam in (1, 9)]
        assert proven == [False, True]  # nine histories of two labels are all there are


@pytest.mark.parametrize("direction", ["right", "left"])
@pytest.mark.parametrize("decoder", EXACT)
def test_a_history_of_one_is_a_lattice(decoder, direction):
    for seed in range(4):
        model = at_random(seed, "ABCDE", templates=FIRST, direction=direction, beam=5)
        for words in (list("abcba"), list("cz"), ["a"], []):
            nodes, edges, active = model.lattice(words)
            assert active is None
            found = tw.decode(nodes, edges, decoder=decoder)
            assert found.exact
            (best,) = model.tag_kbest([words], 1)[0]
            assert [model.labels[y] for y in found.paths[0].labels] == best.labels
            assert found.paths[0].score == pytest.approx(best.score, abs=1e-9)
            assert model.proven([words]) == [True]
            by_name = model.tag_kbest([words], 1, decoder)[0]
            assert by_name[0].labels == best.labels


def test_no_history_folds_into_nodes():
    model = at_random(0, templates="U:%x[0,0]\n")
    nodes, edges, _ = model.lattice(list("ab"))
    assert np.exp(nodes[0]).sum() == pytest.approx(1)
    assert model.order == 0
    assert model.tag(list("ab")) == [model.labels[y] for y in tw.decode(nodes, edges).paths[0].labels]


def test_a_long_history_is_not_a_lattice():
    model = at_random(0)
    with pytest.raises(ValueError, match=r"looks back at 2 labels is not a lattice; train one with history=1"):
        model.lattice(["a"])
    with pytest.raises(ValueError, match="is not a lattice"):
        model.tag(["a"], "viterbi")
    with pytest.raises(ValueError, match="takes no pruning rule"):
        model.tag(["a"], tw.Beam(pruning=tw.KeepRatio(0.1)))
    assert model.tag([]) == []


def test_probabilities_of_single_labels_are_refused():
    learner = tiny(max_iterations=2).fit(X10, Y10)
    for call in (lambda: learner.predict_marginals(X10), lambda: learner.model_.tag(X10[0], proba=True)):
        with pytest.raises(ValueError, match="train a CRF to get those"):
            call()
    with pytest.raises(ValueError, match="no edges of its own"):
        _ = learner.model_.edges


# Rules


def follows_of(spans):
    """Which label may follow which, as a matrix [previous, current]: the rules written out."""
    types, start, stop, followed, following = spans
    every = range(len(types))
    return np.array(
        [
            [(stop[i] and start[j]) or (types[i] == types[j] and followed[i] and following[j]) for j in every]
            for i in every
        ]
    )


def test_rules_of_spans():
    labels = ["O", "B-NP", "I-NP", "B-VP", "I-VP"]
    spans = span_labels(labels)
    start, stop, follows = spans.start, spans.stop, follows_of(spans)
    assert start.tolist() == [1, 1, 0, 1, 0]
    assert stop.tolist() == [1] * 5
    may = {(a, b) for a, b in itertools.product(labels, repeat=2) if follows[labels.index(a), labels.index(b)]}
    plain = {(a, b) for a in labels for b in ("O", "B-NP", "B-VP")}
    assert may == plain | {(f"{p}-{kind}", f"I-{kind}") for p in "BI" for kind in ("NP", "VP")}

    letters = ["B", "M", "E", "S"]
    spans = span_labels(letters)
    start, stop, follows = spans.start, spans.stop, follows_of(spans)
    may = {a + b for a, b in itertools.product(letters, repeat=2) if follows[letters.index(a), letters.index(b)]}
    assert may == {"BM", "BE", "MM", "ME", "EB", "ES", "SB", "SS"}
    assert (start.tolist(), stop.tolist()) == ([1, 0, 0, 1], [0, 0, 1, 1])
    backwards = spans.reversed()
    assert follows_of(backwards).T.tolist() == follows.tolist()
    assert backwards.start.tolist() == stop.tolist()

    assert span_labels(["O", "B-X", "E-X", "S-X", "I-X"]) is not None
    for names in (["NN", "VB"], ["O"], ["I-X", "O"], ["B-X"], ["B-X", "I-X", "NN"], ["B-X", "I-X", "M-X"]):
        assert span_labels(names) is None


MANY_LABELS = """
    import numpy as np
    import tagwright as tw
    from tagwright import _core
    from tagwright.models.memm import MemmModel

    labels = ["O", *(f"{prefix}-{kind}" for kind in range(20_000) for prefix in "BI")]
    slots, ends, text = _core.index_arrays([])
    arrays = {"names.slots": slots, "names.ends": ends, "names.bytes": text, "rows.end": np.empty(0, np.uint64)}
    arrays |= {f"{name}.{part}": np.empty(0, kind) for name, part, kind in (
        ("rows", "label", np.uint16), ("rows", "weight", np.float32), ("edges", "previous", np.uint16),
        ("edges", "current", np.uint16), ("edges", "score", np.float32))}
    for direction in ("right", "left"):
        facts = {"learner": "memm", "memm": {"direction": direction, "beam": 3, "spans": True}}
        found = MemmModel(labels, tw.Features("U:%x[0,0]\\nUY:%y[-1]\\n"), arrays, facts).tag(list("abc"))
        for before, label in zip(["O", *found], found):
            assert label[0] != "I" or before[2:] == label[2:], found
"""


def test_rules_of_thousands_of_labels_take_no_table_of_pairs():
    """One byte for each pair of 40,001 labels would be 1.6 GB."""
    done = run_limited(MANY_LABELS, megabytes=1200)
    assert done.returncode == 0, done.stderr


def keeps_to(labels):
    spans = span_labels(labels)
    start, stop, follows = spans.start, spans.stop, follows_of(spans)

    def allowed(path):
        ids = [labels.index(name) for name in path]
        pairs = all(follows[i, j] for i, j in itertools.pairwise(ids))
        return bool(start[ids[0]] and stop[ids[-1]] and pairs)

    return allowed


@pytest.mark.parametrize("labels", [["O", "B-X", "I-X"], ["B", "M", "E", "S"]], ids="".join)
@pytest.mark.parametrize("direction", ["right", "left"])
@pytest.mark.parametrize("templates", [FIRST, TEMPLATES, "U:%x[0,0]\n"], ids=["1", "2", "0"])
def test_answers_follow_the_rules_of_spans(labels, direction, templates):
    for seed in range(4):
        words = list("abca")
        model = at_random(seed, labels, templates=templates, direction=direction, beam=100, spans=True)
        truth = all_labellings(model, words, keeps_to(labels))
        found = model.tag_kbest([words], 3)[0]
        assert [one.score for one in found] == pytest.approx([score for score, _ in truth[:3]], abs=CLOSE)
        assert model.proven([words], 3) == [True]
        if templates == FIRST:
            assert model.tag(words, "viterbi") == truth[0][1]
        narrow = at_random(seed, labels, templates=templates, direction=direction, beam=1, spans=True).tag(words)
        assert direction == "left" or labels[0] == "B" or keeps_to(labels)(narrow)


def test_rules_of_spans_count_where_the_corpus_follows_them():
    X, y = [["a", "b", "a"]], [["B-X", "I-X", "O"]]
    assert tiny().fit(X, y).model_.facts["memm"]["spans"]
    assert not tiny(spans=False).fit(X, y).model_.facts["memm"]["spans"]
    assert not tiny().fit([*X, ["b", "a"]], [*y, ["I-X", "B-X"]]).model_.facts["memm"]["spans"]
    assert not tiny().fit(X10, Y10).model_.facts["memm"]["spans"]
    assert tiny().fit([[], *X, []], [[], *y, []]).model_.facts["memm"]["spans"]


@pytest.mark.parametrize("direction", ["right", "left"])
def test_known_words_have_known_labels(direction):
    may = {"a": {"A"}, "b": {"A", "C"}}
    for seed in range(4):
        model = at_random(seed, direction=direction, beam=100, dictionary=may)
        words = list("abcb")
        truth = all_labellings(
            model, words, lambda path: all(y in may.get(w, "ABC") for w, y in zip("abcb", path, strict=True))
        )
        assert model.tag(words) == truth[0][1]
        assert len(model.tag_kbest([words], 100)[0]) == len(truth) == 12


def test_a_dictionary_from_a_corpus():
    model = tiny(dictionary=3).fit(X10, Y10).model_
    words = ["the", "can", "old", "unheard"]  # "old" occurs twice
    found = {word: {model.labels[y] for y in model.soft.words.get(word, [])} for word in words}
    assert found == {"the": {"DT"}, "can": {"MD", "NN", "VB"}, "old": set(), "unheard": set()}
    assert all(tag in ("MD", "NN", "VB") for tag in model.tag(["can"] * 4))


def test_rules_that_leave_nothing_are_put_aside():
    labels = ["O", "B-X", "I-X"]
    # "a" can only continue, but nothing was begun.
    model = at_random(0, labels, spans=True, dictionary={"a": {"I-X"}, "b": {"O"}})
    assert model.tag(["b", "a"])[1] in ("O", "B-X")
    assert model.tag(["b", "a"])[0] == "O"


def test_rules_of_spans_under_constraints_that_leave_one_labelling():
    """A beam of one finds it, however improbable it is: it does not drop what alone can be continued."""
    X = [["a", "b", "c"], ["c", "a"], ["b", "c", "a", "d"]]
    y = [["B-X", "I-X", "O"], ["O", "B-Y"], ["B-Y", "I-Y", "B-X", "I-X"]]
    model = tw.MEMM("U:%x[0,0]\nUY:%y[-1]\nUY2:%y[-2]/%y[-1]\n", beam=1, solver=tw.LBFGS(l2=0.1)).fit(X, y).model_
    for left in itertools.product(model.labels, repeat=3):
        pairs = list(itertools.pairwise(("O", *left)))
        if len({*left}) < 3 or any(q[0] == "I" and (p == "O" or p[1:] != q[1:]) for p, q in pairs):
            continue
        others = [pair for pair in itertools.product(model.labels, repeat=2) if pair not in pairs[1:]]
        rules = tw.Constraints(model.labels, forbid=others, start=left[:1], stop=left[2:])
        assert model.tag(["a", "b", "c"], constraints=rules) == [*left]


# What else may come


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"direction": "up"}, "direction must be 'right' or 'left', not 'up'"),
        ({"history": 0}, "history must be a whole number of at least 1, not 0"),
        ({"history": 5}, "history must be at most 4, not 5"),
        ({"history": 1}, "templates look back at 2 labels, but history is 1; raise it"),
        ({"beam": 0}, "beam must be a whole number of at least 1"),
        ({"l2": -1}, r"LBFGS\(l2=...\) must be a number of at least 0"),
        ({"dictionary": 0}, "dictionary must be a whole number"),
        ({"patience": 2}, "patience needs dev data"),
        ({"decoder": "fast"}, "no decoder named 'fast'"),
        ({"features": "U:%x[0,0]\nB1:%x[0,0]\n"}, r"no edges for B templates with macros; write U..:%y\[-1\]"),
        ({"max_iterations": 0}, r"LBFGS\(max_iterations=...\) must be a whole number"),
    ],
)
def test_bad_options(options, says):
    with pytest.raises(ValueError, match=says):
        tiny(**options).fit(X10, Y10)


def test_models_that_are_damaged(tmp_path):
    labels = ["A", "B"]
    weights = {("U:a", "A"): 1.0, ("UY1:B", "B"): 0.5}
    good = made(labels, TEMPLATES, weights, dictionary={"a": {"A"}})
    good.save(tmp_path / "good")
    assert tw.load(tmp_path / "good").tag(["a"]) == ["A"]
    arrays, meta = container.read(tmp_path / "good")

    def damaged(change):
        own, told = dict(arrays), {**meta, "facts": {"learner": "memm", "memm": dict(meta["facts"]["memm"])}}
        change(own, told["facts"]["memm"])
        container.write(tmp_path / "bad", own, told)
        with pytest.raises(tw.ModelError, match="damaged"):
            tw.load(tmp_path / "bad")

    damaged(lambda own, facts: facts.update(direction="up"))
    damaged(lambda own, facts: facts.update(beam=0))
    damaged(lambda own, facts: facts.pop("spans"))
    damaged(lambda own, facts: own.update({"dictionary.label": np.array([7], np.uint16)}))
    damaged(lambda own, facts: own.update({"dictionary.end": np.array([9], np.uint64)}))
    damaged(lambda own, facts: own.update({"dictionary.end": np.array([0], np.uint64)}))
    damaged(lambda own, facts: own.pop("dictionary.ends"))
    damaged(lambda own, facts: own.update({"rows.label": np.array([0, 9], np.uint16)}))
    one_edge = {"edges.previous": [0], "edges.current": [1], "edges.score": [1]}
    damaged(lambda own, facts: own.update({name: np.array(v, arrays[name].dtype) for name, v in one_edge.items()}))


def test_weights_are_those_of_the_corpus():
    model = tiny(max_iterations=3).fit(X10, Y10).model_
    met = {("U:" + w, y) for words, path in zip(X10, Y10, strict=True) for w, y in zip(words, path, strict=True)}
    assert {pair for pair in weights_of(model)[0] if pair[0].startswith("U:")} <= met


def test_the_dictionary_of_a_model_is_saved_as_constraints(tmp_path):
    model = tiny(dictionary=3).fit(X10, Y10).model_
    model.save(tmp_path / "model")
    loaded = tw.load(tmp_path / "model")
    assert {word: own.tolist() for word, own in loaded.soft.words.items()} == {
        word: own.tolist() for word, own in model.soft.words.items()
    }
    assert not any(name.startswith("dictionary.") for name in loaded.arrays)
    assert loaded.tag_kbest(X10, 3) == model.tag_kbest(X10, 3)
