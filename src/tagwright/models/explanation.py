"""Why a token has its label: what features, edges and label n-grams add to its score and to its rival's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tagwright import checks
from tagwright.models.model import Lattice, Model
from tagwright.models.tagging import word_of

Rows: TypeAlias = tuple[list[list[tuple[str, float, float, float, int]]], list[str]]
"""What the core returns for some labels of a token: their contributions, and the features that the model lacks."""

_NO_LABEL = 65_535  # pads n-grams of three labels


class Contribution(NamedTuple):
    """What one feature of a token adds to the score of a label."""

    feature: str
    """As the templates write it, or as a ready-made feature is called."""
    value: float
    """Of the feature: 1 unless ready-made features have values."""
    weight: float
    """That the model has for the feature and the label."""
    score: float
    """weight * value in float32, which is what is added."""
    part: int | None = None
    """The number of the part of the label that the weight belongs to, from 1 on; None for the label itself."""


class Step(NamedTuple):
    """An edge of a labelling, from one token to the next."""

    previous: str
    """Label that it leaves."""
    current: str
    """Label that it leads to."""
    score: float
    """Of the edge and of the edge features of the token it leads to."""
    features: list[tuple[str, float]]
    """The edge features that change it, with what they add; empty without token-dependent edges."""


class LabelNgram(NamedTuple):
    """A label n-gram of a labelling that includes the token."""

    start: int
    """The token of its first label."""
    labels: list[str]
    """Three or four names."""
    score: float
    """Its weight."""


class Reason(NamedTuple):
    """What speaks for one label at the token."""

    label: str
    """Its name."""
    score: float
    """Node score: the sum of the contributions, as `summed` sums them."""
    contributions: list[Contribution]
    """In the order in which the model adds them."""
    before: Step | None
    """The edge into the token, on the best labelling with this label; None at the first token."""
    after: Step | None
    """The edge out of the token, on the same labelling; None at the last token."""
    start: float
    """Score of starting with the label, at the first token; or else 0."""
    stop: float
    """Score of ending with the label, at the last token; or else 0."""
    labels: list[str]
    """The best labelling of the sentence that has this label at the token."""
    total: float
    """Score of that labelling; -inf, with no labels, where there is none."""
    ngrams: list[LabelNgram] = []  # noqa: RUF012 - the default of a named tuple
    """The label n-grams of that labelling that include the token; empty for a model of order 1."""

    @property
    def rest(self) -> float:
        """Score of that labelling that does not depend on the token's label: nodes, edges and n-grams elsewhere."""
        around = sum(step.score for step in (self.before, self.after) if step) + sum(one.score for one in self.ngrams)
        return self.total - self.score - around - self.start - self.stop

    def strongest(self, most: int | None = None) -> list[Contribution]:
        """Return at most `most` contributions by absolute value, largest first."""
        return sorted(self.contributions, key=lambda one: -abs(one.score))[:most]


class Explanation(NamedTuple):
    """Why a token has its label and not another."""

    token: int
    """Its place in the sentence, from 0 on."""
    word: str
    """Its first column, or the first of its ready-made features."""
    reasons: list[Reason]
    """Of the best label first, then of its rival: the label of the best labelling that has another one here. Of the
    requested labels, where there are some."""
    unknown: list[str]
    """Features of the token that the model does not have."""
    descriptions: dict[str, str] = {}  # noqa: RUF012 - the default of a named tuple
    """What features mean, in words, by feature: ``{"U23:ies": "suffix ies"}``, from the templates. Features that are
    ready-made, and those that look at labels, are not in it."""

    @property
    def margin(self) -> float:
        """How much better the best labelling with the first label is than that with the second."""
        return self.reasons[0].total - self.reasons[1].total if len(self.reasons) > 1 else np.inf


def summed(contributions: Sequence[Contribution]) -> float:
    """Return the sum of contributions in float32: of the label from first to last, then part by part.

    It is the model's own node score, to the last bit.
    """
    sums: dict[int | None, np.float32] = {None: np.float32(0)}
    for one in contributions:
        sums[one.part] = sums.get(one.part, np.float32(0)) + np.float32(one.score)
    total = sums.pop(None)
    for part in sums.values():
        total = total + part
    return float(total)


class Row(NamedTuple):
    """What one thing adds to the scores of the explained labels."""

    kind: str
    """"feature"; "features", the sum of these; "edge", "ngram", "start", "stop"; "rest", what does not depend on the
    token; "total", the score of the whole labelling, which is the sum of all rows from "features" on."""
    name: str
    """The feature as templates write it, the labels of an n-gram, or a name for the kind."""
    words: str
    """The same in words."""
    scores: list[float]
    """One per explained label."""
    start: int | None = None
    """The token of the first label of an n-gram."""


