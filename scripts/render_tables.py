"""The tables and figures that are not yet in the laboratory; ``bansac.lab.pages`` renders them with its own."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Mapping

from bansac.lab import pages
from bansac.lab.measurements.folder_tables import label
from bansac.lab.reports import bench, lines
from bansac.lab.tables import format_number


def absolute_poses() -> str:
    """Return the table of the absolute poses: errors, failures and times over shares of outliers."""
    shares = bench("absolute_pose")["outliers"]
    methods = next(iter(shares.values()))

    def cell(found: Mapping[str, Mapping[str, float]], method: str) -> str:
        figures, ours = found[method], found["default"]
        return (
            f"{figures['degrees_median']:.3f}°, {figures['per_cent_median']:.3f} % "
            f"({figures['degrees_ratio']:.2f}, {figures['per_cent_ratio']:.2f}); {100 * figures['failed']:.0f} %; "
            f"{figures['ms_mean']:.1f} ms ({figures['ms_mean'] / ours['ms_mean']:.2f})"
        )

    rows = ([POSE_LABELS.get(method, label(method)), *(cell(f, method) for f in shares.values())] for method in methods)
    return lines(["method", *(f"{outliers} % outliers" for outliers in shares)], rows)


def planes_of_pairs() -> str:
    """Return the errors and times of several homographies on AdelaideRMF."""
    rows = bench("multiple")["adelaide"]
    methods = list(dict.fromkeys(row["method"] for row in rows))

    def cells(method: str) -> Iterator[str]:
        own = [row for row in rows if row["method"] == method]
        errors = [row["error"] for row in own]
        means = [
            statistics.mean(row["error"] for row in own if row["seed"] == seed) for seed in {r["seed"] for r in own}
        ]
        yield f"{statistics.mean(errors):.1f} ± {statistics.stdev(means):.1f} %"
        yield f"{statistics.median(errors):.1f} %"
        yield f"{100 * statistics.mean(row['found'] == row['planes'] for row in own):.0f} %"
        yield f"{1e3 * statistics.mean(row['seconds'] for row in own):.0f} ms"

    return lines(
        ["method", "mean error", "median error", "right number", "time a pair"],
        ([method, *cells(method)] for method in methods),
    )


def number_of_models() -> str:
    """Return the share of runs with the true number of synthetic models."""
    rows = bench("multiple")["synthetic"]
    names = list(dict.fromkeys(row["model"] for row in rows))
    cells = list(dict.fromkeys((row["models"], row["outliers"]) for row in rows))
    exact = {(row["model"], row["models"], row["outliers"]): row["exact"] for row in rows}
    return lines(
        ["models", "outliers", *(f"{name}s" for name in names)],
        (
            [
                str(count),
                f"{outliers} %" if count else "all",
                *(f"{exact[name, count, outliers]:.0f} %" for name in names),
            ]
            for count, outliers in cells
        ),
    )


def video() -> str:
    """Return times and errors of warm and cold starts on synthetic videos, for the frames of each kind."""
    report = bench("video")
    start, length = report["occluded"]
    hidden = range(start, start + length)
    usual = [k for k in range(1, report["frames"]) if k not in hidden and k != report["cut"]]
    kinds = {"other": usual, "occluded": hidden, "cut": [report["cut"]], "after": [start + length]}
    methods = list(dict.fromkeys((row["problem"], row["method"]) for row in report["rows"]))

    def cells(problem: str, method: str) -> Iterator[str]:
        def median(column: str, kind: str, method: str) -> float:
            rows = [row for row in report["rows"] if (row["problem"], row["method"]) == (problem, method)]
            return statistics.median(row[column][k] for row in rows for k in kinds[kind])

        unit = "°" if problem == "relative pose" else " px"
        for kind in ("other", "occluded"):
            time = median("milliseconds", kind, method)
            yield f"{time:.1f} ms ({time / median('milliseconds', kind, 'cold'):.2f})"
        for kind in kinds:
            yield f"{median('errors', kind, method):.2f}{unit}"

    return lines(
        ["problem", "method", "time", "time, occluded", "error", "occluded", "cut", "after the occlusion"],
        ([problem, method, *cells(problem, method)] for problem, method in methods),
    )


FOCAL_LABELS = {
    "ours": "bansac",
    "ours-1px": "bansac, 1 px",
    "ours-4px": "bansac, 4 px",
    "poselib": "PoseLib",
    "pycolmap": "pycolmap",
    "decomposed": "F, decomposed",
    "known": "focal lengths known",
}


def _focal(row: dict[str, float]) -> str:
    error = row["focal_median"]
    focal = "none" if error in (None, math.inf) else f"{100 * error:.1f} %"
    return f"{focal if error else '-'} / {row['ms_median']:.0f}"


def focal_solvers() -> str:
    """Return the accuracy and time of the solvers of six matches."""
    rows = bench("focal_lengths")["solvers"]
    return lines(
        ["solver", "focal length found, to 1e-6", "to 1e-10", "solutions", "µs"],
        (
            [FOCAL_LABELS[name], *(format_number(row[key]) for key in ("solved", "solved_exactly", "models", "us"))]
            for name, row in rows.items()
        ),
    )


def focal_lengths(mode: str) -> str:
    """Return AUC@10, the median error of the focal length and the median time on the pairs of each set."""
    sets = bench("focal_lengths")["pairs"][mode]
    methods = next(iter(sets.values()))
    return lines(
        ["method", *sets],
        (
            [FOCAL_LABELS[name], *(f"{rows[name]['auc10']:.3f} / {_focal(rows[name])}" for rows in sets.values())]
            for name in methods
        ),
    )


def absolute_focal_lengths() -> str:
    """Return the share of right runs, the median error of the focal length and the median time on synthetic scenes."""
    scenes = bench("focal_lengths")["absolute"]["scenes"]
    cells = {f"{kind}, {part} %": rows for kind, shares in scenes.items() for part, rows in shares.items()}
    methods = next(iter(cells.values()))
    return lines(
        ["method", *cells],
        (
            [FOCAL_LABELS[name], *(f"{rows[name]['right']:.2f} / {_focal(rows[name])}" for rows in cells.values())]
            for name in methods
        ),
    )


POSE_LABELS = {
    "poselib": "PoseLib, our limits",
    "opencv-iterative": "OpenCV solvePnPRansac",
    "opencv-p3p": "OpenCV, SOLVEPNP_P3P",
    "opencv-usac": "OpenCV, USAC_DEFAULT",
    "opencv-accurate": "OpenCV, USAC_ACCURATE",
    "opencv-magsac": "OpenCV, USAC_MAGSAC",
}


def vertical_solvers() -> str:
    """Return the accuracy and time of the solvers of three matches with a known vertical."""
    rows = bench("known_vertical")["solvers"]
    return lines(
        ["solver", "E found, to 1e-6", "to 1e-10", "solutions", "µs"],
        (
            [FOCAL_LABELS[name], *(format_number(row[key]) for key in ("solved", "solved_exactly", "models", "us"))]
            for name, row in rows.items()
        ),
    )


def known_vertical() -> str:
    """Return AUC@10 and the median time of poses with and without a known vertical, by the share of inliers."""
    poses = bench("known_vertical")["poses"]
    names = next(iter(poses.values()))
    return lines(
        ["inliers", *("vertical unknown" if name == "unknown" else f"known to {name} degrees" for name in names)],
        (
            [
                f"{100 * float(inliers):.0f} %",
                *(f"{row['auc10']:.3f} / {row['ms_median']:.0f}" for row in rows.values()),
            ]
            for inliers, rows in poses.items()
        ),
    )


def distortion() -> str:
    """Return the table of the poses from distorted images: AUC@10, AUC@2 and time of every lens."""
    tables = bench("distortion")["tables"]
    methods = next(iter(next(iter(tables.values())).values()))
    rows = (
        [kind, lens, *(f"{f['auc_10']:.4f}, {f['auc_2']:.4f}; {f['ms_mean']:.0f} ms" for f in found.values())]
        for kind, lenses in tables.items()
        for lens, found in lenses.items()
    )
    return lines(["data", "lens", *(label(method) for method in methods)], rows)


def colmap() -> str:
    """Return the table of the reconstructions from our geometries and from COLMAP's."""
    report = bench("colmap")
    rows = [
        [
            name,
            method,
            _spread(figures, "inlier_matches", 0),
            _spread(figures, "images", 0),
            _spread(figures, "points", 0),
            _spread(figures, "reprojection_error", 4),
            _spread(figures, "center_error", 2, 1e3),
            _spread(figures, "focal_error", 2, 100.0),
            f"{figures['seconds']:.2f}",
            f"{figures['cpu_seconds']:.2f}",
        ]
        for name, methods in report["databases"].items()
        for method, figures in methods.items()
    ]
    table = lines(
        [
            "database",
            "verified by",
            "inlier matches",
            "images",
            "points",
            "reprojection error, px",
            "centre error, 1e-3",
            "focal error, %",
            "verification, s",
            "processor time, s",
        ],
        rows,
    )
    return f"{table}\nMeans of {report['repeats']} repeats, least times, {report['threads']} threads.\n"


