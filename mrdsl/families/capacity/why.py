"""Explanation of a capacity plan (paper 000, Theorem 4.3): the admitted jobs of each class, the worth of reservations.

Corrections to the paper: Theorem 4.3 assumes ``rho < delta``, and in a) and f) a positive number of reserved VMs.

The cost of whole slots and machines: the spec solved with each integrality.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from mrdsl.contracts.pipeline import Draft
from mrdsl.contracts.subject_to import add_comparisons
from mrdsl.core.result import Limits, Result, Table
from mrdsl.core.units import HOUR, show
from mrdsl.core.watching import shared_time
from mrdsl.families.capacity.constraints import class_bounds_of, is_about_runs
from mrdsl.families.capacity.facts import MACHINES, NO, SLOTS, CapacityFacts
from mrdsl.families.capacity.forms import as_planned, shared
from mrdsl.families.capacity.instance import Instance, instance_of, prices_of
from mrdsl.families.capacity.market import market_of
from mrdsl.families.capacity.methods.calibration import at_plan
from mrdsl.families.capacity.methods.direct import direct, fill, read
from mrdsl.families.capacity.packed_plans import with_packing
from mrdsl.families.capacity.plan import SHOWN, CapacityPlan
from mrdsl.families.capacity.plan_warnings import taken_of
from mrdsl.families.capacity.why_types import why_groups, why_mix
from mrdsl.spec.spec import Spec

MOST_CLASSES = 200
"""Of more classes on all types together the costs are not worked out: a solver looks at each."""
LIMITS = Limits(gap=1e-4, nodes=5_000)


def costs_of_wholeness(spec: Spec, plan: CapacityPlan) -> Table | None:
    """Return the costs of plans in fractions, of whole slots, and of separate machines by class; None if too large.

    The plan's row has its own cost. The others come from ``direct``, within its bound, or from a solver, to 1e-4: for
    machines, and for comparisons that ``direct`` does not support. A row is empty if no plan was found.
    """
    if not plan.whole or len(spec.facts.classes) * len(spec.facts.vms) > MOST_CLASSES:
        return None
    rows: list[tuple[str, int | None, int | None, float | None]] = []
    for wholeness in (NO, SLOTS) if len(spec.facts.never_together) else (NO, SLOTS, MACHINES):
        mine = wholeness == plan.wholeness
        found = plan if mine else _plan(replace(spec, facts=replace(spec.facts, whole=wholeness)))
        named = f"{wholeness} (this plan)" if mine else wholeness
        if found is None:
            rows.append((named, None, None, None))
            continue
        rows.append((named, round(found.rented), int(found.admitted.sum()), found.total))
    return Table("Whole slots and their cost", ("whole", "VMs", "jobs", f"cost [{spec.currency}]"), rows)


def _plan(spec: Spec) -> CapacityPlan | None:
    if shared_time() == 0.0:
        return None
    found = None if spec.facts.whole == MACHINES else direct(spec, False)
    if found is None:
        found = _solved(spec)
    return found.plan if isinstance(found.plan, CapacityPlan) else None


def _solved(spec: Spec) -> Result:
    """By the embedded solver."""
    from mrdsl.families.capacity.models.linear import build, decode
    from mrdsl.solving.checked_answer import solve_model

    def solve(model: object, limits: Limits | None = None) -> object:
        return solve_model(model, "highs", limits or LIMITS)

    model = build(spec, False)
    add_comparisons(spec, model)
    answer = solve_model(model, "highs", LIMITS)
    plan = None if answer.value is None else decode(spec, model, False)
    result = Result(answer.termination, answer.solution, plan, answer.value, answer.bound)
    return result if plan is None else with_packing(spec, result, LIMITS, solve)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Worth:
    """The worth of a class's jobs: the reason for its admission, and the penalties at which that changes.

    ``gamma`` VMs host one job; ``per_vm`` is its penalty per VM, without the cost of the data that it moves. A penalty
    above ``in_full_above`` admits every job in any spec; below ``least_below`` it admits only the fewest.
    ``break_even`` is the penalty that pays for one job at this plan's marginal price of a VM. They are None if no slots
    meet the class's time limit.
    """

    gamma: float | None
    per_vm: float | None
    least_below: float | None
    break_even: float | None
    in_full_above: float | None
    reason: str


def why(spec: Spec, result: Result) -> tuple[Table | str, ...]:
    """Return the reasons class by class, the scarcity of reserved VMs, and the worth of one more."""
    plan = result.plan
    if not isinstance(plan, CapacityPlan):
        return ()
    spec = as_planned(spec, plan.wholeness)
    if is_about_runs(spec):
        return (_of_runs(plan), *_reasons_of(at_plan(spec, plan), plan))
    costs = costs_of_wholeness(spec, plan)
    tables: list[Table | str] = [] if costs is None else [costs]
    if plan.wholeness == MACHINES:
        spec = shared(spec)
        tables.append(
            "Reasons and prices are those of VMs that classes share; here the last VM of each class is its own besides."
        )
    if len(spec.facts.never_together):
        return (why_groups(spec, plan), *tables)
    if plan.mix is not None:
        return (*why_mix(spec, plan, plan.mix), *tables)
    return (*_reasons_of(spec, plan), *tables)


def _of_runs(plan: CapacityPlan) -> str:
    if plan.calibration is None:
        return "No cheaper plan was shown to keep its promises about runs: this one keeps them by the upper estimate."
    return (
        "Promises about runs are kept in simulation: VMs and prices are those at the coefficients of the plan, which "
        "were fitted to simulated times."
    )


def _reasons_of(spec: Spec, plan: CapacityPlan) -> Iterator[Table | str]:
    """Of one VM type, bought in the paper's ways."""
    yield _reasons(spec, plan)
    yield from _reservations(spec, plan)
    if class_bounds_of(spec).others:
        yield "The comparisons under `subject to` are not part of this explanation: they may hold jobs back, or VMs."


