"""Sentences of attributes."""

from __future__ import annotations

from tagwright import _core


class ItemSequence(_core.Items):
    """The attributes of a sentence, read once and used by trainers and taggers any number of times.

    Parameters
    ----------
    pyseq : iterable
        One item per token. An item is a list (or other iterable) of attribute names, each of value 1, or a dict. A
        value of a dict is a number or a bool; a string, which is joined to its key by a colon and has the value 1; or
        a dict, list or set of its own, whose names are prefixed by the key and a colon. Names may be ``str`` or UTF-8
        ``bytes``.

    Examples
    --------
    >>> sequence = ItemSequence([["lower"], {"word": "be", "length": 2, "in": {"list": True}}])
    >>> sequence
    <ItemSequence of size 2>
    >>> sequence.items()
    [{'lower': 1.0}, {'word:be': 1.0, 'length': 2.0, 'in:list': 1.0}]
    """

    def __repr__(self) -> str:
        """Return the number of items."""
        return f"<ItemSequence of size {len(self)}>"
