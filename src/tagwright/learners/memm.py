"""Maximum entropy Markov models that look back at several labels (Wang, Zong and Xue 2013, section 2)."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tagwright import _core
from tagwright.constraints.arrays import SOFT, to_arrays
from tagwright.constraints.constraints import Constraints
from tagwright.decoding.decoders import Decoder
from tagwright.features.templates import Features
from tagwright.learners.batch import BatchTraining
from tagwright.learners.examples import Examples
from tagwright.learners.labels import checked_weights, known_labels
from tagwright.learners.learner import Dev, Labels, Learner, RunOptions, Sentences, check_dev
from tagwright.learners.options import (
    LBFGS,
    check_options,
    deprecated,
    documented,
    opt,
    refuse,
    solver_of,
    warn_renamed,
)
from tagwright.learners.training import check_run
from tagwright.models.file import Arrays
from tagwright.models.memm import MemmModel
from tagwright.models.model import Model
from tagwright.schemes import span_labels

_OF_LBFGS = ("l2", "max_iterations", "tolerance")


@documented
@deprecated("lists", "checkpoint", "progress", *_OF_LBFGS)
@dataclass(repr=False, eq=False)
class MEMM(Learner):
    """A maxent Markov model: p(labels | sentence) is the product of p(y_i | x, y_1 .. y_i-1) (equations 2 and 3).

    Each factor is a maxent classifier whose features are the words and the preceding labels. It is trained on right
    labels: the objective is the sum over tokens of -log p(y_i | x, right labels before), plus l2 times the squared
    weights. That is a CRF without edges whose tokens have features of the preceding labels, and it is trained as one,
    by L-BFGS over sums in the core. The paper trained with OpenNLP.

    {parameters}

    Attributes
    ----------
    model_ : Model
        The fitted model.
    history_ : list of dict
        Per iteration: objective, gradient (its norm), seconds and (every 10) dev accuracy.
    objective_ : float
        That of the model.
    """

    features: str | os.PathLike[str] | Features | None = opt(
        "features",
        help="A preset's name, a template file, templates (text or `tw.Features`), or None for ready-made features. "
        "Templates may read earlier labels: ``%y[-1]``, ``%y[-2]``, also with other macros. Where none does, label "
        "n-grams of the history, and the preceding label with the word, are added. A plain ``B`` has no effect.",
    )
    _: KW_ONLY
    direction: str = opt("direction")
    history: int = opt("history")
    beam: int = opt("beam")
    solver: str | LBFGS = opt(
        "solver", default="lbfgs", help='"lbfgs", or `tw.LBFGS(...)` with its options.', decides=False
    )
    dictionary: int | None = opt("dictionary")
    spans: bool = opt("spans")
    min_count: int = opt("min_count")
    constraints: Constraints | dict[str, Any] | str | int | list[Any] | None = opt(
        "constraints",
        help="What labellings keep to when tagging, as for `CRF`. The probabilities that are trained are those of "
        "single labels, which no rule changes.",
    )
    patience: int | None = opt("patience")
    decoder: str | Decoder = opt("decoder", help='"auto" is the beam; with history=1 any other decoder, too.')
    warm_start: bool | str | os.PathLike[str] | Model = opt("warm_start")
    threads: int = opt("threads")

    _solvers = ("lbfgs",)

    def fit(
        self,
        X: Sentences,
        y: Labels,
        dev: Dev | None = None,
        sample_weight: object = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
    ) -> Self:
        """Train on labelled sentences; every label must be known.

        Ctrl-C ends training with the weights so far, and a warning.

        Parameters
        ----------
        X, y
            Sentences and their labels.
        dev : pair (X_dev, y_dev), optional
            Measured every 10 iterations.
        sample_weight : array of numbers, optional
            A weight per sentence, by which its loss is multiplied; 2 equals the sentence twice.
        checkpoint, progress
            As for `CRF.fit`.
        """
        check_dev(dev, sample_weight)
        sentences, labels = self._checked(X, y)
        run = self._run_options(dev=dev, checkpoint=checkpoint, progress=progress)
        self._check(run)
        labels = known_labels(labels)
        if labels.partial:
            refuse("memm", "partial labels")
        self._train(Examples(sentences, labels, checked_weights(sample_weight, len(sentences))), run)
        return self

    def _train(self, examples: Examples, run: RunOptions) -> None:
        MemmTraining(self, examples, run).run()

    def _check(self, run: RunOptions) -> None:
        check_options(self)
        solver_of(self)
        check_run(self, run)

    def _take_old(self, old: dict[str, Any], given: frozenset[str]) -> None:
        super()._take_old(old, given)
        if old:
            self.solver = LBFGS(**old)
            shown = ", ".join(f"{name}={value!r}" for name, value in old.items())
            warn_renamed(type(self), shown, f"solver=tw.LBFGS({shown})")


class MemmTraining(BatchTraining):
    """The training of a MEMM: that of a CRF without edges, with features of the right labels before a token."""

    kind = "memm"
    makes = MemmModel
    defaults = {"l2": 0.5, "tolerance": 1e-4}  # noqa: RUF012

    def __init__(self, learner: MEMM, examples: Examples, run: RunOptions | None = None) -> None:
        self.leftward = learner.direction == "left"
        super().__init__(learner, examples, run)

    def _features(self, first: object, old: Model | None) -> Features | None:
        if old is not None and not isinstance(old, MemmModel):
            raise ValueError("warm_start: the model is not a MEMM, which alone has weights a MEMM can start from")
        if old is not None and old.leftward != self.leftward:
            raise ValueError("warm_start: the model has the other direction")
        return super()._features(first, old)

    def completed(self, features: Features) -> Features:
        """Return templates that read labels."""
        return with_history(features, self.learner.history)

    def read_constraints(self) -> Any:
        """Return the constraints, after a check that a search over label histories can apply them."""
        made = super().read_constraints()
        return None if made is None else made.without_labelling_rules("a MEMM")

    def read_corpus(self) -> _core.Corpus:
        """Return the encoded corpus, in the direction of the model."""
        changed: dict[str, Any] = {}
        if self.leftward:
            changed["text"] = self.examples.text.reversed()
            changed["labels"] = reversed_labels(self.examples.ids, self.examples.y.lengths)
        if self.features is None:
            changed["templates"] = Features.restored(self._label_templates(), {}).core
        return self.examples.corpus(self, **changed)

    def make_trainer(self) -> _core.BatchObjective:
        """Return the core's trainer of the corpus."""
        # Here, where the labels are known.
        self.rules = bool(self.learner.spans) and self._keeps_to_rules()
        self.words = self._dictionary()
        return _core.BatchObjective.make(self.corpus, edges=False, all_pairs=self.solver.pairs == "all")

    def _label_templates(self) -> str:
        """Return templates for ready-made features, which have no text."""
        return "".join(f"{line}\n" for line in history_templates(self.learner.history) if "%x" not in line)

    def _keeps_to_rules(self) -> bool:
        rules = span_labels(self.labels)
        if rules is None:
            return False
        ids = self.examples.ids
        ends = np.cumsum([length for length in self.examples.y.lengths if length])
        first = np.concatenate([[0], ends[:-1]])
        inside = np.ones(len(ids), bool)
        inside[first] = False
        follows = rules.may_follow(ids[:-1], ids[1:])
        return bool(rules.start[ids[first]].all() and rules.stop[ids[ends - 1]].all()
                    and follows[inside[1:]].all())  # fmt: skip

    def _dictionary(self) -> Constraints | None:
        """Return the tag dictionary of the frequent words of the corpus."""
        least = self.learner.dictionary
        if least is None:
            return None
        if self.features is None or not self.features.columns:
            raise ValueError("dictionary needs words, but the templates read no text; leave it out")
        return Constraints.learnt(self.examples.X, self.examples.y, least, labels=self.labels)

    def more_arrays(self) -> Arrays:
        """Return the constraints, those of the tag dictionary among them."""
        return {**super().more_arrays(), **to_arrays(self.words, SOFT)}

    def facts(self, after: int) -> dict[str, Any]:
        """Return the facts of a model: its training, and options that tagging needs."""
        learner = self.learner
        own = {"direction": learner.direction, "beam": int(learner.beam), "spans": self.rules}
        if self.features is None:
            own["templates"] = self._label_templates()
        return {**super().facts(after), "memm": own}


