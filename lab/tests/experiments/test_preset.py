"""Every experiment asks for the paper's settings by name, whatever the defaults of the package are."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bansac
from bansac_lab.experiments import EXPERIMENTS, find_experiment
from bansac_lab.measurement import Setup

FUNCTIONS = (
    *("estimate_homography", "estimate_fundamental", "estimate_essential", "estimate_relative_pose"),
    *("fit_line", "fit_circle", "fit_polynomial", "ransac"),
)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_paper_settings_by_name(name: str, sets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def spy(original: Any) -> Any:
        def call(*arguments: Any, **settings: Any) -> Any:
            seen.append(settings.get("preset"))
            return original(*arguments, **settings)

        return call

    for function in FUNCTIONS:
        original = getattr(bansac, function)
        for module in (bansac, sys.modules[original.__module__]):
            monkeypatch.setattr(module, function, spy(original), raising=False)
    setup = Setup(data=sets if find_experiment(name).needs_data else None, pairs=1, repeats=1)
    experiment = find_experiment(name)
    assert experiment.name == name
    of_kind = {unit.key.split("/")[0]: unit for unit in experiment.units(setup)}
    for unit in of_kind.values():
        experiment.run_unit(setup, unit)
    assert seen
    assert set(seen) == {"paper"}


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPERIMENTS)
def test_changed_defaults_change_no_experiment(name: str, sets: Path, other_defaults: Any) -> None:
    experiment = find_experiment(name)
    setup = Setup(data=sets if experiment.needs_data else None, pairs=1, repeats=1)
    unit = next(iter(experiment.units(setup)))

    def run() -> list[Any]:
        rows = experiment.run_unit(setup, unit)
        return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]

    before = run()
    with other_defaults():
        after = run()
    assert before
    np.testing.assert_equal(after, before)
