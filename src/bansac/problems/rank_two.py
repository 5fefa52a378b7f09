"""Tangent spaces of fundamental and essential matrices: rank 2 up to scale, 7 and 5 parameters.

Let U = (U2, u3) and V = (V2, v3) be orthonormal bases, where u3 and v3 span the null spaces. Then F = U2 A V2^T with a
2 x 2 matrix A. The tangent directions of F have three parts:

- rotations of v3 (U2 b v3^T), two parameters;
- rotations of u3 (u3 b^T V2^T), two parameters;
- changes of A orthogonal to A, three parameters.

Bartoli and Sturm (PAMI 2004) use U diag(1, s, 0) V^T instead, whose parameters are dependent for s = 1. For an
essential matrix A stays a rotation or a reflection times a scale. This leaves one of the three changes of A, a rotation
of the rows of E about v3 (Helmke, Hueper, Lee and Moore, IJCV 2007).
"""

import math

from bansac.compiled.jit import inner_kernel
from bansac.maths.arrays import Floats
from bansac.maths.linalg import longest_cross


def span_essential(model: Floats, basis: Floats) -> None:
    """Write the 5 tangent directions of E, rows of 9 numbers."""
    _span(model, basis)


def span_fundamental(model: Floats, basis: Floats) -> None:
    """Write the 7 tangent directions of F, rows of 9 numbers."""
    ux, uy, uz, vx, vy, vz = _span(model, basis)
    px, py, pz, qx, qy, qz = complete(ux, uy, uz)
    rx, ry, rz, sx, sy, sz = complete(vx, vy, vz)
    fr = model[0] * rx + model[1] * ry + model[2] * rz
    gr = model[3] * rx + model[4] * ry + model[5] * rz
    hr = model[6] * rx + model[7] * ry + model[8] * rz
    fs = model[0] * sx + model[1] * sy + model[2] * sz
    gs = model[3] * sx + model[4] * sy + model[5] * sz
    hs = model[6] * sx + model[7] * sy + model[8] * sz
    # A = (a b; c d), (-b a; -d c) in the last row of _span, and the two matrices below are an orthogonal basis.
    a, b = px * fr + py * gr + pz * hr, px * fs + py * gs + pz * hs
    c, d = qx * fr + qy * gr + qz * hr, qx * fs + qy * gs + qz * hs
    left, right = (px, py, pz, qx, qy, qz), (rx, ry, rz, sx, sy, sz)
    for i in range(3):
        for j in range(3):
            pr, ps = left[i] * right[j], left[i] * right[3 + j]
            qr, qs = left[3 + i] * right[j], left[3 + i] * right[3 + j]
            basis[5, 3 * i + j] = -c * pr + d * ps + a * qr - b * qs
            basis[6, 3 * i + j] = -d * pr - c * ps + b * qr + a * qs


@inner_kernel
def _span(f: Floats, basis: Floats) -> tuple[float, float, float, float, float, float]:
    """Write the tangent directions that both manifolds share; return u3 and v3 with u3^T F = 0 and F v3 = 0."""
    ux, uy, uz = null_vector(f, 3, 1)
    vx, vy, vz = null_vector(f, 1, 3)
    px, py, pz, qx, qy, qz = complete(ux, uy, uz)
    rx, ry, rz, sx, sy, sz = complete(vx, vy, vz)
    u, p, q = (ux, uy, uz), (px, py, pz), (qx, qy, qz)
    v, r, s = (vx, vy, vz), (rx, ry, rz), (sx, sy, sz)
    for i in range(3):
        for j in range(3):
            k, m = (j + 1) % 3, (j + 2) % 3
            basis[0, 3 * i + j] = p[i] * v[j]
            basis[1, 3 * i + j] = q[i] * v[j]
            basis[2, 3 * i + j] = u[i] * r[j]
            basis[3, 3 * i + j] = u[i] * s[j]
            basis[4, 3 * i + j] = v[k] * f[3 * i + m] - v[m] * f[3 * i + k]
    return ux, uy, uz, vx, vy, vz


@inner_kernel
def null_vector(f: Floats, row: int, column: int) -> tuple[float, float, float]:
    """Return a unit vector orthogonal to the columns of F, or to its rows if the strides are exchanged."""
    x, y, z = longest_cross(f, row, column)
    scale = 1.0 / math.sqrt(x * x + y * y + z * z)
    return scale * x, scale * y, scale * z


@inner_kernel
def complete(x: float, y: float, z: float) -> tuple[float, float, float, float, float, float]:
    """Return two unit vectors that complete the unit vector (x, y, z) to an orthonormal basis (Duff et al., 2017)."""
    sign = 1.0 if z >= 0.0 else -1.0
    a = -1.0 / (sign + z)
    b = x * y * a
    return 1.0 + sign * x * x * a, sign * b, -sign * x, b, sign + y * y * a, -y
