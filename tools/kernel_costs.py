"""Measure how long each kernel is compiled, for the announcement of ``bansac.compiled.announcement``.

    python tools/kernel_costs.py

Each call runs in a new process with an empty cache. The file ``costs.json`` has the processor time of each kernel,
without that of the kernels that it calls, and the calls that need it. Run this after kernels have been added or
renamed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from bansac.compiled.announcement import COSTS_FILE
from bansac.problems.estimators import ESTIMATORS


def measure(name: str) -> dict[str, float]:
    """Return the costs of the kernels that a call compiles."""
    from bansac.cli.compile_ahead import call_estimator
    from bansac.compiled import numba_private

    costs: dict[str, float] = {}
    inner = [0.0]  # the time of the kernels that each kernel in work has called
    compile_kernel = numba_private._Dispatcher.compile

    def compile_timed(self: Any, signature: Any) -> Any:
        started, before = time.process_time(), numba_private.KERNELS["compiled"]
        inner.append(0.0)
        try:
            return compile_kernel(self, signature)
        finally:
            seconds, own = time.process_time() - started, inner.pop()
            inner[-1] += seconds
            if numba_private.KERNELS["compiled"] > before:
                costs[numba_private.label_kernel(self.py_func, signature)] = round(seconds - own, 3)

    numba_private._Dispatcher.compile = compile_timed  # type: ignore[method-assign]
    call_estimator(name, {})
    return costs


def measure_in_process(name: str) -> dict[str, float]:
    """Return the costs of the kernels that a call compiles, in a new process with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        command = [sys.executable, __file__, name]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    return dict(json.loads(done.stdout))


def main() -> None:
    """Measure all calls and write the file."""
    calls = {row.function: row.name for row in ESTIMATORS if row.warm is not None}
    calls["estimate_relative_pose"] = "relative_pose"
    kernels: dict[str, tuple[float, list[int]]] = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for index, costs in enumerate(pool.map(measure_in_process, calls.values())):
            for kernel, cost in costs.items():
                before, users = kernels.get(kernel, (cost, []))
                kernels[kernel] = min(before, cost), [*users, index]
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(kernels[name])}" for name in sorted(kernels))
    COSTS_FILE.write_text(f'{{\n "calls": {json.dumps(list(calls))},\n "kernels": {{\n{rows}\n }}\n}}\n')


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1])))
    else:
        main()
