"""Items on the workers of a scheduler of ``dask.distributed``: in chunks, the answers as they come.

A chunk is a task of about two seconds, so that a scheduler, which does some hundred tasks a second, keeps hundreds of
cores busy. Of each thread of the cluster two chunks are under way, however many items there are. Those of a worker that
dies go to another one, which the scheduler sees to. If a chunk's workers die again and again, its items are done one at
a time at the very end, with nothing beside them: one that kills its workers then has failed.

Workers have to run the same code and versions as the caller, since their answers would be others; a worker that does
not ends the run. They share no memory with the caller: the files that items name must be there for all of them.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import platform
import queue
import socket
import time
import uuid
from collections.abc import Generator, Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from bansac.executors import Failure, Item, Value, Work, attempt_in_worker

CHUNK_SECONDS = 2.0
"""Time that a chunk should take."""

LARGEST_CHUNK = 1000

PATIENCE = 60.0
"""Seconds that a run goes on without any worker."""

_PENDING_PER_THREAD = 2
_COUNTING = 5.0  # seconds after which the threads of the cluster are counted again
_CONNECTING = 20.0  # seconds that a scheduler may take to answer


class ClusterExecutor:
    """Does items on a cluster.

    Parameters
    ----------
    scheduler : str
        Address of the scheduler, such as ``tcp://host:8786``.
    chunk_seconds : float, optional
        Time that a chunk should take.

    Raises
    ------
    ImportError
        If ``distributed`` is not installed.
    OSError
        If the scheduler does not answer.

    Examples
    --------
    >>> executor = ClusterExecutor("tcp://10.0.0.1:8786")  # doctest: +SKIP
    >>> dict(executor.run(math.factorial, range(10), workers=1))  # doctest: +SKIP
    """

    alone = False

    def __init__(self, scheduler: str, *, chunk_seconds: float = CHUNK_SECONDS) -> None:
        self.scheduler = scheduler
        self.chunk_seconds = chunk_seconds
        self._connect().close()  # a wrong address is an error before any work

    def run(
        self, work: Work[Item, Value], items: Iterable[Item], workers: int
    ) -> Generator[tuple[Item, Value | Failure], None, None]:
        """Yield the items in the order in which their chunks are finished; ``workers`` is the cluster's matter.

        Closing the generator cancels what waits; a chunk that a worker is at ends, and its answers are dropped.
        Without any worker for a minute, or if the connection is lost, it raises an OSError.
        """
        deadly: list[Item] = []
        with self._connect() as client:
            yield from self._in_chunks(client, work, items, deadly)
            for item in deadly:
                killing: list[Item] = []
                yield from self._in_chunks(client, work, [item], killing)
                if killing:
                    yield item, Failure("its workers died again and again, with nothing beside it")

    def _connect(self) -> Any:
        distributed = _import_distributed()
        try:
            place = distributed.comm.get_address_host_port(self.scheduler)
            socket.create_connection(place, timeout=_CONNECTING).close()  # Client takes a minute to give up
            return distributed.Client(self.scheduler, timeout=_CONNECTING, set_as_default=False)
        except (OSError, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise OSError(f"the scheduler {self.scheduler!r} cannot be reached: {reason}") from None

    def _in_chunks(
        self, client: Any, work: Work[Item, Value], items: Iterable[Item], deadly: list[Item]
    ) -> Generator[tuple[Item, Value | Failure], None, None]:
        """Yield the items; those of chunks whose workers died again and again go to ``deadly`` instead."""
        from distributed.scheduler import KilledWorker

        remaining = iter(items)
        finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        pending: dict[str, tuple[Any, tuple[Item, ...]]] = {}
        threads, size = _Threads(client), 1
        try:
            while True:
                while len(pending) < _PENDING_PER_THREAD * threads.count():
                    chunk = tuple(itertools.islice(remaining, size))
                    if not chunk:
                        break
                    key = f"bansac-{uuid.uuid4().hex}"
                    future = client.submit(_do_chunk, _code(), work, chunk, key=key, pure=False)
                    pending[key] = future, chunk
                    future.add_done_callback(finished.put)
                if not pending:
                    return
                future = self._next(client, finished)
                _, chunk = pending.pop(future.key)
                try:
                    seconds, answers = self._result(future)
                except KilledWorker:
                    deadly += chunk
                    continue
                yield from zip(chunk, answers, strict=True)
                size = _chunk_size(self.chunk_seconds, seconds, len(chunk))
        finally:
            client.cancel([future for future, _ in pending.values()], force=True)

    def _next(self, client: Any, finished: queue.SimpleQueue[Any]) -> Any:
        """Wait for a chunk; an OSError if there is nobody who could finish one."""
        while True:
            try:
                return finished.get(timeout=PATIENCE)
            except queue.Empty:
                if client.status != "running" or not client.nthreads():
                    raise OSError(f"the scheduler {self.scheduler!r} has had no workers for a minute") from None

    def _result(self, future: Any) -> tuple[float, list[Any]]:
        from distributed.client import FutureCancelledError
        from distributed.comm import CommClosedError

        try:
            result: tuple[float, list[Any]] = future.result()
        except (FutureCancelledError, CommClosedError) as error:
            raise OSError(f"the scheduler {self.scheduler!r} has left: {error}") from None
        return result


class _Threads:
    """The number of threads of a cluster, which grows and shrinks."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._count = 0
        self._due = -1.0

    def count(self) -> int:
        """Return the number, at least 1, as of some seconds ago."""
        if time.monotonic() >= self._due:
            self._count = max(1, sum(self._client.nthreads().values()))
            self._due = time.monotonic() + _COUNTING
        return self._count


def _chunk_size(wanted: float, seconds: float, items: int) -> int:
    """Return the size of chunks that take so many seconds, given one; it at most doubles, as items differ."""
    return max(1, min(int(wanted * items / max(seconds, 1e-6)), 2 * items, LARGEST_CHUNK))


def _do_chunk(code: str, work: Work[Item, Value], chunk: tuple[Item, ...]) -> tuple[float, list[Value | Failure]]:
    """Do a chunk in a worker; return the seconds and the answers."""
    if code != _code():
        raise OSError("the workers of the cluster have another version of bansac, Python, NumPy or Numba")
    started = time.perf_counter()
    answers = [attempt_in_worker(work, item) for item in chunk]
    return time.perf_counter() - started, answers


@functools.cache
def _code() -> str:
    """Return a digest of what answers depend on besides the machine: the source of this package, and versions."""
    digest = hashlib.sha256(platform.python_version().encode())
    for package in ("numpy", "numba"):
        digest.update(metadata.version(package).encode())
    root = Path(__file__).parents[1]
    for module in sorted(root.rglob("*.py")):
        digest.update(module.relative_to(root).as_posix().encode() + module.read_bytes())
    return digest.hexdigest()


def _import_distributed() -> Any:
    """Return the module distributed; an ImportError that names the extra if it is not installed."""
    try:
        import distributed
    except ImportError as error:
        raise ImportError("a cluster needs dask.distributed: pip install 'bansac[cluster]'") from error
    return distributed
