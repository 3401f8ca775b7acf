"""Decoders under constraints, rules, allowed labels, n-grams and token-dependent edges, in batches, by enumeration."""

import itertools

import numpy as np
from support.checks import DECODERS

import tagwright as tw
from tagwright.decoding.decode import Decoding, Path
from tagwright.decoding.decoders import plan
from tests.fuzz.enumeration import FORMS, KINDS, SHAPES, Family, Truth, score_of

EXPECTED = ()
COUNTS = (1, 1, 1, 2, 3, 5, 17, 300, 100_000)
BEAMS = ("beam:1", "beam:2", "beam:64")


def attempt(draw):
    T, L = draw.choice(SHAPES)
    ngrams = L <= 9 and draw.chance(0.3)
    kind = draw.choice(KINDS)
    decoder = draw.choice(BEAMS if draw.chance(0.1) else [d for d in DECODERS if plan(d).row.ngrams or not ngrams])
    k = draw.choice(COUNTS) if plan(decoder).row.kbest else 1
    if L**T > 2000:
        k = min(k, 300)
    rules = draw.chance(0.3)
    draw.note("decoder, k, rules", (decoder, k, rules))
    if draw.chance(0.5):
        return one(draw, Family(draw, L, kind, ngrams=ngrams, rules=rules).problem(T), decoder, k)
    padded = draw.chance(0.4)
    form = draw.choice([form for form in FORMS if form != "steps" and not (padded and "sets" in form)])
    return (arrays if padded else batch)(draw, Family(draw, L, kind, form, ngrams, rules), decoder, k)


def lengths(draw, L):
    """The lengths of a few sentences that can be enumerated."""
    return [draw.choice([T for T, own in SHAPES if own == L]) for _ in range(draw.randint(0, 6))]


def one(draw, problem, decoder, k):
    truth = Truth(problem)
    draw.note("problem", problem)
    if draw.chance(0.2) and plan(decoder).row.kbest and plan(decoder).row.exact:
        return iterated(draw, problem, truth, decoder)
    try:
        found = tw.decode(problem.nodes, problem.edges, k, decoder, **problem.limits())
    except ValueError as error:
        return refused(error, decoder, [truth])
    check(problem, truth, found, decoder, k)
    best = found.paths[0]
    if problem.constraints is None and problem.allowed is None:
        again = tw.score(problem.nodes, problem.edges, best.labels, active=problem.active)
        assert again == best.score
    return True


def iterated(draw, problem, truth, decoder):
    """All paths, one after the other."""
    many = draw.choice((1, 9, 40, 200))
    given = problem.nodes, problem.edges, decoder
    try:
        found = list(itertools.islice(tw.paths(*given, **problem.limits()), many))
    except ValueError as error:
        return refused(error, decoder, [truth])
    assert len(found) == min(many, len(truth))
    scores = np.sort([path.score for path in found])[::-1]  # within their rounding, any may come first
    assert truth.are_best(scores, 1e-6 * np.array([score_of(problem, path.labels)[1] for path in found]))
    assert len({path.labels.tobytes() for path in found}) == len(found)
    return True


def batch(draw, family, decoder, k):
    """Sentences of a list, with edges of their own or common ones; the answers do not depend on threads."""
    problems = [family.problem(T) for T in lengths(draw, family.L)]
    draw.note("problems", problems)
    truths = [Truth(problem) for problem in problems]
    edges = family.edges if draw.chance(0.7) else [problem.edges for problem in problems]
    lists = [problem.allowed for problem in problems]
    options = {
        "threads": draw.choice((1, 2, 3)),
        "active": [problem.active for problem in problems] if family.sets else None,
        "constraints": family.constraints,
        "allowed": lists if any(lists) or draw.chance(0.2) else None,
    }
    nodes = [problem.nodes for problem in problems]
    try:
        found = tw.decode_batch(nodes, edges, k, decoder, **options)
    except ValueError as error:
        return refused(error, decoder, truths)
    assert len(found) == len(problems)
    for problem, truth, own in zip(problems, truths, found, strict=True):
        check(problem, truth, own, decoder, k)
    return True


def arrays(draw, family, decoder, k):
    """A padded batch."""
    problems = [family.problem(T, with_lists=False) for T in lengths(draw, family.L)]
    draw.note("problems", problems)
    truths = [Truth(problem) for problem in problems]
    sizes = np.array([len(problem.nodes) for problem in problems], int)
    width = int(sizes.max(initial=0)) + draw.randrange(2)
    dtype = draw.choice(("f4", "f8")) if all(problem.nodes.dtype == "f4" for problem in problems) else "f8"
    nodes = np.full((len(sizes), width, family.L), draw.choice((np.nan, np.inf, 0.0)), dtype)
    for row, problem in zip(nodes, problems, strict=True):
        row[: len(problem.nodes)] = problem.nodes
    padding = {"lengths": sizes} if draw.chance(0.5) else {"mask": np.arange(width) < sizes[:, None]}
    options = {"threads": draw.choice((1, 2)), "constraints": family.constraints, **padding}
    most = min(k, 300)
    try:
        found = tw.decode_arrays(nodes, family.edges, most, decoder, **options)
    except ValueError as error:
        return refused(error, decoder, truths)
    for s, (problem, truth) in enumerate(zip(problems, truths, strict=True)):
        count, T = int(found.counts[s]), int(sizes[s])
        assert (found.labels[s, :, T:] == -1).all()
        assert (found.labels[s, count:] == -1).all()
        paths = [Path(found.labels[s, n, :T], float(found.scores[s, n])) for n in range(count)]
        row = plan(decoder).row
        check(problem, truth, Decoding(paths, row.exact, None, 0.0 if row.exact else np.inf), decoder, most)
    return True


def refused(error, decoder, truths):
    """Only sentences without a path may be refused, and whatever a beam lost."""
    if all(map(len, truths)):
        assert not plan(decoder).row.exact, f"there is a path, but: {error}"
        assert "lost" in str(error), error
    else:
        assert "no path" in str(error) or "lost" in str(error), error
    return True


def check(problem, truth, found, decoder, k):
    """Distinct paths, best first, with their scores; the best ones where the decoder is exact."""
    exact = plan(decoder).row.exact
    assert len(truth), "an answer where there is no path"
    assert found.exact == exact
    assert (found.gap == 0) == exact
    assert 1 <= len(found.paths) <= k
    assert len({path.labels.tobytes() for path in found.paths}) == len(found.paths)
    scores = np.array([path.score for path in found.paths])
    assert (np.diff(scores) <= 0).all()
    right, sizes = np.transpose([score_of(problem, path.labels) for path in found.paths])
    whole = problem.kind == "ties"
    assert (abs(scores - right) <= (0 if whole else 1e-12 * sizes)).all(), (scores, right)
    assert scores[0] <= truth.scores[0] + 1e-6 * sizes[0]
    if not exact:
        return
    assert len(scores) == min(k, len(truth))
    if whole:
        assert (scores == truth.scores[: len(scores)]).all()
    assert truth.are_best(scores, 1e-6 * sizes), (scores, truth.scores[: len(scores)])
