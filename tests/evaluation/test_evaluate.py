"""The evaluation: by hand on small cases, and against seqeval and scikit-learn on thousands of random ones."""

import json
import random
import subprocess
import sys
import warnings
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagwright.evaluation.evaluate import evaluate
from tagwright.evaluation.result import Evaluation, Scores, Spans

GOLD = [["B-NP", "I-NP", "B-VP", "O"], ["B-NP"], ["O", "B-PP", "B-NP", "I-NP"]]
GUESS = [["B-NP", "I-NP", "B-NP", "O"], ["B-NP"], ["O", "B-PP", "B-NP", "B-NP"]]
KNOWN = [[True, True, False, True], [True], [True, True, True, False]]

GOLDEN = """\
measure                   of       %
------------------------  --  ------
sentence accuracy          3   33.33
token accuracy             9   77.78
  known words              7  100.00
  unknown words            2    0.00
span precision             6   50.00
span recall                5   60.00
span F1                        54.55
span F1, mean of types     3   50.00
label F1, mean of labels   5   68.33

span (BIO)  precision  recall      F1  gold  predicted
----------  ---------  ------  ------  ----  ---------
NP              40.00   66.67   50.00     3          5
PP             100.00  100.00  100.00     1          1
VP               0.00    0.00    0.00     1          0

wrong spans  boundary  type  boundary and type  missed  spurious
-----------  --------  ----  -----------------  ------  --------
NP                  1     0                  0       0         1
VP                  0     1                  0       0         0

label  precision  recall      F1  gold  predicted
-----  ---------  ------  ------  ----  ---------
B-NP       60.00  100.00   75.00     3          5
I-NP      100.00   50.00   66.67     2          1
O         100.00  100.00  100.00     2          2
... and 2 more

gold  predicted  count
----  ---------  -----
B-VP       B-NP      1
I-NP       B-NP      1"""

KINDS = ["A", "B", "A-B", "_"]
MIXES = ["OBI", "OI", "OBIES", "OBILU", "OBMES", "OBIESLUM"]


def span_labels(prefixes, kinds=KINDS, with_o_types=False):
    typed = [f"{p}-{kind}" for p in prefixes if p != "O" or with_o_types for kind in kinds]
    return ["O", *typed]


# By hand


def test_by_hand():
    found = evaluate(GOLD, GUESS, KNOWN)
    assert (found.sentences, found.tokens) == (3, 9)
    assert found.token_accuracy == 7 / 9
    assert found.sentence_accuracy == 1 / 3
    assert found.known == (1.0, 7)
    assert found.unknown == (0.0, 2)
    assert found.confusions == [("B-VP", "B-NP", 1), ("I-NP", "B-NP", 1)]
    assert [own.name for own in found.labels] == ["B-NP", "I-NP", "O", "B-PP", "B-VP"]
    assert found.labels[0] == Scores("B-NP", 0.6, 1.0, pytest.approx(0.75), 3, 5)
    assert found.labels[-1] == Scores("B-VP", 0.0, 0.0, 0.0, 1, 0)
    assert found.macro_f1 == pytest.approx((3 / 4 + 2 / 3 + 1 + 1 + 0) / 5)
    # Gold spans: NP 0-1, VP 2; NP 0; PP 1, NP 2-3. Predicted: NP 0-1, NP 2; NP 0; PP 1, NP 2, NP 3. Right: 3.
    assert found.spans == Spans(
        "BIO",
        "whole label",
        Scores("all", 1 / 2, 3 / 5, pytest.approx(6 / 11), 5, 6),
        pytest.approx(0.5),
        [
            Scores("NP", 2 / 5, 2 / 3, pytest.approx(0.5), 3, 5),
            Scores("PP", 1.0, 1.0, 1.0, 1, 1),
            Scores("VP", 0.0, 0.0, 0.0, 1, 0),
        ],
    )


