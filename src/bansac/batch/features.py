"""The pairs of a folder of images, which are matched on demand from features that are cached on disk.

The name of a file of features is a digest of the image's content, the detection settings and OpenCV's version.
Therefore runs with other pairs or other outputs can share the cache. A file is written completely or not at all, and
can be deleted at any time.
"""

import contextlib
import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bansac.batch.journal import Stream
from bansac.batch.sources import ImagePair, Pair, Source
from bansac.executors import Executor, ItemFailure, Progress, silent
from bansac.matches.array_files import read_arrays
from bansac.matches.image_matching import Features, detect_features, match_features
from bansac.matches.images import import_opencv
from bansac.matches.storage import write_atomically


@dataclass(frozen=True)
class FeatureStore:
    """Folder of image features, and the settings of :func:`bansac.matches.image_matching.detect_features`."""

    folder: Path
    max_features: int
    max_size: int

    def add(self, image: Path) -> str:
        """Detect the features of an image unless they are cached; return the name of their file.

        An image that cannot be read or has no features is an OSError or a ValueError.
        """
        opencv = import_opencv()
        settings = f"{self.max_features} {self.max_size} {opencv.__version__}"
        name = hashlib.sha256(settings.encode() + image.read_bytes()).hexdigest()[:32] + ".npz"
        path = self.folder / name
        if not path.exists():
            try:
                features = detect_features(image, max_features=self.max_features, max_size=self.max_size)
            except opencv.error as error:
                raise ValueError(f"no features could be detected: {error}") from None
            write_atomically(path, lambda temporary: np.savez(temporary, **vars(features)))
        return name


@functools.lru_cache(maxsize=16)  # images per process: 8000 features take 4 MB
def load_features(path: Path) -> Features:
    """Return the features of a file; an OSError if it is damaged."""
    try:
        arrays, _ = read_arrays(path, ("points", "descriptors", "size"))
        height, width = arrays["size"].tolist()
        return Features(arrays["points"], arrays["descriptors"], (height, width))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise OSError(f"the features {path} cannot be read (deleted, they are computed again): {error}") from None


def image_pairs(
    pairs: Stream[tuple[str, str]],
    features: Mapping[str, str | ItemFailure],
    store: FeatureStore,
    ratio: float,
    mutual: bool,
) -> Stream[Source]:
    """Return the sources of pairs of images; ``ratio`` and ``mutual`` are those of ``match_images``.

    ``features`` has the file name of the features of each image, or why it has none.
    """

    def source(pair: tuple[str, str]) -> Source:
        named = {image: features[image] for image in pair}
        name1, name2 = ("" if isinstance(name, ItemFailure) else name for name in named.values())
        reasons = [f"{image}: {name.reason}" for image, name in named.items() if isinstance(name, ItemFailure)]
        read = functools.partial(_match, store, name1, name2, ratio, mutual, "; ".join(reasons))
        return Source(" ".join(pair), f"{name1} {name2} {ratio} {mutual}", read, ImagePair(*pair, name1, name2))

    return Stream(len(pairs), lambda: map(source, pairs))


def _match(store: FeatureStore, features1: str, features2: str, ratio: float, mutual: bool, refusal: str) -> Pair:
    if refusal:
        raise ValueError(refusal)
    loaded = (load_features(store.folder / name) for name in (features1, features2))
    return Pair(*match_features(*loaded, ratio=ratio, mutual=mutual))


def compute_features(
    store: FeatureStore, images: Mapping[str, Path], executor: Executor, workers: int, progress: Progress = silent
) -> dict[str, str | ItemFailure]:
    """Return the name of the feature file of every image, or the failure."""
    names = {path.absolute(): name for name, path in images.items()}
    features: dict[str, str | ItemFailure] = {}
    answers = executor.run(store.add, names, workers)
    with progress("images", len(images), 0) as advance, contextlib.closing(answers):
        for path, answer in answers:
            features[names[path]] = answer
            advance()
    return features
