"""What plans hold of what runs saw of a promise: worked out in ``statistics`` and ``verdicts`` of this package."""

from __future__ import annotations

from dataclasses import dataclass

from mrdsl.core.result import Outcome


@dataclass(frozen=True)
class Kept:
    """The share of jobs within a limit, and its 95 % confidence interval."""

    share: float
    low: float
    high: float


@dataclass(frozen=True)
class Verdict:
    """``seen`` beside what was promised, ``wanted``, and what lies below and above it with ``confidence`` each.

    ``what`` says of what: ``share`` of jobs in time, of which ``wanted`` is the least, or ``mean`` time in seconds, of
    which it is the most: ``high`` is None where nothing is known above, and all are where some job never ended.
    ``jobs`` were seen in ``runs``. ``enough`` is how many such runs would tell if they show what these did; None where
    these do, and where none would.
    """

    outcome: Outcome
    what: str
    wanted: float
    seen: float | None
    low: float | None
    high: float | None
    confidence: float
    runs: int
    jobs: int
    enough: int | None = None
