import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bansac as library


@pytest.fixture
def two_lines(tmp_path: Path) -> tuple[Path, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 140)
    y = np.where(np.arange(140) < 60, 0.5 * x, -x) + rng.normal(0, 0.003, 140)
    points = np.column_stack([x, np.where(np.arange(140) < 110, y, rng.uniform(-1, 1, 140))])
    np.savetxt(tmp_path / "points.csv", points, delimiter=",", fmt="%.17g")
    return tmp_path / "points.csv", points


def test_models_and_labels_are_the_librarys(bansac: Any, tmp_path: Path, two_lines: Any) -> None:
    file, points = two_lines
    text = bansac("estimate", file, "--model", "line", "--multiple", "--out", tmp_path / "out").output
    expected = library.estimate_multiple("line", points)
    document = json.loads((tmp_path / "out" / "result.json").read_text())
    assert [found["parameters"] for found in document["models"]] == [model.tolist() for model in expected.models]
    assert [found["num_points"] for found in document["models"]] == np.bincount(expected.labels + 1)[1:].tolist()
    assert document["success"] is True
    assert document["stop_reason"] == "no_more"
    with np.load(tmp_path / "out" / "data.npz") as data:
        np.testing.assert_array_equal(data["labels"], expected.labels)
        np.testing.assert_array_equal(data["probabilities"], expected.probabilities)
        np.testing.assert_array_equal(data["points"], points)
    assert "2 x line" in text
    assert text.count("line: a = ") == 2


def test_ellipses_have_the_columns_of_a_single_one(bansac: Any, tmp_path: Path) -> None:
    t = np.linspace(0, 6, 80)
    points = np.vstack([np.column_stack([x + a * np.cos(t), np.sin(t)]) for x, a in ((0.0, 3.0), (9.0, 2.0))])
    np.savetxt(tmp_path / "points.csv", points + np.random.default_rng(0).normal(0, 1e-3, points.shape), delimiter=",")
    call = ("estimate", tmp_path / "points.csv", "--model", "ellipse", "--multiple", "--threshold", "0.01")
    models = [found["parameters"] for found in bansac.json(*call)["models"]]
    np.testing.assert_allclose(sorted(model[:4] for model in models), [[0, 0, 3, 1], [9, 0, 2, 1]], atol=0.01)
    assert bansac(*call).output.count("ellipse: x = ") == 2


def test_a_limit_and_its_errors(bansac: Any, two_lines: Any) -> None:
    file, _ = two_lines
    document = bansac.json("estimate", file, "--model", "line", "--multiple", "--max-models", "1")
    assert len(document["models"]) == 1
    assert document["stop_reason"] == "max_models"
    assert "--max-models needs --multiple" in bansac.refused("estimate", file, "--model", "line", "--max-models", "1")
