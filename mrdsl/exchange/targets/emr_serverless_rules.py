"""What EMR Serverless refuses beyond the shapes of its API.

[workers]  docs.aws.amazon.com/emr/latest/EMR-Serverless-UserGuide/app-behavior.html
[capacity] docs.aws.amazon.com/emr/latest/EMR-Serverless-UserGuide/pre-init-capacity.html
[spark]    docs.aws.amazon.com/emr/latest/EMR-Serverless-UserGuide/jobs-spark.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mrdsl.exchange.targets import spark_rules
from mrdsl.exchange.targets.labels import mistakes_of_tags

Document = Mapping[str, Any]
NAME_LENGTH = 64
WORKERS: Mapping[int, tuple[int, int, int]] = {
    1: (2, 8, 1),
    2: (4, 16, 1),
    4: (8, 30, 1),
    8: (16, 60, 4),
    16: (32, 120, 8),
}
"""GB that a worker of so many vCPU may have: from, to, in steps of [workers]."""
DISK_LEAST, DISK_MOST = 20, 200
"""GB of a worker's disk [workers]."""
KINDS = {"SPARK": ("Driver", "Executor"), "HIVE": ("HiveDriver", "TezTask")}
CPU = re.compile(r"([1-9]\d*) ?(vCPU)?", re.IGNORECASE)
GIGABYTES = re.compile(r"([1-9]\d*) ?(GB)?", re.IGNORECASE)


def mistakes(document: Document) -> list[str]:
    """Everything of a `CreateApplication` request that the service would refuse."""
    return [reason for rule in RULES for reason in rule(document)]


def worker_sizes(document: Document) -> Iterator[str]:
    """A worker has 1, 2, 4, 8 or 16 vCPU, memory in its range and steps, and 20 to 200 GB of disk [workers]."""
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
    """The most that may be had is no less than what is initialised [capacity]."""
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
        yield from spark_rules.mistakes(found)
        for kind, part in (("Driver", "driver"), ("Executor", "executor")):
            worker = document.get("initialCapacity", {}).get(kind)
            if worker is None or f"spark.{part}.memory" not in found:
                continue
            size = worker["workerConfiguration"]
            asked = sum(spark_rules.mib(found.get(f"spark.{part}.memory{end}", "0")) or 0 for end in ("", "Overhead"))
            if asked > 1024 * (number(GIGABYTES, size["memory"]) or 0):
                yield f"{part}: heap and overhead of {asked:.0f} MiB are more than the worker's {size['memory']}"
            if int(found.get(f"spark.{part}.cores", "1")) != number(CPU, size["cpu"]):
                yield f"{part}: {found.get(f'spark.{part}.cores', '1')} cores are not the worker's {size['cpu']}"


def words(document: Document) -> Iterator[str]:
    """The release's form, from the first that the service has, and what tags may hold."""
    label = re.fullmatch(r"emr-(\d+)\.(\d+)\.\d+", document["releaseLabel"])
    if label is None or (int(label[1]), int(label[2])) < (6, 6):
        yield f"`{document['releaseLabel']}` is no release from emr-6.6.0 on"
    yield from mistakes_of_tags(document.get("tags", {}).items())


def number(pattern: re.Pattern[str], text: str) -> int | None:
    """The whole number of a quantity such as ``4 vCPU``, None where it is none."""
    found = pattern.fullmatch(text)
    return int(found[1]) if found else None


RULES: tuple[Callable[[Document], Iterator[str]], ...] = (worker_sizes, kinds, maximum, settings, words)
