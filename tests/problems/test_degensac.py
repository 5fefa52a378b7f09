"""DEGENSAC: degenerate samples are found, and their F is repaired."""

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import config, float64

from bansac.compiled.jit import compile_kernel, kernel
from bansac.maths.rng import next_uint64, seed_rng
from bansac.problems import degensac
from bansac.problems.contract import CONTRACT, repair_scratch
from bansac.problems.fundamental import FUNDAMENTAL
from tests.planar_scenes import ANYWHERE, OUTLIER, PIXEL, PLANE, Scene, dominant_plane
from tests.reference import degensac as reference
from tests.reference.epipolar import cross_matrix, distance_up_to_scale, sampson

NOT_DEGENERATE, REPAIRED, DEGENERATE = range(3)

INTERPRETED = bool(config.DISABLE_JIT)
few_if_interpreted = settings(max_examples=10 if INTERPRETED else 20)


@functools.cache
def compiled(name):
    """Return a function of the contract; the collection of the tests compiles nothing."""
    function = getattr(degensac, name)
    return function if INTERPRETED else compile_kernel(function, CONTRACT[name].signature(float64))


solve = kernel(FUNDAMENTAL.solve)
seeds = st.integers(0, 2**32)


def degenerate_model(rng, scene, sample):
    """Return an F = [e]x H, with H that of the plane, that agrees with every match of the sample."""
    x1, x2 = reference.homogeneous(scene.data[:, sample[scene.kinds[sample] != PLANE]])
    lines = np.cross(x2.T, (scene.H @ x1).T)
    # e is on the lines of the matches off the plane, of which there are up to two; else it is free.
    free = np.linalg.svd(np.vstack([lines, np.zeros((3, 3))]))[2][len(lines) :]
    F = cross_matrix(rng.normal(size=len(free)) @ free) @ scene.H
    return F / np.linalg.norm(F)


def run(data, sample, F, threshold, rng=None):
    """Return the code and F after the call; F of another storage, so that the argument stays."""
    model = np.array(F, dtype=np.float64).ravel()
    work = np.full(repair_scratch(data.shape[1]) + 1, np.nan)
    work[-1] = 7.0
    state = seed_rng(0) if rng is None else rng
    data, sample = np.ascontiguousarray(data), np.array(sample, np.int64)
    code = NOT_DEGENERATE
    if compiled("is_degenerate")(data, sample, model, threshold**2, work[:-1]):
        assert np.array_equal(model, np.ravel(F))
        repaired = compiled("repair_degenerate")(data, sample, model, threshold**2, state, work[:-1])
        code = REPAIRED if repaired else DEGENERATE
    assert work[-1] == 7.0
    return code, model.reshape(3, 3)


@few_if_interpreted
@given(seeds)
def test_the_distance_to_a_plane_agrees_with_its_definition(seed):
    rng = np.random.default_rng(seed)
    data, H = rng.uniform(-1, 1, (4, 40)), rng.normal(size=(3, 3)) + 2 * np.eye(3)
    weights = np.full(40, 7.0)
    expected = reference.on_plane(H, data, 0.2)
    assert degensac.mark_plane(data, H.ravel(), 0.2, weights) == expected.sum()
    assert weights.tolist() == expected.astype(float).tolist()


@few_if_interpreted
@given(seeds)
def test_the_distance_to_a_plane_is_the_distance_to_the_nearest_match_that_agrees(seed):
    rng = np.random.default_rng(seed)
    scene = Scene(rng, [PLANE])
    moved = scene.data + 1e-5 * rng.normal(size=(4, 1))
    x, y, u, v = scene.data[:, 0]
    p = np.array([x, y, 1])
    w = scene.H[2] @ p
    # The part of the motion at right angles to the surface of all matches that agree with H.
    tangent = (scene.H[:2, :2] - np.outer([u, v], scene.H[2, :2])) / w
    normals = np.linalg.qr(np.hstack([-tangent, np.eye(2)]).T)[0]
    expected = np.linalg.norm(normals.T @ (moved - scene.data)[:, 0])
    for factor in (0.99, 1.01):
        weights = np.empty(1)
        found = degensac.mark_plane(moved, scene.H.ravel(), (factor * expected) ** 2, weights)
        assert found == (factor > 1)


