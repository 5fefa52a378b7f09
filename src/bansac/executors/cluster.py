"""Executor on the workers of a ``dask.distributed`` scheduler: items are sent in chunks, values come as they finish.

A chunk is a task of about two seconds. A scheduler handles some hundred tasks a second, so it can keep hundreds of
cores busy. At any time, two chunks per thread of the cluster are pending. If a worker dies, the scheduler gives its
chunks to another worker. If the workers of a chunk die repeatedly, its items are done one at a time at the end, without
other items. An item that still kills its workers is a failure.

Workers must run the same code and versions as the caller, because otherwise values could differ. A worker that does not
ends the run. Workers share no memory with the caller. The files that items name must be accessible to all workers.
"""

import functools
import itertools
import queue
import socket
import sys
import time
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bansac.compiled.source import digest_files, installed_versions
from bansac.executors import Answers, Item, ItemFailure, Value, Work, attempt_in_worker
from bansac.maths.optional import import_optional

CHUNK_SECONDS = 2.0
"""Target time of a chunk in seconds."""

LARGEST_CHUNK = 1000

PATIENCE = 60.0
"""Seconds that a run continues without any worker."""

_PENDING_PER_THREAD = 2
_COUNTING = 5.0  # seconds between counts of the threads of the cluster
_CONNECTING = 20.0  # timeout of the connection to the scheduler in seconds


class ClusterExecutor:
    """Executor on the cluster of a scheduler such as ``tcp://host:8786``, in chunks of about ``chunk_seconds``.

    If the scheduler does not answer, an OSError is raised.
    """

    def __init__(self, scheduler: str, *, chunk_seconds: float = CHUNK_SECONDS) -> None:
        self.scheduler = scheduler
        self.chunk_seconds = chunk_seconds
        self._connect().close()  # reports a wrong address before any work starts

    def run(self, work: Work[Item, Value], items: Iterable[Item], workers: int) -> Answers[Item, Value]:
        """Yield the items in the order in which their chunks finish; ``workers`` is ignored.

        Closing the generator cancels pending chunks. A chunk that is running finishes, and its values are dropped. An
        OSError is raised if there is no worker for a minute or if the connection is lost.
        """
        deadly: list[Item] = []
        with self._connect() as client:
            yield from self._in_chunks(client, work, items, deadly)
            for item in deadly:
                killing: list[Item] = []
                yield from self._in_chunks(client, work, [item], killing)
                if killing:
                    yield item, ItemFailure("its workers died again and again, with nothing beside it")

    def _connect(self) -> Any:
        distributed = import_optional("distributed", "a cluster needs dask.distributed", "distributed")
        try:
            place = distributed.comm.get_address_host_port(self.scheduler)
            socket.create_connection(place, timeout=_CONNECTING).close()  # Client gives up only after a minute
            return distributed.Client(self.scheduler, timeout=_CONNECTING, set_as_default=False)
        except (OSError, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise OSError(f"the scheduler {self.scheduler!r} cannot be reached: {reason}") from None

    def _in_chunks(
        self, client: Any, work: Work[Item, Value], items: Iterable[Item], deadly: list[Item]
    ) -> Answers[Item, Value]:
        """Yield the items; items of chunks whose workers died repeatedly are appended to ``deadly`` instead."""
        from distributed.client import FutureCancelledError
        from distributed.comm import CommClosedError
        from distributed.scheduler import KilledWorker

        remaining = iter(items)
        finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        pending: dict[str, tuple[Any, tuple[Item, ...]]] = {}
        size = 1
        try:
            while True:
                threads = _count_threads(client, int(time.monotonic() / _COUNTING))
                while len(pending) < _PENDING_PER_THREAD * threads:
                    chunk = tuple(itertools.islice(remaining, size))
                    if not chunk:
                        break
                    key = f"bansac-{uuid.uuid4().hex}"
                    future = client.submit(_do_chunk, _code(_package_of(work)), work, chunk, key=key, pure=False)
                    pending[key] = future, chunk
                    future.add_done_callback(finished.put)
                if not pending:
                    return
                future = self._next(client, finished)
                _, chunk = pending.pop(future.key)
                try:
                    seconds, answers = future.result()
                except KilledWorker:
                    deadly += chunk
                    continue
                except (FutureCancelledError, CommClosedError) as error:
                    raise OSError(f"the scheduler {self.scheduler!r} has left: {error}") from None
                yield from zip(chunk, answers, strict=True)
                size = _chunk_size(self.chunk_seconds, seconds, len(chunk))
        finally:
            client.cancel([future for future, _ in pending.values()], force=True)

    def _next(self, client: Any, finished: queue.SimpleQueue[Any]) -> Any:
        """Wait for a finished chunk; an OSError if the cluster has no workers or is disconnected."""
        while True:
            try:
                return finished.get(timeout=PATIENCE)
            except queue.Empty:
                if client.status != "running" or not client.nthreads():
                    raise OSError(f"the scheduler {self.scheduler!r} has had no workers for a minute") from None


@functools.lru_cache(maxsize=1)
def _count_threads(client: Any, period: int) -> int:
    """Return the number of threads of a cluster, at least 1, counted once in a period, as it may change."""
    threads: int = sum(client.nthreads().values())
    return max(1, threads)


def _chunk_size(wanted: float, seconds: float, items: int) -> int:
    """Return the size of chunks that take ``wanted`` seconds, from the time of one chunk; at most twice its size."""
    return max(1, min(int(wanted * items / max(seconds, 1e-6)), 2 * items, LARGEST_CHUNK))


def _do_chunk(
    code: dict[str, str], work: Work[Item, Value], chunk: tuple[Item, ...]
) -> tuple[float, list[Value | ItemFailure]]:
    """Do a chunk in a worker; return the seconds and the values."""
    if code != (here := _code(_package_of(work))):
        other = ", ".join(f"{name} {here[name]} instead of {code[name]}" for name in code if here[name] != code[name])
        raise OSError(f"a worker of the cluster has another version than this command: {other}")
    started = time.perf_counter()
    answers = [attempt_in_worker(work, item) for item in chunk]
    return time.perf_counter() - started, answers


def _package_of(work: Any) -> str:
    """Return the name of the top-level package, or of the module, that defines a work function."""
    while isinstance(work, functools.partial):
        work = work.func
    return str(work.__module__).partition(".")[0]


@functools.cache
def _code(package: str) -> dict[str, str]:
    """Return digests of the sources of bansac and of a package, and the versions on which values depend.

    The script that calls has none: its functions are sent to the workers themselves.
    """
    found = installed_versions()
    for name in dict.fromkeys(("bansac", package)):
        if name != "__main__":
            module = sys.modules[name]
            folders = getattr(module, "__path__", ())
            files = [file for folder in folders for file in Path(folder).rglob("*.py")]
            found[f"source of {name}"] = digest_files(files or [str(module.__file__)])[:12]
    return found
