"""Random capacity specs of several VM types, and their optimum by trying every placement of jobs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import ceil

import numpy as np

from mrdsl.families.capacity.facts import CapacityFacts, JobClass, VmType
from mrdsl.families.capacity.instance import Mix, mix_of
from mrdsl.spec import Constraint, Spec
from mrdsl.spec.blocks import Container, OnDemand, OnType, Reserved, Resources, Slots, Spot
from mrdsl.spec.expression import Constant, PlanQuantity
from mrdsl.spec.schema import Range
from tests.families.capacity.capacity_specs import HOUR, random_class


def random_types(seed: int, classes: int | None = None, types: int | None = None, jobs: int = 30) -> Spec:
    """Two to five types with some spot, contracts, quotas, masters and fees; classes with speeds and lists of types."""
    random = np.random.RandomState(seed)
    vms = tuple(_vm(random, f"t{number}") for number in range(types or int(random.randint(2, 6))))
    names = [vm.name for vm in vms]
    count = classes or int(random.randint(1, 6))
    return Spec(
        problem="capacity",
        facts=CapacityFacts(
            estimates="paper",
            vms=vms,
            classes=tuple(_class(random, f"c{n}", names, jobs) for n in range(count)),
            whole="no",
        ),
    )


def _vm(random: np.random.RandomState, name: str) -> VmType:
    price = random.uniform(0.05, 0.4)

    def maybe(share: float) -> bool:
        return bool(random.uniform() < share)

    def contract(term: str = "") -> Reserved:
        part = random.uniform(0.3, 0.95)
        return Reserved(
            name=term,
            price=part * price / HOUR,
            available=int(random.randint(0, 60)),
            prepaid="yes" if maybe(0.3) else "no",
        )

    return VmType(
        name=name,
        on_demand=OnDemand(price=price / HOUR),
        reserved=contract() if maybe(0.5) else None,
        terms=(contract("1 year"), contract("3 years")) if maybe(0.2) else (),
        spot=Spot(price=0.4 * price / HOUR, interruptions=random.uniform(0.0, 0.4) / HOUR) if maybe(0.4) else None,
        fee=random.uniform(0.0, 0.05) / HOUR if maybe(0.5) else 0.0,
        available=int(random.randint(5, 200)) if name != "t0" and maybe(0.4) else None,
        masters=1 if maybe(0.1) else 0,
    )


def _class(random: np.random.RandomState, name: str, types: list[str], jobs: int) -> JobClass:
    found = random_class(random, name)
    high = int(random.randint(1, jobs + 1))
    rows = tuple(
        OnType(
            name=each,
            speed=random.uniform(0.7, 1.8),
            slots=Slots(map=int(random.randint(1, 9)), reduce=int(random.randint(1, 9))),
        )
        for each in types
        if random.uniform() < 0.7
    )
    some = tuple(sorted({types[0], *(each for each in types if random.uniform() < 0.5)}))
    chosen = random.uniform()
    return replace(
        found,
        jobs=Range(float(random.randint(0, high + 1)), float(high)),
        on=rows,
        types=("one",) if chosen < 0.3 else some if chosen < 0.6 else (),
        spot=None if random.uniform() < 0.3 else float(random.choice([0.0, 0.3, 0.5])),
    )


def best_by_trying(spec: Spec) -> float:
    """The least cost of any whole plan; infinite where there is none. For a handful of jobs."""
    return best_of(mix_of(spec))


def best_of(mix: Mix) -> float:
    """The same of a mix, whatever lanes it has."""
    placements = [list(_placements(mix, index)) for index in range(len(mix))]
    return min((_cost(mix, np.array(choice).T) for choice in product(*placements)), default=np.inf)


def _placements(mix: Mix, index: int) -> Iterator[tuple[int, ...]]:
    """All numbers of jobs by lane that one class may have."""
    high = int(mix.expected[index])
    lanes = [range(high + 1) if mix.possible[lane, index] else range(1) for lane in range(len(mix.market.lanes))]
    for jobs in product(*lanes):
        if not mix.low[index] <= sum(jobs) <= high:
            continue
        vms = [count * mix.gamma[lane, index] if count else 0.0 for lane, count in enumerate(jobs)]
        spot = sum(each for lane, each in enumerate(vms) if mix.market.lanes[lane].spot)
        if spot > mix.spot_share[index] * sum(vms) + 1e-9:
            continue
        if mix.together[index] and len({mix.market.lanes[lane].vm for lane, count in enumerate(jobs) if count}) > 1:
            continue
        yield jobs


def _cost(mix: Mix, jobs: np.ndarray) -> float:
    """Whole VMs for each lane, bought where they are cheapest."""
    market, total = mix.market, 0.0
    rented = np.zeros(len(market.names))
    for number, lane in enumerate(market.lanes):
        taken = sum(float(mix.gamma[number, i] * n) for i, n in enumerate(jobs[number]) if n)
        needed = ceil(taken - 1e-9) + market.masters_of_lane[number]
        rented[lane.vm] += needed
        for offer in sorted((o for o in market.offers if o.lane == number), key=lambda o: o.price):
            some = min(needed, offer.available)
            total += some * offer.price
            needed -= some
    if (rented > market.available).any():
        return np.inf
    return total + float(mix.penalty @ (mix.expected - jobs.sum(axis=0)))


def varied_types(seed: int, classes: int | None = None, types: int | None = None, jobs: int = 30) -> Spec:
    """:func:`random_types` with containers in some classes and comparisons of shares, types and costs in some specs."""
    spec = random_types(seed, classes, types, jobs)
    random = np.random.RandomState(10_000 + seed)
    cores = [int(random.choice([4, 8, 16])) for _ in spec.facts.vms]
    vms = tuple(
        replace(vm, cores=float(each), memory=each * float(random.choice([2, 4, 8])) * GIB)
        for vm, each in zip(spec.facts.vms, cores, strict=True)
    )
    nodes = tuple(_contained(random, each) if random.uniform() < 0.4 else each for each in spec.facts.classes)
    drawn = [comparison(random.uniform(0.05, 0.6)) for comparison in COMPARISONS if random.uniform() < 0.2]
    return replace(spec, facts=replace(spec.facts, vms=vms, classes=nodes), constraints=tuple(drawn))


GIB = 2.0**30
COMPARISONS = (
    lambda part: Constraint(PlanQuantity("share", "spot"), "<=", Constant(part)),
    lambda part: Constraint(PlanQuantity("share", "reserved"), ">=", Constant(part / 4.0)),
    lambda part: Constraint(PlanQuantity("share", "on_demand"), "<=", Constant(part + 0.3)),
    lambda part: Constraint(PlanQuantity("vms", "t1"), "<=", Constant(float(round(200 * part)))),
    lambda part: Constraint(PlanQuantity("vms", "t0"), ">=", Constant(float(round(40 * part)))),
    lambda part: Constraint(PlanQuantity("cost", "t0"), "<=", Constant(30.0 * part)),
)


def _contained(random: np.random.RandomState, node: JobClass) -> JobClass:
    """The class with containers in the place of slots, but on types of which it says its own."""

    def task() -> Resources:
        return Resources(cores=float(random.choice([0.5, 1, 2])), memory=float(random.choice([1, 2, 3, 6])) * GIB)

    return replace(node, slots=None, container=Container(map=task(), reduce=task()))
