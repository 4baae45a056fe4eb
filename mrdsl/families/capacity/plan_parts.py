"""Parts of a capacity plan: its classes, its VMs by type and way of buying, and the evidence of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.result import MONEY, Table, lacking
from mrdsl.core.rounding import ceiling
from mrdsl.core.tables import Rows
from mrdsl.families.capacity.market import ON_DEMAND, RESERVED, SPOT, Floats
from mrdsl.formulas.estimates import is_even, phases_are_bounded


@dataclass(frozen=True)
class Slots:
    """Map and reduce slots as whole numbers."""

    map: int
    reduce: int


@dataclass(frozen=True)
class TaskSlots:
    """Slots for tasks of stages as a whole number."""

    task: int


@dataclass(frozen=True)
class Completion:
    """The completion time of each job of a class by every estimate, in seconds; None where it is not known."""

    lower: float | None
    average: float | None
    upper: float | None


@dataclass(frozen=True)
class MeanCompletion(Completion):
    """The same with the mean time."""

    mean: float | None


@dataclass(frozen=True)
class ClassPlan:
    """The plan of one class.

    ``admitted`` and ``rejected`` count jobs. ``map_slots`` and ``reduce_slots`` are those of the whole class by Theorem
    4.1, unrounded; ``whole_slots`` are the same, rounded up. ``vms`` is the part of the cluster that they take.
    ``penalty`` is the cost of all its rejected jobs. ``upper_is_bound`` is True if jobs meet the premises of the upper
    estimate, see :func:`mrdsl.formulas.estimates.upper_is_bound`; None if that is not known.
    """

    admitted: float
    rejected: float
    map_slots: float
    reduce_slots: float
    whole_slots: Slots
    vms: float
    completion: Completion
    deadline: float
    penalty: float
    upper_is_bound: bool | None


@dataclass(frozen=True)
class StagedClassPlan:
    """The plan of a class of stages: as :class:`ClassPlan`, with slots of one kind."""

    admitted: float
    rejected: float
    task_slots: float
    whole_slots: TaskSlots
    vms: float
    completion: Completion
    deadline: float
    penalty: float
    upper_is_bound: bool | None


@dataclass(frozen=True)
class ExecutorClassPlan(StagedClassPlan):
    """The plan of a class of stages whose slots are those of ``executors``."""

    executors: int


def class_plan(row: tuple[Any, ...], staged: bool, tasks: int) -> ClassPlan | StagedClassPlan:
    """Create the plan of one class from a row of its columns; ``staged``: of stages, on executors of ``tasks`` each."""
    said = class_document(row)
    times, whole = said.pop("completion"), said.pop("whole_slots")
    said["completion"] = MeanCompletion(**times) if "mean" in times else Completion(**times)
    if not staged:
        return ClassPlan(whole_slots=Slots(**whole), **said)
    slots, _ = said.pop("map_slots"), said.pop("reduce_slots")
    there = TaskSlots(whole["map"])
    if tasks:
        return ExecutorClassPlan(task_slots=slots, whole_slots=there, executors=-(-there.task // tasks), **said)
    return StagedClassPlan(task_slots=slots, whole_slots=there, **said)


def class_document(row: tuple[Any, ...]) -> dict[str, Any]:
    """Write a row of a plan's columns as JSON has it; plans of 100,000 classes go through here."""
    return {
        "admitted": row[0],
        "rejected": row[1],
        "map_slots": row[2],
        "reduce_slots": row[3],
        "whole_slots": {"map": row[4], "reduce": row[5]},
        "vms": row[6],
        "completion": dict(zip(TIMES, (*row[7:10], *row[13:]), strict=False)),
        "deadline": row[10],
        "penalty": row[11],
        "upper_is_bound": row[12],
    }


def known(values: Floats) -> list[float | None]:
    """List the values with None for each NaN."""
    listed: list[float | None] = values.tolist()
    for place in np.flatnonzero(np.isnan(values)).tolist():
        listed[place] = None
    return listed


Places = NDArray[np.int64]
ESTIMATES = ("lower", "average", "upper")
TIMES = (*ESTIMATES, "mean")
UNKNOWN, NO_OWN = np.zeros(0), np.zeros(0, dtype=bool)


