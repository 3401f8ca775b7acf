"""What every model can be asked: labels, the k best labellings, probabilities; each under constraints."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, overload

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.constraints.allowed import AllowedLabels
from tagwright.constraints.constraints import Constraints
from tagwright.decoding.decoders import Decoder, plan
from tagwright.decoding.keep import Keep
from tagwright.decoding.spans import Span
from tagwright.models.facts import fact_in
from tagwright.models.kinds import kind_of
from tagwright.models.limits import Limiter, Limits
from tagwright.models.native import Sentences
from tagwright.models.tagging import Tagging

__all__ = ["Tagger"]


class Tagger:
    """The part of a model that answers; `Model` is the part that keeps and is kept."""

    labels: list[str]
    facts: dict[str, Any]
    _constraints: Constraints | None
    lacks: ClassVar[Mapping[str, str]] = {}
    """Members that this kind of model does not have, each with the error that says what to ask instead."""

    @property
    def probabilistic(self) -> bool:
        """Whether exp(score - log Z) is a probability that was trained to be one: true of CRFs and HMMs."""
        return kind_of(self.facts).probabilistic

    def need_probabilities(self) -> None:
        """Raise ValueError unless scores are log probabilities."""
        if not self.probabilistic:
            raise self._lacking("probabilities")

    def _lacking(self, member: str) -> ValueError:
        learner = fact_in(self.facts, str, "learner") or "model of unknown making"
        return ValueError(self.lacks[member].format(learner=learner))

    @overload
    def tag(
        self,
        sentence: Sequence[object],
        decoder: str | Decoder = "auto",
        proba: Literal[False] = False,
        *,
        constraints: Constraints | str | None = None,
        allowed: AllowedLabels | None = None,
    ) -> list[str]: ...
    @overload
    def tag(
        self,
        sentence: Sequence[object],
        decoder: str | Decoder = "auto",
        *,
        proba: Literal[True],
        constraints: Constraints | str | None = None,
        allowed: AllowedLabels | None = None,
    ) -> list[tuple[str, float]]: ...

    def tag(
        self,
        sentence: Sequence[object],
        decoder: str | Decoder = "auto",
        proba: bool = False,
        *,
        constraints: Constraints | str | None = None,
        allowed: AllowedLabels | None = None,
    ) -> list[str] | list[tuple[str, float]]:
        """Return the best label of each token of one sentence; with `proba`, pairs of a label and its probability.

        Args:
            sentence: its tokens.
            decoder: a name of `tw.decoders()`, or a decoder with options.
            proba: whether each label comes with its probability.
            constraints: rules that the labelling must keep to, beside those of the model: `tw.Constraints`, or the name
                of a scheme such as "BIO".
            allowed: for each token the labels it may have, or None. Where there are some, they count in place of those
                of a tag dictionary.

        """
        lists = None if allowed is None else [allowed]
        best = self.tag_kbest([sentence], 1, decoder, proba=proba, constraints=constraints, allowed=lists)[0][0]
        return best.labels if best.marginals is None else list(zip(best.labels, best.marginals, strict=True))

    def tag_batch(
        self,
        X: Sentences,
        decoder: str | Decoder = "auto",
        threads: int = 1,
        *,
        constraints: Constraints | str | None = None,
        allowed: Sequence[AllowedLabels | None] | None = None,
    ) -> list[list[str]]:
        """Return the best labels of many sentences: one native call, `threads` threads over the sentences."""
        if constraints is None and allowed is None and self.constraints is None:
            checks.at_least_one("threads", threads)
            return self._best(X, decoder, threads)
        found = self.tag_kbest(X, 1, decoder, threads, constraints=constraints, allowed=allowed)
        return [own[0].labels for own in found]

    def _best(self, X: Sentences, decoder: str | Decoder, threads: int) -> list[list[str]]:
        """Return the best labels of sentences that nothing limits."""
        return [found[0].labels for found in self._kbest(X, 1, decoder, threads, False, Limits(None, None))]

    def tag_kbest(
        self,
        X: Sentences,
        k: int,
        decoder: str | Decoder = "auto",
        threads: int = 1,
        proba: bool = False,
        *,
        constraints: Constraints | str | None = None,
        allowed: Sequence[AllowedLabels | None] | None = None,
    ) -> list[list[Tagging]]:
        """Return the k best labellings of each sentence, best first; fewer where there are no more.

        With `proba` each has its probability and those of its labels; ValueError if the model is not probabilistic.
        `constraints` and `allowed`, one list per sentence, are as for `tag`.
        """
        if proba or plan(decoder).row.maximises != "score":
            self.need_probabilities()
        checks.at_least_one("k", k)
        checks.at_least_one("threads", threads)
        return self._kbest(X, k, decoder, threads, proba, self._limiter.of(X, constraints, allowed))

    def _kbest(
        self, X: Sentences, k: int, decoder: str | Decoder, threads: int, proba: bool, limits: Limits
    ) -> list[list[Tagging]]:
        raise NotImplementedError

    @property
    def constraints(self) -> Constraints | None:
        """What every labelling keeps to; None where the model has no constraints of its own."""
        return self._constraints

    @cached_property
    def _limiter(self) -> Limiter:
        return Limiter(self.labels, self.constraints)

    def _taggings(
        self,
        text: _core.Text,
        found: tuple[npt.NDArray[np.int32], Sequence[float], Sequence[tuple[Any, ...]]],
        log_probabilities: Sequence[float] = (),
        marginals: Sequence[float] = (),
    ) -> list[list[Tagging]]:
        """Return the labellings of each sentence, given labels, scores and work as the core lists them for all."""
        labels, scores, work = found
        names = [self.labels[y] for y in labels.tolist()]
        made = []
        at = path = 0
        for length, counts in zip(text.lengths().tolist(), work, strict=True):
            own = []
            for _ in range(counts[0]):
                one = Tagging(names[at : at + length], scores[path])
                if log_probabilities:
                    share = math.exp(log_probabilities[path])
                    one = Tagging(*one[:2], share, list(marginals[at : at + length]), log_probabilities[path])
                own.append(one)
                at, path = at + length, path + 1
            made.append(own)
        return made

    def marginals(
        self,
        X: Sentences,
        keep: Keep | None = None,
        threads: int = 1,
        *,
        constraints: Constraints | str | None = None,
        allowed: Sequence[AllowedLabels | None] | None = None,
    ) -> list[npt.NDArray[np.float32]]:
        """Return the probability of every label: one array (T, L) per sentence, label y being ``labels[y]``.

        keep: a rule for sparse sums, as for `tw.marginals`; None for exact ones. `constraints` and `allowed`, one list
        per sentence, are as for `tag`.
        """
        raise self._lacking("probabilities")

    def spans(
        self,
        sentence: Sequence[object],
        k: int | None = None,
        decoder: str | Decoder = "auto",
        *,
        constraints: Constraints | str | None = None,
        allowed: AllowedLabels | None = None,
    ) -> list[Span]:
        """Return the spans of a sentence's best labelling, or the k most probable spans of any, with probabilities.

        A span's probability is the sum over all labellings that have it, with this label and from its first token to
        its last, as for `tw.spans`; it is not the product of its tokens'. ValueError if the model is not probabilistic,
        or if its labels are not of spans. `constraints` and `allowed` are as for `tag`.
        """
        lists = None if allowed is None else [allowed]
        return self.tag_spans([sentence], k, decoder, constraints=constraints, allowed=lists)[0][1]

    def tag_spans(
        self,
        X: Sentences,
        k: int | None = None,
        decoder: str | Decoder = "auto",
        threads: int = 1,
        *,
        constraints: Constraints | str | None = None,
        allowed: Sequence[AllowedLabels | None] | None = None,
    ) -> list[tuple[Tagging, list[Span]]]:
        """Return for each sentence its best labelling, with probabilities, and what `spans` returns of it."""
        raise self._lacking("probabilities")

    def sample(
        self,
        sentence: Sequence[object],
        n: int = 1,
        seed: int = 0,
        *,
        constraints: Constraints | str | None = None,
        allowed: AllowedLabels | None = None,
    ) -> list[list[str]]:
        """Return n labellings of a sentence, drawn as `tw.sample` draws them; ValueError if not probabilistic."""
        raise self._lacking("probabilities")
