"""Draw tree.svg: the worked example of decoders/tree.md, with bounds, hot labels, survivors and the best path."""

import itertools
from pathlib import Path

import numpy as np

NODES = np.array([[5, 2, 4, 1], [6, 0, 1, 4], [0, 3, 1, 6]])
EDGES = np.array([[-1, 2, -1, 2], [-3, -3, -2, 0], [-2, 1, 0, -3], [-1, 0, 3, -1]])
LABELS = "ABCD"
X, Y = (150, 360, 570), (90, 160, 230, 300)


def decode() -> tuple[list[np.ndarray], list[int], list[set[int]], list[int]]:
    """Return the bounds, the hot label of each column but the last, the survivors and the best path."""
    out = EDGES.max(axis=1)
    bounds, hot = [NODES[0]], []
    for t in range(2):
        key = bounds[t] + out
        hot.append(int(key.argmax()))
        rest = np.delete(key, hot[t]).max()
        bounds.append(NODES[t + 1] + np.maximum(bounds[t][hot[t]] + EDGES[hot[t]], rest))
    greedy = [*hot, int(bounds[2].argmax())]
    floor = sum(NODES[t][y] for t, y in enumerate(greedy)) + sum(EDGES[i][j] for i, j in itertools.pairwise(greedy))
    survivors = [set(np.flatnonzero(bounds[2] >= floor).tolist())]
    behind = dict.fromkeys(survivors[0], 0)
    for t in (1, 0):
        sums = {i: max(EDGES[i][j] + NODES[t + 1][j] + score for j, score in behind.items()) for i in range(4)}
        behind = {i: score for i, score in sums.items() if bounds[t][i] + score >= floor}
        survivors.insert(0, set(behind))
    paths = np.ndindex(4, 4, 4)
    best = max(paths, key=lambda p: sum(NODES[t][y] for t, y in enumerate(p)) + EDGES[p[0], p[1]] + EDGES[p[1], p[2]])
    return bounds, hot, survivors, list(best)


def draw() -> str:
    bounds, hot, survivors, best = decode()
    made = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 400" width="700" height="400" role="img" '
        'aria-labelledby="title what" font-family="Helvetica, Arial, DejaVu Sans, sans-serif" font-size="15" '
        'fill="#111">',
        '<title id="title">The worked example of the tree decoder</title>',
        '<desc id="what">Three columns of four labels with node scores and upper bounds. One label per column is hot. '
        "Six of twelve nodes survive; the best path is A, A, D.</desc>",
        '<rect width="700" height="400" rx="6" fill="#fff"/>',
    ]
    for t in range(2):
        for i in survivors[t]:
            for j in survivors[t + 1]:
                on_path = (best[t], best[t + 1]) == (i, j)
                made.append(
                    f'<line x1="{X[t]}" y1="{Y[i]}" x2="{X[t + 1]}" y2="{Y[j]}" '
                    f'stroke="{"#111" if on_path else "#b5b5b5"}" stroke-width="{4 if on_path else 1.2}"/>'
                )
    for t, column in enumerate(bounds):
        made.append(f'<text x="{X[t]}" y="45" text-anchor="middle">token {t}</text>')
        for y, bound in enumerate(column):
            alive = y in survivors[t]
            dashed = "" if alive else ' stroke-dasharray="4 3"'
            fill, text = ("#111", "#fff") if best[t] == y else ("#fff", "#111" if alive else "#666")
            made.append(
                f'<circle cx="{X[t]}" cy="{Y[y]}" r="21" fill="{fill}" stroke="{"#111" if alive else "#bbb"}" '
                f'stroke-width="{1.6 if alive else 1.2}"{dashed}/>'
            )
            made.append(f'<text x="{X[t]}" y="{Y[y] + 5}" text-anchor="middle" fill="{text}">{NODES[t][y]}</text>')
            made.append(
                f'<text x="{X[t] + 27}" y="{Y[y] - 14}" font-size="13" stroke="#fff" '
                f'stroke-width="4" paint-order="stroke" fill="{"#111" if alive else "#666"}">'
                f"&#8804; {bound}</text>"
            )
            if t < 2 and hot[t] == y:
                made.append(f'<circle cx="{X[t]}" cy="{Y[y]}" r="26" fill="none" stroke="#c40" stroke-width="2"/>')
    for y, name in enumerate(LABELS):
        made.append(f'<text x="60" y="{Y[y] + 5}" text-anchor="middle">{name}</text>')
    for y, line in (
        (352, "Circle: node score. &#8804;: upper bound. Ring: hot label. Dashed: pruned by the floor of 16."),
        (374, "Thick lines: the best path, A A D, with a score of 18."),
    ):
        made.append(f'<text x="60" y="{y}" font-size="13">{line}</text>')
    return "\n".join([*made, "</svg>", ""])


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(draw(), encoding="utf-8")
