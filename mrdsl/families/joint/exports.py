"""A joint plan as files that a cluster takes over."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import ceil, log10

from mrdsl.exchange.capacity_scheduler_writer import capacity_scheduler
from mrdsl.exchange.queue_tree import ROOT, Queue, percentages
from mrdsl.families.joint.plan import JointPlan
from mrdsl.spec.spec import Spec

LAYER = "mapreduce"


def yarn(spec: Spec, plan: JointPlan) -> Mapping[str, str]:
    """``capacity-scheduler.xml``, one per period: the classes' queues with the weights (47).

    Two layers, as in section 2 of Cano et al.: all of YARN's capacity goes to ``root.mapreduce``, whose queues are the
    classes. Sharing is work-conserving: an idle queue's slots may be taken by others, by a single user too. Raises
    ValueError where the spec has no class.
    """
    if not len(plan.class_names):
        raise ValueError("there is no class, and so no queue")
    names = queue_names(plan.class_names)
    periods = range(len(plan.vms))
    width = len(str(periods[-1]))
    ends = [f"-{t:0{width}}" if len(periods) > 1 else "" for t in periods]
    return {f"capacity-scheduler{end}.xml": capacity_scheduler(_tree(plan, names, t)) for t, end in enumerate(ends)}


def _tree(plan: JointPlan, names: Sequence[str], t: int) -> Queue:
    got = plan.classes
    digits = max(3, ceil(log10(len(names))) + 1)
    shares = percentages(got.weight[t].tolist(), digits)
    queues = tuple(
        Queue(
            name,
            share,
            user_limit=ceil(100 / share) if share else None,
            note=f"{own}: {_slots(plan, t, i)} slots at once",
        )
        for i, (name, own, share) in enumerate(zip(names, plan.class_names, shares, strict=True))
    )
    held = got.vms[t].sum()
    return Queue(ROOT, children=(Queue(LAYER, children=queues),), note=f"period {t}: {held:g} VMs for MapReduce")


def _slots(plan: JointPlan, t: int, i: int) -> str:
    maps, reduces = plan.classes.map_slots[t, i], plan.classes.reduce_slots[t, i]
    return f"{maps:.6g} task" if plan.stages[i] else f"{maps:.6g} map and {reduces:.6g} reduce"


def queue_names(names: Sequence[str]) -> list[str]:
    """Names that YARN takes: letters, digits, - and _; a second queue of one name gets a number."""
    chosen: dict[str, None] = {}
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)
        free = plain
        number = 2
        while free in chosen:
            free, number = f"{plain}_{number}", number + 1
        chosen[free] = None
    return list(chosen)
