"""Tables of ``docs/ablation.md`` from the report of ``benchmarks/labelled.py``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from bansac.lab.reports import bench, lines, number, share


def check_points() -> str:
    """Return the errors of check points at the first threshold, and the counts of pairs at both."""
    thresholds = bench("labelled")["thresholds"]
    points = {threshold: figures["check_points"] for threshold, figures in thresholds.items()}
    first = next(iter(points.values()))
    tables = []
    for threshold, figures in points.items():
        rows = [[name, *map(number, errors.values())] for name, errors in figures["median_error"].items()]
        tables.append(lines([f"threshold {threshold} px", *map(_place, first["best_peer"])], rows))
    counts = []
    for name in first["no_worse_than"]:
        for threshold, figures in points.items():
            of_single = figures["no_worse_than"][name]
            counts.append(
                [
                    f"{name}, {threshold} px",
                    str(figures["no_worse_than_the_best_peer_of_each_pair"][name]),
                    str(figures["the_same_within_0.1_pixel"][name]),
                    ", ".join(f"{peer} {count}" for peer, count in of_single.items()),
                ]
            )
    head = ["pairs of ten", "no worse than the best peer of the pair", "worse by .1 px at most", "no worse than"]
    return "\n".join([*tables, lines(head, counts), _beside_the_best(first)])


def _beside_the_best(figures: Mapping[str, Any]) -> str:
    """Return errors and numbers of inliers of the default and of the best peer of each pair."""
    rows = []
    for key, best in figures["best_peer"].items():
        error = figures["median_error"]
        peer = next(name for name in error if name not in figures["no_worse_than"] and error[name][key] == best)
        cells = (f"{number(error[name][key])}, {figures['inliers'][name][key]:.0f}" for name in ("default", peer))
        rows.append([_place(key), *cells, peer])
    return lines(["error in pixels, matches within the first threshold", "default", "best peer", "which"], rows)


def _place(key: str) -> str:
    """Return what a pair shows."""
    return key.partition("-")[0].removesuffix("A")


def labelled_inliers() -> str:
    """Return the shares of labelled inliers that are found."""
    thresholds = bench("labelled")["thresholds"]
    found = {threshold: figures["labelled_inliers"]["found_within"] for threshold, figures in thresholds.items()}
    first = next(iter(found.values()))
    distances = list(next(iter(first.values())))
    head = [f"threshold {threshold} px, within {pixels} px" for threshold in found for pixels in distances]
    rows = ([name, *(share(of[name][pixels]) for of in found.values() for pixels in distances)] for name in first)
    return lines(["", *head], rows)


TABLES: Mapping[str, Callable[[], str]] = {
    "check-points": check_points,
    "labelled-inliers": labelled_inliers,
}
