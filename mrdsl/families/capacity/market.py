"""VMs to rent: kinds of VMs, their purchase options, and the cost of each for one period.

A *lane* is a VM type in one reliability: firm (on demand or reserved), or spot, which the provider may reclaim. Jobs
run in a lane; *offers* sell VMs, and several offers may serve one lane.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.lazy import kept
from mrdsl.families.capacity.facts import CapacityFacts
from mrdsl.formulas.quotas import CoreQuota, core_quotas
from mrdsl.formulas.spot_losses import InLanes, Lane
from mrdsl.model.ledger import ON_DEMAND as ON_DEMAND
from mrdsl.model.ledger import RESERVED as RESERVED
from mrdsl.model.ledger import SPOT as SPOT
from mrdsl.model.market import masters_of, offers_of, prepaid_price
from mrdsl.spec.columns import column

Floats = NDArray[np.float64]

FIRM = "firm"
GIB = 2.0**30


@dataclass(frozen=True)
class Offer:
    """A way of buying VMs for a lane: the price of one for a period, fee included, and how many there are.

    ``term`` names one of several contracts.
    """

    lane: int
    way: str
    price: float
    available: float = np.inf
    term: str = ""

    @property
    def label(self) -> str:
        """The way of buying, with the contract's name."""
        return f"{self.way} {self.term}" if self.term else self.way


@dataclass(frozen=True)
class Market(InLanes):
    """All VM types: their lanes and offers, the VMs of each, and the number of masters.

    ``sunk`` is the cost of prepaid contracts. A plan's cost does not include it. ``disks`` are the sizes of the
    disks of each type, and ``disk_prices`` the cost of one VM's disk for a period. ``stored`` is the data, with its
    copies, that the disks of firm VMs without masters hold [B].
    """

    names: tuple[str, ...]
    lanes: tuple[Lane, ...]
    offers: tuple[Offer, ...]
    available: Floats
    masters: Floats
    sunk: float
    quotas: tuple[CoreQuota, ...] = ()
    disks: Floats | None = None
    stored: float = 0.0
    disk_prices: Floats | None = None

    def cost_of_disks(self, bought: Floats) -> float:
        """Return the part of the cost of the given VMs of each offer that pays for their disks."""
        if self.disk_prices is None:
            return 0.0
        return float(self.disk_prices[self.vm_of_lane[self.lane_of_offer]] @ bought)

    @cached_property
    def stored_by_lane(self) -> Floats:
        """Data [GiB] that one VM of each lane holds: on spot none."""
        disks = np.zeros(len(self.names)) if self.disks is None else self.disks
        return np.where(self.spot, 0.0, disks[self.vm_of_lane] / GIB)

    @cached_property
    def stored_on_all(self) -> float:
        """Data [GiB] for which the firm VMs have disks, those of masters included; 0 if none is required."""
        if not self.stored:
            return 0.0
        return self.stored / GIB + float(self.stored_by_lane @ self.masters_of_lane)

    @cached_property
    def cores_of_quotas(self) -> Floats:
        """The cores of one VM of each lane in each quota, shape (quotas, lanes)."""
        found = [np.where(self.spot == each.spot, each.cores[self.vm_of_lane], 0.0) for each in self.quotas]
        return np.array(found).reshape(len(self.quotas), len(self.lanes))

    @cached_property
    def quota_limits(self) -> Floats:
        """The most cores of each quota."""
        return np.array([each.limit for each in self.quotas])

    def with_fewer_cores(self, cores: Floats) -> Market:
        """Return the market with quotas reduced by these cores, but not below the cores of masters."""
        of_masters = self.cores_of_quotas @ self.masters_of_lane
        limits = np.maximum(self.quota_limits - cores, of_masters).tolist()
        quotas = zip(self.quotas, limits, strict=True)
        return replace(self, quotas=tuple(replace(each, limit=limit) for each, limit in quotas))

    def cores_in_quotas(self, bought: Floats) -> Floats:
        """Return the cores of the given VMs of each offer in each quota."""
        return np.asarray(self.cores_of_quotas[:, self.lane_of_offer] @ bought)

    @cached_property
    def masters_of_lane(self) -> Floats:
        """VMs of each lane that hold no slots: masters are firm."""
        return np.where(self.spot, 0.0, self.masters[self.vm_of_lane])

    @cached_property
    def of_masters(self) -> float:
        """Least cost of the masters, part of the cost of every plan."""
        return float(self.prices @ self.buy(self.masters_of_lane))

    @cached_property
    def prices(self) -> Floats:
        """The price of each offer for one period."""
        return np.array([offer.price for offer in self.offers])

    @cached_property
    def lane_of_offer(self) -> NDArray[np.int64]:
        """The lane that each offer serves."""
        return np.array([offer.lane for offer in self.offers], dtype=np.int64)

    @cached_property
    def there(self) -> Floats:
        """Available VMs of each offer."""
        return np.array([offer.available for offer in self.offers])

    def cheapest(self, offers: NDArray[np.bool_] | slice = slice(None)) -> Floats:
        """Return the least price in each lane among all offers or some; infinite if there is none."""
        found = np.full(len(self.lanes), np.inf)
        np.minimum.at(found, self.lane_of_offer[offers], self.prices[offers])
        return found

    def buy(self, needed: Floats, there: Floats | None = None) -> Floats:
        """Return the VMs to buy by offer for the needed VMs of each lane, the cheapest first, as far as available.

        ``there`` are the VMs of each offer, by default those that are available.
        """
        there = self.there if there is None else there
        bought = np.zeros(len(self.offers))
        left = needed.copy()
        for turn in self._turns:
            lanes = self.lane_of_offer[turn]
            bought[turn] = np.minimum(left[lanes], there[turn])
            left[lanes] -= bought[turn]
        return bought

    @cached_property
    def _turns(self) -> list[NDArray[np.int64]]:
        """The cheapest offer of each lane, then the next one of those that have more."""
        order = np.lexsort((self.prices, self.lane_of_offer))
        lanes = self.lane_of_offer[order]
        rank = np.arange(len(order)) - np.searchsorted(lanes, lanes)
        return [order[rank == turn] for turn in range(int(rank.max(initial=-1)) + 1)]

    @cached_property
    def kinds(self) -> list[tuple[str, str]]:
        """The type of each lane, and whether its VMs are firm or spot."""
        return [(self.names[lane.vm], SPOT if lane.spot else FIRM) for lane in self.lanes]

    @cached_property
    def ways(self) -> list[tuple[str, str, str]]:
        """The type of each offer, the way of buying and the contract's name."""
        return [(self.names[self.lanes[offer.lane].vm], offer.way, offer.term) for offer in self.offers]

    def offers_of(self, vm: int) -> Iterator[tuple[int, Offer]]:
        """Yield the offers of a VM type, with their numbers."""
        return ((number, offer) for number, offer in enumerate(self.offers) if self.lanes[offer.lane].vm == vm)


