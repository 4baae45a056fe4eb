"""Runs out of a file, as if they were written in the spec: of its classes, or jobs that are classes of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mrdsl.core.diagnostics import Diagnostic, MrdslError, Related, error, has_errors, warning
from mrdsl.core.lazy import kept
from mrdsl.exchange.job_traces import SPEEDS, check_job_file, rows_of
from mrdsl.exchange.registry import BYTE_TRACES, RUN_TABLES, named
from mrdsl.families.timetable.facts import Arrivals, JobClass, Runs, TimetableFacts
from mrdsl.spec.blocks import MapPhase, ReducePhase, ShufflePhase

if TYPE_CHECKING:
    from mrdsl.exchange.job_traces import SwimJob, TableJob, TableRun


def filled(facts: TimetableFacts) -> TimetableFacts:
    """Return the facts with the runs of their file in their classes, cached with them; the same facts without a file.

    Classes without a run are left out. The file has no errors: :func:`check_arrivals` reports them.
    """
    if facts.arrivals is None:
        return facts
    arrivals = facts.arrivals
    return kept(facts, "filled", lambda: replace(facts, arrivals=None, classes=tuple(_classes(facts, arrivals))))


def _classes(facts: TimetableFacts, arrivals: Arrivals) -> Iterator[JobClass]:
    if not _of_classes(arrivals):
        yield from facts.classes
        for job in _jobs(arrivals):
            yield _own_class(job, arrivals)
        return
    rows: dict[str, list[TableRun]] = {}
    for row in _jobs(arrivals):
        rows.setdefault(row.name, []).append(row)
    for node in facts.classes:
        if node.runs is not None:
            yield node
        elif node.name in rows:
            mine = rows[node.name]
            yield replace(
                node,
                runs=Runs(
                    at=tuple(row.submit - arrivals.begin for row in mine),
                    deadlines=tuple(row.deadline for row in mine),
                    span=arrivals.span,
                ),
            )


def _of_classes(arrivals: Arrivals) -> bool:
    """Return True if the rows of the file name classes of the spec."""
    return arrivals.source is not None and named(RUN_TABLES, arrivals.source.reader) is not None


def _jobs(arrivals: Arrivals) -> Iterator[Any]:
    """Yield the rows of the file between `begin` and `end`. Raises MrdslError if it has changed and has errors now."""
    mistakes: list[Diagnostic] = []
    for row in rows_of(arrivals, mistakes):
        if arrivals.end is not None and row.submit >= arrivals.end:
            break
        if row.submit >= arrivals.begin:
            yield row
    if has_errors(mistakes):
        raise MrdslError(mistakes)


def _own_class(job: SwimJob | TableJob | TableRun, arrivals: Arrivals) -> JobClass:
    """Return a class of one run, whose tasks all take the same time."""
    from mrdsl.exchange.job_traces import SwimJob, TableJob, tasks_of_trace_job

    deadline = arrivals.deadline
    if isinstance(job, SwimJob):
        maps, map_time, reduces, shuffle, reduce = tasks_of_trace_job(job, arrivals)
    else:
        assert isinstance(job, TableJob)
        maps, map_time, reduces = job.map_tasks, job.map_time, job.reduce_tasks
        shuffle, reduce = job.shuffle_time, job.reduce_time
        deadline = job.deadline or deadline
    if deadline is None:
        deadline = (arrivals.deadline_factor or 1.0) * (map_time + (shuffle + reduce if reduces else 0.0))
    return JobClass(
        name=job.name,
        span=arrivals.span,
        map=MapPhase(tasks=maps, avg=map_time, max=map_time),
        shuffle=ShufflePhase(first_max=shuffle, avg=shuffle, max=shuffle) if reduces else None,
        reduce=ReducePhase(tasks=reduces, avg=reduce, max=reduce) if reduces else None,
        slots=arrivals.slots,
        runs=Runs(at=(job.submit - arrivals.begin,), span=arrivals.span),
        deadline=deadline,
    )


def check_arrivals(facts: TimetableFacts) -> Iterator[Diagnostic]:
    """Yield errors of the file of runs, and of classes that have no runs or two kinds of them."""
    arrivals = facts.arrivals
    if arrivals is None:
        if not facts.classes:
            yield error(
                "missing-block",
                "there is neither a class nor `arrivals`",
                facts.span,
                'add class NAME { ... }, or arrivals from swim("jobs.tsv") { ... }',
            )
        for node in facts.classes:
            if node.runs is None:
                yield error(
                    "missing-block",
                    f"class {node.name} has no `runs`",
                    node.span,
                    "add runs { from = 22:00, every = 2 min, times = 200 }",
                )
        return
    rows: list[Any] = []
    mistakes = list(check_job_file(arrivals, "runs", rows))
    yield from mistakes
    if arrivals.source is None:
        return
    yield from _check_items(facts, arrivals)
    if has_errors(mistakes):
        return
    if _of_classes(arrivals):
        yield from _check_classes(facts, arrivals, rows)
    else:
        yield from _check_names(facts, arrivals, rows)
        yield from _check_deadlines(arrivals, rows)


def _check_items(facts: TimetableFacts, arrivals: Arrivals) -> Iterator[Diagnostic]:
    """Yield items that the kind of file needs, and items without an effect."""
    assert arrivals.source is not None
    own = not _of_classes(arrivals)
    if own and arrivals.slots is None:
        yield error(
            "missing-block",
            "arrivals have no `slots`: jobs out of a file do not say how many of their tasks a VM hosts",
            arrivals.span,
            "add slots { map = 8, reduce = 8 } to the block",
        )
    if named(BYTE_TRACES, arrivals.source.reader) is None:
        for item in SPEEDS:
            if getattr(arrivals, item) is not None:
                yield _no_effect(arrivals, item, "the file is not a SWIM trace")
    for item in ("slots", "deadline", "deadline_factor"):
        if not own and getattr(arrivals, item) is not None:
            yield _no_effect(arrivals, item, "the classes of the spec have theirs")
    if own and arrivals.deadline is not None and arrivals.deadline_factor is not None:
        yield error(
            "duplicate",
            "arrivals have both `deadline` and `deadline_factor`",
            arrivals.span_of("deadline_factor"),
            "keep one of them",
        )
    for node in facts.classes:
        if node.runs is None and own:
            yield error(
                "missing-block",
                f"class {node.name} has no `runs`, and the jobs of the file are not of the spec's classes",
                node.span,
                'add `runs`, or read runs of classes: arrivals from jobs("jobs.csv")',
            )


def _no_effect(arrivals: Arrivals, item: str, reason: str) -> Diagnostic:
    return error("unknown-item", f"`{item}` has no effect here: {reason}", arrivals.span_of(item), f"remove `{item}`")


def _check_classes(facts: TimetableFacts, arrivals: Arrivals, rows: list[TableRun]) -> Iterator[Diagnostic]:
    """Yield rows of unknown classes, classes with other runs, and classes without any."""
    assert arrivals.source is not None
    place = arrivals.source.span or arrivals.span
    nodes = {node.name: node for node in facts.classes}
    late = {row.name for row in rows if row.deadline is None}
    for name in dict.fromkeys(row.name for row in rows):
        node = nodes.get(name)
        if node is None:
            yield error(
                "unknown-name",
                f"{arrivals.source.written} has runs of class {name}, which the spec does not have",
                place,
                f"add class {name} {{ ... }}" + (f"; the spec has {', '.join(list(nodes)[:5])}" if nodes else ""),
            )
        elif node.runs is not None:
            yield error(
                "duplicate",
                f"class {name} has `runs`, and runs in {arrivals.source.written}",
                node.runs.span or node.span,
                "keep one of them",
                Related("the file", place),
            )
        elif name in late and node.deadline is None and node.due is None:
            yield error(
                "missing-item",
                f"class {name} has no deadline, nor have all of its runs in {arrivals.source.written}",
                node.span,
                "write deadline = 280 s, or a deadline in each row",
            )
    ran = {row.name for row in rows}
    for node in facts.classes:
        if node.runs is None and node.name not in ran:
            yield warning(
                "unused",
                f"class {node.name} has no run in {arrivals.source.written}: it is left out",
                node.span,
                "remove the class, or add a row for it",
            )


def _check_names(
    facts: TimetableFacts, arrivals: Arrivals, rows: list[SwimJob | TableJob | TableRun]
) -> Iterator[Diagnostic]:
    """Yield the first job of a file whose name is that of another job, or of a class of the spec."""
    assert arrivals.source is not None
    seen = {node.name for node in facts.classes}
    for row in rows:
        if row.name in seen:
            yield error(
                "duplicate",
                f"job {row.name} of {arrivals.source.written} has the name of another job or class",
                arrivals.source.span or arrivals.span,
                "give each job a name of its own",
            )
            return
        seen.add(row.name)


def _check_deadlines(arrivals: Arrivals, rows: list[SwimJob | TableJob | TableRun]) -> Iterator[Diagnostic]:
    if arrivals.deadline is not None or arrivals.deadline_factor is not None:
        return
    without = next((row for row in rows if getattr(row, "deadline", None) is None), None)
    if without is not None:
        assert arrivals.source is not None
        yield error(
            "missing-item",
            f"job {without.name} of {arrivals.source.written} has no deadline",
            arrivals.span,
            "add deadline = 1 h, or deadline_factor = 3, to the block",
        )
