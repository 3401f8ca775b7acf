"""Files cut at any byte: whole, chunked, through the core's shortcut and as JSON, sentences and labels are the same."""

import io
import itertools
from functools import cache

import tagwright as tw
from tagwright.data.reading import batches, batches_or_answers, labelled_texts, read, text

EXPECTED = (ValueError,)
PIECES = (
    b"a", b"b", b"the", b"\xc3\xa9", b"\r", b"#", b"# x", b"\t", b" ", b"\tX", b"\tY|Z", b"\xff", b"1", b"1-2",
    b"1\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_", b"2\tcat\tcat\tNOUN\tNN\tA=B|C\t0\troot\t_\t_",
)  # fmt: skip
ENDS = (b"\n", b"\n", b"\n", b"\n\n", b"\r\n", b"\r\r\n", b"\n \n", b"\n\t \n", b"\r\n\r\n")
STARTS = (b"", b"", b"", b"\xef\xbb\xbf", b"\n", b"# x\n")


class Cut(io.RawIOBase):
    """A stream that is cut at some bytes."""

    def __init__(self, data, cuts):
        bounds = [0, *cuts, len(data)]
        self.pieces = [data[a:b] for a, b in itertools.pairwise(bounds) if a < b]

    def read(self, size=-1):
        return self.pieces.pop(0) if self.pieces else b""


@cache
def model():
    return tw.Perceptron(features="U:%x[0,0]\nB\n", epochs=1).fit([["a", "b", "the"]], [["A", "B", "C"]]).model_


def attempt(draw):
    if draw.chance(0.5):
        line = draw.choice(PIECES)  # most lines alike, so that some files are well-formed
        lines = [line if draw.chance(0.9) else draw.choice(PIECES) for _ in range(draw.times(8))]
    else:
        lines = [b"".join(draw.choices(PIECES, k=draw.randrange(4))) for _ in range(draw.times(8))]
    ends = [draw.choice(ENDS) for _ in lines]
    data = draw.choice(STARTS) + b"".join(a + b for a, b in zip(lines, ends, strict=True))
    data = draw.note("data", data if draw.chance(0.8) else data.rstrip(b"\n"))
    options = {"format": draw.choice(("auto", "columns", "conllu", "text")), "comments": draw.chance(0.3)}
    draw.note("options", options)
    cuts = sorted(draw.randrange(len(data) + 1) for _ in range(draw.randrange(4)))
    places = [[cut] for cut in range(len(data) + 1)] if len(data) < 60 else []
    tagged = [tagged_by_core(data, cuts, options), tagged_in_python(data, options)]
    tagged += [tagged_by_core(data, own, options) for own in [[], *places]]
    assert all(one == tagged[0] for one in tagged), "tagged files depend on how they arrive"
    label = draw.choice(("last", "2", "2+3", "upos", "upos+feats", "feats+xpos"))
    found = [labelled(data, own, label, options) for own in ([], cuts, *places)]
    assert all(one == found[0] for one in found), "labelled files depend on how they arrive"
    assert found[0] == labelled_in_python(data, label, options), "the core reads other sentences than Python"
    return True


def outcome(made):
    """What is made, or None if the file is refused (of two errors either may be reported)."""
    try:
        return made()
    except tw.DataError:
        return None


def tagged_by_core(data, cuts, options):
    def made():
        def shortcut(form, block):
            lines = form.line_format()
            return None if lines is None else model().tag_lines(block, lines)

        pieces = batches_or_answers(Cut(data, cuts), shortcut, columns=1, empty_ok=True, fields="xpos", **options)
        return b"".join(own if isinstance(own, bytes) else written(own) for own in pieces)

    return outcome(made)


def tagged_in_python(data, options):
    read = batches(Cut(data, []), columns=1, empty_ok=True, fields="xpos", **options)
    return outcome(lambda: b"".join(map(written, read)))


def written(batch):
    labels = model().tag_batch([own.rows for own in batch])
    return "".join(map(text, batch, labels)).encode()


def labelled(data, cuts, label, options):
    def made():
        rows, labels = [], []
        for _, one in labelled_texts(Cut(data, cuts), 1, label=label, **options):
            names = one.names
            ids = [names[n] for n in one.ids.tolist()]
            ends = one.text.lengths().cumsum().tolist()
            labels += [ids[a:b] for a, b in zip([0, *ends], ends, strict=False)]
            rows += [[token[0] for token in one.text.rows(s)] for s in range(one.text.sentences)]
        return rows, labels

    return outcome(made)


def labelled_in_python(data, label, options):
    def made():
        X, y = read(Cut(data, []), label=label, **options)
        return [[row[0] for row in sentence] for sentence in X], y

    return outcome(made)
