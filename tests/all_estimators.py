"""Run every public estimator on small data: ``tests/test_package.py`` and the session ``wheel`` of nox run this."""

from __future__ import annotations

import bansac
from bansac.problems.table import ESTIMATORS
from bansac.warm import call_estimator


def main() -> None:
    for row in ESTIMATORS:
        assert isinstance(call_estimator(row.name, {}), bansac.Result)
        print(row.function)


if __name__ == "__main__":
    main()
