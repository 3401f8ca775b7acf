"""The model file: written whole, mapped, and never believed before it is checked."""

import copy
import json
import os
import pickle
import subprocess
import sys
import textwrap
from collections import UserDict
from types import MappingProxyType

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from sklearn.base import clone
from support.corpora import drawn, names_of, same_arrays, ten_sentences

import tagwright as tw
from tagwright import _core
from tagwright.cli.info import describe
from tagwright.learners.labels import label_parts
from tagwright.models import file as container

X10, Y10 = ten_sentences()
TEMPLATES = "U:%x[0,0]\nB\nB01:%x[0,0]\n"
SENTENCE = ["w0", "w1", "w2", "w1", "new"]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A model with everything that one can have, and its file."""
    path = tmp_path_factory.mktemp("small") / "model"
    features = TEMPLATES + "U1:%in[0,0,l]\n"
    learner = tw.Perceptron(features=tw.Features(features, {"l": ["w1"]}), epochs=3, pairs="observed")
    X, y = [["w0", "w1", "w2"], ["w1", "w0"], ["w2", "w2", "w1"]], [["A", "B", "C"], ["B", "A"], ["C", "A", "B"]]
    learner.fit(X, y)
    assert len(learner.model_.arrays["edges.score"]) < 9
    assert len(names_of(learner.model_.arrays, "edge_names")) > 1
    learner.model_.save(path)
    return learner.model_, path


def refused(path):
    """The message with which a file is refused: one line that names it."""
    with pytest.raises(tw.ModelError) as error:
        tw.load(path)
    message = str(error.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message


# There and back


def test_round_trip(small, tmp_path):
    model, path = small
    loaded = tw.load(path)
    assert same_arrays(loaded.arrays, model.arrays)
    assert (loaded.labels, loaded.facts) == (model.labels, model.facts)
    assert (loaded.features.text, loaded.features.lists) == (model.features.text, {"l": ["w1"]})
    assert loaded.tag_kbest([SENTENCE], 9) == model.tag_kbest([SENTENCE], 9)
    # What was loaded can be saved, and safetensors reads it.
    loaded.save(tmp_path / "again")
    assert container.read(tmp_path / "again")[1] == container.read(path)[1]
    assert same_arrays(load_file(tmp_path / "again"), model.arrays)


def test_a_model_may_be_saved_over_its_own_file(small, tmp_path):
    path = tmp_path / "model"
    small[0].save(path)
    loaded = tw.load(path)
    before = {name: array.copy() for name, array in loaded.arrays.items()}
    loaded.save(path)
    assert same_arrays(loaded.arrays, before)
    assert same_arrays(tw.load(path).arrays, before)


@pytest.fixture
def mapped(monkeypatch):
    """Takes every file for a large one."""
    monkeypatch.setattr(container, "LARGE_FILE", 0)


def test_large_files_are_mapped_and_shared(small, mapped):
    path = small[1]
    one, other = tw.load(path), tw.load(path)
    assert one.tag_kbest([SENTENCE], 9) == small[0].tag_kbest([SENTENCE], 9)
    for name in one.arrays:
        for array in (one.arrays[name], other.arrays[name]):
            assert not array.flags.writeable
            assert not array.flags.owndata
        with pytest.raises(ValueError, match="read-only"):
            one.arrays[name][:1] = 0
    if os.path.exists("/proc/self/maps"):
        with open("/proc/self/maps") as file:
            maps = [line for line in file if line.rstrip().endswith(str(path))]
        assert len(maps) >= 2
        assert all(line.split()[1] in ("r--p", "r--s") for line in maps)


CUT = """
    import os, shutil, sys
    import tagwright as tw
    from tagwright.models.model import BUILT_IN

    shutil.copy(BUILT_IN, sys.argv[1])
    model = tw.load(sys.argv[1])
    os.truncate(sys.argv[1], 4096)
    assert model.tag("the dog barks loudly .".split()) == tw.load().tag("the dog barks loudly .".split())
    with open(sys.argv[1], "r+b") as file:
        file.write(b"\\xff" * len(BUILT_IN.read_bytes()))
    assert model.tag("the dog barks loudly .".split()) == tw.load().tag("the dog barks loudly .".split())
