"""Detection and repair of fundamental matrices from samples on a plane: DEGENSAC (Chum, Werner and Matas, CVPR 2005).

If five or more of the seven matches of a sample lie on a plane with homography H, F = [e2]x H agrees with all matches
of the plane for any epipole e2. Such an F has all inliers of the plane and a wrong epipole. It is detected by its
homography H, and repaired: H and two matches off the plane determine F ("plane and parallax").
"""

import math

import numpy as np

from bansac.compiled.jit import inlined, inner_kernel
from bansac.geometry.epipolar import epipolar_terms, orientation, second_epipole
from bansac.maths.arrays import Floats, Ints, Words
from bansac.maths.linalg import Entries, copy, matrix_entries
from bansac.maths.rng import next_index
from bansac.solvers import homography_dlt

# Any five of seven matches contain one of these triplets.
_TRIPLETS = np.array([0, 1, 2, 3, 4, 5, 0, 1, 6, 3, 4, 6, 2, 5, 6])
_COPLANAR = 5

# Largest squared distance of a match on the plane, over the squared Sampson threshold of F. It is large because H is
# determined by three matches only, which amplifies their noise.
_PLANE_FACTOR = 9.0

# Pairs are drawn until the probability of having missed the best F is at most this.
_FAILURE = 0.05
_MAX_PAIRS = 300.0

# Offsets in the scratch, after two arrays of length N: two homographies, then the work for the matches of the sample
# and their weights, or for the fit of a homography.
_CANDIDATE = 9
_WORK = 18

_fit_homography = inner_kernel(homography_dlt.fit)


def is_degenerate(data: Floats, sample: Ints, model: Floats, squared_threshold: float, scratch: Floats) -> bool:
    """Return whether five of the seven matches of a sample agree with a homography that is compatible with their F."""
    return _find_plane(data, sample, model, _PLANE_FACTOR * squared_threshold, scratch[:0], scratch)


def repair_degenerate(
    data: Floats, sample: Ints, model: Floats, squared_threshold: float, rng: Words, scratch: Floats
) -> bool:
    """Replace the F of a degenerate sample by one of unit norm with more inliers; return False if none is found.

    It uses 2 N + 53 numbers of the scratch.
    """
    n = data.shape[1]
    weights, off_plane, rest = scratch[:n], scratch[n : 2 * n], scratch[2 * n :]
    plane_threshold = _PLANE_FACTOR * squared_threshold
    if not _find_plane(data, sample, model, plane_threshold, weights, rest):
        return False
    H, candidate, work = rest[:_CANDIDATE], rest[_CANDIDATE:_WORK], rest[_WORK:]
    off_count = n - refit_plane(data, plane_threshold, H, candidate, weights, work)
    return search_epipole(data, weights, off_plane[:off_count], H, model, candidate, squared_threshold, rng)


@inner_kernel
def _find_plane(
    data: Floats, sample: Ints, model: Floats, squared_threshold: float, weights: Floats, scratch: Floats
) -> bool:
    """Find the compatible homography of five sample matches with most matches; any one if ``weights`` is empty."""
    H, candidate, work = scratch[:_CANDIDATE], scratch[_CANDIDATE:_WORK], scratch[_WORK:]
    matches, on_plane = work[:28].reshape(4, 7), work[28:35]
    for i in range(7):
        for c in range(4):
            matches[c, i] = data[c, sample[i]]
    most = 0
    for at in range(0, 15, 3):
        i, j, k = sample[_TRIPLETS[at]], sample[_TRIPLETS[at + 1]], sample[_TRIPLETS[at + 2]]
        if not _write_homography(data, i, j, k, model, squared_threshold, candidate):
            continue
        if mark_plane(matches, candidate, squared_threshold, on_plane) < _COPLANAR:
            continue
        if weights.size == 0:
            return True
        support = mark_plane(data, candidate, squared_threshold, weights)
        if support > most:
            most = support
            copy(candidate, H)
    return most > 0


