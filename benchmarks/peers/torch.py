"""The CRF layer for PyTorch compared with pytorch-crf and torch-struct, and decoding into arrays.

Each comparison is one process in which both take turns, and the ratio is of their best times on the processor's clock
with one thread; what two threads bring is on the wall clock. Answers are compared before anything is timed.
Trained-like scores have the spread that examples/torch_tagger.py ends with after three epochs on slots_snips: emissions
of a token a standard deviation of 2.4, its best label about 2 above the second, transitions one of 0.2. Flat ones are
noise: emissions and transitions of 1.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import tagwright as tw
from benchmarks.frame.bench import Bench, MissingError
from benchmarks.frame.timing import Outcome, apart, kernel_mb, limited

B, T = 32, 25
SIZES = (9, 49, 319, 1000, 3282)
SPREADS = {"trained-like": 0.2, "flat": 1.0}  # of transitions
KINDS = tuple(SPREADS)
PEERS = ("pytorch-crf", "torch-struct")
SECONDS, MEGABYTES = 900.0, 9000.0
AIMS = {"train": {9: 15, 49: 15, 319: 40, 1000: 60}, "decode": {9: 15, 49: 25, 319: 500, 1000: 400}}

Times = dict[str, float]


def need_torch() -> None:
    try:
        import torch  # noqa: F401
    except ImportError:
        raise MissingError("PyTorch is not installed: pip install 'tagwright[torch-peers]'") from None


def emissions_of(kind: str, L: int, shape: tuple[int, int] = (B, T)) -> Any:
    """Emissions and tags."""
    import torch

    torch.manual_seed(L)
    tags = torch.randint(0, L, shape)
    emissions = torch.randn(*shape, L)
    if kind == "trained-like":
        likely = torch.where(torch.rand(shape) < 0.95, tags, torch.randint(0, L, shape))
        emissions *= 2.4
        best = emissions.amax(2, keepdim=True) + 2 + torch.randn(*shape, 1)
        emissions.scatter_(2, likely.unsqueeze(2), best)
    return emissions, tags


def layers(L: int, kind: str, pairs: Any = "dense") -> tuple[Any, Any]:
    import torch
    import torchcrf

    from tagwright.torch import CRF

    ours = CRF(L, batch_first=True, edges=pairs)
    peer = torchcrf.CRF(L, batch_first=True) if isinstance(pairs, str) else None
    with torch.no_grad():
        ours.transitions.normal_(std=SPREADS[kind])
    if peer is not None:
        peer.load_state_dict(ours.state_dict())
    return ours, peer


def step(crf: Any, emissions: Any, tags: Any) -> Any:
    """A training step, as the optimiser needs it: loss and all gradients."""
    crf.zero_grad()
    emissions.grad = None
    loss = -crf(emissions, tags, reduction="mean")
    loss.backward()
    return loss.item()


def struct_parts(crf: Any, emissions: Any) -> Any:
    """torch-struct's distribution: potentials (B, T-1, current, previous)."""
    import torch
    from torch_struct import LinearChainCRF

    scores = crf.transitions.t() + emissions[:, 1:, :, None]
    first = scores[:, :1] + (emissions[:, 0] + crf.start_transitions)[:, None, None, :]
    scores = torch.cat([first, scores[:, 1:]], 1)
    last = scores[:, -1:] + crf.end_transitions[None, None, :, None]
    return LinearChainCRF(torch.cat([scores[:, :-1], last], 1))


def struct_step(crf: Any, emissions: Any, tags: Any) -> Any:
    from torch_struct import LinearChainCRF

    crf.zero_grad()
    emissions.grad = None
    parts = LinearChainCRF.struct.to_parts(tags, emissions.shape[2]).type_as(emissions)
    loss = -struct_parts(crf, emissions).log_prob(parts).mean()
    loss.backward()
    return loss.item()


def struct_decode(crf: Any, emissions: Any) -> Any:
    from torch_struct import LinearChainCRF

    found = struct_parts(crf, emissions).argmax
    return LinearChainCRF.struct.from_parts(found)[0].tolist()


