"""An encoded corpus as one file, which is written in pieces and then mapped: `docs/many_machines.md` describes it.

The first line of the file holds the position of its description and a digest of it. The description, at the end, is
JSON: the position of each array, label names, sizes, and the digest of all arrays. An inconsistent file raises
`EncodedError`.
"""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagwright import _core
from tagwright.data.output import replacing
from tagwright.system import read_at, write_at

FORMAT = 1
_MAGIC = "tagwright corpus"
_LINE = 128  # bytes of the first line
_ALIGNED = 64
_COPIED = 1 << 22  # bytes at a time
_RENAMED = 1 << 18  # tokens at a time
_DTYPES = {
    "sentence_end": "<u8",
    **{f"{kind}.{part}": dtype for kind in ("node", "edge") for part, dtype in
       (("id", "<i4"), ("value", "<f4"), ("end", "<u8"))},
    "labels": "<i4", "allowed_end": "<u8", "allowed": "<i4", "weight": "<f8", "partial": "u1",
    **{f"{names}.{part}": dtype for names in ("names", "edge_names") for part, dtype in
       (("slots", "<u8"), ("ends", "<u4"), ("bytes", "u1"))},
}  # fmt: skip
"""The arrays of a corpus, as cpp/train/corpus.h names them."""

Array = npt.NDArray[Any]


class EncodedError(ValueError):
    """A file that is damaged, incomplete, or not an encoded corpus."""


class Opened(NamedTuple):
    """An encoded corpus, mapped from its file."""

    corpus: _core.Corpus
    about: dict[str, Any]
    """The description in its file."""
    arrays: dict[str, Array]


class _Growing:
    """An array that grows at the end of an open file."""

    def __init__(self, number: int, first: int, dtype: str) -> None:
        self.number, self.first, self.dtype = number, first, np.dtype(dtype)
        self.count = 0

    def add(self, array: Array) -> None:
        self.put(self.count, array)
        self.count += len(array)

    def put(self, at: int, array: Array) -> None:
        _write(self.number, np.ascontiguousarray(array, self.dtype).data, self.first + at * self.dtype.itemsize)

    def get(self, begin: int, end: int) -> Array:
        size = (end - begin) * self.dtype.itemsize
        return np.frombuffer(read_at(self.number, size, self.first + begin * self.dtype.itemsize), self.dtype)

    @property
    def end(self) -> int:
        return self.first + self.count * self.dtype.itemsize


