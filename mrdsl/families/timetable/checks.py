"""Checks of a timetable spec beyond its schema, and of runs that no cluster ends on time."""

from __future__ import annotations

from collections.abc import Iterator

from mrdsl.core.diagnostics import Diagnostic, Related, error, has_errors, impossible, never_admitted, note, warning
from mrdsl.core.units import DAY_SECONDS, EXAMPLES, TICK, clock_text, parse_clock, show
from mrdsl.families.timetable.arrivals import check_arrivals, filled
from mrdsl.families.timetable.facts import JobClass, Runs, TimetableFacts
from mrdsl.families.timetable.releases import Calendar, calendar_of, due_of, horizon_of, moments_of, releases_of
from mrdsl.families.timetable.type_checks import check_hosting, check_types, has_slots_on_all
from mrdsl.families.timetable.types import node_on
from mrdsl.formulas.profiles import check_profiles
from mrdsl.formulas.stage_checks import check_several_slots, check_stages
from mrdsl.formulas.type_checks import may_use
from mrdsl.simulation.recordings import check_recordings
from mrdsl.spec.schema import PERCENTILES, Node
from mrdsl.spec.spec import Spec

MOST_RUNS = 200_000
"""Runs of a spec at most."""
LATEST = 3660 * DAY_SECONDS
"""The latest time of a spec, ten years [s]: the sums of verification are exact to a microsecond until then."""
SHORTEST = 1e-3
"""The shortest time of a task [s]: verification takes times within a microsecond as one."""
MOST_TASKS = 10**9
"""Tasks of a stage at most."""
EXAMPLE = "runs { from = 22:00, every = 2 min, times = 200 }"


def check(spec: Spec) -> Iterator[Diagnostic]:
    """Mistakes beyond single items."""
    facts: TimetableFacts = spec.facts
    if not facts.vms:
        return
    arrivals = list(check_arrivals(facts))
    yield from arrivals
    if has_errors(arrivals):
        return
    facts = filled(facts)
    found = [
        *check_types(facts),
        *_described(facts),
        *check_profiles(facts.classes),
        *check_stages(facts.classes),
        *check_several_slots(facts.classes, False),
        *check_recordings(facts.classes),
    ]
    yield from found
    if not has_errors(found):
        yield from check_hosting(facts)
        yield from _sizes(facts)
    times = list(_times(facts))
    yield from times
    if not has_errors(times):
        yield from _windows(facts)


def find_impossible(spec: Spec) -> Iterator[Diagnostic]:
    """Yield runs that take longer than their window with a slot for each task, on any type that they may use."""
    from mrdsl.families.timetable.types import market_of

    facts = filled(spec.facts)
    if not facts.vms or not facts.classes:
        return
    market = market_of(spec.facts)
    least = [min(market.nights[vm].jobs[job].path() for vm in market.types_of(job)) for job in range(len(market.jobs))]
    calendar = calendar_of(facts)
    told: set[int] = set()
    for run in market.runs:
        end = run.ready + least[run.job]
        node = facts.classes[run.job]
        if end <= run.due or run.job in told or node.guarantee in PERCENTILES:  # drawn times may be shorter
            continue
        told.add(run.job)
        takes, window = (show((time - run.release) / TICK, "time") for time in (end, run.due))
        item = "deadline" if node.due is None else "due"
        where = " on its fastest VM type" if len(market.types_of(run.job)) > 1 else ""
        found = impossible(
            "impossible-deadline",
            f"run {run.number + 1} of class {node.name} is due {window} after its release and takes "
            f"{takes} with a slot for every task{where}: it ends at {_shown(calendar, end / TICK)} at the earliest",
            node.span_of(item),
            f"write deadline = {takes} or more" if item == "deadline" else "write a later `due`",
        )
        # a run that may be left out is, at its penalty
        yield found if node.penalty is None else never_admitted(found, "such runs", f"class {node.name}")


def _runs(node: JobClass) -> Runs:
    """Return the runs of a class of filled facts."""
    assert node.runs is not None
    return node.runs


def _shown(calendar: Calendar, seconds: float) -> str:
    return clock_text(seconds, calendar.first_day) if calendar.clock else show(seconds, "time")


