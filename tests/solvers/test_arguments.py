"""Arguments of the solvers that cannot be used are named."""

import numpy as np
import pytest

from bansac.solvers.essential_5pt import essential_5pt
from bansac.solvers.fundamental_7pt import fundamental_7pt
from bansac.solvers.fundamental_8pt import fundamental_8pt
from bansac.solvers.homography_dlt import homography_dlt
from bansac.solvers.umeyama import umeyama

SIZES = {essential_5pt: 5, fundamental_7pt: 7, fundamental_8pt: 9, homography_dlt: 5}


@pytest.mark.parametrize("which", ["x1", "x2"])
@pytest.mark.parametrize(("solve", "n"), SIZES.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_a_bad_argument_is_named(solve, n, which):
    good = {"x1": np.zeros((n, 2)), "x2": np.zeros((n, 2))}
    for bad in (np.zeros((n, 4)), np.zeros(2 * n)):
        with pytest.raises(ValueError, match=rf"{which} must have shape .*, got \({str(bad.shape)[1:-1]}\)"):
            solve(**good | {which: bad})
    with pytest.raises(ValueError, match=rf"x[12] must have shape \(\d, 2\).*, got \({n}|{n - 1}, 2\)"):
        solve(**good | {which: np.zeros((n - 1, 2))})
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match=f"{which} must be finite"):
            solve(**good | {which: np.full((n, 2), bad)})


def test_bad_arguments_of_umeyama_are_named():
    with pytest.raises(ValueError, match="equal lengths of at least 3, got 2 and 2"):
        umeyama(np.zeros((2, 3)), np.zeros((2, 3)))
    with pytest.raises(ValueError, match=r"x2 must have shape \(N, 3\)"):
        umeyama(np.zeros((4, 3)), np.zeros((4, 2)))
