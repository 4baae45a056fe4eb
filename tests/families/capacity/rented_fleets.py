"""Drawn specs of rented fleets, and their optimum by enumeration: fees by price, masters, quotas of cores.

Every class has map tasks alone and the same slots on a VM: n slots of a lane take `ceil(n / slots per VM)` VMs.
Nothing here is from mrdsl.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import product
from math import ceil, inf
from random import Random


@dataclass(frozen=True)
class Type:
    """A VM type: prices in USD/h, the fee as written, and contracts as pairs of price and number."""

    name: str
    cores: int
    slots: int
    on_demand: float
    spot: float | None
    reserved: tuple[float, int] | None
    prepaid: bool
    available: int | None
    fee: str
    disk: tuple[int, float] | None = None

    def fee_in_money(self) -> float:
        """Compute the fee and the price of the disk, in GiB and USD per GiB and hour, in USD/h."""
        return self.fee_alone() + (self.disk[0] * self.disk[1] if self.disk else 0.0)

    def fee_alone(self) -> float:
        """Compute the fee in USD/h."""
        shares = {
            "": 0.0,
            "25%": 0.25 * self.on_demand,
            "min(25% * on_demand, 0.05 USD/h)": min(0.25 * self.on_demand, 0.05),
            "0.01 USD/h + 10% * on_demand": 0.01 + 0.1 * self.on_demand,
            "0.04 USD/h": 0.04,
        }
        return shares[self.fee]


FEES = ("", "25%", "min(25% * on_demand, 0.05 USD/h)", "0.01 USD/h + 10% * on_demand", "0.04 USD/h")


@dataclass(frozen=True)
class Class:
    """A class: slots of one job, the range of jobs, the penalty, and if it may be on spot."""

    slots: int
    low: int
    high: int
    penalty: float
    spot: bool
    types: tuple[str, ...]
    moved: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Fleet:
    """A drawn spec."""

    types: tuple[Type, ...]
    classes: tuple[Class, ...]
    master: tuple[str, int] | None
    quotas: tuple[tuple[int, tuple[str, ...], bool], ...]
    hdfs: tuple[int, int] | None = None
    data: tuple[float, float] | None = None
    pool: tuple[int, bool, bool] | None = None


def draw(seed: int) -> Fleet:
    """Draw a small spec."""
    random = Random(seed)
    types = []
    for name in random.sample(["m5.a", "m5.b", "c5.a", "r5.a"], random.randint(1, 3)):
        cores = random.choice([1, 2, 4, 8])
        price = random.choice([0.0, 0.05, 0.1, 0.2, 0.4]) if random.random() < 0.3 else round(0.05 * cores, 3)
        types.append(
            Type(
                name,
                cores,
                max(1, cores // random.choice([1, 1, 2])),
                price,
                round(price * random.choice([0.2, 0.5, 1.0]), 4) if random.random() < 0.6 else None,
                (round(price * 0.6, 4), random.randint(0, 3)) if random.random() < 0.4 else None,
                random.random() < 0.3,
                random.randint(0, 5) if random.random() < 0.2 else None,
                random.choice(FEES),
            )
        )
    names = tuple(each.name for each in types)
    classes = []
    for _ in range(random.randint(1, 2)):
        high = random.randint(1, 4)
        some = tuple(random.sample(names, random.randint(1, len(names))))
        classes.append(
            Class(
                random.randint(1, 5),
                random.choice([0, 0, min(1, high), high]),
                high,
                random.choice([0.0, 0.03, 0.2, 1.0, 9.0]),
                random.random() < 0.7,
                some if random.random() < 0.3 else names,
            )
        )
    quotas = []
    for _ in range(random.choice([0, 1, 1, 2, 3])):
        wanted = random.choice([(), ("m5.*",), ("*.a",), (names[0],), ("m5.*", "c5.a"), ("x*", names[-1])])
        quotas.append((random.choice([0, 1, 4, 8, 12, 20]), wanted, random.random() < 0.4))
    quotas = [each for each in quotas if all("*" in one or one in names for one in each[1])]
    master = (random.choice(names), random.randint(1, 2)) if random.random() < 0.4 else None
    if random.random() < 0.4:
        types = [
            replace(each, disk=(random.choice([50, 100, 400]), random.choice([0.0, 0.0001, 0.001])))
            if random.random() < 0.7
            else each
            for each in types
        ]
    hdfs = None
    if any(each.disk for each in types) and random.random() < 0.6:
        hdfs = random.choice([0, 30, 90, 120]), random.choice([1, 2, 3])
    data = None
    if random.random() < 0.5:
        data = random.choice([0.0, 0.01, 0.09]), random.choice([0.0, 0.02, 0.1])
        classes = [replace(each, moved=(random.choice([0, 1, 5]), random.choice([0, 2, 30]))) for each in classes]
    pool = None
    if random.random() < 0.4:
        by_cores = random.random() < 0.5
        pool = random.choice([0, 30, 34, 50, 75]), by_cores or random.random() < 0.5, by_cores
    if len(types) > 2 or sum(each.slots * each.high for each in classes) > 12:
        pool = None
    return Fleet(tuple(types), tuple(classes), master, tuple(quotas), hdfs, data, pool)


def text_of(fleet: Fleet) -> str:
    """Write a drawn spec in the language."""
    lines = ["problem capacity"]
    for each in fleet.types:
        items = [f"cores = {each.cores}", f"on_demand {{ price = {each.on_demand} USD/h }}"]
        items += [f"fee = {each.fee}"] if each.fee else []
        if each.spot is not None:
            items.append(f"spot {{ price = {each.spot} USD/h, interruptions = 0/h }}")
        if each.reserved is not None:
            paid = ", prepaid = yes" if each.prepaid else ""
            items.append(f"reserved {{ price = {each.reserved[0]} USD/h, available = {each.reserved[1]}{paid} }}")
        if each.disk is not None and each.disk[1]:
            items.append(f"disk {{ size = {each.disk[0]} GiB, price = {each.disk[1]} USD/GiB/h }}")
        elif each.disk is not None:
            items.append(f"disk = {each.disk[0]} GiB")
        items += [f"available = {each.available}"] if each.available is not None else []
        lines.append(f'vm "{each.name}" {{ ' + ", ".join(items) + " }")
    if fleet.master is not None:
        lines.append(f'master {{ vm = "{fleet.master[0]}", count = {fleet.master[1]} }}')
    if fleet.hdfs is not None:
        lines.append(f"hdfs {{ data = {fleet.hdfs[0]} GiB, replication = {fleet.hdfs[1]} }}")
    for number, (cores, types, spot) in enumerate(fleet.quotas):
        listed = ", ".join(f'"{name}"' for name in types)
        some = f", types = [{listed}]" if types else ""
        lines.append(f'quota "q {number}" {{ cores = {cores}{some}{", spot = yes" if spot else ""} }}')
    for number, job in enumerate(fleet.classes):
        on = " ".join(
            f'on "{each.name}" {{ slots {{ map = {each.slots}, reduce = {each.slots} }} }}'
            for each in fleet.types
            if each.name in job.types
        )
        spot = "" if job.spot else ", spot = 0%"
        only = ", ".join(f'"{name}"' for name in job.types)
        lines.append(
            f"class c{number} {{ coefficients {{ A = {job.slots * 100} s, B = 0 s, C = 0 s }}\n{on}\n"
            f"types = [{only}]{spot}\n"
            f"jobs = {job.low} .. {job.high}, deadline = 100 s, penalty = {job.penalty} USD\n"
            f"transfer {{ input = {job.moved[0]} GiB, output = {job.moved[1]} GiB }} }}"
        )
    if fleet.data:
        lines.append(f"transfer {{ input = {fleet.data[0]} USD/GiB, output = {fleet.data[1]} USD/GiB }}")
    if fleet.pool:
        name = "cores" if fleet.pool[2] else "share"
        whole = f" * {name}(spot)" if fleet.pool[1] else ""
        lines.append(f"subject to {{ {name}(spot, largest) <= {fleet.pool[0]}%{whole} }}")
    return "\n".join([*lines, "minimize cost", ""])


def spread(jobs: int, lanes: int) -> list[tuple[int, ...]]:
    """List the ways to place at most `jobs` jobs in lanes."""
    if lanes == 0:
        return [()]
    return [(first, *rest) for first in range(jobs + 1) for rest in spread(jobs - first, lanes - 1)]


def cheapest(fleet: Fleet) -> float:
    """Compute the least cost for one hour by trying all placements; infinite if no plan exists."""
    lanes = [(each, False) for each in fleet.types] + [(each, True) for each in fleet.types if each.spot is not None]
    options = []
    for job in fleet.classes:
        mine = [n for n, (vm, spot) in enumerate(lanes) if vm.name in job.types and (job.spot or not spot)]
        ways = []
        for placed in spread(job.high, len(mine)):
            if sum(placed) >= job.low:
                slots = [0] * len(lanes)
                for place, count in zip(mine, placed, strict=True):
                    slots[place] = count * job.slots
                moved = sum(gib * price for gib, price in zip(job.moved, fleet.data or (0.0, 0.0), strict=True))
                ways.append((slots, (job.high - sum(placed)) * job.penalty + sum(placed) * moved))
        options.append(ways)
    best = inf
    for chosen in product(*options):
        penalty = sum(cost for _, cost in chosen)
        if penalty >= best:
            continue
        vms = [
            ceil(sum(slots[place] for slots, _ in chosen) / vm.slots)
            + (fleet.master[1] if fleet.master and not spot and fleet.master[0] == vm.name else 0)
            for place, (vm, spot) in enumerate(lanes)
        ]
        for more in beyond_jobs(fleet, lanes, vms):
            best = min(best, penalty + cost_of(fleet, lanes, more))
    return best


IDLE = 5
"""Most idle VMs of a lane that a pool or HDFS needs in a drawn spec."""


def is_spread(fleet: Fleet, lanes: list[tuple[Type, bool]], vms: list[int]) -> bool:
    """Return True if no type has more than its share of VMs, or of cores, on spot."""
    assert fleet.pool is not None
    each = [vm.cores if fleet.pool[2] else 1 for vm, _ in lanes]
    on_spot = [count * one for count, one, (_, spot) in zip(vms, each, lanes, strict=True) if spot]
    return 100 * max(on_spot, default=0) <= fleet.pool[0] * sum(on_spot if fleet.pool[1] else vms)


def is_stored(fleet: Fleet, lanes: list[tuple[Type, bool]], vms: list[int]) -> bool:
    """Return True if the disks of firm VMs without masters hold the data of HDFS."""
    if fleet.hdfs is None:
        return True
    masters = dict([fleet.master]) if fleet.master else {}
    firm = [(vm, count) for count, (vm, spot) in zip(vms, lanes, strict=True) if not spot and vm.disk]
    held = sum(vm.disk[0] * (count - masters.get(vm.name, 0)) for vm, count in firm if vm.disk)
    return held >= fleet.hdfs[0] * fleet.hdfs[1]


def beyond_jobs(fleet: Fleet, lanes: list[tuple[Type, bool]], vms: list[int]) -> list[list[int]]:
    """List the VMs of lanes with those that HDFS or pools need in addition."""
    if fleet.pool is not None:
        spread_out = [
            [count + extra for count, extra in zip(vms, more, strict=True)]
            for more in product(range(IDLE + 1), repeat=len(vms))
        ]
        return [each for each in spread_out if is_spread(fleet, lanes, each) and is_stored(fleet, lanes, each)]
    if fleet.hdfs is None:
        return [vms]
    masters = dict([fleet.master]) if fleet.master else {}
    wanted = fleet.hdfs[0] * fleet.hdfs[1]
    sizes = [(vm.disk[0] if vm.disk and not spot else 0) for vm, spot in lanes]
    held = sum(
        size * (count - masters.get(vm.name, 0)) for size, count, (vm, _) in zip(sizes, vms, lanes, strict=True) if size
    )
    most = [ceil(max(0, wanted - held) / size) if size else 0 for size in sizes]
    found = []
    for more in product(*(range(each + 1) for each in most)):
        if held + sum(size * count for size, count in zip(sizes, more, strict=True)) >= wanted:
            found.append([count + extra for count, extra in zip(vms, more, strict=True)])
    return found


def cost_of(fleet: Fleet, lanes: list[tuple[Type, bool]], vms: list[int]) -> float:
    """Compute the cost of VMs by lane; infinite if they are beyond a limit."""
    for cores, types, spot in fleet.quotas:
        used = sum(
            vm.cores * count
            for (vm, on_spot), count in zip(lanes, vms, strict=True)
            if on_spot == spot and (not types or any(fnmatchcase(vm.name, each) for each in types))
        )
        if used > cores:
            return inf
    total = 0.0
    for vm in fleet.types:
        both = {spot: count for (each, spot), count in zip(lanes, vms, strict=True) if each is vm}
        if vm.available is not None and sum(both.values()) > vm.available:
            return inf
        fee = vm.fee_in_money()
        total += both.get(True, 0) * ((vm.spot or 0.0) + fee)
        price, there = vm.reserved or (inf, 0)
        price = 0.0 if vm.prepaid else price
        reserved = min(both[False], there) if price < vm.on_demand else 0
        total += reserved * (price + fee if reserved else 0.0) + (both[False] - reserved) * (vm.on_demand + fee)
    return total
