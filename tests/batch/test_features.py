"""The cache of image features: damaged files are named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bansac.batch.features import FeatureStore


def test_damaged_features_are_named(tmp_path: Path) -> None:
    arrays = {"points": np.zeros((300, 2)), "descriptors": np.zeros((300, 128)), "size": np.array(500)}
    np.savez_compressed(tmp_path / "size.npz", **arrays)
    content = bytearray((tmp_path / "size.npz").read_bytes())
    content[80:90] = b"\xff" * 10
    (tmp_path / "zlib.npz").write_bytes(content)
    (tmp_path / "end.npz").write_bytes(content[:-9])
    for name in ("size.npz", "zlib.npz", "end.npz"):
        with pytest.raises(OSError, match=f"{name} cannot be read"):
            FeatureStore(tmp_path, 100, 100).load(name)
