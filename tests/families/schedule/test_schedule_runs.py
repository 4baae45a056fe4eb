"""Every policy on real jobs: audited machine by machine, repeated exactly, in any process."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.result import Limits, Termination
from mrdsl.families.schedule.checks import check
from mrdsl.families.schedule.facts import Spot
from mrdsl.families.schedule.methods.policy import run_policy, simulation
from mrdsl.families.schedule.trace import jobs, machine_type
from mrdsl.families.schedule.verify import measure, verify
from mrdsl.simulation.fleet import Job, Log, MachineType
from mrdsl.simulation.sampling import DrawnPrice, stream
from mrdsl.simulation.scheduling import Simulation
from mrdsl.spec.schema import Distribution
from mrdsl.spec.spec import Spec
from tests.command_lines import run_python
from tests.families.schedule.audit_of_runs import audit
from tests.families.schedule.schedule_specs import JOBS, spec, swim, vm, work

ALGORITHMS = ("ndasa", "mdasa", "ep_edf", "ev_edf", "frugal")
INSTANCES = ("on_demand", "spot", "hybrid")


def audited(one: Spec) -> Any:
    log = Log()
    run = simulation(one.facts, one.seed or 0, log)
    seen = run.run()
    bill = seen.bill
    stream = list(jobs(one.facts, one.seed or 0))
    wrong = audit(log.entries, machine_type(one.facts.vms[0]), stream, bill.on_demand + bill.spot)
    assert wrong == []
    return seen


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("instances", INSTANCES)
def test_runs_keep_every_rule(algorithm: str, instances: str) -> None:
    for billing, slots, boot in ((3600.0, (1, 1), 0.0), (1.0, (4, 2), 0.0), (3600.0, (2, 3), 30.0)):
        machine = vm(*slots, billing=billing, boot=boot)
        one = spec(machine=machine, algorithm=algorithm, instances=instances)
        seen = audited(one)
        assert seen.jobs == 200
        assert seen.evictions == 0 or instances != "on_demand"


def test_the_reference_is_a_checked_plan() -> None:
    one = spec()
    assert list(check(one)) == []
    draft = run_policy(Draft(one, seed=one.seed or 0))
    assert draft.termination is Termination.COMPLETED
    assert draft.plan is not None
    assert list(verify(one, draft.plan, False)) == []
    assert draft.value == measure(one, draft.plan)
    document = draft.plan.document()
    assert list(document) == ["jobs", "cost", "vm_hours", "evictions"]
    assert document["jobs"]["count"] == 200
    assert all(table.rows for table in draft.plan.tables())


def test_verify_tells_a_plan_that_cannot_be() -> None:
    one = spec(instances="on_demand")
    plan = run_policy(Draft(one, seed=7)).plan
    assert plan is not None
    for wrong in (
        replace(plan, jobs=replace(plan.jobs, count=199)),
        replace(plan, cost=replace(plan.cost, total=plan.cost.total - 1)),
        replace(plan, vm_hours=replace(plan.vm_hours, on_demand=1.0)),
        replace(plan, vm_hours=replace(plan.vm_hours, spot=1.0)),
    ):
        assert [each.code for each in verify(one, wrong, False)]


def test_on_demand_by_the_second_pays_the_work() -> None:
    """One slot of a kind per VM, by the second: at least the work, at most two slots per VM idle half the time."""
    one = spec(machine=vm(billing=1.0), instances="on_demand")
    seen = audited(one)
    total = work(list(jobs(one.facts, 7)))
    assert seen.busy_seconds == pytest.approx(total)
    assert seen.bill.on_demand_seconds >= total / 2
    assert seen.bill.on_demand == pytest.approx(seen.bill.on_demand_seconds * 0.07 / 3600)


def test_runs_repeat_in_another_process() -> None:
    code = (
        "from tests.families.schedule.schedule_specs import spec; from mrdsl.contracts.pipeline import Draft;"
        "from mrdsl.families.schedule.methods.policy import run_policy; import json;"
        "print(json.dumps(run_policy(Draft(spec(), seed=7)).plan.document()))"
    )
    outputs = [run_python(code, PYTHONHASHSEED=seed).stdout for seed in ("1", "2")]
    plan = run_policy(Draft(spec(), seed=7)).plan
    assert plan is not None
    assert outputs == [json.dumps(plan.document()) + "\n"] * 2
    other = run_policy(Draft(spec(), seed=8)).plan
    assert other is not None
    assert other.document() != plan.document()


def test_a_time_limit_leaves_no_plan() -> None:
    draft = run_policy(Draft(spec(), limits=Limits(time=0.0), started=-1.0))
    assert draft.termination is Termination.TIME_LIMIT
    assert draft.plan is None
    assert [each.code for each in draft.diagnostics] == ["stopped-early"]


JOB = st.tuples(
    st.integers(0, 400),
    st.integers(1, 9),
    st.integers(1, 90),
    st.integers(0, 5),
    st.integers(1, 40),
    st.floats(1.0, 3.0),
)


@settings(derandomize=True, max_examples=40, deadline=None)
@given(
    st.lists(JOB, min_size=1, max_size=12),
    st.sampled_from(ALGORITHMS),
    st.sampled_from(INSTANCES),
    st.sampled_from([60.0, 300.0]),
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.integers(0, 99),
    st.sampled_from([0.0, 0.0, 7.0, 90.0]),
    st.booleans(),
)
def test_conservation(
    drawn: list[tuple[int, int, int, int, int, float]],
    algorithm: str,
    instances: str,
    billing: float,
    slots: tuple[int, int],
    seed: int,
    boot: float,
    broken_free: bool,
) -> None:
    """Jobs, tasks, slots and paid periods are conserved in small random worlds full of evictions."""
    from mrdsl.families.schedule.methods.policy import policy_of

    stream_of_jobs = [
        Job(
            f"j{i}",
            float(at),
            at + factor * (m_time + (2 * r_time if reduces else 0)),
            maps,
            float(m_time),
            reduces,
            float(r_time),
            float(r_time),
        )
        for i, (at, maps, m_time, reduces, r_time, factor) in enumerate(sorted(drawn))
    ]
    price = Distribution("mixture", ((0.6, 0.4), (0.02 / 3600, 0.2 / 3600), (0.01 / 3600, 0.1 / 3600)))
    machine = MachineType(*slots, 0.07 / 3600, billing, boot, broken_free)
    prices = DrawnPrice(price, 45.0, stream(seed, "p")) if instances != "on_demand" else None
    log = Log()
    policy = policy_of(spec(algorithm=algorithm, instances=instances).facts)
    seen = Simulation(machine, prices, stream_of_jobs, policy, log).run()
    assert audit(log.entries, machine, stream_of_jobs, seen.bill.on_demand + seen.bill.spot) == []
    assert seen.jobs == len(stream_of_jobs)


def test_the_audit_sees_what_is_wrong() -> None:
    one = spec(instances="on_demand")
    log = Log()
    run = simulation(one.facts, 7, log)
    cost = run.run().bill.on_demand
    stream_of_jobs = list(jobs(one.facts, 7))
    machine = machine_type(one.facts.vms[0])
    assert audit(log.entries, machine, stream_of_jobs, cost) == []
    for what in ("finish", "arrive", "place", "pay", "release"):
        index = next(i for i, entry in enumerate(log.entries) if entry.what == what)
        assert audit(log.entries[:index] + log.entries[index + 1 :], machine, stream_of_jobs, cost), what
    doubled = [
        replace(each, facts={**each.facts, "slots": each.facts["slots"] + 10**6}) if each.what == "place" else each
        for each in log.entries
    ]
    assert any("tasks on" in wrong for wrong in audit(doubled, machine, stream_of_jobs, cost))


def test_a_recorded_history_of_one_price_is_the_constant_price(tmp_path: Any) -> None:
    from mrdsl.spec.schema import Source

    file = tmp_path / "prices.json"
    file.write_text(
        json.dumps(
            {
                "SpotPriceHistory": [
                    {"Timestamp": "2014-01-06T07:10:55.000Z", "SpotPrice": "0.02", "AvailabilityZone": "us-west-1a"}
                ]
            }
        )
    )
    recorded = spec(machine=vm(spot=Spot(history=Source("path", str(file), "prices.json"))))
    constant = spec(machine=vm(spot=Spot(price=0.02 / 3600)))
    assert list(check(recorded)) == []
    results = [run_policy(Draft(one, seed=7)).plan for one in (recorded, constant)]
    assert results[0] == results[1]
    assert JOBS.exists()
    assert swim().source is not None
