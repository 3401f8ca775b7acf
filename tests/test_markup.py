"""HTML from hostile text: it parses, shows what was given, and does nothing; and what objects show in notebooks."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.documents import HOSTILE, Document

import tagwright as tw
from tagwright.markup import Html, cut, html_table, join, notebook_table, shortened, tag, visible


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(st.text(max_size=20), min_size=2, max_size=2), max_size=5), st.text(max_size=20))
def test_tables_have_the_cells_that_were_given(rows, caption):
    page = Document(html_table(["one", caption], rows, caption=caption or None))
    assert page.texts["th"] == ["one", visible(caption)]
    assert page.texts.get("td", []) == [visible(cell) for row in rows for cell in row]
    assert page.texts.get("caption", []) == ([visible(caption)] if caption else [])
    page.check_quiet()


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_text_in_elements_and_attributes(text):
    page = Document(tag("table", tag("text", text, title=text, class_="a")))
    assert page.elements[1] == ("text", {"title": visible(text), "class": "a"})
    assert page.texts["text"] == [visible(text)]
    page.check_quiet()


def test_what_is_html_already_stays():
    assert tag("b", Html("<i>&amp;</i>"), "<") == "<b><i>&amp;</i>&lt;</b>"
    assert join([Html("<i/>"), "a"], "&") == "<i/>&amp;a"
    assert tag("rect", x=1.0, y=0.125, stroke_width=2, fill=None) == '<rect x="1" y="0.12" stroke-width="2"/>'


def test_hidden_characters_get_their_names():
    assert visible("a\x00\u202eb") == "a‹U+0000›‹U+202E›b"
    assert visible("\ud800") == "‹U+D800›"
    assert visible("\U0010ffff") == "‹U+10FFFF›"
    # Hebrew, a joiner in Persian, combining marks and an emoji are words.
    for word in ("שלום", "می\u200cخواهم", "a̸̢̛͓", "👩\u200d🔬", "tab-less text"):
        assert visible(word) == word


def test_text_is_cut_in_the_middle():
    assert cut("abcdefghij", 10) == "abcdefghij"
    assert cut("abcdefghijk", 10) == "abcdef…ijk"
    assert [len(cut("x" * 500, n)) for n in (2, 3, 10, 200)] == [2, 3, 10, 200]
    assert Document(shortened(range(102))).texts == {}
    assert shortened(["a", "<"]) == "a &lt;"
    assert shortened(range(102)).endswith(" 99 … and 2 more")


def test_a_table_shows_how_many_rows_it_leaves_out():
    page = Document(notebook_table(["n"], [[str(n)] for n in range(60)]))
    assert page.texts["td"] == [str(n) for n in range(50)]
    assert page.texts["p"] == ["… and 10 more"]


@pytest.fixture(scope="module")
def hostile_model():
    """A model whose labels no training would take, but a file may have."""
    X = [["<b>", "שלום", "\x07", *"abcdefghijkl"]]
    y = [[f"L{n}" for n in range(len(HOSTILE))]]
    model = tw.CRF(features="pos", solver=tw.LBFGS(l2=1.0, max_iterations=3)).fit(X, y).model_
    return X, type(model)(HOSTILE, model.features, model.arrays, {**model.facts, "note": HOSTILE[0]})


def test_a_tagging_shows_its_labels_and_their_probabilities(hostile_model):
    X, model = hostile_model
    best = model.tag_kbest(X, 1, proba=True)[0][0]
    page = Document(best._repr_html_())
    page.check_quiet()
    cells = page.texts["td"]
    rows = [cells[n : n + 3] for n in range(0, len(cells), 3)]
    assert rows == [
        [str(t), visible(cut(label)), f"{p:.4f}"]
        for t, (label, p) in enumerate(zip(best.labels, best.marginals, strict=True))
    ]
    assert page.texts["caption"] == [f"score {best.score:.6g}, probability {best.probability:.4g}"]
    plain = Document(model.tag_kbest(X, 1)[0][0]._repr_html_())
    assert plain.texts["th"] == ["token", "label"]


def test_a_decoding_shows_its_paths():
    found = tw.decode([[1.0, 0.0], [0.0, 0.5]], [[0.0, -1.0], [-1.0, 0.0]], k=3)
    page = Document(found._repr_html_())
    assert page.texts["td"] == ["1", "1", "0", "0 0", "2", "0.5", "-0.5", "0 1", "3", "0.5", "-0.5", "1 1"]
    assert page.texts["caption"][0].startswith("exact; ")
    page.check_quiet()
    beam = tw.decode(np.zeros((300, 2)), np.zeros((2, 2)), decoder="beam:1")
    assert "not proven, gap inf" in beam._repr_html_()
    assert "… and 200 more" in beam._repr_html_()
    assert "<table>" in tw.decode(np.zeros((0, 2)), np.zeros((2, 2)))._repr_html_()


def test_a_model_shows_what_info_shows(hostile_model):
    _, model = hostile_model
    page = Document(model._repr_html_())
    page.check_quiet()
    rows = dict(zip(page.texts["td"][::2], page.texts["td"][1::2], strict=True))
    assert rows["learner"] == "crf"
    assert rows["labels"] == str(len(model.labels))
    assert rows["note"] == HOSTILE[0]


def test_an_evaluation_shows_the_tables_that_it_prints():
    found = tw.evaluate([["B-<b>", "O"], ["O", HOSTILE[7]]], [["B-<b>", "O"], ["B-<b>", "O"]])
    page = Document(found._repr_html_())
    page.check_quiet()
    printed = [line for line in found.table().splitlines() if line and set(line) != {"-", " "}]
    shown = [" ".join(row).split() for row in page.rows]
    assert shown == [visible(line).split() for line in printed]
