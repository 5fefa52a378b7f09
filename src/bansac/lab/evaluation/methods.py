"""The methods that can be compared, by name: this package's in one table, other libraries' in :mod:`.peers`.

A method of this package is the settings of the estimate functions by which it differs from ``preset="paper"``. "Only
the sampling and the stopping criterion vary between all methods" (the paper's Sec. 5): the sampler is named here, its
stop is the default that goes with it. The other presets are methods too, with their own thresholds and limits, and what
a caller with real data has: scores and sizes of the images. A method of another library is a function of a
:class:`.Task`.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping, Sequence
from typing import Any

from bansac.lab.evaluation.method import Method
from bansac.lab.evaluation.peers import find_peers
from bansac.options import PRESETS
from bansac.problems.table import Kind

LOCAL_OPTIMIZATION: Mapping[str, Any] = {"local_optimization": "inner+iterative"}
"""What turns on the local optimisation of LO-RANSAC."""

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
    *(Method(name, {"preset": name}, scored=True, sized=True) for name in PRESETS if name != "paper"),
)
"""What the public functions do with the defaults, and with the presets other than the paper's."""

_WITH_LESS = (
    Method("default-unscored", {"preset": None}, sized=True),
    Method("default-unsized", {"preset": None}, scored=True, kinds=("F",)),
)

METHODS: dict[str, Method] = {method.name: method for method in (*PRESET_METHODS, *_WITH_LESS, *_OURS, *find_peers())}
"""All methods by name."""

RANSAC, BANSAC, P_BANSAC = METHODS["uniform"], METHODS["bansac"], METHODS["p-bansac"]

PAPER_METHODS = (RANSAC, METHODS["napsac"], METHODS["p-napsac"], METHODS["prosac"], BANSAC, P_BANSAC)
"""The columns of tab:results_E_F_H_LO, in their order."""


def select_methods(names: Sequence[str], kind: Kind) -> list[Method]:
    """Return the methods of these names, in their order; their packages have to be installed.

    ``NAME@THRESHOLD`` is the method at another threshold than the protocol's or its preset's, in the same unit;
    ``NAME@auto`` is one of this package that estimates it.
    """
    if not names:
        raise ValueError(f"methods must name at least one of {', '.join(METHODS)}")
    methods = []
    for name in names:
        method = _find_method(name)
        if kind not in method.kinds:
            raise ValueError(f"methods: {name} estimates {', '.join(method.kinds)}, not {kind}")
        if names.count(name) > 1:
            raise ValueError(f"methods: {name} is given twice")
        if importlib.util.find_spec(method.package) is None:
            raise ModuleNotFoundError(f"method {name} needs the package {method.package}", name=method.package)
        methods.append(method)
    return methods


def _find_method(text: str) -> Method:
    """Return the method of ``NAME`` or ``NAME@THRESHOLD``."""
    name, at, value = text.partition("@")
    if name not in METHODS:
        raise ValueError(f"methods: unknown method {name!r}; the methods are {', '.join(METHODS)}")
    if not at:
        return METHODS[name]
    if value == "auto" and METHODS[name].call is None:
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
