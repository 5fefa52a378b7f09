"""Figures: what they show, read back from their artists."""

import io
import pickle
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from PIL import Image

import bansac
from bansac.estimate.result import Result
from bansac.matches import Matches
from bansac.plotting import plot_matches, plot_warp
from bansac.plotting.layout import MODEL_COLORS
from bansac.plotting.samplers import plot_samplers

IMAGE1 = np.tile(np.linspace(0, 1, 80), (60, 1))  # 60 x 80
IMAGE2 = np.tile(np.linspace(0, 1, 200), (120, 1))  # 120 x 200: drawn at half its size
X1 = np.array([[10.0, 20.0], [30.0, 40.0], [50.0, 5.0]])
X2 = np.array([[19.5, 39.5], [199.5, 19.5], [99.5, 0.5]])
P = np.array([0.9, 0.1, 0.5])
SHIFT = np.array([[1.0, 0, 20], [0, 1, 0], [0, 0, 1]])


def segments(ax):
    """Return the drawn matches as an (N, 2, 2) array."""
    (lines,) = [c for c in ax.collections if isinstance(c, LineCollection)]
    return np.array(lines.get_segments())


def colors(ax):
    """Return the colours (RGBA) of the drawn matches."""
    (lines,) = [c for c in ax.collections if isinstance(c, LineCollection)]
    return lines.get_colors()


def test_matches_join_their_points_and_the_probable_are_on_top():
    figure = plot_matches(IMAGE1, IMAGE2, X1, X2, P)
    ax = figure.axes[0]
    order = [1, 2, 0]
    drawn = segments(ax)
    np.testing.assert_allclose(drawn[:, 0], X1[order])
    # Image 2 is twice as high as image 1, and starts 2 % of 80 pixels to its right. Pixel edges, x + 0.5, are halved.
    np.testing.assert_allclose(drawn[:, 1], (X2[order] + 0.5) / 2 - 0.5 + [81.6, 0])
    left, right = (image.get_extent() for image in ax.images)
    assert left == [-0.5, 79.5, 59.5, -0.5]
    np.testing.assert_allclose(right, [81.1, 181.1, 59.5, -0.5])
    own = Figure()
    ax = own.add_subplot(1, 2, 1)
    assert plot_matches(IMAGE1, IMAGE2, X1, X2, P, ax=ax) is own
    assert len(segments(ax)) == 3
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


def test_a_notebook_shows_a_figure_without_a_backend():
    figure = pickle.loads(pickle.dumps(plot_matches(IMAGE1, IMAGE2, X1, X2, P)))
    image = Image.open(io.BytesIO(figure._repr_png_()))
    np.testing.assert_allclose(image.size, figure.get_size_inches() * figure.dpi, atol=1.0)
    assert np.ptp(image) > 100


def test_colors_run_from_red_to_blue_with_a_scale_from_0_to_1():
    figure = plot_matches(IMAGE1, IMAGE2, X1, X2, [1.0, 0.0, 0.5])
    low, _, high = colors(figure.axes[0])
    assert low[0] > 0.7 > 0.3 > low[2]
    assert high[2] > 0.7 > 0.3 > high[0]
    assert figure.axes[1].get_ylim() == (0, 1)
    assert figure.axes[1].get_ylabel() == "colour: probability of being an inlier"


def test_matches_outside_the_mask_are_thin_and_faint_and_a_legend_says_so():
    figure = plot_matches(IMAGE1, IMAGE2, X1, X2, P, inliers=[True, False, False])
    ax = figure.axes[0]
    np.testing.assert_allclose(colors(ax)[:, 3], [0.4, 0.4, 0.9])
    np.testing.assert_allclose(ax.collections[0].get_linewidths(), [0.5, 0.5, 1.4])
    thick, thin = ax.get_legend().get_texts()
    assert "inlier" in thick.get_text()
    assert "outlier" in thin.get_text()
    assert plot_matches(IMAGE1, IMAGE2, X1, X2, P).axes[0].get_legend() is None
    figure = plot_matches(IMAGE1, IMAGE2, X1, X2, inliers=np.array([True, False, True]), title="three")
    assert len(figure.axes) == 1  # no scale without probabilities
    assert figure.axes[0].get_title() == "three"
    assert len(np.unique(colors(figure.axes[0]), axis=0)) == 2
    assert len(np.unique(colors(plot_matches(IMAGE1, IMAGE2, X1, X2).axes[0]), axis=0)) == 1


def test_subset_is_random_seeded_and_bounded():
    x = np.column_stack([np.arange(60.0), np.arange(60.0)])
    p = np.linspace(0, 1, 60)
    first, again, other = (
        segments(plot_matches(IMAGE1, IMAGE2, x, x, p, max_matches=20, seed=seed).axes[0]) for seed in (0, 0, 1)
    )
    assert len(first) == 20
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert len(segments(plot_matches(IMAGE1, IMAGE2, x, x, p).axes[0])) == 60
    assert len(segments(plot_matches(IMAGE1, IMAGE2, x[:0], x[:0], []).axes[0])) == 0


