"""Tasks of stages that take several slots, and barrier stages: estimates, plans, runs, and what is refused."""

from __future__ import annotations

import random
from typing import Any

import pytest

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.families.capacity.verify import verify

VM = "vm m { cores = 8, memory = 32 GiB, on_demand { price = 1 USD/h } }\n"
EXECUTOR = "container { executor { cores = 8, memory = 32 GiB, tasks = 8 } }"


def capacity(stages: str, slots: str = EXECUTOR, deadline: str = "1 h", more: str = "") -> str:
    return (
        f"problem capacity\n{VM}class fit {{\n{stages}\n{slots}\njobs = 1, deadline = {deadline}, penalty = 99 USD\n"
        f"{more}}}\nminimize cost\n"
    )


def of_class(text: str) -> dict[str, Any]:
    result = mrdsl.solve(mrdsl.loads(text))
    assert result.plan is not None, result.diagnostics
    found: dict[str, Any] = result.plan.document()["classes"]["fit"]
    return found


def stage(name: str, tasks: int, seconds: float, more: str = "") -> str:
    return f"stage {name} {{ tasks = {tasks}, avg = {seconds:g} s, max = {seconds:g} s{more} }}"


def mean(text: str, runs: int = 2) -> float:
    """The mean time of a job in runs of the plan."""
    result = mrdsl.simulate(mrdsl.loads(text), runs=runs, jobs=20)
    found = result.plan.document()["classes"]["fit"]["observed"]["mean"]
    return float(found)


@pytest.mark.parametrize(
    ("stages", "lower"),
    [
        (stage("fit", 8, 60, ", slots = 4"), 240.0),
        (stage("fit", 8, 60, ", slots = 8"), 480.0),
        (stage("fit", 8, 60, ", slots = 2"), 120.0),
        (stage("fit", 8, 60), 60.0),
        (stage("fit", 1, 60, ", slots = 8"), 60.0),
        (stage("scan", 64, 10) + stage("fit", 8, 60, ", slots = 4, after = [scan]"), 80.0 + 240.0),
        (stage("fit", 4, 60, ", slots = 4") + stage("scan", 16, 10, ", after = [fit]"), 120.0 + 20.0),
    ],
)
def test_tasks_of_several_slots_take_more_waves(stages: str, lower: float) -> None:
    """On one executor of 8 slots, waves of 8 / slots tasks; runs of the plan take exactly that."""
    text = capacity(stages)
    found = of_class(text)
    assert found["executors"] == 1
    assert found["completion"]["lower"] == pytest.approx(lower)
    assert found["completion"]["lower"] <= found["completion"]["average"] <= found["completion"]["upper"]
    assert mean(text) == pytest.approx(lower)


