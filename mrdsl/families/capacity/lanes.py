"""Lanes that some optimal plan leaves unused, found before solving: catalogues have hundreds of them.

Lane k *dominates* lane l if m VMs of k can always replace one VM of l:

- m VMs of k cost no more than the cheapest one of l.
- Every class that can run on l takes on k at most m times its VMs of l.
- The number of VMs of k has no limit of its own, and m VMs of k take no more cores of any quota than one of l.
- k is firm if l is.

Then jobs that take V whole VMs of l take at most m V whole ones of k, at no greater cost, whatever the other jobs do.

A class with a part s of its VM time on spot, 0 < s < 1, has to observe that limit as well. A job of gamma VMs adds
gamma (1 - s) on spot, and -gamma s on firm VMs, to a sum that is at most 0 (:func:`_beyond_spot`). On k it must add no
more than on l. Its firm jobs may hold more slots than the fewest, in fractions. On k they can hold as many VMs as on l
if slots for all tasks take as many there. So some optimum, whole or relaxed, leaves l empty.

If a class stays on one type, lanes of one other type replace both lanes of a type, or none. Comparisons of ``subject
to`` might forbid the replacement, except bounds on jobs of single classes and upper bounds on VMs of single types. With
other comparisons no lane is left out. The same holds if classes share no VM: their slots have to fit VMs piece by
piece, and dominance does not cover that. Lanes of types with contracts, quotas or masters always stay.

Slots beyond the fewest: with more firm VM time a class can have more of its jobs on spot VMs.

A job on any slots that meet its deadline is part of a plan, not only a job on the fewest. `spot = 50%` compares VM time
on spot VMs with that on firm ones. Slots that firm jobs hold without need may therefore save more on spot than they
cost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.lazy import kept
from mrdsl.core.rounding import ROUNDING, SAME_SUM, ceiling, floor
from mrdsl.families.capacity.constraints import class_bounds_of, quotas_in
from mrdsl.families.capacity.facts import MACHINES, NO
from mrdsl.families.capacity.instance import Mix, mix_of, of_lanes
from mrdsl.families.capacity.market import Floats, Market
from mrdsl.spec.spec import Spec

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
    """Return the classes of which a part, and not all, may run on spot VMs, that can run on those and on firm ones."""
    spot = mix.market.spot
    if not spot.any():
        return np.zeros(0, dtype=np.int64)
    some = mix.possible[spot].any(axis=0) & mix.possible[~spot].any(axis=0)
    return np.flatnonzero((mix.spot_share > 0.0) & (mix.spot_share < 1.0) & some)


def spare_of(mix: Mix) -> Spare:
    """Return the spare slots that jobs may hold: a slot for each task, and no more than all jobs on spot can use."""
    market, limits = mix.market, mix.pairs.limits
    rows: list[tuple[int, int, bool, float, float]] = []
    firm = np.flatnonzero(~market.spot)
    kinds = (
        (False, mix.map_slots, limits.map_most, mix.pairs.map_per_vm),
        (True, mix.reduce_slots, limits.reduce_most, mix.pairs.reduce_per_vm),
    )
    for index in limited_classes(mix).tolist():
        useful = useful_time(mix, index)
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

    That needs two conditions: a slot of the larger kind takes a whole number of the smaller slots, and each job may
    hold enough of the smaller ones. Then every VM time is the least one plus some of these slots.
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


def useful_time(mix: Mix, index: int) -> float:
    """Return the most firm VM time that jobs of a class on spot VMs can ask for."""
    spot, share = mix.market.spot, float(mix.spot_share[index])
    gamma = mix.gamma[spot, index]
    dearest = float(gamma[np.isfinite(gamma)].max(initial=0.0))
    return dearest * float(mix.expected[index]) * (1.0 - share) / share


def lacking(mix: Mix, index: int, jobs: Floats) -> float:
    """Return the firm VM time by lane that jobs of a class lack for those on spot VMs; at most 0 if none is lacking."""
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
        """Return the entries and the numbers of additional slots of a class's jobs; None if no number is enough."""
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
        """Return the VMs by lane that these slots take; None if no number of slots is enough."""
        found = self.counts(index, jobs)
        if found is None:
            return None
        taken = np.zeros(len(jobs))
        np.add.at(taken, self.spare.of_lane[found[0]], self.spare.part[found[0]] * found[1])
        return taken

    def of_all(self, jobs: Floats) -> tuple[Floats, Floats]:
        """Return the map and reduce slots beyond the fewest of all classes, (lanes, classes); 0 if none are enough."""
        counts = np.zeros(len(self.spare))
        for index in self.entries:
            found = self.counts(index, jobs[:, index])
            if found is not None:
                counts[found[0]] = found[1]
        return self.spare.slots(counts, self.mix.gamma.shape)


