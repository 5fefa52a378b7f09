"""Several models in the same data."""

from __future__ import annotations

import time
from typing import NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.engine.posterior import inlier_probabilities
from bansac.estimate.solve import distances, solve_once
from bansac.numeric.arrays import Bools, Floats, Ints
from bansac.numeric.clock import Stopwatch
from bansac.presets import Options, Resolved, Settings, Threshold, resolve_options
from bansac.problems.problem import Problem
from bansac.result import Result
from bansac.validate import as_points

_ROUNDS = 3
_SAME = 0.5


class Found(NamedTuple):
    result: Result
    odds: Floats


class _Multiple:
    def __init__(self, problem, data, resolved, prior, scores, weights, watch):
        self.problem, self.data, self.resolved = problem, data, resolved
        self.prior, self.scores, self.weights, self.watch = prior, scores, weights, watch
        self.n = data.shape[1]

    def search(self, free: Bools, belief: Floats | None):
        take = np.flatnonzero(free)
        if belief is None:
            prior = None if self.prior is None else self.prior[take]
        else:
            prior = belief[take] * (0.5 if self.prior is None else self.prior[take])
        result = solve_once(
            self.problem, np.ascontiguousarray(self.data[:, take]), self.resolved,
            None if self.scores is None else self.scores[take], prior,
            None if self.weights is None else self.weights[take], self.watch, 1.0, False, None)
        if not result.success:
            return None, result
        r = distances(self.problem, self.data, result.model.flatten(), 1.0)
        p = np.clip(inlier_probabilities(r, result.threshold, self.problem.codimension), 0, 1 - 1e-12)
        return Found(result, p / (1 - p)), result

    def shares(self, found):
        odds = np.array([f.odds for f in found]).reshape(len(found), self.n)
        return odds / (1.0 + odds.sum(axis=0))

    def run(self, max_models):
        found, log = [], []
        for _ in range(_ROUNDS):
            before = len(found)
            while len(found) < max_models:
                P = self.shares(found)
                taken = P.sum(axis=0)
                new, result = self.search(taken < 0.5, None if not found else 1 - taken)
                log.append(("search", int((taken<.5).sum()), round(result.threshold, 3), result.num_inliers, result.iterations, result.success))
                if new is None:
                    break
                found.append(new)
            if len(found) == before:
                break
            found = self.contest(found, log)
        return found, log

    def contest(self, found, log):
        kept = []
        P = self.shares(found)
        for k in range(len(found)):
            others = P.sum(axis=0) - P[k]
            new, result = self.search(others < 0.5, P[k] + 1e-3)
            log.append(("refit", int((others<.5).sum()), round(result.threshold, 3), result.num_inliers, result.iterations, result.success))
            if new is not None:
                kept.append(new)
        return self.merge(kept, log)

    def merge(self, found, log):
        found = sorted(found, key=lambda f: -f.result.num_inliers)
        kept = []
        for f in found:
            own = f.odds > 1
            if all(np.mean(g.odds[own] > 1) < _SAME for g in kept):
                kept.append(f)
            else:
                log.append(("merge", int(own.sum())))
        return kept

    def labels(self, found):
        P = self.shares(found)
        none = 1 - P.sum(axis=0)
        A = np.vstack([P, none])
        lab = A.argmax(axis=0)
        lab[lab == len(found)] = -1
        return lab, P


def estimate_multiple(problem, data, *, max_models=None, threshold=None, scores=None, priors=None, weights=None, preset=None, options=None, **settings):
    watch = Stopwatch()
    resolved = resolve_options(problem, options, preset, threshold, settings)
    columns = np.ascontiguousarray(as_points("data", data, problem.channels).T)
    problem.check_on(columns)
    m = _Multiple(problem, columns, resolved, priors, scores, weights, watch)
    found, log = m.run(max_models or 10**9)
    lab, P = m.labels(found)
    return found, lab, P, log
