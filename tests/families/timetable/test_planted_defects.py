"""A defect that is planted in what builds timetables is found by what checks them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import mrdsl
from mrdsl.core.clock import TICK
from mrdsl.families.timetable.facts import TimetableFacts
from mrdsl.families.timetable.methods import rent
from mrdsl.families.timetable.night import Job, Machine, Night, Run
from mrdsl.families.timetable.rented import Rented
from mrdsl.families.timetable.types import Market

TEXT = """problem timetable "night"
billing { period = 7 min, minimum = 10 min }
vm m { on_demand { price = 1 USD/min }, fee = 0.5 USD/min, boot = 3 min, masters = 1 }
class a {
  map { tasks = 6, avg = 2 min, max = 3 min }
  shuffle { first_max = 1 min, avg = 1 min, max = 2 min }
  reduce { tasks = 2, avg = 3 min, max = 4 min }
  slots { map = 2, reduce = 2 }
  startup = 1 min
  runs { from = 0 min, every = 4 min, times = 3 }
  deadline = 12 min
}
class b {
  stage s { tasks = 3, avg = 4 min, max = 5 min }, stage t { tasks = 1, avg = 2 min, max = 3 min, after = [s] }
  slots { task = 2 }
  runs { at = [2 min, 9 min] }
  deadline = 15 min
}
minimize cost
"""


WAYS = ("constant", "elastic", "per_job", "cheapest")


def refused(way: str) -> bool:
    text = TEXT.replace("billing", f"rent = {way}\nbilling")
    return "broken-plan" in {each.code for each in mrdsl.solve(mrdsl.loads(text)).diagnostics}


def runs(change: Callable[[Run], Run]) -> Callable[[Night], Night]:
    return lambda night: replace(night, runs=tuple(map(change, night.runs)))


def jobs(change: Callable[[Job], Job]) -> Callable[[Night], Night]:
    return lambda night: replace(night, jobs=tuple(map(change, night.jobs)))


def machine(change: Callable[[Machine], Machine]) -> Callable[[Night], Night]:
    return lambda night: replace(night, machine=change(night.machine))


def stages(job: Job, **factors: float) -> Job:
    return replace(
        job,
        stages=tuple(
            replace(
                each,
                ticks=int(each.ticks * factors.get("ticks", 1)),
                tasks=max(1, int(each.tasks * factors.get("tasks", 1))),
            )
            for each in job.stages
        ),
    )


DEFECTS = {
    "shorter tasks": jobs(lambda job: stages(job, ticks=0.5)),
    "fewer tasks": jobs(lambda job: stages(job, tasks=0.5)),
    "stages at once": jobs(lambda job: replace(job, stages=tuple(replace(each, after=()) for each in job.stages))),
    "later deadlines": runs(lambda run: replace(run, due=run.due + (run.due - run.release))),
    "no time to start": lambda night: replace(
        night, runs=tuple(replace(run, ready=run.release) for run in night.runs), startups=(0,) * len(night.jobs)
    ),
    "earlier releases": runs(lambda run: replace(run, release=run.release // 2, ready=run.ready // 2)),
    "a run less": lambda night: replace(night, runs=night.runs[:-1]),
    "more slots": machine(lambda one: replace(one, slots=2 * one.slots)),
    "half the price": machine(lambda one: replace(one, price=one.price / 2)),
    "no boot": machine(lambda one: replace(one, boot=0)),
    "billed by less": machine(lambda one: replace(one, period=1, minimum=1)),
    "lower penalties": lambda night: replace(night, penalties=(0.0,) * len(night.jobs)),
    "no masters": machine(lambda one: replace(one, masters=0)),
}


@pytest.mark.parametrize("way", WAYS)
def test_without_a_defect_plans_are_right(way: str) -> None:
    result = mrdsl.solve(mrdsl.loads(TEXT.replace("billing", f"rent = {way}\nbilling")))
    assert result.plan is not None
    assert not refused(way)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("defect", DEFECTS)
def test_defects_are_found(defect: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    genuine = rent.market_of

    def defective(facts: TimetableFacts) -> Market:
        market = genuine(facts)
        return replace(market, nights=tuple(map(DEFECTS[defect], market.nights)))

    monkeypatch.setattr(rent, "market_of", defective)
    assert refused(way)


Change = Callable[[Rented], Rented]
OF_RENTED: dict[str, tuple[str, Change]] = {
    "a machine less": ("elastic", lambda one: replace(one, leases=one.leases[1:])),
    "released before the end": (
        "elastic",
        lambda one: replace(one, leases=tuple(replace(each, end=each.end - TICK) for each in one.leases)),
    ),
    "requested too late": (
        "elastic",
        lambda one: replace(one, leases=tuple(replace(each, begin=each.begin + TICK) for each in one.leases)),
    ),
    "fewer machines in each rental": (
        "constant",
        lambda one: replace(one, leases=tuple(replace(each, count=max(1, each.count - 1)) for each in one.leases)),
    ),
    "masters that leave early": (
        "elastic",
        lambda one: replace(one, leases=tuple(replace(each, end=each.end - TICK * each.master) for each in one.leases)),
    ),
    "no masters of a run": (
        "per_job",
        lambda one: replace(one, leases=tuple(each for each in one.leases if not each.master)),
    ),
    "two runs on the machines of one": (
        "per_job",
        lambda one: replace(one, pieces=[(run, stage, 0, start, count) for run, stage, _, start, count in one.pieces]),
    ),
    "another way to rent": ("per_job", lambda one: replace(one, rent="elastic")),
    "rejected runs that are mandatory": ("elastic", lambda one: replace(one, placed=[None, *one.placed[1:]])),
    "tasks of rejected runs": ("elastic", lambda one: replace(one, pieces=[*one.pieces, one.pieces[0]])),
    "a lower cost": ("elastic", lambda one: replace(one, cost=one.cost / 2)),
    "penalties that are not due": ("elastic", lambda one: replace(one, penalties=1.0)),
}


@pytest.mark.parametrize("defect", OF_RENTED)
def test_defects_of_rentals_are_found(defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    way, change = OF_RENTED[defect]
    genuine = rent.plan_of
    monkeypatch.setattr(rent, "plan_of", lambda facts, night, found: genuine(facts, night, change(found)))
    assert refused(way)
