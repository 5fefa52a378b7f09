"""Essential matrices from three matches and the vertical direction in both cameras.

In frames whose second axis is vertical, the rotation turns by one angle about this axis: u2 ~ d (Ry u1 + t'). So t' is
orthogonal to a = (Ry u1) x u2 for all three matches (Fraundorfer, Tanskanen and Pollefeys, A minimal case solution to
the calibrated relative pose problem for the case of two known orientation angles, ECCV 2010). With c and s, the cosine
and sine of the angle, the components of a are k1 + c p + s r, c d + s e and k3 + c r - s p. Over the three matches they
are the columns of a singular matrix, and since c^2 + s^2 = 1, its determinant is

    (c d + s e) . (k1 x k3 + p x r + c (k1 x r + p x k3) + s (r x k3 - k1 x p)).

This conic in (c, s) is a quartic in the tangent of half the angle, with up to four real roots.
"""

import math

from bansac.compiled.jit import inner_kernel
from bansac.maths.arrays import Floats, Ints
from bansac.maths.linalg import longest_cross
from bansac.maths.polynomial_roots import STURM_SCRATCH, sturm_roots

MAX_MODELS = 4

# The first axis of an upright frame is the horizontal part of the optical axis, unless the cosine of its angle to the
# vertical is above this value; then it is that of the second axis of the camera.
_STEEP = 0.9
# The rows a are parallel if their cross product is at most this fraction of their squared lengths.
_PARALLEL = 1e-9

# Offsets in the scratch: the upright frames; the columns k1, p, r, d, e, k3; the vector v of the conic
# (c d + s e) . (v0 + c v1 + s v2); three rows a; the quartic, its roots and the work space of their search.
_FRAME1, _FRAME2 = 0, 9
_K1, _P, _R, _D, _E, _K3 = 18, 21, 24, 27, 30, 33
_V = 36
_A = 45
_QUARTIC = 54
_ROOTS = _QUARTIC + 5
_STURM = _ROOTS + 4
SCRATCH = _STURM + STURM_SCRATCH


def solve(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Compute the essential matrices of three matches; rows 4 to 9 of the data are the unit verticals."""
    i = sample[0]
    _write_frame(data[4, i], data[5, i], data[6, i], scratch[_FRAME1:_FRAME2])
    _write_frame(data[7, i], data[8, i], data[9, i], scratch[_FRAME2:_K1])
    for n in range(3):
        k = sample[n]
        _write_columns(data[0, k], data[1, k], data[2, k], data[3, k], n, scratch)
    _write_quartic(scratch)
    roots, count = scratch[_ROOTS:_STURM], 0
    found = sturm_roots(scratch[_QUARTIC:_ROOTS], 4, roots, scratch[_STURM:])
    for n in range(found):
        half = roots[n]
        c, s = (1.0 - half * half) / (1.0 + half * half), 2.0 * half / (1.0 + half * half)
        count += 1 if _write_model(c, s, scratch, models[count]) else 0
    return count


@inner_kernel
def _write_frame(x: float, y: float, z: float, frame: Floats) -> None:
    """Write a right-handed frame whose second axis is a unit vector, row by row."""
    a, b, c = (-z * x, -z * y, 1.0 - z * z) if abs(z) < _STEEP else (-y * x, 1.0 - y * y, -y * z)
    length = math.sqrt(a * a + b * b + c * c)
    a, b, c = a / length, b / length, c / length
    frame[0], frame[1], frame[2] = a, b, c
    frame[3], frame[4], frame[5] = x, y, z
    frame[6], frame[7], frame[8] = b * z - c * y, c * x - a * z, a * y - b * x


@inner_kernel
def _write_columns(x1: float, y1: float, x2: float, y2: float, n: int, s: Floats) -> None:
    """Write entry n of the columns from the rays of a match in the upright frames."""
    ux, uy, uz = s[0] * x1 + s[1] * y1 + s[2], s[3] * x1 + s[4] * y1 + s[5], s[6] * x1 + s[7] * y1 + s[8]
    wx, wy, wz = s[9] * x2 + s[10] * y2 + s[11], s[12] * x2 + s[13] * y2 + s[14], s[15] * x2 + s[16] * y2 + s[17]
    s[_K1 + n], s[_K3 + n] = uy * wz, -uy * wx
    s[_P + n], s[_R + n] = -uz * wy, ux * wy
    s[_D + n], s[_E + n] = uz * wx - ux * wz, -(ux * wx + uz * wz)


@inner_kernel
def _write_quartic(s: Floats) -> None:
    """Write the coefficients of the quartic in the tangent of half the angle."""
    for m in range(3):
        i, j = (m + 1) % 3, (m + 2) % 3
        ai, pi, ri, bi = s[_K1 + i], s[_P + i], s[_R + i], s[_K3 + i]
        aj, pj, rj, bj = s[_K1 + j], s[_P + j], s[_R + j], s[_K3 + j]
        s[_V + m] = (ai * bj - aj * bi) + (pi * rj - pj * ri)
        s[_V + 3 + m] = ai * rj - aj * ri + pi * bj - pj * bi
        s[_V + 6 + m] = ri * bj - rj * bi - ai * pj + aj * pi
    c, sine, cc, cs, ss = 0.0, 0.0, 0.0, 0.0, 0.0
    for m in range(3):
        d, e = s[_D + m], s[_E + m]
        c += d * s[_V + m]
        sine += e * s[_V + m]
        cc += d * s[_V + 3 + m]
        cs += d * s[_V + 6 + m] + e * s[_V + 3 + m]
        ss += e * s[_V + 6 + m]
    q = s[_QUARTIC:]
    q[0], q[1], q[2], q[3], q[4] = cc + c, 2.0 * (sine + cs), 4.0 * ss - 2.0 * cc, 2.0 * (sine - cs), cc - c


@inner_kernel
def _write_model(c: float, s: float, scratch: Floats, model: Floats) -> bool:
    """Write E of an angle, with unit translation; False if the matches leave its direction undetermined."""
    a, size = scratch[_A:_QUARTIC], 0.0
    for n in range(3):
        a[3 * n] = scratch[_K1 + n] + c * scratch[_P + n] + s * scratch[_R + n]
        a[3 * n + 1] = c * scratch[_D + n] + s * scratch[_E + n]
        a[3 * n + 2] = scratch[_K3 + n] + c * scratch[_R + n] - s * scratch[_P + n]
        size += a[3 * n] ** 2 + a[3 * n + 1] ** 2 + a[3 * n + 2] ** 2
    tx, ty, tz = longest_cross(a, 1, 3)
    length = math.sqrt(tx * tx + ty * ty + tz * tz)
    if not length > _PARALLEL * size:
        return False
    tx, ty, tz = tx / length, ty / length, tz / length
    for j in range(3):  # [t]x Ry times a column of the first frame, then the transpose of the second frame
        x, y, z = scratch[_FRAME1 + j], scratch[_FRAME1 + 3 + j], scratch[_FRAME1 + 6 + j]
        x, z = c * x + s * z, c * z - s * x
        p, q, r = ty * z - tz * y, tz * x - tx * z, tx * y - ty * x
        for i in range(3):
            model[3 * i + j] = scratch[_FRAME2 + i] * p + scratch[_FRAME2 + 3 + i] * q + scratch[_FRAME2 + 6 + i] * r
    return True
