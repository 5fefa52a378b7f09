"""The progress bar of a run of many units."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from bansac.cli.console import notes

__all__ = ["show_progress"]


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
