"""What can be wrong with a bounds spec because of stages: slots for their tasks, what is known of phases alone."""

from __future__ import annotations

from collections.abc import Iterator

from mrdsl.core.diagnostics import Diagnostic, error, warning
from mrdsl.families.bounds.facts import BoundsFacts, has_own_slots
from mrdsl.formulas.stage_checks import at_path, no_upper_bound
from mrdsl.spec.blocks import Slots
from mrdsl.spec.stages import any_stages, stages_of


def kinds_of_slots(facts: BoundsFacts, slots: Slots) -> Iterator[Diagnostic]:
    """What tasks lack in slots: `task` where they are of stages, else `task` or both `map` and `reduce`."""
    assert facts.cluster is not None
    if slots.task is not None:
        for kind in ("map", "reduce"):
            if getattr(slots, kind) is not None:
                yield warning(
                    "unused",
                    f"the cluster's slots say `task`, one pool for all tasks, and `{kind}` besides",
                    slots.span_of(kind) or facts.cluster.span,
                    f"leave `{kind}` out, or `task`",
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
    """Items that are known of map and reduce phases alone, in classes of stages."""
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
                    f"class {node.name} consists of stages, and `{what}` is known of map and reduce phases alone",
                    node.span_of(item),
                    "take guarantee = average, upper or lower" if item == "guarantee" else f"leave {item} out",
                ),
                f"classes[{index}].{item}",
            )


def promised_without_bound(facts: BoundsFacts) -> Iterator[Diagnostic]:
    """For `minimize slots`: upper estimates of stages that are promised and are no bound."""
    if not any_stages(facts.classes) or has_own_slots(facts):
        return
    alone = len(facts.classes) == 1 and facts.classes[0].jobs == 1
    for index, (node, stages) in enumerate(zip(facts.classes, stages_of(facts.classes), strict=True)):
        if len(stages) > 1 and node.guarantee == "upper" and not alone:
            yield no_upper_bound(node, index)
