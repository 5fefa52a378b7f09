"""The claims on the ablations, on synthetic data, on single runs, and on degenerate samples."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from bansac.engine.dbn import PAPER_CPT
from bansac.lab.reports import number, share, shares
from bansac.lab.reproduction.claim import Finding, above, claim, verdict
from bansac.lab.reproduction.runs import METHODS, MODELS, OURS, RATES, TIME, paper, table
from bansac.lab.reproduction.tables import stop_figures


def option(run: str, *, group: str = "") -> dict[str, list[list[float]]]:
    """Return the rows of an ablation of BANSAC by model: RATES, the time, AUC and iterations."""
    found = table(run)
    places = [j for j, (of, _) in enumerate(found.columns) if of in ("", group)]
    return {
        model: [[found.row(metric, section=MODELS[model])[j] for j in places] for metric in (*RATES, TIME)]
        for model in "EF"
    }


def is_first(values: Sequence[float]) -> bool:
    """Return whether the first accuracy is the highest, as it looks with three digits."""
    return round(values[0], 3) == round(max(values), 3)


@claim("table:ablation_markov_assumptions", "markov-order")
def orders() -> Finding:
    """Order 1 is the most accurate, order 3 the fastest.

    Order 1 is first in all rows of accuracy, and order 3 is the fastest on E and on F.
    """
    rows = option("markov-order")
    accurate = sum(is_first(row) for model in "EF" for row in rows[model][:4])
    fast = [min(rows[model][4]) == rows[model][4][2] for model in "EF"]
    said = "; ".join(
        f"{model} {shares(rows[model][1])}, {' / '.join(map(number, rows[model][4]))} ms" for model in "EF"
    )
    drop = max(row[0] - min(row[1:]) for model in "EF" for row in rows[model][:4])
    printed = paper()["markov-order"]
    return (
        f"R mAA 10: {shares(printed['R10'])}, {' / '.join(map(number, printed['ms']))} ms",
        f"{said}; order 1 first in {accurate} of 8 rows, order 3 the fastest in {sum(fast)} of 2; "
        f"orders 2 and 3 are behind by at most {share(drop)} (.027 in the paper)",
        verdict(accurate + sum(fast), 10),
    )


def errors_by_value(run: str, what: str) -> dict[str, list[float]]:
    """Return the errors (or times) of every method, by the values of a sweep."""
    found = table(run)
    rows = [values for section, _, values in found.rows if section.startswith(what)]
    return dict(zip(METHODS, map(list, zip(*rows, strict=True)), strict=True))


@claim("fig:ablation_fixed_iters", "fixed-iterations")
def errors_fall() -> Finding:
    """Errors fall with the iterations.

    The mean errors of all methods are lower at 10,000 iterations than at 1,000.
    """
    falls = {
        what: sum(values[-1] < values[0] for values in errors_by_value("fixed-iterations", f"{what} error").values())
        for what in ("Rotation", "Translation")
    }
    held = sum(falls.values())
    said = ", ".join(f"{what.lower()} {count} of 6 methods" for what, count in falls.items())
    return "falls for all (figure)", f"lower at 10,000 than at 1,000: {said}", verdict(held, 12)


@claim("fig:ablation_fixed_iters", "fixed-iterations")
def lowest_errors() -> Finding:
    """BANSAC and P-BANSAC err least.

    Their mean errors are below those of all baselines at all ten numbers of iterations.
    """
    parts, held, of = [], 0, 0
    for what in ("Rotation", "Translation"):
        by_method = errors_by_value("fixed-iterations", f"{what} error")
        rows = [dict(zip(by_method, values, strict=True)) for values in zip(*by_method.values(), strict=True)]
        for method in OURS:
            ahead = [above(row, method, lowest=True) for row in rows]
            parts.append(f"{what.lower()} {method} {sum(ahead)}")
            held, of = held + sum(ahead), of + len(ahead)
    prosac, bansac = (errors_by_value("fixed-iterations", "Rotation error")[m] for m in ("PROSAC", "BANSAC"))
    better = [1000 * (k + 1) for k in range(len(prosac)) if prosac[k] < bansac[k]]
    note = f"; PROSAC's rotation error is below BANSAC's at {', '.join(map(str, better))}" if better else ""
    return (
        "both below all others (figure)",
        f"below all baselines at, of 10: {', '.join(parts)}{note}",
        verdict(held, of),
    )


@claim("fig:ablation_fixed_iters", "fixed-iterations")
def same_times() -> Finding:
    """The times are the same.

    BANSAC takes less than 1.1 times the time of RANSAC, PROSAC and P-NAPSAC.
    """
    of_method = {method: values[-1] for method, values in errors_by_value("fixed-iterations", "Avg.").items()}
    ratios = {m: of_method["BANSAC"] / of_method[m] for m in ("RANSAC", "PROSAC", "P-NAPSAC")}
    said = ", ".join(f"{ratio:.2f} of {name}'s" for name, ratio in ratios.items())
    held = sum(ratio < 1.1 for ratio in ratios.values())
    return '"marginally the same" (figure)', f"10,000 iterations of BANSAC: {said} time", verdict(held, 3)


def ends(values: Sequence[float]) -> str:
    """Return the first and the last of some accuracies."""
    return f"{share(values[0])} to {share(values[-1])}"


@claim("fig:ablation_inlier_rates", "inlier-ratio")
def more_outliers() -> Finding:
    """Fewer inliers make BANSAC and P-BANSAC more accurate.

    The mean errors of both are lower at a ratio of .92 than at .82.
    """
    parts, held = [], 0
    for what in ("Rotation", "Translation"):
        errors = errors_by_value("inlier-ratio", f"{what} error")
        rates = errors_by_value("inlier-ratio", f"{what} mAA (10°)")
        for method in OURS:
            held += errors[method][-1] < errors[method][0]
        said = [f"{m} {number(errors[m][0])} to {number(errors[m][-1])}°" for m in (*OURS, "PROSAC", "RANSAC")]
        rates_said = [f"{m} {ends(rates[m])}" for m in OURS]
        parts.append(f"{what.lower()} error {', '.join(said)} (mAA 10: {', '.join(rates_said)})")
    return "the error of both falls (figure)", f"from .82 to .92: {'; '.join(parts)}", verdict(held, 4)


@claim("fig:ablation_inlier_rates", "inlier-ratio")
def times_by_ratio() -> Finding:
    """The time grows alike for all, for PROSAC less.

    It grows for all, PROSAC's least, and that of BANSAC and P-BANSAC by at most 1.2 times as much as RANSAC's.
    """
    growth = {m: values[-1] / values[0] for m, values in errors_by_value("inlier-ratio", "Avg.").items()}
    said = ", ".join(f"{name} {ratio:.1f}" for name, ratio in growth.items())
    held = (min(growth.values()) > 1) + (min(growth, key=growth.__getitem__) == "PROSAC")
    held += sum(growth[method] <= 1.2 * growth["RANSAC"] for method in OURS)
    return "grows for all, for PROSAC least (figure)", f"times at .92 over those at .82: {said}", verdict(held, 4)


@claim("table:ablation_classification_CPT", "classification-cpt")
def gammas() -> Finding:
    """Gamma_1 is the most accurate and the fastest.

    It is first in all rows of accuracy, with three digits, and the fastest.
    """
    parts, held, of = [], 0, 0
    for group in OURS:
        rows = option("classification-cpt", group=group)
        for model in "EF":
            accurate = [is_first(row) for row in rows[model][:4]]
            fast = rows[model][4][0] == min(rows[model][4])
            parts.append(f"{group}, {model}: {sum(accurate)} of 4 rows{', fastest' if fast else ''}")
            held, of = held + sum(accurate) + fast, of + 5
    printed = paper()["classification-cpt"]
    said = f"R mAA 10 {shares(printed['R10'])}, {' / '.join(map(number, printed['ms']))} ms"
    return f"first in all rows: {said}", f"gamma_1 first: {'; '.join(parts)}", verdict(held, of)


@claim("table:ablation_sampling", "sampling-activation")
def rhos() -> Finding:
    """Rho_1 is the most accurate overall.

    It is first in all rows, with three digits.
    """
    rows = option("sampling-activation")
    behind = {model: max(max(row) - row[0] for row in rows[model][:4]) for model in "EF"}
    firsts = sum(is_first(row) for model in "EF" for row in rows[model][:4])
    printed = paper()["sampling-activation"]
    of_paper = sum(is_first(printed[key]) for key in ("R5", "R10", "t5", "t10"))
    said = f"first in {firsts} of 8 rows; behind the best by at most {share(behind['E'])} (E), {share(behind['F'])} (F)"
    return f"first in {of_paper} of 4 rows: R mAA 10 {shares(printed['R10'])}", said, verdict(firsts, 8)


@claim("tab:stopping_criteria", "stopping-criteria")
def own_stop() -> Finding:
    """BANSAC's stop alone is the most accurate and slow.

    It is at most .0005 behind the first in all rows, and the slowest.
    """
    names = list(paper()["stopping-criteria"])
    held, parts = 0, []
    for model in "EF":
        figures = {name: stop_figures(name, model) for name in names}
        accurate = sum(figures["BANSAC"][k] >= max(f[k] for f in figures.values()) - 0.0005 for k in range(4))
        slowest = figures["BANSAC"][4] == max(f[4] for f in figures.values())
        held += accurate + slowest
        parts.append(
            f"{model}: first in {accurate} of 4 rows, {number(figures['BANSAC'][4])} ms{', slowest' * slowest}"
        )
    return "first in 4 of 4 rows, 33.5 ms, slowest", "; ".join(parts), verdict(held, 10)


@claim("tab:stopping_criteria", "stopping-criteria")
def combined_stops() -> Finding:
    """Combined with others it saves time at a slight drop.

    Combined with each criterion it has fewer iterations, which do not depend on the machine, and no mAA drops by .01.
    """
    held, parts = 0, []
    for model, name in itertools.product("EF", ("RANSAC", "SPRT", "PROSAC")):
        alone, both = stop_figures(name, model), stop_figures(f"{name} + BANSAC", model)
        drop = max(alone[k] - both[k] for k in range(4))
        held += (both[5] < alone[5]) + (drop < 0.01)
        saved = f"{100 * (both[5] / alone[5] - 1):+.0f} % iterations, {number(alone[4])} to {number(both[4])} ms"
        parts.append(f"{model}, {name} {saved} ({share(max(drop, 0.0))})")
    return (
        "less time in 2 of 3, drop of at most .001",
        f"{'; '.join(parts)} (largest drop of mAA)",
        verdict(held, 12),
    )


@claim("tab:prob_C, text", "cpt-robustness")
def robust() -> Finding:
    """The update is robust to slight variations of the table.

    No mAA changes by more than .02.
    """
    found = table("cpt-robustness")
    names = [name for name in dict.fromkeys(found.labels()) if name != "paper"]

    def change(name: str) -> float:
        return max(
            abs(float(new) - float(old))
            for model in "EF"
            for new, old in zip(
                found.row(name, section=MODELS[model])[:4], found.row("paper", section=MODELS[model])[:4], strict=True
            )
        )

    large = {name: change(name) for name in names if change(name) > 0.02}
    said = "; ".join(f"{name} by {share(value)}" for name, value in large.items())
    held = len(names) - len(large)
    return "no figure", f"{held} of {len(names)} change no mAA by more than .02; {said}", verdict(held, len(names))


@claim("fig:results_synthetic_data", "synthetic", table_name="synthetic_ratios")
def fewer_iterations() -> Finding:
    """As accurate or better with far fewer iterations.

    All ratios of iterations are below .9, those of RMSE at most 1.
    """
    ratios, stop = table("synthetic", "synthetic_ratios"), table("synthetic", "synthetic_stop")
    iterations = [values[k]["value"] for *_, values in ratios.rows for k in (0, 1)]
    rmse = [values[k]["value"] for *_, values in ratios.rows for k in (2, 3)]
    fired = [float(str(values[0]).split()[0]) for *_, values in stop.rows]
    held = sum(value < 0.9 for value in iterations) + sum(value <= 1 for value in rmse)
    ours = (
        f"{share(min(iterations))} to {share(max(iterations))} of their iterations, RMSE {share(min(rmse))} to "
        f"{share(max(rmse))} of theirs. BANSAC's stop alone fires in {sum(fired) / len(fired):.2f} % of the runs: the "
        "iterations are saved by RANSAC's stop, whose bound falls with a better model"
    )
    return (
        "similar or better RMSE, significantly fewer iterations (figure)",
        ours,
        verdict(held, len(iterations) + len(rmse)),
    )


@claim("experiments, methods", "synthetic")
def baysac_like_ransac() -> Finding:
    """BaySAC does not differ much from RANSAC.

    All ratios lie between .9 and 1.1.
    """
    found = table("synthetic")
    ratios = [
        found.value(rate, "BaySAC", section=problem, group=group)["value"]
        / found.value(rate, "RANSAC", section=problem, group=group)["value"]
        for problem in ("Curve", "Circle")
        for rate in found.labels(problem)
        for group in ("Iterations", "RMSE")
    ]
    held = sum(0.9 < ratio < 1.1 for ratio in ratios)
    ours = f"BaySAC over RANSAC: {min(ratios):.2f} to {max(ratios):.2f} (iterations and RMSE, {len(ratios)} figures)"
    return "no figure", ours, verdict(held, len(ratios))


def separation(run: str, section: str) -> Finding:
    """Return the means of the true and the wrong matches over a run, which should end above .7 and below .05."""
    rows = [(label, values) for of, label, values in table(run).rows if of.startswith(section)]
    said = ", ".join(f"{label}: {true} / {wrong}" for label, (true, wrong, _) in rows)
    true, wrong, _ = rows[-1][1]
    holds = verdict((float(true) > 0.7) + (float(wrong) < 0.05), 2)
    return "figure, no numbers", f"mean P true / wrong: {said}", holds


@claim("fig:teaser", "probability-evolution")
def teaser() -> Finding:
    """H: the probabilities separate inliers from outliers.

    The mean of the true matches ends above .7, that of the wrong ones below .05.
    """
    return separation("probability-evolution", "H")


@claim("fig:prob_update_fundamental", "probability-evolution-data")
def update_fundamental() -> Finding:
    """F: the same.

    As for H.
    """
    return separation("probability-evolution-data", "F")


@claim("fig:curve_fitting_example", "curve-example")
def curve() -> Finding:
    """Curve: inliers become probable, outliers improbable.

    At iterations 14 and 100 the mean of the inliers is above, that of the outliers below its start.
    """
    rows = {label: values for _, label, values in table("curve-example").rows}
    said = ", ".join(f"{k}: {rows[k][0]:.2f} / {rows[k][1]:.2f}" for k in ("0", "14", "100"))
    rise = [rows[k][0] > rows["0"][0] for k in ("14", "100")]
    fall = [rows[k][1] < rows["0"][1] for k in ("14", "100")]
    return "figure, no numbers", f"mean P true / wrong: {said}; see below", verdict(sum(rise) + sum(fall), 4)


@claim("sec. on degenerative configurations", "degenerate-sampling", table_name="degenerate_return")
def bias_undone() -> Finding:
    """A bias towards degenerate samples is undone.

    With every share of the plane, most runs come back.
    """
    back = table("degenerate-sampling", "degenerate_return")
    parts, held, of = [], 0, 0
    for method in dict.fromkeys(section for section, *_ in back.rows):
        synthetic = [place for place in back.labels(method) if place[0].isdigit()]  # the others are pairs of images
        still_biased = [float(back.row(place, section=method)[1].split()[0]) for place in synthetic]
        undone = [place for place, share in zip(synthetic, still_biased, strict=True) if share < 50]
        parts.append(f"{method} with up to {undone[-1] if undone else 'no'} of the true matches on the plane")
        held, of = held + len(undone), of + len(synthetic)
    return "no figure", f"most runs come back: {'; '.join(parts)} (50 to 95 % tried)", verdict(held, of)


@claim("tab:prob_C, tab:cpt_2nd_markov, tab:cpt_3rd_markov")
def same_tables() -> Finding:
    """The tables of orders 1 to 3.

    All values are the same.
    """
    printed = paper()["cpt"]
    same = [np.array_equal(np.array(PAPER_CPT[k - 1]).ravel()[::-1], printed[f"order{k}"]) for k in (1, 2, 3)]
    return (
        "settings, not results",
        f"the same values in {sum(same)} of 3 tables (`engine/dbn.py`)",
        verdict(sum(same), 3),
    )
