"""Distributed trainings: the same bits as on one machine, for any assignment of work and any loss of workers."""

import itertools

import numpy as np
import pytest
from support.corpora import drawn, many_labels, same_arrays, untimed
from support.engines import InProcess
from support.flat import crf

import tagwright as tw
from tagwright.cluster import Ray
from tagwright.cluster.training import bounds_of

WORD = "U0:%x[0,0]\nU1:%x[-1,0]\nB\n"
PAIRS = "U0:%x[0,0]\nB0:%x[0,0]\nB\n"
X, Y = drawn(1, sentences=1700, words=50, labels=9, longest=6)  # more than three blocks
MANY = many_labels(sentences=120, labels=80)
CRFS = {
    "lbfgs": ({"features": WORD, "l2": 0.1, "max_iterations": 6}, (X, Y)),
    "l1": ({"features": WORD, "l1": 0.2, "max_iterations": 4, "min_count": 2}, (X, Y)),
    "token-dependent": ({"features": PAIRS, "l2": 1.0, "max_iterations": 3}, (X[:600], Y[:600])),
    "sample": ({"features": WORD, "l2": 0.1, "max_iterations": 3, "start_on": 0.4}, (X, Y)),
    "sparse": ({"features": WORD, "l2": 0.1, "max_iterations": 3, "pruning": tw.KeepSize(3)}, (X, Y)),
    "order 2": ({"features": WORD, "l2": 0.1, "max_iterations": 4, "order": 2}, (X[:600], Y[:600])),
    "dictionary": ({"features": WORD, "l2": 0.1, "max_iterations": 4, "constraints": 3}, (X[:600], Y[:600])),
    "online, exact": ({"features": WORD, "epochs": 2, "batch": 64, "pruning": "exact"}, (X[:600], Y[:600])),
    "online, order 2": ({"features": WORD, "epochs": 2, "batch": 16, "order": 2}, (X[:600], Y[:600])),
    "online, dictionary": ({"features": WORD, "epochs": 2, "batch": 16, "constraints": 3}, (X[:600], Y[:600])),
    "sparse, many labels": (
        {"features": WORD, "l2": 0.1, "max_iterations": 12, "pruning": tw.KeepDivergence(0.01)},
        MANY,
    ),
    "online": ({"features": WORD, "epochs": 2, "batch": 64}, (X, Y)),
    "online, many labels": ({"features": WORD, "epochs": 2, "pruning": tw.KeepDivergence(0.05)}, MANY),
    "online, parts": (
        {"features": PAIRS, "epochs": 2, "parts": "", "l2": 0.01, "solver": "adagrad"},
        (X[:300], Y[:300]),
    ),
}


def same(one, other):
    return same_arrays(one.model_.arrays, other.model_.arrays) and untimed(one.model_) == untimed(other.model_)


@pytest.mark.parametrize("name", CRFS)
@pytest.mark.parametrize("workers", [1, 2, 3, 12])
def test_a_crf_is_the_same_on_any_number_of_workers(name, workers):
    options, (words, labels) = CRFS[name]
    alone = crf(**options).fit(words, labels)
    together = crf(**options).fit(words, labels, cluster=InProcess(workers))
    assert same(together, alone)


@pytest.mark.parametrize(("losses", "seed"), [(0, 0), (0.02, 1), (0.02, 2)])
def test_a_corpus_that_is_held_out_from_for_calibration_gives_the_same_crf(losses, seed):
    words, labels = drawn(2, sentences=1500, words=300, labels=25, longest=9)
    alone = crf(features=WORD, epochs=3, batch=50).fit(words, labels)
    assert alone.model_.facts["temperature"] != 1
    assert same(
        crf(features=WORD, epochs=3, batch=50).fit(words, labels, cluster=InProcess(2, losses=losses, seed=seed)), alone
    )


@pytest.mark.parametrize("name", ["lbfgs", "online", "online, many labels"])
@pytest.mark.parametrize("seed", range(3))
def test_lost_workers_change_nothing(name, seed):
    options, (words, labels) = CRFS[name]
    engines = []
    cluster = InProcess(3, losses=0.15, seed=seed, engines=engines)
    assert same(crf(**options).fit(words, labels, cluster=cluster), crf(**options).fit(words, labels))
    assert engines[0].lost > 0


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_of_workers_change_nothing(threads):
    for name in ("lbfgs", "online"):
        options, (words, labels) = CRFS[name]
        together = crf(**options, threads=threads).fit(words, labels, cluster=InProcess(2))
        assert same(together, crf(**options).fit(words, labels))


def test_ready_made_features_with_values_are_sent():
    words, labels = X[:700], Y[:700]
    ready = [[{"w": word, "n": 1.0 + len(word) / 3} for word in own] for own in words]
    for options in ({"l2": 0.1, "max_iterations": 3}, {"epochs": 2}):
        alone = crf(**options).fit(ready, labels)
        assert same(crf(**options).fit(ready, labels, cluster=InProcess(2)), alone)


