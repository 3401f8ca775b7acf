"""What constraints cost and gain: short lists of allowed labels, BIO over sparse edges, spans that are always legal.

Lists hold five labels per token: the one of the best labelling and those with the best scores. Times are CPU time of
one thread, taking turns, the best of several. Answers are checked before: the best labelling is still the best.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import tagwright as tw
from benchmarks.frame import data
from benchmarks.frame.bench import Bench, MissingError
from benchmarks.frame.data import Lattices

ALLOWED = 5
NARROW = {"all": 1.0, "95 %": 0.95}


def turns(runs: dict[str, Callable[[], Any]], most: int, seconds: float) -> dict[str, float]:
    """Return the best CPU time of each; all take turns."""
    best: dict[str, float] = {}
    spent = dict.fromkeys(runs, 0.0)
    for turn in range(most):
        for name, run in runs.items():
            if turn > 1 and spent[name] > seconds:
                continue
            began = time.process_time()
            run()
            took = time.process_time() - began
            spent[name] += took
            best[name] = min(best.get(name, took), took)
    return best


def lists_of(nodes: list[np.ndarray], best: list[Any], share: float) -> list[list[list[int] | None]]:
    """Return five labels for a share of the tokens, None for the others."""
    rng = np.random.default_rng(0)
    made: list[list[list[int] | None]] = []
    for scores, labels in zip(nodes, best, strict=True):
        top = np.argpartition(-scores, ALLOWED, axis=1)[:, :ALLOWED]
        few = [sorted({int(y), *own[: ALLOWED - 1].tolist()}) for own, y in zip(top, labels, strict=True)]
        made.append([own if rng.random() < share else None for own in few])
    return made


def decoded(case: Lattices, form: str, bench: Bench) -> dict[str, float]:
    """Return microseconds per token of decoding and of sums, for each share of tokens with lists."""
    edges = case.edges(form)
    nodes = case.nodes
    best = [found.paths[0].labels for found in tw.decode_batch(nodes, edges)]
    lists: dict[str, Any] = {name: lists_of(nodes, best, share) for name, share in NARROW.items()}
    for own in lists.values():
        for found, labels in zip(tw.decode_batch(nodes, edges, allowed=own), best, strict=True):
            if found.paths[0].labels.tolist() != labels.tolist():
                raise AssertionError("the best labelling was allowed, but was not found")
    lists = {"none": None, **lists}
    few = 2 if form == "dense" else 10
    made: dict[str, float] = {}
    for k in (1, 5):
        runs = {name: lambda own=own, k=k: tw.decode_batch(nodes, edges, k, allowed=own) for name, own in lists.items()}
        for name, seconds in turns(runs, 20, 1 if bench.quick else 5).items():
            made[f"decode k={k} {name}"] = seconds / case.tokens * 1e6
    tokens = sum(map(len, nodes[:few]))
    runs = {
        name: lambda own=own: tw.marginals_batch(nodes[:few], edges, allowed=own and own[:few])
        for name, own in lists.items()
    }
    for name, seconds in turns(runs, 20, 1 if bench.quick else 5).items():
        made[f"sums {name}"] = seconds / tokens * 1e6
    return made


def few_labels(bench: Bench) -> None:
    """Five labels allowed per token."""
    found = {}
    for name in ("supertag_erg", "morph_lv_lvtb"):
        case = data.stored(bench, name)
        for form in ("sparse", "dense"):
            found[f"{case.L:,} labels, {form}"] = bench.step(
                f"{name} {form}", lambda c=case, f=form: decoded(c, f, bench)
            )
    rows = []
    for name, times in found.items():
        for what in ("decode k=1", "decode k=5", "sums"):
            plain = times[f"{what} none"]
            row = [name, what, f"{plain:,.2f}"]
            for share in NARROW:
                row += [f"{times[f'{what} {share}']:,.2f}", f"{plain / times[f'{what} {share}']:,.0f}"]
            rows.append(row)
    head = ["edges", "", "all labels: us/token"]
    for share in NARROW:
        head += [f"5 labels at {share} tokens: us/token", "times faster"]
    bench.table("allowed labels", "Decoding and sums of given scores, five labels allowed", head, rows)
    for what, target in (("decode k=1", 20), ("sums", 50)):
        for name, times in found.items():
            if not name.startswith("3,282"):
                continue
            faster = times[f"{what} none"] / times[f"{what} all"]
            why = (
                "unconstrained, tree reads each score once, and that is most of what it costs" if what != "sums" else ""
            )
            bench.claim(f"{what}: {target} times faster", name, f"{faster:.0f}", f">= {target}", faster >= target, why)


def from_text(bench: Bench) -> None:
    """From text to labels, five labels allowed per token."""

    def measure() -> dict[str, float]:
        model = data.model(bench, "supertag_erg")
        X, _ = bench.read("supertag_erg", "test", 30)
        X = X[:200]
        nodes = [model.lattice(sentence).nodes for sentence in X]
        number = {name: y for y, name in enumerate(model.labels)}
        best = [[number[name] for name in labels] for labels in model.tag_batch(X)]
        lists: dict[str, Any] = {name: lists_of(nodes, best, share) for name, share in NARROW.items()}
        for own in lists.values():
            if model.tag_batch(X, allowed=own) != model.tag_batch(X):
                raise AssertionError("the best labelling was allowed, but was not found")
        runs = {name: lambda own=own: model.tag_batch(X, allowed=own) for name, own in {"none": None, **lists}.items()}
        tokens = sum(map(len, X))
        return {name: seconds / tokens * 1e6 for name, seconds in turns(runs, 20, 1 if bench.quick else 5).items()}

    times = bench.step("supertags", measure)
    rows = [[name, f"{took:.2f}", f"{times['none'] / took:.1f}"] for name, took in times.items()]
    bench.table(
        "from text", "From text to labels, 3,282 supertags", ["tokens with 5 labels", "us/token", "times faster"], rows
    )
    faster = times["none"] / times["all"]
    why = "features are found and looked up in any case"
    bench.claim("text to labels: 5 times faster", "3,282 labels", f"{faster:.1f}", ">= 5", faster >= 5, why)


def span_rules(bench: Bench) -> None:
    """BIO over many labels: what a rule costs on sparse edges, on a model whose labels are of the scheme."""

    def measure() -> dict[str, float]:
        case = data.stored(bench, "supertag_erg")
        L = case.L
        names = ["O", *(f"{prefix}-{n}" for n in range(L) for prefix in "BI")][:L]
        previous, current = np.nonzero(case.scores)
        edges = tw.Edges.from_exceptions(L, 0.0, previous, current, case.scores[previous, current])
        bio = tw.Constraints(names, "BIO")
        runs = {
            f"{decoder}, {what}": lambda d=decoder, c=own: tw.decode_batch(case.nodes, edges, decoder=d, constraints=c)
            for decoder in ("viterbi", "tree")
            for what, own in (("no rule", None), ("BIO", bio))
        }
        return {name: took / case.tokens * 1e6 for name, took in turns(runs, 10, 1 if bench.quick else 5).items()}

    times = bench.step("drawn names", measure)
    rows = [[name, f"{took:.1f}"] for name, took in times.items()]
    note = "Labels were named O, B-0, I-0, B-1, ...: the scores know nothing of the rule, which makes it hard."
    bench.table("rules", "BIO over 3,282 labels, sparse edges", ["", "us/token"], rows, note)


def illegal(labels: list[str]) -> int:
    """Return how many labels I-X do not follow B-X or I-X."""
    return sum(
        label.startswith("I-") and before[2:] != label[2:]
        for before, label in zip(["O", *labels], labels, strict=False)
    )


def legal_spans(bench: Bench) -> None:
    """Learnt models with and without BIO: transitions that are illegal, and F1 of spans."""
    rows = []
    for corpus, label, preset in (("chunk_conll2000", "3", "chunk"), ("slots_snips", "2", "query")):
        for name, learner in (
            ("perceptron", tw.Perceptron(preset, epochs=2 if bench.quick else 10)),
            ("CRF", tw.CRF(preset, solver=tw.LBFGS(max_iterations=5 if bench.quick else 40))),
        ):

            def measure(corpus: str = corpus, label: str = label, learner: Any = learner) -> dict[str, list[float]]:
                X, y = bench.read(corpus, "train", 300, label)
                X_test, y_test = bench.read(corpus, "test", 100, label)
                found = {}
                for what, own in (("without", None), ("trained with BIO", "BIO")):
                    learner.set_params(constraints=own).fit(X, y)
                    answers = {what: learner.predict(X_test)}
                    if own is None:
                        answers["BIO when tagging"] = learner.model_.tag_batch(X_test, constraints="BIO")
                    for how, labels in answers.items():
                        result = tw.evaluate(y_test, labels)
                        found[how] = [sum(map(illegal, labels)), 100 * result.spans.micro.f1]
                return found

            found = bench.step(f"{corpus} {name}", measure)
            for how, (wrong, f1) in found.items():
                rows.append([corpus, name, how, f"{wrong:.0f}", f"{f1:.2f}"])
                if how != "without":
                    bench.claim("no illegal transition", f"{corpus}, {name}, {how}", f"{wrong:.0f}", "0", wrong == 0)
    head = ["corpus", "learner", "constraints", "illegal transitions", "span F1"]
    bench.table("legal spans", "Labels of spans, with and without the rules of BIO", head, rows)


def masked_peer(bench: Bench) -> None:
    """BIO by pytorch-crf, with transitions that a mask lowers to -10,000, as AllenNLP does it; and by constraints."""
    try:
        import torch
        import torchcrf
    except ImportError:
        raise MissingError("PyTorch is not installed: pip install 'tagwright[torch-peers]'") from None

    def measure(L: int) -> dict[str, float]:
        torch.manual_seed(0)
        torch.set_num_threads(1)
        names = ["O", *(f"{prefix}-{n}" for n in range(L) for prefix in "BI")][:L]
        bio = tw.Constraints(names, "BIO")
        emissions = 2.4 * torch.randn(32, 25, L)
        peer = torchcrf.CRF(L, batch_first=True)
        may = torch.tensor([[bio.may_follow(i, j) for j in names] for i in names])
        first = torch.tensor([True] * L if bio.start is None else bio.start.tolist())
        with torch.no_grad():
            edges = tw.Edges(peer.transitions.numpy().copy(), start=peer.start_transitions.numpy().copy(),
                             stop=peer.end_transitions.numpy().copy())  # fmt: skip
            peer.transitions[~may] = -10_000.0
            peer.start_transitions[~first] = -10_000.0
        scores = emissions.numpy()
        runs = {
            "pytorch-crf, masked": lambda: peer.decode(emissions),
            "tagwright, constraints": lambda: tw.decode_arrays(scores, edges, constraints=bio),
        }
        if runs["pytorch-crf, masked"]() != runs["tagwright, constraints"]().labels[:, 0].tolist():
            raise AssertionError("the labellings differ")
        return {name: 1e3 * took for name, took in turns(runs, 10, 1 if bench.quick else 10).items()}

    rows = []
    for L in (9, 49) if bench.quick else (9, 49, 319, 1001):
        times = bench.step(f"{L} labels", lambda L=L: measure(L))
        peer, ours = times.values()
        rows.append([f"{L:,}", f"{peer:,.2f}", f"{ours:,.2f}", f"{peer / ours:,.0f}"])
    head = ["labels", "pytorch-crf with masks, ms", "tagwright with constraints, ms", "times faster"]
    bench.table("masks", "BIO in 32 sentences of 25 tokens, drawn emissions: decoding, one thread", head, rows)


PARTS = {
    "few_labels": few_labels,
    "from_text": from_text,
    "span_rules": span_rules,
    "legal_spans": legal_spans,
    "masked_peer": masked_peer,
}
