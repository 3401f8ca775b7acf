"""Servers in processes of their own, on a free port of this machine."""

import contextlib
import http
import os
import re
import socket
import subprocess
import sys
import time

import httpx

LONGEST_WAIT = 60  # seconds


class Server:
    """A running `tagwright serve`."""

    def __init__(self, process, address):
        self.process, self.address = process, address
        self.port = int(address.rsplit(":", 1)[1])
        self.client = httpx.Client(base_url=address, timeout=LONGEST_WAIT, trust_env=False)

    def post(self, path, result, **options):
        return self.client.post(path, json=result, **options)

    def tag(self, **result):
        answer = self.post("/v1/tag", result)
        assert answer.status_code == 200, answer.text
        return answer.json()["sentences"]

    def refused(self, status, path="/v1/tag", **result):
        """The error that a request is answered with."""
        return error_of(self.post(path, result), status)

    def metric(self, name):
        """The value of a metric, with its labels as Prometheus writes them."""
        text = self.client.get("/metrics").text
        found = re.search(rf"^{re.escape(name)} (\S+)$", text, flags=re.M)
        return float(found[1]) if found else 0.0

    def raw(self, sent, *, read=True):
        """What the server says to bytes, whatever they are."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=LONGEST_WAIT) as connection:
            connection.sendall(sent)
            said = b""
            while read and (piece := connection.recv(65536)):
                said += piece
            return said


def error_of(answer, status):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    error = problem["error"]
    assert set(error) == {"what", "where", "fix"}
    assert all(isinstance(value, str) and value for value in error.values())
    assert (problem["status"], problem["title"]) == (status, http.HTTPStatus(status).phrase)
    assert (problem["type"], problem["detail"]) == ("about:blank", error["what"])
    assert (problem["where"], problem["fix"]) == (error["where"], error["fix"])
    return error


@contextlib.contextmanager
def served(*arguments, ready=True, environment=None):
    """A server that is ready, and is ended whatever happens."""
    command = [sys.executable, "-m", "tagwright", "serve", "--port", "0", *map(str, arguments)]
    more = {"env": {**os.environ, **(environment or {})}, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, **more) as process:
        try:
            line = process.stderr.readline()
            found = re.match(r"(http://127\.0\.0\.1:\d+)/", line)
            assert found, line + process.stderr.read()
            server = Server(process, found[1])
            if ready:
                until(lambda: server.client.get("/health/ready").status_code == 200)
            try:
                yield server
            finally:
                server.client.close()
        finally:
            process.kill()


def until(true):
    """Wait until something is true."""
    end = time.monotonic() + LONGEST_WAIT
    while not true():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)
