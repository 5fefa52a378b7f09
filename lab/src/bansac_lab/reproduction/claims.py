"""The claims of the paper, rows of ``claims.toml``, judged by one rule: a lead counts if it is beyond its interval.

A comparison selects figures of a stored table by run, table, section, row, group and column. Each has a lead over the
best of the figures that ``over`` selects, or over the number ``value``; ``lower`` says that lower is better. A name in
a list is a figure; a list of names in it is the best of them. Rows that are left out are all others of the section.
``minus`` and ``per`` take the difference or the ratio to another figure first. ``margin`` and ``factor`` favour the
figure, for claims of "not worse" or "the same". A comparison with ``note`` is shown and does not count.

The interval is half of the 95 % interval that the run stored. If it stored none, it is .005 of a mAA, which moves by so
much between seeds, and 5 % of a time, an error or a count. A margin, a factor and a number without an interval replace
it. A claim holds ("yes") if all leads are beyond their intervals, and does not ("no") if none is. If another
measurement speaks ``against`` it, it holds in part at most.
"""

import collections
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from bansac_lab.reproduction.runs import BASELINES, METHODS, OURS, RATES, TIME, file_of, stored, table
from bansac_lab.tables import Measured, Table, plain_table

YES, PART, NO = "yes", "in part", "no"

_LISTS: Mapping[str, Sequence[str]] = {
    "methods": METHODS,
    "baselines": BASELINES,
    "ours": OURS,
    "accuracy": RATES,
    "time": (TIME,),
    "iterations": ("Avg. iterations, not in the paper",),
    "visible area": [f"Homography mAA ({t} px), visible area" for t in (5, 10)],
    "poses": ("Calibrated", "Uncalibrated"),
}
_PLACE = ("section", "group", "row", "column")
_MAA_BETWEEN_SEEDS, _OTHERS_BETWEEN_RUNS = 0.005, 0.05
_NORMAL = 1.96  # half of a 95 % interval in standard errors

Claim = dict[str, Any]


def leads(comparison: Mapping[str, Any]) -> list[Measured]:
    """Return the leads of a comparison."""
    over = {"row": [], **comparison.get("over", {})}
    found = table(comparison["run"], comparison.get("table"))
    places: list[tuple[Any, ...]] = []
    for section, group in itertools.product(*(_names(comparison.get(key, "")) for key in _PLACE[:2])):
        rows = [row.label for row in found.within(section) if row.label not in over["row"]]
        for row in _names(comparison.get("row", rows)):
            columns = _names(comparison.get("column", found.columns_of(group)))
            places += itertools.product([section], [group], [row], columns)
    return [_lead(comparison, dict(comparison) | dict(zip(_PLACE, place, strict=True))) for place in places]


def _names(value: Any) -> list[Any]:
    value = _LISTS.get(value, value) if isinstance(value, str) else value
    return list(value) if isinstance(value, list | tuple) else [value]


def _lead(comparison: Mapping[str, Any], place: Mapping[str, Any]) -> Measured:
    lower, over = comparison.get("lower", False), dict(comparison.get("over", {}))
    best = functools.partial(min if lower else max, key=lambda figure: figure.value)
    own: Measured = best(_figures(place))
    if over.get("column") == "others":
        columns = table(place["run"], place.get("table")).columns_of(place["group"])
        over["column"] = [name for name in columns if name != place["column"]]
    if not over and "value" not in comparison:
        return own
    rival = Measured(comparison["value"], math.nan) if "value" in comparison else best(_figures({**place, **over}))
    favour = {"margin", "factor"} & comparison.keys()
    ahead = own.value - comparison.get("factor", 1.0) * rival.value
    ahead = (-ahead if lower else ahead) + comparison.get("margin", 0.0)
    stored = [figure.error for figure in (own, rival) if not math.isnan(figure.error)]
    if stored and not favour:
        return Measured(ahead, math.hypot(*stored))
    if favour or "value" in comparison:
        return Measured(ahead, 0.0)
    return Measured(ahead, _OTHERS_BETWEEN_RUNS * abs(rival.value) if comparison.get("unit") else _MAA_BETWEEN_SEEDS)


