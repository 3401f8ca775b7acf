"""The page of a report: one HTML file with its style and pictures inside, without scripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tagwright.evaluation.breakdown import Group
from tagwright.evaluation.result import Evaluation, Figure, Scores
from tagwright.markup import Html, counted, cut, html_table, join, tag
from tagwright.models.summary import summary
from tagwright.reports import comparing, mistakes
from tagwright.reports.blocks import Palette, data_table, left_out, percent, wide
from tagwright.reports.charts import bar, line_chart, reliability
from tagwright.reports.curves import MOST_POINTS, curves_of

if TYPE_CHECKING:
    from tagwright.reports.report import Report

STYLE = Path(__file__).with_name("report.css")
COLOURS = Path(__file__).parents[1] / "serve" / "page" / "style.css"
"""The page of the server, which has the same colours."""
# Nothing may be loaded and nothing may run, whatever a label or a word is.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
MOST_LABELS = 50  # rows of labels and types of spans
MOST_TEMPLATES = 200  # lines
MOST_FACTS = 200  # characters of an option

Parts = list[Html]


def page(report: Report) -> Html:
    """Return the whole page."""
    sections = [part for part in _sections(report) if part[2]]
    links = [tag("a", title, href=f"#{name}") for name, title, _ in sections]
    body = [
        tag("header", tag("h1", report.title), *_subject(report)),
        tag("nav", join(links, " "), aria_label="Sections"),
    ]
    made = [
        tag("section", tag("h2", title, id=f"h-{name}"), *parts, id=name, aria_labelledby=f"h-{name}")
        for name, title, parts in sections
    ]
    body.append(tag("main", join(made, "\n")))
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="generator", content="tagwright"),
        tag("title", report.title),
        tag("style", Html("\n" + style())),
    ]
    kind = None if report.other is None else "two"
    parts = [tag("head", join(head, "\n")), Html("\n"), tag("body", join(body, "\n"), class_=kind)]
    whole = tag("html", Html("\n"), *parts, lang="en")
    return Html(f"<!DOCTYPE html>\n{whole}\n")


def style() -> str:
    """Return the style: the colours of both themes, as on the page of the server, and that of reports."""
    shared = COLOURS.read_text(encoding="utf-8")
    light = re.search(r"^:root \{[^}]*\}", shared, flags=re.M)
    dark = re.search(r"^@media \(prefers-color-scheme: dark\) \{\s*:root \{[^}]*\}\s*\}", shared, flags=re.M)
    if light is None or dark is None:
        raise RuntimeError(f"{COLOURS}: the colours of both themes are not where they are expected")
    return f"{light[0]}\n{dark[0]}\n{STYLE.read_text(encoding='utf-8')}"


def _subject(report: Report) -> Parts:
    found = report.evaluation
    where: list[object] = [" of ", tag("bdi", cut(report.gold_name))] if report.gold_name else []
    measured = [f"Measured on {counted(found.sentences, 'sentence')}, {counted(found.tokens, 'token')}", *where, "."]
    models = [
        tag("p", *([tag("strong", own.name), ": "] if report.other else []), _described(own), class_="note")
        for own in _subjects(report)
    ]
    return [*models, tag("p", *measured, class_="note")]


def _described(report: Report) -> str:
    return repr(report.model).removeprefix("Model(").removesuffix(")")


def _subjects(report: Report) -> list[Report]:
    """Return the reports of one model each that the page has."""
    return [report] if report.other is None else [report, report.other]


def _sections(report: Report) -> list[tuple[str, str, Parts]]:
    """Return the name, the title and the parts of each section; those that do not apply have none."""
    made = [
        ("comparison", "Comparison", comparing.comparison(report)),
        ("differ", "Sentences that differ", comparing.sentences(report)),
    ]
    single: list[tuple[str, str, Callable[[Report], Parts]]] = [
        ("figures", "Figures", _figures),
        ("confusions", "Confusions", mistakes.confusions),
        ("parts", "Parts of labels", mistakes.parts),
        ("spans", "Span errors", mistakes.spans),
        ("words", "Words", mistakes.words),
        ("confident", "Confident errors", mistakes.confident),
        ("frequency", "Frequency of labels", _frequency),
        ("length", "Length of sentences", _length),
        ("calibration", "Calibration", _calibration),
        ("curve", "Learning curve", _curves),
        ("worst", "Sentences with most errors", mistakes.worst),
        ("model", "Model", _model),
    ]
    for name, title, section in single:
        parts = [section(own) for own in _subjects(report)]
        if report.other is None:
            made.append((name, title, parts[0]))
        elif any(parts):
            halves = [
                tag("div", tag("h3", cut(own.name)), *(part or [tag("p", "None.", class_="note")]), class_="half")
                for own, part in zip(_subjects(report), parts, strict=True)
            ]
            made.append((name, title, [tag("div", *halves, class_="halves")]))
    return made


def _figures(report: Report) -> Parts:
    found = report.evaluation
    figures = sorted(found.figures, key=lambda own: own.key != "token_accuracy")
    made = [tag("dl", *(_card(found, own) for own in figures), class_="cards")]
    if found.intervals:
        text = "Ranges are 95 % intervals by the percentile bootstrap over sentences, from 1,000 resamples."
        made.append(tag("p", text, class_="note"))
    if not report.probabilistic:
        text = "The model has no probabilities: there is no calibration and no list of confident errors."
        made.append(tag("p", text, class_="note"))
    if found.spans:
        title = f"Spans, {found.spans.scheme}, {found.spans.part}"
        made.append(_scores(title, "type", found.spans.types, report.colours))
    made.append(_scores("Labels, most frequent first", "label", found.labels, report.colours))
    return made


def _card(found: Evaluation, own: Figure) -> Html:
    of = own.noun if own.count is None else counted(own.count, own.noun)
    ends = found.intervals.get(own.key)
    interval = [tag("dd", "{} to {} %".format(*percent(*ends)))] if ends else []
    name = own.name[:1].upper() + own.name[1:]
    return tag("div", tag("dt", name), tag("dd", f"{own.value:.2%}"), *interval, tag("dd", of), class_="card")


def _scores(title: str, what: str, scores: Sequence[Scores], colours: Palette) -> Html:
    rows = [
        [
            colours.chip(own.name),
            *percent(own.f1),
            bar(own.f1),
            *percent(own.precision, own.recall),
            f"{own.support:,}",
            f"{own.predicted:,}",
        ]
        for own in scores[:MOST_LABELS]
    ]
    header = [what, "F1, %", "", "precision, %", "recall, %", "gold", "predicted"]
    table = data_table(title, header, rows)
    return tag("details", tag("summary", title), table, *left_out(len(scores), MOST_LABELS, what + "s"))


def _frequency(report: Report) -> Parts:
    text = (
        "Accuracy of the tokens, grouped by how often their gold label occurs in the file. Thin lines are 95 % "
        "confidence intervals."
    )
    return [tag("p", text), _groups(report.by_frequency, ["occurs", "labels"])]


def _length(report: Report) -> Parts:
    text = "Accuracy of the tokens by the length of their sentence, and the share of the sentences without a mistake."
    return [tag("p", text), _groups(report.by_length, ["tokens in the sentence", "sentences"])]


def _groups(groups: Sequence[Group], header: Sequence[str]) -> Html:
    whole = [[] if own.members_right is None else percent(own.members_right / own.members) for own in groups]
    rows = [
        [
            own.name,
            *percent(own.accuracy),
            bar(own.accuracy, own.interval),
            f"{own.members:,}",
            f"{own.tokens:,}",
            *more,
        ]
        for own, more in zip(groups, whole, strict=True)
    ]
    more = ["sentences right, %"] if any(whole) else []
    return data_table(f"Accuracy by {header[0]}", [header[0], "accuracy, %", "", header[1], "tokens", *more], rows)


def _calibration(report: Report) -> Parts:
    found = report.evaluation.calibration
    if found is None:
        return []
    text = (
        "Of the labels to which the model gives a probability of 80 %, 80 % should be right: points should lie on the "
        f"dashed line. Their mean distance from it, over all tokens, is {found.error:.2%}. Larger points have "
        "more tokens."
    )
    rows = [
        [f"{own.low:.0%} to {own.high:.0%}", f"{own.tokens:,}", *percent(own.probability, own.accuracy)]
        for own in found.bins
    ]
    table = data_table("Calibration", ["probability", "tokens", "mean, %", "right, %"], rows)
    return [tag("p", text), tag("div", reliability(found), table, class_="side")]


def _curves(report: Report) -> Parts:
    """Return a chart for each thing that training measured; of a bidirectional model, for both sides."""
    model = report.model
    curves = curves_of(model)
    parts = []
    for side in dict.fromkeys(curve.side for curve in curves):
        charts = [line_chart(curve.points, curve.unit, curve.name) for curve in curves if curve.side == side]
        parts += [*([tag("h3", f"The {side} model")] if side else []), tag("div", *charts, class_="side")]
    if len(model.history) > MOST_POINTS:
        parts.append(tag("p", f"Of {len(model.history):,} points, at most {MOST_POINTS} are drawn.", class_="note"))
    return parts


def _model(report: Report) -> Parts:
    model = report.model
    facts = [[name, cut(value, MOST_FACTS)] for name, value in summary(model)]
    parts = [wide("The model", html_table(["what", "value"], facts, (0, 1), row_headers=True), "wide facts")]
    if model.features:
        lines = [tag("div", cut(line)) for line in model.features.text.split("\n")[:MOST_TEMPLATES] if line.strip()]
        title = tag("summary", "Templates of the features")
        more = left_out(model.features.text.count("\n") + 1, MOST_TEMPLATES, "lines")
        parts.append(tag("details", title, tag("div", *lines, class_="code"), *more))
    return parts
