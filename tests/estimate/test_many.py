"""Many pairs: order, seeds, failures, what is read when, and the end of it."""

import functools
import gc
import inspect
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import config

import bansac
from bansac.estimate import many
from bansac.estimate.many import ManyArguments, PairArguments
from bansac.estimate.presets import Arguments
from bansac.executors import short_items
from bansac.geometry import normalise_points
from bansac.matches import Matches
from bansac.problems.estimators import ESTIMATORS
from bansac.problems.line import LINE
from bansac.synthetic import epipolar_matches, homography_matches, line_points
from tests.executors.cluster import be_wrong
from tests.processes import ENVIRONMENT, interruptible, run_python
from tests.results import assert_same
from tests.test_metamorphic import TABLE, make_case


def plane(seed: int = 0, n: int = 80) -> Matches:
    return homography_matches(n, inlier_ratio=0.6, noise=0.1, seed=seed)


@pytest.fixture(scope="module")
def planes() -> list[Matches]:
    return [plane(seed, 60 + 10 * seed) for seed in range(7)]


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_results_are_those_of_single_calls_whatever_the_workers(planes: list[Matches], workers: int) -> None:
    results = bansac.estimate_many("homography", planes, workers=workers, seed=5)
    assert len(results) == len(planes)
    assert bansac.estimate_many("homography", [], workers=workers) == []
    for pair, result in zip(planes, results, strict=True):
        assert_same(result, bansac.estimate_homography(pair.x1, pair.x2, seed=5))


def test_all_arguments_of_an_estimator_may_be_common_to_all_pairs(planes: list[Matches]) -> None:
    pair = planes[0]
    sizes = {"image_size1": (480, 640), "image_size2": (480, 640)}
    scores = np.linspace(0, 1, len(pair.x1))
    for problem, estimate, given in (
        ("fundamental", bansac.estimate_fundamental, sizes),
        ("relative_pose", bansac.estimate_relative_pose, {"gravity1": [0, 1, 0], "gravity2": [0, 1, 0.1]}),
        ("homography", bansac.estimate_homography, {"scores": scores, "sampler": "prosac"}),
    ):
        (found,) = bansac.estimate_many(problem, [(pair.x1, pair.x2)], workers=1, max_iterations=500, **given)
        assert isinstance(found, bansac.Result)
        alone = estimate(pair.x1, pair.x2, max_iterations=500, **given)
        np.testing.assert_array_equal(found.residuals, alone.residuals)
        assert found.iterations == alone.iterations


def test_seeds_come_from_options_too(planes: list[Matches]) -> None:
    options = bansac.Options(seed=3)
    results = bansac.estimate_many(bansac.estimate_homography, [planes[0]] * 4, options=options, workers=2)
    assert [result.seed for result in results] == [3] * 4


def test_forms_of_a_pair_give_the_same(planes: list[Matches]) -> None:
    pair = planes[1]
    forms = [
        (pair.x1, pair.x2),
        [pair.x1, pair.x2],
        {"x1": pair.x1, "x2": pair.x2},
        pair,
        lambda: pair,
        lambda: (pair.x1, pair.x2),
    ]
    alone = bansac.estimate_homography(pair.x1, pair.x2)
    for form in forms:
        (result,) = bansac.estimate_many("homography", [form])
        assert_same(result, alone)


def test_type_checkers_know_the_arguments_of_all_estimators() -> None:
    known = set(PairArguments.__annotations__) - set(Arguments.__annotations__)
    rows = [row for row in ESTIMATORS if row.problem is not None]
    named = {name for row in rows for name in inspect.signature(row.load_function()).parameters if name not in row.data}
    assert named - {"settings"} == known
    assert set(bansac.iter_estimates.__kwdefaults__) == set(ManyArguments.__annotations__) - set(
        PairArguments.__annotations__
    )


def test_arguments_of_a_pair_take_precedence(planes: list[Matches]) -> None:
    own = {"x1": planes[0].x1, "x2": planes[0].x2, "threshold": 3.0, "seed": 11}
    first, second = bansac.estimate_many("homography", [own, planes[0]], threshold=2.0)
    assert (first.threshold, first.seed, second.threshold) == (3.0, 11, 2.0)


