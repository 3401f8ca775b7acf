"""Reports: their figures are those of `eval` and of plain Python, and whatever is in a corpus, the page is safe."""

import itertools
import json
import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from support.commands import complaint, printed, stopped
from support.corpora import ten_sentences
from support.documents import HOSTILE, Document
from support.reports import hostile_report

import tagwright as tw
from tagwright.evaluation.span_errors import KINDS
from tagwright.markup import cut, visible
from tagwright.reports.page import COLOURS, STYLE, style
from tagwright.reports.report import Report

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def joint(tmp_path_factory):
    """A CRF of joint labels, so that there are spans and probabilities."""
    path = tmp_path_factory.mktemp("joint") / "joint.safetensors"
    train = ["train", EXAMPLES / "train.txt", path, "--label", "2+3", "--features", "chunk"]
    stopped(
        *train,
        "--learner",
        "crf",
        "--set",
        "solver=lbfgs",
        "--set",
        "max_iterations=30",
        "--set",
        "l2=0.1",
        "--dev",
        EXAMPLES / "test.txt",
    )
    return path


@pytest.fixture(scope="module")
def page(joint):
    path = joint.with_name("report.html")
    said = printed("report", "-m", joint, EXAMPLES / "test.txt", "-o", path)
    assert re.fullmatch(rf"{re.escape(str(path))}: [\d.]+ kB; [\d.]+% of 337 labels are right\n", said)
    made = Document(path.read_text(encoding="utf-8"))
    made.check_quiet()
    made.check_accessible()
    return made


@pytest.fixture(scope="module")
def labelled(joint):
    X, y = tw.read(EXAMPLES / "test.txt", label="2+3")
    return X, y, tw.load(joint).tag_batch(X)


def table(page, *header):
    """The rows of the first table with this header."""
    return next(rows[1:] for rows in page.tables if tuple(rows[0][: len(header)]) == header)


def test_cards_are_the_figures_of_eval(page, joint):
    found = json.loads(printed("eval", "-m", joint, EXAMPLES / "test.txt", "--json"))
    expected = {
        "Token accuracy": found["token_accuracy"],
        "Sentence accuracy": found["sentence_accuracy"],
        "Known words": found["known"]["accuracy"],
        "Unknown words": found["unknown"]["accuracy"],
        "Span precision": found["spans"]["micro"]["precision"],
        "Span recall": found["spans"]["micro"]["recall"],
        "Span F1": found["spans"]["micro"]["f1"],
        "Span F1, mean of types": found["spans"]["macro"],
        "Label F1, mean of labels": found["macro_f1"],
        "Calibration error": found["calibration"]["error"],
    }
    values = [text for text in page.texts["dd"] if text.endswith("%") and " to " not in text]
    assert dict(zip(page.texts["dt"], values, strict=True)) == {
        name: f"{share:.2%}" for name, share in expected.items()
    }
    ranges = [text for text in page.texts["dd"] if " to " in text]
    order = ["token_accuracy", "sentence_accuracy", "known", "unknown", "span_precision", "span_recall", "span_f1"]
    ends = [found["intervals"][key] for key in order]
    assert ranges == [f"{100 * low:.2f} to {100 * high:.2f} %" for low, high in ends]
    for row, own in zip(table(page, "label", "F1, %"), found["labels"], strict=False):
        shares = [f"{100 * own[name]:.2f}" for name in ("f1", "precision", "recall")]
        assert row == [own["name"], shares[0], "", *shares[1:], str(own["support"]), str(own["predicted"])]
    bins = [row[1:] for row in table(page, "probability", "tokens", "mean, %")]
    assert bins == [
        [str(own["tokens"]), f"{100 * own['probability']:.2f}", f"{100 * own['accuracy']:.2f}"]
        for own in found["calibration"]["bins"]
    ]


