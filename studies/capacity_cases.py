"""Malekimajd et al. 2015, 5.3 and 5.4, again: how P2 scales, what sharing, many jobs and tighter deadlines cost.

Instances are drawn from the ranges of Table 2, penalties as 5.1 says: ten times what one job of the class costs. What
is not printed is ours: averages are 60 to 90 % of the longest times, a reserved VM costs less than one on demand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import mrdsl
from mrdsl.core.result import Limits, Result, Table
from mrdsl.core.units import HOUR
from mrdsl.families.capacity.facts import CapacityFacts, JobClass, VmType
from mrdsl.families.capacity.instance import instance_of
from mrdsl.simulation.sampling import stream
from mrdsl.spec.blocks import MapPhase, OnDemand, ReducePhase, Reserved, ShufflePhase, Slots
from mrdsl.spec.schema import Range
from mrdsl.spec.spec import Goal, Spec

CENT = 0.01
PENALTY = 10.0
LEAST = 0.9
TIGHTER = 0.05
"""The part of the first deadlines by which each step of 5.4.3 shortens them."""
SECONDS = 30.0
"""The time limit of one plan."""


def drawn(classes: int, seed: int, number: int, reserved: bool = True) -> Spec:
    """An instance of so many classes; the same numbers of classes share no draws."""
    random = stream(seed, "capacity", classes, number)
    rho, delta = sorted((random.uniform(5, 20), random.uniform(5, 40)))
    vm = VmType(
        name="vm",
        on_demand=OnDemand(price=delta * CENT / HOUR),
        reserved=Reserved(price=rho * CENT / HOUR, available=int(random.randint(0, 10 * classes)))
        if reserved
        else None,
    )
    nodes = tuple(_class(random, f"c{i}") for i in range(1, classes + 1))
    facts = CapacityFacts(estimates="paper", vms=(vm,), classes=nodes, whole="no")
    spec = Spec(problem="capacity", title=f"{classes} classes, {number}", facts=facts, goal=Goal("minimize", "cost"))
    costs = instance_of(spec).vms_per_job() * delta * CENT
    priced = tuple(replace(one, penalty=PENALTY * float(cost)) for one, cost in zip(nodes, costs, strict=True))
    return replace(spec, facts=replace(facts, classes=priced))


def _class(random: np.random.RandomState, name: str) -> JobClass:
    """Table 2; the penalty follows from what a job costs."""
    longest = [random.uniform(*ends) for ends in ((16, 120), (30, 150), (15, 75), (10, 30))]
    average = [value * random.uniform(0.6, 0.9) for value in longest[:3]]
    expected = float(random.randint(10, 31))
    return JobClass(
        name=name,
        map=MapPhase(tasks=int(random.randint(70, 701)), avg=average[0], max=longest[0]),
        shuffle=ShufflePhase(first_max=longest[3], avg=average[1], max=longest[1]),
        reduce=ReducePhase(tasks=int(random.randint(32, 65)), avg=average[2], max=longest[2]),
        slots=Slots(map=int(random.randint(1, 5)), reduce=int(random.randint(1, 5))),
        jobs=Range(float(np.ceil(LEAST * expected)), expected),
        deadline=random.uniform(600, 1200),
        penalty=0.0,
        guarantee="average",
    )


def cases(
    output: Path, classes: str = "20,100", instances: int = 2, solver: str = "direct", seed: int = 1
) -> Iterator[Table]:
    """The four studies, each on instances of every size in ``classes``."""
    sizes = [int(size) for size in classes.split(",")]
    yield _scaling(sizes, instances, solver, seed)
    yield _sharing(sizes, instances, solver, seed)
    yield _concurrency(solver, seed)
    yield _tightening(sizes, instances, solver, seed)


def _solved(spec: Spec, solver: str, relax: bool = False) -> Result:
    return mrdsl.solve(spec, solver, relax=relax, limits=Limits(time=SECONDS))


def _value(spec: Spec, solver: str, relax: bool = False) -> float:
    value = _solved(spec, solver, relax).objective.value
    assert value is not None, "every instance has a plan: VMs on demand have no end"
    return value


def _scaling(sizes: Sequence[int], instances: int, solver: str, seed: int) -> Table:
    """5.3: seconds of whole plans, from the checked spec to the verified plan."""
    rows = []
    for size in sizes:
        found = [_solved(drawn(size, seed, number), solver) for number in range(instances)]
        seconds = [sum(result.seconds.values()) for result in found]
        gaps = [100.0 * (result.objective.gap or 0.0) for result in found]
        rows.append((size, instances, float(np.mean(seconds)), max(seconds), max(gaps)))
    heads = ("classes", "instances", "mean [s]", "longest [s]", "largest gap [%]")
    return Table("5.3: time to a proven plan (printed: 0.08 s on average, 1,000 classes below 0.5 s)", heads, rows)


def alone(spec: Spec) -> Iterator[Spec]:
    """The spec of every class by itself."""
    for one in spec.facts.classes:
        yield replace(spec, facts=replace(spec.facts, classes=(one,)))


def _sharing(sizes: Sequence[int], instances: int, solver: str, seed: int) -> Table:
    """5.4.1: one cluster for all classes against one for each, without reserved VMs."""
    rows = []
    for size in sizes:
        parts = []
        for number in range(instances):
            spec = drawn(size, seed, number, reserved=False)
            for relax in (False, True):
                together = _value(spec, solver, relax)
                apart = sum(_value(one, solver, relax) for one in alone(spec))
                parts.append(100.0 * (1.0 - together / apart))
        rows.append((size, instances, float(np.mean(parts[::2])), max(parts[::2]), float(np.abs(parts[1::2]).max())))
    heads = ("classes", "instances", "saved, mean [%]", "saved, most [%]", "with fractions of VMs, most [%]")
    return Table("5.4.1: what sharing one cluster saves (printed: 0.48 %)", heads, rows)


def _concurrency(solver: str, seed: int) -> Table:
    """5.4.2: the cost of one job of a class of 10 to 30 jobs, all admitted."""
    (base,) = drawn(1, seed, 0, reserved=False).facts.classes
    counts, costs = range(10, 31, 5), []
    for jobs in counts:
        spec = drawn(1, seed, 0, reserved=False)
        one = replace(base, jobs=Range(float(jobs), float(jobs)))
        spec = replace(spec, facts=replace(spec.facts, classes=(one,)))
        costs.append([_value(spec, solver, relax) / jobs for relax in (False, True)])
    spread = [100.0 * (max(column) / min(column) - 1.0) for column in zip(*costs, strict=True)]
    rows = [*((str(jobs), *row) for jobs, row in zip(counts, costs, strict=True)), ("spread [%]", *spread)]
    heads = ("jobs", "a job on whole VMs [USD]", "on fractions of VMs [USD]")
    return Table("5.4.2: what a job costs (printed: less than 0.002 % apart)", heads, rows)


def tightened(spec: Spec, part: float) -> Spec:
    """The spec with every deadline shorter by ``part`` of it."""
    classes = tuple(replace(one, deadline=(1.0 - part) * one.deadline) for one in spec.facts.classes)
    return replace(spec, facts=replace(spec.facts, classes=classes))


def _tightening(sizes: Sequence[int], instances: int, solver: str, seed: int) -> Table:
    """5.4.3, figure 9: deadlines shorter by 5 % of what they were, again and again, until no instance has a plan."""
    specs = [drawn(size, seed, number) for size in sizes for number in range(instances)]
    base = [_value(spec, solver) for spec in specs]
    rows = []
    for step in range(round(1.0 / TIGHTER)):
        found = [_solved(tightened(spec, TIGHTER * step), solver).objective.value for spec in specs]
        ratios = [value / first for value, first in zip(found, base, strict=True) if value is not None]
        if not ratios:
            break
        rows.append((100.0 * TIGHTER * step, len(ratios), float(np.mean(ratios)), min(ratios), max(ratios)))
    heads = ("shorter by [%]", "instances with a plan", "times the cost, mean", "least", "most")
    return Table("5.4.3: what tighter deadlines cost (printed: more than 3 times at 60 %)", heads, rows)
