"""The file of compiled kernels: what is written is read, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from bansac.compiled import pack
from bansac.compiled.pack import Kernel, Pack, PackError, holds_kernels, write_pack
from bansac.maths import arrays

KERNELS = {
    "a": Kernel(b"first" * 100, b"LLVM"),
    "b": Kernel(b"", b""),
    "c": Kernel(bytes(range(256)), b"more" * 100),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "folder" / "kernels.pack"
    write_pack(path, {"Python": "3"}, KERNELS)
    return path


def test_kernels_come_back(path: Path) -> None:
    found = Pack(path)
    assert found.target == {"Python": "3"}
    assert {key: Kernel(found.read(key), found.read_llvm(key)) for key in found.keys} == KERNELS


def test_kernels_are_compressed(path: Path) -> None:
    write_pack(path, {}, {"a": Kernel(bytes(100_000), bytes(100_000))})
    assert path.stat().st_size < 1000


@pytest.mark.parametrize("length", [0, 10, 40, 100])
def test_a_truncated_header_is_damaged(path: Path, length: int) -> None:
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(PackError, match="are damaged"):
        Pack(path)


@pytest.mark.parametrize("position", [0, 20, 30, 60])
def test_a_changed_header_is_damaged(path: Path, position: int) -> None:
    change_one_bit(path, position)
    with pytest.raises(PackError, match="are damaged"):
        Pack(path)


def test_changed_llvm_code_is_found_at_once(path: Path) -> None:
    change_one_bit(path, -1)
    with pytest.raises(PackError, match="are damaged"):
        Pack(path)


def test_a_changed_kernel_is_damaged_and_others_are_read(path: Path) -> None:
    found = Pack(path)
    change_one_bit(path, found._data)
    assert found.read("c") == KERNELS["c"].code
    with pytest.raises(PackError, match="are damaged"):
        found.read("a")


def change_one_bit(path: Path, position: int) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)


def test_a_missing_file_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(PackError, match="cannot be read"):
        Pack(tmp_path / "kernels.pack")


def test_edited_renamed_and_new_source_make_a_pack_invalid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "engine" / "sampling").mkdir(parents=True)
    source = tmp_path / "engine" / "sampling" / "uniform.py"
    source.write_text("x = 1\n")
    monkeypatch.setattr(pack, "PACKAGE", tmp_path)
    path = tmp_path / "kernels.pack"
    write_pack(path, {}, KERNELS)
    Pack(path)
    for name, text in (("uniform.py", "x = 2\n"), ("other.py", "x = 1\n")):
        source.unlink()
        source = source.with_name(name)
        source.write_text(text)
        with pytest.raises(PackError, match="source code, which was edited"):
            Pack(path)
        source.unlink()
        source = source.with_name("uniform.py")
        source.write_text("x = 1\n")
        Pack(path)
    (tmp_path / "module.py").write_text("")
    with pytest.raises(PackError, match="source code, which was edited"):
        Pack(path)


def test_functions_of_users_are_in_no_pack() -> None:
    assert holds_kernels(arrays.__file__)
    assert holds_kernels(str(pack.PACKAGE / "result.py"))
    assert not holds_kernels(str(pack.PACKAGE / "lab" / "module.py"))
    assert not holds_kernels(__file__)
    assert not holds_kernels(f"{pack.PACKAGE}2/engine/module.py")
    assert not holds_kernels("<stdin>")
