"""HTML report of a result with matches coloured by posterior and a replay of the run; and a table for notebooks.

The page is one self-contained file. This package may import ``images``, ``plotting``, ``storage`` and ``validate``.
"""

from __future__ import annotations

from bansac.plotting.report.page import write_report
from bansac.plotting.report.summary import html_table, residual_histogram, summary_words

__all__ = ["html_table", "residual_histogram", "summary_words", "write_report"]
