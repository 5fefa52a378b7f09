"""OpenCV's functions: shapes, types and failures beside OpenCV's own, and errors on scenes with a known truth."""

import functools
import importlib
import inspect
import sys

import cv2 as theirs
import numpy as np
import pytest

import bansac.compat.cv2 as ours
from bansac import estimate_absolute_pose, estimate_homography
from bansac.compat import DoubtWarning, calibrated, return_values, strict
from bansac.geometry import apply_transform, rotation_matrix
from bansac.synthetic import epipolar_matches, homography_matches
from bansac_lab.metrics import pose_error

PLANE = homography_matches(300, inlier_ratio=0.5, noise=0.5, seed=3)
SCENE = epipolar_matches(300, inlier_ratio=0.5, noise=0.5, seed=3)
RNG = np.random.default_rng(0)
X1 = RNG.uniform(0, 500, (100, 2))
X2 = X1 @ np.array([[1.1, -0.2], [0.2, 1.1]]).T + [5, 9]
SAME, LINE = np.ones((20, 2)), np.column_stack([np.arange(20.0), np.arange(20.0)])
FLAGS = [name for name in vars(ours) if name.isupper() and not name.startswith("_")]
# A camera with 30 inliers of 50 3D points, and its pose.
K = np.array([[800.0, 0, 320], [0, 800, 240], [0, 0, 1]])
RVEC, TVEC = np.array([0.1, 0.2, 0.3]), np.array([0.1, 0.2, 6.0])
VIEW = np.random.default_rng(7)
OBJECT = VIEW.uniform(-1, 1, (50, 3))
IMAGE = apply_transform(K, OBJECT @ rotation_matrix(RVEC).T + TVEC) + VIEW.normal(0, 0.3, (50, 2))
IMAGE[30:] = VIEW.uniform(0, 480, (20, 2))
STRANGERS = VIEW.uniform(-1, 1, (40, 3)), VIEW.uniform(0, 480, (40, 2))
METHODS = [8, 16, 32, 33, 34, 35, 36, 37, 38]


def shapes(answer):
    """Return types and shapes of what a function returns, its numbers left out."""
    if isinstance(answer, tuple):
        return [shapes(part) for part in answer]
    return (answer.dtype, answer.shape) if isinstance(answer, np.ndarray) else type(answer)


def as_homogeneous(x):
    """Return homogeneous points of different scales."""
    return np.column_stack([x, np.ones(len(x))]) * np.linspace(0.5, 2.0, len(x))[:, None]


def transfer(H, truth, x):
    """Return the root mean square of the difference between two homographies on points."""
    return float(np.sqrt(np.mean((apply_transform(H, x) - apply_transform(truth, x)) ** 2)))


VIEWS, CAMERA = (SCENE.x1, SCENE.x2), SCENE.K1
PNP, CLUSTER = (OBJECT, IMAGE, K), (np.ones((20, 3)), SAME, K)


def guess():
    """Return the pose as arrays to be overwritten."""
    return RVEC[:, None].copy(), TVEC[:, None].copy()