"""


def test_a_file_that_is_cut_while_its_model_is_in_use(tmp_path):
    """A map of what is no longer there would end the process with SIGBUS."""
    command = [sys.executable, "-c", textwrap.dedent(CUT), str(tmp_path / "model")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_arrays_of_a_trained_model_are_read_only(small):
    """The core checks them once, and then trusts them."""
    for array in small[0].arrays.values():
        with pytest.raises(ValueError, match="read-only"):
            array[:1] = 0


def test_a_model_outlives_its_arrays_and_its_file(small, tmp_path):
    path = tmp_path / "model"
    small[0].save(path)
    model = tw.load(path)
    before = model.tag_kbest([SENTENCE], 3)
    path.unlink()
    model.arrays = dict(model.arrays)
    assert model.tag_kbest([SENTENCE], 3) == before


def test_names_of_every_kind(tmp_path):
    X, y = [["é", "中文", "😀", "\x00", "", "a b"]], [["É", "名", "😀", "O", "B-x|y", '"{']]
    model = tw.Perceptron(features="U:%x[0,0]\nU1:%x[-1,0]\nB\n").fit(X, y).model_
    assert model.tag_batch(X) == y
    path = tmp_path / "Modell ä中"
    model.save(path)
    loaded = tw.load(path)
    assert loaded.tag_batch(X) == y
    assert loaded.labels == model.labels


def test_a_starred_template_means_the_same_after_loading(tmp_path):
    lists = {"z": ["w0", "w1"], "m": ["w1", "w2"], "a": ["w2", "w3 w4"]}
    features = "U:%in[0,0,*]\nU1:%in[-1,0,*]/%in[1,0,*]\nU2:%x[0,0]\n"
    model = tw.Perceptron(features=tw.Features(features, lists), epochs=7).fit(*drawn(2)).model_
    model.save(tmp_path / "model")
    loaded = tw.load(tmp_path / "model")
    assert loaded.features.templates == model.features.templates
    sentences = drawn(3)[0]
    for sentence in sentences:
        assert loaded.lattice(sentence).nodes.tobytes() == model.lattice(sentence).nodes.tobytes()


def test_starred_templates_of_earlier_versions_mean_what_they_meant(tmp_path, monkeypatch):
    features = tw.Features("U:%in[0,0,*]\nU2:%x[0,0]\n", {"z": ["w0"], "m": ["w1", "w2"]}, finds=False)
    model = tw.Perceptron(features=features, epochs=3).fit(*drawn(2)).model_
    text = _core.Text.from_rows([["w9"]], 1)
    assert features.core.expand(text, 0)[0][0] == ["U:O@m", "U:O@z", "U2:w9"]
    answer = tw.Model.meta
    monkeypatch.setattr(tw.Model, "meta", lambda self: {k: v for k, v in answer(self).items() if k != "finds"})
    model.save(tmp_path / "old")
    monkeypatch.undo()
    loaded = tw.load(tmp_path / "old")
    loaded.save(tmp_path / "again")
    for sentence in drawn(3)[0]:
        nodes = [own.lattice(sentence).nodes.tobytes() for own in (model, loaded, tw.load(tmp_path / "again"))]
        assert len(set(nodes)) == 1


def test_built_in():
    model = tw.load()
    assert model.tag(["The", "dog", "sees", "the", "cat", "."])[:2] == ["DT", "NN"]
    assert model.knows("dog")
    assert not model.knows("xyzzyx")


COPIES = {"copy": copy.deepcopy, "pickle": lambda one: pickle.loads(pickle.dumps(one))}
LEARNERS = [
    tw.Perceptron(),
    tw.Perceptron(parts="", margin=1),
    tw.Perceptron(features=tw.Features("U:%in[0,0,l]/%x[0,0]\nB01:%x[0,0]\n", {"l": ["can"]})),
    tw.HMM(),
]


@pytest.mark.parametrize("again", COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("learner", LEARNERS, ids=["plain", "parts", "templates", "hmm"])
def test_copies_predict_the_same(learner, again, tmp_path):
    learner = clone(learner).fit(X10, Y10)
    model = learner.model_
    X = [*X10, ["unheard", "of", "words"], []]
    model.save(tmp_path / "model")
    for other in (again(learner).model_, again(model), again(tw.load(tmp_path / "model"))):
        assert other is not model
        assert same_arrays(other.arrays, model.arrays)
        assert not any(np.shares_memory(other.arrays[name], model.arrays[name]) for name in model.arrays)
        assert (other.labels, other.facts) == (model.labels, model.facts)
        assert other.tag_kbest(X, 3) == model.tag_kbest(X, 3)
    assert again(learner).predict(X) == learner.predict(X)
    assert again(learner).score(X10, Y10) == learner.score(X10, Y10)
    assert not hasattr(clone(again(learner)), "model_")


@pytest.mark.parametrize("pairs", ["touched", "observed"])
@pytest.mark.parametrize("separator", ["", "N"])
def test_round_trip_of_parts(tmp_path, separator, pairs):
    model = tw.Perceptron(parts=separator, pairs=pairs, epochs=3).fit(X10, Y10).model_
    assert max(model.arrays["rows.label"]) >= len(model.labels)
    model.save(tmp_path / "model")
    loaded = tw.load(tmp_path / "model")
    assert same_arrays(loaded.arrays, model.arrays)
    assert loaded.facts["options"]["parts"] == separator
    X = [*X10, ["unheard", "of", "words"], []]
    for sentence in X:
        assert loaded.lattice(sentence).nodes.tobytes() == model.lattice(sentence).nodes.tobytes()
    for threads in (1, 3):
        assert loaded.tag_kbest(X, 4, threads=threads) == model.tag_kbest(X, 4)
    described = describe(loaded)
    assert f"{len(model.labels)}\n" in described


def test_label_parts():
    def numbers(labels, separator):
        found, count = label_parts(labels, separator)
        assert found.dtype == np.uint16
        return found.reshape(-1, len(labels)).tolist(), count

    assert label_parts(["A|x", "B"], None)[1] == len(label_parts(["A|x", "B"], None)[0]) == 0
    # First parts A, B; second x, y. The same text in another place is another part.
    assert numbers(["A|x", "A|y", "B|x"], "|") == ([[0, 0, 1], [2, 3, 2]], 4)
    assert numbers(["A|B", "B|A"], "|") == ([[0, 1], [2, 3]], 4)
    # Where one has fewer parts, the rest are the empty part of that place.
    assert numbers(["A|x|1", "A", "A|y", "|y"], "|") == ([[0, 0, 0, 1], [2, 3, 4, 4], [5, 6, 6, 6]], 7)
    assert numbers(["ab", "b", "aé"], "") == ([[0, 1, 0], [2, 3, 4]], 5)
    assert numbers(["A|x", "B"], "+") == ([[0, 1]], 2)
    # Each character of the separator separates.
    assert numbers(["A-x|1", "A|x", "B"], "|-") == ([[0, 0, 1], [2, 2, 3], [4, 5, 5]], 6)
    assert numbers(["A-x", "AB", "A]C", "A^C", "A\\C"], "]^-\\") == ([[0, 1, 0, 0, 0], [2, 3, 4, 4, 4]], 5)


def test_more_labels_and_parts_than_fit():
    labels = [f"L{n}" for n in range(32_768)]
    with pytest.raises(ValueError, match=r"32768 labels with 32768 parts are more than 65,535 together"):
        label_parts(labels, "|")
    assert label_parts(labels[1:], "|")[1] == 32_767


def test_rows_of_every_size():
    """Rows from one label to all of them: sparse ones and whole ones are added by different loops."""
    L = 37
    labels = [f"L{n}" for n in range(L)]
    rng = np.random.default_rng(0)
    sizes = np.arange(1, L + 1)
    keys = np.concatenate([np.sort(rng.choice(L, n, replace=False)) for n in sizes]).astype(np.uint16)
    weights = rng.normal(size=len(keys)).astype(np.float32)
    names = [f"f{n}" for n in sizes]
    slots, ends, text = _core.index_arrays(names)
    empty = {f"edges.{part}": np.empty(0, np.uint16) for part in ("previous", "current")}
    arrays = {
        **{"names.slots": slots, "names.ends": ends, "names.bytes": text, **empty},
        **{"edges.score": np.empty(0, np.float32), "rows.end": np.cumsum(sizes).astype(np.uint64)},
        **{"rows.label": keys, "rows.weight": weights},
    }
    model = tw.Model(labels, None, arrays, {})
    table = np.zeros((L, L))
    table[np.repeat(np.arange(L), sizes), keys] = weights
    values = [1, -2, 0.5, 0, 3]
    tokens = [{name: value} for name in names for value in values]
    truth = np.concatenate([[row * value for value in values] for row in table])
    np.testing.assert_allclose(model.lattice(tokens).nodes, truth, rtol=1e-5)
    all_at_once = {name: 0.5 + n for n, name in enumerate(names)}
    found = model.lattice([all_at_once]).nodes[0]
    np.testing.assert_allclose(found, (0.5 + np.arange(L)) @ table, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", [UserDict, MappingProxyType])
def test_mappings_are_read_like_dicts(kind):
    tokens = [[{"w": word, "n": 2.5, "in": {"of": {"a": word[0]}, "b": True}} for word in words] for words in X10]

    def as_kind(value):
        return kind({k: as_kind(v) for k, v in value.items()}) if isinstance(value, dict) else value

    others = [list(map(as_kind, sentence)) for sentence in tokens]
    learner, other = tw.Perceptron(epochs=3).fit(tokens, Y10), tw.Perceptron(epochs=3).fit(others, Y10)
    assert {"w:the", "n", "in:of:a:t", "in:b"} <= set(names_of(other.model_.arrays))
    assert same_arrays(learner.model_.arrays, other.model_.arrays)
    assert learner.predict(others) == other.predict(tokens) == learner.predict(tokens)
    with pytest.raises(ValueError, match="sentence 0, token 1 is a dict of ready-made features, but text is needed"):
        tw.HMM().fit([["a", others[0][0]]], [["A", "B"]])


def test_numbers_of_numpy_are_numbers(tmp_path):
    options = {"epochs": 2, "seed": 3, "margin": 1, "min_count": 1}
    plain = tw.Perceptron(features=TEMPLATES, **options).fit(X10, Y10).model_
    numpy = tw.Perceptron(features=TEMPLATES, **{name: np.int64(value) for name, value in options.items()})
    numpy.fit(X10, Y10, checkpoint=tmp_path / "checkpoint").model_.save(tmp_path / "model")
    for name in ("model", "checkpoint"):
        assert tw.load(tmp_path / name).tag_kbest(X10, 2) == plain.tag_kbest(X10, 2)


# Files that are no models


def test_files_that_are_not_models(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"")
    assert "not a tagwright model (0 bytes)" in refused(path)
    path.write_bytes(b"1234567")
    assert "not a tagwright model (7 bytes)" in refused(path)
    path.write_text("The\tDT\ncat\tNN\n" * 50)
    assert "not a tagwright model" in refused(path)
    path.write_bytes(b"\x00" * 64)
    assert "not a tagwright model" in refused(path)
    path.write_bytes((2**62).to_bytes(8, "little") + b"{}")
    assert "not a tagwright model" in refused(path)
    path.write_bytes((1000).to_bytes(8, "little") + b"{}")
    assert "cut short, or not a tagwright model" in refused(path)
    path.write_bytes((100_000).to_bytes(8, "little") + b"[" * 100_000)
    assert "not a tagwright model" in refused(path)
    for meta in (None, {}, {"tagwright": "{}"}, {"tagwright": "5", "digest": ""}, {"tagwright": "[", "digest": ""}):
        save_file({"weight": np.ones((2, 2))}, path, meta)
        assert "a safetensors file of another kind" in refused(path)
    with pytest.raises(IsADirectoryError):
        tw.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        tw.load(tmp_path / "none")


def test_a_newer_format(small, tmp_path):
    arrays, meta = container.read(small[1])
    container.write(tmp_path / "newer", arrays, meta | {"format": container.FORMAT + 1})
    message = refused(tmp_path / "newer")
    assert f"written in format {container.FORMAT + 1}, but this tagwright reads {container.FORMAT}" in message


def test_files_cut_at_every_length(small, tmp_path):
    whole = small[1].read_bytes()
    path = tmp_path / "cut"
    for length in [*range(0, len(whole), 7), *range(len(whole) - 40, len(whole))]:
        path.write_bytes(whole[:length])
        refused(path)
    path.write_bytes(whole)
    assert tw.load(path).tag(SENTENCE) == small[0].tag(SENTENCE)


def test_a_flipped_bit_is_never_believed(small, tmp_path):
    whole = small[1].read_bytes()
    model, _ = small
    path = tmp_path / "flipped"
    accepted = 0
    for at in range(len(whole)):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << at % 8
        path.write_bytes(damaged)
        try:
            loaded = tw.load(path)
        except tw.ModelError:
            continue
        # Blanks between the header and the arrays may be other blanks.
        accepted += 1
        assert same_arrays(loaded.arrays, model.arrays), at
        assert (loaded.labels, loaded.facts, loaded.features.text) == (model.labels, model.facts, model.features.text)
    assert accepted < 10


def refused_header(source, path, change):
    """Write the file `source` with another header, which is refused; `change` makes its text of the old one."""
    whole = source.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    text = change(json.loads(whole[8 : 8 + length])).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + whole[8 + length :])
    refused(path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("shape", "[1e999]"),
        ("shape", "[-1]"),
        ("shape", "[2, 2]"),
        ("shape", "[1.5]"),
        ("shape", "null"),
        ("shape", "[9223372036854775807]"),
        ("data_offsets", "[0, 1e999]"),
        ("data_offsets", "[-8, 0]"),
        ("data_offsets", "[0]"),
        ("data_offsets", "[0, 18446744073709551616]"),
        ("data_offsets", '{"a": 0}'),
        ("dtype", '"C64"'),
        ("dtype", "[]"),
        ("dtype", '"F64"'),
    ],
)
def test_headers_that_describe_no_array(small, tmp_path, key, value):
    def change(header):
        header["rows.weight"][key] = "HERE"
        return json.dumps(header).replace('"HERE"', value)

    refused_header(small[1], tmp_path / "header", change)


@pytest.mark.parametrize("entry", [None, 5, [], "text", {}])
def test_header_entries_that_are_not_arrays(small, tmp_path, entry):
    refused_header(small[1], tmp_path / "header", lambda header: json.dumps({**header, "more": entry}))


def test_digest():
    rng = np.random.default_rng(0)
    for n in (0, 1, 7, 127, 128, 129, 300, 128 * 16, 128 * 33 + 5):
        data = rng.integers(0, 3, n, dtype=np.uint8)
        variants = {_core.digest([data]), _core.digest([np.append(data, np.uint8(0))]), _core.digest([data, data[:0]])}
        assert len(variants) == 3
        visited = {_core.digest([data])}
        for at in range(n):
            changed = data.copy()
            changed[at] ^= 1 << at % 8
            visited.add(_core.digest([changed]))
        assert len(visited) == n + 1
    # Pieces that change places, near and far.
    blocks = rng.integers(0, 256, (40, 128), dtype=np.uint8)
    orders = [np.arange(40)] + [np.roll(np.arange(40), shift) for shift in (1, 16, 17, 32)]
    for i, j in [(0, 1), (0, 16), (3, 39), (15, 16)]:
        orders.append(np.arange(40))
        orders[-1][[i, j]] = j, i
    assert len({_core.digest([np.ascontiguousarray(blocks[order]).ravel()]) for order in orders}) == len(orders)


# Files whose digest is right and whose contents are wrong


def changed(name, change):
    return lambda arrays, _: arrays.update({name: change(arrays[name].copy())})


def with_value(name, at, value):
    def change(array):
        array[at] = value
        return array

    return changed(name, change)


def without(*names):
    def drop(arrays, _):
        for name in names:
            del arrays[name]

    return drop


def saying(**meta):
    return lambda _, old: old.update(meta)


def both(*changes):
    def change(arrays, meta):
        for one in changes:
            one(arrays, meta)

    return change


def all_edges(arrays, _):
    """As many edges as there can be: bad ones among them must be found all the same."""
    arrays["edges.previous"] = np.repeat(np.arange(3), 3).astype(np.uint16)
    arrays["edges.current"] = np.tile(np.arange(3), 3).astype(np.uint16)
    arrays["edges.score"] = np.ones(9, np.float32)


def crowded(array):
    """A table without an empty slot: every feature once, and no end to a search."""
    return array[array > 0]


WRONG = {
    "a label beyond L": with_value("rows.label", 0, 3),
    "row ends that fall": with_value("rows.end", 0, 2**40),
    "rows that end early": with_value("rows.end", -1, 1),
    "a row too many": changed("rows.end", lambda a: np.append(a, a[-1:])),
    "a weight too many": changed("rows.weight", lambda a: np.append(a, a[-1:])),
    "a label too few": changed("rows.label", lambda a: a[:-1]),
    "NaN weight": with_value("rows.weight", 0, np.nan),
    "infinite weight": with_value("rows.weight", 0, np.inf),
    "a slot that names no feature": changed("names.slots", lambda a: np.where(a > 0, a | np.uint64(0xFFFFFF), a)),
    "no empty slot": changed("names.slots", crowded),
    "a slot too few": changed("names.slots", lambda a: a * np.uint64(0)),
    "no slots": changed("names.slots", lambda a: a[:0]),
    "names that end beyond the bytes": with_value("names.ends", -1, 2**31),
    "name ends that fall": with_value("names.ends", 0, 2**20),
    "bytes too few": changed("names.bytes", lambda a: a[:-1]),
    "no empty slot for edges": changed("edge_names.slots", crowded),
    "edge names too long": changed("edge_names.bytes", lambda a: a[:-1]),
    "rows.end of a wrong type": changed("rows.end", lambda a: a.astype(np.float32) + 0.5),
    "an edge beyond L": with_value("edges.previous", 0, 3),
    "an edge beyond L among all": both(all_edges, with_value("edges.current", 0, 3)),
    "edges of unequal length": changed("edges.current", lambda a: a[:-1]),
    "all edges of unequal length": both(all_edges, changed("edges.current", lambda a: a[:-1])),
    "one score for all edges": changed("edges.score", lambda a: a[:1]),
    "NaN edge": with_value("edges.score", 0, np.nan),
    "NaN edge among all": both(all_edges, with_value("edges.score", 0, np.nan)),
    "+inf edge": with_value("edges.score", 0, np.inf),
    "a start too short": lambda arrays, _: arrays.update(start=np.zeros(2)),
    "NaN start": lambda arrays, _: arrays.update(start=np.full(3, np.nan)),
    "a stop too long": lambda arrays, _: arrays.update(stop=np.zeros(4)),
    "negative set": with_value("corrections.set", 0, -1),
    "huge set": with_value("corrections.set", -1, 2**31 - 1),
    "a set that has no name": changed("corrections.set", lambda a: a + 1),
    "a set beyond the names": with_value("corrections.set", -1, 1_000_000),
    "a name without a set": changed("corrections.set", lambda a: np.maximum(a - 1, 0)),
    "a correction beyond L": with_value("corrections.previous", 0, 9),
    "a correction beyond L among all edges": both(all_edges, with_value("corrections.previous", 0, 9)),
    "NaN correction": with_value("corrections.score", 0, np.nan),
    "corrections of unequal length": changed("corrections.score", lambda a: a[:-1]),
    "corrections without scores, all edges": both(all_edges, without("corrections.score")),
    "names of sets without sets": without(*(f"corrections.{p}" for p in ("set", "previous", "current", "score"))),
    "sets without names": without(*(f"edge_names.{part}" for part in ("slots", "ends", "bytes"))),
    "no labels": saying(labels=[]),
    "labels too few": saying(labels=["A"]),
    "labels that are none": saying(labels=None),
    "a label twice": saying(labels=["A", "A", "B"]),
    "labels that are no text": saying(labels=[1, 2, 3]),
    "wrong templates": saying(templates="U:%nope[0,0]\n"),
    "templates that are no text": saying(templates=5),
    "no templates": saying(templates=""),
    "a list that is not there": saying(lists={}),
    "lists that are a list": saying(lists=["a"]),
    "a list that is a file": saying(lists={"l": __file__}),
    "a list that is not a file": saying(lists={"l": "/none/such"}),
    "a list that is a number": saying(lists={"l": 5}),
    "a list of numbers": saying(lists={"l": [5]}),
    "a list named *": saying(templates="U:%in[0,0,*]\n", lists={"*": ["a"]}),
    "facts that are a list": saying(facts=[1]),
    "facts that are none": saying(facts=None),
    "no facts": lambda _, meta: meta.pop("facts"),
    "no word of labels": lambda _, meta: meta.pop("labels"),
    "no word of lists": lambda _, meta: meta.pop("lists"),
}
for _name in ("rows.end", "rows.label", "rows.weight", "names.slots", "names.ends", "names.bytes", "edges.previous",
              "edges.current", "edges.score", "edge_names.slots", "edge_names.ends", "edge_names.bytes",
              "corrections.set", "corrections.previous", "corrections.current", "corrections.score"):  # fmt: skip
    WRONG[f"no {_name}"] = without(_name)


def refused_contents(source, path, change):
    """Write the file `source` with other contents, which are refused."""
    arrays, meta = container.read(source)
    before = {name: array.copy() for name, array in arrays.items()}, dict(meta)
    change(arrays, meta)
    assert not same_arrays(arrays, before[0]) or meta != before[1]
    container.write(path, arrays, meta)
    refused(path)


@pytest.mark.parametrize("what", WRONG)
def test_wrong_contents_are_reported_at_once(small, tmp_path, what):
    assert len(small[0].labels) == 3
    refused_contents(small[1], tmp_path / "wrong", WRONG[what])


WRONG_PARTS = {
    "no parts": without("parts"),
    "a part too few": changed("parts", lambda a: a[:-1]),
    "a part too many": changed("parts", lambda a: np.append(a, a[-1:])),
    "parts of a wrong type": changed("parts", lambda a: a.astype(np.int32)),
    "no part at all": changed("parts", lambda a: a[:0]),
    "fewer parts than weights name": changed("parts", lambda a: a * np.uint16(0)),
    "more parts than there can be": with_value("parts", 0, 2**16 - 1),
    "a weight for a part that is not there": with_value("rows.label", 0, 2**16 - 1),
}


@pytest.fixture(scope="module")
def parted(tmp_path_factory):
    """A model of labels that are made of parts."""
    path = tmp_path_factory.mktemp("parted") / "model"
    tw.Perceptron(features=TEMPLATES, parts="", epochs=3).fit(X10, Y10).model_.save(path)
    return path


@pytest.mark.parametrize("what", WRONG_PARTS)
def test_wrong_parts_are_reported_at_once(parted, tmp_path, what):
    refused_contents(parted, tmp_path / "wrong", WRONG_PARTS[what])


@pytest.mark.slow
@pytest.mark.parametrize("which", ["small", "parted"])
def test_random_contents_never_crash(small, parted, tmp_path, which):
    """Whatever numbers a file holds: it is refused, or it tags or says why not."""
    code = """
