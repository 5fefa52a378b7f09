"""Commands made from the options of measurements."""

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer

from bansac.batch.output_files import OutputFolder
from bansac.cli import arguments
from bansac.cli.console import notes, print_json, report, show_progress
from bansac.cli.output import check_new_file
from bansac_lab.cli.markdown import show_markdown
from bansac_lab.measurement import Measurement, Option, Setup
from bansac_lab.runner import RunSummary, merge, run_measurement
from bansac_lab.tables import to_markdown

FileOption = Annotated[
    Path | None,
    arguments.out_option(
        "FILE",
        "Write the report here and its figures beside it; an interrupted run goes on from the journal beside it.",
    ),
]
WorkersOption = Annotated[
    int, typer.Option(help="Processes. With more than 1, times are taken afterwards, on repeat 0 alone.")
]
UpdateFlag = Annotated[bool, typer.Option("--update", help="Keep what else the report in --out has.")]


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
        update: UpdateFlag = False,
        workers: WorkersOption = 1,
        scheduler: arguments.SchedulerOption = None,
        json: arguments.JsonFlag = False,
    ) -> None:
        if scheduler is not None:
            options["data"] = options["data"].absolute()  # workers may have other working directories
        setup, bound = Setup(**options), measurement
        if measurement.bind is not None:
            bound, setup = measurement.bind(setup)
        cluster = None if scheduler is None else arguments.connect(scheduler, None if workers == 1 else workers)
        if update and overwrite:
            raise ValueError("--update does not go with --overwrite")
        if out is None and (update or overwrite):
            raise ValueError(f"{'--update' if update else '--overwrite'} needs --out")
        earlier: dict[str, Any] = {}
        if out is not None:
            check_new_file(out, overwrite or update)
            earlier = _read_report(bound, out) if update and out.exists() else earlier
            if out.suffix in (".md", ".png", ".svg"):
                raise ValueError(f"--out: the report must not be a {out.suffix} file, which may be written beside it")
        journal = None if out is None else out.with_suffix(".sqlite")
        outcome = run_measurement(bound, setup, journal, progress=show_progress, workers=workers, executor=cluster)
        document = outcome.document
        if out is not None:
            document = _write(bound, outcome, out, earlier)
        if journal is not None and not outcome.failed:
            journal.unlink()  # the next run starts from the beginning
        if json:
            print_json(document)
        else:
            makers = measurement.tables.items()
            show_report(outcome, (make(document) for name, make in makers if name not in measurement.reports))
        end(outcome)

    made = arguments.with_flags(run, "options", map(parameter_of, measurement.options))
    absent = [] if measurement.updates else ["update"]
    absent += [] if measurement.parallel else ["workers", "scheduler"]
    signature = made.__signature__  # type: ignore[attr-defined]
    made.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[parameter for name, parameter in signature.parameters.items() if name not in absent]
    )
    made.__doc__ = (measurement.help or measurement.title).replace("``", "").replace("*", "")  # no raw Markdown
    return made


def _read_report(measurement: Measurement, out: Path) -> dict[str, Any]:
    """Return an earlier report of a measurement; another file is a ValueError."""
    try:
        document = json.loads(out.read_text(encoding="utf-8"))
    except ValueError:
        document = None
    if not isinstance(document, dict) or document.get("experiment") != measurement.name:
        raise ValueError(f"--out: --update adds to a report of {measurement.name}, which {out} is not")
    return document


def _write(measurement: Measurement, outcome: RunSummary, out: Path, earlier: Mapping[str, Any]) -> dict[str, Any]:
    """Write and return the document, merged into an earlier one; write figures and texts beside it."""
    document = merge(earlier, outcome.document)
    folder = OutputFolder(out.parent)
    folder.write_json(out.name, document)
    for name, figure in outcome.report.figures.items():
        place = out if name == measurement.name else out.with_stem(f"{out.stem}_{name}")
        for suffix in (".png", ".svg"):
            folder.write_figure(place.with_suffix(suffix).name, figure)
    for suffix, text in outcome.report.texts.items():
        folder.write_text(out.with_suffix(suffix).name, text)
    return document


def end(outcome: RunSummary) -> None:
    """Print failures; leave with exit code 1 if there are any."""
    for failure in outcome.report.failures:
        notes.print(f"bansac: {failure}", markup=False)
    if outcome.failed:
        notes.print(f"bansac: {len(outcome.failed)} units have failed; the same command tries them again")
    if outcome.failed or outcome.report.failures:
        raise typer.Exit(1)


def show_report(outcome: RunSummary, others: Iterable[str]) -> None:
    """Print the tables of a report, or others if it has none, and its notes."""
    for text in [to_markdown(table) for table in outcome.report.tables.values()] or others:
        show_markdown(text)
    for note in outcome.report.notes:
        report.print(note, markup=False)
