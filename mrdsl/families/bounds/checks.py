"""Mistakes in a bounds spec beyond its schema, and deadlines that no cluster meets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mrdsl.core.diagnostics import Diagnostic, error, has_errors, note, number_of, warning
from mrdsl.core.rounding import SAME_SUM
from mrdsl.families.bounds.facts import BoundsFacts, JobClass, has_own_slots, is_common, is_fifo, own_classes, sizes_of
from mrdsl.formulas.profiles import check_few_tasks, check_profiles
from mrdsl.formulas.stage_checks import (
    at_path,
    check_few_tasks_of_stages,
    check_stages,
    no_upper_bound,
    path_of,
    too_late,
)
from mrdsl.simulation.recordings import check_recordings
from mrdsl.spec.blocks import Slots, any_stages, is_plain, stages_of
from mrdsl.spec.columns import column
from mrdsl.spec.estimates import PAPER, default_guarantee
from mrdsl.spec.spec import Spec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def kinds_of_slots(facts: BoundsFacts, slots: Slots) -> Iterator[Diagnostic]:
    """Yield the kinds that `slots` lacks: `task` for tasks of stages, otherwise `task` or both `map` and `reduce`."""
    assert facts.cluster is not None
    if slots.task is not None:
        for kind in ("map", "reduce"):
            if getattr(slots, kind) is not None:
                yield warning(
                    "unused",
                    f"`{kind}` in the cluster's slots has no effect, because `task` is one pool for all tasks",
                    slots.span_of(kind) or facts.cluster.span,
                    f"remove `{kind}`, or remove `task` to have separate pools",
                )
        return
    lacking = [f"`{kind}`" for kind in ("map", "reduce") if getattr(slots, kind) is None]
    if any_stages(facts.classes):
        node = next(node for node, stages in zip(facts.classes, stages_of(facts.classes), strict=True) if stages)
        yield at_path(
            error(
                "missing-item",
                f"the tasks of class {node.name} have no slots: it consists of stages, and the cluster's slots "
                "lack `task`",
                slots.span or facts.cluster.span,
                "write slots { task = 192 }: one pool, which map and reduce tasks of other classes take too",
            ),
            "cluster.slots.task",
        )
    elif lacking:
        yield error(
            "missing-item",
            f"the cluster's slots lack {' and '.join(lacking)}",
            slots.span or facts.cluster.span,
            "write slots { map = 128, reduce = 128 }, or slots { task = 128 } for one pool",
        )


def of_phases_alone(facts: BoundsFacts) -> Iterator[Diagnostic]:
    """Yield items that are known of map and reduce phases alone, in classes of stages."""
    if not any_stages(facts.classes):
        return
    for index, (node, stages) in enumerate(zip(facts.classes, stages_of(facts.classes), strict=True)):
        if not stages:
            continue
        in_waves = node.guarantee in ("waves", "fractional_waves")
        for item in ("profiled_on", "data", "recorded", *(("guarantee",) if in_waves else ())):
            if getattr(node, item) is None:
                continue
            what = f"guarantee = {node.guarantee}" if item == "guarantee" else item
            yield at_path(
                error(
                    "stages-and-profile",
                    f"class {node.name} consists of stages, but `{what}` requires map and reduce phases",
                    node.span_of(item),
                    "write guarantee = average, upper or lower" if item == "guarantee" else f"remove `{item}`",
                ),
                f"classes[{index}].{item}",
            )


def promised_without_bound(facts: BoundsFacts) -> Iterator[Diagnostic]:
    """Yield classes of `minimize slots` that are guaranteed an upper estimate of stages that is not a bound."""
    if not any_stages(facts.classes) or has_own_slots(facts):
        return
    alone = len(facts.classes) == 1 and facts.classes[0].jobs == 1
    for index, (node, stages) in enumerate(zip(facts.classes, stages_of(facts.classes), strict=True)):
        own = alone or bool(own_classes(facts)[index])
        if node.guarantee == "upper" and not (is_plain(stages) and (own or len(stages) == 1)):
            yield no_upper_bound(node, index)


SUM_TOLERANCE = 1e-6


def minimizes_slots(spec: Spec) -> bool:
    """Return True if the spec asks for slots, and not for completion times."""
    return spec.goal is not None and spec.goal.quantity == "slots"


def check(spec: Spec) -> Iterator[Diagnostic]:
    """Yield mistakes and warnings."""
    facts: BoundsFacts = spec.facts
    diagnostics = [
        *_classes(spec),
        *check_profiles(facts.classes),
        *check_stages(facts.classes),
        *of_phases_alone(facts),
        *_data(facts),
        *_shares(facts),
        *_recorded(facts),
    ]
    diagnostics += _deadlines(spec) if minimizes_slots(spec) else [*_slots(spec), *_promises(spec)]
    yield from diagnostics
    if not has_errors(diagnostics):
        if is_fifo(facts):
            yield from _queueing(facts)
        else:
            if facts.estimates == PAPER:
                yield from check_few_tasks(facts.classes)
                yield from check_few_tasks_of_stages(facts.classes)
        if minimizes_slots(spec):
            yield from promised_without_bound(facts)


def find_impossible(spec: Spec) -> Iterator[Diagnostic]:
    """Yield deadlines of `minimize slots` that a slot for every task cannot meet."""
    if not minimizes_slots(spec):
        return
    from mrdsl.families.bounds.estimates import estimates_of, growth_of, guaranteed
    from mrdsl.formulas.estimates import earliest

    estimates = estimates_of(spec.facts)
    profile = estimates.profile
    default, growth = default_guarantee(spec.facts, True), growth_of(spec.facts).tolist()
    times = earliest(guaranteed(spec.facts, estimates), profile.map_tasks, profile.reduce_tasks)
    for index in _indices(column(spec.facts.classes, "deadline") * (1.0 + SAME_SUM) < times):
        node = spec.facts.classes[index]
        by, least = node.guarantee or default, float(times[index])
        hint, how = f"write deadline = {least * 1.05 + 1.0:.0f} s or more", "even with a slot for every task"
        yield too_late(
            spec.facts,
            node,
            by,
            (node.deadline, least, min(1.0, growth[index]) * path_of(node, by)),
            how,
            node.span_of("deadline"),
            hint,
        )


def _classes(spec: Spec) -> Iterator[Diagnostic]:
    if not spec.facts.classes:
        yield error(
            "missing-block",
            "no class block: a class is required",
            spec.span,
            "add class NAME { map { tasks = ..., avg = ..., max = ... } }",
        )
    for index, node in enumerate(spec.facts.classes):
        if node.map is None and not node.stages:
            yield at_path(
                error(
                    "missing-block",
                    f"class {node.name} has neither a map phase nor stages",
                    node.span,
                    "add map { tasks = ..., avg = ..., max = ... }, or stage NAME { ... } of the same items",
                ),
                f"classes[{index}]",
            )


def _data(facts: BoundsFacts) -> Iterator[Diagnostic]:
    import numpy as np

    data, measured = column(facts.classes, "data"), column(facts.classes, "profiled_on")
    for index in _indices(np.isnan(data) != np.isnan(measured)):
        node = facts.classes[index]
        has, lacks = ("profiled_on", "data") if node.data is None else ("data", "profiled_on")
        yield error(
            "missing-item",
            f"class {node.name} has `{has}` but no `{lacks}`",
            node.span_of(has),
            f"add {lacks}: the profile is scaled by data / profiled_on",
        )


def _recorded(facts: BoundsFacts) -> Iterator[Diagnostic]:
    from mrdsl.simulation.recordings import read_times

    wrong = list(check_recordings(facts.classes))
    yield from wrong
    if has_errors(wrong):
        return
    for node in facts.classes:
        if node.recorded is None:
            continue
        phases = (("map", node.recorded.map, node.map), ("reduce", node.recorded.reduce, node.reduce))
        for name, source, phase in phases:
            if source is None or phase is None:
                continue
            times = read_times(Path(source.path), node.recorded.unit)
            longest = _longest(node, name)
            if times.max() > longest * (1.0 + SUM_TOLERANCE):
                yield warning(
                    "wrong-recording",
                    f"the longest recorded {name} time of class {node.name} is {times.max():g} s, its "
                    f"profile has at most {longest:g} s: the upper estimate does not bound the runs",
                    source.span or node.recorded.span_of(name),
                    f"the recording has avg = {times.mean():g} s, max = {times.max():g} s",
                )


def _longest(node: JobClass, phase: str) -> float:
    if phase == "map":
        return node.map.max if node.map is not None else 0.0
    shuffle = node.shuffle.max if node.shuffle is not None else 0.0
    return shuffle + (node.reduce.max if node.reduce is not None else 0.0)


def _shares(facts: BoundsFacts) -> Iterator[Diagnostic]:
    import numpy as np

    given = column(facts.classes, "share")
    written = ~np.isnan(given)
    total = float(given[written].sum())
    if not written.any():
        return
    first = facts.classes[_indices(written)[0]]
    if written.all() and abs(total - 1.0) > SUM_TOLERANCE:
        yield error(
            "shares-do-not-add-up",
            f"the shares of all classes add up to {100.0 * total:g}%, not to 100%",
            first.span_of("share"),
            "leave out one share: that class gets the rest",
        )
    elif not written.all() and total >= 1.0 - SUM_TOLERANCE:
        rest = facts.classes[_indices(~written)[0]]
        yield error(
            "shares-do-not-add-up",
            f"the shares add up to {100.0 * total:g}% and leave none for class {rest.name}, which gives none",
            first.span_of("share"),
            "lower the shares, or leave all of them out: h / sum of h per class then",
        )
    least = column(facts.classes, "minimum_share", missing=0.0)
    if least.sum() > 1.0 + SUM_TOLERANCE:
        first = facts.classes[_indices(least > 0.0)[0]]
        yield error(
            "shares-do-not-add-up",
            f"the minimum shares add up to {100.0 * float(least.sum()):g}%, over 100%",
            first.span_of("minimum_share"),
            "lower them: all classes must get their minimum at once",
        )


def _slots(spec: Spec) -> Iterator[Diagnostic]:
    facts: BoundsFacts = spec.facts
    cluster = facts.cluster
    if cluster is None or cluster.slots is None:
        yield error(
            "missing-block",
            "completion times depend on the cluster's slots, and there are none",
            spec.span if cluster is None else cluster.span,
            "add cluster { slots { map = 128, reduce = 128 } }, or ask minimize slots",
        )
        return
    told = list(kinds_of_slots(facts, cluster.slots))
    yield from told
    if has_errors(told):
        return
    maps, reduces = sizes_of(cluster.slots)
    if cluster.pools == "common" and maps != reduces:
        yield error(
            "common-pool-differs",
            f"with pools = common there is one pool, but map = {maps} and reduce = {reduces}",
            cluster.slots.span or cluster.span,
            "write the size of the pool twice, or pools = separate",
        )
    jobs = int(column(facts.classes, "jobs").sum())
    fewest = min(maps, reduces)
    if jobs > fewest and cluster.scheduler != "fifo":
        yield error(
            "too-small-cluster",
            f"{number_of(jobs, 'job')} run at the same time on {number_of(fewest, 'slot')}: "
            "some job has no slot, so the estimates are not valid",
            cluster.slots.span or cluster.span,
            f"give at least {number_of(jobs, 'slot')} of each kind, lower jobs, or write scheduler = fifo",
        )
    if cluster.masters == "yes":
        yield from _masters(facts, jobs)
    yield from _too_few_at_once(facts)
    yield from _overload(facts)


def _too_few_at_once(facts: BoundsFacts) -> Iterator[Diagnostic]:
    """Yield classes whose jobs have fewer slots than one task, or a barrier stage, takes."""
    from mrdsl.families.bounds.estimates import slots_of_one_job

    for index, stages in enumerate(stages_of(facts.classes) if any_stages(facts.classes) else ()):
        slots = slots_of_one_job(facts)[0]
        for stage in stages:
            if stage.together > max(1.0, slots[index] * (1.0 + SAME_SUM)):
                what = "its tasks run all at once" if stage.barrier == "yes" else "each of its tasks takes several"
                yield error(
                    "too-small-cluster",
                    f"stage {stage.name} of class {facts.classes[index].name} takes {stage.together} slots at once, "
                    f"since {what}, and a job has {slots[index]:g}",
                    stage.span_of("barrier" if stage.barrier == "yes" else "slots"),
                    "give the cluster more slots, or lower jobs",
                )


def _masters(facts: BoundsFacts, jobs: int) -> Iterator[Diagnostic]:
    """Yield jobs that hold a slot each while they run must leave slots for tasks."""
    cluster = facts.cluster
    assert cluster is not None
    assert cluster.slots is not None
    arriving = [
        index for index, node in enumerate(facts.classes) if node.arrivals is not None or node.submissions is not None
    ]
    if arriving:
        yield error(
            "too-small-cluster",
            "with masters = yes every job holds a slot while it runs, and jobs that arrive at random may hold "
            "all of them",
            facts.classes[arriving[0]].span_of("arrivals") or facts.classes[arriving[0]].span_of("submissions"),
            "leave out arrivals and submissions, so that a fixed number of users submits jobs, or masters",
        )
    elif jobs >= (slots := sizes_of(cluster.slots)[0]):
        yield error(
            "too-small-cluster",
            f"with masters = yes {number_of(jobs, 'job')} hold {number_of(slots, 'slot')} and leave none for tasks",
            cluster.slots.span or cluster.span,
            f"give more than {number_of(jobs, 'slot')}, or leave out masters",
        )


def _promises(spec: Spec) -> Iterator[Diagnostic]:
    """Yield constraints and deadlines of an estimate: they have no effect on it."""
    import numpy as np

    for constraint in spec.constraints[:1]:
        yield error(
            "wrong-statement",
            "an estimate makes no choice, so it cannot meet constraints",
            constraint.span or spec.span,
            "leave subject to out, or ask minimize slots",
        )
    for index in _indices(~np.isnan(column(spec.facts.classes, "deadline"))):
        node = spec.facts.classes[index]
        yield warning(
            "unused",
            f"estimate completion does not use the deadline of class {node.name}",
            node.span_of("deadline"),
            "leave it out, or ask minimize slots",
        )


def _overload(facts: BoundsFacts) -> Iterator[Diagnostic]:
    """Yield classes that arrive at random and bring more work than the slots can do: their queues grow without end."""
    import numpy as np

    from mrdsl.formulas import mapreduce
    from mrdsl.formulas.profiles import profile_of

    assert facts.cluster is not None
    assert facts.cluster.slots is not None
    rate = column(facts.classes, "arrivals", missing=0.0) * column(facts.classes, "burst", missing=1.0)
    work = mapreduce.lower(profile_of(facts.classes))
    maps, reduces = sizes_of(facts.cluster.slots)
    loads = {
        "map": float(rate @ work.map_work) / maps,
        "reduce": float(rate @ np.nan_to_num(work.reduce_work)) / reduces,
    }
    if is_common(facts.cluster):
        loads = {"": sum(loads.values())}
    for kind, load in loads.items():
        if load >= 1.0:
            first = facts.classes[_indices(rate > 0.0)[0]]
            yield error(
                "overloaded-cluster",
                f"the arriving jobs keep {load:.0%} of the {kind + ' ' if kind else ''}slots busy: jobs pile "
                "up without end",
                first.span_of("arrivals"),
                f"lower arrivals, or give {load / 0.9:.2g} times the slots",
            )


def _deadlines(spec: Spec) -> Iterator[Diagnostic]:
    import numpy as np

    facts: BoundsFacts = spec.facts
    for index in _indices(np.isnan(column(facts.classes, "deadline"))):
        node = facts.classes[index]
        yield error(
            "missing-item",
            f"minimize slots needs a deadline, and class {node.name} has none",
            node.span,
            "add a deadline, for example `deadline = 10 min`",
        )
    for node in facts.classes:
        if node.guarantee == "fractional_waves":
            yield warning(
                "fractional-waves",
                f"(3.16) to (3.18) take the waves of class {node.name} as fractions: in whole waves a job "
                "may miss its deadline",
                node.span_of("guarantee"),
                "guarantee = waves sizes in whole waves by (3.14)",
            )
    if facts.cluster is not None and facts.cluster.slots is not None:
        yield warning(
            "unused",
            "minimize slots asks how many slots it takes, so the cluster's slots play no role",
            facts.cluster.slots.span or facts.cluster.span,
            "leave them out, or add subject to { slots <= 256 }",
        )


def _queueing(facts: BoundsFacts) -> Iterator[Diagnostic]:
    cluster = facts.cluster
    if cluster is not None and column(facts.classes, "jobs").sum() > 1:
        yield note(
            "fifo-without-waiting",
            "under fifo the estimates are those of a job that has the whole cluster: they leave out "
            "the waiting for other jobs",
            cluster.span_of("scheduler"),
            "mrdsl simulate shows completion with the waiting",
        )


def _indices(flags: NDArray[np.bool_]) -> list[int]:
    return [int(index) for index in flags.nonzero()[0]]