def test_the_values_of_word_vectors_are_sent():
    words, labels = X[:700], Y[:700]
    vectors = tw.Vectors([f"w{n}" for n in range(40)], np.random.default_rng(0).normal(size=(40, 5)))
    features = tw.Features(WORD + "U2:%vector[0,0,v]\nU3:%vector[1,0,v]\n", {"v": vectors})
    for options in ({"l2": 0.1, "max_iterations": 3}, {"epochs": 2}):
        alone = crf(features=features, **options).fit(words, labels)
        assert same(crf(features=features, **options).fit(words, labels, cluster=InProcess(2)), alone)


def test_rules_partial_labels_and_weights_are_sent():
    words, labels = drawn(2, sentences=1100, words=30, labels=3)
    bio = {"L0": "O", "L1": "B-x", "L2": "I-x"}
    spans = []
    for own in labels:
        names, before = [], "O"
        for label in own:
            before = "B-x" if bio[label] == "I-x" and before == "O" else bio[label]
            names.append(before)
        spans.append(names)
    options = {"features": WORD, "max_iterations": 3, "constraints": "BIO", "solver": "lbfgs"}
    assert same(crf(**options).fit(words, spans, cluster=InProcess(3)), crf(**options).fit(words, spans))
    rng = np.random.default_rng(0)
    unsure = [[None if rng.random() < 0.1 else label for label in own] for own in labels]
    options = {"features": WORD, "max_iterations": 3}
    assert same(crf(**options).fit(words, unsure, cluster=InProcess(3)), crf(**options).fit(words, unsure))
    weights = rng.integers(1, 4, len(words))
    alone = crf(**options).fit(words, labels, sample_weight=weights)
    assert same(crf(**options).fit(words, labels, sample_weight=weights, cluster=InProcess(3)), alone)


def test_many_sums_are_added_in_several_places(monkeypatch):
    monkeypatch.setattr("tagwright.cluster.training.FAN", 2)
    options, (words, labels) = CRFS["lbfgs"]
    for workers in (3, 4):
        together = crf(**options).fit(words, labels, cluster=InProcess(workers, losses=0.1))
        assert same(together, crf(**options).fit(words, labels))


@pytest.mark.parametrize(
    "options",
    [{}, {"features": PAIRS}, {"pairs": "observed", "margin": 1}, {"parts": ""}, {"batch": 8, "threads": 2}],
    ids=str,
)
def test_a_perceptron_of_one_shard_is_that_of_one_machine(options):
    options = {"features": WORD, "epochs": 3, **options}
    alone = tw.Perceptron(**options).fit(X[:300], Y[:300])
    assert same(tw.Perceptron(**options).fit(X[:300], Y[:300], cluster=InProcess(1)), alone)


def test_a_mixed_perceptron_depends_on_its_shards_only():
    options = {"features": WORD, "epochs": 3}
    twice = [tw.Perceptron(**options).fit(X, Y, cluster=InProcess(3)) for _ in range(2)]
    assert same(*twice)
    lost = tw.Perceptron(**options).fit(X, Y, cluster=InProcess(3, losses=0.3, seed=1))
    assert same(lost, twice[0])
    assert twice[0].model_.facts["options"]["shards"] == 3
    other = tw.Perceptron(**options).fit(X, Y, cluster=InProcess(2))
    assert not same_arrays(other.model_.arrays, twice[0].model_.arrays)


def test_mixing_learns():
    words, labels = many_labels(sentences=400, labels=20)
    train, test = (words[:300], labels[:300]), (words[300:], labels[300:])
    alone = tw.Perceptron(epochs=5).fit(*train).score(*test)
    mixed = tw.Perceptron(epochs=5).fit(*train, cluster=InProcess(4)).score(*test)
    assert mixed > alone - 0.05


@pytest.mark.parametrize("name", ["lbfgs", "online"])
def test_a_checkpoint_of_a_cluster_is_resumed_anywhere(name, tmp_path):
    options, (words, labels) = CRFS[name]
    limit = "max_iterations" if name == "lbfgs" else "epochs"
    few, more = {**options, limit: 2}, {**options, limit: 13 if name == "lbfgs" else 3}
    whole = crf(**more).fit(words, labels)
    for first, second in ((InProcess(2), None), (None, InProcess(3)), (InProcess(3), InProcess(1))):
        path = tmp_path / f"{first}{second}.safetensors"
        crf(**few).fit(words, labels, checkpoint=path, cluster=first)
        on = crf(**more).fit(words, labels, checkpoint=path, cluster=second)
        assert same_arrays(on.model_.arrays, whole.model_.arrays)


