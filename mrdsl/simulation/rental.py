"""Values of a simulation of deadlines: jobs, the rented machine and its billing, and the decision log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mrdsl.core.rounding import ROUNDING, begun

if TYPE_CHECKING:
    from mrdsl.formulas.waves import WaveProfile


@dataclass(frozen=True)
class Job:
    """One job: ``due`` and ``submit`` are points in time, the other times durations of one task, all in seconds.

    A reduce task shuffles for ``shuffle_time`` after the last map task has ended, then reduces for ``reduce_time``.
    """

    name: str
    submit: float
    due: float
    map_tasks: int
    map_time: float
    reduce_tasks: int = 0
    shuffle_time: float = 0.0
    reduce_time: float = 0.0

    @cached_property
    def profile(self) -> WaveProfile:
        """The same as the wave model takes it."""
        from mrdsl.formulas.waves import WaveProfile

        return WaveProfile.of_equal_tasks(
            self.map_tasks, self.map_time, self.reduce_tasks, self.shuffle_time, self.reduce_time
        )

    @cached_property
    def tasks(self) -> tuple[int, int]:
        """Map and reduce tasks."""
        return self.map_tasks, self.reduce_tasks

    @cached_property
    def durations(self) -> tuple[float, float]:
        """Seconds that one map task and one reduce task hold their slot."""
        return self.map_time, self.shuffle_time + self.reduce_time

    @property
    def work(self) -> float:
        """Slot seconds of all tasks."""
        return self.map_tasks * self.map_time + self.reduce_tasks * self.durations[1]

    @property
    def punctual_until(self) -> float:
        """The last finish that still counts as in time: the due moment, and what rounding may add to it."""
        return self.due + ROUNDING * (self.due - self.submit) + ROUNDING


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


@dataclass(frozen=True, slots=True)
class MachineType:
    """The one VM type: slots, on-demand price per second, billing period and start-up time in seconds.

    ``broken_free``: the period in which the market takes a spot VM is not paid, as on EC2 until 2017.
    """

    map_slots: int
    reduce_slots: int
    price: float
    billing: float
    boot: float = 0.0
    broken_free: bool = True

    @property
    def slots(self) -> tuple[int, int]:
        return self.map_slots, self.reduce_slots


def started_periods(start: float, end: float, period: float) -> int:
    """Return the number of billing periods that have started by ``end``; one that would start exactly there has not."""
    return max(int(begun((end - start) / period)), 0)
