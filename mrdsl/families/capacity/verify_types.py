"""Rows of a plan, classes on VM types, read from the facts for verification: how jobs run there, and what VMs hold.

A slot takes a part of each resource of its VM: 1/n of all where ``slots`` say that a VM hosts n, the container's cores
and memory otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mrdsl.checking.work import Described, Work, described, estimates, promised, tasks_at_once
from mrdsl.core.whole_numbers import floor
from mrdsl.families.capacity.facts import CapacityFacts
from mrdsl.spec.columns import column, words
from mrdsl.spec.machines import ONE, any_rows, shared_rows
from mrdsl.spec.stages import any_stages, stages_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

RESOURCES = ("cores", "memory")


@dataclass(frozen=True)
class Rows:
    """Classes on VM types: one row for each pair that a plan has jobs of."""

    facts: CapacityFacts
    of_class: Ints
    of_vm: Ints

    @cached_property
    def own(self) -> Mapping[int, Any]:
        """What ``on TYPE`` says of rows, by row."""
        classes, found = self.facts.classes, {}
        if any_rows(classes, "on"):
            names = [vm.name for vm in self.facts.vms]
            written = shared_rows(classes, "on")
            for place, (index, vm) in enumerate(zip(self.of_class.tolist(), self.of_vm.tolist(), strict=True)):
                for each in written[index]:
                    if each.name == names[vm]:
                        found[place] = each
        return found

    @cached_property
    def jobs(self) -> Described:
        """What is said of the jobs of each row."""
        return described(self.facts.classes, self.of_class, self.own)

    @cached_property
    def estimates(self) -> Mapping[str, Work]:
        """A, B and C of one job by every estimate."""
        return estimates(self.jobs)

    @cached_property
    def promised(self) -> Work:
        """A, B and C by the estimate that each class promises."""
        return promised(self.estimates, words(self.facts.classes, "guarantee")[self.of_class])

    @cached_property
    def tasks(self) -> tuple[Floats, Floats]:
        """Map and reduce tasks of one job that can run at once."""
        return tasks_at_once(self.jobs)

    @cached_property
    def per_vm(self) -> tuple[Floats, Floats]:
        """The map and the reduce slots that a VM hosts if it hosts nothing else; 0 where nothing is said of it."""
        maps, reduces = (each.n for each in self._hosted)
        return maps, reduces

    @cached_property
    def parts(self) -> tuple[Floats, Floats]:
        """The parts of a VM's cores and memory that one map and one reduce slot takes, (resources, rows)."""
        maps, reduces = (each.parts for each in self._hosted)
        return maps, reduces

    @cached_property
    def allowed(self) -> Flags:
        """Which rows are of a type that the class may use, and that holds each kind of its tasks."""
        holds = np.ones(len(self.of_class), dtype=bool)
        for hosted, tasks in zip(self.per_vm, self.tasks, strict=True):
            holds &= (hosted >= 1.0) | (tasks == 0.0)
        classes = self.facts.classes
        if any_rows(classes, "types"):
            names, listed = [vm.name for vm in self.facts.vms], shared_rows(classes, "types")
            for place, (index, vm) in enumerate(zip(self.of_class.tolist(), self.of_vm.tolist(), strict=True)):
                types = listed[index]
                holds[place] &= not types or types == (ONE,) or names[vm] in types
        return holds

    @cached_property
    def _hosted(self) -> tuple[_Hosted, _Hosted]:
        staged = np.zeros(len(self.of_class), dtype=bool)
        if any_stages(self.facts.classes):
            staged = np.array([bool(stages) for stages in stages_of(self.facts.classes)])[self.of_class]
        maps, reduces = (self._hosted_of(kind) for kind in ("map", "reduce"))
        if staged.any():
            tasks = self._hosted_of("task")
            maps, reduces = (
                _Hosted(np.where(staged, tasks.n, each.n), np.where(staged, tasks.parts, each.parts))
                for each in (maps, reduces)
            )
        return maps, reduces

    def _hosted_of(self, kind: str) -> _Hosted:
        classes, vms = self.facts.classes, self.facts.vms
        said = column(classes, f"slots.{kind}")[self.of_class]
        for place, row in self.own.items():
            number = getattr(row.slots, kind) if row.slots is not None else None
            said[place] = said[place] if number is None else number
        taken = np.array([column(classes, f"container.{kind}.{each}")[self.of_class] for each in RESOURCES])
        there = np.array([column(vms, each)[self.of_vm] for each in RESOURCES])
        parts = np.nan_to_num(taken / there)
        with np.errstate(divide="ignore"):
            fitting = floor(np.where(parts.max(axis=0) > 0.0, 1.0 / parts.max(axis=0), 0.0))
        known = ~np.isnan(said)
        return _Hosted(np.where(known, said, fitting), np.where(known, 1.0 / np.where(known, said, 1.0), parts))


@dataclass(frozen=True)
class _Hosted:
    """Slots of one kind that a VM hosts, and the parts of its resources that one takes."""

    n: Floats
    parts: Floats
