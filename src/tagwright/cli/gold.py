"""Gold labels of a file beside those of a model, for `eval`, `report` and `plot`."""

from __future__ import annotations

from collections import Counter
from typing import Any

import click

from tagwright.cli.options import Command
from tagwright.cli.tagging import load_for_text, rows_of
from tagwright.data.reading import batches
from tagwright.evaluation.breakdown import MOST_LABELS
from tagwright.models.facts import label_column
from tagwright.models.model import Model
from tagwright.reports.collect import Collected

__all__ = ["MOST", "collected", "label_option"]

MOST = click.IntRange(1, MOST_LABELS)
"""How many labels a table of confusions may have."""

_MANY = 0.1  # of the tokens: a share of unknown labels that new text of the same kind does not have
_EXAMPLES = 5  # labels that a message names


def label_option(command: Command) -> Command:
    """Add the option that says where the gold labels are."""
    return click.option("-l", "--label", help="Column of the right label; by default as in training.")(command)


def collected(
    source: str, label: str | None, model_path: str | None, decoder: str, threads: int, worst: int = 0, **asked: Any
) -> Collected:
    """Return the labels of a file beside those of a model; worst: how many sentences are kept whole."""
    model = load_for_text(model_path)
    asked["label"] = label or label_column(model.facts) or "last"
    found = Collected(model, decoder, threads, worst)
    for batch in batches(source, columns=model.columns, **asked):
        found.add(rows_of(model, batch), [sentence.labels or [] for sentence in batch])
    _check_labels(model, source, found.gold)
    return found


def _check_labels(model: Model, source: str, gold: list[list[str]]) -> None:
    """Refuse gold labels of which the model knows none; warn where it does not know those of many tokens."""
    count = Counter(label for labels in gold for label in labels)
    known = {*model.labels}
    unknown = [label for label, _ in count.most_common() if label not in known]
    tokens, missed = count.total(), sum(count[label] for label in unknown)
    examples = ", ".join(unknown[:_EXAMPLES])
    if missed == tokens:
        theirs = ", ".join(model.labels[:_EXAMPLES])
        raise click.ClickException(
            f"{source}: the model knows none of its labels ({examples}); its own are {theirs}; "
            "choose another column with --label, or another model"
        )
    if missed > _MANY * tokens:
        click.echo(
            f"Warning: {missed / tokens:.1%} of the tokens have a gold label that the model does not know "
            f"({examples}); they count as wrong",
            err=True,
        )