@inner_kernel
def _write_homography(data: Floats, i: int, j: int, k: int, f: Floats, squared_threshold: float, H: Floats) -> bool:
    """Write the homography that is compatible with F and fits three matches (Hartley and Zisserman, result 13.6).

    H = A - e2 (M^-1 b)^T, where A = [e2]x F, the rows of M are the points x of image 1, and
    b = (x2 x A x) . (x2 x e2) / |x2 x e2|^2 for each match x, x2. The sign of H makes the depth of a match positive.
    Returns False if the points of image 1 are within the threshold of a line, because then H is not determined.
    """
    ex, ey, ez = second_epipole(f)
    for c in range(3):
        H[c] = ey * f[6 + c] - ez * f[3 + c]
        H[3 + c] = ez * f[c] - ex * f[6 + c]
        H[6 + c] = ex * f[3 + c] - ey * f[c]
    # A column of M^-1 is the line through the two other points, divided by det M.
    vx, vy, vz, squares, determinant, depth = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for _ in range(3):
        x, y, u, v = data[0, i], data[1, i], data[2, i], data[3, i]
        lx, ly = data[1, j] - data[1, k], data[0, k] - data[0, j]
        lz = -(data[0, j] * lx + data[1, j] * ly)
        mx, my, mz = H[0] * x + H[1] * y + H[2], H[3] * x + H[4] * y + H[5], H[6] * x + H[7] * y + H[8]
        px, py, pz = v * mz - my, mx - u * mz, u * my - v * mx
        qx, qy, qz = v * ez - ey, ex - u * ez, u * ey - v * ex
        b = (px * qx + py * qy + pz * qz) / (qx * qx + qy * qy + qz * qz)
        vx, vy, vz = vx + b * lx, vy + b * ly, vz + b * lz
        squares += lx * lx + ly * ly
        determinant = lx * x + ly * y + lz
        depth = mz - ez * b
        i, j, k = j, k, i
    if not determinant * determinant > squared_threshold * squares:
        return False
    sign = 1.0 if depth > 0.0 else -1.0
    vx, vy, vz = vx / determinant, vy / determinant, vz / determinant
    for row in range(3):
        e = ex if row == 0 else ey if row == 1 else ez
        H[3 * row] = sign * (H[3 * row] - e * vx)
        H[3 * row + 1] = sign * (H[3 * row + 1] - e * vy)
        H[3 * row + 2] = sign * (H[3 * row + 2] - e * vz)
    return True


@inner_kernel
def mark_plane(data: Floats, H: Floats, squared_threshold: float, weights: Floats) -> int:
    """Set the weights of the matches on the plane to 1 and those of the others to 0; return the number on the plane.

    A match on the plane has a positive depth and a small Sampson distance from H. Like the Sampson distance of F, it is
    a distance in both images. So both thresholds are in the same scale, even if one image is magnified.
    """
    x1, y1, x2, y2 = data[0], data[1], data[2], data[3]
    entries, count = matrix_entries(H), 0
    for i in range(x1.size):
        depth, error, scale = plane_terms(entries, x1[i], y1[i], x2[i], y2[i])
        on = (error < squared_threshold * scale) & (depth > 0.0)
        weights[i] = 1.0 if on else 0.0
        count += 1 if on else 0
    return count


@inlined
def plane_terms(H: Entries, x1: float, y1: float, x2: float, y2: float) -> tuple[float, float, float]:
    """Return the depth w of a match, and numerator and denominator of its squared Sampson distance from H.

    This is the first-order distance to the nearest pair of points that agrees with H (Hartley and Zisserman, section
    4.2.6). Its square is e^T (J J^T)^-1 e, where e = (h1 . p - x2 w, h2 . p - y2 w) are the algebraic errors and J is
    their Jacobian.
    """
    h11, h12, h13, h21, h22, h23, h31, h32, h33 = H
    w = h31 * x1 + h32 * y1 + h33
    a, b = h11 * x1 + h12 * y1 + h13 - x2 * w, h21 * x1 + h22 * y1 + h23 - y2 * w
    ax, ay, bx, by = h11 - x2 * h31, h12 - x2 * h32, h21 - y2 * h31, h22 - y2 * h32
    aa, ab, bb = ax * ax + ay * ay + w * w, ax * bx + ay * by, bx * bx + by * by + w * w
    return w, bb * a * a - 2.0 * ab * a * b + aa * b * b, aa * bb - ab * ab


