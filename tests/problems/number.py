"""A problem whose model is one number: the datum itself."""

from bansac.problems.problem import Problem


def solve(data, sample, models, scratch):
    models[0, 0] = data[0, sample[0]]
    return 1


def residuals(data, model, start, stop, out):
    for i in range(start, stop):
        out[i - start] = (data[0, i] - model[0]) ** 2


CONSTANT = Problem("constant", 1, 1, (1,), solve, residuals)
