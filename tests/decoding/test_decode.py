"""The Python face: what comes in, what comes out, and what is refused."""

import itertools
import pickle
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
import scipy.sparse
from support.checks import DECODERS, gives_k
from support.refused import EDGES, NODES, REFUSED, bad

import tagwright as tw
from tagwright import _core
from tagwright.decoding.decoders import Decoder
from tagwright.decoding.edges import sides_of
from tagwright.decoding.keep import Keep


def best(nodes, edges, **options):
    return tw.decode(nodes, edges, **options).paths[0]


def test_result():
    found = tw.decode(NODES, EDGES, k=3)
    assert found.exact
    assert [path.labels.tolist() for path in found.paths[:1]] == [[0, 1, 0]]
    assert found.paths[0].score == 3 + 1 + 2 + 2 + 1
    assert found.paths[0].labels.dtype == np.int32
    assert found.work.rounds >= 1
    assert found.work.nodes > 0
    assert found.work.edges > 0


def test_decoder_table():
    rows = tw.decoders()
    names = ["auto", "viterbi", "beam", "staggered", "carpediem", "astar", "iterative_astar", "viterbi_astar"]
    names += ["iterative_viterbi_astar", "tree"]
    assert [row.name for row in rows if row.name in names] == names
    known = [row for row in rows if row.name in names]
    assert [row.name for row in known if not row.exact] == ["beam"]
    assert [row.name for row in known if not row.kbest] == ["staggered", "carpediem", "iterative_astar"]
    assert [row.name for row in known if row.deadline] == ["auto", "tree"]
    options = {row.name: [option.name for option in row.options] for row in known if row.options}
    assert options == {
        "beam": ["width", "pruning"],
        "staggered": ["expand"],
        "astar": ["bound"],
        "iterative_viterbi_astar": ["extra"],
    }


def test_classes_agree_with_the_table():
    """A class has the name and the options of a row, in its order, with its defaults."""
    public = [getattr(tw, name) for name in tw.__all__]
    named = {own.name: own for own in public if isinstance(own, type) and issubclass(own, Decoder)}
    rows = {row.name: row for row in tw.decoders()}
    assert named.keys() == {row.name for row in tw.decoders() if row.options}
    for name, own in named.items():
        assert [(field.name, field.default) for field in fields(own)] == [
            (option.name, option.default) for option in rows[name].options
        ]
    assert tw.Beam() == tw.Beam(8, None) == tw.Beam(width=np.int64(8))
    assert (tw.Staggered(), tw.AStar(), tw.IterativeViterbiAStar()) == (
        tw.Staggered("column"),
        tw.AStar(6),
        tw.IterativeViterbiAStar(2),
    )
    assert repr(tw.Beam(pruning=tw.KeepSize(3))) == "Beam(width=8, pruning=KeepSize(n=3))"
    assert repr([tw.AStar(bound=None), tw.Beam(3)]) == "[AStar(bound=None), Beam(width=3, pruning=None)]"
    for decoder in (tw.Beam(3), tw.AStar(None), tw.Staggered("all")):
        assert pickle.loads(pickle.dumps(decoder)) == decoder
        with pytest.raises(FrozenInstanceError):
            decoder.width = 2
    assert tw.Beam(6) != tw.AStar(6)


def test_names_and_options_mean_the_same():
    for name, decoder in [
        ("beam:2", tw.Beam(width=2)),
        ("staggered:all", tw.Staggered(expand="all")),
        ("astar:0", tw.AStar(bound=0)),
        ("astar:none", tw.AStar(bound=None)),
        ("iterative_viterbi_astar:3", tw.IterativeViterbiAStar(extra=3)),
    ]:
        by_name, by_object = tw.decode(NODES, EDGES, decoder=name), tw.decode(NODES, EDGES, decoder=decoder)
        assert by_name.work == by_object.work
        assert by_name.paths[0].score == by_object.paths[0].score


