"""``bansac bench``: accuracy and time of estimators on folders of pairs with ground truth; further commands."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE
from rich.table import Table
from typer.core import TyperGroup
from typer.main import get_group

from bansac.cli.arguments import (
    ExecutorOption,
    JsonFlag,
    OverwriteFlag,
    SchedulerOption,
    WorkersOption,
    choose_executor,
    given,
    parse_out,
    split_names,
)
from bansac.cli.console import command, print_json, report, show_progress
from bansac.cli.measure import command_of
from bansac.cli.output import check_new_file
from bansac.lab.charts import import_figure
from bansac.lab.evaluation.methods import METHODS, PRESET_METHODS, select_methods
from bansac.lab.evaluation.task import DEFAULTS
from bansac.lab.measurement import Setup
from bansac.lab.measurements import MEASUREMENTS, find_measurement
from bansac.lab.measurements.budgets import Sweep, budget_table, plot_curves, time_table
from bansac.lab.measurements.folders import Bench, build_report, measured_rows
from bansac.lab.render import to_markdown
from bansac.lab.runner import open_run
from bansac.matches.storage import write_atomically, write_json
from bansac.plotting import save_figure
from bansac.problems.estimators import Kind

DEFAULT_METHODS = "bansac,p-bansac,uniform"
OUR_PRESETS = ",".join(method.name for method in PRESET_METHODS)


class _Measurements(TyperGroup):
    """Interprets ``bansac bench DIR`` as ``bansac bench folders DIR``, and imports a measurement when it is called.

    Write a folder with the name of a command as a path, for example ``./speed``.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the command ``folders`` if the first argument is no command."""
        known = args[:1] and args[0] in {*self.list_commands(ctx), "-h", "--help"}
        return super().parse_args(ctx, args if known else ["folders", *args])

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return [*self.commands, *MEASUREMENTS]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, made from the options of its measurement."""
        if cmd_name not in MEASUREMENTS:
            return super().get_command(ctx, cmd_name)
        holder = typer.Typer(rich_markup_mode=None, callback=lambda: None)
        holder.command(cmd_name)(command(command_of(find_measurement(cmd_name))))
        return get_group(holder).commands[cmd_name]


app = typer.Typer(
    cls=_Measurements,
    help="Compare estimators on folders of image pairs or on hard synthetic pairs; or measure speed alone.",
)


@app.command()
@command
def folders(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A set of pairs in h5 files, or a folder with sets.")],
    model: Annotated[Kind, typer.Option(help="The model that is estimated.")],
    methods: Annotated[
        str | None,
        typer.Option(
            help=f"Joined by commas, of: {', '.join(METHODS)}; NAME@THRESHOLD gives a method its own threshold, "
            f"NAME@auto lets it estimate one. Default: {DEFAULT_METHODS}; with --against {OUR_PRESETS}."
        ),
    ] = None,
    against: Annotated[str, typer.Option(help="Further methods, to compare this package's presets with.")] = "",
    budgets: Annotated[
        str | None,
        typer.Option(
            help="Run every method at these maximum numbers of iterations, joined by commas, for curves of accuracy "
            "over time."
        ),
    ] = None,
    sets: Annotated[str, typer.Option(help="Run these sets only, joined by commas.")] = "",
    exclude: Annotated[str, typer.Option(help="Leave these sets out, joined by commas.")] = "",
    pairs: Annotated[int | None, typer.Option(help="Maximum number of pairs of a set. Default: 43.")] = None,
    repeats: Annotated[int | None, typer.Option(help="Runs of every pair. Default: 5 for H, 2 for F and E.")] = None,
    max_ratio: Annotated[
        float | None,
        typer.Option(help="Use matches of a lower SNN ratio. Default: 0.6 for H, 0.85 for F and E."),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Default: 1 px for H, 0.5 px for F, 1e-3 in normalised units for E.")
    ] = None,
    confidence: Annotated[float | None, typer.Option(help="Default: 0.999.")] = None,
    max_iterations: Annotated[int | None, typer.Option(help="Default: 1000 for H and E, 10000 for F.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            parser=parse_out,
            help="Write the report here, the chart and table of --budgets beside it; an interrupted run goes on from "
            "the journal beside it.",
        ),
    ] = None,
    overwrite: OverwriteFlag = False,
    workers: WorkersOption = 1,
    executor: ExecutorOption = None,
    scheduler: SchedulerOption = None,
    json: JsonFlag = False,
) -> None:
    """Compare estimators on folders of image pairs with ground truth (RANSAC tutorial format).

    Only the calls are timed, on one thread. The order of the methods changes from pair to pair. Poses are evaluated by
    rotation and translation error (mAA and AUC, degrees), homographies by the mean error over the corners and over the
    visible area (mAA, pixels). If a folder has sets of both kinds, only the sets for the model are used.
    Presets such as default have their own thresholds and limits. The other methods use those of the options.
    "bansac bench DIR" is short for "bansac bench folders DIR". "bansac bench speed" measures solvers, iterations and
    calls.
    """
    changes = given(pairs=pairs, repeats=repeats, max_ratio=max_ratio, threshold=threshold)
    changes |= given(confidence=confidence, max_iterations=max_iterations)
    protocol = dataclasses.replace(DEFAULTS[model], **changes)
    names = (OUR_PRESETS if against else DEFAULT_METHODS) if methods is None else methods
    chosen = tuple(select_methods(split_names(names) + split_names(against), model))
    sweep = None if budgets is None else Sweep(model, chosen, _parse_budgets(budgets))
    if sweep is not None and max_iterations is not None:
        raise ValueError("--max-iterations: --budgets gives the numbers of iterations")
    if sweep is not None and out is not None:
        _check_curves(out)
    bench = Bench(chosen if sweep is None else sweep.limited_methods(), protocol)
    setup = Setup(
        data=folder if scheduler is None else folder.absolute(), sets=split_names(sets), exclude=split_names(exclude)
    )
    where = choose_executor(executor, workers, scheduler)
    journal = None
    if out is not None:
        check_new_file(out, overwrite)
        journal = out.with_suffix(".sqlite")
    started = time.perf_counter()
    with open_run(bench.experiment(), setup, journal) as run:
        rows = measured_rows(run, workers=workers, executor=where, progress=show_progress)
        document = build_report(rows, bench.methods, protocol, seconds=time.perf_counter() - started)
        if sweep is not None:
            document = sweep.curves(document)
        if out is not None:
            write_json(out, document)
            if sweep is not None:
                _write_curves(document, out)
    if journal is not None:
        journal.unlink()  # the next run starts from the beginning
    if json:
        print_json(document)
    elif sweep is not None:
        report.print(_curve_tables(document), markup=False)
    else:
        _show(document)


