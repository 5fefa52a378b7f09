"""The claims on the main table and on the scenes: tab:results_E_F_H_LO and tab:photoTourism_results."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence

from bansac.lab.reports import number
from bansac.lab.reproduction.claim import NO, YES, Finding, above, claim, first, verdict
from bansac.lab.reproduction.runs import METHODS, MODELS, OURS, RATES, TIME, Lead, lead, main_value, paper, table
from bansac.lab.reproduction.tables import ERRORS, EXACT, EXACT_STRICT, SMALL

# Sources of the figures of the main table: the paper, or a run.
PAPER, POSES = "paper", "main-table"

# Runs on homographies, with their names.
PLANES = {SMALL: "small sets", EXACT: "exact_warp, ratio < .95", EXACT_STRICT: "exact_warp, ratio < .85"}

LEVEL = 0.005  # between seeds mAA moves by about so much on E and F


def metrics(model: str, errors: Sequence[str] = ERRORS) -> Sequence[str]:
    """Return the names of the accuracies of a model in a run."""
    return RATES if model in "EF" else [f"Homography mAA ({t} px), {error}" for error in errors for t in (5, 10)]


def accuracies(models: str, source: str = POSES, *, lo: str = "") -> list[dict[str, float]]:
    """Return the accuracies of the main table, a dictionary by method for each of its rows."""
    names = [method + lo for method in METHODS]
    if source == PAPER:
        columns = [{name: paper()["main-table"][model][name][:-1] for name in names} for model in models]
        return [dict(zip(names, row, strict=True)) for of in columns for row in zip(*of.values(), strict=True)]
    return [
        {name: main_value(model, metric, name, run=source) for name in names}
        for model in models
        for metric in metrics(model)
    ]


def times(model: str, source: str = POSES, *, lo: str = "") -> dict[str, float]:
    """Return the mean times of the methods."""
    names = [method + lo for method in METHODS]
    if source == PAPER:
        return {name: paper()["main-table"][model][name][-1] for name in names}
    return {name: main_value(model, TIME, name, run=source) for name in names}


def ranked(values: Mapping[str, float]) -> list[str]:
    """Return the methods, the one with the lowest value first."""
    return sorted(values, key=values.__getitem__)


def order(values: Mapping[str, float], count: int = 3) -> str:
    """Return the fastest methods with their times."""
    return ", ".join(f"{name} {number(values[name])}" for name in ranked(values)[:count])


def in_words(leads: Sequence[Lead], *, digits: int = 3, unit: str = "") -> str:
    """Return in how many rows a method is ahead and behind, in how many beyond the interval, and the extreme leads."""
    ahead, behind = [found for found in leads if found.value > 0], [found for found in leads if found.value <= 0]
    least, most = (pick(leads, key=lambda found: found.value) for pick in (min, max))
    said = [f"{found.value:+.{digits}f} ± {found.error:.{digits}f}{unit}" for found in (least, most)]
    beyond = f"{sum(found.holds for found in ahead)} beyond the interval"
    if behind:
        beyond += f"; behind in {len(behind)}, {sum(found.fails for found in behind)} beyond"
    return f"ahead in {len(ahead)} of {len(leads)} rows, {beyond}; leads {said[0]} to {said[1]}"


def leading(printed: str, leads: Mapping[str, Sequence[Lead]], *, digits: int = 3, unit: str = "") -> Finding:
    """Return the finding on leads with a title each; the claim holds in those that are beyond their intervals."""
    parts = (f"{title}: {in_words(found, digits=digits, unit=unit)}" for title, found in leads.items())
    every = list(itertools.chain(*leads.values()))
    return printed, "; ".join(parts), verdict(sum(found.holds for found in every), len(every))


def leads_of(method: str, models: str = "EF", *, over: str = "baseline", run: str = POSES) -> list[Lead]:
    """Return the leads of a method in the rows of accuracy; on homographies by the paper's error."""
    return [
        lead(model, metric, method, over=over, run=run) for model in models for metric in metrics(model, ERRORS[:1])
    ]


@claim("tab:results_E_F_H_LO", "main-table", table_name="leads")
def bansac_first() -> Finding:
    """BANSAC is the most accurate on E and F.

    Its lead over the best other method is beyond its interval in all rows.
    """
    printed = sum("BANSAC" in first(row) for row in accuracies("EF", PAPER))
    leads = leads_of("BANSAC", over="other method")
    return f"first in {printed} of 8 rows", in_words(leads), verdict(sum(found.holds for found in leads), 8)


