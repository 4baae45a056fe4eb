"""Checks of classes of stages, and of the slots for each kind of task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from mrdsl.core.diagnostics import Diagnostic, Related, Span, chained, did_you_mean, error, impossible, warning
from mrdsl.core.rounding import SAME_SUM
from mrdsl.core.units import show
from mrdsl.formulas.profiles import far_above, is_far_above
from mrdsl.formulas.stages import find_cycle, longest_path, parents_of
from mrdsl.spec.blocks import Stage, any_rows, any_stages, is_plain, stages_of
from mrdsl.spec.columns import Columns, Reader, matching, parts_of
from mrdsl.spec.estimates import CLASS, OWN, PAPER

_PHASES = (("map", "map.avg"), ("shuffle", "shuffle.avg"), ("reduce", "reduce.tasks"))


def check_stages(classes: Sequence[Any]) -> Iterator[Diagnostic]:
    """Yield stages with another description, unknown names, cycles, and longest times below the average."""
    if not any_stages(classes):
        return
    yield from _beside_phases(classes)
    seen: set[int] = set()
    for index, stages in enumerate(stages_of(classes)):
        if not stages or id(stages) in seen:
            continue
        seen.add(id(stages))
        for diagnostic in _stages(classes[index].name, stages):
            yield (
                replace(diagnostic, path=f"classes[{index}].{diagnostic.path}")
                if diagnostic.span is None
                else diagnostic
            )


def check_kinds_of_slots(classes: Sequence[Any]) -> Iterator[Diagnostic]:
    """Yield classes without slots for their kinds of tasks (stages, or map and reduce), and unused slots."""
    staged = _staged(classes)
    yield from _without_slots(classes, staged)
    for index in matching(classes, lambda c: c.has("slots.task") & c.has("slots.map") & c.has("slots.reduce")):
        if not staged(index):
            yield _unused(classes[index], "task", "it has no stages")
    if not any_stages(classes):
        return
    for index in matching(classes, lambda c: c.lacks("slots.task")):
        if staged(index) and classes[index].slots is not None:
            node = classes[index]
            yield at_path(
                error(
                    "missing-item",
                    f"the tasks of class {node.name} have no slots: it consists of stages, and its slots lack `task`",
                    node.slots.span or node.span,
                    "write how many tasks one VM hosts: slots { task = 4 }",
                ),
                f"classes[{index}].slots.task",
            )
    for kind in ("map", "reduce"):
        for index in matching(classes, lambda c, kind=kind: c.has(f"slots.{kind}") & c.has("slots.task")):  # type: ignore[misc]
            if staged(index):
                yield _unused(classes[index], kind, "it consists of stages")


def _without_slots(classes: Sequence[Any], staged: Callable[[int], bool]) -> Iterator[Diagnostic]:
    """Map or reduce slots that a class with slots lacks; once of a table or group of which none has them."""
    before = 0
    for part in parts_of(classes):
        found = matching(part, _lacks_slots) if isinstance(part, Columns) else _lacking_slots(part)
        for index in found:
            if staged(before + index):
                continue
            if isinstance(part, Columns) and not any(path.startswith("slots.") for path in part.values):
                break
            node = part[index]
            if node.slots is None:
                continue
            kinds = ("map",) if is_map_only(node) else ("map", "reduce")
            lacking = [f"`{kind}`" for kind in kinds if getattr(node.slots, kind) is None]
            if not lacking:
                continue
            yield at_path(
                error(
                    "missing-item",
                    f"the slots of class {node.name} lack {' and '.join(lacking)}",
                    node.slots.span or node.span,
                    "write how many tasks of each kind one VM hosts: slots { map = 2, reduce = 1 }, or in a table "
                    "the columns `slots.map` and `slots.reduce`",
                ),
                f"classes[{before + index}].slots",
            )
            if isinstance(part, Columns) and not all(f"slots.{kind}" in part.values for kind in ("map", "reduce")):
                break
        before += len(part)


def _lacks_slots(c: Reader) -> Any:
    """Return True for classes of a table without map slots, or with reduce tasks and no reduce slots."""
    reduces = (c("reduce.tasks", 0.0) > 0.0) | (c("coefficients.B", 0.0) > 0.0)
    return c.lacks("slots.map") | (c.lacks("slots.reduce") & reduces)


def _lacking_slots(nodes: Sequence[Any]) -> Iterator[int]:
    """Yield the same of written classes, which may have reduce tasks on single types only."""
    for index, node in enumerate(nodes):
        slots = node.slots
        if slots is not None and (slots.map is None or (slots.reduce is None and not is_map_only(node))):
            yield index


def is_map_only(node: Any) -> bool:
    """Return True if jobs of a class have no reduce tasks, here and on every single type."""
    rows = getattr(node, "on", ())
    return all(
        (each.coefficients.B == 0.0) if getattr(each, "coefficients", None) is not None else not _reduces(each)
        for each in (node, *rows)
    )


def _reduces(node: Any) -> bool:
    return node.reduce is not None and node.reduce.tasks > 0


def check_several_slots(classes: Sequence[Any], barrier: bool) -> Iterator[Diagnostic]:
    """Yield stages whose tasks take several slots without executors of which these are whole parts.

    Without ``barrier``, barrier stages are errors too.
    """
    with_rows = any_rows(classes, "on")
    for index, every in enumerate(stages_of(classes) if any_stages(classes) or with_rows else ()):
        if is_plain(every) and not with_rows:
            continue
        node = classes[index]
        executor = None if node.container is None else node.container.executor
        there = "has none" if executor is None else f"has one for {executor.tasks} tasks"
        for stage in (*every, *(stage for row in node.on for stage in row.stages)):
            q = stage.slots
            if q > 1 and (executor is None or executor.tasks % q):
                yield error(
                    "wrong-value",
                    f"a task of stage {stage.name} takes {q} slots of an executor, and class {node.name} {there}",
                    stage.span_of("slots"),
                    f"write container {{ executor {{ cores = {2 * q}, memory = {4 * q} GiB, tasks = {2 * q} }} }}: its "
                    f"tasks are a multiple of {q}",
                )
            if stage.barrier == "yes" and not barrier:
                yield error(
                    "wrong-value",
                    f"stage {stage.name} of class {node.name} is a barrier stage, which needs all its slots at once",
                    stage.span_of("barrier"),
                    "plan the class with `problem capacity`, or remove `barrier`",
                )


def check_few_tasks_of_stages(classes: Sequence[Any]) -> Iterator[Diagnostic]:
    """Yield warnings if the upper estimate takes W in the place of W - 2 P: see mapreduce.upper."""
    if not any_stages(classes):
        return
    rows = stages_of(classes)
    for index in matching(classes, _promises_more_than_lower):
        stages = rows[index]
        if not stages:
            continue
        longest = [stage.max for stage in stages]
        path = longest_path(parents_of(stages), longest)
        if sum(stage.width * stage.avg for stage in stages) <= 2.0 * sum(longest[number] for number in path):
            yield at_path(
                warning(
                    "few-tasks",
                    f"class {classes[index].name} has little work: no more than twice the longest tasks of its "
                    f"critical path, {chained([stages[number].name for number in path])}; the upper estimate is looser",
                    classes[index].span,
                    "no change is needed if the deadline is met: the plan then has a few slots more than necessary",
                ),
                f"classes[{index}]",
            )


def check_upper_of_stages(classes: Sequence[Any], paper: bool) -> Iterator[Diagnostic]:
    """Yield warnings if the guaranteed upper estimate is not a bound, as jobs share slots: estimates.upper_is_bound."""
    if not any_stages(classes):
        return
    rows = stages_of(classes)
    for index in matching(classes, _promises_upper_for_several):
        said = classes[index].sharing
        shared = len(rows[index]) > 1 and said != OWN and (paper or said == CLASS)
        if shared or not is_plain(rows[index]):
            yield no_upper_bound(classes[index], index)


def no_upper_bound(node: Any, index: int) -> Diagnostic:
    """Return the warning for one class."""
    return at_path(
        warning(
            "no-upper-bound",
            f"the upper estimate of class {node.name} is requested, but is not a bound: its jobs lend each "
            "other the slots that they leave at the end of a stage, and wait for them in the next"
            if is_plain(node.stages)
            else f"the upper estimate of class {node.name} is requested, but is not a bound: its tasks wait until "
            "several slots are idle",
            node.span_of("guarantee"),
            "write guarantee = average, or run one job at a time",
        ),
        f"classes[{index}].guarantee",
    )


def path_of(node: Any, by: str, speed: float = 1.0) -> float:
    """Return the time of a job with a slot for every task [s]: of the longest ones by `upper`, else of average ones.

    It is infinite if tasks are not known.
    """
    time = "avg" if by in ("lower", "average", "mean") else "max"
    if node.stages:
        lengths = [stage.delay + getattr(stage, time) / speed for stage in node.stages]
        return float(node.startup + sum(lengths[place] for place in longest_path(parents_of(node.stages), lengths)))
    if node.map is None:
        return inf
    path = node.startup + getattr(node.map, time) / speed
    if node.reduce is None or not node.reduce.tasks or node.shuffle is None:
        return float(path)
    first = getattr(node.shuffle, f"first_{time}")
    return float(path + (node.shuffle.first_max if first is None else first) + getattr(node.reduce, time) / speed)


def too_late(
    facts: Any, node: Any, by: str, times: tuple[float, float, float], how: str, place: Span | None, hint: str
) -> Diagnostic:
    """Return the error that a class misses its time limit by an estimate; it is impossible only if its path does.

    ``times`` are the limit, the least time by the estimate, and the path [s].
    """
    limit, least, path = times
    told = f"a job takes {show(least, 'time')} {how}"
    if path <= limit * (1.0 + SAME_SUM):
        said = f"by the {by} estimate, no slots meet the deadline of class {node.name}, {show(limit, 'time')}: {told}"
        known = f"{said}; its path of tasks takes {show(path, 'time')}, so that a cluster may meet it"
        own = facts.estimates == PAPER and node.stages and path_of(node, "upper") <= limit * (1.0 + SAME_SUM)
        other = "`estimates = scheduling` at the top" if own else "`guarantee = lower`"
        return impossible("late-by-estimate", known, place, f"{hint}; or write {other}")
    alone = f"its path of tasks takes {show(path, 'time')}, and " if path < least * (1.0 - SAME_SUM) else ""
    said = f"no cluster can meet the deadline of class {node.name}, {show(limit, 'time')}"
    return impossible("impossible-deadline", f"{said}: {alone}by the {by} estimate {told}", place, hint)


def _promises_upper_for_several(c: Reader) -> Any:
    return (c.word("guarantee") == "upper") & (c("jobs.high", inf) > 1.0)


def _promises_more_than_lower(c: Reader) -> Any:
    return c.word("guarantee") != "lower"


def _staged(classes: Sequence[Any]) -> Callable[[int], bool]:
    """Return a test of an index for a class of stages, without a list if no class has stages."""
    if not any_stages(classes):
        return lambda index: False
    rows = stages_of(classes)
    return lambda index: bool(rows[index])


def _beside_phases(classes: Sequence[Any]) -> Iterator[Diagnostic]:
    rows = stages_of(classes)
    for block, path in (*_PHASES, ("coefficients", "coefficients.A")):
        if block == "coefficients" and not hasattr(classes[0], "coefficients"):
            continue
        for index in matching(classes, lambda c, path=path: c.has(path)):  # type: ignore[misc]
            if rows[index]:
                node = classes[index]
                yield at_path(
                    error(
                        "stages-and-profile",
                        f"class {node.name} consists of stages and has a {block} block: both define the same thing",
                        getattr(node, block).span or node.span,
                        f"keep the stages or the {block} block of {node.name}; a map phase and a reduce phase after "
                        "it are two stages",
                        Related("the stages begin here", rows[index][0].span),
                    ),
                    f"classes[{index}].{block}",
                )


def _stages(owner: str, stages: tuple[Stage, ...]) -> Iterator[Diagnostic]:
    for number, stage in enumerate(stages):
        if stage.max < stage.avg:
            yield at_path(
                error(
                    "max-below-avg",
                    f"max of stage {stage.name} of class {owner} is {show(stage.max, 'time')}, below avg, "
                    f"{show(stage.avg, 'time')}",
                    stage.span_of("max"),
                    f"the longest time is at least the average: write max = {show(stage.avg, 'time')} or more, or "
                    "lower avg",
                ),
                f"stages[{number}].max",
            )
        if is_far_above(stage.avg, stage.max):
            told = far_above(f"max of stage {stage.name} of class {owner}", stage.avg, stage.max, stage.span_of("max"))
            yield at_path(told, f"stages[{number}].max")
    yield from _unknown(owner, stages)
    yield from _cycle(owner, stages)


def _unknown(owner: str, stages: tuple[Stage, ...]) -> Iterator[Diagnostic]:
    names = {stage.name: None for stage in stages}
    for number, stage in enumerate(stages):
        for name in stage.after:
            if name not in names:
                others = [other for other in names if other != stage.name]
                yield at_path(
                    error(
                        "unknown-name",
                        f"stage {stage.name} comes after `{name}`, and class {owner} has no stage of that name",
                        stage.span_of("after"),
                        did_you_mean(name, others, "its stages: ") or "leave `after` out: it has no other stage",
                    ),
                    f"stages[{number}].after",
                )


def _cycle(owner: str, stages: tuple[Stage, ...]) -> Iterator[Diagnostic]:
    cycle = [stages[number] for number in find_cycle(parents_of(stages))]
    if not cycle:
        return
    first, last = cycle[0], cycle[-1]
    if first is last:
        said = f"stage {first.name} of class {owner} comes after itself"
        hint = f"take {first.name} out of `after`"
    else:
        said = f"the stages of class {owner} wait for each other: {chained([s.name for s in (*cycle, first)])}"
        hint = (
            "no stage can run before itself: take one of these out of an `after`, for example "
            f"{last.name} out of that of {first.name}"
        )
    yield at_path(error("cycle", said, first.span_of("after"), hint), f"stages[{stages.index(first)}].after")


def _unused(node: Any, kind: str, reason: str) -> Diagnostic:
    return warning(
        "unused",
        f"the slots of class {node.name} contain `{kind}`, but {reason}",
        node.slots.span_of(kind) or node.span,
        f"leave `{kind}` out",
    )


def at_path(diagnostic: Diagnostic, path: str) -> Diagnostic:
    return replace(diagnostic, path=path) if diagnostic.span is None else diagnostic
