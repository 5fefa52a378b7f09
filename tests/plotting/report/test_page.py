"""What the page of a report has in it, and what is refused."""

import base64
import dataclasses
import hashlib
import json
import re
from html import unescape
from pathlib import Path

import numpy as np
import pictures
import pytest

import bansac
from bansac.engine.trace import Trace
from bansac.estimate.result import Rival, threshold_in_words
from bansac.matches import load_demo
from bansac.plotting.report.epipolar import fundamental_of
from bansac.synthetic import epipolar_matches

ROOT = Path(__file__).resolve().parents[3]
EVIL = "</script><script>hacked=1</script>&\"'"


def read_page(path):
    """Return the text of a page and its data."""
    text = path.read_text(encoding="utf-8")
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return text, json.loads(found[1])


def decode(text, kind):
    return np.frombuffer(base64.b64decode(text), kind)


def test_the_page_has_the_data_and_the_frames(case, tmp_path):
    result, trace = case.result, case.result.trace
    result.report(tmp_path / "page.html", case.x1, case.x2, settings={"sampler": "bansac"})
    text, data = read_page(tmp_path / "page.html")
    n = len(case.x1)
    np.testing.assert_array_equal(decode(data["points"][0], "<f8").reshape(n, 2), case.x1)
    np.testing.assert_array_equal(decode(data["posterior"], "<f4"), result.probabilities.astype(np.float32))
    np.testing.assert_array_equal(decode(data["residuals"], "<f4"), result.residuals.astype(np.float32))
    frames = data["frames"]
    assert frames["at"] == trace.frames.tolist()
    np.testing.assert_array_equal(decode(frames["beliefs"], np.uint8).reshape(-1, n), trace.frame_beliefs)
    bits = np.unpackbits(decode(frames["inliers"], np.uint8), bitorder="little", count=trace.frame_inliers.size)
    np.testing.assert_array_equal(bits.reshape(-1, n), trace.frame_inliers)
    assert frames["counters"]["best_inliers"][1:] == trace.frame_inliers[1:].sum(axis=1).tolist()
    assert frames["restart"] == [1, *trace.restart[trace.frames[1:] - 1]]
    assert frames["ends"] == [int(np.sum(trace.restart <= k)) for k in range(1, trace.restart.max())]
    for shown in ("success", result.message, result.stop_reason, "sampler", "200 matches"):
        assert shown in text


def test_the_page_loads_nothing_and_knows_its_script_by_its_hash(case, tmp_path):
    case.result.report(tmp_path / "page.html", case.x1, case.x2, image1=case.image1, image2=case.image2)
    text, _ = read_page(tmp_path / "page.html")
    assert re.findall(r"https?:|//\w+\.\w+/|@import|url\(", text) == []
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none'; img-src data:;")
    for tag in ("style", "script"):
        content = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[1]
        assert base64.b64encode(hashlib.sha256(content.encode()).digest()).decode() in policy


