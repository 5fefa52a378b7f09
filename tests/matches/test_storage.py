"""Files that are written at once or not at all."""

import pytest

from bansac.matches.storage import write_json


def test_a_missing_folder_is_named_with_the_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"a\.json: there is no folder .*none$"):
        write_json(tmp_path / "none" / "a.json", {})
