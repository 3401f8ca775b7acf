"""Files in and out: every form, any chunk size, every error with its file and line, and real corpora."""

import contextlib
import gzip
import io
import lzma
import os
import sys
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.corpora import CONLLU, CORPORA

import tagwright as tw
from tagwright.data import files, formats
from tagwright.data import reading as data
from tagwright.data.files import DataError, word_list

COLUMNS = "The\tDT\tB-NP\ncat\tNN\tI-NP\n\nIt\tPRP\tB-NP\nsat\tVBD\tB-VP\n\n"
NO_FIELDS = "\t_" * 7

# One cell: anything but blanks and line ends. A mark at the very start of a file would be taken for a BOM.
CELL = st.text(st.characters(codec="utf-8", exclude_characters=" \t\r\n\ufeff"), min_size=1, max_size=6)
CHUNKS = st.sampled_from([1, 2, 7, 64, files.CHUNK])
PACKERS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}


def table(width):
    row = st.lists(CELL, min_size=width, max_size=width)
    return st.lists(st.lists(row, min_size=1, max_size=4), min_size=1, max_size=4)


TABLES = st.integers(1, 4).flatmap(table)


class Drip(io.RawIOBase):
    """Yields this many bytes at a time."""

    def __init__(self, content, step):
        self.content, self.step = io.BytesIO(content), step

    def read(self, size=-1):
        return self.content.read(min(self.step, size))


@contextlib.contextmanager
def chunk_size(size):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "CHUNK", size)
        yield


def sentences(content, **options):
    """All sentences of a string, bytes or a path."""
    if isinstance(content, str):
        content = content.encode()
    source = io.BytesIO(content) if isinstance(content, bytes) else content
    return list(chain.from_iterable(data.batches(source, **options)))


def rows(content, **options):
    return [sentence.rows for sentence in sentences(content, **options)]


def labels(content, **options):
    return [sentence.labels for sentence in sentences(content, **options)]


def written(found, given=None):
    return "".join(data.text(one, given or one.labels) for one in found)


def as_file(table, separator, end):
    return "".join(end.join(map(separator.join, sentence)) + end * 2 for sentence in table)


# Round trips


@settings(deadline=None, max_examples=150)
@given(TABLES, st.sampled_from(["\t", " ", " \t  "]), st.sampled_from(["\n", "\r\n"]), CHUNKS, st.booleans())
def test_columns_never_lose_a_token(table, separator, end, step, ended):
    if "\t" in separator and separator != "\t":
        # Runs of blanks and TABs, in a file whose first line has no TAB.
        table = [[["x"] * len(table[0][0])], *table]
        content = as_file(table[:1], " ", end) + as_file(table[1:], separator, end)
    else:
        content = as_file(table, separator, end)
    if not ended:
        content = content.rstrip("\r\n")
    found = sentences(Drip(content.encode(), step), format="columns")
    assert [sentence.rows for sentence in found] == table
    assert list(chain.from_iterable(sentence.lines for sentence in found)) == [
        line for line in content.replace("\r\n", "\n").split("\n") if line
    ]
    given = [[f"L{i}" for i in range(len(sentence))] for sentence in table]
    again = sentences("".join(map(data.text, found, given)), format="columns", label="last")
    assert [sentence.rows for sentence in again] == table
    assert [sentence.labels for sentence in again] == given


@settings(deadline=None, max_examples=100)
@given(TABLES, CHUNKS, st.sampled_from(sorted(PACKERS)))
def test_packed_files_never_lose_a_token(tmp_path_factory, table, step, suffix):
    path = tmp_path_factory.mktemp("packed") / f"corpus.txt{suffix}"
    path.write_bytes(PACKERS[suffix](as_file(table, "\t", "\n").encode()))
    with chunk_size(step):
        assert rows(path, format="columns") == table


@settings(deadline=None, max_examples=100)
@given(table(5), CHUNKS, st.sampled_from(["upos", "xpos", "feats", "Feats+UPOS", "upos+feats", "upos+feats+xpos"]))
def test_conllu_never_loses_a_token(table, step, label):
    table = [[[cell.replace("|", "/") for cell in row] for row in sentence] for sentence in table]
    for sentence in table:
        sentence[0][4] = "A=1|B=2"
    content = as_file(
        [[[str(i), *row, "0", "root", "_", "_"] for i, row in enumerate(sentence, 1)] for sentence in table], "\t", "\n"
    )
    found = sentences(Drip(content.encode(), step), format="conllu", label=label)
    assert [[row[:2] for row in one.rows] for one in found] == [[row[:2] for row in sentence] for sentence in table]
    assert written(found) == content
    assert rows(content, format="conllu") == table


@settings(deadline=None, max_examples=100)
@given(st.lists(st.lists(CELL, min_size=1, max_size=5), min_size=1, max_size=4), CHUNKS)
def test_text_never_loses_a_token(table, step):
    content = "\n".join(map(" ".join, table))
    expected = [line.split() for line in content.split("\n") if line.split()]
    found = sentences(Drip(content.encode(), step), format="text", empty_ok=True)
    assert [[row[0] for row in sentence.rows] for sentence in found] == expected
    given = [["X"] * len(sentence) for sentence in expected]
    again = sentences("".join(map(data.text, found, given)), label="last", empty_ok=True)
    assert [[row[0] for row in sentence.rows] for sentence in again] == expected


