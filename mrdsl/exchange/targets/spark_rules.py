"""What Spark 3.5 refuses of its settings, beyond their names.

[configuration] spark.apache.org/docs/3.5.6/configuration.html
[memory]        org.apache.spark.memory.UnifiedMemoryManager: 1.5 times the 300 MiB that are reserved
[allocation]    org.apache.spark.ExecutorAllocationManager.validateSettings
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

Settings = Mapping[str, str]
HEAP_LEAST = 450
"""MiB of the smallest heap [memory]."""
OVERHEAD_SHARE = 0.10
OVERHEAD_LEAST = 384
"""Memory beside the heap: a share of the heap, and MiB at least [configuration]."""
UNITS = {"": 1.0, "k": 2**-10, "m": 1.0, "g": 2.0**10, "t": 2.0**20}
MEMORY = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)
ALLOCATION = "spark.dynamicAllocation."


def mistakes(settings: Settings) -> list[str]:
    """Everything that Spark would refuse of the settings of one application."""
    return [reason for rule in RULES for reason in rule(settings)]


def mib(text: str) -> float | None:
    """Memory as Spark writes it, a plain number counting MiB; None where it is none."""
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
    """What lies beside the heap within the container is a tenth of it, and 384 MiB at least [configuration]."""
    for part in ("driver", "executor"):
        name = f"spark.{part}.memoryOverhead"
        if name not in settings:
            continue
        beside, heap = mib(settings[name]), mib(settings.get(f"spark.{part}.memory", "1g"))
        least = max(OVERHEAD_LEAST, OVERHEAD_SHARE * (heap or 0.0) - 1)
        if beside is None or beside < least:
            yield f"{name} is `{settings[name]}`, and {least:.0f}m of the container lie beside the heap"


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
    return int(text) if re.fullmatch(r"-?\d+", text) else None


RULES: tuple[Callable[[Settings], Iterator[str]], ...] = (memory, overhead, cores, allocation, counts)
