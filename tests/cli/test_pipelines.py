"""From a corpus to tagged text and back, by the command line: every form, pipes, interrupted trainings, real data."""

import contextlib
import json
import lzma
import os
import signal
import subprocess
import time

import pytest
from support.commands import complaint, complaints, printed, run
from support.corpora import CONLLU, CORPORA, many_labels, same_arrays, ten_sentences
from support.processes import LONGEST_WAIT, ran, started

import tagwright as tw
from tagwright.models import file as container


def wait_for(path, process):
    """Wait until a file is there; the process that writes it must not end before."""
    until = time.monotonic() + LONGEST_WAIT
    while not path.exists():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < until, f"no {path.name} after {LONGEST_WAIT} s"
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.005)


def columns(X, y, separator="\t"):
    return "".join(
        "".join(f"{word}{separator}{label}\n" for word, label in zip(words, labels, strict=True)) + "\n"
        for words, labels in zip(X, y, strict=True)
    )


def words_only(X):
    return "".join("\n".join(words) + "\n\n" for words in X)


def arrays_of(path):
    return container.read(path)[0]


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text(columns(*ten_sentences()))
    return path


# Train, tag, compare


@pytest.mark.parametrize("separator", ["\t", " ", "  "], ids=["tab", "blank", "blanks"])
@pytest.mark.parametrize("learner", ["perceptron", "hmm"])
def test_columns_come_back_with_their_labels(tmp_path, separator, learner):
    X, y = ten_sentences()
    path, model = tmp_path / "train.txt", tmp_path / "m"
    path.write_text(columns(X, y, separator))
    printed("train", path, model, "--learner", learner)
    tagger = tw.load(model)
    assert tagger.facts["learner"] == learner
    if learner == "perceptron":
        assert tagger.tag_batch(X) == y
    assert printed("tag", "-m", model, given=words_only(X)) == columns(X, tagger.tag_batch(X))
    with_label = printed("tag", "-m", model, path, "--format", "columns")
    end = "\t" if separator == "\t" else " "
    assert with_label == columns(
        [[f"{w}{separator}{g}" for w, g in zip(*s, strict=True)] for s in zip(X, y, strict=True)],
        tagger.tag_batch(X),
        end,
    )
    found = json.loads(printed("eval", "-m", model, path, "--json"))
    known = [[True] * len(words) for words in X]
    sure = None if learner == "perceptron" else [[p for _, p in tagger.tag(words, proba=True)] for words in X]
    right = tw.evaluate(y, tagger.tag_batch(X), known, probabilities=sure)
    assert found == json.loads(json.dumps(right.as_dict()))


def test_joint_labels(tmp_path):
    content = "The\tDT\tB-NP\ncat\tNN\tI-NP\n\nIt\tPRP\tB-NP\nsat\tVBD\tB-VP\n\n"
    path, model = tmp_path / "train.txt", tmp_path / "m"
    path.write_text(content)
    printed("train", path, model, "--label", "2+3", "--features", "chunk")
    assert sorted(tw.load(model).labels) == ["DT|B-NP", "NN|I-NP", "PRP|B-NP", "VBD|B-VP"]
    tagged = "The\tDT|B-NP\ncat\tNN|I-NP\n\nIt\tPRP|B-NP\nsat\tVBD|B-VP\n\n"
    assert printed("tag", "-m", model, "--format", "text", given="The cat\nIt sat\n") == tagged
    assert json.loads(printed("eval", "-m", model, path, "--json"))["token_accuracy"] == 1


def test_a_column_in_the_middle(tmp_path):
    path, model = tmp_path / "train.txt", tmp_path / "m"
    path.write_text("The\tDT\tB-NP\ncat\tNN\tI-NP\n\n")
    printed("train", path, model, "--label", "2")
    assert sorted(tw.load(model).labels) == ["DT", "NN"]
    assert json.loads(printed("eval", "-m", model, path, "--json"))["token_accuracy"] == 1
    assert "knows none of its labels (B-NP, I-NP)" in complaint("eval", "-m", model, path, "--label", "last")


@pytest.mark.parametrize("label", ["upos+feats", "feats+upos", "upos", "xpos", "feats"])
def test_conllu_comes_back_whole(tmp_path, label):
    path, model = tmp_path / "es.conllu", tmp_path / "m"
    path.write_text(CONLLU)
    printed("train", path, model, "--label", label, "--epochs", "40")
    picks = [{"upos": 3, "xpos": 4, "feats": 5}[field] for field in label.split("+")]
    lines = [line.split("\t") for line in CONLLU.split("\n")]
    for fields in lines:
        if fields[0].isdigit():
            for pick in picks:
                fields[pick] = "?"
    blank = tmp_path / "blank.conllu"
    blank.write_text("\n".join(map("\t".join, lines)))
    assert blank.read_text() != CONLLU
    assert printed("tag", "-m", model, blank) == CONLLU
    assert printed("tag", "-m", model, "--format", "conllu", given=blank.read_text()) == CONLLU
    assert json.loads(printed("eval", "-m", model, path, "--json"))["token_accuracy"] == 1


