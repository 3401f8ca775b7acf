"""The page of a report: one HTML file with its style and pictures inside, without scripts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tagwright.evaluation.breakdown import Group
from tagwright.evaluation.calibration import Calibration
from tagwright.evaluation.result import Evaluation, Scores
from tagwright.markup import Html, counted, cut, html_table, join, tag
from tagwright.models.model import Model
from tagwright.models.summary import summary
from tagwright.reports.charts import bar, heat_map, legend, line_chart, reliability
from tagwright.reports.curves import MOST_POINTS, curves_of
from tagwright.reports.sentences import sentence_article

if TYPE_CHECKING:
    from tagwright.reports.report import Report

STYLE = Path(__file__).with_name("report.css")
# Nothing may be loaded and nothing may run, whatever a label or a word is.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
MOST_LABELS = 50  # rows of labels and types of spans
MOST_CONFUSIONS = 30
MOST_TEMPLATES = 200  # lines
MOST_FACTS = 200  # characters of an option


def page(report: Report) -> Html:
    """Return the whole page."""
    sections = [part for part in _sections(report) if part[2]]
    links = [tag("a", title, href=f"#{name}") for name, title, _ in sections]
    body = [tag("h1", report.title), tag("p", *_subject(report), class_="note"), tag("nav", join(links, " "))]
    body += [tag("section", tag("h2", title), *parts, id=name) for name, title, parts in sections]
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="generator", content="tagwright"),
        tag("title", report.title),
        tag("style", Html("\n" + STYLE.read_text(encoding="utf-8"))),
    ]
    whole = tag("html", Html("\n"), tag("head", join(head, "\n")), Html("\n"), tag("body", join(body, "\n")), lang="en")
    return Html(f"<!DOCTYPE html>\n{whole}\n")


def _subject(report: Report) -> list[object]:
    found = report.evaluation
    return [
        repr(report.model).removeprefix("Model(").removesuffix(")"),
        f"; measured on {counted(found.sentences, 'sentence')}, {counted(found.tokens, 'token')}",
        *([" of ", tag("bdi", cut(report.gold_name))] if report.gold_name else []),
        ".",
    ]


def _sections(report: Report) -> list[tuple[str, str, list[Html]]]:
    """Return the name, the title and the parts of each section; those that do not apply have none."""
    found = report.evaluation
    return [
        ("figures", "Figures", [_cards(found), *_tables(found)]),
        ("confusions", "Confusions", _confusions(report)),
        ("frequency", "Frequency of labels", _frequency(report)),
        ("length", "Length of sentences", _length(report)),
        ("calibration", "Calibration", _calibration(found.calibration)),
        ("curve", "Learning curve", _curves(report.model)),
        ("worst", "Worst sentences", _worst(report)),
        ("model", "Model", _model(report.model)),
    ]


def _cards(found: Evaluation) -> Html:
    cards = [
        ("Token accuracy", found.token_accuracy, counted(found.tokens, "token")),
        ("Sentence accuracy", found.sentence_accuracy, counted(found.sentences, "sentence")),
    ]
    if found.spans:
        cards.append(
            ("Span F1", found.spans.micro.f1, f"{counted(found.spans.micro.support, 'span')}, {found.spans.scheme}")
        )
    cards.append(("Label F1, mean", found.macro_f1, counted(len(found.labels), "label")))
    for name, share in (("Known words", found.known), ("Unknown words", found.unknown)):
        if share:
            cards.append((name, share[0], counted(share[1], "token")))
    if found.calibration:
        cards.append(("Calibration error", found.calibration.error, "10 bins"))
    made = [
        tag("div", tag("dt", name), tag("dd", f"{share:.2%}"), tag("dd", of), class_="card")
        for name, share, of in cards
    ]
    return tag("dl", *made, class_="cards")


def _tables(found: Evaluation) -> list[Html]:
    made = []
    if found.spans:
        made.append(_scores(f"Spans, {found.spans.scheme}, {found.spans.part}", "type", found.spans.types))
    made.append(_scores("Labels, most frequent first", "label", found.labels))
    return made


def _scores(title: str, what: str, scores: Sequence[Scores]) -> Html:
    rows = [
        [own.name, *_percent(own.f1), bar(own.f1), *_percent(own.precision, own.recall), *_counts(own)]
        for own in scores[:MOST_LABELS]
    ]
    header = [what, "F1, %", "", "precision, %", "recall, %", "gold", "predicted"]
    table = _wide(title, html_table(header, rows))
    return tag("details", tag("summary", title), table, *_left_out(len(scores), MOST_LABELS, what + "s"))


def _counts(own: Scores) -> list[str]:
    return [f"{own.support:,}", f"{own.predicted:,}"]


def _percent(*shares: float) -> list[str]:
    return [f"{100 * share:.2f}" for share in shares]


def _wide(name: str, inside: Html, class_: str = "wide") -> Html:
    """Return a region that may be wider than a phone and scrolls on its own, also by keys; name: for screen readers."""
    return tag("div", inside, class_=class_, tabindex="0", role="region", aria_label=name)


def _left_out(count: int, most: int, what: str) -> list[Html]:
    return [tag("p", f"The first {most:,} of {count:,} {what} are shown.", class_="note")] if count > most else []


def _confusions(report: Report) -> list[Html]:
    found, table = report.evaluation, report.confusion
    if not found.confusions:
        return [tag("p", "No label is wrong.")]
    text = (
        f"{len(table.labels):,} of {len(found.labels):,} labels: those that take part in the most frequent confusions. "
        f"The table has {table.shown:,} of the {table.wrong:,} wrong labels. Cells count tokens; the "
        "darker, the larger their share of the row."
    )
    rows = [
        [gold, predicted, f"{count:,}", *_percent(count / table.wrong)]
        for gold, predicted, count in found.confusions[:MOST_CONFUSIONS]
    ]
    listed = html_table(["gold", "predicted", "count", "% of all wrong"], rows, (0, 1))
    title = tag("summary", "The most frequent confusions as a list")
    more = _left_out(len(found.confusions), MOST_CONFUSIONS, "confusions")
    return [
        tag("p", text),
        legend(("right", "right"), ("wrong", "wrong")),
        _wide("Confusions", heat_map(table)),
        tag("details", title, _wide("List of confusions", listed), *more),
    ]


def _frequency(report: Report) -> list[Html]:
    text = (
        "Accuracy of the tokens, grouped by how often their gold label occurs in the file. Thin lines are 95 % "
        "confidence intervals."
    )
    return [tag("p", text), _groups(report.by_frequency, ["occurs", "labels"])]


def _length(report: Report) -> list[Html]:
    text = "Accuracy of the tokens by the length of their sentence, and the share of the sentences without a mistake."
    return [tag("p", text), _groups(report.by_length, ["tokens in the sentence", "sentences"])]


def _groups(groups: Sequence[Group], header: Sequence[str]) -> Html:
    whole = [[] if own.members_right is None else _percent(own.members_right / own.members) for own in groups]
    rows = [
        [
            own.name,
            *_percent(own.accuracy),
            bar(own.accuracy, own.interval),
            f"{own.members:,}",
            f"{own.tokens:,}",
            *more,
        ]
        for own, more in zip(groups, whole, strict=True)
    ]
    more = ["sentences right, %"] if any(whole) else []
    return _wide(
        f"Accuracy by {header[0]}", html_table([header[0], "accuracy, %", "", header[1], "tokens", *more], rows)
    )


def _calibration(found: Calibration | None) -> list[Html]:
    if found is None:
        return []
    text = (
        "Of the labels to which the model gives a probability of 80 %, 80 % should be right: points should lie on the "
        f"dashed line. Their mean distance from it, over all tokens, is {found.error:.2%}. Larger points have "
        "more tokens."
    )
    rows = [
        [f"{own.low:.0%} to {own.high:.0%}", f"{own.tokens:,}", *_percent(own.probability, own.accuracy)]
        for own in found.bins
    ]
    table = html_table(["probability", "tokens", "mean, %", "right, %"], rows)
    return [tag("p", text), tag("div", reliability(found), _wide("Calibration", table), class_="side")]


def _curves(model: Model) -> list[Html]:
    """Return a chart for each thing that training measured; of a bidirectional model, for both sides."""
    curves = curves_of(model)
    parts = []
    for side in dict.fromkeys(curve.side for curve in curves):
        charts = [line_chart(curve.points, curve.unit, curve.name) for curve in curves if curve.side == side]
        parts += [*([tag("h3", f"The {side} model")] if side else []), tag("div", *charts, class_="side")]
    if len(model.history) > MOST_POINTS:
        parts.append(tag("p", f"Of {len(model.history):,} points, at most {MOST_POINTS} are drawn.", class_="note"))
    return parts


def _worst(report: Report) -> list[Html]:
    if not report.worst:
        return []
    text = (
        f"{counted(len(report.worst), 'sentence')} with the most wrong labels. ✗ is the model's label, ✓ the right "
        "one. “Why” lists what adds to the scores of both, features that differ most first; bars to the left speak for "
        "the wrong label. The edges and the rest are those of the best labelling of the sentence with that label."
    )
    made = [sentence_article(own, why, n == 0) for n, (own, why) in enumerate(report.worst)]
    return [tag("p", text), *made]


def _model(model: Model) -> list[Html]:
    facts = [[name, cut(value, MOST_FACTS)] for name, value in summary(model)]
    parts = [_wide("The model", html_table(["", ""], facts, (0, 1)), "wide facts")]
    if model.features:
        lines = [tag("div", cut(line)) for line in model.features.text.split("\n")[:MOST_TEMPLATES] if line.strip()]
        title = tag("summary", "Templates of the features")
        more = _left_out(model.features.text.count("\n") + 1, MOST_TEMPLATES, "lines")
        parts.append(tag("details", title, tag("div", *lines, class_="code"), *more))
    return parts
