"""The local search of elastic timetables: a packing by hand, and drawn nights that stay right and get no dearer."""

from __future__ import annotations

from random import Random

import pytest

import mrdsl
from mrdsl.families.timetable.assigned import elastic_of
from mrdsl.families.timetable.elastic_bounds import fluid_bound
from mrdsl.families.timetable.methods import local_search
from mrdsl.families.timetable.methods.elastic import batched
from mrdsl.families.timetable.methods.local_search import improved
from mrdsl.families.timetable.methods.rent import searched
from mrdsl.families.timetable.rented import Rented, plan_of
from mrdsl.families.timetable.types import market_of
from mrdsl.families.timetable.verify import verify
from tests.families.timetable.drawn_nights import FEATURES, drawn


def packing(minutes: list[int], more: str = "") -> str:
    """Return runs of one task that are all due within 10 min, at 1 USD for each machine and 10 min."""
    classes = "".join(
        f"class c{number} {{ stage s {{ tasks = 1, avg = {each} min, max = {each} min }}, slots {{ task = 1 }}, "
        "runs = [0 s], deadline = 10 min }\n"
        for number, each in enumerate(minutes)
    )
    return (
        'problem timetable "packing"\nrent = elastic\nbilling { period = 10 min, minimum = 0 s }\n'
        f"vm m {{ on_demand {{ price = 0.1 USD/min }}{more} }}\n{classes}minimize cost\n"
    )


def dense(seed: int) -> str:
    """Return twelve runs of one or two stages, each within a few minutes of others, billed in 10 min."""
    random = Random(seed)
    lines = [packing([]).replace("minimize cost\n", "").replace("vm m {", "vm m { boot = 2 min,")]
    for number in range(12):
        at, room = random.randrange(40), random.randint(0, 9)
        tasks, minutes, later = random.randint(1, 3), random.randint(1, 4), random.randint(1, 3)
        lines.append(
            f"class c{number} {{ stage s {{ tasks = {tasks}, avg = {minutes} min, max = {minutes} min }}\n"
            f"stage t {{ tasks = {later}, avg = 2 min, max = 2 min, after = [s] }}\nslots {{ task = 2 }}\n"
            f"runs = [{at} min]\ndeadline = {3 * minutes + 2 * later + room} min\n}}\n"
        )
    return "".join([*lines, "minimize cost\n"])


def both(text: str) -> tuple[Rented, Rented]:
    """Return a timetable before and after the local search; the later one is verified."""
    spec = mrdsl.loads(text)
    market = market_of(spec.facts)
    first = searched(spec, market)
    assert first is not None
    found = improved(market, first)
    assert list(verify(spec, plan_of(spec.facts, market, found))) == []
    return first, found


def test_runs_are_packed_into_two_whole_periods() -> None:
    """5 + 3 + 2 and 4 + 4 + 2 min fill two machines; the longest run first, each where it fits, takes three."""
    _, found = both(packing([5, 4, 4, 3, 2, 2]))
    assert found.value == pytest.approx(2.0)
    assert sorted(lease.end - lease.begin for lease in found.leases for _ in range(lease.count)) == [600 * 10**9] * 2


def test_a_quota_is_kept() -> None:
    _, found = both(packing([5, 4, 4, 3, 2, 2], ", available = 2"))
    assert found.value == pytest.approx(2.0)


@pytest.mark.parametrize("seed", range(4))
def test_dense_nights_cost_no_more_and_no_less_than_the_bound(seed: int) -> None:
    text = dense(seed)
    first, found = both(text)
    assert fluid_bound(market_of(mrdsl.loads(text).facts)) <= found.value <= first.value


def test_dense_nights_cost_less_than_batches_in_all() -> None:
    before = after = 0.0
    for seed in range(4):
        market = market_of(mrdsl.loads(dense(seed)).facts)
        first = elastic_of(market.nights[0], batched(market.nights[0]))
        before, after = before + first.value, after + improved(market, first).value
    assert after < before - 0.5  # half a period


@pytest.mark.parametrize("seed", range(8))
def test_runs_with_penalties_and_types_stay_right(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_search, "TRIES", 3000)
    for text in (drawn(seed, "penalties").text("elastic"), drawn(seed, *FEATURES).text("elastic")):
        first, found = both(text)
        assert found.value <= first.value


def test_the_same_timetable_is_found_again() -> None:
    assert both(dense(0))[1] == both(dense(0))[1]


ODD = ((10, 1, 3, 5, 12, 38), (10, 3, 4, 4, 11, 21), (4, 4, 2, 1, 21, 29), (9, 5, 1, 5, 50, 40))
"""Of each run the tasks of two stages, with the minutes of each, its release and its deadline [min]."""


def test_solve_searches_a_night_that_is_not_proven() -> None:
    classes = "".join(
        f"class c{tasks}{minutes} {{ stage s {{ tasks = {tasks}, avg = {minutes} min, max = 9 min }}\n"
        f"stage t {{ tasks = {later}, avg = {each} min, max = 9 min, after = [s] }}, slots {{ task = 1 }}\n"
        f"runs = [{at} min], deadline = {deadline} min }}\n"
        for tasks, minutes, later, each, at, deadline in ODD
    )
    vm = "vm m { on_demand { price = 2 USD/h }, boot = 1 min, billing { period = 5 min, minimum = 10 min } }\n"
    spec = mrdsl.loads(f"problem timetable\nrent = elastic\n{vm}{classes}minimize cost\n")
    result, known = mrdsl.solve(spec), searched(spec, market_of(spec.facts))
    assert known is not None
    assert result.value is not None
    assert result.bound is not None
    assert result.bound <= result.value < known.value - 0.1
