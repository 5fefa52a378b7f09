"""The page on COLMAP against the options of the installed pycolmap."""

import re
from pathlib import Path

import pycolmap

from bansac.colmap import VerificationOptions


def rows_of_the_table() -> dict[str, str]:
    """Return what the page says of each option of COLMAP."""
    page = (Path(__file__).parents[2] / "docs" / "colmap.md").read_text(encoding="utf-8")
    section = page.partition("\n## COLMAP's options\n")[2].partition("\n## ")[0]
    cells = re.findall(r"^\| (`[^|]*`) \| ([^|]*) \|", section, re.MULTILINE)
    return {name: ours for names, ours in cells for name in re.findall("`(.*?)`", names)}


def options_of_colmap() -> dict[str, object]:
    options = pycolmap.TwoViewGeometryOptions().todict()
    return options | {f"ransac.{name}": value for name, value in options.pop("ransac").items()}


def test_every_option_of_colmap_stands_in_the_table():
    assert options_of_colmap().keys() - rows_of_the_table().keys() == set()


def test_the_same_options_have_the_same_names_and_defaults():
    ours, theirs = VerificationOptions(), options_of_colmap()
    same = [name for name, what in rows_of_the_table().items() if what == "same"]
    assert len(same) > 7
    assert [getattr(ours, name.removeprefix("ransac.")) for name in same] == [theirs[name] for name in same]
