"""Plans over periods whose classes have a part on spot: a bound on plans of any slots, beside periods solved alone."""

from __future__ import annotations

from pathlib import Path

import pytest

import mrdsl
from tests.shared_data import shared


def test_a_class_partly_on_spot_has_a_bound() -> None:
    result = mrdsl.solve(mrdsl.load(shared("cases/demand_without_bound.mrspec")))
    assert result.value == pytest.approx(3.9)
    assert result.bound == pytest.approx(3.9)
    assert str(result.solution) == "optimal"


SPEC = """problem capacity
vm a {{ {kind} on_demand {{ price = 1 USD/h }}, spot {{ price = 0.3 USD/h, interruptions = {rate}/h }} }}
class x {{
  coefficients {{ A = {maps} s, B = {reduces} s, C = 0 s }}, {slots}
  jobs = {jobs}, deadline = 60 s, penalty = 9 USD, spot = {share}%
}}
{more}
minimize cost
"""
SLOTS = "", "slots { map = 2, reduce = 3 }"
EQUAL = "", "slots { map = 4, reduce = 2 }"
VECTORS = (
    "cores = 4, memory = 8 GiB,",
    "container { map { cores = 1, memory = 1 GiB }, reduce { cores = 1, memory = 3 GiB } }",
)


@pytest.mark.parametrize(("kind", "slots"), [SLOTS, EQUAL, VECTORS])
@pytest.mark.parametrize(("share", "rate"), [(50, 0), (30, 0.01), (0, 0), (100, 0)])
@pytest.mark.parametrize(("maps", "reduces"), [(100, 50), (40, 170)])
def test_periods_cost_what_each_costs_alone(
    kind: str, slots: str, share: int, rate: float, maps: int, reduces: int, tmp_path: Path
) -> None:
    """Without commitments, the bound is below the sum of the periods' own costs, and the plan is not above it."""
    demand = [2, 0, 3]
    values = {"kind": kind, "slots": slots, "share": share, "rate": rate, "maps": maps, "reduces": reduces}
    (tmp_path / "day.csv").write_text("time,x\n" + "".join(f"r{n},{jobs}\n" for n, jobs in enumerate(demand)))
    more = 'demand { periods = 3, from = "day.csv" }'
    (tmp_path / "spec.mrspec").write_text(SPEC.format(**values, jobs=3, more=more))
    result = mrdsl.solve(mrdsl.load(tmp_path / "spec.mrspec"))
    alone = [mrdsl.solve(mrdsl.loads(SPEC.format(**values, jobs=jobs, more=""))) for jobs in demand if jobs]
    assert result.bound is not None
    assert result.bound <= sum(each.value for each in alone) * (1 + 1e-6)
    assert result.value >= sum(each.bound for each in alone) * (1 - 1e-6)
    assert result.bound >= 0.8 * result.value
