"""Checks of a capacity spec beyond its schema, and of constraints that no cluster can meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mrdsl.contracts.wholeness import means_in_fractions
from mrdsl.core.diagnostics import Diagnostic, error, has_errors, note, number_of
from mrdsl.core.rounding import ROUNDING, ceiling, floor
from mrdsl.families.capacity.constraints import check_promises
from mrdsl.families.capacity.facts import NO, CapacityFacts
from mrdsl.families.capacity.forms import has_slots_for_all, is_plain
from mrdsl.families.capacity.rent_checks import check_largest, implausible_rents, shares_by_idle_vms
from mrdsl.families.capacity.type_checks import check_types, check_unused, find_impossible_types
from mrdsl.formulas.profiles import check_descriptions, check_few_tasks, check_profiles
from mrdsl.formulas.stage_checks import (
    check_few_tasks_of_stages,
    check_kinds_of_slots,
    check_several_slots,
    check_stages,
    check_upper_of_stages,
)
from mrdsl.formulas.type_checks import check_rows, dear_contracts
from mrdsl.model.market import contracts_of
from mrdsl.simulation.recordings import check_recordings
from mrdsl.spec.blocks import any_stages, stages_of
from mrdsl.spec.columns import Reader, matching
from mrdsl.spec.estimates import PAPER
from mrdsl.spec.spec import Spec


def check(spec: Spec) -> Iterator[Diagnostic]:
    """Yield errors and warnings; vectorized, so that 100,000 classes take well under a second."""
    facts: CapacityFacts = spec.facts
    found = [
        *_vm_types(spec),
        *check_types(facts),
        *check_descriptions(facts.classes),
        *check_profiles(facts.classes),
        *check_stages(facts.classes),
        *check_several_slots(facts.classes, True),
        *check_rows(facts),
        *check_kinds_of_slots(facts.classes),
        *_jobs(facts),
        *check_recordings(facts.classes),
        *check_promises(spec),
        *check_largest(spec),
    ]
    if facts.whole == NO:
        found += means_in_fractions(facts, "`whole = no` has fractions of slots")
    if len(facts.never_together):
        from mrdsl.families.capacity.groups import check_groups

        found += check_groups(spec)
    if facts.savings_plans:
        from mrdsl.families.capacity.periods.checks import check_savings

        found += check_savings(facts)
    if facts.demand is not None:
        from mrdsl.families.capacity.periods.checks import check_periods

        found += check_periods(spec, not has_errors(found))
    yield from found
    if not has_errors(found):
        if facts.demand is None:
            yield from _rounded_down(facts)
        paper = facts.estimates == PAPER
        if paper:
            yield from check_few_tasks(facts.classes)
            yield from check_few_tasks_of_stages(facts.classes)
        yield from check_upper_of_stages(facts.classes, paper)
        yield from check_unused(facts)
        yield from shares_by_idle_vms(spec)
        yield from implausible_rents(spec)


def find_impossible(spec: Spec) -> Iterator[Diagnostic]:
    """Yield deadlines that no slots in the range of the guaranteed estimate meet, and shortages of VMs."""
    if spec.facts.demand is not None:
        from mrdsl.families.capacity.periods.checks import find_impossible_periods

        yield from find_impossible_periods(spec)
        return
    classes = spec.facts.classes
    plain = is_plain(spec.facts) and has_slots_for_all(spec.facts) and not spec.constraints
    if plain and not (any(True for _ in matching(classes, _may_be_too_early)) or any(_long_stages(classes))):
        return
    yield from find_impossible_types(spec)


def _may_be_too_early(c: Reader) -> Any:
    """No estimate exceeds the startup and three longest tasks of each kind; a look at that spares most specs the exact
    arithmetic.
    """
    left = c("deadline") - c("startup", 0.0)
    upper = c("shuffle.first_max", 0.0) + 3.0 * (c("map.max", 0.0) + c("shuffle.max", 0.0) + c("reduce.max", 0.0))
    return (left <= upper * (1 + ROUNDING)) | (left <= c("coefficients.C") * (1 + ROUNDING)) | (left <= 0.0)


def _long_stages(classes: Sequence[Any]) -> Iterator[bool]:
    """Yield the same of stages: no estimate exceeds the delay and three longest tasks of each."""
    if any_stages(classes):
        for node, stages in zip(classes, stages_of(classes), strict=True):
            longest = node.startup + sum(stage.delay + 3.0 * stage.max for stage in stages)
            yield bool(stages) and node.deadline <= longest * (1 + ROUNDING)


def _vm_types(spec: Spec) -> Iterator[Diagnostic]:
    vms = spec.facts.vms
    if not vms:
        yield error(
            "missing-block",
            "no vm block: the plan needs a VM type to rent",
            spec.span,
            f"add vm NAME {{ on_demand {{ price = 0.192 {spec.currency}/h }} }}",
        )
    prices: dict[str, float] = {}
    if spec.facts.demand is not None:
        from mrdsl.families.capacity.periods.table import mean_prices

        prices = mean_prices(spec)
    for vm in vms:
        yield from dear_contracts(vm, contracts_of(vm), prices.get(vm.name))


def _jobs(facts: CapacityFacts) -> Iterator[Diagnostic]:
    classes = facts.classes
    for index in matching(classes, lambda c: c("jobs.high") <= 0.0):
        node = classes[index]
        yield error(
            "out-of-range",
            f"class {node.name} expects no job",
            node.span_of("jobs"),
            "write how many jobs are expected, such as jobs = 1 .. 10, or leave the class out",
        )
    if facts.demand is not None:  # the jobs of each period are rounded up
        return
    for index in matching(classes, lambda c: (c("jobs.high") > 0.0) & (ceiling(c("jobs.low")) > floor(c("jobs.high")))):
        node = classes[index]
        low, high = ceiling(node.jobs.low), floor(node.jobs.high)
        yield error(
            "empty-range",
            f"no whole number of jobs lies in {node.jobs.low:g} .. {node.jobs.high:g} of class {node.name}",
            node.span_of("jobs"),
            f"jobs are whole here: the low end is rounded up to {low:g}, the high end down to {high:g}; "
            f"write jobs = {high:g} .. {low:g}",
        )


def _rounded_down(facts: CapacityFacts) -> Iterator[Diagnostic]:
    """Yield one note if numbers of expected jobs are fractional: the plan neither runs nor charges the fractions."""
    classes = facts.classes
    broken = list(matching(classes, lambda c: ceiling(c("jobs.high")) > floor(c("jobs.high"))))
    if not broken:
        return
    node = classes[broken[0]]
    whole = floor(node.jobs.high)
    others = len(broken) - 1
    more = f" (and {number_of(others, 'more class')})" if others else ""
    yield note(
        "part-of-a-job",
        f"class {node.name} expects {number_of(node.jobs.high, 'job', 'g')}, of which {whole:g} are planned: "
        f"{node.jobs.high - whole:.3g} of a job is left out{more}",
        node.span_of("jobs"),
        f"jobs are whole; for all of it write {ceiling(node.jobs.high):g} as the high end, such as ceil(...)",
    )
