"""Reports in a real browser: they open without a word on the console, in both themes and at the width of a phone."""

import re
from pathlib import Path

import pytest
from support.browser import complaints, open_browser, view
from support.corpora import CORPORA
from support.documents import HOSTILE
from support.reports import hostile_report

import tagwright as tw
from tagwright.markup import cut, visible
from tagwright.reports.page import COLOURS

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SCREENSHOTS = Path(__file__).resolve().parents[2] / "build" / "screenshots"

pytestmark = pytest.mark.slow


def shown(browser, path, name, width, dark=False):
    """Open a page at this width, in this theme, and keep a picture of it to look at."""
    view(browser, width, 1000, dark)
    browser.get(path.as_uri())
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    browser.save_screenshot(str(SCREENSHOTS / f"report_{name}_{width}{'_dark' if dark else ''}.png"))


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    opened = open_browser(tmp_path_factory.mktemp("browser"))
    yield opened
    opened.quit()


def see(browser, script):
    return browser.execute_script(f"return {script}")


@pytest.fixture(scope="module", params=[("chunk_conll2000", "2+3", "chunk"), ("morph_lv_lvtb", "last", "morph")])
def report(request, tmp_path_factory):
    """A report of a model that was trained on a part of a real corpus: name, path, and what was measured."""
    name, label, features = request.param
    folder = CORPORA / name
    if not folder.exists():
        pytest.skip(f"{name} is not beside the project (../shared/data)")
    X, y = tw.read(folder / "train.txt.xz", label=label)
    model = tw.Perceptron(features, epochs=2).fit(X[:800], y[:800]).model_
    made = tw.report(model, *(part[:400] for part in tw.read(folder / "test.txt.xz", label=label)), title=name)
    path = tmp_path_factory.mktemp(name) / "report.html"
    made.save(path)
    return name, path, made


def observed(sentence):
    """The mistakes that are shown: all, or of a long sentence those near the first thirty."""
    wrong = sentence.wrong
    return wrong if len(sentence.gold) <= 60 else [t for t in wrong if any(abs(t - own) <= 8 for own in wrong[:30])]


@pytest.mark.parametrize(("width", "dark"), [(1200, False), (1200, True), (390, False)])
def test_a_report_opens_without_a_word_on_the_console(browser, report, width, dark):
    name, path, made = report
    shown(browser, path, name, width, dark)
    assert complaints(browser) == []
    assert browser.title == name
    # What a person reads on the cards.
    cards = see(browser, "[...document.querySelectorAll('.card')].map(card => card.innerText)")
    low, high = made.evaluation.intervals["token_accuracy"]
    value = f"{made.evaluation.token_accuracy:.2%}\n{100 * low:.2f} to {100 * high:.2f} %"
    assert f"Token accuracy\n{value}\n{made.evaluation.tokens:,} tokens" in cards
    # Nothing is wider than the page; wider elements scroll.
    assert see(browser, "document.documentElement.scrollWidth") <= width
    background = see(browser, "getComputedStyle(document.documentElement).backgroundColor")
    assert (int(re.search(r"\d+", background)[0]) < 128) == dark
    # The heat map has a number for each pair of labels that occurs, the mistakes of the worst sentences are marked.
    filled = sum(count > 0 for row in made.confusion.counts for count in row)
    assert (
        see(browser, "document.querySelectorAll('#confusions .heat td.right, #confusions .heat td.wrong').length")
        == filled
    )
    mistakes = see(browser, "document.querySelectorAll('article .mistake').length")
    assert mistakes == sum(len(observed(sentence)) for sentence, _ in made.worst)
    # A closed list opens with a click, and then its table is visible.
    details = "[...document.querySelectorAll('#figures details')].at(-1)"
    assert not see(browser, f"{details}.querySelector('table').checkVisibility()")
    browser.execute_script(f"{details}.querySelector('summary').click()")
    assert see(browser, f"{details}.querySelector('table').checkVisibility()")
    assert see(browser, f"{details}.querySelectorAll('tbody tr').length") == min(50, len(made.evaluation.labels))


@pytest.mark.parametrize(("width", "dark"), [(1280, True), (390, False)])
def test_two_models_fit_the_page_and_have_the_colours_of_the_server(browser, tmp_path, width, dark):
    X, y = tw.read(EXAMPLES / "test.txt", label=2)
    other = tw.Perceptron(epochs=1).fit(*tw.read(EXAMPLES / "train.txt", label=2)).model_
    path = tmp_path / "two.html"
    tw.report(tw.load(), X, y, other=other, names=("English", "small")).save(path)
    shown(browser, path, "two", width, dark)
    assert complaints(browser) == []
    assert see(browser, "document.documentElement.scrollWidth") <= width
    # Side by side on a desk, one after the other on a phone.
    tops = see(browser, "[...document.querySelectorAll('#figures .half')].map(half => half.offsetTop)")
    assert (tops[0] == tops[1]) == (width > 1000)
    colours = see(
        browser, "['--good', '--bad'].map(own => getComputedStyle(document.body).getPropertyValue(own).trim())"
    )
    style = COLOURS.read_text(encoding="utf-8")
    assert colours == [re.findall(rf"{name}: ([^;]+);", style)[dark] for name in ("--good", "--bad")]
    # Signs beside colours: every answer at a token that one has wrong says whether it is right.
    answers = see(browser, "[...document.querySelectorAll('#differ .mistake > span')].map(own => own.innerText)")
    assert len(answers) > 10
    assert all(re.match(r"([12] )?[✓✗] ", text) for text in answers)


def test_hostile_text_is_shown_and_does_nothing(browser, tmp_path):
    made = hostile_report()
    path, notebook = tmp_path / "report.html", tmp_path / "notebook.html"
    made.save(path)
    notebook.write_text(f"<!DOCTYPE html><title>notebook</title>{made._repr_html_()}", encoding="utf-8")
    shown(browser, path, "hostile", 1200)
    assert complaints(browser) == []
    assert see(browser, "document.querySelectorAll('script, img, iframe, [onload], [onerror]').length") == 0
    assert browser.title == visible(HOSTILE[0])
    text = " ".join(see(browser, "document.body.textContent").split())
    for word in HOSTILE:
        assert " ".join(visible(cut(word, 40)).split()) in text
    # Words that run from right to left move nothing around them: cells stay in their columns.
    lefts = see(browser, "[...document.querySelectorAll('#figures tbody th')].map(c => c.offsetLeft)")
    assert len({*lefts}) == 1
    browser.get(notebook.as_uri())
    browser.switch_to.frame(0)
    assert see(browser, "document.querySelector('h1').innerText") == visible(HOSTILE[0])
