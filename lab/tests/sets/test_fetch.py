"""Downloads from a local server that breaks off, and archives that are damaged or hostile."""

import gzip
import hashlib
import shutil
import socket
import tarfile

import pytest

from bansac_lab.sets import find_sets
from bansac_lab.sets.fetch import download, fetch, unpack
from lab.tests.sets.archives import homography_archive, pose_archive, serve, tar

ARCHIVE = "homography.tar.gz"
CONTENT = bytes(range(256)) * 4000  # about 1 MB: several reads


@pytest.fixture
def server(monkeypatch):
    """Run a server that is reached without a proxy."""
    monkeypatch.setenv("no_proxy", "*")
    with serve() as state:
        state.files["file"] = CONTENT
        yield state


@pytest.fixture
def homography(server, tmp_path):
    """Put the archive of homographies on the server."""
    server.files[ARCHIVE] = homography_archive(tmp_path / "scratch")
    return tmp_path / "data"


def left_over(folder):
    """Return what is in a folder."""
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("lengths", [True, False])
def test_download_is_whole_and_its_progress_is_told(server, tmp_path, lengths):
    server.lengths = lengths
    told = []
    download(f"{server.url}/file", tmp_path / "file", progress=lambda *step: told.append(step))
    assert left_over(tmp_path) == ["file"]
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert {(stage, total) for stage, _, total in told} == {("download", len(CONTENT) if lengths else None)}
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)
    assert told[-1][1] == len(CONTENT)


def test_failed_downloads_are_named_and_leave_nothing(server, tmp_path):
    server.cuts = [300_000]
    with pytest.raises(OSError, match=r"cannot download http://.*/file: the connection broke off after 300000 of"):
        download(f"{server.url}/file", tmp_path / "file")
    with pytest.raises(OSError, match=r"cannot download http://.*/nothing: .*404"):
        download(f"{server.url}/nothing", tmp_path / "file")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/file"
        with pytest.raises(OSError, match=f"cannot download {url}: .*refused"):
            download(url, tmp_path / "file")
    assert left_over(tmp_path) == []


def interrupt(stage, done, total):
    """Be Ctrl-C."""
    raise KeyboardInterrupt


def test_interrupted_download_leaves_nothing(server, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        download(f"{server.url}/file", tmp_path / "file", progress=interrupt)
    assert left_over(tmp_path) == []


def test_fetch_gives_sets_that_can_be_read(server, homography):
    evd, was_there = fetch("evd", homography, url=server.url)
    assert (evd, was_there) == (homography / "homography" / "homography" / "EVD", False)
    (pairs,) = find_sets(evd)
    assert (pairs.name, len(pairs), pairs.pair("0a-0b").size1) == ("EVD-val", 3, (48, 64))
    (homography / ARCHIVE).unlink()
    hpatches, was_there = fetch("hpatches", homography, url=server.url)
    assert [pairs.name for pairs in find_sets(hpatches)] == ["HPatchesSeq-val"]
    assert was_there
    assert server.requests == 1  # they share the archive
    assert left_over(homography) == ["homography"]


@pytest.mark.parametrize(("full", "name"), [(False, "RANSAC-Tutorial-Data-ValOnly"), (True, "RANSAC-Tutorial-Data-EF")])
def test_phototourism_comes_in_two_sizes(server, tmp_path, full, name):
    server.files[f"{name}.tar"] = pose_archive(tmp_path / "scratch")
    folder, _ = fetch("phototourism", tmp_path / "data", full=full, url=f"{server.url}/")
    assert folder == tmp_path / "data" / name
    assert [pairs.name for pairs in find_sets(folder)] == ["sacre_coeur"]


def test_broken_fetch_starts_anew(server, homography, capfd):
    server.cuts = [500]
    with pytest.raises(OSError, match=rf"cannot download http://.*/{ARCHIVE}: "):
        fetch("evd", homography, url=server.url)
    assert left_over(homography) == []
    assert find_sets(fetch("evd", homography, url=server.url)[0])
    assert capfd.readouterr() == ("", "")


def test_an_archive_that_is_there_is_used(server, homography):
    homography.mkdir()
    (homography / ARCHIVE).write_bytes(b"<!DOCTYPE html><p>Please log in")
    with pytest.raises(OSError, match=r"cannot unpack .*homography\.tar\.gz: file could not be opened"):
        fetch("evd", homography, url=server.url)
    assert left_over(homography) == [ARCHIVE]
    (homography / ARCHIVE).write_bytes(server.files[ARCHIVE])
    for _ in range(2):  # also if its contents are lost
        folder, was_there = fetch("evd", homography, url=server.url)
        assert find_sets(folder)
        assert not was_there
        shutil.rmtree(homography / "homography")
    assert server.requests == 0


def test_bad_arguments_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"dataset must be one of phototourism, evd, hpatches, got 'EVD'"):
        fetch("EVD", tmp_path)
    with pytest.raises(ValueError, match="full goes with phototourism alone"):
        fetch("evd", tmp_path, full=True)
    with pytest.raises(ValueError, match="url must begin with http:// or https://, got 'file:///'"):
        fetch("evd", tmp_path, url="file:///")
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"cannot write into the folder .*file.out"):
        fetch("evd", tmp_path / "file" / "out")
    assert left_over(tmp_path) == ["file"]


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2"])
def test_unpack_tells_progress(tmp_path, mode):
    (tmp_path / "a.tar").write_bytes(tar({"x/a": b"123", "x/y/b": b"", "c": b"4567"}, mode))
    told = []
    unpack(tmp_path / "a.tar", tmp_path / "out", progress=lambda *step: told.append(step))
    files = {path.relative_to(tmp_path / "out").as_posix(): path for path in (tmp_path / "out").rglob("*")}
    assert sorted(files) == ["c", "x", "x/a", "x/y", "x/y/b"]
    assert files["x/a"].read_bytes() == b"123"
    size = (tmp_path / "a.tar").stat().st_size
    assert told[-1] == ("unpack", size, size)
    with pytest.raises(OSError, match="cannot unpack"):
        unpack(tmp_path / "a.tar", tmp_path / "out")
    assert left_over(tmp_path) == ["a.tar", "out"]


