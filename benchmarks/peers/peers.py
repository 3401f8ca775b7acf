"""Comparison with other packages: decoding of the same scores, training on the same features, and the memory it takes.

Every measurement is a process of its own, with one thread, a limit of time and one of address space. "over the limit",
"out of memory" and "does not have it" are results. A package that exceeded a limit is not tried with more labels.

Peers are what pip installs and what can be given scores. Left out are

- torbi: has binaries for PyTorch up to 2.11 only, and takes exponentials of scores in single precision;
- kaldifst, hfst, openfst: the algorithm is that of OpenFst, which pynini has;
- sklearn-crfsuite: python-crfsuite under another interface;
- nltk: its HMM and CRF taggers work in pure Python and on symbols, and take no scores;
- allennlp-light: wants old versions of what others here need; TorchCRF: the same loops as pytorch-crf;
- CRF++, Mallet, k2: nothing that pip installs for this Python.
"""

from __future__ import annotations

import itertools
from functools import cache, cached_property, partial
from typing import Any, NamedTuple

import numpy as np

import tagwright as tw
from benchmarks.frame import data, plots
from benchmarks.frame.bench import Bench, MissingError, Rows
from benchmarks.frame.speeds import best_scores, digits
from benchmarks.frame.timing import limited
from benchmarks.peers.adapters import DECODERS, LIMIT, US, timed
from benchmarks.peers.packages import HERE, Package, Paths
from benchmarks.peers.trainers import CRF, EM, PERCEPTRON, TRAINERS, Set, run_trainer

CORPORA = {"pos_ewt": 49, "chunk_conll2000": 319, "slots_hwu64": 719, "morph_lv_lvtb": 1705, "supertag_erg": 3282}
"""Corpora and how many labels they have; without them, synthetic lattices with this number of labels are used."""
LENGTH = 16  # tokens of sentences that are made
TRAINED_ON, TESTED_ON = 1000, 200  # sentences
MEGABYTES = 8192
CLOSE = 3.0  # times as fast; what is less is measured again
NOT_THERE, NOT_RUN = "does not have it", "(not run)"
Row = dict[str, Any]


class Limits(NamedTuple):
    """How much a measurement may take."""

    sentences: int
    decoding: float  # seconds, after which no other sentence is begun
    process: float  # seconds, after which the process is ended, when it decodes
    training: float  # the same, when it trains


def limits(bench: Bench) -> Limits:
    return Limits(8, 0.1, 12, 12) if bench.quick else Limits(32, 0.5, 60, 30)


def bounds(seconds: float) -> str:
    return f"Limits: {seconds:.0f} s and {MEGABYTES:,} MB of address space for a process, imports included."


def corpora(bench: Bench) -> dict[str, int]:
    return dict(itertools.islice(CORPORA.items(), 2 if bench.quick else None))


def attempt(bench: Bench, name: str, package: Package, before: Row | None, work: Any) -> Row:
    """Return what a step of this name returns, or why it was not begun; before: its result with fewer labels."""
    if package.missing:
        return {"problem": package.missing}
    if before and before["problem"]:
        problem = before["problem"]
        return {"problem": problem if problem.endswith(NOT_RUN) else f"{problem} {NOT_RUN}"}
    if bench.quick and package != HERE and before and before["process_s"] > 1.5:
        return {"problem": f"quick {NOT_RUN}"}  # mostly imports, which are known to work
    return bench.step(name, work)


def within(seconds: float, work: Any, *arguments: Any) -> Row:
    """Return the outcome of work in a process with limits, and what `work` returns where there was no problem."""
    outcome = limited(work, *arguments, seconds=seconds, megabytes=MEGABYTES)
    facts = {"problem": outcome.problem, "process_s": outcome.seconds, "peak_mb": outcome.peak_mb}
    return facts | ({} if outcome.problem else outcome.value)


# --- decoding ---


