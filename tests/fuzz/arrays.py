"""Scores in every form: what is accepted must get the answer that plain NumPy finds, the rest is refused."""

import itertools

import numpy as np
from support import brute_force, lattices, max_sums, sums
from support.brute_force import Case, tolerance

import tagwright as tw
from tests.fuzz.scores import FORMS, bad, numbers, plain, poked

EXPECTED = (ValueError, TypeError)
DECODERS = [row.name for row in tw.decoders()] + ["beam:3", "astar:2", "astar:none", "staggered:all", "viterbi"]
COUNTS = (1, 1, 1, 2, 3, 5, 9, np.int64(2), 0, -1, 2**31, 10**30, True, 1.0, "2", None, np.nan)
SWITCHES = ([[0]], [[-1]] * 9, [[2**40]], [["a"]], 5, [[0.5]], [[True]], [[]] * 3, [None])
RULES = (None, None, ("KeepSize", 2), ("KeepRatio", 0.1), ("KeepDivergence", 0.01, 2))


def attempt(draw):
    rng = draw.numpy
    if draw.chance(0.15):
        return with_patterns(draw)
    if draw.chance(0.9):
        T, L = lattices.draw_shape(rng, draw.choice((2, 5, 9)))
        kinds = draw.choice(lattices.FORMS), draw.choice(lattices.SCORES), draw.choice(lattices.PATTERNS)
        case = lattices.draw_case(rng, *kinds, T, L)
    else:
        T, L = draw.randint(1, 7), draw.choice((33, 65, 130, 300))
        kinds = draw.choice(max_sums.FORMS), draw.choice(("peaked", "peaked whole", "even"))
        case = max_sums.draw_case(rng, *kinds, T, L)
    draw.note("case", (kinds, case))
    if draw.chance(0.6):
        nodes, truth = draw.choice(FORMS)(case.nodes), case
    elif draw.chance(0.5):
        nodes, truth = poked_nodes(draw, case)
    else:
        nodes, truth = case.nodes, poked_edges(draw, case)
    draw.note("nodes", nodes)
    if truth.steps is None or draw.chance(0.2):
        ask(draw, truth, nodes)
        return False
    answer(draw, truth, nodes)
    return True


def with_patterns(draw):
    """Compare an answer for edges with ngrams with every labelling; or ask for ngrams that are none."""
    rng = draw.numpy
    T, L = lattices.draw_shape(rng, 6)
    kinds = draw.choice(lattices.FORMS), draw.choice(lattices.SCORES), draw.choice(lattices.PATTERNS)
    case = lattices.draw_case(rng, *kinds, T, L, lattices.draw_patterns(rng, kinds[1], L))
    draw.note("case", (kinds, case))
    if draw.chance(0.2):
        runs = np.array([[*run, -1][:4] for run in case.ngrams], np.int32)
        given = numbers(draw, runs.ravel(), L) if draw.chance(0.3) else poked(draw, runs)
        draw.note("runs", given)
        tw.Edges(np.zeros((L, L)), ngrams=(given, poked(draw, np.array(list(case.ngrams.values())))))
        return False
    nodes, on = draw.choice(FORMS)(case.nodes), case.active
    truth = brute_force.all_paths(case)
    if draw.chance(0.3):
        try:
            found = tw.marginals(nodes, case.edges, with_edges=draw.chance(0.5), active=on)
        except ValueError as error:
            if truth and kinds[1] != "mixed":
                raise AssertionError("there is a path") from error
            return True
        assert truth, "sums where there is no path"
        right = sums.enumerated(case)
        if kinds[1] != "mixed":
            assert abs(found.log_z - right.log_z) <= 1e-9 * (1 + abs(right.log_z))
            assert abs(found.nodes - right.nodes).max(initial=0) <= 1e-6
            assert found.edges is None or abs(found.edges - right.edges).max(initial=0) <= 1e-6
        return True
    row = draw.choice([row for row in tw.decoders() if row.ngrams])
    k = draw.choice((1, 1, 2, 5, 30)) if row.kbest else 1
    deadline = draw.choice((0, 1e-6, 100)) if row.deadline and draw.chance(0.5) else None
    draw.note("asked", (row.name, k, deadline))
    try:
        found = tw.decode(nodes, case.edges, k, row.name, active=on, deadline=deadline)
    except ValueError as error:
        if truth and "lost" not in str(error):
            raise AssertionError("there is a path") from error
        return True
    assert truth, "an answer where there is no path"
    for path in found.paths:
        right = brute_force.score(case, path.labels.tolist())
        assert abs(path.score - right) <= 1e-6 * tolerance(case, path.labels) + 1e-12 * abs(right)
    near = tolerance(case, found.paths[0].labels)
    if found.exact:
        assert len(found.paths) == min(k, len(truth))
        for path, (right, labels) in zip(found.paths, truth, strict=False):
            assert abs(path.score - right) <= tolerance(case, labels)
    elif row.exact:
        assert truth[0][0] - found.gap - near <= found.paths[0].score <= truth[0][0] + near
    return True


