"""The documentation is current: its links and file names exist, its times are those of reports."""

import re
import tomllib
from pathlib import Path

import draw_gallery
import numpy as np
import pictures
import pytest
import site_pages

import bansac
from bansac.evidence.neighbours import neighbour_priors
from bansac.matches import load_demo
from bansac.problems.estimators import ESTIMATORS
from bansac_lab import pages, reports
from bansac_lab.metrics import pose_error
from tests.test_examples import PAGES, ROOT

ARCHITECTURE = PAGES["docs/architecture.md"]


def guide() -> list[str]:
    """Return the pages for users: the README and the guide of the site."""
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("  - Guide:")[2].partition("\n  - ")[0]
    return ["README.md", *(f"docs/{name}" for name in re.findall(r": (\S+\.md)$", navigation, re.MULTILINE))]


def measured_times(text: str) -> list[str]:
    """Return the times in the prose of a page that no report renders."""
    prose = re.sub(r"^```.*?^```$", "", pages.MARKED.sub("", text), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"\d[\d.,]* ?(?:[mnµu]?s|seconds|minutes|hours)\b", prose)


@pytest.mark.parametrize("page", guide())
def test_times_on_pages_for_users_are_those_of_a_report(page: str) -> None:
    assert measured_times(PAGES[page]) == [], "mark the figure, or link to the table"


def test_a_time_that_is_not_of_a_report_is_noticed() -> None:
    text = (
        "F takes 31.3 ms, <!-- figure: first-call -->18 seconds<!-- end -->\n\n```sh\nsleep 3 s\n```\n\nand 2 minutes."
    )
    assert measured_times(text) == ["31.3 ms", "2 minutes"]


@pytest.mark.parametrize("page", guide())
def test_a_page_for_users_has_times_of_one_age(page: str) -> None:
    days = {}
    for kind, name, text in pages.MARKED.findall(PAGES[page]):
        if kind == "table" and re.search(r"\d ms\b", text):
            days[name] = set(re.findall(r" on (20\d\d-\d\d-\d\d)", text))
    assert len(set().union(*days.values())) <= 1, days


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_headings(page: str) -> None:
    path = ROOT / page
    for target in re.findall(r"\]\(([^)\s]+)\)", PAGES[page]):
        if target.startswith(("https://", "http://")):
            continue
        name, _, anchor = target.partition("#")
        linked = (path.parent / name).resolve() if name else path
        assert linked.exists(), f"{page} links to {target}"
        if anchor:
            assert anchor in anchors(linked), f"{page} links to {target}"


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings of a page, as GitHub makes them, and of the names that it documents."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    documented = re.findall(r"^::: (\S+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings} | set(documented)


def test_the_reference_has_every_public_name() -> None:
    pages = "".join(text for name, text in PAGES.items() if name.startswith("docs/api/"))
    documented = re.findall(r"^::: bansac\.(\w+)$", pages, re.MULTILINE)
    assert sorted(documented) == sorted(bansac.__all__)


def test_the_reference_lists_the_estimators_of_the_table() -> None:
    documented = re.findall(r"^::: bansac\.(\w+)$", PAGES["docs/api/estimators.md"], re.MULTILINE)
    assert documented == [*(row.function for row in ESTIMATORS), "focals_from_fundamental", "estimate_multiple"]


def test_every_page_is_in_the_navigation() -> None:
    navigation = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(navigation) == sorted(map(site_pages.site_path, PAGES))


@pytest.mark.parametrize(
    ("page", "link", "on_site"),
    [
        ("docs/choosing.md", "../src/bansac/cli/compile_ahead.py#L1", "src/bansac/cli/compile_ahead.py#L1"),
        ("docs/choosing.md", "results.md", "results.md"),
        ("docs/api/results.md", "../../examples/plane.py", "../examples/plane.py"),
        ("benchmarks/README.md", "../docs/choosing.md#which-preset", "../choosing.md#which-preset"),
        ("README.md", "docs/images/demo.jpg", "images/demo.jpg"),
        ("README.md", "https://a.org/b.md", "https://a.org/b.md"),
        ("README.md", "#citing", "#citing"),
    ],
)
def test_links_are_moved_to_the_site(page: str, link: str, on_site: str) -> None:
    assert site_pages.move_links(f"[a]({link}), ![b]({link})", page) == f"[a]({on_site}), ![b]({on_site})"


