"""Safe and atomic extraction of a downloaded tar archive, by tarfile with its ``data`` filter.

pooch.Untar is not used because it extracts without a filter below Python 3.12.
"""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

Stage: TypeAlias = Literal["download", "check", "unpack"]
Progress: TypeAlias = Callable[[Stage, int, int | None], None]
"""Function of the stage, the number of bytes done and the total number of bytes, None if unknown."""

_CHUNK = 1 << 17  # bytes


def be_silent(stage: Stage, done: int, total: int | None) -> None:
    """Report nothing."""


def unpack(archive: Path, target: Path, *, progress: Progress = be_silent) -> None:
    """Unpack a plain or compressed tar archive into a new folder, completely or not at all.

    The contents are written to a hidden folder beside the target. The folder is renamed when it is complete. An
    archive with links, devices, absolute paths or paths out of the folder is refused.

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
