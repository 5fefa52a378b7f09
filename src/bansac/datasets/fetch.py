"""The archives of the "RANSAC in 2020" tutorial, which the paper takes its data from (Sec. 5): fetched once, checked.

Beside an archive ``A.tar`` lie, in the same folder:

===================  ===========================================================================
``A.tar.part``       what has come of a download that is not finished; the next one goes on from there
``A.tar.part.json``  whose file that is a part of: address, size, and the version that the server tells
``A.tar.json``       size and SHA-256 of the archive when it was first used, and what was unpacked
``A/``               the contents, whole or not there at all
===================  ===========================================================================

An archive that is put there by other means is used like one that was downloaded. Once the contents are there the
archive may be deleted.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import re
import shutil
import sys
import tarfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Literal, Self, TypeAlias, get_type_hints

__all__ = ["BASE_URL", "DATASETS", "Dataset", "Fetched", "Progress", "ResumingDownloader", "fetch", "unpack"]

BASE_URL = "http://cmp.felk.cvut.cz/~mishkdmy/CVPR-RANSAC-Tutorial-2020/"
"""Where the tutorial keeps its archives."""

Stage: TypeAlias = Literal["download", "check", "list", "unpack"]
Progress: TypeAlias = Callable[[Stage, int, int | None], None]
"""Is told the stage, the bytes done and, where it is known, the bytes in all."""

_TIMEOUT = 60.0  # seconds without a byte
_RETRIES = 3  # attempts in a row that bring nothing new
_CHUNK = 1 << 17  # bytes


@dataclass(frozen=True)
class Dataset:
    """Where a data set is found.

    Parameters
    ----------
    archive : str
        File name of the archive that holds it.
    full_archive : str or None
        File name of the archive with all of it, where the first holds a part alone.
    folder : str or None
        How the name of its folder in the archive begins, in lower case; None for the whole archive.
    """

    archive: str
    full_archive: str | None = None
    folder: str | None = None


DATASETS = {
    "phototourism": Dataset("RANSAC-Tutorial-Data-ValOnly.tar", full_archive="RANSAC-Tutorial-Data-EF.tar"),
    "evd": Dataset("homography.tar.gz", folder="evd"),
    "hpatches": Dataset("homography.tar.gz", folder="hpatches"),
}
"""The data sets by name: the validation scene of PhotoTourism is 2 GB, all scenes are 86 GB."""


@dataclass(frozen=True)
class Fetched:
    """A data set that is there.

    Parameters
    ----------
    folder : Path
        Folder with its sets, for :func:`bansac.datasets.find_sets`.
    archive : Path
        The archive; it may have been deleted.
    size : int
        Size of the archive in bytes.
    sha256 : str
        SHA-256 of the archive, in hexadecimal digits.
    was_there : bool
        Whether there was nothing left to do.
    """

    folder: Path
    archive: Path
    size: int
    sha256: str
    was_there: bool


def fetch(
    dataset: str,
    folder: str | os.PathLike[str] | None = None,
    *,
    full: bool = False,
    url: str = BASE_URL,
    progress: Progress | None = None,
) -> Fetched:
    """Download and unpack a data set, as far as it is not there.

    A download that breaks off goes on from where it was, at once or the next time. Size and SHA-256 of the archive are
    written down when it is first used, and checked from then on.

    Parameters
    ----------
    dataset : {"phototourism", "evd", "hpatches"}
        Name of the data set. EVD and HPatches share an archive.
    folder : str or path or None, optional
        Where the archive and its contents go; by default the user's cache folder, ``pooch.os_cache("bansac")``.
    full : bool, optional
        All scenes of PhotoTourism (86 GB) in place of the validation scene (2 GB).
    url : str, optional
        Address of the folder with the archives: http or https.
    progress : callable or None, optional
        Is told how far the work is.

    Returns
    -------
    Fetched
        Where the data set is.

    Raises
    ------
    ValueError
        If there is no such data set, it comes in one size only, or the address is none of http or https.
    OSError
        If the archive cannot be downloaded, differs from the one that was first used, is damaged or not safe to
        unpack, or there is not enough space. The message names the file.
    ImportError
        If pooch is not installed.

    Examples
    --------
    >>> fetch("evd", "data").folder  # doctest: +SKIP
    PosixPath('data/homography/EVD')
    """
    chosen, name = _choose(dataset, full)
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"url must begin with http:// or https://, got {url!r}")
    folder = _default_folder() if folder is None else Path(folder)
    archive = folder / name
    target = folder / name.removesuffix(".gz").removesuffix(".tar")
    with _alone_in(folder):
        was_there = target.is_dir()
        record = _make_ready(archive, target, url.rstrip("/") + "/", progress or _be_silent)
    return Fetched(_folder_of(chosen, target), archive, record.size, record.sha256, was_there)


def _make_ready(archive: Path, target: Path, base_url: str, tell: Progress) -> _Record:
    """Do what is left to do until the contents of an archive are in the target."""
    record_path = archive.with_name(f"{archive.name}.json")
    record = _Record.read(record_path)
    if record is not None and target.is_dir() and not archive.exists():
        _check_contents(target, record)
        return record
    if not archive.exists():
        _download(base_url, archive, tell)
    size, sha256 = archive.stat().st_size, _sha256(archive, tell)
    if record is not None and (size, sha256) != (record.size, record.sha256):
        raise OSError(
            f"{archive} has size {size} and SHA-256 {sha256}, but had {record.size} and {record.sha256} when it was "
            f"first used; delete it to download it again, and {record_path.name} too to accept another version"
        )
    if target.is_dir():
        record = record or _Record(size, sha256, *_inspect(archive, tell))
        _check_contents(target, record)
    else:
        record = _Record(size, sha256, *unpack(archive, target, progress=tell))
    record.write(record_path)
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
    """Return the folder of a data set among the contents of its archive; all of them where none has its name."""
    if dataset.folder is None:
        return target
    named = [path for path in target.rglob("*") if path.is_dir() and path.name.lower().startswith(dataset.folder)]
    return min(named, key=lambda path: (len(path.parts), path), default=target)


def _check_contents(target: Path, record: _Record) -> None:
    """Raise OSError where fewer files, or bytes, are there than were unpacked; more may have been added."""
    sizes = [path.stat().st_size for path in target.rglob("*") if path.is_file()]
    if len(sizes) < record.files or sum(sizes) < record.contents:
        raise OSError(
            f"{target} holds {len(sizes)} files of {sum(sizes)} bytes, but {record.files} of {record.contents} bytes "
            "were unpacked there; delete the folder to unpack them again"
        )


def _be_silent(stage: Stage, done: int, total: int | None) -> None:
    pass


def _default_folder() -> Path:
    return Path(_pooch().os_cache("bansac"))


def _pooch() -> Any:
    try:
        import pooch
    except ImportError as error:
        raise ImportError("fetching data needs pooch: pip install 'bansac[data]'") from error
    return pooch


@contextlib.contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Make the folder and keep other processes out: two would write to one part file. The lock ends with its holder."""
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
            except OSError:  # some network file systems know no locks
                pass
        yield


