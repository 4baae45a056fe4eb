"""A defect that is planted in what builds timetables is found by what checks them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import mrdsl
from mrdsl.core.units import TICK
from mrdsl.families.timetable.facts import TimetableFacts
from mrdsl.families.timetable.methods import rent
from mrdsl.families.timetable.night import Job, Machine, Night, Run
from mrdsl.families.timetable.plan import TimetablePlan
from mrdsl.families.timetable.rented import Rented
from mrdsl.families.timetable.types import Market
from mrdsl.families.timetable.verify import verify

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


@pytest.fixture(autouse=True)
def search_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip bounds and exact solutions, which take most of the time and which `verify` does not read."""
    ways = rent._Ways
    monkeypatch.setattr(rent, "_Ways", lambda *arguments: ways(*arguments[:4], False))


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
    "no masters": machine(lambda one: replace(one, masters=())),
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


BOUGHT = """problem timetable "bought"
rent = {rent}
billing {{ period = 1 s, minimum = 0 s }}
vm m {{
  on_demand {{ price = 3 USD/h }}
  reserved {{ price = 2 USD/h, available = 1, prepaid = yes }}
  spot {{ price = 1 USD/h, interruptions = 0.05/h }}
  boot = 1 min
}}
class a {{
  stage s {{ tasks = 4, avg = 5 min, max = 5 min }}
  slots {{ task = 2 }}
  startup = 1 min
  runs = [1 min]
  deadline = 13 min
}}
class b {{
  stage s {{ tasks = 4, avg = 5 min, max = 5 min }}
  slots {{ task = 2 }}
  runs = [5 min]
  deadline = 8 min
}}
minimize cost
"""


def on_spot(change: Callable[[Night], Night]) -> Callable[[Market], Market]:
    """Return a change of the nights on spot VMs."""
    return lambda market: replace(
        market, nights=tuple(change(each) if each.machine.spot else each for each in market.nights)
    )


def on_demand(change: Callable[[Machine], Machine]) -> Callable[[Market], Market]:
    return lambda market: replace(
        market,
        nights=tuple(each if each.machine.spot else machine(change)(each) for each in market.nights),
    )


OF_MARKET: dict[str, tuple[str, Callable[[Market], Market]]] = {
    "no time for a second attempt": ("elastic", on_spot(runs(lambda run: replace(run, due=run.due + 6 * 60 * TICK)))),
    "a second attempt without a boot": ("elastic", on_spot(runs(lambda run: replace(run, due=run.due + 60 * TICK)))),
    "spot VMs at a lower price": ("elastic", on_spot(machine(lambda one: replace(one, price=one.price / 2)))),
    "more reserved VMs than there are": ("elastic", on_demand(lambda one: replace(one, reserved=2))),
    "reserved VMs that cost more": ("elastic", on_demand(lambda one: replace(one, reserved_price=one.price / 2))),
    "prepaid VMs that cost nothing": ("constant", lambda market: replace(market, prepaid=0.0)),
}


@pytest.mark.parametrize("defect", ["", *OF_MARKET])
def test_defects_of_spot_and_prepaid_machines_are_found(defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The deadline of class a is reached to the second by two attempts, so each planted second is found."""
    way, change = OF_MARKET[defect] if defect else ("elastic", lambda market: market)
    text = BOUGHT.format(rent=way)
    if "second attempt" in defect:  # a run on spot is due later than it can be, and starts as late as that allows
        text = text.replace("deadline = 13 min", "deadline = 12 min")
    genuine = rent.market_of
    monkeypatch.setattr(rent, "market_of", lambda facts: change(genuine(facts)))
    result = mrdsl.solve(mrdsl.loads(text))
    assert (result.plan is None) == bool(defect)
    assert ("broken-plan" in {each.code for each in result.diagnostics}) == bool(defect)


PERCENTILE = """problem timetable "share"
vm m { on_demand { price = 0.192 USD/h }, boot = 30 s }
class a {
  stage s { tasks = 6, avg = 10 s, max = 20 s }
  slots { task = 2 }
  runs { from = 0 s, every = 1 min, times = 10 }
  deadline = 70 s
  distribution = exponential
  guarantee = p90
}
minimize cost
"""
OF_EVIDENCE: dict[str, Callable[[TimetablePlan], TimetablePlan]] = {
    "": lambda plan: plan,
    "other times of tasks": lambda plan: replace(plan, factors={"a": plan.factors["a"] * 1.5}),
    "no evidence": lambda plan: replace(plan, shown=()),
    "a bound above the share": lambda plan: replace(
        plan, shown=tuple(replace(each, share=0.9, low=0.92) for each in plan.shown)
    ),
    "a lower level": lambda plan: replace(plan, shown=tuple(replace(each, level=0.5) for each in plan.shown)),
}


@pytest.mark.parametrize("defect", OF_EVIDENCE)
def test_defects_of_percentiles_are_found(defect: str) -> None:
    spec = mrdsl.loads(PERCENTILE)
    plan = mrdsl.solve(spec).of(TimetablePlan).plan
    assert plan is not None
    assert bool(list(verify(spec, OF_EVIDENCE[defect](plan)))) == bool(defect)
