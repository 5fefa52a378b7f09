"""Write the pairs of ``bansac.matches.load_demo`` and ``load_motorcycle_matches``.

    python lab/tools/demo_pairs.py [FOLDER] [--only {wall,motorcycle}]

The demo pair is a wall of posters seen twice, with exact truth. Everything is drawn here, from random numbers and
OpenCV's own letters (which differ between its versions); no photograph is used. The wall is one plane, so its two views
are related by a known homography. What else is seen differs between the views: the ground, things in front of the wall,
light and sensor noise. Posters that hang twice, bricks and stickers make matches that are wrong but look right. The
pair is drawn at four times its size and averaged down, so that truth holds to far below a pixel. demo_1.jpg and
demo_2.jpg are the views; demo.npz has the homography, and RootSIFT matches at an SNN ratio of 0.95, so that the demo
runs without OpenCV.

The motorcycle pair of scikit-image has few inliers. Its matches are one-way nearest neighbours of RootSIFT with an SNN
ratio of .9 to .99, those that Lowe's ratio test rejects. The photographs are not part of the package.

It needs OpenCV (pip install opencv-python-headless) and, for the motorcycle, scikit-image.
"""

import argparse
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from bansac.matches import Matches, demo
from bansac.matches.image_matching import match_images

Image = NDArray[np.uint8]  # (H, W, 3), BGR as OpenCV has it
Array = NDArray[np.float64]

SEED = 2023
SIZE = (480, 640)
SUPERSAMPLING = 4
WALL = (1100, 1600)  # height and width of the wall in texels
# The positions at which the corners of the wall (upper left, upper right, lower right, lower left) are seen, in pixels.
VIEW1 = [[-40.0, -60.0], [560.0, 15.0], [540.0, 400.0], [-20.0, 440.0]]
VIEW2 = [[190.0, 85.0], [665.0, -80.0], [640.0, 510.0], [165.0, 370.0]]
WORDS = ["BANSAC", "RANSAC", "ICCV", "MODEL", "PRIOR", "BAYES", "NOISE", "POINT"]

MOTORCYCLE_RATIOS = (0.9, 0.99)


def main() -> None:
    """Write the pairs to the folder of the package, or to another one."""
    writers = {"wall": write_wall, "motorcycle": write_motorcycle}
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=demo.ASSETS)
    parser.add_argument("--only", choices=writers, help="write this pair only")
    arguments = parser.parse_args()
    for name, write in writers.items():
        if arguments.only in (None, name):
            inliers = write(arguments.folder)
            print(f"{name}: {len(inliers)} matches, {inliers.mean():.3f} of them true")


def write_wall(folder: Path) -> NDArray[np.bool_]:
    """Write the wall and return which of its matches are within 3 px of the truth."""
    image1, image2, H = render_pair()
    for image, name in ((image1, demo.IMAGE1), (image2, demo.IMAGE2)):
        cv2.imwrite(str(folder / name), image, [cv2.IMWRITE_JPEG_QUALITY, 80])
    matches = match_images(folder / demo.IMAGE1, folder / demo.IMAGE2, ratio=0.95, mutual=False)
    write_matches(folder / demo.MATCHES, matches, H=H, size1=matches.size1, size2=matches.size2)
    return demo.load_demo(folder).inliers


def write_motorcycle(folder: Path) -> NDArray[np.bool_]:
    """Write the matches of the motorcycle and return which of them are true."""
    pair = demo.load_motorcycle()
    matches = match_images(pair.image1, pair.image2, ratio=MOTORCYCLE_RATIOS[1], mutual=False)
    matches = matches.select(matches.ratios >= MOTORCYCLE_RATIOS[0])
    inliers = pair.inliers(matches.x1, matches.x2)
    write_matches(folder / demo.MOTORCYCLE, matches, inliers=inliers)
    return inliers


def write_matches(path: Path, matches: Matches, **truth: Any) -> None:
    """Write the points and the ratios of matches in single precision, and what is known of them."""
    stored = {name: getattr(matches, name).astype(np.float32) for name in ("x1", "x2", "ratios")}
    np.savez_compressed(path, **truth, **stored)


def render_pair() -> tuple[Image, Image, Array]:
    """Return both views and the homography from the first to the second."""
    rng = np.random.default_rng(SEED)
    wall = draw_wall(rng)
    stickers = [sticker(rng) for _ in range(5)]
    to_view1, to_view2, H = homographies()
    image1 = render_view(wall, to_view1, stickers, 11, gain=1.0)
    image2 = render_view(wall, to_view2, stickers, 12, gain=0.85)
    return image1, image2, H


