"""Experiments over image pairs: a list of configurations, all of them on every pair and repeat.

A unit is one repeat of one pair; in it the configurations take turns, each unit beginning with another one, so that a
machine that slows down slows all of them and ratios of times hold.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bansac.datasets import Matches, PairSet, find_sets
from bansac.datasets.hdf5 import evenly_spaced
from bansac.evaluation.bench import DEFAULTS, Protocol, choose_sets, judge, make_task
from bansac.evaluation.experiment import Experiment, Model, Report, Row, Setup, Unit
from bansac.evaluation.methods import Task
from bansac.evaluation.paper_methods import Method, estimate

__all__ = [
    "ABLATION_SET",
    "MAX_RATIO_OPTION",
    "PAIRS_OF_A_SCENE",
    "REPEATS",
    "Configuration",
    "Grid",
    "check_max_ratio",
]

PAIRS_OF_A_SCENE = 4000
"""The paper takes the first 4,000 pairs of a scene (E, F), and all pairs of a homography set."""

REPEATS: dict[Model, int] = {"E": 5, "F": 5, "H": 10}
"""The paper's repeats."""

ABLATION_SET = "sacre_coeur"
"""The scene of the paper's ablations, which take all of its pairs."""

MAX_RATIO_OPTION = "max_ratio"

# Iterations of a call that only has to load or compile the kernels.
_WARM_UP_ITERATIONS = 30

# Of the visible area every fourth row and column is looked at, which saves time: what a homography is off by varies
# slowly over an image.
_PIXEL_STEP = 4

_KINDS = {"E": "EF", "F": "EF", "H": "H"}


@dataclass(frozen=True)
class Configuration:
    """A method with settings: what one column of a table, or one point of a curve, stands for.

    Parameters
    ----------
    name : str
        Its name in the rows, different for every configuration of a grid.
    method : Method
        The method.
    settings : mapping
        Keyword arguments of the estimate functions that go before the method's.
    columns : mapping
        Columns of the rows that tell the settings.
    prior : float, optional
        P^0 of every match, also where the method has scores.
    max_ratio : float, optional
        SNN ratio below which matches are used, where it is not the paper's.
    """

    name: str
    method: Method
    settings: Mapping[str, Any] = field(default_factory=dict)
    columns: Mapping[str, str | int | float | bool | None] = field(default_factory=dict)
    prior: float | None = None
    max_ratio: float | None = None


