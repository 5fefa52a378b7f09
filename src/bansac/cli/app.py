"""The ``bansac`` application, which imports the module of a command when the command is called.

The commands of the laboratory, a distribution of its own, are entry points of the group ``bansac.commands``.
"""

import importlib
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_group

import bansac

COMMANDS = {
    "demo": "Estimate the fundamental matrix of two photographs with few true matches.",
    "match": "Match two images (RootSIFT) and estimate the geometry between them.",
    "estimate": "Estimate a model from a file of matches or points.",
    "bench": "Compare estimators on folders of image pairs or on hard synthetic pairs; or measure speed alone.",
    "cache": "Show, compile or delete the compiled kernels of this package.",
    "colmap": "Verify the matches of COLMAP's databases.",
    "experiments": "Run the experiments of the paper.",
}
"""The first sentence of the help of every command. ``bansac.cli.NAME`` has an ``app`` or a function ``NAME``."""

LABORATORY = ("bench", "experiments")


class Group(TyperGroup):
    """A group whose list of commands has the whole first paragraph of each help, where Click cuts the sentence."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, with its text for the list."""
        found = super().get_command(ctx, cmd_name)
        if found is not None and found.help:
            found.short_help = found.help.partition("\n\n")[0]
        return found


class _OnDemand(Group):
    """Lists the commands of the table and imports a command when it is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name, the imported command and its arguments."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed if name is None else load_command(name), rest


def load_command(name: str) -> Any:
    """Import a command."""
    try:
        from bansac.cli.console import command

        if name in LABORATORY:
            from importlib.metadata import entry_points

            found = next(iter(entry_points(group="bansac.commands", name=name)), None)
            loaded = _say_what_is_missing if found is None else found.load()
        else:
            module = importlib.import_module(f"bansac.cli.{name}")
            loaded = getattr(module, "app", None) or getattr(module, name)
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    holder = typer.Typer(rich_markup_mode=None, callback=lambda: None)
    if isinstance(loaded, typer.Typer):
        holder.add_typer(loaded, name=name)
    elif loaded is _say_what_is_missing:
        anything = {"allow_extra_args": True, "ignore_unknown_options": True}
        holder.command(name, help=COMMANDS[name], add_help_option=False, context_settings=anything)(command(loaded))
    else:
        holder.command(name)(command(loaded))
    return get_group(holder).commands[name]


def _say_what_is_missing() -> None:
    raise ImportError("this command is part of the laboratory, which is not installed: pip install ./lab in a clone")


app = typer.Typer(
    cls=_OnDemand,
    name="bansac",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
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

    Exit codes: 0 a model was found, 1 none was found or it has no more support than chance, 2 bad input, 130 Ctrl-C,
    143 SIGTERM.
    """


for listed, summary in COMMANDS.items():
    app.command(listed, help=summary)(lambda: None)  # stands for the command until it is imported