class Sentences:
    """Lattices of one size, read or made when they are first needed."""

    def __init__(self, bench: Bench, corpus: str, labels: int) -> None:
        """Take the lattices of a model, or, without the corpus, made ones that are like a model's."""
        self.bench, self.corpus, self.labels = bench, corpus, labels
        try:
            self.name = bench.path(corpus, "train").parent.name
        except MissingError:
            self.name = f"model-like scores, {labels} labels"
        self.truth = cache(lambda k: best_scores(self.lattices, k))

    @cached_property
    def lattices(self) -> data.Lattices:
        """Return the lattices, first sentences whose lengths are near the median: slow decoders see only these."""
        if self.name != self.corpus:
            return data.model_like(self.labels, limits(self.bench).sentences, LENGTH)
        found = data.lattices(self.bench, self.corpus)
        lengths = np.array([len(own) for own in found.nodes])
        order = np.argsort(np.abs(lengths - np.median(lengths[lengths > 1])) + 1e9 * (lengths < 2), kind="stable")
        return found.only(order[: limits(self.bench).sentences].tolist())

    def about(self) -> Row:
        tokens = [len(own) for own in self.lattices.nodes]
        return {"labels": self.lattices.L, "sentences": len(tokens), "tokens": sum(tokens)}

    def decoded(self, peer: str, k: int) -> Row:
        """Return what `timed` returns, and how many answers are equal to ours, which are exact."""
        own, most = self.lattices, limits(self.bench)
        row = within(most.process, timed, peer, own.nodes, own.scores, k, most.decoding)
        found = row.pop("found", [])
        checked = zip(own.nodes, found, self.truth(k), strict=False)
        row["equal"] = sum(self.same(nodes, paths, right) for nodes, paths, right in checked if paths)
        return row

    def by_turns(self, peers: list[str], k: int) -> list[float]:
        """Return microseconds per token of each, the median of processes that take turns."""
        turns = range(3 if self.bench.quick else 7)
        runs = [[self.decoded(peer, k)["us_per_token"] for peer in peers] for _ in turns]
        return [float(value) for value in np.median(runs, axis=0)]

    def same(self, nodes: np.ndarray, paths: Paths, right: list[float]) -> bool:
        """Return whether these are k best paths, up to the rounding of sums in single precision."""
        edges = self.lattices.dense
        scores = sorted((tw.score(nodes, edges, path) for path in paths), reverse=True)
        path = np.asarray(paths[0])
        size = np.abs(nodes[np.arange(len(path)), path]).sum()
        size += np.abs(self.lattices.scores[path[:-1], path[1:]]).sum()
        # Each of 2 T additions rounds, on the best path and on the one that was found.
        rounding = 4 * len(path) * np.finfo(np.float32).eps / 2 * size
        different = len({tuple(path) for path in paths}) == len(paths) == len(right)
        return different and bool(np.abs(np.subtract(scores, right)).max() <= rounding)


def cell(row: Row, text: str) -> str:
    """Return the problem, or the row in the given form."""
    return row["problem"] or text.format(**row)


def decoding(bench: Bench) -> None:
    """The same scores decoded by every package and by our decoders, k = 1 and k = 5; answers are compared.

    Time is what a caller waits for, from scores in the form that a package takes to labels; one sentence per call,
    unless a row states otherwise. What is done once is not counted: models, tensors, compiling. python-crfsuite and
    Wapiti look up their scores in a model, where each token has a feature of its own, and this counts. HMM packages get
    rows that sum to 1, what they were divided by moved into the node scores. Finite-state packages get each sentence's
    lattice, made by NumPy as a file in memory, which counts: it takes half the time of composing it with an automaton.
    """
    sets = [Sentences(bench, corpus, labels) for corpus, labels in corpora(bench).items()]
    abouts = [bench.step(f"{own.name}, size", own.about) for own in sets]
    for k in (1, 5):
        found: dict[str, list[Row]] = {peer.name: [] for peer in DECODERS}
        runs = [(own, peer) for own in sets for peer in DECODERS]
        for own, peer in bench.bar(runs, f"k = {k}"):
            rows = found[peer.name]
            if k > 1 and not peer.kbest:
                rows.append({"problem": NOT_THERE})
                continue
            name = f"{own.name}, k = {k}, {peer.name}"
            before = rows[-1] if rows else None
            rows.append(attempt(bench, name, peer.package, before, partial(own.decoded, peer.name, k)))
        show(bench, k, sets, abouts, found)


def show(bench: Bench, k: int, sets: list[Sentences], abouts: list[Row], found: dict[str, list[Row]]) -> None:
    """Make the tables and the figure of one k, and claim what they show."""
    header = ["", *(f"{about['labels']:,} labels" for about in abouts)]
    size = "; ".join(f"{about['labels']:,}: {about['sentences']} of {about['tokens']}" for about in abouts)

    def table(name: str, title: str, text: str, note: str = "") -> None:
        rows: Rows = []
        for peer, own in found.items():
            if peer == LIMIT and name == "answers":
                continue
            shown = [row if row["problem"] else {**row, "us": digits(row["us_per_token"])} for row in own]
            rows.append([peer, *(cell(row, text) for row in shown)])
        bench.table(f"{name}_k{k}", title, header, rows, note)

    note = f"{bounds(limits(bench).process)} Labels: total tokens of the sentences: {size}."
    table("speed", f"Microseconds per token, k = {k}", "{us}", note)
    title = f"Answers equal to exact ones, k = {k}; seconds to prepare"
    table("answers", title, "{equal} of {sentences}; {prepare_s:.1f} s")
    note = "Python, the scores and whatever a package imports are in it; the first row has little else."
    table("memory", f"Peak of memory in MB, k = {k}", "{peak_mb:,.0f}", note)
    draw(bench, k, abouts, found, compare(bench, k, sets, abouts, found))


