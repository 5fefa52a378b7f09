"""Measure the cost of many pairs, and the additional cost of a cluster: the figures of docs/many-pairs.md.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python benchmarks/cluster.py --data FOLDER --json FILE

``FOLDER/EF`` contains sets of pairs. Matches with an SNN ratio below 0.85 are used. Without ``--data``, the pairs are
synthetic. All times are processor times in seconds. Times without a cluster are those of one thread. Times with a
cluster are those of the process that contains the caller and the scheduler. Its time for a pair bounds the number of
cores that one caller can keep busy. The cluster has two worker processes on this machine.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import pickle
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bansac.batch.job import Job
from bansac.batch.journal import Journal
from bansac.batch.records import Records
from bansac.batch.result_files import WRITERS
from bansac.batch.sources import ImagePair, Pair, Source, find_sources
from bansac.executors import ItemFailure
from bansac.executors.cluster import CHUNK_SECONDS, ClusterExecutor
from bansac.lab.measurement import Row
from bansac.lab.provenance import circumstances
from bansac.lab.sets import find_sets
from bansac.matches import Matches, load_demo
from bansac.matches.image_matching import Features, detect_features, match_features
from bansac.synthetic import epipolar_matches

MODELS = ("F", "E", "H")
FEATURES = (1000, 2000, 4000, 8000)
RATIO = 0.85
EXCLUDED = ("middlebury_dino",)
SYNTHETIC = 50

# Items and bytes of the trials of the cluster.
TASKS = 3000
BYTES = 250_000
TRANSFERS = 400
ANSWERS = 20_000


def load_pairs(data: Path | None, count: int) -> list[Matches]:
    """Return pairs, evenly spaced over the sets, or synthetic ones."""
    if data is None:
        return [epipolar_matches(800, inlier_ratio=0.5, noise=0.5, seed=seed) for seed in range(SYNTHETIC)][:count]
    sets = [pair_set for pair_set in find_sets(data / "EF") if pair_set.name not in EXCLUDED]
    keys = [(pair_set, key) for pair_set in sets for key in pair_set.keys]
    chosen = keys[:: max(1, len(keys) // count)][:count]
    return [pair_set.pair(key).filtered(RATIO) for pair_set, key in chosen]


def as_source(number: int, matches: Matches) -> Source:
    """Return a pair as in a folder of images: with indices of features, and the names of their files."""
    rng = np.random.default_rng(number)
    indices = np.column_stack([rng.permutation(FEATURES[-1])[: len(matches)] for _ in range(2)])
    indices = indices[np.argsort(indices[:, 0])]
    names = [f"{number:026}{k}.npz" for k in (1, 2)]
    images = ImagePair(f"images/{number:06}.jpg", f"images/{number + 1:06}.jpg", *names)
    return Source(
        f"{images.image1} {images.image2}", " ".join(names), functools.partial(Pair, matches, indices), images
    )


def timed(call: Callable[[], Any]) -> float:
    """Return the processor time of a call, in seconds."""
    started = time.process_time()
    call()
    return time.process_time() - started


def measure_images() -> dict[str, float]:
    """Return the time of feature detection per megapixel, and the bytes of a feature on disk."""
    image = load_demo().image1
    found = detect_features(image)
    seconds = min(timed(lambda: detect_features(image)) for _ in range(3))
    size = found.points.nbytes + found.descriptors.nbytes
    return {"seconds_per_megapixel": 1e6 * seconds / np.prod(found.size), "bytes_per_feature": size / len(found)}


def measure_matching() -> tuple[dict[str, float], int]:
    """Return the seconds to match two images by their number of features, and the memory of the largest."""
    rng = np.random.default_rng(0)

    def features(count: int) -> Features:
        descriptors = np.sqrt(rng.dirichlet(np.ones(128), count)).astype(np.float32)
        return Features(rng.uniform(0, 1000, (count, 2)), descriptors, (1000, 1000))

    seconds = {}
    for count in FEATURES:
        one, other = features(count), features(count)
        match = functools.partial(match_features, one, other, ratio=RATIO)
        seconds[str(count)] = min(timed(match) for _ in range(3))
    return seconds, peak_memory(match)


def measure_estimation(sources: Sequence[Source]) -> tuple[dict[str, float], list[Row]]:
    """Return the mean seconds of a pair by model, and the rows of the first model."""
    seconds, kept = {}, []
    for model in MODELS:
        job = make_job(model)
        for source in sources[:3]:
            job.estimate(source)
        started = time.process_time()
        rows = [job.estimate(source) for source in sources]
        seconds[model] = (time.process_time() - started) / len(sources)
        kept = kept or rows
    return seconds, kept


def make_job(model: Any) -> Job:
    """Return the settings of a run."""
    return Job(model=model, cameras=None, scores=True, seed=0, settings={"sampler": "bansac"})


def measure_files(matches: Sequence[Matches], rows: Sequence[Row], count: int) -> dict[str, Any]:
    """Return bytes and seconds a pair of the journal and of the files of results, with ``count`` pairs.

    ``memory`` is the additional peak memory of the writer in bytes for each further pair.
    """
    sources = [as_source(k, m) for k, m in zip(range(count), itertools.cycle(matches), strict=False)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "results.sqlite")
        with Journal(path, "") as journal:

            def add() -> None:
                for source, row in zip(sources, itertools.cycle(rows), strict=False):
                    journal.add(source.unit, [row], alone=True)

            files: dict[str, Any] = {"journal": {"seconds": timed(add) / count, "bytes": 0.0}}
            for suffix, write in WRITERS.items():
                out = Path(folder, f"results{suffix}")
                few, many = (Records(some, journal, {}) for some in (sources[: count // 2], sources))
                less, more = (peak_memory(functools.partial(write, out, records)) for records in (few, many))
                files[suffix] = {
                    "seconds": timed(functools.partial(write, out, many)) / count,
                    "bytes": out.stat().st_size / count,
                    "memory": max(0, more - less) / (count - count // 2),
                }
        files["journal"]["bytes"] = path.stat().st_size / count
    return files


def peak_memory(call: Callable[[], Any]) -> int:
    """Return the peak memory of a call in bytes."""
    tracemalloc.start()
    call()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def measure_cluster(matches: Sequence[Matches], rows: Sequence[Row]) -> dict[str, float]:
    """Return the time of caller and scheduler for an empty task, a byte of a value, and a pair in large chunks.

    The workers return the row of a pair at once, so that the caller never waits for an estimation.
    """
    import distributed

    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with tempfile.TemporaryDirectory() as folder, distributed.LocalCluster(**settings) as cluster:
        for number, pair in enumerate(matches):
            np.savez(Path(folder, f"{number}.npz"), x1=pair.x1, x2=pair.x2)
        find = functools.partial(find_sources, Path(folder), Path(folder, "results.parquet"))
        sources, memory = find(), peak_memory(find)
        single = ClusterExecutor(cluster.scheduler_address, chunk_seconds=0.0)
        chunked = ClusterExecutor(cluster.scheduler_address)
        drain(single.run(abs, range(100), 1))
        empty = timed(lambda: drain(single.run(abs, range(TASKS), 1))) / TASKS
        transfer = timed(lambda: drain(single.run(os.urandom, [BYTES] * TRANSFERS, 1))) / TRANSFERS
        many = itertools.islice(itertools.cycle(sources), ANSWERS)
        pairs = timed(lambda: drain(chunked.run(functools.partial(answer, rows[0]), many, 1))) / ANSWERS
    return {
        "seconds_per_task": empty,
        "seconds_per_byte": max(0.0, transfer - empty) / BYTES,
        "seconds_per_pair": pairs,
        "memory_per_source": memory / len(sources),
        "bytes_per_source": float(np.mean([len(pickle.dumps(source)) for source in sources])),
        "bytes_per_row": float(np.mean([len(pickle.dumps(row)) for row in rows])),
    }


def answer(row: Row, source: Source) -> Row:
    """Return a row that exists already."""
    return row


def drain(answers: Iterator[tuple[Any, Any]]) -> None:
    """Consume all answers; a failure is an error."""
    for item, answer in answers:
        if isinstance(answer, ItemFailure):
            raise RuntimeError(f"{item}: {answer.reason}")


def main() -> None:
    """Measure, print, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--pairs", type=int, default=100, help="pairs that are estimated")
    parser.add_argument("--rows", type=int, default=2000, help="pairs of the files of results")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if not os.environ.get("OMP_NUM_THREADS") == os.environ.get("OPENBLAS_NUM_THREADS") == "1":
        parser.error("the costs are those of one thread: set OMP_NUM_THREADS and OPENBLAS_NUM_THREADS to 1")
    import cv2

    cv2.setNumThreads(1)
    matches = load_pairs(arguments.data, arguments.pairs)
    sources = [as_source(k, m) for k, m in enumerate(matches)]
    matching, memory = measure_matching()
    estimation, rows = measure_estimation(sources)
    report = {
        **circumstances(("cv2", "distributed", "pyarrow", "h5py")),
        "data": "synthetic" if arguments.data is None else "EF",
        "pairs": len(matches),
        "matches": float(np.mean([len(m) for m in matches])),
        "images": measure_images(),
        "matching_seconds": matching,
        "matching_memory": memory,
        "estimation_seconds": estimation,
        "files": measure_files(matches, rows, arguments.rows),
        "chunk_seconds": CHUNK_SECONDS,
        "cluster": measure_cluster(matches, rows),
    }
    text = json.dumps(report, indent=2) + "\n"
    print(text, end="")
    if arguments.json:
        arguments.json.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