def test_scores_of_an_object_are_used_where_they_are_of_use(planes: list[Matches]) -> None:
    scores = np.linspace(0.9, 0.1, len(planes[0].x1))
    pair = Matches(planes[0].x1, planes[0].x2, scores=scores)
    (informed,) = bansac.estimate_many("homography", [pair])
    assert_same(informed, bansac.estimate_homography(pair.x1, pair.x2, scores=scores))
    unweighted = {"sampler": "uniform", "weighting": None}
    (uniform,) = bansac.estimate_many("homography", [pair], **unweighted)
    np.testing.assert_array_equal(uniform.model, bansac.estimate_homography(pair.x1, pair.x2, **unweighted).model)
    ordered = {"sampler": "uniform", "stopping": "prosac"}
    (stopped,) = bansac.estimate_many("homography", [pair], **ordered)
    alone = bansac.estimate_homography(pair.x1, pair.x2, scores=scores, **ordered)
    assert stopped.iterations == alone.iterations


@pytest.mark.parametrize("problem", ["essential", "relative_pose", bansac.estimate_essential])
def test_cameras_come_with_the_pair_or_with_all(problem: Any) -> None:
    scene = epipolar_matches(150, inlier_ratio=0.7, noise=0.1, seed=1)
    named = Matches(scene.x1, scene.x2, K1=scene.K, K2=scene.K)
    pairs = [named, (scene.x1, scene.x2, scene.K), {"x1": scene.x1, "x2": scene.x2, "K1": scene.K}]
    results = bansac.estimate_many(problem, pairs, threshold=1.0)
    other = np.diag([2.0, 2.0, 1.0]) @ scene.K
    (own,) = bansac.estimate_many(problem, [(scene.x1, scene.x2, scene.K)], K1=other, threshold=1.0)
    np.testing.assert_array_equal(own.residuals, bansac.estimate_many(problem, pairs, threshold=1.0)[0].residuals)
    bare = [(scene.x1, scene.x2)] * 3
    for own, common in zip(results, bansac.estimate_many(problem, bare, K1=scene.K, threshold=1.0), strict=True):
        assert own.success
        np.testing.assert_array_equal(own.residuals, common.residuals)


def test_any_problem_and_its_data() -> None:
    points = line_points(60, seed=1).points
    results = bansac.estimate_many(LINE, [points, lambda: points], threshold=0.05, workers=2)
    named = bansac.estimate_many("line", [points, points], threshold=0.05)
    of_function = bansac.estimate_many(bansac.fit_line, [(points,), {"points": points}], threshold=0.05)
    for result, second, third in zip(results, named, of_function, strict=True):
        assert result.success
        assert_same(result, second)
        assert_same(result, third)


def test_a_bad_pair_fails_alone_with_its_reason(planes: list[Matches]) -> None:
    def unreadable() -> Any:
        raise OSError("disk 3 is gone")

    x = planes[0].x1
    bad = [
        (x, x[:5]),
        (x,),
        {"x1": x, "x2": x, "x3": x},
        unreadable,
        7,
        (x, np.full_like(x, np.nan)),
        lambda: lambda: None,
    ]
    reasons = ["equal lengths", "x2", "x3", "disk 3 is gone", "got int", "x2 must be finite", "got function"]
    pairs = [form for pair in bad for form in (planes[0], pair)]
    results = bansac.estimate_many("homography", pairs, workers=3)
    assert [result.success for result in results] == [True, False] * len(bad)
    for index, reason in enumerate(reasons):
        failure = results[2 * index + 1]
        assert isinstance(failure, bansac.Failure)
        assert failure.index == 2 * index + 1
        assert reason in failure.message
        model, inliers = failure
        assert (model, failure.model, len(inliers)) == (None, None, 0)


