"""Writing: what appears whole, what goes straight through, what is refused, and what killed runs leave."""

import fcntl
import io
import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save
from support.processes import files_of_at_most, node

import tagwright as tw
from tagwright.data.output import check_target, is_standard_output, is_stream, replacing, writing
from tagwright.models import file as container

MODELS = sorted((Path(__file__).parent / "0.5.0").glob("*.safetensors"))
WRITER = """
import sys
from tagwright.data.output import replacing
with replacing(sys.argv[1]) as file:
    file.write(b"half")
    print("writing", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def model():
    return tw.load(MODELS[0])


@pytest.fixture(scope="module")
def saved(model):
    """The bytes of its file."""
    file = io.BytesIO()
    model.save(file)
    return file.getvalue()


class Reader(threading.Thread):
    """Everything that is read from a file, in the background."""

    def __init__(self, file):
        super().__init__()
        self.file, self.content = file, None
        self.start()

    def run(self):
        with open(self.file, "rb") as file:
            self.content = file.read()

    def all(self):
        self.join(60)
        return self.content


# The bytes of a model


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_a_file_is_written_as_safetensors_wrote_it(tmp_path, path):
    container.write(tmp_path / "m", *container.read(path))
    assert (tmp_path / "m").read_bytes() == path.read_bytes()


def test_a_header_is_that_of_safetensors(tmp_path):
    dtypes = ["<u8", "<f8", "<f4", "<u4", "<i4", "<u2", "u1"]
    arrays = {f'{n} "\\\n\x07\x7f\u2028é{t}': np.arange(n, dtype=t) for n in (3, 0, 1) for t in reversed(dtypes)}
    container.write(tmp_path / "m", arrays, {"format": 1, "x": 'é\x1f"\\\u2028'})
    written = (tmp_path / "m").read_bytes()
    length = int.from_bytes(written[:8], "little")
    stored = json.loads(written[8 : 8 + length])["__metadata__"]
    assert written == save(arrays, stored)


@pytest.mark.parametrize("array", [np.zeros((2, 2)), np.zeros(2, np.int64)], ids=["two dimensions", "int64"])
def test_arrays_that_could_not_be_read_again_are_not_written(tmp_path, array):
    with pytest.raises(ValueError, match="which no model file holds"):
        container.write(tmp_path / "m", {"a": array}, {"format": 1})
    assert os.listdir(tmp_path) == []


# Streams


def test_a_device_stays_one(model, tmp_path):
    null = node(tmp_path / "null", "null")
    model.save(null)
    assert stat.S_ISCHR(null.stat().st_mode)
    assert os.listdir(tmp_path) == ["null"]


def test_a_block_device_is_refused(model, tmp_path):
    disk = node(tmp_path / "disk", "loop")
    with pytest.raises(OSError, match="a block device"):
        model.save(disk)
    assert stat.S_ISBLK(disk.stat().st_mode)


def test_a_model_goes_through_a_pipe(model, saved, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = Reader(pipe)
    model.save(pipe)
    assert reader.all() == saved
    assert pipe.is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]


@pytest.mark.parametrize("form", ["/dev/fd/{}", "/proc/self/fd/{}", "link"])
def test_open_files_have_paths(model, saved, tmp_path, form):
    out, into = os.pipe()
    path = form.format(into)
    if form == "link":
        path = tmp_path / "link"
        path.symlink_to(f"/proc/self/fd/{into}")
    assert is_stream(os.fspath(path))
    reader = Reader(out)
    model.save(path)
    os.close(into)
    assert reader.all() == saved


def test_an_open_file_is_written_to_where_it_stands(model, saved, tmp_path):
    path = tmp_path / "archive"
    with open(path, "wb", buffering=0) as file:
        file.write(b"before")
        model.save(f"/dev/fd/{file.fileno()}")
        file.write(b"after")
    assert path.read_bytes() == b"before" + saved + b"after"


def test_an_open_file_that_is_none(model):
    with pytest.raises(OSError, match="Bad file descriptor") as error:
        model.save("/dev/fd/987654")
    assert error.value.filename == "/dev/fd/987654"


def test_a_hyphen_is_standard_output(model, saved, tmp_path, monkeypatch, capfdbinary):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdout", sys.__stdout__)
    print("before")
    model.save("-")
    assert capfdbinary.readouterr().out == b"before\n" + saved
    assert os.listdir(tmp_path) == []
    assert is_standard_output("-")
    assert is_standard_output("/dev/fd/1")
    assert not is_standard_output(os.fspath(tmp_path))


def test_every_byte_is_written_although_the_reader_is_slow():
    out, into = os.pipe()
    os.set_blocking(into, False)
    given = os.urandom(1 << 20)  # more than a pipe holds
    reader = Reader(out)
    with writing(f"/dev/fd/{into}") as file:
        assert file.write(given) == len(given)
    os.close(into)
    assert reader.all() == given


def test_a_file_object_that_is_not_buffered_gets_everything(model, saved):
    out, into = os.pipe()
    os.set_blocking(into, False)
    reader = Reader(out)
    with open(into, "wb", buffering=0) as file:
        model.save(file)
        file.write(b"after")
    assert reader.all() == saved + b"after"


# Files


def test_a_file_appears_when_it_is_whole(tmp_path):
    path = tmp_path / "out"
    path.write_bytes(b"old")
    with writing(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, ValueError])
def test_an_error_leaves_what_was_there(tmp_path, raised):
    path = tmp_path / "out"
    path.write_bytes(b"old")

    def fail_to_write():
        with writing(path) as file:
            file.write(b"new")
            raise raised

    with pytest.raises(raised):
        fail_to_write()
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["out"]


def test_a_write_beyond_the_limit_names_the_file_and_leaves_the_old_one(saved, tmp_path):
    path = tmp_path / "m"
    path.write_bytes(saved)
    code = """