Flags = NDArray[np.bool_]
FEW = 32
"""Most lanes that stay as in the spec, with the model of the paper summed over types."""
MANY = 4_000
"""Each lane is held against each other; a provider's catalogue has some 2,500."""
SAMPLE = 16
"""Classes that are compared first: most lanes differ in one of them."""


def lanes_to_solve(spec: Spec) -> tuple[int, bool]:
    """Return the number of lanes to solve, and True if the spec has enough lanes to leave dominated ones out."""
    lanes = sum(1 + (vm.spot is not None) for vm in spec.facts.vms)
    return (len(solved_mix(spec).market.lanes), True) if lanes > FEW else (lanes, False)


def leaves_lanes_out(spec: Spec) -> bool:
    """Return True if some lanes are left out: what VMs hold piece by piece is then not proven by the others."""
    return len(solved_mix(spec).market.lanes) < sum(1 + (vm.spot is not None) for vm in spec.facts.vms)


def solved_mix(spec: Spec) -> Mix:
    """Return the arrays of a spec for solving: without dominated lanes if there are many lanes."""
    return kept(spec, "solved_mix", lambda: without_dominated(mix_of(spec), spec))


def without_dominated(mix: Mix, spec: Spec) -> Mix:
    """Return the mix without dominated lanes; the numbering of VM types does not change."""
    quotas, others = quotas_in(class_bounds_of(spec).others)
    if not FEW < len(mix.market.lanes) <= MANY or others or mix.wholeness == MACHINES:
        return mix
    if mix.market.stored:
        return mix
    limited = np.array([name in quotas for name in mix.market.names], dtype=bool)
    return of_lanes(mix, np.flatnonzero(~dominated(mix, limited)))


def dominated(mix: Mix, limited: Flags) -> Flags:
    """Return the lanes that others dominate and that need not stay; of lanes that dominate each other, all but one.

    ``limited``: types with a quota in addition to those of the market.
    """
    market = mix.market
    scarce = (limited | np.isfinite(market.available))[market.vm_of_lane]
    contracts = np.zeros(len(market.lanes), dtype=bool)
    contracts[market.lane_of_offer[np.isfinite(market.there)]] = True
    return _dominated(mix, scarce, scarce | contracts | (market.masters[market.vm_of_lane] > 0.0))


def _dominated(mix: Mix, scarce: Flags, stay: Flags) -> Flags:
    market = mix.market
    cheapest = market.cheapest()
    endless = np.where(scarce, np.inf, market.cheapest(np.isinf(market.there)))
    gamma = np.where(mix.possible, mix.gamma, np.inf)
    lanes = _Lanes(mix, gamma, _beyond_spot(mix, gamma), _most_vms(mix), cheapest, endless, stay)
    return _by_type(lanes) if mix.together.any() else _by_lane(lanes)


def _beyond_spot(mix: Mix, gamma: Floats) -> Floats:
    """Return the VMs that one job adds on spot beyond its class's part, (lanes, classes); 0 if there is no limit."""
    share = mix.spot_share
    limited = (share > 0.0) & (share < 1.0)
    return np.where(limited, gamma, 0.0) * (mix.market.spot[:, None] - share)


def _most_vms(mix: Mix) -> Floats:
    """Return the most firm VMs that one job may hold; 0 on spot and for classes that only use the fewest."""
    vms, limits = mix.market.vm_of_lane, mix.pairs.limits
    both = (limits.map_most, mix.pairs.map_per_vm), (limits.reduce_most, mix.pairs.reduce_per_vm)
    most = sum(tasks[vms] / per_vm[vms] for tasks, per_vm in both)
    of_use = np.zeros(len(mix), dtype=bool)
    of_use[limited_classes(mix)] = True
    return np.where(of_use & ~mix.market.spot[:, None], most, 0.0)


