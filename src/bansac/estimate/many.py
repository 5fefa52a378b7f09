"""Estimation of many pairs on all cores, in threads or in processes (:mod:`bansac.executors`).

A result is that of a call of its own, so the results are the same, bit for bit, for any number of workers.
"""

import contextlib
import functools
import inspect
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike

from bansac.estimate.generic import ransac
from bansac.estimate.presets import SHARED_ARGUMENTS, Arguments, Threshold, check_names, resolve_options
from bansac.estimate.result import Model, Result
from bansac.executors import ItemFailure, can_be_pickled, short_items
from bansac.executors.threads import PENDING_PER_THREAD, count_workers, in_order, until_broken
from bansac.maths.validate import as_integer, check_name
from bansac.problems.estimators import ESTIMATORS, find_estimator
from bansac.problems.problem import Problem


@dataclass(frozen=True, eq=False)
class Failure:
    """The error of a pair that cannot be estimated; it replaces the :class:`bansac.Result`.

    Like a result without a model, it has ``success``, ``message``, ``model`` and ``model_confidence``, and unpacks as
    ``model, inliers``.

    Parameters
    ----------
    index : int
        Number of the pair, from 0.
    error : Exception
        The exception raised by reading or estimating the pair.
    """

    index: int
    error: Exception
    success: ClassVar[Literal[False]] = False
    model: ClassVar[None] = None
    model_confidence: ClassVar[None] = None

    @property
    def message(self) -> str:
        """The message of the error."""
        return str(self.error) or type(self.error).__name__

    def __bool__(self) -> Literal[False]:
        """Return False, as a result without success does."""
        return False

    def __iter__(self) -> Iterator[Any]:
        """Unpack as ``model, inliers``: None and an empty mask."""
        return iter((None, np.empty(0, np.bool_)))


class PairArguments(Arguments, total=False):
    """The keyword arguments of the estimators that pairs can share."""

    threshold: Threshold
    K: Any
    K1: Any
    K2: Any
    image_size1: Any
    image_size2: Any
    gravity1: ArrayLike | None
    gravity2: ArrayLike | None
    depth1: ArrayLike | None
    depth2: ArrayLike | None


class ManyArguments(PairArguments, total=False):
    """The keyword arguments of :func:`bansac.iter_estimates`."""

    workers: int | None
    executor: Literal["threads", "processes"]
    on_error: Literal["return", "raise"]
    max_pending: int | None


def estimate_many(
    problem: str | Problem | Callable[..., Result[Model]], pairs: Iterable[Any], **settings: Unpack[ManyArguments]
) -> list[Result[Model] | Failure]:
    """Estimate the models of many pairs of images, on all cores; return the results of :func:`bansac.iter_estimates`.

    Parameters
    ----------
    problem, pairs, **settings
        As in :func:`bansac.iter_estimates` (``workers``, ``executor``, ``on_error`` and all others), with the same
        errors.

    Returns
    -------
    list of Result or Failure
        In the order of the pairs.

    Examples
    --------
    >>> import numpy as np, bansac
    >>> x = np.random.default_rng(0).uniform(0, 500, (100, 2))
    >>> pairs = [(x, x + 1), (x, x[:50]), {"x1": x, "x2": 2 * x, "threshold": 0.5}]
    >>> results = bansac.estimate_many("homography", pairs, workers=2)
    >>> [result.success for result in results]
    [True, False, True]
    >>> results[1].message
    'x1 and x2 must have equal lengths, got 100 and 50'
    """
    return list(iter_estimates(problem, pairs, **settings))


