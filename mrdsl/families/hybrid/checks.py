"""Checks of a hybrid spec beyond its schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mrdsl.core.diagnostics import Diagnostic, Severity, error, has_errors, number_of, warning
from mrdsl.families.hybrid.facts import HybridFacts, Queue, control_of, shortfall
from mrdsl.spec.schema import Distribution
from mrdsl.spec.spec import Spec


def check(spec: Spec) -> Iterator[Diagnostic]:
    """Yield mistakes and warnings, all of them."""
    found = tuple(_found(spec))
    yield from found
    controlled = spec.method is None or spec.method.name == "controller"
    if controlled and not has_errors(found):  # other policies, which a command may ask for, keep the delay
        yield from (replace(each, severity=Severity.WARNING) for each in unpromised(spec))


def _found(spec: Spec) -> Iterator[Diagnostic]:
    facts: HybridFacts = spec.facts
    vms = [vm.name for vm in facts.vms]
    for queue in facts.queues:
        if queue.vm not in vms:
            yield error(
                "unknown-name",
                f"queue {queue.name} runs on {queue.vm}, which is not a vm of this spec",
                queue.span_of("vm"),
                f"write one of: {', '.join(vms)}",
            )
        yield from _queue(queue, spec)
    if facts.recorded is not None:
        from mrdsl.families.hybrid.workload import recorded

        yield from recorded(facts)[1]
    if all(queue.vm in vms for queue in facts.queues):
        yield from _nowhere_to_go(facts)
        yield from _load(facts)


def _queue(queue: Queue, spec: Spec) -> Iterator[Diagnostic]:
    if queue.delay < queue.size:
        yield error(
            "short-delay",
            f"tasks of queue {queue.name} take {number_of(queue.size, 'slot')}, "
            f"longer than their delay of {queue.delay}",
            queue.span_of("delay"),
            f"write delay = {queue.size + 1} slots or more",
        )
    facts: HybridFacts = spec.facts
    if queue.arrivals is None and facts.recorded is None:
        yield error(
            "missing-item",
            f"queue {queue.name} has no arrivals",
            queue.span,
            "add `arrivals = poisson(22)`, or a table of recorded arrivals",
        )
    random = isinstance(queue.arrivals, Distribution) or queue.bursts is not None
    if random and spec.seed is None:
        yield error(
            "missing-seed",
            f"arrivals of queue {queue.name} are random, but the spec has no seed",
            queue.span_of("arrivals"),
            "add `seed = 42` at the top level",
        )
    if mean_arrivals(queue) > queue.arrivals_max:
        yield error(
            "out-of-range",
            f"queue {queue.name} gets {number_of(mean_arrivals(queue), 'task', 'g')} a slot on average, more than "
            f"its arrivals_max of {queue.arrivals_max}",
            queue.span_of("arrivals_max"),
            "arrivals_max is the most that arrive in one slot: raise it",
        )


def _nowhere_to_go(facts: HybridFacts) -> Iterator[Diagnostic]:
    control = control_of(facts)
    if control.acceptance < 1.0 or control.outsource_limit > 0:
        return
    place = control.span_of("acceptance") or facts.span
    yield error(
        "nowhere-to-go",
        "`acceptance` is 100 %, but `outsource_limit` is 0: no task can leave when the private cloud is full",
        place,
        "write `acceptance = 95%`, or an `outsource_limit` above 0",
    )


def _load(facts: HybridFacts) -> Iterator[Diagnostic]:
    for vm in facts.vms:
        queues = [queue for queue in facts.queues if queue.vm == vm.name]
        load = sum(mean_arrivals(queue) * queue.size for queue in queues)
        if not queues:
            yield warning(
                "unused", f"no queue runs on vm {vm.name}", vm.span, f"remove it, or write `vm = {vm.name}` in a queue"
            )
        elif load > vm.available:
            share = max(0.0, 1.0 - vm.available / load)
            yield warning(
                "more-work-than-capacity",
                f"the queues of vm {vm.name} need {number_of(load, 'VM', 'g')} on average, "
                f"but `available` is {vm.available}",
                vm.span_of("available"),
                f"about {share * 100:.0f} % of the work will leave or be turned away; "
                f"{number_of(load, 'VM', 'g')} would keep up",
            )


def unpromised(spec: Spec) -> Iterator[Diagnostic]:
    """Yield queues whose delay the drift-plus-penalty controller cannot guarantee, with sufficient changes."""
    facts: HybridFacts = spec.facts
    control = control_of(facts)
    for queue in facts.queues:
        short = shortfall(queue, control)
        if short is None:
            continue
        weight = f"V = {short.weight:.4g}, or " if short.weight is not None else ""
        limit = f", or outsource_limit = {short.outsource_limit}" if short.outsource_limit else ""
        yield error(
            "no-delay-bound",
            f"the controller cannot promise queue {queue.name} its delay of {number_of(queue.delay, 'slot')}: "
            + (
                "its bound (15) would need more to leave in a slot than outsource_limit allows"
                if short.outsource_limit
                else f"its bound (15) holds for tasks of {number_of(queue.size, 'slot')} from a delay of "
                f"{number_of(short.delay, 'slot')} on"
            ),
            queue.span_of("delay"),
            f"one of these would do: {weight}delay = {short.delay} slots{limit}",
        )


def mean_arrivals(queue: Queue) -> float:
    """Tasks per slot on average, before truncation at ``arrivals_max``."""
    if queue.bursts is None:
        return _mean(queue.arrivals or 0.0)
    on, off = queue.bursts.on, queue.bursts.off
    return (off * _mean(queue.arrivals or 0.0) + on * _mean(queue.bursts.arrivals)) / (on + off)


def _mean(value: float | Distribution) -> float:
    if not isinstance(value, Distribution):
        return float(value)
    from mrdsl.formulas.distributions import mean

    return mean(value)
