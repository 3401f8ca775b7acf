"""Every exact decoder against every labelling: a seeded sweep over all forms of lattices, and hypothesis."""

import itertools
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.brute_force import Case, all_paths, score
from support.checks import DECODERS, check_exact, gives_k
from support.lattices import FORMS, PATTERNS, SCORES, draw_case, draw_shape

import tagwright as tw

# Lattices of each form, kind of score and ngram: 144 * 150 = 21,600. A sanitizer build asks for fewer.
EACH = int(os.environ.get("TAGWRIGHT_LATTICES", "150"))


@pytest.mark.parametrize("ngram", PATTERNS)
@pytest.mark.parametrize("form", FORMS)
def test_the_truth_is_every_labelling_one_by_one(form, ngram):
    rng = np.random.default_rng([8, FORMS.index(form), PATTERNS.index(ngram)])
    for kind in SCORES:
        T, L = draw_shape(rng)
        case = draw_case(rng, form, kind, ngram, T, L)
        scored = ((score(case, labels), labels) for labels in itertools.product(range(L), repeat=T))
        assert all_paths(case) == sorted(((s, labels) for s, labels in scored if s > -np.inf), reverse=True)


@pytest.mark.slow
@pytest.mark.parametrize("ngram", PATTERNS)
@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("form", FORMS)
def test_sweep(form, kind, ngram):
    rng = np.random.default_rng([FORMS.index(form), SCORES.index(kind), PATTERNS.index(ngram)])
    for _ in range(EACH):
        case = draw_case(rng, form, kind, ngram, *draw_shape(rng))
        truth = all_paths(case)
        k = int(rng.integers(1, 13))
        for decoder in DECODERS:
            check_exact(case, decoder, k if gives_k(decoder) else 1, truth)


@pytest.mark.slow
@settings(deadline=None, max_examples=300, derandomize=True)
@given(data=st.data())
def test_hypothesis(data):
    """Hypothesis shrinks what it finds: small label sets, small integer scores, many ties."""
    L = data.draw(st.integers(1, 4), "L")
    T = data.draw(st.integers(0, 4), "T")
    small = st.one_of(st.integers(-2, 2).map(float), st.just(-np.inf))
    matrix = np.array(data.draw(st.lists(small, min_size=L * L, max_size=L * L), "edges")).reshape(L, L)
    nodes = np.array(data.draw(st.lists(small, min_size=T * L, max_size=T * L), "nodes")).reshape(T, L)
    steps = np.broadcast_to(matrix, (max(T - 1, 0), L, L))
    case = Case(nodes, tw.Edges(matrix), None, steps, np.zeros(L), np.zeros(L))
    k = data.draw(st.integers(1, 12), "k")
    for decoder in DECODERS:
        check_exact(case, decoder, k if gives_k(decoder) else 1)


@pytest.mark.parametrize("kind", SCORES)
def test_a_beam_wide_enough_is_exact(kind):
    rng = np.random.default_rng(7)
    for _ in range(200):
        T, L = draw_shape(rng, most_labels=5)
        case = draw_case(rng, "dense", kind, "scattered", T, L)
        k = int(rng.integers(1, 5))
        check_exact(case, f"beam:{k * L}", k)


def test_more_requested_than_there_are():
    for T, L in [(1, 1), (1, 7), (2, 3), (3, 2)]:
        nodes = np.arange(T * L, dtype=float).reshape(T, L)
        for decoder in filter(gives_k, DECODERS):
            found = tw.decode(nodes, np.zeros((L, L)), k=1000, decoder=decoder)
            assert len(found.paths) == L**T