@pytest.mark.parametrize("coplanar", [5, 6, 7])
def test_exact_degenerate_samples_are_found_in_any_order(coplanar):
    rng = np.random.default_rng(coplanar)
    kinds = [PLANE] * coplanar + [OUTLIER] * (7 - coplanar)
    for order in itertools.combinations(range(7), coplanar):
        scene = Scene(rng, kinds)
        sample = np.empty(7, np.int64)
        sample[list(order)] = rng.permutation(coplanar)
        sample[[i for i in range(7) if i not in order]] = np.arange(coplanar, 7)
        F = degenerate_model(rng, scene, sample)
        assert sampson(scene.data, F).max() < 1e-16
        code, found = run(scene.data, sample, F, 1e-7)
        assert code != NOT_DEGENERATE
        assert (found == F).all() or code == REPAIRED


@pytest.mark.parametrize("coplanar", [0, 4])
def test_exact_samples_with_at_most_four_coplanar_matches_are_not_degenerate(coplanar):
    rng = np.random.default_rng(coplanar)
    for _ in range(20 if INTERPRETED else 200):
        scene = Scene(rng, rng.permutation([PLANE] * coplanar + [ANYWHERE] * (7 - coplanar)))
        state = seed_rng(3)
        code, found = run(scene.data, np.arange(7), scene.F, 1e-7, state)
        assert code == NOT_DEGENERATE
        assert (found == scene.F).all()
        assert (state == seed_rng(3)).all()


@few_if_interpreted
@given(seeds)
def test_detection_agrees_with_its_definition(seed):
    rng = np.random.default_rng(seed)
    threshold = 0.5 * PIXEL
    scene = Scene(rng, rng.permutation([PLANE] * 30 + [ANYWHERE] * 10 + [OUTLIER] * 10), 0.3 * PIXEL)
    models = np.empty((3, 9))
    sample = np.append(scene.pick(rng, PLANE, 5), rng.choice(np.flatnonzero(scene.kinds != PLANE), 2, replace=False))
    rng.shuffle(sample)
    for F in models[: solve(scene.data, sample, models, np.empty(FUNDAMENTAL.scratch_size))].reshape(-1, 3, 3):
        found = reference.planes(scene.data, sample, F, degensac._PLANE_FACTOR * threshold**2)
        assert (run(scene.data, sample, F, threshold)[0] != NOT_DEGENERATE) == (len(found) > 0)


@pytest.mark.parametrize(("on_plane", "inliers"), [(0.7, 0.7), (0.8, 0.5), (0.9, 0.9), (0.9, 0.7)])
def test_the_epipole_is_found_in_spite_of_a_dominant_plane(on_plane, inliers):
    rng = np.random.default_rng(1)
    threshold = 0.2 * PIXEL
    for seed in range(2 if INTERPRETED else 20):
        scene = dominant_plane(rng, 400, on_plane, inliers)
        sample = rng.permutation(np.append(scene.pick(rng, PLANE, 6), scene.pick(rng, OUTLIER, 1)))
        F = degenerate_model(rng, scene, sample)
        code, found = run(scene.data, sample, F, threshold, seed_rng(seed))
        assert code == REPAIRED
        assert scene.epipole_error(found) < 1 < scene.epipole_error(F)
        support, before = ((sampson(scene.data, model) < threshold**2).sum() for model in (found, F))
        assert support > before
        assert np.linalg.norm(found) == pytest.approx(1)
        assert np.linalg.svd(found)[1][2] < 1e-9


