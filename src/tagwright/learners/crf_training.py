"""How a CRF is trained: L-BFGS and AdaGrad over the core's sums, and what keep="auto" looks at."""

from __future__ import annotations

import os
import time
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, minimize
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from tagwright import _core
from tagwright.decoding.keep import Keep, KeepDivergence, keep_arguments
from tagwright.learners.interrupts import stops
from tagwright.learners.learner import Labels, Sentences, accuracy
from tagwright.learners.training import Training, is_best, stalled
from tagwright.models.file import Arrays
from tagwright.models.model import Model

__all__ = ["CrfTraining"]

_PERIOD = 10  # iterations over which progress is judged, and between measurements on dev data and checkpoints
_MEMORY = 10  # steps that L-BFGS remembers
_MOST_STEPS = 100_000
_COARSE, _TIGHTER, _FINEST = 0.01, 0.1, 1e-5  # keep="auto": epsilon at first, its factor, where exact sums take over
_PAYS = 1.5  # a beam is worth its noise where it is so many times as fast
_SAMPLE = 200  # sentences on which sparse and exact sums are compared
_TOO_NOISY = 0.3  # of the gradient's norm: an error of this size may lead the wrong way
_FAR = 0.1  # of the gradient's first norm: a line search that fails so far from the end is worth a warning
_CLOSE_ENOUGH = 1e-3  # of the loss: a result is trusted where sparse sums miss no more of log Z

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int32]


class _Stop(StopIteration):
    """Ends a stage of L-BFGS."""


