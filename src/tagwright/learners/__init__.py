"""Learners, which train models on labelled sentences: one file per learner, and the registry."""

LEARNERS = {
    "perceptron": "Perceptron",
    "crf": "CRF",
    "hmm": "HMM",
    "memm": "MEMM",
    "bidirectional": "Bidirectional",
}
"""The module and the class of every learner, by its name on the command line."""
