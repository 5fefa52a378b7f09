"""Download, check and unpack the archives of the "RANSAC in 2020" tutorial, the source of the paper's data (Sec. 5).

An interrupted download restarts. The folder of an archive ``A.tar`` also contains:

==============  ============================================================================
``A.tar.json``  size and SHA-256 of the archive at its first use; number and size of its files
``A/``          the unpacked contents, either complete or absent
==============  ============================================================================

An archive placed there by other means is used like a downloaded one. For example, ``curl -C - -O URL`` can resume an
interrupted download. The archive may be deleted after it is unpacked.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

Stage: TypeAlias = Literal["download", "check", "unpack"]
Progress: TypeAlias = Callable[[Stage, int, int | None], None]
"""Function of the stage, the number of bytes done and the total number of bytes, None if unknown."""

_CHUNK = 1 << 16  # bytes
_TIMEOUT = 60.0  # seconds without a byte

BASE_URL = "http://cmp.felk.cvut.cz/~mishkdmy/CVPR-RANSAC-Tutorial-2020/"
"""Address of the tutorial's archives."""


@dataclass(frozen=True)
class Dataset:
    """Archive of a data set."""

    archive: str
    full_archive: str | None = None  # archive of the whole data set, if ``archive`` holds a part of it
    folder: str | None = None  # prefix of the folder's name in the archive, in lower case; None for the whole archive


DATASETS = {
    "phototourism": Dataset("RANSAC-Tutorial-Data-ValOnly.tar", full_archive="RANSAC-Tutorial-Data-EF.tar"),
    "evd": Dataset("homography.tar.gz", folder="evd"),
    "hpatches": Dataset("homography.tar.gz", folder="hpatches"),
}
"""Data sets by name. The validation scene of PhotoTourism is 2 GB, all scenes are 86 GB."""


def be_silent(stage: Stage, done: int, total: int | None) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class Fetched:
    """Data set on disk."""

    folder: Path  # for :func:`bansac.lab.sets.find_sets`
    archive: Path  # may have been deleted
    size: int  # of the archive, in bytes
    sha256: str  # of the archive, in hexadecimal digits
    was_there: bool  # whether the contents existed before the call


def fetch(
    dataset: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    full: bool = False,
    url: str = BASE_URL,
    progress: Progress | None = None,
) -> Fetched:
    """Download and unpack a data set, a key of ``DATASETS``, unless it exists.

    The size and the SHA-256 of the archive are recorded at its first use and checked at every later use. An
    interrupted step restarts from its beginning. ``folder`` receives the archive and its contents; by default it is the
    user's cache folder, ``pooch.os_cache("bansac")``. With ``full`` all scenes of PhotoTourism are fetched (86 GB)
    instead of the validation scene (2 GB). ``url`` is the address of the folder of the archives. ``progress`` receives
    the stage, the number of bytes done and the total number of bytes, None if unknown.

    A ValueError is raised if an argument is invalid. An OSError names the file if the archive cannot be downloaded,
    differs from its first use, is damaged or is unsafe to unpack; if unpacked files are missing; or if the disk is too
    small. An ImportError is raised if pooch is needed and not installed.

    Examples
    --------
    >>> fetch("evd", "data").folder  # doctest: +SKIP
    PosixPath('data/homography/EVD')
    """
    chosen, name = _choose(dataset, full)
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"url must begin with http:// or https://, got {url!r}")
    folder = Path(import_pooch().os_cache("bansac") if folder is None else folder)
    archive = folder / name
    target = folder / name.removesuffix(".gz").removesuffix(".tar")
    with _alone_in(folder):
        was_there = target.is_dir()
        record = _prepare(archive, target, f"{url.rstrip('/')}/{name}", progress or be_silent)
    return Fetched(_folder_of(chosen, target), archive, record.size, record.sha256, was_there)


