"""EMR Serverless: the service's own model takes the file, each rule refuses one, and workers run the plan's tasks."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

import mrdsl
from mrdsl.exchange.targets.emr_serverless import CPU, GIGABYTES, RULES, WORKERS, mistakes, number
from tests.exchange.targets.plans import STAGES, changed, exported, planned


def written(text: str = STAGES) -> dict[str, dict[str, Any]]:
    return {name: json.loads(file) for name, file in exported(text, "emr-serverless").files.items()}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return written()["emr-serverless-queries.json"]


def test_botocores_own_model_takes_it() -> None:
    session = pytest.importorskip("botocore.session").get_session()
    from botocore.validate import ParamValidator

    shape = session.get_service_model("emr-serverless").operation_model("CreateApplication").input_shape
    for document in written().values():
        assert not ParamValidator().validate(document, shape).has_errors()
        assert not mistakes(document)


def test_a_client_makes_the_application(document: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    moto = pytest.importorskip("moto")
    boto3 = pytest.importorskip("boto3")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with moto.mock_aws():
        client = boto3.client("emr-serverless", region_name="us-east-1")
        made = client.create_application(**document)["applicationId"]
        read = client.get_application(applicationId=made)["application"]
    for key in ("initialCapacity", "maximumCapacity", "tags"):
        assert read[key] == document[key]


def test_the_plans_tasks_at_once_are_counted_back_from_the_workers() -> None:
    _, plan = planned(STAGES)
    for name, shown in plan.document()["classes"].items():
        document = written()[f"emr-serverless-{name}.json"]
        workers = document["initialCapacity"]
        (settings,) = [each["properties"] for each in document["runtimeConfiguration"]]
        tasks = number(CPU, workers["Executor"]["workerConfiguration"]["cpu"]) // int(settings["spark.task.cpus"])  # type: ignore[operator]
        assert workers["Executor"]["workerCount"] * tasks == shown["whole_slots"]["task"]
        assert workers["Driver"]["workerCount"] == shown["admitted"]
        most = document["maximumCapacity"]
        for resource, pattern in (("cpu", CPU), ("memory", GIGABYTES)):
            sizes = [(each["workerCount"], each["workerConfiguration"][resource]) for each in workers.values()]
            assert number(pattern, most[resource]) == sum(count * (number(pattern, size) or 0) for count, size in sizes)


@pytest.mark.parametrize(
    ("task", "cpu", "memory"),
    [
        ("cores = 1, memory = 2 GiB", 1, 2),
        ("cores = 1, memory = 1 GiB", 1, 2),
        ("cores = 1, memory = 8 GiB", 1, 8),
        ("cores = 1, memory = 9 GiB", 2, 9),
        ("cores = 3, memory = 8 GiB", 4, 8),
    ],
)
def test_a_worker_is_the_smallest_that_holds_its_tasks(task: str, cpu: int, memory: int) -> None:
    """By hand from the service's table; a worker of several tasks has as much for each."""
    document = written(STAGES.replace("cores = 2, memory = 8 GiB", task))["emr-serverless-nightly.json"]
    size = document["initialCapacity"]["Executor"]["workerConfiguration"]
    tasks = number(CPU, size["cpu"]) // int(document["runtimeConfiguration"][0]["properties"]["spark.task.cpus"])  # type: ignore[operator]
    assert number(CPU, size["cpu"]) == cpu * tasks
    assert number(GIGABYTES, size["memory"]) == memory * tasks


def test_a_task_that_no_worker_holds_is_refused() -> None:
    with pytest.raises(mrdsl.MrdslError, match="no worker holds a task of class nightly"):
        written(
            STAGES.replace("cores = 4, memory = 16 GiB", "cores = 40, memory = 160 GiB").replace(
                "cores = 2", "cores = 17"
            )
        )


SIZE = "initialCapacity/Executor/workerConfiguration"
REFUSED = {
    "worker_sizes": (SIZE, {"cpu": "banana", "memory": "16 GB"}, "no worker of `banana`"),
    "kinds": ("initialCapacity/TezTask", {"workerCount": 1, "workerConfiguration": {}}, "no worker of SPARK"),
    "maximum": ("maximumCapacity/cpu", "1 vCPU", "less than"),
    "settings": ("runtimeConfiguration/0/properties/spark.executor.memory", "99g", "more than the worker's"),
    "words": ("releaseLabel", "emr-5.36.0", "from emr-6.6.0 on"),
}


def test_every_rule_has_a_file_that_it_refuses() -> None:
    assert {rule.__name__ for rule in RULES} == set(REFUSED)


@pytest.mark.parametrize("rule", REFUSED)
def test_a_rule_refuses(rule: str, document: dict[str, Any]) -> None:
    path, value, reason = REFUSED[rule]
    (refusing,) = [each for each in RULES if each.__name__ == rule]
    told = list(refusing(changed(document, path, value)))
    assert any(reason in one for one in told), told


@pytest.mark.parametrize(
    ("cpu", "memory", "fine"),
    [(cpu, memory, True) for cpu, (least, most, _) in WORKERS.items() for memory in (least, most)]
    + [(cpu, memory, False) for cpu, (least, most, _) in WORKERS.items() for memory in (least - 1, most + 1)]
    + [(8, 20, True), (8, 18, False), (16, 40, True), (16, 36, False), (3, 8, False), (32, 120, False)],
)
def test_the_edges_of_the_table_of_workers(cpu: int, memory: int, fine: bool) -> None:
    size = {"cpu": f"{cpu} vCPU", "memory": f"{memory} GB"}
    one = {"type": "SPARK", "initialCapacity": {"Executor": {"workerCount": 1, "workerConfiguration": size}}}
    (sizes,) = [rule for rule in RULES if rule.__name__ == "worker_sizes"]
    assert bool(list(sizes(one))) != fine


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (f"{SIZE}/disk", "19 GB", "20 to 200 GB of disk"),
        ("type", "FLINK", "no kind of application"),
        ("maximumCapacity/memory", "1 GB", "less than"),
        ("runtimeConfiguration/0/properties/spark.executor.cores", "1", "are not the worker's"),
        ("tags/mrdsl:spec", "ä", "beyond 256 letters"),
    ],
)
def test_what_shapes_let_pass_is_refused(path: str, value: Any, reason: str, document: dict[str, Any]) -> None:
    assert any(reason in told for told in mistakes(changed(document, path, value)))


@pytest.mark.parametrize(
    "names", [("x" * 57 + "a", "x" * 57 + "b"), ("Sort", "sort"), ("a b", "a_b"), ("x" * 300, "x" * 300 + "y")]
)
def test_classes_with_names_alike_get_two_applications_and_two_files(names: tuple[str, str]) -> None:
    """Also on a disk that ignores case, and within the service's 64 characters and the 255 bytes of a file's name."""
    first, second = re.findall(r"class (\w+)", STAGES)[:2] if STAGES.count("class ") > 1 else ("queries", "")
    text = re.sub(rf"\b{first}\b", f'"{names[0]}"', STAGES)
    text = re.sub(rf"\b{second}\b", f'"{names[1]}"', text)
    found = written(text)
    assert len({name.lower() for name in found}) == len(found) == len(written())
    assert len({each["name"] for each in found.values()}) == len(found)
    assert all(len(each["name"]) <= 64 for each in found.values())
    assert all(len(name.encode()) <= 255 for name in found)
