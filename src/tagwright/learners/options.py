"""The options of learners and solvers: each is declared once, with its type, range, default and help.

Estimators take their fields and checks from this table, and so do their documentation, the command line and `tune`.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self, TypeVar

from tagwright import checks
from tagwright.decoding.decoders import plan
from tagwright.decoding.keep import Keep, parse_keep
from tagwright.features.templates import LONGEST_HISTORY
from tagwright.label_parts import check_separators
from tagwright.learners import LEARNERS

T = TypeVar("T")


class OptionError(ValueError):
    """An option that the learner or its solver does not have."""


AUTO = "auto"
"""The value of an option that is left to the training."""


@dataclass(frozen=True)
class Option:
    """One option: its type and range, default and help."""

    name: str
    type: str
    """int, float, choice, str, rule (of pruning), or object: what only Python can make."""
    default: Any
    help: str
    optional: bool = False
    """Whether None is allowed."""
    least: float | None = None
    above: float | None = None
    most: float | None = None
    choices: tuple[Any, ...] = ()
    tried: tuple[Any, ...] = ()
    """Values that `tune` tries."""
    decides: bool = True
    """Whether the weights depend on it."""
    checked: Callable[[Any], object] | None = None
    """Checks an object."""
    shown: str = ""
    """The type as documentation writes it, where that is not clear from the rest."""

    @property
    def kind(self) -> str:
        """The type as documentation writes it."""
        kind = self.shown or (_listed(self.choices) if self.choices else self.type)
        return f"{kind} or None" if self.optional else kind

    def check(self, value: object, owner: str = "") -> None:
        """Raise ValueError where a value is not allowed; owner: the class that the message names."""
        if value is None and self.optional:
            return
        name = f"{owner}({self.name}=...)" if owner else self.name
        if self.type == "int" and self.choices:
            if not checks.is_whole(value) or value not in self.choices:
                raise ValueError(f"{name} must be {_listed(self.choices)}, not {checks.shown(value)}")
        elif self.name == "seed":
            checks.seed(value)
        elif self.type == "int":
            (checks.at_least_zero if self.least == 0 else checks.at_least_one)(name, value)
            if self.most is not None and value > self.most:  # type: ignore[operator]
                raise ValueError(f"{name} must be at most {self.most}, not {checks.shown(value)}")
        elif self.type == "float" and self.most is not None:
            if not checks.is_number(value) or not (self.above or 0) < value <= self.most:
                raise ValueError(
                    f"{name} must be a number above {self.above or 0} and at most {self.most}, "
                    f"not {checks.shown(value)}"
                )
        elif self.type == "float":
            (checks.not_negative if self.above is None else checks.above_zero)(name, value)
        elif self.type == "choice":
            checks.one_of(name, value, self.choices, self.optional)
        elif self.checked is not None:
            self.checked(value)

    def parse(self, text: str) -> Any:
        """Return the value that a text of the command line stands for, after a check."""
        if self.optional and text.lower() == "none":
            return None
        value: Any = text
        if self.type in ("int", "float"):
            try:
                value = {"int": int, "float": float}[self.type](text)
            except ValueError:
                raise ValueError(f"{self.name} must be a number, not {text!r}") from None
        elif self.type == "rule" and text != "exact":
            value = parse_keep(text)
        self.check(value)
        return value


def _listed(choices: tuple[Any, ...]) -> str:
    *first, last = map(repr, choices)
    return f"{', '.join(first)} or {last}"


def _check_pruning(rule: object) -> None:
    if rule != "exact" and not isinstance(rule, Keep):
        raise ValueError(
            "pruning must be None, 'exact', KeepDivergence(...), KeepSize(...) or KeepRatio(...), "
            f"not {checks.shown(rule)}"
        )


_TABLE = {
    option.name: option
    for option in (
        Option(
            "features", "object", "pos",
            "A preset's name, a template file, templates (text or `tw.Features`, which also holds word lists for "
            "``%in``), or None for ready-made features. Tokens that are dicts are always ready-made features.",
            optional=True, decides=False, shown="str, path or Features",
        ),
        Option(
            "order", "int", 1,
            "The number of preceding labels that a score depends on: 2 adds weights for label trigrams, 3 also for "
            "4-grams.",
            choices=(1, 2, 3),
        ),
        Option(
            "min_count", "int", 1, "Features that occur on fewer tokens have no weight.", least=1, tried=(1, 2),
        ),
        Option("min_ngram_count", "int", 1, "Label n-grams that the corpus has less often have no weight.", least=1),
        Option(
            "parts", "str", None,
            "The characters that separate the parts of a label, such as ``|`` in NN|B-NP; an empty string if each "
            "character is a part. Features then have weights for parts too, so that labels with common parts share "
            'what is learnt (Silfverberg et al. 2014): more accurate with many labels. "auto" finds the separators in '
            "the labels, as `tw.evaluate` does, and uses parts where that is more accurate on held-out sentences of "
            "a corpus of 5,000 tokens or more; with L-BFGS it is None. None: labels have no parts.",
            optional=True, checked=check_separators,
        ),
        Option(
            "margin", "float", 0.0,
            "The score by which the right labelling must win, for each token that another one has wrong. "
            "Perceptron: smaller wins count as errors, and whole numbers keep training independent of the decoder. "
            "CRF: softmax-margin (Gimpel and Smith 2010), usually more accurate, but probabilities are under-confident "
            "unless they are calibrated.",
            least=0, tried=(0.0, 1.0, 3.0),
        ),
        Option(
            "constraints", "object", None,
            "What labellings keep to, in training and tagging: `tw.Constraints`, or a dict of its arguments without "
            'the labels; the name of a scheme such as "BIO", or "BIO:1" for part 1 of labels such as NN|B-NP; a number '
            "n, for a tag dictionary of the words that occur at least n times; or a list of these. The model keeps "
            "them.",
            optional=True, decides=False, shown="Constraints, dict, str, int or list",
        ),
        Option("epochs", "int", 10, "Passes over the corpus.", least=1, decides=False),
        Option(
            "batch", "int", 1,
            "Sentences that are decoded or summed with the same weights, in threads, before these change. Perceptron: "
            "by the mean of the updates (Zhao and Huang 2013); 1 is Collins' perceptron, larger batches need more "
            "epochs, and powers of two keep training independent of the decoder.",
            least=1,
        ),
        Option(
            "pairs", "choice", "touched",
            'The (feature, label) pairs and label pairs that have a weight: "touched" are all that an update '
            'changes, "observed" those of the corpus.',
            choices=("touched", "observed"),
        ),
        Option(
            "solver", "object", "adagrad",
            '"adagrad" (`tw.AdaGrad`) takes a step after every few sentences; "lbfgs" (`tw.LBFGS`) finds the weights '
            "that minimise the objective. An object sets the solver's own options.",
            decides=False, shown="str, AdaGrad or LBFGS",
        ),
        Option(
            "pruning", "rule", None,
            "The labels of a token that are summed over (Pal et al. 2006), besides the right one: `KeepDivergence`, "
            '`KeepSize` or `KeepRatio`; "exact" sums over all. None is the solver\'s default: exact sums with L-BFGS; '
            "with AdaGrad KeepDivergence(0.1), at most 32 labels. With AdaGrad, KeepDivergence(epsilon) bounds log Z "
            "of a sentence: at most epsilon per token below the exact one. With L-BFGS, sentences of which more than "
            "a quarter of the labels is kept are summed exactly, which is faster (with 64 labels or more).",
            optional=True, checked=_check_pruning, shown="Keep or 'exact'",
        ),
        Option(
            "patience", "int", None,
            "With dev data: stop after this many measurements without improvement, and keep the best weights.",
            optional=True, least=1,
        ),
        Option("seed", "int", 0, "Seed of the order of the sentences, which is new in each epoch.", least=0),
        Option(
            "decoder", "object", "auto", "Finds the best labelling.",
            decides=False, checked=plan, shown="str or Decoder",
        ),
        Option(
            "warm_start", "object", False,
            "True starts from this estimator's own model, a `Model` or its path from that one; its features and "
            "labels are kept.",
            decides=False, shown="bool, path or Model",
        ),
        Option("threads", "int", 1, "Threads for training and tagging; results do not depend on it.",
               least=1, decides=False),
        # of solvers
        Option(
            "rate", "float", None,
            "Step size. None adapts it to the corpus: 6 divided by the mean number of features of a token, but at most "
            "0.5, so that a first step changes the score of a label by at most 6, however many features there are. A "
            "model's facts have the value.",
            optional=True, least=0,
        ),
        Option(
            "average_from", "int", 3,
            "The epoch from which weights are averaged; those of earlier epochs, which are far from the end, do not "
            "count. 1 averages over all of the training, as a training of fewer epochs does.",
            least=1,
        ),
        Option(
            "calibration", "choice", "auto",
            'Whether weights are divided by a temperature with which probabilities are calibrated (Guo et al. 2017). '
            '"auto" fits it to the dev data of `fit`; without them, and with 5,000 tokens or more, to sentences that a '
            "second training of the same length leaves out (a tenth, at most about 5,000 tokens): that takes twice the "
            "time. "
            "None: no temperature.",
            optional=True, choices=("auto",), decides=False,
        ),
        Option("l2", "float", 0.0, "Weight of the squared penalty (c2 of CRFsuite).", least=0, tried=(0.0, 0.01, 0.1)),
        Option(
            "l1", "float", 0.0, "Weight of the absolute penalty (c1 of CRFsuite), which makes weights 0.", least=0,
        ),
        Option(
            "max_iterations", "int", None,
            "Most iterations; None: until it has converged. Where they end it before, it warns with scikit-learn's "
            "`ConvergenceWarning`.",
            optional=True, least=1, decides=False,
        ),
        Option(
            "tolerance", "float", None,
            "Converged when the last 10 iterations lowered the objective by less than this share of it. "
            "None: 1e-5 for a CRF, 1e-4 for a MEMM.",
            optional=True, least=0,
        ),
        Option(
            "start_on", "float", None,
            "A share of the sentences that is fitted first, such as 0.1 (Pal et al. 2006, 4.2), for up to "
            "`max_iterations`.",
            optional=True, above=0, most=1,
        ),
        # of a MEMM
        Option(
            "direction", "choice", "right",
            '"right" tags from the first token to the last, "left" from the last to the first: "before" then means to '
            "the right, in templates too.",
            choices=("right", "left"),
        ),
        Option(
            "history", "int", 2, "Preceding labels that the features may read.", least=1, most=LONGEST_HISTORY,
        ),
        Option("beam", "int", 20, "Partial labellings that decoding keeps per token.", least=1, decides=False),
        Option(
            "dictionary", "int", None,
            "Words that occur at least this often in training can only have the labels that they have there. None: all "
            "words may have all labels. The word is that of column 0.",
            optional=True, least=1,
        ),
        Option(
            "spans", "object", True,
            "Where all labels are those of spans (B-NP, I-NP, O; also IOBES, BILOU, BMES) and the corpus keeps to "
            "their rules, answers do too: I-NP only after B-NP or I-NP. False: no such rule.",
            decides=False, shown="bool",
        ),
        # of an HMM
        Option("suffix", "int", 10, "The longest suffix that is read, in characters.", least=1),
        Option("rare", "int", 10, "Words that occur at most this often train suffixes.", least=1),
        Option("column", "int", 0, "Where in a token's row the word is.", least=0),
        # of a bidirectional model
        Option(
            "left", "object", None,
            "The model that comes from the left: an estimator, which is cloned and trained, or a `Model` or its path. "
            "None: ``MEMM()``.",
            optional=True, decides=False,
        ),
        Option(
            "right", "object", None,
            'The one that comes from the right. None: ``MEMM(direction="left")``. Any two models that have the same '
            "labels: two perceptrons, a CRF and a MEMM. The scores of perceptrons have another scale than those of "
            "other models: do not mix them.",
            optional=True, decides=False,
        ),
        Option(
            "rounds", "int", 30,
            "Most rounds; if the two do not agree by then, the better of the last two answers is taken.", least=1,
        ),
        Option("step", "float", 0.5, "How far a price moves in a round.", above=0),
        Option(
            "schedule", "choice", "falling",
            '"falling" moves prices by step / n in the n-th round in which a token is in dispute; "constant" by the '
            "step, as in the paper, which may never end between two labels that are nearly as good.",
            choices=("constant", "falling"),
        ),
    )
}  # fmt: skip


def opt(name: str, **changed: Any) -> Any:
    """Return the dataclass field of an option; changed: what differs from the table, such as its default."""
    option = dataclasses.replace(_TABLE[name], **changed)
    return field(default=option.default, metadata={"option": option})


def options_of(owner: str | type) -> dict[str, Option]:
    """Return the options of a learner, by its name or class, or of a solver's class."""
    cls: Any = learner_class(owner) if isinstance(owner, str) else owner
    return {own.name: own.metadata["option"] for own in fields(cls) if "option" in own.metadata}