# Each labelling and its spans as (type, first, last).
BY_HAND = [
    ("B-X I-X O", [("X", 0, 1)]),
    ("I-X I-X O", [("X", 0, 1)]),
    ("O I-X B-X", [("X", 1, 1), ("X", 2, 2)]),
    ("B-X I-Y I-X", [("X", 0, 0), ("Y", 1, 1), ("X", 2, 2)]),
    ("B-X B-X", [("X", 0, 0), ("X", 1, 1)]),
    ("B-X I-X E-X S-X", [("X", 0, 2), ("X", 3, 3)]),
    ("B-X E-X I-X", [("X", 0, 1), ("X", 2, 2)]),
    ("S-X I-X", [("X", 0, 0), ("X", 1, 1)]),
    ("I-X E-X E-X", [("X", 0, 1), ("X", 2, 2)]),
    ("B-X I-X L-X O U-X", [("X", 0, 2), ("X", 4, 4)]),
    ("B-X M-X E-X", [("X", 0, 2)]),
    ("B-A-B I-A-B B-A", [("A-B", 0, 1), ("A", 2, 2)]),
]


@pytest.mark.parametrize(("labels", "spans"), BY_HAND)
def test_spans_by_hand(labels, spans):
    gold = labels.split()
    # Each span once more, alone and as BIO: it is found there if and only if the rule sees it in gold.
    for kind, first, last in spans:
        alone = ["O"] * len(gold)
        alone[first : last + 1] = [f"B-{kind}"] + [f"I-{kind}"] * (last - first)
        micro = evaluate([gold], [alone]).spans.micro
        assert (micro.precision, micro.predicted, micro.support) == (1.0, 1, len(spans))


def test_spans_end_with_the_sentence():
    micro = evaluate([["B-X"], [], ["I-X"], ["I-X", "O"]], [["B-X"], [], ["I-X"], ["O", "O"]]).spans.micro
    assert (micro.support, micro.predicted, micro.precision) == (3, 2, 1.0)


def test_bilou_neighbours_are_seqevals():
    """Documented: after L and U, neighbours of one type are merged, or the first is lost."""
    assert evaluate([["B-X", "L-X", "B-X", "L-X"]], [["O", "O", "B-X", "L-X"]]).spans.micro.recall == 1
    assert evaluate([["U-X", "U-X"]], [["U-X", "U-X"]]).spans.micro.support == 1
    assert evaluate([["S-X", "S-X"]], [["S-X", "S-X"]]).spans.micro.support == 2


@pytest.mark.parametrize(
    ("labels", "scheme"),
    [
        ("I-X O", "IO"),
        ("B-X O", "BIO"),
        ("B-X I-X", "BIO"),
        ("B-X I-X E-X O", "IOBES"),
        ("S-X O", "IOBES"),
        ("U-X O", "BILOU"),
        ("B-X L-X O", "BILOU"),
        ("B-X M-X E-X S-X", "BMES"),
        ("B-X L-X E-X", "mixed"),
        ("B-X O-X", "BIO"),
    ],
)
def test_scheme(labels, scheme):
    assert evaluate([labels.split()], [labels.split()]).spans.scheme == scheme


@pytest.mark.parametrize(
    "labels",
    [
        "NN VB -LRB- -RRB- HYPH :",
        "B-NP I-NP -LRB-",
        "B-NP NN",
        "B-",
        "O B- I-",
        "B I O",
        "O O",
        "O E-X",
        "BI-X O",
        "NN|B-NP VB",
        "NN|B-NP B-NP",
        "a:B-x b",
        "-X O B-X",
        "nsubj:pass obl:agent",
    ],
)
def test_no_span_labels(labels):
    found = evaluate([labels.split()], [labels.split()])
    assert found.spans is None
    assert found.as_dict()["spans"] is None
    assert "span" not in found.table()


@pytest.mark.parametrize(
    ("labels", "part"),
    [
        ("DT|B-NP NN|I-NP VB|B-VP .|O", 'after "|"'),
        ("DT|x|B-NP NN|y|I-NP VB|B-VP :|O", 'after "|"'),
        ("query:B-NP query:I-NP other:B-VP other:O", 'after ":"'),
        (":B-NP :I-NP :B-VP :O", 'after ":"'),
    ],
)
def test_joint_labels(labels, part):
    """The span part alone counts: the rest may be wrong."""
    plain = [["B-NP", "I-NP", "B-VP", "O"]]
    guess = [["B-NP", "I-NP", "O", "B-VP"]]
    sign = part[-2]
    joint = evaluate([labels.split()], [[f"wrong{sign}{label}" for label in guess[0]]])
    assert joint.token_accuracy == 0
    assert joint.spans.part == part
    whole = evaluate(plain, guess).spans
    assert (joint.spans.micro, joint.spans.types) == (whole.micro, whole.types)
    assert f"span (BIO, {part})" in joint.table()


