"""Absolute pose of a calibrated camera from three 3D-2D matches.

The 3D points X_i have the depths d_i > 0 along the unit rays m_i of their images. The depths satisfy
d_i^2 + d_j^2 - 2 (m_i . m_j) d_i d_j = |X_i - X_j|^2. The ratios x = d_1 / d_3 and y = d_2 / d_3 are intersections of
two conics. The pencil of these conics has a degenerate member, a pair of lines (Persson and Nordberg, Lambda Twist,
ECCV 2018; Ding, Yang, Larsson, Olsson and Astrom, Revisiting the P3P problem, CVPR 2023).

A pose is a unit quaternion q and a translation t. The point X has the camera coordinates q X q* + t.
"""

import math

import numpy as np

from bansac.compiled.jit import inlined, inner_kernel
from bansac.maths.arrays import Floats, Ints
from bansac.maths.polynomial_roots import cubic_roots
from bansac.maths.quaternion import write_quaternion

MAX_MODELS = 4

# Offsets in the scratch: two conics, a member of their pencil and its adjugate, each as an upper triangle (11, 12, 13,
# 22, 23, 33); the matrix of two lines; the cubic and its roots; the unit rays; the cosines between them and the squared
# distances of the points, for the pairs 12, 13, 23; the inverse of the points' frame; the points in camera coordinates.
_FIRST, _SECOND, _MEMBER, _ADJUGATE = 0, 6, 12, 18
_LINES = 24
_CUBIC = _LINES + 9
_ROOTS = _CUBIC + 4
_RAYS = _ROOTS + 3
_COSINES = _RAYS + 9
_SQUARES = _COSINES + 3
_FRAME = _SQUARES + 3
_SEEN = _FRAME + 9
SCRATCH = _SEEN + 9

# Three points are collinear if the area of their triangle is below this fraction of the area of its bounding square.
_COLLINEAR = 1e-6
# A leading coefficient of the cubic below this fraction of the others is a rounding error: one root is at infinity.
_NEGLIGIBLE = 1e-14
# Newton steps for the depths, and the largest residual of their equations relative to the squared distances.
_STEPS = 3
_EXACT = 1e-6

# Indices of the entries of a symmetric matrix in its upper triangle.
_DIAGONAL = np.array([0, 3, 5])
_ENTRY = np.array([[0, 1, 2], [1, 3, 4], [2, 4, 5]])


def solve(data: Floats, sample: Ints, models: Floats, scratch: Floats) -> int:
    """Compute up to four poses from three matches; none if the points or their images are collinear.

    ``data`` has the channels x, y (normalised image coordinates), X, Y, Z.
    """
    if not (_write_frame(data, sample, scratch) and _write_rays(data, sample, scratch)):
        return 0
    _write_conics(scratch)
    row, column, root = _find_lines(scratch)
    if row < 0:
        return 0
    conic = _SECOND if abs(root) < 1.0 else _FIRST  # the one with the smaller weight in the degenerate member
    count = 0
    for line in range(2):
        at, step = (_LINES + 3 * row, 1) if line == 0 else (_LINES + column, 3)
        first, second = scratch[at], scratch[at + step]
        swap = abs(first) < abs(second)
        if swap:
            first, second = second, first
        # The line is x = p y + r, or y = p x + r if the coordinates are swapped.
        p, r = -second / first, -scratch[at + 2 * step] / first
        roots, low, high = _meet(scratch, conic, p, r, swap)
        for k in range(roots):
            v = low if k == 0 else high
            u = p * v + r
            x, y = (v, u) if swap else (u, v)
            if x > 0.0 and y > 0.0 and _place(scratch, x, y):
                count += _write_pose(data, sample, models[count], scratch)
    return count


