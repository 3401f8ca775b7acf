"""Sentences of files of any format, in batches; and their text with labels."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

from tagwright import _core
from tagwright.data.files import BLANK, DataError, Source, line_blocks, lines_of, name_of, typed
from tagwright.data.formats import Recognition, format_of
from tagwright.data.sentence import Form, Request, Sentence

Shortcut = Callable[[Form, bytes], bytes | None]
_AHEAD = 100  # lines that a guess may look at


def batches(
    source: Source,
    format: str = "auto",
    label: str | None = None,
    comments: bool = False,
    columns: int | None = None,
    widths: Collection[int] = (),
    fields: str | None = None,
    empty_ok: bool = False,
    tokenize: str = "whitespace",
    split: bool = True,
) -> Iterator[list[Sentence]]:
    """Yield the sentences that each chunk of the file completes, in order, so that a pipe gets its answers at once.

    Parameters
    ----------
    source : str, path or binary file
        A path (``.gz`` and ``.xz`` are decompressed), ``"-"`` for standard input, or a binary file object.
    format : str
        ``"columns"``, ``"conllu"``, ``"text"`` (a sentence or paragraph per line), ``"paragraphs"`` (text that is
        wrapped, with blank lines between paragraphs), or ``"auto"``: by the file's name, or else by its first lines.
    label : str, optional
        ``"last"``, ``"3"`` or ``"2+3"`` of a column file; ``"upos"``, ``"xpos"``, ``"feats"`` or a joint such as
        ``"upos+feats"`` of CoNLL-U. Rows hold the columns before the label; in CoNLL-U FORM, LEMMA, UPOS, XPOS and
        FEATS, with ``_`` for the label. The pieces of a joint label are joined with ``|``.
    comments : bool
        Whether lines ``#`` and ``# ...`` are comments. In CoNLL-U every line that begins with ``#`` is one.
    columns : int, optional
        How many columns are needed; with 1 and no label, "auto" takes words between blanks for text, unless their
        number on the first line is one of `widths`.
    widths : collection of int
        Numbers of columns that blanks may separate.
    fields : str, optional
        Where labels are written if the file is CoNLL-U and no label is read.
    empty_ok : bool
        Whether a file without a sentence is allowed. Comments without a token after them are left out.
    tokenize : str
        The tokenizer of text, one of `tagwright.data.tokens.TOKENIZERS`.
    split : bool
        Whether the tokenizer may find several sentences in a line of text.

    """
    request = Request(name_of(source), label, comments, columns, widths, fields, tokenize, split)
    for block in _sentence_blocks(source, format, request):
        if batch := block.sentences():
            empty_ok = True
            yield batch
    _check_not_empty(request, empty_ok)


def batches_or_answers(
    source: Source, shortcut: Shortcut, format: str = "auto", empty_ok: bool = False, **options: Any
) -> Iterator[list[Sentence] | bytes]:
    """Yield batches as `batches` does, whose options these are, or the answer of `shortcut` where it has one.

    Parameters
    ----------
    source, format, empty_ok, **options
        As for `batches`.
    shortcut : callable
        Is called with a form and a block of complete sentences as bytes; returns bytes, or None if the sentences are
        to be read as usual.

    """
    request = Request(name_of(source), **options)
    for block in _sentence_blocks(source, format, request):
        answer = shortcut(block.form, block.data) if block.final else None
        piece = block.sentences() if answer is None else answer
        if piece:
            empty_ok = True
            yield piece
    _check_not_empty(request, empty_ok)


def labelled_texts(
    source: Source,
    columns: int | None,
    reader: Callable[[int], str] | None = None,
    first: int = 0,
    *,
    format: str = "auto",
    label: str = "last",
    comments: bool = False,
) -> Iterator[tuple[Form, _core.LabelledText]]:
    """Yield the sentences and labels of a file as the core holds them, a chunk of the file at a time.

    Parameters
    ----------
    source, format, label, comments
        As for `batches`.
    columns : int or None
        How many columns the text has; ValueError names a token that has fewer. None: all columns before the label.
    reader : callable, optional
        Returns which template reads a column that tokens with this many columns lack.
    first : int
        The number of the first sentence, for messages.

    """
    request = Request(name_of(source), label, comments)
    empty = True
    for block in _sentence_blocks(source, format, request):
        made = _core.LabelledText()
        lines = block.form.line_format()
        width = lines.columns if columns is None and lines else columns or 0
        if lines is None or lines.columns < width or not made.add(block.data, lines.with_columns(width)):
            batch = block.sentences()
            if columns is None and batch:
                width = min(len(row) for own in batch for row in own.rows)
            rows = _core.Text.from_rows([own.rows for own in batch], width, reader, first)
            made.add_sentences(rows, [own.labels or [] for own in batch])
        if made.text.sentences:
            empty = False
            first += made.text.sentences
            yield block.form, made
    _check_not_empty(request, not empty)


class _Block(NamedTuple):
    """Complete sentences of a file."""

    form: Form
    data: bytes
    first: int
    """The number of its first line in the file."""
    final: bool
    """Whether the form of the file is certain."""

    def sentences(self) -> list[Sentence]:
        """Return the sentences that have a token; DataError for the first malformed line."""
        form, file = self.form, self.form.request.file
        if form.sentence_per_line:
            groups = [(at, [line]) for at, line in enumerate(lines_of(self.data, file, self.first))]
        else:
            try:
                groups = _core.split_sentences(self.data)
            except UnicodeDecodeError:
                lines_of(self.data, file, self.first)  # names the line
                raise
        return [one for at, lines in groups for one in form.sentences(lines, self.first + at) if one.rows]


def _sentence_blocks(source: Source, format: str, request: Request) -> Iterator[_Block]:
    """Yield the sentences that each chunk of a file completes.

    The first lines are examined one by one until the form is certain; a blank line may complete a sentence before.
    From then on blocks are cut by the core, which alone knows where sentences end.
    """
    ahead = isinstance(source, str | os.PathLike) and os.path.isfile(source)
    found = Recognition(format_of(format, request.file), request, typed(source), ahead)
    held: list[bytes] = []  # the beginning of a sentence that is not complete
    first = number = 1  # of the first line that is held, and of the next line

    def flushed(data: bytes, final: bool) -> Iterator[_Block]:
        nonlocal held, first
        whole, begin = b"".join([*held, data]), first
        held, first = [], first + whole.count(b"\n")
        if found.form and whole:
            yield _Block(found.form, whole, begin, final)

    for block in line_blocks(source):
        begin = 0
        if not found.sure:
            for line, end in _recognised(block, number, found):
                if not found.sure and not line.strip(BLANK):
                    yield from flushed(block[begin:end], False)
                    begin = end
        number += block.count(b"\n")
        rest = block[begin:]
        if found.sure and found.form:
            cut = len(rest) if found.form.sentence_per_line else _core.complete_sentences(rest)
            if cut:
                yield from flushed(rest[:cut], True)
                rest = rest[cut:]
        held.append(rest)


def _recognised(block: bytes, number: int, found: Recognition) -> Iterator[tuple[str, int]]:
    """Show lines to the recognition until it is certain; yield each, and where it ends in the block."""
    lines = lines_of(block, found.file, number)
    end = 0
    for at, line in enumerate(lines):
        found.see(line, number + at, lines[at + 1 : at + 1 + _AHEAD])
        end = block.index(b"\n", end) + 1
        yield line, end
        if found.sure:
            return


def _check_not_empty(request: Request, empty_ok: bool) -> None:
    if not empty_ok:
        raise DataError(f"{request.file}: empty: there is no token in it")


def read(
    source: Source, format: str = "auto", label: str | int = "last", comments: bool = False
) -> tuple[list[list[list[str]]], list[list[str]]]:
    """Read a labelled file.

    Parameters
    ----------
    source : str, path or binary file
        A path (``.gz`` and ``.xz`` are decompressed), ``"-"`` for standard input, or a binary file object.
    format : {"auto", "columns", "conllu"}, default="auto"
        The format; "auto" recognises it by the name of the file or by its first lines.
    label : str or int, default="last"
        The label column, counted from 1, ``"2+3"`` for a joint label, or a field of CoNLL-U: ``"upos"``, ``"xpos"``,
        ``"feats"`` or a joint such as ``"upos+feats"``.
    comments : bool, default=False
        Whether lines that begin with ``#`` and a blank are comments; in CoNLL-U they always are.

    Returns
    -------
    X : list of sentences
        For each token the columns before the label; in CoNLL-U FORM, LEMMA, UPOS, XPOS and FEATS, with ``_`` for the
        label.
    y : list of list of str
        The labels.

    Raises
    ------
    DataError
        If the file is malformed; the message names the line.
    """
    X: list[list[list[str]]] = []
    y: list[list[str]] = []
    for batch in batches(source, format, str(label), comments):
        for sentence in batch:
            X.append(sentence.rows)
            y.append(sentence.labels or [])
    return X, y


def text(
    sentence: Sentence,
    labels: Sequence[str],
    probabilities: Sequence[float] | None = None,
    more: Sequence[Sequence[str]] | None = None,
) -> str:
    """Return the sentence's lines with these labels, and what separates it from the next.

    A column file gets one more column, plain text becomes ``token TAB label`` lines, and in CoNLL-U the label replaces
    the fields it was read from. All other lines stay as they were. Probabilities, where given, are one more column, or
    ``Prob=`` in CoNLL-U's MISC; more cells per token follow them, in MISC as ``Probs=``.
    """
    if len(labels) != len(sentence.rows):
        raise ValueError(f"{len(labels)} labels for {len(sentence.rows)} tokens; give one per token")
    shares = [""] * len(labels) if probabilities is None else [f"{p:.6f}" for p in probabilities]
    if more is not None:
        join = sentence.form.separator.join
        shares = [join([share, *cells]) for share, cells in zip(shares, more, strict=True)]
    return "\n".join(sentence.form.tagged(sentence, labels, shares)) + "\n"
