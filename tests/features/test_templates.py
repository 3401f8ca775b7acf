"""Features: templates against a plain-Python reading of them, ready-made ones against python-crfsuite."""

import contextlib
import random
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.corpora import names_of, weights_of
from support.limited import run_limited

import tagwright as tw
from tagwright import _core
from tagwright.features.templates import MACROS, PRESETS, Features, TemplateError
from tagwright.models.native import core_text

# The tables of the core are of this version.
TABLES = "14.0.0"
NOTHING = ("Cn", "Co")

KINDS = {"Lu": "X", "Lt": "X", "Ll": "x", "Lo": "o", "Lm": "o", "Nd": "d"}


# The reference: what the documentation says, a character at a time.


def lower_of(text):
    # The simple mapping: one character to one. U+0130 is the only one whose lower case is longer.
    return "".join(c.lower() if len(c.lower()) == 1 else "i" for c in text)


def shape_of(text):
    signs = [KINDS.get(unicodedata.category(c), c) for c in text]
    return "".join(c for n, c in enumerate(signs) if n == 0 or c != signs[n - 1])


def kinds_of(text):
    return [KINDS.get(unicodedata.category(c), unicodedata.category(c)[0]) for c in text]


def digit_of(text):
    kinds = kinds_of(text)
    if "d" not in kinds:
        return "none"
    return "all" if all(k == "d" or c in ".,-/:" for k, c in zip(kinds, text, strict=True)) else "some"


def capital_of(text):
    kinds = kinds_of(text)
    if "X" not in kinds:
        return "none"
    if "x" not in kinds and len(kinds) > 1:
        return "all"
    return "first" if kinds[0] == "X" and kinds.count("X") == 1 else "some"


def punct_of(text):
    marks = [k == "P" for k in kinds_of(text)]
    return "all" if marks and all(marks) else "some" if any(marks) else "none"


def marks_of(entries, cells):
    entries = {" ".join(word for word in re.split("[ \t]+", lower_of(entry)) if word) for entry in entries} - {""}
    lowered = [lower_of(cell) for cell in cells]
    marks = []
    while len(marks) < len(cells):
        t = len(marks)
        fits = [n for n in range(1, len(cells) - t + 1) if " ".join(lowered[t : t + n]) in entries]
        marks += ["B", *["I"] * (max(fits) - 1)] if fits else ["O"]
    return marks


def folded_of(text):
    return "".join("0" if unicodedata.category(c) == "Nd" else c for c in text)


def table_of(entries):
    """The cells behind each word of a table, in the order of the file."""
    table = {}
    for entry in entries:
        word, *cells = entry.split("\t")
        table.setdefault(word, []).extend(cells)
    return table


def elected(paths):
    """The path of most votes, part by part; of two with as many, the first."""
    for depth in range(1, 9):
        parts = [path.split(".")[:depth] for path in sorted(paths)]
        most = max(parts, key=parts.count)
        paths = [path for path in sorted(paths) if path.split(".")[:depth] == most]
    return paths[0]


def known_of(word, table, suffixes):
    forms = [word, folded_of(word), lower_of(word), folded_of(lower_of(word))]
    found = [table[form] for form in forms if form in table]
    if found or not suffixes:
        return found[0] if found else None
    last = forms[-1]
    for n in range(5, 1, -1):
        same = [
            cells[0]
            for own, cells in table.items()
            if len(own) > n and folded_of(lower_of(own))[-n:] == last[-n:] and len(last) > n
        ]
        if len(same) >= 3:
            return [elected(same)]
    return None


def class_of(word, entries, parts):
    known = known_of(word, table_of(entries), suffixes=True)
    if known is None or not parts:
        return known and known[0]
    if "." not in known[0]:
        return known[0][: int(parts)]
    return ".".join(known[0].split(".")[: int(parts)])


def values_of(word, entries, number):
    known = known_of(word, table_of(entries), suffixes=False)
    if known is None:
        return None
    values = list(dict.fromkeys(value for cell in known for value in cell.split(",")))
    if number:
        return values[int(number) - 1] if int(number) <= len(values) else None
    return "|".join(sorted(values))


def shown(macro, more, cells, lists):
    """What a macro shows of each token; None where that is nothing."""
    if macro == "in":
        return marks_of(lists[more], cells)
    if macro in {"class", "lexicon"}:
        name, _, number = more.partition(",")
        return [{"class": class_of, "lexicon": values_of}[macro](cell, lists[name], number) for cell in cells]
    if macro in {"Prefix", "Suffix"}:
        return shown(macro.lower(), more, [lower_of(cell) for cell in cells], lists)
    if macro == "prefix":
        return [cell[: int(more)] if len(cell) >= int(more) else None for cell in cells]
    if macro == "suffix":
        return [cell[-int(more) :] if len(cell) >= int(more) else None for cell in cells]
    one = {"x": str, "lower": lower_of, "shape": shape_of, "digit": digit_of, "capital": capital_of, "punct": punct_of}
    return [one[macro](cell) for cell in cells]


