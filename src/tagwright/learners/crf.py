"""Conditional random fields, trained with exact or with sparse forward-backward (Pal et al. 2006)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tagwright import checks
from tagwright.constraints.constraints import Constraints
from tagwright.decoding.decoders import Decoder, plan
from tagwright.decoding.keep import Keep
from tagwright.features.templates import Features
from tagwright.learners.crf_training import CrfTraining
from tagwright.learners.distributed import check_cluster, running
from tagwright.learners.examples import Examples
from tagwright.learners.incremental import GrowingExamples, IncrementalLearner
from tagwright.learners.learner import Labels, Sentences, check
from tagwright.learners.online_crf import OnlineTraining
from tagwright.learners.partial import checked_weights
from tagwright.learners.parts import check_separators
from tagwright.learners.training import check_order, check_training
from tagwright.models.model import Model

__all__ = ["CRF"]

# What L-BFGS alone has or, of penalty and rule, has its own idea of; and what they are where they are not set.
_OF_LBFGS = {
    "l1": 0,
    "l2": None,
    "max_iterations": None,
    "tolerance": 1e-5,
    "start_on": None,
    "all_pairs": False,
    "keep": None,
}


@dataclass(repr=False, eq=False)
class CRF(IncrementalLearner):
    """A linear-chain conditional random field: p(labels | sentence) is proportional to exp(score).

    Minimises, summed over sentences, log Z less the score of the right labels, plus l1 times the absolute weights, plus
    l2 times the squared ones; l1 and l2 mean what c1 and c2 mean in CRFsuite.

    Args:
        features: a preset's name, a template file, templates themselves (text or `Features`), or None for ready-made
            features. Tokens that are dicts are always taken as ready-made features.
        l2: weight of the squared penalty; None: 1.0 for exact sums and L-BFGS, 0 for AdaGrad over few labels, which is
            averaged instead.
        l1: weight of the absolute one, which makes weights 0. Each weight is then a difference of two that are bounded
            by 0, so training takes twice the memory. Not for solver="adagrad".
        keep: None suits the solver: L-BFGS sums exactly, AdaGrad over the few labels of a token that matter, at most
            32. "all" sums exactly. `KeepDivergence`, `KeepSize` and `KeepRatio` sum over the labels that the rule keeps
            and the right ones. With L-BFGS, sentences of which it keeps more than a quarter are summed exactly, which
            is faster then (with 64 labels or more). With AdaGrad, KeepDivergence(epsilon) promises that log Z of a
            sentence is at most epsilon per token below the exact one.
        solver: "lbfgs", with l1 OWL-QN, finds the weights that minimise the objective; "adagrad" takes steps after
            every `batch` sentences, is much faster and mostly more accurate. "auto" is "adagrad", unless an option is
            set that belongs to L-BFGS: l1, l2, max_iterations, tolerance, start_on, all_pairs, or keep.
        max_iterations: of L-BFGS; None: until it has converged. Where they end it before, it warns with scikit-learn's
            `ConvergenceWarning`.
        tolerance: L-BFGS has converged when the last 10 iterations lowered the objective by less than this share.
        epochs: passes over the corpus by AdaGrad.
        rate: AdaGrad's step size.
        batch: sentences per step of AdaGrad.
        pairs: of AdaGrad over few labels: "touched" gives a weight to every (feature, label) pair and pair of labels
            that a step touches, "observed" only to those of the corpus.
        parts: of AdaGrad over few labels: the characters that separate the parts of a label, as `Perceptron` has them.
            None: labels are wholes.
        margin: of AdaGrad over few labels: how much better the right labels should be, for each token that another
            labelling has wrong (softmax-margin; Gimpel and Smith 2010). More accurate with many labels, but
            probabilities are then less than they say. 0 is maximum likelihood.
        start_on: a share of the sentences that L-BFGS is fitted to first, such as 0.1 (Pal et al. 2006, 4.2); up to
            max_iterations of its own.
        all_pairs: whether every label has a weight for every feature, and every pair of labels one. By default only
            those that the corpus has.
        min_count: features on fewer tokens than this are left out.
        order: how many labels before one its score depends on: 2 adds weights for runs of three labels (ngrams), 3
            also for runs of four. Rules for what to keep then choose labels by the weights of labels and pairs alone.
        min_ngram_count: runs that the corpus has less often than this have no weight.
        seed: of the sample for `start_on`, and of the order of sentences for AdaGrad.
        decoder: finds the best labelling afterwards.
        constraints: what labellings keep to, in training and tagging: `tw.Constraints`; the name of a scheme such as
            "BIO", or "BIO:1" for part 1 of labels such as NN|B-NP; a number n, for a tag dictionary of the words met at
            least n times; or a list of these. The model keeps them. L-BFGS then sums one sentence at a time.
        lists: word lists for ``%in``: name -> entries or the path of a file.
        patience: with dev data, which is measured every 10 iterations or every epoch: stop when so many measurements
            in a row were no better, and keep the best.
        warm_start: True goes on from this estimator's own model, a Model or its path from that one; its features and
            labels are kept. Weights that only the old model has, and the corpus does not, are lost.
        checkpoint: a file that is written every 10 iterations or every epoch. If it is there already, training goes on
            from it and ends with the weights it would have had. It can be loaded as a model.
        threads: for training and tagging; the weights do not depend on it. AdaGrad with exact sums uses one.
        progress: whether to show a bar; None: where standard error is a terminal. `logging` has lines in any case.
        cluster: `tw.Ray(...)` sums on the workers of a cluster; the weights are the same bits. With AdaGrad, take
            hundreds of sentences per `batch`, or the workers wait for each other. Not for AdaGrad with exact sums.

    After `fit`: `model_`; `history_`, a dict per iteration with objective, gradient (its norm), kept (labels per token,
    on average), seconds and (where measured) dev accuracy; and `objective_`, that of the model. AdaGrad's history has
    one per epoch, without gradient, the objective summed up while the weights were changing; over few labels, without
    the penalty, and with `missing`, a limit for what log Z may lack per token. The model then has the average of the
    weights over the whole training.

    """

    features: str | os.PathLike[str] | Features | None = "pos"
    l2: float | None = None
    l1: float = 0.0
    keep: Keep | str | None = None
    solver: str = "auto"
    max_iterations: int | None = None
    tolerance: float = 1e-5
    epochs: int = 10
    rate: float = 0.5
    batch: int = 8
    pairs: str = "touched"
    parts: str | None = None
    margin: float = 0.0
    start_on: float | None = None
    all_pairs: bool = False
    min_count: int = 1
    order: int = 1
    min_ngram_count: int = 1
    seed: int = 0
    decoder: str | Decoder = "auto"
    constraints: Constraints | str | int | list[Any] | None = None
    lists: Mapping[str, object] | None = None
    patience: int | None = None
    warm_start: bool | str | os.PathLike[str] | Model = False
    checkpoint: str | os.PathLike[str] | None = None
    threads: int = 1
    progress: bool | None = None
    cluster: Any = None

    _dense_edges = False
    """For comparisons: sums over the whole matrix of edges, one sentence at a time, as Pal et al. (2006) have it."""
    _needs_all = False
    """Whether what is learnt from are labels that are partly known, or sentences of unequal weights."""

    def fit(
        self,
        X: Sentences,
        y: Labels,
        dev: tuple[Sentences, Labels] | None = None,
        sample_weight: object = None,
    ) -> CRF:
        """Train on sentences X with labels y; dev, a pair like them, is measured now and then.

        A label of y may also be a set of labels, one of which is right, or None where nothing is known: then the
        probability of all labellings that are allowed is maximised. sample_weight: a number per sentence, by which its
        loss is multiplied; 2 is as good as the sentence twice.

        Ctrl-C ends training with the weights so far, and a warning; before the first iteration over the whole corpus
        (or epoch) is done, there is nothing to return.
        """
        check(X, y)
        self._train(Examples(X, y, checked_weights(sample_weight, len(X))), dev)
        return self

    def _train(self, examples: Examples, dev: tuple[Sentences, Labels] | None) -> None:
        self._needs_all = examples.weights is not None or examples.is_partial()
        self._check(dev)
        training = OnlineTraining if self._is_online else CrfTraining
        with running(self.cluster) as engine:
            training(self, examples, dev, engine).run()

    def _incremental_run(self, examples: GrowingExamples) -> OnlineTraining:
        self._needs_all = examples.is_partial()
        self._check(None)
        if not self._is_online:
            raise ValueError(
                "partial_fit is for AdaGrad over few labels, the default, and for labels that are all known; leave out "
                "what needs L-BFGS"
            )
        return OnlineTraining(self, examples, None)

    @property
    def _solver(self) -> str:
        """The solver that "auto" stands for."""
        if self.solver != "auto":
            return self.solver
        return (
            "lbfgs"
            if self._needs_all or any(getattr(self, name) != nothing for name, nothing in _OF_LBFGS.items())
            else "adagrad"
        )

    @property
    def _is_online(self) -> bool:
        """Whether sums are over few labels, and steps cost what they touch."""
        return self._solver == "adagrad" and self.keep != "all"

    def _check(self, dev: tuple[Sentences, Labels] | None) -> None:
        check_training(self, dev)
        check_order(self)
        for name in ("epochs", "batch", "min_count", "threads"):
            checks.at_least_one(name, getattr(self, name))
        if self.max_iterations is not None:
            checks.at_least_one("max_iterations", self.max_iterations)
        for name in ("l1", "l2", "tolerance", "rate", "margin"):
            if name != "l2" or self.l2 is not None:
                checks.not_negative(name, getattr(self, name))
        checks.one_of("solver", self.solver, ("auto", "lbfgs", "adagrad"))
        checks.one_of("pairs", self.pairs, ("touched", "observed"))
        if self._is_online and self._needs_all:
            raise ValueError(
                "labels that are partly known and sample_weight need sums over all labels: "
                "use solver='lbfgs', or keep='all' with solver='adagrad'"
            )
        check_separators(self.parts)
        check_cluster(self.cluster)
        self._check_solver()
        if self.keep not in (None, "all") and not isinstance(self.keep, Keep):
            raise ValueError(
                f"keep must be None, 'all', KeepDivergence(...), KeepSize(...) or KeepRatio(...), not {self.keep!r}"
            )
        start = 1 if self.start_on is None else self.start_on
        if not checks.is_number(start) or not 0 < start <= 1:
            raise ValueError(f"start_on must be a share above 0 and at most 1, not {checks.shown(start)}")
        plan(self.decoder)

    def _check_solver(self) -> None:
        """Refuse options that are for another solver."""
        if self.cluster is not None and self._solver == "adagrad" and not self._is_online:
            raise ValueError("cluster is for L-BFGS and for AdaGrad over few labels; leave out keep='all'")
        for name, nothing in (("parts", None), ("margin", 0)):
            if getattr(self, name) != nothing and not self._is_online:
                raise ValueError(f"{name} is for solver='adagrad' without keep='all'")
        if self._solver == "adagrad":
            for name in ("l1", "start_on", "max_iterations", *(["all_pairs"] if self._is_online else [])):
                if getattr(self, name) != _OF_LBFGS[name]:
                    raise ValueError(f"{name} is for solver='lbfgs'")
