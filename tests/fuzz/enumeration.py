"""Lattices with every kind of edges and limits, and the truth about them: all labellings, scored with NumPy."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse
from support.labelling_rules import runs, spans

import tagwright as tw

SHAPES = (
    (0, 1), (0, 3), (0, 65), (1, 1), (1, 2), (1, 9), (1, 64), (1, 65), (1, 200), (2, 1), (2, 2), (2, 7), (2, 9),
    (2, 64), (2, 65), (3, 1), (3, 2), (3, 3), (3, 7), (3, 9), (3, 17), (4, 2), (4, 3), (4, 7), (5, 2), (5, 3), (5, 5),
    (7, 2), (7, 3), (9, 2), (12, 1),
)  # fmt: skip
KINDS = ("ties", "real", "thousands", "huge", "wide", "below")
"""Of scores: small whole numbers; about 1; up to 1e3; up to 1e30; of many magnitudes; logarithms of probabilities."""
FORMS = ("dense", "sparse", "exceptions", "scipy", "steps", "sets", "sparse sets")
SCHEMES = {"BIO": "BI", "IOB1": "BI", "IOBES": "BIES", "BILOU": "BILU", "BMES": "BMES", "IO": "I"}
NEVER = -np.inf


class Problem(NamedTuple):
    """What tagwright is given for one sentence, and the same as plain arrays."""

    nodes: np.ndarray
    """As given: scores of labels that are not allowed may be anything."""
    edges: tw.Edges
    active: list[list[int]] | None
    constraints: tw.Constraints | None
    allowed: list[list[int] | None] | None
    labels: list[str]
    columns: np.ndarray
    """(T, L): node scores, -inf where a limit forbids."""
    start: np.ndarray
    stop: np.ndarray
    steps: np.ndarray
    """(T-1, L, L): edge scores, -inf where a limit forbids."""
    ngrams: dict[tuple[int, ...], float]
    kind: str
    satisfies: Callable[[list[str]], bool] | None = None
    """Whether a labelling satisfies the rules about whole labellings."""

    def limits(self):
        """The keyword arguments of one sentence."""
        return {"active": self.active, "constraints": self.constraints, "allowed": self.allowed}


def scores(draw, kind, shape):
    rng = draw.numpy
    match kind:
        case "ties":
            return rng.integers(-2, 3, shape).astype(float)
        case "real":
            return rng.normal(scale=draw.choice((0.1, 1.0, 10.0)), size=shape)
        case "thousands":
            return rng.uniform(-1e3, 1e3, shape)
        case "huge":
            return rng.choice([1.0, 1e3, 1e30], shape) * rng.choice([-1.0, 1.0, 0.5], shape)
        case "wide":
            return rng.normal(size=shape) * 10.0 ** rng.integers(-6, 7, shape)
        case _:
            return np.log(rng.dirichlet(np.ones(np.prod(shape, dtype=int) + 1)) + 1e-300)[:-1].reshape(shape)


def typed(draw, array):
    """The same values in float32 or float64; what becomes of them is the truth."""
    return array.astype("f4") if draw.chance(0.4) else array


def forbid(draw, array):
    """Put -inf into an array, often nowhere."""
    share = draw.choice((0.0, 0.0, 0.1, 0.3, 0.6))
    array[draw.numpy.random(array.shape) < share] = NEVER
    return array


def follows(scheme, before, after):
    """Whether one label may stand before another, by what schemes mean; None is outside of the sentence."""
    p, x = (before or "O").split("|")[-1].partition("-")[::2]
    q, y = (after or "O").split("|")[-1].partition("-")[::2]
    if scheme == "IO":
        return True
    within = p in "BIM" and x == y
    if scheme == "BIO":
        return q != "I" or within
    if scheme == "IOB1":
        return q != "B" or (p in "BI" and x == y)
    open_span = p in "BIM"
    continues = q in "IMEL"
    return within and continues if open_span else not continues


def span_names(draw, L):
    """A scheme, and the names of L labels of it."""
    scheme = draw.choice(list(SCHEMES))
    names = [f"{prefix}-{kind}" for kind in range(L) for prefix in SCHEMES[scheme]]
    some = ["O", *draw.sample(names, L - 1)] if L > 1 or draw.chance(0.5) else [draw.choice(names)]
    draw.shuffle(some)
    return scheme, some


class Family:
    """Edges and constraints that several sentences of different lengths share."""

    def __init__(self, draw, L, kind, form=None, ngrams=False, rules=False):
        """Draw everything but the sentences; per-step edges are drawn with each sentence."""
        self.rules, self.satisfies = rules, None
        self.draw, self.L, self.kind = draw, L, kind
        self.form = form or draw.choice(FORMS)
        self.matrix, self.start, self.stop = np.zeros((L, L)), np.zeros(L), np.zeros(L)
        self.options, self.sets, self.ngrams = {}, [], {}
        self.draw_ends()
        if ngrams:
            self.draw_ngrams()
        self.edges = self.draw_edges()
        self.draw_limits()

    def draw_ends(self):
        draw = self.draw
        for name in ("start", "stop"):
            if draw.chance(0.4):
                self.options[name] = forbid(draw, scores(draw, self.kind, (self.L,)))
                setattr(self, name, self.options[name])
        if draw.chance(0.3):
            self.options["order"] = draw.numpy.permutation(self.L)

    def draw_ngrams(self):
        draw = self.draw
        for _ in range(draw.times(25)):
            run = tuple(draw.numpy.integers(0, self.L, draw.choice((3, 4))).tolist())
            if self.ngrams and draw.chance(0.4):  # one that overlaps with another
                other = draw.choice(list(self.ngrams))
                run = (*other[1:], run[0])[-len(run) :] if len(other) >= len(run) else (*other, run[0])
            self.ngrams[run] = float(forbid(draw, scores(draw, self.kind, (1,)))[0])
        self.options["ngrams"] = (list(self.ngrams), list(self.ngrams.values()))

    def draw_edges(self):
        draw, L = self.draw, self.L
        if self.form == "steps":
            return None
        matrix = forbid(draw, scores(draw, self.kind, (L, L)))
        if self.form not in ("dense", "sets"):
            default = draw.choice((0.0, -1.0, 2.5, NEVER, NEVER))
            matrix[draw.numpy.random((L, L)) < draw.choice((0.5, 0.9, 1.0))] = default
        if "sets" in self.form:
            count = draw.randrange(4)
            size = draw.randrange(L * L + 1) if count else 0
            places = draw.numpy.integers(0, [[max(count, 1)], [L], [L]], (3, size))
            # A pair is at most once in a set.
            places = np.unique(places.T, axis=0).reshape(-1, 3).T
            values = forbid(draw, scores(draw, self.kind, (places.shape[1],)))
            self.options["corrections"] = (*places, values)
            self.sets = [(places[1:, places[0] == s], values[places[0] == s]) for s in range(count)]
            self.sets = self.sets[: int(places[0].max(initial=-1)) + 1]
        if self.form in ("exceptions", "scipy"):
            i, j = np.nonzero(matrix != default)
            values = typed(draw, matrix[i, j]) if self.form == "scipy" else matrix[i, j]
            matrix[i, j] = values
            if self.form == "exceptions":
                made = tw.Edges.from_exceptions(L, default, i, j, values, **self.options)
            else:
                make = draw.choice((scipy.sparse.csr_array, scipy.sparse.coo_matrix, scipy.sparse.csc_array))
                own = make((values, (i, j)), shape=(L, L))
                given = {} if default == NEVER and draw.chance(0.5) else {"default": default}
                made = tw.Edges(own, **given, **self.options)
            self.matrix = matrix
            return made
        given = typed(draw, matrix)
        self.matrix = given.astype(float)
        return tw.Edges(given, sparse=draw.choice((None, True)) if "sparse" in self.form else False, **self.options)

    def draw_limits(self):
        draw, L = self.draw, self.L
        self.may = np.ones((L, L), bool)
        self.may_start, self.may_stop = np.ones(L, bool), np.ones(L, bool)
        self.constraints = None
        scheme, self.labels = span_names(draw, L)
        options = {}
        if draw.chance(0.4):
            options["scheme"] = scheme
            self.may &= [[follows(scheme, i, j) for j in self.labels] for i in self.labels]
            self.may_start &= [follows(scheme, None, j) for j in self.labels]
            self.may_stop &= [follows(scheme, i, None) for i in self.labels]
        if draw.chance(0.3):
            pairs = draw.numpy.integers(0, L, (draw.randrange(2 * L + 1), 2))
            options["forbid"] = [(self.labels[i], self.labels[j]) for i, j in pairs]
            self.may[pairs[:, 0], pairs[:, 1]] = False
        for name, ends in (("start", self.may_start), ("stop", self.may_stop)):
            if draw.chance(0.15):
                some = draw.sample(range(L), draw.randint(1, L))
                options[name] = [self.labels[y] for y in some]
                ends[np.setdiff1d(np.arange(L), some)] = False
        if self.rules:
            options |= self.draw_rules("scheme" in options)
        if options:
            self.constraints = tw.Constraints(self.labels, **options)
            if draw.chance(0.3):  # the same in two pieces, each of them twice
                # What the names of types mean depends on the scheme.
                own = {name: options[name] for name in ("limit", "scheme") if self.rules and name in options}
                pieces = [tw.Constraints(self.labels, **{**own, name: value}) for name, value in options.items()]
                whole = pieces[0]
                for piece in (*pieces[1:], draw.choice(pieces)):
                    whole &= piece
                self.constraints = whole

    def draw_rules(self, scheme):
        """Draw rules about whole labellings: names are types where the labels are known to be of spans."""
        draw, made, checks = self.draw, {"limit": 100_000}, []
        typed = scheme or any(name[0] in "BISU" for name in self.labels)
        names = list(dict.fromkeys(name.partition("-")[2] for name in self.labels if name != "O")) if typed else []
        units = spans if names else runs
        names = names or self.labels
        some = draw.sample(names, draw.randint(1, min(3, len(names))))
        if draw.chance(0.5):
            made["once"] = some if draw.chance(0.5) else True
            among = names if made["once"] is True else some
            checks.append(lambda own: all(units(own).count(name) <= 1 for name in among))
        if draw.chance(0.3):
            most = made["at_most"] = {name: draw.randint(0, 3) for name in some}
            checks.append(lambda own: all(units(own).count(name) <= n for name, n in most.items()))
        if draw.chance(0.3):
            least = made["at_least"] = {some[0]: draw.randint(0, 2)}
            checks.append(lambda own: units(own).count(some[0]) >= least[some[0]])
        if draw.chance(0.2):
            odd = made["accept"] = lambda own: len(set(own)) % 2 == 1
            checks.append(odd)
        self.satisfies = lambda own: not own or all(check(own) for check in checks)
        return made

    def problem(self, T, with_lists=True):
        """Draw one sentence of T tokens."""
        draw, L, steps = self.draw, self.L, np.zeros((max(T - 1, 0), self.L, self.L))
        nodes = typed(draw, forbid(draw, scores(draw, self.kind, (T, L))))
        columns, edges, active = nodes.astype(float), self.edges, None
        if self.form == "steps":
            given = typed(draw, forbid(draw, scores(draw, self.kind, steps.shape)))
            steps[:] = given
            edges = tw.Edges(given, **self.options)
        else:
            steps[:] = self.matrix
        if self.sets:
            active = [sorted(draw.sample(range(len(self.sets)), draw.randint(0, len(self.sets)))) for _ in steps]
            for step, on in zip(steps, active, strict=True):
                for (i, j), values in (self.sets[s] for s in on):
                    step[i, j] += values
        steps[:, ~self.may] = NEVER
        allowed = None
        if with_lists and draw.chance(0.4):
            allowed = [
                None if draw.chance(0.4) else sorted(draw.sample(range(L), draw.randint(1, L))) for _ in range(T)
            ]
            outside = np.array([[own is not None and y not in own for y in range(L)] for own in allowed], bool)
            outside = outside.reshape(T, L)
            columns[outside] = NEVER
            if draw.chance(0.5):  # what stands there is not read
                nodes = np.where(outside, draw.choice((np.nan, np.inf, 1e300, 7.0)), nodes).astype(nodes.dtype)
        start, stop = np.where(self.may_start, self.start, NEVER), np.where(self.may_stop, self.stop, NEVER)
        given = nodes, edges, active, self.constraints, allowed, self.labels
        return Problem(*given, columns, start, stop, steps, self.ngrams, self.kind, self.satisfies)


class Truth:
    """All labellings of a problem that -inf does not forbid, best first."""

    def __init__(self, problem):
        """Score every labelling, in double precision."""
        T, L = problem.columns.shape
        every = np.indices((L,) * T).reshape(T, L**T)
        totals, sizes = _sums(problem, every)
        possible = totals > NEVER
        every, totals, sizes = every[:, possible], totals[possible], sizes[possible]
        order = np.argsort(-totals, kind="stable")
        if problem.satisfies is not None:
            named = ([problem.labels[y] for y in every[:, n]] for n in order)
            order = order[[problem.satisfies(own) for own in named]] if len(order) else order
        self.labels = every[:, order].T
        """(N, T)."""
        self.scores = totals[order]
        self.sizes = sizes[order]
        """The sum of absolute scores along each."""
        self.T, self.L = T, L

    def __len__(self):
        return len(self.scores)

    def are_best(self, scores, near):
        """Whether these may be the scores of the best paths, where each is known to within `near`.

        The promise is relative to the scores along a path. Where they cancel each other, one path may be anywhere among
        many, so that the n-th best score is only known to be between the n-th best limits.
        """
        n = len(scores)
        below, above = (-np.sort(-(self.scores + sign * 1e-6 * self.sizes))[:n] for sign in (-1, 1))
        return bool((below - near <= scores).all() and (scores <= above + near).all())

    def probabilities(self):
        weights = np.exp(self.scores - self.scores[0])
        return weights / weights.sum()


def _sums(problem, labels):
    """Scores and sums of absolute scores of labellings (T, N)."""
    T, N = labels.shape
    totals, sizes = np.zeros(N), np.zeros(N)

    def add(more):
        nonlocal totals, sizes
        totals = totals + more
        sizes = sizes + abs(more)

    # From left to right, as the score of a path is defined: that matters where scores cancel each other.
    for t in range(T):
        add(problem.steps[t - 1][labels[t - 1], labels[t]] if t else problem.start[labels[0]])
        for run, more in problem.ngrams.items():
            if len(run) <= t + 1:
                here = (labels[t + 1 - len(run) : t + 1] == np.array(run)[:, None]).all(0)
                add(np.where(here, more, 0.0))
        add(problem.columns[t][labels[t]])
    if T:
        add(problem.stop[labels[-1]])
    return totals, sizes


def score_of(problem, labels):
    """Score and sum of absolute scores of one labelling."""
    totals, sizes = _sums(problem, np.asarray(labels, int).reshape(-1, 1))
    return totals[0], sizes[0]
