"""Executors and drivers of Spark applications, as their logs configure them: cores, heap, overhead and off-heap memory.

A container is heap, overhead and off-heap memory; memory of Python workers counts as overhead. Overhead that is not set
is a share of the heap and at least 384 MiB; the share is 18.75 % for executors on EMR, 40 % for Python on Kubernetes,
otherwise 10 %, also for runs without containers, since those of a plan have some. A local run has one process: its
executor has the heap of the driver if the settings have none for executors.
Sources: spark.apache.org/docs/3.5.6/configuration.html, running-on-kubernetes.html;
docs.aws.amazon.com/emr/latest/ReleaseGuide/emr-spark-configure.html.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from mrdsl.exchange.logs.records import Peaks, SparkApplication
from mrdsl.formulas.platforms import dataproc_hardware, emr_hardware, kubernetes_hardware
from mrdsl.spec.platforms import DATAPROC, EMR, KUBERNETES

LEAST_OVERHEAD = 384
OVERHEAD, OF_EMR, OF_PYTHON = 0.10, 0.1875, 0.40
HEAP = 1024
"""Heap of an executor and of a driver that set none [MiB]."""
UNKNOWN = Peaks()
YARN, STANDALONE, LOCAL = "yarn", "standalone", "local"
_UNITS = {"": 1.0, "b": 2.0**-20, "k": 2.0**-10, "m": 1.0, "g": 2.0**10, "t": 2.0**20, "p": 2.0**30}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([bkmgtp]?)(?:i?b)?", re.IGNORECASE)


@dataclass(frozen=True)
class Memory:
    """Memory of one container in MiB."""

    heap: int
    overhead: int = 0
    off_heap: int = 0

    @property
    def total(self) -> int:
        """The memory of the container."""
        return self.heap + self.overhead + self.off_heap


@dataclass(frozen=True)
class Containers:
    """One executor and the driver of an application, None if the driver takes no container.

    ``tasks`` run on an executor side by side; ``outside``: the driver was not in the cluster. In a plan it is.
    """

    platform: str
    cores: int
    tasks: int
    memory: Memory
    driver_cores: int = 1
    driver: Memory | None = None
    outside: bool = False


def mib(text: str, unit: str = "m") -> float | None:
    """Return a size of Spark in MiB, plain numbers in ``unit``; None if it is not one."""
    found = _SIZE.fullmatch(text.strip())
    return None if found is None else float(found[1]) * _UNITS[found[2].lower() or unit]


def containers_of(application: SparkApplication) -> Containers | None:
    """Return the executor and the driver of an application; None if the log has neither executors nor settings."""
    settings, platform = application.configuration, platform_of(application)
    sizes = Counter(each.cores for each in application.lives)
    several = any(stage.slots > 1 for stage in application.stages)
    if not sizes or not (settings or application.executor_memory or several):
        return None
    cores = max(sizes, key=lambda each: (sizes[each], each))
    tasks = max(1, cores // application.task_cpus)
    resources = application.executor_memory
    heaps = ("spark.executor.memory", "spark.driver.memory")[: 1 + (platform == LOCAL)]
    heap = _size(settings, heaps, int(resources.get("memory", HEAP)))
    least = _overhead(settings, "executor", heap, platform)
    said = ("spark.executor.memoryOverhead", "spark.yarn.executor.memoryOverhead")
    overhead = _size(settings, said, int(resources.get("memoryOverhead", least)))
    overhead += _size(settings, ("spark.executor.pyspark.memory",), int(resources.get("pyspark.memory", 0)))
    executor = Memory(heap, overhead, _off_heap(settings, int(resources.get("offHeap", 0))))
    if not settings or (platform == LOCAL and "spark.driver.memory" not in settings):
        return Containers(platform, cores, tasks, executor)
    heap = _size(settings, ("spark.driver.memory",), HEAP)
    said = ("spark.driver.memoryOverhead", "spark.yarn.driver.memoryOverhead")
    driver = Memory(heap, _size(settings, said, _overhead(settings, "driver", heap, platform)))
    outside = settings.get("spark.submit.deployMode") == "client" and "spark.kubernetes.driver.pod.name" not in settings
    return Containers(platform, cores, tasks, executor, _count(settings, "spark.driver.cores"), driver, outside)


def usual_containers(applications: Iterable[SparkApplication]) -> tuple[Containers, int] | None:
    """Return the most frequent containers of some applications, and how many have others; None if none is known."""
    found = Counter(each for each in map(containers_of, applications) if each is not None)
    if not found:
        return None
    ((usual, count),) = found.most_common(1)
    return usual, found.total() - count


def peaks_of(applications: Sequence[SparkApplication]) -> Peaks:
    """Return the largest peaks of some applications, and the smallest part of the time over which they are known."""
    peaks = [each.peaks for each in applications]
    heap, resident = (max(getattr(each, size) for each in peaks) for size in ("heap", "resident"))
    return Peaks(heap, resident, min(each.polled for each in peaks))


def with_peaks(found: Containers, peaks: Peaks) -> Containers:
    """Return containers whose executor has the resident memory that the logs show, if its settings are less."""
    more = ceil(peaks.resident / 2**20) - found.memory.total
    return replace(found, memory=replace(found.memory, overhead=found.memory.overhead + more)) if more > 0 else found


def platform_of(application: SparkApplication) -> str:
    """Return the platform that an application ran on; YARN if its log does not say."""
    settings = application.configuration
    master = settings.get("spark.master", "")
    if master.startswith("local"):
        return LOCAL
    if master.startswith("k8s"):
        return KUBERNETES
    if master.startswith("spark:"):
        return STANDALONE
    if any(name.startswith("spark.dataproc.") for name in settings):
        return DATAPROC
    return EMR if "amzn" in application.version or "spark.emr.default.executor.memory" in settings else YARN


def _overhead(settings: Mapping[str, str], part: str, heap: int, platform: str) -> int:
    """Return the overhead of a heap that is not set [MiB]."""
    names = [f"spark.{part}.memoryOverheadFactor", f"spark.yarn.{part}.memoryOverheadFactor"]
    share = OF_EMR if platform == EMR and part == "executor" else OVERHEAD
    if platform == KUBERNETES:
        names.append("spark.kubernetes.memoryOverheadFactor")
        share = OF_PYTHON if settings.get("spark.kubernetes.resource.type") in ("python", "r") else OVERHEAD
    for name in names:
        if re.fullmatch(r"0?\.[0-9]+|[0-9]+(\.[0-9]+)?", settings.get(name, "")):
            share = float(settings[name])
            break
    return max(LEAST_OVERHEAD, int(share * heap))


def _off_heap(settings: Mapping[str, str], default: int) -> int:
    if settings.get("spark.memory.offHeap.enabled") != "true":
        return default
    size = mib(settings.get("spark.memory.offHeap.size", ""), "b")
    return default if size is None else ceil(size)


def _size(settings: Mapping[str, str], names: Iterable[str], default: int) -> int:
    """Return the first of some sizes that is set, in MiB."""
    for name in names:
        size = mib(settings.get(name, ""))
        if size is not None:
            return ceil(size)
    return default


def _count(settings: Mapping[str, str], name: str) -> int:
    text = settings.get(name, "1")
    return max(1, int(text)) if text.isascii() and text.isdecimal() and len(text) < 6 else 1


def lines(found: Containers, others: int, peaks: Peaks = UNKNOWN) -> Iterator[str]:
    """Yield the container and the driver of a class as a spec states them."""
    if others:
        yield f"  # beware: {others} of its runs have other executors or drivers"
    size = f"cores = {found.cores}, {_sizes(found.memory)}, tasks = {found.tasks}"
    used = "" if not peaks.heap else f", at most {ceil(peaks.heap / 2**20)} used in {peaks.polled:.0%} of the task time"
    yield f"  container {{ executor {{ {size} }} }}  # {found.memory.heap} MiB of heap{used}"
    if found.driver is not None:
        what = "its driver, which ran outside the cluster" if found.outside else "its driver"
        size = f"cores = {found.driver_cores}, {_sizes(found.driver)}"
        yield f"  driver {{ {size} }}  # {what}"


def _sizes(memory: Memory) -> str:
    parts = (("memory", memory.total), ("overhead", memory.overhead), ("off_heap", memory.off_heap))
    return ", ".join(f"{word} = {size} MiB" for word, size in parts if size)


@dataclass(frozen=True)
class Machine:
    """The least cores and memory [MiB] of a machine: the executors that were on one, and the largest driver.

    ``system`` is the platform, if the logs name it, whose part is included. ``master``: its cluster has a master of
    its own, since YARN ran.
    """

    cores: int
    memory: int
    executors: int
    system: str = ""
    master: bool = False

    def lines(self) -> Iterator[str]:
        """Yield the params of a machine's cores and memory."""
        what = f"{self.executors} executor{'s' if self.executors > 1 else ''} on one VM in the logs, and a driver"
        if self.system == KUBERNETES:
            what = "one executor pod of the logs, which do not name VMs, and a driver"
        system = ", with the part of its system" if self.system else ""
        yield f"param vm_cores = {self.cores}  # at least: {what}{system}"
        yield f"param vm_memory = {self.memory} MiB  # the same: write what the VM has{'' if system else ' for them'}"

    @property
    def items(self) -> str:
        """The items of the VM type."""
        return ", cores = vm_cores, memory = vm_memory" + (f", system = {self.system}" if self.system else "")


