"""HTML as a browser reads it, strictly: what is open is closed, and nothing runs."""

import itertools
from html.parser import HTMLParser

HOSTILE = [
    "<script>alert(1)</script>",
    "</td></table><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "' style='position:fixed",
    "&lt;b&gt; &amp; &#60;",
    "]]> --> <!-- <![CDATA[",
    "</style></svg></title><svg onload=alert(1)>",
    "\u202eright to left\u2066",
    "שלום",
    "a\x00b\x07c\x1b[31md\x7fe\x85f",
    "\ud800 half",
    "line\u2028separator\ufeff",
    "{} %s $x^2$ \\n ${7*7}",
    "x" * 10_000,
    "a̸̢̛͓",
]
"""Words and labels that a page must show as they are, and do nothing else."""

VOID = {"meta", "col", "br", "img", "link", "input", "hr"}


class Document(HTMLParser):
    """The elements of a page: names and attributes, what stands in those of each name, and the cells of each row.

    `rows` has the rows of all tables, `tables` those of each.
    """

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.texts, self.rows, self.tables = [], [], {}, [], []
        self.feed(text)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs), f"an attribute of {tag} stands twice"
        if tag not in VOID:
            self.open.append(tag)
            self.texts.setdefault(tag, []).append("")
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.rows.append([])
            self.tables[-1].append(self.rows[-1])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        for tag in {*self.open}:
            self.texts[tag][-1] += data
        if {"td", "th"} & {*self.open}:
            self.rows[-1][-1] += data

    def check_accessible(self):
        """Tables have headers, pictures have names or are hidden, what scrolls can be focused and has a name."""
        for rows in self.tables:
            assert len(rows) > 1
        heads = [own for tag, own in self.elements if tag == "th"]
        assert all(own.get("scope") in ("row", "col") for own in heads)
        assert all(text.strip() for text in self.texts.get("th", []))
        assert self.texts.get("table", []) == [] or len(heads) >= 2 * len(self.tables)
        for tag, own in self.elements:
            if tag == "svg":
                assert own.get("aria-hidden") == "true" or (own.get("role") == "img" and own["aria-label"].strip())
            if "tabindex" in own or "wide" in own.get("class", "").split():
                assert own["tabindex"] == "0", own
                assert own["role"] == "group"
                assert own["aria-label"].strip()
        names = [own["id"] for _, own in self.elements if "id" in own]
        assert len({*names}) == len(names)
        assert {own["href"][1:] for tag, own in self.elements if tag == "a"} <= {*names}
        assert {own["aria-labelledby"] for _, own in self.elements if "aria-labelledby" in own} <= {*names}
        levels = [int(tag[1]) for tag, _ in self.elements if tag in ("h1", "h2", "h3", "h4")]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in itertools.pairwise(levels))

    def check_quiet(self):
        """Nothing runs, nothing is loaded from elsewhere, and nothing is hidden in the text."""
        for tag, attributes in self.elements:
            assert tag not in {"script", "iframe", "object", "embed", "link", "img", "form", "base"}, tag
            for name, value in attributes.items():
                assert not name.startswith("on"), name
                assert name not in {"href", "src", "action"} or value.startswith("#"), value
        for text in self.texts.get("body", self.texts.get("table", [])):
            hidden = [c for c in text if (ord(c) < 32 and c != "\n") or c in "\x7f\x85\u202e\u2066\u2028\ufeff\ud800"]
            assert hidden == []
