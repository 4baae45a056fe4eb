"""Lanes of which some optimal plan uses none, found before anything is solved: catalogues have hundreds of them.

Lane k *dominates* lane l where one VM of l can always be replaced by m VMs of k: m of them cost no more than the
cheapest one of l, every class that can run on l takes on k at most m times its VMs of l, k is to be had in any number,
and it is firm where l is. Then jobs that take V whole VMs of l take at most m V whole ones of k, at no greater cost,
whatever the other jobs do. A class of whose VM time a part s, 0 < s < 1, may be spot has to keep that as well: a job of
gamma VMs adds gamma (1 - s) on spot and -gamma s on firm ones to a sum that is at most 0 (:func:`_beyond_spot`), and
adds no more of it on k than on l. Its firm jobs may hold more slots than the fewest, in fractions: on k they can hold
as many VMs as on l, where slots for all tasks take as many there. So some optimum, whole or relaxed, leaves l empty.
Where a class stays on one type, both lanes of a type are replaced by lanes of one other type or none is. Comparisons of
``subject to`` other than bounds on jobs of single classes and from above on VMs of single types might forbid the
replacement: with them nothing is left out, nor where no VM is shared between classes: then their slots have to fit VMs
piece by piece, which this does not say. Lanes of types with contracts, quotas or masters
stay, whether dominated or not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.kept_values import kept
from mrdsl.core.tolerances import SAME_SUM
from mrdsl.families.capacity.class_bounds import class_bounds_of, quotas_in
from mrdsl.families.capacity.facts import MACHINES
from mrdsl.families.capacity.market import Floats, Market
from mrdsl.families.capacity.mix import Mix, mix_of, of_lanes
from mrdsl.families.capacity.spare_slots import limited_classes
from mrdsl.spec.spec import Spec

Flags = NDArray[np.bool_]
FEW = 32
"""So many lanes are kept as the spec has them: its model is that of the paper, summed over types."""
MANY = 4_000
"""Each lane is held against each other; a provider's catalogue has some 2,500."""
SAMPLE = 16
"""Classes that are compared first: most lanes differ in one of them."""


def lanes_to_solve(spec: Spec) -> tuple[int, bool]:
    """How many lanes are solved, and whether the spec has so many that dominated ones are left out."""
    lanes = sum(1 + (vm.spot is not None) for vm in spec.facts.vms)
    return (len(solved_mix(spec).market.lanes), True) if lanes > FEW else (lanes, False)


def leaves_lanes_out(spec: Spec) -> bool:
    """Whether some lanes are left out: what VMs hold piece by piece is then not proven by the others."""
    return len(solved_mix(spec).market.lanes) < sum(1 + (vm.spot is not None) for vm in spec.facts.vms)


def solved_mix(spec: Spec) -> Mix:
    """The arrays of a spec as they are solved: without dominated lanes, where there are many lanes."""
    return kept(spec, "solved_mix", lambda: without_dominated(mix_of(spec), spec))


def without_dominated(mix: Mix, spec: Spec) -> Mix:
    """The mix without dominated lanes; all VM types keep their numbers."""
    quotas, others = quotas_in(class_bounds_of(spec).others)
    if not FEW < len(mix.market.lanes) <= MANY or others or mix.wholeness == MACHINES:
        return mix
    limited = np.array([name in quotas for name in mix.market.names], dtype=bool)
    return of_lanes(mix, np.flatnonzero(~dominated(mix, limited)))


def dominated(mix: Mix, limited: Flags) -> Flags:
    """The lanes that others dominate, of lanes that dominate each other all but one, and that need not stay.

    ``limited``: types with a quota besides those of the market.
    """
    market = mix.market
    scarce = (limited | np.isfinite(market.available))[market.vm_of_lane]
    contracts = np.zeros(len(market.lanes), dtype=bool)
    contracts[market.lane_of_offer[np.isfinite(market.there)]] = True
    return _dominated(mix, scarce, scarce | contracts | (market.masters[market.vm_of_lane] > 0.0))


def dominated_without_limits(mix: Mix) -> Flags:
    """The lanes that others would dominate if there were any number of VMs: no plan that finds room on those that are
    left need be dearer for it. None of more than can be held against each other."""
    none = np.zeros(len(mix.market.lanes), dtype=bool)
    return none if len(none) > MANY else _dominated(mix, none, none)