def worths(instance: Instance, plan: CapacityPlan, price: float) -> Iterator[Worth]:
    """Yield the worth of every class's jobs, in order; ``price`` is that of a VM at the margin of the relaxed plan."""
    prices = instance.prices
    reserved = min(prices.reserved, prices.on_demand) if prices.available else prices.on_demand
    rows = zip(
        instance.vms_per_job().tolist(),
        instance.worth.tolist(),
        instance.transfer.tolist(),
        plan.admitted.tolist(),
        instance.low.tolist(),
        instance.expected.tolist(),
        instance.never.tolist(),
        strict=True,
    )
    for gamma, worth, moved, admitted, low, expected, never in rows:
        if never:
            yield Worth(
                None, None, None, None, None, "no slots meet its deadline, so that all of its jobs are rejected"
            )
            continue
        yield Worth(
            gamma,
            worth / gamma,
            reserved * gamma + moved,
            price * gamma + moved,
            prices.on_demand * gamma + moved,
            _reason(worth / gamma, reserved, price, prices.on_demand, (admitted, low, expected)),
        )


def marginal_price(spec: Spec) -> float:
    """Return the dual price of one VM in the relaxed P2, per period: between the reserved and the on-demand price."""
    single = replace(spec, constraints=_single(spec))
    draft = fill(read(single, Draft(single, relax=True)))
    return float(draft.state.relaxed.prices[0])


def worth_of_one_more(spec: Spec) -> float | None:
    """Return the saving of the best whole plan from one more reserved VM; None if the spec reserves none."""
    facts: CapacityFacts = spec.facts
    vm = facts.vms[0]
    if vm.reserved is None:
        return None
    more = replace(vm, reserved=replace(vm.reserved, available=vm.reserved.available + 1))
    single = _single(spec)
    specs = [replace(spec, facts=replace(facts, vms=(each,)), constraints=single) for each in (vm, more)]
    found = [direct(each, False, Limits(gap=0.0)) for each in specs]
    costs = [None if each is None else each.value for each in found]
    return None if costs[0] is None or costs[1] is None else max(0.0, costs[0] - costs[1])


