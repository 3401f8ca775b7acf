"""What `tag` reads and writes: several files, wrapped text, TABs, comments, CoNLL-U and word/TAG; limits in `eval`."""

import json
import textwrap

import numpy as np
import pytest
from support.commands import columns, complaint, printed, run
from support.corpora import ten_sentences

import tagwright as tw
from tagwright.data.reading import batches
from tagwright.data.upos import PENN, UPOS
from tagwright.models.upos import UPOS_MODEL

X10, Y10 = ten_sentences()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    (folder / "ten.txt").write_text(columns(X10, Y10))
    printed("train", folder / "ten.txt", folder / "m")
    return folder / "m"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# Several files


def test_files_are_tagged_one_after_the_other(model, tmp_path):
    for name, words in (("a.txt", X10[0]), ("b.txt", X10[1])):
        (tmp_path / name).write_text("\n".join(words) + "\n")
    both = columns(X10[:2], Y10[:2])
    assert printed("tag", "-m", model, "a.txt", "b.txt") == both
    assert printed("tag", "-m", model, "a.txt", "-", given="\n".join(X10[1])) == both
    printed("tag", "-m", model, "a.txt", "b.txt", "-o", "all.txt")
    assert (tmp_path / "all.txt").read_text() == both
    printed("tag", "-m", model, "a.txt", "b.txt", "-o", "tagged/")
    assert (tmp_path / "tagged" / "b.txt").read_text() == columns(X10[1:2], Y10[1:2])
    assert printed("tag", "-m", model, "tagged") == columns(
        [
            [f"{word}\t{label}" for word, label in zip(*pair, strict=True)]
            for pair in zip(X10[:2], Y10[:2], strict=True)
        ],
        Y10[:2],
    )
    assert "a folder, which standard input has no file name for" in complaint("tag", "-m", model, "-", "-o", "tagged")


def test_a_model_without_its_flag(model):
    assert complaint("tag", model, "a.txt") == f"{model}: a model, not text; write -m {model} for the model to tag with"


# Text


def test_comments_of_text_are_kept(model):
    given = "# one\n# two\nthe dog can run\n# three\n\nthe dog\n# at the end\n"
    tagged = "# one\n# two\nthe\tDT\ndog\tNN\ncan\tMD\nrun\tVB\n\n# three\nthe\tDT\ndog\tNN\n\n"
    options = ("tag", "-m", model, "--comments", "--format", "text")
    assert printed(*options, given=given) == tagged
    objects = [json.loads(line) for line in printed(*options, "--json", given=given).splitlines()]
    assert [own["comments"] for own in objects] == [["# one", "# two"], ["# three"]]


TEXT = (
    "The old fisherman mends his boat near the river. He has done so every morning since the spring, and his "
    "daughter, who lives across the water, brings him bread. Nobody knows how old the boat is."
)
PARAGRAPHS = (TEXT, "When the wind is strong they stay at home and listen to the radio. It is an old one, too. " * 3)


@pytest.mark.parametrize("width", [45, 60, 72])
@pytest.mark.parametrize("indent", ["", "  "])
def test_wrapped_text_is_tagged_as_if_it_were_not(tmp_path, width, indent):
    wrapped = "\n\n".join(textwrap.fill(own, width, initial_indent=indent) for own in PARAGRAPHS) + "\n"
    (tmp_path / "wrapped.txt").write_text(wrapped)
    flat = "\n".join(own.strip() for own in PARAGRAPHS) + "\n"
    expected = printed("tag", given=flat)
    result = run("tag", "wrapped.txt")
    assert (result.exit_code, result.stdout) == (0, expected)
    assert result.stderr.startswith("Note: wrapped.txt: taken for wrapped text, in which a blank line ends a paragraph")
    assert printed("tag", "--format", "paragraphs", given=wrapped) == expected
    assert printed("tag", "--format", "text", "wrapped.txt") != expected
    first = json.loads(printed("tag", "--format", "paragraphs", "--json", given=wrapped).splitlines()[0])
    text = wrapped.partition("\n\n")[0]
    assert [text[begin:end] for begin, end in first["offsets"]] == first["tokens"]


