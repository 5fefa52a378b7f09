"""``Traits``: what the data of a problem are, and what leaves its model undetermined.

Evidence, estimates and plots read these declarations. They do not guess from shapes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from bansac.maths.arrays import Bools, Floats
from bansac.maths.validate import as_integer, check_name

UNITS = ("data", "pixels", "normalised")


class Limit(NamedTuple):
    """A simpler model, which a model approaches: a line that of a large circle.

    ``distances(data, members)`` fits it to the members and returns the distances of all data. It has ``fewer``
    parameters less, and all of the model's ``sides`` are near it: the two sides of a thin ellipse.
    """

    name: str
    distances: Callable[[Floats, Bools], Floats]
    fewer: int = 1
    sides: int = 1


@dataclass(frozen=True)
class Traits:
    """Declarations of a :class:`bansac.Problem` about its data and models.

    Parameters
    ----------
    points : tuple of tuple of int
        Channels that are the coordinates of one point, in the unit of the threshold: ``((0, 1), (2, 3))`` for a match
        of two image points. Matches that share a point count once in the significance test, or in a second test all
        outliers count. The tests exchange the points of matches to measure the support under chance. By default no
        channels belong together. Channels of a match in no point, such as a weight, stay with the second one.
    directions : tuple of tuple of int
        Channels that are a vector at a single point, such as a normal. Under chance its direction is random.
    codimension : int
        Number of components of the error vector whose length is the residual: 1 for the distance from a line or a
        curve, 2 for the distance between two points of the plane.
    unit : {"data", "pixels", "normalised"}
        Unit of residuals and threshold: the unit of the data, pixels, or pixels divided by the focal length.
    flat : {"", "line", "plane"}
        Points on this structure do not determine the model: on a line a plane, on a plane an affine map of space. It
        is for points of space.
    limit : Limit, optional
        The simpler model that explains data as well if they do not determine the model, as a line an arc of few points.
    twins : callable, optional
        ``twins(data, model) -> models``: models near those that explain the data of the inliers as well, such as a pose
        with its planar target mirrored. Each is refined, and the better one wins.
    stricter : callable, optional
        ``stricter(data, model, threshold) -> (problem, model)``: a model near that of the significance test with fewer
        parameters, and its problem. It is tested if the test of the model fails.
    """

    points: tuple[tuple[int, ...], ...] = ()
    directions: tuple[tuple[int, ...], ...] = ()
    codimension: int = 1
    unit: Literal["data", "pixels", "normalised"] = "data"
    flat: Literal["", "line", "plane"] = ""
    limit: Limit | None = None
    twins: Callable[[Floats, Floats], list[Floats]] | None = None
    stricter: Callable[[Floats, Floats, float], tuple[Any, Floats]] | None = None

    @property
    def are_matches(self) -> bool:
        """Whether each datum is a match of two points, with or without further channels."""
        return len(self.points) > 1

    @property
    def of_images(self) -> bool:
        """Whether each datum is a match of two image points, with or without further channels."""
        if len(self.points) < 2 or len(self.points[0]) != len(self.points[-1]):
            return False
        return self.points[0][:2] == (0, 1) and self.points[-1][:2] == (2, 3)

    def check(self, channels: int) -> None:
        """Raise a ValueError that names the first wrong trait of data with this number of channels."""
        as_integer("codimension", self.codimension, 1)
        check_name("unit", self.unit, UNITS)
        check_name("flat", self.flat, ("", "line", "plane"))
        of_points, of_directions = _listed("points", self.points), _listed("directions", self.directions)
        listed = of_points + of_directions
        is_complete = self.are_matches or set(listed) == set(range(channels))
        if listed and not (is_complete and sorted(set(listed)) == sorted(listed) and max(listed) < channels):
            name, value = ("directions", self.directions) if self.directions else ("points", self.points)
            raise ValueError(f"{name} must be tuples that list each of the {channels} channels once, got {value!r}")


def _listed(name: str, value: Any) -> list[int]:
    """Return the channels of tuples of channels."""
    if not isinstance(value, tuple) or not all(isinstance(part, tuple) for part in value):
        raise ValueError(f"{name} must be tuples that list channels, got {value!r}")
    return [channel for part in value for channel in part]
