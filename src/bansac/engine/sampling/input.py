"""What a sampler may read at the start of a run."""

from typing import Any, Protocol

from bansac.maths.arrays import Floats, Ints, Words


class SamplerInput(Protocol):
    """The attributes of the frame of a run that samplers read."""

    data: Floats  # channels x N
    sample_size: int
    rng: Words  # state of the random generator, four words
    ranking: Ints  # indices of the points by decreasing quality; empty without scores
    prior: Floats | None  # prior inlier probabilities of the points
    radius: float | None  # neighbourhood_radius of the sampler in the unit of the data
    activation: Any  # Network.activation
    weight_floor: float  # Network.weight_floor
