"""Options that belong together: the dynamic Bayesian network, and the restarts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from bansac.engine.option_fields import PROBABILITY, Default, Group, documented, group, integer, number
from bansac.maths.arrays import Floats

GammaName = Literal["gamma_1", "gamma_2", "gamma_3"]
Gamma = Callable[[Floats], Any]
Activation = Literal["rho_1", "rho_2", "rho_3", "rho_4"]

_network_option, _restart_option = group("network"), group("restarts")
_COUNT, _RESTARTS = integer(1, 2**31 - 1), integer(1, 1_000_000)


@documented
@dataclass(frozen=True, kw_only=True)
class Network(Group):
    """The dynamic Bayesian network of the sampler ``"bansac"`` (the paper, section 4).

    Examples
    --------
    >>> from bansac import Network, Options
    >>> Options(network=Network(order=2)).network.min_updates
    20
    """

    order: int = _network_option(1, integer(1, 3), help="Order of the Markov assumption: 1, 2 or 3.")
    gamma: GammaName | Gamma = _network_option(
        "gamma_1",
        choices=get_args(GammaName),
        instances=Callable,
        help="P(c = inlier | x = inlier) as a function of the inlier ratio, an array in [0, 1].",
    )
    activation: Activation = _network_option(
        "rho_1",
        choices=get_args(Activation),
        help="Sampling weight as a function of the probability.",
    )
    weight_floor: float = _network_option(
        1.0,
        number("in (0, 100]", lambda v: 0 < v <= 100),
        help="Smallest sampling weight, so that every point or match can be drawn.",
    )
    cpt: Sequence[Any] | Default = _network_option(
        "default",
        help="P(x^k = inlier | x^{k-1}, ..., x^{k-j}, c^k) for the orders j = 1, ..., ``order``.",
        details="""Table j has j + 1 axes of length 2 in this order of the variables, index 1 meaning inlier.
        ``"default"`` takes the paper's tables.""",
    )
    tau: float | Default = _network_option(
        "default",
        PROBABILITY,
        help="Probability below which a point or match counts as an outlier for the ``bansac`` stop.",
        details="""``"default"`` is the paper's choice: 0.1 with scores or priors (P-BANSAC), else 0.01.""",
    )
    min_updates: int | Default = _network_option(
        "default",
        integer(0, 2**31 - 1),
        help="Minimum number of updates of the network.",
        details="""No stopping criterion ends a restart before this number. ``"default"`` is 20, and 0 with
        ``preset="paper"``, because the paper has no such limit (:mod:`bansac.engine.stopping`).""",
    )


@documented
@dataclass(frozen=True, kw_only=True)
class Restarts(Group):
    """The rules of the restarts.

    Examples
    --------
    >>> from bansac import Options, Restarts
    >>> Options(restarts=Restarts(agreement=3)).restarts.limit
    16
    """

    limit: int | Default = _restart_option(
        "default",
        _RESTARTS,
        help="Largest number of restarts.",
        details="""``"default"`` is 16, 1 with the presets "paper" and "fast", and 64 with "accurate".""",
    )
    agreement: int | Default = _restart_option(
        "default",
        _RESTARTS,
        help="Number of restarts with the same best model after which no further one starts.",
        details="""``"default"`` is 2, and 4 with ``preset="accurate"``. Half of it is enough if more than half of the
        points or matches are inliers, except for essential matrices and relative poses. A restart that finds the same
        model again ends.""",
    )
    iterations: int | Default = _restart_option(
        "default",
        _COUNT,
        help="Maximum number of minimal samples of a restart.",
        details="""With ``"default"`` the first two restarts have 300, the next two 600, and so on, or more if all
        restarts together would not have ``max_iterations``. A number holds for all restarts.""",
    )

    @classmethod
    def check(cls, name: str, value: Any) -> Self:
        """Return the rules; a number is their limit."""
        return value if isinstance(value, cls) else cls(limit=_RESTARTS(name, value))
