"""A run of benchmarks, which can be interrupted and continued, and its tables, claims and figures.

A module of benchmarks has PARTS, functions that take a `Bench`. A part measures in steps. What a step returns is kept
on disk, so that an interrupted run continues where it stopped, and a part makes its tables from what its steps
returned, now or before.
"""

from __future__ import annotations

import csv
import datetime
import io
import json
import os
import platform
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

import click
from tqdm import tqdm

import tagwright as tw
from benchmarks.frame import plots
from tagwright import _core
from tagwright.table import table as aligned

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "build" / "benchmarks"
DATA = ROOT.parent / "shared" / "data"
HOW_TO_GET = """\
  How to get it: corpora are column files, a folder each with train.txt.xz and test.txt.xz. They are looked for in
  ../shared/data, in $TAGWRIGHT_DATA or in --data, and lattices next to them. They are not part of tagwright, since
  their licences differ; docs/benchmarks.md lists them. What needs no data is measured nevertheless."""
PACKAGES = (
    "numpy", "scipy", "scikit-learn", "python-crfsuite", "libwapiti", "hmmlearn", "torch", "pytorch-crf",
    "torch-struct", "pomegranate", "dynamax", "librosa", "pynini", "rustfst-python", "nltk",
)  # fmt: skip

Corpus = tuple[list[Any], list[list[str]]]
Rows = list[list[str]]
T = TypeVar("T")


class MissingError(Exception):
    """Data or a package that a benchmark needs; the message names it and where to get it."""


class MissingDataError(MissingError):
    """A file that a part needs."""


class Bench:
    """A run: its options, where its results go, and which part is running."""

    def __init__(self, quick: bool, data: Path, out: Path, again: bool = False) -> None:
        """Results go to `out`; with `again`, steps that were measured before are measured once more."""
        self.quick, self.data, self.out, self.again = quick, data, out, again
        self.module, self.part = "", ""
        self._said: set[str] = set()  # what is missing
        self._used: list[dict[str, str]] = []  # where the steps of this part come from
        self._claims: list[dict[str, Any]] = []

    # --- parts and steps ---

    def run(self, module: str, part: Callable[[Bench], None]) -> bool:
        """Run a part of a module; return False where something that it needs is missing."""
        self.module, self.part = module, part.__name__
        self._used, self._claims = [], []
        quick = "\n(quick: to see that everything runs; not to be compared with papers or aims)" * self.quick
        self.say(f"\n=== {module} {self.part}: {(part.__doc__ or '').strip()}{quick}")
        try:
            part(self)
        except MissingError as missing:
            self.left_out(missing)
            return False
        if not self.quick:
            self._keep(f"tables/{module}/{self.part}.claims.json", self._claims)
        return True

    def step(self, name: str, work: Callable[[], T]) -> T:
        """Return what `work` returns, or returned when it was measured before; JSON in either case."""
        place = f"steps/{self.module}/{self.part}/{slug(name)}.json"
        path, about = self.out / place, {"name": name, "quick": self.quick}
        kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() and not self.again else {}
        if {key: kept.get(key) for key in about} != about:
            self._keep(place, about | {"date": today(), "commit": commit(), "value": work()})
            kept = json.loads(path.read_text(encoding="utf-8"))
        elif kept["commit"] != commit():
            self.say(f"  {name}: kept from {kept['commit']}, {kept['date']}; --again measures again")
        self._used.append({key: kept[key] for key in ("date", "commit")})
        return kept["value"]  # type: ignore[no-any-return]

    def steps(self, works: Mapping[str, Callable[[], T]]) -> dict[str, T]:
        """Run several steps, without those whose data are missing; MissingError where all are."""
        found, problem = {}, MissingError("nothing was requested")
        for name, work in works.items():
            try:
                found[name] = self.step(name, work)
            except MissingError as missing:
                problem = missing
                self.left_out(missing)
        if not found:
            raise problem
        return found

    def left_out(self, missing: MissingError) -> None:
        """Say what is missing, once; and, once, how to get data."""
        for text in (f"left out: {missing}", HOW_TO_GET)[: 1 + isinstance(missing, MissingDataError)]:
            if text not in self._said:
                self.say(text)
                self._said.add(text)

    def bar(self, items: Iterable[T], what: str) -> Iterator[T]:
        """Go through items under a progress bar, which only a terminal shows."""
        return iter(tqdm(list(items), desc=what, disable=None, leave=False))

    # --- what comes out ---

    def say(self, text: str) -> None:
        click.echo(text)

    def table(self, name: str, title: str, header: list[str], rows: Rows, note: str = "") -> None:
        """Print a table, and write it as CSV, as Markdown and for the report."""
        self.say(f"\n{title}\n\n{aligned(header, rows)}" + f"\n\n{note}" * bool(note))
        out = io.StringIO()
        csv.writer(out).writerows([header, *rows])
        base = f"tables/{self.module}/{slug(name)}"
        write(self.out / f"{base}.csv", out.getvalue())
        write(self.out / f"{base}.md", f"{title}\n\n{markdown(header, rows)}\n" + f"\n{note}\n" * bool(note))
        made = {"part": self.part, "title": title, "header": header, "rows": rows, "note": note, "steps": self._used}
        self._keep(f"{base}.json", made)

    def claim(self, what: str, where: str, measured: str, against: str, holds: bool, why: str = "") -> None:
        """Note a claim for a corpus, a size or the like; whether it holds, and why not. A quick run claims nothing."""
        if not self.quick:
            claim_ = {"what": what, "where": where, "measured": measured, "against": against}
            self._claims.append(claim_ | {"holds": bool(holds), "why": why})

    def figure(self, name: str, title: str, curves: list[plots.Curve], xlabel: str, ylabel: str, **style: Any) -> None:
        """Draw a figure where matplotlib is installed; `style` as of plots.draw."""
        if not plots.available():
            self.say("no figure: matplotlib is not installed (pip install matplotlib)")
            return
        path = self.out / "figures" / f"{self.module}_{slug(name)}.png"
        plots.draw(path, title, curves, xlabel, ylabel, **style)
        self.say(f"figure: {path}")

    def _keep(self, place: str, value: Any) -> None:
        write(self.out / place, json.dumps(value, indent=1))

    # --- what goes in ---

    def path(self, corpus: str, split: str) -> Path:
        path = self.data / corpus / f"{split}.txt.xz"
        if not path.exists():
            raise MissingDataError(f"{path} is not there")
        return path

    def read(self, corpus: str, split: str, few: int | None = None, label: str | None = None) -> Corpus:
        """Return sentences and labels of a corpus; in a quick run, the first few."""
        X, y = tw.read(self.path(corpus, split), **({} if label is None else {"label": label}))
        return (X[:few], y[:few]) if self.quick else (X, y)