@pytest.mark.parametrize(
    "label", ["upos", "xpos", "feats", "upos+feats", "feats+upos", "XPOS+feats", "upos+feats+xpos"]
)
@pytest.mark.parametrize("step", [1, 2, 7, files.CHUNK])
def test_conllu_with_its_own_labels_is_the_same_bytes(tmp_path, label, step):
    path = tmp_path / "small.conllu"
    path.write_bytes(CONLLU.encode())
    with chunk_size(step):
        assert written(sentences(path, label=label)).encode() == path.read_bytes()


# Column files


def test_columns():
    first, second = sentences(COLUMNS, label="last")
    assert first.rows == [["The", "DT"], ["cat", "NN"]]
    assert first.labels == ["B-NP", "I-NP"]
    assert (first.lines, first.at, first.first) == (["The\tDT\tB-NP", "cat\tNN\tI-NP"], [0, 1], 1)
    assert second.first == 4
    form = first.form
    assert (form.name, form.tab, form.width, form.picks, form.request.file) == ("columns", True, 3, (2,), "<stream>")
    assert (form.request.comments, form.request.label) == (False, "last")
    assert data.text(first, ["x", "y"]) == "The\tDT\tB-NP\tx\ncat\tNN\tI-NP\ty\n\n"


def test_label_columns():
    assert labels(COLUMNS) == [None, None]
    assert rows(COLUMNS)[0] == [["The", "DT", "B-NP"], ["cat", "NN", "I-NP"]]
    assert labels(COLUMNS, label="3") == labels(COLUMNS, label="Last")
    assert labels(COLUMNS, label="2+3")[0] == ["DT|B-NP", "NN|I-NP"]
    assert labels(COLUMNS, label="3+2")[0] == ["B-NP|DT", "I-NP|NN"]
    assert rows(COLUMNS, label="3+2")[0] == rows(COLUMNS, label="2")[0] == [["The"], ["cat"]]


def test_blanks_between_columns():
    content = "The DT\n cat\t NN \n \t \nIt PRP"
    first, second = sentences(content, label="last")
    assert (first.rows, first.labels) == ([["The"], ["cat"]], ["DT", "NN"])
    assert (second.rows, second.first) == ([["It"]], 4)
    assert data.text(first, ["x", "y"]) == "The DT x\ncat\t NN y\n\n"


def test_a_tab_in_the_first_line_makes_blanks_part_of_a_cell():
    assert rows("New York\tNNP\n\nSan  José\tNNP\n", label="last") == [[["New York"]], [["San  José"]]]


def test_one_column_gets_its_label_after_a_tab():
    (sentence,) = sentences("The\n cat \n")
    assert sentence.rows == [["The"], ["cat"]]
    assert data.text(sentence, ["x", "y"]) == "The\tx\ncat\ty\n\n"


def test_only_newlines_end_a_line():
    odd = "a\x0b\x0c\x1c\x85\u2028\u00a0\x00b\rc"
    assert rows(f"{odd}\tX\r\n\r\n{odd}\tY\r\n", label="last") == [[[odd]], [[odd]]]
    assert rows(f"{odd} X\n\n{odd} Y\n", label="last") == [[[odd]], [[odd]]]
    assert rows("\u00a0\n\x0c\n", format="columns") == [[["\u00a0"], ["\x0c"]]]


def test_byte_order_mark():
    assert rows(b"\xef\xbb\xbf" + COLUMNS.encode()) == rows(COLUMNS)
    assert rows(Drip(b"\xef\xbb\xbfa\tb\n\xef\xbb\xbfc\td", 1)) == [[["a", "b"], ["\ufeffc", "d"]]]


def test_empty_cells():
    assert rows("a\t\tX\n\tb\tX\n", label="last") == [[["a", ""], ["", "b"]]]


def test_comments():
    content = "\n# one\n#\n#\tNN\n# two\nhash\tNN\n\n# alone\n\n# three\n#tag\tNN\n"
    first, second = sentences(content, comments=True, label="last")
    assert first.rows == [["#"], ["hash"]]
    assert (first.lines, first.at, first.first) == (["# one", "#", "#\tNN", "# two", "hash\tNN"], [2, 4], 2)
    assert (second.rows, second.lines, second.first) == ([["#tag"]], ["# three", "#tag\tNN"], 10)
    assert data.text(first, ["x", "y"]) == "# one\n#\n#\tNN\tx\n# two\nhash\tNN\ty\n\n"


def test_a_hash_is_a_token():
    assert rows("# NN\n# NN\n", label="last") == [[["#"], ["#"]]]


# CoNLL-U and plain text


