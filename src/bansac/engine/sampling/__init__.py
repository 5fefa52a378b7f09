"""Samplers: they draw the minimal samples. ``SAMPLERS`` lists them with their traits.

All samplers have the same signatures (:class:`Sampler`), so ``numbers`` and ``indices`` are flat; ``start`` defines
their layout.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from bansac.engine.option_fields import DISTANCE, Default
from bansac.engine.sampling import bansac, most_probable, napsac, p_napsac, prosac, uniform
from bansac.engine.sampling.input import SamplerInput
from bansac.maths.arrays import Floats, Ints

SamplerName = Literal["bansac", "uniform", "prosac", "napsac", "p-napsac", "baysac", "ar"]


@dataclass(frozen=True)
class Sampler:
    """A sampler, built in or the user's. The first two of its functions are compiled.

    Parameters
    ----------
    name : str
        Its name.
    draw : callable
        ``draw(rng, data, odds, ranking, progress, numbers, indices, sample)`` fills ``sample`` with distinct indices.
        ``rng`` is the state of the random generator and ``data`` is channels x N. ``odds`` are those of the network
        (inlier over outlier, float32). ``ranking`` lists the indices of the points by decreasing quality (empty without
        scores). ``progress`` is the progress of the run (``bansac.engine.state.PROGRESS``).
    learn_from_failure : callable, optional
        ``learn_from_failure(rng, numbers, indices, sample)`` is called at the end of each iteration: the sample has
        failed, because the run continues.
    start : callable, optional
        ``start(setup) -> (numbers, indices)`` allocates the memory of the sampler, in float64 and int64. ``setup`` is a
        ``bansac.engine.sampling.input.SamplerInput``.
    probabilities : callable, optional
        ``probabilities(numbers, indices)`` returns the inlier probabilities of the points for the result.
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
    draw: Callable[..., None] = field(repr=False)
    learn_from_failure: Callable[..., None] | None = field(default=None, repr=False)
    start: Callable[[SamplerInput], tuple[Floats, Ints]] | None = field(default=None, repr=False)
    probabilities: Callable[[Floats, Ints], Floats | None] | None = field(default=None, repr=False)
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
        super().__init__("napsac", napsac.draw, start=napsac.start, neighbourhood_radius=neighbourhood_radius)


SAMPLERS = {
    sampler.name: sampler
    for sampler in (
        Sampler("bansac", bansac.draw, start=bansac.start, prior=True, adaptive=True, stopping=("bansac", "sprt")),
        Sampler("uniform", uniform.draw),
        Sampler("prosac", prosac.draw, start=prosac.start, order=True, stopping=("prosac",)),
        Napsac(),
        Sampler("p-napsac", p_napsac.draw, start=p_napsac.start, order=True, stopping=("ransac", "sprt")),
        Sampler(
            "baysac",
            most_probable.draw,
            most_probable.fail_baysac,
            most_probable.start_baysac,
            most_probable.probabilities_baysac,
            prior=True,
        ),
        Sampler(
            "ar",
            most_probable.draw,
            most_probable.fail_ar,
            most_probable.start_ar,
            most_probable.probabilities_ar,
            prior=True,
        ),
    )
}