def test_figures_are_those_of_scikit_learn_and_seqeval(joint, labelled):
    """To the last digit; the calibration error by a formula of its own."""
    metrics = pytest.importorskip("sklearn.metrics")
    seqeval = pytest.importorskip("seqeval.metrics")
    X, gold, guess = labelled
    model = tw.load(joint)
    found = tw.report(model, X, gold).evaluation
    flat, other = ([label for labels in y for label in labels] for y in (gold, guess))
    assert found.token_accuracy == metrics.accuracy_score(flat, other)
    assert found.macro_f1 == pytest.approx(metrics.f1_score(flat, other, average="macro", zero_division=0), rel=1e-15)
    spans = [[[label.partition("|")[2] for label in labels] for labels in y] for y in (gold, guess)]
    assert found.spans.micro.precision == seqeval.precision_score(*spans)
    assert found.spans.micro.recall == seqeval.recall_score(*spans)
    assert found.spans.micro.f1 == pytest.approx(seqeval.f1_score(*spans), rel=1e-15)
    shares = np.concatenate([own[0].marginals for own in model.tag_kbest(X, 1, proba=True)])
    right = np.array(flat) == np.array(other)
    bins = np.digitize(shares, np.linspace(0, 1, 11)[1:-1], right=True)
    error = sum(abs(right[bins == n].sum() - shares[bins == n].sum()) for n in range(10)) / len(right)
    assert found.calibration.error == pytest.approx(error, rel=1e-13)


def test_figures_are_those_of_plain_python(page, labelled):
    X, gold, guess = labelled
    pairs = [pair for own, other in zip(gold, guess, strict=True) for pair in zip(own, other, strict=True)]
    values = [text for text in page.texts["dd"] if text.endswith("%") and " to " not in text]
    shown = dict(zip(page.texts["dt"], values, strict=True))
    trained = {row[0] for rows in tw.read(EXAMPLES / "train.txt", label="2+3")[0] for row in rows}
    words = [row[0] for rows in X for row in rows]
    for name, is_known in (("Known words", True), ("Unknown words", False)):
        right = [a == b for word, (a, b) in zip(words, pairs, strict=True) if (word in trained) == is_known]
        assert shown[name] == f"{sum(right) / len(right):.2%}"
    assert shown["Token accuracy"] == f"{sum(a == b for a, b in pairs) / len(pairs):.2%}"
    assert shown["Sentence accuracy"] == f"{sum(map(list.__eq__, gold, guess)) / len(gold):.2%}"
    count = Counter(a for a, _ in pairs)
    once = [a == b for a, b in pairs if count[a] == 1]
    known = {label for labels in tw.read(EXAMPLES / "train.txt", label="2+3")[1] for label in labels}
    once = [a == b for a, b in pairs if count[a] == 1 and a in known]
    row = next(row for row in table(page, "occurs", "accuracy, %") if row[0] == "1")
    assert row == ["1", f"{100 * sum(once) / len(once):.2f}", "", str(len(once)), str(len(once))]
    unknown = [a for a, _ in pairs if a not in known]
    row = table(page, "occurs", "accuracy, %")[0]
    assert row == ["unknown to the model", "0.00", "", str(len({*unknown})), str(len(unknown))]
    short = [(a, b) for a, b in zip(gold, guess, strict=True) if 5 <= len(a) <= 9]
    row = next(row for row in table(page, "tokens in the sentence", "accuracy, %") if row[0] == "5 to 9")
    assert row[3:5] == [str(len(short)), str(sum(len(a) for a, _ in short))]
    assert row[-1] == f"{100 * sum(a == b for a, b in short) / len(short):.2f}"


def titles(page):
    return [own["title"] for _, own in page.elements if "title" in own]


