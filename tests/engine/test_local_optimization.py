"""LO-RANSAC: against a literal version where chance has no part, and its promises where it has."""

import numpy as np
import pytest

from bansac.engine.local_optimization import optimize as improve
from bansac.engine.local_optimization import optimize_locally
from bansac.engine.refinement.levenberg_marquardt import make_work, select_manifold
from bansac.engine.state import pack_run
from bansac.engine.stopping import Stop
from bansac.problems.line import LINE
from tests.engine.builder import blurred_line, build_run
from tests.reference.curves import line_distances
from tests.reference.local_optimization import iterate

THRESHOLD = 0.02


def prepare(n, sample_size):
    return np.full(n, -1)


def required_iterations(is_inlier, ranking, history, progress, indices, sample_size, confidence):
    """Keep the mask that the stopping criteria get."""
    for n in range(is_inlier.size):
        indices[n] = is_inlier[n]
    return np.inf


KEEP_MASK = Stop("keep mask", required_iterations, prepare)


def msac(points, line):
    return np.maximum(1 - (line_distances(line, points) / THRESHOLD) ** 2, 0).sum()


def optimize(points, line, kind, seed=0):
    """Return the model, the record of the run and the mask after a local optimisation of ``line``."""
    settings = {"threshold": THRESHOLD, "sampler": "uniform", "stopping": [KEEP_MASK], "seed": seed}
    run = build_run(LINE, points.T, local_optimization=kind, scoring="msac" if kind == "lm" else "inliers", **settings)
    support = np.count_nonzero(line_distances(line, points) <= THRESHOLD)
    run.best_model[:] = line
    run.progress["best_inliers"] = support
    run.progress["best_score"] = msac(points, line) if kind == "lm" else support
    run.progress["unoptimized"] = True
    if kind == "lm":
        improve(pack_run(run), select_manifold(LINE), make_work(LINE), None, None)
    else:
        optimize_locally(pack_run(run))
    return run.best_model, run.progress, run.stop_indices[0]


@pytest.mark.parametrize("seed", range(20))
def test_the_iterative_optimisation_is_the_literal_one(seed):
    # 14 data are the most of one fit of a line: with so few points near it, no random part is drawn.
    points, line = blurred_line(seed, 24)
    points = points[np.argsort(line_distances(line, points), kind="stable")[:14]]
    model, progress, _ = optimize(points, line, "iterative")
    expected = iterate(points, line, THRESHOLD)
    assert progress["best_inliers"] == np.count_nonzero(line_distances(expected, points) <= THRESHOLD)
    assert model * np.sign(model[:2] @ expected[:2]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("kind", [None, "inner", "iterative", "inner+iterative"])
def test_the_support_never_falls_and_the_mask_is_that_of_the_model(kind):
    gained = []
    for seed in range(20):
        points, line = blurred_line(seed, 24)
        before = np.count_nonzero(line_distances(line, points) <= THRESHOLD)
        model, progress, mask = optimize(points, line, kind, seed)
        assert np.array_equal(mask, line_distances(model, points) <= THRESHOLD)
        assert progress["best_inliers"] == progress["best_score"] == mask.sum()
        assert not progress["unoptimized"]
        gained.append(progress["best_inliers"] - before)
    assert min(gained) >= 0
    assert (max(gained) > 0) == (kind is not None)


def test_a_model_without_inliers_stays():
    points = np.random.default_rng(0).uniform(-1, 1, (30, 2))
    model, progress, mask = optimize(points, np.array([1.0, 0.0, 50.0]), "inner+iterative")
    assert model.tolist() == [1.0, 0.0, 50.0]
    assert progress["best_inliers"] == mask.sum() == 0


def test_levenberg_marquardt_raises_the_score_and_the_stops_get_the_mask_of_the_model():
    improved = 0
    for seed in range(20):
        points, line = blurred_line(seed, 24)
        before = msac(points, line)
        model, progress, mask = optimize(points, line, "lm")
        assert progress["best_score"] == pytest.approx(msac(points, model), abs=1e-3)
        assert progress["best_score"] >= before - 1e-3
        assert not progress["unoptimized"]
        assert progress["models_tested"] == 1
        if not np.array_equal(model, line):
            improved += 1
            assert np.array_equal(mask, line_distances(model, points) <= THRESHOLD)
        else:
            assert (mask == -1).all()  # the stopping criteria know this model
    assert improved > 10
