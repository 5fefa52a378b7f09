"""The experiments' tables: the paper's figures beside ours."""

from collections.abc import Callable, Iterable, Sequence

from bansac_lab.reports import bench, number, share, shares
from bansac_lab.reproduction.runs import METHODS, MODELS, RATES, TIME, stored, table
from bansac_lab.tables import Table, plain_table

SETS_OF_H = ("main-table-small", "main-table-exact")


def _cell(rates: Iterable[float], ms: float) -> str:
    return f"{shares(rates)}, {number(ms)}"


def main_values(model: str, metrics: Iterable[str], method: str, *, run: str = "main-table") -> list[float]:
    """Return figures of the main table; ``method`` is a name of the paper's, with "+LO" for local optimisation."""
    column, local, _ = method.partition("+LO")
    place = {"section": MODELS[model], "group": "With Local" if local else "Without Local"}
    return [table(run, "main_table").value(metric, column, **place) for metric in metrics]


def main_table() -> Table:
    """Return tab:results_E_F_H_LO: mAA at 10 degrees of rotation and translation, or at 5 and 10 px, and times."""
    of_paper, visible = stored("paper")["main-table"], [f"Homography mAA ({t} px), visible area" for t in (5, 10)]
    rows = []
    for method in of_paper["E"]:
        cells = []
        for model in "EF":
            printed, ours = of_paper[model][method], main_values(model, (RATES[1], RATES[3], TIME), method)
            cells += [_cell(printed[1:4:2], printed[4]), _cell(ours[:2], ours[2])]
        planes = [of_paper["H"][method], *(main_values("H", (*visible, TIME), method, run=run) for run in SETS_OF_H)]
        rows.append([method, *cells, *(_cell(of[:2], of[2]) for of in planes)])
    head = ["E: paper", "E: ours", "F: paper", "F: ours", "H: paper", "H: small sets", "H: exact_warp"]
    return plain_table(["mAA, ms", *head], rows)


# Column of the comparison with the authors' code -> report, key of its figures, heading.
AUTHORS = (
    ("E", "AUC@10", "E, AUC@10"),
    ("F", "AUC@10", "F, AUC@10"),
    ("H_exact", "mAA@10", "exact_warp, mAA@10"),
    ("H_small", "mAA@10", "small H sets, mAA@10"),
    ("H_small_1.5px", "mAA@10", "small H sets with ours at 1.5 px, mAA@10"),
)
BENCH_NAMES = {"RANSAC": "uniform", **{method: method.lower() for method in METHODS[1:]}}


def authors_code() -> Table:
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
    note = f"Below the authors' figure by more than .01: {', '.join(below) or 'none'}."
    return plain_table(["authors / ours", *(heading for *_, heading in AUTHORS)], rows, note)


def ablations() -> Table:
    """Return the ablations of the order, gamma, rho and the stopping criteria: mAA at 10 degrees, and times."""
    rows = []
    for run, (group, names) in ABLATIONS.items():
        printed, ours = stored("paper")[run], table(run)
        columns = ours.columns_of(group)
        rows.append([f"*{run}*", "", "", ""])
        of_paper = zip(*(printed[key] for key in ("R10", "t10", "ms")), strict=True)
        for name, column, *figures in zip(names, columns, of_paper, strict=True):
            for model in "EF":
                place = {"section": MODELS[model], "group": group}
                figures.append(tuple(ours.value(metric, column, **place) for metric in (RATES[1], RATES[3], TIME)))
            rows.append([name, *(_cell(of[:2], of[2]) for of in figures)])
    rows.append(["*stopping-criteria*", "", "", ""])
    printed, ours = stored("paper")["stopping-criteria"], table("stopping-criteria")
    of_models = ([row.values for row in ours.within(MODELS[model])] for model in "EF")
    for name, *of in zip(printed, printed.values(), *of_models, strict=True):
        rows.append([name, *(_cell(values[1:4:2], values[4]) for values in of)])
    return plain_table(["mAA 10 R / t, ms", "paper", "E", "F"], rows)


def degenerate_sampling() -> Table:
    """Return how often F is wrong, by the share of the plane."""
    errors = table("degenerate-sampling", "degenerate_errors")
    of_plane = [row.label for row in errors.within("Synthetic")]
    methods = dict.fromkeys(errors.columns)
    rows = [
        [method, *(f"{errors.value(of, method, section='Synthetic', group='F wrong'):.0f}" for of in of_plane)]
        for method in methods
    ]
    return plain_table(["F wrong off the plane, %", *of_plane], rows)


ABLATIONS: dict[str, tuple[str, Sequence[str]]] = {
    "markov-order": ("", ("order 1", "order 2", "order 3")),
    "classification-cpt": ("BANSAC", ("gamma_1", "gamma_2", "gamma_3")),
    "sampling-activation": ("", ("rho_1", "rho_2", "rho_3", "rho_4")),
}

TABLES: dict[str, Callable[[], Table]] = {
    "main": main_table,
    "ablations": ablations,
    "authors-code": authors_code,
    "degenerate-sampling": degenerate_sampling,
}
