"""Tagging inside data engines: Ray Data, Dask, Spark and whatever else hands out batches of rows."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tagwright import checks
from tagwright.models.model import BUILT_IN, Model, load


@functools.lru_cache(maxsize=4)
def _opened(path: str, stamp: tuple[int, ...]) -> Model:
    return load(path)


class BatchTagger:
    """Tags batches of sentences: a dict of columns in, the same columns and those of the labels out.

    It holds the path of a model, not the model, so that it is cheap to send to other processes. Each process opens the
    model once, when its first batch comes; a large model is mapped, and processes of one machine share its memory.

    Parameters
    ----------
    model_path : path or None
        A model file that every machine can read; None for the English model that is included.
    column : str
        The column of sentences. A sentence is a list or array of tokens; a token is what the model takes.
    k : int
        Labellings per sentence.
    proba : bool
        Whether to add probabilities; for CRFs and HMMs.
    threads : int
        Threads per process, which share the sentences of a batch.

    Notes
    -----
    The columns that are added:

    * ``labels``: the best label of each token, a list per sentence;
    * with k > 1 or `proba`, ``score`` of that labelling;
    * with `proba`, ``probability`` of that labelling, and ``marginals``, the probability of each of its labels;
    * with k > 1, ``kbest``: the k best labellings of each sentence, lists of labels; ``kbest_score`` and, with
      `proba`, ``kbest_probability``: a list of numbers per sentence.

    If the batch already has a column of one of these names, a ValueError is raised.

    Examples
    --------
    >>> from tagwright.cluster import BatchTagger
    >>> tagger = BatchTagger(None)
    >>> tagger({"id": [7], "tokens": [["I", "saw", "a", "dog"]]})["labels"]
    [['PRP', 'VBD', 'DT', 'NN']]

    """

    def __init__(
        self,
        model_path: str | os.PathLike[str] | None,
        column: str = "tokens",
        k: int = 1,
        proba: bool = False,
        threads: int = 1,
    ) -> None:
        checks.at_least_one("k", k)
        checks.at_least_one("threads", threads)
        self.model_path = None if model_path is None else os.path.abspath(model_path)
        self.column, self.k, self.proba, self.threads = column, k, proba, threads

    @property
    def model(self) -> Model:
        """The model, which this process opens once; and again if its file was replaced."""
        path = BUILT_IN if self.model_path is None else self.model_path
        about = os.stat(path)
        return _opened(os.fspath(path), (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns))

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of a batch, and those of its labels."""
        given = dict(batch)
        if self.column not in given:
            found = ", ".join(map(repr, given)) or "none"
            raise ValueError(f"no column {self.column!r} in the batch, which has {found}; name it with column=")
        sentences = [self._sentence(row, tokens) for row, tokens in enumerate(given[self.column])]
        made = self._tagged(sentences)
        if twice := next((name for name in made if name in given), None):
            raise ValueError(f"the batch has a column {twice!r} already; rename it")
        # Lists are kept as lists of strings by Arrow; arrays of arrays would be pickled.
        return {**given, self.column: sentences, **made}

    def _tagged(self, sentences: list[list[Any]]) -> dict[str, list[Any]]:
        model = self.model
        if self.proba:
            model.need_probabilities()
        if self.k == 1 and not self.proba:
            return {"labels": model.tag_batch(sentences, threads=self.threads)}
        found = model.tag_kbest(sentences, self.k, threads=self.threads, proba=self.proba)
        best = [own[0] for own in found]
        made: dict[str, list[Any]] = {"labels": [one.labels for one in best], "score": [one.score for one in best]}
        if self.proba:
            made |= {"probability": [one.probability for one in best], "marginals": [one.marginals for one in best]}
        if self.k > 1:
            made["kbest"] = [[one.labels for one in own] for own in found]
            made["kbest_score"] = [[one.score for one in own] for own in found]
            if self.proba:
                made["kbest_probability"] = [[one.probability for one in own] for own in found]
        return made

    def _sentence(self, row: int, tokens: object) -> list[Any]:
        """Return a sentence as a list; Arrow and pandas make arrays of lists, also of the columns of a token."""
        if isinstance(tokens, str | bytes | Mapping) or not isinstance(tokens, Iterable):
            split = "; split it into tokens" if isinstance(tokens, str) else ""
            what = f"a sentence must be a list of tokens, not {checks.shown(tokens)}{split}"
            raise ValueError(f"column {self.column!r}, row {row}: {what}")
        return [token.tolist() if isinstance(token, np.ndarray) else token for token in tokens]
