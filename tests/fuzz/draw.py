"""What every target draws from: one `Draw` per input, and the damage it can do to bytes, text and JSON."""

import random
from functools import cached_property

import numpy as np

NUMBERS = (
    0, 1, 2, 3, -1, 7, 64, 255, 256, 65535, 65536, 2**31 - 1, 2**31, 2**32, -(2**31), 2**53, 2**63 - 1, 2**63, 2**64,
    -(2**63), 10**30, 10**400, True, False, 0.0, -0.0, 0.5, -1.5, 1e-320, 1e29, 1e31, 1e290, 1e300, 1.8e308,
    float("inf"), float("-inf"), float("nan"),
)  # fmt: skip
TEXTS = (
    "", " ", "\t", "\n", "\r", "\0", "a", "O", "B-NP", "I-", "-", "|", ":", "/", "%", "%x[0,0]", "#", "# ", "_", "_B-1",
    "é", "İ", "ß", "日本", "😀", "e\u0301", "\ufeff", "\u2028", "\x1b[2J", "\ud800", "auto", "last",
    "2+3", "upos+feats", "none", "null", "1e999", "nan", "9" * 400, "a" * 5000, "{}", "[]", "__class__", "%s%n",
    "$(id)", ".", "x" * 255,
)  # fmt: skip


class Draw(random.Random):
    """Random numbers of one input, which its target, seed and number decide.

    `large` is set by an input that asks for more memory than the limit, so that MemoryError is the right answer to it.
    """

    def __init__(self, *key, show=None):
        """Begin anew from this key; show: a function that is called with the input."""
        super().__init__(":".join(map(str, key)))
        *_, self.number = key
        self.show = show
        self.large = False

    @cached_property
    def numpy(self):
        """The same for arrays."""
        return np.random.default_rng(self.getrandbits(64))

    def note(self, what, value):
        """Tell a reader of a single input what it is."""
        if self.show:
            self.show(f"{what} = {value!r}")
        return value

    def chance(self, share):
        return self.random() < share

    def times(self, most):
        """A small number from 1 on, seldom `most`."""
        return min(most, 1 + int(self.expovariate(1.0)))

    # Values

    def text(self):
        """A short text, often an odd one."""
        if self.chance(0.6):
            return self.choice(TEXTS)
        codes = [*range(32, 127), 9, 0x301, 0xE9, 0x130, 0x4E2D, 0x1F600]
        return "".join(map(chr, self.choices(codes, k=self.times(9))))

    def value(self, depth=0):
        """Anything that JSON can hold."""
        kind = self.randrange(8 if depth < 3 else 5)
        if kind == 5:
            return [self.value(depth + 1) for _ in range(self.randrange(4))]
        if kind == 6:
            return {self.text(): self.value(depth + 1) for _ in range(self.randrange(4))}
        return None if kind == 0 else self.text() if kind < 3 else self.choice(NUMBERS)

    # Damage

    def damaged(self, data):
        """Bytes with some of them changed, cut out, doubled or put in."""
        data = bytearray(data)
        for _ in range(self.times(20)):
            at, size = self.randrange(len(data) + 1), self.choice((1, 1, 2, 4, 8, 100))
            match self.randrange(7):
                case 0:
                    del data[at:]
                case 1:
                    del data[at : at + size]
                case 2:
                    data[at:at] = self.randbytes(size)
                case 3:
                    data[at:at] = data[self.randrange(len(data) + 1) :][:size]
                case 4:
                    data[at : at + size] = self.choice((b"\0", b"\xff", b"\x7f", b"\n", b"\t")) * size
                case 5:
                    data[at : at + size] = self.randbytes(size)
                case _ if at < len(data):
                    data[at] ^= 1 << self.randrange(8)
        return bytes(data)

    def damaged_text(self, text):
        """Text with characters or lines changed, cut out, doubled or put in; it may be no longer Unicode."""
        for _ in range(self.times(6)):
            if self.chance(0.3):
                lines = text.split("\n")
                at = self.randrange(len(lines))
                lines[at : at + 1] = self.choice(([], [lines[at]] * 2, [self.text()], [self.choice(lines)]))
                text = "\n".join(lines)
            else:
                at, size = self.randrange(len(text) + 1), self.choice((0, 0, 1, 1, 3, 20))
                text = text[:at] + self.choice((self.text(), "\t", " ", "\n", "")) + text[at + size :]
        return text

    def damaged_json(self, value, deep=0.75):
        """A copy of what JSON holds, with one place of it changed, taken out, doubled or put in."""
        if isinstance(value, dict | list) and value and self.chance(deep):
            made = value.copy()
            key = self.choice(list(made)) if isinstance(made, dict) else self.randrange(len(made))
            if self.chance(0.15):
                del made[key]
            else:
                made[key] = self.damaged_json(value[key], deep)
            return made
        if isinstance(value, dict) and self.chance(0.5):
            return {**value, self.text(): self.value()}
        if isinstance(value, list) and value and self.chance(0.6):
            return self.choice(([*value, self.value()], value * 2, value[::-1], value[:-1], [value]))
        if isinstance(value, str) and self.chance(0.6):
            return self.damaged_text(value)
        if isinstance(value, int | float) and self.chance(0.4):
            return value + self.choice((-1, 1))
        return self.value()
