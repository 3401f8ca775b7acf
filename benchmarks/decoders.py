"""Every decoder on real, synthetic and random lattices: checks, then times.

Run `python benchmarks/decoders.py` (or `make bench`); `--quick` takes a few sentences of each. One thread, best of
several, sentences one at a time unless a row says otherwise. Real lattices are looked for in ../shared/lattices (or
beside $TAGWRIGHT_DATA); without them the synthetic parts run. Writes a table to the terminal, a CSV and Markdown.
"""

from __future__ import annotations

import csv
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

import tagwright as tw
from tagwright import _core
from tagwright.demo import model_like
from tagwright.table import table

ROOT = Path(__file__).resolve().parents[1]
REAL = ["chunk_conll2000", "slots_hwu64", "morph_lv_lvtb", "supertag_erg"]
# Decoders that look at most of the matrix are timed on few sentences.
SLOW = {"carpediem", "astar:none", "astar:0", "astar:3", "astar:6", "astar:9", "iterative_astar"}
ONE_BEST = [
    "viterbi", "viterbi (batch of 32)", "viterbi (sparse edges)", "staggered", "staggered:all", "beam:1", "beam:8",
    "carpediem", "astar:none", "astar:0", "astar:3", "astar:6", "astar:9", "iterative_astar", "auto",
]  # fmt: skip
K_BEST = [
    "viterbi", "viterbi_astar", "viterbi_astar (sparse edges)", "iterative_viterbi_astar", "astar:6", "beam:5", "auto",
]  # fmt: skip


class LatticeSet(NamedTuple):
    """Sentences over one edge matrix."""

    name: str
    nodes: list[np.ndarray]
    scores: np.ndarray

    @property
    def tokens(self) -> int:
        return sum(map(len, self.nodes))


class Row(NamedTuple):
    """One measurement."""

    lattices: str
    labels: int
    k: int
    decoder: str
    sentences: int
    us_per_sentence: float
    ratio: float
    edges_per_token: float
    nodes_per_token: float
    rounds: float


def lattice_dir() -> Path:
    return Path(os.environ.get("TAGWRIGHT_DATA", ROOT.parent / "shared" / "data")).parent / "lattices"


def real(name: str, sentences: int) -> LatticeSet | None:
    path = lattice_dir() / f"{name}.npz"
    if not path.exists():
        return None
    with np.load(path) as stored:
        lengths = stored["lengths"][:sentences]
        nodes = np.split(stored["nodes"][: lengths.sum()], np.cumsum(lengths)[:-1])
        return LatticeSet(name, nodes, stored["edges"])


def hmm(L: int, sentences: int, seed: int = 0) -> LatticeSet:
    """Make an HMM as Pal et al. 2006 describe it in section 4.1, and sequences drawn from it.

    Transitions from a Dirichlet of 0.1; emissions of a state either sparse (10 symbols, 3 of 4 states) or nearly
    flat (Dirichlet of 1e4).
    """
    rng = np.random.default_rng(seed)
    symbols, T = max(L, 100), 25
    transition = rng.dirichlet(np.full(L, 0.1), size=L)
    emission = np.zeros((L, symbols))
    for state in emission:
        if rng.random() < 0.75:
            state[rng.choice(symbols, 10, replace=False)] = rng.dirichlet(np.ones(10))
        else:
            state[:] = rng.dirichlet(np.full(symbols, 1e4))
    with np.errstate(divide="ignore"):
        edges = np.log(transition).astype("f4")
        log_emission = np.log(emission).astype("f4")
    nodes = []
    for _ in range(sentences):
        state, seen = int(rng.integers(L)), []
        for _ in range(T):
            seen.append(rng.choice(symbols, p=emission[state]))
            state = int(rng.choice(L, p=transition[state]))
        nodes.append(np.ascontiguousarray(log_emission[:, seen].T))
    return LatticeSet(f"hmm_{L}", nodes, np.maximum(edges, np.float32(-60)))


def iid(L: int, sentences: int, seed: int = 0) -> LatticeSet:
    rng = np.random.default_rng(seed)
    nodes = [rng.normal(size=(25, L)).astype("f4") for _ in range(sentences)]
    return LatticeSet(f"random_{L}", nodes, rng.normal(size=(L, L)).astype("f4"))


def synthetic(L: int, sentences: int) -> LatticeSet:
    nodes, edges = model_like(25 * sentences, L)
    return LatticeSet(f"model_like_{L}", np.split(nodes, sentences), edges)


def best_of(run: Callable[[], Any], repeats: int, seconds: float = 4.0) -> tuple[float, Any]:
    """Best time of several, and the answer; a slow one is not run again and again."""
    best, began = float("inf"), time.perf_counter()
    for _ in range(repeats):
        start = time.perf_counter()
        answer = run()
        best = min(best, time.perf_counter() - start)
        if time.perf_counter() - began > seconds:
            break
    return best, answer


