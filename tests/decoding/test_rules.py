"""Rules about whole labellings: every rule, decoder and form of lattice against the enumeration of all labellings."""

import itertools
import os

import numpy as np
import pytest
from support.brute_force import tolerance
from support.checks import DECODERS, gives_k, is_whole, knows_patterns
from support.labelling_rules import RULES, draw_ruled
from support.lattices import FORMS, PATTERNS, SCORES

import tagwright as tw

# Lattices of each rule and kind of score, with and without n-grams: 56 * 360 = 20,160 for 1800.
EACH = max(1, int(os.environ.get("TAGWRIGHT_LATTICES", "150")) // 5)


def check(ruled, decoder, k):
    """Compare a decoder with every labelling that satisfies the rules."""
    case = ruled.case
    if not ruled.truth:
        with pytest.raises(ValueError, match="no path"):
            tw.decode(case.nodes, case.edges, k, decoder, **ruled.limits)
        return
    found = tw.decode(case.nodes, case.edges, k, decoder, **ruled.limits)
    assert found.exact
    assert found.gap == 0
    best = ruled.truth[:k]
    assert len(found.paths) == len(best)
    labels = [tuple(path.labels.tolist()) for path in found.paths]
    assert len({*labels}) == len(labels)
    assert {*labels} <= {own for _, own in ruled.truth}
    for path, (score, own) in zip(found.paths, best, strict=True):
        assert abs(path.score - score) <= (0 if is_whole(ruled.limited) else tolerance(ruled.limited, own))


@pytest.mark.slow
@pytest.mark.parametrize("ngrams", [False, True])
@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("rule", RULES)
def test_sweep(rule, kind, ngrams):
    rng = np.random.default_rng([9, RULES.index(rule), SCORES.index(kind), ngrams])
    decoders = [decoder for decoder in DECODERS if knows_patterns(decoder) or not ngrams]
    for _ in range(EACH):
        form, pattern = str(rng.choice(FORMS)), str(rng.choice(PATTERNS))
        ruled = draw_ruled(rng, rule, form, kind, pattern, ngrams)
        k = int(rng.integers(1, 6))
        for decoder in rng.permutation(np.array(decoders, object))[:3]:
            check(ruled, decoder, k if gives_k(decoder) else 1)
