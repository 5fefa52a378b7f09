"""Output of an estimation by the commands: text, JSON, files and the figure."""

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import bansac
from bansac.batch.output_files import OutputFolder
from bansac.batch.records import SCALARS
from bansac.cli.console import notes, report
from bansac.estimate.presets import find_preset
from bansac.estimate.result import (
    WHY_COUNTS_DIFFER,
    AbsolutePose,
    MultipleResult,
    RelativePose,
    Result,
    posterior_in_words,
    summarize_posterior,
    threshold_in_words,
)
from bansac.evidence.noise_scale import is_in_other_unit
from bansac.geometry import essential_from_pose
from bansac.matches.images import MAX_SIZE, read_image, shrink
from bansac.matches.match_files import CameraLike
from bansac.matches.matches import Matches, known_arguments
from bansac.maths.arrays import Bytes, Floats
from bansac.problems.estimators import MATCHES, MODELS


@dataclass(frozen=True)
class Answer:
    """A result with the name of the model for ``--model`` and the unit of the threshold."""

    name: str
    result: Result
    unit: str = ""

    @property
    def model(self) -> Floats | None:
        """Matrix or coefficients of the model: E of a motion, (R t) of a pose."""
        model = self.result.model
        if isinstance(model, RelativePose):
            return essential_from_pose(*model)
        return np.column_stack(model) if isinstance(model, AbsolutePose) else model

    @property
    def pose(self) -> dict[str, Any]:
        """R and t of a motion or of a pose, and the scale of a motion with depths; empty for other models."""
        model = self.result.model
        return model._asdict() if isinstance(model, RelativePose | AbsolutePose) else {}

    def as_dict(self) -> dict[str, Any]:
        """Return the content of ``result.json``."""
        result, rival = self.result, self.result.rival
        names = (*SCALARS, "inlier_ratio", "first_threshold", "loading_seconds")
        return {
            "model": self.name,
            "parameters": self.model,
            **{name: getattr(result, name) for name in names if name not in ("num_data", "scale")},
            "num_data": len(result.inliers),
            "rival": rival
            and {"model": rival.model, "num_inliers": int(rival.inliers.sum()), "threshold": rival.threshold},
            "posterior": summarize_posterior(result.probabilities),
            "bansac": bansac.__version__,
            **self.pose,
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the results per point or match."""
        names = ("inliers", "residuals", "probabilities", "beliefs")
        return {name: array for name in names if (array := getattr(self.result, name)) is not None}

    def show(self) -> None:
        """Print the result as text."""
        result = self.result
        outcome = "" if result.success else "[bold red]failure:[/] "
        report.print(f"{outcome}{result.message}")
        report.print(
            f"  threshold {threshold_in_words(result, self.unit)}, {result.iterations} iterations, "
            f"{result.models_tested} models, stopped by {result.stop_reason}, {result.timing}, seed {result.seed}"
        )
        if result.model_confidence is not None:
            report.print(f"  model confidence: {result.model_confidence:.3f}")
        posterior = summarize_posterior(result.probabilities)
        if posterior is not None:
            report.print(f"  posterior: {posterior_in_words(posterior)}")
            report.print(f"  {WHY_COUNTS_DIFFER}")
        self.show_model()

    def show_model(self) -> None:
        """Print the model as text."""
        if self.model is not None and self.model.ndim == 1:
            row = MODELS[self.name]
            labels = row.coefficients or [f"c{k}" for k in range(len(self.model))]
            values = zip(labels, self.model.tolist(), strict=True)
            labelled = ", ".join(f"{label} = {value:.10g}" for label, value in values)
            report.print(f"  {self.name}: {labelled} ({row.equation})", markup=False)
        elif self.model is not None:
            _print_array(self.name, self.model)
        for name, array in self.pose.items():
            _print_array(name, array)


@dataclass(frozen=True)
class MultipleAnswer:
    """The result of a search for several models, with the name of the model for ``--model``."""

    name: str
    result: MultipleResult

    def as_dict(self) -> dict[str, Any]:
        """Return the content of ``result.json``."""
        result = self.result
        return {
            "model": self.name,
            "success": result.success,
            "message": result.message,
            "num_data": len(result.labels),
            "models": [
                Answer(self.name, found).as_dict() | {"num_points": int(np.count_nonzero(result.labels == k))}
                for k, found in enumerate(result.results)
            ],
            **{name: getattr(result, name) for name in ("stop_reason", "seed", "seconds", "loading_seconds")},
            "bansac": bansac.__version__,
        }

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the results per point or match."""
        return {"labels": self.result.labels, "probabilities": self.result.probabilities}

    def show(self) -> None:
        """Print the result as text."""
        outcome = "" if self.result.success else "[bold red]failure:[/] "
        report.print(f"{outcome}{self.result.message}, {1e3 * self.result.seconds:.2f} ms, seed {self.result.seed}")
        for found in self.result.results:
            report.print(f"{found.message}, threshold {found.threshold:g}")
            Answer(self.name, found).show_model()


def estimate_two_view(
    name: str, matches: Matches, K1: CameraLike | None, K2: CameraLike | None, **settings: Any
) -> Answer:
    """Estimate a model of two images; E includes the motion. Without K1 and K2 the points for E are normalised."""
    known = known_arguments(matches) | {"K1": K1, "K2": K2}
    return estimate_model(name, {"x1": matches.x1, "x2": matches.x2}, known, settings)


def estimate_model(
    name: str, data: Mapping[str, Floats], known: Mapping[str, Any], settings: Mapping[str, Any]
) -> Answer:
    """Estimate a model from its data and those of the ``known`` cameras, image sizes and so on that it takes."""
    row = MODELS[name]
    result = row.load_function()(**data, **{argument: known[argument] for argument in row.arguments}, **settings)
    unit = "px" if row.data == MATCHES or row.cameras else ""
    if row.data == MATCHES and is_in_other_unit(row.load_problem(), np.hstack(list(data.values())).T):
        unit = ""
    if row.cameras and (known[row.cameras[0]] is None or find_preset(settings.get("preset")).as_paper):
        unit = "normalised units"
    return Answer(name, result, unit)


def arrays_of(**known: Any) -> dict[str, Floats]:
    """Return the arrays for a file of results; files of matches have no cameras with distortion."""
    return {name: value for name, value in known.items() if isinstance(value, np.ndarray)}


def _print_array(name: str, array: Any) -> None:
    text = np.array2string(np.asarray(array), formatter={"float_kind": "{:16.10g}".format}, prefix=f"  {name} = ")
    report.print(f"  {name} = {text}", markup=False)


FIGURE = "matches.png"
"""Name of the figure of :func:`write_figure`."""


def has_matplotlib() -> bool:
    """Return whether figures can be drawn, after a note if not."""
    if importlib.util.find_spec("matplotlib") is None:
        notes.print("bansac: no figures: they need Matplotlib, pip install matplotlib", markup=False)
        return False
    return True


def write_figure(folder: OutputFolder, images: tuple[Any, Any], matches: Matches, answer: Answer) -> None:
    """Draw the matches by their posterior."""
    if not has_matplotlib():
        return
    from bansac import plotting

    image1, x1 = _shrunk(images[0], matches.x1)
    image2, x2 = _shrunk(images[1], matches.x2)
    figure = plotting.plot_matches(image1, image2, x1, x2, answer.result.probabilities, inliers=answer.result.inliers)
    folder.write_figure(FIGURE, figure)


def _shrunk(image: Any, x: Floats) -> tuple[Bytes, Floats]:
    """Scale a large image down; return the image and its points."""
    pixels, scale = shrink(read_image(image, color=True), MAX_SIZE)
    return pixels, x * scale + (scale - 1) / 2  # pixel centres have integer coordinates
