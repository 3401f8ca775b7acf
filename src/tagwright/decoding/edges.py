"""Edge scores, prepared once: `Edges`; and how scores are read from whatever holds them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.constraints.constraints import Constraints
from tagwright.decoding.tensors import is_tensor, tensor_values

FloatArray: TypeAlias = npt.NDArray[np.floating[Any]]

AS_IT_IS = (np.dtype(np.float32), np.dtype(np.float64))
"""Types of scores that the core reads without a copy."""

_MOST_SETS = 100_000_000
_NO_LABELS = "edges have no label (L = 0); there must be at least one"

_Ints: TypeAlias = npt.NDArray[np.int32]
_Reals: TypeAlias = npt.NDArray[np.float64]
Sides: TypeAlias = tuple[
    _Reals | None,
    _Reals | None,
    _Ints | None,
    tuple[int, _Ints, _Ints, _Ints, _Reals] | None,
    tuple[_Ints, _Reals] | None,
]
Ngrams: TypeAlias = tuple[object, object]
"""Label n-grams and their scores."""


class Edges:
    """Edge scores, prepared once and reused for every sentence.

    Parameters
    ----------
    scores : array of shape (L, L) or (T-1, L, L), or sparse matrix of shape (L, L)
        Indexed [previous, current]; or one matrix per step, for sentences of T tokens. A single matrix is copied,
        matrices per step are not: do not change them afterwards. Of a matrix or array of scipy.sparse only the stored
        entries are scores; all other edges have the score `default`.
    start, stop : array of shape (L,), optional
        Scores of being the first and the last label.
    order : sequence of int, optional
        Labels, most frequent first, for the decoders that refine; by default 0, 1, 2, ...
    sparse : bool, optional
        Whether to hold ``default + exceptions`` beside a dense matrix. By default where 70 % of it is one value, which
        may be ``-inf``. Not for sparse matrices.
    corrections : tuple of four arrays, optional
        Sparse changes in sets: set, previous, current, score. Each adds its score to its edge at the steps where its
        set is active: ``decode(..., active=[[0, 3], [], [3]])``.
    ngrams : tuple of two arrays, optional
        Label n-grams of three or four labels, and one score per n-gram, which is added wherever it occurs: an array
        (N, 3) or (N, 4), with -1 behind an n-gram of three labels, or a list of them.
    default : float, optional
        The score of edges that a sparse matrix does not store; by default ``-inf``, which forbids them. Only for sparse
        matrices.

    Examples
    --------
    >>> import numpy as np, tagwright as tw
    >>> edges = tw.Edges(np.zeros((3, 3)), start=[0, 0, -np.inf])
    >>> edges
    Edges(L=3, sparse, 0 of 9 edges differ from 0)

    """

    def __init__(
        self,
        scores: object,
        start: object = None,
        stop: object = None,
        order: object = None,
        *,
        sparse: bool | None = None,
        corrections: tuple[object, object, object, object] | None = None,
        ngrams: Ngrams | None = None,
        default: float | None = None,
    ) -> None:
        sides = sides_of(start, stop, order, corrections, ngrams)
        if hasattr(scores, "tocoo"):
            if sparse is False:
                raise ValueError("sparse=False needs a dense matrix; use scores.toarray()")
            self._core = _from_sparse(scores, -np.inf if default is None else default, sides)
            return
        if default is not None:
            raise ValueError("default is for sparse matrices; a dense matrix holds the score of every edge")
        matrix = _matrix(scores)
        if matrix.ndim == 2:
            self._core = _core.Edges.from_matrix(matrix, None if sparse is None else bool(sparse), sides)
            return
        for what, given in (("sparse=True needs", sparse), ("corrections need", corrections is not None)):
            if given:
                raise ValueError(f"{what} one (L, L) matrix, not one per step")
        self._core = _core.Edges.from_steps(matrix, sides)

    @classmethod
    def from_exceptions(
        cls,
        L: int,
        default: float,
        previous: object,
        current: object,
        scores: object,
        start: object = None,
        stop: object = None,
        order: object = None,
        *,
        corrections: tuple[object, object, object, object] | None = None,
        ngrams: Ngrams | None = None,
    ) -> Edges:
        """Edges that are `default` but for the given (previous, current, score) triples; never holds L*L numbers."""
        checks.at_least_one("L", L)
        previous, current, values = ints("previous", previous), ints("current", current), reals("scores", scores)
        if not len(previous) == len(current) == len(values):
            lengths = f"{len(previous)}, {len(current)} and {len(values)}"
            raise ValueError(f"previous, current and scores must be of one length, not {lengths}")
        checks.real("default", default)
        sides = sides_of(start, stop, order, corrections, ngrams)
        return cls._of(_core.Edges.from_triples(int(L), float(default), previous, current, values, False, sides))

    @classmethod
    def _of(cls, core: _core.Edges) -> Edges:
        made = cls.__new__(cls)
        made._core = core
        return made

    @property
    def L(self) -> int:
        """Number of labels."""
        return self._core.L

    @property
    def sparse(self) -> bool:
        """Whether the edges are stored as `default + exceptions`: a Viterbi step then costs O(L + exceptions)."""
        return self._core.is_sparse

    @property
    def default(self) -> float:
        """Score of all other edges; only for sparse edges."""
        return self._core.default

    @property
    def exceptions(self) -> int:
        """Number of edges whose score is not the default; only for sparse edges."""
        return self._core.exceptions

    @property
    def ngrams(self) -> int:
        """Number of label n-grams with a score other than 0."""
        return self._core.ngrams

    def constrained(self, constraints: Constraints) -> _core.Edges:
        """Return the core's edges under constraints, cached per `Constraints` unless there is one matrix per step."""
        if not constraints.limits_edges:
            return self._core
        if len(constraints.labels) != self.L:
            raise ValueError(
                f"the constraints are for {len(constraints.labels)} labels, but the edges are for {self.L}"
            )
        if self._core.is_stepwise:
            return self._core.constrained(constraints.core(), constraints.labelling_core())
        if not hasattr(self, "_constrained"):
            self._constrained: WeakKeyDictionary[Constraints, _core.Edges] = WeakKeyDictionary()
        found = self._constrained.get(constraints)
        if found is None:
            found = self._core.constrained(constraints.core(), constraints.labelling_core())
            self._constrained[constraints] = found
        return found

    def prepare(self) -> Edges:
        """Build the tables of bounds now rather than at the first sentence, and return self."""
        self._core.prepare()
        return self

    def __repr__(self) -> str:
        core = self._core
        if core.is_stepwise:
            form = "one matrix per step"
        elif core.is_sparse:
            form = f"sparse, {core.exceptions} of {core.L**2} edges differ from {core.default:g}"
        else:
            form = "dense"
        sets = f", {core.correction_sets} correction sets" if core.correction_sets else ""
        ngrams = f", {core.ngrams} n-grams" if core.ngrams else ""
        return f"Edges(L={core.L}, {form}{sets}{ngrams})"


