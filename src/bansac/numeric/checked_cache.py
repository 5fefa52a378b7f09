"""A cache of compiled functions in which a damaged file counts as a missing one.

Numba reads its files unchecked: a truncated one raises an error on every start, and a changed byte of machine code is
executed. Here each file begins with a checksum of Numba's version and of the rest of the file.

Numba also finds an entry by function and signature alone. Here the options belong to the key: the same function without
a wrapper for Python, or with fast-math, is another entry.
"""

from __future__ import annotations

import glob
import hashlib
import pickle
import uuid
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile

__all__ = ["KERNELS", "CheckedCache"]

KERNELS: Counter[str] = Counter()
"""How many kernels this process has ``"compiled"`` and ``"loaded"`` so far."""

_DIGEST_SIZE = 16


class CheckedCache(FunctionCache):  # type: ignore[misc]
    """The cache of one function with one set of target options, for ``Dispatcher._cache``."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        super().__init__(function)
        self._options = [
            (name, sorted(value) if isinstance(value, set) else value) for name, value in sorted(options.items())
        ]
        locator = self._impl.locator
        self._cache_file = _CheckedFile(self._cache_path, self._impl.filename_base, locator.get_source_stamp())

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Load compiled code; None if there is none."""
        found = super().load_overload(signature, target_context)
        KERNELS["loaded"] += found is not None
        return found

    def save_overload(self, signature: Any, data: Any) -> None:
        """Save compiled code; where that fails (a full disk, a folder that is gone) it is only said: the code runs."""
        KERNELS["compiled"] += 1
        try:
            super().save_overload(signature, data)
        except OSError as error:
            warnings.warn(f"a compiled kernel cannot be cached: {error}", RuntimeWarning, stacklevel=2)

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        return (*super()._index_key(signature, codegen), repr(self._options))


class _CheckedFile(IndexDataCacheFile):  # type: ignore[misc]
    """An index, which finds the data of a signature, and the data."""

    def _load_index(self) -> dict[Any, str]:
        try:
            stamp, overloads = self._read(self._index_path)
        except OSError:
            return {}
        return overloads if stamp == self._source_stamp else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        """Write the index, and delete what no index names any more: data of an older source or of a damaged index."""
        self._write(self._index_path, (self._source_stamp, overloads))
        base = Path(self._index_path)
        for data in base.parent.glob(f"{glob.escape(base.stem)}.*.nbc"):
            if data.name not in overloads.values():
                data.unlink(missing_ok=True)

    def _load_data(self, name: str) -> Any:
        return self._read(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _data_name(self, number: int) -> str:
        """Name a file for data that no other process uses: two that compile at once must not share one."""
        name: str = super()._data_name(number)
        return f"{name.removesuffix('.nbc')}.{uuid.uuid4().hex[:8]}.nbc"

    def _read(self, path: str) -> Any:
        """Return what a file holds; OSError, which Numba takes for a missing file, if that is not what was written."""
        content = Path(path).read_bytes()
        if content[:_DIGEST_SIZE] != self._checksum(content[_DIGEST_SIZE:]):
            raise OSError(f"{path} is damaged")
        try:
            return pickle.loads(content[_DIGEST_SIZE:])
        except Exception as error:  # of an older version, whose classes are no more
            raise OSError(f"{path} cannot be read") from error

    def _write(self, path: str, value: Any) -> None:
        payload = self._dump(value)
        with self._open_for_write(path) as file:
            file.write(self._checksum(payload) + payload)

    def _checksum(self, payload: bytes) -> bytes:
        return hashlib.blake2b(self._version.encode() + payload, digest_size=_DIGEST_SIZE).digest()