def turns(
    runs: dict[str, Callable[[], Any]], seconds: float = 4.0, clock: Callable[[], float] = time.process_time
) -> Times:
    """The best time of each in milliseconds; measured in alternation, up to 30 turns, for about this many seconds.

    A turn is up to three runs, one behind the other, so that none is timed with the other's data in its cache only.
    """
    best = dict.fromkeys(runs, float("inf"))
    began = time.perf_counter()
    for turn in range(30):
        for name, run in runs.items():
            for _ in range(1 if best[name] > 1 else 3):
                start = clock()
                run()
                best[name] = min(best[name], clock() - start)
        if turn and time.perf_counter() - began > seconds:
            break
    return {name: 1e3 * value for name, value in best.items()}


def against(L: int, kind: str, peer: str | None) -> dict[str, Times]:
    """Training step and decoding of ours and of a peer, in this process; checked first."""
    import torch

    torch.set_num_threads(1)
    emissions, tags = emissions_of(kind, L)
    emissions.requires_grad_()
    ours, other = layers(L, kind)
    train: dict[str, Callable[[], Any]] = {"tagwright": partial(step, ours, emissions, tags)}
    decode: dict[str, Callable[[], Any]] = {"tagwright": partial(ours.decode, emissions)}
    if peer == "pytorch-crf":
        train[peer], decode[peer] = partial(step, other, emissions, tags), partial(other.decode, emissions)
    elif peer == "torch-struct":
        train[peer] = partial(struct_step, other, emissions, tags)
        decode[peer] = partial(struct_decode, other, emissions)
    values = {name: run() for name, run in train.items()}
    if max(values.values()) - min(values.values()) > 1e-4 * max(1.0, abs(values["tagwright"])):
        raise AssertionError(f"losses differ: {values}")
    answers = [run() for run in decode.values()]
    if any(answer != answers[0] for answer in answers):
        raise AssertionError("paths differ")
    return {"train": turns(train), "decode": turns(decode)}


def compared(L: int, kind: str, peer: str) -> dict[str, Any]:
    found: Outcome = limited(against, L, kind, peer, seconds=SECONDS, megabytes=MEGABYTES)
    if found.problem is None:
        return {"times": found.value, "problem": None}
    return {"times": apart(against, L, kind, None), "problem": found.problem}


def layer(bench: Bench) -> None:
    """A training step and decoding of 32 sentences of 25 tokens with dense transitions, one thread."""
    need_torch()
    sizes = SIZES[:2] if bench.quick else SIZES
    rows = []
    for kind in KINDS[: 1 if bench.quick else 2]:
        for L in sizes:
            found = {peer: bench.step(f"{peer} {kind} {L}", partial(compared, L, kind, peer)) for peer in PEERS}
            for what in ("train", "decode"):
                row = [kind, str(L), what, f"{min(own['times'][what]['tagwright'] for own in found.values()):.2f}"]
                for peer, own in found.items():
                    times, problem = own["times"][what], own["problem"]
                    if problem:
                        row += [problem, "-"]
                        continue
                    ratio = times[peer] / times["tagwright"]
                    row += [f"{times[peer]:.1f}", f"{ratio:.0f}"]
                    aim = AIMS[what].get(L)
                    if peer == "pytorch-crf" and kind == "trained-like" and aim:
                        claim = f"{what}: at least {aim} times as fast as pytorch-crf"
                        bench.claim(claim, f"{L} labels", f"{ratio:.0f}", str(aim), ratio >= aim)
                rows.append(row)
    header = ["emissions", "labels", "what", "tagwright, ms"]
    header += [name for peer in PEERS for name in (f"{peer}, ms", "times")]
    bench.table("layer", "A CRF layer, 32 x 25 tokens, dense transitions, one thread", header, rows)


