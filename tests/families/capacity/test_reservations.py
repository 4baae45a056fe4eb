"""How many VMs to reserve: the count of periods against all numbers tried, and the study against plans."""

from pathlib import Path

import numpy as np
import pytest

import mrdsl
from studies.capacity_reservations import reservations, reserving_cost, to_reserve

SPEC = """problem capacity
vm a { on_demand { price = 0.4 USD/h }, reserved { price = 0.25 USD/h, available = 7 } }
class c {
  coefficients { A = 540 s, B = 125 s, C = 9 s }, slots { map = 3, reduce = 2 }
  jobs = 10..10, deadline = 4 min, penalty = 9 USD
}
class d {
  coefficients { A = 740 s, B = 225 s, C = 9 s }, slots { map = 2, reduce = 3 }
  jobs = 8..8, deadline = 5 min, penalty = 9 USD
}
minimize cost
"""
JOBS = [(2, 0), (1, 1), (6, 2), (10, 8), (10, 5), (4, 4)]


@pytest.mark.parametrize("seed", range(30))
def test_the_count_is_the_cheapest_of_all_numbers(seed: int) -> None:
    random = np.random.RandomState(seed)
    needed = random.randint(0, 12, int(random.randint(1, 30))).astype(float)
    on_demand = 1.0
    reserved = float(random.choice([0.0, 0.25, 0.5, random.uniform(0.0, 1.2)]))
    costs = [reserving_cost(needed, count, on_demand, reserved) for count in range(14)]
    found = to_reserve(needed, on_demand, reserved)
    assert costs[found] == pytest.approx(min(costs))
    assert all(cost > costs[found] - 1e-12 for cost in costs[:found])


def test_at_the_edge_fewer_are_reserved() -> None:
    """Half of the periods at half of the price: reserving saves nothing; a little cheaper, and it does."""
    needed = np.array([3.0, 3.0, 0.0, 0.0])
    assert to_reserve(needed, 1.0, 0.5) == 0
    assert to_reserve(needed, 1.0, 0.499) == 3
    assert to_reserve(needed, 1.0, 0.0) == 3
    assert to_reserve(np.zeros(0), 1.0, 0.1) == 0
    assert to_reserve(needed, 0.0, 0.0) == 0


def written(folder: Path, text: str = SPEC) -> dict[str, str]:
    (folder / "day.mrspec").write_text(text, encoding="utf-8")
    rows = "\n".join(f"{hour},{c},{d}" for hour, (c, d) in enumerate(JOBS))
    (folder / "day.csv").write_text(f"hour,c,d\n{rows}\n", encoding="utf-8")
    return {"spec": str(folder / "day.mrspec"), "demand": str(folder / "day.csv")}


def test_the_study_counts_what_plans_rent(tmp_path: Path) -> None:
    """All jobs have to run, so that a day's plan with R reserved costs what is counted, for every R that is tried."""
    counts, costs = reservations(tmp_path, **written(tmp_path), periods=len(JOBS), solver="highs")
    needed = []
    for c, d in JOBS:
        text = SPEC.replace("jobs = 10..10", f"jobs = {c}..{c}").replace("jobs = 8..8", f"jobs = {d}..{d}")
        text = text if d else text[: text.index("class d")] + "minimize cost\n"
        text = text.replace(", reserved { price = 0.25 USD/h, available = 7 }", "")
        needed.append(mrdsl.solve(mrdsl.loads(text), solver="highs").plan.on_demand)
    tried = [reserving_cost(np.array(needed), count, 0.4, 0.25) for count in range(int(max(needed)) + 1)]
    (row,) = counts.rows
    assert row[:7] == ("a", pytest.approx(0.4), pytest.approx(0.25), 62.5, min(needed), max(needed), np.argmin(tried))
    assert row[7] == pytest.approx((tried[0] - min(tried)) * 365 * 24 / len(JOBS))
    assert [cost[0] for cost in costs.rows][2] == row[6]
    for count, counted, planned in costs.rows:
        assert counted == pytest.approx(tried[count])
        assert planned == pytest.approx(tried[count])


def test_a_made_up_day_of_several_types_never_costs_more_than_counted(tmp_path: Path) -> None:
    text = SPEC.replace("class c {", "vm b { on_demand { price = 0.3 USD/h } }\nclass c {\n on b { speed = 0.6 }", 1)
    written(tmp_path, text)
    spec = str(tmp_path / "day.mrspec")
    counts, costs = reservations(tmp_path, spec=spec, periods=4, solver="highs")
    assert [row[0] for row in counts.rows] == ["a"]
    assert all(row[-1] <= row[-2] * (1 + 2e-3) for row in costs.rows)


def test_a_spec_without_contracts_is_refused(tmp_path: Path) -> None:
    given = written(tmp_path, SPEC.replace(", reserved { price = 0.25 USD/h, available = 7 }", ""))
    with pytest.raises(mrdsl.MrdslError, match="no vm says what a reserved one costs"):
        list(reservations(tmp_path, **given, periods=len(JOBS)))
