"""EMR Serverless: an application per class, as ``create_application(**json)`` of boto3 takes it, and its rules.

Workers have the sizes of the service. An executor of the plan is a worker if there is one of its cores and enough
memory. Otherwise it is the smallest size that holds some of the plan's tasks, chosen so that least of it lies idle. The
application initializes all that the class runs at once, and may have no more. Each rule
names its page:

[workers]  docs.aws.amazon.com/emr/latest/EMR-Serverless-UserGuide/app-behavior.html
[capacity] docs.aws.amazon.com/emr/latest/EMR-Serverless-UserGuide/pre-init-capacity.html
[spark]    docs.aws.amazon.com/emr/latest/EMR-Serverless-UserGuide/jobs-spark.html
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mrdsl.core.diagnostics import Diagnostic, warning
from mrdsl.exchange.targets import spark
from mrdsl.exchange.targets.deployment import (
    Container,
    Deployment,
    Exported,
    Setting,
    TargetError,
    Wishes,
    Workload,
    distinct,
    file_words,
    mistakes_of_tags,
    tags,
)
from mrdsl.exchange.targets.emr import RELEASE
from mrdsl.exchange.targets.spark import (
    TASKS_OF_EXECUTOR,
    Executors,
    executors_of,
    explained,
    refuse,
    running,
    running_settings,
    sizing,
)
from mrdsl.exchange.targets.yarn import MIB, Size

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
IDLE_MINUTES = 15
"""Minutes after which an idle application stops, and its workers are no longer paid for [workers]."""
DISK_LEAST, DISK_MOST = 20, 200
"""GB of a worker's disk [workers]."""
KINDS = {"SPARK": ("Driver", "Executor"), "HIVE": ("HiveDriver", "TezTask")}
CPU = re.compile(r"([1-9][0-9]*) ?(vCPU)?", re.IGNORECASE)
GIGABYTES = re.compile(r"([1-9][0-9]*) ?(GB)?", re.IGNORECASE)


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
            if kind == "Executor" and found.get("spark.memory.offHeap.enabled") == "true":
                asked += spark.mib(found.get("spark.memory.offHeap.size", "0")) or 0
            if asked > 1024 * (number(GIGABYTES, size["memory"]) or 0):
                yield f"{part}: {asked:.0f} MiB of memory are more than the worker's {size['memory']}"
            if int(found.get(f"spark.{part}.cores", "1")) != number(CPU, size["cpu"]):
                yield f"{part}: {found.get(f'spark.{part}.cores', '1')} cores are not the worker's {size['cpu']}"


def words(document: Document) -> Iterator[str]:
    """Check the form of the release, from the first one of the service, and the characters of tags."""
    label = re.fullmatch(r"emr-([0-9]+)\.([0-9]+)\.[0-9]+", document["releaseLabel"])
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
DRIVER = Size(1, 2 * GB)
"""The container of a driver if the plan has none: the smallest worker."""


@dataclass(frozen=True)
class Worker:
    """The worker of an executor or a driver: its cores and GB, and how many tasks it runs."""

    cpu: int
    memory: int
    tasks: int = 1


def emr_serverless(deployment: Deployment, _: Wishes) -> Exported:
    """Return a file per class. Raises TargetError if the service has no worker for its tasks or its driver."""
    loads = running(deployment)
    names = [load.name for load in loads]
    applications = distinct(names, _application_name, "-", NAME_LENGTH)
    chosen = [_chosen(load, executors_of(deployment, load)) for load in loads]
    notes = (*deployment.notes, *_of_bill(loads, chosen))
    files = {}
    for name, application, load, one in zip(file_words(names), applications, loads, chosen, strict=True):
        document = _application(deployment, application, load, one, notes)
        wrong = mistakes(document)
        if wrong:
            raise TargetError("; ".join(wrong))
        file = f"emr-serverless-{name}.json" if len(names) > 1 else "emr-serverless.json"
        files[file] = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    told = (_beyond_worker(load, one) for load, one in zip(loads, chosen, strict=True) if one.other is not None)
    settings = (each for load, one in zip(loads, chosen, strict=True) for each in _explained(load, one))
    return Exported(files, notes, tuple(told), tuple(settings))


def _explained(load: Workload, one: _Chosen) -> Iterator[Setting]:
    """Yield the settings with their reasons: sizes that are not the plan's are those of the worker."""
    chosen = load.executor is None or one.other is not None
    worker = f"a worker of {one.executor.cpu} vCPU and {one.executor.memory} GB, for {one.executor.tasks} tasks"
    written = _settings(one)
    for each in explained(load.name, load, one.executors):
        if each.name in written:
            of_size = each.name in ("spark.executor.cores", "spark.executor.memory")
            yield replace(each, why=worker) if chosen and of_size else each


@dataclass(frozen=True)
class _Chosen:
    """Executors as they run on workers, the workers, and the executors of the plan if these are ``other`` ones."""

    executors: Executors
    executor: Worker
    driver: Worker
    other: Executors | None = None


