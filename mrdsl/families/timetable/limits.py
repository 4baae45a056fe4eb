"""Limits on VMs at once: those of a type that are available, and quotas of cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor, lcm

from mrdsl.core.rounding import ROUNDING
from mrdsl.families.timetable.facts import TimetableFacts, VmType
from mrdsl.families.timetable.night import Machine
from mrdsl.formulas.quotas import counts


@dataclass(frozen=True)
class Limit:
    """A limit on what VMs take at once, in whole units: VMs, or parts of cores.

    Attributes:
        most: What all VMs take at most.
        each: What one VM of each type takes, 0 if it does not count; second attempts take VMs of the type on demand.
        masters: Masters count.
    """

    most: int
    each: tuple[int, ...]
    masters: bool = False

    def taken(self, vm: int, count: int, is_master: bool = False) -> int:
        """Return what VMs of a type take."""
        return 0 if is_master and not self.masters else count * self.each[vm]

    def taken_by_masters(self, machine: Machine) -> int:
        """Return what the masters of all types take."""
        return sum(self.taken(each.vm, each.count, True) for each in machine.masters)

    def available(self, vm: int, machine: Machine) -> int | None:
        """Return the most VMs of a type at once beside masters, with no other type in use; None without a limit."""
        left = self.most - self.taken_by_masters(machine)
        return max(0, left // self.each[vm]) if self.each[vm] else None if left >= 0 else 0


def limit_of(machine: Machine, place: int = 0, count: int = 1) -> Limit | None:
    """Return the limit on the VMs of one of ``count`` types; None for any number."""
    if machine.available is None:
        return None
    return Limit(machine.available, tuple(int(vm == place) for vm in range(count)))


def limits_of(facts: TimetableFacts, every: Sequence[tuple[VmType, bool]]) -> tuple[Limit, ...]:
    """Return the limits of a spec; types are given with True if they are on spot."""
    found = [
        Limit(vm.available, tuple(int(other is vm) for other, _ in every))
        for vm in facts.vms
        if vm.available is not None
    ]
    for quota in facts.quotas:
        spot = quota.spot == "yes"
        cores = [
            Fraction(repr(float(vm.cores or 0.0))) if on_spot == spot and counts(quota, vm.name) else Fraction(0)
            for vm, on_spot in every
        ]
        unit = lcm(*(each.denominator for each in cores))
        most = floor(Fraction(repr(float(quota.cores))) * unit * (1 + Fraction(ROUNDING)))
        found.append(Limit(most, tuple(int(each * unit) for each in cores), not spot))
    return tuple(each for each in found if any(each.each))