@claim("tab:results_E_F_H_LO", "main-table", table_name="leads")
def bansac_over_baselines() -> Finding:
    """BANSAC is more accurate than the baselines on E and F.

    Its lead over the best baseline is beyond its interval in all rows.
    """
    printed = sum(above(row, "BANSAC") for row in accuracies("EF", PAPER))
    leads = leads_of("BANSAC")
    return f"in {printed} of 8 rows", in_words(leads), verdict(sum(found.holds for found in leads), 8)


@claim("tab:results_E_F_H_LO", "main-table", table_name="leads")
def p_bansac_second() -> Finding:
    """P-BANSAC is the second.

    Its lead over the best baseline is beyond its interval in all rows.
    """
    printed = sum(above(row, "P-BANSAC") for row in accuracies("EF", PAPER))
    leads = {model: leads_of("P-BANSAC", model) for model in "EF"}
    return leading(f"above all baselines in {printed} of 8 rows", leads)


@claim("tab:results_E_F_H_LO", "main-table")
def fastest_on_poses() -> Finding:
    """P-BANSAC is the fastest on E and F, BANSAC the second.

    Both have these places on E and on F.
    """
    held = sum(ranked(times(model))[k] == name for model in "EF" for k, name in enumerate(("P-BANSAC", "BANSAC")))
    said = [f"E: {order(times('E', source), 6)}; F: {order(times('F', source), 6)} ms" for source in (PAPER, POSES)]
    leads = [lead(model, TIME, "P-BANSAC", over="other method") for model in "EF"]
    return said[0], f"{said[1]}. P-BANSAC: {in_words(leads, digits=2, unit=' ms')}", verdict(held, 4)


@claim("abstract", "main-table", table_name="leads")
def less_time() -> Finding:
    """More accurate than the baselines with less computational time.

    BANSAC and P-BANSAC are faster than the fastest baseline on E and F, beyond the interval.
    """
    printed = sum(above(times(model, PAPER), method, lowest=True) for model in "EF" for method in OURS)
    leads = {method: [lead(model, TIME, method) for model in "EF"] for method in OURS}
    before, ours, holds = leading(f"faster than all baselines in {printed} of 4", leads, digits=2, unit=" ms")
    return before, f"{ours} (E, F)", holds


def best_on_planes(lo: str = "") -> Finding:
    """Return the leads of our two on homographies."""
    counts = [sum(above(row, method + lo) for row in accuracies("H", PAPER, lo=lo)) for method in OURS]
    printed = f"BANSAC above all baselines in {counts[0]}, P-BANSAC in {counts[1]} of 2 rows"
    pairs = itertools.product(PLANES.items(), OURS)
    return leading(printed, {f"{name}, {method}": leads_of(method + lo, "H", run=run) for (run, name), method in pairs})


@claim("tab:results_E_F_H_LO", *PLANES, table_name="leads")
def planes() -> Finding:
    """P-BANSAC is the most accurate on H, BANSAC the second.

    By the paper's error (visible area, 5 and 10 px) their leads over the baselines are beyond the interval on all sets.
    """
    return best_on_planes()


@claim("tab:results_E_F_H_LO", *PLANES, table_name="leads")
def planes_lo() -> Finding:
    """With LO they outperform the baselines on H.

    As above.
    """
    return best_on_planes("+LO")


@claim("tab:results_E_F_H_LO", SMALL, EXACT)
def ransac_fastest_on_planes() -> Finding:
    """RANSAC is the fastest on H.

    It is so in the run on the small sets and in that on exact_warp.
    """
    found = {name: times("H", run) for run, name in ((SMALL, "small"), (EXACT, "exact_warp"))}
    held = sum(ranked(values)[0] == "RANSAC" for values in found.values())
    ours = "; ".join(f"{name}: {order(values)} ms" for name, values in found.items())
    return f"{order(times('H', PAPER))} ms", ours, verdict(held, 2)


@claim("tab:results_E_F_H_LO", "main-table", SMALL, EXACT)
def lo_improves() -> Finding:
    """LO improves every method.

    No figure falls by more than .0005.
    """

    def gains(models: str, source: str = POSES) -> dict[str, list[float]]:
        rows = list(zip(accuracies(models, source), accuracies(models, source, lo="+LO"), strict=True))
        return {method: [local[f"{method}+LO"] - plain[method] for plain, local in rows] for method in METHODS}

    kinds = {"E": gains("E"), "F": gains("F"), "H small": gains("H", SMALL), "H exact_warp": gains("H", EXACT)}
    no_loss = {kind: sum(g > -0.0005 for of in by.values() for g in of) for kind, by in kinds.items()}
    total = {kind: sum(map(len, by.values())) for kind, by in kinds.items()}
    losers = [
        f"{m} on {kind} ({min(of):+.3f})" for kind, by in kinds.items() for m, of in by.items() if min(of) <= -LEVEL
    ]
    said = ", ".join(f"{kind} {no_loss[kind]} of {total[kind]}" for kind in kinds)
    ours = f"no loss in: {said} figures; losses of .005 or more: {', '.join(losers) or 'none'}"
    of_paper = sum(g >= 0 for of in gains("EFH", PAPER).values() for g in of)
    return f"no loss in {of_paper} of 60 figures", ours, verdict(sum(no_loss.values()), sum(total.values()))