def test_the_sign_and_scale_of_the_model_do_not_matter():
    rng = np.random.default_rng(4)
    scene = dominant_plane(rng, 100, 0.8, 0.8)
    sample = scene.pick(rng, PLANE, 7)
    F = degenerate_model(rng, scene, sample)
    answers = [run(scene.data, sample, factor * F, 0.5 * PIXEL) for factor in (1, -1, 1000, -1e-3)]
    assert {code for code, _ in answers} == {REPAIRED}
    for _, found in answers:
        assert distance_up_to_scale(found, answers[0][1]) < 1e-9


def test_an_epipole_at_infinity():
    rng = np.random.default_rng(5)
    kinds = [PLANE] * 70 + [ANYWHERE] * 30
    scene = Scene(rng, kinds, R=np.eye(3), t=np.array([1.0, 0, 0]))
    sample = scene.pick(rng, PLANE, 7)
    F = cross_matrix([0, 1.0, 0]) @ scene.H  # a wrong epipole, at infinity too
    code, found = run(scene.data, sample, F, 0.5 * PIXEL)
    assert code == REPAIRED
    assert distance_up_to_scale(found, scene.F) < 1e-6


@pytest.mark.parametrize(("off_plane", "different"), [(0, 0), (1, 1), (10, 1), (2, 2)])
def test_a_model_is_repaired_by_two_different_matches_off_the_plane(off_plane, different):
    rng = np.random.default_rng(6)
    scene = Scene(rng, [PLANE] * 50 + [ANYWHERE] * off_plane)
    if different == 1:
        scene.data[:, 50:] = scene.data[:, 50:51]
    sample = scene.pick(rng, PLANE, 7)
    F = degenerate_model(rng, scene, sample)
    code, found = run(scene.data, sample, F, 0.1 * PIXEL)
    assert code == (REPAIRED if different == 2 else DEGENERATE)
    assert distance_up_to_scale(found, scene.F) < 1e-6 if code == REPAIRED else (found == F).all()


def test_seven_matches_are_never_repaired():
    rng = np.random.default_rng(7)
    for coplanar in (5, 6, 7):
        scene = Scene(rng, [PLANE] * coplanar + [OUTLIER] * (7 - coplanar))
        F = degenerate_model(rng, scene, np.arange(7))
        code, found = run(scene.data, np.arange(7), F, 0.1 * PIXEL)
        assert code == DEGENERATE
        assert (found == F).all()


def test_the_number_of_pairs_is_bounded():
    rng = np.random.default_rng(8)
    scene = Scene(rng, [PLANE] * 20 + [OUTLIER] * 300)
    sample = scene.pick(rng, PLANE, 7)
    state, last = seed_rng(1), seed_rng(1)
    run(scene.data, sample, degenerate_model(rng, scene, sample), 0.01 * PIXEL, state)
    draws = 0
    while (state != last).any():
        next_uint64(last)
        draws += 1
        assert draws <= 2 * degensac._MAX_PAIRS
    assert draws > degensac._MAX_PAIRS


@pytest.mark.parametrize("F", [np.full((3, 3), np.nan), np.zeros((3, 3)), np.full((3, 3), np.inf), np.ones((3, 3))])
def test_a_model_without_an_epipole_is_left_alone(F):
    scene = Scene(np.random.default_rng(9), [PLANE] * 20)
    code, found = run(scene.data, np.arange(7), F, 0.5 * PIXEL)
    assert code == NOT_DEGENERATE
    assert np.array_equal(found, F, equal_nan=True)


@pytest.mark.parametrize("points", ["one", "line", "nan"])
def test_samples_without_a_homography_are_not_degenerate(points):
    rng = np.random.default_rng(10)
    scene = Scene(rng, [PLANE] * 30)
    if points == "one":
        scene.data[:, :7] = scene.data[:, :1]
    elif points == "line":
        scene.data[:, :7] = scene.data[:, :1] + np.outer(scene.data[:, 1] - scene.data[:, 0], np.arange(7))
    else:
        scene.data[:, :7] = np.nan
    F = cross_matrix(rng.normal(size=3)) @ scene.H
    code, found = run(scene.data, np.arange(7), F, 0.5 * PIXEL)
    assert code == NOT_DEGENERATE
    assert (found == F).all()
