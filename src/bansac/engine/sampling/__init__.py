"""Which data make up the next minimal sample: one sampler a module, each a kernel that fills ``sample``."""

from __future__ import annotations

from bansac.engine.sampling.adaptive_reordering import posterior_probabilities, renew_priority, start_priority
from bansac.engine.sampling.baysac import learn_from_failure, sample_most_probable
from bansac.engine.sampling.guided import Guide, guide_probabilities, make_guide, sample_guided, update_guide
from bansac.engine.sampling.napsac import neighborhood_radius, sample_napsac
from bansac.engine.sampling.progressive_napsac import (
    Neighborhoods,
    build_layers,
    empty_neighborhoods,
    make_neighborhoods,
    sample_progressive_napsac,
)
from bansac.engine.sampling.prosac import TOTAL_DRAWS, growth_function, sample_prosac
from bansac.engine.sampling.uniform import sample_uniform
from bansac.engine.sampling.weighted import ACTIVATION_CODES, activation, sample_weighted

__all__ = [
    "ACTIVATION_CODES",
    "TOTAL_DRAWS",
    "Guide",
    "Neighborhoods",
    "activation",
    "build_layers",
    "empty_neighborhoods",
    "growth_function",
    "guide_probabilities",
    "learn_from_failure",
    "make_guide",
    "make_neighborhoods",
    "neighborhood_radius",
    "posterior_probabilities",
    "renew_priority",
    "sample_guided",
    "sample_most_probable",
    "sample_napsac",
    "sample_progressive_napsac",
    "sample_prosac",
    "sample_uniform",
    "sample_weighted",
    "start_priority",
    "update_guide",
]
