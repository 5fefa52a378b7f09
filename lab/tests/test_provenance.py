import csv
import functools
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bansac
import bansac_lab
from bansac.batch.output_files import OutputFolder
from bansac.compiled import source
from bansac_lab import pairs, provenance
from bansac_lab.experiments import EXPERIMENTS, find_experiment
from bansac_lab.grid import Grid
from bansac_lab.measurement import Setup
from bansac_lab.peers.methods import RANSAC
from bansac_lab.provenance import _BLOCK, data_fingerprint, installed_versions
from bansac_lab.provenance import fingerprint as run_fingerprint
from bansac_lab.runner import run_experiment
from bansac_lab.sets.labelled import LabelledSet
from lab.tests import toy
from lab.tests.pair_sets import write_homography_set, write_pose_set
from lab.tests.sets.test_labelled import write_labelled_set

GRID = Grid((RANSAC.configured("plain", {}),), models=("E", "F", "H"))


def fingerprint(root: Path, **changes: Any) -> dict[str, Any]:
    """Return that of the sets that a grid takes."""
    return data_fingerprint(root, GRID.sets(Setup(data=root, **changes)))


class TestFingerprint:
    """Sets are written with real pairs; what is changed afterwards are bytes at the end of a file."""

    def write(self, root: Path, *names: str) -> Path:
        for name in names or ("room",):
            write_pose_set(root / name, pairs=1)
        return root

    def append(self, path: Path, content: bytes = b"x") -> None:
        path.write_bytes(path.read_bytes() + content)

    def digest(self, root: Path, **changes: Any) -> str:
        return str(fingerprint(root, **changes)["sha256"])

    def test_it_is_of_the_content_not_of_the_place(self, tmp_path: Path) -> None:
        here = self.write(tmp_path / "here")
        shutil.copytree(here, tmp_path / "there")
        found = fingerprint(here)
        assert found["files"] == 5
        assert found["bytes"] == sum(path.stat().st_size for path in (here / "room").iterdir())
        assert found["folder"] == "here"
        assert self.digest(here) == self.digest(tmp_path / "there")

    def test_content_and_names_count_but_no_file_that_is_not_read(self, tmp_path: Path) -> None:
        root = self.write(tmp_path / "sets")
        digests = [self.digest(root)]
        for name in ("matches.h5", "match_conf.h5", "K1_K2.h5", "R.h5", "T.h5"):
            self.append(root / "room" / name)
            digests.append(self.digest(root))
        (root / "room").rename(root / "yard")
        digests.append(self.digest(root))
        assert len(set(digests)) == len(digests)
        (root / "yard" / "mutual.h5").write_bytes(b"x")
        assert self.digest(root) == digests[-1]

    def test_sets_that_are_not_used_do_not_count(self, tmp_path: Path) -> None:
        both = self.write(tmp_path, "room", "yard")
        alone = self.digest(both / "room")
        assert self.digest(both, exclude=("yard",)) == alone == self.digest(both, sets=("room",))
        assert self.digest(both) != alone
        wall = write_homography_set(tmp_path / "wall", pairs=1)
        before = self.digest(tmp_path, model="H")
        self.append(tmp_path / "room" / "R.h5")
        assert self.digest(tmp_path, model="H") == before
        self.append(wall / "size.h5")
        assert self.digest(tmp_path, model="H") != before

    def test_labelled_sets(self, tmp_path: Path) -> None:
        x = np.ones((8, 2))
        write_labelled_set(tmp_path / "rooms" / "val", {"a-b": (x, x, np.ones(8), np.eye(3))})
        chosen = [LabelledSet(tmp_path / "rooms" / "val")]
        before = data_fingerprint(tmp_path, chosen)
        assert before["files"] == 3
        self.append(tmp_path / "rooms" / "val" / "labels.h5")
        assert data_fingerprint(tmp_path, chosen)["sha256"] != before["sha256"]

    def test_large_files_are_sampled(self, tmp_path: Path) -> None:
        root = self.write(tmp_path)
        path = root / "room" / "T.h5"
        content = path.read_bytes() + bytes(4 * _BLOCK)
        path.write_bytes(content)
        plain = self.digest(root)
        for place in (-4 * _BLOCK, len(content) // 2, len(content) - 1):
            changed = bytearray(content)
            changed[place] = 1
            path.write_bytes(changed)
            assert self.digest(root) != plain
        path.write_bytes(content + b"\0")
        assert self.digest(root) != plain
        assert data_fingerprint(None, []) == {}


def test_changed_split_is_not_taken_from_the_journal_of_the_old_one(tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    experiment = find_experiment("markov-order")
    setup = Setup(data=data, pairs=1, repeats=1, model="F", sets=("x-val",))
    matches = []
    for number in (120, 100):
        shutil.rmtree(data, ignore_errors=True)
        write_pose_set(data / "x" / "val", pairs=1, matches=number)
        run_experiment(experiment, setup, OutputFolder(out))
        with (out / "runs.csv").open(encoding="utf-8") as file:
            matches.append({row["matches"] for row in csv.DictReader(file)})
        pairs.open_set.cache_clear()
        pairs._read_pair.cache_clear()
    assert matches == [{"120"}, {"100"}]


class TestRunFingerprint:
    """What makes a journal stale, and what does not."""

    @pytest.fixture
    def packages(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """Return a folder with copies of the source of both packages that can be edited."""
        for module in (bansac, bansac_lab):
            copy = tmp_path / module.__name__
            shutil.copytree(Path(module.__file__ or "").parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
        monkeypatch.setattr(source, "PACKAGE", tmp_path / "bansac")
        monkeypatch.setattr(provenance, "_LABORATORY", tmp_path / "bansac_lab")
        return tmp_path

    def digest(self, **changes: Any) -> str:
        return run_fingerprint(toy.make_toy(**changes), Setup(), {})

    @pytest.mark.parametrize("module", ["bansac/engine/loop.py", "bansac_lab/scenes.py"])
    def test_source_of_both_packages(self, packages: Path, module: str) -> None:
        before = self.digest()
        (packages / module).write_text("# edited\n")
        assert self.digest() != before

    def test_values(self) -> None:
        values = [
            (),
            {"a": 1},
            {"a": 2},
            RANSAC.configured("plain", {}),
            RANSAC.configured("plain", {"network": bansac.Network(order=2)}),
            RANSAC.configured("plain", {"network": bansac.Network(cpt=np.zeros((2, 2)))}),
            RANSAC.configured("plain", {"network": bansac.Network(cpt=np.ones((2, 2)))}),
            functools.partial(toy.run_unit, 1),
            functools.partial(toy.run_unit, 2),
        ]
        assert len({self.digest(values=value) for value in values}) == len(values)
        assert [self.digest(values=value) for value in values] == [self.digest(values=value) for value in values]
        with pytest.raises(TypeError, match="plain values and functions"):
            self.digest(values=object())

    def test_every_experiment_has_one_of_its_own(self) -> None:
        digests = {run_fingerprint(find_experiment(name), Setup(), {}) for name in EXPERIMENTS}
        assert len(digests) == len(EXPERIMENTS)


def test_versions_name_the_peers() -> None:
    pytest.importorskip("cv2")
    versions = installed_versions(["bansac", "cv2", "no_such_package"])
    assert {"bansac", "numpy", "numba", "python", "cv2"} == versions.keys()
