"""Patterns of labels: every decoder that knows them against every labelling, and what is refused."""

import itertools
import os

import numpy as np
import pytest
from support.brute_force import all_paths, score
from support.checks import DECODERS, check_exact, gives_k, knows_patterns
from support.lattices import FORMS, PATTERNS, SCORES, draw_case, draw_patterns

import tagwright as tw
from tagwright.decoding.decoders import _ViterbiPairs

# Lattices of each form, kind of score and kind of -inf: 144 * 75 = 10,800. A sanitizer build asks for fewer.
EACH = int(os.environ.get("TAGWRIGHT_LATTICES", "150")) // 2
KNOWING = [*filter(knows_patterns, DECODERS), _ViterbiPairs()]
LENGTHS = [(3,), (3, 4), (4,), (3, 3, 4)]


def draw_shape(rng):
    L = int(rng.integers(1, 8))
    longest = 6
    while L**longest > 3000:
        longest -= 1
    return int(rng.integers(0, longest + 1)), L


def draw(rng, form, kind, pattern):
    T, L = draw_shape(rng)
    patterns = draw_patterns(rng, kind, L, LENGTHS[int(rng.integers(len(LENGTHS)))])
    return draw_case(rng, form, kind, pattern, T, L, patterns)


@pytest.mark.parametrize("form", FORMS)
def test_the_truth_is_every_labelling_one_by_one(form):
    rng = np.random.default_rng([18, FORMS.index(form)])
    for kind in SCORES:
        case = draw(rng, form, kind, "none")
        T, L = case.nodes.shape
        scored = [(score(case, labels), labels) for labels in itertools.product(range(L), repeat=T)]
        assert all_paths(case) == sorted(((s, labels) for s, labels in scored if s > -np.inf), reverse=True)
        for right, labels in scored:
            found = tw.score(case.nodes, case.edges, labels, switched_on=case.switched_on)
            assert found == right or abs(found - right) <= 1e-12 * max(1, abs(right))


@pytest.mark.slow
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("form", FORMS)
def test_sweep(form, kind, pattern):
    rng = np.random.default_rng([19, FORMS.index(form), SCORES.index(kind), PATTERNS.index(pattern)])
    for _ in range(EACH):
        case = draw(rng, form, kind, pattern)
        truth = all_paths(case)
        k = int(rng.integers(1, 13))
        for decoder in KNOWING:
            check_exact(case, decoder, k if gives_k(decoder) else 1, truth)
