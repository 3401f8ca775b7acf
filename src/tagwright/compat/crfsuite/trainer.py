"""Training with the interface of python-crfsuite."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from tagwright.compat.crfsuite._logparser import TrainLogParser
from tagwright.compat.crfsuite.parameters import ALGORITHMS, Parameter

if TYPE_CHECKING:
    from tagwright.compat.crfsuite.data import Sequences


class BaseTrainer:
    """Collects labelled sentences and trains a model.

    Parameters
    ----------
    algorithm : {'lbfgs', 'l2sgd', 'ap', 'pa', 'arow'}, optional
        See `select`; 'lbfgs' by default.
    params : dict, optional
        See `set_params`.
    verbose : bool
        Whether the log is printed.
    """

    threads = 1
    """Threads of 'lbfgs' and 'l2sgd'; python-crfsuite has one. The result does not depend on it."""
    logparser: TrainLogParser | None = None
    verbose: Any = True
    _data: Sequences | None = None

    _ALGORITHM_ALIASES: ClassVar[dict[str, str]] = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}

    def __new__(cls, *_args: Any, **_options: Any) -> Any:
        """Return a trainer of 'lbfgs': classes derived from it need not call its constructor."""
        made = super().__new__(cls)
        made._select("lbfgs")
        return made

    def __init__(
        self, algorithm: str | None = None, params: Mapping[str, Any] | None = None, verbose: Any = True
    ) -> None:
        """Select the algorithm and set its parameters."""
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)
        self.verbose = verbose

    def message(self, message: str) -> None:
        """Receive a piece of the log; prints it if `verbose`. To be overridden."""
        if self.verbose:
            print(message, end="")

    def append(self, xseq: Iterable[Any], yseq: Iterable[str | bytes], group: int = 0) -> None:
        """Append a labelled sentence.

        Parameters
        ----------
        xseq : iterable of items, or ItemSequence
            One item per token, in the forms of `ItemSequence`.
        yseq : iterable of str
            One label per token.
        group : int
            Number of a group, which `train` can hold out for evaluation.
        """
        self._sequences().append(xseq, yseq, group)

    def clear(self) -> None:
        """Remove all sentences."""
        self._data = None

    def _sequences(self) -> Sequences:
        # Applications that only tag do not load what training needs.
        from tagwright.compat.crfsuite.data import Sequences

        if self._data is None:
            self._data = Sequences()
        return self._data

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Select an algorithm, whose parameters get their defaults.

        Parameters
        ----------
        algorithm : {'lbfgs', 'l2sgd', 'ap', 'pa', 'arow'}
            L-BFGS (with `c1`, OWL-QN); the objective of CRFsuite's stochastic gradient descent, here minimized by
            L-BFGS too; averaged perceptron; passive aggressive; adaptive regularization of weights.
        type : {'crf1d'}
            The graphical model.
        """
        name = self._ALGORITHM_ALIASES.get(algorithm.lower(), algorithm.lower())
        if name not in ALGORITHMS or type != "crf1d":
            known = ", ".join(("lbfgs", "l2sgd", "ap", "pa", "arow"))
            raise ValueError(f"Bad arguments: algorithm={algorithm!r}, type={type!r}; there are {known} of type crf1d")
        self._select(name)

    def _select(self, name: str) -> None:
        self._algorithm = ALGORITHMS[name]
        self._values = {key: own.default for key, own in self._algorithm.parameters.items()}

    def params(self) -> list[str]:
        """Return the names of the parameters of the algorithm."""
        return list(self._algorithm.parameters)

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Set parameters by their names; ValueError for one that the algorithm does not have."""
        for name, value in params.items():
            self.set(name, value)

    def get_params(self) -> dict[str, Any]:
        """Return all parameters of the algorithm."""
        return dict(self._values)

    def set(self, name: str, value: Any) -> None:
        """Set a parameter; ValueError if the algorithm does not have it."""
        self._values[name] = self._parameter(name).cast(value)

    def get(self, name: str) -> Any:
        """Return a parameter; ValueError if the algorithm does not have it."""
        self._parameter(name)
        return self._values[name]

    def help(self, name: str) -> str:
        """Return what a parameter means; ValueError if the algorithm does not have it."""
        return self._parameter(name).help

    def _parameter(self, name: str) -> Parameter:
        own = self._algorithm.parameters
        if name not in own:
            raise ValueError(f"Parameter not found: {name}; {self._algorithm.name} has {', '.join(own)}")
        return own[name]

    def train(self, model: str | os.PathLike[str], holdout: int = -1) -> None:
        """Train on the sentences, and write the model.

        Parameters
        ----------
        model : path
            The file to write, in tagwright's format; empty: none is written.
        holdout : int
            The group that is not trained on, but tagged and evaluated after each iteration; -1: none.
        """
        from tagwright.compat.crfsuite.training import train

        self._before_train()
        train(self._sequences(), self._algorithm, self._values, (model, holdout), (self.message, self.threads))

    def _before_train(self) -> None:
        pass


class Trainer(BaseTrainer):
    """A trainer that parses its log (`logparser`) and calls a method at each of its events.

    Parameters
    ----------
    algorithm : {'lbfgs', 'l2sgd', 'ap', 'pa', 'arow'}, optional
        See `select`; 'lbfgs' by default.
    params : dict, optional
        See `set_params`.
    verbose : bool
        Whether the methods ``on_start``, ``on_featgen_progress``, ``on_featgen_end``, ``on_prepared``,
        ``on_prepare_error``, ``on_iteration``, ``on_optimization_end`` and ``on_end`` are called. They print the log;
        override them to do something else.

    Examples
    --------
    >>> trainer = Trainer("lbfgs", {"c1": 0.1, "c2": 0.01}, verbose=False)
    >>> trainer.append([["walk", "shop"], ["clean"]], ["sunny", "rainy"])
    >>> trainer.train("")
    >>> trainer.logparser.last_iteration["num"] > 1
    True
    """

    def _before_train(self) -> None:
        self.logparser = TrainLogParser()

    def message(self, message: str) -> None:
        """Feed the log to `logparser`, and call the method of an event if `verbose`."""
        if self.logparser is None:
            self.logparser = TrainLogParser()
        event = self.logparser.feed(message)
        if not self.verbose or event is None:
            return
        more: tuple[Any, ...] = ()
        if event == "featgen_progress":
            more = (self.logparser.featgen_percent,)
        elif event == "iteration":
            more = (self.logparser.last_iteration,)
        getattr(self, f"on_{event}")(self.logparser.last_log, *more)

    def on_start(self, log: str) -> None:
        """Print the log up to the first line."""
        print(log, end="")

    def on_featgen_progress(self, log: str, percent: int) -> None:
        """Print the progress of feature generation."""
        print(log, end="")

    def on_featgen_end(self, log: str) -> None:
        """Print the number of features."""
        print(log, end="")

    def on_prepared(self, log: str) -> None:
        """Print the parameters."""
        print(log, end="")

    def on_prepare_error(self, log: str) -> None:
        """Print why there is no training."""
        print(log, end="")

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """Print an iteration; info: the entry of ``logparser.iterations``."""
        print(log, end="")

    def on_optimization_end(self, log: str) -> None:
        """Print why the training ended."""
        print(log, end="")

    def on_end(self, log: str) -> None:
        """Print what was stored."""
        print(log, end="")
