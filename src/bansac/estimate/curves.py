"""Fits of curves to 2D points, of planes, lines, spheres and cylinders to 3D points, and vanishing points."""

from __future__ import annotations

from typing import Unpack

from numpy.typing import ArrayLike

from bansac.estimate.generic import as_columns, estimate
from bansac.estimate.presets import Arguments, Threshold
from bansac.estimate.result import Result
from bansac.maths.arrays import Floats


def fit_line(points: ArrayLike, *, threshold: Threshold = None, **settings: Unpack[Arguments]) -> Result[Floats]:
    """Fit a line to 2D points with outliers.

    Parameters
    ----------
    points : (N, 2) array_like
        The points.
    threshold : float or "auto", optional
        Largest orthogonal distance of an inlier. By default it is estimated, starting from a share of the extent of the
        points.
    **settings
        ``scores`` and all further arguments as in :func:`bansac.estimate_homography`, with the same errors;
        ``max_iterations`` is 3000 by default.

    Returns
    -------
    Result
        ``model`` is (a, b, c) with ``a x + b y + c = 0`` and ``a^2 + b^2 = 1``.

    Examples
    --------
    >>> import numpy as np, bansac
    >>> x = np.linspace(0, 1, 50)
    >>> line, inliers = bansac.fit_line(np.column_stack([x, 2 * x + 1]), threshold=0.01)
    >>> bool(abs(-line[0] / line[1] - 2) < 1e-9)
    True
    """
    return estimate("line", as_columns("points", points, 2), threshold, settings)


def fit_circle(points: ArrayLike, *, threshold: Threshold = None, **settings: Unpack[Arguments]) -> Result[Floats]:
    """Fit a circle to 2D points with outliers.

    The arguments are those of :func:`bansac.fit_line`; the threshold is that of the distance to the circle.

    Returns
    -------
    Result
        ``model`` is (x, y, r), centre and radius. If a line fits the points as well, they do not determine the radius,
        and ``configuration`` is "undetermined_curvature".

    Examples
    --------
    >>> import numpy as np, bansac
    >>> angle = np.linspace(0, 6, 50)
    >>> circle, inliers = bansac.fit_circle(np.column_stack([3 + np.cos(angle), np.sin(angle)]), threshold=0.01)
    >>> bool(np.allclose(circle, [3, 0, 1]))
    True
    """
    return estimate("circle", as_columns("points", points, 2), threshold, settings)


def fit_ellipse(points: ArrayLike, *, threshold: Threshold = None, **settings: Unpack[Arguments]) -> Result[Floats]:
    """Fit an ellipse to 2D points with outliers.

    The arguments are those of :func:`bansac.fit_line`; the threshold is that of the Sampson distance, to first order
    the distance from the ellipse.

    Returns
    -------
    Result
        ``model`` is (x, y, a, b, angle): the centre, the semi-axes ``a >= b``, and the angle of the longer one, from
        the x axis towards the y axis, in [0, pi). If a line fits the points as well, as on a short arc,
        they do not determine the long axis, and ``configuration`` is "undetermined_curvature".

    Examples
    --------
    >>> import numpy as np, bansac
    >>> t = np.linspace(0, 6, 50)
    >>> points = np.column_stack([3 + 2 * np.cos(t), np.sin(t)])
    >>> ellipse, inliers = bansac.fit_ellipse(points, threshold=0.01)
    >>> bool(np.allclose(ellipse[:4], [3, 0, 2, 1]))
    True
    """
    return estimate("ellipse", as_columns("points", points, 2), threshold, settings)


def fit_polynomial(
    points: ArrayLike, degree: int, *, threshold: Threshold = None, **settings: Unpack[Arguments]
) -> Result[Floats]:
    """Fit a polynomial curve y = c0 + c1 x + ... + cd x^d to 2D points with outliers.

    Parameters
    ----------
    points, **settings
        As in :func:`bansac.fit_line`, with the same errors.
    degree : int
        Degree d of the polynomial, 1 to 8.
    threshold : float or "auto", optional
        Largest vertical distance of an inlier. By default it is estimated, starting from a share of the range of y.

    Returns
    -------
    Result
        ``model`` is (c0, ..., cd), in the order of :mod:`numpy.polynomial`. If a polynomial of degree d - 1 fits the
        points as well, they do not determine cd, and ``configuration`` is "undetermined_curvature".

    Examples
    --------
    >>> import numpy as np, bansac
    >>> x = np.linspace(-1, 1, 50)
    >>> curve, inliers = bansac.fit_polynomial(np.column_stack([x, 1 + x**2]), 2, threshold=0.01)
    >>> bool(np.allclose(curve, [1, 0, 1]))
    True
    """
    from bansac.problems.polynomial import polynomial

    return estimate(polynomial(degree), as_columns("points", points, 2), threshold, settings)


