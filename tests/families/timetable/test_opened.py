"""Rentals that open in whole periods: packings by hand, and drawn nights whose plans are verified."""

from __future__ import annotations

import random
import re
from unittest.mock import Mock

import pytest

import mrdsl
from mrdsl.families.timetable.elastic_bounds import fluid_bound
from mrdsl.families.timetable.methods.opened import opened
from mrdsl.families.timetable.methods.per_job import Sizes, per_job
from mrdsl.families.timetable.rented import plan_of
from mrdsl.families.timetable.types import market_of
from mrdsl.families.timetable.verify import verify

HOURLY = """
problem timetable
rent = elastic
billing {{ period = 1 h, minimum = 1 h }}
vm m {{ on_demand {{ price = 1 USD/h }}, boot = {boot} min }}
class a {{ stage s {{ tasks = 1, avg = 10 min, max = 10 min }}, slots {{ task = 1 }}, {runs}, deadline = 1 h }}
minimize cost
"""


def cheapest(text: str) -> float:
    """Return the cost of the cheapest timetable on opened rentals, each of them verified and not below the bound."""
    spec = mrdsl.loads(text)
    market = market_of(spec.facts)
    found = list(opened(market.nights[0]))
    bound = fluid_bound(market)
    for each in found:
        assert list(verify(spec, plan_of(spec.facts, market, each))) == []
        assert each.value >= bound
    assert found
    return min(each.value for each in found)


def drawn(seed: int) -> str:
    """Return a night with wide and narrow jobs, stages side by side, latest starts, penalties, and long periods."""
    rng = random.Random(seed)
    period = rng.choice(["1 s", "10 min", "1 h"])
    text = (
        f"problem timetable\nrent = elastic\nbilling {{ period = {period}, minimum = {rng.choice([0, 60, 900])} s }}\n"
    )
    text += f"vm m {{ on_demand {{ price = 0.4 USD/h }}, boot = {rng.choice([0, 30, 120])} s }}\n"
    for number in range(rng.randint(1, 3)):
        first, second = rng.choice([1, 8, 30, 100]), rng.choice([1, 8, 20])
        after = rng.choice(["", ", after = [s]"])
        window = (first + second) * rng.randint(1, 4) + 60
        starts = ", ".join(f"{each} s" for each in sorted(rng.randrange(0, 3000) for _ in range(8)))
        within = f"start_within = {rng.randint(20, 90)} s\n" if rng.random() < 0.3 else ""
        penalty = f"penalty = {rng.choice([0.001, 0.1])} USD\n" if rng.random() < 0.2 else ""
        text += (
            f"class c{number} {{\n  stage s {{ tasks = {first}, avg = 10 s, max = 11 s }}\n"
            f"  stage t {{ tasks = {second}, avg = 20 s, max = 21 s{after} }}\n"
            f"  slots {{ task = 8 }}\n  runs = [{starts}]\n  {within}{penalty}  deadline = {window} s\n}}\n"
        )
    return text + "minimize cost\n"


def test_runs_wait_for_a_rental_that_they_share() -> None:
    """Six runs of 10 min fill an hour that begins when the first one must."""
    assert cheapest(HOURLY.format(boot=0, runs="runs { from = 0 s, every = 10 min, times = 6 }")) == pytest.approx(1.0)


def test_a_rental_holds_what_is_left_after_its_boot() -> None:
    """After a boot of 10 min an hour holds five runs of 10 min; the sixth one opens another hour."""
    runs = "runs { from = 0 s, every = 10 min, times = 6 }"
    assert cheapest(HOURLY.format(boot=10, runs=runs)) == pytest.approx(2.0)


def test_more_machines_open_if_one_is_too_slow() -> None:
    """Twelve runs of 10 min within one hour take two machines."""
    assert cheapest(HOURLY.format(boot=0, runs=f"runs = [{', '.join(['0 s'] * 12)}]")) == pytest.approx(2.0)


@pytest.mark.parametrize("seed", range(12))
def test_plans_are_right_and_cost_no_less_than_the_bound(seed: int) -> None:
    cheapest(drawn(seed))


def test_long_periods_cost_less_if_runs_share_them_and_less_if_rentals_are_replaced() -> None:
    replaced = opening = alone = 0.0
    for seed in range(6):
        text = re.sub("billing { period = [0-9]+ [a-z]+", "billing { period = 10 min", drawn(seed))
        (night,) = market_of(mrdsl.loads(text).facts).nights
        best, _ = per_job(market_of(mrdsl.loads(text).facts), Sizes())
        assert best is not None
        *others, last = [each.value for each in opened(night)]
        assert last <= min(others) * (1 + 1e-9)
        replaced, opening, alone = replaced + last, opening + min(others), alone + best.value
    assert replaced < opening < 0.9 * alone


def test_tasks_that_surely_run_together_each_have_a_slot_in_the_bound() -> None:
    """Ten machines stay from the start of the first run, as late as it may, to the end of the last one.

    Each task of 50 s has a window of 60 s, so all 80 run together for 40 s of each run. A boot takes longer than the
    time between two runs.
    """
    text = """
problem timetable
rent = elastic
vm m { on_demand { price = 3600 USD/h }, boot = 2 min }
class a {
  stage s { tasks = 80, avg = 50 s, max = 50 s }
  slots { task = 8 }, runs { from = 0 s, every = 2 min, times = 10 }, deadline = 60 s
}
minimize cost
"""
    spent = 10 * (120 + 9 * 120 - 10 + 50)
    market = market_of(mrdsl.loads(text).facts)
    assert fluid_bound(market) == pytest.approx(spent, rel=1e-6)
    assert cheapest(text) == pytest.approx(spent)


SIDE_BY_SIDE = """
problem timetable
rent = per_job
vm m { on_demand { price = 1 USD/h } }
class a {
  stage s { tasks = 9, avg = 5 min, max = 5 min }
  stage t { tasks = 4, avg = 7 min, max = 7 min }
  slots { task = 2 }, runs { at = [0 s, 2 h, 4 h] }, deadline = 1 h
}
minimize cost
"""


def test_alike_runs_are_sized_once_and_only_with_time_left_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    solved = Mock(return_value=None)
    monkeypatch.setattr("mrdsl.families.timetable.methods.per_job.solve_exactly", solved)
    market = market_of(mrdsl.loads(SIDE_BY_SIDE).facts)
    with monkeypatch.context() as there:
        there.setattr("mrdsl.families.timetable.methods.per_job.is_late", lambda: True)
        late, _ = per_job(market, Sizes())
    assert solved.call_count == 0
    found, _ = per_job(market, Sizes())
    assert solved.call_count == 1
    assert late == found is not None
