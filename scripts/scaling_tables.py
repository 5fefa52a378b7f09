"""Tables of ``docs/many-pairs.md`` from the report of ``benchmarks/cluster.py``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from bansac.lab.reports import bench, lines, number

PAIRS = 10_000_000
CORES = 100
MODEL = "F"
FEATURES = "4000"


def _report() -> dict[str, Any]:
    return bench("cluster")


def _pair_seconds(images: bool) -> float:
    """Return what a pair costs a worker: from features on disk, or from its matches."""
    document = _report()
    matching = document["matching_seconds"][FEATURES] if images else 0.0
    return float(matching + document["estimation_seconds"][MODEL])


def _caller_seconds(images: bool) -> float:
    """Return what a pair costs the caller and the scheduler: its part of a task, its answer, its journal's entry."""
    document = _report()
    cluster, per_chunk = document["cluster"], document["chunk_seconds"] / _pair_seconds(images)
    answer = cluster["seconds_per_pair"] + document["files"]["journal"]["seconds"]
    return float(cluster["seconds_per_task"] / per_chunk + answer)


def costs() -> str:
    """Return what was measured."""
    document = _report()
    images, files, cluster = document["images"], document["files"], document["cluster"]
    rows = [["detecting features, a megapixel", f"{1e3 * images['seconds_per_megapixel']:.0f} ms"]]
    rows += [
        [f"matching two images of {count} features", f"{1e3 * seconds:.0f} ms"]
        for count, seconds in document["matching_seconds"].items()
    ]
    most = max(document["matching_seconds"], key=int)
    rows.append([f"memory of the matching of {most} features", f"{document['matching_memory'] / 1e6:.0f} MB"])
    rows += [
        [f"estimating {model}, {document['matches']:.0f} matches in the mean", f"{1e3 * seconds:.1f} ms"]
        for model, seconds in document["estimation_seconds"].items()
    ]
    rows += [
        ["an entry of the journal", _cost(files["journal"])],
        *([f"a pair in a {suffix} file, written from the journal", _cost(files[suffix])] for suffix in _suffixes()),
        ["an empty task: caller and scheduler", f"{1e3 * cluster['seconds_per_task']:.1f} ms"],
        ["a pair in chunks: caller and scheduler", f"{1e3 * cluster['seconds_per_pair']:.2f} ms"],
        ["a pair sent to a worker, and its result", f"{_kilobytes(cluster['bytes_per_source'])}, "
         f"{_kilobytes(cluster['bytes_per_row'])}"],
        ["memory of the caller for each file of matches", _kilobytes(cluster["memory_per_source"])],
        ["a feature on disk", f"{images['bytes_per_feature']:.0f} bytes"],
    ]  # fmt: skip
    return lines(["what", "one thread"], rows)


def plan() -> str:
    """Return the plan of ten million pairs."""
    document = _report()
    files, chunk = document["files"], document["chunk_seconds"]
    both = (True, False)
    per_chunk = [chunk / _pair_seconds(images) for images in both]
    rates = [CORES / _pair_seconds(images) for images in both]
    n = (1 + math.sqrt(1 + 8 * PAIRS)) / 2
    feature_file = int(FEATURES) * document["images"]["bytes_per_feature"]
    rows = [
        ["a pair", *(f"{1e3 * _pair_seconds(images):.0f} ms" for images in both)],
        [f"hours on {CORES} cores", *(number(PAIRS / rate / 3600) for rate in rates)],
        ["hours of the one caller and scheduler", *(number(PAIRS * _caller_seconds(i) / 3600) for i in both)],
        ["pairs in a chunk", *(f"{items:.0f}" for items in per_chunk)],
        ["chunks", *(f"{PAIRS / items:,.0f}" for items in per_chunk)],
        ["tasks a second", *(number(CORES / chunk) for _ in both)],
        ["pairs a second", *(number(rate) for rate in rates)],
        ["results a second", *(f"{rate * document['cluster']['bytes_per_row'] / 1e6:.1f} MB" for rate in rates)],
        ["read from disk a second", f"{rates[0] * feature_file / 1e6:.0f} MB", "the files of matches"],
        [f"images, and their features on disk ({FEATURES} each)", f"{n:.0f}, {n * feature_file / 1e9:.1f} GB", "-"],
        ["journal", *(f"{PAIRS * files['journal']['bytes'] / 1e9:.0f} GB" for _ in both)],
        ["results in Parquet", *(f"{PAIRS * files['.parquet']['bytes'] / 1e9:.0f} GB" for _ in both)],
        ["writing them at the end, minutes", *(number(PAIRS * files[".parquet"]["seconds"] / 60) for _ in both)],
    ]
    return lines([f"{PAIRS:,} pairs, {MODEL}", "from images", "from matches"], rows)


def limits() -> str:
    """Return where each part is at its end."""
    document = _report()
    files, cluster = document["files"], document["cluster"]
    tasks = document["chunk_seconds"] / cluster["seconds_per_task"]
    sizes = files[".npz"]["memory"], cluster["memory_per_source"]
    npz, listed = (f"{16e9 / size / 1e6:.0f} million pairs" for size in sizes)
    rows = [
        [
            "caller and scheduler busy with pairs, in one process",
            *(f"{_pair_seconds(images) / _caller_seconds(images):.0f} cores" for images in (True, False)),
        ],
        ["scheduler busy with tasks", *(f"{tasks:.0f} cores" for _ in range(2))],
        ["16 GB of memory, writing a .npz file", npz, npz],
        ["16 GB of memory, the list of the files of matches", "-", listed],
        ["journal on a disk of 1 TB", *(f"{1e12 / files['journal']['bytes'] / 1e6:.0f} million pairs" for _ in "ab")],
    ]
    return lines(["what is full or busy", "from images", "from matches"], rows)


def _suffixes() -> list[str]:
    return [suffix for suffix in _report()["files"] if suffix != "journal"]


def _cost(figures: dict[str, float]) -> str:
    return f"{1e3 * figures['seconds']:.2f} ms, {_kilobytes(figures['bytes'])}"


def _kilobytes(size: float) -> str:
    return f"{size / 1e3:.1f} kB"


TABLES: dict[str, Callable[[], str]] = {"scaling-costs": costs, "scaling-plan": plan, "scaling-limits": limits}