class CrfTraining(Training):
    """The training of a CRF: weights, history, and how they get better."""

    kind = "crf"

    def __init__(self, learner: Any, X: Sentences, y: Labels, dev: tuple[Sentences, Labels] | None) -> None:
        """Read the corpus; go on from an old model or a checkpoint where there is one."""
        super().__init__(learner, X, y)
        self.dev = dev
        self.called = "epochs" if learner.solver == "adagrad" else "iterations"
        self.trainer = self.make_trainer()
        self.everyone = np.arange(self.sentences, dtype=np.int32)
        self.weights: Floats = np.zeros(self.trainer.size)
        self.last = self.weights.copy()  # those that the history ends with
        self.squares: Floats = np.zeros(0)
        if learner.solver == "adagrad":
            self.squares = np.zeros(self.trainer.size)
        if self.old:
            self._start_from(self.old)
        most = learner.epochs if learner.solver == "adagrad" else learner.max_iterations or _MOST_STEPS
        if found := self.read(most, self.called, "epochs" if learner.solver == "adagrad" else "max_iterations"):
            arrays, _ = found
            self._restore(arrays)

    def make_trainer(self) -> _core.CrfTrainer:
        """Give the corpus to the core, which sums over it."""
        learner = self.learner
        return _core.CrfTrainer.make(
            **self.corpus_arguments(),
            edges=self.features.edges if self.features else True,
            all_pairs=bool(learner.all_pairs),
            dense_edges=bool(learner.dense_edges),
            lanes=bool(learner.lanes),
        )

    def run(self) -> None:
        """Train, and leave `history_`, `objective_` and `model_` with the learner."""
        learner = self.learner
        learner.history_ = self.history
        try:
            # More threads of BLAS than ours would change the last digits, and be slower.
            with threadpool_limits(1, user_api="blas"), stops() as self.check_stop:
                self.adagrad() if learner.solver == "adagrad" else self.lbfgs()
        except KeyboardInterrupt:
            if not self.history:
                raise
            self.keep_last()
            warnings.warn(
                f"interrupted after {len(self.history)} {self.called}; the model is as it was then", stacklevel=3
            )
        learner.objective_ = self.history[self.finished_after - 1]["objective"]
        learner.model_ = self.kept_model()

    def _restore(self, arrays: Arrays) -> None:
        """Take over the state of a checkpoint, which may have been made by anyone."""
        for name in ("weights", "squares"):
            mine, its = getattr(self, name), arrays.get(f"state.{name}")
            right = its is not None and its.dtype == mine.dtype and its.shape == mine.shape
            if its is None or not right or not np.isfinite(its).all() or (name == "squares" and (its < 0).any()):
                raise ValueError(f"{os.fspath(self.learner.checkpoint or '')}: no {name} to go on from; remove it")
            setattr(self, name, np.array(its))
        if not 1 <= self.finished_after <= len(self.history):
            raise ValueError(f"{os.fspath(self.learner.checkpoint or '')}: a history that does not fit; remove it")
        self.last = self.weights.copy()

    def _start_from(self, old: Model) -> None:
        """Take over the weights of a model, by the names of its features and labels."""
        if "parts" in old.arrays:
            raise ValueError(
                f"warm_start: the model has weights for parts of labels, which a {self.kind.upper()} does not have"
            )
        self.trainer.start_from(self.known, self.new_numbers(old), self.weights)

    def options(self) -> dict[str, Any]:
        """What decides the weights, beside the corpus and how long it is trained."""
        learner = self.learner
        return {
            "l2": float(learner.l2),
            "l1": float(learner.l1),
            "keep": None if learner.keep is None else str(learner.keep),
            "solver": learner.solver,
            "tolerance": float(learner.tolerance),
            "rate": float(learner.rate),
            "batch": int(learner.batch),
            "start_on": None if learner.start_on is None else float(learner.start_on),
            "all_pairs": bool(learner.all_pairs),
            "min_count": int(learner.min_count),
            "seed": int(learner.seed),
            "patience": None if learner.patience is None else int(learner.patience),
        }

    def facts(self, after: int) -> dict[str, Any]:
        """What a model says about its training."""
        return {**self.common_facts({}), f"{self.called}_done": after}

    def keep_last(self) -> None:
        """Keep the last weights as what is returned, unless better ones were kept by their dev accuracy."""
        if self.learner.patience is None or self.finished is None:
            self.keep(self.trainer.trained(self.last), len(self.history))

    def _note(self, fact: dict[str, float], weights: Floats, measure: bool) -> None:
        """Add to the history what led to these weights; measure them, and write a checkpoint, if it is time."""
        model = self._measured(fact, weights, len(self.history) + 1) if measure else None
        self.last = weights
        self.history.append(fact)
        if not measure:
            return
        if self.learner.patience is None or is_best(self.history):
            self.keep(model or self.trainer.trained(weights), len(self.history))
        if self.learner.checkpoint is not None:
            self.write(self.learner.checkpoint, {"state.weights": weights, "state.squares": self.squares}, {})

    def _measured(self, fact: dict[str, float], weights: Floats, after: int) -> Model | None:
        if self.dev is None:
            return None
        model = self.model(self.trainer.trained(weights), after)
        fact["dev"] = accuracy(model, *self.dev, "auto", self.learner.threads)
        return model

    def _bar(self, total: int | None) -> Any:
        hidden = None if self.learner.progress is None else not self.learner.progress
        return tqdm(
            total=total, desc=self.kind.upper(), unit=self.called[:-1], disable=hidden, initial=len(self.history)
        )

    def _end(self) -> None:
        """Measure the last weights, if they were not, and keep them, unless others were better."""
        if self.dev is not None and self.history and "dev" not in self.history[-1]:
            model = self._measured(self.history[-1], self.last, len(self.history))
            if model is not None and is_best(self.history):
                self.keep(model, len(self.history))
        self.keep_last()

    # --- AdaGrad ---

    def adagrad(self) -> None:
        """Pass over the corpus in a new order each time."""
        learner = self.learner
        rule = keep_arguments(learner.keep if isinstance(learner.keep, Keep) else None)
        with self._bar(learner.epochs) as bar:
            while len(self.history) < learner.epochs and not stalled(self.history, learner.patience):
                rng = np.random.default_rng([learner.seed, len(self.history)])
                order = rng.permutation(self.sentences).astype(np.int32)
                began, loss, tokens, kept = time.perf_counter(), 0.0, 0, 0
                # In pieces, so that Ctrl-C is heard.
                for at in range(0, len(order), 64 * learner.batch):
                    self.check_stop()
                    piece = order[at : at + 64 * learner.batch]
                    seen = self.trainer.adagrad(
                        self.weights, self.squares, rule, piece, learner.batch, float(learner.rate), float(learner.l2)
                    )
                    loss, tokens, kept = loss + seen[0], tokens + seen[1], kept + seen[2]
                fact = {
                    "objective": loss + learner.l2 * float(self.weights @ self.weights),
                    "kept": kept / max(1, tokens),
                    "seconds": time.perf_counter() - began,
                }
                self._note(fact, self.weights.copy(), True)
                bar.update()
                bar.set_postfix_str(_said(fact))
        self._end()

    # --- L-BFGS ---

    def lbfgs(self) -> None:
        """Descend on a part of the corpus where that is asked for, then on all of it."""
        learner = self.learner
        auto = learner.keep == "auto"
        rule = learner.keep if isinstance(learner.keep, Keep) else None
        # What "auto" would try next, while it sums exactly.
        self.next_rule = KeepDivergence(_COARSE) if auto else None
        with self._bar(learner.max_iterations) as bar:
            if learner.start_on is not None and not self.history:
                rng = np.random.default_rng([learner.seed, 1])
                some = rng.permutation(self.sentences)[: max(1, round(learner.start_on * self.sentences))]
                self._descend(np.sort(some).astype(np.int32), rule, bar, noted=False)
            while True:
                why = self._descend(self.everyone, rule, bar, noted=True)
                if why == "pays":
                    rule, self.next_rule = self.next_rule, None
                elif why == "noisy" and isinstance(rule, KeepDivergence) and auto:
                    rule = KeepDivergence(rule.epsilon * _TIGHTER)
                    if rule.epsilon < _FINEST or not self._pays(rule):
                        rule = None
                else:
                    break
            if why == "noisy" and learner.keep != "auto":
                warnings.warn(
                    "a line search failed: what is kept is too little for its gradients to be trusted; "
                    "keep more, or use keep='auto'",
                    stacklevel=5,
                )
        self._end()

    def _descend(self, sentences: Numbers, rule: Keep | None, bar: Any, noted: bool) -> str:
        """Minimise over some sentences until there is a reason to stop, which comes back.

        That is "converged", "limit", "patience", and for keep="auto" "noisy" (sums must be better) or "pays" (sparse
        sums would be faster).
        """
        learner, N = self.learner, self.trainer.size
        objective = _Objective(self, sentences, rule)
        split = learner.l1 > 0
        done: list[float] = []
        began = time.perf_counter()
        why = "converged"

        def step(intermediate_result: Any) -> None:
            nonlocal began, why
            x = intermediate_result.x
            weights = x[:N] - x[N:] if split else np.array(x)
            now = time.perf_counter()
            fact = {
                "objective": float(intermediate_result.fun),
                "gradient": objective.norm,
                "kept": objective.kept,
                "seconds": now - began,
            }
            began = now
            done.append(fact["objective"])
            if noted:
                self._note(fact, weights, (len(self.history) + 1) % _PERIOD == 0)
                bar.update()
            self.weights = weights
            bar.set_postfix_str(_said(fact))
            if (len(self.history) if noted else len(done)) >= (learner.max_iterations or _MOST_STEPS):
                why = "limit"
            elif noted and stalled(self.history, learner.patience):
                why = "patience"
            elif len(done) > _PERIOD and done[-1 - _PERIOD] - done[-1] < learner.tolerance * abs(done[-1]):
                why = "converged"
            elif not noted or learner.keep != "auto" or len(done) % (_PERIOD // 2):
                return
            elif rule is not None and self._noisy(rule, objective):
                why = "noisy"
            elif rule is None and self.next_rule is not None and self._pays(self.next_rule):
                why = "pays"
            else:
                return
            raise _Stop

        start = np.concatenate([np.maximum(self.weights, 0), np.maximum(-self.weights, 0)]) if split else self.weights
        limit = (learner.max_iterations or _MOST_STEPS) - len(self.history)
        if noted and limit <= 0:
            return "limit"
        found = minimize(
            objective,
            start,
            jac=True,
            method="L-BFGS-B",
            bounds=Bounds(0, np.inf) if split else None,
            callback=step,
            options={"maxcor": _MEMORY, "ftol": 0, "gtol": 1e-7, "maxiter": _MOST_STEPS, "maxfun": 10 * _MOST_STEPS},
        )
        if not done and noted:
            # Nothing to do: the start is the end.
            value, _ = objective(start)
            fact = {"objective": value, "gradient": objective.norm, "kept": objective.kept, "seconds": 0.0}
            self._note(fact, self.weights, True)
        if learner.keep == "auto" and rule is not None and why == "converged" and not self._close(rule):
            return "noisy"
        if rule is None or found.status != _LINE_SEARCH_FAILED or why != "converged":
            return why
        # Close to the end every rule is too noisy, and no more is to be had from it.
        far = objective.norm > _FAR * objective.first_norm
        return "noisy" if far or learner.keep == "auto" else "converged"

    def _sample(self) -> Numbers:
        chosen = np.random.default_rng([self.learner.seed, 2]).permutation(self.sentences)[:_SAMPLE]
        return np.sort(chosen).astype(np.int32)

    def _compared(self, rule: Keep) -> tuple[float, float, float]:
        """Give, of the whole corpus as a sample has it: the gradient's error, log Z's error, and the exact loss."""
        sample = self._sample()
        sparse, exact, right = (np.empty(self.trainer.size) for _ in range(3))
        threads = self.learner.threads
        low, *_ = self.trainer.expect(self.weights, keep_arguments(rule), sample, threads, sparse)
        high, *_ = self.trainer.expect(self.weights, keep_arguments(None), sample, threads, exact)
        self.trainer.observe(sample, right)
        times = self.sentences / len(sample)
        error = float(np.linalg.norm(sparse - exact))
        return times * error, times * (high - low), times * (high - float(right @ self.weights))

    def _pays(self, rule: Keep) -> bool:
        """Whether sparse sums are faster, by nanoseconds a token as they were measured; never by the clock."""
        counts = np.empty(self.trainer.size)
        rules = keep_arguments(rule)
        _, tokens, kept = self.trainer.expect(self.weights, rules, self._sample(), self.learner.threads, counts)
        each, L, edges = kept / max(1, tokens), len(self.labels), self.trainer.edges
        if self.learner.dense_edges:
            edges = L * L
        sets = self.features is not None and any(one.edge for one in self.features.templates)
        exact = 8 * L + (0.25 if self.learner.lanes and not sets else 1.5) * edges
        sparse = 8 * L + each * (180 + 0.4 * edges / L)
        return bool(exact > _PAYS * sparse)

    def _noisy(self, rule: Keep, objective: _Objective) -> bool:
        error, _, _ = self._compared(rule)
        return error > _TOO_NOISY * objective.norm

    def _close(self, rule: Keep) -> bool:
        _, missing, loss = self._compared(rule)
        return missing <= _CLOSE_ENOUGH * loss


_LINE_SEARCH_FAILED = 2  # SciPy's status of an abnormal end


class _Objective:
    """The penalised loss of some sentences and its gradient, as SciPy asks for them."""

    def __init__(self, run: CrfTraining, sentences: Numbers, rule: Keep | None) -> None:
        self.run, self.sentences, self.rule = run, sentences, keep_arguments(rule)
        self.observed = np.empty(run.trainer.size)
        run.trainer.observe(sentences, self.observed)
        self.norm = self.first_norm = self.kept = 0.0

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        self.run.check_stop()
        learner, N = self.run.learner, self.run.trainer.size
        split = learner.l1 > 0
        w = x[:N] - x[N:] if split else x
        gradient = np.empty(N)
        log_z, tokens, kept = self.run.trainer.expect(w, self.rule, self.sentences, learner.threads, gradient)
        value = log_z - float(self.observed @ w) + learner.l2 * float(w @ w)
        gradient -= self.observed
        gradient += 2 * learner.l2 * w
        self.kept = kept / max(1, tokens)
        slope = gradient
        if split:
            # Where a weight is 0, l1 holds it there as long as the rest does not pull harder.
            held = np.sign(gradient) * np.maximum(np.abs(gradient) - learner.l1, 0)
            slope = np.where(w == 0, held, gradient + learner.l1 * np.sign(w))
        self.norm = float(np.linalg.norm(slope))
        self.first_norm = self.first_norm or self.norm
        if not split:
            return value, gradient
        return value + learner.l1 * float(x.sum()), np.concatenate([gradient + learner.l1, learner.l1 - gradient])


def _said(fact: dict[str, float]) -> str:
    """A fact as the progress bar shows it."""
    parts = [f"objective {fact['objective']:.1f}"]
    if "gradient" in fact:
        parts.append(f"gradient {fact['gradient']:.3g}")
    parts.append(f"kept {fact['kept']:.1f}")
    if "dev" in fact:
        parts.append(f"dev {fact['dev']:.2%}")
    return ", ".join(parts)