@dataclass(frozen=True)
class Grid:
    """Configurations on image pairs.

    Parameters
    ----------
    models : tuple of {"E", "F", "H"}
        Models that are estimated, those for which there are data and which ``setup.model`` allows.
    configurations : tuple of Configuration
        What is compared. They are sent to workers, so that their functions have to be importable.
    ablation : bool
        Whether the paper runs it on all pairs of ``sacre_coeur``. Where that set is missing, or others are asked for,
        it runs on those.
    default_models : tuple of {"E", "F", "H"}
        What is estimated where ``setup.model`` says nothing; empty for all of ``models``.
    """

    models: tuple[Model, ...]
    configurations: tuple[Configuration, ...]
    ablation: bool = False
    default_models: tuple[Model, ...] = ()

    def experiment(
        self,
        *,
        name: str,
        title: str,
        reference: str,
        defaults: str,
        report: Callable[[Setup, Iterable[Row]], Report],
        options: tuple[str, ...] = (MAX_RATIO_OPTION,),
    ) -> Experiment:
        """Return the experiment that runs this grid.

        Parameters
        ----------
        name, title, reference, defaults, report, options
            As in :class:`~bansac.evaluation.experiment.Experiment`.

        Returns
        -------
        Experiment
            It needs data, and takes the number of pairs and of repeats.
        """
        return Experiment(
            name=name,
            title=title,
            reference=reference,
            needs_data=True,
            defaults=defaults,
            units=self.units,
            run_unit=self.run_unit,
            report=report,
            sets=self.sets,
            settings=("pairs", "repeats", "h_error") if "H" in self.models else ("pairs", "repeats"),
            models=self.models,
            options=options,
            warm_up=self.warm_up,
        )

    def units(self, setup: Setup) -> list[Unit]:
        """Return one unit for each model, pair and repeat.

        Parameters
        ----------
        setup : Setup
            The settings.

        Returns
        -------
        list of Unit
            Pair by pair, set by set, model by model.

        Raises
        ------
        ValueError
            If there is no set with the right truth, or none with homographies for ``setup.h_error`` to judge.
        OSError
            If the data cannot be read.
        """
        check_max_ratio(setup)
        chosen = self._choose_sets(setup)
        models = self._models(setup, chosen)
        if setup.h_error is not None and "H" not in models:
            raise ValueError(f"--h-error judges homographies, but the models are {', '.join(models)}")
        units: list[Unit] = []
        for model in models:
            repeats = setup.repeats or REPEATS[model]
            for pair_set in chosen:
                if pair_set.kind != _KINDS[model]:
                    continue
                keys = self._keys(setup, pair_set)
                _check_any_size(setup, pair_set, keys)
                for index, key in enumerate(keys):
                    for repeat in range(repeats):
                        turn = index + repeat
                        payload = (model, str(pair_set.folder), key, repeat, turn)
                        units.append(Unit(f"{model}/{pair_set.name}/{key}/{repeat}", payload, timed=repeat == 0))
        return units

    def sets(self, setup: Setup) -> list[PairSet]:
        """Return the sets that the pairs of :meth:`units` are of.

        Parameters
        ----------
        setup : Setup
            The settings.

        Returns
        -------
        list of PairSet
            The sets.

        Raises
        ------
        ValueError
            If there is no set with the right truth.
        OSError
            If the data cannot be read.
        """
        chosen = self._choose_sets(setup)
        kinds = {_KINDS[model] for model in self._models(setup, chosen)}
        return [pair_set for pair_set in chosen if pair_set.kind in kinds]

    def run_unit(self, setup: Setup, unit: Unit) -> list[Row]:
        """Run all configurations on a pair.

        Parameters
        ----------
        setup : Setup
            The settings.
        unit : Unit
            One of :meth:`units`.

        Returns
        -------
        list of Row
            A row for each configuration, in their order; none where the pair has too few matches for any of them, so
            that all configurations see the same pairs.

        Raises
        ------
        OSError
            If the pair cannot be read, or the size of an image that is needed to judge it is not known.
        """
        model, folder, key, repeat, turn = unit.payload
        tasks = self._tasks(setup, model, folder, key, repeat)
        if min(len(task.x1) for _, task in tasks) < DEFAULTS[model].min_matches:
            return []
        pair_set = _open_set(folder)
        _check_sizes(setup, pair_set, key)
        rows: dict[int, Row] = {}
        for position in range(len(tasks)):
            which = (position + turn) % len(tasks)
            configuration, (pair, task) = self.configurations[which], tasks[which]
            rows[which] = {
                "model": model,
                "set": pair_set.name,
                "pair": key,
                "repeat": repeat,
                "seed": task.seed,
                "configuration": configuration.name,
                "method": configuration.method.name,
                **configuration.columns,
                "matches": len(task.x1),
                **_run(configuration, task, pair, setup),
            }
        return [rows[which] for which in range(len(tasks))]

    def warm_up(self, setup: Setup, units: Sequence[Unit]) -> None:
        """Load or compile the kernels of every configuration, by short calls on the first good pair of each model.

        Parameters
        ----------
        setup : Setup
            The settings.
        units : sequence of Unit
            The units that will be run.
        """
        for model in dict.fromkeys(unit.payload[0] for unit in units):
            for unit in units:
                if unit.payload[0] == model and self._warm_up_by(setup, unit):
                    break

    def _warm_up_by(self, setup: Setup, unit: Unit) -> bool:
        """Call every configuration briefly on a pair; False if it is damaged or has too few matches."""
        model, folder, key, repeat, _ = unit.payload
        try:
            tasks = self._tasks(setup, model, folder, key, repeat)
            if min(len(task.x1) for _, task in tasks) < DEFAULTS[model].min_matches:
                return False
            for configuration, (_, task) in zip(self.configurations, tasks, strict=True):
                _estimate(configuration, task, max_iterations=_WARM_UP_ITERATIONS)
        except (OSError, ValueError):  # the unit will fail and say why
            return False
        return True

    def _choose_sets(self, setup: Setup) -> list[PairSet]:
        """Return the sets that ``setup`` chooses, whatever their truth."""
        assert setup.data is not None  # Experiment.check
        found = find_sets(setup.data)
        wanted = setup.sets
        names = [pair_set.name for pair_set in found]
        if self.ablation and not wanted and ABLATION_SET in names and ABLATION_SET not in setup.exclude:
            wanted = (ABLATION_SET,)
        return choose_sets(found, wanted, setup.exclude)

    def _models(self, setup: Setup, sets: Sequence[PairSet]) -> list[Model]:
        """Return the models that are asked for and that the sets have truth for."""
        asked = (self.default_models or self.models) if setup.model is None else (setup.model,)
        kinds = {pair_set.kind for pair_set in sets}
        models = [model for model in asked if _KINDS[model] in kinds]
        if not models:
            truth = " or ".join(sorted({"homographies" if _KINDS[model] == "H" else "poses" for model in asked}))
            raise ValueError(
                f"--data: no set with {truth} as truth, which --model {', '.join(asked)} needs; "
                f"the sets are {', '.join(pair_set.name for pair_set in sets)}"
            )
        return models

    def _keys(self, setup: Setup, pair_set: PairSet) -> list[str]:
        whole = pair_set.kind == "H" or (self.ablation and pair_set.name == ABLATION_SET)
        keys = pair_set.keys if whole else pair_set.keys[:PAIRS_OF_A_SCENE]
        return evenly_spaced(keys, setup.pairs)

    def _tasks(self, setup: Setup, model: Model, folder: str, key: str, repeat: int) -> list[tuple[Matches, Task]]:
        """Return the filtered pair and the task of every configuration."""
        by_ratio: dict[float, tuple[Matches, Task]] = {}
        tasks = []
        for configuration in self.configurations:
            protocol = _protocol(setup, model, configuration)
            if protocol.max_ratio not in by_ratio:
                pair = _read_pair(folder, key).filtered(protocol.max_ratio)
                by_ratio[protocol.max_ratio] = pair, make_task(pair, protocol, seed=setup.seed + repeat)
            tasks.append(by_ratio[protocol.max_ratio])
        return tasks


