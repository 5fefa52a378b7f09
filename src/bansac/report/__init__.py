"""One HTML page about a result: matches coloured by their posterior, and the run replayed; a table for notebooks.

The page has everything in itself and loads nothing. May import ``images``, ``plotting``, ``storage`` and ``validate``.
"""

from __future__ import annotations

from bansac.report.page import write_report
from bansac.report.summary import summary_table

__all__ = ["summary_table", "write_report"]
