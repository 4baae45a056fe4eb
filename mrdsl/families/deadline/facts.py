"""Input data of a deadline spec: DAGs of tasks with durations, and the allowable delay of each DAG.

The spec contains the tasks or names a file with them. Names are found without numbering the tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from mrdsl.exchange.registry import WORKFLOWS, named, names
from mrdsl.exchange.text import FormatError
from mrdsl.exchange.workflows import Workflow
from mrdsl.spec.columns import Columns, names_of, parts_of
from mrdsl.spec.schema import Node, Source, blocks, quantity, references
from mrdsl.spec.simulated import Spread, spread_block
from mrdsl.spec.typing import Quantity

__all__ = [
    "Dag",
    "DeadlineFacts",
    "Source",
    "Spread",
    "Task",
]


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Task(Node):
    """One task; ``task m[1..200] { ... }`` is a group of them, which ``after = [m]`` names as a whole."""

    EXAMPLE: ClassVar[str] = "{ duration = 10 min }"

    duration: Quantity = quantity("time", "how long the task runs; 0 is allowed", at_least=0.0, symbol="T")
    weight: Quantity = quantity(
        "number", "how much the task's slack counts beside that of the others", default=1.0, above=0.0, symbol="w"
    )
    after: tuple[str, ...] = references("tasks, or groups of tasks, that must have finished before this one starts")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Dag(Node):
    """The tasks of one job and the order between them."""

    EXAMPLE: ClassVar[str] = "{ allowable_delay = 1 h, task first { duration = 10 min } }"

    allowable_delay: Quantity = quantity(
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

        return tuple(Node(name=name) for name in known_names(self.dags))


_NOTHING = Workflow((), (), ())


def imported(source: Source | None) -> Workflow:
    """Return the tasks of the file that a DAG names; none if it names no file. Raises FormatError."""
    if source is None:
        return _NOTHING
    try:
        status = Path(source.path).stat()
    except OSError as problem:
        raise FormatError(f"it cannot be opened: {problem.strerror}") from None
    return _read(source.reader, source.path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=8)
def _read(reader: str, path: str, modified: int, size: int) -> Workflow:
    workflows = named(WORKFLOWS, reader)
    assert workflows is not None, reader
    return workflows.read(path, [])


def known_names(dags: Sequence[Dag]) -> Iterator[str]:
    """Yield every name by which ``subject to`` may mean a task: of written and read ones, of groups and of their
    members.
    """
    for dag in dags:
        prefix = f"{dag.name}." if len(dags) > 1 else ""
        for part in parts_of(dag.tasks):
            if isinstance(part, Columns):
                yield prefix + part.group
            yield from (prefix + name for name in names_of(part))
        try:
            yield from (prefix + name for name in imported(dag.source).names)
        except FormatError:
            continue
