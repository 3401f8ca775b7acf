"""Learners as the command line makes them: which options are for which."""

from __future__ import annotations

import inspect
from typing import Any

import click

from tagwright.features.templates import Features
from tagwright.learners.options import OptionError, flat_options, learner_class, set_flat

__all__ = ["learner_class", "make_learner", "options_of"]

_FLAGS = {"spans": "--no-spans", "lists": "--list"}
_OF_RUN = ("checkpoint", "cluster", "progress")
_MADE = ("features", "constraints", "threads", "decoder")  # by the command line, whether they were written or not
# A bidirectional model is two MEMMs. Each has its own direction, and a checkpoint holds one model only.
_NOT_FOR_TWO = {"direction", "checkpoint", "warm_start"}


def options_of(kind: str) -> set[str]:
    """Return the names of the options that are for a learner; for a bidirectional one also those of its MEMMs."""
    known = {*flat_options(kind), "scheme", "dictionary"}  # these two are constraints
    parameters = inspect.signature(learner_class(kind).fit).parameters
    known |= {name for name in _OF_RUN if name in parameters}
    known |= {"lists"} if "features" in known else set()
    if hasattr(learner_class(kind), "fit_files"):
        known |= {"cache", "ray", "workers"}
    if kind == "bidirectional":
        return (known - {"left", "right"}) | (options_of("memm") - _NOT_FOR_TWO)
    return known


def make_learner(options: dict[str, Any], given: set[str]) -> tuple[Any, dict[str, Any]]:
    """Return the requested learner, and the arguments of its `fit`; given: the options that the user wrote."""
    kind = options["learner"]
    known = options_of(kind)
    lists = _lists(options.pop("lists"))
    # A MEMM has a dictionary of its own.
    own_dictionary = kind in ("memm", "bidirectional")
    rules = [options.pop("scheme", None), None if own_dictionary else options.pop("dictionary", None)]
    options["constraints"] = [rule for rule in rules if rule is not None] or None
    options["cluster"] = _cluster(options.pop("ray", None), options.pop("workers", None), given)
    for name in sorted(given - {"learner"}):
        flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
        if name not in known:
            raise click.ClickException(f"{flag} is not for --learner {kind}")
    if lists:
        options["features"] = Features(options["features"], lists)
    # Where the default differs between learners, it is the learner's own.
    chosen = {
        name: value
        for name, value in options.items()
        if name in known - {"cache", "lists", *_OF_RUN} and value is not None and (name in given or name in _MADE)
    }
    run = {name: options[name] for name in _OF_RUN if name in known and options.get(name) is not None}
    try:
        if kind != "bidirectional":
            return set_flat(learner_class(kind)(), **chosen), run
        of_memm = set(flat_options("memm")) - _NOT_FOR_TWO
        theirs = {name: value for name, value in chosen.items() if name in of_memm}
        memm = learner_class("memm")
        sides = {"left": set_flat(memm(), **theirs), "right": set_flat(memm(direction="left"), **theirs)}
        own = {name: value for name, value in chosen.items() if name in flat_options(kind)}
        return learner_class(kind)(**sides, **own), run
    except OptionError as error:
        raise click.ClickException(str(error)) from None


def _cluster(address: str | None, workers: int | None, given: set[str]) -> Any:
    """Return where a training runs; None: in this process."""
    if address is None:
        if "workers" in given:
            raise click.ClickException("--workers is for --ray")
        return None
    from tagwright.cluster.ray import Ray

    return Ray(address, workers or 2)


def _lists(given: tuple[str, ...]) -> dict[str, str]:
    lists = {}
    for one in given:
        name, equals, path = one.partition("=")
        if not equals or not name:
            raise click.ClickException(f"--list {one}: write NAME=FILE")
        lists[name] = path
    return lists
