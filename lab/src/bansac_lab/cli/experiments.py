"""``bansac experiments``: the tables and figures of the paper."""

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from bansac.batch.output_files import OutputFolder
from bansac.cli.app import COMMANDS, Group
from bansac.cli.arguments import SchedulerOption, connect, out_option, with_flags
from bansac.cli.console import command, report, show_progress
from bansac_lab.cli.measure import end, parameter_of, show_report
from bansac_lab.experiments import EXPERIMENTS, find_experiment
from bansac_lab.measurement import EXPERIMENT_OPTIONS, Measurement, Setup
from bansac_lab.runner import RunSummary, run_experiment

WorkersOption = Annotated[int, typer.Option(help="Processes. With more than 1, the report has no times.")]

app = typer.Typer(cls=Group, no_args_is_help=True, help=COMMANDS["experiments"])


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
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The experiment, see bansac experiments list. Or all of them: all.")
    ],
    options: dict[str, Any],
    out: Annotated[Path | None, out_option("DIR", "Write the results here. Default: bansac-experiments/NAME.")] = None,
    workers: WorkersOption = 1,
    scheduler: SchedulerOption = None,
) -> None:
    """Run an experiment: runs.csv, tables (Markdown), figures (PNG and SVG) and run.json.

    Results are saved as they are computed, and the same command resumes an interrupted run. The same seed gives the
    same errors for any number of workers. Options that an experiment does not use are rejected. Exit code 1: units
    failed, because their data are damaged or their workers died repeatedly. run.json has the reasons.

    "all" runs every experiment with those options that it uses, in a folder of its name in --out. Those for which
    there are no data are left out, with the reason.
    """
    if scheduler is not None and "data" in options:
        options["data"] = options["data"].absolute()  # workers may have other working directories
    cluster = None if scheduler is None else connect(scheduler, None if workers == 1 else workers)
    where = {"workers": workers, "executor": cluster}
    if name == "all":
        end(_run_all(options, out or Path("bansac-experiments"), where))
        return
    end(_run_one(find_experiment(name), Setup(**options), out or Path("bansac-experiments") / name, where))


def _run_one(experiment: Measurement, setup: Setup, out: Path, where: dict[str, Any]) -> RunSummary:
    setup, folder = experiment.resolve(setup), OutputFolder(out)
    settings = json.loads(json.dumps(setup.plain()))
    _refuse_another(folder.path, {"experiment": experiment.name, "seed": setup.seed, "settings": settings})
    outcome = run_experiment(experiment, setup, folder, progress=show_progress, **where)
    show_report(outcome, [])
    report.print(f"wrote {', '.join(folder.files)}", markup=False)
    return outcome


def _run_all(options: dict[str, Any], out: Path, where: dict[str, Any]) -> RunSummary:
    """Run the experiments that have data; return the outcome of the last one, or of the last one with failures."""
    done: list[RunSummary] = []
    rows = []
    for experiment in map(find_experiment, EXPERIMENTS):
        own = {option.name: options[option.name] for option in experiment.options if option.name in options}
        report.print(f"\n{experiment.name}: {experiment.title}", markup=False)
        started = time.perf_counter()
        try:
            done.append(_run_one(experiment, Setup(**own), out / experiment.name, where))
        except ValueError as error:
            rows.append(f"{experiment.name}: left out, {error}")
            continue
        rows.append(f"{experiment.name}: {(time.perf_counter() - started) / 60:.1f} minutes")
    report.print("\n" + "\n".join(rows), markup=False)
    if not done:
        raise ValueError("no experiment ran")
    return next((outcome for outcome in reversed(done) if outcome.failed), done[-1])


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