def test_which_part_wins():
    """Whole labels before "|" before ":"; a type may hold either sign."""
    assert evaluate([["B-a|b", "I-a|b"]], [["O", "O"]]).spans.types[0].name == "a|b"
    assert evaluate([["q:B-time:from"]], [["O"]]).spans.types[0].name == "time:from"
    both = evaluate([["x:B-a|B-b"]], [["O"]]).spans
    assert (both.part, both.types[0].name) == ('after "|"', "b")


def test_predicted_labels_of_another_form_are_o():
    odd = ["B-", "NN", "", "B", "X-NP", "-NP"]
    found = evaluate([["B-NP"] * len(odd)], [odd]).spans.micro
    assert (found.support, found.predicted, found.f1) == (len(odd), 0, 0.0)
    assert evaluate([["NN|B-NP"]], [["B-NP"]]).spans.micro.predicted == 0


def test_known_words():
    found = evaluate([["a", "b"], [], ["c"]], [["a", "x"], [], ["c"]], [[True, True], [], [True]])
    assert found.known == (2 / 3, 3)
    assert found.unknown is None
    assert "unknown" not in found.table()
    nothing = evaluate(GOLD, GUESS)
    assert nothing.known is nothing.unknown is None
    assert "known" not in nothing.table()


def test_empty_sentences_count_nowhere():
    empty = evaluate([[], *GOLD, []], [[], *GUESS, []], [[], *KNOWN, []])
    assert empty == evaluate(GOLD, GUESS, KNOWN)


def test_all_right_and_all_wrong():
    right = evaluate(GOLD, GOLD)
    assert (right.token_accuracy, right.sentence_accuracy, right.macro_f1) == (1.0, 1.0, 1.0)
    assert (right.spans.micro.f1, right.spans.macro, right.confusions) == (1.0, 1.0, [])
    assert "predicted  count" not in right.table()
    wrong = evaluate([["a", "b"]], [["b", "a"]])
    assert (wrong.token_accuracy, wrong.sentence_accuracy, wrong.macro_f1) == (0.0, 0.0, 0.0)


def test_confusions_by_count_then_name():
    gold, guess = list("bbbaacc"), list("xxxyyyx")
    assert evaluate([gold], [guess]).confusions == [("b", "x", 3), ("a", "y", 2), ("c", "x", 1), ("c", "y", 1)]


# Against seqeval and scikit-learn


@pytest.fixture(scope="module")
def seqeval():
    return pytest.importorskip("seqeval.metrics")


def check_with_seqeval(seqeval, gold, guess):
    """Micro and macro averages and every type; True if there were spans to compare."""
    if not any(gold):
        return False
    found = evaluate(gold, guess).spans
    if not any(label[0] in "BISU" for sentence in gold for label in sentence):
        assert found is None
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # L-, U- and M- "seem not to be NE tags"
        if not found.types:
            scores = [seqeval.precision_score, seqeval.recall_score, seqeval.f1_score]
            micro = [score(gold, guess, average="micro", zero_division=0) for score in scores]
            assert [found.micro.precision, found.micro.recall, found.micro.f1] == pytest.approx(micro, abs=1e-12)
            assert found.micro.support == found.micro.predicted == found.macro == 0
            return True
        report = seqeval.classification_report(gold, guess, output_dict=True, zero_division=0)
    macro, micro, _ = (report.pop(f"{name} avg") for name in ("macro", "micro", "weighted"))
    for own, theirs in [(found.micro, micro), *((own, report[own.name]) for own in found.types)]:
        values = [theirs["precision"], theirs["recall"], theirs["f1-score"]]
        assert [own.precision, own.recall, own.f1] == pytest.approx(values, abs=1e-12)
        assert own.support == theirs["support"]
    assert found.macro == pytest.approx(macro["f1-score"], abs=1e-12)
    assert {own.name for own in found.types} == set(report)
    return True


