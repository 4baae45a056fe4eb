"""Executors and drivers are packed as they are: against enumeration of executors and of contents of VMs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.core.result import SolutionStatus
from mrdsl.families.capacity.plan import CapacityPlan
from mrdsl.families.capacity.verify import verify
from mrdsl.formulas.packing import Size
from mrdsl.spec.spec import Spec
from tests.formulas.packings import fewest

SPEC = """problem capacity "executors", estimates = paper
whole = {whole}
vm m5 {{ cores = {vm[0]}, memory = {vm[1]} GiB, on_demand {{ price = 1 USD/h }} }}
class nightly {{
  stage scan {{ tasks = {tasks[0]}, avg = 10 s, max = 20 s }}
  stage sum  {{ tasks = {tasks[1]}, avg = 10 s, max = 20 s, after = [scan] }}
  container {{ executor {{ cores = {executor[0]}, memory = {executor[1]} GiB, tasks = {each} }} }}
  {driver}
  guarantee = lower, deadline = {deadline} s
  jobs = {jobs}, penalty = 1000 USD
}}
minimize cost
"""
DRIVER = "driver {{ cores = {0}, memory = {1} GiB }}"
EXAMPLE = {
    "whole": "slots",
    "vm": (16, 64),
    "tasks": (100, 37),
    "executor": (4, 18),
    "each": 4,
    "driver": DRIVER.format(1, 4),
    "deadline": 120,
    "jobs": 3,
}


def spec_of(**changes: object) -> Spec:
    return mrdsl.loads(SPEC.format(**{**EXAMPLE, **changes}))


def errors(spec: Spec, plan: CapacityPlan) -> list[str]:
    return [each.message for each in verify(spec, plan, False) if each.severity == "error"]


def executors_of_job(tasks: tuple[int, int], each: int, deadline: int) -> int:
    """Count up: the lower estimate is the work on all slots that tasks can use."""
    return next(n for n in range(1, 1000) if 10 * sum(tasks) / min(n * each, max(tasks)) <= deadline)


def test_executors_are_named_and_packed_with_their_drivers() -> None:
    """137 tasks of 10 s take 12 slots for 120 s, which are 3 executors; a VM holds 3 and up to 2 drivers."""
    found = mrdsl.solve(spec_of())
    of_class = found.plan.document()["classes"]["nightly"]
    assert (of_class["executors"], of_class["whole_slots"]) == (9, {"task": 36})
    assert found.solution is SolutionStatus.OPTIMAL
    assert found.plan.rented == 3
    held = [(each["count"], each["slots"]["nightly"]) for each in found.plan.document()["packing"]]
    assert sum(count * slots.get("task", 0) for count, slots in held) == 36
    assert sum(count * slots.get("driver", 0) for count, slots in held) == 3


@given(
    each=st.integers(1, 5),
    executor=st.tuples(st.integers(1, 6), st.integers(1, 20)),
    driver=st.tuples(st.integers(1, 4), st.integers(1, 9)),
    tasks=st.tuples(st.integers(1, 12), st.integers(1, 12)),
    jobs=st.integers(1, 3),
    slack=st.integers(0, 100),
    with_driver=st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_the_plan_has_the_fewest_vms(
    each: int,
    executor: tuple[int, int],
    driver: tuple[int, int],
    tasks: tuple[int, int],
    jobs: int,
    slack: int,
    with_driver: bool,
) -> None:
    deadline = 10 * -(-sum(tasks) // max(tasks)) + 10 + slack
    vm = (8, 24)
    spec = spec_of(
        vm=vm,
        each=each,
        executor=executor,
        driver=DRIVER.format(*driver) if with_driver else "",
        tasks=tasks,
        jobs=jobs,
        deadline=deadline,
    )
    found = mrdsl.solve(spec)
    number = executors_of_job(tasks, each, deadline)
    sizes: list[Size] = [(Fraction(executor[0], vm[0]), Fraction(executor[1], vm[1]))]
    sizes += [(Fraction(driver[0], vm[0]), Fraction(driver[1], vm[1]))] * with_driver
    least = fewest(sizes, (number * jobs, jobs)[: len(sizes)])
    assert found.plan.rented == least
    assert found.plan.classes["nightly"].whole_slots.task == number * jobs * each
    assert found.bound <= least + 1e-6
    assert not errors(spec, found.plan)


@pytest.mark.parametrize("whole", ["slots", "machines", "no"])
@pytest.mark.parametrize("solver", ["highs", "direct", "scip"])
def test_every_solver_plans_executors(solver: str, whole: str) -> None:
    spec = spec_of(whole=whole)
    found = mrdsl.solve(spec, solver)
    assert not errors(spec, found.plan)
    assert found.plan.rented == 3
    assert found.bound <= 3 + 1e-6


def test_fewer_tasks_than_an_executor_runs_take_a_whole_one() -> None:
    """The time is that of the tasks that there are: 5 of 8 slots are used, so 50 s of work take 10 s."""
    plan = mrdsl.solve(spec_of(tasks=(5, 1), each=8, jobs=1)).plan
    of_class = plan.classes["nightly"]
    assert (of_class.executors, of_class.whole_slots.task) == (1, 8)
    assert of_class.completion.lower == pytest.approx(60 / 5)


def test_jobs_run_on_the_slots_of_executors() -> None:
    ran = mrdsl.simulate(spec_of())
    assert ran.plan.observed["nightly"].mean <= 120


def defects(plan: CapacityPlan) -> Iterator[CapacityPlan]:
    assert plan.packing is not None
    assert plan.mix is not None
    yield replace(plan, mix=replace(plan.mix, map_slots=plan.mix.map_slots + 1))
    yield replace(plan, mix=replace(plan.mix, reduce_slots=plan.mix.reduce_slots * 0))
    split = plan.packing.slots.copy()
    first, second = np.flatnonzero(~plan.packing.reduces)[:2]
    split[first] += 2
    split[second] -= 2
    yield replace(plan, packing=replace(plan.packing, slots=split))


SYSTEMS = {
    "system = emr": (16, 65536 - 8192),
    "system = dataproc": (16, 65536 * 4 / 5),
    "system = kubernetes": (16 - 0.11, 65536 - 1024 * (1.0 + 0.8 + 0.8 + 0.06 * 48) - 100),
    "system { cores = 2.5, memory = 9 GiB }": (13.5, 65536 - 9 * 1024),
}


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("executor", [(4, 20), (3, 14), (1, 5)])
def test_the_part_of_the_system_is_taken_off_before_packing(system: str, executor: tuple[int, int]) -> None:
    text = SPEC.format(**{**EXAMPLE, "executor": executor, "jobs": 2}).replace("vm m5", 'vm "m5.4xlarge"')
    spec = mrdsl.loads(text.replace("cores = 16, memory = 64 GiB,", f"cores = 16, memory = 64 GiB, {system},"))
    plan = mrdsl.solve(spec).plan
    cores, memory = map(Fraction, SYSTEMS[system])
    sizes: list[Size] = [(Fraction(n) / cores, 1024 * Fraction(g) / memory) for n, g in (executor, (1, 4))]
    assert plan.rented == fewest(sizes, (2 * 3, 2))
    assert not errors(spec, plan)
    without = mrdsl.solve(mrdsl.loads(text)).plan
    assert without.rented <= plan.rented
    if without.rented < plan.rented:
        assert errors(spec, without)


@pytest.mark.parametrize(
    ("system", "code"),
    [
        ("system { }", "wrong-value"),
        ("system { platform = emr, cores = 1 }", "wrong-value"),
        ("system { cores = 16 }", "out-of-range"),
        ("system { memory = 99 GiB }", "out-of-range"),
        ("system = yarn", "unknown-choice"),
    ],
)
def test_bad_systems_are_refused(system: str, code: str) -> None:
    with pytest.raises(MrdslError) as caught:
        mrdsl.solve(mrdsl.loads(SPEC.format(**EXAMPLE).replace("vm m5 {", f"vm m5 {{ {system},")))
    assert [each.code for each in caught.value.diagnostics] == [code]


def test_what_is_no_whole_executor_is_found() -> None:
    spec = spec_of(vm=(16, 200), executor=(3, 18))
    plan = mrdsl.solve(spec).plan
    found = [errors(spec, each) for each in defects(plan)]
    assert "an executor 4" in found[0][0]
    assert "3 jobs of class nightly have 0 drivers" in found[1]
    assert "an executor lies on several VMs" in found[2]


@pytest.mark.parametrize(
    ("before", "after", "code"),
    [
        ("container {", "slots { task = 4 }\n  container {", "slots-and-container"),
        ("container {", "container { task { cores = 1 } ", "slots-and-container"),
        ("cores = 4, memory = 18 GiB, ", "", "missing-item"),
        ("driver { cores = 1, memory = 4 GiB }", "driver { }", "missing-item"),
        ("cores = 16, memory = 64 GiB, ", "memory = 64 GiB, ", "missing-item"),
        ("driver { cores = 1", "driver { cores = 17", "no-vm-type"),
        ("executor { cores = 4", "executor { cores = 17", "no-vm-type"),
        ("tasks = 4 }", "tasks = 0 }", "out-of-range"),
        ("tasks = 4 }", "tasks = 4, overhead = 9 GiB, off_heap = 9 GiB }", "out-of-range"),
        ("guarantee", "on m5 { slots { task = 3 } }\n  guarantee", "slots-and-container"),
    ],
)
def test_bad_executors_are_refused(before: str, after: str, code: str) -> None:
    text = SPEC.format(**EXAMPLE).replace("jobs = 3", "jobs = 3..3")
    assert before in text
    try:
        found = mrdsl.solve(mrdsl.loads(text.replace(before, after))).diagnostics
    except MrdslError as refused:
        found = tuple(refused.diagnostics)
    assert [each.code for each in found if each.severity == "error"] == [code]


def test_jobs_without_stages_have_no_executors() -> None:
    text = SPEC.format(**EXAMPLE)
    lines = [line for line in text.splitlines() if not line.startswith("  stage")]
    lines.insert(4, "  map { tasks = 9, avg = 1 s, max = 2 s }")
    with pytest.raises(MrdslError) as caught:
        mrdsl.loads("\n".join(lines))
    assert {each.code for each in caught.value.diagnostics} == {"unknown-block", "missing-item"}
