"""Kubernetes: a `SparkApplication` per class for the Spark operator, YuniKorn's queues with quotas, and rules.

A queue holds the executors and drivers of all of its class's applications, and no more. Each rule names its page:

[names]     kubernetes.io/docs/concepts/overview/working-with-objects/names: RFC 1035 labels, since the operator makes
            services and pods of the application's name
[quantity]  kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity
[operator]  kubeflow.org/docs/components/spark-operator/user-guide/writing-sparkapplication
[yunikorn]  yunikorn.apache.org/docs/user_guide/queue_config
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mrdsl.exchange.markup import yaml_text
from mrdsl.exchange.targets import spark
from mrdsl.exchange.targets.clusters import beyond_node
from mrdsl.exchange.targets.deployment import Deployment, Exported, TargetError, Wishes, Workload, distinct, plain
from mrdsl.exchange.targets.spark import (
    ALLOCATION,
    Executors,
    driver_notes,
    executors_of,
    partition_settings,
    running,
)
from mrdsl.spec.platforms import KUBERNETES

Document = Mapping[str, Any]
NAME = re.compile(r"[a-z]([a-z0-9-]*[a-z0-9])?")
NAME_LENGTH = 63 - len("-ui-svc")
"""The longest that the operator appends to an application's name is that of its service [names]."""
QUEUE = re.compile(r"[A-Za-z0-9_:#/@-]{1,64}")
CORES = re.compile(r"[1-9][0-9]*m?")
MEMORY = re.compile(r"[1-9][0-9]*([KMGTPE]i?)?")


def mistakes(document: Document) -> list[str]:
    """Everything of a `SparkApplication` that would be refused."""
    return [reason for rule in RULES for reason in rule(document)]


def name(document: Document) -> Iterator[str]:
    """Small letters, digits and -, from a letter to a letter or digit, at most 56 of them [names]."""
    given = document["metadata"]["name"]
    if not NAME.fullmatch(given) or len(given) > NAME_LENGTH:
        yield f"the name `{given}` is not of small letters, digits and -, at most {NAME_LENGTH} of them"


def sizes(document: Document) -> Iterator[str]:
    """Spark's own rules for driver and executors: heap and overhead within the container, whole tasks."""
    yield from spark.mistakes(settings_of(document))


def settings_of(document: Document) -> dict[str, str]:
    """Return a `SparkApplication`'s driver and executors as Spark's own settings."""
    spec = document["spec"]
    found = dict(spec.get("sparkConf", {}))
    for part in ("driver", "executor"):
        for key in ("cores", "memory", "memoryOverhead"):
            if key in spec[part]:
                found[f"spark.{part}.{key}"] = str(spec[part][key])
    return found


def request(document: Document) -> Iterator[str]:
    """Check that the requested cores of a pod are a quantity, and at most those that Spark counts [quantity]."""
    executor = document["spec"]["executor"]
    asked = executor.get("coreRequest")
    if asked is None:
        return
    if not CORES.fullmatch(asked):
        yield f"the request of `{asked}` cores is no quantity above 0"
    elif millicores(asked) > 1000 * executor.get("cores", 1):
        yield f"an executor asks for `{asked}` cores and runs tasks on {executor.get('cores', 1)}"


def allocation(document: Document) -> Iterator[str]:
    """From the fewest executors to the most; one at least [operator]."""
    spec = document["spec"]
    if spec["executor"].get("instances", 1) < 1:
        yield "an application has one executor at least"
    grown = spec.get("dynamicAllocation")
    if grown and grown.get("enabled"):
        least, most = grown.get("minExecutors", 0), grown.get("maxExecutors", 1)
        if not 0 <= least <= grown.get("initialExecutors", least) <= most or most < 1:
            yield "executors are not from 0 on, as many at first as at least, and 1 or more at most"


def queue(document: Document) -> Iterator[str]:
    """Yield a queue's full name [yunikorn]."""
    given = document["spec"].get("batchSchedulerOptions", {}).get("queue", "root.default")
    if not all(QUEUE.fullmatch(part) for part in given.split(".")):
        yield f"the queue `{given}` is not of letters, digits and _:#/@-, parted by dots"


RULES: tuple[Callable[[Document], Iterator[str]], ...] = (name, sizes, request, allocation, queue)


def mistakes_of_queues(document: Document) -> list[str]:
    """Return errors in queues that YuniKorn rejects: names, fractions, a guarantee above its maximum, an empty one."""
    found: list[str] = []
    for partition in document["partitions"]:
        for each in partition["queues"]:
            found += _of_queue(each)
    return found


def _of_queue(each: Document) -> Iterator[str]:
    given = each["name"]
    if not QUEUE.fullmatch(given):
        yield f"the queue `{given}` is not of letters, digits and _:#/@-"
    if each.get("maxapplications", 1) < 1:
        yield f"{given}: no application may run"
    resources = each.get("resources", {})
    for limit, values in resources.items():
        for resource, pattern in (("vcore", CORES), ("memory", MEMORY)):
            if resource in values and not pattern.fullmatch(values[resource]):
                yield f"{given}: {limit} {resource} is `{values[resource]}`, not a whole quantity above 0"
                return
    if "guaranteed" in resources and "max" in resources:
        for resource, measured in (("vcore", millicores), ("memory", mebibytes)):
            least, most = (resources[limit].get(resource) for limit in ("guaranteed", "max"))
            if least is not None and most is not None and measured(least) > measured(most):
                yield f"{given}: {least} {resource} are guaranteed, and {most} are the most"
    below = each.get("queues", ())
    names = [child["name"].lower() for child in below]
    if len(set(names)) < len(names):
        yield f"{given}: two of its queues have one name"
    for child in below:
        yield from _of_queue(child)


