"""Learners against plain versions of themselves, which look at every labelling: small corpora, all options drawn."""

import itertools
import math
import warnings
from collections import Counter, defaultdict

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp
from support.corpora import weights_of

import tagwright as tw

EXPECTED = ()
NEAR = 2e-4
"""Weights are stored in single precision."""
STEP_FROM, NEW_FROM = 0.01, 0.05
"""Gradients below the first are not stepped by AdaGrad; below the second they make no new weight."""
UNIGRAMS, BIGRAMS = "U0:%x[0,0]\nUV\n", "B\n"


def attempt(draw):
    warnings.simplefilter("ignore")
    return draw.choice((perceptron, perceptron, online_crf, batch_crf, hmm))(draw)


def corpus(draw, partial=False):
    """A few short sentences; with partial labels, None for any, or a set."""
    names = ["N", "V", "D"][: draw.randint(2, 3)]
    X = [[draw.choice("abcd") for _ in range(draw.randint(1, 4))] for _ in range(draw.randint(2, 6))]
    y = [[draw.choice(names) for _ in sentence] for sentence in X]
    X.append(["a"] * len(names))
    y.append(list(names))  # every label occurs
    if partial:
        for labels in y[:-1]:
            for t in range(len(labels)):
                if draw.chance(0.4):
                    labels[t] = draw.choice((None, {labels[t], draw.choice(names)}))
    return draw.note("X", X), draw.note("y", y)


def same_scores(model, X, expected):
    """Compare the scores of all labellings of some sentences."""
    for sentence in X:
        paths = len(model.labels) ** len(sentence)
        found = model.lattice(sentence).decode(paths, "viterbi").paths
        scores = {tuple(model.labels[y] for y in path.labels): path.score for path in found}
        right = {
            path: score
            for path in itertools.product(model.labels, repeat=len(sentence))
            if (score := expected(sentence, path)) > -np.inf
        }
        assert scores.keys() == right.keys()
        for path, score in right.items():
            assert abs(scores[path] - score) <= NEAR * (1 + abs(score)), (sentence, path, scores[path], score)
    return True


def counts(sentence, path, order=1, ngrams=(), tokens=False):
    """The features of a labelling, each with how often it occurs."""
    found = Counter()
    for t, label in enumerate(path):
        found[f"U0:{sentence[t]}", label] += 1
        found["UV", label] += 1
        if t:
            found[path[t - 1], label] += 1
            if tokens:
                found[f"B01:{sentence[t]}", path[t - 1], label] += 1
        for length in range(3, order + 2):
            if t + 1 >= length and tuple(path[t + 1 - length : t + 1]) in ngrams:
                found[tuple(path[t + 1 - length : t + 1])] += 1
    return found


def preferences(L):
    """What breaks ties between labellings: the lower number, and then a fixed random order."""
    state, made = 0x853C49E6748FEA9B, np.empty((61, L))
    for t, y in itertools.product(range(61), range(L)):
        for shift in (13, -7, 17):
            state ^= (state << shift if shift > 0 else state >> -shift) & (2**64 - 1)
        made[t, y] = -min(y, 4095) * 2.0**-20 - (state >> 49) * 2.0**-36
    return made


def perceptron(draw):
    """Collins (2002) with averaged weights; margin: each right label scores so much less while training."""
    X, y = corpus(draw)
    order, margin, batch = draw.choice((1, 1, 2, 3)), draw.choice((0, 0, 1, 2)), draw.choice((1, 1, 2, 4))
    epochs, seed, tokens = draw.randint(1, 4), draw.randrange(100), draw.chance(0.3)
    pairs = draw.choice(("touched", "observed"))
    text = UNIGRAMS + BIGRAMS + "B01:%x[0,0]\n" * tokens
    options = {"order": order, "margin": margin, "batch": batch, "epochs": epochs, "seed": seed, "pairs": pairs}
    draw.note("options", options)
    decoder = draw.choice(("auto", "viterbi", "tree", "staggered"))
    model = tw.Perceptron(text, decoder=decoder, threads=draw.choice((1, 2)), **options).fit(X, y).model_
    labels, ties = model.labels, preferences(len(model.labels))
    ngrams = {tuple(own[a : a + n]) for own in y for n in range(3, order + 2) for a in range(len(own) - n + 1)}
    weight, total, n = defaultdict(float), defaultdict(float), 0
    observed = set().union(*(counts(x, own, order, ngrams, tokens) for x, own in zip(X, y, strict=True)))

    def best(sentence, right):
        def score(path):
            found = sum(weight[f] * times for f, times in counts(sentence, path, order, ngrams, tokens).items())
            found -= margin * sum(a == b for a, b in zip(path, right, strict=True))
            return found + sum(ties[t % 61, labels.index(label)] for t, label in enumerate(path))

        return max(itertools.product(labels, repeat=len(sentence)), key=score)

    for epoch in range(epochs):
        shuffled = np.random.default_rng([seed, epoch]).permutation(len(X))
        for at in range(0, len(X), batch):
            some = [(s, best(X[s], y[s])) for s in shuffled[at : at + batch]]
            for s, guess in some:
                for path, sign in ((y[s], 1), (guess, -1)):
                    for f, times in counts(X[s], path, order, ngrams, tokens).items():
                        if pairs == "touched" or f in observed:
                            weight[f] += sign * times / batch
            for _ in some:
                n += 1
                for f, w in weight.items():
                    total[f] += w
    average = {f: w / n for f, w in total.items()}

    def expected(sentence, path):
        return sum(average.get(f, 0) * c for f, c in counts(sentence, path, order, ngrams, tokens).items())

    return same_scores(model, X, expected)