def test_a_beam_reports_that_it_is_not_exact():
    found = tw.decode([[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [9.0, 9.0]], decoder=tw.Beam(width=1))
    assert not found.exact
    assert found.paths[0].score == 1.0
    assert best([[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [9.0, 9.0]]).score == 9.0


@pytest.mark.parametrize("decoder", [*DECODERS, "beam"])
@pytest.mark.parametrize("L", [1, 2, 3, 64])
def test_short_sentences(decoder, L):
    edges = np.zeros((L, L))
    empty = tw.decode(np.zeros((0, L)), edges, decoder=decoder)
    assert [(path.labels.tolist(), path.score) for path in empty.paths] == [([], 0.0)]
    one = tw.decode(np.arange(L)[None, :], edges, decoder=decoder)
    assert (one.paths[0].labels.tolist(), one.paths[0].score) == ([L - 1], L - 1)


@pytest.mark.parametrize(
    "form", ["list", "float16", "float32", "float64", "swapped", "int", "fortran", "strided", "dlpack", "array"]
)
def test_what_counts_as_scores(form):
    class Dlpack:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    class Array:
        def __init__(self, array):
            self.array = array

        def __array__(self, dtype=None, copy=None):
            return self.array

    make = {
        "list": lambda a: a.tolist(),
        "float32": lambda a: a.astype("f4"),
        "float16": lambda a: a.astype("f2"),
        "float64": lambda a: a,
        "swapped": lambda a: a.astype(">f8"),
        "int": lambda a: a.astype(int),
        "fortran": np.asfortranarray,
        "strided": lambda a: np.repeat(a, 2, axis=0)[::2],
        "dlpack": Dlpack,
        "array": Array,
    }[form]
    assert best(make(NODES), make(EDGES)).labels.tolist() == [0, 1, 0]
    assert best(NODES, tw.Edges(make(EDGES))).labels.tolist() == [0, 1, 0]


def test_scores_of_a_class_of_ones_own():
    class Closed(np.ndarray):
        def __dlpack__(self, **options):
            return None

    nodes, edges = NODES.view(Closed), EDGES.view(Closed)
    assert best(nodes, edges).labels.tolist() == [0, 1, 0]
    assert tw.decode_batch([nodes], edges)[0].paths[0].labels.tolist() == [0, 1, 0]
    assert best(NODES, np.stack([EDGES, EDGES]).view(Closed)).labels.tolist() == [0, 1, 0]


def test_torch_tensors():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    assert best(torch.tensor(NODES), torch.tensor(EDGES)).labels.tolist() == [0, 1, 0]


def answers(nodes, edges):
    """Return labels and scores of the three best paths."""
    return [(path.labels.tolist(), path.score) for path in tw.decode(nodes, edges, k=3).paths]


@pytest.mark.parametrize("form", ["csr_array", "csc_array", "coo_array", "dia_array", "lil_matrix", "csr_matrix"])
@pytest.mark.parametrize("default", [None, -2.5])
def test_sparse_matrices_of_scipy(form, default):
    rng = np.random.default_rng(8)
    for L in (1, 6, 40):
        i, j = np.indices((L, L))
        stored = abs(i - j) <= 1
        scores = np.where(stored, rng.normal(size=(L, L)) + 10, 0.0)  # no stored score is 0
        dense = np.where(stored, scores, -np.inf if default is None else default)
        nodes = rng.normal(size=(5, L))
        options = {} if default is None else {"default": default}
        edges = tw.Edges(getattr(scipy.sparse, form)(scores), start=np.zeros(L), **options)
        if L == 40:  # of smaller ones too large a share is stored
            assert edges.default == (-np.inf if default is None else default)
        assert answers(nodes, edges) == answers(nodes, dense)
        np.testing.assert_allclose(tw.marginals(nodes, edges).nodes, tw.marginals(nodes, dense).nodes, atol=1e-12)


def test_entries_of_sparse_matrices():
    repeated = scipy.sparse.coo_array(([1.0, 2.0, 0.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    dense = np.array([[-np.inf, 3.0], [0.0, -np.inf]])  # entries given twice are added, a stored 0 is a score
    nodes = np.array([[0.0, 1.0], [0.5, 0.0], [0.0, 0.0]])
    assert answers(nodes, tw.Edges(repeated)) == answers(nodes, dense)
    assert answers(nodes, tw.Edges(repeated.astype(np.float32))) == answers(nodes, dense)
    with pytest.raises(ValueError, match=r"shape \(L, L\)"):
        tw.Edges(scipy.sparse.csr_array((2, 3)))
    with pytest.raises(ValueError, match="default is for sparse matrices"):
        tw.Edges(dense, default=0)
    with pytest.raises(ValueError, match="toarray"):
        tw.Edges(repeated, sparse=False)
    with pytest.raises(ValueError, match="NaN"):
        tw.Edges(scipy.sparse.csr_array(np.array([[np.nan, 1], [1, 1]])))


def test_edges_are_copied_so_that_later_changes_do_no_harm():
    scores = EDGES.copy()
    edges = tw.Edges(scores)
    scores[:] = 0
    assert best(NODES, edges).score == 9.0


def total(path, first, second, start=(0, 0, 0), stop=(0, 0, 0)):
    """The score of a path over NODES and the edge scores of its two steps."""
    a, b, c = path
    return start[a] + NODES[0, a] + first[a, b] + NODES[1, b] + second[b, c] + NODES[2, c] + stop[c]


def test_start_stop_and_order():
    start, stop = [-9, 0, 0], [0, 0, 5]
    edges = tw.Edges(EDGES, start=start, stop=stop, order=[2, 1, 0])
    truth = max(total(path, EDGES, EDGES, start, stop) for path in itertools.product(range(3), repeat=3))
    for decoder in DECODERS:
        assert best(NODES, edges, decoder=decoder).score == truth


def test_one_matrix_a_step():
    truth = max(total(path, EDGES, EDGES.T) for path in itertools.product(range(3), repeat=3))
    for decoder in DECODERS:
        found = best(NODES, np.stack([EDGES, EDGES.T]), decoder=decoder)
        assert found.score == truth == total(found.labels, EDGES, EDGES.T)


def test_corrections_switched_on():
    edges = tw.Edges(EDGES, corrections=([0, 1, 1], [0, 0, 1], [2, 2, 0], [4.0, 1.0, -5.0]))
    assert "2 correction sets" in repr(edges)
    assert best(NODES, edges).score == 9.0
    assert best(NODES, edges, active=[[], []]).score == 9.0
    for decoder in DECODERS:
        # Set 0 makes 0 -> 2 worth 3, both sets 4; set 1 makes 1 -> 0 worth -3.
        assert best(NODES, edges, decoder=decoder, active=[[0, 1], []]).score == 3 + 4 + 1 + 1 + 2
        assert best(NODES, edges, decoder=decoder, active=[[], [1]]).score == 3 + 1 + 2 + 0 + 2


def test_forms_of_edges():
    assert repr(tw.Edges(EDGES)) == "Edges(L=3, dense)"
    assert repr(tw.Edges(np.eye(4))) == "Edges(L=4, sparse, 4 of 16 edges differ from 0)"
    assert repr(tw.Edges(np.zeros((2, 4, 4)))) == "Edges(L=4, one matrix per step)"
    assert repr(tw.Edges.from_exceptions(9, -np.inf, [0], [1], [2.0])).endswith("1 of 81 edges differ from -inf)")
    assert not tw.Edges(np.eye(4), sparse=False).sparse
    assert (tw.Edges(EDGES, sparse=True).default, tw.Edges(EDGES, sparse=True).exceptions) == (0.0, 5)


@pytest.mark.parametrize(
    ("L", "given", "same", "form"),
    [
        (40, 480, 0, "sparse, 480 of 1600 edges differ from 0"),
        (40, 481, 0, "dense"),
        (40, 500, 20, "sparse, 480 of 1600 edges differ from 0"),  # 20 of the triples score 0, too
        (40, 1600, 1120, "sparse, 480 of 1600 edges differ from 2.5"),  # 1,120 of them score 2.5
        (40, 1600, 1119, "dense"),
        (1500, 900, 0, "sparse, 900 of 2250000 edges differ from 0"),
        (1501, 900, 0, "sparse, 900 of 2253001 edges differ from 0"),
    ],
)
def test_edges_of_a_model_have_the_form_that_suits_their_number(L, given, same, form):
    rng = np.random.default_rng(given)
    previous, current = np.divmod(np.sort(rng.choice(L * L, given, replace=False)), L)
    scores = rng.choice([-2, -1, 1, 2], size=given).astype(np.float32)
    scores[rng.choice(given, same, replace=False)] = 2.5 if given == L * L else 0
    pairs, stop = (previous.astype(np.int32), current.astype(np.int32)), rng.integers(-3, 3, L)
    sides = sides_of(None, stop, None, None)
    edges = tw.Edges._of(_core.Edges.from_triples(L, 0.0, *pairs, scores, True, sides))
    assert repr(edges) == f"Edges(L={L}, {form})"
    matrix = np.zeros((L, L))
    matrix[pairs] = scores
    nodes = rng.integers(-3, 4, (4, L)).astype(np.float32)
    reached = nodes[0]
    for column in nodes[1:]:
        reached = (reached[:, None] + matrix).max(0) + column
    for decoder in ("auto", "viterbi", "staggered"):
        assert best(nodes, edges, decoder=decoder).score == (reached + stop).max()


def test_batches_and_threads_change_nothing():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(300, 300)).astype("f4")
    nodes = [rng.normal(size=(T, 300)).astype("f4") for T in (0, 1, 2, 5, 9, 3, 17, 4, 4, 30)]
    for name in ["viterbi", "beam:3", "staggered", "viterbi_astar", "iterative_viterbi_astar", "astar", "auto"]:
        k = 4 if name not in ("viterbi", "staggered") else 1
        edges = tw.Edges(scores)
        one_by_one = [tw.decode(own, edges, k, name) for own in nodes]
        for threads in (1, 2, 5):
            batch = tw.decode_batch(nodes, edges, k, name, threads=threads)
            for a, b in zip(one_by_one, batch, strict=True):
                assert a.work == b.work
                assert [p.score for p in a.paths] == [p.score for p in b.paths]
                assert all((p.labels == q.labels).all() for p, q in zip(a.paths, b.paths, strict=True))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sentences_decoded_together_may_have_corrections(dtype):
    rng = np.random.default_rng(6)
    L, sets, n = 300, 20, 2000
    table = np.unique(rng.integers(0, [sets, L, L], (n, 3)), axis=0).T
    values = rng.normal(scale=3, size=table.shape[1])
    edges = tw.Edges(rng.normal(size=(L, L)).astype(dtype), sparse=False, corrections=(*table, values))
    nodes = [rng.normal(size=(T, L)).astype(dtype) for T in (3, 1, 7, 5, 2)]
    on = [[rng.permutation(sets)[: rng.integers(0, 4)].tolist() for _ in own[1:]] for own in nodes]
    together = tw.decode_batch(nodes, edges, decoder="viterbi", active=on)
    for own, active, found in zip(nodes, on, together, strict=True):
        assert found.work == tw.decode(own, edges, decoder="viterbi", active=active).work
        for name in ("viterbi", "staggered", "viterbi_astar"):
            assert best(own, edges, decoder=name, active=active).score == found.paths[0].score


def test_more_sentences_than_are_decoded_together():
    rng = np.random.default_rng(8)
    several = [tw.Edges(rng.normal(size=(260, 260)).astype("f4")) for _ in range(2)]
    nodes = [rng.normal(size=(int(rng.integers(1, 6)), 260)).astype("f4") for _ in range(90)]
    edges = [several[int(rng.integers(2))] for _ in nodes]
    for threads in (1, 3):
        batch = tw.decode_batch(nodes, edges, decoder="viterbi", threads=threads)
        for own, own_edges, found in zip(nodes, edges, batch, strict=True):
            alone = tw.decode(own, own_edges, decoder="viterbi")
            assert (found.paths[0].score, found.work) == (alone.paths[0].score, alone.work)


def test_one_edges_a_sentence():
    rng = np.random.default_rng(1)
    nodes = [rng.normal(size=(T, 5)) for T in (1, 3, 4)]
    steps = [rng.normal(size=(len(own) - 1, 5, 5)) for own in nodes]
    batch = tw.decode_batch(nodes, steps, 2)
    for own, edges, found in zip(nodes, steps, batch, strict=True):
        assert [p.score for p in found.paths] == [p.score for p in tw.decode(own, edges, 2).paths]
    edges = tw.Edges(rng.normal(size=(5, 5)), corrections=([0], [1], [1], [50.0]))
    on = [[], [[], [0]], None]
    batch = tw.decode_batch(nodes, edges, active=on)
    for own, active, found in zip(nodes, on, batch, strict=True):
        assert found.paths[0].score == best(own, edges, active=active).score


def test_empty_batch():
    assert tw.decode_batch([], EDGES) == []


@pytest.mark.parametrize(
    ("nodes", "edges", "options", "message"),
    [
        *REFUSED,
        (NODES[0], EDGES, {}, r"nodes must have shape \(T, L\), not \(3,\)"),
        (NODES, np.zeros((0, 0)), {}, "L = 0"),
        (NODES, EDGES, {"k": 0}, "k must be a whole number of at least 1, not 0"),
        (NODES, EDGES, {"k": 1.5}, "k must be a whole number"),
        (NODES, EDGES, {"k": np.timedelta64(1, "s")}, "k must be a whole number"),
        (NODES, EDGES, {"decoder": "stagered"}, "did you mean staggered"),
        (NODES, EDGES, {"decoder": "qqq"}, "no decoder named 'qqq'; there are auto, viterbi"),
        (NODES, EDGES, {"decoder": "beam:x"}, "'beam:x': width must be a whole number of at least 1 .*, not 'x'"),
        (NODES, EDGES, {"decoder": "beam:none"}, "width must be a whole number of at least 1 .*, not 'none'"),
        (NODES, EDGES, {"decoder": f"beam:{2**31}"}, rf"width must be .* below 2\*\*31, not {2**31}"),
        (NODES, EDGES, {"decoder": f"beam:{2**90}"}, rf"width must be .* below 2\*\*31, not {2**90}"),
        (NODES, EDGES, {"decoder": "beam:0"}, "must be a whole number of at least 1"),
        (NODES, EDGES, {"decoder": "viterbi:3"}, "has no option"),
        (NODES, EDGES, {"decoder": "staggered:some"}, "expand must be 'column' or 'all', not 'some'"),
        (NODES, EDGES, {"decoder": "staggered:unpruned"}, "expand must be 'column' or 'all', not 'unpruned'"),
        (NODES, EDGES, {"decoder": "astar:-1"}, "bound must be None or a whole number from 0 to 63, not -1"),
        (NODES, EDGES, {"decoder": "astar:99"}, "bound must be None or a whole number from 0 to 63, not 99"),
        (NODES, EDGES, {"decoder": 7}, "must be a name or a decoder"),
        (NODES, EDGES, {"decoder": ["beam"]}, "must be a name or a decoder"),
        (NODES, EDGES, {"decoder": Decoder()}, "must be a name or a decoder"),
        (NODES, EDGES, {"k": 2**70}, "below 2"),
        (np.ma.masked_less(NODES, 1), EDGES, {}, "masked"),
        (NODES, EDGES, {"active": [[0.5], []]}, "for each step"),
        (NODES, EDGES, {"active": [[2**40], []]}, "beyond"),
        (NODES, EDGES, {"k": np.array([1, 2])}, "k must be a whole number"),
        (NODES, EDGES, {"decoder": "staggered", "k": 2}, "these give k: auto, viterbi, beam"),
        (NODES, np.full((3, 3), -np.inf), {}, "no path: .* token 1 is the first"),
        (NODES, np.full((3, 3), -np.inf), {"decoder": "beam"}, "no path: .* token 1 is the first"),
        ([["a", "b"]], EDGES, {}, "must hold numbers"),
        ([[1.0], [1.0, 2.0]], EDGES, {}, "cannot be read as an array"),
        (NODES.astype(complex), EDGES, {}, "must hold numbers, not complex128"),
    ],
)
def test_bad_input(nodes, edges, options, message):
    with pytest.raises(ValueError, match=message):
        tw.decode(nodes, edges, **options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: tw.Edges(EDGES, start=[0, 0]), "start holds 2 scores, but there are 3 labels"),
        (lambda: tw.Edges(EDGES, stop=[0, 0, np.nan]), "stop score of label 2 is NaN"),
        (lambda: tw.Edges(EDGES, order=[0, 1]), "order names 2 labels, but there are 3"),
        (lambda: tw.Edges(EDGES, order=[0, 1, 1]), "position 2 holds 1"),
        (lambda: tw.Edges(EDGES, order=[0, 1, 7]), "position 2 holds 7"),
        (lambda: tw.Edges(EDGES, order=[0.5, 1, 2]), "order must be a sequence of whole numbers"),
        (lambda: tw.Edges(np.zeros((2, 3, 3)), sparse=True), "sparse=True needs one"),
        (lambda: tw.Edges(np.zeros((2, 3, 3)), corrections=([], [], [], [])), "corrections need one"),
        (lambda: tw.Edges(EDGES, corrections=([0], [0], [3], [1.0])), "0 -> 3, but labels go from 0 to 2"),
        (lambda: tw.Edges(EDGES, corrections=([-1], [0], [0], [1.0])), "belongs to set -1"),
        (lambda: tw.Edges(EDGES, corrections=([0, 0], [1, 1], [2, 2], [1.0, 2.0])), "names edge 1 -> 2 twice"),
        (lambda: tw.Edges(EDGES, corrections=([0], [0], [0], [np.inf])), r"correction 0 .* is \+inf"),
        (lambda: tw.Edges(EDGES, corrections=([0], [0], [0], [])), "four arrays of one length"),
        (lambda: tw.Edges.from_exceptions(0, 0.0, [], [], []), "L must be"),
        (lambda: tw.Edges.from_exceptions(3, np.nan, [], [], []), "default edge score is NaN"),
        (lambda: tw.Edges.from_exceptions(3, 0.0, [0], [1], []), "of one length"),
        (lambda: tw.Edges.from_exceptions(3, 0.0, [0], [5], [1.0]), "0 -> 5, but labels go from 0 to 2"),
        (lambda: tw.Edges.from_exceptions(3, 0.0, [0, 0], [1, 1], [1.0, 2.0]), "0 -> 1 is given twice"),
        (lambda: tw.Edges(EDGES, corrections=([0], [0], [0])), "four arrays"),
        (lambda: tw.Edges(EDGES, corrections=3), "four arrays"),
        (lambda: tw.Edges(EDGES, corrections=([2 * 10**9], [0], [0], [1.0])), "number the sets from 0 on"),
        (lambda: tw.Edges(EDGES, start=np.ma.masked_less([0.0, 1.0, 2.0], 1)), "masked"),
        (lambda: tw.Edges.from_exceptions(3, None, [], [], []), "default must be a number"),
        (lambda: tw.Edges.from_exceptions(3, np.complex128(1), [], [], []), "default must be a number"),
        (lambda: tw.Beam(width=0), "Beam: width must be a whole number of at least 1 .*, not 0"),
        (lambda: tw.Beam(width=True), "Beam: width must be a whole number of at least 1 .*, not True"),
        (lambda: tw.Staggered(expand="none"), "Staggered: expand must be 'column' or 'all', not 'none'"),
        (lambda: tw.Beam(pruning=5), r"Beam: pruning must be None, KeepDivergence\(...\), .*, not 5"),
        (lambda: tw.Beam(pruning=Keep()), r"pruning must be None, KeepDivergence\(...\), .*, not Keep"),
        (lambda: tw.Beam(2, pruning=tw.KeepSize(3)), "a width or a pruning rule, not both"),
        (lambda: tw.AStar(bound=2.5), "AStar: bound must be None or a whole number from 0 to 63, not 2.5"),
        (lambda: tw.AStar(bound="6"), "AStar: bound must be None or a whole number from 0 to 63, not '6'"),
        (lambda: tw.score(NODES, EDGES, [0, 1]), "3 tokens, 2 labels"),
        (lambda: tw.score(NODES, EDGES, [0, 1, 3]), "labels go from 0 to 2"),
        (lambda: tw.decode_batch([NODES], EDGES, threads=0), "threads must be"),
        (lambda: tw.decode_batch([NODES, NODES[:, :2]], EDGES), "nodes of sentence 1 are for 2 labels"),
        (lambda: tw.decode_batch([NODES, bad(NODES, (0, 1), np.nan)], EDGES), "sentence 1: .* token 0, label 1"),
        (lambda: tw.decode_batch([NODES], [EDGES, EDGES]), "1 sentences but 2 edges"),
        (lambda: tw.decode_batch([NODES], EDGES, active=[]), "active for 0"),
    ],
)
def test_bad_preparation(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("decoder", ["viterbi", "staggered"])
def test_the_first_sentence_in_trouble_is_named(decoder):
    L = 300  # enough for sentences to be decoded together, longest first
    edges = tw.Edges(np.zeros((L, L), "f4"), sparse=False)
    nodes = [np.zeros((T, L), "f4") for T in (3, 2, 5, 4)]
    nodes[1][0] = nodes[2][0] = -np.inf
    with pytest.raises(ValueError, match="sentence 1: no path"):
        tw.decode_batch(nodes, edges, decoder=decoder)


def test_borrowed_edges_are_checked_at_every_use():
    steps = np.zeros((2, 3, 3))
    edges = tw.Edges(steps)
    steps[1, 2, 0] = np.nan
    for decoder in DECODERS:
        with pytest.raises(ValueError, match="edge score 2 -> 0 of step 1 is NaN"):
            tw.decode(NODES, edges, decoder=decoder)


def test_unaligned_scores():
    def unaligned(array):
        raw = np.zeros(array.nbytes + 1, np.uint8)[1:]
        copy = raw.view(array.dtype).reshape(array.shape)
        copy[:] = array
        assert not copy.flags.aligned
        return copy

    assert best(unaligned(NODES), unaligned(EDGES)).score == 9.0
    assert best(NODES, np.stack([unaligned(EDGES)] * 2)).score == 9.0


def test_the_ends_of_float32():
    """Sums that float32 loses below its smallest number or above its largest are settled in double."""
    diagonal = np.where(np.eye(2) > 0, 0, -np.inf).astype("f4")
    tiny = tw.Edges(diagonal, start=[0.75e-45, 0.69e-45], stop=[0, 0.2e-45], sparse=False)
    assert best(np.zeros((2, 2), "f4"), tiny, decoder="viterbi").labels.tolist() == [1, 1]
    huge = np.array([[-np.inf, -3e38], [-np.inf, -3e38]], "f4")
    assert best(np.full((3, 2), -3e38, "f4"), huge, decoder="beam:1").labels.tolist() == [0, 1, 1]


def test_stop_scores_that_forbid_everything():
    with pytest.raises(ValueError, match="stop score of -inf"):
        tw.decode(NODES, tw.Edges(EDGES, stop=[-np.inf] * 3))


def test_a_beam_that_loses_its_way_is_an_error():
    edges = [[-np.inf, -np.inf], [0.0, 0.0]]
    with pytest.raises(ValueError, match=r"beam of width 1 lost every path .* widen it"):
        tw.decode([[1.0, 0.0], [0.0, 0.0]], edges, decoder="beam:1")
    assert best([[1.0, 0.0], [0.0, 0.0]], edges, decoder="beam:2").score == 0.0
    with pytest.raises(ValueError, match="beam of width 2 lost every path"):  # k raises the width
        tw.decode([[2.0, 1.0, 0.0], [0.0] * 3], [[-np.inf] * 3] * 2 + [[0.0] * 3], 2, "beam:1")
    for rule in ("size:1", "ratio:1", "divergence:0.5:1"):
        with pytest.raises(ValueError, match=f"a beam that keeps {rule} lost every path .* keep more"):
            tw.decode([[1.0, 0.0], [0.0, 0.0]], edges, decoder=f"beam:{rule}")


def test_work_is_counted_the_same_way():
    """Viterbi examines every edge; no decoder that prunes examines more on an easy lattice."""
    T, L = 6, 40
    nodes = np.zeros((T, L))
    nodes[:, 0] = 100
    edges = tw.Edges(np.random.default_rng(0).normal(size=(L, L)))
    dense = tw.decode(nodes, edges, decoder="viterbi").work
    # The way back looks again at one column of edges per token.
    assert (dense.rounds, dense.nodes, dense.edges) == (1, T * L, (T - 1) * (L * L + L))
    for decoder in ("staggered", "astar", "carpediem", "iterative_astar"):
        assert tw.decode(nodes, edges, decoder=decoder).work.edges < dense.edges / 4
    assert tw.decode(nodes, edges, decoder="staggered").work.rounds == 1


@pytest.mark.parametrize("decoder", [name for name in DECODERS if gives_k(name)])
def test_many_paths(decoder):
    rng = np.random.default_rng(2)
    nodes, edges = rng.normal(size=(5, 6)), rng.normal(size=(6, 6))
    scores = sorted(
        (
            sum(nodes[t, y] for t, y in enumerate(path)) + sum(edges[i, j] for i, j in itertools.pairwise(path))
            for path in itertools.product(range(6), repeat=5)
        ),
        reverse=True,
    )
    found = tw.decode(nodes, edges, 1000, decoder)
    assert [path.score for path in found.paths] == pytest.approx(scores[:1000], abs=1e-9)


def beam_by_hand(nodes, edges, width, k):
    """Scores of the k best of what is left: `width` partial paths a column, at most k of them with one last label."""
    kept = {(): 0.0}
    for column in np.asarray(nodes, float):
        reached = {}
        for labels, score in kept.items():
            for y, own in enumerate(column):
                reached[(*labels, y)] = score + (edges[labels[-1]][y] if labels else 0.0) + own
        kept, same = {}, {}
        for labels in sorted(reached, key=lambda labels: -reached[labels]):
            same[labels[-1]] = same.get(labels[-1], 0) + 1
            if same[labels[-1]] <= k and len(kept) < width and reached[labels] > -np.inf:
                kept[labels] = reached[labels]
    return sorted(kept.values(), reverse=True)[:k]


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("L", [2, 7, 40])
def test_a_beam_keeps_the_best_labels_of_a_column(L, k):
    rng = np.random.default_rng(L)
    for width in {k, k + 1, L // 2 + k, L + k, k * L}:
        nodes, edges = rng.normal(size=(4, L)), rng.normal(size=(L, L))
        edges[rng.random((L, L)) < 0.1] = -np.inf
        found = tw.decode(nodes, edges, k, tw.Beam(width))
        right = beam_by_hand(nodes, edges, width, k)
        assert [path.score for path in found.paths] == pytest.approx(right, rel=1e-12)
        for path in found.paths:
            assert path.score == pytest.approx(tw.score(nodes, edges, path.labels), rel=1e-12)


def test_a_beam_too_wide_for_its_rows_to_be_kept():
    nodes, edges = np.random.default_rng(0).normal(size=(3, 600)), np.random.default_rng(1).normal(size=(600, 600))
    for decoder in (tw.Beam(600), tw.Beam(pruning=tw.KeepSize(600))):
        found = tw.decode(nodes, edges, decoder=decoder).paths[0]
        assert found.labels.tolist() == best(nodes, edges, decoder="viterbi").labels.tolist()
        assert found.score == pytest.approx(tw.score(nodes, edges, found.labels), rel=1e-12)


def test_a_batch_without_sentences_has_a_list_without_edges():
    assert tw.decode_batch([], []) == []
    assert tw.marginals_batch([], []) == []
    assert tw.decode_arrays(np.zeros((0, 3, 2)), []).labels.shape == (0, 1, 3)
    with pytest.raises(ValueError, match="edges must have shape"):
        tw.decode_batch([np.zeros((1, 2))], [])
