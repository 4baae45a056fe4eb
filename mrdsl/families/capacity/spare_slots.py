"""Slots beyond the fewest: with more firm VM time a class may have more of its jobs on spot VMs.

A job on any slots that keep its deadline is a plan, not on the fewest alone. `spot = 50%` weighs VM time on spot VMs
against that on firm ones, so that slots which firm jobs hold without need may save more on spot than they cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.tolerances import ROUNDING
from mrdsl.core.whole_numbers import ceiling, floor
from mrdsl.families.capacity.facts import NO
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.mix import Mix

Places = NDArray[np.int64]


@dataclass(frozen=True)
class Spare:
    """Kinds of slots that firm jobs may hold beyond the fewest, class by class, lane by lane, map slots first.

    A slot takes ``part`` of a VM; each job may hold ``most`` more of them.
    """

    of_class: Places
    of_lane: Places
    reduces: NDArray[np.bool_]
    part: Floats
    most: Floats

    def __len__(self) -> int:
        return len(self.of_class)

    def slots(self, counts: Floats, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
        """So many slots of each entry as map and as reduce slots, (lanes, classes)."""
        found = np.zeros((2, *shape))
        np.add.at(found, (self.reduces.astype(np.int64), self.of_lane, self.of_class), counts)
        return found[0], found[1]


def limited_classes(mix: Mix) -> Places:
    """The classes of which a part, and not all, may run on spot VMs, that can run on those and on firm ones."""
    spot = mix.market.spot
    if not spot.any():
        return np.zeros(0, dtype=np.int64)
    some = mix.possible[spot].any(axis=0) & mix.possible[~spot].any(axis=0)
    return np.flatnonzero((mix.spot_share > 0.0) & (mix.spot_share < 1.0) & some)


def spare_of(mix: Mix) -> Spare:
    """What jobs may hold: at most a slot for each task, and no more than all jobs on spot can make use of."""
    market, limits = mix.market, mix.pairs.limits
    rows: list[tuple[int, int, bool, float, float]] = []
    firm = np.flatnonzero(~market.spot)
    kinds = (
        (False, mix.map_slots, limits.map_most, mix.pairs.map_per_vm),
        (True, mix.reduce_slots, limits.reduce_most, mix.pairs.reduce_per_vm),
    )
    for index in limited_classes(mix).tolist():
        useful = _useful(mix, index)
        for lane in firm[mix.possible[firm, index]].tolist():
            vm = int(market.vm_of_lane[lane])
            for reduces, slots, tasks, per_vm in kinds:
                part = 1.0 / float(per_vm[vm, index])
                most = min(float(tasks[vm, index]) - float(slots[lane, index]), useful / part)
                most = most if mix.wholeness == NO else float(ceiling(most))
                if most > ROUNDING:
                    rows.append((index, lane, reduces, part, most))
    columns = list(zip(*rows, strict=True)) if rows else [()] * 5
    kinds_of = (np.int64, np.int64, bool, np.float64, np.float64)
    return Spare(*(np.array(each, dtype=kind) for each, kind in zip(columns, kinds_of, strict=True)))


def is_exact(mix: Mix) -> bool:
    """Return True if whole slots beyond the fewest reach all VM times that any slots have.

    They do where the slots of which a VM hosts fewer are so many whole ones of the others, and each job may hold
    enough of those: then every VM time is the least one and some of these slots.
    """
    if mix.wholeness == NO:
        return True
    limits, firm = mix.pairs.limits, ~mix.market.spot
    for index in limited_classes(mix).tolist():
        for lane in np.flatnonzero(firm & mix.possible[:, index]).tolist():
            at = int(mix.market.vm_of_lane[lane]), index
            kinds = [
                (float(mix.pairs.map_per_vm[at]), float(limits.map_most[at] - mix.map_slots[lane, index])),
                (float(mix.pairs.reduce_per_vm[at]), float(limits.reduce_most[at] - mix.reduce_slots[lane, index])),
            ]
            (small, more), (large, others) = sorted(kinds, reverse=True)
            if small % large or (more < small / large - 1.0 and others > 0.0):
                return False
    return True


def _useful(mix: Mix, index: int) -> float:
    """The most firm VM time that jobs of a class on spot VMs can ask for."""
    spot, share = mix.market.spot, float(mix.spot_share[index])
    gamma = mix.gamma[spot, index]
    dearest = float(gamma[np.isfinite(gamma)].max(initial=0.0))
    return dearest * float(mix.expected[index]) * (1.0 - share) / share


def lacking(mix: Mix, index: int, jobs: Floats) -> float:
    """The firm VM time that jobs of a class by lane lack beside those on spot VMs; 0 or less where they lack none."""
    share, spot = float(mix.spot_share[index]), mix.market.spot
    vms = np.where(jobs > 0.0, mix.gamma[:, index], 0.0) * jobs
    on_spot, firm = float(vms[spot].sum()), float(vms[~spot].sum())
    if on_spot <= share * (on_spot + firm) + ROUNDING * max(1.0, on_spot + firm):
        return 0.0
    return on_spot * (1.0 - share) / share - firm if share else np.inf


class SpareSlots:
    """The cheapest slots beyond the fewest for given jobs, found one kind after another."""

    def __init__(self, mix: Mix) -> None:
        self.mix, self.spare = mix, spare_of(mix)
        self.entries: dict[int, Places] = {}
        price = mix.market.cheapest()[self.spare.of_lane]
        for index in np.unique(self.spare.of_class).tolist():
            mine = np.flatnonzero(self.spare.of_class == index)
            self.entries[index] = mine[np.lexsort((self.spare.part[mine], price[mine]))]

    def counts(self, index: int, jobs: Floats) -> tuple[Places, Floats] | None:
        """How many slots of which entries a class's jobs hold besides; None where no number of them is enough."""
        missing = lacking(self.mix, index, jobs)
        entries = self.entries.get(index, np.zeros(0, dtype=np.int64))
        counts = np.zeros(len(entries))
        spare, whole = self.spare, self.mix.wholeness != NO
        for place, entry in enumerate(entries.tolist()):
            if missing <= 0.0:
                break
            part, room = float(spare.part[entry]), float(spare.most[entry] * jobs[spare.of_lane[entry]])
            wanted = missing / part
            counts[place] = min(ceiling(wanted), floor(room)) if whole else min(wanted, room)
            missing -= counts[place] * part
        return None if missing > ROUNDING * max(1.0, float(jobs.sum())) else (entries, counts)

    def vms(self, index: int, jobs: Floats) -> Floats | None:
        """The VMs by lane that these slots take; None where no number of them is enough."""
        found = self.counts(index, jobs)
        if found is None:
            return None
        taken = np.zeros(len(jobs))
        np.add.at(taken, self.spare.of_lane[found[0]], self.spare.part[found[0]] * found[1])
        return taken

    def of_all(self, jobs: Floats) -> tuple[Floats, Floats]:
        """Map and reduce slots beyond the fewest of all classes, (lanes, classes); none where none are enough."""
        counts = np.zeros(len(self.spare))
        for index in self.entries:
            found = self.counts(index, jobs[:, index])
            if found is not None:
                counts[found[0]] = found[1]
        return self.spare.slots(counts, self.mix.gamma.shape)
