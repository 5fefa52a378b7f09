"""A change of the data changes the result as it must, and no more: for every estimator and every sampler.

A relation moves, repeats or permutes the data, or adds outliers. The residuals of the true inliers determine the model,
so residuals in the new unit that are nearly the same mean that the model has followed the change.
"""

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from bansac.engine.sampling import SAMPLERS
from bansac.geometry import rotation_matrix
from bansac.problems.estimators import ESTIMATORS
from bansac_lab.known_scenes import known_scene

N, SHARE, SIDE = 250, 0.6, 1000.0
TABLE = {row.name: row for row in ESTIMATORS}
# Largest change of the residual of a true inlier, in thresholds. Added outliers may be inliers by chance.
TOLERANCE, TOLERANCE_OF_MORE = 0.1, 0.3
# Data of two vectors, with their dimension: the ends of a segment, or a point and its normal.
VECTORS = {"vanishing_point": 2, "cylinder": 3}


@dataclass(frozen=True)
class Case:
    """Data of an estimator: arrays of points, the true inliers, the threshold and further arguments."""

    name: str
    arrays: tuple[Any, ...]
    inliers: Any
    threshold: float
    arguments: dict[str, Any]

    def run(self, **settings):
        estimate = TABLE[self.name].load_function()
        return estimate(*self.arrays, threshold=self.threshold, **self.arguments, **settings)

    def select(self, index):
        return replace(self, arrays=tuple(x[index] for x in self.arrays))

    def map(self, *functions):
        return replace(self, arrays=tuple(f(x) for f, x in zip(functions, self.arrays, strict=True)))

    def add(self, *arrays):
        return replace(self, arrays=tuple(np.vstack(pair) for pair in zip(self.arrays, arrays, strict=True)))


@functools.cache
def make_case(name):
    """Return the scene of an estimator with noise of .1; a polynomial is scaled to the extent of the others."""
    row, scene = TABLE[name], known_scene(name, N, SHARE, 0.1, seed=2)
    size = len(row.data)
    unit = SIDE / 2 if name == "polynomial" else 1.0
    arrays, others = (unit * x for x in scene.arguments[:size]), scene.arguments[size:]
    return Case(name, (*arrays,), scene.inliers, 1.0, dict(zip(row.arguments, others, strict=False)))


# --- Relations: a case and a generator to another case, the new places of the data, and the factor of the unit ---


def permuted(case, rng):
    order = rng.permutation(N)
    return case.select(order), np.argsort(order), 1.0


def doubled(case, rng):
    return case.select(np.tile(np.arange(N), 2)), np.arange(N), 1.0


def scaled(case, rng):
    """Change the unit of the coordinates and the threshold; scene points keep theirs."""
    s = 3.7e-3
    S = np.diag([s, s, 1.0])
    cameras = {name: S @ value for name, value in case.arguments.items() if name.startswith("K")}
    functions = [(lambda x: x) if case.name == "absolute_pose" else (lambda x: s * x), lambda x: s * x]
    case = replace(case, threshold=s * case.threshold, arguments=case.arguments | cameras)
    return case.map(*functions[: len(case.arrays)]), np.arange(N), s


def shifted(case, rng):
    """Move and turn the coordinates; a camera turns about its axis, and a function y = p(x) moves only."""
    if not case.arguments.keys().isdisjoint(("K", "K1")):
        return turned(case, 0.7), np.arange(N), 1.0
    functions = []
    if case.name in VECTORS:
        (x,), size = case.arrays, VECTORS[case.name]
        R = rotation_matrix([0.3, 0.2, 0.5])[:size, :size] if size == 3 else rotation_matrix([0, 0, 0.7])[:2, :2]
        shift = rng.uniform(-1, 1, size) * 1e3
        shifts = shift, np.zeros(size) if case.name == "cylinder" else shift
        first, second = (part @ R + step for part, step in zip(np.split(x, 2, axis=1), shifts, strict=True))
        return replace(case, arrays=(np.hstack([first, second]),)), np.arange(N), 1.0
    for x in case.arrays:
        shift = rng.uniform(-1, 1, x.shape[1]) * (1e3 if case.name == "polynomial" else 1e6)
        axis = np.array([0.3, 0.2, 0.5])
        R = np.eye(2) if case.name == "polynomial" else rotation_matrix(axis if x.shape[1] == 3 else [0, 0, 0.7])
        R = R[: x.shape[1], : x.shape[1]]
        functions.append(functools.partial(lambda x, R, shift: x @ R + shift, R=R, shift=shift))
    return case.map(*functions), np.arange(N), 1.0


