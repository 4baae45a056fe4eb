"""Warnings of a timetable: runs that end on time only while their tasks take the average."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from mrdsl.core.diagnostics import Diagnostic, warning
from mrdsl.core.units import TICK, show
from mrdsl.families.timetable.arrivals import filled
from mrdsl.families.timetable.night import Job, job_of
from mrdsl.families.timetable.plan import TimetablePlan, types_of_runs
from mrdsl.families.timetable.types import market_of_plan, node_on
from mrdsl.families.timetable.verify import verify as broken
from mrdsl.spec.spec import Spec

Waves = Mapping[int, Sequence[tuple[int, int]]]
"""Of each stage the starts of its tasks, in order, and how many start [ticks]."""


def verify(spec: Spec, plan: TimetablePlan, relax: bool = False) -> Iterator[Diagnostic]:
    """Yield the errors of a plan that verification finds; for a correct plan, its warnings."""
    found = tuple(broken(spec, plan, relax))
    yield from found or warnings_of(spec, plan)


def warnings_of(spec: Spec, plan: TimetablePlan) -> Iterator[Diagnostic]:
    """Warn of classes without ``guarantee`` whose runs are late if their tasks take ``max``, at most once."""
    facts, market = filled(spec.facts), market_of_plan(spec.facts, plan)
    varies = {
        index
        for index, node in enumerate(facts.classes)
        if node.guarantee is None
        and node.distribution != "fixed"
        and any(job_of(replace(node_on(node, vm), guarantee="upper")) != job_of(node_on(node, vm)) for vm in facts.vms)
    }
    if not varies:
        return
    assert plan.tasks is not None
    types = types_of_runs(plan, [machine.name for machine in market.machines])
    waves: dict[int, dict[int, list[tuple[int, int]]]] = {}
    columns = (plan.tasks.start.tolist(), plan.tasks.run.tolist(), plan.tasks.stage.tolist(), plan.tasks.count.tolist())
    for start, run, stage, count in sorted(zip(*columns, strict=True)):
        if market.runs[run].job in varies:
            waves.setdefault(run, {}).setdefault(stage, []).append((round(start * TICK), count))
    late: dict[int, list[tuple[int, int]]] = {}
    known: dict[tuple[int, int], tuple[Job, Job]] = {}
    vms = {vm.name: vm for vm in facts.vms}
    for run, mine in waves.items():
        job, vm = market.runs[run].job, types[run]
        if (job, vm) not in known:
            node = node_on(facts.classes[job], vms[market.machines[vm].vm])
            known[job, vm] = market.nights[vm].jobs[job], job_of(replace(node, guarantee="upper"))
        over = _longest_end(*known[job, vm], mine) - market.runs[run].due
        if over > 0:
            late.setdefault(job, []).append((over, run))
    if late:
        yield _warning(spec, plan, late)


def _warning(spec: Spec, plan: TimetablePlan, late: Mapping[int, Sequence[tuple[int, int]]]) -> Diagnostic:
    job = min(late)
    node, others = filled(spec.facts).classes[job], len(late) - 1
    over, run = max(late[job], key=lambda each: (each[0], -each[1]))
    every = sum(each.job == node.name and each.admitted for each in plan.runs)
    more = f" (and {others} more {'class' if others == 1 else 'classes'})" if others else ""
    return warning(
        "soft-deadline",
        f"class {node.name} meets its deadlines on average{more}, but if tasks take `max`, {len(late[job]):,} of "
        f"{every:,} runs are late, run {plan.runs[run].run} by {show(over / TICK, 'time')}",
        node.span_of("deadline" if node.due is None else "due"),
        "add `--validate` to see how many runs are late, write `guarantee = p95` to plan for that, or "
        "`guarantee = average` to accept it",
    )


def _longest_end(planned: Job, longest: Job, waves: Waves) -> int:
    """Return when a run ends if its tasks take the longest, on the slots and from the start that the plan gives it.

    Its last tasks start as planned, and each stage after the stages before, on the most slots that it has at once.
    """
    ends = [0] * len(planned.stages)
    for index in planned.order:
        mine, ticks = waves[index], longest.stages[index].ticks
        slots = _most_at_once(mine, planned.stages[index].ticks)
        begin = max((ends[before] for before in planned.stages[index].after), default=mine[0][0])
        rounds = -(-planned.stages[index].tasks // slots)
        ends[index] = max(begin + rounds * ticks, mine[-1][0] + ticks)
    return max(ends)


def _most_at_once(waves: Sequence[tuple[int, int]], ticks: int) -> int:
    most = there = first = 0
    for start, count in waves:
        there += count
        while waves[first][0] + ticks <= start:
            there -= waves[first][1]
            first += 1
        most = max(most, there)
    return most
