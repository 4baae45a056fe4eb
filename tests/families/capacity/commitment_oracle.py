"""Small specs over several periods as text, and their optimum by trying all commitments and all placements of jobs.

The prices, VMs of a job and whole jobs are computed here from the numbers of the text, without the package.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from math import ceil, inf, prod, sqrt
from random import Random

MOST = 150
"""Most commitments that are tried for two savings plans."""


@dataclass
class Type:
    """A VM type; prices in USD/h, ``contracts`` as (name, price, available, prepaid)."""

    name: str
    on_demand: float
    contracts: list[tuple[str, float, int, bool]] = field(default_factory=list)
    spot: float | None = None
    fee: float = 0.0
    available: int | None = None
    masters: int = 0
    speed: float = 1.0


@dataclass
class Jobs:
    """A class: A and B [s], slots of a VM, least and expected jobs at the peak, and its penalty [USD]."""

    name: str
    work: tuple[float, float]
    slots: tuple[int, int]
    jobs: tuple[int, int]
    penalty: float
    time: float = 600.0


@dataclass
class Drawn:
    """A spec: types, classes, the rows of the table (a factor, or jobs by class) and weights."""

    types: list[Type]
    classes: list[Jobs]
    factors: list[float]
    weights: list[float]
    whole: str
    discounts: dict[str, float] | None = None
    """Of one savings plan, by type."""
    wide: float | None = None
    """The discount of another one for all types, which pays after it."""
    hourly: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    """Prices and fees of each period by type and second word."""
    most: int | None = None
    """Most VMs of all types in each period."""
    known: dict[tuple[float, ...], list[tuple[float, dict[str, int]]]] = field(default_factory=dict)

    def text(self, table: str) -> str:
        """Return the spec, whose demand is in the file ``table``."""
        return "\n".join([f"problem capacity\nwhole = {self.whole}", *self._blocks(), *self._demand(table)])

    def _demand(self, table: str) -> Iterator[str]:
        if self.discounts is not None:
            on = ", ".join(f"on {name} {{ discount = {off!r} }}" for name, off in self.discounts.items())
            yield f"savings_plan s {{ discount = 0%, types = [{', '.join(self.discounts)}], {on} }}"
        if self.wide is not None:
            yield f"savings_plan wide {{ discount = {self.wide!r} }}"
        yield f'demand {{ periods = {len(self.factors)}, from = "{table}" }}'
        yield "minimize cost\n"
        if self.most is not None:
            yield f"subject to {{ vms <= {self.most} }}\n"

    def _blocks(self) -> Iterator[str]:
        for vm in self.types:
            parts = [f"on_demand {{ price = {vm.on_demand!r} USD/h }}"]
            for name, price, available, prepaid in vm.contracts:
                paid = ", prepaid = yes" if prepaid else ""
                parts.append(f"reserved {name} {{ price = {price!r} USD/h, available = {available}{paid} }}")
            if vm.spot is not None:
                parts.append(f"spot {{ price = {vm.spot!r} USD/h, interruptions = 0/h }}")
            if vm.fee:
                parts.append(f"fee = {vm.fee!r} USD/h")
            if vm.available is not None:
                parts.append(f"available = {vm.available}")
            if vm.masters:
                parts.append(f"masters = {vm.masters}")
            yield f"vm {vm.name} {{ {', '.join(parts)} }}"
        for each in self.classes:
            on = "".join(f" on {vm.name} {{ speed = {vm.speed!r} }}\n" for vm in self.types if vm.speed != 1.0)
            yield (
                f"class {each.name} {{\n coefficients {{ A = {each.work[0]!r} s, B = {each.work[1]!r} s, C = 0 s }}\n"
                f" slots {{ map = {each.slots[0]}, reduce = {each.slots[1]} }}\n{on}"
                f" jobs = {each.jobs[0]} .. {each.jobs[1]}, deadline = {each.time!r} s\n"
                f" penalty = {each.penalty!r} USD\n}}"
            )

    def table(self) -> str:
        """Return the table of the demand."""
        columns = [self.factors, self.weights, *self.hourly.values()]
        rows = (",".join(map(repr, row)) for row in zip(*columns, strict=True))
        return "\n".join([",".join(["factor,weight", *map(" ".join, self.hourly)]), *rows, ""])

    def price(self, vm: Type, way: str, period: int) -> float:
        """Return the price of a VM in a period, counted from 0."""
        hourly = self.hourly.get((vm.name, way))
        if hourly is not None:
            return hourly[period]
        return {"on_demand": vm.on_demand, "fee": vm.fee}.get(way, vm.spot or 0.0)

    def vms_of_job(self, each: Jobs, vm: Type) -> float:
        """Return the VMs of one job: the closed form in fractions, or all pairs of whole slots."""
        maps, reduces = (work / vm.speed for work in each.work)
        if self.whole == "no":
            return (sqrt(maps / each.slots[0]) + sqrt(reduces / each.slots[1])) ** 2 / each.time
        most = ceil((maps + reduces) / each.time) * 4 + 4
        return min(
            m / each.slots[0] + r / each.slots[1]
            for m in range(1, most)
            for r in (range(1, most) if reduces else (0,))
            if maps / m + (reduces / r if r else 0.0) <= each.time * (1 + 1e-12)
        )

    def optimum(self) -> float:
        """Return the least cost of all periods; infinite without a plan."""
        chosen = [(vm, term) for vm in self.types for term in vm.contracts if not term[3]]
        hours = sum(self.weights)
        best = inf
        for counts in product(*(range(term[2] + 1) for _, term in chosen)):
            paid = hours * sum(term[1] * count for (_, term), count in zip(chosen, counts, strict=True))
            held = {vm.name: sum(term[2] for term in vm.contracts if term[3]) for vm in self.types}
            for (vm, _), count in zip(chosen, counts, strict=True):
                held[vm.name] += count
            amounts = product(self._money(self.discounts), self._money(self._wide))
            best = min(best, *(paid + hours * sum(money) + self._periods(held, money) for money in amounts))
        return best

    @property
    def _wide(self) -> dict[str, float] | None:
        return None if self.wide is None else {vm.name: self.wide for vm in self.types}

    def _money(self, discounts: dict[str, float] | None) -> list[float]:
        """Return the amounts per hour at which a savings plan pays for whole numbers of VMs of each type."""
        if discounts is None:
            return [0.0]
        most = []
        for vm in self.types:
            jobs = sum(self.vms_of_job(each, vm) * ceil(max(self.factors) * each.jobs[1]) for each in self.classes)
            prices = {self.price(vm, "on_demand", period) for period in range(len(self.factors))}
            rates = [(1.0 - discounts.get(vm.name, 0.0)) * price for price in prices]
            counts = range(ceil(jobs) + vm.masters + 1)
            most.append([rate * n for rate in rates for n in counts] if vm.name in discounts else [0.0])
        return sorted({sum(parts) for parts in product(*most)})

    def _periods(self, held: dict[str, int], money: tuple[float, ...]) -> float:
        total = 0.0
        for period, weight in enumerate(self.weights):
            costs = (cost - self._paid(vms, money, period) for cost, vms in self._period(period, held))
            total += weight * min(costs, default=inf)
        return total

    def _paid(self, vms: dict[str, int], money: tuple[float, ...], period: int) -> float:
        """Return the price on demand of what the savings plans pay for: the narrow one first, its largest discount
        first.
        """
        total, unpaid = 0.0, {vm.name: self.price(vm, "on_demand", period) * vms[vm.name] for vm in self.types}
        for discounts, left in zip((self.discounts or {}, self._wide or {}), money, strict=True):
            for name in sorted(discounts, key=lambda name: -discounts[name]):
                part = min(left, (1.0 - discounts[name]) * unpaid[name])
                left -= part
                unpaid[name] -= part / (1.0 - discounts[name])
                total += part / (1.0 - discounts[name])
        return total

    def _period(self, period: int, held: dict[str, int]) -> list[tuple[float, dict[str, int]]]:
        """Return the least cost of all placements with the same VMs on demand by type, and these VMs."""
        prices = (self.price(vm, way, period) for vm in self.types for way in ("on_demand", "spot", "fee"))
        key = (self.factors[period], *prices, *held.values())
        if key not in self.known:
            cheapest: dict[tuple[int, ...], tuple[float, dict[str, int]]] = {}
            for cost, vms in self._placements(period, held):
                there = tuple(vms.values())
                if there not in cheapest or cost < cheapest[there][0]:
                    cheapest[there] = cost, vms
            self.known[key] = list(cheapest.values())
        return self.known[key]

    def _placements(self, period: int, held: dict[str, int]) -> Iterator[tuple[float, dict[str, int]]]:
        factor = self.factors[period]
        lanes = [(vm, spot) for vm in self.types for spot in ((False, True) if vm.spot is not None else (False,))]
        of_jobs = [[self.vms_of_job(each, vm) for each in self.classes] for vm, _ in lanes]
        choices = []
        for each in self.classes:
            low, high = (ceil(round(factor * end, 9)) for end in each.jobs)
            choices.append([n for n in _counts(len(lanes), high) if low <= sum(n)])
        for placed in product(*choices):
            rest: dict[str, int] = {}
            cost = sum(
                each.penalty * (ceil(round(factor * each.jobs[1], 9)) - sum(n))
                for each, n in zip(self.classes, placed, strict=True)
            )
            rented: dict[str, int] = {}
            for number, (vm, spot) in enumerate(lanes):
                parts = [vms * n[number] for vms, n in zip(of_jobs[number], placed, strict=True)]
                need = ceil(sum(parts) - 1e-9) + (0 if spot else vm.masters)
                fee = self.price(vm, "fee", period)
                rented[vm.name] = rented.get(vm.name, 0) + need
                if spot:
                    cost += need * (self.price(vm, "spot", period) + fee)
                else:
                    rest[vm.name] = max(0, need - held[vm.name])
                    cost += rest[vm.name] * self.price(vm, "on_demand", period) + need * fee
            if self.most is not None and sum(rented.values()) > self.most:
                continue
            if all(vm.available is None or rented[vm.name] <= vm.available for vm in self.types):
                yield cost, rest


def _counts(lanes: int, most: int) -> Iterator[tuple[int, ...]]:
    """Yield all numbers of jobs by lane of at most ``most`` jobs."""
    yield from (n for n in product(range(most + 1), repeat=lanes) if sum(n) <= most)


def drawn(seed: int) -> Drawn:
    """Draw a spec of one or two types and classes; every eighth is of an edge: free, dear, zero or equal periods."""
    random = Random(seed)
    types = [_type(random, f"t{n}", seed) for n in range(random.choice([1, 2, 2]))]
    whole = random.choice(["no", "no", "slots"])
    classes = []
    for n in range(random.choice([1, 1, 2])):
        slots = (1, 1) if whole == "slots" else (random.randint(1, 4), random.randint(1, 3))
        work = random.uniform(900.0, 3000.0), random.choice([0.0, random.uniform(700.0, 1500.0)])
        high = random.randint(1, 3)
        penalty = random.choice([0.0, random.uniform(0.01, 0.5), 5.0, 50.0])
        classes.append(Jobs(f"c{n}", work, slots, (random.randint(0, high), high), penalty))
    periods = random.choice([1, 2, 3, 5])
    factors = [random.choice([0.0, 0.2, 0.5, 0.8, 1.0, 1.3]) for _ in range(periods)]
    if seed % 8 == 0:
        factors = [1.0] * periods
    if seed % 8 == 1:
        factors = [0.0] * (periods - 1) + [1.0]
    weights = [random.choice([1.0, 1.0, 2.0, 21.5]) for _ in range(periods)]
    discounts = None
    if seed % 3 == 0:
        covered = types if random.random() < 0.6 else types[:1]
        discounts = {vm.name: random.choice([0.0, 0.2, 0.28, 0.5, 0.95]) for vm in covered}
    hourly = {}
    for vm in types if seed % 4 == 2 else ():
        ways = {"on_demand": vm.on_demand, "spot": vm.spot}
        for way, price in ways.items():
            if price is not None and random.random() < 0.7:
                parts = [random.choice([0.0, 0.5, 0.8, 1.0, 1.5]) for _ in factors]
                hourly[vm.name, way] = [round(part * price, 4) for part in parts]
    if seed % 5 == 3:
        hourly |= {(vm.name, "fee"): [round(0.02 * ((seed + n) % 4), 2) for n in range(periods)] for vm in types}
    wide = None
    if discounts is not None and not hourly and (len(discounts) == 1 or seed % 2):
        wide = round(random.choice([0.3, 0.7, 1.0]) * min(discounts.values()), 3)
    found = Drawn(types, classes, factors, weights, whole, discounts, wide, hourly)
    contracts = prod(term[2] + 1 for vm in types for term in vm.contracts)
    amounts = contracts * len(found._money(discounts)) * len(found._money(found._wide))
    return found if amounts < MOST or wide is None else replace(found, wide=None)


def _type(random: Random, name: str, seed: int) -> Type:
    price = round(random.uniform(0.05, 0.5), 3)
    terms = []
    for number in range(random.choice([1, 1, 2]) if name == "t0" else random.choice([0, 1])):
        part = random.choice([0.0, 0.4, 0.63, 0.9, 1.0, 1.2])
        label = "" if number == 0 else "long"
        terms.append((label, round(part * price, 4), random.randint(0, 4), random.random() < 0.2))
    return Type(
        name,
        price,
        terms,
        spot=round(0.4 * price, 3) if random.random() < 0.3 else None,
        fee=0.02 if random.random() < 0.3 else 0.0,
        available=random.randint(3, 30) if random.random() < 0.3 else None,
        masters=1 if random.random() < 0.15 else 0,
        speed=1.0 if name == "t0" else random.choice([0.5, 1.7]),
    )