@dataclass(frozen=True)
class _Lanes:
    """Data that decide which lanes dominate which.

    They are the VMs of one job (infinite if it cannot run), those beyond its class's part on spot, and the most that it
    may hold. Prices of VMs and the lanes that always stay complete them.
    """

    mix: Mix
    gamma: Floats
    beyond: Floats
    most: Floats
    cheapest: Floats
    endless: Floats
    stay: Flags

    @property
    def market(self) -> Market:
        return self.mix.market

    def dominating(self, lane: int, there: Flags) -> list[int]:
        """Return the lanes that dominate a lane, of those that are there."""
        times = self._times(lane)
        may = there & (times >= 1.0) & (~self.market.spot | self.market.spot[lane])
        may[lane] = False
        others = np.flatnonzero(may)
        runs = np.flatnonzero(np.isfinite(self.gamma[lane]))
        for part in (runs[:SAMPLE], runs):
            room = (times[others] * (1.0 + SAME_SUM))[:, None] * self.gamma[lane, part]
            beyond = self.beyond[lane, part] + SAME_SUM * np.abs(self.beyond[lane, part])
            at = np.ix_(others, part)
            most = self.most[lane, part] * (1.0 - SAME_SUM)
            fits = (self.gamma[at] <= room) & (self.beyond[at] <= beyond) & (self.most[at] >= most)
            others = others[fits.all(axis=1)]
        if self.mix.sizes is not None:
            others = others[self._fits_by_vector(others, lane, times[others])]
        found: list[int] = others.tolist()
        return found

    def _fits_by_vector(self, others: NDArray[np.int64], lane: int, times: Floats) -> Flags:
        """Return True if ``times`` VMs of other lanes hold any slots of one VM of this lane and are as fast."""
        mix, market = self.mix, self.market
        assert mix.sizes is not None
        runs = np.flatnonzero(mix.possible[lane])
        mine, theirs = int(market.vm_of_lane[lane]), market.vm_of_lane[others]
        there, here = mix.sizes.parts[:, :, theirs][..., runs], mix.sizes.parts[:, :, mine][..., runs]
        room = times[:, None] * here[:, :, None] * (1.0 + SAME_SUM)
        fits = (there <= room).all(axis=(0, 1, 3))
        work, at = mix.work, np.ix_(others, runs)
        for each, stays in ((work.map_work, mix.map_kept), (work.reduce_work, mix.reduce_kept)):
            most = each[lane, runs] * (1.0 + SAME_SUM)
            fits &= ((each[at] <= most) & (stays[at] > 0.0)).all(axis=1)
        fits &= (work.constant[at] <= work.constant[lane, runs] + SAME_SUM).all(axis=1)
        if work.own is not None:
            fits &= ~work.own.exact[:, runs].any() | (theirs == mine)
        limited = np.intersect1d(limited_classes(mix), runs)
        for hosts in mix.pairs.per_vm:
            more = hosts[np.ix_(theirs, limited)] - hosts[mine, limited]
            on_firm = bool(market.spot[lane]) | (more <= 0.0).all(axis=1)
            fits &= np.where(market.spot[others], (more >= 0.0).all(axis=1), on_firm)
        return np.asarray(fits)

    def _times(self, lane: int) -> Floats:
        """Return the number of VMs of each lane that cost no more than one VM of this lane; 1 for lanes that cost 0.

        They also take no more cores of any quota.
        """
        free = self.endless <= 0.0
        price = np.where(free, 1.0, self.endless)
        times = np.where(free, 1.0, np.floor(self.cheapest[lane] * (1.0 + SAME_SUM) / price))
        for cores in self.market.cores_of_quotas:
            counts = cores > 0.0
            fit = np.floor(cores[lane] * (1.0 + SAME_SUM) / np.where(counts, cores, 1.0))
            times = np.where(counts, np.minimum(times, fit), times)
        return times


def _by_lane(lanes: _Lanes) -> Flags:
    """Mark lanes, the last first, that a lane dominates which is not marked yet."""
    out = np.zeros(len(lanes.gamma), dtype=bool)
    for lane in reversed(range(len(out))):
        out[lane] = not lanes.stay[lane] and bool(lanes.dominating(lane, ~out))
    return out


def _by_type(lanes: _Lanes) -> Flags:
    """Return the same of types: each lane of one is dominated by a lane of one and the same other type."""
    out, vms = np.zeros(len(lanes.gamma), dtype=bool), lanes.market.vm_of_lane
    for vm in reversed(range(len(lanes.market.names))):
        mine = np.flatnonzero(vms == vm).tolist()
        found = [{int(vms[other]) for other in lanes.dominating(lane, ~out)} - {vm} for lane in mine]
        out[mine] = not lanes.stay[mine].any() and bool(set.intersection(*found))
    return out