def check_options(owned: Any, shown: str = "") -> None:
    """Check the options of a learner or a solver; shown: how messages name it."""
    for name, option in options_of(type(owned)).items():
        option.check(getattr(owned, name), shown)


def plain(owned: Any) -> dict[str, Any]:
    """Return the options that decide the weights as values for JSON."""
    return {
        name: _plain(option, getattr(owned, name)) for name, option in options_of(type(owned)).items() if option.decides
    }


def _plain(option: Option, value: Any) -> Any:
    kinds: dict[str, Callable[[Any], Any]] = {"int": int, "float": float}
    return None if value is None else kinds.get(option.type, str)(value)


class Solver:
    """How the objective of a CRF or MEMM is minimised."""

    name: ClassVar[str]

    def __post_init__(self) -> None:
        check_options(self, type(self).__name__)

    def __repr__(self) -> str:
        own = {name: getattr(self, name) for name in options_of(type(self))}
        defaults = {name: option.default for name, option in options_of(type(self)).items()}
        shown = ", ".join(f"{name}={value!r}" for name, value in own.items() if value != defaults[name])
        return f"{type(self).__name__}({shown})"


def documented(cls: type[T]) -> type[T]:
    """Write the options of a class into its docstring, where it says {parameters}."""
    lines = ["Parameters", "----------"]
    for name, option in options_of(cls).items():
        lines += [f"{name} : {option.kind}, default={option.default!r}", *_wrapped(option.help, 4)]
    # Without the indentation of the source, which Python 3.13 removes and earlier versions keep.
    cls.__doc__ = inspect.cleandoc(cls.__doc__ or "").replace("{parameters}", "\n".join(lines))
    return cls


