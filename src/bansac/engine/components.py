"""The components of a run: what depends on the problem and the options only; calls with the same options share it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bansac.engine.dbn import pack_cpt
from bansac.engine.kernels import find_function, select_kernels
from bansac.engine.options import Options
from bansac.engine.sampling import SamplerInput
from bansac.engine.scoring import SCORES
from bansac.engine.state import Sizes, start_records
from bansac.engine.stopping import Stop
from bansac.maths.arrays import Bytes, Floats, Ints
from bansac.problems.problem import Problem

# Placeholders for arrays that a run does not use; nothing is written to them.
NO_FLOATS, NO_INTS = np.empty(0), np.empty(0, np.int64)

# The paper's tau of the BANSAC stopping criterion, for BANSAC and for P-BANSAC.
_TAU = 0.01
_TAU_INFORMED = 0.1


@dataclass(frozen=True, eq=False)
class Components:
    """The components of a run, shared by all runs of a problem with the same options."""

    kernels: Any  # struct of the functions that the loop calls
    criteria: tuple[Stop, ...]  # the stopping criteria that give a required number of samples
    prepare: tuple[Callable[[int, int], Ints] | None, ...]  # of each criterion, for its memory
    start: Callable[[SamplerInput], tuple[Floats, Ints]] | None  # of the sampler, for its memory
    probabilities: Callable[[Floats, Ints], Floats | None] | None  # of the sampler
    optimization: str | None  # name of the local optimisation
    refine: Callable[[Any, Problem], None] | None  # ``refine(run, problem)`` of the refiner
    memory: Bytes  # the records before the first iteration, except the fields that depend on the data
    sizes: Sizes  # lengths of arrays, except those that depend on N
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
    if refiner is not None:
        supports = find_function(refiner, "supports", optional=True)
        lacks = refiner.needs and getattr(problem, refiner.needs) is None
        if lacks or (supports is not None and not supports(problem)):
            missing = f", which has no {refiner.needs}" if lacks else ""
            raise ValueError(f"refinement={refiner.name!r} is not for problem {problem.name!r}{missing}")


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
    criteria = tuple(stop for stop in stops if stop.module is not None)
    refiner = options.refiner(problem)
    optimization = options.optimization(problem)
    local = optimization or ""
    higher_order, tests_samples = sampler.adaptive and network.order > 1, options.tests_samples(problem)
    return Components(
        kernels=select_kernels(problem, sampler, options.score_row, criteria, higher_order, tests_samples),
        criteria=criteria,
        prepare=tuple(find_function(stop, "prepare", optional=True) for stop in criteria),
        start=find_function(sampler, "start", optional=True),
        probabilities=find_function(sampler, "probabilities", optional=True),
        optimization=optimization,
        refine=None if refiner is None else find_function(refiner, "refine"),
        memory=start_records(
            confidence=options.confidence,
            max_iterations=options.max_iterations,
            min_iterations=options.min_iterations,
            min_updates=network.min_updates,
            adaptive=sampler.adaptive,
            sprt=options.verification == "sprt",
            criteria=len(criteria),
            stop_bansac=stops != criteria,
            tau=(_TAU_INFORMED if informed else _TAU) if network.tau == "default" else network.tau,
            solver_cost=problem.solver_cost,
            optimize=bool(local),
            inner="inner" in local,
            iterative="iterative" in local,
        ),
        sizes=Sizes(
            sample_size=problem.sample_size,
            max_models=problem.max_models,
            beliefs=2**network.order if higher_order else 0,
            repair_size=0,
            scratch_size=problem.scratch_size,
        ),
        cpt=pack_cpt(network.cpt, network.order),
        counts=options.score_row == SCORES["inliers"],
    )
