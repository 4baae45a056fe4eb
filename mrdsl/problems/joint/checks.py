"""Mistakes in a joint spec beyond what its schema says, and promises that no plan can keep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mrdsl.diagnostics import Diagnostic, error, impossible

if TYPE_CHECKING:
    from mrdsl.problems.joint.facts import JobClass, Service
    from mrdsl.spec.spec import Spec


def check(spec: Spec) -> Iterable[Diagnostic]:
    """Blocks and items that a joint spec lacks."""
    facts = spec.facts
    if not facts.classes and not facts.services:
        yield error("missing-block", "there is neither a class nor a service", spec.span,
                    "add a `class NAME { ... }` or a `service NAME { ... }`")
    for one in facts.classes:
        yield from _class(one)
    for service in facts.services:
        yield from _service(service)


def _class(one: JobClass) -> Iterator[Diagnostic]:
    if one.coefficients is None and one.map is None:
        yield error("missing-block", f"class {one.name} has no `map` block", one.span,
                    "describe its tasks: `map { tasks = 370, avg = 30 s, max = 42 s }`")
    if one.jobs is None:
        yield error("missing-item", f"class {one.name} has no `jobs`", one.span, "add `jobs = 8 .. 10`")


def _service(service: Service) -> Iterator[Diagnostic]:
    if service.rate is None:
        yield error("missing-item", f"service {service.name} has no `rate`", service.span,
                    "add `rate = 800/s .. 1000/s`")


def find_impossible(spec: Spec) -> Iterable[Diagnostic]:
    """Deadlines, response bounds and least demands that this cluster cannot meet."""
    facts = spec.facts
    found = [d for service in facts.services for d in _response(service)]
    return found or _too_small(spec)


def _response(service: Service) -> Iterator[Diagnostic]:
    least = service.delay + 1.0 / service.service_rate
    if service.response <= least:
        yield impossible(
            "impossible-response",
            f"service {service.name} cannot answer within {service.response:g} s on any number of VMs: "
            f"its delay and one request's service alone take {least:g} s",
            service.span_of("response"), f"allow more than {least:g} s",
        )


def _too_small(spec: Spec) -> Iterator[Diagnostic]:
    from mrdsl.problems.joint.workload import ROUNDING, ceiling, parts, workload

    work = workload(spec)
    for part, size in parts(work, relax=False):
        least = ceiling(work.need_low[:, part]).sum(axis=1)
        short = least - size
        if (short > ROUNDING * size).any():
            worst = int(least.argmax())
            yield impossible(
                "too-small-cluster",
                f"the least demand needs {least[worst]:g} VMs in period {worst}, and the cluster has {size:g}",
                spec.facts.cluster.span_of("size"), f"take at least {least[worst]:g} VMs",
            )
