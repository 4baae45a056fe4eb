"""Small nights in all ways of renting, against an enumeration of their timetables that shares no code."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import mrdsl
from mrdsl.families.timetable import constant_program
from mrdsl.families.timetable.assigned import elastic_of
from mrdsl.families.timetable.elastic_bounds import fluid_bound
from mrdsl.families.timetable.exact import solve_exactly
from mrdsl.families.timetable.methods.elastic import batched
from mrdsl.families.timetable.rental_bounds import rental_bound
from mrdsl.families.timetable.types import market_of
from tests.families.timetable.drawn_nights import (
    WAYS,
    SmallNight,
    TypedNight,
    drawn,
    drawn_types,
    least,
    least_with_spot,
)


def agrees(night: SmallNight, rent: str) -> None:
    result = mrdsl.solve(mrdsl.loads(night.text(rent)))
    assert result.value is not None
    assert result.bound is not None
    assert result.solution == "optimal"
    assert result.value == pytest.approx(least(night, rent))
    assert result.bound <= least(night, rent) * (1 + 1e-9)
    assert not [each for each in result.diagnostics if each.code == "broken-plan"]


@pytest.mark.parametrize("seed", range(0, 120, 3))
def test_no_timetable_costs_less_than_a_bound_of_large_nights(seed: int) -> None:
    """The bounds of nights that are too large for an exact solution."""
    drawn_night = drawn(seed, penalties=seed % 2 == 0)
    market = market_of(mrdsl.loads(drawn_night.text("elastic")).facts)
    (night,) = market.nights
    known = elastic_of(night, batched(night))
    cheapest = least(drawn_night, "elastic") * (1 + 1e-9)
    assert fluid_bound(market) <= cheapest
    assert rental_bound(market, known) <= cheapest
    assert rental_bound(market, None) <= cheapest
    assert known.value >= cheapest * (1 - 1e-8)


@pytest.mark.parametrize("seed", range(8))
def test_no_timetable_of_some_billing_periods_costs_less_than_the_bound(seed: int) -> None:
    """An exact program of whole minutes, which knows rentals, and not periods."""
    draw = random.Random(seed)
    period = draw.choice([3, 4, 6])
    text = f"problem timetable\nrent = elastic\nbilling {{ period = {period} min, minimum = {period} min }}\n"
    text += f"vm m {{ on_demand {{ price = 1 USD/min }}, boot = {draw.choice([0, 1])} min }}\n"
    for number in range(draw.randint(1, 2)):
        tasks, minutes = draw.randint(1, 3), draw.randint(1, 3)
        starts = ", ".join(f"{each} min" for each in sorted(draw.sample(range(24), draw.randint(2, 4))))
        text += f"class c{number} {{ stage s {{ tasks = {tasks}, avg = {minutes} min, max = {minutes} min }}\n"
        text += f"slots {{ task = 1 }}\ndeadline = {minutes * tasks + draw.randint(0, 2)} min\nruns = [{starts}] }}\n"
    market = market_of(mrdsl.loads(text + "minimize cost\n").facts)
    exact = solve_exactly(market, "elastic", None)
    assert exact is not None
    assert exact.proven
    assert exact.found is not None
    assert fluid_bound(market) <= exact.found.value * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(200))
def test_no_enumerated_timetable_costs_less_or_more_than_the_optimum(seed: int) -> None:
    """Each night in one way of renting, in turn: all 800 take three minutes.

    The enumeration of the elastic ways of nine tasks takes half a minute alone.
    """
    night = drawn(seed)
    agrees(night, WAYS[seed % len(WAYS)] if tasks_of(night) < 9 else "constant")


@pytest.mark.parametrize("seed", range(200, 240))
def test_runs_are_left_out_if_their_penalty_is_lower(seed: int) -> None:
    agrees(drawn(seed, penalties=True), WAYS[seed % len(WAYS)])


@pytest.mark.parametrize("seed", range(60))
def test_no_types_of_the_runs_cost_less_or_more_than_the_optimum(seed: int) -> None:
    agrees_on_types(drawn_types(seed), WAYS[seed % len(WAYS)])


@pytest.mark.parametrize("seed", range(120, 160))
def test_quotas_of_types_are_kept_at_the_least_cost(seed: int) -> None:
    """Not `per_job`, whose machines are chosen run by run under a quota; `elastic` if it is enumerated fast."""
    night = drawn_types(seed, quotas=True)
    agrees_on_types(night, "elastic" if night.tasks <= 3 else "constant")


def agrees_on_types(night: TypedNight, rent: str) -> None:
    result = mrdsl.solve(mrdsl.loads(night.text(rent)))
    assert result.value == pytest.approx(night.least(rent))
    assert result.solution == "optimal"
    assert not [each for each in result.diagnostics if each.code == "broken-plan"]


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_no_types_of_the_runs_cost_less_than_a_bound_of_large_nights(seed: int) -> None:
    night = drawn_types(seed)
    market = market_of(mrdsl.loads(night.text("elastic")).facts)
    cheapest = night.least("elastic") * (1 + 1e-9)
    assert fluid_bound(market) <= cheapest
    assert rental_bound(market, None) <= cheapest


@pytest.mark.parametrize("seed", range(300, 340))
def test_reserved_machines_below_others_cost_the_least(seed: int) -> None:
    """A night of up to four tasks, with one or two reserved machines that cost half, or are prepaid."""
    small = next(night for night in map(drawn, range(seed * 100, seed * 100 + 100)) if tasks_of(night) <= 4)
    night = replace(small, reserved=1 + seed % 2, prepaid=seed % 3 == 0)
    rent = ("constant", "elastic")[seed // 2 % 2]
    result = mrdsl.solve(mrdsl.loads(night.text(rent)))
    assert result.value == pytest.approx(least(night, rent) + night.fixed)
    assert result.solution == "optimal"
    assert not [each for each in result.diagnostics if each.code == "broken-plan"]


@pytest.mark.parametrize("seed", range(300, 320))
def test_reserved_machines_of_single_runs_cost_no_less_than_the_bound(seed: int) -> None:
    night = replace(drawn(seed), reserved=1, prepaid=seed % 2 == 0)
    result = mrdsl.solve(mrdsl.loads(night.text("per_job")))
    assert result.value is not None
    assert result.bound is not None
    assert result.bound <= result.value <= least(replace(night, reserved=0), "per_job") + night.fixed + 1e-9
    assert not [each for each in result.diagnostics if each.code == "broken-plan"]


@pytest.mark.parametrize("seed", range(400, 440))
def test_runs_on_spot_machines_have_time_for_a_second_attempt_at_the_least_cost(seed: int) -> None:
    """Every other run has a window that is long enough."""
    small = next(night for night in map(drawn, range(seed * 100, seed * 100 + 100)) if tasks_of(night) <= 4)
    runs = tuple(
        replace(run, due=run.due + (seed + number) % 2 * (small.boot + run.alone))
        for number, run in enumerate(small.runs)
    )
    night, rent = replace(small, runs=runs, spot=True), WAYS[seed % 3]
    result = mrdsl.solve(mrdsl.loads(night.text(rent)))
    assert result.value == pytest.approx(least_with_spot(night, rent))
    assert result.solution == "optimal"
    assert not [each for each in result.diagnostics if each.code == "broken-plan"]


@pytest.mark.parametrize("seed", range(200, 230))
def test_no_constant_cluster_costs_less_than_the_program_that_assigns_runs(seed: int) -> None:
    """Nights with runs that may be left out, and with two types, also with groups of several spans."""
    night = drawn(seed, penalties=True)
    typed = drawn_types(seed)
    for text, cheapest in (
        (night.text("constant"), least(night, "constant")),
        (typed.text("constant"), typed.least("constant")),
    ):
        market = market_of(mrdsl.loads(text).facts)
        for groups in (2, 12):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(constant_program, "GROUPS", groups)
                assigned = constant_program.constant_program(market, None)
            assert assigned.bound <= cheapest * (1 + 1e-9)
            assert len(assigned.types) == len(market.runs)


def tasks_of(night: SmallNight) -> int:
    return sum(tasks for run in night.runs for tasks, _ in run.stages)
