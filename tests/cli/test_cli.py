"""The command line: what each command prints, its help, and its errors in one line."""

import gzip
import json
import lzma
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from support.commands import columns, complaint, printed, run, stopped
from support.corpora import same_arrays, ten_sentences
from support.flat import memm

import tagwright as tw
from tagwright.cli.demo import SENTENCES
from tagwright.cli.main import main
from tagwright.data.upos import UPOS

COMMANDS = ["tag", "explain", "serve", "train", "tune", "classes", "import", "eval", "report", "info", "demo"]
QUESTION = "Would service be voluntary or compulsory ?"
ONE_SENTENCE = "the\tDT\ndog\tNN\ncan\tMD\nsee\tVB\n\n"
PACKERS = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Ten sentences, as a file."""
    path = tmp_path_factory.mktemp("corpus") / "ten.txt"
    path.write_text(columns(*ten_sentences()))
    return path


@pytest.fixture(scope="module")
def model(corpus):
    """A model that knows them by heart."""
    path = corpus.with_name("ten.safetensors")
    printed("train", corpus, path)
    return path


# Help and the list of decoders


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)], ids=" ".join)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_shows_an_example(command, flag):
    lines = [line.strip() for line in printed(*command, flag).splitlines()]
    assert lines[0].startswith("Usage: ")
    example = lines[lines.index("Example:" if command else "Examples:") + 1]
    assert example.startswith(("tagwright ", "echo "))
    assert " ".join(["tagwright", *command]) in example


def test_help_names_every_command():
    assert main.list_commands(None) == COMMANDS
    said = printed("--help")
    assert all(f"\n  {name} " in said for name in COMMANDS)


def test_no_command_shows_the_help_as_it_is_laid_out():
    assert printed() == printed("--help")
    assert "\nUse a model:\n" in printed()
    ran = subprocess.run([sys.executable, "-m", "tagwright"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("Usage: tagwright ")


def test_decoders():
    said = printed("info", "--decoders")
    assert [line.split()[0] for line in said.splitlines()[2:]] == [row.name for row in tw.decoders()]


def test_renamed_commands_still_work():
    result = run("decoders")
    assert (result.exit_code, result.stdout) == (0, printed("info", "--decoders"))
    assert result.stderr == "Warning: tagwright decoders is now tagwright info --decoders\n"


def test_version_and_start():
    ran = subprocess.run(
        [sys.executable, "-c", "import tagwright, sys; print(tagwright.__version__, 'scipy' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == [tw.__version__, "False"]
    with open(Path(__file__).parents[2] / "pyproject.toml", "rb") as file:
        assert tomllib.load(file)["project"]["version"] == tw.__version__
    assert tw.__version__ in run("--version").output


# demo


def test_demo():
    said = printed("demo", "--labels", "300", "--tokens", "7", "-k", "3")
    assert "yes, all 3 of 3" in said
    lines = said.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("decoder"))
    assert lines[at].split() == ["decoder", "ms", "speed-up", "rounds", "nodes/token", "edges/token"]
    assert len({len(line) for line in lines[at : at + 5]}) == 1


def test_demo_begins_with_sentences_and_their_best_labellings():
    said = printed("demo", "--labels", "50", "--tokens", "5", "-k", "3")
    *blocks, rest = said.split("\n\n", len(SENTENCES))
    assert rest.startswith("A lattice of 5 tokens and 50 labels")
    found = tw.load().tag_kbest([sentence.split() for sentence in SENTENCES], 3, proba=True)
    for block, sentence, taggings in zip(blocks, SENTENCES, found, strict=True):
        header, *lines = block.splitlines()
        assert header.split() == [*sentence.split(), "probability"]
        assert [line.split() for line in lines] == [
            [str(rank), *tagging.labels, f"{tagging.probability:.3f}"] for rank, tagging in enumerate(taggings, 1)
        ]
        assert len({len(line) for line in block.splitlines()}) == 1


def test_demo_ends_with_a_command_that_makes_a_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = printed("demo", "--labels", "50", "--tokens", "5")
    command = said.partition("\nNext:\n")[2].splitlines()[-1].split()
    assert printed(*command[1:]).startswith("report.html: ")
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_demo_of_a_long_sentence():
    assert "10^600 paths" in printed("demo", "--labels", "100", "--tokens", "300")


def test_demo_is_repeatable():
    def paths(output):
        return [line for line in output[output.index("A lattice") :].splitlines() if line[:1].isdigit()]

    first, again = (printed("demo", "--labels", "200", "--seed", "4") for _ in range(2))
    assert paths(first) == paths(again) != []
    assert paths(first) != paths(printed("demo", "--labels", "200", "--seed", "5"))


# train, eval, info: what they print


def test_train_prints_a_summary(corpus, tmp_path):
    path = tmp_path / "m.safetensors"
    header, line, *said = printed("train", corpus, path, "--epochs", "4").splitlines()
    X, _ = ten_sentences()
    made = tw.load(path)
    assert header == str(path)
    assert set(line) == {"-", " "}
    shown = dict(re.split("  +", row) for row in said)
    assert list(shown) == [
        *("sentences", "tokens", "labels", "features", "weights", "edges", "file", "time"),
        *("epochs", "objective"),
    ]
    assert shown["sentences"] == str(len(X))
    assert shown["tokens"] == str(sum(map(len, X)))
    assert shown["labels"] == str(len(made.labels))
    assert shown["features"] == f"{len(made.arrays['rows.end']):,}"
    assert shown["weights"] == f"{len(made.arrays['rows.weight']):,}"
    assert shown["edges"] == f"{len(made.arrays['edges.score']):,}"
    assert shown["file"] == f"{path.stat().st_size / 1e3:.1f} kB"
    assert made.facts["epochs_done"] == 4


def test_train_leaves_nothing_beside_the_model(corpus, tmp_path):
    printed("train", corpus, tmp_path / "m", "--epochs", "1")
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_train_with_margin_and_parts(tmp_path):
    X, y = ten_sentences()
    y = [["|".join(label) for label in path] for path in y]
    path = tmp_path / "parts.txt"
    path.write_text(columns(X, y))
    for separator in ("|", ""):
        options = ["--set", "margin=2", "--set", f"parts={separator}", "--epochs", "3"]
        printed("train", path, tmp_path / "m", *options)
        made = tw.load(tmp_path / "m")
        same = tw.CRF(margin=2, parts=separator, epochs=3).fit(X, y).model_
        assert same_arrays(made.arrays, same.arrays)
        assert "parts" in made.arrays
        printed("train", path, tmp_path / "other", "--set", "margin=2", "--epochs", "3")
        assert not same_arrays(tw.load(tmp_path / "other").arrays, made.arrays)
        assert printed("tag", "-m", tmp_path / "m", path) == columns(
            [[f"{word}\t{label}" for word, label in zip(*pair, strict=True)] for pair in zip(X, y, strict=True)],
            same.tag_batch(X),
        )
    answer = [line.split() for line in printed("info", tmp_path / "m").splitlines()]
    assert ["margin", "2.0"] in answer


@pytest.mark.parametrize(
    "option",
    [
        *(["--epochs", "3"], ["--features", "pos"], ["--set", "seed=1"], ["--set", "min_count=1"]),
        *(["--set", "pairs=observed"], ["--set", "margin=0"], ["--set", "parts="], ["--set", "patience=3"]),
        *(["--checkpoint", "c"], ["--warm-start", "c"], ["--list", "names=corpus"]),
    ],
    ids=" ".join,
)
def test_train_an_hmm_with_what_is_not_for_it(corpus, tmp_path, option):
    given = [part.replace("corpus", str(corpus)) for part in option]
    said = complaint("train", corpus, tmp_path / "m", "--learner", "hmm", *given)
    name = f"--set {option[1].partition('=')[0]}" if option[0] == "--set" else option[0]
    assert f"{name} is not for --learner hmm" in said
    assert list(tmp_path.iterdir()) == []


def test_train_an_hmm(corpus, tmp_path):
    said = printed("train", corpus, tmp_path / "m", "--learner", "hmm", "--threads", "2", "--dev", corpus)
    assert tw.load(tmp_path / "m").facts["learner"] == "hmm"
    assert "dev accuracy" in said
    assert "training error" not in said


MEMM = ["--set", "history=1", "--set", "beam=5", "--set", "l2=0.01", "--set", "max_iterations=20", "--dictionary", "3"]


def test_train_memms(corpus, tmp_path):
    X, y = ten_sentences()
    options = {"history": 1, "beam": 5, "l2": 0.01, "max_iterations": 20, "dictionary": 3}
    for direction in ("right", "left"):
        path = tmp_path / direction
        said = stopped(
            "train", corpus, path, "--learner", "memm", "--set", f"direction={direction}", "--dev", corpus, *MEMM
        )
        same = memm(direction=direction, **options).fit(X, y, dev=(X, y)).model_
        assert same_arrays(tw.load(path).arrays, same.arrays)
        assert "100.00%" in said.splitlines()[-1]
        tagged = [[f"{word}\t{label}" for word, label in zip(*pair, strict=True)] for pair in zip(X, y, strict=True)]
        for decoder in ("auto", "beam:2", "viterbi"):
            assert printed("tag", "-m", path, "--decoder", decoder, corpus) == columns(tagged, same.tag_batch(X))
        assert json.loads(printed("eval", "-m", path, "--json", corpus))["token_accuracy"] == 1
        assert printed("tag", "-m", path, "-k", "2", corpus).startswith("# 0 -0.")
        assert ["direction", direction] in [line.split() for line in printed("info", path).splitlines()]
    assert "train a CRF" in complaint("tag", "-m", tmp_path / "left", "--proba", corpus)


def test_train_a_bidirectional_model(corpus, tmp_path):
    X, _ = ten_sentences()
    path = tmp_path / "both"
    options = [*MEMM, "--set", "rounds=9", "--set", "step=0.4", "--set", "schedule=constant", "--set", "spans=false"]
    said = stopped("train", corpus, path, "--learner", "bidirectional", "--dev", corpus, *options)
    assert "100.00%" in said.splitlines()[-1]
    made = tw.load(path)
    assert made.facts["bidirectional"] == {"rounds": 9, "step": 0.4, "schedule": "constant"}
    assert (made.left.beam, made.right.order, made.right.leftward) == (5, 1, True)
    assert json.loads(printed("eval", "-m", path, "--json", corpus))["token_accuracy"] == 1
    tagged = printed("tag", "-m", path, "--format", "text", given="the dog can run\n")
    assert tagged == "the\tDT\ndog\tNN\ncan\tMD\nrun\tVB\n\n"
    assert printed("tag", "-m", path, "-k", "2", "--threads", "2", corpus).count("# 1 ") == len(X)
    answer = printed("info", path)
    assert "left: model" in answer
    assert "right: model" in answer
    assert ["rounds", "9"] in [line.split() for line in answer.splitlines()]


@pytest.mark.parametrize(
    ("learner", "option"),
    [
        ("bidirectional", ["--set", "direction=left"]),
        ("bidirectional", ["--checkpoint", "c"]),
        ("bidirectional", ["--epochs", "3"]),
        ("memm", ["--set", "rounds=3"]),
        ("memm", ["--set", "seed=3"]),
        ("perceptron", ["--set", "spans=false"]),
        ("crf", ["--set", "beam=3"]),
    ],
)
def test_options_for_other_learners(corpus, tmp_path, learner, option):
    said = complaint("train", corpus, tmp_path / "m", "--learner", learner, *option)
    name = f"--set {option[1].partition('=')[0]}" if option[0] == "--set" else option[0]
    assert said.startswith(f"{name} is not for --learner {learner}")


EVALUATION = """\
measure                   of      %
------------------------  --  -----
sentence accuracy          3  33.33
token accuracy             4  50.00
  known words              3  66.67
  unknown words            1   0.00
