"""Corpora, templates, word lists and options of the command line: refused in one line, or read in one way only."""

import gzip
import io
import lzma
import os
from pathlib import Path

import click
from support.corpora import CONLLU, drawn

import tagwright as tw
from tagwright import _core
from tagwright.cli import main
from tagwright.data.formats import format_names
from tagwright.data.reading import batches, text
from tagwright.features.templates import MACROS
from tests.fuzz import TESTS
from tests.fuzz.commands import command

EXPECTED = (ValueError, OSError)
COLUMNS = "The\tDT\tB-NP\ncat\tNN\tI-NP\n\nIt\tPRP\tB-NP\nsat\tVBD\tB-VP\n.\t.\tO\n\n"
PLAIN = "It sat down .\nThe cat\n"
SAMPLES = (CONLLU, COLUMNS, COLUMNS.replace("\t", " "), PLAIN, "# c\na b\n\n# d\nc d\n", "a\nb\n\nc\n", "")
PACKERS = {"": bytes, ".gz": lambda data: gzip.compress(data, mtime=0), ".xz": lzma.compress}
LABELS = (None, "last", "1", "2", "3", "2+3", "upos", "xpos+feats", "0", "-1", "+", "upos+")

SMALL = {"epochs", "max_iterations", "iterations", "rounds", "sweeps", "k"}
"""Options that take as long as they are large."""
LEFT_OUT = {"demo", "serve"}
"""Commands that take as long as requested."""
WORDS = {
    "label": LABELS[1:],
    "lists": ("l=words.txt", "l=missing", "l=folder", "=words.txt", "l", "é=words.txt"),
    "features": ("pos", "chunk", "morph", "templates.txt", "missing", "folder", "U:%x[0,0]\nB\n"),
    "sizes": ("2", "1,3", "64,256,1024", "4096", "4097", "0", "2,", "x"),
    "keep": ("all", "size:2", "ratio:0.1", "divergence:0.1:2", "size:", "size:0", "ratio:2"),
    "decoder": (*(row.name for row in tw.decoders()), "beam:2", "beam:", "beam:size:2", "astar:none"),
}
PICTURES = ("new.png", "new.svg", "new.pdf")
FILES = ("corpus.txt", "corpus.conllu", "plain.txt", "corpus.txt.gz", "model", "words.txt", "templates.txt")
PLACES = (*FILES, *FILES, "folder", "missing/file", "new", "-")
"""All that a command may read and write is in the folder of the input."""
MODELS = sorted((TESTS / "data" / "0.5.0").glob("*.safetensors"))


def attempt(draw):
    return draw.choice((read_corpus, read_templates, find_words, run_command))(draw)


# Corpora


class Drip(io.RawIOBase):
    """A stream that has only a few bytes at a time."""

    def __init__(self, data, step):
        self.data, self.step, self.at = data, step, 0

    def read(self, size=-1):
        piece = self.data[self.at : self.at + self.step]
        self.at += len(piece)
        return piece


def corpus(draw):
    content = draw.choice(SAMPLES)
    if draw.chance(0.8):
        content = draw.damaged_text(content * draw.choice((1, 1, 30)))
    data = content.encode("utf-8", "surrogatepass")
    return draw.damaged(data) if draw.chance(0.2) else data


def read_corpus(draw):
    data = draw.note("data", corpus(draw))
    options = {
        "format": draw.choice((*format_names(), "auto")),
        "label": draw.choice(LABELS),
        "comments": draw.chance(0.3),
        "columns": draw.choice((None, 0, 1, 2, 5)),
        "widths": draw.choice(((), (2,), (1, 3))),
        "fields": draw.choice((None, "upos", "xpos+feats", "x")),
        "empty_ok": draw.chance(0.3),
    }
    draw.note("options", options)
    if draw.chance(0.2):
        ending = draw.choice(list(PACKERS))
        packed = PACKERS[ending](data)
        path = Path(f"packed{ending}")
        path.write_bytes(draw.damaged(packed) if draw.chance(0.5) else packed)
        list(batches(path, **options))
        return False
    found = [outcome(Drip(data, step), options) for step in (1 << 16, draw.choice((1, 2, 7, 100)))]
    assert found[0] == found[1], "what is read depends on how it arrives"
    return True


