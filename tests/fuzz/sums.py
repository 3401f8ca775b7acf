"""Sums over all labellings, samples of them, and bounds that are promised, by enumeration."""

from collections import Counter, defaultdict

import numpy as np
import scipy.stats

import tagwright as tw
from tests.fuzz.enumeration import FORMS, KINDS, SHAPES, Family, Truth, score_of

EXPECTED = ()
UNLIKELY = 1e-9
"""The probability below which frequencies of samples are wrong."""


def attempt(draw):
    T, L = draw.choice([(T, L) for T, L in SHAPES if L**T <= 2500])
    kind = draw.choice(KINDS)
    if draw.chance(0.2):
        form = draw.choice([form for form in FORMS if form != "steps"])
        return batch(draw, Family(draw, L, kind, form, ngrams=L <= 9 and draw.chance(0.2)))
    ngrams = L <= 9 and draw.chance(0.3)
    problem = Family(draw, L, kind, ngrams=ngrams).problem(T)
    truth = Truth(problem)
    draw.note("problem", problem)
    view = draw.note("view", draw.choice(VIEWS[: 5 if ngrams else None]))
    try:
        view(draw, problem, truth)
    except ValueError as error:
        return refused(error, [truth])
    assert len(truth), "sums where there is no path"
    return True


def rounding(problem):
    """How far sums of logarithms may be off: by the rounding of the largest scores."""
    parts = problem.columns, problem.steps, problem.start, problem.stop, np.array([0.0, *problem.ngrams.values()])
    largest = max(abs(part[np.isfinite(part)]).max(initial=0) for part in parts)
    return 1e-9 + 1e-15 * largest * (2 * len(problem.columns) + 2)


def expected(truth):
    """Probabilities of labels (T, L) and of edges (T-1, L, L)."""
    T, L, share = truth.T, truth.L, truth.probabilities()
    nodes, edges = np.zeros((T, L)), np.zeros((max(T - 1, 0), L, L))
    for t in range(T):
        np.add.at(nodes[t], truth.labels[:, t], share)
    for t in range(T - 1):
        np.add.at(edges[t], (truth.labels[:, t], truth.labels[:, t + 1]), share)
    return nodes, edges


def log_z(truth):
    return truth.scores[0] + np.log(np.exp(truth.scores - truth.scores[0]).sum())


def marginals(draw, problem, truth):
    with_edges = draw.chance(0.5)
    found = tw.marginals(problem.nodes, problem.edges, with_edges=with_edges, **problem.limits())
    if len(truth):
        compare(problem, truth, found)
        assert (found.edges is None) != with_edges


def compare(problem, truth, found):
    near, T = rounding(problem), truth.T
    assert abs(found.log_z - log_z(truth)) <= near * (1 + abs(truth.scores[0]) * 1e-3), (found.log_z, log_z(truth))
    assert np.isfinite(found.nodes).all()
    assert (abs(found.nodes.sum(axis=1) - 1) <= 1e-6).all()
    if found.edges is not None and T > 1:
        assert (abs(found.edges.sum(axis=(1, 2)) - 1) <= 1e-6).all()
    if near > 1e-4:
        return  # rounding decides
    nodes, edges = expected(truth)
    assert abs(found.nodes - nodes).max(initial=0) <= 10 * near
    assert found.edges is None or abs(found.edges - edges).max(initial=0) <= 10 * near
    share = truth.probabilities()
    entropy = -(share * np.log(np.maximum(share, 1e-300))).sum()
    assert abs(found.entropy - entropy) <= 100 * near * (1 + entropy), (found.entropy, entropy)


def spans(draw, problem, truth):
    if not {name[0] for name in problem.labels} & {*"BISU"}:
        return marginals(draw, problem, truth)  # not labels of spans
    k = draw.choice((None, None, 1, 3, 50, 100_000))
    found = tw.spans(problem.nodes, problem.edges, problem.labels, k, **problem.limits())
    if not len(truth):
        return None
    near = 10 * rounding(problem)
    if near > 1e-3:
        return None
    right = defaultdict(float)
    for labels, share in zip(truth.labels, truth.probabilities(), strict=True):
        for span in read_spans([problem.labels[y] for y in labels]):
            right[span] += share
    for span in found:
        assert abs(span.probability - right[span.label, span.start, span.end]) <= near, span
    if k is None:
        clear = len(truth) == 1 or truth.scores[0] - truth.scores[1] > 1e-6 * truth.sizes[:2].max()
        best = read_spans([problem.labels[y] for y in truth.labels[0]])
        assert not clear or [(span.label, span.start, span.end) for span in found] == best
        return None
    assert len({span[:3] for span in found}) == len(found) <= k
    shares = [span.probability for span in found]
    assert shares == sorted(shares, reverse=True)
    most = sorted(right.values(), reverse=True)[:k]
    shares += [0.0] * (len(most) - len(shares))  # those of probability 0 may be left out
    assert np.allclose(shares[: len(most)], most, rtol=0, atol=near)
    return None


