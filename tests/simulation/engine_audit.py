"""An audit of a run of the engine: its record is checked against the rules of every run.

It uses only the record of the engine, so that errors in the counts show.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf

from mrdsl.simulation.engine.world import Attempt, JobKind, Loss, Machines

TOLERANCE = 1e-9

#: Job and stage; job, stage and task.
Place = tuple[int, int]
Task = tuple[int, int, int]


def audit(
    record: Iterable[Attempt],
    kinds: Sequence[JobKind],
    machines: Sequence[Machines],
    ended: Mapping[int, tuple[int, bool]],
    losses: Sequence[Loss] = (),
) -> list[str]:
    """Return the errors of a run, in words; empty if it obeys every rule.

    ``ended`` maps each ended job to its class and True if it was given up. The rules: no slot runs two tasks at once,
    and no task runs on a machine of another pool or a lost one. Every task of a job that was not given up is done once,
    and again only after its machine was lost with its output. No task works before the end of all stages that its stage
    comes after (it can hold a slot if the stage starts early).
    """
    attempts = sorted(record, key=lambda each: (each.start, each.end))
    return [
        *_slots(attempts, kinds, machines),
        *_machines(attempts, losses),
        *_tasks(attempts, kinds, ended, losses),
        *_order(attempts, kinds),
    ]


def _slots(attempts: Sequence[Attempt], kinds: Sequence[JobKind], machines: Sequence[Machines]) -> Iterator[str]:
    pools = [each.pool for each in machines for _ in range(each.vms * each.slots)]
    by_slot: dict[int, list[Attempt]] = {}
    for each in attempts:
        by_slot.setdefault(each.slot, []).append(each)
        if pools[each.slot] != kinds[each.kind].stages[each.stage].pool:
            yield f"a task of stage {each.stage} of job {each.job} runs in another pool, on slot {each.slot}"
    for slot, mine in by_slot.items():
        for one, other in pairwise(mine):
            if other.start < one.end - TOLERANCE:
                yield f"slot {slot} runs two tasks at {other.start}"


def _machines(attempts: Sequence[Attempt], losses: Sequence[Loss]) -> Iterator[str]:
    gone = _absences(losses)
    for each in attempts:
        for start, back in gone.get(each.vm, ()):
            if each.start < back - TOLERANCE and each.end > start + TOLERANCE:
                yield f"a task runs on machine {each.vm} from {each.start} to {each.end}, which is gone at {start}"


def _absences(losses: Sequence[Loss]) -> dict[int, list[tuple[float, float]]]:
    found: dict[int, list[tuple[float, float]]] = {}
    for loss in losses:
        mine = found.setdefault(loss.vm, [])
        if not mine or loss.time >= mine[-1][1]:
            mine.append((loss.time, loss.back))
    return found


def _tasks(
    attempts: Sequence[Attempt],
    kinds: Sequence[JobKind],
    ended: Mapping[int, tuple[int, bool]],
    losses: Sequence[Loss],
) -> Iterator[str]:
    gone = _absences(losses)
    done: dict[Task, list[Attempt]] = {}
    for each in sorted(attempts, key=lambda each: each.end):
        if each.outcome == "done":
            done.setdefault((each.job, each.stage, each.task), []).append(each)
    for task, times in done.items():
        for one, other in pairwise(times):
            if not any(one.end - TOLERANCE <= start <= other.start + TOLERANCE for start, _ in gone.get(one.vm, ())):
                yield f"task {task} is done at {one.end} and again at {other.end}"
    for job, (kind, given_up) in ended.items():
        for index, stage in enumerate(kinds[kind].stages):
            missing = [task for task in range(stage.tasks) if (job, index, task) not in done]
            if missing and not given_up:
                yield f"job {job} has ended without tasks {missing} of stage {stage.name}"


def _order(attempts: Sequence[Attempt], kinds: Sequence[JobKind]) -> Iterator[str]:
    """No task ends before the first ends of all tasks before it, nor, without ``slowstart``, starts before them."""
    first: dict[Task, float] = {}
    for each in attempts:
        if each.outcome == "done":
            key = each.job, each.stage, each.task
            first[key] = min(first.get(key, inf), each.end)
    last: dict[Place, float] = {}
    counts: dict[Place, int] = {}
    for (job, index, _), end in first.items():
        last[job, index] = max(last.get((job, index), 0.0), end)
        counts[job, index] = counts.get((job, index), 0) + 1
    for each in attempts:
        stage = kinds[each.kind].stages[each.stage]
        for parent in stage.after:
            whole = counts.get((each.job, parent), 0) == kinds[each.kind].stages[parent].tasks
            at = last.get((each.job, parent), inf) if whole else inf
            early = each.end if stage.slowstart < 1.0 else each.start
            if early < at - TOLERANCE and (each.outcome == "done" or stage.slowstart >= 1.0):
                yield f"a task of stage {stage.name} of job {each.job} goes before stage {parent} has ended"
