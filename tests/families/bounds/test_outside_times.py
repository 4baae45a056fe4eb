"""Time outside tasks: startup of a class and delays of stages, in estimates, plans, verification and simulations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mrdsl
from mrdsl.checking.work import dag_of
from mrdsl.core.diagnostics import MrdslError
from mrdsl.families.bounds.verify import verify
from mrdsl.formulas.stages import stage_work
from mrdsl.simulation.engine.draws import Exponential, TaskTimes
from mrdsl.simulation.engine.scenario import JobClass, QueueRule, Scenario, Users, run_once
from mrdsl.simulation.engine.world import Faults, JobKind, Machines, Stage
from mrdsl.spec.blocks import Stage as Described
from tests.families.bounds.test_bounds_stages_run import run_scenarios
from tests.formulas.random_stages import before, random_stages

SPEC = """problem bounds
cluster {{ slots {{ {slots} }} }}
class a {{
  {startup}
  {body}
}}
{goal}
"""
CHAIN = """stage read { tasks = 4, avg = 5 s, max = 6 s }
  stage sort { delay = 3 s, tasks = 2, avg = 5 s, max = 8 s, after = [read] }"""
PHASES = """map { tasks = 8, avg = 5 s, max = 6 s }
  shuffle { first_max = 2 s, avg = 1 s, max = 2 s }
  reduce { tasks = 4, avg = 3 s, max = 5 s }"""


def spec(body: str, startup: str = "", slots: str = "task = 2", goal: str = "estimate completion") -> mrdsl.Spec:
    return mrdsl.loads(SPEC.format(slots=slots, startup=startup, body=body, goal=goal))


def test_estimates_by_hand() -> None:
    """Two slots: 30 slot-seconds; 10 s of startup and 3 s of delay are added to each estimate.

    Reading takes at most (20 - 6) / 2 + 6 s, and sorting, with a slot for each task, 8 s.
    """
    plan = mrdsl.solve(spec(CHAIN, "startup = 10 s")).plan
    low, high = 30 / 2, (20 - 6) / 2 + 6 + 8
    assert {name: float(plan.completion[name][0]) for name in ("lower", "average", "upper")} == pytest.approx(
        {"lower": low + 13, "average": (low + high) / 2 + 13, "upper": high + 13}
    )


@pytest.mark.parametrize("slots", ["map = 4, reduce = 2", "map = 1, reduce = 9"])
def test_startup_is_added_to_every_estimate(slots: str) -> None:
    with_it, without = (mrdsl.solve(spec(PHASES, text, slots)).plan for text in ("startup = 7 s", ""))
    assert set(with_it.completion) >= {"lower", "average", "upper", "waves", "waves_lower", "waves_upper"}
    for name, times in without.completion.items():
        assert with_it.completion[name] == pytest.approx(times + 7.0), name


@pytest.mark.parametrize("guarantee", ["lower", "average", "upper", "waves", "fractional_waves"])
def test_a_deadline_after_a_startup_takes_the_slots_of_an_earlier_one(guarantee: str) -> None:
    goal = "minimize slots"
    plans = [
        mrdsl.solve(spec(f"{PHASES}\n  guarantee = {guarantee}\n  deadline = {deadline} s", startup, slots, goal)).plan
        for startup, deadline, slots in (("startup = 7 s", 47, "map = 9, reduce = 9"), ("", 40, "map = 9, reduce = 9"))
    ]
    for part in ("map_slots", "reduce_slots"):
        assert getattr(plans[0], part) == pytest.approx(getattr(plans[1], part))


CAPACITY = """problem capacity
vm m5 {{ on_demand {{ price = 0.2 USD/h }} }}
class a {{
  {startup}
  {body}
  jobs = 2..3
  deadline = {deadline} s
  penalty = 10 USD
  guarantee = {guarantee}
}}
minimize cost
"""
BODIES = {
    "phases": (PHASES + "\n  slots { map = 2, reduce = 1 }", 0),
    "stages": (CHAIN + "\n  slots { task = 2 }", 3),
    "coefficients": ("coefficients { A = 40 s, B = 16 s, C = 5 s }\n  slots { map = 2, reduce = 1 }", 0),
}


@pytest.mark.parametrize("guarantee", ["lower", "average", "upper"])
@pytest.mark.parametrize("body", BODIES)
def test_a_plan_of_capacity_leaves_time_for_startup_and_delays(body: str, guarantee: str) -> None:
    """Where all the time outside tasks is one after the other, the plan is that of an earlier deadline."""
    text, delay = BODIES[body]
    if body == "coefficients":
        text = text.replace("\n  guarantee", "")
    costs = []
    for startup, inner, deadline in (("startup = 7 s", text, 57 + delay), ("", text.replace("delay = 3 s, ", ""), 50)):
        written = CAPACITY.format(startup=startup, body=inner, deadline=deadline, guarantee=guarantee)
        if body == "coefficients":
            written = written.replace(f"  guarantee = {guarantee}\n", "")
        found = mrdsl.solve(mrdsl.loads(written))
        assert found.plan is not None
        costs.append(found.objective)
    assert costs[0] == pytest.approx(costs[1])


@pytest.mark.parametrize(
    ("startup", "deadline"), [("startup = 70 s", 60), ("startup = 70 s", 71), ("startup = 1 h", 3601)]
)
@pytest.mark.parametrize("body", BODIES)
def test_a_deadline_before_the_end_of_the_startup_is_told(body: str, startup: str, deadline: int) -> None:
    """A second, or less, is left to tasks that take longer; without the startup there is a plan."""
    text = CAPACITY.format(startup=startup, body=BODIES[body][0], deadline=deadline, guarantee="average")
    if body == "coefficients":
        text = text.replace("  guarantee = average\n", "")
    assert "impossible-deadline" in {each.code for each in mrdsl.check(mrdsl.loads(text))}
    assert not [
        d for d in mrdsl.check(mrdsl.loads(text.replace(startup, "").replace(f"{deadline} s", "1 h"))) if d.impossible
    ]


def test_delays_alone_can_be_too_long() -> None:
    text = CAPACITY.format(startup="", body=BODIES["stages"][0], deadline=3601, guarantee="average")
    told = mrdsl.check(mrdsl.loads(text.replace("delay = 3 s", "delay = 1 h")))
    assert "impossible-deadline" in {each.code for each in told}


def test_verification_adds_it_a_second_time() -> None:
    """A plan that forgot the startup or the delay is not accepted."""
    right = spec(CHAIN, "startup = 10 s")
    for forgotten in (spec(CHAIN), spec(CHAIN.replace("delay = 3 s, ", ""), "startup = 10 s")):
        assert any("estimate" in d.message for d in verify(right, mrdsl.solve(forgotten).plan))
    assert list(verify(right, mrdsl.solve(right).plan)) == []


def test_the_numbers_of_delays_are_those_of_enumeration() -> None:
    random = np.random.default_rng(3)
    for _ in range(200):
        stages = tuple(replace(s, delay=float(random.integers(0, 3)) * 4.0) for s in random_stages(random))
        ancestors = before(stages)
        every = range(len(stages))
        alone = [i for i in every if all(i == j or i in ancestors[j] or j in ancestors[i] for j in every)]
        ends = [0.0] * len(stages)
        for i in every:
            ends[i] = stages[i].delay + max((ends[j] for j in ancestors[i]), default=0.0)
        expected = sum(stages[i].delay for i in alone), max(ends)

        class Node:
            """A class of stages."""

        node = Node()
        node.stages = stages  # type: ignore[attr-defined]
        work = stage_work([node])
        assert work is not None
        assert (work.delay_low[0], work.delay_high[0]) == pytest.approx(expected)
        checked = dag_of(stages)
        assert (checked.alone, checked.delays) == pytest.approx(expected)


def test_a_run_waits_for_its_startup_and_its_delays() -> None:
    """Two slots: 10 s, four tasks of 5 s, 3 s, two tasks of 5 s; the second job of the user starts anew."""
    body = CHAIN.replace("max = 6 s", "max = 5 s").replace("max = 8 s", "max = 5 s") + "\n  think = 0 s"
    seen = mrdsl.simulate(spec(body, "startup = 10 s"), runs=1, jobs=3).plan.observed["a"]
    assert (seen.mean, seen.p95) == pytest.approx((28.0, 28.0))
    phases = """map { tasks = 4, avg = 5 s, max = 5 s }
    shuffle { first_max = 0 s, avg = 0 s, max = 0 s }
    reduce { tasks = 1, avg = 2 s, max = 2 s }"""
    seen = mrdsl.simulate(spec(phases, "startup = 10 s", "map = 2, reduce = 2"), runs=1, jobs=3).plan.observed["a"]
    assert seen.mean == pytest.approx(10 + 5 + 5 + 2)


def test_a_startup_is_idle_time_that_other_jobs_use() -> None:
    """Two users on two slots: a job takes less than twice its time alone, in which two slots idle for 34 s."""
    items = "startup = 34 s\n  think = 0 s"
    alone = run_scenarios(slots=2, items=items).plan.observed["a"].mean
    both = run_scenarios(slots=2, items=f"{items}\n  jobs = 2", jobs=40).plan.observed["a"].mean
    assert alone == pytest.approx(34 + 37)  # two tasks of scan to 6 s, two to 12 s, lookup to 32 s, join to 37 s
    assert both < 2 * alone - 34


@pytest.mark.parametrize("faults", [Faults(), Faults(share=0.1, retries=50)])
def test_no_job_on_its_own_slots_takes_longer_than_the_bound_with_delays(faults: Faults) -> None:
    """(W - P) / k + P + D of the times that ran, failed attempts included in W; and never less than W / k + alone."""
    random = np.random.default_rng(5)
    for number in range(300):
        described = random_stages(random, int(random.integers(1, 7)))
        places = {stage.name: index for index, stage in enumerate(described)}
        delays = [float(random.integers(0, 3)) * 15.0 for _ in described]
        stages = tuple(
            Stage(s.name, min(s.tasks, 12), tuple(places[name] for name in s.after), delay=delay)
            for s, delay in zip(described, delays, strict=True)
        )
        times = tuple(TaskTimes(Exponential(s.avg)) for s in described)
        slots = int(random.integers(1, 9))
        job = JobClass(JobKind("a", stages), times, Users(1), 1)
        world = Scenario((job,), (Machines(1, slots),), ((QueueRule(),),), 0.0, faults)
        record = []
        took = run_once(world, 7, number, record.append).times[0][0]
        ends: dict[tuple[int, int], float] = {}
        for each in record:
            ends[each.stage, each.task] = ends.get((each.stage, each.task), 0.0) + each.end - each.start
        path = [0.0] * len(stages)
        for index, stage in enumerate(stages):
            longest = max(time for (at, _), time in ends.items() if at == index)
            path[index] = longest + max((path[parent] for parent in stage.after), default=0.0)
        work, most, dag = sum(ends.values()), max(path), dag_of(_delayed(described, delays))
        assert took <= ((work - most) / slots + most + dag.delays) * (1 + 1e-9)
        assert took >= (work / slots + dag.alone) * (1 - 1e-9)


def _delayed(described: tuple[Described, ...], delays: list[float]) -> tuple[Described, ...]:
    return tuple(replace(stage, delay=delay) for stage, delay in zip(described, delays, strict=True))


def test_a_timetable_rejects_a_delay_with_the_way_to_go() -> None:
    text = f"""problem timetable
vm m5 {{ on_demand {{ price = 0.2 USD/h }} }}
class a {{
  {CHAIN}
  slots {{ task = 2 }}
  runs {{ from = 22:00, every = 2 min, times = 3 }}
  deadline = 280 s
}}
minimize cost
"""
    with pytest.raises(MrdslError) as refused:
        mrdsl.loads(text)
    (told,) = [each for each in refused.value.diagnostics if "delay" in each.message]
    assert told.code == "out-of-range"
    assert "add 3 s to `startup`" in told.hint