def draw(rng, labels, guess_labels):
    """Up to five sentences of up to eight labels, some empty; the prediction repeats much of gold."""
    gold = [rng.choices(labels, k=rng.choice([0, 1, 1, 2, 3, 5, 8])) for _ in range(rng.randint(1, 5))]
    right = rng.random()
    guess = [[label if rng.random() < right else rng.choice(guess_labels) for label in own] for own in gold]
    return gold, guess


@pytest.mark.slow
@pytest.mark.parametrize("guess_prefixes", MIXES)
@pytest.mark.parametrize("gold_prefixes", MIXES)
def test_against_seqeval(seqeval, gold_prefixes, guess_prefixes):
    rng = random.Random(f"{gold_prefixes} {guess_prefixes}")
    compared = 0
    for at in range(150):
        kinds = KINDS[: rng.randint(1, len(KINDS))]
        labels = [span_labels(own, kinds, at % 5 == 0) for own in (gold_prefixes, guess_prefixes)]
        compared += check_with_seqeval(seqeval, *draw(rng, *labels))
    assert compared > 100


@pytest.mark.slow
@settings(deadline=None, max_examples=1000, derandomize=True)
@given(data=st.data())
def test_against_seqeval_by_hypothesis(seqeval, data):
    label = st.sampled_from(span_labels("OBIESLUM", with_o_types=True))
    sentence = st.lists(st.tuples(label, label), max_size=6)
    both = data.draw(st.lists(sentence, min_size=1, max_size=4))
    check_with_seqeval(seqeval, *([[pair[side] for pair in own] for own in both] for side in (0, 1)))


def test_bilou_rewritten_is_iobes():
    """What the docstring advises: L to E and U to S; then each neighbour is counted."""
    gold = "B-X L-X U-X U-X B-X I-X L-X"
    rewritten = gold.replace("L-", "E-").replace("U-", "S-").split()
    assert evaluate([rewritten], [rewritten]).spans.micro.support == 4


@pytest.mark.parametrize("L", [1, 2, 5, 40])
def test_labels_against_sklearn(L):
    metrics = pytest.importorskip("sklearn.metrics")
    rng = random.Random(L)
    names = [f"label {y}" for y in range(L)]
    for _ in range(40):
        gold, guess = draw(rng, names, names[: rng.randint(1, L)])
        flat, flat_guess = ([label for own in labels for label in own] for labels in (gold, guess))
        if not flat:
            continue
        found = evaluate(gold, guess)
        order = sorted({*flat, *flat_guess})
        theirs = metrics.precision_recall_fscore_support(flat, flat_guess, labels=order, zero_division=0)
        ours = {own.name: own for own in found.labels}
        assert sorted(ours) == order
        for name, *values, support in zip(order, *theirs, strict=True):
            own = ours[name]
            assert [own.precision, own.recall, own.f1] == pytest.approx(values, abs=1e-12)
            assert (own.support, own.predicted) == (support, flat_guess.count(name))
        assert found.macro_f1 == pytest.approx(sum(theirs[2]) / len(order))
        assert found.token_accuracy == pytest.approx(metrics.accuracy_score(flat, flat_guess))
        pairs = Counter(pair for pair in zip(flat, flat_guess, strict=True) if pair[0] != pair[1])
        assert {tuple(pair): count for *pair, count in found.confusions} == pairs
        keys = [(-own.support, own.name) for own in found.labels]
        assert keys == sorted(keys)


# Errors


@pytest.mark.parametrize(
    ("gold", "guess", "known", "message"),
    [
        ([["a"], ["a", "b"]], [["a"], ["a"]], None, "sentence 1 has 2 gold labels but 1 predicted labels"),
        ([["a"], ["b"]], [["a"]], None, "2 sentences in gold but 1 of predicted labels"),
        ([["a"]], [["a"]], [[True, False]], "sentence 0 has 1 gold labels but 2 marks in known"),
        ([["a"]], [["a"]], [], "1 sentences in gold but 0 of marks in known"),
        ([], [], None, "no tokens"),
        ([[], []], [[], []], None, "no tokens"),
        (["a", "b"], ["a", "b"], None, "a list of labels for each sentence"),
        ([["a"]], ["a"], None, "a list of labels for each sentence"),
        ([["a", 1.5]], [["a", "b"]], None, r"labels must be strings, not float \(1.5\)"),
        ([["a"]], [[None]], None, r"labels must be strings, not NoneType \(None\)"),
    ],
)
def test_errors(gold, guess, known, message):
    with pytest.raises(ValueError, match=message):
        evaluate(gold, guess, known)


