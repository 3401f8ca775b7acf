"""What every model can do: labels, k best labellings, probabilities, spans and samples, all under the same limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.cached import cached_property
from tagwright.constraints.allowed import AllowedLabels
from tagwright.constraints.constraints import Constraints
from tagwright.decoding.decode import Work, plan_of
from tagwright.decoding.decoders import Decoder, Plan, plan
from tagwright.decoding.keep import Keep
from tagwright.decoding.spans import Span, SpanReader
from tagwright.models.facts import fact_in, tokenizer_in
from tagwright.models.kinds import kind_of
from tagwright.models.limits import Limiter, Limits
from tagwright.models.native import Sentences
from tagwright.models.tagging import Lattice, Tagging, TagOptions, TagResult

Rules: TypeAlias = Constraints | str | None
"""Constraints of a call, or the name of a scheme."""
Lists: TypeAlias = Sequence[AllowedLabels | None] | None
"""Allowed labels of each sentence."""


class Tagger:
    """The part of a model that tags; `Model` is the part that is saved and read.

    Every method composes the limits of the model with those of the call (`models/limits.py`) before anything is
    computed, so that all of them describe the same labellings.
    """

    labels: list[str]
    facts: dict[str, Any]
    _constraints: Constraints | None
    lacks: ClassVar[Mapping[str, str]] = {}
    """Members that this kind of model does not have, each with an error message that names an alternative."""

    @property
    def columns(self) -> int:
        """Number of columns that a token must have; 0 for ready-made features."""
        return 0

    @property
    def probabilistic(self) -> bool:
        """Whether exp(score - log Z) is a probability that was trained to be one: true of CRFs and HMMs."""
        return kind_of(self.facts).probabilistic

    def has_probabilities(self, constraints: Rules = None) -> bool:
        """Return whether labellings have probabilities under the model's constraints and those of a call.

        They have none under rules about whole labellings, since sums cannot apply these.
        """
        own = self._limiter.compose(constraints)
        return self.probabilistic and (own is None or not own.limits_labellings)

    def need_probabilities(self) -> None:
        """Raise ValueError unless scores are log probabilities."""
        if not self.probabilistic:
            raise self._lacking("probabilities")

    def _lacking(self, member: str) -> ValueError:
        learner = fact_in(self.facts, str, "learner") or "model of unknown making"
        return ValueError(self.lacks[member].format(learner=learner))

    @property
    def constraints(self) -> Constraints | None:
        """The constraints that every labelling satisfies; None where the model has none of its own."""
        return self._constraints

    @cached_property
    def _limiter(self) -> Limiter:
        return Limiter(self.labels, self.constraints)

    def limits(self, X: Sentences, constraints: Rules = None, allowed: Lists = None) -> Limits:
        """Return what the model and a call together say about the labels of sentences."""
        return self._limiter.of(X, constraints, allowed)

    def _plan(self, options: TagOptions) -> Plan:
        """Return the plan of the decoder; ValueError for options that this model or the decoder does not have."""
        found = plan(options.decoder)
        if options.proba or options.spans is not None or found.row.maximises != "score":
            self.need_probabilities()
        plan_of(options.decoder, options.k, options.threads, options.deadline)
        return found

    @overload
    def tag(
        self, sentence: Sequence[object], decoder: str | Decoder = "auto", proba: Literal[False] = False, *,
        constraints: Rules = None, allowed: AllowedLabels | None = None,
    ) -> list[str]: ...  # fmt: skip
    @overload
    def tag(
        self, sentence: Sequence[object], decoder: str | Decoder = "auto", *, proba: Literal[True],
        constraints: Rules = None, allowed: AllowedLabels | None = None,
    ) -> list[tuple[str, float]]: ...  # fmt: skip

    def tag(
        self,
        sentence: Sequence[object],
        decoder: str | Decoder = "auto",
        proba: bool = False,
        *,
        constraints: Rules = None,
        allowed: AllowedLabels | None = None,
    ) -> list[str] | list[tuple[str, float]]:
        """Return the best label of each token of one sentence.

        Parameters
        ----------
        sentence
            Its tokens: words, rows of columns, or ready-made features.
        decoder
            A name of `tw.decoders()`, or a decoder with options.
        proba
            Whether each label comes with its probability.
        constraints
            Rules that the labelling must satisfy, beside those of the model: `tw.Constraints`, or the name of a scheme
            such as "BIO".
        allowed
            For each token the labels it may have, or None. A list replaces that of a tag dictionary.

        Returns
        -------
        list
            Labels; with `proba`, pairs of a label and its probability.

        Raises
        ------
        ValueError
            If `sentence` is not one sentence, no labelling satisfies the limits, or probabilities are requested from a
            model that has none.

        """
        options = TagOptions(1, decoder, proba=proba, proven=True)
        best = self._one(sentence, options, constraints, allowed).taggings[0]
        return best.labels if best.marginals is None else list(zip(best.labels, best.marginals, strict=True))

    def tag_batch(
        self,
        X: Sentences,
        decoder: str | Decoder = "auto",
        threads: int = 1,
        *,
        constraints: Rules = None,
        allowed: Lists = None,
    ) -> list[list[str]]:
        """Return the best labels of many sentences: one native call, `threads` threads over the sentences."""
        options = TagOptions(1, decoder, threads)
        chosen = self._plan(options)
        return self._best(X, chosen, options, self.limits(X, constraints, allowed))

    def tag_kbest(
        self,
        X: Sentences,
        k: int,
        decoder: str | Decoder = "auto",
        threads: int = 1,
        proba: bool = False,
        *,
        constraints: Rules = None,
        allowed: Lists = None,
    ) -> list[list[Tagging]]:
        """Return the k best labellings of each sentence, best first; fewer where there are no more.

        With `proba` each has its probability and those of its labels; ValueError if the model is not probabilistic.
        `constraints` and `allowed`, one list per sentence, are as for `tag`.
        """
        options = TagOptions(k, decoder, threads, proba, proven=True)
        return [found.taggings for found in self.tag_results(X, options, constraints, allowed)]

    def tag_results(
        self, X: Sentences, options: TagOptions, constraints: Rules = None, allowed: Lists = None
    ) -> list[TagResult]:
        """Return the k best labellings of each sentence, whether they are exact, the work, and requested spans."""
        chosen = self._plan(options)
        return self._results(X, chosen, options, self.limits(X, constraints, allowed))

    def spans(
        self,
        sentence: Sequence[object],
        k: int | None = None,
        decoder: str | Decoder = "auto",
        *,
        constraints: Rules = None,
        allowed: AllowedLabels | None = None,
    ) -> list[Span]:
        """Return the spans of a sentence's best labelling, or the k most probable spans of any, with probabilities.

        A span's probability is the sum over all labellings that have it, with this label and from its first token to
        its last, as for `tw.spans`; it is not the product of its tokens'. ValueError if the model is not probabilistic,
        or if its labels are not of spans. `constraints` and `allowed` are as for `tag`.
        """
        options = TagOptions(1, decoder, proba=True, spans=SpanReader.count(k))
        return self._one(sentence, options, constraints, allowed).spans or []

    def tag_spans(
        self,
        X: Sentences,
        k: int | None = None,
        decoder: str | Decoder = "auto",
        threads: int = 1,
        *,
        constraints: Rules = None,
        allowed: Lists = None,
    ) -> list[tuple[Tagging, list[Span]]]:
        """Return for each sentence its best labelling, with probabilities, and its spans as `spans` returns them."""
        options = TagOptions(1, decoder, threads, proba=True, spans=SpanReader.count(k))
        return [(own.taggings[0], own.spans or []) for own in self.tag_results(X, options, constraints, allowed)]

    @checks.renamed(keep="pruning")
    def marginals(
        self, X: Sentences, pruning: Keep | None = None, threads: int = 1, *, constraints: Rules = None,
        allowed: Lists = None,
    ) -> list[npt.NDArray[np.float32]]:  # fmt: skip
        """Return the probability of every label: one array (T, L) per sentence, label y being ``labels[y]``.

        pruning: the rule of sparse sums, as for `tw.marginals`; None for exact sums. `constraints` and `allowed`,
        one list per sentence, are as for `tag`.
        """
        self.need_probabilities()
        checks.at_least_one("threads", threads)
        return self._marginals(X, pruning, threads, self.limits(X, constraints, allowed))

    def sample(
        self, sentence: Sequence[object], n: int = 1, seed: int = 0, *, constraints: Rules = None,
        allowed: AllowedLabels | None = None,
    ) -> list[list[str]]:  # fmt: skip
        """Return n labellings of a sentence, drawn as `tw.sample` draws them; ValueError if not probabilistic."""
        self.need_probabilities()
        drawn = self.lattice(sentence, constraints=constraints, allowed=allowed).sample(n, seed)
        return [[self.labels[y] for y in own] for own in drawn.tolist()]

    def lattice(
        self, sentence: Sequence[object], *, constraints: Rules = None, allowed: AllowedLabels | None = None
    ) -> Lattice:
        """Return the scores of a sentence under all limits of the model and of the call, without decoding it.

        `constraints` and `allowed` are as for `tag`. ValueError if the model is not a lattice.
        """
        return self._lattice(*self._checked(sentence, constraints, allowed))

    def _checked(
        self, sentence: Sequence[object], constraints: Rules, allowed: AllowedLabels | None
    ) -> tuple[list[object], Limits]:
        """Return one sentence and its limits; ValueError if it is a batch of sentences by mistake."""
        if isinstance(sentence, str):
            raise ValueError("sentence 0 must be a list of tokens, not str; write text.split() for the words of a text")
        # A list is read by the core, which notices where it changes meanwhile.
        sentence, most = sentence if isinstance(sentence, list) else list(sentence), self._trained_columns()
        if most is not None:
            for t, token in enumerate(sentence):
                if type(token) in (list, tuple) and len(token) > most:
                    raise ValueError(
                        f"token {t} has {len(token)} columns, but the model was trained on tokens of {most}; "
                        "use tag_batch for a list of sentences"
                    )
        return sentence, self.limits([sentence], constraints, None if allowed is None else [allowed])

    def _trained_columns(self) -> int | None:
        """Return how many columns tokens had in training; None where that is not known, or they had features."""
        if self.columns == 0:
            return None
        return fact_in(self.facts, int, "columns") or (1 if self.columns == 1 and tokenizer_in(self.facts) else None)

    def _one(
        self, sentence: Sequence[object], options: TagOptions, constraints: Rules, allowed: AllowedLabels | None
    ) -> TagResult:
        chosen = self._plan(options)
        own, limits = self._checked(sentence, constraints, allowed)
        return self._results([own], chosen, options, limits)[0]

    # Implemented by each kind of model, with checked arguments.

    def _results(self, X: Sentences, chosen: Plan, options: TagOptions, limits: Limits) -> list[TagResult]:
        raise NotImplementedError

    def _best(self, X: Sentences, chosen: Plan, options: TagOptions, limits: Limits) -> list[list[str]]:
        """Return the best labels of each sentence."""
        return [found.taggings[0].labels for found in self._results(X, chosen, options, limits)]

    def _marginals(
        self, X: Sentences, pruning: Keep | None, threads: int, limits: Limits
    ) -> list[npt.NDArray[np.float32]]:
        raise self._lacking("probabilities")

    def _lattice(self, sentence: list[object], limits: Limits) -> Lattice:
        raise self._lacking("lattice")

    def _unpack(
        self,
        lengths: Sequence[int],
        labels: npt.NDArray[np.int32],
        scores: Sequence[float],
        work: Sequence[tuple[Any, ...]],
        log_z: npt.NDArray[np.float64] | None = None,
        marginals: npt.NDArray[np.float64] | None = None,
        spans: Sequence[list[Span]] | None = None,
    ) -> list[TagResult]:
        """Return the result of each sentence, given what the core lists for all sentences."""
        names = [self.labels[y] for y in labels.tolist()]
        shares = [] if marginals is None else marginals.tolist()
        made = []
        at = path = 0
        # Decoding may take no longer than this loop. A named tuple's own __new__ is Python code, a tuple's is not.
        new = tuple.__new__
        for s, (length, (count, rounds, nodes, edges, exact, gap)) in enumerate(zip(lengths, work, strict=True)):
            own = []
            for _ in range(count):
                more: tuple[Any, ...] = (None, None, None)
                if log_z is not None:
                    # Rounding may put a score that is all of Z slightly above it.
                    logarithm = min(scores[path] - float(log_z[s]), 0.0)
                    more = _core.exp(logarithm), shares[at : at + length], logarithm
                own.append(new(Tagging, (names[at : at + length], scores[path], *more)))
                at, path = at + length, path + 1
            done = new(Work, (rounds, nodes, edges))
            made.append(new(TagResult, (own, exact, gap, done, None if spans is None else spans[s])))
        return made
