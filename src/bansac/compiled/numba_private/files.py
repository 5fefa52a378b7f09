"""Cache files with a checksum (``IndexDataCacheFile``).

Gain: safety, no speed. A damaged file counts as missing; Numba reads its files unchecked, so that a truncated index
raises an error in every process and a changed byte of machine code is executed.
Assumption: the methods that ``CheckedFile`` overrides read and write all files.
"""

import glob
import hashlib
import pickle
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numba.core.caching import IndexDataCacheFile

_DIGEST_SIZE = 16


class CheckedFile(IndexDataCacheFile):  # type: ignore[misc]
    """An index, which maps signatures to data files, and the data files; each begins with a checksum of the rest.

    Files of the folders ``earlier`` are read first, and never written.
    """

    def __init__(self, folder: str, name: str, stamp: Any, earlier: Sequence[str] = ()) -> None:
        super().__init__(folder, name, stamp)
        self._earlier = [CheckedFile(one, name, stamp) for one in earlier]

    def load(self, key: Any) -> Any:
        """Load an entry; None if no folder has it."""
        found = (load(key) for load in (*(file.load for file in self._earlier), super().load))
        return next((entry for entry in found if entry is not None), None)

    def _load_index(self) -> dict[Any, str]:
        try:
            stamp, overloads = self._read(self._index_path)
        except OSError:
            return {}
        return overloads if stamp == self._source_stamp else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        """Write the index, and delete data files that it does not list: those of older source or a damaged index."""
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
        """Return a file name that no other process uses; two processes that compile at once must not share a file."""
        name: str = super()._data_name(number)
        return f"{name.removesuffix('.nbc')}.{uuid.uuid4().hex[:8]}.nbc"

    def _read(self, path: str) -> Any:
        """Return the content of a file; if it is damaged, raise an OSError, which Numba treats as a missing file."""
        content = Path(path).read_bytes()
        if content[:_DIGEST_SIZE] != self._checksum(content[_DIGEST_SIZE:]):
            raise OSError(f"{path} is damaged")
        try:
            return pickle.loads(content[_DIGEST_SIZE:])
        except Exception as error:  # written by an older version whose classes no longer exist
            raise OSError(f"{path} cannot be read") from error

    def _write(self, path: str, value: Any) -> None:
        payload = self._dump(value)
        with self._open_for_write(path) as file:
            file.write(self._checksum(payload) + payload)

    def _checksum(self, payload: bytes) -> bytes:
        return hashlib.blake2b(self._version.encode() + payload, digest_size=_DIGEST_SIZE).digest()
