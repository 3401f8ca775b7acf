"""Sentences from column files, CoNLL-U and plain text, a batch at a time; and back to text with labels."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import lzma
import os
import re
import select
import sys
import zlib
from collections.abc import Collection, Iterator, Sequence
from typing import IO, Any, NamedTuple

__all__ = ["DataError", "Form", "Sentence", "batches", "read", "text", "word_list"]

Source = str | os.PathLike[str] | IO[bytes]

CHUNK = 1 << 16
FORMATS = ("auto", "columns", "conllu", "text")
FIELDS = {"upos": 3, "xpos": 4, "feats": 5}
MISC = 9
OPENERS: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}
BLANK = " \t"
PIECE = re.compile(r"[^ \t]+")
CONLLU_COMMENT = re.compile(r"# (sent_id|text|newdoc|newpar|global\.columns)\b.*=|# (newdoc|newpar)\b")
CONLLU_TOKEN = re.compile(r"1(-\d+)?\t[^\t]+\t[^\t]+\t[^\t]+\t")
RANGE_OR_EMPTY = re.compile(r"\d+[-.]\d+")


class DataError(ValueError):
    """A file that cannot be read as asked: ``FILE:LINE: what is wrong; what to do``."""


class Form(NamedTuple):
    """How a file is laid out, as its first token line shows."""

    kind: str
    """``"columns"``, ``"conllu"`` or ``"text"``."""
    tab: bool
    """Whether a TAB separates columns, or else runs of blanks and TABs."""
    width: int
    """Columns of every token line."""
    picks: tuple[int, ...]
    """The label's columns, from 0, in the order asked for."""
    comments: bool
    """Whether there are comment lines."""
    labelled: bool
    """Whether the label's columns are read; where not, they are only written."""


class Sentence(NamedTuple):
    """A sentence and the lines it came from."""

    rows: list[list[str]]
    """The columns of each token that features may look at."""
    labels: list[str] | None
    """A label a token; None where none was asked for."""
    lines: list[str]
    """The lines as read, without line ends; comments, ranges and empty nodes too."""
    at: list[int]
    """Where in `lines` each token stands."""
    first: int
    """The number of the first line in its file, from 1."""
    form: Form


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
    """Yield the sentences that each chunk read completes, in order; a pipe gets an answer a sentence.

    source: a path (``.gz`` and ``.xz`` are unpacked), ``"-"`` for standard input, or a binary file object.
    format: ``"columns"``, ``"conllu"``, ``"text"`` (a sentence a line), or ``"auto"``: by name, else by first line.
    label: None; ``"last"``, ``"3"`` or ``"2+3"`` of a column file; ``"upos"``, ``"xpos"``, ``"feats"`` or a joint
    such as ``"upos+feats"`` of CoNLL-U. Rows hold what stands before the label; in CoNLL-U FORM, LEMMA, UPOS, XPOS
    and FEATS, with ``_`` for the label. The parts of a joint label are joined with ``|``.
    comments: whether lines ``#`` and ``# ...`` are comments. In CoNLL-U all that start with ``#`` are, always.
    columns: how many columns will be looked at; with 1 and no label, "auto" takes words between blanks for text,
    unless there are as many on the first line as `widths` holds.
    fields: where labels go in CoNLL-U, should the file turn out to be that, without reading any (label is None).
    empty_ok: whether there may be no sentence at all. Comments without a token after them are left out.
    """
    if format not in FORMATS:
        raise ValueError(f"format {format!r}: use one of {', '.join(FORMATS)}")
    name = name_of(source)
    if format == "auto" and is_conllu(source):
        format = "conllu"
    form: Form | None = None
    held: list[str] = []
    first = 1
    for new in line_lists(source, name):
        # A comment of CoNLL-U may come in an earlier chunk than the first token.
        if format == "auto" and not form and not held and CONLLU_COMMENT.match(next(filter(str.strip, new), "")):
            format = "conllu"
        form = form or find_form(new, first + len(held), name, format, label, comments, columns, widths, fields)
        ends = [i for i, line in enumerate(new, len(held)) if not line.strip(BLANK)]
        held += new
        gap = 1
        if form and form.kind == "text":
            ends, gap = list(range(1, len(held) + 1)), 0
        batch = []
        begin = 0
        for end in ends:
            if form and end > begin:
                sentence = parse(held[begin:end], first + begin, form, name)
                if sentence.rows:
                    batch.append(sentence)
            begin = end + gap
        del held[:begin]
        first += begin
        if batch:
            empty_ok = True
            yield batch
    if not empty_ok:
        raise DataError(f"{name}: empty: there is no token in it")


