"""A report: how good a model is, where its mistakes are, and why it makes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from tagwright import checks
from tagwright.data.output import Target, writing
from tagwright.decoding.decoders import Decoder
from tagwright.evaluation.breakdown import Confusion, Group, accuracy_by_frequency, accuracy_by_length, confusion_of
from tagwright.evaluation.result import Evaluation
from tagwright.markup import tag
from tagwright.models.model import Model
from tagwright.models.native import Sentences
from tagwright.reports.collect import Collected, Tagged
from tagwright.reports.page import page
from tagwright.reports.sentences import Why, reasons_of

MOST_LABELS, MOST_WORST = 20, 20  # by default
LIMIT_WORST = 100  # each takes up to a hundred kilobytes of the page
MOST_REASONS = 4  # per sentence
_AT_ONCE = 1000  # sentences


@dataclass(frozen=True)
class Report:
    """The content of a report page; `report` makes it."""

    title: str
    model: Model
    gold_name: str
    """Of the file that the model was measured on; may be empty."""
    evaluation: Evaluation
    by_frequency: list[Group]
    """Tokens by how often their gold label occurs."""
    by_length: list[Group]
    """Tokens by the length of their sentence."""
    confusion: Confusion
    worst: list[tuple[Tagged, list[Why]]]
    """The worst sentences first, each with why its first mistakes were made."""

    @classmethod
    def of(cls, found: Collected, title: str, gold_name: str = "", labels: int = MOST_LABELS) -> Self:
        """Return the report of sentences that were tagged; labels: how many the confusion table has."""
        result = found.evaluation()
        return cls(
            title,
            found.model,
            gold_name,
            result,
            accuracy_by_frequency(result, {*found.model.labels}),
            accuracy_by_length(found.gold, found.predicted),
            confusion_of(result, labels),
            [(own, reasons_of(found.model, own, MOST_REASONS, found.constraints)) for own in found.worst()],
        )

    def html(self) -> str:
        """Return the page: one file, without scripts, that loads nothing."""
        return page(self)

    def save(self, path: Target) -> None:
        """Write the page; path: may also be ``"-"``, standard output, or a file object that takes bytes."""
        with writing(path) as file:
            file.write(self.html().encode())

    def _repr_html_(self) -> str:
        """Return the page in a frame of its own, so that its style stays there."""
        return tag(
            "iframe", srcdoc=page(self), sandbox="", style="width: 100%; height: 40em; border: 0", title=self.title
        )


def report(
    model: Model,
    X: Sentences,
    y: list[list[str]],
    *,
    title: str | None = None,
    labels: int = MOST_LABELS,
    worst: int = MOST_WORST,
    decoder: str | Decoder = "auto",
    threads: int = 1,
) -> Report:
    """Evaluate a model on labelled sentences, and return a report for notebooks or an HTML file.

    Parameters
    ----------
    model : Model
        The model to evaluate.
    X : list of sentences
        Tokens, as for `Model.tag_batch`.
    y : list of list of str
        Gold labels.
    title : str, optional
        Title of the page.
    labels : int, default=20
        Number of labels in the confusion matrix, at most 100.
    worst : int, default=20
        Number of sentences to show, those with most errors first; at most 100.
    decoder : str or Decoder, default="auto"
        Decoder for tagging.
    threads : int, default=1
        Number of threads over sentences.

    Returns
    -------
    Report
        The evaluation, its breakdowns and the sentences; `save` writes it as HTML.

    Raises
    ------
    ValueError
        If X and y have different lengths, or for numbers out of range.

    Examples
    --------
    >>> import tagwright as tw
    >>> made = tw.report(tw.load(), [["Time", "flies"]], [["NN", "VBZ"]])
    >>> made.evaluation.token_accuracy, made.html().startswith("<!DOCTYPE html>")
    (0.5, True)

    """
    checks.at_least_zero("worst", worst)
    if worst > LIMIT_WORST:
        raise ValueError(f"worst is {worst}, more than a page should have; use at most {LIMIT_WORST}")
    found = Collected(model, decoder, threads, worst)
    for begin in range(0, len(X), _AT_ONCE):
        found.add(X[begin : begin + _AT_ONCE], y[begin : begin + _AT_ONCE])
    return Report.of(found, title or "How good the model is", "", labels)
