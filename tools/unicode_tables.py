"""Prints cpp/features/unicode_tables.inc: kind, lower case and traits of every character, as this Python knows them.

python tools/unicode_tables.py > cpp/features/unicode_tables.inc
"""

import sys
import unicodedata
from collections import Counter

BLOCK = 128
WIDTH = 120
KINDS = {"Lu": "upper", "Lt": "upper", "Ll": "lower", "Lo": "letter", "Lm": "letter", "Nd": "digit"}


def kind(c: str) -> str:
    """The name in enum Kind."""
    category = unicodedata.category(c)
    return "punctuation" if category.startswith("P") else KINDS.get(category, "other")


def to_lower(c: str) -> int:
    """What to add for the lower case. U+0130 is the one character whose full lower case is longer than one."""
    lower = c.lower()
    return ord(lower if len(lower) == 1 else "i") - ord(c)


def traits(c: str) -> int:
    """A bit each for what isalnum, islower and isdigit return."""
    return c.isalnum() | c.islower() << 1 | c.isdigit() << 2


def array(type_: str, name: str, values: list[int] | list[str]) -> str:
    """A C++ array in lines of at most WIDTH characters."""
    lines = [""]
    for value in values:
        if len(lines[-1]) + len(f"{value},") > WIDTH:
            lines.append("")
        lines[-1] += f"{value},"
    return f"constexpr {type_} {name}[] = {{\n" + "\n".join(lines) + "\n};"


def text(name: str, values: list[int]) -> str:
    """The same as a string, where the character '0' + value stands for a value: a third of the size."""
    lines = [""]
    for value in values:
        char = chr(ord("0") + value)
        if not " " <= char <= "~":
            char = f"\\{ord(char):03o}"
        elif char in '\\"?':
            char = f"\\{char}"
        if len(lines[-1]) + len(char) > WIDTH - 3:
            lines.append("")
        lines[-1] += char
    return f"constexpr char {name}[] =\n" + "\n".join(f'"{line}"' for line in lines) + ";"


def main() -> None:
    """Prints the tables."""
    everything = [(kind(chr(c)), to_lower(chr(c)), traits(chr(c))) for c in range(sys.maxunicode + 1)]
    nothing = ("other", 0, 0)
    used = max(c for c, what in enumerate(everything) if what != nothing) + 1
    used = -(-used // BLOCK) * BLOCK

    # The frequent ones first: those are written as digits.
    classes = {what: i for i, (what, _) in enumerate(Counter(everything[:used]).most_common())}
    blocks: dict[tuple[int, ...], int] = {}
    block_of = []
    for start in range(0, used, BLOCK):
        block = tuple(classes[what] for what in everything[start : start + BLOCK])
        block_of.append(blocks.setdefault(block, len(blocks)))
    if len(classes) > 256 - ord("0") or len(blocks) > 256:
        sys.exit(f"{len(classes)} classes and {len(blocks)} blocks: a byte no longer holds them")

    print(f"// Written by tools/unicode_tables.py from Unicode {unicodedata.unidata_version}. Do not edit.")
    print(
        "// The class of c is kClassOf[kBlockOf[c / kBlock] * kBlock + c % kBlock] - '0'. From kUsed on all are other."
    )
    print(f"constexpr char32_t kBlock = {BLOCK}, kUsed = {used:#x};")
    print(array("Class", "kClasses", [f"{{Kind::{name},{add},{bits}}}" for name, add, bits in classes]))
    print(array("uint8_t", "kBlockOf", block_of))
    print(text("kClassOf", [i for block in blocks for i in block]))


if __name__ == "__main__":
    main()
