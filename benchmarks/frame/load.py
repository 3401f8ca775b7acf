"""A bounded load on a server on this machine: requests over connections, each of which waits for its answer.

`python -m benchmarks.frame.load` is the client, a process of its own that reads what to do as JSON from standard input.
"""

import asyncio
import json
import subprocess
import sys
import time

LOOPBACK = "127.0.0.1"
MOST_SECONDS = 60.0  # of one load, whatever happens


class Client(asyncio.Protocol):
    """A connection that sends a request, waits for the whole answer, and sends the next."""

    def __init__(self, load):
        self.load = load
        self.held = b""
        self.sent = 0.0

    def connection_made(self, transport):
        self.transport = transport

    def send(self):
        if self.load.left <= 0:
            self.load.idle(self)
            return
        self.load.left -= 1
        self.sent = time.perf_counter()
        self.transport.write(self.load.request())

    def data_received(self, data):
        self.held += data
        while True:
            head = self.held.find(b"\r\n\r\n")
            if head < 0:
                return
            begin = self.held.lower().find(b"content-length:", 0, head)
            size = int(self.held[begin + 15 : self.held.find(b"\r", begin)]) if begin >= 0 else 0
            if len(self.held) < head + 4 + size:
                return
            status = self.held[9:12].decode()
            self.held = self.held[head + 4 + size :]
            self.load.answered(status, time.perf_counter() - self.sent)
            self.send()

    def connection_lost(self, error):
        self.load.lost(self)


class Load:
    """The requests of one run, and how long each took."""

    def __init__(self, requests, count):
        self.requests, self.left, self.at = requests, count, 0
        self.seconds, self.statuses, self.waiting = [], {}, 0
        self.done = asyncio.get_running_loop().create_future()
        self.closed = 0

    def request(self):
        self.at += 1
        return self.requests[self.at % len(self.requests)]

    def answered(self, status, seconds):
        self.statuses[status] = self.statuses.get(status, 0) + 1
        self.seconds.append(seconds)

    def idle(self, client):
        self.waiting -= 1
        if not self.waiting and not self.done.done():
            self.done.set_result(None)

    def lost(self, client):
        self.closed += 1
        self.idle(client)


async def run(port, requests, connections, count):
    load = Load(requests, count)
    loop = asyncio.get_running_loop()
    clients = [(await loop.create_connection(lambda: Client(load), LOOPBACK, port))[1] for _ in range(connections)]
    load.waiting = len(clients)
    began = time.perf_counter()
    for client in clients:
        client.send()
    try:
        async with asyncio.timeout(MOST_SECONDS):
            await load.done
    except TimeoutError:
        pass
    seconds = time.perf_counter() - began
    taken = sorted(load.seconds)
    for client in clients:
        client.transport.abort()
    return {
        "answers": len(taken),
        "seconds": seconds,
        "statuses": load.statuses,
        "p50": taken[len(taken) // 2] if taken else 0.0,
        "p99": taken[min(len(taken) - 1, len(taken) * 99 // 100)] if taken else 0.0,
    }


def post(path, body, kind="application/json"):
    """A request as it goes over the wire."""
    head = f"POST {path} HTTP/1.1\r\nHost: {LOOPBACK}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def measure(port, requests, connections, count):
    """The same in a process of its own, so that server and client do not share a lock."""
    job = {"port": port, "requests": [one.decode("latin-1") for one in requests]}
    job |= {"connections": connections, "count": count}
    command = [sys.executable, "-m", "benchmarks.frame.load"]
    done = subprocess.run(
        command, input=json.dumps(job).encode(), capture_output=True, check=True, timeout=2 * MOST_SECONDS
    )
    return json.loads(done.stdout)


def main():
    job = json.load(sys.stdin)
    job["requests"] = [one.encode("latin-1") for one in job["requests"]]
    try:
        import uvloop

        runner = uvloop.run
    except ImportError:
        runner = asyncio.run
    print(json.dumps(runner(run(**job))))


if __name__ == "__main__":
    main()
