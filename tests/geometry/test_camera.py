"""Cameras against OpenCV, pycolmap and their own derivatives."""

import cv2
import numpy as np
import PIL.Image
import pycolmap
import pytest

from bansac import Camera

# Parameters of every model; FULL_OPENCV and OPENCV_FISHEYE bend strongly.
PARAMS = {
    "SIMPLE_PINHOLE": (800, 320, 240),
    "PINHOLE": (800, 810, 320, 240),
    "SIMPLE_RADIAL": (800, 320, 240, -0.2),
    "RADIAL": (800, 320, 240, -0.3, 0.1),
    "OPENCV": (800, 810, 320, 240, -0.3, 0.1, 1e-3, -2e-3),
    "OPENCV_FISHEYE": (400, 410, 320, 240, -0.03, 0.01, 1e-3, -2e-3),
    "FULL_OPENCV": (800, 810, 320, 240, 0.3, 0.1, 1e-3, -2e-3, 0.01, 0.5, 0.1, 0.02),
}
POINTS = np.vstack([np.zeros((1, 2)), np.random.default_rng(0).uniform(-0.6, 0.6, (200, 2))])


@pytest.mark.parametrize("model", PARAMS)
def test_unproject_inverts_project_and_has_the_derivatives(model):
    camera = Camera(model, PARAMS[model], 640, 480)
    pixels = camera.project(POINTS)
    np.testing.assert_allclose(camera.unproject(pixels), POINTS, atol=1e-13)
    steps = 1e-6 * np.eye(2)
    numeric = [(camera.project(POINTS + step) - camera.project(POINTS - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(camera.jacobian(POINTS), np.stack(numeric, axis=2), atol=1e-6)


@pytest.mark.parametrize("model", PARAMS)
def test_models_are_those_of_pycolmap(model):
    theirs = pycolmap.Camera(model=model, width=640, height=480, params=PARAMS[model])
    ours = Camera.from_pycolmap(theirs)
    assert ours == Camera(model, PARAMS[model], 640, 480)
    pixels = theirs.img_from_cam(np.column_stack([POINTS, np.ones(len(POINTS))]))
    np.testing.assert_allclose(ours.project(POINTS), pixels, atol=1e-10)
    np.testing.assert_allclose(ours.unproject(pixels), theirs.cam_from_img(pixels), atol=1e-9)
    np.testing.assert_allclose(ours.K, theirs.calibration_matrix())


@pytest.mark.parametrize("size", [0, 4, 5, 8, 12])
def test_coefficients_are_those_of_opencv(size):
    K = Camera("PINHOLE", PARAMS["PINHOLE"]).K
    distortion = np.array([-0.2, 0.05, 1e-3, -2e-3, 0.01, 0.02, 0.01, 3e-3, 0, 0, 0, 0])[:size]
    camera = Camera.from_matrix(K, distortion)
    assert camera.model == {0: "PINHOLE", 4: "OPENCV"}.get(size, "FULL_OPENCV")
    pixels = cv2.projectPoints(np.column_stack([POINTS, np.ones(len(POINTS))]), np.zeros(3), np.zeros(3), K, distortion)
    np.testing.assert_allclose(camera.project(POINTS), pixels[0][:, 0], atol=1e-9)
    criteria = (cv2.TERM_CRITERIA_MAX_ITER + cv2.TERM_CRITERIA_EPS, 100, 1e-12)
    rays = cv2.undistortPoints(pixels[0], K, distortion, criteria=criteria)[:, 0]
    np.testing.assert_allclose(camera.unproject(pixels[0]), rays, atol=1e-8)


def test_fisheye_coefficients_are_those_of_opencv():
    K, distortion = Camera("PINHOLE", PARAMS["PINHOLE"]).K, np.array([-0.03, 0.01, 1e-3, -2e-3])
    camera = Camera.from_matrix(K, distortion, fisheye=True)
    pixels = cv2.fisheye.distortPoints(POINTS[:, None], K, distortion)[:, 0]
    np.testing.assert_allclose(camera.project(POINTS), pixels, atol=1e-9)
    rays = cv2.fisheye.undistortPoints(pixels[:, None], K, distortion)[:, 0]
    np.testing.assert_allclose(camera.unproject(pixels), rays, atol=1e-6)


def test_points_without_inverse_are_nan():
    """A barrel distortion turns back at r^2 = -1 / (3 k1); a fisheye sees more than a plane in front of it."""
    barrel = Camera("SIMPLE_RADIAL", (100.0, 0.0, 0.0, -0.2))
    found = barrel.unproject([[86.0, 0.0], [87.0, 0.0], [400.0, 0.0], [0.0, 0.0]])
    np.testing.assert_array_equal(np.isnan(found[:, 0]), [False, True, True, False])
    fisheye = Camera("OPENCV_FISHEYE", (100.0, 100.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    found = fisheye.unproject([[156.0, 0.0], [158.0, 0.0]])
    assert found[0, 0] == pytest.approx(np.tan(1.56))
    assert np.isnan(found[1]).all()


def test_poselib_dictionaries():
    camera = {"model": "OPENCV", "params": list(PARAMS["OPENCV"]), "width": 640, "height": 480}
    assert Camera.from_poselib(camera) == Camera("OPENCV", PARAMS["OPENCV"], 640, 480)
    assert Camera.from_poselib({"model": "PINHOLE", "params": PARAMS["PINHOLE"], "width": -1}).width is None


def test_unknown_focal_lengths():
    camera = Camera.unknown_focal(641, 481)
    assert not camera.has_focal
    np.testing.assert_array_equal(camera.K, [[np.nan, 0, 320], [0, np.nan, 240], [0, 0, 1]])
    for call in (camera.project, camera.unproject, camera.jacobian):
        with pytest.raises(ValueError, match="focal length of the camera is unknown"):
            call(POINTS)
    known = camera.with_focal(800.0)
    assert known == Camera("SIMPLE_PINHOLE", PARAMS["SIMPLE_PINHOLE"], 641, 481)
    assert not Camera("OPENCV", PARAMS["OPENCV"]).with_focal(np.nan).has_focal


def test_exif(tmp_path):
    image = PIL.Image.new("RGB", (400, 300))
    image.save(tmp_path / "without.jpg")
    with pytest.raises(ValueError, match=r"35 mm equivalent.*unknown_focal\(400, 300\)"):
        Camera.from_exif(tmp_path / "without.jpg")
    with pytest.raises(TypeError, match=r"image must be a path or a PIL\.Image\.Image, got ndarray"):
        Camera.from_exif(np.zeros((9, 9)))
    exif = image.getexif()
    exif.get_ifd(0x8769)[0xA405] = 26
    image.save(tmp_path / "with.jpg", exif=exif)
    camera = Camera.from_exif(str(tmp_path / "with.jpg"))
    assert camera == Camera("SIMPLE_PINHOLE", (26 * 500 / np.hypot(36, 24), 199.5, 149.5), 400, 300)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Camera("FOV", (1, 2, 3)), "model must be one of SIMPLE_PINHOLE"),
        (lambda: Camera("PINHOLE", (1, 2, 3)), "params of PINHOLE must be 4 numbers"),
        (lambda: Camera("PINHOLE", (1, np.nan, 2, 3)), "params must be finite"),
        (lambda: Camera("PINHOLE", (-1, 1, 2, 3)), "focal lengths positive"),
        (lambda: Camera("PINHOLE", (1, 1, np.nan, 3)), "params must be finite"),
        (lambda: Camera.unknown_focal(640, 0), "height must be an integer >= 1 or None, got 0"),
        (lambda: Camera.from_poselib({"model": "PINHOLE"}), "camera must have the keys model and params, got model"),
        (lambda: Camera.from_matrix([[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]), "K must have no skew"),
        (lambda: Camera.from_matrix(np.eye(3), [1, 2]), "distortion must be 4, 5, 8, 12 or 14"),
        (lambda: Camera.from_matrix(np.eye(3), [1, 2, 3, 4, 5], fisheye=True), "distortion must be 4 finite"),
        (lambda: Camera.from_matrix(np.eye(3), [*[0] * 8, 0.1, 0, 0, 0]), "prism or tilt"),
        (lambda: Camera("PINHOLE", (1, 1, 2, 3)).project([[1, 2, 3]]), "normalised must have shape"),
        (lambda: Camera("PINHOLE", (1, 1, 2, 3)).unproject([[1, np.nan]]), "points must be finite"),
    ],
)
def test_errors_name_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()
