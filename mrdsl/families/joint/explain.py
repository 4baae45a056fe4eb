"""Report, explanation and settings of a joint plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mrdsl.contracts.family import ADMIT, GIVE, RENT, RUN, SET, Operated, Setting
from mrdsl.core.charts import BarChart, Chart, Interval, IntervalChart, LineChart, Series, parts_chart
from mrdsl.core.diagnostics import number_of
from mrdsl.core.result import Limits, Result, Table
from mrdsl.core.rounding import FEASIBILITY, ROUNDING, ceiling, floor
from mrdsl.core.tables import cell_text
from mrdsl.core.units import HOUR, show
from mrdsl.core.watching import shared_time
from mrdsl.families.joint.allocation import choices, further_vms, least_vms, wanted
from mrdsl.families.joint.facts import NO, SLOTS, JointFacts, as_planned
from mrdsl.families.joint.fleet import fleet_of
from mrdsl.families.joint.methods.greedy import Search, fill_whole, greedy_draft, is_quick
from mrdsl.families.joint.plan import JointPlan
from mrdsl.families.joint.quantities import compares_responses
from mrdsl.families.joint.workload import Floats, Workload, parts, workload
from mrdsl.reporting.report import Shown
from mrdsl.spec.spec import Spec

DRAWN = 30
"""Most classes and services in a chart."""


def report(spec: Spec, result: Result) -> Shown:
    """Report the VMs and the rejected demand; cost, VMs by class and service, responses, periods."""
    plan = result.plan
    assert isinstance(plan, JointPlan)
    return Shown(_decision(spec, plan), tuple(_charts(spec, plan)), _assumptions())


def _decision(spec: Spec, plan: JointPlan) -> str:
    most = float(plan.vms.max())
    vms = number_of(most, "VM", ",.6g")
    if plan.size is not None:
        vms = f"{cell_text(most)} of {number_of(plan.size, 'VM', ',')}"
    periods = len(plan.vms)
    when = f"at most {vms} in each of {periods:,} periods" if periods > 1 else vms
    jobs, requests = plan.classes.rejected.sum(), plan.services.rejected_rate.max(initial=0.0)
    away = [number_of(float(round(jobs, 6)), "job", ".6g")] if jobs > 0 else []
    away += [f"up to {cell_text(float(round(requests, 6)))} requests a second of one service"] if requests > 0 else []
    turned = f"turn away {' and '.join(away)}" if away else "turn nothing away"
    return f"Run {when} and {turned}: {show(plan.total, 'money', spec.currency)} in all."


def _charts(spec: Spec, plan: JointPlan) -> list[Chart]:
    money = f"cost [{spec.currency}]"
    names = (*plan.class_names[:DRAWN], *plan.service_names[:DRAWN])
    held = (*plan.classes.vms.mean(axis=0)[:DRAWN].tolist(), *plan.services.vms.mean(axis=0)[:DRAWN].tolist())
    charts: list[Chart] = [
        parts_chart(
            "Where the cost comes from",
            {"operation": float(plan.operation.sum()), "penalties": float(plan.penalties.sum())},
            money,
        ),
        BarChart("VMs by class and service", names, {"VMs": held}, y_label="VMs (mean over periods)", horizontal=True),
    ]
    facts: JointFacts = spec.facts
    promised = [
        Interval(service.name, {"worst mean response": float(response)}, service.response)
        for service, response in list(
            zip(facts.services, plan.services.response.max(axis=0, initial=0.0), strict=True)
        )[:DRAWN]
    ]
    if promised:
        charts.append(IntervalChart("Responses and their limits", "time [s]", tuple(promised), "promised"))
    charts += _simulated(plan, {one.name: one.deadline for one in facts.classes} if plan.observed else {})
    if len(plan.vms) > 1:
        when = list(range(len(plan.vms)))
        charts += [
            LineChart(
                "VMs by period", "period", "VMs", (Series("VMs", when, plan.vms.tolist()),), y_zero=True, steps=True
            ),
            LineChart(
                "Cost by period",
                "period",
                money,
                (
                    Series("operation", when, plan.operation.tolist()),
                    Series("penalties", when, plan.penalties.tolist()),
                ),
                y_zero=True,
                steps=True,
            ),
        ]
    return charts


def _simulated(plan: JointPlan, deadlines: Mapping[str, float]) -> list[Chart]:
    rows = tuple(
        Interval(name, {"mean": seen.mean, "p50": seen.p50, "p95": seen.p95}, deadlines.get(name))
        for name, seen in list(plan.observed.items())[:DRAWN]
    )
    return [IntervalChart("Simulated completions beside deadlines", "time [s]", rows)] if rows else []


def _assumptions() -> tuple[str, ...]:
    return (
        "A service's VMs share its requests evenly and answer them one after the other; responses are means.",
        "Jobs of a class come evenly over a period and run in rounds as long as their deadline.",
    )


def operated(_: Spec, plan: JointPlan) -> Operated:
    """Return the settings of a plan."""
    return Operated(tuple(_settings(plan)))


def _settings(plan: JointPlan) -> Iterator[Setting]:
    several = len(plan.vms) > 1
    if plan.by_type is not None:
        for name, vms in zip(plan.by_type.vm, plan.by_type.committed.tolist(), strict=False):
            if vms:
                yield Setting(RENT, f"{name} under contract", vms)
    for t, vms in enumerate(plan.vms.tolist()):
        when = f"period {t}" if several else ""
        yield Setting(RUN, "VMs", vms, "", when)
        got = plan.classes
        for i, name in enumerate(plan.class_names):
            what = f"class {name}"
            yield Setting(GIVE, what, float(got.vms[t, i]), "VMs", when)
            yield Setting(ADMIT, what, float(got.admitted[t, i]), "jobs", when)
            yield Setting(SET, f"the weight of {what}", float(got.weight[t, i]), "", when)
        for i, name in enumerate(plan.service_names):
            yield Setting(GIVE, f"service {name}", float(plan.services.vms[t, i]), "VMs", when)
            yield Setting(ADMIT, f"service {name}", float(plan.services.rate[t, i]), "requests/s", when)


LIMITS = Limits(gap=1e-4, nodes=5_000)
RELAXED = "nothing: VMs and jobs in fractions"


def costs_of_wholeness(spec: Spec, plan: JointPlan) -> Table | None:
    """Return the costs of plans in fractions, in whole VMs and concurrent jobs, and with whole slots on them.

    Each plan has separate VMs per class, so machines have no additional cost. None if the costs are many, if the spec
    has fractional concurrent jobs, or if a model compares response times. The row of this plan has its cost. Other rows
    are from the greedy, within its bound, or from HiGHS to 1e-4 if there is a ``subject to``.
    """
    one_by_one = spec.facts.cluster.concurrency == "fractional" or compares_responses(spec) or len(spec.facts.vms)
    if one_by_one or not is_quick(plan):
        return None
    own = RELAXED if _in_fractions(plan) else plan.whole
    rows = []
    for named, wholeness, relax in ((RELAXED, NO, True), (NO, NO, False), (SLOTS, SLOTS, False)):
        meant = replace(spec, facts=replace(spec.facts, whole=wholeness))
        found = plan if named == own else _plan(meant, relax)
        label = f"{named} (this plan)" if named == own else named
        rows.append((label, *((None,) * 3 if found is None else _figures(found))))
    unit = spec.currency
    head = ("whole", "VMs, at most", f"penalties [{unit}]", f"cost [{unit}]")
    return Table("Whole slots and their cost", head, rows)


def _figures(plan: JointPlan) -> tuple[float, float, float]:
    return float(plan.vms.max(initial=0.0)), float(plan.penalties.sum()), plan.total


def _in_fractions(plan: JointPlan) -> bool:
    """Return True if VMs or concurrent jobs are fractions, which only a relaxed plan has here."""
    held = (plan.classes.vms, plan.services.vms, plan.classes.at_once)
    return not all(np.allclose(each, np.rint(each), rtol=0.0, atol=ROUNDING) for each in held)


def _plan(spec: Spec, relax: bool) -> JointPlan | None:
    if shared_time() == 0.0:
        return None
    if spec.constraints:
        from mrdsl.families.joint.models.formulations import run_p2
        from mrdsl.solving.checked_answer import solve_model

        found = run_p2(spec, relax, LIMITS, lambda model, limits=None: solve_model(model, "highs", limits or LIMITS))
        return found.plan if isinstance(found.plan, JointPlan) else None
    drafted = greedy_draft(spec, relax)
    return drafted.plan if isinstance(drafted.plan, JointPlan) else None


EXACT = 1 << 16
"""States and units of an exchange that looks for the value of one VM."""
MOST_PERIODS = 48


def why(spec: Spec, result: Result) -> tuple[Table | str, ...]:
    """Return sizes of the cluster that matter; the marginal unit and the worth of one VM more; every class's reason."""
    if isinstance(result.plan, JointPlan):
        spec = as_planned(spec, result.plan.whole)
    if len(spec.facts.vms):
        return tuple(_why_types(spec))
    work = workload(spec)
    if not isinstance(result.plan, JointPlan):
        return (_sizes(work),)
    hour = spec.facts.cluster.period / HOUR
    tables: list[Table | str] = [
        _sizes(work),
        _one_more(spec, work, result.plan, hour),
        _reasons(spec, work, result.plan, hour),
    ]
    costs = costs_of_wholeness(spec, result.plan)
    tables += [] if costs is None else [costs]
    if spec.constraints:
        tables.append("The comparisons under `subject to` are not part of this explanation: they may hold VMs back.")
    return tuple(tables)


