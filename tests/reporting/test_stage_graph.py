"""The stages of a plan as a drawing and in ``mrdsl show``."""

from __future__ import annotations

import pytest

from mrdsl.cli.export import spec_lines
from mrdsl.language.loading import load_text
from mrdsl.planning.solve_spec import solve
from mrdsl.reporting.report import stage_graph
from mrdsl.spec.blocks import Stage

STAGES = """  stage scan   { tasks = 200, avg = 9 s, max = 21 s }
  stage lookup { tasks = 12, avg = 4 s, max = 60 s }
  stage join   { tasks = 64, avg = 14 s, max = 33 s, after = [scan, lookup] }
"""
SPECS = {
    "capacity": "vm m { on_demand { price = 1 USD/h } }\nclass funnel {\n"
    + STAGES
    + "  slots { task = 4 }, jobs = 3, deadline = 8 min, penalty = 15 USD\n}\nminimize cost\n",
    "joint": "cluster { size = 60 vms, vm_cost = 1 cent/h }\nclass funnel {\n"
    + STAGES
    + "  slots { task = 4 }, jobs = 3, deadline = 8 min, penalty = 15 cent\n}\nminimize cost\n",
    "bounds": "cluster { slots { task = 60 } }\nclass funnel {\n" + STAGES + "  jobs = 3\n}\nestimate completion\n",
}


@pytest.mark.parametrize("problem", SPECS)
def test_a_plan_draws_its_stages(problem: str) -> None:
    drawn = solve(load_text(f"problem {problem}\n{SPECS[problem]}").spec).plan.graph("Funnel")
    texts = [text for node in drawn.nodes for text in (node.name, *node.lines)]
    assert drawn.title == "Funnel"
    assert {"scan", "lookup", "join", "200 tasks", "14 s, at most 33 s"} <= set(texts)
    assert [node.name for node in drawn.nodes if node.marked] == ["lookup", "join"]


def test_what_is_no_dag_is_not_drawn() -> None:
    assert stage_graph({}, "none") is None
    assert (
        stage_graph({"many": tuple(Stage(name=f"s{i}", tasks=1, avg=1.0, max=1.0) for i in range(401))}, "many") is None
    )


def test_show_says_work_critical_path_and_width() -> None:
    """1800 + 48 + 896 s; by longest tasks the path goes through lookup."""
    for classes in ("class funnel {", "class funnel[1..3] {"):
        spec = load_text(f"problem bounds\n{SPECS['bounds']}".replace("class funnel {", classes)).spec
        lines = [line.strip() for line in spec_lines(spec, 0)]
        assert "work = 2744 s on one slot" in lines
        assert "critical path of average tasks = 23 s: scan -> join" in lines
        assert "critical path of longest tasks = 93 s: lookup -> join" in lines
        assert "width = 212 tasks at once" in lines
