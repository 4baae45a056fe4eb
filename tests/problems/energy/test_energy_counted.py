"""The counted model against enumeration, and the checker against broken plans."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import ceil, inf

import pyomo.environ as pyo
import pytest
from energy_instances import on, reference, spec_of, vm
from hypothesis import given, settings
from hypothesis import strategies as st
from pyomo.contrib.appsi.base import TerminationCondition
from pyomo.contrib.appsi.solvers.highs import Highs

from mrdsl.problems.energy import FAMILY, counted, verify
from mrdsl.problems.energy.facts import Job, MapTasks, ReduceTasks
from mrdsl.problems.energy.plan import EnergyPlan, SlotUse
from mrdsl.spec import Spec


def solve(spec: Spec, relax: bool = False) -> tuple[float, EnergyPlan] | None:
    """Objective and plan by HiGHS, None where the model is infeasible."""
    model = counted.build(spec, relax)
    solver = Highs()
    solver.config.load_solution = False
    solver.highs_options = {"mip_rel_gap": 0.0}
    results = solver.solve(model)
    if results.termination_condition != TerminationCondition.optimal:
        return None
    results.solution_loader.load_vars()
    return pyo.value(model.goal), counted.decode(spec, model, relax)


def splits(tasks: int, vms: int) -> list[tuple[int, ...]]:
    """Every way of sharing tasks among VMs."""
    if vms == 1:
        return [(tasks,)]
    return [(first, *rest) for first in range(tasks + 1) for rest in splits(tasks - first, vms - 1)]


def enumerate_best(spec: Spec) -> float:
    """The least goal value of a spec with one job over all assignments of tasks to single VMs, inf if there is none."""
    job, network = spec.facts.jobs[0], spec.facts.network
    profiles = {p.name: p for p in job.on}
    vms = [v for v in spec.facts.vms for _ in range(v.available)]
    reduces = job.reduce_tasks
    block, out = job.map.block, job.map.block * job.intermediate if reduces else 0.0
    read = job.map.tasks * out / reduces if reduces else 0.0
    best = inf
    for maps, reds in product(splits(job.map.tasks, len(vms)), splits(reduces, len(vms))):
        rows = [(v, profiles[v.name], m, r) for v, m, r in zip(vms, maps, reds, strict=True) if m or r]
        if any((m and p.map is None) or (r and p.reduce is None) for _, p, m, r in rows):
            continue
        uptime = (
            max(m * block for _, _, m, _ in rows) / network.speed
            + max(ceil(m / v.slots.map) * p.map.time if m else 0.0 for v, p, m, _ in rows)
            + max(m * out + r * read for _, _, m, r in rows) / network.speed
            + max(ceil(r / v.slots.reduce) * p.reduce.time if r else 0.0 for v, p, _, r in rows)
        )
        cost = uptime * sum(v.on_demand.price for v, _, _, _ in rows)
        if uptime > (job.deadline or inf) * (1 + 1e-9) or cost > (job.budget or inf) * (1 + 1e-9):
            continue
        tasks = sum((m * p.map.energy if m else 0.0) + (r * p.reduce.energy if r else 0.0) for _, p, m, r in rows)
        moved = sum(m * (block + out) + r * read for _, _, m, r in rows) / network.speed
        values = {"energy": tasks + moved * network.io_power, "cost": cost, "uptime": uptime}
        best = min(best, values[spec.goal.quantity if spec.goal else "energy"])
    return best


@pytest.mark.parametrize("goal", ["energy", "cost", "uptime"])
def test_reference_optimum_is_the_best_of_all_assignments(goal: str) -> None:
    spec = reference(goal=goal, maps=9)
    found = solve(spec)
    assert found is not None
    value, plan = found
    assert value == pytest.approx(enumerate_best(spec), rel=1e-6)
    assert verify.measure(spec, plan) == pytest.approx(value, rel=1e-6)
    assert verify.verify(spec, plan) == ()


def test_reference_plan_has_the_documented_keys() -> None:
    found = solve(reference())
    assert found is not None
    document = found[1].document()
    assert list(document) == ["vms", "energy", "phases", "uptime", "cost", "jobs"]
    assert list(document["vms"][0]) == ["type", "index", "job", "map_tasks", "reduce_tasks", "slots"]
    assert list(document["energy"]) == ["tasks", "placement", "shuffle", "total"]
    assert document["uptime"] == pytest.approx(sum(document["phases"].values()))


@st.composite
def small_specs(draw: st.DrawFn) -> Spec:
    whole = st.integers
    vms = tuple(
        vm(f"v{k}", draw(whole(1, 3)), draw(whole(2, 20)) / 100, draw(whole(1, 2))) for k in range(draw(whole(1, 2)))
    )
    reduces = draw(whole(0, 3))
    job = Job(
        name="j",
        map=MapTasks(tasks=draw(whole(1, 5)), block=draw(st.sampled_from([0.0, 1e9, 8e9]))),
        reduce=ReduceTasks(tasks=reduces),
        intermediate=draw(st.sampled_from([0.0, 0.5, 2.0])),
        deadline=draw(st.sampled_from([None, 100.0, 160.0, 300.0])),
        budget=draw(st.sampled_from([None, 0.003, 0.006, 0.01])),
        on=tuple(
            on(v.name, draw(whole(10, 50)), draw(whole(10, 99)), draw(whole(10, 50)), draw(whole(10, 99))) for v in vms
        ),
    )
    return spec_of(vms, job, goal=draw(st.sampled_from(["energy", "energy", "cost", "uptime"])))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(small_specs())
def test_counted_optimum_is_the_best_of_all_assignments(spec: Spec) -> None:
    best = enumerate_best(spec)
    found, relaxed = solve(spec), solve(spec, relax=True)
    if best == inf:
        assert found is None
        return
    assert found is not None
    assert relaxed is not None
    assert found[0] == pytest.approx(best, rel=1e-6, abs=1e-9)
    assert verify.verify(spec, found[1]) == ()
    assert relaxed[0] <= found[0] * (1 + 1e-6) + 1e-9
    assert verify.verify(spec, relaxed[1], relax=True) == ()


def test_checker_finds_each_broken_plan() -> None:
    spec = reference()
    found = solve(spec)
    assert found is not None
    plan = found[1]
    first, *rest = plan.vms
    doubled = replace(plan, vms=(first, first, *rest))
    assert "taken 2 times" in verify.verify(spec, doubled)[0].message
    beyond = replace(plan, vms=(replace(first, index=9), *rest))
    assert "only 1 are available" in verify.verify(spec, beyond)[0].message
    fewer = replace(first, map_tasks=first.map_tasks - 1)
    assert "slots run 5 of 4 map tasks" in verify.verify(spec, replace(plan, vms=(fewer, *rest)))[0].message
    lopsided = replace(first, slots=(SlotUse(5, 1), SlotUse(0, 0)))
    messages = [d.message for d in verify.verify(spec, replace(plan, vms=(lopsided, *rest)))]
    assert messages[0] == "wordcount ends after 307.568 s, its deadline is 240 s"
    assert messages[1] == "wordcount costs 0.0148658, its budget is 0.0108"
    missing = [d.message for d in verify.verify(spec, replace(plan, vms=(first,)))]
    assert "5 of the 17 map tasks of wordcount run" in missing
    boast = replace(plan, jobs={"wordcount": replace(plan.jobs["wordcount"], uptime=1.0)})
    assert "states 1 as uptime" in verify.verify(spec, boast)[0].message


def test_checks_speak_of_names_and_machines() -> None:
    spec = reference()
    job = spec.facts.jobs[0]
    stray = replace(job.on[0], name="n2")
    lonely = replace(spec, facts=replace(spec.facts, jobs=(replace(job, on=(stray,)),)))
    assert [d.code for d in FAMILY.check(lonely)] == [
        "unknown-name", "no-machine", "no-machine", "unused", "unused", "unused", "unused"
    ]
    assert list(FAMILY.check(spec)) == []