def machine_of(applications: Iterable[SparkApplication]) -> Machine | None:
    """Return the least machine for the executors of some applications; None if no executor is known."""
    platforms: set[str] = set()
    cores = memory = executors = driver_cores = driver_memory = 0
    for each in applications:
        if (found := containers_of(each)) is None:
            continue
        found = with_peaks(found, each.peaks)
        platforms.add(found.platform)
        count = max(1, (each.host_cores or found.cores) // found.cores)
        if count * found.memory.total > memory:
            memory, executors = count * found.memory.total, count
        cores = max(cores, count * found.cores)
        if found.driver is not None:
            driver_cores = max(driver_cores, found.driver_cores)
            driver_memory = max(driver_memory, found.driver.total)
    if not executors:
        return None
    cores, memory = cores + driver_cores, memory + driver_memory
    if platforms == {EMR}:
        return Machine(cores, ceil(emr_hardware(memory)), executors, EMR, True)
    if platforms == {DATAPROC}:
        return Machine(cores, dataproc_hardware(memory), executors, DATAPROC, True)
    if platforms == {KUBERNETES}:
        return Machine(*kubernetes_hardware(cores, memory), executors, KUBERNETES)
    return Machine(cores, memory, executors, master=platforms <= {YARN, EMR, DATAPROC})
