"""The rules of the default that ``bansac bench rules`` switches off, one at a time, to the plainest value.

A rule is a mechanism of the search, its restarts, the threshold, the noise scale, the neighbours, the local
optimisation, the significance test or the verdict. An option switches it off, or a patch of a constant, function or
method that plain Python reads when it runs. Constants within kernels are frozen when Numba compiles them, so rules
within kernels are not here. All targets of patches are in this table.
"""

import contextlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

import numpy as np

from bansac.engine.option_groups import Restarts
from bansac.evidence.duplicate_points import first_of_equals

Change = Callable[[Any], Any]
"""It returns the value of a target without the rule, from the value with it."""


@dataclass(frozen=True)
class Rule:
    """A rule, and what switches it off: options, or a change of a target in this package."""

    name: str
    patch: tuple[str, Change] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @contextlib.contextmanager
    def off(self) -> Iterator[None]:
        """Switch the rule off, apart from its options."""
        if self.patch is None:
            yield
            return
        target, change = self.patch
        with mock.patch(f"bansac.{target}", change(pkgutil.resolve_name(f"bansac.{target}"))):
            yield


def _value(value: Any) -> Change:
    return lambda original: value


def _returns(value: Any) -> Change:
    return lambda original: lambda *arguments, **settings: value


_SAME = _value(lambda solution: solution)


def _without_window(estimate: Any) -> Any:
    return lambda self, model, last, window=np.inf, **settings: estimate(self, model, last, np.inf, **settings)


_RESTARTS, _SEARCH, _SIGNIFICANCE = "engine.restarts", "engine.search", "evidence.significance"
_PLAN = f"{_RESTARTS}._plan_restart"

# A comment says what a rule does if its name does not.
_PATCHES: Mapping[str, tuple[str, Change]] = {
    "majority": (f"{_RESTARTS}._MAJORITY", _value(1.0)),  # of inliers: half of the agreement
    "duplicate ends a restart": ("engine.interruptible.InterruptibleLoop.aim_at", _returns(None)),
    "restarts on supported matches": ("engine.frame.Frame.supported", _value(None)),  # supported by neighbours
    "restarts on all data do not learn": (_PLAN, lambda plan: lambda of: plan(of)._replace(learns=True)),
    "data near losers left out": (_PLAN, lambda plan: lambda of: plan(replace(of, ranked=of.ranked[:1]))),
    "round limit": (f"{_RESTARTS}._plan_alternative", lambda plan: lambda of: plan(of) if of.is_over() else None),
    "search of other data": (f"{_RESTARTS}._plan_other_data", _returns(None)),  # not near the best hypothesis
    "search of less noise": (f"{_RESTARTS}._plan_less_noise", _returns(None)),  # in a compromise
    "comparison at one threshold": (f"{_SEARCH}._SHARED", _value(2.0)),  # of models that share most inliers
    "compromise": (f"{_SEARCH}.Search._is_mixture", _returns(False)),  # loses to a structure of less noise in it
    "rival": ("estimate.solve._find_rival", _returns(None)),
    "early estimates of the threshold": (f"{_SEARCH}._EARLY", _value(())),
    "wide threshold": (f"{_RESTARTS}.WIDE", _value(1.0)),  # every second restart until a hypothesis is significant
    "window of residuals": (f"{_SEARCH}.Search._estimate", _without_window),  # six thresholds
    "raised sigma of few data": ("evidence.noise_scale._RAISED", _value(0.0)),
    "density weights": ("estimate.request.density_weights", lambda _: lambda x: np.ones(x.shape[1])),  # of F
    "score weights": ("estimate.request.reliability_weights", _returns(None)),
    "plausibility of focal lengths": ("estimate.two_views._focal_plausibility", _returns(None)),
    "common points counted once": (f"{_SIGNIFICANCE}.first_of_equals", lambda _: lambda p, x, t: np.arange(x.shape[1])),
    "outliers with common points": (f"{_SIGNIFICANCE}.first_of_inliers", lambda _: lambda m, *of: first_of_equals(*of)),
    "neighbours in the null model": (f"{_SIGNIFICANCE}.add_neighbours", lambda _: lambda null_model, *_: null_model),
    "search window": ("estimate.solve._NOISE", _value(np.inf)),  # a large threshold among random moves proves nothing
    "searches of rearranged matches": (f"{_SIGNIFICANCE}._exceeds_searches", _returns(False)),
    "motion of a plane": ("estimate.planar_motion.choose_motion", _SAME),  # of its homography
    "epipole of a plane": ("estimate.planar_motion.choose_epipole", _SAME),  # of the matches off it
    "twin of a motion": ("estimate.twins.choose_twin", _SAME),  # the other side of the worst direction
    "threshold between structures": ("engine.search.is_between", _returns(False)),
    "rival off a plane": ("estimate.planar_motion.compare_off_plane", _SAME),
    "misfit": ("estimate.verdict.has_misfit", _returns(False)),  # residuals depend on the place in the image
    "misfit of a camera": ("estimate.verdict.find_focal_factors", _returns([])),
    "static matches": ("estimate.verdict.count_static", _returns(0)),
    "other support": ("estimate.verdict.count_other_support", _returns((0, False))),  # outliers off a plane, a pattern
}
_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "agreement of restarts": {"restarts": Restarts(agreement=1)},
    "neighbours": {"neighbours": False},
    "local optimisation": {"local_optimization": None},
    "refinement": {"refinement": None},
}

RULES = (
    *(Rule(name, settings=settings) for name, settings in _SETTINGS.items()),
    *(Rule(name, patch) for name, patch in _PATCHES.items()),
)
"""All rules: those of restarts, alternatives, the threshold, the score, the significance test and the verdict."""
