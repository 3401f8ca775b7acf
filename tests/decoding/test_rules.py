"""Rules about whole labellings: every rule, decoder and form of lattice against the enumeration of all labellings."""

import itertools
import os

import numpy as np
import pytest
from support.brute_force import tolerance
from support.checks import DECODERS, gives_k, is_whole, knows_patterns
from support.labelling_rules import RULES, draw_ruled
from support.lattices import FORMS, PATTERNS, SCORES

import tagwright as tw

# Lattices of each rule and kind of score, with and without n-grams: TAGWRIGHT_LATTICES=1800 draws 56 * 360 = 20,160.
EACH = max(1, int(os.environ.get("TAGWRIGHT_LATTICES", "150")) // 5)
ABC = ["a", "b", "c"]


def check(ruled, decoder, k):
    """Compare a decoder with every labelling that satisfies the rules."""
    case = ruled.case
    if not ruled.truth:
        with pytest.raises(ValueError, match="no path"):
            tw.decode(case.nodes, case.edges, k, decoder, **ruled.limits)
        return
    found = tw.decode(case.nodes, case.edges, k, decoder, **ruled.limits)
    assert found.exact
    assert found.gap == 0
    best = ruled.truth[:k]
    assert len(found.paths) == len(best)
    labels = [tuple(path.labels.tolist()) for path in found.paths]
    assert len({*labels}) == len(labels)
    assert {*labels} <= {own for _, own in ruled.truth}
    for path, (score, own) in zip(found.paths, best, strict=True):
        assert abs(path.score - score) <= (0 if is_whole(ruled.limited) else tolerance(ruled.limited, own))


@pytest.mark.slow
@pytest.mark.parametrize("ngrams", [False, True])
@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("rule", RULES)
def test_sweep(rule, kind, ngrams):
    rng = np.random.default_rng([9, RULES.index(rule), SCORES.index(kind), ngrams])
    decoders = [decoder for decoder in DECODERS if knows_patterns(decoder) or not ngrams]
    for _ in range(EACH):
        form, pattern = str(rng.choice(FORMS)), str(rng.choice(PATTERNS))
        ruled = draw_ruled(rng, rule, form, kind, pattern, ngrams)
        k = int(rng.integers(1, 6))
        for decoder in rng.permutation(np.array(decoders, object))[:3]:
            check(ruled, decoder, k if gives_k(decoder) else 1)


# Beyond 512 labels, branch and bound takes the place of the search over counts.
@pytest.mark.parametrize("L", [300, 600])
@pytest.mark.parametrize(
    ("rule", "target", "least", "most"), [("once", 0, 0, 1), ("at_most", 0, 0, 2), ("at_least", 7, 1, 12)]
)
def test_a_sentence_that_is_longer_and_has_more_labels(rule, target, least, most, L):
    """Several violations at once, and columns of hundreds of labels; the truth is a search over states of the rule."""
    rng = np.random.default_rng([10, target, least, most])
    T = 12
    labels = [f"{part}|{name}" for part in "pq" for name in range(L // 2)]
    nodes, edges = rng.normal(size=(T, L)).astype("f4"), tw.Edges(rng.normal(size=(L, L)).astype("f4"))
    nodes[:, 0] += 2.5
    given = {"once": [labels[0]], "at_most": {labels[0]: 2}, "at_least": {labels[7]: 1}}[rule]
    constraints = tw.Constraints(labels, **{rule: given})
    best = counted(nodes.astype(float), edge_scores(edges, L), target, T)
    for decoder in ("auto", "viterbi", "tree"):
        found = tw.decode(nodes, edges, decoder=decoder, constraints=constraints)
        assert found.exact
        assert found.paths[0].score == pytest.approx(max(best[least : most + 1]), abs=1e-5)


def runs_of(own):
    """The labels of the maximal runs of a labelling."""
    return [y for t, y in enumerate(own) if t == 0 or own[t - 1] != y]


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["once", "at_most", "at_least", "accept", "two"])
def test_branch_and_bound_finds_the_k_best_of_all_labellings(rule):
    """Small lattices among 600 labels, all others being forbidden by their node scores."""
    rng = np.random.default_rng([11, len(rule), ord(rule[-1])])
    few, L = 4, 600
    labels = [str(y) for y in range(L)]
    options, satisfied = {
        "once": ({"once": True}, lambda own: len(runs_of(own)) == len({*own})),
        "at_most": ({"at_most": {"1": 1, "2": 0}}, lambda own: runs_of(own).count(1) <= 1 and 2 not in own),
        "at_least": ({"at_least": {"3": 2}}, lambda own: runs_of(own).count(3) >= 2),
        "accept": ({"accept": lambda own: own[0] != own[-1]}, lambda own: own[0] != own[-1]),
        "two": (
            {"at_most": {"0": 1}, "at_least": {"3": 1}},
            lambda own: runs_of(own).count(0) <= 1 and 3 in own,
        ),
    }[rule]
    constraints = tw.Constraints(labels, **options, limit=100_000)
    for _ in range(max(4, EACH)):
        T, k = int(rng.integers(2, 6)), int(rng.integers(1, 6))
        scores = rng.integers(-3, 4, size=(L, L)).astype("f4")
        nodes = np.full((T, L), -np.inf)
        nodes[:, :few] = rng.integers(-4, 5, size=(T, few))
        truth = sorted(
            (
                nodes[range(T), own].sum() + sum(scores[i, j] for i, j in itertools.pairwise(own))
                for own in itertools.product(range(few), repeat=T)
                if satisfied(own)
            ),
            reverse=True,
        )
        edges = tw.Edges(scores)
        for decoder in ("auto", "tree", "viterbi"):
            if not truth:
                with pytest.raises(ValueError, match="no path"):
                    tw.decode(nodes, edges, k, decoder, constraints=constraints)
                continue
            found = tw.decode(nodes, edges, k, decoder, constraints=constraints)
            own = [tuple(path.labels.tolist()) for path in found.paths]
            assert found.exact
            assert [path.score for path in found.paths] == truth[:k]
            assert len({*own}) == len(own)
            assert all(satisfied(labels) for labels in own)


def edge_scores(edges, L):
    given = [np.zeros((2, L)), edges._core, None]
    i, j = (own.ravel().astype(np.int32) for own in np.indices((L, L)))
    return np.asarray(tw._core.edge_scores(*given, np.zeros(L * L, np.int32), i, j)).reshape(L, L)


def counted(nodes, edges, target, T):
    """The best score for each number of runs of a label, by a search over (label, number of runs)."""
    L = nodes.shape[1]
    state = np.full((T + 1, L), -np.inf)
    state[0], state[1, target] = nodes[0], nodes[0, target]
    state[0, target] = -np.inf
    for t in range(1, T):
        after = np.full((T + 1, L), -np.inf)
        for n in range(T + 1):
            step = (state[n][:, None] + edges).max(0) + nodes[t]
            others = (np.delete(state[n], target)[:, None] + np.delete(edges, target, 0)).max(0) + nodes[t]
            keep = state[n, target] + edges[target, target] + nodes[t, target]
            step[target] = keep
            after[n] = np.maximum(after[n], step)
            if n < T:
                after[n + 1, target] = max(after[n + 1, target], others[target])
        state = after
    return state.max(1)


def spread(labels, T=6, scale=1.0, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(scale=scale, size=(T, len(labels))), tw.Edges(np.zeros((len(labels), len(labels))))


def test_shapes_at_the_edge():
    for T, L in itertools.product((0, 1, 2), (1, 2, 3)):
        labels = ABC[:L]
        nodes = np.arange(T * L, dtype=float).reshape(T, L)
        for rule in ({"once": True}, {"at_most": {"a": 1}}, {"accept": lambda _: True}, {"once": []}):
            found = tw.decode(nodes, np.zeros((L, L)), 100, constraints=tw.Constraints(labels, **rule))
            some = list(itertools.product(range(L), repeat=T))
            assert found.exact
            assert len(found.paths) == len(some)


def test_an_empty_sentence_has_the_empty_labelling():
    found = tw.decode(np.zeros((0, 3)), np.zeros((3, 3)), constraints=tw.Constraints(ABC, at_least={"a": 1}))
    assert found.paths[0].labels.tolist() == []


def test_rules_that_no_labelling_satisfies():
    nodes, edges = spread(ABC, 3)
    for rule, named in (
        ({"at_least": {"a": 4}}, "at least 4 runs of a"),
        ({"at_least": {"a": 2}, "at_most": {"b": 0, "c": 0}}, "at "),
        ({"accept": lambda _: False}, "accept"),
        ({"once": ["a"], "at_least": {"a": 2}}, "at "),
    ):
        with pytest.raises(ValueError, match=f"no path: rules about whole labellings.*{named}"):
            tw.decode(nodes, edges, constraints=tw.Constraints(ABC, **rule))
    with pytest.raises(ValueError, match="sentence 1: no path"):
        tw.decode_batch([nodes[:1], nodes], edges, constraints=tw.Constraints(ABC, accept=lambda own: len(own) < 2))


def test_minus_infinity_still_forbids():
    nodes = np.array([[1.0, -np.inf], [-np.inf, 0.0], [1.0, -np.inf]])
    with pytest.raises(ValueError, match="no path: rules"):
        tw.decode(nodes, np.zeros((2, 2)), constraints=tw.Constraints(ABC[:2], once=["a"]))
    nodes[1, 0] = -5.0
    found = tw.decode(nodes, np.zeros((2, 2)), constraints=tw.Constraints(ABC[:2], once=["a"]))
    assert found.paths[0].labels.tolist() == [0, 0, 0]


def test_the_limit_leaves_a_proven_gap():
    rng = np.random.default_rng(3)
    labels = [str(y) for y in range(6)]
    gaps = 0
    for _ in range(40):
        nodes, edges = rng.normal(size=(14, 6)), tw.Edges(rng.normal(size=(6, 6)))
        best = tw.decode(nodes, edges, constraints=tw.Constraints(labels, once=True, limit=100_000))
        assert best.exact
        early = tw.decode(nodes, edges, constraints=tw.Constraints(labels, once=True, limit=3))
        found = early.paths[0].labels.tolist()
        runs = [y for t, y in enumerate(found) if t == 0 or found[t - 1] != y]
        assert len(runs) == len({*runs})
        assert 0 <= best.paths[0].score - early.paths[0].score <= early.gap + 1e-9
        gaps += not early.exact
        if not early.exact:
            with pytest.raises(ValueError, match="not proven"):
                list(tw.paths(nodes, edges, constraints=tw.Constraints(labels, once=True, limit=3)))
            with pytest.raises(ValueError, match="raise limit"):
                tw.decode_arrays(nodes[None], edges, constraints=tw.Constraints(labels, once=True, limit=3))
    assert gaps > 20


def test_the_limit_of_a_predicate_is_named():
    nodes, edges = spread(ABC, 8)
    never = tw.Constraints(ABC, accept=lambda own: len(own) < 5, limit=50)
    with pytest.raises(ValueError, match="within 50 searches"):
        tw.decode(nodes, edges, constraints=never)


def test_a_long_sentence_with_many_violations_ends():
    rng = np.random.default_rng(4)
    labels = [str(y) for y in range(12)]
    nodes, edges = rng.normal(size=(400, 12)).astype("f4"), tw.Edges(rng.normal(size=(12, 12)).astype("f4"))
    found = tw.decode(nodes, edges, constraints=tw.Constraints(labels, once=True, limit=100))
    own = found.paths[0].labels.tolist()
    assert not found.exact
    assert 0 < found.gap < np.inf
    assert sum(t == 0 or own[t - 1] != y for t, y in enumerate(own)) == len({*own})
    free = tw.decode(nodes, edges).paths[0].score
    assert found.paths[0].score + found.gap <= free + 1e-9


@pytest.mark.parametrize("decoder", ["auto", "tree"])
def test_a_deadline_that_has_passed(decoder):
    rng = np.random.default_rng(5)
    labels = [str(y) for y in range(200)]
    nodes, edges = rng.normal(size=(12, 200)), tw.Edges(rng.normal(size=(200, 200)))
    nodes[::2, 0] += 6
    once = tw.Constraints(labels, once=labels[:1])
    best = tw.decode(nodes, edges, constraints=once).paths[0].score
    for k in (1, 3):
        early = tw.decode(nodes, edges, k, decoder, constraints=once, deadline=0)
        assert not early.exact
        assert runs_of(early.paths[0].labels.tolist()).count(0) <= 1
        assert 0 <= best - early.paths[0].score <= early.gap + 1e-9


def test_a_beam_satisfies_the_rules():
    nodes, edges = spread(ABC, 6, seed=2)
    found = tw.decode(nodes, edges, decoder="beam:2", constraints=tw.Constraints(ABC, once=True))
    own = found.paths[0].labels.tolist()
    assert (found.exact, found.gap) == (False, np.inf)
    assert sum(t == 0 or own[t - 1] != y for t, y in enumerate(own)) == len({*own})


def test_scores_far_apart_are_listed_best_first():
    """Sums of 1e30 and 1 depend on their order; reported scores are summed from left to right."""
    rng = np.random.default_rng(12)
    for _ in range(30):
        nodes = rng.choice([5e2, -1.0, 1.0, -1e30, 1e3, 1e30], size=(4, 4))
        edges = tw.Edges(rng.choice([0.0, 1.0, 1e30, -1e30, 3.0], size=(4, 4)))
        found = tw.decode(nodes, edges, 300, constraints=tw.Constraints([*"abcd"], at_most={"a": 1}))
        scores = [path.score for path in found.paths]
        assert scores == sorted(scores, reverse=True)


def test_threads_and_single_sentences_agree():
    rng = np.random.default_rng(6)
    edges = tw.Edges(rng.normal(size=(5, 5)))
    labels = [*"abcde"]
    some = tw.Constraints(labels, once=True, accept=lambda own: own[0] != "a")
    nodes = [rng.normal(size=(int(rng.integers(1, 9)), 5)) for _ in range(80)]
    one = [tw.decode(own, edges, 3, constraints=some) for own in nodes]
    for threads in (1, 3):
        many = tw.decode_batch(nodes, edges, 3, threads=threads, constraints=some)
        for a, b in zip(one, many, strict=True):
            assert [path.labels.tolist() for path in a.paths] == [path.labels.tolist() for path in b.paths]


def test_paths_are_all_labellings_that_satisfy_the_rules():
    nodes, edges = spread(ABC, 4)
    rules = tw.Constraints(ABC, at_most={"a": 1}, at_least={"b": 1})
    found = [tuple(path.labels.tolist()) for path in tw.paths(nodes, edges, constraints=rules)]
    runs = {
        own: [y for t, y in enumerate(own) if t == 0 or own[t - 1] != y]
        for own in itertools.product(range(3), repeat=4)
    }
    assert len({*found}) == len(found)
    assert {*found} == {own for own, units in runs.items() if units.count(0) <= 1 and units.count(1) >= 1}


def test_an_error_of_the_predicate_is_raised():
    def fails(own):
        raise KeyError("seven")

    class Odd:
        def __bool__(self):
            raise RuntimeError("neither")

    nodes, edges = spread(ABC)
    for threads in (1, 2):
        with pytest.raises(KeyError, match="seven"):
            tw.decode_batch([nodes] * 4, edges, threads=threads, constraints=tw.Constraints(ABC, accept=fails))
    with pytest.raises(RuntimeError, match="neither"):
        tw.decode(nodes, edges, constraints=tw.Constraints(ABC, accept=lambda _: Odd()))


def test_the_predicate_is_given_names():
    seen = []
    nodes, edges = spread(ABC, 2)
    tw.decode(nodes, edges, constraints=tw.Constraints(ABC, accept=lambda own: seen.append(own) or True))
    assert [[type(name) for name in own] for own in seen] == [[str, str]]


def test_sums_refuse_rules_about_whole_labellings():
    nodes, edges = spread(ABC)
    once = tw.Constraints(ABC, once=["a"])
    for call in (
        lambda: tw.marginals(nodes, edges, constraints=once),
        lambda: tw.marginals_batch([nodes], edges, constraints=once),
        lambda: tw.sample(nodes, edges, 2, constraints=once),
        lambda: tw.decode(nodes, edges, decoder="posterior", constraints=once),
    ):
        with pytest.raises(ValueError, match=r"cannot apply rules about whole labellings \(at most 1 run of a\)"):
            call()


def test_a_shared_part_is_a_rule_for_pairs():
    labels = ["p|x", "p|y", "q|x", "q|y"]
    nodes, edges = spread(labels, 3)
    same = tw.Constraints(labels, same=0)
    sums = tw.marginals(nodes, edges, constraints=same)
    paths = list(tw.paths(nodes, edges, constraints=same))
    assert len(paths) == 2 * 2**3
    assert all(len({labels[y][0] for y in path.labels}) == 1 for path in paths)
    assert sums.log_z == pytest.approx(np.logaddexp.reduce([path.score for path in paths]))


def test_composition_and_other_labels():
    nodes, edges = spread(ABC, 5)
    both = tw.Constraints(ABC, once=["a"]) & tw.Constraints([*"cabd"], at_least={"b": 1}, once=["a"], limit=9000)
    assert both.limit == 9000
    assert [rule.name for rule in both.counts] == ["at most 1 run of a", "at least 1 run of b"]
    moved = both.for_labels([*"bca"])
    order = [1, 2, 0]
    one = tw.decode(nodes, edges, 4, constraints=both)
    other = tw.decode(nodes[:, order], edges, 4, constraints=moved)
    assert [path.labels.tolist() for path in one.paths] == [
        [order[y] for y in path.labels.tolist()] for path in other.paths
    ]


def test_names_are_span_types_or_labels():
    bio = ["O", "B-X", "I-X", "B-Y"]
    spans = tw.Constraints(bio, "BIO", once=True, at_most={"B-Y": 2})
    assert [rule.name for rule in spans.counts] == [
        "at most 1 span of X",
        "at most 1 span of Y",
        "at most 2 runs of B-Y",
    ]
    nodes = np.array([[0.0, 3, 0, 0], [0, 3, 2, 0], [0, 0, 3, 0]])
    found = tw.decode(nodes, np.zeros((4, 4)), constraints=spans)
    assert found.paths[0].labels.tolist() == [1, 2, 2]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"once": "a"}, "once must be a list"),
        ({"once": 3}, "once must be a list"),
        ({"once": ["d"]}, "once names 'd', which is not a label"),
        ({"at_most": ["a"]}, "at_most must be a dict"),
        ({"at_most": {"a": -1}}, "at_most"),
        ({"at_least": {"a": 1.5}}, "at_least"),
        ({"at_least": {"d": 1}}, "at_least names 'd'"),
        ({"same": 1}, "has no part 1"),
        ({"same": -1}, "part"),
        ({"accept": 3}, "accept must be a function"),
        ({"limit": 0}, "limit"),
    ],
)
def test_wrong_rules(options, message):
    with pytest.raises(ValueError, match=message):
        tw.Constraints(ABC, **options)


def test_unknown_arguments_are_refused():
    with pytest.raises(TypeError, match="unexpected keyword argument 'onces'"):
        tw.Constraints(ABC, onces=["a"])
