"""Compiling everything at once: every part of the registries has its call."""

import dataclasses

import pytest

from bansac.cli import compile_ahead
from bansac.engine.options import REFINERS
from bansac.engine.sampling import SAMPLERS
from bansac.engine.scoring import SCORES
from bansac.engine.stopping import STOPS
from bansac.estimate.presets import find_preset
from bansac.problems.contract import IN_LOOP, MANIFOLD
from bansac.problems.estimators import ESTIMATORS
from bansac.problems.homography import HOMOGRAPHY
from bansac.problems.line import LINE

pytestmark = pytest.mark.slow
NOT_OPTIONS = "preset", "scores", "threshold", "few", "many"


def test_every_part_is_compiled_by_a_task():
    calls = [
        find_preset(settings.get("preset")).options.replace(
            **{name: value for name, value in settings.items() if name not in NOT_OPTIONS}
        )
        for _, settings in compile_ahead.DEFAULTS + compile_ahead.OPTIONS
    ]
    assert {options.sampler for options in calls} == set(SAMPLERS)
    assert {options.scoring for options in calls} == set(SCORES)
    assert {options.refiner(LINE) for options in calls} == set(REFINERS)
    assert {options.optimization(LINE) for options in calls} >= {None, "inner+iterative", "lm"}
    named = {stop.name for options in calls for informed in (False, True) for stop in options.stops(informed=informed)}
    assert named == set(STOPS)
    assert {name for name, _ in compile_ahead.DEFAULTS} >= {row.name for row in ESTIMATORS} - {"relative_pose"}


def test_defaults_have_no_option_but_scores_numbers_of_data_and_those_of_commands():
    options = [settings for _, settings in compile_ahead.DEFAULTS if settings.keys() - {"scores", "few", "many"}]
    lm = {"local_optimization": "lm"}  # of twins and distant scenes
    assert options == [lm, lm, {"sampler": "uniform"}, {"trace": True}, {"preset": "fast"}]


def test_core_has_two_views_and_poses_without_options_of_cameras():
    assert {name for name, _ in compile_ahead.CORE} == {
        *("homography", "fundamental", "essential", "relative_pose", "absolute_pose"),
        *("sized_images", "planar_scene", "pose_of_plane"),
    }


def test_functions_of_a_problem_are_compiled_without_a_call(monkeypatch):
    problem = dataclasses.replace(HOMOGRAPHY)  # nothing is compiled yet
    monkeypatch.setattr(type(compile_ahead._ROWS["homography"]), "load_problem", lambda row: problem)
    compile_ahead._run("homography", {"functions": True})
    names = {name for name, precision, default in problem._compiled}
    assert names == {role.name for role in (*IN_LOOP, *MANIFOLD)}
    assert {precision for name, precision, _ in problem._compiled if name == "residuals"} == {"float32", "float64"}


@pytest.mark.parametrize("name", ["pose_of_plane", "planar_scene"])
def test_scene_of_a_plane_is_one(name):
    assert compile_ahead.call_estimator(name, {}).configuration == "planar"


def test_every_task_runs():
    done = list(compile_ahead.warm_cache(options=True))
    assert len(done) == len(compile_ahead.DEFAULTS) + len(compile_ahead.OPTIONS)
    assert done[0].name == "homography"
    again = next(compile_ahead.warm_cache())
    assert (again.compiled, again.loaded) == (0, 0), "this process has them already"


def test_a_pack_is_for_other_processors_too(tmp_path, monkeypatch):
    monkeypatch.setattr(compile_ahead.config, "CPU_NAME", None)
    with pytest.raises(RuntimeError, match="set NUMBA_CPU_NAME="):
        compile_ahead.build_pack(tmp_path / "kernels.pack", everything=False)
