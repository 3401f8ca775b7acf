"""The page for everyone: by keyboard and screen reader, on small screens, with long sentences and unusual words."""

import urllib.parse

import pytest
from selenium.webdriver.common.keys import Keys
from support.browser import view
from support.corpora import ten_sentences
from support.pages import CONTRASTS, axe_findings, open_page, quiet
from support.servers import served, until

import tagwright as tw
from tagwright.models.model import BUILT_IN

pytestmark = pytest.mark.slow
TIME_FLIES = "#text=Time+flies+like+an+arrow.&k=6"
TWO_SENTENCES = "#text=Time+flies+like+an+arrow.+They+can+fish."
X10, Y10 = ten_sentences()
MANY_WORDS = 500
UNUSUAL = [
    "x" * 3000, "\u200b", "\u202eevil\u202c", "שלום", "مرحبا", "می\u200cخواهم", "👩\u200d👩\u200d👧",
    "e" + "\u0301" * 40, "\u00ad", "日本語",
]  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    long = [[f"{label}-{'long' * 20}|Case=Nom|Number=Sing" for label in own] for own in Y10]
    tw.CRF(solver=tw.LBFGS(l2=0.1)).fit(X10, long).model_.save(folder / "long.safetensors")
    chunks = [["B-NP" if label == "DT" else "I-NP" if label[0] == "N" else "O" for label in own] for own in Y10]
    tw.CRF(solver=tw.LBFGS(l2=0.1)).fit(X10, chunks).model_.save(folder / "chunks.safetensors")
    names = [part for name in ("long", "chunks") for part in ("-m", folder / f"{name}.safetensors")]
    with served("-m", f"english={BUILT_IN}", *names) as running:
        yield running


@pytest.fixture(scope="module")
def opened(tmp_path_factory, server):
    made = open_page(tmp_path_factory.mktemp("profile"), server)
    yield made
    made.browser.quit()


@pytest.fixture
def page(opened):
    view(opened.browser, 1180, 1500)
    yield from quiet(opened)


def link(words, **more):
    return "#" + urllib.parse.urlencode({"text": " ".join(words), **more})


def tab_stops(page):
    return page.run("return [...document.querySelectorAll('body *')].filter((e) => e.tabIndex >= 0).length")


def test_only_what_is_in_view_is_drawn(page):
    words = [f"word{n}" for n in range(MANY_WORDS)]
    page.open(link(words, model="chunks", token=3))
    labels = page.server.tag(sentences=[words], model="chunks")[0]["labels"]
    assert page.run("return document.querySelectorAll('body *').length") < 3000
    assert tab_stops(page) < 80
    drawn = page.run("return [...document.querySelectorAll('#best .word')].map((e) => Number(e.dataset.token))")
    assert drawn == list(range(len(drawn)))
    assert page.words == words[: len(drawn)]
    # All the rest by scrolling: of the words, of the lattice, of the probabilities.
    page.run("const e = document.getElementById('best'); e.scrollTop = e.scrollHeight")
    until(lambda: page.words[-1:] == words[-1:])
    assert page.labels[-5:] == labels[-5:]
    assert page.run("return document.querySelectorAll('#best .word').length") < MANY_WORDS / 2
    for selector, last in ((".scroll:has(> #lattice)", ".node"), ("#heat", "#heat thead th")):
        page.run("const e = document.querySelector(arguments[0]); e.scrollLeft = e.scrollWidth", selector)
        until(lambda last=last: page.all(f'{last}[data-token="{MANY_WORDS - 1}"]'))
        assert not page.all(f'{last}[data-token="{MANY_WORDS // 2}"]')
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    # And by keyboard.
    page.focus('#best [tabindex="0"]')
    page.press(Keys.HOME)
    assert page.focused == "word:0"
    page.press(Keys.END)
    assert page.focused == f"word:{MANY_WORDS - 1}"
    page.press(Keys.ARROW_UP, Keys.ARROW_LEFT, Keys.ENTER, waits=True)
    above = int(page.focused.removeprefix("word:"))
    assert MANY_WORDS // 2 < above < MANY_WORDS - 2
    assert page.texts(".verdict")[0].startswith(words[above])