def sides_of(
    start: object,
    stop: object,
    order: object,
    corrections: Sequence[object] | None,
    ngrams: Sequence[object] | None = None,
) -> Sides:
    """Convert the other arguments of `Edges` for the core; None for those not given."""
    ends = [None if given is None else reals(what, given) for what, given in (("start", start), ("stop", stop))]
    ranks = None if order is None else ints("order", order)
    sets = None if corrections is None else _corrections(corrections)
    return ends[0], ends[1], ranks, sets, None if ngrams is None else _ngrams(ngrams)


def _corrections(given: Sequence[object]) -> tuple[int, _Ints, _Ints, _Ints, _Reals]:
    """Convert corrections: the number of sets, then set, previous, current and score of each."""
    shape = "corrections must be four arrays of one length: set, previous, current, score"
    if not isinstance(given, tuple | list) or len(given) != 4:
        raise ValueError(shape)
    sets, previous, current = (ints(f"corrections[{q}]", given[q]) for q in range(3))
    values = reals("corrections[3]", given[3])
    if not len(sets) == len(previous) == len(current) == len(values):
        raise ValueError(shape)
    highest = int(sets.max(initial=-1))
    if highest > _MOST_SETS:
        raise ValueError(f"corrections name set {highest}; number the sets from 0 on, up to {_MOST_SETS}")
    return highest + 1, sets, previous, current, values


def _ngrams(given: Sequence[object]) -> tuple[_Ints, _Reals]:
    """Read label n-grams as an array (N, 4), padded with -1, and their scores."""
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise ValueError("ngrams must be a pair: n-grams of three or four labels, and one score per n-gram")
    found, values = _ngram_labels(given[0]), reals("ngrams[1]", given[1])
    if len(found) != len(values):
        raise ValueError(f"ngrams has {len(found)} n-grams but {len(values)} scores")
    return found, values


def _ngram_labels(given: object) -> _Ints:
    if not isinstance(given, list | tuple):
        no_mask("ngrams[0]", given)
        return _labels_of(array_of("ngrams[0]", given))
    rows = list(given)
    try:
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    except TypeError:
        raise ValueError("ngrams[0] must be a list of label n-grams, such as [[0, 1, 2], [3, 1, 0, 2]]") from None
    found = np.full((len(rows), 4), -1, np.int32)
    if wrong := np.flatnonzero((lengths != 3) & (lengths != 4)).tolist():
        raise ValueError(f"ngram {wrong[0]} has {lengths[wrong[0]]} labels; label n-grams have three or four")
    for length in (3, 4):
        which = np.flatnonzero(lengths == length)
        if len(which):
            read = _labels_of(array_of("ngrams[0]", [rows[q] for q in which.tolist()]))
            found[which, :length] = read[:, :length]
    return found


