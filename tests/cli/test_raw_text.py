"""`tagwright tag` of text as people write it: split as the model was trained, guessed aloud, warned of once."""

import json

import pytest
from support.commands import columns, printed, run

import tagwright as tw

X = [
    ["We", "eat", "rice", "."],
    ["It", "'s", "good", ",", "is", "n't", "it", "?"],
    ["Shall", "we", "leave", "?"],
    ["I", "do", "n't", "eat", "."],
]
y = [
    ["PRP", "VBP", "NN", "."],
    ["PRP", "VBZ", "JJ", ",", "VBZ", "RB", "PRP", "."],
    ["MD", "PRP", "VB", "."],
    ["PRP", "VBP", "RB", "VB", "."],
]
RAW = "Isn't it good? We don't leave.\n\nWe eat rice.\n"
SPLIT = [["Is", "n't", "it", "good", "?"], ["We", "do", "n't", "leave", "."], ["We", "eat", "rice", "."]]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    path.write_text(columns(X, y))
    return path


@pytest.fixture(scope="module", params=["auto", "english"])
def trained(request, corpus):
    """A model's file, and the option it was trained with; auto says nothing about text."""
    path = corpus.with_name(f"{request.param}.safetensors")
    printed("train", corpus, path, "--tokenize", request.param)
    return path, request.param


def tagged(path, tokens):
    return columns(tokens, tw.load(path).tag_batch(tokens))


def test_text_is_split_as_the_model_was_trained(corpus):
    path = corpus.with_name("english.safetensors")
    printed("train", corpus, path, "--tokenize", "english")
    assert tw.load(path).facts["data"]["tokenize"] == "english"
    assert "english" in next(line for line in printed("info", path).splitlines() if line.startswith("tokenize"))
    assert printed("tag", "-m", path, given=RAW) == tagged(path, SPLIT)
    assert tw.load(path).tag(tw.tokenize("We don't leave.")) == ["PRP", "VBP", "RB", "VB", "."]


def test_a_tokenizer_that_is_requested_goes_first(trained):
    path, _ = trained
    assert printed("tag", "-m", path, "--tokenize", "english", given=RAW) == tagged(path, SPLIT)
    lines = [tw.tokenize(line) for line in RAW.split("\n") if line]
    assert printed("tag", "-m", path, "--tokenize", "english", "--no-split", given=RAW) == tagged(path, lines)
    words = [line.split() for line in RAW.split("\n") if line]
    assert printed("tag", "-m", path, "--tokenize", "none", given=RAW) == tagged(path, words)


def test_tokens_that_are_not_split_are_warned_of_once(trained):
    path, option = trained
    for requested in ("auto", "whitespace"):
        result = run("tag", "-m", path, "--tokenize", requested, given=RAW * 3)
        if (requested, option) == ("auto", "english"):
            assert result.stderr == ""
            continue
        assert result.stdout == tagged(path, [line.split() for line in RAW.split("\n") if line] * 3)
        said = "Warning: <stdin>:1: 'good?' is one token, but the model knows 'good' and '?'; use --tokenize english"
        assert result.stderr.startswith(said)
        assert "--tokenize english" in result.stderr
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "given", ["We eat rice .\nIt 's good .\n", "rice.\neat\n\n", "rice.\tX\nrice.\tX\n", "Barley.\n"]
)
def test_no_warning_of_what_is_split_or_unknown_or_a_column(trained, given):
    assert printed("tag", "-m", trained[0], "--tokenize", "whitespace", given=given)


def test_no_warning_of_a_model_that_was_trained_on_words_with_marks(corpus):
    path = corpus.with_name("words.safetensors")
    printed("train", corpus, path, "--tokenize", "whitespace")
    assert printed("tag", "-m", path, given="We eat rice.\n") == tagged(path, [["We", "eat", "rice."]])


@pytest.mark.parametrize("fact", [None, 5, "greek", "auto", ["english"], {"english": 1}])
def test_odd_facts_mean_whitespace(corpus, fact):
    model = tw.Perceptron(epochs=1).fit(X, y).model_
    model.facts["data"] = {"tokenize": fact}
    path = corpus.with_name("odd.safetensors")
    model.save(path)
    assert printed("tag", "-m", path, given="It 's good .\n") == tagged(path, [["It", "'s", "good", "."]])


def test_chat_is_text(trained):
    path, _ = trained
    result = run("tag", "-m", path, given="Hm\nwe eat rice\n")
    assert result.stdout == tagged(path, [["Hm"], ["we", "eat", "rice"]])
    assert result.stderr == "Note: <stdin>: taken for text; otherwise choose --format columns\n"
    assert printed("tag", "-m", path, "--format", "text", given="Hm\nwe eat rice\n") == result.stdout
    assert printed("tag", "-m", path, given="Hm\nwe\n\neat\n") == tagged(path, [["Hm", "we"], ["eat"]])


def test_columns_with_blanks_that_are_taken_for_text(trained):
    path, _ = trained
    given = "We PRP\neat VBP\n\nrice NN\n"
    result = run("tag", "-m", path, given=given)
    assert result.stdout == tagged(path, [["We", "PRP"], ["eat", "VBP"], ["rice", "NN"]])
    assert result.stderr == "Note: <stdin>: taken for text; otherwise choose --format columns\n"
    assert printed("tag", "-m", path, "--format", "columns", given=given).startswith("We PRP ")


def test_json_has_offsets_into_the_line(trained):
    line = "  Isn't it good?  We don't leave."
    said = printed("tag", "-m", trained[0], "--tokenize", "english", "--json", given=f"We eat\n{line}\n")
    first, *rest = map(json.loads, said.splitlines())
    assert (first["line"], first["offsets"]) == (1, [[0, 2], [3, 6]])
    assert [answer["line"] for answer in rest] == [2, 2]
    for answer, tokens in zip(rest, SPLIT, strict=False):
        assert answer["tokens"] == tokens == [line[begin:end] for begin, end in answer["offsets"]]
