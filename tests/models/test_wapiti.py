"""Models and patterns of Wapiti, beside Wapiti itself."""

import gzip
import itertools
import math
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from support import wapiti
from support.commands import complaint, printed

import tagwright as tw
from tagwright import _core

EXAMPLES = Path(__file__).parents[2] / "examples"
PATTERNS = r"""
# words
U:w=%x[0,0]    # the word
u:l=%X[-1,0]/%X[ 0,0]

u:@=%x[@1,1]/%M[@-1,0,"..?$"]/%x[@3,0]
u:far=%x[-6,0]/%x[+6,0]
u:test=%t[-2,0,"\d"]%T[2,0,"^\u*$"]%t[0,0,"\p"]
u:odd=%m[0,0,"\l?x"]|%m[0,0,"a?\w*.?e"]|%x[0,1]
B
b:t=%t[-1,0,"\d"]%x[0,1]
*:s=%m[0,0,".?.?$"]
*:p=%M[0,0,"^.?.?.?"]
"""
# Two patterns for edges may make the same observation, which then counts twice; and so do two equal lines.
COLLIDING = 'u:%x[0,0]\nu:%x[-1,0]\nb:%x[0,1]\nb:%x[-1,1]\n*:%x[1,1]\nb\nb\n*\nb%m[0,0,"^z"]\n'
SINGLE = (
    'u:%x[0,0]\nu:%x[-1,0]/%x[@1,1]%x[@-1,0]\nu:%t[-1,0,"\\d"]%t[0,0,"\\d"]\nb:%x[0,0]\n*:%m[0,0,"..?$"]%m[@2,0,"."]\n'
)


class Case(NamedTuple):
    patterns: str | None
    options: dict


CASES = {
    "crf": Case(PATTERNS, {"maxiter": 15}),
    "l2": Case("*:%x[0,0]\nu:%x[1,1]\n", {"maxiter": 8, "rho1": 0.0, "rho2": 0.1, "compact": True}),
    "colliding": Case(COLLIDING, {"maxiter": 15}),
    "maxent": Case(PATTERNS, {"maxiter": 15, "type": "maxent"}),
    "single tokens": Case(SINGLE, {"maxiter": 15, "type": "maxent", "maxent": True}),
    "memm": Case(PATTERNS, {"maxiter": 15, "type": "memm"}),
    "memm, colliding": Case(COLLIDING, {"maxiter": 15, "type": "memm"}),
}


def sentences(name):
    """The rows of a corpus, with the label last."""
    blocks = (EXAMPLES / name).read_text(encoding="utf-8").strip().split("\n\n")
    return [[line.split() for line in block.split("\n")] for block in blocks]


def as_text(rows):
    return "\n".join("".join(" ".join(row) + "\n" for row in sentence) for sentence in rows)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """The path of each model; all are trained once."""
    folder, made = tmp_path_factory.mktemp("wapiti"), {}
    text = as_text(sentences("train.txt"))

    def path(name):
        if name not in made:
            made[name] = wapiti.train(
                folder / name.replace(" ", "_"), CASES[name].patterns, text, **CASES[name].options
            )
        return made[name]

    return path


def inputs():
    """Sentences of the test corpus and stranger ones, without labels."""
    rng = np.random.default_rng(4)
    rows = [[row[:2] for row in sentence] for sentence in sentences("test.txt")]
    words = [*{row[0] for sentence in rows for row in sentence}, "été", "日本", "3.14", "AT&T", "x", "xx", "ex"]
    tags = [*{row[1] for sentence in rows for row in sentence}, "nowhere"]
    drawn = [[[str(rng.choice(words)), str(rng.choice(tags))] for _ in range(rng.integers(1, 15))] for _ in range(60)]
    return rows + drawn


@pytest.mark.parametrize("name", CASES)
def test_labels_scores_and_probabilities(name, models):
    path, rows = models(name), inputs()
    text = as_text(rows)
    model = tw.load(path)
    assert model.facts["imported_from"] == "wapiti"
    if name == "single tokens":
        rows = [[row] for sentence in rows for row in sentence]
    memm = name.startswith("memm")
    best = [own[0] for own in model.tag_kbest(rows, 1, proba=not memm)]
    theirs = wapiti.Tagger(path, model.labels).tag(text)
    assert [own.labels for own in best] == [own.labels for own in theirs]
    for own, their in zip(best, theirs, strict=True):
        assert math.isclose(math.exp(own.score) if memm else own.score, their.score, rel_tol=1e-5, abs_tol=1e-6)
    if memm:
        assert all(model.proven(rows))
        return
    posteriors = wapiti.Tagger(path, model.labels, posteriors=True).tag(text)
    for own, their in zip(model.marginals(rows), posteriors, strict=True):
        ids = [model.labels.index(label) for label in their.labels]
        assert np.allclose(own[np.arange(len(ids)), ids], their.of_labels, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["crf", "colliding", "memm"])
