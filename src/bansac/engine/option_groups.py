"""Options that belong together: the dynamic Bayesian network, and the restarts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from bansac.engine.option_fields import PROBABILITY, Default, Group, integer, number, option
from bansac.maths.arrays import Floats

GammaName = Literal["gamma_1", "gamma_2", "gamma_3"]
Gamma = Callable[[Floats], Any]
Activation = Literal["rho_1", "rho_2", "rho_3", "rho_4"]

_COUNT, _RESTARTS = integer(1, 2**31 - 1), integer(1, 1_000_000)


@dataclass(frozen=True, kw_only=True)
class Network(Group):
    """The dynamic Bayesian network of the sampler ``"bansac"`` (the paper, section 4).

    Parameters
    ----------
    order : int
        Order of the Markov assumption: 1, 2 or 3.
    gamma : {"gamma_1", "gamma_2", "gamma_3"} or Gamma
        P(c = inlier | x = inlier) as a function of the inlier ratio, an array in [0, 1].
    activation : {"rho_1", "rho_2", "rho_3", "rho_4"}
        Sampling weight as a function of the probability.
    weight_floor : float
        Smallest sampling weight, so that every point or match can be drawn.
    cpt : Sequence[Any] or "default"
        P(x^k = inlier | x^{k-1}, ..., x^{k-j}, c^k) for the orders j = 1, ..., ``order``. Table j has j + 1 axes of
        length 2 in this order of the variables, index 1 meaning inlier. ``"default"`` takes the paper's tables.
    tau : float or "default"
        Probability below which a point or match counts as an outlier for the ``bansac`` stop. ``"default"`` is the
        paper's choice: 0.1 with scores or priors (P-BANSAC), else 0.01.
    min_updates : int or "default"
        Minimum number of updates of the network. No stopping criterion ends a restart before this number. ``"default"``
        is 20, and 0 with ``preset="paper"``, because the paper has no such limit (:mod:`bansac.engine.stopping`).

    Examples
    --------
    >>> from bansac import Network, Options
    >>> Options(network=Network(order=2)).network.min_updates
    20
    """

    order: int = option("network", 1, integer(1, 3))
    gamma: GammaName | Gamma = option("network", "gamma_1", choices=get_args(GammaName), instances=Callable)
    activation: Activation = option("network", "rho_1", choices=get_args(Activation))
    weight_floor: float = option("network", 1.0, number("in (0, 100]", lambda v: 0 < v <= 100))
    cpt: Sequence[Any] | Default = option("network", "default")
    tau: float | Default = option("network", "default", PROBABILITY)
    min_updates: int | Default = option("network", "default", integer(0, 2**31 - 1))


@dataclass(frozen=True, kw_only=True)
class Restarts(Group):
    """The rules of the restarts.

    Parameters
    ----------
    limit : int or "default"
        Largest number of restarts. ``"default"`` is 16, 1 with the presets "paper" and "fast", and 64 with "accurate".
    agreement : int or "default"
        Number of restarts with the same best model after which no further one starts. ``"default"`` is 2, and 4 with
        ``preset="accurate"``. Half of it is enough if more than half of the points or matches are inliers, except for
        essential matrices and relative poses. A restart that finds the same model again ends.
    iterations : int or "default"
        Maximum number of minimal samples of a restart. With ``"default"`` the first two restarts have 300, the next two
        600, and so on, or more if all restarts together would not have ``max_iterations``. A number holds for all
        restarts.

    Examples
    --------
    >>> from bansac import Options, Restarts
    >>> Options(restarts=Restarts(agreement=3)).restarts.limit
    16
    """

    limit: int | Default = option("restarts", "default", _RESTARTS)
    agreement: int | Default = option("restarts", "default", _RESTARTS)
    iterations: int | Default = option("restarts", "default", _COUNT)

    @classmethod
    def check(cls, name: str, value: Any) -> Self:
        """Return the rules; a number is their limit."""
        return value if isinstance(value, cls) else cls(limit=_RESTARTS(name, value))
