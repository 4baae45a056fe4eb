"""Capacity specs built in Python: the reference spec and random instances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mrdsl.families.capacity.facts import CapacityFacts, Coefficients, JobClass, VmType
from mrdsl.spec import Constraint, Spec
from mrdsl.spec.blocks import MapPhase, OnDemand, ReducePhase, Reserved, ShufflePhase, Slots
from mrdsl.spec.schema import Range

HOUR = 3600.0


def reference() -> Spec:
    """models/capacity/reference.mrspec, by hand."""
    return capacity(
        (
            JobClass(
                name="twitter",
                map=MapPhase(tasks=370, avg=30.0, max=42.0),
                shuffle=ShufflePhase(first_avg=8.0, first_max=11.0, avg=37.0, max=40.0),
                reduce=ReducePhase(tasks=64, avg=22.0, max=44.0),
                slots=Slots(map=2, reduce=1),
                jobs=Range(9, 10),
                deadline=900.0,
                penalty=12.5,
            ),
            JobClass(
                name="sort",
                map=MapPhase(tasks=1024, avg=5.0, max=16.0),
                shuffle=ShufflePhase(first_avg=10.0, first_max=13.0, avg=30.0, max=50.0),
                reduce=ReducePhase(tasks=64, avg=53.0, max=75.0),
                slots=Slots(map=2, reduce=1),
                jobs=Range(18, 20),
                deadline=1200.0,
                penalty=2.5,
                guarantee="upper",
            ),
            JobClass(
                name="reporting",
                coefficients=Coefficients(A=5400.0, B=1250.0, C=95.0),
                slots=Slots(map=4, reduce=2),
                jobs=Range(4, 6),
                deadline=600.0,
                penalty=20.0,
            ),
        )
    )


def capacity(
    classes: Sequence[JobClass],
    *,
    on_demand: float = 0.192,
    reserved: float | None = 0.121,
    available: int = 40,
    constraints: tuple[Constraint, ...] = (),
) -> Spec:
    """A spec with one VM type; prices per hour."""
    vm = VmType(
        name="m5",
        on_demand=OnDemand(price=on_demand / HOUR),
        reserved=None if reserved is None else Reserved(price=reserved / HOUR, available=available),
    )
    return Spec(
        problem="capacity",
        facts=CapacityFacts(estimates="paper", vms=(vm,), classes=classes, whole="no"),
        constraints=constraints,
    )


def random_class(random: np.random.RandomState, name: str, penalty_scale: float = 1.0) -> JobClass:
    """A class drawn from the paper's Table 2; averages are 50 to 100 % of the longest times."""
    longest = {
        "map": random.uniform(16, 120),
        "shuffle": random.uniform(30, 150),
        "reduce": random.uniform(15, 75),
        "first": random.uniform(10, 30),
    }
    share = random.uniform(0.5, 1.0)
    expected = int(random.randint(1, 31))
    return JobClass(
        name=name,
        map=MapPhase(tasks=int(random.randint(70, 701)), avg=share * longest["map"], max=longest["map"]),
        shuffle=ShufflePhase(first_max=longest["first"], avg=share * longest["shuffle"], max=longest["shuffle"]),
        reduce=ReducePhase(tasks=int(random.randint(32, 65)), avg=share * longest["reduce"], max=longest["reduce"]),
        slots=Slots(map=int(random.randint(1, 5)), reduce=int(random.randint(1, 5))),
        jobs=Range(float(random.randint(0, expected + 1)), float(expected)),
        deadline=random.uniform(900, 1500),
        penalty=penalty_scale * random.uniform(0.2, 6.0),
    )


def random_spec(seed: int, classes: int | None = None) -> Spec:
    """A small instance in which reserved VMs, penalties and both prices all play a part."""
    random = np.random.RandomState(seed)
    count = int(random.randint(1, 9)) if classes is None else classes
    drawn = tuple(random_class(random, f"c{i}") for i in range(count))
    on_demand = random.uniform(0.05, 0.4)
    return capacity(
        drawn,
        on_demand=on_demand,
        reserved=random.uniform(0.3, 0.95) * on_demand,
        available=int(random.randint(0, 250 * count)),
    )
