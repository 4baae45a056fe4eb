"""Kubernetes: the operator's own schema takes what is written, each rule refuses a file, and quotas hold the plan."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from mrdsl.exchange.markup import yaml_text
from mrdsl.exchange.targets.kubernetes import (
    RULES,
    mebibytes,
    millicores,
    mistakes,
    mistakes_of_queues,
    object_names,
    settings_of,
)
from mrdsl.exchange.targets.spark import mib
from tests.exchange.targets.plans import STAGES, changed, exported, planned
from tests.shared_data import shared, shared_files

yaml = pytest.importorskip("yaml")
QUARTERS = STAGES.replace("cores = 2, memory = 8 GiB", "cores = 0.5, memory = 2 GiB")


def loaded(text: str) -> Any:
    return yaml.load(text, yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader)


@pytest.fixture(scope="module")
def validator() -> Any:
    jsonschema = pytest.importorskip("jsonschema")
    schema = shared("data/kubernetes/sparkoperator.k8s.io_sparkapplications.yaml")
    version = loaded(schema.read_text(encoding="utf-8"))["spec"]["versions"][0]
    return jsonschema.Draft202012Validator(version["schema"]["openAPIV3Schema"])


def written(text: str = STAGES) -> dict[str, Any]:
    return {name: loaded(file) for name, file in exported(text, "kubernetes").files.items()}


@pytest.fixture(scope="module")
def application() -> dict[str, Any]:
    found = written()["sparkapplication-queries.yaml"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("text", [STAGES, QUARTERS])
def test_the_operators_schema_takes_every_class(text: str, validator: Any) -> None:
    found = [one for name, one in written(text).items() if name != "queues.yaml"]
    assert len(found) == 2
    for one in found:
        assert not list(validator.iter_errors(one))


def test_it_takes_its_own_examples_and_so_do_the_rules(validator: Any) -> None:
    examples = [loaded(path.read_text(encoding="utf-8")) for path in shared_files("data/kubernetes/spark-pi*.yaml")]
    assert len(examples) == 3
    for example in examples:
        assert not list(validator.iter_errors(example))
        assert not mistakes(example)
    broken = copy.deepcopy(examples[0])
    broken["spec"]["executor"]["cores"] = 0
    assert list(validator.iter_errors(broken))


def test_the_plans_tasks_at_once_are_counted_back_from_applications_and_quotas() -> None:
    """The queue has room for so many executors, beside its drivers, as run the plan's tasks, and for no more."""
    _, plan = planned(STAGES)
    files = written()
    queues = {each["name"]: each for each in _below(files)}
    for name, shown in plan.document()["classes"].items():
        found = settings_of(files[f"sparkapplication-{name}.yaml"])
        held, jobs = queues[name]["resources"]["max"], shown["admitted"]
        assert queues[name]["maxapplications"] == jobs
        tasks = int(found["spark.executor.cores"]) // int(found["spark.task.cpus"])
        driver = sum(mib(found[f"spark.driver.memory{end}"]) for end in ("", "Overhead"))  # type: ignore[misc]
        executor = sum(mib(found[f"spark.executor.memory{end}"]) for end in ("", "Overhead"))  # type: ignore[misc]
        cores = millicores(held["vcore"]) / 1000 - jobs * int(found["spark.driver.cores"])
        assert (mebibytes(held["memory"]) - jobs * driver) / executor * tasks == shown["whole_slots"]["task"]
        assert cores / int(found["spark.task.cpus"]) == shown["whole_slots"]["task"]


def _below(files: dict[str, Any]) -> list[dict[str, Any]]:
    document = loaded(files["queues.yaml"]["data"]["queues.yaml"])
    assert not mistakes_of_queues(document)
    (root,) = document["partitions"][0]["queues"]
    below = root["queues"]
    assert isinstance(below, list)
    return below


def test_parts_of_a_core_are_asked_for_as_such() -> None:
    """Half a core for each task: 8 tasks fit 4 cores, and Spark counts a core for each."""
    executor = written(QUARTERS)["sparkapplication-nightly.yaml"]["spec"]["executor"]
    assert millicores(executor["coreRequest"]) == 500 * executor["cores"]


