"""A deadline is impossible only if a path of tasks is longer; otherwise only the estimate is late."""

from __future__ import annotations

import pytest

import mrdsl
from mrdsl.formulas.stage_checks import path_of

CLASS = """{head}
class a {{
  stage s {{ tasks = 8, avg = 9 s, max = 12 s }}
  {items} deadline = {deadline} s, guarantee = {guarantee}
}}
{goal}
"""
ITEMS = "slots { task = 4 }, jobs = 1, penalty = 9 USD,"
FAMILIES = {
    "capacity": (
        "problem capacity\nvm m { on_demand { price = 1 USD/h } }",
        ITEMS,
    ),
    "joint": (
        "problem joint\ncluster { size = 9, vm_cost = 1 USD/h }",
        ITEMS,
    ),
    "fleet": (
        "problem joint\ncluster { period = 1 h }\nvm m { on_demand { price = 1 USD/h } }",
        ITEMS,
    ),
    "bounds": ("problem bounds", "jobs = 1,"),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("guarantee", "deadline", "impossible"),
    [
        ("average", 8.9, True),
        ("average", 9.0, False),
        ("upper", 11.9, True),
        ("upper", 12.0, False),
        ("lower", 8.9, True),
    ],
)
def test_only_a_longer_path_is_impossible(family: str, guarantee: str, deadline: float, impossible: bool) -> None:
    head, items = FAMILIES[family]
    goal = "minimize slots" if family == "bounds" else "minimize cost"
    spec = mrdsl.loads(CLASS.format(head=head, items=items, deadline=deadline, guarantee=guarantee, goal=goal))
    codes = {each.code for each in mrdsl.solve(spec).diagnostics}
    assert ("impossible-deadline" in codes) is impossible


def test_a_path_of_phases() -> None:
    text = CLASS.format(head="problem bounds", items="jobs = 1,", deadline=99, guarantee="upper", goal="minimize slots")
    phases = "map { tasks = 3, avg = 8 s, max = 10 s }, shuffle { first_max = 5 s, avg = 4 s, max = 6 s }"
    phases += ", reduce { tasks = 2, avg = 6 s, max = 8 s }"
    (node,) = mrdsl.loads(text.replace("stage s { tasks = 8, avg = 9 s, max = 12 s }", phases)).facts.classes
    assert (path_of(node, "upper"), path_of(node, "average")) == (23.0, 19.0)
