"""`tag --ray` and `train --ray` on a real Ray: no line lost or doubled, whatever is killed."""

import os
import signal
import subprocess

import pytest
from support.commands import columns, complaint, printed, run
from support.corpora import drawn, same_arrays
from support.processes import command, complained, ran
from support.ray_workers import Killer, wait_for

import tagwright as tw

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]

KILLS = int(os.environ.get("TAGWRIGHT_KILLS", "10"))
FILES = 100
WORD = "U0:%x[0,0]\nU1:%x[-1,0]\nB\n"


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    made = tmp_path_factory.mktemp("models") / "model.safetensors"
    tw.Perceptron(WORD, epochs=2).fit(*drawn(1, sentences=500, words=300, labels=40)).model_.save(made)
    return made


@pytest.fixture(scope="module")
def sentences():
    """Those of a hundred files in folders; each begins with a word that no other has."""
    return {
        f"{n % 7}/{n}.txt": [
            [f"file{n}line{s}", *words]
            for s, words in enumerate(drawn(n, sentences=1500, words=300, labels=40, longest=12)[0])
        ]
        for n in range(FILES)
    }


@pytest.fixture(scope="module")
def corpus(sentences, tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    for name, X in sentences.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("".join("\n".join(words) + "\n\n" for words in X))
    return folder


def read_below(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    }


@pytest.fixture(scope="module")
def expected(sentences, path):
    model = tw.load(path)
    return {name: columns(X, model.tag_batch(X)).encode() for name, X in sentences.items()}


def test_a_hundred_files_while_workers_are_killed(own_ray, corpus, path, expected, tmp_path):
    killed = attempts = 0
    while killed < KILLS:
        out = tmp_path / str(attempts)
        with Killer("_called", KILLS - killed, seed=attempts, longest=0.5) as killer:
            said = printed("tag", "-m", path, "--ray", "auto", corpus, "-o", out)
        assert said.endswith(f"{out}: 100 files tagged\n")  # behind what Ray says of workers that died
        assert read_below(out) == expected
        killed, attempts = killed + killer.killed, attempts + 1
    again = printed("tag", "-m", path, "--ray", "auto", corpus, "-o", out)
    assert again.endswith(f"{out}: 0 files tagged, 100 were finished before\n")
    assert read_below(out) == expected


def test_a_killed_run_is_resumed(own_ray, corpus, path, expected, tmp_path):
    out = tmp_path / "out"
    address = own_ray.get_runtime_context().gcs_address
    call = command("tag", "-m", path, "--ray", address, corpus, "-o", out)
    with subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as driver:
        try:
            wait_for(lambda: len(list(out.rglob("*.txt"))) > 5 or driver.poll() is not None)
        finally:
            driver.send_signal(signal.SIGKILL)
    done = len(list(out.rglob("*.txt")))
    assert 5 < done < 100
    said = printed("tag", "-m", path, "--ray", "auto", corpus, "-o", out)
    tagged, before = (int(part.split()[0]) for part in said.split(": ")[-1].split(", "))
    assert tagged + before == 100
    assert before >= done - 3  # of three workers, each may have been between the result and its record
    assert read_below(out) == expected


def test_parquet_and_text_in_one_run(own_ray, path, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    X = [["first", *words] for words in drawn(7, sentences=200, words=300, labels=40)[0]]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text(columns(X, [["_"] * len(words) for words in X]))
    pyarrow.parquet.write_table(arrow.table({"words": X}), tmp_path / "in" / "b.parquet")
    printed("tag", "-m", path, "--ray", "auto", "--column", "words", tmp_path / "in", "-o", tmp_path / "out")
    labels = tw.load(path).tag_batch(X)
    table = pyarrow.parquet.read_table(tmp_path / "out" / "b.parquet").to_pydict()
    assert table == {"words": X, "labels": labels}
    assert tw.read(tmp_path / "out" / "a.txt", label="3")[1] == labels


def test_files_that_cannot_be_tagged_do_not_hold_up_the_others(own_ray, path, tmp_path):
    (tmp_path / "in").mkdir()
    for n in range(5):
        (tmp_path / "in" / f"{n}.txt").write_bytes(b"\xff\n" if n % 2 else b"a\n\n")
    result = run("tag", "-m", path, "--ray", "auto", tmp_path / "in", "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert "Error: 2 of 5 files not tagged; " in result.stderr
    assert "1.txt:1: not UTF-8" in result.stderr
    assert sorted(read_below(tmp_path / "out")) == ["0.txt", "2.txt", "4.txt"]
    for n in (1, 3):
        (tmp_path / "in" / f"{n}.txt").write_bytes(b"a\n\n")
    said = printed("tag", "-m", path, "--ray", "auto", tmp_path / "in", "-o", tmp_path / "out")
    assert said.endswith("2 files tagged, 3 were finished before\n")


def test_training_from_the_command_line_has_the_same_bits(own_ray, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.txt").write_text(columns(*drawn(3, sentences=400, words=50, labels=9)))
    train = ("train", "train.txt", "--learner", "crf", "--epochs", 2, "--set", "batch=64")
    printed(*train, "alone.safetensors")
    printed(*train, "ray.safetensors", "--ray", "auto", "--set", "workers=3")
    printed(*train, "files.safetensors", "--ray", "auto", "--set", "workers=2", "--set", "cache=cache")
    alone = tw.load("alone.safetensors").arrays
    assert same_arrays(tw.load("ray.safetensors").arrays, alone)
    assert same_arrays(tw.load("files.safetensors").arrays, alone)
    assert "--set workers is for --ray" in complaint(*train, "none.safetensors", "--set", "workers=2")


def test_an_unreachable_cluster_is_reported(tmp_path, path):
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'tagwright[ray]'")
    (tmp_path / "a.txt").write_text("a\tN\n\n")
    for call in (
        ("tag", "-m", path, tmp_path / "a.txt", "-o", tmp_path / "out"),
        ("train", tmp_path / "a.txt", tmp_path / "none.safetensors"),
    ):
        said = complained(ran(*call, "--ray", "127.0.0.1:1"))
        assert said.startswith("no Ray cluster at '127.0.0.1:1' (")
        assert said.endswith("; start one with: ray start --head")
