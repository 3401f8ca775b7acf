"""Hidden Markov models: counted, with suffixes for unknown words (after TnT: Brants 2000), or by Baum-Welch."""

from __future__ import annotations

import itertools
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from tagwright import _core, checks
from tagwright.constraints.arrays import to_arrays
from tagwright.constraints.constraints import Constraints
from tagwright.decoding.decoders import Decoder
from tagwright.decoding.keep import Keep, keep_arguments
from tagwright.elementary import exp, log, log1p
from tagwright.features.templates import LONGEST_AFFIX, Features
from tagwright.learners.baum_welch import (
    LEAST_BACKOFF,
    LEAST_LABEL,
    WORD,
    BaumWelch,
    Corpus,
    Emissions,
    Transitions,
    label_names,
    names_of,
)
from tagwright.learners.constraining import training_constraints
from tagwright.learners.interrupts import stops
from tagwright.learners.labels import Known, LabelNumbers, Weights, checked_weights, known_labels, rank
from tagwright.learners.learner import Labels, Learner, Sentences
from tagwright.learners.options import check_options, documented, opt
from tagwright.learners.progress import Progress
from tagwright.models.facts import fact_in
from tagwright.models.file import Arrays
from tagwright.models.model import Model

Floats = npt.NDArray[np.float64]

_ITERATIONS = 200  # of EM from a random start
_ITERATIONS_FITTED = 10  # of EM from a fitted model
_FIRST_ITERATIONS = 10  # in which EM does not stop: from a random start it begins on a plateau
_MOST_ROUNDS = 10
_TOLERANCE = 1e-4  # of the log-likelihood: EM stops at a smaller rise
_LEAST_COUNT = 1e-3  # smaller expected counts are dropped, or every word would have every label
_UNLIKELY = 1e-4  # labels that are less likely than the best one by this factor are left out of a suffix's row
_NO_LABEL = 65_535  # pads a trigram to four labels
_NEVER = 1e-300  # stands for a count of 0 where its logarithm is taken


