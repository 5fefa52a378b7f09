"""Download of one large file with pooch. An interrupted download restarts from the beginning."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from bansac.lab.sets.unpack import Progress, be_silent, check_space

_TIMEOUT = 60.0  # seconds without a byte
_CHUNK = 1 << 16  # bytes


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