def kind_of(entries):
    """The macro whose star stands for a list."""
    first = "\t".join(entries[0].split("\t")[:2]) if entries else ""
    return {"word\tclass": "class", "word\tvalues": "lexicon"}.get(first, "in")


def expanded(text, sentence, lists):
    """Features of each token: of its nodes, and of the edges into it."""
    T = len(sentence)
    out = [([], []) for _ in range(T)]
    lines = []
    for line in text.split("\n"):
        starred = re.search(r"%(in|class|lexicon)\[[^],]*,[^],]*,\*", line)
        if starred:
            names = [name for name, entries in sorted(lists.items()) if kind_of(entries) == starred[1]]
            lines += [(line.replace(",*", f",{name}") + f"@{name}", starred[1] == "in") for name in names]
        else:
            lines.append((line, False))
    for line, finds in lines:
        if not line or line.startswith("#") or (line[0] == "B" and not re.search(r"%[a-zA-Z]", line.replace("%%", ""))):
            continue
        pieces = re.split(r"(%%|%[a-zA-Z]+\[[^]]*\])", line)
        for t in range(T):
            if line[0] == "B" and t == 0:
                continue
            made, found = [], False
            for piece in pieces:
                macro = re.fullmatch(r"%([a-zA-Z]+)\[([^]]*)\]", piece)
                if macro is None:
                    made.append("%" if piece == "%%" else piece)
                    continue
                row, column, *more = macro[2].split(",")
                at = t + int(row)
                if at < 0:
                    made.append(f"_B-{-at}")
                elif at >= T:
                    made.append(f"_B+{at - T + 1}")
                else:
                    cells = [token[int(column)] for token in sentence]
                    made.append(shown(macro[1], ",".join(more) or None, cells, lists)[at])
                    found = found or (macro[1] == "in" and made[-1] != "O")
            if None not in made and (found or not finds):
                out[t][line[0] == "B"].append("".join(made))
    return out


def expand(text, X, lists=None, s=0):
    features = Features(text, lists)
    return features.core.expand(_core.Text.from_rows(X, features.columns), s)


def test_affixes_in_lower_case():
    """Lower case may have other characters and more bytes; capitals and small letters share features."""
    X = [["RUNS", "runs", "\u0130X", "ÉTÉ", "a"]]
    assert [own for own, _ in expand("U:%Suffix[0,0,3]\n", X)] == [["U:uns"], ["U:uns"], [], ["U:été"], []]
    assert [own for own, _ in expand("U:%Prefix[0,0,1]\n", X)] == [["U:r"], ["U:r"], ["U:i"], ["U:é"], ["U:a"]]


# Random templates over random tokens

CHARACTERS = st.one_of(
    st.sampled_from("aAbBzZ09.,-/:' _%\u0301\u200d\u0130ßǅʰ中あ가٣½№😀👩\U0001d400\x00"),
    st.characters(codec="utf-8", max_codepoint=0x2FFFF, exclude_categories=["Cn", "Cs"])
    if unicodedata.unidata_version == TABLES
    else st.characters(codec="ascii"),
)
CELLS = st.text(CHARACTERS, max_size=5)
WORDS = st.sampled_from(["new", "New", "york", "YORK", "city", "x", "ǅ", "ǆ", "٣1", "vaa", "CAB", "0É"])
LISTS = {
    "place": ["New York", "new york city", "YORK", " city \t x "],
    "odd": ["ǆ", "x x x", "", " "],
    "classes": [
        "new\t0.10",
        "YORK\t0.11",
        "ǆ\t1",
        "00\t1.0",
        "xaa\t1.0.1",
        "baa\t1.0.0",
        "zaa\t1.1",
        "Caa\t0",
        "city\t́é.x",
    ],
    "paths": ["new\t0110", "x\téa中", "aAb\t01", "bab\t10", "zab\t10"],
    "lexicon": ["new\tJJ,RB", "york\tNNP", "x\tB\tA,B", "new\tRB\tVB", "0é\tCD"],
}
ROWS = st.integers(-3, 3)
LITERALS = st.text(st.characters(codec="utf-8", exclude_characters="%\n\r#"), max_size=4)


@st.composite
def macros(draw, columns):
    # %y has tests of its own; those of Wapiti are compared with Wapiti itself.
    name = draw(st.sampled_from([name for name in MACROS if name not in {"y", *"tmXTM"}]))
    more = dict.fromkeys(["prefix", "suffix", "Prefix", "Suffix"], st.integers(1, 4))
    more["in"] = st.sampled_from(["odd", "place"])
    more["class"] = st.sampled_from(["classes", "paths", "classes,1", "classes,2", "paths,2"])
    more["lexicon"] = st.sampled_from(["lexicon", "lexicon,1", "lexicon,2", "lexicon,4"])
    arguments = [draw(ROWS), draw(st.integers(0, columns - 1)), *([draw(more[name])] if name in more else [])]
    return f"%{name}[{','.join(map(str, arguments))}]"