def test_a_notebook_shows_the_page_in_a_frame(case, tmp_path):
    options = {"image1": case.image1, "image2": case.image2, "settings": {"sampler": EVIL}, "title": EVIL}
    case.result.report(tmp_path / "page.html", case.x1, case.x2, **options)
    page = case.result.show(case.x1, case.x2, **options)
    assert page.html == read_page(tmp_path / "page.html")[0]
    (document,) = re.findall(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts" ', page._repr_html_())
    assert unescape(document) == page.html
    assert len(repr(page)) < 100


def test_names_and_settings_are_escaped(case, tmp_path):
    settings = {EVIL: EVIL, "<b>": ["<i>"]}
    result = dataclasses.replace(case.result, message=EVIL, stop_reason=EVIL, configuration=EVIL)
    result.report(tmp_path / "page.html", case.x1, case.x2, title=EVIL, settings=settings)
    text, _ = read_page(tmp_path / "page.html")
    assert not re.search("<script>hacked|<b>|<i>", text)
    assert "&lt;script&gt;hacked=1" in text


def test_five_thousand_matches_of_noisy_images_take_five_megabytes_at_most(case, tmp_path):
    rng = np.random.default_rng(0)
    n, iterations, frames = 5000, 20_000, 139
    x = rng.uniform(0, 3000, (n, 2))
    columns = {name: rng.uniform(0, 1e6, iterations) for name in ("inlier_ratio", "gamma", "best_score")}
    counts = {name: rng.integers(0, n, iterations) for name in ("best_inliers", "low_probability", "outliers")}
    trace = Trace(
        **columns,
        **counts,
        required_iterations=rng.uniform(0, 1e9, iterations),
        restart=np.arange(iterations) // 10 + 1,
        frames=np.linspace(0, iterations, frames).astype(int),
        frame_beliefs=rng.integers(0, 256, (frames, n)).astype(np.uint8),
        frame_inliers=rng.random((frames, n)) < 0.5,
    )
    numbers = {name: rng.random(n) for name in ("residuals", "probabilities", "beliefs")}
    result = dataclasses.replace(case.result, inliers=rng.random(n) < 0.5, trace=trace, **numbers)
    noise = rng.integers(0, 256, (1280, 1280, 3)).astype(np.uint8)
    result.report(tmp_path / "page.html", x, x, image1=noise, image2=noise[::-1])
    assert 3e6 < (tmp_path / "page.html").stat().st_size <= 5e6


def test_points_of_a_line_without_images(tmp_path):
    points = np.column_stack([np.arange(40.0), 3 * np.arange(40.0)])
    result = bansac.fit_line(points, threshold=0.1)
    result.report(tmp_path / "page.html", points)
    text, data = read_page(tmp_path / "page.html")
    (panel,) = data["panels"]
    assert (panel["image"], panel["upwards"], data["frames"]) == (None, True, None)
    np.testing.assert_allclose(panel["corner"], [-0.05 * 39, -0.05 * 117])
    assert "<h1>40 points</h1>" in text


def test_a_map_points_north_beside_pixels(tmp_path):
    pixels = np.random.default_rng(0).uniform(0, 4000, (60, 2))
    places = pixels * [0.5, -0.5] + [500_000, 4_649_776]
    bansac.estimate_affine(pixels, places).report(tmp_path / "page.html", pixels, places)
    assert [panel["upwards"] for panel in read_page(tmp_path / "page.html")[1]["panels"]] == [False, True]


def test_the_page_marks_an_estimated_threshold_and_gives_the_first_one(case, tmp_path):
    result = case.result
    assert result.first_threshold == 2.0
    result.report(tmp_path / "page.html", case.x1, case.x2)
    assert f"<td>{result.threshold:g} (estimated, first 2)</td>" in read_page(tmp_path / "page.html")[0]
    given = bansac.estimate_homography(case.x1, case.x2, threshold=3.0)
    assert (given.first_threshold, threshold_in_words(given, "px")) == (None, "3 px")


def test_the_caption_of_the_picture_is_of_the_run_that_the_script_draws():
    trace = pictures.estimate_demo(load_demo()).trace
    caption = f"belief in each match after {trace.frames[pictures.FRAME]} of {len(trace)} iterations"
    assert caption in (ROOT / "docs" / "report.md").read_text(encoding="utf-8")


def test_epipolar_lines_are_those_of_fundamental_matrices_in_the_unit_of_the_points(case):
    scene = epipolar_matches(60, inlier_ratio=0.8, noise=0.3, seed=2)
    K = scene.K1
    E = np.asarray(scene.E)
    F = np.linalg.inv(scene.K2).T @ E @ np.linalg.inv(K)
    matches = scene.x1, scene.x2, scene.inliers, 2.0
    np.testing.assert_array_equal(fundamental_of(F, *matches), F)
    assert fundamental_of(E, *matches) is None
    assert fundamental_of(F, *matches[:2], np.zeros(60, bool), 2.0) is None
    assert fundamental_of(case.result.model, case.x1, case.x2, case.result.inliers, case.result.threshold) is None
    assert fundamental_of((E, E), *matches) is None


def test_epipolar_lines_of_a_given_matrix(case, tmp_path):
    F = np.arange(9.0).reshape(3, 3)
    case.result.report(tmp_path / "page.html", case.x1, case.x2, F=F)
    assert read_page(tmp_path / "page.html")[1]["epipolar"] == [F.ravel().tolist()]
    case.result.report(tmp_path / "page.html", case.x1, case.x2)
    assert read_page(tmp_path / "page.html")[1]["epipolar"] == []  # a homography


def test_a_rival_is_listed_with_what_it_shares(case, tmp_path):
    own = np.zeros(200, bool)
    own[:40] = True
    rival = Rival(case.result.model, own, 1.5)
    dataclasses.replace(case.result, rival=rival).report(tmp_path / "page.html", case.x1, case.x2)
    text, data = read_page(tmp_path / "page.html")
    shared = np.count_nonzero(case.result.inliers[:40])
    assert f"40 inliers at threshold 1.5, {shared} also of the model" in text
    np.testing.assert_array_equal(np.unpackbits(decode(data["rival"], np.uint8), bitorder="little", count=200), own)


def test_no_model_and_no_data(tmp_path):
    for n in (0, 3):
        points = np.arange(2.0 * n).reshape(n, 2)
        result = bansac.estimate_homography(points, points, trace=True)
        result.report(tmp_path / "page.html", points, points)
        text, data = read_page(tmp_path / "page.html")
        assert (data["count"], data["posterior"], data["frames"]) == (n, None, None)
        assert '<p class="verdict failure">' in text
        assert "no_data" in text


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"x1": np.ones((5, 2)), "x2": np.ones((5, 2))}, ValueError, r"x1 must have shape \(200, 2\), got \(5, 2\)"),
        ({"x2": np.ones((5, 2))}, ValueError, r"x2 must have shape \(200, 2\), got \(5, 2\)"),
        ({"x2": np.ones((200, 3))}, ValueError, r"x2 must have shape \(200, 2\)"),
        ({"x1": np.ones((200, 3)), "x2": np.ones((200, 3))}, ValueError, r"got points of space: see Result\.plot"),
        ({"x1": None}, ValueError, "x1 must be an array of real numbers, got NoneType"),
        ({"x2": None, "image2": np.zeros((9, 9))}, ValueError, "image2 must not be given without x2"),
        ({"image1": np.zeros(3)}, ValueError, "image1 must have shape"),
        ({"F": np.eye(2)}, ValueError, r"F must have shape \(3, 3\)"),
        ({"image1": "nowhere.jpg"}, OSError, r"nowhere\.jpg"),
        ({"path": "nowhere/page.html"}, FileNotFoundError, r"cannot write .*page\.html: there is no folder"),
    ],
)
def test_refused_arguments_are_named_and_nothing_is_written(case, tmp_path, change, error, message, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        case.result.report(**{"path": "page.html", "x1": case.x1, "x2": case.x2} | change)
    assert list(tmp_path.iterdir()) == []


def test_matches_are_drawn_by_their_probabilities(case):
    figure = case.result.plot_matches(case.image1, case.image2, case.x1, case.x2, max_matches=30, title="pair")
    assert figure.axes[0].get_title() == "pair"
    assert len(figure.axes[0].collections[0].get_segments()) == 30
    assert len(figure.axes) == 2  # with the scale of the probabilities