@pytest.mark.parametrize("most", [0, -1, 1.5])
def test_most_must_be_a_count(most):
    with pytest.raises(ValueError, match="most"):
        evaluate(GOLD, GUESS).table(most=most)


# What comes out


def check_json(found: Evaluation):
    plain = found.as_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    return plain


def test_as_dict():
    plain = check_json(evaluate(GOLD, GUESS, KNOWN))
    inner = {"counts", "right", "separators"}  # arrays, and what `parts` has
    assert set(plain) == set(Evaluation.__dataclass_fields__) - inner | {"intervals", "parts"}
    assert plain["intervals"] == {}  # of three sentences there are none
    assert plain["parts"] is None
    assert plain["spans"]["errors"]["NP"] == {
        "boundary": 1,
        "type": 0,
        "boundary and type": 0,
        "missed": 0,
        "spurious": 1,
    }
    assert plain["known"] == {"accuracy": 1.0, "count": 7}
    assert plain["confusions"][0] == {"gold": "B-VP", "predicted": "B-NP", "count": 1}
    assert plain["spans"]["types"][1]["name"] == "PP"
    assert plain["labels"][0]["support"] == 3
    check_json(evaluate([["a"]], [["b"]]))
    labels, guess = ["a|x", "b|x", "a|y", "b|y"], ["a|x", "b|x", "a|x", "b|x"]
    joint = check_json(evaluate([labels * 3] * 10, [guess * 3] * 10, parts="|"))
    assert joint["parts"]["separators"] == "|"
    assert joint["parts"]["parts"][0]["confusions"] == [{"gold": "y", "predicted": "x", "count": 60}]
    assert joint["intervals"]["token_accuracy"] == [0.5, 0.5]
    check_json(evaluate([["B-X"]], [["O"]], [[False]]))


def test_golden_table():
    assert evaluate(GOLD, GUESS, KNOWN).table(most=3) == GOLDEN
    assert "\n... and 4 more" in evaluate(GOLD, GUESS).table(most=1)
    assert "more" not in evaluate(GOLD, GUESS).table()


def test_blocks_are_aligned():
    rng = random.Random(1)
    labels = [*span_labels("OBIES"), "B-" + "long" * 8]
    for _ in range(50):
        gold, guess = draw(rng, labels, labels)
        if not any(gold):
            continue
        marks = [[rng.random() < 0.5 for _ in own] for own in gold]
        for block in evaluate(gold, guess, marks).table(most=5).split("\n\n"):
            header, rule, *rows = block.split("\n")
            assert set(rule) == {"-", " "}
            rows = [row for row in rows if not row.startswith("... and ")]
            assert {len(row) for row in [header, rule, *rows]} == {len(rule)}


def test_at_most_ten_confusions():
    gold = [f"g{y:02}" for y in range(12)]
    text = evaluate([gold], [["p"] * 12]).table(most=12)
    assert text.endswith("g09           p      1\n... and 2 more")


def test_a_million_tokens():
    """An L * L matrix of these labels would take 200 MB."""
    rng = random.Random(0)
    labels = span_labels("OBIES", [f"type{y}" for y in range(1250)])
    sentences = [rng.choices(labels, k=25) for _ in range(200)]
    gold, guess = sentences * 200, [*sentences[1:], sentences[0]] * 200
    found = evaluate(gold, guess)
    assert found.tokens == 1_000_000
    assert found.spans.micro.support == 200 * evaluate(sentences, sentences).spans.micro.support


def test_imports_neither_sklearn_nor_scipy():
    code = "import sys, tagwright.evaluation; print([m for m in ('sklearn', 'scipy', 'seqeval') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