@documented
@dataclass(repr=False, eq=False)
class HMM(Learner):
    """A hidden Markov model of label bigrams or trigrams, its probabilities counted from labelled sentences.

    Transitions: p(j | i) = a * c(i, j) / c(i) + b * c(j) / n, where a + b = 1 come from deleted interpolation (each
    bigram votes for the estimate that would have predicted it better had it occurred once less; Brants 2000, eq. 4).
    Start and end of a sentence count as labels. The term of b depends on j alone, so it is part of the node scores:
    the edges are 0 except for observed pairs, and decoding costs what it costs for a perceptron.

    Known words: p(w | j) = c(w, j) / c(j), for the labels they occur with. Unknown words: p(j | suffix), smoothed
    from shorter suffixes to longer ones with the standard deviation of the labels' probabilities as weight, inverted
    by Bayes' rule; from words that occur at most `rare` times, separately for each kind of capitals (Brants 2000, 2.3).

    Scores are log probabilities, up to a constant for each unknown word. `fit_unlabelled` estimates the model from
    sentences without labels, or continues from a fitted one.

    {parameters}

    Notes
    -----
    Trigrams (order 2): p(k | i, j) = l1 * c(k) / n + l2 * c(j, k) / c(j) + l3 * c(i, j, k) / c(i, j), the three shares
    by deleted interpolation. The first two labels and the end of a sentence use bigrams. Observed trigrams are label
    n-grams of the model; scores then also lack a constant for each token from the third on.

    Deviations from TnT: bigrams by default, no trigram for the second label of a sentence, and labels that are 10,000
    times less likely than the best one are left out of a suffix's row.

    """

    suffix: int = opt("suffix")
    rare: int = opt("rare")
    column: int = opt("column")
    order: int = opt("order", choices=(1, 2), help="1 for bigrams of labels, 2 for trigrams.")
    constraints: Constraints | dict[str, Any] | str | int | list[Any] | None = opt("constraints")
    decoder: str | Decoder = opt("decoder")
    threads: int = opt("threads")

    def fit(self, X: Sentences, y: Labels, sample_weight: object = None) -> HMM:
        """Count labels, label pairs, and words and suffixes by label.

        Parameters
        ----------
        X : list of sentences
        y : list of lists of str
            A label may also be a set of labels, one of which is right, or None where nothing is known. Labels are then
            counted by their probabilities, given what is known of their sentence, and re-estimated until that changes
            little (expectation-maximisation; at most 10 times).
        sample_weight : array of float, optional
            How often each sentence counts.

        Returns
        -------
        HMM
            This estimator, with `model_`.

        """
        return self._fit(*self._checked(X, y), sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: object) -> HMM:
        self._check_options()
        _core.Text.from_rows(X, self.column + 1)  # raises for tokens that are not text
        weights = checked_weights(sample_weight, len(X))
        y = known_labels(y)
        partial, labels = y.partial, rank(y, (), weights)
        if weights is not None:
            # A label that only sentences of weight 0 have is not observed.
            positive = [s for s in range(len(X)) if weights[s] > 0]
            X, y, weights = [X[s] for s in positive], [y[s] for s in positive], weights[positive]
            labels = rank(y, (), weights)
        words = [[token if isinstance(token, str) else token[self.column] for token in tokens] for tokens in X]
        counted = first_counts(words, y, labels, weights)
        self._kept = to_arrays(training_constraints(self.constraints, None, X, y, labels))
        trigrams = None
        if self.order == 2:
            if partial:
                raise ValueError("order=2 counts labels that are all known; use order=1, or a Perceptron or CRF")
            trigrams = Trigrams.counted(y, labels, weights, counted)
        self.model_ = self._counted(labels, counted, len(X), trigrams)
        if partial:
            self.history_ = maximise(self, X, words, y, labels, weights, counted.tokens)
        return self

    def _counted(self, labels: list[str], counted: Counts, sentences: int, trigrams: Trigrams | None = None) -> Model:
        """Return the model that counts make."""
        transitions = interpolated(counted, None if trigrams is None else trigrams.of_single)
        rows = self._emissions(count_rows(counted.words, len(labels)), counted.frequency, transitions.backoff[:-1])
        facts = self._facts(sentences, counted.tokens) | {"backoff": transitions.facts()}
        more = getattr(self, "_kept", {}) | ({} if trigrams is None else trigrams.arrays(transitions))
        return Model(labels, self._templates(), transitions.arrays() | weight_arrays(rows) | more, facts)

    @checks.renamed(keep="pruning")
    def fit_unlabelled(
        self,
        X: Sentences,
        labels: int | Sequence[str] | None = None,
        iterations: int | None = None,
        tolerance: float = 1e-6,
        pruning: Keep | None = None,
        seed: int = 0,
        progress: bool | None = None,
    ) -> HMM:
        """Estimate the model from sentences without labels, by the EM algorithm of Baum and Welch (Baum et al. 1970).

        Every probability is re-estimated from expected counts: p(w | j), c(i, j) / c(i), c(j) / n, a and b. Whether a
        transition was drawn from the bigram or from the single label is hidden, as the labels are. So log p(X) never
        falls. Zeros stay zeros: a word never gets a label that it cannot have, and unobserved pairs are left to b.

        A fitted estimator, or one whose `model_` was loaded, warm-starts from its model; the counts behind that model
        are not used again. Unknown words start with the labels of their suffix. Words that X does not have keep their
        probabilities, and so do suffixes. This helps where there are few labelled sentences; where there are many, it
        often makes a tagger worse (Merialdo 1994). Measure on dev data.

        An estimator that is not fitted starts from random probabilities, every word with every label. It is up to you
        to interpret the labels; the first is the most frequent. Suffixes are estimated from expected counts. EM finds
        a local maximum: compare a few seeds by their last log-likelihood.

        Parameters
        ----------
        X : list of sentences
            Empty sentences do not count.
        labels : int or list of str, optional
            The number of labels (they are called L0, L1, ...), or their names. Not for a fitted estimator.
        iterations : int, optional
            The most iterations. By default 200 from a random start; 10 from a fitted model, where more of them move
            the labels away from what was annotated.
        tolerance : float, default=1e-6
            EM stops when log p(X) rose by less than this per token, in nats, but not in the first 10 iterations,
            where it may rest on a plateau. 0 runs all `iterations`.
        pruning : Keep, optional
            Sums exactly if None. `KeepDivergence`, `KeepSize` and `KeepRatio` sum over the labels that the pruning
            rule keeps: faster where there are many labels, but log p(X) is then that of the pruned lattices and may
            fall, and a label that is pruned on every token of a word is lost to that word.
        seed : int, default=0
            Of the random start.
        progress : bool, optional
            Whether to show a bar; by default if standard error is a terminal.

        Returns
        -------
        HMM
            This estimator, with `model_`, and `history_`: a dict per iteration with log_likelihood (of the model that
            the iteration started from), kept (labels per token, on average) and seconds. Ctrl-C returns the model so
            far, with a warning.

        Warns
        -----
        ConvergenceWarning
            If `iterations` ended it before `tolerance` was reached.

        Notes
        -----
        Deviations from the textbook: b lies between 0.001 and 0.999, and c(j) / n is at least 1e-9; the estimates are
        the best under these limits, so log p(X) does not fall. Unlike in `fit`, a and b maximise the likelihood of X
        itself, with nothing deleted or held out: b shrinks, the more so where X is small.

        """
        old: Model | None = getattr(self, "model_", None)
        names = self._names_for(old, labels)
        rule = keep_arguments(pruning)
        if iterations is not None:
            checks.at_least_one("iterations", iterations)
        checks.at_least_one("threads", self.threads)
        checks.not_negative("tolerance", tolerance)
        checks.seed(seed)
        most = iterations or (_ITERATIONS if old is None else _ITERATIONS_FITTED)
        run = self._start(X, old, len(names), seed)
        self.history_ = []
        converged = False
        progress_log = Progress("iteration", most, run.corpus.tokens, [], progress, self._side, name="HMM")
        try:
            with progress_log, stops() as check_stop:
                while not converged and len(self.history_) < most:
                    check_stop()
                    began = time.perf_counter()
                    log_likelihood, kept = run.step(rule, self.threads)
                    seconds = time.perf_counter() - began
                    self.history_.append({"log_likelihood": log_likelihood, "kept": kept, "seconds": seconds})
                    progress_log.step(self.history_[-1])
                    converged = _converged(self.history_, tolerance * run.corpus.tokens)
        except KeyboardInterrupt:
            if not self.history_:
                raise
            message = f"interrupted after {len(self.history_)} iterations; the model is that of the last one"
            warnings.warn(message, stacklevel=2)
        else:
            if not converged and tolerance > 0 and (old is None or iterations is not None):
                message = f"HMM: stopped after {most} iterations, before it converged; raise iterations or tolerance"
                warnings.warn(message, ConvergenceWarning, stacklevel=2)
        self.model_ = self._learnt(run, old, names)
        return self

    def _names_for(self, old: Model | None, labels: object) -> list[str]:
        """Return the names of the labels; check that the model is one to warm-start from."""
        if old is None:
            if self.order != 1:
                raise ValueError("fit_unlabelled is for order=1")
            if labels is None:
                raise NotFittedError(
                    "this HMM is not fitted yet; call fit(X, y) first, or say how many labels there are: labels=..."
                )
            self._check_options()
            names = label_names(labels)
            rank([names])  # raises for names that no file can hold
            return names
        if labels is not None:
            raise ValueError("labels is for an HMM that is not fitted; this one has the labels of its model")
        learner = fact_in(old.facts, object, "learner")
        if learner != "hmm":
            raise ValueError(f"the model is not an HMM (learner: {learner!r})")
        if fact_in(old.facts, object, "backoff") is None:
            raise ValueError("the model was made by an older tagwright, which did not note b; fit it again")
        if "ngrams.score" in old.arrays:
            raise ValueError("the model is of order 2, which fit_unlabelled cannot continue from; fit it with order=1")
        if not _is_usable(old):
            raise ValueError("the model's facts are not those of an HMM; get or train it again")
        return old.labels

    def _start(self, X: Sentences, old: Model | None, L: int, seed: int) -> BaumWelch:
        if old:
            column = int(old.facts["options"]["column"])
            corpus = Corpus.read(X, column)
            emissions, backoff = Emissions.for_corpus(old, corpus, column)
            return BaumWelch(corpus, Transitions.of(old, backoff), emissions)
        corpus = Corpus.read(X, self.column)
        rng = np.random.default_rng(seed)
        ends = corpus.not_empty / (corpus.not_empty + corpus.tokens)
        return BaumWelch(corpus, Transitions.at_random(L, ends, rng), Emissions.at_random(corpus, L, rng))

    def _learnt(self, run: BaumWelch, old: Model | None, names: list[str]) -> Model:
        """Return the model of the current estimates."""
        transitions, emissions, corpus = run.transitions, run.emissions, run.corpus
        size = {"sentences": len(corpus.sentences), "tokens": corpus.tokens}
        if old:
            features, facts = old.features, dict(old.facts)
            suffixes = [suffixes_of(old, transitions.backoff[:-1])]
        else:
            features, facts = self._templates(), self._facts(**size)
            expected = run.expected()
            frequency = run.by_label(expected.p)
            number = np.argsort(np.argsort(-frequency, kind="stable"))  # the most frequent label comes first
            transitions, emissions = transitions.renumbered(number), emissions.renumbered(number)
            count = _of_emissions(expected.renumbered(number), len(names))
            suffixes = self._suffixes(count, -np.sort(-frequency) / frequency.sum(), transitions.backoff[:-1])
        words = _of_emissions(emissions, len(names)).logs(transitions.backoff[:-1], WORD)
        facts["backoff"] = transitions.facts()
        facts["unlabelled"] = {**size, "iterations": len(self.history_)}
        facts["history"] = [dict(fact) for fact in self.history_]
        return Model(names, features, transitions.arrays() | weight_arrays([words, *suffixes]), facts)

    def _check_options(self) -> None:
        check_options(self)
        if self.suffix > LONGEST_AFFIX:
            raise ValueError(f"suffix is {self.suffix}, but templates read at most {LONGEST_AFFIX} characters")

    def _templates(self) -> Features:
        c = self.column
        suffixes = [f"U{n}:%suffix[0,{c},{n}]/%capital[0,{c}]" for n in range(self.suffix, 0, -1)]
        lines = [f"Uword:%x[0,{c}]", *suffixes, f"U0:/%capital[0,{c}]", "Uany:", "B"]
        return Features("\n".join(lines) + "\n")

    def _emissions(self, count: Rows, frequency: npt.NDArray[np.floating[Any]], plus: Floats) -> list[WeightRows]:
        """Return a row of log p(. | label) to every word and suffix, by the names that the templates give them.

        plus: added for each label.
        """
        words = count.logs(plus - log(np.maximum(frequency, _NEVER)), WORD)
        return [words, *self._suffixes(count, frequency / frequency.sum(), plus)]

    def _suffixes(self, count: Rows, prior: Floats, plus: Floats) -> list[WeightRows]:
        """Return a row for every suffix of the rare words; count: of the labels of each word, prior: of all labels."""
        rare = np.flatnonzero(np.round(count.totals()) <= self.rare)
        words = count.some(rare.tolist()) if len(rare) else count
        return suffix_rows(words, self._suffix_names(words.names), prior, plus)

    def _suffix_names(self, words: list[str]) -> list[list[str]]:
        """Return the suffix features of words, as the templates expand them, the longest first."""
        templates = self._templates()
        text = _core.Text.from_rows([[[""] * self.column + [word]] for word in words], templates.columns)
        return [templates.core.expand(text, s)[0][0][1:] for s in range(len(words))]

    def _facts(self, sentences: int, tokens: int) -> dict[str, Any]:
        from tagwright import __version__

        return {
            "learner": "hmm",
            "first_only": True,
            "options": {
                "suffix": int(self.suffix),
                "rare": int(self.rare),
                "column": int(self.column),
                **({} if self.order == 1 else {"order": int(self.order)}),
                "decoder": str(self.decoder),
            },
            "sentences": sentences,
            "tokens": tokens,
            "version": __version__,
        }


