"""``bansac experiments``: the tables and figures of the paper."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from bansac.batch.output_files import OutputFolder
from bansac.cli.arguments import (
    ExecutorOption,
    SchedulerOption,
    WorkersOption,
    choose_executor,
    given,
    parse_out,
    split_names,
)
from bansac.cli.console import command, notes, report, show_progress
from bansac.lab.evaluation.experiment import Setup
from bansac.lab.evaluation.provenance import plain_settings
from bansac.lab.evaluation.render import to_markdown
from bansac.lab.evaluation.runner import run_experiment
from bansac.lab.experiments import EXPERIMENTS, find_experiment
from bansac.problems.estimators import Kind

INCOMPLETE = 1

app = typer.Typer(no_args_is_help=True, help="Run the experiments of the paper.")


@app.command("list")
@command
def list_command() -> None:
    """List the experiments with their place in the paper and their default settings."""
    width = max(map(len, EXPERIMENTS))
    for name in EXPERIMENTS:
        experiment = find_experiment(name)
        optional = "; takes --data" if experiment.sets is not None else ""
        needs = "; needs --data" if experiment.needs_data else optional
        report.print(f"{name:{width}}  {experiment.title}", markup=False)
        report.print(f"{'':{width}}  {experiment.reference}", markup=False)
        report.print(f"{'':{width}}  default: {experiment.defaults}{needs}", markup=False)


@app.command()
@command
def run(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The experiment; `bansac experiments list` has them.")],
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A set of pairs in h5 files, or a folder with sets.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", parser=parse_out, help="Write the results here. Default: bansac-experiments/NAME."),
    ] = None,
    workers: WorkersOption = 1,
    executor: ExecutorOption = None,
    scheduler: SchedulerOption = None,
    pairs: Annotated[
        int | None, typer.Option(help="Maximum number of pairs of a set, evenly spaced. Default: the paper's.")
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(help="Runs of every pair, or trials on synthetic points. Default: the paper's.")
    ] = None,
    model: Annotated[Kind | None, typer.Option(help="Only this model.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of repeat 0; repeat r has this seed + r.")] = 0,
    sets: Annotated[str, typer.Option(help="Run these sets only, joined by commas.")] = "",
    exclude: Annotated[str, typer.Option(help="Leave these sets out, joined by commas.")] = "",
    max_ratio: Annotated[
        float | None, typer.Option(help="Image pairs: use matches of a lower SNN ratio. Default: .85.")
    ] = None,
    pair: Annotated[str | None, typer.Option(help="probability-evolution: the pair.")] = None,
    curve: Annotated[str | None, typer.Option(help="synthetic, curve-example: the curve that is fitted.")] = None,
    noise: Annotated[float | None, typer.Option(help="synthetic: noise of the inliers. Default: .02.")] = None,
    noise_is_variance: Annotated[
        bool, typer.Option("--noise-is-variance", help="synthetic: the noise is a variance, as printed.")
    ] = False,
) -> None:
    """Run an experiment: runs.csv, tables (Markdown and LaTeX), figures (PNG and SVG) and run.json.

    Results are saved as they are computed, and the same command resumes an interrupted run. The same seed gives the
    same errors for any number of workers. Options that an experiment does not use are rejected. Exit code 1: units
    failed, because their data are damaged or their workers died repeatedly. run.json has the reasons.
    """
    variance = True if noise_is_variance else None
    extra = given(max_ratio=max_ratio, pair=pair, curve=curve, noise=noise, noise_is_variance=variance)
    experiment = find_experiment(name)
    if scheduler is not None and data is not None:
        data = data.absolute()  # workers may have other working directories
    chosen = given(data=data, model=model, pairs=pairs, repeats=repeats)
    setup = Setup(seed=seed, sets=split_names(sets), exclude=split_names(exclude), extra=extra, **chosen)
    experiment.check(setup)
    where = choose_executor(executor, workers, scheduler)
    folder = OutputFolder(out if out is not None else Path("bansac-experiments") / name)
    settings = json.loads(json.dumps(plain_settings(setup)))
    _refuse_another(folder.path, {"experiment": name, "seed": seed, "settings": settings})
    outcome = run_experiment(experiment, setup, folder, workers=workers, executor=where, progress=show_progress)
    for table in outcome.report.tables.values():
        report.print(to_markdown(table) + "\n", markup=False)
    for note in outcome.report.notes:
        report.print(note, markup=False)
    report.print(f"wrote {', '.join(folder.files)}", markup=False)
    if outcome.failed:
        notes.print(f"bansac: {len(outcome.failed)} units have failed; the same command tries them again")
        raise typer.Exit(INCOMPLETE)


def _refuse_another(folder: Path, wanted: dict[str, Any]) -> None:
    """Raise a ValueError if the folder holds results of another experiment or of other settings."""
    try:
        found = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        other = [f"{name} {found.get(name)}" for name, value in wanted.items() if found.get(name) != value]
    except (OSError, ValueError, AttributeError):
        return
    if other:
        raise ValueError(f"--out: {folder} has the results of another run ({other[0]}); name another folder")
