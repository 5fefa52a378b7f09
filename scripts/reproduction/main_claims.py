"""The claims on the main table and on the scenes: tab:results_E_F_H_LO and tab:photoTourism_results."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

from reproduction.claim import Finding, above, claim, first, verdict
from reproduction.evidence import BASELINES, METHODS, MODELS, OURS, RATES, TIME, main_value, number, paper, share, table
from reproduction.tables import ERRORS, EXACT, SMALL

LEVEL = 0.005  # between seeds mAA moves by about so much on E and F


def rows_of_poses(models: str = "EF", *, lo: str = "", source: str = "ours") -> list[dict[str, float]]:
    """Return the accuracies of the main table on poses, a dictionary by method for each of its rows."""
    names = [method + lo for method in METHODS]
    if source == "paper":
        return [{name: paper()["main-table"][model][name][k] for name in names} for model in models for k in range(4)]
    return [{name: main_value(model, metric, name) for name in names} for model in models for metric in RATES]


def rows_of_planes(run: str, *, lo: str = "", errors: Sequence[str] = ERRORS) -> list[dict[str, float]]:
    """Return the accuracies of the main table on homographies."""
    return [
        {method + lo: main_value("H", f"Homography mAA ({t} px), {error}", method + lo, run=run) for method in METHODS}
        for error in errors
        for t in (5, 10)
    ]


def planes_of_paper(*, lo: str = "") -> list[dict[str, float]]:
    """Return the paper's accuracies on homographies."""
    return [{method + lo: paper()["main-table"]["H"][method + lo][k] for method in METHODS} for k in (0, 1)]


def times(model: str, *, run: str = "main-table", lo: str = "") -> dict[str, float]:
    """Return the mean times of the methods."""
    return {method + lo: main_value(model, TIME, method + lo, run=run) for method in METHODS}


def paper_times(model: str, *, lo: str = "") -> dict[str, float]:
    """Return the paper's mean times."""
    return {method + lo: paper()["main-table"][model][method + lo][-1] for method in METHODS}


def order(values: dict[str, float], count: int = 3) -> str:
    """Return the fastest methods with their times."""
    ranked = sorted(values, key=lambda name: values[name])[:count]
    return ", ".join(f"{name} {number(values[name])}" for name in ranked)


@claim("tab:results_E_F_H_LO", "main-table")
def bansac_first() -> Finding:
    """BANSAC is the most accurate on E and F."""
    ours, theirs = rows_of_poses(), rows_of_poses(source="paper")
    held = sum("BANSAC" in first(row) for row in ours)
    alone = sum(first(row) == {"BANSAC"} for row in ours)
    printed = sum("BANSAC" in first(row) for row in theirs)
    return f"first in {printed} of 8 rows", f"first in {held} of 8 rows, in {alone} of them alone", verdict(held, 8)


@claim("tab:results_E_F_H_LO", "main-table")
def p_bansac_second() -> Finding:
    """P-BANSAC is the second."""
    ours = [above(row, "P-BANSAC") for row in rows_of_poses()]
    printed = sum(above(row, "P-BANSAC") for row in rows_of_poses(source="paper"))
    return (
        f"above all baselines in {printed} of 8 rows",
        f"in {sum(ours)} of 8 (E {sum(ours[:4])}, F {sum(ours[4:])} of 4)",
        verdict(sum(ours), 8),
    )


@claim("tab:results_E_F_H_LO", "main-table")
def fastest_on_poses() -> Finding:
    """P-BANSAC is the fastest on E and F, BANSAC the second."""
    held = sum(
        list(sorted(times(model), key=times(model).__getitem__))[place] == name
        for model in "EF"
        for place, name in enumerate(("P-BANSAC", "BANSAC"))
    )
    said = [f"E: {order(of('E'))}; F: {order(of('F'))} ms" for of in (paper_times, times)]
    return said[0], said[1], verdict(held, 4)


