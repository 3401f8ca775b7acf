"""`tagwright tune`: which options are best on dev data, and the model that has them."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import click

from tagwright.cli.corpora import read_corpora, written
from tagwright.cli.learners import make_training, settings_of
from tagwright.cli.options import COUNT, FILE, corpus_arguments, force_option, threads_option, training_options
from tagwright.cli.overwriting import check_model_target
from tagwright.data.output import check_target, is_standard_output
from tagwright.learners import options as table_of_options
from tagwright.learners.interrupts import stops
from tagwright.learners.options import nested_name
from tagwright.table import table

_NOT_TRIED = {"cache", "workers", "max_iterations", "decoder"}
_FACTOR = 3  # one of this many combinations continues, with this many times as many epochs


@click.command()
@corpus_arguments
@click.option("--dev", type=FILE, required=True, help="File on which the accuracy decides.")
@click.option("--learner", type=click.Choice(["crf", "perceptron"]), default="crf", help="Learner.")
@training_options
@click.option(
    "--try",
    "tried",
    multiple=True,
    metavar="NAME=VALUE,...",
    help="Values to try of an option that tagwright train --set has; one value fixes it. May be repeated. By default: "
    "l2, margin and min_count, as far as the learner has them.",
)
@click.option("-e", "--epochs", type=COUNT, default=9, help="Epochs of the last round; of L-BFGS, iterations.")
@click.option("--jobs", type=COUNT, default=1, help="Trainings at a time, each in a process.")
@click.option("--ray", "address", metavar="ADDRESS", help="Train on a Ray cluster: auto, HOST:6379, or local.")
@threads_option
@force_option
@click.pass_context
def tune(
    context: click.Context,
    /,
    corpora: tuple[str, ...],
    model: str,
    dev: str,
    learner: str,
    tried: tuple[str, ...],
    **options: Any,
) -> None:
    """Try options on CORPUS, and write the model that is best on --dev to MODEL.

    All combinations are trained for an epoch or a few; the best third continues with three times as many, and so forth
    (successive halving). The table has the best combinations first; the accuracy of each is that of its last round.

    \b
    Example:
      tagwright tune train.txt pos.safetensors --dev dev.txt
      tagwright tune train.txt pos.safetensors --dev dev.txt --learner crf --try l2=0,0.01 --try rate=0.2,0.5
      tagwright tune train.txt pos.safetensors --dev dev.txt --learner crf --try solver=lbfgs -e 60 --jobs 2
    """
    check_model_target(model, [*corpora, dev], options["force"])
    check_target(model)
    values, solver = _values(learner, tried)
    given = written(context, options) - {"epochs"}
    made = make_training(learner, options, [f"solver={solver}"] if solver else [], given).learner
    length = nested_name(learner, table_of_options.length(solver))
    values = values or {name: list(own) for name, own in table_of_options.tried(learner, solver).items()}
    grid = {nested_name(learner, name): own for name, own in values.items()}
    reading = {name: options[name] for name in ("format", "label", "comments")}
    X, y, blanks = read_corpora(corpora, reading, options["partial"])
    X_dev, y_dev, _ = read_corpora([dev], reading)
    address, epochs = options["address"], options["epochs"]
    with stops(), _workers(address) as how, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        jobs = -1 if address else options["jobs"]
        found = _searched(made, grid, length, epochs, (X, y), (X_dev, y_dev), jobs, how)
        best = found["params"][0]
        made.set_params(**{**best, length: epochs}).fit(X, y, dev=(X_dev, y_dev), progress=False)
    made.model_.facts["data"] = {**reading, "blanks": blanks}
    if options["tokenize"] != "auto":
        made.model_.facts["data"]["tokenize"] = options["tokenize"]
    made.model_.save(model)
    shown = _table(found, list(grid), "epochs" if length == "epochs" else "iterations")
    chosen = " ".join(f"{_flat(name)}={_shown(best[name])}" for name in grid)
    click.echo(f"{shown}\n\n{model}: {chosen}", err=is_standard_output(model))


def _flat(name: str) -> str:
    return name.removeprefix("solver__")


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _values(kind: str, tried: Sequence[str]) -> tuple[dict[str, list[Any]], str]:
    """Return the values to try by option, parsed and checked by the table of options, and the solver."""
    known = {name: owned for name, owned in settings_of(kind).items() if name not in _NOT_TRIED}
    texts: dict[str, list[str]] = {}
    for one in tried:
        name, equals, values = one.partition("=")
        name = name.replace("-", "_")
        if not equals or not name or not values:
            raise click.ClickException(f"--try {one}: write NAME=VALUE, or several values with commas between them")
        if name not in known:
            names = ", ".join(sorted(known))
            raise click.ClickException(f"--try {name}: --learner {kind} has no such option to try; it has {names}")
        texts[name] = values.split(",")
    solver = texts.pop("solver", ["adagrad"] if "solver" in known else [""])
    if solver not in (["adagrad"], ["lbfgs"], [""]):
        raise click.ClickException("--try solver: one of adagrad and lbfgs; their epochs cannot be compared")
    parsed: dict[str, list[Any]] = {}
    for name, own in texts.items():
        owned = dict(known[name])
        option = owned.get("", owned.get(solver[0]))
        if option is None:
            raise click.ClickException(f"--try {name} is not for solver={solver[0]}")
        try:
            parsed[name] = [option.parse(text) for text in own]
        except ValueError as error:
            raise click.ClickException(f"--try {name}: {error}") from None
    return parsed, solver[0]


@contextlib.contextmanager
def _workers(address: str | None) -> Iterator[str | None]:
    """Yield the name of joblib's backend, None for the default one, while it can be used."""
    if address is None:
        yield None
        return
    from tagwright.cluster.ray import connected

    with connected(address):
        importlib.import_module("ray.util.joblib").register_ray()
        yield "ray"