import sys
import tagwright as tw
try:
    tw.load(sys.argv[1]).save(sys.argv[1])
except OSError as error:
    print(error.filename, error.strerror)
"""
    command = [sys.executable, "-c", code, str(path)]
    limit = files_of_at_most(len(saved) - 1)
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit, timeout=60, check=False)
    assert (done.stdout, done.stderr) == (f"{path} File too large\n", "")
    assert path.read_bytes() == saved
    assert os.listdir(tmp_path) == ["m"]


def test_what_can_be_checked_before_the_work(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        check_target(tmp_path / "folder")
    with pytest.raises(FileNotFoundError, match="no such folder to write to"):
        check_target(tmp_path / "none" / "m")
    with pytest.raises(OSError, match="File name too long"):
        check_target(tmp_path / ("m" * 250))
    check_target(tmp_path / "m")
    check_target("-")
    assert os.listdir(tmp_path) == ["folder"]


# What killed runs leave


def parts(folder):
    return sorted(path.name for path in folder.glob(".*"))


def test_what_a_killed_run_left_is_removed_and_what_a_living_one_writes_is_not(tmp_path):
    path = tmp_path / "m"
    command = [sys.executable, "-c", WRITER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline() == b"writing\n"
            (half,) = parts(tmp_path)
            path.write_bytes(b"old")
            with replacing(path) as file:
                file.write(b"new")
            with replacing(tmp_path / "other") as file:
                file.write(b"other")
            assert parts(tmp_path) == [half]
        finally:
            process.kill()
    assert (tmp_path / half).read_bytes() == b"half"
    with replacing(tmp_path / "other") as file:
        file.write(b"other")
    assert parts(tmp_path) == [half]
    with replacing(path) as file:
        assert half not in parts(tmp_path)
        file.write(b"newer")
    assert path.read_bytes() == b"newer"
    assert parts(tmp_path) == []


@pytest.mark.parametrize("name", [".m.0123abcd.part", ".m.0123abcd0123abcd.part"], ids=["0.5.0", "another machine"])
def test_what_another_machine_may_be_writing_is_removed_after_a_day(tmp_path, name):
    part = tmp_path / name
    part.write_bytes(b"half")
    check_target(tmp_path / "m")
    assert parts(tmp_path) == [name]
    day_before_yesterday = part.stat().st_mtime - 2 * 24 * 60 * 60
    os.utime(part, (day_before_yesterday, day_before_yesterday))
    with open(part, "rb+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        check_target(tmp_path / "m")
        assert parts(tmp_path) == [name]
    check_target(tmp_path / "m")
    assert parts(tmp_path) == []


@pytest.mark.parametrize("name", [".m.part", ".m.old.part", "m.0123abcd.part", ".mm.0123abcd.part", ".m.0123abcd.tmp"])
def test_files_of_other_names_are_left_alone(tmp_path, name):
    (tmp_path / name).touch()
    os.utime(tmp_path / name, (0, 0))
    check_target(tmp_path / "m")
    assert os.listdir(tmp_path) == [name]