# Calls that OpenCV answers without an error.
CALLS = {
    "H": lambda cv: cv.findHomography(PLANE.x1, PLANE.x2, cv.RANSAC, 3.0),
    "H, all": lambda cv: cv.findHomography(X1, X2),
    "H, four": lambda cv: cv.findHomography(X1[:4], X2[:4], cv.RANSAC),
    "H, all equal": lambda cv: cv.findHomography(SAME, SAME, cv.RANSAC),
    "H, line": lambda cv: cv.findHomography(LINE, LINE, cv.RANSAC),
    "H, all equal, all": lambda cv: cv.findHomography(SAME, SAME, 0),
    "H, homogeneous columns": lambda cv: cv.findHomography(as_homogeneous(X1)[:, None], as_homogeneous(X2)[:, None], 0),
    "F": lambda cv: cv.findFundamentalMat(*VIEWS),
    "F, threshold 0": lambda cv: cv.findFundamentalMat(*VIEWS, cv.FM_RANSAC, 0),
    "F, homogeneous": lambda cv: cv.findFundamentalMat(as_homogeneous(SCENE.x1), as_homogeneous(SCENE.x2)),
    "F, eight points": lambda cv: cv.findFundamentalMat(*VIEWS, cv.FM_8POINT),
    "F, six": lambda cv: cv.findFundamentalMat(SCENE.x1[:6], SCENE.x2[:6], cv.FM_RANSAC, 1.0, 0.99),
    "F, all equal": lambda cv: cv.findFundamentalMat(SAME, SAME, cv.FM_RANSAC, 1.0, 0.99),
    "F, line": lambda cv: cv.findFundamentalMat(LINE, LINE, cv.USAC_DEFAULT, 1.0, 0.99),
    "E": lambda cv: cv.findEssentialMat(*VIEWS, CAMERA),
    "E, focal": lambda cv: cv.findEssentialMat(*VIEWS, 500.0, (320.0, 240.0), cv.RANSAC, 0.99, 1.0),
    "E, two cameras": lambda cv: cv.findEssentialMat(*VIEWS, CAMERA, np.zeros(5), CAMERA, None, cv.RANSAC, 0.99, 1.0),
    "E, names": lambda cv: cv.findEssentialMat(
        *VIEWS, cameraMatrix1=CAMERA, distCoeffs1=None, cameraMatrix2=CAMERA, distCoeffs2=None
    ),
    "E, four": lambda cv: cv.findEssentialMat(SCENE.x1[:4], SCENE.x2[:4], CAMERA),
    "pose": lambda cv: cv.recoverPose(SCENE.E, *VIEWS, CAMERA),
    "pose, focal": lambda cv: cv.recoverPose(SCENE.E, *VIEWS, focal=500.0, pp=(320.0, 240.0)),
    "pose, two cameras": lambda cv: cv.recoverPose(*VIEWS, CAMERA, None, CAMERA, None),
    "PnP": lambda cv: cv.solvePnPRansac(*PNP, None),
    "PnP, positions": lambda cv: cv.solvePnPRansac(
        *PNP, None, None, None, False, 100, 8.0, 0.99, None, cv.SOLVEPNP_EPNP
    ),
    "PnP, names": lambda cv: cv.solvePnPRansac(
        *PNP, np.zeros((5, 1)), iterationsCount=500, reprojectionError=2.0, confidence=0.999, flags=2
    ),
    "PnP, single precision": lambda cv: cv.solvePnPRansac(
        OBJECT[:, None].astype(np.float32), IMAGE[:, None].astype(np.float32), K.astype(np.float32), np.zeros(0)
    ),
    "PnP, four": lambda cv: cv.solvePnPRansac(OBJECT[:4], IMAGE[:4], K, None),
    "PnP, noise": lambda cv: cv.solvePnPRansac(*STRANGERS, K, None, reprojectionError=0.5),
    "PnP, all equal": lambda cv: cv.solvePnPRansac(*CLUSTER, None),
    "PnP, all equal, USAC": lambda cv: cv.solvePnPRansac(*CLUSTER, None, flags=cv.USAC_MAGSAC),
    "PnP, USAC": lambda cv: cv.solvePnPRansac(*PNP, None, flags=cv.USAC_DEFAULT),
    "PnP, guess": lambda cv: cv.solvePnPRansac(*PNP, None, *guess(), True),
    "PnP, guess, all equal": lambda cv: cv.solvePnPRansac(*CLUSTER, None, *guess(), useExtrinsicGuess=True),
    "PnP, no guess": lambda cv: cv.solvePnPRansac(*PNP, None, None, None, True),
    "affine": lambda cv: cv.estimateAffine2D(X1, X2),
    "affine, two": lambda cv: cv.estimateAffine2D(X1[:2], X2[:2]),
    "affine, three": lambda cv: cv.estimateAffine2D(X1[:3], X2[:3]),
    "affine, line": lambda cv: cv.estimateAffine2D(LINE, LINE),
    "similarity": lambda cv: cv.estimateAffinePartial2D(X1, X2),
    "similarity, two": lambda cv: cv.estimateAffinePartial2D(X1[:2], X2[:2]),
    "similarity, all equal": lambda cv: cv.estimateAffinePartial2D(SAME, SAME),
}


