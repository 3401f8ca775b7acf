"""Word vectors, and the formats of files that hold them."""

from __future__ import annotations

import array
import ast
import gzip
import io
import itertools
import json
import lzma
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from tagwright import _core
from tagwright.data.files import OPENERS, DataError

__all__ = ["Vectors"]

MOST_DIMENSIONS = 10_000
LARGEST = 1e30
_LONGEST_LINE = 1 << 22  # bytes
_LONGEST_WORD = 1 << 12
_BUFFER = 1 << 16
_LONGEST_HEADER = 100_000_000  # of safetensors
_PREFIX = "vectors."
_ARRAYS = ("slots", "ends", "bytes", "values")

Floats = npt.NDArray[np.float32]
Path_ = str | os.PathLike[str]
Found = tuple[list[str], Floats]


class Vectors:
    """Vectors of words, for ``%vector[row,column,name]`` in templates.

    Parameters
    ----------
    words : iterable of str
        Of a word that is given more than once, the first vector counts.
    values : array of shape (words, dimensions)
        Finite numbers, which are held as float32.

    Examples
    --------
    >>> import tagwright as tw
    >>> vectors = tw.Vectors(["the", "dog"], [[0.5, 1.0], [-1.0, 0.25]])
    >>> vectors
    Vectors(2 words, 2 dimensions)
    >>> vectors["dog"]
    array([-1.  ,  0.25], dtype=float32)

    """

    def __init__(self, words: Iterable[str], values: npt.ArrayLike) -> None:
        words = list(words)
        matrix = np.asarray(values)
        if matrix.ndim != 2 or matrix.dtype.kind not in "fiu" or len(matrix) != len(words):
            raise ValueError(
                f"vectors need one row of numbers for each of the {len(words):,} words, "
                f"not {matrix.dtype} of shape {matrix.shape}"
            )
        for n, word in enumerate(words):
            if not isinstance(word, str) or not word or not _unicode(word):
                raise ValueError(f"word {n}, counted from 0, is {word!r}; a word is text that is not empty")
        if wrong := _wrong(matrix):
            raise ValueError(f"the vector of {words[wrong[0]]!r} {wrong[1]}")
        self._hold(_indexed(words, np.array(matrix, np.float32)))  # a copy

    def _hold(self, arrays: dict[str, npt.NDArray[Any]]) -> None:
        self._arrays = arrays
        self.core = _core.VectorTable.make(arrays)

    @classmethod
    def read(cls, path: Path_, first: int | None = None) -> Vectors:
        """Return the vectors of a file: word2vec (text or binary), GloVe, NumPy's ``.npy`` or safetensors.

        Parameters
        ----------
        path : str or path
            docs/templates.md describes the formats. Text and binary files of word2vec and GloVe may be ``.gz`` or
            ``.xz``.
        first : int, optional
            Read only that many words from the beginning, where most files have the most frequent words.

        Raises
        ------
        DataError
            With the file and the line or byte of what is wrong.

        """
        if first is not None and (isinstance(first, bool) or not isinstance(first, int) or first < 1):
            raise ValueError(f"first must be a whole number of at least 1, not {first!r}")
        words, values = _read(os.fspath(path), first)
        return cls.of_arrays(_indexed(words, values))

    @classmethod
    def of_arrays(cls, arrays: dict[str, npt.NDArray[Any]]) -> Vectors:
        """Return the vectors of these arrays, which are checked but not copied."""
        made = cls.__new__(cls)
        made._hold(arrays)
        return made

    @property
    def words(self) -> list[str]:
        """The words, in the order of their rows."""
        text, ends = self._arrays["bytes"].tobytes(), self._arrays["ends"].tolist()
        return [text[begin:end].decode() for begin, end in itertools.pairwise([0, *ends])]

    @property
    def values(self) -> Floats:
        """The components, of shape (words, dimensions); read-only."""
        values: Floats = self._arrays["values"].reshape(len(self), self.dimensions)
        values.flags.writeable = False
        return values

    @property
    def dimensions(self) -> int:
        """The number of components of a vector."""
        return self.core.dimensions

    def __len__(self) -> int:
        """Return the number of words."""
        return self.core.size

    def find(self, word: str) -> int | None:
        """Return the row of a word as templates find it; None where it has none.

        The word is looked up as it is, with its digits as 0, in lower case, and with both.
        """
        row = self.core.find(word)
        return None if row < 0 else row

    def __getitem__(self, word: str) -> Floats:
        """Return the vector of a word as templates find it; KeyError where it has none."""
        row = self.find(word)
        if row is None:
            raise KeyError(word)
        found: Floats = self.values[row]
        return found

    def __contains__(self, word: object) -> bool:
        """Return whether templates find a vector for the word."""
        return isinstance(word, str) and self.find(word) is not None

    def __iter__(self) -> Iterator[str]:
        """Yield the words."""
        return iter(self.words)

    def __eq__(self, other: object) -> bool:
        """Return whether both have the same words with the same vectors, in the same order."""
        if not isinstance(other, Vectors):
            return NotImplemented
        return all(np.array_equal(self._arrays[name], other._arrays[name]) for name in ("ends", "bytes", "values"))

    __hash__ = None  # type: ignore[assignment]

    def digest(self) -> str:
        """Return a digest of words and vectors, the same for those that are equal."""
        return _core.digest([self._arrays[name] for name in ("ends", "bytes", "values")])

    def __deepcopy__(self, memo: object) -> Vectors:
        """Return the same object, which never changes: estimators that are cloned share it."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Let models and templates be sent to other processes."""
        return Vectors.of_arrays, ({name: np.array(array) for name, array in self._arrays.items()},)

    def __repr__(self) -> str:
        """Return the sizes."""
        return f"Vectors({len(self):,} words, {self.dimensions:,} dimensions)"


