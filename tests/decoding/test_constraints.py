"""Decoders and sums under constraints: against every labelling, one by one; and what is refused."""

import os

import numpy as np
import pytest
from support.brute_force import all_paths, tolerance
from support.checks import DECODERS, check_paths, gives_k, is_whole, knows_patterns
from support.constrained import PREFIXES, draw, follows
from support.lattices import FORMS, PATTERNS, SCORES
from support.sums import enumerated

import tagwright as tw

EACH = int(os.environ.get("TAGWRIGHT_LATTICES", "150"))


@pytest.mark.parametrize("scheme", PREFIXES)
def test_the_rule_of_a_scheme_is_what_its_words_say(scheme):
    labels = ["O", *(f"{p}-{x}" for x in ("X", "Y") for p in PREFIXES[scheme] if p != "O")]
    constraints = tw.Constraints(labels, scheme)
    for before in labels:
        for after in labels:
            assert constraints.may_follow(before, after) == follows(scheme, before, after)
    first = [True] * len(labels) if constraints.start is None else constraints.start.tolist()
    last = [True] * len(labels) if constraints.stop is None else constraints.stop.tolist()
    assert first == [follows(scheme, None, label) for label in labels]
    assert last == [follows(scheme, label, None) for label in labels]


def check(drawn, decoder, k, truth):
    case, right = drawn.case, drawn.truth
    if not truth:
        with pytest.raises(ValueError, match="no path"):
            tw.decode(case.nodes, case.edges, k, decoder, **drawn.arguments())
        return
    found = tw.decode(case.nodes, case.edges, k, decoder, **drawn.arguments())
    assert found.exact
    assert found.gap == 0
    check_paths(right, found, k)
    assert len(found.paths) == min(k, len(truth))
    best = truth[: len(found.paths)]
    if [path.score for path in found.paths] == [score for score, _ in best]:
        return
    assert not is_whole(right)
    for path, (score, labels) in zip(found.paths, best, strict=True):
        assert abs(path.score - score) <= tolerance(right, labels)


