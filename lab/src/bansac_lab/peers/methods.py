"""Methods of ``bansac bench`` by name: this package's in one table, those of other libraries in their modules.

A method of this package is a set of options that differ from ``preset="paper"``. "Only the sampling and the stopping
criterion vary between all methods" (the paper's Sec. 5). The table names the sampler. The stopping criterion is the
sampler's default. The other presets are methods as well: they have their own thresholds and limits, and get the scores
and the image sizes that a caller with real data has.
"""

import importlib
import math
from collections.abc import Mapping, Sequence
from typing import Any

from bansac.estimate.presets import PRESETS
from bansac.problems.estimators import Kind
from bansac_lab.peers import PEERS
from bansac_lab.peers.library import Method, require

LOCAL_OPTIMIZATION: Mapping[str, Any] = {"local_optimization": "inner+iterative"}
"""Options that enable the local optimisation of LO-RANSAC."""

_OURS = (
    Method("bansac", {"sampler": "bansac"}, label="BANSAC"),
    Method("p-bansac", {"sampler": "bansac"}, scored=True, label="P-BANSAC"),
    Method("uniform", {"sampler": "uniform"}, label="RANSAC"),
    Method("napsac", {"sampler": "napsac"}, label="NAPSAC"),
    Method("p-napsac", {"sampler": "p-napsac"}, scored=True, label="P-NAPSAC"),
    Method("prosac", {"sampler": "prosac"}, scored=True, label="PROSAC"),
    Method("prosac-lo", {"sampler": "prosac", **LOCAL_OPTIMIZATION}, scored=True),
    Method("bansac-lo", {"sampler": "bansac", **LOCAL_OPTIMIZATION}),
    Method("p-bansac-lo", {"sampler": "bansac", **LOCAL_OPTIMIZATION}, scored=True),
    Method("uniform-lo", {"sampler": "uniform", **LOCAL_OPTIMIZATION}),
)

PRESET_METHODS = (
    Method("default", {"preset": None}, scored=True, sized=True),
    *(Method(name, {"preset": name}, scored=True, sized=True) for name in PRESETS if not name.startswith("paper")),
)
"""The public functions with their defaults and with all presets except the paper's."""

_WITH_LESS = (
    Method("default-unscored", {"preset": None}, sized=True),
    Method("default-unsized", {"preset": None}, scored=True, problems=("F",)),
)

PEER_METHODS: tuple[Method, ...] = tuple(
    method for peer in PEERS for method in importlib.import_module(f"bansac_lab.peers.{peer}").METHODS
)
"""The methods of all other libraries, including those that are not installed."""

METHODS: dict[str, Method] = {method.name: method for method in (*PRESET_METHODS, *_WITH_LESS, *_OURS, *PEER_METHODS)}
"""All methods by name."""

RANSAC, BANSAC, P_BANSAC = METHODS["uniform"], METHODS["bansac"], METHODS["p-bansac"]

PAPER_METHODS = (RANSAC, METHODS["napsac"], METHODS["p-napsac"], METHODS["prosac"], BANSAC, P_BANSAC)
"""The columns of tab:results_E_F_H_LO, in their order."""


def select_methods(names: Sequence[str], kind: Kind) -> list[Method]:
    """Return the methods with these names, in the given order; their packages must be installed.

    ``NAME@THRESHOLD`` overrides the threshold of protocol or preset; ``NAME@auto`` lets a method of this package
    estimate it.
    """
    if not names:
        raise ValueError(f"methods must name at least one of {', '.join(METHODS)}")
    methods = []
    for name in names:
        method = _find_method(name)
        if kind not in method.problems:
            raise ValueError(f"methods: {name} estimates {', '.join(method.problems)}, not {kind}")
        if names.count(name) > 1:
            raise ValueError(f"methods: {name} is given twice")
        methods.append(method)
    require(methods)
    return methods


def _find_method(text: str) -> Method:
    """Return the method for ``NAME``, ``NAME@THRESHOLD`` or ``NAME@auto``."""
    name, at, value = text.partition("@")
    if name not in METHODS:
        raise ValueError(f"methods: unknown method {name!r}; the methods are {', '.join(METHODS)}")
    if not at:
        return METHODS[name]
    if value == "auto" and METHODS[name].ours:
        return METHODS[name].changed(text, threshold=value)
    if value == "auto":
        raise ValueError(f"methods: {name} does not estimate its threshold, got {text!r}")
    try:
        threshold = float(value)
    except ValueError:
        threshold = math.nan
    if not 0 < threshold < math.inf:
        raise ValueError(f"methods: what follows @ must be a threshold > 0, got {text!r}")
    return METHODS[name].changed(text, threshold=threshold)
