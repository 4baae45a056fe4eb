"""A deadline that an estimate misses is impossible only if a path of tasks is longer than it."""

from __future__ import annotations

import pytest

import mrdsl
from tests.shared_data import shared

CHAIN = """problem capacity "two stages"
vm m {{ on_demand {{ price = 1 USD/h }} }}
class c {{
  stage read {{ tasks = 4, avg = 5 s, max = 6 s }}
  stage sort {{ tasks = 2, avg = 5 s, max = 8 s, delay = {delay} s, after = [read] }}
  slots {{ task = 2 }}
  jobs = 1, startup = 2 s, deadline = {deadline} s, penalty = 1 USD, guarantee = {guarantee}
}}
minimize cost
"""


@pytest.mark.parametrize(
    ("guarantee", "delay", "deadline", "code"),
    [
        ("average", 3, 14, "impossible-deadline"),  # 2 + 5 + 3 + 5 = 15 s
        ("average", 3, 15, "late-by-estimate"),
        ("average", 3600, 3611, "impossible-deadline"),
        ("average", 3600, 3612, "late-by-estimate"),
        ("upper", 3, 18, "impossible-deadline"),  # 2 + 6 + 3 + 8 = 19 s
        ("upper", 3, 19, "late-by-estimate"),
    ],
)
def test_the_path_with_startup_and_delays_decides(guarantee: str, delay: int, deadline: int, code: str) -> None:
    spec = mrdsl.loads(CHAIN.format(guarantee=guarantee, delay=delay, deadline=deadline))
    assert [each.code for each in mrdsl.check(spec) if each.severity == "error"] == [code]


@pytest.mark.parametrize(("name", "cost"), [("one_wave", 0.20), ("one_task_59_min", 1.0)])
def test_the_hint_of_a_late_estimate_gives_a_plan(name: str, cost: float) -> None:
    """By hand: six slots of one VM end eight tasks within (72 - 10) / 6 + 10 s, and one slot ends the one task."""
    text = shared(f"cases/{name}.mrspec").read_text(encoding="utf-8")
    (late,) = [each for each in mrdsl.check(mrdsl.loads(text)) if each.code == "late-by-estimate"]
    assert "`estimates = scheduling` at the top" in late.hint
    head, _, rest = text.partition("\n")
    result = mrdsl.solve(mrdsl.loads(f"{head}\nestimates = scheduling\n{rest}"))
    assert (result.solution, result.value) == ("optimal", pytest.approx(cost))