def _why_types(spec: Spec) -> Iterator[Table | str]:
    """Yield the cost of serving each class and service on each type, with the penalty that it avoids.

    VMs under contract have a row of their own: their price is paid in every period.
    """
    fleet, unit_cost = fleet_of(spec), f"[{spec.currency}]"
    ways: list[tuple[int, str, float]] = []
    for number, (lane, price) in enumerate(zip(fleet.lanes, fleet.prices.tolist(), strict=True)):
        ways.append((number, fleet.names[lane.vm] + (" on spot" if lane.spot else ""), price))
        if fleet.contracts[lane.vm] and not lane.spot:
            committed = price - float(fleet.on_demand[lane.vm] - fleet.contract_prices[lane.vm])
            ways.append((number, f"{fleet.names[lane.vm]} under contract", committed))
    jobs = [
        (name, label, float(one.gamma[lane, i]), float(price * one.gamma[lane, i] / one.reuse[i]), penalty)
        for (i, name), penalty in zip(enumerate(fleet.class_names), fleet.penalty.tolist(), strict=False)
        for lane, label, price in ways
        for one in (fleet.every[next(iter(fleet.useful(lane, i, 1.0, True)))],)
        if np.isfinite(one.gamma[lane, i])
    ]
    per_request, penalties = spec.facts.cluster.period / 1e6, fleet.penalty[fleet.classes :]
    requests = [
        (name, label, float(rate), *(float(each / per_request) for each in (price / rate, penalties[k])))
        for k, name in enumerate(fleet.service_names)
        for rate, label, price in ((fleet.rate_per_vm[lane, k], *way) for lane, *way in ways)
        if rate > 0.0
    ]
    head = ("VMs of a job", f"cost of a job {unit_cost}", f"penalty of a job {unit_cost}")
    if jobs:
        yield Table("A job on each VM type", ("class", "VM type", *head), jobs)
    head = ("requests of a VM [1/s]", f"cost of a million {unit_cost}", f"penalty of a million {unit_cost}")
    if requests:
        yield Table("Requests on each VM type", ("service", "VM type", *head), requests)


