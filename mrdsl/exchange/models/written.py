"""What the writer of a model tells about what it wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class Written:
    """The names in a model file with the Pyomo components behind them; a row may have two names.

    ``sense`` is the sense in which the file states the goal where that is not the model's own; ``beside`` holds the
    texts of further files by their endings.
    """

    columns: Sequence[tuple[str, Any]]
    rows: Sequence[tuple[str, Any]]
    sense: str | None = None
    beside: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
