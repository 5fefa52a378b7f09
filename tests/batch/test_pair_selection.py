from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bansac.batch.pair_selection import find_images, select_pairs
from bansac.batch.sources import find_sources

NAMES = ["a.jpg", "b.jpg", "deep/c d.png", "e.jpg"]


@given(st.integers(2, 12), st.integers(1, 14))
def test_numbers_of_pairs_are_those_of_the_pairs(n: int, reach: int) -> None:
    names = [str(k) for k in range(n)]
    every, near = select_pairs("exhaustive", names), select_pairs(f"sequential:{reach}", names)
    expected = [(names[i], names[j]) for i in range(n) for j in range(i + 1, n)]
    assert list(every) == list(every) == expected
    assert list(near) == [(a, b) for a, b in expected if int(b) - int(a) <= reach]
    assert (len(every), len(near)) == (len(expected), len(list(near)))


def test_a_list_has_names_with_blanks_comments_and_repetitions(tmp_path: Path) -> None:
    path = tmp_path / "pairs.txt"
    path.write_text("# pairs\na.jpg b.jpg\n\nb.jpg\tdeep/c d.png\na.jpg  b.jpg\nb.jpg a.jpg\n", encoding="utf-8")
    assert list(select_pairs(str(path), NAMES)) == [("a.jpg", "b.jpg"), ("b.jpg", "deep/c d.png"), ("b.jpg", "a.jpg")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a.jpg z.jpg", "pairs.txt: there is no image 'z.jpg'"),
        ("a.jpg", "a line must name two images, got 'a.jpg'"),
        ("a.jpg b.jpg e.jpg", "a line must name two images"),
        ("a.jpg a.jpg", "a line must name two images"),
        ("", "gives no pair of the 4 images"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "pairs.txt").write_text(line)
    with pytest.raises(ValueError, match=message):
        select_pairs(str(tmp_path / "pairs.txt"), NAMES)


@pytest.mark.parametrize("how", ["sequential:0", "sequential:", "sequential:-1", "sequential:1.5", "all", ""])
def test_an_unknown_selection_is_named(how: str) -> None:
    with pytest.raises(ValueError, match=f"got '{how}'"):
        select_pairs(how, NAMES)


def test_one_image_has_no_pair() -> None:
    with pytest.raises(ValueError, match="exhaustive gives no pair of the 1 images"):
        select_pairs("exhaustive", NAMES[:1])


def test_images_are_found_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "folder.png").mkdir()
    names = ["img10.jpg", "img2.JPG", "deep/1.png", "notes.txt", ".hidden.jpg"]
    for name in names:
        (tmp_path / name).touch()
    assert list(find_images(tmp_path)) == ["deep/1.png", "img2.JPG", "img10.jpg"]


def test_a_folder_without_images_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no images"):
        find_images(tmp_path)
    with pytest.raises(NotADirectoryError, match="nowhere"):
        find_images(tmp_path / "nowhere")


def test_a_name_with_a_null_character_is_a_source_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("a\0.npz\n")
    (source,) = find_sources(tmp_path / "list.txt", tmp_path / "out.npz")
    assert source.stamp == ""
