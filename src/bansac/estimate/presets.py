"""Presets, and the options of a call: settings, options and defaults of the problem, merged."""

import functools
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict

from numpy.typing import ArrayLike

from bansac.engine.components import check_abilities
from bansac.engine.option_groups import Network, Restarts
from bansac.engine.options import Degeneracy, LocalOptimization, RefinerName, Verification, Weighting
from bansac.engine.options import Options as Options
from bansac.engine.options import check_names as check_names
from bansac.engine.sampling import Sampler, SamplerName
from bansac.engine.scoring import Score, ScoreName
from bansac.engine.stopping import Stop, StopName
from bansac.maths.validate import check_name
from bansac.problems.problem import Problem

Threshold = float | Literal["auto"] | None
"""Type of the argument ``threshold`` of the public functions."""

PresetName = Literal["paper", "fast", "accurate", "paper-20"]


class Arguments(TypedDict, total=False):
    """The keyword arguments of the estimators: the options except the threshold, and those of all estimators."""

    confidence: float
    max_iterations: int | None
    min_iterations: int
    max_seconds: float | None
    stopping: str | Sequence[StopName | Stop] | None
    sampler: SamplerName | Sampler
    neighbours: bool
    network: Network
    restarts: int | Restarts
    scoring: ScoreName | Score
    weighting: Weighting | None
    verification: Verification | None
    local_optimization: LocalOptimization | None
    degeneracy: Degeneracy | None
    refinement: RefinerName | None
    seed: int | None
    trace: bool
    scores: ArrayLike | None
    priors: ArrayLike | None
    weights: ArrayLike | None
    initial_model: Any
    preset: PresetName | None
    options: Options | None


@dataclass(frozen=True)
class Preset:
    """A named set of options.

    ``thresholds`` and ``max_iterations``, by the name of a problem, replace the defaults of problems. If ``as_paper``,
    thresholds of calibrated problems are in normalised units even if camera matrices are given, no threshold is
    estimated unless the call asks for it, planar inliers have no solution of their own, and no short runs follow a
    failed one to explain it.
    """

    options: Options
    thresholds: Mapping[str, float] = field(default_factory=dict)
    max_iterations: Mapping[str, int] = field(default_factory=dict)
    as_paper: bool = False


PRESETS = {
    # The other options are the defaults; a test pins all of them.
    "paper": Preset(
        Options(
            network=Network(min_updates=0),
            restarts=Restarts(limit=1, agreement=2),
            scoring="inliers",
            weighting=None,
            stopping="sampler",
            local_optimization=None,
            refinement="least_squares",
            neighbours=False,
        ),
        thresholds={"homography": 1.0, "fundamental matrix": 0.5, "essential matrix": 1e-3},
        max_iterations={"homography": 1000, "fundamental matrix": 10_000, "essential matrix": 1000},
        as_paper=True,
    ),
    "fast": Preset(Options(restarts=1, max_iterations=600, stopping="sampler", neighbours=False)),
    "accurate": Preset(Options(restarts=Restarts(limit=64, agreement=4), max_iterations=200_000)),
}
_PAPER_20 = PRESETS["paper"].options.replace(network=Network(min_updates=20))
PRESETS["paper-20"] = replace(PRESETS["paper"], options=_PAPER_20)

_DEFAULT = Preset(Options())

SHARED_ARGUMENTS = tuple(name for name in Arguments.__annotations__ if name not in Options.__dataclass_fields__)
"""Keyword arguments of all estimators that are no options."""


def find_preset(name: Any) -> Preset:
    """Return a preset by its name; None is the preset of the default options."""
    check_name("preset", name, PRESETS, optional=True)
    return _DEFAULT if name is None else PRESETS[name]


def resolve_options(
    problem: Problem,
    threshold: Threshold,
    settings: Mapping[str, Any],
    *,
    default_threshold: float | None = None,
) -> tuple[Options, bool]:
    """Merge the keyword arguments of an estimator with the defaults of the problem.

    Returns the complete options of one call, and whether the threshold is estimated from the data. The options have a
    number of iterations, a seed, and a threshold, from which an estimate starts. Only an estimate that starts from the
    extent of the data has none.

    Single settings override ``options``, which replace those of ``preset``. A number as ``threshold`` overrides the
    threshold of the options; ``"auto"`` estimates it, starting from that one; None estimates it if there is none. An
    estimate starts from ``default_threshold`` instead of the default of the problem. The least squares of a preset are
    ignored for a problem without ``fit``.
    """
    # The types are part of the key, since 1 == True. The seed is not: calls that differ only in it share the result.
    options, preset = settings.get("options"), settings.get("preset")
    items = tuple(
        [(name, value, type(value)) for name, value in settings.items() if name not in ("seed", *SHARED_ARGUMENTS)]
    )
    arguments = (problem, options, preset, threshold, items, default_threshold)
    try:
        resolved = _merge(*arguments)
    except TypeError as error:
        if "unhashable" not in str(error):
            raise
        resolved = _merge.__wrapped__(*arguments)
    if "seed" in settings:
        resolved = resolved.with_seed(settings["seed"])
    if resolved.seed is None:
        resolved = resolved.with_seed(secrets.randbits(32))  # short enough to type
    values = find_preset(preset)
    is_given = threshold is not None or (options is not None and options.threshold is not None)
    has_default = is_given or values.as_paper or problem.name in values.thresholds
    return resolved, isinstance(threshold, str) or not has_default


@functools.lru_cache(maxsize=256, typed=True)
def _merge(
    problem: Problem,
    options: Options | None,
    preset: str | None,
    threshold: Threshold,
    items: tuple[tuple[str, Any, type], ...],
    default_threshold: float | None,
) -> Options:
    """Merge and check all options except the seed; calls with the same settings share the result."""
    values = find_preset(preset)
    base = values.options
    changes = {name: value for name, value, _ in items}
    check_names(changes, [name for name in SHARED_ARGUMENTS if name not in changes])
    if options is not None:
        if not isinstance(options, Options):
            raise ValueError(f"options must be a bansac.Options, got {type(options).__name__}")
        base = options
    elif base.refinement == "least_squares" and problem.fit is None:
        changes = {"refinement": None} | changes
    start = base.threshold or values.thresholds.get(problem.name, default_threshold or problem.default_threshold)
    if isinstance(threshold, str) and threshold != "auto":
        raise ValueError(f"threshold must be a number > 0 or 'auto', got {threshold!r}")
    changes["threshold"] = start if threshold is None or isinstance(threshold, str) else threshold
    resolved = base.replace(**changes)
    if resolved.max_iterations is None:
        most = values.max_iterations.get(problem.name, problem.default_max_iterations)
        resolved = resolved.replace(max_iterations=max(most, resolved.min_iterations))
    resolved = resolved.replace(restarts=resolved.restart_rules.over(Restarts(agreement=2)))
    if resolved.threshold is None and values.as_paper and threshold is None:
        raise ValueError(f"threshold must be given: {problem.name} has no default in preset {preset!r}")
    check_abilities(problem, resolved)
    return resolved