import sys
import numpy as np, tagwright as tw
from tagwright.models import file as container
arrays, meta = container.read(sys.argv[1])
rng = np.random.default_rng(0)
refused = 0
for n in range(400):
    name = sorted(arrays)[n % len(arrays)]
    array = arrays[name].copy()
    raw = array.view(np.uint8)
    raw[rng.integers(0, len(raw), rng.integers(1, 4))] = rng.integers(0, 256)
    if name == "corrections.set" and array.max() > 1_000_000:
        continue
    container.write(sys.argv[2], {**arrays, name: array[: rng.integers(len(array) + 1)] if n % 5 == 0 else array}, meta)
    try:
        model = tw.load(sys.argv[2])
    except tw.ModelError:
        refused += 1
        continue
    try:
        model.tag_kbest([["w0", "w1", "w2", "w1", "new"]], 3)
    except ValueError:
        pass
print(refused)
"""
    path = {"small": small[1], "parted": parted}[which]
    command = [sys.executable, "-c", code, str(path), str(tmp_path / "random")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100


# Writing


def test_a_write_that_fails_leaves_the_old_file(small, tmp_path):
    model, _ = small
    target = tmp_path / "model"
    model.save(target)
    before = target.read_bytes()
    for meta in ({"x": object()}, {"x": float("nan")}, {"x": {1, 2}}):
        with pytest.raises((TypeError, ValueError)):
            container.write(target, model.arrays, meta)
    with pytest.raises((TypeError, ValueError)):
        container.write(target, {"a": np.array([object()])}, {})
    assert target.read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


def test_a_write_to_nowhere(small, tmp_path):
    with pytest.raises(OSError, match="No such file or directory") as error:
        small[0].save(tmp_path / "none" / "model")
    assert "none" in str(error.value)
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        small[0].save(tmp_path / "folder")
    assert os.listdir(tmp_path) == ["folder"]
    assert not os.listdir(tmp_path / "folder")


def test_a_file_that_is_saved_has_the_usual_permissions(small, tmp_path):
    before = os.umask(0o022)
    try:
        small[0].save(tmp_path / "model")
    finally:
        os.umask(before)
    assert (tmp_path / "model").stat().st_mode & 0o777 == 0o644


# What a model says about itself


def tables_of(text):
    """The tables of a text: lists of lines, header first."""
    tables = [block.split("\n") for block in text.split("\n\n")]
    return [lines for lines in tables if len(lines) > 1 and set(lines[1]) == {"-", " "}]


@pytest.mark.parametrize("learner", [tw.Perceptron(features=TEMPLATES), tw.HMM(), tw.Perceptron("pos")], ids=repr)
def test_describe(learner):
    model = learner.fit(X10, Y10).model_
    arrays = model.arrays
    text = describe(model, labels=3, most=2)
    summary, *history, features, edges = tables_of(text)
    assert len(history) == (1 if model.history else 0)
    for lines in (summary, *history, features, edges):
        # Every column begins and ends where its rule does.
        gaps = [at for at, sign in enumerate(lines[1]) if sign == " "]
        assert gaps
        for line in lines:
            assert all(line.ljust(len(lines[1]))[at] == " " for at in gaps)
            assert len(line) <= len(lines[1])
    said = dict(line.split(maxsplit=1) for line in reversed(summary[2:]))
    assert said["learner"] == model.facts["learner"]
    assert int(said["labels"]) == len(model.labels)
    assert int(said["features"].replace(",", "")) == len(arrays["rows.end"])
    assert int(said["weights"].replace(",", "")) == len(arrays["rows.weight"])
    names = names_of(arrays)
    for number, label in enumerate(model.labels[:3]):
        weights = np.where(arrays["rows.label"] == number, arrays["rows.weight"], -np.inf)
        at = int(np.argmax(weights))
        feature = names[int(np.argmax(arrays["rows.end"] > at))]
        (line,) = (line for line in features if line.startswith(f"{label} "))
        assert line.split() == [label, f"{weights[at]:.2f}", feature]
    best, worst = int(np.argmax(arrays["edges.score"])), float(np.min(arrays["edges.score"]))
    i, j = (model.labels[arrays[f"edges.{part}"][best]] for part in ("previous", "current"))
    assert edges[2].split() == [i, "->", j, f"{arrays['edges.score'][best]:.2f}"]
    assert edges[-1].split()[-1] == f"{worst:.2f}"
    assert "templates: " in text


def test_describe_a_model_with_nothing_in_it():
    model = tw.Perceptron(features="U:%x[0,0]\n", epochs=1).fit([["a"]], [["A"]]).model_
    assert "0 of 1" in describe(model)
    assert repr(model) == "Model(perceptron, 1 labels, 1 features, 0 weights)"


def test_a_slot_that_names_nothing_is_refused(small):
    model, _ = small
    slots = model.arrays["names.slots"].copy()
    slots[np.flatnonzero(slots)[0]] &= np.uint64(0xFFFFFFFF00000000)
    with pytest.raises(ValueError, match="a slot names no feature"):
        tw.Model(model.labels, model.features, {**model.arrays, "names.slots": slots}, model.facts)


def test_a_checkpoint_that_is_loaded_and_saved_is_a_model(tmp_path):
    X, y = [["a", "b"]], [["A", "B"]]
    tw.Perceptron(features="U:%x[0,0]\n", epochs=2).fit(X, y, checkpoint=tmp_path / "c")
    tw.load(tmp_path / "c").save(tmp_path / "m")
    arrays, meta = container.read(tmp_path / "m")
    assert not [name for name in arrays if name.startswith("state.")]
    assert "going_on" not in meta
    with pytest.raises(ValueError, match="a finished model, not a checkpoint"):
        tw.Perceptron(features="U:%x[0,0]\n", epochs=2).fit(X, y, checkpoint=tmp_path / "m")


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_checkpoint_whose_weights_are_no_numbers_is_refused(tmp_path, bad):
    X, y = [["a", "b"]], [["A", "B"]]
    path = tmp_path / "c"
    tw.Perceptron(features="U:%x[0,0]\n", epochs=1).fit(X, y, checkpoint=path)
    arrays, meta = container.read(path)
    weights = np.array(arrays["state.nodes.weight"])
    weights[0] = bad
    container.write(path, {**arrays, "state.nodes.weight": weights}, meta)
    with pytest.raises(ValueError, match="a weight that is not finite"):
        tw.Perceptron(features="U:%x[0,0]\n", epochs=2).fit(X, y, checkpoint=path)


def test_a_link_is_followed(small, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "m").touch()
    (tmp_path / "link").symlink_to(tmp_path / "real" / "m")
    small[0].save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert tw.load(tmp_path / "real" / "m").labels == small[0].labels
