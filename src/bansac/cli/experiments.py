"""``bansac experiments``: the tables and figures of the paper."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from bansac.batch.output_files import OutputFolder
from bansac.cli.app import Group
from bansac.cli.arguments import (
    ExecutorOption,
    SchedulerOption,
    WorkersOption,
    choose_executor,
    parse_out,
    with_flags,
)
from bansac.cli.console import command, report, show_progress
from bansac.cli.measure import end, parameter_of, show_report
from bansac.lab.experiments import EXPERIMENTS, find_experiment
from bansac.lab.measurement import Setup
from bansac.lab.options import EXPERIMENT_OPTIONS
from bansac.lab.runner import run_experiment

app = typer.Typer(cls=Group, no_args_is_help=True, help="Run the experiments of the paper.")


@app.command("list")
@command
def list_command() -> None:
    """List the experiments with their place in the paper and their default settings."""
    for name in EXPERIMENTS:
        experiment = find_experiment(name)
        optional = "; takes --data" if experiment.sets is not None else ""
        needs = "; needs --data" if experiment.needs_data else optional
        report.print(f"{name}\n  {experiment.title}", markup=False)
        report.print(f"  {experiment.reference}\n  default: {experiment.defaults}{needs}", markup=False)


def run(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The experiment, see bansac experiments list.")],
    options: dict[str, Any],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", parser=parse_out, help="Write the results here. Default: bansac-experiments/NAME."),
    ] = None,
    workers: WorkersOption = 1,
    executor: ExecutorOption = None,
    scheduler: SchedulerOption = None,
) -> None:
    """Run an experiment: runs.csv, tables (Markdown and LaTeX), figures (PNG and SVG) and run.json.

    Results are saved as they are computed, and the same command resumes an interrupted run. The same seed gives the
    same errors for any number of workers. Options that an experiment does not use are rejected. Exit code 1: units
    failed, because their data are damaged or their workers died repeatedly. run.json has the reasons.
    """
    experiment = find_experiment(name)
    if scheduler is not None and "data" in options:
        options["data"] = options["data"].absolute()  # workers may have other working directories
    setup = experiment.resolve(Setup(**options))
    where = choose_executor(executor, workers, scheduler)
    folder = OutputFolder(out if out is not None else Path("bansac-experiments") / name)
    settings = json.loads(json.dumps(setup.plain()))
    _refuse_another(folder.path, {"experiment": name, "seed": setup.seed, "settings": settings})
    outcome = run_experiment(experiment, setup, folder, workers=workers, executor=where, progress=show_progress)
    show_report(outcome, [])
    report.print(f"wrote {', '.join(folder.files)}", markup=False)
    end(outcome)


def _refuse_another(folder: Path, wanted: dict[str, Any]) -> None:
    """Raise a ValueError if the folder holds results of another experiment or of other settings."""
    try:
        found = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        other = [f"{name} {found.get(name)}" for name, value in wanted.items() if found.get(name) != value]
    except (OSError, ValueError, AttributeError):
        return
    if other:
        raise ValueError(f"--out: {folder} has the results of another run ({other[0]}); name another folder")


app.command()(command(with_flags(run, "options", map(parameter_of, EXPERIMENT_OPTIONS))))
