"""Units one after the other in this process."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from bansac.evaluation.executors import Answer, Work, attempt
from bansac.evaluation.experiment import Unit


class SerialExecutor:
    """Runs units in this process, whatever the number of workers."""

    alone = True

    def run(self, work: Work, units: Sequence[Unit], workers: int) -> Generator[tuple[Unit, Answer], None, None]:
        """Yield the units in their order."""
        for unit in units:
            yield unit, attempt(work, unit)


EXECUTOR = SerialExecutor()
