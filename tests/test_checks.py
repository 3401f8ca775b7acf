"""Numbers that no one can mean: wherever one is taken, it is used or refused with a ValueError."""

import contextlib
import math

import numpy as np
import pytest
from support.commands import run
from support.corpora import ten_sentences
from support.flat import crf, memm

import tagwright as tw
from tagwright import checks

X10, Y10 = ten_sentences()
MODEL = tw.Perceptron(features="U:%x[0,0]\nB\n", epochs=1).fit(X10, Y10).model_
MEMM = tw.MEMM(features="U:%x[0,0]\n", solver=tw.LBFGS(max_iterations=2)).fit(X10, Y10).model_
CRF = tw.CRF(features="U:%x[0,0]\nB\n", solver=tw.LBFGS(max_iterations=2)).fit(X10, Y10).model_
BOTH = tw.Bidirectional(MODEL, CRF).fit().model_
NODES, EDGES = np.zeros((3, 2)), np.zeros((2, 2))
SMALL = {"features": "U:%x[0,0]\nB\n"}

NUMBERS = {
    "10**400": 10**400,
    "-10**400": -(10**400),
    "10**5000": 10**5000,
    "2**64": 2**64,
    "2**63": 2**63,
    "2**31": 2**31,
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "longdouble": np.longdouble("1e4000"),
    "text": "1e400",
    "digits": "9" * 5000,
    "list": [1],
    "complex": 1j,
    "object": object(),
}


def agreeing(**options):
    return tw.dual_decomposition(lambda prices: [0], lambda prices: [0], **{"T": 1, "L": 2, **options})


def learner(kind, **options):
    return kind(**SMALL, **options).fit(X10, Y10)


def old(**options):
    """A perceptron with a parameter of 0.5.0."""
    with pytest.warns(DeprecationWarning, match="min_weight"):
        return learner(tw.Perceptron, **options)


CALLS = {
    "decode: k": lambda n: tw.decode(NODES, EDGES, n),
    "decode: deadline": lambda n: tw.decode(NODES, EDGES, deadline=n),
    "decode: nodes": lambda n: tw.decode([[n, 1.5], [1.0, 2.0]], EDGES),
    "decode: edges": lambda n: tw.decode(NODES, [[n, 1.5], [1.0, 2.0]]),
    "decode: sets": lambda n: tw.decode(NODES, EDGES, active=[[n], []]),
    "decode_batch: threads": lambda n: tw.decode_batch([NODES], EDGES, threads=n),
    "marginals_batch: threads": lambda n: tw.marginals_batch([NODES], EDGES, threads=n),
    "score: labels": lambda n: tw.score(NODES, EDGES, [n, 0, 0]),
    "Edges: start": lambda n: tw.Edges(EDGES, start=[n, 1.5]),
    "Edges: order": lambda n: tw.Edges(EDGES, order=[n, 0]),
    "Edges: corrections": lambda n: tw.Edges(EDGES, corrections=([n], [0], [1], [1.5])),
    "Edges: corrected": lambda n: tw.Edges(EDGES, corrections=([0], [0], [1], [n])),
    "from_exceptions: L": lambda n: tw.Edges.from_exceptions(n, 0.0, [], [], []),
    "from_exceptions: default": lambda n: tw.Edges.from_exceptions(2, n, [0], [1], [1.0]),
    "from_exceptions: previous": lambda n: tw.Edges.from_exceptions(2, 0, [n], [1], [1.0]),
    "from_exceptions: score": lambda n: tw.Edges.from_exceptions(2, 0, [0, 1], [1, 1], [1.5, n]),
    "Beam": lambda n: tw.decode(NODES, EDGES, decoder=tw.Beam(n)),
    "AStar": lambda n: tw.decode(NODES, EDGES, decoder=tw.AStar(n)),
    "IterativeViterbiAStar": lambda n: tw.decode(NODES, EDGES, 2, tw.IterativeViterbiAStar(n)),
    "KeepDivergence: epsilon": lambda n: tw.marginals(NODES, EDGES, tw.KeepDivergence(n)),
    "KeepDivergence: at_least": lambda n: tw.marginals(NODES, EDGES, tw.KeepDivergence(0.1, n)),
    "KeepSize": lambda n: tw.marginals(NODES, EDGES, tw.KeepSize(n)),
    "KeepRatio": lambda n: tw.marginals(NODES, EDGES, tw.KeepRatio(n)),
    "agree: T": lambda n: agreeing(T=n),
    "agree: L": lambda n: agreeing(L=n),
    "agree: rounds": lambda n: agreeing(rounds=n),
    "agree: step": lambda n: agreeing(step=n),
    "tag_kbest: k": lambda n: MODEL.tag_kbest(X10, n),
    "tag_kbest: threads": lambda n: MODEL.tag_kbest(X10, 1, threads=n),
    "marginals: threads": lambda n: CRF.marginals(X10, threads=n),
    "proven: k": lambda n: MEMM.proven(X10, n),
    "BidirectionalModel: rounds": lambda n: BOTH.agree(X10, rounds=n),
    "BidirectionalModel: step": lambda n: BOTH.agree(X10, step=n),
    "Bidirectional: rounds": lambda n: tw.Bidirectional(MODEL, CRF, rounds=n).fit(),
    "HMM: suffix": lambda n: tw.HMM(suffix=n).fit(X10, Y10),
    "HMM: rare": lambda n: tw.HMM(rare=n).fit(X10, Y10),
    "HMM: column": lambda n: tw.HMM(column=n).fit(X10, Y10),
    "HMM: labels": lambda n: tw.HMM().fit_unlabelled(X10, n, iterations=1),
    "HMM: iterations": lambda n: tw.HMM().fit(X10, Y10).fit_unlabelled(X10, iterations=n, tolerance=1e9),
    "HMM: tolerance": lambda n: tw.HMM().fit_unlabelled(X10, 2, iterations=1, tolerance=n),
    "HMM: seed": lambda n: tw.HMM().fit_unlabelled(X10, 2, iterations=1, seed=n),
    "MEMM: history": lambda n: learner(memm, max_iterations=1, history=n),
    "MEMM: beam": lambda n: learner(memm, max_iterations=1, beam=n),
    "MEMM: dictionary": lambda n: learner(memm, max_iterations=1, dictionary=n),
    "evaluate: most": lambda n: tw.evaluate(Y10, Y10).table(n),
}
for name in ("epochs", "seed", "min_count", "margin", "threads"):
    CALLS[f"Perceptron: {name}"] = lambda n, name=name: learner(tw.Perceptron, **{"epochs": 1, name: n})