def test_confusions_in_the_heat_map_are_counted(page, labelled):
    _, gold, guess = labelled
    count = Counter(pair for own, other in zip(gold, guess, strict=True) for pair in zip(own, other, strict=True))
    cells = [re.fullmatch(r"(\S+\|\S+) tagged (\S+\|\S+): ([\d,]+) of ([\d,]+), .*", text) for text in titles(page)]
    cells = [cell.groups() for cell in cells if cell]
    assert len(cells) > 30
    for a, b, n, of in cells:
        assert (int(n), int(of)) == (count[a, b], sum(m for (own, _), m in count.items() if own == a))
    (most, times), *_ = Counter({pair: n for pair, n in count.items() if pair[0] != pair[1]}).most_common()
    assert times == max(int(n) for a, b, n, _ in cells if a != b)
    assert most[0] in {a for a, *_ in cells}
    assert "wrong" in {own.get("class") for name, own in page.elements if name == "td"}


def test_every_listed_confusion_has_examples(page, labelled):
    _, gold, guess = labelled
    wrong = Counter(
        (a, b) for own, other in zip(gold, guess, strict=True) for a, b in zip(own, other, strict=True) if a != b
    )
    rows = table(page, "✓ gold", "✗ predicted", "count", "% of all wrong")
    assert len(rows) == 30
    for row in rows:
        pair = (row[0], row[1])
        assert int(row[2]) == wrong[pair]
        assert row[3] == f"{100 * wrong[pair] / wrong.total():.2f}"
        sentences = [int(text) - 1 for text in re.findall(r" (\d+)(?: ×\d+)?(?=\D|$)", row[4])]
        assert any(
            (a, b) == pair for s in sentences if s < len(gold) for a, b in zip(gold[s], guess[s], strict=True)
        ), row


def test_confusions_by_part_are_counted(page, labelled):
    _, gold, guess = labelled
    pairs = [pair for own, other in zip(gold, guess, strict=True) for pair in zip(own, other, strict=True)]
    wrong = [(a.split("|"), b.split("|")) for a, b in pairs if a != b]
    rows = {row[0]: row for row in table(page, "part", "wrong", "% of wrong labels")}
    for k in (0, 1):
        own = sum(a[k] != b[k] for a, b in wrong)
        share = f"{100 * (1 - own / len(pairs)):.2f}"
        assert rows[f"part {k + 1}"][1:4] == [str(own), f"{100 * own / len(wrong):.2f}", share]
    one = sum((a[0] != b[0]) + (a[1] != b[1]) == 1 for a, b in wrong)
    said = page.texts["body"][0]
    assert f"Labels are divided at |. {one} of the {len(wrong)} wrong labels are wrong in one part only." in said
    # Both parts have fewer values than a table can have, so that nothing is left out.
    assert f"all wrong parts of {len(wrong)} of the {len(wrong)} wrong labels (100.0%)" in said


def test_words_and_span_errors_are_those_of_the_evaluation(page, labelled):
    X, gold, guess = labelled
    tokens = [
        (row[0], a, b)
        for x, own, other in zip(X, gold, guess, strict=True)
        for row, a, b in zip(x, own, other, strict=True)
    ]
    wrong = Counter(word for word, a, b in tokens if a != b)
    rows = table(page, "word", "wrong", "tokens", "wrong, %")
    assert [int(row[1]) for row in rows] == sorted(wrong.values(), reverse=True)[:30]
    for row in rows:
        count = sum(word == row[0] for word, _, _ in tokens)
        assert row[1:4] == [str(wrong[row[0]]), str(count), f"{100 * wrong[row[0]] / count:.2f}"]
    errors = Counter(error.kind for error in tw.evaluate(gold, guess).spans.errors)
    assert {row[0]: int(row[1]) for row in table(page, "error", "count", "%")} == {kind: errors[kind] for kind in KINDS}


