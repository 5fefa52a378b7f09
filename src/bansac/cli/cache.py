"""``bansac cache``: show or delete the compiled kernels."""

from __future__ import annotations

import typer

from bansac.cli.arguments import JsonFlag
from bansac.cli.console import command, print_json, report
from bansac.numeric.cache import CacheInfo, clear_cache, inspect_cache

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Show or delete the compiled kernels of this package.")


@app.command()
@command
def info(json: JsonFlag = False) -> None:
    """Show where Numba keeps the compiled kernels, and their size."""
    found = inspect_cache()
    if json:
        print_json(_as_dict(found))
        return
    report.print(f"{found.files} files, {found.size / 1e6:.1f} MB, in")
    for folder in found.folders:
        report.print(f"  {folder}", markup=False)


@app.command()
@command
def clear(json: JsonFlag = False) -> None:
    """Delete the compiled kernels; the next run compiles them again. Those of your own problems stay."""
    deleted = clear_cache()
    if json:
        print_json(_as_dict(deleted))
        return
    report.print(f"deleted {deleted.files} files, {deleted.size / 1e6:.1f} MB")


def _as_dict(found: CacheInfo) -> dict[str, object]:
    return {"folders": [str(folder) for folder in found.folders], "files": found.files, "bytes": found.size}