def test_conllu():
    first, second = sentences(CONLLU, format="conllu", label="upos+feats")
    assert first.labels[:3] == ["VERB|Mood=Imp|Number=Plur", "PRON|Case=Acc", "ADP|_"]
    assert first.rows[0] == ["Vamos", "ir", "_", "v1", "_"]
    assert (first.at, len(first.lines), first.first) == ([3, 4, 6, 7, 8], 10, 1)
    assert (second.rows, second.first) == ([["Nueva York", "Nueva York", "_", "n", "_"]], 12)
    assert sentences(CONLLU, format="conllu")[1].rows == [["Nueva York", "Nueva York", "PROPN", "n", "_"]]
    assert data.text(second, ["X|A=1|B=2"]).split("\n")[1].split("\t")[3:6] == ["X", "n", "A=1|B=2"]


def test_conllu_joint_labels_come_apart():
    def fields(label, given):
        (sentence,) = sentences(f"1\tx\tx{NO_FIELDS}\n", format="conllu", label=label)
        return data.text(sentence, [given]).split("\t")[3:6]

    assert fields("feats+upos", "A=1|B=2|NOUN") == ["NOUN", "_", "A=1|B=2"]
    assert fields("xpos+feats+upos", "n|A=1|B=2|NOUN") == ["NOUN", "n", "A=1|B=2"]
    assert fields("upos+xpos", "NOUN|n|sg") == ["NOUN", "n|sg", "_"]
    with pytest.raises(DataError, match=r"'NOUN' is not of the form upos\+feats; choose"):
        fields("upos+feats", "NOUN")


def test_text():
    first, second = sentences("  The cat\u00a0sat \n\n \n# It sat", columns=1)
    assert first.rows == [["The"], ["cat"], ["sat"]]
    assert (first.lines, first.at, first.first, first.labels) == (["  The cat\u00a0sat "], [0, 0, 0], 1, None)
    assert (second.rows, second.first) == ([["#"], ["It"], ["sat"]], 4)
    assert data.text(first, ["a", "b", "c"]) == "The\ta\ncat\tb\nsat\tc\n\n"
    for step in (1, files.CHUNK):
        (only,) = sentences(Drip(b"# head\nIt sat", step), format="text", comments=True)
        assert (only.rows, only.lines, only.first) == ([["It"], ["sat"]], ["It sat", "# head"], 2)
        assert data.text(only, ["a", "b"]) == "# head\nIt\ta\nsat\tb\n\n"


def test_offsets_of_text():
    line = "  It's\u00a0rice. (I think so.)  Mr. X ate it! "
    found = sentences(f"\ufeffAll of it.\n{line}\n", format="text", tokenize="english")
    assert [[word for (word,) in one.rows] for one in found[1:]] == [
        ["It", "'s", "rice", "."],
        ["(", "I", "think", "so", ".", ")"],
        ["Mr.", "X", "ate", "it", "!"],
    ]
    for one in found[1:]:
        assert (one.lines, one.first, len(one.at)) == ([line], 2, len(one.rows))
        assert [[line[begin:end]] for begin, end in one.offsets] == one.rows
    assert found[0].offsets == [(0, 3), (4, 6), (7, 9), (9, 10)]
    (whole,) = sentences(line, format="text", tokenize="english", split=False)
    assert whole.offsets == [span for one in found[1:] for span in one.offsets]
    for tokenize in ("none", "whitespace"):
        (one,) = sentences(line, format="text", tokenize=tokenize)
        assert [[line[begin:end]] for begin, end in one.offsets] == one.rows
    assert sentences(COLUMNS)[0].offsets is None
    assert sentences(CONLLU, format="conllu")[0].offsets is None
    with pytest.raises(ValueError, match="tokenizer 'greek': use one of"):
        sentences("a", format="text", tokenize="greek")


@pytest.mark.parametrize(
    ("content", "kind", "expected", "note"),
    [
        ("hi\nhow are you\n", "text", ["hi", "how are you"], "text"),
        ("hi\nhello\nhow are you\nok\n", "text", ["hi", "hello", "how are you", "ok"], "text"),
        ("hi\n\nhow are you\n", "text", ["hi", "how are you"], "text"),
        ("\nhi\n\nhello\n\nhow are you\n", "text", ["hi", "hello", "how are you"], "text"),
        ("Hi!\n", "text", ["Hi !"], ""),
        ("Hi!\nBye.\n", "text", ["Hi !", "Bye ."], "text"),
        ("Hi!\n\nthe\ncat\n", "text", ["Hi !", "the", "cat"], ""),
        ("hi\n", "columns", ["hi"], ""),
        ("the\ncat\n", "columns", ["the cat"], ""),
        ("the\ncat\n\nhi\n\nold\ndog\n", "columns", ["the cat", "hi", "old dog"], ""),
        ("hi\n\nthe\ncat\n", "columns", ["hi", "the cat"], ""),
        ("the\nlong-term\nplan\n", "columns", ["the long-term plan"], "columns"),
        ("the cat\nold dog\n\na cat\n", "text", ["the cat", "old dog", "a cat"], "text"),
        ("the cat\nthe old dog\n\na cat\n", "text", ["the cat", "the old dog", "a cat"], ""),
        ("the cat\n", "text", ["the cat"], ""),
    ],
)
@pytest.mark.parametrize("step", [1, 5, files.CHUNK])
def test_a_first_line_of_one_word(content, kind, expected, note, step):
    """Whatever arrives at a time, the sentences are the same. What may be wrong is reported if it can be detected."""
    found = sentences(Drip(content.encode(), step), columns=1, tokenize="english")
    assert [" ".join(word for (word,) in one.rows) for one in found] == expected
    form = found[-1].form
    assert form.name == kind
    if step == files.CHUNK or "the cat\nold" not in content:
        other = {"text": "columns", "columns": "text"}[kind]
        assert form.note.endswith(f"otherwise choose --format {other}" if note else "")
        assert bool(form.note) == bool(note)
    for chosen in ("text", "columns") if "how" not in content and "the cat" not in content else ("text",):
        again = sentences(content, columns=1, tokenize="english", format=chosen)
        assert {(one.form.name, one.form.note) for one in again} == {(chosen, "")}


