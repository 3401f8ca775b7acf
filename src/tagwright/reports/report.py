"""A report: how good a model is, where its mistakes are, and why it makes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Self

from tagwright import checks
from tagwright.cached import cached_property
from tagwright.data.output import Target, writing
from tagwright.decoding.decoders import Decoder
from tagwright.evaluation.breakdown import Confusion, Group, accuracy_by_frequency, accuracy_by_length, confusion_of
from tagwright.evaluation.comparison import Comparison
from tagwright.evaluation.result import Evaluation
from tagwright.markup import tag
from tagwright.models.model import Model
from tagwright.models.native import Sentences
from tagwright.reports.blocks import Palette
from tagwright.reports.collect import Collected, Tagged
from tagwright.reports.comparing import differing
from tagwright.reports.mistakes import MOST_CONFIDENT, Mistakes
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
    name: str
    """Of the model."""
    model: Model
    gold_name: str
    """Of the file that the model was measured on; may be empty."""
    probabilistic: bool
    """Whether labels have probabilities."""
    evaluation: Evaluation
    by_frequency: list[Group]
    """Tokens by how often their gold label occurs."""
    by_length: list[Group]
    """Tokens by the length of their sentence."""
    confusion: Confusion
    mistakes: Mistakes
    """Confusions of parts, examples, words, span errors and confident errors."""
    worst: list[tuple[Tagged, list[Why]]]
    """The sentences with the highest density of errors first, each with why its first mistakes were made."""
    most: int = MOST_LABELS
    """Labels of the confusion table."""
    other: Report | None = None
    """The report of a second model on the same sentences."""
    comparison: Comparison | None = None
    """This model compared with the second one."""
    differing: list[tuple[Tagged, Tagged]] = field(default_factory=list)
    """Sentences on which the two models differ most."""

    @classmethod
    def of(cls, found: Collected, name: str, gold_name: str = "", labels: int = MOST_LABELS) -> Self:
        """Return the report of sentences that were tagged; labels: how many the confusion table has."""
        result = found.evaluation()
        return cls(
            name,
            name,
            found.model,
            gold_name,
            found.probabilistic,
            result,
            accuracy_by_frequency(result, {*found.model.labels}),
            accuracy_by_length(found.gold, found.predicted),
            confusion_of(result, labels),
            Mistakes.of(found, result),
            [(own, reasons_of(found.model, own, MOST_REASONS, found.constraints)) for own in found.worst()],
            labels,
        )

    @classmethod
    def of_two(cls, found: Sequence[Collected], names: Sequence[str], gold_name: str, labels: int, most: int) -> Self:
        """Return the report of sentences that two models tagged; most: how many sentences it shows."""
        first, second = (cls.of(own, name, gold_name, labels) for own, name in zip(found, names, strict=True))
        return replace(
            first,
            title=" and ".join(names),
            other=second,
            comparison=first.evaluation.compare(second.evaluation),
            differing=differing(found[0], found[1], most),
        )

    @property
    def names(self) -> tuple[str, str]:
        """The names of both models."""
        return self.name, self.other.name if self.other else ""

    @property
    def evaluations(self) -> list[Evaluation]:
        """Those of one model, or of both."""
        return [self.evaluation] if self.other is None else [self.evaluation, self.other.evaluation]

    @cached_property
    def colours(self) -> Palette:
        """The colours of labels."""
        return Palette(self.model.labels)

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
    other: Model | None = None,
    title: str | None = None,
    names: tuple[str, str] = ("first model", "second model"),
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
    other : Model, optional
        A second model, which is shown side by side with the first and compared with it by paired tests.
    title : str, optional
        Title of the page.
    names : pair of str
        How the page calls two models.
    labels : int, default=20
        Number of labels in the confusion matrix, at most 100.
    worst : int, default=20
        Number of sentences to show, those with the highest density of errors first, or those on which two models
        differ most; at most 100.
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
    models = [model] if other is None else [model, other]
    kept = worst if other is None else 0
    found = [Collected(own, decoder, threads, kept, None, MOST_CONFIDENT) for own in models]
    for begin in range(0, len(X), _AT_ONCE):
        for own in found:
            own.add(X[begin : begin + _AT_ONCE], y[begin : begin + _AT_ONCE])
    if other is None:
        return Report.of(found[0], title or "How good the model is", "", labels)
    made = Report.of_two(found, names, "", labels, worst)
    return made if title is None else replace(made, title=title)
