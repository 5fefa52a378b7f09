"""Download, check and unpack the archives of the "RANSAC in 2020" tutorial, the source of the paper's data (Sec. 5).

pooch downloads an archive completely or not at all. The folder of an archive ``A.tar`` also contains:

==============  =======================================================
``A.tar.json``  size and SHA-256 of the archive at its first use
``A/``          the unpacked contents, either complete or absent
==============  =======================================================

An archive placed there by other means is used like a downloaded one. For example, ``curl -C - -O URL`` can resume an
interrupted download. The archive may be deleted after it is unpacked.
"""

import contextlib
import json
import os
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from bansac.matches.storage import write_json
from bansac.maths.optional import import_optional

Stage: TypeAlias = Literal["download", "unpack"]
Progress: TypeAlias = Callable[[Stage, int, int | None], None]
"""Function of the stage, the number of bytes done and the total number of bytes, None if unknown."""

_CHUNK = 1 << 16  # bytes

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

    folder: Path  # for :func:`bansac_lab.sets.find_sets`
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
    progress: Progress = be_silent,
) -> Fetched:
    """Download and unpack a data set, a key of ``DATASETS``, unless it exists.

    The SHA-256 of the archive is recorded at its first use and checked at every later use; an archive with another one
    is downloaded again. ``folder`` receives the archive and its contents, by default the user's cache folder. With
    ``full`` all scenes of PhotoTourism are fetched (86 GB) instead of the validation scene (2 GB). ``url`` is the
    folder of the archives. An OSError names a file that cannot be downloaded, differs from its first use, or cannot be
    unpacked.

    Examples
    --------
    >>> fetch("evd", "data").folder  # doctest: +SKIP
    PosixPath('data/homography/EVD')
    """
    if dataset not in DATASETS:
        raise ValueError(f"dataset must be one of {', '.join(DATASETS)}, got {dataset!r}")
    name = DATASETS[dataset].full_archive if full else DATASETS[dataset].archive
    if name is None:
        raise ValueError(f"full goes with phototourism alone: {dataset} comes in one size")
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"url must begin with http:// or https://, got {url!r}")
    archive = Path(import_pooch().os_cache("bansac") if folder is None else folder, name)
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(f"cannot write into the folder {archive.parent}: {error.strerror}") from error
    target = archive.with_name(name.removesuffix(".gz").removesuffix(".tar"))
    was_there, record_path = target.is_dir(), archive.with_name(f"{name}.json")
    record = _read_record(record_path)
    if archive.exists() or not was_there or not record:
        download(f"{url.rstrip('/')}/{name}", archive, record.get("sha256"), progress=progress)
    if not was_there:
        unpack(archive, target, progress=progress)
    if not record:
        record = {"size": archive.stat().st_size, "sha256": import_pooch().file_hash(str(archive))}
        write_json(record_path, record)
    start, folders = DATASETS[dataset].folder, (path for path in target.rglob("*") if path.is_dir())
    named = [path for path in folders if start is not None and path.name.lower().startswith(start)]
    contents = min(named, key=lambda path: (len(path.parts), path), default=target)
    return Fetched(contents, archive, record["size"], record["sha256"], was_there)


def _read_record(path: Path) -> dict[str, Any]:
    """Return the size and the SHA-256 of an archive at its first use; empty if there is no record."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {"size": int(found["size"]), "sha256": str(found["sha256"])}
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, KeyError):
        raise OSError(f"{path} is damaged; delete it, and the archive that it describes counts as new") from None


def import_pooch() -> Any:
    """Import pooch; if it is missing, the ImportError names the extra to install."""
    return import_optional("pooch", "fetching data needs pooch", "pooch")


def download(url: str, target: Path, sha256: str | None = None, *, progress: Progress = be_silent) -> None:
    """Download a file over http or https, unless it is there with this SHA-256; an OSError names the URL."""
    pooch = import_pooch()
    pooch.get_logger().setLevel("WARNING")
    with contextlib.ExitStack() as stack:

        def close_later(response: Any, **_: object) -> None:  # if the download fails, pooch leaves the response open
            stack.callback(response.close)

        settings = {"headers": {"Accept-Encoding": "identity"}, "hooks": {"response": close_later}}
        downloader = pooch.HTTPDownloader(_Bar(progress), chunk_size=_CHUNK, **settings)
        try:
            pooch.retrieve(url, sha256, target.name, target.parent, downloader=downloader)
        except (OSError, ValueError) as error:  # of requests, and of another SHA-256
            raise OSError(f"cannot download {url}: {error}") from error


class _Bar:
    """Progress bar for pooch that forwards the progress to a function."""

    total = 0  # bytes, set by pooch; 0 if unknown

    def __init__(self, progress: Progress) -> None:
        self._progress, self._done = progress, 0

    def update(self, step: int) -> None:
        self._done = min(self._done + step, self.total) if self.total else self._done + step
        self._progress("download", self._done, self.total or None)

    def reset(self) -> None:
        """Do nothing: the step that pooch makes afterwards covers at most the remaining bytes."""

    def close(self) -> None:
        """Do nothing: the caller of ``download`` owns the bar."""


def unpack(archive: Path, target: Path, *, progress: Progress = be_silent) -> None:
    """Unpack a plain or compressed tar archive into a new folder, completely or not at all; else an OSError names it.

    An archive with links, devices, absolute paths or paths out of the folder is refused. pooch.Untar is not used
    because it extracts without a filter below Python 3.12, and not at once.
    """
    try:
        with (
            tempfile.TemporaryDirectory(dir=target.parent, prefix=".unpacking") as folder,
            archive.open("rb") as file,
            tarfile.open(fileobj=file) as tar,
        ):
            size = archive.stat().st_size

            def accepted() -> Iterator[tarfile.TarInfo]:
                for member in tar:
                    progress("unpack", file.tell(), size)
                    if not (member.isreg() or member.isdir()) or member.name.startswith(("/", "\\")):
                        raise ValueError(f"its member {member.name!r} is a link, a device or has an absolute path")
                    if ".." in member.name.replace("\\", "/").split("/"):
                        raise ValueError(f"its member {member.name!r} is outside the destination")
                    yield member

            temporary = Path(folder, target.name)
            as_data: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # from Python 3.11.4 on
            tar.extractall(temporary, accepted(), **as_data)
            _check_end(tar)
            progress("unpack", size, size)
            if not any(path.is_file() for path in temporary.rglob("*")):
                raise ValueError("it holds no files")
            temporary.rename(target)
    except Exception as error:  # damaged archives raise errors of tarfile, zlib, lzma, struct and others
        raise OSError(f"cannot unpack {archive}: {error}; if it is damaged, delete it to fetch it again") from error


def _check_end(tar: tarfile.TarFile) -> None:
    """Raise a TarError unless the archive ends with an empty block: tarfile takes a broken header for the end."""
    file = tar.fileobj
    assert file is not None
    file.seek(tar.offset)
    if file.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        raise tarfile.ReadError("the next member is missing or damaged")
    while file.read(_CHUNK):  # read on to verify the checksum at the end of a compressed archive
        pass