def columns(x):
    """Return points as OpenCV's trackers and detectors do: (N, 1, 2), single precision."""
    return x.astype(np.float32).reshape(-1, 1, x.shape[1])


P1, P2 = columns(PLANE.x1), columns(PLANE.x2)
Q1, Q2 = columns(SCENE.x1), columns(SCENE.x2)

# Calls as in the samples and tutorials of OpenCV.
CALLS |= {
    "matched features": lambda cv: cv.findHomography(P1, P2, cv.RANSAC, 5.0),
    "MAGSAC": lambda cv: cv.findHomography(P1, P2, cv.USAC_MAGSAC, 3.0, maxIters=2000, confidence=0.999),
    "whole pixels": lambda cv: cv.findFundamentalMat(np.int32(SCENE.x1), np.int32(SCENE.x2), cv.FM_LMEDS),
    "F, MAGSAC": lambda cv: cv.findFundamentalMat(Q1[:, 0], Q2[:, 0], cv.USAC_MAGSAC, 1.0, 0.999, 2000),
    "odometry": lambda cv: cv.findEssentialMat(
        Q2, Q1, focal=800.0, pp=(320.0, 240.0), method=cv.RANSAC, prob=0.999, threshold=1.0
    ),
    "pose with a mask": lambda cv: cv.recoverPose(SCENE.E, Q1, Q2, CAMERA, mask=np.ones((300, 1), np.uint8)),
    "affine by name": lambda cv: cv.estimateAffine2D(
        columns(X1), columns(X2), method=cv.RANSAC, ransacReprojThreshold=3, maxIters=2000, confidence=0.99
    ),
}


@pytest.mark.filterwarnings("ignore::bansac.compat.DoubtWarning")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_types_and_shapes_are_those_of_opencv(call):
    assert shapes(call(ours)) == shapes(call(theirs))


@pytest.mark.parametrize("name", FLAGS)
def test_the_constants_have_the_values_of_opencv(name):
    assert getattr(ours, name) == getattr(theirs, name)


@pytest.mark.parametrize(
    "call",
    [
        lambda cv: cv.findHomography(X1[:3], X2[:3], 8),
        lambda cv: cv.findHomography(X1[:, :1], X2[:, :1], 8),
        lambda cv: cv.estimateAffine2D(X1[:1], X2[:1]),
        lambda cv: cv.estimateAffine2D(X1, X2, method=0),
        lambda cv: cv.estimateAffine2D(X1, X2, refineIters=np.zeros(3)),
        lambda cv: cv.findEssentialMat(X1, X2, np.eye(3), np.zeros(3), np.eye(3), np.zeros(3)),
        lambda cv: cv.findEssentialMat(as_homogeneous(X1), as_homogeneous(X2), np.eye(3)),
        lambda cv: cv.estimateAffine2D(as_homogeneous(X1), as_homogeneous(X2)),
        lambda cv: cv.findHomography(X1.T, X2.T, 8),
        lambda cv: cv.findEssentialMat(X1, X2, K, prob=1.0),
        lambda cv: cv.solvePnPRansac(OBJECT[:3], IMAGE[:3], K, None),
        lambda cv: cv.solvePnPRansac(OBJECT, IMAGE[:40], K, None),
        lambda cv: cv.solvePnPRansac(OBJECT[:, :2], IMAGE, K, None),
        lambda cv: cv.solvePnPRansac(OBJECT, OBJECT, K, None),
        lambda cv: cv.solvePnPRansac(OBJECT.T, IMAGE.T, K, None),
        lambda cv: cv.solvePnPRansac(OBJECT, IMAGE, np.eye(3, 4), None),
        lambda cv: cv.solvePnPRansac(OBJECT, IMAGE, K, np.zeros(3)),
        lambda cv: cv.solvePnPRansac(OBJECT, IMAGE, K, None, flags=9),
        lambda cv: cv.solvePnPRansac(OBJECT, IMAGE, K, None, confidence=1.0),
    ],
)
def test_bad_arguments_are_errors_of_opencv(call):
    for cv in (ours, theirs):
        with pytest.raises(theirs.error):
            call(cv)
    assert ours.error is theirs.error
    names = "src|dst|points1|from_|method|distCoeffs|objectPoints|imagePoints|cameraMatrix|flags|confidence"
    names += "|Threshold|refineIters|maxIters|prob "
    with pytest.raises(ValueError, match=names):
        call(ours)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_the_homography(method):
    H, mask = ours.findHomography(PLANE.x1, PLANE.x2, method, 2.0)
    assert H[2, 2] == 1
    assert H.flags.writeable
    assert transfer(H, PLANE.H, PLANE.x1) < 1.5
    distances = np.linalg.norm(apply_transform(H, PLANE.x1) - PLANE.x2, axis=1)
    np.testing.assert_array_equal(mask.ravel(), distances <= 2.0)