def to_arrays(lists: dict[str, Any]) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays that a model file has for the vectors among some lists."""
    return {
        f"{_PREFIX}{name}.{part}": one._arrays[part]
        for name, one in lists.items()
        if isinstance(one, Vectors)
        for part in _ARRAYS
    }


def from_arrays(arrays: dict[str, npt.NDArray[Any]]) -> dict[str, Vectors]:
    """Return the vectors that a model file has, by name."""
    names = [name[len(_PREFIX) : -len(".values")] for name in arrays if is_array(name) and name.endswith(".values")]
    return {name: Vectors.of_arrays({part: arrays[f"{_PREFIX}{name}.{part}"] for part in _ARRAYS}) for name in names}


def is_array(name: str) -> bool:
    """Return whether an array of a model file belongs to vectors."""
    return name.startswith(_PREFIX)


def _indexed(words: list[str], values: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of vectors; of equal words, the first one's."""
    if len(set(words)) < len(words):
        rows: dict[str, int] = {}
        for n, word in enumerate(words):
            rows.setdefault(word, n)
        words, values = list(rows), values[list(rows.values())]
    slots, ends, text = _core.index_arrays(words)
    flat = np.ascontiguousarray(values, np.float32).reshape(-1)
    return {"slots": slots, "ends": ends, "bytes": text, "values": flat}


def _unicode(word: str) -> bool:
    return not any("\ud800" <= c <= "\udfff" for c in word)


def _wrong(values: npt.NDArray[Any]) -> tuple[int, str] | None:
    """Return the first row that holds what no vector may, and what; None where there is none."""
    n, d = values.shape
    if not 1 <= d <= MOST_DIMENSIONS:
        return (0, f"has {d:,} components; between 1 and {MOST_DIMENSIONS:,} are possible") if n else None
    for begin in range(0, n, 4096):
        with np.errstate(invalid="ignore"):  # a signalling NaN
            bad = ~(np.abs(values[begin : begin + 4096].astype(np.float64)) <= LARGEST)
        if bad.any():
            row, column = np.argwhere(bad)[0].tolist()
            return begin + row, f"has the component {values[begin + row, column]!s}; it must be finite, below 1e30"
    return None