def _of_emissions(emissions: Emissions, L: int) -> Rows:
    """Return the rows of words by label, without zeros."""
    shape, ends = (len(emissions.words), L), np.concatenate([[0], emissions.end])
    numbers = csr_array((emissions.p, emissions.label, ends), shape)
    if not emissions.p.all():
        numbers = numbers.copy()  # which is changed in place
        numbers.eliminate_zeros()
    return Rows(emissions.words, numbers)


def _is_usable(model: Model) -> bool:
    """Return whether the facts of a model, which anyone may have written, can be those of an HMM."""
    try:
        share, border = (float(model.facts["backoff"][name]) for name in ("share", "border"))
    except (KeyError, TypeError, ValueError, OverflowError):
        return False
    column = fact_in(model.facts, int, "options", "column")
    complete = {"start", "stop"} <= model.arrays.keys() and bool(fact_in(model.facts, bool, "first_only"))
    valid = column is not None and 0 <= column < 2**31
    return complete and valid and 0 < share < 1 and -1e4 < border <= 0


def _converged(history: list[dict[str, float]], rise: float) -> bool:
    """Return whether the last iteration raised the log-likelihood by less than `rise`."""
    if len(history) < _FIRST_ITERATIONS:
        return False
    before, now = (fact["log_likelihood"] for fact in history[-2:])
    return now - before < rise


