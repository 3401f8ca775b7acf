"""Sentences of files of any format, in batches; and their text with labels."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from tagwright.data.files import BLANK, DataError, Source, line_blocks, lines_of, name_of, typed
from tagwright.data.formats import Recognition, format_of
from tagwright.data.sentence import Form, Request, Sentence

__all__ = ["batches", "batches_or_answers", "read", "text"]

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

    Args:
        source: a path (``.gz`` and ``.xz`` are unpacked), ``"-"`` for standard input, or a binary file object.
        format: ``"columns"``, ``"conllu"``, ``"text"`` (a sentence or paragraph per line), ``"paragraphs"``
            (text that is wrapped, with blank lines between paragraphs), or ``"auto"``: by the
            file's name, or else by its first lines.
        label: None; ``"last"``, ``"3"`` or ``"2+3"`` of a column file; ``"upos"``, ``"xpos"``, ``"feats"`` or a joint
            such as ``"upos+feats"`` of CoNLL-U. Rows hold what stands before the label; in CoNLL-U FORM, LEMMA, UPOS,
            XPOS and FEATS, with ``_`` for the label. The parts of a joint label are joined with ``|``.
        comments: whether lines ``#`` and ``# ...`` are comments. In CoNLL-U every line that begins with ``#`` is one.
        columns: how many columns are needed; with 1 and no label, "auto" takes words between blanks for text, unless
            their number on the first line is one of `widths`.
        widths: numbers of columns that blanks may separate.
        fields: where labels are written if the file is CoNLL-U and no label is read.
        empty_ok: whether a file without a sentence is allowed. Comments without a token after them are left out.
        tokenize: the tokeniser of text, one of `tagwright.data.tokens.TOKENIZERS`.
        split: whether the tokeniser may find several sentences in a line of text.

    """
    request = Request(name_of(source), label, comments, columns, widths, fields, tokenize, split)
    for batch in _pieces(source, format, request, empty_ok, None):
        assert not isinstance(batch, bytes)
        yield batch


def batches_or_answers(
    source: Source, shortcut: Shortcut, format: str = "auto", empty_ok: bool = False, **asked: Any
) -> Iterator[list[Sentence] | bytes]:
    """Yield batches as `batches` does, whose arguments these are, or where `shortcut` has an answer, that.

    shortcut: takes a form and complete sentences as bytes; returns bytes, or None where they are to be read as usual.
    """
    return _pieces(source, format, Request(name_of(source), **asked), empty_ok, shortcut)


def _pieces(
    source: Source, format: str, request: Request, empty_ok: bool, shortcut: Shortcut | None
) -> Iterator[list[Sentence] | bytes]:
    ahead = isinstance(source, str | os.PathLike) and os.path.isfile(source)
    found = Recognition(format_of(format, request.file), request, typed(source), ahead)
    held: list[str] = []  # lines of a sentence that is not complete
    first = 1  # the number of the first of them

    def answered(block: bytes) -> bytes | None:
        """Return the answer to what is held and the block, up to the last sentence that is complete."""
        nonlocal held, first
        if not shortcut or not found.sure or not found.form or b"\n\n" not in block:
            return None
        whole = "".join(f"{line}\n" for line in held).encode() + block
        cut = whole.rfind(b"\n\n") + 2
        answer = shortcut(found.form, whole[:cut])
        if answer is not None:
            first += whole.count(b"\n", 0, cut)
            held = lines_of(whole[cut:], request.file, first)
        return answer

    for block in line_blocks(source):
        answer = answered(block)
        if answer is not None:
            if answer:
                empty_ok = True
                yield answer
            continue
        batch: list[Sentence] = []
        lines = lines_of(block, request.file, first + len(held))
        unsure = not found.sure
        for new in _recognised(lines, first + len(held), found):
            if unsure and found.sure and len(new) > 1:
                answer = answered("".join(f"{line}\n" for line in new).encode())
            if answer is not None:
                break
            ends, gap = _ends(new, len(held), found.form)
            held += new
            begin = 0
            for end in ends:
                if found.form and end > begin:
                    batch += [one for one in found.form.sentences(held[begin:end], first + begin) if one.rows]
                begin = end + gap
            del held[:begin]
            first += begin
        for piece in (batch, answer):
            if piece:
                empty_ok = True
                yield piece
    if not empty_ok:
        raise DataError(f"{request.file}: empty: there is no token in it")


def _ends(new: list[str], held: int, form: Form | None) -> tuple[list[int], int]:
    """Return where sentences end in so many lines and the new ones, and how many lines stand between them."""
    if form and form.sentence_per_line:
        return list(range(1, held + len(new) + 1)), 0
    return [i for i, line in enumerate(new, held) if not line.strip(BLANK)], 1


def _recognised(lines: list[str], number: int, found: Recognition) -> Iterator[list[str]]:
    """Yield the lines, whose first has this number: one by one until the form is sure, then the rest."""
    for at, line in enumerate(lines):
        if found.sure:
            yield lines[at:]
            return
        found.see(line, number + at, lines[at + 1 : at + 1 + _AHEAD])
        yield [line]


def read(
    source: Source, format: str = "auto", label: str | int = "last", comments: bool = False
) -> tuple[list[list[list[str]]], list[list[str]]]:
    """Return the rows of every sentence of a corpus, and its labels. The arguments are those of `batches`."""
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