def _wrapped(text: str, indent: int) -> list[str]:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) + indent > 110:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return [" " * indent + line for line in lines]


@documented
@dataclass(frozen=True, repr=False)
class AdaGrad(Solver):
    """Steps after every few sentences, each weight with a step size of its own (Duchi, Hazan and Singer 2011).

    The model has the average of the weights after each sentence, from epoch `average_from` on.

    {parameters}
    """

    name: ClassVar[str] = "adagrad"
    rate: float | None = opt("rate")
    average_from: int = opt("average_from")
    calibration: str | None = opt("calibration")
    batch: int = opt("batch", default=8, help="Sentences per step; in threads.")
    l2: float = opt("l2")
    pairs: str = opt("pairs")


@documented
@dataclass(frozen=True, repr=False)
class LBFGS(Solver):
    """L-BFGS (Liu and Nocedal 1989) over the whole corpus; with l1, OWL-QN (Andrew and Gao 2007).

    {parameters}
    """

    name: ClassVar[str] = "lbfgs"
    l2: float | None = opt(
        "l2",
        default=None,
        optional=True,
        help="Weight of the squared penalty (c2 of CRFsuite). None: 1.0 for a CRF, 0.5 for a MEMM.",
        tried=(0.03, 0.1, 0.3, 1.0),
    )
    l1: float = opt("l1")
    max_iterations: int | None = opt("max_iterations")
    tolerance: float | None = opt("tolerance")
    pairs: str = opt(
        "pairs",
        default="observed",
        choices=("observed", "all"),
        help='The (feature, label) pairs and label pairs that have a weight: "observed" are those of the corpus, "all" '
        "gives every label a weight for every feature.",
    )
    start_on: float | None = opt("start_on")

    def resolved(self, l2: float, tolerance: float) -> Self:
        """Return the options with a learner's defaults for those that are None."""
        return dataclasses.replace(
            self,
            l2=l2 if self.l2 is None else self.l2,
            tolerance=tolerance if self.tolerance is None else self.tolerance,
        )


