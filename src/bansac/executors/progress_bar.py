"""A progress bar of rich, in terminals and notebooks."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any


def bar_columns() -> tuple[Any, ...]:
    """Return the columns of a bar: what is counted, the bar, how many are done, and the times."""
    # Imported here, because calls and commands without a bar start faster.
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    return *columns, TimeElapsedColumn(), TimeRemainingColumn()


@contextlib.contextmanager
def progress_bar(total: int | None) -> Iterator[Callable[[int, int | None], None]]:
    """Show a bar of pairs; call the yielded function for every result."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(*bar_columns(), console=Console(stderr=True)) as bar:
        task = bar.add_task("pairs", total=total)
        yield lambda done, total: bar.update(task, completed=done)
