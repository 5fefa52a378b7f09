"""Options check themselves."""

import dataclasses

import numpy as np
import pytest

from bansac.engine.option_fields import documentation
from bansac.engine.option_groups import Network, Restarts
from bansac.engine.options import Options
from bansac.engine.sampling import SAMPLERS, Napsac, Sampler
from bansac.engine.stopping import STOPS, Stop, required_by_ransac

BAD_VALUES = {
    "threshold": [0, -1.0, float("nan"), "2", "auto", 1e300, np.ones(1), True],
    "confidence": [0.0, 1.0, None],
    "max_iterations": [0, 10.5, True],
    "min_iterations": [-1],
    "restarts": [0, 1.5, None],
    "network": [None, 2],
    "max_seconds": [0],
    "seed": [-1, 2**64, 1.5, np.array([1, 2]), False],
    "sampler": ["prosaic"],
    "scoring": ["no such score"],
    "weighting": ["sparsity"],
    "verification": ["bail"],
    "stopping": ["never", 3, np.array([1, 2])],
    "refinement": [np.array([1, 2]), "no such refiner"],
    "local_optimization": ["outer"],
    "degeneracy": ["yes"],
    "trace": ["yes"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in BAD_VALUES for value in BAD_VALUES[name]])
def test_a_bad_value_is_refused_and_named(name, value):
    with pytest.raises(ValueError, match=name):
        Options(**{name: value})


BAD_PARTS = {
    Network: {
        "order": [None, 0, 4, "default"],
        "tau": [np.False_, 1.0, None],
        "gamma": ["gamma_4"],
        "activation": ["rho_5"],
        "weight_floor": [0.0, 101.0],
        "min_updates": [-1],
    },
    Restarts: {"limit": [0, None], "iterations": [0, "many", None], "agreement": [0, True]},
    Napsac: {"neighbourhood_radius": [1e300, -1.0, None]},
}


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [(kind, name, value) for kind, bad in BAD_PARTS.items() for name, values in bad.items() for value in values],
)
def test_a_group_checks_itself(kind, name, value):
    with pytest.raises(ValueError, match=name):
        kind(**{name: value})


def test_a_group_leaves_open_what_the_defaults_or_the_options_have():
    options = Options(network=Network(order=2), restarts=Restarts(agreement=3))
    assert options.network == Network(order=2, min_updates=20)
    assert options.restarts == Restarts(limit=16, agreement=3)
    changed = options.replace(network=Network(gamma="gamma_2"), restarts=5)
    assert changed.network == Network(gamma="gamma_2", min_updates=20)
    assert changed.restarts == Restarts(limit=5, agreement=3)
    assert Options(network=Network(min_updates=3)).replace(network=Network(tau=0.2)).network.min_updates == 3


LIMITS = {
    "max_iterations": [1],
    "min_iterations": [0],
    "network": [Network(order=3, weight_floor=100.0, min_updates=0)],
    "restarts": [Restarts(limit=1, agreement=1, iterations=1)],
    "seed": [0, 2**64 - 1],
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
    options = Options(**{"stopping": "sampler"} | settings)
    assert tuple(stop.name for stop in options.stops(informed=informed)) == criteria


def test_criteria_of_the_users_come_after_the_built_in_ones_once_each():
    own, other = Stop("own", required_by_ransac), Stop("other", required_by_ransac)
    options = Options(stopping=[own, "ransac", other, own, STOPS["sprt"], "bansac"])
    assert [stop.name for stop in options.stops(informed=False)] == ["bansac", "ransac", "sprt", "own", "other"]


def test_rows_stand_for_their_names():
    assert Options(sampler=SAMPLERS["prosac"]).sampler_row is Options(sampler="prosac").sampler_row
    assert SAMPLERS["napsac"] == Napsac() != Napsac(neighbourhood_radius=3.0)
    own = Sampler("own", SAMPLERS["uniform"].draw, stopping=("ransac",), neighbourhood_radius=3)
    assert own.neighbourhood_radius == 3.0
    assert Options(sampler=own).sampler_row is own
    assert Options(sampler=own, stopping="sampler").stops(informed=False) == (STOPS["ransac"],)


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
        with pytest.raises(ValueError, match="network needs sampler='bansac'"):
            Options(sampler="prosac", network=Network(**{name: value}))
    with pytest.raises(ValueError, match="min_iterations"):
        Options(min_iterations=11, max_iterations=10)
    with pytest.raises(ValueError, match=r"min_iterations must be at most the iterations of one restart \(50\)"):
        Options(restarts=Restarts(limit=1, iterations=50), min_iterations=51)


def test_replace_names_the_options_where_one_does_not_exist():
    for refused in (Options().replace, Options):
        with pytest.raises(TypeError, match=r"^did you mean 'threshold'\? unknown option 'treshold'; the options are"):
            refused(treshold=1.0)
    changed = Options(threshold=2.0).replace(seed=np.int64(3))
    assert (changed.threshold, changed.seed) == (2.0, 3)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        *((name, f"network=Network({name}=...)") for name in Network.__dataclass_fields__),
        ("agreement", "restarts=Restarts(agreement=...)"),
        ("restart_iterations", "restarts=Restarts(iterations=...)"),
        ("neighbourhood_radius", "sampler=Napsac(neighbourhood_radius=...)"),
    ],
)
def test_what_is_no_option_of_its_own_has_an_error_with_its_place(name, place):
    with pytest.raises(TypeError) as raised:
        Options(**{name: 1})
    assert str(raised.value) == f"{name} is now {place}"


@pytest.mark.parametrize("seed", [7, 7.0, np.uint8(7), np.int64(7), np.float32(7), np.array(7), np.array(7, np.uint16)])
def test_whole_numbers_of_any_type(seed):
    options = Options(seed=seed, max_iterations=1e4, min_iterations=np.array(5.0), restarts=3.0)
    values = [options.seed, options.max_iterations, options.min_iterations, options.restarts.limit]
    assert values == [7, 10_000, 5, 3]
    assert set(map(type, values)) == {int}


def test_numbers_of_any_type():
    options = Options(threshold=np.array(2, np.uint8), confidence=np.float64(0.5), trace=np.True_)
    assert (options.threshold, options.confidence, options.trace) == (2.0, 0.5, True)
    assert [type(value) for value in (options.threshold, options.confidence, options.trace)] == [float, float, bool]


def test_options_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Options().seed = 1


@pytest.mark.parametrize("kind", [Options, Network, Restarts])
def test_the_docstring_has_the_type_and_the_text_of_every_option(kind):
    texts = documentation(kind)
    assert list(texts) == [field.name for field in dataclasses.fields(kind)]
    for field in dataclasses.fields(kind):
        words, text = texts[field.name]
        assert text.endswith(".")
        hint, names = str(field.type), list(field.metadata["choices"])
        if names:  # they stand for the first type
            names = dict.fromkeys([field.default] * (field.default == "default") + names)
            hint = hint.replace(hint.partition(" | ")[0], f"{{{', '.join(map(repr, names))}}}")
        assert words == hint.replace(" | ", " or ").replace("'", '"').replace("Default", '"default"')


def test_another_seed_is_checked_and_the_rest_is_kept():
    options = Options(threshold=2.0, seed=3)
    other = options.with_seed(np.int64(5))
    assert (other.seed, type(other.seed), other.threshold) == (5, int, 2.0)
    assert options.with_seed(None).seed is None
    assert options.seed == 3
    for seed in (-1, 2**64, 1.5):
        with pytest.raises(ValueError, match="seed"):
            options.with_seed(seed)
