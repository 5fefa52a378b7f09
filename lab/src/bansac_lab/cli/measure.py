"""Commands made from the options of measurements."""

import inspect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer

from bansac.batch.output_files import OutputFolder
from bansac.cli import arguments
from bansac.cli.console import notes, print_json, report, show_progress
from bansac.cli.output import check_new_file
from bansac_lab.cli.tables import show
from bansac_lab.measurement import Measurement, Option, Setup
from bansac_lab.runner import RunSummary, run_measurement
from bansac_lab.tables import Table

FileOption = Annotated[
    Path | None,
    arguments.out_option(
        "FILE",
        "Write the report here and its figures beside it; an interrupted run goes on from the journal beside it.",
    ),
]


def parameter_of(option: Option) -> inspect.Parameter:
    """Return the parameter of a command for an option; an option that is not given has the value None or False."""
    kind, default, metavar, text = option.type, option.default, option.metavar, option.help
    extra: dict[str, Any] = {}
    if get_origin(kind) is tuple:
        extra = {"parser": _parser(get_args(kind)[0])}
        if default:
            text += f" Default: {','.join(map(str, default))}."
        kind, default, metavar = str, None, metavar or "TEXT"
    if option.argument:
        declared: Any = typer.Argument(metavar=metavar, help=text)
    else:
        flag = option.flag or f"--{option.name.replace('_', '-')}"
        declared = typer.Option(flag, metavar=metavar, help=text, **extra)
    needed = option.required or option.argument
    annotation: Any = Annotated[kind if needed or kind is bool else kind | None, declared]
    if needed:
        default = inspect.Parameter.empty
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _parser(item: Callable[[str], Any]) -> Callable[[str], tuple[Any, ...]]:
    def parse(text: str) -> tuple[Any, ...]:
        values = []
        for name in filter(None, map(str.strip, text.split(","))):
            try:
                values.append(item(name))
            except ValueError:
                what = "whole numbers" if item is int else "numbers"
                raise typer.BadParameter(f"must be {what} joined by commas, got {name!r}") from None
        return tuple(values)

    return parse


def command_of(measurement: Measurement) -> Callable[..., None]:
    """Return the command of a measurement: its options, then those of all measurements."""

    def run(
        options: dict[str, Any],
        out: FileOption = None,
        overwrite: arguments.OverwriteFlag = False,
        json: arguments.JsonFlag = False,
    ) -> None:
        setup, bound = Setup(**options), measurement
        if measurement.bind is not None:
            bound, setup = measurement.bind(setup)
        if out is None and overwrite:
            raise ValueError("--overwrite needs --out")
        if out is not None:
            check_new_file(out, overwrite)
            if out.suffix in (".md", ".png", ".svg"):
                raise ValueError(f"--out: the report must not be a {out.suffix} file, which may be written beside it")
        journal = None if out is None else out.with_suffix(".sqlite")
        outcome = run_measurement(bound, setup, journal, progress=show_progress)
        if out is not None:
            _write(bound, outcome, out)
        if journal is not None and not outcome.failed:
            journal.unlink()  # the next run starts from the beginning
        if json:
            print_json(outcome.document)
        else:
            makers = measurement.tables.items()
            show_report(outcome, (make(outcome.document) for name, make in makers if name not in measurement.reports))
        end(outcome)

    made = arguments.with_flags(run, "options", map(parameter_of, measurement.options))
    made.__doc__ = (measurement.help or measurement.title).replace("``", "").replace("*", "")  # no raw Markdown
    return made


def _write(measurement: Measurement, outcome: RunSummary, out: Path) -> None:
    """Write the document, and figures and texts beside it."""
    folder = OutputFolder(out.parent)
    folder.write_json(out.name, outcome.document)
    for name, figure in outcome.report.figures.items():
        place = out if name == measurement.name else out.with_stem(f"{out.stem}_{name}")
        for suffix in (".png", ".svg"):
            folder.write_figure(place.with_suffix(suffix).name, figure)
    for suffix, text in outcome.report.texts.items():
        folder.write_text(out.with_suffix(suffix).name, text)


def end(outcome: RunSummary) -> None:
    """Print failures; leave with exit code 1 if there are any."""
    for failure in outcome.report.failures:
        notes.print(f"bansac: {failure}", markup=False)
    if outcome.failed:
        notes.print(f"bansac: {len(outcome.failed)} units have failed; the same command tries them again")
    if outcome.failed or outcome.report.failures:
        raise typer.Exit(1)


def show_report(outcome: RunSummary, others: Iterable[Table]) -> None:
    """Print the tables of a report, or others if it has none, and its notes."""
    for table in list(outcome.report.tables.values()) or others:
        show(table)
    for note in outcome.report.notes:
        report.print(note, markup=False)
