"""sklearn-crfsuite's estimator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.base import BaseEstimator

from tagwright.compat.crfsuite.tagger import Tagger
from tagwright.compat.sklearn_crfsuite._fileresource import FileResource
from tagwright.compat.sklearn_crfsuite.metrics import flat_accuracy_score
from tagwright.compat.sklearn_crfsuite.trainer import LinePerIterationTrainer
from tagwright.learners.learner import Labellings

if TYPE_CHECKING:
    from typing import Self

    from tagwright.compat.crfsuite._dumpparser import ParsedDump


class CRF(BaseEstimator):  # type: ignore[misc]
    """A linear-chain CRF over dicts or lists of attributes, with the interface of sklearn-crfsuite.

    Parameters
    ----------
    algorithm : {'lbfgs', 'l2sgd', 'ap', 'pa', 'arow'}, optional
        L-BFGS by default; see `tagwright.compat.crfsuite.Trainer.select`.
    min_freq : float, optional
        Features (attribute and label, or pair of labels) that occur less often have no weight; 0 by default.
    all_possible_states, all_possible_transitions : bool, optional
        Whether every attribute with every label, and every pair of labels, has a weight, not only those that occur.
    c1, c2 : float, optional
        Coefficients for L1 (lbfgs; 0 by default) and L2 (lbfgs, l2sgd; 1 by default) regularization.
    max_iterations : int, optional
        Of iterations or epochs: unlimited for lbfgs, 1000 for l2sgd, 100 for the others.
    num_memories, epsilon, period, delta : int, float, int, float, optional
        How L-BFGS approximates the Hessian and when it stops; epsilon also of ap, pa and arow.
    linesearch, max_linesearch, calibration_eta, calibration_rate, calibration_samples, calibration_candidates, \
