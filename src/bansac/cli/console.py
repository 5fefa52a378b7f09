"""Output of the commands: reports on standard output, notes and waiting on standard error, exit codes."""

import functools
import gc
import inspect
import signal
import textwrap
import time
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from bansac.compiled.announcement import is_quiet, redirect_announcement
from bansac.compiled.clock import KERNELS
from bansac.executors import CURRENT_ITEM, handling
from bansac.executors.progress_bar import bar_columns
from bansac.matches.storage import to_json

NO_MODEL = 1
BAD_INPUT = 2
INTERRUPTED = 130
TERMINATED = 143

# Seconds between two lines about a long run in a log.
_INTERVAL = 10.0


class _Screen(Console):
    """Console that breaks lines between words in a terminal, and nowhere in a file."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print; a word that is longer than a line, such as a path, is not broken."""
        if self.is_terminal:
            wrapper = textwrap.TextWrapper(self.width, break_long_words=False, break_on_hyphens=False)
            wrapper.subsequent_indent = "    "
            objects = tuple("\n".join(map(wrapper.fill, x.split("\n"))) if isinstance(x, str) else x for x in objects)
        with _naming_output():
            super().print(*objects, soft_wrap=True, **options)


@contextmanager
def _naming_output() -> Iterator[None]:
    """Say in an OSError, such as that of a full disk, that it concerns the output."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OSError(f"the output cannot be written: {error.strerror}") from None


report = _Screen(emoji=False, highlight=False)
notes = _Screen(stderr=True, emoji=False, highlight=False)

_QUIET = inspect.Parameter(
    "quiet",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[bool, typer.Option("--quiet", help="Show no progress, waiting times or warnings.")],
)
_CONTEXT = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context)
_waiting = SimpleNamespace(hidden=False)  # by ``--quiet`` or ``BANSAC_QUIET``


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Add ``--quiet``; report bad input, missing packages and Ctrl-C in one line and with an exit code."""

    @functools.wraps(function)
    def run(*args: Any, quiet: bool, context: typer.Context, **kwargs: Any) -> None:
        gc.enable()
        _waiting.hidden = quiet or is_quiet()
        try:
            for name, text in context.params.items():
                if text == "" and isinstance(kwargs.get(name), Path):  # it would be the current folder
                    raise ValueError(f"{name} must name a file or a folder, got ''")
            with handling(signal.SIGTERM, _terminate), redirect_announcement(_show_wait), _showing_warnings():
                function(*args, **kwargs)
        except BrokenPipeError:  # the reader closed the pipe
            raise
        except FileNotFoundError as error:
            _fail(str(error) if error.filename is None else f"{error.filename}: there is no such file", BAD_INPUT)
        except (ValueError, OSError, ImportError) as error:
            _fail(str(error), BAD_INPUT)
        except MemoryError as error:
            _fail(f"there is not enough memory: {error}", BAD_INPUT)
        except KeyboardInterrupt as interrupt:
            with handling(signal.SIGINT, signal.SIG_IGN):  # another Ctrl-C
                _fail("interrupted", interrupt.args[0] if interrupt.args else INTERRUPTED)

    signature = inspect.signature(function, eval_str=True)
    run.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), _QUIET, _CONTEXT]
    )
    return run


def _terminate(*_: Any) -> NoReturn:
    """End a command on SIGTERM as on Ctrl-C, so that temporary files are removed and journals are closed."""
    raise KeyboardInterrupt(TERMINATED)


def _fail(message: str, code: int) -> NoReturn:
    notes.print(f"bansac: {message}", markup=False)
    raise typer.Exit(code)


def _show_wait(line: str) -> None:
    if not _waiting.hidden:
        notes.print(line, markup=False)


@contextmanager
def _showing_warnings() -> Iterator[None]:
    """Print each text of a warning once, in one line; a pair of many with this warning is named."""
    shown: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = str(message)
        if text not in shown:
            shown.add(text)
            pair = getattr(CURRENT_ITEM.get(), "name", "")
            _show_wait(f"bansac: warning: {text}" + (f" (in {pair} and maybe others)" if pair else ""))

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def print_json(document: dict[str, Any]) -> None:
    """Print one JSON document to standard output."""
    with _naming_output():
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
def show_progress(what: str, total: int, done: int) -> Iterator[Callable[[], None]]:
    """Show a progress bar, or lines in a log; call the yielded function after each further unit."""
    if done == total > 0:
        notes.print(f"bansac: nothing to do: all {total} {what} are done already")
    elif done:
        notes.print(f"bansac: continuing an earlier run: {done} of {total} {what} are done")
    if _waiting.hidden or not notes.is_terminal:
        yield _log_progress(what, total, done)
        return
    from rich.progress import Progress

    with Progress(*bar_columns(), console=notes, transient=True) as progress:
        task = progress.add_task(what, total=total, completed=done)
        yield lambda: progress.advance(task)


def _log_progress(what: str, total: int, done: int) -> Callable[[], None]:
    """Return a function that counts units and writes a line at most every ``_INTERVAL`` seconds.

    The time left follows from the units after the last compilation.
    """
    started = written = time.monotonic()
    count, compiled = done, KERNELS["compiled"]

    def advance() -> None:
        nonlocal started, written, done, count, compiled
        count, now = count + 1, time.monotonic()
        if KERNELS["compiled"] > compiled:
            started, done, compiled = now, count, KERNELS["compiled"]
        if now - written >= _INTERVAL:
            written = now
            left = f", about {(now - started) * (total - count) / (count - done):.0f} s left" if count > done else ""
            _show_wait(f"bansac: {count} of {total} {what} are done{left}")

    return advance


@contextmanager
def note_on_interrupt(continuing: str = "the same command") -> Iterator[None]:
    """Print on Ctrl-C and SIGTERM that finished work is kept, and what continues it."""
    try:
        yield
    except KeyboardInterrupt:
        notes.print(f"bansac: finished work is kept; {continuing} continues it")
        raise
