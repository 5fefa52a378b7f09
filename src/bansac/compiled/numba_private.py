"""All uses of Numba's private parts. No other module imports or overrides private parts.

Importing this module raises an error if the version of Numba is untested. Public parts may be used anywhere: ``njit``,
``numba.types``, ``numba.errors``, ``numba.experimental.structref``.

Each entry lists the benefit and the assumptions. The figures are for ``estimate_homography`` on one core: 54 s of CPU
time for the first call with an empty cache, 0.40 ms for 30 points, 1.2 ms for 1000 iterations on 500 points.

Kernels without reference counts (target option ``_nrt``)
    Gain: 30 points take 0.40 ms instead of 0.48 ms, 1000 iterations 1.2 ms instead of 2.1 ms.
    Assumption: ``_nrt=False`` forbids allocation. Callees inherit ``_nrt`` if it is unset.
Structs that these kernels can read (``define_struct``)
    Gain: kernels without reference counts cannot read other structs.
    Assumption: a structref is one pointer ``meminfo`` to a record whose field 3 is the address of the contents.
    ``infer_getattr``, ``lower_getattr_generic`` and ``lower_setattr_generic`` keep their signatures.
Kernels without wrappers (target options ``no_cpython_wrapper``, ``no_cfunc_wrapper``)
    Gain: 3 s of the first call, 50 ms for each kernel.
    Assumption: Python never calls code without a wrapper; such a call would crash. ``_InnerDispatcher`` prevents it.
Subclasses of ``CPUDispatcher``
    Gain: 3 s of the first call, because the garbage collector is off during compilation. ``Result.seconds`` excludes
    compilation and loading: 20 ms instead of 1.4 s in the first call of a process. They hold ``CheckedCache``.
    Assumption: Numba reads ``_cache`` and calls ``enable_caching``, ``compile``, ``_compile_for_args`` and
    ``typeof_pyval``. ``CPUDispatcher(function, targetoptions=...)`` makes a dispatcher.
The cache (``FunctionCache``, ``IndexDataCacheFile``)
    Gain: safety, no speed. A damaged file counts as missing; Numba reads its files unchecked, so that a truncated index
    raises an error in every process and a changed byte of machine code is executed. A full disk is a warning. The
    options are part of the key; with Numba's key, a copy with fast-math or without wrappers could replace another.
    The folder is looked up on the first use: .1 ms for each of the kernels that are not called.
    Assumption: the methods that ``_FolderCache`` and ``_CheckedFile`` override read and write all files. A dispatcher
    calls ``load_overload`` before and ``save_overload`` after a compilation, and needs no other method of a cache.
The lock of the compiler (``global_compiler_lock``)
    Gain: if several threads need a kernel, one compiles and the others wait. Another lock could deadlock, because
    Numba calls ``_Dispatcher.compile`` during a compilation, too.
    Assumption: the lock is reentrant and a context manager.
Registration of a dispatcher (``register_dispatcher``)
    Gain: a function that is compiled for one signature may call itself.
    Assumption: ``njit(signature)`` uses it in the same way.
Loading of compiled code (``CompileResult``, ``JITCodeLibrary``, ``CompileResultCacheImpl``, ``Environment``, ``rtsys``)
    Gain: binary wheels contain compiled kernels (see ``pack``), so that the first call compiles nothing. The first call
    of a process does not fill Numba's tables for compilation and does not parse LLVM code that nothing links.
    Assumption: ``_rebuild`` and ``_LoadedLibrary`` do what ``CompileResult._rebuild`` and ``_unserialize`` do. Loaded
    code needs only the runtime of ``rtsys``; Numba fills its tables before each compilation. Compiled code reads the
    constants of an ``Environment``, and never its globals.
"""

from __future__ import annotations

import gc
import glob
import hashlib
import pickle
import signal
import threading
import uuid
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from types import FunctionType
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core import cgutils
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, CompileResult, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import register_pass
from numba.core.datamodel import default_manager, models
from numba.core.environment import Environment
from numba.core.extending import infer_getattr, lower_getattr_generic, lower_setattr_generic
from numba.core.imputils import impl_ret_borrowed
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys
from numba.core.runtime.nrtdynmod import _meminfo_struct_type
from numba.core.typed_passes import NativeLowering, NopythonRewrites
from numba.core.typeinfer import register_dispatcher
from numba.core.typing.templates import AttributeTemplate
from numba.core.untyped_passes import InlineClosureLikes, WithLifting
from numba.experimental import structref

