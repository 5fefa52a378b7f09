"""The paper's experiments over image pairs: every configuration of a list on every pair and repeat."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from bansac.problems.estimators import Kind
from bansac_lab.measurement import MAX_RATIO, MODEL, ON_DATA, PAIRS, RUNS, SEED, Measurement, Option, Setup, choose_sets
from bansac_lab.pairs import Group, PairRuns
from bansac_lab.sets import PairSet, find_sets
from bansac_lab.sets.tutorial import MAX_RATIO as MAX_RATIO_OF_PAPER
from bansac_lab.sets.tutorial import evenly_spaced
from bansac_lab.task import DEFAULTS, Protocol

PAIRS_OF_A_SCENE = 4000
"""The paper uses the first 4,000 pairs of a scene (E, F), and all pairs of a homography set."""

ABLATION_SET = "sacre_coeur"
"""Scene of the paper's ablations, which use all of its pairs."""

_PAPER: dict[str, Any] = {"max_ratio": MAX_RATIO_OF_PAPER, "pairs": sys.maxsize}
GROUPS: Mapping[str, Group] = {
    protocol.kind: Group(replace(protocol, repeats=10 if protocol.kind == "H" else 5, **_PAPER))
    for protocol in (DEFAULTS["E"], DEFAULTS["F"], DEFAULTS["H"])
}
"""The paper's settings by model; the maximum SNN ratio is the same for E, F and H."""


@dataclass(frozen=True)
class Grid(PairRuns):
    """Configurations on image pairs; a group is a model."""

    groups: Mapping[str, Group] = field(default_factory=lambda: GROUPS)
    models: tuple[Kind, ...] = ("E", "F")  # allowed models; a model without data is skipped
    ablation: bool = False  # use all pairs of ABLATION_SET only, unless it is missing or other sets are selected
    default_models: tuple[Kind, ...] = ()  # models to estimate if ``setup.model`` is None; empty for all of ``models``

    WARM_UP: ClassVar[Mapping[str, Any]] = {"max_iterations": 30}

    def experiment(self, *, options: tuple[Option, ...] = (MAX_RATIO,), **described: Any) -> Measurement:
        """Return the experiment of this grid; ``described`` are further fields of :class:`.Measurement`."""
        options = (*ON_DATA, PAIRS, RUNS, replace(MODEL, choices=self.models), *options, SEED)
        return self.measurement(options=options, complete=False, **described)

    def _asked(self, setup: Setup) -> Sequence[str]:
        return (self.default_models or self.models) if setup.model is None else (setup.model,)

    def _chosen(self, setup: Setup, name: str) -> list[PairSet]:
        found, wanted = find_sets(setup.data), setup.sets
        has_scene = ABLATION_SET in (pair_set.name for pair_set in found)
        if self.ablation and not wanted and has_scene and ABLATION_SET not in setup.exclude:
            wanted = (ABLATION_SET,)
        return choose_sets(found, wanted, setup.exclude)

    def _keys(self, pair_set: PairSet, protocol: Protocol) -> list[str]:
        whole = pair_set.kind == "H" or (self.ablation and pair_set.name == ABLATION_SET)
        return evenly_spaced(pair_set.keys if whole else pair_set.keys[:PAIRS_OF_A_SCENE], protocol.pairs)


def protocol_of(setup: Setup, kind: Kind) -> Protocol:
    """Return the paper's settings of a model with the maximum SNN ratio of ``setup``."""
    return Grid(()).protocol(setup, kind)
