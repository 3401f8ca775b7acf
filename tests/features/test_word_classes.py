"""Word classes: the objective against NumPy, planted classes, what is refused, and what files say."""

import random
import signal
from itertools import pairwise

import numpy as np
import pytest

import tagwright as tw
from tagwright import _core
from tagwright.features.word_classes import HEADER

KINDS = {"D": ["the", "a", "this"], "N": ["dog", "cat", "bird", "fox"], "V": ["runs", "sees", "sleeps"]}


def planted(sentences, seed=0):
    """Sentences of determiners, nouns and verbs in a fixed order."""
    rng = random.Random(seed)
    return [[rng.choice(KINDS[kind]) for kind in "DNVDN"] for _ in range(sentences)]


def mutual_information(X, class_of):
    """The objective: N times the mutual information of neighbouring classes, less N log N, densely."""
    names = sorted({*class_of.values(), -1})
    number = {name: n for n, name in enumerate(names)}
    pairs = np.zeros((len(names), len(names)))
    for sentence in X:
        row = [-1, *(class_of[word] for word in sentence), -1]
        for left, right in pairwise(row):
            pairs[number[left], number[right]] += 1
    total = pairs.sum()
    joint, left, right = pairs / total, pairs.sum(1, keepdims=True) / total, pairs.sum(0, keepdims=True) / total
    inside = joint > 0
    information = (joint[inside] * np.log(joint[inside] / (left @ right)[inside])).sum()
    return total * information - total * np.log(total)


def counted(X, min_count=1):
    counter = _core.BigramCounter.make(True)
    for sentence in X:
        counter.add_sentence(sentence)
    return counter.bigrams(min_count)


@pytest.mark.parametrize("seed", range(5))
def test_the_objective_is_mutual_information_and_never_falls(seed):
    rng = random.Random(seed)
    X = [rng.choices("abcdefghij", weights=range(1, 11), k=rng.randint(1, 9)) for _ in range(60)]
    text = counted(X)
    classes = _core.WordClasses.make(text, rng.randint(2, 10), seed)
    before = classes.objective
    for _ in range(5):
        class_of = dict(zip(text.words, classes.class_of[: len(text.words)], strict=True))
        assert classes.objective == pytest.approx(mutual_information(X, class_of), rel=1e-12)
        moved = classes.sweep(1)
        assert classes.objective > before if moved else classes.objective == before
        before = classes.objective


def test_planted_classes_are_found():
    lines = tw.word_classes(planted(300), sizes=[2, 3], min_count=1)
    assert lines[0] == HEADER
    path = {word: own for word, own, _ in (line.split("\t") for line in lines[1:])}
    found = {kind: {path[word] for word in words} for kind, words in KINDS.items()}
    assert all(len(own) == 1 for own in found.values())
    assert len(set.union(*found.values())) == 3
    assert sum(int(line.split("\t")[2]) for line in lines[1:]) == 1500


def test_words_are_lower_cased_and_folded():
    X = [["The", "Year", "1984"], ["the", "YEAR", "2001"]]
    words = {line.split("\t")[0] for line in tw.word_classes(X, [4], min_count=2)[1:]}
    assert words == {"the", "year", "0000"}
    words = {line.split("\t")[0] for line in tw.word_classes(X, [4], min_count=1, keep_case=True)[1:]}
    assert words == {"The", "the", "Year", "YEAR", "0000"}


def test_threads_and_repetition_change_nothing():
    rng = random.Random(3)
    words = ["".join(rng.choices("abcdef", k=4)) for _ in range(300)]
    X = [[words[min(rng.randrange(300), rng.randrange(300))] for _ in range(9)] for _ in range(400)]
    one = tw.word_classes(X, [8, 30], threads=1)
    assert tw.word_classes(X, [30, 8, 8], threads=3) == one
    assert tw.word_classes(X, [8, 30], seed=5) != one


def test_fewer_words_than_classes():
    lines = tw.word_classes([["a", "b"], ["b", "a"]], min_count=1)
    assert [line.split("\t")[0] for line in lines[1:]] == ["a", "b"]
    assert tw.Features("U:%class[0,0,c,1]\n", {"c": lines}).columns == 1
    assert tw.word_classes([["a"]], sizes=[1], min_count=1) == [HEADER, "a\t0\t1"]


@pytest.mark.parametrize(
    ("sentences", "options", "says"),
    [
        ([], {}, "the text has no tokens"),
        ([["a"]], {}, "no word occurs 3 times in the text; lower min_count"),
        (["a b"], {}, "sentence 0 must be a list of words, not 'a b'"),
        ([["a"], ["b", 3]], {}, "sentence 1, token 1 is not a string but 3"),
        ([["a\tb"]], {}, "sentence 0, token 0 is 'a.*tb': empty, or with a tab"),
        ([[""]], {}, "empty, or with a tab"),
        ([["\ud800"]], {}, "a lone surrogate"),
        ([["a"]], {"sizes": []}, "sizes must be a whole number"),
        ([["a"]], {"sizes": [0]}, "sizes must be a whole number of at least 1"),
        ([["a"]], {"sizes": "64"}, "sizes must be numbers of classes"),
        ([["a"]], {"sizes": [5000]}, "sizes must be at most 4,096, not 5,000"),
        ([["a"]], {"min_count": 0}, "min_count must be"),
        ([["a"]], {"seed": -1}, "seed must be"),
    ],
)
def test_what_is_refused(sentences, options, says):
    with pytest.raises(ValueError, match=says):
        tw.word_classes(sentences, **options)


def sweep_for_long(classes):
    for _ in range(1000):
        classes.sweep(1)


def test_ctrl_c_ends_a_sweep():
    rng = random.Random(1)
    text = counted([["".join(rng.choices("abcdefg", k=4)) for _ in range(30)] for _ in range(1000)])
    classes = _core.WordClasses.make(text, 1000, 0)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            sweep_for_long(classes)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
