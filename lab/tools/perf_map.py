"""Run a script, then write the names of the functions compiled or loaded by Numba for ``perf``.

    perf record -e cpu-clock -F 4000 -D 5000 -o perf.data python lab/tools/perf_map.py SCRIPT [ARGUMENT ...]
    perf report -i perf.data --stdio --sort symbol

``perf report`` looks up the addresses of generated code in ``/tmp/perf-PID.map``. This text file has one line for each
function with its address, its size and its name. Linux only.
"""

import itertools
import os
import re
import runpy
import sys
from pathlib import Path

from numba.core.registry import cpu_target

# Assumed maximum size of a function in bytes.
LONGEST = 1 << 17


def main() -> None:
    """Run the script (the first argument) with the other arguments, and write the map even if the script fails."""
    if len(sys.argv) < 2:
        raise SystemExit("give the script to run: perf record ... python lab/tools/perf_map.py SCRIPT")
    script, sys.argv = sys.argv[1], sys.argv[1:]
    sys.path.insert(0, str(Path(script).resolve().parent))
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        path = Path(f"/tmp/perf-{os.getpid()}.map")
        path.write_text(function_map())
        print(f"names of compiled functions: {path}", file=sys.stderr)


def function_map() -> str:
    """Return a line for each function compiled or loaded in this process; a function ends where the next one begins."""
    engine = cpu_target.target_context.codegen()._engine
    places = {(engine._ee.get_function_address(symbol), symbol) for symbol in engine._defined_symbols}
    functions = sorted(place for place in places if place[0])
    pairs = itertools.pairwise([*functions, (sys.maxsize, "")])
    rows = ((start, min(end - start, LONGEST), short_name(symbol)) for (start, symbol), (end, _) in pairs)
    return "".join(f"{start:x} {size:x} {name}\n" for start, size, name in rows if size > 0)


def short_name(symbol: str) -> str:
    """Return the module and function of a mangled symbol, without the types of its arguments."""
    parts = re.sub(r"^_ZN", "", symbol)
    names: list[str] = []
    while match := re.match(r"(\d+)", parts):
        start = match.end()
        names.append(parts[start : start + int(match.group())])
        parts = parts[start + int(match.group()) :]
    return ".".join(names) or symbol


if __name__ == "__main__":
    main()
