"""What a reader of foreign workflow files hands on: tasks with run times and the order between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Workflow:
    """Task names, durations in seconds, and per task the numbers of those that must finish before it."""

    names: Sequence[str]
    durations: Sequence[float]
    parents: Sequence[Sequence[int]]