def read(
    source: Source, format: str = "auto", label: str | int = "last", comments: bool = False
) -> tuple[list[list[list[str]]], list[list[str]]]:
    """Read a whole corpus: the rows of every sentence, and its labels. The arguments are those of `batches`."""
    X: list[list[list[str]]] = []
    y: list[list[str]] = []
    for batch in batches(source, format, str(label), comments):
        for sentence in batch:
            X.append(sentence.rows)
            y.append(sentence.labels or [])
    return X, y


def word_list(source: Source) -> list[str]:
    """Read a list with one entry a line. Blanks around an entry and empty lines are dropped."""
    lines = itertools.chain.from_iterable(line_lists(source, name_of(source)))
    return [entry for line in lines if (entry := line.strip(BLANK))]


def text(sentence: Sentence, labels: Sequence[str], probabilities: Sequence[float] | None = None) -> str:
    """Give the sentence's lines with these labels, and a blank line after them.

    A column file gets one more column, plain text becomes ``token TAB label`` lines, and in CoNLL-U the label takes
    the place of the fields it was read from. All other lines stay as they were. Probabilities, where given, are one
    more column, or ``Prob=`` in CoNLL-U's MISC.
    """
    form = sentence.form
    if len(labels) != len(sentence.rows):
        raise ValueError(f"{len(labels)} labels for {len(sentence.rows)} tokens; give one a token")
    lines = sentence.lines.copy()
    sure = [""] * len(labels) if probabilities is None else [f"{p:.6f}" for p in probabilities]
    separator = "\t" if form.kind == "text" or form.tab or form.width == 1 else " "
    ends = [f"{separator}{p}" if p else "" for p in sure]
    if form.kind == "text":
        lines = [f"{row[0]}\t{label}{end}" for row, label, end in zip(sentence.rows, labels, ends, strict=True)]
    elif form.kind == "conllu":
        for i, label, p in zip(sentence.at, labels, sure, strict=True):
            fields = lines[i].split("\t")
            for pick, part in zip(form.picks, take_apart(label, form.picks), strict=True):
                fields[pick] = part
            if p:
                kept = [fact for fact in fields[MISC].split("|") if fact != "_" and not fact.startswith("Prob=")]
                fields[MISC] = "|".join([*kept, f"Prob={p}"])
            lines[i] = "\t".join(fields)
    else:
        for i, label, end in zip(sentence.at, labels, ends, strict=True):
            line = lines[i] if form.tab else lines[i].strip(BLANK)
            lines[i] = f"{line}{separator}{label}{end}"
    return "\n".join(lines) + "\n\n"


def take_apart(label: str, picks: tuple[int, ...]) -> list[str]:
    """The fields of a CoNLL-U label. Only the rightmost field, FEATS or else XPOS, may hold ``|`` itself."""
    if not picks:
        raise ValueError("no place for the labels; read the file with label upos, xpos, feats or a joint")
    wild = picks.index(max(picks))
    *parts, rest = label.split("|", wild)
    parts += rest.rsplit("|", len(picks) - 1 - wild)
    if len(parts) != len(picks):
        joint = "+".join(field for pick in picks for field, at in FIELDS.items() if at == pick)
        raise DataError(f"label {label!r} is not of the form {joint}; choose the --label that the model was trained on")
    return parts


