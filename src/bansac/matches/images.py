"""Images from files or arrays as 8-bit pixels."""

import os
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.maths.optional import import_optional

# Images with a longer side than this, in pixels, are scaled down for detection. SIFT needs some 200 bytes a pixel.
MAX_SIZE = 2000

_ROWS = 256  # converted to grey at a time, which bounds the memory

ImageLike: TypeAlias = str | os.PathLike[str] | ArrayLike
"""A path, or pixels of shape (H, W), (H, W, 3) in RGB or (H, W, 4) in RGBA."""


def read_image(image: ImageLike, *, color: bool = False, argument: str = "image") -> NDArray[np.uint8]:
    """Return an image as grey pixels (H, W), or as RGB pixels (H, W, 3) if ``color``.

    An array holds integers from 0 to 255 or floats from 0 to 1; ``argument`` is its name in error messages. 16-bit
    files are scaled by the bits of their largest value: 10 and 12 bits of 16 give the full range, too. The EXIF
    orientation is not applied, as in COLMAP: coordinates refer to the stored pixels. A file that is no image is an
    OSError, an array of another shape or range a ValueError.
    """
    pixels = _read_file(Path(image)) if isinstance(image, str | os.PathLike) else _as_bytes(argument, image)
    if color:
        return pixels if pixels.ndim == 3 else np.repeat(pixels[:, :, None], 3, axis=2)
    return pixels if pixels.ndim == 2 else _grey(pixels)


def _read_file(path: Path) -> NDArray[np.uint8]:
    content = path.read_bytes()
    decode = _decode_with_opencv if find_spec("cv2") else _decode_with_pillow
    try:
        return decode(content)
    except ValueError:
        raise OSError(f"cannot read {path} as an image ({len(content)} bytes)") from None


def _decode_with_opencv(content: bytes) -> NDArray[np.uint8]:
    cv2 = import_opencv("reading images")
    data, flags = np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION
    try:
        pixels = cv2.imdecode(data, flags | cv2.IMREAD_ANYDEPTH)
        if pixels is not None and pixels.dtype == np.uint16:
            pixels = _reduce_depth(pixels)
        elif pixels is not None and pixels.dtype != np.uint8:
            pixels = cv2.imdecode(data, flags)
    except cv2.error:  # an empty file
        pixels = None
    if pixels is None:
        raise ValueError("no image")
    return np.ascontiguousarray(pixels[:, :, ::-1])


def _decode_with_pillow(content: bytes) -> NDArray[np.uint8]:
    """Decode with Pillow, a dependency of Matplotlib, so that figures do not need OpenCV."""
    import_optional("PIL", "reading images needs OpenCV", "opencv-python-headless")
    from PIL import Image

    try:
        with Image.open(BytesIO(content)) as image:
            if image.mode.startswith("I"):  # grey, 16 bit
                return np.repeat(_reduce_depth(np.array(image).clip(0, 65535).astype(np.uint16))[:, :, None], 3, axis=2)
            return np.array(image.convert("RGB"))
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError("no image") from error


def _reduce_depth(pixels: NDArray[np.uint16]) -> NDArray[np.uint8]:
    """Convert 16-bit pixels to 8 bits. The bits above those of the largest value are unused, as in 12-bit images."""
    bits = max(int(pixels.max()).bit_length(), 8)
    return (pixels >> (bits - 8)).astype(np.uint8)


def _as_bytes(argument: str, image: ArrayLike) -> NDArray[np.uint8]:
    """Check pixels and convert them to 8-bit grey or RGB."""
    pixels = np.asarray(image)
    if pixels.ndim == 3 and pixels.shape[2] == 1:
        pixels = pixels[:, :, 0]
    if not (pixels.ndim == 2 or (pixels.ndim == 3 and pixels.shape[2] in (3, 4))) or not pixels.size:
        raise ValueError(f"{argument} must have shape (H, W), (H, W, 3) or (H, W, 4), got {pixels.shape}")
    pixels = pixels[:, :, :3] if pixels.ndim == 3 else pixels
    if pixels.dtype == np.uint8:
        return np.ascontiguousarray(pixels)
    if pixels.dtype.kind not in "buif":
        raise ValueError(f"{argument} must hold numbers, got {pixels.dtype}")
    top = 1 if pixels.dtype.kind in "bf" else 255
    if not (pixels.min() >= 0 and pixels.max() <= top):  # also fails for NaN
        raise ValueError(
            f"{argument} of type {pixels.dtype} must hold values from 0 to {top}, got {pixels.min()} to {pixels.max()}"
        )
    return np.ascontiguousarray((pixels * (255 // top) + 0.5).astype(np.uint8))


def _grey(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Convert RGB to grey: the luma of ITU-R BT.601."""
    grey = np.empty(rgb.shape[:2], np.uint8)
    for start in range(0, len(rgb), _ROWS):
        grey[start : start + _ROWS] = rgb[start : start + _ROWS] @ np.array([0.299, 0.587, 0.114]) + 0.5
    return grey


def shrink(pixels: NDArray[np.uint8], max_size: int) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Scale an image down so that its longer side has at most ``max_size`` pixels; each is a mean of pixels.

    Return it with the scale (w / W, h / H). A point x of the scaled image is ``(x + 0.5) / scale - 0.5`` in the
    original image; pixel centres have integer coordinates.
    """
    height, width = pixels.shape[:2]
    share = max_size / max(height, width)
    if share >= 1:
        return pixels, np.ones(2)
    w, h = max(1, round(share * width)), max(1, round(share * height))
    cv2 = import_opencv("scaling images")
    return cv2.resize(pixels, (w, h), interpolation=cv2.INTER_AREA), np.array([w / width, h / height])


def encode_jpeg(pixels: NDArray[np.uint8], max_bytes: int) -> bytes:
    """Return RGB pixels as JPEG of at most ``max_bytes``, in the best quality that fits, or else of a smaller image."""
    cv2 = import_opencv("writing images")
    for quality in (85, 70, 50, 30):  # of at most 100
        jpeg = cv2.imencode(".jpg", pixels[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])[1].tobytes()
        if len(jpeg) <= max_bytes:
            return bytes(jpeg)
    return encode_jpeg(shrink(pixels, max(pixels.shape[:2]) // 2)[0], max_bytes)


def import_opencv(purpose: str = "matching images") -> Any:
    """Return the module cv2."""
    return import_optional("cv2", f"{purpose} needs OpenCV", "opencv-python-headless")