def rows(found: Explanation) -> list[Row]:
    """Return what explains the scores of the labels, and so their difference: features that decide most come first."""
    reasons = found.reasons
    scores: dict[tuple[str, str], list[float]] = {}
    for at, reason in enumerate(reasons):
        for one in reason.contributions:
            part = "" if one.part is None else f" (part {one.part})"
            words = found.descriptions.get(one.feature, one.feature)
            scores.setdefault((one.feature + part, words + part), [0.0] * len(reasons))[at] += one.score
    made = [Row("feature", *names, own) for names, own in scores.items()]
    made.sort(key=lambda row: -_decides(row.scores))
    made.append(_named("features", "all features", [reason.score for reason in reasons]))
    sides = (("edge from", [reason.before for reason in reasons]), ("edge to", [reason.after for reason in reasons]))
    for (what, steps), end in zip(sides, ("previous", "current"), strict=True):
        if names := dict.fromkeys(getattr(step, end) for step in steps if step):
            shown = f"{what} {' / '.join(names)}"
            made.append(_named("edge", shown, [step.score if step else 0.0 for step in steps]))
    ngrams: dict[tuple[int, str], list[float]] = {}
    for at, reason in enumerate(reasons):
        for ngram in reason.ngrams:
            ngrams.setdefault((ngram.start, " ".join(ngram.labels)), [0.0] * len(reasons))[at] += ngram.score
    made += [Row("ngram", name, f"labels {name}", own, start) for (start, name), own in ngrams.items()]
    for end in ("start", "stop"):
        if any(ends := [getattr(reason, end) for reason in reasons]):
            made.append(_named(end, end, ends))
    made.append(_named("rest", "rest of the sentence", [reason.rest for reason in reasons]))
    return [*made, _named("total", "whole labelling", [reason.total for reason in reasons])]


def _named(kind: str, name: str, scores: list[float]) -> Row:
    return Row(kind, name, name, scores)


def shortened(found: Explanation, most: int) -> list[Row]:
    """Return the rows with the `most` features that decide most, and the sum of the others."""
    all_rows = rows(found)
    features = [row for row in all_rows if row.kind == "feature"]
    left = features[most:]
    more = [_named("more", f"{len(left)} more", list(map(sum, zip(*(row.scores for row in left), strict=True))))]
    return features[:most] + (more if left else []) + all_rows[len(features) :]


def compared(found: Explanation, most: int) -> list[tuple[str, list[float]]]:
    """Return rows of a name and one score per explained label, which together explain the difference of their scores.

    The rows are the `most` features that decide most, the sum of the other features, the sum of all features, the edges
    around the token, label n-grams that include it, start and stop scores, the rest of the labelling, and the score of
    the whole labelling, which is the sum of all rows from "all features" on.
    """
    return [(row.name, row.scores) for row in shortened(found, most)]


def _decides(row: Sequence[float]) -> float:
    """Return how much a feature decides: the difference between two labels, or else the largest score."""
    return abs(row[0] - row[1]) if len(row) == 2 else max(map(abs, row))


def explanation_json(found: Explanation) -> dict[str, Any]:
    """Return an explanation for JSON, and its rows: dicts and lists, with None for what is infinite."""
    return {**_plain(found), "margin": _plain(found.margin), "rows": _plain(rows(found))}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _plain(own) for name, own in value._asdict().items()}
    if isinstance(value, list | tuple):
        return [_plain(own) for own in value]
    if isinstance(value, dict):
        return value
    return None if isinstance(value, float) and not np.isfinite(value) else value


def explained(
    model: Model,
    sentence: Sequence[object],
    lattice: Lattice,
    t: int,
    labels: Sequence[str] | None,
    rows_of: Callable[[list[int]], Rows],
    descriptions: dict[str, str],
) -> Explanation:
    """Return why token t of a sentence has its label; see `Model.explain`.

    rows_of: returns what the core knows about some labels of the token; descriptions: of its features.
    """
    if labels is None:
        chosen = _best_and_rival(lattice, t)
    else:
        numbers = {name: y for y, name in enumerate(model.labels)}
        for name in labels:
            if not isinstance(name, str) or name not in numbers:
                raise ValueError(f"the model has no label {checks.shown(name)}; model.labels lists them")
        others = np.arange(len(model.labels))
        chosen = [(y, _path(lattice.forbidding({t: others[others != y]}), t)) for y in map(numbers.__getitem__, labels)]
    each, unknown = rows_of([y for y, _ in chosen])
    reasons = []
    for (y, (path, total)), given in zip(chosen, each, strict=True):
        own = [Contribution(*row[:4], None if row[4] < 0 else row[4] + 1) for row in given]
        before = _step(model, lattice, path, t - 1) if path and t else None
        after = _step(model, lattice, path, t) if path and t + 1 < len(sentence) else None
        start, stop = (
            float(model.arrays[end][y]) if at and end in model.arrays else 0.0
            for end, at in (("start", t == 0), ("stop", t + 1 == len(sentence)))
        )
        names = [model.labels[one] for one in path]
        # The score of a label that is not allowed is -inf, but that of its features is not.
        node = float(lattice.nodes[t, y]) if np.isfinite(lattice.nodes[t, y]) else summed(own) if own else -np.inf
        reasons.append(
            Reason(model.labels[y], node, own, before, after, start, stop, names, total, _ngrams(model, path, t))
        )
    return Explanation(t, word_of(sentence[t]), reasons, unknown, descriptions)