def market_of(facts: CapacityFacts) -> Market:
    """Return the market of a spec that has passed its checks, cached with it."""
    return kept(facts, "market", lambda: _market_of(facts))


def _market_of(facts: CapacityFacts) -> Market:
    lanes: list[Lane] = []
    offers: list[Offer] = []
    for number, vm in enumerate(facts.vms):
        lane = {RESERVED: len(lanes), ON_DEMAND: len(lanes), SPOT: len(lanes) + 1}
        lanes += [Lane(number), *([] if vm.spot is None else [Lane(number, True, vm.spot.interruptions)])]
        for each in offers_of(vm):
            offers.append(Offer(lane[each.way], each.way, each.price * facts.period, each.available, each.term))
    return Market(
        tuple(vm.name for vm in facts.vms),
        tuple(lanes),
        tuple(offers),
        np.array([np.inf if vm.available is None else float(vm.available) for vm in facts.vms]),
        np.array(masters_of(facts)),
        sum(map(prepaid_price, facts.vms)) * facts.period,
        core_quotas(facts),
        np.nan_to_num(column(facts.vms, "disk.size")),
        0.0 if facts.hdfs is None else facts.hdfs.data * facts.hdfs.replication,
        np.nan_to_num(column(facts.vms, "disk.size")) * column(facts.vms, "disk.price", missing=0.0) * facts.period,
    )
