"""Reading of constraints: label names, pairs, words."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tagwright import checks

Ints: TypeAlias = npt.NDArray[np.int32]
Bools: TypeAlias = npt.NDArray[np.bool_]


def word_of(token: Any, column: int = 0) -> str:
    """Return the word of a token: itself, or a cell of its row."""
    if isinstance(token, str):
        if column:
            raise ValueError(f"the word is in column {column}, but tokens are words without columns")
        return token
    try:
        word = token[column]
    except (TypeError, LookupError):
        word = None
    if not isinstance(word, str):
        raise ValueError(f"a tag dictionary needs words; a token is {checks.shown(token)}")
    return word


def label_names(labels: Iterable[str]) -> list[str]:
    """Return the names of labels as a list, after a check."""
    names = list(labels)
    if isinstance(labels, str) or not all(isinstance(name, str) for name in names):
        raise ValueError("labels must be a list of names")
    if not names:
        raise ValueError("labels must name at least one label")
    if len({*names}) < len(names):
        twice = next(name for name, n in Counter(names).items() if n > 1)
        raise ValueError(f"labels name {twice!r} twice")
    return names


def part_reader(part: int | None, sep: str, scheme_of: Callable[[str], str] | None) -> tuple[str, Callable[[str], str]]:
    """Return how the label that a scheme applies to is read from a label, and what to call it."""
    if scheme_of is not None:
        return "", scheme_of
    if part is None:
        return "", str
    checks.at_least_zero("part", part)
    if not isinstance(sep, str) or not sep:
        raise ValueError(f"sep must be a string that separates parts, not {checks.shown(sep)}")

    def read(name: str) -> str:
        parts = name.split(sep)
        if part >= len(parts):
            raise ValueError(f"the label {name!r} has no part {part}; parts are separated by {sep!r}")
        return parts[part]

    return f" of part {part}", read


def number_of(what: str, name: object, number: Mapping[str, int]) -> int:
    """Return the number of a label; ValueError if there is none."""
    found = number.get(name) if isinstance(name, str) else None
    if found is None:
        raise ValueError(f"{what} names {checks.shown(name)}, which is not a label")
    return found


def label_pairs(forbid: Iterable[tuple[str, str]], number: Mapping[str, int]) -> Ints:
    """Return pairs of labels as numbers, (n, 2)."""
    pairs = []
    for pair in forbid:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError(f"forbid must hold pairs of labels (previous, current), not {checks.shown(pair)}")
        pairs.append([number_of("forbid", name, number) for name in pair])
    return np.unique(np.array(pairs, np.int32).reshape(-1, 2), axis=0)


def label_flags(what: str, names: Iterable[str] | None, number: Mapping[str, int]) -> Bools | None:
    """Return for each label whether it is named; None for None."""
    if names is None:
        return None
    flags = np.zeros(len(number), bool)
    flags[label_list(what, names, number)] = True
    return flags


def label_list(what: str, names: Iterable[str], number: Mapping[str, int]) -> Ints:
    """Return the numbers of labels in rising order."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise ValueError(f"{what} must be a list of labels, not {checks.shown(names)}")
    found = np.unique(np.array([number_of(what, name, number) for name in names], np.int32))
    if not len(found):
        raise ValueError(f"{what} is empty, so that no label is left")
    return found


def checked_word(word: object) -> str:
    """Return a word, after a check."""
    if not isinstance(word, str):
        raise ValueError(f"words must be a dict from words to labels; {checks.shown(word)} is not a word")
    return word


def labels_of_cell(cell: str, number: Mapping[str, int]) -> list[str]:
    """Return the labels that a cell such as ``NN,VB`` names; a cell that is itself a label names that one."""
    return [cell] if cell in number else cell.split(",")


def read_words(path: str | os.PathLike[str], number: Mapping[str, int]) -> dict[str, list[str]]:
    """Return the tag dictionary of a file."""
    words: dict[str, list[str]] = {}
    with open(path, encoding="utf-8") as file:
        for n, line in enumerate(file, 1):
            text = line.rstrip("\r\n")
            if not text:
                continue
            word, tab, cell = text.partition("\t")
            unknown = next((name for name in labels_of_cell(cell, number) if name not in number), None)
            if not tab or not word or unknown is not None:
                why = (
                    f"{unknown!r} is not a label"
                    if tab and word
                    else "a line is a word, a tab and its labels: the\tDT,NN"
                )
                raise ValueError(f"{os.fspath(path)}, line {n}: {why}")
            words[word] = [*words.get(word, []), *labels_of_cell(cell, number)]
    return words


def word_arrays(
    words: Mapping[str, Ints],
) -> tuple[bytes, npt.NDArray[np.uint64], npt.NDArray[np.uint64], Ints]:
    """Return a tag dictionary as arrays: the words' bytes and where each ends, where each list ends, and the lists."""
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    word_end = np.cumsum([len(word) for word in encoded], dtype=np.uint64)
    list_end = np.cumsum([len(own) for own in words.values()], dtype=np.uint64)
    lists = np.concatenate([np.zeros(0, np.int32), *words.values()]).astype(np.int32)
    return b"".join(encoded), word_end, list_end, lists


def both_flags(one: Bools | None, other: Bools | None) -> Bools | None:
    """Return the flags that both allow; None where neither has any."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


def common_labels(one: Ints | None, other: Ints | None) -> Ints | None:
    """Return the labels of both lists; None allows all."""
    if one is None or other is None:
        return other if one is None else one
    return np.intersect1d(one, other).astype(np.int32)
