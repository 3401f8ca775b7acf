"""Training data: labelled sentences in memory, in files that are encoded once and then mapped, or in portions."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from tagwright import _core
from tagwright.learners.encoded import EncodedError, Opened, opened, writing_encoded
from tagwright.learners.labels import Marks, Weights, known_labels, label_counts, marks, numbers, rank, rank_counted
from tagwright.learners.progress import log
from tagwright.learners.streams import Column, Files, Stream
from tagwright.models.model import Model
from tagwright.models.native import core_templates, core_text

if TYPE_CHECKING:
    from tagwright.learners.training import Training


class Examples:
    """Sentences and labels in memory."""

    sentences: int
    tokens: int
    start: Model | None = None
    """A model to start from, in place of the learner's `warm_start`."""
    whole = True
    """Whether these are all the sentences, rather than the first portion."""
    ids: npt.NDArray[np.int32]
    """The labels of all tokens by their numbers, -1 where one is partly known; once the training has labels."""

    def __init__(self, X: Any, y: Any, weights: Weights | None = None) -> None:
        """Take sentences and labels that were checked; weights: of the sentences."""
        self.X: Any = X
        self.y: Any = known_labels(y)
        self.weights, self.partial = weights, self.y.partial

    def is_partial(self) -> bool:
        """Return whether labels are partly known."""
        return self.partial

    def first_token(self) -> object:
        """Return the first token, which shows what tokens are; None where there is none."""
        # What is not a sentence is reported when the text is read.
        sentences = (sentence for sentence in self.X if isinstance(sentence, Iterable))
        return next((token for sentence in sentences for token in sentence), None)

    def read(self, run: Training, first: Sequence[str]) -> list[str]:
        """Read the sentences; return the labels by frequency, those that only `first` has last."""
        labels = rank(self.y, first, self.weights)
        known = marks(self.y, labels) if self.partial else None
        self.ids = numbers(self.y, labels) if known is None else known.ids
        self.marks = None
        """Partial labels and weights of sentences, as the core takes them."""
        if known is not None or self.weights is not None:
            nothing = Marks(self.ids, np.zeros(0, np.uint64), np.zeros(0, np.int32))
            self.marks = (*(known or nothing)[1:], np.zeros(0) if self.weights is None else self.weights)
        self.text = core_text(self.X, run.features)
        self.sentences, self.tokens = self.text.sentences, self.text.tokens
        return labels

    def some(self, which: npt.NDArray[np.int32]) -> tuple[list[Any], list[Any]]:
        """Return some sentences and their labels, by their numbers in rising order."""
        wanted = set(which.tolist())
        pairs = ((x, y) for s, (x, y) in enumerate(zip(self.X, self.y, strict=True)) if s in wanted)
        X, y = zip(*pairs, strict=True) if wanted else ((), ())
        return list(X), list(map(list, y))

    def corpus(self, run: Training, **changed: Any) -> _core.Corpus:
        """Return the encoded corpus; changed: arguments that differ from the usual ones."""
        usual = {
            "text": self.text,
            "templates": core_templates(run.features),
            "labels": self.ids,
            "names": run.labels,
            "known": run.known,
            "min_count": run.learner.min_count,
            "threads": run.learner.threads,
            "marks": self.marks,
        }
        return _core.Corpus.read(**{**usual, **changed})