def test_the_files_that_the_architecture_names_are_there() -> None:
    named = set(re.findall(r"`([\w.-]+/[\w./-]+|\w+\.toml)`|\b([\w/]+\.py)\b", ARCHITECTURE))
    named = {folder or file for folder, file in named}
    assert {"engine/loop.py", "engine/sampling", "pyproject.toml"} <= named
    known = [ROOT, ROOT / "src" / "bansac", ROOT / "lab" / "src"]
    missing = [name for name in named if "NAME" not in name and not any((folder / name).exists() for folder in known)]
    assert missing == []


def test_the_map_has_the_layers_of_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    drawn = re.search(r"```text\n(.*?)```", ARCHITECTURE, re.DOTALL)
    assert drawn is not None
    rows = [line for line in drawn[1].splitlines() if line and not line.startswith(" ")]
    assert len(rows) == len(layers)
    for row, layer in zip(rows, layers, strict=True):
        assert set(re.findall(r"\w+", layer)) <= set(re.findall(r"\w+", row.partition("  ")[0])), row


def test_the_figures_of_how_it_works_are_drawn() -> None:
    assert re.findall(r"\(images/(\S+)\)", PAGES["docs/how-it-works.md"]) == list(pictures.HOW_IT_WORKS)
    for name, draw in pictures.HOW_IT_WORKS.items():
        assert (ROOT / "docs" / "images" / name).is_file()
        assert all(ax.has_data() for ax in draw().axes)


def test_the_priors_of_how_it_works_are_those_of_the_demo_pair() -> None:
    pair = load_demo()
    neighbours = neighbour_priors(np.column_stack([pair.x1, pair.x2]).T.copy())
    right, wrong = ([np.median(p[mask]) for p in (pair.scores, neighbours)] for mask in (pair.inliers, ~pair.inliers))
    of_scores, of_neighbours, *of_wrong = (f"{median:.2f}"[1:] for median in (*right, *wrong))
    text = "a right match is {} from the scores and {} from the neighbours, that of a wrong match {} and {}."
    assert text.format(of_scores, of_neighbours, *of_wrong) in PAGES["docs/how-it-works.md"]


def test_the_caption_of_the_depths_has_the_numbers_of_right_poses() -> None:
    pytest.importorskip("skimage", reason="the depths come with scikit-image")
    caption = r"After (\d+) iterations, the pose is right for (\d+) of 20 seeds without depths, and for (\d+) with"
    found = re.search(caption, PAGES["docs/depth.md"].replace("\n", " "))
    assert found is not None
    iterations, *expected = map(int, found.groups())
    assert iterations == pictures.ITERATIONS
    runs = [pictures.poses_of_motorcycle(seed) for seed in range(20)]
    for name, number in zip(runs[0], expected, strict=True):
        errors = [pose_error(*run[name].model, np.eye(3), [-1, 0, 0]) for run in runs]
        assert abs(sum(error < 10 for error in errors) - number) <= 3


def test_the_pictures_and_times_of_the_gallery_are_those_of_its_sections() -> None:
    timed = reports.bench("gallery")["seconds"]
    for name, _ in draw_gallery.sections(PAGES["docs/gallery.md"]):
        assert (f"<!-- figure: gallery-{name} -->" in PAGES["docs/gallery.md"]) == (name in timed)
        assert (ROOT / "docs" / "images" / f"gallery_{name}.jpg").stat().st_size <= 60_000


@pytest.mark.parametrize("name", ["E", "F", "H_exact"])
def test_the_pictures_of_the_results_cut_no_name(name: str) -> None:
    figure = pictures.results(name)
    figure.draw_without_rendering()
    assert all(text.get_window_extent().x1 <= figure.bbox.x1 for ax in figure.axes for text in ax.texts)
