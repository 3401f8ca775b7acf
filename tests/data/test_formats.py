"""The registry of formats: names, guessing, and a format that is added to it."""

import io
import re
from itertools import chain
from pathlib import Path

import pytest

from tagwright.data import formats
from tagwright.data.files import DataError
from tagwright.data.reading import batches, read, text

CONTRIBUTING = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"


def test_names_differ_and_the_last_format_takes_everything():
    names = formats.format_names()
    assert names[0] == "auto"
    assert len(set(names)) == len(names) == len(formats.FORMATS) + 1
    assert formats.FORMATS[-1].has_token("", formats.Request(""))


@pytest.fixture
def slashes(monkeypatch):
    """The format that CONTRIBUTING shows, in the registry."""
    page = CONTRIBUTING.read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(# src/tagwright/data/slashes.py\n.*?)^```", page, flags=re.M | re.S)
    namespace = {"__name__": "slashes"}
    exec(compile(block, "slashes.py", "exec"), namespace)
    monkeypatch.setattr(formats, "FORMATS", (namespace["Slashes"], *formats.FORMATS))
    return namespace["Slashes"]


def test_a_format_is_a_class_and_its_place_in_the_registry(slashes):
    corpus = b"The/DT cat/NN\n\n1/2/CD cats/NNS sat/VBD\n"
    expected = [[["The"], ["cat"]], [["1/2"], ["cats"], ["sat"]]], [["DT", "NN"], ["CD", "NNS", "VBD"]]
    assert "slashes" in formats.format_names()
    assert read(io.BytesIO(corpus)) == read(io.BytesIO(corpus), format="slashes") == expected
    found = list(chain.from_iterable(batches(io.BytesIO(corpus), label="last")))
    assert [type(sentence.form) for sentence in found] == [slashes] * 2
    assert "".join(text(sentence, sentence.labels) for sentence in found) == corpus.decode().replace("\n\n", "\n")
    assert text(found[0], ["A", "B"], [0.5, 1]) == "The/A/0.500000 cat/B/1.000000\n"
    with pytest.raises(DataError, match=r"^<stream>:2: a word without a label"):
        read(io.BytesIO(b"The/DT\ncat\n"))
    # What it does not recognise is what it was before.
    assert read(io.BytesIO(b"The\tDT\n")) == ([[["The"]]], [["DT"]])
