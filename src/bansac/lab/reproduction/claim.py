"""What a claim of the paper is, and how figures are compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bansac.lab.reproduction.runs import BASELINES

YES, PART, NO = "yes", "in part", "no"

Finding = tuple[str, str, str]
"""What the paper has, what we have, the verdict."""


@dataclass(frozen=True)
class Claim:
    """A claim: where it is in the paper, its words, when it holds, the runs that carry it and their table, a judge."""

    place: str
    words: str
    criterion: str
    runs: tuple[str, ...]
    table_name: str | None  # None for the table that is named after the experiment
    judge: Callable[[], Finding]


CLAIMS: list[Claim] = []
"""All claims, in the order in which their modules were imported."""


def claim(
    place: str, *runs: str, table_name: str | None = None
) -> Callable[[Callable[[], Finding]], Callable[[], Finding]]:
    """Make a claim of a function. The first line of its docstring are the words, the rest says when it holds."""

    def add(judge: Callable[[], Finding]) -> Callable[[], Finding]:
        assert judge.__doc__ is not None
        words, *rest = map(str.strip, judge.__doc__.splitlines())
        criterion = " ".join(filter(None, rest)).rstrip(".")
        assert criterion
        CLAIMS.append(Claim(place, words.rstrip("."), criterion, runs, table_name, judge))
        return judge

    return add


def verdict(held: int, of: int) -> str:
    """Return the verdict on a claim that holds in so many of its figures."""
    return YES if held == of else PART if held else NO


def first(values: dict[str, float], *, lowest: bool = False) -> set[str]:
    """Return the methods whose figure is the best, as it looks with three digits."""
    looks = {name: float(f"{value:.3f}") for name, value in values.items()}
    best = min(looks.values()) if lowest else max(looks.values())
    return {name for name, value in looks.items() if value == best}


def above(values: dict[str, float], method: str, *, lowest: bool = False) -> bool:
    """Return whether a method is ahead of all baselines."""
    others = [value for name, value in values.items() if name.removesuffix("+LO") in BASELINES]
    return values[method] < min(others) if lowest else values[method] > max(others)
