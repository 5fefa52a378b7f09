"""A cluster of ``dask.distributed`` on this machine, in processes of its own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_SCRIPT = """
import sys, distributed
with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster:
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


@contextmanager
def local_cluster() -> Iterator[str]:
    """Start a scheduler and two workers of one thread, which import what this process imports; give its address.

    A chunk is given up when two workers have died of it: the default of four takes seconds.
    """
    settings = {"PYTHONPATH": os.pathsep.join(sys.path), "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", _SCRIPT],
        env=os.environ | settings,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.communicate()


def worker_processes(scheduler: str) -> list[int]:
    """Return the process ids of the workers."""
    import distributed

    with distributed.Client(scheduler, set_as_default=False) as client:
        return list(client.run(os.getpid).values())