@pytest.mark.parametrize("flags", [*range(9), 32, 37])
def test_every_flag_finds_the_pose(flags):
    found, rvec, tvec, inliers = ours.solvePnPRansac(OBJECT, IMAGE, K, None, reprojectionError=2.0, flags=flags)
    assert found is True
    assert pose_error(rotation_matrix(rvec.ravel()), tvec.ravel(), rotation_matrix(RVEC), TVEC) < 0.5
    distances = np.linalg.norm(
        apply_transform(K, OBJECT @ rotation_matrix(rvec.ravel()).T + tvec.ravel()) - IMAGE, axis=1
    )
    np.testing.assert_array_equal(inliers.ravel(), np.flatnonzero(distances <= 2.0))


def test_poses_agree_with_those_of_opencv():
    distortion = np.array([-0.2, 0.05, 0.001, -0.002])
    distorted = theirs.projectPoints(OBJECT, RVEC, TVEC, K, distortion)[0]
    distorted[30:, 0] = IMAGE[30:]
    for image, coefficients in ((IMAGE, None), (distorted, distortion)):
        mine, other = (
            cv.solvePnPRansac(OBJECT, image, K, coefficients, reprojectionError=2.0) for cv in (ours, theirs)
        )
        np.testing.assert_allclose(mine[1], other[1], atol=1e-3)
        np.testing.assert_allclose(mine[2], other[2], atol=5e-3)
        np.testing.assert_array_equal(mine[3], other[3])


@pytest.mark.parametrize("vector", [[0.0, 0.0, 0.0], [1e-9, 0.0, -2e-9], [0.5, -1.0, 2.0], [0.0, 3.1415, 0.0]])
def test_rotation_vectors_are_those_of_rodrigues(vector):
    R = theirs.Rodrigues(np.array(vector))[0]
    X = OBJECT[:8] + np.array([0.0, 0.0, 6.0])
    x = apply_transform(K, X)
    found, rvec, _, _ = ours.solvePnPRansac((X - TVEC) @ R, x, K, None)
    assert found
    np.testing.assert_allclose(rvec.ravel(), vector, atol=1e-6)


@pytest.mark.filterwarnings("ignore::bansac.compat.DoubtWarning")
def test_the_guess_of_a_pose_is_its_initial_model():
    start = rotation_matrix([0.12, 0.2, 0.3]), np.array([0.1, 0.2, 5.8])
    expected = estimate_absolute_pose(OBJECT, IMAGE, K, threshold=2.0, initial_model=start)
    rvec, tvec = np.array([[0.12], [0.2], [0.3]]), start[1][:, None].copy()
    _, r, t, _ = ours.solvePnPRansac(OBJECT, IMAGE, K, None, rvec.ravel(), tvec.astype(np.float32), True, None, 2.0)
    np.testing.assert_allclose(t.ravel(), expected.model.t, rtol=1e-12)  # the guess of t is a float32
    for cv in (theirs, ours):
        first, second = rvec.copy(), tvec.copy()
        _, r, t, _ = cv.solvePnPRansac(OBJECT, IMAGE, K, None, first, second, True, reprojectionError=2.0)
        assert r is first
        assert t is second
        found, r, t, inliers = cv.solvePnPRansac(np.ones((20, 3)), SAME, K, None, rvec, tvec, True)
        assert (found, inliers) == (False, None)
        np.testing.assert_array_equal(r, [[0.12], [0.2], [0.3]])
        _, r, t, _ = cv.solvePnPRansac(OBJECT, IMAGE, K, None, rvec, tvec)
        assert r is not rvec
        assert t is not tvec
    for wrong in (np.zeros(4), [np.nan, 0.0, 0.0]):
        with pytest.raises(ours.error, match="rvec"):
            ours.solvePnPRansac(OBJECT, IMAGE, K, None, wrong, tvec, True)


