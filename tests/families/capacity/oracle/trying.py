"""The optimum of tiny specs by trying everything: places and slots of every job, then VMs filled piece by piece."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations_with_replacement, product
from math import inf

import numpy as np

from tests.families.capacity.oracle.jobs import keeps, lost
from tests.families.capacity.oracle.program import Lane, runs
from tests.families.capacity.oracle.structure import Contract, Drawn, JobClass, Vm, Work

Held = tuple[Lane, tuple[int, int]]
"""Where one job runs, and its map and reduce slots."""
Pieces = tuple[tuple[tuple[float, float], int], ...]
"""Sizes, as parts of a VM's cores and memory, and how many of each there are."""


def cheapest(drawn: Drawn) -> float:
    """Find the least cost [USD] of a spec without comparisons, in whole slots; infinite if no plan exists."""
    choices = [list(_of_class(drawn, node)) for node in drawn.classes]
    best = inf
    for chosen in product(*choices):
        cost = sum(node.penalty * (node.jobs[1] - len(held)) for node, held in zip(drawn.classes, chosen, strict=True))
        if cost < best:
            best = min(best, cost + sum(_of_type(drawn, place, chosen) for place in range(len(drawn.vms))))
    return best


def _of_class(drawn: Drawn, node: JobClass) -> Iterator[tuple[Held, ...]]:
    """Yield what the jobs of a class may hold: within its part on spot, on one type if it says so."""
    single = [held for lane in _lanes(drawn) for held in _of_job(drawn, node, lane)]
    for count in range(node.jobs[0], node.jobs[1] + 1):
        for chosen in combinations_with_replacement(single, count):
            if node.types == "one" and len({lane[0] for lane, _ in chosen}) > 1:
                continue
            time = {False: 0.0, True: 0.0}
            for lane, pair in chosen:
                job, _ = runs(drawn, node, lane)
                time[lane[1]] += sum(n / c for n, c in zip(pair, job.per_vm, strict=True) if n)
            if node.spot is None or time[True] <= node.spot * sum(time.values()) + 1e-9:
                yield chosen


def _lanes(drawn: Drawn) -> Iterator[Lane]:
    for place, vm in enumerate(drawn.vms):
        yield place, False
        if vm.spot:
            yield place, True


def _of_job(drawn: Drawn, node: JobClass, lane: Lane) -> Iterator[Held]:
    """Yield every pair of whole slots that keeps the deadline of one job in a lane, the fewest or not."""
    found = runs(drawn, node, lane)
    if found is None:
        return
    job, rate = found
    tops = [int(n) + 1 if n else 0 for n in job.most]
    for pair in product(*(range(1, top + 1) if top else (0,) for top in tops)):
        parts = lost(job, pair, rate, drawn.shuffle_service) if rate else (0.0, 0.0)
        if keeps(job, pair, parts):
            yield lane, pair


def _of_type(drawn: Drawn, place: int, chosen: tuple[tuple[Held, ...], ...]) -> float:
    """Buy the VMs of a type: masters and firm ones as cheaply as they come."""
    vm = drawn.vms[place]
    firm = vm.masters + _filled(drawn, (place, False), chosen)
    spot = _filled(drawn, (place, True), chosen) if vm.spot else 0
    if vm.available is not None and firm + spot > vm.available:
        return inf
    prices = sorted([(vm.on_demand, 10**9), *((0.0 if c.paid else c.price, c.available) for c in vm.contracts)])
    cost, left = (spot * (vm.spot[0] + vm.fee) if vm.spot else 0.0), firm
    for price, available in prices:
        taken = min(left, available)
        cost, left = cost + taken * (price + vm.fee), left - taken
    return cost * drawn.period


