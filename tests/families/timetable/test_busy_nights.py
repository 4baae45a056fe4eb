"""Nights on which runs keep machines busy, and bounds of long nights with wide stages."""

from __future__ import annotations

import mrdsl
from mrdsl.families.timetable.assigned import elastic_of
from mrdsl.families.timetable.elastic_bounds import fluid_bound
from mrdsl.families.timetable.methods.elastic import batched
from mrdsl.families.timetable.plan import TimetablePlan
from mrdsl.families.timetable.types import market_of

BUSY = """
problem timetable
rent = elastic
vm m5 { on_demand { price = 0.36 USD/h }, boot = 2 min }
class a {
  stage scan { tasks = 32, avg = 5 s, max = 8 s }
  stage sum  { tasks = 8, avg = 5 s, max = 8 s, after = [scan] }
  slots { task = 8 }
  runs { from = 0 s, every = 15 s, times = 100 }
  deadline = 280 s
}
minimize cost
"""


def test_a_machine_stays_where_runs_keep_it_busy() -> None:
    """One machine is busy all the time and does 60 of 100 runs; batches boot machines for 26 runs each at most."""
    spec = mrdsl.loads(BUSY)
    night = market_of(spec.facts).nights[0]
    result = mrdsl.solve(spec).of(TimetablePlan)
    assert result.value is not None
    assert result.value < elastic_of(night, batched(night)).value
    assert result.bound is not None
    assert result.bound <= result.value <= 1.01 * result.bound
    assert not [each for each in result.diagnostics if each.code == "broken-plan"]


def test_bounds_of_long_nights_with_wide_stages_count_all_work() -> None:
    """2^20 slots over ten days are more slot time than the ticks of a program; a machine does 8 tasks at once."""
    text = """
problem timetable
rent = elastic
vm m { on_demand { price = 0.36 USD/h }, boot = 2 min }
class a { stage s { tasks = 1048576, avg = 60 s, max = 60 s }, slots { task = 8 }, runs = [0 s, 10 d], deadline = 1 h }
minimize cost
"""
    bound = fluid_bound(market_of(mrdsl.loads(text).facts))
    work = 2 * 1_048_576 * 60 / 8 * 0.36 / 3600
    assert bound >= work * (1 - 1e-6)
    assert bound <= 4 * work
