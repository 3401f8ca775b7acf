"""The command: python -m tests.fuzz [TARGET ...] [--seconds 60] [--seed 0] [--jobs 2]."""

import argparse
import faulthandler
import os
import sys

from tqdm import tqdm

from tagwright.table import table
from tests.fuzz import worker
from tests.fuzz.driver import ROOT, Driver
from tests.fuzz.worker import FINDINGS, GOOD, TARGETS

ABOUT = """Draws inputs from a seed, runs each in a child process, and exits with 1 if one of them crashes, hangs, ends
in an error that nobody expects, needs too much memory or gets a wrong answer. Such a case is written to a file, with
the command that runs it again. Targets: arrays (scores of all forms, answers compared with NumPy's), decoding and sums
(under all limits, compared with enumeration), learners (compared with plain versions of them and with SciPy), views (of
a model, compared with each other), models (damaged files with repaired digests), foreign (damaged model files of other
tools), objects (that play tricks), readers (files cut at every byte), texts (corpora, templates, word lists, options),
memory (over 10,000 calls of each function), forks (while threads are in native calls)."""


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=ABOUT)
    names = f"{', '.join(TARGETS)}, or a.module; by default all"
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=names)
    parser.add_argument("--seconds", type=float, default=60, help="for all targets together (60)")
    parser.add_argument("--inputs", type=int, default=sys.maxsize, help="end after so many of each target, too")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other inputs (0)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at once (one per core)")
    parser.add_argument("--patience", type=float, default=60, help="seconds after which an input hangs (60)")
    parser.add_argument("--memory", type=float, default=4, help="GB of address space; 0 for no limit (4)")
    parser.add_argument("--cases", default=ROOT / "build" / "fuzz", help="folder for what is found (build/fuzz)")
    parser.add_argument("--input", metavar="SEED:NUMBER", help="run one input of a target, or SEED:FIRST-LAST")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    for name in options.targets:
        if name not in TARGETS and "." not in name:
            parser.error(f"no target {name}; there are {', '.join(TARGETS)}")
    targets = options.targets or list(TARGETS)
    if options.worker:
        first, step = map(int, options.worker.split(":"))
        worker.work(targets[0], options.seed, first, step, options.inputs, options.seconds, options.memory)
        return 0
    if options.input:
        return again(targets[0], options)
    return fuzz(targets, options)


def again(name, options):
    """Run single inputs in this process, and say what they are."""
    worker.limit(options.memory)
    target = worker.load(name)
    faulthandler.dump_traceback_later(options.patience, exit=True)
    seed, _, numbers = options.input.partition(":")
    first, _, last = numbers.partition("-")
    found = 0
    for number in range(int(first), int(last or first) + 1):
        what, trace = worker.outcome(target, int(seed), number, None if last else show)
        found += what in FINDINGS
        if trace or not last:
            print(f"{number}: {what}\n{trace}", flush=True)
    return int(found > 0)


def show(text):
    print(text if len(text) < 4000 else f"{text[:4000]} ... ({len(text)} characters)", flush=True)


def fuzz(targets, options):
    """Run targets for a while, and print what came of it."""
    driver = Driver(targets, options.seed, options.jobs, options.patience, options.memory, options.cases)
    bar = tqdm(total=options.seconds, bar_format="{l_bar}{bar}| {postfix}", disable=not sys.stderr.isatty())
    last = 0.0

    def report(passed):
        nonlocal last
        inputs = sum(counts.total() for counts in driver.counts.values())
        bar.update(min(passed, options.seconds) - bar.n)
        bar.set_postfix_str(f"{inputs:,} inputs, {driver.findings()} findings")
        if bar.disable and passed - last >= 10:
            last = passed
            print(f"{passed:4.0f} s: {inputs:,} inputs, {driver.findings()} findings", file=sys.stderr, flush=True)

    driver.run(options.seconds, options.inputs, report)
    bar.close()
    kinds = GOOD + FINDINGS
    rows = [
        [target, counts.total(), round(driver.seconds[target]), *(counts[kind] for kind in kinds)]
        for target, counts in driver.counts.items()
    ]
    rows.append(["all", *(sum(column) for column in list(zip(*rows, strict=True))[1:])])
    plural = {"crash": "crashes", "hang": "hangs", "traceback": "tracebacks"}
    head = ["target", "inputs", "seconds", *(plural.get(kind, kind) for kind in kinds)]
    print(table(head, [[row[0], *(f"{number:,}" for number in row[1:])] for row in rows]))
    return int(driver.findings() > 0)


if __name__ == "__main__":
    sys.exit(main())
