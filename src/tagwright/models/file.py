"""The model file: one safetensors file with arrays, metadata as JSON, and a digest of both. Large ones are mapped."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from tagwright import _core
from tagwright.data.output import Target, writing

FORMAT = 1
"""Format of the file; it is raised when older versions of tagwright could not read a new file."""

_DTYPES = {"U64": "<u8", "F64": "<f8", "F32": "<f4", "U32": "<u4", "I32": "<i4", "U16": "<u2", "U8": "u1"}
"""Dtypes of arrays, in the order of the file."""
_CODES = {np.dtype(dtype): code for code, dtype in _DTYPES.items()}

LARGE_FILE = 16 << 20
"""Bytes; a larger file is mapped, see docs/model_file.md."""
_LONGEST_HEADER = 100_000_000  # the limit of safetensors itself

Arrays = dict[str, npt.NDArray[Any]]


class ModelError(ValueError):
    """A file that is damaged, or not a model."""


def write(path: Target, arrays: Arrays, meta: dict[str, Any]) -> None:
    """Write arrays and metadata; a file appears whole under its name, or not at all."""
    arrays = _ordered(arrays)
    header = _header(arrays, _text({"about": meta, "digest": _digest(meta, arrays)}))
    with writing(path) as file:
        file.write(header)
        for array in arrays.values():
            file.write(array.data)


def _ordered(arrays: Arrays) -> Arrays:
    """Return the arrays in the order of the file: by dtype, so that all of them are aligned, then by name."""
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    for name, array in arrays.items():
        if array.ndim != 1 or array.dtype not in _CODES:
            raise ValueError(f"array {name!r} has {array.ndim} dimensions of {array.dtype}, which no model file holds")
    order = list(_CODES)
    return dict(sorted(arrays.items(), key=lambda item: (order.index(item[1].dtype), item[0])))


def _header(arrays: Arrays, stored: str) -> bytes:
    """Return what stands before the arrays, byte for byte as safetensors writes it."""
    header: dict[str, Any] = {"__metadata__": {"tagwright": stored}}
    end = 0
    for name, array in arrays.items():
        begin, end = end, end + array.nbytes
        header[name] = {"dtype": _CODES[array.dtype], "shape": [len(array)], "data_offsets": [begin, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text


def read(path: str | os.PathLike[str], *, map_large: bool = True) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays of a file, read-only, and its metadata.

    A file of up to 16 MB is copied into memory, so that later changes to it do not matter. A larger one is mapped and
    shared with other readers, unless `map_large` is false: truncating it while it is in use ends this process (SIGBUS).

    Raises
    ------
    ModelError
        If the file is truncated, altered, of a newer format, or not a model.

    """
    with open(path, "rb") as file:
        try:
            meta, arrays = _core.read_model_file(file.fileno(), LARGE_FILE if map_large else sys.maxsize)
            return arrays, json.loads(meta)
        except (ValueError, RecursionError) as error:
            raise ModelError(f"{os.fspath(path)}: {error}") from None


def is_model(path: str | os.PathLike[str]) -> bool:
    """Return whether the header of a file is that of a model; checkpoints are models, and damaged models too."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        return length <= _LONGEST_HEADER and b'"tagwright"' in file.read(length)


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)


def _digest(meta: dict[str, Any], arrays: Arrays) -> str:
    names = sorted(arrays)
    form = _text([meta, [[key, arrays[key].dtype.str, len(arrays[key])] for key in names]])
    return _core.digest([np.frombuffer(form.encode(), np.uint8), *(arrays[key] for key in names)])
