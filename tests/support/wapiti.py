"""Wapiti itself, through libwapiti: what its command line prints with few decimals, as numbers."""

import ctypes
from pathlib import Path
from typing import NamedTuple

import pytest

api = pytest.importorskip("wapiti.api", reason="libwapiti is not installed: pip install libwapiti")

_LIB, _LIBC, _VOID = api._wapiti, api._libc, ctypes.c_void_p


class _Model(ctypes.Structure):
    """The fields of `mdl_t` up to its reader."""

    _fields_ = [
        ("opt", _VOID), ("type", ctypes.c_int), ("nlbl", ctypes.c_uint32), ("nobs", ctypes.c_uint64),
        ("nftr", ctypes.c_uint64), ("kind", _VOID), ("uoff", _VOID), ("boff", _VOID), ("theta", _VOID),
        ("train", _VOID), ("devel", _VOID), ("reader", _VOID),
    ]  # fmt: skip


for name, result, arguments in (
    ("rdr_readseq", _VOID, [_VOID, _VOID, ctypes.c_bool]),
    ("rdr_freeseq", None, [_VOID]),
    ("tag_viterbi", None, [_VOID] * 5),
    ("pat_comp", _VOID, [_VOID]),
    ("pat_exec", _VOID, [_VOID, _VOID, ctypes.c_uint32]),
    ("pat_free", None, [_VOID]),
    ("xstrdup", _VOID, [ctypes.c_char_p]),
):
    getattr(_LIB, name).restype, getattr(_LIB, name).argtypes = result, arguments
_LIBC.fmemopen.restype, _LIBC.fmemopen.argtypes = _VOID, [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p]
_LIBC.fclose.argtypes = [_VOID]


class Answer(NamedTuple):
    """What Wapiti says of a sequence."""

    labels: list[str]
    score: float
    """Of the labelling: a sum of weights; of a MEMM a probability."""
    of_labels: list[float]
    """Of each label; with `posteriors`, its probability."""


class Tagger:
    """A model that Wapiti has loaded."""

    def __init__(self, path, labels, posteriors=False):
        """Load a model, whose labels are given in their order."""
        self._labels = labels
        self._wrapped = api.Model(model=str(path), nthread=1, lblpost=posteriors)
        self._model = ctypes.cast(self._wrapped._model, ctypes.POINTER(_Model))

    def tag(self, text):
        """Return an answer for each sequence of a column file."""
        data = text.encode()
        file = _LIBC.fmemopen(data, len(data), b"r")
        answers = []
        while seq := _LIB.rdr_readseq(self._model.contents.reader, file, False):
            length = ctypes.c_uint32.from_address(seq).value
            out, score, of_labels = (ctypes.c_uint32 * length)(), ctypes.c_double(), (ctypes.c_double * length)()
            _LIB.tag_viterbi(self._model, seq, out, ctypes.byref(score), of_labels)
            _LIB.rdr_freeseq(seq)
            answers.append(Answer([self._labels[y] for y in out], score.value, list(of_labels)))
        _LIBC.fclose(file)
        return answers


def train(path, patterns, text, **options):
    """Train a model on a column file whose last column has the labels, and save it; options as of `api.Model`."""
    model = api.Model(patterns=patterns, nthread=1, **options)
    autouni = options.get("maxent", False)
    model.train([line for line in text.splitlines() if line] if autouni else text.strip().split("\n\n"))
    model.save(str(path))
    return Path(path)


def observations(pattern, rows):
    """Return what Wapiti makes of a pattern for each token of a sequence, as bytes; rows: cells as bytes."""
    # Some patterns read beyond the end of a cell.
    cells = [[ctypes.create_string_buffer(cell + b"\0" * 1024) for cell in row] for row in rows]
    pointers = [(_VOID * len(row))(*map(ctypes.addressof, row)) for row in cells]
    widths = (ctypes.c_uint32 * len(rows))(*map(len, rows))

    class Tokens(ctypes.Structure):
        _fields_ = [("len", ctypes.c_uint32), ("lbl", _VOID), ("cnts", _VOID), ("toks", _VOID * len(rows))]

    tokens = Tokens(len(rows), None, ctypes.addressof(widths), (_VOID * len(rows))(*map(ctypes.addressof, pointers)))
    compiled = _LIB.pat_comp(_LIB.xstrdup(pattern))
    found = []
    for t in range(len(rows)):
        made = _LIB.pat_exec(compiled, ctypes.byref(tokens), t)
        found.append(ctypes.string_at(made))
        _LIBC.free(made)
    _LIB.pat_free(compiled)
    return found