def homographies() -> tuple[Array, Array, Array]:
    """Return the homographies from the wall to both views, and from view 1 to view 2."""
    corners = np.array([[0, 0], [WALL[1], 0], [WALL[1], WALL[0]], [0, WALL[0]]], np.float32) - 0.5
    first, second = (cv2.getPerspectiveTransform(corners, np.array(view, np.float32)) for view in (VIEW1, VIEW2))
    H = second @ np.linalg.inv(first)
    return first, second, H / H[2, 2]


def render_view(wall: Image, to_view: Array, stickers: list[Image], seed: int, gain: float) -> Image:
    """Draw one view: ground, wall, things in front of it, light and sensor noise."""
    rng = np.random.default_rng(seed)
    s = SUPERSAMPLING
    height, width = SIZE[0] * s, SIZE[1] * s
    # Pixel x covers the fine pixels s x .. s x + s - 1, whose centre is s x + (s - 1) / 2.
    finer = np.array([[s, 0, (s - 1) / 2], [0, s, (s - 1) / 2], [0, 0, 1.0]])
    view = pebbles(rng, height, width)
    seen = cv2.warpPerspective(wall, finer @ to_view, (width, height), flags=cv2.INTER_CUBIC)
    mask = cv2.warpPerspective(np.full(WALL, 255, np.uint8), finer @ to_view, (width, height))[..., None] / 255.0
    view = to_bytes(mask * seen + (1 - mask) * view)
    for _ in range(9):
        stick(view, stickers[rng.integers(len(stickers))], rng)
    for _ in range(4):
        leaf(view, rng)

    view = cv2.resize(view, SIZE[::-1], interpolation=cv2.INTER_AREA)
    y, x = np.mgrid[: SIZE[0], : SIZE[1]] / max(SIZE)
    light = gain * (1 + 0.25 * np.cos(2 * (x - rng.uniform(0.2, 0.8))) - 0.2 * y)
    return to_bytes(view * light[..., None] * 0.92 + rng.normal(0, 2.0, view.shape))


def draw_wall(rng: np.random.Generator) -> Image:
    """Draw bricks and, on them, posters; two of the posters hang twice."""
    wall = bricks(rng, *WALL)
    columns, rows = 5, 3
    step_x, step_y = WALL[1] // columns, WALL[0] // rows
    posters = [poster(rng, 300, 250, word) for word in WORDS]
    hung = [0, 1, 2, 3, 4, 5, 6, 0, 7, 1, 3, 5]
    places = rng.permutation(columns * rows)[: len(hung)]
    for which, place in zip(hung, places, strict=True):
        top = int(place) // columns * step_y + int(rng.integers(15, 45))
        left = int(place) % columns * step_x + int(rng.integers(15, 45))
        wall[top : top + 300, left : left + 250] = posters[which]
    return wall


