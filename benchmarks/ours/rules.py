"""Rules about whole labellings, on the public model of usaddress and its labelled addresses.

usaddress rejects an address (RepeatedLabelError) if a label occurs in two separate runs. The data folder has a folder
usaddress with the files of its repository, training/ and measure_performance/, as they are. The model file is the one
of the installed package. Times are CPU time of one thread, taking turns, the best of several.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import tagwright as tw
from benchmarks.frame.bench import Bench, MissingDataError, MissingError
from benchmarks.ours.constraints import turns

FILES = {
    "labelled by hand": (
        "training/labeled.xml",
        "training/us50_messiest_manual_label.xml",
        "training/us50_train_tagged.xml",
        "training/multi_word_state_addresses.xml",
        "measure_performance/test_data/labeled.xml",
        "measure_performance/test_data/us50_test_tagged.xml",
        "measure_performance/test_data/simple_address_patterns.xml",
        "measure_performance/test_data/multi_word_state_addresses.xml",
    ),
    "from OpenStreetMap": (
        "training/synthetic_clean_osm_data.xml",
        "training/synthetic_osm_data_xml.xml",
        "measure_performance/test_data/synthetic_clean_osm_data.xml",
        "measure_performance/test_data/synthetic_osm_data.xml",
    ),
}

Address = tuple[list[str], list[str]]
"""Tokens and their labels."""


def package() -> Any:
    """Return the module usaddress."""
    try:
        import usaddress
    except ImportError:
        raise MissingError("usaddress is not installed: pip install usaddress") from None
    return usaddress


def addresses(bench: Bench, kind: str) -> list[Address]:
    """Return the labelled addresses of some files whose tokens are those of the tokeniser, each once."""
    usaddress = package()
    found: dict[tuple[str, ...], list[str]] = {}
    for name in FILES[kind]:
        path = bench.data / "usaddress" / name
        if not path.exists():
            raise MissingDataError(f"{path} is not there: it is {name} of github.com/datamade/usaddress")
        for address in elements(path):
            pairs = list(labelled(address))
            tokens = tuple(token for token, _ in pairs)
            if list(tokens) == usaddress.tokenize("".join(address.itertext())):
                found.setdefault(tokens, [label for _, label in pairs])
    made = [(list(tokens), labels) for tokens, labels in found.items() if tokens]
    return made[:200] if bench.quick else made


def elements(path: Path) -> Iterator[ElementTree.Element]:
    """Yield the addresses of a file, without those that are not well-formed: there is one."""
    for text in re.findall("<AddressString>.*?</AddressString>", path.read_text(encoding="utf-8"), re.DOTALL):
        with contextlib.suppress(ElementTree.ParseError):
            yield ElementTree.fromstring(text)


def labelled(address: ElementTree.Element) -> Iterator[tuple[str, str]]:
    """Yield the tokens of an address with their labels; punctuation behind an element belongs to its token."""
    for part in address:
        words = (part.text or "").split()
        for n, word in enumerate(words):
            tail = (part.tail or "").strip() if n + 1 == len(words) else ""
            yield word + tail, part.tag


def flat(features: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return features without nesting, under the names that python-crfsuite gives them."""
    made: dict[str, Any] = {}
    for name, value in features.items():
        made |= flat(value, f"{prefix}{name}:") if isinstance(value, dict) else {prefix + name: value}
    return made


def unambiguous(labels: list[str]) -> bool:
    """Return whether usaddress accepts a labelling: street names may occur once more behind an intersection."""
    seen: set[str] = set()
    last, second = "", False
    for label in labels:
        second = second or label == "IntersectionSeparator"
        name = f"Second{label}" if second and "StreetName" in label else label
        if name != last and name in seen:
            return False
        seen.add(name)
        last = name
    return True


def rules(labels: list[str]) -> tw.Constraints:
    """Return the condition of usaddress: counts for most of it, a predicate for the rest."""
    street = [label for label in labels if "StreetName" in label]
    once = [label for label in labels if label not in street]
    return tw.Constraints(labels, once=once, at_most=dict.fromkeys(street, 2), accept=unambiguous)


