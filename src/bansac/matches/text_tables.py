"""Number tables in text files as written by pandas and NumPy, with or without header, index column and quotes.

The separator is the first of tab, semicolon, comma and blank that the first row contains. A ``#`` starts a comment.
"""

import csv
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SCORE = "score"

_SEPARATORS = ("\t", ";", ",")
_BOM = "utf-8-sig"  # spreadsheets write a byte order mark


def read_table(path: Path, columns: tuple[str, ...]) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Read columns of finite numbers, and a column ``score`` if there is one.

    A header may list the columns in any order and with other columns, in upper or lower case. Without a header, the
    columns must be in the given order, followed by the scores. An error is a ValueError that names the file and the
    line.
    """
    lines, separator = _lines(path)
    first = _without_end(_split(path, *lines[0], separator)) if lines else []
    names = None
    if _is_header(first):
        names = _header(path, first, columns)
        del lines[0]
    if not lines:
        raise ValueError(f"{path}: holds no rows; expected the columns {', '.join(columns)} and maybe {SCORE}")
    if names is None:
        names = [*columns, SCORE]
        if len(first) not in (len(columns), len(names)):
            raise ValueError(
                f"{path}: line {lines[0][0]} has {len(first)} columns, expected {len(columns)} or {len(names)}: {names}"
            )
        names = names[: len(first)]
    wanted = [name for name in (*columns, SCORE) if name in names]
    places = [names.index(name) for name in wanted]
    table = _plain_numbers([text for _, text in lines], separator, len(names))
    if table is not None:
        table = np.ascontiguousarray(table[:, places])
    else:
        table = _checked_numbers(path, lines, separator, len(names), places)
    return table[:, : len(columns)], table[:, len(columns)] if SCORE in wanted else None


def read_rows(path: Path) -> list[list[str]]:
    """Return the lines of a text file, split into fields, without blank lines and comments."""
    lines, separator = _lines(path)
    return [_without_end(_split(path, number, text, separator)) for number, text in lines]


def _lines(path: Path) -> tuple[list[tuple[int, str]], str | None]:
    """Return the numbered lines without blank lines and comments, and the separator (None for blanks)."""
    lines = [(number, text.split("#")[0].strip(" ")) for number, text in enumerate(read_text(path).splitlines(), 1)]
    lines = [(number, text) for number, text in lines if text.strip()]
    first = lines[0][1] if lines else ""
    return lines, next((mark for mark in _SEPARATORS if mark in first), None)


def _plain_numbers(texts: list[str], separator: str | None, width: int) -> NDArray[np.float64] | None:
    """Return a table of ``width`` columns of finite numbers by NumPy's fast reader; None if it is anything else."""
    try:
        table = np.loadtxt(texts, delimiter=separator, comments=None, ndmin=2)
    except ValueError:
        return None
    return table if table.shape == (len(texts), width) and np.isfinite(table).all() else None


def _checked_numbers(
    path: Path, lines: list[tuple[int, str]], separator: str | None, width: int, places: list[int]
) -> NDArray[np.float64]:
    """Return the columns ``places``; the other columns may be text. An error names the line."""
    table = np.empty((len(lines), len(places)))
    for i, (line, text) in enumerate(lines):
        fields = _split(path, line, text, separator)
        if len(fields) > width:
            fields = _without_end(fields)
        if len(fields) != width:
            raise ValueError(f"{path}: line {line} has {len(fields)} columns, expected {width}")
        for k, place in enumerate(places):
            table[i, k] = number = _number(fields[place])
            if not math.isfinite(number):
                raise ValueError(f"{path}: line {line}: {fields[place]!r:.40} is no finite number")
    return table


def read_text(path: Path) -> str:
    """Return the text of a file; an error names the file."""
    try:
        return path.read_text(encoding=_BOM)
    except UnicodeDecodeError:
        raise ValueError(f"{path}: not a text file") from None
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: BaseException) -> OSError:
    """Return the error for a file that cannot be read."""
    if isinstance(error, FileNotFoundError):
        return FileNotFoundError(f"{path}: there is no such file")
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return OSError(f"{path}: cannot be read: {reason}")


def _split(path: Path, line: int, text: str, separator: str | None) -> list[str]:
    if separator is None:
        return [field.strip("\"'") for field in text.split()]
    try:
        (fields,) = csv.reader([text], delimiter=separator, skipinitialspace=True, strict=True)
    except csv.Error as error:
        raise ValueError(f"{path}: line {line}: {error}") from None
    return [field.strip() for field in fields]


def _without_end(fields: list[str]) -> list[str]:
    """Return the fields of a line without the empty one after a separator at its end."""
    return fields[:-1] if fields[-1] == "" else fields


def _is_header(fields: list[str]) -> bool:
    """Return whether the first non-empty field of a row is a name; the header of an index column may be empty."""
    first = next((field for field in fields if field), "")
    return first[:1].isalpha() and first.lower() not in ("nan", "inf", "infinity")


def _header(path: Path, fields: list[str], columns: tuple[str, ...]) -> list[str]:
    names = [field if field in columns else field.lower() for field in fields]  # X is not x in the columns X Y Z x y
    missing = [name for name in columns if name not in names]
    if missing:
        raise ValueError(f"{path}: the header has no column {', '.join(missing)}; it has {', '.join(names)}")
    for name in (*columns, SCORE):
        if names.count(name) > 1:
            raise ValueError(f"{path}: the header has the column {name} {names.count(name)} times")
    return names


def _number(field: str) -> float:
    """Return the number in a field; NaN if it is not a number."""
    try:
        return math.nan if "_" in field else float(field)
    except ValueError:
        return math.nan
