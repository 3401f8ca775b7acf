"""Learners that train on files: more than fits in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, Self

from tagwright.learners.examples import Examples, StreamedExamples
from tagwright.learners.learner import Labels, Learner, Sentences
from tagwright.learners.streams import stream_of

__all__ = ["FileLearner"]

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


class FileLearner(Learner):
    """A learner whose sentences need not be in memory."""

    def fit_files(
        self,
        corpus: Paths | Iterable[tuple[Sequence[Any], Sequence[Any]]],
        dev: tuple[Sentences, Labels] | None = None,
        *,
        format: str = "auto",
        label: str | int = "last",
        comments: bool = False,
        partial: bool = False,
        cache: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Train on files, of which a small part is in memory at a time; the model is that of `fit`, bit for bit.

        Features are encoded once, into a file that is mapped while training walks over it. What is in memory is the
        names of the features, the weights, and a bounded part of the corpus.

        Args:
            corpus: a file, several, or a folder, which stands for all files in it and below it, by their names; ``.gz``
                and ``.xz`` are unpacked. Or an iterable of pairs of a sentence and its labels, as for `fit`, which
                begins anew each time it is iterated over: it is read two to four times.
            dev: a pair (X, y) in memory, as for `fit`.
            format: of the files, as for `tw.read`; so are `label` and `comments`.
            label: the column of the label.
            comments: whether lines that begin with ``#`` are comments.
            partial: whether labels of files may be partly known: ``NN,VB`` for one of the two, ``_`` for any.
            cache: a folder in which the encoded corpus is kept. A later training on the same files with the same
                features finds it there, by a digest of both. Without it, the file is beside the corpus, without a name,
                and gone at the end. An iterable is encoded anew each time.

        """
        asked = {"format": format, "label": str(label), "comments": comments}
        stream = stream_of(corpus, asked, partial)
        self._train(StreamedExamples(stream, cache, self.progress), dev)
        if stream.is_files:
            self.model_.facts["data"] = {**asked, "blanks": stream.blanks}
        return self

    progress: bool | None

    def _train(self, examples: Examples, dev: tuple[Sentences, Labels] | None) -> None:
        """Check the parameters and train."""
        raise NotImplementedError