@inner_kernel
def _write_frame(data: Floats, sample: Ints, s: Floats) -> bool:
    """Write the squared distances and the inverse of (u, v, u x v), the vectors from point 1; False if parallel."""
    i, j, k = sample[0], sample[1], sample[2]
    ux, uy, uz = data[2, j] - data[2, i], data[3, j] - data[3, i], data[4, j] - data[4, i]
    vx, vy, vz = data[2, k] - data[2, i], data[3, k] - data[3, i], data[4, k] - data[4, i]
    wx, wy, wz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    square = wx * wx + wy * wy + wz * wz
    uu, vv = ux * ux + uy * uy + uz * uz, vx * vx + vy * vy + vz * vz
    if not math.sqrt(square) > _COLLINEAR * (uu + vv):
        return False
    s[_SQUARES], s[_SQUARES + 1] = uu, vv
    s[_SQUARES + 2] = (ux - vx) ** 2 + (uy - vy) ** 2 + (uz - vz) ** 2
    s[_FRAME], s[_FRAME + 1], s[_FRAME + 2] = vy * wz - vz * wy, vz * wx - vx * wz, vx * wy - vy * wx
    s[_FRAME + 3], s[_FRAME + 4], s[_FRAME + 5] = wy * uz - wz * uy, wz * ux - wx * uz, wx * uy - wy * ux
    s[_FRAME + 6], s[_FRAME + 7], s[_FRAME + 8] = wx, wy, wz
    for n in range(_FRAME, _SEEN):
        s[n] /= square
    return True


@inner_kernel
def _write_rays(data: Floats, sample: Ints, s: Floats) -> bool:
    """Write the unit rays and the cosines between them; False if the three image points are collinear."""
    i, j, k = sample[0], sample[1], sample[2]
    ux, uy = data[0, j] - data[0, i], data[1, j] - data[1, i]
    vx, vy = data[0, k] - data[0, i], data[1, k] - data[1, i]
    if not abs(ux * vy - uy * vx) > _COLLINEAR * (ux * ux + uy * uy + vx * vx + vy * vy):
        return False
    for n in range(3):
        x, y = data[0, sample[n]], data[1, sample[n]]
        scale = 1.0 / math.sqrt(x * x + y * y + 1.0)
        ray = _RAYS + 3 * n
        s[ray], s[ray + 1], s[ray + 2] = scale * x, scale * y, scale
    for n in range(3):
        a, b = _RAYS + (3 if n == 2 else 0), _RAYS + (3 if n == 0 else 6)
        s[_COSINES + n] = s[a] * s[b] + s[a + 1] * s[b + 1] + s[a + 2] * s[b + 2]
    return True


@inlined
def _write_conics(s: Floats) -> None:
    """Write the conics in (x, y, 1) of the pair 12 and 23 and of the pair 13 and 23, and the cubic of their pencil.

    Let a and b be the squared distances of 12 and 13 divided by the squared distance of 23. The conics are
    x^2 + y^2 - 2 c12 x y = a q and x^2 + 1 - 2 c13 x = b q, with q = y^2 + 1 - 2 c23 y. The cubic is det(A + g B) = 0.
    """
    a, b = s[_SQUARES] / s[_SQUARES + 2], s[_SQUARES + 1] / s[_SQUARES + 2]
    c12, c13, c23 = s[_COSINES], s[_COSINES + 1], s[_COSINES + 2]
    s[0], s[1], s[2], s[3], s[4], s[5] = 1.0, -c12, 0.0, 1.0 - a, a * c23, -a
    s[6], s[7], s[8], s[9], s[10], s[11] = 1.0, 0.0, -c13, -b, b * c23, 1.0 - b
    _write_adjugate(s, _FIRST)
    s[_CUBIC], s[_CUBIC + 1] = _trace_product(s, _FIRST) / 3.0, _trace_product(s, _SECOND)
    _write_adjugate(s, _SECOND)
    s[_CUBIC + 2], s[_CUBIC + 3] = _trace_product(s, _FIRST), _trace_product(s, _SECOND) / 3.0


@inner_kernel
def _write_adjugate(s: Floats, at: int) -> None:
    """Write the adjugate of a symmetric matrix."""
    a, b, c, d, e, f = s[at], s[at + 1], s[at + 2], s[at + 3], s[at + 4], s[at + 5]
    s[_ADJUGATE], s[_ADJUGATE + 1], s[_ADJUGATE + 2] = d * f - e * e, c * e - b * f, b * e - c * d
    s[_ADJUGATE + 3], s[_ADJUGATE + 4], s[_ADJUGATE + 5] = a * f - c * c, b * c - a * e, a * d - b * b


