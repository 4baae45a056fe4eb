"""Jobs as a simulation of deadlines takes them: equal tasks, counted, with their times and the moment they are due."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from mrdsl.core.tolerances import ROUNDING

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
