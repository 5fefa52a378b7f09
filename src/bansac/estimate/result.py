"""The result of a run: the model, the inlier mask, the posterior of every point and the reason for the stop."""

from __future__ import annotations

import functools
import os
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bansac.engine.trace import Trace as Trace
from bansac.matches.storage import read_fields, to_plain, write_fields
from bansac.maths.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from typing_extensions import TypeVar

    from bansac.matches.images import ImageLike
    from bansac.plotting.report.page import Page

    Model = TypeVar("Model", default=Any)

    class _Pair(tuple[Model, NDArray[np.bool_]], Generic[Model]):
        """A result for a type checker: the pair that it unpacks to."""

    _Labelled = tuple[tuple[Any, ...], NDArray[np.int64]]
else:
    from typing import TypeVar

    Model = TypeVar("Model")
    _Pair, _Labelled = Generic, object

SURE = 0.9
"""Smallest probability of a sure inlier, or of a sure outlier."""

WHY_COUNTS_DIFFER = (
    "Inliers are within the threshold. The posterior also depends on how many outliers have such a residual by chance."
)
"""The reason for different numbers of inliers and of sure inliers."""

_LAZY = "probabilities", "model_confidence"

_AS_THEY_ARE = frozenset({bool, int, float, str, type(None), functools.partial})


class _Motion(NamedTuple):
    R: Floats
    t: Floats


class _Pose(_Motion):
    """A motion whose camera matrices, if any, are attributes and no items of the tuple."""

    def _asdict(self) -> dict[str, Any]:
        """Return R and t, and the camera matrices if there are any."""
        return super()._asdict() | {name: K for name, K in vars(self).items() if K is not None}


class RelativePose(_Pose):
    """Motion from the first camera to the second: ``x2 = R @ x1 + t``; unpacks as ``R, t``.

    Attributes
    ----------
    R : (3, 3) ndarray
        Rotation.
    t : (3,) ndarray
        Direction of the translation, of unit length; if ``scale`` is known, the translation in the unit of ``depth1``.
    K1, K2 : (3, 3) ndarray or None
        Camera matrices, if focal lengths were estimated; else None.
    scale : float or None
        Ratio of the unit of ``depth1`` to that of ``depth2``, if depths were used: the same length is ``scale`` times
        as large in ``depth2``. Else None. It is 1 if only one image has depths; ``t`` is in their unit.
    shift1, shift2 : float or None
        Constant errors of the depths of each image, in their unit, where they were estimated; else None.
    depth_used : str or None
        The depths that were used: ``"depth1 and depth2"``, or one of them; ``t`` is in the unit of the first. Else
        None; ``Result.message`` has the reason.
    """

    K1: Floats | None
    K2: Floats | None
    scale: float | None
    shift1: float | None
    shift2: float | None
    depth_used: str | None

    def __new__(
        cls,
        R: Floats,
        t: Floats,
        K1: Floats | None = None,
        K2: Floats | None = None,
        scale: float | None = None,
        shift1: float | None = None,
        shift2: float | None = None,
        depth_used: str | None = None,
    ) -> Self:
        """Make a pose."""
        pose = super().__new__(cls, R, t)
        pose.K1, pose.K2, pose.scale = K1, K2, scale
        pose.shift1, pose.shift2, pose.depth_used = shift1, shift2, depth_used
        return pose


class AbsolutePose(_Pose):
    """Pose of a camera: a 3D point ``X`` has the camera coordinates ``R @ X + t``; unpacks as ``R, t``.

    Attributes
    ----------
    R : (3, 3) ndarray
        Rotation.
    t : (3,) ndarray
        Translation, in the unit of the 3D points; the camera centre is ``-R.T @ t``.
    K : (3, 3) ndarray or None
        Camera matrix, if the focal length was estimated; else None.
    """

    K: Floats | None

    def __new__(cls, R: Floats, t: Floats, K: Floats | None = None) -> Self:
        """Make a pose."""
        pose = super().__new__(cls, R, t)
        pose.K = K
        return pose


