"""Every experiment asks for the paper's settings by name, whatever the defaults of the package are."""

import sys
from pathlib import Path
from typing import Any

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