@inner_kernel
def refit_plane(
    data: Floats, squared_threshold: float, H: Floats, candidate: Floats, weights: Floats, work: Floats
) -> int:
    """Fit H to the matches on its plane while their number grows; set their weights to 1 and return their number."""
    most = mark_plane(data, H, squared_threshold, weights)
    while _fit_homography(data, weights, candidate, work):
        support = mark_plane(data, candidate, squared_threshold, weights)
        if support <= most:
            break
        most = support
        copy(candidate, H)
    return mark_plane(data, H, squared_threshold, weights)


@inner_kernel
def search_epipole(
    data: Floats,
    weights: Floats,
    off_plane: Floats,
    H: Floats,
    model: Floats,
    candidate: Floats,
    squared_threshold: float,
    rng: Words,
) -> bool:
    """Search pairs of matches off the plane by RANSAC; return whether an F has more inliers than ``model``.

    The best F replaces ``model``. The indices of the matches off the plane, whose weight is 0, are written to
    ``off_plane``.
    """
    n, count = off_plane.size, 0
    for k in range(weights.size):
        if weights[k] == 0.0:
            off_plane[count] = k
            count += 1
    if n < 2:
        return False
    best, parallax = _count_inliers(data, model, squared_threshold, weights)
    pairs, drawn, repaired = _required_pairs(parallax, n), 0, False
    while drawn < pairs:
        drawn += 1
        i, j = n, n
        for _ in range(2):
            i, j = j, int(off_plane[next_index(rng, n)])
        if not _write_fundamental(data, i, j, H, candidate):
            continue
        support, parallax = _count_inliers(data, candidate, squared_threshold, weights)
        if support > best:
            best, repaired = support, True
            pairs = _required_pairs(parallax, n)
            copy(candidate, model)
    return repaired


@inner_kernel
def _required_pairs(inliers: int, n: int) -> float:
    """Return the number of pairs of ``n`` matches to draw an all-inlier one, except with probability ``_FAILURE``."""
    p = inliers * (inliers - 1.0) / (n * n)
    pairs = math.log(_FAILURE) / math.log(1.0 - p) if p > 0.0 else _MAX_PAIRS
    return pairs if pairs < _MAX_PAIRS else _MAX_PAIRS


@inner_kernel
def _write_fundamental(data: Floats, i: int, j: int, H: Floats, f: Floats) -> bool:
    """Write F = [e2]x H of unit norm, where e2 = (x2 x H x) x (y2 x H y) for two matches off the plane of H.

    Returns False if the two lines through e2 coincide, or if a match violates the orientation constraint: x2 and H x
    must be on the same side of e2, because all points are in front of both cameras (Chum, Werner and Matas, ICPR 2004).
    """
    ax, ay, az, ex, ey, ez = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in (i, j):
        x, y, u, v = data[0, k], data[1, k], data[2, k], data[3, k]
        mx, my, mz = H[0] * x + H[1] * y + H[2], H[3] * x + H[4] * y + H[5], H[6] * x + H[7] * y + H[8]
        bx, by, bz = v * mz - my, mx - u * mz, u * my - v * mx
        ex, ey, ez = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        ax, ay, az = bx, by, bz
    square = 0.0
    for c in range(3):
        fx, fy, fz = ey * H[6 + c] - ez * H[3 + c], ez * H[c] - ex * H[6 + c], ex * H[3 + c] - ey * H[c]
        f[c], f[3 + c], f[6 + c] = fx, fy, fz
        square += fx * fx + fy * fy + fz * fz
    if not 0.0 < square < np.inf:
        return False
    for k in (i, j):
        if not orientation(data, f, ex, ey, ez, k) > 0.0:
            return False
    scale = 1.0 / math.sqrt(square)
    for c in range(9):
        f[c] *= scale
    return True


@inner_kernel
def _count_inliers(data: Floats, f: Floats, squared_threshold: float, weights: Floats) -> tuple[int, int]:
    """Return the number of inliers of F by the Sampson distance, without divisions, and of those off the plane."""
    x1, y1, x2, y2 = data[0], data[1], data[2], data[3]
    F, count, off_plane = matrix_entries(f), 0, 0
    for i in range(x1.size):
        a1, b1, a2, b2, algebraic = epipolar_terms(F, x1[i], y1[i], x2[i], y2[i])
        square = a1 * a1 + b1 * b1 + a2 * a2 + b2 * b2
        inlier = algebraic * algebraic < squared_threshold * square
        count += 1 if inlier else 0
        off_plane += 1 if inlier & (weights[i] == 0.0) else 0
    return count, off_plane