def millicores(text: str) -> int:
    """``1500m`` or ``2`` as thousandths of a core."""
    return int(text[:-1]) if text.endswith("m") else 1000 * int(text)


def mebibytes(text: str) -> float:
    """Return a whole quantity of memory in MiB."""
    digits = re.match(r"[0-9]+", text)
    assert digits is not None
    unit = text[digits.end() :]
    power = "KMGTPE".index(unit[0]) + 1 if unit else 0
    return float(int(digits[0]) * (1024.0 if unit.endswith("i") else 1000.0) ** power) / 2**20


SPARK = "3.5.6"
IMAGE = f"docker.io/apache/spark:{SPARK}"
PROGRAM = "local:///opt/spark/app.jar"
NAMESPACE = "default"
PROGRAM_NOTE = (
    f"the program of each application: put its own image, language and file in the place of {IMAGE} and {PROGRAM}"
)


def kubernetes(deployment: Deployment, _: Wishes) -> Exported:
    """Return a file per class and one of queues. Raises TargetError if Kubernetes, the operator or YuniKorn
    reject one.
    """
    loads = running(deployment)
    names = object_names([load.name for load in loads])
    executors = [executors_of(deployment, load) for load in loads]
    notes = (*deployment.notes, *driver_notes(loads), PROGRAM_NOTE, *_of_nodes(deployment))
    comments = (*deployment.origin.lines(), *(f"not exported: {note}" for note in notes))
    files = {}
    for name, load, each in zip(names, loads, executors, strict=True):
        document = _application(deployment, name, load, each)
        _refuse(mistakes(document))
        files[f"sparkapplication-{name}.yaml"] = yaml_text(document, comments)
    queues = _queues(names, loads, executors)
    _refuse(mistakes_of_queues(queues))
    wrapped = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "yunikorn-configs", "namespace": "yunikorn"},
        "data": {"queues.yaml": yaml_text(queues)},
    }
    files["queues.yaml"] = yaml_text(wrapped, comments)
    return Exported(files, notes, beyond_node(deployment, KUBERNETES))


def _application(deployment: Deployment, name: str, load: Workload, executors: Executors) -> dict[str, Any]:
    parts, driver = executors.parts, executors.driver_parts
    settings = {
        "spark.task.cpus": str(executors.task_cpus),
        f"{ALLOCATION}executorIdleTimeout": f"{executors.idle_timeout}s",
    }
    if parts.off_heap:
        settings |= {"spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": f"{parts.off_heap}m"}
    if executors.partitions is not None:
        settings |= partition_settings(executors.partitions)
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "annotations": {
                "mrdsl/spec": plain(deployment.origin.spec),
                "mrdsl/class": load.name,
                "mrdsl/applications": str(load.jobs),
                "mrdsl/plan": deployment.origin.plan,
                "mrdsl/version": deployment.origin.version,
            },
        },
        "spec": {
            "type": "Scala",
            "mode": "cluster",
            "image": IMAGE,
            "mainApplicationFile": PROGRAM,
            "sparkVersion": SPARK,
            "sparkConf": settings,
            "driver": {
                "cores": executors.driver.vcores,
                "memory": f"{driver.heap}m",
                "memoryOverhead": f"{driver.overhead}m",
                "serviceAccount": "spark-operator-spark",
            },
            "executor": {
                "instances": executors.first,
                "cores": executors.cores,
                **_request(executors),
                "memory": f"{parts.heap}m",
                "memoryOverhead": f"{parts.overhead}m",
            },
            "dynamicAllocation": {
                "enabled": True,
                "initialExecutors": executors.first,
                "minExecutors": executors.least,
                "maxExecutors": executors.most,
                "shuffleTrackingEnabled": True,
            },
            "batchScheduler": "yunikorn",
            "batchSchedulerOptions": {"queue": f"root.{name}"},
        },
    }


def _request(executors: Executors) -> dict[str, str]:
    """Return the request of a pod whose tasks take parts of a core, which Spark counts as whole ones."""
    asked = executors.tasks * executors.size.cores
    return {} if asked == executors.cores else {"coreRequest": f"{round(1000 * asked)}m"}


def _queues(names: Sequence[str], loads: Sequence[Workload], executors: Sequence[Executors]) -> dict[str, Any]:
    def queue(name: str, load: Workload, each: Executors) -> dict[str, Any]:
        held = _quota(load, each)
        return {
            "name": name,
            "maxapplications": load.jobs,
            "resources": {"guaranteed": held, "max": held},
        }

    below = [queue(*row) for row in zip(names, loads, executors, strict=True)]
    return {"partitions": [{"name": "default", "queues": [{"name": "root", "submitacl": "*", "queues": below}]}]}


def _quota(load: Workload, each: Executors) -> dict[str, str]:
    """Room for all executors and drivers of the class."""
    cores = each.every * each.tasks * each.size.cores + load.jobs * each.driver.cores
    memory = each.every * each.memory + load.jobs * each.driver.memory
    return {"vcore": f"{round(1000 * cores)}m", "memory": f"{memory}Mi"}


def _of_nodes(deployment: Deployment) -> Iterator[str]:
    if deployment.groups:
        held = ", ".join(f"{group.count} {group.vm} {group.lane}" for group in deployment.groups)
        yield f"the nodes: {held}"


def object_names(names: Sequence[str]) -> list[str]:
    """Return names that Kubernetes takes: small letters, digits and -, a letter first; a second one gets a number."""

    def plain_name(name: str) -> str:
        word = re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")
        return (word if word[:1].isalpha() else f"class-{word}".strip("-"))[: NAME_LENGTH - 4].rstrip("-")

    return distinct(names, plain_name, "-")


def _refuse(wrong: Sequence[str]) -> None:
    if wrong:
        raise TargetError("; ".join(wrong))
