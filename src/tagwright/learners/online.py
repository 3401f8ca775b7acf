"""Online training: a gradient per sentence, a step per batch, epoch after epoch; perceptrons and CRFs alike."""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tagwright import _core
from tagwright.decoding.decoders import plan_by_score
from tagwright.decoding.keep import KeepDivergence, keep_arguments
from tagwright.label_parts import find_separators
from tagwright.learners.batch import BatchTraining
from tagwright.learners.calibrating import TOKENS, fitted_temperature
from tagwright.learners.examples import Examples, GrowingExamples, StreamedExamples
from tagwright.learners.interrupts import stops
from tagwright.learners.labels import Weights, check_same_parts, checked_weights, label_parts
from tagwright.learners.learner import (
    Dev,
    KnownLabels,
    Learner,
    RunOptions,
    Sentences,
    accuracy,
    check,
    check_dev,
    one_type,
)
from tagwright.learners.options import AUTO, check_options, refuse, refuse_ignored, solver_of
from tagwright.learners.progress import Progress, brief, log
from tagwright.learners.streams import stream_of
from tagwright.learners.training import Numbers, Training, check_run, is_best, stalled
from tagwright.models.model import Model

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

_DEFAULT_RULE = KeepDivergence(0.1)
_DEFAULT_MOST = 32  # labels of a token by the default rule; more only slow down the first epoch
_LARGEST_PIECE = 4096  # sentences, which a mapped corpus has in memory
_BATCHES = 64  # of a piece of a CRF's epoch
_SECONDS = 0.1  # between two checks for Ctrl-C and updates of the progress bar
_SCORE_STEP = 6.0  # by which a first step changes the score of a label of a token with the mean number of features
_LARGEST_RATE = 0.5  # which suits tokens of few features, and edges
_LEAST_TOKENS = 5_000  # of a corpus a part of which can be held out
_FOLD = 10  # at least; one sentence in so many is held out for calibration
_MARGIN = 2.0  # of a CRF whose probabilities are calibrated
_FEW_LABELS = 1_000
_MARGIN_OF_PARTS = 8.0  # of more labels, if they have parts; no temperature calibrates others that have a margin
_COMPARED_TOKENS = 50_000  # of the sentences on which margins, and labels with and without parts, are compared
_COMPARED_EPOCHS = 5
_COMPARED_FOLD = 5  # one sentence in so many of these is held out
_HISTORY = 1000  # calls of partial_fit that the history has


def suited_rate(occurrences: int, tokens: int) -> float:
    """Return the step size for a corpus with so many features on all its tokens."""
    return min(_LARGEST_RATE, float(f"{_SCORE_STEP * max(1, tokens) / max(1, occurrences):.4g}"))


