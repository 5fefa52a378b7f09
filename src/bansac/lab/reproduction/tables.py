"""The experiments' tables: the paper's figures beside ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from bansac.lab.reports import bench, date_and_commit, lines, number, report_path, share, shares
from bansac.lab.reproduction.runs import (
    METHODS,
    MODELS,
    OURS,
    RATES,
    TIME,
    command,
    folder,
    lead,
    lead_of,
    main_value,
    paper,
    settings,
    table,
)

SMALL, SMALL_BEFORE = "main-table-small", "main-table-small-0.6"
EXACT, EXACT_STRICT = "main-table-exact", "main-table-exact-0.85"
ERRORS = ("visible area", "corners")
AUC = "AUC (10°) of the larger error, not in the paper"
ITERATIONS = "Avg. iterations, not in the paper"
BOTH = [*METHODS, *(f"{method}+LO" for method in METHODS)]


def runs() -> str:
    """Return the table of the runs: the command, what it has written, when."""
    rows = []
    for run in sorted(path.parent.name for path in folder().glob("*/run.json")):
        document = settings(run)
        written = sorted(path.name for path in (folder() / run).iterdir())
        links = ", ".join(f"[{name}](../benchmarks/experiments/{run}/{name})" for name in written)
        minutes = f"{document['seconds'] / 60:.1f}"
        rows.append([run, f"`{command(run)}`", links, *date_and_commit(folder() / run / "run.json"), minutes])
    return lines(["run", "command", "tables", "date", "commit", "minutes"], rows)


def main_poses(model: str) -> str:
    """Return tab:results_E_F_H_LO for E or F."""
    of_paper = paper()["main-table"][model]

    def row(method: str) -> list[str]:
        R5, R10, t5, t10, ms = of_paper[method]
        ours = [main_value(model, metric, method) for metric in RATES]
        times = f"{number(ms)} / {number(main_value(model, TIME, method))}"
        return [method, shares((R5, R10)), shares(ours[:2]), shares((t5, t10)), shares(ours[2:]), times]

    head = [model, "paper: mAA R 5 / 10", "ours", "paper: mAA t 5 / 10", "ours", "ms: paper / ours"]
    return lines(head, map(row, BOTH))


def main_planes() -> str:
    """Return tab:results_E_F_H_LO for H, on two kinds of sets and by two errors."""

    def ours(run: str, method: str) -> Iterable[str]:
        for error in ERRORS:
            yield shares(main_value("H", f"Homography mAA ({t} px), {error}", method, run=run) for t in (5, 10))
        yield number(main_value("H", TIME, method, run=run))

    def row(method: str) -> list[str]:
        at_5, at_10, ms = paper()["main-table"]["H"][method]
        return [method, f"{shares((at_5, at_10))}, {number(ms)}", *ours(SMALL, method), *ours(EXACT, method)]

    of_set = ["visible area", "corners", "ms"]
    head = [
        "H, mAA 5 / 10 px",
        "paper, ms",
        *(f"{name}: {what}" for name in ("small sets", "exact_warp") for what in of_set),
    ]
    return lines(head, map(row, BOTH))


def planes_by_ratio() -> str:
    """Return what the ratio of the matches and the error change on the small sets, mAA at 10 px."""

    def row(method: str) -> list[str]:
        metrics = [f"Homography mAA (10 px), {error}" for error in ERRORS[::-1]]
        return [method, *(share(main_value("H", m, method, run=run)) for run in (SMALL_BEFORE, SMALL) for m in metrics)]

    head = [f"ratio < {ratio}: {error}" for ratio in (".6", ".85") for error in ERRORS[::-1]]
    return lines(["small H sets, mAA 10 px", *head], map(row, BOTH))


# Column of the comparison with the authors' code -> report, key of its figures, heading.
AUTHORS = (
    ("E", "AUC@10", "E, AUC@10"),
    ("F", "AUC@10", "F, AUC@10"),
    ("H_exact", "mAA@10", "exact_warp, mAA@10"),
    ("H_small", "mAA@10", "small H sets, mAA@10"),
    ("H_small_1.5px", "mAA@10", "small H sets with ours at 1.5 px, mAA@10"),
)
BENCH_NAMES = {"RANSAC": "uniform", **{method: method.lower() for method in METHODS[1:]}}


def _ours(method: str, report: str, key: str) -> float | None:
    """Return our figure beside the authors' code, None where there is none."""
    name, lo = method.removesuffix("+LO"), "-lo" if method.endswith("+LO") else ""
    figures: dict[str, float] = bench(report)["mean"].get(BENCH_NAMES[name] + lo, {})
    return figures.get(key)


