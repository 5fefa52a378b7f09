"""Table of the public estimators: functions, data, names and settings.

:mod:`bansac`, ``estimate_many``, ``estimate_multiple``, ``covariance``, ``bansac cache warm`` and ``bansac estimate
--model`` read this table, and find the row of a name by :func:`find_estimator`. The module imports neither NumPy nor
Numba.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from bansac.problems.problem import Problem

Kind = Literal["H", "F", "E"]
"""The models of ``--model`` that batches, image matching and benchmarks estimate."""

Columns = Mapping[str, tuple[str, ...]]

MATCHES: Columns = {"x1": ("x1", "y1"), "x2": ("x2", "y2")}
_MATCHES_3D: Columns = {"x1": ("x1", "y1", "z1"), "x2": ("x2", "y2", "z2")}
_POINTS: Columns = {"points": ("x", "y")}
_POINTS_3D: Columns = {"points": ("x", "y", "z")}
_ORIENTED: Columns = {"points": ("x", "y", "z", "nx", "ny", "nz")}
_SEGMENTS: Columns = {"segments": ("x1", "y1", "x2", "y2")}
_PROJECTIONS: Columns = {"points3D": ("X", "Y", "Z"), "points2D": ("x", "y")}


class Estimator(NamedTuple):
    """A public estimator."""

    function: str  # its name in ``bansac``
    module: str  # in ``bansac.estimate``
    problem: str | None  # ``module:name`` in ``bansac.problems``; None if the problem depends on an argument
    data: Columns  # columns of each data array, by the name of the argument
    arguments: tuple[str, ...] = ()  # further arguments: camera matrices, image sizes, depths, degree
    warm: str | None = None  # key of its data in ``bansac.cli.compile_ahead``; None if another row compiles the same
    scene: bool = False  # the problem's module has ``scene(n, rng) -> (points, model)``: exact data and their model
    letter: str = ""  # short name for ``--model``
    coefficients: tuple[str, ...] = ()  # names of the coefficients of a vector model; by default c0, c1 and so on
    equation: str = ""  # meaning of the coefficients

    @property
    def name(self) -> str:
        """The name for ``estimate_many``."""
        return self.function.removeprefix("estimate_").removeprefix("fit_")

    @property
    def model(self) -> str:
        """The name for ``--model``."""
        return self.letter or self.name.replace("_", "-")

    @property
    def cameras(self) -> tuple[str, ...]:
        """The arguments that are camera matrices."""
        return tuple(name for name in self.arguments if name in ("K", "K1", "K2"))

    def load_function(self) -> Callable[..., Any]:
        """Import the function."""
        return getattr(importlib.import_module(f"bansac.estimate.{self.module}"), self.function)  # type: ignore[no-any-return]

    def load_problem(self) -> Problem:
        """Import the problem; raise a ValueError if it depends on an argument."""
        if self.problem is None:
            raise ValueError(f"the problem of {self.function} depends on its arguments")
        return self._load(self.problem.split(":")[1])  # type: ignore[no-any-return]

    def load_scene(self) -> Callable[..., Any]:
        """Import the function ``scene`` of the problem's module."""
        return self._load("scene")  # type: ignore[no-any-return]

    def _load(self, name: str) -> Any:
        """Return what has this name in the module of the problem."""
        return getattr(importlib.import_module(f"bansac.problems.{str(self.problem).split(':')[0]}"), name)


