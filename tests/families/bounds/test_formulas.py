"""The bounds family's formulas against values worked out by hand, brute force and a nonlinear solver."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrdsl.api import solve
from mrdsl.contracts.pipeline import Draft
from mrdsl.core.result import Limits, Termination
from mrdsl.families.bounds import FAMILY
from mrdsl.families.bounds.facts import BoundsFacts, Cluster, JobClass
from mrdsl.families.bounds.formulas import formulas, plan_of
from mrdsl.families.bounds.verify import measure, quantity, verify
from mrdsl.formulas import estimates, waves
from mrdsl.formulas.mapreduce import Coefficients, completion_expression, deadline_constraint
from mrdsl.language.loading import load_file, load_text
from mrdsl.spec.blocks import MapPhase, ReducePhase, ShufflePhase, Slots
from mrdsl.spec.spec import Goal, Spec

REFERENCE = Path(__file__).parents[3] / "models/bounds/reference.mrspec"
TWITTER = JobClass(
    name="twitter",
    map=MapPhase(tasks=370, avg=30.0, max=42.0),
    shuffle=ShufflePhase(first_avg=8.0, first_max=11.0, avg=37.0, max=40.0),
    reduce=ReducePhase(tasks=64, avg=22.0, max=44.0),
    jobs=4,
)
SIZE = Goal("minimize", "slots")


def spec_of(*classes, cluster=None, goal=None, **items):
    return Spec(
        problem="bounds", facts=BoundsFacts(estimates="paper", classes=classes, cluster=cluster, **items), goal=goal
    )


def test_the_reference_by_hand():
    spec = load_file(REFERENCE).spec
    assert list(FAMILY.check(spec)) == []
    plan = plan_of(spec)
    # 14 jobs on 128 slots; A = 370 * 30, B = 64 * (37 + 22), C = 8 - 37; upper: less twice the longest of each.
    slots = 128 / 14
    twitter = plan.document()["classes"]["twitter"]
    assert twitter["map_slots"] == pytest.approx(slots)
    assert twitter["completion"]["lower"] == pytest.approx((11100 + 3776) / slots - 29)
    assert twitter["completion"]["upper"] == pytest.approx((11100 - 84 + 3776 - 168) / slots + 11 + 2 * (40 + 42 + 44))
    low, middle, high = (twitter["completion"][each] for each in ("lower", "average", "upper"))
    assert middle == pytest.approx((low + high) / 2)
    # 41 waves of map tasks, 7 of reduce tasks; times halfway between least and longest, 2 avg - max and max: avg.
    assert twitter["completion"]["waves"] == pytest.approx(41 * 30 + 8 + 6 * 37 + 7 * 22)
    assert list(verify(spec, plan, False)) == []
    assert quantity(spec, plan, "completion", "twitter") == pytest.approx(middle)


def test_an_estimate_has_no_objective():
    outcome = formulas(Draft(load_file(REFERENCE).spec))
    assert outcome.termination is Termination.COMPLETED
    assert outcome.value is None
    assert outcome.bound is None
    assert [len(table.rows) for table in outcome.plan.tables()] == [2, 2]  # the estimates, and the waves


def test_classes_from_waves_agree_with_the_waves_of_one_job():
    spec = load_file(REFERENCE).spec
    plan = plan_of(spec)
    one = waves.WaveProfile(
        map_tasks=1024,
        map_min=0.0,
        map_max=16.0,
        reduce_tasks=64,
        first_shuffle_avg=10.0,
        shuffle_min=10.0,
        shuffle_max=50.0,
        reduce_min=31.0,
        reduce_max=75.0,
    )
    expected = 112 * 8.0 + 10.0 + 6 * 30.0 + 7 * 53.0
    assert plan.completion["waves"][1] == pytest.approx(expected)
    whole = waves.completion(one, 8, 8)
    sizes = spec_of(spec.facts.classes[1], cluster=Cluster(slots=Slots(map=80, reduce=80)))
    assert plan_of(sizes).completion["waves"][0] == pytest.approx(whole.average)


def test_given_shares_leave_the_rest_to_the_others():
    sort = replace(TWITTER, name="sort", jobs=10)
    other = replace(TWITTER, name="other", share=0.3)
    plan = plan_of(spec_of(TWITTER, sort, other, cluster=Cluster(slots=Slots(map=100, reduce=50))))
    assert plan.map_slots == pytest.approx([100 * 0.7 / 14, 100 * 0.7 / 14, 100 * 0.3 / 4])
    assert plan.reduce_slots == pytest.approx(plan.map_slots / 2)


def test_map_only_jobs_have_no_reduce_terms():
    only = JobClass(name="only", map=MapPhase(tasks=100, avg=10.0, max=20.0))
    plan = plan_of(spec_of(only, cluster=Cluster(slots=Slots(map=10, reduce=10))))
    assert [plan.completion[each][0] for each in ("lower", "upper", "waves")] == pytest.approx([100.0, 136.0, 100.0])


def test_fifo_takes_the_bounds_of_a_dedicated_cluster():
    only = JobClass(name="only", map=MapPhase(tasks=100, avg=10.0, max=20.0), jobs=5)
    spec = spec_of(only, cluster=Cluster(slots=Slots(map=10, reduce=10), scheduler="fifo"))
    plan = plan_of(spec)
    assert [plan.completion[each][0] for each in ("lower", "upper")] == pytest.approx([100.0, 980 / 10 + 20.0])
    assert [each.code for each in FAMILY.check(spec)] == ["fifo-without-waiting"]
    assert list(verify(spec, plan, False)) == []


def test_more_data_means_more_map_tasks_and_longer_reduce_tasks():
    grown = replace(TWITTER, profiled_on=100e9, data=200e9)
    plan = plan_of(spec_of(grown, cluster=Cluster(slots=Slots(map=128, reduce=128))))
    assert plan.completion["lower"][0] == pytest.approx((740 * 30 + 64 * 2 * 59) / 32 + 2 * (8 - 37))


@settings(derandomize=True, max_examples=50, deadline=None)
@given(
    st.integers(1, 12),
    st.integers(0, 8),
    st.floats(1, 50),
    st.floats(0.5, 50),
    st.floats(-20, 100),
    st.floats(1.0, 5.0),
    st.booleans(),
)
def test_no_grid_of_slots_beats_the_least_slots(maps, reduces, map_time, reduce_time, constant, slack, fixed):
    work = Coefficients(*(np.array([v]) for v in (maps * map_time, reduces * reduce_time, constant)))
    tasks = np.array([float(maps)]), np.array([float(reduces)])
    deadline = estimates.earliest(work, *tasks) + (slack - 1.0) * 20.0
    size = estimates.fixed_reduce if fixed else estimates.least_slots
    map_slots, reduce_slots = (float(part[0]) for part in size(work, deadline, *tasks))
    grid_map, grid_reduce = np.meshgrid(
        np.linspace(1.0, maps, 240), [reduces] if fixed or not reduces else np.linspace(1.0, reduces, 240)
    )
    reducing = work.reduce_work / np.where(grid_reduce > 0, grid_reduce, 1.0)
    fits = work.map_work / grid_map + reducing + constant <= deadline + 1e-12
    time = work.map_work / map_slots + (work.reduce_work / reduce_slots if reduces else 0.0) + constant
    assert time <= deadline + 1e-7
    assert 1 <= map_slots <= maps
    assert min(1, reduces) <= reduce_slots <= reduces
    assert map_slots + reduce_slots <= (grid_map + grid_reduce)[fits].min(initial=np.inf) + 1e-9


def test_a_deadline_before_a_slot_per_task_is_impossible():
    spec = spec_of(replace(TWITTER, deadline=59.0), goal=SIZE)
    assert list(FAMILY.check(spec)) == []
    assert [each.code for each in FAMILY.impossible(spec)] == ["impossible-deadline"]
    outcome = formulas(Draft(spec))
    assert outcome.termination is Termination.INFEASIBLE
    assert outcome.plan is None


@pytest.mark.parametrize("sizing_rule", ["least_slots", "fixed_reduce"])
@pytest.mark.parametrize("guarantee", ["lower", "average", "upper", "fractional_waves"])
def test_sized_slots_meet_the_deadline_exactly(guarantee, sizing_rule):
    node = replace(TWITTER, deadline=900.0, guarantee=guarantee)
    spec = spec_of(node, goal=SIZE, sizing=sizing_rule)
    draft = formulas(Draft(spec))
    assert draft.termination is Termination.OPTIMAL
    assert draft.value == draft.bound == measure(spec, draft.plan) == draft.plan.document()["slots"]
    assert list(verify(spec, draft.plan, False)) == []
    assert quantity(spec, draft.plan, "completion", "twitter") == pytest.approx(900.0)


@pytest.mark.parametrize("sizing_rule", ["least_slots", "fixed_reduce"])
def test_a_global_solver_agrees_with_the_closed_form(sizing_rule):
    pytest.importorskip("pyscipopt")
    # Loose and tight deadlines, so that the number of tasks limits map or reduce slots in some classes.
    classes = [
        replace(TWITTER, name=f"c{n}", deadline=deadline, guarantee=guarantee, jobs=n + 1)
        for n, (deadline, guarantee) in enumerate([(150.0, "lower"), (900.0, "upper"), (4000.0, "average")])
    ]
    only = JobClass(name="only", map=MapPhase(tasks=30, avg=10.0, max=20.0), deadline=100.0)
    spec = spec_of(*classes, only, goal=SIZE, sizing=sizing_rule)
    closed = solve(spec)
    assert closed.solver["name"] == "formulas"
    found = solve(spec, "scip", formulation="slots", limits=Limits(gap=1e-7))
    assert found.objective.value == pytest.approx(closed.objective.value, rel=1e-5)
    assert found.objective.bound == pytest.approx(closed.objective.value, rel=1e-5)


def test_subject_to_is_kept_by_a_solver():
    pytest.importorskip("pyscipopt")
    text = """problem bounds "t", estimates = paper
