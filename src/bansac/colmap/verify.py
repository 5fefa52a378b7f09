"""Geometric verification of a database of COLMAP: what is missing, in batches, one transaction each.

The matches are read and the geometries written in the caller's thread; in between :func:`verify_pairs` works in
threads, or wherever an executor runs it. A run that is ended at any point leaves a valid file, and the next one does
what is missing.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

from bansac.colmap.database import MatchDatabase
from bansac.colmap.options import VerificationOptions
from bansac.colmap.pairs import PairFailure, PairGeometry, PairMatches, verify_pairs
from bansac.executors import Executor, Failure
from bansac.executors.threads import EXECUTOR, as_count, count_workers

__all__ = ["VerificationSummary", "verify_batch", "verify_database"]

Batch = list[PairMatches | PairFailure]
Progress = Callable[[int, int], object]


@dataclass
class VerificationSummary:
    """What a run has done.

    Parameters
    ----------
    pairs : int
        Pairs with matches in the database.
    new : int
        Pairs that had no geometry before and have one now.
    inlier_matches : int
        Inlier matches of these.
    configurations : dict
        Number of these by configuration.
    failures : dict
        For each reason the names of the pairs that have no geometry because of it.
    seconds : float
        Time on the clock.
    """

    pairs: int = 0
    new: int = 0
    inlier_matches: int = 0
    configurations: dict[str, int] = field(default_factory=dict)
    failures: dict[str, list[str]] = field(default_factory=dict)
    seconds: float = 0.0


def verify_database(
    path: str | os.PathLike[str],
    *,
    options: VerificationOptions | None = None,
    workers: int | None = None,
    executor: Executor = EXECUTOR,
    overwrite: bool = False,
    batch_size: int = 16,
    progress: Progress | None = None,
) -> VerificationSummary:
    """Verify the matches of a COLMAP database, and write their two-view geometries into it.

    For each pair of images F and H are estimated, and E if both cameras have a prior focal length; of these the
    configuration and the inlier matches follow by COLMAP's rules. COLMAP's mappers go on from the database. E, F and H
    are written where they have more support than chance gives, and the motion where focal lengths are known. The
    database has no scores of matches, so that none are used.

    Parameters
    ----------
    path : str or path
        The database. Nothing else may write to it meanwhile.
    options : VerificationOptions, optional
        The settings.
    workers : int, optional
        Number of threads; by default one for each core that this process may use. The geometries do not depend on it.
    executor : Executor, optional
        Where batches are worked on, by default in threads; on a cluster, `ClusterExecutor` with ``chunk_seconds=0``.
    overwrite : bool
        Delete all geometries first. Without it pairs that have one are left as they are.
    batch_size : int
        Pairs in a batch, which one thread works on and one transaction writes.
    progress : callable, optional
        ``progress(done, total)`` is called in the caller's thread after every batch and once at the start; ``total``
        are all pairs, ``done`` those with a geometry or a failure.

    Returns
    -------
    VerificationSummary
        What was done.

    Raises
    ------
    OSError
        If the file is not there, is no database of COLMAP, is locked or cannot be written.
    ValueError
        If ``workers`` or ``batch_size`` is not allowed.
    ImportError
        If pycolmap is not installed.

    Examples
    --------
    >>> import pathlib, tempfile, pycolmap
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "database.db")
    ...     with pycolmap.Database.open(path) as database:
    ...         _ = pycolmap.synthesize_dataset(pycolmap.SyntheticDatasetOptions(num_rigs=1), database)
    ...         database.clear_two_view_geometries()
    ...     summary = verify_database(path, workers=1)
    >>> summary.pairs, summary.new, summary.configurations
    (10, 10, {'uncalibrated': 10})
    """
    settings = VerificationOptions() if options is None else options
    threads = count_workers(workers)
    size = as_count("batch_size", batch_size)
    started = time.perf_counter()
    with MatchDatabase(path) as database:
        if overwrite:
            database.clear_geometries()
        numbers = database.matched_pairs()
        missing = [number for number in numbers if not database.is_verified(number)]
        summary = VerificationSummary(pairs=len(numbers))
        done = len(numbers) - len(missing)
        if progress is not None:
            progress(done, len(numbers))
        batches = _read_batches(database, missing, size)
        answers = executor.run(partial(verify_batch, options=settings), batches, threads)
        with closing(answers):
            for batch, found in answers:
                if isinstance(found, Failure):
                    found = [PairFailure(pair.image_id1, pair.image_id2, found.reason) for pair in batch]
                database.write(item for item in found if isinstance(item, PairGeometry))
                _count(summary, found, database)
                done += len(found)
                if progress is not None:
                    progress(done, len(numbers))
    summary.seconds = time.perf_counter() - started
    return summary


def _read_batches(database: MatchDatabase, numbers: Sequence[int], size: int) -> Iterator[Batch]:
    for start in range(0, len(numbers), size):
        yield [database.read(number) for number in numbers[start : start + size]]


def verify_batch(batch: Batch, options: VerificationOptions) -> list[PairGeometry | PairFailure]:
    """Return the geometries of the pairs that could be read, and the failures of the others; it can be pickled."""
    readable = [pair for pair in batch if isinstance(pair, PairMatches)]
    unreadable = [pair for pair in batch if isinstance(pair, PairFailure)]
    return [*verify_pairs(readable, options), *unreadable]


def _count(summary: VerificationSummary, found: Sequence[PairGeometry | PairFailure], database: MatchDatabase) -> None:
    for item in found:
        if isinstance(item, PairFailure):
            names = summary.failures.setdefault(item.reason, [])
            names.append(database.pair_name(item.image_id1, item.image_id2))
        else:
            summary.new += 1
            summary.inlier_matches += len(item.inlier_matches)
            counts = summary.configurations
            counts[item.configuration] = counts.get(item.configuration, 0) + 1