def is_peer(name: str) -> bool:
    return name != LIMIT and not name.startswith(US)


def lines(k: int, found: dict[str, list[Row]]) -> dict[str, tuple[str, str]]:
    """Return what is drawn, eight decoders at most, by its name in the table: what it is called, and its kind."""

    def rank(name: str) -> tuple[int, float]:
        times = [row["us_per_token"] for row in found[name] if not row["problem"]]
        return -len(times), float(np.mean(np.log(times)))

    best, every = ("staggered", "viterbi") if k == 1 else ("iterative_viterbi_astar", "viterbi_astar")
    named = {f"{US} auto": ("tagwright auto", "ours")}
    named[f"{US} {best}"] = f"iterative Viterbi{' A*' * (k > 1)} (papers' best)", "ours"
    named[f"{US} {every}"] = f"Viterbi{' A*' * (k > 1)}, all edges", "ours"
    peers = [name for name in filter(is_peer, found) if not all(row["problem"] for row in found[name])]
    named |= {name: (name, "other") for name in sorted(peers, key=rank)[:4]}
    return named | {LIMIT: ("limit: scores read once", "limit")}


def tokens_per_second(row: Row) -> str:
    """Return tokens per second with three digits, then zeros."""
    return f"{float(format(1e6 / row['us_per_token'], '.3g')):,.10g}"


def draw(bench: Bench, k: int, abouts: list[Row], found: dict[str, list[Row]], ratios: list[str]) -> None:
    """Draw tokens per second by number of labels, and make the table of what is drawn."""
    curves, rows = [], []
    for name, (label, kind) in lines(k, found).items():
        rated = zip(abouts, found[name], strict=True)
        points = [(about["labels"], 1e6 / row["us_per_token"]) for about, row in rated if not row["problem"]]
        curves.append(plots.Curve(label, *zip(*points, strict=True), kind=kind))
        cells = [row["problem"] or tokens_per_second(row) for row in found[name]]
        rows.append([label, *cells])
    header = ["", *(f"{about['labels']:,} labels" for about in abouts)]
    rows.append(["auto against the fastest peer", *ratios])
    what = "one path" if k == 1 else f"{k} best paths"
    bench.table(f"lines_k{k}", f"Tokens per second, {what}", header, rows)
    title = f"Exact decoding, {what}, one thread"
    bench.figure(f"speed_k{k}", title, curves, "number of labels", "tokens per second", scales="log-log")


def compare(bench: Bench, k: int, sets: list[Sentences], abouts: list[Row], found: dict[str, list[Row]]) -> list[str]:
    """Claim that we are faster than all, and that the others' answers are ours; return how many times faster we are.

    A process is measured while others may be at work. Where times are close, both are measured again, by turns.
    """
    others, auto, speedups = list(filter(is_peer, found)), f"{US} auto", []
    for q, about in enumerate(abouts):
        ours = found[auto][q]
        times = {name: found[name][q]["us_per_token"] for name in others if not found[name][q]["problem"]}
        if ours["problem"] or not times:
            speedups.append("-")
            continue
        peer = min(times, key=lambda name: times[name])
        theirs, own = times[peer], ours["us_per_token"]
        if theirs < CLOSE * own:
            name = f"{sets[q].name}, k = {k}, {peer} and auto by turns"
            theirs, own = bench.step(name, partial(sets[q].by_turns, [peer, auto], k))
        ratio = f"{digits(theirs / own)} times as fast"
        what, against = "auto against the fastest peer", "faster than every peer"
        where = f"{about['labels']:,} labels, k = {k}"
        bench.claim(what, where, f"{ratio} as {peer}", against, theirs > own)
        speedups.append(ratio)
    rows = [row for name in others for row in found[name] if not row["problem"]]
    equal, of = (sum(row[key] for row in rows) for key in ("equal", "sentences"))
    bench.claim("peers' answers equal ours", f"k = {k}", f"{equal:,} of {of:,}", "all", equal == of)
    return speedups


# --- training ---


