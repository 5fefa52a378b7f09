"""Tables of ``docs/ablation.md`` from the report of ``benchmarks/ablation.py``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from bansac.lab.reports import bench, lines, share


def ablation() -> str:
    """Return accuracies of all variants: the difference to the default, bold if it is above two standard errors."""

    def cell(figures: Mapping[str, Any]) -> str:
        if not figures["part"].startswith("default"):
            difference = f"{figures['difference']:+.3f}".replace("0.", ".", 1)
            sure = abs(figures["difference"]) > 2 * figures["standard_error"] and difference[1:] != ".000"
            error = f"± {share(figures['standard_error'])}"
            return f"**{difference}** {error}" if sure else f"{difference} {error}"
        return share(figures["mean"])

    return _by_variant(cell)


def costs() -> str:
    """Return the mean iterations and the milliseconds of all variants."""
    return _by_variant(lambda figures: f"{figures['iterations']:.0f}, {figures['ms']:.1f} ms")


def scenes() -> str:
    """Return the differences of F on each scene."""
    variants = _variants("F")
    default = variants["default"]["sets"]
    rows = [["default", *map(share, default.values())]]
    for name, figures in variants.items():
        if name != "default":
            rows.append([name, *(f"{figures['sets'][of] - default[of]:+.3f}".replace("0.", ".", 1) for of in default)])
    return lines(["F, AUC@10", *default], rows)


def _by_variant(cell: Callable[[Mapping[str, Any]], str]) -> str:
    """Return a table of the variants, a column for each problem."""
    problems = bench("ablation")["problems"]
    columns = {problem: _variants(problem) for problem in problems}
    names = {name: None for of_problem in columns.values() for name in of_problem}
    order = {name.partition(":")[0]: place for place, name in reversed(list(enumerate(names)))}

    def place(name: str) -> tuple[int, float]:
        """Sort by the part, thresholds by their size."""
        part, _, value = name.partition(": x ")
        return order[part.partition(":")[0]], float(value) if part == "threshold" else 0.0

    rows = (
        [name, *(cell(of_problem[name]) if name in of_problem else "" for of_problem in columns.values())]
        for name in sorted(names, key=place)
    )
    return lines(["", *(f"{problem}, {report['figure']}" for problem, report in problems.items())], rows)


def _variants(problem: str) -> dict[str, Mapping[str, Any]]:
    """Return the figures by the names of the table: thresholds as multiples of the problem's."""
    document = bench("ablation")
    default = float(document["leave_one_out"][problem[0]]["threshold"]["default"])
    found = {}
    for name, figures in document["problems"][problem]["variants"].items():
        relative = figures["part"] == "threshold"
        found[f"threshold: x {float(figures['value']) / default:g}" if relative else name] = figures
    return found


def leave_one_out() -> str:
    """Return what would be chosen without each set, and the accuracy on the set that is left out."""
    rows = []
    for kind, settings in bench("ablation")["leave_one_out"].items():
        for name, choice in settings.items():
            chosen = Counter(entry["chosen"] for entry in choice["sets"].values())
            rows.append(
                [
                    kind,
                    name,
                    ", ".join(f"{value} {share(mean)}" for value, mean in choice["values"].items()),
                    ", ".join(f"{value} ({count})" for value, count in chosen.most_common()),
                    share(choice["mean_chosen"]),
                    f"{share(choice['mean_default'])} ({choice['default']})",
                ]
            )
    head = ["", "choice", "value and accuracy, all sets", "chosen without a set (times)", "left-out sets", "default"]
    return lines(head, rows)


TABLES: Mapping[str, Callable[[], str]] = {
    "ablation": ablation,
    "ablation-costs": costs,
    "ablation-scenes": scenes,
    "leave-one-out": leave_one_out,
}
