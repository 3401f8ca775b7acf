"""The averaged perceptron (Collins 2002), trained with any decoder."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.constraints.constraints import Constraints
from tagwright.decoding.decoders import Decoder, plan_by_score
from tagwright.features.templates import Features
from tagwright.learners.distributed import check_cluster, running
from tagwright.learners.examples import Examples
from tagwright.learners.incremental import GrowingExamples, IncrementalLearner
from tagwright.learners.interrupts import stops
from tagwright.learners.learner import Labels, Sentences, accuracy, check
from tagwright.learners.options import PerceptronOptions
from tagwright.learners.partial import checked_weights
from tagwright.learners.parts import check_same_parts, check_separators, label_parts
from tagwright.learners.progress import Progress, brief
from tagwright.learners.training import Training, check_order, check_training, is_best, stalled
from tagwright.models.model import Model

__all__ = ["Perceptron"]

_MOST = 4096  # sentences between them, which a mapped corpus has in memory
_A_WHILE = 0.1  # seconds between two looks at the keyboard and the progress bar


@dataclass(repr=False, eq=False)
class Perceptron(IncrementalLearner):
    """The averaged perceptron of Collins (2002): decode, and where that is wrong move weights towards the truth.

    Args:
        features: a preset's name, a template file, templates themselves (text or `Features`), or None for ready-made
            features. Tokens that are dicts are always taken as ready-made features.
        epochs: passes over the corpus.
        seed: of the order in which sentences come, a new one each epoch.
        decoder: finds the labelling that is compared with the truth, in training and afterwards. The exact ones all
            lead to the same weights; a beam does not.
        min_count: features on fewer tokens than this are left out.
        pairs: "touched" gives a weight to every (feature, label) pair that an update touches, "observed" only to those
            the corpus has: smaller models, a little less accurate.
        margin: how much better the right labelling must be, for each token that another one has wrong; smaller wins
            count as mistakes. 0 is Collins' perceptron. Whole numbers keep training independent of the decoder.
        parts: the characters that separate the parts of a label, such as "|" in NN|B-NP; "" if each character is one.
            Features then have weights for parts too, so that labels share what is learnt of their parts (Silfverberg
            et al. 2014): more accurate with large label sets, and slower. None: labels are wholes.
        min_weight: averaged weights of nodes smaller than this are left out of the model: smaller, a little less
            accurate.
        batch: how many sentences are decoded with the same weights, in threads, before they change them by the mean of
            what each would (Zhao and Huang 2013). 1 is Collins' perceptron; larger ones need more epochs. Powers of two
            keep training independent of the decoder.
        order: how many labels before one its score depends on: 2 adds weights for runs of three labels (ngrams), 3
            also for runs of four.
        min_ngram_count: runs that the corpus has less often than this have no weight.
        constraints: what labellings keep to, in training and tagging: `tw.Constraints`; the name of a scheme such as
            "BIO", or "BIO:1" for part 1 of labels such as NN|B-NP; a number n, for a tag dictionary of the words met at
            least n times; or a list of these. The model keeps them.
        lists: word lists for ``%in``: name -> entries or the path of a file.
        patience: with dev data, stop when so many epochs in a row brought no better accuracy, and keep the best.
        warm_start: True goes on from this estimator's own model, a Model or its path from that one; its features and
            labels are kept.
        checkpoint: a file that is written after each epoch. If it is there already, training goes on from it and ends
            with the weights it would have had. It can be loaded as a model. Where it cannot be written, there is a
            warning, the error is kept in `checkpoint_error_`, and training goes on.
        threads: for feature extraction, for the sentences of a batch and for tagging; the weights do not depend on it.
        progress: whether to show a bar; None: where standard error is a terminal. `logging` has lines in any case.
        cluster: `tw.Ray(...)` trains on the workers of a cluster: an epoch per part of the corpus, whose weights are
            then mixed (McDonald, Hall and Mann 2010). The weights depend on the number of workers; one is the same
            training as without.

    After `fit`: `model_`, and `history_`, a dict per epoch with error, seconds and (with dev data) dev accuracy.

    Differs from the paper in that ties between labellings, which are common while weights are small whole numbers,
    are broken by a fixed tiny preference per node, so that training does not depend on the decoder.

    """

    features: str | os.PathLike[str] | Features | None = "pos"
    epochs: int = 10
    seed: int = 0
    decoder: str | Decoder = "auto"
    min_count: int = 1
    pairs: str = "touched"
    margin: float = 0
    parts: str | None = None
    min_weight: float = 0
    batch: int = 1
    order: int = 1
    min_ngram_count: int = 1
    constraints: Constraints | str | int | list[Any] | None = None
    lists: Mapping[str, object] | None = None
    patience: int | None = None
    warm_start: bool | str | os.PathLike[str] | Model = False
    checkpoint: str | os.PathLike[str] | None = None
    threads: int = 1
    progress: bool | None = None
    cluster: Any = None

    # True holds edges as a matrix only, False as exceptions only; for comparisons, by a subclass that sets it.
    _dense_edges: ClassVar[bool | None] = None

    def fit(
        self,
        X: Sentences,
        y: Labels,
        dev: tuple[Sentences, Labels] | None = None,
        sample_weight: object = None,
    ) -> Perceptron:
        """Train on sentences X with labels y; dev, a pair like them, is measured after each epoch.

        A label of y may also be a set of labels, one of which is right, or None where nothing is known: then the best
        labelling that is allowed, under the weights so far, is taken as the right one. sample_weight: a number per
        sentence, by which its updates are multiplied; that is not the same as to see it more often. With weights that
        are not whole numbers, ties may be broken by rounding.

        Ctrl-C ends training with the model of the last finished epoch, and a warning.
        """
        check(X, y)
        self._train(Examples(X, y, checked_weights(sample_weight, len(X))), dev)
        return self

    def _train(self, examples: Examples, dev: tuple[Sentences, Labels] | None) -> None:
        self._check(dev)
        with running(self.cluster) as engine:
            self._run(_Run(self, examples, engine), dev)

    def _run(self, run: _Run, dev: tuple[Sentences, Labels] | None) -> None:
        self.history_ = run.history
        try:
            with stops() as run.check_stop, run.progress("epoch", self.epochs) as progress:
                while len(self.history_) < self.epochs and not stalled(self.history_, self.patience):
                    self._epoch(run, dev, progress)
        except KeyboardInterrupt:
            if not run.finished:
                raise
            epoch, kept = min(len(self.history_) + 1, self.epochs), run.finished_after
            warnings.warn(f"interrupted in epoch {epoch}; the model is that of epoch {kept}", stacklevel=4)
        self.model_ = run.finished_model()

    def _incremental_run(self, examples: GrowingExamples) -> _Run:
        self._check(None)
        return _Run(self, examples)

    def _epoch(self, run: _Run, dev: tuple[Sentences, Labels] | None, progress: Progress) -> None:
        epoch = len(self.history_)
        with progress.bar(f"epoch {epoch + 1}/{self.epochs}", "sent", run.sentences) as bar:
            fact = run.epoch(epoch, bar)
            average, model = run.trainer.average(), None
            if dev is not None:
                model = run.model(average, epoch + 1)
                fact["dev"] = accuracy(model, *dev, "auto", self.threads)
                bar.set_postfix_str(brief(fact))
        run.check_stop()
        self.history_.append(fact)
        progress.step(fact)
        if self.patience is None or is_best(self.history_):
            run.finish_with(model or average, epoch + 1)
        if self.checkpoint is not None:
            run.save(self.checkpoint)

    def _check(self, dev: tuple[Sentences, Labels] | None) -> None:
        check_training(self, dev)
        for name in ("epochs", "min_count", "batch", "threads"):
            checks.at_least_one(name, getattr(self, name))
        check_separators(self.parts)
        check_order(self)
        check_cluster(self.cluster)
        for name in ("margin", "min_weight"):
            checks.not_negative(name, getattr(self, name))
        checks.one_of("pairs", self.pairs, ("touched", "observed"))
        plan_by_score(self.decoder, "the perceptron")


class _Run(Training):
    kind = "perceptron"

    def __init__(self, learner: Perceptron, examples: Examples, engine: Any = None) -> None:
        self.mixed: Any = None
        super().__init__(learner, examples)
        self.options = PerceptronOptions.of(learner)
        self.min_weight = self.options.min_weight
        self.plan = plan_by_score(learner.decoder, "the perceptron")
        self.trainer = self.indexed()
        if engine is not None:
            self.mixed = learner.cluster.perceptron(engine, self, self._core_options())
        if self.old:
            self._start_from(self.old)
        if found := self.read(learner.epochs, "epochs", "epochs"):
            arrays, going_on = found
            self.trainer.restore(going_on["seen"], arrays)

    def make_trainer(self) -> _core.PerceptronTrainer:
        """Return the core's trainer, which has the corpus in numbers."""
        return _core.PerceptronTrainer.make(self.corpus, **self._core_options(), **self.limits())

    def _core_options(self) -> dict[str, Any]:
        return {
            "parts": label_parts(self.labels, self.options.parts)[0],
            "edges": self.features.edges if self.features else True,
            "all_pairs": self.options.pairs == "touched",
            "margin": self.options.margin,
            "batch": self.options.batch,
            "order": self.options.order,
            "min_ngram_count": self.options.min_ngram_count,
            "dense_edges": self.learner._dense_edges,
        }

    def deciding(self) -> dict[str, Any]:
        """Return what decides the weights; more than one part of the corpus, too."""
        mixed = {} if self.mixed is None or self.mixed.shards == 1 else {"shards": self.mixed.shards}
        return {**super().deciding(), **mixed}

    def _start_from(self, old: Model) -> None:
        """Take over the weights of a model, by the names of its features and labels."""
        check_same_parts(old, self.options.parts)
        self.trainer.start_from(self.known, self.new_numbers(old))

    def epoch(self, epoch: int, bar: Any) -> dict[str, float]:
        """Go over the corpus once, in this epoch's order."""
        order = np.random.default_rng([self.options.seed, epoch]).permutation(self.sentences).astype(np.int32)
        began = time.perf_counter()
        fact = self.pass_over(order, bar.update) if self.mixed is None else self.mixed.epoch(epoch, bar.update)
        bar.set_postfix_str(brief(fact), refresh=False)
        return {**fact, "seconds": time.perf_counter() - began}

    def pass_over(self, order: npt.NDArray[np.int32], told: Callable[[int], object]) -> dict[str, float]:
        """Go over sentences once, in this order; told: how many were seen, now and then."""
        tokens = errors = 0
        for part, cut, count in self.walked(_pieces(order, self.options.batch)):
            self.check_stop()
            seen, wrong, *_ = self.trainer.run(part, self.plan.core, cut, self.learner.threads)
            tokens, errors = tokens + seen, errors + wrong
            told(count)
        return {"error": errors / max(1, tokens)}

    def facts(self, after: int) -> dict[str, Any]:
        """Return what a model says about its training."""
        return {**self.common_facts({"epochs": int(self.learner.epochs)}), "epochs_done": after}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model so far and all that is needed to go on."""
        self.write(path, self.trainer.state(), {"seen": self.trainer.seen})


def _pieces(order: npt.NDArray[np.int32], batch: int) -> Iterator[npt.NDArray[np.int32]]:
    """Cut an epoch into pieces that take about `_A_WHILE` each, of whole batches."""
    at, size = 0, max(1, 16 // batch) * batch
    while at < len(order):
        began = time.perf_counter()
        yield order[at : at + size]
        at += size
        wanted = min(_MOST, 4 * size, int(size * _A_WHILE / max(1e-6, time.perf_counter() - began)))
        size = max(1, wanted // batch) * batch
