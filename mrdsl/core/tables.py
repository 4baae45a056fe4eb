"""What is shown in rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Table:
    """One table of a plan for a reader: ``rows`` of cells (str, int, float or None), units in the column heads."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
