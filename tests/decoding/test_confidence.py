"""Beyond single labels: entropy, samples, posterior decoding and probabilities of spans, against every labelling."""

import itertools
import math
import os

import numpy as np
import pytest
from support.brute_force import Case, paths, score
from support.lattices import FORMS, PATTERNS, draw_case, draw_shape
from support.sums import enumerated, exact, log_sum, shares

import tagwright as tw
from tagwright.schemes import SCHEMES

# Lattices of each form and ngram: 36 * 40.
EACH = max(1, int(os.environ.get("TAGWRIGHT_LATTICES", "150")) * 4 // 15)
KINDS = ["ties", "real", "float32"]


def cases(seed, most_labels=9):
    """Random lattices of every form, small enough to enumerate, with their paths and the probabilities of these."""
    for form, ngram in itertools.product(FORMS, PATTERNS):
        rng = np.random.default_rng([seed, FORMS.index(form), PATTERNS.index(ngram)])
        for n in range(EACH):
            case = draw_case(rng, form, KINDS[n % 3], ngram, *draw_shape(rng, most_labels))
            labels, scores = paths(case)
            yield case, labels, shares(scores, (0,)) if len(scores) else scores


def refused(case, ask):
    with pytest.raises(ValueError, match="no path"):
        ask(case.nodes, case.edges, active=case.active)


# Entropy


@pytest.mark.slow
def test_entropy_is_that_of_all_paths():
    for case, _, share in cases(1):
        if not len(share):
            refused(case, tw.marginals)
            continue
        some = share[share > 0]
        found = tw.marginals(case.nodes, case.edges, active=case.active)
        assert found.entropy == pytest.approx(-(some * np.log(some)).sum(), abs=1e-9)


def chain_rule(truth):
    """H(y_0) + sum_t H(y_t+1 | y_t), from the probabilities of nodes and edges."""

    def of(share):
        some = share[share > 0]
        return -(some * np.log(some)).sum()

    return of(truth.nodes[0]) + sum(of(step) - of(step.sum(axis=1)) for step in truth.edges)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("L", [64, 65, 200])
def test_entropy_with_more_labels(L, form):
    rng = np.random.default_rng([2, L, FORMS.index(form)])
    for ngram in ("none", "bio"):
        case = draw_case(rng, form, "real", ngram, 8, L)
        truth = exact(case)
        if truth is not None:
            found = tw.marginals(case.nodes, case.edges, active=case.active)
            assert found.entropy == pytest.approx(chain_rule(truth), rel=1e-9, abs=1e-9)


def test_entropy_of_sparse_sums_is_that_of_the_kept_labels():
    rng = np.random.default_rng(3)
    for form in FORMS:
        case = draw_case(rng, form, "real", "none", 6, 12)
        found = tw.marginals(case.nodes, case.edges, tw.KeepSize(3), with_edges=True, active=case.active)
        assert found.entropy == pytest.approx(chain_rule(found), rel=1e-9, abs=1e-9)


def test_entropy_at_the_ends():
    assert tw.marginals(np.zeros((0, 3)), np.zeros((3, 3))).entropy == 0
    assert tw.marginals(np.zeros((4, 3)), np.zeros((3, 3))).entropy == pytest.approx(4 * math.log(3))
    assert tw.marginals([[0, -np.inf]] * 3, np.zeros((2, 2))).entropy == 0
    large = np.array([[1e6, -1e6], [3e5, 1e6], [0, 0]])  # summed in logarithms
    assert tw.marginals(large, [[0, 1000], [-1000, 0]]).entropy == pytest.approx(0, abs=1e-6)
    assert tw.marginals(np.full((3, 2), 1e6), [[0, 1000], [1000, 0]]).entropy == pytest.approx(math.log(2))


# Samples


def chi_square(counts, expected):
    """The statistic over its degrees of freedom, cells with few expected put together."""
    order = np.argsort(expected)
    counts, expected = counts[order], expected[order]
    few = int(np.searchsorted(np.cumsum(expected), 8)) + 1
    counts = np.append(counts[few:], counts[:few].sum())
    expected = np.append(expected[few:], expected[:few].sum())
    return ((counts - expected) ** 2 / expected).sum(), len(counts) - 1


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ngram", ["none", "scattered", "bio", "banded"])
def test_samples_come_as_often_as_they_are_probable(form, ngram):
    rng = np.random.default_rng([4, FORMS.index(form), PATTERNS.index(ngram)])
    n, statistic, degrees = 4000, 0.0, 0
    for _ in range(6):
        case = draw_case(rng, form, "real", ngram, 4, 4)
        labels, scores = paths(case)
        if len(scores) < 2:
            continue
        number = {tuple(own): at for at, own in enumerate(labels.T.tolist())}
        drawn = tw.sample(case.nodes, case.edges, n, int(rng.integers(1 << 40)), active=case.active)
        assert drawn.dtype == np.int32
        assert drawn.shape == (n, 4)
        counts = np.bincount([number[tuple(own)] for own in drawn.tolist()], minlength=len(scores))
        found = chi_square(counts, n * shares(scores, (0,)))
        statistic, degrees = statistic + found[0], degrees + found[1]
    # Five standard deviations: the seeds are fixed, so this fails always or never.
    assert abs(statistic - degrees) <= 5 * math.sqrt(2 * degrees)


def test_samples_in_logarithms():
    nodes = np.array([[1e6, 1e6 - 1], [0.0, 1.0]])
    drawn = tw.sample(nodes, [[0.0, 900.0], [900.0, 0.0]], 4000, 1)
    assert {tuple(own) for own in drawn.tolist()} == {(0, 1), (1, 0)}
    assert np.mean(drawn[:, 0] == 0) == pytest.approx(1 / (1 + math.exp(-2)), abs=0.03)


def test_samples_are_repeatable_and_begin_alike():
    rng = np.random.default_rng(5)
    nodes, edges = rng.normal(size=(7, 30)), rng.normal(size=(30, 30))
    many = tw.sample(nodes, edges, 500, 9)
    assert (many == tw.sample(nodes, edges, 500, 9)).all()
    assert (many[:20] == tw.sample(nodes, edges, 20, 9)).all()
    assert (many != tw.sample(nodes, edges, 500, 10)).any()
    assert (many != tw.sample(nodes, edges, 500, 9 + 2**64)).any()
    for t, share in enumerate(tw.marginals(nodes, edges).nodes):
        assert abs(np.bincount(many[:, t], minlength=30) / 500 - share).max() < 0.12


def test_samples_of_nothing_and_bad_ones():
    assert tw.sample(np.zeros((0, 3)), np.zeros((3, 3)), 5, 1).shape == (5, 0)
    with pytest.raises(ValueError, match="n must be a whole number of at least 1"):
        tw.sample(np.zeros((2, 3)), np.zeros((3, 3)), 0)
    with pytest.raises(ValueError, match="seed must be a whole number"):
        tw.sample(np.zeros((2, 3)), np.zeros((3, 3)), 1, -1)
    with pytest.raises(ValueError, match="no path"):
        tw.sample(np.full((2, 3), -np.inf), np.zeros((3, 3)))
    with pytest.raises(ValueError, match="do not fit into memory"):
        tw.sample(np.zeros((10_000, 1)), np.zeros((1, 1)), 2**31 - 1)


# Posterior decoding


@pytest.mark.slow
def test_posterior_finds_the_most_expected_right_tokens():
    for case, labels, share in cases(6):
        if not len(share):
            refused(case, lambda *given, **more: tw.decode(*given, decoder="posterior", **more))
            continue
        found = tw.decode(case.nodes, case.edges, decoder="posterior", active=case.active)
        assert found.exact
        assert found.gap == 0
        (path,) = found.paths
        assert path.score == pytest.approx(score(case, path.labels.tolist()), rel=1e-12, abs=1e-12)
        assert path.score > -np.inf  # what is forbidden is not an answer
        marginals = enumerated(case).nodes
        expected = sum((marginals[t][y] for t, y in enumerate(labels)), np.zeros(len(share)))
        own = sum(marginals[t, y] for t, y in enumerate(path.labels))
        assert own == pytest.approx(expected.max(), abs=1e-9)


def test_posterior_goes_around_what_is_forbidden():
    """The most probable label of each of the two tokens is 0, and they are no path."""
    nodes = np.log([[0.8, 0.1, 0.1], [0.8, 0.1, 0.1]])
    edges = np.zeros((3, 3))
    edges[0, 0] = -np.inf
    found = tw.decode(nodes, edges, decoder="posterior")
    assert found.paths[0].labels.tolist() in ([0, 1], [1, 0])
    assert found.work.rounds == 2


def test_posterior_is_not_the_best_path():
    """The best path is 0 0, with 0.4; 1 1 and 1 2, with 0.3 each, agree on the first label."""
    nodes = np.log([[0.4, 0.6, 1e-9], [1.0, 0.5, 0.5]])
    edges = np.where([[True, False, False], [False, True, True], [True, True, True]], 0.0, -np.inf)
    assert tw.decode(nodes, edges).paths[0].labels.tolist() == [0, 0]
    assert tw.decode(nodes, edges, decoder="posterior").paths[0].labels.tolist() == [1, 1]
    row = next(row for row in tw.decoders() if row.name == "posterior")
    assert (row.exact, row.kbest, row.deadline, row.maximises) == (True, False, False, "expected right tokens")
    assert {other.maximises for other in tw.decoders() if other is not row} == {"score"}


# Spans


def read_spans(names):
    """The spans of a labelling, by rules written out: where a span ends and whether the next token is a part of it."""
    found = []
    for t, name in enumerate(names):
        prefix, _, kind = name.rpartition("|")[2].partition("-")
        if prefix == "O":
            continue
        before = names[t - 1].rpartition("|")[2].partition("-") if t else ("O", "", "")
        goes_on = before[2] == kind and before[0] in {"B", "I", "M"} and prefix in {"I", "M", "E", "L"}
        if goes_on:
            found[-1][2] = t + 1
        else:
            found.append([kind, t, t + 1])
    return [tuple(own) for own in found]


LABEL_SETS = {name: sorted(scheme.prefixes - {"O"}) for name, scheme in SCHEMES.items()}
LABEL_SETS = {name: ["O", *(f"{p}-{kind}" for kind in "XY" for p in own)] for name, own in LABEL_SETS.items()}
LABEL_SETS |= {
    "joint": ["N|O", "V|O", "N|B-X", "V|B-X", "N|I-X", "V|I-X", "N|B-Y"],
    "bare": ["B", "M", "E", "S"],
    "bare with types of their own": ["O", "B", "I"],
}


def rules_of(name, labels):
    """-inf where a scheme forbids a pair, and at its ends."""
    parts = [label.rpartition("|")[2].partition("-")[::2] for label in labels]
    scheme = SCHEMES["BIO" if "B" in {prefix for prefix, _ in parts} and name not in SCHEMES else name]
    if name == "bare":
        scheme = SCHEMES["BMES"]
    pairs = np.array(
        [
            [
                (p in scheme.stop and t in scheme.start) or (a == b and p in scheme.followed and t in scheme.following)
                for t, b in parts
            ]
            for p, a in parts
        ]
    )
    start, stop = (np.array([p in own for p, _ in parts]) for own in (scheme.start, scheme.stop))
    return (np.where(own, 0.0, -np.inf) for own in (pairs, start, stop))


def span_cases(name, keeps_to_rules, rounds):
    labels = LABEL_SETS[name]
    L = len(labels)
    rng = np.random.default_rng([7, list(LABEL_SETS).index(name), keeps_to_rules])
    for n in range(rounds):
        T = int(rng.integers(0, 5 if L > 5 else 6))
        case = draw_case(rng, FORMS[n % len(FORMS)], KINDS[n % 3], "scattered" if n % 4 == 3 else "none", T, L)
        if keeps_to_rules:
            pairs, start, stop = rules_of(name, labels)
            start, stop = start + rng.normal(size=L), stop + rng.normal(size=L)
            matrix = rng.normal(size=(L, L)) + pairs
            edges = tw.Edges(matrix, start=start, stop=stop, sparse=bool(n % 2) or None)
            case = Case(case.nodes, edges, None, np.broadcast_to(matrix, case.steps.shape), start, stop)
        yield case, labels


@pytest.mark.slow
@pytest.mark.parametrize("keeps_to_rules", [False, True])
@pytest.mark.parametrize("name", LABEL_SETS)
def test_probabilities_of_spans_are_sums_over_all_labellings(name, keeps_to_rules):
    for case, labels in span_cases(name, keeps_to_rules, EACH * 2):
        numbers, scores = paths(case)
        if not len(scores):
            refused(case, lambda nodes, edges, names=labels, **more: tw.spans(nodes, edges, names, **more))
            continue
        truth: dict[tuple, float] = {}
        for own, p in zip(numbers.T.tolist(), shares(scores, (0,)).tolist(), strict=True):
            for span in read_spans([labels[y] for y in own]):
                truth[span] = truth.get(span, 0.0) + p
        given = {"active": case.active}
        best = tw.decode(case.nodes, case.edges, **given).paths[0]
        found = tw.spans(case.nodes, case.edges, labels, **given)
        assert [own[:3] for own in found] == read_spans([labels[y] for y in best.labels])
        for own in found:
            assert own.probability == pytest.approx(truth[own[:3]], abs=1e-9)
            assert own.log_probability == pytest.approx(math.log(truth[own[:3]]), abs=1e-6)
        every = tw.spans(case.nodes, case.edges, labels, 10_000, **given)
        assert {own[:3] for own in every} >= {span for span, p in truth.items() if p > 1e-12}
        assert {own[:3] for own in every} <= {*truth}  # what no path has is not listed
        assert [own.probability for own in every] == sorted((own.probability for own in every), reverse=True)
        for own in every:
            assert own.probability == pytest.approx(truth[own[:3]], abs=1e-9)
        for k in (1, 2, 3, 7):
            assert tw.spans(case.nodes, case.edges, labels, k, **given) == every[:k]


def test_spans_are_not_products_of_tokens():
    """Two labellings, B I and O O, at equal odds: the span has a half, the product of its tokens a quarter."""
    nodes = np.zeros((2, 3))
    edges = np.full((3, 3), -np.inf)
    edges[0, 0] = edges[1, 2] = 0
    found = tw.spans(nodes, edges, ["O", "B-X", "I-X"], 5)
    assert [(own.label, own.start, own.end) for own in found] == [("X", 0, 2)]
    assert found[0].probability == pytest.approx(0.5)


def test_spans_of_long_sentences_and_many_labels():
    """Against a NumPy recursion over one type: the others are one label."""
    rng = np.random.default_rng(8)
    kinds = [f"T{n}" for n in range(60)]
    labels = ["O", *(f"{p}-{kind}" for kind in kinds for p in "BI")]
    L, T = len(labels), 40
    nodes, matrix = rng.normal(scale=2, size=(T, L)), rng.normal(scale=2, size=(L, L))
    truth = exact(Case(nodes, None, None, np.broadcast_to(matrix, (T - 1, L, L)), np.zeros(L), np.zeros(L)))
    steps = truth.edges / np.maximum(truth.nodes[:-1, :, None], 1e-300)
    for own in tw.spans(nodes, matrix, labels, 200):
        first = labels.index(f"B-{own.label}")
        inside = first + 1
        p = np.array([truth.nodes[own.start, first], truth.nodes[own.start, inside]])
        if own.start:
            p[1] -= truth.edges[own.start - 1][[first, inside], inside].sum()
        for t in range(own.start, own.end - 1):
            p = np.array([0.0, p @ steps[t][[first, inside], inside]])
        if own.end < T:
            p *= 1 - steps[own.end - 1][[first, inside], inside]
        assert own.probability == pytest.approx(p.sum(), rel=1e-6, abs=1e-12)


def test_spans_in_logarithms():
    labels = ["O", "B-X", "I-X"]
    nodes = np.array([[0.0, 1e6, 0.0], [1.0, 0.0, 1e6], [0.0, 0.0, 0.0]])
    edges = np.zeros((3, 3))
    edges[0, 2] = -np.inf
    edges[1, 0] = -900.0
    found = tw.spans(nodes, edges, labels)
    assert found[0][:2] == ("X", 0)
    case = Case(nodes, None, None, np.broadcast_to(edges, (2, 3, 3)), np.zeros(3), np.zeros(3))
    numbers, scores = paths(case)
    share = np.exp(scores - log_sum(scores))
    ends = {2: 0.0, 3: 0.0}
    for own, p in zip(numbers.T.tolist(), share.tolist(), strict=True):
        for span in read_spans([labels[y] for y in own]):
            if span[:2] == ("X", 0) and span[2] in ends:
                ends[span[2]] += p
    for own in tw.spans(nodes, edges, labels, 50):
        if own.start == 0 and own.end in ends:
            assert own.probability == pytest.approx(ends[own.end], abs=1e-6)


def test_labels_that_are_not_of_spans():
    with pytest.raises(ValueError, match="not labels of spans such as B-NP"):
        tw.spans(np.zeros((2, 2)), np.zeros((2, 2)), ["NN", "VB"])
    with pytest.raises(ValueError, match="2 label names, but the scores are of 3 labels"):
        tw.spans(np.zeros((2, 3)), np.zeros((3, 3)), ["O", "B-X"])
    with pytest.raises(ValueError, match="k must be a whole number of at least 1"):
        tw.spans(np.zeros((2, 2)), np.zeros((2, 2)), ["O", "B-X"], 0)
    assert tw.spans(np.zeros((0, 2)), np.zeros((2, 2)), ["O", "B-X"]) == []
    assert tw.spans(np.zeros((0, 2)), np.zeros((2, 2)), ["O", "B-X"], 3) == []
