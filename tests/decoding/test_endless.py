"""Sequences that never end are refused by their length, and labels that are not names by their type."""

import itertools

import numpy as np
import pytest

import tagwright as tw

NODES, EDGES = np.zeros((3, 2)), np.zeros((2, 2))


@pytest.mark.parametrize("call", [tw.decode, tw.marginals, tw.sample], ids=lambda call: call.__name__)
def test_endless_lists_of_labels(call):
    with pytest.raises(ValueError, match="allowed"):
        call(NODES, EDGES, allowed=itertools.repeat(None))
    with pytest.raises(ValueError, match="allowed"):
        tw.decode_batch([NODES], EDGES, allowed=itertools.repeat(None))
    with pytest.raises(ValueError, match="allowed"):
        tw.decode_batch([NODES], EDGES, allowed=[itertools.repeat(None)])


def test_endless_sets_of_corrections():
    with pytest.raises(ValueError, match=r"active|step"):
        tw.decode(NODES, EDGES, active=itertools.repeat([]))
    with pytest.raises(ValueError, match=r"active|step"):
        tw.score(NODES, EDGES, [0, 0, 0], active=itertools.repeat([]))


def test_endless_lists_for_a_model():
    model = tw.load()
    with pytest.raises(ValueError, match="allowed"):
        model.tag(["the", "dog"], allowed=itertools.repeat(None))
    words = tw.Constraints(model.labels, words={"dog": ["NN"]})
    with pytest.raises(ValueError, match="allowed"):
        model.tag(["the", "dog"], allowed=itertools.repeat(None), constraints=words)


def test_span_labels_that_are_numbers():
    with pytest.raises(ValueError, match="labels must be names such as 'B-NP'; 1 is not a string"):
        tw.spans(NODES, EDGES, labels=[1, 2])
    for labels in (5, None, "OB"):
        with pytest.raises(ValueError, match="labels must be the names of all labels"):
            tw.spans(NODES, EDGES, labels=labels)
