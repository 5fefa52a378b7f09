"""Figures of the evolution of probabilities: what they show, read back from their artists."""

import numpy as np
import pytest

from bansac_lab.evolution import plot_point_evolution, plot_probability_evolution
from tests.plotting.test_plotting import IMAGE1, IMAGE2, X1, X2, P, colors, drawn_inside, segments


def test_evolution_shows_each_record_once():
    snapshots = {0: [0.5, 0.5, 0.5], 10: [0.9, 0.1, 0.5], 73: [1.0, 0.0, 0.9]}
    figure = plot_probability_evolution(IMAGE1, IMAGE2, X1, X2, snapshots)
    titles = [ax.get_title() for ax in figure.axes]
    assert titles == ["Start", "Iteration 10", "Iteration 73", ""]
    np.testing.assert_array_equal(segments(figure.axes[1])[:, 0], X1[[1, 2, 0]])
    np.testing.assert_array_equal(segments(figure.axes[2])[:, 0], X1[[1, 2, 0]])
    assert len(np.unique(colors(figure.axes[0]), axis=0)) == 1


def test_evolution_outlines_image_1_in_image_2():
    shift = np.array([[1, 0, 20], [0, 1, 10], [0, 0, 1.0]])
    figure = plot_probability_evolution(
        IMAGE1, IMAGE2, X1, X2, {0: P}, iterations=[0], H_true=shift, H_estimated=np.eye(3)
    )
    true, estimated = figure.axes[-1].lines
    corners = np.array([[0, 0], [79, 0], [79, 59], [0, 59]])
    for line, offset in ((true, [20, 10]), (estimated, [0, 0])):
        drawn = np.column_stack(line.get_data())
        np.testing.assert_allclose(drawn.min(axis=0), corners.min(axis=0) + offset)
        np.testing.assert_allclose(drawn.max(axis=0), corners.max(axis=0) + offset)
        np.testing.assert_allclose(drawn[0], drawn[-1])
    assert (true.get_color(), estimated.get_color()) == ("#2ecc40", "#ff3b30")
    labels = [text.get_text() for text in figure.axes[-1].get_legend().get_texts()]
    assert labels == ["image 1, true", "image 1, estimated"]


@pytest.mark.parametrize(
    "H",
    [
        np.diag([1000.0, 1000.0, 1.0]),  # far larger than the picture
        np.array([[1, 0, 0], [0, 1, 0], [-1 / 60, 0, 1.0]]),  # the horizon crosses image 1
        np.zeros((3, 3)),  # no point at all
    ],
)
def test_wild_homographies_do_not_shrink_the_picture(H, tmp_path):
    figure = plot_probability_evolution(IMAGE1, IMAGE2, X1, X2, {0: P}, iterations=[0], H_estimated=H)
    ax = figure.axes[-1]
    assert -60 < ax.get_xlim()[0] < 0 < 199 < ax.get_xlim()[1] < 260
    figure.savefig(tmp_path / "wild.png")
    assert (tmp_path / "wild.png").stat().st_size > 1000


def test_points_are_coloured_by_probability_and_the_probable_are_on_top():
    points = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    curve = [[0.0, 0.0], [4.0, 4.0]]
    figure = plot_point_evolution(
        points, {0: [0.5] * 3, 4: [0.9, 0.1, 0.5]}, iterations=(0, 4), curve_true=curve, curves={4: curve}
    )
    start, later = figure.axes[:2]
    assert (start.get_title(), later.get_title()) == ("Start", "Iteration 4")
    dots = later.collections[0]
    np.testing.assert_array_equal(dots.get_offsets(), [points[1], points[2], points[0]])
    np.testing.assert_array_equal(dots.get_array(), [0.1, 0.5, 0.9])
    assert [len(ax.lines) for ax in (start, later)] == [1, 2]  # no estimate at the start
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["true curve", "best model so far"]


def test_missing_snapshots_are_named():
    with pytest.raises(ValueError, match=r"at or before iteration 0, got \[5\]"):
        plot_probability_evolution(IMAGE1, IMAGE2, X1, X2, {5: P})
    with pytest.raises(ValueError, match=r"snapshots\[0\] must have shape"):
        plot_probability_evolution(IMAGE1, IMAGE2, X1, X2, {0: P[:1]})


def test_legends_cover_no_data():
    snapshots = {0: P, 10: P}
    for figure in (
        plot_probability_evolution(IMAGE1, IMAGE2, X1, X2, snapshots, H_estimated=np.eye(3)),
        plot_point_evolution(X1, snapshots, curve_true=X2),
    ):
        drawn_inside(figure)
