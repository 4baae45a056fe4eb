"""From the delays of a job's tasks to the queues of a hybrid cloud: the two halves of paper 004 as one.

Section II.B allows every task of a job a delay D within which it must be done, so that the job keeps its deadline;
sections III and IV promise each queue of tasks a delay d. The paper never joins them. Here each task of a `deadline`
spec is a queue: jobs arrive at random and bring one task of each kind, none is rejected; a task runs
``ceil(duration / slot)`` slots and is promised ``d = floor(D / slot)`` slots. One that is outsourced counts as served
when it leaves, as the paper has it; the delay that counts its run outside too stands beside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mrdsl
from mrdsl.core.diagnostics import MrdslError, error
from mrdsl.core.resources import resource
from mrdsl.core.result import Table
from mrdsl.core.whole_numbers import ceiling, floor
from mrdsl.core.writer import write_text

BUSY = 0.9
"""What part of the time the private VMs would work if all tasks ran on them."""
LEAST_ROOM = 2
"""Slots beyond its own that a task must be allowed: below it (15) is no bound."""


@dataclass(frozen=True)
class _Task:
    """A task as a queue: ``count`` alike ones a job, D in seconds, size and delay in slots."""

    name: str
    count: int
    duration: float
    allowed: float
    size: int
    delay: int


def bridge(
    output: Path,
    spec: str = "",
    slot: float = 10.0,
    jobs: float = 0.2,
    price: float = 0.05,
    horizon: int = 3000,
    seed: int = 1,
) -> Iterator[Table]:
    """The delays of a `deadline` spec as queues of a hybrid cloud, and what became of them under the controller.

    ``slot``: seconds of a slot; ``jobs``: jobs that arrive in one on average; ``price``: USD for a slot of a task
    outside. Writes the hybrid spec as ``bridge.mrspec``. Raises MrdslError where a task is allowed too little.
    """
    tasks = _tasks(Path(spec) if spec else resource("models") / "deadline" / "reference.mrspec", slot)
    path = output / "bridge.mrspec"
    write_text(path, mrdsl.fmt(_text(tasks, jobs, price, horizon, seed)))
    result = mrdsl.solve(mrdsl.load(path), "controller")
    assert result.plan is not None
    seen: Any = result.plan.document()["queues"]
    heads = (
        "task",
        "duration [s]",
        "allowed D [s]",
        "size [slots]",
        "delay d [slots]",
        "worst delay [s]",
        "with the run outside [s]",
        "outside [%]",
    )
    rows = []
    for one in tasks:
        run = seen[one.name]
        worst, longer = (slot * run[key] for key in ("worst_delay", "worst_delay_with_run_outside"))
        left = run["outsourced"] + run["outsourced_after"]
        outside = 100.0 * left / max(run["submitted"], 1)
        rows.append((one.name, one.duration, one.allowed, one.size, one.delay, worst, longer, outside))
    yield Table("Tasks as queues", heads, rows)


def _tasks(path: Path, slot: float) -> tuple[_Task, ...]:
    source = mrdsl.load(path)
    plan = mrdsl.solve(source).plan if source.problem == "deadline" else None
    if plan is None:
        told = error(
            "no-plan", "the bridge starts from the plan of a `deadline` spec", source.span, "name one that has a plan"
        )
        raise MrdslError([told])
    return tuple(_task(str(name), found, slot) for name, found in plan.document()["tasks"].items())


def _task(name: str, found: Any, slot: float) -> _Task:
    size = int(ceiling(found["duration"] / slot))
    delay = int(floor(found["delay"] / slot))
    if delay < size + LEAST_ROOM:
        message = (
            f"task {name} runs {size} slots of {slot:g} s and is allowed {size + delay}, too few to wait or leave in"
        )
        raise MrdslError([error("no-delay-bound", message, None, "give a shorter slot, or a longer deadline")])
    return _Task(name, int(found["count"]), found["duration"], found["delay"], size, delay)


def _text(tasks: Sequence[_Task], jobs: float, price: float, horizon: int, seed: int) -> str:
    """The hybrid spec: one type of VM, as many as keep :data:`BUSY` busy."""
    work = jobs * sum(one.count * one.size for one in tasks)
    vms = max(int(ceiling(work / BUSY)), 1)
    queues = "\n".join(
        f'queue "{one.name}" {{ vm = private, size = {one.size} slots, delay = {one.delay} slots, '
        f"arrivals = poisson({jobs * one.count:.6g}), arrivals_max = {_most(jobs * one.count)}, "
        f"outsourcing = {price * one.size:.6g} USD }}"
        for one in tasks
    )
    return f"""problem hybrid "The tasks of a job as queues"

seed    = {seed}
horizon = {horizon} slots

vm private {{ available = {vms} }}

{queues}

control {{ V = auto, acceptance = 100%, outsource_limit = auto }}

minimize cost
"""


def _most(mean: float) -> int:
    """Where Poisson arrivals are truncated: six standard deviations above the mean, and two tasks at least."""
    return int(ceiling(mean + 6.0 * mean**0.5)) + 2