@st.composite
def template_lines(draw, columns):
    pieces = st.one_of(macros(columns), LITERALS, st.just("%%"))
    return draw(st.sampled_from("UB")) + "".join(draw(st.lists(pieces, max_size=5)))


@st.composite
def cases(draw):
    columns = draw(st.integers(1, 3))
    lines = draw(st.lists(template_lines(columns), min_size=1, max_size=5))
    token = st.lists(st.one_of(CELLS, WORDS), min_size=columns, max_size=columns)
    X = draw(st.lists(st.lists(token, max_size=6), min_size=1, max_size=2))
    return "\n".join(lines) + "\n", X


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(cases())
@example(("U:%shape[0,0]\n", [[["\x00\x00a"]]]))
@example(("U:%in[0,0,place]/%in[1,0,odd]\n", [[["New"], ["york"], ["City"], ["x"], ["x"], ["x"]]]))
def test_templates_give_what_the_reference_gives(case):
    text, X = case
    for s, sentence in enumerate(X):
        assert expand(text, X, LISTS, s) == expanded(text, sentence, LISTS)


def test_the_page_and_the_table_agree():
    page = (Path(__file__).resolve().parents[2] / "docs" / "templates.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `%([a-zA-Z]+)\[([a-z,\"]+)\]` \| (.*) \|$", page, flags=re.M)
    plain = [
        (name, inside.replace('"', "").split(","), re.sub(r"\[(.*?)\]\(.*?\)", r"\1", gives))
        for name, inside, gives in rows
    ]
    assert [(name, inside, gives.replace("`", "")) for name, inside, gives in plain] == [
        (macro.name, macro.arguments, macro.meaning) for macro in MACROS.values()
    ]


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.one_of(WORDS, CELLS), min_size=1, max_size=8),
    st.lists(st.lists(WORDS, min_size=1, max_size=3), max_size=4),
)
def test_lists_mark_the_longest_entry_from_the_left(words, entries):
    lists = {"l": [" ".join(entry) for entry in entries]}
    X = [[[word] for word in words]]
    assert expand("U%in[0,0,l]\n", X, lists) == expanded("U%in[0,0,l]\n", X[0], lists)


def test_entries_that_overlap():
    """Few words, so that entries are parts of each other; tokens of several words, or with blanks where none are."""
    rng = random.Random(7)
    for _ in range(400):
        words = "ab" if rng.random() < 0.5 else "abc"
        entries = [" ".join(rng.choices(words, k=rng.randint(1, 6))) for _ in range(rng.randint(1, 8))]
        tokens = rng.choices([*words * 8, "a b", "b a a", "", " a", "a ", "a  b", "A\tb", "x"], k=rng.randint(1, 20))
        X = [[[token] for token in tokens]]
        found = [nodes[0].removeprefix("U") for nodes, _ in expand("U%in[0,0,l]\n", X, {"l": entries})]
        assert found == marks_of(entries, tokens), (entries, tokens)


ONE_LONG_ENTRY = """
    from tagwright import Features, _core
    entries = ["a " * 100_000, "a a b"]
    features = Features("U%in[0,0,l]\\n", {"l": entries})
    for last, marks in (("a", "O"), ("b", "BII")):
        text = _core.Text.from_rows([["a"] * 40_000 + [last]], 1)
        found = "".join(nodes[0][1] for nodes, _ in features.core.expand(text, 0))
        assert found == "O" * (40_001 - len(marks)) + marks, found[-9:]
"""


