"""Figures: what they show, read back from their artists."""

import sys

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgba
from matplotlib.contour import ContourSet
from matplotlib.figure import Figure

import bansac
from bansac.estimate.result import Result, Trace
from bansac.plotting import (
    plot_matches,
    plot_trace,
)

IMAGE1 = np.tile(np.linspace(0, 1, 80), (60, 1))  # 60 x 80
IMAGE2 = np.tile(np.linspace(0, 1, 200), (120, 1))  # 120 x 200: drawn at half its size
X1 = np.array([[10.0, 20.0], [30.0, 40.0], [50.0, 5.0]])
X2 = np.array([[19.5, 39.5], [199.5, 19.5], [99.5, 0.5]])
P = np.array([0.9, 0.1, 0.5])


def segments(ax):
    """Return the drawn matches as an (N, 2, 2) array."""
    (lines,) = [c for c in ax.collections if isinstance(c, LineCollection)]
    return np.array(lines.get_segments())


def colors(ax):
    """Return the colours (RGBA) of the drawn matches."""
    (lines,) = [c for c in ax.collections if isinstance(c, LineCollection)]
    return lines.get_colors()


def make_trace(n=40, counting=True):
    """Return the course of a run over 100 data."""
    k = np.arange(1, n + 1)
    ratio = np.where(k % 3, 0.3, np.nan)
    return Trace(
        inlier_ratio=ratio,
        gamma=0.5 + ratio / 2,
        best_score=k.astype(float),
        best_inliers=np.full(n, 30),
        low_probability=k,
        outliers=np.full(n, 70),
        required_iterations=np.where(k > 5, 20.0, np.inf) if counting else np.full(n, np.inf),
        snapshots={},
    )


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


def test_trace_shows_ratios_gamma_and_counters():
    figure = plot_trace(make_trace(), n_points=100)
    ratio, gamma, counters, iterations = figure.axes
    np.testing.assert_array_equal(ratio.lines[0].get_ydata(), make_trace().inlier_ratio)
    np.testing.assert_allclose(ratio.lines[1].get_ydata(), 0.3)
    np.testing.assert_array_equal(gamma.lines[0].get_ydata(), make_trace().gamma)
    np.testing.assert_array_equal(counters.lines[0].get_ydata(), np.arange(1, 41))
    np.testing.assert_array_equal(counters.lines[1].get_ydata(), 70)
    np.testing.assert_array_equal(iterations.lines[0].get_ydata()[5:], 20)
    assert iterations.get_xlabel() == "iteration"
    assert ratio.get_xlim() == (1, 40)
    assert len(plot_trace(make_trace(counting=False)).axes) == 3
    for n in (1, 1200):
        drawn_inside(plot_trace(make_trace(n)))


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
        (lambda: plot_trace(make_trace(0)), "trace is empty"),
        (lambda: plot_trace(make_trace(3), n_points=0), "n_points must be an integer >= 1, got 0"),
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


ANGLES = np.linspace(0, 6, 30)
UNIT = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
CURVES = {
    "line": (np.array([0.6, 0.8, -1.0]), np.column_stack([ANGLES, (1 - 0.6 * ANGLES) / 0.8])),
    "circle": (np.array([3.0, 1.0, 2.0]), 2 * UNIT + [3, 1]),
    "ellipse": (np.array([3.0, 1.0, 4.0, 2.0, 0.0]), UNIT * [4, 2] + [3, 1]),
    "polynomial": (np.array([1.0, 0.5, 0.25]), np.column_stack([ANGLES, 1 + 0.5 * ANGLES + 0.25 * ANGLES**2])),
}


@pytest.mark.parametrize("name", CURVES)
def test_curves_are_drawn_through_their_points(name):
    model, points = CURVES[name]
    points = np.vstack([points, [[1.0, 5.0]]])  # an outlier
    residuals = np.zeros(31)
    residuals[30] = {"line": 3.6, "circle": abs(np.hypot(-2, 4) - 2), "polynomial": 3.25}.get(name, 1.0)
    if name == "ellipse":  # the Sampson distance of the outlier
        residuals[30] = (0.25 + 4 - 1) / (2 * np.hypot(0.125, 1.0))
    ax = make_result(model, residuals).plot(points).axes[0]
    curve = np.vstack([path.vertices for path in ax.collections[1].get_paths()])
    gaps = np.linalg.norm(points[:30, None] - curve, axis=2).min(axis=1)
    assert gaps.max() < 0.15
    assert len(ax.collections[0].get_offsets()) == 31


