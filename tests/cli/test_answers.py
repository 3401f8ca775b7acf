"""The forms of `tag`'s answers: --json, --proba all and --to diff."""

import io
import json
import math
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from support.commands import columns, complaint, printed
from support.corpora import CONLLU, ten_sentences

import tagwright as tw
from tagwright.cli import tagging as command
from tagwright.data.reading import batches
from tagwright.models.tagging import Tagging

X10, Y10 = ten_sentences()
TEXT = "the dog can run\ndogs run\n"
SENTENCES = [line.split() for line in TEXT.splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Models: a CRF, an HMM, a perceptron, and two MEMMs that tag together."""
    made = tmp_path_factory.mktemp("answers")
    (made / "ten.txt").write_text(columns(X10, Y10))
    for learner in ("crf", "hmm", "perceptron", "bidirectional"):
        printed("train", made / "ten.txt", made / learner, "--learner", learner)
    return made


def objects(*arguments, given=None):
    """The objects that `tag --json` writes, one per line, by a reader that takes no number that JSON does not have."""

    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    said = printed("tag", "--json", *arguments, given=given)
    assert said.endswith("\n")
    return [json.loads(line, parse_constant=refuse) for line in said.removesuffix("\n").split("\n")]


# JSON


@pytest.mark.parametrize("learner", ["crf", "hmm", "perceptron", "bidirectional"])
def test_json_has_what_the_model_returns(folder, learner):
    found = objects("-m", folder / learner, given=TEXT)
    best = tw.load(folder / learner).tag_kbest(SENTENCES, 1)
    assert [(one["tokens"], one["labels"], one["score"]) for one in found] == [
        (tokens, tagging.labels, tagging.score) for tokens, (tagging,) in zip(SENTENCES, best, strict=True)
    ]
    assert [one["line"] for one in found] == [1, 2]
    assert {"labels", "line", "score", "tokens"} <= found[0].keys() <= {"labels", "line", "score", "tokens", "offsets"}


@pytest.mark.parametrize("learner", ["crf", "hmm"])
def test_json_of_the_k_best_with_all_probabilities(folder, learner):
    model = tw.load(folder / learner)
    found = objects("-m", folder / learner, "-k", "3", "--proba", "all", given=TEXT)
    best = model.tag_kbest(SENTENCES, 3, proba=True)
    for one, taggings, shares in zip(found, best, model.marginals(SENTENCES), strict=True):
        assert [(own["labels"], own["score"], own["probability"]) for own in one["kbest"]] == [
            (tagging.labels, tagging.score, tagging.probability) for tagging in taggings
        ]
        for own, tagging in zip(one["kbest"], taggings, strict=True):
            assert own["marginals"] == pytest.approx(tagging.marginals, rel=1e-5)
        assert {name: one[name] for name in one["kbest"][0]} == one["kbest"][0]
        for own, row in zip(one["distributions"], shares, strict=True):
            assert list(own) == model.labels
            assert list(own.values()) == pytest.approx(row.tolist(), rel=1e-5)
            assert sum(own.values()) == pytest.approx(1, abs=1e-5)


def test_json_of_columns_and_comments(folder):
    given = "# sent 7\nthe\tx\ndog\ty\n\nrun\tz\n\n"
    first, second = objects("-m", folder / "crf", "--comments", "--format", "columns", given=given)
    assert (first["tokens"], first["columns"]) == (["the", "dog"], [["the", "x"], ["dog", "y"]])
    assert (first["comments"], first["line"]) == (["# sent 7"], 1)
    assert (second["line"], second["columns"]) == (5, [["run", "z"]])
    assert "comments" not in second
    (one,) = objects("-m", folder / "crf", given="the\ndog\n\n")
    assert "columns" not in one


def test_json_of_conllu(folder, tmp_path):
    (tmp_path / "t.conllu").write_text(CONLLU)
    found = objects("-m", folder / "crf", tmp_path / "t.conllu")
    sentences = [block.split("\n") for block in CONLLU.strip("\n").split("\n\n")]
    for one, lines in zip(found, sentences, strict=True):
        tokens = [line.split("\t") for line in lines if line.split("\t")[0].isdigit()]
        assert one["tokens"] == [cells[1] for cells in tokens]
        assert [row[:3] for row in one["columns"]] == [cells[1:4] for cells in tokens]
        assert one.get("comments", []) == [line for line in lines if line.startswith("#")]
        assert len(one["labels"]) == len(tokens)


def test_json_keeps_every_character(folder):
    words = ['"', "\\", "\u2028", "é", "猫", "\x01", "</s>"]
    (one,) = objects("-m", folder / "crf", "--format", "columns", given="".join(f"{word}\n" for word in words) + "\n")
    assert one["tokens"] == words


def test_json_has_null_for_what_is_not_a_number():
    writer = command.WRITERS["json"](["A"], 1, "xpos")
    (sentence,) = next(iter(batches(io.BytesIO(b"a\n\n"), "columns")))
    for score in (math.inf, -math.inf, math.nan):
        made = json.loads(writer.text(command.Answer(sentence, [Tagging(["A"], score, score, [1.0])])))
        assert (made["score"], made["probability"]) == (None, None)


def test_json_has_offsets_where_the_sentence_has_them():
    (sentence,) = next(iter(batches(io.BytesIO(b"it's\n"), "text")))
    raw = SimpleNamespace(**{**sentence._asdict(), "rows": [["it"], ["'s"]], "offsets": [(0, 2), (2, 4)]})
    made = json.loads(command.WRITERS["json"](["A"], 1, "xpos").text(command.Answer(raw, [Tagging(["A", "A"], 0.0)])))
    assert [made["tokens"], made["offsets"]] == [["it", "'s"], [[0, 2], [2, 4]]]


def test_json_is_written_line_by_line(folder, patience):
    arguments = [sys.executable, "-m", "tagwright", "tag", "-m", folder / "crf", "--json", "--format", "text"]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for tokens in SENTENCES:
            process.stdin.write(" ".join(tokens).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["tokens"] == tokens
        process.stdin.close()
        assert process.stdout.read() == b""
    assert process.returncode == 0


def test_json_to_a_file(folder, tmp_path):
    assert printed("tag", "-m", folder / "crf", "--json", "-o", tmp_path / "out", given=TEXT) == ""
    assert (tmp_path / "out").read_text() == printed("tag", "-m", folder / "crf", "--json", given=TEXT)


# --proba


def shares_of(cells):
    """Labels and their probabilities, out of cells such as NN/0.5."""
    return [(label, float(p)) for label, _, p in (cell.rpartition("/") for cell in cells)]


@pytest.mark.parametrize("separator", ["\t", " "])
def test_all_probabilities_are_cells_as_in_crfpp(folder, tmp_path, separator):
    model = tw.load(folder / "crf")
    (tmp_path / "in").write_text("".join(f"{word}{separator}x\n" for word in SENTENCES[0]) + "\n")
    said = printed("tag", "-m", folder / "crf", "--format", "columns", "--proba", "all", tmp_path / "in")
    (shares,) = model.marginals([SENTENCES[0]])
    for line, word, row in zip(said.splitlines(), SENTENCES[0], shares, strict=False):
        own, _, label, p, *cells = line.split(separator)
        assert (own, label) == (word, model.labels[int(np.argmax(row))])
        assert [name for name, _ in shares_of(cells)] == model.labels
        assert [p for _, p in shares_of(cells)] == pytest.approx(row.tolist(), abs=1e-6)
        assert float(p) == dict(shares_of(cells))[label]
    # The rest of the line is as it is without them.
    assert [line.rsplit(separator, len(model.labels))[0] for line in said.splitlines() if line] == [
        line
        for line in printed("tag", "-m", folder / "crf", "--format", "columns", "--proba", tmp_path / "in").splitlines()
        if line
    ]


def test_all_probabilities_in_conllu(tmp_path):
    (tmp_path / "t.conllu").write_text(CONLLU)
    printed("train", tmp_path / "t.conllu", tmp_path / "m", "--label", "upos+feats", "--learner", "hmm")
    model = tw.load(tmp_path / "m")
    assert any("|" in label for label in model.labels)
    out = printed("tag", "-m", tmp_path / "m", "--proba", "all", tmp_path / "t.conllu")
    tokens = [line.split("\t") for line in out.split("\n") if line.split("\t")[0].isdigit()]
    shares = np.concatenate(model.marginals(tw.read(tmp_path / "t.conllu", label="upos+feats")[0]))
    for cells, row in zip(tokens, shares, strict=True):
        *_, prob, probs = cells[9].split("|")
        assert prob.startswith("Prob=")
        found = shares_of(probs.removeprefix("Probs=").replace("\\p", "|").split(" "))
        assert [name for name, _ in found] == model.labels
        assert [p for _, p in found] == pytest.approx(row.tolist(), abs=1e-6)
    # Once more, and they are replaced.
    assert printed("tag", "-m", tmp_path / "m", "--proba", "all", "--format", "conllu", given=out) == out
    less = printed("tag", "-m", tmp_path / "m", "--proba", "--format", "conllu", given=out)
    assert "Probs=" not in less
    assert less == printed("tag", "-m", tmp_path / "m", "--proba", tmp_path / "t.conllu")


def test_proba_alone_takes_no_file_for_its_value(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("in", "all", "label"):
        (tmp_path / name).write_text("the\ndog\n\n")
    usual = printed("tag", "-m", folder / "crf", "--proba", given="the\ndog\n\n")
    assert [len(line.split("\t")) for line in usual.splitlines()] == [3, 3, 1]
    for arguments in (
        ["--proba", "in"],
        ["in", "--proba"],
        ["--proba", "--threads", "2", "in"],
        ["--proba", "label", "in"],
        ["--proba=label", "in"],
        ["--proba", "--", "in"],
        ["--proba", "--", "all"],
        ["--proba", "./all"],
    ):
        assert printed("tag", "-m", folder / "crf", *arguments) == usual
    every = printed("tag", "-m", folder / "crf", "--proba", "all", "in")
    assert every == printed("tag", "-m", folder / "crf", "in", "--proba=all") != usual
    assert every.startswith("the\tDT\t")
    assert "'some' is not one of 'label', 'all'" in complaint("tag", "--proba=some", given="a\n")


@pytest.mark.parametrize("most", [1, 7, 10_000])
def test_a_batch_is_tagged_in_parts(folder, monkeypatch, most):
    (batch,) = batches(folder / "ten.txt")
    parts = list(command._parts(batch, most))
    assert [sentence for part in parts for sentence in part] == batch
    assert all(len(part) == 1 or sum(len(sentence.rows) for sentence in part) <= most for part in parts)
    whole = printed("tag", "-m", folder / "crf", "--proba", "all", folder / "ten.txt")
    monkeypatch.setattr(command, "_MOST_MARGINALS", most * len(tw.load(folder / "crf").labels))
    assert printed("tag", "-m", folder / "crf", "--proba", "all", folder / "ten.txt") == whole


# --to diff


def test_diff_shows_the_best_and_where_the_others_differ(folder):
    model = tw.load(folder / "crf")
    said = printed("tag", "-m", folder / "crf", "-k", "5", "--to", "diff", given=TEXT)
    blocks = iter(said.removesuffix("\n\n").split("\n\n"))
    for tokens, (best, *others) in zip(SENTENCES, model.tag_kbest(SENTENCES, 5), strict=True):
        head, *lines = next(blocks).split("\n")
        assert head == f"# 0 {best.score:.6f}"
        assert lines == [f"{token}\t{label}" for token, label in zip(tokens, best.labels, strict=True)]
        assert len(others) == 4
        for rank, other in enumerate(others, 1):
            head, *lines = next(blocks).split("\n")
            assert head == f"# {rank} {other.score:.6f} {other.score - best.score:.6f}"
            assert [line.split() for line in lines] == [
                [str(t + 1), tokens[t], best.labels[t], "->", other.labels[t]]
                for t in range(len(tokens))
                if best.labels[t] != other.labels[t]
            ]
            assert len({line.index("->") for line in lines}) == 1
    assert next(blocks, None) is None


def test_diff_with_probabilities(folder):
    said = printed("tag", "-m", folder / "crf", "-k", "2", "--proba", "--to", "diff", given="dogs run\n")
    ((best, other),) = tw.load(folder / "crf").tag_kbest([["dogs", "run"]], 2, proba=True)
    first, second = said.removesuffix("\n\n").split("\n\n")
    assert first.split("\n")[0] == f"# 0 {best.probability:.6f} {best.log_probability:.6f}"
    head, *lines = second.split("\n")
    values = other.probability, other.log_probability, other.score - best.score
    assert head == "# 1 " + " ".join(f"{value:.6f}" for value in values)
    shown = [float(line.split()[-1]) for line in lines]
    differ = [t for t in range(2) if best.labels[t] != other.labels[t]]
    assert shown == pytest.approx([other.marginals[t] for t in differ], abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--to", "diff"], "-k 2 or more"),
        (["--to", "diff", "-k", "2", "--json"], "--to diff and --json do not go together"),
        (["--to", "diff", "-k", "2", "--proba", "all"], "no place for all probabilities"),
    ],
)
def test_diff_with_what_it_does_not_go_with(folder, arguments, says):
    assert says in complaint("tag", "-m", folder / "crf", *arguments, given=TEXT)