def test_k_best(name, models):
    rows = inputs()[:40]
    model = tw.load(models(name))
    their = wapiti.api.Model(model=str(models(name)), nthread=1, nbest=3)
    for sentence in rows:
        found = their.label_sequence(as_text([sentence])).decode().strip().split("\n\n")
        own = [one.labels for one in model.tag_kbest([sentence], 3)[0]]
        assert own == [labels.split("\n") for labels in found][: len(own)]


def test_older_headers_and_gzip(models, tmp_path):
    data = models("crf").read_bytes()
    sentence = inputs()[0]
    expected = tw.import_model(data).tag_kbest([sentence], 2)
    older = re.sub(rb"^#mdl#2#", b"#mdl#", data)
    oldest = re.sub(rb"#rdr#(\d+/\d+)/0", rb"#rdr#\1", older)
    assert len(oldest) < len(older) < len(data)
    (tmp_path / "m.gz").write_bytes(gzip.compress(oldest))
    assert tw.import_model(older).tag_kbest([sentence], 2) == expected
    assert tw.load(tmp_path / "m.gz").tag_kbest([sentence], 2) == expected
    assert tw.import_model(data.replace(b"\n", b"\r\n")).tag_kbest([sentence], 2) == expected


def test_an_imported_model_is_an_ordinary_model(models, tmp_path):
    model, rows = tw.load(models("crf")), inputs()
    model.save(tmp_path / "m.safetensors")
    again = tw.load(tmp_path / "m.safetensors")
    assert again.tag_kbest(rows, 3, proba=True) == model.tag_kbest(rows, 3, proba=True)
    sentence = next(row for row in rows if len(row) > 3)
    assert model.tag(sentence, allowed=[["O"]] * len(sentence)) == ["O"] * len(sentence)
    for own in rows:
        labels = ["O", *model.tag(own, constraints="BIO")]
        for before, label in itertools.pairwise(labels):
            assert label[0] != "I" or before[2:] == label[2:]
    for t in range(len(sentence)):
        reasons = model.explain(sentence, t).reasons
        assert reasons[0].label == model.tag(sentence)[t]
    spans = model.spans(sentence)
    assert spans
    assert all(0 < span.probability <= 1 for span in spans)


def test_features_cut_inside_a_character_are_shown(tmp_path):
    text = as_text([[["été", "A"], ["né", "B"]], [["dé", "B"], ["Ö", "A"]]] * 5)
    path = wapiti.train(tmp_path / "m", 'u:%m[0,0,".$"]\n*:%m[0,0,"^."]\nb\n', text, rho1=0.01, maxiter=10)
    model = tw.load(path)
    assert model.tag([["né"], ["Ö"]]) == wapiti.Tagger(path, model.labels).tag("né\nÖ\n")[0].labels
    best = model.explain([["né"], ["Ö"]], 1).reasons[0]
    assert any("\N{REPLACEMENT CHARACTER}" in one.feature for one in best.contributions)
    assert "\N{REPLACEMENT CHARACTER}" in printed("info", path)


def test_features_given_without_patterns(tmp_path):
    rows = [[[f"u:{row[0]}", f"u:{row[1]}", row[2]] for row in sentence] for sentence in sentences("train.txt")]
    path = wapiti.train(tmp_path / "raw", None, as_text(rows), maxiter=8)
    model = tw.load(path)
    assert model.features is None
    test = [[[f"u:{word}", f"u:{tag}"] for word, tag in sentence] for sentence in inputs()]
    theirs = wapiti.Tagger(path, model.labels).tag(as_text(test))
    assert [model.tag(sentence) for sentence in test] == [own.labels for own in theirs]

    single = wapiti.train(tmp_path / "me", None, as_text(rows), maxiter=8, maxent=True)
    model = tw.load(single)
    theirs = wapiti.Tagger(single, model.labels).tag(as_text(test))
    assert [label for sentence in test for label in model.tag(sentence)] == [own.labels[0] for own in theirs]

    edges = [[[f"*:{row[1]}", row[2]] for row in sentence] for sentence in sentences("train.txt")[:20]]
    path = wapiti.train(tmp_path / "edges", None, as_text(edges), maxiter=8)
    with pytest.raises(tw.ModelError, match=r"edges: offset .* begin with b or . is not supported"):
        tw.load(path)


# Patterns


def of_tagwright(pattern, rows):
    """What the core makes of a pattern for each token, as bytes; edges begin at the second token."""
    features = tw.Features(pattern + "\n")
    found = features.core.expand(_core.Text.from_rows([rows], features.columns), 0)
    return [[one.encode("utf-8", "surrogateescape") for one in nodes + edges] for nodes, edges in found]


def test_patterns_make_the_same_observations():
    rows = inputs()[-60:]
    lines = [line.partition("#")[0].rstrip() for line in (PATTERNS + COLLIDING).splitlines()]
    for line in filter(None, lines):
        for sentence in rows:
            theirs = wapiti.observations(
                (line[0].lower() + line[1:]).encode(), [[cell.encode() for cell in row] for row in sentence]
            )
            # Plain b: no feature, but weights for pairs of labels.
            text = line[0].lower() + line[1:] + ("" if "%" in line else "\nu:x")
            found = of_tagwright(text, sentence)
            for t, their in enumerate(theirs):
                copies = {"u": 1, "b": t > 0, "*": 1 + (t > 0)}[text[0]] if "%" in line else text[0] == "*"
                assert found[t][: int(copies)] == [their] * int(copies)


