"""What the commands that run many units share: options, names joined by commas, a progress bar."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from bansac.cli.console import notes
from bansac.evaluation.executors import EXECUTORS

WorkersOption = Annotated[
    int, typer.Option(help="Processes. With more than 1, times are taken afterwards, on repeat 0 alone.")
]

ExecutorOption = Annotated[
    str | None,
    typer.Option(help=f"One of {', '.join(EXECUTORS)}. Default: serial with one worker, else processes."),
]


def split_names(names: str) -> tuple[str, ...]:
    """Return the names that are joined by commas."""
    return tuple(name.strip() for name in names.split(",") if name.strip())


@contextlib.contextmanager
def show_progress(what: str, total: int, done: int) -> Iterator[Callable[[], None]]:
    """Show how many units are done; the function that is given is called at each further one."""
    if done:
        notes.print(f"bansac: going on with an interrupted run: {done} of {total} {what} are done")
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal) as progress:
        task = progress.add_task(what, total=total, completed=done)
        yield lambda: progress.advance(task)