calibration_max_trials : optional
        Accepted without effect.
    pa_type, c, error_sensitive, averaging : int, float, bool, bool, optional
        Of pa.
    variance, gamma : float, optional
        Of arow.
    verbose : bool
        Whether one line per iteration is printed.
    model_filename : str, optional
        The file of the model; it is read if it exists, and written by `fit`. By default the model is kept in a
        temporary file, and pickled with the estimator.
    keep_tempfiles : bool
        Whether temporary files stay.
    trainer_cls : class, optional
        Derived from `tagwright.compat.crfsuite.Trainer`.

    Examples
    --------
    >>> from tagwright.compat import sklearn_crfsuite
    >>> crf = sklearn_crfsuite.CRF(algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=100)
    >>> crf.fit([[{"word": "the"}, {"word": "dog"}]], [["DT", "NN"]]).predict([[{"word": "dog"}]])
    [['NN']]
    """

    _PARAMETERS: ClassVar[dict[str, str]] = {
        "feature.minfreq": "min_freq",
        "feature.possible_states": "all_possible_states",
        "feature.possible_transitions": "all_possible_transitions",
        "type": "pa_type",
        **{
            f"calibration.{name}": f"calibration_{name}"
            for name in ("eta", "rate", "samples", "candidates", "max_trials")
        },
        **{
            name: name
            for name in (
                "c1", "c2", "max_iterations", "num_memories", "epsilon", "period", "delta", "linesearch",
                "max_linesearch", "c", "error_sensitive", "averaging", "variance", "gamma",
            )
        },
    }  # fmt: skip
    """Parameters of trainers, and the attributes that have them."""

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: int | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: str | None = None,
        keep_tempfiles: bool | None = False,
        trainer_cls: Any = None,
    ) -> None:
        """Store the parameters."""
        given = dict(locals())
        for name in self._get_param_names():
            setattr(self, name, given[name])
        self.modelfile = FileResource(model_filename, bool(keep_tempfiles), ".crfsuite", "model")
        self.training_log_: Any = None
        self._tagger: Tagger | None = None
        self._info_cached: ParsedDump | None = None

    def fit(self, X: Iterable[Any], y: Iterable[Any], X_dev: Any = None, y_dev: Any = None) -> Self:
        """Train on sentences X with labels y; measure on X_dev and y_dev after each iteration, if they are given."""
        if (X_dev is None) != (y_dev is None):
            raise ValueError("Pass both X_dev and y_dev to use the holdout data")
        self._close()
        self.modelfile.refresh()
        trainer = self._get_trainer()
        for group, (xs, ys) in enumerate([(X, y)] if X_dev is None else [(X, y), (X_dev, y_dev)]):
            for xseq, yseq in zip(xs, ys, strict=False):
                trainer.append(xseq, yseq, group)
        trainer.train(self.modelfile.name, holdout=-1 if X_dev is None else 1)
        self.training_log_ = trainer.logparser
        return self

    def predict(self, X: Iterable[Any]) -> list[list[str]]:
        """Return the labels of each sentence."""
        return Labellings(self._fitted().tag_batch(X))

    def predict_single(self, xseq: Iterable[Any]) -> list[str]:
        """Return the labels of one sentence."""
        return self._fitted().tag(xseq)

    def predict_marginals(self, X: Iterable[Any]) -> list[list[dict[str, float]]]:
        """Return the probability of every label, as a dict per token, of each sentence."""
        return [self.predict_marginals_single(xseq) for xseq in X]

    def predict_marginals_single(self, xseq: Iterable[Any]) -> list[dict[str, float]]:
        """Return the probability of every label, as a dict per token, of one sentence."""
        tagger = self._fitted()
        tagger.set(xseq)
        return tagger.marginals()

    def score(self, X: Iterable[Any], y: Sequence[Any]) -> float:
        """Return the share of tokens whose label is right."""
        return flat_accuracy_score(y, self.predict(X))

    @property
    def tagger_(self) -> Tagger | None:
        """The tagger of the model; None before `fit`, unless the model is read from a file."""
        if self._tagger is None and self.modelfile.name is not None:
            tagger = Tagger()
            tagger.open(self.modelfile.name)
            self._tagger = tagger
        return self._tagger

    @property
    def classes_(self) -> list[str] | None:
        """The labels; None before `fit`."""
        return None if self.tagger_ is None else self.tagger_.labels()

    @property
    def size_(self) -> int | None:
        """Size of the model file in bytes; None before `fit`."""
        return None if self._info is None else int(self._info.header["size"])

    @property
    def num_attributes_(self) -> int | None:
        """Number of attributes that have weights; None before `fit`."""
        return None if self._info is None else len(self._info.attributes)

    @property
    def attributes_(self) -> list[str] | None:
        """The attributes that have weights; None before `fit`."""
        return None if self._info is None else list(self._info.attributes)

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """Weights of attributes with labels, ``{(attribute, label): weight}``; None before `fit`."""
        return None if self._info is None else self._info.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """Weights of pairs of labels, ``{(previous, current): weight}``; None before `fit`."""
        return None if self._info is None else self._info.transitions

    @property
    def _info(self) -> ParsedDump | None:
        if self._info_cached is None and self.tagger_ is not None:
            self._info_cached = self.tagger_.info()
        return self._info_cached

    def _fitted(self) -> Tagger:
        if self.tagger_ is None:
            from sklearn.exceptions import NotFittedError

            raise NotFittedError("this CRF is not fitted; call fit, or name a model file with model_filename")
        return self.tagger_

    def _close(self) -> None:
        if self._tagger is not None:
            self._tagger.close()
        self._tagger = self._info_cached = None

    def _get_trainer(self) -> Any:
        given = {name: getattr(self, own) for name, own in self._PARAMETERS.items()}
        params = {name: value for name, value in given.items() if value is not None}
        made = self.trainer_cls or LinePerIterationTrainer
        return made(algorithm=self.algorithm, params=params, verbose=self.verbose)

    def __getstate__(self) -> dict[str, Any]:
        """Return the parameters and the model file, without what is open."""
        return {**self.__dict__, "_tagger": None, "_info_cached": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore what `__getstate__` returned."""
        self.__dict__.update(state)
