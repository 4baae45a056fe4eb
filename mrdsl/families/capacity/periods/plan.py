"""The plan of a capacity spec over several periods: commitments for all of them, and the plan of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mrdsl.core.result import MONEY, Plan, Table, lacking
from mrdsl.core.rounding import ROUNDING
from mrdsl.core.units import HOUR
from mrdsl.families.capacity.facts import CapacityFacts
from mrdsl.families.capacity.market import ON_DEMAND, RESERVED, SPOT
from mrdsl.families.capacity.periods.demand import (
    Contract,
    Covered,
    commitments_of,
    covered_types,
    periods_of,
    prices_of,
)
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.spec.spec import Spec

SHOWN = 24
"""Most periods that the terminal shows."""


@dataclass(frozen=True)
class Commitment:
    """VMs of one contract, paid in all periods.

    Attributes:
        vm: The VM type.
        term: The name of the contract, or "".
        vms: Their number.
        price: The price of one VM [money/s].
    """

    vm: str
    term: str
    vms: float
    price: float

    @property
    def name(self) -> str:
        """The type, with the contract's name if it has one."""
        return f"{self.vm} {self.term}".strip()

    @property
    def cost(self) -> float:
        """The cost of all of them [money/s]."""
        return self.vms * self.price


@dataclass(frozen=True)
class Savings:
    """Money of one savings plan, paid in all periods.

    Attributes:
        name: The name of the savings plan.
        cost: The money per time [money/s].
    """

    name: str
    cost: float


