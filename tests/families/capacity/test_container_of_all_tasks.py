"""`container { cores, memory }` is the container of every kind of task."""

from __future__ import annotations

import json

import pytest

import mrdsl
from mrdsl.core.diagnostics import has_errors
from mrdsl.exchange.targets.deployment import Wishes
from mrdsl.families.capacity.verify import verify
from mrdsl.language.loading import load_text
from mrdsl.planning.exporting import export

VMS = """problem capacity
vm "m5.xlarge" { cores = 4, memory = 16 GiB, on_demand { price = 0.192 USD/h } }
vm "r5.xlarge" { cores = 4, memory = 32 GiB, on_demand { price = 0.252 USD/h } }
"""
REST = "jobs = 3, deadline = 5 min, penalty = 12 USD }\nminimize cost\n"
KINDS = {
    "map and reduce": "map { tasks = 37, avg = 30 s, max = 42 s }\nshuffle { first_max = 11 s, avg = 7 s, max = 9 s }\n"
    "reduce { tasks = 16, avg = 22 s, max = 44 s }",
    "map": "map { tasks = 37, avg = 30 s, max = 42 s }",
    "stages": "stage scan { tasks = 120, avg = 9 s, max = 14 s }\n"
    "stage join { tasks = 48, avg = 12 s, max = 20 s, after = [scan] }",
}
SIZES = ("cores = 1, memory = 2 GiB", "cores = 1, memory = 6 GiB", "memory = 3 GiB", "cores = 2")


def spec_of(tasks: str, container: str) -> mrdsl.Spec:
    spec = mrdsl.loads(f"{VMS}class c {{\n{tasks}\ncontainer {{ {container} }}\n{REST}")
    assert mrdsl.loads(spec.to_mrspec()) == spec
    return spec


def planned(spec: mrdsl.Spec, solver: str) -> mrdsl.CapacityPlan:
    plan = mrdsl.solve(spec, solver=solver).plan_of(mrdsl.CapacityPlan)
    assert not has_errors(tuple(verify(spec, plan, relax=False)))
    return plan


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_plan_is_that_of_the_same_container_for_each_kind(kind: str, size: str) -> None:
    each = f"task {{ {size} }}" if kind == "stages" else f"map {{ {size} }}, reduce {{ {size} }}"
    for solver in ("highs", "direct"):
        one, other = (planned(spec_of(KINDS[kind], said), solver) for said in (size, each))
        assert one.document() == other.document()


def test_a_kind_replaces_what_it_gives() -> None:
    tasks = KINDS["map and reduce"]
    short = spec_of(tasks, "cores = 1, memory = 2 GiB, reduce { memory = 6 GiB }")
    full = spec_of(tasks, "map { cores = 1, memory = 2 GiB }, reduce { cores = 1, memory = 6 GiB }")
    assert planned(short, "highs").document() == planned(full, "highs").document()


def test_exports_have_its_size() -> None:
    texts = []
    for container in ("cores = 1, memory = 4 GiB", "task { cores = 1, memory = 4 GiB }"):
        spec = spec_of(KINDS["stages"], container)
        texts.append(export(spec, planned(spec, "highs"), "spark", Wishes()).files)
    assert json.dumps([*texts[0].values()]).replace("\\n", "") == json.dumps([*texts[1].values()]).replace("\\n", "")


def test_classes_of_a_table_have_one() -> None:
    tasks = "map { tasks = 37, avg = 30 s, max = 42 s }"
    text = f"{VMS}classes c[1 .. 3] {{\n{tasks}\ncontainer {{ cores = 1, memory = 2 GiB }}\n{REST}"
    plan = planned(mrdsl.loads(text), "highs")
    other = planned(
        mrdsl.loads(text.replace("{ cores = 1, memory = 2 GiB }", "{ map { cores = 1, memory = 2 GiB } }")), "highs"
    )
    assert plan.total == pytest.approx(other.total)


@pytest.mark.parametrize(
    ("container", "code"),
    [
        ("", "missing-item"),
        ("cores = 0, memory = 2 GiB", "out-of-range"),
        ("cores = 1, memory = -2 GiB", "out-of-range"),
        ("cores = 1, memory = 2", "wrong-unit"),
        ("cores = 2 GiB", "wrong-unit"),
        ("cores = 1, executor { cores = 1, memory = 2 GiB, tasks = 1 }", "slots-and-container"),
        ("cores = 1 }\nslots { task = 2", "slots-and-container"),
    ],
)
def test_wrong_containers_of_all_tasks(container: str, code: str) -> None:
    text = f"{VMS}class c {{\n{KINDS['stages']}\ncontainer {{ {container} }}\n{REST}"
    assert code in [each.code for each in load_text(text).diagnostics]


def test_a_timetable_has_one() -> None:
    text = """problem timetable
rent = constant
vm m5 { cores = 8, memory = 16 GiB, on_demand { price = 0.192 USD/h }, boot = 2 min }
class clicks {
  stage scan { tasks = 32, avg = 5 s, max = 8 s }
  stage sum  { tasks = 8, avg = 5 s, max = 8 s, after = [scan] }
  container  { CONTAINER }
  runs       { from = 22:00, every = 2 min, times = 4 }
  deadline = 280 s
}
minimize cost
"""
    size = "cores = 1, memory = 4 GiB"
    costs = [mrdsl.solve(mrdsl.loads(text.replace("CONTAINER", each))).value for each in (size, f"task {{ {size} }}")]
    assert costs[0] == costs[1]
    assert costs[0] is not None
