"""The components of a run: what depends on the problem and the options only; calls with the same options share it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bansac.engine.dbn import pack_cpt
from bansac.engine.kernels import select_kernels
from bansac.engine.options import REFINERS, Options
from bansac.engine.refinement import least_squares, lm
from bansac.engine.scoring import SCORES
from bansac.engine.state import start_records
from bansac.engine.stopping import STOPS, Stop
from bansac.maths.arrays import Bytes, Floats
from bansac.problems.problem import Problem

# Placeholders for arrays that a run does not use; nothing is written to them.
NO_FLOATS, NO_INTS = np.empty(0), np.empty(0, np.int64)

# The paper's tau of the BANSAC stopping criterion, for BANSAC and for P-BANSAC.
_TAU = 0.01
_TAU_INFORMED = 0.1

_REFINE = {"least_squares": least_squares.refine, "lm": lm.refine}


@dataclass(frozen=True, eq=False)
class Components:
    """The components of a run, shared by all runs of a problem with the same options."""

    kernels: Any  # struct of the functions that the loop calls
    criteria: tuple[Stop, ...]  # the stopping criteria that give a required number of samples
    optimization: str | None  # name of the local optimisation
    refine: Callable[[Any, Problem], None] | None  # ``refine(run, problem)`` of the refiner
    memory: Bytes  # the records before the first iteration, except the fields that depend on the data
    beliefs: int  # joint states of a point if the order is above 1, else 0
    cpt: Floats
    counts: bool  # whether the score is the number of inliers if no weights are given


def check_abilities(problem: Problem, options: Options) -> None:
    """Raise a ValueError that names the option and the function if the problem has not what the options need."""
    if options.degeneracy == "degensac" and problem.is_degenerate is None:
        raise ValueError(f"degeneracy='degensac' is for the fundamental matrix, not for problem {problem.name!r}")
    optimization = options.optimization(problem)
    if optimization == "lm" and problem.linearize is None:
        raise ValueError(f"local_optimization='lm' needs derivatives, and problem {problem.name!r} has no linearize")
    if optimization not in (None, "lm") and problem.fit is None:
        raise ValueError(f"local_optimization needs a non-minimal solver, and problem {problem.name!r} has no fit")
    if "density" in options.weights(problem) and problem.channels not in (2, 4):
        raise ValueError(f"weighting='density' is for points and matches, not for {problem.channels} channels")
    refiner = options.refiner(problem)
    if refiner is not None and getattr(problem, REFINERS[refiner]) is None:
        raise ValueError(
            f"refinement={refiner!r} is not for problem {problem.name!r}, which has no {REFINERS[refiner]}"
        )


def find_components(problem: Problem, options: Options, *, informed: bool) -> Components:
    """Return the components of a run; ``informed`` says whether there are priors that are not all equal."""
    key = (problem, informed)
    if key not in options.components:
        options.components[key] = _make_components(problem, options, informed)
    components: Components = options.components[key]
    return components


def _make_components(problem: Problem, options: Options, informed: bool) -> Components:
    sampler, network = options.sampler_row, options.network
    stops = options.stops(informed=informed)
    criteria = tuple(stop for stop in stops if stop.required_iterations is not None)
    refiner = options.refiner(problem)
    optimization = options.optimization(problem)
    local = optimization or ""
    higher_order, tests_samples = sampler.adaptive and network.order > 1, options.tests_samples(problem)
    return Components(
        kernels=select_kernels(problem, sampler, options.score_row, criteria, higher_order, tests_samples),
        criteria=criteria,
        optimization=optimization,
        refine=None if refiner is None else _REFINE[refiner],
        memory=start_records(
            confidence=options.confidence,
            max_iterations=options.max_iterations,
            min_iterations=options.min_iterations,
            min_updates=network.min_updates,
            adaptive=sampler.adaptive,
            sprt=options.verification == "sprt",
            criteria=len(criteria),
            stop_bansac=STOPS["bansac"] in stops,
            tau=(_TAU_INFORMED if informed else _TAU) if network.tau == "default" else network.tau,
            solver_cost=problem.solver_cost,
            optimize=bool(local),
            inner="inner" in local,
            iterative="iterative" in local,
        ),
        beliefs=2**network.order if higher_order else 0,
        cpt=pack_cpt(network.cpt, network.order),
        counts=options.score_row == SCORES["inliers"],
    )
