"""The cache of compiled kernels: the pack of a binary wheel, then a folder.

``FunctionCache``
    Gain: a full disk is a warning. The options are part of the key; with Numba's key, a copy with fast-math or without
    wrappers could replace another. The folder is looked up on the first use: .1 ms for each of the kernels that are not
    called. Kernels in read-only folders are used, which Numba ignores. Numba's tables for compilation are not filled
    before code is loaded: .3 s of the first call of a process.
    Assumption: the methods that ``_FolderCache`` overrides read and write all files. The first of ``_locator_classes``
    whose ``ensure_cache_path`` raises no OSError has the folder. A dispatcher calls ``load_overload`` before and
    ``save_overload`` after a compilation, and needs no other method of a cache.
"""

from __future__ import annotations

import hashlib
import inspect
import itertools
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache

from bansac.compiled.announcement import ANNOUNCEMENT
from bansac.compiled.clock import KERNELS
from bansac.compiled.numba_private.files import CheckedFile
from bansac.compiled.numba_private.loading import READ_ONLY, CompiledCode, rebuild
from bansac.compiled.pack import Kernel, PackError, open_pack
from bansac.compiled.source import holds_kernels


class CheckedCache:
    """Compiled code of one function with one set of target options, for ``Dispatcher._cache``.

    Code is looked up in the pack of a binary wheel and then in the folder of the cache. The pack is first, so that
    results do not depend on the content of a folder, and because it needs none.
    """

    writing: AbstractContextManager[Any] = nullcontext()  # held while files are written

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._function = function
        self._options = repr(
            [(name, sorted(value) if isinstance(value, set) else value) for name, value in sorted(options.items())]
        )

    @cached_property
    def _folder(self) -> _FolderCache | None:
        """The cache in folders; None if the function has no file or there is no folder."""
        try:
            return _FolderCache(self._function, self._options)
        except RuntimeError as error:
            if "cannot cache function" not in str(error):
                raise
            return None

    @property
    def cache_path(self) -> str | None:
        """The folder that is written, or else read; None if there is none."""
        return self._folder.cache_path if self._folder else None

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Load compiled code; None if it has to be compiled."""
        with _interrupts_deferred():
            found, reason = self._load_from_pack(signature, target_context)
            if found is None and self._folder:
                found = self._folder.load_overload(signature, target_context)
        if found is None and holds_kernels(self._function.__code__.co_filename):
            ANNOUNCEMENT.begin(reason, kept=self._folder is not None and self._folder.is_written)
        KERNELS["loaded"] += found is not None
        return found

    def _load_from_pack(self, signature: Any, target_context: Any) -> tuple[Any, str]:
        """Return compiled code of the pack or None, and why there is none."""
        if not holds_kernels(self._function.__code__.co_filename):
            return None, ""
        pack, reason = open_pack()
        if pack is None:
            return None, reason
        key = name_kernel(self._function, signature, self._options)
        if key not in pack.keys:
            return None, "are not all that this call needs: BANSAC_KERNELS=all has more"
        try:
            payload = pack.read(key)
        except PackError as error:
            return None, str(error)
        KERNELS["packed"] += 1
        return rebuild(target_context, pickle.loads(payload), lambda: pack.read_llvm(key)), ""

    def save_overload(self, signature: Any, data: Any) -> None:
        """Save compiled code; a failure (full disk, deleted folder) is a warning, because the code itself runs."""
        KERNELS["compiled"] += 1
        try:
            if self._folder and self._folder.is_written:
                with self.writing:
                    self._folder.save_overload(signature, data)
        except OSError as error:
            ANNOUNCEMENT.warn(f"a compiled kernel cannot be cached: {error}")


class _FolderCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache with checked files, with read-only folders and with the options in the key."""

    _impl_class = CompiledCode

    def __init__(self, function: Callable[..., Any], options: str) -> None:
        super().__init__(function)
        self._options = options
        name, stamp = f"{self._impl.filename_base}-bansac", self._impl.locator.get_source_stamp()
        self.is_written = type(self._impl.locator) not in READ_ONLY
        file = inspect.getfile(function)
        found = (kind.from_function(function, file) for kind in READ_ONLY)
        paths = (locator.get_cache_path() for locator in found if locator)
        self.earlier = list(itertools.takewhile(lambda path: path != self._cache_path, paths))
        self._cache_file = CheckedFile(self._cache_path, name, stamp, self.earlier)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Load compiled code, without Numba's tables for compilation, which ``Cache.load_overload`` fills first."""
        with self._guard_against_spurious_io_errors():
            return self._load_overload(signature, target_context)

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        key = super()._index_key(signature, codegen)
        return (*key, self._options, name_kernel(self._py_func, signature, self._options))


def find_folders(function: Callable[..., Any]) -> list[str]:
    """Return the folders in which compiled code of a function is looked up; the last one is written if that can be."""
    folder = CheckedCache(function, {})._folder
    return [*folder.earlier, folder.cache_path] if folder else []


def name_kernel(function: Callable[..., Any], signature: Any, options: str) -> str:
    """Return the key of a kernel in the pack; it is the same on all machines.

    Kernels that depend on more than their source, signature and options have the key ``""``.
    """
    code = function.__code__
    constants = (code.co_code, code.co_names, code.co_varnames, code.co_consts)
    name = repr((function.__module__, function.__qualname__, code.co_firstlineno, constants, signature, options))
    if function.__closure__ is not None or " at 0x" in name:  # an address differs between processes
        return ""
    return hashlib.blake2b(name.encode(), digest_size=16).hexdigest()


def read_cache(folder: Path) -> dict[str, Kernel]:
    """Return the compiled kernels in a folder of the cache, by their keys in a pack."""
    found: dict[str, Kernel] = {}
    for index in folder.glob("*.nbi"):
        file = CheckedFile(str(folder), index.stem, None)
        _, overloads = file._read(str(index))
        for (*_, key), name in overloads.items():
            if key:
                code, llvm_code = file._load_data(name)
                found[key] = Kernel(file._dump(code), llvm_code)
    return found


@contextmanager
def _interrupts_deferred() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait while code is loaded: an exception in a callback of LLVM would crash the process."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    if threading.current_thread() is not threading.main_thread():
        handlers = {}
    received: list[int] = []
    for number in handlers:
        signal.signal(number, lambda number, _: received.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if received:
            signal.raise_signal(received[0])