def outcome(stream, options):
    """What is read from a stream and written again; None where it is refused (either of two errors may be reported)."""
    try:
        sentences = [sentence for batch in batches(stream, **options) for sentence in batch]
    except tw.DataError:
        return None
    for sentence in sentences:
        assert sentence.rows
        assert all(sentence.rows)
        assert sentence.labels is None or len(sentence.labels) == len(sentence.rows)
    return [(one.rows, one.labels, one.first, text(one, ["X|Y"] * len(one.rows))) for one in sentences]


# Templates and word lists


def template(draw):
    own = {
        "row": (0, 0, 1, -1, -2, 1000, 1001, "@1", "@-2", "@0"),
        "column": (0, 0, 1, 2),
        "length": (1, 2, 3, 1000),
        "back": (-1, -2, 0),
        "parts": (1, 2, 1000, 0),
        "number": (1, 2, 1000, 0),
    }
    own["list"] = ("l", "*", "m.2", "c", "v", "none")
    own["regex"] = (r'"\u"', '".?.?$"', r'"^w*\d?1"', r'"a?a?a?a*\p"', '"*"', r'"\"]"', '""', "w")
    line = draw.choice("UUUUBub*") + str(draw.randrange(9)) + ":"
    for _ in range(draw.times(4)):
        macro = draw.choice(list(MACROS.values()))
        given = macro.arguments[: len(macro.arguments) - (macro.shorter and draw.chance(0.5))]
        inside = ",".join(str(draw.choice(own[what])) for what in given)
        line += f"%{macro.name}[{inside}]" + draw.choice(("/", "", "%%"))
    return line


def read_templates(draw):
    lines = "\n".join([template(draw) for _ in range(draw.times(6))] + ["B"] * draw.chance(0.5)) + "\n"
    lines = draw.note("templates", draw.damaged_text(lines) if draw.chance(0.3) else lines)
    lists = {"l": ["w1", "w2 w3", draw.text()], "m.2": [draw.text() for _ in range(draw.randrange(3))]}
    lists["c"] = ["word\tclass\tcount", "w1\t0.10\t9", "w2\t0.11\t1", "\t1.0\tw3 cat", f"{draw.text()}\t{draw.text()}"]
    lists["v"] = ["word\tvalues", "w1\tNN,VB", "w1\tJJ", "w2\t,", f"w3\t{draw.text()}", draw.text()]
    X, y = drawn(draw.randrange(5), sentences=4)
    X = [[[word, draw.text() if draw.chance(0.1) else word] for word in sentence] for sentence in X]
    draw.note("lists, X", (lists, X))
    learners = (
        tw.Perceptron(epochs=1),
        tw.Perceptron(epochs=1),
        tw.CRF(solver=tw.LBFGS(max_iterations=1)),
        tw.MEMM(solver=tw.LBFGS(max_iterations=1)),
    )
    model = draw.choice(learners).set_params(features=tw.Features(lines, lists)).fit(X, y).model_
    assert model.columns == tw.Features(lines, lists).columns
    model.save("model")
    assert tw.load("model").tag_kbest(X, 2) == model.tag_kbest(X, 2)
    return True


