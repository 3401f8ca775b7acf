"""`tagwright eval`: how good the labels of a model are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import click

from tagwright.cli.options import COUNT, INPUT, LABELLING_RULES, gold_options
from tagwright.cli.tagging import constraints_of, load_for_text, rows_of, tokenizer_of
from tagwright.data.corpus import allowed_labels
from tagwright.data.reading import batches
from tagwright.data.sentence import Sentence
from tagwright.data.tokens import TOKENIZERS, Span
from tagwright.evaluation.breakdown import MOST_LABELS
from tagwright.models.facts import label_column
from tagwright.models.model import Model
from tagwright.reports.collect import Collected

MOST = click.IntRange(1, MOST_LABELS)
"""How many labels a table of confusions may have."""

_WARNED, _REFUSED = 0.1, 0.9  # of the tokens: shares of unknown labels that new text of the same kind does not have
_EXAMPLES = 5  # labels that a message names


@click.command("eval")
@click.argument("source", metavar="GOLD", type=INPUT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--most", type=COUNT, default=20, help="Number of labels to list.")
@gold_options
def evaluate(source: str, as_json: bool, most: int, **options: Any) -> None:
    """Tag GOLD and compare with the labels it has: accuracy, per-label and span F1, confusions.

    Of a CRF or HMM also the calibration: what share of the labels given with a probability of 80 % is right, and so on.

    \b
    Example:
      tagwright eval -m pos.safetensors test.txt.xz
      tagwright eval -m pos.safetensors test.txt.xz --json
      tagwright eval test.conllu --tokenize english
    """
    result = collected(source, **options).evaluation()
    click.echo(json.dumps(result.as_dict(), ensure_ascii=False) if as_json else result.table(most))


def collected(source: str, worst: int = 0, **options: Any) -> Collected:
    """Tag a file with gold labels; worst: how many sentences are kept whole; options: those of `gold_options`."""
    model = load_for_text(options.pop("model_path"))
    limits = {name: options.pop(name) for name in ("scheme", "dictionary", *LABELLING_RULES)}
    constraints = constraints_of(model, limits)
    found = Collected(model, options.pop("decoder"), options.pop("threads"), worst, constraints)
    label, partial, tokenize = (options.pop(name) for name in ("label", "partial", "tokenize"))
    if tokenize is not None and model.columns > 1:
        raise click.ClickException(f"--tokenize: text has one column, but the model's {model.reader(1)}")
    label = label or label_column(model.facts) or "last"
    for batch in batches(source, columns=model.columns, label=label, **options):
        gold: list[Any] = [sentence.labels or [] for sentence in batch]
        if partial:
            gold = [[allowed_labels(cell) for cell in own] for own in gold]
        if tokenize is None:
            found.add(rows_of(model, batch), gold)
        else:
            spans_of = TOKENIZERS[tokenizer_of(model, tokenize)].spans
            X, places = zip(*(_split_again(sentence, spans_of) for sentence in batch), strict=True)
            found.add(X, gold, rows_of(model, batch), places)
    _check_labels(model, source, found.gold)
    return found


def _split_again(sentence: Sentence, spans_of: Callable[[str], list[Span]]) -> tuple[list[list[str]], list[int | None]]:
    """Return the tokens of a sentence's text, and for each gold token its index among them, None if it is not one."""
    text, gold = "", []
    for row, is_joined in zip(sentence.rows, sentence.form.joined(sentence), strict=True):
        gold.append((len(text), len(text) + len(row[0])))
        text += row[0] if is_joined else f"{row[0]} "
    spans = spans_of(text)
    index = {span: t for t, span in enumerate(spans)}
    return [[text[begin:end]] for begin, end in spans], [index.get(span) for span in gold]


def _check_labels(model: Model, source: str, gold: list[list[str]]) -> None:
    """Refuse gold labels of which the model knows hardly any; warn where it does not know those of many tokens."""
    count = Counter(label for labels in gold for label in labels)
    known = {*model.labels}
    unknown = [label for label, _ in count.most_common() if label not in known]
    tokens, missed = count.total(), sum(count[label] for label in unknown)
    if missed <= _WARNED * tokens:
        return
    examples = ", ".join(unknown[:_EXAMPLES])
    if missed > _REFUSED * tokens:
        what = "knows none of its labels" if missed == tokens else f"does not know {missed / tokens:.1%} of its labels"
        raise click.ClickException(
            f"{source}: the model {what} ({examples}); its own are {', '.join(model.labels[:_EXAMPLES])}; "
            "choose another column with --label, or another model"
        )
    click.echo(
        f"Warning: {missed / tokens:.1%} of the tokens have a gold label that the model does not know ({examples}); "
        "they count as wrong",
        err=True,
    )
