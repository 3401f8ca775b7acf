"""Learners of the command line: the options that `--set` takes, and the learner that is made of them."""

from __future__ import annotations

import difflib
import inspect
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from tagwright.cli.options import rules_of
from tagwright.features.templates import Features
from tagwright.learners import LEARNERS
from tagwright.learners.options import Option, OptionError, flat_options, learner_class, set_flat

_NOT_SET = {"features", "constraints", "left", "right", "dictionary", "epochs", "threads", "warm_start"}
"""Options of learners that are arguments of their own, or that only Python can make."""
_OF_ONE_MEMM = {"direction"}  # in a bidirectional model each MEMM has its own
_OF_FILES = {
    "cache": Option("cache", "str", None, "Folder that keeps the encoded corpus for the next training on it."),
    "workers": Option("workers", "int", 2, "With --ray: shards of the corpus, one per worker.", least=1),
}
_SPANS = Option("spans", "choice", "true", "Whether I-X is allowed after B-X and I-X only.", choices=("true", "false"))

OLD_OPTIONS = {
    name: f"{name}={{}}"
    for name in (
        "min_count", "patience", "seed", "pairs", "margin", "parts", "batch", "solver", "l1", "l2", "max_iterations",
        "tolerance", "start_on", "rate", "direction", "history", "beam", "rounds", "step", "schedule", "decoder",
    )
} | {"min_weight": "", "keep": "pruning={}", "all_pairs": "pairs=all", "no_spans": "spans=false"}  # fmt: skip
"""Options of `train` in 0.5.0, and the settings that they are now; flags have no place for a value."""
_OF_LBFGS = {"l1", "l2", "max_iterations", "tolerance", "start_on", "keep", "all_pairs"}


class FitCall(NamedTuple):
    """A learner, and the arguments of its `fit`."""

    learner: Any
    run: dict[str, Any]
    cache: str | None


def settings_of(kind: str) -> dict[str, list[tuple[str, Option]]]:
    """Return the options that `--set` takes for a learner, each with the solvers that have it ("": the learner)."""
    found = {name: owned for name, owned in flat_options(kind).items() if name not in _NOT_SET}
    if kind == "bidirectional":
        found |= {name: own for name, own in settings_of("memm").items() if name not in _OF_ONE_MEMM}
    if hasattr(learner_class(kind), "fit_files"):
        found |= {name: [("", option)] for name, option in _OF_FILES.items()}
    if "spans" in found:
        found["spans"] = [("", _SPANS)]
    return found


def current_spelling(kind: str, old: Mapping[str, Any]) -> list[str]:
    """Return the settings that options of earlier releases are now, and warn.

    Those of L-BFGS meant that solver, the only one of 0.5.0.
    """
    settings = ["solver=lbfgs"] if kind == "crf" and old.keys() & _OF_LBFGS and "solver" not in old else []
    for name, value in old.items():
        if name == "keep" and value in ("all", "auto"):
            value = "exact" if value == "all" else "none"  # noqa: PLW2901
        if name != "min_weight":
            settings.append(OLD_OPTIONS[name].format(value))
    flags = " ".join(f"--{name.replace('_', '-')}" for name in old)
    now = " ".join(f"--set {setting}" for setting in settings)
    click.echo(f"Warning: {flags} is now {now}" if now else f"Warning: {flags} will be removed", err=True)
    return settings


def _parsed(kind: str, settings: Iterable[str]) -> dict[str, Any]:
    """Return the values of NAME=VALUE texts, checked by the table of options."""
    known, texts = settings_of(kind), dict[str, str]()
    for text in settings:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise click.ClickException(f"--set {text}: write NAME=VALUE")
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(sorted(known))}"
            raise click.ClickException(f"--set {name} is not for --learner {kind}; {hint}")
        texts[name] = value
    values: dict[str, Any] = {}
    for name, text in texts.items():
        # Where solvers share a name, that of the solver counts; the learner refuses names of the other.
        owned = dict(known[name])
        option = owned.get("", owned.get(texts.get("solver", "adagrad"), known[name][0][1]))
        try:
            values[name] = option.parse(text)
        except ValueError as error:
            raise click.ClickException(f"--set {name}: {error}") from None
    if "spans" in values:
        values["spans"] = values["spans"] == "true"
    return values