def test_labels_must_fit_the_sentence():
    (sentence,) = sentences("a\nb\n")
    with pytest.raises(ValueError, match="1 labels for 2 tokens"):
        data.text(sentence, ["x"])
    with pytest.raises(ValueError, match="read the file with label upos"):
        data.text(sentences(CONLLU, format="conllu")[1], ["x"])


@pytest.mark.parametrize(
    ("content", "options", "kind"),
    [
        ("a\tb\n", {"columns": 1}, "columns"),
        ("\n \na b\n", {"columns": 1}, "text"),
        ("a b\n", {"columns": 1, "label": "last"}, "columns"),
        ("a b\n", {"columns": 2}, "columns"),
        ("a b\n", {}, "columns"),
        ("a\n", {"columns": 1}, "columns"),
        ("# c d\na\n", {"columns": 1, "comments": True}, "columns"),
        ("# c\td\na b\n", {"columns": 1, "comments": True}, "text"),
    ],
)
@pytest.mark.parametrize("step", [1, files.CHUNK])
def test_auto(content, options, kind, step):
    found = sentences(Drip(content.encode(), step), **options)
    assert len(found) == 1
    assert found[0].form.name == kind


@pytest.mark.parametrize("name", ["a.conllu", "a.CONLLU", "a.conll-u", "a.conllu.gz", "a.conllu.xz"])
def test_auto_by_name(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(PACKERS.get(path.suffix, bytes)(CONLLU.encode()))
    assert [len(sentence.rows) for sentence in sentences(path)] == [5, 1]


def test_auto_by_the_name_of_a_file_object(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(CONLLU, encoding="utf-8")
    with open(path, "rb") as stream:
        assert [len(sentence.rows) for sentence in sentences(stream)] == [5, 1]


TEN = "1\tx\tx\tNOUN\tn|s\t_\t0\troot\t_\t_\n"
AS_A_RANGE = "1-2\tx" + "\t_" * 8 + "\n" + TEN


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (CONLLU, "conllu"),
        (f"\n# sent_id = 1\n{TEN}", "conllu"),
        (f"\ufeff# text = x\n{TEN}", "conllu"),
        (f"# newdoc id = a\n# speaker = B\n{TEN}", "conllu"),
        (f"# sent_id = 1\n# speaker = B\n#\n{TEN}", "conllu"),
        ("# global.columns = ID FORM\n" + TEN, "conllu"),
        (TEN, "conllu"),
        (f"\n \n{TEN}", "conllu"),
        (AS_A_RANGE, "conllu"),
        (TEN.replace("1\t", "word\t", 1), "columns"),
        (TEN.replace("1\t", "10\t", 1), "columns"),
        (TEN.replace("\t_\n", "\n"), "columns"),
        (TEN.replace("\t_\n", "\t_\t_\n"), "columns"),
        (TEN.replace("\t", " "), "columns"),
        ("# NN\nsent_id NN\n", "columns"),
    ],
)
@pytest.mark.parametrize("step", [1, 7, files.CHUNK])
def test_auto_of_a_stream_without_a_name(content, kind, step):
    found = sentences(Drip(content.encode(), step))
    assert {sentence.form.name for sentence in found} == {kind}
    assert found[0].rows[0] == sentences(content, format=kind)[0].rows[0]
    if kind == "conllu":
        assert labels(Drip(content.encode(), step), label="upos")[0][0] in ("VERB", "NOUN")
    else:
        assert len(found[0].rows[0]) == content.split("\n")[0].replace(" ", "\t").count("\t") + 1


@pytest.mark.parametrize("step", [1, files.CHUNK])
def test_widths(step):
    def kind(line, **options):
        (found,) = sentences(Drip(line.encode(), step), **options)
        return found.form.name, found.rows

    for widths in ((), (4,), {1, 4}):
        assert kind("It sat down\n", columns=1, widths=widths) == ("text", [["It"], ["sat"], ["down"]])
    for widths in ((3,), {2, 3}, [4, 3]):
        assert kind("It sat down\n", columns=1, widths=widths) == ("columns", [["It", "sat", "down"]])
    assert kind("It sat down\n", columns=1, widths=(3,), format="text")[0] == "text"
    assert kind("It\tsat\n", columns=1, widths=(3,))[0] == "columns"


