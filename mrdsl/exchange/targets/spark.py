"""Spark: a ``spark-defaults.conf`` per class, to submit one application of the class with, and what Spark 3.5 refuses.

One task of the plan is one task of Spark, and an executor runs as many tasks as fill it without a rest: the executors
of all applications run the plan's tasks at once, neither more nor fewer. A container of the plan is an executor's heap
and its overhead together. The driver is not one of the plan's tasks. Each rule names its source:

[configuration] spark.apache.org/docs/3.5.6/configuration.html
[memory]        org.apache.spark.memory.UnifiedMemoryManager: 1.5 times the 300 MiB that are reserved
[allocation]    org.apache.spark.ExecutorAllocationManager.validateSettings
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mrdsl.core.rounding import ROUNDING, ceiling
from mrdsl.exchange.schedulers import ROOT
from mrdsl.exchange.targets.deployment import (
    Container,
    Deployment,
    Exported,
    Setting,
    TargetError,
    Wishes,
    Workload,
    file_words,
)
from mrdsl.exchange.targets.yarn import LAYER, SYSTEM_CORES, SYSTEM_MEMORY, Size, kinds_of, queues_of, sizes_of

Settings = Mapping[str, str]
HEAP_LEAST = 450
"""MiB of the smallest heap [memory]."""
OVERHEAD_SHARE = 0.10
OVERHEAD_LEAST = 384
"""Least memory in addition to the heap [MiB]; otherwise a share of the heap [configuration]."""
UNITS = {"": 1.0, "k": 2**-10, "m": 1.0, "g": 2.0**10, "t": 2.0**20}
MEMORY = re.compile(r"([0-9]+)([kmgt]?)b?", re.IGNORECASE)
ALLOCATION = "spark.dynamicAllocation."


def mistakes(settings: Settings) -> list[str]:
    """Everything that Spark would refuse of the settings of one application."""
    return [reason for rule in RULES for reason in rule(settings)]


def mib(text: str) -> float | None:
    """Return memory in MiB as Spark writes it, with plain numbers as MiB, or None."""
    found = MEMORY.fullmatch(text.strip())
    return None if found is None else float(found[1]) * UNITS[found[2].lower()]


def memory(settings: Settings) -> Iterator[str]:
    """Memory is a number with a unit; a heap has 450 MiB at least [memory]."""
    for name in ("spark.driver.memory", "spark.executor.memory"):
        if name in settings:
            heap = mib(settings[name])
            if heap is None or heap < HEAP_LEAST:
                yield f"{name} is `{settings[name]}`, and Spark's heap has {HEAP_LEAST}m at least"


def overhead(settings: Settings) -> Iterator[str]:
    """Check that overhead is a size; by default it is a tenth of the heap, at least 384 MiB [configuration]."""
    for part in ("driver", "executor"):
        name = f"spark.{part}.memoryOverhead"
        if name in settings and mib(settings[name]) is None:
            yield f"{name} is `{settings[name]}`, which is not a size such as 384m"


def cores(settings: Settings) -> Iterator[str]:
    """Executors have cores for a task at least, and none that no task can use."""
    found = {name: _count(settings, f"spark.{name}", "1") for name in ("executor.cores", "driver.cores", "task.cpus")}
    for name, count in found.items():
        if count is None or count < 1:
            yield f"spark.{name} is `{settings[f'spark.{name}']}`, not a whole number from 1 on"
            return
    executor, task = found["executor.cores"] or 1, found["task.cpus"] or 1
    if executor % task:
        yield f"an executor of {executor} cores runs no whole number of tasks of {task}"


def allocation(settings: Settings) -> Iterator[str]:
    """From the fewest executors to the most, and a place for the shuffle of those that go [allocation]."""
    if settings.get(f"{ALLOCATION}enabled") != "true":
        return
    least, most = _count(settings, f"{ALLOCATION}minExecutors", "0"), _count(settings, f"{ALLOCATION}maxExecutors", "1")
    first = _count(settings, f"{ALLOCATION}initialExecutors", str(least))
    if least is None or most is None or first is None or not 0 <= least <= first <= most or most < 1:
        yield "executors are not from 0 on, as many at first as at least, and 1 or more at most"
    kept = ("spark.shuffle.service.enabled", f"{ALLOCATION}shuffleTracking.enabled")
    if all(settings.get(name) != "true" for name in kept):
        yield "executors come and go, and neither a shuffle service nor tracking keeps what they have shuffled"


def counts(settings: Settings) -> Iterator[str]:
    """Partitions are 1 at least."""
    for name in ("spark.sql.shuffle.partitions", "spark.default.parallelism"):
        if (_count(settings, name, "1") or 0) < 1:
            yield f"{name} is `{settings[name]}`, not a whole number from 1 on"


def _count(settings: Settings, name: str, default: str) -> int | None:
    text = settings.get(name, default)
    return int(text) if re.fullmatch(r"-?[0-9]+", text) else None


RULES: tuple[Callable[[Settings], Iterator[str]], ...] = (memory, overhead, cores, allocation, counts)


MIB = 2**20
TASKS_OF_EXECUTOR = 5
"""Most tasks of an executor: more threads wait for each other at the storage."""
DRIVER = Size(SYSTEM_CORES, SYSTEM_MEMORY // MIB)
"""Container of a driver, heap and overhead."""
IDLE = 60
"""Seconds without a task after which Spark gives an executor back by default [configuration]."""


@dataclass(frozen=True)
class Parts:
    """Parts of a container's memory [MiB]."""

    heap: int
    overhead: int
    off_heap: int = 0


