"""The page in a real browser: headless Chromium, one session for all tests."""

import dataclasses
import re

import numpy as np
import pytest

import bansac
from bansac.estimate.result import Rival
from bansac.synthetic import epipolar_matches
from tests.browser import open_browser, webdriver

pytestmark = pytest.mark.slow

support = pytest.importorskip("selenium.webdriver.support.wait", reason="the browser is driven by Selenium")
keys = pytest.importorskip("selenium.webdriver.common.keys", reason="the browser is driven by Selenium").Keys


class Page:
    """A report in the browser."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, path):
        self.driver.get(path.as_uri())
        self.wait("panels.every((panel) => !panel.image || panel.bitmap)")

    def wait(self, condition):
        """Wait until a condition in JavaScript holds."""
        support.WebDriverWait(self.driver, 10).until(lambda _: self.js(f"return {condition}"))

    def js(self, code, *arguments):
        return self.driver.execute_script(code, *arguments)

    def find(self, selector):
        return self.driver.find_element("css selector", selector)

    def text(self, selector):
        return self.find(selector).get_property("textContent")

    def press(self, selector, *what):
        self.js("arguments[0].focus()", self.find(selector))
        webdriver.ActionChains(self.driver).send_keys(*what).perform()

    def emulate(self, command, **arguments):
        self.driver.execute_cdp_cmd(f"Emulation.{command}", arguments)

    def counters(self):
        return self.js("return Object.fromEntries([...document.querySelectorAll('dl div')].map((row) =>"
                       " [row.children[0].textContent, row.children[1].textContent]))")  # fmt: skip

    def shown(self):
        return int(self.text("#shown").split()[0])

    def colours(self):
        """Return the colours of the picture at the points of every panel, (panels, N, RGBA)."""
        colours = self.js(
            "const canvas = element('picture');"
            "const image = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);"
            "return Array.from({ length: ends.length / 2 }, (_, k) => {"
            "  const [x, y] = [ends[2 * k], ends[2 * k + 1]].map((at) => Math.floor(at * devicePixelRatio));"
            "  return [...image.data.slice(4 * (y * image.width + x), 4 * (y * image.width + x) + 4)];"
            "})"
        )
        return np.array(colours).reshape(self.js("return panels.length"), -1, 4)


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with open_browser(tmp_path_factory.mktemp("browser")) as session:
        yield session


@pytest.fixture(scope="module")
def file(case, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "page.html"
    case.result.report(path, case.x1, case.x2, image1=case.image1, image2=case.image2)
    return path


@pytest.fixture
def page(driver, file):
    """Return the page, just opened; at the end of the test it must have neither errors nor requests."""
    page = Page(driver)
    page.open(file)
    yield page
    assert driver.get_log("browser") == []
    requests = page.js("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert [name for name in requests if not name.startswith("data:")] == []


def test_the_answer_is_shown_first(page, case):
    assert page.text(".verdict strong") == "success"
    assert page.text("#step-text") == f"answer, after {case.result.iterations} iterations"
    assert page.find("input[value=posterior]").is_selected()
    assert page.shown() == 200
    p = case.result.probabilities
    colours = page.colours()
    assert (colours[:, np.argmax(p), 2] > colours[:, np.argmax(p), 0] + 50).all()  # bluish
    assert (colours[:, np.argmin(p), 0] > colours[:, np.argmin(p), 2] + 50).all()  # reddish


def test_the_slider_replays_the_run(page, case):
    trace = case.result.trace
    page.press("#step", keys.HOME)
    assert page.text("#step-text") == "start"
    assert page.counters()["Best model: inliers"] == "no model"
    assert page.find("input[value=belief]").is_selected()
    for _ in range(4):
        page.press("#step", keys.ARROW_RIGHT)
    at = int(trace.frames[4])
    words = f"iteration {at} of {len(trace)}, restart 1"
    assert page.text("#step-text") == page.find("#step").get_attribute("aria-valuetext") == words
    counters, row = page.counters(), at - 1
    assert counters["Best model: inliers"] == str(trace.best_inliers[row])
    assert counters["Best model: outliers"] == str(trace.outliers[row])
    assert counters["Improbable data"] == str(trace.low_probability[row])
    assert counters["Iterations required"] == f"{int(np.ceil(trace.required_iterations[row])):,}"
    page.find("#show-outliers").click()
    assert page.shown() == trace.frame_inliers[4].sum() == trace.best_inliers[row]
    page.js("select(7)")
    assert f"belief {trace.frame_beliefs[4][7] / 255:.3f}" in page.text("#datum")
    page.press("#step", keys.END, keys.ARROW_LEFT)
    assert page.text("#step-text") == f"iteration {len(trace)} of {len(trace)}, restart {trace.restart[-1]}"
    page.press("#step", keys.ARROW_RIGHT)
    assert page.find("input[value=posterior]").is_selected()
    assert page.shown() == case.result.num_inliers
    counters = page.counters()
    assert counters["This model"] == "no update: the refined model of the best restart"
    assert counters["Best model: inliers"] == str(case.result.num_inliers)
    assert counters["Best model: outliers"] == str(200 - case.result.num_inliers)


def test_iterations_without_a_model_have_no_update(page, case):
    trace = case.result.trace
    rows = trace.frames[1:] - 1
    without, learnt = (
        1 + int(np.argmax(where)) for where in (np.isnan(trace.inlier_ratio[rows]), trace.gamma[rows] > 0)
    )
    page.js(f"go({without})")
    assert page.counters()["This model"] == "no update: no model passed the checks"
    page.js(f"go({learnt})")
    assert page.counters()["This model"] == f"weight of its vote (gamma) {trace.gamma[rows[learnt - 1]]:.3f}"


def test_the_numbers_of_an_axis_are_round(page):
    assert page.js("return ticks(-1.03, 1.02, 5)") == [-1, -0.5, 0, 0.5, 1]
    assert page.js("return ticks(0, 3123, 4)") == [0, 1000, 2000, 3000]


def test_play_goes_through_the_frames(page):
    page.press("#play", keys.SPACE)
    assert page.find("#play").get_attribute("aria-pressed") == "true"
    page.wait("0 < state.step && state.step < ANSWER")
    page.press("#play", keys.SPACE)
    assert page.text("#play") == "Play"
    assert page.text("#step-text").startswith("iteration ")
    page.js("go(ANSWER - 1); play(true)")
    page.wait("!state.playing")
    assert page.text("#step-text").startswith("answer")


def test_a_match_under_the_pointer_says_its_numbers(page, case):
    i, picture = int(np.argmax(case.result.residuals)), page.find("#picture")
    x, y = page.js(f"return [ends[{2 * i}], ends[{2 * i + 1}]]")
    size = picture.rect
    move = webdriver.ActionChains(page.driver).move_to_element_with_offset
    move(picture, round(x - size["width"] / 2), round(y - size["height"] / 2)).perform()
    found = int(re.match(r"match (\d+): ", page.text("#datum"))[1])
    assert np.hypot(*(case.x1[found] - case.x1[i])) < 20  # the nearest one, of many
    (x1, y1), (x2, y2), result = case.x1[found], case.x2[found], case.result
    assert page.text("#datum").startswith(f"match {found}: ({x1:.2f}, {y1:.2f}) to ({x2:.2f}, {y2:.2f}), residual ")
    numbers = [float(word) for word in re.findall(r"(?:residual|posterior|belief) ([\d.e+-]+)", page.text("#datum"))]
    expected = (result.residuals[found], result.probabilities[found], result.beliefs[found])
    np.testing.assert_allclose(numbers, expected, rtol=1e-3, atol=6e-4)
    assert page.text("#datum").endswith(", inlier" if result.inliers[found] else ", outlier")


def test_filters_by_mask_and_by_value(page, case):
    p, inliers = case.result.probabilities, case.result.inliers
    page.find("#show-inliers").click()
    assert page.shown() == np.sum(~inliers)
    page.find("#show-inliers").click()
    assert page.text("#filtered") == "probability"
    page.press("#low", *[keys.ARROW_RIGHT] * 30)
    page.press("#high", *[keys.ARROW_LEFT] * 5)
    assert page.text("#range") == "0.30 to 0.95"
    assert page.shown() == np.sum((p >= 0.3) & (p <= 0.95))
    page.find("input[value=belief]").click()
    assert page.text("#filtered") == "value"
    assert page.shown() == np.sum((case.result.beliefs >= 0.3) & (case.result.beliefs <= 0.95))
    page.press("#step", keys.ARROW_LEFT)
    assert page.find("input[value=belief]").is_selected()


def test_everything_is_reached_by_keyboard(page):
    page.js("document.activeElement.blur()")
    order, outlines = [], []
    for _ in range(9):
        webdriver.ActionChains(page.driver).send_keys(keys.TAB).perform()
        focus = page.driver.switch_to.active_element
        order.append(focus.get_attribute("id") or focus.get_attribute("value"))
        outlines.append(focus.value_of_css_property("outline-style"))
        assert focus.accessible_name
    assert order == [
        "posterior", "lines", "show-inliers", "show-outliers", "low", "high", "picture", "play", "step"
    ]  # fmt: skip
    assert set(outlines) == {"solid"}
    page.press("#picture", keys.ARROW_RIGHT, keys.ARROW_RIGHT)
    assert page.text("#datum").startswith("match 1: ")
    page.press("#picture", keys.ARROW_LEFT, keys.ARROW_LEFT)
    assert page.text("#datum").startswith("match 199: ")
    page.press("#picture", keys.ESCAPE)
    assert page.text("#datum").startswith("Point at a match")
    page.press("input[value=lines]", keys.ARROW_RIGHT)
    assert page.find("input[value=points]").is_selected()


def test_dark_mode_and_a_narrow_window(page):
    light = page.find("body").value_of_css_property("background-color")
    try:
        page.emulate("setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        assert page.find("body").value_of_css_property("background-color") != light
        assert page.js("return panels[1].top") == 0
        page.emulate("setDeviceMetricsOverride", width=360, height=800, deviceScaleFactor=2, mobile=False)
        page.wait("panels[1].top > 0")
        assert page.js("return document.documentElement.scrollWidth <= innerWidth")
        assert page.js(
            "return [...document.querySelectorAll('pre')].every((one) => one.scrollWidth <= one.clientWidth)"
        )
        assert page.js("return panels.every((panel) => panel.left >= 0 && panel.left + panel.width <= innerWidth)")
    finally:
        page.emulate("clearDeviceMetricsOverride")
        page.emulate("setEmulatedMedia", features=[])


def test_an_image_whose_name_is_a_script_does_not_run(page, case, tmp_path):
    import cv2

    name = "<script>hacked=1<img src=x onerror=hacked=1>.png"
    content = cv2.imencode(".png", case.image1)[1].tobytes()
    (tmp_path / name).write_bytes(content)
    settings = {name: f"</script>{name}"}
    case.result.report(tmp_path / "evil.html", case.x1, case.x2, image1=tmp_path / name, settings=settings)
    page.open(tmp_path / "evil.html")
    assert page.text("h1") == page.driver.title == name
    assert page.js("return typeof hacked") == "undefined"
    assert page.js("return document.querySelectorAll('body img').length") == 0
    assert page.js("return [...document.querySelectorAll('td')].pop().textContent") == settings[name]


def test_the_page_in_a_notebook(page, case, tmp_path):
    frame = case.result.show(case.x1, case.x2, image1=case.image1, image2=case.image2)._repr_html_()
    (tmp_path / "notebook.html").write_text(f"<!doctype html><title>notebook</title>{frame}", encoding="utf-8")
    page.driver.get((tmp_path / "notebook.html").as_uri())
    assert page.find("iframe").rect["height"] == 800
    page.driver.switch_to.frame(page.find("iframe"))
    page.wait("panels.every((panel) => panel.bitmap)")
    assert page.shown() == 200
    page.press("#step", keys.HOME)
    assert page.text("#step-text") == "start"
    p = case.result.probabilities
    page.press("#step", keys.END)
    assert (page.colours()[:, np.argmax(p), 2] > 150).all()  # bluish
    page.driver.switch_to.default_content()


def test_points_of_a_line_without_a_trace(page, tmp_path):
    points = np.column_stack([np.arange(40.0), np.where(np.arange(40) % 4, 2 * np.arange(40.0), 99.0)])
    result = bansac.fit_line(points, threshold=0.1)
    result.report(tmp_path / "line.html", points)
    page.open(tmp_path / "line.html")
    assert page.text("#shown") == "40 of 40 points shown"
    assert not page.find("#replay").is_displayed()
    assert not page.find("#draw").is_displayed()
    assert page.js("return ends[3] > ends[5]")  # the second axis points upwards
    page.press("#picture", keys.ARROW_RIGHT)
    assert page.text("#datum").startswith("point 0: (0.00, 99.00), residual ")


def test_without_success_there_is_no_posterior(page, tmp_path):
    rng = np.random.default_rng(5)
    x1, x2 = rng.uniform(0, 600, (2, 60, 2))
    result = bansac.estimate_homography(x1, x2, sampler="uniform", trace=True)
    assert not result.success
    result.report(tmp_path / "failure.html", x1, x2)
    page.open(tmp_path / "failure.html")
    assert page.find("input[value=inliers]").is_selected()
    assert not page.find("input[value=posterior]").is_enabled()
    assert not page.find("input[value=belief]").is_enabled()
    page.press("#step", keys.HOME)
    page.find("#show-outliers").click()
    assert page.shown() == 0
    page.press("#step", keys.END)
    assert page.shown() == result.num_inliers


@pytest.fixture(scope="module")
def two_views():
    """Return matches and the result of their fundamental matrix, with the model of others as its rival."""
    scene = epipolar_matches(100, inlier_ratio=0.7, noise=0.3, seed=1)
    result = bansac.estimate_fundamental(scene.x1, scene.x2)
    turned = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # matches are in the same row
    own = np.arange(100) < 20
    return scene.x1, scene.x2, dataclasses.replace(result, rival=Rival(turned, own, 1e3))


def test_epipolar_lines_of_a_match_and_of_the_place_of_the_pointer(page, two_views, tmp_path):
    x1, x2, result = two_views
    dataclasses.replace(result, rival=None).report(tmp_path / "page.html", x1, x2)
    page.open(tmp_path / "page.html")
    i, size = int(np.argmin(result.residuals)), page.find("#picture").rect
    page.js(f"select({i})")
    for line, x in zip(page.js("return epipolarLines(fundamentals[0][0])"), (x1[i], x2[i]), strict=True):
        assert abs(np.dot(line, [*x, 1])) < 2 * result.threshold * np.hypot(*line[:2])
    page.js("select(-1)")
    assert page.js("return epipolarLines(fundamentals[0][0])") == [None, None]
    # The pointer is in image 2, far from all matches that are shown.
    page.js("element('show-inliers').click(); element('show-outliers').click()")
    at = page.js("return [panels[1].left + 0.3 * panels[1].width, 0.4 * panels[1].height]")
    move = webdriver.ActionChains(page.driver).move_to_element_with_offset
    move(page.find("#picture"), round(at[0] - size["width"] / 2), round(at[1] - size["height"] / 2)).perform()
    here = page.js("return state.pointer")
    line1, line2 = page.js("return epipolarLines(fundamentals[0][0])")
    corner, extent = (np.array(page.js(f"return panels[1].{name}")) for name in ("corner", "extent"))
    np.testing.assert_allclose(here["x"][:2], corner + [0.3, 0.4] * extent, atol=0.01 * extent.max())
    assert here["panel"] == 1
    np.testing.assert_allclose(np.cross(line1, result.model.T @ here["x"]) / np.dot(line1, line1), 0, atol=1e-9)
    assert abs(np.dot(line2, here["x"])) < 1e-6 * np.linalg.norm(line2) * np.linalg.norm(here["x"])
    # Lines of both images correspond: a point of one has the other as its line.
    point = np.cross(line2, [1.0, 0.5, 7.0])
    expected = result.model.T @ point
    np.testing.assert_allclose(
        np.cross(line1 / np.linalg.norm(line1), expected / np.linalg.norm(expected)), 0, atol=1e-6
    )
    at_the_pointer = "positions(panels[1], state.pointer.x.slice(0, 2)).map((at) => at * devicePixelRatio)"
    pixel = f"element('picture').getContext('2d').getImageData(...{at_the_pointer}, 1, 1).data[0]"
    assert page.js(f"return {pixel}") > 150
    move(page.find("h1"), 0, 0).perform()
    assert page.js("return state.pointer") is None


def test_the_rival_is_beside_the_model(page, two_views, tmp_path):
    x1, x2, result = two_views
    assert not page.find("#rival").is_displayed()
    result.report(tmp_path / "page.html", x1, x2)
    page.open(tmp_path / "page.html")
    page.find("#rival input").click()
    ours, theirs = result.inliers, result.rival.inliers
    counts = [np.count_nonzero(mask) for mask in (ours | theirs, ours & ~theirs, theirs & ~ours, ours & theirs)]
    assert min(counts) > 0
    words = "{} of 100 matches shown: {} of the model alone, {} of the rival alone, {} of both".format(*counts)
    assert page.text("#shown") == words
    colours = page.colours()
    model, rival = (int(np.flatnonzero(mask)[0]) for mask in (ours & ~theirs, theirs & ~ours))
    assert (colours[:, model, 2] > colours[:, model, 0] + 50).all()
    assert (colours[:, rival, 0] > colours[:, rival, 2] + 50).all()
    page.js(f"select({rival})")
    assert ", inlier of the rival, outlier" in page.text("#datum")
    assert page.js("return fundamentals.length") == 2