def authors_code() -> str:
    """Return the authors' code and our methods on the same pairs.

    "Before" is before the error of E, the end of runs with a network and P-NAPSAC's stop were the paper's.
    """
    methods, below, rows = paper()["authors-code"], [], []
    for method, printed in methods.items():
        rows.append([method])
        for report, key, heading in AUTHORS:
            theirs, ours = printed.get(report.removesuffix("_1.5px")), _ours(method, report, key)
            before = _ours(method, f"earlier/{report}", key) if report_path(f"earlier/{report}").exists() else None
            rows[-1].append(" / ".join("-" if value is None else share(value) for value in (theirs, before, ours)))
            if theirs is not None and ours is not None and theirs - ours > 0.01:
                below.append(f"{method} on {heading.split(',')[0]} ({share(theirs - ours)})")
    table = lines(["authors / ours before / ours", *(heading for *_, heading in AUTHORS)], rows)
    return f"{table}\nBelow the authors' figure by more than .01: {', '.join(below) or 'none'}.\n"


def per_scene(model: str) -> str:
    """Return one half of tab:photoTourism_results: the paper's scenes, then ours."""

    def row(scene: str, *figures: Sequence[float]) -> list[str]:
        return [scene, *(f"{shares((R, t))}, {number(time)}" for R, t, time in zip(*figures, strict=True))]

    ours, sections = table("per-scene"), ("Rotation mAA (10°)", "Translation mAA (10°)", TIME)
    places = [place for place, (group, _) in enumerate(ours.columns) if group.startswith(MODELS[model])]
    of_paper = paper()["per-scene"][model]
    rows = [["*the paper*", *[""] * len(METHODS)]]
    rows += [
        row(scene, *(of_paper[what][scene] for what in ("rotation", "translation", "ms"))) for scene in of_paper["ms"]
    ]
    rows.append(["*ours*", *[""] * len(METHODS)])
    for scene in ours.labels(sections[0]):
        figures = (ours.row(scene, section=section) for section in sections)
        rows.append(row(scene, *([values[place] for place in places] for values in figures)))
    return lines([f"{model}: mAA 10, R / t, ms", *METHODS], rows)


def ablation(run: str, heading: str, methods: Sequence[str] = ()) -> str:
    """Return an ablation: metrics down, the values of the option in each cell."""
    ours = table(run)
    groups = methods or ("",)

    def cells(metric: str, model: str, group: str) -> str:
        places = [j for j, (of, _) in enumerate(ours.columns) if of == group]
        values = [ours.row(metric, section=MODELS[model])[j] for j in places]
        return " / ".join((share if metric in RATES or metric == AUC else number)(value) for value in values)

    rows = []
    for key, metric in zip(("R5", "R10", "t5", "t10", "ms", None, None), (*RATES, TIME, AUC, ITERATIONS), strict=True):
        printed = paper()[run][key] if key else []
        of_paper = " / ".join((number if key == "ms" else share)(value) for value in printed)
        of_ours = [cells(metric, model, group) for group in groups for model in "EF"]
        rows.append([metric.removesuffix(", not in the paper"), of_paper, *of_ours])
    columns = [f"{group}, {model}" if group else model for group in groups for model in "EF"]
    return lines([heading, "paper", *columns], rows)


def stopping_criteria() -> str:
    """Return tab:stopping_criteria."""

    def cell(values: Sequence[float]) -> str:
        R5, R10, t5, t10, ms = values[:5]
        return f"{shares((R5, R10))}, {shares((t5, t10))}, {number(ms)}"

    of_paper, ours = paper()["stopping-criteria"], table("stopping-criteria").rows
    of_models = ([values for section, _, values in ours if section.startswith(MODELS[model])] for model in "EF")
    rows = [
        [name, *map(cell, (printed, *figures))]
        for (name, printed), *figures in zip(of_paper.items(), *of_models, strict=True)
    ]
    return lines(["mAA R 5 / 10, t 5 / 10, ms", "paper", "E", "F"], rows)