def test_regular_expressions_match_the_same():
    rng = np.random.default_rng(11)
    pieces = [
        "a",
        "b",
        "É",
        ".",
        "\\.",
        "\\a",
        "\\d",
        "\\l",
        "\\p",
        "\\u",
        "\\w",
        "\\W",
        "\\U",
        "\\D",
        "\\]",
        '\\"',
        "$",
        ",",
    ]
    characters = list('aabbAB01.,é]"$')
    compared = 0
    for _ in range(3000):
        regex = "".join(
            str(rng.choice(pieces)) + str(rng.choice(["", "", "*", "?"])) for _ in range(rng.integers(0, 6))
        )
        regex = str(rng.choice(["", "^"])) + regex + str(rng.choice(["", "$"]))
        cell = "".join(rng.choice(characters, size=rng.integers(1, 7)))
        command = str(rng.choice(list("tTmM")))
        pattern = f'u:%{command}[0,0,"{regex}"]/%x[0,0]|%{command}[-1,0,"{regex}"]'
        theirs = wapiti.observations(pattern.encode(), [[cell.encode()]])
        assert of_tagwright(pattern, [[cell]]) == [theirs], (pattern, cell)
        compared += 1
    assert compared == 3000


def test_a_pattern_file_trains(tmp_path):
    (tmp_path / "patterns.txt").write_text(PATTERNS, encoding="utf-8")
    corpus, model = EXAMPLES / "train.txt", tmp_path / "m.safetensors"
    printed("train", corpus, model, "--features", tmp_path / "patterns.txt", "--learner", "crf")
    trained = tw.load(model)
    assert "u:w=%x[0,0]" in trained.features.text.lower()
    assert len(trained.arrays["corrections.set"]) > 0
    rows = sentences("train.txt")
    right = sum(
        own == row[2]
        for sentence in rows
        for own, row in zip(trained.tag([row[:2] for row in sentence]), sentence, strict=True)
    )
    assert right > 0.95 * sum(map(len, rows))


# Damage


def test_messages_name_the_place(models):
    data = models("crf").read_bytes()
    at = data.index(b"#qrk#")
    cases = {
        data[:-1]: rf"^offset {len(data) - 1}: the file is truncated",
        data[:-4]: rf"^offset {len(data) - 4}: the file is truncated",
        data + b"7=0x1p+0\n": rf"^offset {len(data)}: more weights than the header says",
        data[: at + 20]: r"^offset \d+: the file is truncated",
        data.replace(b"#mdl#2#", b"#mdl#3#"): "^offset 0: only the types 0 .maxent., 1 .MEMM. and 2 .CRF.",
        data[:at] + b"#qrx#" + data[at + 5 :]: rf"^offset {at}: '#qrk#' expected",
        re.sub(rb"\n\d+=", b"\n99999999999=", data, count=1): r"^offset \d+: a weight of no observation",
        re.sub(rb"=-?0x", b"=zz", data, count=1): r"^offset \d+: a number expected",
        data.replace(b"0x1", b"inf", 1): r"^offset \d+: ",
        data.replace(b"u:w=", b"x:w=", 1): r"^offset \d+: a pattern that begins with neither u, b nor \*",
        data.replace(b"u:w=", b"u:#=", 1): r"^offset \d+: a pattern with a comment",
        data.replace(b"u:w=", b"u:\xff=", 1): r"^offset \d+: a pattern is not UTF-8",
        re.sub(rb":O,\n", b":\xff,\n", data, count=1): r"^offset \d+: a label is not UTF-8",
        data.replace(b'"..?$"', b'"**?$"', 1): r"templates:3:\d+: \* follows no character",
    }
    for content, message in cases.items():
        assert content != data
        with pytest.raises(tw.ModelError, match=message):
            tw.import_model(content)
    far = "u:%x[-5,0]"
    single = models("single tokens").read_bytes().replace(b"9:u:%x[0,0],", f"{len(far)}:{far},".encode())
    with pytest.raises(tw.ModelError, match="rows beyond 4 are not supported"):
        tw.import_model(single)


def test_command(models, tmp_path):
    assert "imported from" in printed("import", models("memm"), "-o", tmp_path / "m.safetensors")
    assert "wapiti" in printed("info", tmp_path / "m.safetensors")
    tagged = printed("tag", "-m", models("crf"), "--format", "columns", EXAMPLES / "test.txt")
    assert len(tagged.splitlines()) >= len((EXAMPLES / "test.txt").read_text().splitlines())
    (tmp_path / "bad").write_bytes(models("crf").read_bytes()[:100])
    assert "bad: offset" in complaint("import", tmp_path / "bad", "-o", tmp_path / "m.safetensors")