class Counts(NamedTuple):
    """Counts of words by label, and of label pairs."""

    words: Mapping[str, Mapping[int, float]]
    """[word][label]."""
    pairs: Mapping[int, float]
    """[previous * (L + 1) + current]; start and end of a sentence are label L."""
    frequency: Floats
    """[label]."""
    sentences: float
    """Not counting empty ones."""
    tokens: int
    """Without weights."""


def _weight(weights: Weights | None, s: int) -> float:
    return 1 if weights is None else float(weights[s])


def first_counts(
    words: Sequence[Sequence[str]], y: Sequence[Sequence[Known]], names: Sequence[str], weights: Weights | None
) -> Counts:
    """Return the counts of known labels; a set counts in equal shares, and a pair if both labels are known."""
    L = len(names)
    number = LabelNumbers(names)
    by_word: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(int))
    pairs: dict[int, float] = defaultdict(int)
    frequency = np.zeros(L)
    sentences: float = 0
    for s, (tokens, labels) in enumerate(zip(words, y, strict=True)):
        if not labels:
            continue
        weight = _weight(weights, s)
        sentences += weight
        ids = [number[label] if isinstance(label, str) else None for label in labels]
        for word, own, label in zip(tokens, ids, labels, strict=True):
            among = [own] if own is not None else sorted(number[name] for name in label or ())
            for j in among:
                share = weight if own is not None else weight / len(among)
                by_word[word][j] += share
                frequency[j] += share
        around = [L, *ids, L]
        for i, k in itertools.pairwise(around):
            if i is not None and k is not None:
                pairs[i * (L + 1) + k] += weight
    return Counts(by_word, pairs, frequency, sentences, sum(map(len, words)))


