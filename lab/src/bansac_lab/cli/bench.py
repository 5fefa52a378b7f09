"""``bansac bench``: measurements, and estimators on folders of pairs with ground truth."""

from pathlib import Path
from typing import Any

import typer
from typer.main import get_group

from bansac.cli.app import Group
from bansac.cli.console import command
from bansac_lab.cli.measure import command_of
from bansac_lab.measurements import MEASUREMENTS, find_measurement


class _Measurements(Group):
    """Interprets ``bansac bench DIR`` as ``bansac bench folders DIR``; ``./speed`` is a folder, ``speed`` a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the command ``folders`` if the first argument is no command, except to complete a command."""
        known = ctx.resilient_parsing or (args[:1] and args[0] in {*MEASUREMENTS, "-h", "--help"})
        if not known and len(args) == 1 and not args[0].startswith("-") and not Path(args[0]).exists():
            ctx.fail(f"There is no measurement or folder {args[0]!r}.")
        return super().parse_args(ctx, args if known else ["folders", *args])

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all measurements."""
        return list(MEASUREMENTS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, made from the options of its measurement."""
        holder = typer.Typer(rich_markup_mode=None, callback=lambda: None)
        holder.command(cmd_name)(command(command_of(find_measurement(cmd_name))))
        self.commands[cmd_name] = get_group(holder).commands[cmd_name]
        return super().get_command(ctx, cmd_name)


app = typer.Typer(cls=_Measurements)


@app.callback()
def bench() -> None:
    """Compare estimators on folders of image pairs or on hard synthetic pairs; or measure speed alone."""
