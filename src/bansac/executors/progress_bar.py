"""The columns of a progress bar of rich."""

from typing import Any


def bar_columns() -> tuple[Any, ...]:
    """Return the columns of a bar: what is counted, the bar, how many are done, and the times."""
    # Imported here, because calls and commands without a bar start faster.
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    return *columns, TimeElapsedColumn(), TimeRemainingColumn()