def fit_plane(points: ArrayLike, *, threshold: Threshold = None, **settings: Unpack[Arguments]) -> Result[Floats]:
    """Fit a plane to 3D points with outliers.

    The arguments are those of :func:`bansac.fit_line`, for points (N, 3).

    Returns
    -------
    Result
        ``model`` is (a, b, c, d) with ``a x + b y + c z + d = 0`` and ``a^2 + b^2 + c^2 = 1``.

    Examples
    --------
    >>> import numpy as np, bansac
    >>> points = np.random.default_rng(0).uniform(-1, 1, (50, 3)) * [1, 1, 0] + [0, 0, 5]
    >>> plane, inliers = bansac.fit_plane(points, threshold=0.01)
    >>> np.round(plane, 6) + 0.0
    array([ 0.,  0.,  1., -5.])
    """
    return estimate("plane", as_columns("points", points, 3), threshold, settings)


def fit_line_3d(points: ArrayLike, *, threshold: Threshold = None, **settings: Unpack[Arguments]) -> Result[Floats]:
    """Fit a line to 3D points with outliers.

    The arguments are those of :func:`bansac.fit_plane`.

    Returns
    -------
    Result
        ``model`` is (x, y, z, dx, dy, dz): the point of the line nearest to the origin, and its direction of unit
        length.

    Examples
    --------
    >>> import numpy as np, bansac
    >>> points = np.linspace(-1, 1, 50)[:, None] * [0, 0, 1] + [1, 2, 0]
    >>> line, inliers = bansac.fit_line_3d(points, threshold=0.01)
    >>> np.round(line, 6) + 0.0
    array([1., 2., 0., 0., 0., 1.])
    """
    return estimate("line_3d", as_columns("points", points, 3), threshold, settings)


def fit_sphere(points: ArrayLike, *, threshold: Threshold = None, **settings: Unpack[Arguments]) -> Result[Floats]:
    """Fit a sphere to 3D points with outliers.

    The arguments are those of :func:`bansac.fit_plane`.

    Returns
    -------
    Result
        ``model`` is (x, y, z, r), centre and radius. If a plane fits the points as well, they do not determine the
        radius, and ``configuration`` is "undetermined_curvature".

    Examples
    --------
    >>> import numpy as np, bansac
    >>> points = np.random.default_rng(0).normal(size=(50, 3))
    >>> points /= np.linalg.norm(points, axis=1, keepdims=True)
    >>> sphere, inliers = bansac.fit_sphere(2 * points + [1, 2, 3], threshold=0.01)
    >>> np.round(sphere, 6) + 0.0
    array([1., 2., 3., 2.])
    """
    return estimate("sphere", as_columns("points", points, 3), threshold, settings)


def fit_cylinder(points: ArrayLike, *, threshold: Threshold = None, **settings: Unpack[Arguments]) -> Result[Floats]:
    """Fit a cylinder to 3D points with normals, with outliers.

    Parameters
    ----------
    points : (N, 6) array_like
        The points and their normals, x, y, z, nx, ny, nz. The normals, of any sign and length, lead the search. They
        have no effect on the residuals.
    threshold, **settings
        As in :func:`bansac.fit_line`, with the same errors; the threshold is that of the distance to the surface.

    Returns
    -------
    Result
        ``model`` is (x, y, z, dx, dy, dz, r): the point of the axis nearest to the origin, the direction of the axis,
        and the radius. If a plane fits the points as well, ``configuration`` is "undetermined_curvature".

    Examples
    --------
    >>> import numpy as np, bansac
    >>> angle, height = np.random.default_rng(0).uniform(0, 6, (2, 50))
    >>> normals = np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
    >>> points = 2 * normals + [1, 2, 0] + height[:, None] * [0, 0, 1]
    >>> cylinder, inliers = bansac.fit_cylinder(np.hstack([points, normals]), threshold=0.01)
    >>> np.round(cylinder, 6) + 0.0
    array([1., 2., 0., 0., 0., 1., 2.])
    """
    return estimate("cylinder", as_columns("points", points, 6), threshold, settings)


def estimate_vanishing_point(
    segments: ArrayLike, *, threshold: Threshold = None, **settings: Unpack[Arguments]
) -> Result[Floats]:
    """Estimate the vanishing point of line segments of an image, with outliers.

    Parameters
    ----------
    segments : (N, 4) array_like
        The ends of the segments, x1, y1, x2, y2.
    threshold, **settings
        As in :func:`bansac.fit_line`, with the same errors; the threshold is that of the distance of an end from the
        line through the middle and the vanishing point.

    Returns
    -------
    Result
        ``model`` is (a, b, c) of unit norm, the point (a / c, b / c); at infinity c is 0. If the segments lie on one
        line, they do not determine it, and ``configuration`` is "undetermined_curvature".

    Examples
    --------
    >>> import numpy as np, bansac
    >>> middles = np.random.default_rng(0).uniform(0, 500, (50, 2))
    >>> halves = 0.1 * (np.array([900.0, 200.0]) - middles)
    >>> (a, b, c), inliers = bansac.estimate_vanishing_point(np.hstack([middles - halves, middles + halves]))
    >>> round(float(a / c), 3), round(float(b / c), 3)
    (900.0, 200.0)
    """
    return estimate("vanishing_point", as_columns("segments", segments, 4), threshold, settings)
