"""What is shown in rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mrdsl.core.diagnostics import MrdslError, error

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Table:
    """One table of a plan for a reader: ``rows`` of cells (str, int, float or None), units in the column heads."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]

    def to_dataframe(self) -> pandas.DataFrame:
        """The table as a pandas frame. Raises MrdslError ``missing-extra`` where pandas is not installed."""
        return frame_of(self.columns, self.rows)


def frame_of(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> pandas.DataFrame:
    """Rows below heads as a pandas frame. Raises MrdslError ``missing-extra`` where pandas is not installed."""
    try:
        import pandas
    except ImportError:
        hint = "pip install pandas, or mrdsl with its extra `tables`"
        raise MrdslError(
            [error("missing-extra", "frames need pandas, which is not installed", None, hint)], 3
        ) from None
    return pandas.DataFrame([list(row) for row in rows], columns=list(columns))
