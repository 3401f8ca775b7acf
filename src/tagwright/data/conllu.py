"""CoNLL-U (https://universaldependencies.org/format.html): ten columns with a TAB between them, and comments."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tagwright import _core
from tagwright.data.columns import check_widths, joined_labels
from tagwright.data.files import DataError
from tagwright.data.sentence import Form, Request, Sentence

FIELDS = {"upos": 3, "xpos": 4, "feats": 5}
"""The fields that may hold a label."""

_WIDTH = 10
_READ = 5  # FORM, LEMMA, UPOS, XPOS, FEATS
_MISC = 9
_SHARES = ("Prob=", "Probs=")
_COMMENT = re.compile(r"# (sent_id|text|newdoc|newpar|global\.columns)\b.*=|# (newdoc|newpar)\b")
_FIRST_TOKEN = re.compile(r"1(-\d+)?\t[^\t]+\t[^\t]+\t[^\t]+\t")
_RANGE_OR_EMPTY = re.compile(r"\d+[-.]\d+")


class Conllu(Form):
    """CoNLL-U; tagged, the label replaces the fields it is read from.

    A row is FORM, LEMMA, UPOS, XPOS and FEATS, with ``_`` for the label. Ranges (``1-2``) and empty nodes (``1.1``)
    are not tokens.
    """

    name = "conllu"
    suffixes = (".conllu", ".conll-u")
    separator = " "

    def __init__(self, line: str, number: int, request: Request) -> None:
        """Find the fields where labels are read from or, without a label, written to."""
        super().__init__(line, number, request)
        label = request.fields if request.label is None else request.label
        names = [] if label is None else label.lower().split("+")
        if not FIELDS.keys() >= set(names) or len(set(names)) < len(names):
            remedy = "choose --label upos, xpos, feats or a joint such as upos+feats"
            raise self.error(number, f"{label!r} is not a label of CoNLL-U; {remedy}")
        self.picks = tuple(FIELDS[name] for name in names)

    @staticmethod
    def has_comment(line: str) -> bool:
        """Return whether the line is a comment such as ``# sent_id = 1``."""
        return _COMMENT.match(line) is not None

    @staticmethod
    def has_token(line: str, request: Request) -> bool:
        """Return whether the line has ten columns and the ID 1."""
        return line.count("\t") + 1 == _WIDTH and _FIRST_TOKEN.match(line) is not None

    @staticmethod
    def is_comment(line: str, request: Request) -> bool:
        """Return whether the line begins with ``#``."""
        return line.startswith("#")

    def sentence(self, lines: list[str], first: int) -> Sentence:
        """Return the tokens and the label."""
        numbered = [(i, line.split("\t")) for i, line in enumerate(lines) if not line.startswith("#")]
        expected = "CoNLL-U has 10, with a TAB between; fix this line"
        check_widths(self, [row for _, row in numbered], _WIDTH, expected, [i for i, _ in numbered], first)
        at, tokens = [], []
        for i, row in numbered:
            if row[0].isdecimal():
                at.append(i)
                tokens.append(row)
            elif not _RANGE_OR_EMPTY.fullmatch(row[0]):
                raise self.error(first + i, f"{row[0]!r} is not a CoNLL-U ID; use 1, a range 1-2 or a node 1.1")
        labels = None
        if self.request.label is not None:
            labels = joined_labels(self, tokens, self.picks, at, first)
            self._check_bars(tokens, at, first)
        rows = [row[1 : 1 + _READ] for row in tokens]
        for row in rows:
            for pick in self.picks:
                row[pick - 1] = "_"
        return Sentence(rows, labels, lines, at, first, self)

    def tagged(self, sentence: Sentence, labels: Sequence[str], shares: Sequence[str]) -> list[str]:
        """Return the lines with the label in its fields, and in MISC its probability as ``Prob=``, all as ``Probs=``.

        In those a ``|`` is written ``\\p`` and a backslash twice, as UDPipe writes them.
        """
        lines = sentence.lines.copy()
        for i, label, share in zip(sentence.at, labels, shares, strict=True):
            fields = lines[i].split("\t")
            for pick, part in zip(self.picks, self._parts(label), strict=True):
                fields[pick] = part
            if share:
                kept = [fact for fact in fields[_MISC].split("|") if fact != "_" and not fact.startswith(_SHARES)]
                own, _, others = share.partition(self.separator)
                kept.append(f"Prob={own}")
                if others:
                    kept.append("Probs=" + others.replace("\\", "\\\\").replace("|", "\\p"))
                fields[_MISC] = "|".join(kept)
            lines[i] = "\t".join(fields)
        lines.append("")
        return lines

    def joined(self, sentence: Sentence) -> list[bool]:
        """Return for each token whether it has ``SpaceAfter=No``; words of a range are joined if they spell it."""
        ids = {sentence.lines[i].split("\t")[0]: t for t, i in enumerate(sentence.at)}
        found = [_no_space_after(sentence.lines[i]) for i in sentence.at]
        for line in sentence.lines:
            ends = [ids.get(end) for end in line.split("\t")[0].split("-")]
            if len(ends) == 2 and ends[0] is not None and ends[1] is not None:
                first, last = ends[0], ends[1]
                spelled = "".join(row[0] for row in sentence.rows[first : last + 1])
                found[first:last] = [spelled == line.split("\t")[1]] * (last - first)
                found[last] = _no_space_after(line)
        return found

    def line_format(self) -> _core.LineFormat | None:
        """Return the format for the core's reader: a requested label is read, otherwise one is written."""
        return _core.LineFormat.make(
            conllu=True, comments=True, tab=True, width=_WIDTH, columns=_READ, picks=self.picks,
            labelled=self.request.label is not None, separator=self.separator,
        )  # fmt: skip

    def _check_bars(self, rows: list[list[str]], at: list[int], first: int) -> None:
        """Raise DataError at a ``|`` in any but the rightmost field of a joint label."""
        for pick in self.picks:
            if pick == max(self.picks):
                continue
            for i, row in zip(at, rows, strict=True):
                if "|" in row[pick]:
                    what = f"{row[pick]!r} holds '|' and could not be distinguished from the rest of the joint label"
                    raise self.error(first + i, f"{what}; choose another --label")

    def _parts(self, label: str) -> list[str]:
        """Return the fields of a label. Only the rightmost field, FEATS or else XPOS, may hold ``|`` itself."""
        if not self.picks:
            raise ValueError("no place for the labels; read the file with label upos, xpos, feats or a joint")
        wild = self.picks.index(max(self.picks))
        *parts, rest = label.split("|", wild)
        parts += rest.rsplit("|", len(self.picks) - 1 - wild)
        if len(parts) != len(self.picks):
            joint = "+".join(field for pick in self.picks for field, at in FIELDS.items() if at == pick)
            remedy = "choose the --label that the model was trained on"
            raise DataError(f"label {label!r} is not of the form {joint}; {remedy}")
        return parts


def _no_space_after(line: str) -> bool:
    return "SpaceAfter=No" in line.split("\t")[_MISC].split("|")
