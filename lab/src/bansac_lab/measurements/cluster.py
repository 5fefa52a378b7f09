"""Cost of many pairs, and the additional cost of a cluster: the figures of the page on many pairs.

Matches with an SNN ratio below 0.85 are used. Without ``--data``, the pairs are synthetic. All times are processor
times in seconds. Times without a cluster are those of one thread. Times with a cluster are those of the process that
contains the caller and the scheduler. Its time for a pair bounds the number of cores that one caller can keep busy. The
cluster has two worker processes on this machine. OMP_NUM_THREADS and OPENBLAS_NUM_THREADS must be 1.
"""

import dataclasses
import functools
import itertools
import math
import os
import pickle
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bansac.batch.job import Job
from bansac.batch.journal import Journal, Row, Unit
from bansac.batch.records import read_records
from bansac.batch.result_files import WRITERS
from bansac.batch.sources import ImagePair, Pair, Source, find_sources
from bansac.executors import ItemFailure
from bansac.executors.cluster import CHUNK_SECONDS, ClusterExecutor
from bansac.matches import Matches, load_demo
from bansac.matches.image_matching import Features, detect_features, match_features
from bansac.problems.estimators import Kind
from bansac.synthetic import epipolar_matches
from bansac_lab.measurement import DATA, Document, Option, Report, Setup, of_module
from bansac_lab.measurements.many import scenes
from bansac_lab.reports import number
from bansac_lab.tables import Table, plain_table

MODEL: Kind = "F"
FEATURES = 4000  # of an image
RATIO = 0.85
SYNTHETIC = 50

# Items of the trials of the cluster.
TASKS = 3000
ANSWERS = 20_000


