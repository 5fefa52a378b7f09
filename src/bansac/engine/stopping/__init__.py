"""Stopping criteria. A criterion is one module; ``STOPS`` lists the criteria with their traits.

For every new best model, a criterion computes the required number of samples. A restart ends as soon as one of its
criteria is met. The module of a criterion has these functions. The first one is compiled:

``required_iterations(is_inlier, ranking, history, progress, indices, sample_size, confidence) -> float``
    Return the required number of samples, or inf if the criterion gives no bound. ``is_inlier`` is the mask of the best
    model. ``ranking`` lists the indices of the points by decreasing quality (empty without scores). ``history`` has a
    row for each sequential test (epsilon, delta, log A, samples tested). ``progress`` is the progress of the run
    (``bansac.engine.state.PROGRESS``). PROSAC's criterion also writes ``progress.subset_limit``, the size of the
    largest set that PROSAC draws from.
``prepare(n, sample_size) -> indices``, optional
    Return the memory of the criterion, an int64 array of at most N + 1 entries.

BANSAC's criterion has no module. The loop checks it against the probabilities after every update.

The paper checks the criteria at each iteration, as ``preset="paper"`` does. By default no criterion ends a restart with
a network before its 20th update (``min_updates``). BANSAC's criterion assumes that points are below tau because the
classifications have excluded them. At the start only the prior can have done so: if all scores are small and below tau,
the restart would end at its first model. The bounds of RANSAC and PROSAC do not hold either while the network still
changes the sampling. An update is a vote on every point. After 20 updates, points are below tau because of evidence,
whatever their prior. By then the support of a random model is also known (``bansac.engine.state.FULL_MODELS``).

Degenerate samples give no update. If most samples are degenerate, as in a scene with one plane, the bounds (but not
BANSAC's criterion) may end the restart once there are five classifications C^k for each update that is asked for.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

StopName = Literal["bansac", "ransac", "sprt", "prosac"]


@dataclass(frozen=True)
class Stop:
    """A stopping criterion, built in or the user's.

    Parameters
    ----------
    name : str
        Its name, which is the ``stop_reason`` of a run that it ends.
    module : str or object, optional
        Name of the module, or object, with the criterion's functions; None for BANSAC's.
    order : bool
        Whether it needs the ranking of the points by quality.
    verification : bool
        Whether it needs SPRT verification.
    adaptive : bool
        Whether it needs the dynamic Bayesian network.
    """

    name: str
    module: Any = field(default=None, hash=False)
    order: bool = False
    verification: bool = False
    adaptive: bool = False


# The order is that of the checks: if two criteria are met at once, the first one is the stop reason.
STOPS = {
    stop.name: stop
    for stop in (
        Stop("bansac", adaptive=True),
        Stop("ransac", "bansac.engine.stopping.ransac"),
        Stop("sprt", "bansac.engine.stopping.sprt", verification=True),
        Stop("prosac", "bansac.engine.stopping.prosac", order=True),
    )
}

MAX_CRITERIA = len(STOPS)
"""Largest number of criteria of a run that give a required number of samples."""
