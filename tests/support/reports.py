"""Reports that tests of pages share."""

import tagwright as tw
from support.documents import HOSTILE


def hostile_report():
    """Words and labels that no corpus should have, in a model that someone else wrote."""
    X, y = [HOSTILE], [[f"L{n}" for n in range(len(HOSTILE))]]
    X = [[word.replace("\ud800", "?") for word in X[0]]]
    model = tw.CRF(features="pos", solver=tw.LBFGS(l2=1.0, max_iterations=2)).fit(X, y).model_
    facts = {**model.facts, HOSTILE[0]: HOSTILE[1], "history": [{"error": 1e308}, {"error": -1e308}, {"error": 0.0}]}
    model = type(model)(HOSTILE, model.features, model.arrays, facts)
    gold = [[*HOSTILE[1:], HOSTILE[0]]]
    return tw.report(model, X, gold, title=HOSTILE[0])
