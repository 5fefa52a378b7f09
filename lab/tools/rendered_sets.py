"""Render pairs of images with known poses, and write their matches as sets for ``bansac bench``.

    python lab/tools/rendered_sets.py --out rendered [--scenes 40] [--seed 5000]
    bansac bench rendered --model E --out E_rendered.json

Photographs of scikit-image cover a wall, a ground plane and boxes. The scenes are of eight kinds: many boxes, a
baseline that is small or wide, forward motion, a wall with one box, a ground plane, a roll, and another focal length.
Each set has the same scenes: nearest neighbours of SIFT or ORB with their SNN ratios, all of those below .85 or 150.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import h5py
import numpy as np
from numpy.typing import NDArray
from skimage import data

from bansac.geometry import rotation_matrix
from bansac_lab.sets.tutorial import MAX_RATIO

Array = NDArray[np.float64]
Image = NDArray[np.uint8]
Surface = tuple[Array, Image]  # corner, its two neighbours (3 x 3), and the picture between them

WIDTH, HEIGHT = 640, 480
PHOTOGRAPHS = "astronaut", "camera", "chelsea", "coffee", "coins", "brick", "grass", "gravel", "rocket", "page"
KINDS = "boxes", "small", "wide", "forward", "wall", "ground", "roll", "zoom"
FEATURES, FEW = 2000, 150


class View(NamedTuple):
    """A camera."""

    K: Array
    R: Array
    t: Array


def read_photographs() -> list[Image]:
    """Return grey photographs of one size."""
    images = (getattr(data, name)() for name in PHOTOGRAPHS)
    grey = (cv2.cvtColor(image, cv2.COLOR_RGB2GRAY) if image.ndim == 3 else image for image in images)
    return [cv2.resize(image, (768, 768), interpolation=cv2.INTER_AREA) for image in grey]


def box(center: Array, size: Array, R: Array, pictures: list[Image]) -> Iterator[Surface]:
    """Yield the faces of a box."""
    for k in range(6):
        axes = np.roll(np.eye(3), k % 3, axis=1) * size[:, None] * (1 if k < 3 else -1)
        normal, u, v = axes @ R.T
        yield np.array([center + normal - u - v, center + normal + u - v, center + normal - u + v]), pictures[k]


def make_surfaces(rng: np.random.Generator, kind: str, focal: float, photographs: list[Image]) -> Iterator[Surface]:
    """Yield a wall, a ground plane for some kinds, and boxes."""
    pictures = [photographs[k] for k in rng.permutation(len(photographs))]
    far, slant = rng.uniform(9, 14), rng.uniform(-3, 3)
    half = 0.8 * far
    yield np.array([[-far, -half, far - slant], [far, -half, far + slant], [-far, half, far - slant]]), pictures[0]
    if kind in ("boxes", "ground"):
        yield np.array([[-8.0, 2.2, 0], [8, 2.2, 0], [-8, 2.2, 14]]), pictures[1]
    for _ in range(1 if kind == "wall" else 4):
        depth = rng.uniform(3.5, 8)
        x, y = depth / focal * rng.uniform(-0.35, 0.35, 2) * (WIDTH, HEIGHT) * 2
        R = rotation_matrix(rng.uniform(-1, 1, 3))
        yield from box(np.array([x, y, depth]), rng.uniform(0.3, 1, 3), R, [pictures[2 + k] for k in range(6)])


def second_view(rng: np.random.Generator, kind: str, K: Array) -> View:
    """Return the second camera; the first has the pose R = I, t = 0."""
    least, most = {"small": (0.08, 0.25), "wide": (1.4, 2.4)}.get(kind, (0.4, 1.1))
    direction = np.array([*rng.uniform(-0.2, 0.2, 2), 1.0]) if kind == "forward" else rng.normal(size=3) * (1, 1, 0.4)
    center = rng.uniform(least, most) * direction / np.linalg.norm(direction)
    turn = rng.normal(size=3) * (0.03 if kind in ("small", "forward") else 0.08)
    turn += [0, -0.8 * np.arctan2(center[0], 7) if kind == "wide" else 0, rng.uniform(-0.8, 0.8) * (kind == "roll")]
    R = rotation_matrix(turn)
    return View(np.diag([1.5, 1.5, 1.0]) @ K if kind == "zoom" else K, R, -R @ center)


def render(rng: np.random.Generator, surfaces: list[Surface], view: View) -> Image:
    """Return the image of the nearest surfaces, blurred and with noise."""
    image, depths = np.full((HEIGHT, WIDTH), 90.0), np.full((HEIGHT, WIDTH), np.inf)
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    rays = np.stack([x, y, np.ones_like(x)], axis=-1) @ np.linalg.inv(view.K).T
    for corners, picture in surfaces:
        origin, first, second = corners @ view.R.T + view.t
        u, v = first - origin, second - origin
        normal = np.cross(u, v)
        with np.errstate(all="ignore"):
            depth = (origin @ normal) / (rays @ normal)
            a, b = ((rays * depth[..., None] - origin) @ side / (side @ side) for side in (u, v))
            seen = (depth > 0.1) & (np.abs(a - 0.5) <= 0.5) & (np.abs(b - 0.5) <= 0.5) & (depth < depths)
        if not seen.any():
            continue
        places = [np.where(seen, 767 * one, 0).astype(np.float32) for one in (a, b)]
        step = np.median(np.hypot(*np.gradient(places[0]))[seen])  # pixels of the picture for one of the image
        smooth = cv2.GaussianBlur(picture, (0, 0), 0.5 * step) if step > 1.2 else picture
        image[seen], depths[seen] = cv2.remap(smooth, *places, cv2.INTER_LINEAR)[seen], depth[seen]
    image = cv2.GaussianBlur(image, (0, 0), 0.6) * rng.uniform(0.8, 1.0) + 3 * rng.normal(size=image.shape)
    return np.clip(image, 0, 255).astype(np.uint8)


def match(images: list[Image], detector: Any, norm: int) -> tuple[Array, Array]:
    """Return the matches (N, 4) below the limit of the ratio, and their ratios."""
    (points1, words1), (points2, words2) = (detector.detectAndCompute(image, None) for image in images)
    rows = []
    for first, second in cv2.BFMatcher(norm).knnMatch(words1, words2, k=2):
        ratio = first.distance / max(second.distance, 1e-9)
        if ratio < MAX_RATIO:
            rows.append([*points1[first.queryIdx].pt, *points2[first.trainIdx].pt, ratio])
    found = np.array(rows).reshape(-1, 5)
    return found[:, :4], found[:, 4]


def write_scene(rng: np.random.Generator, kind: str, name: str, photographs: list[Image], folder: Path) -> None:
    """Render a pair, and append its matches to the four sets."""
    focal = rng.uniform(450, 1100)
    K = np.array([[focal, 0, WIDTH / 2], [0, focal, HEIGHT / 2], [0, 0, 1]])
    surfaces, views = list(make_surfaces(rng, kind, focal, photographs)), [View(K, np.eye(3), np.zeros(3))]
    views.append(second_view(rng, kind, K))
    images = [render(rng, surfaces, view) for view in views]
    detectors = {"sift": (cv2.SIFT_create(FEATURES), cv2.NORM_L2), "orb": (cv2.ORB_create(FEATURES), cv2.NORM_HAMMING)}
    for detector, settings in detectors.items():
        matches, ratios = match(images, *settings)
        for limit, suffix in ((len(matches), ""), (FEW, f"-{FEW}")):
            chosen = np.sort(rng.permutation(len(matches))[:limit])
            pair, size = f"{name}a-{name}b", [HEIGHT, WIDTH]
            K1_K2 = np.stack([view.K for view in views])[None]
            entries = {"matches": matches[chosen], "match_conf": ratios[chosen], "size": size, "size2": size}
            files = {of: {pair: value} for of, value in (entries | {"K1_K2": K1_K2}).items()}
            files["R"] = {f"{name}{letter}": view.R for letter, view in zip("ab", views, strict=True)}
            files["T"] = {f"{name}{letter}": view.t[:, None] for letter, view in zip("ab", views, strict=True)}
            path = folder / f"{detector}{suffix}"
            path.mkdir(parents=True, exist_ok=True)
            for of, values in files.items():
                with h5py.File(path / f"{of}.h5", "a") as file:
                    file.update(values)


def main() -> None:
    """Write the sets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder to write, which must not exist")
    parser.add_argument("--scenes", type=int, default=40, help="number of scenes")
    parser.add_argument("--seed", type=int, default=5000, help="seed of the first scene")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True)
    photographs = read_photographs()
    for seed in range(arguments.seed, arguments.seed + arguments.scenes):
        kind = KINDS[seed % len(KINDS)]
        write_scene(np.random.default_rng(seed), kind, f"{kind}{seed}", photographs, arguments.out)


if __name__ == "__main__":
    main()
