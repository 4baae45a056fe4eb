"""Declarations for simulation: arrivals, task times, failures, stragglers and their spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mrdsl.spec.schema import Node, Source, block, choice, path, quantity
from mrdsl.spec.typing import OptionalQuantity, Quantity, Whole

SCHEDULERS = ("fair", "capacity", "fifo")
DISTRIBUTIONS = ("uniform", "exponential", "lognormal", "fixed")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Recorded(Node):
    """Recorded task times, one number a line, drawn at random while simulating."""

    map: Source = path("times of map tasks")
    reduce: Source | None = path("times of reduce tasks, their shuffle included", default=None)
    unit: Quantity = quantity("time", "what 1 stands for in the files", default=1.0, above=0.0)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Stragglers(Node):
    """Tasks that take a multiple of their time, at random: a second attempt need not."""

    share: Quantity = quantity("share", "which part of all attempts", at_least=0.0, at_most=1.0)
    factor: Quantity = quantity("number", "how many times as long they take", at_least=1.0)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class TaskFailures(Node):
    """Attempts that fail, at a moment that is uniform over their time."""

    probability: Quantity = quantity("share", "share of the attempts that fail", at_least=0.0, below=1.0, was="share")
    retries: Whole = quantity(
        "number",
        "how often a task may fail and run again before its job is given up",
        default=3,
        at_least=0,
        whole=True,
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Speculation(Node):
    """Copies of slow tasks, as Spark makes them: the first one that ends counts."""

    quantile: Quantity = quantity(
        "share", "which part of a stage's tasks has ended before", default=0.75, above=0.0, at_most=1.0
    )
    factor: Quantity = quantity(
        "number", "how many times the median of the ended ones' times a task has run", default=1.5, at_least=1.0
    )


def max_running_item() -> Any:
    """Return the declaration of ``max_running``."""
    return quantity(
        "jobs",
        "how many jobs of those that share slots run at once; the others wait, and the oldest starts first; "
        "default: any number",
        default=None,
        at_least=1,
        whole=True,
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Run(Node):
    """The length of a simulation, and the faults of tasks."""

    jobs_per_user: int = quantity(
        "jobs", "completed jobs per user, or per admitted job", default=20, at_least=2, whole=True
    )
    warm_up: float = quantity(
        "share", "the first part of every class's jobs, which no figure counts", default=0.1, at_least=0.0, below=1.0
    )
    slowstart: float = quantity(
        "share",
        "reduce tasks may take slots once that part of the map tasks has ended",
        default=1.0,
        at_least=0.0,
        at_most=1.0,
    )
    max_running: int | None = max_running_item()
    stragglers: Stragglers | None = block(Stragglers, "tasks that take long at random")
    task_failures: TaskFailures | None = block(TaskFailures, "attempts that fail", was="failures")
    speculation: Speculation | None = block(Speculation, "copies of tasks that take long")


def preemption_item() -> Any:
    """Return the declaration of ``preemption`` of classes that share a cluster."""
    return quantity(
        "time",
        "how long a class waits below its share before tasks of others are stopped for it; default: for ever",
        default=None,
        at_least=0.0,
    )


def arrivals_item() -> Any:
    """Return the declaration of ``arrivals`` in a class."""
    return quantity(
        "event_rate", "jobs arrive at random at this rate instead of from users (simulated)", default=None, above=0.0
    )


def burst_item() -> Any:
    """Return the declaration of ``burst`` in a class."""
    return quantity("jobs", "how many jobs come with each arrival (simulated)", default=1, at_least=1, whole=True)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class SimulatedClass(Node):
    """A job class whose task times spread while a plan is simulated."""

    distribution: str = choice(
        DISTRIBUTIONS, "how task times spread around their average (simulated)", default="uniform"
    )
    samples: Source | None = path(
        "recorded times of all its tasks in seconds, one a line, where they are of one kind (simulated)",
        default=None,
        called="distribution",
    )
    recorded: Recorded | None = block(
        Recorded, "recorded task times, instead of times spread around their average (simulated)"
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class ArrivingClass(SimulatedClass):
    """A job class whose jobs can arrive at random or at recorded times while a plan is simulated."""

    submissions: Source | None = path(
        "recorded times of arrivals in seconds, one a line, instead of random ones (simulated)", default=None
    )


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Spread(Node):
    """The spread of times that the plan takes as fixed, and the required share of runs within its limits."""

    distribution: str = choice(DISTRIBUTIONS, "how the time of a task spreads around what is stated", default="uniform")
    longest: Quantity = quantity(
        "number",
        "how many times what is stated the longest task takes; 1 where times do not spread",
        default=1.0,
        at_least=1.0,
    )
    stragglers: Stragglers | None = block(Stragglers, "tasks that take long at random")
    service_level: OptionalQuantity = quantity(
        "share",
        "share of the runs in which a deadline or limit must hold; default: on average",
        default=None,
        above=0.0,
        below=1.0,
        was="kept",
    )

    @property
    def spreads(self) -> bool:
        """True if a task can take another time than the stated one."""
        wide = self.distribution == "exponential" or (self.longest > 1.0 and self.distribution != "fixed")
        return wide or (self.stragglers is not None and self.stragglers.share > 0.0 and self.stragglers.factor > 1.0)


def spread_block() -> Any:
    """Return the declaration of ``simulation { ... }`` for plans with fixed times of all tasks."""
    return block(Spread, "how task times spread while `mrdsl simulate` runs the plan")
