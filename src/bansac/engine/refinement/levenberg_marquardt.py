"""The Levenberg-Marquardt method for a robust sum of squares on a manifold, independent of the problem.

It minimises the sum over the points of rho(r^T r), where r is the residual of a point and rho is one of two losses,

* truncated: rho(q) = min(q, s^2), whose minimum is the maximum of the MSAC score with the threshold s;
* Tukey's biweight: rho(q) = s^2 / 3 (1 - (1 - q / s^2)^3) for q < s^2, else s^2 / 3. The influence of a point falls to
  zero at the distance s (Beaton and Tukey, Technometrics 1974),

by iteratively reweighted least squares with the weights rho'(q) (Triggs et al., Bundle adjustment: a modern synthesis,
2000, section 4.3, without its second-order term).

A problem gives three functions. ``linearize`` computes the residuals and their derivatives with respect to the numbers
of the model. ``tangent`` gives the directions in which the model may move. ``project`` returns to the manifold. The
normal equations are first summed for the numbers of the model, whose derivatives need no chain rule. They are then
restricted to the few parameters of the tangent space.
"""

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numba import boolean, float64, int64, types

from bansac.compiled.jit import compile_kernel, inlined, inner_kernel, kernel
from bansac.compiled.struct import FunctionStruct
from bansac.engine.state import BLOCK
from bansac.maths.arrays import Floats
from bansac.maths.linalg import copy, solve_positive_definite
from bansac.problems.contract import MANIFOLD, function_types
from bansac.problems.problem import Problem

# Marquardt's damping: its initial value, and the factor by which it changes.
_DAMPING = 1e-3
_CHANGE = 10.0
# The search ends a refinement if the predicted or actual decrease is below this share of the cost. A large damping
# predicts none.
CONVERGED = 1e-5
# Relative regularisation: keeps the equations solvable if no residual depends on a direction.
_NEGLIGIBLE = 1e-12

_MANIFOLD = FunctionStruct(__name__, "_Manifold", (*(row.name for row in MANIFOLD), "accumulate"))

_ACCUMULATE = float64(float64[:, ::1], float64[:, ::1], int64, boolean, float64, float64[:, ::1], float64[:, ::1])


def select_manifold(problem: Problem) -> Any:
    """Return the struct of the functions that ``minimize`` calls, compiled if necessary."""
    return _MANIFOLD.find(problem, None, lambda: _select(problem))


def _select(problem: Problem) -> Any:
    functions = (*problem.manifold, _compiled_accumulate())
    return _MANIFOLD.pack(functions, (*function_types(MANIFOLD), types.FunctionType(_ACCUMULATE)))


@functools.cache
def _compiled_accumulate() -> Any:
    return compile_kernel(accumulate, _ACCUMULATE, fast=True, lean=True)


class Work(NamedTuple):
    """Arrays of ``minimize`` for models of m numbers, p parameters and residuals of c components."""

    residuals: Floats  # c x BLOCK
    jacobian: Floats  # c m x BLOCK
    weights: Floats  # 5 x BLOCK: the weights of the points, three weighted rows, and one number for each row
    normal: Floats  # (m + 1) x m, m rounded up to a multiple of 3: sum of w J^T J, its lower triangle, and of w J^T r
    basis: Floats  # p x m
    system: Floats  # (p + 1) x p: the same for the parameters
    damped: Floats  # (p + 1) x p
    candidate: Floats  # m


def make_work(problem: Problem) -> Work:
    """Return new arrays for a problem."""
    m, c = problem.model_size, problem.residual_size
    p = m if problem.parameters is None else problem.parameters
    rounded = 3 * math.ceil(m / 3)
    return Work(
        residuals=np.empty((c, BLOCK)),
        jacobian=np.empty((c * m, BLOCK)),
        weights=np.empty((5, BLOCK)),
        normal=np.empty((rounded + 1, rounded)),
        basis=np.empty((p, m)),
        system=np.empty((p + 1, p)),
        damped=np.empty((p + 1, p)),
        candidate=np.empty(m),
    )


@inner_kernel
def minimize(
    manifold: Any,
    work: Work,
    data: Floats,
    squared_scale: float,
    smooth: bool,
    max_steps: int,
    least_gain: float,
    model: Floats,
    scratch: Floats,
) -> int:
    """Move ``model`` to a minimum of the cost of ``data``, in at most ``max_steps`` steps; return the accepted ones.

    ``manifold`` has the functions of the problem (``select_manifold``). ``squared_scale`` is s^2 of the loss.
    A step that decreases the cost by at most its fraction ``least_gain`` is the last one. ``scratch`` is that of
    ``project``.
    """
    _, _, _, normal, basis, system, damped, candidate = work
    copy(model, candidate)
    damping, cost, accepted = _DAMPING, np.inf, 0
    for _ in range(max_steps + 1):
        found = np.inf
        if manifold.project(candidate, scratch):
            found = _linearize(manifold, work, data, candidate, squared_scale, smooth)
        if found < cost:
            gained = cost - found
            copy(candidate, model)
            if cost < np.inf:
                accepted += 1
                damping /= _CHANGE
            cost = found
            if gained <= least_gain * cost:
                break
            manifold.tangent(model, basis)
            _restrict(normal, basis, system)
        else:
            damping *= _CHANGE
        promise = _step(system, damping, damped) if cost < np.inf else 0.0
        if not promise > least_gain * cost:
            break
        _move(model, basis, damped, candidate)
    return accepted


