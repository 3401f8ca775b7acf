"""Processes that are forked while other threads are in native calls: the child answers, and ends."""

import faulthandler
import os
import signal
import threading
import time
import warnings

import numpy as np
from support.corpora import drawn

import tagwright as tw

EXPECTED = ()
SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")
"""AddressSanitizer (of GCC 12) itself holds locks that a forked process waits for: threads are run, but not forked."""
PATIENCE = 30
"""Seconds after which a child hangs."""
X, Y = drawn(0, sentences=30, labels=6)
RNG = np.random.default_rng(0)
NODES, EDGES = [RNG.normal(size=(30, 40)) for _ in range(8)], RNG.normal(size=(40, 40))


def attempt(draw):
    warnings.simplefilter("ignore")
    tw.CRF("U:%x[0,0]\nB\n", epochs=1).fit(X, Y).model_.save("model.safetensors")
    fresh = tw.load("model.safetensors")  # tables that are made on first use may be half made when it is forked
    edges = tw.Edges(EDGES)
    jobs = {
        "tag": lambda: fresh.tag_batch(X, threads=2),
        "decode": lambda: tw.decode_batch(NODES, edges, 2, threads=2),
        "marginals": lambda: tw.marginals_batch(NODES, edges, threads=2),
        "train": lambda: tw.Perceptron("U:%x[0,0]\nB\n", epochs=1, threads=2).fit(X, Y),
        "load": lambda: tw.load("model.safetensors").tag_batch(X),
    }
    running = draw.note("threads", draw.choices(list(jobs), k=draw.randint(1, 3)))
    asked = draw.note("child", draw.choices(list(jobs), k=draw.randint(1, 2)))
    stop, errors = threading.Event(), []

    def work(name):
        while not stop.is_set():
            try:
                jobs[name]()
            except Exception as error:
                errors.append(error)
                return

    threads = [threading.Thread(target=work, args=(name,)) for name in running]
    for thread in threads:
        thread.start()
    try:
        for _ in range(draw.randint(1, 4)):
            time.sleep(draw.random() * 0.01)
            if not SANITIZED:
                answered([jobs[name] for name in asked])
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not errors, errors
    return not SANITIZED


def answered(jobs):
    """Fork, and wait for the child to have done its jobs."""
    child = os.fork()
    if child == 0:
        faulthandler.dump_traceback_later(PATIENCE - 5)  # says where it hangs
        signal.alarm(2 * PATIENCE)
        code = 1
        try:
            for job in jobs:
                job()
            code = 0
        finally:
            os._exit(code)
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0, f"the child ended with status {status}"
            return
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the child hangs")
