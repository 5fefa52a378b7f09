"""Cameras with lens distortion, in COLMAP's models and order of parameters.

With normalised coordinates (x, y) and r^2 = x^2 + y^2, OpenCV's model, which contains all others but the fisheye, is

    x' = x (1 + k1 r^2 + k2 r^4 + k3 r^6) / (1 + k4 r^2 + k5 r^4 + k6 r^6) + 2 p1 x y + p2 (r^2 + 2 x^2),
    y' = y (1 + k1 r^2 + k2 r^4 + k3 r^6) / (1 + k4 r^2 + k5 r^4 + k6 r^6) + p1 (r^2 + 2 y^2) + 2 p2 x y.

The fisheye model (Kannala and Brandt, 2006) is (x', y') = (x, y) theta (1 + k1 theta^2 + k2 theta^4 + k3 theta^6 + k4
theta^8) / r with theta = atan r. The pixel is (fx x' + cx, fy y' + cy).
"""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bansac.maths.arrays import Floats, as_floats
from bansac.maths.optional import import_optional
from bansac.maths.validate import as_camera, as_integer, as_points

_FISHEYE = "OPENCV_FISHEYE"

# Numbers of focal lengths and of distortion coefficients. All but the fisheye's are the first of OpenCV's
# (k1, k2, p1, p2, k3, k4, k5, k6).
_MODELS = {
    "SIMPLE_PINHOLE": (1, 0),
    "PINHOLE": (2, 0),
    "SIMPLE_RADIAL": (1, 1),
    "RADIAL": (1, 2),
    "OPENCV": (2, 4),
    _FISHEYE: (2, 4),
    "FULL_OPENCV": (2, 8),
}

_STEPS = 50
_CONVERGED = 1e-12  # relative change of the last step of Newton's method
_SAME = 1e-9  # largest error of an inverted point that is distorted again, relative

_CENTRE = 1e-12  # squared radius within which the fisheye's factor is constant
_TINY = np.finfo(np.float64).tiny

_DIAGONAL = math.hypot(36.0, 24.0)  # of 35 mm film, in millimetres
_EXIF_IFD, _FOCAL_35MM = 0x8769, 0xA405


