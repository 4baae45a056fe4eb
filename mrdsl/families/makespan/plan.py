"""The plan of a makespan problem: pools, orders, times, and their waves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from mrdsl.core.result import Outcome, Plan, Table, plain
from mrdsl.simulation.observed import Observed, Simulated, outcomes_of, table_of

if TYPE_CHECKING:
    from mrdsl.core.charts import Bar

BARS = 400
SHOWN = 20
"""Most jobs in the table of simulated runs."""


@dataclass(frozen=True)
class Pool:
    """Slots that are set aside, and the names of the jobs that run on them, in order."""

    map_slots: int
    reduce_slots: int
    order: tuple[str, ...]


@dataclass(frozen=True)
class JobTimes:
    """``pool`` is the index of the job's pool; ``start`` of the first map task, end of the map phase, ``finish``."""

    pool: int
    start: float
    map_end: float
    finish: float


@dataclass(frozen=True)
class TaskWave:
    """``count`` alike tasks of one job that start together, in seconds; ``phase`` is ``map`` or ``reduce``."""

    job: str
    phase: str
    pool: int
    start: float
    end: float
    count: int


@dataclass(frozen=True)
class MakespanPlan(Plan):
    """Pools, times of all jobs, and a proven lower bound.

    Attributes:
        pools: Slots of each pool and the order of its jobs.
        jobs: Start, end of the map phase and finish by job [s].
        lower_bound: Lower bound on the makespan of every schedule [s].
        waves: Waves of equal tasks.
        observed: Observed finish by job in a simulation.
        whole: Observed makespan.
        simulated: Settings of the simulation.
    """

    planned: ClassVar[str] = "Jobs"

    pools: tuple[Pool, ...]
    jobs: Mapping[str, JobTimes]
    lower_bound: float
    waves: tuple[TaskWave, ...] = field(default=(), repr=False, metadata={"document": False})
    observed: Mapping[str, Observed] = field(default_factory=dict, metadata={"document": False})
    whole: Observed | None = field(default=None, metadata={"document": False})
    simulated: Simulated | None = field(default=None, metadata={"document": False})

    @property
    def makespan(self) -> float:
        """End of the last job."""
        return max((times.finish for times in self.jobs.values()), default=0.0)

    def document(self) -> dict[str, Any]:
        """Return the object under ``plan`` in the JSON result."""
        document = super().document()
        if self.whole is not None:
            document["makespan"] = self.whole.beside()
            document["simulation"] = plain(self.simulated)
            for name, seen in self.observed.items():
                document["jobs"][name] |= seen.beside()
        return document

    def outcomes(self) -> Mapping[str, Outcome]:
        """Return the verdicts of the runs on the limits on makespan and job ends, by quantities as in specs."""
        seen = {} if self.whole is None else {"makespan": self.whole}
        seen |= {f"finish({name})": each for name, each in self.observed.items()}
        return outcomes_of(seen, (name for name, each in seen.items() if each.verdict is not None))

    def tables(self) -> tuple[Table, ...]:
        """Return pools with their orders, jobs with their times, and the observations of jobs."""
        pools = Table(
            "Pools",
            ("pool", "map slots", "reduce slots", "order"),
            [(i, pool.map_slots, pool.reduce_slots, ", ".join(pool.order)) for i, pool in enumerate(self.pools)],
            keys=1,
        )
        jobs = Table(
            "Jobs",
            ("job", "pool", "start [s]", "map end [s]", "finish [s]"),
            [(name, times.pool, times.start, times.map_end, times.finish) for name, times in self.jobs.items()],
        )
        if self.whole is None:
            return pools, jobs
        seen = [("the batch", self.whole), *self.observed.items()]
        return pools, jobs, table_of(seen, "what ends", 1 + SHOWN)

    def bars(self) -> tuple[Bar, ...]:
        """Return a bar per wave, lanes by pool and phase; a bar per phase if that would be more than ``BARS``."""
        from mrdsl.core.charts import Bar

        waves = self.waves if 0 < len(self.waves) <= BARS else self._phases()
        many = len(self.pools) > 1
        return tuple(
            Bar(f"pool {w.pool} {w.phase}" if many else w.phase, f"{w.job} x{w.count}", w.start, w.end, w.job)
            for w in waves
        )

    def _phases(self) -> tuple[TaskWave, ...]:
        spans: dict[tuple[str, str], TaskWave] = {}
        for wave in self.waves:
            key = (wave.job, wave.phase)
            seen = spans.get(key, wave)
            count = wave.count + (seen.count if key in spans else 0)
            spans[key] = TaskWave(
                wave.job, wave.phase, wave.pool, min(seen.start, wave.start), max(seen.end, wave.end), count
            )
        return tuple(spans.values())


def plans() -> tuple[type[Plan], ...]:
    """Return the classes of the family's plans."""
    return (MakespanPlan,)