def make_training(kind: str, options: Mapping[str, Any], settings: Iterable[str], given: set[str]) -> FitCall:
    """Return the learner of a command line.

    settings: NAME=VALUE, as `--set` takes them; given: the options that were written, of which those that the learner
    does not have are an error.
    """
    cls, known = learner_class(kind), flat_options(kind)
    of_fit = inspect.signature(cls.fit).parameters
    has = {*known, "scheme", "dictionary", *({"ray"} if hasattr(cls, "fit_files") else ())}
    has |= {"checkpoint"} & {*of_fit} | ({"features"} if kind == "bidirectional" else set())
    has |= {"lists"} if "features" in has else set()
    flags = {"lists": "--list", "min_weight": "--min-weight"}
    for name in sorted(given & {"features", "lists", "epochs", "warm_start", "checkpoint", "ray"} - has):
        raise click.ClickException(f"{flags.get(name, '--' + name.replace('_', '-'))} is not for --learner {kind}")
    if options.get("min_weight") is not None and kind != "perceptron":
        raise click.ClickException("--min-weight is for --learner perceptron")
    values = _parsed(kind, settings)
    cache, workers = values.pop("cache", None), values.pop("workers", None)
    lists = _word_lists(options["lists"])
    if "features" in has:
        values["features"] = Features(options["features"], lists) if lists else options["features"]
    values |= {name: options[name] for name in ("epochs", "warm_start", "threads") if name in given and name in has}
    own_dictionary = kind in ("memm", "bidirectional")
    rules = [options["scheme"], None if own_dictionary else options["dictionary"], rules_of(options) or None]
    if own_dictionary and options["dictionary"] is not None:
        values["dictionary"] = options["dictionary"]
    values["constraints"] = [rule for rule in rules if rule is not None] or None
    run = {"checkpoint": options["checkpoint"]} if options.get("checkpoint") else {}
    if options.get("ray") is not None:
        from tagwright.cluster.ray import Ray

        run["cluster"] = Ray(options["ray"], workers or 2)
    elif workers is not None:
        raise click.ClickException("--set workers is for --ray")
    try:
        old = {} if options.get("min_weight") is None else {"min_weight": float(options["min_weight"])}
        return FitCall(_made(kind, values, old), run, cache)
    except (OptionError, ValueError) as error:
        raise click.ClickException(str(error)) from None


def _made(kind: str, values: dict[str, Any], old: dict[str, Any]) -> Any:
    cls = learner_class(kind)
    if kind != "bidirectional":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            return set_flat(cls(**old), **values)
    memm = learner_class("memm")
    theirs = {name: value for name, value in values.items() if name in flat_options("memm")}
    sides = {"left": set_flat(memm(), **theirs), "right": set_flat(memm(direction="left"), **theirs)}
    return cls(**sides, **{name: value for name, value in values.items() if name in flat_options(kind)})


def _word_lists(given: Iterable[str]) -> dict[str, str]:
    lists = {}
    for one in given:
        name, equals, path = one.partition("=")
        if not equals or not name:
            raise click.ClickException(f"--list {one}: write NAME=FILE")
        lists[name] = path
    return lists


def complete_setting(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the settings that begin like this; of the learner, where it is known."""
    kind = context.params.get("learner")
    names = {name for own in ([kind] if kind else LEARNERS) for name in settings_of(own)}
    return [CompletionItem(f"{name}=") for name in sorted(names) if f"{name}=".startswith(incomplete)]


def help_of_settings() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return a section of help per learner: its settings, their defaults and ranges; each is described once."""
    sections, described = [], set[tuple[str, str]]()
    for kind in LEARNERS:
        rows = []
        for name, owned in settings_of(kind).items():
            for solver, option in owned:
                text = f"{option.kind}; default {option.default}"
                if (name, option.help) not in described:
                    text = f"{' '.join(option.help.split())} [{text}]"
                described.add((name, option.help))
                rows.append((f"{name}=" + (f" (solver={solver})" if solver else ""), text))
        sections.append((f"--set of --learner {kind}", rows))
    return sections
