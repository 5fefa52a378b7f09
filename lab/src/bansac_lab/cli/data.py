"""``bansac data``: download the paper's data and show the content of data folders."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from numpy.typing import NDArray
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from bansac.cli.app import COMMANDS, Group
from bansac.cli.arguments import JsonFlag, out_option
from bansac.cli.console import command, notes, print_json, report, show_table
from bansac.matches.pair_folder import PairFolder
from bansac_lab.sets import PairSet
from bansac_lab.sets.fetch import BASE_URL, Stage, fetch
from bansac_lab.sets.fetch import Progress as Listener
from bansac_lab.sets.labelled import LabelledSet
from bansac_lab.sets.survey import survey
from bansac_lab.sets.tutorial import MAX_RATIO, evenly_spaced

SAMPLED_PAIRS = 50
LABELLED = "labelled"

_SPREAD = ("min", "median", "max")
_SAMPLE = f"in at most {SAMPLED_PAIRS} evenly spaced pairs"

app = typer.Typer(cls=Group, no_args_is_help=True, help=COMMANDS["data"])


@app.command("fetch")
@command
def fetch_command(
    dataset: Annotated[Literal["phototourism", "evd", "hpatches"], typer.Argument(help="The data set.")],
    out: Annotated[Path | None, out_option("DIR", "Put the archive and its contents here. Default: data.")] = None,
    full: Annotated[
        bool, typer.Option("--full", help="All scenes of PhotoTourism (86 GB), not the validation scene (2 GB).")
    ] = False,
    url: Annotated[str, typer.Option(help="Address of the folder with the archives, for a mirror.")] = BASE_URL,
    json: JsonFlag = False,
) -> None:
    """Download and unpack the data of the "RANSAC in 2020" tutorial that the paper uses.

    An interrupted download or unpacking starts again at the next call. The archive may be deleted after unpacking. You
    can also place the archive there yourself: "curl -C - -O URL" continues an interrupted download.
    """
    with _progress() as listener:
        folder, was_there = fetch(dataset, out or "data", full=full, url=url, progress=listener)
    notes.print(f"bansac: {dataset} {'was there already' if was_there else 'is there now'}")
    summary = _summary(folder)
    if json:
        print_json({"was_there": was_there} | summary)
        return
    report.print(str(folder), markup=False)
    _show(summary)


@app.command()
@command
def info(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A set of pairs in h5 files, or a folder with sets.")],
    json: JsonFlag = False,
) -> None:
    """Show the sets of image pairs in a folder (RANSAC tutorial format, and labelled matches).

    Kind: EF has poses, H has homographies, labelled has a label for each match. Matches: smallest, median and largest
    number below the paper's SNN ratio, in at most 50 evenly spaced pairs. Sizes: the source of the image sizes (files
    or images), or unknown. The evaluation of homographies needs the sizes.

    For labelled sets all matches are counted. Inliers: smallest, median and largest ratio of true matches. Folders with
    matches that are not a set are listed at the end with their missing files.
    """
    summary = _summary(folder)
    if json:
        print_json(summary)
    else:
        _show(summary)


def _summary(folder: Path) -> dict[str, Any]:
    contents = survey(folder)
    sets = [_describe(pair_set, folder) for pair_set in contents.pair_sets]
    sets += [_describe_labelled(labelled_set, folder) for labelled_set in contents.labelled_sets]
    skipped = [{"folder": str(path.relative_to(folder)), "why": why} for path, why in contents.skipped.items()]
    return {"folder": str(folder), "sets": sets, "skipped": skipped}


def _describe(pair_set: PairSet, root: Path) -> dict[str, Any]:
    counts = pair_set.match_counts(limit=SAMPLED_PAIRS)
    return _heading(pair_set, pair_set.kind, root) | {
        "matches": {"max_ratio": MAX_RATIO, "pairs": len(counts), **_spread(counts)},
        "sizes": pair_set.size_source(),
    }


def _describe_labelled(labelled_set: LabelledSet, root: Path) -> dict[str, Any]:
    pairs = [labelled_set.pair(key) for key in evenly_spaced(labelled_set.keys, SAMPLED_PAIRS)]
    labels = [pair.inliers for pair in pairs if pair.inliers is not None]
    counts = np.array([len(mask) for mask in labels])
    shares = np.array([mask.sum() / max(len(mask), 1) for mask in labels])
    matches = {"pairs": len(counts), **_spread(counts)}
    return _heading(labelled_set, LABELLED, root) | {"matches": matches, "inliers": _spread(shares)}


def _heading(pairs: PairFolder, kind: str, root: Path) -> dict[str, Any]:
    return {"name": pairs.name, "folder": str(pairs.folder.relative_to(root)), "kind": kind, "pairs": len(pairs)}


def _spread(values: NDArray[Any]) -> dict[str, Any]:
    return dict(zip(_SPREAD, (values.min().item(), float(np.median(values)), values.max().item()), strict=True))


def _show(summary: dict[str, Any]) -> None:
    labelled = [row for row in summary["sets"] if row["kind"] == LABELLED]
    if others := [row for row in summary["sets"] if row["kind"] != LABELLED]:
        rows = [[*_cells(row), row["sizes"] or "unknown"] for row in others]
        show_table(["set", "kind", "pairs", *_SPREAD, "sizes"], rows, left=("set", "kind", "sizes"))
        report.print(f"min, median, max: matches of SNN ratio below {MAX_RATIO:g}, {_SAMPLE}")
    if labelled:
        rows = [[*_cells(row), " ".join(f"{row['inliers'][name]:.2f}" for name in _SPREAD)] for row in labelled]
        show_table(["set", "kind", "pairs", *_SPREAD, "inliers"], rows, left=("set", "kind"))
        report.print(f"min, median, max: all matches; inliers: the same of the share of true ones; {_SAMPLE}")
    for folder in summary["skipped"]:
        report.print(f"skipped: {folder['folder']} {folder['why']}", markup=False)


def _cells(row: dict[str, Any]) -> list[str]:
    return [escape(row["name"]), row["kind"], str(row["pairs"]), *(f"{row['matches'][name]:.0f}" for name in _SPREAD)]


@contextmanager
def _progress() -> Iterator[Listener]:
    """Show a progress bar for each stage on a terminal, and print a line when a download starts."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=notes, transient=True, disable=not notes.is_terminal) as progress:
        tasks: dict[Stage, TaskID] = {}

        def listen(stage: Stage, done: int, total: int | None) -> None:
            if stage not in tasks:
                if stage == "download":
                    size = "unknown size" if total is None else f"{total / 1e6:.1f} MB"
                    notes.print(f"bansac: downloading {size}")
                tasks[stage] = progress.add_task(stage, total=total, completed=done)
            progress.update(tasks[stage], completed=done, total=total)

        yield listen
