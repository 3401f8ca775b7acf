"""What all models share: text in, labels and the k best labellings out; saved to and read from one file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.constraints.allowed import AllowedLabels
from tagwright.constraints.arrays import from_arrays
from tagwright.constraints.constraints import Constraints
from tagwright.data.output import Target
from tagwright.decoding.decoders import Decoder
from tagwright.decoding.edges import Edges
from tagwright.features.templates import Features
from tagwright.markup import notebook_table
from tagwright.models import file as container
from tagwright.models.facts import History, fact_in, history_of, plain, timed_facts
from tagwright.models.file import Arrays, ModelError
from tagwright.models.foreign import import_model, is_foreign
from tagwright.models.inspection import FeatureWeight, Transition, feature_weights, transitions
from tagwright.models.kinds import KINDS, kind_of
from tagwright.models.limits import Limits
from tagwright.models.native import Sentences, core_text
from tagwright.models.summary import summary
from tagwright.models.tagger import Tagger
from tagwright.models.tagging import Lattice, Tagging

if TYPE_CHECKING:
    from tagwright.models.explanation import Explanation

__all__ = ["Lattice", "Model", "Tagging", "load"]

BUILT_IN = Path(__file__).with_name("english.safetensors")
"""The POS tagger for English that is part of the package; see NOTICE."""


class Model(Tagger):
    """What training makes and tagging uses.

    There is one class for each way to tag: one lattice per sentence (`LinearModel`: perceptron, CRF, HMM), a beam over
    label histories (`MemmModel`), two models that must agree (`BidirectionalModel`). ``Model(...)`` makes a
    `LinearModel`, and `load` a model of the kind that its file names.

    Parameters
    ----------
    labels
        Their names, most frequent first.
    features
        Templates, or None where tokens are given as ready-made features.
    arrays
        Names.slots, names.ends, names.bytes (the feature index), rows.end, rows.label, rows.weight (one sparse row per
        feature), edges.previous, edges.current, edges.score; where there are any, start, stop, and for token-dependent
        edges edge_names.* and corrections.set, .previous, .current, .score.
    facts
        Learner, options, and what it was trained on.

    """

    looks_back: ClassVar[bool] = False
    """Whether templates may look at the labels of earlier tokens."""

    def __new__(cls, *parts: object, **named: object) -> Self:
        """Return an empty model, for ``Model(...)`` itself one of one lattice per sentence."""
        made: Any = KINDS["perceptron"].model_class if cls is Model else cls
        model: Self = super().__new__(made)
        return model

    def __init__(self, labels: Sequence[str], features: Features | None, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Keep the parts; subclasses check that they fit together."""
        self.labels = list(labels)
        self.features = features
        self.arrays = {name: _read_only(array) for name, array in arrays.items()}
        self.facts = facts
        self._constraints = from_arrays(self.labels, self.arrays)

    @property
    def history(self) -> History:
        """How training went: a dict per epoch or iteration, with error or objective, seconds, and dev where measured.

        A copy of ``facts["history"]``; empty for a model that was counted, or made by an older tagwright. The two sides
        of a bidirectional model have one each.
        """
        return history_of(self.facts)

    @property
    def columns(self) -> int:
        """How many columns a token must have; 0 for ready-made features."""
        return self.features.columns if self.features else 0

    def reader(self, columns: int) -> str:
        """Return which template reads a column beyond the first `columns`; for messages."""
        return self.features.reader(columns) if self.features else ""

    def knows(self, word: str) -> bool | None:
        """Return whether a word was in the training data at least min_count times; None if no feature is the word."""
        prefix = self.features.word_prefix() if self.features else None
        if prefix is None:
            return None
        slots, ends, names = (self.arrays[f"names.{part}"] for part in ("slots", "ends", "bytes"))
        return _core.index_find((slots, ends, names), prefix + word) >= 0

    @property
    def edges(self) -> Edges:
        """The edges that all sentences share; ValueError if the model has none of its own."""
        raise self._lacking("edges")

    def explain(
        self, sentence: Sequence[object], token: int, labels: Sequence[str] | None = None, *,
        constraints: Constraints | str | None = None, allowed: AllowedLabels | None = None,
        lattice: Lattice | None = None,
    ) -> Explanation:  # fmt: skip
        """Return why a token of a sentence has its label: what features, edges and n-grams add, and for its rival.

        Contributions of features add up to the label's node score, to the last bit; edges and n-grams are those of the
        best labelling with that label. The rival is the label of the best labelling that has another label there.

        Parameters
        ----------
        sentence
            As for `tag`.
        token
            Its place in the sentence, from 0; -1 is the last.
        labels
            Names of the labels to explain; by default the best one and its rival.
        constraints, allowed
            As for `tag`.
        lattice
            The scores to explain, in place of `lattice(sentence, ...)`.

        Raises
        ------
        ValueError
            If there is no such token or label, or if the model's scores are not sums of weights (those of a MEMM, and
            of two models that agree).

        Examples
        --------
        >>> import tagwright as tw
        >>> why = tw.load().explain(["Time", "flies"], 1)
        >>> [reason.label for reason in why.reasons], why.margin > 0
        (['NNS', 'VBZ'], True)

        """
        if "explain" in self.lacks:
            raise self._lacking("explain")
        own, T = list(sentence), len(sentence)
        if not checks.is_whole(token):
            raise ValueError(f"token must be a whole number, counted from 0, not {checks.shown(token)}")
        if not -T <= token < T:
            raise ValueError(f"token {token} of a sentence of {T} tokens; they are counted from 0")
        if lattice is None:
            lattice = self.lattice(own, constraints=constraints, allowed=allowed)
        return self._explain(own, lattice, int(token) % T, labels)

    def _explain(self, sentence: list[object], lattice: Lattice, t: int, labels: Sequence[str] | None) -> Explanation:
        raise self._lacking("explain")

    def priced(self, decoder: str | Decoder = "auto", constraints: Constraints | None = None) -> _core.PricedModel:
        """Return the search that dual decomposition runs under prices, with this decoder.

        constraints: those of a lattice; a search over label histories takes them with each sentence.
        """
        raise self._lacking("priced")

    def text(self, X: Sentences) -> _core.Text:
        """Return sentences as the core takes them."""
        return core_text(X, self.features)

    def side(
        self, X: Sentences, decoder: str | Decoder, limits: Limits
    ) -> tuple[_core.PricedModel, _core.Text, _core.PairRules | None, _core.AllowedLists | None]:
        """Return the model as one of two that are made to agree: its search, text, rules and allowed labels."""
        lists = limits.allowed(core_text(X, self.features))
        return self.priced(decoder, limits.constraints), self.text(X), limits.rules, lists

    def weights(self, label: str | None = None, top: int | None = 20) -> list[FeatureWeight]:
        """Return the weights of features with labels that matter most.

        Parameters
        ----------
        label : str, optional
            Only weights with this label.
        top : int or None
            The number of weights, of the largest magnitude; None: all.

        Returns
        -------
        list of FeatureWeight
            Records ``(feature, label, weight)``, the largest weight first.

        Examples
        --------
        >>> import tagwright as tw
        >>> [(own.feature, own.label) for own in tw.load().weights("VBZ", top=1)]
        [('U21:s', 'VBZ')]

        """
        if "rows.label" not in self.arrays:
            raise ValueError("a bidirectional model has two sides; use model.left.weights() or model.right.weights()")
        if top is not None:
            checks.at_least_one("top", top)
        return feature_weights(self.labels, self.arrays, label, top)

    def transitions(self) -> list[Transition]:
        """Return the weights of pairs of labels: records ``(previous, label, weight)``, the largest first.

        Pairs without a weight of their own, which score 0, are left out.
        """
        if "edges.score" not in self.arrays:
            raise ValueError("a bidirectional model has two sides; use model.left.transitions()")
        return transitions(self.labels, self.arrays)

    def save(self, path: Target) -> None:
        """Write the model to one safetensors file, which `load` maps.

        Where the environment has SOURCE_DATE_EPOCH, the seconds of its history are left out, so that the same training
        always makes the same file.

        path: may also be ``"-"``, standard output, or a file object that takes bytes. OSError where there is no room or
        no permission; what was there before stays.
        """
        self.save_with(path, {}, {})

    def save_with(self, path: Target, more: Arrays, meta: dict[str, Any]) -> None:
        """Write the model with arrays and metadata of a training that is under way."""
        from tagwright import __version__

        about = {"format": container.FORMAT, "version": __version__, **self.meta(), **meta}
        container.write(path, {**self.arrays, **more}, about)

    def meta(self) -> dict[str, Any]:
        """Return what a file keeps of the model beside its arrays."""
        return {
            "labels": self.labels,
            "templates": self.features.text if self.features else None,
            "lists": self.features.lists if self.features else {},
            "finds": bool(self.features and self.features.finds),
            "facts": timed_facts(plain(self.all_facts())),
        }

    def all_facts(self) -> dict[str, Any]:
        """Return the facts, and those that are needed, whatever was made of them meanwhile."""
        return {**(fact_in(self.facts, dict) or {}), **self.needed_facts()}

    def needed_facts(self) -> dict[str, Any]:
        """Return the facts without which a file could not be read."""
        return {}

    @classmethod
    def restored(cls, meta: dict[str, Any], arrays: Arrays) -> Self:
        """Return the model of this class that a file's metadata and arrays describe."""
        features = None
        if meta["templates"] is not None:
            features = Features.restored(meta["templates"], meta["lists"], bool(meta.get("finds", False)))
        return cls(meta["labels"], features, arrays, dict(meta["facts"]))

    def __reduce__(self) -> tuple[Any, ...]:
        """Let scikit-learn send a model to another process; files are for `save`."""
        arrays = {name: np.array(array) for name, array in self.arrays.items()}
        return type(self), (self.labels, self.features, arrays, self.all_facts())

    def __repr__(self) -> str:
        """Return the learner and the sizes."""
        features, weights = len(self.arrays["rows.end"]), len(self.arrays["rows.weight"])
        learner = fact_in(self.facts, str, "learner") or "model"
        return f"Model({learner}, {len(self.labels)} labels, {features:,} features, {weights:,} weights)"

    def _repr_html_(self) -> str:
        """Return a table of the model's sizes, options and training for a notebook."""
        return notebook_table(["model", ""], summary(self), (0, 1))


