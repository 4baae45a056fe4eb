"""The instances of Cano et al., section 4.1.1: S1 to S5 and L1 to L5, drawn from the printed ranges.

What the paper does not print is ours: slots per VM in S1 to S5 (its VMs have two cores: 2 and 2), the average
durations in L1 to L5 (the printed ranges are of the longest), the days themselves (:mod:`mrdsl.formulas.workloads`)
and the noise of a prediction (10 %). Deadlines of S1 to S5 are the four printed ones in order; L1 to L5 draw among
them. The least demand is 80 % of the expected one, for jobs too, which stay fractional here (the paper rounds theirs).
Table 5a is torn: PUE 1.9, energy 0.0669 and server 2.0615 cents per hour, 2 cores per VM, 4 virtual per physical core
give 1.0943 cents per VM and hour by (73).

Draws come from numpy's `Generator`: the specs drawn are what is kept, not the way to them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mrdsl.core.units import HOUR
from mrdsl.families.joint.facts import Cluster, Demand, JobClass, JointFacts, Service
from mrdsl.families.joint.workload import Floats, executions, service_queues
from mrdsl.spec.blocks import MapPhase, ReducePhase, ShufflePhase, Slots
from mrdsl.spec.schema import Range
from mrdsl.spec.spec import Goal, Spec

CENT = 0.01
CURRENCY = "EUR"
NOISE = 0.1
FLOOR = 0.8
DEADLINES = (900.0, 1100.0, 1300.0, 1500.0)
PROFILES = (
    (370, 64, 30.0, 42.0, 11.0, 37.0, 40.0, 22.0, 44.0),
    (1024, 64, 5.0, 16.0, 13.0, 30.0, 50.0, 53.0, 75.0),
    (168, 64, 34.0, 40.0, 11.0, 24.0, 30.0, 11.0, 14.0),
    (425, 64, 99.0, 120.0, 27.0, 115.0, 142.0, 26.0, 34.0),
)
"""Table 3: map and reduce tasks, map avg, max, first shuffle max, shuffle avg, max, reduce avg, max [s]."""
SHIFTS = {
    "S1": ((0, 0, 0, 0), (0, 0, 0, 0, 0)),
    "S2": ((0, 1, 3, -6), (0, 0, 1, 3, -6)),
    "S3": ((0, -6, -6, -6), (0, 0, 0, 0, -6)),
    "S4": ((-6, -6, -6, -6), (0, 0, 0, 0, 0)),
    "S5": ((-9, -9, -9, -9), (0, 0, 0, 0, 0)),
}
"""Table 4: how many hours each class and service is ahead of the reference time zone."""
CLASSES = {"L1": 100, "L2": 200, "L3": 300, "L4": 400, "L5": 500}
SMALL, LARGE = tuple(SHIFTS), tuple(CLASSES)


def instance(family: str, number: int, concurrency: str = "whole") -> Spec:
    """Instance ``number`` of S1 to S5 or L1 to L5; its cluster's size is the study's to choose.

    ``concurrency`` of its cluster is ``fractional`` as in the paper, or ``whole``; nothing else depends on it.
    """
    draw = np.random.default_rng([ord(family[0]), int(family[1:]), number])
    if family in SHIFTS:
        map_shifts, service_shifts = SHIFTS[family]
        price, classes = 1.0943 * CENT, _table_3(map_shifts)
        services = _services(draw, service_shifts)
    else:
        count = CLASSES[family]
        price, classes = _price(draw), _drawn_classes(draw, count)
        services = _services(draw, (0,) * count)
    classes, services = _with_demand(draw, classes, services)
    cluster = Cluster(
        size=1, vm_cost=price / HOUR, concurrency=concurrency, reuse="paper" if concurrency == "whole" else None
    )
    facts = JointFacts(
        estimates="paper",
        whole="no",
        cluster=cluster,
        classes=classes,
        services=services,
        demand=Demand(periods=24, floor=FLOOR, day="bimodal", noise=NOISE),
    )
    facts = _with_penalties(draw, facts)
    return Spec(
        problem="joint",
        title=f"{family}, instance {number}",
        facts=facts,
        goal=Goal("minimize", "cost"),
        seed=int(draw.integers(1, 2**31)),
        currency=CURRENCY,
    )


def _price(draw: np.random.Generator) -> float:
    """(73) with the ranges of Table 5b."""
    energy, overhead, ratio = draw.uniform(0.06008, 0.0669), draw.uniform(1.2, 2.2), draw.uniform(3, 5)
    return float((overhead * energy + 2.0615) * 2 / ratio) * CENT


def _table_3(shifts: Sequence[int]) -> list[JobClass]:
    return [
        _class(f"m{i}", profile, (2, 2), deadline, hours)
        for i, (profile, deadline, hours) in enumerate(zip(PROFILES, DEADLINES, shifts, strict=True), 1)
    ]


def _drawn_classes(draw: np.random.Generator, count: int) -> list[JobClass]:
    """Table 5b; each average is 60 to 90 % of the longest, as most are in Table 3."""
    classes = []
    for i in range(1, count + 1):
        longest = [draw.uniform(*r) for r in ((16, 120), (30, 150), (15, 75))]
        average = [value * draw.uniform(0.6, 0.9) for value in longest]
        profile = (
            int(draw.integers(70, 1121)),
            64,
            average[0],
            longest[0],
            draw.uniform(10, 30),
            average[1],
            longest[1],
            average[2],
            longest[2],
        )
        slots = int(draw.integers(1, 5)), int(draw.integers(1, 5))
        classes.append(_class(f"m{i}", profile, slots, float(draw.choice(DEADLINES)), -9))
    return classes


def _class(name: str, profile: Sequence[float], slots: tuple[int, int], deadline: float, hours: int) -> JobClass:
    maps, reduces, map_avg, map_max, first, shuffle_avg, shuffle_max, reduce_avg, reduce_max = profile
    return JobClass(
        name=name,
        map=MapPhase(tasks=int(maps), avg=map_avg, max=map_max),
        shuffle=ShufflePhase(first_max=first, avg=shuffle_avg, max=shuffle_max),
        reduce=ReducePhase(tasks=int(reduces), avg=reduce_avg, max=reduce_max),
        slots=Slots(map=slots[0], reduce=slots[1]),
        deadline=deadline,
        penalty=0.0,
        shift=hours * HOUR,
    )


def _services(draw: np.random.Generator, shifts: Sequence[int]) -> list[Service]:
    count = len(shifts)
    delays, speeds = draw.uniform(0.01, 0.5, count), draw.uniform(10, 20, count)
    return [
        Service(
            name=f"w{k}",
            service_rate=float(speed),
            delay=float(delay),
            response=float(10 / speed + 1.5 * delays.max()),
            penalty=0.0,
            shift=hours * HOUR,
        )
        for k, (speed, delay, hours) in enumerate(zip(speeds, delays, shifts, strict=True), 1)
    ]


def _with_demand(
    draw: np.random.Generator, classes: Sequence[JobClass], services: Sequence[Service]
) -> tuple[list[JobClass], list[Service]]:
    """Peaks of 5 to 20 jobs and of 1000 to 2000 requests per second."""
    from dataclasses import replace

    jobs, rates = draw.uniform(5, 20, len(classes)).tolist(), draw.uniform(1000, 2000, len(services)).tolist()
    return (
        [replace(one, jobs=Range(FLOOR * peak, peak)) for one, peak in zip(classes, jobs, strict=True)],
        [replace(one, rate=Range(FLOOR * peak, peak)) for one, peak in zip(services, rates, strict=True)],
    )


def _with_penalties(draw: np.random.Generator, facts: JointFacts) -> JointFacts:
    """Ten times what serving one job or request costs as printed, between the cheapest and the dearest of its kind."""
    from dataclasses import replace

    as_printed = replace(facts.cluster, concurrency="fractional")
    run, queues = executions(facts.classes, as_printed), service_queues(facts.services)
    assert facts.cluster.vm_cost is not None
    jobs = _penalties(draw, run.vms_per_job / run.reuse * facts.cluster.vm_cost * facts.cluster.period)
    requests = _penalties(draw, facts.cluster.vm_cost / queues.rate_per_vm)
    return replace(
        facts,
        classes=tuple(replace(c, penalty=p) for c, p in zip(facts.classes, jobs, strict=True)),
        services=tuple(replace(s, penalty=p) for s, p in zip(facts.services, requests, strict=True)),
    )


def _penalties(draw: np.random.Generator, costs: Floats) -> list[float]:
    penalties: list[float] = draw.uniform(10 * costs.min(), 10 * costs.max(), len(costs)).tolist()
    return penalties
