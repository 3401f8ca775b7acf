"""The training algorithms of CRFsuite and their parameters: defaults, types and help."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

CRFSUITE_VERSION = "0.12.2"
"""The version of CRFsuite whose interface this is."""

_MOST = 2**31 - 1


class CRFSuiteError(Exception):
    """An error of a training."""

    _messages: ClassVar[dict[int, str]] = {}

    def __init__(self, code: int) -> None:
        """Store the code."""
        self.code = code
        super().__init__(self._messages.get(code, f"error {code}"))


def flag(text: Any) -> bool:
    """Return a bool from its number as text."""
    return bool(int(text))


class Parameter(NamedTuple):
    """A parameter of an algorithm."""

    default: Any
    help: str
    kind: Callable[[Any], Any] = float

    def cast(self, value: Any) -> Any:
        """Return a value as this parameter has it; as CRFsuite does, 0 for text that is not a number."""
        if self.kind is str:
            return str(value)
        try:
            number = float(value)
        except ValueError:
            number = 0.0
        if math.isnan(number):
            number = 0.0
        return number if self.kind is float else self.kind(max(-_MOST, min(_MOST, number)))


class Algorithm(NamedTuple):
    """A training algorithm."""

    name: str
    title: str
    """As the log shows it."""
    parameters: dict[str, Parameter]


_FEATURES = {
    "feature.minfreq": Parameter(0.0, "Attributes with a label, and pairs of labels, that are rarer have no weight."),
    "feature.possible_states": Parameter(
        False, "Whether every attribute has a weight with every label, not only those it occurs with.", flag
    ),
    "feature.possible_transitions": Parameter(
        False, "Whether every pair of labels has a weight, not only those that occur.", flag
    ),
}
_C2 = Parameter(1.0, "Coefficient for L2 regularization: the penalty is c2 times the sum of squared weights.")
_PERIOD = Parameter(10, "The number of iterations over which the stopping criterion is tested.", int)
_DELTA = "Training stops when the objective improved by less than this share over the last `period` iterations."
_LOSS = Parameter(0.0, "Training stops when the mean loss of an epoch is below this number.")
_EPOCHS = Parameter(100, "The maximum number of epochs.", int)
_LEFT = "Accepted for compatibility, without effect: "
_CALIBRATION = _LEFT + "the optimum is found by L-BFGS, which has no learning rate."
_SEARCH = _LEFT + "tagwright has one line search, with at most 20 trials."


def _algorithm(name: str, title: str, **own: Parameter) -> Algorithm:
    parameters = {key.replace("__", "."): value for key, value in own.items()}
    return Algorithm(name, title, {**_FEATURES, **parameters})


ALGORITHMS = {
    made.name: made
    for made in (
        _algorithm(
            "lbfgs",
            "L-BFGS optimization",
            c1=Parameter(
                0.0, "Coefficient for L1 regularization: the penalty is c1 times the sum of absolute weights."
            ),
            c2=_C2,
            max_iterations=Parameter(_MOST, "The maximum number of iterations.", int),
            num_memories=Parameter(6, "The number of steps that L-BFGS remembers to approximate the Hessian.", int),
            epsilon=Parameter(
                1e-5, "Training stops when the norm of the gradient is below this share of the norm of the weights."
            ),
            period=_PERIOD,
            delta=Parameter(1e-5, _DELTA),
            linesearch=Parameter("MoreThuente", _SEARCH, str),
            max_linesearch=Parameter(20, _SEARCH, int),
        ),
        _algorithm(
            "l2sgd",
            "L2-regularized log-likelihood, minimized by L-BFGS",
            c2=_C2,
            max_iterations=Parameter(1000, "The maximum number of iterations.", int),
            period=_PERIOD,
            delta=Parameter(1e-6, _DELTA),
            calibration__eta=Parameter(0.1, _CALIBRATION),
            calibration__rate=Parameter(2.0, _CALIBRATION),
            calibration__samples=Parameter(1000.0, _CALIBRATION),
            calibration__candidates=Parameter(10, _CALIBRATION, int),
            calibration__max_trials=Parameter(20, _CALIBRATION, int),
        ),
        _algorithm("averaged-perceptron", "Averaged perceptron", max_iterations=_EPOCHS, epsilon=_LOSS),
        _algorithm(
            "passive-aggressive",
            "Passive Aggressive",
            type=Parameter(1, "0: without slack variables; 1: PA-I; 2: PA-II.", int),
            c=Parameter(1.0, "Aggressiveness: the largest step of PA-I, the slack of PA-II."),
            error_sensitive=Parameter(
                True, "Whether the margin is the square root of the number of wrong labels, or 1.", flag
            ),
            averaging=Parameter(True, "Whether the model has the mean of the weights after each sentence.", flag),
            max_iterations=_EPOCHS,
            epsilon=_LOSS,
        ),
        _algorithm(
            "arow",
            "Adaptive Regularization of Weights (AROW)",
            variance=Parameter(1.0, "The initial variance of every weight."),
            gamma=Parameter(1.0, "The trade-off between the loss and the change of weights."),
            max_iterations=_EPOCHS,
            epsilon=_LOSS,
        ),
    )
}
