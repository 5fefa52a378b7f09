"""Components: shared by all runs with the same options, whatever the seed."""

import copy
import pickle

import numpy as np

from bansac import Network
from bansac.engine.components import find_components
from bansac.problems.line import LINE
from bansac.synthetic import line_points
from tests.engine.builder import BASE, build_run


def test_runs_with_the_same_options_share_components():
    components = find_components(LINE, BASE, informed=False)
    assert find_components(LINE, BASE.with_seed(7), informed=False) is components
    informed = find_components(LINE, BASE, informed=True)
    assert [stop.name for stop in components.criteria] == ["sprt"]
    assert [stop.name for stop in informed.criteria] == ["prosac"]
    other = find_components(LINE, BASE.replace(min_iterations=3), informed=False)
    assert other is not components
    assert other.kernels is components.kernels


def test_copies_and_pickles_of_options_have_no_components():
    find_components(LINE, BASE, informed=False)
    for other in (copy.deepcopy(BASE), pickle.loads(pickle.dumps(BASE))):
        assert other == BASE
        assert other.components == {}


def test_tau_is_that_of_the_paper():
    points = line_points(60, inlier_ratio=0.5, noise=0.01, seed=1).points.T
    informative = np.linspace(0.1, 0.9, 60)
    assert build_run(LINE, points).settings["tau"] == 0.01
    assert build_run(LINE, points, prior=np.full(60, 0.4)).settings["tau"] == 0.01  # tells nothing
    assert build_run(LINE, points, prior=informative).settings["tau"] == 0.1
    assert build_run(LINE, points, prior=informative, network=Network(tau=0.03)).settings["tau"] == 0.03
