"""Which data make up the next minimal sample. A sampler is one module; ``SAMPLERS`` lists them with their traits.

The functions of a sampler's module, the first two of them compiled:

``draw(rng, data, odds, ranking, progress, numbers, indices, sample)``
    Fill ``sample`` with distinct indices. ``rng`` is the state of the random numbers, ``data`` are channels x N,
    ``odds`` the network's (inlier over outlier, float32), ``ranking`` lists the data by decreasing quality (empty
    without scores), ``progress`` is the record of the run so far (``bansac.engine.state.PROGRESS``).
``learn_from_failure(rng, numbers, indices, sample)``, optional
    Called at the end of an iteration: the run goes on, the sample has failed.
``start(setup) -> (numbers, indices)``, optional
    Allocate the sampler's own arrays, of float64 and int64.
``probabilities(numbers, indices)``, optional
    Inlier probabilities of the data at the end of the run.

All samplers have one signature, so ``numbers`` and ``indices`` are flat. A sampler that keeps several arrays in them
has a named tuple of the arrays, ``Memory``, and an ``inlined`` function ``views`` that returns it. ``draw`` begins with
``memory = views(numbers, indices)``; functions in Python call ``plain(views)`` instead, which compiles nothing. The
layout of the memory is written in ``views`` only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bansac.numeric.arrays import Floats, Ints, Words

__all__ = ["SAMPLERS", "Sampler", "SamplerInput"]


@dataclass(frozen=True)
class Sampler:
    """A sampler, built in or the user's.

    Parameters
    ----------
    name : str
        Its name.
    module : str or object
        Name of the module, or object, with the sampler's functions.
    prior : bool
        It starts from prior inlier probabilities.
    order : bool
        It needs the data in order of quality.
    adaptive : bool
        It draws by the probabilities of the dynamic Bayesian network, which is updated after every sample.
    neighbors : bool
        It draws data within ``Options.neighborhood_radius`` of each other.
    stopping : tuple of str
        Its default stopping criteria; ``"sprt"`` becomes ``"ransac"`` without SPRT verification.
    """

    name: str
    module: Any = field(hash=False)
    prior: bool = False
    order: bool = False
    adaptive: bool = False
    neighbors: bool = False
    stopping: tuple[str, ...] = ("sprt",)


SAMPLERS = {
    sampler.name: sampler
    for sampler in (
        Sampler("bansac", "bansac.engine.sampling.bansac", prior=True, adaptive=True, stopping=("bansac", "sprt")),
        Sampler("uniform", "bansac.engine.sampling.uniform"),
        Sampler("prosac", "bansac.engine.sampling.prosac", order=True, stopping=("prosac",)),
        Sampler("napsac", "bansac.engine.sampling.napsac", neighbors=True),
        Sampler("p-napsac", "bansac.engine.sampling.p_napsac", order=True, stopping=("ransac", "sprt")),
        Sampler("baysac", "bansac.engine.sampling.baysac", prior=True),
        Sampler("ar", "bansac.engine.sampling.ar", prior=True),
    )
}


class SamplerInput(NamedTuple):
    """What a sampler knows when a run starts.

    Parameters
    ----------
    data : (channels, N) ndarray
        The data.
    sample_size : int
        Number of data in a minimal sample.
    rng : (4,) ndarray of uint64
        State of the random numbers.
    ranking : (N,) ndarray of int64
        Data by decreasing quality; empty if it is not known.
    prior : (N,) ndarray or None
        Prior inlier probabilities.
    radius : float or None
        ``Options.neighborhood_radius`` in the units of ``data``.
    activation : str
        ``Options.activation``.
    weight_floor : float
        ``Options.weight_floor``.
    """

    data: Floats
    sample_size: int
    rng: Words
    ranking: Ints
    prior: Floats | None
    radius: float | None
    activation: str
    weight_floor: float
