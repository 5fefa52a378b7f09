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

No criterion ends a run with a network before its 20th update. The paper names no such number. But its criterion takes
a point below tau for one that the classifications have taken out of the sampling; at the start only its prior can have
put it there, and scores of small scale, all of them below tau, would end the run at its first model. Nor do the bounds
of RANSAC and PROSAC hold as long as the network still changes what is drawn. An update is a vote on every point: after
20 of them those that are below tau are there by evidence, whatever their prior, and there has been a look at as many
models as show what support chance gives (``bansac.engine.state.FULL_MODELS``). Degenerate samples do not update. Where
they are the rule, as in a scene with one plane, the bounds, though not BANSAC's criterion, may end the run from the
100th classification C^k on.
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
