"""A user's script that uses every public name; test_public.py runs it and checks its types with mypy and pyright."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

import tagwright as tw
import tagwright.cluster
import tagwright.torch
from tagwright.decoding.decode import Decoding
from tagwright.decoding.decode import Path as LabelPath
from tagwright.decoding.marginals import BatchMarginals, Marginals
from tagwright.decoding.spans import Span
from tagwright.evaluation.result import Evaluation
from tagwright.models.agreement import Agreement
from tagwright.models.tagging import Tagging
from tagwright.reports.report import Report

CORPUS = """\
the\tDT
dog\tNN
barks\tVBZ

a\tDT
cat\tNN
sleeps\tVBZ
"""
LABELS = ["O", "B-NP", "I-NP"]


def decode_scores() -> None:
    nodes = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 1.5]])
    edges = tw.Edges(np.zeros((3, 3)), start=[0, 0, -np.inf])
    found: Decoding = tw.decode(nodes, edges, k=2)
    best: LabelPath = found.paths[0]
    same: float = tw.score(nodes, edges, best.labels)
    assert found.exact
    assert best.score == same

    decoders: list[str | tw.AStar | tw.Beam | tw.IterativeViterbiAStar | tw.Staggered] = [
        row.name for row in tw.decoders() if row.exact and row.maximises == "score"
    ]
    decoders += [tw.AStar(bound=None), tw.Beam(width=9), tw.IterativeViterbiAStar(extra=3), tw.Staggered(expand="all")]
    for decoder in decoders:
        assert tw.decode(nodes, edges, decoder=decoder).paths[0].score == best.score

    many: list[Decoding] = tw.decode_batch([nodes, nodes[:1]], edges, threads=2)
    labels: list[int] = tw.decode_arrays(nodes[None], edges).labels[0, 0].tolist()
    first: LabelPath = next(tw.paths(nodes, edges))
    assert many[0].paths[0].labels.tolist() == labels == first.labels.tolist()

    rules = tw.Constraints(LABELS, "BIO")
    names: list[str] = [LABELS[y] for y in tw.decode(nodes, edges, constraints=rules).paths[0].labels]
    assert names == ["B-NP", "I-NP"]

    sums: Marginals = tw.marginals(nodes, edges, constraints=rules)
    pruned: list[float] = [
        tw.marginals(nodes, edges, rule).log_z for rule in (tw.KeepDivergence(0.01), tw.KeepRatio(0.1), tw.KeepSize(2))
    ]
    batch: list[Marginals] = tw.marginals_batch([nodes], edges)
    counts: BatchMarginals = tw.marginals_batch(nodes[None], edges, edge_counts="sum")
    assert sums.log_z <= batch[0].log_z
    assert all(value <= batch[0].log_z + 1e-9 for value in pruned)
    assert abs(float(counts.edge_counts.sum()) - 1) < 1e-9
    drawn: np.ndarray[tuple[int, ...], np.dtype[np.int32]] = tw.sample(nodes, edges, n=5, seed=1)
    chunks: list[Span] = tw.spans(nodes, edges, LABELS)
    assert drawn.shape == (5, 2)
    assert chunks[0].label == "NP"

    def prefer(label: int) -> list[int]:
        return [label, label]

    agreed: Agreement = tw.dual_decomposition(lambda prices: prefer(1), lambda prices: prefer(1), T=2, L=3)
    assert agreed.agreed


def train_and_tag(folder: Path) -> None:
    corpus = folder / "corpus.txt"
    corpus.write_text(CORPUS * 3, encoding="utf-8")
    X, y = tw.read(corpus)
    features = tw.Features("pos")
    learners: Sequence[tw.Perceptron | tw.CRF | tw.HMM | tw.MEMM | tw.Bidirectional] = [
        tw.Perceptron(features, epochs=2),
        tw.CRF("pos", solver=tw.LBFGS(l2=0.1), constraints=tw.Constraints(["DT", "NN", "VBZ"], start=["DT"])),
        tw.CRF(solver=tw.AdaGrad(rate=0.2), epochs=2, pruning=tw.KeepDivergence(0.001)),
        tw.HMM(),
        tw.MEMM(),
        tw.Bidirectional(tw.Perceptron(epochs=2), tw.Perceptron(epochs=2)),
    ]
    for n, learner in enumerate(learners):
        learner.fit(X, y)
        path = folder / f"{n}.safetensors"
        learner.model_.save(path)
        model: tw.Model = tw.load(path)
        predicted: list[list[str]] = model.tag_batch(X)
        result: Evaluation = tw.evaluate(y, predicted)
        assert result.token_accuracy > 0.5
        measures: list[float] = [tw.token_accuracy(y, predicted), tw.sequence_accuracy(y, predicted)]
        assert measures[0] == result.token_accuracy
    spans: float = tw.span_f1([["B-NP", "I-NP"]], [["B-NP", "I-NP"]])
    assert spans == 1

    tagger = tw.load()
    tokens: list[str] = tw.tokenize("Time flies like an arrow.")
    vectors = tw.Vectors(["the", "dog"], np.eye(2))
    row: int | None = vectors.find("The")
    assert row == 0
    assert len(vectors.words) == len(vectors) == 2
    classes: list[str] = tw.word_classes([tokens, tokens, tokens], sizes=[2])
    assert classes[0].startswith("word\tclass")
    assert tw.sentences("Time flies. Fruit flies, too.")[1][0] == "Fruit"
    labels: list[str] = tagger.tag(tokens)
    ranked: list[Tagging] = tagger.tag_kbest([tokens], 2, proba=True)[0]
    assert ranked[0].labels == labels
    page: Report = tw.report(tagger, [tokens], [labels], worst=0)
    page.save(folder / "report.html")

    on_ray = tagwright.cluster.Ray(workers=2)  # passed to fit(cluster=...)
    assert on_ray.workers == 2
    in_batches = tagwright.cluster.BatchTagger(None, column="tokens")  # passed to map_batches of Ray Data
    assert in_batches({"tokens": [tokens]})["labels"][0] == labels


def report_errors(folder: Path) -> None:
    not_a_model = b"another file"
    for wrong in (
        lambda: tw.import_model(not_a_model),
        lambda: tw.load(folder / "corpus.txt"),
        lambda: tw.Features("U00:%x[0"),
        lambda: _read_bad(folder),
    ):
        try:
            wrong()
        except (tw.DataError, tw.ModelError, tw.TemplateError) as error:
            sys.stdout.write(f"{error}\n")
        else:
            raise AssertionError(wrong)


def _read_bad(folder: Path) -> None:
    (folder / "bad.txt").write_bytes(b"a\tB\n\xff\tC\n")
    tw.read(folder / "bad.txt")


def train_network() -> None:
    crf = tagwright.torch.CRF(3, batch_first=True)
    emissions = torch.zeros(1, 2, 3, requires_grad=True)
    loss = -crf(emissions, torch.tensor([[0, 2]]))
    loss.backward()
    best: list[list[int]] = crf.decode(emissions)
    ranked: tagwright.torch.KBest = crf.decode(emissions, k=2)
    assert ranked.labels[0][0] == best[0]


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        decode_scores()
        train_and_tag(Path(name))
        report_errors(Path(name))
        train_network()
    sys.stdout.write(f"tagwright {tw.__version__}: all names work\n")


if __name__ == "__main__":
    main()