def _filled(drawn: Drawn, lane: Lane, chosen: tuple[tuple[Held, ...], ...]) -> int:
    """Count the VMs that hold the slots in a lane; each class has its own with ``machines``."""
    groups: dict[int, Counter[tuple[float, float]]] = {}
    for place, (node, held) in enumerate(zip(drawn.classes, chosen, strict=True)):
        slots = groups.setdefault(place if drawn.whole == "machines" else 0, Counter())
        for where, pair in held:
            if where == lane:
                job, _ = runs(drawn, node, lane)
                for size, count in zip(job.sizes, pair, strict=True):
                    if count:
                        slots[size] += count
    return sum(vms_of(tuple(sorted(slots.items()))) for slots in groups.values() if slots)


@lru_cache(maxsize=100_000)
def vms_of(pieces: Pieces) -> int:
    """Count the fewest VMs that hold all pieces: the first piece's VM is filled in every way."""
    if not pieces:
        return 0
    (size, count), *rest = pieces
    best = inf
    left = ((size, count - 1), *rest)
    for after in _fillings(left, (1 - size[0], 1 - size[1])):
        best = min(best, 1 + vms_of(after))
    return int(best)


def _fillings(pieces: Pieces, free: tuple[float, float]) -> Iterator[Pieces]:
    """Yield what is left of the pieces after a VM took what it can: nothing more fits it."""
    left = tuple((size, count) for size, count in pieces if count)
    fitting = [n for n, (size, _) in enumerate(left) if size[0] <= free[0] + 1e-9 and size[1] <= free[1] + 1e-9]
    if not fitting:
        yield left
        return
    seen = set()
    for n in fitting:
        size, count = left[n]
        taken = (*left[:n], (size, count - 1), *left[n + 1 :])
        for after in _fillings(taken, (free[0] - size[0], free[1] - size[1])):
            if after not in seen:
                seen.add(after)
                yield after


def draw_tiny(seed: int) -> Drawn:
    """Draw a spec that trying everything can do: a few tasks, jobs and types."""
    random = np.random.RandomState(seed)
    sized = random.uniform() < 0.5

    def vm(name: str) -> Vm:
        price = round(random.uniform(0.1, 0.4), 3)
        spot = (round(price * 0.4, 3), float(random.choice([0.0, 0.0003, 0.5]))) if random.uniform() < 0.7 else None
        contracts = (Contract("", round(price * 0.6, 3), int(random.randint(0, 3))),) if random.uniform() < 0.4 else ()
        cores, memory = [(4.0, 16.0), (2.0, 8.0), (8.0, 16.0)][random.randint(3)]
        few = int(random.randint(2, 6)) if name == "t1" and random.uniform() < 0.5 else None
        masters = int(random.uniform() < 0.1)
        sizes = (cores, memory) if sized else (None, None)
        return Vm(name, price, contracts, spot, 0.0, few, masters, *sizes)

    def node(name: str) -> JobClass:
        maps, reduces = int(random.randint(1, 5)), int(random.randint(0, 3))
        work = Work(map=(maps, 10.0, 14.0))
        if reduces:
            work = Work(map=(maps, 10.0, 14.0), shuffle=(None, 2.0, 3.0, 4.0), reduce=(reduces, 8.0, 9.0))
        least = int(random.randint(0, 2))
        slots = {"map": int(random.randint(1, 5)), "reduce": int(random.randint(1, 5))}
        container = None
        if sized and random.uniform() < 0.7:
            sizes = [(1.0, 2.0), (1.0, 6.0), (2.0, 2.0), (1.0, 8.0)]
            slots, container = None, {kind: sizes[random.randint(4)] for kind in ("map", "reduce")}
        return JobClass(
            name,
            work,
            (least, least + int(random.randint(1, 3))),
            float(random.randint(25, 90)),
            float(random.choice([0.1, 0.4, 5.0])),
            ["lower", "average", "upper"][random.randint(3)],
            slots,
            container,
            types="one" if random.uniform() < 0.2 else None,
            spot=[None, 0.0, 0.5, 0.4, 0.75][random.randint(5)],
        )

    vms = tuple(vm(f"t{n}") for n in range(random.randint(1, 3)))
    classes = tuple(node(f"c{n}") for n in range(random.randint(1, 3)))
    return Drawn(vms, classes, str(random.choice(["slots", "machines"])))