def poked_nodes(draw, case):
    """Nodes of which some are bad, and the lattice that they make, with no steps where that is not known."""
    nodes = poked(draw, case.nodes)
    if not plain(nodes, case.nodes.shape):
        return nodes, case._replace(steps=None)
    if bad(nodes):
        with_bad(lambda: tw.decode(nodes, case.edges, active=case.active))
    return nodes, case._replace(nodes=nodes.astype(float))


def with_bad(request):
    """Ask for what must be refused."""
    request()
    raise AssertionError("scores that are NaN, +inf or too large were accepted")


def poked_edges(draw, case):
    """The lattice with other edges, of which some are bad; with no steps where its truth is not known."""
    T, L = case.nodes.shape
    matrix = poked(draw, case.steps if draw.chance(0.4) else np.resize(case.steps, (L, L)))
    ends = {name: poked(draw, getattr(case, name)) for name in ("start", "stop") if draw.chance(0.3)}
    more = {}
    if draw.chance(0.3):
        more["order"] = numbers(draw, draw.numpy.permutation(L), L)
    if draw.chance(0.3):
        size = draw.randrange(6)
        sets = [numbers(draw, draw.numpy.integers(0, top, size), top) for top in (3, L, L)]
        more["corrections"] = draw.choice(((*sets, draw.numpy.normal(size=size)), sets, 5, [*sets, [np.nan] * size]))
    draw.note("edges", (matrix, ends, more))
    if draw.chance(0.3):
        i, j = np.nonzero(np.resize(case.steps, (L, L)) > 0)
        size = draw.choice((L, L, 0, -1, 1, 70_000, 2**31 - 1, 1.5, 10**400))
        draw.large = size == 2**31 - 1
        default = draw.choice((0.0, -np.inf, np.nan, np.inf, 1, True, "0", None, 10**400, np.float32(1), 1e300))
        triples = numbers(draw, i, L), numbers(draw, j, L), poked(draw, np.zeros(len(i)))
        edges = tw.Edges.from_exceptions(*draw.note("exceptions", (size, default, *triples)), **ends, **more)
        return case._replace(edges=edges, steps=None)
    form = {"sparse": draw.choice((True, False, None, 1, "yes"))} if draw.chance(0.3) else {}
    known = not more and all(plain(given, (L,)) for given in ends.values())
    known = known and plain(matrix, (L, L), (max(T - 1, 0), L, L)) and matrix.size
    if known and any(map(bad, (matrix, *ends.values()))):
        with_bad(lambda: tw.decode(case.nodes, tw.Edges(matrix, **ends, **form)))  # steps are checked when decoded
    edges = tw.Edges(matrix, **ends, **more, **form)
    if not known:
        return case._replace(edges=edges, steps=None)
    steps = np.broadcast_to(matrix.astype(float), (max(T - 1, 0), L, L))
    start, stop = (np.asarray(ends.get(name, np.zeros(L)), dtype=float) for name in ("start", "stop"))
    return Case(case.nodes, edges, None, steps, start, stop)