@dataclass(frozen=True)
class _Note:
    """A JSON file with the fields of a subclass."""

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Return what the file says, None where there is none."""
        types = get_type_hints(cls)
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            return cls(**{name: _checked(content[name], kind) for name, kind in types.items()})
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError, RecursionError):  # no UTF-8, no JSON, or not what was written
            raise OSError(f"{path} is damaged; delete it, and the file that it tells of is taken as new") from None

    def write(self, path: Path) -> None:
        """Write the file, whole or not at all."""
        temporary = path.with_name(f".{path.name}.new")
        temporary.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")
        temporary.replace(path)


def _checked(value: Any, kind: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"expected {kind}, got {value!r}")
    return value


@dataclass(frozen=True)
class _Record(_Note):
    """An archive as it was when it was first used."""

    size: int
    sha256: str
    files: int
    contents: int  # bytes of the files together


@dataclass(frozen=True)
class _Origin(_Note):
    """The file on a server that a download is of."""

    url: str
    size: int | None
    version: str | None  # ETag, or date of the last change


def _sha256(path: Path, tell: Progress) -> str:
    digest, done, total = hashlib.sha256(), 0, path.stat().st_size
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            done += len(chunk)
            tell("check", done, total)
    return digest.hexdigest()


class _ConnectionBrokenError(Exception):
    """The network failed in a way that may pass."""


class ResumingDownloader:
    """A downloader for pooch that keeps what it has of a broken download and goes on from there (HTTP ranges).

    Parameters
    ----------
    part : Path
        Where the file grows until it is whole. Beside it, in ``<part>.json``, stands which file of which server it is a
        part of: another version of it, another size or address makes the download start anew.
    progress : callable, optional
        Is told how far the work is.
    retries : int, optional
        Attempts in a row that bring nothing new, after the first.
    wait : float, optional
        Seconds before the next attempt, times its number.

    Raises
    ------
    OSError
        When called, if the file cannot be had or there is no space for it; what has come of it is kept.
    """

    def __init__(
        self, part: Path, progress: Progress = _be_silent, *, retries: int = _RETRIES, wait: float = 1.0
    ) -> None:
        self._part = part
        self._note = part.with_name(f"{part.name}.json")
        self._progress = progress
        self._retries = retries
        self._wait = wait

    def __call__(self, url: str, output_file: str, pooch: object = None) -> None:
        """Download ``url`` and move it to ``output_file`` when it is whole."""
        farthest, failures = self._have(), 0
        while True:
            try:
                self._continue(url)
                break
            except _ConnectionBrokenError as error:
                failures = 0 if self._have() > farthest else failures + 1
                farthest = max(farthest, self._have())
                if failures > self._retries:
                    raise OSError(self._failure(url, error)) from error
                time.sleep(self._wait * max(1, failures))
        self._part.replace(output_file)
        self._note.unlink(missing_ok=True)

    def _have(self) -> int:
        return self._part.stat().st_size if self._part.exists() else 0

    def _failure(self, url: str, error: Exception) -> str:
        have = self._have()
        kept = f"; {have} bytes are kept in {self._part}, the next attempt goes on from there" if have else ""
        return f"cannot download {url}: {error}{kept}"

    def _continue(self, url: str) -> None:
        """Download what is missing of the file."""
        known = _Origin.read(self._note) if self._have() else None
        have = self._have() if known is not None and known.url == url else 0
        if known is not None and have and have == known.size:
            return
        response = _open(url, have)
        with response:
            origin = _origin(url, response)
            if response.status == 200:  # all of it: the server knows no ranges, or there is nothing beyond `have`
                return self._receive(response, origin, 0)
            if have and response.status == 206 and _start(response) == have and origin == known:
                return self._receive(response, origin, have)
        if not have:
            raise OSError(f"cannot download {url}: the server says {response.status} {response.reason}")
        self._part.unlink()  # it is of another version
        self._continue(url)

    def _receive(self, response: http.client.HTTPResponse, origin: _Origin, have: int) -> None:
        if origin.size is not None:
            # The contents of a packed archive are larger, by what is known only later.
            _check_space(self._part.parent, origin.size - have + origin.size, f"downloading and unpacking {origin.url}")
        try:
            with self._part.open("ab" if have else "wb") as file:
                origin.write(self._note)
                self._progress("download", have, origin.size)
                while chunk := _read(response):
                    file.write(chunk)
                    file.flush()  # a killed process leaves what has come
                    have += len(chunk)
                    self._progress("download", have, origin.size)
        except OSError as error:  # a full disk: those of the network are of another type by now
            raise OSError(f"cannot write {self._part}: {error.strerror or error}") from error
        if origin.size is not None and have != origin.size:
            raise _ConnectionBrokenError(f"the connection broke off after {have} of {origin.size} bytes")


def _download(base_url: str, archive: Path, tell: Progress) -> None:
    """Let pooch download an archive. The digest is checked by our own record: pooch would throw away what differs."""
    pooch = _pooch()
    store = pooch.Pooch(path=archive.parent, base_url=base_url, registry={archive.name: None})
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel("WARNING")
    try:
        store.fetch(archive.name, downloader=ResumingDownloader(archive.with_name(f"{archive.name}.part"), tell))
    finally:
        logger.setLevel(level)


@contextlib.contextmanager
def _network() -> Iterator[None]:
    """Tell failures of the network from others; the file system has errors of the same types."""
    try:
        yield
    except urllib.error.HTTPError as error:
        error.close()
        if error.code < 500 and error.code not in (408, 429):  # it will not pass
            raise OSError(f"cannot download {error.url}: the server says {error.code} {error.reason}") from None
        raise _ConnectionBrokenError(f"the server says {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        raise _ConnectionBrokenError(str(error.reason)) from error
    except (http.client.HTTPException, OSError) as error:
        raise _ConnectionBrokenError(str(error) or type(error).__name__) from error


def _open(url: str, have: int) -> http.client.HTTPResponse:
    """Ask for a file from a position on; for all of it where there is nothing beyond that position."""
    headers = {"User-Agent": "bansac", "Accept-Encoding": "identity"}
    ranged = headers | {"Range": f"bytes={have}-"} if have else headers
    with _network():
        try:
            response = urllib.request.urlopen(urllib.request.Request(url, headers=ranged), timeout=_TIMEOUT)
        except urllib.error.HTTPError as error:
            if error.code != 416:
                raise
            error.close()
            response = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_TIMEOUT)
    assert isinstance(response, http.client.HTTPResponse)
    return response


def _read(response: http.client.HTTPResponse) -> bytes:
    """Return what has come, b"" at the end; bytes that wait for more would be lost when the connection breaks."""
    with _network():
        return response.read1(_CHUNK)


def _origin(url: str, response: http.client.HTTPResponse) -> _Origin:
    """Return which file it is; of a part, the size is that of the whole."""
    size = response.headers.get("Content-Length") if response.status != 206 else None
    if response.status == 206 and (found := _content_range(response)):
        size = found[2]
    version = response.headers.get("ETag") or response.headers.get("Last-Modified")
    return _Origin(url, int(size) if size and size.isdigit() else None, version)


def _start(response: http.client.HTTPResponse) -> int | None:
    found = _content_range(response)
    return int(found[1]) if found else None


def _content_range(response: http.client.HTTPResponse) -> re.Match[str] | None:
    return re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", "").strip())


def _check_space(folder: Path, needed: int, purpose: str) -> None:
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise OSError(f"{purpose} takes {needed / 1e6:.1f} MB or more, but {free / 1e6:.1f} MB are free in {folder}")


def unpack(
    archive: str | os.PathLike[str], target: str | os.PathLike[str], *, progress: Progress | None = None
) -> tuple[int, int]:
    """Unpack a tar archive, plain or compressed, into a new folder: all of it or nothing.

    Every member is looked at before the first is written. Only files and folders are unpacked, and only below the
    target: an archive with links, devices, sparse files, absolute paths or ``..`` is refused as a whole.

    Parameters
    ----------
    archive : str or path
        The archive.
    target : str or path
        Folder that is made; its contents grow in a hidden folder beside it, which is renamed when they are whole.
    progress : callable or None, optional
        Is told how far the work is.

    Returns
    -------
    files, size : int
        Number of files and their bytes together.

    Raises
    ------
    OSError
        If the archive is missing, no tar archive, damaged, not safe or larger than the free space, or the target is
        there already. The message names the archive and, where there is one, the member.
    """
    archive, target = Path(archive), Path(target)
    tell = progress or _be_silent
    if target.exists():
        raise FileExistsError(f"cannot unpack {archive}: {target} is there already")
    files, size = _inspect(archive, tell)
    _check_space(target.parent, size, f"unpacking {archive}")
    temporary = target.with_name(f".{target.name}.unpacking")
    shutil.rmtree(temporary, ignore_errors=True)  # of a process that was killed
    try:
        temporary.mkdir()
        done = 0
        with _open_tar(archive) as tar:
            for member in tar:
                tar.extract(member, temporary, filter="data")
                done += member.size
                tell("unpack", done, size)
        temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return files, size


def _inspect(archive: Path, tell: Progress) -> tuple[int, int]:
    """Look at all members and return the number of files and their bytes."""
    files, contents = 0, 0
    with _open_tar(archive) as tar:
        for member in tar:
            _check_member(archive, member)
            files += member.isfile()
            contents += member.size
            tell("list", contents, None)
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