@pytest.mark.parametrize(
    "lines",
    [
        ["One sentence is here.", "Another one that is a good deal longer than it is here.", "A third one."],
        ["This is a sentence with some words in it.", "This is a sentence with more words in.", "This is the last."],
    ],
)
def test_a_sentence_per_line_stays_one(tmp_path, lines):
    (tmp_path / "lines.txt").write_text("\n".join(lines) + "\n")
    result = run("tag", "lines.txt", "--to", "slash")
    assert len(result.stdout.splitlines()) == len(lines)


def texts_of(given, **options):
    import io

    return [[row[0] for row in own.rows] for batch in batches(io.BytesIO(given), columns=1, **options) for own in batch]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("\tThe dog can run.\n", [["The", "dog", "can", "run."]]),
        ("The dog\tcan run.\n\n", [["The", "dog", "can", "run."]]),
        ("The dog\tcan run.\nThe cat\n", [["The", "dog", "can", "run."], ["The", "cat"]]),
        ("The dog\tcan\trun now.\na\tb\n", [["The", "dog", "can", "run", "now."], ["a", "b"]]),
        ("New York\tNNP\nis\tVBZ\n\n", [["New York", "is"]]),
        ("the\tDT\ndog\tNN\n\n", [["the", "dog"]]),
    ],
)
def test_a_tab_in_the_first_line(given, expected):
    assert texts_of(given.encode()) == expected


def test_text_with_a_tab_is_reported(model):
    result = run("tag", "-m", model, given="the dog\tcan run\nthe dog\n")
    assert result.stdout == "the\tDT\ndog\tNN\ncan\tMD\nrun\tVB\n\nthe\tDT\ndog\tNN\n\n"
    assert result.stderr == "Note: <stdin>: taken for text; otherwise choose --format columns\n"


# Forms of output


def test_conllu_from_text():
    said = printed("tag", "--to", "conllu", "--comments", "--format", "text", given="# c\nIt's rice, isn't it? Yes.\n")
    first, second = said.removesuffix("\n\n").split("\n\n")
    comment, text, *tokens = (line.split("\t") for line in first.split("\n"))
    assert (comment, text) == (["# c"], ["# text = It's rice, isn't it?"])
    assert [token[0] for token in tokens] == [str(n + 1) for n in range(len(tokens))]
    assert {len(token) for token in tokens} == {10}
    assert [token[1] for token in tokens] == ["It", "'s", "rice", ",", "is", "n't", "it", "?"]
    assert [token[9] == "SpaceAfter=No" for token in tokens] == [True, False, True, False, True, False, True, False]
    assert [token[4] for token in tokens] == tw.load().tag([token[1] for token in tokens])
    assert second.startswith("# text = Yes.\n")
    (again,) = [own for batch in batches_of(said) for own in batch][:1]
    assert again.labels == [token[4] for token in tokens]


def batches_of(said):
    import io

    return batches(io.BytesIO(said.encode()), "conllu", label="xpos")


def test_conllu_from_columns_with_probabilities():
    said = printed("tag", "--to", "conllu", "--proba", "-k", "2", given="the\ndog\n\n")
    assert said.splitlines()[0].startswith("# 0 ")
    assert [line.split("\t")[9].startswith("Prob=0.") for line in said.splitlines() if "\t" in line] == [True] * 4


def test_words_and_tags_with_slashes(model):
    assert printed("tag", "-m", model, "--to", "slash", given="the dog can run\nthe dog\n") == (
        "the/DT dog/NN can/MD run/VB\nthe/DT dog/NN\n"
    )
    assert printed("tag", "-m", model, "--to", "slash", "-k", "2", given="the dog\n").startswith("# 0 ")
    for more, message in (
        (["--proba"], "--to slash has no place for probabilities"),
        (["--json"], "--to slash and --json do not go together"),
        (["--spans"], "--to slash and --spans do not go together"),
    ):
        assert message in complaint("tag", "--to", "slash", *more, given="a\n")


