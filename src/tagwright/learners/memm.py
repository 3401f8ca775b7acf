"""Maximum entropy Markov models that look back at several labels (Wang, Zong and Xue 2013, section 2)."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.constraints.constraints import Constraints
from tagwright.decoding.decoders import Decoder, plan
from tagwright.features.templates import LONGEST_HISTORY, Features
from tagwright.learners.crf_training import CrfTraining
from tagwright.learners.examples import Examples
from tagwright.learners.learner import Labels, Learner, Sentences, check
from tagwright.learners.options import CrfOptions, MemmOptions
from tagwright.learners.partial import checked_weights, known_labels
from tagwright.learners.training import check_training
from tagwright.models.file import Arrays
from tagwright.models.memm import MemmModel
from tagwright.models.model import Model
from tagwright.schemes import span_labels

__all__ = ["MEMM"]


@dataclass(repr=False, eq=False)
class MEMM(Learner):
    """A maxent Markov model: p(labels | sentence) is the product of p(y_i | x, y_1 .. y_i-1) (equations 2 and 3).

    Each factor is a maxent classifier that sees the words and the labels given to the tokens before. It is trained on
    right labels: the objective is the sum over tokens of -log p(y_i | x, right labels before), plus l2 times the
    squared weights. That is a CRF without edges whose tokens have features of the labels before them, and it is trained
    as one, by L-BFGS over sums in the core.

    Args:
        features: a preset's name, a template file, templates themselves (text or `Features`), or None for ready-made
            features. Templates may look at earlier labels: ``%y[-1]``, ``%y[-2]``, also beside other macros. Where none
            does, label n-grams of the history, and the label before with the word, are added. A plain ``B`` says
            nothing here.
        direction: "right" goes from the first token to the last, "left" from the last to the first: sentences and
            labels are reversed, and the answer is reversed back. "Before" then means to the right, in templates too.
        history: how many labels back it looks, from 1 to 4; templates of your own may look less far.
        beam: partial labellings that decoding holds (Algorithm 1).
        l2: weight of the squared penalty.
        dictionary: words met at least so often in training can only have the labels they were met with. None: all
            words may have all labels. The word is that of column 0.
        spans: where all labels are those of spans (B-NP, I-NP, O; also IOBES, BILOU, BMES) and the corpus keeps to
            their rules, answers do so too: no I-NP but behind B-NP or I-NP. False: never mind.
        max_iterations: of L-BFGS; None: until it has converged. Where they end it before, it warns with scikit-learn's
            `ConvergenceWarning`.
        tolerance: L-BFGS has converged when the last 10 iterations lowered the objective by less than this share.
        min_count: features on fewer tokens than this are left out.
        decoder: "auto" is the beam; with history=1 any other decoder, too.
        constraints: what labellings keep to when tagging, as for `CRF`. The probabilities that are trained are those of
            single labels, which no rule changes.
        lists: word lists for ``%in``: name -> entries or the path of a file.
        patience: with dev data, which is measured every 10 iterations: stop when so many measurements in a row were no
            better, and keep the best.
        warm_start: True goes on from this estimator's own model, a Model or its path from that one.
        checkpoint: a file that is written every 10 iterations. If it is there already, training goes on from it and
            ends with the weights it would have had. It can be loaded as a model.
        threads: for training and tagging; neither weights nor answers depend on it.
        progress: whether to show a bar; None: where standard error is a terminal. `logging` has lines in any case.

    After `fit`: `model_`; `history_`, a dict per iteration with objective, gradient (its norm), seconds and (where
    measured) dev accuracy; and `objective_`, that of the model.

    Differs from the paper, which trained with OpenNLP: L-BFGS with a squared penalty.

    """

    features: str | os.PathLike[str] | Features | None = "pos"
    direction: str = "right"
    history: int = 2
    beam: int = 20
    l2: float = 0.5
    dictionary: int | None = None
    spans: bool = True
    max_iterations: int | None = None
    tolerance: float = 1e-4
    min_count: int = 1
    decoder: str | Decoder = "auto"
    constraints: Constraints | str | int | list[Any] | None = None
    lists: Mapping[str, object] | None = None
    patience: int | None = None
    warm_start: bool | str | os.PathLike[str] | Model = False
    checkpoint: str | os.PathLike[str] | None = None
    threads: int = 1
    progress: bool | None = None

    def fit(
        self,
        X: Sentences,
        y: Labels,
        dev: tuple[Sentences, Labels] | None = None,
        sample_weight: object = None,
    ) -> MEMM:
        """Train on sentences X with labels y; dev, a pair like them, is measured now and then.

        Every label must be known, since the features of a token see those before it. sample_weight: a number per
        sentence, by which its loss is multiplied; 2 is as good as the sentence twice.

        Ctrl-C ends training with the weights so far, and a warning.
        """
        check(X, y)
        self._check(dev)
        y, partial = known_labels(y)
        if partial:
            raise ValueError(
                "a MEMM looks at the labels before a token, so each must be known: y holds sets of labels or None; "
                "train a CRF, a perceptron or an HMM, or leave these sentences out"
            )
        self._train(Examples(X, y, checked_weights(sample_weight, len(X))), dev)
        return self

    def _train(self, examples: Examples, dev: tuple[Sentences, Labels] | None) -> None:
        MemmTraining(self, examples, dev).run()

    def _check(self, dev: tuple[Sentences, Labels] | None) -> None:
        check_training(self, dev)
        for name in ("history", "beam", "min_count", "threads"):
            checks.at_least_one(name, getattr(self, name))
        if self.history > LONGEST_HISTORY:
            raise ValueError(f"history is {self.history}, but a model looks back at {LONGEST_HISTORY} labels at most")
        for name in ("max_iterations", "dictionary"):
            if getattr(self, name) is not None:
                checks.at_least_one(name, getattr(self, name))
        for name in ("l2", "tolerance"):
            checks.not_negative(name, getattr(self, name))
        checks.one_of("direction", self.direction, ("right", "left"))
        plan(self.decoder)


class MemmTraining(CrfTraining):
    """The training of a MEMM: that of a CRF without edges, whose features see the right labels before."""

    kind = "memm"
    makes = MemmModel

    def __init__(self, learner: MEMM, examples: Examples, dev: tuple[Sentences, Labels] | None) -> None:
        """Read the corpus; go on from an old model or a checkpoint where there is one."""
        self.leftward = learner.direction == "left"
        super().__init__(learner, examples, dev)

    def _features(self, first: object, old: Model | None) -> Features | None:
        if old is not None and not isinstance(old, MemmModel):
            raise ValueError("warm_start: the model is no MEMM, whose weights a memm could go on from")
        if old is not None and old.leftward != self.leftward:
            raise ValueError("warm_start: the model goes in the other direction")
        return super()._features(first, old)

    def make_options(self) -> CrfOptions:
        """Return what decides the weights, as the training of a CRF reads it."""
        self.own_options = MemmOptions.of(self.learner)
        return self.own_options.as_crf()

    def completed(self, features: Features) -> Features:
        """Return templates that look at labels."""
        return with_history(features, self.learner.history)

    def read_corpus(self) -> _core.Corpus:
        """Return the corpus in numbers, in the direction of the model."""
        changed: dict[str, Any] = {"label_names": self.labels}
        if self.leftward:
            changed["text"] = self.examples.text.reversed()
            changed["labels"] = reversed_labels(self.examples.ids, [len(labels) for labels in self.examples.y])
        if self.features is None:
            changed["templates"] = Features.restored(self._label_templates(), {}).core
        return self.examples.corpus(self, **changed)

    def make_trainer(self) -> _core.BatchObjective:
        """Return the core's trainer of the corpus."""
        # Here, where the labels are known.
        self.rules = bool(self.learner.spans) and self._keeps_to_rules()
        self.words = self._dictionary()
        return _core.BatchObjective.make(self.corpus, edges=False)

    def _label_templates(self) -> str:
        """Return templates for ready-made features, which have no text to look at."""
        return "".join(f"{line}\n" for line in history_templates(self.learner.history) if "%x" not in line)

    def _keeps_to_rules(self) -> bool:
        rules = span_labels(self.labels)
        if rules is None:
            return False
        ids = self.examples.ids
        ends = np.cumsum([len(labels) for labels in self.examples.y if len(labels)])
        first = np.concatenate([[0], ends[:-1]])
        inside = np.ones(len(ids), bool)
        inside[first] = False
        follows = rules.may_follow(ids[:-1], ids[1:])
        return bool(rules.start[ids[first]].all() and rules.stop[ids[ends - 1]].all()
                    and follows[inside[1:]].all())  # fmt: skip

    def _dictionary(self) -> Arrays:
        """Return the labels that each frequent word was met with."""
        least = self.learner.dictionary
        if least is None:
            return {}
        if self.features is None or not self.features.columns:
            raise ValueError("dictionary needs words, but the templates read no text; leave it out")
        met: defaultdict[str, Counter[int]] = defaultdict(Counter)
        tokens = (token if isinstance(token, str) else token[0] for sentence in self.examples.X for token in sentence)
        for word, label in zip(tokens, self.examples.ids.tolist(), strict=True):
            met[word][label] += 1
        words = [word for word, labels in met.items() if labels.total() >= least]
        rows = [sorted(met[word]) for word in words]
        arrays: Arrays = dict(
            zip(("dictionary.slots", "dictionary.ends", "dictionary.bytes"), _core.index_arrays(words), strict=True)
        )
        arrays["dictionary.end"] = np.cumsum([len(row) for row in rows], dtype=np.uint64)
        arrays["dictionary.label"] = np.array([label for row in rows for label in row], np.uint16)
        return arrays

    def more_arrays(self) -> Arrays:
        """Return the tag dictionary."""
        return {**super().more_arrays(), **self.words}

    def deciding(self) -> dict[str, Any]:
        """Return what decides the weights and the answers, beside the corpus and how long it is trained."""
        return asdict(self.own_options)

    def facts(self, after: int) -> dict[str, Any]:
        """Return what a model says about its training, and what it needs to tag."""
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