def test_image_1_is_warped_onto_image_2_and_residuals_are_enlarged():
    first, second = np.zeros((60, 80), np.uint8), np.zeros((60, 200), np.uint8)
    first[30, 10], second[30, 30], second[5, 150] = 255, 255, 255
    x1, x2 = np.array([[10.0, 30], [0, 0], [40, 50]]), np.array([[30.0, 31], [99, 9], [60.5, 50]])
    figure = plot_warp(first, second, x1, x2, 2 * SHIFT, inliers=[True, False, True])
    (ax,) = figure.axes
    (picture,), (arrows,) = ax.images, ax.collections
    pixels = picture.get_array()
    both, alone = pixels[30, 30], pixels[5, 150]
    assert both[0] == both[1] == both[2] > 0.8  # grey
    assert alone[2] == 2 * alone[1] > 2 * alone[0] == 0  # blue
    assert np.count_nonzero(pixels.any(axis=2)) == 2
    assert picture.get_extent() == [-0.5, 199.5, 59.5, -0.5]
    assert ax.get_title() == "residuals enlarged 5 times"  # at most 8 pixels long
    np.testing.assert_allclose(arrows.get_offsets(), [[30, 30], [60, 50]])
    np.testing.assert_allclose(np.column_stack([arrows.U, arrows.V]), [[0, 5], [2.5, 0]])
    only = plot_warp(second, first, [[30.0, 30]], [[10.0, 30]], np.linalg.inv(SHIFT)).axes[0]
    assert only.get_title() == "residuals enlarged 1 times"
    np.testing.assert_allclose(only.images[0].get_array()[30, 10], both)
    assert plot_warp(first, second, x1[:0], x2[:0], SHIFT, ax=ax) is figure


def test_a_large_image_is_drawn_smaller_and_pixels_behind_the_horizon_are_empty():
    white = np.full((40, 3000), 255, np.uint8)
    tilt = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0.1, 1]])
    (picture,) = plot_warp(white, white, X1, X1, np.linalg.inv(tilt)).axes[0].images
    assert picture.get_array().shape == (40, 1200, 3)
    assert picture.get_extent() == [-0.5, 2999.5, 39.5, -0.5]
    # Row 39 comes from row 39 / 4.9 of image 1; column 3000 of row 0 from itself.
    assert picture.get_array()[39].min() > 0.8
    (picture,) = plot_warp(white, white, X1, X1, tilt).axes[0].images
    assert not picture.get_array()[20:, :, 0].any()  # the horizon of image 1 is row 10


