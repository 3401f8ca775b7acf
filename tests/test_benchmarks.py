"""The frame of the benchmarks, on corpora of a few sentences."""

import csv
import json
import lzma
import math
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import tagwright as tw
from benchmarks.__main__ import MODULES, main, module
from benchmarks.frame import bench as frame
from benchmarks.frame import data, plots, speeds, timing
from benchmarks.frame.bench import Bench, MissingError
from benchmarks.frame.report import collect
from benchmarks.papers import huang2012, kaji2010

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def corpora(tmp_path):
    """Two corpora whose labels follow from the words."""
    rng, place = np.random.default_rng(0), tmp_path / "data"
    for corpus in ("pos_ewt", "slots_snips"):
        (place / corpus).mkdir(parents=True)
        for split, count in (("train", 30), ("test", 8)):
            sentences = []
            for _ in range(count):
                words = rng.integers(0, 6, size=rng.integers(1, 6))
                label = "intent:B-{}" if corpus == "slots_snips" else "L{}"
                sentences.append("".join(f"w{word}\t{label.format(word % 4)}\n" for word in words))
            with lzma.open(place / corpus / f"{split}.txt.xz", "wt", encoding="utf-8") as file:
                file.write("\n".join(sentences))
    return place


@pytest.fixture
def bench(tmp_path, corpora, monkeypatch):
    monkeypatch.setenv("TAGWRIGHT_BENCH_MODELS", str(tmp_path / "models"))
    return Bench(True, corpora, tmp_path / "out")


def test_a_paper_on_tiny_corpora_and_the_report(bench, tmp_path, capsys):
    for part in (huang2012.accuracy, huang2012.speed, huang2012.pruning):
        assert bench.run("huang2012", part)
    assert bench.run("kaji2010", kaji2010.decoding)
    said = capsys.readouterr().out
    assert said.count("supertag_erg/train.txt.xz is not there") == 1
    assert said.count("How to get it") == 1
    with open(bench.out / "tables" / "huang2012" / "table4.csv", newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["decoder", "pos_ewt, 4", "slots_snips, 4"]
    assert [row[0] for row in rows] == list(huang2012.ONE_BEST)
    assert rows[1][1].endswith("(2779)")  # the paper's Viterbi, beside ours
    accuracy = json.loads((bench.out / "tables" / "huang2012" / "accuracy.json").read_text(encoding="utf-8"))
    assert [row[5] for row in accuracy["rows"]] == ["100.00", "100.00"]  # the words determine the labels
    written = list(collect(bench.out, tmp_path / "docs"))
    page = written[0].read_text(encoding="utf-8")
    assert "{{" not in page
    assert "| tree (ours) |" in page
    assert frame.commit() in page
    assert "was not measured" in page


def test_models_are_kept_by_what_they_are_made_of(bench, monkeypatch):
    first = data.model(bench, "pos_ewt")
    monkeypatch.setattr(data, "fit", lambda *_: pytest.fail("trained once more"))
    assert data.digest(data.model(bench, "pos_ewt")) == data.digest(first)
    with lzma.open(bench.data / "pos_ewt" / "train.txt.xz", "at", encoding="utf-8") as file:
        file.write("\nw1\tL3\n")
    with pytest.raises(pytest.fail.Exception, match="trained once more"):
        data.model(bench, "pos_ewt")


def test_an_interrupted_run_resumes(bench, capsys):
    done = []

    def work(name):
        if name == "third" and len(done) == 2:
            raise KeyboardInterrupt
        done.append(name)
        return {"name": name, "value": math.inf, "pair": (1, 2)}

    def part(bench):
        """Three steps."""
        found = [bench.step(name, lambda name=name: work(name)) for name in ("first", "second", "third")]
        bench.table("steps", "Steps", ["name", "value"], [[own["name"], str(own["value"])] for own in found])
        assert found[0]["pair"] == [1, 2]

    with pytest.raises(KeyboardInterrupt):
        bench.run("module", part)
    done.append("interrupted")
    assert bench.run("module", part)
    assert done == ["first", "second", "interrupted", "third"]
    assert bench.run("module", part)
    assert len(done) == 4
    assert Bench(True, bench.data, bench.out, again=True).run("module", part)
    assert done[4:] == ["first", "second", "third"]
    assert Bench(False, bench.data, bench.out).run("module", part)
    assert len(done) == 10  # what a quick run measured is none of a full one's
    assert "first" in capsys.readouterr().out
    assert not list(bench.out.rglob(".*"))


def test_missing_data_is_reported_and_skipped(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(plots, "available", lambda: False)  # what it draws is not the matter
    bench = Bench(True, tmp_path, tmp_path / "out")
    assert not bench.run("huang2012", huang2012.speed)
    assert not bench.run("kaji2010", kaji2010.training)
    assert bench.run("huang2012", huang2012.growth) is True
    said = capsys.readouterr().out
    assert "pos_ewt/train.txt.xz is not there" in said
    assert said.count("How to get it") == 1


def test_a_wrong_answer_is_not_timed(monkeypatch):
    own = data.model_like(20, 3)
    truth = speeds.best_scores(own, 1)
    assert len(speeds.checked(own, speeds.Choice("staggered"), 1, truth, 10)) == 3
    truth[1][0] += 0.5
    with pytest.raises(AssertionError, match="staggered"):
        speeds.checked(own, speeds.Choice("staggered"), 1, truth, 10)


def test_exponents_and_figures():
    assert speeds.exponent([10, 100, 1000], [3.0, 300.0, 30000.0]) == pytest.approx(2)
    assert [speeds.digits(value) for value in (12345.6, 99.94, 0.01234)] == ["12,346", "99.9", "0.0123"]


def test_a_gazetteer_has_what_stood_in_a_slot_more_than_once():
    X = [[["fly"], ["new"], ["york"], ["now"]], [["new"], ["york"]], [["rome"]]]
    y = [["a:O", "a:B-to_city", "a:I-to_city", "a:B-time"], ["b:B-to_city", "b:I-to_city"], ["b:B-to_city"]]
    assert data.gazetteer(X, y) == {"to-city": ["new york"]}
    assert data.gazetteer(X, y, 1) == {"time": ["now"], "to-city": ["new york", "rome"]}


def waits():
    threading.Event().wait()


def takes(megabytes):
    return len(np.ones(megabytes * 2**17))


def fails():
    raise MissingError("no such thing")


@pytest.mark.slow
@pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""), reason="a sanitizer reserves more memory than any limit allows"
)
def test_work_within_limits():
    done = timing.limited(takes, 1, seconds=60, megabytes=4000)
    assert (done.value, done.problem) == (2**17, None)
    assert 5 < done.peak_mb < 2000
    assert timing.limited(waits, seconds=2, megabytes=4000).problem == "over the limit"
    assert timing.limited(takes, 8000, seconds=60, megabytes=4000).problem == "out of memory"
    assert timing.limited(fails, seconds=60, megabytes=4000).problem == "failed: MissingError: no such thing"
    with pytest.raises(MissingError, match="no such thing"):
        timing.apart(fails)


