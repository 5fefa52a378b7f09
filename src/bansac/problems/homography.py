"""The homography between two views of a plane: x2 ~ H x1.

The data are matches, channels x1, y1, x2, y2. The residual is the forward transfer error, the distance in the second
image between x2 and H x1 (Hartley and Zisserman, Multiple View Geometry, 2nd ed., section 4.2).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.numeric.jit import inlined, kernel
from bansac.problems.frames import normalize
from bansac.problems.problem import Problem

__all__ = ["HOMOGRAPHY", "homography_4pt"]

# Three points are collinear where twice the area of their triangle is below this share of the sample's squared size.
_COLLINEAR = 1e-6
# What is below this share of the largest eigenvalue in a fit is rounding.
_VANISHING = 1e-13
_NEWTON_STEPS = 5

Frame = tuple[float, float, float, float, float, float, float]
# An entry below this share of a homography's norm may have either sign.
_TINY = 1e-12


def solve(
    data: NDArray[np.float64], sample: NDArray[np.int64], models: NDArray[np.float64], scratch: NDArray[np.float64]
) -> int:
    """Compute the homography of four matches in closed form.

    With coordinates relative to the fourth point let P and Q be the 3 x 3 matrices of the first three points of the two
    images. A homography takes the columns of P to multiples of those of Q, H = Q diag(w) adj(P), whatever the weights
    w. Let l_i be twice the signed area of the triangle of the fourth point and the two others than i. The fourth point
    is P (l_1, l_2, l_3) in the first image, Q (m_1, m_2, m_3) in the second, and so goes where it should if
    w_i = m_i / l_i; multiplied by l_1 l_2 l_3 this needs no division. As the fourth point is the origin, the l_i are
    cross products of two vectors and also the last column of adj(P), and the last column of H is (0, 0, w . l).

    A plane seen from one side has all its points in front of both cameras. Then the two images of a triangle have
    the same orientation for all four triangles of the sample, or the opposite one for all four if the cameras are on
    different sides of the plane (Marquez-Neila et al., Improving RANSAC for fast homography estimation, 2015): a sample
    that contradicts itself is rejected, as are three collinear points.
    """
    i1, i2, i3, i4 = sample[0], sample[1], sample[2], sample[3]
    ox, oy, ou, ov = data[0, i4], data[1, i4], data[2, i4], data[3, i4]
    x1, y1, u1, v1 = data[0, i1] - ox, data[1, i1] - oy, data[2, i1] - ou, data[3, i1] - ov
    x2, y2, u2, v2 = data[0, i2] - ox, data[1, i2] - oy, data[2, i2] - ou, data[3, i2] - ov
    x3, y3, u3, v3 = data[0, i3] - ox, data[1, i3] - oy, data[2, i3] - ou, data[3, i3] - ov

    l1, l2, l3 = x2 * y3 - x3 * y2, x3 * y1 - x1 * y3, x1 * y2 - x2 * y1
    m1, m2, m3 = u2 * v3 - u3 * v2, u3 * v1 - u1 * v3, u1 * v2 - u2 * v1
    l4, m4 = l1 + l2 + l3, m1 + m2 + m3  # of the first three points
    flat = _COLLINEAR * (x1 * x1 + y1 * y1 + x2 * x2 + y2 * y2 + x3 * x3 + y3 * y3)
    if not (abs(l1) > flat and abs(l2) > flat and abs(l3) > flat and abs(l4) > flat):
        return 0
    flat = _COLLINEAR * (u1 * u1 + v1 * v1 + u2 * u2 + v2 * v2 + u3 * u3 + v3 * v3)
    if not (abs(m1) > flat and abs(m2) > flat and abs(m3) > flat and abs(m4) > flat):
        return 0
    turned = (l4 > 0.0) != (m4 > 0.0)
    if ((l1 > 0.0) != (m1 > 0.0)) != turned:
        return 0
    if ((l2 > 0.0) != (m2 > 0.0)) != turned or ((l3 > 0.0) != (m3 > 0.0)) != turned:
        return 0

    w1, w2, w3 = m1 * l2 * l3, m2 * l3 * l1, m3 * l1 * l2
    # Rows of adj(P) without their last column; the third is minus the sum of the others.
    a1, b1 = y2 - y3, x3 - x2
    a2, b2 = y3 - y1, x1 - x3
    c1, c2 = w1 * u1 - w3 * u3, w2 * u2 - w3 * u3
    h11, h12 = c1 * a1 + c2 * a2, c1 * b1 + c2 * b2
    c1, c2 = w1 * v1 - w3 * v3, w2 * v2 - w3 * v3
    h21, h22 = c1 * a1 + c2 * a2, c1 * b1 + c2 * b2
    c1, c2 = w1 - w3, w2 - w3
    h31, h32 = c1 * a1 + c2 * a2, c1 * b1 + c2 * b2
    # Back from the fourth point to the origin: first in image 1, then in image 2.
    h13, h23 = -(h11 * ox + h12 * oy), -(h21 * ox + h22 * oy)
    h33 = l1 * l2 * l3 * m4 - (h31 * ox + h32 * oy)
    h11, h12, h13 = h11 + ou * h31, h12 + ou * h32, h13 + ou * h33
    h21, h22, h23 = h21 + ov * h31, h22 + ov * h32, h23 + ov * h33

    norm = math.sqrt(
        h11 * h11 + h12 * h12 + h13 * h13 + h21 * h21 + h22 * h22 + h23 * h23 + h31 * h31 + h32 * h32 + h33 * h33
    )
    if not 0.0 < norm < np.inf:
        return 0
    scale = 1.0 / norm
    h = models[0]
    h[0], h[1], h[2] = h11 * scale, h12 * scale, h13 * scale
    h[3], h[4], h[5] = h21 * scale, h22 * scale, h23 * scale
    h[6], h[7], h[8] = h31 * scale, h32 * scale, h33 * scale
    return 1


def residuals(
    data: NDArray[np.floating], model: NDArray[np.floating], start: int, stop: int, out: NDArray[np.floating]
) -> None:
    """Compute squared forward transfer errors; inf or NaN for a point that H takes to infinity."""
    x1, y1, x2, y2 = data[0, start:stop], data[1, start:stop], data[2, start:stop], data[3, start:stop]
    h11, h12, h13 = model[0], model[1], model[2]
    h21, h22, h23 = model[3], model[4], model[5]
    h31, h32, h33 = model[6], model[7], model[8]
    for i in range(stop - start):
        w = h31 * x1[i] + h32 * y1[i] + h33
        dx = (h11 * x1[i] + h12 * y1[i] + h13) / w - x2[i]
        dy = (h21 * x1[i] + h22 * y1[i] + h23) / w - y2[i]
        out[i] = dx * dx + dy * dy


def fit(
    data: NDArray[np.float64], weights: NDArray[np.float64], model: NDArray[np.float64], scratch: NDArray[np.float64]
) -> bool:
    """Fit H to weighted matches: a direct linear transform that weighs every match by its depth.

    With p = (x1, y1, 1) and the depth d = h3 . p a match has the algebraic error (h1 . p - d x2, h2 . p - d y2), which
    is d times its transfer error. The plain transform minimises its mean square for |h| = 1; here mean(d^2) = 1 takes
    the place of |h| = 1, the approximation of Taubin (PAMI 1991), so that a mean of the squared transfer errors is
    minimised, in whatever frames. With the first points brought to mean(p p^T) = 1 the best first rows are h1 = U h3
    and h2 = V h3 where U = mean(x2 p p^T) and V = mean(y2 p p^T). What is left is to minimise h3^T M h3 with
    M = mean((x2^2 + y2^2) p p^T) - U^2 - V^2 (the reduction to 3 x 3 is that of Harker and O'Leary, BMVC 2005).
    """
    found, frame = _find_frame(data, weights)
    if not found:
        return False
    for block in range(3):
        _average(data, weights, frame, block, scratch)
    U, V, M = 0, 9, 18
    size = scratch[M] + scratch[M + 4] + scratch[M + 8]
    for i in range(3):
        for j in range(3):
            for k in range(3):
                scratch[M + 3 * i + j] -= scratch[U + 3 * i + k] * scratch[U + 3 * k + j]
                scratch[M + 3 * i + j] -= scratch[V + 3 * i + k] * scratch[V + 3 * k + j]
    found, x, y = _smallest_eigenvector(scratch, M, _VANISHING * size)
    if not found:
        return False
    model[6], model[7], model[8] = x, y, 1.0
    for i in range(3):
        model[i] = scratch[U + 3 * i] * x + scratch[U + 3 * i + 1] * y + scratch[U + 3 * i + 2]
        model[3 + i] = scratch[V + 3 * i] * x + scratch[V + 3 * i + 1] * y + scratch[V + 3 * i + 2]
    # Back from the frames: first of image 1, then of image 2.
    mx1, my1, l11, l21, l22, mx2, my2 = frame
    for row in range(0, 9, 3):
        model[row + 1] /= l22
        model[row] = (model[row] - l21 * model[row + 1]) / l11
        model[row + 2] -= model[row] * mx1 + model[row + 1] * my1
    for i in range(3):
        model[i] += mx2 * model[6 + i]
        model[3 + i] += my2 * model[6 + i]
    return True


@kernel
def _find_frame(data: NDArray[np.float64], weights: NDArray[np.float64]) -> tuple[bool, Frame]:
    """Find the frame of a fit; False where the points of image 1 are collinear.

    It is the weighted centroid of image 1, the Cholesky factor (l11, l21, l22) of its covariance, and the centroid
    of image 2.
    """
    x1, y1, x2, y2 = data[0], data[1], data[2], data[3]
    total, mx1, my1, mx2, my2 = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(weights.size):
        w = weights[i]
        total += w
        mx1 += w * x1[i]
        my1 += w * y1[i]
        mx2 += w * x2[i]
        my2 += w * y2[i]
    if not total > 0.0:
        return False, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    mx1, my1 = mx1 / total, my1 / total
    xx, xy, yy = 0.0, 0.0, 0.0
    for i in range(weights.size):
        x, y, w = x1[i] - mx1, y1[i] - my1, weights[i]
        xx += w * x * x
        xy += w * x * y
        yy += w * y * y
    xx, xy, yy = xx / total, xy / total, yy / total
    determinant = xx * yy - xy * xy
    if not determinant > _VANISHING * (xx + yy) * (xx + yy):
        return False, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    l11 = math.sqrt(xx)
    return True, (mx1, my1, l11, xy / l11, math.sqrt(determinant) / l11, mx2 / total, my2 / total)


@kernel
def _average(
    data: NDArray[np.float64],
    weights: NDArray[np.float64],
    frame: Frame,
    block: int,
    out: NDArray[np.float64],
) -> None:
    """Write the weighted mean of f p p^T, f being x2, y2 and x2^2 + y2^2 for ``block`` 0, 1 and 2, in the frame."""
    x1, y1, x2, y2 = data[0], data[1], data[2], data[3]
    mx1, my1, l11, l21, l22, mx2, my2 = frame
    u_factor = 1.0 if block == 0 else 0.0
    v_factor = 1.0 if block == 1 else 0.0
    square_factor = 1.0 if block == 2 else 0.0
    total, xx, xy, xz, yy, yz, zz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(weights.size):
        x = (x1[i] - mx1) / l11
        y = (y1[i] - my1 - l21 * x) / l22
        u, v = x2[i] - mx2, y2[i] - my2
        w = weights[i]
        total += w
        w *= u_factor * u + v_factor * v + square_factor * (u * u + v * v)
        zz += w
        xz += w * x
        yz += w * y
        xx += w * x * x
        xy += w * x * y
        yy += w * y * y
    k = 9 * block
    out[k] = xx / total
    out[k + 1] = out[k + 3] = xy / total
    out[k + 2] = out[k + 6] = xz / total
    out[k + 4] = yy / total
    out[k + 5] = out[k + 7] = yz / total
    out[k + 8] = zz / total


@inlined
def _smallest_eigenvector(scratch: NDArray[np.float64], at: int, vanishing: float) -> tuple[bool, float, float]:
    """Eigenvector (x, y, 1) of the smallest eigenvalue of the 3 x 3 matrix at ``scratch[at]``.

    The third element of h3 is the mean depth of the points, which are all in front of the camera. Elimination of x
    and y leaves one equation in the eigenvalue, which Newton's method solves from 0. False where the eigenvector is not
    determined, or has the mean depth 0.
    """
    a, b, c = scratch[at], scratch[at + 1], scratch[at + 2]
    d, e, f = scratch[at + 4], scratch[at + 5], scratch[at + 8]
    x, y, eigenvalue = 0.0, 0.0, 0.0
    for step in range(_NEWTON_STEPS):
        determinant = (a - eigenvalue) * (d - eigenvalue) - b * b
        if not (a > eigenvalue and determinant > vanishing * (a + d)):
            return step > 0, x, y
        x = (b * e - (d - eigenvalue) * c) / determinant
        y = (b * c - (a - eigenvalue) * e) / determinant
        square = x * x + y * y
        eigenvalue = (f + c * x + e * y + eigenvalue * square) / (1.0 + square)
    return True, x, y


@kernel
def denormalize(model: NDArray[np.float64], transform: NDArray[np.float64]) -> None:
    """Replace H by B^-1 H A, where A and B are the normalising maps of the two images, in place."""
    scale = transform[0]
    for row in range(3):
        model[3 * row] *= scale
        model[3 * row + 1] *= scale
        model[3 * row + 2] -= model[3 * row] * transform[1] + model[3 * row + 1] * transform[2]
    for i in range(3):
        model[i] = model[i] / scale + transform[3] * model[6 + i]
        model[3 + i] = model[3 + i] / scale + transform[4] * model[6 + i]


@kernel
def canonical(model: NDArray[np.float64]) -> None:
    """Scale H to unit Frobenius norm with h33 > 0; where h33 vanishes, with its largest entry positive."""
    square, largest = 0.0, 0.0
    for i in range(9):
        square += model[i] * model[i]
        if abs(model[i]) > abs(largest):
            largest = model[i]
    if not 0.0 < square < np.inf:
        return
    norm = math.sqrt(square)
    leading = model[8] if abs(model[8]) > _TINY * norm else largest
    scale = 1.0 / norm if leading > 0.0 else -1.0 / norm
    for i in range(9):
        model[i] *= scale


HOMOGRAPHY = Problem(
    name="homography",
    channels=4,
    sample_size=4,
    model_shape=(3, 3),
    solve=solve,
    residuals=residuals,
    fit=fit,
    scratch_size=27,
    precision="float32",
    normalize=normalize,
    denormalize=denormalize,
    canonical=canonical,
    default_threshold=1.0,
    default_max_iterations=1000,
)


def homography_4pt(x1: ArrayLike, x2: ArrayLike) -> NDArray[np.float64] | None:
    """Compute the homography through four matches.

    Parameters
    ----------
    x1, x2 : (4, 2) array-like
        Points in the first and the second image.

    Returns
    -------
    (3, 3) ndarray or None
        H with ``x2 ~ H x1``, of unit Frobenius norm and ``H[2, 2] > 0``; None where three of the points are collinear
        in an image, or where no plane seen from one side can look like this in both.

    Raises
    ------
    ValueError
        If ``x1`` or ``x2`` is not four points with finite coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> from bansac.problems.homography import homography_4pt
    >>> square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    >>> H = homography_4pt(square, 2 * square + 3)
    >>> np.round(H / H[2, 2], 6) + 0.0
    array([[2., 0., 3.],
           [0., 2., 3.],
           [0., 0., 1.]])
    """
    data = np.empty((4, 4))
    for name, points, rows in (("x1", x1, slice(0, 2)), ("x2", x2, slice(2, 4))):
        array = np.asarray(points, dtype=np.float64)
        if array.shape != (4, 2):
            raise ValueError(f"{name} must have shape (4, 2), got {array.shape}")
        if not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite, got {array.tolist()}")
        data[rows] = array.T
    transform, models = np.empty(9), np.empty((1, 9))
    normalize(data, transform)
    if _solve(data, np.arange(4), models, np.empty(0)) == 0:
        return None
    H: NDArray[np.float64] = models.reshape(3, 3)
    denormalize(models[0], transform)
    canonical(models[0])
    return H


_solve = kernel(solve)