def _dominated(mix: Mix, scarce: Flags, stay: Flags) -> Flags:
    market = mix.market
    cheapest = market.cheapest()
    endless = np.where(scarce, np.inf, market.cheapest(np.isinf(market.there)))
    gamma = np.where(mix.possible, mix.gamma, np.inf)
    lanes = _Lanes(mix, gamma, _beyond_spot(mix, gamma), _most_vms(mix), cheapest, endless, stay)
    return _by_type(lanes) if mix.together.any() else _by_lane(lanes)


def _beyond_spot(mix: Mix, gamma: Floats) -> Floats:
    """What one job adds to its class's VMs on spot beyond the part of all that may be; 0 where there is no limit."""
    share = mix.spot_share
    limited = (share > 0.0) & (share < 1.0)
    return np.where(limited, gamma, 0.0) * (mix.market.spot[:, None] - share)


def _most_vms(mix: Mix) -> Floats:
    """The most firm VMs that one job may hold; 0 on spot, and where its class has no use for more than the fewest."""
    vms, limits = mix.market.vm_of_lane, mix.pairs.limits
    both = (limits.map_most, mix.pairs.map_per_vm), (limits.reduce_most, mix.pairs.reduce_per_vm)
    most = sum(tasks[vms] / per_vm[vms] for tasks, per_vm in both)
    of_use = np.zeros(len(mix), dtype=bool)
    of_use[limited_classes(mix)] = True
    return np.where(of_use & ~mix.market.spot[:, None], most, 0.0)


@dataclass(frozen=True)
class _Lanes:
    """What decides which lanes dominate which: VMs of one job (infinite where there are none), those beyond its class's
    part on spot and the most that it may hold, prices of VMs, and the lanes that stay in any case."""

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
        """The lanes that dominate a lane, of those that are there."""
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
        """Whether so many VMs of other lanes have room for any slots on one of this, which do as much there."""
        mix, market = self.mix, self.market
        assert mix.sizes is not None
        runs = np.flatnonzero(mix.possible[lane])
        mine, theirs = int(market.vm_of_lane[lane]), market.vm_of_lane[others]
        there, here = mix.sizes.parts[:, :, theirs][..., runs], mix.sizes.parts[:, :, mine][..., runs]
        room = times[:, None] * here[:, :, None] * (1.0 + SAME_SUM)
        fits = (there <= room).all(axis=(0, 1, 3))
        work, at = mix.pairs.work, np.ix_(theirs, runs)
        for each, stays in ((work.map_work, mix.map_kept), (work.reduce_work, mix.reduce_kept)):
            most = each[mine, runs] / stays[lane, runs] * (1.0 + SAME_SUM)
            fits &= (each[at] / np.maximum(stays[np.ix_(others, runs)], SAME_SUM) <= most).all(axis=1)
        fits &= (work.constant[at] <= work.constant[mine, runs] + SAME_SUM).all(axis=1)
        limited = np.intersect1d(limited_classes(mix), runs)
        for hosts in mix.pairs.per_vm:
            more = hosts[np.ix_(theirs, limited)] - hosts[mine, limited]
            on_firm = bool(market.spot[lane]) | (more <= 0.0).all(axis=1)
            fits &= np.where(market.spot[others], (more >= 0.0).all(axis=1), on_firm)
        return np.asarray(fits)

    def _times(self, lane: int) -> Floats:
        """How many VMs of each lane cost no more than one of this; of those that cost nothing, one."""
        free = self.endless <= 0.0
        price = np.where(free, 1.0, self.endless)
        return np.where(free, 1.0, np.floor(self.cheapest[lane] * (1.0 + SAME_SUM) / price))


def _by_lane(lanes: _Lanes) -> Flags:
    """Marks lanes, the last first, that a lane dominates which is not marked yet."""
    out = np.zeros(len(lanes.gamma), dtype=bool)
    for lane in reversed(range(len(out))):
        out[lane] = not lanes.stay[lane] and bool(lanes.dominating(lane, ~out))
    return out


def _by_type(lanes: _Lanes) -> Flags:
    """The same of types: each lane of one is dominated by a lane of one and the same other type."""
    out, vms = np.zeros(len(lanes.gamma), dtype=bool), lanes.market.vm_of_lane
    for vm in reversed(range(len(lanes.market.names))):
        mine = np.flatnonzero(vms == vm).tolist()
        found = [{int(vms[other]) for other in lanes.dominating(lane, ~out)} - {vm} for lane in mine]
        out[mine] = not lanes.stay[mine].any() and bool(set.intersection(*found))
    return out