@dataclass(frozen=True)
class Executors:
    """The executors of one class's applications.

    One runs ``tasks`` of ``size`` each, and is a ``container`` of the plan if that has executors. An application has
    ``least`` to ``most`` of them, all applications ``every``. ``idle`` is the longest planned time of an application
    without tasks [s].
    """

    tasks: int
    size: Size
    least: int
    most: int
    every: int
    partitions: int | None
    container: Container | None = None
    driver_container: Container | None = None
    idle: float = 0.0

    @property
    def first(self) -> int:
        """Executors of an application at its start, one at least."""
        return self.least or self.most

    @property
    def idle_timeout(self) -> int:
        """Seconds after which an application gives an executor back: longer than any planned time without tasks."""
        return max(IDLE, int(self.idle) + 1)

    @property
    def cores(self) -> int:
        """Cores of an executor."""
        if self.container is not None:
            return max(self.tasks, int(ceiling(self.container.cores)))
        return self.tasks * self.size.vcores

    @property
    def memory(self) -> int:
        """MiB of an executor: heap, overhead and off-heap."""
        return self.tasks * self.size.memory if self.container is None else int(self.container.memory / MIB)

    @property
    def task_cpus(self) -> int:
        """Cores of a task, as Spark counts them."""
        return self.size.vcores if self.container is None else self.cores // self.tasks

    @property
    def parts(self) -> Parts:
        """Heap, overhead and off-heap memory of an executor."""
        return parts_of(self.memory, self.container)

    @property
    def driver(self) -> Size:
        """Container of a driver."""
        there = self.driver_container
        return DRIVER if there is None else Size(max(1, int(ceiling(there.cores))), int(there.memory / MIB))

    @property
    def driver_parts(self) -> Parts:
        """Heap, overhead and off-heap memory of a driver."""
        return parts_of(self.driver.memory, self.driver_container)