def check_max_ratio(setup: Setup) -> None:
    """Raise a ValueError if the option ``max_ratio`` is no ratio.

    Parameters
    ----------
    setup : Setup
        The settings.

    Raises
    ------
    ValueError
        If it is not in (0, 1].
    """
    ratio = setup.extra.get(MAX_RATIO_OPTION)
    if ratio is not None and not 0 < ratio <= 1:
        raise ValueError(f"{MAX_RATIO_OPTION} must be in (0, 1], got {ratio}")


def _check_any_size(setup: Setup, pair_set: PairSet, keys: Sequence[str]) -> None:
    """Raise an OSError where the sizes that homographies are judged by are known of no pair."""
    first_error: OSError | None = None
    for key in keys:
        try:
            _check_sizes(setup, pair_set, key)
        except OSError as error:
            first_error = first_error or error
        else:
            return
    if first_error is not None:
        raise first_error


def _check_sizes(setup: Setup, pair_set: PairSet, key: str) -> None:
    """Raise an OSError that says what was looked for where the sizes that a homography is judged by are not known."""
    if pair_set.kind == "H":
        pair_set.image_size(key, 1)
        if setup.h_error == "visible-area":
            pair_set.image_size(key, 2)


def _protocol(setup: Setup, model: Model, configuration: Configuration) -> Protocol:
    ratio = configuration.max_ratio or setup.extra.get(MAX_RATIO_OPTION) or DEFAULTS[model].max_ratio
    return dataclasses.replace(DEFAULTS[model], max_ratio=ratio)


def _run(configuration: Configuration, task: Task, pair: Matches, setup: Setup) -> Row:
    """Estimate and judge; the estimate alone is timed."""
    started = time.perf_counter()
    result = _estimate(configuration, task)
    seconds = time.perf_counter() - started
    return {
        **_errors(result.model, task, pair, setup),
        "iterations": int(result.iterations),
        "models_tested": int(result.models_tested),
        "stop_reason": result.stop_reason,
        "inliers": int(result.num_inliers),
        "success": bool(result.success),
        "seconds": seconds,
    }


def _estimate(configuration: Configuration, task: Task, **settings: Any) -> Any:
    priors = {} if configuration.prior is None else {"priors": np.full(len(task.x1), configuration.prior)}
    return estimate(configuration.method, task, {**configuration.settings, **priors, **settings})


def _errors(model: Any, task: Task, pair: Matches, setup: Setup) -> Row:
    if task.kind == "H" and setup.h_error == "visible-area":
        from bansac.metrics import visible_area_error

        if pair.H is None or pair.size1 is None or pair.size2 is None:
            raise ValueError(f"the pair {pair.key} has no homography or lacks the size of an image to be judged by")
        return {"homography_error": visible_area_error(model, pair.H, pair.size1, pair.size2, step=_PIXEL_STEP)}
    errors = judge(model, task, pair)
    names = ("homography_error",) if task.kind == "H" else ("rotation_error", "translation_error")
    return dict(zip(names, errors, strict=True))


@functools.lru_cache(maxsize=64)
def _open_set(folder: str) -> PairSet:
    return PairSet(folder)


@functools.lru_cache(maxsize=2)
def _read_pair(folder: str, key: str) -> Matches:
    return _open_set(folder).pair(key)
