"""Slots that hold several tasks: VMs that host more map than reduce tasks, classes that differ, and executors."""

from __future__ import annotations

from dataclasses import replace

import pytest

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.families.timetable.plan import TimetablePlan
from mrdsl.families.timetable.types import market_in_parts, market_of
from mrdsl.families.timetable.verify import verify

HEAD = """problem timetable "sizes"
rent = {rent}
billing {{ period = 1 s, minimum = 0 s }}
vm m {{ on_demand {{ price = 1 USD/min }}, cores = 8, memory = 32 GiB }}
"""
REDUCES = """class a {{
  map {{ tasks = {maps}, avg = 5 min, max = 5 min }}
  shuffle {{ first_max = 0 s, avg = 0 s, max = 0 s }}
  reduce {{ tasks = {reduces}, avg = 4 min, max = 4 min }}
  slots {{ map = 8, reduce = 4 }}
  runs = [{runs}]
  deadline = 9 min
}}
minimize cost
"""
EXECUTORS = """class a {{
  stage s {{ tasks = 9, avg = 5 min, max = 5 min }}
  stage t {{ tasks = 4, avg = 5 min, max = 5 min{after} }}
  container {{ executor {{ cores = 4, memory = 14 GiB, tasks = 4 }} }}
  runs = [{runs}]
  deadline = {due}
  distribution = fixed
}}
minimize cost
"""
WAYS = ("constant", "elastic", "per_job")


def solved(text: str) -> tuple[mrdsl.Spec, mrdsl.Result[TimetablePlan], TimetablePlan]:
    spec = mrdsl.loads(text)
    result = mrdsl.solve(spec).of(TimetablePlan)
    assert result.plan is not None
    assert list(verify(spec, result.plan)) == []
    return spec, result, result.plan


