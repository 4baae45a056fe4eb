"""A defect that is planted in what runs a schedule is found by what checks it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.families.diagnosis import find_family
from mrdsl.families.schedule import trace
from mrdsl.families.schedule.methods import policy
from mrdsl.families.schedule.verify import jobs_of, verify
from mrdsl.planning.verified_plans import trust_in
from mrdsl.simulation.sampling import ConstantPrice
from tests.families.planted import planted

MODELS = Path(__file__).parents[3] / "models/schedule"
CLASSES = """
problem schedule "Queries"
seed = 3
horizon = 2 h
vm m5 {
  slots { map = 2, reduce = 1 }
  on_demand { price = 0.096 USD/h }
  spot { price = MARKET }
  billing = 10 min
}
class report {
  rate = 6/h
  map { tasks = 40, avg = 30 s, max = 40 s }
  shuffle { first_max = 6 s, avg = 5 s, max = 8 s }
  reduce { tasks = 5, avg = 20 s, max = 25 s }
}
class query { rate = 30/h, map { tasks = 2, avg = 8 s, max = 12 s }, deadline_factor = uniform(0.5, 3) }
policy { algorithm = mdasa, instances = KIND }
minimize cost
"""
DRAWN = "mixture([0.9, 0.1], [0.03 USD/h, 0.2 USD/h], [0.004 USD/h, 0.1 USD/h]), every = 5 min"
SPECS = {
    "on demand": CLASSES.replace("MARKET", "0.03 USD/h").replace("KIND", "on_demand"),
    "constant spot": CLASSES.replace("MARKET", "0.03 USD/h").replace("KIND", "spot"),
    "drawn spot": CLASSES.replace("MARKET", DRAWN).replace("KIND", "hybrid"),
}
FILES = ("reference", "trace", "recorded-prices", "frugal")


def solved(spec: str) -> mrdsl.Result:
    return mrdsl.solve(mrdsl.loads(SPECS[spec]) if spec in SPECS else mrdsl.load(MODELS / f"{spec}.mrspec"), "policy")


def refused(spec: str) -> bool:
    return "broken-schedule" in {each.code for each in solved(spec).diagnostics}


def in_time(jobs: Any) -> Any:
    return (replace(job, due=job.due + 1e6) for job in jobs)


DEFECTS = {
    "shorter tasks of classes": (planted(trace, "class_times", lambda t: (t[0], t[1] / 2, *t[2:])), "on demand"),
    "fewer tasks of classes": (planted(trace, "class_times", lambda t: (t[0], t[1], 0, 0.0, 0.0)), "drawn spot"),
    "shorter tasks of a trace": (planted(trace, "tasks_of_trace_job", lambda t: (t[0], t[1] / 2, *t[2:])), "trace"),
    "deadlines that nobody wrote": (planted(policy, "jobs_of", in_time), "on demand"),
    "fewer jobs": (planted(policy, "jobs_of", lambda jobs: list(jobs)[1:]), "on demand"),
    "half the price": (planted(policy, "machine_type", lambda m: replace(m, price=m.price / 2)), "on demand"),
    "shorter periods": (planted(policy, "machine_type", lambda m: replace(m, billing=m.billing * 0.7)), "on demand"),
    "cheaper spot": (planted(policy, "price_process", lambda p: ConstantPrice(0.01 / 3600)), "constant spot"),
    "cheaper drawn spot": (planted(policy, "price_process", lambda p: ConstantPrice(1e-9)), "drawn spot"),
}


@pytest.mark.parametrize("spec", [*SPECS, *FILES])
def test_without_a_defect_plans_are_right(spec: str) -> None:
    result = solved(spec)
    assert result.plan is not None
    assert "broken-schedule" not in {each.code for each in result.diagnostics}, result.diagnostics


@pytest.mark.parametrize("defect", DEFECTS)
def test_defects_are_found(defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, spec = DEFECTS[defect]
    plant(monkeypatch)
    assert refused(spec)


@pytest.mark.parametrize("spec", SPECS)
def test_every_number_of_the_record_is_checked(spec: str) -> None:
    result = solved(spec)
    plan = result.plan
    late = plan.tardiness
    wrong = [
        replace(plan, jobs=replace(plan.jobs, count=plan.jobs.count + 1)),
        replace(plan, jobs=replace(plan.jobs, tardy=0, tardy_share=0.0)),
        replace(plan, jobs=replace(plan.jobs, tardy_share=plan.jobs.tardy_share / 2.0)),
        replace(plan, cost=replace(plan.cost, total=plan.cost.total * 0.9)),
        replace(plan, vm_hours=replace(plan.vm_hours, spot=plan.vm_hours.spot + 0.01)),
        replace(plan, vm_hours=replace(plan.vm_hours, on_demand=plan.vm_hours.on_demand + 0.01)),
        replace(plan, tardiness=replace(late, p50=late.max * 2.0)),
        replace(plan, tardiness=replace(late, max=0.0, mean=0.0, p50=0.0, p95=0.0)),
        replace(plan, finished=plan.finished / 2.0),
        replace(plan, utilization=plan.utilization / 3.0),
        replace(plan, evictions=0, lost_tasks=5),
    ]
    assert not list(verify(result.spec, plan, False))
    for number, each in enumerate(wrong):
        assert list(verify(result.spec, each, False)), number


@pytest.mark.parametrize("spec", [*SPECS, *FILES])
def test_jobs_are_those_of_the_stream(spec: str) -> None:
    """Two programs read the same jobs out of one spec and one seed."""
    facts = (mrdsl.loads(SPECS[spec]) if spec in SPECS else mrdsl.load(MODELS / f"{spec}.mrspec")).facts
    ours = sorted((j.submit, j.due, j.maps, j.map_time, j.reduces, j.reduce_time) for j in jobs_of(facts, 3))
    theirs = sorted(
        (j.submit, j.due, j.tasks[0], j.durations[0], j.tasks[1], j.durations[1]) for j in trace.jobs(facts, 3)
    )
    assert len(ours) == len(theirs) > 0
    for mine, other in zip(ours, theirs, strict=True):
        assert mine == pytest.approx(other, rel=1e-9)


def test_what_a_run_showed_is_taken_on_trust() -> None:
    result = solved("on demand")
    assert "which jobs were late in the run" in trust_in(result, find_family(result.spec)).taken