def _parse_budgets(text: str) -> tuple[int, ...]:
    budgets = []
    for name in split_names(text):
        try:
            budgets.append(int(name))
        except ValueError:
            raise ValueError(f"--budgets must be whole numbers joined by commas, got {name!r}") from None
    return tuple(sorted(budgets))


def _check_curves(out: Path) -> None:
    """Raise an error before the run if the chart and the table cannot be written beside the report."""
    if out.suffix in (".md", ".png", ".svg"):
        raise ValueError(f"--out: the report must not be a {out.suffix} file, which --budgets writes beside it")
    import_figure()


def _write_curves(document: dict[str, Any], out: Path) -> None:
    """Write the tables and the chart of the mean values beside the report."""
    text = _curve_tables(document)
    write_atomically(out.with_suffix(".md"), lambda path: path.write_text(text, encoding="utf-8"))
    figure = plot_curves(document["mean"], document["protocol"]["kind"])
    for suffix in (".png", ".svg"):
        write_atomically(out.with_suffix(suffix), lambda path: save_figure(figure, path))


def _curve_tables(document: dict[str, Any]) -> str:
    kind, sets, curves = document["protocol"]["kind"], document["sets"], document["mean"]
    tables = [to_markdown(table(curves, kind)) for table in (budget_table, time_table)]
    note = f"Means over {len(sets)} {'set' if len(sets) == 1 else 'sets'}: {', '.join(sets)}."
    return "\n\n".join([*tables, note]) + "\n"


def _show(document: dict[str, Any]) -> None:
    protocol = document["protocol"]
    for name, entry in document["sets"].items():
        _print_table(f"{name} ({entry['pairs']} pairs)", entry["methods"])
    if len(document["sets"]) > 1:
        _print_table(f"mean over {len(document['sets'])} sets", document["mean"])
    report.print(
        f"{protocol['kind']}: threshold {protocol['threshold']:g}, {protocol['max_iterations']} iterations, confidence "
        f"{protocol['confidence']:g}, SNN ratio < {protocol['max_ratio']:g}, {protocol['repeats']} repeats, one thread"
    )


def _print_table(title: str, methods: dict[str, dict[str, float]]) -> None:
    table = Table(title=title, title_justify="left", box=SIMPLE)
    table.add_column("method")
    rows = {method: _cells(figures) for method, figures in methods.items()}
    for heading in next(iter(rows.values())):
        table.add_column(heading, justify="right")
    for method, cells in rows.items():
        table.add_row(method, *cells.values())
    report.print(table)


def _cells(figures: dict[str, float]) -> dict[str, str]:
    """Join the values of a measure into one cell, such as ``AUC 5/10/20`` and ``.613/.716/.811``."""
    cells: dict[str, list[str]] = {}
    headings: dict[str, list[str]] = {}
    for name, value in figures.items():
        measure, limit = name.replace("ms_", "ms@").split("@")
        measure = measure.replace("_", " ")
        headings.setdefault(measure, []).append(limit)
        cells.setdefault(measure, []).append(f"{value:.2f}" if measure == "ms" else f"{value:.3f}".lstrip("0"))
    return {f"{measure} {'/'.join(headings[measure])}": "/".join(cells[measure]) for measure in cells}
