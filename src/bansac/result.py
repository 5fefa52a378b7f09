"""What a run answers: the model, the mask, the posterior of every datum, and why it stopped."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.engine.trace import Trace
from bansac.storage import as_array, read_fields, to_plain, write_fields

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bansac.images import ImageLike

__all__ = ["AbsolutePose", "RelativePose", "Result", "Trace"]

_AS_THEY_ARE = frozenset({bool, int, float, str, type(None), functools.partial})


class RelativePose(NamedTuple):
    """Motion from the first camera to the second: ``x2 = R @ x1 + t``.

    Attributes
    ----------
    R : (3, 3) ndarray
        Rotation.
    t : (3,) ndarray
        Direction of the translation, of unit length.
    """

    R: NDArray[np.float64]
    t: NDArray[np.float64]


class AbsolutePose(NamedTuple):
    """Pose of a camera: a point X of space is ``R @ X + t`` in the coordinates of the camera.

    Attributes
    ----------
    R : (3, 3) ndarray
        Rotation.
    t : (3,) ndarray
        Translation, in the unit of the points; the camera is at ``-R.T @ t``.
    """

    R: NDArray[np.float64]
    t: NDArray[np.float64]


_POSES = {pose.__name__: pose for pose in (RelativePose, AbsolutePose)}


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Result:
    """Answer of a robust estimation; unpacks as ``model, inliers``.

    Its arrays are read-only, and its numbers are those of Python; :meth:`save` writes all of it to a file.

    Parameters
    ----------
    model : ndarray, RelativePose, AbsolutePose or None
        The model; None where no model was found at all.
    inliers : (N,) ndarray of bool
        ``residuals <= threshold`` of this model.
    residuals : (N,) ndarray of float
        Distance of every datum to the model, in the units of ``threshold``; inf where there is no model.
    probabilities : (N,) ndarray of float or None
        Probability of every datum of being an inlier, given the model: the posterior of a mixture of inliers and
        outliers that is fitted to the residuals when it is asked for first. None without success, as there is no model
        to be an inlier of.
    beliefs : (N,) ndarray of float or None
        What the sampler believed of every datum at the end of the run, or of the restart whose model is returned: the
        network's P^k (BaySAC's and AR's are alike).
        They steer the search and are no calibrated probabilities. None with a sampler that keeps none.
    score : float
        Score of the model in the run's measure: larger is better.
    threshold : float
        The threshold that was used.
    iterations : int
        Minimal samples drawn.
    models_tested : int
        Models that passed the checks and were scored, in full or in part.
    restarts : int
        Restarts of the run, see ``Options.restarts``.
    stop_reason : str
        What ended the run: ``"agreement"`` of the restarts, ``"restarts"`` where all of them took place without it, or
        all ``restart_iterations`` of a single one, ``"max_iterations"`` or ``"max_seconds"``; with a single restart
        also the name of a stopping criterion, ``"ransac"``, ``"sprt"``, ``"prosac"`` or ``"bansac"``; ``"no_data"``
        where there were too few data to draw a sample.
    success : bool
        True where the model has more support than chance would give.
    message : str
        What happened, in words.
    seed : int
        The seed that was used.
    seconds : float
        Time from call to answer, without ``loading_seconds``.
    loading_seconds : float
        Time in which kernels were compiled, or loaded from the cache; 0 where all of them were in memory.
    trace : Trace or None
        The course of the run, with ``trace=True``.
    configuration : {"general", "planar", "pure_rotation", "collinear"} or None
        How the inliers of two views lie. "planar" and "pure_rotation" do not determine a fundamental matrix, which
        cannot tell the two apart and calls both planar; "pure_rotation" leaves the translation of E and the pose open;
        "collinear" is no success. The plane of a homography is "planar". None without a model and for other models.
    """

    model: Any
    inliers: NDArray[np.bool_]
    residuals: NDArray[np.float64]
    probabilities: NDArray[np.float64] | None
    beliefs: NDArray[np.float64] | None
    score: float
    threshold: float
    iterations: int
    models_tested: int
    restarts: int
    stop_reason: str
    success: bool
    message: str
    seed: int
    seconds: float
    loading_seconds: float
    trace: Trace | None = None
    configuration: str | None = None

    def __init__(
        self,
        model: Any,
        inliers: NDArray[np.bool_],
        residuals: NDArray[np.float64],
        probabilities: Any,
        beliefs: NDArray[np.float64] | None,
        score: float,
        threshold: float,
        iterations: int,
        models_tested: int,
        restarts: int,
        stop_reason: str,
        success: bool,
        message: str,
        seed: int,
        seconds: float,
        loading_seconds: float,
        trace: Trace | None = None,
        configuration: str | None = None,
    ) -> None:
        """Make the arrays read-only and the scalars of NumPy numbers of Python; probabilities may be a function.

        The constructor that a frozen dataclass gets of itself sets one field after the other, which takes longer.
        """
        fields = self.__dict__
        fields.update(
            model=model, inliers=inliers, residuals=residuals, probabilities=probabilities,
            beliefs=beliefs, score=score, threshold=threshold, iterations=iterations,
            models_tested=models_tested, restarts=restarts, stop_reason=stop_reason, success=success,
            message=message, seed=seed, seconds=seconds, loading_seconds=loading_seconds, trace=trace,
            configuration=configuration,
        )  # fmt: skip
        for name, value in fields.items():
            if type(value) not in _AS_THEY_ARE:
                fields[name] = _frozen(value)
        if callable(fields["probabilities"]):
            fields["_posterior"] = fields.pop("probabilities")

    def __getattr__(self, name: str) -> Any:
        """Compute the probabilities, if they were given as a function, when they are asked for first."""
        fields = self.__dict__
        if name == "probabilities" and "_posterior" in fields:
            fields[name] = _frozen(fields["_posterior"]())
            return fields[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone, for copies and pickles."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    def __iter__(self) -> Iterator[Any]:
        """Unpack as ``model, inliers``."""
        return iter((self.model, self.inliers))

    def __len__(self) -> int:
        """Return 2: ``model, inliers``."""
        return 2

    def __getitem__(self, index: int) -> Any:
        """Return the model for 0, the inliers for 1."""
        return (self.model, self.inliers)[index]

    @property
    def num_inliers(self) -> int:
        """Number of inliers."""
        return int(np.count_nonzero(self.inliers))

    @property
    def inlier_ratio(self) -> float:
        """Share of the data that are inliers; 0 where there are no data."""
        return self.num_inliers / max(len(self.inliers), 1)

    @property
    def timing(self) -> str:
        """Time of the run in words, and apart from it that of compiling or loading kernels, if there was any."""
        loading = f" (and {self.loading_seconds:.2f} s to load or compile kernels)" if self.loading_seconds else ""
        return f"{1e3 * self.seconds:.2f} ms{loading}"

    def __repr__(self) -> str:
        """Summarise the result in a few lines."""
        outcome = "success" if self.success else "failure"
        return (
            f"Result({outcome}: {self.message}\n"
            f"       {self.num_inliers} of {len(self.inliers)} inliers at threshold {self.threshold:g}, "
            f"{self.iterations} iterations, {self.models_tested} models, stopped by {self.stop_reason}, "
            f"{self.timing}, seed {self.seed})"
        )

    def _repr_html_(self) -> str:
        """Summarise the result as a table, for notebooks."""
        from bansac.report import summary_table

        return summary_table(self)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields in the types of JSON, for ``json.dumps``.

        Returns
        -------
        dict
            Arrays are lists, a pose and the trace are dicts, and numbers that are not finite are None.

        Examples
        --------
        >>> import json, bansac
        >>> points = [[x, 2.0 * x] for x in range(30)]
        >>> result = bansac.fit_line(points, threshold=0.1)
        >>> json.loads(json.dumps(result.to_dict()))["iterations"] == result.iterations
        True
        """
        return {name: to_plain(value) for name, value in self._fields().items()}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to a file, which :meth:`load` reads; a file of this name is replaced as a whole.

        Parameters
        ----------
        path : str or path
            ``.npz`` keeps the arrays as they are; ``.json`` is what :meth:`to_dict` returns.

        Raises
        ------
        ValueError
            If the path ends otherwise.
        OSError
            If the file cannot be written.
        """
        write_fields(path, self._fields())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a result that :meth:`save` has written.

        Parameters
        ----------
        path : str or path
            A ``.npz`` or ``.json`` file.

        Returns
        -------
        Result
            The same result.

        Raises
        ------
        ValueError
            If the path ends otherwise, or the file holds no result.
        OSError
            If the file cannot be read.

        Examples
        --------
        >>> import bansac, pathlib, tempfile
        >>> result = bansac.fit_line([[x, 2.0 * x] for x in range(30)], threshold=0.1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     result.save(pathlib.Path(folder, "line.npz"))
        ...     again = bansac.Result.load(pathlib.Path(folder, "line.npz"))
        >>> again.num_inliers
        30
        """
        found = read_fields(path)
        if missing := {field.name for field in dataclasses.fields(cls)} ^ found.keys():
            raise ValueError(f"{path} holds no result: it lacks, or has besides, {', '.join(sorted(missing))}")
        try:
            return cls(**{name: _loaded(name, value) for name, value in found.items()})
        except (TypeError, ValueError, AttributeError, KeyError) as error:
            raise ValueError(f"{path} holds no result: {error}") from None

    def _fields(self) -> dict[str, Any]:
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if isinstance(self.model, AbsolutePose):
            fields["model"] = self.model._asdict() | {"type": "AbsolutePose"}
        return fields | {"trace": None if self.trace is None else vars(self.trace)}

    def plot(self) -> Figure:
        """Draw the course of the run.

        Returns
        -------
        matplotlib.figure.Figure
            Inlier ratio, gamma and the stop counters over the iterations.

        Raises
        ------
        ValueError
            If the run was not traced.
        ImportError
            If Matplotlib is not installed.
        """
        if self.trace is None:
            raise ValueError("this result has no trace; estimate with trace=True to draw the course of the run")
        from bansac.plotting import plot_trace

        return plot_trace(self.trace, n_points=len(self.inliers))

    def plot_matches(
        self,
        image1: ImageLike,
        image2: ImageLike,
        x1: ArrayLike,
        x2: ArrayLike,
        *,
        max_matches: int = 250,
        seed: int = 0,
        title: str | None = None,
        ax: Axes | None = None,
    ) -> Figure:
        """Draw the two images and the matches, coloured by their probability; lines of inliers are thick.

        Parameters
        ----------
        image1, image2, x1, x2, max_matches, seed, title, ax
            As in :func:`bansac.plotting.plot_matches`; ``x1`` and ``x2`` are the matches of this result.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.

        Raises
        ------
        OSError
            If an image cannot be read.
        ValueError
            If there is not one match for each of the result's data.
        ImportError
            If Matplotlib is not installed.
        """
        from bansac.plotting import plot_matches

        options: dict[str, Any] = {"max_matches": max_matches, "seed": seed, "title": title, "ax": ax}
        return plot_matches(image1, image2, x1, x2, self.probabilities, inliers=self.inliers, **options)

    def report(
        self,
        path: str | os.PathLike[str],
        x1: ArrayLike,
        x2: ArrayLike | None = None,
        *,
        image1: ImageLike | None = None,
        image2: ImageLike | None = None,
        trace: Trace | None = None,
        settings: Mapping[str, Any] | None = None,
        title: str | None = None,
    ) -> None:
        """Write one HTML page: the data coloured by their posterior, the verdict, and with a trace the run replayed.

        The page has everything in itself, loads nothing, and is replaced as a whole if it is there.

        Parameters
        ----------
        path : str or path
            The file to write.
        x1, x2 : (N, 2) array_like
            The matches of this result; the points alone, without ``x2``, for lines, circles and polynomials.
        image1, image2 : path or (H, W[, 3 or 4]) array_like, optional
            Images; large ones are scaled down. Without them the points are drawn alone.
        trace : Trace or None, optional
            In place of the result's own (``trace=True``), that of another run on the same data.
        settings : mapping of str to object, optional
            Further settings of the run, which the page lists.
        title : str or None, optional
            Heading of the page; by default the names of the images.

        Raises
        ------
        OSError
            If an image cannot be read or the file cannot be written.
        ValueError
            If there is not one point for each of the result's data, or the trace is that of other data.
        ImportError
            If there are images and OpenCV is not installed.

        Examples
        --------
        >>> import bansac, pathlib, tempfile
        >>> points = [[x, 2.0 * x] for x in range(30)]
        >>> result = bansac.fit_line(points, threshold=0.1, trace=True)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = pathlib.Path(folder, "line.html")
        ...     result.report(page, points)
        ...     "success" in page.read_text()
        True
        """
        from bansac.report import write_report

        options: dict[str, Any] = {"trace": trace, "settings": settings, "title": title}
        write_report(self, path, x1, x2, image1=image1, image2=image2, **options)


def _loaded(name: str, value: Any) -> Any:
    """Return a field as it was before it was saved."""
    if name == "trace" and value is not None:
        snapshots = {int(at): as_array("snapshots", p) for at, p in value.pop("snapshots", {}).items()}
        return Trace(**{name: as_array(name, column) for name, column in value.items()}, snapshots=snapshots)
    if isinstance(value, dict):
        pose = _POSES[value.pop("type", "RelativePose")]
        return pose(**{name: as_array(name, part) for name, part in value.items()})
    return as_array(name, value) if isinstance(value, list | np.ndarray) else value


def _frozen(value: Any) -> Any:
    """Return arrays as views that cannot be written to, and scalars of NumPy as numbers of Python."""
    if isinstance(value, np.ndarray):
        view = value.view()
        view.setflags(write=False)
        return view
    if isinstance(value, RelativePose | AbsolutePose):
        return type(value)(*map(_frozen, value))
    if isinstance(value, Trace):
        return Trace(**{name: _frozen(part) for name, part in vars(value).items()})
    if isinstance(value, dict):
        return {key: _frozen(part) for key, part in value.items()}
    return value.item() if isinstance(value, np.generic) else value