from bansac.compiled.announcement import ANNOUNCEMENT
from bansac.compiled.clock import loading
from bansac.compiled.pack import PACK_FILE, Kernel, Pack, PackError
from bansac.compiled.source import PACKAGE, holds_kernels
from bansac.compiled.target import find_mismatch

# First and last version of Numba that the tests run with, as in pyproject.toml. The assumptions hold in this range.
TESTED = (0, 61), (0, 68)

if not TESTED[0] <= numba.version_info.short <= TESTED[1]:
    oldest, newest = (".".join(map(str, version)) for version in TESTED)
    raise ImportError(f"bansac needs a tested version of Numba, {oldest} to {newest}, and this is {numba.__version__}")

# Only one thread compiles at a time; waiting threads then use its code. The lock is reentrant.
COMPILER_LOCK = global_compiler_lock

KERNELS: Counter[str] = Counter()
"""Number of kernels that this process has ``"compiled"`` and ``"loaded"`` so far, ``"packed"`` of these from a pack."""

_DIGEST_SIZE = 16

# Index of the address of the contents in the header of a Numba allocation.
_DATA = 3

# Callees inherit flags that are unset, such as the reference counts.
_FLAGS: dict[str, Any] = {"nopython": True, "boundscheck": None, "nogil": True, "error_model": "numpy", "_nrt": True}


def make_dispatcher(
    function: Callable[..., Any],
    signature: Any = None,
    *,
    fastmath: set[str] | None = None,
    from_python: bool = True,
    by_address: bool = True,
    counts: bool = True,
) -> Any:
    """Return the dispatcher of a Python function; its compiled code is cached if the function is defined in a file.

    With a signature, the function is compiled for it now, and other signatures are disabled. ``fastmath`` are LLVM's
    allowed changes of the arithmetic. The code has wrappers for calls from Python and for calls by address, as fields
    of a struct, unless these are False. Without ``from_python``, a call from Python compiles a copy that has a wrapper.
    Without reference counts the code must not allocate.
    """
    options = _FLAGS | {"fastmath": fastmath} if fastmath else dict(_FLAGS)
    unused = {"no_cpython_wrapper": not from_python, "no_cfunc_wrapper": not by_address}
    options |= {name: True for name, is_unused in unused.items() if is_unused}
    if not counts:
        options["_nrt"] = False
    compiler = _InnerCompiler if not from_python and not by_address else _Compiler
    kind = _Dispatcher if from_python else _InnerDispatcher
    dispatcher = kind(function, targetoptions=options, pipeline_class=compiler)
    dispatcher.enable_caching()
    if signature is not None:
        with COMPILER_LOCK, register_dispatcher(dispatcher):  # lets the function call itself by its name
            dispatcher.compile(signature)
        dispatcher.disable_compile()
    return dispatcher


class _Dispatcher(CPUDispatcher):  # type: ignore[misc]
    """Numba dispatcher with a checked cache; the garbage collector is off during compilation."""

    def enable_caching(self) -> None:
        """Look compiled code up in the pack and in the folder of the cache."""
        self._cache = CheckedCache(self.py_func, self.targetoptions)

    # Numba calls these for new argument types; their time counts as loading.
    typeof_pyval = loading()(CPUDispatcher.typeof_pyval)
    _compile_for_args = loading()(CPUDispatcher._compile_for_args)

    @loading()
    def compile(self, signature: Any) -> Any:
        """Compile or load the code for a signature."""
        with COMPILER_LOCK:  # two threads must not switch the garbage collector at the same time
            enabled = gc.isenabled()
            gc.disable()
            try:
                return super().compile(signature)
            finally:
                if enabled:
                    gc.enable()