def _prepare(archive: Path, target: Path, url: str, progress: Progress) -> _Record:
    """Download, check and unpack an archive; skip the steps that are already done."""
    record_path = archive.with_name(f"{archive.name}.json")
    record = _Record.read(record_path)
    if record is not None and target.is_dir() and not archive.exists():
        size, sha256 = record.size, record.sha256
    else:
        if not archive.exists():
            download(url, archive, progress=progress)
        size = archive.stat().st_size
        progress("check", 0, None)
        sha256 = import_pooch().file_hash(str(archive), alg="sha256")
        progress("check", size, size)
    if record is not None and (size, sha256) != (record.size, record.sha256):
        raise OSError(
            f"{archive} has size {size} and SHA-256 {sha256}, but had {record.size} and {record.sha256} when it was "
            f"first used; delete it to download it again, and {record_path.name} too to accept another version"
        )
    if not target.is_dir():
        unpack(archive, target, progress=progress)
    sizes = [path.stat().st_size for path in target.rglob("*") if path.is_file()]
    if record is None:
        record = _Record(size, sha256, len(sizes), sum(sizes))
        record.write(record_path)
    elif len(sizes) < record.files or sum(sizes) < record.contents:  # the user may have added files
        raise OSError(
            f"{target} holds {len(sizes)} files of {sum(sizes)} bytes, but {record.files} of {record.contents} bytes "
            "were unpacked there; delete the folder to unpack them again"
        )
    return record


def _choose(dataset: str, full: bool) -> tuple[Dataset, str]:
    """Return a data set and the name of its archive."""
    if dataset not in DATASETS:
        raise ValueError(f"dataset must be one of {', '.join(DATASETS)}, got {dataset!r}")
    chosen = DATASETS[dataset]
    if not full:
        return chosen, chosen.archive
    if chosen.full_archive is None:
        raise ValueError(f"full goes with phototourism alone: {dataset} comes in one size")
    return chosen, chosen.full_archive


def _folder_of(dataset: Dataset, target: Path) -> Path:
    """Return the folder of a data set within the unpacked archive; the whole contents if no folder has its name."""
    if dataset.folder is None:
        return target
    named = [path for path in target.rglob("*") if path.is_dir() and path.name.lower().startswith(dataset.folder)]
    return min(named, key=lambda path: (len(path.parts), path), default=target)


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Create the folder and lock it, so that two processes do not download or unpack the same archive.

    The operating system releases the lock when the process ends. On Windows the folder is not locked.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / ".bansac-fetch.lock").open("w")
    except OSError as error:
        raise OSError(f"cannot write into the folder {folder}: {error.strerror or error}") from error
    with file:
        if sys.platform != "win32":
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise OSError(f"another process is fetching data into {folder}") from None
            except OSError:  # some network file systems do not support locks
                pass
        yield


