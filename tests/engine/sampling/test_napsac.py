"""NAPSAC: a centre and uniform ones of its neighbours, or a uniform sample where there are none."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.engine.sampling import napsac
from bansac.engine.sampling.napsac import neighbourhood_radius
from tests.engine.sampling.helpers import compile_draw, draw_samples, equally_frequent, fits, subsets
from tests.reference import sampling as reference

sample_napsac = compile_draw(napsac)


def draw(data, radius, m, count, seed=1):
    memory = {"numbers": np.array([radius * radius]), "indices": np.zeros(2 * data.shape[1] + 1, np.int64)}
    memory["indices"][: data.shape[1] + 1] = np.arange(data.shape[1] + 1)
    return draw_samples(lambda rng, sample: sample_napsac(rng, sample, data=data, **memory), m, count, seed)


def line_of_points(*x):
    return np.array([x, np.zeros(len(x))])


@given(st.integers(1, 4), st.integers(1, 6), st.integers(0, 30), st.floats(0, 1.5), st.integers(0, 2**32))
def test_samples_are_neighbours_of_their_first_datum(channels, m, extra, radius, seed):
    n = m + extra
    data = np.random.default_rng(seed).uniform(size=(channels, n))
    near = [reference.neighbours_within(data, i, radius * radius) for i in range(n)]
    for sample in draw(data, radius, m, 4, seed).tolist():
        assert fits(sample, set(), set(range(n)))
        if any(len(others) >= m - 1 for others in near):  # else it is a uniform sample
            assert set(sample[1:]) <= near[sample[0]]


def test_centres_and_their_neighbours_are_uniform():
    # Two groups of four; no distance is on the boundary.
    samples = draw(line_of_points(0, 1, 2, 3, 50, 51, 52, 53), 10.0, 3, 6000)
    assert equally_frequent(samples[:, 0].tolist(), range(8))
    for start in (0, 4):
        group = samples[(samples[:, 0] == start)]
        chosen = [frozenset(sample[1:]) for sample in group.tolist()]
        assert equally_frequent(chosen, subsets(range(start + 1, start + 4), 2))


def test_one_crowded_datum_among_a_thousand_lonely_ones_is_found():
    lonely = 100.0 * np.arange(1, 1001)
    samples = draw(line_of_points(*lonely, 0, 1, 2), 10.0, 3, 20)
    assert {frozenset(sample) for sample in samples.tolist()} == {frozenset({1000, 1001, 1002})}


def test_without_neighbours_the_sample_is_uniform():
    samples = draw(line_of_points(0, 10, 20, 30, 40), 1.0, 2, 4000)
    assert equally_frequent([frozenset(sample) for sample in samples.tolist()], subsets(range(5), 2))


def test_distances_are_those_of_all_channels():
    # Close in the first image only: no neighbours.
    matches = np.array([[0.0, 1.0, 2.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 90.0, 200.0, 1.0], [0.0, 0.0, 0.0, 1.0]])
    assert {frozenset(sample) for sample in draw(matches, 3.0, 2, 200).tolist()} == {frozenset({0, 3})}


def test_a_distance_equal_to_the_radius_counts():
    assert {frozenset(s) for s in draw(line_of_points(0, 5, 50), 5.0, 2, 100).tolist()} == {frozenset({0, 1})}


def test_a_sample_has_no_datum_twice():
    # Each datum occurs twice, and the only neighbour of most is their duplicate.
    crowded = line_of_points(*np.repeat([0, 1, 2, 50, 100, 150], 2))
    for sample in draw(crowded, 1.5, 3, 100).tolist():
        assert set(crowded[0, sample]) == {0, 1, 2}
    lonely = line_of_points(*np.repeat(100.0 * np.arange(20), 3))
    samples = draw(lonely, 1.5, 3, 300)
    assert np.mean([len(set(lonely[0, sample])) == 3 for sample in samples.tolist()]) > 0.7


def test_radius_is_a_share_of_the_extent_of_the_data():
    data = np.linspace(0, 1000, 1001)[None].repeat(4, axis=0)
    assert neighbourhood_radius(data) == pytest.approx(40)
    assert neighbourhood_radius(data / 500 + 7) == pytest.approx(40 / 500)
    data[:, :20] = 1e6  # stray data do not stretch it
    assert neighbourhood_radius(data) < 41


def test_radius_of_equal_data_is_zero():
    assert neighbourhood_radius(np.ones((2, 5))) == 0
    assert neighbourhood_radius(np.ones((2, 1))) == 0
