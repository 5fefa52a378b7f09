from __future__ import annotations

import pytest

from bansac.executors import ItemFailure
from bansac.executors.threads import EXECUTOR


def halve(number: int) -> int:
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number // 2


def test_items_come_in_order_and_failures_are_their_own() -> None:
    expected = [(k, ItemFailure(f"{k} is odd") if k % 2 else k // 2) for k in range(50)]
    for workers in (1, 3):
        assert list(EXECUTOR.run(halve, range(50), workers)) == expected


def test_an_error_of_the_program_names_the_item() -> None:
    with pytest.raises(TypeError) as caught:
        list(EXECUTOR.run(halve, [0, "many"], 2))
    assert caught.value.__notes__ == ["in many"]