def best_on_planes(lo: str = "") -> Finding:
    """Return in how many rows on homographies each of our two is above all baselines."""
    parts, held, of = [], 0, 0
    for run, name in ((SMALL, "small sets"), (EXACT, "exact_warp")):
        for method in OURS:
            ahead = sum(above(row, method + lo) for row in rows_of_planes(run, lo=lo))
            parts.append(f"{name}: {method} {ahead}")
            held, of = held + ahead, of + 4
    printed = [sum(above(row, method + lo) for row in planes_of_paper(lo=lo)) for method in OURS]
    return (
        f"BANSAC above all baselines in {printed[0]}, P-BANSAC in {printed[1]} of 2 rows",
        f"{'; '.join(parts)} of 4 rows (5 and 10 px, both errors)",
        verdict(held, of),
    )


def best_on_planes_level(lo: str = "") -> str:
    """Return how far the better of our two is from the best baseline, the visible area at 10 px."""
    parts = []
    for run, name in ((SMALL, "small sets"), (EXACT, "exact_warp")):
        row = rows_of_planes(run, lo=lo, errors=ERRORS[:1])[1]
        ours = max(row[method + lo] for method in OURS)
        baselines = {method: row[method + lo] for method in BASELINES}
        best = max(baselines, key=baselines.__getitem__)
        parts.append(f"{name} {share(ours)} beside {best}'s {share(baselines[best])}")
    return ", ".join(parts)


@claim("tab:results_E_F_H_LO", SMALL, EXACT)
def planes() -> Finding:
    """P-BANSAC is the most accurate on H, BANSAC the second."""
    printed, ours, judged = best_on_planes()
    return printed, f"{ours}. Better of the two, visible area at 10 px: {best_on_planes_level()}", judged


@claim("tab:results_E_F_H_LO", SMALL, EXACT)
def planes_lo() -> Finding:
    """With LO they outperform the baselines on H."""
    printed, ours, judged = best_on_planes("+LO")
    return printed, f"{ours}. Better of the two, visible area at 10 px: {best_on_planes_level('+LO')}", judged


@claim("tab:results_E_F_H_LO", SMALL, EXACT)
def ransac_fastest_on_planes() -> Finding:
    """RANSAC is the fastest on H."""
    found = [min(times("H", run=run), key=times("H", run=run).__getitem__) == "RANSAC" for run in (SMALL, EXACT)]
    ours = "; ".join(
        f"{name}: {order(times('H', run=run))} ms" for run, name in ((SMALL, "small"), (EXACT, "exact_warp"))
    )
    return f"{order(paper_times('H'))} ms", ours, verdict(sum(found), 2)


@claim("tab:results_E_F_H_LO", "main-table", SMALL, EXACT)
def lo_improves() -> Finding:
    """LO improves every method."""

    def gains(plain: list[dict[str, float]], local: list[dict[str, float]]) -> dict[str, list[float]]:
        return {m: [b[f"{m}+LO"] - a[m] for a, b in zip(plain, local, strict=True)] for m in METHODS}

    kinds = {
        "E": gains(rows_of_poses("E"), rows_of_poses("E", lo="+LO")),
        "F": gains(rows_of_poses("F"), rows_of_poses("F", lo="+LO")),
        "H small": gains(rows_of_planes(SMALL), rows_of_planes(SMALL, lo="+LO")),
        "H exact_warp": gains(rows_of_planes(EXACT), rows_of_planes(EXACT, lo="+LO")),
    }
    no_loss = {kind: sum(g > -0.0005 for of in by.values() for g in of) for kind, by in kinds.items()}
    total = {kind: sum(map(len, by.values())) for kind, by in kinds.items()}
    losers = [
        f"{m} on {kind} ({min(of):+.3f})" for kind, by in kinds.items() for m, of in by.items() if min(of) <= -LEVEL
    ]
    said = ", ".join(f"{kind} {no_loss[kind]} of {total[kind]}" for kind in kinds)
    ours = f"no loss in: {said} figures; losses of .005 or more: {', '.join(losers) or 'none'}"
    printed = gains(
        rows_of_poses(source="paper") + planes_of_paper(),
        rows_of_poses(source="paper", lo="+LO") + planes_of_paper(lo="+LO"),
    )
    of_paper = sum(g >= 0 for of in printed.values() for g in of)
    return f"no loss in {of_paper} of 60 figures", ours, verdict(sum(no_loss.values()), sum(total.values()))