def measure(lattices: LatticeSet, names: list[str], k: int, repeats: int, most_labels_slow: int) -> Iterator[Row]:
    """Check every decoder against dense Viterbi (A*), then time it; ratios are to dense 1-best Viterbi."""
    L = len(lattices.scores)
    dense = tw.Edges(lattices.scores, sparse=False).prepare()
    sparse = tw.Edges(lattices.scores, sparse=True).prepare()
    few = max(2, min(len(lattices.nodes), int(3e8 / (L * L * 25))))  # dense sentences worth timing
    base, truth = best_of(lambda: [tw.decode(own, dense, decoder="viterbi") for own in lattices.nodes[:few]], repeats)
    base /= sum(map(len, lattices.nodes[:few]))
    if k > 1:
        truth = tw.decode_batch(lattices.nodes[:few], dense, k, "viterbi_astar")
    for name in names:
        decoder = name.split(" ")[0]
        if decoder in SLOW and most_labels_slow < L:
            continue
        if decoder == "viterbi" and k > 1 and most_labels_slow < L:
            continue
        edges = sparse if "sparse" in name else dense
        count = few if decoder in ("viterbi", "viterbi_astar") and edges is dense else len(lattices.nodes)
        nodes = lattices.nodes[: min(count, 5) if decoder in SLOW else count]
        nodes_once = nodes
        if "batch" in name:
            nodes = (nodes * 32)[:32]

            def run(nodes: list[np.ndarray] = nodes, edges: tw.Edges = edges) -> list[tw.Decoding]:
                return tw.decode_batch(nodes, edges, k, "viterbi")
        else:

            def run(
                nodes: list[np.ndarray] = nodes, edges: tw.Edges = edges, decoder: str = decoder
            ) -> list[tw.Decoding]:
                return [tw.decode(own, edges, k, decoder) for own in nodes]

        found = run()
        for q, a in enumerate(found[:32]):
            b = truth[q % len(nodes_once)] if q % len(nodes_once) < len(truth) else None
            if a.exact and b:
                np.testing.assert_allclose([p.score for p in a.paths], [p.score for p in b.paths], rtol=1e-9)
        seconds, _ = best_of(run, repeats)
        tokens = sum(map(len, nodes))
        yield Row(
            lattices.name, L, k, name, len(nodes), seconds / len(nodes) * 1e6, base * tokens / seconds,
            sum(f.work.edges for f in found) / tokens, sum(f.work.nodes for f in found) / tokens,
            float(np.mean([f.work.rounds for f in found])),
        )  # fmt: skip


def numpy_ratio(L: int, repeats: int) -> float:
    """How many times faster dense Viterbi is than the NumPy recursion, on the same float32 scores."""
    rng = np.random.default_rng(L)
    T = 20
    nodes, scores = rng.normal(size=(T, L)).astype("f4"), rng.normal(size=(L, L)).astype("f4")
    edges = tw.Edges(scores, sparse=False)

    def recursion() -> float:
        alpha = nodes[0]
        for column in nodes[1:]:
            alpha = (alpha[:, None] + scores).max(0) + column
        return float(alpha.max())

    theirs, value = best_of(recursion, repeats)
    ours, found = best_of(lambda: tw.decode(nodes, edges, decoder="viterbi"), 5 * repeats)
    np.testing.assert_allclose(found.paths[0].score, value, rtol=1e-5)
    return theirs / ours


def batch_ratio(L: int, repeats: int) -> float:
    """How many times faster a batch of 32 sentences is, per sentence, than one at a time."""
    rng = np.random.default_rng(L)
    nodes = [rng.normal(size=(10, L)).astype("f4") for _ in range(32)]
    edges = tw.Edges(rng.normal(size=(L, L)).astype("f4"), sparse=False)
    together, a = best_of(lambda: tw.decode_batch(nodes, edges, decoder="viterbi"), repeats, 20)
    alone, b = best_of(lambda: [tw.decode(own, edges, decoder="viterbi") for own in nodes], repeats, 20)
    assert [f.paths[0].score for f in a] == [f.paths[0].score for f in b]
    return alone / together


def import_seconds() -> float:
    code = "import time; t = time.perf_counter(); import tagwright; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    return min(float(ran.stdout) for ran in runs)


# What the project set out to reach: lattices, k, decoder, reference decoder and at least how many times faster.
AIMS = [
    *[(name, 1, "viterbi (sparse edges)", "viterbi", least) for name, least in zip(REAL, [2, 5, 10, 40], strict=True)],
    *[(name, 1, "staggered", "viterbi", least) for name, least in zip(REAL, [4, 10, 10, 100], strict=True)],
    *[(name, 5, "iterative_viterbi_astar", "viterbi_astar", 5) for name in REAL[1:]],
]
MOST_EDGES = dict(zip(REAL, [5000, 6000, 60000, 45000], strict=True))


