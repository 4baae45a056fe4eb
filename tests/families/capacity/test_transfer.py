"""Data that jobs move into and out of the cloud, and disks as a part of the cost."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

import mrdsl
from mrdsl.core.diagnostics import has_errors
from mrdsl.families.capacity.facts import Transfer, TransferPrices
from mrdsl.families.capacity.verify import verify
from mrdsl.families.capacity.why import why
from mrdsl.language.loading import load_text
from tests.families.capacity.type_specs import random_types

TEXT = """problem capacity
vm m5 { on_demand { price = 0.2 USD/h }, disk { size = 100 GiB, price = 0.0001 USD/GiB/h } }
class c { coefficients { A = 3600 s, B = 0 s, C = 0 s }, slots { map = 2 }
          jobs = 2 .. 20, deadline = 1 h, penalty = 1 USD, transfer { output = 10 GiB, input = 5 GiB } }
PRICES
minimize cost
"""
OTHER = "vm c5 { on_demand { price = 0.3 USD/h }, spot { price = 0.05 USD/h, interruptions = 0/h } }\n"


def planned(prices: str, solver: str, more: str = "") -> mrdsl.Result:
    spec = mrdsl.loads(TEXT.replace("PRICES", prices).replace("class", f"{more}class"))
    assert mrdsl.loads(spec.to_mrspec()) == spec
    result = mrdsl.solve(spec, solver=solver)
    assert not has_errors(tuple(verify(spec, result.plan_of(mrdsl.CapacityPlan), relax=False)))
    assert (result.termination, result.bound) == ("optimal", pytest.approx(result.value))
    return result


@pytest.mark.parametrize("solver", ["highs", "scip", "direct"])
@pytest.mark.parametrize(
    ("prices", "jobs", "moved"),
    [  # a job costs 0.105 USD of a VM
        ("transfer { input = 0 USD/GiB, output = 0.09 USD/GiB }", 2, 0.9),
        ("transfer { input = 0 USD/GiB, output = 0.08 USD/GiB }", 20, 0.8),
        ("transfer { input = 0.02 USD/GiB, output = 0.08 USD/GiB }", 2, 0.9),
        ("transfer { input = 0.2 USD/GiB, output = 0.5 USD/GiB }", 2, 6.0),
        ("transfer { input = 0 USD/GiB, output = 0 USD/GiB }", 20, 0.0),
    ],
)
def test_jobs_pay_for_the_data_that_they_move(solver: str, prices: str, jobs: int, moved: float) -> None:
    plan = planned(prices, solver).plan_of(mrdsl.CapacityPlan)
    assert plan.admitted.tolist() == [jobs]
    assert plan.total == pytest.approx(jobs / 2 * 0.21 + (20 - jobs) + jobs * moved)
    assert (plan.transfer_cost, plan.disk_cost) == (pytest.approx(jobs * moved), pytest.approx(jobs / 2 * 0.01))
    shown = plan.document()["cost"]
    assert shown.get("transfer", 0.0) == pytest.approx(jobs * moved)
    assert shown["disks"] == pytest.approx(jobs / 2 * 0.01)


@pytest.mark.parametrize("solver", ["highs", "direct"])
def test_jobs_on_several_types_pay_for_their_data(solver: str) -> None:
    prices = "transfer { input = 0.01 USD/GiB, output = 0.08 USD/GiB }"
    plan = planned(prices, solver, OTHER).plan_of(mrdsl.CapacityPlan)
    assert plan.total == pytest.approx(10 * 0.05 + 20 * 0.85)
    assert (plan.disk_cost, plan.transfer_cost) == (0.0, pytest.approx(17.0))


def test_the_relaxation_and_the_nonlinear_forms_have_the_same_cost() -> None:
    prices = "transfer { input = 0 USD/GiB, output = 0.05 USD/GiB }"
    spec = mrdsl.loads(TEXT.replace("PRICES", prices))
    for how in ({"formulation": "P0", "solver": "scip"}, {"formulation": "P1", "solver": "scip"}, {"relax": True}):
        assert mrdsl.solve(spec, **how).value == pytest.approx(20 * 0.5 + 2.1), how


@pytest.mark.parametrize("seed", range(4))
def test_data_costs_as_much_as_smaller_penalties_and_a_constant(seed: int) -> None:
    """Jobs that move data for t of their penalty p cost as those of penalty p - t, and t for each expected job."""
    spec, random = random_types(seed), Random(seed)
    moved = [random.choice([0.0, 0.2, 0.9, 1.0]) * node.penalty for node in spec.facts.classes]
    nodes = list(zip(spec.facts.classes, moved, strict=True))
    paying = tuple(replace(node, transfer=Transfer(output=cost)) for node, cost in nodes)
    others = tuple(replace(node, penalty=node.penalty - cost) for node, cost in nodes)
    facts = replace(spec.facts, classes=paying, transfer=TransferPrices(output=1.0))
    both = replace(spec, facts=facts), replace(spec, facts=replace(spec.facts, classes=others))
    exact = mrdsl.Limits(gap=0.0)
    found, expected = (float(mrdsl.solve(each, solver="highs", limits=exact).value or 0.0) for each in both)
    constant = sum(cost * node.jobs.high for node, cost in nodes)
    assert found == pytest.approx(expected + constant, rel=1e-6)
    quick = mrdsl.solve(both[0], solver="direct")
    assert quick.bound is not None
    assert quick.bound <= found * (1 + 1e-6) <= float(quick.value or 0.0) * (1 + 2e-6)


def test_a_limit_of_the_cost_counts_data() -> None:
    prices = "transfer { input = 0 USD/GiB, output = 0.05 USD/GiB }"
    for limit, right in (("12.11", "optimal"), ("12.09", "infeasible")):
        spec = mrdsl.loads(TEXT.replace("PRICES", f"{prices}\nsubject to {{ cost <= {limit} USD }}"))
        assert mrdsl.solve(spec).termination == right


def test_a_demand_pays_in_each_period() -> None:
    spec = mrdsl.loads(
        TEXT.replace("PRICES", "transfer { input = 0 USD/GiB, output = 0.05 USD/GiB }\ndemand { periods = 3 }").replace(
            "on_demand", "reserved { price = 0.1 USD/h, available = 4 }, on_demand"
        )
    )
    result = mrdsl.solve(spec)
    assert result.value == pytest.approx(3 * (20 * 0.5 + 6 * 0.21 + 4 * 0.11))
    assert result.plan is not None
    assert result.plan.document()["cost"]["transfer"] == pytest.approx(3 * 20 * 0.5)
    for table in result.plan.tables()[1:]:
        assert sum(isinstance(head, str) and head.startswith("transfer") for head in table.columns) == 1
        assert all(len(row) == len(table.columns) for row in table.rows)


@pytest.mark.parametrize("field", ["transfer_cost", "disk_cost"])
def test_verification_computes_the_parts_itself(field: str) -> None:
    result = planned("transfer { input = 0 USD/GiB, output = 0.05 USD/GiB }", "highs")
    plan = result.plan_of(mrdsl.CapacityPlan)
    spec = mrdsl.loads(TEXT.replace("PRICES", "transfer { input = 0 USD/GiB, output = 0.05 USD/GiB }"))
    wrong = replace(plan, **{field: getattr(plan, field) + 0.5})
    assert has_errors(tuple(verify(spec, wrong, relax=False)))


def test_why_adds_the_data_to_the_break_even_penalty() -> None:
    spec = mrdsl.loads(TEXT.replace("PRICES", "transfer { input = 0 USD/GiB, output = 0.05 USD/GiB }"))
    table = next(iter(why(spec, mrdsl.solve(spec))))
    assert not isinstance(table, str)
    (row,) = table.rows
    assert dict(zip(table.columns, row, strict=True))["break-even penalty [USD]"] == pytest.approx(0.105 + 0.5)


@pytest.mark.parametrize(
    ("prices", "code", "said"),
    [
        ("", "missing-item", "its price is missing"),
        ("transfer { output = 0.09 USD/GiB }", "missing-item", "input = 0 USD/GiB if it is free"),
        ("transfer { input = 0 USD/GiB, output = 0 USD/GiB }", "unused", "is free"),
        ("transfer { input = 0 USD/GiB, output = -0.09 USD/GiB }", "out-of-range", "at least 0"),
        ("transfer { input = 0 USD/GiB, output = 0.09 USD }", "wrong-unit", "a price of data"),
        ("transfer { input = 0 USD/GiB, output = 0.09 USD/GiB/h }", "wrong-unit", "a price of data"),
        ("transfer { input = 0 USD/GiB, output = 0.09 }", "wrong-unit", "a price of data"),
        ("transfer { input = 0 USD/GiB, output = 0.09 EUR/GiB }", "mixed-currencies", "USD"),
        ("transfer { input = 0 USD/GiB, out = 0.09 USD/GiB }", "unknown-item", "output"),
    ],
)
def test_wrong_prices_of_data(prices: str, code: str, said: str) -> None:
    told = next(each for each in load_text(TEXT.replace("PRICES", prices)).diagnostics if each.code == code)
    assert said in f"{told.message} {told.hint}"
    assert told.span is not None


@pytest.mark.parametrize(
    ("moved", "code", "said"),
    [
        ("output = -1 GiB", "out-of-range", "at least 0"),
        ("output = 5", "wrong-unit", "amount of data"),
        ("output = 5 USD", "wrong-unit", "amount of data"),
        ("output = 5 GiB", "unused", "the price of input data has no effect"),
    ],
)
def test_wrong_amounts_of_data(moved: str, code: str, said: str) -> None:
    text = TEXT.replace("PRICES", "transfer { input = 0.1 USD/GiB, output = 0.09 USD/GiB }")
    text = text.replace("transfer { output = 10 GiB, input = 5 GiB }", f"transfer {{ {moved} }}")
    told = next(each for each in load_text(text).diagnostics if each.code == code)
    assert said in f"{told.message} {told.hint}"