def test_the_methods_are_options():
    for method, settings in [
        (ours.USAC_FAST, {"preset": "fast"}),
        (ours.USAC_ACCURATE, {"preset": "accurate"}),
        (ours.USAC_MAGSAC, {"scoring": "magsac++"}),
        (ours.USAC_PROSAC, {"sampler": "prosac", "scores": -np.arange(300)}),
        (ours.RANSAC, {}),
    ]:
        expected = estimate_homography(
            PLANE.x1, PLANE.x2, threshold=2.0, max_iterations=600, confidence=0.9, **settings
        )
        H, _ = ours.findHomography(PLANE.x1, PLANE.x2, method, 2.0, None, 600, 0.9)
        np.testing.assert_array_equal(H, expected.model)
    H, _ = ours.findHomography(PLANE.x1, PLANE.x2, ours.LMEDS, 77.0, None, None, None)
    np.testing.assert_array_equal(H, estimate_homography(PLANE.x1, PLANE.x2).model)


def test_masks_agree_on_clean_data():
    plane = homography_matches(200, inlier_ratio=0.5, noise=0.01, seed=1)
    scene = epipolar_matches(200, inlier_ratio=0.5, noise=0.01, seed=1)
    similar = X2 + RNG.normal(0, 0.01, X2.shape)
    similar[60:] = RNG.uniform(0, 500, (40, 2))
    for call in (
        lambda cv: cv.findHomography(plane.x1, plane.x2, cv.RANSAC, 1.0)[1],
        lambda cv: cv.findEssentialMat(scene.x1, scene.x2, scene.K1, cv.RANSAC, 0.9999, 0.2)[1],
        lambda cv: cv.estimateAffine2D(X1, similar)[1],
        lambda cv: cv.estimateAffinePartial2D(X1, similar)[1],
    ):
        assert np.mean(call(ours) != call(theirs)) <= 0.02


def test_masks_are_written_into_the_caller_s_array():
    mask = np.zeros((300, 1), np.uint8)
    _, found = ours.findHomography(PLANE.x1, PLANE.x2, ours.RANSAC, 3.0, mask)
    assert found is mask
    assert mask.sum() >= 140
    mask = np.zeros(300, np.uint8)
    ours.findFundamentalMat(SCENE.x1, SCENE.x2, ours.FM_RANSAC, 1.0, 0.99, mask)
    assert 100 < mask.sum() < 200
    chosen = SCENE.inliers.astype(np.uint8)[:, None]
    chosen[:100] = 0
    number, _, _, out = ours.recoverPose(SCENE.E, SCENE.x1, SCENE.x2, SCENE.K1, mask=chosen)
    assert out is chosen
    assert number == out.sum() == SCENE.inliers[100:].sum()
    R, t = np.zeros((3, 3)), np.zeros((3, 1))
    _, rotation, translation, _ = ours.recoverPose(SCENE.E, SCENE.x1, SCENE.x2, SCENE.K1, R, t)
    assert rotation is R
    assert translation is t
    assert pose_error(R, t.ravel(), SCENE.R, SCENE.t) < 1e-4
    small = np.zeros((3, 3), np.float32)
    assert ours.recoverPose(SCENE.E, SCENE.x1, SCENE.x2, SCENE.K1, small)[1] is not small


