"""`tagwright classes`: the classes of `tw.word_classes`, whatever the form of the text."""

import lzma
import random

import pytest
from support.commands import complaint, printed, run

import tagwright as tw

RNG = random.Random(2)
WORDS = ["The", "dog", "cat", "a", "barks", "sleeps", "don't", "1984", "Ärger"]
X = [RNG.choices(WORDS, k=RNG.randint(2, 8)) for _ in range(60)]
LINES = "".join(" ".join(sentence) + "\n" for sentence in X)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text(LINES, encoding="utf-8")


def written(*arguments):
    assert printed("classes", *arguments, "-o", "classes.tsv", "-q") == ""
    with open("classes.tsv", encoding="utf-8", newline="") as file:
        return file.read().split("\n")[:-1]


@pytest.mark.parametrize("form", ["text", "crlf", "xz", "columns", "conllu", "folder", "two"])
def test_any_form_of_the_text(tmp_path, form):
    expected = tw.word_classes(X, [2, 4])
    arguments = ["--sizes", "4,2", "--tokenize", "whitespace"]
    if form == "text":
        (tmp_path / "in").write_text("\n" + LINES.replace(" ", "  "), encoding="utf-8")
    elif form == "crlf":
        (tmp_path / "in").write_bytes(LINES.replace("\n", "\r\n").encode())
    elif form == "xz":
        (tmp_path / "in.xz").write_bytes(lzma.compress(LINES.encode()))
        arguments.insert(0, "in.xz")
    elif form == "columns":
        (tmp_path / "in").write_text("\n".join("".join(f"x\t{w}\n" for w in s) for s in X), encoding="utf-8")
        arguments += ["--column", "1"]
    elif form == "conllu":
        rows = ["".join(f"{n}\t{w}" + "\t_" * 8 + "\n" for n, w in enumerate(s, 1)) for s in X]
        (tmp_path / "in").write_text("\n".join(rows) + "\n", encoding="utf-8")
    else:
        parts = LINES.splitlines(keepends=True)
        (tmp_path / "in").mkdir()
        (tmp_path / "in" / "a").write_text("".join(parts[:20]), encoding="utf-8")
        (tmp_path / "in" / "b").write_text("".join(parts[20:]), encoding="utf-8")
        if form == "two":
            arguments[:0] = ["in/a", "in/b"]
    if arguments[0] == "--sizes":
        arguments.insert(0, "in")
    assert written(*arguments) == expected


def test_text_is_tokenised():
    sentences = [own for line in LINES.splitlines() for own in tw.sentences(line)]
    assert written("text.txt", "--sizes", "3", "--keep-case", "--seed", "4", "--threads", "2") == tw.word_classes(
        sentences, [3], keep_case=True, seed=4
    )


def test_standard_input_and_output():
    result = run("classes", "-", "-o", "-", "--sizes", "2", "--tokenize", "none", given=LINES)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == tw.word_classes(X, [2])


def test_classes_are_features(tmp_path):
    written("text.txt", "--sizes", "2,4", "--min-count", "1")
    (tmp_path / "train").write_text("the\tD\ndog\tN\n\na\tD\ncat\tN\n\n")
    (tmp_path / "t").write_text("U0:%class[0,0,c]\nU1:%class[0,0,*,1]\n")
    printed("train", "train", "m", "-f", "t", "--list", "c=classes.tsv", "--learner", "crf", "-q")
    assert tw.load("m").features.lists["c"][0] == "word\tclass"
    (tmp_path / "text").write_text("the dog\n")
    assert "class 0" in printed("explain", "-m", "m", "text", "--token", "dog")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["text.txt", "-o", "text.txt"], "text.txt: is also an input"),
        (["text.txt", "-o", "o", "--sizes", "3,x"], "'3,x' is not a list of numbers"),
        (["text.txt", "-o", "o", "--sizes", "0"], "sizes must be a whole number of at least 1"),
        (["text.txt", "-o", "o", "--sizes", "9999"], "sizes must be at most 4,096"),
        (["text.txt", "-o", "o", "--min-count", "1000"], "no word occurs 1000 times"),
        (["none", "-o", "o"], "none"),
        (["empty", "-o", "o"], "empty"),
        (["latin", "-o", "o"], "latin:2: not UTF-8"),
        (["text.txt", "-", "-o", "o"], "standard input (-) cannot be one of several texts"),
        (["text.txt", "-o", "missing/o"], "missing"),
        (["text.txt"], "Missing option '-o'"),
    ],
)
def test_complaints(tmp_path, arguments, says):
    (tmp_path / "empty").write_text("\n \n")
    (tmp_path / "latin").write_bytes(b"a b c\n\xe9 b c\n")
    said = complaint("classes", *arguments, *(["-q"] if "-o" in arguments else []))
    assert says in said
    assert not (tmp_path / "o").exists()
