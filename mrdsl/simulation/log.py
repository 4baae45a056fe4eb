"""The log of a run's decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Entry:
    """One line of a run's log: what happened (``arrive``, ``rent``, ``place``, ``pay``, ...), when, and to what."""

    what: str
    time: float
    facts: Mapping[str, Any]


@dataclass
class Log:
    """Collects a run's entries: pass it as the simulation's observer."""

    entries: list[Entry] = field(default_factory=list)

    def __call__(self, what: str, time: float, facts: Mapping[str, Any]) -> None:
        self.entries.append(Entry(what, time, dict(facts)))
