"""The file of compiled kernels: what is written is read, and nothing else is."""

import zipfile
from pathlib import Path

import pytest

from bansac.compiled import source
from bansac.compiled.pack import Kernel, Pack, PackError, write_pack
from bansac.compiled.source import PACKAGE, holds_kernels

KERNELS = {"a": Kernel(b"first" * 100, b"LLVM"), "b": Kernel(b"", b""), "c": Kernel(bytes(range(256)), b"more" * 100)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "folder" / "kernels.pack"
    write_pack(path, {"Python": "3"}, KERNELS)
    return path


def test_kernels_come_back(path: Path) -> None:
    found = Pack(path)
    assert found.target == {"Python": "3"}
    assert {key: Kernel(found.read(key), found.read_llvm(key)) for key in found.keys} == KERNELS


@pytest.mark.parametrize("length", [0, 10, 100, -1])
def test_a_truncated_pack_is_damaged(path: Path, length: int) -> None:
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(PackError, match="are damaged"):
        Pack(path)


@pytest.mark.parametrize("member", [b"header.json", b"llvm"])
def test_a_changed_header_or_llvm_code_is_found_at_once(path: Path, member: bytes) -> None:
    change_one_bit(path, member)
    with pytest.raises(PackError, match="are damaged"):
        Pack(path)


def test_a_changed_kernel_is_damaged_and_others_are_read(path: Path) -> None:
    change_one_bit(path, b"a")
    found = Pack(path)
    assert found.read("c") == KERNELS["c"].code
    with pytest.raises(PackError, match="are damaged"):
        found.read("a")


def change_one_bit(path: Path, member: bytes) -> None:
    """Change a bit of the content of a member, which follows a header of 30 bytes and its name."""
    content = bytearray(path.read_bytes())
    start = zipfile.ZipFile(path).getinfo(member.decode()).header_offset + 30 + len(member)
    content[start + 1] ^= 1
    path.write_bytes(content)


def test_a_missing_file_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(PackError, match="cannot be read"):
        Pack(tmp_path / "kernels.pack")


@pytest.mark.parametrize("name", ["engine/sampling/uniform.py", "engine/sampling/other.py", "module.py"])
def test_edited_and_new_source_makes_a_pack_invalid(
    name: str, tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "engine" / "sampling").mkdir(parents=True)
    (tmp_path / "engine" / "sampling" / "uniform.py").write_text("x = 1\n")
    monkeypatch.setattr(source, "PACKAGE", tmp_path)
    write_pack(path, {}, KERNELS)
    Pack(path)
    (tmp_path / name).write_text("x = 2\n")
    with pytest.raises(PackError, match="source code, which was edited"):
        Pack(path)


def test_functions_of_users_are_in_no_pack() -> None:
    assert holds_kernels(str(PACKAGE / "maths" / "arrays.py"))
    assert holds_kernels(str(PACKAGE / "estimate" / "result.py"))
    assert not holds_kernels(str(PACKAGE / "cli" / "app.py"))
    assert not holds_kernels(__file__)
    assert not holds_kernels(f"{PACKAGE}2/engine/module.py")
    assert not holds_kernels("<stdin>")
