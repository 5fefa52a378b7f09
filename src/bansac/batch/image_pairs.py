"""Pairs of a folder of images as sources; they are matched on demand from cached features."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bansac.batch.features import FeatureStore
from bansac.batch.pair_selection import Pairs
from bansac.batch.sources import ImagePair, Pair, Source
from bansac.executors import ItemFailure
from bansac.matches.image_matching import match_features


@dataclass(frozen=True)
class ImagePairs:
    """Sources of image pairs, created during iteration.

    Parameters
    ----------
    pairs : Pairs
        Names of the images.
    features : mapping
        File name of the features of each image, or the failure of their detection.
    store : FeatureStore
        Cache of the features.
    ratio, mutual
        As for :func:`bansac.matches.image_matching.match_images`.
    """

    pairs: Pairs
    features: Mapping[str, str | ItemFailure]
    store: FeatureStore
    ratio: float
    mutual: bool

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.pairs)

    def __iter__(self) -> Iterator[Source]:
        """Iterate over the sources."""
        for image1, image2 in self.pairs:
            found = {image: self.features[image] for image in (image1, image2)}
            name1, name2 = ("" if isinstance(features, ItemFailure) else features for features in found.values())
            reasons = [f"{image}: {f.reason}" for image, f in found.items() if isinstance(f, ItemFailure)]
            read = functools.partial(_match, self.store, name1, name2, self.ratio, self.mutual)
            if reasons:
                read = functools.partial(_refuse, "; ".join(reasons))
            stamp = f"{name1} {name2} {self.ratio} {self.mutual}"
            yield Source(f"{image1} {image2}", stamp, read, ImagePair(image1, image2, name1, name2))


def _match(store: FeatureStore, features1: str, features2: str, ratio: float, mutual: bool) -> Pair:
    return Pair(*match_features(store.load(features1), store.load(features2), ratio=ratio, mutual=mutual))


def _refuse(reason: str) -> Pair:
    raise ValueError(reason)
