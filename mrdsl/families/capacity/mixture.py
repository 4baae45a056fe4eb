"""What a plan says of several VM types: how many VMs are bought in which way, and which jobs of a class run where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.result import Table, lacking
from mrdsl.core.whole_numbers import ceiling
from mrdsl.families.capacity.market import ON_DEMAND, RESERVED, SPOT, Floats
from mrdsl.formulas.estimates import phases_are_bounded

Places = NDArray[np.int64]
ESTIMATES = ("lower", "average", "upper")


def summed(places: Places, values: Floats, count: int) -> Floats:
    """The sum of ``values`` at each of ``count`` places."""
    return np.bincount(places, weights=values, minlength=count).astype(np.float64)


@dataclass(frozen=True)
class Bought:
    """VMs of one type, bought in one way; ``term`` names one of several contracts."""

    vm: str
    way: str
    term: str
    vms: float


@dataclass(frozen=True, eq=False)
class Mixture:
    """``bought``, and one element per *share*: jobs of one class that run together on VMs of one type, firm or spot.

    ``of_class`` and ``of_vm`` number classes and ``types``; ``vms`` are those that the share's slots take. Slots and
    VMs include what does lost work anew. ``lower``, ``average`` and ``upper`` are the times of the share's jobs by each
    estimate, NaN where it is not known. ``sunk`` is what contracts cost that are paid in any case: no part
    of the plan's cost.
    """

    types: tuple[str, ...]
    masters: Floats
    bought: tuple[Bought, ...]
    sunk: float
    of_class: Places
    of_vm: Places
    spot: NDArray[np.bool_]
    jobs: Floats
    map_slots: Floats
    reduce_slots: Floats
    vms: Floats
    lower: Floats = field(metadata=lacking("the estimate is not known"))
    average: Floats = field(metadata=lacking("the estimate is not known"))
    upper: Floats = field(metadata=lacking("the estimate is not known"))

    @property
    def completion(self) -> tuple[Floats, Floats, Floats]:
        """The time of each share's jobs by the lower, the average and the upper estimate."""
        return self.lower, self.average, self.upper

    def total(self, way: str | None = None, vm: str | None = None) -> float:
        """The VMs bought in one way, or of one type, or all."""
        return sum(each.vms for each in self.bought if way in (None, each.way) and vm in (None, each.vm))

    def whole_slots(self, classes: int) -> tuple[Floats, Floats]:
        """The slots of every class, those of each share rounded up."""
        whole = (ceiling(slots) for slots in (self.map_slots, self.reduce_slots))
        maps, reduces = (summed(self.of_class, each, classes) for each in whole)
        return maps, reduces

    def uppers_are_bounds(self, stages: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether the upper estimate is a bound for all jobs of each class, of so many stages: never on spot."""
        bound = phases_are_bounded(stages[self.of_class], self.jobs, self.map_slots, self.reduce_slots) & ~self.spot
        return np.asarray(np.bincount(self.of_class[~bound], minlength=len(stages)) == 0)

    def document(self, whole: bool) -> dict[str, dict[str, Any]]:
        """The VMs as JSON has them, by type."""
        number = int if whole else float
        shown: dict[str, dict[str, Any]] = {
            name: {ON_DEMAND: number(0), RESERVED: number(0), SPOT: number(0)} for name in self.types
        }
        for each in self.bought:
            shown[each.vm][each.way] = number(shown[each.vm][each.way] + each.vms)
            if each.term:
                shown[each.vm].setdefault("terms", {})[each.term] = number(each.vms)
        for name, masters in zip(self.types, self.masters.tolist(), strict=True):
            if masters:
                shown[name]["masters"] = int(masters)
        return shown

    def shares(
        self, names: Sequence[str], staged: NDArray[np.int64], whole: bool
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every share as JSON has it, with the name of its class."""
        number = int if whole else float
        for place, index in enumerate(self.of_class.tolist()):
            maps, reduces = float(self.map_slots[place]), float(self.reduce_slots[place])
            slots = (
                {"task_slots": maps, "whole_slots": {"task": int(ceiling(maps))}}
                if staged[index]
                else {
                    "map_slots": maps,
                    "reduce_slots": reduces,
                    "whole_slots": {"map": int(ceiling(maps)), "reduce": int(ceiling(reduces))},
                }
            )
            times = (float(each[place]) for each in self.completion)
            yield (
                names[index],
                {
                    "vm": self.types[int(self.of_vm[place])],
                    "spot": bool(self.spot[place]),
                    "jobs": number(self.jobs[place]),
                    **slots,
                    "vms": float(self.vms[place]),
                    "completion": {n: None if t != t else t for n, t in zip(ESTIMATES, times, strict=True)},
                },
            )

    def tables(self, names: Sequence[str], most: int, whole: bool) -> tuple[Table, Table]:
        """The VMs by type, and where up to so many shares run."""
        number = int if whole else float
        document = self.document(whole)
        rented = [
            (name, row[ON_DEMAND], row[RESERVED], row[SPOT])
            for name, row in document.items()
            if any(row[way] for way in (ON_DEMAND, RESERVED, SPOT))
        ]
        rows: list[tuple[Any, ...]] = [
            (
                names[int(self.of_class[place])],
                self.types[int(self.of_vm[place])],
                SPOT if self.spot[place] else "firm",
                number(self.jobs[place]),
                int(ceiling(float(self.map_slots[place]))),
                int(ceiling(float(self.reduce_slots[place]))),
                float(self.vms[place]),
                None if np.isnan(self.completion[1][place]) else float(self.completion[1][place]),
            )
            for place in range(min(most, len(self.of_class)))
        ]
        if len(self.of_class) > most:
            rows.append((f"... and {len(self.of_class) - most:,} more", *([None] * 7)))
        return (
            Table("VMs", ("vm", "on demand", "reserved", "spot"), rented),
            Table("Jobs", ("class", "vm", "", "jobs", "map slots", "reduce slots", "VMs", "average [s]"), rows),
        )