CALLS["Perceptron: min_weight"] = lambda n: old(epochs=1, min_weight=n)
for name in ("l1", "l2", "tolerance", "max_iterations", "start_on", "min_count", "seed", "threads"):
    CALLS[f"CRF: {name}"] = lambda n, name=name: learner(crf, **{"max_iterations": 1, name: n})
for name in ("epochs", "rate", "batch"):
    CALLS[f"CRF: {name}"] = lambda n, name=name: learner(crf, **{"solver": "adagrad", "epochs": 1, name: n})

# Where such a number is no mistake, and what it is used for ends at once.
FINE = {
    "HMM: seed": ["2**64", "2**63", "2**31"],
    "Perceptron: seed": ["2**64", "2**63", "2**31"],
    "CRF: seed": ["2**64", "2**63", "2**31"],
    "decode: deadline": ["10**400", "10**5000", "2**64", "2**63", "2**31", "inf", "longdouble"],
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("given", NUMBERS)
@pytest.mark.parametrize("call", CALLS)
def test_numbers_beyond_all_measure_are_used_or_refused(call, given):
    if given in FINE.get(call, []):
        CALLS[call](NUMBERS[given])
        return
    with contextlib.suppress(ValueError):
        CALLS[call](NUMBERS[given])


def test_the_largest_float_is_one_and_its_double_is_none():
    largest = int(np.finfo(np.float64).max)
    assert tw.Edges.from_exceptions(2, -np.inf, [0], [1], [1.0]).default == -np.inf
    checks.real("default", largest)
    checks.not_negative("l2", largest)
    with pytest.raises(ValueError, match=r"default is 3595386.*\.\.\., beyond what a float can hold"):
        tw.Edges.from_exceptions(2, 2 * largest, [0], [1], [1.0])
    with pytest.raises(ValueError, match="l2 must be a number of at least 0, not 3595386"):
        checks.not_negative("l2", 2 * largest)


def test_a_value_that_cannot_be_shown():
    class Silent:
        def __repr__(self):
            raise RuntimeError

    assert checks.shown(Silent()) == "a value of type Silent"
    assert checks.shown(10**5000) == "a value of type int"
    assert checks.shown("a" * 99) == repr("a" * 98)[:80] + "..."
    assert checks.shown(3) == "3"


@pytest.mark.parametrize("number", ["1" + "0" * 400, "9" * 5000, "-1", "1e400", "nan", "zwei", ""])
@pytest.mark.parametrize("option", ["-k", "--threads"])
def test_numbers_on_the_command_line(option, number):
    done = run("tag", option, number, given="a\n")
    assert (done.exit_code, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.output
