"""The sections of a page on wrong labels: confusions of labels and of their parts, spans, words, and sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from tagwright.evaluation.breakdown import Confusion, confusion_table
from tagwright.evaluation.errors import WordErrors, error_words, examples_of
from tagwright.evaluation.parts import Difference, Part
from tagwright.evaluation.result import Evaluation
from tagwright.evaluation.span_errors import KINDS, SpanError
from tagwright.markup import Html, counted, join, tag
from tagwright.reports.blocks import NONE, Example, Palette, context, contexts, data_table, left_out, named, percent
from tagwright.reports.charts import bar, heat_map, legend
from tagwright.reports.collect import Collected, Tagged
from tagwright.reports.sentences import sentence_article

if TYPE_CHECKING:
    from tagwright.reports.report import Report

MOST_CONFUSIONS = 30  # of labels that are listed
MOST_WORDS = 30
MOST_PARTS = 40  # that have a table
MOST_VALUES = 30  # of a part, in its table
MOST_PART_CONFUSIONS = 5  # of a part that are listed
MOST_EXAMPLES = 3  # of a confusion, or of a kind of span errors
MOST_CONFIDENT = 30

SPAN_KINDS = {
    "boundary": "predicted span overlaps a gold span of its type",
    "type": "predicted span has the tokens of a gold span of another type",
    "boundary and type": "predicted span overlaps a gold span of another type",
    "missed": "gold span that no predicted span stands for",
    "spurious": "predicted span that stands for no gold span",
}


class PartTable(NamedTuple):
    """A part of labels, what its values are taken for, and examples."""

    part: Part
    table: Confusion
    examples: list[tuple[str, str, int, list[Example]]]
    """The most frequent confusions: gold value, predicted value, how often, and tokens."""


class Confident(NamedTuple):
    """A wrong label with a high probability."""

    example: Example
    gold: str
    gold_probability: float | None
    """None if the model does not have the label."""
    predicted: str
    probability: float


@dataclass(frozen=True)
class Mistakes:
    """Wrong labels of all sentences, by what they have in common."""

    examples: dict[tuple[str, str], list[Example]]
    """Tokens of the most frequent confusions of labels, gold and predicted, of different words."""
    words: list[WordErrors]
    """Words that most often have a wrong label."""
    parts: list[PartTable]
    """Parts of labels that are most often wrong."""
    parts_covered: int
    """Wrong labels all of whose wrong parts are in these tables."""
    spans: dict[str, list[tuple[SpanError, Example]]]
    """Examples of each kind of span errors."""
    confident: list[Confident]
    """Wrong labels with the highest probability."""

    @classmethod
    def of(cls, found: Collected, result: Evaluation) -> Mistakes:
        """Return the wrong labels of sentences that were tagged; result: their evaluation."""
        places = examples_of(found.words, found.gold, found.predicted, MOST_EXAMPLES)

        def examples(pair: tuple[str, str]) -> list[Example]:
            return [Example.of(found.words[s], s, t, t, count) for (s, t), count in places[pair]]

        parts = _part_tables(result, examples)
        spans: dict[str, list[tuple[SpanError, Example]]] = {}
        for error in result.spans.errors if result.spans else ():
            own = spans.setdefault(error.kind, [])
            if len(own) < MOST_EXAMPLES:
                own.append((error, _span_example(found.words, error)))
        return cls(
            {row[:2]: examples(row[:2]) for row in result.confusions[:MOST_CONFUSIONS]},
            error_words(found.words, found.gold, found.predicted, MOST_WORDS),
            parts,
            0 if result.parts is None else result.parts.covered(_shown(parts)),
            spans,
            [_confident(found, *own) for own in found.confident()],
        )


def _part_tables(result: Evaluation, examples: Callable[[tuple[str, str]], list[Example]]) -> list[PartTable]:
    """Return the parts that are most often wrong; examples: returns tokens of a confusion of labels."""
    if result.parts is None:
        return []
    by_part: dict[Difference, tuple[str, str]] = {}  # the most frequent confusion of labels that has it
    for (differences, _), row in zip(result.parts.differences, result.confusions, strict=True):
        for difference in differences:
            by_part.setdefault(difference, row[:2])
    made = []
    for part in result.parts.parts[:MOST_PARTS]:
        if part.wrong:
            rows = part.confusions[:MOST_PART_CONFUSIONS]
            own = [(gold, guess, count, examples(by_part[part.name, gold, guess])[:1]) for gold, guess, count in rows]
            made.append(PartTable(part, confusion_table(part.confusions, part.right, MOST_VALUES), own))
    return made


def _shown(tables: Sequence[PartTable]) -> set[Difference]:
    """Return what tables of parts show: name, gold and predicted value."""
    found: set[Difference] = set()
    for part, table, examples in tables:
        values = {*table.labels}
        found |= {(part.name, *row[:2]) for row in part.confusions if {*row[:2]} <= values}
        found |= {(part.name, *row[:2]) for row in examples}
    return found


def _span_example(words: Sequence[Sequence[str]], error: SpanError) -> Example:
    both = [span for span in (error.gold, error.predicted) if span is not None]
    first, last = min(span.first for span in both), max(span.last for span in both)
    return Example.of(words[error.sentence], error.sentence, first, last)


def _confident(found: Collected, sentence: Tagged, t: int) -> Confident:
    example = Example.of(found.words[sentence.number], sentence.number, t, t)
    whole = sentence.tokens if sentence.whole is None else sentence.whole
    at = t if sentence.places is None else sentence.places[t]
    gold, share = sentence.gold[t], None
    if at is not None and gold in found.model.labels:
        shares = found.model.marginals([whole], constraints=found.constraints)[0]
        share = float(shares[at, found.model.labels.index(gold)])
    return Confident(example, gold, share, sentence.predicted[t], (sentence.probabilities or [])[t])


def confusions(report: Report) -> list[Html]:
    """Return the confusions of labels: a heat map, and a list with examples."""
    found, table = report.evaluation, report.confusion
    if not found.confusions:
        return [tag("p", "No label is wrong.")]
    text = (
        f"{len(table.labels):,} of {len(found.labels):,} labels: those that take part in the most frequent confusions. "
        f"The table has {table.shown:,} of the {table.wrong:,} wrong labels. Cells count tokens; the "
        "darker, the larger their share of the row."
    )
    rows = [
        [report.colours.chip(gold), report.colours.chip(guess), f"{count:,}", *percent(count / table.wrong), examples]
        for gold, guess, count in found.confusions[:MOST_CONFUSIONS]
        for examples in [contexts(report.mistakes.examples[gold, guess])]
    ]
    header = ["✓ gold", "✗ predicted", "count", "% of all wrong", "examples: sentence, and how often the word"]
    listed = data_table("List of confusions", header, rows, (0, 1, 4), "last")
    more = left_out(len(found.confusions), MOST_CONFUSIONS, "confusions")
    return [
        tag("p", text),
        legend(("right", "right, in frames"), ("wrong", "wrong")),
        heat_map("Confusions", table),
        tag("h3", "Most frequent confusions"),
        listed,
        *more,
    ]


def parts(report: Report) -> list[Html]:
    """Return where labels that consist of parts are wrong."""
    found = report.evaluation.parts
    if found is None or not report.mistakes.parts:
        return []
    wrong = report.confusion.wrong
    how = (
        f"are divided at {' '.join(found.separators)}"
        if found.separators
        else "are positional: each character is a part"
    )
    text = (
        f"Labels {how}. {found.wrong_parts.get(1, 0):,} of the {wrong:,} wrong labels are wrong in one part only. "
        f"The tables below have all wrong parts of {report.mistakes.parts_covered:,} of the {wrong:,} wrong labels "
        f"({report.mistakes.parts_covered / wrong:.1%})."
    )
    if not found.separators:
        text += " Where the first character is wrong, the others are not compared: what they mean depends on it."
    shown = [own for own in found.parts if own.wrong]
    rows = [
        [own.name, f"{own.wrong:,}", *percent(own.wrong / wrong, own.accuracy), bar(own.accuracy), f"{own.tokens:,}"]
        for own in shown[:MOST_PARTS]
    ]
    header = ["part", "wrong", "% of wrong labels", "accuracy, %", "", "tokens"]
    made = [tag("p", text), data_table("Parts of labels", header, rows), *left_out(len(shown), MOST_PARTS, "parts")]
    made.append(legend(("right", "right, in frames"), ("wrong", "wrong")))
    return [*made, *(_part(own, n == 0) for n, own in enumerate(report.mistakes.parts))]


def _part(own: PartTable, is_open: bool) -> Html:
    part, table, examples = own
    rows = [
        [
            tag("bdi", gold or NONE),
            tag("bdi", guess or NONE),
            f"{count:,}",
            *percent(count / part.wrong),
            contexts(shown),
        ]
        for gold, guess, count, shown in examples
    ]
    header = ["✓ gold", "✗ predicted", "count", "% of its errors", "example"]
    listed = data_table(f"Confusions of {part.name}", header, rows, (0, 1, 4), "last")
    more = left_out(len(part.confusions), MOST_PART_CONFUSIONS, "confusions of this part")
    title = tag("summary", tag("bdi", part.name), tag("small", f" {part.wrong:,} wrong"))
    inside = tag("div", heat_map(f"Confusions of {part.name}", table), tag("div", listed, *more), class_="side")
    return tag("details", title, inside, open="" if is_open else None)


def spans(report: Report) -> list[Html]:
    """Return what is wrong with spans."""
    found = report.evaluation.spans
    if found is None:
        return []
    if not found.errors:
        return [tag("p", "No span is wrong.")]
    counts = found.error_counts
    right = round(found.micro.recall * found.micro.support)
    total = {kind: sum(own[kind] for own in counts.values()) for kind in KINDS}
    text = (
        "Spans that overlap are matched one to one: those with the same tokens first, then those of the same type, "
        f"then others. {found.micro.support - right:,} of {found.micro.support:,} gold spans are not found, "
        f"{found.micro.predicted - right:,} of {found.micro.predicted:,} predicted spans are wrong."
    )
    rows = [
        [
            kind,
            f"{total[kind]:,}",
            *percent(total[kind] / len(found.errors)),
            join(
                [
                    tag("span", SPAN_KINDS[kind], class_="context note"),
                    *(_span_line(*own, report.colours) for own in report.mistakes.spans.get(kind, ())),
                ]
            ),
        ]
        for kind in KINDS
    ]
    header = ["error", "count", "%", "examples"]
    kinds = data_table("Kinds of span errors", header, rows, (0, 3), "last")
    by_type = [[report.colours.chip(name), *(f"{n:,}" for n in own.values())] for name, own in counts.items()]
    table = data_table("Span errors by type", ["span type", *KINDS], by_type[: report.most])
    note = "By type of the gold span, or of the predicted one if it is spurious."
    more = left_out(len(by_type), report.most, "types")
    return [tag("p", text), kinds, tag("h3", "By type"), tag("p", note, class_="note"), table, *more]


def _span_line(error: SpanError, example: Example, colours: Palette) -> Html:
    parts = []
    for sign, span in (("✓", error.gold), ("✗", error.predicted)):
        if span is not None:
            tokens = f" {span.first + 1}–{span.last + 1} " if span.first < span.last else f" {span.first + 1} "
            parts.append(tag("span", sign, tokens, colours.chip(span.type), " "))
    return tag("span", *parts, context(example), class_="context")


def words(report: Report) -> list[Html]:
    """Return the words that most often have a wrong label."""
    found = report.mistakes.words
    if not found:
        return []
    wrong = report.confusion.wrong
    share = sum(own.wrong for own in found)
    text = f"{counted(len(found), 'word')} with the most wrong labels: {share:,} of {wrong:,} ({share / wrong:.1%})."
    rows = [
        [
            named("bdi", own.word, "word"),
            f"{own.wrong:,}",
            f"{own.tokens:,}",
            *percent(own.wrong / own.tokens),
            join(["✓ ", report.colours.chip(gold), " ✗ ", report.colours.chip(guess), f" ×{count:,}"]),
        ]
        for own in found
        for gold, guess, count in [own.confusion]
    ]
    header = ["word", "wrong", "tokens", "wrong, %", "most frequent confusion"]
    return [tag("p", text), data_table("Words with the most errors", header, rows, (0, 4))]


def confident(report: Report) -> list[Html]:
    """Return wrong labels with a high probability."""
    found = report.mistakes.confident
    if not found:
        return []
    text = (
        "The wrong labels of which the model is most certain. Look at the gold labels first: many of these are errors "
        "of annotation, or differences in guidelines between the corpora."
    )
    rows = [
        [
            context(own.example),
            report.colours.chip(own.gold),
            _small(own.gold_probability),
            report.colours.chip(own.predicted),
            *percent(own.probability),
        ]
        for own in found
    ]
    header = ["token", "✓ gold", "probability, %", "✗ predicted", "probability, %"]
    return [tag("p", text), data_table("Confident errors", header, rows, (0, 1, 3), "first")]


def _small(share: float | None) -> str:
    """Return the probability of a gold label, which is low."""
    if share is None:
        return "not in the model"
    return f"{100 * share:.2f}" if share >= 0.0001 else "below 0.01"


def worst(report: Report) -> list[Html]:
    """Return the sentences with the highest density of errors."""
    if not report.worst:
        return []
    text = (
        f"{counted(len(report.worst), 'sentence')} with the highest density of errors: the share of wrong labels, at "
        "the lower end of its 95 % interval (Wilson 1927), so that the length matters little. ✗ is the model's label, "
        "✓ the gold one. “Why” lists what adds to the scores of both, features that differ most first; bars to the "
        "right speak for the model's label. The edges and the rest are those of the best labelling of the sentence "
        "with that label."
    )
    made = [sentence_article(own, why, report.colours, n == 0) for n, (own, why) in enumerate(report.worst)]
    return [tag("p", text), *made]
