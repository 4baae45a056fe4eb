"""Rentals that runs keep busy, one after the other: every run has a place on time, and busy nights cost less."""

from __future__ import annotations

import random

import pytest

import mrdsl
from mrdsl.families.timetable.assigned import elastic_of
from mrdsl.families.timetable.elastic_bounds import fluid_bound
from mrdsl.families.timetable.methods.elastic import PARTS, batched, layered
from mrdsl.families.timetable.night import Night
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


def night_of(text: str) -> Night:
    return market_of(mrdsl.loads(text).facts).nights[0]


def drawn(seed: int) -> str:
    """Return a night with wide and narrow jobs, stages side by side, and some latest starts."""
    rng = random.Random(seed)
    text = "problem timetable\nrent = elastic\nvm m { on_demand { price = 0.4 USD/h }, boot = 2 min }\n"
    for number in range(rng.randint(1, 3)):
        first, second = rng.choice([1, 8, 30, 100]), rng.choice([1, 8, 20])
        after = rng.choice(["", ", after = [s]"])
        window = (first + second) * rng.randint(1, 4) + 60
        starts = ", ".join(f"{each} s" for each in sorted(rng.randrange(0, 3000) for _ in range(8)))
        within = f"start_within = {rng.randint(20, 90)} s\n" if rng.random() < 0.3 else ""
        text += (
            f"class c{number} {{\n  stage s {{ tasks = {first}, avg = 10 s, max = 11 s }}\n"
            f"  stage t {{ tasks = {second}, avg = 20 s, max = 21 s{after} }}\n"
            f"  slots {{ task = 8 }}\n  runs = [{starts}]\n  {within}  deadline = {window} s\n}}\n"
        )
    return text + "minimize cost\n"


@pytest.mark.parametrize("seed", range(12))
def test_every_run_has_a_place_within_its_window(seed: int) -> None:
    night = night_of(drawn(seed))
    for part in PARTS:
        placed = layered(night, part)
        for run, each in zip(night.runs, placed, strict=True):
            assert each is not None
            assert each.first >= run.ready
            assert each.end <= run.due
            assert run.start_by is None or each.first <= run.start_by
            stages = night.jobs[run.job].stages
            for index, stage in enumerate(stages):
                waves = [(start, count) for at, start, count in each.waves if at == index]
                assert sum(count for _, count in waves) == stage.tasks
                ended = [s + stages[b].ticks for b in stage.after for at, s, _ in each.waves if at == b]
                assert min(start for start, _ in waves) >= max(ended, default=run.ready)


def test_a_machine_stays_where_runs_keep_it_busy() -> None:
    """One machine is busy all the time and does 60 of 100 runs; batches boot machines for 26 runs each at most."""
    night = night_of(BUSY)
    best = min(elastic_of(night, layered(night, part)).value for part in PARTS)
    assert best < elastic_of(night, batched(night)).value
    result = mrdsl.solve(mrdsl.loads(BUSY)).of(TimetablePlan)
    assert result.value is not None
    assert result.value <= best
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
