"""What every sampler of the registry promises: distinct data, its traits, a state of its own."""

import numpy as np
import pytest

from bansac.compiled.jit import kernel
from bansac.engine.options import Options
from bansac.engine.sampling import SAMPLERS
from bansac.engine.state import PROGRESS
from bansac.engine.stopping import STOPS
from bansac.problems.line import LINE
from tests.engine.builder import make_frame, make_record
from tests.engine.sampling.helpers import fits

N = 40
samplers = pytest.mark.parametrize("name", SAMPLERS)


def course(name, count=60, *, seed=1, prior=None):
    """Return samples that all fail."""
    rng = np.random.default_rng(0)
    quality = rng.uniform(size=N) if SAMPLERS[name].order else None
    options = Options(sampler=name, seed=seed)
    frame = make_frame(LINE, rng.uniform(size=(2, N)), options, prior=prior, quality=quality)
    row = SAMPLERS[name]
    draw = kernel(row.draw)
    fail = None if row.learn_from_failure is None else kernel(row.learn_from_failure)
    numbers, indices = (np.empty(0), np.empty(0, np.int64)) if row.start is None else row.start(frame)
    assert numbers.dtype == np.float64
    assert indices.dtype == np.int64
    progress = make_record(PROGRESS, subset_limit=N, largest_odds=1.0)
    sample = np.empty(2, np.int64)
    samples = []
    for _ in range(count):
        draw(frame.rng, frame.data, np.ones(N, np.float32), frame.ranking, progress, numbers, indices, sample)
        samples.append(sample.tolist())
        if fail is not None:
            fail(frame.rng, numbers, indices, sample)
    found = None if row.probabilities is None else row.probabilities(numbers, indices)
    return samples, found


@samplers
def test_samples_are_distinct_data(name):
    samples, _ = course(name)
    for sample in samples:
        assert fits(sample, set(), set(range(N)))
    assert len({frozenset(sample) for sample in samples}) > 1


@samplers
def test_the_seed_alone_decides(name):
    assert course(name, seed=3)[0] == course(name, seed=3)[0] != course(name, seed=4)[0]


@samplers
def test_those_that_start_from_a_prior_have_probabilities_and_no_others(name):
    row = SAMPLERS[name]
    prior = np.linspace(0.05, 0.95, N)
    _, found = course(name, 0, prior=prior)
    assert (found is not None or row.adaptive) == row.prior
    if found is not None:
        assert found == pytest.approx(prior)
        _, learnt = course(name, prior=prior)
        assert np.all((learnt > 0) & (learnt < 1))
        assert (learnt < found).sum() == (learnt != found).sum() > 0  # failures only lower them


@samplers
def test_default_criteria_exist_and_fit_the_sampler(name):
    row = SAMPLERS[name]
    assert row.stopping
    for stop in row.stopping:
        assert row.adaptive or not STOPS[stop].adaptive
        assert row.order or not STOPS[stop].order