def maximise(
    learner: HMM,
    X: Sequence[Sequence[object]],
    words: Sequence[Sequence[str]],
    y: Sequence[Sequence[Known]],
    names: list[str],
    weights: Weights | None,
    tokens: int,
) -> list[dict[str, float]]:
    """Improve `model_` by expectation-maximisation over unknown labels; return the history.

    A round counts labels by their probabilities under the current model, given the allowed labels, and estimates a
    model from these counts. Deviation from the textbook: transitions are smoothed by deleted interpolation as in
    `HMM.fit`, and rare words by suffixes, so that the likelihood need not rise in every round.
    """
    number = LabelNumbers(names)
    partial = [s for s, labels in enumerate(y) if any(not isinstance(label, str) for label in labels)]
    complete = sorted({*range(len(y))} - {*partial})
    known = first_counts(
        [words[s] for s in complete],
        [y[s] for s in complete],
        names,
        None if weights is None else weights[complete],
    )
    history: list[dict[str, float]] = []
    for _ in range(_MOST_ROUNDS):
        began = time.perf_counter()
        found = _Expected(known, len(names), tokens)
        for s in partial:
            allowed = [
                None if label is None else [number[name] for name in ([label] if isinstance(label, str) else label)]
                for label in y[s]
            ]
            found.add(learner.model_, X[s], words[s], allowed, _weight(weights, s))
        learner.model_ = learner._counted(names, found.counts(), len(X))
        history.append({"log_likelihood": found.log_likelihood, "seconds": time.perf_counter() - began})
        if len(history) > 1:
            before, now = (fact["log_likelihood"] for fact in history[-2:])
            if now - before < _TOLERANCE * abs(now):
                break
    return history


