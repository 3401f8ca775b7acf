"""Objects whose methods are not what they should be, and that change what holds them."""

import gc
from collections import OrderedDict, UserDict
from types import MappingProxyType

import numpy as np

from tests.fuzz.draw import NUMBERS, TEXTS

CALLED = ["__float__", "keys", "__iter__", "__len__", "__getitem__", "__str__", "__hash__", "__eq__", "__lt__"]
SELDOM = [
    "__repr__", "__index__", "__int__", "__bool__", "__contains__", "__next__", "items", "values", "get", "__array__",
    "__dlpack__", "__dlpack_device__", "__buffer__", "__fspath__", "read", "encode", "__length_hint__", "__del__",
]  # fmt: skip
BASES = (object, object, str, float, int, list, tuple, dict, set, UserDict, np.ndarray, bytes)
ODD = (None, b"a", object(), np.float32(2), np.str_("a"), np.array("a"), Ellipsis, int, len, 1j)


class TrickError(Exception):
    """What a trick raises: the caller's own error, which comes back to it."""


RAISED = [type(f"Trick{e.__name__}", (TrickError, e), {}) for e in (ValueError, KeyError, IndexError, AttributeError)]
RAISED += [TrickError, type("TrickMemoryError", (TrickError, MemoryError), {}), StopIteration]


class World:
    """Makes the objects of an input, and knows its containers, which tricks change."""

    def __init__(self, draw, model):
        """Tricks may ask this model, too, while another question is open."""
        self.draw, self.model, self.containers, self.depth = draw, model, [], 0
        self.tricked = False

    def held(self, container):
        self.containers.append(container)
        return container

    def act(self, own):
        """Do in the middle of reading what nobody expects; return something odd, or raise."""
        draw = self.draw
        if self.depth < 2 and self.containers:
            self.depth += 1
            try:
                self.change(draw.choice(self.containers))
            finally:
                self.depth -= 1
        if draw.chance(0.2):
            raise draw.choice(RAISED)
        texts = "a", "", ["a"], ("a",), iter(["a", "b"])
        return draw.choice((None, own, 1, -1, 2**70, 0.5, True, [], {}, np.zeros((2, 2)), *texts))

    def change(self, target):
        draw, many = self.draw, self.draw.choice((1, 50))
        match draw.randrange(7):
            case 0:
                target.clear()
            case 1 if isinstance(target, list):
                target[:] = target[: draw.randrange(len(target) + 1)]
            case 2 if isinstance(target, list) and len(target) < 1000:
                target += [self.thing() for _ in range(many)]
            case 3 if isinstance(target, dict) and len(target) < 1000:
                target.update({f"k{n}": self.thing() for n in range(many)})
            case 4 if isinstance(target, list) and target:
                target[draw.randrange(len(target))] = self.thing()
            case 5:
                gc.collect(0)
            case 6:
                self.model.tag_kbest([[{"a": "b"}]], 2)

    def trick(self, bases=BASES):
        """An object of a class made up for it, some of whose methods are not what they should be."""
        draw = self.draw
        base = draw.choice(bases)
        names = draw.choices(CALLED * 3 + SELDOM, k=draw.times(5))
        members = {name: (lambda own, *_, **__: self.act(own)) for name in names}
        if "__eq__" in members and draw.chance(0.7):
            members.setdefault("__hash__", base.__hash__)
        self.tricked = True
        made = type(f"Trick{base.__name__}", (base,), members)
        content = {list: (["a", "b"],), tuple: (["a", "b"],), set: (["a", "b"],), np.ndarray: ((2, 2),), str: ("ab",)}
        try:
            return made(*content.get(base, ()))
        except Exception:  # it tricked itself
            return base(*content.get(base, ()))

    def thing(self, depth=0):
        """A token, a value or a part of one, often an innocent one."""
        draw = self.draw
        kind = draw.randrange(12 if depth < 4 else 7)
        if kind < 5:
            return draw.choice(TEXTS) if kind < 3 else draw.choice((*NUMBERS, *ODD))
        if kind < 7:
            return self.trick()
        parts = [self.thing(depth + 1) for _ in range(draw.randrange(4))]
        match kind:
            case 7:
                made = self.held(parts)
            case 8:
                made = draw.choice((tuple, iter, OrderedDict.fromkeys, np.array, set))(["a", "b"])
            case 9:
                made = (part for part in parts)
            case 10:
                made = self.held({draw.choice(TEXTS): part for part in parts})
                made = draw.choice((made, made, UserDict(made), MappingProxyType(made), OrderedDict(made)))
            case _:
                made = self.held(parts)
                made.append(made)
        return made

    def sentences(self, plain):
        """Sentences of which some parts are replaced by things."""
        draw, self.depth = self.draw, 9  # nothing changes while they are made
        made = self.held([self.held(list(sentence)) for sentence in draw.sample(plain, 2)])
        for _ in range(draw.times(4)):
            at = draw.randrange(len(made))
            own = made[at]
            if not isinstance(own, list) or not own or draw.chance(0.1):
                made[at] = self.thing()
                continue
            at = draw.randrange(len(own))
            if isinstance(own[at], dict) and draw.chance(0.6):
                own[at] = self.held({**own[at], draw.choice(("word", "new", draw.choice(TEXTS))): self.thing()})
            else:
                own[at] = self.thing()
        made = made if draw.chance(0.9) else self.thing()
        self.depth = 0
        return made
