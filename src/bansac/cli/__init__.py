"""The ``bansac`` command line, one module per command. It may import all packages; no package imports it."""

import atexit
import gc
import sys


def main() -> None:
    """Run the command line; the garbage collector ignores what is imported, which is not garbage."""
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
    app()
