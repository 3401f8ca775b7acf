"""Learners by the flat names of their options, as the command line has them: those of the solver beside the others."""

import dataclasses

import tagwright as tw
from tagwright.learners.options import SOLVERS, Solver, options_of, set_flat


def crf(*features, solver=None, cls=tw.CRF, **options):
    """Return a CRF; with options of L-BFGS and no solver, it is trained by L-BFGS."""
    if solver is None:
        of_lbfgs = any(name in options for name in ("l1", "l2", "max_iterations", "tolerance", "start_on"))
        solver = "lbfgs" if of_lbfgs or options.get("pairs") == "all" else "adagrad"
    own = {name: options.pop(name) for name in list(options) if name not in options_of("crf")}
    made = solver if isinstance(solver, Solver) else SOLVERS[solver]()
    return cls(*features, solver=dataclasses.replace(made, **own) if own else solver, **options)


def memm(*features, **options):
    """Return a MEMM."""
    return set_flat(tw.MEMM(*features), **options)