class _Expected:
    """Expected counts."""

    def __init__(self, known: Counts, L: int, tokens: int) -> None:
        self.L, self.tokens = L, tokens
        self.words = defaultdict(lambda: np.zeros(L), {word: _dense(row, L) for word, row in known.words.items()})
        self.pairs = _dense(known.pairs, (L + 1) ** 2).reshape(L + 1, L + 1)
        self.sentences = known.sentences
        self.log_likelihood = 0.0

    def add(
        self,
        model: Any,
        sentence: Sequence[object],
        words: Sequence[str],
        allowed: Sequence[Sequence[int] | None],
        weight: float,
    ) -> None:
        """Add the expected counts of a sentence, given the labels that each token may have."""
        sums = model.lattice(sentence, allowed=allowed).marginals(with_edges=True)
        share, L = weight * sums.nodes, self.L
        for word, row in zip(words, share, strict=True):
            self.words[word] += row
        self.pairs[L, :L] += share[0]
        self.pairs[:L, L] += share[-1]
        if sums.edges is not None:
            self.pairs[:L, :L] += weight * sums.edges.sum(axis=0)
        self.sentences += weight
        self.log_likelihood += weight * sums.log_z

    def counts(self) -> Counts:
        """Return the counts that are not negligible."""
        by_word = {}
        for word, row in self.words.items():
            kept = np.flatnonzero(row >= min(_LEAST_COUNT, row.max()))
            by_word[word] = dict(zip(kept.tolist(), row[kept].tolist(), strict=True))
        flat = self.pairs.ravel()
        pairs = np.flatnonzero(flat >= _LEAST_COUNT)
        frequency = np.zeros(self.L)
        for counted in by_word.values():
            frequency[list(counted)] += list(counted.values())
        kept_pairs = dict(zip(pairs.tolist(), flat[pairs].tolist(), strict=True))
        return Counts(by_word, kept_pairs, frequency, self.sentences, self.tokens)


def _dense(counted: Mapping[int, float], size: int) -> npt.NDArray[np.float64]:
    made = np.zeros(size)
    for at, count in counted.items():
        made[at] = count
    return made


class WeightRows(NamedTuple):
    """Rows of weights as a model has them."""

    names: list[str]
    sizes: npt.NDArray[np.int64]
    label: npt.NDArray[np.uint16]
    weight: npt.NDArray[np.float32]


def weight_arrays(rows: Sequence[WeightRows]) -> Arrays:
    """Return the arrays of a model that has all these rows, in this order."""
    slots, ends, text = _core.index_arrays([name for own in rows for name in own.names])
    return {
        "names.slots": slots,
        "names.ends": ends,
        "names.bytes": text,
        "rows.end": np.cumsum(np.concatenate([own.sizes for own in rows]), dtype=np.uint64),
        "rows.label": np.concatenate([own.label for own in rows]),
        "rows.weight": np.concatenate([own.weight for own in rows]),
    }


