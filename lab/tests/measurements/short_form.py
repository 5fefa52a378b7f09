"""Short forms of measurements: some of their units run, and their tables read the report."""

import dataclasses
import json
from typing import Any

from bansac_lab.measurement import Setup
from bansac_lab.measurements import find_measurement
from bansac_lab.runner import run_measurement
from bansac_lab.tables import to_markdown


def run(name: str, *units: str, **options: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Run the units whose keys begin with one of some texts, by default all; return the document and the tables."""
    measurement = find_measurement(name)
    all_units = measurement.units
    chosen = dataclasses.replace(
        measurement, units=lambda setup: [unit for unit in all_units(setup) if unit.key.startswith(units or "")]
    )
    document = json.loads(json.dumps(run_measurement(chosen, Setup(**options), None).document))  # as it is stored
    assert document["failed"] == {}
    return document, {name: to_markdown(make(document)) for name, make in measurement.tables.items()}


def run_all(experiment: Any, setup: Setup) -> tuple[list[Any], list[Any], Any]:
    """Run all units of an experiment in this process; return units, rows and report."""
    units = experiment.units(setup)
    rows = [row for unit in units for row in experiment.run_unit(setup, unit)]
    return units, rows, experiment.report(setup, iter(rows))
