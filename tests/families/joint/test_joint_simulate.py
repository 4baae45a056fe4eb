"""A joint plan run, period by period: what is reported, jobs worked out by hand, and a plain simulator beside."""

from __future__ import annotations

from pathlib import Path

import pytest

import mrdsl
from mrdsl.simulation.settings import WhatIf
from tests.simulation.plain_users import Plain, means, spread, summed

EQUAL = """class a {{ map {{ tasks = 4, avg = 10 s, max = 10 s }} slots {{ map = 2, reduce = 2 }}
  jobs = {jobs}, deadline = {deadline}, penalty = 100 USD
  {more} }}"""
SPREAD = """class a { map { tasks = 40, avg = 10 s, max = 16 s } shuffle { first_max = 3 s, avg = 5 s, max = 8 s }
  reduce { tasks = 12, avg = 6 s, max = 9 s } slots { map = 2, reduce = 1 }
  jobs = 30, deadline = 6 min, penalty = 100 USD }"""
SERVICE = "service s { rate = 1/s, service_rate = 15/s, response = 1 s, penalty = 1 USD }"


def spec_of(classes: str, simulation: str = "", demand: str = "", folder: Path = Path()) -> mrdsl.Spec:
    text = (
        "problem joint\nseed = 3\ncluster { size = 200 vms, vm_cost = 1 cent/h, reuse = paper }\n"
        f"{demand}\n{classes}\n{SERVICE}\n"
        f"simulation {{ {simulation} }}\nminimize cost\n"
    )
    return mrdsl.loads(text, folder=folder)


def test_jobs_of_equal_tasks_take_their_waves_in_every_period(tmp_path: Path) -> None:
    # Lax deadlines: a slot for every job. 30 min, two rounds in a period: 4 and 2 jobs are 2 and 1 at once, none then.
    (tmp_path / "demand.csv").write_text("a,s\n4,1\n2,1\n0,1\n")
    demand = 'demand { periods = 3, from = "demand.csv", floor = 100% }'
    plan = mrdsl.simulate(
        spec_of(EQUAL.format(jobs=4, deadline="30 min", more=""), demand=demand, folder=tmp_path), runs=2, jobs=5
    ).plan
    assert plan.classes.at_once[:, 0].tolist() == [2.0, 1.0, 0.0]
    document = plan.document()
    hours = [period["classes"]["a"] for period in document["periods"]]
    assert [hour["observed"]["mean"] for hour in hours[:2]] == [40.0, 40.0]
    # The first tenth of five or ten jobs of each run is left out.
    assert [hour["observed"]["jobs"] for hour in hours[:2]] == [2 * 9, 2 * 5]
    assert "observed" not in hours[2]
    whole = document["classes"]["a"]
    assert (whole["observed"]["jobs"], whole["observed"]["mean"], whole["kept"]["share"]) == (28, 40.0, 1.0)
    assert whole["observed"]["utilisation"] == pytest.approx(1.0)
    assert document["simulation"] == {"runs": 2, "seed": 3, "jobs_per_user": 5, "warm_up": 0.1, "what_if": {}}
    assert "classes" not in mrdsl.solve(spec_of(EQUAL.format(jobs=4, deadline="30 min", more=""))).plan.document()


def test_a_plain_simulator_agrees_within_their_intervals() -> None:
    plan = mrdsl.simulate(spec_of(SPREAD), runs=6, jobs=40).plan
    slots = [int(-(-float(each[0, 0]) // 1)) for each in (plan.classes.map_slots, plan.classes.reduce_slots)]
    users = int(plan.classes.at_once[0, 0])
    reduce = summed(spread(3.0, 3.0), spread(5.0, 8.0), spread(6.0, 9.0))
    stages = [(40, (), 0, spread(10.0, 16.0)), (12, (0,), 1, reduce)]
    mean, half = means(lambda run: Plain(stages, slots, users, 40 * users, seed=run), 6)
    seen = plan.observed["a"]
    assert users == 3
    assert seen.mean == pytest.approx(mean, abs=seen.half_width + half)
    assert seen.half_width < 0.03 * seen.mean


def test_periods_have_no_job_in_common_and_the_number_of_processes_changes_nothing() -> None:
    spec = spec_of(SPREAD, demand="demand { periods = 2 }")
    one, two = (mrdsl.simulate(spec, runs=2, jobs=4, processes=count).plan.document() for count in (1, 2))
    assert one == two
    first, second = (period["classes"]["a"] for period in one["periods"])
    assert first["map_slots"] == second["map_slots"]
    assert first["observed"] != second["observed"]


def test_classes_that_lend_slots_wait_less() -> None:
    other = SPREAD.replace("class a", "class b").replace("penalty", "think = 30 min, penalty")
    apart, lent = (
        mrdsl.simulate(spec_of(SPREAD + other, f"lending = {word}"), runs=2, jobs=5).plan.observed["a"].mean
        for word in ("no", "yes")
    )
    assert lent < 0.8 * apart


def test_what_goes_wrong_costs_time_and_what_a_command_asks_for_is_said() -> None:
    slow = "stragglers { share = 10 %, factor = 6 }"
    usual, told = (mrdsl.simulate(spec_of(SPREAD, each), runs=2, jobs=5).plan.observed["a"].mean for each in ("", slow))
    asked = mrdsl.simulate(spec_of(SPREAD), runs=2, jobs=5, what_if=WhatIf(stragglers=(0.1, 6.0)))
    assert asked.plan.observed["a"].mean == told > 1.1 * usual
    assert "what-if" in [d.code for d in asked.diagnostics]


def test_coefficients_are_told_and_too_much_work_is_refused() -> None:
    known = """class k { coefficients { A = 500 s, B = 100 s, C = 5 s } slots { map = 2, reduce = 1 }
      jobs = 2, deadline = 10 min, penalty = 1 USD }"""
    result = mrdsl.simulate(spec_of(SPREAD + known), runs=1, jobs=2)
    assert [d.code for d in result.diagnostics if d.code == "not-simulated"] == ["not-simulated"]
    assert set(result.plan.observed) == {"a"}
    for more, what in (
        ("arrivals = 1/s", "overloaded-cluster"),
        ("machine_failures { permanent = 900 }", "out-of-range"),
    ):
        in_class = more if what == "overloaded-cluster" else ""
        spec = spec_of(EQUAL.format(jobs=4, deadline="30 min", more=in_class), "" if in_class else more)
        with pytest.raises(mrdsl.MrdslError) as refused:
            mrdsl.simulate(spec, runs=1, jobs=2)
        assert {d.code for d in refused.value.diagnostics} == {what}


def test_arrivals_that_are_no_numbers_are_told(tmp_path: Path) -> None:
    (tmp_path / "at.txt").write_text("0\nsoon\n")
    with pytest.raises(mrdsl.MrdslError, match="not a list of arrivals"):
        spec_of(EQUAL.format(jobs=4, deadline="30 min", more='submissions = "at.txt"'), folder=tmp_path)