@dataclass(frozen=True)
class Camera:
    """A camera with its lens distortion; wherever an estimator takes a camera matrix, it takes a ``Camera``, too.

    Parameters
    ----------
    model : str
        COLMAP's name of the model: ``SIMPLE_PINHOLE`` with the parameters (f, cx, cy), ``PINHOLE`` (fx, fy, cx, cy),
        ``SIMPLE_RADIAL`` (f, cx, cy, k1), ``RADIAL`` (f, cx, cy, k1, k2), ``OPENCV`` (fx, fy, cx, cy, k1, k2, p1, p2),
        ``OPENCV_FISHEYE`` (fx, fy, cx, cy, k1, k2, k3, k4) or ``FULL_OPENCV`` (fx, fy, cx, cy, k1, k2, p1, p2, k3, k4,
        k5, k6).
    params : sequence of float
        Parameters in COLMAP's order, f, cx and cy in pixels. Focal lengths of NaN are unknown. The principal point
        has the convention of the points: with OpenCV's and ours, the centre of the first pixel is (0, 0), with
        COLMAP's it is (.5, .5).
    width, height : int, optional
        Size of the image in pixels.

    Raises
    ------
    ValueError
        If the model does not exist, or the parameters are not those of a camera.

    Examples
    --------
    >>> camera = Camera("SIMPLE_RADIAL", (800.0, 320.0, 240.0, -0.1))
    >>> camera.project([[0.5, 0.0]])
    array([[710., 240.]])
    >>> camera.unproject([[710.0, 240.0]]).round(6)
    array([[0.5, 0. ]])
    """

    model: str
    params: tuple[float, ...]
    width: int | None = None
    height: int | None = None

    def __post_init__(self) -> None:
        """Check the parameters and make them a tuple."""
        if self.model not in _MODELS:
            raise ValueError(f"model must be one of {', '.join(_MODELS)}, got {self.model!r}")
        params = as_floats("params", self.params)
        expected = sum(_MODELS[self.model], 2)
        if params.shape != (expected,):
            raise ValueError(f"params of {self.model} must be {expected} numbers, got {params.tolist()}")
        focal, other = np.split(params, [_MODELS[self.model][0]])
        if not np.isfinite(other).all() or not (np.isnan(focal).all() or (np.isfinite(focal) & (focal > 0)).all()):
            raise ValueError(f"params must be finite, focal lengths positive (NaN: unknown), got {params.tolist()}")
        object.__setattr__(self, "params", tuple(params.tolist()))
        for name in ("width", "height"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, as_integer(name, getattr(self, name), 1, " or None"))

    @classmethod
    def from_matrix(cls, K: ArrayLike, distortion: ArrayLike | None = None, *, fisheye: bool = False) -> Self:
        """Make a camera from OpenCV's camera matrix and distortion coefficients.

        Parameters
        ----------
        K : (3, 3) array_like
            Camera matrix without skew.
        distortion : array_like, optional
            (k1, k2, p1, p2[, k3[, k4, k5, k6]]), or 12 or 14 coefficients with zeros after k6; (k1, k2, k3, k4) of
            ``cv2.fisheye`` if ``fisheye``. None or empty: no distortion.
        fisheye : bool, optional
            Whether the coefficients are those of ``cv2.fisheye``.

        Raises
        ------
        ValueError
            If K is not a camera matrix or has skew, or if the coefficients are invalid or include thin prisms or tilt.
        """
        matrix = as_camera("K", K)
        if matrix[0, 1] != 0:
            raise ValueError(f"K must have no skew, got {matrix[0, 1]:g}")
        pinhole = (matrix[0, 0], matrix[1, 1], matrix[0, 2], matrix[1, 2])
        k = np.zeros(0) if distortion is None else as_floats("distortion", distortion).ravel()
        if k.size not in ((0, 4) if fisheye else (0, 4, 5, 8, 12, 14)) or not np.isfinite(k).all():
            sizes = "4" if fisheye else "4, 5, 8, 12 or 14"
            raise ValueError(f"distortion must be {sizes} finite numbers, got {k.tolist()}")
        if k[8:].any():
            message = "distortion must have no thin prism or tilt: undistort the points first"
            raise ValueError(f"{message}, got {k[8:].tolist()}")
        if fisheye:
            return cls(_FISHEYE, (*pinhole, *np.resize(k, 4)))
        size = 8 if k[4:].any() else 4 if k.any() else 0
        name = {0: "PINHOLE", 4: "OPENCV", 8: "FULL_OPENCV"}[size]
        return cls(name, (*pinhole, *np.pad(k, (0, 8))[:size]))

    @classmethod
    def from_pycolmap(cls, camera: Any) -> Self:
        """Make a camera from a ``pycolmap.Camera``; its points have the centre of the first pixel at (.5, .5).

        The focal length is taken whether or not it is a prior; ``with_focal(nan)`` makes it unknown.
        """
        return cls(camera.model_name, tuple(camera.params), int(camera.width) or None, int(camera.height) or None)

    @classmethod
    def from_poselib(cls, camera: Mapping[str, Any]) -> Self:
        """Make a camera from PoseLib's dictionary, with the keys ``model``, ``params``, ``width`` and ``height``."""
        if not {"model", "params"} <= set(camera):
            raise ValueError(f"camera must have the keys model and params, got {', '.join(map(str, camera))}")
        sizes = (int(camera.get(name, -1)) for name in ("width", "height"))
        return cls(camera["model"], camera["params"], *(size if size > 0 else None for size in sizes))

    @classmethod
    def unknown_focal(cls, width: int, height: int) -> Self:
        """Make a camera of unknown focal length with its principal point at the centre of an image of this size."""
        return cls("SIMPLE_PINHOLE", (math.nan, 0.5 * (width - 1), 0.5 * (height - 1)), width, height)

    @classmethod
    def from_exif(cls, image: Any) -> Self:
        """Make a camera from the focal length in an image's EXIF data, with the principal point at the centre.

        Parameters
        ----------
        image : path or PIL.Image.Image
            An image with the EXIF entry FocalLengthIn35mmFilm f. The focal length in pixels is f times the ratio of
            the diagonals of the image and of 35 mm film, 43.3 mm; makers round f, so that errors of 3 % are usual.

        Returns
        -------
        Camera
            ``SIMPLE_PINHOLE`` with the size of the image as stored, without EXIF orientation.

        Raises
        ------
        ValueError
            If the image has no such entry.
        TypeError, OSError, ImportError
            If it is not an image, if the file cannot be read, or if Pillow is not installed.
        """
        Image = import_optional("PIL.Image", "reading EXIF data needs Pillow", "pillow")
        if isinstance(image, str | os.PathLike):
            with Image.open(image) as opened:
                return cls.from_exif(opened)
        if not hasattr(image, "getexif"):
            raise TypeError(f"image must be a path or a PIL.Image.Image, got {type(image).__name__}")
        focal = float(image.getexif().get_ifd(_EXIF_IFD).get(_FOCAL_35MM, 0))
        if not focal > 0:
            raise ValueError(
                "image has no 35 mm equivalent of its focal length in its EXIF data; "
                f"use Camera.unknown_focal({image.width}, {image.height})"
            )
        pixels = focal * math.hypot(image.width, image.height) / _DIAGONAL
        return cls.unknown_focal(image.width, image.height).with_focal(pixels)

    @property
    def K(self) -> Floats:
        """Camera matrix (3, 3); its focal lengths are NaN if they are unknown."""
        count = _MODELS[self.model][0]
        (fx, fy), (cx, cy) = np.resize(self.params[:count], 2), self.params[count : count + 2]
        return np.array([[fx, 0.0, cx], [0.0, fy, cy], [0.0, 0.0, 1.0]])

    @property
    def has_focal(self) -> bool:
        """Whether the focal length is known."""
        return not math.isnan(self.params[0])

    @property
    def is_distorted(self) -> bool:
        """Whether the camera has lens distortion."""
        return self.model == _FISHEYE or bool(self._coefficients.any())

    def with_focal(self, focal: float) -> Self:
        """Return the camera with another focal length in pixels; NaN makes it unknown."""
        count = _MODELS[self.model][0]
        return replace(self, params=(focal,) * count + self.params[count:])

    def project(self, normalised: ArrayLike) -> Floats:
        """Return the pixels (N, 2) of normalised image points (N, 2), which are X / Z and Y / Z of 3D points."""
        (fx, fy), centre = self._pinhole()
        x, y, *_ = self._distort(*as_points("normalised", normalised, 2).T)
        return np.column_stack([fx * x, fy * y]) + centre

    def unproject(self, points: ArrayLike) -> Floats:
        """Return the undistorted, normalised coordinates of pixels.

        Parameters
        ----------
        points : (N, 2) array_like
            Points in pixels.

        Returns
        -------
        (N, 2) ndarray
            X / Z and Y / Z of the rays. NaN where the distortion has no inverse, and for rays of a fisheye that are not
            in front of the camera. Invalid points and an unknown focal length are a ValueError.
        """
        focal, centre = self._pinhole()
        distorted = (as_points("points", points, 2) - centre) / focal
        if not self.is_distorted:
            return np.asarray(distorted)
        u, v = distorted.T
        with np.errstate(all="ignore"):
            x, y = self._invert_fisheye(u, v) if self.model == _FISHEYE else self._invert(u, v)
            again_u, again_v, a, b, d = self._distort(x, y)
            error = np.hypot(again_u - u, again_v - v) / (1.0 + np.hypot(u, v))
            good = (error < _SAME) & (a * d > b * b) & (a + d > 0)
        return np.where(good[:, None], np.column_stack([x, y]), np.nan)

    def jacobian(self, normalised: ArrayLike) -> Floats:
        """Return the derivatives (N, 2, 2) of the pixels by the normalised coordinates (N, 2)."""
        (fx, fy), _ = self._pinhole()
        _, _, a, b, d = self._distort(*as_points("normalised", normalised, 2).T)
        return np.stack([fx * a, fx * b, fy * b, fy * d], axis=1).reshape(-1, 2, 2)

    def _pinhole(self) -> tuple[Floats, Floats]:
        """Return the focal lengths and the principal point; a ValueError if the focal length is unknown."""
        if not self.has_focal:
            raise ValueError("the focal length of the camera is unknown")
        K = self.K
        return K[[0, 1], [0, 1]], K[:2, 2]

    @property
    def _coefficients(self) -> Floats:
        """The distortion coefficients, padded with zeros to eight."""
        coefficients = np.array(self.params[_MODELS[self.model][0] + 2 :])
        return np.pad(coefficients, (0, 8 - coefficients.size))

    def _distort(self, x: Floats, y: Floats) -> tuple[Floats, ...]:
        """Return distorted coordinates x' and y', and the derivatives dx'/dx, dx'/dy = dy'/dx, dy'/dy."""
        square = x * x + y * y
        if self.model == _FISHEYE:
            inside = np.maximum(square, _CENTRE)  # the quotients below have limits at 0
            radius = np.sqrt(inside)
            angle, slope = self._bend(np.arctan(radius))
            factor = angle / radius
            change, p1, p2 = (slope / (1.0 + inside) - factor) / inside, 0.0, 0.0
        else:
            k1, k2, p1, p2, k3, k4, k5, k6 = self._coefficients
            lower = 1 + square * (k4 + square * (k5 + square * k6))
            factor = (1 + square * (k1 + square * (k2 + square * k3))) / lower
            slope, lower_slope = (a + square * (2 * b + square * 3 * c) for a, b, c in ((k1, k2, k3), (k4, k5, k6)))
            change = 2 * (slope - factor * lower_slope) / lower
        return (
            x * factor + 2 * p1 * x * y + p2 * (square + 2 * x * x),
            y * factor + p1 * (square + 2 * y * y) + 2 * p2 * x * y,
            factor + change * x * x + 2 * p1 * y + 6 * p2 * x,
            change * x * y + 2 * p1 * x + 2 * p2 * y,
            factor + change * y * y + 6 * p1 * y + 2 * p2 * x,
        )

    def _bend(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return the fisheye's distorted angles and their derivatives."""
        k1, k2, k3, k4 = self._coefficients[:4]
        t = theta * theta
        distorted = theta * (1 + t * (k1 + t * (k2 + t * (k3 + t * k4))))
        return distorted, 1 + t * (3 * k1 + t * (5 * k2 + t * (7 * k3 + t * 9 * k4)))

    def _invert(self, u: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Return the points that are distorted to (u, v), by Newton's method."""
        x, y = u, v
        for _ in range(_STEPS):
            again_u, again_v, a, b, d = self._distort(x, y)
            du, dv, determinant = u - again_u, v - again_v, a * d - b * b
            dx, dy = (d * du - b * dv) / determinant, (a * dv - b * du) / determinant
            x, y = x + dx, y + dy
            if not (np.hypot(dx, dy) > _CONVERGED * (1.0 + np.hypot(x, y))).any():
                break
        return x, y

    def _invert_fisheye(self, u: Floats, v: Floats) -> tuple[Floats, Floats]:
        """Return the points that the fisheye distorts to (u, v), by Newton's method for the angle."""
        radius = np.hypot(u, v)
        theta = np.minimum(radius, 0.5 * math.pi)
        for _ in range(_STEPS):
            angle, slope = self._bend(theta)
            step = (radius - angle) / slope
            theta = theta + step
            if not (np.abs(step) > _CONVERGED * (1.0 + theta)).any():
                break
        factor = np.where((theta >= 0) & (theta < 0.5 * math.pi), np.tan(theta), np.nan) / np.maximum(radius, _TINY)
        return u * factor, v * factor
