"""How plausible the focal lengths of a fundamental matrix are, beside the slow twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.compiled.jit import kernel
from bansac.estimate.two_views import _focal_plausibility
from bansac.geometry import essential_from_pose
from bansac.geometry.focal_lengths import focal_plausibility
from tests.geometry.test_two_views import MEETING_AXES, fundamental, general_cameras
from tests.reference import focal_lengths as reference

SIZE = (901, 1201)
DIAGONAL = np.hypot(*SIZE)
CENTER = (600.0, 450.0)

evaluate = kernel(focal_plausibility)


def plausibility(F, size1, size2, transform=(1.0, 0.0, 0.0, 0.0, 0.0)):
    """Return the plausibility of F (in the frame of ``transform``) as a run has it."""
    found = _focal_plausibility(size1, size2, np.zeros((4, 1)))
    assert found is not None
    assert found.function is focal_plausibility
    return evaluate(F.flatten(), np.array(transform), found.parameters)


@given(st.integers(0, 2**32 - 1))
def test_it_is_that_of_the_slow_twin_in_any_frame(seed):
    rng = np.random.default_rng(seed)
    F = fundamental(*general_cameras(seed))
    F *= 1.0 + 1e-3 * rng.normal(size=(3, 3))
    U, s, Vt = np.linalg.svd(F)
    F = U[:, :2] * s[:2] @ Vt[:2]
    sizes = rng.integers(300, 1500, (2, 2))
    scale, x1, y1, x2, y2 = transform = (rng.uniform(0.001, 0.01), *rng.uniform(300, 700, 4))
    to_pixels1, to_pixels2 = (
        np.array([[1 / scale, 0, x], [0, 1 / scale, y], [0, 0, 1]]) for x, y in ((x1, y1), (x2, y2))
    )
    found = plausibility(to_pixels2.T @ F @ to_pixels1, *sizes.tolist(), transform)
    assert found == pytest.approx(reference.plausibility(F, *sizes.tolist()), rel=1e-6)


@pytest.mark.parametrize(("R", "t"), MEETING_AXES)
def test_axes_that_meet_say_nothing(R, t):
    F = fundamental(700.0, 900.0, (320, 240), (320, 240), R, t)
    assert plausibility(F, (481, 641), (481, 641)) == 1


def test_of_no_two_cameras_it_is_the_least():
    # With F[2, 2] of the other sign the square of the first focal length changes its sign, principal points at 0.
    f1, f2, _, _, R, t = general_cameras(0)
    F = fundamental(f1, f2, (0, 0), (0, 0), R, t)
    F[2, 2] *= -1e3  # far from axes that meet
    assert plausibility(F, (1, 1), (1, 1)) == pytest.approx(0.8)


def test_usual_focal_lengths_are_plausible_and_others_are_not():
    R, t = general_cameras(3)[4:]
    focals = DIAGONAL * np.array([0.85, 1.2, 2.0, 5.0, 20.0])
    factors = [plausibility(fundamental(f, f, CENTER, CENTER, R, t), SIZE, SIZE) for f in focals]
    assert factors[0] == pytest.approx(1, abs=1e-3)
    assert factors == sorted(factors, reverse=True)
    assert factors[-1] == pytest.approx(0.8, abs=0.01)


def test_an_undetermined_focal_length_is_not_held_against_a_model():
    assert plausibility(np.full((3, 3), np.nan), SIZE, SIZE) == 1
    F = np.array(essential_from_pose(np.eye(3), [0.0, 1.0, 0.0]))  # principal points off the centres: they are no match
    assert plausibility(F, SIZE, SIZE) == 1
