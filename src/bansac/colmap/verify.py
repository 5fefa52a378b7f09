"""Geometric verification of the missing pairs of a COLMAP database, in batches of one transaction each.

The caller's thread reads the matches and writes the geometries. :func:`verify_pairs` runs in threads or in another
executor. A run that is interrupted at any point leaves a valid file, and the next run verifies the missing pairs.
"""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

from bansac.colmap.database import MatchDatabase, only_run
from bansac.colmap.options import VerificationOptions
from bansac.colmap.pairs import PairFailure, PairGeometry, verify_pairs
from bansac.executors import Executor, ItemFailure, threads
from bansac.maths.validate import as_integer


@dataclass
class VerificationSummary:
    """Summary of a run.

    Parameters
    ----------
    pairs : int
        Number of pairs with matches in the database.
    new : int
        Number of pairs that had no geometry before and have one now.
    inlier_matches : int
        Number of inlier matches of the new pairs.
    configurations : dict
        Number of new pairs by configuration.
    ambiguous : list of str
        Names of the new pairs whose matches support a second model.
    model_confidence : dict
        Probability that the model is right (``Result.model_confidence``), by the name of the new pair.
    failures : dict
        Names of the pairs without geometry, by reason.
    seconds : float
        Wall-clock time.
    """

    pairs: int = 0
    new: int = 0
    inlier_matches: int = 0
    configurations: dict[str, int] = field(default_factory=dict)
    ambiguous: list[str] = field(default_factory=list)
    model_confidence: dict[str, float] = field(default_factory=dict)
    failures: dict[str, list[str]] = field(default_factory=dict)
    seconds: float = 0.0


def verify_database(
    path: str | os.PathLike[str],
    *,
    options: VerificationOptions | None = None,
    workers: int | None = None,
    executor: Executor = threads,
    overwrite: bool = False,
    batch_size: int = 16,
    progress: Callable[[int, int], object] | None = None,
) -> VerificationSummary:
    """Verify the matches of a COLMAP database and write the two-view geometries to it.

    F and H are estimated for each pair of images, and E if both cameras have a prior focal length. COLMAP's rules then
    determine the configuration and the inlier matches. E, F and H are written if they are significant, and the motion
    is written if focal lengths are known. COLMAP's mappers continue from the database. The database has no match
    scores, so none are used.

    Parameters
    ----------
    path : str or path
        Path of the database. Nothing else may write to it during the run.
    options : VerificationOptions, optional
        The settings.
    workers : int, optional
        Number of workers; by default one for each core that this process may use. The geometries do not depend on it.
    executor : Executor, optional
        Executor of the batches, by default threads. Some thousand pairs need less time in processes, with the module
        `bansac.executors.short_items`, as in the command. On a cluster, use `ClusterExecutor` with ``chunk_seconds=0``.
    overwrite : bool
        Whether to delete all geometries first. Otherwise pairs that have a geometry are skipped.
    batch_size : int
        Number of pairs in a batch. One worker verifies a batch, and one transaction writes it.
    progress : callable, optional
        ``progress(done, total)`` is called in the caller's thread at the start and after every batch. ``total`` is the
        number of all pairs, ``done`` the number of pairs with a geometry or a failure.

    Raises
    ------
    OSError
        If the file is missing, is not a COLMAP database, is damaged or locked, or cannot be written, or if another run
        verifies it.
    ValueError
        If ``options``, ``workers`` or ``batch_size`` is invalid.
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
    if not isinstance(settings, VerificationOptions):
        raise ValueError(f"options must be a VerificationOptions, got {type(options).__name__}")
    count = threads.count_workers(workers)
    size = as_integer("batch_size", batch_size, 1)
    started = time.perf_counter()
    with only_run(path), MatchDatabase(path) as database:
        if overwrite:
            database.clear_geometries()
        missing, total = database.missing_pairs()
        summary, done = VerificationSummary(pairs=total), total - len(missing)
        report = progress or (lambda done, total: None)
        report(done, total)
        starts = range(0, len(missing), size)
        batches = ([database.read(number) for number in missing[start : start + size]] for start in starts)
        answers = executor.run(partial(verify_pairs, options=settings), batches, count)
        with closing(answers):
            for batch, answer in answers:
                if isinstance(answer, ItemFailure):
                    answer = [PairFailure(pair.image_id1, pair.image_id2, answer.reason) for pair in batch]
                database.write(item for item in answer if isinstance(item, PairGeometry))
                _count(summary, answer, database)
                done += len(answer)
                report(done, total)
    summary.seconds = time.perf_counter() - started
    return summary


def _count(summary: VerificationSummary, answer: Sequence[PairGeometry | PairFailure], database: MatchDatabase) -> None:
    for item in answer:
        name = database.pair_name(item.image_id1, item.image_id2)
        if isinstance(item, PairFailure):
            summary.failures.setdefault(item.reason, []).append(name)
        else:
            summary.ambiguous += [name] if item.ambiguous else []
            if item.model_confidence is not None:
                summary.model_confidence[name] = item.model_confidence
            summary.new += 1
            summary.inlier_matches += len(item.inlier_matches)
            counts = summary.configurations
            counts[item.configuration] = counts.get(item.configuration, 0) + 1