def test_long_entries_cost_no_more_than_short_ones():
    """Trying every entry at every token would take hours, not the minute that there is."""
    done = run_limited(ONE_LONG_ENTRY, seconds=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(unicodedata.unidata_version != TABLES, reason="this Python knows other characters")
def test_every_character():
    references = {"lower": lower_of, "shape": shape_of, "digit": digit_of, "capital": capital_of, "punct": punct_of}
    text = "".join(f"U{macro}:%{macro}[0,0]\n" for macro in references)
    # Of those that are nothing, or for private use, some are enough.
    everything = [
        c
        for n, c in enumerate(map(chr, range(sys.maxunicode + 1)))
        if n % 499 == 0 or unicodedata.category(c) not in NOTHING
    ]
    everything = [c for c in everything if unicodedata.category(c) != "Cs"]
    assert len(everything) > 140_000
    found = expand(text, [everything])
    wrong = [
        (c, nodes)
        for c, (nodes, _) in zip(everything, found, strict=True)
        if nodes != [f"U{macro}:{reference(c)}" for macro, reference in references.items()]
    ]
    assert not wrong[:20]


@pytest.mark.parametrize(
    ("macro", "word", "shows"),
    [
        ("x", "", ""),
        ("lower", "ÄÖ İSTANBUL ΣΑΣ", "äö istanbul σασ"),
        ("lower", "ǅAẞ", "ǆaß"),
        ("shape", "McDonald's", "XxXx'x"),
        ("shape", "U.S.", "X.X."),
        ("shape", "1,234.5kg", "d,d.dx"),
        ("shape", "中文ABCあ", "oXo"),
        ("shape", "e\u0301e\u0301", "x\u0301x\u0301"),
        ("shape", "--", "-"),
        ("digit", "1,234.50", "all"),
        ("digit", "-/:", "none"),
        ("digit", "٣", "all"),
        ("digit", "B52", "some"),
        ("capital", "U", "first"),
        ("capital", "USA", "all"),
        ("capital", "U.S.", "all"),
        ("capital", "U2", "all"),
        ("capital", "Usa", "first"),
        ("capital", "iPod", "some"),
        ("capital", "McDonald", "some"),
        ("capital", "中", "none"),
        ("punct", "...", "all"),
        ("punct", "«»", "all"),
        ("punct", "don't", "some"),
        ("punct", "$+", "none"),
        ("punct", "", "none"),
    ],
)
def test_macros_by_hand(macro, word, shows):
    assert expand(f"U:%{macro}[0,0]\n", [[word]]) == [([f"U:{shows}"], [])]


def test_affixes_are_counted_in_characters():
    word = "😀é中e\u0301"
    text = "".join(f"U{n}:%prefix[0,0,{n}]|%suffix[0,0,{n}]\n" for n in range(1, 8))
    assert expand(text, [[word]]) == [
        (["U1:😀|\u0301", "U2:😀é|e\u0301", "U3:😀é中|中e\u0301", "U4:😀é中e|é中e\u0301", f"U5:{word}|{word}"], [])
    ]


def test_beyond_the_ends_as_crfpp_writes_it():
    text = "U:%x[-2,0]/%x[-1,0]/%x[0,0]/%x[1,0]/%x[+2,0]\n"
    assert [nodes for nodes, _ in expand(text, [["a", "b"]])] == [
        ["U:_B-2/_B-1/a/b/_B+1"],
        ["U:_B-1/a/b/_B+1/_B+2"],
    ]
    # A suffix that is not there gives no feature; a token that is not there does.
    assert expand("U:%suffix[1,0,3]\n", [["a", "ab"]]) == [([], []), (["U:_B+1"], [])]


def test_a_columns_template():
    text = "U02:%x[0,0]\nU10:%x[-1,1]/%x[0,1]\nB11:%x[0,1]\n"
    X = [[["He", "PRP"], ["reckons", "VBZ", "more"]]]
    assert Features(text).columns == 2
    assert expand(text, X) == [
        (["U02:He", "U10:_B-1/PRP"], []),
        (["U02:reckons", "U10:PRP/VBZ"], ["B11:VBZ"]),
    ]


def test_word_lists():
    lists = {"place": ["New York", "york city hall"], "first": ["NEW"]}
    X = [["in", "new", "York", "city", "hall"], ["York", "City", "Hall"]]
    marks = [[nodes[0] for nodes, _ in expand("U:%in[0,0,place]\n", X, lists, s)] for s in (0, 1)]
    assert marks == [["U:O", "U:B", "U:I", "U:O", "U:O"], ["U:B", "U:I", "U:I"]]
    starred = expand("U70:%in[-1,0,*]/%in[0,0,*]\n", X, lists)
    assert starred[1][0] == ["U70:O/B@first", "U70:O/B@place"]
    assert starred[2][0] == ["U70:B/O@first", "U70:B/I@place"]
    assert [starred[t][0] for t in (0, 3, 4)] == [[], ["U70:I/O@place"], []]
    assert Features("U:%x[0,0]\nU:%in[0,0,*]\n").templates == Features("U:%x[0,0]\n").templates


def test_word_tables_stand_for_the_stars_of_their_kind():
    lists = {"b": ["word\tclass", "the\t0.1"], "l": ["word\tvalues", "the\tDT"], "n": ["the"]}
    text = "U1:%class[0,0,*,1]\nU2:%lexicon[0,0,*]\nU3:%in[0,0,*]\nU4:%class[1,0,b]\n"
    assert expand(text, [["The", "x"]], lists) == [(["U1:0@b", "U2:DT@l", "U3:B@n"], []), (["U4:_B+1"], [])]
    # Without tables, the lines are ignored.
    assert Features("U:%x[0,0]\nU:%class[0,0,*]\n").templates == Features("U:%x[0,0]\n").templates


def test_word_lists_from_a_file(tmp_path):
    path = tmp_path / "places.txt"
    path.write_text("New York\n\nParis\n", encoding="utf-8")
    assert Features("U:%in[0,0,p]\n", {"p": path}).lists == {"p": ["New York", "Paris"]}


def test_models_hold_word_tables(tmp_path):
    """The table is stored once, in a canonical form; labels are the same after loading."""
    classes = tmp_path / "classes.tsv"
    classes.write_text("word\tclass\tcount\ndog\t0.1\t9\ncat\t0.1\t5\nruns\t1.0\t4\n", encoding="utf-8")
    text = "U0:%class[0,0,c]\nU1:%class[-1,0,c,1]/%class[0,0,c,1]\nU2:%lexicon[0,0,l]\nB\n"
    features = Features(text, {"c": classes, "l": ["sat\tVBD,VBN"]})
    assert features.lists == {"c": ["word\tclass", "\t0.1\tdog cat", "\t1.0\truns"], "l": ["\tVBD\tVBN\tsat"]}
    model = tw.CRF(features, epochs=5).fit([["dog", "runs"], ["dog", "sat"]], [["N", "V"], ["N", "D"]]).model_
    X = [["Cat", "RUNS"], ["cat", "sat"], ["unknown", "cat"]]
    assert [model.tag(sentence) for sentence in X[:2]] == [["N", "V"], ["N", "D"]]
    model.save(tmp_path / "m")
    loaded = tw.load(tmp_path / "m")
    assert [loaded.tag(sentence) for sentence in X] == [model.tag(sentence) for sentence in X]
    assert loaded.features.lists == features.lists
    assert "U0:0.1" in [line.feature for line in loaded.explain(["Cat"], 0).reasons[0].contributions]
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_only_lists_that_are_named_are_kept():
    assert Features("U:%in[0,0,b]\n", {"a": ["x"], "b": ["y"]}).lists == {"b": ["y"]}


@pytest.mark.parametrize("name", ["100%", "a\\1", "a]b", "a,b", "*", "%x[0,0]"])
def test_any_list_name_may_stand_for_the_star_or_is_refused_by_name(name):
    made = None
    with contextlib.suppress(TemplateError):
        made = expand("U:%in[0,0,*]\n", [["a"]], {name: ["a"]})
    if made is None:
        with pytest.raises(TemplateError, match=re.escape(repr(name))):
            Features("U:%in[0,0,*]\n", {name: ["a"]})
    else:
        assert made == [([f"U:B@{name}"], [])]


# CRF++'s conventions


def test_crfpp_template_file(tmp_path):
    text = "# Unigram\nU00:%x[-1,0]\n\n   \nU01:100%%/%x[0,0]\n# Bigram\nB\nB01:%x[0,0]\nU02\n"
    for name, content in [
        ("lf", text.encode()),
        ("crlf", text.replace("\n", "\r\n").encode()),
        ("bom", b"\xef\xbb\xbf" + text.encode()),
        ("no_end", text.rstrip("\n").encode()),
    ]:
        path = tmp_path / name
        path.write_bytes(content)
        features = Features(path)
        assert features.edges
        assert features.columns == 1
        assert features.core.expand(_core.Text.from_rows([["a", "b"]], 1), 0) == [
            (["U00:_B-1", "U01:100%/a", "U02"], []),
            (["U00:a", "U01:100%/b", "U02"], ["B01:b"]),
        ]
        again = Features.restored(features.text, features.lists)
        assert (again.templates, again.edges) == (features.templates, features.edges)


def test_edges():
    assert Features("B\n").edges
    assert Features("B05\n").edges
    assert not Features("B:%x[0,0]\n").edges
    assert not Features("U:%x[0,0]\n").edges
    assert Features("B\n").columns == 0


@pytest.mark.parametrize(
    ("line", "column", "says"),
    [
        ("U:%word[0,0]", 3, "no macro %word; there are %x, %lower"),
        ("U:%x[0]", 3, r"%x is written %x[row,column], not %x[0]"),
        ("U:a/%x[0,0,1]", 5, "%x is written %x[row,column]"),
        ("U:%prefix[0,0]", 3, "%prefix is written %prefix[row,column,length]"),
        ("U:%in[0,0]", 3, "%in is written %in[row,column,list]"),
        ("U:%x[one,0]", 3, "row must be a whole number from -1000 to 1000, not 'one'"),
        ("U:%x[0,-1]", 3, "column must be a whole number from 0 to 10000, not '-1'"),
        ("U:%x[0,1.5]", 3, "column must be"),
        ("U:%x[1001,0]", 3, "row must be"),
        ("U:%suffix[0,0,0]", 3, "length must be a whole number from 1 to 1000, not '0'"),
        ("U:%x[²,0]", 3, "row must be"),
        ("U:%x[,0]", 3, "row must be"),
        ("U:%x[0,0]%", 10, "write %%"),
        ("U:%x[0,0", 3, "write %%"),
        ("X:%x[0,0]", 1, "begins with U (for labels) or B (for edges), not 'X'"),
        (" U:%x[0,0]", 1, "not ' '"),
        ("U:%in[0,0,places]", 3, "no word list named 'places'; there are known"),
    ],
)
def test_errors_name_file_line_and_column(tmp_path, line, column, says):
    path = tmp_path / "templates.txt"
    path.write_text(f"# comment\nU00:%x[0,0]\n{line}\nB\n", encoding="utf-8")
    with pytest.raises(TemplateError) as error:
        Features(path, {"known": ["x"]})
    assert str(error.value).startswith(f"{path}:3:{column}: ")
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_files_that_are_not_templates(tmp_path):
    path = tmp_path / "templates.txt"
    for content in (b"", b"\n\n", b"# U:%x[0,0]\n"):
        path.write_bytes(content)
        with pytest.raises(TemplateError, match=re.escape(f"{path}: no template in it")):
            Features(path)
    path.write_bytes(b"U:%x[0,0]\nU\xff:%x[0,0]\n")
    with pytest.raises(TemplateError, match=re.escape(f"{path}:2: not UTF-8")):
        Features(path)
    with pytest.raises(TemplateError, match="no preset and no template file named 'poss'; presets: pos"):
        Features("poss")
    with pytest.raises(TemplateError, match="no word list named 'a'; give it with lists="):
        Features("U:%in[0,0,a]\n")
    for lists in (["dog"], "words.txt", 5):
        with pytest.raises(ValueError, match="lists must be a dict, from a name to entries or a path, not "):
            tw.Features("U:%in[0,0,a]\n", lists)
    with pytest.raises(ValueError, match="word list 'a' must be a list of strings"):
        Features("U:%in[0,0,a]\n", {"a": [1]})


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_presets(name):
    classes = ["word\tclass\tcount", "he\t0.0.1\t9", "New\t1.0.2\t5", "York\t1.1.3\t4", "0.0\t2.1.4\t3"]
    for lists in ({}, {"l": ["New York"]}, {"l": ["New York"], "c": classes}):
        features = Features(name, lists)
        assert features.edges
        X = [[[word, "TAG", "more"] for word in ("He", "saw", "New", "York", "1.5")]]
        found = features.core.expand(_core.Text.from_rows(X, features.columns), 0)
        assert found == expanded(PRESETS[name], X[0], lists)
    # No two templates give the same name.
    assert all(len(set(nodes)) == len(nodes) for nodes, _ in found)


# Ready-made features

NAMES = st.text("abcdefgh ñ中_", min_size=1, max_size=4)
NUMBERS = st.one_of(st.floats(-8, 8, width=16).filter(lambda x: abs(x) > 0.01), st.integers(1, 5), st.just(True))
VALUES = st.recursive(
    st.one_of(NAMES, NUMBERS, st.lists(NAMES, max_size=3, unique=True), st.sets(NAMES, max_size=3)),
    lambda inner: st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=4,
)
TOKENS = st.dictionaries(NAMES, VALUES, max_size=4)


def learned(token):
    """The features of a token and their values, as one epoch of training shows them.

    All weights are 0 at first, so every token gets the more frequent label, A. Only the token at hand has B: its
    features move once, by their values.
    """
    bias = {"=": 1.0}
    marked = [*token, "="] if isinstance(token, list) else token | bias
    X, y = [[marked], [["other"]], [["other"]]], [["B"], ["A"], ["A"]]
    nodes, _, _ = weights_of(tw.Perceptron(features=None, epochs=1).fit(X, y).model_)
    scale = nodes["=", "B"]
    return {name: weight / scale for (name, label), weight in nodes.items() if label == "B" and name != "="}


@settings(deadline=None, max_examples=150)
@given(TOKENS)
def test_dicts_as_pycrfsuite_reads_them(token):
    pycrfsuite = pytest.importorskip("pycrfsuite")
    (expected,) = pycrfsuite.ItemSequence([token]).items()
    assert learned(token) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("token", "features"),
    [
        ({"w": "x"}, {"w:x": 1.0}),
        ({"f": 2.5, "g": -3}, {"f": 2.5, "g": -3.0}),
        ({"yes": True, "no": False}, {"yes": 1.0}),
        ({"a": {"b": {"c": "d"}, "e": 0.5}}, {"a:b:c:d": 1.0, "a:e": 0.5}),
        (
            {"l": ["x", "y"], "s": {"z"}, "t": ("u",), "f": frozenset(["v"])},
            {"l:x": 1, "l:y": 1, "s:z": 1, "t:u": 1, "f:v": 1},
        ),
        ({"": ""}, {":": 1.0}),
        ({}, {}),
        (["w:x", "shape=\x00中"], {"w:x": 1.0, "shape=\x00中": 1.0}),
    ],
)
def test_ready_made_features(token, features):
    assert learned(token) == pytest.approx(features)