def test_the_pose_is_that_of_the_truth_and_of_opencv():
    number, R, t, mask = ours.recoverPose(SCENE.E, SCENE.x1, SCENE.x2, SCENE.K1)
    assert pose_error(R, t.ravel(), SCENE.R, SCENE.t) < 1e-4
    assert set(np.unique(mask)) <= {0, 255}
    assert number == np.count_nonzero(mask)
    clean = SCENE.inliers[:, None].astype(np.uint8)
    found, other = (cv.recoverPose(SCENE.E, SCENE.x1, SCENE.x2, SCENE.K1, mask=clean.copy()) for cv in (ours, theirs))
    assert found[0] == other[0]
    np.testing.assert_allclose(found[1], other[1], atol=1e-6)
    np.testing.assert_array_equal(found[3], other[3])


def test_minimal_samples_give_all_their_models():
    for call in (
        lambda cv: cv.findFundamentalMat(SCENE.x1[:7], SCENE.x2[:7], cv.FM_7POINT),
        lambda cv: cv.findEssentialMat(SCENE.x1[:5], SCENE.x2[:5], SCENE.K1, cv.RANSAC),
    ):
        mine, other = call(ours)[0].reshape(-1, 3, 3), call(theirs)[0].reshape(-1, 3, 3)
        assert len(mine) == len(other) >= 1
        unit = [[model.ravel() / np.linalg.norm(model) for model in models] for models in (mine, other)]
        assert min(np.abs(np.array(unit[0]) @ np.array(unit[1]).T).max(axis=1)) == pytest.approx(1, abs=1e-5)


def test_invalid_cameras_and_points_are_named():
    broken, camera = np.where(IMAGE == IMAGE[0, 0], np.nan, IMAGE), np.diag([500.0, 500.0, 1.0])
    for function, arguments, message in (
        (ours.findEssentialMat, (SCENE.x1, SCENE.x2, 800.0, 3.0), "pp must have two coordinates"),
        (ours.findEssentialMat, (SCENE.x1, SCENE.x2, np.eye(2)), r"3 x 3.*shape \(2, 2\)"),
        (
            ours.findEssentialMat,
            (SCENE.x1, SCENE.x2, camera, None, camera, [1, 2]),
            "distCoeffs2: distortion must be 4, 5",
        ),
        (
            ours.findEssentialMat,
            (SCENE.x1, SCENE.x2, camera, None, camera, [*[0] * 8, 0.1, 0, 0, 0]),
            "distCoeffs2:.*prism or tilt",
        ),
        (ours.solvePnPRansac, (OBJECT, broken, K, None), "imagePoints"),
        (ours.solvePnPRansac, (np.full((20, 3), np.nan), IMAGE[:20], K, None), "objectPoints"),
        (ours.solvePnPRansac, (OBJECT, IMAGE, np.full((3, 3), np.nan), None), "cameraMatrix"),
        (ours.solvePnPRansac, (OBJECT, IMAGE, K, np.full(5, np.nan)), "distCoeffs"),
        (ours.findHomography, (IMAGE, broken), "dstPoints"),
    ):
        with pytest.raises(ours.error, match=message):
            function(*arguments)


# Calls without a number of iterations, and the largest number of theirs.
SEARCHES = {
    "H": (lambda x, y, X: ours.findHomography(x, y, ours.RANSAC), 8000),
    "F": (lambda x, y, X: ours.findFundamentalMat(x, y), 4000),
    "E": (lambda x, y, X: ours.findEssentialMat(x, y, K), 4000),
    "affine": (lambda x, y, X: ours.estimateAffine2D(x, y), 2000),
    "similarity": (lambda x, y, X: ours.estimateAffinePartial2D(x, y), 2000),
    "pose": (lambda x, y, X: ours.solvePnPRansac(X, x, K, None), 400),
}


def _keep(results, estimate, *arguments, **settings):
    results.append(estimate(*arguments, **settings))
    return results[-1]