def name_of(source: Source) -> str:
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        return "<stdin>" if path == "-" else path
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<stream>"


def is_conllu(source: Source) -> bool:
    """Whether the name of a file says that it is CoNLL-U."""
    return re.search(r"\.conll-?u(\.gz|\.xz)?$", name_of(source).lower()) is not None


def chunks(source: Source, name: str) -> Iterator[bytes]:
    """What can be read at the moment, at most CHUNK bytes at a time."""
    with contextlib.ExitStack() as stack:
        stream: Any = source
        if isinstance(source, str | os.PathLike):
            if os.fspath(source) == "-":
                if sys.stdin is None:
                    raise DataError(f"{name}: closed; give a file")
                stream = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)
            else:
                opener = OPENERS.get(os.path.splitext(name)[1].lower(), open)
                stream = stack.enter_context(opener(source, "rb"))
        take = getattr(stream, "read1", stream.read)
        try:
            while (chunk := take(CHUNK)) or chunk is None:
                if chunk is None:
                    select.select([stream], [], [])
                elif isinstance(chunk, str):
                    raise TypeError(f"{name}: opened as text; open it as bytes, with mode 'rb'")
                else:
                    yield chunk
        except (gzip.BadGzipFile, lzma.LZMAError, zlib.error, EOFError) as error:
            raise DataError(f"{name}: cannot be unpacked, {error}; fetch or pack it again") from None


def line_lists(source: Source, name: str) -> Iterator[list[str]]:
    """The lines that each chunk completes; at the end the last line, if it has no end, and a blank one."""
    parts: list[bytes] = []
    number = 1
    for chunk in itertools.chain(chunks(source, name), [b"\n\n"]):
        cut = chunk.rfind(b"\n") + 1
        if not cut:
            parts.append(chunk)
            continue
        block = b"".join([*parts, chunk[:cut]])
        parts = [chunk[cut:]]
        try:
            decoded = block.decode()
        except UnicodeDecodeError as error:
            line = number + block.count(b"\n", 0, error.start)
            byte = error.start - block.rfind(b"\n", 0, error.start)
            raise DataError(
                f"{name}:{line}: not UTF-8 at byte {byte} of the line; "
                "convert the file, for example with iconv -f latin1 -t utf8"
            ) from None
        if number == 1:
            decoded = decoded.removeprefix("\ufeff")
        lines = decoded.replace("\r\n", "\n").split("\n")
        lines.pop()
        number += len(lines)
        yield lines


def is_comment(line: str, kind: str) -> bool:
    return line.startswith("#") if kind == "conllu" else line == "#" or line.startswith("# ")


def find_form(
    lines: list[str],
    number: int,
    name: str,
    format: str,
    label: str | None,
    comments: bool,
    columns: int | None,
    widths: Collection[int],
    fields: str | None,
) -> Form | None:
    """The form that the first token among these lines shows; `number` is the first line's. None without a token."""
    comments = comments or format == "conllu"
    for at, line in enumerate(lines, number):
        if line.strip(BLANK) and not (comments and is_comment(line, format)):
            where = f"{name}:{at}"
            break
    else:
        return None
    tab = "\t" in line
    width = line.count("\t") + 1 if tab else len(PIECE.findall(line))
    if format == "conllu" or (format == "auto" and width == 10 and CONLLU_TOKEN.match(line)):
        picks = pick_fields(label or fields or "", where) if label or fields else ()
        return Form("conllu", True, 10, picks, True, label is not None)
    words = not tab and width > 1 and width not in widths and columns == 1 and label is None
    if format == "text" or (format == "auto" and words):
        if label is not None:
            raise DataError(f"{where}: plain text has no label {label!r}; choose --format columns or conllu")
        return Form("text", False, 1, (), comments, False)
    picks = pick_columns(label, width, where) if label is not None else ()
    return Form("columns", tab, width, picks, comments, label is not None)


