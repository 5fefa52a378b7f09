"""Contract of the laboratory: a measurement, its options, and the report over its rows.

A measurement is one module with one :class:`Measurement`: the experiments of the paper in
:mod:`bansac_lab.experiments`, all others in :mod:`bansac_lab.measurements`. It consists of independent units of work.
:attr:`Measurement.run_unit` computes the rows of a unit from its payload and the options alone, in any process. The
runner may therefore distribute the units over workers, repeat a unit, and resume an interrupted run.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

from bansac.batch.journal import Row as Row
from bansac.batch.journal import Unit as Unit
from bansac.problems.estimators import Kind
from bansac_lab.frames import Figure
from bansac_lab.tables import Table

if TYPE_CHECKING:
    from bansac_lab.sets import PairSet
    from bansac_lab.sets.labelled import LabelledSet


Set = TypeVar("Set", "PairSet", "LabelledSet")

Document = Mapping[str, Any]
"""Report as it is stored in JSON."""


@dataclass(frozen=True)
class Option:
    """Option of a measurement, for the command line and for Python."""

    name: str  # attribute of the :class:`Setup`
    type: Any  # int, float, str, bool (a flag), Path, a Literal, or tuple[X, ...], whose values are joined by commas
    default: Any = None
    help: str = ""  # text of the command line
    choices: tuple[str, ...] = ()  # allowed values, a tuple may have several of them; empty if all are
    least: float | None = None  # smallest allowed value
    required: bool = False
    argument: bool = False  # positional
    flag: str | None = None  # name on the command line if it is not ``--name``
    metavar: str | None = None  # placeholder of the value in the help

    def check(self, value: Any) -> None:
        """Raise a ValueError if a value is not allowed; None is."""
        if self.least is not None and value is not None and value < self.least:
            raise ValueError(f"{self.name} must be at least {self.least:g}, got {value}")
        for chosen in value if isinstance(value, tuple) else (value,):
            if self.choices and chosen is not None and chosen not in self.choices:
                raise ValueError(f"{self.name} must be among {', '.join(self.choices)}; got {chosen!r}")


class Setup(SimpleNamespace):
    """Values of the options as attributes. ``data``, ``model``, ``pairs``, ``repeats``, ``seed``, ... always exist."""

    def __init__(self, **options: Any) -> None:
        """Check the values that all measurements share."""
        super().__init__(**{**_COMMON, **options})
        for option in (PAIRS, RUNS):
            option.check(getattr(self, option.name))
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"seed must be in [0, 2^63), got {self.seed}")

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value of an option, or ``default`` if it is not set."""
        value = getattr(self, name, None)
        return default if value is None else value

    def plain(self) -> dict[str, Any]:
        """Return plain values by name; options that not all measurements have are in ``extra`` if they are set."""
        values = {name: str(value) if isinstance(value, Path) else value for name, value in vars(self).items()}
        extra = {k: v for k, v in values.items() if k not in _COMMON and v is not None and v is not False}
        return {name: values[name] for name in _COMMON} | {"extra": extra}