def test_fields():
    """They say where labels go, should there be CoNLL-U; labels are not read."""
    for field, at in (("upos", 3), ("xpos", 4), ("feats", 5)):
        (sentence,) = sentences(TEN, fields=field, columns=1)
        assert sentence.form.picks == (at,)
        assert sentence.rows[0][at - 1] == "_"
        assert data.text(sentence, ["L"]).split("\t")[at] == "L"
    for content in ("It\tsat\n", "It sat\n"):
        assert data.text(sentences(content, fields="upos", columns=2)[0], ["L"]) == content[:-1] + content[2] + "L\n\n"
    with pytest.raises(DataError, match="'pos' is not a label of CoNLL-U"):
        sentences(TEN, fields="pos")
    # A requested label goes first.
    assert labels(TEN, label="upos", fields="xpos") == [["NOUN"]]


@pytest.mark.parametrize("field", ["upos", "xpos", "xpos+feats"])
@pytest.mark.parametrize("content", [TEN, TEN.replace("NOUN", ""), TEN.replace("n|s", "")])
def test_fields_need_hold_no_label(content, field):
    (sentence,) = sentences(content, fields=field, columns=1, format="conllu")
    assert sentence.labels is None
    count = len(field.split("+"))
    assert data.text(sentence, ["|".join(["L"] * count)]).split("\t").count("L") == count


# Errors


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a\tb\n\nc\td\ne\n", {}, "4: 1 column, but the first token has 2; fix this line"),
        ("a\tb\nc\td\te\nf\n", {}, "2: 3 columns, but the first token has 2; fix this line"),
        ("a b\n\n\nc d e\n", {}, "4: 3 columns, but the first token has 2; fix this line"),
        (
            "Hm\nIt sat\n",
            {},
            "2: 2 columns, but the first token has 1; fix this line, or for a sentence per line",
        ),
        ("# x\na\tb\n# y\nc\n", {"comments": True}, "4: 1 column, but the first token has 2; fix this line"),
        ("\na\tb\n", {"label": "0"}, "2: no label column 0; columns in the file: 2, counted from 1"),
        ("a b\n", {"label": "2+3"}, "1: no label column 3; columns in the file: 2, counted from 1"),
        ("a\tb\n", {"label": "x"}, "1: 'x' is not a label column; choose --label last, 3 or 2+3, counted from 1"),
        ("a\tb\n", {"label": ""}, "1: '' is not a label column; choose --label last, 3 or 2+3, counted from 1"),
        ("a\tb\n", {"label": "-1"}, "1: '-1' is not a label column; choose --label last, 3 or 2+3, counted from 1"),
        ("a\tb\n", {"label": "2+2"}, "1: '2+2' is not a label column; choose --label last, 3 or 2+3, counted from 1"),
        ("a\tb\n", {"label": "2+1"}, "1: nothing stands before the label in column 1 of 2; put the token before it"),
        ("a\nb\n", {"label": "last"}, "1: nothing stands before the label in column 1 of 1; put the token before it"),
        ("a\tX\n\nb\tX\nc\t\n", {"label": "last"}, "4: the label in column 2 is empty; fill it in"),
        ("a\tX\tY\nb\t\tY\n", {"label": "2+3"}, "2: the label in column 2 is empty; fill it in"),
        (
            "a b\n",
            {"format": "text", "label": "2"},
            "1: plain text has no label '2'; choose --format columns or conllu",
        ),
        ("a\tb\n\x00c\xe9\td\n", {}, "2: not UTF-8 at byte 3 of the line; "),
        ("\xe9\tb\n", {}, "1: not UTF-8 at byte 1 of the line; "),
        ("a\tb\n\nc\t\xe9", {}, "3: not UTF-8 at byte 3 of the line; convert the file, for example with iconv -f lat"),
    ],
)
@pytest.mark.parametrize("step", [1, 7, files.CHUNK])
def test_errors_name_file_and_line(tmp_path, content, options, message, step):
    path = tmp_path / "bad.txt"
    path.write_bytes(content.encode("latin1"))
    with chunk_size(step), pytest.raises(DataError) as error:
        sentences(path, **options)
    assert str(error.value).startswith(f"{path}:{message}")