def smallest_feasible(work: Workload) -> int:
    """Return the smallest cluster, in whole VMs, that holds the least demand of every period."""
    return _smallest(work, work.whole_vms(work.low))


def smallest_without_rejections(work: Workload) -> int:
    """Return the smallest cluster that serves, in whole VMs, all demand that is worth its VMs.

    The rest has only its least demand.
    """
    return _smallest(work, _wanted(work))


def _wanted(work: Workload) -> Floats:
    """Return the VMs of every unit on a large cluster: all demand, while the last VM pays; otherwise the least."""
    if work.whole:
        return np.stack([wanted(work, t) for t in range(work.periods)])
    whole, least = floor(work.need_high), ceiling(work.need_low)
    last_pays = work.worth * (work.need_high - whole) >= work.vm_cost
    full = np.where(last_pays, ceiling(work.need_high), np.maximum(whole, least))
    return np.where(work.worth >= work.vm_cost, full, least)


def _smallest(work: Workload, vms: Floats) -> int:
    """Return the smallest size whose parts hold ``vms`` (periods, units); parts of a split cluster grow with
    its size.
    """
    from dataclasses import replace

    size = int(vms.sum(axis=1).max())
    while not all(vms[:, part].sum(axis=1).max() <= held for part, held in parts(replace(work, size=size))):
        size += 1
    return size


def _sizes(work: Workload) -> Table:
    rows: list[tuple[Any, ...]] = [
        ("smallest cluster that keeps every least demand", smallest_feasible(work)),
        ("smallest cluster that turns nothing away that is worth its VMs", smallest_without_rejections(work)),
        ("this cluster", work.size),
    ]
    if work.partitioned:
        names = ("of it for the classes", "of it for the services")
        rows += [(name, int(held)) for name, (_, held) in zip(names, parts(work), strict=False)]
    return Table("Sizes of the cluster", ("", "VMs"), rows)


def _one_more(spec: Spec, work: Workload, plan: JointPlan, hour: float) -> Table:
    """List the marginal unit per period and part, and the saving per hour of one more VM."""
    rows = []
    for part, held in parts(work):
        gains = _gains(work, part, held) / hour
        used = np.concatenate([plan.classes.vms, plan.services.vms], axis=1)[:, part].sum(axis=1)
        for t in range(min(work.periods, MOST_PERIODS)):
            rows.append(
                (
                    str(t),
                    _name_of(work, part),
                    float(held),
                    float(held - used[t]),
                    _marginal(work, plan, part, t),
                    float(np.maximum(0.0, gains[t])) + 0.0,
                )
            )
    head = ("period", "part", "VMs", "idle", "marginal", f"one VM more saves [{spec.currency}/h]")
    return Table("Value of one more VM", head, rows)


