"""Python threads that share edges and models: what is made at first use is made once, and answers are the same."""

import threading

import numpy as np
import pytest
from support.corpora import many_labels
from support.lattices import draw_many

import tagwright as tw
from tagwright.models.limits import Limiter

THREADS = 4


def at_once(work):
    """What each of a few threads returns that begin the same work at the same time."""
    barrier, found = threading.Barrier(THREADS), [None] * THREADS

    def one(n):
        barrier.wait()
        found[n] = work()

    workers = [threading.Thread(target=one, args=(n,)) for n in range(THREADS)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    return found


def labels(found):
    return [[path.labels.tolist() for path in one.paths] for one in found]


@pytest.mark.parametrize("form", ["dense", "sparse", "corrections"])
@pytest.mark.parametrize("decoder", [row.name for row in tw.decoders() if row.exact])
def test_threads_that_share_new_edges(form, decoder):
    rng = np.random.default_rng(6)
    nodes, edges, on = draw_many(rng, form, "f4", 40)
    right = labels(tw.decode_batch(nodes, edges, 1, decoder, active=on))
    rng = np.random.default_rng(6)
    nodes, edges, on = draw_many(rng, form, "f4", 40)
    found = at_once(lambda: labels(tw.decode_batch(nodes, edges, 1, decoder, threads=2, active=on)))
    assert found == [right] * THREADS


@pytest.mark.parametrize(
    "learner",
    [tw.CRF(solver=tw.LBFGS(max_iterations=3)), tw.MEMM(solver=tw.LBFGS(max_iterations=3)), tw.HMM()],
    ids=str,
)
def test_threads_that_share_a_new_model(learner, tmp_path):
    X, y = many_labels(labels=12)
    learner.fit(X, y).model_.save(tmp_path / "model")
    right = learner.model_.tag_kbest(X, 2)
    model = tw.load(tmp_path / "model")
    assert at_once(lambda: model.tag_kbest(X, 2, threads=2)) == [right] * THREADS
    if model.probabilistic:
        tables = [np.concatenate(found).tobytes() for found in at_once(lambda: model.marginals(X, threads=2))]
        assert tables == [np.concatenate(learner.model_.marginals(X)).tobytes()] * THREADS


def test_a_model_does_not_wait_for_another_one(monkeypatch):
    """What is computed on first use has no lock: a forked process would wait for a thread that it does not have."""
    first, second = (tw.Perceptron("U:%x[0,0]\nB\n", epochs=1).fit([["a"]], [["A"]]).model_ for _ in range(2))
    entered, leave = threading.Event(), threading.Event()

    def slow(*given):
        if threading.current_thread() is thread:
            entered.set()
            leave.wait(60)
        return Limiter(*given)

    monkeypatch.setattr("tagwright.models.tagger.Limiter", slow)
    thread = threading.Thread(target=first.tag, args=(["a"],))
    thread.start()
    assert entered.wait(60)
    other = threading.Thread(target=second.tag, args=(["a"],), daemon=True)
    other.start()
    other.join(20)
    waits = other.is_alive()
    leave.set()
    thread.join()
    assert not waits