def read_spans(labels):
    """Spans as (type, first, behind the last): B, I and M are followed by I, M, E or L of the same type."""
    made = []
    for t, label in enumerate(labels):
        prefix, _, kind = label.partition("-")
        if prefix == "O":
            continue
        before = labels[t - 1].partition("-") if t else ("O", "", "")
        if before[0] in "BIM" and before[2] == kind and prefix in "IMEL":
            made[-1] = (kind, made[-1][1], t + 1)
        else:
            made.append((kind, t, t + 1))
    return made


def samples(draw, problem, truth):
    n, seed = draw.choice((1, 200, 3000)), draw.randrange(2**32)
    found = tw.sample(problem.nodes, problem.edges, n, seed, **problem.limits())
    if not len(truth):
        return
    assert found.shape == (n, truth.T)
    fewer = draw.randint(1, n)
    assert (tw.sample(problem.nodes, problem.edges, fewer, seed, **problem.limits()) == found[:fewer]).all()
    number = {tuple(labels): at for at, labels in enumerate(truth.labels.tolist())}
    drawn = Counter(map(tuple, found.tolist()))
    assert drawn.keys() <= number.keys(), "a forbidden path was drawn"
    if rounding(problem) > 1e-6:
        return
    wanted, got = n * truth.probabilities(), np.zeros(len(truth))
    for labels, times in drawn.items():
        got[number[labels]] = times
    # Paths that are seldom drawn are counted as one.
    often = wanted >= 5
    wanted = np.append(wanted[often], wanted[~often].sum())
    got = np.append(got[often], got[~often].sum())
    if wanted[-1] < 5:
        assert got[-1] <= 60
        wanted, got = wanted[:-1], got[:-1]
    if len(wanted) > 1:
        wanted *= got.sum() / wanted.sum()
        assert scipy.stats.chisquare(got, wanted).pvalue >= UNLIKELY, (got, wanted)


def posterior(draw, problem, truth):
    """The path with the most expected right tokens."""
    found = tw.decode(problem.nodes, problem.edges, 1, "posterior", **problem.limits())
    if not len(truth):
        return
    (path,) = found.paths
    score, size = score_of(problem, path.labels)
    assert score > -np.inf
    assert abs(path.score - score) <= 1e-12 * size
    if rounding(problem) <= 1e-4:
        nodes, at = expected(truth)[0], np.arange(truth.T)
        most = nodes[at, truth.labels].sum(axis=1).max()
        assert nodes[at, path.labels].sum() >= most - 100 * rounding(problem) * (1 + truth.T)


def deadline(draw, problem, truth):
    decoder, seconds = draw.choice(("auto", "tree")), draw.choice((0, 1e-6, 1e-5, 1e-4, 100))
    k = draw.choice((1, 1, 3))
    found = tw.decode(problem.nodes, problem.edges, k, decoder, deadline=seconds, **problem.limits())
    if not len(truth):
        return
    score, size = score_of(problem, found.paths[0].labels)
    assert abs(found.paths[0].score - score) <= 1e-12 * size
    assert found.gap >= 0
    assert found.exact or len(found.paths) == 1
    near = 1e-6 * max(size, truth.sizes[0])
    assert truth.scores[0] - found.gap - near <= score <= truth.scores[0] + near, (score, found.gap, truth.scores[0])
    if found.exact:
        assert len(found.paths) == min(k, len(truth))