def test_a_failure_keeps_no_data_alive() -> None:
    class Data:
        alive = 0

        def __init__(self) -> None:
            Data.alive += 1
            self.x1 = self.x2 = np.zeros((3, 3))

        def __del__(self) -> None:
            Data.alive -= 1

    for workers in (1, 2):
        failures = bansac.estimate_many("homography", (Data() for _ in range(20)), workers=workers)
        gc.collect()
        assert not any(failure.success for failure in failures)
        wait_until(lambda: Data.alive == 0)


def wait_until(condition: Any) -> None:
    """Wait for other threads; what never comes is an error."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("workers", [1, 3])
def test_errors_come_after_the_results_before_them(planes: list[Matches], workers: int) -> None:
    def broken() -> Any:
        yield from planes[:3]
        raise RuntimeError("no more")

    pairs = [*planes[:3], (planes[0].x1, planes[0].x2[:5]), planes[0]]
    bad_pair = bansac.iter_estimates("homography", pairs, workers=workers, on_error="raise")
    bad_iterable = bansac.iter_estimates("homography", broken(), workers=workers)
    for stream, message, notes in ((bad_pair, "equal lengths", ["in pair 3"]), (bad_iterable, "no more", [])):
        assert all(next(stream).success for _ in range(3))
        with pytest.raises((ValueError, RuntimeError), match=message) as caught:
            next(stream)
        assert getattr(caught.value, "__notes__", []) == notes


@pytest.mark.parametrize(("workers", "most"), [(1, None), (2, None), (2, 3), (4, 1)])
def test_no_more_pairs_are_read_than_may_be_pending(planes: list[Matches], workers: int, most: int | None) -> None:
    taken = 0

    def endless() -> Any:
        nonlocal taken
        while True:
            taken += 1
            yield planes[0]

    stream = bansac.iter_estimates("homography", endless(), workers=workers, max_pending=most)
    allowed = 1 if workers == 1 else 16 * workers if most is None else most
    for done in range(60):
        assert next(stream).success
        assert taken <= done + allowed
    stream.close()


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_pairs() -> None:
    x = np.random.default_rng(0).uniform(0, 500, (2000, 2))
    pairs = ((x + index, x + 2.0 * index) for index in range(210))
    results = bansac.iter_estimates("homography", pairs, workers=2, max_iterations=1, max_pending=4)
    for _ in range(10):  # what Numba loads or compiles is not counted
        assert next(results).num_inliers == 2000
    tracemalloc.start()
    for result in results:
        assert result.num_inliers == 2000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * 2 * x.nbytes / 4  # a fourth of the points alone


def test_functions_read_in_the_workers_and_the_iterable_in_the_caller(planes: list[Matches]) -> None:
    readers, iterating = set(), set()

    def read() -> Matches:
        readers.add(threading.current_thread())
        return planes[0]

    def pairs() -> Any:
        for _ in range(20):
            iterating.add(threading.current_thread())
            yield read

    bansac.estimate_many("homography", pairs(), workers=2)
    assert iterating == {threading.current_thread()}
    assert 1 <= len(readers) <= 2
    assert threading.current_thread() not in readers
    bansac.estimate_many("homography", pairs(), workers=1)
    assert threading.current_thread() in readers


def working() -> int:
    """Return the number of threads that are at work."""
    return sum(thread.name.startswith("bansac-") for thread in threading.enumerate())


def test_threads_end_when_the_caller_leaves(planes: list[Matches]) -> None:
    wait_until(lambda: working() == 0)  # those of other tests
    stream = bansac.iter_estimates("homography", itertools.repeat(planes[0]), workers=3)
    for _ in range(5):
        next(stream)
    assert working() == 3
    stream.close()
    wait_until(lambda: working() == 0)


@pytest.mark.parametrize(
    ("problem", "settings", "error", "message"),
    [
        ("torus", {}, ValueError, "problem must be one of 'homography'"),
        (print, {}, ValueError, "problem must be one of 'homography'"),
        ("homography", {"workers": 0}, ValueError, "workers must be an integer >= 1, got 0"),
        ("homography", {"workers": 2.0}, ValueError, "workers"),
        ("homography", {"executor": "dask"}, ValueError, "executor must be one of 'threads', 'processes'; got 'dask'"),
        ("homography", {"executor": "processes", "weights": (k for k in ())}, TypeError, "can be pickled"),
        ("homography", {"max_pending": 0}, ValueError, "max_pending"),
        ("homography", {"on_error": "ignore"}, ValueError, "on_error must be one of 'return', 'raise'; got 'ignore'"),
        ("homography", {"threshold": -1.0}, ValueError, "threshold"),
        ("homography", {"treshold": 1.0}, TypeError, "treshold"),
        ("homography", {"K1": np.eye(3)}, TypeError, "K1"),
        (
            "fundamental",
            {"worker": 2},
            TypeError,
            "did you mean 'workers'. .*; other arguments .* workers, image_size1",
        ),
        ("homography", {"degeneracy": "degensac"}, ValueError, "not for problem 'homography'"),
        ("essential", {"sampler": "magic"}, ValueError, "sampler"),
        ("fundamental", {"preset": "quick"}, ValueError, "preset"),
        ("fundamental", {"preset": []}, ValueError, "preset"),
    ],
)
def test_bad_arguments_are_named_at_once(problem: Any, settings: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        bansac.iter_estimates(problem, iter(()), **settings)
    with pytest.raises(TypeError, match="pairs must be an iterable of pairs, got Matches"):
        bansac.estimate_many("homography", plane())


def test_a_library_that_exits_in_a_worker_is_no_failure(planes: list[Matches]) -> None:
    def leave() -> Any:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        bansac.estimate_many("homography", [planes[0], leave, planes[0]], workers=2)


INTERRUPTED = """
import sys, time
import numpy as np
import bansac

