"""The base class of trainings: encoded corpus, warm start, the current model, and checkpoints."""

from __future__ import annotations

import math
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
from tagwright.features.vectors import Vectors
from tagwright.learners.calibrating import calibrated, fitted_temperature, scaled, temperature_of
from tagwright.learners.constraining import digest_of, training_constraints, training_limits
from tagwright.learners.examples import Examples
from tagwright.learners.interrupts import never
from tagwright.learners.labels import LabelNumbers, known_labels
from tagwright.learners.learner import RunOptions, accuracy, check, check_dev
from tagwright.learners.options import AUTO, options_of, plain
from tagwright.learners.progress import Progress, log
from tagwright.models.facts import fact_in
from tagwright.models.file import Arrays
from tagwright.models.model import Model, load, opened

Numbers = npt.NDArray[np.int32]
"""Of sentences."""


class Training:
    """One training: the encoded corpus, and the model that would be returned if it ended now.

    A subclass makes a trainer in the core and runs it. What decides the weights is in the options of the learner and
    its solver; models and checkpoints repeat it.
    """

    kind: str
    """The learner as models name it."""
    makes: type[Model] = Model
    """The model that it makes."""
    unit: str
    """The unit of the history: "epochs" or "iterations"."""
    solver: Any = None
    """The solver with its options, where the learner has one."""
    trainer: Any
    corpus: _core.Corpus

    def __init__(self, learner: Any, examples: Examples, run: RunOptions) -> None:
        self.learner, self.examples, self.run_options = learner, examples, run
        self.old = old = self._old_model()
        first = examples.first_token()
        self.features = self._features(first, old)
        self.columns = 1 if isinstance(first, str) else len(first) if isinstance(first, Sized) else 0
        # Training continues with the weights as they were before calibration.
        start = None if old is None else scaled(old.arrays, temperature_of(old))
        self.known = None if old is None or start is None else _core.Weights.from_arrays(len(old.labels), start)
        self.labels = examples.read(self, old.labels if old else ())
        self.sentences, self.tokens = examples.sentences, examples.tokens
        self.constraints = self.read_constraints()
        self.parts, self.margin = self._parts(), float(getattr(learner, "margin", 0) or 0)
        self.history: list[dict[str, float]] = []
        self.check_stop: Callable[[], None] = never
        """Raises KeyboardInterrupt where Ctrl-C was pressed."""
        self.finished: _core.Weights | Model | None = None
        self.finished_after = 0
        """Epochs or iterations that the model was trained for."""

    # --- corpus and start ---

    def read_corpus(self) -> _core.Corpus:
        """Return the encoded corpus."""
        return self.examples.corpus(self)

    def read_constraints(self) -> Any:
        """Return the constraints of the learner and of the model that it starts from."""
        given = getattr(self.learner, "constraints", None)
        return training_constraints(given, self.old, self.examples.X, self.examples.y, self.labels)

    def _parts(self) -> str | None:
        """Return the separators of the parts of labels; what is "auto" is that of the old model, or none at first."""
        given: str | None = getattr(self.learner, "parts", None)
        if given != AUTO:
            return given
        return None if self.old is None else fact_in(self.old.facts, str, "options", "parts")

    def limits(self) -> dict[str, Any]:
        """Return the constraints as trainers of the core take them."""
        return training_limits(self.constraints, self.examples.X, self.examples.y, self.labels)

    def make_trainer(self) -> Any:
        """Return the core's trainer of the corpus."""
        raise NotImplementedError

    def indexed(self) -> Any:
        """Encode the corpus and make the core's trainer; log its size and the time that takes."""
        side = f"{self.learner._side}: " if self.learner._side else ""
        sizes = f"{self.sentences:,} sentences, {self.tokens:,} tokens, {len(self.labels):,} labels"
        log.debug("%sindexing the features of %s", side, sizes)
        began = time.perf_counter()
        self.corpus = self.read_corpus()
        self.adapt()
        trainer = self.make_trainer()
        weights = f": {trainer.size:,} weights" if trainer.size else ""
        log.debug("%sindexed in %.1f s%s", side, time.perf_counter() - began, weights)
        return trainer

    def adapt(self) -> None:
        """Choose the options that were left to the training, where it can, once the corpus is encoded."""

    def sliced(
        self, pieces: Iterable[Numbers], here: bool = True
    ) -> Iterator[tuple[Numbers, _core.Corpus | None, int]]:
        """Yield sentences piece by piece, as trainers take them: their numbers, the cut they are of, their count.

        A mapped corpus is cut by a thread, one piece ahead. here: whether this process reads the sentences at all.
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

    def progress(self, total: int | None, every: int = 1, name: str = "") -> Progress:
        """Return what reports the progress of this training; each epoch or iteration reads the whole corpus."""
        learner, shown = self.learner, self.run_options.progress
        unit = self.unit.removesuffix("s")
        return Progress(unit, total, self.tokens, self.history, shown, learner._side, every, name)

    def new_numbers(self, old: Model) -> npt.NDArray[np.int32]:
        """Return the number that each label of an old model has here."""
        number = LabelNumbers(self.labels)
        return np.array([number[name] for name in old.labels], np.int32)

    def _old_model(self) -> Model | None:
        start = self.examples.start or self.learner.warm_start
        if isinstance(start, Model):
            return start
        if start is None or isinstance(start, bool | np.bool_):
            return getattr(self.learner, "model_", None) if start else None
        return load(start)

    def _features(self, first: object, old: Model | None) -> Features | None:
        """Return the templates; first: the first token, which shows what tokens are."""
        given = self.learner.features
        if given is None or isinstance(first, Mapping):
            made = None
        else:
            made = self.completed(given if isinstance(given, Features) else Features(given))
        if made is not None and made.history and not self.makes.looks_back:
            raise ValueError(
                f"the templates read earlier labels (%y[-{made.history}]), which a {self.kind} cannot; use MEMM"
            )
        for name in given.given_lists if isinstance(given, Features) else ():
            if made is None or name not in made.lists:
                raise ValueError(
                    f"no template reads the word list {name!r}; %in[0,0,{name}] would, or %class, %lexicon or %vector"
                )
        if old and fact_in(old.facts, bool, "first_only"):
            raise ValueError(f"warm_start: the model is an HMM, whose scores a {self.kind} cannot start from")
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

    # --- the model ---

    def deciding(self) -> dict[str, Any]:
        """Return what decides the weights, besides the corpus and the length of the training; values for JSON."""
        of_solver = {} if self.solver is None else {"solver": self.solver.name, **plain(self.solver)}
        least = getattr(self.learner, "_min_weight", 0.0)
        own = plain(self.learner)
        adapted: dict[str, Any] = {name: getattr(self, name) for name in ("parts", "margin") if name in own}
        return {**own, **adapted, **of_solver, **({"min_weight": least} if least else {})}

    def facts(self, after: int) -> dict[str, Any]:
        """Return what a model says about its training."""
        from tagwright import __version__

        name = None if self.features is None else self.features.name
        return {
            "learner": self.kind,
            "options": {"features": name, **self.length(), **self.deciding()},
            "sentences": self.sentences,
            "tokens": self.tokens,
            **({"columns": self.columns} if self.features is not None else {}),
            **({"partial_tokens": int((self.examples.ids < 0).sum())} if self.examples.partial else {}),
            "version": __version__,
            f"{self.unit}_done": after,
        }

    def length(self) -> dict[str, Any]:
        """Return how long the training was to be, as models say it."""
        return {}

    def model(self, trained: _core.Weights, after: int) -> Model:
        """Return a model with these weights."""
        word = self.features.word_prefix() if self.features else None
        arrays = trained.arrays(getattr(self.learner, "_min_weight", 0.0), word or "")
        return self.makes(self.labels, self.features, {**arrays, **self.more_arrays()}, self.facts(after))

    def more_arrays(self) -> Arrays:
        """Return arrays that only some models have."""
        return to_arrays(self.constraints)

    def measured(self, fact: dict[str, float], trained: _core.Weights, after: int) -> Model | None:
        """Measure weights on dev data, if there are any, as "dev" of an entry of the history; return their model."""
        if self.run_options.dev is None:
            return None
        model = self.model(trained, after)
        X, y = self.run_options.dev
        fact["dev"] = accuracy(model, X, y, threads=self.learner.threads)
        return model

    def finish_with(self, trained: _core.Weights | Model, after: int) -> None:
        """Set the result that is returned if training ends now."""
        self.finished, self.finished_after = trained, after

    def finished_model(self) -> Model:
        """Return the model that `finish_with` was last given."""
        if self.finished is None:
            raise ValueError("nothing was trained")
        if not isinstance(self.finished, Model):
            self.finished = self.model(self.finished, self.finished_after)
        self.finished.facts["history"] = saved_history(self.history)
        return self.finished

    def hand_over(self) -> None:
        """Store the model and the objective in the learner."""
        last = self.history[self.finished_after - 1]
        if "objective" in last:
            self.learner.objective_ = last["objective"]
        model = self.finished_model()
        try:
            temperature = self.temperature(model)
        except (KeyboardInterrupt, ValueError, OSError) as error:  # a finished training is not lost
            temperature = 1.0
            reason = "interrupted" if isinstance(error, KeyboardInterrupt) else error
            warnings.warn(f"{reason}: the model is not calibrated", stacklevel=5)
        self.learner.model_ = calibrated(model, temperature)

    def temperature(self, model: Model) -> float:
        """Return what the weights of the finished model are divided by: 1 unless it is fitted to held-out data."""
        dev = self.run_options.dev
        if getattr(self.solver, "calibration", None) is None or dev is None or not sum(map(len, dev[1])):
            return 1.0
        return fitted_temperature(model, dev[0], dev[1], self.learner.threads)

    # --- checkpoints ---

    def identity(self) -> dict[str, Any]:
        """Return what must be equal for a training to be the same one; what depends on other entries comes last."""
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
        """Return what must be equal for features to be the same."""
        finds = self.features is None or self.features.finds
        return {"templates": _form(self.features), **({} if finds else {"finds": False})}

    def write(self, state: Arrays, more: dict[str, Any]) -> None:
        """Write a checkpoint: the model so far and the state to resume from, whose names begin with "state."."""
        path = self.run_options.checkpoint
        if path is None:
            return
        resume = {
            "identity": self.identity(),
            "history": saved_history(self.history),
            "finished_after": self.finished_after,
            **more,
        }
        try:
            self.finished_model().save_with(path, state, {"resume": resume})
            self.learner.checkpoint_error_ = None
        except OSError as error:
            # What was trained so far is worth more than its checkpoint.
            if self.learner.checkpoint_error_ is None:
                message = f"checkpoint {os.fspath(path)} not written: {error.strerror}; training continues"
                warnings.warn(message, stacklevel=2)
            self.learner.checkpoint_error_ = error

    def read(self, most: int, option: str) -> tuple[Arrays, dict[str, Any]] | None:
        """Read the checkpoint, where there is one; most: how many epochs or iterations may be done."""
        self.learner.checkpoint_error_ = None
        path = self.run_options.checkpoint
        if path is None:
            return None
        check_target(path, read_again=True)
        if not Path(path).exists():
            return None
        model, arrays, meta = opened(path)
        resume = meta.get("resume", meta.get("going_on"))  # the second was the name in 0.5.0
        if resume is None:
            raise ValueError(f"{os.fspath(path)}: a finished model, not a checkpoint; name another file")
        mine, its = self.identity(), self._completed_identity(dict(resume["identity"]))
        for what in mine:
            if mine[what] != its.get(what):
                raise ValueError(f"{os.fspath(path)}: the checkpoint of another training (other {what}); remove it")
        self.history = [
            {name: math.inf if value is None else value for name, value in fact.items()} for fact in resume["history"]
        ]
        if len(self.history) > most:
            done = f"{len(self.history)} {self.unit} are done, but {option}={most}"
            raise ValueError(f"{os.fspath(path)}: {done}; remove the file or set {option} higher")
        facts = {**model.facts, "options": self.facts(0)["options"]}
        self.finished = self.makes(model.labels, self.features, model.arrays, facts)
        self.finished_after = resume["finished_after"]
        return arrays, resume

    def _completed_identity(self, its: dict[str, Any]) -> dict[str, Any]:
        """Return the identity of a checkpoint; an option that it does not name had its default."""
        owners = [type(self.learner), *([] if self.solver is None else [type(self.solver)])]
        defaults = {name: option.default for owner in owners for name, option in options_of(owner).items()}
        if "keep" in its:  # its name in 0.5.0
            its.setdefault("pruning", its["keep"])
        if "rate" in its:  # before it was an option, averages were over the whole training
            its.setdefault("average_from", 1)
        its = {"parts": None, "margin": 0.0, **its}
        return {**{name: default for name, default in defaults.items() if name in self.deciding()}, **its}


def check_run(learner: Any, run: RunOptions) -> None:
    """Check the options of a training that do not belong to the estimator, and dev data."""
    check_dev(run.dev)
    if run.dev is not None:
        run.dev = check(*run.dev)
        if known_labels(run.dev[1]).partial:
            raise ValueError("dev must have one label per token, or its accuracy is not known")
    if learner.patience is not None and run.dev is None:
        raise ValueError("patience needs dev data: fit(X, y, dev=(X_dev, y_dev))")
    check_cluster(run.cluster)


def check_cluster(cluster: Any) -> None:
    """Check the option: None, or something like `tagwright.cluster.Ray(...)`."""
    if cluster is None:
        return
    if not hasattr(cluster, "connected"):
        raise ValueError(f"cluster must be None or tagwright.cluster.Ray(...), not {checks.shown(cluster)}")
    cluster.check()


def stalled(history: list[dict[str, float]], patience: int | None) -> bool:
    """Return whether the last `patience` measurements on dev data brought no improvement."""
    accuracies = [fact["dev"] for fact in history if "dev" in fact]
    return patience is not None and bool(accuracies) and len(accuracies) - 1 - int(np.argmax(accuracies)) >= patience


def is_best(history: list[dict[str, float]]) -> bool:
    """Return whether the last measurement on dev data is as good as any before."""
    accuracies = [fact["dev"] for fact in history if "dev" in fact]
    return accuracies[-1] >= max(accuracies)


def saved_history(history: list[dict[str, float]]) -> list[dict[str, float | None]]:
    """Return a history for JSON, which has no infinity: None stands for it."""
    return [{name: None if value == math.inf else value for name, value in fact.items()} for fact in history]


def _all_of(cut: _core.Corpus) -> tuple[Numbers, _core.Corpus, int]:
    """Return all sentences of a cut."""
    return np.arange(cut.sentences, dtype=np.int32), cut, cut.sentences


def _weights_digest(model: Model) -> str:
    names = ("rows.weight", "edges.score", "corrections.score", "ngrams.score")
    return _core.digest([model.arrays[name] for name in names if name in model.arrays])


def _form(features: Features | None) -> list[Any] | None:
    """Return what makes two sets of templates equal, except how they read word lists."""
    if features is None:
        return None
    lists = {name: own.digest() if isinstance(own, Vectors) else own for name, own in features.lists.items()}
    return [features.text, lists]