def test_conllu_k_best(tmp_path):
    path, model = tmp_path / "es.conllu", tmp_path / "m"
    path.write_text(CONLLU)
    printed("train", path, model, "--label", "upos", "--epochs", "40")
    blocks = printed("tag", "-m", model, path, "-k", "2").removesuffix("\n\n").split("\n\n")
    assert [block.split()[1] for block in blocks] == ["0", "1", "0", "1"]
    assert "\n\n".join(block.split("\n", 1)[1] for block in blocks[::2]) + "\n\n" == CONLLU


def test_conllu_with_the_model_that_comes_along(tmp_path):
    words = ["Would", "service", "be", "voluntary", "or", "compulsory", "?"]
    lines = [f"{n}\t{word}\t_\tX\t_\t_\t0\troot\t_\t_" for n, word in enumerate(words, 1)]
    path = tmp_path / "en.conllu"
    path.write_text("# sent_id = 1\n" + "\n".join(lines) + "\n\n")
    expected = [
        line.replace("\tX\t_\t", f"\tX\t{label}\t") for line, label in zip(lines, tw.load().tag(words), strict=True)
    ]
    assert printed("tag", path) == "# sent_id = 1\n" + "\n".join(expected) + "\n\n"


# Options of training


def test_dev_and_patience(corpus, tmp_path):
    dev, model = tmp_path / "dev.txt", tmp_path / "m"
    X, y = ten_sentences()
    y[0][0] = "NN"
    dev.write_text(columns(X, y))
    said = printed("train", corpus, model, "--dev", dev, "--set", "patience=3", "--epochs", "80")
    made = tw.load(model)
    assert made.facts["epochs_done"] < 80
    found = json.loads(printed("eval", "-m", model, dev, "--json"))
    last = said.splitlines()[-1]
    assert last.startswith("dev accuracy")
    assert last.endswith(f" {found['token_accuracy']:.2%}")
    learner = tw.CRF(epochs=80, patience=3).fit(*tw.read(corpus), dev=tw.read(dev))
    assert same_arrays(made.arrays, learner.model_.arrays)


def test_dev_without_patience(corpus, tmp_path):
    said = printed("train", corpus, tmp_path / "m", "--dev", corpus)
    assert said.splitlines()[-1].split() == ["dev", "accuracy", "100.00%"]
    assert tw.load(tmp_path / "m").facts["epochs_done"] == 10


def test_dev_of_hmm(corpus, tmp_path):
    said = printed("train", corpus, tmp_path / "m", "--learner", "hmm", "--dev", corpus)
    found = json.loads(printed("eval", "-m", tmp_path / "m", corpus, "--json"))
    last = said.splitlines()[-1]
    assert last.startswith("dev accuracy")
    assert last.endswith(f" {found['token_accuracy']:.2%}")


def test_warm_start(corpus, tmp_path):
    first, second, more = tmp_path / "first", tmp_path / "second", tmp_path / "more.txt"
    printed("train", corpus, first, "--epochs", "3")
    more.write_text("zebras\tNNS\nlaugh\tVBP\nloudly\tRB\n\n")
    printed("train", more, second, "--epochs", "2", "--warm-start", first)
    made = tw.load(second)
    assert set(made.labels) == {*tw.load(first).labels, "RB"}
    assert made.tag(["zebras", "laugh", "loudly"]) == ["NNS", "VBP", "RB"]
    assert made.tag(["the", "dog"]) == ["DT", "NN"]
    learner = tw.CRF(epochs=2, warm_start=str(first)).fit(*tw.read(more))
    assert same_arrays(made.arrays, learner.model_.arrays)


def test_warm_start_from_other_templates(corpus, tmp_path):
    printed("train", corpus, tmp_path / "first", "--epochs", "1")
    more = ["--warm-start", tmp_path / "first", "--features", "morph"]
    result = run("train", corpus, tmp_path / "second", *more)
    assert result.exit_code == 2
    assert "templates" in result.stderr
    assert not (tmp_path / "second").exists()