x = np.random.default_rng(0).uniform(0, 500, (200, 2))
y = np.random.default_rng(1).uniform(0, 500, (200, 2))
next(bansac.iter_estimates("homography", [(x, y)], workers=2))

def pairs():
    print("ready", flush=True)
    while True:
        yield {"busy": (x, y), "hanging": lambda: time.sleep(1000)}.get(sys.argv[1]) or time.sleep(1000)

try:
    for result in bansac.iter_estimates("homography", pairs(), workers=2, stopping=None, max_iterations=10**9):
        pass
except KeyboardInterrupt:
    print("interrupted", flush=True)
again = bansac.estimate_many("homography", [(x, y)] * 3, workers=2)  # no lock is held by a thread that is left
print(len(again), flush=True)
"""


class Deadly:
    """A pair that ends the process that reads it, unless this is its own."""

    def __init__(self) -> None:
        self.process = os.getpid()

    def __call__(self) -> Matches:
        if os.getpid() != self.process:
            os._exit(3)
        return plane()


@pytest.mark.slow
def test_processes_give_the_results_of_threads_in_order(planes: list[Matches], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_items, "_SECONDS", 0.0)  # the first pairs are still estimated in threads
    pairs: list[Any] = planes * 20
    pairs[100:103] = Deadly(), functools.partial(be_wrong, 0), (np.ones((9, 2)), np.ones((8, 2)))
    expected = bansac.estimate_many("homography", pairs, workers=2, seed=5)
    stream = bansac.iter_estimates("homography", broken_at_end(pairs), workers=2, executor="processes", seed=5)
    found = [next(stream) for _ in pairs]
    assert isinstance(found[100], many.Failure)
    assert found[100].message == "its worker died 3 times, the last time left with exit code 3"
    assert found[101].message == "UnloadableError('one')"
    assert found[102].message == expected[102].message
    for k in {*range(len(pairs))} - {100, 101, 102}:
        assert_same(found[k], expected[k])
    with pytest.raises(LookupError, match="no more"):
        next(stream)


def broken_at_end(pairs: list[Any]) -> Iterator[Any]:
    yield from pairs
    raise LookupError("no more")


@pytest.mark.slow
@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted: a slice of the loop may last for seconds")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends Ctrl-C to all processes of a console")
@pytest.mark.parametrize("what", ["busy", "hanging", "blocked"])
def test_ctrl_c_ends_it_at_once(what: str) -> None:
    """A pair that would last for hours, a function that hangs and an iterable that blocks do not keep the process."""
    with interruptible([sys.executable, "-c", INTERRUPTED, what], env=ENVIRONMENT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60)[0] == "interrupted\n3\n"
        assert process.returncode == 0


COUNTING = """
import sys
import numpy as np
import bansac

