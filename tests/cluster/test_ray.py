"""Training on a real Ray cluster: the same bits as on one machine, even if workers are killed."""

import os
import subprocess
import sys
import textwrap

import pytest
from support.corpora import drawn, same_arrays, untimed
from support.engines import InProcess
from support.flat import crf
from support.ray_workers import Killer, wait_for, workers

import tagwright as tw
from tagwright.cluster import Ray

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore")]

KILLS = int(os.environ.get("TAGWRIGHT_KILLS", "10"))
"""Workers that are killed, at random moments."""
WORD = "U0:%x[0,0]\nU1:%x[-1,0]\nB\n"
X, Y = drawn(1, sentences=1700, words=50, labels=9, longest=6)
LBFGS = {"features": WORD, "l2": 0.1, "max_iterations": 6}
ONLINE = {"features": WORD, "epochs": 2, "batch": 256}


def environment():
    """The environment of a process that imports what this one can; Ray keeps there how its clusters are reached."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def same(one, other):
    return same_arrays(one.model_.arrays, other.model_.arrays) and untimed(one.model_) == untimed(other.model_)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_crfs_are_the_same_bits(own_ray, workers):
    cluster = Ray(workers=workers)
    for options in (LBFGS, ONLINE):
        assert same(crf(**options).fit(X, Y, cluster=cluster), crf(**options).fit(X, Y))


def test_a_perceptron_is_mixed_as_by_any_other_engine(own_ray):
    options = {"features": WORD, "epochs": 2}
    found = tw.Perceptron(**options).fit(X, Y, cluster=Ray(workers=2))
    assert same(found, tw.Perceptron(**options).fit(X, Y, cluster=InProcess(2)))


@pytest.mark.parametrize("options", [{"l2": 0.1, "max_iterations": 25}, {"epochs": 3, "batch": 200}], ids=str)
def test_killed_workers_change_nothing(own_ray, options):
    words, labels = drawn(2, sentences=5000, words=300, labels=25, longest=9)
    alone = crf(WORD, **options).fit(words, labels)
    killed, attempts = 0, 0
    while killed < KILLS:
        assert attempts < 5 * KILLS
        with Killer("Worker", KILLS - killed, seed=attempts) as killer:
            found = crf(WORD, **options).fit(words, labels, cluster=Ray(workers=2))
        assert same(found, alone)
        killed, attempts = killed + killer.killed, attempts + 1


def test_killed_workers_of_a_perceptron_change_nothing(own_ray):
    words, labels = drawn(2, sentences=5000, words=300, labels=25, longest=9)
    expected = tw.Perceptron(WORD, epochs=4).fit(words, labels, cluster=InProcess(2))
    killed = attempts = 0
    while killed < KILLS:
        assert attempts < 5 * KILLS
        with Killer("Worker", KILLS - killed, seed=attempts) as killer:
            found = tw.Perceptron(WORD, epochs=4).fit(words, labels, cluster=Ray(workers=2))
        assert same(found, expected)
        killed, attempts = killed + killer.killed, attempts + 1


def test_training_resumes_from_the_checkpoint_of_a_killed_driver(own_ray, tmp_path):
    path = tmp_path / "run.safetensors"
    address = own_ray.get_runtime_context().gcs_address
    options = {"features": WORD, "l2": 0.01, "tolerance": 0.0}
    code = f"""
        from support.corpora import drawn
        from support.flat import crf
        from tagwright.cluster import Ray
        words, labels = drawn(2, sentences=3000, words=100, labels=15, longest=8)
        crf(**{options!r}).fit(words, labels, checkpoint={str(path)!r}, cluster=Ray({address!r}, workers=2))
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], env=environment()) as driver:
        try:
            wait_for(lambda: path.exists() or driver.poll() is not None)
        finally:
            driver.kill()
    assert path.exists()
    done = len(tw.load(path).history)
    words, labels = drawn(2, sentences=3000, words=100, labels=15, longest=8)
    more = {**options, "max_iterations": done + 15}
    on = crf(**more).fit(words, labels, checkpoint=path, cluster=Ray(workers=2))
    assert same_arrays(on.model_.arrays, crf(**more).fit(words, labels).model_.arrays)
    wait_for(lambda: not workers("Worker"))


LOCAL = """
    import logging
    import ray
    from support.corpora import drawn, same_arrays
    from support.flat import crf
    from tagwright.cluster import Ray

    started = ray.init

    def init(address, **options):
        if address == "auto":  # as Ray answers if no cluster is running, which others on this machine may have
            raise ConnectionError("Could not find any running Ray instance.")
        return started(address=address, **options)

    ray.init = init
    logging.basicConfig(level=logging.WARNING, format="log: %(message)s")
    words, labels = drawn(2, sentences=200, words=20, labels=5)
    options = {"features": "U0:%x[0,0]\\nB\\n", "l2": 0.1, "max_iterations": 4}
    found = crf(**options).fit(words, labels, cluster=Ray(workers=2))
    assert not ray.is_initialized()
    assert same_arrays(found.model_.arrays, crf(**options).fit(words, labels).model_.arrays)
    print("the same")
"""


@pytest.mark.usefixtures("ray")
def test_a_local_cluster_is_started_where_none_is_running_and_ends_with_the_training():
    call = [sys.executable, "-c", textwrap.dedent(LOCAL)]
    done = subprocess.run(call, env=environment(), capture_output=True, text=True, check=False, timeout=180)
    assert done.returncode == 0, done.stderr
    assert "log: no Ray cluster is running: starting one on this machine" in done.stderr
    assert done.stdout.endswith("the same\n")


TWO_NODES = """
    import threading
    import ray
    from ray.cluster_utils import Cluster
    from support.corpora import drawn, same_arrays
    from support.flat import crf
    from tagwright.cluster import Ray

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    lost = cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False, logging_level="error")
    words, labels = drawn(2, sentences=3000, words=100, labels=15, longest=8)
    options = {"features": "U0:%x[0,0]\\nB\\n", "l2": 0.1, "max_iterations": 40}
    alone = crf(**options).fit(words, labels).model_.arrays
    found = []

    def fit():
        found.append(crf(**options).fit(words, labels, cluster=Ray(workers=2)).model_.arrays)

    fit()
    again = threading.Thread(target=fit)
    again.start()
    cluster.remove_node(lost)
    cluster.add_node(num_cpus=1)
    again.join()
    assert all(same_arrays(one, alone) for one in found)
    print("the same on", len([node for node in ray.nodes() if node["Alive"]]), "machines")
    ray.shutdown()
    cluster.shutdown()
"""


@pytest.mark.usefixtures("ray")
def test_two_machines_one_of_which_is_lost():
    call = [sys.executable, "-c", textwrap.dedent(TWO_NODES)]
    done = subprocess.run(call, env=environment(), capture_output=True, text=True, check=False, timeout=180)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("the same on 2 machines\n")
