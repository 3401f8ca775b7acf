"""Memory over 10,000 calls of each public function: what a call takes, it gives back."""

import os
import re
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import scipy.sparse

import tagwright as tw

EXPECTED = ()
CALLS = 10_000
MOST = 60
"""Bytes per call: far below the smallest object that a call could leave behind, above what measuring costs."""
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
RNG = np.random.default_rng(0)
NODES, MATRIX = RNG.normal(size=(4, 5)), RNG.normal(size=(5, 5))
LABELS = ["O", "B-X", "I-X", "B-Y", "I-Y"]
EDGES = tw.Edges(MATRIX)
NGRAMS = tw.Edges(MATRIX, ngrams=([[0, 1, 2], [1, 2, 2]], [1.0, -1.0]))
SETS = tw.Edges(MATRIX, corrections=([0, 1], [0, 1], [1, 2], [1.0, 2.0]))
SPARSE = scipy.sparse.csr_array(MATRIX * (MATRIX > 0))
X = [["the", "dog", "barks"], ["a", "cat"], ["the", "cat", "barks", "a"]]
Y = [["B-X", "I-X", "O"], ["B-Y", "I-Y"], ["B-X", "I-X", "O", "B-Y"]]
TEXT = "U:%x[0,0]\nB\n"
FEW = tw.LBFGS(l2=0.5, max_iterations=5)


@cache
def model(kind):
    warnings.simplefilter("ignore")
    match kind:
        case "perceptron":
            return tw.Perceptron(TEXT, epochs=1).fit(X, Y).model_
        case "crf":
            return tw.CRF(TEXT, solver=FEW).fit(X, Y).model_
        case "order 2":
            return tw.CRF(TEXT, order=2, epochs=1).fit(X, Y).model_
        case "hmm":
            return tw.HMM().fit(X, Y).model_
        case "memm":
            return tw.MEMM(TEXT.replace("B\n", "UY:%y[-1]\n"), solver=FEW).fit(X, Y).model_
        case "bidirectional":
            return tw.Bidirectional(model("crf"), model("perceptron")).fit().model_


@cache
def learner(kind):
    made = tw.Perceptron(TEXT, epochs=1) if kind == "perceptron" else tw.CRF(TEXT, epochs=1)
    return made.fit(X, Y)


def new_rules():
    return tw.Constraints(LABELS, "BIO", forbid=[("O", "B-Y")])


def padded():
    return np.stack([NODES, NODES])


def refused(call):
    """A call that is refused gives its memory back as well."""
    try:
        call()
    except ValueError:
        return
    raise AssertionError("this is refused")


@cache
def saved():
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"memory-{os.getpid()}.safetensors"
    model("crf").save(path)
    return path


