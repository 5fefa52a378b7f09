"""Reports that are older than the results of the code."""

from __future__ import annotations

import pytest

from bansac.lab import pages


def test_a_report_with_other_results_of_the_same_processor_is_older() -> None:
    today = pages.behaviour()
    assert set(today) == {"processor", *pages.PRESETS}
    assert today["default"] != today["paper"]
    for preset in pages.PRESETS:
        assert not pages.is_older({"behaviour": today}, preset)
        assert pages.is_older({"behaviour": today | {preset: "0"}}, preset)
        assert not pages.is_older({"behaviour": today | {preset: "0", "processor": "another"}}, preset)
        assert not pages.is_older({}, preset)


def test_the_digest_follows_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    before = pages._digest(None)
    assert before == pages._digest(None)
    monkeypatch.setattr(pages, "_RATIOS", (0.31, 0.5, 0.7))
    assert pages._digest(None) != before


def test_no_stored_report_is_older_than_the_code() -> None:
    assert pages.older_reports() == []
