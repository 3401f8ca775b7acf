"""Constraints in training: composed from learner and warm start, checked against gold labels, passed to the core."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tagwright import _core, checks
from tagwright.constraints.allowed import read_allowed
from tagwright.constraints.arrays import to_arrays
from tagwright.constraints.constraints import Constraints
from tagwright.constraints.reading import word_of
from tagwright.learners.labels import Known
from tagwright.models.limits import scheme_constraints
from tagwright.models.model import Model


def training_constraints(
    given: Constraints | Mapping[str, Any] | str | int | list[Any] | None,
    old: Model | None,
    X: Iterable[Any],
    y: Iterable[Any],
    labels: Sequence[str],
) -> Constraints | None:
    """Return the constraints of a training for its labels, after a check that the gold labels satisfy them.

    given: the learner's parameter, where a dict holds arguments of `Constraints`; old: a model that training starts
    from, whose constraints apply too; X, y: sentences and labels, which may be read again.
    """
    made = None if old is None or old.constraints is None else old.constraints.for_labels(labels)
    for one in given if isinstance(given, list | tuple) else [given]:
        if one is None:
            continue
        if isinstance(one, str):
            own = scheme_constraints(one, labels)
        elif isinstance(one, Constraints):
            own = one.for_labels(labels)
        elif isinstance(one, Mapping):
            own = Constraints(labels, **one)
        elif isinstance(one, int) and not isinstance(one, bool):
            own = Constraints.learnt(X, y, one, labels=labels)
        else:
            raise ValueError(
                f"constraints must be tw.Constraints, its arguments, a scheme or a number, not {checks.shown(one)}"
            )
        made = own if made is None else made & own
    if made is not None and made.accept:
        raise ValueError("accept is a Python function, which a model cannot hold; pass it when tagging")
    if made is not None and made.limits_edges:
        _check_labels(made, y, labels)
    return made


def _check_labels(constraints: Constraints, y: Iterable[Any], labels: Sequence[str]) -> None:
    """Raise ValueError for the first gold labelling that violates a rule."""
    number = {name: n for n, name in enumerate(labels)}
    core, counts = constraints.core(), constraints.labelling_core()
    for s, own in enumerate(y):
        if not len(own):
            continue
        # Labels that are not known, or known to be one of some, are left to the search.
        numbers = np.array([number[name] if isinstance(name, str) else -1 for name in own], np.int32)
        pairs = np.flatnonzero((numbers[:-1] >= 0) & (numbers[1:] >= 0))
        wrong = pairs[core.may_follow(numbers[pairs], numbers[pairs + 1]) == 0]
        where = f"the labels of sentence {s} break the constraints ({constraints!r}): "
        help_ = "; correct them, or train without constraints and give these when tagging"
        if len(wrong):
            t = int(wrong[0]) + 1
            raise ValueError(f"{where}{own[t]!r} of token {t} may not follow {own[t - 1]!r}{help_}")
        for t, may, what in ((0, constraints.start, "first"), (-1, constraints.stop, "last")):
            if may is not None and numbers[t] >= 0 and not may[numbers[t]]:
                raise ValueError(f"{where}{own[t]!r} may not be the {what}{help_}")
        if counts is not None and (numbers >= 0).all() and (rule := counts.violated(numbers)) is not None:
            raise ValueError(f"{where}they have not {constraints.counts[rule].name}{help_}")


def training_limits(constraints: Constraints | None, X: Any, y: Any, labels: Sequence[str]) -> dict[str, Any]:
    """Return rules and lists as the core's trainers take them."""
    return core_limits(constraints, word_lists(constraints, X, y), labels)


def word_lists(constraints: Constraints | None, X: Iterable[Any], y: Iterable[Sequence[Known]]) -> list[Any] | None:
    """Return, for each sentence, the labels that a tag dictionary allows each token; None where all are.

    A token's right label is in its list in any case, and so are all of several one of which is right.
    """
    if constraints is None or constraints.words is None:
        return None
    known, unknown = constraints.word_lists()
    lists = []
    for sentence, right in zip(X, y, strict=True):
        found = [known.get(word_of(token), unknown) for token in sentence]
        lists.append([None if own is None else [*own, *_of(label)] for own, label in zip(found, right, strict=True)])
    return lists


def core_limits(constraints: Constraints | None, lists: list[Any] | None, labels: Sequence[str]) -> dict[str, Any]:
    """Return rules and the lists of tokens as the core's trainers take them."""
    made: dict[str, _core.PairRules | _core.AllowedLists | None] = {}
    if constraints is not None and constraints.limits_edges:
        made["rules"] = constraints.core()
    if lists is not None:
        number = {name: n for n, name in enumerate(labels)}
        made["allowed"] = read_allowed(lists, [len(own) for own in lists], [len(labels)], number)
    return made


def _of(label: Known) -> Collection[str]:
    return () if label is None else (label,) if isinstance(label, str) else label


def digest_of(constraints: Constraints) -> str:
    """Return a digest of what the constraints say."""
    return _core.digest(list(to_arrays(constraints).values()))
