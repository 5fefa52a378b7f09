"""The experiments' tables: the paper's figures beside ours."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from bansac_lab.experiments.grids import PRINTED, READINGS
from bansac_lab.reports import bench, lines, number, share, shares
from bansac_lab.reproduction.runs import METHODS, MODELS, OURS, RATES, TIME, run_table, stored, table

SMALL, EXACT = "main-table-small", "main-table-exact"
AUC = "AUC (10°) of the larger error, not in the paper"
ITERATIONS = "Avg. iterations, not in the paper"


def _cell(rates: Iterable[float], ms: float) -> str:
    return f"{shares(rates)}, {number(ms)}"


def main_values(model: str, metrics: Iterable[str], method: str, *, run: str = "main-table") -> list[float]:
    """Return figures of the main table; ``method`` is a name of the paper's, with "+LO" for local optimisation."""
    column, local, _ = method.partition("+LO")
    place = {"section": MODELS[model], "group": "With Local" if local else "Without Local"}
    return [table(run, "main_table").value(metric, column, **place) for metric in metrics]


def main_poses(model: str) -> str:
    """Return tab:results_E_F_H_LO for E or F."""
    rows = []
    for method, printed in stored("paper")["main-table"][model].items():
        ours = main_values(model, (*RATES, TIME), method)
        rates = [shares(of[place : place + 2]) for place in (0, 2) for of in (printed, ours)]
        rows.append([method, *rates, f"{number(printed[-1])} / {number(ours[-1])}"])
    return lines([model, "paper: mAA R 5 / 10", "ours", "paper: mAA t 5 / 10", "ours", "ms: paper / ours"], rows)


def main_planes() -> str:
    """Return tab:results_E_F_H_LO for H by the error over the visible area, on two kinds of sets."""
    metrics, rows = [*(f"Homography mAA ({t} px), visible area" for t in (5, 10)), TIME], []
    for method, printed in stored("paper")["main-table"]["H"].items():
        ours = (main_values("H", metrics, method, run=run) for run in (SMALL, EXACT))
        rows.append([method, *(_cell(of[:2], of[2]) for of in (printed, *ours))])
    return lines(["H, mAA 5 / 10 px, ms", "paper", "small sets", "exact_warp"], rows)


# Column of the comparison with the authors' code -> report, key of its figures, heading.
AUTHORS = (
    ("E", "AUC@10", "E, AUC@10"),
    ("F", "AUC@10", "F, AUC@10"),
    ("H_exact", "mAA@10", "exact_warp, mAA@10"),
    ("H_small", "mAA@10", "small H sets, mAA@10"),
    ("H_small_1.5px", "mAA@10", "small H sets with ours at 1.5 px, mAA@10"),
)
BENCH_NAMES = {"RANSAC": "uniform", **{method: method.lower() for method in METHODS[1:]}}


def authors_code() -> str:
    """Return the authors' code and our methods on the same pairs."""
    below, rows = [], []
    for method, printed in stored("paper")["authors-code"].items():
        name, lo = method.removesuffix("+LO"), "-lo" if method.endswith("+LO") else ""
        rows.append([method])
        for report, key, heading in AUTHORS:
            theirs = printed.get(report.removesuffix("_1.5px"))
            ours = bench(report)["mean"].get(BENCH_NAMES[name] + lo, {}).get(key)
            rows[-1].append(" / ".join("-" if value is None else share(value) for value in (theirs, ours)))
            if theirs is not None and ours is not None and theirs - ours > 0.01:
                below.append(f"{method} on {heading.split(',')[0]} ({share(theirs - ours)})")
    table = lines(["authors / ours", *(heading for *_, heading in AUTHORS)], rows)
    return f"{table}\nBelow the authors' figure by more than .01: {', '.join(below) or 'none'}.\n"


def per_scene() -> str:
    """Return tab:photoTourism_results for F on our scenes."""
    ours = table("per-scene")
    sections = ("Rotation mAA (10°)", "Translation mAA (10°)", TIME)

    def cell(scene: str, method: str) -> str:
        *rates, ms = (ours.value(scene, method, section=section, group=MODELS["F"]) for section in sections)
        return _cell(rates, ms)

    scenes = (row.label for row in ours.within(sections[0]))
    rows = ([scene, *(cell(scene, method) for method in METHODS)] for scene in scenes)
    return lines(["F: mAA 10, R / t, ms", *METHODS], rows)


def ablation(run: str, heading: str, methods: Sequence[str] = ()) -> str:
    """Return an ablation: metrics down, the values of the option in each cell."""
    ours = table(run)
    groups = methods or ("",)

    def values(metric: str, group: str, model: str) -> list[float]:
        columns = ours.columns_of(group)
        return [ours.value(metric, column, section=MODELS[model], group=group) for column in columns]

    places, rows = list(itertools.product(groups, "EF")), []
    for key, metric in {"R10": RATES[1], "t10": RATES[3], "ms": TIME, None: ITERATIONS}.items():
        figures = [stored("paper")[run][key] if key else [], *(values(metric, *place) for place in places)]
        texts = (" / ".join(map(share if metric in RATES else number, of)) for of in figures)
        rows.append([metric.removesuffix(", not in the paper"), *texts])
    columns = [f"{group}, {model}" if group else model for group, model in places]
    return lines([heading, "paper", *columns], rows)


