"""The page in a real browser: what a person sees, and what happens when they click."""

from pathlib import Path

import numpy as np
import pytest
from support.browser import complaints, open_browser
from support.corpora import ten_sentences
from support.servers import served, until

import tagwright as tw

pytestmark = pytest.mark.slow
PICTURES = Path(__file__).parents[2] / "build" / "page"  # not tracked
TIME_FLIES = "#text=Time+flies+like+an+arrow.&k=6"
WORDS = ["Time", "flies", "like", "an", "arrow", "."]
X10, Y10 = ten_sentences()
MANY, LONG = 3282, 200  # labels of the largest label set, tokens of a very long sentence


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    tw.Perceptron(epochs=3).fit(X10, Y10).model_.save(folder / "words.safetensors")
    chunks = [["B-NP" if label == "DT" else "I-NP" if label[0] == "N" else "O" for label in own] for own in Y10]
    tw.CRF(solver=tw.LBFGS(l2=0.1)).fit(X10, chunks).model_.save(folder / "chunks.safetensors")
    # Every label once or twice, each word with some labels.
    rng = np.random.default_rng(0)
    labels = [f"{kind}{n}" for n in range(MANY // 6) for kind in ("NN-", "VB-", "JJ-", "RB-", "IN-", "DT-")]
    X = [[f"w{n}" for n in rng.integers(0, 400, 20)] for _ in range(2 * MANY // 20 + 1)]
    order = iter(np.concatenate([rng.permutation(MANY) for _ in range(3)]).tolist())
    y = [[labels[next(order)] for _ in own] for own in X]
    tw.Perceptron(features="U:%x[0,0]\nU1:%x[-1,0]\nB\n", epochs=1).fit(X, y).model_.save(folder / "many.safetensors")
    return folder


@pytest.fixture(scope="module")
def server(models):
    names = [part for name in ("words", "chunks", "many") for part in ("-m", models / f"{name}.safetensors")]
    with served("-m", f"english={tw.models.model.BUILT_IN}", *names) as running:
        yield running


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    opened = open_browser(tmp_path_factory.mktemp("profile"), 1180, 1500)
    yield opened
    opened.quit()


class Page:
    """The page as a person uses it."""

    def __init__(self, browser, server):
        self.browser, self.server = browser, server

    def open(self, link=TIME_FLIES):
        self.browser.get("about:blank")
        self.browser.get(f"{self.server.address}/{link}")
        self.drawn()

    def drawn(self):
        """Wait until what is shown is what the address says."""
        until(lambda: self.run("return document.body.dataset.drawn === location.hash"))

    def run(self, script, *given):
        return self.browser.execute_script(script, *given)

    def all(self, selector):
        return self.browser.find_elements("css selector", selector)

    def texts(self, selector):
        return self.run("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector)

    def click(self, selector):
        self.run("delete document.body.dataset.drawn; document.querySelector(arguments[0]).scrollIntoView()", selector)
        self.browser.find_element("css selector", selector).click()
        self.drawn()

    @property
    def labels(self):
        return self.texts("#best .label")


@pytest.fixture
def page(browser, server):
    made = Page(browser, server)
    complaints(browser)
    yield made
    assert complaints(browser) == []


def picture(browser, name):
    PICTURES.mkdir(parents=True, exist_ok=True)
    browser.save_screenshot(str(PICTURES / f"{name}.png"))


def test_labels_over_words_and_the_best_where_they_differ(page):
    page.open()
    found = tw.load().tag_kbest([WORDS], 6, proba=True)[0]
    assert page.texts("#best .form") == WORDS
    assert page.labels == found[0].labels
    said = [element.get_attribute("aria-label") for element in page.all("#best .word")]
    assert said[1] == f"flies: NNS, {100 * found[0].marginals[1]:.0f} %"
    rows = page.texts("#kbest li")
    assert len(rows) == 6
    assert "proven to be the best" in page.texts("#status")[0]
    for own, row in zip(found[1:], page.all("#kbest li")[1:], strict=True):
        differ = [label for label, best in zip(own.labels, found[0].labels, strict=True) if label != best]
        assert [chip.text for chip in row.find_elements("css selector", ".label")] == differ
    picture(page.browser, "light")


def test_the_lattice_has_the_nodes_that_the_server_names(page):
    page.open()
    answer = page.server.post("/v1/lattice", {"text": " ".join(WORDS), "tokenize": "whitespace", "k": 6}).json()
    shown = page.run(
        "return [...document.querySelectorAll('.node')].map((n) => [Number(n.dataset.token), n.dataset.label])"
    )
    assert shown == [[t, node["label"]] for t, column in enumerate(answer["columns"]) for node in column]
    assert len(page.all(".edge")) == len(answer["edges"])
    assert len(page.all(".edge.best")) == len(WORDS) - 1
    assert page.texts(".node.best") == answer["kbest"][0]["labels"]
    cells = dict(zip(page.texts("#heat tbody th"), page.all("#heat tbody tr"), strict=True))
    assert cells["VBZ"].find_elements("css selector", "td")[1].text == "47 %"


def test_a_forced_label_changes_the_path_and_a_forbidden_one_too(page):
    page.open()
    before = page.labels
    page.click('.node[data-token="1"][data-label="VBZ"]')
    assert page.labels == [*before[:1], "VBZ", *before[2:]]
    assert page.texts(".node.best")[1] == "VBZ"
    assert page.texts("#rules")[0].startswith("flies is VBZ")
    page.click("#rules button")
    assert page.labels == before
    page.click('.choice[data-label="NNS"] button[aria-label="forbid NNS"]')
    assert page.labels[1] == "VBZ"
    assert page.texts("#rules")[0].startswith("flies is not NNS")
    page.click('.choice[data-label="NNS"] button[aria-label="forbid NNS"]')
    assert page.labels == before
    # Any label of the model may be forced by its name.
    page.browser.find_element("id", "any-label").send_keys("JJ")
    page.click(".choice.any button")
    assert page.labels[1] == "JJ"


def test_why_this_label(page):
    page.open()
    assert not page.all("#token")[0].is_displayed()
    page.click('#best [data-token="1"]')
    why = tw.load().explain(WORDS, 1)
    best, rival = why.reasons
    assert page.texts(".verdict")[0] == f"flies: NNS rather than VBZ, by {why.margin:.3f}"
    rows = page.run(
        "return [...document.querySelectorAll('.reasons tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"
    )
    cells = {row[0]: [float(cell.replace("−", "-").replace("+", "")) for cell in row[1:4]] for row in rows}
    assert cells["all features"][:2] == pytest.approx([best.score, rival.score], abs=1e-3)
    assert cells["edge from NN"][:2] == pytest.approx([best.before.score, rival.before.score], abs=1e-3)
    assert cells["whole labelling"][:2] == pytest.approx([best.total, rival.total], abs=1e-3)
    assert sum(
        own[2] for name, own in cells.items() if name not in ("all features", "whole labelling")
    ) == pytest.approx(why.margin, abs=0.02)
    assert "U02:flies" in page.texts(".unknown")[0]


def test_a_link_shows_the_same_again(page):
    page.open()
    page.click('#best [data-token="3"]')
    page.click('.node[data-token="1"][data-label="VBZ"]')
    page.run("document.getElementById('k').value = 3; document.getElementById('k').dispatchEvent(new Event('input'))")
    page.drawn()
    link, labels, rows = page.run("return location.hash"), page.labels, page.texts("#kbest li")
    assert len(rows) == 3
    page.open(link)
    assert (page.labels, page.texts("#kbest li")) == (labels, rows)
    assert page.run("return document.querySelector('#best [aria-pressed=true]').dataset.token") == "1"


def test_models_and_decoders_compared(page):
    page.open(TIME_FLIES + "&other=model:words")
    sides = page.all(".side")
    assert len(sides) == 2
    words = [[chip.text for chip in side.find_elements("css selector", ".label")] for side in sides]
    model = tw.load()
    assert words[0] == model.tag(WORDS)
    assert words[1] != words[0]
    assert all("ms" in side.text and "edges" in side.text for side in sides)
    page.open(TIME_FLIES + "&other=decoder:beam")
    assert "not proven" in page.texts(".side")[1]


def test_models_without_probabilities_and_with_spans(page):
    page.open("#text=the+dog+can+run&model=words&token=2")
    assert not page.all("#heat-section")[0].is_displayed()
    assert page.labels == page.server.tag(text="the dog can run", model="words")[0]["labels"]
    assert not page.all("#scheme")[0].is_displayed()
    page.open("#text=run+can+the+dog&model=chunks&allowed=1:I-NP")
    rules = {"text": "run can the dog", "model": "chunks", "allowed": [{"1": ["I-NP"]}]}
    assert page.labels == page.server.tag(**rules)[0]["labels"]
    assert page.labels[0] == "O"
    page.click("#scheme")
    assert "scheme=1" in page.run("return location.hash")
    assert page.labels == page.server.tag(**rules, constraints={"scheme": "BIO"})[0]["labels"]
    assert page.labels[:2] == ["B-NP", "I-NP"]
    page.click("#once")
    assert "once=1" in page.run("return location.hash")
    assert page.labels == page.server.tag(**rules, constraints={"scheme": "BIO", "once": True})[0]["labels"]


def test_what_is_typed_is_shown_and_errors_are_shown(page):
    page.open()
    page.run(
        "const t = document.getElementById('text'); t.value = 'Dogs bark. Cats sleep.';"
        "t.dispatchEvent(new Event('input'))"
    )
    until(lambda: page.texts("#best .form") == ["Dogs", "bark", "."])
    page.drawn()
    assert "sentence 1 of 2" in page.texts("#sentences")[0]
    page.click('#sentences button[aria-label="Next sentence"]')
    assert page.texts("#best .form") == ["Cats", "sleep", "."]
    # All text of others is text: nothing of it becomes part of the page.
    page.open("#text=%3Cimg%20src=x%20onerror=alert(1)%3E%20%3Cb%3Ebold%3C/b%3E")
    assert page.all("#best img") == []
    page.browser.get("about:blank")
    page.browser.get(f"{page.server.address}/#text=Dogs&allowed=0:NOTHING")
    until(page.all("#error")[0].is_displayed)
    assert "the model has no label" in page.texts("#error")[0]
    complaints(page.browser)  # the browser's own word about the refused request


def test_the_lattice_by_keyboard(page):
    from selenium.webdriver.common.keys import Keys

    page.open()
    node = page.browser.find_element("css selector", '.node[tabindex="0"]')
    page.run("arguments[0].focus()", node)
    keys = page.browser.switch_to.active_element
    keys.send_keys(Keys.ARROW_RIGHT)
    keys = page.browser.switch_to.active_element
    keys.send_keys(Keys.ARROW_DOWN)
    focused = page.browser.switch_to.active_element
    assert focused.get_attribute("aria-label").startswith("flies: VBZ")
    assert "behind the best" in page.texts("#tip")[0]
    page.run("delete document.body.dataset.drawn")
    focused.send_keys(Keys.ENTER)
    page.drawn()
    assert page.labels[1] == "VBZ"


def test_everything_has_a_name_for_those_who_cannot_see_it(page):
    page.open(TIME_FLIES + "&token=1")
    nameless = page.run("""
        const named = (e) => e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length;
        const all = document.querySelectorAll("button, select, input, textarea, [role=button]");
        return [...all].filter((e) => !named(e)).map((e) => e.outerHTML);
    """)
    assert nameless == []
    named = page.run(
        "const heading = (s) => document.getElementById(s.getAttribute('aria-labelledby'));"
        "return [...document.querySelectorAll('section')].every(heading)"
    )
    assert named
    assert page.run("return document.documentElement.lang") == "en"


def test_many_labels_and_a_long_sentence(page):
    words = [f"w{n % 400}" for n in range(7, 7 + LONG)]
    page.open(f"#model=many&k=5&token=100&text={'+'.join(words)}")
    assert page.texts("#best .form") == words
    assert page.labels == page.server.tag(sentences=[words], model="many")[0]["labels"]
    assert len(page.run("return [...document.getElementById('labels').options].map((o) => o.value)")) == MANY
    assert page.run("return document.documentElement.scrollWidth <= innerWidth")
    page.click('#best [data-token="150"]')
    assert page.texts(".verdict")[0].startswith(words[150])
    picture(page.browser, "many")


SCREENS = [("phone", 390, False), ("phone_dark", 390, True), ("dark", 1180, True)]


@pytest.mark.parametrize(("name", "width", "dark"), SCREENS)
def test_other_screens(server, tmp_path, name, width, dark):
    """No part of the page is wider than the screen, and text stands out from its ground in both themes."""
    browser = open_browser(tmp_path, width, 1500, dark)
    try:
        page = Page(browser, server)
        page.open(TIME_FLIES + "&token=1")
        assert page.run("return document.documentElement.scrollWidth <= innerWidth")
        contrasts = page.run(CONTRASTS)
        assert len(contrasts) > 40
        assert min(contrasts) >= 4.5
        assert complaints(browser) == []
        picture(browser, name)
    finally:
        browser.quit()


# Of every visible piece of text: the ratio of its luminance to that of what is behind it (WCAG 2, 1.4.3).
CONTRASTS = """
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
function rgba(colour) {
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255];
}
const over = (top, below) => [0, 1, 2].map((n) => top[n] * top[3] + below[n] * (1 - top[3])).concat(1);
function ground(element) {
  const layers = [];
  for (let e = element; e; e = e.parentElement) layers.unshift(rgba(getComputedStyle(e).backgroundColor));
  return layers.reduce((below, top) => over(top, below), [255, 255, 255, 1]);
}
const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
const made = [];
for (const element of document.querySelectorAll("main *, header *")) {
  const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
  if (element.closest("svg, option") || !own) continue;
  if (!element.getClientRects().length) continue;
  const below = ground(element), text = over(rgba(getComputedStyle(element).color), below);
  const [a, b] = [light(text), light(below)].sort((x, y) => y - x);
  made.push((a + 0.05) / (b + 0.05));
}
return made;
"""
