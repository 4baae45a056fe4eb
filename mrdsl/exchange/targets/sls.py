"""YARN's load simulator: its machines and jobs for ``--input-sls`` and ``--nodes``, and its rules.

If the spec does not give what tasks take, a machine has as many parts as all numbers of slots divide, and a task takes
as many of them as leave room for the others: the simulator then places as many tasks as the plan counts on. The
simulator stops at the first rule that is broken, at some of them after hours:

[input] hadoop.apache.org/docs/r3.4.1/hadoop-sls/SchedulerLoadSimulator.html
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import lcm
from typing import Any

from mrdsl.exchange.targets.deployment import Deployment, Exported, Share, TargetError, Tasks, Wishes, Workload
from mrdsl.exchange.targets.yarn import LAYER, Size, cluster_settings, queues_of, sized, sizes_of

KINDS = ("map", "reduce")


def mistakes_of_nodes(racks: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield errors of machines, which need distinct names, memory and cores [input]."""
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
    """Yield errors of jobs, which need distinct ids and tasks; a task is a map or a reduce of at least a millisecond
    [input].
    """
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
            lasting = task.get("container.end.ms", 0) - task.get("container.start.ms", 0)
            lasting = task.get("container.duration.ms", task.get("duration.ms", lasting))
            if task.get("container.type") not in KINDS:
                yield f"{name}: a task is {task.get('container.type')}, neither map nor reduce"
            if lasting < 1 or task.get("count", 1) < 1:
                yield f"{name}: {task.get('count', 1)} tasks of {lasting} ms"


PART = 1024
"""MiB of one part of a machine."""
MASTER = Size(1, 1024)
"""Container of the master of each application."""
PRIORITIES = {"map": 20, "reduce": 10}


def sls(deployment: Deployment, _: Wishes) -> Exported:
    """``sls-nodes.json`` and ``sls-jobs.json``. Raises TargetError for classes of stages, which the simulator lacks."""
    loads = [load for load in deployment.workloads if load.jobs]
    staged = [load.name for load in loads for share in load.shares for one in share.tasks if one.kind == "task"]
    if staged:
        reason = f"its jobs have maps and reduces, and class {staged[0]} has stages"
        raise TargetError(reason, "`spark` and `kubernetes` take classes of stages")
    if not loads or not deployment.groups:
        raise ValueError("no class has a job")
    known = sized(deployment, loads)
    nodes = list(_racks(deployment, known))
    names = queues_of(deployment, loads)
    jobs = [job for load, name in zip(loads, names, strict=True) for job in _jobs(deployment, load, name, known)]
    wrong = [*mistakes_of_nodes(nodes), *mistakes_of_jobs(jobs)]
    if wrong:
        raise TargetError("; ".join(wrong))
    notes = [*deployment.notes, "the shuffle of a job - a reduce takes its own time and the shuffle before it"]
    if not known:
        notes.append(f"what tasks take - a machine is {_parts(deployment)} parts and a task takes its share of them")
    said = _said(deployment, notes)
    files = {"sls-nodes.json": _objects(nodes, said), "sls-jobs.json": _objects(jobs, said)}
    return Exported(files, tuple(notes))


def _objects(found: Sequence[dict[str, Any]], said: dict[str, Any]) -> str:
    """Return consecutive objects, the first with the origin of all."""
    first, *others = found
    return "".join(json.dumps(one, indent=1, ensure_ascii=False) + "\n" for one in ({**first, "mrdsl": said}, *others))


def _parts(deployment: Deployment) -> int:
    """Into how many parts machines are divided: the least number that all numbers of slots divide."""
    return lcm(*(one.per_vm for load in deployment.workloads for share in load.shares for one in share.tasks))


def _racks(deployment: Deployment, known: bool) -> Iterator[dict[str, Any]]:
    """Yield a rack per type and lane; a machine has room for its tasks, of whichever class needs most."""
    offered = cluster_settings(deployment).machines if known else {}
    parts = _parts(deployment)
    for group in deployment.groups:
        site = offered.get(group.vm, {})
        memory = int(site.get("yarn.nodemanager.resource.memory-mb", PART * parts))
        cores = int(site.get("yarn.nodemanager.resource.cpu-vcores", parts))
        rack = f"{group.vm}-{group.lane}"
        yield {
            "rack": rack,
            "nodes": [
                {"node": f"{rack}-{number}", "memory-mb": memory, "vcores": cores}
                for number in range(1, group.count + 1)
            ],
        }


def _said(deployment: Deployment, notes: Sequence[str]) -> dict[str, Any]:
    """Return the origin and the omitted parts of the plan: the simulator ignores unknown entries."""
    origin = deployment.origin
    said = {"spec": origin.spec, "title": origin.title, "plan": origin.plan, "version": origin.version}
    return {**said, "not exported": list(notes)}


def _jobs(deployment: Deployment, load: Workload, queue: str, known: bool) -> Iterator[dict[str, Any]]:
    sizes = sizes_of(deployment, load) if known else {}
    shares = [share for share in load.shares for _ in range(share.jobs)]
    for number, time in enumerate(load.starts or (0.0,) * len(shares)):
        tasks = list(_tasks(load, shares[min(number, len(shares) - 1)], sizes, _parts(deployment)))
        start = round(1000 * time)
        yield {
            "am.type": "mapreduce",
            "am.memory-mb": MASTER.memory,
            "am.vcores": MASTER.vcores,
            "job.start.ms": start,
            "job.end.ms": start + max(task["duration.ms"] for task in tasks),
            "job.queue.name": queue,
            "job.id": f"{queue}_{number + 1}",
            "job.user": LAYER,
            "job.tasks": tasks,
        }


def _tasks(load: Workload, share: Share, sizes: dict[str, Size], parts: int) -> Iterator[dict[str, Any]]:
    for one in share.tasks:
        if not one.of_job or one.seconds is None:
            raise TargetError(
                f"class {load.name} has only A, B and C, but the simulator needs tasks",
                "describe the class by its map, shuffle and reduce tasks",
            )
        size = sizes.get(one.kind) or _part_of(one, parts)
        yield {
            "count": one.of_job,
            "duration.ms": max(1, round(1000 * one.seconds)),
            "container.priority": PRIORITIES[one.kind],
            "container.type": one.kind,
            "container.memory-mb": size.memory,
            "container.vcores": size.vcores,
            "container.execution.type": "GUARANTEED",
        }


def _part_of(one: Tasks, parts: int) -> Size:
    return Size(parts // one.per_vm, PART * parts // one.per_vm)
