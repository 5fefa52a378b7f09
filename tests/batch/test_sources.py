"""Sources of the pairs of a run."""

from __future__ import annotations

from pathlib import Path

from bansac.batch.sources import find_sources


def test_a_name_with_a_null_character_is_a_source_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("a\0.npz\n")
    (source,) = find_sources(tmp_path / "list.txt", tmp_path / "out.npz")
    assert source.stamp == ""
