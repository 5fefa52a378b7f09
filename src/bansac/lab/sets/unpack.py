"""Unpacking a tar archive from the internet, with a check of every member before the first is written.

The ``data`` filter of tarfile applies as well. pooch.Untar is not used: below Python 3.12 it extracts without a filter,
and it reports no progress.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Literal, TypeAlias

Stage: TypeAlias = Literal["download", "check", "list", "unpack"]
Progress: TypeAlias = Callable[[Stage, int, int | None], None]
"""Called with the stage, the bytes done and the bytes in total, None if that is not known."""

_CHUNK = 1 << 17  # bytes


def be_silent(stage: Stage, done: int, total: int | None) -> None:
    """Report nothing."""


def unpack(
    archive: str | os.PathLike[str], target: str | os.PathLike[str], *, progress: Progress = be_silent
) -> tuple[int, int]:
    """Unpack a tar archive, plain or compressed, into a new folder: all of it or nothing.

    Every member is checked before the first is written. Only files and folders are unpacked, and only below the target:
    an archive with links, devices, sparse files, absolute paths or ``..`` is refused as a whole. The contents are
    written to a hidden folder beside the target, which is renamed when they are complete. Returns the number of files
    and their total size in bytes. An archive that is missing, no tar archive, damaged, not safe or larger than the free
    space, or a target that exists, is an OSError that names the archive and, if there is one, the member.
    """
    archive, target = Path(archive), Path(target)
    if target.exists():
        raise FileExistsError(f"cannot unpack {archive}: {target} is there already")
    files, size = inspect(archive, progress)
    check_space(target.parent, size, f"unpacking {archive}")
    temporary = target.with_name(f".{target.name}.unpacking")
    shutil.rmtree(temporary, ignore_errors=True)  # of a process that was killed
    try:
        temporary.mkdir()
        done = 0
        with _open_tar(archive) as tar:
            for member in tar:
                tar.extract(member, temporary, filter="data")
                done += member.size
                progress("unpack", done, size)
        temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return files, size


def inspect(archive: Path, progress: Progress) -> tuple[int, int]:
    """Check all members and return the number of files and their total size in bytes."""
    files, contents = 0, 0
    with _open_tar(archive) as tar:
        for member in tar:
            _check_member(archive, member)
            files += member.isfile()
            contents += member.size
            progress("list", contents, None)
        _check_end(tar)
    if not files:
        raise OSError(f"{archive} holds no files")
    return files, contents


class _Tar(tarfile.TarFile):
    """An archive that knows which member was read last."""

    last = ""

    def next(self) -> tarfile.TarInfo | None:
        member = super().next()
        if member is not None:
            self.last = member.name
        return member


@contextlib.contextmanager
def _open_tar(archive: Path) -> Iterator[_Tar]:
    """Open an archive; what fails while it is open is an OSError that names it and the member."""
    with archive.open("rb") as file, contextlib.ExitStack() as stack:
        head = file.read(16)
        file.seek(0)
        try:
            tar = stack.enter_context(_Tar.open(fileobj=file, mode="r:*"))
        except Exception as error:  # damaged archives raise errors of tarfile, zlib, lzma, struct and others
            raise OSError(
                f"{archive} is no tar archive, it begins with {head!r}; delete it to fetch it again"
            ) from error
        try:
            yield tar
        except _UnsafeMemberError:
            raise
        except Exception as error:
            remedy = "if it is damaged, delete it to fetch it again"
            raise OSError(f"cannot unpack {archive}, at member {tar.last!r}: {error}; {remedy}") from error


class _UnsafeMemberError(OSError):
    """A member that must not be unpacked."""


def _check_member(archive: Path, member: tarfile.TarInfo) -> None:
    """Raise OSError unless a member is a plain file or folder below the folder that it is unpacked to."""
    path = PurePosixPath(member.name.replace("\\", "/"))
    if not (member.isreg() or member.isdir()) or member.issparse():
        kind = "a link" if member.issym() or member.islnk() else "neither a plain file nor a folder"
    elif path.is_absolute() or ".." in path.parts or PureWindowsPath(member.name).drive or "\0" in member.name:
        kind = "not below the folder"
    else:
        return
    raise _UnsafeMemberError(f"{archive} is not safe to unpack: its member {member.name!r} is {kind}")


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