def test_figures_need_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install matplotlib"):
        plot_matches(IMAGE1, IMAGE2, X1, X2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plot_matches(IMAGE1, IMAGE2, X1, X2[:2], P), "x1 and x2 must have equal lengths, got 3 and 2"),
        (lambda: plot_matches(IMAGE1, IMAGE2, X1, X2, P[:2]), r"probabilities must have shape \(3,\)"),
        (lambda: plot_matches(IMAGE1, IMAGE2, X1, X2, P + 1), r"probabilities must lie in \[0, 1\]"),
        (lambda: plot_matches(IMAGE1, IMAGE2, X1, X2, P, inliers=[True]), r"inliers must be a mask of shape \(3,\)"),
        (lambda: plot_matches(IMAGE1, IMAGE2, X1, X2, P, inliers=P), "inliers must be a mask .* got float64"),
        (lambda: plot_matches(IMAGE1, IMAGE2, X1, X2, P, max_matches=-1), "max_matches must not be negative"),
        (lambda: plot_warp(IMAGE1, IMAGE2, X1, X2[:2], SHIFT), "x1 and x2 must have equal lengths, got 3 and 2"),
        (lambda: plot_warp(IMAGE1, IMAGE2, X1, X2, None), "H must be an array of real numbers, got NoneType"),
        (lambda: plot_warp(IMAGE1, IMAGE2, X1, X2, SHIFT, inliers=P), "inliers must be a mask .* got float64"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def make_result(model, residuals, probabilities=None):
    """Return a result with the residuals; the first points are its inliers."""
    residuals = np.asarray(residuals, dtype=np.float64)
    inliers = residuals < 0.1
    return Result(
        model, inliers, residuals, probabilities, None, 1.0, 0.1, 10, 10, 1, "agreement", True, "", 0, 0.1, 0.0
    )  # fmt: skip


LINE = np.column_stack([np.arange(30.0), 2 * np.arange(30.0)])


@pytest.mark.parametrize("dimension", [2, 3])
def test_points_are_coloured_by_their_probability(dimension):
    points = np.random.default_rng(0).uniform(0, 1, (3, dimension))
    result = make_result(None, [0.0, 9.0, 9.0], np.array([1.0, 0.0, 0.5]))
    figure = result.plot(points)
    ax = figure.axes[0]
    (dots,) = ax.collections
    np.testing.assert_array_equal(dots.get_array(), [0.0, 0.5, 1.0])
    assert len(figure.axes) == 2  # with the scale
    assert result.plot(points, ax=ax) is figure


def drawn_inside(figure):
    """Draw a figure, and check that its legends cover no axes and that nothing is cut off at its edges."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    frame = figure.bbox.padded(1)
    for ax in figure.axes:
        tight = ax.get_tightbbox()
        assert frame.contains(tight.x0, tight.y0)
        assert frame.contains(tight.x1, tight.y1)
        legend = ax.get_legend()
        if legend is not None:
            covered = legend.get_window_extent()
            assert not any(covered.overlaps(other.get_window_extent()) for other in figure.axes)
    return figure


def test_legends_cover_no_data():
    for figure in (
        make_result(None, np.zeros(30)).plot(LINE),
        plot_warp(IMAGE1, IMAGE2, X1, X2, SHIFT),
        plot_matches(IMAGE1, IMAGE2, X1, X2, P, inliers=[True, False, False]),
    ):
        drawn_inside(figure)


@pytest.mark.parametrize("lift", [False, True])
def test_points_of_several_models_have_their_colours(lift):
    rng = np.random.default_rng(0)
    data = np.vstack([LINE, LINE * [1, -1], rng.uniform(-60, 60, (5, 2))])
    result = bansac.estimate_multiple("line", data, threshold=0.05, max_models=2)
    points = np.column_stack([data, data[:, 0]]) if lift else data
    figure = drawn_inside(result.plot(points))
    ax = figure.axes[0]
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["no model", "model 0", "model 1"]
    for k, dots in enumerate(ax.collections, start=-1):
        assert len(dots.get_offsets()) == np.count_nonzero(result.labels == k)
        assert k < 0 or np.allclose(dots.get_facecolor()[0, :3], to_rgba(MODEL_COLORS[k])[:3])
    assert result.plot(points, ax=ax) is figure
    with pytest.raises(ValueError, match=rf"points must have shape \({len(data)}, {2 + lift}\)"):
        result.plot(points[1:])


def test_matches_without_images_are_segments_and_the_probable_are_on_top():
    result = make_result(np.eye(3), [0.0, 9.0, 9.0], P)
    ax = result.plot(X1, X2).axes[0]
    np.testing.assert_allclose(segments(ax), np.stack([X1, X2], axis=1)[[1, 2, 0]])
    with pytest.raises(ValueError, match=r"x2 must have shape \(3, 2\), got \(2, 2\)"):
        result.plot(X1, X2[:2])


@pytest.mark.parametrize("dimension", [2, 3])
def test_matches_of_distant_sets_are_points_in_two_axes(dimension):
    points = np.random.default_rng(0).uniform(0, 1000, (3, dimension))
    result, far = make_result(None, [0.0, 9.0, 9.0], P), points + 5e5
    figure = drawn_inside(result.plot(points, far))
    assert len(figure.axes) == 3  # with the scale
    for ax, x in zip(figure.axes[:2], (points, far), strict=True):
        (dots,) = ax.collections
        drawn = np.column_stack(dots._offsets3d) if dimension == 3 else dots.get_offsets()
        np.testing.assert_allclose(drawn, x[[1, 2, 0]])
    assert len(result.plot(points, points + 1001).axes) == dimension, "neighbours of a mosaic have segments"
    with pytest.raises(ValueError, match="ax must have projection") if dimension == 3 else nullcontext():
        assert result.plot(points, far, ax=figure.axes[2]) is figure


def test_samplers_are_compared_by_the_true_matches_that_they_keep(tmp_path):
    for name, image in (("1.png", IMAGE1), ("2.png", IMAGE2)):
        Image.fromarray((255 * image).astype(np.uint8)).save(tmp_path / name)
    x1, x2 = np.array([[10.0, 20], [30, 40], [50, 50]]), np.array([[25.0, 50], [75, 100], [0, 0]])
    files = {"image1": tmp_path / "1.png", "image2": tmp_path / "2.png"}
    matches = Matches(x1, x2, inliers=np.array([True, False, True]), **files)
    wrong = SimpleNamespace(inliers=np.array([False, True, False]), probabilities=None, iterations=1400, success=False)
    right = SimpleNamespace(
        inliers=np.array([True, True, False]), probabilities=np.array([0.8, 0.6, 0.1]), iterations=9, success=True
    )
    figure = plot_samplers(matches, {"uniform": wrong, "BANSAC": right})
    first, second = figure.axes
    assert (first.get_title(), second.get_title()) == ("uniform: 0 of 2 true matches", "BANSAC: 1 of 2 true matches")
    assert [ax.texts[0].get_text() for ax in figure.axes] == ["1,400 iterations, no success", "9 iterations, success"]
    rejected, false, true = (lines for lines in second.collections if isinstance(lines, LineCollection))
    assert [len(lines.get_segments()) for lines in (rejected, false, true)] == [1, 1, 1]
    assert [lines.get_colors()[0, 3] for lines in (false, true)] == [0.6, 0.8]
    assert first.collections[2].get_colors()[0, 3] == 1  # without probabilities
    # Image 2 is scaled from 200 to 80 columns, and lies below image 1.
    top = second.images[1].get_extent()[3]
    np.testing.assert_allclose(true.get_segments()[0], [[10, 20], [0.4 * 25.5 - 0.5, top + 0.4 * 50.5]])
    assert top > 59.5