def test_every_tag_of_the_included_model_has_a_upos():
    assert set(tw.load().labels) <= PENN
    assert set(tw.load(UPOS_MODEL).labels) == UPOS


# Limits and partial labels in `eval` and `report`


def spans_corpus(joint):
    return f"a\t{joint}B-X\nb\t{joint}I-X\nc\t{joint}O\n\nc\t{joint}O\na\t{joint}B-X\n\n"


@pytest.mark.parametrize("joint", ["", "NN|", "NN:"])
def test_a_scheme_is_found_in_joint_labels(tmp_path, joint):
    (tmp_path / "c.txt").write_text(spans_corpus(joint))
    printed("train", "c.txt", "m", "--epochs", "1", "--scheme", "BIO")
    made = tw.load("m")
    inside, outside = f"{joint}I-X", f"{joint}O"
    pair = (np.array([made.labels.index(name)], np.int32) for name in (outside, inside))
    assert made.constraints.core().may_follow(*pair).tolist() == [0]
    if joint:
        printed("train", "c.txt", "m", "--epochs", "1", "--scheme", "BIO:1")
        assert printed("tag", "-m", "m", "--scheme", "BIO:1", given="b\n\n") != f"b\t{inside}\n\n"
    (tmp_path / "words.tpl").write_text("U:%x[0,0]\nU1:%lower[0,0]\nU2:%prefix[0,0,1]\nU3:%x[1,0]\nB\n")
    printed("train", "c.txt", "plain", "--epochs", "9", "--learner", "perceptron", "--features", "words.tpl")
    assert printed("tag", "-m", "plain", given="b\nb\n\n") == f"b\t{inside}\nb\t{inside}\n\n"
    assert printed("tag", "-m", "plain", "--scheme", "BIO", given="b\nb\n\n").splitlines()[0] != f"b\t{inside}"
    (tmp_path / "gold.txt").write_text(f"b\t{joint}B-X\nb\t{inside}\n\n")
    free = json.loads(printed("eval", "-m", "plain", "gold.txt", "--json"))
    held = json.loads(printed("eval", "-m", "plain", "gold.txt", "--json", "--scheme", "BIO"))
    assert (free["token_accuracy"], held["token_accuracy"]) == (0.5, 1.0)


def test_eval_with_a_dictionary(model, tmp_path):
    (tmp_path / "words.txt").write_text("dog\tVB\n")
    (tmp_path / "gold.txt").write_text("the\tDT\ndog\tVB\n\n")
    assert json.loads(printed("eval", "-m", model, "gold.txt", "--json"))["token_accuracy"] == 0.5
    found = json.loads(printed("eval", "-m", model, "gold.txt", "--json", "--dictionary", "words.txt"))
    assert found["token_accuracy"] == 1.0
    assert "100.00% of 2 labels" in printed("report", "-m", model, "gold.txt", "--dictionary", "words.txt")


def test_eval_of_partly_known_labels(model, tmp_path):
    (tmp_path / "gold.txt").write_text("the\tDT,NN\ndog\t_\ncan\tNN,VB\nrun\tVB\n\n")
    found = json.loads(printed("eval", "-m", model, "gold.txt", "--json", "--partial"))
    assert (found["tokens"], found["token_accuracy"]) == (3, pytest.approx(2 / 3))


def test_eval_of_the_wrong_column_is_an_error(model, tmp_path):
    gold = columns([X10[0] * 40], [[*[label.lower() for label in Y10[0] * 40][:-1], Y10[0][-1]]])
    (tmp_path / "gold.txt").write_text(gold)
    said = complaint("eval", "-m", model, "gold.txt")
    assert "the model does not know 9" in said
    assert "choose another column with --label" in said
