"""Plain files are tagged in blocks by the core: byte for byte as Python reads and writes them."""

import io

import numpy as np
import pytest
from click.testing import CliRunner

import tagwright as tw
from tagwright.cli import main
from tagwright.data.columns import Columns
from tagwright.data.conllu import Conllu
from tagwright.data.reading import batches_or_answers, text
from tagwright.models.linear import LinearModel

ROWS = [["the", "D"], ["dog", "N"], ["barks", "V"], ["ā", "X"]]


@pytest.fixture(scope="module")
def model():
    X = [[ROWS[n % 4], ROWS[(n + 1) % 4], ROWS[(3 * n) % 4]] for n in range(12)]
    return (
        tw.Perceptron("U:%x[0,0]\nU1:%x[-1,1]\nB\n", epochs=3)
        .fit(X, [[row[1].lower() for row in rows] for rows in X])
        .model_
    )


def pieces(model, data, short, chunk=None, threads=1, **request):
    """What `tag` writes, read with or without the core's help; and how often the core answered."""
    answered = []

    def shortcut(form, block):
        lines = form.line_format() if short else None
        answer = lines and model.tag_lines(block, lines, "auto", threads)
        answered.append(answer is not None)
        return answer

    class Slow(io.BytesIO):
        def read1(self, size=-1):
            return super().read1(chunk or size)

    out = []
    for piece in batches_or_answers(Slow(data), shortcut, columns=model.columns, empty_ok=True, **request):
        if isinstance(piece, bytes):
            out.append(piece)
        else:
            found = model.tag_batch([one.rows for one in piece])
            out += [text(one, labels).encode() for one, labels in zip(piece, found, strict=True)]
    return b"".join(out), sum(answered)


def file_of(rng, separator, blank, end="\n"):
    lines = []
    for _ in range(rng.integers(1, 30)):
        for _ in range(rng.integers(0, 6)):
            lines.append(separator.join([*ROWS[rng.integers(4)], "more"]))
        lines += [blank] * rng.integers(1, 4)
    return (end.join(lines) + end * rng.integers(0, 3)).encode()


@pytest.mark.parametrize(("separator", "blank"), [("\t", ""), (" ", ""), ("\t", " "), (" \t ", "\t")])
@pytest.mark.parametrize("threads", [1, 3])
def test_columns(model, separator, blank, threads):
    rng = np.random.default_rng(threads)
    for _ in range(30):
        data = file_of(rng, separator, blank)
        expected, none = pieces(model, data, False, format="columns")
        for chunk in (None, 7, 50):
            found, _ = pieces(model, data, True, chunk, threads, format="columns")
            assert found == expected
        assert none == 0


def test_the_core_does_answer(model):
    data = b"".join(b"the\tD\ndog\tN\n\n" for _ in range(9000))
    found, answered = pieces(model, data, True, format="columns", threads=2)
    assert answered >= 2
    assert found == pieces(model, data, False, format="columns")[0]


@pytest.mark.parametrize(
    "odd",
    [
        b"the\tD\r\ndog\tN\r\n\r\n",
        b"the\tD\tmore\n\n",
        b"the\n\n",
        b"\xff\tD\n\n",
        b"\xed\xa0\x80\tD\n\n",
        b"\xef\xbb\xbfa\tD\n\n",
    ],
)
def test_what_is_not_plain_is_read_as_usual_and_complained_about_in_the_same_words(model, odd):
    data = b"the\tD\ndog\tN\n\n" * 3 + odd + b"dog\tN\n\n"
    results = []
    for short in (False, True):
        try:
            results.append(pieces(model, data, short, format="columns")[0])
        except ValueError as error:
            results.append(str(error))
    assert results[0] == results[1]


CONLLU = """# sent_id = 1
1-2\tthe dog\t_\t_\t_\t_\t_\t_\t_\t_
1\tthe\tD\tX\tY\tF=1\t0\t_\t_\tA=1
2\tdog\tN\t_\tZ\t_\t1\t_\t_\t_
2.1\tno\t_\t_\t_\t_\t_\t_\t_\t_

# a comment alone

# text = barks
1\tbarks\tV\t_\tV\t_\t0\t_\t_\t_

"""


@pytest.mark.parametrize("field", ["upos", "xpos", "feats"])
def test_conllu(model, field):
    for data in (CONLLU, CONLLU * 40, CONLLU.replace("2.1", "2:1"), CONLLU.replace("2\tdog", "²\tdog")):
        results = []
        for short in (False, True):
            try:
                results.append(pieces(model, data.encode(), short, format="conllu", fields=field)[0])
            except ValueError as error:
                results.append(str(error))
        assert results[0] == results[1]
    assert pieces(model, CONLLU.encode() * 40, True, format="conllu", fields=field)[1] > 0


def test_the_command_line_prints_the_same_with_one_more_option(model, tmp_path):
    path, source = tmp_path / "model", tmp_path / "in.txt"
    model.save(path)
    source.write_bytes(b"the\tD\ndog\tN\n\n" * 500)
    call = ["tag", "-m", str(path), str(source)]
    one, many = (CliRunner().invoke(main, call + more).output for more in ([], ["--threads", "2"]))
    assert one == many
    assert one.count("\n") == 1500
    assert isinstance(tw.load(path), LinearModel)


def test_labels_that_are_read_and_joint_labels_are_left_to_python(model):
    from tagwright.data.sentence import Request

    token = b"1\ta\tb\tA\tB\tC\t_\t_\t_\t_\n\n"
    for form, block in (
        (Columns("a\tb\tc", 1, Request("f", label="last")), b"a\tb\tc\n\n"),
        (Conllu("", 1, Request("f", label="upos")), token),
        (Conllu("", 1, Request("f", fields="upos+feats")), token),
        (Conllu("", 1, Request("f")), token),
    ):
        assert model.tag_lines(block, form.line_format()) is None
    assert model.tag_lines(token, Conllu("", 1, Request("f", fields="upos")).line_format()) is not None


def test_comments_are_kept(model):
    data = b"# one\nthe\tD\n#\ndog\tN\n\n# alone\n\n#x\tD\n" * 3
    found, answered = pieces(model, data, True, format="columns", comments=True)
    assert found == pieces(model, data, False, format="columns", comments=True)[0]
    assert answered
    assert found.count(b"# one\n") == 3


def test_more_threads_than_there_will_ever_be(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("a\nb\n\nc\n\n")
    found = CliRunner().invoke(main, ["tag", str(path), "--threads", str(2**63)])
    assert found.exit_code != 0
    assert "threads is 9223372036854775808, which is too large" in found.output
