"""Report of a capacity plan, and the settings that an operator makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from mrdsl.contracts.family import ADMIT, GIVE, RENT, Operated, Setting
from mrdsl.core.charts import BarChart, Chart, Interval, IntervalChart, Series, Use, parts_chart
from mrdsl.core.diagnostics import number_of
from mrdsl.core.result import Result
from mrdsl.core.rounding import SAME_SUM
from mrdsl.core.tables import cell_text
from mrdsl.core.units import show
from mrdsl.families.capacity.facts import MACHINES, NO, SLOTS, CapacityFacts
from mrdsl.families.capacity.market import RESERVED, market_of
from mrdsl.families.capacity.plan import SHOWN, CapacityPlan
from mrdsl.families.capacity.plan_parts import Bought
from mrdsl.families.capacity.simulate import times_of_jobs
from mrdsl.formulas.mapreduce import lower
from mrdsl.formulas.profiles import profile_of
from mrdsl.reporting.report import Shown
from mrdsl.spec.spec import Spec


def report(spec: Spec, result: Result) -> Shown:
    """Report the VMs to rent, the cost breakdown, estimates, deadlines, and the jobs of each class."""
    plan = result.plan
    assert isinstance(plan, CapacityPlan)
    return Shown(_decision(spec, plan), tuple(_charts(spec, plan)), _assumptions(spec, plan.wholeness))


def today(spec: Spec, plan: CapacityPlan) -> Use:
    """Return the use of the plan's VMs from the first request of the logs until the plan ends the jobs of the last one,
    to compare with the observed cluster. Masters do not count, since logs do not name theirs.
    """
    facts: CapacityFacts = spec.facts
    assert facts.observed is not None
    slots, times = plan.map_slots + plan.reduce_slots, times_of_jobs(spec, plan)
    longest = float(np.nanmax(times, initial=0.0))
    took = [each for node in facts.classes for each in node.took]
    before = facts.observed.requests or (max(0.0, facts.observed.time - max(took, default=longest)),)
    time = sum(before) + longest * len(before)
    work = lower(profile_of(facts.classes))
    at_work = float(np.nansum(plan.admitted * (work.map_work + work.reduce_work)))
    held = float(np.nansum(slots * times))
    jobs = float(plan.admitted.sum() + plan.rejected.sum())
    total = float(slots.sum())
    vms = plan.rented - float(plan.mixture.masters.sum())
    return Use(
        vms,
        vms * time,
        (plan.vm_cost - plan.mixture.masters_cost) * time / facts.period,
        min(1.0, at_work / held) if held else None,
        float(plan.rejected.sum()) / jobs if jobs else None,
        Series("", [0.0, time], [total, total]),
    )


def _bought(plan: CapacityPlan) -> dict[str, float]:
    """Return the number of VMs by type and purchase option."""
    return {_named(each): float(each.vms) for each in plan.mixture.bought if each.vms}


def _named(bought: Bought) -> str:
    return " ".join(filter(None, (bought.vm, bought.way.replace("_", " "), bought.term)))


def _decision(spec: Spec, plan: CapacityPlan) -> str:
    rented = ", ".join(f"{cell_text(count)} {name}" for name, count in _bought(plan).items()) or "nothing"
    jobs = plan.admitted.sum() + plan.rejected.sum()
    admitted = (
        "every job is admitted"
        if not plan.rejected.any()
        else f"{cell_text(float(plan.admitted.sum()))} of {number_of(float(jobs), 'job', '.6g')} "
        f"{'is' if jobs == 1 else 'are'} admitted"
    )
    facts: CapacityFacts = spec.facts
    period = show(facts.period, "time")
    masters = " and ".join(
        f"{count:g} {name} as {'master' if count == 1 else 'masters'}"
        for name, count in zip(plan.mixture.types, plan.mixture.masters.tolist(), strict=True)
        if count
    )
    rented += f", of them {masters}" if masters else ""
    return f"Rent {rented}: {show(plan.total, 'money', spec.currency)} for {period}, and {admitted}."


def _cost(spec: Spec, plan: CapacityPlan) -> dict[str, float]:
    """Return the cost of VMs by type and purchase option, fees included, of disks, data and rejected jobs; no 0."""
    market = market_of(spec.facts)
    if market.disk_prices is not None:
        of_offer = market.disk_prices[market.vm_of_lane[market.lane_of_offer]].tolist()
        offers = zip(market.offers, of_offer, strict=True)
        market = replace(market, offers=tuple(replace(each, price=each.price - disk) for each, disk in offers))
    prices = dict(zip(market.ways, market.prices.tolist(), strict=True))
    mixture = plan.mixture
    vms = {(each.vm, each.way, each.term): each.vms for each in mixture.bought}
    bought = np.array([vms.get(way, 0.0) for way in market.ways])
    of_masters = market.buy(market.masters_of_lane, bought) * market.prices
    costs = {_named(each): each.vms * prices[each.vm, each.way, each.term] for each in mixture.bought if each.vms}
    masters: dict[str, float] = {}
    for way, cost in zip(market.ways, of_masters.tolist(), strict=True):
        if cost:
            costs[_named(Bought(*way, 0.0))] -= cost
            masters[f"{way[0]} as master"] = masters.get(f"{way[0]} as master", 0.0) + cost
    parts = {"disks": plan.disk_cost, "data transfer": plan.transfer_cost}
    costs = {name: cost for name, cost in costs.items() if cost > SAME_SUM}
    return {**costs, **masters, **{name: cost for name, cost in parts.items() if cost}, **_penalties(plan)}


def _penalties(plan: CapacityPlan) -> dict[str, float]:
    """Return the cost of rejected jobs by class, the most expensive first; a last entry sums up the others."""
    order = plan.penalty.argsort(kind="stable")[::-1]
    dearest = {f"rejected {plan.names[i]}": float(plan.penalty[i]) for i in order[:SHOWN].tolist() if plan.penalty[i]}
    others = float(plan.penalty[order[SHOWN:]].sum())
    return {**dearest, "rejected, other classes": others} if others else dearest


def _charts(spec: Spec, plan: CapacityPlan) -> list[Chart]:
    named = list(zip(plan.names, range(SHOWN), strict=False))
    return [
        parts_chart("Where the cost comes from", _cost(spec, plan), f"cost [{spec.currency}]"),
        *([parts_chart("VMs by type and way", _bought(plan), "VMs")] if plan.mix is not None else []),
        IntervalChart(
            "Deadlines beside estimates of completion",
            "time [s]",
            tuple(Interval(name, _times(plan, i), float(plan.deadline[i])) for name, i in named),
        ),
        BarChart(
            "Jobs admitted and rejected",
            tuple(name for name, _ in named),
            {"admitted": plan.admitted[:SHOWN].tolist(), "rejected": plan.rejected[:SHOWN].tolist()},
            y_label="jobs",
            stacked=True,
            horizontal=True,
        ),
    ]


def _times(plan: CapacityPlan, index: int) -> dict[str, float | None]:
    known = (("lower", plan.completion_lower), ("average", plan.completion_average), ("upper", plan.completion_upper))
    means = (("mean", plan.completion_mean),) if len(plan.completion_mean) else ()
    times: dict[str, float | None] = {kind: float(column[index]) for kind, column in (*known, *means)}
    seen = plan.observed.get(plan.names[index])
    return times if seen is None else {**times, "simulated p50": seen.p50, "simulated p95": seen.p95}


COUNTED = {
    NO: "slots are counted in fractions, VMs whole.",
    SLOTS: "each has whole slots, which lie on VMs as the packing says; VMs may hold slots of several classes.",
    MACHINES: "each has whole slots, which lie on VMs as the packing says; no VM holds slots of two classes.",
}


def _assumptions(spec: Spec, wholeness: str) -> tuple[str, ...]:
    return (
        f"VMs are paid for {show(spec.facts.period, 'time')}; what is paid for in any case is no part of the cost.",
        "A class's deadline is met by the estimate that its guarantee names (the average where it names none): single "
        "jobs may take longer than the average, and up to the upper estimate.",
        f"Jobs of a class share their slots evenly; {COUNTED[wholeness]}",
        *(
            f"Of {', '.join(each.classes)}, at most one runs at a time: they take the VMs of the most demanding one."
            for each in spec.facts.never_together
        ),
    )


def operated(_: Spec, plan: CapacityPlan) -> Operated:
    """Return the settings of a plan; VMs of each contract that has a name apart from those of the one without."""
    return Operated(tuple(_settings(plan)))


def _settings(plan: CapacityPlan) -> Iterator[Setting]:
    document = plan.document()
    for vm, counts in document["vms"].items():
        terms = counts.get("terms", {})
        for kind, count in counts.items():
            if kind != "terms":
                unnamed = count - sum(terms.values()) if kind == RESERVED else count
                yield Setting(RENT, f"{vm} {kind.replace('_', ' ')}", unnamed)
        for term, count in terms.items():
            yield Setting(RENT, f'{vm} reserved "{term}"', count)
    for name, got in document["classes"].items():
        for kind, slots in got["whole_slots"].items():
            yield Setting(GIVE, f"class {name}", slots, f"{kind} slots")
        yield Setting(ADMIT, f"class {name}", got["admitted"], "jobs")