class Encoding:
    """An encoded corpus while it is written.

    The features of nodes, by far the largest array, are written where they stay; the others beside, and put behind them
    at the end.
    """

    def __init__(self, number: int, folder: Path, stack: contextlib.ExitStack) -> None:
        """Write to an open file; temporary files are in the folder until the stack is closed."""
        self._number, self._folder, self._stack = number, folder, stack
        self._arrays = {"node.id": _Growing(number, _LINE, _DTYPES["node.id"])}
        self.tokens = self.sentences = 0

    def array(self, name: str) -> _Growing:
        """Return an array, which is begun where there is none yet."""
        if name not in self._arrays:
            beside = self._stack.enter_context(tempfile.TemporaryFile(dir=self._folder))  # noqa: SIM115
            self._arrays[name] = _Growing(beside.fileno(), 0, _DTYPES[name])
        return self._arrays[name]

    def add_encoded(self, piece: dict[str, Array]) -> None:
        """Add a piece of the core's encoder, whose ends begin at 0."""
        tokens = len(piece["node.end"])
        for kind in ("node", "edge"):
            ids, own = self.array(f"{kind}.id"), piece[f"{kind}.id"]
            self._add_values(f"{kind}.value", ids.count, len(own), piece[f"{kind}.value"])
            self.array(f"{kind}.end").add(piece[f"{kind}.end"] + np.uint64(ids.count))
            ids.add(own)
        self.array("sentence_end").add(piece["sentence_end"] + np.uint64(self.tokens))
        self.tokens += tokens
        self.sentences += len(piece["sentence_end"])

    def _add_values(self, name: str, before: int, new: int, values: Array) -> None:
        """Add the values of features; there are none as long as all are 1."""
        if not len(values) and name not in self._arrays:
            return
        grown = self.array(name)
        while grown.count < before:
            grown.add(np.ones(min(_COPIED, before - grown.count), np.float32))
        grown.add(values if len(values) else np.ones(new, np.float32))

    def add_labels(self, ids: Array, allowed_end: Array | None = None, allowed: Array | None = None) -> None:
        """Add the labels of the tokens that `add_encoded` was last given; allowed: where they may be partly known."""
        self.array("labels").add(ids)
        if allowed_end is None or allowed is None:
            return
        self.array("allowed_end").add(allowed_end + np.uint64(self.array("allowed").count))
        self.array("allowed").add(allowed)

    def rename(self, kind: str, renamed: Array) -> None:
        """Renumber features in place, dropping those that have no new number."""
        if not len(renamed):
            return
        ids, ends, values = self.array(f"{kind}.id"), self.array(f"{kind}.end"), self._arrays.get(f"{kind}.value")
        begin = left = 0
        valued = False
        for at in range(0, ends.count, _RENAMED):
            own = ends.get(at, min(at + _RENAMED, ends.count))
            stop = int(own[-1])
            value = values.get(begin, stop) if values else np.empty(0, np.float32)
            id, value, end = _core.rename_features(ids.get(begin, stop), value, own - np.uint64(begin), renamed)
            ids.put(left, id)
            if values:
                values.put(left, value if len(value) else np.ones(len(id), np.float32))
                valued = valued or len(value) > 0
            ends.put(at, end + np.uint64(left))
            begin, left = stop, left + len(id)
        ids.count = left
        if values:
            values.count = left
        if not valued:
            self._arrays.pop(f"{kind}.value", None)

    def finish(self, about: dict[str, Any]) -> Opened:
        """Write all arrays, their description and the first line; return the mapped corpus."""
        end = self._arrays["node.id"].end
        os.ftruncate(self._number, end)
        places: dict[str, list[int]] = {"node.id": [_LINE, self._arrays["node.id"].count]}
        for name, grown in self._arrays.items():
            if name == "node.id":
                continue
            begin = -(-end // _ALIGNED) * _ALIGNED
            _copy(grown, self._number, begin)
            places[name] = [begin, grown.count]
            end = begin + grown.end
        about = {**about, "arrays": places}
        corpus, arrays = _mapped(self._number, about)
        about["digest"] = corpus.digest
        text = json.dumps(about, ensure_ascii=False, allow_nan=False).encode()
        _write(self._number, text, end)
        line = f"{_MAGIC} {FORMAT} {end} {len(text)} {_digest(text)}"
        _write(self._number, line.ljust(_LINE - 1).encode() + b"\n", 0)
        return Opened(corpus, about, arrays)


def _copy(grown: _Growing, number: int, begin: int) -> None:
    for at in range(0, grown.end, _COPIED):
        _write(number, read_at(grown.number, min(_COPIED, grown.end - at), at), begin + at)


def _write(number: int, data: bytes | memoryview, at: int) -> None:
    left = memoryview(data).cast("B")
    while left:
        done = write_at(number, left, at)
        left, at = left[done:], at + done


def _digest(text: bytes) -> str:
    return _core.digest([np.frombuffer(text, np.uint8)])


@contextlib.contextmanager
def writing_encoded(path: Path | None, folder: Path) -> Iterator[Encoding]:
    """Yield what a corpus is written to: a file that gets its path at the end, or one without a name.

    folder: for large temporary files. An OSError names the file or folder that cannot be written to.
    """
    try:
        with contextlib.ExitStack() as stack:
            if path is None:
                number = stack.enter_context(tempfile.TemporaryFile(dir=folder)).fileno()
            else:
                number = stack.enter_context(replacing(path)).fileno()
            yield Encoding(number, folder, stack)
    except OSError as error:
        if error.filename is not None or error.errno is None:
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path or folder)) from error


def opened(path: Path) -> Opened:
    """Return what a file holds. It must not be cut while it is in use.

    Raises
    ------
    EncodedError
        If it is not complete.

    """
    try:
        with open(path, "rb") as file:
            magic, form, first, size, digest = file.read(_LINE).decode().rsplit(maxsplit=4)
            file.seek(int(first))
            text = file.read(int(size))
            if (magic, form) != (_MAGIC, str(FORMAT)) or _digest(text) != digest:
                raise ValueError("its description is damaged")
            about = json.loads(text)
            corpus, arrays = _mapped(file.fileno(), about)
        if corpus.digest != about["digest"]:
            raise ValueError("its digest does not fit")
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise EncodedError(f"{path}: not a complete encoded corpus ({error})") from None
    return Opened(corpus, about, arrays)


def _mapped(number: int, about: dict[str, Any]) -> tuple[_core.Corpus, dict[str, Array]]:
    """Return the corpus of an open file, after a check, and its arrays."""
    data = mmap.mmap(number, 0, access=mmap.ACCESS_READ)
    arrays = {name: _array(data, name, *place) for name, place in about["arrays"].items()}
    whole = np.frombuffer(data, np.uint8)
    corpus = _core.Corpus.opened(arrays, len(about["labels"]), about["features"], about["sets"], whole, number)
    return corpus, arrays


def _array(data: mmap.mmap, name: str, begin: int, count: int) -> Array:
    dtype = np.dtype(_DTYPES[name])
    if count == 0:
        return np.empty(0, dtype)
    if begin < 0 or count < 0 or begin % dtype.itemsize or begin + count * dtype.itemsize > len(data):
        raise ValueError(f"array {name} ends beyond the file")
    return np.frombuffer(data, dtype, count, begin)