def test_values_scale_weights_when_tagging():
    model = (
        tw.Perceptron(features=None, epochs=1).fit([[{"f": 2.0}], [{"o": 1}], [{"o": 1}]], [["B"], ["A"], ["A"]]).model_
    )
    one, half, none = (model.lattice([{"f": value}]).nodes[0] for value in (1.0, 0.5, False))
    assert one[model.labels.index("B")] > 0
    assert (half == one / 2).all()
    assert (none == 0).all()


def test_dicts_are_ready_made_whatever_features_is():
    model = tw.Perceptron(epochs=1).fit([[{"w": "a"}, {"w": "b"}]], [["A", "B"]]).model_
    assert model.features is None
    assert set(names_of(model.arrays)) <= {"w:a", "w:b"}


@pytest.mark.parametrize(
    ("token", "says"),
    [
        ({"f": None}, "the value of feature f is neither text nor a number"),
        ({"f": float("nan")}, "the value of feature f is beyond 1e30"),
        ({"f": float("inf")}, "the value of feature f is beyond 1e30"),
        ({"f": {"g": None}}, "the value of feature f:g is neither text nor a number"),
        ({"f": [1]}, "a feature's item must be a string, not int"),
        ({"f": {1, "a"}}, "a feature's item must be a string, not int"),
        ({1: "f"}, "a feature's name must be a string, not int"),
        ({"f": "\ud800"}, "not valid Unicode"),
        ({"\ud800": "f"}, "not valid Unicode"),
        (["\ud800"], "not valid Unicode"),
        ([1], "a feature must be a string, not int"),
        (None, "token 1 must be a dict or a list of features, not None"),
        ({"f": 10**400}, "the value of feature f is beyond 1e30"),
        ("word", "token 1 must be a dict or a list of features, not str; the features of this model are ready-made"),
        (5, "token 1 must be a dict or a list of features, not int"),
    ],
)
def test_bad_ready_made_tokens(token, says):
    with pytest.raises(ValueError, match=says) as error:
        tw.Perceptron(features=None).fit([[["a"]], [["a"], token]], [["A"], ["A", "B"]])
    assert str(error.value).startswith("sentence 1, token 1")


