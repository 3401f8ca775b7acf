"""Patterns of labels: every decoder that knows them against every labelling, and what is refused."""

import itertools
import os

import numpy as np
import pytest
from support.brute_force import all_paths, paths, score, tolerance
from support.checks import DECODERS, check_exact, check_paths, gives_k, knows_patterns
from support.constrained import draw as draw_constrained
from support.lattices import FORMS, PATTERNS, SCORES, draw_case, draw_patterns

import tagwright as tw
from tagwright import _core
from tagwright.decoding.decode import one_lattice

# Lattices of each form, kind of score and kind of -inf: 144 * 75 = 10,800. A sanitizer build asks for fewer.
EACH = int(os.environ.get("TAGWRIGHT_LATTICES", "150")) // 2
KNOWING = [*filter(knows_patterns, DECODERS)]
LENGTHS = [(3,), (3, 4), (4,), (3, 3, 4)]


def draw_shape(rng):
    L = int(rng.integers(1, 8))
    longest = 6
    while L**longest > 3000:
        longest -= 1
    return int(rng.integers(0, longest + 1)), L


def draw(rng, form, kind, ngram):
    T, L = draw_shape(rng)
    ngrams = draw_patterns(rng, kind, L, LENGTHS[int(rng.integers(len(LENGTHS)))])
    return draw_case(rng, form, kind, ngram, T, L, ngrams)


@pytest.mark.parametrize("form", FORMS)
def test_the_truth_is_every_labelling_one_by_one(form):
    rng = np.random.default_rng([18, FORMS.index(form)])
    for kind in SCORES:
        case = draw(rng, form, kind, "none")
        T, L = case.nodes.shape
        scored = [(score(case, labels), labels) for labels in itertools.product(range(L), repeat=T)]
        assert all_paths(case) == sorted(((s, labels) for s, labels in scored if s > -np.inf), reverse=True)
        for right, labels in scored:
            found = tw.score(case.nodes, case.edges, labels, active=case.active)
            assert found == right or abs(found - right) <= 1e-12 * max(1, abs(right))


@pytest.mark.slow
@pytest.mark.parametrize("ngram", PATTERNS)
@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("form", FORMS)
def test_sweep(form, kind, ngram):
    rng = np.random.default_rng([19, FORMS.index(form), SCORES.index(kind), PATTERNS.index(ngram)])
    for _ in range(EACH):
        case = draw(rng, form, kind, ngram)
        truth = all_paths(case)
        k = int(rng.integers(1, 13))
        for decoder in KNOWING:
            check_exact(case, decoder, k if gives_k(decoder) else 1, truth)


def summed(case, kept=None):
    """log Z, entropy, and the probabilities of labels and of pairs, from every path; of kept labels, [t, y]."""
    T, L = case.nodes.shape
    labels, found = paths(case)
    if kept is not None:
        inside = kept[np.arange(T)[:, None], labels].all(0)
        labels, found = labels[:, inside], found[inside]
    best = found.max()
    log_z = best + np.log(np.exp(found - best).sum())
    p = np.exp(found - log_z)
    nodes, pairs = np.zeros((T, L)), np.zeros((max(T - 1, 0), L, L))
    for t in range(T):
        np.add.at(nodes[t], labels[t], p)
        if t:
            np.add.at(pairs[t - 1], (labels[t - 1], labels[t]), p)
    entropy = (p[p > 0] * (log_z - found[p > 0])).sum()
    return log_z, entropy, nodes, pairs


