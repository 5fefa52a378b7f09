"""Options check themselves."""

import dataclasses

import numpy as np
import pytest

from bansac.engine.options import Options
from bansac.engine.sampling import SAMPLERS, Sampler
from bansac.engine.stopping import STOPS, Stop

BAD_VALUES = {
    "threshold": [0, -1.0, float("nan"), "2", "auto", 1e300, np.ones(1), True],
    "neighborhood_radius": [1e300, -1.0],
    "confidence": [0.0, 1.0, None],
    "max_iterations": [0, 10.5, True],
    "min_iterations": [-1],
    "restarts": [0, 1.5, None],
    "restart_iterations": [0, "many"],
    "agreement": [0, True],
    "max_seconds": [0],
    "seed": [-1, 2**64, 1.5, np.array([1, 2]), False],
    "order": [None, 0, 4],
    "tau": [np.False_, 1.0],
    "sampler": ["prosaic"],
    "epipolar_error": ["transfer"],
    "scoring": ["no such score"],
    "weighting": ["sparsity"],
    "verification": ["bail"],
    "stopping": ["never", 3, np.array([1, 2])],
    "refinement": [np.array([1, 2]), "no such refiner"],
    "gamma": ["gamma_4"],
    "activation": ["rho_5"],
    "weight_floor": [0.0, 101.0],
    "local_optimization": ["outer"],
    "degeneracy": ["yes"],
    "trace": ["yes"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in BAD_VALUES for value in BAD_VALUES[name]])
def test_a_bad_value_is_refused_and_named(name, value):
    with pytest.raises(ValueError, match=name):
        Options(**{name: value})


LIMITS = {
    "max_iterations": [1],
    "min_iterations": [0],
    "min_updates": [0],
    "restarts": [1],
    "restart_iterations": [1],
    "agreement": [1],
    "seed": [0, 2**64 - 1],
    "order": [1, 3],
    "weight_floor": [100.0],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in LIMITS for value in LIMITS[name]])
def test_the_limits_are_allowed(name, value):
    assert getattr(Options(**{name: value}), name) == value


@pytest.mark.parametrize(
    ("settings", "informed", "criteria"),
    [
        ({}, False, ("bansac", "sprt")),
        ({"sampler": "napsac"}, False, ("sprt",)),
        ({"sampler": "baysac", "verification": None}, False, ("ransac",)),
        ({"sampler": "prosac"}, False, ("prosac",)),
        ({"sampler": "p-napsac"}, False, ("ransac", "sprt")),
        ({"sampler": "p-napsac", "verification": None}, False, ("ransac",)),
        ({"sampler": "uniform"}, False, ("sprt",)),
        ({"verification": None}, False, ("bansac", "ransac")),
        ({"sampler": "uniform", "verification": None}, False, ("ransac",)),
        ({"stopping": "bansac"}, False, ("bansac",)),
        ({"stopping": "ransac + bansac+ransac"}, False, ("bansac", "ransac")),
        ({"stopping": ["sprt", "ransac"]}, False, ("ransac", "sprt")),
        ({"stopping": None}, False, ()),
        ({"stopping": ()}, False, ()),
        ({}, True, ("bansac", "prosac")),
        ({"verification": None}, True, ("bansac", "prosac")),
        ({"stopping": "bansac"}, True, ("bansac",)),
        ({"sampler": "uniform"}, True, ("sprt",)),
    ],
)
def test_stopping_criteria(settings, informed, criteria):
    # In the order in which they are asked, whatever the order in which they are given.
    options = Options(**{"stopping": "default"} | settings)
    assert tuple(stop.name for stop in options.stops(informed=informed)) == criteria


def test_criteria_of_the_users_come_after_the_built_in_ones_once_each():
    own, other = Stop("own", "a.module"), Stop("other", "a.module")
    options = Options(stopping=[own, "ransac", other, own, STOPS["sprt"], "bansac"])
    assert [stop.name for stop in options.stops(informed=False)] == ["bansac", "ransac", "sprt", "own", "other"]


def test_rows_stand_for_their_names():
    assert Options(sampler=SAMPLERS["prosac"]).sampler_row is Options(sampler="prosac").sampler_row
    assert Options(sampler=SAMPLERS["napsac"], neighborhood_radius=3.0).neighborhood_radius == 3.0
    own = Sampler("own", "a.module", neighbors=True, stopping=("ransac",))
    assert Options(sampler=own, neighborhood_radius=3.0).neighborhood_radius == 3.0
    assert Options(sampler=own).sampler_row is own
    assert Options(sampler=own, stopping="default").stops(informed=False) == (STOPS["ransac"],)


def test_impossible_combinations_are_refused():
    with pytest.raises(ValueError, match="verification"):
        Options(stopping="sprt", verification=None)
    with pytest.raises(ValueError, match="sampler"):
        Options(stopping="bansac", sampler="uniform")
    for name, value in {
        "order": 2,
        "gamma": "gamma_2",
        "tau": 0.01,
        "weight_floor": 2.0,
        "activation": "rho_2",
    }.items():
        with pytest.raises(ValueError, match=f"{name} needs sampler='bansac'"):
            Options(sampler="prosac", **{name: value})
    with pytest.raises(ValueError, match="neighborhood_radius needs sampler='napsac'"):
        Options(neighborhood_radius=3.0)
    with pytest.raises(ValueError, match="min_iterations"):
        Options(min_iterations=11, max_iterations=10)
    with pytest.raises(ValueError, match=r"min_iterations must be at most restart_iterations \(50\).*got 51"):
        Options(restarts=1, restart_iterations=50, min_iterations=51)


def test_replace_names_the_options_where_one_does_not_exist():
    with pytest.raises(TypeError, match=r"'treshold'.*threshold"):
        Options().replace(treshold=1.0)
    changed = Options(threshold=2.0).replace(seed=np.int64(3))
    assert (changed.threshold, changed.seed) == (2.0, 3)


@pytest.mark.parametrize("seed", [7, 7.0, np.uint8(7), np.int64(7), np.float32(7), np.array(7), np.array(7, np.uint16)])
def test_whole_numbers_of_any_type(seed):
    options = Options(seed=seed, max_iterations=1e4, min_iterations=np.array(5.0), restarts=3.0)
    values = [options.seed, options.max_iterations, options.min_iterations, options.restarts]
    assert values == [7, 10_000, 5, 3]
    assert set(map(type, values)) == {int}


def test_numbers_of_any_type():
    options = Options(threshold=np.array(2, np.uint8), confidence=np.float64(0.5), trace=np.True_)
    assert (options.threshold, options.confidence, options.trace) == (2.0, 0.5, True)
    assert [type(value) for value in (options.threshold, options.confidence, options.trace)] == [float, float, bool]


def test_options_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Options().seed = 1


def test_every_option_has_its_text():
    for field in dataclasses.fields(Options):
        assert field.metadata["help"].endswith(".")
        assert f"\n{field.name} : " in Options.__doc__
        assert " ".join(field.metadata["details"].split()) in Options.__doc__


def test_another_seed_is_checked_and_the_rest_is_kept():
    options = Options(threshold=2.0, seed=3)
    other = options.with_seed(np.int64(5))
    assert (other.seed, type(other.seed), other.threshold) == (5, int, 2.0)
    assert options.with_seed(None).seed is None
    assert options.seed == 3
    for seed in (-1, 2**64, 1.5):
        with pytest.raises(ValueError, match="seed"):
            options.with_seed(seed)
