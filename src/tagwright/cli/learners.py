"""Learners as the command line makes them: which options are for which."""

from __future__ import annotations

import importlib
from typing import Any

import click

from tagwright.learners import LEARNERS

__all__ = ["learner_class", "make_learner", "options_of"]

_NOT_FOR = {"lbfgs": ("epochs", "rate", "batch"), "adagrad": ("l1", "max_iterations", "tolerance", "start_on")}
_FLAGS = {"spans": "--no-spans", "lists": "--list"}
# A bidirectional model is two MEMMs. Each has its own direction, and a checkpoint holds one model only.
_NOT_FOR_TWO = {"direction", "checkpoint", "warm_start"}


def learner_class(kind: str) -> Any:
    """Return the class of a learner."""
    return getattr(importlib.import_module(f"tagwright.learners.{kind}"), LEARNERS[kind])


def options_of(kind: str) -> set[str]:
    """Return the names of the options that are for a learner; for a bidirectional one also those of its MEMMs."""
    known = {*learner_class(kind)().get_params(), "scheme", "dictionary"}  # these two are constraints
    if hasattr(learner_class(kind), "fit_files"):
        known.add("cache")
    if "cluster" in known:
        known |= {"ray", "workers"}
    if kind == "bidirectional":
        return (known - {"left", "right"}) | (options_of("memm") - _NOT_FOR_TWO)
    return known


def make_learner(options: dict[str, Any], given: set[str]) -> Any:
    """Return the learner that is asked for; given: the options that the user wrote, which must be for it."""
    kind = options["learner"]
    known = options_of(kind)
    options["lists"] = _lists(options["lists"])
    # A MEMM has a dictionary of its own.
    own_dictionary = kind in ("memm", "bidirectional")
    rules = [options.pop("scheme", None), None if own_dictionary else options.pop("dictionary", None)]
    options["constraints"] = [rule for rule in rules if rule is not None] or None
    options["cluster"] = _cluster(options.pop("ray", None), options.pop("workers", None), given)
    for name in sorted(given - {"learner"}):
        flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
        if name not in known:
            raise click.ClickException(f"{flag} is not for --learner {kind}")
    # Where the default differs between learners, it is the learner's own.
    chosen = {name: value for name, value in options.items() if name in known - {"cache"} and value is not None}
    if kind != "bidirectional":
        made = learner_class(kind)(**chosen)
        for name in sorted(given) if kind == "crf" else ():
            if name in _NOT_FOR[made._solver]:
                raise click.ClickException(f"--{name.replace('_', '-')} is not for --solver {made._solver}")
        return made
    memm, of_memm = learner_class("memm"), options_of("memm")
    theirs = {name: value for name, value in chosen.items() if name in of_memm}
    sides = {"left": memm(**theirs), "right": memm(**theirs, direction="left")}
    own = set(learner_class(kind)().get_params())
    return learner_class(kind)(**sides, **{name: value for name, value in chosen.items() if name in own})


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
