"""What a model holds, and a parser of the text that `Tagger.dump` writes."""

from __future__ import annotations

import re


class ParsedDump:
    """The contents of a model, as `Tagger.info` returns them.

    Attributes
    ----------
    header : dict
        Sizes, as strings: ``size``, ``num_labels``, ``num_attrs`` and others.
    labels, attributes : dict
        The number of each label and attribute, as a string.
    transitions : dict
        Weights of pairs of labels: ``{(previous, current): weight}``.
    state_features : dict
        Weights of attributes with labels: ``{(attribute, label): weight}``.
    """

    def __init__(self) -> None:
        """Return an empty description."""
        self.header: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.attributes: dict[str, str] = {}
        self.transitions: dict[tuple[str, str], float] = {}
        self.state_features: dict[tuple[str, str], float] = {}

    def text(self) -> str:
        """Return the contents in the format of ``crfsuite dump``."""
        weights = ((1, "TRANSITIONS", self.transitions), (0, "STATE_FEATURES", self.state_features))
        blocks = [
            ("FILEHEADER", [f"  {name}: {value}" for name, value in self.header.items()]),
            ("LABELS", [f"{number:>7}: {name}" for name, number in self.labels.items()]),
            ("ATTRIBUTES", [f"{number:>7}: {name}" for name, number in self.attributes.items()]),
            *(
                (title, [f"  ({kind}) {a} --> {b}: {weight:f}" for (a, b), weight in entries.items()])
                for kind, title, entries in weights
            ),
        ]
        return "".join("\n".join([f"{title} = {{", *lines, "}", "", ""]) for title, lines in blocks)


_BLOCK = re.compile(r"(FILEHEADER|LABELS|ATTRIBUTES|TRANSITIONS|STATE_FEATURES) = \{")
_ENTRY = re.compile(r"(\w+): (.*)")
_WEIGHT = re.compile(r"\(\d+\) (.+) --> (.+): ([+-]?\d+\.\d+)")


class CRFsuiteDumpParser:
    """Reads the output of ``crfsuite dump`` line by line into `result`, a `ParsedDump`."""

    def __init__(self) -> None:
        """Begin outside of all blocks."""
        self.state: str | None = None
        self.result = ParsedDump()

    def feed(self, line: str) -> None:
        """Read one line; ValueError for a line that the format does not have."""
        # Names may end with blanks.
        line = line.lstrip().rstrip("\r\n")
        if not line:
            return
        if found := _BLOCK.match(line):
            self.state = found[1]
        elif line == "}":
            self.state = None
        else:
            self._entry(line)

    def _entry(self, line: str) -> None:
        own = self.result
        if self.state in ("TRANSITIONS", "STATE_FEATURES"):
            found = _WEIGHT.match(line)
            to = own.transitions if self.state == "TRANSITIONS" else own.state_features
            sources = own.labels if self.state == "TRANSITIONS" else own.attributes
            if found and found[1] in sources and found[2] in own.labels:
                to[found[1], found[2]] = float(found[3])
                return
        elif self.state is not None and (found := _ENTRY.match(line)):
            if self.state == "FILEHEADER":
                own.header[found[1]] = found[2]
            else:
                (own.labels if self.state == "LABELS" else own.attributes)[found[2]] = found[1]
            return
        raise ValueError(f"not a line of a dump: {line!r}")
