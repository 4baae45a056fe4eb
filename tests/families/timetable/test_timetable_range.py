"""Nights at the edges of the range: huge, tiny, late, and rentals that end near the end of a billing period."""

from __future__ import annotations

from dataclasses import replace

import pytest

import mrdsl
from mrdsl.families.timetable import slots as slots_module
from mrdsl.families.timetable.bounds import earliest_end, fewest_machines, least_cost
from mrdsl.families.timetable.elastic_bounds import fluid_bound
from mrdsl.families.timetable.methods import elastic, per_job
from mrdsl.families.timetable.night import Job, Run
from mrdsl.families.timetable.plan import TimetablePlan
from mrdsl.families.timetable.slots import Placed, Slots, insert_all, moved_forward, place
from mrdsl.families.timetable.types import market_of
from mrdsl.families.timetable.verify import verify
from mrdsl.language.loading import load_text
from tests.families.timetable.drawn_nights import drawn

SPEC = """problem timetable "range"
billing {{ period = {period}, minimum = 0 s }}
vm m {{ on_demand {{ price = 1 USD/h }} }}
class a {{
  stage s {{ tasks = {tasks}, avg = {time}, max = {time} }}
  slots {{ task = {slots} }}
  runs {{ at = {at} }}
  deadline = {deadline}
}}
minimize cost
"""
USUAL = {
    "period": "1 s",
    "tasks": "1",
    "time": "1 min",
    "slots": "1",
    "at": "[0 s]",
    "deadline": "1 h",
}


def text_of(**given: str) -> str:
    return SPEC.format(**{**USUAL, **given})


def codes(**given: str) -> list[str]:
    return [each.code for each in load_text(text_of(**given)).diagnostics]


def test_a_bound_holds_where_slot_time_exceeds_64_bits() -> None:
    """168 waves of 1 h fit into a week: 59,524 slots, 7,441 VMs. With 125 waves no slot is ever idle."""
    spec = mrdsl.loads(text_of(tasks="10000000", time="1 h", slots="8", deadline="168 h"))
    night = market_of(spec.facts).nights[0]
    assert fewest_machines(night) == 7441
    assert least_cost(night, 7441, float("inf")) == pytest.approx(1e7 / 8)
    result = mrdsl.solve(spec)
    assert result.bound is not None
    assert result.value is not None
    assert result.bound == pytest.approx(1e7 / 8)
    assert 1e7 / 8 <= result.value <= 1.001 * 1e7 / 8


def test_more_tasks_than_slots_of_64_bits_of_a_tick_end_by_whole_waves() -> None:
    """100 waves of 10 s each; their slot time exceeds 63 bits of nanoseconds."""
    night = market_of(mrdsl.loads(text_of(tasks="1000000000", time="10 s", deadline="1000 s")).facts).nights[0]
    assert fewest_machines(night) == 10**7
    assert earliest_end(night, 10**7) == 1000 * 10**9
    assert least_cost(night, 10**7, float("inf")) == pytest.approx(1e10 / 3600)


@pytest.mark.parametrize("tasks", ["2000000000000", "1000000001"])
def test_too_many_tasks_are_refused_and_not_called_late(tasks: str) -> None:
    assert codes(tasks=tasks, deadline="1 min") == ["out-of-range"]
    assert codes(tasks="1000000000", deadline="1 min") == []


@pytest.mark.parametrize(("time", "refused"), [("0.001 s", False), ("0.00099 s", True), ("1e-12 s", True)])
def test_the_shortest_task_takes_a_millisecond(time: str, refused: bool) -> None:
    assert codes(time=time) == ["out-of-range"] * refused
    if not refused:
        assert mrdsl.solve(mrdsl.loads(text_of(time=time))).solution == "optimal"


@pytest.mark.parametrize(("at", "refused"), [("[0 s, 87839 h]", False), ("[0 s, 87840 h]", True), ("[1e90 s]", True)])
def test_a_timetable_covers_ten_years(at: str, refused: bool) -> None:
    assert codes(at=at) == ["out-of-range"] * refused
    if not refused:
        result = mrdsl.solve(mrdsl.loads(text_of(at=at)))
        assert result.value == pytest.approx(87839 + 1 / 60)


