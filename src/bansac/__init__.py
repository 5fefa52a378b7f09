"""Robust estimation whose sampling learns: BANSAC (Piedade and Miraldo, ICCV 2023) in Python.

The names below load on first use, so that ``import bansac`` costs next to nothing.
"""

import gc
import importlib
from typing import TYPE_CHECKING, Any

from bansac.problems.estimators import ESTIMATORS

if TYPE_CHECKING:
    from bansac.engine.option_groups import Network as Network
    from bansac.engine.option_groups import Restarts as Restarts
    from bansac.engine.sampling import Napsac as Napsac
    from bansac.engine.sampling import Sampler as Sampler
    from bansac.engine.scoring import Score as Score
    from bansac.engine.stopping import Stop as Stop
    from bansac.estimate.absolute_pose import estimate_absolute_pose as estimate_absolute_pose
    from bansac.estimate.covariance import covariance as covariance
    from bansac.estimate.curves import estimate_vanishing_point as estimate_vanishing_point
    from bansac.estimate.curves import fit_circle as fit_circle
    from bansac.estimate.curves import fit_cylinder as fit_cylinder
    from bansac.estimate.curves import fit_ellipse as fit_ellipse
    from bansac.estimate.curves import fit_line as fit_line
    from bansac.estimate.curves import fit_line_3d as fit_line_3d
    from bansac.estimate.curves import fit_plane as fit_plane
    from bansac.estimate.curves import fit_polynomial as fit_polynomial
    from bansac.estimate.curves import fit_sphere as fit_sphere
    from bansac.estimate.generic import ransac as ransac
    from bansac.estimate.many import Failure as Failure
    from bansac.estimate.many import estimate_many as estimate_many
    from bansac.estimate.many import iter_estimates as iter_estimates
    from bansac.estimate.multiple import estimate_multiple as estimate_multiple
    from bansac.estimate.presets import Options as Options
    from bansac.estimate.result import AbsolutePose as AbsolutePose
    from bansac.estimate.result import MultipleResult as MultipleResult
    from bansac.estimate.result import RelativePose as RelativePose
    from bansac.estimate.result import Result as Result
    from bansac.estimate.result import Rival as Rival
    from bansac.estimate.result import Trace as Trace
    from bansac.estimate.sandwich import Covariance as Covariance
    from bansac.estimate.transforms import estimate_affine as estimate_affine
    from bansac.estimate.transforms import estimate_affine_3d as estimate_affine_3d
    from bansac.estimate.transforms import estimate_rigid_3d as estimate_rigid_3d
    from bansac.estimate.transforms import estimate_similarity as estimate_similarity
    from bansac.estimate.transforms import estimate_similarity_3d as estimate_similarity_3d
    from bansac.estimate.two_views import estimate_essential as estimate_essential
    from bansac.estimate.two_views import estimate_fundamental as estimate_fundamental
    from bansac.estimate.two_views import estimate_homography as estimate_homography
    from bansac.estimate.two_views import estimate_relative_pose as estimate_relative_pose
    from bansac.geometry import focals_from_fundamental as focals_from_fundamental
    from bansac.geometry.camera import Camera as Camera
    from bansac.problems.problem import Problem as Problem
    from bansac.problems.traits import Traits as Traits

__version__ = "0.1.0"

_NAMES = {
    "engine.option_groups": ("Network", "Restarts"),
    "engine.sampling": ("Napsac", "Sampler"),
    "engine.scoring": ("Score",),
    "engine.stopping": ("Stop",),
    "estimate.covariance": ("covariance",),
    "estimate.generic": ("ransac",),
    "estimate.many": ("Failure", "estimate_many", "iter_estimates"),
    "estimate.multiple": ("estimate_multiple",),
    "estimate.presets": ("Options",),
    "estimate.result": ("AbsolutePose", "MultipleResult", "RelativePose", "Result", "Rival", "Trace"),
    "estimate.sandwich": ("Covariance",),
    "geometry": ("focals_from_fundamental",),
    "geometry.camera": ("Camera",),
    "problems.problem": ("Problem",),
    "problems.traits": ("Traits",),
}
_MODULES = {row.function: f"bansac.estimate.{row.module}" for row in ESTIMATORS}
_MODULES |= {name: f"bansac.{module}" for module, names in _NAMES.items() for name in names}

__all__ = sorted([*_MODULES, "__version__"])

_SUBMODULES = "colmap", "compat", "geometry", "matches", "plotting", "synthetic"


if not TYPE_CHECKING:  # a type checker reports unknown names

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            enabled = gc.isenabled()
            gc.disable()  # imports make many objects and no garbage: a tenth of the time of importing Numba
            try:
                found = globals()[name] = getattr(importlib.import_module(_MODULES[name]), name)
            finally:
                if enabled:
                    gc.enable()
            return found
        if name in _SUBMODULES:
            return importlib.import_module(f"bansac.{name}")
        raise AttributeError(f"module 'bansac' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_SUBMODULES])