label F1, mean of labels   3  50.00

label  precision  recall      F1  gold  predicted
-----  ---------  ------  ------  ----  ---------
C          50.00   50.00   50.00     2          2
A         100.00  100.00  100.00     1          1
B           0.00    0.00    0.00     1          1

gold  predicted  count
----  ---------  -----
B             C      1
C             B      1
"""


def test_eval(tmp_path):
    (tmp_path / "train.txt").write_text("a\tA\nb\tB\n\nc\tC\n\n")
    (tmp_path / "gold.txt").write_text("a\tA\nb\tC\n\nc\tC\n\nd\tB\n\n")
    path = tmp_path / "m"
    printed("train", tmp_path / "train.txt", path, "--learner", "perceptron")
    assert tw.load(path).tag_batch([["a", "b"], ["c"], ["d"]]) == [["A", "B"], ["C"], ["C"]]
    assert printed("eval", "-m", path, tmp_path / "gold.txt") == EVALUATION


def test_eval_lists_as_many_labels_as_requested(corpus, model):
    said = printed("eval", "-m", model, corpus, "--most", "3")
    assert f"... and {len(tw.load(model).labels) - 3} more" in said


@pytest.mark.parametrize("more", [[], ["--threads", "2"], ["--decoder", "viterbi"]], ids=" ".join)
def test_eval_for_machines(model, tmp_path, more):
    X, y = ten_sentences()
    X[3], y[3] = ["zebras", "run"], ["NNS", "VB"]
    gold = tmp_path / "gold.txt"
    gold.write_text(columns(X, y))
    found = json.loads(printed("eval", "-m", model, gold, "--json", *more))
    tagger = tw.load(model)
    known = [[word != "zebras" for word in words] for words in X]
    shares = [own[0].marginals for own in tagger.tag_kbest(X, 1, proba=True)]
    assert found == json.loads(json.dumps(tw.evaluate(y, tagger.tag_batch(X), known, shares).as_dict()))
    assert found["unknown"]["count"] == 1
    assert found["known"]["accuracy"] < 1


def test_eval_of_spans(tmp_path):
    path = tmp_path / "chunks.txt"
    path.write_text("The DT B-NP\ncat NN I-NP\nsat VBD B-VP\n\nIt PRP B-NP\nran VBD B-VP\n\n")
    printed("train", path, tmp_path / "m", "--label", "2+3")
    said = printed("eval", "-m", tmp_path / "m", path)
    assert 'span (BIO, after "|")' in said
    assert json.loads(printed("eval", "-m", tmp_path / "m", path, "--json"))["spans"]["micro"]["f1"] == 1
    assert "knows none of its labels (B-NP, " in complaint("eval", "-m", tmp_path / "m", path, "--label", "3")


SPLIT = """\
# text = I can't go.
1\tI\t_\t_\tPRP\t_\t_\t_\t_\t_
2-3\tcan't\t_\t_\t_\t_\t_\t_\t_\t_
2\tca\t_\t_\tMD\t_\t_\t_\t_\t_
3\tn't\t_\t_\tRB\t_\t_\t_\t_\t_
4\tgo\t_\t_\tVB\t_\t_\t_\t_\tSpaceAfter=No
5\t.\t_\t_\t.\t_\t_\t_\t_\t_

