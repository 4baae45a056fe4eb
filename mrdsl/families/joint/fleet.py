"""Arrays of a joint spec with VM types: the VMs of one job, and the rate of one VM, in each lane.

A *lane* is a VM type, firm or on spot. All VMs of a class or service in a lane are its own. Services use firm VMs. A
type that answers ``speed`` times as fast has the service rate ``speed * mu``: with processor sharing the mean response
(2) depends on the service times through their mean alone, so (49) holds with that rate. The bound on the response holds
on the VMs of each type, which is linear. A mean over types would let slow VMs exceed it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.lazy import kept
from mrdsl.core.rounding import ROUNDING, ceiling
from mrdsl.families.joint.facts import SLOTS, JointFacts, VmType, wholeness_of
from mrdsl.families.joint.quantities import response_limits
from mrdsl.families.joint.workload import expected_demand, other_counts, reuse_factor
from mrdsl.formulas import mapreduce, workloads
from mrdsl.formulas.estimates import stage_counts
from mrdsl.formulas.pairs import Floats, Pairs, kept_together, pairs_of
from mrdsl.formulas.quotas import CoreQuota, core_quotas
from mrdsl.formulas.spot_losses import InLanes, Lane, slots_in_lanes, spot_shares
from mrdsl.model.market import offers_of
from mrdsl.simulation.simulated_means import time_model
from mrdsl.spec.blocks import Stage, any_rows, dags_of, shared_rows
from mrdsl.spec.columns import column, names_of

if TYPE_CHECKING:
    from mrdsl.spec.spec import Spec


MOST_COMPARED = 100_000
"""Numbers of concurrent jobs that are compared to find the useful numbers of rounds; beyond, all numbers are kept."""


@dataclass(frozen=True)
class Fleet(InLanes):
    """A joint spec with VM types as arrays; units are its classes, then its services.

    Attributes:
        class_names: Names of the classes.
        service_names: Names of the services.
        names: Names of the VM types.
        lanes: VM types, firm or on spot.
        prices: Money per VM and period, fees included, shape (lanes,).
        contracts: The most VMs under contract of each type, shape (types,).
        contract_prices: Money per committed VM and period; 0 if prepaid, shape (types,).
        on_demand: Money per period that a VM under contract costs less than another firm one, shape (types,).
        prepaid: True for types whose contracts are paid in any case, shape (types,).
        available: The most VMs of each type, infinite if not limited, shape (types,).
        quotas: Quotas of cores.
        size: The most VMs of all types, infinite if not limited.
        low: Least demand, shape (periods, units).
        high: Expected demand, shape (periods, units); 0 of units that no lane serves and that need not be served.
        lost: Expected demand beyond ``high``.
        penalty: Money per rejected job, or per period and rejected request per second, shape (units,).
        reuse: Rounds of jobs in a period, shape (classes,).
        pairs: Classes on types.
        slots: Map and reduce slots of one job, each of the shape (lanes, classes).
        kept: Parts of both whose work is not lost.
        gamma: VMs of one job, infinite if it cannot run in the lane, shape (lanes, classes).
        speeds: Requests per second that a VM works off, shape (lanes, services).
        delay: Network delay of requests [s], shape (services,).
        rate_per_vm: Requests per second of a VM within the bound on the response, 0 if it may not answer.
        spot_share: Part of the VMs that may be on spot, shape (classes,).
        together: Classes whose jobs of a period are all on one type.
        stages: Stages of each class, 0 for map and reduce phases, shape (classes,).
        dags: Stages by class.
        whole: Slots are whole.
    """

    class_names: Sequence[str]
    service_names: Sequence[str]
    names: tuple[str, ...]
    lanes: tuple[Lane, ...]
    prices: Floats
    contracts: Floats
    contract_prices: Floats
    on_demand: Floats
    prepaid: NDArray[np.bool_]
    available: Floats
    quotas: tuple[CoreQuota, ...]
    size: float
    low: Floats
    high: Floats
    lost: Floats
    penalty: Floats
    reuse: Floats
    pairs: Pairs
    slots: tuple[Floats, Floats]
    kept: tuple[Floats, Floats]
    gamma: Floats
    speeds: Floats
    delay: Floats
    rate_per_vm: Floats
    spot_share: Floats
    together: NDArray[np.bool_]
    stages: NDArray[np.int64]
    dags: Mapping[str, tuple[Stage, ...]]
    whole: bool
    others: tuple[Fleet, ...] = ()
    """The same fleet with other numbers of rounds, each with the latest deadline that leaves time for them."""

    @property
    def every(self) -> tuple[Fleet, ...]:
        """This one and the others."""
        return self, *self.others

    @property
    def classes(self) -> int:
        """Number of units that are classes; the rest are services."""
        return len(self.class_names)

    @property
    def periods(self) -> int:
        """Number of periods."""
        return int(self.low.shape[0])

    @property
    def names_of_units(self) -> list[str]:
        """Names of classes and services."""
        return [*self.class_names, *self.service_names]

    @cached_property
    def possible(self) -> NDArray[np.bool_]:
        """The lanes in which each unit can run, (lanes, units)."""
        return np.concatenate([np.isfinite(self.gamma), self.rate_per_vm > 0.0], axis=1)

    @property
    def joins_periods(self) -> bool:
        """Return True if VMs are committed for all periods, of which there are several."""
        return self.periods > 1 and bool(((self.contracts > 0.0) & ~self.prepaid).any())

    @property
    def least_prices(self) -> Floats:
        """The least money per VM and period in each lane, shape (lanes,): under contract, and paid by other periods."""
        vms = self.vm_of_lane
        paid = np.zeros_like(self.contract_prices) if self.periods > 1 else self.contract_prices
        less = np.where(self.contracts > 0.0, np.maximum(self.on_demand - paid, 0.0), 0.0)
        return np.where(self.spot, self.prices, self.prices - less[vms])

    @property
    def expected(self) -> Floats:
        """The expected demand, (periods, units)."""
        return self.high + self.lost

    @cached_property
    def cheapest(self) -> Floats:
        """The least price of the VMs for one job of a period or one request per second, (units); infinite if none."""
        with np.errstate(divide="ignore", invalid="ignore"):
            jobs = np.min([one.gamma / one.reuse for one in self.every], axis=0)
            requests = np.where(self.rate_per_vm > 0.0, 1.0 / self.rate_per_vm, np.inf)
        each = np.concatenate([jobs, requests], axis=1)
        found = np.full(each.shape[1], np.inf)
        for lane, price in enumerate(self.least_prices.tolist()):
            runs = np.isfinite(each[lane])
            found[runs] = np.minimum(found[runs], price * each[lane, runs])
        return found

    def upper_times(self, at_once: Floats, map_slots: Floats, reduce_slots: Floats) -> Floats:
        """Compute the upper estimate of a job of each class on its slowest lane [s]; NaN if none runs or it is unknown.

        Args:
            at_once: Concurrent jobs, shape (periods, lanes, classes).
            map_slots: Their map slots.
            reduce_slots: Their reduce slots.

        Returns:
            Times, shape (classes,).
        """
        upper, found = self.pairs.estimates["upper"].at(self.vm_of_lane), np.full(self.classes, -np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            each = map_slots / at_once, reduce_slots / at_once
            for one in self.every:
                used = (np.isclose(each[0], one.slots[0]) & np.isclose(each[1], one.slots[1])).any(axis=0)
                slots = [count * part for count, part in zip(one.slots, one.kept, strict=True)]
                times = mapreduce.completion(upper, np.ones_like(slots[0]), *slots)
                found = np.maximum(found, np.where(used, times, -np.inf).max(axis=0, initial=-np.inf))
        return np.where(np.isfinite(found), found, np.nan)

    def useful(self, lane: int, unit: int, jobs: float, relax: bool) -> dict[int, float]:
        """Return the numbers of rounds, by their place in ``every``, with the most concurrent jobs that may be of use.

        All other numbers, up to ``jobs`` jobs, need as many VMs as one of these. With fractions of jobs at once, the
        fewest VMs of a job in a period decide.
        """
        rounds = np.array([one.reuse[unit] for one in self.every])
        vms = np.array([one.gamma[lane, unit] for one in self.every])
        places = np.flatnonzero(np.isfinite(vms))
        if relax or not len(places):
            places = np.array([np.argmin(vms / rounds)])
        most = jobs / rounds[places] if relax else ceiling(jobs / rounds[places])
        if len(places) == 1 or most.sum() > MOST_COMPARED:
            return dict(zip(places.tolist(), most.tolist(), strict=True))
        which = np.repeat(places, most.astype(np.int64))
        at_once = np.concatenate([np.arange(1.0, each + 1.0) for each in most.tolist()])
        served = np.minimum(at_once * rounds[which], jobs)
        order = np.lexsort((which, -served, ceiling(at_once * vms[which])))
        best = np.maximum.accumulate(np.concatenate([[0.0], served[order]]))[:-1]
        found: dict[int, float] = {}
        for point in order[served[order] > best * (1.0 + ROUNDING)].tolist():
            found[int(which[point])] = max(found.get(int(which[point]), 0.0), float(at_once[point]))
        return dict(sorted(found.items()))

    def period(self, t: int) -> Fleet:
        """Return this fleet in one period only."""
        others = tuple(one.period(t) for one in self.others)
        low, high, lost = (each[t : t + 1] for each in (self.low, self.high, self.lost))
        return replace(self, low=low, high=high, lost=lost, others=others)


def fleet_of(spec: Spec) -> Fleet:
    """Return the arrays of a checked spec with VM types."""
    return kept(spec, "fleet", lambda: _fleet_of(spec))


def _fleet_of(spec: Spec) -> Fleet:
    facts: JointFacts = spec.facts
    period, classes, services = facts.cluster.period, facts.classes, facts.services
    deadline = column(classes, "deadline")
    lanes, prices = _lanes(facts)
    vms = np.array([lane.vm for lane in lanes], dtype=np.int64)
    firm = np.array([[not lane.spot] for lane in lanes], dtype=bool)
    whole = wholeness_of(facts) == SLOTS
    pairs = pairs_of(facts, deadline, time_model(facts, whole))
    slots, kept_parts = slots_in_lanes(facts, lanes, pairs, whole)
    gamma = slots[0] / pairs.map_per_vm[vms] + slots[1] / pairs.reduce_per_vm[vms]
    speeds, allowed = _answers(facts)
    delay, bound = column(services, "delay"), column(services, "response")
    limits = response_limits(spec.constraints)
    bound = np.minimum(bound, [limits.get(name, np.inf) for name in names_of(services)])
    rate = np.maximum(workloads.rate_per_vm(speeds[vms], delay, bound), 0.0) * (allowed[vms] & firm)
    low, expected = expected_demand(spec)
    runs = np.concatenate([np.isfinite(gamma).any(axis=0), (rate > 0.0).any(axis=0)])
    high = np.where(runs | (low > 0.0).any(axis=0), expected, 0.0)
    base = Fleet(
        class_names=names_of(classes),
        service_names=names_of(services),
        names=tuple(names_of(facts.vms)),
        lanes=lanes,
        prices=prices,
        contracts=column(facts.vms, "reserved.available", missing=0.0),
        contract_prices=np.array(
            [0.0 if is_prepaid(vm) or vm.reserved is None else vm.reserved.price * period for vm in facts.vms]
        ),
        on_demand=period * column(facts.vms, "on_demand.price"),
        prepaid=np.array([is_prepaid(vm) for vm in facts.vms], dtype=bool),
        available=np.array([np.inf if vm.available is None else float(vm.available) for vm in facts.vms]),
        quotas=core_quotas(facts),
        size=np.inf if facts.cluster.size is None else float(facts.cluster.size),
        low=low,
        high=high,
        lost=expected - high,
        penalty=np.concatenate([column(classes, "penalty"), period * column(services, "penalty")]),
        reuse=reuse_factor(period, deadline, whole_rounds=True),
        pairs=pairs,
        slots=slots,
        kept=kept_parts,
        gamma=gamma,
        speeds=speeds[vms],
        delay=delay,
        rate_per_vm=rate,
        spot_share=spot_shares(classes),
        together=kept_together(facts),
        stages=stage_counts(classes),
        dags=dags_of(classes),
        whole=whole,
    )
    if facts.cluster.reuse == "paper" or not len(classes):
        return base
    return replace(base, others=tuple(_other_rounds(facts, base)))


def _other_rounds(facts: JointFacts, base: Fleet) -> Iterator[Fleet]:
    """Yield the fleet with more rounds than the deadlines ask for, up to the number of jobs."""
    period, jobs = facts.cluster.period, ceiling(base.expected[:, : base.classes].max(axis=0, initial=0.0))
    for count in other_counts(base.pairs.completion_limit, period, float(jobs.max())):
        fits = (count > base.reuse * (1.0 + ROUNDING)) & (count < jobs + 1.0)
        pairs = base.pairs.within(np.where(fits, period / count, base.pairs.completion_limit)) if fits.any() else None
        if pairs is None:
            continue
        slots, kept_parts = slots_in_lanes(facts, base.lanes, pairs, base.whole)
        gamma = slots[0] / pairs.map_per_vm[base.vm_of_lane] + slots[1] / pairs.reduce_per_vm[base.vm_of_lane]
        gamma = np.where(fits, gamma, np.inf)
        if np.isfinite(gamma).any():
            rounds = np.full_like(base.reuse, count)
            yield replace(base, reuse=rounds, pairs=pairs, slots=slots, kept=kept_parts, gamma=gamma)
        elif count > 1.0:
            return


def _lanes(facts: JointFacts) -> tuple[tuple[Lane, ...], Floats]:
    """Return the lanes, and the price of a VM of each for one period."""
    found: list[tuple[Lane, float]] = []
    for number, vm in enumerate(facts.vms):
        offers = offers_of(vm)
        found.append((Lane(number), offers[0].price))
        if vm.spot is not None and len(facts.classes):
            found.append((Lane(number, True, vm.spot.interruptions), offers[-1].price))
    return tuple(lane for lane, _ in found), facts.cluster.period * np.array([price for _, price in found])


def is_prepaid(vm: VmType) -> bool:
    """Return True if the contracts of a type are paid in any case."""
    return vm.reserved is not None and vm.reserved.prepaid == "yes"


def _answers(facts: JointFacts) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the requests per second that a VM works off, and True if it may, (types, services)."""
    services, names = facts.services, list(names_of(facts.vms))
    speeds = np.tile(column(services, "service_rate"), (len(names), 1))
    allowed = np.ones(speeds.shape, dtype=bool)
    for k, rows in enumerate(shared_rows(services, "on") if any_rows(services, "on") else ()):
        for row in rows:
            speeds[names.index(row.name), k] *= row.speed
    for k, types in enumerate(shared_rows(services, "types") if any_rows(services, "types") else ()):
        allowed[:, k] = not types or np.isin(names, types)
    return speeds, allowed


def refuse_types(spec: Spec, what: str, instead: str = "solve with formulation P2") -> None:
    """Raise MrdslError `needs-one-type` if a spec has VM types."""
    if len(spec.facts.vms):
        vm = spec.facts.vms[0]
        message = f"{what} requires a cluster of one kind of VMs, with `size` and `vm_cost`"
        raise MrdslError([error("needs-one-type", message, vm.span, instead)])
