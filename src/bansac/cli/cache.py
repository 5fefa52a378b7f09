"""``bansac cache``: show, compile or delete the compiled kernels."""

from typing import Annotated

import typer

from bansac.cli.app import COMMANDS, Group
from bansac.cli.arguments import JsonFlag
from bansac.cli.compile_ahead import DEFAULTS, OPTIONS, warm_cache
from bansac.cli.console import command, print_json, report, show_progress
from bansac.compiled.cache import clear_cache, inspect_cache, inspect_pack

app = typer.Typer(cls=Group, no_args_is_help=True, help=COMMANDS["cache"])


@app.command()
@command
def info(json: JsonFlag = False) -> None:
    """Show where compiled kernels come from: the binary wheel, or folders of this machine."""
    cache, wheel = inspect_cache(), inspect_pack()
    if json:
        print_json(cache | {"wheel": wheel})
        return
    if wheel["reason"]:
        report.print(f"the kernels of the wheel {wheel['reason']}", markup=False)
    elif wheel["kernels"]:
        report.print(f"{wheel['kernels']} kernels in the wheel, {wheel['size'] / 1e6:.1f} MB; they are loaded first")
    else:
        report.print("no kernels in the wheel; they are compiled on first use")
    report.print(f"{cache['files']} files, {cache['bytes'] / 1e6:.1f} MB, in")
    for folder in cache["folders"]:
        report.print(f"  {folder}", markup=False)


@app.command()
@command
def clear(json: JsonFlag = False) -> None:
    """Delete the compiled kernels, except those of user-defined problems. The next run compiles them again."""
    deleted = clear_cache()
    if json:
        print_json(deleted)
        return
    report.print(f"deleted {deleted['files']} files, {deleted['bytes'] / 1e6:.1f} MB")


@app.command()
@command
def warm(
    options: Annotated[
        bool, typer.Option("--all", help="What presets, samplers, scores and the other options need, too.")
    ] = False,
) -> None:
    """Compile the kernels for the default options in advance, for containers and installations."""
    compiled = loaded = 0
    with show_progress("calls", len(DEFAULTS) + options * len(OPTIONS), 0) as advance:
        for done in warm_cache(options=options):
            compiled, loaded = compiled + done.compiled, loaded + done.loaded
            report.print(f"{done.name}: {done.compiled} compiled, {done.loaded} loaded, {done.seconds:.1f} s")
            advance()
    report.print(f"{compiled} kernels compiled, {loaded} loaded")
    cache = inspect_cache()
    report.print(f"{cache['files']} files, {cache['bytes'] / 1e6:.1f} MB")
