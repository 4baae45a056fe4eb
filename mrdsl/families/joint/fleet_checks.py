"""Checks of the VM types of a joint spec, and of settings that require them or VMs of one kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mrdsl.core.diagnostics import (
    Diagnostic,
    Related,
    did_you_mean,
    error,
    impossible,
    never_admitted,
    warning,
)
from mrdsl.core.units import show
from mrdsl.families.joint.quantities import compares_responses, mentioned
from mrdsl.formulas.quotas import check_quotas, unused_quotas
from mrdsl.formulas.stage_checks import at_path
from mrdsl.formulas.type_checks import (
    check_hosting,
    check_names,
    check_rows,
    check_systems,
    dear_contracts,
    distinct_classes,
    runs_nowhere,
    unused_rows,
    unused_spot,
)
from mrdsl.spec.columns import names_of

if TYPE_CHECKING:
    from mrdsl.families.joint.facts import JobClass, JointFacts, Service
    from mrdsl.families.joint.fleet import Fleet
    from mrdsl.spec.spec import Spec


def check_one_kind(facts: JointFacts) -> Iterator[Diagnostic]:
    """Yield an error for each item that a cluster of VMs of one kind lacks, and that requires VM types."""
    cluster = facts.cluster
    for item, example in (("size", "size = 40 vms"), ("vm_cost", "vm_cost = 0.19 USD/h")):
        if getattr(cluster, item) is None:
            hint = f"add `{example}`, or describe VM types by `vm NAME {{ on_demand {{ price = ... }} }}`"
            yield error("missing-item", f"`cluster` lacks `{item}`", cluster.span, hint)
    for quota in facts.quotas[:1]:
        yield error(
            "missing-block",
            f"quota {quota.name} counts cores of VM types, and there is no `vm`",
            quota.span,
            "remove it",
        )
    for index, node in distinct_classes(facts):
        if node.slots is None:
            message, hint = f"`class {node.name}` lacks `slots {{ ... }}`", "add `slots { map = 2, reduce = 1 }`"
            yield at_path(error("missing-block", message, node.span, hint), f"classes[{index}].slots")
        for word in ("container", "driver", "on", "types", "spot"):
            if getattr(node, word):
                yield at_path(_needs_types("class", node, word), f"classes[{index}].{word}")
    for service in facts.services:
        for word in ("on", "types"):
            if getattr(service, word):
                yield _needs_types("service", service, word)


def _needs_types(kind: str, node: JobClass | Service, word: str) -> Diagnostic:
    part = getattr(node, word)
    place = part[0].span if word == "on" else part.span if word in ("container", "driver") else node.span_of(word)
    return error(
        "missing-block",
        f"{kind} {node.name} has `{word}`, which requires VM types, and there is no `vm`",
        place or node.span,
        f"add `vm NAME {{ on_demand {{ price = ... }} }}`, or remove `{word}`",
    )


def check_fleet(spec: Spec) -> Iterator[Diagnostic]:
    """Yield mistakes in VM types, in how classes and services run on them, and settings for VMs of one kind."""
    facts: JointFacts = spec.facts
    yield from _of_one_kind(facts)
    yield from check_names(facts)
    yield from _services(facts)
    yield from check_quotas(facts)
    systems = check_systems(facts)
    yield from systems or check_hosting(facts, False)
    for index, node in distinct_classes(facts):
        executor = None if node.container is None else node.container.executor
        for word, there in (("executor", executor), ("driver", node.driver)):
            if there is not None:
                message = f"class {node.name} has `{word}`, which `joint` does not support"
                hint = "write container { task { cores = 1, memory = 2 GiB } }"
                yield at_path(error("unknown-block", message, there.span or node.span, hint), f"classes[{index}]")
    yield from check_rows(facts)
    yield from _comparisons(spec)


def _of_one_kind(facts: JointFacts) -> Iterator[Diagnostic]:
    cluster, vm = facts.cluster, facts.vms[0]
    if cluster.vm_cost is not None:
        yield error(
            "duplicate",
            f"the price of VMs is defined by `vm_cost` and by vm {vm.name}",
            cluster.span_of("vm_cost"),
            "remove `vm_cost`",
            Related("the VM type is here", vm.span),
        )
    for item, only in (("sharing", "partitioned"), ("concurrency", "fractional")):
        if getattr(cluster, item) == only:
            message = f"`{item} = {only}` requires a cluster of one kind of VMs, with `size` and `vm_cost`"
            yield error("needs-one-type", message, cluster.span_of(item), f"remove `{item}`, or the VM types")


def _services(facts: JointFacts) -> Iterator[Diagnostic]:
    """Yield an error for each unknown type of a service."""
    names = list(names_of(facts.vms))
    for service in facts.services:
        said = [(row.name, "on", row.span) for row in service.on]
        said += [(name, "types", service.span_of("types")) for name in service.types]
        for name, word, span in said:
            if name not in names:
                message = f"service {service.name} has `{word} {name}`, but there is no such vm"
                yield error("unknown-name", message, span or service.span, did_you_mean(name, names, "VM types: "))


def _comparisons(spec: Spec) -> Iterator[Diagnostic]:
    """Yield an error for each comparison, and for an objective, that a model with VM types does not express."""
    facts: JointFacts = spec.facts
    places = [each.span for each in (*spec.constraints, spec.goal) if each is not None]
    place = places[0] if places else None
    if compares_responses(spec):
        message = "`response` is compared with more than a number or minimized, which requires VMs of one kind"
        yield error("needs-one-type", message, place, "write response(NAME) <= 1 s")
    unlimited = facts.cluster.size is None and any(vm.available is None for vm in facts.vms)
    several = facts.demand is not None and facts.demand.periods > 1
    if unlimited and ("utilization" in mentioned(spec) or (several and "vms" in mentioned(spec))):
        word = "utilization" if "utilization" in mentioned(spec) else "vms"
        message = f"`{word}` is in a constraint or the objective, and the number of VMs is not limited"
        yield error(
            "missing-item", message, facts.cluster.span, "add `size` to `cluster`, or `available` to each vm type"
        )


def unused_in_fleet(spec: Spec) -> Iterator[Diagnostic]:
    """Yield warnings of settings without effect, and of demand that is not worth its VMs."""
    import numpy as np

    from mrdsl.families.joint.fleet import fleet_of

    facts: JointFacts = spec.facts
    yield from unused_quotas(facts)
    for vm in facts.vms:
        yield from dear_contracts(vm, () if vm.reserved is None else (vm.reserved,))
    for index, node in distinct_classes(facts):
        yield from (at_path(each, f"classes[{index}]") for each in unused_spot(facts, node))
        yield from (at_path(each, f"classes[{index}]") for each in unused_rows(node))
    fleet = fleet_of(spec)
    nodes = [*facts.classes, *facts.services]
    runs = np.isfinite(fleet.cheapest)
    for unit in np.flatnonzero(runs & (fleet.penalty < fleet.cheapest)).tolist():
        least = float(fleet.cheapest[unit]) / (1.0 if unit < fleet.classes else facts.cluster.period)
        yield warning(
            "penalty-below-cost",
            f"turning {nodes[unit].name} away costs less than serving it on any type; it gets no VM beyond its minimum",
            nodes[unit].span_of("penalty"),
            f"it pays to serve from a penalty of {show(least, 'money', spec.currency)}",
        )


def unreachable_in_fleet(spec: Spec) -> list[Diagnostic]:
    """List deadlines and response bounds that no VM type meets: warnings if all demand may be rejected."""
    import numpy as np

    from mrdsl.families.joint.fleet import fleet_of

    fleet, facts, found = fleet_of(spec), spec.facts, []
    for unit in np.flatnonzero(np.isinf(fleet.cheapest)).tolist():
        free = not bool((fleet.low[:, unit] > 0.0).any())
        if unit < fleet.classes:
            node = facts.classes[unit]
            each = runs_nowhere(facts, fleet.pairs, unit, fleet.whole, node.span_of("deadline"), "deadline =")
            what = f"class {node.name}"
        else:
            node = facts.services[unit - fleet.classes]
            each, what = _slow(fleet, unit - fleet.classes, node), f"service {node.name}"
        demand = "jobs" if unit < fleet.classes else "requests"
        found.append(never_admitted(each, demand, what) if free else each)
    return found


def _slow(fleet: Fleet, k: int, service: Service) -> Diagnostic:
    types = [fleet.names[lane.vm] for lane in fleet.lanes]
    usable = [not service.types or name in service.types for name in types]
    least = service.delay + 1.0 / float(fleet.speeds[usable, k].max())
    return impossible(
        "impossible-response",
        f"service {service.name} cannot answer within {service.response:g} s on any VM type that it may use: its "
        f"network delay and its service on the fastest type take {least:g} s",
        service.span_of("response"),
        f"write response = {1.05 * least:.4g} s or more; the nearer to {least:g} s, the more VMs it takes",
    )
