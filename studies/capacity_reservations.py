"""How many VMs to reserve: a spec's plan for every period of a day, and the count of periods that use each VM.

The formula takes the VMs that plans without contracts rent on demand. Plans that know the reserved VMs may cost less
still: they admit jobs that are not worth a VM on demand, or move to types that have VMs left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import mrdsl
from mrdsl.core.diagnostics import MrdslError, error, has_errors
from mrdsl.core.resources import resource
from mrdsl.core.result import Limits, Table
from mrdsl.core.rounding import ceiling, floor
from mrdsl.core.units import DAY, HOUR
from mrdsl.families.capacity.facts import CapacityFacts, JobClass, VmType
from mrdsl.families.capacity.forms import contracts
from mrdsl.families.capacity.market import ON_DEMAND, Floats
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.formulas.workloads import typical_demand
from mrdsl.simulation.sampling import stream
from mrdsl.spec.blocks import Reserved
from mrdsl.spec.columns import column
from mrdsl.spec.schema import Range, Source
from mrdsl.spec.spec import Spec


def to_reserve(needed: Floats, on_demand: float, reserved: float) -> int:
    """How many VMs to reserve where ``needed`` whole ones are used in each period, at prices for one period.

    Of equal costs the fewest; 0 where a reserved VM is not cheaper. Prices are not negative.
    """
    if reserved >= on_demand or not len(needed):
        return 0
    least = int(np.floor(len(needed) * reserved / on_demand)) + 1
    while least * on_demand <= len(needed) * reserved:  # the quotient rounded down where it is a whole number
        least += 1
    return 0 if least > len(needed) else int(np.sort(needed)[len(needed) - least])


def reserving_cost(needed: Floats, count: float, on_demand: float, reserved: float) -> float:
    """What VMs cost over all periods where ``count`` are reserved and the rest is rented on demand."""
    return float(reserved * count * len(needed) + on_demand * np.maximum(needed - count, 0.0).sum())


YEAR = 365.0 * DAY
SECONDS, GAP = 30.0, 1e-3
"""The limits of one plan."""
PARTS = (0.0, 0.5, 1.0, 1.5)
"""Of the VMs to reserve, those for which the cost is told."""


@dataclass(frozen=True)
class Answer:
    """For one type: the VMs on demand that each period needs, both prices for one period, how many to reserve."""

    needed: Floats
    on_demand: float
    reserved: float
    count: int

    def cost(self, count: float) -> float:
        """What the VMs of the day cost with so many reserved."""
        return reserving_cost(self.needed, count, self.on_demand, self.reserved)


def reservations(
    output: Path, spec: str = "", demand: str = "", periods: int = 24, solver: str = "auto"
) -> Iterator[Table]:
    """How many VMs of each type with a contract to reserve, and what the day costs with fewer and with more.

    Raises MrdslError where no VM type has a contract, or the table is wrong.
    """
    base = mrdsl.load(spec or str(resource("models") / "capacity" / "reference.mrspec"))
    facts: CapacityFacts = base.facts
    sold = {vm.name: min(contracts(vm), key=lambda term: term.price) for vm in facts.vms if contracts(vm)}
    if not sold:
        message, hint = "no vm says what a reserved one costs", "add reserved { price = 0.121 USD/h, available = 0 }"
        raise MrdslError([error("missing-block", message, facts.vms[0].span, hint)])
    hours = [_hour(base, jobs) for jobs in _jobs(base, demand, periods)]
    plans = [None if hour is None else _plan(_with(hour, {}), solver) for hour in hours]
    answers = dict(_answers(facts, plans, sold))
    yield _counts(base, answers)
    nothing = sum(plan.total for plan in plans if plan is not None)

    def planned(counts: Mapping[str, float]) -> float:
        paid = sum(sold[name].price * count for name, count in counts.items()) * facts.period * len(hours)
        return paid + sum(_plan(_with(hour, counts), solver).total for hour in hours if hour is not None)

    yield _costs(base, answers, nothing, planned)


def _jobs(spec: Spec, demand: str, periods: int) -> Floats:
    """The expected jobs of each class, (periods, classes): of the table, or of a typical day up to those expected."""
    from mrdsl.exchange.demand import Wanted, read_demand

    facts: CapacityFacts = spec.facts
    if not demand:
        draw = stream(spec.seed or 0, "day of reservations")
        zero = np.zeros(len(facts.classes))
        return column(facts.classes, "jobs.high") * typical_demand(draw, zero, periods, facts.period, 0.0)
    wanted = [Wanted("class", node.name, node.span) for node in facts.classes]
    found, told = read_demand(Source("table", str(Path(demand).absolute()), demand), wanted, periods)
    if has_errors(told):
        raise MrdslError(told)
    return found


def _hour(spec: Spec, jobs: Floats) -> Spec | None:
    """The spec of one period; None where nothing runs. The least jobs are the same part of the expected ones."""
    nodes: list[JobClass] = []
    for node, high in zip(spec.facts.classes, ceiling(jobs).tolist(), strict=True):
        if high:
            low = float(floor(high * node.jobs.low / node.jobs.high)) if node.jobs.high else 0.0
            nodes.append(replace(node, jobs=Range(low, high)))
    return replace(spec, facts=replace(spec.facts, classes=tuple(nodes))) if nodes else None


def _answers(
    facts: CapacityFacts, plans: Sequence[CapacityPlan | None], sold: Mapping[str, Reserved]
) -> Iterator[tuple[str, Answer]]:
    for name, term in sold.items():
        needed = np.array([0.0 if plan is None else _on_demand(plan, name) for plan in plans])
        vm = next(each for each in facts.vms if each.name == name)
        prices = vm.on_demand.price * facts.period, term.price * facts.period
        yield name, Answer(needed, *prices, to_reserve(needed, *prices))


def _plan(spec: Spec, solver: str) -> CapacityPlan:
    result = mrdsl.solve(spec, solver, limits=Limits(time=SECONDS, gap=GAP))
    if not isinstance(result.plan, CapacityPlan):
        raise MrdslError(
            [error("no-plan", "a period of the day has no plan", spec.span, "look at it with mrdsl solve")]
        )
    return result.plan


def _with(spec: Spec, counts: Mapping[str, float]) -> Spec:
    """The spec with so many VMs of each type reserved and paid for already, and no others."""

    def bought(vm: VmType) -> VmType:
        count = int(counts.get(vm.name, 0))
        term = Reserved(price=0.0, available=count, prepaid="yes") if count else None
        return replace(vm, reserved=term, terms=())

    return replace(spec, facts=replace(spec.facts, vms=tuple(bought(vm) for vm in spec.facts.vms)))


def _on_demand(plan: CapacityPlan, name: str) -> float:
    return plan.on_demand if plan.mix is None else plan.mix.total(ON_DEMAND, name)


def _counts(spec: Spec, answers: Mapping[str, Answer]) -> Table:
    money = spec.currency
    rows = []
    for name, found in answers.items():
        periods = len(found.needed)
        scale = YEAR / (periods * spec.facts.period)
        saved = (found.cost(0.0) - found.cost(found.count)) * scale
        share = 100.0 * found.reserved / found.on_demand if found.on_demand else None
        hour = HOUR / spec.facts.period
        ends = float(found.needed.min()), float(found.needed.max())
        rows.append((name, found.on_demand * hour, found.reserved * hour, share, *ends, found.count, saved))
    heads = (
        "vm",
        f"on demand [{money}/h]",
        f"reserved [{money}/h]",
        "worth it above [% of periods]",
        "fewest needed",
        "most needed",
        "to reserve",
        f"saved a year [{money}]",
    )
    return Table("VMs to reserve", heads, rows)


def _costs(
    spec: Spec, answers: Mapping[str, Answer], nothing: float, planned: Callable[[Mapping[str, float]], float]
) -> Table:
    """The day's cost with fewer and more VMs reserved: as counted, and with every period planned for them.

    ``nothing`` is what it costs with none.
    """
    rows = []
    for part in PARTS:
        counts = {name: float(np.rint(part * found.count)) for name, found in answers.items()}
        counted = sum(found.cost(counts[name]) - found.cost(0.0) for name, found in answers.items())
        anew = planned(counts) if any(counts.values()) else nothing
        rows.append((*(int(count) for count in counts.values()), nothing + counted, anew))
    heads = (
        *(f"{name} reserved" for name in answers),
        f"the day as counted [{spec.currency}]",
        f"planned for them [{spec.currency}]",
    )
    return Table("What the day costs", heads, rows)
