"""Pairs of a folder of images as sources; they are matched on demand from cached features."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bansac.batch.features import FeatureStore, UnwritableError
from bansac.batch.pair_selection import Pairs
from bansac.batch.sources import ImagePair, Pair, Source
from bansac.executors import Executor, ItemFailure, Progress, silent
from bansac.matches.image_matching import match_features


@dataclass(frozen=True)
class ImagePairs:
    """Sources of pairs of images, made during iteration; ``ratio`` and ``mutual`` are those of ``match_images``."""

    pairs: Pairs
    features: Mapping[str, str | ItemFailure]  # file name of the features of each image, or why it has none
    store: FeatureStore
    ratio: float
    mutual: bool

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.pairs)

    def __iter__(self) -> Iterator[Source]:
        """Iterate over the sources."""
        for image1, image2 in self.pairs:
            features = {image: self.features[image] for image in (image1, image2)}
            name1, name2 = ("" if isinstance(name, ItemFailure) else name for name in features.values())
            reasons = [f"{image}: {name.reason}" for image, name in features.items() if isinstance(name, ItemFailure)]
            read = functools.partial(_match, self.store, name1, name2, self.ratio, self.mutual)
            if reasons:
                read = functools.partial(_refuse, "; ".join(reasons))
            stamp = f"{name1} {name2} {self.ratio} {self.mutual}"
            yield Source(f"{image1} {image2}", stamp, read, ImagePair(image1, image2, name1, name2))


def _match(store: FeatureStore, features1: str, features2: str, ratio: float, mutual: bool) -> Pair:
    return Pair(*match_features(store.load(features1), store.load(features2), ratio=ratio, mutual=mutual))


def _refuse(reason: str) -> Pair:
    raise ValueError(reason)


def compute_features(
    store: FeatureStore, images: Mapping[str, Path], executor: Executor, workers: int, progress: Progress = silent
) -> dict[str, str | ItemFailure]:
    """Return the name of the feature file of every image, or the failure."""
    names = {path.absolute(): name for name, path in images.items()}
    features: dict[str, str | ItemFailure] = {}
    answers = executor.run(store.add, names, workers)
    with progress("images", len(images), 0) as advance, contextlib.closing(answers):
        try:
            for path, answer in answers:
                features[names[path]] = answer
                advance()
        except UnwritableError as error:
            raise OSError(str(error)) from None
    return features
