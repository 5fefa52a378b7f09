"""One door to the samplers that go by more than chance and BANSAC's probabilities, so that the loop compiles them once.

The loop is given a ``Guide`` where one of them is wanted, and None otherwise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bansac.engine.sampling.adaptive_reordering import posterior_probabilities, renew_priority, start_priority
from bansac.engine.sampling.baysac import learn_from_failure, sample_most_probable
from bansac.engine.sampling.napsac import neighborhood_radius, sample_napsac
from bansac.engine.sampling.progressive_napsac import (
    Neighborhoods,
    empty_neighborhoods,
    make_neighborhoods,
    sample_progressive_napsac,
)
from bansac.engine.sampling.prosac import TOTAL_DRAWS, growth_function, sample_prosac
from bansac.engine.state import AR, BAYSAC, NAPSAC, P_NAPSAC, PROSAC, State
from bansac.numeric.jit import kernel

__all__ = ["Guide", "guide_probabilities", "make_guide", "sample_guided", "update_guide"]


class Guide(NamedTuple):
    """What a sampler goes by; the arrays of the others are empty."""

    growth: NDArray[np.int64]  # PROSAC, P-NAPSAC
    neighborhoods: Neighborhoods  # P-NAPSAC
    squared_radius: float  # NAPSAC
    centres: NDArray[np.int64]
    neighbors: NDArray[np.int64]
    prior: NDArray[np.float64]  # BaySAC, AR
    priority: NDArray[np.float64]
    failures: NDArray[np.int64]


def make_guide(
    sampler: int,
    data: NDArray[np.float64],
    sample_size: int,
    rng: NDArray[np.uint64],
    *,
    ranking: NDArray[np.int64],
    prior: NDArray[np.float64] | None,
    radius: float | None,
) -> Guide | None:
    """Return the guide of a sampler (its code) at the start of a run, or None where it needs none.

    Parameters
    ----------
    sampler : int
        Code of the sampler, see ``bansac.engine.state``.
    data : (channels, N) ndarray
        The data.
    sample_size : int
        Data in a minimal sample.
    rng : (4,) ndarray of uint64
        State of the random numbers.
    ranking : (N,) ndarray of int64
        Data by decreasing quality (PROSAC, P-NAPSAC).
    prior : (N,) ndarray or None
        Prior inlier probabilities (BaySAC, AR); 0.5 where they are None.
    radius : float or None
        Radius of a neighbourhood in the units of ``data`` (NAPSAC).

    Returns
    -------
    Guide or None
        What ``sample_guided`` and ``update_guide`` take.
    """
    n = data.shape[1]
    if sampler not in (PROSAC, NAPSAC, P_NAPSAC, BAYSAC, AR):
        return None
    no_numbers, no_indices = np.empty(0), np.empty(0, np.int64)
    guide = Guide(
        growth=no_indices,
        neighborhoods=empty_neighborhoods(),
        squared_radius=0.0,
        centres=no_indices,
        neighbors=no_indices,
        prior=no_numbers,
        priority=no_numbers,
        failures=no_indices,
    )
    if sampler in (PROSAC, P_NAPSAC):
        guide = guide._replace(growth=np.empty(n + 1, np.int64))
        growth_function(sample_size, TOTAL_DRAWS, guide.growth)
    if sampler == P_NAPSAC:
        return guide._replace(neighborhoods=make_neighborhoods(data, ranking, sample_size))
    if sampler == NAPSAC:
        chosen = neighborhood_radius(data) if radius is None else radius
        centres = np.append(np.arange(n), n)
        return guide._replace(squared_radius=chosen * chosen, centres=centres, neighbors=np.empty(n, np.int64))
    if sampler in (BAYSAC, AR):
        start = np.full(n, 0.5) if prior is None else prior
        guide = guide._replace(prior=start, priority=start.copy(), failures=np.zeros(n, np.int64))
    if sampler == AR:
        start_priority(rng, guide.prior, guide.priority)
    return guide


@kernel
def sample_guided(data: NDArray[np.float64], sampler: int, run: Any, state: State, guide: Guide) -> None:
    """Draw the next sample."""
    if sampler == PROSAC:
        sample_prosac(state.rng, state.ranking, guide.growth, run, state.sample)
    elif sampler == NAPSAC:
        sample_napsac(state.rng, data, guide.squared_radius, guide.centres, guide.neighbors, state.sample)
    elif sampler == P_NAPSAC:
        sample_progressive_napsac(state.rng, state.ranking, guide.growth, run, guide.neighborhoods, state.sample)
    else:
        sample_most_probable(state.rng, guide.priority, state.sample)


@kernel
def update_guide(sampler: int, state: State, guide: Guide) -> None:
    """Learn that the run goes on after the sample: it has failed."""
    if sampler == BAYSAC:
        learn_from_failure(guide.priority, state.sample)
    elif sampler == AR:
        renew_priority(state.rng, guide.prior, guide.failures, guide.priority, state.sample)


def guide_probabilities(sampler: int, guide: Guide) -> NDArray[np.float64] | None:
    """Return the inlier probabilities that the sampler has come to, None where it has none."""
    if sampler == BAYSAC:
        return guide.priority
    if sampler == AR:
        return posterior_probabilities(guide.prior, guide.failures)
    return None