@pytest.mark.parametrize("seed", range(6))
def test_drawn_chains_take_their_waves(seed: int) -> None:
    """Equal tasks, stages one after the other: the sum of whole waves on the executors that the plan has."""
    draw = random.Random(seed)
    rows = [(draw.randint(1, 30), draw.randint(1, 50), draw.choice([1, 2, 4, 8])) for _ in range(draw.randint(1, 4))]
    stages = " ".join(
        stage(f"s{n}", tasks, seconds, f", slots = {q}" + (f", after = [s{n - 1}]" if n else ""))
        for n, (tasks, seconds, q) in enumerate(rows)
    )
    text = capacity(stages, deadline=f"{sum(tasks * seconds for tasks, seconds, _ in rows) + 200} s")
    executors = of_class(text)["executors"]
    waves = sum(-(-tasks // (8 // q * executors)) * seconds for tasks, seconds, q in rows)
    assert mean(text) == pytest.approx(waves)


def test_a_task_of_several_slots_is_one_draw() -> None:
    """Its parts begin and end together: one task on 8 slots takes its mean, not that of the longest of 8."""
    text = capacity("stage fit { tasks = 1, avg = 60 s, max = 100 s, slots = 8 }")
    assert mean(text, 20) == pytest.approx(60.0, rel=0.05)


@pytest.mark.parametrize(
    ("stages", "slots", "expected"),
    [
        (stage("fit", 20, 60, ", barrier = yes"), EXECUTOR, 20),
        (stage("fit", 20, 60, ", barrier = yes"), "slots { task = 8 }", 20),
        (stage("fit", 5, 60, ", barrier = yes, slots = 4"), EXECUTOR, 20),
        (stage("fit", 1, 60, ", barrier = yes"), "slots { task = 8 }", 1),
        (stage("scan", 99, 1) + stage("fit", 9, 60, ", barrier = yes, after = [scan]"), "slots { task = 8 }", 9),
        (stage("a", 9, 60, ", barrier = yes") + stage("b", 7, 60, ", barrier = yes"), "slots { task = 8 }", 9),
    ],
)
def test_a_barrier_stage_gets_a_slot_for_every_task(stages: str, slots: str, expected: int) -> None:
    """However late the deadline is; in whole executors."""
    found = of_class(capacity(stages, slots, "9 h"))
    whole = expected if "executor" not in slots else -(-expected // 8) * 8
    assert found["whole_slots"]["task"] == whole
    without = of_class(capacity(stages.replace(", barrier = yes", ""), slots, "9 h"))
    assert without["whole_slots"]["task"] < whole or expected == 1


@pytest.mark.parametrize("more", ["guarantee = p95", "guarantee = lower", "guarantee = upper"])
def test_every_guarantee_holds_a_barrier_stage(more: str) -> None:
    text = capacity(stage("fit", 20, 60, ", barrier = yes"), "slots { task = 8 }", "30 min", more)
    assert of_class(text)["whole_slots"]["task"] == 20


def test_a_plan_with_fewer_slots_is_refused() -> None:
    """The plan of the same class without its barrier has one executor."""
    spec = mrdsl.loads(capacity(stage("fit", 20, 1, ", barrier = yes"), deadline="9 h"))
    plan, other = (
        mrdsl.solve(each).plan for each in (spec, mrdsl.loads(capacity(stage("fit", 20, 1), deadline="9 h")))
    )
    assert not list(verify(spec, plan, False))  # type: ignore[arg-type]
    told = [each.message for each in verify(spec, other, False)]  # type: ignore[arg-type]
    assert any("fewer slots than a task or a barrier stage of theirs takes at once" in each for each in told)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (capacity(stage("fit", 8, 60, ", slots = 3")), "takes 3 slots of an executor, and class fit has one for 8"),
        (capacity(stage("fit", 8, 60, ", slots = 16")), "has one for 8 tasks"),
        (capacity(stage("fit", 8, 60, ", slots = 2"), "slots { task = 8 }"), "class fit has none"),
        (capacity(stage("fit", 8, 60, ", slots = 0")), "slots"),
        (capacity(stage("fit", 8, 60, ", barrier = maybe")), "barrier"),
    ],
)
def test_slots_that_no_executor_has_are_refused(text: str, message: str) -> None:
    with pytest.raises(MrdslError) as refused:
        mrdsl.loads(text)
    assert message in refused.value.diagnostics[0].message


def bounds(stages: str, ask: str, jobs: int = 1, more: str = "") -> str:
    return f"problem bounds\ncluster {{ slots {{ task = 8 }} }}\nclass fit {{ {stages}\njobs = {jobs}{more} }}\n{ask}\n"


def test_bounds_count_all_slots_of_a_task() -> None:
    text = bounds(stage("fit", 8, 60, ", slots = 4"), "estimate completion")
    found = of_class(text)
    assert found["completion"]["lower"] == pytest.approx(240.0)
    assert not found["upper_is_bound"]
    assert mean(text) == pytest.approx(240.0)


@pytest.mark.parametrize(
    ("more", "jobs", "message"),
    [
        (", barrier = yes", 1, "takes 12 slots at once, since its tasks run all at once, and a job has 8"),
        (", slots = 16", 1, "takes 16 slots at once, since each of its tasks takes several, and a job has 8"),
        (", slots = 8", 2, "takes 8 slots at once, since each of its tasks takes several, and a job has 4"),
    ],
)
def test_a_cluster_on_which_a_stage_never_runs_is_refused(more: str, jobs: int, message: str) -> None:
    with pytest.raises(MrdslError) as refused:
        mrdsl.loads(bounds(stage("fit", 12, 60, more), "estimate completion", jobs))
    assert message in refused.value.diagnostics[0].message


def test_fewest_slots_of_bounds_hold_a_barrier_stage() -> None:
    stages = stage("scan", 9, 1) + stage("fit", 12, 60, ", barrier = yes, after = [scan]")
    text = bounds(stages, "minimize slots", more=", deadline = 9 h").replace("cluster { slots { task = 8 } }\n", "")
    assert of_class(text)["task_slots"] == pytest.approx(12.0)
    assert of_class(text.replace(", barrier = yes", ""))["task_slots"] < 2.0


TIMETABLE = """problem timetable
rent = constant
vm m {{ cores = 8, memory = 32 GiB, on_demand {{ price = 1 USD/h }} }}
class fit {{ {stages}
container {{ executor {{ cores = 8, memory = 32 GiB, tasks = 8 }} }}
runs {{ at = [22:00] }}, deadline = {deadline} }}
minimize cost
"""


@pytest.mark.parametrize(("deadline", "vms"), [("240 s", 1), ("239 s", 2), ("120 s", 2), ("119 s", 4), ("60 s", 4)])
def test_a_timetable_counts_all_slots_of_a_task(deadline: str, vms: int) -> None:
    """8 tasks of 60 s and half an executor each: 4 waves on one VM, 2 on two, 1 on four."""
    text = TIMETABLE.format(stages=stage("fit", 8, 60, ", slots = 4"), deadline=deadline)
    plan: Any = mrdsl.solve(mrdsl.loads(text)).plan
    assert sum(each.count for each in plan.rentals) == vms


def test_a_barrier_stage_of_a_timetable_is_refused() -> None:
    with pytest.raises(MrdslError) as refused:
        mrdsl.loads(TIMETABLE.format(stages=stage("fit", 8, 60, ", barrier = yes"), deadline="9 h"))
    assert "is a barrier stage" in refused.value.diagnostics[0].message