def bricks(rng: np.random.Generator, height: int, width: int) -> Image:
    """Draw a running bond of bricks that are all alike but for their shade."""
    grain = noise(rng, height, width, (4, 12, 60))
    wall = np.full((height, width, 3), (150.0, 160.0, 165.0))
    high, wide = 44, 100
    for row in range(-1, height // high + 1):
        for column in range(-1, width // wide + 2):
            left, top = column * wide - (row % 2) * wide // 2, row * high
            shade = np.array([70, 85, 150]) + rng.normal(0, 7, 3)
            cv2.rectangle(wall, (left + 3, top + 3), (left + wide - 4, top + high - 4), shade.tolist(), cv2.FILLED)
    return to_bytes(wall + 22 * grain[..., None])


def poster(rng: np.random.Generator, height: int, width: int, word: str) -> Image:
    """Draw one poster: a coloured ground, shapes, a word and lines of small print."""
    dark, bright = rng.uniform(20, 110, 3), rng.uniform(140, 250, 3)
    ground = noise(rng, height, width, (6, 16, 50))[..., None]
    image = to_bytes(bright + 16 * ground)
    for _ in range(16):
        centre = [int(v) for v in rng.uniform([15, 75], [width - 15, height - 70])]
        size, color = int(rng.uniform(6, 34)), rng.uniform(0, 255, 3).tolist()
        if rng.random() < 0.4:
            cv2.circle(image, centre, size, color, cv2.FILLED if rng.random() < 0.5 else 4, cv2.LINE_AA)
        else:
            angles = np.sort(rng.uniform(0, 2 * np.pi, int(rng.integers(3, 7))))
            outline = centre + size * np.column_stack([np.cos(angles), np.sin(angles)])
            cv2.fillPoly(image, [outline.round().astype(np.int32)], color, cv2.LINE_AA)
    scale = (width - 24) / cv2.getTextSize(word, cv2.FONT_HERSHEY_DUPLEX, 1.0, 4)[0][0]
    cv2.putText(image, word, (12, 52), cv2.FONT_HERSHEY_DUPLEX, scale, dark.tolist(), 5, cv2.LINE_AA)
    for line in range(3):
        print_ = "".join(rng.choice(list("abcdeghiklmnoprstuvwxyz    "), 22))
        place = (12, height - 52 + 19 * line)
        cv2.putText(image, print_, place, cv2.FONT_HERSHEY_SIMPLEX, 0.52, dark.tolist(), 1, cv2.LINE_AA)
    cv2.rectangle(image, (2, 2), (width - 3, height - 3), dark.tolist(), 5)
    return image


def sticker(rng: np.random.Generator) -> Image:
    """Draw a round sticker; black is transparent."""
    side = 260
    image = np.zeros((side, side, 3))
    middle = (side // 2, side // 2)
    cv2.circle(image, middle, side // 2 - 2, rng.uniform(120, 255, 3).tolist(), cv2.FILLED)
    for _ in range(14):
        angle, radius = rng.uniform(0, 2 * np.pi), rng.uniform(0, 0.36) * side
        centre = [int(middle[0] + radius * np.cos(angle)), int(middle[1] + radius * np.sin(angle))]
        axes = [int(v) for v in rng.uniform(6, 30, 2)]
        cv2.ellipse(image, centre, axes, np.degrees(angle), 0, 360, rng.uniform(1, 255, 3).tolist(), cv2.FILLED)
    cv2.circle(image, middle, side // 2 - 8, (20, 20, 20), 7)
    return to_bytes(image)


def stick(view: Image, decal: Image, rng: np.random.Generator) -> None:
    """Put a sticker somewhere on a view, turned, as something in front of the wall."""
    side = int(rng.uniform(0.8, 1.2) * len(decal))
    turn = cv2.getRotationMatrix2D((len(decal) / 2, len(decal) / 2), rng.uniform(-25, 25), side / len(decal))
    turn[:, 2] += [rng.uniform(0, view.shape[1]) - len(decal) / 2, rng.uniform(0, view.shape[0]) - len(decal) / 2]
    put = cv2.warpAffine(decal, turn, view.shape[1::-1], flags=cv2.INTER_LINEAR)
    inside = put.any(axis=2)
    view[inside] = put[inside]


def leaf(view: Image, rng: np.random.Generator) -> None:
    """Put a large mottled leaf somewhere on a view."""
    height, width = view.shape[:2]
    mask = np.zeros((height, width), np.uint8)
    centre = [int(v) for v in rng.uniform([0, 0.1 * height], [width, height])]
    axes = [int(v * width) for v in rng.uniform([0.06, 0.02], [0.12, 0.045])]
    cv2.ellipse(mask, centre, axes, rng.uniform(0, 180), 0, 360, 255, cv2.FILLED)
    mottled = np.array([60, 130, 70]) + 60 * noise(rng, height, width, (10, 24, 80))[..., None]
    view[mask > 0] = to_bytes(mottled)[mask > 0]


def pebbles(rng: np.random.Generator, height: int, width: int) -> Image:
    """Draw ground covered with pebbles."""
    ground = np.full((height, width, 3), (60.0, 70.0, 75.0))
    for _ in range(2200):
        centre = [int(v) for v in rng.uniform([0, 0], [width, height])]
        axes = [int(v) for v in rng.uniform(12, 70, 2)]
        color = (rng.uniform(50, 210) + rng.normal(0, 12, 3)).tolist()
        cv2.ellipse(ground, centre, axes, rng.uniform(0, 180), 0, 360, color, cv2.FILLED)
    return to_bytes(ground + 25 * noise(rng, height, width, (8, 20, 100))[..., None])


def noise(rng: np.random.Generator, height: int, width: int, scales: tuple[int, ...]) -> Array:
    """Return smooth noise of several scales (in pixels), of zero mean and unit deviation."""
    total = np.zeros((height, width))
    for scale in scales:
        coarse = rng.normal(size=(height // scale + 4, width // scale + 4))
        total += cv2.resize(coarse, None, fx=scale, fy=scale, interpolation=cv2.INTER_CUBIC)[:height, :width]
    return np.asarray((total - total.mean()) / total.std())


def to_bytes(image: Array) -> Image:
    """Round to 0 .. 255."""
    return np.clip(image + 0.5, 0, 255).astype(np.uint8)


if __name__ == "__main__":
    main()