def _searched(
    learner: Any, grid: dict[str, list[Any]], length: str, most: int, train: Any, dev: Any, jobs: int, how: str | None
) -> dict[str, list[Any]]:
    """Return options, epochs, accuracy and seconds of each combination in its last round, the best first."""
    import joblib
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.model_selection import HalvingGridSearchCV, PredefinedSplit

    split = PredefinedSplit([-1] * len(train[0]) + [0] * len(dev[0]))
    search = HalvingGridSearchCV(
        learner,
        grid,
        factor=_FACTOR,
        resource=length,
        min_resources="exhaust",
        max_resources=most,
        cv=split,
        refit=False,
        error_score="raise",
        n_jobs=jobs,
    )
    with joblib.parallel_config(how) if how else contextlib.nullcontext():
        search.fit([*train[0], *dev[0]], [*train[1], *dev[1]])
    results = search.cv_results_
    last: dict[str, int] = {}
    for n, params in enumerate(results["params"]):
        last[repr(sorted((name, params[name]) for name in grid))] = n  # rounds follow each other
    rows = sorted(last.values(), key=lambda n: (-results["iter"][n], -results["mean_test_score"][n]))
    return {
        "params": [{name: results["params"][n][name] for name in grid} for n in rows],
        "epochs": [int(results["n_resources"][n]) for n in rows],
        "accuracy": [float(results["mean_test_score"][n]) for n in rows],
        "seconds": [float(results["mean_fit_time"][n]) for n in rows],
    }


def _table(found: dict[str, list[Any]], names: list[str], length: str) -> str:
    rows = [
        [*(_shown(params[name]) for name in names), f"{epochs:,}", f"{100 * accuracy:.2f}", f"{seconds:.1f}"]
        for params, epochs, accuracy, seconds in zip(
            found["params"], found["epochs"], found["accuracy"], found["seconds"], strict=True
        )
    ]
    return table([*map(_flat, names), length, "dev %", "s"], rows)