class StreamedExamples(Examples):
    """Sentences and labels that are read in pieces: once to count labels, once to be encoded into a file.

    Where rare features are left out, all features are counted first, so that rare ones take no memory.
    """

    def __init__(self, stream: Stream, cache: str | os.PathLike[str] | None, bars: bool | None) -> None:
        """Keep the encoded corpus in the folder `cache`; without one, in a file that is removed at the end."""
        self._stream, self._cache, self._bars = stream, None if cache is None else Path(cache), bars
        self.X, self.y, self.weights = Column(stream, 0), Column(stream, 1), None
        self._opened: Opened | None = None
        self._encoder: _core.Encoder | None = None
        self._counted: Counter[Any] | None = None

    def is_partial(self) -> bool:
        """Return whether labels are partly known; where they may be, all are read."""
        if not self._stream.partial:
            return False
        self._look(None)
        return self.partial

    def read(self, run: Training, first: Sequence[str]) -> list[str]:
        """Open the corpus of an earlier training, or else count labels and features."""
        self._path = self._path_of(run)
        self._opened = self._found()
        if self._opened is not None:
            about = self._opened.about
            self.sentences, self.tokens, self.partial = about["sentences"], about["tokens"], about["partial"]
            self._stream.blanks = about["blanks"]
            return list(about["labels"])
        self._encoder = _core.Encoder.make(core_templates(run.features), run.known, run.learner.min_count)
        return rank_counted(self._look(run), self.tokens > 0, first)

    def _look(self, run: Training | None) -> Counter[Any]:
        """Count labels that were not counted yet, and features where rare ones are left out."""
        count = Counter() if self._counted is None else self._counted
        surveys = run is not None and self._encoder is not None and self._encoder.surveys
        if self._counted is not None and not surveys:
            return count
        sentences = tokens = 0
        partial = False
        with self._bar("reading", None) as bar:
            for piece in self._stream.texts(run.features if run else None, counted=run is None):
                if self._counted is None:
                    label_counts(piece.y, None, count)
                    partial = partial or piece.y.partial
                if run is not None and self._encoder is not None and surveys:
                    self._encoder.survey(core_text(piece.X, run.features, sentences))
                sentences += len(piece.X)
                tokens += len(piece.y.ids)
                bar.update(len(piece.X))
        if self._counted is None:
            self.sentences, self.tokens, self.partial, self._counted = sentences, tokens, partial, count
        return count

    def corpus(self, run: Training, **changed: Any) -> _core.Corpus:
        """Return the encoded corpus, mapped from its file, which is made where there is none yet."""
        if self._opened is None:
            self._opened = self._encoded(run)
        self.ids = self._opened.arrays["labels"]
        return self._opened.corpus

    def _encoded(self, run: Training) -> Opened:
        encoder, done = self._encoder, 0
        assert encoder is not None
        with writing_encoded(self._path, self._folder()) as file, self._bar("encoding", self.sentences) as bar:
            for piece in self._stream.texts(run.features):
                file.add_encoded(encoder.encode(core_text(piece.X, run.features, done), run.learner.threads))
                known = marks(piece.y, run.labels) if self.partial else None
                file.add_labels(*(known or [numbers(piece.y, run.labels)]))
                if known is not None:
                    file.array("partial").add(any_missing(known.ids, piece.y.lengths))
                done += len(piece.X)
                bar.update(len(piece.X))
            if (done, file.tokens) != (self.sentences, self.tokens):
                raise ValueError("the sentences changed while they were read; train again")
            for kind, renamed in zip(("node", "edge"), encoder.finish(), strict=True):
                file.rename(kind, renamed)
            names = encoder.names()
            for name, array in names.items():
                file.array(name).add(array)
            about = {
                "features": len(names["names.ends"]),
                "sets": len(names["edge_names.ends"]),
                "labels": run.labels,
                "sentences": self.sentences,
                "tokens": self.tokens,
                "partial": self.partial,
                "blanks": self._stream.blanks,
            }
            return file.finish(about)

    def _folder(self) -> Path:
        """Return a folder for large files: that of the cache, or of the corpus, or else that of temporary files."""
        if self._cache is not None:
            self._cache.mkdir(parents=True, exist_ok=True)
            return self._cache
        beside = Path(self._stream.name).parent
        usable = isinstance(self._stream, Files) and os.access(beside, os.W_OK)
        return beside if usable else Path(tempfile.gettempdir())

    def _path_of(self, run: Training) -> Path | None:
        """Return where the encoded corpus is kept: its name has a digest of everything that it depends on."""
        identity = None if self._cache is None else self._stream.identity()
        if self._cache is None or identity is None:
            return None
        from tagwright import __version__

        names = [run.old.arrays[name] for name in ("names.ends", "names.bytes")] if run.old else []
        known = _core.digest(names), run.old.labels if run.old else None
        depends = [__version__, identity, run.identity_of_features(), run.learner.min_count, *known]
        key = hashlib.blake2b(json.dumps(depends).encode(), digest_size=8).hexdigest()
        return self._cache / f"{Path(self._stream.name).name}-{key}.corpus"

    def _found(self) -> Opened | None:
        """Return the encoded corpus of an earlier training, if there is one and it is complete."""
        if self._path is None or not self._path.exists():
            return None
        try:
            found = opened(self._path)
        except EncodedError as error:
            log.warning("%s; it is encoded again", error)
            return None
        log.debug("%s: encoded before", self._path)
        return found

    def _bar(self, what: str, total: int | None) -> Any:
        log.debug("%s the corpus", what)
        hidden = None if self._bars is None else not self._bars
        return tqdm(total=total, desc=what, unit="sent", disable=hidden, leave=False)


