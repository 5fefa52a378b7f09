"""The rules of the default that ``bansac bench rules`` switches off, one at a time, to the plainest value.

A rule is a mechanism of the search, its restarts, the threshold, the noise scale, the neighbours, the local
optimisation, the significance test or the verdict. An option switches it off, or a patch of a constant, function or
method that plain Python reads when it runs. Constants within kernels are frozen when Numba compiles them, so rules
within kernels are not here. All targets of patches are in this table.
"""

import contextlib
import dataclasses
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np

from bansac.engine.option_groups import Restarts
from bansac.evidence.duplicate_points import first_of_equals

Change = Callable[[Any], Any]
"""It returns the value of a target without the rule, from the value with it."""


@dataclass(frozen=True)
class Rule:
    """A rule: what it does, and the options and the patches (by target in this package) that switch it off."""

    name: str
    text: str
    patches: Mapping[str, Change] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)

    @contextlib.contextmanager
    def off(self) -> Iterator[None]:
        """Switch the rule off, apart from its options."""
        with contextlib.ExitStack() as stack:
            for target, change in self.patches.items():
                path = f"bansac.{target}"
                stack.enter_context(mock.patch(path, change(pkgutil.resolve_name(path))))
            yield


def _value(value: Any) -> Change:
    return lambda original: value


def _returns(value: Any) -> Change:
    return lambda original: lambda *arguments, **settings: value


_SAME = _value(lambda solution: solution)


def _learns(plan_restart: Any) -> Any:
    return lambda history: plan_restart(history)._replace(learns=True)


def _without_losers(plan_restart: Any) -> Any:
    return lambda history: plan_restart(dataclasses.replace(history, ranked=history.ranked[:1]))


def _at_the_end(plan_alternative: Any) -> Any:
    return lambda history: plan_alternative(history) if history.is_over() else None


def _without_window(estimate: Any) -> Any:
    return lambda self, model, last, window=np.inf, **settings: estimate(self, model, last, np.inf, **settings)


def _all_points(first_of: Any) -> Any:
    return lambda problem, data, threshold: np.arange(data.shape[1])


def _one_test(first_of_inliers: Any) -> Any:
    return lambda measured, problem, data, threshold: first_of_equals(problem, data, threshold)


def _uniform_weights(density_weights: Any) -> Any:
    return lambda data: np.ones(data.shape[1])


def _alone(add_neighbours: Any) -> Any:
    return lambda null_model, *arguments: null_model


_RESTARTS, _SEARCH, _SIGNIFICANCE = "engine.restarts", "engine.search", "evidence.significance"