def history_templates(history: int) -> list[str]:
    """Return templates for the labels before: n-grams up to the history's length, and the nearest with the word."""
    grams = ["/".join(f"%y[-{back}]" for back in range(n, 0, -1)) for n in range(1, history + 1)]
    return [f"UY{n}:{gram}" for n, gram in enumerate(grams, 1)] + [
        "UYW:%y[-1]/%x[0,0]",
        *(["UYV:%y[-2]/%y[-1]/%x[0,0]"] if history > 1 else []),
    ]


def with_history(given: Features, history: int) -> Features:
    """Return templates that look at labels: those given, if they do, or with more of them."""
    if any(one.edge for one in given.templates):
        raise ValueError("a MEMM has no edges for B templates with macros; write U..:%y[-1]/%x[0,0] instead")
    if given.history > history:
        raise ValueError(f"the templates look back at {given.history} labels, but history is {history}; raise it")
    if given.history:
        return given
    lines = history_templates(history)
    if not given.columns:
        lines = [line for line in lines if "%x" not in line]
    made = Features(given.text.rstrip("\n") + "\n" + "\n".join(lines) + "\n", given.lists, given.finds)
    made.name = given.name
    return made


def reversed_labels(labels: npt.NDArray[np.int32], lengths: list[int]) -> npt.NDArray[np.int32]:
    """Return the labels of all tokens, those of each sentence from its last to its first."""
    parts = [part[::-1] for part in np.split(labels, np.cumsum(lengths)[:-1])] if lengths else []
    return np.concatenate(parts) if parts else labels