def test_a_billing_period_lasts_a_millisecond_at_least() -> None:
    assert codes(period="0.001 s") == []
    assert codes(period="1e-12 s") == ["out-of-range"]


@pytest.mark.parametrize(
    ("time", "hours"), [("3600 s", 1), ("3600.001 s", 2), ("3600.000000001 s", 2), ("3599.999999 s", 1), ("0.1 s", 1)]
)
def test_a_rental_that_ends_just_after_a_period_is_paid_for_one_more(time: str, hours: int) -> None:
    result = mrdsl.solve(mrdsl.loads(text_of(period="1 h", time=time, deadline="2 h")))
    assert (result.solution, result.value) == ("optimal", hours)


def test_a_rental_paid_for_a_period_too_few_is_broken() -> None:
    spec = mrdsl.loads(text_of(period="1 h", time="3600.001 s", deadline="2 h"))
    plan = mrdsl.solve(spec).of(TimetablePlan).plan
    assert plan is not None
    assert list(verify(spec, plan)) == []
    cheap = replace(plan, rentals=(replace(plan.rentals[0], billed=3600.0),), cost=1.0)
    assert "broken-plan" in {each.code for each in verify(spec, cheap)}


def test_equal_rentals_are_one_row() -> None:
    plan = mrdsl.solve(mrdsl.loads(text_of(tasks="7", deadline="1 min"))).plan
    assert plan is not None
    (table,) = [each for each in plan.tables() if each.title == "Rentals"]
    assert [tuple(row) for row in table.rows] == [("m", 7, 0.0, 60.0, 60.0)]