def _spread(figures: dict[str, float], key: str, digits: int, factor: float = 1.0) -> str:
    """Return a mean and its standard deviation between the repeats."""
    return f"{factor * figures[key]:.{digits}f} ± {factor * figures[f'{key}_spread']:.{digits}f}"


# Name of a table -> its text.
TABLES: dict[str, Callable[[], str]] = {
    "absolute-poses": absolute_poses,
    "planes-of-pairs": planes_of_pairs,
    "number-of-models": number_of_models,
    "video": video,
    "focal-solvers": focal_solvers,
    "focal-shared": lambda: focal_lengths("shared"),
    "focal-one": lambda: focal_lengths("one"),
    "focal-both": lambda: focal_lengths("both"),
    "focal-absolute": absolute_focal_lengths,
    "distortion": distortion,
    "vertical-solvers": vertical_solvers,
    "known-vertical": known_vertical,
    "colmap": colmap,
}


def colmap_figure(database: str, method: str, key: str) -> float:
    """Return a figure of the reconstructions."""
    return float(bench("colmap")["databases"][database][method][key])


def colmap_centres(database: str) -> str:
    """Return how much better or worse the camera centres are than COLMAP's."""
    ours, theirs = (colmap_figure(database, method, "center_error") for method in ("bansac", "COLMAP"))
    return f"{100 * abs(ours / theirs - 1):.0f} % {'better' if ours < theirs else 'worse'}"


def colmap_inliers(method: str) -> str:
    """Return the inlier matches where a quarter of the matches is right."""
    return f"{colmap_figure('synthetic, 25 % right, focal lengths unknown', method, 'inlier_matches'):,.0f}"


# Name of a figure in the text -> the figure.
FIGURES: dict[str, Callable[[], str]] = {
    "colmap-fountain": lambda: colmap_centres("fountain-P11"),
    "colmap-herz": lambda: colmap_centres("Herz-Jesus-P8"),
    "colmap-inliers": lambda: colmap_inliers("COLMAP"),
    "bansac-inliers": lambda: colmap_inliers("bansac"),
}


EVERYTHING = pages.parts() | TABLES | FIGURES
pages.parts = lambda: EVERYTHING

if __name__ == "__main__":
    raise SystemExit(pages.main())
