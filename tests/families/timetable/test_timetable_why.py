"""What forces the number of machines, and which deadline saves one, by hand."""

from __future__ import annotations

import mrdsl
from mrdsl.core.result import Table
from mrdsl.families.timetable.bounds import bottleneck, fewest_machines
from mrdsl.families.timetable.night import TICK
from mrdsl.families.timetable.types import market_of
from mrdsl.families.timetable.why import why

TEXT = """problem timetable "w"
vm m { on_demand { price = 1 USD/h } }
class a {
  stage s { tasks = 4, avg = 1 min, max = 2 min }
  slots { task = 2 }
  runs = [0 s, 1 min, 30 min]
  deadline = 3 min
}
class b { stage s { tasks = 4, avg = 1 min, max = 2 min }, slots { task = 2 }, runs = [0 s], deadline = 2 min }
minimize cost
"""


def test_the_runs_of_the_first_minutes_force_a_second_machine() -> None:
    """Three runs of two minutes each are due within four minutes; the last run of class a has time enough."""
    night = market_of(mrdsl.loads(TEXT).facts).nights[0]
    assert fewest_machines(night) == 2
    found = bottleneck(night, 2)
    assert found is not None
    assert {0, 3} <= set(found.runs)
    assert 2 not in found.runs
    assert (found.begin, found.end <= 240 * TICK) == (0, True)
    assert bottleneck(night, 4) is None


def test_one_run_alone_forces_machines() -> None:
    night = market_of(mrdsl.loads(TEXT.replace("deadline = 2 min", "deadline = 1 min")).facts).nights[0]
    found = bottleneck(night, 2)
    assert found is not None
    assert found.runs == (3,)


def test_why_names_the_deadline_that_saves_a_machine() -> None:
    """On one machine, b waits for the two runs of a, or the second run of a for the others: 6 min after time 0."""
    spec = mrdsl.loads(TEXT)
    (table,) = [
        each for each in why(spec, mrdsl.solve(spec)) if isinstance(each, Table) and each.title.startswith("Longer")
    ]
    assert [(row[0], row[1], round(row[2], -1)) for row in table.rows] == [("a", 180.0, 300.0), ("b", 120.0, 360.0)]