def pairs_step(L: int, share: float, kind: str, threads: int) -> dict[str, float]:
    """A training step with weights for some pairs, compared with torch.exp of the emissions; and its memory."""
    import torch

    torch.set_num_threads(threads)
    emissions, tags = emissions_of(kind, L)
    emissions.requires_grad_()
    count = int(share * L * L)
    where = np.random.default_rng(0).choice(L * L, count, replace=False)
    ours, _ = layers(L, kind, (where // L, where % L))
    few, few_tags = emissions_of(kind, 9)
    step(layers(9, kind)[0], few.requires_grad_(), few_tags)  # What PyTorch loads at the first step is not its memory.
    size = emissions.numel() * 4 / 2**20
    reset_peak()
    before = kernel_mb("status")["VmRSS"]
    step(ours, emissions, tags)
    peak = kernel_mb("status")["VmHWM"] - before + size  # The emissions themselves count, too.
    with torch.no_grad():
        clock = time.process_time if threads == 1 else time.perf_counter
        runs = {"step": partial(step, ours, emissions, tags), "exp": partial(torch.exp, emissions.detach())}
        with torch.enable_grad():
            times = turns(runs, clock=clock)
    return {**times, "peak": peak, "emissions": size}


def reset_peak() -> None:
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")


def pairs(bench: Bench) -> None:
    """Weights for 1 % of the pairs at 3,282 labels: a step compared with one pass of torch.exp, and its memory."""
    need_torch()
    L = 319 if bench.quick else 3282
    rows = []
    for kind in KINDS:
        for threads in (1, 2):
            found = bench.step(f"{kind} {threads}", partial(apart, pairs_step, L, 0.01, kind, threads))
            ratio, memory = found["step"] / found["exp"], found["peak"] / found["emissions"]
            row = [kind, str(threads), f"{found['step']:.1f}", f"{found['exp']:.2f}", f"{ratio:.1f}", f"{memory:.1f}"]
            rows.append(row)
            where = f"{kind}, {threads} threads"
            bench.claim("a step takes at most 20 passes of exp", where, f"{ratio:.1f}", "20", ratio <= 20)
            bench.claim("a step holds at most 4 times its emissions", where, f"{memory:.1f}", "4", memory <= 4)
    header = ["emissions", "threads", "step, ms", "torch.exp, ms", "times", "memory, times the emissions"]
    bench.table("pairs", f"A training step of 32 x 25 tokens, {L} labels, weights for 1 % of the pairs", header, rows)


def small(sentences: int) -> dict[str, float]:
    """Many short sentences into arrays: microseconds per sentence, and what a second thread brings."""
    rng = np.random.default_rng(0)
    nodes = rng.normal(size=(sentences, 10, 9)).astype(np.float32)
    edges = tw.Edges(rng.normal(size=(9, 9)).astype(np.float32))
    one, two = (partial(tw.decode_arrays, nodes, edges, threads=threads) for threads in (1, 2))
    if not np.array_equal(one().labels, two().labels):
        raise AssertionError("threads change the answer")
    processor = turns({"one": one})
    wall = turns({"one": one, "two": two}, clock=time.perf_counter)
    return {"us": 1e3 * processor["one"] / sentences, "threads": wall["one"] / wall["two"]}


def arrays(bench: Bench) -> None:
    """decode_arrays on many short sentences: 10 tokens, 9 labels."""
    count = 1000 if bench.quick else 10_000
    found = bench.step("small", partial(apart, small, count))
    bench.claim("a sentence costs under 1 us", "10 tokens, 9 labels", f"{found['us']:.2f}", "1", found["us"] < 1)
    ratio = found["threads"]
    bench.claim("two threads reach 1.8 times one", "10 tokens, 9 labels", f"{ratio:.2f}", "1.8", ratio >= 1.8)
    rows = [[str(count), f"{found['us']:.2f}", f"{ratio:.2f}"]]
    header = ["sentences", "microseconds per sentence", "two threads, times one"]
    bench.table("arrays", "tw.decode_arrays, sentences of 10 tokens, 9 labels", header, rows)


PARTS = {part.__name__: part for part in (layer, pairs, arrays)}