class Rival(NamedTuple):
    """A second model that the data support beside that of a result.

    Attributes
    ----------
    model : ndarray, RelativePose or AbsolutePose
        The model, in the form of ``Result.model``.
    inliers : (N,) ndarray of bool
        Points within ``threshold`` of this model.
    threshold : float
        Its threshold.
    """

    model: Any
    inliers: NDArray[np.bool_]
    threshold: float

    def __repr__(self) -> str:
        """Summarise the rival in a line."""
        return f"Rival({np.count_nonzero(self.inliers)} inliers at threshold {self.threshold:g})"


_POSES = {pose.__name__: pose for pose in (RelativePose, AbsolutePose)}


@dataclass(frozen=True, eq=False, repr=False)
class Result(_Pair[Model]):
    """Result of a robust estimation; unpacks as ``model, inliers``, and is true if it has success.

    Arrays are read-only, and scalars are Python numbers. :meth:`save` writes all fields to a file.

    Parameters
    ----------
    model : ndarray, RelativePose, AbsolutePose or None
        The model; None if no model was found.
    inliers : (N,) ndarray of bool
        ``residuals <= threshold`` of this model.
    residuals : (N,) ndarray of float
        Distance of every point from the model, in the unit of ``threshold``; inf if there is no model.
    probabilities : (N,) ndarray of float or None
        Posterior probability of every point of being an inlier of the model. It is computed on first access, from a
        mixture of inliers and outliers fitted to the residuals. None without success.
    beliefs : (N,) ndarray of float or None
        Beliefs of the sampler in every point at the end of the run, or of the restart whose model is returned: the
        network's P^k, or the corresponding values of BaySAC and AR. Beliefs guide the search; unlike ``probabilities``
        they are not calibrated. None if the sampler has no beliefs.
    score : float
        Score of the model with the scoring of the run; larger is better.
    threshold : float
        Threshold of the run.
    iterations : int
        Number of minimal samples drawn.
    models_tested : int
        Number of models that passed the checks and were scored, fully or partly.
    restarts : int
        Number of restarts of the run, see ``Options.restarts``.
    stop_reason : str
        Reason for the end of the run:

        - ``"agreement"``: enough restarts agreed;
        - ``"restarts"``: all restarts ended without agreement, or a single one used all its iterations;
        - ``"max_iterations"`` or ``"max_seconds"``: a limit was reached;
        - ``"ransac"``, ``"sprt"``, ``"prosac"`` or ``"bansac"``: this stopping criterion ended a single restart;
        - ``"no_data"``: there are fewer points than a sample needs.
    success : bool
        True if the model has significantly more support than expected by chance, its inliers do not lie on a line, and
        those off a line are enough to verify it.
    message : str
        Description of the outcome.
    seed : int
        Seed of the run.
    seconds : float
        Time of the call in seconds, without ``loading_seconds``.
    loading_seconds : float
        Time to compile kernels or load them from the cache; 0 if all of them were in memory.
    trace : Trace or None
        Record of the iterations, with ``trace=True``.
    configuration : str or None
        Whether the inliers determine the model. ``message`` explains it, and the page "How sure a result is" of the
        documentation. It is "general", "planar", "pure_rotation", "collinear", "ambiguous", "misfit", "static",
        "undetermined_focal" or "undetermined_curvature". None without a model, and for other models.
    rival : Rival or None
        A second model that many points support, and that chance does not explain.
    first_threshold : float or None
        Threshold from which ``threshold`` was estimated; None if it was given.
    model_confidence : float or None
        Probability that the model is right: the pose of E and F within 5 degrees, an absolute pose also within 5 % of
        the depth, a homography within 5 pixels at the corners of the image. It is computed on first access, from the
        evidence alone, by a fit to data with ground truth (``bansac bench trust``). None without a model, for inliers
        behind a camera, for other problems and with ``preset="paper"``.
        ``confidence`` is an option, that of the stopping criteria.
    """

    model: Model
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
    rival: Rival | None = None
    first_threshold: float | None = None
    model_confidence: float | None = field(default_factory=lambda: None)  # a default would be found before __getattr__

    def __post_init__(self) -> None:
        """Make arrays read-only and NumPy scalars Python numbers; the functions in ``_LAZY`` fields wait for access."""
        fields = self.__dict__
        for name, value in fields.items():
            if type(value) not in _AS_THEY_ARE:
                fields[name] = _frozen(value)
        for name in _LAZY:
            if callable(fields[name]):
                fields[f"_{name}"] = fields.pop(name)

    if not TYPE_CHECKING:  # a type checker reports unknown names

        def __getattr__(self, name: str) -> Any:
            """Compute a field on first access, if it was given as a function."""
            fields = self.__dict__
            if name in _LAZY:
                if function := fields.get(f"_{name}"):
                    fields[name] = _frozen(function())
                    fields.pop(f"_{name}", None)  # and the data that it holds
                return fields[name]
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

        def __iter__(self) -> Iterator[Any]:
            """Unpack as ``model, inliers``."""
            return iter((self.model, self.inliers))

        def __len__(self) -> int:
            """Return 2, the length of ``model, inliers``."""
            return 2

        def __getitem__(self, index: int) -> Any:
            """Return the model for index 0 and the inliers for index 1."""
            return (self.model, self.inliers)[index]

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields, for copies and pickles."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the fields of a copy; its arrays are read-only, too."""
        self.__init__(**state)  # type: ignore[misc]

    def __bool__(self) -> bool:
        """Return ``success``."""
        return self.success

    @property
    def num_inliers(self) -> int:
        """Number of inliers."""
        return int(np.count_nonzero(self.inliers))

    @property
    def inlier_ratio(self) -> float:
        """Fraction of inliers; 0 if there are no points."""
        return self.num_inliers / max(len(self.inliers), 1)

    @property
    def timing(self) -> str:
        """Time of the run for messages, with the time to load or compile kernels, if any, given separately."""
        loading = f" (and {self.loading_seconds:.2f} s to load or compile kernels)" if self.loading_seconds else ""
        return f"{1e3 * self.seconds:.2f} ms{loading}"

    def __repr__(self) -> str:
        """Summarise the result in a few lines, with the model."""
        outcome = "success" if self.success else "failure"
        stop = self.stop_reason
        if self.model_confidence is not None:
            stop += f", model confidence {self.model_confidence:.2f}"
        summary = (
            f"Result({outcome}: {self.message}\n"
            f"       {self.num_inliers} of {len(self.inliers)} inliers at threshold {self.threshold:g}, {self.timing}, "
            f"seed {self.seed}\n"
            f"       {self.iterations} iterations, {self.models_tested} models, stopped by {stop})"
        )
        parts = {} if self.model is None else {"model": self.model}
        if isinstance(self.model, RelativePose | AbsolutePose):
            parts = self.model._asdict()
        with np.printoptions(precision=6):
            texts = [textwrap.indent(f"{name} =\n{value}", " " * 7) for name, value in parts.items()]
        return "\n".join([summary, *texts])

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON types: arrays become lists, and numbers that are not finite None."""
        return {name: to_plain(value) for name, value in self._fields().items()}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to a ``.npz`` file for :meth:`load`; an existing file is replaced atomically.

        Another extension is a ValueError, a file that cannot be written an OSError.
        """
        write_fields(path, self._fields())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a result written by :meth:`save`.

        A path with another extension, or a file that holds no result, is a ValueError; a file that cannot be read is an
        OSError.

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
        fields = read_fields(path)
        if other := cls.__dataclass_fields__.keys() ^ fields.keys():
            raise ValueError(f"{path} holds no result: it lacks, or has besides, {', '.join(sorted(other))}")
        try:
            return cls(**{name: _loaded(name, value) for name, value in fields.items()})
        except (TypeError, ValueError, AttributeError, KeyError, OverflowError) as error:
            raise ValueError(f"{path} holds no result: {error}") from None

    def _fields(self) -> dict[str, Any]:
        fields = self.__getstate__() | {"model": _stored(self.model)}
        if self.rival is not None:
            fields["rival"] = self.rival._asdict() | {"model": _stored(self.rival.model)}
        return fields | {"trace": None if self.trace is None else vars(self.trace)}

    def plot(self, x1: ArrayLike, x2: ArrayLike | None = None, *, ax: Axes | None = None) -> Figure:
        """Draw the data of the run.

        Points are coloured by their probability, or by the inlier mask if there are no probabilities. Matches are
        segments from image 1 to image 2; :meth:`plot_matches` draws them on the images. Matches of space, and of sets
        that are far apart, such as pixels and UTM, are points in two axes. Another number of points is a ValueError.

        Parameters
        ----------
        x1 : (N, 2) or (N, 3) array_like
            The points of this result, or those of image 1 or of the first set.
        x2 : (N, 2) or (N, 3) array_like or None, optional
            The points of image 2, or of the second set.
        ax : matplotlib.axes.Axes or None, optional
            Axes to draw into, for 3D points with ``projection="3d"``; by default a new figure.

        Examples
        --------
        >>> import bansac
        >>> points = [[x, 2.0 * x] for x in range(30)]
        >>> figure = bansac.fit_line(points, threshold=0.1).plot(points)
        >>> len(figure.axes)  # the points and the colour bar
        2
        """
        from bansac.plotting.data import plot_data

        values = self.inliers.astype(np.float64) if self.probabilities is None else self.probabilities
        return plot_data(x1, x2, values, ax)

    def plot_matches(
        self, image1: ImageLike, image2: ImageLike, x1: ArrayLike, x2: ArrayLike, **settings: Any
    ) -> Figure:
        """Draw the two images and the matches, coloured by their probability; inliers have thick lines.

        ``x1`` and ``x2`` are the matches of this result. ``settings`` are ``max_matches``, ``seed``, ``title`` and
        ``ax`` of :func:`bansac.plotting.plot_matches`, with the same figure and errors.
        """
        from bansac.plotting import plot_matches

        return plot_matches(image1, image2, x1, x2, self.probabilities, inliers=self.inliers, **settings)

    def report(self, path: str | os.PathLike[str], x1: ArrayLike, x2: ArrayLike | None = None, **settings: Any) -> None:
        """Write the HTML page of :meth:`show` to a file.

        An existing file is replaced atomically. A file that cannot be written is an OSError. ``settings`` are
        ``image1``, ``image2``, ``settings``, ``title`` and ``F`` of :meth:`show`, with the same errors.

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
        self.show(x1, x2, **settings).write(path)

    def show(
        self,
        x1: ArrayLike,
        x2: ArrayLike | None = None,
        *,
        image1: ImageLike | None = None,
        image2: ImageLike | None = None,
        settings: Mapping[str, Any] | None = None,
        title: str | None = None,
        F: ArrayLike | None = None,
    ) -> Page:
        """Return an HTML page with the points coloured by their posterior, a summary and, with a trace, a replay.

        A notebook shows the page if it is the last value of a cell; :meth:`report` writes it to a file. It is
        self-contained. An image that cannot be read is an OSError, another number of points a ValueError. Images need
        OpenCV.

        Parameters
        ----------
        x1, x2 : (N, 2) array_like
            The matches of this result. For lines, circles and polynomials ``x1`` holds the points, and ``x2`` is
            omitted.
        image1, image2 : path or (H, W[, 3 or 4]) array_like, optional
            Images; large ones are scaled down. Without images only the points are drawn.
        settings : mapping of str to object, optional
            Further settings of the run, to be listed on the page.
        title : str or None, optional
            Heading of the page; by default the names of the images.
        F : (3, 3) array_like or None, optional
            Matrix of the epipolar lines, for a pose ``K2^-T E K1^-1``; by default the model if it is one.

        Returns
        -------
        Page
            The page; ``html`` is its text.
        """
        from bansac.plotting.report.page import make_page

        rows = {"threshold": threshold_in_words(self), "seed": self.seed}
        if self.rival is not None:
            count, shared = np.count_nonzero(self.rival.inliers), np.count_nonzero(self.rival.inliers & self.inliers)
            rows["rival"] = f"{count} inliers at threshold {self.rival.threshold:g}, {shared} also of the model"
        return make_page((x1, x2), (image1, image2), self, rows | dict(settings or {}), title, F)


@dataclass(frozen=True, eq=False, repr=False)
class MultipleResult(_Labelled):
    """Result of :func:`bansac.estimate_multiple`; unpacks as ``models, labels``, and is true if it has success.

    Parameters
    ----------
    labels : (N,) ndarray of int
        Index of the model of each point; -1 if it belongs to none.
    probabilities : (N, K + 1) ndarray of float
        Posterior probability of each label. The last column is that of label -1, so ``probabilities[n, labels[n]]`` is
        the probability of the label of point n. Each row adds up to 1.
    results : tuple of Result
        The result of each model, with the residuals of all points. ``inliers`` are all points within its threshold,
        also those of other models. The counts of samples are those of its last search.
    stop_reason : {"no_more", "max_models", "max_seconds"}
        Reason for the end of the search: no further model has more support than chance gives, or a limit was reached.
    success : bool
        True if there is a model.
    message : str
        Description of the outcome.
    seed : int
        Seed of the search.
    seconds, loading_seconds : float
        Times of the call, as in :class:`Result`.
    """

    labels: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    results: tuple[Result, ...]
    stop_reason: str
    success: bool
    message: str
    seed: int
    seconds: float
    loading_seconds: float

    @property
    def models(self) -> tuple[Any, ...]:
        """The models, the one with most points first."""
        return tuple(result.model for result in self.results)

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for name in ("labels", "probabilities"):
            object.__setattr__(self, name, _frozen(getattr(self, name)))

    def __bool__(self) -> bool:
        """Return ``success``."""
        return self.success

    if not TYPE_CHECKING:

        def __iter__(self) -> Iterator[Any]:
            """Unpack as ``models, labels``."""
            return iter((self.models, self.labels))

    def __repr__(self) -> str:
        """Summarise the result in a few lines."""
        outcome = "success" if self.success else "failure"
        lines = [f"MultipleResult({outcome}: {self.message}", *(f"  {result.message}" for result in self.results)]
        return "\n".join(lines) + f"\n  {1e3 * self.seconds:.2f} ms, seed {self.seed})"

    def plot(self, points: ArrayLike, *, ax: Axes | None = None) -> Figure:
        """Draw points coloured by their labels; points without a model are grey.

        Parameters
        ----------
        points : (N, 2) or (N, 3) array_like
            The points, or those of one image of the matches.
        ax : matplotlib.axes.Axes or None, optional
            As in :meth:`Result.plot`, with the same errors.
        """
        from bansac.plotting.data import plot_labels

        return plot_labels(points, self.labels, ax)


def threshold_in_words(result: Result, unit: str = "") -> str:
    """Return the threshold of a result for messages; if it was estimated, with the first one."""
    first, source = result.first_threshold, ""
    if first is not None:
        source = f" ({'estimated' if result.success else 'tried'}, first {first:g})"
        if not result.success and result.threshold == first:
            source = " (the first guess, because none was estimated)"
    return f"{result.threshold:g} {unit}".rstrip() + source


def summarize_posterior(probabilities: Floats | None) -> dict[str, int] | None:
    """Count the sure inliers, the sure outliers and the undecided points; None without a posterior."""
    if probabilities is None:
        return None
    inliers, outliers = (int(np.count_nonzero(p >= SURE)) for p in (probabilities, 1.0 - probabilities))
    return {"inlier": inliers, "outlier": outliers, "undecided": len(probabilities) - inliers - outliers}


def posterior_in_words(counts: Mapping[str, int]) -> str:
    """Return the counts of :func:`summarize_posterior` as a text."""
    sure = f"at least {SURE:.0%} sure"
    return f"{counts['inlier']} {sure} inliers, {counts['outlier']} {sure} outliers, {counts['undecided']} undecided"


def _stored(model: Any) -> Any:
    return model._asdict() | {"type": "AbsolutePose"} if isinstance(model, AbsolutePose) else model


def _loaded(name: str, value: Any) -> Any:
    if name == "trace" and value is not None:
        snapshots = {int(at): beliefs for at, beliefs in value.pop("snapshots", {}).items()}
        return Trace(**value, snapshots=snapshots)
    if name == "rival" and value is not None:
        return Rival(**{part: _loaded(part, content) for part, content in value.items()})
    return _POSES[value.pop("type", "RelativePose")](**value) if isinstance(value, dict) else value


def _frozen(value: Any) -> Any:
    """Return arrays as read-only views and NumPy scalars as Python numbers."""
    if isinstance(value, np.ndarray):
        view = value.view()
        view.setflags(write=False)
        return view
    if isinstance(value, RelativePose | AbsolutePose | Rival):
        return type(value)(**{name: _frozen(part) for name, part in value._asdict().items()})
    if isinstance(value, Trace):
        return Trace(**{name: _frozen(part) for name, part in vars(value).items()})
    if isinstance(value, dict):
        return {key: _frozen(part) for key, part in value.items()}
    return value.item() if isinstance(value, np.generic) else value
