"""The threshold of a run: written to the state, estimated from residuals."""

import types

import numpy as np

from bansac.engine.threshold import AdaptiveThreshold
from bansac.evidence.noise_scale import LARGEST_IN_PLANE, SMALLEST
from bansac.problems.homography import HOMOGRAPHY

IDENTITY = np.eye(3).ravel()


def matches(noise: float, outliers: int = 0) -> np.ndarray:
    """Return matches (4 x N) of the identity with noise in the second image, and outliers."""
    rng = np.random.default_rng(3)
    x1 = rng.uniform(0.0, 1000.0, (2, 400 + outliers))
    x2 = x1 + noise * rng.standard_normal(x1.shape)
    x2[:, 400:] = rng.uniform(0.0, 1000.0, (2, outliers))
    return np.vstack([x1, x2])


def threshold(
    data: np.ndarray, first: float, *, significant: bool = True
) -> tuple[AdaptiveThreshold, dict[str, float]]:
    """Return a threshold, and the settings of its state."""
    settings = {"squared_threshold": first * first}
    state = types.SimpleNamespace(data=data, settings=settings)
    return AdaptiveThreshold(HOMOGRAPHY, state, first, lambda *_: significant), settings  # type: ignore[arg-type]


def test_a_threshold_is_written_to_the_state() -> None:
    found, settings = threshold(matches(1.0), 2.0)
    assert found.is_estimated
    found.write(3.0)
    assert (found.first, found.value) == (2.0, 3.0)
    assert settings["squared_threshold"] == 9.0


def test_the_estimate_keeps_to_its_bounds() -> None:
    assert threshold(matches(1e-6), 2.0)[0].estimate(IDENTITY) == SMALLEST * 2.0
    found, _ = threshold(matches(500.0), 2.0)
    assert found.estimate(IDENTITY) <= LARGEST_IN_PLANE * 2.0


def test_a_model_needs_significance_and_small_residuals() -> None:
    assert threshold(matches(0.7), 2.0)[0].is_trustworthy(IDENTITY)
    assert not threshold(matches(0.7), 2.0, significant=False)[0].is_trustworthy(IDENTITY)
    assert not threshold(matches(50.0), 2.0)[0].is_trustworthy(IDENTITY)