class a { map { tasks = 40, avg = 10 s, max = 15 s }, deadline = 100 s, guarantee = lower }
minimize slots
subject to { completion(a) <= 50 s, slots >= 8 }
"""
    result = solve(load_text(text).spec)
    assert result.objective.value == pytest.approx(8.0, rel=1e-5)
    assert bad_codes(
        text.replace("minimize slots", "estimate completion").replace(
            "class", "cluster { slots { map = 8, reduce = 8 } }\nclass"
        )
    ) == {"wrong-statement"}


def test_a_deadline_constraint_is_the_completion_time():
    pyomo = pytest.importorskip("pyomo.environ")
    work, deadline = Coefficients(*(np.array([v]) for v in (400.0, 120.0, 5.0))), 60.0
    for jobs, maps, reduces in ((1, 10.0, 10.0), (2, 20.0, 10.0), (1, 20.0, 4.0), (1, 8.0, 24.0)):
        model = pyomo.ConcreteModel()
        model.maps, model.reduces = pyomo.Var(initialize=maps), pyomo.Var(initialize=reduces)
        time = pyomo.value(completion_expression(work, 0, jobs, model.maps, model.reduces))
        assert time == pytest.approx(400 * jobs / maps + 120 * jobs / reduces + 5)
        assert pyomo.value(deadline_constraint(work, 0, jobs, model.maps, model.reduces, deadline)) == (
            time <= deadline
        )


def test_equations_3_16_to_3_18_for_one_job():
    one = waves.WaveProfile(
        map_tasks=370,
        map_min=18.0,
        map_max=42.0,
        reduce_tasks=64,
        first_shuffle_avg=8.0,
        shuffle_min=34.0,
        shuffle_max=40.0,
        reduce_min=0.0,
        reduce_max=44.0,
    )
    for rule, scalar in (("least_slots", waves.least_slots), ("fixed_reduce", waves.slots_with_fixed_reduce)):
        node = replace(TWITTER, jobs=1, deadline=900.0, guarantee="fractional_waves")
        plan = formulas(Draft(spec_of(node, goal=SIZE, sizing=rule))).plan
        expected = scalar(one, 900.0)
        assert (plan.map_slots[0], plan.reduce_slots[0]) == pytest.approx((expected.map, expected.reduce))


def bad_codes(text):
    loaded = load_text(text)
    found = list(loaded.diagnostics)
    if loaded.spec is not None:
        found += [*FAMILY.check(loaded.spec), *FAMILY.impossible(loaded.spec)]
    assert all(each.span is not None and each.hint for each in found)
    return {each.code for each in found if each.severity == "error"}


MAP = "map { tasks = 10, avg = 10 s, max = 20 s }"


@pytest.mark.parametrize(
    ("cluster", "items", "goal", "codes"),
    [
        ("slots { map = 0, reduce = 8 }", MAP, "estimate completion", {"out-of-range"}),
        ("slots { map = -3, reduce = 8 }", MAP, "estimate completion", {"out-of-range"}),
        ("slots { map = 8, reduce = 8 }", MAP + ", jobs = 9", "estimate completion", {"too-small-cluster"}),
        ("scheduler = fair", MAP, "estimate completion", {"missing-block"}),
        (
            "slots { map = 8, reduce = 8 }",
            "map { tasks = 10, avg = 30 s, max = 20 s }",
            "estimate completion",
            {"max-below-avg"},
        ),
        ("slots { map = 8, reduce = 8 }", MAP + ", share = 60%", "estimate completion", {"shares-do-not-add-up"}),
        ("slots { map = 8, reduce = 8 }", MAP + ", minimum_share = 130%", "estimate completion", {"out-of-range"}),
        ("slots { map = 8, reduce = 4 }, pools = common", MAP, "estimate completion", {"common-pool-differs"}),
        ("slots { map = 8, reduce = 8 }", MAP + ", data = 4 GB", "estimate completion", {"missing-item"}),
        ("slots { map = 8, reduce = 8 }", MAP, "minimize slots", {"missing-item"}),
        ("scheduler = fair", MAP + ", deadline = 5 s", "minimize slots", {"impossible-deadline"}),
        ("slots { map = 8, reduce = 8 }", "map { tasks = 1, avg = 10 s, max = 10 s }", "estimate completion", set()),
        ("slots { map = 8, reduce = 8 }", MAP + ", reduce { tasks = 0 }", "estimate completion", set()),
    ],
)
def test_bad_input_is_told_at_its_place(cluster, items, goal, codes):
    text = f'problem bounds "t", estimates = paper\ncluster {{ {cluster} }}\nclass a {{ {items} }}\n{goal}\n'
    assert bad_codes(text) == codes


def test_under_fifo_no_task_times_within_the_profile_take_longer_than_upper():
    """A profile over many jobs may have N avg below max: one job's single task then lasts max, not N avg."""
    rng = np.random.default_rng(5)
    for tasks, avg, longest in ((1, 20.0, 40.0), (3, 5.0, 40.0), (4, 15.0, 20.0)):
        node = JobClass(name="c", map=MapPhase(tasks=tasks, avg=avg, max=longest))
        for slots in (1, 2, 3):
            spec = spec_of(node, cluster=Cluster(slots=Slots(map=slots, reduce=1), scheduler="fifo"))
            upper = plan_of(spec).completion["upper"][0]
            worst = 0.0
            for _ in range(300):
                times = rng.choice([0.0, longest, rng.uniform(0, longest)], tasks)
                if tasks * avg >= longest and times.mean() > avg:
                    continue
                free = [0.0] * slots
                for time in times:
                    free[free.index(min(free))] += time
                worst = max(worst, max(free))
            assert worst <= upper + 1e-9
            assert upper >= longest