def errors_and_rates(name: str, label: str, chosen: Sequence[str] = ()) -> str:
    """Return the errors, times and accuracies of some rows of a table, by default of all."""
    ours = table(name)
    rows = []
    for row in chosen or ours.labels("Rotation error"):
        errors = (ours.row(row, section=section) for section in ("Rotation error", "Translation error", "Avg."))
        cells = (f"{number(R)} / {number(t)}, {number(ms)}" for R, t, ms in zip(*errors, strict=True))
        rows.append([f"{label.format(row)}: error R / t, ms", *cells])
        rates = (ours.row(row, section=f"{what} mAA (10°)") for what in ("Rotation", "Translation"))
        rows.append(["mAA 10, R / t", *map(shares, zip(*rates, strict=True))])
    return lines(["F", *METHODS], rows)


def synthetic(run: str = "synthetic") -> str:
    """Return figures of fig:results_synthetic_data: iterations, RMSE and their ratios."""
    means, ratios, stop = (table(run, f"synthetic{name}") for name in ("", "_ratios", "_stop"))
    places, rows = [(of, rate) for of in ("Curve", "Circle") for rate in means.labels(of)], []
    for problem, rate in places:
        cells = [f"{problem.lower()}, {rate}"]
        for group, digits, place in (("Iterations", 0, 0), ("RMSE", 2, 2)):
            found = (means.value(rate, method, section=problem, group=group)["value"] for method in SYNTHETIC)
            ratio = ratios.row(rate, section=problem)[place]
            cells += [
                " / ".join(f"{mean:.{digits}f}" for mean in found),
                f"{ratio['value']:.3f} ± {ratio['error']:.3f}",
            ]
        rows.append([*cells, str(stop.value(rate, "fired", section=problem))])
    over, names = "BANSAC over RANSAC", " / ".join(SYNTHETIC)
    head = ["inliers", f"iterations: {names}", over, f"RMSE, thousandths: {names}", over, "own stop alone fires"]
    return lines(head, rows)


SYNTHETIC = ("RANSAC", "BaySAC", "BANSAC")


def probability_evolution() -> str:
    """Return the mean probabilities of true and of wrong matches over the runs of the figures."""
    rows = []
    for run in ("probability-evolution", "probability-evolution-data"):
        ours = table(run)
        for section in dict.fromkeys(section for section, *_ in ours.rows):
            for label in ours.labels(section):
                true, wrong, rank = ours.row(label, section=section)
                rows.append([section, label, true, wrong, rank])
    return lines(["pair", "iteration", "mean P, true", "mean P, wrong", "P(true above wrong)"], rows)


def curve_example() -> str:
    """Return the means of the panels of fig:curve_fitting_example."""

    def cell(value: float | None) -> str:
        return "-" if value is None else str(value) if isinstance(value, int) else f"{value:.3f}"

    ours = table("curve-example")
    rows = ([label, *map(cell, values)] for _, label, values in ours.rows)
    return lines(["iteration", *(column for _, column in ours.columns)], rows)


def cpt_robustness() -> str:
    """Return the accuracy with varied tables."""
    ours = table("cpt-robustness")
    rows = (
        [name.replace("|", "\\|"), *(shares(ours.row(name, section=MODELS[model])[:4]) for model in "EF")]
        for name in dict.fromkeys(ours.labels())
    )
    return lines(["varied", "E: mAA R 5 / 10 / t 5 / 10", "F"], rows)


def degenerate_sampling() -> str:
    """Return how often F is wrong, and how many runs are biased and come back, by the share of the plane."""
    errors, back = table("degenerate-sampling", "degenerate_errors"), table("degenerate-sampling", "degenerate_return")
    shares_of_plane = errors.labels("Synthetic")
    rows = [["*up to the stopping criterion: F wrong off the plane, %*", *[""] * len(shares_of_plane)]]
    for method in dict.fromkeys(column for _, column in errors.columns):
        values = (errors.value(place, method, section="Synthetic", group="F wrong") for place in shares_of_plane)
        rows.append([method, *(f"{value:.0f}" for value in values)])
    rows.append(["*10,000 iterations without a criterion*", *[""] * len(shares_of_plane)])
    for method in dict.fromkeys(section for section, *_ in back.rows):
        for place, (_, column) in enumerate(back.columns):
            cells = (back.row(of_plane, section=method)[place] for of_plane in shares_of_plane)
            rows.append([f"{method}: {column}", *map(str, cells)])
    return lines(["true matches on the plane", *shares_of_plane], rows)


READINGS = ("SPRT, no", "No SPRT", "SPRT, at least")