@pytest.mark.filterwarnings("ignore::bansac.compat.DoubtWarning")
@pytest.mark.parametrize(("call", "most"), SEARCHES.values(), ids=SEARCHES)
def test_a_search_without_a_model_ends_as_early_as_that_of_opencv(monkeypatch, call, most):
    results = []
    for module, name in [(part, name) for part in (ours, calibrated) for name in vars(part)]:
        if name.startswith("estimate_"):
            estimate = functools.partial(_keep, results, getattr(module, name))
            monkeypatch.setattr(module, name, estimate)
    rng = np.random.default_rng(0)
    call(*(rng.uniform(0, 600, (300, channels)) for channels in (2, 2, 3)))
    assert not results[0].success
    assert results[0].iterations <= most


def test_noise_is_no_model():
    x1, x2 = np.random.default_rng(4).uniform(0, 500, (2, 60, 2))
    calls = (
        lambda: ours.findHomography(x1, x2, ours.RANSAC, 3.0),
        lambda: ours.findFundamentalMat(x1, x2, ours.FM_RANSAC, 1.0),
        lambda: ours.estimateAffine2D(x1, x2),
        lambda: ours.estimateAffinePartial2D(x1, x2),
    )
    for call in calls:
        with pytest.warns(DoubtWarning, match="no more than chance"):
            _, mask = call()
        assert mask.shape == (60, 1)
    with pytest.warns(DoubtWarning, match="no model"), pytest.raises(ValueError, match="no essential matrix"):
        ours.recoverPose(x1[:4], x2[:4], SCENE.K1, None, SCENE.K1, None)


SCRIPT = """
import numpy as np
import bansac.compat.cv2 as cv2

image = np.random.default_rng(0).integers(0, 255, (240, 320), dtype=np.uint8)
image = cv2.GaussianBlur(cv2.resize(image[:60, :80], (320, 240)), (5, 5), 1.0)
moved = cv2.warpAffine(image, np.float32([[1, 0, 7], [0, 1, 4]]), (320, 240))
orb = cv2.ORB_create(500)
(k1, d1), (k2, d2) = orb.detectAndCompute(image, None), orb.detectAndCompute(moved, None)
matches = sorted(cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=True).match(d1, d2), key=lambda m: m.distance)
src = np.float32([k1[m.queryIdx].pt for m in matches]).reshape(-1, 1, 2)
dst = np.float32([k2[m.trainIdx].pt for m in matches]).reshape(-1, 1, 2)
M, mask = cv2.findHomography(src, dst, cv2.RANSAC, 5.0)
print(np.round(M).astype(int).tolist(), mask.ravel().tolist().count(1) > 50)
"""


def test_a_program_is_switched_by_its_import_line(capsys):
    for script in (SCRIPT, SCRIPT.replace("import bansac.compat.cv2 as cv2", "import cv2")):
        exec(script, {})
        assert capsys.readouterr() == ("[[1, 0, 7], [0, 1, 4], [0, 0, 1]] True\n", "")


def test_it_works_without_opencv(monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "cv2" else real(name, *a))
    return_values.error_type.cache_clear()
    try:
        H, _ = ours.findHomography(X1, X2, ours.RANSAC)
        np.testing.assert_allclose(H[:2, 2], [5, 9], atol=1e-6)
        assert ours.solvePnPRansac(OBJECT, IMAGE, K, None, flags=ours.SOLVEPNP_ITERATIVE)[0]
        assert ours.error is ValueError
        with pytest.raises(ValueError, match="srcPoints must have at least 4 points"):
            ours.findHomography(X1[:3], X2[:3])
        with pytest.raises(AttributeError, match=r"imread.*not installed"):
            _ = ours.imread
    finally:
        return_values.error_type.cache_clear()


def test_other_names_are_those_of_opencv():
    for name in ("solvePnP", "solvePnPRefineLM", "getAffineTransform", "Rodrigues", "__version__"):
        assert getattr(ours, name) is getattr(theirs, name)


