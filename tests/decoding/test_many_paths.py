"""k in the thousands: every path of a lattice in its order, and no more work and memory than k asks for."""

import numpy as np
import pytest
from support.brute_force import all_paths
from support.checks import DECODERS, check_exact, gives_k
from support.lattices import FORMS, SCORES, draw_case
from support.memory import measurable, megabytes

import tagwright as tw
from tagwright.decoding.examples import model_like

K_BEST = [name for name in DECODERS if gives_k(name)]
T, L = 5, 5


@pytest.mark.parametrize("form", FORMS)
def test_every_path_there_is(form):
    rng = np.random.default_rng(FORMS.index(form))
    for kind in SCORES:
        case = draw_case(rng, form, kind, "none", T, L)
        truth = all_paths(case)
        for decoder in K_BEST:
            check_exact(case, decoder, L**T + 1, truth)


def test_of_equal_scores_viterbi_has_the_lower_labels_before_first():
    """Its lists are ordered by the score to come to a label, then by the label before, from the end on."""
    found = tw.decode(np.zeros((3, 3)), np.zeros((3, 3)), 27, "viterbi")
    assert [path.labels.tolist()[::-1] for path in found.paths] == [list(own) for own in np.ndindex(3, 3, 3)]


@pytest.mark.parametrize("decoder", ["viterbi", "viterbi_astar", "tree"])
def test_edges_are_read_once_whatever_k_is(decoder):
    nodes, edges = model_like(20, 40, seed=1)
    few, many = (tw.decode(nodes, edges, k, decoder) for k in (2, 4000))
    assert len(many.paths) == 4000
    assert many.work.edges < few.work.edges + 10 * nodes.size * len(edges)
    assert many.work.nodes < few.work.nodes + 4000 * len(nodes)


@measurable
@pytest.mark.parametrize("decoder", ["viterbi", "astar", "viterbi_astar", "iterative_viterbi_astar", "tree"])
def test_memory_is_that_of_the_paths(decoder):
    """10 * 400 labels with 16,000 partial paths each would be 1 GB."""
    used = megabytes(f"""
import tagwright as tw
from tagwright.decoding.examples import model_like
nodes, edges = model_like(10, 400, seed=1)
tw.decode(nodes, edges, 2, "{decoder}")
begin()
assert len(tw.decode(nodes, edges, 16_000, "{decoder}").paths) == 16_000
""")
    assert used < 300
