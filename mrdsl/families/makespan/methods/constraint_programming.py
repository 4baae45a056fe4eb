"""Exact schedules by constraint programming: OR-tools CP-SAT, the extra ``cp``, in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec

import numpy as np

from mrdsl.contracts.pipeline import Draft
from mrdsl.core.answer import Reply
from mrdsl.core.diagnostics import note
from mrdsl.core.result import Termination
from mrdsl.core.whole_numbers import begun
from mrdsl.families.makespan.batch import Floats
from mrdsl.families.makespan.methods.cp_model import CpProblem, TaskGroup, solve
from mrdsl.families.makespan.methods.orders import Progress, cut_short, late, offer_schedule, work_of
from mrdsl.families.makespan.schedule import Schedule, in_order_of_start
from mrdsl.simulation.waves import Phase, Wave
from mrdsl.solving.claims import failure
from mrdsl.solving.request import Request
from mrdsl.solving.worker import run_in_worker


def cp_sat(draft: Draft, seconds: float = 60.0, most_tasks: int = 20_000) -> Draft:
    """The optimum, or the best schedule and bound within what is left of ``limits.time``, or else ``seconds`` seconds.

    Starts from the best schedule yet. One thread unless ``limits.threads`` says more: then a run may give another
    schedule of the same makespan. Times are counted in steps that divide all task times, which loses nothing.
    """
    progress = work_of(draft)
    draft = replace(draft, state=progress)
    tasks = int(progress.batch.map_tasks.sum() + progress.batch.reduce_tasks.sum())
    if progress.proven or progress.schedule is None:
        return draft
    if tasks > most_tasks:
        told = note(
            "too-large",
            f"{tasks} tasks are too many for CP-SAT, which was left out",
            hint="`--solver portfolio` has no such limit",
        )
        return replace(draft, diagnostics=(*draft.diagnostics, told))
    if (stopped := cut_short(draft, progress)) is not None:
        return stopped
    return _searched(draft, progress, progress.schedule, draft.seconds_left() or seconds, draft.limits.threads or 1)


def where_installed(draft: Draft, most_tasks: int = 600, effort: float = 4.0, seconds: float = 60.0) -> Draft:
    """CP-SAT on a batch of at most ``most_tasks`` tasks, where OR-tools is there; else, or beyond, nothing.

    One thread, and ``effort`` of the solver's own deterministic time, about a second each: a run ends the same
    everywhere unless a time limit, or ``seconds``, ends it before.
    """
    progress = work_of(draft)
    draft = replace(draft, state=progress)
    tasks = int(progress.batch.map_tasks.sum() + progress.batch.reduce_tasks.sum())
    if progress.proven or progress.schedule is None or tasks > most_tasks or find_spec("ortools") is None:
        return draft
    if (stopped := cut_short(draft, progress)) is not None:
        return stopped
    searched = _searched(draft, progress, progress.schedule, draft.seconds_left() or seconds, 1, effort)
    if searched.termination is Termination.ERROR or late(draft):
        return searched
    return replace(searched, termination=draft.termination)


def _searched(
    draft: Draft, progress: Progress, known: Schedule, seconds: float, threads: int, effort: float | None = None
) -> Draft:
    problem = _problem(progress, known)
    options = {
        "seconds": seconds,
        "threads": threads,
        "seed": draft.seed % 2**31,
        "gap": draft.limits.gap or 0.0,
        "effort": effort,
    }
    reply = run_in_worker(solve, Request(model=problem, options=options), seconds, fresh=True)
    return _understood(draft, progress, problem, reply)


def _understood(draft: Draft, progress: Progress, problem: CpProblem, reply: Reply) -> Draft:
    if reply.termination in (Termination.ERROR, Termination.INFEASIBLE):
        why = reply.message or "it refutes a schedule that exists"
        return replace(
            draft,
            termination=Termination.ERROR,
            diagnostics=(*draft.diagnostics, failure("cp-sat", why, draft.spec.span)),
        )
    if reply.bound is not None:
        progress = replace(progress, bound=max(progress.bound, begun(reply.bound) * progress.batch.unit))
    stopped = draft.termination if reply.termination is Termination.OPTIMAL else reply.termination
    draft = replace(draft, state=progress, termination=stopped)
    return (
        draft if reply.values is None else offer_schedule(draft, progress, _schedule(progress, problem, reply.values))
    )


def _problem(progress: Progress, known: Schedule) -> CpProblem:
    batch, unit = progress.batch, progress.batch.unit
    return CpProblem(
        tuple(_groups(progress, known)),
        batch.map_slots,
        batch.reduce_slots,
        int(np.ceil(progress.bound / unit)),
        int(known.makespan / unit),
    )


def _groups(progress: Progress, known: Schedule) -> Iterator[TaskGroup]:
    batch, unit = progress.batch, progress.batch.unit
    heads, tails = batch.phases(batch.map_slots, batch.reduce_slots)
    ceiling = int(known.makespan / unit)
    begun: dict[tuple[int, Phase], list[int]] = {}
    for wave in known.waves:
        begun.setdefault((wave.job, wave.phase), []).extend([int(wave.start / unit)] * wave.count)
    for j in range(len(batch)):
        length = int(batch.map_time[j] / unit)
        yield TaskGroup(
            j,
            True,
            int(batch.map_tasks[j]),
            length,
            0,
            ceiling - int(tails[j] / unit) - length,
            tuple(sorted(begun[j, "map"])),
        )
        if batch.reduce_tasks[j]:
            length = int(batch.reduce_time[j] / unit)
            yield TaskGroup(
                j,
                False,
                int(batch.reduce_tasks[j]),
                length,
                int(heads[j] / unit),
                ceiling - length,
                tuple(sorted(begun[j, "reduce"])),
            )


def _schedule(progress: Progress, problem: CpProblem, starts: Floats) -> Schedule:
    unit, at = progress.batch.unit, 0
    waves = []
    for group in problem.groups:
        values, counts = np.unique(np.rint(starts[at : at + group.count]), return_counts=True)
        at += group.count
        waves += [
            Wave(group.job, "map" if group.is_map else "reduce", float(v) * unit, group.length * unit, int(c))
            for v, c in zip(values, counts, strict=True)
        ]
    return in_order_of_start(progress.batch, waves)
