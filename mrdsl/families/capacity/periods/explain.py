"""Report of a plan over several periods, its settings and warnings, and uses that require the plan of one period."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NoReturn

import numpy as np

from mrdsl.contracts.family import ADMIT, RENT, SET, Operated, Setting
from mrdsl.core.charts import Chart, LineChart, Series, parts_chart
from mrdsl.core.diagnostics import Diagnostic, MrdslError, Span, error
from mrdsl.core.result import Result
from mrdsl.core.tables import cell_text
from mrdsl.core.units import HOUR, show
from mrdsl.exchange.targets.deployment import Deployment
from mrdsl.families.capacity.export import deployments as of_one_period
from mrdsl.families.capacity.facts import WAYS
from mrdsl.families.capacity.market import RESERVED
from mrdsl.families.capacity.periods.plan import PeriodsPlan, bought
from mrdsl.families.capacity.periods.verify import specs_of_periods
from mrdsl.families.capacity.periods.verify import verify as broken
from mrdsl.families.capacity.plan_warnings import warnings_of
from mrdsl.reporting.report import Shown
from mrdsl.simulation.settings import Settings
from mrdsl.spec.spec import Spec


def report(spec: Spec, result: Result) -> Shown:
    """Report the commitments, the cost breakdown, and the VMs and the cost of each period."""
    plan = result.plan
    assert isinstance(plan, PeriodsPlan)
    return Shown(_decision(spec, plan), tuple(_charts(spec, plan)), _assumptions(spec))


def _decision(spec: Spec, plan: PeriodsPlan) -> str:
    parts = [f"{cell_text(each.vms)} {each.name}" for each in plan.committed if each.vms]
    parts += [f"{show(each.cost, 'price', spec.currency)} of {each.name}" for each in plan.savings if each.cost]
    counts = ", ".join(parts) or "nothing"
    saving = plan.saving
    saved = f", {show(saving, 'money', spec.currency)} less than without commitments" if saving else ""
    time = show(plan.horizon, "time")
    return f"Commit to {counts}: {show(plan.total, 'money', spec.currency)} for {time}{saved}."


def _charts(spec: Spec, plan: PeriodsPlan) -> list[Chart]:
    when = list(range(1, len(plan.plan_of) + 1))
    rented = [
        Series(way.replace("_", " "), when, [bought(plan.of_period(n), way) for n in range(len(when))]) for way in WAYS
    ]
    costs = {
        "committed": plan.committed_cost,
        "on demand and spot": plan.rented_cost,
        "penalties": plan.penalties,
        "data transfer": plan.transfer_cost,
    }
    return [
        parts_chart(
            "Where the cost comes from", {name: cost for name, cost in costs.items() if cost}, f"cost [{spec.currency}]"
        ),
        LineChart(
            "VMs by period",
            "period",
            "VMs",
            tuple(each for each in rented if any(each.y)),
            y_zero=True,
            steps=True,
        ),
    ]


def _assumptions(spec: Spec) -> tuple[str, ...]:
    return (
        f"Committed VMs are paid in every period of {show(spec.facts.period, 'time')}, used or not.",
        "The demand of each period is known, and VMs start and stop between periods without cost.",
        "Numbers of jobs are rounded up in each period.",
    )


def operated(spec: Spec, plan: PeriodsPlan) -> Operated:
    """Return the settings of a plan: the commitments, and the VMs and jobs of each period."""
    return Operated(tuple(_settings(spec, plan)))


def _settings(spec: Spec, plan: PeriodsPlan) -> Iterator[Setting]:
    for each in plan.committed:
        yield Setting(RENT, f"{each.name} committed", each.vms)
    for money in plan.savings:
        yield Setting(SET, f"savings plan {money.name}", money.cost * HOUR, f"{spec.currency}/h")
    for number in range(len(plan.plan_of)):
        one, when = plan.of_period(number), f"period {number + 1}"
        for part in one.mixture.bought:
            if part.vms:
                way = "committed" if part.way == RESERVED else part.way.replace("_", " ")
                yield Setting(RENT, " ".join(filter(None, (part.vm, way, part.term))), part.vms, "", when)
        for name, jobs in zip(one.names, one.admitted.tolist(), strict=True):
            yield Setting(ADMIT, f"class {name}", jobs, "jobs", when)


def verify(spec: Spec, plan: PeriodsPlan, relax: bool) -> Iterator[Diagnostic]:
    """Find the violations of a spec by a plan, then warnings about its busiest period."""
    found = tuple(broken(spec, plan, relax))
    yield from found
    if not found:
        busiest, period = max(
            zip(plan.plans, specs_of_periods(spec, plan), strict=True), key=lambda each: each[0].rented
        )
        yield from warnings_of(period, busiest, relax, True)


HINT = "remove `demand`, and write the `jobs` of one period and `available` and `prepaid = yes` for committed VMs"


def simulate_plan(spec: Spec, plan: PeriodsPlan, settings: Settings) -> NoReturn:
    """Raise MrdslError: runs simulate the jobs of one period."""
    raise MrdslError([error("several-periods", "a plan over several periods cannot be simulated", _place(spec), HINT)])


def repeat_runs(spec: Spec, plan: PeriodsPlan, processes: int) -> None:
    """Return None: a plan over several periods has no runs."""


def today(spec: Spec, plan: PeriodsPlan) -> NoReturn:
    """Raise MrdslError: an observed cluster is compared with the plan of one period."""
    raise MrdslError([error("several-periods", "`observed` requires a spec of one period", _place(spec), HINT)])


def deployments(spec: Spec, plan: PeriodsPlan) -> tuple[Deployment, ...]:
    """Return the cluster of the period with most VMs, with the commitments in its notes.

    Raises TargetError as for a plan of one period.
    """
    busiest = max(range(len(plan.plans)), key=lambda number: plan.plans[number].rented)
    period = list(specs_of_periods(spec, plan))[busiest]
    committed = [f"{cell_text(each.vms)} {each.name}" for each in plan.committed if each.vms]
    committed += [f"{show(each.cost, 'price', spec.currency)} of {each.name}" for each in plan.savings if each.cost]
    when = int(np.argmax(plan.plan_of == busiest)) + 1
    notes = (
        f"the other periods - this is the cluster of period {when} of {len(plan.plan_of)}, which has most VMs",
        f"commitments for all periods: {', '.join(committed) or 'none'}",
    )
    return tuple(replace(each, notes=(*each.notes, *notes)) for each in of_one_period(period, plan.plans[busiest]))


def _place(spec: Spec) -> Span | None:
    place: Span | None = spec.facts.demand.span
    return place
