"""Selection of the pairs of a folder of images: all, neighbours in a sequence, or those of a list."""

import itertools
import math
import re
from collections.abc import Sequence
from pathlib import Path

from bansac.batch.journal import Stream
from bansac.batch.sources import name_below, read_list

IMAGE_SUFFIXES = (".bmp", ".jp2", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp")


def find_images(folder: Path) -> dict[str, Path]:
    """Return the images in a folder and below it by name, sorted with numbers by value; dot files are ignored."""
    if not folder.is_dir():
        raise NotADirectoryError(f"{folder}: there is no such folder")
    files = (file for file in folder.rglob("*") if file.suffix.lower() in IMAGE_SUFFIXES)
    images = {name_below(folder, file): file for file in files if not file.name.startswith(".") and file.is_file()}
    if not images:
        raise ValueError(f"{folder}: holds no images ({', '.join(IMAGE_SUFFIXES)})")
    return {name: images[name] for name in sorted(images, key=lambda name: (_natural(name), name))}


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key that puts img2 before img10."""
    return [(int(part), "") if part.isdecimal() else (-1, part.lower()) for part in re.split(r"(\d+)", name)]


def select_pairs(how: str, images: Sequence[str]) -> Stream[tuple[str, str]]:
    """Return the selected pairs of images, whose names are in order.

    ``how`` is ``exhaustive`` for all pairs; ``sequential:K`` for each image and the next K; or a text file with two
    names per line, separated by a tab or, if the names contain no blanks, by blanks. Blank lines and lines that begin
    with # are ignored. Repeated pairs are used once. Any other value is a ValueError.
    """
    n = len(images)
    if how == "exhaustive":
        pairs = Stream(math.comb(n, 2), lambda: itertools.combinations(images, 2))
    elif how.startswith("sequential:"):
        number = how.removeprefix("sequential:")
        if not number.isdecimal() or int(number) < 1:
            raise ValueError(f"--pairs: sequential:K needs a number of images K of at least 1, got {how!r}")
        reach = int(number)
        near = sum(min(reach, n - 1 - k) for k in range(n))
        pairs = Stream(near, lambda: ((a, b) for k, a in enumerate(images) for b in images[k + 1 : k + 1 + reach]))
    else:
        listed = _read_pairs(how, images)
        pairs = Stream(len(listed), lambda: iter(listed))
    if not pairs:
        raise ValueError(f"--pairs {how} gives no pair of the {n} images")
    return pairs


def _read_pairs(how: str, images: Sequence[str]) -> list[tuple[str, str]]:
    path = Path(how)
    if not path.is_file():
        raise ValueError(f"--pairs must be exhaustive, sequential:K or a file with pairs of names, got {how!r}")
    known = {image: image for image in images}  # pairs reuse the existing strings
    pairs: dict[tuple[str, str], None] = {}
    for line in read_list(path):
        names = [name.strip() for name in line.split("\t")] if "\t" in line else line.split()
        if len(names) != 2 or names[0] == names[1]:
            raise ValueError(f"{path}: a line must name two images, got {line!r}")
        for name in names:
            if name not in known:
                raise ValueError(f"{path}: there is no image {name!r} in the folder")
        pairs[known[names[0]], known[names[1]]] = None
    return list(pairs)
