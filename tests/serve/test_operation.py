"""A running server in operation: who is let in, what is logged and counted, and how it ends."""

import concurrent.futures
import contextlib
import json
import os
import re
import shutil
import signal
import socket
import time

import httpx
import numpy as np
import pytest
from support.corpora import ten_sentences
from support.processes import ran
from support.servers import LONGEST_WAIT, error_of, served, until

import tagwright as tw
from tagwright.cli import serve as serve_command
from tagwright.serve import answers
from tagwright.serve.gate import check_charset, is_stream

X10, Y10 = ten_sentences()
TOKEN = "a-token-that-only-tests-know"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "words.safetensors"
    tw.Perceptron(epochs=2).fit(X10, Y10).model_.save(path)
    return path


@pytest.fixture(scope="module")
def server(model):
    with served("-m", model, "--set", "max_tokens=2000") as running:
        yield running


def one_request(body=b'{"text": "the dog"}', host="127.0.0.1", more=""):
    head = f"POST /v1/tag HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{more}\r\n"
    return head.encode() + body


# Who is let in


def test_names_of_other_hosts_are_refused_on_loopback(server):
    """A page of another site that names this address by its own name (DNS rebinding) gets no answer."""
    port = server.port
    for host in ("127.0.0.1", f"127.0.0.1:{port}", "localhost", f"LOCALHOST:{port}", "localhost.", f"[::1]:{port}"):
        assert server.raw(one_request(host=host)).startswith(b"HTTP/1.1 200 "), host
    before = server.metric('tagwright_rejected_total{reason="host"}')
    for host in (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1.evil.example",
        "localhost.evil.example:80",
        "[::2]",
    ):
        assert server.raw(one_request(host=host)).startswith(b"HTTP/1.1 421 "), host
    for path in ("/", "/page/main.js", "/v1/models", "/metrics", "/nothing"):
        error = error_of(server.client.get(path, headers={"host": "evil.example"}), 421)
        assert error["where"] == "host"
    assert server.metric('tagwright_rejected_total{reason="host"}') == before + 10
    assert server.raw(b"GET /health/live HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 200 ")


def test_further_names(model):
    with served("-m", model, "--allow-host", "tags.example") as server:
        for host, status in (("tags.example:443", 200), ("127.0.0.1", 200), ("other.example", 421)):
            assert server.client.get("/health/live", headers={"host": host}).status_code == status
    with served("-m", model, "--allow-host", "*") as server:
        assert server.client.get("/health/live", headers={"host": "other.example"}).status_code == 200


