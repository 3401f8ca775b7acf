"""Why a label is wrong: what speaks for it, and what for the right one."""

from __future__ import annotations

from typing import NamedTuple

from tagwright.constraints.constraints import Constraints
from tagwright.models.explanation import compared
from tagwright.models.model import Model
from tagwright.reports.collect import Tagged

MOST_FEATURES = 5  # that are named
MOST_SCORES = 1 << 22  # tokens times labels of a sentence that is explained


class Line(NamedTuple):
    """What adds to the scores of both labels."""

    name: str
    predicted: float
    gold: float

    @property
    def difference(self) -> float:
        """How much it speaks for the predicted label; below 0, for the right one."""
        return self.predicted - self.gold


class Why(NamedTuple):
    """Why one token has a wrong label."""

    token: int
    probabilities: tuple[float, float] | None
    """Of the predicted label and of the right one; None without probabilities."""
    lines: list[Line]
    """What adds to the scores of both, as `compared` has it."""
    note: str
    """Why there are no lines."""


def reasons_of(model: Model, sentence: Tagged, most: int, constraints: Constraints | None = None) -> list[Why]:
    """Return why the first `most` wrong labels of a sentence are wrong, under the constraints it was tagged with."""
    wrong = sentence.wrong[:most]
    whole = sentence.tokens if sentence.whole is None else sentence.whole
    if len(whole) * len(model.labels) > MOST_SCORES:
        return [Why(t, None, [], "The sentence is too long to be explained.") for t in wrong]
    number = {name: y for y, name in enumerate(model.labels)}
    shares = model.marginals([whole], constraints=constraints)[0] if model.probabilistic else None
    found = []
    for t in wrong:
        at = t if sentence.places is None else sentence.places[t]
        pair = [sentence.predicted[t], sentence.gold[t]]
        if at is None:
            found.append(Why(t, None, [], "The tokeniser did not find this token."))
            continue
        if pair[1] not in number:
            found.append(Why(t, None, [], "The model does not know the right label: it was not in the training data."))
            continue
        both = None if shares is None else (float(shares[at, number[pair[0]]]), float(shares[at, number[pair[1]]]))
        try:
            rows = compared(model.explain(whole, at, pair, constraints=constraints), MOST_FEATURES)
            found.append(Why(t, both, [Line(name, *scores) for name, scores in rows], ""))
        except ValueError as error:
            found.append(Why(t, both, [], f"No reasons: {error}."))
    return found
