"""A small lattice, and scores that decoders and sums refuse."""

import numpy as np

NODES = np.array([[3.0, 1.0, 0.0], [0.0, 2.0, 1.0], [1.0, 0.0, 2.0]])
EDGES = np.array([[0.0, 1.0, -1.0], [2.0, 0.0, 0.0], [0.0, -2.0, 1.0]])


def bad(array, where, value):
    array = np.array(array, dtype=float)
    array[where] = value
    return array


# Nodes, edges, other arguments, and what the message says.
REFUSED = [
    (bad(NODES, (1, 2), np.nan), EDGES, {}, "token 1, label 2 is NaN"),
    (bad(NODES, (2, 0), np.inf), EDGES, {}, r"token 2, label 0 is \+inf"),
    (bad(NODES, (2, 0), 1e300), EDGES, {}, "beyond 1e290"),
    (bad(NODES, (2, 0), -1e300), EDGES, {}, "beyond 1e290"),
    (NODES, bad(EDGES, (1, 0), np.nan), {}, "edge score 1 -> 0 is NaN"),
    (NODES, np.stack([EDGES, bad(EDGES, (2, 1), np.inf)]), {}, r"2 -> 1 of step 1 is \+inf"),
    (NODES[:, :2], EDGES, {}, "for 2 labels, but the edges are for 3"),
    (NODES, EDGES[:2], {}, r"shape \(L, L\) or \(T-1, L, L\), not \(2, 3\)"),
    (NODES, np.stack([EDGES]), {}, "hold 1 steps, but 3 tokens have 2"),
    (NODES, EDGES, {"active": [[0], []]}, "names set 0 at step 0, but the edges have 0"),
    (NODES, EDGES, {"active": [[]]}, "has 1 steps, but 3 tokens have 2"),
    (NODES, EDGES, {"active": [3, 4]}, "for each step"),
]
