"""``completion(c)`` is the time that the plan's table shows: where the class's jobs run, of its slowest share."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import mrdsl
from mrdsl.core.result import Termination
from mrdsl.families.capacity.verify import quantity
from mrdsl.spec import Constraint, Spec
from mrdsl.spec.expression import Constant, PlanQuantity
from tests.families.capacity.type_specs import random_types

ON_FAST = """problem capacity "Speed of one type", estimates = paper
vm m4 {{ on_demand {{ price = 0.192 USD/h }} }}
vm m5 {{ on_demand {{ price = 0.192 USD/h }}{spot} }}
class a {{
  {work}
  jobs = 2..2, deadline = 10 min, penalty = 20 USD
  {on}
}}
{asked}
let done = completion(a)
minimize cost
"""
PHASES = (
    "map { tasks = 100, avg = 20 s, max = 30 s }, shuffle { first_max = 5 s, avg = 4 s, max = 5 s } "
    "reduce { tasks = 40, avg = 10 s, max = 20 s }, slots { map = 4, reduce = 2 }"
)
STAGES = (
    "stage one { tasks = 100, avg = 20 s, max = 30 s }, slots { task = 4 } "
    "stage two { tasks = 40, avg = 10 s, max = 20 s, after = [one] }"
)
COEFFICIENTS = "coefficients { A = 5400 s, B = 1250 s, C = 95 s }, slots { map = 4, reduce = 2 }"
SPOT = ", spot { price = 0.073 USD/h, interruptions = 0.05/h }"
MADE_OF = {
    "phases": (PHASES, "on m5 { speed = 2 }"),
    "own profile": (PHASES, "on m5 { map { tasks = 50, avg = 9 s, max = 12 s }, slots { map = 2 } }"),
    "stages": (STAGES, "on m5 { speed = 2 }"),
    "own stages": (STAGES, "on m5 { stage one { tasks = 50, avg = 9 s, max = 12 s } }"),
    "coefficients": (COEFFICIENTS, "on m5 { speed = 2 }"),
    "own coefficients": (COEFFICIENTS, "on m5 { coefficients { A = 2700 s, B = 700 s, C = 40 s } }"),
}


def spec_of(made: str, spot: bool, asked: str = "", guarantee: str = "") -> Spec:
    work, on = MADE_OF[made]
    said = f"guarantee = {guarantee}\n  {on}" if guarantee else on
    return mrdsl.loads(ON_FAST.format(work=work, on=said, spot=SPOT if spot else "", asked=asked))


@pytest.mark.parametrize(("made", "spot"), list(product(MADE_OF, [False, True])))
def test_let_says_what_the_table_says_and_a_limit_holds_on_every_type(made: str, spot: bool) -> None:
    for asked in ("", "subject to { completion(a) <= 5 min }"):
        result = mrdsl.solve(spec_of(made, spot, asked))
        assert result.termination is Termination.OPTIMAL
        document = json.loads(result.to_json())
        on_types = [share["completion"]["average"] for share in document["plan"]["classes"]["a"]["on"]]
        assert document["quantities"]["done"]["value"] == pytest.approx(max(on_types))
        assert max(on_types) <= (300.0 if asked else 600.0) * (1.0 + 1e-6)


@pytest.mark.parametrize("guarantee", ["lower", "average", "upper"])
def test_it_is_the_guaranteed_estimate(guarantee: str) -> None:
    document = json.loads(mrdsl.solve(spec_of("phases", False, "", guarantee)).to_json())
    shown = document["plan"]["classes"]["a"]["completion"]
    assert len(set(shown.values())) == 3
    assert document["quantities"]["done"]["value"] == pytest.approx(shown[guarantee])


@pytest.mark.parametrize("seed", [*range(27), *range(28, 40)])
def test_drawn_limits_end_in_a_plan_that_keeps_them_or_in_none(seed: int) -> None:
    spec = random_types(seed, jobs=6)
    random = np.random.RandomState(seed)
    limits = {node.name: float(node.deadline * random.uniform(0.4, 1.2)) for node in spec.facts.classes}
    asked = tuple(
        Constraint(PlanQuantity("completion", name), "<=", Constant(limit), "completion")
        for name, limit in limits.items()
    )
    spec = replace(spec, constraints=asked)
    result = mrdsl.solve(spec, limits=mrdsl.Limits(gap=0.05))
    assert result.termination is not Termination.ERROR, [each.message for each in result.diagnostics]
    if result.plan is None:
        return
    for node in spec.facts.classes:
        index = list(result.plan.names).index(node.name)
        estimate = node.guarantee or "average"
        shown = float(getattr(result.plan, f"completion_{estimate}")[index])
        value = quantity(spec, result.plan, "completion", node.name)
        assert value == pytest.approx(shown, nan_ok=True)
        assert np.isnan(value) or value <= min(limits[node.name], node.deadline) * (1.0 + 1e-6)


AT_P95 = """problem capacity "Promised of runs", estimates = paper
vm m4 {{ on_demand {{ price = 0.192 USD/h }} }}
class a {{
  map {{ tasks = 20, avg = 20 s, max = 60 s }}, shuffle {{ first_max = 5 s, avg = 4 s, max = 5 s }}
  reduce {{ tasks = 8, avg = 10 s, max = 40 s }}, slots {{ map = 4, reduce = 2 }}
  jobs = 2..2, deadline = 10 min, penalty = 20 USD{guarantee}
}}
subject to {{ {asked} }}
let done = completion(a)
minimize cost
"""


def test_a_percentile_within_a_tighter_time_is_what_runs_show() -> None:
    spec = mrdsl.loads(AT_P95.format(guarantee=", guarantee = p80", asked="completion(a) <= 4 min"))
    document = json.loads(mrdsl.solve(spec).to_json())
    (evidence,) = document["plan"]["calibration"]["promises"]
    assert evidence["limit"] == 240.0
    assert document["plan"]["classes"]["a"]["completion"]["upper"] > 240.0
    assert document["quantities"]["done"]["value"] == 240.0


def test_a_share_in_time_beside_a_limit_of_the_average_keeps_both() -> None:
    spec = mrdsl.loads(AT_P95.format(guarantee="", asked="on_time(a) >= 80%, completion(a) <= 4 min"))
    document = json.loads(mrdsl.solve(spec).to_json())
    average = document["plan"]["classes"]["a"]["completion"]["average"]
    assert document["quantities"]["done"]["value"] == pytest.approx(average)
    assert average <= 240.0 * (1.0 + 1e-6)
