"""`tagwright eval`: how good the labels of a model are."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
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
    Two models are compared by paired tests.

    \b
    Example:
      tagwright eval -m pos.safetensors test.txt.xz
      tagwright eval -m pos.safetensors test.txt.xz --json
      tagwright eval -m old.safetensors -m new.safetensors test.txt.xz
      tagwright eval test.conllu --tokenize english
    """
    names = model_names(options["model_paths"])
    results = [found.evaluation() for found in collected(source, **options)]
    if len(results) == 1:
        click.echo(json.dumps(results[0].as_dict(), ensure_ascii=False) if as_json else results[0].table(most))
        return
    compared = results[0].compare(results[1])
    if as_json:
        models = {name: result.as_dict() for name, result in zip(names, results, strict=True)}
        click.echo(json.dumps({"models": models, **compared.as_dict()}, ensure_ascii=False))
    else:
        click.echo(compared.table(names))


def model_names(paths: Sequence[str | None]) -> list[str]:
    """Return how models are called: by the names of their files; of two, without the ending, or by what differs."""
    names = [os.path.basename(path or "the included model of English") for path in paths]
    if len(names) == 1:
        return names
    short = [name.removesuffix(".safetensors") for name in names]
    if short[0] != short[1]:
        return short
    return list(map(str, paths)) if paths[0] != paths[1] else [f"{name} ({n})" for n, name in enumerate(short, 1)]


def collected(source: str, worst: int = 0, confident: int = 0, **options: Any) -> list[Collected]:
    """Tag a file with gold labels by one model or two.

    worst, confident: how many sentences and wrong labels are kept whole; options: those of `gold_options`.
    """
    models = [load_for_text(path) for path in options.pop("model_paths")]
    limits = {name: options.pop(name) for name in ("scheme", "dictionary", *LABELLING_RULES)}
    decoder, threads, label, partial, tokenize = (
        options.pop(name) for name in ("decoder", "threads", "label", "partial", "tokenize")
    )
    found = [
        Collected(model, decoder, threads, worst, constraints_of(model, limits), confident=confident)
        for model in models
    ]
    for model in models:
        if tokenize is not None and model.columns > 1:
            raise click.ClickException(f"--tokenize: text has one column, but the model's {model.reader(1)}")
    columns = max(model.columns for model in models)
    for batch in batches(source, columns=columns, label=label or _label_of(models), **options):
        gold: list[Any] = [sentence.labels or [] for sentence in batch]
        if partial:
            gold = [[allowed_labels(cell) for cell in own] for own in gold]
        for own in found:
            if tokenize is None:
                own.add(rows_of(own.model, batch), gold)
            else:
                spans_of = TOKENIZERS[tokenizer_of(own.model, tokenize)].spans
                X, places = zip(*(_split_again(sentence, spans_of) for sentence in batch), strict=True)
                own.add(X, gold, rows_of(own.model, batch), places)
    for own in found:
        _check_labels(own.model, source, own.gold)
    return found


def _label_of(models: Sequence[Model]) -> str:
    """Return the column of labels in training, on which two models must agree."""
    labels = [label_column(model.facts) or "last" for model in models]
    if len({*labels}) > 1:
        raise click.ClickException(
            f"the models were trained on different columns of labels, {' and '.join(labels)}; choose one with --label"
        )
    return labels[0]


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
