"""Scores in every dress, and bad ones."""

import numpy as np

ODD = (None, "text", 5, [], [[]], [[1.0, 2.0], [3.0]], {}, [["a"]], object(), [[None]], [[1j]], [[10**400]], b"\0" * 8)
TYPES = ("f2", "i1", "u8", "bool", "c8", "S3", "U2", "M8[s]", "m8[s]", "f4,f4", "O")
WORST = 1e290
"""Scores beyond are refused."""


class OnlyDlpack:
    """Scores of another library."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def unaligned(array):
    held = bytearray(array.nbytes + 1)
    moved = np.frombuffer(held, array.dtype, array.size, 1).reshape(array.shape)
    moved[...] = array
    return moved


def strided(array):
    held = np.full([2 * n + 1 for n in array.shape], 7, array.dtype)
    part = held[tuple(slice(1, 2 * n + 1, 2) for n in array.shape)]
    part[...] = array
    return part


# The same values in other clothes.
FORMS = (
    np.asarray, np.asfortranarray, strided, unaligned, np.ndarray.tolist, OnlyDlpack,
    lambda a: a.astype(a.dtype.newbyteorder()), lambda a: a[::-1].copy()[::-1], lambda a: a.astype("f8"),
    lambda a: a.astype(np.longdouble), lambda a: list(map(np.array, a)) or a, lambda a: memoryview(a.copy()),
    lambda a: a.view(np.matrix), lambda a: np.lib.stride_tricks.as_strided(a, writeable=False),
)  # fmt: skip


def poked(draw, array):
    """An array with a bad value, a bad shape or a bad type."""
    array = np.array(array, dtype=draw.choice(("f4", "f8")))
    match draw.randrange(9):
        case 0 | 1 | 2 if array.size:
            bad = draw.choice((np.nan, np.inf, -np.inf, WORST, -WORST, 1.1 * WORST, -1e300, 1e20, 5e-324))
            with np.errstate(over="ignore"):
                array.flat[draw.randrange(array.size)] = bad
        case 3:
            array = np.resize(array, [draw.choice((0, 1, n, n + 1)) for n in array.shape])
        case 4:
            array = array[None] if draw.chance(0.5) else array.reshape(-1)
        case 5:
            with np.errstate(invalid="ignore"):
                array = array.astype(draw.choice(TYPES))
        case 6:
            return draw.choice(ODD)
        case 7:
            array = np.broadcast_to(array[..., :1], array.shape)
    return array


def numbers(draw, values, top):
    """Whole numbers that index labels, sets or tokens, now and then odd ones."""
    values = np.array(values)
    if draw.chance(0.3) and values.size:
        values.flat[draw.randrange(values.size)] = draw.choice((-1, top, top - 1, 2**31 - 1, -(2**31), 2**40))
    others = values.tolist(), values.astype("f8"), values[::-1], values[:-1], None, [values]
    return values if draw.chance(0.3) else draw.choice(others)


def plain(values, *shapes):
    """Whether these are numbers of one of these shapes, which nothing may refuse but for their size."""
    return isinstance(values, np.ndarray) and values.dtype.kind in "fiub" and values.shape in shapes


def bad(values):
    """Whether scores must be refused."""
    values = np.asarray(values, dtype=float)
    return bool(np.isnan(values).any() or (values > WORST).any() or (values[values > -np.inf] < -WORST).any())
