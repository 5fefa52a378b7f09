"""Absolute pose and focal length of a camera from four 3D-2D matches.

The image of X_i is m_i = (x_i, y_i, 1), relative to the principal point, with the depth d_i:
d_i m_i = diag(f, f, 1) (R X_i + t). With the differences M = (X_1 - X_4, X_2 - X_4, X_3 - X_4) and
B = (d_1 m_1 - d_4 m_4, ...), B = diag(f, f, 1) R M. Let b_r be the rows of B and G = (M^T M)^-1. The rows of
diag(f, f, 1) R are orthogonal, and the first two have the same length: b_r^T G b_s = 0 and b_1^T G b_1 = b_2^T G b_2
(Bujnak, Kukelova and Pajdla, A general solution to the P4P problem for camera with unknown focal length, CVPR 2008).
With d_4 = 1, these are four quadrics in three depths. The first three have up to eight intersections, which are the
roots of a polynomial (Kukelova, Heller and Fitzgibbon, Efficient intersection of three quadrics, CVPR 2016). Here its
values at Chebyshev nodes give the polynomial. The fourth quadric rejects wrong intersections.

If the points are in a plane, M is singular, and the homography of the plane gives the depths and the focal length. If
they are nearly in a plane, both ways give models.

A model is a unit quaternion q, a translation t and f. The point X has the camera coordinates q X q* + t.
"""

import math

import numpy as np

from bansac.compiled.jit import inner_kernel
from bansac.maths.arrays import Floats, Ints
from bansac.maths.linalg import determinant, matrix_entries, write_cross
from bansac.maths.polynomial_roots import STURM_SCRATCH, sturm_roots
from bansac.maths.quaternion import write_quaternion

MAX_MODELS = 9

# Range of the focal lengths, and the focal length that is assumed for a plane parallel to the image, which determines
# none. The unit is that of the image points, about half the diagonal of the image.
_SHORTEST, _LONGEST, _USUAL = 0.1, 100.0, 1.7

# The volumes of four points in a plane, and nearly in a plane, relative to the product of the lengths of the
# differences; the area of three points in a line, relative to the square of these lengths; the squared tilt of a plane
# parallel to the image.
_FLAT, _NEARLY_FLAT, _COLLINEAR, _FRONTAL = 1e-3, 0.05, 1e-6, 1e-8
# Largest ratio of the squared lengths of the first two rows, which are equal without noise.
_LARGEST_RATIO = 2.0

# Depths h = (1 + s) / (1 - s) at the nodes s, and the coefficients of det E (1 - s)^8 from its values there.
_DEGREE = 8
_NODES = np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
_FACTORS = (1.0 - _NODES) ** _DEGREE
_TO_COEFFICIENTS = np.ascontiguousarray(np.linalg.inv(np.vander(_NODES, increasing=True)))

# Offsets in the scratch: the image points (x, y, 1); the columns of M and of their cofactors; G; three quadrics (xx,
# yy, zz, xy, xz, yz, x, y, z, 1); pp, pq and qq as polynomials (hp, p, hq, q, hh, h, 1); the matrix E; the polynomial,
# its roots and the work space of their search; the depths; the frames of three points in the camera and in space.
_IMAGE = 0
_LAST = 9  # the fourth image point
_M = 12
_COFACTORS = _M + 9
_G = _COFACTORS + 9
_QUADRICS = _G + 9
_PRODUCTS = _QUADRICS + 30
_E = _PRODUCTS + 21
_POLYNOMIAL = _E + 9
_ROOTS = _POLYNOMIAL + _DEGREE + 1
_STURM = _ROOTS + _DEGREE
_DEPTHS = _STURM + STURM_SCRATCH
_FRAMES = _DEPTHS + 4
SCRATCH = _FRAMES + 18

# The rows of B that the three quadrics multiply.
_FIRST, _SECOND = np.array([0, 0, 1]), np.array([1, 2, 2])


