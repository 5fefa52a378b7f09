"""Means of a run: accuracy and time of every method, set by set and over the sets."""

from __future__ import annotations

import dataclasses
import datetime
import os
import platform
from collections.abc import Sequence
from importlib import metadata
from typing import Any

import numpy as np

import bansac
from bansac.evaluation.bench import Protocol, Record
from bansac.evaluation.methods import Method
from bansac.metrics import auc, mean_average_accuracy

__all__ = ["build_report", "installed_versions", "machine", "summarise"]

# Names by which pip knows the modules of the methods.
_DISTRIBUTIONS = {
    "cv2": ("opencv-python-headless", "opencv-python", "opencv-contrib-python", "opencv-contrib-python-headless"),
    "poselib": ("poselib",),
    "pydegensac": ("pydegensac",),
}


def installed_versions(methods: Sequence[Method]) -> dict[str, str]:
    """Return the versions of what the methods run on.

    Parameters
    ----------
    methods : sequence of Method
        The methods.

    Returns
    -------
    dict
        Version by package.
    """
    versions = {
        "python": platform.python_version(),
        "bansac": bansac.__version__,
        "numpy": metadata.version("numpy"),
        "numba": metadata.version("numba"),
    }
    for package in sorted({method.package for method in methods} & _DISTRIBUTIONS.keys()):
        for distribution in _DISTRIBUTIONS[package]:
            try:
                versions[package] = metadata.version(distribution)
            except metadata.PackageNotFoundError:
                continue
            break
    return versions


def summarise(records: Sequence[Record]) -> dict[str, float]:
    """Return the means over the calls of one method on one set.

    Parameters
    ----------
    records : sequence of Record
        The calls, at least one.

    Returns
    -------
    dict
        For poses ``mAA_R@5``, ``mAA_R@10``, ``mAA_t@5``, ``mAA_t@10``, ``AUC@5``, ``AUC@10``, ``AUC@20`` (degrees); for
        homographies ``mAA@5``, ``mAA@10`` (pixels). And ``ms_mean`` and ``ms_median``.
    """
    milliseconds = 1e3 * np.array([record.seconds for record in records])
    times = {"ms_mean": float(np.mean(milliseconds)), "ms_median": float(np.median(milliseconds))}
    errors = np.array([record.errors for record in records])
    if errors.shape[1] == 1:
        return {f"mAA@{t}": mean_average_accuracy(errors[:, 0], t) for t in (5, 10)} | times
    figures = {
        f"mAA_{name}@{t}": mean_average_accuracy(errors[:, column], t)
        for column, name in enumerate(("R", "t"))
        for t in (5, 10)
    }
    figures |= {f"AUC@{t}": auc(errors.max(axis=1), t) for t in (5, 10, 20)}
    return figures | times


def build_report(
    records: Sequence[Record], methods: Sequence[Method], protocol: Protocol, *, seconds: float
) -> dict[str, Any]:
    """Return all of a run's figures, and what they were measured with.

    Parameters
    ----------
    records : sequence of Record
        What :func:`bansac.evaluation.bench.run` returned.
    methods : sequence of Method
        The methods.
    protocol : Protocol
        The settings.
    seconds : float
        Duration of the whole run.

    Returns
    -------
    dict
        ``date``, ``versions``, ``machine``, ``protocol``, ``seconds``, ``sets`` (``pairs`` and ``methods``, set by set)
        and ``mean`` (over the sets, method by method). All but the times can be reproduced.
    """
    sets: dict[str, Any] = {}
    for name in dict.fromkeys(record.set for record in records):
        of_set = [record for record in records if record.set == name]
        sets[name] = {
            "pairs": len({record.pair for record in of_set}),
            "methods": {
                method.name: summarise([record for record in of_set if record.method == method.name])
                for method in methods
            },
        }
    mean = {method.name: _mean([entry["methods"][method.name] for entry in sets.values()]) for method in methods}
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "versions": installed_versions(methods),
        "machine": machine(),
        "protocol": dataclasses.asdict(protocol),
        "seconds": seconds,
        "sets": sets,
        "mean": mean,
    }


def _mean(figures: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([entry[name] for entry in figures])) for name in figures[0]}


def machine() -> dict[str, Any]:
    """Return what the machine is.

    Returns
    -------
    dict
        ``platform``, ``processor`` and ``cores``.
    """
    return {"platform": platform.platform(), "processor": _processor(), "cores": os.cpu_count()}


def _processor() -> str:
    """Return the model of the processor, which platform.processor() does not know on Linux."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()