@inner_kernel
def _trace_product(s: Floats, at: int) -> float:
    """Return the trace of the adjugate times a symmetric matrix."""
    adjugate = _ADJUGATE
    diagonal: float = s[adjugate] * s[at] + s[adjugate + 3] * s[at + 3] + s[adjugate + 5] * s[at + 5]
    rest: float = s[adjugate + 1] * s[at + 1] + s[adjugate + 2] * s[at + 2] + s[adjugate + 4] * s[at + 4]
    return diagonal + 2.0 * rest


@inner_kernel
def _find_lines(s: Floats) -> tuple[int, int, float]:
    """Write the matrix 2 m l^T of two lines l and m that contain all intersections of the conics.

    A degenerate member C = l m^T + m l^T of the pencil is a pair of lines. Its adjugate is -p p^T, where p = l x m is
    their intersection. The lines are real if the diagonal of the adjugate is not positive. Then C + [p]x = 2 m l^T. The
    pencil has up to three degenerate members; the one with the largest p is chosen, because its lines differ most.
    Return row and column of the largest entry, -1 without real lines, and the g of the chosen member.
    """
    found = cubic_roots(s[_CUBIC:_ROOTS], s[_ROOTS:_RAYS])
    size = abs(s[_CUBIC]) + abs(s[_CUBIC + 1]) + abs(s[_CUBIC + 2])
    if found < 3 and not abs(s[_CUBIC + 3]) > _NEGLIGIBLE * size:
        s[_ROOTS + found] = np.inf
        found += 1
    best, root, place = 0.0, 0.0, -1
    for k in range(found):
        square = _write_member(s, s[_ROOTS + k])
        for n in range(3):
            share = -s[_ADJUGATE + _DIAGONAL[n]] / square
            if share > best:
                best, root, place = share, s[_ROOTS + k], n
    if place < 0:
        return -1, -1, 0.0
    _write_member(s, root)
    last = -math.sqrt(-s[_ADJUGATE + _DIAGONAL[place]])
    p1, p2 = s[_ADJUGATE + _ENTRY[place, 0]] / last, s[_ADJUGATE + _ENTRY[place, 1]] / last
    p3 = s[_ADJUGATE + _ENTRY[place, 2]] / last
    a, b, c = s[_MEMBER], s[_MEMBER + 1], s[_MEMBER + 2]
    d, e, f = s[_MEMBER + 3], s[_MEMBER + 4], s[_MEMBER + 5]
    s[_LINES], s[_LINES + 1], s[_LINES + 2] = a, b - p3, c + p2
    s[_LINES + 3], s[_LINES + 4], s[_LINES + 5] = b + p3, d, e - p1
    s[_LINES + 6], s[_LINES + 7], s[_LINES + 8] = c - p2, e + p1, f
    largest = 0
    for n in range(1, 9):
        largest = n if abs(s[_LINES + n]) > abs(s[_LINES + largest]) else largest
    return largest // 3, largest % 3, root


@inner_kernel
def _write_member(s: Floats, g: float) -> float:
    """Write A + g B up to scale, and its adjugate; return the sum of its squares."""
    a = 1.0 / (1.0 + abs(g))
    b = math.copysign(1.0 - a, g)
    square = 0.0
    for n in range(6):
        s[_MEMBER + n] = a * s[_FIRST + n] + b * s[_SECOND + n]
        square += s[_MEMBER + n] * s[_MEMBER + n]
    _write_adjugate(s, _MEMBER)
    return square


@inner_kernel
def _meet(s: Floats, conic: int, p: float, r: float, swap: bool) -> tuple[int, float, float]:
    """Intersect a conic with x = p y + r, or y = p x + r if ``swap``; return the number of roots y (or x), and both."""
    a, b, d, c, e, f = s[conic], s[conic + 1], s[conic + 2], s[conic + 3], s[conic + 4], s[conic + 5]
    if swap:
        a, c, d, e = c, a, e, d
    square = (a * p + 2.0 * b) * p + c
    half = (a * r + d) * p + b * r + e
    constant = (a * r + 2.0 * d) * r + f
    discriminant = half * half - square * constant
    if not discriminant >= 0.0:
        return 0, 0.0, 0.0
    q = -(half + math.copysign(math.sqrt(discriminant), half))
    return 2, q / square, constant / q


