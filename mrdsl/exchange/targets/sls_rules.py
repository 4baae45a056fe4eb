"""What YARN's load simulator refuses: it stops at the first of these, some after hours.

[input] hadoop.apache.org/docs/r3.4.1/hadoop-sls/SchedulerLoadSimulator.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

KINDS = ("map", "reduce")


def mistakes_of_nodes(racks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Machines have names of their own, memory and cores [input]."""
    seen: set[str] = set()
    if not any(rack.get("nodes") for rack in racks):
        yield "there is no machine"
    for rack in racks:
        for node in rack["nodes"]:
            if node["node"] in seen:
                yield f"two machines are called {node['node']}"
            seen.add(node["node"])
            for resource in ("memory-mb", "vcores"):
                if resource in node and not (isinstance(node[resource], int) and node[resource] > 0):
                    yield f"{node['node']} has {node[resource]} {resource}"


def mistakes_of_jobs(jobs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Jobs have ids of their own and tasks; a task is a map or a reduce and lasts a millisecond at least [input]."""
    seen: set[str] = set()
    for job in jobs:
        name = job.get("job.id", "")
        if name in seen:
            yield f"two jobs are called {name}"
        seen.add(name)
        if job["job.start.ms"] < 0 or job.get("job.end.ms", job["job.start.ms"]) < job["job.start.ms"]:
            yield f"{name} starts before 0, or ends before it starts"
        if not job["job.tasks"]:
            yield f"{name} has no task"
        for task in job["job.tasks"]:
            lasting = task.get("duration.ms", task.get("container.end.ms", 0) - task.get("container.start.ms", 0))
            if task.get("container.type") not in KINDS:
                yield f"{name}: a task is {task.get('container.type')}, neither map nor reduce"
            if lasting < 1 or task.get("count", 1) < 1:
                yield f"{name}: {task.get('count', 1)} tasks of {lasting} ms"
