"""Slots with which contents of VMs pack, of any of the pairs of their classes, and proofs that there are none.

**Proof.** At prices of slots at which no content of a VM is worth more than 1 (Gilmore and Gomory 1961, *A linear
programming approach to the cutting-stock problem*), the slots of jobs on ``k`` VMs are worth at most ``k``. A job is
worth no less than with the cheapest of its pairs, of those that no other pair can replace on VMs. So no content that
packs has jobs whose cheapest pairs are worth more than its VMs. QED
"""

from __future__ import annotations

from itertools import islice, product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.rounding import FEASIBILITY
from mrdsl.families.capacity.market import Floats
from mrdsl.families.capacity.methods.lane_columns import Content
from mrdsl.families.capacity.methods.lane_prices import Places
from mrdsl.families.capacity.slot_choices import whole_points
from mrdsl.formulas.packing import Size, generated_patterns, pack, packs_on, units_of

if TYPE_CHECKING:
    from mrdsl.families.capacity.methods.vector_lanes import Vessels

PAIRS, PROOFS = 64, 4
"""Most pairs of slots of all classes that are tried to pack a content, and to prove that it does not pack."""


class AnyPairs:
    """Packing of contents whose classes have any of their pairs of slots."""

    def __init__(self, vessels: Vessels) -> None:
        self.vessels = vessels
        self.known: dict[tuple[int, int, bytes], Floats | None] = {}
        self.pairs: dict[tuple[int, int], Floats] = {}

    def _of(self, kind: int, index: int) -> Floats:
        """Return the pairs of slots of a class, (pairs, 2), that no other can replace; none if they are too many."""
        if (kind, index) not in self.pairs:
            found = whole_points(self.vessels.mix, int(self.vessels.lanes[kind]), index)
            self.pairs[kind, index] = np.zeros((0, 2)) if found is None else found[0]
        return self.pairs[kind, index]

    def slots(self, kind: int, vms: int, jobs: Floats, thorough: bool = False) -> Floats | None:
        """See :meth:`mrdsl.families.capacity.methods.lane_columns.Packing.slots`."""
        key = kind, vms, jobs.tobytes()
        if self.known.get(key) is None and (thorough or key not in self.known):
            self.known[key] = self._found(kind, vms, jobs, thorough)
        return self.known[key]

    def _found(self, kind: int, vms: int, jobs: Floats, thorough: bool) -> Floats | None:
        lane, some = int(self.vessels.lanes[kind]), np.flatnonzero(jobs)
        slots = np.stack([self.vessels.mix.map_slots[lane], self.vessels.mix.reduce_slots[lane]])
        if not thorough and self.vessels.packs(kind, vms, Content(jobs, slots.T)):
            return slots
        place, sizes = self._sizes(kind, some)
        units = units_of(sizes)
        for pairs in islice(product(*(self._of(kind, index) for index in some.tolist())), PAIRS):
            demand = np.zeros(len(sizes))
            np.add.at(demand, place, np.array(pairs).T * jobs[some])
            count = np.rint(demand).astype(np.int64).tolist()
            if units.least(count) > vms:
                continue
            if pack(sizes, count, vms).vms <= vms if thorough else packs_on(units, count, vms):
                slots[:, some] = np.array(pairs).T
                return slots
        return None

    def _sizes(self, kind: int, some: Places) -> tuple[NDArray[np.int64], list[Size]]:
        """Return the place of the size of map and reduce slots of some classes, (2, classes), and the sizes."""
        sizes = self.vessels.mix.sizes
        assert sizes is not None
        vm = int(self.vessels.mix.market.vm_of_lane[int(self.vessels.lanes[kind])])
        found, place = np.unique(sizes.keys[:, vm, some], return_inverse=True)
        return place.reshape(2, -1), [sizes.of(key) for key in found.tolist()]

    def excluding(self, kind: int, vms: int, jobs: Floats) -> Floats | None:
        """Return the least worth of a job's slots at prices at which a VM's content is worth at most 1.

        See :meth:`mrdsl.families.capacity.methods.lane_columns.Packing.excluding`. A job of another class counts as 0.
        """
        some = np.flatnonzero(jobs)
        place, sizes = self._sizes(kind, some)
        pairs = [self._of(kind, index) for index in some.tolist()]
        if not all(len(each) for each in pairs):
            return None
        chosen = [each[0] for each in pairs]
        for _ in range(PROOFS):
            demand = np.zeros(len(sizes))
            np.add.at(demand, place, np.array(chosen).T * jobs[some])
            used = np.flatnonzero(demand)
            found = generated_patterns([sizes[each] for each in used], np.rint(demand[used]).astype(np.int64).tolist())
            if not found.prices:
                return None
            prices = np.zeros(len(sizes))
            prices[used] = found.prices
            worth = [each @ prices[place[:, number]] for number, each in enumerate(pairs)]
            least = np.array([each.min() for each in worth])
            if float(least @ jobs[some]) > vms * (1.0 + FEASIBILITY):
                row = np.zeros(len(jobs))
                row[some] = least
                return row
            chosen = [each[int(one.argmin())] for each, one in zip(pairs, worth, strict=True)]
        return None
