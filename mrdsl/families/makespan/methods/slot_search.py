"""Local search at task and slot level: free lists of tasks instead of orders of jobs.

A state is a list of map tasks and a list of reduce tasks, each a sequence of (job, count); slots take the tasks in
sequence. Every schedule without needless idle time is such a pair, with or without pools or an order. A neighbour moves
an entry or a part of one to another position, or exchanges two entries, in either list. Many neighbours are judged
together. The best is accepted if it is not much worse; the tolerance shrinks over time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.result import Termination
from mrdsl.families.makespan.methods.orders import Progress, late, offer_schedule, work_of
from mrdsl.families.makespan.schedule import Batch, Schedule, ends, in_order_of_start, reduce_sequence
from mrdsl.simulation.slots import Floats, Lists, free_makespans
from mrdsl.simulation.waves import Tasks, Wave, run

Entries = tuple[tuple[int, int], ...]

FEWEST_ROUNDS = 10
USUAL_SLOTS = 100


@dataclass(frozen=True)
class State:
    """Two lists of (job, count)."""

    maps: Entries
    reduces: Entries


def slot_search(
    draft: Draft, rounds: int = 400, neighbours: int = 64, heat: float = 0.01, placements: int = 500_000
) -> Draft:
    """Improve the best schedule so far; stop at the lower bound, or after ``rounds`` rounds of ``neighbours``.

    ``heat`` is the share of the makespan by which a step may be worse at first. If the lists are long there are fewer
    rounds, so that about ``placements`` list entries are placed in all, and none if that leaves under ten. Beyond
    ``USUAL_SLOTS`` slots an entry counts for more, as it costs more.
    """
    progress = work_of(draft)
    if progress.schedule is None or progress.proven:
        return replace(draft, state=progress)
    start = state_of(progress.schedule.waves)
    wide = max(1.0, max(progress.batch.map_slots, progress.batch.reduce_slots) / USUAL_SLOTS)
    entries = wide * (len(start.maps) + 2 * len(start.reduces) + 1)
    rounds = min(rounds, int(placements / (neighbours * entries)))
    if rounds < FEWEST_ROUNDS:
        return replace(draft, state=progress)
    rng = np.random.default_rng([draft.seed, 3])
    best = _anneal(draft, progress, start, rng, (rounds, neighbours, heat))
    if late(draft):
        draft = replace(draft, termination=Termination.TIME_LIMIT)
    return offer_schedule(draft, progress, schedule_of(progress.batch, best))


def state_of(waves: Sequence[Wave]) -> State:
    """Return the lists of a schedule: its tasks in the sequence of their starts."""

    def entries(phase: str) -> Entries:
        chosen = sorted((w for w in waves if w.phase == phase), key=lambda w: (w.start, w.job))
        return _joined([(w.job, w.count) for w in chosen])

    return State(entries("map"), entries("reduce"))


def schedule_of(batch: Batch, state: State) -> Schedule:
    """Return the schedule of two lists; of the listed reduces and those by readiness, the better."""
    maps = run((Tasks(j, k, float(batch.map_time[j])) for j, k in state.maps), batch.map_slots, "map")
    mapped = ends(maps)
    listed = [Tasks(j, k, float(batch.reduce_time[j]), mapped[j]) for j, k in state.reduces]
    ready = reduce_sequence(batch, range(len(batch)), mapped)
    schedules = [in_order_of_start(batch, maps + run(tasks, batch.reduce_slots, "reduce")) for tasks in (listed, ready)]
    return min(schedules, key=lambda schedule: schedule.makespan)


def _anneal(
    draft: Draft, progress: Progress, start: State, rng: np.random.Generator, effort: tuple[int, int, float]
) -> State:
    batch, (rounds, neighbours, heat) = progress.batch, effort
    state = best = start
    value = least = float(_judge(batch, [start])[0].min())
    for at in range(rounds):
        if least <= progress.goal or late(draft):
            break
        near = [_neighbour(state, rng) for _ in range(neighbours)]
        values, mapped = _judge(batch, near)
        both = values.min(axis=0)
        k = int(both.argmin())
        allowed = value + heat * least * (1.0 - at / rounds) * float(rng.random()) ** 2
        if both[k] > allowed:
            continue
        state, value = near[k], float(both[k])
        if values[1, k] < values[0, k]:
            turn = mapped[k].argsort(kind="stable")
            state = State(
                state.maps, tuple((int(j), int(batch.reduce_tasks[j])) for j in turn if batch.reduce_tasks[j])
            )
        if value < least:
            best, least = state, value
    return best


def _judge(batch: Batch, states: Sequence[State]) -> tuple[Floats, Floats]:
    """Return makespans with the listed reduces and with those by readiness, shape (2, states); ends of map phases."""
    return free_makespans(
        batch,
        _lists([state.maps for state in states]),
        _lists([state.reduces for state in states]),
        batch.map_slots,
        batch.reduce_slots,
    )


def _lists(rows: Sequence[Entries]) -> Lists:
    width = max(1, max(map(len, rows)))
    jobs = np.full((len(rows), width), -1, dtype=np.intp)
    counts = np.zeros((len(rows), width))
    for i, entries in enumerate(rows):
        if entries:
            jobs[i, : len(entries)], counts[i, : len(entries)] = zip(*entries, strict=True)
    return Lists(jobs, counts)


def _neighbour(state: State, rng: np.random.Generator) -> State:
    if state.reduces and rng.random() < 0.4:
        return State(state.maps, _changed(state.reduces, rng))
    return State(_changed(state.maps, rng), state.reduces)


def _changed(entries: Entries, rng: np.random.Generator) -> Entries:
    """Return one entry, or a part of it, at another place; or two entries exchanged."""
    items = list(entries)
    kind, first, second, share = rng.random(4)
    i, k = int(first * len(items)), int(second * len(items))
    job, count = items[i]
    if kind < 0.25:
        items[i], items[k] = items[k], items[i]
    elif kind < 0.55 or count == 1:
        items.insert(k, items.pop(i))
    else:
        part = 1 + int(share * (count - 1))
        items[i] = (job, count - part)
        items.insert(k if k <= i else k + 1, (job, part))
    return _joined(items)


def _joined(items: Sequence[tuple[int, int]]) -> Entries:
    """Return the same list with neighbours of one job made one."""
    joined: list[tuple[int, int]] = []
    for job, count in items:
        if joined and joined[-1][0] == job:
            joined[-1] = (job, joined[-1][1] + count)
        else:
            joined.append((job, count))
    return tuple(joined)
