"""The paper's experiments over image pairs: every configuration of a list on every pair and repeat."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bansac.batch.journal import Row, Unit
from bansac.lab.evaluation.task import DEFAULTS, Protocol
from bansac.lab.measurement import Measurement, Option, Setup, choose_sets
from bansac.lab.options import EXCLUDE, MAX_RATIO, MODEL, NEEDED_DATA, PAIRS, RUNS, SEED, SETS
from bansac.lab.pairs import UNIT_CODE, Configuration, check_size, pair_unit, run_pair, warm_up
from bansac.lab.sets import PairSet, find_sets
from bansac.lab.sets.tutorial import MAX_RATIO as MAX_RATIO_OF_PAPER
from bansac.matches.pair_folder import evenly_spaced
from bansac.problems.estimators import Kind

PAIRS_OF_A_SCENE = 4000
"""The paper uses the first 4,000 pairs of a scene (E, F), and all pairs of a homography set."""

REPEATS: dict[Kind, int] = {"E": 5, "F": 5, "H": 10}
"""Number of repeats in the paper, by model."""

ABLATION_SET = "sacre_coeur"
"""Scene of the paper's ablations, which use all of its pairs."""

# Number of iterations of a call that only loads or compiles the kernels.
_WARM_UP_ITERATIONS = 30

_KINDS = {"E": "EF", "F": "EF", "H": "H"}


@dataclass(frozen=True)
class Grid:
    """Configurations on image pairs; worker processes must be able to import their functions."""

    models: tuple[Kind, ...]  # allowed models; a model without data is skipped
    configurations: tuple[Configuration, ...]
    ablation: bool = False  # use all pairs of ABLATION_SET only, unless it is missing or other sets are selected
    default_models: tuple[Kind, ...] = ()  # models to estimate if ``setup.model`` is None; empty for all of ``models``

    def experiment(self, *, options: tuple[Option, ...] = (MAX_RATIO,), **described: Any) -> Measurement:
        """Return the experiment of this grid; ``described`` are further fields of :class:`.Measurement`."""
        model = dataclasses.replace(MODEL, choices=self.models)
        return Measurement(
            options=(NEEDED_DATA, SETS, EXCLUDE, PAIRS, RUNS, model, *options, SEED),
            units=self.units,
            run_unit=self.run_unit,
            sets=self.sets,
            warm_up=self.warm_up,
            values=(UNIT_CODE, DEFAULTS, self),
            **described,
        )

    def units(self, setup: Setup) -> list[Unit]:
        """Return one unit for each model, set, pair and repeat.

        If no set has ground truth for the models, a ValueError is raised.
        """
        check_max_ratio(setup)
        chosen = self._choose_sets(setup)
        models = self._models(setup, chosen)
        units: list[Unit] = []
        for model in models:
            repeats = setup.repeats or REPEATS[model]
            for pair_set in chosen:
                if pair_set.kind != _KINDS[model]:
                    continue
                keys = self._keys(setup, pair_set)
                _check_any_size(pair_set, keys)
                units += [pair_unit(model, pair_set, key, repeat) for key in keys for repeat in range(repeats)]
        return units

    def sets(self, setup: Setup) -> list[PairSet]:
        """Return the sets whose pairs :meth:`units` includes."""
        chosen = self._choose_sets(setup)
        kinds = {_KINDS[model] for model in self._models(setup, chosen)}
        return [pair_set for pair_set in chosen if pair_set.kind in kinds]

    def run_unit(self, setup: Setup, unit: Unit) -> list[Row]:
        """Run all configurations on a pair."""
        return run_pair(self.configurations, protocol_of(setup, unit.payload[0]), unit, seed=setup.seed)

    def warm_up(self, setup: Setup, units: Sequence[Unit]) -> None:
        """Load or compile the kernels of every configuration, by short calls on one pair of each model."""
        for model in dict.fromkeys(unit.payload[0] for unit in units):
            of_model = [unit for unit in units if unit.payload[0] == model]
            protocol = protocol_of(setup, model)
            warm_up(self.configurations, protocol, of_model, setup.seed, max_iterations=_WARM_UP_ITERATIONS)

    def _choose_sets(self, setup: Setup) -> list[PairSet]:
        """Return the sets selected by ``setup``, with any kind of ground truth."""
        assert setup.data is not None  # needed by the options
        found = find_sets(setup.data)
        wanted = setup.sets
        names = [pair_set.name for pair_set in found]
        if self.ablation and not wanted and ABLATION_SET in names and ABLATION_SET not in setup.exclude:
            wanted = (ABLATION_SET,)
        return choose_sets(found, wanted, setup.exclude)

    def _models(self, setup: Setup, sets: Sequence[PairSet]) -> list[Kind]:
        """Return the requested models for which the sets have ground truth."""
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


def check_max_ratio(setup: Setup) -> None:
    """Raise a ValueError if the option ``max_ratio`` is not in (0, 1]."""
    ratio = setup.get("max_ratio", MAX_RATIO_OF_PAPER)
    if not 0 < ratio <= 1:
        raise ValueError(f"max_ratio must be in (0, 1], got {ratio}")


def _check_any_size(pair_set: PairSet, keys: Sequence[str]) -> None:
    """Raise an OSError if no pair has the image size needed for the errors of homographies."""
    first_error: OSError | None = None
    for key in keys:
        try:
            check_size(pair_set, key)
        except OSError as error:
            first_error = first_error or error
        else:
            return
    if first_error is not None:
        raise first_error


def protocol_of(setup: Setup, kind: Kind) -> Protocol:
    """Return the paper's settings with the maximum SNN ratio of ``setup``, by default the same for E, F and H."""
    return dataclasses.replace(DEFAULTS[kind], max_ratio=setup.get("max_ratio", MAX_RATIO_OF_PAPER))