def test_a_dict_that_holds_itself_is_an_error_and_no_crash():
    code = "from tagwright import _core; d = {}; d['d'] = d; _core.Text.from_ready([[d]])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert done.stderr.rstrip().split("\n")[-1].startswith(("ValueError", "RecursionError"))


# Bad tokens for templates


@pytest.mark.parametrize(
    ("token", "says"),
    [
        (["a"], r"has 1 column, but templates:1:11 \(%x\[0,1\]\) reads column 1, counted from 0"),
        ("a", r"has 1 column, but templates:1:11 \(%x\[0,1\]\) reads column 1, counted from 0"),
        ([], r"has 0 columns, but templates:1:3 \(%x\[0,0\]\) reads column 0, counted from 0"),
        (["a", None], "a column must be a string, not None"),
        (["a", "\ud800"], "not valid Unicode"),
        (5, "token 1 must be a string or a list of columns, not int"),
        (None, "token 1 must be a string or a list of columns, not None"),
        ({"a": "b"}, "is a dict of ready-made features"),
    ],
)
def test_bad_rows(token, says):
    learner = tw.Perceptron(features="U:%x[0,0]/%x[0,1]\n", epochs=1)
    X, y = [[["a", "b"]], [["a", "b"], ["c", "d"]]], [["A"], ["A", "B"]]
    model = learner.fit(X, y).model_
    X[1][1] = token
    for call in (lambda: learner.fit(X, y), lambda: model.tag_batch(X)):
        with pytest.raises(ValueError, match=says) as error:
            call()
        assert str(error.value).startswith("sentence 1, token 1")