def measured(bench: Bench, kind: str) -> dict[str, float]:
    """Return how many addresses are rejected and right, with and without the rules, and what these cost."""
    usaddress = package()
    model = tw.load(Path(usaddress.MODEL_PATH))
    data = addresses(bench, kind)
    X = [[flat(token) for token in usaddress.tokens2features(tokens)] for tokens, _ in data]
    gold = [labels for _, labels in data]
    under = rules(model.labels)
    before = model.tag_batch(X)
    for (tokens, _), labels in zip(data, before, strict=True):
        if labels != usaddress.TAGGER.tag(usaddress.tokens2features(tokens)):
            raise AssertionError(f"python-crfsuite labels {tokens} otherwise")
    after = model.tag_batch(X, constraints=under)
    rejected = [n for n, labels in enumerate(before) if not unambiguous(labels)]
    if any(not unambiguous(labels) for labels in after):
        raise AssertionError("the rules were not applied")
    if any(before[n] != after[n] for n in {*range(len(X))} - {*rejected}):
        raise AssertionError("an address that satisfies the rules was labelled otherwise")
    lattices = [model.lattice(own) for own in X]
    nodes = [own.nodes for own in lattices]
    few, seconds = (2, 0.2) if bench.quick else (20, 5)
    times = turns(
        {
            "decode": lambda: tw.decode_batch(nodes, model.edges),
            "decode, rules": lambda: tw.decode_batch(nodes, model.edges, constraints=under),
            "tag": lambda: model.tag_batch(X),
            "tag, rules": lambda: model.tag_batch(X, constraints=under),
        },
        few,
        seconds,
    )
    searches = [found.work.rounds for found in tw.decode_batch(nodes, model.edges, constraints=under)]
    return {
        "addresses": len(X),
        "gold rejected": sum(not unambiguous(labels) for labels in gold),
        "rejected": len(rejected),
        "rejected, gold accepted": sum(unambiguous(gold[n]) for n in rejected),
        "right": sum(a == b for a, b in zip(before, gold, strict=True)),
        "right, rules": sum(a == b for a, b in zip(after, gold, strict=True)),
        "rejected and right, rules": sum(after[n] == gold[n] for n in rejected),
        "rejected: tokens right": sum(a == b for n in rejected for a, b in zip(before[n], gold[n], strict=True)),
        "rejected: tokens right, rules": sum(a == b for n in rejected for a, b in zip(after[n], gold[n], strict=True)),
        "rejected: tokens": sum(len(gold[n]) for n in rejected),
        "most searches": max(searches),
        **{name: own / len(X) * 1e6 for name, own in times.items()},
    }


def usaddress(bench: Bench) -> None:
    """Addresses that usaddress rejects since a label is repeated."""
    found = bench.steps({kind: lambda kind=kind: measured(bench, kind) for kind in FILES})
    rows = [[kind, *(f"{own[name]:,.0f}" for name in COLUMNS)] for kind, own in found.items()]
    bench.table("rejected", "Addresses of usaddress: rejected, and right under the rules", ["", *COLUMNS], rows)
    rows = [
        [kind, what, f"{own[what]:.2f}", f"{own[f'{what}, rules']:.2f}", f"{own[f'{what}, rules'] / own[what]:.2f}"]
        for kind, own in found.items()
        for what in ("decode", "tag")
    ]
    head = ["", "", "us per address", "with rules", "times"]
    bench.table("cost", "Time with and without rules: decoding of scores, tagging of features", head, rows)
    for kind, own in found.items():
        times = own["decode, rules"] / own["decode"]
        bench.claim("rules: below 2 times the time", kind, f"{times:.2f}", "< 2", times < 2)


COLUMNS = (
    "addresses", "rejected", "rejected, gold accepted", "rejected and right, rules", "rejected: tokens",
    "rejected: tokens right", "rejected: tokens right, rules", "right", "right, rules", "most searches",
)  # fmt: skip

PARTS = {"usaddress": usaddress}
