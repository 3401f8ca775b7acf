"""keep="auto": exact sums until sparse ones pay, then sparse sums as coarse as their gradients can be trusted.

Pal et al. (2006) leave the choice of epsilon open. Here it begins at 0.01 and falls to a tenth of itself whenever the
sparse gradient strays too far from the exact one on a sample, a line search fails, or the end is reached while log Z is
not close enough; below 1e-5, or where it no longer pays, sums are exact to the end.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from tagwright.decoding.keep import Keep, KeepDivergence, keep_arguments
from tagwright.learners.lbfgs import inner

if TYPE_CHECKING:
    from tagwright.learners.crf_training import CrfTraining
    from tagwright.learners.lbfgs import Objective

__all__ = ["AutoKeep"]

_COARSE, _TIGHTER, _FINEST = 0.01, 0.1, 1e-5  # epsilon at first, its factor, where exact sums take over
_PAYS = 1.5  # a beam is worth its noise where it is so many times as fast
_SAMPLE = 200  # sentences on which sparse and exact sums are compared
_TOO_NOISY = 0.3  # of the gradient's norm: an error of this size may lead the wrong way
_CLOSE_ENOUGH = 1e-3  # of the loss: a result is trusted where sparse sums miss no more of log Z


class AutoKeep:
    """The rule that is used now (None: exact sums), and when another is better."""

    def __init__(self, run: CrfTraining) -> None:
        """Begin with exact sums, or go on as a checkpoint says."""
        self.run = run
        rule, untried = run.restored.get("auto") or (None, _COARSE)
        self.rule = None if rule is None else KeepDivergence(rule)
        self._untried = None if untried is None else KeepDivergence(untried)
        chosen = np.random.default_rng([run.options.seed, 2]).permutation(run.sentences)[:_SAMPLE]
        self._sample = np.sort(chosen).astype(np.int32)

    @property
    def state(self) -> list[float | None]:
        """What a checkpoint says."""
        return [None if rule is None else rule.epsilon for rule in (self.rule, self._untried)]

    def should_change(self, objective: Objective) -> bool:
        """Return whether sparse sums would pay by now, or are too noisy."""
        if self.rule is None:
            return self._untried is not None and self._pays(self._untried)
        error, _, _ = self._compared(self.rule)
        return error > _TOO_NOISY * objective.norm

    def change(self) -> None:
        """Take the next rule: sparse sums after exact ones, else finer ones, else exact ones for good."""
        if self.rule is None:
            self.rule, self._untried = self._untried, None
            return
        finer = KeepDivergence(self.rule.epsilon * _TIGHTER)
        self.rule = finer if finer.epsilon >= _FINEST and self._pays(finer) else None

    def is_close(self) -> bool:
        """Return whether sparse sums miss so little of log Z that their result can be trusted."""
        if self.rule is None:
            return True
        _, missing, loss = self._compared(self.rule)
        return missing <= _CLOSE_ENOUGH * loss

    def _compared(self, rule: Keep) -> tuple[float, float, float]:
        """Return, of the whole corpus as the sample has it: the gradient's error, log Z's error, the exact loss."""
        run = self.run
        sparse, exact, right = (np.empty(run.trainer.size) for _ in range(3))
        threads = run.learner.threads
        low, *_ = run.sums.expect(run.weights, keep_arguments(rule), self._sample, threads, sparse)
        high, *_ = run.sums.expect(run.weights, keep_arguments(None), self._sample, threads, exact)
        run.trainer.observe(self._sample, right)
        times = run.sentences / len(self._sample)
        wrong = sparse - exact
        return times * math.sqrt(inner(wrong, wrong)), times * (high - low), times * (high - inner(right, run.weights))

    def _pays(self, rule: Keep) -> bool:
        """Return whether sparse sums are faster, by nanoseconds per token as they were measured; never by the clock."""
        run = self.run
        counts = np.empty(run.trainer.size)
        rules = keep_arguments(rule)
        _, tokens, kept = run.sums.expect(run.weights, rules, self._sample, run.learner.threads, counts)
        each, L, edges = kept / max(1, tokens), len(run.labels), run.trainer.edges
        if run.learner._dense_edges:
            edges = L * L
        sets = run.features is not None and any(one.edge for one in run.features.templates)
        exact = 8 * L + (0.25 if run.learner._lanes and not sets else 1.5) * edges
        sparse = 8 * L + each * (180 + 0.4 * edges / L)
        return bool(exact > _PAYS * sparse)