def test_tables_are_written_whole_or_not_at_all(bench, monkeypatch):
    bench.module, bench.part = "module", "part"
    bench.table("one|two", "Title", ["a|b", "c"], [["x|y", "1"]], "A note.")
    path = bench.out / "tables" / "module" / "one_two.md"
    assert path.read_text(encoding="utf-8") == "Title\n\n| a\\|b | c |\n| --- | ---: |\n| x\\|y | 1 |\n\nA note.\n"
    monkeypatch.setattr(Path, "replace", lambda *_: pytest.fail("cut off"))
    with pytest.raises(pytest.fail.Exception):
        bench.table("one|two", "Other", ["a"], [["z"]])
    assert "Title" in path.read_text(encoding="utf-8")


def test_every_module_has_parts_with_descriptions():
    for name in MODULES:
        own = module(name)
        assert own.__doc__
        assert all(part.__doc__ for part in own.PARTS.values())


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--help"], 0, "Huang et al. 2012: iterative Viterbi"),
        (["list"], 0, "kaji2010   training"),
        (["huang2012", "--only", "table9"], 2, "'table9' is none of accuracy, speed"),
        (["huang2013"], 2, "No such command"),
        (["report", "--out", "nowhere"], 1, "nowhere has no results"),
    ],
)
def test_command_line(arguments, code, says):
    ran = subprocess.run(
        [sys.executable, "-m", "benchmarks", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == code, ran.stderr
    assert says in ran.stdout + ran.stderr


def test_the_command_line_runs_a_part(corpora, tmp_path, monkeypatch):
    from click.testing import CliRunner

    monkeypatch.setenv("TAGWRIGHT_BENCH_MODELS", str(tmp_path / "models"))
    out = tmp_path / "out"
    arguments = ["huang2012", "--only", "accuracy", "--quick", "--data", str(corpora), "--out", str(out)]
    ran = CliRunner().invoke(main, arguments)
    assert ran.exit_code == 0, ran.output
    assert "pos_ewt" in ran.output
    assert json.loads((out / "about.json").read_text(encoding="utf-8"))["tagwright"].startswith(tw.__version__)