def _gains(work: Workload, part: slice, held: float) -> Floats:
    """Return the saving of one more VM in every period; NaN where no allocation is proven to be the cheapest."""
    now, then = (_costs(work, part, size) for size in (held, held + 1.0))
    return np.where(np.abs(now - then) < ROUNDING * np.abs(now), 0.0, now - then)


def _costs(work: Workload, part: slice, held: float) -> Floats:
    """Return the least cost of a part with ``held`` VMs in every period; NaN where it is not proven."""
    vms, gaps = least_vms(work, False), np.zeros(work.periods)
    free = held - vms[:, part].sum(axis=1)
    left = np.maximum(free, 0.0)
    if work.whole:
        filled = [fill_whole(work, part, t, float(left[t]), Search(EXACT, EXACT)) for t in range(work.periods)]
        vms[:, part], gaps = [each.vms for each in filled], np.array([each.gap for each in filled])
    else:
        vms[:, part] += further_vms(work, part, vms[:, part], left, False)
    rejected = (work.expected - work.served_by(vms, False))[:, part] @ work.penalty[part]
    costs = work.vm_cost * vms[:, part].sum(axis=1) + rejected
    return np.where((free < 0.0) | (gaps > ROUNDING * np.abs(costs)), np.nan, costs)


def _name_of(work: Workload, part: slice) -> str:
    if part == slice(0, len(work.worth)):
        return "all"
    return "classes" if part.start == 0 else "services"


def _marginal(work: Workload, plan: JointPlan, part: slice, t: int) -> str:
    """Return the unit that the next VM of the part would serve: of those short of VMs the one whose next VM avoids
    most.
    """
    vms = np.concatenate([plan.classes.vms[t], plan.services.vms[t]])[part]
    if work.whole:
        return _marginal_jobs(work, part, t, vms)
    missing = np.minimum(work.need_high[t, part] - vms, 1.0)
    worth = np.where(missing > ROUNDING, missing * work.worth[part], -np.inf)
    best = int(np.argmax(worth)) if len(worth) else 0
    if not len(worth) or worth[best] < work.vm_cost:
        return "–"
    return work.names[part][best]


def _marginal_jobs(work: Workload, part: slice, t: int, vms: Floats) -> str:
    """Return the unit whose next whole concurrent jobs, or next VM, avoid the most penalty per VM."""
    options = choices(work, part, t, float(work.whole_vms(work.high)[t, part].sum()))
    more = options.vms - vms[options.unit]
    here = np.maximum.reduceat(np.where(more <= 0.0, options.avoided, -np.inf), options.first)
    beyond = more > 0.0
    worth = np.where(beyond, (options.avoided - here[options.unit]) / np.where(beyond, more, 1.0), -np.inf)
    best = int(np.argmax(worth)) if len(worth) else 0
    if not len(worth) or worth[best] < work.vm_cost:
        return "–"
    return work.names[part][int(options.unit[best])]


def _reasons(spec: Spec, work: Workload, plan: JointPlan, hour: float) -> Table:
    """List for every unit the penalty that a VM avoids, its cost, the periods in each state, and the reason."""
    served = np.concatenate([plan.classes.admitted, plan.services.rate], axis=1)
    vms = np.concatenate([plan.classes.vms, plan.services.vms], axis=1)
    full = (served >= work.high * (1 - FEASIBILITY)) & ~work.never
    least = vms <= work.whole_vms(work.low)
    rows = []
    for u, name in enumerate(work.names):
        at_least = int((least[:, u] & ~full[:, u]).sum())
        everything = int(full[:, u].sum())
        between = work.periods - at_least - everything
        breakeven = work.vm_cost * work.vms_per_demand[u] / (1.0 if u < work.classes else spec.facts.cluster.period)
        never = bool(work.never[u])
        rows.append(
            (
                name,
                None if never else float(work.worth[u] / hour),
                float(work.vm_cost / hour),
                None if never else float(breakeven),
                everything,
                between,
                at_least,
                _reason(work, u, at_least, between),
            )
        )
    head = (
        "class or service",
        f"a VM avoids [{spec.currency}/h]",
        f"and costs [{spec.currency}/h]",
        f"break-even penalty [{spec.currency}]",
        "periods in full",
        "in part",
        "at minimum",
        "because",
    )
    return Table("Classes and services", head, rows)


def _reason(work: Workload, unit: int, at_least: int, between: int) -> str:
    if work.never[unit]:
        return "no VMs meet its time limit, so that all of it is rejected"
    if work.most_worth[unit] < work.vm_cost:
        return "its penalty is below what its VMs cost"
    if not at_least and not between:
        return "there are VMs for all of it"
    if between:
        return "VMs run out on it, or its last ones do not pay"
    return "others avoid more penalty per VM"
