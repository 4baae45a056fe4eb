"""Small nights in all ways of renting, against an enumeration of their timetables that shares no code."""

from __future__ import annotations

import random
from math import inf

import pytest

import mrdsl
from mrdsl.families.timetable import constant_program, rental_bounds
from mrdsl.families.timetable.assigned import elastic_of
from mrdsl.families.timetable.elastic_bounds import fluid_bound, least_masters
from mrdsl.families.timetable.exact import solve_exactly
from mrdsl.families.timetable.methods.elastic import batched
from mrdsl.families.timetable.rental_bounds import rental_bound
from mrdsl.families.timetable.types import market_of
from tests.families.timetable.drawn_nights import FEATURES, WAYS, SmallNight, drawn, least


def agrees(night: SmallNight, rent: str) -> None:
    result = mrdsl.solve(mrdsl.loads(night.text(rent)))
    cheapest = least(night, rent)
    if cheapest == inf:
        assert result.value is None
        assert result.termination == "infeasible"
        return
    assert result.value == pytest.approx(cheapest)
    assert result.bound is not None
    assert result.bound <= cheapest * (1 + 1e-9)
    assert result.solution == "optimal"
    assert not [each for each in result.diagnostics if each.code == "broken-plan"]


@pytest.mark.parametrize("seed", range(60))
def test_no_enumerated_timetable_costs_less_or_more_than_the_optimum(seed: int) -> None:
    """Nights on one type on demand, each in one way of renting, in turn."""
    agrees(drawn(seed, tasks=6), WAYS[seed % len(WAYS)])


@pytest.mark.parametrize("seed", range(200, 264))
def test_types_spot_reservations_masters_quotas_and_penalties_cost_the_least_together(seed: int) -> None:
    agrees(drawn(seed, *FEATURES, "cores"), WAYS[seed % len(WAYS)])


@pytest.mark.parametrize("feature", [*FEATURES, "cores"])
@pytest.mark.parametrize("seed", range(400, 404))
def test_each_of_these_alone_costs_the_least(feature: str, seed: int) -> None:
    agrees(drawn(seed, feature), WAYS[seed % len(WAYS)])


@pytest.mark.parametrize("seed", range(0, 48, 4))
def test_no_timetable_costs_less_than_a_bound_of_large_nights(seed: int) -> None:
    """The bounds of nights that are too large for an exact solution."""
    alone = drawn(seed, "penalties")
    market = market_of(mrdsl.loads(alone.text("elastic")).facts)
    known = elastic_of(market.nights[0], batched(market.nights[0]))
    assert known.value >= least(alone, "elastic") * (1 - 1e-8)
    assert rental_bound(market, known) <= least(alone, "elastic") * (1 + 1e-9)
    for night in (alone, drawn(seed, "several", "spot", "masters", "penalties", tasks=4)):
        market = market_of(mrdsl.loads(night.text("elastic")).facts)
        cheapest = least(night, "elastic") * (1 + 1e-9)
        assert fluid_bound(market) <= cheapest
        assert least_masters(market)[0] + rental_bound(market, None) <= cheapest


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


@pytest.mark.parametrize("seed", range(6))
def test_no_timetable_of_long_rentals_costs_less_than_the_prices_of_its_runs(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rentals that are longer than those in the table of all; prices that are found or given; longer steps."""
    draw = random.Random(seed)
    period, starts = draw.choice([1, 1, 5]), ", ".join(f"{each} min" for each in sorted(draw.sample(range(24), 6)))
    text = f"problem timetable\nrent = elastic\nbilling {{ period = {period} min, minimum = {period} min }}\n"
    text += f"vm m {{ on_demand {{ price = 1 USD/min }}, boot = {draw.choice([1, 2])} min }}\n"
    text += "class c { stage s { tasks = 2, avg = 1 min, max = 1 min }\nslots { task = 1 }\n"
    text += f"deadline = {draw.randint(2, 5)} min\nruns = [{starts}] }}\nminimize cost\n"
    market = market_of(mrdsl.loads(text).facts)
    exact = solve_exactly(market, "elastic", None)
    assert exact is not None
    assert exact.found is not None
    assert exact.proven
    for runs, cells in ((400, 6_000_000), (0, 6_000_000), (0, 200)):
        monkeypatch.setattr(rental_bounds, "FEW", runs)
        monkeypatch.setattr(rental_bounds, "MOST_CELLS", cells)
        bound = rental_bound(market, exact.found)
        assert (0.6 if cells > 200 else 0.0) * exact.found.value <= bound <= exact.found.value * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(200, 210))
def test_no_constant_cluster_costs_less_than_the_program_that_assigns_runs(seed: int) -> None:
    """Nights with runs that may be left out, and with several types, also with groups of several spans."""
    for night in (drawn(seed, "penalties", "masters"), drawn(seed, "several", "spot", "masters")):
        market = market_of(mrdsl.loads(night.text("constant")).facts)
        for groups in (2, 12):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(constant_program, "GROUPS", groups)
                assigned = constant_program.constant_program(market, None)
            assert assigned.bound <= least(night, "constant") * (1 + 1e-9)
            assert len(assigned.types) == len(market.runs)


def test_a_dense_program_is_left_out() -> None:
    """Steps of 3 s in 20 min give a program of a million numbers, which HiGHS presolves for minutes."""
    text = """problem timetable "many steps"
billing { period = 1 min, minimum = 0 s }
vm m { on_demand { price = 9 USD/h }, boot = 1 min, spot { price = 4 USD/h, interruptions = 0.05/h } }
class a {
  map { tasks = 3, avg = 4 min, max = 4 min }
  shuffle { first_max = 0 s, avg = 0 s, max = 0 s }
  reduce { tasks = 1, avg = 2 min, max = 2 min }
  slots { map = 1, reduce = 1 }
  runs = [5 min]
  deadline = 1071 s
}
minimize cost
"""
    spec = mrdsl.loads(text)
    assert solve_exactly(market_of(spec.facts), "constant", None) is None
    assert mrdsl.solve(spec).plan is not None