def aims(rows: list[Row], repeats: int) -> list[list[str]]:
    """Compare what was measured with what was aimed at."""
    lines = []

    def add(what: str, aim: str, got: str, reached: bool) -> None:
        lines.append([what, aim, got, "yes" if reached else "no"])

    for L in (319, 1024, 3000):
        got = numpy_ratio(L, repeats)
        add(f"dense Viterbi against the NumPy recursion, L = {L}", "at least 8", f"{got:.1f}", got >= 8)
    got = batch_ratio(3000, repeats)
    add("a batch of 32 against one at a time, L = 3000", "at least 2", f"{got:.2f}", got >= 2)
    by = {(row.lattices, row.k, row.decoder): row for row in rows}
    for name, k, decoder, reference, least in AIMS:
        if (name, k, decoder) in by and (name, k, reference) in by:
            got = by[name, k, decoder].ratio / by[name, k, reference].ratio
            add(f"{decoder} against {reference}, k = {k}, {name}", f"at least {least}", f"{got:.1f}", got >= least)
    for name, most in MOST_EDGES.items():
        if (name, 1, "staggered") in by:
            edges = by[name, 1, "staggered"].edges_per_token
            add(f"staggered, edges per token, {name}", f"at most {most:,}", f"{edges:,.0f}", edges <= most)
    got = import_seconds()
    add("import tagwright, seconds", "under 0.3", f"{got:.2f}", got < 0.3)
    return lines


HEADER = ["lattices", "L", "k", "decoder", "us/sentence", "ratio", "edges/token", "nodes/token", "rounds"]


def cells(row: Row) -> list[str]:
    return [
        row.lattices, f"{row.labels}", f"{row.k}", row.decoder, f"{row.us_per_sentence:,.0f}", f"{row.ratio:.2f}",
        f"{row.edges_per_token:,.0f}", f"{row.nodes_per_token:,.0f}", f"{row.rounds:.1f}",
    ]  # fmt: skip


def markdown(header: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [header, ["---"] * len(header), *rows])


@click.command()
@click.option("--quick", is_flag=True, help="A few sentences of each set, fewer sizes.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=None, help="Where to write files.")
def main(quick: bool, out: Path | None) -> None:
    """Time every decoder on every set of lattices."""
    out = out or ROOT / "build" / "benchmarks"
    out.mkdir(parents=True, exist_ok=True)
    sentences, repeats = (20, 5) if quick else (150, 15)
    sets = [(name, lambda name=name: real(name, sentences)) for name in REAL]
    sizes = [45, 300] if quick else [45, 300, 1000, 3000]
    for make in (synthetic, hmm, iid):
        sets += [(f"{make.__name__}_{L}", lambda make=make, L=L: make(L, 8)) for L in sizes]
    rows: list[Row] = []
    for name, make in sets:
        lattices = make()
        if lattices is None:
            click.echo(f"{name}: {lattice_dir()} has no {name}.npz; skipped")
            continue
        slow = 3300 if name in REAL and not quick else 1100
        for k, names in ((1, ONE_BEST), (5, K_BEST)):
            made = []
            for row in measure(lattices, names, k, repeats, slow):
                made.append(row)
                if sys.stderr.isatty():
                    click.echo(f"\r{row.lattices} k={k} {row.decoder:40}", nl=False, err=True)
            rows += made
            if sys.stderr.isatty():
                click.echo("\r" + " " * 70 + "\r", nl=False, err=True)
            click.echo(f"\n{lattices.name}: {len(lattices.nodes)} sentences, {lattices.tokens:,} tokens, k = {k}")
            click.echo(table(["decoder", *HEADER[4:]], [cells(row)[3:] for row in made]))
    reached = aims(rows, repeats)
    click.echo("\n" + table(["figure", "aim", "measured", "reached"], reached))

    with open(out / "decoders.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(Row._fields)
        writer.writerows(rows)
    about = (
        f"{platform.machine()}, {_core.simd()} kernels, Python {platform.python_version()}, "
        f"NumPy {np.__version__}, tagwright {tw.__version__}"
    )
    parts = [f"Measured on {about}.", markdown(["figure", "aim", "measured", "reached"], reached)]
    for name in dict.fromkeys(row.lattices for row in rows):
        own = [cells(row) for row in rows if row.lattices == name]
        parts.append(f"### {name}, {own[0][1]} labels\n\n" + markdown(HEADER[2:], [row[2:] for row in own]))
    (out / "decoders.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    click.echo(f"\nwritten: {out / 'decoders.csv'}, {out / 'decoders.md'}")


if __name__ == "__main__":
    main()
