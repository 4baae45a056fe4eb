"""The fewest VMs of one class whose simulated times keep its promises, sought around the slots that a fit gives.

Slots of two kinds are looked at as VMs in all and the share of them that holds map slots: times fall with the VMs, and
have a least somewhere in the share.
"""

from __future__ import annotations

from dataclasses import dataclass

from mrdsl.core.tolerances import ROUNDING
from mrdsl.families.capacity.methods.search import Search, Wanted
from mrdsl.families.capacity.methods.trials import Cell, Placement, Trials

FIRST_SHIFT = 0.08
"""So much of a class's VMs is first moved from one kind of slots to the other."""
BETTER = 0.005
"""Times that differ by less of each other are alike."""
FINE = 0.01
"""VMs are sought to within this part of them, a whole one at least."""
FIRST_STEP = 0.02
"""So far beyond where the deadline is expected to be just kept the search looks first, and twice as far each time."""
MOST_STEP = 0.3
MOST_GROWTH = 1.5
ROUNDED = 0.5
"""By so many VMs more, whole slots count as the same VMs."""


@dataclass
class Probe:
    """The probing of one class: where the others stand, in which trials, with how many runs a look at a cell."""

    search: Search
    want: Wanted
    placement: Placement
    trials: Trials
    runs: int

    def time(self, cell: Cell) -> float:
        """By when the shares aimed at end on a cell; see :meth:`Search.time_of`."""
        index = self.want.index
        placed = (*self.placement[:index], cell, *self.placement[index + 1 :])
        found = self.search.time_of(placed, self.want, self.runs, self.trials)
        self.search.note(self.want, cell, found)
        return found

    def cell(self, vms: float, share: float) -> Cell:
        """So many VMs, of which a share holds map slots, in whole slots."""
        per_vm, jobs = self.want.per_vm, self.placement[self.want.index].jobs
        maps = round(vms * share * per_vm[0])
        return self.want.within(Cell(jobs, maps, round(vms * per_vm[1] - maps * per_vm[1] / per_vm[0])))

    def balanced(self, cell: Cell, tries: int) -> Cell:
        """As many VMs, shared among the kinds of slots so that jobs end the earliest, in so many tries."""
        if not self.want.share_of_reduces:
            return cell
        vms, best, shift = cell.vms(self.want.per_vm), self.time(cell), FIRST_SHIFT
        tried = {cell}
        while tries > 0 and shift * vms >= 1.0:
            share = cell.map / self.want.per_vm[0] / vms
            others = [self.cell(vms, share + sign * shift) for sign in (1.0, -1.0)]
            others = [each for each in others if each not in tried and each.vms(self.want.per_vm) <= vms + ROUNDED]
            found = [(self.time(other), other) for other in others]
            tried.update(others)
            tries -= len(others)
            good = min(found, key=lambda each: each[0], default=None)
            if good is not None and good[0] < best * (1.0 - BETTER):
                best, cell = good
            else:
                shift /= 2.0
        return cell

    def fewest(self, cell: Cell, tries: int) -> Cell:
        """The fewest VMs in the cell's proportion on which the promises are kept, by false position.

        The full cell, which no more slots make faster, where none that was tried keeps them.
        """
        want, vms = self.want, cell.vms(self.want.per_vm)
        share = cell.map / want.per_vm[0] / vms
        most = want.full(cell.jobs).vms(want.per_vm)
        low: tuple[float, float] | None = None
        high: tuple[float, float] | None = None
        kept, looked = None, 0
        while tries > 0:
            time, tries, looked = self.time(cell), tries - 1, looked + 1
            if time <= want.limit:
                high, kept = (vms, time), cell
            else:
                low = (vms, time)
            if low is not None and high is not None and high[0] - low[0] <= max(1.0, FINE * high[0]):
                break
            if vms >= most and kept is None:
                break
            vms = min(most, _next(low, high, want.limit, min(FIRST_STEP * 2.0 ** (looked - 1), MOST_STEP)))
            cell = self.cell(vms, share)
            if kept is not None and (cell == kept or cell.vms(want.per_vm) >= kept.vms(want.per_vm)):
                break
        return kept or want.full(cell.jobs)


def _next(low: tuple[float, float] | None, high: tuple[float, float] | None, limit: float, step: float) -> float:
    """Where to look next: between a number of VMs that is too low and one that is enough, else beyond the one known.

    Times fall like 1/VMs, and less where it is single tasks that take long: beyond the one known by ``step`` besides.
    """
    if low is None or high is None:
        vms, time = low or high or (1.0, limit)
        ratio = min(max(time / limit, 1.0 / MOST_GROWTH), MOST_GROWTH)
        return vms * ratio * (1.0 + step if time > limit else 1.0 - step)
    part = 0.5
    if low[1] < float("inf"):
        part = (low[1] - limit) / max(low[1] - high[1], ROUNDING * limit)
    inner = 1.0 / low[0] + (1.0 / high[0] - 1.0 / low[0]) * min(max(part, 0.2), 0.8)
    return 1.0 / inner
