"""When to stop. A stopping criterion is one module; ``STOPS`` lists them with their traits.

A criterion asks for a number of samples, anew for every new best model; the first of a run's criteria that is met ends
it. The functions of its module, the first of them compiled:

``required_iterations(is_inlier, ranking, history, progress, indices, sample_size, confidence) -> float``
    The number of samples; inf for as many as may be. ``is_inlier`` is the mask of the best model, ``ranking`` lists the
    data by decreasing quality (empty without scores), ``history`` has a row for each sequential test (epsilon, delta,
    log A, samples tested), ``progress`` is the record of the run so far (``bansac.engine.state.PROGRESS``). PROSAC's
    criterion also writes ``progress.subset_limit``, the largest set that PROSAC draws from.
``prepare(n, sample_size) -> indices``, optional
    The criterion's own int64 array, of at most N + 1 entries.

BANSAC's criterion has no module: it looks at the probabilities after every update, in the loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["MAX_BOUNDS", "STOPS", "Stop"]

# The most criteria with a number of samples that one run can have.
MAX_BOUNDS = 4


@dataclass(frozen=True)
class Stop:
    """A stopping criterion, built in or the user's.

    Parameters
    ----------
    name : str
        Its name, the ``stop_reason`` of a run that it ends.
    module : str or object, optional
        Name of the module, or object, with the criterion's functions; None for BANSAC's.
    order : bool
        It needs the data in order of quality.
    verification : bool
        It needs SPRT verification.
    adaptive : bool
        It needs the dynamic Bayesian network.
    """

    name: str
    module: Any = field(default=None, hash=False)
    order: bool = False
    verification: bool = False
    adaptive: bool = False


# In the order in which they are asked: of two that are met at once the first is the stop reason.
STOPS = {
    stop.name: stop
    for stop in (
        Stop("bansac", adaptive=True),
        Stop("ransac", "bansac.engine.stopping.ransac"),
        Stop("sprt", "bansac.engine.stopping.sprt", verification=True),
        Stop("prosac", "bansac.engine.stopping.prosac", order=True),
    )
}
