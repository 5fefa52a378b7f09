"""Large images are scaled for detection; points stay those of the given image."""

from importlib.util import find_spec
from pathlib import Path

import cv2
import numpy as np
import PIL.Image
import pytest

import bansac.matches.images
from bansac.matches.image_matching import match_images
from bansac.matches.images import read_image, shrink


def picture(height, width, sigma=2.0):
    noise = np.random.default_rng(0).integers(0, 256, (height, width)).astype(np.uint8)
    return cv2.normalize(cv2.GaussianBlur(noise, (0, 0), sigma), None, 0, 255, cv2.NORM_MINMAX)


def test_small_images_stay_as_they_are():
    image = picture(30, 40)
    small, scale = shrink(image, 40)
    assert small is image
    assert scale.tolist() == [1, 1]


@pytest.mark.parametrize(("size", "max_size", "expected"), [((300, 401), 100, (75, 100)), ((1000, 3), 10, (10, 1))])
def test_longer_side_is_bounded(size, max_size, expected):
    small, scale = shrink(np.zeros(size, np.uint8), max_size)
    assert small.shape == expected
    np.testing.assert_allclose(scale, [expected[1] / size[1], expected[0] / size[0]])


def test_a_spot_is_found_where_it_was():
    image = np.zeros((600, 900), np.uint8)
    cv2.circle(image, (630, 207), 40, 255, -1)
    small, scale = shrink(image, 300)
    rows, columns = np.nonzero(small > 127)
    centre = (np.array([columns.mean(), rows.mean()]) + 0.5) / scale - 0.5
    np.testing.assert_allclose(centre, [630, 207], atol=0.5)


def test_matches_of_scaled_images_have_the_coordinates_of_the_given_ones():
    image = picture(600, 900, sigma=6.0)
    x, y = 37, 22
    first, second = image[:560, :840], image[y : y + 560, x : x + 840]
    for max_size in (840, 420, 300):
        matches = match_images(first, second, ratio=0.8, max_size=max_size)
        assert len(matches) > 30
        assert (matches.size1, matches.size2) == ((560, 840), (560, 840))
        np.testing.assert_allclose(np.median(matches.x1 - matches.x2, axis=0), [x, y], atol=0.3)
    with pytest.raises(ValueError, match="max_size must be an integer >= 1"):
        match_images(first, second, max_size=0)


def test_grey_is_that_of_bt_601_whatever_the_number_of_rows():
    rgb = np.random.default_rng(1).integers(0, 256, (600, 7, 3)).astype(np.uint8)
    expected = (rgb @ np.array([0.299, 0.587, 0.114]) + 0.5).astype(np.uint8)
    np.testing.assert_array_equal(read_image(rgb), expected)


@pytest.fixture(params=["cv2", "PIL"])
def decoder(request, monkeypatch):
    """Files are read with OpenCV, and with Pillow as if there were no OpenCV."""
    monkeypatch.setattr(
        bansac.matches.images, "find_spec", lambda name: find_spec(name) if name == request.param else None
    )


@pytest.mark.parametrize("bits", [10, 12, 16])
def test_16_bit_files_use_the_range_of_their_values(decoder, tmp_path: Path, bits):
    image = picture(60, 80)
    path = tmp_path / "deep.png"
    cv2.imwrite(str(path), image.astype(np.uint16) << (bits - 8))
    np.testing.assert_array_equal(read_image(path), image)


def test_16_bit_colours_keep_their_proportions(tmp_path: Path):
    bgr = np.random.default_rng(0).integers(0, 4096, (20, 30, 3)).astype(np.uint16)
    bgr[0, 0] = 4095
    cv2.imwrite(str(tmp_path / "deep.png"), bgr)
    np.testing.assert_array_equal(read_image(tmp_path / "deep.png", color=True), bgr[:, :, ::-1] >> 4)


def test_files_with_floats_are_tone_mapped_by_opencv(tmp_path: Path):
    cv2.imwrite(str(tmp_path / "float.hdr"), np.full((20, 30, 3), 0.5, np.float32))
    np.testing.assert_array_equal(read_image(tmp_path / "float.hdr"), 128)


def test_points_are_in_the_stored_pixels_whatever_the_exif_orientation(decoder, tmp_path: Path):
    exif = PIL.Image.Exif()
    exif[0x0112] = 6  # to be shown turned by 90 degrees
    PIL.Image.fromarray(picture(40, 60)).save(tmp_path / "turned.jpg", exif=exif)
    assert cv2.imread(str(tmp_path / "turned.jpg")).shape == (60, 40, 3)
    assert read_image(tmp_path / "turned.jpg").shape == (40, 60)


def test_files_are_read_as_rgb_and_grey(decoder, tmp_path):
    path = tmp_path / "red.png"
    cv2.imwrite(str(path), np.full((4, 6, 3), (10, 20, 200), np.uint8))  # OpenCV's order: blue, green, red
    np.testing.assert_array_equal(read_image(path, color=True), np.full((4, 6, 3), (200, 20, 10)))
    grey = round(0.299 * 200 + 0.587 * 20 + 0.114 * 10)
    np.testing.assert_array_equal(read_image(str(path)), np.full((4, 6), grey))


@pytest.mark.parametrize("content", [b"", b"this is text", b"\x89PNG\r\n\x1a\nbroken"])
def test_broken_files_are_named(decoder, content, tmp_path):
    path = tmp_path / "broken.png"
    path.write_bytes(content)
    with pytest.raises(OSError, match=rf"cannot read .*broken\.png as an image \({len(content)} bytes\)"):
        read_image(path)