def test_confident_errors_have_the_highest_probability(page, joint, labelled):
    X, gold, guess = labelled
    model = tw.load(joint)
    wrong = [
        (shares[t, model.labels.index(b)], a, b, shares[t])
        for x, own, other, shares in zip(X, gold, guess, model.marginals(X), strict=True)
        for t, (a, b) in enumerate(zip(own, other, strict=True))
        if a != b
    ]
    wrong.sort(key=lambda row: -row[0])
    rows = table(page, "token", "✓ gold", "probability, %", "✗ predicted")
    assert len(rows) == 30
    for row, (share, a, b, shares) in zip(rows, wrong, strict=False):
        low = 100 * shares[model.labels.index(a)] if a in model.labels else None
        shown = "not in the model" if low is None else f"{low:.2f}" if low >= 0.01 else "below 0.01"
        assert row[1:] == [a, shown, b, f"{100 * share:.2f}"]


def test_the_worst_sentences_have_the_highest_density_of_errors(page, labelled):
    X, gold, guess = labelled
    wrong = [sum(map(str.__ne__, a, b)) for a, b in zip(gold, guess, strict=True)]

    def density(s):
        n, p, z = len(gold[s]), wrong[s] / len(gold[s]), 1.959963984540054
        return (p + z * z / (2 * n) - z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))) / (1 + z * z / n)

    order = sorted(range(len(X)), key=lambda s: (-density(s), s))
    headings = [text for text in page.texts["h3"] if text.startswith("Sentence ")]
    assert headings == [f"Sentence {s + 1} {wrong[s]} of {len(gold[s])} labels wrong" for s in order[:20] if wrong[s]]
    first = page.texts["article"][0]
    for row in X[order[0]]:
        assert row[0] in first


def test_two_models_side_by_side(joint, labelled, tmp_path):
    X, gold, guess = labelled
    other = tw.Perceptron("chunk", epochs=2).fit(*tw.read(EXAMPLES / "train.txt", label="2+3")).model_
    path, page_path = tmp_path / "other.safetensors", tmp_path / "two.html"
    other.save(path)
    answers = other.tag_batch(X)
    one, two = tw.evaluate(gold, guess), tw.evaluate(gold, answers)
    said = printed("report", "-m", joint, "-m", path, EXAMPLES / "test.txt", "--label", "2+3", "-o", page_path)
    assert f"; {one.token_accuracy:.2%} and {two.token_accuracy:.2%} of 337 labels are right" in said
    page = Document(page_path.read_text(encoding="utf-8"))
    page.check_quiet()
    page.check_accessible()
    assert page.texts["h1"] == ["joint and other"]
    rows = {row[0].lower(): row for row in table(page, "figure", "joint, %", "other, %")}
    for own in one.compare(two).differences:
        row = rows[own.name.lower()]
        assert row[1:3] == [f"{100 * own.first:.2f}", f"{100 * own.second:.2f}"]
        assert float(row[3].replace("−", "-")) == pytest.approx(100 * own.difference, abs=0.006)
        if own.p is not None:
            assert row[5] == f"{own.p:.4f}, {'significant' if own.p < 0.05 else 'may be chance'}"
    a, b = (
        [x == y for own, labels in zip(gold, each, strict=True) for x, y in zip(own, labels, strict=True)]
        for each in (guess, answers)
    )
    agreement = Counter(zip(a, b, strict=True))
    assert table(page, "tokens", "other right", "other wrong") == [
        ["joint right", str(agreement[True, True]), str(agreement[True, False])],
        ["joint wrong", str(agreement[False, True]), str(agreement[False, False])],
    ]
    headings = [text for text in page.texts["h3"] if text.startswith("Sentence ")]
    wrong = [[sum(map(str.__ne__, *pair)) for pair in zip(gold, each, strict=True)] for each in (guess, answers)]
    changes = sorted((y - x, s) for s, (x, y) in enumerate(zip(*wrong, strict=True)))
    worse = [s for change, s in changes[::-1][:10] if change > 0]
    better = [s for change, s in changes[:10] if change < 0]
    assert headings == [
        f"Sentence {s + 1} joint: {wrong[0][s]} wrong, other: {wrong[1][s]} wrong of {len(gold[s])} labels"
        for s in [*better, *worse]
    ]
    made = tw.report(tw.load(joint), X, gold, other=tw.load(path), names=("joint", "other"))
    assert made.html() == page_path.read_text(encoding="utf-8").replace(" of <bdi>test.txt</bdi>", "")


