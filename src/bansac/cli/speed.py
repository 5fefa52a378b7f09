"""``bansac bench speed``: run times on one thread, compared with other libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bansac.cli.arguments import JsonFlag, OverwriteFlag, parse_out, split_names
from bansac.cli.console import print_json, report, show_progress
from bansac.cli.output import check_new_file
from bansac.lab.evaluation.render import to_markdown
from bansac.lab.evaluation.speed.report import PEERS, measure_speed
from bansac.lab.evaluation.speed.tables import tables_of
from bansac.matches.storage import write_json


def speed(
    peers: Annotated[
        str | None,
        typer.Option(help=f"Libraries beside ours, joined by commas, of: {', '.join(PEERS)}. Default: the installed."),
    ] = None,
    seconds: Annotated[float, typer.Option(help="How long the calls of each comparison take turns.")] = 0.7,
    max_points: Annotated[int, typer.Option(help="Largest number of matches of a call.")] = 1_000_000,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Measure on real pairs, too: a folder with the tutorial's sets in EF and in H."
        ),
    ] = None,
    pairs: Annotated[int, typer.Option(min=1, help="Maximum number of pairs of a set of --data.")] = 20,
    out: Annotated[Path | None, typer.Option(metavar="FILE", parser=parse_out, help="Write the report here.")] = None,
    overwrite: OverwriteFlag = False,
    json: JsonFlag = False,
) -> None:
    """Measure the time of solvers, iterations and calls on one thread, compared with other libraries.

    This takes about three minutes. Use an idle machine, and compare ratios within one run, not times of two runs.
    """
    if out is not None:
        check_new_file(out, overwrite)
    document = measure_speed(
        peers=None if peers is None else split_names(peers),
        seconds=seconds,
        max_points=max_points,
        data=data,
        pairs=pairs,
        progress=show_progress,
    )
    if out is not None:
        write_json(out, document)
    if json:
        print_json(document)
        return
    for table in tables_of(document).values():
        report.print(to_markdown(table), markup=False)
        report.print()
