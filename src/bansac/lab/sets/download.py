"""Download of one large file; an interrupted download continues at the next call.

pooch stores the file and repeats attempts that failed. It has no downloader that continues a file (HTTP ranges), so
that one is here. Beside a file ``F`` that is not complete lie ``F.part`` and ``F.part.json``, which holds the address,
the size and the version (ETag or date) of the file on the server that it is a part of.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from bansac.lab.sets.unpack import Progress, be_silent, check_space

__all__ = ["ResumingDownloader", "download", "import_pooch"]

_TIMEOUT = 60.0  # seconds without a byte
_RETRIES = 3  # attempts that bring nothing new, after the first
_CHUNK = 1 << 16  # bytes
_TRANSIENT = (408, 429)  # and all above 500


def import_pooch() -> Any:
    """Return the module pooch; an ImportError that names the extra if it is not installed."""
    try:
        import pooch
    except ImportError as error:
        raise ImportError("fetching data needs pooch: pip install 'bansac[data]'") from error
    return pooch


def download(url: str, target: Path, *, progress: Progress = be_silent, retries: int = _RETRIES) -> None:
    """Download a file that is not there yet, by http or https; ``target.part`` holds the bytes until it is complete.

    ``retries`` are attempts that bring nothing new, after the first. A file that cannot be downloaded, or for which
    there is no space, is an OSError; the bytes received so far are kept.
    """
    pooch = import_pooch()
    from requests import RequestException

    part = target.with_name(f"{target.name}.part")
    # The digest of an archive is compared by ``fetch``: pooch would delete an archive that differs.
    store = pooch.Pooch(
        target.parent, base_url="", urls={target.name: url}, registry={target.name: None}, retry_if_failed=retries
    )
    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel("WARNING")
    try:
        store.fetch(target.name, downloader=ResumingDownloader(part, progress))
    except RequestException as error:
        have = _size(part)
        kept = f"; {have} bytes are kept in {part}, the next attempt continues from there" if have else ""
        raise OSError(f"cannot download {url}: {error}{kept}") from error
    finally:
        logger.setLevel(level)


class ResumingDownloader:
    """A downloader for pooch that keeps the part it has of an interrupted download and continues from there.

    Another version, size or address of the file on the server makes the download start anew. ``<part>.json`` beside the
    part says what file it is a part of.
    """

    def __init__(self, part: Path, progress: Progress = be_silent) -> None:
        self._part = part
        self._note = part.with_name(f"{part.name}.json")
        self._progress = progress

    def __call__(self, url: str, output_file: str, pooch: object = None) -> None:
        """Download ``url`` and move it to ``output_file`` when it is complete.

        A requests.RequestException, on which pooch tries again, is an attempt that brought nothing new; an OSError of
        another type is a failure that will not pass.
        """
        from requests import RequestException

        while True:
            before = _size(self._part)
            try:
                self._continue(url)
                break
            except RequestException:
                if _size(self._part) <= before:
                    raise
        self._part.replace(output_file)
        self._note.unlink(missing_ok=True)

    def _continue(self, url: str) -> None:
        """Download the rest of the file, or all of it if what there is cannot be continued."""
        import requests

        known = _read_note(self._note)
        have = _size(self._part) if known.get("url") == url else 0
        if have and have == known["size"]:
            return
        headers = {"User-Agent": "bansac", "Accept-Encoding": "identity"}
        if have:
            headers["Range"] = f"bytes={have}-"
        with requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT) as response:
            status = response.status_code
            start, origin = _content(url, response)
            if status == 200:  # all of it: the server knows no ranges
                return self._receive(response, origin, 0)
            if have and status == 206 and (start, origin) == (have, known):
                return self._receive(response, origin, have)
            if not have or status not in (206, 416):
                said = f"the server says {status} {response.reason}"
                if status >= 500 or status in _TRANSIENT:
                    raise requests.HTTPError(said)
                raise OSError(f"cannot download {url}: {said}")
        self._part.unlink()  # a part of another version
        self._continue(url)

    def _receive(self, response: Any, origin: dict[str, Any], have: int) -> None:
        import requests

        size = origin["size"]
        if size is not None:
            # The contents of a compressed archive are larger, by how much is known only later.
            check_space(self._part.parent, size - have + size, f"downloading and unpacking {origin['url']}")
        try:
            with self._part.open("ab" if have else "wb") as file:
                self._note.write_text(json.dumps(origin), encoding="utf-8")
                self._progress("download", have, size)
                for chunk in response.iter_content(_CHUNK):
                    file.write(chunk)
                    file.flush()  # a killed process leaves what it has received
                    have += len(chunk)
                    self._progress("download", have, size)
            if size is not None and have != size:
                raise requests.ConnectionError("the file is not complete")
        except requests.RequestException as error:
            raise requests.ConnectionError(f"the connection broke off after {have} of {size} bytes") from error
        except OSError as error:
            raise OSError(f"cannot write {self._part}: {error.strerror or error}") from error


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _read_note(path: Path) -> dict[str, Any]:
    """Return the origin of a part; nothing if it is not known."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def _content(url: str, response: Any) -> tuple[int | None, dict[str, Any]]:
    """Return where the content of an answer starts in the file, and which file it is of."""
    size, start = response.headers.get("Content-Length"), None
    found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", "").strip())
    if response.status_code == 206:
        start, size = (int(found[1]), found[2]) if found else (None, None)
    version = response.headers.get("ETag") or response.headers.get("Last-Modified")
    return start, {"url": url, "size": int(size) if size and size.isdigit() else None, "version": version}