class Sentence:
    """All labellings of a sentence and their features, as a matrix."""

    def __init__(self, sentence, known, labels, number):
        self.paths = list(itertools.product(labels, repeat=len(sentence)))
        self.features = np.zeros((len(self.paths), len(number)))
        for row, path in zip(self.features, self.paths, strict=True):
            for f, times in counts(sentence, path).items():
                row[number[f]] += times
        may = [labels if own is None else [own] if isinstance(own, str) else own for own in known]
        self.right = np.array([all(label in own for label, own in zip(path, may, strict=True)) for path in self.paths])

    def loss(self, w):
        """log Z less that of the right labellings, and its gradient."""
        scores = self.features @ w
        z, right = logsumexp(scores), logsumexp(scores[self.right])
        expected = np.exp(scores - z) @ self.features
        observed = np.exp(scores[self.right] - right) @ self.features[self.right]
        return z - right, expected - observed


def all_features(X, labels):
    words = sorted({word for sentence in X for word in sentence})
    names = [(f"U0:{word}", label) for word in words for label in labels]
    names += [("UV", label) for label in labels] + list(itertools.product(labels, labels))
    return {name: n for n, name in enumerate(names)}


def batch_crf(draw):
    """L-BFGS must end where SciPy finds nothing better; without partial labels there is one such place."""
    partial = draw.chance(0.5)
    X, y = corpus(draw, partial)
    l2, weighted = draw.choice((0.03, 0.3, 1.0)), draw.chance(0.5)
    sample_weight = [draw.choice((0.5, 1.0, 3.0)) for _ in X] if weighted else None
    draw.note("options", (l2, sample_weight))
    solver = tw.LBFGS(l2=l2, tolerance=1e-10, pairs="all")
    learner = tw.CRF(UNIGRAMS + BIGRAMS, solver=solver, threads=draw.choice((1, 2)))
    learner.fit(X, y, sample_weight=sample_weight)
    labels = learner.model_.labels
    number = all_features(X, labels)
    sentences = [Sentence(*pair, labels, number) for pair in zip(X, y, strict=True)]
    shares = sample_weight or [1.0] * len(X)

    def objective(w):
        parts = [(share, sentence.loss(w)) for share, sentence in zip(shares, sentences, strict=True)]
        value = sum(share * loss for share, (loss, _) in parts) + l2 * w @ w
        return value, sum(share * gradient for share, (_, gradient) in parts) + 2 * l2 * w

    nodes, edges, _ = weights_of(learner.model_)
    own = np.zeros(len(number))
    for name, w in {**nodes, **edges}.items():
        own[number[name]] = w
    value, gradient = objective(own)
    assert abs(learner.objective_ - value) <= 1e-4 * (1 + value), (learner.objective_, value)
    assert abs(gradient).max() <= 2e-2 * (1 + sum(shares)), gradient
    for start in [own] if partial else [own, np.zeros(len(own))]:
        better = minimize(objective, start, jac=True, method="L-BFGS-B", options={"ftol": 1e-14, "maxiter": 2000}).fun
        assert value <= better + 1e-3 * (1 + better), (value, better)
    return True