@kernel
def step_on_many(
    manifold: Any,
    work: Work,
    measured: Any,
    data: Floats,
    frame: Floats,
    squared_scale: float,
    scratch: Floats,
    longer: float,
    model: Floats,
    share: float,
) -> float:
    """Move ``model`` by a step towards the minimum of the biweight loss of a share of the data.

    Return the decrease that the normal equations predict; 0 if the step fails. The data are read once and not changed:
    channel c of the frame is ``frame[0, c] * data[c] + frame[1, c]``. The struct ``measured`` has their residuals. If
    ``longer`` is 0, the step is that of ``minimize``. If it is 1, a point counts in the matrix with the derivative of
    its influence, not with its weight. Outliers whose residuals are uniform near the model then cancel, as in Newton's
    method. The weights alone make the step too short by their share.
    """
    residuals, jacobian, weights, normal, basis, system, damped, candidate = work
    normal[:] = 0.0
    (channels, n), components = data.shape, residuals.shape[0]
    block, near = np.empty((channels, BLOCK)), np.empty((channels, BLOCK))
    squares, chosen, ratios, inverse = np.empty(BLOCK), np.empty(BLOCK, np.int64), np.empty(BLOCK), 1.0 / squared_scale
    for start in range(0, n, BLOCK):
        if (start // BLOCK * 0.6180339887498949) % 1.0 >= share:  # multiples of the golden ratio are evenly spread
            continue
        size, count = min(n - start, BLOCK), 0
        for c in range(channels):
            source, target, factor, shift = data[c, start : start + size], block[c], frame[0, c], frame[1, c]
            for i in range(size):
                target[i] = factor * source[i] + shift
        measured.residuals(block, model, 0, size, squares)
        for i in range(size):  # without a branch, which half of the points would take
            chosen[count] = i
            count += squares[i] < squared_scale
        for c in range(channels):
            source, target = block[c], near[c]
            for k in range(count):
                target[k] = source[chosen[k]]
        manifold.linearize(near, model, 0, count, residuals, jacobian)
        for k in range(count):
            u = inverse * squares[chosen[k]]
            weight = (1.0 - u) * (1.0 - u)
            derivative = weight - longer * 4.0 / components * u * (1.0 - u)
            weights[0, k] = derivative if abs(derivative) > 1e-9 else 1e-9
            ratios[k] = weight / weights[0, k]
        for c in range(components):
            row = residuals[c]
            for k in range(count):
                row[k] *= ratios[k]
        manifold.accumulate(residuals, jacobian, count, True, -1.0, weights, normal)
    manifold.tangent(model, basis)
    _restrict(normal, basis, system)
    promise = _step(system, 0.0, damped)
    if not promise > 0.0:
        return 0.0
    _move(model, basis, damped, candidate)
    if not manifold.project(candidate, scratch):
        return 0.0
    copy(candidate, model)
    return promise


@inner_kernel
def _linearize(manifold: Any, work: Work, data: Floats, model: Floats, squared_scale: float, smooth: bool) -> float:
    """Sum the normal equations of a model over all blocks, and return its cost."""
    residuals, jacobian, weights, normal = work.residuals, work.jacobian, work.weights, work.normal
    for i in range(normal.shape[0]):
        for j in range(normal.shape[1]):
            normal[i, j] = 0.0
    cost = 0.0
    count = data.shape[1]
    for start in range(0, count, BLOCK):
        stop = start + BLOCK if start + BLOCK < count else count
        manifold.linearize(data, model, start, stop, residuals, jacobian)
        cost += manifold.accumulate(residuals, jacobian, stop - start, smooth, squared_scale, weights, normal)
    return cost


def accumulate(
    residuals: Floats, jacobian: Floats, size: int, smooth: bool, squared_scale: float, weights: Floats, normal: Floats
) -> float:
    """Add the normal equations of a block of ``size`` points to ``normal``, and return the cost of the block.

    If ``squared_scale`` is negative, the first row of ``weights`` is given, and the cost is 0.

    One loop sums the products of three rows of the Jacobian with three rows: it reads six rows for nine products.
    Triples of rows that are all 0 are skipped; for a homography these are half of them.
    """
    m, last = jacobian.shape[0] // residuals.shape[0], normal.shape[0] - 1
    weight, weighted0, weighted1, weighted2 = weights[0], weights[1], weights[2], weights[3]
    squares = weights[4]
    cost = _weigh(residuals, size, smooth, squared_scale, weight) if squared_scale >= 0.0 else 0.0
    for c in range(residuals.shape[0]):
        r = residuals[c, :size]
        for j in range(0, m, 3):
            row0, row1, row2 = _three_rows(jacobian, c * m, j, m, size)
            sum0, sum1, sum2, square = 0.0, 0.0, 0.0, 0.0
            for i in range(size):
                one, two, three = weight[i] * row0[i], weight[i] * row1[i], weight[i] * row2[i]
                weighted0[i], weighted1[i], weighted2[i] = one, two, three
                sum0 += one * r[i]
                sum1 += two * r[i]
                sum2 += three * r[i]
                square += one * row0[i] + two * row1[i] + three * row2[i]
            squares[j] = square
            normal[last, j] += sum0
            normal[last, j + 1] += sum1
            normal[last, j + 2] += sum2
            for k in range(0, j + 1, 3):
                if square == 0.0 or squares[k] == 0.0:
                    continue
                row0, row1, row2 = _three_rows(jacobian, c * m, k, m, size)
                s00, s01, s02, s10, s11, s12, s20, s21, s22 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
                for i in range(size):
                    s00 += weighted0[i] * row0[i]
                    s01 += weighted0[i] * row1[i]
                    s02 += weighted0[i] * row2[i]
                    s10 += weighted1[i] * row0[i]
                    s11 += weighted1[i] * row1[i]
                    s12 += weighted1[i] * row2[i]
                    s20 += weighted2[i] * row0[i]
                    s21 += weighted2[i] * row1[i]
                    s22 += weighted2[i] * row2[i]
                normal[j, k] += s00
                normal[j, k + 1] += s01
                normal[j, k + 2] += s02
                normal[j + 1, k] += s10
                normal[j + 1, k + 1] += s11
                normal[j + 1, k + 2] += s12
                normal[j + 2, k] += s20
                normal[j + 2, k + 1] += s21
                normal[j + 2, k + 2] += s22
    return cost


@inlined
def _three_rows(jacobian: Floats, first: int, j: int, m: int, size: int) -> tuple[Floats, Floats, Floats]:
    """Return rows j to j + 2 of a component, whose row 0 is ``first``; rows beyond the last of m are the last one."""
    second, third = min(j + 1, m - 1), min(j + 2, m - 1)
    return jacobian[first + j, :size], jacobian[first + second, :size], jacobian[first + third, :size]


@inlined
def _weigh(residuals: Floats, size: int, smooth: bool, squared_scale: float, weight: Floats) -> float:
    """Write the weights rho'(q) of a block, and return its cost."""
    for i in range(size):
        weight[i] = 0.0
    for c in range(residuals.shape[0]):
        r = residuals[c, :size]
        for i in range(size):
            weight[i] += r[i] * r[i]
    cost = 0.0
    if smooth:
        inverse, third = 1.0 / squared_scale, squared_scale / 3.0
        for i in range(size):
            rest = max(1.0 - inverse * weight[i], 0.0)
            weight[i] = rest * rest
            cost += third * (1.0 - rest * rest * rest)
        return cost
    for i in range(size):
        inside = weight[i] < squared_scale
        cost += weight[i] if inside else squared_scale
        weight[i] = 1.0 if inside else 0.0
    return cost


@inner_kernel
def _restrict(normal: Floats, basis: Floats, system: Floats) -> None:
    """Restrict the normal equations to the parameters: B A B^T and B g, where B is ``basis``."""
    p, m = basis.shape
    last = normal.shape[0] - 1
    for j in range(m):  # the upper triangle
        for k in range(j):
            normal[k, j] = normal[j, k]
    for a in range(p):
        for b in range(a + 1):
            system[a, b] = 0.0
        system[p, a] = 0.0
        for j in range(m):
            total = 0.0
            for k in range(m):
                total += normal[j, k] * basis[a, k]
            for b in range(a + 1):
                system[a, b] += total * basis[b, j]
            system[p, a] += normal[last, j] * basis[a, j]


@inner_kernel
def _step(system: Floats, damping: float, damped: Floats) -> float:
    """Write the negative damped step to the last row of ``damped``; return the predicted decrease of the cost."""
    p = system.shape[1]
    trace = 0.0
    for a in range(p):
        trace += system[a, a]
    for a in range(p):
        for b in range(a):
            damped[a, b] = system[a, b]
        damped[a, a] = (1.0 + damping) * system[a, a] + _NEGLIGIBLE * trace
        damped[p, a] = system[p, a]
    if not solve_positive_definite(damped, 0.0):
        return 0.0
    promise = 0.0
    for a in range(p):
        promise += system[p, a] * damped[p, a]
    return promise


@inner_kernel
def _move(model: Floats, basis: Floats, damped: Floats, candidate: Floats) -> None:
    """Write the model moved along its tangents to ``candidate``."""
    p, m = basis.shape
    copy(model, candidate)
    for a in range(p):
        for j in range(m):
            candidate[j] -= damped[p, a] * basis[a, j]
