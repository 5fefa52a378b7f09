"""Download and unpack the archives of the "RANSAC in 2020" tutorial, the source of the paper's data (Sec. 5).

An archive is downloaded completely or not at all. The folder of ``A.tar`` also contains ``A/``, the unpacked contents,
either complete or absent. An archive placed there by other means is used like a downloaded one. For example,
``curl -C - -O URL`` can resume an interrupted download. The archive may be deleted after it is unpacked.
"""

import http.client
import os
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Stage: TypeAlias = Literal["download", "unpack"]
Progress: TypeAlias = Callable[[Stage, int, int | None], None]
"""Function of the stage, the number of bytes done and the total number of bytes, None if unknown."""

_CHUNK = 1 << 16  # bytes
_TIMEOUT = 60.0  # seconds without an answer

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


def fetch(
    dataset: str,
    folder: str | os.PathLike[str],
    *,
    full: bool = False,
    url: str = BASE_URL,
    progress: Progress = be_silent,
) -> tuple[Path, bool]:
    """Download and unpack a data set, a key of ``DATASETS``; return its folder, and whether it was there before.

    ``folder`` receives the archive and its contents. With ``full`` all scenes of PhotoTourism are fetched. ``url`` is
    the folder of the archives. An OSError names a file that cannot be downloaded or unpacked.
    """
    if dataset not in DATASETS:
        raise ValueError(f"dataset must be one of {', '.join(DATASETS)}, got {dataset!r}")
    name = DATASETS[dataset].full_archive if full else DATASETS[dataset].archive
    if name is None:
        raise ValueError(f"full goes with phototourism alone: {dataset} comes in one size")
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"url must begin with http:// or https://, got {url!r}")
    archive = Path(folder, name)
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(f"cannot write into the folder {archive.parent}: {error.strerror}") from error
    target = archive.with_name(name.removesuffix(".gz").removesuffix(".tar"))
    was_there = target.is_dir()
    if not was_there:
        if not archive.exists():
            download(f"{url.rstrip('/')}/{name}", archive, progress=progress)
        unpack(archive, target, progress=progress)
    start, folders = DATASETS[dataset].folder, (path for path in target.rglob("*") if path.is_dir())
    named = [path for path in folders if start is not None and path.name.lower().startswith(start)]
    return min(named, key=lambda path: (len(path.parts), path), default=target), was_there


def download(url: str, target: Path, *, progress: Progress = be_silent) -> None:
    """Download a file over http or https; an OSError names the URL."""
    try:
        with (
            tempfile.TemporaryDirectory(dir=target.parent, prefix=".download") as folder,
            urllib.request.urlopen(url, timeout=_TIMEOUT) as response,
        ):
            total, done, temporary = response.length, 0, Path(folder, target.name)
            with temporary.open("wb") as file:
                while chunk := response.read(_CHUNK):
                    file.write(chunk)
                    done += len(chunk)
                    progress("download", done, total)
            if total is not None and done < total:
                raise OSError(f"the connection broke off after {done} of {total} bytes")
            temporary.rename(target)
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise OSError(f"cannot download {url}: {error}") from error


def unpack(archive: Path, target: Path, *, progress: Progress = be_silent) -> None:
    """Unpack a plain or compressed tar archive into a new folder, completely or not at all; else an OSError names it.

    An archive with links, devices, absolute paths or paths out of the folder is refused.
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
                    yield member

            temporary = Path(folder, target.name)
            tar.extractall(temporary, accepted(), filter="data")  # it refuses paths out of the folder
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