def online_crf(draw):
    """AdaGrad over all labellings, step by step; the model has the average of the weights from an epoch on."""
    X, y = corpus(draw)
    rate, l2, batch = draw.choice((0.1, 0.5, 1.0)), draw.choice((0.0, 0.1)), draw.choice((1, 2, 3, 8))
    margin, epochs, seed = draw.choice((0.0, 0.0, 1.5)), draw.randint(1, 3), draw.randrange(100)
    average_from = draw.randint(1, 4)
    draw.note("options", (rate, l2, batch, margin, epochs, seed, average_from))
    solver = tw.AdaGrad(rate=rate, l2=l2, batch=batch, average_from=average_from)
    learner = tw.CRF(
        UNIGRAMS + BIGRAMS, solver=solver, pruning="exact", margin=margin, epochs=epochs, seed=seed,
        threads=draw.choice((1, 2)),
    ).fit(X, y)  # fmt: skip
    labels = learner.model_.labels
    names = list(all_features(X, labels))
    number = {name: n for n, name in enumerate(names)}
    sentences = [Sentence(*pair, labels, number) for pair in zip(X, y, strict=True)]
    weight, squares, late = np.zeros(len(names)), np.zeros(len(names)), np.zeros(len(names))
    known = {number[f] for x, own in zip(X, y, strict=True) for f in counts(x, own)}
    seen = 0
    for epoch in range(epochs):
        if epoch + 1 == average_from:
            late[:], seen = 0, 0
        order = np.random.default_rng([seed, epoch]).permutation(len(X))
        for at in range(0, len(X), batch):
            some = order[at : at + batch]
            steps = []
            for s in some:
                made = gradients(X[s], y[s], labels, number, sentences[s], weight, margin)
                if any(min(abs(abs(g) - STEP_FROM), abs(abs(g) - NEW_FROM)) < 1e-4 for _, g in made):
                    return False  # rounding decides whether there is a step
                steps += [(f, g) for f, g in made if abs(g) >= STEP_FROM]
            for f, g in steps:
                if abs(g) >= NEW_FROM:
                    known.add(f)
                if f in known:
                    squares[f] += g * g
                    by = -rate * g / math.sqrt(1 + squares[f])
                    weight[f] += by
                    late[f] += seen * by
            seen += len(some)
        for f in known:
            by = weight[f] / (1 + 2 * l2 * rate / math.sqrt(1 + squares[f])) - weight[f]
            weight[f] += by
            late[f] += seen * by
    average = weight - late / seen

    def expected(sentence, path):
        return sum(average[number[f]] * times for f, times in counts(sentence, path).items())

    return same_scores(learner.model_, X, expected)


def gradients(sentence, right, labels, number, every, weight, margin):
    """Expected less observed counts of labels of tokens, for each feature of these, and of pairs, in their order."""
    correct = np.array([sum(a == b for a, b in zip(path, right, strict=True)) for path in every.paths])
    scores = every.features @ weight - margin * correct
    share = np.exp(scores - logsumexp(scores))
    made = []
    for t, label in itertools.product(range(len(sentence)), labels):
        g = sum(p for p, path in zip(share, every.paths, strict=True) if path[t] == label) - (right[t] == label)
        made += [(number[f"U0:{sentence[t]}", label], g), (number["UV", label], g)]
    for t, i, j in itertools.product(range(1, len(sentence)), labels, labels):
        g = sum(p for p, path in zip(share, every.paths, strict=True) if path[t - 1 : t + 1] == (i, j))
        made.append((number[i, j], g - ((right[t - 1], right[t]) == (i, j))))
    return made


def hmm(draw):
    """Counted transitions, interpolated with the frequency of labels, and counted emissions."""
    X, y = corpus(draw)
    model = tw.HMM().fit(X, y).model_
    pairs, single, emitted = Counter(), Counter(), Counter()
    for words, labels in zip(X, y, strict=True):
        around = ["|", *labels, "|"]
        pairs.update(itertools.pairwise(around))
        single.update(around[:-1])
        emitted.update(zip(words, labels, strict=True))
    n, votes = sum(single.values()), [0.0, 0.0]
    for (i, j), times in pairs.items():
        bigram = (times - 1) / (single[i] - 1) if single[i] > 1 else 0.0
        unigram = (single[j] - 1) / (n - 1)
        if abs(bigram - unigram) < 1e-12:
            return False  # both are as good
        votes[bigram < unigram] += times
    b = min(max(votes[1] / sum(votes), 1e-3), 1 - 1e-3)  # no transition is impossible
    a = 1 - b

    def expected(sentence, path):
        around, score = ["|", *path, "|"], 0.0
        for word, label in zip(sentence, path, strict=True):
            if not emitted[word, label]:
                return -np.inf
            score += math.log(emitted[word, label] / single[label])
        for i, j in itertools.pairwise(around):
            score += math.log(a * pairs[i, j] / single[i] + b * single[j] / n)
        return score

    return same_scores(model, X, expected)
