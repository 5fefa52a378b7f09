"""Output of the commands: reports on standard output, notes on standard error, exit codes."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, NoReturn, ParamSpec

import typer
from rich.console import Console

from bansac.compiled.announcement import before_compilation, is_quiet, redirect_announcement
from bansac.executors.progress_bar import bar_columns
from bansac.executors.threads import count_workers
from bansac.matches.storage import to_json

NO_MODEL = 1
BAD_INPUT = 2
INTERRUPTED = 130

report = Console(emoji=False, highlight=False, soft_wrap=True)
notes = Console(stderr=True, emoji=False, highlight=False, soft_wrap=True)

Parameters = ParamSpec("Parameters")


def command(function: Callable[Parameters, None]) -> Callable[Parameters, None]:
    """Report bad input, missing packages and Ctrl-C in one line and with an exit code."""

    @functools.wraps(function)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> None:
        gc.enable()
        try:
            with redirect_announcement(lambda line: notes.print(line, markup=False)):
                function(*args, **kwargs)
        except BrokenPipeError:  # the reader closed the pipe
            raise
        except (ValueError, OSError, ImportError) as error:
            _fail(str(error), BAD_INPUT)
        except MemoryError as error:
            _fail(f"there is not enough memory: {error}", BAD_INPUT)
        except KeyboardInterrupt:
            _fail("interrupted", INTERRUPTED)

    return run


def _fail(message: str, code: int) -> NoReturn:
    notes.print(f"bansac: {message}", markup=False)
    raise typer.Exit(code)


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document to standard output."""
    typer.echo(to_json(document))


def show_table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, left: Container[str]) -> None:
    """Print a table; the columns ``left`` are aligned to the left."""
    from rich.box import SIMPLE
    from rich.table import Table

    table = Table(box=SIMPLE)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in left else "right", no_wrap=heading == headings[0])
    for row in rows:
        table.add_row(*row)
    report.print(table)


@contextmanager
def show_progress(what: str, total: int, done: int, *, hidden: bool = False) -> Iterator[Callable[[], None]]:
    """Show a progress bar; call the yielded function after each further unit."""
    if done == total > 0:
        notes.print(f"bansac: nothing to do: all {total} {what} are done already; --overwrite does them again")
    elif done:
        notes.print(f"bansac: continuing an earlier run: {done} of {total} {what} are done")
    # Imported here, because commands without a bar start faster.
    from rich.progress import Progress

    with Progress(*bar_columns(), console=notes, transient=True, disable=hidden or not notes.is_terminal) as progress:
        task = progress.add_task(what, total=total, completed=done)
        yield lambda: progress.advance(task)


def compiling_in_processes(name: str, settings: Mapping[str, Any]) -> AbstractContextManager[None]:
    """Return a context that compiles in processes what a call of an estimator needs, if the call lacks a kernel.

    ``name`` is a name of ``bansac.cli.compile_ahead``. Texts and scores of the settings determine which kernels a call
    needs.
    """
    return before_compilation(functools.partial(_compile_in_processes, name, settings))


def _compile_in_processes(name: str, settings: Mapping[str, Any]) -> None:
    from bansac.cli.compile_ahead import run_in_processes, split_call

    options = {key: value for key, value in settings.items() if isinstance(value, str)}
    tasks = split_call(name, options | {"scores": True} if "scores" in settings else options)
    jobs = min(len(tasks), count_workers(None))
    if jobs == 1:
        return
    with show_progress("parts of the kernels", len(tasks), 0, hidden=is_quiet()) as advance, suppress(Exception):
        for _ in run_in_processes(tasks, jobs):  # the command makes the call itself, with its errors
            advance()


@contextmanager
def note_on_interrupt() -> Iterator[None]:
    """Print on Ctrl-C that finished work is kept."""
    try:
        yield
    except KeyboardInterrupt:
        notes.print("bansac: finished work is kept; the same command continues it")
        raise
