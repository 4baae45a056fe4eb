"""Which machine is the master: the one that the spec has, that the user names, or the cheapest of the plan's."""

from __future__ import annotations

from math import inf

from mrdsl.exchange.targets.deployment import Deployment, TargetError, Wishes


def master_of(deployment: Deployment, wishes: Wishes) -> tuple[str, int, str]:
    """The master's type, how many there are, and a note where it is not the plan's own.

    Raises TargetError where masters are of several types, or of another type than the one that is asked for.
    """
    masters = deployment.masters
    if len(masters) > 1:
        raise TargetError(f"the spec has masters of several types: {', '.join(masters)}", "keep `masters` in one vm")
    if masters:
        ((name, count),) = masters.items()
        if wishes.master and wishes.master != name:
            raise TargetError(
                f"the spec's masters are of type {name}, and `--master` asks for {wishes.master}",
                "leave one of them out",
            )
        return name, count, ""
    if wishes.master:
        return wishes.master, 1, f"the master is one {wishes.master} beside the plan and its cost"
    held = [deployment.type_of(group.vm) for group in deployment.groups]
    cheapest = min(held, key=lambda each: inf if each.price is None else each.price)
    return cheapest.name, 1, f"the master is one {cheapest.name} as the cheapest type of the plan and beside its cost"
