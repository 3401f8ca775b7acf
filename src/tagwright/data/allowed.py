"""Cells of files that say which labels a token may have: ``NN``, ``NN,VB``, or ``_`` for any."""

from __future__ import annotations

ANY, BETWEEN = "_", ","


def allowed_labels(cell: str) -> str | frozenset[str] | None:
    """Return the label that a cell holds, the labels it holds with commas between them, or None for any.

    A cell with nothing before, between or behind its commas is a label itself: ``,`` is the tag of a comma.

    Example:
        >>> from tagwright.data.allowed import allowed_labels
        >>> allowed_labels("NN"), sorted(allowed_labels("NN,VB")), allowed_labels("_"), allowed_labels(",")
        ('NN', ['NN', 'VB'], None, ',')

    """
    if cell == ANY:
        return None
    labels = cell.split(BETWEEN)
    return frozenset(labels) if len(labels) > 1 and all(labels) else cell