def test_parameters_have_the_order_of_opencv():
    for name in ("findHomography", "estimateAffine2D", "estimateAffinePartial2D", "solvePnPRansac"):
        first = getattr(theirs, name).__doc__.splitlines()[0]
        expected = [word.strip("[]() ,") for word in first.partition("(")[2].partition(")")[0].split(",")]
        parameters = list(inspect.signature(getattr(ours, name)).parameters)
        assert parameters == expected


@pytest.mark.parametrize("threshold", [0, -1.0])
def test_a_threshold_of_0_is_the_default_as_in_opencv(threshold):
    assert np.array_equal(
        ours.findHomography(PLANE.x1, PLANE.x2, 8, threshold)[0], ours.findHomography(PLANE.x1, PLANE.x2, 8)[0]
    )
    assert np.array_equal(
        ours.findFundamentalMat(SCENE.x1, SCENE.x2, 8, threshold)[0], ours.findFundamentalMat(SCENE.x1, SCENE.x2)[0]
    )
    mask = theirs.findHomography(PLANE.x1, PLANE.x2, 8, threshold)[1]
    assert np.mean(mask == ours.findHomography(PLANE.x1, PLANE.x2, 8, threshold)[1]) > 0.95
    with pytest.raises(ours.error, match=r"^ransacReprojThreshold "):
        ours.findHomography(PLANE.x1, PLANE.x2, ours.USAC_DEFAULT, threshold)


def test_homogeneous_points_are_those_of_the_plane():
    for points in (as_homogeneous(X1), np.column_stack([X1, np.zeros(len(X1))])):
        for cv in (ours, theirs):
            assert transfer(cv.findHomography(points, X2)[0], cv.findHomography(X1, X2)[0], X1) < 1e-6


GRID = np.indices((9, 6)).reshape(2, -1).T.astype(float)
BOARD = apply_transform(np.array([[40.0, 5.0, 100.0], [-3.0, 42.0, 80.0], [0.01, 0.02, 1.0]]), GRID)
SQUARE = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
# Exact models with a threshold that is larger than the data, or with too few points to verify them.
DOUBTS = {
    "a chessboard in metres": lambda cv: cv.findHomography(BOARD, 0.03 * GRID, cv.RANSAC, 3.0)[0],
    "a unit square": lambda cv: cv.estimateAffinePartial2D(SQUARE, 2 * SQUARE + 3)[0],
    "a unit square, affine": lambda cv: cv.estimateAffine2D(SQUARE, 2 * SQUARE + 3)[0],
    "eight epipolar matches": lambda cv: cv.findFundamentalMat(SCENE.x1[:8], SCENE.x1[:8] + 3)[0] * 0 + 1,
}


@pytest.mark.parametrize("call", DOUBTS.values(), ids=DOUBTS)
def test_models_in_doubt_are_those_of_opencv_with_a_warning_of_the_caller(call):
    with pytest.warns(DoubtWarning, match="the model is in doubt: .*(too large|no more than chance)") as warned:
        model = call(ours)
    assert [(record.filename, len(warned)) for record in warned] == [(__file__, 1)]
    np.testing.assert_allclose(model, call(theirs), atol=1e-6)


def test_none_comes_with_a_warning():
    with pytest.warns(DoubtWarning, match="fundamental matrix needs 7 points, got 6"):
        assert ours.findFundamentalMat(X1[:6], X2[:6]) == (None, None)
    with pytest.warns(DoubtWarning, match="no model: the 20 points determine none"):
        assert ours.findHomography(SAME, SAME, 0)[0] is None


def test_models_in_doubt_are_none_in_the_strict_context_only():
    with strict():
        assert ours.estimateAffine2D(SQUARE, SQUARE + 1.0)[0] is None
    with pytest.warns(DoubtWarning):
        assert ours.estimateAffine2D(SQUARE, SQUARE + 1.0)[0] is not None


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_a_few_exact_tracks_are_a_model(n):
    for cv in (ours, theirs):
        np.testing.assert_allclose(cv.estimateAffinePartial2D(X1[:n], X1[:n] + 3)[0], [[1, 0, 3], [0, 1, 3]], atol=1e-6)