"""


def test_eval_of_text_that_is_split_again(tmp_path):
    gold, path = tmp_path / "gold.conllu", tmp_path / "m"
    gold.write_text(SPLIT)
    printed("train", gold, path, "--label", "xpos", "--learner", "crf", "--tokenize", "english")
    for name in ("english", "auto"):
        found = json.loads(printed("eval", "-m", path, gold, "--json", "--tokenize", name))
        assert (found["tokens"], found["token_accuracy"], found["calibration"]) == (5, 1, None)
    found = json.loads(printed("eval", "-m", path, gold, "--json", "--tokenize", "whitespace"))
    assert (found["tokens"], found["token_accuracy"]) == (5, 0.2)
    assert {(own["gold"], own["predicted"]) for own in found["confusions"]} == {
        (gold, "(no token)") for gold in ("MD", "RB", "VB", ".")
    }
    page = tmp_path / "page.html"
    printed("report", "-m", path, gold, "-o", page, "--tokenize", "whitespace")
    assert page.read_text().count("The tokeniser did not find this token.") == 4
    # Partly known labels, and words of a range that do not spell it.
    gold.write_text(SPLIT.replace("\tVB\t", "\tVB,MD\t").replace("\tRB\t", "\t_\t").replace("can't\t", "cannot\t"))
    found = json.loads(printed("eval", "-m", path, gold, "--json", "--partial", "--tokenize", "whitespace"))
    assert (found["tokens"], found["token_accuracy"]) == (4, 0.5)


def test_text_that_is_split_again_has_one_column(tmp_path):
    path = tmp_path / "chunks.txt"
    path.write_text("The DT B-NP\ncat NN I-NP\n\n")
    (tmp_path / "templates").write_text("U:%x[0,1]\n")
    printed("train", path, tmp_path / "m", "--features", tmp_path / "templates")
    assert "--tokenize: text has one column, but the model's" in complaint(
        "eval", "-m", tmp_path / "m", path, "--tokenize", "english"
    )


SUMMARY = f"""\
model
-----------  ---------------------
learner                 perceptron
labels                           4
features                         4
weights                          6
edges                      4 of 16
size                        0.2 kB
trained on   1 sentences, 4 tokens
epochs done                      2
version      {tw.__version__:>21}
"""
STRONGEST = """\
templates: U:%x[0,0]  B