class Rows(NamedTuple):
    """Counts or probabilities by word or suffix and label."""

    names: list[str]
    numbers: csr_array
    """(names, L)."""

    def logs(self, plus: Floats, before: str = "") -> WeightRows:
        """Return logarithms; plus: added for each label; before: prefix of the names."""
        own = self.numbers
        made = log(own.data)
        made += plus[own.indices]
        names = [before + name for name in self.names] if before else self.names
        return WeightRows(names, np.diff(own.indptr), own.indices.astype(np.uint16), made.astype(np.float32))

    def totals(self) -> Floats:
        """Return the sum of each row."""
        found: Floats = np.asarray(self.numbers.sum(axis=1), np.float64)
        return found

    def some(self, which: Sequence[int]) -> Rows:
        """Return some of the rows."""
        return Rows([self.names[n] for n in which], self.numbers[np.asarray(which, np.int64)])


def count_rows(counted: Mapping[str, Mapping[int, float]], L: int) -> Rows:
    """Return counts as rows."""
    label = [j for row in counted.values() for j in sorted(row)]
    count = [row[j] for row in counted.values() for j in sorted(row)]
    ends = np.cumsum([0, *map(len, counted.values())])
    numbers = csr_array((np.array(count, np.float64), np.array(label, np.int32), ends), (len(counted), L))
    return Rows(list(counted), numbers)


def suffix_rows(count: Rows, chains: Iterable[Sequence[str]], prior: Floats, plus: Floats) -> list[WeightRows]:
    """Return log p(suffix | label) up to a constant; shorter suffixes come first.

    count: of words by label; chains: for each word its suffixes, the longest first; prior: the probabilities of the
    labels; plus: added for each label.
    """
    number: dict[str, int] = {}
    shorter: list[int] = []  # [suffix]: the next shorter one, or -1
    depth: list[int] = []
    row, column = [], []
    for word, names in enumerate(chains):
        before = -1
        for name in reversed(names):
            if name not in number:
                number[name] = len(number)
                shorter.append(before)
                depth.append(depth[before] + 1 if before >= 0 else 0)
            before = number[name]
            row.append(before)
            column.append(word)
    has = csr_array((np.ones(len(row)), (row, column)), (len(number), len(count.names)))
    weight = float(prior.std(ddof=1)) if len(prior) > 1 else 0.0
    above, deep = np.array(shorter), np.array(depth)
    place = np.empty(len(number), np.int64)  # among those of the same depth
    likely, made, names = None, [], list(number)
    for level in range(deep.max(initial=-1) + 1):
        here = np.flatnonzero(deep == level)
        place[here] = np.arange(len(here))
        own = has[here] @ count.numbers
        own.data /= np.repeat(np.asarray(own.sum(axis=1)), np.diff(own.indptr))
        if likely is not None:
            own = (likely[place[above[here]]] * weight + own) * (1 / (1 + weight))
        likely = _without_unlikely(own)
        made.append(Rows([names[n] for n in here.tolist()], likely).logs(plus - log(prior)))
    return made


def _without_unlikely(rows: csr_array) -> csr_array:
    rows = rows.tocsr()
    rows.sort_indices()
    best = np.maximum.reduceat(rows.data, rows.indptr[:-1])  # every row has a label
    keep = rows.data >= _UNLIKELY * np.repeat(best, np.diff(rows.indptr))
    ends = np.concatenate([[0], np.cumsum(keep)])[rows.indptr]
    return csr_array((rows.data[keep], rows.indices[keep], ends), rows.shape)


def interpolated(counted: Counts, share: float | None = None) -> Transitions:
    """Return transitions by deleted interpolation of pairs and single labels; share: that of the latter, if known."""
    L = len(counted.frequency)
    pairs = np.array(sorted(counted.pairs), np.int64)
    count = np.array([counted.pairs[pair] for pair in pairs.tolist()], np.float64)
    i, j = pairs // (L + 1), pairs % (L + 1)
    unigram = np.append(counted.frequency, counted.sentences)
    total = unigram.sum()

    # 0 / 0 counts as 0.
    from_bigram = (count - 1) / np.maximum(unigram[i] - 1, 1)
    from_unigram = (unigram[j] - 1) / max(total - 1, 1)
    votes = float(count[from_bigram > from_unigram].sum())
    b = 1 - votes / (count.sum() or 1) if share is None else share
    b = min(max(b, LEAST_BACKOFF), 1 - LEAST_BACKOFF)
    # No label is rarer than `BaumWelch` lets labels become.
    single = np.maximum(b * unigram / total, b * LEAST_LABEL)
    return Transitions(b, log(single), i, j, (1 - b) * count / unigram[i])