def test_where_it_comes_from_stands_in_comments_and_annotations(application: dict[str, Any]) -> None:
    text = exported(STAGES, "kubernetes").files["sparkapplication-queries.yaml"]
    assert text.startswith("# spec: ")
    assert "# not exported: the driver" in text
    assert application["metadata"]["annotations"]["mrdsl/plan"] in text.split("apiVersion")[0]


REFUSED = {
    "name": ("metadata/name", "Night_1", "small letters"),
    "sizes": ("spec/executor/memoryOverhead", "a tenth", "not a size"),
    "request": ("spec/executor/coreRequest", "99", "asks for `99` cores"),
    "allocation": ("spec/executor/instances", 0, "one executor at least"),
    "queue": ("spec/batchSchedulerOptions/queue", "root.my queue", "parted by dots"),
}


def test_every_rule_has_a_file_that_it_refuses() -> None:
    assert {rule.__name__ for rule in RULES} == set(REFUSED)


@pytest.mark.parametrize("rule", REFUSED)
def test_a_rule_refuses(rule: str, application: dict[str, Any]) -> None:
    path, value, reason = REFUSED[rule]
    assert not mistakes(application)
    (refusing,) = [each for each in RULES if each.__name__ == rule]
    (told,) = refusing(changed(application, path, value))
    assert reason in told


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("metadata/name", "a" * 57, "at most 56"),
        ("spec/executor/coreRequest", "none", "no quantity"),
        ("spec/dynamicAllocation/minExecutors", 9, "executors are not"),
        ("spec/executor/cores", 3, "asks for"),
    ],
)
def test_what_the_schema_lets_pass_is_refused(path: str, value: Any, reason: str) -> None:
    document = changed(written(QUARTERS)["sparkapplication-nightly.yaml"], "spec/executor/coreRequest", "4")
    assert any(reason in told for told in mistakes(changed(document, path, value)))


QUEUE = {"name": "a", "maxapplications": 1, "resources": {"max": {"vcore": "2", "memory": "2Gi"}}}


@pytest.mark.parametrize(
    ("queue", "reason"),
    [
        ({**QUEUE, "name": "a b"}, "not of letters"),
        ({**QUEUE, "maxapplications": 0}, "no application"),
        ({**QUEUE, "resources": {"max": {"vcore": "0.5"}}}, "not a whole quantity"),
        ({**QUEUE, "resources": {"guaranteed": {"vcore": "3"}, "max": {"vcore": "2500m"}}}, "3 vcore are guaranteed"),
        ({**QUEUE, "resources": {"guaranteed": {"memory": "2G"}, "max": {"memory": "1900M"}}}, "2G memory"),
        ({**QUEUE, "queues": [QUEUE, QUEUE]}, "one name"),
    ],
)
def test_what_yunikorn_refuses(queue: dict[str, Any], reason: str) -> None:
    assert any(reason in told for told in mistakes_of_queues({"partitions": [{"queues": [queue]}]}))


def test_names_that_kubernetes_takes() -> None:
    assert object_names(["Night Jobs", "night.jobs", "7", "a" * 80]) == [
        "night-jobs",
        "night-jobs-2",
        "class-7",
        "a" * 52,
    ]


@pytest.mark.parametrize(
    "value",
    [
        {"a": "yes", "b": ["x: y", "- z", "#", "", "1", 1, 1.5, True, None, "ä", 'q"\\'], "c": {}, "d": []},
        {"no": {"on": [{"k": "v", "l": [1, 2]}, {"k": {"m": "n"}}]}},
        {"text": "one\n  two\n\nthree\n", "x": "0x1f", "y": "1e3", "z": "12:30:45", "~": "null", "t": "2026-01-01"},
    ],
)
def test_yaml_is_read_back_by_another_library(value: dict[str, Any]) -> None:
    assert loaded(yaml_text(value, ("a comment: with signs",))) == value
