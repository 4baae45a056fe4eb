"""Kubernetes: a `SparkApplication` per class for the Spark operator, and YuniKorn's queues with a quota each.

A queue holds the executors of all of its class's applications, and their drivers, and no more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from mrdsl.exchange.targets.deployment import Deployment, Exported, TargetError, Wishes, Workload
from mrdsl.exchange.targets.kubernetes_rules import NAME_LENGTH, mistakes, mistakes_of_queues
from mrdsl.exchange.targets.labels import plain
from mrdsl.exchange.targets.naming import distinct
from mrdsl.exchange.targets.spark import DRIVER, Executors, driver_note, executors_of, running, split
from mrdsl.exchange.yaml_text import yaml_text

SPARK = "3.5.6"
IMAGE = f"docker.io/apache/spark:{SPARK}"
PROGRAM = "local:///opt/spark/app.jar"
NAMESPACE = "default"
PROGRAM_NOTE = (
    f"the program of each application: put its own image, language and file in the place of {IMAGE} and {PROGRAM}"
)


def kubernetes(deployment: Deployment, _: Wishes) -> Exported:
    """A file per class and one of queues. Raises TargetError where Kubernetes, the operator or YuniKorn refuse one."""
    loads = running(deployment)
    names = object_names([load.name for load in loads])
    executors = [executors_of(deployment, load) for load in loads]
    notes = (*deployment.notes, driver_note(), PROGRAM_NOTE, *_of_nodes(deployment))
    comments = (*deployment.origin.lines(), *(f"not in it: {note}" for note in notes))
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
    return Exported(files, notes)


def _application(deployment: Deployment, name: str, load: Workload, executors: Executors) -> dict[str, Any]:
    heap, overhead = split(executors.memory)
    driver_heap, driver_overhead = split(DRIVER.memory)
    settings = {"spark.task.cpus": str(executors.size.vcores)}
    if executors.partitions is not None:
        settings["spark.sql.shuffle.partitions"] = str(executors.partitions)
        settings["spark.default.parallelism"] = str(executors.partitions)
    first = executors.least or executors.most
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
                "cores": DRIVER.vcores,
                "memory": f"{driver_heap}m",
                "memoryOverhead": f"{driver_overhead}m",
                "serviceAccount": "spark-operator-spark",
            },
            "executor": {
                "instances": first,
                "cores": executors.cores,
                **_request(executors),
                "memory": f"{heap}m",
                "memoryOverhead": f"{overhead}m",
            },
            "dynamicAllocation": {
                "enabled": True,
                "initialExecutors": first,
                "minExecutors": executors.least,
                "maxExecutors": executors.most,
                "shuffleTrackingEnabled": True,
            },
            "batchScheduler": "yunikorn",
            "batchSchedulerOptions": {"queue": f"root.{name}"},
        },
    }


def _request(executors: Executors) -> dict[str, str]:
    """What the pod asks for where tasks take parts of a core, which Spark itself counts as whole ones."""
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
    cores = each.every * each.tasks * each.size.cores + load.jobs * DRIVER.cores
    memory = each.every * each.memory + load.jobs * DRIVER.memory
    return {"vcore": f"{round(1000 * cores)}m", "memory": f"{memory}Mi"}


def _of_nodes(deployment: Deployment) -> Iterator[str]:
    if deployment.groups:
        held = ", ".join(f"{group.count} {group.vm} {group.lane}" for group in deployment.groups)
        yield f"the nodes: {held}"


def object_names(names: Sequence[str]) -> list[str]:
    """Names that Kubernetes takes: small letters, digits and -, a letter first; a second one gets a number."""

    def plain_name(name: str) -> str:
        word = re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-")
        return (word if word[:1].isalpha() else f"class-{word}".strip("-"))[: NAME_LENGTH - 4].rstrip("-")

    return distinct(names, plain_name, "-")


def _refuse(wrong: Sequence[str]) -> None:
    if wrong:
        raise TargetError("; ".join(wrong))
