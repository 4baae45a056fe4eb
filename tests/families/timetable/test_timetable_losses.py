"""Expected costs of runs on spot VMs: by hand, by enumeration of both attempts, by simulation, and tampered plans."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import ceil, exp, inf, sqrt
from random import Random

import pytest

import mrdsl
from mrdsl.families.timetable.plan import TimetablePlan
from mrdsl.families.timetable.verify import verify
from tests.shared_data import shared


def solved(text: str) -> tuple[mrdsl.Spec, mrdsl.Result[TimetablePlan], TimetablePlan]:
    spec = mrdsl.loads(text)
    result = mrdsl.solve(spec).of(TimetablePlan)
    assert result.plan is not None
    assert not [each for each in result.diagnostics if each.code == "broken-plan"]
    assert list(verify(spec, result.plan)) == []
    assert result.bound is not None
    assert result.value is not None
    assert result.bound <= result.value * (1 + 1e-9)
    return spec, result, result.plan


@pytest.mark.parametrize("rent", ["per_job", "elastic", "constant", "cheapest"])
def test_a_long_run_is_on_demand_if_a_loss_is_likely(rent: str) -> None:
    """On spot it costs (1 - exp(-2.8)) (25 + 140) = 155."""
    text = shared("cases/spot_long_run.mrspec").read_text().replace("per_job", rent)
    _, result, plan = solved(text)
    assert result.value == pytest.approx(140)
    assert result.solution == "optimal"
    assert {each.spot for each in plan.rentals} == {False}
    _, result, plan = solved(text.replace("0.5 USD/h", "0.1 USD/h"))
    assert result.value == pytest.approx((1 - exp(-2.8)) * (5 + 140), rel=1e-4)
    assert plan.document()["cost"]["best"] == pytest.approx(14)
    assert plan.document()["cost"]["worst"] == pytest.approx(14 + 140)
    assert "expected total" in str(result)


def test_spot_vms_that_are_never_lost_cost_their_price() -> None:
    text = shared("cases/spot_long_run.mrspec").read_text().replace("0.02/h", "0/h")
    _, result, _ = solved(text)
    assert result.value == pytest.approx(70)
    assert result.solution == "optimal"


RUN = """problem timetable "one run"
rent = {rent}
billing {{ period = {period} min, minimum = {minimum} min }}
vm m {{
  on_demand {{ price = {price} USD/min }}
  spot {{ price = 1 USD/min, interruptions = {rate}/h }}
  boot = {boot} min
}}
class a {{
  stage s {{ tasks = {tasks}, avg = {minutes} min, max = {minutes} min }}
  stage t {{ tasks = 2, avg = 3 min, max = 3 min, after = [s] }}
  slots {{ task = 2 }}
  distribution = fixed
  startup = {startup} min
  runs = [20 min]
  deadline = {deadline} min
}}
minimize cost
"""


def drawn_run(seed: int) -> dict[str, int]:
    draw = Random(seed)
    found = {
        "period": draw.choice([1, 5, 20]),
        "minimum": draw.choice([0, 7, 30]),
        "price": draw.randint(2, 4),
        "rate": draw.choice([0, 1, 3, 6]),
        "boot": draw.randint(0, 4),
        "tasks": draw.randint(1, 9),
        "minutes": draw.randint(1, 6),
        "startup": draw.choice([0, 2]),
    }
    return found | {"deadline": draw.randint(2, 6) * (found["minutes"] + 8)}


def costs(one: dict[str, int]) -> Iterator[tuple[float, bool]]:
    """The expected cost of all sizes of both attempts, period by period, with True on spot."""

    def path(count: int) -> int:
        return ceil(one["tasks"] / (2 * count)) * one["minutes"] + 3 * ceil(2 / (2 * count))

    def billed(time: int) -> int:
        return max(ceil(time / one["period"]) * one["period"], one["minimum"])

    sizes = range(1, 6)
    for count in sizes:
        end = one["startup"] + path(count)
        time = one["boot"] + path(count)
        if end <= one["deadline"]:
            yield count * one["price"] * billed(time), False
        for again in sizes:
            length = one["boot"] + one["startup"] + path(again)
            if end + length <= one["deadline"]:
                rate = one["rate"] / 60 * count
                paid = 0.0
                for begin in range(0, time, one["period"]):
                    upto = min(begin + one["period"], time)
                    paid += (exp(-rate * begin) - exp(-rate * upto)) * billed(upto)
                paid += exp(-rate * time) * billed(time)
                second = again * one["price"] * billed(length)
                yield count * paid + (1 - exp(-rate * time)) * second, True


@pytest.mark.parametrize("seed", range(32))
def test_no_size_of_both_attempts_is_expected_to_cost_less(seed: int) -> None:
    one = drawn_run(seed)
    every = sorted(costs(one))
    if not every:
        assert mrdsl.solve(mrdsl.loads(RUN.format(rent="per_job", **one))).plan is None
        return
    for rent in ("per_job", "elastic")[: 1 + (seed % 8 == 0)]:
        _, result, plan = solved(RUN.format(rent=rent, **one))
        value = result.value or inf
        if rent == "per_job":
            assert value == pytest.approx(every[0][0])
            assert result.solution == "optimal"
        else:  # machines may come one after the other
            assert value <= every[0][0] * (1 + 1e-9)
        assert plan.value == pytest.approx(value)


@pytest.mark.parametrize("seed", [9, 17, 25])
def test_the_gap_of_elastic_runs_is_small_at_a_usual_rate(seed: int) -> None:
    """A bound takes machines as shared: a loss ends the run only while its work takes a VM."""
    one = drawn_run(seed)
    for rate, gap in ((0.05, 0.02), (0, 1e-6)):
        _, result, _ = solved(RUN.format(rent="elastic", **(one | {"rate": rate})))
        assert 1 - (result.bound or 0.0) / (result.value or 1.0) <= gap


SHARED = """problem timetable "shared"
rent = constant
billing { period = 1 s, minimum = 0 s }
vm m { on_demand { price = 3 USD/h }, spot { price = 1 USD/h, interruptions = 0.5/h } }
class a {
  stage s { tasks = 1, avg = 10 min, max = 10 min }
  stage t { tasks = 1, avg = 20 min, max = 20 min, after = [s] }
  slots { task = 2 }
  distribution = fixed
  runs = [0 min, 5 min]
  deadline = 70 min
}
minimize cost
"""


@pytest.mark.nightly
def test_rentals_that_runs_share_are_paid_in_full_and_each_run_pays_for_its_own_losses() -> None:
    """One VM for 35 min holds a task of each run for 30 min; a second attempt of 30 min costs 1.5 USD."""
    spec, result, plan = solved(SHARED)
    assert {each.spot for each in plan.rentals} == {True}
    value = 35 / 60 + 2 * (1 - exp(-0.25)) * 1.5
    assert result.value == pytest.approx(value)
    runs = 1500
    seen = mrdsl.simulate(mrdsl.solve(spec), runs=runs).of(TimetablePlan).plan
    assert seen is not None
    assert seen.bill is not None
    # both runs are mostly lost together
    assert seen.bill.mean == pytest.approx(value, abs=4 * 3 * sqrt(0.25 / runs))


def test_the_second_attempt_has_the_cheapest_size() -> None:
    """Billed by the hour, 4 tasks of 20 min take 4 VMs for an hour, 2 in two waves, or 1 for two hours."""
    text = """problem timetable "size"
