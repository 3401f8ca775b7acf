"""From text to labels: `tag_batch` compared with decoding alone, k best, threads, files, and an earlier version."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import tagwright as tw
from benchmarks.frame import data
from benchmarks.frame.bench import Bench
from benchmarks.frame.versions import Version, pythons

CORPORA = ("pos_ewt", "chunk_conll2000", "morph_hu_nerkor", "morph_lv_lvtb", "supertag_erg")
SENTENCES, EPOCHS = 8_000, 3  # of the models; decoding costs what the labels cost, not what training did
WORKER = Path(__file__).with_name("tagging_worker.py")


class Aims(NamedTuple):
    """What a corpus should reach: times of tag_batch and of decoding, and that of the earlier version and ours."""

    decoding: float
    before: float | None


AIMS = {
    "pos_ewt": Aims(1.6, 2.5),
    "morph_hu_nerkor": Aims(2, None),
    "morph_lv_lvtb": Aims(2, 3),
    "supertag_erg": Aims(2, 3),
}


def model_path(bench: Bench, corpus: str) -> Path:
    """Return the file of a plain perceptron of the corpus with all its labels."""

    def train() -> tuple[Any, data.Corpus]:
        sentences = data.covering(*bench.read(corpus, "train", 400), SENTENCES)
        return tw.Perceptron(data.PRESETS[corpus], epochs=EPOCHS, seed=0), sentences

    name, made_of = f"speed-{corpus}", f"perceptron {data.PRESETS[corpus]} {SENTENCES} {EPOCHS}"
    data.kept_model(bench, name, corpus, made_of, train)
    return data.kept_path(bench, name, corpus, made_of)


def best_times(versions: dict[str, Version], turns: int, requests: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the best of several times by version and by name; all take turns."""
    best: dict[str, dict[str, float]] = {version: {} for version in versions}
    for _ in range(turns):
        for name, options in requests.items():
            for version, process in versions.items():
                seconds = process.ask(**options)
                best[version][name] = min(best[version].get(name, seconds), seconds)
    return best


ASKED: dict[str, dict[str, Any]] = {
    "tag_batch": {"what": "tag_batch"},
    "decoding": {"what": "decode_batch"},
    "text": {"what": "text"},
    "k = 1": {"what": "tag_kbest", "k": 1},
    "k = 5": {"what": "tag_kbest", "k": 5},
    "wall": {"what": "tag_batch", "wall": True},
    "two threads": {"what": "tag_batch", "threads": 2, "wall": True},
    "tag_batch at once": {"what": "tag_at_once"},
    "file": {"what": "file"},
    "opening": {"what": "opening"},
    "file, wall": {"what": "file", "wall": True},
    "file, two threads": {"what": "file", "threads": 2, "wall": True},
}


def timed(bench: Bench, corpus: str) -> dict[str, Any]:
    """Return the best times of all versions on one corpus."""
    model, text = model_path(bench, corpus), bench.path(corpus, "test")
    more = [] if corpus == "chunk_conll2000" else [bench.path(corpus, "dev")]
    with ExitStack() as stack:
        out = stack.enter_context(TemporaryDirectory())
        versions = {}
        for version, python in pythons().items():
            (place := Path(out) / version).mkdir()
            few = 60 if bench.quick else 0
            versions[version] = stack.enter_context(Version(python, WORKER, model, text, place, few, *more))
        about = {version: process.ask("about") for version, process in versions.items()}
        for process in versions.values():
            process.ask("check")
        best = best_times(versions, 2 if bench.quick else 7, ASKED)
        stages = min((versions["now"].ask("stages") for _ in range(2 if bench.quick else 5)), key=total)
        return {"about": about, "best": best, "stages": stages}


def total(stages: dict[str, float]) -> float:
    return sum(stages.values())