# --- files ---


def _read(path: str, first: int | None) -> Found:
    """Return the words and vectors of a file, in its order."""
    opener = OPENERS.get(os.path.splitext(path)[1].lower(), io.FileIO)
    try:
        with io.BufferedReader(opener(path, "rb"), _BUFFER) as file:
            start = file.peek(64)
            if not start:
                raise DataError(f"{path}: empty; a file of word vectors is needed")
            if start.startswith(b"\x93NUMPY"):
                return _npy(path, first)
            if start[8:9] == b"{" and int.from_bytes(start[:8], "little") <= _LONGEST_HEADER:
                return _safetensors(path, first)
            return _word2vec(file, path, first)
    except (gzip.BadGzipFile, lzma.LZMAError, zlib.error, EOFError) as error:
        raise DataError(f"{path}: cannot be unpacked, {error}; fetch or pack it again") from None


def _word2vec(file: io.BufferedReader, path: str, first: int | None) -> Found:
    """Read word2vec's text or binary form, or GloVe's text, which has no header."""
    line = _line(file, path, 1)
    header = re.fullmatch(rb"(\d{1,18}) (\d{1,18})\s*", line)
    if header is None:
        d = len(line.split()) - 1
        if d < 1:
            raise DataError(
                f"{path}:1: a word without numbers; each line is a word and its vector, with blanks between"
            )
        _check_dimensions(path, d)
        return _text(itertools.chain([line], _lines(file, path, 2)), path, (1, d, None, first))
    count, d = int(header[1]), int(header[2])
    if not count:
        raise DataError(f"{path}:1: the header declares no words")
    _check_dimensions(path, d)
    if _is_binary(file.peek(_BUFFER), d):
        return _binary(file, path, len(line), (count, d, first))
    return _text(_lines(file, path, 2), path, (2, d, count, first))


def _check_dimensions(path: str, d: int) -> None:
    if not 1 <= d <= MOST_DIMENSIONS:
        raise DataError(f"{path}:1: vectors of {d:,} components; between 1 and {MOST_DIMENSIONS:,} are possible")


def _line(file: IO[bytes], path: str, number: int) -> bytes:
    line = file.readline(_LONGEST_LINE)
    if len(line) == _LONGEST_LINE:
        raise DataError(f"{path}:{number}: longer than {_LONGEST_LINE:,} bytes; this is no file of word vectors")
    return line


def _lines(file: IO[bytes], path: str, number: int) -> Iterator[bytes]:
    while line := _line(file, path, number):
        yield line
        number += 1


def _is_binary(start: bytes, d: int) -> bool:
    """Return whether the vectors behind the header are numbers of four bytes each."""
    cells = start.split(b"\n", 1)[0].strip().rsplit(None, d)
    if len(cells) == d + 1 and all(map(_is_number, cells[1:])):
        return False
    return re.search(rb"[\x00-\x08\x0e-\x1f]", start) is not None