def iter_estimates(
    problem: str | Problem | Callable[..., Result[Model]],
    pairs: Iterable[Any],
    *,
    workers: int | None = None,
    executor: Literal["threads", "processes"] = "threads",
    on_error: Literal["return", "raise"] = "return",
    max_pending: int | None = None,
    **arguments: Unpack[PairArguments],
) -> Generator[Result[Model] | Failure, None, None]:
    """Estimate the models of many pairs of images on all cores, and yield the results one by one.

    The memory does not grow with the number of pairs, and ``pairs`` may be infinite, because at most ``max_pending``
    pairs are read ahead. A finished result is yielded, in order, after the next pair has been read. Errors of the
    arguments are raised by the call, not with the first result.

    Parameters
    ----------
    problem : str, callable or Problem
        The name of an estimator, which is that of its function without ``estimate_`` or ``fit_``, such as
        ``"homography"``, or that for ``bansac estimate --model``, such as ``"H"``; or the function itself; or a
        :class:`bansac.Problem`.
    pairs : iterable
        It is read in the caller's thread. Each pair is one of

        * a tuple or list of positional arguments: ``(x1, x2)``, ``(x1, x2, K1, K2)``, or ``(points3D, points2D, K)``;
        * a mapping of keyword arguments, which take precedence over ``arguments``: ``x1``, ``x2`` and for example
          ``scores``, ``K1``, ``K2`` or ``threshold``;
        * an object with the attributes ``x1``, ``x2``, such as :class:`bansac.matches.Matches`. Its scores, cameras,
          image sizes and depths are used if the call takes them;
        * an array: the data of an estimator of points, such as a line, or of a ``Problem``;
        * a function without parameters that returns one of these. It is called in a worker, so pairs can be read lazily
          and in parallel.
    workers : int, optional
        Number of threads or processes; by default one for each core that this process may use. A single worker is the
        caller's thread.
    executor : {"threads", "processes"}
        Only one thread at a time runs Python code: two threads are at most 1.4 times as fast as one, and more help
        little. "processes" are for some thousand pairs: after one second in threads, worker processes do the other
        pairs, at almost the full speed of each core. Each process needs some 150 MB. A script then needs
        ``if __name__ == "__main__":``, and pairs, problem and arguments must be picklable.
    on_error : {"return", "raise"}
        If reading or estimating a pair raises an error, "return" a :class:`bansac.Failure` instead of its result, or
        "raise" the error after the results of the pairs before it. An error of the iterable itself is always raised.
    max_pending : int, optional
        Largest number of pairs that are read and whose results are not yet returned; by default 16 per worker. A
        smaller number needs less memory; a larger one keeps all workers busy during a slow pair.
    **arguments
        Arguments of all calls: those of the estimator except the points, for example ``threshold``, ``preset``, ``K1``
        or ``gravity1``, and single options (:class:`bansac.Options`). All pairs have the same ``seed``, so that a
        call of the estimator for one pair gives the same result.

    Yields
    ------
    Result or Failure
        In the order of the pairs.

    Raises
    ------
    ValueError
        If ``problem``, ``workers``, ``executor``, ``on_error``, ``max_pending`` or an option is not allowed.
    TypeError
        If an option does not exist, ``pairs`` is not iterable, or a problem or argument for processes is not picklable.

    Notes
    -----
    Ctrl-C and leaving the loop end the work at once: waiting pairs are dropped. Each thread ends after its current
    pair; the caller does not wait for it.

    Examples
    --------
    >>> import itertools, numpy as np, bansac
    >>> x = np.random.default_rng(0).uniform(0, 500, (100, 2))
    >>> endless = ((x, x + step) for step in itertools.count())
    >>> for H, inliers in itertools.islice(bansac.iter_estimates("homography", endless, workers=2), 3):
    ...     print(np.round(H[0, 2] / H[2, 2], 6) + 0.0, inliers.sum())
    0.0 100
    1.0 100
    2.0 100
    """
    workers = count_workers(workers)
    pending = PENDING_PER_THREAD * workers if max_pending is None else as_integer("max_pending", max_pending, 1)
    check_name("executor", executor, ("threads", "processes"))
    check_name("on_error", on_error, ("return", "raise"))
    if not isinstance(pairs, Iterable):
        raise TypeError(f"pairs must be an iterable of pairs, got {type(pairs).__name__}")
    estimate = _prepare(problem, arguments)
    if executor == "processes" and not can_be_pickled(estimate):
        raise TypeError("executor='processes' needs a problem and arguments that can be pickled, such as no lambda")
    if executor == "processes" and workers > 1:
        answers = _in_processes(estimate, pairs, workers, max(1, pending // workers))
    else:
        answers = in_order(estimate, pairs, workers, pending)
    return _hand_out(answers, on_error)


def _in_processes(
    estimate: Callable[[int, Any], Any], pairs: Iterable[Any], workers: int, pending: int
) -> Generator[Any, None, None]:
    """Yield the estimates in the order of the pairs, at first from threads."""
    errors: list[Exception] = []
    numbered, finished, first = enumerate(until_broken(pairs, errors)), {}, 0
    for (index, _), answer in short_items.run(functools.partial(_estimate_item, estimate), numbered, workers, pending):
        finished[index] = Failure(index, OSError(answer.reason)) if isinstance(answer, ItemFailure) else answer
        while first in finished:
            yield finished.pop(first)
            first += 1
    if errors:
        raise errors[0]


def _estimate_item(estimate: Callable[[int, Any], Any], item: tuple[int, Any]) -> Any:
    """Estimate a pair with its number; an error that cannot be sent becomes its text."""
    answer = estimate(*item)
    if isinstance(answer, Failure) and not can_be_pickled(answer.error):
        return Failure(answer.index, RuntimeError(repr(answer.error)))
    return answer


def _hand_out(
    answers: Generator[Result | Failure, None, None], on_error: str
) -> Generator[Result | Failure, None, None]:
    """Yield the results; raise errors or remove their tracebacks."""
    with contextlib.closing(answers):
        for answer in answers:
            if isinstance(answer, Failure):
                if on_error == "raise":
                    answer.error.add_note(f"in pair {answer.index}")
                    raise answer.error
                error: BaseException | None = answer.error
                while error is not None:  # the frames of a stored error hold the data of the pair
                    error.__traceback__ = None
                    error = error.__cause__ or error.__context__
            yield answer


def _prepare(problem: Any, arguments: Mapping[str, Any]) -> Callable[[int, Any], Any]:
    """Check the problem and the arguments of all pairs; return the function that estimates one pair."""
    function: Callable[..., Result] = functools.partial(ransac, problem)
    names: tuple[str, ...] = ()
    if not isinstance(problem, Problem):
        row = find_estimator(problem, (row for row in ESTIMATORS if row.problem is not None))
        function, problem, names = row.load_function(), row.load_problem(), row.arguments
    parameters: Mapping[str, inspect.Parameter] = inspect.signature(function).parameters
    own = {*names, *(name for name, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY)}
    settings = {name: value for name, value in arguments.items() if name not in own or name in SHARED_ARGUMENTS}
    of_call = ManyArguments.__annotations__.keys() - PairArguments.__annotations__.keys()
    others = (*sorted(of_call), *sorted(own - {"threshold"}), *SHARED_ARGUMENTS)
    check_names([name for name in settings if name not in others], others)
    threshold = arguments.get("threshold")
    resolved, _ = resolve_options(problem, 1.0 if threshold is None else threshold, settings)  # a pair may have its own
    attributes = {"scores": "scores"} if resolved.uses_scores(problem) else {}
    attributes |= {name: name.removeprefix("image_") for name in names}
    return functools.partial(_estimate, function, tuple(parameters), arguments, attributes)


def _estimate(
    function: Callable[..., Result],
    order: tuple[str, ...],
    common: Mapping[str, Any],
    attributes: Mapping[str, str],
    index: int,
    pair: Any,
) -> Result | Failure:
    """Estimate the model of a pair; its arguments, and then its ``attributes``, take precedence over ``common``."""
    try:
        if callable(pair):
            pair = pair()
        positional, named = _arguments(pair, attributes)
        settings = {**common, **named}
        for name in order[: len(positional)]:
            settings.pop(name, None)
        return function(*positional, **settings)
    except Exception as error:
        return Failure(index, error)


def _arguments(pair: Any, attributes: Mapping[str, str]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(pair, Mapping):
        return (), dict(pair)
    if hasattr(pair, "x1") and hasattr(pair, "x2"):
        values = {name: getattr(pair, attribute, None) for name, attribute in attributes.items()}
        return (pair.x1, pair.x2), {name: value for name, value in values.items() if value is not None}
    if isinstance(pair, tuple | list):
        return tuple(pair), {}
    if isinstance(pair, np.ndarray):
        return (pair,), {}
    raise TypeError(
        "a pair must be a tuple (x1, x2), a mapping of arguments, an object with x1 and x2, an array, or a function "
        f"that returns one of these; got {type(pair).__name__}"
    )