RULES = (
    Rule(
        "agreement of restarts",
        "The run ends when several restarts have led to the same model, not after the first significant one.",
        settings={"restarts": Restarts(agreement=1)},
    ),
    Rule(
        "majority",
        "A model with more than half of the data as inliers needs half of the agreeing restarts.",
        {f"{_RESTARTS}._MAJORITY": _value(1.0)},
    ),
    Rule(
        "duplicate ends a restart",
        "A restart ends as soon as it finds a duplicate of the best hypothesis.",
        {"engine.interruptible.InterruptibleLoop.aim_at": _returns(None)},
    ),
    Rule(
        "restarts on supported matches",
        "Most restarts are among the matches that neighbours support.",
        {"engine.frame.Frame.supported": _returns(None)},
    ),
    Rule(
        "restarts on all data do not learn",
        "Until a hypothesis is significant, later restarts on all data do not update the network.",
        {f"{_RESTARTS}._plan_restart": _learns},
    ),
    Rule(
        "data near losers left out",
        "A restart leaves out the data near hypotheses that have lost.",
        {f"{_RESTARTS}._plan_restart": _without_losers},
    ),
    Rule(
        "round limit",
        "After a round of restarts, an alternative is searched before the restarts agree.",
        {f"{_RESTARTS}._plan_alternative": _at_the_end},
    ),
    Rule(
        "search of other data",
        "An alternative is searched among the data that are not near the best hypothesis.",
        {f"{_RESTARTS}._plan_other_data": _returns(None)},
    ),
    Rule(
        "search of less noise",
        "Structures of less noise in a compromise are searched at smaller thresholds.",
        {f"{_RESTARTS}._plan_less_noise": _returns(None)},
    ),
    Rule(
        "comparison at one threshold",
        "Models that share most inliers are compared by the score at the same threshold.",
        {f"{_SEARCH}._SHARED": _value(2.0)},
    ),
    Rule(
        "compromise",
        "A structure of less noise is better than a compromise of it and others, whatever its significance.",
        {f"{_SEARCH}.Search._is_mixture": _returns(False)},
    ),
    Rule(
        "rival",
        "Another hypothesis that the data support is returned, and the result is ambiguous.",
        {"estimate.solve._find_rival": _returns(None)},
    ),
    Rule(
        "early estimates of the threshold",
        "The threshold is also estimated on the way of a restart.",
        {f"{_SEARCH}._EARLY": _value(())},
    ),
    Rule(
        "wide threshold",
        "Until a hypothesis is significant, every second restart has a wide threshold.",
        {f"{_RESTARTS}.WIDE": _value(1.0)},
    ),
    Rule(
        "window of residuals",
        "The threshold is estimated from the residuals within six thresholds only.",
        {f"{_SEARCH}.Search._estimate": _without_window},
    ),
    Rule(
        "raised sigma of few data",
        "The standard deviation of few inliers is raised.",
        {"evidence.noise_scale._RAISED": _value(0.0)},
    ),
    Rule(
        "neighbours",
        "Neighbours support matches, and give prior probabilities if there are no scores.",
        settings={"neighbours": False},
    ),
    Rule(
        "density weights",
        "The weight of a match in the score of F falls with the density of matches around it.",
        {"estimate.request.density_weights": _uniform_weights},
    ),
    Rule(
        "score weights",
        "The weight of a match in the score of F and H grows with its score or prior.",
        {"estimate.request.reliability_weights": _returns(None)},
    ),
    Rule(
        "plausibility of focal lengths",
        "Fundamental matrices are also compared by the focal lengths that they imply.",
        {"estimate.two_views._focal_plausibility": _returns(None)},
    ),
    Rule(
        "local optimisation",
        "A new best model is optimised on its inliers.",
        settings={"local_optimization": None},
    ),
    Rule(
        "refinement",
        "The model of a restart is refined on its inliers.",
        settings={"refinement": None},
    ),
    Rule(
        "common points counted once",
        "Of data that share a point, one counts in the significance test.",
        {f"{_SIGNIFICANCE}.first_of_equals": _all_points},
    ),
    Rule(
        "outliers with common points",
        "A second significance test counts inliers that share a point once, and all outliers.",
        {f"{_SIGNIFICANCE}.first_of_inliers": _one_test},
    ),
    Rule(
        "neighbours in the null model",
        "The significance test also rearranges matches with neighbours, and displaces them.",
        {f"{_SIGNIFICANCE}.add_neighbours": _alone},
    ),
    Rule(
        "search window",
        "If displacements are random within a search window, an estimated threshold that is large proves nothing.",
        {"estimate.solve._NOISE": _value(np.inf)},
    ),
    Rule(
        "searches of rearranged matches",
        "Few matches of an epipolar geometry are compared with searches of rearranged ones.",
        {f"{_SIGNIFICANCE}._exceeds_searches": _returns(False)},
    ),
    Rule(
        "motion of a plane",
        "A planar relative pose is a motion of the homography of its plane.",
        {"estimate.planar_motion.choose_motion": _SAME},
    ),
    Rule(
        "epipole of a plane",
        "The epipole of most matches off a plane, or off the rotation of far points, competes.",
        {"estimate.planar_motion.choose_epipole": _SAME},
    ),
    Rule(
        "twin of a motion",
        "Both sides of the worst direction of a badly determined motion are refined.",
        {"estimate.twins.choose_twin": _SAME},
    ),
    Rule(
        "threshold between structures",
        "A threshold does not grow to that of a model between its inliers.",
        {"engine.search.is_between": _returns(False)},
    ),
    Rule(
        "rival off a plane",
        "A geometry that more matches off the plane of most inliers agree with is a rival.",
        {"estimate.planar_motion.compare_off_plane": _SAME},
    ),
    Rule(
        "misfit",
        "A result is a misfit if the residuals depend on the place in the image.",
        {"estimate.verdict.has_misfit": _returns(False)},
    ),
    Rule(
        "misfit of a camera",
        "A pose is a misfit if other focal lengths, or distortion, explain its inliers better.",
        {"estimate.verdict.find_focal_factors": _returns([])},
    ),
    Rule(
        "static matches",
        "A model is static if many of its inliers do not move, and others at other places do.",
        {"estimate.verdict.count_static": _returns(0)},
    ),
    Rule(
        "other support",
        "A result is ambiguous if outliers off its plane support another model, or if a pattern repeats.",
        {"estimate.verdict.count_other_support": _returns((0, False))},
    ),
)
"""All rules: those of restarts, alternatives, the threshold, the score, the significance test and the verdict."""
