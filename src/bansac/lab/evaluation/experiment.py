"""What an experiment is: units of work that do not depend on each other, and a report over all their rows.

A unit is computed by :attr:`Experiment.run_unit` from its payload and the setup alone, in whichever process: the runner
may hand units to several workers, repeat one whose worker has died, and go on after an interruption.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from bansac.batch.journal import Row, Unit
from bansac.lab.evaluation.tables import Table
from bansac.problems.table import Kind

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bansac.lab.sets import PairSet
    from bansac.lab.sets.labelled import LabelledSet

Set = TypeVar("Set", "PairSet", "LabelledSet")
Setting = Literal["pairs", "repeats"]


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What a reader may set of an experiment; None stands for the paper's value."""

    data: Path | None = None  # a set of pairs, or a folder with sets below
    model: Kind | None = None  # only this model
    pairs: int | None = None  # maximum number of pairs of a set, evenly spaced over those that the paper takes
    repeats: int | None = None  # runs of every pair, or trials of a synthetic experiment
    seed: int = 0  # that of repeat 0; repeat r has seed + r
    sets: tuple[str, ...] = ()  # names of the sets to be taken; empty for all
    exclude: tuple[str, ...] = ()  # names of the sets to be left out
    extra: Mapping[str, Any] = field(default_factory=dict)  # options of one experiment alone: Experiment.options

    def __post_init__(self) -> None:
        """Check every value."""
        for name in ("pairs", "repeats"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"seed must be in [0, 2^63), got {self.seed}")


@dataclass(kw_only=True)
class Report:
    """What an experiment shows: tables, figures and records (further rows) by the names of their files, and notes."""

    tables: dict[str, Table] = field(default_factory=dict)
    figures: dict[str, Figure] = field(default_factory=dict)
    records: dict[str, list[Row]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One experiment of the paper. Its functions live at the top of a module, so that they can be pickled.

    Parameters
    ----------
    name : str
        Name on the command line.
    title : str
        What it compares, in a line.
    reference : str
        Label of the table or figure in the paper.
    needs_data : bool
        Whether it needs ``setup.data``.
    defaults : str
        What is run without further options, in a line.
    units : callable
        ``units(setup)``: all units, in the order of the rows. Bad settings and data raise here.
    run_unit : callable
        ``run_unit(setup, unit)``: the rows of a unit. A row that holds ``seconds`` has its time taken. If it raises an
        OSError or a ValueError the unit has failed and the others go on.
    report : callable
        ``report(setup, rows)``: tables and figures. ``rows`` can be gone through several times; the rows of failed
        units are missing.
    sets : callable, optional
        ``sets(setup)``: the sets of ``setup.data`` that the rows depend on. None if it takes no data.
    settings : tuple of {"pairs", "repeats"}
        Which of these settings it uses; others are refused, as are ``sets`` and ``exclude`` without data.
    models : tuple of {"E", "F", "H"}
        What ``setup.model`` may be; empty if there is no choice.
    options : tuple of str
        Keys that ``setup.extra`` may have.
    warm_up : callable, optional
        ``warm_up(setup, units)``: loads or compiles every kernel that the units need, before workers start. Without it
        the first unit that does not fail is run and its rows dropped.
    values : object
        What the rows depend on besides ``setup``, the data, the module of ``run_unit`` and the estimators' source:
        settings of the experiment, functions (with the source of their modules), in dataclasses and containers. It is
        part of the fingerprint, see :func:`bansac.lab.evaluation.provenance.fingerprint`.
    """

    name: str
    title: str
    reference: str
    needs_data: bool
    defaults: str
    units: Callable[[Setup], list[Unit]]
    run_unit: Callable[[Setup, Unit], list[Row]]
    report: Callable[[Setup, Iterable[Row]], Report]
    sets: Callable[[Setup], Sequence[PairSet | LabelledSet]] | None = None
    settings: tuple[Setting, ...] = ()
    models: tuple[Kind, ...] = ()
    options: tuple[str, ...] = ()
    warm_up: Callable[[Setup, Sequence[Unit]], None] | None = None
    values: Any = ()

    def check(self, setup: Setup) -> None:
        """Raise a ValueError if the data are missing, or a setting is not used by this experiment."""
        takes = self._takes()
        for name in ("data", "sets", "exclude", "pairs", "repeats", "model"):
            if getattr(setup, name) not in (None, ()) and name not in takes:
                raise ValueError(f"{_flag(name)}: {self.name} takes no such option; it takes {_flags(takes)}")
        if self.needs_data and setup.data is None:
            raise ValueError(
                f"--data must name a folder with sets of pairs: {self.name} runs on image pairs "
                "(`bansac data fetch` gets the paper's)"
            )
        for name in ("pairs", "sets", "exclude"):
            if getattr(setup, name) and setup.data is None:
                raise ValueError(f"{_flag(name)} chooses among image pairs: it needs --data")
        if setup.model is not None and setup.model not in self.models:
            raise ValueError(f"--model: {self.name} runs on {', '.join(self.models)}, got {setup.model!r}")
        for option in setup.extra:
            if option not in self.options:
                raise ValueError(f"{_flag(option)}: {self.name} takes no such option; it takes {_flags(takes)}")

    def _takes(self) -> list[str]:
        """Return the names of everything that may be set, the seed apart."""
        of_data = ("data", "sets", "exclude") if self.sets is not None else ()
        model = ("model",) if self.models else ()
        return [*of_data, *self.settings, *model, *self.options]


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _flags(names: Iterable[str]) -> str:
    return ", ".join(map(_flag, [*names, "seed"]))


def choose_sets(found: Sequence[Set], wanted: Sequence[str], unwanted: Sequence[str]) -> list[Set]:
    """Return the sets that ``--sets`` (empty: all) and ``--exclude`` leave, in their order; names must differ."""
    names = [pair_set.name for pair_set in found]
    for option, listed in (("--sets", wanted), ("--exclude", unwanted)):
        for name in listed:
            if name not in names:
                raise ValueError(f"{option}: there is no set {name!r}; there are {', '.join(names)}")
    chosen = [s for s in found if (not wanted or s.name in wanted) and s.name not in unwanted]
    if not chosen:
        raise ValueError(f"--exclude leaves none of the sets {', '.join(names)}")
    repeated = {pair_set.name for pair_set in chosen if [s.name for s in chosen].count(pair_set.name) > 1}
    if repeated:
        raise ValueError(f"several sets below the folder are called {', '.join(sorted(repeated))}")
    return chosen
