"""How a plan is to be run: what a command says, beside what the spec does."""

from __future__ import annotations

from dataclasses import dataclass, field

from mrdsl.spec.simulated import WhatIf


@dataclass(frozen=True)
class Settings:
    """``runs`` independent runs of ``jobs`` completed jobs per user (None: the spec's), from a seed, in ``processes``.

    Nothing that is seen depends on the number of processes.
    """

    runs: int = 10
    seed: int = 0
    jobs: int | None = None
    processes: int = 1
    what_if: WhatIf = field(default_factory=WhatIf)
