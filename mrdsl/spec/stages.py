"""Stages: jobs that are DAGs, as Spark runs them, in place of a map, a shuffle and a reduce phase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mrdsl.spec.blocks import ReducePhase
from mrdsl.spec.columns import Columns, names_of, parts_of
from mrdsl.spec.schema import Node, Source, blocks, choice, path, quantity, references
from mrdsl.spec.simulated import DISTRIBUTIONS


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Stage(Node):
    """Alike tasks of one job, which may all run side by side once the stages that it comes after have ended."""

    tasks: int = quantity("number", "number of tasks of the stage in one job", at_least=1, whole=True, symbol="N_s")
    avg: float = quantity("time", "average duration of a task", above=0.0, symbol="avg_s")
    max: float = quantity("time", "longest duration of a task", above=0.0, symbol="max_s")
    after: tuple[str, ...] = references("stages of the class that must have ended before this one starts", of="stage")
    distribution: str | None = choice(
        DISTRIBUTIONS, "how its task times spread (simulated); default: as in the class", default=None
    )
    samples: Source | None = path(
        "recorded times of its tasks in seconds, one a line (simulated)", default=None, called="distribution"
    )


def stage_blocks() -> Any:
    """The declaration of ``stage NAME { ... }`` in a class."""
    return blocks(Stage, "stage", "a stage of one job, in place of map, shuffle and reduce")


def stages_of(classes: Sequence[Any]) -> Sequence[tuple[Stage, ...]]:
    """The stages of every class, in spec order; () for a class without."""
    stages: list[tuple[Stage, ...]] = []
    for part in parts_of(classes):
        if isinstance(part, Columns):
            stages += [tuple(part.values.get("stages", ()))] * len(part)
        else:
            stages += [tuple(getattr(node, "stages", ())) for node in part]
    return stages


def partitions_of(stages: Sequence[Stage], reduce: ReducePhase | None) -> int | None:
    """Into how many tasks what a job shuffles is parted: those of its widest stage behind another, or its reduces."""
    widths = [stage.tasks for stage in stages if stage.after]
    if reduce is not None and not stages and reduce.tasks:
        widths.append(reduce.tasks)
    return max(widths, default=None)


def any_stages(classes: Sequence[Any]) -> bool:
    """Whether some class consists of stages; without a look at every row of a table."""
    return any(
        bool(part.values.get("stages"))
        if isinstance(part, Columns)
        else any(len(getattr(node, "stages", ())) for node in part)
        for part in parts_of(classes)
    )


def dags_of(classes: Sequence[Any]) -> dict[str, tuple[Stage, ...]]:
    """The classes of stages by name, in spec order."""
    if not any_stages(classes):
        return {}
    return {name: stages for name, stages in zip(names_of(classes), stages_of(classes), strict=True) if stages}
