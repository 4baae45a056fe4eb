"""``why`` of several VM types: runners-up, contracts and quotas, checked by changing the spec and solving again."""

from dataclasses import replace

import pytest

import mrdsl
from mrdsl.families.capacity.methods.relaxation import relaxed
from mrdsl.families.capacity.why import why
from mrdsl.families.capacity.why_types import runners_up, task_of
from mrdsl.planning.solve_spec import solve

PRICED = """problem capacity
vm a { on_demand { price = 0.20 USD/h }, fee = 0.01 USD/h }
vm b { on_demand { price = 0.23 USD/h }, spot { price = 0.19 USD/h, interruptions = 0.001/h } }
vm c { on_demand { price = 0.60 USD/h } }
class one {
  coefficients { A = 5400 s, B = 1250 s, C = 95 s }
  slots { map = 4, reduce = 2 }
  jobs = 40..60, deadline = 10 min, penalty = 20 USD, spot = SPOT
}
minimize cost
"""


@pytest.mark.parametrize("spot", ["0%", "30%"])
def test_the_runner_up_wins_below_its_price_and_not_above(spot: str) -> None:
    """Moved across the price that is told, the jobs of the relaxed plan change types."""
    spec = mrdsl.loads(PRICED.replace("SPOT", spot))
    task = task_of(spec)
    (found,) = runners_up(spec, task, relaxed(task, 1e-9).prices)
    first, second = spec.facts.vms[found.vm], spec.facts.vms[found.runner_up]
    assert {first.name, second.name} == {"a", "b"}
    assert found.cost < found.next_cost

    def taken(factor: float) -> set[str]:
        price = found.wins_below / 3600.0 * factor
        moved = replace(second, on_demand=replace(second.on_demand, price=price))
        vms = tuple(moved if vm.name == second.name else vm for vm in spec.facts.vms)
        plan = solve(replace(spec, facts=replace(spec.facts, vms=vms)), "highs", relax=True).plan
        return {share["vm"] for share in plan.document()["classes"]["one"]["on"] if not share["spot"]}

    assert taken(1.001) == {first.name}
    assert taken(0.999) == {second.name}


def test_one_more_of_a_contract_and_of_a_quota_is_worth_what_solving_again_says() -> None:
    text = PRICED.replace("SPOT", "0%").replace("fee = 0.01 USD/h", "reserved { price = 0.1 USD/h, available = 7 }")
    text = text.replace("vm b { on", "vm b { available = 100, on").replace("0.23", "0.13")
    spec, more = mrdsl.loads(text), mrdsl.loads(text.replace("= 7", "= 8"))
    result = solve(spec, "highs")
    told = [each for each in why(spec, result) if isinstance(each, str)]
    saved = [solve(each, "highs", relax=True).objective.value for each in (spec, more)]
    assert f"One more would save {saved[0] - saved[1]:g} USD" in told[0]
    assert told[0].startswith("7 of 7 VMs of a reserved are used")
    rented = result.plan.document()["vms"]["b"]["on_demand"]
    assert told[1].startswith(f"{rented} of 100 VMs of b that may be rented are. One more would save")


def test_one_more_vm_of_every_contract_saves_what_one_on_demand_costs_more() -> None:
    """All are used and others are on demand, so that one more stands in for one of those: paid ones, and one at 0.1."""
    text = """problem capacity
vm a {
  on_demand { price = 0.4 USD/h }, reserved { price = 0.25 USD/h, available = 7, prepaid = yes }
  reserved "1 year" { price = 0.2 USD/h, available = 3, prepaid = yes }
  reserved "3 years" { price = 0.1 USD/h, available = 2 }
}
class c {
  coefficients { A = 540 s, B = 125 s, C = 9 s }, slots { map = 3, reduce = 2 }
  jobs = 10..10, deadline = 4 min, penalty = 9 USD
}
minimize cost
"""
    spec = mrdsl.loads(text)
    told = [part for part in why(spec, solve(spec, solver="highs")) if isinstance(part, str)]
    saved = {f"{name} are used. One more would save {worth} USD" for name, worth in WORTHS.items()}
    assert all(any(each in part for part in told) for each in saved)


WORTHS = {
    "7 of 7 VMs of a reserved": "0.4",
    '3 of 3 VMs of a reserved "1 year"': "0.4",
    '2 of 2 VMs of a reserved "3 years"': "0.3",
}