def _labels_of(array: npt.NDArray[Any]) -> _Ints:
    if array.size == 0:
        return np.zeros((0, 4), np.int32)
    if array.ndim != 2 or array.shape[1] not in (3, 4) or array.dtype.kind not in "iu":
        what = f"{array.dtype} of shape {array.shape}"
        raise ValueError(f"ngrams[0] must be integers of shape (N, 3) or (N, 4), not {what}")
    if array.min() < -(2**31) or array.max() >= 2**31:
        raise ValueError("ngrams[0] holds numbers beyond 2**31")
    found = np.full((len(array), 4), -1, np.int32)
    found[:, : array.shape[1]] = array
    return found


def scores_of(what: str, scores: object) -> FloatArray:
    """Return scores as a contiguous array, without a copy if their type and layout allow it."""
    if isinstance(scores, np.ndarray):
        array = scores
    else:
        by_dlpack = hasattr(scores, "__dlpack__") and not hasattr(scores, "__array__")
        array = array_of(what, scores, np.from_dlpack if by_dlpack else np.asarray)
    if array.dtype in AS_IT_IS and array.flags.c_contiguous and array.flags.aligned and type(array) is np.ndarray:
        return array
    no_mask(what, array)
    if array.dtype in AS_IT_IS:
        return np.require(array, requirements=["C", "A", "E"])  # E: an array that is nothing more
    if array.dtype == np.float16:
        return np.ascontiguousarray(array, dtype=np.float32)
    if array.dtype.kind in "fiub" or array.size == 0:
        with np.errstate(over="ignore"):  # what becomes infinite is refused by its position
            return np.ascontiguousarray(array, dtype=np.float64)
    raise ValueError(f"{what} must hold numbers, not {array.dtype}")


def array_of(what: str, values: object, read: Callable[[Any], npt.NDArray[Any]] = np.asarray) -> npt.NDArray[Any]:
    """Return array-like values as an array; tensors of PyTorch are detached and moved to the CPU."""
    try:
        return tensor_values(what, values) if is_tensor(values) else read(_own(values))
    except (ValueError, TypeError, RuntimeError, BufferError, OverflowError) as error:
        raise ValueError(f"{what} cannot be read as an array of numbers: {error}") from None


def _own(values: Any, most: int = 3) -> Any:
    """Copy nested lists and tuples, up to a depth of `most`.

    NumPy holds no references to the items of a list while it converts them, and a conversion may change the list.
    """
    if type(values) not in (list, tuple):  # NumPy itself copies those of other classes
        return values
    if not most:
        raise ValueError("lists are nested more than three levels deep")
    own = values[:]
    return own if {list, tuple}.isdisjoint(map(type, own)) else [_own(item, most - 1) for item in own]


def no_mask(what: str, values: object) -> None:
    """Raise ValueError for masked arrays."""
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(f"{what} is a masked array; use .filled(-numpy.inf) to forbid what is masked")


def _matrix(scores: object) -> FloatArray:
    array = scores_of("edges", scores)
    if array.ndim not in (2, 3) or array.shape[-1] != array.shape[-2]:
        raise ValueError(f"edges must have shape (L, L) or (T-1, L, L), not {array.shape}")
    if array.shape[-1] == 0:
        raise ValueError(_NO_LABELS)
    return array


def _from_sparse(scores: Any, default: float, sides: Sides) -> _core.Edges:
    """Read a matrix or array of scipy.sparse."""
    checks.real("default", default)
    if len(scores.shape) != 2 or scores.shape[0] != scores.shape[1]:
        raise ValueError(f"sparse edges must have shape (L, L), not {scores.shape}")
    if scores.shape[0] == 0:
        raise ValueError(_NO_LABELS)
    entries = scores.tocoo(copy=True)
    entries.sum_duplicates()
    previous, current = ints("edges.row", entries.row), ints("edges.col", entries.col)
    values = scores_of("edges.data", entries.data)
    return _core.Edges.from_triples(scores.shape[0], float(default), previous, current, values, True, sides)


def ints(what: str, values: object) -> _Ints:
    """Return a copy as an int32 array."""
    no_mask(what, values)
    array = array_of(what, values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(f"{what} must be a sequence of whole numbers")
    if array.size and (array.min() < -(2**31) or array.max() >= 2**31):
        raise ValueError(f"{what} holds numbers beyond 2**31")
    return np.array(array, dtype=np.int32, order="C")


def reals(what: str, values: object) -> _Reals:
    """Return a copy as a float64 array."""
    no_mask(what, values)
    array = array_of(what, values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "fiub"):
        raise ValueError(f"{what} must be a sequence of numbers")
    with np.errstate(over="ignore"):
        return np.array(array, dtype=np.float64, order="C")