def ask(draw, case, nodes):
    """Ask for something with arguments of which some are odd."""
    on, edges = case.active, case.edges
    if draw.chance(0.2):
        on = draw.choice(SWITCHES)
    request = {
        "k": draw.choice(COUNTS),
        "decoder": draw.choice((*DECODERS, "beam:0", "tree:", "", None, 7, "beam:9999999999", tw.Beam(2), tw.Beam)),
        "active": on,
    }
    if draw.chance(0.5):
        request["deadline"] = draw.choice((0, 1e-9, 1.0, np.inf, -1, np.nan, "1", None, True, 10**400))
    draw.note("asked", request)
    match draw.randrange(5):
        case 0:
            tw.decode(nodes, edges, **request)
        case 1:
            request["active"] = draw.choice((None, [on] * 2, [on], on))
            several = draw.choice(([nodes] * 2, (nodes, nodes), iter([nodes, nodes]), np.zeros((2, 3, 4)), 5, []))
            many = draw.choice((edges, [edges] * 2, [edges], []))
            tw.decode_batch(several, many, threads=draw.choice(COUNTS), **request)
        case 2:
            keep = draw.choice((None, tw.KeepSize(2), tw.KeepRatio(0.5), tw.KeepDivergence(0.1), "size:2", 3))
            tw.marginals(nodes, edges, keep, with_edges=draw.chance(0.5), active=on)
        case 3:
            tw.score(nodes, edges, numbers(draw, [0] * len(case.nodes), case.nodes.shape[1]), active=on)
        case _:
            tuple(itertools.islice(tw.paths(nodes, edges, request["decoder"], active=on), 30))


def answer(draw, case, nodes):
    """Compare one of the answers with NumPy's."""
    if draw.chance(0.3):
        return compare_sums(draw, case, nodes)
    edges, on, T = case.edges, case.active, len(case.nodes)
    name = draw.choice(DECODERS)
    row = next(row for row in tw.decoders() if row.name == name.partition(":")[0])
    k = draw.choice((1, 1, 2, 5, 30)) if row.kbest else 1
    deadline = draw.choice((0, 1e-6, 100)) if row.deadline and draw.chance(0.5) else None
    draw.note("asked", (name, k, deadline))
    truth = max_sums.best_scores(case, k) if T else np.zeros(1)
    try:
        if draw.chance(0.5):
            found = tw.decode(nodes, edges, k, name, active=on, deadline=deadline)
        else:
            own, sets = [edges] * 3 if draw.chance(0.3) else edges, None if on is None else [on] * 3
            options = {"threads": draw.choice((1, 2, 3)), "active": sets, "deadline": deadline}
            *_, found = tw.decode_batch([nodes] * 3, own, k, name, **options)
    except ValueError as error:
        if len(truth) and "lost" not in str(error):
            raise AssertionError("there is a path") from error
        return
    assert len(truth), "an answer where there is no path"
    scores = np.array([path.score for path in found.paths])
    near = np.array([1e-6 * tolerance(case, path.labels) for path in found.paths])
    for path, slack in zip(found.paths, near, strict=True):
        assert path.labels.shape == (T,)
        assert abs(path.score - (max_sums.along(case, path.labels).sum() if T else 0.0)) <= slack
    assert len({path.labels.tobytes() for path in found.paths}) == len(found.paths)
    assert (np.diff(scores) <= 0).all()
    if row.maximises != "score":
        assert found.exact
        share = sums.exact(case).nodes
        expected, usual = (share[range(T), own].sum() for own in (found.paths[0].labels, share.argmax(axis=1)))
        assert expected <= usual + 1e-9
    elif found.exact:
        assert row.exact
        assert len(scores) == len(truth)
        assert (abs(scores - truth) <= near).all(), (scores, truth)
    else:
        assert not row.exact or deadline is not None
        assert truth[0] - found.gap - near[0] <= scores[0] <= truth[0] + near[0]


def compare_sums(draw, case, nodes):
    rule = draw.note("rule", draw.choice(RULES))
    right = sums.sparse(case, rule) if rule else sums.exact(case)
    keep = rule and getattr(tw, rule[0])(*rule[1:])
    try:
        found = tw.marginals(nodes, case.edges, keep, with_edges=draw.chance(0.5), active=case.active)
    except ValueError as error:
        if right is not None and not right.close:
            raise AssertionError("there is a path") from error
        return
    if right is None:
        assert rule, "sums where there is no path"
        return  # rounding may have decided what was kept
    sizes = (abs(part[np.isfinite(part)]).max(initial=0) for part in (case.nodes, case.steps, case.start, case.stop))
    near = 1e-9 + 1e-15 * sum(sizes) * (1 + len(case.nodes))
    if right.close or near > 0.1:
        return
    assert abs(found.log_z - right.log_z) <= near * (1 + abs(right.log_z))
    assert abs(found.nodes - right.nodes).max(initial=0) <= 10 * near
    assert (found.kept == right.kept).all()
    assert found.edges is None or abs(found.edges - right.edges).max(initial=0) <= 10 * near