def find_words(draw):
    """Compare word lists with plain Python: from left to right, the longest entry."""
    words = ("a", "b", "A", "c", "é", "É", "B", "ab")[: draw.choice((2, 8))]
    sizes = draw.choice(((1, 2, 3), (1, 5, 60)))
    entries = [" ".join(draw.choices(words, k=draw.choice(sizes))) for _ in range(draw.randrange(6))]
    sentence = draw.choices(words, k=draw.choice((0, 3, 12, 200)))
    draw.note("entries, sentence", (entries, sentence))
    known = {tuple(entry.lower().split()) for entry in entries}
    low, right, at = [word.lower() for word in sentence], [], 0
    while at < len(low):
        longest = max((len(entry) for entry in known if tuple(low[at : at + len(entry)]) == entry), default=0)
        right += ["B"] + ["I"] * (longest - 1) if longest else ["O"]
        at += max(longest, 1)
    features = tw.Features("U:%in[0,0,l]\n", {"l": entries})
    found = features.core.expand(_core.Text.from_rows([sentence], 1), 0)
    assert [names for names, _ in found] == [[f"U:{mark}"] for mark in right]
    return True


# The command line


def write_files(draw):
    os.mkdir("folder")
    lines = "\n".join(template(draw) for _ in range(draw.times(5))) + "\n"
    contents = COLUMNS * 3, CONLLU, PLAIN, lines, "w\nthe cat\n"
    names = "corpus.txt", "corpus.conllu", "plain.txt", "templates.txt", "words.txt"
    for name, content in zip(names, contents, strict=True):
        own = draw.damaged_text(content) if draw.chance(0.2) else content
        Path(name).write_bytes(own.encode("utf-8", "surrogatepass"))
    Path("corpus.txt.gz").write_bytes(PACKERS[".gz"](COLUMNS.encode()))
    model = draw.choice(MODELS).read_bytes()
    Path("model").write_bytes(draw.damaged(model) if draw.chance(0.05) else model)


def value(draw, parameter):
    """A value for an option, good or bad."""
    kind = parameter.type
    if isinstance(kind, click.Path):
        return draw.choice(PICTURES if parameter.name == "picture" and draw.chance(0.8) else PLACES)
    if draw.chance(0.04):
        return draw.text()
    values = WORDS.get(parameter.name, ("x", "last", "pos"))
    if parameter.name in SMALL:
        values = 1, 2, 3
    elif isinstance(kind, click.Choice):
        values = kind.choices
    elif kind.name.startswith("int"):
        values = 1, 1, 2, 3, 5, 0, -1, 2**31 - 1, 2**31, 2**63, "x"
    elif kind.name.startswith("float"):
        values = 0, 0.1, 0.5, 1, 2, -1, 1e300, "nan", "inf", "x"
    return draw.choice(values)


def run_command(draw):
    """A command with whatever arguments and options it has."""
    write_files(draw)
    context = click.Context(main)
    name = draw.choice([name for name in main.list_commands(context) if name not in LEFT_OUT])
    likely = {"model": "new" if name == "train" else "model", "model_path": "model"}
    if name == "report" and draw.chance(0.5):
        likely |= {"output": draw.choice(PICTURES)}
    arguments = []
    found = main.get_command(context, name)
    if isinstance(found, click.Group):
        arguments.append(draw.choice(sorted(found.commands)))
        found = found.commands[arguments[0]]
    for parameter in found.params:
        usual = likely.get(parameter.name, "corpus.txt")
        if isinstance(parameter, click.Argument):
            arguments.append(usual if draw.chance(0.7) else draw.choice(PLACES))
        elif draw.chance(0.5 if parameter.name in likely else 0.12):
            arguments.append(draw.choice(parameter.opts))
            if not parameter.is_flag:
                chosen = parameter.name in likely and draw.chance(0.8)
                arguments.append(usual if chosen else value(draw, parameter))
    if draw.chance(0.05):
        odd = draw.choice(("--help", "--", "-x", "--no-such", "model", ""))
        arguments.insert(draw.randrange(len(arguments) + 1), odd)
    # A process takes no such arguments.
    process = draw.chance(0.01) and not any(c in "\0\ud800" for word in arguments for c in str(word))
    command(draw, name, *arguments, given=corpus(draw), process=process)
    return False
