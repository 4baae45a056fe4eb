"""Classes of stages in bounds: by hand, beside a map phase, by formula and by SCIP, and where upper is a bound."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mrdsl.core.result import Limits
from mrdsl.families.bounds import FAMILY
from mrdsl.families.bounds.facts import BoundsFacts, Cluster, JobClass
from mrdsl.language.loading import load_text
from mrdsl.planning.solve_spec import solve
from mrdsl.spec import Spec
from mrdsl.spec.blocks import MapPhase, Slots, Stage
from mrdsl.spec.spec import Goal
from tests.families.bounds.running import observed
from tests.formulas.random_stages import estimate, least_slots, numbers, random_stages

CLUSTER = """problem bounds "Spark", estimates = paper
cluster { slots { task = 192 }ITEMS }
class funnel {
  stage scan   { tasks = 200, avg = 9 s, max = 21 s }
  stage lookup { tasks = 12, avg = 4 s, max = 6 s }
  stage join   { tasks = 64, avg = 14 s, max = 33 s, after = [scan, lookup] }
  stage write  { tasks = 16, avg = 7 s, max = 9 s, after = [join] }
  jobs = JOBS
}
estimate completion
"""


def funnel(jobs: int = 3, items: str = "") -> str:
    return CLUSTER.replace("JOBS", str(jobs)).replace("ITEMS", items)


def planned(text: str):
    return solve(load_text(text).spec).plan


def test_estimates_by_hand() -> None:
    """W = 2856, P = 63 of longest tasks; 192 slots for 3 jobs: 64 each."""
    found = planned(funnel()).document()["classes"]["funnel"]
    assert found["task_slots"] == 64.0
    assert found["completion"] == {
        "lower": 2856 / 64,
        "average": pytest.approx((2856 - 63) / 64 + 63),
        "upper": (2856 - 126) / 64 + 126,
        "waves": None,
    }
    alone = planned(funnel(3, ", scheduler = fifo")).document()["classes"]["funnel"]
    assert alone["completion"]["upper"] == (2856 - 63) / 192 + 63  # Graham's, on the whole cluster


@pytest.mark.parametrize("scheduler", ["fair", "fifo"])
@pytest.mark.parametrize(("tasks", "avg", "longest"), [(200, 9.0, 21.0), (3, 5.0, 11.7), (3, 1.0, 7.7), (1, 0.1, 0.3)])
def test_one_stage_is_a_map_phase_to_the_last_digit(scheduler: str, tasks: int, avg: float, longest: float) -> None:
    stage = JobClass(name="c", stages=(Stage(name="s", tasks=tasks, avg=avg, max=longest),), jobs=3)
    phase = JobClass(name="c", map=MapPhase(tasks=tasks, avg=avg, max=longest), jobs=3)
    for goal, cluster in (
        (Goal("estimate", "completion"), Cluster(slots=Slots(task=24), scheduler=scheduler)),
        (Goal("minimize", "slots"), Cluster(scheduler=scheduler)),
    ):
        plans = []
        for node in (stage, phase):
            facts = BoundsFacts(estimates="paper", classes=(node,), cluster=cluster)
            if goal.quantity == "slots":
                facts = replace(facts, classes=(replace(node, deadline=4.0 * longest),))
            plans.append(solve(Spec(problem="bounds", facts=facts, goal=goal)).plan)
        ours, theirs = plans
        assert ours.map_slots == theirs.map_slots
        for each in ("lower", "average", "upper"):
            assert ours.completion[each] == theirs.completion[each]
        assert ours.upper_is_bound == theirs.upper_is_bound


def test_the_least_slots_are_those_of_scip_and_of_the_formula() -> None:
    pytest.importorskip("pyscipopt")
    rng = np.random.default_rng(3)
    classes, least = [], 0.0
    for name, guarantee in zip("abc", ("lower", "average", "upper"), strict=True):
        stages = random_stages(rng, 5)
        _, path_avg, _, width = numbers(stages)
        a, c = estimate(stages, guarantee)
        deadline = max((a / width + c) * float(rng.uniform(1.01, 3.0)), path_avg)
        classes.append(JobClass(name=name, stages=stages, jobs=2, deadline=deadline, guarantee=guarantee))
        least += 2 * least_slots(stages, guarantee, deadline)
    spec = Spec(
        problem="bounds", facts=BoundsFacts(estimates="paper", classes=tuple(classes)), goal=Goal("minimize", "slots")
    )
    assert solve(spec).objective.value == pytest.approx(least, rel=1e-12)
    by_model = solve(spec, solver="scip", formulation="slots", limits=Limits(gap=1e-8))
    assert by_model.objective.value == pytest.approx(least, rel=1e-6)


def test_the_critical_path_is_a_condition_of_its_own() -> None:
    text = (
        funnel(1)
        .replace("jobs = 1", "deadline = 29 s, guarantee = lower")
        .replace("estimate completion", "minimize slots")
    )
    told = load_text(text).diagnostics
    assert [d.code for d in told if d.impossible] == ["impossible-deadline"]
    assert solve(load_text(text.replace("29 s", "30 s")).spec).objective.value == pytest.approx(2856 / 30)


MIXED = """problem bounds, estimates = paper
cluster { slots { SLOTS }ITEMS }
class narrow { map { tasks = 1, avg = 1 s, max = 1 s }
               shuffle { first_max = 0 s, avg = 0 s, max = 0 s }
               reduce { tasks = 100, avg = 1 s, max = 1 s }, jobs = 1, think = 0 s }