def load_pairs(data: Path | None, count: int) -> Sequence[Matches]:
    """Return pairs, evenly spaced over the sets, or synthetic ones."""
    if data is None:
        return [epipolar_matches(800, inlier_ratio=0.5, noise=0.5, seed=seed) for seed in range(min(count, SYNTHETIC))]
    keys = [(pair_set, key) for pair_set in scenes(data) for key in pair_set.keys]
    chosen = keys[:: max(1, len(keys) // count)][:count]
    return [pair_set.pair(key).filtered(RATIO) for pair_set, key in chosen]


def as_source(number: int, matches: Matches) -> Source:
    """Return a pair as in a folder of images: with indices of features, and the names of their files."""
    rng = np.random.default_rng(number)
    indices = np.column_stack([rng.permutation(2 * FEATURES)[: len(matches)] for _ in range(2)])
    indices = indices[np.argsort(indices[:, 0])]
    names = [f"{number:026}{k}.npz" for k in (1, 2)]
    images = ImagePair(f"images/{number:06}.jpg", f"images/{number + 1:06}.jpg", *names)
    read = functools.partial(Pair, matches, indices)
    return Source(f"{images.image1} {images.image2}", " ".join(names), read, images)


def timed(call: Callable[[], Any]) -> float:
    """Return the processor time of a call, in seconds."""
    started = time.process_time()
    call()
    return time.process_time() - started


def bytes_of_feature() -> float:
    """Return the bytes of a feature on disk."""
    image = load_demo().image1
    assert image is not None
    found = detect_features(image)
    return (found.points.nbytes + found.descriptors.nbytes) / len(found.points)


def measure_matching() -> float:
    """Return the seconds to match two images."""
    rng = np.random.default_rng(0)

    def features() -> Features:
        descriptors = np.sqrt(rng.dirichlet(np.ones(128), FEATURES)).astype(np.float32)
        return Features(rng.uniform(0, 1000, (FEATURES, 2)), descriptors, (1000, 1000))

    match = functools.partial(match_features, features(), features(), ratio=RATIO)
    return min(timed(match) for _ in range(3))


def measure_estimation(sources: Sequence[Source]) -> tuple[float, list[Row]]:
    """Return the mean seconds of a pair, and the rows."""
    job = Job(model=MODEL, cameras=None, ignored=(), settings={"sampler": "bansac"})
    for source in sources[:3]:
        job.estimate(source)
    started = time.process_time()
    rows = [job.estimate(source) for source in sources]
    return (time.process_time() - started) / len(sources), rows


def measure_files(matches: Sequence[Matches], rows: Sequence[Row], count: int) -> dict[str, Any]:
    """Return bytes and seconds a pair of the journal and of a Parquet file of results, with ``count`` pairs."""
    sources = [as_source(k, m) for k, m in zip(range(count), itertools.cycle(matches), strict=False)]
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder, "results.sqlite"), Path(folder, "results.parquet")
        with Journal(path, "") as journal:

            def add() -> None:
                for source, row in zip(sources, itertools.cycle(rows), strict=False):
                    journal.add(source.unit, [row])

            adding = timed(add)
            writing = timed(lambda: WRITERS[".parquet"](out, read_records(sources, journal, {})))
        seconds = {"journal": (adding, path), ".parquet": (writing, out)}
        return {name: {"seconds": of / count, "bytes": at.stat().st_size / count} for name, (of, at) in seconds.items()}


def measure_cluster(matches: Sequence[Matches], rows: Sequence[Row]) -> dict[str, float]:
    """Return the time of caller and scheduler for an empty task, and for a pair in large chunks.

    The workers return the row of a pair at once, so that the caller never waits for an estimation.
    """
    import distributed

    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with tempfile.TemporaryDirectory() as folder, distributed.LocalCluster(**settings) as cluster:
        for number, pair in enumerate(matches):
            np.savez(Path(folder, f"{number}.npz"), x1=pair.x1, x2=pair.x2)
        sources = find_sources(Path(folder), Path(folder, "results.parquet"))
        single = ClusterExecutor(cluster.scheduler_address, chunk_seconds=0.0)
        chunked = ClusterExecutor(cluster.scheduler_address)
        drain(single.run(abs, range(100), 1))
        empty = timed(lambda: drain(single.run(abs, range(TASKS), 1))) / TASKS
        many = itertools.islice(itertools.cycle(sources), ANSWERS)
        pairs = timed(lambda: drain(chunked.run(functools.partial(answer, rows[0]), many, 1))) / ANSWERS
    size = float(np.mean([len(pickle.dumps(row)) for row in rows]))
    return {"seconds_per_task": empty, "seconds_per_pair": pairs, "bytes_per_row": size}


def answer(row: Row, source: Source) -> Row:
    """Return a row that exists already."""
    return row


def drain(answers: Iterator[tuple[Any, Any]]) -> None:
    """Consume all answers; a failure is an error."""
    for item, answer in answers:
        if isinstance(answer, ItemFailure):
            raise RuntimeError(f"{item}: {answer.reason}")


def units(setup: Setup) -> list[Unit]:
    """Return the only unit, because its parts need the pairs and their results."""
    if not os.environ.get("OMP_NUM_THREADS") == os.environ.get("OPENBLAS_NUM_THREADS") == "1":
        raise ValueError("the costs are those of one thread: set OMP_NUM_THREADS and OPENBLAS_NUM_THREADS to 1")
    return [Unit("costs")]


def run_unit(setup: Setup, unit: Unit) -> list[Row]:
    """Measure all parts; the row is the report."""
    import cv2

    cv2.setNumThreads(1)
    matches = load_pairs(setup.data, setup.count)
    sources = [as_source(k, m) for k, m in enumerate(matches)]
    seconds, rows = measure_estimation(sources)
    figures = {
        "data": "synthetic" if setup.data is None else "EF",
        "pairs": len(matches),
        "matches": float(np.mean([len(m) for m in matches])),
        "images": {"bytes_per_feature": bytes_of_feature()},
        "matching_seconds": {str(FEATURES): measure_matching()},
        "estimation_seconds": {MODEL: seconds},
        "files": measure_files(matches, rows, setup.rows),
        "chunk_seconds": CHUNK_SECONDS,
        "cluster": measure_cluster(matches, rows),
    }
    return [figures]


PAIRS = 10_000_000
CORES = 100


def _pair_seconds(document: Document) -> tuple[float, float]:
    """Return what a pair costs a worker: from features on disk, and from its matches."""
    estimation = document["estimation_seconds"][MODEL]
    return document["matching_seconds"][str(FEATURES)] + estimation, estimation


def _caller_seconds(document: Document) -> list[float]:
    """Return what a pair costs the caller and the scheduler: its part of a task, its answer, its journal's entry."""
    cluster, chunk = document["cluster"], document["chunk_seconds"]
    answer = cluster["seconds_per_pair"] + document["files"]["journal"]["seconds"]
    return [cluster["seconds_per_task"] / (chunk / seconds) + answer for seconds in _pair_seconds(document)]


def plan(document: Document) -> Table:
    """Return the plan of ten million pairs."""
    files, chunk, of_pair = document["files"], document["chunk_seconds"], _pair_seconds(document)
    rates = [CORES / seconds for seconds in of_pair]
    n = (1 + math.sqrt(1 + 8 * PAIRS)) / 2
    feature_file = FEATURES * document["images"]["bytes_per_feature"]
    rows = [
        ["a pair", *(f"{1e3 * seconds:.0f} ms" for seconds in of_pair)],
        [f"hours on {CORES} cores", *(number(PAIRS / rate / 3600) for rate in rates)],
        ["hours of the one caller and scheduler", *(number(PAIRS * s / 3600) for s in _caller_seconds(document))],
        ["pairs in a chunk", *(f"{chunk / seconds:.0f}" for seconds in of_pair)],
        ["chunks", *(f"{PAIRS / (chunk / seconds):,.0f}" for seconds in of_pair)],
        ["tasks a second", *2 * [number(CORES / chunk)]],
        ["pairs a second", *map(number, rates)],
        ["results a second", *(f"{rate * document['cluster']['bytes_per_row'] / 1e6:.1f} MB" for rate in rates)],
        ["read from disk a second", f"{rates[0] * feature_file / 1e6:.0f} MB", "the files of matches"],
        [f"images, and their features on disk ({FEATURES} each)", f"{n:.0f}, {n * feature_file / 1e9:.1f} GB", "-"],
        ["journal", *2 * [f"{PAIRS * files['journal']['bytes'] / 1e9:.0f} GB"]],
        ["results in Parquet", *2 * [f"{PAIRS * files['.parquet']['bytes'] / 1e9:.0f} GB"]],
        ["writing them at the end, minutes", *2 * [number(PAIRS * files[".parquet"]["seconds"] / 60)]],
    ]
    return plain_table([f"{PAIRS:,} pairs, {MODEL}", "from images", "from matches"], rows)


MEASUREMENT = of_module(
    __name__,
    title="Cost of many pairs, on one thread and on a cluster",
    options=(
        dataclasses.replace(DATA, help="A folder with the tutorial's sets in EF. Default: synthetic pairs."),
        Option("count", int, 100, "Pairs that are estimated.", least=1, flag="--pairs"),
        Option("rows", int, 2000, "Pairs of the files of results.", least=2),
    ),
    report=lambda setup, rows: Report(records=next(iter(rows))),
    tables={"scaling-plan": plan},
    packages=("cv2", "distributed", "pyarrow", "h5py"),
    complete=True,
    sets=lambda setup: scenes(setup.data),
)