class GrowingExamples(Examples):
    """Sentences that arrive in portions; the names of their features are kept, and new ones are added."""

    whole = False

    def __init__(
        self, X: Any, y: Any, weights: Weights | None, start: Model | None = None, classes: Sequence[str] = ()
    ) -> None:
        """Take the first sentences; start: a model to start from; classes: labels, in the order of their numbers."""
        super().__init__(X, y, weights)
        self.start, self._classes = start, list(classes)
        self.sentences = self.tokens = self.current = 0

    @property
    def sizes(self) -> Any:
        """The number of node features and of edge features."""
        return self._encoder.sizes

    def read(self, run: Training, first: Sequence[str]) -> list[str]:
        """Return the labels that are known, then those of the first sentences by frequency."""
        self._encoder = _core.Encoder.make(core_templates(run.features), run.known, 1)
        return self.labels_with([*dict.fromkeys([*self._classes, *first])])

    def labels_with(self, known: list[str]) -> list[str]:
        """Return known labels, followed by the new ones of the current sentences, by frequency."""
        count = label_counts(self.y)
        if not count and known:
            return known
        ranked = rank_counted(count, len(self.y.ids) > 0, known)
        return known + [name for name in ranked if name not in set(known)]

    def replace(self, X: Any, y: Any, weights: Weights | None, run: Training) -> None:
        """Replace the current sentences by the next ones, after a check of tokens and labels."""
        labels = known_labels(y)
        rank_counted(label_counts(labels), True, run.labels)
        core_text(X, run.features)
        self.X, self.y, self.partial, self.weights = X, labels, labels.partial, weights

    def corpus(self, run: Training, **changed: Any) -> _core.Corpus:
        """Return the current sentences, encoded."""
        named = not self.sentences
        text = core_text(self.X, run.features)
        arrays: dict[str, npt.NDArray[Any]] = self._encoder.encode(text, run.learner.threads)
        known = marks(self.y, run.labels) if self.partial else None
        arrays["labels"] = self.ids = numbers(self.y, run.labels) if known is None else known.ids
        if known is not None:
            arrays |= {"allowed_end": known.allowed_end, "allowed": known.allowed}
            arrays["partial"] = any_missing(known.ids, text.lengths().tolist())
        if self.weights is not None:
            arrays["weight"] = self.weights
        self.current = text.sentences
        self.sentences += text.sentences
        self.tokens += text.tokens
        return self._opened(run, {**arrays, **(self._encoder.names() if named else {})})

    def names(self, run: Training) -> _core.Corpus:
        """Return a corpus of no sentence that has the names of all features."""
        return self._opened(run, self._encoder.names())

    def _opened(self, run: Training, arrays: dict[str, npt.NDArray[Any]]) -> _core.Corpus:
        return _core.Corpus.opened(arrays, len(run.labels), *self._encoder.sizes)


def any_missing(ids: npt.NDArray[np.int32], lengths: list[int]) -> npt.NDArray[np.uint8]:
    """Return of each sentence whether a label of it is not known."""
    ends = np.cumsum(lengths)
    missing = np.concatenate([[0], np.cumsum(ids < 0)])
    found: npt.NDArray[np.bool_] = missing[ends] > missing[ends - lengths]
    return found.astype(np.uint8)
