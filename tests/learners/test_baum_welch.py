"""HMM.fit_unlabelled: against a plain NumPy account of itself, and what EM promises."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from support.corpora import drawn, many_labels, names_of, same_arrays, ten_sentences

import tagwright as tw
from tagwright.learners.baum_welch import BaumWelch, Corpus, Emissions, Transitions

X10, Y10 = ten_sentences()
EXACTLY = ("", 0.0, 1)


class Plain:
    """The same model, dense: p(j | i) = (1 - b) * chat[i, j] + b * p[j], the border being the last label."""

    def __init__(self, b, p, chat, emission):
        self.b, self.p, self.chat, self.emission = b, p, chat, emission  # emission: [word, label]

    @classmethod
    def of(cls, run):
        t, e = run.transitions, run.emissions
        L = len(t.backoff) - 1
        chat, emission = np.zeros((L + 1, L + 1)), np.zeros((len(e.words), L))
        chat[t.previous, t.current] = t.bigram / (1 - t.share)
        emission[np.repeat(np.arange(len(e.end)), np.diff(e.end, prepend=0)), e.label] = e.p
        return cls(t.share, np.exp(t.backoff) / t.share, chat, emission)

    @classmethod
    def of_model(cls, model, words):
        """Read from scores alone: start, stop, edges, and the rows of all words that the model knows."""
        L, arrays = len(model.labels), model.arrays
        nodes = np.array([model.lattice([word]).nodes[0] for word in words], np.float64)
        b, border = model.facts["backoff"]["share"], math.exp(model.facts["backoff"]["border"])
        behind = np.append(np.exp(nodes).sum(axis=0), border)
        p = np.zeros((L + 1, L + 1))
        edges = np.zeros((L, L))
        edges[arrays["edges.previous"], arrays["edges.current"]] = arrays["edges.score"]
        p[:L, :L] = np.exp(edges) * behind[:L]
        p[L, :L] = np.exp(arrays["start"]) * behind[:L]
        p[:L, L], p[L, L] = np.exp(arrays["stop"]), border
        return cls(b, behind / b, (p - behind) / (1 - b), np.exp(nodes) / behind[:L])

    def transitions(self):
        return (1 - self.b) * self.chat + self.b * self.p

    def sums(self, sentence):
        """Log p, (T, L) probabilities of labels, (T+1, L+1, L+1) of transitions; sentence: numbers of words."""
        L, T, A = len(self.p) - 1, len(sentence), self.transitions()
        forward, backward = np.zeros((T + 2, L + 1)), np.zeros((T + 2, L + 1))
        forward[0, L] = backward[T + 1, L] = 1
        emitted = [np.append(self.emission[w], 0) for w in sentence] + [np.eye(L + 1)[L]]
        for t in range(T + 1):
            forward[t + 1] = (forward[t] @ A) * emitted[t]
        for t in range(T, -1, -1):
            backward[t] = A @ (emitted[t] * backward[t + 1])
        Z = forward[T + 1, L]
        pairs = np.array([forward[t][:, None] * A * (emitted[t] * backward[t + 1]) / Z for t in range(T + 1)])
        return math.log(Z), (forward * backward / Z)[1 : T + 1, :L], pairs

    def step(self, sentences):
        """One turn of EM; returns log p before it."""
        L = len(self.p) - 1
        log_p, words, pairs = 0.0, np.zeros_like(self.emission), np.zeros((L + 1, L + 1))
        for sentence in filter(len, sentences):
            own, labels, transitions = self.sums(sentence)
            log_p += own
            pairs += transitions.sum(axis=0)
            np.add.at(words, sentence, labels)
        bigram = pairs * (1 - self.b) * self.chat / self.transitions()
        single = (pairs - bigram).sum(axis=0)
        self.b = single.sum() / pairs.sum()
        self.p = single / single.sum()
        self.chat = bigram / bigram.sum(axis=1, keepdims=True)
        self.emission = words / words.sum(axis=0)
        return log_p

    def check(self, other, **near):
        for mine, its in zip(vars(self).values(), vars(other).values(), strict=True):
            np.testing.assert_allclose(mine, its, **near)

    def enumerated(self, sentence):
        """Log p(sentence) over all labellings."""
        L, A, total = len(self.p) - 1, self.transitions(), 0.0
        for path in itertools.product(range(L), repeat=len(sentence)):
            p = math.prod(self.emission[w, j] for w, j in zip(sentence, path, strict=True))
            total += p * math.prod(A[i, j] for i, j in itertools.pairwise([L, *path, L]))
        return math.log(total)


def at_random(X, L, seed=0):
    corpus, rng = Corpus.read(X, 0), np.random.default_rng(seed)
    ends = corpus.not_empty / (corpus.not_empty + corpus.tokens)
    return BaumWelch(corpus, Transitions.at_random(L, ends, rng), Emissions.at_random(corpus, L, rng))


def counted(X, y):
    """A start from labelled sentences, as the model's rounded scores have it."""
    model, corpus = tw.HMM().fit(X, y).model_, Corpus.read(X, 0)
    emissions, backoff = Emissions.for_corpus(model, corpus, 0)
    return BaumWelch(corpus, Transitions.of(model, backoff), emissions)


