"""Where commands write to: streams of all kinds, full devices, limits, and models that do not fit where they should."""

import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.commands import columns, complaint, printed, run, stopped
from support.corpora import many_labels, ten_sentences
from support.processes import LONGEST_WAIT, command, complained, complained_of, files_of_at_most, node, ran, started

import tagwright as tw
from tagwright.models import file as container

pytestmark = pytest.mark.slow

UNBUFFERED = {**os.environ, "PYTHONUNBUFFERED": "1"}
ENVIRONMENTS = [
    pytest.param({name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}, id="buffered"),
    pytest.param(UNBUFFERED, id="unbuffered"),
]
SENTENCE = "Time flies like an arrow .\n"


@pytest.fixture(scope="module", autouse=True)
def untimed():
    """The same bytes from every training: seconds are left out of models."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "0")
        yield


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "ten.txt"
    path.write_text(columns(*ten_sentences()))
    return path


@pytest.fixture(scope="module")
def model(corpus):
    path = corpus.with_name("ten.safetensors")
    printed("train", corpus, path)
    return path


@pytest.fixture
def text(tmp_path):
    """More than a pipe holds."""
    path = tmp_path / "text.txt"
    path.write_text(SENTENCE * 5_000)
    return path


# Every byte, or an exit code


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_a_pipe_that_does_not_wait_gets_everything(text, environment):
    out, into = os.pipe()
    os.set_blocking(into, False)
    with started("tag", text, stdout=into, env=environment) as process, open(out, "rb") as reader:
        os.close(into)
        assert reader.read().decode() == printed("tag", text)
        assert process.wait(LONGEST_WAIT) == 0


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_a_file_that_cannot_grow_is_an_error(text, tmp_path, environment):
    whole = printed("tag", text).encode()
    with open(tmp_path / "out", "wb") as out:
        limit = files_of_at_most(100_000)
        done = ran("tag", text, stdout=out, env=environment, preexec_fn=limit)
    assert complained(done) == "standard output: File too large"
    assert (tmp_path / "out").read_bytes() == whole[:100_000]


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@pytest.mark.parametrize(
    "arguments",
    [
        "tag corpus",
        "info",
        "info --decoders",
        "eval corpus",
        "eval corpus --json",
        "train corpus m",
        "demo --labels 20",
        "--help",
    ],
)
def test_a_full_device_is_one_line(corpus, tmp_path, arguments, environment):
    full = node(tmp_path / "full", "full")
    with open(full, "wb") as out:
        done = ran(*arguments.replace("corpus", str(corpus)).split(), stdout=out, cwd=tmp_path, env=environment)
    assert complained(done) == "standard output: No space left on device"
    assert sorted(os.listdir(tmp_path)) == (["full", "m"] if "train" in arguments else ["full"])


def test_a_message_that_cannot_be_written_keeps_its_exit_code(tmp_path):
    full = node(tmp_path / "full", "full")
    with open(full, "wb") as error:
        assert ran("tag", "none.txt", cwd=tmp_path, stderr=error).returncode == 2
        done = ran("tag", "-o", tmp_path / "out", stderr=error, input=SENTENCE.encode())
    assert done.returncode == 0
    assert (tmp_path / "out").read_text() == printed("tag", given=SENTENCE)


def test_closed_standard_error(corpus, model, tmp_path):
    line = '"$0" -m tagwright train "$1" m 2>&- && "$0" -m tagwright tag -m m "$1" -o out 2>&-'
    done = subprocess.run(
        ["sh", "-c", line, sys.executable, corpus], cwd=tmp_path, stdout=subprocess.PIPE, timeout=60, check=False
    )
    assert done.returncode == 0
    assert done.stdout.startswith(b"m\n")
    assert (tmp_path / "m").read_bytes() == model.read_bytes()
    assert (tmp_path / "out").read_text() == printed("tag", "-m", model, corpus)


# Streams by name


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_has_names(text, tmp_path, name):
    whole = printed("tag", text).encode()
    done = ran("tag", text, "-o", name)
    assert (done.stdout, done.stderr, done.returncode) == (whole, b"", 0)
    with open(tmp_path / "out", "wb", buffering=0) as out:
        out.write(b"before\n")
        assert ran("tag", text, "-o", name, stdout=out).returncode == 0
        out.write(b"after\n")
    assert (tmp_path / "out").read_bytes() == b"before\n" + whole + b"after\n"


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not here")
@pytest.mark.parametrize("arguments", ["tag {text} -o", "train {corpus}"])
def test_another_command_of_the_shell(corpus, model, text, tmp_path, arguments):
    line = f'"$0" -m tagwright {arguments.format(text=text, corpus=corpus)} >(cat) > table'
    done = subprocess.run(
        ["bash", "-c", line, sys.executable], cwd=tmp_path, capture_output=True, timeout=LONGEST_WAIT, check=False
    )
    expected = model.read_bytes() if arguments.startswith("train") else printed("tag", text).encode()
    assert (done.stdout, complained_of(arguments.split()[0], done.stderr), done.returncode) == (expected, b"", 0)


@pytest.mark.parametrize("name", ["-", "/dev/stdout"])
def test_a_model_to_standard_output(corpus, model, tmp_path, name):
    done = ran("train", corpus, name, cwd=tmp_path)
    assert (done.stdout, done.returncode) == (model.read_bytes(), 0)
    assert done.stderr.decode().startswith(f"{name}\n")
    assert "objective" in done.stderr.decode()
    assert os.listdir(tmp_path) == []


def test_a_model_to_standard_output_within_a_process(corpus, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("train", corpus, "-")
    assert (result.stdout_bytes, result.exit_code) == (model.read_bytes(), 0)
    assert complained_of("train", result.stderr_bytes).startswith(b"-\n")


def test_a_model_to_a_device(corpus, tmp_path):
    null = node(tmp_path / "null", "null")
    printed("train", corpus, null)
    printed("tag", corpus, "-o", null)
    assert stat.S_ISCHR(null.stat().st_mode)
    assert os.listdir(tmp_path) == ["null"]


def test_a_disk_is_refused_before_the_training(corpus, tmp_path):
    disk = node(tmp_path / "disk", "loop")
    assert complained(ran("train", corpus, disk)) == f"{disk}: a block device; write to a file"
    assert stat.S_ISBLK(disk.stat().st_mode)
    assert os.listdir(tmp_path) == ["disk"]


def test_a_model_through_a_pipe(corpus, model, tmp_path):
    pipe, copy = tmp_path / "pipe", tmp_path / "copy"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: copy.write_bytes(pipe.read_bytes()))
    reader.start()
    printed("train", corpus, pipe)
    reader.join(LONGEST_WAIT)
    assert copy.read_bytes() == model.read_bytes()
    assert pipe.is_fifo()
    assert sorted(os.listdir(tmp_path)) == ["copy", "pipe"]


@pytest.mark.parametrize("kind", ["null", "pipe", "-"])
def test_a_checkpoint_must_be_a_file(corpus, tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / kind
    if kind == "null":
        node(path, "null")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path = kind
    said = complained(ran("train", corpus, "m", "--checkpoint", path))
    assert said == f"{path}: not a file, and it must be one, since it is read again; name another"
    with pytest.raises(ValueError, match="it must be one"):
        tw.Perceptron().fit(*ten_sentences(), checkpoint=path)
    assert os.listdir(tmp_path) == ([] if kind == "-" else [kind])
    assert kind == "-" or not path.is_file()


# Models that do not fit


def kept(said, model):
    """The path that a message names."""
    found = re.search("the model is kept as (.*)$", said)
    assert found, said
    assert Path(found[1]).read_bytes() == model.read_bytes()
    return found[1]


@pytest.mark.parametrize("where", ["device", "standard output"])
def test_a_model_for_a_full_device_is_kept_in_the_temporary_folder(corpus, model, tmp_path, where):
    full, temporary = node(tmp_path / "full", "full"), tmp_path / "temporary"
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with open(full, "wb") as out:
        done = ran("train", corpus, *([full] if where == "device" else ["-"]), env=environment, stdout=out)
    said = complained(done)
    assert said.startswith(f"{full if where == 'device' else '-'}: No space left on device; ")
    path = kept(said, model)
    assert [os.path.join(temporary, name) for name in os.listdir(temporary)] == [path]


def test_a_model_for_a_reader_who_has_gone_is_kept(corpus, model, tmp_path):
    out, into = os.pipe()
    os.close(out)
    done = ran("train", corpus, "-", env={**os.environ, "TMPDIR": str(tmp_path)}, stdout=into)
    os.close(into)
    said = complained(done)
    assert said.startswith("-: Broken pipe; ")
    assert os.listdir(tmp_path) == [os.path.basename(kept(said, model))]


@pytest.mark.parametrize("change", ["gone", "a folder"])
def test_a_model_whose_place_has_gone_is_kept(corpus, model, tmp_path, patience, change):
    pipe, folder, temporary = (tmp_path / name for name in ("pipe", "folder", "temporary"))
    os.mkfifo(pipe)
    folder.mkdir()
    temporary.mkdir()
    path = folder / "m.safetensors"
    with started("train", pipe, path, env={**os.environ, "TMPDIR": str(temporary)}) as process:
        with open(pipe, "wb") as given:  # when it is opened, the training has checked the folder
            folder.rmdir() if change == "gone" else path.mkdir()
            given.write(corpus.read_bytes())
        _, err = process.communicate(timeout=LONGEST_WAIT)
    err = complained_of("train", err)
    assert (process.returncode, err.count(b"\n")) == (2, 1)
    path = kept(err.decode().rstrip("\n"), model)
    assert re.fullmatch("m-[0-9a-f]{8}.safetensors", os.path.basename(path))
    assert os.path.dirname(path) == str(temporary if change == "gone" else folder)


def test_a_model_beyond_the_limit_is_kept_in_pieces(corpus, model, tmp_path):
    path = tmp_path / "my model"
    path.write_bytes(b"old")
    size = model.stat().st_size // 2 - 1
    done = ran("train", corpus, path, "--force", preexec_fn=files_of_at_most(size))
    found = re.fullmatch(
        "(.*): File too large; the model is kept in 3 pieces, to be joined with: (.*)", complained(done)
    )
    assert found[1] == str(path)
    rest = model.stat().st_size - 2 * size
    assert sorted(entry.stat().st_size for entry in tmp_path.iterdir()) == sorted([rest, 3, size, size])
    assert path.read_bytes() == b"old"
    subprocess.run(["sh", "-c", found[2]], check=True)
    assert Path(shlex.split(found[2])[-1]).read_bytes() == model.read_bytes()


def test_a_model_that_fits_nowhere(tmp_path):
    path = tmp_path / "m"
    path.write_bytes(b"")
    corpus = tmp_path / "train.txt"
    corpus.write_text(columns(*many_labels()))
    done = ran("train", corpus, path, "--epochs", "1", preexec_fn=files_of_at_most(64))
    assert complained(done) == f"{path}: File too large; the model is lost: it could not be written elsewhere either"
    assert sorted(os.listdir(tmp_path)) == ["m", "train.txt"]
    assert path.read_bytes() == b""


# Checkpoints that do not fit


@pytest.mark.parametrize(
    "more",
    [
        ["--epochs", "3"],
        ["--learner", "crf", "--set", "solver=lbfgs", "--set", "max_iterations=30", "--set", "tolerance=0"],
    ],
    ids=["epochs", "crf"],
)
def test_a_checkpoint_that_cannot_be_written_does_not_end_the_training(tmp_path, more):
    corpus, whole, model, checkpoint = (tmp_path / name for name in ("train.txt", "whole", "m", "c"))
    corpus.write_text(columns(*many_labels(sentences=40)))
    train = printed if "--epochs" in more else stopped
    first = ["1" if part == "3" else part.replace("=30", "=10") for part in more]
    train("train", corpus, model, *first, "--checkpoint", checkpoint)
    model.unlink()
    train("train", corpus, whole, *more, "--checkpoint", tmp_path / "other")
    old = checkpoint.read_bytes()
    limit = (whole.stat().st_size + (tmp_path / "other").stat().st_size) // 2
    done = ran("train", corpus, model, *more, "--checkpoint", checkpoint, preexec_fn=files_of_at_most(limit))
    assert done.returncode == 2
    said = [line for line in done.stderr.decode().splitlines() if "before it converged" not in line]
    assert said == [f"Warning: checkpoint {checkpoint} not written: File too large; training continues"]
    assert done.stdout.decode().startswith(f"{model}\n")
    assert checkpoint.read_bytes() == old
    assert tw.load(model).facts == tw.load(whole).facts
    assert sorted(os.listdir(tmp_path)) == ["c", "m", "other", "train.txt", "whole"]
    # With room it resumes from the old one.
    assert ran("train", corpus, model, *more, "--checkpoint", checkpoint).returncode == 0
    assert len(container.read(checkpoint)[1]["resume"]["history"]) > 1


# Names that are not UTF-8


def test_templates_and_models_whose_names_are_not_utf8(corpus, tmp_path):
    templates, model = (os.path.join(os.fsencode(tmp_path), name) for name in (b"caf\xe9.txt", b"mod\xe8le"))
    with open(templates, "wb") as file:
        file.write(b"U:%x[0,0]\nB\n")
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}
    arguments = [*command("train", corpus), model, "--features", templates]
    done = subprocess.run(arguments, capture_output=True, env=environment, timeout=LONGEST_WAIT, check=False)
    assert (done.returncode, complained_of("train", done.stderr)) == (0, b"")
    assert done.stdout.startswith(model + b"\n")
    name = tw.load(os.fsdecode(model)).facts["options"]["features"]
    assert name == os.path.join(tmp_path, r"caf\xe9.txt")
    assert name in printed("info", os.fsdecode(model))


def test_separators_that_are_not_utf8(corpus, tmp_path):
    said = complaint("train", corpus, tmp_path / "m", "--set", "parts=" + os.fsdecode(b"\xff"))
    assert said == r"--set parts: parts must be None or a string of separators, not '\udcff'"