def test_edges_cannot_have_the_focus(page):
    page.open(TIME_FLIES)
    assert page.all(".edge")
    focused = page.run("""
        return [...document.querySelectorAll("#lattice *")].filter((e) => {
          e.focus();
          return document.activeElement === e && !e.matches(".node");
        }).length;
    """)
    assert focused == 0
    assert len(page.all("#lattice [tabindex='0']")) == 1
    assert len(page.all("#best [tabindex='0']")) == 1


def test_the_lattice_by_keyboard(page):
    page.open(TIME_FLIES)
    page.focus('.node[tabindex="0"]')
    page.press(Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    assert page.focused == "node:1:NNS"
    assert page.run("return document.activeElement.getAttribute('aria-label')").startswith("flies: NNS")
    assert "behind the best" in page.text("#tip")
    page.press(Keys.ENTER, waits=True)
    assert page.labels[1] == "NNS"
    assert page.focused == "node:1:NNS"
    assert page.run("return document.activeElement.getAttribute('aria-pressed')") == "true"
    page.press(Keys.ENTER, waits=True)
    assert page.labels[1] == "VBZ"
    page.press(Keys.ARROW_UP)
    assert page.focused == "node:1:VBZ"
    page.press(Keys.DELETE, waits=True)
    assert page.labels[1] == "NNS"
    assert page.focused == "node:1:NNS"


def test_the_focus_stays_where_it_was(page):
    page.open(TIME_FLIES)
    page.focus('#best [tabindex="0"]')
    page.press(Keys.ARROW_RIGHT, Keys.ENTER, waits=True)
    assert page.focused == "word:1"
    assert page.one("#token").is_displayed()
    for key in ("force:NNS", "forbid:NNS", "clear"):
        page.focus(f'[data-key="{key}"]')
        page.press(Keys.ENTER, waits=True)
        # The last button is gone with the rules: the word is next.
        assert page.focused == ("word:1" if key == "clear" else key)
    page.focus("#close")
    page.press(Keys.ENTER, waits=True)
    assert page.focused == "word:1"
    for name in ("text", "k", "model", "decoder"):
        page.focus(f"#{name}")
        page.set("k", 3 if name == "k" else 4, "input")
        assert page.focused == name
    page.open(TWO_SENTENCES)
    page.focus('[data-key="next"]')
    page.press(Keys.ENTER, waits=True)
    assert "sentence 2 of 2" in page.text("#sentences")
    assert page.focused == "next"
    # The uncertain words of the text: one tab stop, arrow keys, Enter.
    page.focus("#uncertainty mark[tabindex='0']")
    page.press(Keys.END)
    marked = page.focused
    assert marked.startswith("mark:1:")
    page.press(Keys.ENTER, waits=True)
    assert page.focused == marked
    assert page.one("#token").get_attribute("data-token") == marked.split(":")[2]


def test_labels_are_announced(page):
    page.open(TIME_FLIES)
    words = ["Time", "flies", "like", "an", "arrow", "."]
    live = page.run(
        "return [...document.querySelectorAll('[role=status], [aria-live]:not([aria-live=off])')].map((e) => e.id)"
    )
    assert live == ["live"]
    assert page.text("#live") == "Labels: " + ", ".join(map(" ".join, zip(words, page.labels, strict=True)))
    page.click('.node[data-token="1"][data-label="NNS"]')
    assert page.text("#live").startswith("flies changes from VBZ to NNS")
    page.click('#best [data-token="4"]')
    assert page.text("#live").startswith("No label changes")


def test_back_and_escape(page):
    page.open(TIME_FLIES)
    best = page.labels
    page.click('#best [data-token="1"]')
    page.click('.choice[data-label="NNS"] button')
    assert page.labels[1] == "NNS"
    page.set("text", "They can fish.", "input")
    page.set("text", "They can fish now.", "input")
    until(lambda: page.words == ["They", "can", "fish", "now", "."])
    for labels, token in (([best[0], "NNS", *best[2:]], True), (best, True), (best, False)):
        page.browser.back()
        until(lambda labels=labels: page.labels == labels)
        page.drawn()
        assert page.one("#token").is_displayed() == token
    page.browser.forward()
    until(page.one("#token").is_displayed)
    page.drawn()
    page.focus('.choice[data-label="NNS"] button')
    page.press(Keys.ESCAPE, waits=True)
    assert not page.one("#token").is_displayed()
    assert page.focused == "word:1"
    assert "token" not in page.run("return location.hash")


def test_everything_has_a_name_for_those_who_cannot_see_it(page):
    page.open(TIME_FLIES + "&token=1")
    nameless = page.run("""
        const named = (e) => e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length;
        const all = document.querySelectorAll("button, select, input, textarea, [role=button], [role=option]");
        return [...all].filter((e) => !named(e)).map((e) => e.outerHTML);
    """)
    assert nameless == []
    named = page.run(
        "const heading = (s) => document.getElementById(s.getAttribute('aria-labelledby'));"
        "return [...document.querySelectorAll('section')].every(heading)"
    )
    assert named
    assert page.run("return document.documentElement.lang") == "en"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious(page, dark):
    view(page.browser, 1180, 1500, dark)
    for shown in (
        TIME_FLIES + "&token=1&other=decoder:beam&allowed=1:NNS",
        "#model=chunks&text=the+dog+can.",
        *([] if dark else [TWO_SENTENCES]),
    ):
        page.open(shown)
        page.run("for (const e of document.querySelectorAll('details')) e.open = true")
        assert axe_findings(page) == []
    page.open("#text=Dogs&allowed=0:NN&forbidden=0:NN")
    assert page.one("#error").is_displayed()
    assert axe_findings(page) == []
    page.browser.get_log("browser")  # the browser's own message about the refused request


SCREENS = [("wide", 1280, False), ("dark", 1280, True), ("phone", 390, False), ("phone_dark", 390, True)]


@pytest.mark.parametrize(("name", "width", "dark"), SCREENS, ids=[screen[0] for screen in SCREENS])
def test_screens(page, name, width, dark):
    """No part of the page is wider than the screen, and text stands out from its ground, whatever the words are."""
    view(page.browser, width, 1500, dark)
    for kind, shown in {
        "": TIME_FLIES + "&token=1",
        "_unusual": link([*UNUSUAL, "can"], model="long", token=0),
    }.items():
        page.open(shown)
        page.run("for (const e of document.querySelectorAll('details')) e.open = true")
        assert page.run("return document.documentElement.scrollWidth <= innerWidth")
        assert outside(page) == []
        contrasts = page.run(CONTRASTS)
        assert len(contrasts) > 40
        assert min(contrasts) >= 4.5
        page.picture(name + kind)


def outside(page):
    """Return what is drawn beyond its section, except in parts that can be scrolled."""
    return page.run("""
        const made = [];
        for (const section of document.querySelectorAll("section, form")) {
          const edge = section.getBoundingClientRect();
          for (const e of section.querySelectorAll("*")) {
            if (e.closest(".scroll, .table, .unseen, .unsure > *, .label > *, pre")) continue;
            const own = e.getBoundingClientRect();
            if (own.width && (own.right > edge.right + 1 || own.left < edge.left - 1)) made.push(e.outerHTML);
          }
        }
        return made;
    """)


def test_unusual_characters_are_seen(page):
    page.open(link(UNUSUAL, model="long"))
    words = dict(zip(UNUSUAL, page.words, strict=True))
    assert words["\u200b"] == "⟨U+200B⟩"
    assert words["\u202eevil\u202c"] == "⟨U+202E⟩evil⟨U+202C⟩"
    assert words["\u00ad"] == "⟨U+00AD⟩"
    assert len(words["x" * 3000]) <= 60
    for kept in ("می\u200cخواهم", "👩\u200d👩\u200d👧", "שלום", "日本語"):
        assert words[kept] == kept
    rtl = page.run("return document.getElementById('best').dir")
    assert rtl == "ltr"
    page.open(link(["שלום", "לכולם", "!"], model="long"))
    assert page.run("return document.getElementById('best').dir") == "rtl"
    left = page.run("return [...document.querySelectorAll('#best .word')].map((e) => e.getBoundingClientRect().left)")
    assert left == sorted(left, reverse=True)
    page.focus('#best [tabindex="0"]')
    page.press(Keys.ARROW_LEFT)
    assert page.focused == "word:1"
