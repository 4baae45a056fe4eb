"""Results of a policy's run: late jobs, money, VM hours, evictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar

from mrdsl.core.result import MONEY, Plan, Table, Trace
from mrdsl.core.units import HOUR
from mrdsl.simulation.fleet import Entry
from mrdsl.simulation.scheduling import Observed

if TYPE_CHECKING:
    from mrdsl.core.charts import Bar

BARS = 2000
DETAILS = (
    "job",
    "phase",
    "cohort",
    "kind",
    "vms",
    "slots",
    "tasks_each",
    "start",
    "end",
    "due",
    "tardy",
    "bid",
    "price",
    "periods",
    "lost_tasks",
)


@dataclass(frozen=True)
class Jobs:
    """Jobs that ended, those of them that ended late, and their share."""

    count: int
    tardy: int
    tardy_share: float


@dataclass(frozen=True)
class Cost:
    """Money paid for VMs."""

    on_demand: float
    spot: float
    total: float


@dataclass(frozen=True)
class VmHours:
    """Hours paid for: started billing periods, in full; ``broken`` are hours in periods broken off and not paid."""

    on_demand: float
    spot: float
    broken: float = 0.0


@dataclass(frozen=True)
class Tardiness:
    """Seconds after the due time, over the late jobs; quantiles to within one percent."""

    mean: float = 0.0
    p50: float = 0.0
    p95: float = 0.0
    max: float = 0.0


@dataclass(frozen=True)
class SchedulePlan(Plan):
    """Results of one run of a policy.

    Attributes:
        jobs: Number of jobs, and of late ones.
        cost: Cost on demand and on spot, in the currency of the spec.
        vm_hours: VM hours on demand, on spot and in periods that the provider ended [h].
        evictions: Spot VMs that the provider took back.
        tardiness: Distribution of the lateness of late jobs [s].
        utilization: Share of the slot time in which tasks ran, lost ones included.
        lost_tasks: Tasks that evictions ended.
        rented: Rented VMs.
        finished: End of the last job [s].
        log: Function that returns all decisions of the run.
    """

    planned: ClassVar[str] = "Jobs"

    on_trust: ClassVar[Mapping[str, str]] = {
        "jobs": "which jobs were late in the run",
        "tardiness": "which jobs were late in the run",
        "cost": "the spot price of each hour",
        **dict.fromkeys(("utilization", "lost_tasks", "rented", "finished"), "the machines of the run"),
    }

    jobs: Jobs
    cost: Cost
    vm_hours: VmHours
    evictions: int
    tardiness: Tardiness = field(default=Tardiness(), metadata={"document": False})
    utilization: float = field(default=0.0, metadata={"document": False})
    lost_tasks: int = field(default=0, metadata={"document": False})
    rented: int = field(default=0, metadata={"document": False})
    finished: float = field(default=0.0, metadata={"document": False})
    log: Callable[[], Sequence[Entry]] | None = field(
        default=None, compare=False, repr=False, metadata={"document": False}
    )

    def tables(self) -> tuple[Table, ...]:
        """Return jobs and lateness, then machines and money."""
        late = Table(
            "Jobs",
            ("jobs", "late", "late [%]", "late by, mean [s]", "median [s]", "95% [s]", "most [s]"),
            [
                (
                    self.jobs.count,
                    self.jobs.tardy,
                    100.0 * self.jobs.tardy_share,
                    self.tardiness.mean,
                    self.tardiness.p50,
                    self.tardiness.p95,
                    self.tardiness.max,
                )
            ],
        )
        machines = Table(
            "Machines",
            ("kind", "VM hours", f"cost {MONEY}"),
            [
                ("on demand", self.vm_hours.on_demand, self.cost.on_demand),
                ("spot", self.vm_hours.spot, self.cost.spot),
                *([("spot, broken off: not paid", self.vm_hours.broken, 0.0)] if self.vm_hours.broken else []),
                ("total paid", self.vm_hours.on_demand + self.vm_hours.spot, self.cost.total),
            ],
        )
        run = Table(
            "Run",
            ("VMs rented", "evictions", "tasks lost", "slots at work [%]", "last job ends [s]"),
            [(self.rented, self.evictions, self.lost_tasks, 100.0 * self.utilization, self.finished)],
        )
        return late, machines, run

    def trace(self) -> Trace:
        """Return every decision of the run (of several: of the first), which is run again for it."""
        entries = self.log() if self.log is not None else ()
        return Trace(
            ("time [s]", "what", *DETAILS),
            ((entry.time, entry.what, *(entry.facts.get(detail) for detail in DETAILS)) for entry in entries),
        )

    def bars(self) -> tuple[Bar, ...]:
        """Return the Gantt bars: a lane per group of VMs rented together and phase; empty if they are too many."""
        entries = self.log() if self.log is not None else ()
        if sum(entry.what == "place" for entry in entries) > BARS:
            return ()
        rented = {entry.facts["cohort"]: entry.facts for entry in entries if entry.what == "rent"}
        taken = {entry.facts["cohort"]: entry.time for entry in entries if entry.what == "evict"}
        return tuple(
            _bar(entry.facts, rented, taken)
            for entry in entries
            if entry.what == "place" and entry.facts["start"] < taken.get(entry.facts["cohort"], inf)
        )


def _bar(placed: Mapping[str, Any], rented: Mapping[int, Mapping[str, Any]], taken: Mapping[int, float]) -> Bar:
    from mrdsl.core.charts import Bar

    cohort = rented[placed["cohort"]]
    lane = f"{cohort['vms']} {cohort['kind'].replace('_', ' ')} VMs ({placed['cohort']}), {placed['phase']}"
    label = f"{placed['job']}: {placed['slots']} × {placed['tasks_each']} tasks"
    return Bar(lane, label, placed["start"], min(placed["end"], taken.get(placed["cohort"], inf)), placed["phase"])


def plan_of(seen: Observed, slots_per_vm: int, log: Callable[[], Sequence[Entry]] | None = None) -> SchedulePlan:
    """Return the plan of a finished simulation; ``slots_per_vm`` counts map and reduce slots; ``log`` runs it again."""
    bill, late = seen.bill, seen.lateness
    there = (bill.on_demand_seconds + bill.spot_seconds + bill.broken_seconds) * slots_per_vm
    return SchedulePlan(
        jobs=Jobs(seen.jobs, seen.tardy, seen.tardy / seen.jobs if seen.jobs else 0.0),
        cost=Cost(bill.on_demand, bill.spot, bill.on_demand + bill.spot),
        vm_hours=VmHours(bill.on_demand_seconds / HOUR, bill.spot_seconds / HOUR, bill.broken_seconds / HOUR),
        evictions=seen.evictions,
        tardiness=Tardiness(late.mean, late.quantile(0.5), late.quantile(0.95), late.largest),
        utilization=seen.busy_seconds / there if there else 0.0,
        lost_tasks=seen.lost_tasks,
        rented=seen.rented,
        finished=seen.end,
        log=log,
    )
