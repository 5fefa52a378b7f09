"""``bansac estimate`` on a folder or a list of files: many pairs on all cores, in one file of results.

What is done is kept in a journal beside the results (``results.sqlite`` for ``results.npz``), a transaction a pair: an
interrupted run goes on where it was, and another run on the same folder estimates only what is new, has changed or
has failed.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bansac.cli.arguments import sampling_settings
from bansac.cli.console import note_on_interrupt, notes, print_json, report, show_progress
from bansac.cli.result_files import COPIED, WRITERS, Record, check_packages
from bansac.datasets import HlocPairs, Matches, PairSet, find_sets
from bansac.datasets.files import read_matches
from bansac.estimate.batch import Failure, iter_estimates
from bansac.evaluation.experiment import Unit
from bansac.evaluation.files import check_writable
from bansac.evaluation.journal import Journal
from bansac.evaluation.provenance import installed_versions, source_digest
from bansac.evaluation.task import Kind
from bansac.geometry import essential_from_pose
from bansac.result import RelativePose, Result
from bansac.storage import write_atomically

PROBLEMS: dict[Kind, str] = {"H": "homography", "F": "fundamental", "E": "relative_pose"}

# Files of a folder that are pairs; .txt is that of a list.
SUFFIXES = (".csv", ".npz", ".h5", ".hdf5")

# Failures that are shown; the file has all.
_SHOWN = 10

Cameras = tuple[NDArray[np.float64], NDArray[np.float64]]


@dataclass(frozen=True)
class Source:
    """Where a pair comes from: its name, what changes with its files, and the function that reads it."""

    name: str
    stamp: str
    read: Callable[[], Matches]

    @property
    def unit(self) -> Unit:
        """Its entry in the journal."""
        return Unit(f"{self.name}\n{self.stamp}")


def wants_batch(file: Path, pair: str | None, out: Path | None, features: Path | None) -> bool:
    """Return whether the arguments of the command mean many pairs."""
    return features is not None or (file.is_dir() and pair is None) or (out is not None and out.suffix in WRITERS)


def estimate_files(
    file: Path,
    model: Kind,
    out: Path | None,
    *,
    features: Path | None,
    workers: int | None,
    cameras: Cameras | None,
    sampler: str,
    no_scores: bool,
    seed: int,
    settings: Mapping[str, Any],
    json: bool,
) -> None:
    """Estimate the pairs of a folder or a list and write the results; pairs that cannot be read are in the summary.

    With hloc's ``features`` the file has hloc's matches.
    """
    hloc = None if features is None else HlocPairs(features, file)
    path = _check_out(out, WRITERS if hloc is None else (*WRITERS, ".h5"))
    if hloc is not None and path.resolve() in (hloc.features.resolve(), hloc.matches.resolve()):
        raise ValueError(f"--out: {path} is read, and the results would replace it; name another file")
    sources = find_sources(file, path) if hloc is None else [_hloc_source(hloc, key) for key in hloc.keys]
    common = {**settings, "sampler": sampler}

    def load(source: Source) -> dict[str, Any]:
        matches = source.read()
        named = {"x1": matches.x1, "x2": matches.x2, "seed": seed}
        if model == "E":
            named["K1"], named["K2"] = cameras or (matches.K1, matches.K2)
        return named | sampling_settings(sampler, matches.scores, no_scores)

    failed: dict[str, str] = {}
    with Journal(path.with_suffix(".sqlite"), _fingerprint(model, cameras, no_scores, seed, common)) as journal:
        missing = [source for source in sources if source.unit not in journal]
        loaders = (lambda source=source: load(source) for source in missing)
        results = iter_estimates(PROBLEMS[model], loaders, workers=workers, **common)
        with note_on_interrupt(), show_progress("pairs", len(sources), len(sources) - len(missing)) as advance:
            for source, result in zip(missing, results, strict=True):
                if isinstance(result, Failure):
                    failed[source.name] = result.message
                else:
                    journal.add(source.unit, [_as_row(result)], alone=True)
                advance()
        records = Records(sources, journal, failed)
        if hloc is not None and path.suffix == ".h5":
            nothing = np.empty(0, np.bool_)
            hloc.write_verified(path, ((r.name, r.inliers if r.success else nothing) for r in records))
        else:
            write_atomically(path, lambda temporary: WRITERS[path.suffix](temporary, records))
        successes = sum(record.success for record in records)
    summary = {"out": str(path), "pairs": len(sources), "new": len(missing), "successes": successes, "failed": failed}
    print_json(summary) if json else _show(summary)


def _check_out(out: Path | None, suffixes: Collection[str]) -> Path:
    if out is None or out.suffix not in suffixes:
        raise ValueError(
            f"--out must name a file {' or '.join(f'*{suffix}' for suffix in suffixes)} for the results of many pairs "
            f"(--pair chooses one of a set), got {out and str(out)!r}"
        )
    check_packages(out.suffix)
    check_writable(out.parent, repr(str(out)))
    if out.is_dir():
        raise IsADirectoryError(f"--out: cannot write {str(out)!r}: is a folder")
    return out


def find_sources(path: Path, out: Path) -> list[Source]:
    """Return the pairs of a folder (h5 sets or files), of a list of files (.txt), or of one file."""
    if not path.is_dir():
        if not path.is_file():
            raise FileNotFoundError(f"{path}: there is no such file or folder")
        names = _read_list(path) if path.suffix == ".txt" else [path.name]
        sources = [_file_source(name, path.parent / name) for name in names]
    elif any(path.rglob("matches.h5")):
        sources = [_set_source(pair_set, key) for pair_set in find_sets(path) for key in pair_set.keys]
    else:
        files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES and not _same(file, out))
        sources = [_file_source(file.relative_to(path).as_posix(), file) for file in files]
    if not sources:
        raise ValueError(
            f"{path}: holds no pairs; a folder has sets, or files {', '.join(SUFFIXES)}; a .txt their names"
        )
    return sources


def _same(file: Path, out: Path) -> bool:
    return file.resolve() == out.resolve()


def _read_list(path: Path) -> list[str]:
    """Return the lines of a list without blank ones and comments."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not a text file") from None
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


