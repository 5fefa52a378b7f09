"""The folder of ``--out``: results are written as a whole and replace earlier ones only with ``--overwrite``."""

import json
import os
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import typer

from bansac.batch.output_files import OutputFolder, check_file, check_replaceable, check_unread
from bansac.cli.answer import Answer, MultipleAnswer
from bansac.cli.console import NO_MODEL, print_json, report

RESULT = "result.json"

# Suffixes of files that commands write for many pairs, or not at all; as the name of a folder they are a mistake.
_FILES = (".csv", ".tsv", ".txt", ".json", ".npy", ".npz", ".h5", ".hdf5", ".parquet")


class ResultFolder(OutputFolder):
    """A folder for ``result.json`` and ``names``: they replace files only with ``overwrite``, and ``inputs`` never."""

    def __init__(
        self, path: Path, names: Collection[str], *, inputs: Collection[Path | None] = (), overwrite: bool
    ) -> None:
        super().__init__(path)
        self._kept = {os.path.realpath(file) for file in inputs if file is not None}
        for name in (RESULT, *names):
            check_unread(path / name, inputs)
        if earlier := [name for name in (RESULT, *names) if (path / name).exists()]:
            check_replaceable(f"{path} has {', '.join(earlier)} already", overwrite)

    @contextmanager
    def replacing(self, document: dict[str, Any]) -> Iterator[None]:
        """Replace an earlier result by the files written in this context and by ``document``, which names them."""
        target = self.path
        with tempfile.TemporaryDirectory(dir=target, prefix=".bansac-") as stage:
            self.path = Path(stage)
            try:
                yield
                document["files"] = [*(Path(file).name for file in self.files), RESULT]
                self.write_json(RESULT, document)
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
        return {name for name in files if os.path.realpath(self.path / name) not in self._kept}


def result_folder(
    out: Path | None, names: Collection[str], inputs: Collection[Path | None] = (), *, overwrite: bool
) -> ResultFolder | None:
    """Return the folder of ``--out``; None without ``--out``. A ValueError is raised if it has the name of a file."""
    if out is not None and not out.is_dir() and (out.suffix.lower() in _FILES or out.exists()):
        raise ValueError(
            f"--out must name a folder, got {str(out)!r}: it gets {RESULT} and {', '.join(names)}; "
            "only many pairs have their results in one file"
        )
    return None if out is None else ResultFolder(out, names, inputs=inputs, overwrite=overwrite)


def leave(
    document: dict[str, Any],
    answer: Answer | MultipleAnswer,
    folder: ResultFolder | None,
    page: Path | None = None,
    *,
    json: bool,
    heading: str = "",
) -> NoReturn:
    """Print the document as JSON, or the answer and the written files as text; exit with 0, or ``NO_MODEL``."""
    if json:
        print_json(document)
    else:
        if heading:
            report.print(heading)
        answer.show()
        if folder is not None:
            report.print(f"wrote {', '.join(folder.files)}", markup=False)
        if page is not None:
            report.print(f"wrote {page}", markup=False)
    raise typer.Exit(0 if answer.result.success else NO_MODEL)


def check_new_file(path: Path, overwrite: bool, option: str = "--out") -> None:
    """Raise an OSError or ValueError unless the file can be written and, if it exists, may be replaced."""
    check_file(path, option)
    if path.exists():
        check_replaceable(f"{path} is there already", overwrite, option)