@claim("tab:results_E_F_H_LO", "main-table")
def lo_helps_napsac() -> Finding:
    """LO improves NAPSAC and P-NAPSAC most."""

    def gain(method: str, source: str) -> float:
        (plain,), (local,) = rows_of_poses("F", source=source)[3:], rows_of_poses("F", lo="+LO", source=source)[3:]
        return local[f"{method}+LO"] - plain[method]

    said, held = [], 0
    for source in ("paper", "ours"):
        gains = {method: gain(method, source) for method in METHODS}
        ranked = sorted(gains, key=lambda name: -gains[name])
        held = sum(name in ("NAPSAC", "P-NAPSAC") for name in ranked[:2])
        said.append(", ".join(f"{name} {gains[name]:+.3f}" for name in ranked))
    return f"F, translation mAA 10: {said[0]}", said[1], verdict(held, 2)


@claim("tab:results_E_F_H_LO", "main-table")
def ahead_with_lo() -> Finding:
    """With LO BANSAC and P-BANSAC outperform the baselines on E and F."""
    ours = rows_of_poses(lo="+LO")
    theirs = rows_of_poses(lo="+LO", source="paper")
    said = []
    for rows in (theirs, ours):
        counts = [f"{method} {sum(above(row, f'{method}+LO') for row in rows)}" for method in OURS]
        said.append(f"above all baselines: {', '.join(counts)} of 8 rows")
    held = sum(above(row, f"{method}+LO") for row in ours for method in OURS)
    return said[0], said[1], verdict(held, 16)


@claim("tab:photoTourism_results", "per-scene")
def scenes() -> Finding:
    """BANSAC and P-BANSAC are the most accurate, scene by scene."""

    def count(rows: Iterable[Sequence[float]]) -> tuple[int, int]:
        found = [bool(first(dict(zip(METHODS, row, strict=True))) & set(OURS)) for row in rows]
        return sum(found), len(found)

    ours_table = table("per-scene")
    ours, theirs = [], []
    for model, what in itertools.product("EF", ("rotation", "translation")):
        theirs += list(paper()["per-scene"][model][what].values())
        section = f"{what.capitalize()} mAA"
        for scene in ours_table.labels(section):
            ours.append([ours_table.value(scene, m, section=section, group=MODELS[model]) for m in METHODS])
    (printed, of_paper), (held, of) = count(theirs), count(ours)
    return f"first in {printed} of {of_paper} rows", f"first in {held} of {of} rows", verdict(held, of)


@claim("tab:photoTourism_results", "per-scene")
def scene_times() -> Finding:
    """Both are the fastest overall."""
    ours = table("per-scene")
    found, theirs = [], []
    for model in "EF":
        theirs += [dict(zip(METHODS, row, strict=True)) for row in paper()["per-scene"][model]["ms"].values()]
        for scene in ours.labels(TIME):
            found.append({m: ours.value(scene, m, section=TIME, group=MODELS[model]) for m in METHODS})
    said = [[sum(min(r, key=r.__getitem__) == m for r in rows) for m in OURS] for rows in (theirs, found)]
    return (
        f"fastest in {len(theirs)} rows: BANSAC {said[0][0]}, P-BANSAC {said[0][1]}",
        f"in {len(found)} rows: BANSAC {said[1][0]}, P-BANSAC {said[1][1]}",
        verdict(sum(said[1]), len(found)),
    )
