"""Build hook: with ``BANSAC_KERNELS``, a wheel contains compiled kernels and is for one Python and one platform.

With ``1``, these are the kernels of the default options for homographies, fundamental and essential matrices, relative
and absolute poses; with ``all``, those of all estimators and options. Otherwise nothing is compiled, and the wheel is
for all platforms.
"""

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# The compiled kernels run with the same version of Numba only. With another version they are compiled on first use.
NUMBA = "numba==0.68.*"

PACK = "bansac/_kernels/kernels.pack"

BUILD = """
import os, sys
from pathlib import Path
from numba import config
from bansac.compiled.target import portable_level
os.environ["NUMBA_CPU_NAME"] = portable_level()
config.reload_config()
from bansac.cli.compile_ahead import build_pack
print(build_pack(Path(sys.argv[1]), everything=sys.argv[2] == "all"), "kernels")
"""


class Kernels(BuildHookInterface):  # type: ignore[type-arg]
    """Compile the kernels and add them to the wheel."""

    def dependencies(self) -> list[str]:
        """Return what the build needs: Numba, if it compiles kernels."""
        return [NUMBA] if _wanted() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the pack and the tag of the platform to a wheel that is not editable."""
        if not _wanted() or version == "editable":
            return
        self._folder = Path(tempfile.mkdtemp())
        pack = self._folder / "kernels.pack"
        compile_kernels(Path(self.root, "src"), pack, _wanted())
        build_data["force_include"][str(pack)] = PACK
        build_data["pure_python"] = False
        build_data["tag"] = wheel_tag()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Delete the temporary files."""
        if _wanted() and version != "editable":
            shutil.rmtree(self._folder, ignore_errors=True)


def compile_kernels(source: Path, pack: Path, wanted: str) -> None:
    """Compile the kernels of the package in the folder ``source`` into a pack."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    folders = [str(source), os.environ.get("PYTHONPATH", "")]  # pip names the folder of its isolated build there
    environment = inherited | {
        "PYTHONPATH": os.pathsep.join(filter(None, folders)),
        "NUMBA_CPU_FEATURES": "",  # those of the level alone
        "NUMBA_DISABLE_INTEL_SVML": "1",  # this library may be missing on other machines
    }
    subprocess.run([sys.executable, "-c", BUILD, str(pack), wanted], env=environment, check=True)


def wheel_tag() -> str:
    """Return the tag of a wheel for this Python and platform."""
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    flags = getattr(sys, "abiflags", "")
    machine = platform.machine().lower()
    if sys.platform == "linux":  # the kernels are linked to nothing; Numba's own wheels need a newer glibc
        system = f"manylinux_2_17_{machine}"
    elif sys.platform == "darwin":
        system = f"macosx_11_0_{machine}"
    else:
        system = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"{python}-{python}{flags}-{system}"


def _wanted() -> str:
    """Return which kernels are compiled: "1", "all", or "" for none."""
    wanted = os.environ.get("BANSAC_KERNELS", "")
    if wanted not in ("", "0", "1", "all"):
        raise ValueError(f"BANSAC_KERNELS is {wanted!r}; it can be 0, 1 or all")
    return wanted.strip("0")