def _described(facts: TimetableFacts) -> Iterator[Diagnostic]:
    for node in facts.classes:
        if node.map is None and not node.stages:
            yield error(
                "missing-block",
                f"class {node.name} has neither stages nor a map phase",
                node.span,
                "add `stage scan { tasks = 32, avg = 5 s, max = 8 s }`",
            )
        for stage in node.stages:
            if stage.delay:
                yield error(
                    "out-of-range",
                    f"stage {stage.name} of class {node.name} has a delay: a timetable plans with 0 s alone",
                    stage.span_of("delay"),
                    f"leave it out, and add {show(stage.delay, 'time')} to `startup` of the class",
                )
        lacks = node.slots is None and node.container is None and not has_slots_on_all(facts, node)
        if lacks or (node.slots is not None and node.container is not None):
            yield error(
                "missing-block" if lacks else "duplicate",
                f"class {node.name} needs one of `slots` and `container`, and has {'neither' if lacks else 'both'}",
                node.span,
                f"write slots {{ {'task = 8' if node.stages else 'map = 8, reduce = 8'} }}",
            )


def _times(facts: TimetableFacts) -> Iterator[Diagnostic]:
    """Yield runs that are not described, deadlines that are missing, and times of two kinds."""
    total = 0
    for node in facts.classes:
        runs = _runs(node)
        yield from _one_form(node, runs)
        if (node.deadline is None) == (node.due is None) and (node.due is not None or not runs.deadlines):
            yield error(
                "missing-item",
                f"class {node.name} needs one of `deadline` and `due`, and has {'both' if node.due else 'neither'}",
                node.span_of("deadline"),
                "write deadline = 280 s, after the release of each run, or due = 06:00",
            )
        total += len(runs.at) or runs.times or 1
    if total > MOST_RUNS:
        yield error(
            "out-of-range",
            f"the classes have {total:,} runs, more than the {MOST_RUNS:,} that are planned",
            _runs(facts.classes[0]).span,
            "plan one day, or one week, at a time",
        )
    mixed = list(_mixed(facts))
    yield from mixed or _begin(facts)


def _begin(facts: TimetableFacts) -> Iterator[Diagnostic]:
    """Yield an origin of clock times that is wrong or has no effect, and a note if the spec does not state it."""
    calendar, clock = calendar_of(facts), parse_clock(facts.begin) if isinstance(facts.begin, str) else None
    if facts.begin is not None and (clock is None or clock.day is not None):
        yield error(
            "wrong-value",
            f"`begin` must be a time of day without a date, got {facts.begin}",
            facts.span_of("begin"),
            "write the first clock time of the night, such as begin = 22:00",
        )
    elif facts.begin is not None and calendar.first_day is not None:
        yield warning(
            "unused",
            "`begin` has no effect on times with a date",
            facts.span_of("begin"),
            "leave it out, or leave out the dates",
        )
    elif calendar.moved:
        firsts = [(node, releases_of(node, calendar)[0]) for node in facts.classes]
        origin = next(node for node, first in firsts if first == calendar.begin)
        moved, first = next((node, first) for node, first in firsts if first >= DAY_SECONDS)
        yield note(
            "moved-origin",
            f"clock times count from {clock_text(calendar.begin)}, the first run of class {origin.name}: "
            f"class {moved.name} starts at {clock_text(first)}",
            _runs(origin).span or origin.span,
            f"write begin = {clock_text(calendar.begin)} to state it, or begin = 00:00 to count from midnight",
        )


def _one_form(node: JobClass, runs: Runs) -> Iterator[Diagnostic]:
    values = (node.due, runs.from_, *runs.at)
    broken = next((each for each in values if isinstance(each, str) and parse_clock(each) is None), None)
    if broken is not None:
        yield error(
            "wrong-value",
            f"`{broken}` of class {node.name} is not a clock time",
            runs.span or node.span,
            f"write a time between 00:00 and 23:59:59, {EXAMPLES}",
        )
    if runs.deadlines and len(runs.deadlines) != len(runs.at):
        yield error(
            "out-of-range",
            f"the runs of class {node.name} have {len(runs.at)} times in `at` and {len(runs.deadlines)} deadlines",
            runs.span or node.span,
            "give one deadline for each run, None for that of the class",
        )
    if (runs.from_ is None) == (not runs.at):
        yield error(
            "missing-item" if runs.from_ is None else "duplicate",
            f"the runs of class {node.name} need one of `from` and `at`, and have "
            f"{'neither' if runs.from_ is None else 'both'}",
            runs.span or node.span,
            f"write {EXAMPLE}, or runs {{ at = [22:00, 23:30] }}",
        )
    elif (runs.every is None) != (runs.times is None) or (runs.at and runs.every is not None):
        yield error(
            "missing-item",
            f"the runs of class {node.name} need `every` and `times` together with `from`",
            runs.span or node.span,
            f"write {EXAMPLE}",
        )


