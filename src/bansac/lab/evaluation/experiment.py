"""Definition of an experiment: independent units of work and a report over all their rows.

:attr:`Experiment.run_unit` computes a unit from its payload and the setup alone, in any process. The runner may
therefore distribute the units over several workers, repeat a unit after its worker has died, and resume an interrupted
run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from bansac.batch.journal import Row, Unit
from bansac.lab.evaluation.tables import Table
from bansac.problems.estimators import Kind

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bansac.lab.sets import PairSet
    from bansac.lab.sets.labelled import LabelledSet
    from bansac.lab.sets.posebench import PosebenchFile

Set = TypeVar("Set", "PairSet", "LabelledSet", "PosebenchFile")
Setting = Literal["pairs", "repeats"]


@dataclass(frozen=True, kw_only=True)
class Setup:
    """User settings of an experiment; None stands for the paper's value."""

    data: Path | None = None  # a set of pairs, or a folder with sets at any depth
    model: Kind | None = None  # run this model only
    pairs: int | None = None  # maximum number of pairs of a set, evenly spaced over the paper's pairs
    repeats: int | None = None  # runs of every pair, or trials of a synthetic experiment
    seed: int = 0  # seed of repeat 0; repeat r has seed + r
    sets: tuple[str, ...] = ()  # names of the sets to use; empty for all
    exclude: tuple[str, ...] = ()  # names of the sets to skip
    extra: Mapping[str, Any] = field(default_factory=dict)  # options of a single experiment, see Experiment.options

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
    """Output of an experiment: tables, figures and records (additional rows) by file name, and notes."""

    tables: dict[str, Table] = field(default_factory=dict)
    figures: dict[str, Figure] = field(default_factory=dict)
    records: dict[str, list[Row]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Experiment. Its functions must be picklable for use in worker processes.

    Parameters
    ----------
    name : str
        Name on the command line.
    title : str
        Subject of the comparison, in one line.
    reference : str
        Label of the table or figure in the paper.
    needs_data : bool
        The experiment requires ``setup.data``.
    defaults : str
        Description of a run with default options, in one line.
    units : callable
        ``units(setup)`` returns all units in the order of the rows. It raises if settings or data are invalid.
    run_unit : callable
        ``run_unit(setup, unit)`` returns the rows of a unit. ``seconds`` in a row is a measured time. If an OSError or
        a ValueError is raised, the unit has failed and the run continues with the others.
    report : callable
        ``report(setup, rows)`` returns a :class:`Report`. ``rows`` can be iterated several times and lacks the rows of
        failed units.
    sets : callable, optional
        ``sets(setup)`` returns the sets of ``setup.data`` that the rows depend on; None if the experiment uses no data.
    settings : tuple of {"pairs", "repeats"}
        Settings that the experiment uses. Any other one raises a ValueError, and so do ``sets`` and ``exclude``
        without data.
    models : tuple of {"E", "F", "H"}
        Allowed values of ``setup.model``; empty if there is no choice.
    options : tuple of str
        Allowed keys of ``setup.extra``.
    warm_up : callable, optional
        ``warm_up(setup, units)`` loads or compiles all kernels of the units before the workers start. If None, the
        runner executes the first unit that does not fail and drops its rows.
    values : object
        Further dependencies of the rows: settings of the experiment, and functions (which stand for the source of
        their modules), in dataclasses and containers. The setup, the data, the module of ``run_unit`` and the
        estimators' source are included already. It is part of the fingerprint, see
        :func:`bansac.lab.evaluation.provenance.fingerprint`.
    """

    name: str
    title: str
    reference: str
    needs_data: bool
    defaults: str
    units: Callable[[Setup], list[Unit]]
    run_unit: Callable[[Setup, Unit], list[Row]]
    report: Callable[[Setup, Iterable[Row]], Report]
    sets: Callable[[Setup], Sequence[PairSet | LabelledSet | PosebenchFile]] | None = None
    settings: tuple[Setting, ...] = ()
    models: tuple[Kind, ...] = ()
    options: tuple[str, ...] = ()
    warm_up: Callable[[Setup, Sequence[Unit]], None] | None = None
    values: Any = ()

    def check(self, setup: Setup) -> None:
        """Raise a ValueError if required data is missing, or a setting is not used by this experiment."""
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
        """Return the names of all allowed settings except the seed."""
        of_data = ("data", "sets", "exclude") if self.sets is not None else ()
        model = ("model",) if self.models else ()
        return [*of_data, *self.settings, *model, *self.options]


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _flags(names: Iterable[str]) -> str:
    return ", ".join(map(_flag, [*names, "seed"]))


def choose_sets(found: Sequence[Set], wanted: Sequence[str], unwanted: Sequence[str]) -> list[Set]:
    """Return the sets selected by ``--sets`` (empty for all) and ``--exclude``, in the given order.

    An unknown name, an empty selection or two selected sets of the same name raise a ValueError.
    """
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
