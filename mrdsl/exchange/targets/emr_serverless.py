"""EMR Serverless: an application per class, as ``create_application(**json)`` of boto3 takes it, and its rules.

Workers have the sizes of the service: an executor is the smallest size that holds some of the plan's tasks, chosen so
that least of it lies idle. The application initializes all that the class runs at once, and may have no more. Each rule
names its page:

[workers]  docs.aws.amazon.com/emr/latest/EMR-Serverless-UserGuide/app-behavior.html
[capacity] docs.aws.amazon.com/emr/latest/EMR-Serverless-UserGuide/pre-init-capacity.html
[spark]    docs.aws.amazon.com/emr/latest/EMR-Serverless-UserGuide/jobs-spark.html
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mrdsl.exchange.targets import spark
from mrdsl.exchange.targets.deployment import (
    Deployment,
    Exported,
    TargetError,
    Wishes,
    Workload,
    distinct,
    file_words,
    mistakes_of_tags,
    tags,
)
from mrdsl.exchange.targets.emr import RELEASE
from mrdsl.exchange.targets.spark import TASKS_OF_EXECUTOR, Executors, executors_of, refuse, running, split
from mrdsl.exchange.targets.yarn import Size

Document = Mapping[str, Any]
NAME_LENGTH = 64
WORKERS: Mapping[int, tuple[int, int, int]] = {
    1: (2, 8, 1),
    2: (4, 16, 1),
    4: (8, 30, 1),
    8: (16, 60, 4),
    16: (32, 120, 8),
}
"""Memory of a worker by its vCPU [GB]: from, to, step [workers]."""
DISK_LEAST, DISK_MOST = 20, 200
"""GB of a worker's disk [workers]."""
KINDS = {"SPARK": ("Driver", "Executor"), "HIVE": ("HiveDriver", "TezTask")}
CPU = re.compile(r"([1-9]\d*) ?(vCPU)?", re.IGNORECASE)
GIGABYTES = re.compile(r"([1-9]\d*) ?(GB)?", re.IGNORECASE)


def mistakes(document: Document) -> list[str]:
    """Everything of a `CreateApplication` request that the service would refuse."""
    return [reason for rule in RULES for reason in rule(document)]


def worker_sizes(document: Document) -> Iterator[str]:
    """Yield a worker has 1, 2, 4, 8 or 16 vCPU, memory in its range and steps, and 20 to 200 GB of disk [workers]."""
    for kind, each in document.get("initialCapacity", {}).items():
        size = each["workerConfiguration"]
        cpu, memory = number(CPU, size["cpu"]), number(GIGABYTES, size["memory"])
        if cpu is None or cpu not in WORKERS or memory is None:
            yield f"{kind}: there is no worker of `{size['cpu']}` and `{size['memory']}`"
            continue
        least, most, step = WORKERS[cpu]
        if not least <= memory <= most or (memory - least) % step:
            yield f"{kind}: {cpu} vCPU have {least} to {most} GB in steps of {step}, not {memory}"
        disk = number(GIGABYTES, size.get("disk", f"{DISK_LEAST} GB"))
        if disk is None or not DISK_LEAST <= disk <= DISK_MOST:
            yield f"{kind}: a worker has {DISK_LEAST} to {DISK_MOST} GB of disk, not `{size['disk']}`"


def kinds(document: Document) -> Iterator[str]:
    """Spark has drivers and executors, of each one size [capacity]."""
    known = KINDS.get(document["type"].upper())
    if known is None:
        yield f"`{document['type']}` is no kind of application: SPARK or HIVE"
        return
    for kind in document.get("initialCapacity", {}):
        if kind not in known:
            yield f"`{kind}` is no worker of {document['type']}: {' or '.join(known)}"


def maximum(document: Document) -> Iterator[str]:
    """Check that the maximum capacity is at least the initial one [capacity]."""
    most = document.get("maximumCapacity")
    if most is None:
        return
    for resource, pattern in (("cpu", CPU), ("memory", GIGABYTES), ("disk", GIGABYTES)):
        first = sum(
            each["workerCount"] * (number(pattern, each["workerConfiguration"].get(resource, "0")) or 0)
            for each in document.get("initialCapacity", {}).values()
        )
        if resource in most and (number(pattern, most[resource]) or 0) < first:
            yield f"at most `{most[resource]}` of {resource} is less than the {first} that are initialised"


def settings(document: Document) -> Iterator[str]:
    """Spark's settings keep Spark's rules, and an executor of them fits its worker, overhead included [spark]."""
    for each in document.get("runtimeConfiguration", ()):
        found = each.get("properties", {})
        yield from spark.mistakes(found)
        for kind, part in (("Driver", "driver"), ("Executor", "executor")):
            worker = document.get("initialCapacity", {}).get(kind)
            if worker is None or f"spark.{part}.memory" not in found:
                continue
            size = worker["workerConfiguration"]
            asked = sum(spark.mib(found.get(f"spark.{part}.memory{end}", "0")) or 0 for end in ("", "Overhead"))
            if asked > 1024 * (number(GIGABYTES, size["memory"]) or 0):
                yield f"{part}: heap and overhead of {asked:.0f} MiB are more than the worker's {size['memory']}"
            if int(found.get(f"spark.{part}.cores", "1")) != number(CPU, size["cpu"]):
                yield f"{part}: {found.get(f'spark.{part}.cores', '1')} cores are not the worker's {size['cpu']}"


def words(document: Document) -> Iterator[str]:
    """Check the form of the release, from the first one of the service, and the characters of tags."""
    label = re.fullmatch(r"emr-(\d+)\.(\d+)\.\d+", document["releaseLabel"])
    if label is None or (int(label[1]), int(label[2])) < (6, 6):
        yield f"`{document['releaseLabel']}` is no release from emr-6.6.0 on"
    yield from mistakes_of_tags(document.get("tags", {}).items())


def number(pattern: re.Pattern[str], text: str) -> int | None:
    """Return the whole number of a quantity such as ``4 vCPU``, or None."""
    found = pattern.fullmatch(text)
    return int(found[1]) if found else None


RULES: tuple[Callable[[Document], Iterator[str]], ...] = (worker_sizes, kinds, maximum, settings, words)


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
    """Return a file per class. Raises TargetError if the service has no worker for its tasks."""
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
    yield f"the driver of each application is a worker, {DRIVER[0]} vCPU and {DRIVER[1]} GB, besides the planned tasks"


def worker_for(executors: Executors, name: str) -> Worker:
    """Return the worker of which least lies idle; of those alike the largest."""
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
    """Yield the smallest size with enough cores and memory for that many tasks."""
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
    """Return the same for the same class of the same plan, so that a file that is applied twice makes one
    application.
    """
    return "mrdsl-" + hashlib.sha256(f"{plan} {name}".encode()).hexdigest()[:32]


def _size(cpu: int, memory: int) -> dict[str, str]:
    return {"cpu": f"{cpu} vCPU", "memory": f"{memory} GB", "disk": f"{DISK_LEAST} GB"}


def _settings(executors: Executors, worker: Worker) -> dict[str, str]:
    """Return the settings of an application: tasks with as many cores as leave none of the worker's idle."""
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
