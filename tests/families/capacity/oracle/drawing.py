"""Seeded specs from all of the language of capacity, small enough for the oracle to prove."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.families.capacity.oracle.structure import Contract, Drawn, JobClass, On, Row, Stage, Vm, Work

RATES = (0.0, 0.0003, 0.0003, 0.002, 0.05)
"""Interruptions of a VM in an hour."""
SIZES = ((4.0, 16.0), (4.0, 8.0), (8.0, 16.0), (8.0, 32.0), (2.0, 16.0))
"""Cores and GiB of a VM."""


def draw(seed: int) -> Drawn:
    """Draw a spec; the same seed draws the same spec."""
    random = np.random.RandomState(seed)
    whole = random.choice(["no", "slots", "slots", "slots", "machines"])
    containers = random.uniform() < 0.35
    vms = tuple(_vm(random, f"t{n}", containers) for n in range(random.choice([1, 2, 2, 3])))
    count = int(random.choice([1, 1, 2, 2, 3]))
    classes = tuple(_class(random, f"c{n}", vms, containers) for n in range(count))
    period = float(random.choice([1.0, 1.0, 1.0, 2.0, 24.0]))
    drawn = Drawn(vms, classes, None if whole == "slots" and random.uniform() < 0.3 else str(whole), period)
    if random.uniform() < 0.15:
        drawn = replace(drawn, shuffle_service=True)
    if random.uniform() < 0.35:
        drawn = replace(drawn, rows=tuple(_rows(random, drawn)))
    return drawn


def _maybe(random: np.random.RandomState, share: float) -> bool:
    return bool(random.uniform() < share)


def _round(value: float, digits: int = 3) -> float:
    return round(float(value), digits)


def _vm(random: np.random.RandomState, name: str, sized: bool) -> Vm:
    price = _round(random.uniform(0.05, 0.4))
    contracts = []
    if _maybe(random, 0.4):
        terms = [""] if _maybe(random, 0.7) else ["one", "three"]
        for term in terms:
            cost = _round(price * random.uniform(0.3, 0.95))
            contracts.append(Contract(term, cost, int(random.randint(0, 12)), _maybe(random, 0.25)))
    spot = (_round(price * random.uniform(0.25, 0.6)), float(random.choice(RATES))) if _maybe(random, 0.6) else None
    cores, memory = SIZES[random.randint(len(SIZES))] if sized else (None, None)
    return Vm(
        name,
        price,
        tuple(contracts),
        spot,
        _round(random.uniform(0.0, 0.05)) if _maybe(random, 0.3) else 0.0,
        int(random.randint(4, 40)) if name != "t0" and _maybe(random, 0.4) else None,
        int(random.randint(1, 3)) if _maybe(random, 0.15) else 0,
        cores,
        memory,
    )


def _work(random: np.random.RandomState) -> tuple[str, Work]:
    kind = str(random.choice(["phases", "phases", "coefficients", "coefficients", "stages", "map-only"]))
    if kind == "coefficients":
        b = 0.0 if _maybe(random, 0.15) else float(random.randint(100, 3000))
        return kind, Work(coefficients=(float(random.randint(300, 6000)), b, float(random.randint(-20, 100))))

    def phase(most: int) -> tuple[int, float, float]:
        avg = _round(random.uniform(3, 40), 1)
        return int(random.randint(1, most)), avg, _round(avg * random.uniform(1.0, 2.2), 1)

    if kind == "stages":
        stages: list[Stage] = []
        for n in range(random.randint(1, 5)):
            after = tuple(stage.name for stage in stages if _maybe(random, 0.5))
            stages.append(Stage(f"s{n}", *phase(40), after))
        return kind, Work(stages=tuple(stages))
    if kind == "map-only":
        return kind, Work(map=phase(120))
    avg = _round(random.uniform(1, 20), 1)
    first = _round(random.uniform(1, 20), 1)
    shuffle = (_round(first * 0.7, 1) if _maybe(random, 0.4) else None, first, avg, _round(avg * 1.5, 1))
    return kind, Work(map=phase(120), shuffle=shuffle, reduce=phase(40))


def _span(work: Work) -> tuple[float, float]:
    """Bound a deadline: below what most slots keep, above what one slot of each kind keeps."""
    if work.coefficients is not None:
        a, b, c = work.coefficients
        return max(c, 0.0) + (a + b) / 60, max(c, 0.0) + (a + b) / 2
    if work.stages:
        return sum(s.max * 3 for s in work.stages), sum(s.max * 3 + s.tasks * s.avg / 2 for s in work.stages)
    maps, reduces = work.map, work.reduce or (0, 0.0, 0.0)
    shuffle = work.shuffle or (0.0, 0.0, 0.0, 0.0)
    longest = 2 * (maps[2] + reduces[2] + shuffle[3]) + shuffle[1]
    return longest * 0.7, longest + (maps[0] * maps[1] + reduces[0] * (reduces[1] + shuffle[2])) / 3


def _class(random: np.random.RandomState, name: str, vms: tuple[Vm, ...], containers: bool) -> JobClass:
    kind, work = _work(random)
    low, high = _span(work)
    deadline = float(round(low * (max(high, low * 1.1) / low) ** random.uniform(0.05, 1.0)))
    least = int(random.randint(0, 5))
    kinds = ("task",) if kind == "stages" else ("map", "reduce")
    slots, container = {k: int(random.randint(1, 6)) for k in kinds}, None
    if containers and _maybe(random, 0.7):
        sizes = [(1.0, 2.0), (1.0, 6.0), (2.0, 4.0), (1.0, 3.0), (2.0, 2.0), (1.5, 5.0)]
        slots, container = None, {k: sizes[random.randint(len(sizes))] for k in kinds}
    on = {}
    for vm in vms:
        if _maybe(random, 0.3):
            speed = _round(random.uniform(0.5, 2.0), 2) if _maybe(random, 0.8) else None
            other = {k: int(random.randint(1, 6)) for k in kinds} if speed is None or _maybe(random, 0.4) else None
            on[vm.name] = On(speed, other)
    names = [vm.name for vm in vms]
    types: str | tuple[str, ...] | None = None
    if len(vms) > 1 and _maybe(random, 0.3):
        chosen = tuple(n for n in names if _maybe(random, 0.6))
        types = "one" if _maybe(random, 0.5) else (chosen or ("t0",))
    spot = [None, None, 0.0, 0.5, 0.4, 0.25, 0.75, 1.0][random.randint(8)]
    interrupted = any(vm.spot and vm.spot[1] for vm in vms)
    return JobClass(
        name,
        work,
        (least, max(1, least + int(random.randint(0, 5)))),
        deadline,
        _round(float(random.choice([0.0, 0.2, 1.0, 5.0, 20.0, 60.0])) * random.uniform(0.5, 1.5), 2),
        None if kind == "coefficients" else [None, "average", "upper", "lower"][random.randint(4)],
        slots,
        container,
        on,
        types,
        0.0 if kind == "stages" and interrupted else spot,
    )


def _rows(random: np.random.RandomState, drawn: Drawn) -> list[Row]:
    node = drawn.classes[random.randint(len(drawn.classes))]
    vm = drawn.vms[random.randint(len(drawn.vms))]
    below = [
        Row("vms", None, "<=", float(random.randint(5, 80))),
        Row("vms", vm.name, "<=", float(random.randint(1, 20))),
        Row("cost", None, "<=", float(random.randint(2, 200))),
        Row("cost", vm.name, "<=", float(random.randint(1, 20))),
        Row("share", "spot", "<=", _round(random.uniform(0.1, 0.7), 2)),
        Row("share", "reserved", ">=", _round(random.uniform(0.05, 0.4), 2)),
        Row("share", "on_demand", "<=", _round(random.uniform(0.3, 0.9), 2)),
        Row("admitted", node.name, ">=", float(node.jobs[1])),
        Row("admitted", node.name, "<=", float(node.jobs[0])),
        Row("completion", node.name, "<=", float(round(node.deadline * random.uniform(0.6, 1.0)))),
        Row("vms", vm.name, ">=", float(random.randint(1, 6))),
    ]
    return [below[random.randint(len(below))] for _ in range(random.randint(1, 3))]
