"""``bansac colmap``: verification of the matches in COLMAP databases."""

import contextlib
import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from bansac.cli import arguments
from bansac.cli.app import COMMANDS, Group
from bansac.cli.console import NO_MODEL, command, note_on_interrupt, notes, print_json, report, show_progress
from bansac.colmap import VerificationOptions, VerificationSummary, verify_database

app = typer.Typer(cls=Group, no_args_is_help=True, help=COMMANDS["colmap"])

# Number of pairs shown for each reason of failure; --json has all.
_SHOWN = 5


@app.command()
@command
@functools.partial(arguments.with_flags, name="settings", flags=arguments.flags_of(VerificationOptions))
def verify(
    database: Annotated[Path, typer.Argument(metavar="DATABASE", help="COLMAP's database, with matches.")],
    settings: dict[str, Any],
    multiple: Annotated[
        bool, typer.Option("--multiple", help="Keep the matches of several rigid motions in a pair.")
    ] = False,
    seed: arguments.SeedOption = 0,
    workers: arguments.PairWorkersOption = None,
    scheduler: arguments.SchedulerOption = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Delete the geometries that the database has and do all pairs.")
    ] = False,
    json: arguments.JsonFlag = False,
) -> None:
    """Verify the matches of a COLMAP database: two-view geometries and inlier matches for COLMAP's mappers.

    F and H are estimated for every pair of images with matches, and E if both cameras have a prior focal length.
    COLMAP's rules choose the configuration. Pairs that already have a geometry are skipped, whatever its options were,
    which the database does not record. Geometries are written in batches, so an interrupted run can be resumed. Pairs
    that cannot be verified are listed at the end by reason. The exit code is 1 if all pairs fail. Needs pycolmap: pip
    install pycolmap.
    """
    options = VerificationOptions(multiple_models=multiple, seed=seed, **settings)
    executor, count = arguments.pair_executor(scheduler, workers, chunk_seconds=0.0)
    continuing = "the command without --overwrite" if overwrite else "the same command"
    with note_on_interrupt(continuing), contextlib.ExitStack() as stack:
        summary = verify_database(
            database, options=options, workers=count, executor=executor, overwrite=overwrite, progress=_bar(stack)
        )
    if json:
        print_json({"database": str(database), **dataclasses.asdict(summary)})
    else:
        _show(database, summary)
    if summary.pairs and sum(map(len, summary.failures.values())) == summary.pairs:
        raise typer.Exit(NO_MODEL)


def _bar(stack: contextlib.ExitStack) -> Callable[[int, int], None]:
    """Return a progress bar of the pairs, which is shown from its first call on."""
    advance: Callable[[], None] | None = None
    shown = 0

    def show(done: int, total: int) -> None:
        nonlocal advance, shown
        if advance is None:
            advance, shown = stack.enter_context(show_progress("pairs", total, done)), done
        for _ in range(done - shown):
            advance()
        shown = done

    return show


def _show(database: Path, summary: VerificationSummary) -> None:
    for reason, names in summary.failures.items():
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        notes.print(f"bansac: {len(names)} failed: {reason}: {', '.join(names[:_SHOWN])}{more}", markup=False)
    if summary.pairs and not summary.new and not summary.failures:
        report.print(f"{database}: {summary.pairs} pairs with matches, all of them verified before", markup=False)
        return
    counts = ", ".join(f"{count} {name}" for name, count in sorted(summary.configurations.items()))
    report.print(
        f"{database}: {summary.pairs} pairs with matches, {summary.new} of them new in {summary.seconds:.1f} s"
        f"{': ' if counts else ''}{counts}; {summary.inlier_matches} inlier matches, "
        f"{len(summary.ambiguous)} ambiguous, {sum(map(len, summary.failures.values()))} failed",
        markup=False,
    )
