"""What forces the number of machines, and which deadline saves one, by hand."""

from __future__ import annotations

import pytest

import mrdsl
from mrdsl.core.result import Table
from mrdsl.explaining.why import explain
from mrdsl.families.timetable.bounds import bottleneck, fewest_machines
from mrdsl.families.timetable.night import TICK
from mrdsl.families.timetable.types import market_of
from mrdsl.families.timetable.why import why
from mrdsl.language.loading import load_text

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


BATCHES = """problem timetable "b"
rent = RENT
billing { period = 1 s, minimum = 0 s }
vm m { on_demand { price = 1 USD/min }, boot = 2 min }
class a { stage s { tasks = 2, avg = 1 min, max = 2 min }, slots { task = 2 }, runs = [0 s, 4 min], deadline = 3 min }
minimize cost
"""


def changes(rent: str) -> dict[str, float]:
    spec = mrdsl.loads(BATCHES.replace("RENT", rent))
    (table,) = [
        each
        for each in why(spec, mrdsl.solve(spec))
        if isinstance(each, Table) and each.title.startswith("What changes")
    ]
    return {row[0]: row[2] for row in table.rows}


def test_a_shorter_boot_saves_its_price_once_for_each_rental() -> None:
    """Per job: two boots of 2 min at 1 USD/min, so that half of each saves 2 USD. A constant cluster boots once."""
    assert round(changes("per_job")["boot of m"], 6) == 2.0
    assert round(changes("constant")["boot of m"], 6) == 1.0


def test_a_longer_window_saves_what_its_runs_then_share() -> None:
    """Elastic: runs of 1 min in [0, 3] and [4, 7] are on one rental from 2 to 5 min, with its boot: 5 USD.

    With windows of 3.75 min the first may end at 3.75 min: 2.75 to 5 and the boot, 4.25 USD.
    """
    assert round(changes("elastic")["deadline of a"], 6) == 0.75


@pytest.mark.parametrize("stage", [5.0, 5.01, 7.3])
def test_the_nearest_deadline_is_the_one_at_which_a_run_with_all_its_slots_ends(stage: float) -> None:
    """Two stages one after the other take twice the time of a task."""
    text = f"""problem timetable "n"
vm m {{ on_demand {{ price = 1 USD/h }} }}
class a {{
  stage s {{ tasks = 4, avg = {stage} s, max = 8 s }}
  stage t {{ tasks = 4, avg = {stage} s, max = 8 s, after = [s] }}
  slots {{ task = 4 }}
  runs = [0 s, 1 min]
  deadline = 5 s
}}
minimize cost
"""
    spec = load_text(text).spec
    assert spec is not None
    found = explain(spec)
    assert found.complete
    for changes in (found.alone, found.relaxations, found.repair.changes if found.repair is not None else ()):
        assert [change.value for change in changes] == [pytest.approx(2.0 * stage, rel=1e-4)]
