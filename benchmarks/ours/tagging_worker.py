"""Times tagging with the installed version, whichever that is: run as a script by benchmarks/frame/versions.py.

Each line that comes in is a JSON object whose "what" names one of the functions below; what it returns is written as
one line of JSON. Every turn has a model that was loaded anew and has tagged other text and the first half of this one:
what is timed is text that is new to it.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import sys
import time
from typing import Any

import tagwright as tw
from tagwright.cli import main as command_line


class Worker:
    """A model and a text."""

    def __init__(self, model: str, text: str, out: str, few: str, *more: str) -> None:
        """Read both; `out` is a folder for files; few: how many sentences to take, or 0 for all.

        more: files of other text that the model has tagged before.
        """
        self.path, self.out = model, out
        X = tw.read(text)[0][: int(few) or None]
        half = len(X) // 2
        self.before, self.X = X[:half], X[half:]
        for other in more:
            self.before = tw.read(other)[0][: int(few) or None] + self.before
        self.tokens = sum(map(len, self.X))
        self.source = os.path.join(out, "text.txt")
        rows = ("".join("\t".join(row) + "\n" for row in rows) for rows in self.X)
        with open(self.source, "w", encoding="utf-8") as file:
            file.write("\n".join(rows) + "\n")
        self.nodes: list[Any] = []

    def about(self) -> dict[str, Any]:
        """Return the version, and sizes."""
        return {"version": tw.__version__, "tokens": self.tokens, "labels": len(tw.load(self.path).labels)}

    def check(self) -> dict[str, Any]:
        """Return a digest of the labels; they must be those of Viterbi on the model's scores."""
        model = self._model()
        found = model.tag_batch(self.X)
        self.nodes = [model.lattice(rows).nodes for rows in self.X]
        truth = tw.decode_batch(self.nodes, model.edges, 1, "viterbi")
        names = [[model.labels[y] for y in one.paths[0].labels] for one in truth]
        assert names == found, "tag_batch and Viterbi differ"
        return {"labels": hashlib.sha256(json.dumps(found).encode()).hexdigest()}

    def tag_batch(self, threads: int = 1, wall: bool = False) -> float:
        model = self._model()
        return _timed(lambda: model.tag_batch(self.X, threads=threads), wall)

    def tag_at_once(self, wall: bool = False) -> float:
        """Tag with a model that has tagged nothing yet, as `file` does."""
        model = tw.load(self.path)
        model.tag_batch(self.X[:1])
        return _timed(lambda: model.tag_batch(self.X), wall)

    def tag_kbest(self, k: int) -> float:
        model = self._model()
        return _timed(lambda: model.tag_kbest(self.X, k))

    def decode_batch(self) -> float:
        edges = self._model().edges
        return _timed(lambda: tw.decode_batch(self.nodes, edges))

    def text(self) -> float:
        model = self._model()
        return _timed(lambda: model.text(self.X))

    def file(self, threads: int = 1, wall: bool = False) -> float:
        """Tag a file by the command line, in this process, the model's opening included."""
        target = os.path.join(self.out, "tagged.txt")
        call = ["tag", "-m", self.path, "--threads", str(threads), "--format", "columns", self.source, "-o", target]
        return _timed(lambda: _run(call), wall)

    def stages(self) -> dict[str, float]:
        """Return the seconds of each stage from text to labels; not in earlier versions."""
        from tagwright.decoding.decoders import plan

        model = self._model()
        text = model.text(self.X)
        found: dict[str, float] = model._core.stages(text, model.edges._core, plan("auto").core)
        return found

    def opening(self) -> float:
        """Load the model and tag one sentence: what a file costs whatever its length."""
        return _timed(lambda: tw.load(self.path).tag_batch(self.X[:1]))

    def _model(self) -> tw.Model:
        model = tw.load(self.path)
        model.tag_batch(self.before)
        model.edges  # noqa: B018  (made on first use)
        return model


def _timed(run: Any, wall: bool = False) -> float:
    clock = time.perf_counter if wall else time.process_time
    start = clock()
    run()
    return clock() - start


def _run(call: list[str]) -> None:
    try:
        command_line.main(call)
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"{call} ended with {end.code}") from None
    finally:
        gc.enable()  # which `tag` switches off for the rest of its process


if __name__ == "__main__":
    worker = Worker(*sys.argv[1:])
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(getattr(worker, request.pop("what"))(**request)), flush=True)
