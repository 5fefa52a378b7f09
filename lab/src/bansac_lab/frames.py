"""pandas and Matplotlib, which only reports need: their types, and imports when they are used."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from bansac.batch.journal import Row
from bansac.maths.optional import import_optional

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame, Series
else:
    DataFrame = Figure = Series = Any

__all__ = ["DataFrame", "Figure", "Series", "import_figure", "import_pandas", "to_frame"]


def import_pandas() -> Any:
    """Import pandas."""
    return import_optional("pandas", "tables need pandas", "pandas")


def import_figure() -> type[Figure]:
    """Import Matplotlib's Figure."""
    figure: type[Figure] = import_optional("matplotlib.figure", "figures need Matplotlib", "matplotlib").Figure
    return figure


def to_frame(rows: Iterable[Row]) -> DataFrame:
    """Return rows as a data frame."""
    return import_pandas().DataFrame(list(rows))