@pytest.mark.parametrize("rent", WAYS)
@pytest.mark.parametrize(
    ("maps", "reduces", "vms"), [(8, 4, 1), (9, 4, 2), (8, 5, 2), (16, 8, 2), (1, 1, 1), (24, 4, 3)]
)
def test_a_vm_hosts_more_map_than_reduce_tasks(maps: int, reduces: int, vms: int, rent: str) -> None:
    """One wave of each phase fits the deadline: 9 min on ceil(max(maps / 8, reduces / 4)) VMs, elastic fewer."""
    _, result, plan = solved(HEAD.format(rent=rent) + REDUCES.format(maps=maps, reduces=reduces, runs="0 s"))
    assert result.solution == "optimal"
    needs = -(-maps // 8), -(-reduces // 4)
    spent = 5 * needs[0] + 4 * needs[1] if rent == "elastic" else 9 * vms
    assert result.value == pytest.approx(spent)
    assert plan.machines == vms == max(needs)


def test_two_runs_share_a_machine_in_unequal_parts() -> None:
    """Two runs of one map task of 4 min take half a machine each, and one reduce task of 5 min all of it."""
    text = HEAD.format(rent="constant") + REDUCES.replace("map = 8, reduce = 4", "map = 2, reduce = 1").format(
        maps=1, reduces=1, runs="0 s, 0 s"
    )
    spec, result, plan = solved(text.replace("9 min", "14 min"))
    assert (result.value, result.solution, plan.slots) == (pytest.approx(13), "optimal", 2)
    parts = market_in_parts(spec.facts)
    assert parts is not None
    assert [night.machine.slots for night in (market_of(spec.facts).nights[0], parts.nights[0])] == [1, 2]


@pytest.mark.parametrize("rent", WAYS)
def test_classes_with_different_slots_share_machines(rent: str) -> None:
    """A VM has 3 slots: a run of 6 tasks has two in each, and one of 3 tasks one in each."""
    text = HEAD.format(rent=rent)
    for name, slots, tasks, at in (("a", 6, 6, 0), ("b", 3, 3, 5)):
        text += f"class {name} {{ stage s {{ tasks = {tasks}, avg = 5 min, max = 5 min }}\nslots {{ task = {slots} }}\n"
        text += f"runs = [{at} min], deadline = 5 min }}\n"
    _, result, plan = solved(text + "minimize cost\n")
    assert (result.value, result.solution, plan.slots) == (pytest.approx(10), "optimal", 3)


@pytest.mark.parametrize("rent", WAYS)
@pytest.mark.parametrize(
    ("runs", "due", "vms"), [("0 s", "10 min", 2), ("0 s", "15 min", 1), ("0 s, 0 s", "10 min", 3)]
)
def test_runs_do_not_share_executors(runs: str, due: str, vms: int, rent: str) -> None:
    """9 tasks take 3 executors of 4 tasks, or 2 for two waves, and a VM hosts 2 executors."""
    text = HEAD.format(rent=rent) + EXECUTORS.format(runs=runs, due=due, after=", after = [s]")
    _, result, plan = solved(text)
    if rent == "constant":
        assert result.solution == "optimal"
        assert (plan.machines, plan.slots) == (vms, 2)
    assert market_in_parts(mrdsl.loads(text).facts) is None
    simulated = mrdsl.simulate(result, runs=2).of(TimetablePlan).plan
    assert simulated is not None
    ends = [None if run.end is None else run.end - run.release for run in plan.runs]
    assert [seen and seen.longest for seen in simulated.of_runs] == ends


def test_stages_side_by_side_may_share_an_executor_in_the_bound() -> None:
    """9 and 4 tasks are 13, which 4 executors run; with an executor for one stage 3 + 1 take the same two VMs."""
    spec, result, plan = solved(HEAD.format(rent="constant") + EXECUTORS.format(runs="0 s", due="5 min", after=""))
    assert market_in_parts(spec.facts) is not None
    assert (result.solution, plan.machines) == ("optimal", 2)


def test_plans_with_too_few_slots_are_broken() -> None:
    text = HEAD.format(rent="constant") + REDUCES.format(maps=16, reduces=8, runs="0 s")
    _, _, plan = solved(text)
    for change in ("map = 7, reduce = 4", "map = 8, reduce = 3", "map = 8, reduce = 8"):
        assert list(verify(mrdsl.loads(text.replace("map = 8, reduce = 4", change)), plan))
    fewer = replace(plan, rentals=tuple(replace(each, count=each.count - 1) for each in plan.rentals))
    assert any("tasks run at once" in each.message for each in verify(mrdsl.loads(text), fewer))
    text = HEAD.format(rent="constant") + EXECUTORS.format(runs="0 s", due="10 min", after=", after = [s]")
    _, _, plan = solved(text)
    for change in ("tasks = 2 }", "tasks = 8 }", "tasks = 1 }"):
        assert list(verify(mrdsl.loads(text.replace("tasks = 4 } }", change + " }")), plan))


@pytest.mark.parametrize("rent", WAYS)
@pytest.mark.parametrize(
    "slots",
    ["map = 8, reduce = 4", "map = 6, reduce = 4", pytest.param("map = 1, reduce = 3", marks=pytest.mark.nightly)],
)
def test_unequal_numbers_are_simulated_as_planned(slots: str, rent: str) -> None:
    """Equal times of tasks make each run end as planned, on slots of several tasks or tasks of several slots."""
    text = HEAD.format(rent=rent) + REDUCES.format(maps=5, reduces=4, runs="0 s, 0 s, 3 min")
    _, result, plan = solved(text.replace("map = 8, reduce = 4", slots).replace("9 min", "25 min"))
    simulated = mrdsl.simulate(result, runs=2).of(TimetablePlan).plan
    assert simulated is not None
    ends = [None if run.end is None else run.end - run.release for run in plan.runs]
    assert [seen and seen.longest for seen in simulated.of_runs] == pytest.approx(ends)


@pytest.mark.nightly
def test_percentiles_with_unequal_numbers_are_kept() -> None:
    text = HEAD.format(rent="constant") + REDUCES.format(maps=8, reduces=4, runs="0 s")
    _, result, plan = solved(text.replace("deadline", "guarantee = p95\n  deadline"))
    assert plan.shown[0].low >= 0.95
    assert result.value == pytest.approx(9)


MIXED = """
class a { map { tasks = 1, avg = 3 min, max = 3 min }, shuffle { first_max = 0 s, avg = 30 s, max = 30 s }
  reduce { tasks = 1, avg = 30 s, max = 30 s }, slots { map = 4, reduce = 1 }
  deadline = 13 min, runs = [0 s] }
class b { map { tasks = 3, avg = 3 min, max = 3 min }, shuffle { first_max = 0 s, avg = 1 min, max = 1 min }
  reduce { tasks = 1, avg = 1 min, max = 1 min }, slots { map = 2, reduce = 4 }
  deadline = 5 min, runs = [2 min, 6 min] }
minimize cost
"""
"""A map task of a takes a quarter of a VM, and of b a half; reduce tasks take all of a VM, and a quarter."""


def test_a_machine_holds_slots_of_unequal_sizes_at_once() -> None:
    """Two VMs boot at 0 and run b from 2 to 5 and from 6 to 9 min; one stays until 11 min, and a fits beside b: 20 min.

    No timetable costs less: b does not wait, takes two VMs for its map tasks, and boots take longer than the pause.
    """
    text = "problem timetable\nrent = elastic\nbilling { period = 1 min, minimum = 0 s }\n"
    text += "vm m { on_demand { price = 0.03 USD/min }, boot = 2 min }\n" + MIXED
    spec, result, plan = solved(text)
    assert (result.value, result.solution) == (pytest.approx(0.6), "optimal")
    assert plan.tasks is not None
    both = replace(plan, rentals=tuple(replace(each, count=2) for each in plan.rentals))
    assert any("unequal" in each.message for each in verify(spec, both))
    halves = replace(plan.tasks, count=plan.tasks.count // 2 + plan.tasks.count % 2)
    assert list(verify(spec, replace(plan, tasks=halves)))
    simulated = mrdsl.simulate(result, runs=1).of(TimetablePlan).plan
    assert simulated is not None
    assert [seen and seen.on_time for seen in simulated.of_runs] == [1.0] * 3


@pytest.mark.parametrize(
    ("system", "slots"),
    [("", 8), (", system { cores = 3 }", 5), (", system { memory = 20 GiB }", 3), (", system = emr", 6)],
)
def test_the_system_of_a_vm_leaves_less_to_containers(system: str, slots: int) -> None:
    """Containers take 1 core and 4 GiB of 8 cores and 32 GiB; YARN on EMR has 24 GiB of a m5.2xlarge."""
    text = HEAD.format(rent="constant").replace("vm m {", 'vm "m5.2xlarge" {').replace("32 GiB", f"32 GiB{system}")
    text += "class a { stage s { tasks = 16, avg = 5 min, max = 5 min }, container { cores = 1, memory = 4 GiB }\n"
    spec, _, plan = solved(text + "runs = [0 s], deadline = 5 min }\nminimize cost\n")
    assert (plan.slots, plan.machines) == (slots, -(-16 // slots))
    if system:
        assert list(verify(mrdsl.loads(spec.text.replace(system, ", system { cores = 7 }")), plan))


def test_a_system_that_leaves_nothing_is_an_error() -> None:
    text = HEAD.format(rent="constant").replace("32 GiB", "32 GiB, system { cores = 8 }")
    with pytest.raises(MrdslError, match="leaves no cores"):
        mrdsl.loads(text + REDUCES.format(maps=8, reduces=4, runs="0 s"))


@pytest.mark.parametrize(("tasks", "slots"), [(6, 12), (1, 4)])
def test_slots_are_as_large_as_the_cheaper_plan_needs(tasks: int, slots: int) -> None:
    """A VM hosts 6 map or 4 reduce tasks of one run, or 4 map tasks of 4 runs."""
    runs = "0 s" if tasks == 6 else "0 s, 0 s, 0 s, 0 s"
    text = REDUCES.replace("map = 8", "map = 6").format(maps=tasks, reduces=min(tasks, 4), runs=runs)
    _, result, plan = solved(HEAD.format(rent="constant") + text)
    assert (result.value, result.solution) == (pytest.approx(9), "optimal")
    assert (plan.slots, plan.machines) == (slots, 1)


def test_many_different_slots_have_a_bound() -> None:
    text = HEAD.format(rent="constant")
    for count in (97, 89, 83, 79, 73):
        text += (
            f"class c{count} {{ stage s {{ tasks = 1000000000, avg = 1 s, max = 1 s }}, slots {{ task = {count} }}\n"
        )
        text += "runs = [0 s], deadline = 1 h }\n"
    result = mrdsl.solve(mrdsl.loads(text + "minimize cost\n"))
    assert result.value is not None
    assert result.bound is not None
    assert 0.9 * result.value < result.bound <= result.value