def test_two_models_are_read_once_and_agree_on_labels(joint, tmp_path):
    text = (EXAMPLES / "test.txt").read_text(encoding="utf-8")
    both = ["-m", joint, "-m", joint]
    assert printed("eval", *both, "-", given=text) == printed("eval", *both, EXAMPLES / "test.txt")
    compared = json.loads(printed("eval", *both, EXAMPLES / "test.txt", "--json"))
    assert [*compared["models"]] == ["joint (1)", "joint (2)"]
    alone = json.loads(printed("eval", "-m", joint, EXAMPLES / "test.txt", "--json"))
    assert compared["models"]["joint (1)"] == compared["models"]["joint (2)"] == alone
    assert compared["differences"]["token_accuracy"]["p"] == 1.0
    assert compared["tokens"]["only_first"] == 0
    pos = tmp_path / "pos.safetensors"
    printed("train", EXAMPLES / "train.txt", pos, "--label", "2", "--epochs", "1", "--quiet")
    said = complaint("eval", "-m", joint, "-m", pos, EXAMPLES / "test.txt")
    assert said == "the models were trained on different columns of labels, 2+3 and 2; choose one with --label"
    assert "3 models; name one, or two" in complaint("eval", *both, "-m", joint, EXAMPLES / "test.txt")
    picture = tmp_path / "confusion.svg"
    said = complaint("report", *both, EXAMPLES / "test.txt", "--plot", "confusion", "-o", picture)
    assert "--plot confusion draws one model" in said


def elements(page, name):
    return [(tag, own) for tag, own in page.elements if tag == name]


def is_word(attributes):
    return attributes.get("class") == "word"


def test_reasons_are_those_of_explain(joint, labelled):
    X, gold, guess = labelled
    model = tw.load(joint)
    made = tw.report(model, X, gold, worst=3)
    for sentence, reasons in made.worst:
        assert 0 < len(reasons) <= 4
        for why in reasons:
            t = why.token
            a, b = guess[sentence.number][t], gold[sentence.number][t]
            if b not in model.labels:
                assert "does not know" in why.note
                continue
            answer = model.explain(X[sentence.number], t, [a, b])
            assert why.lines[-1].difference == pytest.approx(answer.margin)
            # What is shown adds up: features, edges and the rest are the whole.
            names = [line.name for line in why.lines]
            features = why.lines[: names.index("all features")]
            assert sum(line.difference for line in features) == pytest.approx(
                why.lines[len(features)].difference, abs=1e-4
            )
            assert sum(line.difference for line in why.lines[len(features) : -1]) == pytest.approx(
                answer.margin, abs=1e-4
            )
            shares = model.marginals([X[sentence.number]])[0][t]
            expected = [shares[model.labels.index(name)] for name in (a, b)]
            assert why.probabilities == pytest.approx(expected)


def test_python_and_the_command_line_make_the_same_page(page, joint, labelled):
    X, gold, _ = labelled
    made = tw.report(tw.load(joint), X, gold, title="joint.safetensors")
    written = joint.with_name("report.html").read_text(encoding="utf-8")
    assert made.html() == written.replace(" of <bdi>test.txt</bdi>", "")
    frame = Document(made._repr_html_())
    assert [tag for tag, _ in frame.elements] == ["iframe"]
    assert frame.elements[0][1]["srcdoc"] == made.html()
    assert frame.elements[0][1]["sandbox"] == ""


def test_the_page_goes_to_standard_output_or_nowhere(joint, tmp_path):
    assert printed("report", "-m", joint, EXAMPLES / "test.txt", "-o", "-").startswith("<!DOCTYPE html>")
    nowhere = tmp_path / "none" / "report.html"
    assert "No such file" in complaint("report", "-m", joint, EXAMPLES / "test.txt", "-o", nowhere)
    assert list(tmp_path.iterdir()) == []