_Found = tuple[list[int], float]


def _path(lattice: Lattice, t: int) -> _Found:
    """Return the best path and its score; no path is an empty one."""
    if not np.isfinite(lattice.nodes[t]).any():
        return [], -np.inf
    try:
        best = lattice.decode().paths[0]
    except ValueError:  # no path at all, though the token could have a label
        return [], -np.inf
    return best.labels.tolist(), best.score


def _best_and_rival(lattice: Lattice, t: int) -> list[tuple[int, _Found]]:
    best = _path(lattice, t)
    if not best[0]:
        raise ValueError("the sentence has no labelling at all, so there is none to explain")
    rival = _rival(lattice, best[0], t)
    return [(found[0][t], found) for found in (best, rival) if found[0]]


def _rival(lattice: Lattice, best: list[int], t: int) -> _Found:
    """Return the best path with another label than the best one at token t."""
    return _path(lattice.forbidding({t: best[t : t + 1]}), t)


class Rival(NamedTuple):
    """The label of the best labelling that has another one than the best labelling at a token."""

    label: int
    margin: float
    """How far that labelling is behind the best."""


_CLOSE = 1e-6  # of the best score: margins that differ by less are compared by decoding, as explanations do


def rivals(lattice: Lattice, most: int = 40) -> tuple[list[int], list[Rival | None] | None]:
    """Return the best path of a lattice, and the rival at each token that `Model.explain` names.

    None in place of a rival: no other label is possible there. A token takes a search under rules about whole
    labellings, where None in place of all says that there are more than `most` tokens; and where labels are equally
    good, of which the first is taken after `most` searches.
    """
    best, total = _path(lattice, 0)
    if not best:
        raise ValueError("the sentence has no labelling at all")
    every = range(len(best))

    def searched(t: int) -> Rival | None:
        path, score = _rival(lattice, best, t)
        return Rival(path[t], max(0.0, total - score)) if path else None

    if lattice.without_labelling_rules() is not lattice:
        return best, list(map(searched, every)) if len(best) <= most else None
    behind = lattice.behind()
    behind[np.arange(len(best)), best] = np.inf
    made: list[Rival | None] = []
    close, left = _CLOSE * (1.0 + abs(total)), most
    for t, row in zip(every, behind, strict=True):
        y = int(row.argmin())
        if not np.isfinite(row[y]):
            made.append(None)
        elif left and (row <= row[y] + close).sum() > 1:
            made.append(searched(t))
            left -= 1
        else:
            made.append(Rival(y, float(row[y])))
    return best, made


def _ngrams(model: Model, path: list[int], t: int) -> list[LabelNgram]:
    """Return the label n-grams of a path that include token t."""
    if not path or "ngrams.score" not in model.arrays:
        return []
    known, weights = model.arrays["ngrams.labels"].reshape(-1, 4), model.arrays["ngrams.score"]
    found = []
    for size in (3, 4):
        for first in range(max(0, t - size + 1), min(t, len(path) - size) + 1):
            own = path[first : first + size]
            places = np.flatnonzero((known == [*own, _NO_LABEL][:4]).all(axis=1))
            found += [LabelNgram(first, [model.labels[y] for y in own], float(weights[at])) for at in places.tolist()]
    return found


def _step(model: Model, lattice: Lattice, path: list[int], t: int) -> Step:
    """Return the edge from token t to the next."""
    i, j = path[t], path[t + 1]
    arrays = model.arrays
    score = _weight(arrays, "edges", slice(None), i, j)
    features = []
    for number in lattice.active[t] if lattice.active else []:
        begin, end = _range(arrays["corrections.set"], number)
        if added := _weight(arrays, "corrections", slice(begin, end), i, j):
            ends, text = arrays["edge_names.ends"], arrays["edge_names.bytes"]
            name = text[int(ends[number - 1]) if number else 0 : int(ends[number])].tobytes()
            features.append((name.decode("utf-8", "replace"), added))
            score += added
    return Step(model.labels[i], model.labels[j], score, features)


def _weight(arrays: dict[str, npt.NDArray[Any]], kind: str, within: slice, i: int, j: int) -> float:
    """Return the weight of a pair of labels, which are in order; 0 where it has none."""
    previous, current = arrays[f"{kind}.previous"][within], arrays[f"{kind}.current"][within]
    begin, end = _range(previous, i)
    place = int(begin + _range(current[begin:end], j)[0])
    return float(arrays[f"{kind}.score"][within][place]) if place < end and current[place] == j else 0.0


def _range(rising: npt.NDArray[Any], number: int) -> tuple[int, int]:
    """Return where a number stands in an array that rises."""
    begin, end = np.searchsorted(rising, np.array([number, number + 1], rising.dtype))
    return int(begin), int(end)