rent = per_job
billing { period = 1 h, minimum = 0 s }
vm m { on_demand { price = 3 USD/h }, spot { price = 1 USD/h, interruptions = 0.1/h } }
class a {
  stage s { tasks = 4, avg = 20 min, max = 20 min }
  slots { task = 1 }
  runs = [0 s]
  deadline = DUE
}
minimize cost
"""
    for due, vms in (("160 min", 1), ("120 min", 2)):
        _, _, plan = solved(text.replace("DUE", due))
        assert [run.second for run in plan.runs] == [vms if vms == 2 else 2]
        assert plan.again == pytest.approx(6)


def test_tampered_expectations_are_found() -> None:
    spec, _, plan = solved(SHARED)
    for other, words in (
        (replace(plan, risk=plan.risk / 2), "losses on spot"),
        (replace(plan, again=0.0), "second attempts"),
        (replace(plan, runs=tuple(replace(run, second=2) for run in plan.runs)), "second attempts"),
        (replace(plan, runs=tuple(replace(run, second=0) for run in plan.runs)), "without VMs for a second attempt"),
    ):
        assert any(words in each.message for each in verify(spec, other)), words


@pytest.mark.parametrize("seed", range(3))
def test_the_simulated_mean_is_the_expected_cost(seed: int) -> None:
    one = drawn_run(seed) | {"rate": 3, "price": 4, "deadline": 90}
    spec, _, plan = solved(RUN.format(rent="per_job", **one))
    assert any(each.spot for each in plan.rentals)
    runs = 1500
    seen = mrdsl.simulate(mrdsl.solve(spec), runs=runs).of(TimetablePlan).plan
    assert seen is not None
    assert seen.bill is not None
    assert seen.bill.mean == pytest.approx(plan.value, abs=2 * (plan.cost + plan.again) / sqrt(runs))