@dataclass(frozen=True, eq=False)
class PeriodsPlan(Plan):
    """Commitments for all periods, and a plan for each.

    Attributes:
        committed: The VMs of each contract.
        savings: The money of each savings plan.
        plans: The different plans of periods; committed VMs are free in them, and VMs on demand have their full price.
        discounts: The price on demand of the VMs that savings plans pay for, in each plan [money], shape (plans,).
        plan_of: The number of the plan of each period.
        weight: How often each period occurs.
        period: The length of one period [s].
        without: The cost of the best known plan without commitments; NaN if there is none.
        at_least: ``without`` is a bound: no plan without commitments costs less.
        whole: Jobs and VMs are whole.
    """

    compared_by_family: ClassVar[bool] = True
    on_trust: ClassVar[Mapping[str, str]] = {
        "without": "the cost without commitments",
        "at_least": "the cost without commitments",
    }

    committed: tuple[Commitment, ...]
    savings: tuple[Savings, ...]
    plans: tuple[CapacityPlan, ...]
    discounts: NDArray[np.float64]
    plan_of: NDArray[np.int64]
    weight: NDArray[np.float64]
    period: float
    whole: bool
    without: float = field(default=float("nan"), metadata=lacking("no plan without commitments is known"))
    at_least: bool = False

    def on_spot(self) -> dict[str, float]:
        """Return the part of the VMs of each class over all periods that is on spot."""
        times = np.bincount(self.plan_of, weights=self.weight, minlength=len(self.plans))
        part, whole = dict[str, float](), dict[str, float]()
        for plan, weight in zip(self.plans, times.tolist(), strict=True):
            on_spot = plan.on_spot()
            for name, vms in zip(plan.names, plan.vms.tolist(), strict=True):
                whole[name] = whole.get(name, 0.0) + weight * vms
                part[name] = part.get(name, 0.0) + weight * vms * on_spot.get(name, 0.0)
        return {name: spot / whole[name] for name, spot in part.items() if spot > 0.0}

    def derived(self, spec: Spec) -> PeriodsPlan:
        """Return the plan with the stages of its spec."""
        return replace(self, plans=tuple(each.derived(spec) for each in self.plans))

    @property
    def wholeness(self) -> str:
        """The integrality of slots, the same in all periods."""
        return self.plans[0].wholeness

    @property
    def horizon(self) -> float:
        """The time of all periods [s]."""
        return float(self.period * self.weight.sum())

    @property
    def committed_cost(self) -> float:
        """The cost of the commitments."""
        return (sum(each.cost for each in self.committed) + sum(each.cost for each in self.savings)) * self.horizon

    @property
    def rented_cost(self) -> float:
        """The cost of VMs on demand and on spot, and of the fees, in all periods, less what savings plans pay for."""
        return self._summed([plan.vm_cost for plan in self.plans] - self.discounts)

    @property
    def penalties(self) -> float:
        """The cost of rejected jobs in all periods."""
        return self._summed([plan.penalties for plan in self.plans])

    @property
    def transfer_cost(self) -> float:
        """The cost of the data that jobs move in all periods."""
        return self._summed([plan.transfer_cost for plan in self.plans])

    @property
    def total(self) -> float:
        """The cost of all periods."""
        return self.committed_cost + self.rented_cost + self.penalties + self.transfer_cost

    @property
    def saving(self) -> float | None:
        """The cost without commitments less the cost of this plan, or None if the former is not known."""
        if np.isnan(self.without):
            return None
        if not any(each.vms for each in self.committed) and not any(each.cost for each in self.savings):
            return 0.0
        saved = self.without - self.total
        return saved if abs(saved) > ROUNDING * abs(self.total) else 0.0

    def _summed(self, values: Sequence[float] | NDArray[np.float64]) -> float:
        return float(np.asarray(values, dtype=np.float64)[self.plan_of] @ self.weight)

    def of_period(self, number: int) -> CapacityPlan:
        """Return the plan of a period, counted from 0."""
        return self.plans[int(self.plan_of[number])]

    def used(self, commitment: Commitment) -> float:
        """Return the part of the committed VMs that a mean period uses; 0 if there are none."""
        taken = [bought(plan, RESERVED, commitment.vm, commitment.term) for plan in self.plans]
        whole = commitment.vms * float(self.weight.sum())
        return self._summed(taken) / whole if whole else 0.0

    def document(self) -> dict[str, Any]:
        """Return the object under ``plan`` in the JSON result."""
        return {
            "committed": [
                {"vm": each.vm, "term": each.term, "vms": self._number(each.vms), "used": self.used(each)}
                for each in self.committed
            ],
            "savings_plans": [{"name": each.name, "per_hour": each.cost * HOUR} for each in self.savings],
            "cost": {
                "committed": self.committed_cost,
                "rented": self.rented_cost,
                "penalties": self.penalties,
                **({"transfer": self.transfer_cost} if self.transfer_cost else {}),
                "total": self.total,
                "without_commitments": None if np.isnan(self.without) else self.without,
                **({"without_commitments_is_bound": True} if self.at_least and not np.isnan(self.without) else {}),
            },
            "periods": [
                {"plan": plan, "weight": weight}
                for plan, weight in zip(self.plan_of.tolist(), self.weight.tolist(), strict=True)
            ],
            "plans": [plan.document() for plan in self.plans],
        }

    def _number(self, count: float) -> float | int:
        return int(count) if self.whole else count

    def tables(self) -> tuple[Table, ...]:
        """Return the commitments, up to 24 periods, and the cost."""
        hours = self.horizon / HOUR
        commitments: list[tuple[Any, ...]] = [
            (each.name, self._number(each.vms), each.cost * self.period, each.cost * self.horizon, self._use(each))
            for each in self.committed
        ]
        commitments += [
            (each.name, None, each.cost * self.period, each.cost * self.horizon, None) for each in self.savings
        ]
        saving = self.saving
        heads = "contract", "VMs", f"cost of a period {MONEY}", f"cost {MONEY}", "used [%]"
        return (
            *([Table("Commitments", heads, commitments)] if commitments else []),
            self._periods(),
            Table(
                f"Cost of {hours:,.6g} h",
                tuple(
                    f"{part} {MONEY}"
                    for part in (
                        "committed",
                        "on demand and spot",
                        "penalties",
                        *self._moved,
                        "total",
                        f"without commitments{', at least' * self.at_least}",
                        f"saved{', at least' * self.at_least}",
                    )
                ),
                [
                    (
                        self.committed_cost,
                        self.rented_cost,
                        self.penalties,
                        *self._moved.values(),
                        self.total,
                        None if saving is None else self.without,
                        saving,
                    )
                ],
            ),
        )

    def _use(self, commitment: Commitment) -> float | None:
        return 100.0 * self.used(commitment) if commitment.vms else None

    @property
    def _moved(self) -> dict[str, float]:
        """The cost of the data that jobs move, if there is some."""
        return {"transfer": self.transfer_cost} if self.transfer_cost else {}

    def _periods(self) -> Table:
        rows: list[tuple[Any, ...]] = []
        fixed = self.committed_cost / float(self.weight.sum())
        for number, (which, weight) in enumerate(zip(self.plan_of[:SHOWN], self.weight[:SHOWN], strict=True)):
            plan = self.plans[int(which)]
            counts = (bought(plan, way) for way in (RESERVED, ON_DEMAND, SPOT))
            jobs = float(plan.admitted.sum()), float(plan.rejected.sum())
            paid = float(self.discounts[int(which)])
            moved = [plan.transfer_cost] if self._moved else []
            costs = fixed, plan.vm_cost - paid, plan.penalties, *moved, fixed + plan.total - paid
            rows.append((number + 1, float(weight), *map(self._number, (*jobs, *counts)), *costs))
        heads = (
            *("period", "weight", "jobs", "rejected", "committed used", "on demand", "spot"),
            *(f"{part} {MONEY}" for part in ("committed", "rented", "penalties", *self._moved, "total")),
        )
        if len(self.plan_of) > SHOWN:
            rows.append((f"... and {len(self.plan_of) - SHOWN:,} more", *([None] * (len(heads) - 1))))
        return Table("Periods", heads, rows)


