"""Cache of image features on disk, found by the content of the image.

The name of a file is a digest of the image's content, the detection settings and OpenCV's version. Therefore runs with
other pairs or other outputs can share the cache. A file is written completely or not at all, and can be deleted at any
time.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bansac.matches.image_matching import Features, detect_features
from bansac.matches.images import import_opencv
from bansac.matches.storage import write_atomically

# Number of images per process whose features are kept in memory; 8000 features take 4 MB.
_IN_MEMORY = 16


class UnwritableError(Exception):
    """Features cannot be written, which ends the run; it is no OSError, because those concern single images."""


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
            try:
                write_atomically(path, lambda temporary: np.savez(temporary, **vars(features)))
            except OSError as error:
                raise UnwritableError(str(error)) from error
        return name

    def load(self, name: str) -> Features:
        """Return the features of a file; an OSError if it is damaged."""
        return _load(self.folder / name)


@functools.lru_cache(maxsize=_IN_MEMORY)
def _load(path: Path) -> Features:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:  # closed if it is damaged
            height, width = archive["size"].tolist()
            return Features(archive["points"], archive["descriptors"], (height, width))
    except Exception as error:  # damaged archives raise errors of zipfile, zlib, NumPy and other modules
        raise OSError(f"the features {path} cannot be read (deleted, they are computed again): {error}") from None