@pytest.mark.parametrize(
    ("content", "label", "message"),
    [
        (
            CONLLU,
            "last",
            "3: 'last' is not a label of CoNLL-U; choose --label upos, xpos, feats or a joint such as upos+fe",
        ),
        (CONLLU, "upos+", "3: 'upos+' is not a label of CoNLL-U; choose"),
        (CONLLU, "upos+upos", "3: 'upos+upos' is not a label of CoNLL-U; choose"),
        (
            f"# x\n1\ta\ta{NO_FIELDS}\n2\ta\n",
            None,
            "3: 2 columns, but CoNLL-U has 10, with a TAB between; fix this line",
        ),
        (f"1\ta\ta{NO_FIELDS}\t_\n", None, "1: 11 columns, but CoNLL-U has 10, with a TAB between; fix this line"),
        (f"1-2\ta\n1\ta\ta{NO_FIELDS}\n", None, "1: 2 columns, but CoNLL-U has 10, with a TAB between; fix this line"),
        (
            f"1\ta\ta{NO_FIELDS}\nx-1\ta\ta{NO_FIELDS}",
            None,
            "2: 'x-1' is not a CoNLL-U ID; use 1, a range 1-2 or a node",
        ),
        ("# x\n1\ta\ta\t\t_\t_\t_\t_\t_\t_\n", "upos", "2: the label in column 4 is empty; fill it in"),
        (
            "1\ta\ta\t_\tn|s\t_\t_\t_\t_\t_\n",
            "xpos+feats",
            "1: 'n|s' holds '|' and could not be distinguished from the rest",
        ),
    ],
)
def test_conllu_errors(tmp_path, content, label, message):
    path = tmp_path / "bad.conllu"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError) as error:
        sentences(path, label=label)
    assert str(error.value).startswith(f"{path}:{message}")


@pytest.mark.parametrize("content", ["", "\n", " \t\n\r\n\n", "\ufeff"])
@pytest.mark.parametrize("format", formats.format_names())
def test_empty(tmp_path, content, format):
    path = tmp_path / "empty.txt"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError) as error:
        sentences(path, format=format)
    assert str(error.value) == f"{path}: empty: there is no token in it"
    assert sentences(path, format=format, empty_ok=True) == []


def test_comments_alone_are_empty():
    with pytest.raises(DataError, match=r"^<stream>: empty: there is no token in it$"):
        sentences("# a\n\n# b\n", format="conllu")