@settings(derandomize=True, max_examples=30, deadline=None)
@given(
    st.integers(1, 12),
    st.integers(0, 9),
    st.floats(1, 50),
    st.floats(0, 20),
    st.floats(0, 20),
    st.floats(0.5, 50),
    st.floats(1.0, 4.0),
    st.booleans(),
)
def test_whole_waves_keep_the_deadline_with_the_fewest_slots(maps, reduces, m, first, typical, r, slack, fixed):
    def time(x, y):
        waves = -(-reduces // y) if reduces else 0
        return -(-maps // x) * m + (first + (waves - 1) * typical + waves * r if reduces else 0.0)

    deadline = time(maps, reduces) * slack
    node = JobClass(name="c", map=MapPhase(tasks=maps, avg=m, max=m, min=m), deadline=deadline, guarantee="waves")
    if reduces:
        node = replace(
            node,
            reduce=ReducePhase(tasks=reduces, avg=r, max=r, min=r),
            shuffle=ShufflePhase(first_avg=first, first_max=first, avg=typical, max=typical, min=typical),
        )
    spec = spec_of(node, goal=SIZE, sizing="fixed_reduce" if fixed else "least_slots")
    plan = plan_of(spec)
    ys = [reduces] if fixed or not reduces else range(1, reduces + 1)
    best = min(x + y for x in range(1, maps + 1) for y in ys if time(x, y) <= deadline * (1 + 1e-12))
    assert plan.slots == best
    assert plan.completion["waves"][0] <= deadline * (1 + 1e-9)
    assert list(verify(spec, plan, False)) == []
