"""Search for the image files of a set.

If a set has no file of sizes, the sizes are read from its images. The path of image 1 of the pair "a-b" is, with any
usual suffix, one of

1. ``1/a``, in a folder of all first images (EVD: ``1/adam.png`` and ``2/adam.png``);
2. ``a``, or a path that ends in ``a`` with "/" for "_" or "-" (HPatches: ``v_dogman/1.ppm`` for "v_dogman_1");
3. ``a/1``, or ``1/x`` for "x1" and "x_1".

Image 2 has the same rules with 2 and b. If several files match, those in the folder of the other image are preferred.
The search covers the folder of the set with its subfolders. After it come the folders imgs, images, img, image, 1, 2
and ``<parent's name>`` in the parent folder.
"""

from functools import cached_property
from pathlib import Path

from bansac.matches.images import read_image
from bansac.matches.pair_folder import SIZE_FILES, Which

_IMAGE_FOLDERS = ("imgs", "images", "img", "image", "1", "2")
_IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".ppm", ".pgm", ".bmp", ".tif", ".tiff", ".webp")


class ImageFinder:
    """Find the images of a set by the names in its keys."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        self._sizes: dict[Path, tuple[int, int]] = {}

    def size(self, key: str, which: Which) -> tuple[int, int]:
        """Return the height and width of an image."""
        path = self.find(key, which)
        if path not in self._sizes:
            height, width = read_image(path).shape
            self._sizes[path] = height, width
        return self._sizes[path]

    def find(self, key: str, which: Which) -> Path:
        """Return the file of image 1 or 2 of a pair."""
        pairs_of_names = cuts(key) or [(key, key)]  # a key without hyphens names both images
        found = [self._fitting(name1, name2) for name1, name2 in pairs_of_names]
        # The key may be split at several hyphens. Prefer a split that gives both images.
        found.sort(key=lambda both: (not all(both), len(both[which - 1]) != 1))
        wanted = next((both[which - 1] for both in found if both[which - 1]), [])
        if len(wanted) == 1:
            return wanted[0]
        if wanted:
            raise OSError(f"several files fit image {which} of the pair {key!r}: {', '.join(map(str, wanted[:5]))}")
        names = " or ".join(dict.fromkeys(repr(names[which - 1]) for names in pairs_of_names))
        raise FileNotFoundError(
            f"no size of image {which} of the pair {key!r}: {self._folder} has no {SIZE_FILES[which]}, and no image "
            f"called {names} ({', '.join(_IMAGE_SUFFIXES)}) is in {', '.join(map(str, self._roots()))} or below"
        )

    def _fitting(self, name1: str, name2: str) -> tuple[list[Path], list[Path]]:
        """Return the files that match the names of both images, ideally one file each."""
        fit1, fit2 = self._candidates(name1, 1), self._candidates(name2, 2)
        folders1, folders2 = {path.parent for path in fit1}, {path.parent for path in fit2}
        near1, near2 = [p for p in fit1 if p.parent in folders2], [p for p in fit2 if p.parent in folders1]
        return near1 or fit1, near2 or fit2

    def _candidates(self, name: str, which: Which) -> list[Path]:
        """Return the files that best match a name."""
        for files in self._files:
            for wanted in (f"{which}_{name}", name, f"{name}_{which}"):
                if found := files.get(_plain(wanted)):
                    exact = [path for path in found if path.stem == name]
                    return exact or found
        return []

    @cached_property
    def _files(self) -> list[dict[str, list[Path]]]:
        """Files below the set and files of the folders beside it, both indexed by :func:`_by_name`."""
        own, *beside = (
            [path for path in root.rglob("*") if path.suffix.lower() in _IMAGE_SUFFIXES] for root in self._roots()
        )
        return [_by_name(self._folder, own), _by_name(self._folder.parent, [p for paths in beside for p in paths])]

    def _roots(self) -> list[Path]:
        parent = self._folder.parent
        beside = dict.fromkeys(parent / name for name in (*_IMAGE_FOLDERS, parent.name))
        return [self._folder, *(path for path in beside if path.is_dir())]


def cuts(key: str) -> list[tuple[str, str]]:
    """Return all splits of a key into two names at a hyphen."""
    parts = key.split("-")
    return [("-".join(parts[:cut]), "-".join(parts[cut:])) for cut in range(1, len(parts))]


def _plain(name: str) -> str:
    return name.replace("-", "_").replace("/", "_")


def _by_name(root: Path, paths: list[Path]) -> dict[str, list[Path]]:
    """Index files by name: "b", "a_b" and so on for ``a/b.png``, and "x1" and "x_1" for ``1/x.png``."""
    files: dict[str, list[Path]] = {}
    for path in sorted(paths):
        parts = path.relative_to(root).with_suffix("").parts
        names = ["_".join(parts[start:]) for start in range(len(parts))]
        if path.parent.name in ("1", "2"):
            names += [path.stem + path.parent.name, f"{path.stem}_{path.parent.name}"]
        for name in dict.fromkeys(map(_plain, names)):
            files.setdefault(name, []).append(path)
    return files
