"""Download of one large file by pooch, in one piece: an interrupted download starts anew."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from bansac.lab.sets.unpack import Progress, be_silent, check_space

__all__ = ["download", "import_pooch"]

_TIMEOUT = 60.0  # seconds without a byte
_CHUNK = 1 << 16  # bytes


def import_pooch() -> Any:
    """Return the module pooch; an ImportError that names the extra if it is not installed."""
    try:
        import pooch
    except ImportError as error:
        raise ImportError("fetching data needs pooch: pip install 'bansac[data]'") from error
    return pooch


def download(url: str, target: Path, *, progress: Progress = be_silent) -> None:
    """Download a file by http or https; ``target.part`` holds the bytes until it is complete.

    A file that cannot be downloaded, or for which there is no space, is an OSError that names the address.
    """
    part = target.with_name(f"{target.name}.part")
    bar = _Bar(part.parent, progress)
    with contextlib.ExitStack() as stack:
        stack.callback(part.unlink, missing_ok=True)

        def close_later(response: Any, **_: object) -> None:  # pooch leaves it open if the download fails
            stack.callback(response.close)

        settings = {"headers": {"Accept-Encoding": "identity"}, "hooks": {"response": close_later}}
        try:
            import_pooch().HTTPDownloader(bar, _CHUNK, timeout=_TIMEOUT, **settings)(url, str(part), None)
            part.replace(target)
        except OSError as error:  # those of requests as well
            raise OSError(f"cannot download {url}: {error}") from error


class _Bar:
    """A progress bar as pooch expects it, which reports to a function and checks the space at the first step."""

    total = 0  # set by pooch; 0 if it is not known

    def __init__(self, folder: Path, progress: Progress) -> None:
        self._folder, self._progress = folder, progress
        self._done = 0

    def update(self, step: int) -> None:
        if not self._done:  # compressed contents are larger than the archive, by how much is known only later
            check_space(self._folder, 2 * self.total - step, "downloading and unpacking the file")
        self._done = min(self._done + step, self.total) if self.total else self._done + step
        self._progress("download", self._done, self.total or None)

    def reset(self) -> None:
        """Do nothing: the step that pooch makes after it is at most the rest."""

    def close(self) -> None:
        """Do nothing: who called ``download`` has the bar."""