def test_the_curve_of_an_estimate_is_found_by_its_residuals():
    rng = np.random.default_rng(0)
    points = np.vstack([UNIT @ [[3, 2], [-1, 1.5]] + rng.normal(0, 0.01, (30, 2)), rng.uniform(-5, 5, (10, 2))])
    assert len(bansac.fit_ellipse(points, threshold=0.05).plot(points).axes[0].collections) == 2
    figure = make_result(np.array([1.0, 2.0, 3.0]), np.linspace(0, 5, 30)).plot(UNIT)  # of another model
    assert len(figure.axes[0].collections) == 1
    assert len(figure.axes) == 2


def test_a_sphere_is_not_drawn_as_a_plane():
    normals = np.random.default_rng(0).normal(size=(60, 3))
    points = 5 * normals / np.linalg.norm(normals, axis=1, keepdims=True)
    assert len(bansac.fit_sphere(points, threshold=0.1).plot(points).axes[0].collections) == 1


def test_planes_of_space():
    points = np.column_stack([UNIT, np.full(30, 2.0)])
    result = make_result(np.array([0.0, 0.0, 1.0, -2.0]), np.zeros(30))
    ax = result.plot(points).axes[0]
    assert [part.get_alpha() for part in ax.collections[1:]] == [0.3]
    assert result.plot(points, ax=ax) is ax.figure


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
        make_result(CURVES["line"][0], np.zeros(30)).plot(CURVES["line"][1]),
        plot_trace(make_trace()),
        plot_matches(IMAGE1, IMAGE2, X1, X2, P, inliers=[True, False, False]),
    ):
        drawn_inside(figure)


@pytest.mark.parametrize("name", ["line", "circle", "ellipse"])
def test_curves_of_several_models_are_drawn_in_the_colours_of_their_points(name):
    rng = np.random.default_rng(0)
    _, points = CURVES[name]
    data = np.vstack([points, points[:, ::-1] + 30, rng.uniform(-5, 40, (5, 2))]) + rng.normal(0, 0.01, (65, 2))
    result = bansac.estimate_multiple(name, data, threshold=0.05, max_models=2)
    figure = drawn_inside(result.plot(data))
    ax = figure.axes[0]
    curves = [one for one in ax.collections if isinstance(one, ContourSet)]
    assert len(curves) == len(result.models) == 2
    for k, curve in enumerate(curves):
        vertices = np.vstack([path.vertices for path in curve.get_paths()])
        gaps = np.linalg.norm(data[result.labels == k][:, None] - vertices, axis=2).min(axis=1)
        assert gaps.max() < 0.3
        np.testing.assert_allclose(curve.get_edgecolor()[0], to_rgba(f"C{k}"))
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["no model", "model 0", "model 1"]
    assert result.plot(data, ax=ax) is figure
    with pytest.raises(ValueError, match=rf"points must have shape \({len(data)}, 2\)"):
        result.plot(data[1:])


def test_planes_of_several_models():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 100, (80, 2))
    x[:40, 0] += 150
    result = bansac.estimate_multiple("H", np.hstack([x, np.vstack([x[:40] - 20, x[40:] * 1.3])]), threshold=0.1)
    assert drawn_inside(result.plot(x)).axes[0].yaxis_inverted()  # as in the image
    space = np.vstack([np.column_stack([x[:40], 0 * x[:40, 0]]), np.column_stack([x[40:], 50 + x[40:, 0]])])
    result = bansac.estimate_multiple("plane", space, threshold=0.1)
    surfaces = [one for one in result.plot(space).axes[0].collections if one.get_alpha() == 0.3]
    assert len(surfaces) == len(result.models) == 2


def test_matches_without_images_are_segments_and_the_probable_are_on_top():
    result = make_result(np.eye(3), [0.0, 9.0, 9.0], P)
    ax = result.plot(X1, X2).axes[0]
    np.testing.assert_allclose(segments(ax), np.stack([X1, X2], axis=1)[[1, 2, 0]])
    with pytest.raises(ValueError, match=r"x2 must have shape \(3, 2\), got \(2, 2\)"):
        result.plot(X1, X2[:2])
    with pytest.raises(ValueError, match="trace=True"):
        result.plot()