def test_hostile_words_and_labels_are_only_text():
    made = hostile_report()
    text = made.html()
    page = Document(text)
    page.check_quiet()
    page.check_accessible()
    shown = page.texts["body"][0]
    for word in HOSTILE:
        assert visible(cut(word, 40)) in shown
    assert page.texts["title"][0] == visible(HOSTILE[0])
    assert page.texts["h1"] == [visible(HOSTILE[0])]
    text.encode()
    policy = next(own for tag, own in page.elements if own.get("http-equiv") == "Content-Security-Policy")
    assert policy["content"].startswith("default-src 'none'; style-src 'unsafe-inline'")


def learners():
    X, y = ten_sentences()
    yield "perceptron", tw.Perceptron(epochs=3), X, y
    yield "hmm", tw.HMM(), X, y
    yield "memm", tw.MEMM(solver=tw.LBFGS(max_iterations=3)), X, y
    yield (
        "bidirectional",
        tw.Bidirectional(
            tw.MEMM(solver=tw.LBFGS(max_iterations=3)), tw.MEMM(direction="left", solver=tw.LBFGS(max_iterations=3))
        ),
        X,
        y,
    )
    yield "ready-made", tw.Perceptron(features=None, epochs=3), [[{"w": w} for w in x] for x in X], y


@pytest.mark.parametrize(("learner", "X", "y"), [row[1:] for row in learners()], ids=[row[0] for row in learners()])
def test_every_kind_of_model_has_a_report(learner, X, y):
    model = learner.fit(X, y).model_
    wrong = [[*labels[1:], labels[0]] for labels in y]
    made = tw.report(model, X, wrong, worst=2)
    page = Document(made.html())
    page.check_quiet()
    page.check_accessible()
    assert ("Confident errors" in page.texts["h2"]) == model.probabilistic
    assert ("The model has no probabilities" in page.texts["section"][0]) != model.probabilistic
    two = Document(tw.report(model, X, wrong, other=model, worst=2).html())
    two.check_quiet()
    two.check_accessible()
    assert ("Calibration" in page.texts["h2"]) == model.probabilistic
    assert len(page.texts["article"]) == 2
    explained = any(why.lines for _, reasons in made.worst for why in reasons)
    assert explained == (type(model).__name__ == "LinearModel")


def test_a_model_without_a_mistake_and_a_report_without_sentences():
    X, y = ten_sentences()
    model = tw.Perceptron(epochs=20).fit(X, y).model_
    page = Document(tw.report(model, X, y).html())
    assert "No label is wrong." in page.texts["p"]
    assert "Sentences with most errors" not in page.texts["h2"]
    none = Document(tw.report(model, X, [["?"] * len(x) for x in X], worst=0).html())
    assert "article" not in none.texts
    with pytest.raises(ValueError, match="no tokens"):
        tw.report(model, [], [])
    with pytest.raises(ValueError, match="labels is 101, more than"):
        tw.report(model, X, y, labels=101)
    with pytest.raises(ValueError, match="worst is 101, more than"):
        tw.report(model, X, y, worst=101)
    with pytest.raises(ValueError, match="worst"):
        tw.report(model, X, y, worst=-1)


@pytest.mark.slow
def test_thousands_of_labels_and_endless_sentences_make_a_small_page():
    n = 3300
    X = [[f"w{k}" for k in range(begin, begin + 30)] for begin in range(0, n, 30)]
    y = [[f"label-{word}-{'x' * 200}" for word in words] for words in X]
    model = tw.Perceptron("U00:%x[0,0]\nB", epochs=1).fit(X, y).model_
    assert len(model.labels) == n
    X += [[f"w{k % n}" for k in range(20_000)]]
    gold = [[f"label-w{(int(w[1:]) + 7) % n}-{'x' * 200}" for w in words] for words in X]
    made = tw.report(model, X, gold)
    text = made.html()
    assert len(text) < 3_000_000
    page = Document(text)
    page.check_quiet()
    said = page.texts["body"][0]
    assert "20 of 3,300 labels: those that" in said
    assert "The first 50 of 3,300 labels are shown." in said
    assert "confusions are shown." in said
    assert "too long to be explained" in said
    assert re.search(r"… [\d,]+ more …", said)


