"""Constraints on labellings: neighbouring, first and last labels, those of words, and rules about whole labellings."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Unpack

import numpy as np

from tagwright import _core, checks
from tagwright.constraints.counting import LIMIT, Accept, CountRule, RuleOptions, core_rules, count_rules, distinct
from tagwright.constraints.reading import (
    Ints,
    both_flags,
    checked_word,
    common_labels,
    label_flags,
    label_list,
    label_names,
    label_pairs,
    part_reader,
    read_words,
    word_arrays,
    word_of,
)  # fmt: skip
from tagwright.schemes import scheme_rule, split_label

__all__ = ["Constraints", "Rule"]


class Rule(NamedTuple):
    """A rule for pairs: label j may follow label i where ``entry[j]`` is -1, for any state, or ``exit[i]``."""

    name: str
    """For messages: "scheme BIO"."""
    entry: Ints
    """[label]: the state that must hold before it."""
    exit: Ints
    """[label]: the state after it."""


class Constraints:
    """Rules that every labelling must satisfy, for a set of labels.

    Accepted by `decode`, `marginals`, `Model.tag` and the learners. All rules must hold; ``c1 & c2`` combines the rules
    of both.

    Parameters
    ----------
    labels : iterable of str
        Names of all labels; label y has the y-th name.
    scheme : str, optional
        Scheme of span labels: "BIO", "IOB1", "IOBES" (or "BIOES"), "BILOU", "BMES" or "IO". In BIO, for example, I-X
        may only follow B-X or I-X.
    part : int, optional
        For joint labels such as ``NN|B-NP``, the index of the part to which the scheme applies.
    sep : str, default="|"
        Separator of the parts.
    scheme_of : callable, optional
        Maps the name of a label to the label that the scheme applies to, instead of `part`.
    forbid : iterable of (str, str), optional
        Pairs of labels (previous, current) that are not allowed.
    start, stop : iterable of str, optional
        Labels that may be the first and the last of a sentence; all by default.
    words : mapping from str to labels, or path, optional
        Tag dictionary: the labels that each word may have. In a file, each line has a word, a tab, and comma-separated
        labels.
    unknown : iterable of str, optional
        Labels that words outside of the dictionary may have; all by default.
    once : iterable of str, or True
        Span types of which a labelling has at most one span; if labels are not of spans, labels that form at most one
        contiguous run. True for all of them.
    at_most, at_least : mapping from str to int
        How many spans of a type, or runs of a label, a labelling has at most and at least. Spans are those of the
        scheme, or of labels such as B-PER if no scheme is given; a run is as long as possible.
    same : int, optional
        For joint labels such as ``book|B-city``, the index of a part that all labels of a sentence share.
    accept : callable, optional
        Predicate over a labelling, a list of names: only labellings for which it returns a true value are accepted. It
        is not saved with a model.
    limit : int, default=2000
        Searches per sentence, and labellings that `accept` rejects, until a result may be inexact: it then has a proven
        gap, or ValueError is raised where a result cannot have one.

    Raises
    ------
    ValueError
        For names that are not labels, or labels that are not of the scheme.

    Examples
    --------
    >>> import tagwright as tw
    >>> c = tw.Constraints(["O", "B-PER", "I-PER"], scheme="BIO")
    >>> edges = [[0, 0, 0], [0, 0, 0], [0, 0, 0]]
    >>> tw.decode([[1, 0, 0], [0, 0, 2]], edges, constraints=c).paths[0].labels.tolist()
    [1, 2]
    >>> c = tw.Constraints(["street", "city"], once=["street"])
    >>> tw.decode([[1, 0], [0, 1], [2, 0]], [[0, 0], [0, 0]], constraints=c).paths[0].labels.tolist()
    [0, 0, 0]

    """

    def __init__(
        self,
        labels: Iterable[str],
        scheme: str | None = None,
        *,
        part: int | None = None,
        sep: str = "|",
        scheme_of: Callable[[str], str] | None = None,
        forbid: Iterable[tuple[str, str]] = (),
        start: Iterable[str] | None = None,
        stop: Iterable[str] | None = None,
        words: Mapping[str, Iterable[str]] | str | os.PathLike[str] | None = None,
        unknown: Iterable[str] | None = None,
        **whole: Unpack[RuleOptions],
    ) -> None:
        """Check all names."""
        self.labels = label_names(labels)
        self.rules: list[Rule] = []
        spans: list[tuple[str, str]] | None = None
        if scheme is None and (part is not None or scheme_of is not None):
            raise ValueError("part and scheme_of select what a scheme applies to; give the scheme, too")
        if scheme is not None:
            if part is not None and scheme_of is not None:
                raise ValueError("part and scheme_of exclude each other")
            shown, read = part_reader(part, sep, scheme_of)
            parts = [read(label) for label in self.labels]
            name, rule, first, last = scheme_rule(scheme, parts, self.labels)
            spans = [part for part in map(split_label, parts) if part is not None]
            self.rules.append(Rule(f"scheme {name}{shown}", *rule))
            start_of_scheme, stop_of_scheme = first, last
        else:
            start_of_scheme = stop_of_scheme = None
        number = {name: y for y, name in enumerate(self.labels)}
        self.forbidden = label_pairs(forbid, number)
        self.start = both_flags(start_of_scheme, label_flags("start", start, number))
        self.stop = both_flags(stop_of_scheme, label_flags("stop", stop, number))
        self.words: dict[str, Ints] | None = None
        self.unknown: Ints | None = None
        if words is not None:
            given = read_words(words, number) if isinstance(words, str | os.PathLike) else words
            if not isinstance(given, Mapping):
                raise ValueError(f"words must be a dict from words to labels, or a path, not {checks.shown(words)}")
            self.words = {checked_word(word): label_list(f"words[{word!r}]", of, number) for word, of in given.items()}
        if unknown is not None:
            if words is None:
                raise ValueError("unknown is for words that are not in the dictionary; give words, too")
            self.unknown = label_list("unknown", unknown, number)
        self._add_whole(whole, spans, sep)
        self._core: _core.PairRules | None = None
        self._labelling: _core.LabellingRules | None = None
        self._lists: dict[str, list[int]] | None = None
        self._dictionary: _core.TagDictionary | None = None
        self._pairs: Constraints | None = None

    def _add_whole(self, whole: RuleOptions, spans: list[tuple[str, str]] | None, sep: str) -> None:
        """Read the rules about whole labellings."""
        wrong = next((name for name in whole if name not in RuleOptions.__annotations__), None)
        if wrong is not None:
            raise TypeError(f"Constraints() got an unexpected keyword argument {wrong!r}")
        if (same := whole.get("same")) is not None:
            # Neighbours that share a part are enough: a rule for pairs.
            shown, read = part_reader(same, sep, None)
            parts = [read(label) for label in self.labels]
            number = {name: n for n, name in enumerate(dict.fromkeys(parts))}
            states = np.array([number[part] for part in parts], np.int32)
            self.rules.append(Rule(f"same{shown}", states, states))
        self.counts: list[CountRule] = count_rules(self.labels, spans, whole)
        accept = whole.get("accept")
        if accept is not None and not callable(accept):
            raise ValueError(f"accept must be a function of a list of labels, not {checks.shown(accept)}")
        self.accept: list[Accept] = [] if accept is None else [accept]
        self.limit = whole.get("limit", LIMIT)
        checks.at_least_one("limit", self.limit)

    @classmethod
    def learnt(
        cls,
        X: Iterable[Sequence[Any]],
        y: Iterable[Sequence[str]],
        min_count: int = 5,
        *,
        column: int = 0,
        labels: Iterable[str] | None = None,
    ) -> Constraints:
        """Return the tag dictionary of a corpus: frequent words may have only the labels that they occur with.

        Parameters
        ----------
        X
            Sentences: lists of words, or of rows of columns.
        y
            The labels of their tokens.
        min_count
            How often a word must occur; all other words may have any label.
        column
            The column that holds the word.
        labels
            All labels, where there are more than those of y.

        Examples
        --------
        >>> import tagwright as tw
        >>> c = tw.Constraints.learnt([["the", "the", "a"]], [["DT", "DT", "DT"]], min_count=2, labels=["DT", "NN"])
        >>> c.allowed(["the", "dog"])
        [[0], None]

        """
        checks.at_least_one("min_count", min_count)
        checks.at_least_zero("column", column)
        count: Counter[str] = Counter()
        observed: defaultdict[str, set[str]] = defaultdict(set)
        open_words: set[str] = set()
        for s, (sentence, own) in enumerate(zip(X, y, strict=True)):
            if len(sentence) != len(own):
                raise ValueError(f"sentence {s} has {len(sentence)} tokens, but {len(own)} labels")
            for token, label in zip(sentence, own, strict=True):
                word = word_of(token, column)
                if isinstance(label, str):
                    count[word] += 1
                    observed[word].add(label)
                else:  # not known, or one of some: the word may have others
                    open_words.add(word)
        words = {word: sorted(observed[word]) for word, n in count.items() if n >= min_count and word not in open_words}
        every = sorted(set().union(*observed.values())) if labels is None else labels
        return cls(every, words=words)

    @classmethod
    def _of(cls, labels: list[str]) -> Constraints:
        made = cls.__new__(cls)
        made.labels = labels
        made.rules, made.forbidden = [], np.zeros((0, 2), np.int32)
        made.start = made.stop = made.words = made.unknown = None
        made.counts, made.accept, made.limit = [], [], LIMIT
        made._core = made._lists = made._pairs = made._dictionary = made._labelling = None
        return made

    def __and__(self, other: Constraints) -> Constraints:
        """Return constraints that are kept where both are. Labels are those of the first."""
        if not isinstance(other, Constraints):
            return NotImplemented
        other = other.for_labels(self.labels)
        made = self._of(self.labels)
        made.rules = self.rules + other.rules
        made.forbidden = np.unique(np.concatenate([self.forbidden, other.forbidden]), axis=0)
        made.start, made.stop = both_flags(self.start, other.start), both_flags(self.stop, other.stop)
        made.counts, made.accept = distinct([*self.counts, *other.counts]), [*self.accept, *other.accept]
        made.limit = max((one.limit for one in (self, other) if one.limits_labellings), default=LIMIT)
        if self.words is None or other.words is None:
            one = other if self.words is None else self
            made.words, made.unknown = one.words, one.unknown
            return made
        made.unknown = common_labels(self.unknown, other.unknown)
        made.words = {}
        for word in {**self.words, **other.words}:
            both = common_labels(self.list_of(word), other.list_of(word))
            if both is not None:
                made.words[word] = both
        return made

    def list_of(self, word: str) -> Ints | None:
        """Return the labels that the tag dictionary allows a word; None where it allows all."""
        return None if self.words is None else self.words.get(word, self.unknown)

    def without_words(self) -> Constraints:
        """Return the same without the tag dictionary."""
        if self._pairs is None:
            self._pairs = self._of(self.labels)
            self._pairs.rules, self._pairs.forbidden = self.rules, self.forbidden
            self._pairs.start, self._pairs.stop = self.start, self.stop
            self._pairs.counts, self._pairs.accept, self._pairs.limit = self.counts, self.accept, self.limit
        return self._pairs

    def for_labels(self, labels: Sequence[str]) -> Constraints:
        """Return the same for labels in another order, or for some of them.

        Raises
        ------
        ValueError
            For labels that the constraints do not know.

        """
        if list(labels) == self.labels:
            return self
        made = self._of(label_names(labels))
        number = {name: y for y, name in enumerate(self.labels)}
        unknown = next((name for name in made.labels if name not in number), None)
        if unknown is not None:
            raise ValueError(f"the constraints do not know the label {unknown!r}; name all labels when they are made")
        old = np.array([number[name] for name in made.labels], np.int64)
        new = np.full(len(self.labels), -1, np.int32)
        new[old] = np.arange(len(old), dtype=np.int32)
        made.rules = [Rule(rule.name, rule.entry[old], rule.exit[old]) for rule in self.rules]
        pairs = new[self.forbidden]
        made.forbidden = pairs[(pairs >= 0).all(axis=1)].astype(np.int32)
        made.start, made.stop = (None if own is None else own[old] for own in (self.start, self.stop))
        made.counts = [rule.for_labels(new) for rule in self.counts]
        made.accept, made.limit = self.accept, self.limit
        if self.words is not None:
            made.words = {word: np.sort(new[own][new[own] >= 0]) for word, own in self.words.items()}
        if self.unknown is not None:
            made.unknown = np.sort(new[self.unknown][new[self.unknown] >= 0])
        return made

    def allowed(self, words: Iterable[Any], column: int = 0) -> list[list[int] | None]:
        """Return the labels that the tag dictionary allows each token, as numbers; None where it allows all.

        Parameters
        ----------
        words
            A sentence: words, or rows of columns.
        column
            The column that holds the word.

        """
        lists = [self.list_of(word_of(token, column)) for token in words]
        for t, own in enumerate(lists):
            if own is not None and len(own) == 0:
                raise ValueError(f"token {t}: the tag dictionary leaves no label")
        return [None if own is None else own.tolist() for own in lists]

    def word_lists(self) -> tuple[dict[str, list[int]], list[int] | None]:
        """Return the tag dictionary as lists of numbers, and that of all other words; None where these may have all."""
        if self._lists is None:
            self._lists = {word: own.tolist() for word, own in (self.words or {}).items()}
        return self._lists, None if self.unknown is None else self.unknown.tolist()

    def dictionary(self) -> _core.TagDictionary | None:
        """Return the tag dictionary as the core takes it; None where there is none."""
        if self._dictionary is None and self.words is not None:
            unknown = np.zeros(0, np.int32) if self.unknown is None else self.unknown
            self._dictionary = _core.TagDictionary.make(len(self.labels), *word_arrays(self.words), unknown)
        return self._dictionary

    def may_follow(self, previous: str, current: str) -> bool:
        """Return whether one label may follow another."""
        i, j = (np.array([self._number(name)], np.int32) for name in (previous, current))
        return bool(self.core().may_follow(i, j)[0])

    def _number(self, name: str) -> int:
        try:
            return self.labels.index(name)
        except ValueError:
            raise ValueError(f"there is no label {name!r}") from None

    @property
    def limits_edges(self) -> bool:
        """Whether there are rules other than a tag dictionary."""
        pairs = bool(self.rules) or len(self.forbidden) > 0 or self.start is not None or self.stop is not None
        return pairs or self.limits_labellings

    @property
    def limits_labellings(self) -> bool:
        """Whether there are rules about whole labellings, which only decoders apply."""
        return bool(self.counts) or bool(self.accept)

    def core(self) -> _core.PairRules:
        """Return the rules for pairs, first and last labels as the core takes them."""
        if self._core is None:
            previous, current = (np.ascontiguousarray(self.forbidden[:, side]) for side in (0, 1))
            rules = [(rule.name, rule.entry, rule.exit) for rule in self.rules]
            self._core = _core.PairRules.make(len(self.labels), rules, previous, current, self.start, self.stop)
        return self._core

    def labelling_core(self) -> _core.LabellingRules | None:
        """Return the rules about whole labellings as the core takes them; None where there are none."""
        if self._labelling is None and self.limits_labellings:
            self._labelling = core_rules(self.labels, self.counts, self.accept, self.limit)
        return self._labelling

    def without_labelling_rules(self, what: str) -> Constraints:
        """Return self; ValueError where there are rules about whole labellings, which `what` cannot apply."""
        if self.limits_labellings:
            names = ", ".join([*(rule.name for rule in self.counts[:3]), *["accept"] * bool(self.accept)])
            raise ValueError(f"{what} cannot apply rules about whole labellings ({names}); leave them out")
        return self

    def __repr__(self) -> str:
        """Return a summary of the rules."""
        parts = [rule.name for rule in self.rules]
        parts += (
            [rule.name for rule in self.counts] if len(self.counts) < 4 else [f"{len(self.counts)} counts of spans"]
        )
        parts += ["accept"] * len(self.accept)
        if len(self.forbidden):
            parts.append(f"{len(self.forbidden)} forbidden pairs")
        parts += [name for name in ("start", "stop") if not self.rules and getattr(self, name) is not None]
        if self.words is not None:
            parts.append(f"a dictionary of {len(self.words)} words")
        return f"Constraints({len(self.labels)} labels; {', '.join(parts) or 'nothing'})"