def test_bad_sentences():
    with pytest.raises(ValueError, match="sentence 1 must be a list of tokens, not str; write text"):
        _core.Text.from_rows([["a"], "b"], 1)
    with pytest.raises(ValueError, match="X must be a list of sentences, not int"):
        _core.Text.from_rows(5, 1)


@pytest.mark.parametrize("make", [lambda X: _core.Text.from_rows(X, 1), _core.Text.from_ready])
def test_none_is_not_a_list_of_sentences(make):
    with pytest.raises(ValueError, match="X must be a list"):
        make(None)


def test_templates_that_look_at_labels():
    made = tw.Features("U0:%x[0,1]\nU1:%y[-1]/%x[-1,0]\nU2:%y[-3]\nB\n")
    assert (made.history, made.columns, made.edges) == (3, 2, True)
    assert (tw.Features("U0:%x[0,0]\n").history, tw.Features("U:%y[-2]\n").columns) == (0, 0)
    # Those that depend on labels are not among a token's own.
    text = _core.Text.from_rows([[["a", "b"]]], 2)
    assert made.core.expand(text, 0) == [(["U0:b"], [])]
    assert made.core.history == 3
    assert made.word_prefix() is None


def test_features_in_words():
    """Every macro, at the token, before and behind it, beyond the sentence, and in other columns."""
    lines = {
        "U1:%x[0,0]": ["word In", "word New", "word York's"],
        "U2:%x[-1,0]": ["before the sentence", "previous word In", "previous word New"],
        "U3:%x[-2,0]": ["2 before the sentence", "before the sentence", "2nd previous word In"],
        "U4:%x[1,0]/%x[0,0]": [
            "next word New + word In", "next word York's + word New", "after the sentence + word York's",
        ],
        "U5:%suffix[0,0,2]": ["suffix In", "suffix ew", "suffix 's"],
        "U6:%prefix[1,0,3]": [
            "prefix New of the next word", "prefix Yor of the next word", "prefix after the sentence",
        ],
        "U5b:%Suffix[0,0,2]": ["lower-case suffix in", "lower-case suffix ew", "lower-case suffix 's"],
        "U6b:%Prefix[-1,0,2]": [
            "lower-case prefix before the sentence", "lower-case prefix in of the previous word",
            "lower-case prefix ne of the previous word",
        ],
        "U7:%x[0,1]": ["column 2 IN", "column 2 NNP", "column 2 1"],
        "U8:%lower[-1,1]": [
            "lower case of column 2 before the sentence", "lower case in of column 2 of the previous word",
            "lower case nnp of column 2 of the previous word",
        ],
        "U9:%shape[0,0]": ["shape Xx", "shape Xx", "shape Xx'x"],
        "UA:%digit[0,1]": ["no digits of column 2", "no digits of column 2", "all digits of column 2"],
        "UB:%capital[0,0]": ["first letter capital"] * 3,
        "UC:%punct[0,0]": ["no punctuation", "no punctuation", "some punctuation"],
        "UD:%in[0,0,cities]": ["not in cities", "begins an entry of cities", "inside an entry of cities"],
        "UE:": ["every word"] * 3,
    }  # fmt: skip
    features = Features("\n".join(lines) + "\nB\n", {"cities": ["new york's"]})
    text = core_text([[["In", "IN"], ["New", "NNP"], ["York's", "1"]]], features)
    for t in range(3):
        found = features.described(text, t)
        assert list(found.values()) == [words[t] for words in lines.values()]
        assert list(found) == features.core.expand(text, 0)[t][0]