def test_the_colours_are_those_of_the_page_of_the_server():
    """Every colour that reports use is defined for both themes, and for print, by the server's style."""
    text = style()
    own = STYLE.read_text(encoding="utf-8")
    assert own in text
    light, dark = re.findall(r"^ *:root \{([^}]*)\}", text.removesuffix(own), flags=re.M)
    shared = COLOURS.read_text(encoding="utf-8")
    assert light in shared
    assert dark in shared
    used = {*re.findall(r"var\((--[\w-]+)", own)} - {"--h", "--p"}
    assert used >= {"--good", "--bad", "--accent", "--heat"}
    printed_colours = re.search(r"@media print \{\s*:root \{([^}]*)\}", own)[1]
    for theme in (light, dark, printed_colours):
        assert used <= {*re.findall(r"(--[\w-]+):", theme)}


def test_positional_tags_are_explained_by_their_characters():
    """Of many labels that each are rare, the tables of parts have every error."""
    rng = np.random.default_rng(0)
    cases = ["n" + "".join(own) for own in itertools.product("cp", "mf", "sp", "ngdal", "1456")]
    gold = [rng.choice(cases, 20).tolist() for _ in range(60)]
    X = [[f"{label}{rng.integers(2)}" for label in labels] for labels in gold]
    model = tw.Perceptron("U:%x[0,0]\nB\n", epochs=2).fit(X, gold).model_
    swapped = {"n": "a", "a": "n"}  # cases that the annotators confused
    wrong = [
        [label[:4] + swapped.get(label[4], label[4]) + label[5:] if rng.random() < 0.5 else label for label in labels]
        for labels in model.tag_batch(X)
    ]
    made = tw.report(model, X, wrong, labels=10)
    assert made.evaluation.separators == ""
    assert made.confusion.shown < made.confusion.wrong / 2
    assert made.mistakes.parts_covered == made.confusion.wrong
    [own] = made.mistakes.parts
    assert own.part.name == "character 5 of n…"
    assert {row[:2] for row in own.part.confusions} == {("n", "a"), ("a", "n")}
    assert own.part.wrong == made.confusion.wrong
    page = Document(made.html())
    assert f"{own.part.wrong} of the {own.part.wrong} wrong labels (100.0%)" in page.texts["body"][0]


def test_a_report_is_made_of_what_was_collected(labelled, joint):
    X, gold, guess = labelled
    made = tw.report(tw.load(joint), X, gold, labels=5, threads=2)
    assert isinstance(made, Report)
    assert made.evaluation.confusions == tw.evaluate(gold, guess).confusions
    assert len(made.confusion.labels) <= 5


def test_of_a_long_sentence_every_mistake_near_the_first_ones_is_marked():
    X, y = ten_sentences()
    model = tw.Perceptron(epochs=2).fit(X, y).model_
    words = ["the", "dog", "can", "see"] * 100
    labels = model.tag(words)
    # Every second label is wrong up to token 200, then one is far away.
    gold = [f"not {label}" if (t % 2 and t < 200) or t == 399 else label for t, label in enumerate(labels)]
    page = Document(tw.report(model, [words], [gold]).html())
    classes = [own.get("class", "") for name, own in page.elements if name == "span"]
    kinds = [own for own in classes if own.startswith("token")]
    # The first thirty mistakes are at 1, 3 ... 59; what stands up to 8 tokens further is shown, mistakes or not.
    assert len(kinds) == 59 + 8 + 1
    assert kinds == ["token mistake" if t % 2 else "token" for t in range(68)]
    assert "… 332 more …" in page.texts["article"][0]
