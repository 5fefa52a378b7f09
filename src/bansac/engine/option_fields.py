"""Declaration of an option: heading, default, check and names of a field of ``Options``.

The checks, and with the docstring of ``Options`` the table in the documentation and the command-line flags, are made
from it.
"""

import dataclasses
import inspect
import math
import re
from collections.abc import Callable, Collection
from typing import Any, Literal, Self

import numpy as np

from bansac.maths.validate import check_name

Default = Literal["default"]
"""Type of the value that leaves a choice to the preset, the problem or the data."""

Check = Callable[[str, Any], Any]
"""A function of the name and the value of an option. It returns the value to store, or raises a ValueError."""


def option(
    heading: str,  # in the documentation
    default: Any,
    check: Check | None = None,
    *,
    choices: Collection[str] = (),  # allowed names, the check if there is no other
    instances: Any = (),  # types whose instances are also allowed
    optional: bool = False,  # whether None is allowed, as it is if it is the default
    flag: bool = False,  # whether ``bansac estimate`` and ``bansac match`` have a flag for the option
) -> Any:
    """Return a field of a :class:`Checked`; the default ``"default"`` is not checked."""
    optional = optional or default is None
    if choices and check is None:
        check = _one_of(choices, instances, optional)
    metadata = {"check": check, "choices": choices, "optional": optional, "heading": heading, "flag": flag}
    return dataclasses.field(default=default, metadata=metadata)


def number(wanted: str, holds: Callable[[float], bool]) -> Check:
    """Return a check for a number of any type, which is stored as a float."""

    def check(name: str, value: Any) -> float:
        try:
            real = math.nan if isinstance(value, str | bytes | bool | np.bool_) or np.ndim(value) else float(value)
        except (TypeError, ValueError, OverflowError):  # of integers beyond float64
            real = math.nan
        if not math.isfinite(real) or not holds(real):
            raise ValueError(f"{name} must be a number {wanted}, got {value!r}")
        return real

    return check


def integer(smallest: int, largest: int) -> Check:
    """Return a check for a whole number of any type, such as 1e4 or a 0-d array; it is stored as an int."""

    def check(name: str, value: Any) -> int:
        scalar = value.item() if isinstance(value, np.ndarray | np.generic) and value.ndim == 0 else value
        whole = isinstance(scalar, int) or (isinstance(scalar, float) and scalar.is_integer())
        if not whole or isinstance(scalar, bool) or not smallest <= scalar <= largest:
            raise ValueError(f"{name} must be an integer in [{smallest}, {largest}], got {value!r}")
        return int(scalar)

    return check


def boolean(name: str, value: Any) -> bool:
    """Check a truth value, which is stored as a bool."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}")
    return bool(value)


DISTANCE = number("> 0 and <= 1e100", lambda v: 0 < v <= 1e100)  # squares do not overflow
PROBABILITY = number("in (0, 1)", lambda v: 0 < v < 1)


@dataclasses.dataclass(frozen=True)
class Checked:
    """A dataclass whose fields are declared by :func:`option`, and whose docstring describes them."""

    def __post_init__(self) -> None:
        """Check every value."""
        for field in self.__dataclass_fields__.values():
            check, value = field.metadata["check"], getattr(self, field.name)
            if check is None or (value is None and field.metadata["optional"]):
                continue
            if not (isinstance(value, str) and value == "default" == field.default):
                object.__setattr__(self, field.name, check(field.name, value))


@dataclasses.dataclass(frozen=True)
class Group(Checked):
    """Options that belong together."""

    @classmethod
    def check(cls, name: str, value: Any) -> Self:
        """Return a value that is a group of this kind."""
        if not isinstance(value, cls):
            raise ValueError(f"{name} must be a bansac.{cls.__name__}, got {value!r}")
        return value

    def over(self, base: Self) -> Self:
        """Return the group with the values of another one where its own are ``"default"``."""
        values = {name: value for name, value in vars(self).items() if isinstance(value, str) and value == "default"}
        return dataclasses.replace(self, **{name: getattr(base, name) for name in values}) if values else self


def _one_of(names: Collection[str], instances: Any, optional: bool) -> Check:
    """Return a check for one of the names, or an instance of the types."""

    def check(name: str, value: Any) -> Any:
        if not isinstance(value, instances):
            check_name(name, value, names, optional=optional)
        return value

    return check


def documentation(kind: type[Checked]) -> dict[str, tuple[str, str]]:
    """Return the type and the first sentence of each option in a docstring; none without docstrings (``-OO``)."""
    entries = re.findall(r"^(\w+) : (.+)\n((?:    .+\n)+)", inspect.cleandoc(kind.__doc__ or ""), re.MULTILINE)
    return {name: (words, re.split(r"(?<=\.)\s", " ".join(text.split()))[0]) for name, words, text in entries}
