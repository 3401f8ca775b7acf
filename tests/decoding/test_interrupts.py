"""Signals that come in the middle of native work: it stops, and nothing is the worse for it."""

import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import tagwright as tw
from tagwright import _core

# Work for hours, which an alarm ends.
STOPPED = """
import signal
import numpy as np
import tagwright as tw

class Alarm(Exception):
    pass

def heard(number, frame):
    raise Alarm

signal.signal(signal.SIGALRM, heard)
rng = np.random.default_rng(1)
edges = tw.Edges(rng.normal(size=(600, 600)).astype(np.float32))
nodes = rng.normal(size=(1000, 600)).astype(np.float32)
before = tw.decode(nodes[:50], edges), tw.marginals(nodes[:50], edges)
many = [nodes] * 100_000
signal.setitimer(signal.ITIMER_REAL, 0.3)
try:
    {call}
except Alarm:
    print("stopped")
after = tw.decode(nodes[:50], edges), tw.marginals(nodes[:50], edges)
assert after[0].paths[0].labels.tolist() == before[0].paths[0].labels.tolist()
assert np.array_equal(after[1].nodes, before[1].nodes)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "call",
    [
        "tw.decode_batch(many, edges, decoder='viterbi')",
        "tw.decode_batch(many, edges, decoder='viterbi', threads=3)",
        "tw.decode_batch(many, edges, decoder='astar', threads=2)",
        "tw.decode(nodes, edges, k=10**6, decoder='viterbi')",
        "tw.marginals_batch(many, edges)",
        "tw.marginals_batch(many, edges, threads=2)",
    ],
)
def test_native_work_stops(call):
    code = STOPPED.format(call=call)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False)
    assert (done.stdout, done.returncode) == ("stopped\n", 0), done.stderr


@pytest.fixture
def ticks():
    """Whether each of a train of signals was heard in the middle of native work; `act` is called by the first."""
    heard = []

    def tick(number, frame):
        heard.append(_core.hearing())
        if len(heard) == 1:
            tick.act()

    tick.act = lambda: None
    tick.heard = heard
    before = signal.signal(signal.SIGALRM, tick)
    yield tick
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def a_second_or_more():
    rng = np.random.default_rng(2)
    edges = tw.Edges(rng.normal(size=(500, 500)).astype(np.float32))
    return rng.normal(size=(16_000, 500)).astype(np.float32), edges


@pytest.mark.slow
def test_a_handler_may_tag_in_the_middle_of_other_work(ticks):
    nodes, edges = a_second_or_more()
    alone = tw.decode(nodes, edges, decoder="viterbi")
    small = tw.decode(nodes[:300], edges, decoder="viterbi")
    within = []
    ticks.act = lambda: within.append(tw.decode(nodes[:300], edges, decoder="viterbi"))
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    disturbed = tw.decode(nodes, edges, decoder="viterbi")
    signal.setitimer(signal.ITIMER_REAL, 0)
    assert any(ticks.heard)
    assert np.array_equal(disturbed.paths[0].labels, alone.paths[0].labels)
    assert disturbed.paths[0].score == alone.paths[0].score
    assert np.array_equal(within[0].paths[0].labels, small.paths[0].labels)


@pytest.mark.slow
def test_work_of_other_threads_continues(ticks):
    nodes, edges = a_second_or_more()
    found = []
    thread = threading.Thread(target=lambda: found.append(tw.decode(nodes, edges, decoder="viterbi")))
    signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
    thread.start()
    thread.join()
    assert ticks.heard
    assert not any(ticks.heard)  # heard by Python, in the main thread
    assert len(found[0].paths) == 1


def test_a_library_leaves_signals_alone():
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        before = signal.getsignal(number)
        tw.decode([[0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]])
        tw.Perceptron("U:%x[0,0]\n", epochs=1).fit([["a"]], [["A"]])
        assert signal.getsignal(number) is before
