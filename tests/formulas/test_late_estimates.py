"""A deadline that an estimate misses is impossible only if a path of tasks is longer than it."""

from __future__ import annotations

import pytest

import mrdsl
from tests.shared_data import shared

CHAIN = """problem capacity "two stages", estimates = {estimates}
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
    spec = mrdsl.loads(CHAIN.format(guarantee=guarantee, delay=delay, deadline=deadline, estimates="paper"))
    assert [each.code for each in mrdsl.check(spec) if each.severity == "error"] == [code]


@pytest.mark.parametrize(
    ("guarantee", "deadline", "codes"),
    [
        ("lower", 15, []),
        ("average", 16, ["late-by-estimate"]),  # halfway between 15 and 19 s
        ("average", 17, []),
        ("upper", 18, ["impossible-deadline"]),
        ("upper", 19, []),
        ("mean", 14, ["impossible-deadline"]),
        ("mean", 15, ["late-by-estimate"]),  # some tasks take longer than the average
        ("mean", 18, []),
    ],
)
def test_with_a_slot_for_every_task_a_job_takes_its_longest_path(
    guarantee: str, deadline: int, codes: list[str]
) -> None:
    spec = mrdsl.loads(CHAIN.format(guarantee=guarantee, delay=3, deadline=deadline, estimates="scheduling"))
    late = [each for each in mrdsl.check(spec) if each.severity == "error"]
    assert [each.code for each in late] == codes
    assert not any("estimates" in each.hint for each in late)


@pytest.mark.parametrize(("name", "cost"), [("one_wave", 0.20), ("one_task_59_min", 1.0)])
def test_the_hint_of_a_late_estimate_gives_a_plan(name: str, cost: float) -> None:
    """By hand: a slot for each of eight tasks ends them within 10 s, and one slot ends the one task in 59 min."""
    text = shared(f"cases/{name}.mrspec").read_text(encoding="utf-8")
    (late,) = [each for each in mrdsl.check(mrdsl.loads(text + "\nestimates = paper\n")) if each.severity == "error"]
    assert late.code == "late-by-estimate"
    assert "`estimates = scheduling` at the top" in late.hint
    result = mrdsl.solve(mrdsl.loads(text))
    assert (result.solution, result.value) == ("optimal", pytest.approx(cost))
