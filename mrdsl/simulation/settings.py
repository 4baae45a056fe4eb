"""Settings of simulated runs, as commands and callers give them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any


@dataclass(frozen=True)
class WhatIf:
    """Options of a command that override the simulation settings of the spec; None for those that are not given."""

    slowstart: float | None = None
    stragglers: tuple[float, float] | None = None
    lose: int | None = None
    burst: int | None = None

    def but(self, other: WhatIf) -> WhatIf:
        """Return these options, overridden by those of ``other``."""
        return replace(self, **{f.name: said for f in fields(other) if (said := getattr(other, f.name)) is not None})

    def said(self) -> dict[str, Any]:
        """Return the given options for a result."""
        shown = {"share": self.stragglers[0], "factor": self.stragglers[1]} if self.stragglers else None
        found = {"slowstart": self.slowstart, "stragglers": shown, "lose": self.lose, "burst": self.burst}
        return {key: value for key, value in found.items() if value is not None}


TOLD_OF_RUNS = frozenset({"promise-broken", "promise-undecided", "not-simulated", "nothing-spreads", "what-if"})
"""Codes of diagnostics about runs of a plan: they hold for those runs, and other runs report their own."""
RUNS = 10
"""Default number of independent runs."""


@dataclass(frozen=True)
class Settings:
    """``runs`` independent runs of ``jobs`` completed jobs per user (None: the spec's), from a seed, in ``processes``.

    Observations do not depend on the number of processes.
    """

    runs: int = RUNS
    seed: int = 0
    jobs: int | None = None
    processes: int = 1
    what_if: WhatIf = field(default_factory=WhatIf)