@claim("tab:results_E_F_H_LO", "main-table")
def lo_helps_napsac() -> Finding:
    """LO improves NAPSAC and P-NAPSAC most.

    They are the first two by the gain of the translation mAA (10°) of F.
    """
    said, held = [], 0
    for source in (PAPER, POSES):
        plain, local = (accuracies("F", source, lo=lo)[3] for lo in ("", "+LO"))
        losses = {method: plain[method] - local[f"{method}+LO"] for method in METHODS}
        held = sum(name in ("NAPSAC", "P-NAPSAC") for name in ranked(losses)[:2])
        said.append(", ".join(f"{name} {-losses[name]:+.3f}" for name in ranked(losses)))
    return f"F, translation mAA 10: {said[0]}", said[1], verdict(held, 2)


@claim("tab:results_E_F_H_LO", "main-table", table_name="leads")
def ahead_with_lo() -> Finding:
    """With LO BANSAC and P-BANSAC outperform the baselines on E and F.

    Their leads over the best baseline are beyond the interval in all rows.
    """
    rows = accuracies("EF", PAPER, lo="+LO")
    counts = (f"{method} {sum(above(row, f'{method}+LO') for row in rows)}" for method in OURS)
    printed = f"above all baselines: {', '.join(counts)} of 8 rows"
    return leading(printed, {method: leads_of(f"{method}+LO") for method in OURS})


@claim("tab:results_E_F_H_LO", "main-table")
def lo_takes_time() -> Finding:
    """LO takes time.

    Every method is slower with LO, on E and on F.
    """
    said, held = [], 0
    for source in (PAPER, POSES):
        parts, held = [], 0
        for model in "EF":
            plain, local = times(model, source), times(model, source, lo="+LO")
            ratios = [local[f"{method}+LO"] / plain[method] for method in METHODS]
            parts.append(f"{model} {min(ratios):.2f} to {max(ratios):.2f}")
            held += sum(ratio > 1 for ratio in ratios)
        said.append(", ".join(parts))
    return f"time with LO over without: {said[0]}", said[1], verdict(held, 12)


def rows_of_scenes(models: str, kinds: Mapping[str, str]) -> tuple[list[dict[str, float]], list[dict[str, float]]]:
    """Return the rows of the paper and of the run; ``kinds`` has the paper's names and the sections of the run."""
    ours, printed, found = table("per-scene"), [], []
    for model, (kind, section) in itertools.product(models, kinds.items()):
        printed += [dict(zip(METHODS, row, strict=True)) for row in paper()["per-scene"][model][kind].values()]
        for scene in ours.labels(section):
            found.append({m: ours.value(scene, m, section=section, group=MODELS[model]) for m in METHODS})
    return printed, found


@claim("tab:photoTourism_results", "per-scene")
def scenes() -> Finding:
    """BANSAC and P-BANSAC are the most accurate, scene by scene.

    BANSAC or P-BANSAC is first in all rows, with three digits.
    """

    def count(rows: Iterable[dict[str, float]]) -> int:
        return sum(bool(first(row) & set(OURS)) for row in rows)

    printed, found = rows_of_scenes("EF", {"rotation": "Rotation mAA", "translation": "Translation mAA"})
    said = [f"first in {count(rows)} of {len(rows)} rows" for rows in (printed, found)]
    return said[0], said[1], verdict(count(found), len(found))


@claim("tab:photoTourism_results", "per-scene")
def scene_times() -> Finding:
    """Both are the fastest overall.

    BANSAC or P-BANSAC is the fastest in most rows; otherwise the claim does not hold.
    """
    printed, found = rows_of_scenes("EF", {"ms": TIME})
    said, held = [], 0
    for rows in (printed, found):
        counts = [sum(ranked(row)[0] == method for row in rows) for method in OURS]
        said.append(f"in {len(rows)} rows: BANSAC {counts[0]}, P-BANSAC {counts[1]}")
        held = sum(counts)
    return f"fastest {said[0]}", said[1], YES if held > len(found) / 2 else NO