def load(path: str | os.PathLike[str] | None = None, *, map_large: bool = True) -> Model:
    """Return the model of a file; without a path, the built-in one for English POS tags.

    Models of CRFsuite, CRF++ and Wapiti are read, too (see `import_model`).

    A file of up to 16 MB is copied into memory. A larger one is mapped: processes share it, and it must not be cut or
    written over in place while a model is in use, or the process ends with a bus error. `save` and `tagwright train`
    are safe: they put a new file in the place of the old one. With ``map_large=False``, any file is copied into memory.

    Raises
    ------
    ModelError
        If the file is damaged or not a model.

    """
    if path is not None and is_foreign(path):
        return import_model(path)
    return opened(BUILT_IN if path is None else path, map_large=map_large)[0]


def opened(path: str | os.PathLike[str], *, map_large: bool = True) -> tuple[Model, Arrays, dict[str, Any]]:
    """Return the model that a file holds, with all arrays and all metadata of the file."""
    arrays, meta = container.read(path, map_large=map_large)
    try:
        own = {name: array for name, array in arrays.items() if not name.startswith("state.")}
        model = model_from(meta, own)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise ModelError(f"{os.fspath(path)}: damaged ({error}); get or train it again") from None
    return model, arrays, meta


def model_from(meta: dict[str, Any], arrays: Arrays) -> Model:
    """Return the model that metadata and arrays describe, of the kind that its facts name."""
    return kind_of(dict(meta["facts"])).model_class.restored(meta, arrays)


def _read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a view of an array that the core checks once and then trusts."""
    view = array.view()
    view.flags.writeable = False
    return view
