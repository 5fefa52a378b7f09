"""The ``bansac`` command line, one module per command."""

import atexit
import gc
import os
import signal
import sys
from typing import Any

# Threads of linear algebra would compete with the workers, and rounding would depend on their number.
_ONE_THREAD = "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"


def main() -> None:
    """Run the command line; the garbage collector ignores what is imported, which is not garbage."""
    for name in _ONE_THREAD:
        os.environ.setdefault(name, "1")
    gc.disable()
    atexit.register(gc.freeze)  # the end of the process would search all objects for garbage
    try:
        from bansac.cli.app import app
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("typer", "rich"):
            raise
        print(f"bansac: the command line needs {error.name}: pip install typer rich", file=sys.stderr)
        raise SystemExit(2) from None
    try:
        app()
    except SystemExit as leave:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # another Ctrl-C, while the process ends
        _leave_threads(leave.code)
        raise
    except OSError as error:  # of the help, the version and completions; commands report their own
        print(f"bansac: the output cannot be written: {error.strerror}", file=sys.stderr)
        raise SystemExit(2) from None
    finally:
        try:
            print(end="", flush=True)
        except OSError:  # said already; the end of the process would try again
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _leave_threads(code: Any) -> None:
    """End the process at once if threads of an executor still work: C++ code of a thread aborts at a normal exit."""
    import threading
    import time

    threads = [thread for thread in threading.enumerate() if thread.name.startswith("bansac-")]
    end = time.monotonic() + 0.1  # idle threads need a moment
    for thread in threads:
        thread.join(max(end - time.monotonic(), 0.0))
    if any(thread.is_alive() for thread in threads):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else int(code is not None))