SOLVERS: dict[str, type[Any]] = {"adagrad": AdaGrad, "lbfgs": LBFGS}


def solver_of(learner: Any) -> Any:
    """Return a learner's solver as an object; ValueError if the parameter is not a solver."""
    given, allowed = learner.solver, learner._solvers
    if isinstance(given, str) and given in allowed:
        return SOLVERS[given]()
    if isinstance(given, Solver) and given.name in allowed:
        return given
    forms = " or ".join(f"{name!r} or tw.{SOLVERS[name].__name__}(...)" for name in allowed)
    raise ValueError(f"solver must be {forms}, not {checks.shown(given)}")


# --- combinations that make no sense ---

REFUSED: dict[tuple[str, str], str] = {
    ("lbfgs", "epochs"): "it iterates until it has converged; LBFGS(max_iterations=...) limits that",
    ("lbfgs", "partial_fit"): "it minimises an objective over one whole corpus; solver='adagrad' takes new sentences",
    ("memm", "partial labels"): "its features read the labels before a token, so every label must be known; train a "
    "CRF, a perceptron or an HMM, or leave these sentences out",
    ("partial_fit", "a tag dictionary"): "it is counted over the whole corpus; give tw.Constraints with its words",
}
"""Refused combinations: (learner, solver or call; option or data) and the reason."""


