"""``bansac match`` for a folder of images: features once per image, many pairs, one results file."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from bansac.batch.features import FeatureStore, UnwritableError
from bansac.batch.image_pairs import ImagePairs
from bansac.batch.job import Job
from bansac.batch.output_files import check_file
from bansac.batch.pair_selection import find_images, select_pairs
from bansac.batch.run import check_out, estimate_pairs
from bansac.cli.batch import show_failures, show_outcome
from bansac.cli.console import note_on_interrupt, show_progress
from bansac.executors import Executor, ItemFailure
from bansac.matches.image_matching import check_matching
from bansac.matches.images import import_opencv

# Folder beside --out with the features.
FEATURES = "bansac-features"


def match_folder(
    folder: Path,
    pairs: str,
    job: Job,
    out: Path | None,
    executor: Executor,
    workers: int,
    *,
    ratio: float,
    mutual: bool,
    max_features: int,
    max_size: int,
    summary: Path | None,
    overwrite: bool,
    json: bool,
) -> None:
    """Match the images of a folder and write the results; list unreadable images at the end."""
    check_matching(ratio, max_features, max_size)
    import_opencv()
    path = check_out(out)
    if summary is not None:
        check_file(summary, "--summary")
    images = find_images(folder)
    selected = select_pairs(pairs, list(images))
    used = {image for pair in selected for image in pair}
    store = FeatureStore(path.parent.absolute() / FEATURES, max_features, max_size)
    store.folder.mkdir(exist_ok=True)
    with note_on_interrupt():
        features = compute_features(
            store, {image: images[image] for image in images if image in used}, executor, workers
        )
        sources = ImagePairs(selected, features, store, ratio, mutual)
        outcome = estimate_pairs(
            job,
            sources,
            path,
            executor=executor,
            workers=workers,
            summary=summary,
            overwrite=overwrite,
            progress=show_progress,
        )
    bad = {image: found.reason for image, found in features.items() if isinstance(found, ItemFailure)}
    if not json:
        show_failures(bad)
    show_outcome(path, outcome, json=json, images=len(features), failed_images=bad, features=str(store.folder))


def compute_features(
    store: FeatureStore, images: Mapping[str, Path], executor: Executor, workers: int
) -> dict[str, str | ItemFailure]:
    """Return the name of the feature file of every image, or the failure."""
    paths = {path.absolute(): image for image, path in images.items()}
    found: dict[str, str | ItemFailure] = {}
    answers = executor.run(store.add, paths, workers)
    with show_progress("images", len(images), 0) as advance, contextlib.closing(answers):
        try:
            for path, answer in answers:
                found[paths[path]] = answer
                advance()
        except UnwritableError as error:
            raise OSError(str(error)) from None
    return found
