"""HTML report of a result with matches coloured by posterior and a replay of the run; and a table for notebooks.

The page is one self-contained file.
"""

from bansac.plotting.report.page import write_report
from bansac.plotting.report.payload import RunArrays
from bansac.plotting.report.summary import html_table, residual_histogram

__all__ = ["RunArrays", "html_table", "residual_histogram", "write_report"]