class _InnerDispatcher(_Dispatcher):
    """Dispatcher without a wrapper for Python; a call from Python runs a copy that has one."""

    def add_overload(self, compiled: Any) -> None:
        """Keep the code for callers, without an entry for Python."""
        self.overloads[tuple(compiled.signature.args)] = compiled

    def __call__(self, *arguments: Any) -> Any:
        """Call the copy with a wrapper."""
        if "_copy" not in self.__dict__:
            self.__dict__["_copy"] = make_dispatcher(self.py_func)
        return self.__dict__["_copy"](*arguments)


class _Compiler(CompilerBase):  # type: ignore[misc]
    """Numba's compiler without the passes for language elements that no kernel contains."""

    lowering: type = NativeLowering

    def define_pipelines(self) -> list[Any]:
        """Return the passes."""
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        kept = [one for one in manager.passes if one[0] not in (WithLifting, InlineClosureLikes, NopythonRewrites)]
        manager.passes = [(self.lowering if step is NativeLowering else step, text) for step, text in kept]
        manager.finalize()
        return [manager]


@register_pass(mutates_CFG=True, analysis_only=False)
class _InnerLowering(NativeLowering):  # type: ignore[misc]
    """Lowering to LLVM code without machine code, for a function that only kernels call."""

    _name = "inner_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower the function, and register it for its callers under a new object in place of its machine code."""
        state.library = _InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        state.library._ensure_finalized()
        state.cr = state.cr._replace(cfunc=_Entry())
        state.targetctx.insert_user_function(state.cr.cfunc, state.cr.fndesc, [state.library])
        state.reload_init.extend(state.library._reload_init)
        return True


class _Entry:
    """Identity of a function without machine code."""


class _InnerCompiler(_Compiler):
    """Compiler of functions that only kernels call."""

    lowering = _InnerLowering


class _InnerLibrary(JITCodeLibrary):  # type: ignore[misc]
    """LLVM code without machine code."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True

    def serialize_using_object_code(self) -> Any:
        """Return the content of a file."""
        return self.name, "object", (b"", self._get_module_for_linking().as_bitcode())


class CheckedCache:
    """Compiled code of one function with one set of target options, for ``Dispatcher._cache``.

    Code is looked up in the pack of a binary wheel and then in the folder of the cache. The pack is first, so that
    results do not depend on the content of a folder, and because it needs none.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self._function = function
        self._options = repr(
            [(name, sorted(value) if isinstance(value, set) else value) for name, value in sorted(options.items())]
        )

    @cached_property
    def _folder(self) -> _FolderCache | None:
        """The cache in a folder; None if the function has no file or no folder can be written to."""
        try:
            return _FolderCache(self._function, self._options)
        except RuntimeError as error:
            if "cannot cache function" not in str(error):
                raise
            return None

    @property
    def cache_path(self) -> str | None:
        """The folder; None if there is none."""
        return self._folder.cache_path if self._folder else None

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Load compiled code; None if it has to be compiled."""
        with _interrupts_deferred():
            found, reason = self._load_from_pack(signature, target_context)
            if found is None and self._folder:
                found = self._folder.load_overload(signature, target_context)
        if found is None and holds_kernels(self._function.__code__.co_filename):
            ANNOUNCEMENT.begin(reason, kept=self._folder is not None)
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
            return None, f"do not include {self._function.__qualname__}"
        try:
            payload = pack.read(key)
        except PackError as error:
            return None, str(error)
        KERNELS["packed"] += 1
        return _rebuild(target_context, pickle.loads(payload), lambda: pack.read_llvm(key)), ""

    def save_overload(self, signature: Any, data: Any) -> None:
        """Save compiled code; a failure (full disk, deleted folder) is a warning, because the code itself runs."""
        KERNELS["compiled"] += 1
        try:
            if self._folder:
                self._folder.save_overload(signature, data)
        except OSError as error:
            warnings.warn(f"a compiled kernel cannot be cached: {error}", RuntimeWarning, stacklevel=2)


class _CompiledCode(CompileResultCacheImpl):  # type: ignore[misc]
    """Content of a cache file: what a call needs, and the LLVM code, which is needed if another kernel is compiled."""

    def reduce(self, compiled: Any) -> Any:
        """Return the content of a file."""
        (name, _, (code, llvm_code)), description, environment, signature, *_, reload, environments = compiled._reduce()
        is_defined = compiled.library.get_pointer_to_function
        names = (f"llvm_{kind}" for kind in ("cpython_wrapper_name", "cfunc_wrapper_name", "func_name"))
        symbols = [name for name in (getattr(description, kind) for kind in names) if is_defined(name)]
        unused = [
            one.env_name for one in environments if not one.consts and one.globals["__name__"].startswith("numba.")
        ]
        used = [one for one in environments if one.env_name not in unused]
        return (name, code, symbols, description, environment, signature, reload, used, unused), llvm_code

    def rebuild(self, target_context: Any, content: Any) -> Any:
        """Return the compiled code."""
        needed, llvm_code = content
        return _rebuild(target_context, needed, lambda: llvm_code)


def _rebuild(target_context: Any, content: Any, read_llvm: Callable[[], bytes]) -> Any:
    """Return the compiled code of ``_CompiledCode.reduce``, as ``CompileResult._rebuild`` does."""
    name, code, symbols, description, environment, signature, reload, used, unused = content
    for function in reload:
        function()
    rtsys.initialize(target_context)
    environments = (*used, *map(_empty_environment, unused))
    library = _LoadedLibrary(target_context.codegen(), name, code, symbols, read_llvm)
    fields = {
        "target_context": target_context,
        "typing_context": target_context.typing_context,
        "library": library,
        "environment": environment,
        "entry_point": target_context.get_executable(library, description, environment) if code else _Entry(),
        "fndesc": description,
        "type_annotation": "",
        "signature": signature,
        "objectmode": False,
        "lifted": (),
        "reload_init": reload,
        "referenced_envs": environments,
    }
    for referenced in environments if code else ():  # without machine code there is no place for them
        library.codegen.set_env(referenced.env_name, referenced)
    return CompileResult(**dict.fromkeys(CompileResult._fields) | fields)


def _empty_environment(name: str) -> Any:
    """Return an environment without content for one of Numba's own functions, whose module is then not imported."""
    environment = Environment({})
    environment.env_name = name
    return environment


