"""Very long sentences of text: the same answers window by window, in little memory, or a refusal that says why."""

import itertools

import numpy as np
import pytest
from support.corpora import drawn, ten_sentences
from support.memory import measurable, megabytes

import tagwright as tw
from tagwright.decoding.decoders import _ViterbiInWindows
from tagwright.decoding.keep import keep_arguments
from tagwright.models.bidirectional import BidirectionalModel

X10, Y10 = ten_sentences()
LISTS = "U0:%x[0,0]\nU1:%x[-2,0]/%x[2,0]\nU2:%in[0,0,things]\nU3:%lower[1,0]\nB\n"
DEPENDENT = "U0:%x[0,0]\nB\nB1:%x[0,0]\nB2:%suffix[-1,0,1]\n"
LEARNERS = {
    "perceptron": tw.Perceptron(tw.Features(LISTS, {"things": ["long run", "can", "the old can"]}), epochs=3),
    "perceptron with token-dependent edges": tw.Perceptron(DEPENDENT, epochs=3),
    "crf": tw.CRF(tw.Features(LISTS, {"things": ["long run", "can"]}), solver=tw.LBFGS(max_iterations=20)),
    "crf with token-dependent edges": tw.CRF(DEPENDENT, solver=tw.LBFGS(max_iterations=20)),
    "hmm": tw.HMM(),
}
LONG = [list(itertools.chain(*X10, ["unheard"], *reversed(X10))), X10[0], [], ["Kim"]]
WINDOWS = (1, 2, 7, 40, 1000)


@pytest.fixture(params=LEARNERS)
def model(request):
    return LEARNERS[request.param].fit(X10, Y10).model_


def test_the_same_labels_and_scores(model):
    whole = model.tag_kbest(LONG, 1, "viterbi")
    for window in WINDOWS:
        for one, other in zip(whole, model.tag_kbest(LONG, 1, _ViterbiInWindows(window=window)), strict=True):
            assert other[0].score == pytest.approx(one[0].score, rel=1e-12)
            if model.probabilistic:  # scores of a perceptron may be equal
                assert other[0].labels == one[0].labels


def test_the_same_probabilities(model):
    if not model.probabilistic:
        pytest.skip("not applicable: scores of a perceptron are not probabilities")
    whole, tables = model.tag_kbest(LONG, 1, "viterbi", proba=True), model.marginals(LONG)
    for window in WINDOWS:
        found = model.tag_kbest(LONG, 1, _ViterbiInWindows(window=window), proba=True)
        for (one,), (other,) in zip(whole, found, strict=True):
            assert other.probability == pytest.approx(one.probability, rel=1e-9)
            np.testing.assert_allclose(other.marginals, one.marginals, rtol=1e-9)
        in_windows = model._core.marginals(model.text(LONG), model.edges._core, keep_arguments(None), 1, window)
        for one, other in zip(tables, in_windows, strict=True):
            np.testing.assert_allclose(other, one, rtol=0, atol=1e-7)


def test_two_models_agree_on_the_same():
    facts = {"bidirectional": {"rounds": 10, "step": 0.5, "schedule": "falling"}}
    left, right = (LEARNERS[name].fit(X10, Y10).model_ for name in ("crf", "crf with token-dependent edges"))
    both = BidirectionalModel(left, right, facts)
    whole = both.agree(LONG, "viterbi")
    assert any(one.rounds > 1 for one in whole)
    for window in (2, 7, 40):
        for one, other in zip(whole, both.agree(LONG, _ViterbiInWindows(window=window)), strict=True):
            assert (one.labels, one.rounds, one.disputed) == (other.labels, other.rounds, other.disputed)
            assert other.score == pytest.approx(one.score, rel=1e-12)


def test_features_do_not_depend_on_where_a_token_stands():
    """Views of cells are computed for some thousand tokens at a time."""
    X, _ = drawn(3, sentences=4000, words=50, longest=6)
    words = list(itertools.chain(*X))
    features = tw.Features(
        "U:%x[-3,0]/%suffix[0,0,1]/%lower[2,0]\nU:%in[-1,0,few]\nB:%x[-1,0]\n", {"few": ["w1 w2", "w7"]}
    )
    made = features.core.expand(_text(features, [words]), 0)
    assert len(made) > 8192
    for t in (500, 4094, 4095, 4096, 4097, 4098, 8191, 8192, 8193):
        begin = max(b for b in range(t - 20) if words[b] == "w3")  # where no entry of the list continues
        near = features.core.expand(_text(features, [words[begin : t + 10]]), 0)
        assert made[t] == near[t - begin]


def _text(features, X):
    return tw.models.native.core_text(X, features)


@pytest.mark.slow
def test_a_memm_finds_what_its_lattice_has():
    """More rows of probabilities than are held at once, and a beam of all histories: nothing is lost."""
    model = (
        tw.MEMM("U0:%x[0,0]\nU1:%y[-1]\nU2:%y[-1]/%x[0,0]\n", solver=tw.LBFGS(max_iterations=5)).fit(X10, Y10).model_
    )
    words = list(itertools.chain(*X10)) * 4000
    best = model.tag_kbest([words], 1)[0][0]
    truth = model.tag_kbest([words], 1, "viterbi")[0][0]
    assert best.score == pytest.approx(truth.score, rel=1e-12)


def test_what_cannot_be_done_in_windows_is_refused_with_its_size():
    crf = LEARNERS["crf"].fit(X10, Y10).model_
    limit = r"would take \d+\.\d GB with .*, and the limit is 1 GB; split the sentence"
    with pytest.raises(ValueError, match=f"sentence 1: 300000 tokens {limit}"):
        crf.tag_kbest([["the"], ["the"] * 300_000], 100)
    with pytest.raises(ValueError, match=f"1200000 tokens {limit}"):
        crf.tag(["the"] * 1_200_000, "astar")
    memm = tw.MEMM(solver=tw.LBFGS(max_iterations=3)).fit(X10, Y10).model_
    with pytest.raises(ValueError, match=f"200000 tokens {limit}"):
        memm.tag(["the"] * 200_000, "beam:400")
    both = BidirectionalModel(memm, memm, {"bidirectional": {"rounds": 10, "step": 0.5, "schedule": "falling"}})
    with pytest.raises(ValueError, match=f"900000 tokens {limit}"):
        both.tag(["the"] * 900_000)


@measurable
@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "asked"),
    [
        ("tw.Perceptron(epochs=1)", "model.tag(words)"),
        (f"tw.Perceptron({DEPENDENT!r}, epochs=1)", "model.tag(words)"),
        ("tw.CRF('U0:%x[0,0]\\nB\\n', max_iterations=2)", "model.tag(words, proba=True)"),
    ],
)
def test_a_million_tokens_take_less_than_a_gigabyte(learner, asked):
    used = megabytes(f"""
import numpy as np, tagwright as tw, warnings
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = [[f"w{{n}}" for n in rng.integers(0, 2000, 30)] for _ in range(100)]
model = {learner}.fit(X, [[f"L{{n}}" for n in rng.integers(0, 69, 30)] for _ in X]).model_
assert len(model.labels) == 69
words = [f"w{{n}}" for n in rng.integers(0, 2000, 1_000_000)]
begin()
assert len({asked}) == 1_000_000
""")
    assert used < 900