def _figures(place: Mapping[str, Any]) -> Iterator[Measured]:
    """Yield the figures at a place; each part of it may be a list. The error is NaN if the run stored no interval."""
    for names in itertools.product(*(_names(place[key]) for key in _PLACE)):
        one = {**place, **dict(zip(_PLACE, names, strict=True))}
        figure = _figure(one)
        if "minus" in place:
            figure = Measured(figure.value - _figure({**one, **place["minus"]}).value, math.nan)
        if "per" in place:
            figure = Measured(figure.value / _figure({**one, **place["per"]}).value, math.nan)
        yield figure


def _figure(place: Mapping[str, Any]) -> Measured:
    section, group, row, column = (place[key] for key in _PLACE)
    cell = table(place["run"], place.get("table")).value(row, column, section=section, group=group)
    if isinstance(cell, Measured):
        return Measured(cell.value, cell.error * (1.0 if place.get("table") == "leads" else _NORMAL))
    return Measured(float(str(cell).split()[0]), math.nan)


def in_words(found: Sequence[Measured], unit: str = "") -> str:
    """Return a lead with its interval; of several how many are ahead beyond, within and behind beyond, and the ends."""
    digits = 2 if unit else 3
    if len(found) == 1:
        interval = f" ± {found[0].error:.{digits}f}" if found[0].error else ""
        return f"{found[0].value:+.{digits}f}{interval}{unit}"
    ends = "…".join(f"{pick(lead.value for lead in found):+.{digits}f}" for pick in (min, max))
    ahead, behind = sum(lead.ahead for lead in found), sum(lead.behind for lead in found)
    return f"{ahead}/{len(found) - ahead - behind}/{behind}, {ends}{unit}"


def judge(claim: Claim) -> tuple[str, str]:
    """Return what we have, in words, and the verdict."""
    if "compare" not in claim:
        return claim["ours"], claim["holds"]
    parts, held, total = [], 0, 0
    for comparison in claim["compare"]:
        found = leads(comparison)
        title = f"{comparison['title']}: " if "title" in comparison else ""
        parts.append(title + in_words(found, comparison.get("unit", "")))
        if not comparison.get("note"):
            held, total = held + sum(lead.ahead for lead in found), total + len(found)
    words = "; ".join([*parts, *(claim[key] for key in ("ours", "against") if key in claim)])
    if claim.get("most"):
        return words, YES if held > total / 2 else NO
    return words, YES if held == total and "against" not in claim else PART if held else NO


def claims() -> Table:
    """Return the table of the claims with their verdicts."""
    rows, place = [], ""
    for claim in stored("claims")["claim"]:
        ours, holds = judge(claim)
        if claim["place"] != place:
            place = claim["place"]
            rows.append([f"*{place}*", "", ""])
        rows.append([claim["words"], ours, f"{holds} ({links(claim)})"])
    return plain_table(["claim", "ours", "holds (tables)"], rows)


def verdicts() -> str:
    """Return how many claims have each verdict."""
    held = collections.Counter(judge(claim)[1] for claim in stored("claims")["claim"])
    return f"{held[YES]} hold, {held[PART]} hold in part, {held[NO]} do not"


def links(claim: Claim) -> str:
    """Return numbered links to the tables that a claim rests on."""
    found = ((each["run"], each.get("table") or file_of(each["run"])) for each in claim.get("compare", ()))
    tables = dict.fromkeys(found)
    paths = (f"../benchmarks/experiments/{run}/{name}.json" for run, name in tables)
    return ", ".join(f"[{k}]({path})" for k, path in enumerate(paths, 1)) or claim["link"]


TABLES: dict[str, Callable[[], Table | str]] = {"claims": claims, "verdicts": verdicts}