@pytest.mark.slow
@pytest.mark.parametrize("ngram", PATTERNS)
@pytest.mark.parametrize("kind", ["ties", "real", "float32"])
@pytest.mark.parametrize("form", FORMS)
def test_sums(form, kind, ngram):
    rng = np.random.default_rng([23, FORMS.index(form), SCORES.index(kind), PATTERNS.index(ngram)])
    for _ in range(EACH // 2):
        case = draw(rng, form, kind, ngram)
        if len(case.nodes) == 0:
            continue
        if not len(paths(case)[1]):
            with pytest.raises(ValueError, match="no path"):
                tw.marginals(case.nodes, case.edges, active=case.active)
            continue
        found = tw.marginals(case.nodes, case.edges, with_edges=True, active=case.active)
        log_z, entropy, nodes, pairs = summed(case)
        assert abs(found.log_z - log_z) <= 1e-9 * (1 + abs(log_z))
        # Large scores leave probabilities fewer digits.
        near = {"rtol": 1e-6, "atol": 1e-9}
        np.testing.assert_allclose(found.nodes, nodes, **near)
        np.testing.assert_allclose(found.edges, pairs, **near)
        assert abs(found.entropy - entropy) <= 1e-6 * (1 + entropy)
        assert found.kept.tolist() == [case.nodes.shape[1]] * len(case.nodes)


@pytest.mark.parametrize("offset", [-1e4, -800.0, -300.0, 300.0, 721.0, 1e4])
def test_sums_with_edge_scores_of_any_size(offset):
    """exp(edge score) overflows above 709 and underflows below -745."""
    rng = np.random.default_rng(25)
    for scale in (1.0, 100.0, 500.0):
        for _ in range(5):
            T, L = int(rng.integers(2, 6)), int(rng.integers(2, 5))
            case = draw_case(rng, "dense", "real", "none", T, L, draw_patterns(rng, "real", L, (3, 4)))
            steps = rng.normal(scale=scale, size=(L, L)) + offset
            runs = {run: max(more, -5.0) for run, more in case.ngrams.items()}
            edges = tw.Edges(steps, case.start, case.stop, ngrams=(list(runs), list(runs.values())))
            case = case._replace(edges=edges, steps=np.broadcast_to(steps, (T - 1, L, L)), ngrams=runs)
            log_z, entropy, nodes, pairs = summed(case)
            found = tw.marginals(case.nodes, edges, with_edges=True)
            assert found.log_z == pytest.approx(log_z, rel=1e-12)
            np.testing.assert_allclose(found.nodes, nodes, atol=1e-8)
            np.testing.assert_allclose(found.edges, pairs, atol=1e-8)
            assert found.entropy == pytest.approx(entropy, abs=1e-6)
            drawn = tw.sample(case.nodes, edges, 500, seed=1)
            np.testing.assert_allclose((drawn[:, :, None] == np.arange(L)).mean(0), nodes, atol=0.15)


@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("ngrams", [False, True])
def test_the_best_path_through_each_node_and_edge(ngrams, limited):
    rng = np.random.default_rng(26)
    for form in FORMS * 4:
        T, L = int(rng.integers(1, 6)), int(rng.integers(2, 5))
        runs = draw_patterns(rng, "real", L, (3, 4)) if ngrams else {}
        case = draw_case(rng, form, "real", "none", T, L, {run: max(more, -50.0) for run, more in runs.items()})
        labels, scores = paths(case)
        allowed = None
        if limited:
            lists = [sorted(rng.choice(L, int(rng.integers(1, L + 1)), replace=False).tolist()) for _ in range(T)]
            inside = np.all([np.isin(labels[t], lists[t]) for t in range(T)], axis=0)
            labels, scores, allowed = labels[:, inside], scores[inside], lists
        if not len(scores):
            continue
        given = one_lattice(case.nodes, case.edges, case.active, None, allowed)
        request = [rng.permutation(L)[: int(rng.integers(0, L + 1))].tolist() for _ in range(T)]
        best, nodes, edges, shares = _core.paths_through(*given, request, True)
        assert best == pytest.approx(scores.max())
        probability = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()

        def truth(inside, scores=scores):
            return scores.max() - scores[inside].max() if inside.any() else np.inf

        for t in range(T):
            right = [truth(labels[t] == y) for y in request[t]]
            np.testing.assert_allclose(nodes[t], right, atol=1e-8)
            if t + 1 == T:
                continue
            assert edges[t].shape == shares[t].shape == (len(request[t]), len(request[t + 1]))
            for p, i in enumerate(request[t]):
                for q, j in enumerate(request[t + 1]):
                    both = (labels[t] == i) & (labels[t + 1] == j)
                    np.testing.assert_allclose(edges[t][p, q], truth(both), atol=1e-8)
                    np.testing.assert_allclose(shares[t][p, q], probability[both].sum(), atol=1e-8)


@pytest.mark.parametrize("rule", [tw.KeepSize(2), tw.KeepDivergence(0.1), tw.KeepRatio(0.2)], ids=str)
def test_sums_over_kept_labels_are_exact_over_these(rule):
    """Labels are chosen by what they are believed without ngrams."""
    rng = np.random.default_rng(24)
    for form in ["dense", "steps"] * 30:
        case = draw(rng, form, "real", "none")
        if len(case.nodes) < 2:
            continue
        runs = {run: max(more, -50.0) for run, more in case.ngrams.items()}
        matrix = case.steps if form == "steps" else case.steps[0]
        plain = tw.Edges(matrix, case.start, case.stop)
        edges = tw.Edges(matrix, case.start, case.stop, ngrams=(list(runs), list(runs.values())))
        kept = tw.marginals(case.nodes, plain, rule).nodes > 0
        found = tw.marginals(case.nodes, edges, rule, with_edges=True)
        log_z, entropy, nodes, pairs = summed(case._replace(ngrams=runs), kept)
        assert found.kept.tolist() == kept.sum(1).tolist()
        assert abs(found.log_z - log_z) <= 1e-9 * (1 + abs(log_z))
        np.testing.assert_allclose(found.nodes, nodes, atol=1e-9)
        np.testing.assert_allclose(found.edges, pairs, atol=1e-9)
        assert abs(found.entropy - entropy) <= 1e-6 * (1 + entropy)


def second_order(nodes, edges, table, start, stop):
    """The best score by a plain second-order Viterbi; table: [i, j, k]."""
    nodes = nodes.astype(float)
    if len(nodes) == 1:
        return (start + nodes[0] + stop).max()
    alpha = (start + nodes[0])[:, None] + edges + nodes[1]  # [i, j]
    for column in nodes[2:]:
        alpha = (alpha[:, :, None] + table).max(0) + edges + column
    return (alpha + stop).max()


def draw_table(rng, kind, L, share, edges):
    """Scores of trigrams, most of them 0; and the same as ngrams."""
    table = np.where(rng.random((L, L, L)) < share, rng.normal(scale=2, size=(L, L, L)), 0)
    if kind == "whole":
        table = np.rint(table)
    if kind == "forbidding":
        table[rng.random((L, L, L)) < 0.02] = -np.inf
    if kind == "contrary":  # edges and ngrams that take away what the other gives
        table = np.where(table != 0, -edges[None] + rng.integers(-1, 2, (L, L, L)), 0)
    runs = np.argwhere(table != 0)
    return table, (runs, table[tuple(runs.T)])


@pytest.mark.parametrize("kind", ["real", "whole", "forbidding", "contrary"])
@pytest.mark.parametrize("peaked", [True, False], ids=["peaked", "flat"])
def test_second_order_viterbi_in_numpy(kind, peaked):
    rng = np.random.default_rng([20, peaked, len(kind)])
    for n in range(24):
        L, T = int(rng.integers(2, 61)), int(rng.integers(1, 15))
        edges = rng.integers(-3, 4, (L, L)).astype(float)
        edges[rng.random((L, L)) < rng.choice([0.0, 0.5, 0.9])] = 0
        nodes = rng.integers(-3, 4, (T, L)).astype(rng.choice(["f4", "f8"]))
        nodes[np.arange(T), rng.integers(0, L, T)] += 12 * peaked
        table, ngrams = draw_table(rng, kind, L, rng.choice([0.001, 0.02, 0.3]), edges)
        start, stop = rng.integers(-2, 3, (2, L)).astype(float)
        given = tw.Edges(edges, start, stop, sparse=[None, True, False][n % 3], ngrams=ngrams)
        right = second_order(nodes, edges, table, start, stop)
        for decoder in ("viterbi", "tree", "auto"):
            if right == -np.inf:
                with pytest.raises(ValueError, match="no path"):
                    tw.decode(nodes, given, decoder=decoder)
                continue
            found = tw.decode(nodes, given, decoder=decoder)
            assert found.exact
            score = found.paths[0].score
            assert score == tw.score(nodes, given, found.paths[0].labels)
            assert score == right if kind in ("whole", "contrary") else abs(score - right) <= 1e-9 * (1 + abs(right))


def many_patterns(rng, L, count, lengths=(3, 4)):
    """Runs that mostly have frequent labels, as those of a corpus have."""
    ranks = (L * rng.random((count, 4)) ** 3).astype(np.int32)
    ranks[rng.choice(lengths, count) == 3, 3] = -1
    runs = np.unique(ranks, axis=0)
    return runs, rng.normal(scale=2, size=len(runs))


@pytest.mark.parametrize("form", ["dense", "sparse", "exceptions"])
@pytest.mark.parametrize("lengths", [(3,), (3, 4)], ids=["order 2", "order 3"])
def test_many_labels(form, lengths):
    """tree against Viterbi, which is compared with all labellings elsewhere."""
    rng = np.random.default_rng([21, len(form), len(lengths)])
    for n in range(12):
        L, T, k = int(rng.integers(60, 400)), int(rng.integers(1, 12)), [1, 1, 4][n % 3]
        matrix = rng.normal(scale=2, size=(L, L)).astype("f4")
        if form != "dense":
            matrix[rng.random((L, L)) < 0.95] = 0
        nodes = rng.normal(scale=2, size=(T, L)).astype("f4")
        for column in nodes:
            column[rng.integers(0, L, 4)] += rng.choice([0, 8, 16])
        ngrams = many_patterns(rng, L, int(rng.choice([50, 2000])), lengths)
        i, j = np.nonzero(matrix)
        edges = (
            tw.Edges.from_exceptions(L, 0, i, j, matrix[i, j], ngrams=ngrams)
            if form == "exceptions"
            else tw.Edges(matrix, sparse=form == "sparse", ngrams=ngrams)
        )
        right = tw.decode(nodes, edges, k, "viterbi")
        for decoder in ("tree", "auto"):
            found = tw.decode(nodes, edges, k, decoder)
            assert found.exact
            scores, truth = ([path.score for path in answer.paths] for answer in (found, right))
            np.testing.assert_allclose(scores, truth, rtol=1e-12, atol=1e-9)
            assert [path.score for path in found.paths] == [tw.score(nodes, edges, p.labels) for p in found.paths]


@pytest.mark.parametrize("kind", SCORES)
def test_a_beam_wide_enough_is_exact(kind):
    rng = np.random.default_rng(22)
    for form in FORMS * 8:
        case = draw(rng, form, kind, "scattered")
        k = int(rng.integers(1, 5))
        check_exact(case, f"beam:{k * case.nodes.shape[1] ** 3}", k)


# Wherever else scores are searched or summed


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("form", FORMS)
def test_constraints(form, kind):
    rng = np.random.default_rng([25, FORMS.index(form), SCORES.index(kind)])
    for n in range(40):
        drawn = draw_constrained(rng, form, kind, PATTERNS[n % len(PATTERNS)], runs=True)
        case, arguments = drawn.case, drawn.arguments()
        truth = all_paths(drawn.truth)
        k = int(rng.integers(1, 13))
        for decoder in KNOWING:
            own = k if gives_k(decoder) else 1
            if not truth:
                with pytest.raises(ValueError, match="no path"):
                    tw.decode(case.nodes, case.edges, own, decoder, **arguments)
                continue
            found = tw.decode(case.nodes, case.edges, own, decoder, **arguments)
            check_paths(drawn.truth, found, own)
            assert len(found.paths) == min(own, len(truth))
            for path, (right, labels) in zip(found.paths, truth, strict=False):
                assert abs(path.score - right) <= tolerance(drawn.truth, labels)
        if truth and len(case.nodes) and kind != "mixed":
            log_z, entropy, nodes, pairs = summed(drawn.truth)
            sums = tw.marginals(case.nodes, case.edges, with_edges=True, **arguments)
            assert abs(sums.log_z - log_z) <= 1e-9 * (1 + abs(log_z))
            np.testing.assert_allclose(sums.nodes, nodes, rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(sums.edges, pairs, rtol=1e-6, atol=1e-9)
            assert abs(sums.entropy - entropy) <= 1e-6 * (1 + entropy)


def of_model_size(rng, L=200, T=9):
    matrix = rng.normal(scale=2, size=(L, L)).astype("f4")
    nodes = rng.normal(scale=2, size=(T, L)).astype("f4")
    return nodes, tw.Edges(matrix, ngrams=many_patterns(rng, L, 2000))


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("decoder", [row.name for row in tw.decoders() if row.deadline and row.ngrams])
def test_a_deadline_that_has_passed(decoder, k):
    rng = np.random.default_rng(26)
    for _ in range(6):
        nodes, edges = of_model_size(rng)
        if k > 1 and not gives_k(decoder):
            continue
        best = tw.decode(nodes, edges, 1, "viterbi").paths[0].score
        found = tw.decode(nodes, edges, k, decoder, deadline=0)
        assert 1 <= len(found.paths) <= k
        assert found.exact == (found.gap == 0)
        for path in found.paths:
            assert path.score == tw.score(nodes, edges, path.labels)
        assert -1e-9 <= best - found.paths[0].score <= found.gap + 1e-9


@pytest.mark.parametrize("decoder", ["viterbi", "auto", "tree", "staggered", "beam:8"])
@pytest.mark.parametrize("k", [1, 3])
def test_batches_are_their_sentences(decoder, k):
    rng = np.random.default_rng(27)
    if k > 1 and not gives_k(decoder):
        return
    for L in (3, 40, 150):
        edges = tw.Edges(rng.normal(size=(L, L)), ngrams=many_patterns(rng, L, 500))
        nodes = [rng.normal(scale=3, size=(T, L)) for T in (0, 1, 2, 3, 9, 4, 4, 4, 1)]
        alone = [tw.decode(own, edges, k, decoder) for own in nodes]
        for threads in (1, 2):
            for one, other in zip(tw.decode_batch(nodes, edges, k, decoder, threads=threads), alone, strict=True):
                assert [path.score for path in one.paths] == [path.score for path in other.paths]
                assert [path.labels.tolist() for path in one.paths] == [path.labels.tolist() for path in other.paths]
        width = max(map(len, nodes))
        padded = np.array([np.pad(own, ((0, width - len(own)), (0, 0))) for own in nodes])
        arrays = tw.decode_arrays(padded, edges, k, decoder, lengths=[len(own) for own in nodes])
        for b, other in enumerate(alone):
            assert arrays.scores[b, : len(other.paths)].tolist() == [path.score for path in other.paths]
        sums = [tw.marginals(own, edges) for own in nodes]
        for one, other in zip(tw.marginals_batch(nodes, edges, threads=2), sums, strict=True):
            assert one.log_z == other.log_z
            assert (one.nodes == other.nodes).all()


def test_paths_one_by_one():
    rng = np.random.default_rng(28)
    for form in FORMS:
        case = draw(rng, form, "ties", "scattered")
        found = [path.score for path in tw.paths(case.nodes, case.edges, active=case.active)] if all_paths(case) else []
        assert found == [right for right, _ in all_paths(case)]


def test_without_patterns_nothing_changes():
    """Runs of score 0 are none: every decoder and sum gives the same bits as without them."""
    rng = np.random.default_rng(29)
    for form in [form for form in FORMS if form != "corrections"]:
        for kind in SCORES:
            plain = draw_case(np.random.default_rng([30, len(form), len(kind)]), form, kind, "scattered", 5, 4)
            nothing = {(0, 1, 2): 0.0, (1, 1, 1, 0): 0.0}
            same = draw_case(np.random.default_rng([30, len(form), len(kind)]), form, kind, "scattered", 5, 4, nothing)
            if not all_paths(plain):
                continue
            for decoder in DECODERS:
                one, other = (
                    tw.decode(case.nodes, case.edges, 1, decoder, active=case.active) for case in (plain, same)
                )
                assert [p.score for p in one.paths] == [p.score for p in other.paths]
                assert [p.labels.tolist() for p in one.paths] == [p.labels.tolist() for p in other.paths]
                assert one.work == other.work
            one, other = (tw.marginals(case.nodes, case.edges, active=case.active) for case in (plain, same))
            assert one.log_z == other.log_z
            assert (one.nodes == other.nodes).all()
    assert rng is not None


def test_samples_are_drawn_by_their_probabilities():
    rng = np.random.default_rng(31)
    for _ in range(4):
        case = draw_case(rng, "dense", "ties", "none", 4, 3, draw_patterns(rng, "ties", 3))
        labels, found = paths(case)
        right = np.exp(found - found.max())
        right /= right.sum()
        n = 20_000
        drawn = tw.sample(case.nodes, case.edges, n, seed=5)
        assert (drawn[:100] == tw.sample(case.nodes, case.edges, 100, seed=5)).all()
        place = {tuple(path): q for q, path in enumerate(labels.T.tolist())}
        times = np.bincount([place[tuple(path)] for path in drawn.tolist()], minlength=len(right))
        # Five standard deviations, and one for the smallest.
        assert (abs(times - n * right) <= 5 * np.sqrt(n * right * (1 - right)) + 1).all()


def test_scores_far_apart():
    """Products of factors would be 0; logarithms are not."""
    rng = np.random.default_rng(32)
    for _ in range(30):
        case = draw_case(rng, "dense", "real", "none", 4, 3, draw_patterns(rng, "real", 3))
        runs = {run: 300 * more for run, more in case.ngrams.items()}
        edges = tw.Edges(300 * case.steps[0], case.start, case.stop, ngrams=(list(runs), list(runs.values())))
        far = case._replace(nodes=300 * case.nodes, steps=300 * case.steps, ngrams=runs)
        if not len(paths(far)[1]):
            continue
        log_z, entropy, nodes, _ = summed(far)
        found = tw.marginals(far.nodes, edges)
        assert abs(found.log_z - log_z) <= 1e-12 * abs(far.nodes).max() * 100
        np.testing.assert_allclose(found.nodes, nodes, atol=1e-6)
        assert abs(found.entropy - entropy) <= 1e-5


def test_edge_probabilities_of_huge_scores():
    """Rounding of 1e30 leaves more than exp() can hold; probabilities are finite and sum to one all the same."""
    edges = np.full((3, 3), 2.5)
    edges[0, 2], edges[1, 2], edges[2] = 500, 1e30, [5e29, 1e3, -1e30]
    nodes = [[-1e3, 5e29, -1e30], [5e2, -1, 0.5], [-1e30, 1e30, 1e3], [1e3, 1e3, 5e29], [-1e30, 0.5, 1e3]]
    ends = {"start": [1.0, -1e3, 1e3], "stop": [0.0, -np.inf, 0.0]}
    found = tw.marginals(nodes, tw.Edges(edges, **ends, ngrams=([[1, 1, 1]], [500.0])), with_edges=True)
    assert found.log_z == pytest.approx(3.5e30)
    assert found.edges.sum(axis=(1, 2)) == pytest.approx(np.ones(4))
    assert found.nodes.sum(axis=1) == pytest.approx(np.ones(5))


def test_what_supports_no_ngrams_is_an_error():
    edges = tw.Edges(np.zeros((3, 3)), ngrams=([[0, 1, 2]], [1.0]))
    nodes = np.zeros((4, 3))
    for row in tw.decoders():
        if not row.ngrams:
            with pytest.raises(ValueError, match=f"decoder '{row.name}' cannot handle label n-grams"):
                tw.decode(nodes, edges, decoder=row.name)
            with pytest.raises(ValueError, match="cannot handle label n-grams"):
                tw.decode_batch([nodes], edges, decoder=row.name)
    with pytest.raises(ValueError, match="know no ngrams of labels"):
        tw.marginals_batch(nodes[None], edges, edge_counts="sum")
    with pytest.raises(ValueError, match="probabilities of spans know no ngrams of labels"):
        tw.spans(nodes, edges, ["O", "B-X", "I-X"])


@pytest.mark.parametrize(
    ("runs", "scores", "says"),
    [
        ([[0, 1]], [1.0], "ngram 0 has 2 labels; label n-grams have three or four"),
        ([[0, 1, 2], [0, 1, 2, 0, 1]], [1.0, 2.0], "ngram 1 has 5 labels"),
        ([[0, 1, 3]], [1.0], "ngram 0 has label 3 in place 2, but labels go from 0 to 2"),
        ([[0, 1, -2]], [1.0], "ngram 0 has label -2"),
        ([[0, 1, 2], [2, 1, 0], [0, 1, 2]], [1.0, 2.0, 3.0], "ngram 0 -> 1 -> 2 is given twice"),
        ([[0, 1, 2]], [np.nan], "ngram 0 .0 -> 1 -> 2."),
        ([[0, 1, 2]], [np.inf], "ngram 0 .0 -> 1 -> 2."),
        ([[0, 1, 2]], [1.0, 2.0], "ngrams has 1 n-grams but 2 scores"),
        ([0, 1, 2], [1.0], "ngrams.0. must be a list of label n-grams"),
        (np.zeros((2, 5), int), [1.0, 2.0], "shape .N, 3. or .N, 4."),
        (np.zeros((1, 3)), [1.0], "must be integers"),
    ],
)
def test_patterns_that_are_none(runs, scores, says):
    with pytest.raises(ValueError, match=says):
        tw.Edges(np.zeros((3, 3)), ngrams=(runs, scores))
