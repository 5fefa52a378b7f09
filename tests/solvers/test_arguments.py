"""Arguments of the solvers that cannot be used are named."""

import numpy as np
import pytest

from bansac.solvers.essential_5pt import essential_5pt
from bansac.solvers.fundamental_7pt import fundamental_7pt
from bansac.solvers.fundamental_8pt import fundamental_8pt
from bansac.solvers.homography_4pt import homography_4pt
from bansac.solvers.homography_dlt import homography_dlt
from bansac.solvers.umeyama import umeyama


def zeros(n, d=2):
    return np.zeros((n, d))


def nans(n, d=2):
    return np.full((n, d), np.nan)


@pytest.mark.parametrize(
    ("solve", "arguments", "message"),
    [
        *((essential_5pt, (bad, zeros(5)), "x1 must have shape") for bad in (zeros(4), zeros(5, 4), np.zeros(10))),
        *((essential_5pt, (zeros(5), bad), "x2 must have shape") for bad in (zeros(4), zeros(5, 4), np.zeros(10))),
        (essential_5pt, (nans(5, 3), zeros(5, 3)), "x1 must be finite"),
        (essential_5pt, (zeros(5, 3), nans(5, 3)), "x2 must be finite"),
        (fundamental_7pt, (zeros(6), zeros(7)), r"x1 must have shape \(7, 2\), got \(6, 2\)"),
        (fundamental_7pt, (zeros(7), zeros(7, 3)), r"x2 must have shape \(7, 2\), got \(7, 3\)"),
        (fundamental_7pt, (nans(7), zeros(7)), "x1 must be finite"),
        (fundamental_8pt, (zeros(9), zeros(8)), r"x2 must have shape \(9, 2\), got \(8, 2\)"),
        (homography_4pt, (zeros(3), zeros(4)), r"x1 must have shape \(4, 2\), got \(3, 2\)"),
        (homography_4pt, (zeros(4), zeros(4, 3)), r"x2 must have shape \(4, 2\), got \(4, 3\)"),
        (homography_4pt, (zeros(4), nans(4)), "x2 must be finite"),
        (homography_dlt, (zeros(5, 3), zeros(5)), r"x1 must have shape \(N, 2\), got \(5, 3\)"),
        (homography_dlt, (zeros(5), zeros(4)), r"x2 must have shape \(5, 2\), got \(4, 2\)"),
        (homography_dlt, (zeros(5), np.full((5, 2), np.inf)), "x2 must be finite"),
        (umeyama, (zeros(2, 3), zeros(2, 3)), "equal lengths of at least 3, got 2 and 2"),
        (umeyama, (zeros(4, 3), zeros(4)), r"x2 must have shape \(N, 3\)"),
    ],
)
def test_a_bad_argument_is_named(solve, arguments, message):
    with pytest.raises(ValueError, match=message):
        solve(*arguments)