class _LoadedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Machine code from a file, as of ``_unserialize``; LLVM code is parsed if a kernel that is compiled links it."""

    def __init__(
        self, codegen: Any, name: str, code: bytes, symbols: Sequence[str], read_llvm: Callable[[], bytes]
    ) -> None:
        super().__init__(codegen, name)
        self._shared_module: Any = None
        self._read_llvm = read_llvm
        self.enable_object_caching()
        self._set_compiled_object(code)
        self._finalize_final_module()
        codegen._engine._defined_symbols.update(symbols)

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = llvm.parse_bitcode(self._read_llvm())
        return self._shared_module


class _FolderCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache with checked files and with the options in the key."""

    _impl_class = _CompiledCode

    def __init__(self, function: Callable[..., Any], options: str) -> None:
        super().__init__(function)
        self._options = options
        name, stamp = f"{self._impl.filename_base}-bansac", self._impl.locator.get_source_stamp()
        self._cache_file = _CheckedFile(self._cache_path, name, stamp)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Load compiled code, without Numba's tables for compilation, which ``Cache.load_overload`` fills first."""
        with self._guard_against_spurious_io_errors():
            return self._load_overload(signature, target_context)

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        key = super()._index_key(signature, codegen)
        return (*key, self._options, name_kernel(self._py_func, signature, self._options))


def name_kernel(function: Callable[..., Any], signature: Any, options: str) -> str:
    """Return the key of a kernel in the pack; it is the same on all machines.

    Kernels that depend on more than their source, signature and options have the key ``""``.
    """
    code = function.__code__
    constants = (code.co_code, code.co_names, code.co_varnames, code.co_consts)
    name = repr((function.__module__, function.__qualname__, code.co_firstlineno, constants, signature, options))
    if function.__closure__ is not None or " at 0x" in name:  # an address differs between processes
        return ""
    return hashlib.blake2b(name.encode(), digest_size=_DIGEST_SIZE).hexdigest()