@pytest.mark.parametrize("suffix", [".gz", ".xz"])
@pytest.mark.parametrize("damage", ["cut", "not packed", "changed"])
def test_damaged_packed_files(tmp_path, suffix, damage):
    path = tmp_path / f"bad.txt{suffix}"
    packed = bytearray(PACKERS[suffix]("".join(f"w{i}\tX\n\n" for i in range(9999)).encode()))
    if damage == "changed":
        packed[-8] ^= 0xFF  # In the checksum of both.
    path.write_bytes({"cut": packed[: len(packed) // 2], "not packed": COLUMNS.encode(), "changed": packed}[damage])
    with pytest.raises(DataError) as error:
        sentences(path)
    assert str(error.value).startswith(f"{path}: cannot be unpacked, ")


def test_wrong_use(tmp_path):
    with pytest.raises(FileNotFoundError):
        sentences(tmp_path / "absent.txt")
    with pytest.raises(ValueError, match="format 'csv': use one of auto, columns, conllu, paragraphs, text"):
        sentences(COLUMNS, format="csv")
    with pytest.raises(TypeError, match="<stream>: opened as text; open it as bytes"):
        sentences(io.StringIO(COLUMNS))
    for source in (None, 5, ["a"]):
        with pytest.raises(TypeError, match="<stream>: a path or a binary file is needed, not "):
            data.read(source)
    with pytest.raises(TypeError, match=r"its read\(\) returns int, not bytes"):
        data.read(SimpleNamespace(read=lambda size: 7))
    with pytest.raises(DataError, match=r"^'\\ud800': no file can have this name"):
        data.read("\ud800")


# Streams


def test_a_pipe_gets_a_sentence_when_it_is_complete(patience):
    ends = os.pipe()
    with os.fdopen(ends[0], "rb") as stream, os.fdopen(ends[1], "wb", buffering=0) as out:
        found = data.batches(stream)
        for word in ("one", "two", "three"):
            out.write(f"{word}\tX\n\nnext".encode())
            assert [sentence.rows[-1][0].removeprefix("next") for sentence in next(found)] == [word]
        out.close()
        with pytest.raises(DataError, match=r"^<stream>:7: 1 column, "):
            next(found)


def test_standard_input_gets_a_sentence_when_it_is_complete(monkeypatch, patience):
    ends = os.pipe()
    with os.fdopen(ends[0]) as stream, os.fdopen(ends[1], "wb", buffering=0) as out:
        monkeypatch.setattr(sys, "stdin", stream)
        found = data.batches("-", columns=1)
        for line in ("It sat\n", "The cat sat\nHm\n"):
            out.write(line.encode())
            assert [sentence.lines[0] for sentence in next(found)] == line.split("\n")[:-1]
        out.write(b"\xff\n")
        with pytest.raises(DataError, match=r"^<stdin>:4: not UTF-8 at byte 1 "):
            next(found)


def test_a_word_that_is_typed_is_text(monkeypatch, patience):
    """Who types a line at a terminal is answered at once."""
    terminal, keyboard = os.openpty()
    with os.fdopen(keyboard) as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        found = data.batches("-", columns=1)
        for line in ("hello\n", "how are you\n"):
            os.write(terminal, line.encode())
            (sentence,) = next(found)
            assert (sentence.lines, sentence.form.name) == ([line[:-1]], "text")
        found.close()
    os.close(terminal)


def test_standard_input_may_be_empty(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO()))
    assert sentences(Path("-"), empty_ok=True) == []
    with pytest.raises(DataError, match=r"^<stdin>: empty: "):
        sentences(Path("-"))


def test_a_stream_that_has_nothing_yet(patience):
    class Hesitating(io.RawIOBase):
        """Has nothing at every other call, as a descriptor that does not block."""

        def __init__(self, descriptor):
            self.descriptor, self.calls = descriptor, 0

        def fileno(self):
            return self.descriptor

        def read(self, size=-1):
            self.calls += 1
            return None if self.calls % 2 else os.read(self.descriptor, 5)

    ends = os.pipe()
    os.write(ends[1], COLUMNS.encode())
    os.close(ends[1])
    assert rows(Hesitating(ends[0])) == rows(COLUMNS)
    os.close(ends[0])


def test_memory_is_bounded_by_the_chunk():
    sentence = b"It\tX\nsat\tX\n\n"

    class Endless(io.RawIOBase):
        """Makes 200,000 sentences up as they are read."""

        made = 0
        total = 200_000 * len(sentence)

        def read(self, size=-1):
            start = self.made % len(sentence)
            size = min(size, self.total - self.made)
            self.made += size
            return (sentence * (size // len(sentence) + 2))[start : start + size]

    stream = Endless()
    count = largest = 0
    for batch in data.batches(stream, label="last"):
        count += len(batch)
        largest = max(largest, len(batch))
        assert stream.made <= (count + 1) * len(sentence)
    assert count == 200_000
    assert largest <= files.CHUNK // len(sentence) + 1


# Whole corpora and lists


def test_read(tmp_path):
    path = tmp_path / "small.txt"
    path.write_text(COLUMNS, encoding="utf-8")
    X, y = data.read(str(path))
    assert X == [[["The", "DT"], ["cat", "NN"]], [["It", "PRP"], ["sat", "VBD"]]]
    assert y == [["B-NP", "I-NP"], ["B-NP", "B-VP"]]
    assert data.read(path, label="2")[1] == [["DT", "NN"], ["PRP", "VBD"]]
    assert tw.read(path, label=2) == ([[["The"], ["cat"]], [["It"], ["sat"]]], [["DT", "NN"], ["PRP", "VBD"]])
    assert tw.read(path, label=3) == (X, y)
    with pytest.raises(DataError, match="no label column 4"):
        tw.read(path, label=4)
    assert tw.read(io.BytesIO(CONLLU.encode()), label="upos")[1][1] == ["PROPN"]


@pytest.mark.parametrize("suffix", sorted(PACKERS))
def test_word_list(tmp_path, suffix):
    path = tmp_path / f"words.txt{suffix}"
    path.write_bytes(PACKERS[suffix]("\ufeff one\r\n\n\t New York \n# é".encode()))
    assert word_list(path) == ["one", "New York", "# é"]
    path.write_bytes(PACKERS[suffix](b"one\ntw\xff\n"))
    with pytest.raises(DataError) as error:
        word_list(path)
    assert str(error.value).startswith(f"{path}:2: not UTF-8 at byte 3 ")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("chunk_conll2000/train", (8936, 211727, 319)),
        ("chunk_conll2000/test", (2012, 47377, 236)),
        ("pos_ewt/train", (12544, 204577, 49)),
        ("pos_ewt/test", (2077, 25094, 48)),
    ],
)
def test_real_corpora(name, expected):
    path = CORPORA / f"{name}.txt.xz"
    if not path.exists():
        pytest.skip(f"{name} is not beside the project (../shared/data)")
    X, y = data.read(path)
    assert (len(X), sum(map(len, X)), len(set(chain.from_iterable(y)))) == expected
    assert list(map(len, X)) == list(map(len, y))
    if name.startswith("chunk"):
        assert data.read(path, label="2+3")[1] == y


# One splitter: however a file arrives, and for every reader

ODD = (
    b"a\tb\n\nc\td\n \t \ne\tf\ng\rx\th\n\n",
    b"a\tb\r\n\r\nc\td\r\n",
    b"a\tb\r\r\nc\td\n\ne\tf\r\r\n",
    b"\xef\xbb\xbfa\tb\n\t\nc\td\n",
    b"\n" + b"a\tb\n \n" * 30,
    b"# x\na\tb\n#\n\n# y\n\nc\td",
    b"# sent_id = 1\n1\ta\ta\tA\tB\tC=D|E\t_\t_\t_\t_\n1.1\tb\tb\tA\tB\tC\t_\t_\t_\t_\n"
    b" \t\n1\tc\tc\tX\tY\tZ\t_\t_\t_\t_\n",
)  # fmt: skip


class Pieces(io.RawIOBase):
    def __init__(self, *pieces):
        self.pieces = list(pieces)

    def read(self, size=-1):
        return self.pieces.pop(0) if self.pieces else b""


@pytest.fixture(scope="module")
def tagger():
    return tw.Perceptron(features="U:%x[0,0]\nB\n", epochs=1).fit([["a", "c"]], [["A", "C"]]).model_


def tagged(model, source, shortcut, **options):
    """A file with labels; shortcut: whether the core may read blocks of it."""

    def answer(form, block):
        return model.tag_lines(block, form.line_format()) if shortcut and form.line_format() else None

    def text(batch):
        labels = model.tag_batch([one.rows for one in batch])
        return "".join(map(data.text, batch, labels)).encode()

    read = data.batches_or_answers(source, answer, columns=1, fields="xpos", **options)
    return b"".join(piece if isinstance(piece, bytes) else text(piece) for piece in read)


@pytest.mark.parametrize("comments", [False, True])
@pytest.mark.parametrize("content", ODD)
def test_a_file_cut_at_any_byte_is_tagged_alike(tagger, content, comments):
    expected = tagged(tagger, Pieces(content), False, comments=comments)
    assert expected.count(b"\n") > 2
    for cut in range(len(content) + 1):
        for shortcut in (True, False):
            pieces = Pieces(*filter(None, (content[:cut], content[cut:])))
            assert tagged(tagger, pieces, shortcut, comments=comments) == expected, cut


def test_sentences_that_end_with_a_blank_are_apart(tagger):
    """20,000 sentences with a blank line of one blank between them, behind an empty line."""
    content = b"\n" + b"a\tb\nc\td\n \n" * 20_000
    found = tagged(tagger, io.BytesIO(content), True)
    assert found == b"a\tb\tA\nc\td\tC\n\n" * 20_000
    assert found == tagged(tagger, io.BytesIO(content), False)


def test_a_carriage_return_before_a_line_end_belongs_to_the_line(tagger):
    expected = b"a\tb\r\tA\nc\td\r\tC\n\n"
    content = b"a\tb\r\r\nc\td\r\r\n\r\n"
    for cut in range(1, len(content)):
        assert tagged(tagger, Pieces(content[:cut], content[cut:]), True) == expected


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
def test_utf_16_is_recognised(tmp_path, mark):
    path = tmp_path / "a.txt"
    coding = "utf-16-le" if mark == b"\xff\xfe" else "utf-16-be"
    path.write_bytes(mark + "a\tb\n\n".encode(coding))
    for read in (lambda: tw.read(path), lambda: word_list(path)):
        with pytest.raises(DataError, match=r"a\.txt: UTF-16, by its byte-order mark, not UTF-8; .*iconv -f utf-16"):
            read()


def test_commas_are_mentioned_where_columns_are_missing(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("the,DT\ncat,NN\n")
    with pytest.raises(DataError, match=r"a\.csv:1: nothing stands before the label in column 1 of 1; .*commas do not"):
        tw.read(path)
    with pytest.raises(DataError, match=r"no label column 2; columns in the file: 1, .*commas do not"):
        tw.read(path, label=2)
    with pytest.raises(DataError, match=r"column 1 of 1; put the token before it"):
        tw.read(io.BytesIO(b"the\n"))


def labelled(source, columns=1, **options):
    """The sentences and labels that the core reads."""
    X, y = [], []
    for _, one in data.labelled_texts(source, columns, **options):
        labels = [one.names[n] for n in one.ids.tolist()]
        ends = one.text.lengths().cumsum().tolist()
        y += [labels[a:b] for a, b in zip([0, *ends], ends, strict=False)]
        X += [one.text.rows(s) for s in range(one.text.sentences)]
    return X, y


@pytest.mark.parametrize(
    "options", [{}, {"comments": True}, {"label": "2"}, {"label": "upos+feats"}, {"label": "xpos"}]
)
@pytest.mark.parametrize("content", [*ODD, CONLLU.encode(), COLUMNS.encode(), COLUMNS.replace("\t", "  ").encode()])
def test_labelled_texts_are_what_read_returns(content, options):
    try:
        X, y = data.read(io.BytesIO(content), **options)
    except DataError as error:
        with pytest.raises(DataError) as raised:
            labelled(io.BytesIO(content), **options)
        assert str(raised.value) == str(error)  # noqa: PT017
        return
    columns = len(X[0][0])
    for cut in range(len(content) + 1):
        pieces = Pieces(*filter(None, (content[:cut], content[cut:])))
        assert labelled(pieces, columns, **options) == (X, y)


@pytest.mark.parametrize(
    "content",
    [
        "a\tb\nc\n",
        "a\tb\tc\nd\te\tf\n\ng\t\t\n",
        "a\tb\n\nc\t\n",
        "1\tthe\tthe\tA|B\tDT\tC\t2\tdet\t_\t_\n",
        "a b\nc\n",
    ],
)
@pytest.mark.parametrize("label", ["last", "2", "upos+feats"])
def test_labelled_texts_report_the_errors_of_read(tmp_path, content, label):
    path = tmp_path / "a.txt"
    path.write_text(content)
    found = []
    for read in (lambda: data.read(path, label=label), lambda: labelled(path, label=label)):
        try:
            read()
            found.append("")
        except DataError as error:
            found.append(str(error))
    assert found[0] == found[1]
