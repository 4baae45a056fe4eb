"""Deadline specs from their text: groups, foreign files, constraints, drawings, JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.families.deadline.checks import find_cycle
from mrdsl.families.deadline.plan import DeadlinePlan
from mrdsl.families.deadline.workload import tasks_of
from tests.shared_data import shared, shared_files

MODELS = Path(__file__).parents[3] / "models" / "deadline"


def solved(text: str, **options: Any) -> DeadlinePlan:
    result = mrdsl.solve(mrdsl.loads(text), **options)
    assert isinstance(result.plan, DeadlinePlan), result.diagnostics
    return result.plan


GROUPS = """
problem deadline
dag job {
  allowable_delay = 10 min
  task m[1..200] { duration = 60 s }
  task r[1..30] { duration = 90 s, after = [m] }
}
maximize slack
"""


def test_alike_tasks_stay_counted_and_share_as_if_written_out() -> None:
    """200 and 30 tasks: slacks of 450 * 200 / 230 and 450 * 30 / 230 s, as the closed form says."""
    plan = solved(GROUPS)
    assert list(plan.names) == ["m", "r"]
    assert list(plan.count) == [200, 30]
    assert plan.slack.tolist() == pytest.approx([450 * 200 / 230, 450 * 30 / 230], rel=2e-3)


def test_a_task_that_something_names_leaves_its_group() -> None:
    text = GROUPS.replace("}\nmaximize", "  task q { duration = 9 s, after = [m7, m9] }\n}\nmaximize")
    tasks = tasks_of(mrdsl.loads(text))
    assert tasks.names == ["m7", "m9", "m", "r", "q"]
    assert tasks.counts == [1, 1, 198, 30, 1]
    assert tasks.after[4] == (0, 1)
    assert tasks.groups[~tasks.after[3][0]] == (0, 1, 2)
    assert find_cycle(tasks) == []


def test_several_dags_are_planned_by_themselves_and_name_their_tasks() -> None:
    second = "dag other { allowable_delay = 1 min, task x { duration = 1 s } }\nmaximize"
    plan = solved(GROUPS.replace("maximize", second))
    assert list(plan.names) == ["job.m", "job.r", "other.x"]
    assert plan.slack.tolist() == pytest.approx([450 * 200 / 230, 450 * 30 / 230, 59], rel=2e-3)


def test_tasks_from_a_table_name_what_they_run_after(tmp_path: Path) -> None:
    (tmp_path / "tasks.csv").write_text("name,duration [s],after\na,60,\nb,30,a\nc,20,a b\n")
    spec = tmp_path / "t.mrspec"
    spec.write_text('problem deadline\ndag d { allowable_delay = 10 min, tasks from "tasks.csv" }\nmaximize slack\n')
    assert tasks_of(mrdsl.load(spec)).after == [(), (0,), (0, 1)]
    plan = mrdsl.solve(mrdsl.load(spec)).plan
    assert isinstance(plan, DeadlinePlan)
    assert plan.slack.tolist() == pytest.approx([490 / 3] * 3, rel=2e-3)
    (tmp_path / "tasks.csv").write_text("name,duration [s],after\na,60,\nb,30,x\n")
    (found,) = mrdsl.check(spec)
    assert found.code == "unknown-name"
    assert found.span is not None
    assert found.span.line == 3


def test_unlike_tasks_of_a_group_are_planned_one_by_one() -> None:
    plan = solved(GROUPS.replace("duration = 90 s", "duration = uniform(80 s, 100 s)") + "seed = 3\n")
    assert len(plan.names) == 31
    assert plan.delay[1:] == pytest.approx([plan.delay[1]] * 30)


def test_constraints_on_delays_hold(tmp_path: Path) -> None:
    text = GROUPS + "subject to { delay(m) <= 5 min, slack(r) >= 100 s }\n"
    plan = solved(text)
    assert plan.delay[0] <= 300 * (1 + 1e-6)
    assert plan.slack[1] >= 100 * (1 - 1e-6)


@pytest.mark.parametrize("name", [path.name for path in shared_files("data/traces/wfinstances/*.json")])
def test_recorded_workflows_are_solved_to_their_gap(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(shared(f"data/traces/wfinstances/{name}").read_bytes())
    spec = tmp_path / "w.mrspec"
    spec.write_text(f'problem deadline\ndag w from wfcommons("{name}") {{ allowable_delay = 3 h }}\nmaximize slack\n')
    result = mrdsl.solve(mrdsl.load(spec))
    assert result.solution == "optimal"
    assert result.objective.gap is not None
    assert result.objective.gap <= 1e-6


def test_the_shipped_models_are_solved() -> None:
    found = sorted(MODELS.glob("*.mrspec"))
    assert len(found) >= 3
    for path in found:
        assert mrdsl.solve(mrdsl.load(path)).solution == "optimal", path


def test_the_plan_is_drawn() -> None:
    result = mrdsl.solve(mrdsl.load(MODELS / "reference.mrspec"))
    assert result.plan is not None
    drawn = result.plan.graph("Nightly")
    assert drawn is not None
    assert {"m1", "publish"} <= {node.name for node in drawn.nodes}
    said = [line for node in drawn.nodes for line in node.lines]
    assert "runs 90 s" in said
    assert sum(line.startswith("slack") for line in said) == 6
    for bar in result.plan.bars():
        assert 0 <= bar.start <= bar.end <= 600 * (1 + 1e-9)


def test_the_document_has_the_keys_of_the_reference() -> None:
    result = mrdsl.solve(mrdsl.load(MODELS / "reference.mrspec"))
    assert result.plan is not None
    tasks = json.loads(json.dumps(result.plan.document()))["tasks"]
    assert list(tasks) == ["m1", "m2", "m3", "r1", "r2", "publish"]
    assert list(tasks["m1"]) == ["count", "duration", "delay", "slack", "latest_start", "latest_finish"]
    assert tasks["publish"]["latest_finish"] == pytest.approx(600)
    assert tasks["m1"]["latest_start"] == pytest.approx(tasks["m1"]["slack"], rel=1e-3)