@cache
def open_pack() -> tuple[Pack | None, str]:
    """Return the pack of this installation; or None, and why it cannot be used, which is empty if there is none."""
    if not PACK_FILE.exists():
        return None, ""
    try:
        pack = Pack(PACK_FILE)
    except PackError as error:
        return None, str(error)
    mismatch = find_mismatch(pack.target)
    return (None, mismatch) if mismatch else (pack, "")


def read_cache(folder: Path) -> dict[str, Kernel]:
    """Return the compiled kernels in a folder of the cache, by their keys in a pack."""
    found: dict[str, Kernel] = {}
    for index in folder.glob("*.nbi"):
        file = _CheckedFile(str(folder), index.stem, None)
        _, overloads = file._read(str(index))
        for (*_, key), name in overloads.items():
            if key:
                code, llvm_code = file._load_data(name)
                found[key] = Kernel(file._dump(code), llvm_code)
    return found


def cache_folders() -> tuple[Path, ...]:
    """Return the existing folders in which Numba caches the kernels of this package.

    They are below ``NUMBA_CACHE_DIR`` if it is set. Otherwise they are ``__pycache__`` beside the modules or, if that
    is not writable, in the user's cache folder.
    """
    sources: dict[Path, Path] = {}
    for module in sorted(PACKAGE.rglob("*.py")):
        sources.setdefault(module.parent, module)
    folders = []
    for module in sources.values():
        # A dummy function with the path of the module. Importing the module to get a real one would be slow.
        code = (lambda: None).__code__.replace(co_filename=str(module))
        folder = make_dispatcher(FunctionType(code, {"__name__": "bansac"})).stats.cache_path
        if folder is not None and Path(folder).is_dir():
            folders.append(Path(folder))
    return tuple(folders)


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


class _CheckedFile(IndexDataCacheFile):  # type: ignore[misc]
    """An index, which maps signatures to data files, and the data files; each begins with a checksum of the rest."""

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


def define_struct(proxy: type, struct: type, fields: Sequence[str]) -> None:
    """Let kernels create a struct by calling ``proxy`` with its fields, read the fields, and return it to Python.

    ``proxy`` and ``struct`` are subclasses of ``StructRefProxy`` and ``types.StructRef``.
    """
    structref.define_proxy(proxy, struct, list(fields))
    # As ``structref.register`` does, but with fields that inner kernels can read.
    default_manager.register(struct, models.StructRefModel)

    @infer_getattr
    class _Fields(AttributeTemplate):  # type: ignore[misc]
        key = struct

        def generic_resolve(self, struct_type: Any, field: str) -> Any:
            return struct_type.field_dict.get(field)

    @lower_getattr_generic(struct)  # type: ignore[untyped-decorator]
    def read_field(context: Any, builder: Any, struct_type: Any, value: Any, field: str) -> Any:
        found = getattr(_contents(context, builder, struct_type, value), field)
        return impl_ret_borrowed(context, builder, struct_type.field_dict[field], found)

    @lower_setattr_generic(struct)  # type: ignore[untyped-decorator]
    def write_field(context: Any, builder: Any, signature: Any, arguments: Any, field: str) -> None:
        """Set a field; the constructor of the struct uses this."""
        (struct_type, given), (value, content) = signature.args, arguments
        field_type, contents = struct_type.field_dict[field], _contents(context, builder, struct_type, value)
        content = context.cast(builder, content, given, field_type)
        context.nrt.incref(builder, field_type, content)
        context.nrt.decref(builder, field_type, getattr(contents, field))
        setattr(contents, field, content)


def _contents(context: Any, builder: Any, struct_type: Any, value: Any) -> Any:
    """Return the fields of a struct."""
    head = cgutils.create_struct_proxy(struct_type)(context, builder, value=value).meminfo
    head = builder.bitcast(head, _meminfo_struct_type.as_pointer())
    data = builder.load(cgutils.gep(builder, head, 0, _DATA))
    content_type = struct_type.get_data_type()
    data = builder.bitcast(data, context.data_model_manager[content_type].get_value_type().as_pointer())
    return cgutils.create_struct_proxy(content_type)(context, builder, ref=data)