def test_word_lists(tmp_path):
    path, names, templates, model = (tmp_path / name for name in ("train.txt", "names.txt", "t", "m"))
    path.write_text("Kim\tNAME\nran\tO\n\nJo\tNAME\nsat\tO\n\n")
    names.write_text("Kim\nJo\nAda\n")
    templates.write_text("U:%in[0,0,names]\nB\n")
    printed("train", path, model, "--features", templates, "--list", f"names={names}")
    names.unlink()
    templates.unlink()
    assert printed("tag", "-m", model, given="Ada\nsang\n") == "Ada\tNAME\nsang\tO\n\n"


def test_options_reach_the_learner(corpus, tmp_path):
    options = {"seed": 5, "min_count": 2, "pairs": "observed", "margin": 1.0, "decoder": "viterbi"}
    given = [part for name, value in options.items() for part in ("--set", f"{name}={value}")]
    printed(
        "train", corpus, tmp_path / "m", *given, "-f", "morph", "-e", "3", "--threads", "2", "--learner", "perceptron"
    )
    learner = tw.Perceptron(**options, epochs=3, features="morph").fit(*tw.read(corpus))
    assert same_arrays(arrays_of(tmp_path / "m"), learner.model_.arrays)


# Pipes


def ask(process, question):
    """Write a sentence and read what comes back, up to the blank line."""
    process.stdin.write(question)
    process.stdin.flush()
    answer = []
    while (line := process.stdout.readline()) not in (b"\n", b""):
        answer.append(line.decode().rstrip("\n"))
    return answer


@pytest.mark.parametrize("more", [[], ["--threads", "2"]], ids=["1 thread", "2 threads"])
@pytest.mark.parametrize("form", ["text", "columns"])
def test_a_sentence_is_answered_before_the_next_is_sent(patience, form, more):
    tagger = tw.load()
    sentences = ["Time flies", "Would service be voluntary ?", "Él no"]
    with started("tag", *more) as process:
        for sentence in sentences:
            words = sentence.split()
            question = sentence + "\n" if form == "text" else "\n".join(words) + "\n\n"
            expected = [f"{word}\t{label}" for word, label in zip(words, tagger.tag(words), strict=True)]
            assert ask(process, question.encode()) == expected
        out, err = process.communicate(timeout=LONGEST_WAIT)
    assert (out, err, process.returncode) == (b"", b"", 0)


def test_the_end_of_a_pipe_ends_a_sentence(patience):
    with started("tag") as process:
        out, err = process.communicate(b"Time\nflies", timeout=LONGEST_WAIT)
    words = ["Time", "flies"]
    assert out.decode() == columns([words], [tw.load().tag(words)])
    assert (err, process.returncode) == (b"", 0)


def test_nothing_in_nothing_out():
    done = ran("tag", stdin=subprocess.DEVNULL)
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)


def test_order_is_kept(tmp_path):
    words = [word for words in ten_sentences()[0] for word in words]
    X = [[f"n{s}", *words[s % 17 : s % 17 + s % 23]] for s in range(6000)]
    path = tmp_path / "many.txt"
    path.write_text(words_only(X))
    one, two = (printed("tag", path, "--threads", threads) for threads in (1, 2))
    assert one == two
    assert one == columns(X, tw.load().tag_batch(X))
    piped = ran("tag", "--threads", "2", input=path.read_bytes())
    assert (piped.stdout.decode(), piped.stderr, piped.returncode) == (one, b"", 0)


def test_k_best_is_the_same_for_any_number_of_threads():
    given = "".join(f"{' '.join(words)}\n" for words in ten_sentences()[0]) * 20
    one, two = (printed("tag", "-k", "4", "--threads", threads, given=given) for threads in (1, 2))
    assert one == two
    assert one.count("\n# 0 ") == 10 * 20 - 1


def test_a_reader_who_has_had_enough(patience, tmp_path):
    path = tmp_path / "big.txt"
    path.write_text("Time flies like an arrow .\n" * 20_000)
    with started("tag", path) as process:
        assert process.stdout.readline().startswith(b"Time\t")
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(LONGEST_WAIT) == 0


