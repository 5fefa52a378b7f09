"""The examples of the documentation run, and the commands in it exist with their options.

The Python blocks of a page run one after the other, with the names of those before. A block that cannot run here has
the comment ``<!-- not run: REASON -->`` before it. One with ``<!-- needs PACKAGE -->`` runs where that is installed.
"""

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from bansac.cli.app import app
from bansac.matches import load_demo
from bansac.synthetic import epipolar_matches

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for pattern in ("*.md", "docs/**/*.md", "benchmarks/README.md")
    for path in sorted(ROOT.glob(pattern))
}
COMMENT = r"<!-- (?:not run: (?P<reason>.+?)|needs (?P<needs>\w+)) -->\n\n"
FENCE = re.compile(rf"^(?:{COMMENT})?```(?P<language>\w+)\n(?P<code>.*?)^```$", re.M | re.S)


def blocks(page: str, language: str) -> Iterator[re.Match[str]]:
    return (fence for fence in FENCE.finditer(PAGES[page]) if fence["language"] == language)


def program(page: str) -> str:
    """Return the Python blocks of a page as one file, whose lines have the numbers that they have on the page."""
    lines = [""] * (PAGES[page].count("\n") + 1)
    for fence in blocks(page, "python"):
        if fence["reason"] is None and (fence["needs"] is None or find_spec(fence["needs"])):
            first = PAGES[page].count("\n", 0, fence.start("code"))
            code = fence["code"].splitlines()
            lines[first : first + len(code)] = code
    return "\n".join(lines)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files that the examples read."""
    folder = tmp_path_factory.mktemp("examples")
    pair = load_demo()
    assert pair.image1 is not None
    assert pair.image2 is not None
    shutil.copy(pair.image1, folder / "left.jpg")
    shutil.copy(pair.image2, folder / "right.jpg")
    (folder / "pairs").mkdir()
    for seed in range(2):
        scene = epipolar_matches(200, inlier_ratio=0.7, noise=0.1, seed=seed)
        np.savez(folder / "pairs" / f"{seed}.npz", x1=scene.x1, x2=scene.x2)
    return folder


@pytest.fixture
def lightglue() -> dict[str, Any]:
    """Return matches as LightGlue gives them, and the camera matrix that a user has."""
    scene = epipolar_matches(300, inlier_ratio=0.5, noise=0.2, seed=3)
    order = np.random.default_rng(0).permutation(len(scene))
    return {
        "keypoints0": scene.x1,
        "keypoints1": scene.x2[np.argsort(order)],
        "pairs": np.column_stack([np.arange(len(scene)), order]),
        "scores": np.where(scene.inliers, 0.9, 0.5).astype(np.float32),
        "K": scene.K,
    }


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if program(page).strip()])
def test_the_examples_of_a_page_run(
    page: str,
    folder: Path,
    lightglue: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    file = folder / f"{page.replace('/', '_')}.py"
    file.write_text(program(page), encoding="utf-8")  # Numba and tracebacks want the source
    names: dict[str, Any] = {"__name__": file.stem, **(lightglue if page == "docs/quick-start.md" else {})}
    exec(compile(file.read_text(encoding="utf-8"), file, "exec"), names)
    if "result" in names:
        assert names["result"].success, names["result"]
    if page == "docs/quick-start.md":
        printed = capsys.readouterr().out
        assert [fence["code"] for fence in blocks(page, "text") if fence["code"] not in printed] == []


@pytest.mark.parametrize("page", PAGES)
def test_a_block_that_is_not_run_says_why(page: str) -> None:
    assert PAGES[page].count("\n<!-- not run") == sum(
        fence["reason"] is not None for fence in FENCE.finditer(PAGES[page])
    )


def commands(page: str) -> Iterator[list[str]]:
    """Return the calls of ``bansac`` in the shell blocks and in the code of the text, without comments."""
    shell = [line for fence in blocks(page, "sh") for line in fence["code"].replace("\\\n", "").splitlines()]
    inline = re.findall(r"`(bansac [^`]+)`", FENCE.sub("", PAGES[page]).replace("\n", " "))
    for line in shell + inline:
        for call in " ".join(shlex.split(line, comments=True)).split("&&"):
            if call.split()[:1] == ["bansac"]:
                yield call.split()[1:]


@pytest.mark.parametrize("page", [page for page in PAGES if any(commands(page))])
def test_commands_and_their_options_exist(page: str) -> None:
    for arguments in commands(page):
        if arguments[0] != "COMMAND":
            value = ["1"] if arguments[-1].startswith("-") else []  # of an option that a text names alone
            shown = CliRunner().invoke(app, [*arguments, *value, "--help"])  # refuses what does not exist
            assert shown.exit_code == 0, f"{page}: bansac {' '.join(arguments)}: {shown.output}"


def test_a_wrong_command_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(
        PAGES, "page.md", "```sh\nbansac bench EF --model E \\\n    --method all  # a comment --here\n```\n"
    )
    assert list(commands("page.md")) == [["bench", "EF", "--model", "E", "--method", "all"]]
    with pytest.raises(
        AssertionError, match=r"bansac bench EF --model E --method all: (.|\n)*No such option.*--method"
    ):
        test_commands_and_their_options_exist("page.md")


NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs(path: Path) -> None:
    cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert cells
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in cells)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Proactor event loop:RuntimeWarning")  # of ZeroMQ on Windows
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))  # of the kernel's process
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in shown)
    assert [output["text"] for output in shown if output.get("name") == "stderr"] == []
