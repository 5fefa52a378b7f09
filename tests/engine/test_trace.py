"""The frames of a trace: some dozens all over the run, wherever the slices of the loop end."""

import numpy as np
import pytest

from bansac.engine.trace import SNAPSHOTS, TRACE_COLUMNS, Recorder, Trace

ORDER = np.array([2, 0, 1])


def record(restarts, slice_length):
    """Record restarts of these lengths; after iteration k the beliefs are (k % 100) / 100 + 0, 0.001, 0.002."""
    recorder, done = Recorder(ORDER), 0
    for length in restarts:
        recorder.begin_restart()
        end = done + length
        while done < end:
            granted = recorder.begin(done, min(slice_length, end - done), beliefs_at(0))
            assert 1 <= granted <= slice_length
            recorder.rows[...] = np.arange(done, done + granted)[:, None]
            done += granted
            recorder.end(done, beliefs_at(done), np.array([True, False, done % 2 == 0]))
    return recorder.trace([])


def beliefs_at(k):
    return (k % 100) / 100 + np.array([0, 0.001, 0.002])


@pytest.mark.parametrize("restarts", [[1], [30], [7, 5, 1, 9], [300] * 16, [5000], [3] * 200])
def test_frames_do_not_depend_on_the_slices_and_are_bounded(restarts):
    traces = [record(restarts, slice_length) for slice_length in (10**6, 13, 1)]
    first, total, ends = traces[0], sum(restarts), np.cumsum(restarts)
    for trace in traces:
        for name in ("frames", "frame_beliefs", "frame_inliers", "restart", "best_score"):
            np.testing.assert_array_equal(getattr(trace, name), getattr(first, name))
        assert trace.snapshots.keys() == first.snapshots.keys()
    assert len(first) == total
    assert repr(first) == f"Trace({total} iterations, 0 restarts, {len(first.frames)} frames)"
    assert first.restart.tolist() == [k + 1 for k, length in enumerate(restarts) for _ in range(length)]
    frames = set(first.frames.tolist())
    assert sorted(frames) == first.frames.tolist()
    assert {0, total} | set(ends[:64].tolist()) | {at for at in SNAPSHOTS if at <= total} <= frames
    assert len(frames) <= 65 + len(SNAPSHOTS) + min(len(restarts), 65)
    assert np.diff(first.frames).max() <= max(1, total / 32)


def test_a_frame_has_the_beliefs_and_inliers_in_the_caller_s_order():
    trace = record([30, 40], 9)
    assert trace.frame_beliefs.dtype == np.uint8
    for k, at in enumerate(trace.frames.tolist()):
        expected = np.empty(3)
        expected[ORDER] = beliefs_at(at)
        np.testing.assert_allclose(trace.frame_beliefs[k] / 255, expected, atol=0.5 / 255 + 1e-12)
        assert trace.frame_inliers[k].tolist() == ([False, at % 2 == 0, True] if at else [False] * 3)
    names = {"snapshots", "restart", "frames", "frame_beliefs", "frame_inliers", "ends", "criteria"}
    assert set(vars(trace)) == {*TRACE_COLUMNS, *names}


def test_the_snapshots_are_those_of_the_documentation():
    assert f"after {', '.join(map(str, SNAPSHOTS))} iterations" in " ".join(Trace.__doc__.split())
    assert list(record([20], 6).snapshots) == [0, 2, 4, 9, 10, 11, 14, 20]
