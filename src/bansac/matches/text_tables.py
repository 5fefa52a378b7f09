"""Number tables in text files as written by pandas and NumPy, with or without header, index column and quotes.

The separator is the first of tab, semicolon, comma and blank that the first row contains. A ``#`` starts a comment.
"""

import csv
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

PER_MATCH = {"score": "scores", "depth1": "depth1", "depth2": "depth2"}
"""Optional columns, and the names of their arrays in other files."""

SCORE, *_DEPTHS = PER_MATCH

# Depths that are unknown.
_UNKNOWN = ("", "nan", "inf")


def read_table(path: Path, columns: tuple[str, ...]) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]]]:
    """Read columns of finite numbers, and the optional columns that there are, by the names of their arrays.

    A header may list the columns in any order and with other columns, in upper or lower case. Without a header, the
    columns must be in the given order, followed by the scores. Depths that are unknown are not finite. An error is a
    ValueError that names the file and the line.
    """
    numbers, rows = _read(path)
    first = _without_end(rows[0]) if rows else []
    names = None
    if _is_header(first):
        names = _header(path, first, columns)
        del numbers[0], rows[0]
    if not rows:
        raise ValueError(f"{path}: holds no rows; expected the columns {', '.join(columns)} and maybe {SCORE}")
    if names is None:
        names = [*columns, SCORE]
        if len(first) not in (len(columns), len(names)):
            raise ValueError(
                f"{path}: line {numbers[0]} has {len(first)} columns, expected {len(columns)} or {len(names)}: {names}"
            )
        names = names[: len(first)]
    wanted = [name for name in (*columns, *PER_MATCH) if name in names]
    places = [names.index(name) for name in wanted]
    for line, fields in zip(numbers, rows, strict=True):
        if len(fields if len(fields) <= len(names) else _without_end(fields)) != len(names):
            raise ValueError(f"{path}: line {line} has {len(fields)} columns, expected {len(names)}")
    table = np.array([[_number(fields[place]) for place in places] for fields in rows])
    for row, column in np.argwhere(~np.isfinite(table)):
        field = rows[row][places[column]]
        if wanted[column] not in _DEPTHS or field.lower() not in _UNKNOWN:
            raise ValueError(f"{path}: line {numbers[row]}: {field!r:.40} is no finite number")
    optional = {PER_MATCH[name]: table[:, k] for k, name in enumerate(wanted) if k >= len(columns)}
    return np.ascontiguousarray(table[:, : len(columns)]), optional


def read_rows(path: Path) -> list[list[str]]:
    """Return the lines of a text file, split into fields, without blank lines and comments."""
    return [_without_end(fields) for fields in _read(path)[1]]


def _read(path: Path) -> tuple[list[int], list[list[str]]]:
    """Return the numbers and the fields of the lines that are neither blank nor comments."""
    lines = [text.split("#")[0].strip(" ") for text in read_text(path).splitlines()]
    numbers = [number for number, text in enumerate(lines, 1) if text.strip()]
    texts = [lines[number - 1] for number in numbers]
    separator = next((mark for mark in "\t;," if texts and mark in texts[0]), None)
    if separator is None:
        return numbers, [[field.strip("\"'") for field in text.split()] for text in texts]
    rows: list[list[str]] = []
    reader = csv.reader(texts, delimiter=separator, skipinitialspace=True, strict=True)
    try:
        for fields in reader:
            if reader.line_num > len(rows) + 1:
                raise csv.Error("a quote is not closed")
            rows.append([field.strip() for field in fields])
    except csv.Error as error:
        raise ValueError(f"{path}: line {numbers[len(rows)]}: {error}") from None
    return numbers, rows


def read_text(path: Path) -> str:
    """Return the text of a file; an error names the file."""
    try:
        return path.read_text(encoding="utf-8-sig")  # spreadsheets write a byte order mark
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
    for name in (*columns, *PER_MATCH):
        if names.count(name) > 1:
            raise ValueError(f"{path}: the header has the column {name} {names.count(name)} times")
    return names


def _number(field: str) -> float:
    """Return the number in a field; NaN if it is not a number."""
    try:
        return math.nan if "_" in field else float(field)
    except ValueError:
        return math.nan
