"""A program of a user's with annotations, which tests run and check by ``mypy --strict``, and nox also by pyright."""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import bansac
from bansac.matches import Matches, load_demo
from bansac.synthetic import epipolar_matches


def homography(pair: Matches) -> NDArray[np.float64]:
    result: bansac.Result = bansac.estimate_homography(pair.x1, pair.x2, scores=pair.scores, threshold=1.0, seed=1)
    if not result.success:
        raise SystemExit(result.message)
    model, inliers = result
    ratio: float = result.inlier_ratio
    likely: NDArray[np.float64] | None = result.probabilities
    assert likely is not None
    assert ratio == inliers.mean()
    return np.asarray(model)


def pose(pair: Matches) -> bansac.RelativePose:
    options = bansac.Options(max_iterations=2000, scoring="msac")
    result = bansac.estimate_relative_pose(pair.x1, pair.x2, pair.K, pair.K, options=options)
    found: bansac.RelativePose = result.model
    return found


def counts(pairs: list[Matches]) -> Iterator[int]:
    for result in bansac.estimate_many("fundamental", pairs, workers=2, threshold="auto"):
        yield -1 if isinstance(result, bansac.Failure) else result.num_inliers


def unknown_names(result: bansac.Result) -> int:
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
    return found


def main() -> None:
    scene = epipolar_matches(300, inlier_ratio=0.6, noise=0.1, seed=0)
    print(homography(load_demo()))
    print(pose(scene).t)
    print(list(counts([scene, scene])))
    line = bansac.fit_line([(x, 2.0 * x) for x in range(30)], threshold=0.1)
    assert unknown_names(line) == 2
    print(line.num_inliers, bansac.__version__)


if __name__ == "__main__":
    main()