def test_an_error_of_a_process_is_one_line(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_bytes(b"the\ndog\n\nd\xf6g\n")
    done = ran("tag", path)
    assert (done.stdout, done.returncode) == (b"", 2)
    assert done.stderr.decode().startswith(f"Error: {path}:4: not UTF-8")
    assert done.stderr.count(b"\n") == 1


def test_output_is_utf8_everywhere():
    plain = {**os.environ, "LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    plain.pop("PYTHONIOENCODING", None)
    done = ran("tag", input="Él\n".encode(), env=plain)
    assert (done.stdout.decode(), done.stderr) == (f"Él\t{tw.load().tag(['Él'])[0]}\n\n", b"")


def test_ctrl_c_while_tagging(patience):
    with started("tag") as process:
        assert len(ask(process, b"Time flies\n")) == 2
        process.send_signal(signal.SIGINT)
        assert process.wait(LONGEST_WAIT) == 130
        assert process.stdout.read() == b""
        assert process.stderr.read().strip() == b"Error: interrupted"


# Interrupted trainings


@pytest.mark.slow
def test_killed_training_resumes_exactly(patience, tmp_path):
    path, checkpoint, model, whole = (tmp_path / name for name in ("train.txt", "c", "m", "whole"))
    path.write_text(columns(*many_labels(sentences=60)))
    arguments = ["train", path, model, "--epochs", "90", "--checkpoint", checkpoint]
    with started(*arguments) as process:
        wait_for(checkpoint, process)
        process.kill()
        assert process.wait(LONGEST_WAIT) == -signal.SIGKILL
    assert not model.exists()
    assert 1 <= len(container.read(checkpoint)[1]["resume"]["history"]) < 90

    done = ran(*arguments)
    assert (done.returncode, complaints("train", done.stderr.decode())) == (0, [])
    printed("train", path, whole, "--epochs", "90")
    assert same_arrays(arrays_of(model), arrays_of(whole))
    assert tw.load(model).facts["epochs_done"] == 90

    model.unlink()
    printed(*arguments)
    assert same_arrays(arrays_of(model), arrays_of(whole))


@pytest.mark.slow
def test_ctrl_c_ends_training_with_a_model(patience, tmp_path):
    path, checkpoint, model, again = (tmp_path / name for name in ("train.txt", "c", "m", "again"))
    X, y = many_labels(sentences=8000)
    path.write_text(columns(X, y))
    arguments = ["train", path, model, "--epochs", "100000", "--set", "margin=0"]
    with started(*arguments, "--checkpoint", checkpoint) as process:
        wait_for(checkpoint, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=LONGEST_WAIT)
    said = err.decode()
    assert process.returncode == 0, said
    made = tw.load(model)
    epochs = made.facts["epochs_done"]
    warning = f"Warning: interrupted in epoch {epochs + 1}; the model is that of epoch {epochs}"
    assert complaints("train", said) == [warning]
    assert out.decode().startswith(str(model))
    printed("train", path, again, "--epochs", epochs, "--set", "margin=0", "--set", "calibration=none")
    assert same_arrays(made.arrays, arrays_of(again))


@pytest.mark.slow
def test_ctrl_c_ends_training_with_a_model_even_while_the_checkpoint_is_written(patience, tmp_path):
    # With a corpus as small as this one most of the time goes into checkpoints.
    path, checkpoint, model = (tmp_path / name for name in ("train.txt", "c", "m"))
    path.write_text(columns(*ten_sentences()))
    with started("train", path, model, "--epochs", "1000000", "--checkpoint", checkpoint) as process:
        wait_for(checkpoint, process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LONGEST_WAIT)
    assert process.returncode == 0, err.decode()
    (said,) = complaints("train", err.decode())
    assert said.startswith("Warning: interrupted in epoch ")
    assert tw.load(model).facts["epochs_done"] >= 1
    assert sorted(found.name for found in tmp_path.iterdir()) == ["c", "m", "train.txt"]


# Real data


def real(name, sentences=None):
    """The first sentences of a part of the English corpus, as text."""
    path = CORPORA / "pos_ewt" / f"{name}.txt.xz"
    if not path.exists():
        pytest.skip("pos_ewt is not here (../shared/data, or TAGWRIGHT_DATA)")
    with lzma.open(path, "rt", encoding="utf-8") as file:
        blocks = file.read().rstrip("\n").split("\n\n")
    return "\n\n".join(blocks[:sentences]) + "\n\n"


def test_two_epochs_on_real_text(tmp_path):
    train, dev, model = (tmp_path / name for name in ("train.txt", "dev.txt", "m"))
    train.write_text(real("train", 1500), encoding="utf-8")
    dev.write_text(real("dev", 300), encoding="utf-8")
    printed("train", train, model, "--epochs", "2")
    found = json.loads(printed("eval", "-m", model, dev, "--json"))
    assert found["sentences"] == 300
    assert found["token_accuracy"] > 0.85


def test_the_model_that_comes_along_on_real_text():
    real("dev", 1)
    found = json.loads(printed("eval", CORPORA / "pos_ewt" / "dev.txt.xz", "--json", "--threads", "2"))
    assert found["sentences"] == 2001
    assert found["token_accuracy"] > 0.93
