"""WfFormat JSON and DOT: what is read, checked against networkx, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import networkx as nx
import pytest

from mrdsl.exchange.text import FormatError
from mrdsl.exchange.workflows import Workflow, read_dot, read_wfcommons
from tests.shared_data import shared


def edges(workflow: Workflow) -> set[tuple[str, str]]:
    return {(workflow.names[p], workflow.names[i]) for i, parents in enumerate(workflow.parents) for p in parents}


def test_seven_recorded_workflows_are_read_whole() -> None:
    instances = sorted(shared("data/traces/wfinstances").glob("*.json"))
    assert len(instances) == 7
    for path in instances:
        workflow = json.loads(path.read_text())["workflow"]
        tasks = {task["id"]: task for task in workflow["specification"]["tasks"]}
        runtimes = {task["id"]: task["runtimeInSeconds"] for task in workflow["execution"]["tasks"]}
        found = read_wfcommons(str(path))
        assert dict(zip(found.names, found.durations, strict=True)) == {name: runtimes[name] for name in tasks}
        assert edges(found) == {(name, child) for name, task in tasks.items() for child in task["children"]}
        assert nx.is_directed_acyclic_graph(nx.DiGraph(edges(found)))


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("{", "it is not JSON"),
        ("[]", "it has no object `workflow`"),
        ('{"workflow": {}}', "workflow has no list `tasks`"),
        ('{"workflow": {"tasks": [{"id": "a", "runtime": -1}]}}', "task a has the run time `-1`"),
        ('{"workflow": {"tasks": [{"id": "a"}]}}', "task a has no run time"),
        ('{"workflow": {"tasks": [{"id": "a", "runtime": 1, "parents": ["b"]}]}}', "task a is tied to b"),
        (
            '{"workflow": {"tasks": [{"id": "a", "runtime": 1}, {"id": "a", "runtime": 1}]}}',
            "task a is defined twice",
        ),
        ('{"workflow": {"tasks": [{"runtime": 1}]}}', "neither `id` nor `name`"),
    ],
)
def test_what_is_no_workflow_is_refused(tmp_path: Path, document: str, message: str) -> None:
    path = tmp_path / "w.json"
    path.write_text(document)
    with pytest.raises(FormatError) as caught:
        read_wfcommons(str(path))
    assert message in str(caught.value)


def test_the_older_form_has_run_times_beside_the_tasks(tmp_path: Path) -> None:
    path = tmp_path / "w.json"
    path.write_text(
        '{"workflow": {"jobs": [{"name": "a", "runtime": 2}, {"name": "b", "runtime": 3, "parents": ["a"]}]}}'
    )
    assert read_wfcommons(str(path)) == Workflow(("a", "b"), (2.0, 3.0), ((), (0,)))


def test_dot_chains_defaults_and_subgraphs(tmp_path: Path) -> None:
    path = tmp_path / "g.dot"
    path.write_text("""
        // two maps, two reduces
        strict digraph "a job" {
          rankdir=LR; node [shape=box, duration=60]
          edge [color=red];
          m1; m2 [duration="1.5 min"]
          {m1 m2} -> { node [duration=30]; r1 r2 } -> publish:n
          publish [duration="500 ms", label=<<b>out</b>>] /* the end */
          subgraph cluster_x { alone [duration=.5]; }
        }""")
    found = read_dot(str(path))
    assert dict(zip(found.names, found.durations, strict=True)) == {
        "m1": 60,
        "m2": 90,
        "r1": 30,
        "r2": 30,
        "publish": 0.5,
        "alone": 0.5,
    }
    assert edges(found) == {
        ("m1", "r1"),
        ("m1", "r2"),
        ("m2", "r1"),
        ("m2", "r2"),
        ("r1", "publish"),
        ("r2", "publish"),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graph { a -- b }", "it is not DOT: line 1, column 1"),
        ("digraph { a -> }", "it is not DOT: line 1, column 16"),
        ("digraph { a }", "node a has no duration"),
        ("digraph { a [duration=-1] }", "node a has the duration `-1`"),
        ('digraph { a [duration="3 weeks"] }', "node a has the duration `3 weeks`"),
        ('digraph { "a\nb" [duration=1] }', "holds a control character"),
        ('digraph { "a\u202eb" [duration=1] }', "holds a control character"),
    ],
)
def test_what_is_no_graph_of_tasks_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "g.dot"
    path.write_text(text)
    with pytest.raises(FormatError) as caught:
        read_dot(str(path))
    assert message in str(caught.value)
