"""YARN's load simulator: its own files keep our rules, our reader of its jobs reads back what was written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl.exchange.logs.formats import Telling
from mrdsl.exchange.logs.reading import Log, read_logs
from mrdsl.exchange.logs.traces import objects
from mrdsl.exchange.targets.sls import mistakes_of_jobs, mistakes_of_nodes
from tests.exchange.targets.plans import MACHINES, STAGES, exported, planned
from tests.shared_data import shared


def parts(text: str) -> list[dict[str, Any]]:
    """The objects one behind the other, by another reader than the project's."""
    found, decoder, at = [], json.JSONDecoder(), 0
    while at < len(text.rstrip()):
        one, at = decoder.raw_decode(text, at)
        found.append(one)
        at += len(text[at:]) - len(text[at:].lstrip())
    return found


def test_the_simulators_own_files_keep_the_rules() -> None:
    folder = shared("data/sls/hadoop-trunk-readfile")
    assert not list(mistakes_of_nodes(parts((folder / "nodes-with-resources.json").read_text(encoding="utf-8"))))
    jobs = parts((folder / "inputsls.json").read_text(encoding="utf-8"))
    assert len(jobs) == 2
    assert not list(mistakes_of_jobs(jobs))
    ours = parts(exported(MACHINES, "sls").files["sls-jobs.json"])
    assert set(jobs[0]) <= set(ours[0])


def test_the_reader_of_its_logs_reads_the_plans_jobs(tmp_path: Path) -> None:
    _, plan = planned(MACHINES)
    path = tmp_path / "sls-jobs.json"
    path.write_text(exported(MACHINES, "sls").files["sls-jobs.json"], encoding="utf-8")
    telling = Telling()
    jobs = list(read_logs([Log(str(path), (str(path),))], telling))
    assert telling.diagnostics() == ()
    assert len(jobs) == plan.admitted[0]
    for job in jobs:
        kinds = [str(attempt.kind) for attempt in job.attempts]
        assert (kinds.count("map"), kinds.count("reduce")) == (37, 16)
        assert {attempt.finish - attempt.start for attempt in job.attempts} == {30_000, 22_000 + 37_000}


def test_machines_hold_the_slots_that_the_plan_counts_on() -> None:
    _, plan = planned(MACHINES)
    files = exported(MACHINES, "sls").files
    racks = parts(files["sls-nodes.json"])
    bought = plan.document()["vms"]
    assert sum(len(rack["nodes"]) for rack in racks) == sum(sum(each.values()) for each in bought.values())
    task = {each["container.type"]: each for each in parts(files["sls-jobs.json"])[0]["job.tasks"]}
    for rack in racks:
        if rack["rack"].startswith("m5"):
            assert {kind: _fits(rack["nodes"][0], task[kind]) for kind in task} == {"map": 4, "reduce": 2}


def _fits(node: dict[str, Any], task: dict[str, Any]) -> int:
    return int(min(node[what] // task[f"container.{what}"] for what in ("memory-mb", "vcores")))


def test_without_sizes_machines_are_parts() -> None:
    """3 maps or 2 reduces on a machine: 6 parts, of which a map takes 2 and a reduce 3."""
    text = MACHINES.replace("container { map { cores = 1, memory = 2 GiB }, reduce { cores = 1, memory = 6 GiB } }", "")
    text = text.replace("jobs = 2..3", "slots { map = 3, reduce = 2 }\n  jobs = 2..3").replace("cores = 4,", "")
    text = text.replace("  cores = 4\n", "").replace("  memory = 16 GiB\n", "").replace("memory = 32 GiB,", "")
    made = exported(text, "sls")
    node = parts(made.files["sls-nodes.json"])[0]["nodes"][0]
    assert (node["memory-mb"], node["vcores"]) == (6 * 1024, 6)
    tasks = parts(made.files["sls-jobs.json"])[0]["job.tasks"]
    assert [(task["container.type"], task["container.vcores"]) for task in tasks] == [("map", 2), ("reduce", 3)]
    assert any("6 parts" in note for note in made.notes)


def test_what_is_read_by_the_projects_reader_of_objects() -> None:
    text = exported(MACHINES, "sls").files["sls-nodes.json"]
    found = [one for _, one in objects([text.encode()], "nodes", Telling())]
    assert found == parts(text)


def test_classes_that_the_simulator_cannot_run_are_refused() -> None:
    with pytest.raises(mrdsl.MrdslError, match="class queries has stages") as refused:
        exported(STAGES, "sls")
    assert "`spark` and `kubernetes`" in refused.value.diagnostics[0].hint
    begin, end = MACHINES.index("  map {"), MACHINES.index("  container")
    known = MACHINES[:begin] + "  coefficients { A = 1110 s, B = 900 s, C = 60 s }\n" + MACHINES[end:]
    with pytest.raises(mrdsl.MrdslError, match="A, B and C"):
        exported(known, "sls")


NODE = {"node": "a", "memory-mb": 1, "vcores": 1}


@pytest.mark.parametrize(
    ("racks", "reason"),
    [
        ([], "no machine"),
        ([{"rack": "r", "nodes": [NODE, NODE]}], "two machines"),
        ([{"rack": "r", "nodes": [{**NODE, "vcores": 0}]}], "has 0 vcores"),
    ],
)
def test_machines_that_are_refused(racks: list[dict[str, Any]], reason: str) -> None:
    assert any(reason in told for told in mistakes_of_nodes(racks))


TASK = {"container.type": "map", "duration.ms": 1}
JOB = {"job.id": "a", "job.start.ms": 0, "job.tasks": [TASK]}


@pytest.mark.parametrize(
    ("jobs", "reason"),
    [
        ([JOB, JOB], "two jobs"),
        ([{**JOB, "job.start.ms": -1}], "starts before 0"),
        ([{**JOB, "job.end.ms": -1}], "ends before it starts"),
        ([{**JOB, "job.tasks": []}], "no task"),
        ([{**JOB, "job.tasks": [{**TASK, "container.type": "stage"}]}], "neither map nor reduce"),
        ([{**JOB, "job.tasks": [{**TASK, "duration.ms": 0}]}], "1 tasks of 0 ms"),
    ],
)
def test_jobs_that_are_refused(jobs: list[dict[str, Any]], reason: str) -> None:
    assert not list(mistakes_of_jobs([JOB]))
    assert any(reason in told for told in mistakes_of_jobs(jobs))