def readings() -> str:
    """Return what other readings of the paper change: AUC, iterations, time, and the smallest lead in accuracy."""
    ours = table("readings")

    def cell(model: str, method: str, group: str) -> str:
        if not any(of.startswith(group) and name == method for of, name in ours.columns):
            return "-"
        values = (ours.value(m, method, section=MODELS[model], group=group) for m in (AUC, ITERATIONS, TIME))
        auc, iterations, ms = values
        return f"{share(auc)}, {number(iterations)}, {number(ms)}"

    def leads(model: str, method: str, group: str) -> str:
        found = [lead_of("readings", model, metric, method, group) for metric in RATES]
        least = min(found, key=lambda lead: lead.value)
        beyond = sum(lead.holds for lead in found)
        return f"{beyond} of 4; {least.value:+.3f} ± {least.error:.3f}"

    rows = [
        [f"{model}: {name}", *(cell(model, name, group) for group in READINGS)] for model in "EF" for name in METHODS
    ]
    rows += [
        [f"{model}: lead of {name}", *(leads(model, name, group) for group in READINGS)]
        for model in "EF"
        for name in OURS
    ]
    return lines(["AUC@10, iterations, ms", "as printed, with SPRT", "without SPRT", "with SPRT, 20 updates"], rows)


def main_leads() -> str:
    """Return the leads of BANSAC and P-BANSAC over the best baseline in the rows of the main table."""
    runs = (("E", "main-table"), ("F", "main-table"), ("H", SMALL), ("H", EXACT), ("H", EXACT_STRICT))

    def cell(model: str, metric: str, method: str, run: str) -> str:
        found = lead(model, metric, method, run=run)
        digits = 2 if metric == TIME else 3
        return f"{found.value:+.{digits}f} ± {found.error:.{digits}f}"

    rows = []
    for model, run in runs:
        metrics = (f"Homography mAA ({t} px), {ERRORS[0]}" for t in (5, 10)) if model == "H" else RATES
        for metric in (*metrics, TIME):
            name = model if model in "EF" else run.replace("main-table", "H")
            cells = (cell(model, metric, method + lo, run) for lo in ("", "+LO") for method in OURS)
            rows.append([f"{name}: {metric}", *cells])
    return lines(["lead over the best baseline", *(method + lo for lo in ("", "+LO") for method in OURS)], rows)


def scoring() -> str:
    """Return what MSAC's score changes."""
    ours = table("scoring")

    def cell(model: str, method: str, column: str) -> str:
        metrics = (RATES[1], RATES[3], AUC, TIME)
        R10, t10, auc, ms = (ours.value(m, column, section=MODELS[model], group=method) for m in metrics)
        return f"{shares((R10, t10))}, {share(auc)}, {number(ms)}"

    names = {"RANSAC": "RANSAC", "RANSAC+LO": "uniform-lo", "BANSAC": "BANSAC", "BANSAC+LO": "bansac-lo"}
    rows = [
        [f"{model}: {shown}", *(cell(model, name, column) for column in ("inliers", "MSAC"))]
        for model in "EF"
        for shown, name in names.items()
    ]
    return lines(["mAA 10 R / t, AUC@10, ms", "count of inliers", "MSAC"], rows)


GAMMAS, RHOS, ORDERS = "gamma_1 / gamma_2 / gamma_3", "rho_1 / rho_2 / rho_3 / rho_4", "order 1 / 2 / 3"

TABLES: dict[str, Callable[[], Any]] = {
    "runs": runs,
    "main-E": lambda: main_poses("E"),
    "main-F": lambda: main_poses("F"),
    "main-H": main_planes,
    "main-leads": main_leads,
    "main-H-ratio": planes_by_ratio,
    "authors-code": authors_code,
    "per-scene-E": lambda: per_scene("E"),
    "per-scene-F": lambda: per_scene("F"),
    "markov-order": lambda: ablation("markov-order", ORDERS),
    "fixed-iterations": lambda: errors_and_rates("fixed-iterations", "{} iterations", ("1000", "5000", "10000")),
    "inlier-ratio": lambda: errors_and_rates("inlier-ratio", "ratio < {}"),
    "synthetic": synthetic,
    "synthetic-low-noise": lambda: synthetic("synthetic-low-noise"),
    "synthetic-variance": lambda: synthetic("synthetic-variance"),
    "classification-cpt": lambda: ablation("classification-cpt", GAMMAS, ("BANSAC", "P-BANSAC")),
    "sampling-activation": lambda: ablation("sampling-activation", RHOS),
    "stopping-criteria": stopping_criteria,
    "probability-evolution": probability_evolution,
    "curve-example": curve_example,
    "cpt-robustness": cpt_robustness,
    "degenerate-sampling": degenerate_sampling,
    "readings": readings,
    "scoring": scoring,
}