class OnlineTraining(Training):
    """A training that changes weights after every batch of sentences.

    The learner's `_gradient` is "best_path" (perceptron) or "sums" (CRF); the step rule follows from it.
    """

    unit = "epochs"

    def __init__(self, learner: Any, examples: Examples, run: RunOptions | None = None, engine: Any = None) -> None:
        self.kind, self.solver = learner._kind, solver_of(learner) if learner._solvers else None
        self.finds_paths = learner._gradient == "best_path"
        self.batch = int((learner if self.solver is None else self.solver).batch)
        self.distributed: Any = None
        self.interrupted = False
        self._rate: float | None = None
        super().__init__(learner, examples, run or RunOptions())
        self.trainer = self.indexed()
        if engine is not None:
            self.distributed = self.run_options.cluster.online(engine, self)
        if self.old:
            check_same_parts(self.old, self.parts)
            self.trainer.start_from(self.known, self.new_numbers(self.old))
        if found := self.read(learner.epochs, "epochs"):
            arrays, resume = found
            self.trainer.restore(resume["seen"], arrays)
        if self.distributed is not None:
            self.distributed.begin()

    def make_trainer(self) -> _core.Trainer:
        """Return the core's trainer of the corpus."""
        plan = plan_by_score(self.learner.decoder, "the perceptron").core if self.finds_paths else None
        return _core.Trainer.make(self.corpus, **self.core_options(), plan=plan, **self.limits())

    def core_options(self) -> dict[str, Any]:
        """Return the options of the core's trainer, except the decoder and the constraints."""
        learner, own = self.learner, self.learner if self.solver is None else self.solver
        options = {
            "gradient": learner._gradient,
            "parts": label_parts(self.labels, self.parts)[0],
            "edges": self.features.edges if self.features else True,
            "grow": own.pairs == "touched",
            "batch": self.batch,
            "margin": self.margin,
            "order": int(learner.order),
            "min_ngram_count": int(learner.min_ngram_count),
        }
        if self.finds_paths:
            options["dense_edges"] = learner._dense_edges
        else:
            rule = _DEFAULT_RULE if learner.pruning is None else learner.pruning
            options |= {
                "rate": self.rate(),
                "l2": float(own.l2),
                "pruning": keep_arguments(None if rule == "exact" else rule),
                "max_labels": _DEFAULT_MOST if learner.pruning is None else 0,
            }
        return options

    def rate(self) -> float:
        """Return the step size of AdaGrad: that of the solver, or one that suits the first corpus."""
        if self._rate is None:
            given = self.solver.rate
            self._rate = suited_rate(self.corpus.occurrences, self.corpus.tokens) if given is None else float(given)
        return self._rate

    def deciding(self) -> dict[str, Any]:
        """Return the options that determine the weights; mixed weights also depend on the number of shards."""
        shards = 1 if self.distributed is None else self.distributed.shards
        rate = {} if self.finds_paths else {"rate": self.rate()}
        return {**super().deciding(), **rate, **({} if shards == 1 else {"shards": shards})}

    def length(self) -> dict[str, Any]:
        """Return the number of epochs."""
        return {"epochs": int(self.learner.epochs)}

    def run(self) -> None:
        """Train, and leave `history_` and `model_` with the learner."""
        learner = self.learner
        learner.history_ = self.history
        try:
            with stops() as self.check_stop, self.progress(learner.epochs) as progress:
                while len(self.history) < learner.epochs and not stalled(self.history, learner.patience):
                    self._epoch(progress)
        except KeyboardInterrupt:
            if not self.finished:
                raise
            epoch = min(len(self.history) + 1, learner.epochs)
            message = f"interrupted in epoch {epoch}; the model is that of epoch {self.finished_after}"
            warnings.warn(message, stacklevel=4)
            self.interrupted = True
        self.hand_over()

    def temperature(self, model: Model) -> float:
        """Return what the weights are divided by, from dev data, or from a tenth that another training leaves out."""
        if self.run_options.dev is not None or not self._calibrates() or self.interrupted:
            return super().temperature(model)
        every = np.arange(self.sentences, dtype=np.int32)
        fold = max(_FOLD, self.tokens // TOKENS)
        held = every[fold - 1 :: fold]
        log.info("calibration: a training that leaves out %s of %s sentences", f"{len(held):,}", f"{len(every):,}")
        first = self._model_of(np.delete(every, held), self.finished_after, "calibration")
        return fitted_temperature(first, *self._known(held), self.learner.threads)

    def _calibrates(self) -> bool:
        """Return whether there is a temperature without dev data, too."""
        return getattr(self.solver, "calibration", None) == AUTO and self._is_large()

    def _is_large(self) -> bool:
        """Return whether the corpus is known as a whole, and large enough that a part of it can be held out."""
        return self.examples.whole and self.tokens >= _LEAST_TOKENS

    def adapt(self) -> None:
        """Choose the margin, and whether labels have parts: what is the most accurate on some held-out sentences."""
        candidates = self._candidates()
        self.parts, self.margin = candidates[0]
        if len(candidates) == 1:
            return
        count = max(2, min(self.sentences, self.sentences * _COMPARED_TOKENS // self.tokens))
        some = np.linspace(0, self.sentences - 1, count).astype(np.int32)
        held = np.arange(_COMPARED_FOLD - 1, count, _COMPARED_FOLD)
        X, y = self._known(some[held])
        epochs, right = min(_COMPARED_EPOCHS, self.learner.epochs), {}
        for self.parts, self.margin in candidates:
            model = self._model_of(np.delete(some, held), epochs, "margin and parts")
            right[self.parts, self.margin] = share = accuracy(model, X, y, threads=self.learner.threads)
            log.info(
                "margin=%g, parts=%r: accuracy %.2f %% on held-out sentences", self.margin, self.parts, 100 * share
            )
        self.parts, self.margin = max(candidates, key=right.__getitem__)

    def _candidates(self) -> list[tuple[str | None, float]]:
        """Return the parts and margins to choose from: those that are given, or what suits the number of labels.

        Without calibration, there is no margin, which leaves probabilities that are under-confident.
        """
        learner = self.learner
        if learner.margin is not None or not self._calibrates():
            margins = of_parts = [float(learner.margin or 0)]
        elif len(self.labels) <= _FEW_LABELS:
            margins, of_parts = [0.0, _MARGIN], [_MARGIN]
        else:
            margins, of_parts = [0.0], [_MARGIN_OF_PARTS]
        found = [(self.parts, margin) for margin in (margins if self.parts is None else of_parts)]
        if learner.parts == AUTO and not self.old and self._is_large():
            separators = find_separators(self.labels)
            found += [(separators, margin) for margin in of_parts if separators is not None]
        return found

    def _known(self, which: Numbers) -> tuple[list[Any], list[Any]]:
        """Return those of some sentences all of whose labels are known, and their labels."""
        X, y = self.examples.some(which)
        known = [s for s, own in enumerate(y) if all(isinstance(label, str) for label in own)]
        return [X[s] for s in known], [y[s] for s in known]

    def _model_of(self, sentences: Numbers, epochs: int, title: str) -> Model:
        """Return the model of another training, on some of the sentences; it replaces the trainer."""
        self.trainer = self.make_trainer()
        if self.old and self.known:
            self.trainer.start_from(self.known, self.new_numbers(self.old))
        if self.distributed is not None:
            self.distributed.begin()
        with stops() as self.check_stop, self.progress(None) as progress:
            for epoch in range(epochs):
                self._begin_epoch(epoch)
                order = np.random.default_rng([self.learner.seed, epoch]).permutation(sentences).astype(np.int32)
                with progress.bar(f"{title} {epoch + 1}/{epochs}", "sent", len(sentences)) as bar:
                    self.pass_over(order, bar.update)
        return self.model(self.trainer.average(), epochs)

    def _begin_epoch(self, epoch: int) -> None:
        if self.solver is not None and epoch > 0 and epoch + 1 == self.solver.average_from:
            self.trainer.restart_average()

    def _epoch(self, progress: Progress) -> None:
        """Read the corpus once, in a new order, and measure the result."""
        learner, epoch = self.learner, len(self.history)
        self._begin_epoch(epoch)
        with progress.bar(f"epoch {epoch + 1}/{learner.epochs}", "sent", self.sentences) as bar:
            began = time.perf_counter()
            if self.distributed is not None and self.finds_paths:
                fact = self.distributed.epoch(epoch, bar.update)
            else:
                rng = np.random.default_rng([learner.seed, epoch])
                fact = self.pass_over(rng.permutation(self.sentences).astype(np.int32), bar.update)
            fact["seconds"] = time.perf_counter() - began
            bar.set_postfix_str(brief(fact), refresh=False)
            average = self.trainer.average()
            model = self.measured(fact, average, epoch + 1)
            bar.set_postfix_str(brief(fact), refresh=model is not None)
        self.check_stop()
        self.history.append(fact)
        progress.step(fact)
        if learner.patience is None or is_best(self.history):
            self.finish_with(model or average, epoch + 1)
        if self.run_options.checkpoint is not None:
            self.write(self.trainer.state(), {"seen": self.trainer.visited})

    def pass_over(self, order: Numbers, report: Callable[[int], object]) -> dict[str, float]:
        """Read sentences once, in this order; report: called with the number of sentences done since the last call."""
        sums: Any = self.trainer if self.distributed is None else self.distributed
        total = dict.fromkeys(("tokens", "errors", "loss", "kept", "missing"), 0.0)
        for piece, cut, count in self.sliced(self._pieces(order), self.distributed is None):
            self.check_stop()
            found = sums.run(piece, self.learner.threads, cut)
            total = {name: value + found[name] for name, value in total.items()}
            report(count)
        sums.end_epoch()
        tokens = max(1, total["tokens"])
        if self.finds_paths:
            return {"error": total["errors"] / tokens}
        return {
            "objective": total["loss"],
            "kept": total["kept"] / tokens,
            "missing": total["missing"] / tokens,
        }

    def _pieces(self, order: Numbers) -> Iterator[Numbers]:
        """Cut an epoch into pieces of whole batches.

        Those of a perceptron take about `_SECONDS` each. Those of a CRF have a fixed size, since the rounding of the
        objective, which is summed up piece by piece, depends on it.
        """
        at, size = 0, (max(1, 16 // self.batch) if self.finds_paths else _BATCHES) * self.batch
        while at < len(order):
            began = time.perf_counter()
            yield order[at : at + size]
            at += size
            if self.finds_paths:
                suited = int(size * _SECONDS / max(1e-6, time.perf_counter() - began))
                size = max(1, min(_LARGEST_PIECE, 4 * size, suited) // self.batch) * self.batch


class Session:
    """State between calls of `partial_fit`: a training whose corpus is replaced and whose names grow."""

    def __init__(self, run: OnlineTraining, examples: GrowingExamples) -> None:
        self.run, self.examples, self.calls = run, examples, 0
        self.sets = examples.sizes[1]

    def extend(self, X: Any, y: Any, weights: Weights | None) -> None:
        """Replace the sentences, and add their new labels and features.

        Nothing changes before the sentences, labels and constraints are checked: a call that is refused has no effect.
        """
        run, examples = self.run, self.examples
        before = run.labels, run.constraints, examples.y
        examples.replace(X, y, weights, run)
        try:
            run.labels = examples.labels_with(run.labels)
            run.constraints = run.read_constraints()
            corpus = examples.corpus(run)
        except BaseException:
            run.labels, run.constraints, examples.y = before
            raise
        run.corpus = corpus
        if len(before[0]) == len(run.labels) and examples.sizes[1] == self.sets:
            run.trainer.extend(corpus, run.limits().get("allowed"))
            return
        # What depends on the number of labels is made anew.
        state, visited = run.trainer.state(), run.trainer.visited
        state["state.nodes.key"] = _renamed(state["state.nodes.key"], before[0], run.labels, run.parts)
        run.trainer = run.make_trainer()
        run.trainer.restore(visited, state)
        self.sets = examples.sizes[1]

    def learn(self) -> None:
        """Read the current sentences once, in their order."""
        run, began = self.run, time.perf_counter()
        with stops() as run.check_stop:
            fact = run.pass_over(np.arange(self.examples.current, dtype=np.int32), lambda _: None)
        fact["seconds"] = time.perf_counter() - began
        run.history.append(fact)
        del run.history[:-_HISTORY]
        self.calls += 1
        run.sentences, run.tokens = self.examples.sentences, self.examples.tokens

    def made(self) -> Model:
        """Return the model so far."""
        run = self.run
        run.trainer.extend(self.examples.names(run))
        run.finish_with(run.trainer.average(), self.calls)
        model = run.finished_model()
        run.finished = None
        return model


def _renamed(
    keys: npt.NDArray[np.uint64], before: list[str], now: list[str], separator: str | None
) -> npt.NDArray[np.uint64]:
    """Return the keys of node weights among more labels: labels keep their numbers, parts have new ones."""
    old, _ = label_parts(before, separator)
    new, _ = label_parts(now, separator)
    number = np.arange(len(before) + (int(old.max()) + 1 if len(old) else 0), dtype=np.uint64)
    for at, part in enumerate(old.tolist()):
        k, label = divmod(at, len(before))
        number[len(before) + part] = len(now) + int(new[k * len(now) + label])
    return number[keys.astype(np.int64)]


class OnlineLearner(Learner):
    """A learner that trains on sentences in memory, on files, or on sentences that arrive in portions."""

    _kind: str
    _gradient: str
    _session: Session | None = None
    _model: Model | None = None
    history_: list[dict[str, float]]

    def fit(
        self,
        X: Sentences,
        y: KnownLabels,
        dev: Dev | None = None,
        sample_weight: object = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        cluster: Any = None,
        progress: bool | None = None,
    ) -> Self:
        """Train on labelled sentences.

        Ctrl-C ends training with the model of the last complete epoch or iteration, and a warning.

        Parameters
        ----------
        X : iterable of sentences
            Lists, generators, object arrays and columns of data frames.
        y : iterable of lists of labels
            A label may also be a set of labels, one of which is right, or None where nothing is known. A CRF then
            maximises the probability of all labellings that are allowed; a perceptron takes the best allowed
            labelling, under the weights so far, as the right one.
        dev : pair (X_dev, y_dev), optional
            Measured after each epoch, or every 10 iterations.
        sample_weight : array of numbers, optional
            A weight per sentence, by which its loss or update is multiplied.
        checkpoint : path, optional
            A file that is written after each epoch, or every 10 iterations. If it exists, training resumes from it and
            ends with the weights it would have had. It can be loaded as a model. Where it cannot be written, there is
            a warning, the error is kept in `checkpoint_error_`, and training continues.
        cluster : tagwright.cluster.Ray, optional
            Trains on the workers of a cluster. A CRF has the same weights, bit for bit. A perceptron runs an epoch per
            shard and mixes the weights (McDonald, Hall and Mann 2010), so that they depend on the number of workers.
        progress : bool, optional
            Whether to show a progress bar; None: where standard error is a terminal. `logging` has lines in any case.
        """
        check_dev(dev, sample_weight)
        sentences, labels = self._checked(X, y)
        run = self._run_options(dev=dev, checkpoint=checkpoint, cluster=cluster, progress=progress)
        self._train(Examples(sentences, labels, checked_weights(sample_weight, len(sentences))), run)
        return self

    def fit_files(
        self,
        corpus: Paths | Iterable[tuple[Sequence[Any], Sequence[Any]]],
        dev: Dev | None = None,
        *,
        format: str = "auto",
        label: str | int = "last",
        comments: bool = False,
        partial: bool = False,
        cache: str | os.PathLike[str] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        cluster: Any = None,
        progress: bool | None = None,
    ) -> Self:
        """Train on files, of which a small part is in memory at a time; the model is that of `fit`, bit for bit.

        Features are encoded once, into a file that is mapped during training. Memory holds the names of the features,
        the weights, and a bounded part of the corpus.

        Parameters
        ----------
        corpus : path, paths or iterable of pairs
            A file, several, or a folder, which stands for all files below it, by their names; ``.gz`` and ``.xz`` are
            unpacked. Or an iterable of pairs of a sentence and its labels, as for `fit`, which starts anew each time it
            is iterated over: it is read two to four times.
        dev : pair (X_dev, y_dev), optional
            In memory, as for `fit`.
        format, label, comments
            How files are read, as for `tw.read`.
        partial : bool
            Whether labels of files may be partly known: ``NN,VB`` for one of the two, ``_`` for any.
        cache : path, optional
            A folder for the encoded corpus. A later training on the same files with the same features finds it there,
            by a digest of both. Without it, the file is next to the corpus, without a name, and removed at the end. An
            iterable is encoded anew each time.
        checkpoint, cluster, progress
            As for `fit`.
        """
        read = {"format": format, "label": str(label), "comments": comments}
        stream = stream_of(corpus, read, partial)
        run = self._run_options(dev=dev, checkpoint=checkpoint, cluster=cluster, progress=progress)
        self._train(StreamedExamples(stream, cache, run.progress), run)
        self._integers = bool(stream.integers)
        if stream.is_files:
            self.model_.facts["data"] = {**read, "blanks": stream.blanks}
        return self

    def partial_fit(
        self, X: Sentences, y: KnownLabels, classes: Sequence[str] | None = None, sample_weight: object = None
    ) -> Self:
        """Train on further sentences: one pass, in their order, that continues what was learnt before.

        The first call starts from the model of `fit` or of `warm_start`, or from nothing. Later ones continue exactly:
        where `classes` names all labels, partial_fit(A) and partial_fit(B) give an averaged perceptron the weights of
        one pass over A + B. With ``order`` above 1 or ``pairs="observed"`` they do not: the label n-grams and pairs
        that only B contains have no weights yet while A is read. New labels, features and label n-grams are added. A
        call costs what its sentences need; `model_` is made when it is next used. `min_count`, `epochs`, `patience`,
        `average_from` and `calibration` are for `fit`: every feature is kept, and the model is not calibrated.

        Parameters
        ----------
        X : iterable of sentences
            As for `fit`.
        y : iterable of lists of labels
            As for `fit`.
        classes : list of str, optional
            Label names that may come, in the order of their numbers; for the first call.
        sample_weight : array of numbers, optional
            As for `fit`.
        """
        session, before = self._session, self._integers
        sentences, labels = check(X, y)
        self._integers = bool(one_type(None if session is None else before, labels))
        weights = checked_weights(sample_weight, len(sentences))
        self._check_partial_fit()
        if session is not None and classes is None:
            session.extend(sentences, labels, weights)
        else:
            examples = GrowingExamples(sentences, labels, weights, getattr(self, "model_", None), classes or ())
            session = Session(OnlineTraining(self, examples), examples)
        session.learn()
        self._model, self._session = None, session
        self.history_ = session.run.history
        return self

    @property
    def model_(self) -> Model:
        """The model, which is made here if `partial_fit` was called since it was last used."""
        if self._model is None and self._session is not None:
            self._model = self._session.made()
        if self._model is None:
            raise AttributeError("there is no model yet")
        return self._model

    @model_.setter
    def model_(self, made: Model) -> None:
        self._model, self._session = made, None

    def __getstate__(self) -> Any:
        """Return the pickled state: in another process, `partial_fit` starts from the model."""
        if self._session is not None:
            self._model = self.model_
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_session"}

    def _check_partial_fit(self) -> None:
        """Check the parameters, and that they can be used for `partial_fit`."""
        self._check(RunOptions())
        if self._solvers:
            refuse(solver_of(self).name, "partial_fit")
        given = self.constraints if isinstance(self.constraints, list | tuple) else [self.constraints]
        if any(isinstance(one, int) and not isinstance(one, bool) for one in given):
            refuse("partial_fit", "a tag dictionary")

    constraints: Any

    def _check(self, run: RunOptions) -> None:
        check_options(self)
        check_run(self, run)
        if self._solvers:
            refuse_ignored(self, solver_of(self).name)

    def _train(self, examples: Examples, run: RunOptions) -> None:
        """Check the options and train, on a cluster if there is one."""
        self._check(run)
        batch = self._solvers and solver_of(self).name == "lbfgs"
        with contextlib.nullcontext() if run.cluster is None else run.cluster.connected(self.threads) as engine:
            (BatchTraining if batch else OnlineTraining)(self, examples, run, engine).run()