# fmt: off
ESTIMATORS = (
    Estimator("estimate_homography", "two_views", "homography:HOMOGRAPHY", MATCHES, warm="plane of space", letter="H"),
    Estimator(
        "estimate_fundamental", "two_views", "fundamental:FUNDAMENTAL", MATCHES, ("image_size1", "image_size2"),
        warm="scene", letter="F"
    ),
    Estimator(
        "estimate_essential", "two_views", "essential:ESSENTIAL", MATCHES, ("K1", "K2"), warm="normalised scene"
    ),
    Estimator(
        "estimate_relative_pose", "two_views", "essential:ESSENTIAL", MATCHES, ("K1", "K2", "depth1", "depth2"),
        letter="E"
    ),
    Estimator(
        "estimate_absolute_pose", "absolute_pose", "absolute_pose:ABSOLUTE_POSE", _PROJECTIONS, ("K",),
        warm="projections"
    ),
    Estimator("estimate_affine", "transforms", "affine:AFFINE", MATCHES, warm="plane of space"),
    Estimator("estimate_similarity", "transforms", "similarity:SIMILARITY", MATCHES, warm="plane of space"),
    Estimator("estimate_rigid_3d", "transforms", "motion_3d:RIGID_3D", _MATCHES_3D, warm="motion of space"),
    Estimator("estimate_similarity_3d", "transforms", "motion_3d:SIMILARITY_3D", _MATCHES_3D, warm="motion of space"),
    Estimator("estimate_affine_3d", "transforms", "affine_3d:AFFINE_3D", _MATCHES_3D, warm="motion of space"),
    Estimator(
        "fit_line", "curves", "line:LINE", _POINTS, warm="line",
        coefficients=("a", "b", "c"), equation="a x + b y + c = 0"
    ),
    Estimator(
        "fit_circle", "curves", "circle:CIRCLE", _POINTS, warm="circle",
        coefficients=("x", "y", "r"), equation="centre (x, y), radius r"
    ),
    Estimator(
        "fit_ellipse", "curves", "ellipse:ELLIPSE", _POINTS, warm="ellipse",
        coefficients=("x", "y", "a", "b", "angle"),
        equation="centre (x, y), semi-axes a >= b, angle of the longer one in radians"
    ),
    Estimator(
        "fit_plane", "curves", "plane:PLANE", _POINTS_3D, warm="points of a plane",
        coefficients=("a", "b", "c", "d"), equation="a x + b y + c z + d = 0"
    ),
    Estimator(
        "fit_polynomial", "curves", None, _POINTS, ("degree",), warm="polynomial",
        equation="y = c0 + c1 x + c2 x^2 + ..."
    ),
    Estimator(
        "fit_line_3d", "curves", "line_3d:LINE_3D", _POINTS_3D, scene=True,
        coefficients=("x", "y", "z", "dx", "dy", "dz"), equation="(x, y, z) + s (dx, dy, dz)"
    ),
    Estimator(
        "fit_sphere", "curves", "sphere:SPHERE", _POINTS_3D, scene=True,
        coefficients=("x", "y", "z", "r"), equation="centre (x, y, z), radius r"
    ),
    Estimator(
        "fit_cylinder", "curves", "cylinder:CYLINDER", _ORIENTED, scene=True,
        coefficients=("x", "y", "z", "dx", "dy", "dz", "r"), equation="axis (x, y, z) + s (dx, dy, dz), radius r"
    ),
    Estimator(
        "estimate_vanishing_point", "curves", "vanishing_point:VANISHING_POINT", _SEGMENTS, scene=True,
        coefficients=("a", "b", "c"), equation="point (a / c, b / c)"
    ),
)
# fmt: on

MODELS = {row.model: row for row in ESTIMATORS}
"""The rows by their names for ``--model``."""


def find_estimator(problem: object, rows: Iterable[Estimator] = ESTIMATORS) -> Estimator:
    """Return the row of an estimator; raise a ValueError that names all if there is none.

    ``problem`` is its name, with underscores or hyphens, its short name (H, F, E), or its function.
    """
    rows = tuple(rows)
    name = problem.replace("-", "_") if isinstance(problem, str) else ""
    for row in rows:
        if name in (row.name, row.letter or row.name) if name else problem is row.load_function():
            return row
    names = ", ".join(repr(row.name) for row in rows)
    got = repr(problem) if isinstance(problem, str) else type(problem).__name__
    raise ValueError(f"problem must be one of {names}, the function of one of them, or a bansac.Problem; got {got}")