def turned(case, angle):
    """Turn the cameras about their axes, and move the scene of an absolute pose."""
    K = case.arguments.get("K1", case.arguments.get("K"))
    centre = K[:2, 2]
    R = rotation_matrix([0, 0, angle])[:2, :2]
    image = [lambda x: (x - centre) @ R + centre]
    move = rotation_matrix([0.3, 0.2, angle])
    return case.map(*([lambda X: X @ move + [3, -8, 20]] if case.name == "absolute_pose" else image), *image)


def reflected(case, rng):
    """Change the sign of x in all arrays, about the principal point of a camera."""
    K = case.arguments.get("K1", case.arguments.get("K"))

    def mirror(x):
        centre = K[0, 2] if K is not None and x.shape[1] == 2 else 0.0
        changed = x.copy()
        changed[:, :: VECTORS.get(case.name, x.shape[1])] = 2 * centre - x[:, :: VECTORS.get(case.name, x.shape[1])]
        return changed

    return case.map(*[mirror] * len(case.arrays)), np.arange(N), 1.0


def with_more(case, rng):
    """Add unrelated data in the range of the others."""
    more = [rng.uniform(x.min(axis=0), x.max(axis=0), (N // 4, x.shape[1])) for x in case.arrays]
    return case.add(*more), np.arange(N), 1.0


def with_far(case, rng, distance=20.0, count=10):
    """Add ten outliers some 20 times the extent of the data away from them."""
    far = [
        rng.choice([-1.0, 1.0], (count, x.shape[1])) * rng.uniform(0.75, 1.25, (count, 1)) * distance * np.ptp(x)
        for x in case.arrays
    ]
    return case.add(*far), np.arange(N), 1.0


def with_very_far(case, rng):
    """Add one outlier for each of several distances that no image has."""
    for distance in (130.0, 1e4, 1e6):
        case, places, unit = with_far(case, rng, distance, 1)
    return case, places, unit


RELATIONS = (permuted, doubled, scaled, shifted, reflected, with_more, with_far, with_very_far)
relations = pytest.mark.parametrize("relation", RELATIONS, ids=lambda relation: relation.__name__)


def check(case, relation, **settings):
    changed, places, unit = relation(case, np.random.default_rng(7))
    scores = {"scores": np.random.default_rng(1).uniform(size=len(changed.arrays[0]))} if "scores" in settings else {}
    before, after = case.run(**settings), changed.run(**settings | scores)
    true = case.inliers
    assert before.success
    assert after.success
    assert before.configuration == after.configuration
    for mask in (before.inliers, after.inliers[places]):
        assert mask[true].mean() >= 0.98
        assert mask[~true].mean() <= 0.15
    difference = np.abs(after.residuals[places] / unit - before.residuals)[true]
    tolerance = TOLERANCE_OF_MORE if len(after.inliers) > len(true) else TOLERANCE
    assert difference.max() < tolerance * case.threshold


@relations
@pytest.mark.parametrize("name", TABLE)
def test_the_model_follows_the_data(name, relation):
    check(make_case(name), relation)


@relations
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("name", ["homography", "fundamental"])
def test_the_model_follows_the_data_with_every_sampler(name, sampler, relation):
    scores = {"scores": np.random.default_rng(1).uniform(size=N)} if SAMPLERS[sampler].order else {}
    check(make_case(name), relation, sampler=sampler, **scores)


@pytest.mark.parametrize("name", [row.name for row in ESTIMATORS if "x2" in row.data])
def test_exchanged_images_have_the_inverse_model(name):
    case = make_case(name)
    swapped = replace(case, arrays=case.arrays[::-1])
    before, after = case.run(), swapped.run()
    true = case.inliers
    assert after.success
    assert after.configuration == before.configuration
    assert after.inliers[true].mean() >= 0.98
    if name in ("fundamental", "essential"):
        first, second = (np.array(m) / np.linalg.norm(m) for m in (before.model, after.model.T))
        assert min(np.abs(first - second).max(), np.abs(first + second).max()) < 1e-3
    elif name == "relative_pose":
        np.testing.assert_allclose(after.model.R, before.model.R.T, atol=1e-3)
        np.testing.assert_allclose(after.model.t, -before.model.R.T @ before.model.t, atol=1e-2)
    else:
        x1 = case.arrays[0][true]
        back = mapped(after.model, mapped(before.model, x1))
        assert np.abs(back - x1).max() < TOLERANCE_OF_MORE * case.threshold


def mapped(model, x):
    """Map points by a homography, or by a square or wide affine matrix."""
    y = np.column_stack([x, np.ones(len(x))]) @ np.asarray(model).T
    d = x.shape[1]
    return y[:, :d] / y[:, d:] if y.shape[1] > d else y


@pytest.mark.parametrize("settings", [{"weighting": "density"}, {"preset": "accurate"}], ids=str)
@pytest.mark.parametrize("name", ["homography", "fundamental", "line", "circle", "polynomial"])
def test_very_far_data_have_no_effect_on_weights_and_presets(name, settings):
    check(make_case(name), with_very_far, **settings)