@pytest.mark.parametrize("seed", range(30))
def test_the_bound_on_the_cost_is_the_least_of_all_sizes(seed: int) -> None:
    """Against each size in turn, by the latest end of a run alone and of all work from each release on."""
    night = market_of(mrdsl.loads(drawn(seed).text("constant")).facts).nights[0]
    slots, begin = night.machine.slots, night.first - night.machine.boot
    fewest = fewest_machines(night)

    def ends(count: int) -> int:
        return max(
            max(
                run.ready + max(night.jobs[run.job].ends(count)),
                run.ready - (-sum(night.jobs[o.job].work for o in night.runs if o.ready >= run.ready) // count),
            )
            for run in night.runs
        )

    costs = [night.machine.cost(count, ends(count * slots) - begin) for count in range(fewest, fewest + 60)]
    assert least_cost(night, fewest, float("inf")) == pytest.approx(min(costs), rel=1e-12)


HUGE = """problem timetable "huge"
rent = elastic
vm m {{ on_demand {{ price = 1 USD/h }}, boot = 2 min }}
class a {{
  stage s {{ tasks = {tasks}, avg = 50 s, max = 80 s }}, stage t {{ tasks = 80, avg = 5 s, max = 8 s, after = [s] }}
  slots {{ task = 8 }}, runs {{ from = 0 s, every = 2 min, times = 20 }}, deadline = 100 s
}}
class c {{
  stage s {{ tasks = 3, avg = 3 s, max = 80 s }}
  slots {{ task = 8 }}, runs {{ from = 7 s, every = 20 d, times = 5 }}, deadline = 90 d
}}
minimize cost
"""


def test_the_search_does_not_grow_with_machines_and_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run needs 1 million or 10 million machines, and others have windows of months: as many insertions of runs."""
    counts = []
    for tasks in (8 * 10**6, 8 * 10**7):
        inserted: list[int] = []

        def counted(slots: Slots, job: Job, run: Run, inserted: list[int] = inserted) -> Placed:
            inserted.append(1)
            return place(slots, job, run)

        for module in (elastic, per_job, slots_module):
            monkeypatch.setattr(module, "place", counted)
        result = mrdsl.solve(mrdsl.loads(HUGE.format(tasks=tasks))).of(TimetablePlan)
        assert result.plan is not None
        assert result.plan.machines >= tasks // 8
        counts.append(len(inserted))
    assert counts[1] < 2 * counts[0] < 40_000


def test_late_runs_move_forward_until_all_are_on_time() -> None:
    """One slot, by due times: m takes 3 s from 1 s on, so that l, 6 s from 0 s on, ends at 10 s and is 0.5 s late.

    Moved forward by twice that, l is first and m ends at 9 s, on time.
    """
    spec = mrdsl.loads("""problem timetable "two"
vm v { on_demand { price = 1 USD/h } }
class m { stage s { tasks = 1, avg = 3 s, max = 3 s }, slots { task = 1 }, runs = [1 s], deadline = 8 s }
class l { stage s { tasks = 1, avg = 6 s, max = 6 s }, slots { task = 1 }, runs = [0 s], deadline = 9.5 s }
minimize cost
""")
    night = market_of(spec.facts).nights[0]
    assert insert_all(night, 1, [0, 1])[1] == [1]
    placed = moved_forward(night, 1, [0, 1])
    assert placed is not None
    assert [each.end / 1e9 for each in placed] == [9.0, 6.0]
    assert moved_forward(replace(night, runs=night.runs * 2), 1, [0, 1, 2, 3]) is None


def test_runs_are_left_out_at_both_ends_of_a_constant_cluster() -> None:
    """One run of 5 min costs less than its penalty; a second one would hold the VM for hours."""
    text = text_of(time="5 min", at="[0 h, 5 h, 12 h, 18 h, 20 h]", deadline="10 min").replace(
        "deadline = 10 min", "deadline = 10 min\n  penalty = 0.5 USD"
    )
    spec = mrdsl.loads(text)
    result = mrdsl.solve(spec).of(TimetablePlan)
    assert result.plan is not None
    assert list(verify(spec, result.plan)) == []
    assert result.value == pytest.approx(4 * 0.5 + 1 / 12)


@pytest.mark.parametrize(("deadline", "bound"), [("10 min", 180.0), ("20 min", 120.0), ("200 min", 60.0)])
def test_the_fluid_bound_counts_whole_machines(deadline: str, bound: float) -> None:
    """Three tasks of 10 min on machines of one slot, each paid for an hour: 3, 2 or 1 of them, not 30 min of one."""
    text = f"""problem timetable "hours"
rent = elastic
billing {{ period = 1 h, minimum = 1 h }}
vm m {{ on_demand {{ price = 1 USD/min }} }}
class a {{
  stage s {{ tasks = 3, avg = 10 min, max = 10 min }}
  slots {{ task = 1 }}
  runs = [0 s]
  deadline = {deadline}
}}
minimize cost
"""
    assert fluid_bound(market_of(mrdsl.loads(text).facts)) == pytest.approx(bound, rel=1e-6)


def test_the_fluid_bound_counts_the_billing_periods_of_each_rental() -> None:
    """One machine is busy for four hours, and a second one for a minute of two of them.

    Machine time alone is 4 h 2 min. The first machine may end when the second has begun, so that some hours are shared.
    """
    text = """problem timetable "hours"
rent = elastic
billing { period = 1 h, minimum = 1 h }
vm m { on_demand { price = 1 USD/h } }
class a {
  stage s { tasks = 1, avg = 10 min, max = 10 min }
  slots { task = 1 }
  runs { from = 0 s, every = 10 min, times = 24 }
  deadline = 10 min
}
class b {
  stage s { tasks = 1, avg = 1 min, max = 1 min }
  slots { task = 1 }
  runs = [30 min, 150 min]
  deadline = 1 min
}
minimize cost
"""
    assert fluid_bound(market_of(mrdsl.loads(text).facts)) == pytest.approx(5.0, rel=1e-6)


@pytest.mark.parametrize("rent", ["elastic", "constant"])
def test_a_run_may_start_while_another_one_waits(rent: str) -> None:
    """One slot has 8 min of work for 490 s. The second run starts at 120 s, and then the first one goes on."""
    text = """problem timetable
    rent = {rent}
    vm m {{ on_demand {{ price = 1 USD/h }}, available = 1 }}
    class c {{
      map {{ tasks = 4, avg = 60 s, max = 60 s }}
      slots {{ map = 1 }}, runs = [0 s, 100 s], deadline = 390 s, start_within = 58.5 s
    }}
    minimize cost
    """
    spec = mrdsl.loads(text.format(rent=rent))
    result = mrdsl.solve(spec).of(TimetablePlan)
    assert result.solution == "optimal"
    assert result.value == pytest.approx(480 / 3600)
    assert result.plan is not None
    assert result.plan.rent == rent
    assert list(verify(spec, result.plan)) == []
