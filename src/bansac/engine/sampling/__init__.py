"""Samplers: they draw the minimal samples. A sampler is one module; ``SAMPLERS`` lists the samplers with their traits.

A sampler's module has these functions. The first two are compiled:

``draw(rng, data, odds, ranking, progress, numbers, indices, sample)``
    Fill ``sample`` with distinct indices. ``rng`` is the state of the random generator and ``data`` is channels x N.
    ``odds`` are those of the network (inlier over outlier, float32). ``ranking`` lists the indices of the points by
    decreasing quality (empty without scores). ``progress`` is the progress of the run
    (``bansac.engine.state.PROGRESS``).
``learn_from_failure(rng, numbers, indices, sample)``, optional
    Called at the end of each iteration: the sample has failed, because the run continues.
``start(setup) -> (numbers, indices)``, optional
    Allocate the memory of the sampler, in float64 and int64.
``probabilities(numbers, indices)``, optional
    Return the current inlier probabilities of the points, for the result and the trace.

All samplers have the same signatures, so ``numbers`` and ``indices`` are flat. A sampler with several arrays has a
named tuple ``Memory`` of them, and an ``inlined`` function ``views`` that returns it. ``draw`` begins with
``memory = views(numbers, indices)``. Python functions call ``plain(views)``, which compiles nothing. Only ``views``
defines the layout of the memory.
"""

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from bansac.engine.option_fields import DISTANCE, Default
from bansac.maths.arrays import Floats, Ints, Words

SamplerName = Literal["bansac", "uniform", "prosac", "napsac", "p-napsac", "baysac", "ar"]


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
        Whether it starts from prior inlier probabilities.
    order : bool
        Whether it needs the ranking of the points by quality.
    adaptive : bool
        Whether it draws by the probabilities of the dynamic Bayesian network, which is updated after every sample.
    stopping : tuple of str
        Its criteria with ``stopping="sampler"``; ``"sprt"`` becomes ``"ransac"`` without SPRT verification.
    neighbourhood_radius : float or "default"
        Radius of the neighbourhoods of a sampler that draws neighbours, in the unit of the coordinates: a distance in
        the joint space of all coordinates of a point or match.
    """

    name: str
    module: Any = field(hash=False)
    prior: bool = False
    order: bool = False
    adaptive: bool = False
    stopping: tuple[str, ...] = ("sprt",)
    neighbourhood_radius: float | Default = "default"

    def __post_init__(self) -> None:
        """Check the radius."""
        if self.neighbourhood_radius != "default":
            object.__setattr__(
                self, "neighbourhood_radius", DISTANCE("neighbourhood_radius", self.neighbourhood_radius)
            )


class Napsac(Sampler):
    """The sampler ``"napsac"`` (Myatt et al., 2002) with a radius of its neighbourhoods, see :class:`Sampler`.

    The default is a share of the extent (:func:`bansac.engine.sampling.napsac.neighbourhood_radius`).

    Examples
    --------
    >>> import bansac
    >>> from bansac.synthetic import line_points
    >>> made = line_points(100, inlier_ratio=0.5, noise=0.01, seed=0)
    >>> bansac.fit_line(made.points, sampler=bansac.Napsac(neighbourhood_radius=0.3)).success
    True
    """

    def __init__(self, neighbourhood_radius: float | Default = "default") -> None:
        super().__init__("napsac", "bansac.engine.sampling.napsac", neighbourhood_radius=neighbourhood_radius)


SAMPLERS = {
    sampler.name: sampler
    for sampler in (
        Sampler("bansac", "bansac.engine.sampling.bansac", prior=True, adaptive=True, stopping=("bansac", "sprt")),
        Sampler("uniform", "bansac.engine.sampling.uniform"),
        Sampler("prosac", "bansac.engine.sampling.prosac", order=True, stopping=("prosac",)),
        Napsac(),
        Sampler("p-napsac", "bansac.engine.sampling.p_napsac", order=True, stopping=("ransac", "sprt")),
        Sampler("baysac", "bansac.engine.sampling.baysac", prior=True),
        Sampler("ar", "bansac.engine.sampling.ar", prior=True),
    )
}


class SamplerInput(Protocol):
    """What a sampler may read at the start of a run: the frame of the run has these attributes."""

    data: Floats  # channels x N
    sample_size: int
    rng: Words  # state of the random generator, four words
    ranking: Ints  # indices of the points by decreasing quality; empty without scores
    prior: Floats | None  # prior inlier probabilities of the points
    radius: float | None  # neighbourhood_radius of the sampler in the unit of the data
    activation: Any  # Network.activation
    weight_floor: float  # Network.weight_floor