def refuse(tmp_path, content, message):
    """Check that an archive is refused, by name, and leaves nothing."""
    (tmp_path / "in").mkdir(exist_ok=True)
    (tmp_path / "in" / "a.tar").write_bytes(content)
    with pytest.raises(OSError, match=message) as raised:
        unpack(tmp_path / "in" / "a.tar", tmp_path / "in" / "out")
    assert "a.tar" in str(raised.value)
    assert [path.name for path in (tmp_path / "in").iterdir()] == ["a.tar"]
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def special(name, kind, target=""):
    """Return a member that is no file."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


COMPRESSED = tar({"a": b"1" * 5000}, "w:gz")
TWO_BLOCKS = tar({"a": b"1" * 512, "b": b"2" * 512})
BOMB = tarfile.TarInfo("bomb")
BOMB.size = 1 << 60
SPECIAL = [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE]
BAD = {
    **{name: (tar({"good": b"1", name: b"2"}), ".* absolute path") for name in ("/evil", "\\evil")},
    **{name: (tar({"good": b"1", name: b"2"}), ".* outside the destination") for name in ("../evil", "x/../../evil")},
    **{
        f"type {kind!r}": (
            tar({"good": b"1", "bad": special("bad", kind, "good")}),
            ".* its member 'bad' is a link, a device or",
        )
        for kind in SPECIAL
    },
    "cut between members": (TWO_BLOCKS[:1024], ".*the next member is missing or damaged"),
    "nonsense between members": (TWO_BLOCKS[:1024] + b"?" * 2048, ".*the next member is missing or damaged"),
    "check sum": (COMPRESSED[:-6] + bytes([COMPRESSED[-6] ^ 1]) + COMPRESSED[-5:], ".*CRC"),
    "no files": (tar({}), ".*holds no files"),
    "folders alone": (tar({"x": special("x", tarfile.DIRTYPE)}), ".*holds no files"),
    "empty": (b"", ""),
    "no archive": (gzip.compress(b"no archive"), ""),
    "file in the way of a folder": (tar({"x": b"1", "x/y": b"2"}), ".*x/y"),
    "size that is made up": (BOMB.tobuf() + bytes(1024), ""),
}


@pytest.mark.parametrize(("content", "message"), BAD.values(), ids=BAD)
def test_bad_archive_is_refused(tmp_path, content, message):
    refuse(tmp_path, content, f"cannot unpack{message}")


@pytest.mark.parametrize("mode", ["w", "w:gz"])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.6, 0.9, 0.99])
def test_truncated_archive_is_refused(tmp_path, mode, share):
    noise = bytes(hashlib.sha256(str(i).encode()).digest()[0] for i in range(30_000))
    content = tar({"a": noise[:10_000], "b": noise[10_000:20_000], "c": noise[20_000:]}, mode)
    end = content.rstrip(b"\0") if mode == "w" else content
    refuse(tmp_path, content[: int(len(end) * share)], "cannot unpack")


def test_interrupted_unpacking_leaves_nothing(tmp_path):
    (tmp_path / "a.tar").write_bytes(tar({"a": b"1", "b": b"2"}))
    with pytest.raises(KeyboardInterrupt):
        unpack(tmp_path / "a.tar", tmp_path / "out", progress=interrupt)
    assert left_over(tmp_path) == ["a.tar"]


def test_missing_archive_is_named(tmp_path):
    with pytest.raises(OSError, match=r"nowhere\.tar"):
        unpack(tmp_path / "nowhere.tar", tmp_path / "out")