class long { map { tasks = 60, avg = 1000 s, max = 1000 s }, jobs = 2, think = 0 s }
estimate completion
"""


def mixed(slots: str, items: str = "") -> str:
    return MIXED.replace("SLOTS", slots).replace("ITEMS", items)


def bounded(text: str) -> list[bool]:
    return [each["upper_is_bound"] for each in planned(text).document()["classes"].values()]


def test_upper_is_called_a_bound_where_the_spec_keeps_its_premises() -> None:
    assert bounded(funnel(3)) == [False]
    assert bounded(funnel(1)) == [True]
    assert bounded(funnel(3, ", work_conserving = no")) == [True]
    assert bounded(mixed("task = 24")) == [False, False]
    assert bounded(mixed("map = 24, reduce = 24", ", pools = common")) == [False, False]
    assert bounded(mixed("map = 24, reduce = 24")) == [False, True]  # maps of 1,000 s beside maps of 1 s
    assert bounded(mixed("task = 24", ", work_conserving = no")) == [True, True]
    assert bounded(mixed("map = 24, reduce = 24", ", scheduler = fifo")) == [False, False]
    arriving = funnel(1).replace("jobs = 1", "arrivals = 1/h")
    assert bounded(arriving) == [False]


def test_a_narrow_phase_in_a_common_pool_waits_for_long_tasks_of_others() -> None:
    """No bound is claimed, and none there is: upper is 17 s; on the one slot of its map task the reduces take 100 s."""
    spec = load_text(mixed("task = 24")).spec
    plan = observed(spec, 1, 1, 2)
    assert plan.completion["upper"][0] < 20.0
    assert plan.observed["narrow"].p50 > 100.0
    assert not plan.upper_is_bound[0]


def test_jobs_of_one_slot_that_lend_it_wait_for_it() -> None:
    """Three jobs on three slots: the upper estimate is the work of one, and a job that loses its slot takes longer."""
    text = """problem bounds, estimates = paper
cluster { slots { task = SLOTS } }
class a { stage s { tasks = 20, avg = 6 s, max = 11 s }, jobs = 3, think = 0 s }
estimate completion
"""
    one, two = (planned(text.replace("SLOTS", str(3 * slots))) for slots in (1, 2))
    assert (one.upper_is_bound.tolist(), two.upper_is_bound.tolist()) == ([False], [True])
    by_phase = text.replace("stage s { tasks", "map { tasks").replace("task = SLOTS", "map = SLOTS, reduce = SLOTS")
    seen = [observed(load_text(by_phase.replace("SLOTS", str(3 * slots))).spec, 1, 1, 40) for slots in (1, 2)]
    assert seen[0].completion["upper"][0] == one.completion["upper"][0] == 120.0
    assert seen[0].observed["a"].p95 > 120.0
    assert seen[1].observed["a"].p95 < two.completion["upper"][0]


def test_one_pool_may_be_written_once() -> None:
    once, twice = (mixed(s, i) for s, i in (("task = 24", ""), ("map = 24, reduce = 24", ", pools = common")))
    assert planned(once).document() == planned(twice).document()
    runs = [observed(load_text(text).spec, 1, 1, 2).document() for text in (once, twice)]
    assert runs[0] == runs[1]


def test_mistakes_of_a_spec_built_in_python_have_a_path() -> None:
    wrong = (
        JobClass(name="none"),
        JobClass(name="loop", stages=(Stage(name="a", tasks=1, avg=1.0, max=2.0, after=("a",)),)),
        JobClass(name="other", stages=(Stage(name="a", tasks=1, avg=3.0, max=2.0, after=("b",)),)),
        JobClass(name="grown", stages=(Stage(name="a", tasks=1, avg=1.0, max=2.0),), data=2.0, profiled_on=1.0),
        JobClass(name="wave", stages=(Stage(name="a", tasks=1, avg=1.0, max=2.0),), guarantee="waves"),
        JobClass(
            name="both", stages=(Stage(name="a", tasks=1, avg=1.0, max=2.0),), map=MapPhase(tasks=1, avg=1.0, max=1.0)
        ),
    )
    facts = BoundsFacts(estimates="paper", classes=wrong, cluster=Cluster(slots=Slots(map=9, reduce=9)))
    told = [
        (d.code, d.path) for d in FAMILY.check(Spec(problem="bounds", facts=facts, goal=Goal("estimate", "completion")))
    ]
    assert told == [
        ("missing-block", "classes[0]"),
        ("stages-and-profile", "classes[5].map"),
        ("cycle", "classes[1].stages[0].after"),
        ("max-below-avg", "classes[2].stages[0].max"),
        ("unknown-name", "classes[2].stages[0].after"),
        ("stages-and-profile", "classes[3].profiled_on"),
        ("stages-and-profile", "classes[3].data"),
        ("stages-and-profile", "classes[4].guarantee"),
        ("missing-item", "cluster.slots.task"),
    ]