def summed(places: Places, values: Floats, count: int) -> Floats:
    """Return the sum of ``values`` at each of ``count`` places."""
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
    """VMs by offer, and one element per *share*: jobs of one class together on VMs of one type, firm or spot.

    ``bought`` has the VMs by offer. ``of_class`` and ``of_vm`` number classes and ``types``; ``vms`` are those of the
    share's slots. Slots and VMs include repeated lost work. ``lower``, ``average`` and ``upper`` are the times of the
    share's jobs by each estimate, NaN if not known. ``sunk`` is the cost of prepaid contracts, which the plan's cost
    does not include. ``masters_cost`` is the part of the cost of ``masters``: of the firm VMs of a type they are the
    cheapest.
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
    masters_cost: float = field(default=0.0, kw_only=True)
    mean: Floats = field(default_factory=lambda: UNKNOWN, kw_only=True)

    @property
    def completion(self) -> tuple[Floats, ...]:
        """The time of each share's jobs by the lower, the average and the upper estimate, and the mean if known."""
        return self.lower, self.average, self.upper, *((self.mean,) if len(self.mean) else ())

    def total(self, way: str | None = None, vm: str | None = None) -> float:
        """Return the VMs bought in one way, or of one type, or all."""
        return self._totals.get((way, vm), 0.0)

    @cached_property
    def _totals(self) -> dict[tuple[str | None, str | None], float]:
        found: dict[tuple[str | None, str | None], float] = {}
        for each in self.bought:
            for key in ((None, None), (each.way, None), (None, each.vm), (each.way, each.vm)):
                found[key] = found.get(key, 0.0) + each.vms
        return found

    def whole_slots(self, classes: int) -> tuple[Floats, Floats]:
        """Return the slots of every class, those of each share rounded up."""
        whole = (ceiling(slots) for slots in (self.map_slots, self.reduce_slots))
        maps, reduces = (summed(self.of_class, each, classes) for each in whole)
        return maps, reduces

    def uppers_are_bounds(self, stages: NDArray[np.int64], own: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return True for each class of ``stages`` stages if the upper estimate bounds all its jobs: never on spot."""
        bound = phases_are_bounded(stages[self.of_class], self.jobs, self.map_slots, self.reduce_slots)
        if len(own):
            whole = [is_even(slots, self.jobs, ceiling(slots)) for slots in (self.map_slots, self.reduce_slots)]
            bound |= own[self.of_class] & whole[0] & whole[1]
        bound &= ~self.spot
        return np.asarray(np.bincount(self.of_class[~bound], minlength=len(stages)) == 0)

    def document(self, whole: bool) -> dict[str, dict[str, Any]]:
        """Return the VMs as JSON has them, by type."""
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
        """Yield every share as JSON has it, with the name of its class."""
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
                    "completion": {n: None if t != t else t for n, t in zip(TIMES, times, strict=False)},
                },
            )

    def tables(self, names: Sequence[str], most: int, whole: bool, staged: Places) -> tuple[Table, Table]:
        """Return the VMs by type, and the lanes of the shares, ``most`` for a reader; stages have no reduce slots."""
        number = int if whole else float
        document = self.document(whole)
        shown = (ON_DEMAND, RESERVED, SPOT, *(("masters",) if self.masters.any() else ()))
        rented = [
            (name, *(row.get(each, 0) for each in shown))
            for name, row in document.items()
            if any(row[way] for way in (ON_DEMAND, RESERVED, SPOT))
        ]
        kinds = ("vm", *(each.replace("_", " ").replace("masters", "as masters") for each in shown))

        def rows(part: slice) -> Iterator[tuple[Any, ...]]:
            for place in range(part.start, part.stop):
                yield (
                    names[int(self.of_class[place])],
                    self.types[int(self.of_vm[place])],
                    SPOT if self.spot[place] else "firm",
                    number(self.jobs[place]),
                    int(ceiling(float(self.map_slots[place]))),
                    0 if staged[self.of_class[place]] else int(ceiling(float(self.reduce_slots[place]))),
                    float(self.vms[place]),
                    None if np.isnan(self.completion[1][place]) else float(self.completion[1][place]),
                )

        head = ("class", "vm", "", "jobs", "map slots", "reduce slots", "VMs", "average [s]")
        return (
            Table("VMs", kinds, rented),
            Table("Jobs", head, Rows(len(self.of_class), rows), most=most),
        )


@dataclass(frozen=True)
class Evidence:
    """Evidence on a service level from fresh runs: ``jobs`` of the class in ``runs`` runs from ``seed``.

    ``share`` of them ended within ``limit`` seconds. With ``confidence``, at least ``low`` do; the required share is
    ``level``. ``mrdsl simulate --seed`` with as many runs of the same plan shows the same.
    """

    name: str
    level: float
    limit: float
    seed: int
    runs: int
    jobs: int
    share: float
    low: float
    confidence: float


@dataclass(frozen=True)
class FittedWork:
    """A, B and C of equation (4) with which P2 takes a class's slots [s]."""

    A: float
    B: float
    C: float


@dataclass(frozen=True)
class Calibration:
    """Record of the search for a plan that meets its service levels in simulation.

    ``formula`` is the estimate of the initial plan, which costs ``formula_cost``; None if no estimate has a plan.
    ``lp_bound`` is the relaxed P2's cost at the ``coefficients`` by class; it does not bound the cost of other plans.
    The search used ``looks`` of at most ``most_looks`` full evaluations. ``confidence`` is that of all service levels
    and looks together. ``runs`` counts all runs of single classes.
    """

    formula: str | None
    formula_cost: float | None
    formula_vms: float | None
    lp_bound: float | None
    coefficients: Mapping[str, FittedWork]
    promises: tuple[Evidence, ...]
    looks: int
    most_looks: int
    confidence: float
    runs: int

    def tables(self) -> tuple[Table, ...]:
        """Return the evidence of fresh runs on the service levels, and the result of the search."""
        shown = [
            (each.name, each.level, each.limit, each.share, each.low, each.confidence, each.jobs, each.runs)
            for each in self.promises
        ]
        head = ("class", "required", "within [s]", "on time", "at least", "confidence", "jobs", "runs")
        found = (self.formula or "none", self.formula_vms, self.formula_cost, self.lp_bound, self.looks, self.runs)
        names = (
            "formula",
            "its VMs",
            f"its total {MONEY}",
            f"LP at the fit {MONEY}",
            "full evaluations",
            "runs in all",
        )
        return Table("Kept in simulation", head, shown), Table("Search", names, [found])
