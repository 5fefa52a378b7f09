"""What a run takes from the problem and the options alone, worked out once for all calls with the same options."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bansac.engine.dbn import pack_cpt
from bansac.engine.kernels import find_function, select_kernels
from bansac.engine.options import Options
from bansac.engine.sampling import Setup
from bansac.engine.state import Sizes, start_records
from bansac.engine.stopping import Stop
from bansac.numeric.arrays import Bytes, Floats, Ints
from bansac.problems.problem import Problem

__all__ = ["Plan", "find_plan"]

# The paper's thresholds of its stopping criterion, for BANSAC and for P-BANSAC.
_TAU = 0.01
_TAU_INFORMED = 0.1


@dataclass(frozen=True, eq=False)
class Plan:
    """What runs of a problem with the same options share.

    Parameters
    ----------
    kernels : struct
        The functions that the loop calls.
    bounds : tuple of Stop
        The stopping criteria that ask for a number of samples.
    prepare : tuple of callable
        ``prepare(n, sample_size)`` of each of them: its array. Empty if none has one.
    start : callable
        ``start(setup)`` of the sampler: its arrays.
    memory : ndarray
        The records before the first iteration, but for what depends on the data.
    sizes : Sizes
        Lengths of arrays, but for what depends on the number of data.
    cpt : ndarray
        The conditional probability tables.
    """

    kernels: Any
    bounds: tuple[Stop, ...]
    prepare: tuple[Callable[[int, int], Ints], ...]
    start: Callable[[Setup], tuple[Floats, Ints]]
    memory: Bytes
    sizes: Sizes
    cpt: Floats


def find_plan(problem: Problem, options: Options, *, informed: bool) -> Plan:
    """Return the plan of a run whose data come, or do not come, with priors that distinguish them."""
    key = (problem, informed)
    plans = options.plans
    if key not in plans:
        plans[key] = _make_plan(problem, options, informed)
    plan: Plan = plans[key]
    return plan


def _make_plan(problem: Problem, options: Options, informed: bool) -> Plan:
    sampler = options.sampler_row
    stops = options.stops(informed=informed)
    bounds = tuple(stop for stop in stops if stop.module is not None)
    prepares = tuple(find_function(stop, "prepare", _prepare_nothing) for stop in bounds)
    local = options.optimization(problem) or ""
    higher_order = sampler.adaptive and options.order > 1
    return Plan(
        kernels=select_kernels(
            problem,
            sampler,
            options.score_row,
            bounds,
            higher_order,
            options.tests_samples(problem),
        ),
        bounds=bounds,
        prepare=() if all(prepare is _prepare_nothing for prepare in prepares) else prepares,
        start=find_function(sampler, "start", _start_nothing),
        memory=start_records(
            confidence=options.confidence,
            max_iterations=options.max_iterations,
            min_iterations=options.min_iterations,
            adaptive=sampler.adaptive,
            sprt=options.verification == "sprt",
            bounds=len(bounds),
            stop_bansac=stops != bounds,
            tau=(_TAU_INFORMED if informed else _TAU) if options.tau is None else options.tau,
            solver_cost=problem.solver_cost,
            optimize=bool(local),
            inner="inner" in local,
            iterative="iterative" in local,
        ),
        sizes=Sizes(
            sample=problem.sample_size,
            models=problem.max_models,
            beliefs=2**options.order if higher_order else 0,
            repair=0,
            scratch=problem.scratch_size,
        ),
        cpt=pack_cpt(options.cpt, options.order),
    )


def _start_nothing(setup: Setup) -> tuple[Floats, Ints]:
    return np.empty(0), np.empty(0, np.int64)


def _prepare_nothing(n: int, sample_size: int) -> Ints:
    return np.empty(0, np.int64)