def rose(history, within=1e-9):
    found = [fact["log_likelihood"] for fact in history]
    return all(b >= a - within * abs(a) for a, b in itertools.pairwise(found))


def from_an_hmm(seed=0, sentences=300):
    """Three labels that follow each other in a ring, mostly; each has four words of its own and one in common."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(sentences):
        label, words, labels = 0, [], []
        for _ in range(int(rng.integers(2, 12))):
            n = int(rng.integers(5))
            words.append("common" if n == 4 else f"{'abc'[label]}{n}")
            labels.append("ABC"[label])
            label = (label + 1) % 3 if rng.random() < 0.9 else int(rng.integers(3))
        X.append(words)
        y.append(labels)
    return X, y


# Against the plain account


@pytest.mark.parametrize("L", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_steps_from_a_random_start(L, seed):
    X, _ = drawn(seed, sentences=20, words=7)
    run = at_random(X, L, seed)
    plain = Plain.of(run)
    assert plain.transitions().sum(axis=1) == pytest.approx([1] * L + [1 - (1 - plain.b) * (1 - plain.chat[L].sum())])
    for _ in range(8):
        log_p, kept = run.step(EXACTLY, 1)
        assert log_p == pytest.approx(plain.step(run.corpus.sentences), rel=1e-12)
        assert kept <= L
        plain.check(Plain.of(run), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_steps_from_counts(seed):
    # Rows hold some labels only, and most pairs have no bigram.
    X, y = drawn(seed, sentences=14, words=9, labels=6)
    run = counted(X, y)
    plain = Plain.of(run)
    assert 0 < (plain.emission == 0).mean() < 1
    assert 0 < (plain.chat[:-1, :-1] == 0).mean() < 1
    for _ in range(8):
        log_p, _ = run.step(EXACTLY, 1)
        assert log_p == pytest.approx(plain.step(run.corpus.sentences), rel=1e-12)
        plain.check(Plain.of(run), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_the_likelihood_by_enumeration(seed):
    X, y = drawn(seed, labels=3, longest=4)
    learner = tw.HMM().fit(X, y).fit_unlabelled(X, iterations=2, tolerance=0)
    corpus = Corpus.read(X, 0)
    plain = Plain.of_model(learner.model_, corpus.words)
    truth = sum(plain.enumerated(sentence) for sentence in corpus.sentences if sentence)
    assert learner.fit_unlabelled(X, iterations=1).history_[0]["log_likelihood"] == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_counts_are_read_back_from_a_model(seed):
    X, y = drawn(seed, sentences=15, words=5, labels=5)
    model, plain = tw.HMM().fit(X, y).model_, Plain.of(counted(X, y))
    words = Corpus.read(X, 0).words
    n = Counter(itertools.chain(*y))
    full = [labels for labels in y if labels]
    pairs = Counter(itertools.chain(*(itertools.pairwise(["|", *labels, "|"]) for labels in full)))
    n["|"] = len(full)
    labels = [*model.labels, "|"]
    assert plain.b == model.facts["backoff"]["share"]
    assert plain.p == pytest.approx([n[j] / n.total() for j in labels], rel=1e-5)
    truth = [[pairs[i, j] / n[i] for j in labels] for i in labels]
    np.testing.assert_allclose(plain.chat, truth, rtol=1e-5)
    both = Counter((w, j) for ws, js in zip(X, y, strict=True) for w, j in zip(ws, js, strict=True))
    truth = [[both[w, j] / n[j] for j in model.labels] for w in words]
    np.testing.assert_allclose(plain.emission, truth, rtol=1e-5)


@pytest.mark.parametrize("start", ["counted", "at random"])
def test_the_model_is_where_the_steps_have_come_to(start):
    X, y = drawn(3, sentences=25, words=8, labels=4)
    if start == "counted":
        learner, run = tw.HMM().fit(X, y).fit_unlabelled(X, iterations=5, tolerance=0), counted(X, y)
    else:
        learner, run = tw.HMM().fit_unlabelled(X, 4, iterations=5, tolerance=0, seed=7), at_random(X, 4, 7)
    for fact in learner.history_:
        assert run.step(EXACTLY, 1)[0] == fact["log_likelihood"]
    found, truth = Plain.of_model(learner.model_, run.corpus.words), Plain.of(run)
    if start == "at random":
        frequency = run.expected()
        order = np.argsort(-np.bincount(frequency.label, frequency.p), kind="stable")
        truth.emission, border = truth.emission[:, order], [*order, 4]
        truth.p, truth.chat = truth.p[border], truth.chat[np.ix_(border, border)]
    found.check(truth, rtol=1e-4, atol=1e-6)
    assert found.emission.sum(axis=0) == pytest.approx(np.ones(4))
    assert found.transitions()[:-1].sum(axis=1) == pytest.approx(np.ones(4), rel=1e-5)


# What EM promises


@pytest.mark.parametrize("seed", range(5))
def test_the_likelihood_never_falls(seed):
    X, y = drawn(seed, sentences=40, words=12, labels=5)
    fitted = tw.HMM().fit(X, y).fit_unlabelled(X, iterations=25, tolerance=0)
    assert len(fitted.history_) > 10
    assert rose(fitted.history_)
    at_start = tw.HMM().fit_unlabelled(X, 5, iterations=25, tolerance=0, seed=seed)
    assert len(at_start.history_) == 25
    assert rose(at_start.history_)
    assert at_start.history_[-1]["log_likelihood"] > at_start.history_[0]["log_likelihood"] + 10


def test_the_likelihood_never_falls_where_b_is_at_its_floor():
    learner = tw.HMM().fit(X10, Y10).fit_unlabelled(X10, iterations=200, tolerance=0)
    assert learner.model_.facts["backoff"]["share"] == 1e-3
    assert rose(learner.history_)
    # And so is what single labels have: some label does without it.
    run = at_random(X10, 6)
    found = [run.step(EXACTLY, 1)[0] for _ in range(300)]
    assert np.diff(found).min() > -1e-7
    single = np.exp(run.transitions.backoff) / run.transitions.share
    assert single.min() == pytest.approx(1e-9)
    assert single.sum() == pytest.approx(1)


def test_what_is_zero_stays_zero():
    X, y = many_labels()
    before = tw.HMM().fit(X, y).model_
    after = tw.HMM().fit(X, y).fit_unlabelled(X, iterations=20, tolerance=0).model_
    pairs = [set(zip(m.arrays["edges.previous"], m.arrays["edges.current"], strict=True)) for m in (before, after)]
    assert pairs[1] <= pairs[0]
    words = sorted(set(itertools.chain(*X)))
    rows = [np.array([m.lattice([w]).nodes[0] for w in words]) > -np.inf for m in (before, after)]
    assert (rows[1] <= rows[0]).all()
    assert not rows[0].all()


def test_a_known_hmm_is_found_again():
    X, y = from_an_hmm()
    learner = tw.HMM().fit_unlabelled(X, labels=3, iterations=200, tolerance=1e-7, seed=1)
    assert rose(learner.history_)
    tokens = sum(map(len, X))
    start, end = (learner.history_[n]["log_likelihood"] / tokens for n in (0, -1))
    assert end > start + 0.5
    # As likely as under the right labels' counts.
    right = tw.HMM().fit(X, y).fit_unlabelled(X, iterations=1).history_[0]["log_likelihood"] / tokens
    assert end > right - 0.01
    flat = list(zip(itertools.chain(*learner.predict(X)), itertools.chain(*y), strict=True))
    agree = max(
        np.mean([names[found] == label for found, label in flat])
        for names in ({f"L{n}": label for n, label in enumerate(order)} for order in itertools.permutations("ABC"))
    )
    assert agree > 0.95


def test_unlabelled_sentences_help_a_few_labelled_ones():
    X, y = from_an_hmm(1)
    learner = tw.HMM().fit(X[:3], y[:3])
    before = learner.score(X, y)
    learner.fit_unlabelled(X, iterations=20, tolerance=0)
    assert learner.model_.labels == tw.HMM().fit(X[:3], y[:3]).model_.labels
    assert rose(learner.history_)
    assert learner.score(X, y) > max(before, 0.9)


def test_it_ends_when_little_is_won():
    X, _ = from_an_hmm()
    learner = tw.HMM().fit_unlabelled(X, 3, iterations=500, tolerance=1e-3, seed=1)
    found = [fact["log_likelihood"] for fact in learner.history_]
    rises = [(b - a) / sum(map(len, X)) for a, b in itertools.pairwise(found)]
    assert 10 <= len(found) < 500
    assert rises[-1] < 1e-3 <= min(rises[8:-1], default=1)
    assert len(tw.HMM().fit_unlabelled(X, 3, iterations=4, tolerance=0).history_) == 4


def test_random_starts_do_not_stop_on_the_first_plateau():
    """Eight states that alternate in a ring: every random start finds most of them, and reports where it does not."""
    rng = np.random.default_rng(5)
    L, T = 8, 12
    X, y = [], []
    for _ in range(200):
        states = [int(rng.integers(L))]
        for _ in range(T - 1):
            states.append(int((states[-1] + rng.choice([1, 1, 1, 2])) % L))
        X.append([f"w{state * 3 + rng.integers(3)}" for state in states])
        y.append([str(state) for state in states])
    tokens, accuracy = 200 * T, []
    for seed in range(5):
        learner = tw.HMM().fit_unlabelled(X, L, seed=seed)
        assert len(learner.history_) > 10
        pairs = Counter(zip(itertools.chain(*learner.predict(X)), itertools.chain(*y), strict=True))
        best: dict[str, int] = {}
        for (found, _), n in pairs.items():
            best[found] = max(best.get(found, 0), n)
        accuracy.append(sum(best.values()) / tokens)
    assert np.median(accuracy) > 0.85


def test_iterations_that_end_before_convergence_are_reported():
    X, _ = from_an_hmm()
    with pytest.warns(ConvergenceWarning, match="HMM: stopped after 12 iterations, before it converged"):
        tw.HMM().fit_unlabelled(X, 3, iterations=12, tolerance=1e-9)


def test_resuming_equals_not_stopping():
    X, y = drawn(2, sentences=40, words=12, labels=5)
    one, parts = tw.HMM().fit(X[:20], y[:20]), tw.HMM().fit(X[:20], y[:20])
    one.fit_unlabelled(X, iterations=6, tolerance=0)
    found = [parts.fit_unlabelled(X, iterations=1).history_[0]["log_likelihood"] for _ in range(6)]
    assert found == pytest.approx([fact["log_likelihood"] for fact in one.history_], rel=1e-6)
    assert one.predict(X) == parts.predict(X)


# Words


def test_words_that_are_not_in_the_sentences_keep_what_they_have():
    X, y = [["a", "b", "c"], ["c", "a"], ["b", "a", "d"]], [["A", "B", "A"], ["B", "A"], ["B", "A", "B"]]
    learner = tw.HMM().fit(X, y)
    before = Plain.of_model(learner.model_, "abcd")
    learner.fit_unlabelled([["a", "c"], ["c", "a", "a"]], iterations=10, tolerance=0)
    after = Plain.of_model(learner.model_, "abcd")
    assert rose(learner.history_)
    np.testing.assert_allclose(after.emission[[1, 3]], before.emission[[1, 3]], rtol=1e-5)
    assert after.emission[[0, 2]].sum(axis=0) == pytest.approx(before.emission[[0, 2]].sum(axis=0), rel=1e-5)
    assert not np.allclose(after.emission[[0, 2]], before.emission[[0, 2]], rtol=0.01)


def test_new_words_start_from_their_suffix():
    X, y = [["walking", "red"], ["talking", "bed"], ["red", "walking"]], [["V", "N"], ["V", "N"], ["N", "V"]]
    new = [["walking", "shed"], ["shed", "sleeping"], ["sleeping", "red", "shed"]]
    learner = tw.HMM().fit(X, y)
    labels = learner.predict(new)
    row = np.exp(learner.model_.lattice(["sleeping"]).nodes[0].astype(float))
    corpus = Corpus.read(new, 0)
    emissions, backoff = Emissions.for_corpus(learner.model_, corpus, 0)
    plain = Plain.of(BaumWelch(corpus, Transitions.of(learner.model_, backoff), emissions))
    assert emissions.words == ["walking", "shed", "sleeping", "red", "talking", "bed"]
    assert plain.emission.sum(axis=0) == pytest.approx([1, 1])
    # Twice among seven words: p(j | suffix) / p(j) times 2/7, and as much again of all words of the label.
    known = Plain.of_model(learner.model_, ["walking", "red", "talking", "bed"])
    scale = known.emission[0] / np.where(known.emission[0] > 0, plain.emission[0], 1)
    there = scale > 0
    expected = row / (known.b * known.p[:2]) * 2 / 7
    assert (plain.emission[2] * scale)[there] == pytest.approx(expected[there], rel=1e-5)
    learner.fit_unlabelled(new, iterations=5, tolerance=0)
    assert rose(learner.history_)
    assert learner.model_.knows("sleeping")
    assert learner.predict(new) == labels == [["V", "N"], ["N", "V"], ["V", "N", "N"]]


def test_suffixes_are_kept():
    X, y = [["walking", "red"], ["talking", "bed"]], [["VBG", "JJ"], ["VBG", "NN"]]
    words = [*X[0], *X[1]]
    learner = tw.HMM().fit(X, y)
    before, old = learner.model_.lattice(["sleeping"]).nodes[0], Plain.of_model(learner.model_, words)
    learner.fit_unlabelled(X, iterations=3)
    after, new = learner.model_.lattice(["sleeping"]).nodes[0], Plain.of_model(learner.model_, words)
    there = before > -np.inf
    assert list(there) == list(after > -np.inf)
    moved = np.log(new.b * new.p[:3]) - np.log(old.b * old.p[:3])
    assert (after - before)[there] == pytest.approx(moved[there], abs=1e-5)
    assert learner.predict([["eating"]]) == [["VBG"]]


def test_suffixes_are_learnt_from_expected_counts():
    stems = ["walk", "talk", "read", "sing", "jump"]
    X = [[f"{a}s", f"{b}ing"] for a in stems for b in stems]
    learner = tw.HMM().fit_unlabelled(X, 2, iterations=60, tolerance=1e-7, seed=3)
    first, second = learner.predict([["walks", "talking"]])[0]
    assert first != second
    assert learner.predict([["cooks", "cooking"], ["eats", "eating"]]) == [[first, second]] * 2
    assert not learner.model_.knows("cooks")
    assert any(name.startswith("U2:ng") for name in names_of(learner.model_.arrays))


def test_rows_of_columns():
    X, y = [[["1", "a"], ["2", "b"]], [["1", "b"]]], [["A", "B"], ["B"]]
    learner = tw.HMM(column=1, suffix=3).fit(X, y)
    assert rose(learner.fit_unlabelled(X, tolerance=0).history_)
    assert learner.model_.columns == 2
    # What the model says about itself counts, not the estimator that it was given to.
    other = tw.HMM()
    other.model_ = learner.model_
    assert "Uword:new" in names_of(other.fit_unlabelled([[["1", "b"], ["9", "new"]]], iterations=2).model_.arrays)
    assert other.model_.facts["options"] == learner.model_.facts["options"]
    assert "Uword:a" in names_of(tw.HMM(column=1).fit_unlabelled(X, 2).model_.arrays)


def test_short_and_empty_sentences():
    X = [["a"], [], ["b"], ["a"], ["a", "b"], []]
    learner = tw.HMM().fit_unlabelled(X, 2, iterations=12, tolerance=0)
    assert rose(learner.history_)
    assert [len(labels) for labels in learner.predict(X)] == [1, 0, 1, 1, 2, 0]
    without = tw.HMM().fit_unlabelled([words for words in X if words], 2, iterations=12, tolerance=0)
    assert same_arrays(learner.model_.arrays, without.model_.arrays)
    alone = tw.HMM().fit_unlabelled([["a"]], 1)
    assert alone.predict([["a"], ["z"]]) == [["L0"], ["L0"]]


def test_odd_words():
    X = [["<s>", "</s>", "0"], ["1", "", " "], ["Uword:1", "w:", "\n"], ["</s>"]]
    learner = tw.HMM().fit_unlabelled(X, 2, iterations=12, tolerance=0)
    assert rose(learner.history_)
    assert all(learner.model_.knows(word) for word in itertools.chain(*X))


def test_a_label_that_died_out_for_a_word():
    # x is B only where A has no way to be; after some turns the chance of it is 0 to the last bit.
    run = at_random([["x", "y"]] * 50, 2, seed=4)
    plain = Plain.of(run)
    for _ in range(400):
        log_p, _ = run.step(EXACTLY, 1)
    assert (run.emissions.p == 0).any()
    assert log_p > plain.step(run.corpus.sentences)
    assert np.isfinite(log_p)
    learner = tw.HMM().fit_unlabelled([["x", "y"]] * 50, 2, iterations=400, tolerance=0, seed=4)
    first, second = learner.predict([["x", "y"]])[0]
    assert first != second
    assert np.isneginf(learner.model_.lattice(["x", "y"]).nodes).any()
    assert learner.fit_unlabelled([["x", "y"]] * 50).history_[0]["log_likelihood"] == pytest.approx(log_p, abs=1e-3)


def test_a_label_that_the_sentences_do_not_need():
    X, y = [["a", "b"], ["c"]], [["A", "B"], ["C"]]
    learner = tw.HMM().fit(X, y).fit_unlabelled([["a", "b"], ["a"]], iterations=30, tolerance=0)
    assert learner.model_.labels == ["A", "B", "C"]
    plain = Plain.of_model(learner.model_, "abc")
    assert plain.transitions()[:-1].sum(axis=1) == pytest.approx(np.ones(3), rel=1e-5)
    assert plain.emission.sum(axis=0) == pytest.approx(np.ones(3))
    assert learner.predict([["c"], ["a", "c"]]) == [["C"], ["A", "C"]]
    assert learner.fit_unlabelled([["c", "a"]]).predict([["c", "a"]]) == [["C", "A"]]


# What is kept


@pytest.mark.parametrize("keep", [tw.KeepDivergence(1e-6), tw.KeepRatio(1e-7), tw.KeepSize(60)], ids=str)
def test_sparse_sums_come_close(keep):
    X, y = many_labels()
    exact = tw.HMM().fit(X[:20], y[:20]).fit_unlabelled(X, iterations=4, tolerance=0)
    sparse = tw.HMM().fit(X[:20], y[:20]).fit_unlabelled(X, iterations=4, tolerance=0, pruning=keep)
    possible = np.concatenate([np.isfinite(exact.model_.lattice(words)[0]).sum(axis=1) for words in X])
    for a, b in zip(exact.history_, sparse.history_, strict=True):
        assert b["log_likelihood"] == pytest.approx(a["log_likelihood"], rel=1e-4)
        assert b["kept"] <= a["kept"] == pytest.approx(possible.mean(), rel=1e-12)
    same = [a == b for a, b in zip(exact.predict(X), sparse.predict(X), strict=True)]
    assert np.mean(same) > 0.95


def test_one_label_is_kept():
    X, y = many_labels()
    learner = tw.HMM().fit(X[:20], y[:20]).fit_unlabelled(X, iterations=5, pruning=tw.KeepSize(1))
    assert all(fact["kept"] == 1 for fact in learner.history_)
    assert learner.predict(X)


# The estimator


def test_saved_and_loaded(tmp_path):
    learner = tw.HMM().fit(X10[:6], Y10[:6])
    learner.model_.save(tmp_path / "counted")
    learner.fit_unlabelled(X10, iterations=3, tolerance=0)
    other = tw.HMM()
    other.model_ = tw.load(tmp_path / "counted")
    other.fit_unlabelled(X10, iterations=3, tolerance=0)
    assert same_arrays(learner.model_.arrays, other.model_.arrays)
    learner.model_.save(tmp_path / "learnt")
    loaded = tw.load(tmp_path / "learnt")
    assert (loaded.labels, loaded.facts) == (learner.model_.labels, learner.model_.facts)
    assert loaded.tag_batch([*X10, ["unheard", "of"]]) == learner.predict([*X10, ["unheard", "of"]])
    assert loaded.facts["tokens"] == sum(map(len, X10[:6]))
    assert loaded.facts["unlabelled"] == {"sentences": 10, "tokens": 45, "iterations": 3}
    alone = tw.HMM().fit_unlabelled(X10, 3, iterations=2)
    assert (alone.model_.facts["sentences"], alone.model_.facts["tokens"]) == (10, 45)


def test_scores_are_log_probabilities():
    learner = tw.HMM().fit_unlabelled(X10, 2, iterations=5)
    plain = Plain.of_model(learner.model_, corpus := Corpus.read(X10, 0).words)
    for sentence in X10[:3]:
        found = learner.predict_kbest([sentence], 2 ** len(sentence))[0]
        total = np.logaddexp.reduce([tagging.score for tagging in found])
        assert total == pytest.approx(plain.sums([corpus.index(word) for word in sentence])[0], abs=1e-4)


def test_the_same_seed_gives_the_same_model():
    models = [tw.HMM().fit_unlabelled(X10, 3, seed=seed).model_ for seed in (0, 0, 1)]
    assert same_arrays(models[0].arrays, models[1].arrays)
    assert not same_arrays(models[0].arrays, models[2].arrays)


@pytest.mark.parametrize("keep", [None, tw.KeepDivergence(0.01)], ids=str)
def test_threads_do_not_matter(keep):
    X, _ = many_labels()
    models = [tw.HMM(threads=n).fit_unlabelled(X, 7, iterations=4, pruning=keep).model_ for n in (1, 2, 5)]
    assert same_arrays(models[0].arrays, models[1].arrays)
    assert same_arrays(models[0].arrays, models[2].arrays)


def test_labels_and_their_names():
    learner = tw.HMM().fit_unlabelled(X10, ["noun", "verb", "other"])
    assert learner.model_.labels == ["noun", "verb", "other"]
    assert tw.HMM().fit_unlabelled(X10, np.int64(2)).model_.labels == ["L0", "L1"]
    # The first is the most frequent.
    corpus = Corpus.read(X10, 0)
    plain = Plain.of_model(learner.model_, corpus.words)
    expected = sum(plain.sums(sentence)[1].sum(axis=0) for sentence in corpus.sentences)
    assert expected.argmax() == 0


def test_clones_have_learnt_nothing():
    learner = tw.HMM(rare=3).fit_unlabelled(X10, 2)
    assert sorted(learner.history_[0]) == ["kept", "log_likelihood", "seconds"]
    copy = clone(learner)
    assert copy.get_params() == learner.get_params()
    assert not hasattr(copy, "model_")
    assert not hasattr(copy, "history_")
    # Counting starts anew.
    assert same_arrays(learner.fit(X10, Y10).model_.arrays, tw.HMM(rare=3).fit(X10, Y10).model_.arrays)


def test_the_bar(capsys):
    tw.HMM().fit_unlabelled(X10, 2, iterations=3, progress=True)
    assert "log-likelihood -" in capsys.readouterr().err
    tw.HMM().fit_unlabelled(X10, 2, iterations=3)
    assert capsys.readouterr().err == ""


def test_ctrl_c_keeps_the_model_so_far(monkeypatch):
    learner = tw.HMM()
    step = BaumWelch.step

    def interrupted(self, *given):
        if len(learner.history_) == 2:
            raise KeyboardInterrupt
        return step(self, *given)

    monkeypatch.setattr(BaumWelch, "step", interrupted)
    with pytest.warns(UserWarning, match="interrupted after 2 iterations"):
        learner.fit_unlabelled(X10, 2)
    monkeypatch.undo()
    assert same_arrays(learner.model_.arrays, tw.HMM().fit_unlabelled(X10, 2, iterations=2).model_.arrays)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"labels": 0}, "labels must be at least 1 and at most 65,535, not 0"),
        ({"labels": -3}, "labels must be at least 1"),
        ({"labels": True}, "labels must be a number or a list of names, not True"),
        ({"labels": 2.5}, "labels must be a number or a list of names"),
        ({"labels": "AB"}, "labels must be a number or a list of names"),
        ({"labels": []}, "labels: there must be at least one name"),
        ({"labels": ["A", "B", "A"]}, "labels: names must be strings that differ"),
        ({"labels": ["A", ["B"]]}, "labels: names must be strings that differ"),
        ({"labels": ["A", "B\tC"]}, "cannot be printed"),
        ({"labels": 70_000}, "labels must be at least 1 and at most 65,535"),
        ({"iterations": 0}, "iterations must be a whole number of at least 1"),
        ({"tolerance": -1}, "tolerance must be a number of at least 0"),
        ({"tolerance": math.nan}, "tolerance must be a number of at least 0"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"pruning": 0.1}, "pruning must be None, KeepDivergence"),
        ({"pruning": "auto"}, "pruning must be None, KeepDivergence"),
        ({"X": []}, "there is no token to learn from"),
        ({"X": [[], []]}, "there is no token to learn from"),
        ({"X": "text"}, "X must be a list of sentences, not str; write"),
        ({"X": ["text"]}, "sentence 0 must be a list of tokens, not str; write text"),
        ({"X": [["a", 3]]}, "sentence 0, token 1 must be a string or a list of columns, not int"),
        ({"X": [[{"word": "a"}]]}, "a dict of ready-made features, but text is needed"),
    ],
)
def test_complaints(options, said):
    learner = tw.HMM()
    with pytest.raises(ValueError, match=said):
        learner.fit_unlabelled(**{"X": X10, "labels": 2, **options})
    assert not hasattr(learner, "model_")


def test_complaints_about_the_start(tmp_path):
    with pytest.raises(NotFittedError, match=r"not fitted yet; call fit\(X, y\) first, or say how many labels"):
        tw.HMM().fit_unlabelled(X10)
    with pytest.raises(ValueError, match="labels is for an HMM that is not fitted"):
        tw.HMM().fit(X10, Y10).fit_unlabelled(X10, 3)
    with pytest.raises(ValueError, match="rare must be"):
        tw.HMM(rare=0).fit_unlabelled(X10, 3)
    with pytest.raises(ValueError, match="threads must be"):
        tw.HMM(threads=0).fit_unlabelled(X10, 3)
    other = tw.HMM()
    other.model_ = tw.Perceptron(epochs=1).fit(X10, Y10).model_
    with pytest.raises(ValueError, match="the model is not an HMM"):
        other.fit_unlabelled(X10)
    old = tw.HMM().fit(X10, Y10)
    del old.model_.facts["backoff"]
    with pytest.raises(ValueError, match="made by an older tagwright"):
        old.fit_unlabelled(X10)