def bought(plan: CapacityPlan, way: str, vm: str = "", term: str | None = None) -> float:
    """Return the VMs of a plan that are bought in one way, of all types and contracts or of one."""
    return sum(
        each.vms
        for each in plan.mixture.bought
        if each.way == way and vm in ("", each.vm) and term in (None, each.term)
    )


def plan_of_periods(spec: Spec, committed: Mapping[Contract, float], plans: tuple[CapacityPlan, ...]) -> PeriodsPlan:
    """Return the plan with these commitments and these plans of periods.

    Args:
        spec: The spec.
        committed: The VMs of each contract, and the money per period of each savings plan.
        plans: The plans of the different periods.
    """
    facts: CapacityFacts = spec.facts
    periods = periods_of(spec)
    terms = commitments_of(facts)
    covered = [covered_types(facts, prices_of(spec, number)) for number in range(len(plans))]
    return PeriodsPlan(
        committed=tuple(
            Commitment(vm, name, committed[vm, name], term.price) for (vm, name), term in terms.items() if term.whole
        ),
        savings=tuple(
            Savings(name, committed[vm, name] / facts.period) for (vm, name), term in terms.items() if not term.whole
        ),
        plans=plans,
        discounts=np.array([_discount(each, committed, plan) for each, plan in zip(covered, plans, strict=True)]),
        plan_of=periods.plan_of,
        weight=periods.weight,
        period=facts.period,
        whole=plans[0].whole,
    )


def _discount(covered: Sequence[Covered], committed: Mapping[Contract, float], plan: CapacityPlan) -> float:
    """Return the price on demand of the VMs that savings plans pay for in a period, in the order of the bill."""
    left, total = dict(committed), 0.0
    unpaid = {each.vm: bought(plan, ON_DEMAND, each.vm) for each in covered}
    for each in covered:
        vms = unpaid[each.vm]
        vms = min(vms, left["", each.plan] / each.discounted) if each.discounted else vms
        left["", each.plan] -= vms * each.discounted
        unpaid[each.vm] -= vms
        total += vms * each.price
    return total


def plans() -> tuple[type[Plan], ...]:
    """Return the classes of the family's plans: of one period, and of several."""
    return CapacityPlan, PeriodsPlan