def sweep(form, kind, ngram, each):
    rng = np.random.default_rng([5, FORMS.index(form), SCORES.index(kind), PATTERNS.index(ngram)])
    for _ in range(each):
        drawn = draw(rng, form, kind, ngram)
        truth = all_paths(drawn.truth)
        k = int(rng.integers(1, 13))
        for decoder in DECODERS:
            check(drawn, decoder, k if gives_k(decoder) else 1, truth)


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("form", FORMS)
def test_every_decoder_finds_the_best_legal_paths(form, kind):
    sweep(form, kind, "none", max(EACH // 15, 2))


@pytest.mark.slow
@pytest.mark.parametrize("ngram", PATTERNS)
@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("form", FORMS)
def test_sweep(form, kind, ngram):
    sweep(form, kind, ngram, EACH)


def with_constraints(edges, parts):
    """Constrain edges by one operand after the other."""
    for part in parts:
        edges = tw.Edges._of(edges.constrained(part))
    return edges


@pytest.mark.parametrize("runs", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_edges_constrained_twice_keep_both_constraints(form, runs):
    rng = np.random.default_rng([15, FORMS.index(form), runs])
    decoders = [decoder for decoder in DECODERS if not runs or knows_patterns(decoder)]
    for n in range(max(EACH // 5, 10)):
        drawn = draw(rng, form, ("ties", "real", "float32")[n % 3], "none", runs)
        case, truth = drawn.case, all_paths(drawn.truth)
        edges = with_constraints(case.edges, drawn.parts[:-1])
        last = drawn.parts[-1] if drawn.parts else None
        again = drawn._replace(case=case._replace(edges=edges), constraints=last)
        for decoder in decoders:
            check(again, decoder, 3 if gives_k(decoder) else 1, truth)
        if truth:
            log_z = np.logaddexp.reduce([score for score, _ in truth])
            assert tw.marginals(case.nodes, edges, **again.arguments()).log_z == pytest.approx(log_z, abs=1e-9)


@pytest.mark.parametrize("ngram", ["none", "scattered", "hard"])
@pytest.mark.parametrize("form", FORMS)
def test_sums_are_over_legal_labellings(form, ngram):
    rng = np.random.default_rng([6, FORMS.index(form), PATTERNS.index(ngram)])
    for n in range(max(EACH // 3, 10)):
        drawn = draw(rng, form, ("ties", "real", "float32")[n % 3], ngram)
        nodes, edges = drawn.case.nodes, drawn.case.edges
        right = enumerated(drawn.truth)
        if right is None:
            with pytest.raises(ValueError, match="no path"):
                tw.marginals(nodes, edges, **drawn.arguments())
            continue
        found = tw.marginals(nodes, edges, with_edges=True, **drawn.arguments())
        assert found.log_z == pytest.approx(right.log_z, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(found.nodes, right.nodes, atol=1e-8)
        np.testing.assert_allclose(found.edges, right.edges, atol=1e-8)
        if len(nodes):
            assert found.entropy == pytest.approx(-entropy(drawn.truth), abs=1e-6)


def entropy(case):
    """The sum of p log p over all labellings."""
    scores = np.array([score for score, _ in all_paths(case)])
    logs = scores - scores.max()
    logs -= np.log(np.exp(logs).sum())
    return float((np.exp(logs) * logs).sum())


@pytest.mark.parametrize("keep", [tw.KeepSize(2), tw.KeepDivergence(0.1), tw.KeepRatio(0.2)])
def test_sparse_sums_under_constraints_are_those_of_masked_scores(keep):
    rng = np.random.default_rng(9)
    for _ in range(60):
        drawn = draw(rng, str(rng.choice(["dense", "sparse", "steps", "corrections"])), "real", "none")
        if enumerated(drawn.truth) is None:
            continue
        truth = drawn.truth
        edges = tw.Edges(truth.steps, start=truth.start, stop=truth.stop)
        try:
            right = tw.marginals(truth.nodes, edges, keep, with_edges=True)
        except ValueError:
            with pytest.raises(ValueError, match="no path"):
                tw.marginals(drawn.case.nodes, drawn.case.edges, keep, **drawn.arguments())
            continue
        found = tw.marginals(drawn.case.nodes, drawn.case.edges, keep, with_edges=True, **drawn.arguments())
        assert found.log_z == pytest.approx(right.log_z)
        np.testing.assert_allclose(found.nodes, right.nodes, atol=1e-8)
        assert found.kept.tolist() == right.kept.tolist()


def test_every_legal_path_once_and_samples_are_legal():
    rng = np.random.default_rng(3)
    for _ in range(20):
        drawn = draw(rng, "sparse", "ties", "none")
        truth = all_paths(drawn.truth)
        if not truth:
            continue
        found = list(tw.paths(drawn.case.nodes, drawn.case.edges, **drawn.arguments()))
        assert sorted(tuple(path.labels.tolist()) for path in found) == sorted(labels for _, labels in truth)
        legal = {labels for _, labels in truth}
        assert {*map(tuple, tw.sample(drawn.case.nodes, drawn.case.edges, 50, **drawn.arguments()).tolist())} <= legal
        best = tw.decode(drawn.case.nodes, drawn.case.edges, decoder="posterior", **drawn.arguments()).paths[0]
        assert tuple(best.labels.tolist()) in legal


@pytest.mark.parametrize("L", [64, 65, 200])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_many_labels(form, L):
    """Where there are too many labellings: decoders against each other, and against masked scores."""
    rng = np.random.default_rng([7, L])
    types = [f"T{n}" for n in range(L // 2)]
    labels = ["O", *(f"{p}-{x}" for x in types for p in "BI")][:L]
    labels += ["B-last"] * (L - len(labels))
    constraints = tw.Constraints(labels, "BIO") & tw.Constraints(labels, forbid=[("O", "B-T0")])
    may = np.array([[follows("BIO", i, j) for j in labels] for i in labels])
    may[0, 1] = False
    for whole in (True, False):
        T = 12
        draw_scores = (lambda *shape: rng.integers(-9, 10, shape)) if whole else (lambda *shape: rng.normal(size=shape))
        matrix = draw_scores(L, L).astype("f4")
        if form == "sparse":
            matrix[rng.random((L, L)) < 0.9] = 0
        nodes = draw_scores(T, L).astype("f4")
        allowed = [None if t % 3 == 0 else rng.permutation(L)[:5].tolist() for t in range(T)]
        # A legal path is always left.
        allowed = [None if own is None else [0, *own] for own in allowed]
        masked = np.full((T, L), -np.inf, "f4")
        for t, own in enumerate(allowed):
            masked[t, own if own is not None else slice(None)] = nodes[t, own if own is not None else slice(None)]
        start = np.where([follows("BIO", None, j) for j in labels], 0.0, -np.inf)
        plain = tw.Edges(np.where(may, matrix, -np.inf), start=start)
        edges = tw.Edges(matrix, sparse=form == "sparse")
        for lists, given in ((None, nodes), (allowed, masked)):
            right = tw.decode(given, plain, 5, "viterbi")
            for decoder in DECODERS:
                k = 5 if gives_k(decoder) else 1
                found = tw.decode(nodes, edges, k, decoder, constraints=constraints, allowed=lists)
                assert [path.score for path in found.paths] == pytest.approx([path.score for path in right.paths[:k]])
            sums = tw.marginals(nodes, edges, constraints=constraints, allowed=lists)
            other = tw.marginals(given, plain)
            assert sums.log_z == pytest.approx(other.log_z)
            np.testing.assert_allclose(sums.nodes, other.nodes, atol=1e-9)


def test_batches_and_masks():
    rng = np.random.default_rng(1)
    nodes = [rng.normal(size=(T, 4)) for T in (3, 0, 5)]
    edges = tw.Edges(rng.normal(size=(4, 4)))
    constraints = tw.Constraints(list("abcd"), forbid=[("a", "b")])
    allowed = [[[0, 1], None, [2]], [], None]
    for threads in (1, 2):
        found = tw.decode_batch(nodes, edges, threads=threads, constraints=constraints, allowed=allowed)
        for own, lists, answer in zip(nodes, allowed, found, strict=True):
            alone = tw.decode(own, edges, constraints=constraints, allowed=lists)
            assert alone.paths[0].labels.tolist() == answer.paths[0].labels.tolist()
    many = [rng.normal(size=(T, 4)) for T in rng.integers(1, 9, 40)]
    lists = [[None if some else rng.choice(4, 2, replace=False) for some in rng.random(len(own)) < 0.5] for own in many]
    lists[::5] = [None] * 8
    for decoder in DECODERS:
        found = tw.decode_batch(many, edges, decoder=decoder, allowed=lists)
        for own, its, answer in zip(many, lists, found, strict=True):
            alone = tw.decode(own, edges, decoder="viterbi", allowed=its)
            assert answer.paths[0].labels.tolist() == alone.paths[0].labels.tolist()
    mask = rng.random((5, 4)) < 0.6
    mask[:, 0] = True
    lists = [np.flatnonzero(row) for row in mask]
    one, other = (tw.decode(nodes[2], edges, 3, allowed=given) for given in (mask, lists))
    assert [path.score for path in one.paths] == [path.score for path in other.paths]


ZEROS = np.zeros((3, 3))


@pytest.mark.parametrize(
    ("allowed", "message"),
    [
        ([None, [], None], r"allowed\[1\] is empty, so that no label is left; use None"),
        ([None, [3], None], r"allowed\[1\] names label 3, but labels go from 0 to 2"),
        ([None, [-1], None], r"allowed\[1\] names label -1"),
        ([None, [0.5], None], r"allowed\[1\] must hold whole numbers, not float"),
        ([None, [True], None], r"allowed\[1\] must hold whole numbers, not bool"),
        ([None, ["a"], None], r"allowed\[1\] must hold whole numbers, not str"),
        ([None, 2, None], r"allowed\[1\] must be a list of labels, or None where all are allowed, not int"),
        ([None, "a", None], r"allowed\[1\] must be a list of labels.*not str"),
        ([None, None], "allowed has 2 entries, but there are 3 tokens"),
        ([None] * 4, "allowed has 4 entries, but there are 3 tokens"),
        (7, "allowed must be a list with one entry per token, not int"),
        (np.zeros((3, 3)), "allowed must hold lists of labels, or be an array of truth values"),
        ([None, [10**30], None], r"allowed\[1\] names label 10+, but labels go"),
    ],
)
def test_bad_lists(allowed, message):
    for call in (tw.decode, tw.marginals, tw.sample):
        with pytest.raises(ValueError, match=message):
            call(ZEROS, ZEROS, allowed=allowed)


def test_bad_lists_of_batches():
    with pytest.raises(ValueError, match=r"allowed\[0\] of sentence 1 names label 5"):
        tw.decode_batch([ZEROS, ZEROS], ZEROS, allowed=[None, [[5], None, None]])
    with pytest.raises(ValueError, match="allowed has 1 entries, but there are 2 sentences"):
        tw.decode_batch([ZEROS, ZEROS], ZEROS, allowed=[None])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scheme": "BIOX"}, "there is no label scheme 'BIOX'; there are IO, BIO, "),
        ({"scheme": "IOBES", "labels": ["O", "L-X"]}, "the label 'L-X' is not of scheme IOBES"),
        ({"scheme": "BIO", "labels": ["O", "X"]}, "the label 'X' is not of scheme BIO"),
        (
            {"scheme": "BIO", "part": 1, "labels": ["N|O", "V"]},
            r"the label 'V' has no part 1; parts are separated by '\|'",
        ),
        ({"part": 1}, "give the scheme, too"),
        ({"forbid": [("O", "I-Y")]}, "forbid names 'I-Y', which is not a label"),
        ({"forbid": ["O"]}, r"forbid must hold pairs of labels \(previous, current\), not 'O'"),
        ({"start": ["Z"]}, "start names 'Z', which is not a label"),
        ({"stop": []}, "stop is empty, so that no label is left"),
        ({"words": {"a": "O"}}, "must be a list of labels, not 'O'"),
        ({"words": {"a": ["Z"]}}, r"words\['a'\] names 'Z', which is not a label"),
        ({"words": {"a": []}}, r"words\['a'\] is empty"),
        ({"words": {3: ["O"]}}, "3 is not a word"),
        ({"unknown": ["O"]}, "give words, too"),
        ({"labels": []}, "labels must name at least one label"),
        ({"labels": ["O", "O"]}, "labels name 'O' twice"),
        ({"labels": "OBI"}, "labels must be a list of names"),
    ],
)
def test_bad_constraints(options, message):
    with pytest.raises(ValueError, match=message):
        tw.Constraints(**{"labels": ["O", "B-X", "I-X"], **options})


def test_nothing_legal_names_the_token_and_the_rule():
    labels = ["O", "B-X", "I-X"]
    bio = tw.Constraints(labels, "BIO")
    for decoder in DECODERS:
        with pytest.raises(
            ValueError, match="no path: scheme BIO forbids every labelling; token 1 is the first that none"
        ):
            tw.decode(ZEROS, ZEROS, decoder=decoder, constraints=bio, allowed=[[0], [2], None])
        with pytest.raises(ValueError, match="by the constraints, no label that token 0 can have may be the first"):
            tw.decode(ZEROS, ZEROS, decoder=decoder, constraints=bio, allowed=[[2], None, None])
    forbid = tw.Constraints(labels, forbid=[("O", "O")])
    with pytest.raises(ValueError, match="no path: forbidden pairs leave out every labelling; token 2"):
        tw.decode(ZEROS, ZEROS, constraints=forbid & bio, allowed=[None, [0], [0]])
    last = tw.Constraints(labels, stop=["O"])
    with pytest.raises(ValueError, match="by the constraints, no label that token 2 can have may be the last"):
        tw.marginals(ZEROS, ZEROS, constraints=last, allowed=[None, None, [1, 2]])
    forbidden = np.where(np.arange(3) == 1, -np.inf, ZEROS)
    with pytest.raises(ValueError, match="all labels allowed for token 1 have scores of -inf"):
        tw.decode(forbidden, ZEROS, allowed=[None, [1], None])


def test_a_dictionary_without_words():
    words = tw.Constraints(["a", "b", "c"], words={"x": ["a", "c"], "y": ["b"]}, unknown=["c"])
    with pytest.raises(ValueError, match=r"which needs words; give allowed=constraints.allowed\(words\)"):
        tw.decode(ZEROS, ZEROS, constraints=words)
    assert words.allowed(["x", "z", "y"]) == [[0, 2], [2], [1]]
    found = tw.decode(ZEROS, ZEROS, 9, constraints=words, allowed=words.allowed(["x", "z", "y"]))
    assert {tuple(path.labels.tolist()) for path in found.paths} == {(0, 2, 1), (2, 2, 1)}
    both = words & tw.Constraints(["c", "b", "a"], words={"x": ["a"], "z": ["b", "c"], "y": ["a"]})
    assert both.allowed(["x", "z", "other"]) == [[0], [2], [2]]
    with pytest.raises(ValueError, match="token 0: the tag dictionary leaves no label"):
        both.allowed(["y"])


def test_labels_of_another_number():
    with pytest.raises(ValueError, match="the constraints are for 2 labels, but the edges are for 3"):
        tw.decode(ZEROS, ZEROS, constraints=tw.Constraints(["a", "b"], forbid=[("a", "b")]))
    with pytest.raises(ValueError, match=r"constraints must be tw\.Constraints, not 'BIO'"):
        tw.decode(ZEROS, ZEROS, constraints="BIO")


def test_words_from_a_file(tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text("the\tDT\nof\tIN,RP\n,\t,\n", encoding="utf-8")
    made = tw.Constraints(["DT", "IN", "RP", ","], words=path)
    assert made.allowed(["the", "of", ",", "dog"]) == [[0], [1, 2], [3], None]
    path.write_text("the\tDT\nof IN\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 2: a line is a word, a tab and its labels"):
        tw.Constraints(["DT", "IN"], words=path)
    path.write_text("the\tXX\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 1: 'XX' is not a label"):
        tw.Constraints(["DT", "IN"], words=path)
