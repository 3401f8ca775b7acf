"""What trainings share: what is trained on, the model that would be returned now, and checkpoints."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.constraints.arrays import to_arrays
from tagwright.data.output import check_target
from tagwright.features.templates import Features
from tagwright.learners.constraining import digest_of, training_constraints, training_limits
from tagwright.learners.examples import Examples
from tagwright.learners.interrupts import never
from tagwright.learners.learner import Labels, Learner, Sentences, check, numbers
from tagwright.learners.options import plain_options
from tagwright.learners.partial import known_labels
from tagwright.learners.progress import Progress, log
from tagwright.models.facts import fact_in
from tagwright.models.file import Arrays
from tagwright.models.model import Model, load, opened

__all__ = ["Training"]

Numbers = npt.NDArray[np.int32]
"""Of sentences."""


class Training:
    """One training: the corpus in numbers, and the model that would be returned if it ended now.

    The learner has the parameters features, lists, warm_start and checkpoint. A subclass makes a trainer in the core,
    which has a digest of its corpus, and says what else decides the weights.
    """

    kind: str
    """What the model says it was learnt by."""
    makes: type[Model] = Model
    """The model that it makes."""
    min_weight = 0.0
    """Node weights smaller than this are left out of the model."""
    options: Any
    """A dataclass of plain values."""
    trainer: Any

    def __init__(self, learner: Any, examples: Examples) -> None:
        """Read the examples."""
        self.learner, self.examples = learner, examples
        self.old = old = self._old_model()
        first = examples.first_token()
        self.features = self._features(first, old)
        self.columns = 1 if isinstance(first, str) else len(first) if isinstance(first, Sized) else 0
        self.known = None if old is None else _core.Weights.from_arrays(len(old.labels), old.arrays)
        self.labels = examples.read(self, old.labels if old else ())
        self.sentences, self.tokens = examples.sentences, examples.tokens
        given = getattr(learner, "constraints", None)
        self.constraints = training_constraints(given, old, examples.X, examples.y, self.labels)
        self.history: list[dict[str, float]] = []
        self.check_stop: Callable[[], None] = never
        """Raises KeyboardInterrupt where Ctrl-C was pressed."""
        self.finished: _core.Weights | Model | None = None
        self.finished_after = 0
        """Epochs or iterations that the model has seen."""

    def read_corpus(self) -> _core.Corpus:
        """Return the corpus in numbers."""
        return self.examples.corpus(self)

    def walked(
        self, pieces: Iterable[Numbers], here: bool = True
    ) -> Iterator[tuple[Numbers, _core.Corpus | None, int]]:
        """Yield numbers of sentences as trainers take them, piece by piece: those of the corpus, or of a cut of it.

        With them come the cut, and how many there are. A corpus that is mapped is cut by a thread, ahead of its turn.
        here: whether the sentences are needed here at all.
        """
        if not self.corpus.mapped or not here:
            yield from ((piece, None, len(piece)) for piece in pieces)
            return
        with ThreadPoolExecutor(1) as ahead:
            waiting: Future[_core.Corpus] | None = None
            for piece in pieces:
                ready, waiting = waiting, ahead.submit(self.corpus.cut, piece)
                if ready is not None:
                    yield _all_of(ready.result())
            if waiting is not None:
                yield _all_of(waiting.result())

    def limits(self) -> dict[str, Any]:
        """Return what labellings must keep to while it is trained, as trainers of the core take it."""
        return training_limits(self.constraints, self.examples.X, self.examples.y, self.labels)

    def make_trainer(self) -> Any:
        """Return the core's trainer of the corpus."""
        raise NotImplementedError

    def indexed(self) -> Any:
        """Make the core's trainer, and tell the log how large it is and how long that took."""
        side = f"{self.learner._side}: " if self.learner._side else ""
        sizes = f"{self.sentences:,} sentences, {self.tokens:,} tokens, {len(self.labels):,} labels"
        log.debug("%sindexing the features of %s", side, sizes)
        began = time.perf_counter()
        self.corpus = self.read_corpus()
        trainer = self.make_trainer()
        weights = f": {trainer.size:,} weights" if hasattr(trainer, "size") else ""
        log.debug("%sindexed in %.1f s%s", side, time.perf_counter() - began, weights)
        return trainer

    def progress(self, unit: str, total: int | None, every: int = 1, name: str = "") -> Progress:
        """Return what tells how far this training is; each epoch or iteration sees the whole corpus."""
        learner = self.learner
        return Progress(unit, total, self.tokens, self.history, learner.progress, learner._side, every, name)

    def new_numbers(self, old: Model) -> npt.NDArray[np.int32]:
        """Return the number that each label of an old model has here."""
        return numbers([old.labels], self.labels)

    def _old_model(self) -> Model | None:
        start = self.examples.start or self.learner.warm_start
        if isinstance(start, Model):
            return start
        if start is None or isinstance(start, bool | np.bool_):
            return getattr(self.learner, "model_", None) if start else None
        return load(start)

    def _features(self, first: object, old: Model | None) -> Features | None:
        """Return the templates; first: the first token, which shows what tokens are."""
        if self.learner.features is None or isinstance(first, Mapping):
            made = None
        else:
            given = self.learner.features
            made = self.completed(given if isinstance(given, Features) else Features(given, self.learner.lists))
        if made is not None and made.history and not self.makes.looks_back:
            raise ValueError(
                f"the templates look at earlier labels (%y[-{made.history}]), which a {self.kind} cannot; take MEMM"
            )
        for name in self.learner.lists or {}:
            if made is None or name not in made.lists:
                raise ValueError(f"no template reads the word list {name!r}; %in[0,0,{name}] would")
        if old and fact_in(old.facts, bool, "first_only"):
            raise ValueError(f"warm_start: the model is an HMM, whose scores a {self.kind} cannot go on from")
        if old and _form(old.features) != _form(made):
            raise ValueError("warm_start: the model has other templates or word lists than are given")
        if old and old.features and made and made.finds != old.features.finds:
            # The old weights belong to features that read word lists in the model's way.
            name, made = made.name, Features.restored(made.text, made.lists, old.features.finds)
            made.name = name
        return made

    def completed(self, features: Features) -> Features:
        """Return the templates with those that this training adds to them."""
        return features

    def deciding(self) -> dict[str, Any]:
        """Return what decides the weights, beside the corpus and how long it is trained; plain values, for JSON."""
        return plain_options(self.options)

    def facts(self, after: int) -> dict[str, Any]:
        """Return what a model says about its training."""
        raise NotImplementedError

    def common_facts(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return what all models say about their training."""
        from tagwright import __version__

        name = None if self.features is None else self.features.name
        return {
            "learner": self.kind,
            "options": {"features": name, **options, **self.deciding()},
            "sentences": self.sentences,
            "tokens": self.tokens,
            **({"columns": self.columns} if self.features is not None else {}),
            **({"partial_tokens": int((self.examples.ids < 0).sum())} if self.examples.partial else {}),
            "version": __version__,
        }

    def model(self, trained: _core.Weights, after: int) -> Model:
        """Return a model with these weights."""
        word = self.features.word_prefix() if self.features else None
        arrays = trained.arrays(self.min_weight, word or "")
        return self.makes(self.labels, self.features, {**arrays, **self.more_arrays()}, self.facts(after))

    def more_arrays(self) -> Arrays:
        """Return arrays that only some models have."""
        return to_arrays(self.constraints)

    def finish_with(self, trained: _core.Weights | Model, after: int) -> None:
        """Remember what is to be returned if training ends now."""
        self.finished, self.finished_after = trained, after

    def finished_model(self) -> Model:
        """Return the model that `finish_with` was last given."""
        if self.finished is None:
            raise ValueError("nothing was trained")
        if not isinstance(self.finished, Model):
            self.finished = self.model(self.finished, self.finished_after)
        self.finished.facts["history"] = [dict(fact) for fact in self.history]
        return self.finished

    # --- checkpoints ---

    def identity(self) -> dict[str, Any]:
        """Return what must be the same for a training to be the same one; what depends on other things is last."""
        return {
            **self.identity_of_features(),
            "learner": self.kind,
            **self.deciding(),
            **({} if self.constraints is None else {"constraints": digest_of(self.constraints)}),
            "warm_start": None if self.old is None else _weights_digest(self.old),
            "labels": self.labels,
            "corpus": self.corpus.digest,
        }

    def identity_of_features(self) -> dict[str, Any]:
        """Return what must be the same for features to be the same."""
        finds = self.features is None or self.features.finds
        return {"templates": _form(self.features), **({} if finds else {"finds": False})}

    def write(self, path: str | os.PathLike[str], state: Arrays, more: dict[str, Any]) -> None:
        """Write the model so far and all that is needed to go on; names of `state` begin with "state."."""
        going_on = {
            "identity": self.identity(),
            "history": self.learner.history_,
            "finished_after": self.finished_after,
            **more,
        }
        try:
            self.finished_model().save_with(path, state, {"going_on": going_on})
            self.learner.checkpoint_error_ = None
        except OSError as error:
            # What was trained so far is worth more than its checkpoint.
            if self.learner.checkpoint_error_ is None:
                warnings.warn(f"checkpoint {os.fspath(path)} not written: {error.strerror}; going on", stacklevel=2)
            self.learner.checkpoint_error_ = error

    def read(self, most: int, called: str, option: str) -> tuple[Arrays, dict[str, Any]] | None:
        """Read the learner's checkpoint, where there is one; most: how many epochs or iterations may be done."""
        self.learner.checkpoint_error_ = None
        path = self.learner.checkpoint
        if path is None:
            return None
        check_target(path, read_again=True)
        if not Path(path).exists():
            return None
        model, arrays, meta = opened(path)
        if "going_on" not in meta:
            raise ValueError(f"{os.fspath(path)}: a finished model, not a checkpoint; name another file")
        going_on = meta["going_on"]
        mine, its = self.identity(), dict(going_on["identity"])
        for what in mine:
            if mine[what] != its.get(what):
                raise ValueError(f"{os.fspath(path)}: the checkpoint of another training (other {what}); remove it")
        self.history = list(going_on["history"])
        if len(self.history) > most:
            done = f"{len(self.history)} {called} are done, but {option}={most}"
            raise ValueError(f"{os.fspath(path)}: {done}; remove it or ask for more")
        facts = {**model.facts, "options": self.facts(0)["options"]}
        self.finished = self.makes(model.labels, self.features, model.arrays, facts)
        self.finished_after = going_on["finished_after"]
        return arrays, going_on


def check_training(learner: Learner, dev: tuple[Sentences, Labels] | None) -> None:
    """Check the dev data and the parameters that all trainings have."""
    if dev is not None:
        if not isinstance(dev, tuple | list) or len(dev) != 2:
            raise ValueError("dev must be a pair: (X_dev, y_dev)")
        check(*dev)
        if known_labels(dev[1])[1]:
            raise ValueError("dev must have one label per token, or its accuracy is not known")
    patience = getattr(learner, "patience", None)
    if patience is not None:
        checks.at_least_one("patience", patience)
        if dev is None:
            raise ValueError("patience needs dev data: fit(X, y, dev=(X_dev, y_dev))")
    checks.seed(getattr(learner, "seed", 0))


def check_order(learner: Any) -> None:
    """Check how many labels before one its score depends on, and how often runs of labels must occur."""
    if not isinstance(learner.order, int | np.integer) or learner.order not in (1, 2, 3):
        raise ValueError(f"order must be 1, 2 or 3, not {checks.shown(learner.order)}")
    if learner.order > 1 and learner.cluster is not None:
        raise ValueError("order=2 and 3 are trained on one machine; leave cluster out, or use order=1")
    checks.at_least_one("min_ngram_count", learner.min_ngram_count)


def stalled(history: list[dict[str, float]], patience: int | None) -> bool:
    """Return whether the last `patience` measurements on dev data brought nothing better."""
    accuracies = [fact["dev"] for fact in history if "dev" in fact]
    return patience is not None and bool(accuracies) and len(accuracies) - 1 - int(np.argmax(accuracies)) >= patience


def is_best(history: list[dict[str, float]]) -> bool:
    """Return whether the last measurement on dev data is as good as any before."""
    accuracies = [fact["dev"] for fact in history if "dev" in fact]
    return accuracies[-1] >= max(accuracies)


def pieces_of(order: Numbers, size: int) -> Iterator[Numbers]:
    """Yield an order of sentences in pieces of this size."""
    return (order[at : at + size] for at in range(0, len(order), size))


def _all_of(cut: _core.Corpus) -> tuple[Numbers, _core.Corpus, int]:
    """Return all sentences of a cut."""
    return np.arange(cut.sentences, dtype=np.int32), cut, cut.sentences


def _weights_digest(model: Model) -> str:
    names = ("rows.weight", "edges.score", "corrections.score", "ngrams.score")
    return _core.digest([model.arrays[name] for name in names if name in model.arrays])


def _form(features: Features | None) -> list[Any] | None:
    """Return what makes two sets of templates the same, but for how they read word lists."""
    return None if features is None else [features.text, features.lists]
