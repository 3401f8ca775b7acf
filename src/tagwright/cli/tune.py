"""`tagwright tune`: which options are best on dev data, and the model that has them."""

from __future__ import annotations

import contextlib
import importlib
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import click

from tagwright.cli.corpora import read_corpora
from tagwright.cli.options import COUNT, FILE, corpus_arguments, force_option, reading_options, threads_option
from tagwright.cli.overwriting import check_model_target
from tagwright.data.output import check_target, is_standard_output
from tagwright.learners import options
from tagwright.learners.interrupts import stops
from tagwright.learners.options import flat_options, learner_class, nested_name
from tagwright.table import table

__all__ = ["tune"]

_WORDS = {"none": None, "true": True, "false": False}
_FACTOR = 3  # one of so many goes on, with so many times as many epochs


@click.command()
@corpus_arguments
@click.option("--dev", type=FILE, required=True, help="File on which the accuracy decides.")
@click.option("--learner", "kind", type=click.Choice(["perceptron", "crf"]), default="perceptron", help="Learner.")
@click.option("-f", "--features", default="pos", help="Preset or template file.")
@click.option(
    "--try",
    "tried",
    multiple=True,
    metavar="NAME=VALUE,...",
    help="Values of an option of the learner, all of which are tried; one value fixes it. May be repeated. By default: "
    "l2, margin, min_count and order, as far as the learner has them.",
)
@click.option("-e", "--epochs", type=COUNT, default=9, help="Epochs of those that go furthest; of L-BFGS, iterations.")
@click.option("-l", "--label", default="last", help="Label column, as for train.")
@reading_options
@click.option("--jobs", type=COUNT, default=1, help="Trainings at a time, each in a process.")
@click.option("--ray", "address", metavar="ADDRESS", help="Train on a Ray cluster: auto, HOST:6379, or local.")
@threads_option
@force_option
def tune(
    corpora: tuple[str, ...],
    model: str,
    dev: str,
    kind: str,
    features: str,
    tried: tuple[str, ...],
    epochs: int,
    jobs: int,
    address: str | None,
    threads: int,
    force: bool,
    **asked: Any,
) -> None:
    """Try options on CORPUS, and write the model that is best on --dev to MODEL.

    All combinations are trained for an epoch or a few; the best third goes on with three times as many, and so forth
    (successive halving). The table has the best combinations first; the accuracy of each is that of its last round.

    \b
    Example:
      tagwright tune train.txt pos.safetensors --dev dev.txt
      tagwright tune train.txt pos.safetensors --dev dev.txt --learner crf --try l2=0,0.01 --try rate=0.2,0.5
      tagwright tune train.txt pos.safetensors --dev dev.txt --learner crf --try solver=lbfgs -e 60 --jobs 2
    """
    check_model_target(model, [*corpora, dev], force)
    check_target(model)
    given = _given(tried)
    learner = learner_class(kind)(features=features, threads=threads)
    for name in given:
        if name not in flat_options(kind) or name in ("epochs", "max_iterations"):
            known = ", ".join(sorted({*flat_options(kind)} - {"epochs", "max_iterations"}))
            raise click.ClickException(f"--try {name}: --learner {kind} has no such option to try; it has {known}")
    length, solver = "epochs", [""]
    if kind == "crf":
        solver = given.pop("solver", ["adagrad"])
        if solver not in (["adagrad"], ["lbfgs"]):
            raise click.ClickException("--try solver: one of adagrad and lbfgs; their epochs cannot be compared")
        learner.set_params(solver=solver[0])
        length = nested_name(kind, options.length(solver[0]))
    grid = {nested_name(kind, name): list(values) for name, values in (given or options.tried(kind, solver[0])).items()}
    X, y, blanks = read_corpora(corpora, asked)
    X_dev, y_dev, _ = read_corpora([dev], asked)
    with stops(), _workers(address) as how, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = _searched(learner, grid, length, epochs, (X, y), (X_dev, y_dev), -1 if address else jobs, how)
        best = found["params"][0]
        learner.set_params(**{**best, length: epochs}).fit(X, y, dev=(X_dev, y_dev), progress=False)
    learner.model_.facts["data"] = {**asked, "blanks": blanks}
    learner.model_.save(model)
    shown = _table(found, list(grid), "epochs" if length == "epochs" else "iterations")
    chosen = " ".join(f"{name.removeprefix('solver__')}={best[name]}" for name in grid)
    click.echo(f"{shown}\n\n{model}: {chosen}", err=is_standard_output(model))


def _given(tried: Sequence[str]) -> dict[str, list[Any]]:
    given: dict[str, list[Any]] = {}
    for one in tried:
        name, equals, values = one.partition("=")
        if not equals or not name or not values:
            raise click.ClickException(f"--try {one}: write NAME=VALUE, or several values with commas between them")
        given[name.replace("-", "_")] = list(map(_value, values.split(",")))
    return given


def _value(text: str) -> Any:
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return _WORDS.get(text.lower(), text)


@contextlib.contextmanager
def _workers(address: str | None) -> Iterator[str | None]:
    """Yield the name of joblib's backend, None for its own, while it can be used."""
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
    """Return what became of each combination in its last round, the best first: options, epochs, accuracy, seconds."""
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
        search.fit(train[0] + dev[0], train[1] + dev[1])
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
        [*(str(params[name]) for name in names), f"{epochs:,}", f"{100 * accuracy:.2f}", f"{seconds:.1f}"]
        for params, epochs, accuracy, seconds in zip(
            found["params"], found["epochs"], found["accuracy"], found["seconds"], strict=True
        )
    ]
    return table([*(name.removeprefix("solver__") for name in names), length, "dev %", "s"], rows)
