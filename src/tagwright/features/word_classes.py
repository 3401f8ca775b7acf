"""Classes of words from text without labels, for ``%class`` in templates."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tqdm import tqdm

from tagwright import _core, checks

__all__ = ["word_classes"]

HEADER = "word\tclass\tcount"
"""The first line of a file of word classes."""

_STALLED = 1e-3
"""A sweep is the last one if it moves a smaller share of the words."""

log = logging.getLogger("tagwright")


class Induction(NamedTuple):
    """How classes are induced: the options of `word_classes`."""

    sizes: Sequence[int] = (64, 256, 1024)
    min_count: int = 3
    sweeps: int = 15
    threads: int = 1
    seed: int = 0

    def checked(self) -> Induction:
        """Return the same with the sizes in rising order; ValueError for what it cannot be."""
        sizes = self.sizes
        if not isinstance(sizes, Iterable) or isinstance(sizes, str):
            raise ValueError(f"sizes must be numbers of classes, not {checks.shown(sizes)}")
        for size in (sizes := list(sizes)) or [0]:
            checks.at_least_one("sizes", size)
            if size > _core.most_word_classes:
                raise ValueError(f"sizes must be at most {_core.most_word_classes:,}, not {size:,}")
        for name in ("min_count", "sweeps", "threads"):
            checks.at_least_one(name, getattr(self, name))
        checks.seed(self.seed)
        return self._replace(sizes=sorted(set(sizes)), seed=self.seed % 2**64)

    def lines(self, counter: _core.BigramCounter, progress: bool | None = None) -> list[str]:
        """Return the lines of a file of word classes."""
        if not counter.tokens:
            raise ValueError("the text has no tokens")
        text = counter.bigrams(self.min_count)
        finest = min(self.sizes[-1], len(text.words))
        classes = _core.WordClasses.make(text, finest, self.seed)
        log.info("%s tokens, %s words in %s classes", f"{text.tokens:,}", f"{len(text.words):,}", f"{finest:,}")
        with tqdm(
            total=self.sweeps, desc="classes", unit="sweep", disable=None if progress is None else not progress
        ) as bar:
            for n in range(1, self.sweeps + 1):
                moved = classes.sweep(self.threads)
                bar.update()
                bar.set_postfix_str(f"{moved:,} words moved")
                log.debug("sweep %d: %s words moved, objective %.6g", n, f"{moved:,}", classes.objective)
                if moved <= _STALLED * len(text.words):
                    break
        paths = classes.paths([size for size in self.sizes if size < finest] + [finest], self.threads)
        rows = zip(paths, text.counts, text.words, strict=True)
        order = sorted(rows, key=lambda row: (_numbers(row[0]), -row[1], row[2]))
        return [HEADER, *(f"{word}\t{path}\t{count}" for path, count, word in order)]


def _numbers(path: str) -> list[int]:
    return [int(part) for part in path.split(".")]


def word_classes(
    sentences: Iterable[Sequence[str]],
    sizes: Sequence[int] = (64, 256, 1024),
    *,
    min_count: int = 3,
    keep_case: bool = False,
    sweeps: int = 15,
    threads: int = 1,
    seed: int = 0,
    progress: bool | None = None,
) -> list[str]:
    """Return classes of words that occur in similar contexts, for ``%class`` in templates.

    Words are exchanged between classes while that raises the likelihood of a bigram model of the classes (Martin,
    Liermann and Ney 1998), which are then merged by mutual information (Brown et al. 1992).

    Parameters
    ----------
    sentences : iterable of sequences of str
        Sentences without labels, each a list of tokens. They are read once.
    sizes : sequence of int
        Numbers of classes. Each class of a smaller size is a union of classes of the next larger one.
    min_count : int
        Words that occur less often get no class.
    keep_case : bool
        Whether words that differ in capitals are different words. Digits are read as 0 in any case.
    sweeps : int
        How often each word is examined at most; it ends earlier when few words move.
    threads : int
        Number of threads; the classes do not depend on it.
    seed : int
        Determines the classes in which less frequent words begin.
    progress : bool, optional
        Whether to show a progress bar; by default, on a terminal.

    Returns
    -------
    list of str
        The lines of a file of word classes: a header, then word, class and count with tabs between them. The class is a
        path of one number per size, such as ``12.0.3``. Pass them to `Features`, or write them to a file.

    Examples
    --------
    >>> import tagwright as tw
    >>> text = [["the", "dog", "barks"], ["the", "cat", "barks"], ["a", "dog", "sleeps"], ["a", "cat", "sleeps"]]
    >>> lines = tw.word_classes(text * 3, sizes=[3])
    >>> lines[:4]
    ['word\\tclass\\tcount', 'barks\\t0\\t6', 'sleeps\\t0\\t6', 'a\\t1\\t6']
    >>> features = tw.Features("U:%class[0,0,brown]\\n", lists={"brown": lines})

    """
    options = Induction(sizes, min_count, sweeps, threads, seed).checked()
    counter = _core.BigramCounter.make(bool(keep_case))
    for n, sentence in enumerate(sentences):
        counter.add_sentence(_words(n, sentence))
    return options.lines(counter, progress)


def _words(n: int, sentence: Sequence[str]) -> list[str]:
    if isinstance(sentence, str) or not isinstance(sentence, Iterable):
        raise ValueError(f"sentence {n} must be a list of words, not {checks.shown(sentence)}")
    words = list(sentence)
    for t, word in enumerate(words):
        if not isinstance(word, str):
            raise ValueError(f"sentence {n}, token {t} is not a string but {checks.shown(word)}")
        if not word or not word.isprintable():
            _check_word(n, t, word)
    return words


def _check_word(n: int, t: int, word: str) -> None:
    """Refuse what a line of a file cannot hold."""
    if not word or any(c in "\t\n\r" or "\ud800" <= c <= "\udfff" for c in word):
        raise ValueError(f"sentence {n}, token {t} is {word!a}: empty, or with a tab, a line break or a lone surrogate")
