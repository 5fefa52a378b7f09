"""One record in: the public functions make a :class:`Request`, with checked data and complete options."""

import functools
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from bansac.compiled.clock import Stopwatch
from bansac.engine.model_selection import Plausibility
from bansac.engine.options import Options
from bansac.engine.sampling import SAMPLERS
from bansac.estimate.model_forms import ModelForm, form_of
from bansac.estimate.presets import Arguments, Threshold, find_preset, resolve_options
from bansac.evidence.neighbours import neighbour_priors
from bansac.evidence.noise_scale import first_threshold, is_in_other_unit
from bansac.evidence.weights import density_weights, prior_of_scores, reliability_weights, scale_weights
from bansac.maths.arrays import Floats
from bansac.maths.validate import as_weights, check_probabilities, scores_and_range
from bansac.problems.problem import Problem


def is_default_threshold(threshold: Threshold, options: Options | None) -> bool:
    """Return whether no number is given for the threshold, or for the one that an estimate starts from."""
    if isinstance(threshold, str):
        return threshold == "auto"
    return threshold is None and not (isinstance(options, Options) and options.threshold is not None)


@dataclass(frozen=True, eq=False)
class Request:
    """A checked call: what is estimated, from which data, and how.

    The options are complete. If ``is_estimated``, the threshold is estimated, starting from theirs. A distance of 1 in
    ``data`` (channels x N) is ``unit`` in the caller's unit, that of thresholds and residuals. ``initial_model`` is
    flat. If ``two_views``, the data are matches of two views, whose configuration is determined. ``plausibility`` is a
    factor of the score of optimised models. ``hint`` is appended to the message. If ``as_paper``, planes have no
    solution of their own, and no further runs explain a failure. If ``needs_all``, many data are searched without a
    sample, because what refines the model has numbers of each of them. ``watch`` starts with the call.
    """

    problem: Problem
    data: Floats
    options: Options
    is_estimated: bool
    form: ModelForm
    scores: ArrayLike | None = None
    priors: ArrayLike | None = None
    weights: ArrayLike | None = None
    initial_model: Floats | None = None
    unit: float = 1.0
    two_views: bool = False
    plausibility: Plausibility | None = None
    hint: str = ""
    as_paper: bool = False
    needs_all: bool = False
    watch: Stopwatch = field(default_factory=Stopwatch)

    @functools.cached_property
    def threshold(self) -> float:
        """The first threshold in the unit of the data."""
        given = self.options.threshold
        return first_threshold(self.problem, self.data) if given is None else given / self.unit

    @functools.cached_property
    def neighbour_priors(self) -> Floats | None:
        """The priors of matches of two images from their neighbours; None if the search does not use them."""
        options = self.options
        uses = options.neighbours and options.sampler_row.prior and self.priors is None
        of_images = self.problem.traits.of_images and self.problem.traits.stricter is None
        return neighbour_priors(self.data) if uses and of_images else None

    def prior_and_quality(self) -> tuple[Floats | None, Floats | None]:
        """Return the prior inlier probabilities P^0, and the quality that orders the points; None if not given.

        For a sampler that starts from a prior, ``scores`` are the prior if no ``priors`` are given. The quality is
        ``scores``, or else ``priors`` if they are not all equal. Without both, the neighbours give the prior and the
        quality for an epipolar geometry, for which they gain.
        """
        scores, priors, options, n = self.scores, self.priors, self.options, self.data.shape[1]
        sampler = options.sampler_row
        if priors is not None and not sampler.prior:
            names = ", ".join(row.name for row in SAMPLERS.values() if row.prior)
            raise ValueError(f"priors need one of the samplers {names}; the sampler is {sampler.name!r}")
        if scores is not None and not options.uses_scores(self.problem):
            raise ValueError(
                f"scores have no effect with sampler={sampler.name!r} without the stop 'prosac' or weighting='scores'"
            )
        prior = quality = None
        if scores is not None:
            quality, lowest, highest = scores_and_range("scores", scores, n)
            if sampler.prior and priors is None:
                quality = prior_of_scores(quality)
                prior = quality if lowest < highest else None  # equal scores give no information
        if priors is not None:
            prior, lowest, highest = scores_and_range("priors", priors, n)
            check_probabilities("priors", lowest, highest)
            quality = prior if quality is None and lowest < highest else quality
        elif scores is None and self.problem.traits.codimension == 1:
            prior = self.neighbour_priors
            # Weights are squares of the quality. Neighbours tell less than scores: the weight is the root of the prior.
            quality = None if prior is None else prior**0.25
        if quality is None and options.needs_order(informed=False):
            what = f"sampler={sampler.name!r}" if sampler.order else f"stopping={options.stopping!r}"
            raise ValueError(f"{what} needs scores, which order the data")
        return prior, quality

    def score_weights(self, quality: Floats | None) -> Floats | None:
        """Return the weights of the points in the score: the caller's, or those of ``weighting``; None for none."""
        data, weighting = self.data, self.options.weights(self.problem)
        if self.weights is not None:
            factors = [as_weights("weights", self.weights, data.shape[1])]
        else:
            density = density_weights(data[:4]) if "density" in weighting else None  # without verticals
            reliability = reliability_weights(quality) if "scores" in weighting and quality is not None else None
            factors = [factor for factor in (density, reliability) if factor is not None]
        if not factors:
            return None
        product = factors[0].copy() if len(factors) == 1 else factors[0] * factors[1]
        scale_weights(product)
        return product


def make_request(
    problem: Problem,
    data: Floats,
    threshold: Threshold,
    settings: Arguments,
    *,
    form: ModelForm | None = None,
    default_threshold: float | None = None,
    **more: Any,
) -> Request:
    """Return the request of a public function for checked data; ``more`` are fields of :class:`Request`."""
    options, is_estimated = resolve_options(problem, threshold, settings, default_threshold=default_threshold)
    is_first_known, initial = not is_default_threshold(None, settings.get("options")), settings.get("initial_model")
    if is_estimated and not is_first_known and is_in_other_unit(problem, data):
        options = options.replace(threshold=None)  # the first threshold is from the extent
    form = form_of(problem) if form is None else form
    return Request(
        problem,
        data,
        options,
        is_estimated,
        form,
        scores=settings.get("scores"),
        priors=settings.get("priors"),
        weights=settings.get("weights"),
        initial_model=None if initial is None else form.from_public(initial),
        as_paper=find_preset(settings.get("preset")).as_paper,
        **more,
    )
