"""The ``bansac`` application, which collects all commands."""

from __future__ import annotations

from typing import Annotated

import typer

import bansac
from bansac.cli.bench import app as bench_app
from bansac.cli.cache import app as cache_app
from bansac.cli.colmap import app as colmap_app
from bansac.cli.console import command
from bansac.cli.data import app as data_app
from bansac.cli.demo import demo
from bansac.cli.estimate import estimate
from bansac.cli.experiments import app as experiments_app
from bansac.cli.match import match

app = typer.Typer(
    name="bansac",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bansac {bansac.__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and leave.")
    ] = False,
) -> None:
    """Find geometric models in data full of outliers (BANSAC, ICCV 2023).

    Exit codes: 0 a model was found, 1 none was found or it has no more support than chance, 2 bad input, 130 Ctrl-C.
    """


for function in (demo, match, estimate):
    app.command()(command(function))
app.add_typer(bench_app, name="bench")
app.add_typer(cache_app, name="cache")
app.add_typer(colmap_app, name="colmap")
app.add_typer(data_app, name="data")
app.add_typer(experiments_app, name="experiments")
