"""Learners as the command line makes them: which options are for which."""

from __future__ import annotations

import importlib
from typing import Any

import click

__all__ = ["LEARNERS", "make_learner"]

LEARNERS = {
    "perceptron": ("tagwright.learners.perceptron", "Perceptron"),
    "crf": ("tagwright.learners.crf", "CRF"),
    "hmm": ("tagwright.learners.hmm", "HMM"),
    "memm": ("tagwright.learners.memm", "MEMM"),
    "bidirectional": ("tagwright.learners.bidirectional", "Bidirectional"),
}

_NOT_FOR = {"lbfgs": ("epochs", "rate", "batch"), "adagrad": ("l1", "max_iterations", "tolerance", "start_on")}
# A bidirectional model is two MEMMs, which go in directions of their own, and a checkpoint is one model's.
_NOT_FOR_TWO = ("direction", "checkpoint", "warm_start")


def make_learner(options: dict[str, Any], given: set[str]) -> Any:
    """Make the learner that is asked for; given: the options that were written, which must be for it."""
    kind = options.pop("learner")
    learner = _load(kind)
    known = set(learner().get_params())
    own = None
    if kind == "bidirectional":
        own = _load("memm")
        known |= set(own().get_params()) - {*_NOT_FOR_TWO}
        known -= {"left", "right"}
    lists = _lists(options.pop("lists"))
    for name in sorted(given - {"learner", "lists"}):
        flag = f"--{name.replace('_', '-')}" if name != "spans" else "--no-spans"
        if name not in known:
            raise click.ClickException(f"{flag} is not for --learner {kind}")
        if kind == "crf" and name in _NOT_FOR[options["solver"]]:
            raise click.ClickException(f"{flag} is not for --solver {options['solver']}")
    if lists and "lists" not in known:
        raise click.ClickException(f"--list is not for --learner {kind}")
    options |= {"lists": lists, "warm_start": options["warm_start"] or False}
    # Where the default differs between learners, it is the learner's own.
    chosen = {name: value for name, value in options.items() if name in known and value is not None}
    if own is None:
        return learner(**chosen)
    ours = {name: value for name, value in chosen.items() if name in learner().get_params()}
    theirs = {name: value for name, value in chosen.items() if name in own().get_params()}
    return learner(left=own(**theirs), right=own(**{**theirs, "direction": "left"}), **ours)


def _lists(given: tuple[str, ...]) -> dict[str, str]:
    lists = {}
    for one in given:
        name, equals, path = one.partition("=")
        if not equals or not name:
            raise click.ClickException(f"--list {one}: write NAME=FILE")
        lists[name] = path
    return lists


def _load(kind: str) -> Any:
    module, name = LEARNERS[kind]
    return getattr(importlib.import_module(module), name)