def executors_of(deployment: Deployment, load: Workload) -> Executors:
    """Return the executors for the slots of a class.

    Map and reduce tasks of a class run in the same executors, one phase after the other: as many as the phase with more
    slots needs, each with the size of the larger task. Raises TargetError if that is more than the machines of the
    class hold, or if the spec does not give the size of a task.
    """
    sizes = sizes_of(deployment, load)
    kinds = kinds_of(load)
    size = sizes[kinds[0]]
    for kind in kinds[1:]:
        size = size.joined(sizes[kind])
    if len(kinds) > 1:
        _refuse_lack(load, size)
    held = [(max(one.at_once for one in share.tasks), share.jobs) for share in load.shares]
    slots = sum(each for each, _ in held)
    least, most = min(each // jobs for each, jobs in held), max(-(-each // jobs) for each, jobs in held)
    if load.executor is not None:
        tasks = load.executor.tasks
        least, most = min(n // tasks // jobs for n, jobs in held), max(-(-(n // tasks) // jobs) for n, jobs in held)
        every = slots // tasks
        return Executors(tasks, size, least, most, every, load.partitions, load.executor, load.driver, load.idle)
    hosted = [one.per_vm for share in load.shares for one in share.tasks]
    whole = (least, most, slots, *hosted)
    tasks = max(k for k in range(1, TASKS_OF_EXECUTOR + 1) if all(n % k == 0 for n in whole))
    numbers = least // tasks, most // tasks, slots // tasks
    return Executors(tasks, size, *numbers, load.partitions, driver_container=load.driver, idle=load.idle)


def _refuse_lack(load: Workload, size: Size) -> None:
    for share in load.shares:
        fewest = min(one.per_vm for one in share.tasks)
        needed = max(one.at_once for one in share.tasks) / fewest
        planned = sum(one.at_once / one.per_vm for one in share.tasks)
        if needed > planned * (1 + ROUNDING):
            raise TargetError(
                f"class {load.name} has map and reduce slots of different sizes, and Spark runs both in the same "
                f"executors: of {size.vcores} cores and {size.memory} MiB they would take {needed:.6g} {share.vm}, and "
                f"the plan has {planned:.6g} for the class",
                "give map and reduce tasks one size, or describe the class by `stage` blocks",
            )


def spark(deployment: Deployment, _: Wishes) -> Exported:
    """Return a file per class. Raises TargetError if Spark would reject one, or cannot run the class as planned."""
    loads = running(deployment)
    names = queues_of(deployment, loads)
    found = {name: executors_of(deployment, load) for name, load in zip(names, loads, strict=True)}
    notes = (*deployment.notes, *driver_notes(loads))
    settings = {load.name: explained(name, load, found[name]) for name, load in zip(names, loads, strict=True)}
    files = {
        f"spark-defaults-{word}.conf" if len(names) > 1 else "spark-defaults.conf": _file(
            deployment, load, found[name], settings[load.name], notes
        )
        for word, name, load in zip(file_words(names), names, loads, strict=True)
    }
    return Exported(files, notes, settings=tuple(each for row in settings.values() for each in row))


def explained(queue: str, load: Workload, executors: Executors) -> tuple[Setting, ...]:
    """Return the settings of one application of a class, each with its reason. Raises TargetError as :func:`conf`."""
    why = dict(_reasons(load, executors))
    found = conf(queue, load.name, executors)
    return tuple(Setting(load.name, name, value, why[name]) for name, value in found.items())


def _reasons(load: Workload, executors: Executors) -> Iterator[tuple[str, str]]:
    """Yield the reason of each setting that :func:`conf` can have."""
    slots = executors.every * executors.tasks
    planned = executors.container is not None
    own = "the spec's executor" if planned else f"{executors.tasks} tasks of {executors.size.memory} MiB"
    usual = f"{OVERHEAD_SHARE:.0%} of the heap, at least {OVERHEAD_LEAST} MiB"
    given = planned and executors.container is not None and executors.container.overhead is not None
    driver = "the spec's driver" if executors.driver_container is not None else "a small driver; the spec has none"
    yield "spark.app.name", "the class"
    yield "spark.yarn.queue", f"its queue has {load.weight:.0%} of the cluster"
    yield "spark.driver.cores", driver
    yield "spark.driver.memory", f"{driver}: {executors.driver.memory} MiB less the overhead"
    yield "spark.driver.memoryOverhead", f"of the driver's {executors.driver.memory} MiB"
    yield "spark.executor.cores", f"{own}: {executors.tasks} tasks side by side"
    yield "spark.executor.memory", f"{own}: {executors.memory} MiB less overhead and off-heap"
    yield "spark.executor.memoryOverhead", "the spec's `overhead`" if given else usual
    yield "spark.memory.offHeap.enabled", "the spec's `off_heap`"
    yield "spark.memory.offHeap.size", "the spec's `off_heap`"
    yield "spark.task.cpus", f"{executors.cores} cores for {executors.tasks} tasks"
    yield (
        "spark.executor.instances",
        f"{slots} slots are {executors.every} executors of {load.jobs} applications",
    )
    yield f"{ALLOCATION}enabled", "an application keeps its planned executors, and returns those beyond the fewest"
    yield f"{ALLOCATION}shuffleTracking.enabled", "keeps executors whose shuffle data is still needed"
    fewest = f"the fewest that an application of the plan has: {executors.least}"
    yield f"{ALLOCATION}minExecutors", fewest
    yield (
        f"{ALLOCATION}initialExecutors",
        fewest if executors.least else f"the most of an application: {executors.most}",
    )
    yield f"{ALLOCATION}maxExecutors", f"the most that an application of the plan has: {executors.most}"
    longest = f"the longest planned time without tasks: {executors.idle:.4g} s"
    usual_idle = executors.idle_timeout == IDLE
    yield f"{ALLOCATION}executorIdleTimeout", f"Spark's own, above {longest}" if usual_idle else f"above {longest}"
    for name in ("spark.sql.shuffle.partitions", "spark.default.parallelism"):
        yield name, f"tasks of the widest planned stage or reduce phase that shuffles: {executors.partitions}"


def running(deployment: Deployment) -> tuple[Workload, ...]:
    """Return the classes that have jobs. Raises ValueError if none has."""
    loads = tuple(load for load in deployment.workloads if load.jobs)
    if not loads:
        raise ValueError("no class has a job")
    return loads


def driver_notes(loads: Sequence[Workload]) -> Iterator[str]:
    """Yield the note on drivers, which every Spark target has in addition to a plan without them."""
    if any(load.driver is None for load in loads):
        size = f"{DRIVER.vcores} core and {DRIVER.memory} MiB"
        yield f"the driver of each application takes {size}, besides the planned tasks"


def conf(queue: str, name: str, executors: Executors) -> dict[str, str]:
    """Return the settings of one application. Raises TargetError if Spark would reject them."""
    found = {
        "spark.app.name": name,
        "spark.yarn.queue": f"{ROOT}.{LAYER}.{queue}",
        **sizing(executors),
        **running_settings(executors),
    }
    refuse(found)
    return found


def running_settings(executors: Executors) -> dict[str, str]:
    """Return the numbers of executors and partitions of an application."""
    partitions = {} if executors.partitions is None else partition_settings(executors.partitions)
    return {
        "spark.executor.instances": str(executors.first),
        f"{ALLOCATION}enabled": "true",
        f"{ALLOCATION}shuffleTracking.enabled": "true",
        f"{ALLOCATION}minExecutors": str(executors.least),
        f"{ALLOCATION}initialExecutors": str(executors.first),
        f"{ALLOCATION}maxExecutors": str(executors.most),
        f"{ALLOCATION}executorIdleTimeout": f"{executors.idle_timeout}s",
        **partitions,
    }


def partition_settings(count: int) -> dict[str, str]:
    """Return the partitions of shuffles of data frames and of RDDs."""
    return {"spark.sql.shuffle.partitions": str(count), "spark.default.parallelism": str(count)}


def sizing(executors: Executors) -> dict[str, str]:
    """Driver and executors: cores, memory and overhead."""
    parts, driver = executors.parts, executors.driver_parts
    off_heap = {"spark.memory.offHeap.enabled": "true", "spark.memory.offHeap.size": f"{parts.off_heap}m"}
    return {
        "spark.driver.cores": str(executors.driver.vcores),
        "spark.driver.memory": f"{driver.heap}m",
        "spark.driver.memoryOverhead": f"{driver.overhead}m",
        "spark.executor.cores": str(executors.cores),
        "spark.executor.memory": f"{parts.heap}m",
        "spark.executor.memoryOverhead": f"{parts.overhead}m",
        **(off_heap if parts.off_heap else {}),
        "spark.task.cpus": str(executors.task_cpus),
    }


def parts_of(memory: int, container: Container | None) -> Parts:
    """Return the parts of a container's memory [MiB]: those of the plan, otherwise as :func:`split` has them."""
    off_heap = 0 if container is None else round(container.off_heap / MIB)
    if container is None or container.overhead is None:
        return Parts(*split(memory - off_heap), off_heap)
    overhead = round(container.overhead / MIB)
    return Parts(memory - overhead - off_heap, overhead, off_heap)


def split(container: int) -> tuple[int, int]:
    """Return heap and overhead of a container [MiB]: a tenth of the heap, at least 384 MiB, is overhead."""
    heap = min(int(container / (1 + OVERHEAD_SHARE)), container - OVERHEAD_LEAST)
    if heap < HEAP_LEAST:
        raise TargetError(
            f"of a container of {container} MiB {OVERHEAD_LEAST} are overhead, and Spark's heap has {HEAP_LEAST} MiB "
            "at least",
            f"give tasks {HEAP_LEAST + OVERHEAD_LEAST} MiB or more",
        )
    return heap, container - heap


def refuse(settings: Mapping[str, str]) -> None:
    """Raise TargetError for settings that Spark refuses."""
    wrong = mistakes(settings)
    if wrong:
        raise TargetError("; ".join(wrong))


def _file(
    deployment: Deployment, load: Workload, executors: Executors, settings: Sequence[Setting], notes: tuple[str, ...]
) -> str:
    comments = (
        *deployment.origin.lines(),
        f"class {load.name}: applications at once {load.jobs}, executors among them {executors.every}, "
        f"tasks at once of an executor {executors.tasks}",
        *(f"not exported: {note}" for note in notes),
    )
    width = max(len(each.name) for each in settings) + 2
    lines = (f"# {each.why}\n{each.name:<{width}}{each.value}\n" for each in settings)
    return "".join([*(f"# {line}\n" for line in comments), *lines])
