"""Exports of timetables: crontabs, reservations of YARN, and clusters of EMR that end by themselves."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

import mrdsl
from mrdsl.exchange.schedulers import Event, crontab
from mrdsl.exchange.targets.emr_rules import mistakes
from mrdsl.families.timetable.export import deployments
from mrdsl.families.timetable.plan import TimetablePlan

NIGHT = """problem timetable "Night"
RENT
vm m {
  on_demand { price = 1 USD/min }
  boot = 90 s
  cores = 2
  memory = 4 GiB
}
class a {
  stage one { tasks = 4, avg = 1 min, max = 2 min }
  stage two { tasks = 1, avg = 1 min, max = 2 min, after = [one] }
  slots { task = 2 }
  runs { at = [A] }
  deadline = 3 min
}
class "b%c" {
  stage one { tasks = 1, avg = 90 s, max = 2 min }
  slots { task = 2 }
  runs { at = [B] }
  deadline = 4 min
}
minimize cost
"""


def exported(form: str, rent: str = "constant", a: str = "23:58, 00:01", b: str = "23:50:30") -> dict[str, str]:
    spec = mrdsl.loads(NIGHT.replace("RENT", f"rent = {rent}").replace("[A]", f"[{a}]").replace("[B]", f"[{b}]"))
    result = mrdsl.solve(spec)
    assert result.plan is not None
    return dict(mrdsl.export(result, form, vms={"m": "m5.xlarge"}).files)


class Operator:
    """An operator of Airflow, as far as the exported file uses it."""

    made: ClassVar[list[Operator]] = []

    def __init__(self, **said: Any) -> None:
        self.said, self.after = said, None
        self.made.append(self)

    def __rshift__(self, other: Operator) -> None:
        self.after = other


def run_dag(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, list[tuple[str, list[str]]]]:
    """Run a DAG file with stand-ins for Airflow: the settings of the DAG, and each wait with the call after it."""
    Operator.made = []
    dags: list[Any] = []
    called: list[list[str]] = []

    @contextmanager
    def dag(*name: str, **said: Any) -> Iterator[None]:
        dags.append((name, said))
        yield

    def task(**said: Any) -> Any:
        return lambda call: lambda: Operator(call=call, **said)

    modules = {
        "pendulum": {"datetime": lambda *numbers, tz: (numbers, tz)},
        "airflow": {"DAG": dag},
        "airflow.decorators": {"task": task},
        "airflow.sensors": {},
        "airflow.sensors.date_time": {"DateTimeSensor": Operator},
    }
    for name, content in modules.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "airflow.sdk", None)
    monkeypatch.setattr(subprocess, "run", lambda words, check: called.append(words))
    exec(compile(text, "timetable_dag.py", "exec"), {"__name__": "dag"})
    found = []
    for wait in Operator.made:
        if wait.after is not None:
            wait.after.said["call"]()
            found.append((wait.said["target_time"], called[-1]))
    assert len({each.said["task_id"] for each in Operator.made}) == len(Operator.made) == 2 * len(found)
    return dags[0], found


def test_a_dag_of_airflow_makes_the_calls_of_the_crontab(monkeypatch: pytest.MonkeyPatch) -> None:
    ((name,), said), found = run_dag(exported("airflow")["timetable_dag.py"], monkeypatch)
    assert name == "Night"
    assert (said["schedule"], said["catchup"]) == ("49 23 * * *", False)
    assert found == [
        ("{{ data_interval_end.add(seconds=0) }}", ["rent-machines", "m-1", "m", "1"]),
        ("{{ data_interval_end.add(seconds=90) }}", ["start-job", "b%c", "1"]),
        ("{{ data_interval_end.add(seconds=540) }}", ["start-job", "a", "1"]),
        ("{{ data_interval_end.add(seconds=720) }}", ["start-job", "a", "2"]),
        ("{{ data_interval_end.add(seconds=900) }}", ["release-machines", "m-1"]),
    ]


def test_a_dag_with_dates_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text = exported("airflow", a="2024-02-28T23:58, 2024-02-29T00:01", b="2024-02-28T23:50:30")["timetable_dag.py"]
    (_, said), _ = run_dag(text, monkeypatch)
    assert (said["schedule"], said["catchup"]) == ("@once", True)
    assert said["start_date"] == ((2024, 2, 28, 23, 49), "UTC")


def test_airflow_reads_the_dag(tmp_path: Path) -> None:
    pytest.importorskip("airflow")
    (tmp_path / "dag.py").write_text(exported("airflow")["timetable_dag.py"])
    subprocess.run([sys.executable, tmp_path / "dag.py"], check=True)


def test_a_crontab_has_every_start_and_the_machines() -> None:
    """One machine: requested 90 s before 23:50:30, and released when run 2 of a ends at 00:04."""
    text = exported("cron")["crontab"]
    lines = [line for line in text.splitlines() if line[0].isdigit()]
    assert lines == [
        "49 23 * * * $RENT m-1 m 1",
        "50 23 * * * sleep 30; $START b\\%c 1",
        "58 23 * * * $START a 1",
        "1 0 * * * $START a 2",
        "4 0 * * * $RELEASE m-1",
    ]


def test_dates_are_those_of_the_spec() -> None:
    """The machine is requested on the day before the first run."""
    text = exported("cron", a="2026-12-31T23:58, 2027-01-01T00:01", b="2026-12-31T00:00:30")["crontab"]
    lines = [line for line in text.splitlines() if line[0].isdigit()]
    assert lines == [
        "59 23 30 12 * $RENT m-1 m 1",
        "0 0 31 12 * sleep 30; $START b\\%c 1",
        "58 23 31 12 * $START a 1",
        "1 0 1 1 * $START a 2",
        "4 0 1 1 * $RELEASE m-1",
    ]


def test_parts_of_seconds_wait() -> None:
    text = crontab([Event(3661.25, "START", ("a", "1"))], None, ())
    assert text.splitlines()[-1] == "1 1 * * * sleep 1.25; $START a 1"


CURL = """#!/bin/sh
case "$*" in
  *new-reservation*) printf '{"reservation-id": "reservation_1_0001"}' ;;
  *) cat >> "$LOG"; printf '\\036' >> "$LOG" ;;