def _single(spec: Spec) -> tuple:  # type: ignore[type-arg]
    """Return the comparisons of ``subject to`` that bound one class alone."""
    others = class_bounds_of(spec).others
    return tuple(constraint for constraint in spec.constraints if constraint not in others)


def _reason(per_vm: float, reserved: float, price: float, on_demand: float, jobs: tuple[float, float, float]) -> str:
    """Return Theorem 4.3 c) and d) in words, and the effect of whole VMs."""
    admitted, low, expected = jobs
    if low == expected:
        return "exactly so many are asked for"
    if per_vm > on_demand:
        because = "its penalty pays for VMs on demand"
        return because if admitted == expected else f"{because}, but the last VM would stay partly idle"
    if per_vm < reserved:
        because = "its penalty is below the cost of its VMs"
        return because if admitted == low else f"{because}, but VMs that others rent have room"
    if reserved >= on_demand:
        return "its penalty is just the cost of its VMs: any number of its jobs costs the same"
    if admitted == expected:
        return "its penalty pays for reserved VMs, and there are enough"
    if admitted == low:
        scarce = "are taken by dearer jobs" if per_vm <= price else "have no room for one whole job"
        return f"its penalty pays for reserved VMs, not for those on demand, and the reserved ones {scarce}"
    return "its penalty pays for reserved VMs, not for those on demand, and the reserved ones run out on it"


def _reasons(spec: Spec, plan: CapacityPlan) -> Table:
    instance = instance_of(spec)
    price = marginal_price(spec)
    rows: list[tuple[object, ...]] = []
    for index, (name, worth) in enumerate(zip(plan.names, worths(instance, plan, price), strict=True)):
        number = int if plan.whole else float
        admitted, low, expected = (number(x[index]) for x in (plan.admitted, instance.low, instance.expected))
        how = "in full" if admitted == expected else "at its least" if admitted == low else "in part"
        rows.append(
            (
                name,
                f"{admitted:g} of {expected:g}",
                how,
                worth.gamma,
                worth.per_vm,
                worth.least_below,
                worth.break_even,
                worth.in_full_above,
                worth.reason,
            )
        )
    money = spec.currency
    return Table(
        f"Admitted jobs (VMs paid {_period(spec)})",
        (
            "class",
            "admitted",
            "",
            "VMs per job",
            f"penalty per VM [{money}]",
            f"at its least below [{money}]",
            f"break-even penalty [{money}]",
            f"in full above [{money}]",
            "because",
        ),
        rows,
        most=SHOWN,
    )


def _period(spec: Spec) -> str:
    period = float(spec.facts.period)
    return "per hour" if period == HOUR else f"per period of {show(period, 'time')}"


def _reservations(spec: Spec, plan: CapacityPlan) -> Iterator[str]:
    prices, money = prices_of(spec.facts), spec.currency
    if spec.facts.vms[0].reserved is None:
        yield f"No VMs are reserved: all {plan.on_demand:g} are rented on demand."
        return
    idle = max(0.0, plan.rented - taken_of(market_of(spec.facts), plan, 0)) if prices.reserved == 0.0 else 0.0
    reserved = max(0.0, plan.reserved - idle)
    used = f"{reserved:g} of {prices.available} reserved VMs are used"
    if prices.reserved >= prices.on_demand:
        yield f"{used}: they cost no less than those on demand."
        return
    worth = worth_of_one_more(spec)
    if reserved < prices.available:
        yield f"{used}: reservations do not bind, and one more would be worth nothing."
    elif worth is not None:
        yield (
            f"{used}: reservations bind. One more would save {worth:g} {money} {_period(spec)} (found by solving "
            f"again with one more; at the margin a VM is worth {marginal_price(spec):g} {money} here, a reserved "
            f"one costs {prices.reserved:g} {money})."
        )
