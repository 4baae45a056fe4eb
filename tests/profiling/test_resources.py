"""Resources of tasks: profiles of stage-level scheduling, and barrier stages, from logs to plans."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import mrdsl
from mrdsl import api
from mrdsl.profiling.profiles import Profiles
from tests.exchange.logs.making import BEGIN, Stage, spark_events
from tests.shared_data import shared

SCAN: Stage = (0, (), tuple((0, 10_000) for _ in range(8)))


def fit(tasks: int, at_once: int) -> Stage:
    """A stage of tasks of 60 s, so many at once."""
    return 1, (0,), tuple((10_000 + 60_000 * (n // at_once), 70_000 + 60_000 * (n // at_once)) for n in range(tasks))


def logged(
    folder: Path, stages: list[Stage], task: dict[str, float], executor: dict[str, float], **about: Any
) -> Profiles:
    """The profile of a log of two executors of 4 cores, whose second stage has another resource profile."""
    ended = max(finish for _, _, tasks in stages for _, finish in tasks)
    lines = [json.loads(line) for line in spark_events("train", BEGIN, [(0, ended, stages)]).splitlines()]
    requests = [
        {"Executor Resource Requests": amounts(own), "Task Resource Requests": amounts(of_task)}
        for own, of_task in (({"cores": 4.0}, {"cpus": 1.0}), (executor, task))
    ]
    added = "SparkListenerResourceProfileAdded"
    events = [{"Event": added, "Resource Profile Id": number, **each} for number, each in enumerate(requests)]
    for event in lines:
        for info in (*event.get("Stage Infos", ()), *filter(None, [event.get("Stage Info")])):
            info["Resource Profile Id"] = int(info["Stage ID"] == 1)
            info["RDD Info"] = [{"RDD ID": 0, "Barrier": bool(about.get("barrier")) and info["Stage ID"] == 1}]
        if event["Event"] == "SparkListenerEnvironmentUpdate":
            event["Spark Properties"] |= {"spark.executor.memory": "4g", **about.get("settings", {})}
    (folder / "train.log").write_text("\n".join(map(json.dumps, [*events, *lines])), encoding="utf-8")
    return api.profile([folder])


def amounts(found: dict[str, float]) -> dict[str, dict[str, Any]]:
    return {name: {"Resource Name": name, "Amount": amount} for name, amount in found.items()}


def test_four_cpus_a_task_are_waves_of_two_on_eight_cores() -> None:
    """4 waves of 60 s; the slots of today's cluster, 2 on each host, were always busy."""
    found = api.profile([shared("cases/stage_level_cpus.log")])
    text = found.to_mrspec("capacity").replace("deadline_train = 4 min", "deadline_train = 9 min")
    plan: Any = mrdsl.simulate(mrdsl.loads(text), runs=2, jobs=5).plan
    (of_class,) = plan.document()["classes"].values()
    assert of_class["executors"] == 1
    assert of_class["completion"]["lower"] == pytest.approx(240.0)
    assert of_class["observed"]["mean"] == pytest.approx(240.0)
    task = found.gathered.cluster.task
    assert (task.most, task.on_one, task.use) == (4, 2, 1.0)
    conf = mrdsl.export(mrdsl.solve(mrdsl.loads(text)), "spark").files["spark-defaults.conf"]
    assert "spark.task.cpus" in conf
    assert [line.split()[1] for line in conf.splitlines() if line.startswith("spark.executor.cores")] == ["8"]


@pytest.mark.parametrize(
    ("task", "executor", "at_once", "slots"),
    [
        ({"cpus": 1.0}, {}, 8, 1),
        ({"cpus": 2.0}, {}, 4, 2),
        ({"cpus": 4.0}, {}, 2, 4),
        ({"cpus": 3.0}, {}, 2, 4),
        ({"cpus": 1.0, "gpu": 1.0}, {"gpu": 1.0}, 2, 4),
        ({"cpus": 1.0, "gpu": 0.5}, {"gpu": 1.0}, 4, 2),
        ({"cpus": 1.0, "gpu": 0.25}, {"gpu": 1.0}, 8, 1),
        ({"cpus": 2.0}, {"cores": 2.0}, 4, 2),
        ({"cpus": 9.0}, {}, 2, 4),
    ],
)
def test_a_task_takes_the_slots_of_its_resource_profile(
    task: dict[str, float], executor: dict[str, float], at_once: int, slots: int, tmp_path: Path
) -> None:
    """A run of the plan on the executors of the log takes as long as the log; so does the log in the engine."""
    found = logged(tmp_path, [SCAN, fit(8, at_once)], task, executor)
    (each,) = found.stage_classes
    assert [stage.slots for stage in each.stages] == [1, slots]
    assert found.gathered.cluster.task.use == pytest.approx(1.0)
    (again,) = found.replay()
    assert again.simulated == pytest.approx(again.took, abs=0.01)
    assert "tasks = 4 } }" in found.to_mrspec("capacity")


def test_tasks_of_the_usual_cpus_need_no_profile(tmp_path: Path) -> None:
    """`spark.task.cpus = 2` makes 2 slots of an executor of 4 cores, and tasks of 4 CPUs take both."""
    settings = {"settings": {"spark.task.cpus": "2"}}
    found = logged(tmp_path, [SCAN, fit(8, 2)], {"cpus": 4.0}, {}, **settings)
    assert [stage.slots for stage in found.stage_classes[0].stages] == [1, 4]
    log = (tmp_path / "train.log").read_text().replace('{"Resource Name": "cpus", "Amount": 1.0}', '{"Amount": 2.0}')
    (tmp_path / "train.log").write_text(log)
    assert [stage.slots for stage in api.profile([tmp_path]).stage_classes[0].stages] == [1, 2]


def test_a_barrier_stage_of_a_log_has_a_slot_for_every_task(tmp_path: Path) -> None:
    found = logged(tmp_path, [SCAN, fit(7, 8)], {"cpus": 1.0}, {}, barrier=True)
    text = found.to_mrspec("capacity")
    assert [stage.barrier for stage in found.stage_classes[0].stages] == [False, True]
    assert text.count("barrier = yes") == 1
    late = text.replace("deadline_train = 3 min", "deadline_train = 9 h")
    assert "9 h" in late
    plan: Any = mrdsl.solve(mrdsl.loads(late)).plan
    assert plan.document()["classes"]["train"]["executors"] == 2
    with pytest.raises(ValueError, match="take several slots, or all at once: choose the family capacity"):
        found.to_mrspec("timetable")


def test_runs_with_barrier_stages_make_a_spec_of_capacity(tmp_path: Path) -> None:
    """Two runs one after the other would make a timetable."""
    logged(tmp_path, [SCAN, fit(7, 8)], {"cpus": 1.0}, {}, barrier=True)
    text = (tmp_path / "train.log").read_text().replace(str(BEGIN)[:6], str(BEGIN + 10**9)[:6])
    (tmp_path / "later.log").write_text(text)
    assert "problem capacity" in api.profile([tmp_path]).to_mrspec()
