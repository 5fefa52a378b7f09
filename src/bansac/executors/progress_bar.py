"""A progress bar of rich, in terminals and notebooks."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from bansac.maths.optional import import_optional


def bar_columns() -> tuple[Any, ...]:
    """Return the columns of a bar: what is counted, the bar, how many are done, and the times."""
    # Imported here, because calls and commands without a bar start faster.
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    return *columns, TimeElapsedColumn(), TimeRemainingColumn()


def progress_bar(total: int | None) -> contextlib.AbstractContextManager[Callable[[int, int | None], None]]:
    """Return a bar of pairs as a context, whose value is the function to call for every result."""
    console = import_optional("rich.console", "progress=True needs rich", "rich")
    from rich.progress import Progress

    @contextlib.contextmanager
    def show() -> Iterator[Callable[[int, int | None], None]]:
        with Progress(*bar_columns(), console=console.Console(stderr=True)) as bar:
            task = bar.add_task("pairs", total=total)
            yield lambda done, total: bar.update(task, completed=done)

    return show()