def test_tokens(model, tmp_path):
    path = tmp_path / "tokens"
    path.write_text(f"{TOKEN}\n\n{TOKEN}-too\n", encoding="utf-8")
    environment = {"TAGWRIGHT_TOKEN": f"{TOKEN}-three"}
    with served("-m", model, "--token-file", path, environment=environment) as server:
        for token in (TOKEN, f"{TOKEN}-too", f"{TOKEN}-three"):
            for scheme in ("Bearer", "bearer"):
                head = {"authorization": f"{scheme} {token}"}
                assert server.post("/v1/tag", {"text": "a"}, headers=head).status_code == 200
                assert server.client.get("/metrics", headers=head).status_code == 200
        for head in ({}, {"authorization": f"Bearer {TOKEN}x"}, {"authorization": f"Basic {TOKEN}"}):
            for answer in (
                server.post("/v1/tag", {"text": "a"}, headers=head),
                server.post("/v1/lattice", {"text": "a"}, headers=head),
                server.client.get("/v1/models", headers=head),
                server.client.get("/metrics", headers=head),
                server.client.get("/v1/nothing", headers=head),
                server.client.post("/v1/tag", content=b"1", headers={**head, "content-type": "application/x-ndjson"}),
            ):
                assert error_of(answer, 401)["where"] == "authorization"
                assert answer.headers["www-authenticate"].startswith("Bearer realm=")
        for path in ("/", "/page/main.js", "/health/live", "/health/ready", "/openapi.json"):
            assert server.client.get(path).status_code == 200
        described = server.client.get("/openapi.json").json()
        assert described["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
        assert described["paths"]["/v1/tag"]["post"]["security"] == [{"token": []}]
        assert described["paths"]["/health/live"]["get"]["security"] == []


def test_tokens_that_are_none(model, tmp_path):
    for text, message in (
        ("", "there is no token"),
        ("short", "at least 16"),
        ("with a blank in the middle", "at least"),
    ):
        (tmp_path / "token").write_text(text, encoding="utf-8")
        done = ran("serve", "-m", model, "--token-file", tmp_path / "token")
        assert done.returncode != 0
        assert message in done.stderr.decode()


def test_a_warning_where_everybody_can_connect():
    for host in ("127.0.0.1", "127.0.0.7", "::1", "localhost"):
        assert serve_command._exposure(host, has_token=False) is None
        assert "tags.example" not in serve_command._hosts(host, ())
        assert {"tags.example", host} < set(serve_command._hosts(host, ("tags.example",)))
    for host in ("0.0.0.0", "::", "192.168.0.7", "tags.example"):
        assert "neither a token" in serve_command._exposure(host, has_token=False)
        assert "no encryption" in serve_command._exposure(host, has_token=True)
        assert serve_command._hosts(host, ()) is None


def test_an_access_log_that_cannot_be_opened(model):
    done = ran("serve", "-m", model, "--access-log", model / "log")
    assert done.returncode != 0
    assert b"Error: " in done.stderr


# Media types, upgrades, and what is not HTTP


def test_media_types():
    for kind in (b"application/x-ndjson", b"application/x-ndjson; charset=utf-8", b"Application/NDJSON;charset=UTF-8"):
        assert is_stream(kind)
        check_charset(kind)
    for kind in (b"application/json", b"text/plain; x=application/x-ndjson", b"application/x-ndjsonx", b""):
        assert not is_stream(kind)


def test_streams_by_media_type(server):
    for kind in ("application/x-ndjson; charset=utf-8", "Application/X-NDJSON", 'application/jsonl; charset="utf-8"'):
        answer = server.client.post("/v1/tag", content=b'"the dog"\n["a"]\n', headers={"content-type": kind})
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/x-ndjson")
        assert len(answer.text.splitlines()) == 2
    for kind in ("application/x-ndjson; charset=latin-1", "application/json; charset=utf-16"):
        answer = server.client.post("/v1/tag", content=b'"a"', headers={"content-type": kind})
        assert error_of(answer, 415)["where"] == "content-type"
    answer = server.client.post("/v1/tag?k=x", content=b"1", headers={"content-type": "application/x-ndjson"})
    assert error_of(answer, 422)["where"] == "k"


UPGRADE = "Connection: {}\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n"


@pytest.mark.parametrize("pieces", [1, 2, 400])
def test_requests_that_offer_an_upgrade_keep_their_body(server, pieces):
    """As `curl --http2` sends them, in any pieces; the connection stays open if it may."""
    body = json.dumps({"sentences": [["the", "dog"]]}).encode()
    head = f"POST /v1/tag?x=1 HTTP/1.1\r\nHost: localhost\r\nX-Request-ID: a\r\nContent-Length: {len(body)}\r\n"
    first = head + UPGRADE.format("Upgrade, HTTP2-Settings") + "\r\n"
    last = head + UPGRADE.format("close, Upgrade, HTTP2-Settings") + "\r\n"
    sent = first.encode() + body + last.encode() + body
    with socket.create_connection(("127.0.0.1", server.port), timeout=LONGEST_WAIT) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for at in range(pieces):
            connection.sendall(sent[at * len(sent) // pieces : (at + 1) * len(sent) // pieces])
        reply = b""
        while piece := connection.recv(65536):
            reply += piece
    assert reply.count(b"HTTP/1.1 200 OK") == 2
    assert reply.count(b'"labels":["DT","NN"]') == 2


def test_websockets_and_tunnels_are_not_spoken(server):
    head = "GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n"
    assert server.raw(head.encode()).startswith(b"HTTP/1.1 200 ")
    assert server.raw(b"CONNECT example.org:80 HTTP/1.1\r\nHost: localhost\r\n\r\n").startswith(b"HTTP/1.1 400 ")


def test_malformed_requests_are_counted_and_answered_with_a_problem(server):
    name = 'tagwright_rejected_total{reason="malformed"}'
    before = server.metric(name)
    for sent in (
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ):
        head, _, body = server.raw(sent).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 Bad Request")
        assert b"content-type: application/problem+json" in head
        assert json.loads(body)["status"] == 400
    valid = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
    assert server.raw(valid + b"nonsense\r\n\r\n").startswith(b"HTTP/1.1 200 ")
    assert server.metric(name) == before + 5


def test_an_answer_that_is_owed_is_not_replaced_by_a_refusal(server):
    """The head of the next request is too long, or its body is malformed, while the first request is answered."""
    body = json.dumps({"sentences": [["the", "dog"]] * 900, "k": 5}).encode()
    first = b"POST /v1/tag HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    long_head = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 70_000
    reply = server.raw(first + long_head)
    head, _, rest = reply.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 ")
    assert len(json.loads(rest)["sentences"]) == 900
    lines = b'"the dog"\n' * 300
    stream = b"POST /v1/tag HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
    stream += b"Content-Length: %d\r\n\r\n%s" % (len(lines), lines)
    chunked = b"POST /v1/tag HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n"
    assert server.raw(stream + chunked).count(b"HTTP/1.1 ") <= 1


def test_many_requests_that_offer_an_upgrade_are_answered_on_one_connection(server):
    one = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\r\n"
    last = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    assert server.raw(one * 1200 + last).count(b"HTTP/1.1 200 ") == 1201


# Limits


def test_empty_sentences_count(server):
    assert len(server.tag(sentences=[[]] * 1000 + [["a"]] * 1000)) == 2000
    error = server.refused(413, sentences=[[]] * 1001 + [["a"]] * 1000)
    assert error["what"].startswith("1,000 tokens and 1,001 empty sentences are too many")


def test_large_answers_are_encoded_in_pieces():
    rng = np.random.default_rng(0)

    def value(depth):
        kind = rng.integers(8 if depth < 4 else 5)
        if kind < 5:
            return [None, True, int(rng.integers(99)), float(rng.normal()), 'é"\n\ud800'[: rng.integers(5)]][kind]
        size = int(rng.choice([0, 1, 3, 70, 130])) if depth < 3 else 2
        if kind == 5:
            return {f"k{n}": value(depth + 2) for n in range(size)}
        return [value(depth + 1) for _ in range(size)]

    for _ in range(300):
        drawn = value(0)
        assert (
            json.loads(answers.encode_large(drawn))
            == json.loads(json.dumps(drawn))
            == json.loads(answers.encode(drawn))
        )
        pieces = list(answers._pieces(drawn))
        assert b"".join(pieces) == answers.encode_large(drawn)
    long = {"a": [{"labels": ["NN"] * 10_000, "offsets": [(n, n + 1) for n in range(10_000)]}] * 3, "b": 1}
    assert max(map(len, answers._pieces(long))) < 2000
    assert json.loads(answers.encode_large(long)) == json.loads(json.dumps(long))


def test_large_answers_equal_small_ones(server):
    sentences = [["the", "dog", "can", "run"][: 1 + n % 4] for n in range(40)]
    apart = [server.tag(sentences=[own], k=30)[0] for own in sentences]
    assert server.tag(sentences=sentences, k=30) == apart


# What is counted and logged


def test_metrics_of_models_and_processes(server, model):
    assert server.metric('tagwright_model_loads_total{model="words"}') == 1
    assert server.metric('tagwright_model_load_failures_total{model="words"}') == 0
    assert 0 < server.metric('tagwright_model_load_seconds{model="words"}') < LONGEST_WAIT
    assert server.metric('tagwright_model_file_bytes{model="words"}') == model.stat().st_size
    assert abs(server.metric('tagwright_model_loaded_timestamp_seconds{model="words"}') - time.time()) < 3600
    resident = server.metric("process_resident_memory_bytes")
    with open(f"/proc/{server.process.pid}/statm", encoding="ascii") as file:
        now = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    assert resident == pytest.approx(now, rel=0.2)
    assert server.metric("process_open_fds") > 3
    before = server.metric("process_cpu_seconds_total")
    assert before > 0
    assert server.metric("process_cpu_seconds_total") >= before


def test_the_access_log(model, tmp_path):
    path = tmp_path / "access.log"
    with served("-m", model, "--access-log", path) as server:
        answer = server.post("/v1/tag?secret=1", {"text": "private"}, headers={"x-request-id": 'id"1'})
        server.client.get('/no"thing')
        server.client.post("/v1/tag", content=b'"a"\n"b"\n', headers={"content-type": "application/x-ndjson"})
        server.raw(b"nonsense\r\n\r\n")

        def lines():
            return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if "/health" not in line]

        until(lambda: len(lines()) == 4)
        tagged, missing, stream, malformed = lines()
        assert set(tagged) == {"time", "client", "method", "path", "request_id", "status", "bytes", "seconds"}
        assert [tagged[name] for name in ("client", "method", "path")] == ["127.0.0.1", "POST", "/v1/tag"]
        assert (tagged["status"], tagged["request_id"], tagged["bytes"]) == (200, 'id"1', len(answer.content))
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", tagged["time"])
        assert (missing["path"], missing["status"]) == ('/no"thing', 404)
        assert (stream["status"], malformed["status"]) == (200, 400)
        assert "private" not in path.read_text(encoding="utf-8")
        assert "secret" not in path.read_text(encoding="utf-8")
        path.rename(tmp_path / "older.log")
        server.client.get("/v1/models")
        until(path.exists)
        assert lines()[0]["path"] == "/v1/models"


# Ending


def requests_left_unread(server, count):
    """Connections that have sent a request to a server that is stopped."""
    connections = [socket.create_connection(("127.0.0.1", server.port), timeout=LONGEST_WAIT) for _ in range(count)]
    for connection in connections:
        connection.sendall(one_request())
    return connections


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_what_was_sent_before_the_end_is_answered(model, workers):
    """Also by connections that were not accepted yet, or not read: the processes are stopped while they come."""
    with served("-m", model, "--workers", workers) as server, contextlib.ExitStack() as stack:
        pids = children(server.process.pid) if workers > 1 else [server.process.pid]
        known = []
        for _ in range(20):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=LONGEST_WAIT))
            connection.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            reply = b""
            while not reply.endswith(b'{"live":true}'):
                reply += connection.recv(4096)
            known.append(connection)
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        for connection in known:
            connection.sendall(one_request())
        fresh = [stack.enter_context(connection) for connection in requests_left_unread(server, 256)]
        for pid in (server.process.pid, *(pids if workers > 1 else ())):
            os.kill(pid, signal.SIGTERM)
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
        for connection in (*known, *fresh):
            reply = b""
            while piece := connection.recv(65536):
                reply += piece
            assert reply.startswith(b"HTTP/1.1 200 "), reply
            assert b'"labels":["DT","NN"]' in reply
        assert server.process.wait(LONGEST_WAIT) == 0