esac
"""


def submitted(folder: Path, script: str, **variables: str) -> list[dict[str, Any]]:
    """What the script sends to YARN, by a program in the place of curl."""
    (folder / "curl").write_text(CURL)
    (folder / "curl").chmod(0o755)
    (folder / "reservations.sh").write_text(script)
    environment = {"PATH": f"{folder}:/usr/bin:/bin", "LOG": str(folder / "log"), **variables}
    subprocess.run(["/bin/sh", str(folder / "reservations.sh")], check=True, env=environment, timeout=60)
    return [json.loads(text) for text in (folder / "log").read_text().split("\036") if text.strip()]


def test_reservations_recur_every_day_and_hold_what_the_plan_uses(tmp_path: Path) -> None:
    """Run 1 of a: two tasks at a time for 2 min, then one for a minute. Tasks take half of a machine."""
    sent = submitted(tmp_path, exported("yarn-reservations")["reservations.sh"], MIDNIGHT="864000")
    assert [each["reservation-definition"]["reservation-name"] for each in sent] == ["a 1", "a 2", "b%c 1"]
    assert {(each["queue"], each["reservation-id"]) for each in sent} == {("reserved", "reservation_1_0001")}
    first = sent[0]["reservation-definition"]
    assert first["recurrence-expression"] == "86400000"
    assert first["arrival"] == (864_000 + 23 * 3600 + 58 * 60) * 1000
    assert first["deadline"] == first["arrival"] + 180_000
    requests = first["reservation-requests"]
    assert requests["reservation-request-interpreter"] == 3
    assert [(one["num-containers"], one["duration"]) for one in requests["reservation-request"]] == [
        (2, 120_000),
        (1, 60_000),
    ]
    for each in sent:
        definition = each["reservation-definition"]
        parts = definition["reservation-requests"]["reservation-request"]
        assert all(part["min-concurrency"] == part["num-containers"] >= 1 for part in parts)
        assert all(part["capability"] == {"memory": 2048, "vCores": 1} for part in parts)
        assert sum(part["duration"] for part in parts) <= definition["deadline"] - definition["arrival"]


def test_reservations_of_dates_are_made_once(tmp_path: Path) -> None:
    script = exported("yarn-reservations", a="1970-01-02T00:00", b="1970-01-03T00:00")["reservations.sh"]
    sent = submitted(tmp_path, script)
    assert [each["reservation-definition"]["arrival"] for each in sent] == [86_400_000, 172_800_000]
    assert {each["reservation-definition"]["recurrence-expression"] for each in sent} == {"0"}


def test_a_constant_cluster_ends_when_it_has_been_idle_for_longer_than_between_runs() -> None:
    """From 23:52 to 23:58 no run is there."""
    (text,) = exported("emr").values()
    document = json.loads(text)
    assert document["AutoTerminationPolicy"] == {"IdleTimeout": 360 + 60}
    assert document["Instances"]["KeepJobFlowAliveWhenNoSteps"]
    assert [group["InstanceCount"] for group in document["Instances"]["InstanceGroups"]] == [1, 1]
    assert not mistakes(document)
    assert mistakes({**document, "AutoTerminationPolicy": {"IdleTimeout": 30}})


def test_clusters_of_single_runs_have_a_step_and_end_with_it() -> None:
    files = exported("emr", "per_job")
    documents = {name: json.loads(text) for name, text in files.items()}
    assert sorted(each["Steps"][0]["Name"] for each in documents.values()) == ["a", "b%c"]
    for document in documents.values():
        assert not document["Instances"]["KeepJobFlowAliveWhenNoSteps"]
        assert not mistakes(document)


@pytest.mark.parametrize(
    ("form", "rent", "a", "b", "words"),
    [
        ("cron", "constant", "0 s", "9 min", "offsets"),
        ("yarn-reservations", "constant", "0 s", "9 min", "offsets"),
        ("cron", "constant", "23:58, 00:01, 23:59, 00:01", "23:50:30", "longer than a day"),
        ("emr", "elastic", "23:58", "20:50:30", "come and go"),
    ],
)
def test_what_a_form_cannot_have_is_an_error(form: str, rent: str, a: str, b: str, words: str) -> None:
    with pytest.raises(mrdsl.MrdslError, match=words):
        exported(form, rent, a, b)


def test_reservations_need_the_size_of_a_task() -> None:
    spec = mrdsl.loads(
        NIGHT.replace("RENT", "").replace("[A]", "[22:00]").replace("[B]", "[22:00]").replace("  memory = 4 GiB\n", "")
    )
    with pytest.raises(mrdsl.MrdslError, match="memory and the cores"):
        mrdsl.export(mrdsl.solve(spec), "yarn-reservations")


TYPES = (
    NIGHT.replace("boot = 90 s", "boot = 90 s, spot { price = 0.5 USD/min, interruptions = 0.1/h }, masters = 1")
    .replace(
        "class a {", "vm c { on_demand { price = 3 USD/min }, cores = 4, memory = 8 GiB }\nclass a {\n  types = [c]"
    )
    .replace("slots { task = 2 }", "container { cores = 1, memory = 2 GiB }")
    .replace("[A]", "[23:58, 00:01]")
    .replace("[B]", "[23:50:30]")
    .replace("deadline = 4 min", "deadline = 10 min")
    .replace('class "b%c" {', 'class "b%c" {\n  types = [m]')
)
"""Runs of a on c, the run of b%c on a spot VM of m, above a master on demand."""


def exported_types(form: str, rent: str) -> dict[str, str]:
    result = mrdsl.solve(mrdsl.loads(TYPES.replace("RENT", f"rent = {rent}")))
    return dict(mrdsl.export(result, form, vms={"m": "m5.xlarge", "c": "c5.2xlarge"}).files)


def test_a_crontab_of_several_types_names_the_type_of_each_run_and_machine() -> None:
    lines = [line for line in exported_types("cron", "per_job")["crontab"].splitlines() if line[0].isdigit()]
    called = sorted(" ".join(line.partition("$")[2].split()) for line in lines)
    assert [each for each in called if each.startswith("START")] == [
        "START a 1 c",
        "START a 2 c",
        "START b\\%c 1 m spot",
    ]
    rented = [each.split(maxsplit=2)[2] for each in called if each.startswith("RENT")]
    assert sorted(set(rented)) == ["c 1", "m 1", "m 1 spot"]


def test_a_cluster_has_the_masters_of_a_type_without_runs() -> None:
    text = TYPES.replace("RENT", "rent = constant").replace("masters = 1", "masters = 0")
    text = text.replace("class a {", "vm d { on_demand { price = 1 USD/min }, masters = 1 }\nclass a {")
    result = mrdsl.solve(mrdsl.loads(text))
    files = mrdsl.export(result, "emr", vms={"m": "m5.xlarge", "c": "c5.2xlarge", "d": "r5.xlarge"}).files
    for document in map(json.loads, dict(files).values()):
        groups = document["Instances"]["InstanceGroups"]
        assert [each["InstanceType"] for each in groups if each["InstanceRole"] == "MASTER"] == ["r5.xlarge"]


def test_reservations_of_several_types_have_the_containers_of_each_class(tmp_path: Path) -> None:
    sent = submitted(tmp_path, exported_types("yarn-reservations", "constant")["reservations.sh"], MIDNIGHT="0")
    requests = [each["reservation-definition"]["reservation-requests"]["reservation-request"] for each in sent]
    assert [[one["num-containers"] for one in each] for each in requests] == [[4, 1], [4, 1], [1]]
    assert all(one["capability"] == {"memory": 2048, "vCores": 1} for each in requests for one in each)


@pytest.mark.parametrize("rent", ["constant", "per_job"])
def test_each_type_is_a_cluster_of_its_own_with_its_spot_machines(rent: str) -> None:
    documents = {name: json.loads(text) for name, text in exported_types("emr", rent).items()}
    groups = {
        group["InstanceType"]: group["Market"]
        for document in documents.values()
        for group in document["Instances"]["InstanceGroups"]
        if group["InstanceRole"] != "MASTER"
    }
    assert groups == {"m5.xlarge": "SPOT", "c5.2xlarge": "ON_DEMAND"}
    assert len(documents) == 2
    assert not any(mistakes(document) for document in documents.values())


def test_other_targets_have_the_classes_of_a_constant_cluster() -> None:
    """Runs of a have 10 min of slot time and run one after the other, four tasks at once; that of b has 1.5 min."""
    spec = mrdsl.loads(TYPES.replace("RENT", "rent = constant").replace("types = [m]", "types = [c]"))
    result = mrdsl.solve(spec).of(TimetablePlan)
    assert result.plan is not None
    (one,) = deployments(spec, result.plan)
    found = [
        (load.name, share.jobs, task.at_once) for load in one.workloads for share in load.shares for task in share.tasks
    ]
    assert found == [("a", 1, 4), ("b%c", 1, 1)]
    assert [load.weight for load in one.workloads] == pytest.approx([10 / 11.5, 1.5 / 11.5])
    for form in ("emr-serverless", "yarn", "spark", "kubernetes"):
        assert mrdsl.export(result, form, vms={"c": "c5.2xlarge"}).files


def test_a_trace_for_the_scheduler_has_the_start_of_each_run() -> None:
    """The cluster is requested at 23:49, a boot of 90 s before b, which starts at 23:50:30."""
    text = NIGHT.replace("RENT", "rent = constant").replace("[A]", "[23:58, 00:01]").replace("[B]", "[23:50:30]")
    text = text.replace("  stage two { tasks = 1, avg = 1 min, max = 2 min, after = [one] }\n", "")
    text = text.replace("stage one", "map").replace("slots { task = 2 }", "slots { map = 2 }")
    files = mrdsl.export(mrdsl.solve(mrdsl.loads(text)), "sls").files
    starts = [int(each) for text in files.values() for each in re.findall(r'"job.start.ms": (\d+)', text)]
    assert sorted(starts) == [90_000, 540_000, 720_000]
