"""The folder of ``--out``: results are written as a whole and replace earlier ones only with ``--overwrite``."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from bansac.batch.output_files import OutputFolder, check_file, check_replaceable

__all__ = ["RESULT", "ResultFolder", "check_new_file", "check_page"]

RESULT = "result.json"


class ResultFolder(OutputFolder):
    """A folder for one result.

    Parameters
    ----------
    path : Path
        The folder; it is created if necessary.
    names : collection of str
        Names of the files that may be written in addition to ``result.json``.
    inputs : collection of Path
        Input files, which are never replaced.
    overwrite : bool
        Replace an earlier result with all its files, including figures.

    Raises
    ------
    OSError
        If files cannot be written into the folder.
    ValueError
        If one of the files exists and may not be replaced.
    """

    def __init__(self, path: Path, names: Collection[str], *, inputs: Collection[Path] = (), overwrite: bool) -> None:
        super().__init__(path)
        self._names = (RESULT, *names)
        self._kept = {file.resolve() for file in inputs}
        for file in inputs:
            if file.resolve() in {(path / name).resolve() for name in self._names}:
                raise ValueError(
                    f"--out: {file} is read, and a file of the result would replace it; name another folder"
                )
        found = [name for name in self._names if (path / name).exists()]
        if found:
            check_replaceable(f"{path} has {', '.join(found)} already", overwrite)

    @contextmanager
    def replacing(self) -> Iterator[None]:
        """Collect the files written in this context and replace an earlier result by them at the end."""
        target = self.path
        with tempfile.TemporaryDirectory(dir=target, prefix=".bansac-") as stage:
            self.path = Path(stage)
            try:
                yield
            finally:
                self.path = target
            new = sorted((file.name for file in Path(stage).iterdir()), key=lambda name: (name == RESULT, name))
            for name in self._earlier() - set(new):
                (target / name).unlink(missing_ok=True)
            for name in new:
                (Path(stage) / name).replace(target / name)
        self.files = [str(target / name) for name in new]

    def _earlier(self) -> set[str]:
        """Return the files listed in the earlier result, except the input files."""
        try:
            names = json.loads((self.path / RESULT).read_text(encoding="utf-8"))["files"]
            files = {Path(name).name for name in names}
        except (OSError, ValueError, KeyError, TypeError):
            return set()
        return {name for name in files if (self.path / name).resolve() not in self._kept}


def check_page(path: Path, overwrite: bool) -> None:
    """Raise a ValueError or OSError unless ``path`` is an HTML file that can be written and may be replaced."""
    if path.suffix not in (".html", ".htm"):
        raise ValueError(f"--report must end in .html, got {str(path)!r}")
    check_new_file(path, overwrite, "--report")


def check_new_file(path: Path, overwrite: bool, option: str = "--out") -> None:
    """Raise an OSError or ValueError unless the file can be written and, if it exists, may be replaced."""
    check_file(path, option)
    if path.exists():
        check_replaceable(f"{path} is there already", overwrite, option)
