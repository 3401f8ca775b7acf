"""Learners that go on with new sentences: weights, averages and step sizes stay where they are and grow."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tagwright import _core
from tagwright.learners.examples import Examples, any_missing
from tagwright.learners.from_files import FileLearner
from tagwright.learners.interrupts import stops
from tagwright.learners.learner import Labels, Sentences, check, numbers, rank_counted
from tagwright.learners.partial import known_labels, label_counts, marks
from tagwright.learners.parts import label_parts
from tagwright.models.model import Model
from tagwright.models.native import core_templates, core_text

__all__ = ["IncrementalLearner"]


class GrowingExamples(Examples):
    """Sentences that come a few at a time; the names of their features stay, and new ones are added."""

    def __init__(self, X: Sentences, y: Labels, start: Model | None, classes: Sequence[str]) -> None:
        """Take the first sentences; start: a model to go on from; classes: labels, in the order of their numbers."""
        super().__init__(X, y)
        self.start, self._classes = start, list(classes)
        self.sentences = self.tokens = 0

    def read(self, run: Any, first: Sequence[str]) -> list[str]:
        """Begin with the labels that are known, then those of the first sentences by frequency."""
        self._encoder = _core.Encoder.make(core_templates(run.features), run.known, 1)
        return self.labels_with([*dict.fromkeys([*self._classes, *first])])

    def labels_with(self, known: list[str]) -> list[str]:
        """Return known labels, and behind them those of the sentences at hand that are new, by frequency."""
        count = label_counts(self.y, None)  # type: ignore[arg-type]
        tokens = any(len(labels) for labels in self.y)
        if not count and known:
            return known
        ranked = rank_counted(count, tokens, known)
        return known + [name for name in ranked if name not in set(known)]

    def take(self, X: Sentences, y: Labels) -> None:
        """Take the next sentences."""
        self.X = X
        self.y, self.partial = known_labels(y)

    def corpus(self, run: Any, **changed: Any) -> _core.Corpus:
        """Return the sentences at hand in numbers."""
        named = not self.sentences
        text = core_text(self.X, run.features)  # type: ignore[arg-type]
        arrays: dict[str, npt.NDArray[Any]] = self._encoder.encode(text, run.learner.threads)
        known = marks(self.y, run.labels) if self.partial else None  # type: ignore[arg-type]
        arrays["labels"] = self.ids = numbers(self.y, run.labels) if known is None else known.ids  # type: ignore[arg-type]
        if known is not None:
            arrays |= {"allowed_end": known.allowed_end, "allowed": known.allowed}
            arrays["partial"] = any_missing(known.ids, text.lengths().tolist())
        self.at_hand = text.sentences
        self.sentences += text.sentences
        self.tokens += text.tokens
        return self._opened(run, {**arrays, **(self._encoder.names() if named else {})})

    def names(self, run: Any) -> _core.Corpus:
        """Return a corpus of no sentence that has the names of all features."""
        return self._opened(run, self._encoder.names())

    def _opened(self, run: Any, arrays: dict[str, npt.NDArray[Any]]) -> _core.Corpus:
        return _core.Corpus.opened(arrays, len(run.labels), *self._encoder.sizes)


class Session:
    """What stays between two calls of `partial_fit`."""

    def __init__(self, run: Any) -> None:
        """Take a training whose examples are a `GrowingExamples`."""
        self.run = run

    def go_on(self, X: Sentences, y: Labels) -> None:
        """Take over the next sentences, with what is new of labels and features."""
        run, before = self.run, self.run.trainer
        examples, sets = run.examples, run.examples._encoder.sizes[1]
        examples.take(X, y)
        labels, run.labels = run.labels, examples.labels_with(run.labels)
        run.corpus = examples.corpus(run)
        if len(labels) == len(run.labels) and examples._encoder.sizes[1] == sets:
            before.extend(run.corpus)
            return
        # What depends on the number of labels is made anew.
        state, seen = before.state(), before.seen
        state["state.nodes.key"] = _renamed(state["state.nodes.key"], labels, run.labels, run.options.parts)
        run.trainer = run.make_trainer()
        run.trainer.restore(seen, state)

    def learn(self) -> None:
        """Go once over the sentences at hand, in their order."""
        run, began = self.run, time.perf_counter()
        with stops() as run.check_stop:
            fact = run.pass_over(np.arange(run.examples.at_hand, dtype=np.int32), lambda _: None)
        fact["seconds"] = time.perf_counter() - began
        run.history.append(fact)
        run.sentences, run.tokens = run.examples.sentences, run.examples.tokens

    def made(self) -> Model:
        """Return the model so far."""
        run = self.run
        run.trainer.extend(run.examples.names(run))
        run.finish_with(run.trainer.average(), len(run.history))
        model: Model = run.finished_model()
        run.finished = None
        return model


def _renamed(
    keys: npt.NDArray[np.uint64], before: list[str], now: list[str], separator: str | None
) -> npt.NDArray[np.uint64]:
    """Return the keys of node weights among more labels: labels have kept their numbers, parts have new ones."""
    old, _ = label_parts(before, separator)
    new, _ = label_parts(now, separator)
    number = np.arange(len(before) + (int(old.max()) + 1 if len(old) else 0), dtype=np.uint64)
    for at, part in enumerate(old.tolist()):
        k, label = divmod(at, len(before))
        number[len(before) + part] = len(now) + int(new[k * len(now) + label])
    return number[keys.astype(np.int64)]


class IncrementalLearner(FileLearner):
    """A learner with `partial_fit`."""

    _session: Session | None = None
    _model: Model | None = None

    def partial_fit(self, X: Sentences, y: Labels, classes: Sequence[str] | None = None) -> Self:
        """Go once over new sentences, in their order, and go on from what was learnt before.

        The first call begins with the model of `fit` or of `warm_start`, as `warm_start` does, or with nothing. Later
        ones go on exactly: after partial_fit(A) and partial_fit(B), an averaged perceptron has the weights of one pass
        over A + B. Labels and features that are new are added. A call costs what its sentences need; `model_` is made
        when it is next asked for.

        Args:
            X: sentences, as for `fit`.
            y: their labels.
            classes: label names that may come, in the order of their numbers; for the first call.

        `min_count`, `epochs` and `patience` are for `fit`: every feature is kept.

        """
        check(X, y)
        self._check_incremental()
        session = self._session
        if session is not None and classes is None:
            session.go_on(X, y)
        else:
            run = self._incremental_run(GrowingExamples(X, y, getattr(self, "model_", None), classes or ()))
            session = Session(run)
        session.learn()
        self._model, self._session = None, session
        self.history_ = session.run.history
        return self

    @property
    def model_(self) -> Model:
        """The model, which is made here if `partial_fit` was called since it was last asked for."""
        if self._model is None and self._session is not None:
            self._model = self._session.made()
        if self._model is None:
            raise AttributeError("there is no model yet")
        return self._model

    @model_.setter
    def model_(self, made: Model) -> None:
        self._model, self._session = made, None

    def __getstate__(self) -> Any:
        """Return what is sent to other processes: there, `partial_fit` begins with the model."""
        if self._session is not None:
            self._model = self.model_
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_session"}

    def _check_incremental(self) -> None:
        """Check the parameters."""
        for name in ("constraints", "checkpoint"):
            if getattr(self, name, None) is not None:
                raise ValueError(f"{name} is for fit; partial_fit does not take it")
        if getattr(self, "order", 1) != 1:
            raise ValueError("order=2 and 3 are for fit, which counts runs of labels first; partial_fit takes order=1")

    def _incremental_run(self, examples: GrowingExamples) -> Any:
        """Return a training that can go over sentences with `pass_over`."""
        raise NotImplementedError
