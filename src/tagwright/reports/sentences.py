"""Sentences on a page: words over their labels, mistakes marked, and why they were made."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tagwright.constraints.constraints import Constraints
from tagwright.markup import Html, html_table, join, tag
from tagwright.models.explanation import compared
from tagwright.models.model import Model
from tagwright.models.tagging import word_of
from tagwright.reports.blocks import Palette, named, wide
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


AROUND = 8  # tokens that are shown on both sides of a mistake in a long sentence
SHORT = 60  # tokens of a sentence that is shown whole
MOST_MISTAKES = 30  # of a long sentence around which tokens are shown


def sentence_article(sentence: Tagged, reasons: Sequence[Why], colours: Palette, is_open: bool) -> Html:
    """Return a sentence with its labels, gold beside predicted where they differ, and the reasons."""
    wrong = sentence.wrong
    heading = [
        f"Sentence {sentence.number + 1:,} ",
        tag("small", f"{len(wrong):,} of {len(sentence.gold):,} labels wrong"),
    ]
    words = [_token(sentence, t, colours) for t in _shown(wrong, len(sentence.gold))]
    parts = [tag("h3", *heading), tag("div", *words, class_="tokens")]
    if reasons:
        left = len(wrong) - len(reasons)
        more = [tag("p", f"Reasons are given for the first {len(reasons)} of them.", class_="note")] if left else []
        summary = tag("summary", "Why")
        body = [_reason(sentence, why, colours) for why in reasons]
        parts.append(tag("details", summary, *body, *more, open="" if is_open else None))
    return tag("article", *parts)


def pair_article(first: Tagged, second: Tagged, names: Sequence[str], colours: Palette) -> Html:
    """Return a sentence with the labels of two models where one of them is wrong."""
    counts = [f"{name}: {len(own.wrong):,} wrong" for name, own in zip(names, (first, second), strict=True)]
    heading = [f"Sentence {first.number + 1:,} ", tag("small", ", ".join(counts), f" of {len(first.gold):,} labels")]
    wrong = sorted({*first.wrong, *second.wrong})
    words = [_two(first, second, t, colours) for t in _shown(wrong, len(first.gold))]
    return tag("article", tag("h3", *heading), tag("div", *words, class_="tokens"))


def _shown(wrong: Sequence[int], T: int) -> Iterable[int | range]:
    """Yield the tokens that are shown, of a long sentence only those around its first mistakes; and gaps as ranges."""
    near: Iterable[int] = range(T)
    if T > SHORT:
        near = sorted({n for t in wrong[:MOST_MISTAKES] for n in range(max(t - AROUND, 0), min(t + AROUND + 1, T))})
    after = 0
    for t in near:
        if t > after:
            yield range(after, t)
        yield t
        after = t + 1
    if after < T:
        yield range(after, T)


def _gap(tokens: range) -> Html:
    return tag("span", f"… {len(tokens):,} more …", class_="note")


def _token(sentence: Tagged, t: int | range, colours: Palette) -> Html:
    if isinstance(t, range):
        return _gap(t)
    word = named("bdi", word_of(sentence.tokens[t]), "word")
    if sentence.gold[t] == sentence.predicted[t]:
        return tag("span", colours.chip(sentence.gold[t]), word, class_="token")
    share = "" if sentence.probabilities is None else f" {sentence.probabilities[t]:.0%}"
    guess = tag("span", "✗ ", colours.chip(sentence.predicted[t]), share, class_="guess", title="predicted")
    gold = tag("span", "✓ ", colours.chip(sentence.gold[t]), class_="gold", title="gold")
    return tag("span", guess, gold, word, class_="token mistake")


def _two(first: Tagged, second: Tagged, t: int | range, colours: Palette) -> Html:
    """Return a token with the labels of both models, unless both are right."""
    if isinstance(t, range):
        return _gap(t)
    word = named("bdi", word_of(first.tokens[t]), "word")
    labels = [first.predicted[t], second.predicted[t]]
    truth = [first.gold[t], second.gold[t]]
    if labels == truth:
        return tag("span", colours.chip(labels[0]), word, class_="token")
    answers = []
    for n, (own, gold) in enumerate(zip(labels, truth, strict=True), 1):
        sign, kind = ("✓", "gold") if own == gold else ("✗", "guess")
        answers.append(tag("span", f"{n} {sign} ", colours.chip(own), class_=kind))
    if not any(own == gold for own, gold in zip(labels, truth, strict=True)):
        answers.append(tag("span", "✓ ", colours.chip(truth[0]), class_="gold", title="gold"))
    return tag("span", *answers, word, class_="token mistake")


def _reason(sentence: Tagged, why: Why, colours: Palette) -> Html:
    """Return what speaks for a wrong label and for the right one, or why there is no explanation."""
    t = why.token
    guess, gold = (colours.chip(name) for name in (sentence.predicted[t], sentence.gold[t]))
    heading: list[object] = [named("bdi", word_of(sentence.tokens[t]), "word"), ": ✗ ", guess, " rather than ✓ ", gold]
    if why.probabilities:
        heading.append(" (probabilities {:.1%} and {:.1%})".format(*why.probabilities))
    if not why.lines:
        return join([tag("p", *heading), tag("p", why.note, class_="note")])
    largest = max((abs(line.difference) for line in why.lines if math.isfinite(line.difference)), default=0.0)
    rows = [
        [named("bdi", line.name), *map(_score, (*line[1:], line.difference)), _lean(line, largest)]
        for line in why.lines
    ]
    header = ["what", join(["✗ ", guess]), join(["✓ ", gold]), "difference", ""]
    table = html_table(header, rows, (0, 4), row_headers=True)
    return join([tag("p", *heading), wide("What adds to the scores of both labels", table, "wide reason")])


def _score(value: float) -> str:
    return f"{value:+.3f}".replace("-", "−") if math.isfinite(value) else "−∞" if value < 0 else "∞"


def _lean(line: Line, largest: float) -> Html:
    """Return a bar to the right for what speaks for the predicted label, to the left for the gold one."""
    share = line.difference / largest if largest and math.isfinite(line.difference) else 0.0
    begin, width = (50, 50 * share) if share >= 0 else (50 + 50 * share, -50 * share)
    box = tag("rect", x=begin, y=3, width=width, height=8, class_="wrong" if share >= 0 else "right")
    middle = tag("line", x1=50, x2=50, y1=0, y2=14, class_="base")
    return tag("svg", box, middle, viewBox="0 0 100 14", width=100, height=14, class_="bar-cell", aria_hidden="true")