def _file_source(name: str, file: Path) -> Source:
    return Source(name, _stamp(file), lambda: read_matches(file))


def _set_source(pair_set: PairSet, key: str) -> Source:
    def read() -> Matches:
        matches = pair_set.pair(key)
        return replace(matches, scores=None if matches.scores is None else np.clip(matches.scores, 0.0, 1.0))

    return Source(f"{pair_set.name}/{key}", _stamp(pair_set.folder / "matches.h5"), read)


def _hloc_source(pairs: HlocPairs, key: str) -> Source:
    return Source(key, f"{_stamp(pairs.matches)} {_stamp(pairs.features)}", lambda: pairs.pair(key))


def _stamp(file: Path) -> str:
    """Return size and time of a file: another content has another stamp; "" if it is not there."""
    try:
        status = file.stat()
    except OSError:
        return ""
    return f"{status.st_size} {status.st_mtime_ns}"


def _fingerprint(model: Kind, cameras: Cameras | None, no_scores: bool, seed: int, common: Mapping[str, Any]) -> str:
    """Return a digest of what the results depend on besides the pairs."""
    matrices = None if cameras is None else [camera.tolist() for camera in cameras]
    parts = [model, matrices, no_scores, seed, dict(common), source_digest(), installed_versions()]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class Records:
    """The results of all pairs in their order, read from the journal each time they are gone through."""

    def __init__(self, sources: Sequence[Source], journal: Journal, failed: Mapping[str, str]) -> None:
        self._sources = sources
        self._journal = journal
        self._failed = failed

    def __iter__(self) -> Iterator[Record]:
        """Read the records one by one."""
        for source in self._sources:
            rows = self._journal.rows(source.unit)
            yield _as_record(source.name, rows[0]) if rows else Record(source.name, message=self._failed[source.name])


def _as_row(result: Result) -> dict[str, Any]:
    """Return a result as plain values, arrays as base64 of their bytes."""
    pose = result.model if isinstance(result.model, RelativePose) else None
    model = result.model if pose is None else essential_from_pose(pose.R, pose.t)
    arrays = {
        "model": model,
        "R": None if pose is None else pose.R,
        "t": None if pose is None else pose.t,
        "inliers": np.packbits(result.inliers),
        "probabilities": None if result.probabilities is None else result.probabilities.astype(np.float32),
    }
    encoded = {name: None if array is None else _encode(array) for name, array in arrays.items()}
    return {name: getattr(result, name) for name in COPIED} | {"num_data": len(result.inliers)} | encoded


def _as_record(name: str, row: Mapping[str, Any]) -> Record:
    bits = _decode(row["inliers"], np.uint8)
    assert bits is not None
    arrays: dict[str, Any] = {field: _decode(row[field], np.float64) for field in ("model", "R", "t")}
    arrays["inliers"] = np.unpackbits(bits, count=row["num_data"]).astype(np.bool_)
    arrays["probabilities"] = _decode(row["probabilities"], np.float32)
    return Record(name, num_data=row["num_data"], **{field: row[field] for field in COPIED}, **arrays)


def _encode(array: NDArray[Any]) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()


def _decode(text: str | None, dtype: Any) -> NDArray[Any] | None:
    return None if text is None else np.frombuffer(base64.b64decode(text), dtype)


def _show(summary: Mapping[str, Any]) -> None:
    failed = summary["failed"]
    for name, message in list(failed.items())[:_SHOWN]:
        notes.print(f"bansac: {name}: {message}", markup=False)
    if len(failed) > _SHOWN:
        notes.print(f"bansac: ... and {len(failed) - _SHOWN} more")
    without = summary["pairs"] - summary["successes"] - len(failed)
    report.print(
        f"{summary['out']}: {summary['pairs']} pairs, {summary['new']} of them new; "
        f"{summary['successes']} with a model, {without} without, {len(failed)} failed",
        markup=False,
    )
