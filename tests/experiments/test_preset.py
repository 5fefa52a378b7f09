"""Every experiment asks for the paper's settings by name: a change of a default does not change it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bansac import estimate
from bansac.experiments import EXPERIMENTS, Setup, find_experiment


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_does_not_follow_the_defaults(
    name: str, sets: Path, other_defaults: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str | None] = []
    resolve_options = estimate.resolve_options

    def resolve(problem: Any, options: Any, preset: str | None, *rest: Any) -> Any:
        asked.append(preset)
        return resolve_options(problem, options, preset, *rest)

    experiment = find_experiment(name)
    data = sets if experiment.needs_data else None
    setup = Setup(data=data, pairs=1, repeats=1)
    unit = next(iter(experiment.units(setup)))

    def run() -> list[Any]:
        rows = experiment.run_unit(setup, unit)
        return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]

    monkeypatch.setattr(estimate, "resolve_options", resolve)
    before = run()
    with other_defaults():
        after = run()
    assert set(asked) == {"paper"}
    assert len(asked) >= 2
    np.testing.assert_equal(after, before)
