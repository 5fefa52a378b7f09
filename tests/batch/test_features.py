"""The cache of image features: damaged files are named."""

import errno
from pathlib import Path

import numpy as np
import pytest

from bansac.batch import features
from bansac.batch.features import FeatureStore, compute_features, load_features
from bansac.executors import ItemFailure, threads
from bansac.matches.image_matching import Features


def test_damaged_features_are_named(tmp_path: Path) -> None:
    arrays = {"points": np.zeros((300, 2)), "descriptors": np.zeros((300, 128)), "size": np.array(500)}
    np.savez_compressed(tmp_path / "size.npz", **arrays)
    content = bytearray((tmp_path / "size.npz").read_bytes())
    content[80:90] = b"\xff" * 10
    (tmp_path / "zlib.npz").write_bytes(content)
    (tmp_path / "end.npz").write_bytes(content[:-9])
    for name in ("size.npz", "zlib.npz", "end.npz"):
        with pytest.raises(OSError, match=f"{name} cannot be read"):
            load_features(tmp_path / name)


def test_an_image_fails_if_its_features_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    found = Features(np.zeros((3, 2)), np.zeros((3, 128), np.float32), (10, 10))
    monkeypatch.setattr(features, "detect_features", lambda *_, **__: found)
    monkeypatch.setattr(np, "savez", fail)
    (tmp_path / "a.png").touch()
    failure = compute_features(FeatureStore(tmp_path, 100, 100), {"a": tmp_path / "a.png"}, threads, 1)["a"]
    assert isinstance(failure, ItemFailure)
    assert ".npz: cannot be written: No space left" in failure.reason