def slug(name: str) -> str:
    """Return a name that a file may have."""
    return re.sub(r"[^\w.=-]+", "_", name).strip("_")


def write(path: Path, text: str) -> None:
    """Write to a temporary file and rename it, so that no file is ever half written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part_file = path.with_name(f".{path.name}.{os.getpid()}")
    part_file.write_text(text, encoding="utf-8")
    part_file.replace(path)


def markdown(header: list[str], rows: Rows, figures: bool = True) -> str:
    """Return a Markdown table, figures to the right; bars inside cells do not end them."""
    lines = [[cell.strip().replace("|", "\\|") for cell in row] for row in [header, *rows]]
    lines.insert(1, ["---", *["---:" if figures else "---"] * (len(header) - 1)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def today() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")


def commit() -> str:
    """Return the commit that is checked out, with a + where files differ from it; "unknown" without git."""
    try:
        call = ["git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--exclude=*"]
        return subprocess.run(call, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


NOT_INSTALLED = "not installed"


def about(before: Path) -> dict[str, str]:
    """Return machine and versions; of packages that are not installed, those that an earlier run had, if any."""
    processor = platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = next(line.split(": ", 1)[1] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass  # not Linux, or a processor without a name
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    found = {
        "machine": f"{processor}, {os.cpu_count()} cores, {memory:.0f} GB",
        "tagwright": f"{tw.__version__}, {_core.simd()} kernels",
        "Python": platform.python_version(),
    }
    had = json.loads(before.read_text(encoding="utf-8")) if before.exists() else {}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            found[package] = had.get(package, NOT_INSTALLED)
    return found
