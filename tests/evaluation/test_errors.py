"""Wrong labels one by one, beside plain loops."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tagwright.evaluation.errors import WordErrors, error_words, examples_of, wrong_places

tokens = st.tuples(st.sampled_from("uvwxyz"), st.sampled_from("ABC"), st.sampled_from("ABC"))
corpora = st.lists(st.lists(tokens, max_size=12), max_size=8)


def split(corpus):
    return [[[token[n] for token in sentence] for sentence in corpus] for n in range(3)]


@given(corpora, st.integers(1, 6))
def test_words_are_those_of_plain_loops(corpus, most):
    flat = [token for sentence in corpus for token in sentence]
    found = error_words(*split(corpus), most)
    wrong = Counter(word for word, a, b in flat if a != b)
    assert len(found) == min(most, len(wrong))
    assert [own.wrong for own in found] == sorted(wrong.values(), reverse=True)[:most]
    for own in found:
        assert own.wrong == wrong[own.word]
        assert own.tokens == sum(word == own.word for word, _, _ in flat)
        pairs = Counter((a, b) for word, a, b in flat if word == own.word and a != b)
        assert own.confusion[2] == pairs[own.confusion[:2]] == max(pairs.values())


@given(corpora, st.integers(1, 3))
def test_examples_are_of_different_words_most_frequent_first(corpus, most):
    words, gold, guess = split(corpus)
    found = examples_of(words, gold, guess, most)
    assert {*found} == {(a, b) for sentence in corpus for _, a, b in sentence if a != b}
    for (a, b), rows in found.items():
        counts = Counter(word for sentence in corpus for word, *labels in sentence if labels == [a, b])
        assert [count for _, count in rows] == sorted(counts.values(), reverse=True)[:most]
        shown = [words[s][t] for (s, t), _ in rows]
        assert len({*shown}) == len(shown)
        for (s, t), count in rows:
            assert (gold[s][t], guess[s][t]) == (a, b)
            assert count == counts[words[s][t]]
    assert len([*wrong_places(gold, guess)]) == sum(a != b for sentence in corpus for _, a, b in sentence)


def test_by_hand():
    words, gold, guess = [["that", "that", "is"], ["that"]], [["DT", "DT", "V"], ["WDT"]], [["IN", "DT", "V"], ["IN"]]
    assert error_words(words, gold, guess, 5) == [WordErrors("that", 2, 3, ("DT", "IN", 1))]