def _mixed(facts: TimetableFacts) -> Iterator[Diagnostic]:
    """Yield mixtures of clock times and offsets, and of times with and without a date."""
    written: list[tuple[Node, str, float | str]] = [
        (_runs(node) if node is not None and item in ("from", "at") else node or facts, item, value)
        for node, item, value in moments_of(facts)
    ]
    clocks = [each for each in written if isinstance(each[2], str)]
    offsets = [each for each in written if not isinstance(each[2], str)]
    if clocks and offsets:
        first, other = clocks[0], offsets[0]
        yield error(
            "mixed-times",
            f"`{other[1]}` is an offset, and `{first[1]}` a clock time",
            other[0].span_of("from_" if other[1] == "from" else other[1]),
            "write all times of the spec as clock times, or all as offsets",
            Related(f"{first[2]} is a clock time", first[0].span_of("from_" if first[1] == "from" else first[1])),
        )
        return
    dated = any(isinstance(value, str) and "T" in value for *_, value in clocks)
    for node in facts.classes if dated else ():
        runs = _runs(node)
        first_time = runs.from_ if not runs.at else runs.at[0]
        clock = parse_clock(first_time) if isinstance(first_time, str) else None
        if clock is not None and clock.day is None:
            yield error(
                "mixed-times",
                f"the runs of class {node.name} begin at {first_time} without a date, but other times have a date",
                runs.span_of("from_" if not runs.at else "at"),
                f"write the date too: 2026-11-23T{first_time}",
            )


def _sizes(facts: TimetableFacts) -> Iterator[Diagnostic]:
    """Yield stages whose tasks are shorter, or more, than the range of verification, on any type."""
    from mrdsl.families.timetable.night import job_of

    for written in facts.classes:
        for node in dict.fromkeys(node_on(written, vm) for vm in facts.vms if may_use(written, vm)):
            for index, stage in enumerate(job_of(node).stages):
                called = f"{'phase' if node.map is not None else 'stage'} {stage.name} of class {node.name}"
                block = node.stages[index] if node.stages else node.map if stage.name == "map" else node.reduce
                if stage.ticks < SHORTEST * TICK:
                    yield error(
                        "out-of-range",
                        f"a task of {called} takes {show(stage.ticks / TICK, 'time')}, less than 1 ms",
                        (None if block is None else block.span) or node.span,
                        "write the time of a task from 0.001 s on, or one longer task in place of many",
                    )
                if stage.tasks > MOST_TASKS:
                    yield error(
                        "out-of-range",
                        f"{called} has {stage.tasks:,} tasks, more than the {MOST_TASKS:,} that are planned",
                        (None if block is None else block.span) or node.span,
                        "write fewer and longer tasks",
                    )


def _windows(facts: TimetableFacts) -> Iterator[Diagnostic]:
    """Yield runs out of order, and runs that are due before their release or after the horizon."""
    calendar = calendar_of(facts)
    releases = [(node, releases_of(node, calendar)) for node in facts.classes]
    horizon = horizon_of(facts, calendar, max(each for _, times in releases for each in times))
    for node, times in releases:
        ordered = sorted(times)
        if list(times) != ordered:
            yield error(
                "out-of-range",
                f"the runs of class {node.name} are not in the order of their times",
                _runs(node).span_of("at"),
                "write the earliest first",
            )
        for number, release in enumerate(times):
            due = due_of(node, number, release, calendar)
            called = f"run {number + 1} of class {node.name}"
            if due <= release < LATEST:
                yield error(
                    "out-of-range",
                    f"{called} is due at {_shown(calendar, due)}, not after its release at {_shown(calendar, release)}",
                    node.span_of("due"),
                    "write a later `due`, or a `deadline` after each release",
                )
                break
            if due > LATEST:
                yield error(
                    "out-of-range",
                    f"{called} is due {show(due, 'time')} after time 0, and a timetable covers 10 years",
                    _runs(node).span or node.span,
                    "plan one day, or one week, at a time",
                )
                break
            if horizon is not None and due > horizon:
                yield error(
                    "out-of-range",
                    f"{called} is due at {_shown(calendar, due)}, after the horizon at {_shown(calendar, horizon)}",
                    facts.span_of("horizon"),
                    f"write horizon = {_shown(calendar, due)} or later, or leave it out",
                )
                break