def pruned(draw, problem, truth):
    """A pruning rule leaves labels out: the rest has no more than the whole sum, and at least one path."""
    rule = draw.choice(
        (tw.KeepSize(1), tw.KeepSize(3), tw.KeepRatio(0.2), tw.KeepDivergence(0.1), tw.KeepDivergence(1e-9, 2))
    )
    draw.note("rule", rule)
    try:
        found = tw.marginals(problem.nodes, problem.edges, rule, with_edges=draw.chance(0.3), **problem.limits())
    except ValueError:
        if len(truth):
            return  # the labels that it kept may have no path
        raise
    if not len(truth):
        return
    assert (found.kept >= 1).all()
    assert (found.kept <= truth.L).all()
    assert (abs(found.nodes.sum(axis=1) - 1) <= 1e-6).all()
    assert ((found.nodes > 0).sum(axis=1) <= found.kept).all()
    near = rounding(problem) * (1 + abs(truth.scores[0]) * 1e-3)
    assert found.log_z <= log_z(truth) + near
    if near <= 1e-4 and truth.T:
        # Whatever is kept is among the paths: its sum is that of the paths over labels with a probability.
        on = found.nodes > 0
        inside = on[np.arange(truth.T), truth.labels].all(axis=1)
        some = truth.scores[inside]
        assert len(some)
        again = some.max() + np.log(np.exp(some - some.max()).sum())
        assert again <= found.log_z + near


VIEWS = (marginals, marginals, samples, deadline, pruned, spans, posterior)  # the last two know no n-grams


def batch(draw, family):
    """Sums of several sentences, and their gradients."""
    lengths = [draw.choice([T for T, L in SHAPES if family.L == L and L**T <= 2500]) for _ in range(draw.randrange(5))]
    padded = draw.chance(0.5) and not family.sets and not family.ngrams
    problems = [family.problem(T, with_lists=not padded) for T in lengths]
    draw.note("problems", problems)
    truths = [Truth(problem) for problem in problems]
    threads = draw.choice((1, 2, 3))
    try:
        if padded:
            gradients(draw, family, problems, truths, threads)
        else:
            lists = [problem.allowed for problem in problems]
            found = tw.marginals_batch(
                [problem.nodes for problem in problems], family.edges, threads=threads, constraints=family.constraints,
                active=[problem.active for problem in problems] if family.sets else None,
                allowed=lists if any(lists) else None,
            )  # fmt: skip
            for problem, truth, own in zip(problems, truths, found, strict=True):
                assert len(truth)
                compare(problem, truth, own)
    except ValueError as error:
        return refused(error, truths)
    return True


def refused(error, truths):
    """Only sentences without a path may be refused."""
    assert not all(map(len, truths)), f"there is a path, but: {error}"
    assert "no path" in str(error), error
    return True


def gradients(draw, family, problems, truths, threads):
    """A padded batch: log-likelihoods of labels and their derivatives."""
    sizes = np.array([len(problem.nodes) for problem in problems], int)
    B, width, L = len(sizes), int(sizes.max(initial=0)), family.L
    nodes = np.zeros((B, width, L), "f8")
    labels = np.zeros((B, width), int)
    for row, tags, problem, truth in zip(nodes, labels, problems, truths, strict=True):
        row[: len(problem.nodes)] = problem.nodes
        if len(truth):
            tags[: truth.T] = truth.labels[draw.randrange(len(truth))]
    options = {"threads": threads, "constraints": family.constraints, "lengths": sizes, "edge_counts": "sum"}
    known = draw.chance(0.6)
    found = tw.marginals_batch(nodes, family.edges, labels=labels if known else None, **options)
    assert all(map(len, truths)), "sums where there is no path"
    counts, near = np.zeros((L, L)), max(map(rounding, problems), default=0)
    for s, (problem, truth) in enumerate(zip(problems, truths, strict=True)):
        T, limit = truth.T, near * (1 + abs(truth.scores[0]) * 1e-3)
        assert abs(found.log_z[s] - log_z(truth)) <= limit
        assert (found.nodes[s, T:] == 0).all()
        right, edges = expected(truth)
        if known:
            score = score_of(problem, labels[s, :T])[0]
            assert abs(found.log_likelihood[s] - (score - log_z(truth))) <= 2 * limit
            right = -right
            right[np.arange(T), labels[s, :T]] += 1
            edges = -edges
            for t in range(1, T):
                edges[t - 1, labels[s, t - 1], labels[s, t]] += 1
        counts += edges.sum(axis=0)
        assert near > 1e-4 or abs(found.nodes[s, :T] - right).max(initial=0) <= 10 * near
    assert near > 1e-4 or abs(found.edge_counts - counts).max(initial=0) <= 100 * near
