"""Kinds of machines, what tasks take of them, and how a class runs on one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mrdsl.spec.blocks import Coefficients, MapPhase, ReducePhase, ShufflePhase, Slots
from mrdsl.spec.columns import Columns, parts_of
from mrdsl.spec.schema import Node, block, blocks, quantity
from mrdsl.spec.stages import Stage, stage_blocks

if TYPE_CHECKING:
    from numpy.typing import NDArray

ONE = "one"
"""``types = one``: all jobs of the class on one type."""


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Spot(Node):
    """VMs that the provider may take back at any moment."""

    price: float = quantity("price", "price of one spot VM", at_least=0.0)
    interruptions: float = quantity("rate", "how often the provider takes one VM back", at_least=0.0)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Resources(Node):
    """What one task takes of a VM."""

    cores: float | None = quantity("number", "cores of one task", default=None, above=0.0)
    memory: float | None = quantity("data", "memory of one task", default=None, above=0.0)


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class Container(Node):
    """What tasks take of a VM, from which the slots of every VM type follow, by cores and by memory."""

    map: Resources | None = block(Resources, "one map task")
    reduce: Resources | None = block(Resources, "one reduce task")
    task: Resources | None = block(Resources, "one task of a stage")


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class OnType(Node):
    """How a class runs on the VM type of that name; what is left out is as on the others."""

    slots: Slots | None = block(Slots, "what one VM of the type hosts, in place of what holds for all types")
    speed: float = quantity(
        "number",
        "map and reduce tasks, A, B and C take 1/speed of their time; the shuffle does not",
        default=1.0,
        above=0.0,
    )
    map: MapPhase | None = block(MapPhase, "the map phase as measured on the type")
    shuffle: ShufflePhase | None = block(ShufflePhase, "the shuffle as measured on the type")
    reduce: ReducePhase | None = block(ReducePhase, "the reduce phase as measured on the type")
    stages: Sequence[Stage] = stage_blocks()
    coefficients: Coefficients | None = block(Coefficients, "A, B and C as measured on the type, in place of a profile")

    @property
    def described(self) -> bool:
        """Whether it has a profile of its own."""
        return bool(self.stages) or any(
            part is not None for part in (self.map, self.shuffle, self.reduce, self.coefficients)
        )


def on_type_blocks() -> Any:
    """The declaration of ``on TYPE { ... }`` in a class."""
    return blocks(OnType, "on", "how the class runs on one VM type", plural="on_types", of="vm")


def shared_rows(nodes: Sequence[Any], field: str) -> list[tuple[Any, ...]]:
    """A tuple-valued field of every node, such as nested blocks or names, without building nodes of columns."""
    rows: list[tuple[Any, ...]] = []
    for part in parts_of(nodes):
        if not isinstance(part, Columns):
            rows += [tuple(getattr(node, field)) for node in part]
            continue
        value = part.values.get(field, ())
        alike = not getattr(value, "ndim", 0)
        rows += [tuple(value)] * len(part) if alike else [tuple(each) for each in _listed(value)]
    return rows


def _listed(value: NDArray[Any]) -> list[Any]:
    listed: list[Any] = value.tolist()
    return listed


def any_rows(nodes: Sequence[Any], field: str) -> bool:
    """Whether some node has such a tuple that is not empty; without a look at every row of a table of alike ones."""
    for part in parts_of(nodes):
        if not isinstance(part, Columns):
            if any(len(getattr(node, field)) for node in part):
                return True
            continue
        value = part.values.get(field, ())
        if any(map(len, value)) if getattr(value, "ndim", 0) else len(value):
            return True
    return False