x = np.random.default_rng(0).uniform(0, 500, (2, 200, 2))
pairs = iter(lambda: (x[0], x[1]), None)
for result in bansac.iter_estimates("homography", pairs, workers=2, max_iterations=2000):
    print(result.iterations, flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted: there is no cache of kernels")
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_no_lock_and_no_result_is_lost(tmp_path: Path, number: signal.Signals) -> None:
    """The caller has all results so far, the folders no other files than after a run that ends, and a new run works."""
    folders = {name: tmp_path / name for name in ("TMPDIR", "NUMBA_CACHE_DIR", "HOME")}
    for folder in folders.values():
        folder.mkdir()
    environment = ENVIRONMENT | {name: str(folder) for name, folder in folders.items()}
    for least in (1, 5):  # during the first results, and with a cache that the first process has left
        command, pipes = [sys.executable, "-c", COUNTING], {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with interruptible(command, **pipes, env=environment, cwd=folders["HOME"]) as process:
            assert process.stdout is not None
            results = [process.stdout.readline() for _ in range(least)]
            process.send_signal(number)
            results += process.stdout.read().splitlines()  # communicate() would lose what readline() has buffered
            process.wait(timeout=60)
        assert process.returncode == -number
        assert all(int(line) > 0 for line in results)
    assert [path for name in ("TMPDIR", "HOME") for path in folders[name].rglob("*")] == []
    files = {path.suffix for path in folders["NUMBA_CACHE_DIR"].rglob("*") if path.is_file()}
    assert files == {".nbi", ".nbc"}


FIRST_CALLS = """
import gc, threading, warnings
warnings.simplefilter("error")
import numpy as np
import bansac
from numba.core import event

x = np.random.default_rng(0).uniform(0, 500, (50, 2))
compiled, answers, ready = [], [], threading.Barrier(4)

class Listener(event.Listener):
    def on_start(self, event):
        dispatcher = event.data["dispatcher"]
        compiled.append((dispatcher.py_func, str(event.data["args"]), str(dispatcher.targetoptions)))

    def on_end(self, event):
        pass

def call():
    ready.wait()
    answers.append(bansac.fit_circle(x, threshold=20.0).residuals)

with event.install_listener("numba:compile", Listener()):
    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print(all(np.array_equal(answer, answers[0]) for answer in answers), len(answers))
print(len(compiled) > 20, len(compiled) == len(set(compiled)), gc.isenabled())
"""


@pytest.mark.slow
@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="interpreted: nothing is compiled")
def test_first_calls_from_several_threads_compile_everything_once(tmp_path: Path) -> None:
    done = run_python("-c", FIRST_CALLS, NUMBA_CACHE_DIR=str(tmp_path / "cache"))
    assert done.stdout.split() == ["True", "4", "True", "True", "True"], done.stderr


@pytest.mark.parametrize("name", [name for name, row in TABLE.items() if row.problem is not None])
def test_every_problem_is_estimated_by_its_name(name: str) -> None:
    case = make_case(name)
    own: dict[str, Any] = dict(zip(TABLE[name].data, case.arrays, strict=True))
    common: Any = {"workers": 1, "max_iterations": 300}
    (positional,) = bansac.estimate_many(name, [case.arrays], threshold=case.threshold, **common, **case.arguments)
    (named,) = bansac.estimate_many(name, [own | case.arguments | {"threshold": case.threshold}], **common)
    alone = case.run(max_iterations=300)
    for result in (positional, named):
        assert isinstance(result, bansac.Result)
        np.testing.assert_array_equal(result.residuals, alone.residuals)
    if name == "absolute_pose":
        rays = normalise_points(case.arguments["K"], case.arrays[1])
        pair = {"points3D": case.arrays[0], "points2D": rays, "K": None, "threshold": case.threshold / 500}
        (normalised,) = bansac.estimate_many(name, [pair], workers=1, **case.arguments)
        assert normalised.success
