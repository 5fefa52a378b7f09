"""Features and matches in the HDF5 files of hloc (Sarlin et al., CVPR 2019), which is used to run LightGlue and others.

==========================  =============================================================================
``features.h5``             a group for each image, with its name: ``keypoints`` (N, 2), with pixel centres
                            at integer coordinates
``matches.h5``              a group ``NAME0/NAME1`` for each pair, where ``-`` replaces ``/`` in names:
                            ``matches0`` (N), the index of the match in image 1 for each keypoint of image
                            0, or -1; and ``matching_scores0`` (N), the quality of the matches in [0, 1]
==========================  =============================================================================

The files may have any names.
"""

import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from bansac.matches.array_files import Reader, create_hdf5
from bansac.matches.matches import Matches
from bansac.matches.storage import write_atomically
from bansac.maths.arrays import Bools, Floats, Ints


class HlocPairs:
    """Image pairs of two hloc files, which are read on demand.

    Parameters
    ----------
    features : str or path
        File with the keypoints.
    matches : str or path
        File with the matches.

    Attributes
    ----------
    keys : tuple of str
        Sorted names of the pairs: the names of both images, separated by a blank as in hloc's lists of pairs. An image
        without keypoints has its name in the file of matches.

    Raises
    ------
    OSError
        If a file cannot be read or contains no pairs, or if each pair lacks the keypoints of an image.
    ValueError
        If the names of two images differ only in ``/`` and ``-``.
    ImportError
        If h5py is not installed.

    Examples
    --------
    >>> import h5py, pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> features, matches = pathlib.Path(folder.name, "features.h5"), pathlib.Path(folder.name, "matches.h5")
    >>> with h5py.File(features, "w") as file:
    ...     file["db/1.jpg/keypoints"] = [[0.0, 0.0], [5.0, 5.0], [9.0, 2.0]]
    ...     file["db/2.jpg/keypoints"] = [[1.0, 0.0], [7.0, 7.0]]
    >>> with h5py.File(matches, "w") as file:
    ...     file["db-1.jpg/db-2.jpg/matches0"] = [1, -1, 0]
    ...     file["db-1.jpg/db-2.jpg/matching_scores0"] = [0.75, 0.0, 0.5]
    >>> pairs = HlocPairs(features, matches)
    >>> pairs.keys
    ('db/1.jpg db/2.jpg',)
    >>> pair = pairs.pair(pairs.keys[0])
    >>> pair.x1.tolist(), pair.x2.tolist(), pair.scores.tolist()
    ([[0.0, 0.0], [9.0, 2.0]], [[7.0, 7.0], [1.0, 0.0]], [0.75, 0.5])
    >>> pairs.write_verified(pathlib.Path(folder.name, "verified.h5"), [(pairs.keys[0], np.array([True, False]))])
    >>> len(HlocPairs(features, pathlib.Path(folder.name, "verified.h5")).pair(pairs.keys[0]))
    1
    >>> folder.cleanup()
    """

    def __init__(self, features: str | os.PathLike[str], matches: str | os.PathLike[str]) -> None:
        self.features: Path = Path(features)
        self.matches: Path = Path(matches)
        with Reader(self.features) as file:
            names = file.groups_with("keypoints")
        images = {name.replace("/", "-"): name for name in names}
        if len(images) < len(names):
            raise ValueError(f"{self.features}: names of images that differ only in '/' and '-' are equal in the pairs")
        with Reader(self.matches) as file:
            groups = [(first, second) for first in file.keys("/") for second in file.keys(first)]
        if not groups:
            raise OSError(f"{self.matches} holds no pairs of hloc")
        self._pairs: dict[str, tuple[str, str, str]] = {}
        missing = [[name for name in group if name not in images] for group in groups]
        if all(missing):
            name = missing[0][0]
            raise OSError(f"{self.features} has keypoints of both images of no pair in {self.matches}: no {name!r}")
        for group in groups:
            first, second = (images.get(name, name) for name in group)
            self._pairs[f"{first} {second}"] = first, second, "/".join(group)
        self.keys: tuple[str, ...] = tuple(sorted(self._pairs))

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.keys)

    def pair(self, key: str) -> Matches:
        """Read one pair by its name, one of ``keys``.

        The matches are in the order of the keypoints of the first image, with scores if the file has them. A ValueError
        is raised if there is no such pair, an OSError if an image has no keypoints, a file is damaged, or its arrays
        have a wrong shape.
        """
        first, second, _ = self._names(key)
        matches0, scores = self._read(key)
        with Reader(self.features) as file:
            keypoints1, keypoints2 = (file.array(f"{name}/keypoints", (-1, 2)) for name in (first, second))
        if len(keypoints1) != len(matches0):
            raise OSError(f"{self.matches}: pair {key!r} has {len(matches0)} matches0 for {len(keypoints1)} keypoints")
        matched = np.flatnonzero(matches0 >= 0)
        partners = matches0[matched]
        if partners.size and partners.max() >= len(keypoints2):
            raise OSError(
                f"{self.matches}: matches0 of the pair {key!r} must be indices of {len(keypoints2)} keypoints, "
                f"got {partners.max()}"
            )
        quality = None if scores is None else scores[matched]
        return Matches(keypoints1[matched], keypoints2[partners], key=key, scores=quality)

    def write_verified(self, path: str | os.PathLike[str], verdicts: Iterable[tuple[str, Bools]]) -> None:
        """Write the inliers of pairs to a file of matches that hloc reads; an existing file is replaced.

        Parameters
        ----------
        path : str or path
            Output file; it must differ from the two input files.
        verdicts : iterable of (str, (N,) ndarray of bool)
            Key of each pair, and the inlier mask of the matches that :meth:`pair` returns; an empty mask means no
            inliers. A pair with an empty mask is left out if its matches cannot be read.

        Raises
        ------
        ValueError
            If the path is an input file, or a mask does not have the length of its matches.
        OSError
            If the file cannot be written.
        """
        if os.path.realpath(path) in (os.path.realpath(self.matches), os.path.realpath(self.features)):
            raise ValueError(f"path must be another file than {path}, which is read")
        write_atomically(Path(path), lambda temporary: self._write(temporary, verdicts))

    def _write(self, path: Path, verdicts: Iterable[tuple[str, Bools]]) -> None:
        with create_hdf5(path) as file:
            for key, inliers in verdicts:
                try:
                    matches0, scores = self._read(key)
                except OSError:
                    if len(inliers):
                        raise
                    continue
                matched = np.flatnonzero(matches0 >= 0)
                if len(inliers) not in (0, len(matched)):
                    raise ValueError(f"the pair {key!r} has {len(matched)} matches, and its mask {len(inliers)}")
                kept = np.zeros(len(matches0), np.bool_)
                kept[matched[: len(inliers)]] = inliers
                group = file.create_group(self._names(key)[2])
                group["matches0"] = np.where(kept, matches0, -1).astype(np.int32)
                if scores is not None:
                    group["matching_scores0"] = np.where(kept, scores, 0.0).astype(np.float16)

    def _names(self, key: str) -> tuple[str, str, str]:
        """Return the names of both images of a pair and the name of its group."""
        if key not in self._pairs:
            raise ValueError(f"{self.matches} has no pair {key!r}")
        return self._pairs[key]

    def _read(self, key: str) -> tuple[Ints, Floats | None]:
        """Return ``matches0`` of a pair and its scores; the scores are None if the file has none."""
        group = self._names(key)[2]
        with Reader(self.matches) as file:
            values = file.array(f"{group}/matches0", (-1,))
            # float64 represents the integers up to 2^53.
            if (np.abs(values) > 2**53).any() or (values != np.round(values)).any():
                raise OSError(f"{self.matches}: matches0 of the pair {key!r} must be indices")
            matches0 = values.astype(np.int64)
            if "matching_scores0" not in file.keys(group):
                return matches0, None
            return matches0, file.array(f"{group}/matching_scores0", (len(matches0),))
