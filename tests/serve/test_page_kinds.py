"""What the page shows for each kind of model, compared with what the model says in Python."""

from itertools import pairwise

import numpy as np
import pytest
from support.corpora import ten_sentences
from support.pages import open_page, quiet
from support.servers import served

import tagwright as tw

pytestmark = pytest.mark.slow
X10, Y10 = ten_sentences()
WORDS = ["the", "dog", "can", "see", "a", "can"]
MANY = 1700
LBFGS = tw.LBFGS(l2=0.1)


def chunks():
    """Return a noun phrase for every determiner with all up to the noun, and for every other noun."""
    made = []
    for own in Y10:
        tags = ["O"]
        for label in own:
            inside = tags[-1] != "O" and label in ("JJ", "NN", "NNS")
            tags.append("I-NP" if inside else "B-NP" if label == "DT" or label[0] == "N" else "O")
        made.append(tags[1:])
    return made


def many_labels():
    """Return a model of 1,700 labels, most of which it saw once or twice."""
    rng = np.random.default_rng(0)
    X = [[*WORDS, *(f"w{n}" for n in rng.integers(0, 300, 15))] for _ in range(2 * MANY // 20)]
    order = iter(np.concatenate([rng.permutation(MANY) for _ in range(3)]).tolist())
    y = [[*(f"L{n}" for n in range(len(WORDS))), *(f"L{next(order)}" for _ in own[len(WORDS) :])] for own in X]
    return tw.Perceptron(features="U:%x[0,0]\nU1:%x[-1,0]\nB\n", epochs=1).fit(X, y).model_


KINDS = {
    "perceptron": lambda: tw.Perceptron(epochs=3).fit(X10, Y10).model_,
    "perceptron-2": lambda: tw.Perceptron(epochs=3, order=2).fit(X10, Y10).model_,
    "crf": lambda: tw.CRF(solver=LBFGS).fit(X10, Y10).model_,
    "crf-2": lambda: tw.CRF(epochs=3, order=2).fit(X10, Y10).model_,
    "hmm": lambda: tw.HMM().fit(X10, Y10).model_,
    "memm": lambda: tw.MEMM().fit(X10, Y10).model_,
    "memm-1": lambda: tw.MEMM(history=1).fit(X10, Y10).model_,
    "bidirectional": lambda: tw.Bidirectional().fit(X10, Y10).model_,
    "dictionary": lambda: tw.CRF(solver=LBFGS, constraints=[2]).fit(X10, Y10).model_,
    "scheme": lambda: tw.CRF(solver=LBFGS, constraints="BIO").fit(X10, chunks()).model_,
    "many": many_labels,
}
"""Every kind of model."""

SHOWS = {
    # lattice, explanation, probabilities, spans, label n-grams
    "perceptron": (True, True, False, False, False),
    "perceptron-2": (True, True, False, False, True),
    "crf": (True, True, True, False, False),
    "crf-2": (True, True, True, False, True),
    "hmm": (True, True, True, False, False),
    "memm": (False, False, False, False, False),
    "memm-1": (True, False, False, False, False),
    "bidirectional": (False, False, False, False, False),
    "dictionary": (True, True, True, False, False),
    "scheme": (True, True, True, True, False),
    "many": (True, True, False, False, False),
}
"""Which parts of the page each of them has: the table in docs/serve.md."""


@pytest.fixture(scope="module")
def models():
    return {name: make() for name, make in KINDS.items()}


@pytest.fixture(scope="module")
def opened(tmp_path_factory, models):
    folder = tmp_path_factory.mktemp("models")
    for name, model in models.items():
        model.save(folder / f"{name}.safetensors")
    with served(*(part for name in models for part in ("-m", folder / f"{name}.safetensors"))) as server:
        made = open_page(tmp_path_factory.mktemp("profile"), server)
        yield made
        made.browser.quit()


@pytest.fixture
def page(opened):
    yield from quiet(opened)


def number(text):
    return float(text.replace("−", "-").replace("+", ""))


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_page_shows(page, models, kind):
    model = models[kind]
    lattice, explains, probable, spans, ngrams = SHOWS[kind]
    page.open(f"#model={kind}&k=4&token=2&text={'+'.join(WORDS)}")
    found = model.tag_kbest([WORDS], 4, proba=probable)[0]
    # Words, labels, k best.
    assert page.words == WORDS
    assert page.labels == found[0].labels
    assert len(page.all("#kbest li")) == len(found)
    for own, row in zip(found[1:], page.all("#kbest li")[1:], strict=True):
        differ = [(t, a) for t, (a, b) in enumerate(zip(own.labels, found[0].labels, strict=True)) if a != b]
        shown = row.find_elements("css selector", "[data-token]")
        assert [(int(one.get_attribute("data-token")), one.get_attribute("data-label")) for one in shown] == differ
    # What it has, and why it has not the rest.
    assert page.one("#lattice-part").is_displayed() == lattice
    assert page.one("#no-lattice").is_displayed() == (not lattice)
    assert page.one("#heat-section").is_displayed() == probable
    assert bool(page.all(".span")) == spans
    assert bool(page.all(".verdict")) == explains
    assert page.text("#why") != ""
    assert (", proven to be the best" in page.text("#status")) == explains
    if probable:
        said = page.run("return [...document.querySelectorAll('#best .word')].map((e) => e.getAttribute('aria-label'))")
        for own, p in zip(said, found[0].marginals, strict=True):
            assert f", {100 * p:.{1 if 0.995 <= p < 0.9995 else 0}f} %" in own
    if explains:
        agrees_with_python(page, model, ngrams)


def agrees_with_python(page, model, ngrams):
    """The explanation, the rival in the lattice, and the sum of the rows."""
    why = model.explain(WORDS, 2)
    best, rival = why.reasons
    chips = page.texts(".verdict .label")
    assert chips == [best.label, rival.label]
    assert page.text(".verdict").endswith(f"by {why.margin:.3f}")
    assert page.all(f'.node[data-token="2"][data-label="{rival.label}"]')
    if not model.probabilistic:  # else the choice has a probability
        assert number(page.text(f'.choice[data-label="{rival.label}"] .number')) == pytest.approx(
            -why.margin, abs=0.006
        )
    rows = page.run(
        "return [...document.querySelectorAll('.reasons tbody tr')].map((r) =>"
        "[r.dataset.kind, ...[...r.cells].slice(1, 3).map((c) => c.textContent)])"
    )
    kinds = [kind for kind, *_ in rows]
    assert ("ngram" in kinds) == ngrams
    parts = [list(map(number, own)) for kind, *own in rows if kind not in ("feature", "more", "total")]
    assert np.sum(parts, axis=0) == pytest.approx([best.total, rival.total], abs=0.002 * len(parts))
    features = [list(map(number, own)) for kind, *own in rows if kind in ("feature", "more")]
    assert np.sum(features, axis=0) == pytest.approx([best.score, rival.score], abs=0.002 * len(features) + 1e-3)
    # The best path is drawn from word to word.
    drawn = page.run("return [...document.querySelectorAll('.node.best')].map((e) => e.dataset.label)")
    assert drawn == page.labels
    assert len(page.all(".edge.best")) == len(list(pairwise(WORDS)))


@pytest.mark.parametrize("kind", ["memm", "bidirectional"])
def test_rules_for_models_without_a_lattice(page, models, kind):
    page.open(f"#model={kind}&text={'+'.join(WORDS)}&token=1")
    assert page.run("return document.querySelector('#decoder option[value=posterior]').disabled")
    label = next(own for own in models[kind].labels if own != page.labels[1])
    page.run("document.getElementById('any-label').value = arguments[0]", label)
    page.click('[data-key="force any"]')
    assert page.labels == models[kind].tag(WORDS, allowed=[None, [label], *[None] * 4])
