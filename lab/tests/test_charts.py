"""Charts show the numbers that they are given."""

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="figures need Matplotlib")

from bansac_lab.charts import STYLES, Chart, Series, plot_charts


def test_lines_and_bars_have_their_values():
    figure = plot_charts(
        [[Chart([Series("a", [1, 2, 4], [3.0, 5.0, np.nan], [0.5, 1.0, 0.0])], title="t", xlabel="x")]]
    )
    (ax,) = figure.axes
    line = ax.containers[0].lines[0]
    np.testing.assert_array_equal(line.get_xydata(), [[1, 3], [2, 5], [4, np.nan]])
    bars = ax.containers[0].lines[2][0].get_segments()
    np.testing.assert_allclose(bars[1], [[2, 4], [2, 6]])
    assert (ax.get_title(), ax.get_xlabel()) == ("t", "x")
    assert not figure.legends  # one line needs none


def test_a_label_looks_the_same_in_all_charts_and_stands_in_the_legend_once():
    charts = [
        Chart([Series(name, [1, 2], [1, 2]) for name in names], yscale="log") for names in (("b", "BANSAC"), ("b",))
    ]
    figure = plot_charts([charts])
    first, second = (ax.containers[0].lines[0] for ax in figure.axes)
    assert first.get_color() == second.get_color()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["b", "BANSAC"]
    assert figure.axes[0].containers[1].lines[0].get_color() == STYLES["BANSAC"][0]


def test_many_lines_look_different_and_their_labels_fit():
    labels = [f"a method with a long name, number {i}" for i in range(15)]
    figure = plot_charts([[Chart([Series(label, [1, 2], [1, 2]) for label in labels])]])
    lines = [container.lines[0] for container in figure.axes[0].containers]
    assert len({(line.get_color(), line.get_marker(), line.get_linestyle()) for line in lines}) == 15
    (legend,) = figure.legends
    figure.draw_without_rendering()
    box = legend.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1


@pytest.mark.parametrize(("low", "high", "some"), [(1, 10000, {"1", "100", "10000"}), (3.1, 5.2, {"4", "5"})])
def test_a_logarithmic_axis_has_several_plain_labels(low, high, some):
    figure = plot_charts([[Chart([Series("a", [1, 2], [low, high])], yscale="log")]])
    figure.canvas.draw()
    (ax,) = figure.axes
    assert some <= {text.get_text() for text in ax.get_yticklabels(which="both")}