def refuse(owner: str, what: str) -> None:
    """Raise ValueError where the table refuses a combination."""
    if reason := REFUSED.get((owner, what)):
        raise ValueError(f"{what} cannot be combined with {SHOWN.get(owner, owner)}: {reason}")


SHOWN = {"lbfgs": "solver='lbfgs'", "memm": "a MEMM"}
"""How messages and documentation name them."""


def refuse_ignored(learner: Any, solver: str) -> None:
    """Raise ValueError where an option is set that the solver would ignore."""
    for name, option in options_of(type(learner)).items():
        if getattr(learner, name) is not option.default and getattr(learner, name) != option.default:
            refuse(solver, name)


# --- flat names, as the command line has them ---


def learner_class(kind: str) -> Any:
    """Return the class of a learner."""
    return getattr(importlib.import_module(f"tagwright.learners.{kind}"), LEARNERS[kind])


def flat_options(kind: str) -> dict[str, list[tuple[str, Option]]]:
    """Return all options of a learner by name, each with the solver that it belongs to ("" for the learner)."""
    found: dict[str, list[tuple[str, Option]]] = {}
    cls = learner_class(kind)
    for name, option in options_of(cls).items():
        found.setdefault(name, []).append(("", option))
    for solver in getattr(cls, "_solvers", ()):
        for name, option in options_of(SOLVERS[solver]).items():
            found.setdefault(name, []).append((solver, option))
    return found


def set_flat(learner: Any, **values: Any) -> Any:
    """Set options of a learner by their flat names and return it: those of its solver go into the solver's object.

    Raises
    ------
    OptionError
        Where the learner or its solver does not have an option.
    """
    own = options_of(type(learner))
    given = {name: value for name, value in values.items() if name in own}
    rest = {name: value for name, value in values.items() if name not in own}
    learner.set_params(**given)
    if not rest:
        return learner
    if not hasattr(learner, "solver"):
        raise OptionError(f"{type(learner).__name__} has no option {next(iter(rest))!r}")
    solver = solver_of(learner)
    for name in rest:
        if name not in options_of(type(solver)):
            others = [other for other in learner._solvers if name in options_of(SOLVERS[other])]
            where = f"; it is for solver={others[0]!r}" if others else ""
            raise OptionError(f"solver={solver.name!r} has no option {name!r}{where}")
    learner.set_params(solver=dataclasses.replace(solver, **rest))
    return learner


def nested_name(kind: str, name: str) -> str:
    """Return the name that `set_params` has for an option of a learner or of its solver."""
    return name if name in options_of(kind) else f"solver__{name}"


def tried(kind: str, solver: str = "") -> dict[str, tuple[Any, ...]]:
    """Return what `tune` tries of a learner by default, by flat names."""
    owned = [learner_class(kind), *([SOLVERS[solver]] if solver else [])]
    found = {name: option.tried for cls in owned for name, option in options_of(cls).items() if option.tried}
    return {name: values for name, values in found.items() if (solver, name) not in REFUSED}


def length(solver: str) -> str:
    """Return the flat name of the option that limits how long a training takes."""
    return "max_iterations" if solver == "lbfgs" else "epochs"


# --- names of 0.5.0 ---


def deprecated(*names: str) -> Callable[[type[T]], type[T]]:
    """Let a learner take keyword arguments of 0.5.0, with a DeprecationWarning; `_take_old` says what they are now."""

    def decorate(cls: type[T]) -> type[T]:
        plain_init: Any = cls.__init__

        @functools.wraps(plain_init)
        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            old = {name: kwargs.pop(name) for name in names if name in kwargs}
            plain_init(self, *args, **kwargs)
            if old:
                self._take_old(old, frozenset(kwargs))

        cls.__init__ = init  # type: ignore[method-assign]
        cls._old_names = frozenset(names)  # type: ignore[attr-defined]
        return cls

    return decorate


def warn_renamed(cls: type, old: str, new: str, stacklevel: int = 4) -> None:
    """Warn that a parameter of 0.5.0 has another spelling."""
    warnings.warn(f"{cls.__name__}({old}) is deprecated; write {new}", DeprecationWarning, stacklevel=stacklevel)
