"""Bodies of requests that nobody should send: bytes, JSON of any shape, requests with something wrong in them."""

import json
import random

WORDS = [
    "text",
    "sentences",
    "k",
    "proba",
    "model",
    "allowed",
    "decoder",
    "english",
    "NN",
    "a",
    "é",
    "\ud800",
    "",
    "😀😀",
]
FIELDS = [
    "k", "proba", "spans", "model", "allowed", "forbidden", "decoder", "constraints", "token", "deadline_ms", "labels",
    "nodes", "work", "tokenize", "sentences",
]  # fmt: skip


def random_bodies(seed, count):
    """Yield this many bodies, the same for the same seed."""
    rng = random.Random(seed)

    def value(depth=0):
        kind = rng.randrange(9 if depth < 4 else 6)
        if kind < 4:
            return [None, rng.random() < 0.5, rng.randrange(-3, 200), rng.uniform(-1e300, 1e300)][kind]
        if kind < 6:
            return rng.choice(WORDS)
        if kind == 6:
            return {rng.choice(WORDS): value(depth + 1) for _ in range(rng.randrange(4))}
        return [value(depth + 1) for _ in range(rng.randrange(4))]

    for _ in range(count):
        how = rng.randrange(4)
        if how == 0:
            yield rng.randbytes(rng.randrange(200))
            continue
        payload = value()
        if how > 1:
            payload = {"text": "Time flies."} if rng.random() < 0.5 else {"sentences": [["Time", "flies"]]}
            payload |= {rng.choice(FIELDS): value() for _ in range(rng.randrange(3))}
        body = json.dumps(payload).encode()
        yield body[: rng.randrange(len(body) + 1)] if how == 3 else body