@inner_kernel
def _place(s: Floats, x: float, y: float) -> bool:
    """Write the points in camera coordinates for two depth ratios, refined (Persson, section 3.7); False if inexact."""
    c12, c13, c23 = s[_COSINES], s[_COSINES + 1], s[_COSINES + 2]
    a12, a13, a23 = s[_SQUARES], s[_SQUARES + 1], s[_SQUARES + 2]
    unit = 2.0 * (x * x + y * y + 1.0 - c12 * x * y - c13 * x - c23 * y)
    d3 = math.sqrt((a12 + a13 + a23) / unit)
    d1, d2 = x * d3, y * d3
    error = np.inf
    for step in range(_STEPS + 1):
        e12 = d1 * d1 + d2 * d2 - 2.0 * c12 * d1 * d2 - a12
        e13 = d1 * d1 + d3 * d3 - 2.0 * c13 * d1 * d3 - a13
        e23 = d2 * d2 + d3 * d3 - 2.0 * c23 * d2 * d3 - a23
        last, error = error, abs(e12) + abs(e13) + abs(e23)
        if step == _STEPS or not error < last:
            break
        # Half the Jacobian has the rows (u1, u2, 0), (v1, 0, v3), (0, w2, w3).
        u1, u2 = d1 - c12 * d2, d2 - c12 * d1
        v1, v3 = d1 - c13 * d3, d3 - c13 * d1
        w2, w3 = d2 - c23 * d3, d3 - c23 * d2
        scale = 0.5 / (u1 * v3 * w2 + u2 * v1 * w3)
        d1 -= scale * (v3 * w2 * e12 + u2 * w3 * e13 - u2 * v3 * e23)
        d2 -= scale * (v1 * w3 * e12 - u1 * w3 * e13 + u1 * v3 * e23)
        d3 -= scale * (-v1 * w2 * e12 + u1 * w2 * e13 + u2 * v1 * e23)
    for n in range(3):
        depth = d1 if n == 0 else d2 if n == 1 else d3
        for k in range(3):
            s[_SEEN + 3 * n + k] = depth * s[_RAYS + 3 * n + k]
    return error < _EXACT * (a12 + a13 + a23) and d1 > 0.0 and d2 > 0.0 and d3 > 0.0


@inner_kernel
def _write_pose(data: Floats, sample: Ints, model: Floats, s: Floats) -> bool:
    """Write the pose that maps the frame u, v, u x v of the 3D points to that in camera coordinates."""
    x, y, z = s[_SEEN], s[_SEEN + 1], s[_SEEN + 2]
    ux, uy, uz = s[_SEEN + 3] - x, s[_SEEN + 4] - y, s[_SEEN + 5] - z
    vx, vy, vz = s[_SEEN + 6] - x, s[_SEEN + 7] - y, s[_SEEN + 8] - z
    wx, wy, wz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    a, b, c = s[_FRAME], s[_FRAME + 3], s[_FRAME + 6]
    r11, r21, r31 = ux * a + vx * b + wx * c, uy * a + vy * b + wy * c, uz * a + vz * b + wz * c
    a, b, c = s[_FRAME + 1], s[_FRAME + 4], s[_FRAME + 7]
    r12, r22, r32 = ux * a + vx * b + wx * c, uy * a + vy * b + wy * c, uz * a + vz * b + wz * c
    a, b, c = s[_FRAME + 2], s[_FRAME + 5], s[_FRAME + 8]
    r13, r23, r33 = ux * a + vx * b + wx * c, uy * a + vy * b + wy * c, uz * a + vz * b + wz * c
    X, Y, Z = data[2, sample[0]], data[3, sample[0]], data[4, sample[0]]
    model[4] = x - (r11 * X + r12 * Y + r13 * Z)
    model[5] = y - (r21 * X + r22 * Y + r23 * Z)
    model[6] = z - (r31 * X + r32 * Y + r33 * Z)
    return write_quaternion(r11, r12, r13, r21, r22, r23, r31, r32, r33, model)