class Trainings:
    """A corpus to train on, read when it is first needed."""

    def __init__(self, bench: Bench, corpus: str) -> None:
        """Raise MissingError where the corpus is missing."""
        self.bench, self.corpus = bench, corpus
        bench.path(corpus, "train")

    @cached_property
    def set(self) -> Set:
        X, y = data.covering(*self.bench.read(self.corpus, "train", 100), TRAINED_ON)
        L, preset = len({label for labels in y for label in labels}), data.PRESETS[self.corpus]
        features = tw.Features(preset, data.gazetteer(X, y) if preset == "query" else None)
        words = [[row[0] for row in rows] for rows in X if len(rows) > 1]  # pomegranate fails where no edge is
        # Baum-Welch starts at random, every word with every label: as many tokens as that takes seconds for.
        most = (3e5 if self.bench.quick else 3e9) / L**2
        few = max(2, int(np.searchsorted(np.cumsum([len(own) for own in words]), most)))
        test = None
        if L < 400:
            X_test, y_test = self.bench.read(self.corpus, "test", 20)
            test = data.expanded(features, X_test[:TESTED_ON]), y_test[:TESTED_ON]
        return Set(data.expanded(features, X), y, words[:few], L, test)

    def about(self) -> Row:
        own = self.set
        tokens = [sum(map(len, sentences)) for sentences in (own.y, own.words)]
        return {"labels": own.L, "sentences": len(own.y), "tokens": tokens[0], "words": tokens[1]}

    def trained(self, number: int) -> Row:
        return within(limits(self.bench).training, run_trainer, number, self.set)


def training(bench: Bench) -> None:
    """An epoch or iteration of training by every package, on the same features of the same sentences.

    Perceptrons: from feature strings to a model. L-BFGS: the best of the first iterations, reading not counted; of
    Wapiti the first one. pytorch-crf: an epoch of minibatches. Baum-Welch: the words alone, a random start where every
    word may have every label; fewer sentences where there are many labels. The limit of time holds for all that a
    process does: imports, and of L-BFGS three iterations and what comes before them.
    """
    sets = [Trainings(bench, corpus) for corpus in corpora(bench)]
    abouts = [bench.step(f"{own.corpus}, size", own.about) for own in sets]
    found: list[list[Row]] = [[] for _ in TRAINERS]
    for own, number in bench.bar(itertools.product(sets, range(len(TRAINERS))), "training"):
        trainer, rows = TRAINERS[number], found[number]
        name = f"{own.corpus}, {trainer.kind}, {trainer.name}"
        before = rows[-1] if rows else None
        rows.append(attempt(bench, name, trainer.package, before, partial(own.trained, number)))
    header = ["", *(f"{about['labels']:,} labels" for about in abouts)]
    short: Rows = []
    for kind, name in ((PERCEPTRON, "perceptron"), (CRF, "crf"), (EM, "baum_welch")):
        rows = [
            [trainer.name, *map(trained_cell, own)]
            for trainer, own in zip(TRAINERS, found, strict=True)
            if trainer.kind == kind
        ]
        counted = "words" if kind == EM else "tokens"
        size = "; ".join(f"{about['labels']:,} labels: {about[counted]:,}" for about in abouts)
        note = f"{bounds(limits(bench).training)} Tokens to train on, {size}. "
        note += "Memory is the peak, with the corpus; percent: right labels of test data."
        bench.table(name, f"{kind[0].upper()}{kind[1:]}", header, rows, note)
        short += claim_training(bench, kind, abouts, found)
    note = f"A dash: no other package finished within {limits(bench).training:.0f} s."
    bench.table("training", "Seconds of training, compared with the fastest other package", header, short, note)


def trained_cell(row: Row) -> str:
    known = "" if row.get("accuracy") is None else ", {accuracy:.1f} %"
    return cell(row, "{seconds:.2f} s, {peak_mb:,.0f} MB" + known)


def claim_training(bench: Bench, kind: str, abouts: list[Row], found: list[list[Row]]) -> Rows:
    """Claim that we are faster than all, at each size that a peer got to; return rows of the short table."""
    short = [[f"{kind}: tagwright"], ["the fastest peer"], ["times as fast"]]
    for q, about in enumerate(abouts):
        rows = [(trainer, own[q]) for trainer, own in zip(TRAINERS, found, strict=True) if trainer.kind == kind]
        ours = next(row for trainer, row in rows if trainer.package == HERE)
        others = [(trainer.name, row) for trainer, row in rows if trainer.package != HERE]
        theirs = {name: row["seconds"] for name, row in others if not row["problem"]}
        cells = [cell(ours, "{seconds:.2f}"), "-", "-"]
        if theirs and not ours["problem"]:
            peer = min(theirs, key=lambda name: theirs[name])
            ratio = theirs[peer] / ours["seconds"]
            what, where = f"{kind}, against the fastest peer", f"{about['labels']:,} labels"
            bench.claim(what, where, f"{digits(ratio)} times as fast as {peer}", "faster than every peer", ratio > 1)
            cells[1:] = f"{theirs[peer]:.2f} ({peer})", digits(ratio)
        for row, own in zip(short, cells, strict=True):
            row.append(own)
    return short


PARTS = {part.__name__: part for part in (decoding, training)}
