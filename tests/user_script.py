"""A program of a user's with annotations, which tests run and check by ``mypy --strict``, and nox also by pyright."""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from collections.abc import Iterator
from typing import TypeAlias, assert_type

import numpy as np
from numpy.typing import NDArray

import bansac
import bansac.compat.cv2 as cv2
from bansac.matches import Matches, load_demo
from bansac.synthetic import epipolar_matches

MatrixResult: TypeAlias = bansac.Result[NDArray[np.float64]]


def homography(pair: Matches) -> NDArray[np.float64]:
    result = bansac.estimate_homography(pair.x1, pair.x2, scores=pair.scores, threshold=1.0, seed=1)
    if not result:
        raise SystemExit(result.message)
    model, inliers = result
    assert_type(model, NDArray[np.float64])
    assert_type(inliers, NDArray[np.bool_])
    assert_type(result.probabilities, NDArray[np.float64] | None)
    if result.probabilities is not None:
        assert (result.probabilities > 0.99).any()
    assert result.inlier_ratio == inliers.mean()
    return model


def pose(pair: Matches) -> bansac.RelativePose:
    options = bansac.Options(max_iterations=2000, scoring="msac", network=bansac.Network(order=2))
    result = bansac.estimate_relative_pose(pair.x1, pair.x2, pair.K, pair.K, options=options, preset="fast")
    assert_type(result.model, bansac.RelativePose)
    (R, t), _ = result
    assert_type(R, NDArray[np.float64])
    assert_type(t, NDArray[np.float64])
    return result.model


def counts(pairs: list[Matches]) -> Iterator[int]:
    for result in bansac.estimate_many(bansac.estimate_fundamental, pairs, workers=2, threshold="auto"):
        assert_type(result, MatrixResult | bansac.Failure)
        yield result.num_inliers if result else -1


def other_calls(pair: Matches) -> None:
    """Call further estimators, whose results have the type of their models."""
    x1, x2, space = pair.x1, pair.x2, np.arange(30.0).reshape(10, 3)
    assert_type(bansac.estimate_fundamental(x1, x2, restarts=bansac.Restarts(limit=4)), MatrixResult)
    assert_type(bansac.estimate_essential(x1, x2, pair.K), MatrixResult)
    assert_type(bansac.estimate_affine(x1, x2, restarts=2, stopping=["ransac", "sprt"]), MatrixResult)
    assert_type(bansac.fit_circle(x1, threshold=2.0, sampler=bansac.Napsac(neighbourhood_radius=50.0)), MatrixResult)
    pose, inliers = bansac.estimate_absolute_pose(space, space[:, :2], threshold=1.0)
    assert_type(pose, bansac.AbsolutePose)
    assert_type(inliers, NDArray[np.bool_])
    models, labels = bansac.estimate_multiple("line", x1, threshold=2.0, max_models=1, preset="fast")
    assert_type(labels, NDArray[np.int64])
    assert len(models) <= 1
    _, mask = cv2.findHomography(x1, x2, cv2.RANSAC)
    assert_type(mask, NDArray[np.uint8])


def unknown_names(result: MatrixResult) -> int:
    """Return how many of these names do not exist; a comment that hides no error is an error itself."""
    found = 0
    try:
        print(result.num_inlier)  # type: ignore[attr-defined]
    except AttributeError:
        found += 1
    try:
        print(bansac.estimate_homografy)  # type: ignore[attr-defined]
    except AttributeError:
        found += 1
    try:
        bansac.fit_line([(0, 0)], preset="quick")  # type: ignore[arg-type]
    except ValueError:
        found += 1
    try:
        bansac.fit_line([(0, 0)], order=2)  # type: ignore[call-arg]
    except TypeError:
        found += 1
    try:
        bansac.estimate_many("line", [], worker=2)  # type: ignore[call-arg]
    except TypeError:
        found += 1
    return found


def main() -> None:
    scene = epipolar_matches(300, inlier_ratio=0.6, noise=0.1, seed=0)
    print(homography(load_demo()))
    print(pose(scene).t)
    print(list(counts([scene, scene])))
    line = bansac.fit_line([(x, 2.0 * x) for x in range(30)], threshold=0.1)
    assert unknown_names(line) == 5
    other_calls(scene)
    print(line.num_inliers, bansac.__version__)


if __name__ == "__main__":
    main()