def _text(lines: Iterator[bytes], path: str, form: tuple[int, int, int | None, int | None]) -> Found:
    """Read lines of a word and its vector. form: number of the first line, dimensions, words declared, words needed."""
    number, d, count, first = form
    begin = number
    words: list[str] = []
    flat = array.array("f")
    for number, line in enumerate(lines, begin):
        if first is not None and len(words) == first:
            break
        cells = line.strip().rsplit(None, d)
        if count is not None and len(words) == count and cells:
            raise DataError(f"{path}:{number}: more vectors than the {count:,} that the first line declares")
        if not cells:
            if any(rest.strip() for rest in lines):
                raise DataError(f"{path}:{number}: an empty line; remove it")
            break
        if len(cells) != d + 1:
            raise DataError(f"{path}:{number}: {len(cells) - 1:,} numbers behind the word, not {d:,} as before")
        try:
            flat.extend(map(float, cells[1:]))
        except (ValueError, OverflowError):
            bad = next(cell for cell in cells[1:] if not _is_number(cell))
            shown = bad[:40].decode("utf-8", "replace")
            raise DataError(f"{path}:{number}: {shown!r} is not a number; a vector has {d:,} of them") from None
        words.append(_word(cells[0], f"{path}:{number}"))
    if count is not None and len(words) < min(count, first or count):
        raise DataError(
            f"{path}: ends after {len(words):,} of the {count:,} words that its first line declares; fetch it again"
        )
    values = np.frombuffer(flat, np.float32).reshape(-1, d)
    if wrong := _wrong(values):
        raise DataError(f"{path}:{begin + wrong[0]}: the vector of {words[wrong[0]]!r} {wrong[1]}")
    return words, values


def _is_number(cell: bytes) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _word(word: bytes, place: str) -> str:
    try:
        text = word.decode()
    except UnicodeDecodeError:
        raise DataError(f"{place}: a word that is not UTF-8; convert the file") from None
    if not text:
        raise DataError(f"{place}: a vector without a word")
    return text


def _binary(file: IO[bytes], path: str, at: int, form: tuple[int, int, int | None]) -> Found:
    """Read word2vec's binary form. at: the bytes before; form: words declared, dimensions, words needed."""
    count, d, first = form
    words: list[str] = []
    flat = bytearray()
    offsets = array.array("q")
    buffer, used = b"", 0
    for _ in range(min(count, first or count)):
        while (space := buffer.find(b" ", used, used + _LONGEST_WORD)) < 0 or len(buffer) < space + 1 + 4 * d:
            if space < 0 and len(buffer) - used >= _LONGEST_WORD:
                raise DataError(f"{path}: no word ends within {_LONGEST_WORD:,} bytes from byte {at + used:,} on")
            chunk = file.read(max(1 << 20, 4 * d))
            if not chunk:
                raise DataError(
                    f"{path}: ends at byte {at + len(buffer):,} within word {len(words) + 1:,} of the {count:,} "
                    "that its first line declares; fetch it again"
                )
            at, buffer, used = at + used, buffer[used:] + chunk, 0
        word = buffer[used:space].lstrip(b"\n")
        words.append(_word(word, f"{path}: byte {at + used:,}"))
        offsets.append(at + space + 1)
        used = space + 1 + 4 * d
        flat += buffer[space + 1 : used]
    more = (buffer[used:] + file.read(2)).strip(b"\n")
    if more and not (first and first < count):
        raise DataError(f"{path}: byte {at + used:,}: more vectors than the {count:,} that the first line declares")
    values = np.frombuffer(flat, "<f4").reshape(-1, d)
    if wrong := _wrong(values):
        raise DataError(f"{path}: byte {offsets[wrong[0]]:,}: the vector of {words[wrong[0]]!r} {wrong[1]}")
    return words, values


def _npy(path: str, first: int | None) -> Found:
    """Read a matrix of NumPy, whose words are in a file beside it."""
    try:
        with open(path, "rb") as file:
            wide = file.read(8)[6] > 1
            length = int.from_bytes(file.read(4 if wide else 2), "little")
            header = ast.literal_eval(file.read(min(length, _LONGEST_LINE)).decode())
            begin, size = file.tell(), os.fstat(file.fileno()).st_size
        kind, shape, columns = str(header["descr"]), tuple(map(int, header["shape"])), bool(header["fortran_order"])
    except (ValueError, IndexError, KeyError, TypeError, SyntaxError, RecursionError, MemoryError):
        raise DataError(f"{path}: byte 8: not the header of NumPy's format; save it again") from None
    if len(shape) != 2 or not re.fullmatch(r"[<>]f[248]", kind):
        raise DataError(f"{path}: a matrix of float numbers is needed, not {kind} of shape {shape}")
    rows, d = shape
    _check_shape(path, rows, d)
    if size - begin < rows * d * int(kind[2]):
        raise DataError(f"{path}: byte {size:,}: the matrix is not whole; fetch it again")
    matrix = np.memmap(path, np.dtype(kind), "r", begin, (rows, d), "F" if columns else "C")
    return _matrix(path, matrix, None, first)


