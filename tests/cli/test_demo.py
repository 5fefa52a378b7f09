import re
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

import bansac as bansac_library
from bansac.cli import demo as demo_module
from bansac.matches import load_motorcycle_matches

ROOT = Path(__file__).parents[2]


def test_learning_matters_on_the_pair_of_the_demo(bansac: Any) -> None:
    found = bansac.json("demo")["fundamental"]
    assert list(found["methods"]) == ["uniform", "bansac", "p-bansac"]
    assert found["methods"]["bansac"]["right"] >= found["methods"]["uniform"]["right"] + 4
    assert found["methods"]["bansac"]["successes"] >= 9
    assert found["methods"]["bansac"]["distance"] < 0.5
    assert (found["num_matches"], found["num_true"], found["runs"]) == (1076, 51, 10)


def without_times(text: str) -> str:
    return re.sub(r"[\d.]+ ms", "TIME", text)


def test_readme_and_demo_print_the_same_numbers(bansac: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    code, shown = re.findall(r"```(?:python|text)\n(.*?)```", readme, re.DOTALL)[:2]
    names: dict[str, Any] = {}
    exec(code, names)
    result = names["result"]
    demo = bansac("demo").stdout
    counts = f"{result.iterations} iterations, {result.models_tested} models, stopped by {result.stop_reason}"
    assert counts in demo
    assert f"{result.num_inliers} of {len(result.inliers)} inliers" in demo
    if numba.__version__.startswith("0.68"):  # the same bits are promised for one version only
        rights = [re.search(rf"{sampler}  +(\d+ of 10)", demo)[1] for sampler in (" uniform", " bansac")]  # type: ignore[index]
        true = load_motorcycle_matches().inliers
        kept = f"{np.count_nonzero(result.inliers & true)} of the {np.count_nonzero(true)} true matches"
        assert kept in readme
        assert "uniform sampling finds the model in {} runs, BANSAC in {}.".format(*rights) in readme
        uniform = bansac_library.estimate_fundamental(
            names["pair"].x1, names["pair"].x2, sampler="uniform", max_iterations=result.iterations
        )
        caption = (
            f"keeps {np.count_nonzero(uniform.inliers & true)}, BANSAC {np.count_nonzero(result.inliers & true)}, in"
        )
        assert f"{caption} {result.iterations:,} iterations each" in readme
        assert without_times(shown).split() == without_times(repr(result)).split()


@pytest.mark.slow
def test_times_are_those_of_kernels_in_memory(bansac: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    estimate, loading = demo_module.estimate_two_view, []

    def listen(*arguments: Any, **settings: Any) -> Any:
        answer = estimate(*arguments, **settings)
        loading.append(answer.result.loading_seconds)
        return answer

    monkeypatch.setattr(demo_module, "estimate_two_view", listen)
    shown = bansac("demo").stdout
    assert len(loading) == 3 + 3 * 10 + 1  # the last one for the picture
    assert not any(loading[3:])
    assert "to load or compile the kernels" in shown
    (picture,) = tmp_path.iterdir()
    assert picture.name == "bansac_demo_matches.png"
    assert f"wrote {picture.resolve()}" in shown


def test_picture_needs_a_folder_that_is_writable(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path) -> None:
        raise OSError("read-only")

    monkeypatch.setattr(demo_module, "OutputFolder", refuse)
    demo_module._draw(None, None)  # type: ignore[arg-type]
    assert "no picture: the current folder is not writable" in capsys.readouterr().err


def test_demo_for_readers_without_any_extra(bansac: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "cv2", None)
    result = bansac("demo")
    assert "p-bansac" in result.stdout
    assert "pip install matplotlib" in result.stderr
    assert not list(tmp_path.iterdir())
