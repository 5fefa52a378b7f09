"""P-NAPSAC against the algorithm written out, sample by sample, and its grids by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bansac.compiled.jit import plain
from bansac.engine.sampling import p_napsac, prosac
from bansac.engine.sampling.p_napsac import build_layers, make_neighbourhoods
from bansac.maths.rng import seed_rng
from tests.engine.sampling.helpers import compile_draw, equally_frequent, fits, subsets
from tests.reference import sampling as reference

draw, draw_by_prosac = compile_draw(p_napsac), compile_draw(prosac)


class Sampler:
    """The sampler with its memory; samples come as ranks."""

    def __init__(self, data, ranking, m, *, seed=1, draws=0):
        self.ranking, self.ranks, self.limit = ranking, np.argsort(ranking), len(ranking)
        self.rng, self.sample = seed_rng(seed), np.empty(m, np.int64)
        self.indices = p_napsac.start(SimpleNamespace(data=data, sample_size=m, rng=self.rng, ranking=ranking))[1]
        self.of_prosac = self.indices[-len(ranking) - 3 :]
        self.neighbourhoods, self.prosac = plain(p_napsac.views)(self.indices, len(ranking))
        self.prosac[0] = draws

    def draw(self):
        draw(self.rng, self.sample, ranking=self.ranking, indices=self.indices, subset_limit=self.limit)
        return self.ranks[self.sample].tolist()


def clustered(rng, channels, n):
    """Return data of which many share a cell, even a fine one."""
    centres = rng.uniform(size=(channels, 4))
    data = centres[:, rng.integers(0, 4, n)] + rng.normal(0, 0.02, (channels, n))
    data[:, : n // 4] = rng.uniform(size=(channels, n // 4))
    return data


@settings(max_examples=15)
@given(st.integers(1, 5), st.integers(2, 6), st.integers(0, 30), st.integers(0, 2**32))
def test_every_sample_is_one_of_the_literal_algorithm(channels, m, extra, seed):
    n = m + extra
    rng = np.random.default_rng(seed)
    data, ranking = clustered(rng, channels, n), rng.permutation(n)
    sampler = Sampler(data, ranking, m, seed=seed)
    literal = reference.ProgressiveNapsac(data[:, ranking].T, m, sampler.prosac[2:].tolist())
    for _ in range(min(120, 20 * (n - 1))):
        must, pool, local = literal.next()
        sample = sampler.draw()
        assert fits(sample, must, pool)
        if local:
            literal.count_hits(sample)
        assert sampler.neighbourhoods.hits.tolist() == literal.hits
        assert sampler.neighbourhoods.sizes.tolist() == literal.sizes


def test_after_the_local_samples_it_is_prosac():
    data = np.random.default_rng(0).uniform(size=(4, 50))
    ranking = np.random.default_rng(1).permutation(50)
    sampler = Sampler(data, ranking, 4, draws=1000)
    rng, memory, sample = seed_rng(1), sampler.of_prosac.copy(), np.empty(4, np.int64)
    for _ in range(100):
        draw_by_prosac(rng, sample, ranking=ranking, indices=memory, subset_limit=50)
        sampler.draw()
        assert sampler.sample.tolist() == sample.tolist()
    assert not sampler.neighbourhoods.hits.any()


def test_neighbours_before_the_last_are_uniform():
    # All data share the finest cell but one, which stretches the box.
    data = np.zeros((2, 8))
    data[:, 7] = 1.0
    sampler = Sampler(data, np.arange(8), 4)
    chosen = []
    for seed in range(1500):
        sampler.rng = seed_rng(seed)
        sampler.prosac[0] = 0
        sampler.neighbourhoods.hits[:] = sampler.neighbourhoods.growth[5]
        sampler.neighbourhoods.sizes[:] = 5
        sample = sampler.draw()  # the centre is 0, the sixth neighbour is forced, two of the first five are drawn
        assert {0, 6} <= set(sample)
        chosen.append(frozenset(sample) - {0, 6})
    assert equally_frequent(chosen, subsets(range(1, 6), 2))


def test_a_neighbourhood_of_more_than_ten_is_used_up():
    data = np.zeros((2, 60))
    data[:, 59] = 1.0  # all others share the finest cell
    for size in (10, 11):
        sampler = Sampler(data, np.arange(60), 3)
        sampler.prosac[0] = 419  # the centre is 21
        sampler.neighbourhoods.hits[:] = sampler.neighbourhoods.growth[size - 1]
        sampler.neighbourhoods.sizes[:] = size
        before = sampler.neighbourhoods.hits.sum()
        sample = set(sampler.draw())
        assert 21 in sample
        assert 9 in sample or size == 11  # the tenth neighbour is forced
        assert sampler.neighbourhoods.hits.sum() - before == (3 if size == 10 else 1)  # local or global


def test_centres_stay_below_the_limit():
    data = np.random.default_rng(0).uniform(size=(2, 40))
    sampler = Sampler(data, np.arange(40), 2)
    sampler.limit = 5
    before = sampler.neighbourhoods.hits.copy()
    for _ in range(300):
        assert min(sampler.draw()) < 40
    assert (sampler.neighbourhoods.hits - before)[:5].sum() >= 300


@given(st.integers(1, 20), st.integers(1, 40), st.integers(0, 2**32))
def test_layers_list_the_data_of_each_cell_by_rank(channels, n, seed):
    rng = np.random.default_rng(seed)
    data, ranking = clustered(rng, channels, n), rng.permutation(n)
    points = data[:, ranking]
    low, high = reference.near_bounds(points)
    members, starts, counts = build_layers(data, ranking)
    for layer, cells in enumerate((16, 8, 4, 2)):
        keys = [tuple(reference.cell(points[c, i], low[c], high[c], cells) for c in range(channels)) for i in range(n)]
        assert sorted(members[layer].tolist()) == list(range(n))
        for rank in range(n):
            start = starts[layer, rank]
            listed = members[layer, start : start + counts[layer, rank]].tolist()
            assert listed == [i for i in range(n) if keys[i] == keys[rank]]


def test_cells_of_many_channels_differ_in_the_first_one():
    data = np.zeros((40, 6))
    data[0, 3:] = 1.0
    members, starts, counts = build_layers(data, np.arange(6))
    assert np.all(counts == 3)
    assert np.all(members == np.arange(6))
    assert np.all(starts == [0, 0, 0, 3, 3, 3])


def test_no_data_make_empty_layers():
    for array in build_layers(np.empty((4, 0)), np.empty(0, np.int64)):
        assert array.shape == (4, 0)


@pytest.mark.parametrize("sample_size", [0, 1, 6])
def test_an_impossible_sample_size_is_named(sample_size):
    with pytest.raises(ValueError, match=rf"sample_size must be at least 2 .* at most 5 .*got {sample_size}"):
        make_neighbourhoods(np.zeros((2, 5)), np.arange(5), sample_size)