@dataclass(kw_only=True)
class Report:
    """Report over all rows; see :func:`bansac_lab.runner.run_measurement` for the document."""

    tables: dict[str, Table] = field(default_factory=dict)
    figures: dict[str, Figure] = field(default_factory=dict)  # files by name
    # Entries of the document: plain values, such as lists of rows.
    records: dict[str, Any] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)  # further files beside the document, by suffix
    notes: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)  # targets that are missed: the command ends with code 1


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """Measurement. Its functions must be picklable if it is to run in worker processes.

    ``units(setup)`` returns all units in the order of the rows. It raises if options or data are invalid.

    ``run_unit(setup, unit)`` returns the rows of a unit: dicts of plain values. ``seconds`` in a row is a measured
    time. If an OSError or a ValueError is raised, the unit has failed and the run continues with the others.

    ``report(setup, rows)`` returns a :class:`Report`. ``rows`` can be iterated several times and lacks the rows of
    failed units.

    ``sets(setup)`` returns the sets of ``setup.data`` that the rows depend on; without it there is no such data.

    ``warm_up(setup, units)`` loads or compiles all kernels of the units before the workers start. If None, the runner
    executes the first unit that does not fail and drops its rows.

    ``bind(setup)`` returns the measurement that the options describe, with its own setup, for measurements whose
    functions depend on them. Then the others are not given.

    ``tables`` and ``figures`` are the marked ones of the documentation's pages by name: functions of stored documents
    that return tables and phrases. ``reports`` names the files (``benchmarks/NAME.json``) of these documents; by
    default there is one with the name of the measurement. Without tables in its report, the command prints those of
    its own document, or its rows.

    ``values`` are settings that the rows depend on besides the options, such as methods, in dataclasses and containers.
    See :func:`bansac_lab.provenance.fingerprint`.
    """

    name: str  # on the command line
    title: str  # subject, in one line
    units: Callable[[Setup], Iterable[Unit]] = lambda setup: ()
    run_unit: Callable[[Setup, Unit], list[Row]] = lambda setup, unit: []
    report: Callable[[Setup, Iterable[Row]], Report] = lambda setup, rows: Report()
    options: tuple[Option, ...] = ()  # any other one raises a ValueError
    help: str = ""  # text of the command, usually the docstring of the module
    tables: Mapping[str, Callable[..., Table]] = field(default_factory=dict)
    figures: Mapping[str, Callable[..., str]] = field(default_factory=dict)
    reports: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    packages: tuple[str, ...] = ()  # packages whose versions the document lists
    complete: bool = False  # a failed unit is an error
    bind: Callable[[Setup], tuple[Measurement, Setup]] | None = None
    reference: str = ""  # label of the table or figure in the paper
    defaults: str = ""  # description of a run with default options, in one line
    sets: Callable[[Setup], Sequence[PairSet | LabelledSet]] | None = None
    warm_up: Callable[[Setup, Sequence[Unit]], None] | None = None
    values: Any = ()

    @property
    def needs_data(self) -> bool:
        """Whether ``data`` must be given."""
        return any(option.required for option in self.options if option.name == "data")

    def render(self, name: str, read: Callable[[str], Document]) -> Table | str:
        """Return a marked table or figure of the pages; ``read(report)`` returns a stored document."""
        make: Callable[..., Table | str] = self.tables.get(name) or self.figures[name]
        return make(*map(read, self.reports.get(name, (self.name.replace("-", "_"),))))

    def resolve(self, setup: Setup) -> Setup:
        """Return the setup with the defaults of all options; a value that is missing or not allowed is a ValueError."""
        known = {option.name: option for option in self.options}
        takes = ", ".join(_flag(name) for name in (*(name for name in known if name != "seed"), "seed"))
        for name, value in vars(setup).items():
            if value != _COMMON.get(name) and value is not False and name not in {**known, "seed": None}:
                raise ValueError(f"{_flag(name)}: {self.name} takes no such option; it takes {takes}")
        if self.needs_data and setup.data is None:
            what = "--data must name a folder with sets of pairs"
            raise ValueError(f"{what}: {self.name} runs on image pairs (docs/reproduction.md names the paper's)")
        for name in ("pairs", "sets", "exclude"):
            if setup.data is None and name in known and setup.get(name, ()) not in ((), known[name].default):
                raise ValueError(f"{_flag(name)} chooses among image pairs: it needs --data")
        values = {}
        for name, option in known.items():
            value = getattr(setup, name, None)
            values[name] = option.default if value == _COMMON.get(name) else value
            option.check(values[name])
        return Setup(**{**vars(setup), **values})


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def of_module(module: str, **fields: Any) -> Measurement:
    """Return the measurement that is a module: its name, docstring and functions, and further ``fields``.

    The functions are ``units``, ``run_unit``, ``report``, ``sets`` and ``warm_up``; without ``warm_up`` there is none.
    """
    source, name = sys.modules[module], module.rpartition(".")[2].replace("_", "-")
    functions = ("units", "run_unit", "report", "sets", "warm_up")
    found = {function: getattr(source, function) for function in functions if hasattr(source, function)}
    defaults = {"name": name, "help": source.__doc__, "warm_up": lambda setup, units: None}
    return Measurement(**{**defaults, **found, **fields})


def each(*axes: Iterable[Any]) -> list[Unit]:
    """Return a unit for each combination of values; the last axis changes fastest."""
    return [Unit("/".join(map(str, values)), values) for values in itertools.product(*axes)]


def nested(rows: Iterable[Row], *columns: str) -> dict[str, Any]:
    """Return the rows that have the columns as nested dicts, one level for each column, the others innermost."""
    document: dict[str, Any] = {}
    for row in (row for row in rows if row.keys() >= {*columns}):
        place = document
        for column in columns:
            place = place.setdefault(str(row[column]), {})
        place.update({name: value for name, value in row.items() if name not in columns})
    return document


def choose_sets(found: Sequence[Set], wanted: Sequence[str], unwanted: Sequence[str]) -> list[Set]:
    """Return the sets selected by ``--sets`` (empty for all) and ``--exclude``, in the given order."""
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


SETS = Option("sets", tuple[str, ...], (), "Run these sets only, joined by commas.")
EXCLUDE = Option("exclude", tuple[str, ...], (), "Leave these sets out, joined by commas.")

# Of the paper's experiments.
DATA = Option("data", Path, None, "A set of pairs in h5 files, or a folder with sets.", metavar="DIR")
NEEDED_DATA = Option("data", Path, None, DATA.help, required=True, metavar="DIR")
WITH_DATA, ON_DATA = (DATA, SETS, EXCLUDE), (NEEDED_DATA, SETS, EXCLUDE)
"""Data and the choice among its sets: optional, or needed."""
PAIRS = Option("pairs", int, None, "Maximum number of pairs of a set, evenly spaced. Default: the paper's.", least=1)
RUNS = Option("repeats", int, None, "Runs of every pair, or trials on synthetic points. Default: the paper's.", least=1)
MODEL = Option("model", Kind, None, "Only this model.")
SEED = Option("seed", int, 0, "Seed of repeat 0; repeat r has this seed + r.")
MAX_RATIO = Option("max_ratio", float, None, "Image pairs: use matches of a lower SNN ratio. Default: .85.")
NOISE = Option("noise", float, None, "synthetic: noise of the inliers. Default: .02.")
NOISE_IS_VARIANCE = Option("noise_is_variance", bool, False, "synthetic: the noise is a variance, as printed.")
_COMMON: Mapping[str, Any] = {option.name: option.default for option in (DATA, MODEL, PAIRS, RUNS, SEED, SETS, EXCLUDE)}
EXPERIMENT_OPTIONS = (
    *(DATA, PAIRS, RUNS, MODEL, SEED, SETS, EXCLUDE, MAX_RATIO),
    *(NOISE, NOISE_IS_VARIANCE),
)
"""All options of ``bansac experiments run``; an experiment takes some of them."""

# Of the measurements on synthetic scenes.
SCENES = Option("repeats", int, None, "Scenes of every cell.", least=1, flag="--seeds")
FIRST_SEED = Option("seed", int, 0, "Seed of the first scene of every cell.")
