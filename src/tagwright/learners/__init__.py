"""What makes models from labelled sentences: one file per learner, and the registry."""

LEARNERS = {
    "perceptron": "Perceptron",
    "crf": "CRF",
    "hmm": "HMM",
    "memm": "MEMM",
    "bidirectional": "Bidirectional",
}
"""The file of this room and its class, for every learner: what `tagwright` exports and `train --learner` offers."""
