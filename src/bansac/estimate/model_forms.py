"""The form in which callers get and give a model, beside the flat array of the engine.

A homography is a matrix for both, but the engine has a quaternion for a rotation and a conic for an ellipse.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bansac.estimate.result import AbsolutePose, RelativePose
from bansac.geometry import essential_from_pose
from bansac.maths.arrays import Floats
from bansac.maths.quaternion import matrix_of, model_of
from bansac.maths.validate import as_numbers
from bansac.problems.ellipse import centre_and_axes, conic_of
from bansac.problems.problem import Problem


class ModelForm(NamedTuple):
    """The type of a public model, its shape if it is an array, and the conversions.

    ``to_public`` converts a flat model of the problem to ``Result.model``. ``from_public`` converts the argument
    ``initial_model`` to a flat model, and checks it.
    """

    kind: type[Any]
    shape: tuple[int, ...]
    to_public: Callable[[Floats], Any]
    from_public: Callable[[Any], Floats]


def form_of(problem: Problem, estimator: str = "") -> ModelForm:
    """Return the form of the models of an estimator, by its name in ``ESTIMATORS``; without a name, the problem's."""
    shape = problem.model_shape
    return _FORMS.get(estimator) or ModelForm(
        np.ndarray, shape, lambda model: model.reshape(shape), lambda value: check_model(value, shape).ravel()
    )


def as_pose(model: Floats) -> AbsolutePose:
    """Return the pose of a quaternion and a translation."""
    matrix = matrix_of(model)
    return AbsolutePose(matrix[:, :3].copy(), matrix[:, 3].copy())


_MOTION = ModelForm(np.ndarray, (3, 4), matrix_of, lambda value: model_of(check_model(value, (3, 4))))
_FORMS = {
    "ellipse": ModelForm(np.ndarray, (5,), centre_and_axes, lambda value: conic_of(check_model(value, (5,)))),
    "rigid_3d": _MOTION,
    "similarity_3d": _MOTION,
    "absolute_pose": ModelForm(AbsolutePose, (), as_pose, lambda value: model_of(np.column_stack(as_motion(value)))),
}
"""Forms that are not the problem's own, by the name of the estimator."""

RELATIVE_POSE = ModelForm(
    RelativePose, (), lambda model: model.reshape(3, 3), lambda value: essential_from_pose(*as_motion(value)).ravel()
)
"""The form of a relative pose; an essential matrix has none without its matches."""


def as_motion(value: ArrayLike) -> tuple[Floats, Floats]:
    """Return R and t of a pose or a pair (R, t)."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ValueError(f"initial_model must be a pose or a pair (R, t), got {type(value).__name__}")
    return check_model(value[0], (3, 3), "R of "), check_model(value[1], (3,), "t of ")


def check_model(value: ArrayLike, shape: tuple[int, ...], part: str = "") -> Floats:
    """Return an array of finite numbers of this shape."""
    return as_numbers(part + "initial_model", value, shape)
