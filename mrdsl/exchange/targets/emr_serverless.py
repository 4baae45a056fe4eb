"""EMR Serverless: an application per class, as ``create_application(**json)`` of boto3's client takes it.

Workers are of the sizes that the service has: an executor is the smallest of them that holds some of the plan's tasks,
chosen so that least of it lies idle. What is initialised is all that the class runs at once, and no more may be had.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from mrdsl.exchange.targets.deployment import Deployment, Exported, TargetError, Wishes, Workload
from mrdsl.exchange.targets.emr import RELEASE
from mrdsl.exchange.targets.emr_serverless_rules import DISK_LEAST, NAME_LENGTH, WORKERS, mistakes
from mrdsl.exchange.targets.labels import tags
from mrdsl.exchange.targets.naming import distinct, file_words
from mrdsl.exchange.targets.sizes import Size
from mrdsl.exchange.targets.spark import TASKS_OF_EXECUTOR, Executors, executors_of, refuse, running, split

GB = 1024
"""MiB in what the service calls a GB."""
DRIVER = 1, 2
"""Cores and GB of a driver: the smallest worker."""


@dataclass(frozen=True)
class Worker:
    """One executor: its cores and GB, and how many tasks it runs."""

    cpu: int
    memory: int
    tasks: int


def emr_serverless(deployment: Deployment, _: Wishes) -> Exported:
    """A file per class. Raises TargetError where the service has no worker for its tasks."""
    loads = running(deployment)
    names = [load.name for load in loads]
    applications = distinct(names, _application_name, "-", NAME_LENGTH)
    notes = (*deployment.notes, *_of_bill(deployment))
    files = {}
    for name, application, load in zip(file_words(names), applications, loads, strict=True):
        executors = executors_of(deployment, load)
        document = _application(deployment, application, load, executors, notes)
        wrong = mistakes(document)
        if wrong:
            raise TargetError("; ".join(wrong))
        file = f"emr-serverless-{name}.json" if len(names) > 1 else "emr-serverless.json"
        files[file] = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return Exported(files, notes)


def _of_bill(deployment: Deployment) -> Iterator[str]:
    yield "the machines and their prices - the service has workers and prices of its own"
    yield f"the driver of each application is a worker of {DRIVER[0]} vCPU and {DRIVER[1]} GB beside the tasks planned"


def worker_for(executors: Executors, name: str) -> Worker:
    """The worker of which least lies idle; of those alike the largest."""
    least, most = executors.least * executors.tasks, executors.most * executors.tasks
    every = executors.every * executors.tasks
    fitting = [
        Worker(cpu, memory, tasks)
        for tasks in range(1, TASKS_OF_EXECUTOR + 1)
        if all(slots % tasks == 0 for slots in (least, most, every))
        for cpu, memory in _holding(executors.size, tasks)
    ]
    if not fitting:
        raise TargetError(
            f"no worker holds a task of class {name}, of {executors.size.vcores} cores and {executors.size.memory} MiB",
            "workers have 1, 2, 4, 8 or 16 vCPU and up to 8, 16, 30, 60 or 120 GB",
        )
    return min(fitting, key=lambda worker: (worker.cpu / worker.tasks, worker.memory / worker.tasks, -worker.tasks))


def _holding(size: Size, tasks: int) -> Iterator[tuple[int, int]]:
    """The smallest size with so many cores for so many tasks, and as much memory."""
    for cpu, (least, most, step) in WORKERS.items():
        gigabytes = max(least, -(-tasks * size.memory // GB))
        memory = least + -(-(gigabytes - least) // step) * step
        if cpu >= tasks * size.vcores and cpu % tasks == 0 and memory <= most:
            yield cpu, memory


def _application(
    deployment: Deployment, name: str, load: Workload, executors: Executors, notes: tuple[str, ...]
) -> dict[str, Any]:
    worker = worker_for(executors, load.name)
    count = executors.every * executors.tasks // worker.tasks
    workers = load.jobs + count
    return {
        "name": name,
        "releaseLabel": RELEASE,
        "type": "SPARK",
        "clientToken": _token(deployment.origin.plan, load.name),
        "initialCapacity": {
            "Driver": {"workerCount": load.jobs, "workerConfiguration": _size(*DRIVER)},
            "Executor": {"workerCount": count, "workerConfiguration": _size(worker.cpu, worker.memory)},
        },
        "maximumCapacity": {
            "cpu": f"{load.jobs * DRIVER[0] + count * worker.cpu} vCPU",
            "memory": f"{load.jobs * DRIVER[1] + count * worker.memory} GB",
            "disk": f"{workers * DISK_LEAST} GB",
        },
        "runtimeConfiguration": [
            {"classification": "spark-defaults", "properties": _settings(executors, worker)},
        ],
        "tags": tags(deployment.origin, notes),
    }


def _application_name(name: str) -> str:
    return f"mrdsl-{re.sub('[^A-Za-z0-9._-]', '-', name)}"


def _token(plan: str, name: str) -> str:
    """The same for the same class of the same plan, so that a file that is applied twice makes one application."""
    return "mrdsl-" + hashlib.sha256(f"{plan} {name}".encode()).hexdigest()[:32]


def _size(cpu: int, memory: int) -> dict[str, str]:
    return {"cpu": f"{cpu} vCPU", "memory": f"{memory} GB", "disk": f"{DISK_LEAST} GB"}


def _settings(executors: Executors, worker: Worker) -> dict[str, str]:
    """What an application is submitted with: tasks of as many cores as leave none of the worker's idle."""
    heap, overhead = split(worker.memory * GB)
    driver_heap, driver_overhead = split(DRIVER[1] * GB)
    least, most = (number * executors.tasks // worker.tasks for number in (executors.least, executors.most))
    found = {
        "spark.driver.cores": str(DRIVER[0]),
        "spark.driver.memory": f"{driver_heap}m",
        "spark.driver.memoryOverhead": f"{driver_overhead}m",
        "spark.executor.cores": str(worker.cpu),
        "spark.executor.memory": f"{heap}m",
        "spark.executor.memoryOverhead": f"{overhead}m",
        "spark.task.cpus": str(worker.cpu // worker.tasks),
        "spark.executor.instances": str(least or most),
        "spark.dynamicAllocation.enabled": "true",
        "spark.dynamicAllocation.shuffleTracking.enabled": "true",
        "spark.dynamicAllocation.minExecutors": str(least),
        "spark.dynamicAllocation.initialExecutors": str(least or most),
        "spark.dynamicAllocation.maxExecutors": str(most),
    }
    if executors.partitions is not None:
        found["spark.sql.shuffle.partitions"] = str(executors.partitions)
        found["spark.default.parallelism"] = str(executors.partitions)
    refuse(found)
    return found
