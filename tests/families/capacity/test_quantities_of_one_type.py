"""What may be said of single VM types and of ways of buying may be said where there is one type, too.

3 jobs take 8 VMs and 4 take 10, at 0.121 USD reserved and 0.192 USD on demand; a job that is turned away costs 4 USD.
"""

from __future__ import annotations

from typing import Any

import pytest

import mrdsl
from mrdsl.core.diagnostics import MrdslError
from mrdsl.planning.solve_spec import build_model

SPEC = """problem capacity "x", estimates = paper
vm m5 {{ on_demand {{ price = 0.192 USD/h }}, reserved {{ price = 0.121 USD/h, available = 40 }} }}
class a {{
  map {{ tasks = 37, avg = 30 s, max = 42 s }}
  shuffle {{ first_max = 11 s, avg = 37 s, max = 40 s }}
  reduce {{ tasks = 6, avg = 22 s, max = 44 s }}
  slots {{ map = 2, reduce = 1 }}
  jobs = 3..4
  deadline = 15 min
  penalty = 4 USD
}}
{asked}
{goal}
"""


def spec(asked: str, goal: str = "minimize cost") -> Any:
    return mrdsl.loads(SPEC.format(asked=f"subject to {{ {asked} }}" if asked else "", goal=goal))


@pytest.mark.parametrize(
    ("asked", "goal", "value"),
    [
        ("vms(m5) <= 8", "minimize cost", 4 + 8 * 0.121),
        ("vms(m5) >= 12", "minimize cost", 12 * 0.121),
        ("cost(m5) <= 1 USD", "minimize cost", 4 + 8 * 0.121),
        ("cost(m5) >= 1.3 USD", "minimize cost", 11 * 0.121),
        ("share(reserved) <= 50%", "minimize cost", 5 * (0.121 + 0.192)),
        ("share(on_demand) >= 30%", "minimize cost", 7 * 0.121 + 3 * 0.192),
        ("share(spot) <= 30%", "minimize cost", 10 * 0.121),
        ("", "minimize vms(m5)", 8.0),
        ("admitted(a) == 4", "minimize cost(m5)", 10 * 0.121),
    ],
)
@pytest.mark.parametrize("solver", ["auto", "glpk"])
def test_plans_by_hand(asked: str, goal: str, value: float, solver: str) -> None:
    result = mrdsl.solve(spec(asked, goal), solver)
    assert result.termination == "optimal"
    assert result.objective.value == pytest.approx(value, rel=1e-9)


def test_none_is_bought_on_spot() -> None:
    assert mrdsl.solve(spec("share(spot) >= 30%")).termination == "infeasible"


@pytest.mark.parametrize("solver", ["auto", "direct"])
def test_no_plan_has_less_than_no_vms(solver: str) -> None:
    text = SPEC.replace("class a", "vm c5 {{ on_demand {{ price = 0.3 USD/h }} }}\nclass a")
    text = text.format(asked="subject to { vms(c5) <= -1 }", goal="minimize cost")
    assert mrdsl.solve(mrdsl.loads(text), solver).termination == "infeasible"


def test_a_share_of_jobs_in_time_is_no_goal() -> None:
    with pytest.raises(MrdslError, match="cannot be part of an objective"):
        spec("", "let late = 1 - on_time(a)\nminimize late")


@pytest.mark.parametrize("formulation", ["P0", "P1", "P0-cone"])
def test_models_of_fractions_offer_them_too(formulation: str) -> None:
    text = SPEC.format(asked="whole = no\nsubject to { vms(m5) <= 9, share(reserved) <= 50% }", goal="minimize cost")
    assert len(build_model(mrdsl.loads(text), formulation).subject_to) == 2


def test_a_share_is_no_goal_and_direct_takes_none() -> None:
    with pytest.raises(MrdslError, match="cannot be part of a linear objective"):
        mrdsl.solve(spec("", "minimize share(reserved)"))
    with pytest.raises(MrdslError, match="direct knows bounds on"):
        mrdsl.solve(spec("vms(m5) <= 8"), "direct")