@dataclass(frozen=True)
class _Record:
    """Archive at its first use, and the files unpacked from it."""

    size: int  # of the archive, in bytes
    sha256: str
    files: int  # number of unpacked files
    contents: int  # total size of the unpacked files, in bytes

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Read a record from a JSON file; return None if the file does not exist."""
        try:
            return cls(**json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError):  # not UTF-8, not JSON, or wrong fields
            raise OSError(f"{path} is damaged; delete it, and the archive that it describes counts as new") from None

    def write(self, path: Path) -> None:
        """Write the file atomically."""
        temporary = path.with_name(f".{path.name}.new")
        temporary.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")
        temporary.replace(path)


def import_pooch() -> Any:
    """Import pooch; if it is missing, the ImportError names the extra to install."""
    try:
        import pooch
    except ImportError as error:
        raise ImportError("fetching data needs pooch: pip install pooch") from error
    return pooch


def download(url: str, target: Path, *, progress: Progress = be_silent) -> None:
    """Download a file over http or https, completely or not at all.

    If the download fails or the disk is too small, an OSError names the URL.
    """
    pooch = import_pooch()
    pooch.get_logger().setLevel("WARNING")
    with contextlib.ExitStack() as stack:

        def close_later(response: Any, **_: object) -> None:  # if the download fails, pooch leaves the response open
            stack.callback(response.close)

        settings = {"headers": {"Accept-Encoding": "identity"}, "hooks": {"response": close_later}}
        bar = _Bar(target.parent, progress)
        downloader = pooch.HTTPDownloader(bar, chunk_size=_CHUNK, timeout=_TIMEOUT, **settings)
        try:
            pooch.retrieve(url, None, target.name, target.parent, downloader=downloader)
        except OSError as error:  # the base class of the errors of requests as well
            raise OSError(f"cannot download {url}: {error}") from error


class _Bar:
    """Progress bar for pooch: it forwards the progress to a function and checks the disk space at the first step."""

    total = 0  # bytes, set by pooch; 0 if unknown

    def __init__(self, folder: Path, progress: Progress) -> None:
        self._folder, self._progress = folder, progress
        self._done = 0

    def update(self, step: int) -> None:
        if not self._done:  # the archive and its contents: at least twice the archive's size
            check_space(self._folder, 2 * self.total - step, "downloading and unpacking the file")
        self._done = min(self._done + step, self.total) if self.total else self._done + step
        self._progress("download", self._done, self.total or None)

    def reset(self) -> None:
        """Do nothing: the step that pooch makes afterwards covers at most the remaining bytes."""

    def close(self) -> None:
        """Do nothing: the caller of ``download`` owns the bar."""


def unpack(archive: Path, target: Path, *, progress: Progress = be_silent) -> None:
    """Unpack a plain or compressed tar archive into a new folder, completely or not at all.

    The contents are written to a hidden folder beside the target. The folder is renamed when it is complete. An
    archive with links, devices, absolute paths or paths out of the folder is refused. pooch.Untar is not used because
    it extracts without a filter below Python 3.12.

    Raises
    ------
    OSError
        If the archive is missing, damaged, unsafe, empty or not a tar archive; if the disk is too small; or if the
        target exists and is not an empty folder. The message names the archive.
    """
    temporary = target.with_name(f".{target.name}.unpacking")
    shutil.rmtree(temporary, ignore_errors=True)  # left by a killed process
    try:
        with archive.open("rb") as file, tarfile.open(fileobj=file) as tar:
            size = archive.stat().st_size

            def accept(member: tarfile.TarInfo, folder: str) -> tarfile.TarInfo | None:
                progress("unpack", file.tell(), size)
                if not (member.isreg() or member.isdir()) or member.name.startswith(("/", "\\")):
                    raise ValueError(f"its member {member.name!r} is a link, a device or has an absolute path")
                return tarfile.data_filter(member, folder)

            tar.extractall(temporary, filter=accept)
            _check_end(tar)
            progress("unpack", size, size)
        if not any(path.is_file() for path in temporary.rglob("*")):
            raise ValueError("it holds no files")
        temporary.rename(target)
    except Exception as error:  # damaged archives raise errors of tarfile, zlib, lzma, struct and others
        raise OSError(f"cannot unpack {archive}: {error}; if it is damaged, delete it to fetch it again") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _check_end(tar: tarfile.TarFile) -> None:
    """Raise a TarError unless the archive ends with an empty block: tarfile takes a broken header for the end."""
    file = tar.fileobj
    assert file is not None
    file.seek(tar.offset)
    if file.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        raise tarfile.ReadError("the next member is missing or damaged")
    while file.read(_CHUNK):  # read on to verify the checksum at the end of a compressed archive
        pass


def check_space(folder: Path, needed: int, purpose: str) -> None:
    """Raise an OSError if the folder's disk has fewer than ``needed`` free bytes."""
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise OSError(f"{purpose} takes {needed / 1e6:.1f} MB or more, but {free / 1e6:.1f} MB are free in {folder}")