def tagging(bench: Bench) -> None:
    """Time from text to labels, and what it is a multiple of.

    The model has tagged the dev set and the first half of the test set, and the second half is timed. Decoding is
    decode_batch of node scores that are there already. File to file is `tagwright tag` in this process, without opening
    the model, compared with tag_batch by a model that has tagged nothing yet either.
    """
    found = bench.steps({corpus: partial(timed, bench, corpus) for corpus in CORPORA})
    rows, times = [], []
    for corpus, own in found.items():
        about, now = own["about"]["now"], own["best"]["now"]
        before = own["best"].get("before")
        us = {name: 1e6 * seconds / about["tokens"] for name, seconds in now.items()}
        ratios = {
            "tag_batch / decoding": us["tag_batch"] / us["decoding"],
            "before / now": before["tag_batch"] / now["tag_batch"] if before else None,
            "k = 5 / k = 1": us["k = 5"] / us["k = 1"],
            "two threads": us["wall"] / us["two threads"],
            "file / tag_batch": (us["file"] - us["opening"]) / us["tag_batch at once"],
            "file, two threads": (us["file, wall"] - us["opening"]) / (us["file, two threads"] - us["opening"]),
        }
        head = [corpus, f"{about['labels']:,}"]
        rows.append([*head, *("-" if ratio is None else f"{ratio:.2f}" for ratio in ratios.values())])
        speeds = (f"{1e6 / us['tag_batch']:,.0f}", f"{us['tag_batch']:.2f}", f"{us['decoding']:.2f}")
        old = f"{1e6 * before['tag_batch'] / about['tokens']:.2f}" if before else "-"
        times.append([*head, f"{about['tokens']:,}", *speeds, old])
        claims(bench, corpus, ratios)
    versions = next(iter(found.values()))["about"]
    named = f"before: {versions['before']['version']}" if "before" in versions else "no earlier version was there"
    bench.table("ratios", "From text to labels: ratios", ["corpus", "labels", *ratios], rows, named)
    header = ["corpus", "labels", "tokens", "tokens/s", "tag_batch, us/token", "decoding, us/token", "before, us/token"]
    bench.table("times", "From text to labels: times, one thread", header, times)
    split(bench, found)


def split(bench: Bench, found: dict[str, Any]) -> None:
    """Show where the time of `tag_batch` and of files goes, in microseconds per token."""
    rows = []
    for corpus, own in found.items():
        us = {name: 1e6 * seconds / own["about"]["now"]["tokens"] for name, seconds in own["stages"].items()}
        now = {name: 1e6 * seconds / own["about"]["now"]["tokens"] for name, seconds in own["best"]["now"].items()}
        read, native = now["text"], sum(us.values())
        write = max(0.0, now["tag_batch"] - read - native)
        shown = [read, us["features"], us["rows"], us["bounds"], us["sums"], us["other"], write]
        rows.append([corpus, f"{own['about']['now']['labels']:,}", *(f"{one:.2f}" for one in shown)])
    note = (
        "read: Python's strings to the core's text; features: text to rows of weights; rows: their sums; bounds: of "
        "labels, where the decoder has bounds, and the check of scores; sums: over edges; write: labels to Python's "
        "strings, the remainder of tag_batch."
    )
    header = ["corpus", "labels", "read", "features", "rows", "bounds", "sums", "other", "write"]
    bench.table("split", "From text to labels: where the time goes, us/token", header, rows, note)


def claims(bench: Bench, corpus: str, ratios: dict[str, float | None]) -> None:
    """Compare ratios with the aims."""

    def note(what: str, aim: float | None, most: bool) -> None:
        ratio = ratios[what]
        if ratio is not None and aim is not None:
            holds = ratio <= aim if most else ratio >= aim
            bench.claim(what, corpus, f"{ratio:.2f}", f"at {'most' if most else 'least'} {aim:g}", holds)

    if corpus in AIMS:
        note("tag_batch / decoding", AIMS[corpus].decoding, True)
        note("before / now", AIMS[corpus].before, False)
    note("file / tag_batch", 1.2, True)
    note("k = 5 / k = 1", 2, True)
    note("two threads", 1.8, False)
    note("file, two threads", 1.8, False)


PARTS = (tagging,)