label  weight  feature
-----  ------  -------
DT      -1.00  U:dog
        -1.00  U:can
        -1.00  U:see
MD       1.00  U:can
NN       1.00  U:dog
VB       1.00  U:see

edge      score
--------  -----
DT -> NN   1.00
MD -> VB   1.00
NN -> MD   1.00
DT -> DT  -3.00
"""


def test_info(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("one.txt").write_text(ONE_SENTENCE)
    Path("words.tpl").write_text("# the word\nU:%x[0,0]\n\nB\n")
    printed("train", "one.txt", "m", "--learner", "perceptron", "--features", "words.tpl", "--epochs", "2")
    said = printed("info", "m")
    rows, expected = ([line.split() for line in text.splitlines() if line[:1] != "-"] for text in (said, SUMMARY))
    assert rows[: len(expected)] == expected
    summary, history, rest = said.split("\n\n", 2)
    assert history.splitlines()[0].split() == ["epoch", "error", "seconds", "in", "all"]
    assert rest == STRONGEST
    answer = [line.split() for line in summary.splitlines()]
    assert {("epochs", "2"), ("seed", "0"), ("label", "last"), ("decoder", "auto")} <= {tuple(row) for row in answer}
    assert "words.tpl" in summary


def test_info_shows_as_much_as_requested(model):
    said = printed("info", model, "--labels", "2", "--most", "1")
    _, _, _, strongest, edges = said.split("\n\n")
    assert [line.split()[0] for line in strongest.splitlines()[2:]] == tw.load(model).labels[:2]
    assert len(edges.splitlines()) == 2 + 2


def test_info_of_the_model_that_comes_along():
    said = printed("info")
    assert "CC BY-SA 4.0" in said
    assert f"{len(tw.load().labels)}\n" in said


def test_info_of_ready_made_features(ready_made):
    assert "perceptron" in printed("info", ready_made)


# tag: forms in and out


def test_tag_as_a_filter():
    words, labels = QUESTION.split(), tw.load().tag(QUESTION.split())
    expected = "".join(f"{word}\t{label}\n" for word, label in zip(words, labels, strict=True)) + "\n"
    assert printed("tag", given=QUESTION + "\n") == expected
    assert printed("tag", "-", given=QUESTION + "\n") == expected
    assert printed("tag", given=QUESTION) == expected
    assert printed("tag", given="\n".join(words) + "\n\n") == expected
    assert printed("tag", "--format", "text", given=QUESTION + "\n") == expected
    assert labels[:5] == ["MD", "NN", "VB", "JJ", "CC"]
    assert labels[-1] == "."


def test_tag_k_best():
    blocks = printed("tag", "-k", "3", given=QUESTION + "\n").removesuffix("\n\n").split("\n\n")
    (found,) = tw.load().tag_kbest([QUESTION.split()], 3)
    assert len(blocks) == len(found) == 3
    assert found[0].score > found[1].score > found[2].score
    for rank, (block, tagging) in enumerate(zip(blocks, found, strict=True)):
        head, *lines = block.splitlines()
        assert head == f"# {rank} {tagging.score:.6f}"
        assert [line.split("\t")[0] for line in lines] == QUESTION.split()
        assert [line.split("\t")[1] for line in lines] == tagging.labels
    assert len({block.split("\n", 1)[1] for block in blocks}) == 3


def test_tag_k_best_of_fewer(tmp_path):
    (tmp_path / "one.txt").write_text("a\tA\nb\tB\n\n")
    printed("train", tmp_path / "one.txt", tmp_path / "m")
    said = printed("tag", "-m", tmp_path / "m", "-k", "9", given="a\n\n")
    assert [line.split()[1] for line in said.splitlines() if line.startswith("# ")] == ["0", "1"]


def test_tag_without_a_token():
    assert printed("tag", given="") == ""
    assert printed("tag", given="\n \n\n") == ""


@pytest.mark.parametrize("suffix", PACKERS)
def test_tag_packed_files(model, tmp_path, suffix):
    X, y = ten_sentences()
    path = tmp_path / f"words.txt{suffix}"
    path.write_bytes(PACKERS[suffix]("".join("\n".join(words) + "\n\n" for words in X).encode()))
    assert printed("tag", "-m", model, path) == columns(X, y)


@pytest.mark.parametrize("suffix", PACKERS)
def test_train_on_packed_files(model, tmp_path, suffix):
    path = tmp_path / f"ten.txt{suffix}"
    path.write_bytes(PACKERS[suffix](columns(*ten_sentences()).encode()))
    printed("train", path, tmp_path / "m")
    assert tw.load(tmp_path / "m").arrays["rows.weight"].tobytes() == tw.load(model).arrays["rows.weight"].tobytes()


def test_train_on_standard_input(model, tmp_path):
    printed("train", "-", tmp_path / "m", given=columns(*ten_sentences()))
    assert tw.load(tmp_path / "m").arrays["rows.weight"].tobytes() == tw.load(model).arrays["rows.weight"].tobytes()


def test_tag_keeps_the_columns_and_the_separator(model):
    assert printed("tag", "-m", model, given="the\tx\ty\ndog\tx\ty\n") == "the\tx\ty\tDT\ndog\tx\ty\tNN\n\n"
    assert (
        printed("tag", "-m", model, "--format", "columns", given="the x  y\ndog x  y\n")
        == "the x  y DT\ndog x  y NN\n\n"
    )


BLANKS = "the DT B\ndog NN I\n\nthe DT B\ncat NN I\nran VB O\n\n"


def test_tag_columns_with_blanks_if_the_model_was_trained_on_such(tmp_path):
    path = tmp_path / "blanks.txt"
    path.write_text(BLANKS)
    printed("train", path, tmp_path / "m", "--features", "pos")
    # With the label's column and without it; with any other number of words it is text.
    assert printed("tag", "-m", tmp_path / "m", path) == re.sub(r"( \w)$", r"\1\1", BLANKS, flags=re.M)
    assert printed("tag", "-m", tmp_path / "m", given=re.sub(" .$", "", BLANKS, flags=re.M)) == BLANKS
    assert printed("tag", "-m", tmp_path / "m", given="the dog the cat\n") == "the\tB\ndog\tI\nthe\tB\ncat\tI\n\n"
    assert printed("tag", "-m", tmp_path / "m", "--format", "text", given="the dog\n") == "the\tB\ndog\tI\n\n"
    # A model of columns with TABs never saw blanks between columns.
    path.write_text(BLANKS.replace(" ", "\t"))
    printed("train", path, tmp_path / "tabs", "--features", "pos")
    assert printed("tag", "-m", tmp_path / "tabs", given="the dog\n") == "the\tB\ndog\tI\n\n"


def test_tag_keeps_comments(model):
    given = "# one\nthe\ndog\n\n# two\ndogs\nrun\n\n"
    tagged = "# one\nthe\tDT\ndog\tNN\n\n# two\ndogs\tNNS\nrun\tVBP\n\n"
    assert printed("tag", "-m", model, "--comments", given=given) == tagged


def test_tag_conllu_with_a_model_of_columns(model, tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text("1\tthe\tthe\tX\tx\t_\t0\troot\t_\t_\n\n")
    assert printed("tag", "-m", model, path) == "1\tthe\tthe\tX\tDT\t_\t0\troot\t_\t_\n\n"
    assert f"{path}:1: 'pos' is not a label of CoNLL-U" in complaint("tag", "-m", model, path, "--label", "pos")


def test_tag_conllu_from_a_pipe(model):
    given = "# sent_id = 1\n1\tthe\tthe\tX\tx\t_\t0\troot\t_\t_\n\n"
    assert printed("tag", "-m", model, "--label", "xpos", given=given) == given.replace("\tx\t", "\tDT\t")
    assert printed("tag", "-m", model, "--label", "XPOS", given=given[14:]) == given[14:].replace("\tx\t", "\tDT\t")
    assert printed("tag", "-m", model, given=given[14:]) == given[14:].replace("\tx\t", "\tDT\t")


@pytest.mark.parametrize("more", [[], ["--json"], ["-k", "2"], ["--to", "conllu"]], ids=" ".join)
def test_penn_tags_do_not_get_into_upos(model, tmp_path, more):
    given = "1\tthe\tthe\tX\tx\t_\t0\troot\t_\t_\n2\tdog\t_\tX\tx\t_\t0\troot\t_\t_\n\n"
    for label in ("upos", "UPOS"):
        result = run("tag", "-m", model, "--label", label, *more, given=given)
        assert result.exit_code == 0
        assert not result.stderr
        if "--json" not in more:
            tokens = [line.split("\t") for line in result.stdout.splitlines() if line[:1].isdigit()]
            assert [token[3:5] for token in tokens[:2]] == [["DET", "x"], ["NOUN", "x"]]
            assert {token[3] for token in tokens} <= UPOS
    (tmp_path / "chunks.txt").write_text("the\tB-NP\ndog\tI-NP\n\n")
    printed("train", tmp_path / "chunks.txt", tmp_path / "chunks")
    for label in ("upos", "upos+feats"):
        said = complaint("tag", "-m", tmp_path / "chunks", "--label", label, given=given)
        assert "the model's labels (B-NP, I-NP) are not UPOS tags; write them with --label xpos" in said


@pytest.mark.parametrize(
    "more", [[], ["--json"], ["-k", "2"], ["--to", "slash"], ["-k", "2", "--to", "diff"]], ids=" ".join
)
def test_upos_of_penn_tags_in_every_output(model, more):
    result = run("tag", "-m", model, "--label", "upos", *more, given="the dog\n")
    assert result.exit_code == 0
    assert not result.stderr
    for penn, upos in (("DT", "DET"), ("NN", "NOUN")):
        assert penn not in result.stdout
        assert upos in result.stdout


def test_upos_of_penn_tags_depend_on_words():
    """The same Penn tags have several universal ones; both are written on request."""
    given = "She has left since it rained .\nShe has a car since May .\n"
    found = printed("tag", "--to", "slash", "--label", "upos+xpos", "--tokenize", "none", "--no-split", given=given)
    assert found == (
        "She/PRON|PRP has/AUX|VBZ left/VERB|VBN since/SCONJ|IN it/PRON|PRP rained/VERB|VBD ./PUNCT|.\n"
        "She/PRON|PRP has/VERB|VBZ a/DET|DT car/NOUN|NN since/ADP|IN May/PROPN|NNP ./PUNCT|.\n"
    )
    given = "1\tIt\t_\t_\t_\t_\t0\troot\t_\t_\n2\tis\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    lines = printed("tag", "--label", "upos+xpos", given=given).splitlines()
    assert [line.split("\t")[3:5] for line in lines[:2]] == [["PRON", "PRP"], ["AUX", "VBZ"]]


def test_a_model_of_upos_writes_upos(tmp_path):
    (tmp_path / "a.conllu").write_text("1\tthe\tthe\tDET\tx\t_\t0\troot\t_\t_\n\n")
    printed("train", tmp_path / "a.conllu", tmp_path / "m", "--label", "upos")
    given = "1\tthe\tthe\tX\tx\t_\t0\troot\t_\t_\n\n"
    for label in ([], ["--label", "upos"]):
        assert printed("tag", "-m", tmp_path / "m", *label, given=given) == given.replace("X", "DET")


def test_tag_conllu_whose_labels_are_empty(model):
    given = "1\tthe\tthe\tX\t\t_\t0\troot\t_\t_\n\n"
    assert printed("tag", "-m", model, given=given) == given.replace("\t\t", "\tDT\t")


# Output files


def test_output_to_standard_output(model, corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert printed("tag", "-m", model, corpus, "-o", "-") == printed("tag", "-m", model, corpus) != ""
    assert list(tmp_path.iterdir()) == []


def test_output_is_what_would_be_printed(model, corpus, tmp_path):
    out = tmp_path / "tagged.txt"
    assert printed("tag", "-m", model, corpus, "-o", out) == ""
    assert out.read_text() == printed("tag", "-m", model, corpus)
    assert list(tmp_path.iterdir()) == [out]


def test_output_in_the_place_of_the_input(model, tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("the\ndog\n\n")
    printed("tag", "-m", model, path, "-o", path, "--force")
    assert path.read_text() == "the\tDT\ndog\tNN\n\n"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("good", [1, 30_000], ids=["at once", "late"])
def test_an_error_leaves_the_old_output_and_nothing_else(model, tmp_path, good):
    bad, out = tmp_path / "bad.txt", tmp_path / "tagged.txt"
    bad.write_bytes(b"the\ndog\n\n" * good + b"caf\xe9\n\n")
    out.write_text("old\n")
    assert f"bad.txt:{3 * good + 1}: not UTF-8" in complaint("tag", "-m", model, bad, "-o", out)
    assert out.read_text() == "old\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.txt", "tagged.txt"]


def test_an_error_leaves_the_old_model(corpus, model, tmp_path):
    bad = tmp_path / "bad.txt"
    bad.write_text("the\tDT\ndog\n\n")
    old = tmp_path / "m"
    old.write_bytes(model.read_bytes())
    complaint("train", bad, old)
    assert old.read_bytes() == model.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.txt", "m"]


def test_train_on_a_pipe_that_has_a_name(model, tmp_path):
    command = [sys.executable, "-m", "tagwright", "train", "--quiet", "/dev/stdin", tmp_path / "m"]
    ran = subprocess.run(command, input=columns(*ten_sentences()).encode(), capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert same_arrays(tw.load(tmp_path / "m").arrays, tw.load(model).arrays)


# Errors: one line that says where


@pytest.mark.slow
@pytest.mark.parametrize("arguments", ["tag", "eval -", "train - m"])
def test_closed_standard_input(tmp_path, arguments):
    command = f'exec "$0" -m tagwright {arguments} <&-'
    ran = subprocess.run(
        ["sh", "-c", command, sys.executable], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "Error: <stdin>: closed; give a file\n"
    assert list(tmp_path.iterdir()) == []


def test_closed_standard_output(corpus):
    command = 'exec "$0" -m tagwright tag "$1" >&-'
    ran = subprocess.run(["sh", "-c", command, sys.executable, corpus], capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert re.fullmatch("Error: .*\n", ran.stderr)


@pytest.fixture(scope="module")
def ready_made(tmp_path_factory):
    """A model of features that come with the tokens."""
    path = tmp_path_factory.mktemp("ready") / "ready.safetensors"
    X = [[{"w": "a"}, {"w": "b"}], [{"w": "b"}]]
    tw.Perceptron(epochs=2).fit(X, [["A", "B"], ["B"]]).model_.save(path)
    return path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["dmeo"], "No such command 'dmeo'; did you mean 'demo'?"),
        (["trian", "a.txt", "m"], "No such command 'trian'; did you mean 'train'?"),
        (["xyz"], "No such command 'xyz'; there are tag, explain, "),
        (["tune", "model.safetensors", "--dev", "x"], "Missing argument 'CORPUS...': tagwright tune CORPUS... MODEL"),
        (["tag", "--speed", "9"], "No such option"),
        (["demo", "-k", "0"], "'-k': 0 is not in the range"),
        (["demo", "--labels", "x"], "'x' is not a valid integer"),
        (["tag", "--threads", "0"], "'--threads': 0 is not in the range"),
        (["tag", "-k", "0"], "'-k': 0 is not in the range"),
        (["tag", "-k", "99999999999999999999"], "k is 99999999999999999999"),
        (["train"], "Missing argument 'CORPUS...'"),
        (["train", "model.safetensors"], "Missing argument 'CORPUS...'"),
        (["eval"], "Missing argument 'GOLD'"),
        (["train", "corpus.txt", "m", "--epochs", "0"], "'--epochs': 0 is not in the range"),
        (["train", "corpus.txt", "m", "--learner", "svm"], "'svm' is not one of"),
        (["train", "corpus.txt", "m", "--set", "margin=-1"], "--set margin: margin must be"),
        (["train", "corpus.txt", "m", "--set", "margin=much"], "--set margin: margin must be a number, not 'much'"),
        (["train", "corpus.txt", "m", "--set", "margin"], "--set margin: write NAME=VALUE"),
        (["train", "corpus.txt", "m", "--set", "marjin=1"], "is not for --learner crf; did you mean margin?"),
        (["tag", "--format", "xml"], "'xml' is not one of"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_use(arguments, said):
    assert said in complaint(*arguments, given="a\n")


@pytest.mark.parametrize(
    "command",
    [["tag"], ["eval"], ["info"], ["tag", "-m"], ["train", "corpus", "out", "--dev"], ["train", "corpus", "out", "-f"]],
    ids=" ".join,
)
def test_missing_file(corpus, tmp_path, command):
    command = [{"corpus": corpus, "out": tmp_path / "m"}.get(part, part) for part in command]
    missing = tmp_path / "none.txt"
    assert str(missing) in complaint(*command, missing, given="")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "command",
    [["tag"], ["eval"], ["info"], ["tag", "-m"], ["tag", "-o"], ["train", "corpus"], ["train", "corpus", "out", "-f"]],
    ids=" ".join,
)
def test_folder_for_a_file(corpus, tmp_path, command):
    command = [{"corpus": corpus, "out": tmp_path / "m"}.get(part, part) for part in command]
    assert str(tmp_path) in complaint(*command, tmp_path, given="a\n")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"the\tDT\n\nd\xf6g\tNN\n", ":3: not UTF-8 at byte 2"),
        (b"the\tDT\n\ndog\n", ":3: 1 column, but the first token has 2"),
        (b"the\tDT\ndog\tNN\tx\n", ":2: 3 columns, but the first token has 2"),
        (b"the\tDT\ndog\t\n", ":2: the label in column 2 is empty"),
        (b"", ": empty"),
        (b"\n\n \n", ": empty"),
        (b"the\ndog\n", ":1: nothing stands before the label"),
    ],
)
@pytest.mark.parametrize("command", ["train", "eval"])
def test_file_that_cannot_be_read(tmp_path, command, content, said):
    path = tmp_path / "bad.txt"
    path.write_bytes(content)
    more = [tmp_path / "m"] if command == "train" else []
    assert f"{path}{said}" in complaint(command, path, *more)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"the\n\nd\xf6g\n", ":3: not UTF-8 at byte 2"),
        (b"the\tx\ndog\n", ":2: 1 column, but the first token has 2"),
        (b"the\ncat\n\nold dog\n\n", ":4: 2 columns, but the first token has 1; fix this line, or"),
        (b"", ": empty"),
    ],
)
def test_file_that_cannot_be_tagged(model, tmp_path, content, said):
    path = tmp_path / "bad.txt"
    path.write_bytes(content)
    assert f"{path}{said}" in complaint("tag", "-m", model, path)
    if content:
        assert f"<stdin>{said}" in complaint("tag", "-m", model, given=content)


@pytest.mark.parametrize(("suffix", "content"), [(".gz", b"no gzip"), (".xz", lzma.compress(b"the\n" * 99)[:-9])])
def test_file_that_cannot_be_unpacked(tmp_path, suffix, content):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(content)
    assert f"{path}: cannot be unpacked" in complaint("tag", path)


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("9", ":1: no label column 9; columns in the file: 2"),
        ("0", ":1: no label column 0"),
        ("2+9", ":1: no label column 9"),
        ("tag", ":1: 'tag' is not a label column"),
        ("upos", ":1: 'upos' is not a label column"),
        ("1", ":1: nothing stands before the label in column 1"),
    ],
)
@pytest.mark.parametrize("command", ["train", "eval"])
def test_unknown_label_column(corpus, tmp_path, command, label, said):
    more = [tmp_path / "m"] if command == "train" else []
    assert f"{corpus}{said}" in complaint(command, corpus, *more, "--label", label)


def test_unknown_field_of_conllu(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text("1\ta\ta\tX\tx\t_\t0\troot\t_\t_\n")
    assert f"{path}:1: 'pos' is not a label of CoNLL-U" in complaint("train", path, tmp_path / "m", "--label", "pos")


def test_unknown_preset(corpus, tmp_path):
    said = complaint("train", corpus, tmp_path / "m", "--features", "pso")
    assert "no preset and no template file named 'pso'" in said
    assert "pos, chunk" in said


@pytest.mark.parametrize(
    ("templates", "said"),
    [
        ("U00:%x[0,0]\nU01:%z[0,0]\n", ":2:5: no macro %z"),
        ("U00:%x[0,0]\n\nU01:a%x[0]\n", ":3:6: %x is written %x[row,column]"),
        ("X\n", ":1:1: a template begins with U"),
        ("U00:100%\n", ":1:8: % begins a macro"),
        ("U00:%in[0,0,names]\n", ":1:5: no word list named 'names'"),
        ("# nothing\n", ": no template in it"),
    ],
)
def test_bad_template(corpus, tmp_path, templates, said):
    path = tmp_path / "t"
    path.write_text(templates)
    assert f"{path}{said}" in complaint("train", corpus, tmp_path / "m", "--features", path)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("given", ["names", "=names.txt", "names=none.txt", ""])
def test_bad_list(corpus, tmp_path, given):
    said = complaint("train", corpus, tmp_path / "m", "--list", given)
    assert ("none.txt" if "none" in given else "NAME=FILE") in said


def test_list_that_is_not_utf8(corpus, tmp_path):
    path = tmp_path / "names.txt"
    path.write_bytes(b"Kim\n\xff\n")
    assert f"{path}:2: not UTF-8" in complaint("train", corpus, tmp_path / "m", "--list", f"names={path}")


@pytest.mark.parametrize("command", [["tag"], ["eval"], ["info"], ["train", "corpus", "out", "--warm-start"]])
@pytest.mark.parametrize("how", ["cut", "cut in its header", "altered", "text", "empty", "foreign"])
def test_damaged_model(corpus, model, tmp_path, how, command):
    path = tmp_path / "bad.safetensors"
    good = model.read_bytes()
    altered = bytearray(good)
    altered[-5] ^= 1
    contents = {
        "cut": good[:-100],
        "cut in its header": good[:200],
        "altered": bytes(altered),
        "text": b"This is no model at all.\n",
        "empty": b"",
    }
    if how == "foreign":
        save_file({"weights": np.zeros(3, np.float32)}, path)
    else:
        path.write_bytes(contents[how])
    name, *more = command
    more = [{"corpus": corpus, "out": tmp_path / "m"}.get(part, part) for part in more]
    before = {"tag": ["-m"], "eval": [corpus, "-m"]}.get(name, [])
    assert f"{path}: " in complaint(name, *more, *before, path, given="a\n")
    assert list(tmp_path.iterdir()) == [path]


def test_ready_made_features_cannot_come_from_a_file(ready_made, corpus):
    assert f"{ready_made}: a model of ready-made features" in complaint("tag", "-m", ready_made, given="a\n")
    assert f"{ready_made}: a model of ready-made features" in complaint("eval", "-m", ready_made, corpus)


def test_too_few_columns_for_the_model(tmp_path):
    (tmp_path / "wide.txt").write_text("the\tD\tx\ndog\tN\ty\n\n")
    (tmp_path / "thin.txt").write_text("# a\nthe\ndog\n\n")
    printed("train", tmp_path / "wide.txt", tmp_path / "m", "--features", "supertag")
    thin = tmp_path / "thin.txt"
    assert f"{thin}:2: 1 column" in complaint("tag", "-m", tmp_path / "m", thin, "--comments")
    assert "<stdin>:1: 1 column" in complaint("tag", "-m", tmp_path / "m", given="the\n")
    gold = tmp_path / "gold.txt"
    gold.write_text("the\tx\n\n")
    assert f"{gold}:1: 1 column" in complaint("eval", "-m", tmp_path / "m", gold)


def test_too_few_columns_for_the_templates(corpus, tmp_path):
    assert "column" in complaint("train", corpus, tmp_path / "m", "--features", "supertag")


@pytest.mark.parametrize("command", [["tag"], ["eval", "corpus"], ["train", "corpus", "out"]], ids=" ".join)
def test_unknown_decoder(corpus, tmp_path, command):
    command = [{"corpus": corpus, "out": tmp_path / "m"}.get(part, part) for part in command]
    decoder = ["--set", "decoder=viterbo"] if command[0] == "train" else ["--decoder", "viterbo"]
    said = complaint(*command, *decoder, given="a\n")
    assert "viterbo" in said
    assert "viterbi" in said


def test_decoder_of_one_path():
    assert "'staggered' gives one path only" in complaint("tag", "--decoder", "staggered", "-k", "2", given="a b\n")
    printed("tag", "--decoder", "staggered", given="a b\n")


def test_patience_without_dev(corpus, tmp_path):
    assert "dev" in complaint("train", corpus, tmp_path / "m", "--set", "patience=2")
    assert list(tmp_path.iterdir()) == []


def test_no_folder_to_write_to(corpus, model, tmp_path):
    path = tmp_path / "none" / "out"
    assert str(path) in complaint("train", corpus, path)
    assert str(path) in complaint("tag", "-m", model, corpus, "-o", path)


def test_no_folder_for_the_checkpoint(corpus, tmp_path):
    path = tmp_path / "none" / "checkpoint"
    assert str(path) in complaint("train", corpus, tmp_path / "m", "--checkpoint", path)


def test_checkpoint_of_another_training(corpus, tmp_path):
    path = tmp_path / "checkpoint"
    printed("train", corpus, tmp_path / "m", "--epochs", "1", "--checkpoint", path)
    said = complaint("train", corpus, tmp_path / "m2", "--epochs", "2", "--checkpoint", path, "--set", "seed=7")
    assert f"{path}: the checkpoint of another training (other seed)" in said
    finished = tmp_path / "m"
    assert f"{finished}: a finished model" in complaint("train", corpus, tmp_path / "m2", "--checkpoint", finished)