FUNCTIONS = {
    "decode": lambda: tw.decode(NODES, EDGES, 3),
    "decode a matrix": lambda: tw.decode(NODES, MATRIX),
    "decode a sparse matrix": lambda: tw.decode(NODES, SPARSE),
    "decode n-grams": lambda: tw.decode(NODES, NGRAMS, 3),
    "decode sets": lambda: tw.decode(NODES, SETS, active=[[0], [], [0, 1]]),
    "decode, new constraints": lambda: tw.decode(NODES, EDGES, constraints=new_rules()),
    "decode, allowed": lambda: tw.decode(NODES, EDGES, allowed=[[0, 1], None, [2], None]),
    "decode, every decoder": lambda: [tw.decode(NODES, EDGES, 1, row.name) for row in tw.decoders()],
    "decode, refused": lambda: refused(lambda: tw.decode(NODES * np.nan, EDGES)),
    "decode_batch": lambda: tw.decode_batch([NODES, NODES[:2]], EDGES, 2, threads=2),
    "decode_arrays": lambda: tw.decode_arrays(padded(), EDGES, 2),
    "paths": lambda: next(tw.paths(NODES, EDGES)),
    "score": lambda: tw.score(NODES, EDGES, [0, 1, 2, 3]),
    "marginals": lambda: tw.marginals(NODES, EDGES, with_edges=True),
    "marginals, new constraints": lambda: tw.marginals(NODES, EDGES, constraints=new_rules()),
    "marginals, pruned": lambda: tw.marginals(NODES, EDGES, tw.KeepSize(2)),
    "marginals_batch": lambda: tw.marginals_batch(padded(), EDGES, edge_counts="sum"),
    "sample": lambda: tw.sample(NODES, EDGES, 3),
    "spans": lambda: tw.spans(NODES, EDGES, LABELS, 3),
    "Edges": lambda: tw.Edges(MATRIX, start=MATRIX[0], stop=MATRIX[1]),
    "Edges.from_exceptions": lambda: tw.Edges.from_exceptions(5, 0.0, [0, 1], [1, 2], [1.0, 2.0]).prepare(),
    "Constraints": lambda: new_rules() & new_rules(),
    "tokenize": lambda: tw.tokenize("The dog's bone, etc."),
    "evaluate": lambda: tw.evaluate(Y, Y),
    "load": lambda: tw.load(saved()).tag(X[0]),
    "fit": lambda: tw.Perceptron(TEXT, epochs=1).fit(X, Y),
    "partial_fit of a perceptron": lambda: learner("perceptron").partial_fit(X, Y),
    "partial_fit of a CRF": lambda: learner("crf").partial_fit(X, Y),
}
SLOW = {"load": 2000, "fit": 1000, "evaluate": 2000, "partial_fit of a perceptron": 3000, "partial_fit of a CRF": 2000}
"""Fewer calls of what takes milliseconds."""
for kind in ("perceptron", "crf", "order 2", "hmm", "memm", "bidirectional"):
    FUNCTIONS |= {
        f"{kind}: tag": lambda k=kind: model(k).tag(X[2]),
        f"{kind}: tag, scheme": lambda k=kind: model(k).tag(X[2], constraints="BIO"),
        f"{kind}: tag, new constraints": lambda k=kind: model(k).tag(
            X[2], constraints=tw.Constraints(model(k).labels, "BIO")
        ),
        f"{kind}: tag_batch": lambda k=kind: model(k).tag_batch(X, threads=2),
        f"{kind}: tag_kbest": lambda k=kind: model(k).tag_kbest(X, 2),
    }
    if kind not in ("memm", "bidirectional"):
        FUNCTIONS[f"{kind}: lattice"] = lambda k=kind: model(k).lattice(X[0], constraints="BIO").decode()
        FUNCTIONS[f"{kind}: explain"] = lambda k=kind: model(k).explain(X[0], 1)
    if kind in ("crf", "order 2", "hmm"):
        FUNCTIONS[f"{kind}: marginals"] = lambda k=kind: model(k).marginals(X)
        FUNCTIONS[f"{kind}: sample"] = lambda k=kind: model(k).sample(X[0], 2)
for name in FUNCTIONS:
    if "explain" in name or "bidirectional" in name or "every decoder" in name or "new constraints" in name:
        SLOW[name] = 3000


def resident():
    """Bytes of this process."""
    return 1024 * int(re.search(r"VmRSS:\s+(\d+) kB", Path("/proc/self/status").read_text())[1])


def attempt(draw):
    """One function after the other; the number of the input says which."""
    name = draw.note("function", list(FUNCTIONS)[draw.number % len(FUNCTIONS)])
    call, calls = FUNCTIONS[name], SLOW.get(name, CALLS)
    if SANITIZED:  # it keeps what was freed: nothing can be measured, but much be found
        calls //= 20
    for _ in range(calls // 4):
        call()
    before = resident()
    for _ in range(calls):
        call()
    grown = resident() - before
    draw.note("bytes per call", grown / calls)
    assert SANITIZED or grown <= max(MOST * calls, 500_000), f"{name}: {grown / calls:.0f} bytes per call"
    return not SANITIZED
