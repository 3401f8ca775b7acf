"""The model file: one safetensors file with arrays, metadata as JSON, and a digest of both. Large ones are mapped."""

from __future__ import annotations

import json
import mmap
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from tagwright import _core
from tagwright.data.output import Target, writing

__all__ = ["ModelError", "is_model", "read", "write"]

FORMAT = 1
"""Format of the file; it is raised when older versions of tagwright could not read a new file."""

_DTYPES = {"U64": "<u8", "F64": "<f8", "F32": "<f4", "U32": "<u4", "I32": "<i4", "U16": "<u2", "U8": "u1"}
"""Dtypes of arrays, in the order of the file."""
_CODES = {np.dtype(dtype): code for code, dtype in _DTYPES.items()}
_LONGEST_HEADER = 100_000_000  # safetensors' own limit
_COPIED = 16 << 20  # up to this size a file is copied into memory; see docs/model_file.md

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


def read(path: str | os.PathLike[str]) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays of a file, read-only, and its metadata.

    A file of up to 16 MB is copied into memory, so that nothing that happens to it later matters. A larger one is
    mapped and shared with other readers: whoever cuts it while it is in use ends this process (SIGBUS).

    Raises:
        ModelError: for a file that is cut, altered, of a newer format, or not a model.

    """
    name = os.fspath(path)
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < 8:
            raise ModelError(f"{name}: not a tagwright model ({size} bytes)")
        data = file.read() if size <= _COPIED else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    size = len(data)
    length = int.from_bytes(data[:8], "little")
    if length > _LONGEST_HEADER:
        raise ModelError(f"{name}: not a tagwright model (no safetensors header)")
    if 8 + length > size:
        raise ModelError(f"{name}: cut short, or not a tagwright model; get or train it again")
    try:
        header = json.loads(data[8 : 8 + length].decode("utf-8"))
        stored = json.loads(header.pop("__metadata__")["tagwright"])
        meta, digest = stored["about"], stored["digest"]
        form = meta["format"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ModelError(f"{name}: not a tagwright model (a safetensors file of another kind, or damaged)") from None
    if form != FORMAT:
        raise ModelError(f"{name}: written in format {form!r}, but this tagwright reads {FORMAT}; install a newer one")
    arrays = _arrays(name, data, 8 + length, header)
    try:
        whole = digest == _digest(meta, arrays)
    except (ValueError, RecursionError):
        whole = False
    if not whole:
        raise ModelError(f"{name}: altered or damaged (its digest does not fit); get or train it again")
    return arrays, meta


def is_model(path: str | os.PathLike[str]) -> bool:
    """Return whether the header of a file is that of a model; checkpoints are models, and damaged models too."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        return length <= _LONGEST_HEADER and b'"tagwright"' in file.read(length)


def _arrays(name: str, data: bytes | mmap.mmap, first: int, header: dict[str, Any]) -> Arrays:
    arrays = {}
    for key, entry in header.items():
        try:
            dtype = np.dtype(_DTYPES[entry["dtype"]])
            (count,) = (int(n) for n in entry["shape"])
            begin, end = (int(n) for n in entry["data_offsets"])
        except (KeyError, TypeError, ValueError, OverflowError):
            raise ModelError(f"{name}: damaged (array {key!r} is not described rightly)") from None
        if begin < 0 or count < 0 or end - begin != count * dtype.itemsize or first + end > len(data):
            raise ModelError(f"{name}: cut short or damaged (array {key!r} ends beyond the file); get it again")
        array: npt.NDArray[Any] = np.frombuffer(data, dtype, count, first + begin) if count else np.empty(0, dtype)
        arrays[key] = array if array.flags.aligned else array.copy()
    return arrays


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)


def _digest(meta: dict[str, Any], arrays: Arrays) -> str:
    names = sorted(arrays)
    form = _text([meta, [[key, arrays[key].dtype.str, len(arrays[key])] for key in names]])
    return _core.digest([np.frombuffer(form.encode(), np.uint8), *(arrays[key] for key in names)])
