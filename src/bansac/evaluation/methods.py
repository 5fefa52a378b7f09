"""The methods that can be compared, by name: this package's in one table, other libraries' in :mod:`.peers`.

A method of this package is the settings of the estimate functions by which it differs from ``preset="paper"``. "Only
the sampling and the stopping criterion vary between all methods" (the paper's Sec. 5): the sampler is named here, its
stop is the default that goes with it. A method of another library is a function of a :class:`.Task`.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from typing import Any

from bansac.evaluation.method import Method
from bansac.evaluation.peers import find_peers
from bansac.evaluation.task import Kind

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

METHODS: dict[str, Method] = {method.name: method for method in (*_OURS, *find_peers())}
"""All methods by name."""

RANSAC, BANSAC, P_BANSAC = METHODS["uniform"], METHODS["bansac"], METHODS["p-bansac"]

PAPER_METHODS = (RANSAC, METHODS["napsac"], METHODS["p-napsac"], METHODS["prosac"], BANSAC, P_BANSAC)
"""The columns of tab:results_E_F_H_LO, in their order."""


def select_methods(names: Sequence[str], kind: Kind) -> list[Method]:
    """Return the methods of these names, in their order; their packages have to be installed."""
    if not names:
        raise ValueError(f"methods must name at least one of {', '.join(METHODS)}")
    for name in names:
        if name not in METHODS:
            raise ValueError(f"methods: unknown method {name!r}; the methods are {', '.join(METHODS)}")
        method = METHODS[name]
        if kind not in method.kinds:
            raise ValueError(f"methods: {name} estimates {', '.join(method.kinds)}, not {kind}")
        if names.count(name) > 1:
            raise ValueError(f"methods: {name} is given twice")
        if importlib.util.find_spec(method.package) is None:
            raise ModuleNotFoundError(f"method {name} needs the package {method.package}", name=method.package)
    return [METHODS[name] for name in names]