def _chosen(load: Workload, executors: Executors) -> _Chosen:
    size = Size(executors.driver.cores, executors.driver.memory) if load.driver is not None else DRIVER
    driver = _smallest(size)
    if driver is None:
        raise TargetError(f"no worker holds the driver of class {load.name}, of {_words(size)}", SIZES)
    own = load.driver or Container(driver.cpu, driver.memory * GB * MIB)
    if load.executor is not None:
        worker = _smallest(Size(executors.cores, executors.memory))
        if worker is not None and worker.cpu == executors.cores:
            kept = replace(worker, tasks=executors.tasks)
            return _Chosen(replace(executors, driver_container=_on(driver, own)), kept, driver)
    worker = worker_for(executors, load.name)
    parts = worker.tasks, executors.tasks
    least, most, every = (n * parts[1] // parts[0] for n in (executors.least, executors.most, executors.every))
    found = replace(
        executors,
        tasks=worker.tasks,
        least=least,
        most=most,
        every=every,
        container=Container(worker.cpu, worker.memory * GB * MIB, tasks=worker.tasks),
        driver_container=_on(driver, own),
    )
    return _Chosen(found, worker, driver, executors if load.executor is not None else None)


def _on(worker: Worker, container: Container) -> Container:
    """Return a driver with all cores of its worker."""
    return replace(container, cores=worker.cpu)


def _smallest(size: Size) -> Worker | None:
    """Return the smallest worker that holds a container."""
    return next((Worker(*each) for each in _holding(size, 1)), None)


def _words(size: Size) -> str:
    return f"{size.vcores} core{'s' if size.vcores > 1 else ''} and {size.memory:,} MiB"


def _beyond_worker(load: Workload, one: _Chosen) -> Diagnostic:
    assert one.other is not None
    planned = _words(Size(one.other.cores, one.other.memory))
    what = f"{one.executor.cpu} vCPU and {one.executor.memory} GB"
    message = (
        f"no worker is like the executors of class {load.name}, of {planned}: "
        f"{one.executors.every} of {what} run the tasks of {one.other.every}"
    )
    hint = "plan with executors of 1, 2, 4, 8 or 16 cores, up to 8, 16, 30, 60 or 120 GiB"
    return warning("beyond-node", message, None, hint)


def _of_bill(loads: Sequence[Workload], chosen: Sequence[_Chosen]) -> Iterator[str]:
    yield "the machines and their prices - the service has workers and prices of its own"
    sizes = dict.fromkeys(one.driver for load, one in zip(loads, chosen, strict=True) if load.driver is None)
    for size in sizes:
        what = f"{size.cpu} vCPU and {size.memory} GB"
        yield f"the driver of each application is a worker, {what}, besides the planned tasks"


SIZES = "workers have 1, 2, 4, 8 or 16 vCPU and up to 8, 16, 30, 60 or 120 GB"


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
        raise TargetError(f"no worker holds a task of class {name}, of {_words(executors.size)}", SIZES)
    return min(fitting, key=lambda worker: (worker.cpu / worker.tasks, worker.memory / worker.tasks, -worker.tasks))


def _holding(size: Size, tasks: int) -> Iterator[tuple[int, int]]:
    """Yield the smallest size with enough cores and memory for that many tasks."""
    for cpu, (least, most, step) in WORKERS.items():
        gigabytes = max(least, -(-tasks * size.memory // GB))
        memory = least + -(-(gigabytes - least) // step) * step
        if cpu >= tasks * size.vcores and cpu % tasks == 0 and memory <= most:
            yield cpu, memory


def _application(
    deployment: Deployment, name: str, load: Workload, one: _Chosen, notes: tuple[str, ...]
) -> dict[str, Any]:
    count = one.executors.every
    workers = load.jobs + count
    return {
        "name": name,
        "releaseLabel": RELEASE,
        "type": "SPARK",
        "clientToken": _token(deployment.origin.plan, load.name),
        "initialCapacity": {
            "Driver": {"workerCount": load.jobs, "workerConfiguration": _size(one.driver)},
            "Executor": {"workerCount": count, "workerConfiguration": _size(one.executor)},
        },
        "maximumCapacity": {
            "cpu": f"{load.jobs * one.driver.cpu + count * one.executor.cpu} vCPU",
            "memory": f"{load.jobs * one.driver.memory + count * one.executor.memory} GB",
            "disk": f"{workers * DISK_LEAST} GB",
        },
        "autoStopConfiguration": {"enabled": True, "idleTimeoutMinutes": IDLE_MINUTES},
        "runtimeConfiguration": [{"classification": "spark-defaults", "properties": _settings(one)}],
        "tags": tags(deployment.origin, notes),
    }


def _application_name(name: str) -> str:
    return f"mrdsl-{re.sub('[^A-Za-z0-9._-]', '-', name)}"


def _token(plan: str, name: str) -> str:
    """Return the same for the same class of the same plan, so that a file that is applied twice makes one
    application.
    """
    return "mrdsl-" + hashlib.sha256(f"{plan} {name}".encode()).hexdigest()[:32]


def _size(worker: Worker) -> dict[str, str]:
    return {"cpu": f"{worker.cpu} vCPU", "memory": f"{worker.memory} GB", "disk": f"{DISK_LEAST} GB"}


def _settings(one: _Chosen) -> dict[str, str]:
    """Return the settings of an application: sizes of driver and executors, their numbers, and partitions."""
    found = {**sizing(one.executors), **running_settings(one.executors)}
    refuse(found)
    return found