def suffixes_of(model: Model, plus: Floats) -> WeightRows:
    """Return the rows of a model's suffixes with a new backoff, `plus`, in place of the model's."""
    _, backoff = Emissions.of(model)
    names = names_of(model)
    ends = np.concatenate([[0], model.arrays["rows.end"].astype(np.int64)])
    sizes = ends[1:] - ends[:-1]
    is_suffix = np.array([not name.startswith(WORD) for name in names], bool)
    entries = np.repeat(is_suffix, sizes)
    label, weight = model.arrays["rows.label"][entries], model.arrays["rows.weight"][entries]
    own = [name for name in names if not name.startswith(WORD)]
    return WeightRows(own, sizes[is_suffix], label, (weight + (plus - backoff)[label]).astype(np.float32))


@dataclass(frozen=True)
class Trigrams:
    """p(k | i, j) = l1 * p(k) + l2 * p(k | j) + l3 * p(k | i, j), the latter from counts; l1 + l2 + l3 = 1."""

    labels: npt.NDArray[np.int64]
    """(N, 3): the observed label trigrams, in order."""
    probability: npt.NDArray[np.float64]
    """(N,): c(i, j, k) / c(i, j)."""
    shares: tuple[float, float, float]
    """l1, l2 and l3."""

    @classmethod
    def counted(cls, y: Sequence[Sequence[str]], names: list[str], weights: Weights | None, pairs: Counts) -> Trigrams:
        """Count label trigrams; each votes for the estimate that predicts it best with one occurrence less."""
        number, L = LabelNumbers(names), len(names)
        observed: dict[tuple[int, ...], float] = defaultdict(float)
        for s, sentence in enumerate(y):
            ids = [number[label] for label in sentence]
            weight = _weight(weights, s)
            for own in zip(ids, ids[1:], ids[2:], strict=False):
                observed[own] += weight
        labels = np.array(sorted(observed), np.int64).reshape(-1, 3)
        count = np.array([observed[tuple(own)] for own in labels.tolist()], np.float64)
        i, j, k = labels.T
        of_pair = np.array([pairs.pairs[own] for own in (i * (L + 1) + j).tolist()], np.float64)
        behind = np.array([pairs.pairs[own] for own in (j * (L + 1) + k).tolist()], np.float64)
        single = np.append(pairs.frequency, pairs.sentences).astype(np.float64)
        # 0 / 0 counts as 0.
        votes = np.array(
            [
                (single[k] - 1) / max(single.sum() - 1, 1),
                (behind - 1) / np.maximum(single[j] - 1, 1),
                (count - 1) / np.maximum(of_pair - 1, 1),
            ]
        )
        voted = np.bincount(votes.argmax(axis=0), count, 3) if len(labels) else np.zeros(3)
        shares = np.maximum(voted / (voted.sum() or 1), LEAST_BACKOFF)
        shares /= shares.sum()
        return cls(labels, count / of_pair, (float(shares[0]), float(shares[1]), float(shares[2])))

    @property
    def of_single(self) -> float:
        """The share of single labels in the estimate from single labels and pairs."""
        return self.shares[0] / (self.shares[0] + self.shares[1])

    def arrays(self, transitions: Transitions) -> Arrays:
        """Return the label n-grams of a model: what trigrams add to transitions with the share `of_single`."""
        border = len(transitions.backoff)
        bigram = dict(
            zip(
                (transitions.previous * border + transitions.current).tolist(), transitions.bigram.tolist(), strict=True
            )
        )
        _, j, k = self.labels.T
        likely = np.array([bigram[pair] for pair in (j * border + k).tolist()]) + exp(transitions.backoff[k])
        score = log1p(self.shares[2] * self.probability / ((1 - self.shares[2]) * likely))
        padded = np.full((len(self.labels), 4), _NO_LABEL, np.uint16)
        padded[:, :3] = self.labels
        return {"ngrams.labels": padded.reshape(-1), "ngrams.score": score.astype(np.float32)}
