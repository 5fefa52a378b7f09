"""A local HTTP server that breaks off, and archives as the tutorial has them."""

import contextlib
import io
import tarfile
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np

from lab.tests.pair_sets import write_homography_set, write_pose_set


class ArchiveServer:
    """Serves bytes by file name; the attributes say how badly."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.requests = 0
        self.cuts: list[int] = []  # after how many bytes the next answers break off
        self.lengths = True
        self.stall: threading.Event | None = None  # after a cut, keep the connection open until this is set
        self.url = ""


@contextlib.contextmanager
def serve() -> Iterator[ArchiveServer]:
    """Run a server on a free port."""
    state = ArchiveServer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.requests += 1
            content = state.files.get(self.path.rpartition("/")[2])
            if content is None:
                self.send_error(404)
                return
            self.send_response(200)
            if state.lengths:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            end = state.cuts.pop(0) if state.cuts else len(content)
            self.wfile.write(content[:end])
            self.wfile.flush()
            if end < len(content) and state.stall is not None:
                state.stall.wait(60)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_address[1]}/data"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield state
        finally:
            server.shutdown()
            thread.join()


def tar(members: Mapping[str, bytes | tarfile.TarInfo], mode: str = "w") -> bytes:
    """Return an archive of files, and of members that are given as they are."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in members.items():
            if isinstance(content, tarfile.TarInfo):
                archive.addfile(content)
                continue
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def tar_folder(folder: Path, mode: str) -> bytes:
    """Return an archive of a folder, under the name of the folder."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        archive.add(folder, folder.name)
    return buffer.getvalue()


def homography_archive(scratch: Path, padding: int = 0) -> bytes:
    """Return homography.tar.gz with EVD and HPatchesSeq: no sizes, but images; and a test split without truth.

    A file of ``padding`` random bytes makes the archive at least as large.
    """
    root = scratch / "homography"
    root.mkdir(parents=True)
    (root / "padding").write_bytes(np.random.default_rng(0).bytes(padding))
    for name in ("EVD", "HPatchesSeq"):
        for split in ("val", "test"):
            folder = write_homography_set(root / name / split)
            (folder / "size.h5").unlink()
        (root / name / "test" / "Hgt.h5").unlink()
        for image in (f"{index}{letter}" for index in range(3) for letter in "ab"):
            write_ppm(root / name / "imgs" / f"{image}.ppm", (48, 64))
    return tar_folder(root, "w:gz")


def pose_archive(scratch: Path) -> bytes:
    """Return an archive with one scene of PhotoTourism, and a test scene that has cameras alone."""
    root = scratch / "RANSAC-Tutorial-Data"
    write_pose_set(root / "val" / "sacre_coeur")
    test = write_pose_set(root / "test" / "st_pauls_cathedral")
    for name in ("R.h5", "T.h5"):
        (test / name).unlink()
    return tar_folder(root, "w")


def write_ppm(path: Path, size: tuple[int, int]) -> None:
    """Write a black image; the format needs no library."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"P6\n%d %d\n255\n" % size[::-1] + bytes(int(np.prod(size)) * 3))
