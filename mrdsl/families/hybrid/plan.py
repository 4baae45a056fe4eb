"""Results of a run of a hybrid cloud."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from mrdsl.core.result import MONEY, Plan, Table


@dataclass(frozen=True)
class Cost:
    """Money per slot of time: ``average`` is outsourcing and weighted preemptions together, (6)."""

    average: float
    outsourcing: float
    preemption: float


@dataclass(frozen=True)
class QueueRun:
    """One queue's run: tasks by their fate, delays in slots, backlog in work units.

    admitted + outsourced + rejected = submitted; ``outsourced_after`` are admitted ones that left later.
    ``worst_delay`` is the longest time from a task's arrival until it ended or left, or until the horizon: one that
    leaves counts as served then. ``worst_delay_with_run_outside`` counts it until it has run in the public cloud as
    long as it would have here. ``acceptance_floor`` is the least acceptance that the paper guarantees for this number
    of tasks, by (5) and (12). ``finished`` and ``waiting`` are the admitted ones that ran to their end, or were still
    there at the horizon. Bounds are None for policies without guarantees.
    """

    submitted: int
    admitted: int
    outsourced: int
    rejected: int
    outsourced_after: int
    acceptance: float
    worst_delay: int
    delay_bound: int | None
    backlog_max: int
    backlog_bound: float | None
    worst_delay_with_run_outside: int = 0
    acceptance_floor: float | None = None
    finished: int = field(default=0, metadata={"document": False})
    waiting: int = field(default=0, metadata={"document": False})
    preemptions: int = field(default=0, metadata={"document": False})
    debt_max: float = field(default=0.0, metadata={"document": False})
    debt_bound: float | None = field(default=None, metadata={"document": False})
    persistence_max: float = field(default=0.0, metadata={"document": False})
    persistence_bound: float | None = field(default=None, metadata={"document": False})

    def floor(self, asked: float) -> float | None:
        """Return the least accepted share of submitted tasks that the policy guarantees.

        It is (5) over a finite run, ``asked - K_max / submitted``; None without a guarantee.
        """
        if self.debt_bound is None:
            return None
        return max(0.0, asked - self.debt_bound / self.submitted) if self.submitted else asked


@dataclass(frozen=True)
class HybridPlan(Plan):
    """Cost of a run, and the results of each queue.

    Attributes:
        cost: Cost per slot, in the currency of the spec.
        queues: Results by queue.
        vm_peak: Greatest number of busy VMs by type.
    """

    planned: ClassVar[str] = "Queues"

    on_trust: ClassVar[Mapping[str, str]] = {
        "queues": "what became of each task in the run",
        "vm_peak": "what became of each task in the run",
    }

    cost: Cost
    queues: Mapping[str, QueueRun]
    vm_peak: Mapping[str, int] = field(default_factory=dict, metadata={"document": False})

    def tables(self) -> tuple[Table, ...]:
        rows = [
            (
                name,
                q.submitted,
                q.admitted,
                q.outsourced,
                q.rejected,
                q.outsourced_after,
                q.acceptance,
                q.acceptance_floor,
                q.worst_delay,
                q.worst_delay_with_run_outside,
                q.delay_bound,
                q.backlog_max,
                q.backlog_bound,
            )
            for name, q in self.queues.items()
        ]
        head = (
            "queue",
            "submitted",
            "admitted",
            "outsourced",
            "rejected",
            "left later",
            "acceptance",
            "acceptance floor",
            "worst delay [slots]",
            "with run outside",
            "delay bound",
            "backlog",
            "backlog bound",
        )
        cost = Table(
            "Cost per slot",
            tuple(f"{part} {MONEY}" for part in ("average", "outsourcing", "preemption")),
            [(self.cost.average, self.cost.outsourcing, self.cost.preemption)],
        )
        return (Table("Queues", head, rows), cost)
