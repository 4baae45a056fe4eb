"""What a deadline spec states: DAGs of tasks with durations, each with the delay that it is allowed as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mrdsl.exchange.registry import WORKFLOWS, names
from mrdsl.spec.schema import Node, Source, blocks, quantity, references
from mrdsl.spec.spread import Spread, spread_block


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Task(Node):
    """One task; ``task m[1..200] { ... }`` is a group of them, which ``after = [m]`` names as a whole."""

    duration: float = quantity("time", "how long the task runs; 0 is allowed", at_least=0.0, symbol="T")
    weight: float = quantity(
        "number", "how much the task's slack counts beside that of the others", default=1.0, above=0.0, symbol="w"
    )
    after: tuple[str, ...] = references("tasks, or groups of tasks, that must have finished before this one starts")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Dag(Node):
    """The tasks of one job and the order between them."""

    allowable_delay: float = quantity(
        "time", "how long after its submission the whole job may finish", above=0.0, symbol="D'"
    )
    tasks: Sequence[Task] = blocks(Task, "task", "a task of the job, or a group of alike tasks")
    source: Source | None = field(default=None)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class DeadlineFacts(Node):
    """The DAGs of the spec; several are planned independently of each other."""

    dags: Sequence[Dag] = blocks(
        Dag,
        "dag",
        "a job as a graph of tasks, written here or read from a file",
        required=True,
        sources=names(WORKFLOWS),
    )
    simulation: Spread | None = spread_block()

    @property
    def tasks(self) -> Sequence[Node]:
        """Every name that ``delay(t)`` and ``slack(t)`` may take, as empty blocks: tasks, groups and their members."""
        from mrdsl.families.deadline.names import known_names

        return tuple(Node(name=name) for name in known_names(self.dags))
