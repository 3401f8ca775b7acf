"""Sentences of files of any format, in batches; and their text with labels."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from tagwright.data.files import BLANK, DataError, Source, line_lists, name_of
from tagwright.data.formats import format_of, recognise
from tagwright.data.sentence import Form, Request, Sentence

__all__ = ["batches", "read", "text"]


def batches(
    source: Source,
    format: str = "auto",
    label: str | None = None,
    comments: bool = False,
    columns: int | None = None,
    widths: Collection[int] = (),
    fields: str | None = None,
    empty_ok: bool = False,
) -> Iterator[list[Sentence]]:
    """Yield the sentences that each chunk of the file completes, in order, so that a pipe gets its answers at once.

    Args:
        source: a path (``.gz`` and ``.xz`` are unpacked), ``"-"`` for standard input, or a binary file object.
        format: ``"columns"``, ``"conllu"``, ``"text"`` (a sentence per line), or ``"auto"``: by the file's name, or
            else by its first line.
        label: None; ``"last"``, ``"3"`` or ``"2+3"`` of a column file; ``"upos"``, ``"xpos"``, ``"feats"`` or a joint
            such as ``"upos+feats"`` of CoNLL-U. Rows hold what stands before the label; in CoNLL-U FORM, LEMMA, UPOS,
            XPOS and FEATS, with ``_`` for the label. The parts of a joint label are joined with ``|``.
        comments: whether lines ``#`` and ``# ...`` are comments. In CoNLL-U every line that begins with ``#`` is one.
        columns: how many columns are needed; with 1 and no label, "auto" takes words between blanks for text, unless
            their number on the first line is one of `widths`.
        widths: numbers of columns that blanks may separate.
        fields: where labels are written if the file is CoNLL-U and no label is read.
        empty_ok: whether a file without a sentence is allowed. Comments without a token after them are left out.

    """
    request = Request(name_of(source), label, comments, columns, widths, fields)
    kind = format_of(format, request.file)
    form: Form | None = None
    held: list[str] = []
    first = 1
    for new in line_lists(source):
        if form is None:
            kind, form = recognise(new, first + len(held), kind, request)
        if form and form.sentence_per_line:
            ends, gap = list(range(1, len(held) + len(new) + 1)), 0
        else:
            ends, gap = [i for i, line in enumerate(new, len(held)) if not line.strip(BLANK)], 1
        held += new
        batch = []
        begin = 0
        for end in ends:
            if form and end > begin:
                sentence = form.sentence(held[begin:end], first + begin)
                if sentence.rows:
                    batch.append(sentence)
            begin = end + gap
        del held[:begin]
        first += begin
        if batch:
            empty_ok = True
            yield batch
    if not empty_ok:
        raise DataError(f"{request.file}: empty: there is no token in it")


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


def text(sentence: Sentence, labels: Sequence[str], probabilities: Sequence[float] | None = None) -> str:
    """Return the sentence's lines with these labels, and what separates it from the next.

    A column file gets one more column, plain text becomes ``token TAB label`` lines, and in CoNLL-U the label replaces
    the fields it was read from. All other lines stay as they were. Probabilities, where given, are one more column, or
    ``Prob=`` in CoNLL-U's MISC.
    """
    if len(labels) != len(sentence.rows):
        raise ValueError(f"{len(labels)} labels for {len(sentence.rows)} tokens; give one per token")
    shares = [""] * len(labels) if probabilities is None else [f"{p:.6f}" for p in probabilities]
    return "\n".join(sentence.form.tagged(sentence, labels, shares)) + "\n"
