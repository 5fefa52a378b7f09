"""What compiled code depends on, apart from its source: Python, Numba, the platform and the processor.

Kernels of binary wheels are compiled for a level that most processors have, not for the processor of the build.
"""

import importlib.util
import sys
from collections.abc import Mapping
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
from numba import config

# LLVM's names of the processor levels of binary wheels and the features that they need, by architecture.
_X86_64 = "64bit cmov cx8 fxsr mmx sse sse2"
_V2 = "crc32 cx16 popcnt sahf sse3 sse4.1 sse4.2 ssse3"
_V3 = "avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave"
_LEVELS = {
    "x86_64": ("x86-64-v3", frozenset(f"{_X86_64} {_V2} {_V3}".split())),
    "aarch64": ("generic", frozenset[str]()),
    "arm64": ("generic", frozenset[str]()),
}

# Variables of Numba that change the code.
_VARIABLES = ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "ENABLE_AVX", "LOOP_VECTORIZE", "SLP_VECTORIZE")


def portable_level() -> str:
    """Return LLVM's name of the processor level of binary wheels, for ``NUMBA_CPU_NAME``."""
    return _LEVELS[_architecture()][0]


def describe_target() -> dict[str, Any]:
    """Return what compiled code depends on, apart from the source and the processor; the values are texts."""
    return {
        "Python": f"{sys.implementation.cache_tag}{sys.abiflags if hasattr(sys, 'abiflags') else ''}",
        "bytecode": importlib.util.MAGIC_NUMBER.hex(),
        "Numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "the platform": llvm.get_process_triple().rstrip("0123456789."),  # without the version of macOS
    } | {f"NUMBA_{name}": repr(getattr(config, name, None)) for name in _VARIABLES}


def find_mismatch(target: Mapping[str, Any]) -> str:
    """Return why the kernels of the wheel, for a target and the portable level, do not run here; empty if they run."""
    here = describe_target()
    for name in {**here, **target}:
        if target.get(name) != here.get(name):
            return f"are for {name} {target.get(name)}, and this is {here.get(name)}"
    level, needed = _LEVELS[_architecture()]
    if config.CPU_NAME not in (None, level) or config.CPU_FEATURES not in (None, ""):
        return f"are for the processor level {level}, and NUMBA_CPU_NAME or NUMBA_CPU_FEATURES asks for another"
    missing = sorted(needed - {name for name, has in _host_features().items() if has})
    return f"need a processor with {', '.join(missing)}" if missing else ""


def _host_features() -> Mapping[str, bool]:
    try:
        return llvm.get_host_cpu_features()  # type: ignore[no-any-return]
    except RuntimeError:  # unknown to LLVM
        return {}


def _architecture() -> str:
    return llvm.get_process_triple().split("-")[0]  # type: ignore[no-any-return]
