"""Training and tagging on real corpora: accuracy, python-crfsuite beside us, decoders, start-up, streaming.

Run `python benchmarks/tagger.py`; `--quick` takes few sentences and epochs, `--only PART` a part alone. Corpora are
looked for in ../shared/data, in $TAGWRIGHT_DATA or in --data; what is not there is said and left out. One thread,
also for python-crfsuite, which has no more. Memory is the peak of a process of its own, as the kernel keeps it.
"""

from __future__ import annotations

import csv
import inspect
import lzma
import multiprocessing
import random
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click
import numpy as np
from decoders import ROOT, best_of

import tagwright as tw
from tagwright import _core
from tagwright.cli import main as command_line
from tagwright.demo import SENTENCES
from tagwright.table import table

try:
    import pycrfsuite
except ImportError:
    pycrfsuite = None

Corpus = tuple[list[Any], list[list[str]]]
COMMAND = [sys.executable, "-m", "tagwright", "tag"]


class MissingError(Exception):
    """Data or a package that a part needs; the message says which."""


class Run(NamedTuple):
    """What was asked for."""

    quick: bool
    dev: bool
    tokens: int
    data: Path
    csv: Path | None

    def read(self, name: str, split: str, few: int | None = None) -> Corpus:
        """Sentences and labels of a corpus; when quick, the first few."""
        path = self.data / name / f"{split}.txt.xz"
        if not path.exists():
            raise MissingError(f"{path} is not there")
        X, y = tw.read(path)
        return (X[:few], y[:few]) if self.quick else (X, y)

    def show(self, name: str, title: str, header: list[str], rows: list[list[str]]) -> None:
        """Print a table, and write it where tables go."""
        click.echo(f"\n{title}\n\n" + table(header, rows))
        if self.csv:
            self.csv.mkdir(parents=True, exist_ok=True)
            with open(self.csv / f"{name}.csv", "w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([header, *rows])


def apart(work: Callable[..., Any], *arguments: Any) -> Any:
    """Do something in a new process, so that nothing else is in its memory."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def kernel_mb(file: str, process: str = "self") -> dict[str, float]:
    """What the kernel says of a process's memory. VmHWM is its peak; getrusage's begins with the parent's."""
    lines = [line.split() for line in Path(f"/proc/{process}/{file}").read_text(encoding="utf-8").splitlines()]
    return {line[0].rstrip(":"): int(line[1]) / 1024 for line in lines if line[-1] == "kB"}


def share(predicted: list[list[str]], gold: list[list[str]]) -> float:
    """Tokens whose label is right, in percent."""
    return 100 * tw.evaluate(gold, predicted).token_accuracy


def at_least(got: float, least: float | None) -> list[str]:
    return ["-", "-"] if least is None else [f"at least {least:g}", "yes" if got >= least else "no"]


# Corpus, preset, options chosen on dev data, accuracy aimed at, what papers have on the same or like data, and most
# memory aimed at.
CHUNK = {"margin": 30, "parts": "|", "min_count": 2}
TASKS = [
    ("chunk_conll2000", "chunk", CHUNK, 94.0, "93.21 (Kaji 2010), 94.70 (Huang 2012)", None),
    ("pos_ewt", "pos", {"margin": 15}, 94.3, "97.00 (Penn Treebank)", None),
    ("supertag_erg", "supertag", {"margin": 30, "parts": "+"}, 91.0, "90.60", 4096),
    ("morph_lv_lvtb", "morph", {"margin": 15, "parts": ""}, 88.0, "-", None),
]


def split_off(run: Run, name: str) -> tuple[Corpus, Corpus]:
    """What is trained on, and what accuracy is measured on."""
    X, y = run.read(name, "train", 500)
    if run.dev and not (run.data / name / "dev.txt.xz").exists():
        cut = len(X) * 9 // 10
        return (X[:cut], y[:cut]), (X[cut:], y[cut:])
    return (X, y), run.read(name, "dev" if run.dev else "test", 200)


def trained(
    run: Run, name: str, preset: str, options: dict[str, Any], aim: float, papers: str, most: int | None
) -> tuple[list[str], list[str]]:
    """Train and test, in a process of its own, whose peak until training has ended is that of training."""
    train, test = split_off(run, name)
    learner = tw.Perceptron(preset, epochs=2 if run.quick else 10, seed=0, progress=False, **options)
    seconds = best_of(lambda: learner.fit(*train), 1)[0]
    peak = kernel_mb("status")["VmHWM"]
    with TemporaryDirectory() as folder:
        learner.model_.save(path := Path(folder) / "model.safetensors")
        size = path.stat().st_size / 1e6
        assert tw.load(path).tag_batch(test[0][:50]) == learner.predict(test[0][:50])
    got, hmm = 100 * learner.score(*test), 100 * tw.HMM().fit(*train).score(*test)
    plain = tw.Perceptron(preset, epochs=learner.epochs, seed=0, progress=False)
    plain_seconds = best_of(lambda: plain.fit(*train), 1)[0]
    chosen = " ".join(f"{option}={value!r}" for option, value in options.items())
    peak_aim = f"under {most:,}: {'yes' if peak < most else 'no'}" if most else "-"
    figures = [f"{got:.2f}", *at_least(got, aim), papers, f"{100 * plain.score(*test):.2f}", f"{hmm:.2f}"]
    row = [name, preset, chosen, f"{len(learner.model_.labels):,}", *figures]
    return row, [name, f"{seconds:.1f}", f"{plain_seconds:.1f}", f"{peak:,.0f}", peak_aim, f"{size:,.1f}"]


def accuracy(run: Run) -> None:
    """Token accuracy of every preset, and what training takes."""
    found = []
    for task in TASKS:
        try:
            found.append(apart(trained, run, *task))
        except MissingError as missing:
            click.echo(f"{task[0]} left out: {missing}")
    on = "dev (chunk_conll2000: the last tenth of train)" if run.dev else "test"
    title = f"Token accuracy in percent on {on}, {2 if run.quick else 10} epochs, seed 0"
    header = ["corpus", "preset", "options", "labels", "accuracy", "aim", "reached", "papers", "plain", "HMM"]
    run.show("accuracy", title, header, [row for row, _ in found])
    header, rows = ["corpus", "fit s", "plain, s", "peak MB", "aim", "model file MB"], [row for _, row in found]
    run.show("training", "The same trainings; the peak counts the corpus", header, rows)


PUNCTUATION = frozenset("!\"#%&'()*,-./:;?@[\\]_{}")


def chunk_features(words: list[str]) -> list[list[str]]:
    """The features of the preset `chunk`, as one would write them for python-crfsuite."""
    padded = ["_B-2", "_B-1", *words, "_B+1", "_B+2"]
    made = []
    for t, word in enumerate(words):
        before2, before, _, after, after2 = padded[t : t + 5]
        own = [f"U00:{before2}", f"U01:{before}", f"U02:{word}", f"U03:{after}", f"U04:{after2}"]
        own += [f"U05:{before}/{word}", f"U06:{word}/{after}"]
        for n in range(1, min(4, len(word)) + 1):
            own += [f"U1{n}:{word[:n]}", f"U2{n}:{word[-n:]}"]
        digits, marks = sum(map(str.isdecimal, word)), sum(c in PUNCTUATION for c in word)
        numeric = digits and digits + sum(c in ".,-/:" for c in word) == len(word)
        own += [f"U30:{capitals(word)}", f"U31:{'all' if numeric else 'some' if digits else 'none'}"]
        own.append(f"U32:{'none' if not marks else 'all' if marks == len(word) else 'some'}")
        made.append(own)
    return made


def capitals(word: str) -> str:
    count = sum(map(str.isupper, word))
    if count and len(word) > 1 and not any(map(str.islower, word)):
        return "all"
    return "none" if not count else "first" if count == 1 and word[0].isupper() else "some"


def expanded(X: list[Any]) -> list[list[list[str]]]:
    """The same from our own templates, and checked that it is the same."""
    features = tw.Features("chunk")
    text = _core.Text.from_rows(X, features.columns)
    made = [[nodes for nodes, _ in features.core.expand(text, s)] for s in range(len(X))]
    for rows, own in zip(X, made, strict=True):
        assert own == chunk_features([row[0] for row in rows]), f"chunk_features is not what the preset is: {rows}"
    return made


def their_training(X: list[Any], y: list[list[str]], epochs: int, path: Path) -> None:
    trainer = pycrfsuite.Trainer(algorithm="averaged-perceptron", params={"max_iterations": epochs}, verbose=False)
    for features, labels in zip(X, y, strict=True):
        trainer.append(features, labels)
    trainer.train(str(path))


def their_file(model: Path, source: Path, target: Path) -> None:
    """Open the model, read columns, make features, tag, write columns: what a short script does."""
    tagger = pycrfsuite.Tagger()
    tagger.open(str(model))
    with open(source, encoding="utf-8") as file, open(target, "w", encoding="utf-8") as out:
        for block in file.read().strip("\n").split("\n\n"):
            lines = block.split("\n")
            labels = tagger.tag(chunk_features([line.split("\t", 1)[0] for line in lines]))
            out.writelines(f"{line}\t{label}\n" for line, label in zip(lines, labels, strict=True))
            out.write("\n")


def compare(what: str, theirs: float, ours: float, aim: float | None = None) -> list[str]:
    return [what, f"{theirs:.3f}", f"{ours:.3f}", f"{theirs / ours:.1f}", *at_least(theirs / ours, aim)]


def tagging(learner: tw.Perceptron, place: Path, test: list[Any], gold: list[list[str]], best: Any) -> list[list[str]]:
    """Tagging where features are there already."""
    tagger = pycrfsuite.Tagger()
    tagger.open(str(place / "model.crfsuite"))
    theirs, their_labels = best(lambda: [tagger.tag(features) for features in test])
    ours, labels = best(lambda: learner.predict(test))
    alone, _ = best(lambda: [learner.predict([features]) for features in test])
    return [
        compare("tagging, features given, s", theirs, ours, 20),
        compare("  ours a sentence a call, s", theirs, alone),
        ["  accuracy, %", f"{share(their_labels, gold):.2f}", f"{share(labels, gold):.2f}", "-", "-", "-"],
    ]


def file_to_file(place: Path, best: Any) -> list[list[str]]:
    """Tagging a column file to a column file; all must have the same lines, and ours the same labels."""
    source, outs = place / "test.txt", [place / name for name in ("theirs.txt", "process.txt", "inside.txt")]
    arguments = ["-m", str(place / "model.safetensors"), str(source), "-o"]
    theirs, _ = best(lambda: their_file(place / "model.crfsuite", source, outs[0]))
    process, _ = best(lambda: subprocess.run([*COMMAND, *arguments, str(outs[1])], check=True))
    inside, _ = best(lambda: command_line(["tag", *arguments, str(outs[2])]))
    assert len({path.read_bytes().count(b"\n") for path in [source, *outs]}) == 1, "lines were lost"
    assert outs[1].read_bytes() == outs[2].read_bytes()
    scores = [share(y, [[row[-1] for row in rows] for rows in X]) for X, y in map(tw.read, outs)]
    return [
        compare("file to file, s", theirs, inside, 15),
        compare("  ours a new process, s", theirs, process),
        ["  accuracy, %", f"{scores[0]:.2f}", f"{scores[1]:.2f}", "-", "-", "-"],
    ]


def crfsuite(run: Run) -> None:
    """python-crfsuite's averaged perceptron and ours, on the same feature strings.

    Training, once: theirs is append of all and train, which also writes the model; ours is fit. They give weights to
    the pairs of feature and label that the corpus has, we to all that an update touches (our default). File to file:
    open the model, read, make features, tag, write, both in this process; and ours as a new process, with Python's
    start and our imports, against theirs without.
    """
    if pycrfsuite is None:
        raise MissingError("python-crfsuite is not installed (pip install python-crfsuite)")
    X, y = run.read("chunk_conll2000", "train", 500)
    X_test, y_test = run.read("chunk_conll2000", "test")
    train, test = expanded(X), expanded(X_test)
    learner = tw.Perceptron(features=None, epochs=1 if run.quick else 10, progress=False)
    best = partial(best_of, repeats=2 if run.quick else 5, seconds=60)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        ours, _ = best_of(lambda: learner.fit(train, y), 1)
        theirs, _ = best_of(lambda: their_training(train, y, learner.epochs, place / "model.crfsuite"), 1)
        rows = [compare(f"training, epochs: {learner.epochs}, s", theirs, ours, 10)]
        rows += tagging(learner, place, test, y_test, best)
        # Our features have the names that the templates give them, so the same weights are a model for text.
        own = learner.model_
        tw.Model(own.labels, tw.Features("chunk"), own.arrays, {}).save(place / "model.safetensors")
        with lzma.open(run.data / "chunk_conll2000" / "test.txt.xz") as file:
            (place / "test.txt").write_bytes(file.read())
        rows += file_to_file(place, best)
    assert rows[3] == rows[-1], "from text there are other labels than from features"
    title = f"chunk_conll2000: {len(X):,} sentences to train on, {len(test):,} to tag"
    run.show("crfsuite", title, ["figure", "python-crfsuite", "tagwright", "ratio", "aim", "reached"], rows)


def train_by_each(run: Run, title: str, X: list[Any], y: list[list[str]]) -> None:
    """Train with three decoders and compare time and weights with the first one's."""
    rows, fits = [], []
    for decoder, dense in (("viterbi", True), ("staggered", None), ("auto", None)):
        learner = tw.Perceptron("supertag", epochs=1, decoder=decoder, dense_edges=dense, progress=False)
        fits.append((best_of(partial(learner.fit, X, y), 1)[0], learner.history_[0]["seconds"], learner.model_.arrays))
        (base, base_epoch, its), (seconds, epoch, own) = fits[0], fits[-1]
        same = own.keys() == its.keys() and all(own[key].tobytes() == its[key].tobytes() for key in own)
        row = [decoder + " (dense)" * bool(dense), f"{seconds:.2f}", f"{base / seconds:.1f}"]
        row += at_least(base / seconds, 20 if decoder == "staggered" else None)
        rows.append([*row, f"{epoch:.2f}", f"{base_epoch / epoch:.1f}", "yes" if same else "NO"])
    header = ["decoder", "fit s", "ratio", "aim", "reached", "epoch s", "ratio", "weights equal"]
    labels = len(learner.model_.labels)
    run.show(f"decoders_{labels}_labels", f"{title}: {labels:,} labels", header, rows)


def decoders(run: Run) -> None:
    """Training with dense Viterbi and with the iterative decoder; the same weights, bit for bit."""
    X, y = run.read("supertag_erg", "train")
    most = 100 if run.quick else 2000
    every = sorted({label for labels in y for label in labels})
    title = f"supertag_erg, {most:,} sentences, one epoch"
    train_by_each(run, f"{title}; only the labels they have", X[:most], y[:most])
    title += f"; then one of {len(every):,} tokens 'x', every label of the corpus once"
    train_by_each(run, title, [*X[:most], [["x"] * len(X[0][0])] * len(every)], [*y[:most], every])


def write_large(path: Path, names: int, L: int = 3000) -> None:
    """A model of random weights, three a feature."""
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
    """Sums over two processes with the same model: RSS, which counts shared memory twice, and PSS, which does not."""
    code = "import sys, tagwright as tw; m = tw.load(sys.argv[1]); print(m.tag(['A']), flush=True); sys.stdin.read()"
    call = [sys.executable, "-c", code, str(path)]
    both = [subprocess.Popen(call, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
    assert all(process.stdout and process.stdout.readline() for process in both), "a process did not start"
    sizes = [kernel_mb("smaps_rollup", str(process.pid)) for process in both]
    for process in both:
        process.communicate()
    return sum(size["Rss"] for size in sizes), sum(size["Pss"] for size in sizes)


def startup(run: Run) -> None:
    """Opening a large model, sharing it, and tagging one sentence from the shell."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "large.safetensors"
        apart(write_large, path, 200_000 if run.quick else 4_000_000)
        rows = [["size of a synthetic model, MB", f"{path.stat().st_size / 1e6:,.0f}"]]
        rss, pss = two_processes(path)
        seconds, _ = best_of(lambda: tw.load(path), 7, 30)
    rows.append(["tw.load of it, the file in the page cache, ms", f"{1e3 * seconds:,.1f}"])
    rows.append(["two processes that have it open, sum of RSS, MB", f"{rss:,.0f}"])
    rows.append(["  sum of PSS: what they take together, MB", f"{pss:,.0f}"])
    echo = partial(subprocess.run, COMMAND, input=SENTENCES[0], capture_output=True, text=True, check=True)
    seconds, said = best_of(echo, 3 if run.quick else 10, 20)
    assert len(said.stdout.split()) == 2 * len(SENTENCES[0].split()), said
    rows.append(['echo "..." | tagwright tag, ms', f"{1e3 * seconds:,.0f}"])
    run.show("startup", "No aims were set", ["figure", "measured"], rows)


def write_tokens(path: Path, tokens: int, pool: list[list[str]]) -> int:
    """Sentences drawn at random, every tenth word a new one, so that what is kept of words would be seen to grow."""
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


def streaming(run: Run) -> None:
    """A long file and a tenth of it, tagged by the command line, English model, in a process of its own."""
    try:
        pool = [[row[0] for row in rows] for rows in run.read("pos_ewt", "test")[0]]
    except MissingError as missing:
        click.echo(f"{missing}; the sentences of `tagwright demo` are taken instead")
        pool = [sentence.split() for sentence in SENTENCES]
    rows = []
    with TemporaryDirectory() as folder:
        source, target = Path(folder) / "long.txt", Path(folder) / "tagged.txt"
        for wanted in (run.tokens // 10, run.tokens):
            tokens = write_tokens(source, wanted, pool)
            seconds, peak = apart(tag_file, source, target)
            assert source.read_bytes().count(b"\n") == target.read_bytes().count(b"\n"), "lines were lost"
            rows.append([f"{tokens:,}", f"{seconds:.2f}", f"{tokens / seconds:,.0f}", f"{peak:,.0f}"])
    run.show("streaming", "Aim: the peak does not grow with the file", ["tokens", "s", "tokens/s", "peak MB"], rows)


PARTS = {part.__name__: part for part in (accuracy, crfsuite, decoders, startup, streaming)}
FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.option("--quick", is_flag=True, help="Few sentences, few epochs: to see that all runs.")
@click.option("--only", type=click.Choice(list(PARTS)), multiple=True, help="This part; may be given several times.")
@click.option("--data", type=FOLDER, envvar="TAGWRIGHT_DATA", default=ROOT.parent / "shared" / "data", help="Corpora.")
@click.option("--dev", is_flag=True, help="accuracy: measure on dev, not on test.")
@click.option("--tokens", type=click.IntRange(1000), help="streaming: in the file; 1,000,000, quick 50,000.")
@click.option("--csv", "folder", type=FOLDER, help="Write the tables here too.")
def main(quick: bool, only: tuple[str, ...], data: Path, dev: bool, tokens: int | None, folder: Path | None) -> None:
    """Measure the tagger, part by part, and show what was aimed at beside it."""
    run = Run(quick, dev, tokens or (50_000 if quick else 1_000_000), data, folder)
    for name in only or PARTS:
        click.echo(f"\n{name}: {inspect.getdoc(PARTS[name])}" + "\n(quick: not to be held against the aims)" * quick)
        try:
            PARTS[name](run)
        except MissingError as missing:
            click.echo(f"left out: {missing}")


if __name__ == "__main__":
    main()