def solve(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Compute up to nine models from four matches; none if three points of a plane are collinear.

    ``data`` has the channels x, y (relative to the principal point, in a unit of about half the diagonal of the image),
    X, Y, Z.
    """
    volume = _write_differences(data, sample, scratch)
    if not abs(volume) < np.inf:
        return 0
    count = 0
    if not abs(volume) > _NEARLY_FLAT:
        focal = _solve_plane(scratch)
        count += int(focal > 0.0 and _add_model(data, sample, models[0], focal, scratch))
    if not abs(volume) > _FLAT:
        return count
    hidden = _write_products(scratch)
    if hidden < 0:
        return count
    for k in range(_DEGREE + 1):
        scratch[_POLYNOMIAL + k] = 0.0
    for n in range(_DEGREE + 1):
        _write_matrix(scratch, (1.0 + _NODES[n]) / (1.0 - _NODES[n]))
        value = _FACTORS[n] * determinant(scratch[_E:])
        for k in range(_DEGREE + 1):
            scratch[_POLYNOMIAL + k] += _TO_COEFFICIENTS[k, n] * value
    roots = sturm_roots(scratch[_POLYNOMIAL:_ROOTS], _DEGREE, scratch[_ROOTS:_STURM], scratch[_STURM:_DEPTHS])
    for k in range(roots):
        s = scratch[_ROOTS + k]
        if -1.0 < s < 1.0 and _write_depths(scratch, (1.0 + s) / (1.0 - s), hidden):
            focal = _focal_length(scratch, volume)
            count += int(focal > 0.0 and _add_model(data, sample, models[count], focal, scratch))
    return count


@inner_kernel
def _write_differences(data: Floats, sample: Ints, s: Floats) -> float:
    """Write the image points, M, its cofactors and G; return the relative volume, NaN if two points coincide."""
    last = sample[3]
    lengths = 1.0
    for k in range(4):
        at = _IMAGE + 3 * k
        s[at], s[at + 1], s[at + 2] = data[0, sample[k]], data[1, sample[k]], 1.0
    for k in range(3):
        square = 0.0
        for i in range(3):
            difference = data[2 + i, sample[k]] - data[2 + i, last]
            s[_M + 3 * k + i] = difference
            square += difference * difference
        lengths *= math.sqrt(square)
    for k in range(3):
        a, b, c = _M + 3 * ((k + 1) % 3), _M + 3 * ((k + 2) % 3), _COFACTORS + 3 * k
        write_cross(s, a, b, c)
    volume = s[_M] * s[_COFACTORS] + s[_M + 1] * s[_COFACTORS + 1] + s[_M + 2] * s[_COFACTORS + 2]
    largest = 0.0
    for i in range(3):
        for j in range(3):
            a, b = _COFACTORS + 3 * i, _COFACTORS + 3 * j
            s[_G + 3 * i + j] = s[a] * s[b] + s[a + 1] * s[b + 1] + s[a + 2] * s[b + 2]
        entry = s[_G + 4 * i]
        largest = entry if entry > largest else largest
    for i in range(9):  # the scale of G does not matter
        s[_G + i] /= largest
    relative: float = volume / lengths
    return relative


@inner_kernel
def _write_products(s: Floats) -> int:
    """Write the products of two depths as polynomials; return the depth that is hidden in them, -1 if there is none.

    The products pp, pq and qq of the other depths p and q follow from the three quadrics. The depth h is the one with
    the largest determinant of the coefficients of these products.
    """
    for k in range(3):
        r, c, at = _FIRST[k], _SECOND[k], _QUADRICS + 10 * k
        last_r, last_c, constant = s[_LAST + r], s[_LAST + c], 0.0
        for i in range(3):
            linear, i_r, i_c = 0.0, s[_IMAGE + 3 * i + r], s[_IMAGE + 3 * i + c]
            for j in range(3):
                g = s[_G + 3 * i + j]
                constant += g
                linear += g
                if j > i:
                    s[at + 2 + i + j] = g * (i_r * s[_IMAGE + 3 * j + c] + s[_IMAGE + 3 * j + r] * i_c)
            s[at + i] = s[_G + 4 * i] * i_r * i_c
            s[at + 6 + i] = -linear * (i_r * last_c + i_c * last_r)
        s[at + 9] = last_r * last_c * constant
    hidden, largest = -1, 0.0
    for h in range(3):
        p, q = (h + 1) % 3, (h + 2) % 3
        _copy_products(s, p, q)
        size = abs(determinant(s[_E:]))
        if size > largest:
            hidden, largest = h, size
    if hidden < 0:
        return -1
    h, p, q = hidden, (hidden + 1) % 3, (hidden + 2) % 3
    _copy_products(s, p, q)
    inverse = -1.0 / determinant(s[_E:])
    for m in range(3):
        u, v = _E + 3 * ((m + 1) % 3), _E + 3 * ((m + 2) % 3)  # columns of the coefficients
        c0 = inverse * (s[u + 1] * s[v + 2] - s[u + 2] * s[v + 1])
        c1 = inverse * (s[u + 2] * s[v] - s[u] * s[v + 2])
        c2 = inverse * (s[u] * s[v + 1] - s[u + 1] * s[v])
        for k in range(7):
            column = (
                _QUADRICS + (h + p + 2 if k == 0 else 6 + p if k == 1 else h + q + 2 if k == 2 else 6 + q if k == 3
                             else h if k == 4 else 6 + h if k == 5 else 9)
            )  # fmt: skip
            s[_PRODUCTS + 7 * m + k] = c0 * s[column] + c1 * s[column + 10] + c2 * s[column + 20]
    return hidden


@inner_kernel
def _copy_products(s: Floats, p: int, q: int) -> None:
    """Write the coefficients of pp, pq and qq in the three quadrics, one column after the other."""
    for k in range(3):
        at = _QUADRICS + 10 * k
        s[_E + k], s[_E + 3 + k], s[_E + 6 + k] = s[at + p], s[at + p + q + 2], s[at + q]


@inner_kernel
def _write_matrix(s: Floats, h: float) -> None:
    """Write the matrix E for one h: E (p, q, 1)^T = 0, from pp q = pq p, pq q = qq p and pq pq = pp qq."""
    at = _PRODUCTS
    a0, b0 = s[at] * h + s[at + 1], s[at + 2] * h + s[at + 3]
    c0 = (s[at + 4] * h + s[at + 5]) * h + s[at + 6]
    a1, b1 = s[at + 7] * h + s[at + 8], s[at + 9] * h + s[at + 10]
    c1 = (s[at + 11] * h + s[at + 12]) * h + s[at + 13]
    a2, b2 = s[at + 14] * h + s[at + 15], s[at + 16] * h + s[at + 17]
    c2 = (s[at + 18] * h + s[at + 19]) * h + s[at + 20]
    s[_E] = b0 * a2 - b1 * a1 - c1
    s[_E + 1] = (a0 - b1) * b1 + b0 * b2 - a1 * b0 + c0
    s[_E + 2] = (a0 - b1) * c1 + b0 * c2 - a1 * c0
    s[_E + 3] = (a1 - b2) * a1 + b1 * a2 - a2 * a0 - c2
    s[_E + 4] = a1 * b1 - a2 * b0 + c1
    s[_E + 5] = (a1 - b2) * c1 + b1 * c2 - a2 * c0
    pp, pq, qq = a1 * a1 - a0 * a2, 2.0 * a1 * b1 - a0 * b2 - b0 * a2, b1 * b1 - b0 * b2
    s[_E + 6] = pp * a0 + pq * a1 + qq * a2 + 2.0 * a1 * c1 - a0 * c2 - c0 * a2
    s[_E + 7] = pp * b0 + pq * b1 + qq * b2 + 2.0 * b1 * c1 - b0 * c2 - c0 * b2
    s[_E + 8] = pp * c0 + pq * c1 + qq * c2 + c1 * c1 - c0 * c2


@inner_kernel
def _write_depths(s: Floats, h: float, hidden: int) -> bool:
    """Write the four depths at a root; False if one is not positive."""
    _write_matrix(s, h)
    best, p, q = 0.0, 0.0, 0.0
    for k in range(3):  # the null vector is orthogonal to the rows
        a, b = _E + 3 * k, _E + 3 * ((k + 1) % 3)
        x, y = s[a + 1] * s[b + 2] - s[a + 2] * s[b + 1], s[a + 2] * s[b] - s[a] * s[b + 2]
        z = s[a] * s[b + 1] - s[a + 1] * s[b]
        size = abs(z)
        if size > best:
            best, p, q = size, x / z, y / z
    s[_DEPTHS + hidden], s[_DEPTHS + (hidden + 1) % 3], s[_DEPTHS + (hidden + 2) % 3] = h, p, q
    s[_DEPTHS + 3] = 1.0
    return 0.0 < p < np.inf and 0.0 < q < np.inf


@inner_kernel
def _focal_length(s: Floats, volume: float) -> float:
    """Return the focal length for the depths; 0 if the rows differ in length or are those of a mirrored camera."""
    for i in range(3):
        for r in range(3):  # the columns of B
            s[_E + 3 * i + r] = s[_DEPTHS + i] * s[_IMAGE + 3 * i + r] - s[_LAST + r]
    if (determinant(s[_E:]) < 0.0) != (volume < 0.0):
        return 0.0
    first = second = third = 0.0
    for i in range(3):
        for j in range(3):
            a, b, g = _E + 3 * i, _E + 3 * j, s[_G + 3 * i + j]
            first += s[a] * s[b] * g
            second += s[a + 1] * s[b + 1] * g
            third += s[a + 2] * s[b + 2] * g
    if not (first < _LARGEST_RATIO * second and second < _LARGEST_RATIO * first):
        return 0.0
    return math.sqrt(0.5 * (first + second) / third)


@inner_kernel
def _solve_plane(s: Floats) -> float:
    """Write the depths of four points in a plane and return the focal length; 0 if there is none.

    The points have X_4 = sum a_i X_i, and their images m_4 = sum b_i m_i, with the relative areas a_i and b_i of the
    triangles that X_4, or m_4, forms with two of the others. So the depths are d_i = b_i / a_i for d_4 = 1.
    """
    nx = ny = nz = 0.0
    for k in range(3):  # the normal of the triangle is the sum of the cofactors
        nx += s[_COFACTORS + 3 * k]
        ny += s[_COFACTORS + 3 * k + 1]
        nz += s[_COFACTORS + 3 * k + 2]
    square, area, size, spread = nx * nx + ny * ny + nz * nz, 0.0, 0.0, 0.0
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        x1, y1 = s[_IMAGE + 3 * i] - s[_LAST], s[_IMAGE + 3 * i + 1] - s[_LAST + 1]
        x2, y2 = s[_IMAGE + 3 * j] - s[_LAST], s[_IMAGE + 3 * j + 1] - s[_LAST + 1]
        part = x1 * y2 - x2 * y1
        area += part
        spread += x1 * x1 + y1 * y1
        at = _COFACTORS + 3 * k
        share = (s[at] * nx + s[at + 1] * ny + s[at + 2] * nz) / square
        s[_DEPTHS + k] = part / share
        at = _M + 3 * k
        size += s[at] * s[at] + s[at + 1] * s[at + 1] + s[at + 2] * s[at + 2]
    if not (math.sqrt(square) > _COLLINEAR * size and abs(area) > _COLLINEAR * spread):
        return 0.0
    for k in range(3):
        s[_DEPTHS + k] /= area
        if not 0.0 < s[_DEPTHS + k] < np.inf:
            return 0.0
    s[_DEPTHS + 3] = 1.0
    _write_frame(s)
    # The images of two orthonormal vectors of the plane, turned so that the second is parallel to the image.
    x1, y1, z1, x2, y2, z2 = s[_FRAMES], s[_FRAMES + 1], s[_FRAMES + 2], s[_FRAMES + 3], s[_FRAMES + 4], s[_FRAMES + 5]
    across = (x1 * z2 - x2 * z1) ** 2 + (y1 * z2 - y2 * z1) ** 2
    along = (x1 * z1 + x2 * z2) ** 2 + (y1 * z1 + y2 * z2) ** 2
    tilt = z1 * z1 + z2 * z2
    if not tilt > _FRONTAL * (x1 * x1 + x2 * x2 + y1 * y1 + y2 * y2):
        return _USUAL
    return math.sqrt((across - along) / (tilt * tilt)) if across > along else 0.0


@inner_kernel
def _write_frame(s: Floats) -> None:
    """Write the images of e_1, along X_1 - X_3, and of e_2, orthogonal to it in the plane; then e_1 and e_2."""
    a, b, c, at = _M, _M + 3, _M + 6, _FRAMES + 9
    for i in range(3):
        s[at + i], s[at + 3 + i] = s[a + i] - s[c + i], s[b + i] - s[c + i]
        last = s[_DEPTHS + 2] * s[_IMAGE + 6 + i]
        s[_FRAMES + i] = s[_DEPTHS] * s[_IMAGE + i] - last
        s[_FRAMES + 3 + i] = s[_DEPTHS + 1] * s[_IMAGE + 3 + i] - last
    length = 1.0 / math.sqrt(_dot(s, at, at))
    for i in range(3):
        s[at + i] *= length
        s[_FRAMES + i] *= length
    share = _dot(s, at, at + 3)
    for i in range(3):
        s[at + 3 + i] -= share * s[at + i]
        s[_FRAMES + 3 + i] -= share * s[_FRAMES + i]
    length = 1.0 / math.sqrt(_dot(s, at + 3, at + 3))
    for i in range(3):
        s[at + 3 + i] *= length
        s[_FRAMES + 3 + i] *= length


@inner_kernel
def _dot(s: Floats, a: int, b: int) -> float:
    return s[a] * s[b] + s[a + 1] * s[b + 1] + s[a + 2] * s[b + 2]  # type: ignore[no-any-return]


@inner_kernel
def _add_model(data: Floats, sample: Ints, model: Floats, focal: float, s: Floats) -> bool:
    """Write the model of the depths and the focal length; return False if there is none.

    Wrong intersections, whose rows differ in length, give a rotation with other depths. These must be positive, too.
    """
    if not _SHORTEST < focal < _LONGEST:
        return False
    _write_frame(s)
    at = _FRAMES
    for k in range(0, 6, 3):  # in camera coordinates
        s[at + k] /= focal
        s[at + k + 1] /= focal
    scale = 1.0 / math.sqrt(_dot(s, at, at))
    for i in range(6):
        s[at + i] *= scale
    share = _dot(s, at, at + 3)
    for i in range(3):
        s[at + 3 + i] -= share * s[at + i]
    length = 1.0 / math.sqrt(_dot(s, at + 3, at + 3))
    for i in range(3):
        s[at + 3 + i] *= length
    write_cross(s, at, at + 3, at + 6)
    write_cross(s, at + 9, at + 12, at + 15)
    for r in range(3):
        for c in range(3):
            a, b = at + r, at + 9 + c
            s[_E + 3 * r + c] = s[a] * s[b] + s[a + 3] * s[b + 3] + s[a + 6] * s[b + 6]
    last = sample[3]
    X, Y, Z = data[2, last], data[3, last], data[4, last]
    for r in range(3):
        seen = scale * s[_LAST + r] / (focal if r < 2 else 1.0)
        model[4 + r] = seen - (s[_E + 3 * r] * X + s[_E + 3 * r + 1] * Y + s[_E + 3 * r + 2] * Z)
    model[7] = focal
    for k in range(4):
        X, Y, Z = data[2, sample[k]], data[3, sample[k]], data[4, sample[k]]
        if not s[_E + 6] * X + s[_E + 7] * Y + s[_E + 8] * Z + model[6] > 0.0:
            return False
    return write_quaternion(*matrix_entries(s[_E:]), model)
