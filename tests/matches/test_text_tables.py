from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bansac.matches.text_tables import read_table

COLUMNS = ("x1", "y1", "x2", "y2")


@pytest.mark.parametrize("separator", [",", ";", "\t", " "])
def test_a_name_in_another_column_changes_no_number(tmp_path: Path, separator: str) -> None:
    """NumPy reads tables of numbers alone; tables with text are read field by field."""
    table = np.random.default_rng(0).normal(scale=[1e-9, 1.0, 1e3, 1e12, 1.0], size=(50, 5))
    header = separator.join([*COLUMNS, "score"])
    plain, named = tmp_path / "plain", tmp_path / "named"
    rows = [separator.join(map(repr, row)) for row in table.tolist()]
    plain.write_text("\n".join([header, *rows]))
    named.write_text("\n".join([header + separator + "name", *(f"{row}{separator}a" for row in rows)]))
    for path in (plain, named):
        points, scores = read_table(path, COLUMNS)
        np.testing.assert_array_equal(points, table[:, :4])
        assert scores is not None
        np.testing.assert_array_equal(scores, table[:, 4])
