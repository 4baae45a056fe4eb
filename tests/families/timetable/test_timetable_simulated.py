"""Timetables run by the engine: plans to the last digit, late tasks by hand, and the rules of every run."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import inf
from pathlib import Path

import pytest

import mrdsl
from mrdsl.core.units import TICK
from mrdsl.families.timetable.facts import RENTS
from mrdsl.families.timetable.plan import TimetablePlan
from mrdsl.families.timetable.simulated_runs import timetable_of
from mrdsl.families.timetable.types import market_of
from mrdsl.planning.simulate_spec import repeated_runs
from mrdsl.simulation.engine.draws import TaskTimes, sampler
from mrdsl.simulation.engine.flow import OTHER
from mrdsl.simulation.engine.reserved import PlannedJob, Timetable, TimetableEngine, Wave, execute
from mrdsl.simulation.engine.scenario import JobClass, QueueRule, Recorded, Scenario
from mrdsl.simulation.engine.world import Attempt, Faults, JobKind, Loss, Machines, Speculation, Stage
from mrdsl.simulation.settings import WhatIf
from mrdsl.spec.blocks import Simulation
from tests.families.timetable.drawn_nights import drawn
from tests.simulation.engine_audit import audit

MODELS = Path(__file__).resolve().parents[3] / "models" / "timetable"
TWICE = WhatIf(stragglers=(1.0, 2.0))


def simulated(text: str, runs: int = 2, **options: object) -> TimetablePlan:
    result = mrdsl.simulate(mrdsl.loads(text), runs=runs, seed=0, **options).of(TimetablePlan)  # type: ignore[arg-type]
    assert result.plan is not None
    return result.plan


def means(plan: TimetablePlan) -> list[float | None]:
    return [None if seen is None else seen.mean for seen in plan.of_runs]


@pytest.mark.parametrize("rent", RENTS)
@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_with_fixed_times_every_run_ends_as_planned_to_the_last_digit(rent: str, seed: int) -> None:
    plan = simulated(drawn(seed).text(rent).replace("  slots", "  distribution = fixed, slots"))
    assert means(plan) == [run.end - run.release for run in plan.runs if run.end is not None]
    assert plan.bill is not None
    assert plan.bill.mean == pytest.approx(plan.cost)


UNEVEN = """problem timetable "uneven times"
vm m { on_demand { price = 1 USD/h }, boot = 7.1 s, masters = 1 }
class a {
  stage s { tasks = 7, avg = 0.1 s, max = 0.3 s }
  stage t { tasks = 3, avg = 0.7 s, max = 0.9 s, after = [s] }
  stage u { tasks = 5, avg = 0.3 s, max = 0.9 s, after = [s] }
  stage v { tasks = 2, avg = 1.1 s, max = 1.9 s, after = [t, u] }
  slots { task = 2 }
  distribution = fixed
  startup = 0.2 s
  runs { from = 0.3 s, every = 1.3 s, times = 40 }
  deadline = 9.7 s
}
class b {
  stage s { tasks = 1, avg = 3.3 s, max = 4 s }
  slots { task = 2 }
  distribution = fixed
  runs { from = 0.1 s, every = 2.9 s, times = 15 }
  deadline = 3.4 s
}
minimize cost
"""


@pytest.mark.parametrize("rent", RENTS)
def test_fractions_of_seconds_are_reproduced_to_the_last_digit(rent: str) -> None:
    spec = mrdsl.loads(UNEVEN.replace("vm m", f"rent = {rent}\nvm m", 1))
    plan = mrdsl.solve(spec).of(TimetablePlan).plan
    assert plan is not None
    timetable, places, _ = timetable_of(spec.facts, plan, market_of(spec.facts), 0, Simulation())
    ends = execute(timetable, 0, 0).ends
    assert [end / TICK for end in ends] == [plan.runs[place].end for place in places]


NIGHT = """problem timetable "t"
vm m { on_demand { price = 1 USD/min }, boot = 1 min }
class a {
  stage one { tasks = 4, avg = 1 min, max = 2 min }
  stage two { tasks = 2, avg = 1 min, max = 2 min, after = [one] }
  slots { task = 2 }
  distribution = fixed
  runs { at = [2 min, 5 min] }
  deadline = 3 min
}
minimize cost
"""


def test_late_tasks_wait_for_slots_that_are_not_reserved() -> None:
    """All tasks take 2 min instead of 1, on two slots.

    Run 1 has both until 5: 2-4 and 4-6. Run 2 has them until 8: 6-8. From 8 on nothing is reserved, and the earliest
    planned start goes first: stage two of run 1 (planned at 4) 8-10, then stage one of run 2 (at 6) 10-12 and two
    12-14. The machine is paid from 1 to 14.
    """
    plan = simulated(NIGHT, what_if=TWICE)
    assert means(plan) == [8 * 60.0, 9 * 60.0]
    assert plan.bill is not None
    assert plan.bill.mean == pytest.approx(13.0)
    assert {name: seen.verdict.outcome for name, seen in plan.observed.items() if seen.verdict} == {"a": "broken"}
    assert [seen.on_time for seen in plan.of_runs if seen] == [0.0, 0.0]


def test_one_late_run_breaks_the_deadline_of_its_class() -> None:
    """Both runs end 4 min after their release, run 1 in time; on average they are in time by half a minute."""
    text = NIGHT.replace("[2 min, 5 min]", "[02:00, 03:56]").replace("deadline = 3 min", "due = 04:00")
    kept = simulated(text)
    assert kept.observed["a"].verdict is not None
    assert kept.observed["a"].verdict.outcome == "kept"
    result = mrdsl.simulate(mrdsl.loads(text), runs=2, seed=0, what_if=TWICE).of(TimetablePlan)
    assert result.plan is not None
    seen = result.plan.observed["a"]
    assert seen.verdict is not None
    assert (seen.verdict.outcome, seen.verdict.seen, seen.verdict.wanted) == ("broken", 360.0, 240.0)
    assert seen.kept is not None
    assert seen.kept.share == 0.5
    assert any("run 2 of class a" in each.message for each in result.diagnostics)


def scenario(tasks: list[tuple[str, int, float]], groups: int, faults: Faults | None = None) -> Scenario:
    classes = tuple(
        JobClass(
            JobKind(name, (Stage("only", count),)),
            (TaskTimes(sampler("fixed", time, time, time, count)),),
            Recorded((0.0,)),
            1,
        )
        for name, count, time in tasks
    )
    return Scenario(classes, (Machines(1, 1),) * groups, ((QueueRule(),),), 0.0, faults or Faults())


def waves(*rows: tuple[int, int, int]) -> tuple[Wave, ...]:
    return tuple(Wave(0, group, start * TICK, end * TICK, 1) for group, start, end in rows)


def test_a_late_task_takes_an_idle_machine_and_later_ones_wait_for_it() -> None:
    """Tasks of a take 10 s instead of 5. The second is late at 5 and takes machine 1 until 15; b, planned there at 12,
    takes 5 s from 15 on. Machine 0 goes at 10, when its task ends, and machine 1 at 20.
    """
    jobs = (PlannedJob(0, 0, waves((0, 0, 5), (0, 5, 10))), PlannedJob(1, 0, waves((1, 12, 17))))
    timetable = Timetable(scenario([("a", 2, 10.0), ("b", 1, 5.0)], 2), jobs, ((0, 10 * TICK), (0, 18 * TICK)))
    ran = execute(timetable, 0, 0)
    assert [end / TICK for end in ran.ends] == [15.0, 20.0]
    assert [until / TICK for until in ran.until] == [10.0, 20.0]
    assert [busy / TICK for busy in ran.busy] == [20.0, 5.0]


def test_a_machine_that_would_be_released_is_kept_for_its_late_run() -> None:
    """The only machine is planned until 10; both tasks take 10 s."""
    jobs = (PlannedJob(0, 0, waves((0, 0, 5), (0, 5, 10))),)
    ran = execute(Timetable(scenario([("a", 2, 10.0)], 1), jobs, ((0, 10 * TICK),)), 0, 0)
    assert (ran.ends[0] / TICK, ran.until[0] / TICK) == (20.0, 20.0)


def test_reserved_slots_start_tasks_early_but_no_other_slots_do() -> None:
    """Two slots; a has one of them from 0 to 20 for two tasks, which take 4 s instead of 10: 0-4 and 4-8."""
    jobs = (PlannedJob(0, 0, waves((0, 0, 10), (0, 10, 20))), PlannedJob(1, 0, waves((1, 12, 17))))
    timetable = Timetable(scenario([("a", 2, 4.0), ("b", 1, 5.0)], 2), jobs, ((0, 20 * TICK), (0, 20 * TICK)))
    assert [end / TICK for end in execute(timetable, 0, 0).ends] == [8.0, 17.0]


@cache
def uneven(rent: str) -> tuple[mrdsl.Spec, TimetablePlan]:
    text = UNEVEN.replace("distribution = fixed", "distribution = exponential")
    text = text.replace("times = 40", "times = 10").replace("times = 15", "times = 4")
    spec = mrdsl.loads(text.replace("vm m", f"rent = {rent}\nvm m", 1))
    plan = mrdsl.solve(spec).of(TimetablePlan).plan
    assert plan is not None
    return spec, plan


@pytest.mark.parametrize("rent", ["constant", "per_job", "elastic"])
@pytest.mark.parametrize("seed", range(2))
def test_runs_with_faults_obey_the_rules_of_every_run(seed: int, rent: str) -> None:
    """And no task runs before its machine is there, or after it is released."""
    spec, plan = uneven(rent)
    timetable, _, _ = timetable_of(spec.facts, plan, market_of(spec.facts), 0, Simulation())
    faults = Faults(share=0.1, retries=50, speculation=Speculation())
    timetable = replace(timetable, scenario=replace(timetable.scenario, faults=faults))
    record: list[Attempt] = []
    ran = execute(timetable, seed, 0, record.append)
    kinds = [each.kind for each in timetable.scenario.classes]
    order = sorted(range(len(timetable.jobs)), key=lambda index: (timetable.jobs[index].start, index))
    ended = {number: (timetable.jobs[index].kind, False) for number, index in enumerate(order)}
    assert audit(record, kinds, timetable.scenario.machines, ended) == []
    for number, index in enumerate(order):
        mine = [each for each in record if each.job == number]
        assert max(each.end for each in mine) == ran.ends[index]
        assert min(each.start for each in mine) >= timetable.jobs[index].start
    group_of = [group for group, each in enumerate(timetable.scenario.machines) for _ in range(each.vms)]
    for each in record:
        group = group_of[each.vm]
        assert timetable.there[group][0] <= each.start
        assert each.end <= ran.until[group]


def test_executions_depend_on_the_seed_alone() -> None:
    text = UNEVEN.replace("distribution = fixed", "distribution = lognormal")
    one, other = (simulated(text, runs=3, processes=each) for each in (1, 2))
    assert one.of_runs == other.of_runs
    assert len({seen.mean for seen in one.of_runs if seen}) > 1


def test_machines_that_fail_delay_runs_until_they_are_replaced() -> None:
    failing = NIGHT + "simulation { machine_failures { rate = 30/h, repair_time = 1 min } }\n"
    plan = simulated(failing, runs=20)
    assert any(seen is not None and seen.on_time < 1.0 for seen in plan.of_runs)
    with pytest.raises(mrdsl.MrdslError, match="permanent failures"):
        simulated(NIGHT, what_if=WhatIf(lose=1))


def test_one_of_two_machines_that_never_comes_halves_the_slots() -> None:
    """Six tasks of 1 min on four slots end after 2 min, and on two slots after 3; so do both runs."""
    text = NIGHT.replace("tasks = 4", "tasks = 6").replace("[2 min, 5 min]", "[2 min, 9 min]")
    plan = simulated(text)
    assert (plan.machines, means(plan)) == (2, [180.0, 180.0])
    assert means(simulated(text, what_if=WhatIf(lose=1))) == [240.0, 240.0]


@pytest.mark.parametrize(("option", "value"), [("burst", 2), ("slowstart", 0.5)])
def test_options_without_a_meaning_here_are_errors(option: str, value: float) -> None:
    with pytest.raises(mrdsl.MrdslError, match="no effect"):
        simulated(NIGHT, what_if=WhatIf(**{option: value}))  # type: ignore[arg-type]


def test_a_simulated_plan_is_saved_verified_and_run_again() -> None:
    spec = mrdsl.load(MODELS / "reference.mrspec")
    result = mrdsl.simulate(spec, runs=3, seed=1).of(TimetablePlan)
    again = mrdsl.Result.from_json(result.to_json())
    assert again.plan is not None
    assert again.plan.document() == result.plan.document()  # type: ignore[union-attr]
    assert repeated_runs(again).plan.document() == again.plan.document()


@pytest.mark.parametrize(("shuffle_service", "stopped"), [(False, {0: 15, 1: 15}), (True, {1: 15})])
def test_a_lost_machine_stops_jobs_with_tasks_or_needed_output_on_it(
    shuffle_service: bool, stopped: dict[int, int]
) -> None:
    """Machine 0 goes at 15: the output of job 0 is on it, and a task of job 1 runs there; job 2 is elsewhere."""
    base = scenario([("a", 1, 10.0), ("b", 1, 10.0), ("c", 1, 30.0)], 3, Faults(shuffle_service=shuffle_service))
    times = base.classes[0].times[0]
    two = replace(base.classes[0], kind=JobKind("a", (Stage("s", 1), Stage("t", 1, (0,)))), times=(times, times))
    jobs = (
        PlannedJob(0, 0, (Wave(0, 0, 0, 10 * TICK, 1), Wave(1, 1, 10 * TICK, 20 * TICK, 1))),
        PlannedJob(1, 0, waves((0, 10, 20))),
        PlannedJob(2, 0, waves((2, 0, 30))),
    )
    there = ((0, 20 * TICK), (0, 20 * TICK), (0, 30 * TICK))
    timetable = Timetable(replace(base, classes=(two, *base.classes[1:])), jobs, there, stop_at_losses=True)
    order = sorted(range(3), key=lambda index: (jobs[index].start, index))
    engine = TimetableEngine(timetable, [jobs[index] for index in order], 0, 0)
    engine.call_at(15 * TICK, OTHER, lambda: engine.lose(Loss(15.0 * TICK, 0, inf)))
    engine.run()
    assert {order[place]: time / TICK for place, time in engine.stopped.items()} == stopped
    assert engine.ends[order.index(2)] / TICK == 30.0