def test_a_checkpoint_of_mixing_belongs_to_its_shards(tmp_path):
    path = tmp_path / "run.safetensors"
    options = {"features": WORD}
    tw.Perceptron(**options, epochs=1).fit(X, Y, checkpoint=path, cluster=InProcess(3))
    on = tw.Perceptron(**options, epochs=3).fit(X, Y, checkpoint=path, cluster=InProcess(3))
    assert same(on, tw.Perceptron(**options, epochs=3).fit(X, Y, cluster=InProcess(3)))
    with pytest.raises(ValueError, match="another training"):
        tw.Perceptron(**options, epochs=3).fit(X, Y, checkpoint=path, cluster=InProcess(2))


def test_a_cluster_trains_on_files(tmp_path):
    from support.commands import columns

    full = [(words, labels) for words, labels in zip(X, Y, strict=True) if words]
    words, labels = map(list, zip(*full, strict=True))
    path = tmp_path / "corpus.txt"
    path.write_text(columns(words, labels), encoding="utf-8")
    for name in ("lbfgs", "online"):
        options = CRFS[name][0]
        found = crf(**options).fit_files(path, cache=tmp_path / "cache", cluster=InProcess(2))
        assert same_arrays(found.model_.arrays, crf(**options).fit(words, labels).model_.arrays)


def test_shards_are_of_similar_size_and_begin_with_blocks():
    rng = np.random.default_rng(0)
    for _ in range(100):
        lengths, block = rng.integers(0, 40, rng.integers(1, 400)), int(rng.choice([1, 7, 64]))
        workers = int(rng.integers(1, 20))
        bounds = bounds_of(lengths, workers, block)
        assert (bounds[0], bounds[-1]) == (0, len(lengths))
        assert len(bounds) - 1 <= workers
        assert all(begin % block == 0 for begin in bounds[:-1])
        assert bounds == sorted(set(bounds))
        if block == 1 and len(lengths) > 10 * workers:
            sizes = [lengths[begin:end].sum() for begin, end in itertools.pairwise(bounds)]
            assert max(sizes) <= lengths.sum() / workers + 2 * 40


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        (7, r"cluster must be None or tagwright\.cluster\.Ray"),
        (InProcess(0), "cluster: workers must be"),
        (Ray(""), "cluster: address must be a string"),
    ],
)
def test_bad_clusters(cluster, message):
    for learner in (tw.CRF(), tw.Perceptron(), tw.CRF(solver="lbfgs")):
        with pytest.raises(ValueError, match=message):
            learner.fit(X[:20], Y[:20], cluster=cluster)


@pytest.mark.parametrize("options", [{"order": 2}, {"constraints": 3}, {"order": 2, "min_ngram_count": 3}], ids=str)
def test_perceptrons_with_ngrams_and_dictionaries_are_mixed(options):
    options = {"features": WORD, "epochs": 3, **options}
    alone = tw.Perceptron(**options).fit(X[:300], Y[:300])
    assert same(tw.Perceptron(**options).fit(X[:300], Y[:300], cluster=InProcess(1)), alone)
    three = [tw.Perceptron(**options).fit(X, Y, cluster=InProcess(3, losses=losses)) for losses in (0, 0.3)]
    assert same(*three)
    assert three[0].score(X, Y) > tw.Perceptron(**options).fit(X, Y).score(X, Y) - 0.1


def test_damaged_steps_are_refused():
    from tagwright.learners.examples import Examples
    from tagwright.learners.online import OnlineTraining

    run = OnlineTraining(tw.CRF(WORD), Examples(X[:40], Y[:40]))
    numbers = np.arange(40, dtype=np.int32)
    steps = run.trainer.gradient(numbers, 1)
    zeros = np.zeros(40, np.int32)
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="gradient"):
        run.trainer.apply([steps[:-8]], zeros, numbers, 1)
    for which, number in ((zeros + 1, numbers), (zeros, numbers + 1), (zeros - 1, numbers)):
        with pytest.raises(ValueError, match="no such"):
            run.trainer.apply([steps], which, number, 1)
    refused = 0
    for _ in range(300):
        wrong = steps.copy()
        wrong[rng.integers(len(wrong))] ^= np.uint8(1 << rng.integers(8))
        try:
            run.trainer.apply([wrong], zeros, numbers, 1)
        except ValueError:
            refused += 1
    assert refused > 20


@pytest.mark.parametrize("workers", [1, 2])
def test_errors_name_the_sentence_of_the_whole_corpus(workers):
    words = [["a", "b"], ["c", "b"]] * 600
    labels = [["A", "B"], ["C", "B"]] * 600
    labels[700] = ["B", {"A", "C"}]
    constraints = tw.Constraints(["A", "B", "C"], forbid=[("B", "A"), ("B", "C")])
    learner = tw.CRF(WORD, solver=tw.LBFGS(l2=0.1, max_iterations=3), constraints=constraints)
    with pytest.raises(ValueError, match="sentence 700: no labelling has labels that y allows"):
        learner.fit(words, labels, cluster=InProcess(workers))
