"""What went into attempts that came to nothing: failed ones, killed ones, and copies that were run for speculation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Overhead:
    """Attempts that failed and that were killed, and the slot-seconds that both held; ``work`` is held by the others.

    A copy of a task that another one overtook counts as killed. An attempt whose times are unknown is counted, its
    time is not.
    """

    failed: int = 0
    killed: int = 0
    failed_time: float = 0.0
    killed_time: float = 0.0
    work: float = 0.0

    @property
    def attempts(self) -> int:
        """How many attempts were lost."""
        return self.failed + self.killed

    @property
    def time(self) -> float:
        """The slot-seconds that were lost."""
        return self.failed_time + self.killed_time

    @property
    def share(self) -> float:
        """The part of all slot-seconds that was lost; 0 where there were none."""
        every = self.time + self.work
        return self.time / every if every else 0.0


def summed(parts: Iterable[Overhead]) -> Overhead:
    """That of all parts."""
    every = tuple(parts)
    return Overhead(
        sum(each.failed for each in every),
        sum(each.killed for each in every),
        sum(each.failed_time for each in every),
        sum(each.killed_time for each in every),
        sum(each.work for each in every),
    )