def _check_shape(path: str, rows: int, d: int) -> None:
    if rows < 1:
        raise DataError(f"{path}: there are no vectors")
    if not 1 <= d <= MOST_DIMENSIONS:
        raise DataError(f"{path}: vectors of {d:,} components; between 1 and {MOST_DIMENSIONS:,} are possible")


_TENSORS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}


def _safetensors(path: str, first: int | None) -> Found:
    """Read the only matrix of a safetensors file; its words are in the metadata `vocab` or in a file beside it."""
    try:
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length))
            size = os.fstat(file.fileno()).st_size - 8 - length
        own = {
            name: tensor
            for name, tensor in header.items()
            if name != "__metadata__" and len(tensor["shape"]) == 2 and tensor["dtype"] in _TENSORS
        }
        shapes = {name: (*map(int, tensor["shape"]), *map(int, tensor["data_offsets"])) for name, tensor in own.items()}
        meta = header.get("__metadata__") or {}
        vocab = meta.get("vocab")
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, MemoryError):
        raise DataError(f"{path}: byte 8: not the header of a safetensors file; fetch it again") from None
    if len(own) != 1:
        names = ", ".join(sorted(own)) or "none"
        raise DataError(f"{path}: one matrix of float numbers is needed; there are: {names}")
    ((name, (rows, d, begin, end)),) = shapes.items()
    dtype = np.dtype(_TENSORS[own[name]["dtype"]])
    _check_shape(path, rows, d)
    if begin < 0 or end - begin != rows * d * dtype.itemsize or end > size:
        raise DataError(
            f"{path}: byte {8 + length + max(begin, 0):,}: the matrix {name!r} is not whole; fetch it again"
        )
    matrix: npt.NDArray[Any] = np.memmap(path, dtype, "r", 8 + length + begin, (rows, d))
    if own[name]["dtype"] == "BF16":
        matrix = (matrix[:first].astype(np.uint32) << 16).view(np.float32)
    words = vocab.split("\n") if isinstance(vocab, str) else None
    if words and not words[-1]:
        words.pop()
    return _matrix(path, matrix, words, first, rows)


def _matrix(path: str, matrix: npt.NDArray[Any], words: list[str] | None, first: int | None, rows: int = -1) -> Found:
    """Return the rows of a matrix with their words; those of a file beside it where there are none."""
    rows = len(matrix) if rows < 0 else rows
    place, begin = f"{path}: vocab", 0
    if words is None:
        own = [Path(path).with_suffix(end) for end in (".vocab", ".txt")]
        beside = next((one for one in own if one.is_file()), None)
        if beside is None:
            raise DataError(f"{path}: its words must be in {own[0]} or {own[1].name} beside it, one on each line")
        place, begin = str(beside), 1
        lines = beside.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n")
        if not lines[-1]:
            lines.pop()
        words = [_word(line.removesuffix(b"\r"), f"{place}:{n}") for n, line in enumerate(lines, 1)]
    if not all(words):
        raise DataError(f"{place}:{words.index('') + begin}: a vector without a word")
    if len(words) != rows:
        raise DataError(f"{place}: {len(words):,} words for the {rows:,} vectors of {path}")
    values = matrix[:first]
    if wrong := _wrong(values):
        raise DataError(f"{path}: row {wrong[0]:,}, counted from 0: the vector of {words[wrong[0]]!r} {wrong[1]}")
    return words[:first], np.array(values, np.float32)  # a copy: the file may change
