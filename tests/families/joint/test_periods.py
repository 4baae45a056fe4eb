"""Demand over time: tables, shifts, typical days, the split by daily peaks; the plan's own identities."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mrdsl import load, loads
from mrdsl.core.result import Limits, Termination
from mrdsl.families import family
from mrdsl.families.joint.models import formulations
from mrdsl.families.joint.workload import expected_demand, parts, reuse_factor, workload
from mrdsl.formulas.workloads import sampled_days, typical_demand
from mrdsl.planning.solve_spec import solve
from mrdsl.simulation.sampling import stream
from mrdsl.solving.checked_answer import solve_model
from mrdsl.spec.spec import Spec
from studies.joint_instances import instance

from .specs import broken, random_spec, reference

TABLE = """
problem joint "two columns"
cluster { size = 60 vms, vm_cost = 1 cent/h, period = 2 h, reuse = paper }
demand { periods = 4, from = "day.csv", floor = 50% }
class r {
  coefficients { A = 9000 s, B = 3000 s, C = 100 s }
  slots { map = 2, reduce = 2 }
  deadline = 900 s, penalty = 45 cent, shift = -2 h
}
service checkout {
  service_rate = 15/s, delay = 0.25 s, response = 1.4 s, penalty = 0.002 cent, shift = +4 h
}
minimize cost
"""


def table_spec(folder: Path) -> Spec:
    (folder / "day.csv").write_text("hour,r,checkout [1/min]\n0,1,600\n2,2,1200\n4,3,1800\n6,4,2400\n")
    (folder / "day.mrspec").write_text(TABLE)
    return load(folder / "day.mrspec")


def test_a_table_is_shifted_by_time_zones(tmp_path: Path) -> None:
    """What is 4 h ahead happens two rows earlier; what is 2 h behind, one row later; rates per minute become 1/s."""
    low, high = expected_demand(table_spec(tmp_path))
    np.testing.assert_allclose(high, [[4, 30], [1, 40], [2, 10], [3, 20]])
    np.testing.assert_allclose(low, high / 2)


def test_every_period_is_as_if_alone(tmp_path: Path) -> None:
    spec = table_spec(tmp_path)
    result = solve(spec)
    assert result.plan is not None
    document = result.plan.document()
    assert document["cost"]["total"] == pytest.approx(sum(p["cost"]["total"] for p in document["periods"]))
    assert list(document) == ["periods", "cost", "whole"]
    assert list(document["periods"][0]) == ["classes", "services", "vms", "utilization", "cost"]
    for solver in ("highs", "scip"):
        assert solve(spec, solver).objective.value == pytest.approx(result.objective.value, rel=1e-7)


@pytest.mark.parametrize("concurrency", ["whole", "fractional"])
@pytest.mark.parametrize("relax", [True, False])
@pytest.mark.parametrize("sharing", ["shared", "partitioned"])
def test_a_day_of_s4(sharing: str, relax: bool, concurrency: str) -> None:
    """24 periods of 9 units on 85 % of V_max: greedy and HiGHS agree, and the plan keeps the paper's equations."""
    spec = instance("S4", 5, concurrency)
    size = 728 if concurrency == "fractional" else 840
    spec = replace(spec, facts=replace(spec.facts, cluster=replace(spec.facts.cluster, size=size, sharing=sharing)))
    result = solve(spec, relax=relax)
    plan = result.plan
    assert plan is not None
    other = solve(spec, "highs", relax=relax)
    assert other.objective.value == pytest.approx(result.objective.value, rel=1e-9 if relax else 1e-6)
    work = workload(spec)
    got = plan.classes  # type: ignore[attr-defined]
    assert got.weight.sum(axis=1) == pytest.approx(np.ones(24))
    at_once = got.at_once
    run = work.execution
    if concurrency == "whole" and not relax:
        assert (at_once == np.rint(at_once)).all()
        assert (got.admitted <= at_once * (3600.0 // run.deadline) + 1e-9).all()
    else:
        np.testing.assert_allclose(at_once, got.admitted / run.reuse)
    time = run.A * at_once / got.map_slots + run.B * at_once / got.reduce_slots + run.C
    np.testing.assert_allclose(time, np.broadcast_to(run.deadline, time.shape), rtol=1e-12)
    hosted = got.map_slots / run.map_slots + got.reduce_slots / run.reduce_slots
    assert (hosted <= got.vms * (1 + 1e-9)).all()
    if relax:
        np.testing.assert_allclose(hosted, got.vms, rtol=1e-9)
    if sharing == "partitioned":
        large = replace(  # and penalties for which every last VM is worth its price
            spec.facts,
            cluster=replace(spec.facts.cluster, size=10_000, sharing="shared"),
            classes=tuple(replace(one, penalty=1e3 * one.penalty) for one in spec.facts.classes),
            services=tuple(replace(one, penalty=1e3 * one.penalty) for one in spec.facts.services),
        )
        free = solve(replace(spec, facts=large), relax=concurrency == "fractional").plan
        peaks = [vms.sum(axis=1).max() for vms in (free.classes.vms, free.services.vms)]  # type: ignore[union-attr]
        wanted = [size * peak / sum(peaks) for peak in peaks]
        assert [held for _, held in parts(work)] == pytest.approx(wanted, abs=0.5)
        assert sum(held for _, held in parts(work)) == size


def test_a_plan_that_breaks_its_spec_is_noticed() -> None:
    """Verification from the facts alone: each of these is a different promise."""
    spec = reference()
    plan = solve(spec).plan
    assert plan is not None
    got, served = plan.classes, plan.services  # type: ignore[attr-defined]
    for changed in (
        replace(plan, classes=replace(got, admitted=got.admitted + 10)),
        replace(plan, classes=replace(got, map_slots=got.map_slots * 0.9)),
        replace(plan, classes=replace(got, at_once=got.at_once * 0.9)),
        replace(plan, classes=replace(got, vms=got.vms - 1)),
        replace(plan, services=replace(served, rate=served.rate * 0.5)),
        replace(plan, services=replace(served, vms=served.vms - np.array([1, 0]))),
        replace(plan, services=replace(served, vms=served.vms + np.array([1, 0]))),
        replace(plan, services=replace(served, vms=served.vms - 0.5)),
    ):
        assert broken(spec, changed), changed
    assert not broken(spec, plan)


def test_reuse_by_whole_rounds() -> None:
    """An hour holds 4, 3 and 2 whole rounds of 15, 18 and 25 min; jobs of 61 min and 2 h hold VMs for 2 periods."""
    deadlines = np.array([900.0, 1080.0, 1500.0, 3660.0, 7200.0])
    assert reuse_factor(3600.0, deadlines, True).tolist() == [4.0, 3.0, 2.0, 0.5, 0.5]
    np.testing.assert_allclose(reuse_factor(3600.0, deadlines, False), 3600.0 / deadlines)


@pytest.mark.parametrize("seed", range(5))
def test_safe_reuse_costs_more(seed: int) -> None:
    exact, safe = (solve(random_spec(seed, reuse=reuse)).objective.value for reuse in ("exact", "floor"))
    assert safe is None or (exact is not None and safe >= exact - 1e-9)


def test_typical_days_peak_at_11_and_16() -> None:
    days = sampled_days(stream(0, "days"))
    assert days.shape == (12, 144)
    assert (days.max(axis=1) == 1.0).all()
    hours = days.mean(axis=0).reshape(24, 6).mean(axis=1)
    assert max(range(14), key=hours.__getitem__) in (10, 11)
    assert max(range(14, 24), key=hours.__getitem__) in (15, 16)
    assert hours[13] < hours[11]
    assert hours[3] < 0.5 * hours[11]


def test_a_day_is_averaged_exactly_and_moved_by_any_shift() -> None:
    shifts = np.array([0.0, 9 * 3600.0, -1800.0])
    draw = stream(4, "days")
    hourly = typical_demand(draw, ["a", "b", "c"], shifts, 24, 3600.0, 0.0)
    draw = stream(4, "days")
    fine = typical_demand(draw, ["a", "b", "c"], shifts, 144, 600.0, 0.0)
    np.testing.assert_allclose(hourly, fine.reshape(24, 6, 3).mean(axis=1))
    draw = stream(4, "days")
    unmoved = typical_demand(draw, ["a", "b", "c"], shifts * 0, 144, 600.0, 0.0)
    np.testing.assert_allclose(fine[:, 1], np.roll(unmoved[:, 1], -54))
    np.testing.assert_allclose(fine[:, 2], np.roll(unmoved[:, 2], 3))


NOTHING_EXPECTED = """
problem joint "hours without jobs or requests; map-only jobs"
cluster { size = 30 vms, vm_cost = 1 cent/h, sharing = partitioned, reuse = paper }
demand { periods = 3, from = "day.csv", floor = 50% }
class r {
  map { tasks = 100, avg = 20 s, max = 30 s }
  slots { map = 2, reduce = 2 }
  deadline = 900 s, penalty = 45 cent, guarantee = upper
}
service checkout { service_rate = 15/s, delay = 0.25 s, response = 1.4 s, penalty = 0.002 cent }
minimize cost
"""


@pytest.mark.parametrize("relax", [True, False])
@pytest.mark.parametrize(("solver", "formulation"), [("greedy", None), ("highs", "P2"), ("scip", "P0"), ("scip", "P1")])
def test_hours_without_demand_and_map_only_jobs(
    solver: str, formulation: str | None, relax: bool, tmp_path: Path
) -> None:
    """By hand: 2 jobs of A = 100 * 20 - 2 * 30 = 1940 s within 900 - 60 s on 2 slots per VM, in 4 rounds: half a job at
    once, or a whole one; 100 requests per second at 15 - 1 / 1.15 per VM."""
    pytest.importorskip("pyscipopt")
    (tmp_path / "day.csv").write_text("r,checkout\n0,0\n2,0\n0,100\n")
    (tmp_path / "day.mrspec").write_text(NOTHING_EXPECTED)
    result = solve(load(tmp_path / "day.mrspec"), solver, formulation, relax)
    at_once = 2 / 4 if relax else 1
    vms = at_once * 1940 / 840 / 2, 100 / (15 - 1 / 1.15)
    expected = 0.01 * (sum(vms) if relax else sum(np.ceil(vms)))
    assert result.objective.value == pytest.approx(expected, rel=1e-5)
    plan: Any = result.plan
    assert plan.classes.reduce_slots.tolist() == [[0], [0], [0]]
    assert plan.whole == ("no" if relax or formulation in ("P0", "P1") else "slots")
    assert plan.classes.map_slots[1, 0] == (
        3 if plan.whole == "slots" else pytest.approx(at_once * 1940 / 840, rel=1e-5)
    )
    served = [period["services"]["checkout"]["response"] for period in plan.document()["periods"]]
    assert served[:2] == [None, None]
    assert served[2] <= 1.4 + 1e-6


@pytest.mark.parametrize(("seconds", "solved"), [(0.01, 4), (1.0, 3), (3.0, 1)])
def test_the_time_limit_is_one_for_all_periods(
    seconds: float, solved: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A solver that takes so many seconds a period, whatever it was given: none is begun a second behind the limit."""
    clock = iter([0.0, *(np.arange(1000.0) * seconds)])
    monkeypatch.setattr(formulations, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    given: list[float | None] = []

    def solve_piece(model: Any, limits: Limits) -> Any:
        given.append(limits.time)
        return solve_model(model, "highs", Limits())

    spec = table_spec(tmp_path)
    formulation = next(one for one in family("joint").formulations if one.name == "P2")  # type: ignore[union-attr]
    assert formulation.run is not None
    found = formulation.run(spec, False, Limits(time=1.5), solve_piece)
    assert len(given) == solved
    whole = solved == 4
    assert (found.termination is Termination.TIME_LIMIT, found.plan is not None) == (not whole, whole)


def test_a_period_without_requests_has_no_response_time(tmp_path: Path) -> None:
    """The worst response time is that of period 0, in which one VM less makes it 5 s, the limit."""
    (tmp_path / "day.csv").write_text("web\n40\n0\n")
    spec = loads(
        """
        problem joint
        cluster { size = 20 vms, vm_cost = 1 USD/h, period = 1 h, reuse = paper }
        service web { rate = 10/s..100/s, service_rate = 15/s, delay = 0.25 s, response = 5 s, penalty = 1 cent }
        demand { periods = 2, from = "day.csv" }
        let slowest = response(web)
        maximize slowest
        """,
        folder=tmp_path,
    )
    result = solve(spec)
    assert result.termination is Termination.OPTIMAL
    assert result.value == pytest.approx(5.0)