def stopping_criteria() -> str:
    """Return tab:stopping_criteria."""
    of_paper, ours = stored("paper")["stopping-criteria"], table("stopping-criteria")
    of_models = ([row.values for row in ours.within(MODELS[model])] for model in "EF")
    printed_and_ours = zip(of_paper.values(), *of_models, strict=True)
    rows = [
        [name, *(_cell(of[1:4:2], of[4]) for of in figures)]
        for name, figures in zip(of_paper, printed_and_ours, strict=True)
    ]
    return lines(["mAA 10 R / t, ms", "paper", "E", "F"], rows)


def degenerate_sampling() -> str:
    """Return how often F is wrong, and how many runs are biased and come back, by the share of the plane."""
    errors, back = table("degenerate-sampling", "degenerate_errors"), table("degenerate-sampling", "degenerate_return")
    shares_of_plane = [row.label for row in errors.within("Synthetic")]
    rows = [["*up to the stopping criterion: F wrong off the plane, %*", *[""] * len(shares_of_plane)]]
    for method in dict.fromkeys(errors.columns):
        values = (errors.value(place, method, section="Synthetic", group="F wrong") for place in shares_of_plane)
        rows.append([method, *(f"{value:.0f}" for value in values)])
    rows.append(["*10,000 iterations without a criterion*", *[""] * len(shares_of_plane)])
    for method, column in itertools.product(dict.fromkeys(row.section for row in back.rows), back.columns):
        if "end" in column:
            cells = (back.value(of_plane, column, section=method) for of_plane in shares_of_plane)
            rows.append([f"{method}: {column}", *cells])
    return lines(["true matches on the plane", *shares_of_plane], rows)


def readings() -> str:
    """Return what other readings change for P-BANSAC and BANSAC: AUC, its gain in accuracy, iterations and time."""
    ours, gains = table("readings"), table("readings", "gains")
    rows = []
    for model in "EF":
        for method, title in itertools.product(OURS, READINGS):
            if (title, method) not in ours.headings():
                continue
            auc, *others = (ours.value(m, method, section=MODELS[model], group=title) for m in (AUC, ITERATIONS, TIME))
            cells = [f"{model}: {method}, {title}", share(auc), *map(number, others)]
            if title == PRINTED:
                rows.append([*cells, "", "", ""])
                continue
            found = [gains.value(metric, method, section=MODELS[model], group=title) for metric in RATES]
            beyond = (sum(gain.ahead for gain in found), sum(gain.behind for gain in found))
            extremes = (pick(found, key=lambda gain: gain.value) for pick in (min, max))
            span = " to ".join(f"{gain.value:+.3f} ± {gain.error:.3f}" for gain in extremes)
            rows.append([*cells, span, *map(str, beyond)])
    head = ["reading", "AUC@10", "iterations", "ms", "gain in the four rates", "beyond interval: better", "worse"]
    return lines(head, rows)


def scoring() -> str:
    """Return what MSAC's score changes."""
    ours = table("scoring")

    def cell(model: str, method: str, column: str) -> str:
        metrics = (RATES[1], RATES[3], AUC, TIME)
        R10, t10, auc, ms = (ours.value(m, column, section=MODELS[model], group=method) for m in metrics)
        return f"{shares((R10, t10))}, {share(auc)}, {number(ms)}"

    names = {"RANSAC": "RANSAC", "RANSAC+LO": "uniform-lo", "BANSAC": "BANSAC", "BANSAC+LO": "bansac-lo"}
    places = itertools.product("EF", names.items())
    rows = (
        [f"{model}: {shown}", *(cell(model, name, of) for of in ("inliers", "MSAC"))] for model, (shown, name) in places
    )
    return lines(["mAA 10 R / t, AUC@10, ms", "count of inliers", "MSAC"], rows)


GAMMAS, RHOS, ORDERS = "gamma_1 / gamma_2 / gamma_3", "rho_1 / rho_2 / rho_3 / rho_4", "order 1 / 2 / 3"

TABLES: dict[str, Callable[[], Any]] = {
    "runs": run_table,
    "main-E": lambda: main_poses("E"),
    "main-F": lambda: main_poses("F"),
    "main-H": main_planes,
    "authors-code": authors_code,
    "per-scene-F": per_scene,
    "markov-order": lambda: ablation("markov-order", ORDERS),
    "classification-cpt": lambda: ablation("classification-cpt", GAMMAS, ("BANSAC", "P-BANSAC")),
    "sampling-activation": lambda: ablation("sampling-activation", RHOS),
    "stopping-criteria": stopping_criteria,
    "degenerate-sampling": degenerate_sampling,
    "readings": readings,
    "scoring": scoring,
}
