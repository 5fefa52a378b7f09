"""Run every public estimator on small data: ``tests/test_package.py`` and the session ``wheel`` of nox run this."""

import bansac
from bansac.cli.compile_ahead import call_estimator
from bansac.problems.estimators import ESTIMATORS


def main() -> None:
    for row in ESTIMATORS:
        assert isinstance(call_estimator(row.name, {}), bansac.Result)
        print(row.function)


if __name__ == "__main__":
    main()