def pick_fields(label: str, where: str) -> tuple[int, ...]:
    names = label.lower().split("+")
    if not FIELDS.keys() >= set(names) or len(set(names)) < len(names):
        raise DataError(
            f"{where}: {label!r} is no label of CoNLL-U; choose --label upos, xpos, feats or a joint such as upos+feats"
        )
    return tuple(FIELDS[name] for name in names)


def pick_columns(label: str, width: int, where: str) -> tuple[int, ...]:
    parts = [str(width)] if label.lower() == "last" else label.split("+")
    if not all(part.isascii() and part.isdigit() for part in parts) or len(set(parts)) < len(parts):
        raise DataError(f"{where}: {label!r} is no label column; choose --label last, 3 or 2+3, counted from 1")
    numbers = [int(part) for part in parts]
    for number in numbers:
        if not 1 <= number <= width:
            raise DataError(f"{where}: no label column {number}; columns in the file: {width}, counted from 1")
    if min(numbers) == 1:
        raise DataError(f"{where}: nothing stands before the label in column 1 of {width}; put the token before it")
    return tuple(number - 1 for number in numbers)


def parse(lines: list[str], first: int, form: Form, name: str) -> Sentence:
    """The sentence of these lines, of which `first` is the first's number. It may turn out to have no token."""
    at = list(range(len(lines)))
    tokens = lines
    if form.comments:
        at = [i for i, line in enumerate(lines) if not is_comment(line, form.kind)]
        tokens = [lines[i] for i in at]
    if form.kind == "text":
        rows = [[word] for line in tokens for word in line.split()]
        return Sentence(rows, None, lines, [0] * len(rows), first, form)
    cells = [line.split("\t") for line in tokens] if form.tab else [PIECE.findall(line) for line in tokens]
    if set(map(len, cells)) - {form.width}:
        i, count = next((i, len(row)) for i, row in zip(at, cells, strict=True) if len(row) != form.width)
        want = "CoNLL-U has 10, with a TAB between" if form.kind == "conllu" else f"the first token has {form.width}"
        mend = "mend this line"
        if not form.tab:
            mend = f"{mend}, or for a sentence a line choose --format text"
        raise DataError(f"{name}:{first + i}: {count} {'column' if count == 1 else 'columns'}, but {want}; {mend}")
    if form.kind == "conllu":
        for i, row in zip(at, cells, strict=True):
            if not row[0].isdecimal() and not RANGE_OR_EMPTY.fullmatch(row[0]):
                raise DataError(f"{name}:{first + i}: {row[0]!r} is no CoNLL-U id; use 1, a range 1-2 or a node 1.1")
        at = [i for i, row in zip(at, cells, strict=True) if row[0].isdecimal()]
        cells = [row for row in cells if row[0].isdecimal()]
    labels = labels_of(cells, at, first, form, name) if form.labelled else None
    rows = cells
    if form.kind == "conllu":
        rows = [row[1:6] for row in cells]
        for row, pick in itertools.product(rows, form.picks):
            row[pick - 1] = "_"
    elif form.picks:
        cut = min(form.picks)
        for row in rows:
            del row[cut:]
    return Sentence(rows, labels, lines, at, first, form)


def labels_of(cells: list[list[str]], at: list[int], first: int, form: Form, name: str) -> list[str]:
    parts = [[row[pick] for row in cells] for pick in form.picks]
    for pick, column in zip(form.picks, parts, strict=True):
        if "" in column:
            line = first + at[column.index("")]
            raise DataError(f"{name}:{line}: the label in column {pick + 1} is empty; fill it in")
        if form.kind == "conllu" and pick != max(form.picks) and "|" in "".join(column):
            i, cell = next((i, cell) for i, cell in zip(at, column, strict=True) if "|" in cell)
            raise DataError(
                f"{name}:{first + i}: {cell!r} holds '|' and could not be told from the rest of the joint label; "
                "choose another --label"
            )
    return parts[0] if len(parts) == 1 else ["|".join(cell) for cell in zip(*parts, strict=True)]