def children(pid):
    """Processes that a process has started, except for multiprocessing's own."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        found = [int(one) for one in file.read().split()]
    return [one for one in found if "spawn_main" in command_of(one)]


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


@pytest.mark.slow
def test_workers_end_when_their_parent_is_killed(model):
    with served("-m", model, "--workers", 2) as server:
        workers = children(server.process.pid)
        assert len(workers) == 2
        server.process.kill()
        server.process.wait(LONGEST_WAIT)
        until(lambda: not any(map(command_of, workers)))
        with pytest.raises(httpx.ConnectError):
            server.client.get("/health/live")


def large_model(path):
    """A model file of more than 16 MB."""
    words = [[f"word{n}-{m}" for m in range(40)] for n in range(1900)]
    labels = [[f"L{m % 12}" for m in range(40)] for _ in words]
    made = (
        tw.Perceptron(features="".join(f"U{n}:%x[{n - 3},0]\n" for n in range(7)), epochs=1).fit(words, labels).model_
    )
    made.save(path)
    assert path.stat().st_size > 17 << 20
    return made, words[7]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_large_model_file_may_be_written_over_in_place(workers, tmp_path):
    """Cut to nothing while it is in use, and written again: pages of a mapped file would be gone."""
    path = tmp_path / "large.safetensors"
    model, sentence = large_model(path)
    kept = tmp_path / "kept"
    shutil.copy(path, kept)
    with served("-m", path, "--workers", workers) as server:
        pids = children(server.process.pid) if workers > 1 else [server.process.pid]

        def ask(_=None):
            with httpx.Client(base_url=server.address, timeout=LONGEST_WAIT, trust_env=False) as client:
                return client.post("/v1/tag", json={"sentences": [sentence]}).json()["sentences"][0]["labels"]

        until(lambda: server.metric('tagwright_model_loads_total{model="large"}') == workers)
        expected = model.tag(sentence)
        assert ask() == expected
        with path.open("r+b") as file:
            file.truncate(1000)
        until(lambda: server.metric('tagwright_model_load_failures_total{model="large"}') >= workers)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            assert all(labels == expected for labels in pool.map(ask, range(40)))
        with path.open("r+b") as file:
            file.write(kept.read_bytes())
        until(lambda: server.metric('tagwright_model_loads_total{model="large"}') == 2 * workers)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            assert all(labels == expected for labels in pool.map(ask, range(40)))
        assert pids == (children(server.process.pid) if workers > 1 else [server.process.pid])
        assert all(map(command_of, pids))


def test_refused_bodies_are_not_kept(server):
    """An error that refers to itself would keep its request until the garbage collector comes."""
    body = json.dumps({"text": "x" * 900_000}).encode()
    for _ in range(5):
        error_of(server.client.post("/v1/tag", content=body), 413)
    before = server.metric("process_resident_memory_bytes")
    for _ in range(40):
        error_of(server.client.post("/v1/tag", content=body), 413)
    assert server.metric("process_resident_memory_bytes") < before + 15_000_000