def test_features_of_wapiti_in_words():
    features = Features('u1:%x[@1,0]/%x[@-2,0]\nu2:%t[0,0,"^x"]\nu3:%m[-1,0,"oo"]\n')
    text = core_text([["foo", "xo"]], features)
    first = ["first word foo + 2nd last word foo", "does not match ^x", "oo before the sentence"]
    assert list(features.described(text, 0).values()) == first
    second = ["first word foo + 2nd last word foo", "matches ^x", "oo matches oo of the previous word"]
    assert list(features.described(text, 1).values()) == second


def test_one_feature_of_two_templates():
    features = Features("U:%x[0,0]\nU:%x[0,1]\n")
    assert features.described(core_text([[["a", "a"]]], features), 0) == {"U:a": "word a or column 2 a"}


@pytest.mark.parametrize("entry", ["a b\nc\tN", "\tN\t ", "New York\tcity\nx"])
def test_entries_that_cannot_be_stored_are_refused(entry):
    with pytest.raises(TemplateError, match=r"entry \d, counted from 0, has (a line break|no value)"):
        _ = Features("U:%lexicon[0,0,lex]\n", lists={"lex": ["x\tM", entry]}).core


def test_values_of_a_word_are_limited():
    with pytest.raises(TemplateError, match="more than 1,000 values"):
        _ = Features("U:%lexicon[0,0,lex]\n", lists={"lex": [f"a\t{n}" for n in range(1001)]}).core


def test_deep_paths_are_elected_in_linear_time():
    """Suffixes vote for paths of a million parts."""
    deep = "." * 1_000_000
    features = Features("U:%class[0,0,c,2]\n", lists={"c": [f"{word}bab\t1{deep}{word}" for word in "xyz"]})
    assert tw.Perceptron(features, epochs=1).fit([["qqqbab"]], [["A"]]).predict([["qqqbab"]]) == [["A"]]
