"""Unpacking a tar archive from the internet, by tarfile with its ``data`` filter: all of it or nothing.

pooch.Untar is not used: below Python 3.12 it extracts without a filter.
"""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias

Stage: TypeAlias = Literal["download", "check", "unpack"]
Progress: TypeAlias = Callable[[Stage, int, int | None], None]
"""Called with the stage, the bytes done and the bytes in total, None if that is not known."""

_CHUNK = 1 << 17  # bytes


def be_silent(stage: Stage, done: int, total: int | None) -> None:
    """Report nothing."""


def unpack(archive: Path, target: Path, *, progress: Progress = be_silent) -> None:
    """Unpack a tar archive, plain or compressed, into a new folder: all of it or nothing.

    The contents are written to a hidden folder beside the target, which is renamed when they are complete. An archive
    with links, devices, absolute paths or paths out of the folder is refused. An archive that is missing, no tar
    archive, damaged, not safe or larger than the free space, or a target that exists, is an OSError that names it.
    """
    temporary = target.with_name(f".{target.name}.unpacking")
    shutil.rmtree(temporary, ignore_errors=True)  # of a process that was killed
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
    """Raise TarError unless the archive ends as it should: tarfile takes a broken header for the end."""
    file = tar.fileobj
    assert file is not None
    file.seek(tar.offset)
    if file.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        raise tarfile.ReadError("the next member is missing or damaged")
    while file.read(_CHUNK):  # the check sum of a compressed archive comes last
        pass


def check_space(folder: Path, needed: int, purpose: str) -> None:
    """Raise an OSError if fewer than ``needed`` bytes are free in a folder."""
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise OSError(f"{purpose} takes {needed / 1e6:.1f} MB or more, but {free / 1e6:.1f} MB are free in {folder}")
