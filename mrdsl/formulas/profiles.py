"""Profiles of job classes and prices of VM types: reading and checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mrdsl.core.diagnostics import Diagnostic, Related, Span, error, warning
from mrdsl.core.units import HOUR, show
from mrdsl.spec.columns import Columns, Reader, column, matching, parts_of
from mrdsl.spec.schema import Block, Node, declarations
from mrdsl.spec.spec import Spec

if TYPE_CHECKING:
    from mrdsl.formulas.mapreduce import Profile


_PAIRS = (
    ("map", "avg", "max"),
    ("shuffle", "first_avg", "first_max"),
    ("shuffle", "avg", "max"),
    ("reduce", "avg", "max"),
)
FAR = 100.0
"""Ratio of the longest time to the average from which the unit is likely wrong."""
_PROFILE = (("map", "map.avg"), ("shuffle", "shuffle.avg"), ("reduce", "reduce.tasks"))
_LEAST = (
    ("map", "min", "avg"),
    ("shuffle", "first_min", "first_avg"),
    ("shuffle", "min", "avg"),
    ("reduce", "min", "avg"),
)


def profile_of(classes: Sequence[Any]) -> Profile:
    """Return the profiles of all classes as arrays; NaN for missing values, 0 reduce tasks for map-only classes.

    Correction to paper 000: if only ``first_max`` is given, ``first_avg`` is taken equal to it.
    """
    import numpy as np

    from mrdsl.formulas.mapreduce import Profile
    from mrdsl.formulas.stages import stage_work

    stages = stage_work(classes)
    tasks, longest = column(classes, "map.tasks"), column(classes, "map.max")
    if stages is not None:
        tasks = np.where(np.isnan(stages.width), tasks, stages.width)
        longest = np.where(np.isnan(stages.path_max), longest, stages.path_max)
    first_avg, first_max = column(classes, "shuffle.first_avg"), column(classes, "shuffle.first_max")
    return Profile(
        map_tasks=tasks,
        map_avg=column(classes, "map.avg"),
        map_max=longest,
        shuffle_first_avg=np.where(np.isnan(first_avg), first_max, first_avg),
        shuffle_first_max=first_max,
        shuffle_avg=column(classes, "shuffle.avg"),
        shuffle_max=column(classes, "shuffle.max"),
        reduce_tasks=column(classes, "reduce.tasks", missing=0.0),
        reduce_avg=column(classes, "reduce.avg"),
        reduce_max=column(classes, "reduce.max"),
        stages=stages,
        startup=column(classes, "startup", missing=0.0),
    )


def check_profiles(classes: Sequence[Any]) -> Iterator[Diagnostic]:
    """Yield errors within single profiles: a longest time below the average, reduce tasks without their times."""
    for block, small, large in _PAIRS:
        lower, higher = f"{block}.{small}", f"{block}.{large}"
        for index in matching(classes, lambda c, lower=lower, higher=higher: c(higher) < c(lower)):  # type: ignore[misc]
            yield _max_below_avg(classes[index], block, small, large)
        for index in matching(classes, lambda c, lower=lower, higher=higher: is_far_above(c(lower), c(higher))):  # type: ignore[misc]
            yield _max_far_above_avg(classes[index], block, small, large)
    for block, small, large in _LEAST:
        lower, higher = f"{block}.{small}", f"{block}.{large}"
        for index in matching(classes, lambda c, lower=lower, higher=higher: c(lower) > c(higher)):  # type: ignore[misc]
            yield _min_above_avg(classes[index], block, small, large)
    yield from _check_reduce(classes)


def is_far_above(average: Any, longest: Any) -> Any:
    """Return True if a longest time is at least 100 times a positive average: one of them likely has a wrong unit."""
    return (average > 0.0) & (longest >= FAR * average)


def far_above(what: str, average: float, longest: float, span: Span | None) -> Diagnostic:
    """Return the warning of a longest time that is far above its average."""
    return warning(
        "max-far-above-avg",
        f"{what} is {_time(longest)}, {longest / average:.0f} times its average, {_time(average)}",
        span,
        "compare their units; if both are right, no change is needed",
    )


def _max_far_above_avg(node: Any, block: str, small: str, large: str) -> Diagnostic:
    low, high = getattr(getattr(node, block), small), getattr(getattr(node, block), large)
    return far_above(f"{block}.{large} of class {node.name}", low, high, _span(node, block, large))


def _check_reduce(classes: Sequence[Any]) -> Iterator[Diagnostic]:
    for index in matching(
        classes, lambda c: (c("reduce.tasks") > 0) & (c("reduce.avg") == 0.0) & (c("reduce.max") == 0.0)
    ):
        node = classes[index]
        yield error(
            "missing-item",
            f"the reduce tasks of class {node.name} have no duration",
            node.reduce.span_of("tasks"),
            "add avg and max to the reduce block, or in a table the columns `reduce.avg [s]` and `reduce.max [s]`; "
            "for map-only jobs write 0 tasks",
        )
    for index in matching(classes, lambda c: (c("reduce.tasks") > 0) & c.lacks("shuffle.avg")):
        node = classes[index]
        yield error(
            "missing-block",
            f"class {node.name} has reduce tasks but no shuffle",
            node.reduce.span or node.span,
            "add `shuffle { first_max = ..., avg = ..., max = ... }`, or in a table the columns "
            "`shuffle.first_max [s]`, `shuffle.avg [s]` and `shuffle.max [s]`: all 0 s without a transfer",
        )
    for index in matching(classes, lambda c: c.has("shuffle.avg") & c.lacks("reduce.tasks")):
        node = classes[index]
        yield error(
            "missing-block",
            f"class {node.name} has a shuffle but no reduce block",
            node.shuffle.span or node.span,
            "add reduce { tasks = ..., avg = ..., max = ... }, or in a table the columns `reduce.tasks`, "
            "`reduce.avg [s]` and `reduce.max [s]`; for map-only jobs remove the shuffle",
        )


def check_descriptions(classes: Sequence[Any]) -> Iterator[Diagnostic]:
    """Yield classes without exactly one description (profile, stages, or coefficients without an estimate)."""
    for index in matching(classes, lambda c: c.lacks("coefficients.A") & c.lacks("map.avg")):
        node = classes[index]
        if node.stages:
            continue
        yield error(
            "missing-block",
            f"class {node.name} has neither a map phase nor stages nor coefficients",
            node.span,
            "add map { tasks = ..., avg = ..., max = ... }, stages, or coefficients { A = ..., B = ..., C = ... }; "
            "in a table, the columns `map.tasks`, `map.avg [s]` and `map.max [s]`",
        )
    for block, path in _PROFILE:
        for index in matching(classes, lambda c, path=path: c.has("coefficients.A") & c.has(path)):  # type: ignore[misc]
            node = classes[index]
            yield error(
                "coefficients-and-profile",
                f"class {node.name} has coefficients and a {block} block: both define the same thing",
                getattr(node, block).span or node.span,
                f"keep the coefficients or the profile of {node.name}",
                _coefficients(node),
            )
    for index in matching(classes, lambda c: c.has("coefficients.A") & (c.word("guarantee") != "")):
        node = classes[index]
        yield error(
            "guarantee-with-coefficients",
            f"class {node.name} is given by coefficients, which are one estimate: there is no "
            f"{node.guarantee} one to choose",
            node.span_of("guarantee"),
            "leave guarantee out, or give the profile in place of the coefficients",
            _coefficients(node),
        )


def check_few_tasks(classes: Sequence[Any]) -> Iterator[Diagnostic]:
    """Yield warnings if the upper estimate is looser than the paper's: see mapreduce.upper."""
    for block, few in (("map", _few_map_tasks), ("reduce", _few_reduce_tasks)):
        for index in matching(classes, lambda c, few=few: few(c) & (c.word("guarantee") != "lower")):  # type: ignore[misc]
            node: Any = classes[index]
            yield warning(
                "few-tasks",
                f"class {node.name} has few {block} tasks: their work is no more than twice the longest of "
                "them, and the upper estimate is looser than the paper's",
                getattr(node, block).span_of("tasks"),
                "no change is needed if the deadline is met: the plan then has a few slots more than necessary",
            )


def _few_map_tasks(c: Reader) -> Any:
    return c("map.tasks") * c("map.avg") <= 2.0 * c("map.max")


def _few_reduce_tasks(c: Reader) -> Any:
    work = c("reduce.tasks") * (c("shuffle.avg") + c("reduce.avg"))
    return (c("reduce.tasks") > 0) & (work <= 2.0 * (c("shuffle.max") + c("reduce.max")))


def _max_below_avg(node: Any, block: str, small: str, large: str) -> Diagnostic:
    low, high = getattr(getattr(node, block), small), getattr(getattr(node, block), large)
    if block == "reduce" and high == 0.0:
        return error(
            "missing-item",
            f"the reduce tasks of class {node.name} have an average time, but no longest one",
            node.reduce.span_of("avg") or node.span,
            f"add max, {_time(low)} or more, to the reduce block",
        )
    return error(
        "max-below-avg",
        f"{block}.{large} of class {node.name} is {_time(high)}, below {block}.{small}, {_time(low)}",
        _span(node, block, large),
        f"the longest time is at least the average: write {large} = {_time(low)} or more, or lower {small}",
    )


def _min_above_avg(node: Any, block: str, small: str, large: str) -> Diagnostic:
    low, high = getattr(getattr(node, block), small), getattr(getattr(node, block), large)
    return error(
        "min-above-avg",
        f"{block}.{small} of class {node.name} is {_time(low)}, above {block}.{large}, {_time(high)}",
        _span(node, block, small),
        f"the shortest time is at most the average: write {small} = {_time(high)} or less, or raise {large}",
    )


def _time(seconds: float) -> str:
    return show(seconds, "time")


def _coefficients(node: Any) -> Related:
    return Related("the coefficients are here", node.coefficients.span if node.coefficients else None)


def _span(node: Any, block: str, item: str) -> Span | None:
    inner = getattr(node, block)
    span: Span | None = inner.span_of(item)
    return span or node.span


DEAREST = 500.0
"""USD/h: above the dearest VM on sale, EC2's u7inh-32tb.480xlarge at about 407 USD/h on demand."""
DEAREST_UNKNOWN = 150.0
"""USD/h: above nearly all VMs on sale, for types whose cores are not stated; 0.05 USD/s are 180 USD/h."""
DEAREST_CORE = 5.0
"""USD/h for each core: ten times the dearest of EC2's types, where cores are stated."""
_PER_USD = {"JPY": 200.0, "INR": 100.0, "CNY": 10.0, "SEK": 12.0, "NOK": 12.0, "DKK": 8.0, "PLN": 5.0, "BRL": 7.0}
"""Units of a currency for one USD, rounded up; 2 of any other."""
_PRICES = ("on_demand.price", "reserved.price", "spot.price", "fee")


def implausible_prices(spec: Spec) -> Iterator[Diagnostic]:
    """Warn of prices of VMs that are above those of nearly all VMs on sale."""
    cluster = getattr(spec.facts, "cluster", None)
    yield from _implausible(spec, getattr(spec.facts, "vms", ()), _PRICES)
    yield from _implausible(spec, () if cluster is None else (cluster,), ("vm_cost",))


def units_per_dollar(currency: str) -> float:
    """Return the order of the units of a currency that 1 USD is worth."""
    return 1.0 if currency == "USD" else _PER_USD.get(currency, 2.0)


def _implausible(spec: Spec, vms: Sequence[Any], paths: Sequence[str]) -> Iterator[Diagnostic]:
    units = units_per_dollar(spec.currency)
    known = _numbers_of(vms)
    for path in [each for each in paths if each in known]:
        for index in matching(vms, lambda vm, path=path: _is_above(vm, path, units, "cores" in known)):  # type: ignore[misc]
            node: Any = vms[index]
            block, _, item = path.rpartition(".")
            owner = getattr(node, block) if block else node
            price = getattr(owner, item)
            cores = "; else write the type's `cores`" if "cores" in known and node.cores is None else ""
            named = f" of vm {node.name}" if node.name else ""
            hint = (
                f"a number without a unit is per second: if it is per hour, write `{price:g} {spec.currency}/h`{cores}"
            )
            if owner.span_of(item) is not None:
                hint = f"write the price of one VM, such as `{0.192 * units:g} {spec.currency}/h`{cores}"
            told = warning(
                "implausible-price",
                f"`{path}`{named} is {show(price, 'price', spec.currency)}, above that of nearly all VMs on sale",
                owner.span_of(item),
                hint,
            )
            place = f"vms[{index}].{path}" if node.name else f"cluster.{path}"
            yield told if told.span is not None else replace(told, path=place)


def _is_above(vm: Reader, path: str, units: float, with_cores: bool) -> Any:
    price, unit = vm(path), units / HOUR
    if not with_cores:
        return price > DEAREST_UNKNOWN * unit
    cores = vm("cores")
    open_cores = (price > DEAREST_UNKNOWN * unit) & (cores != cores)
    return open_cores | (price > DEAREST * unit) | (price > DEAREST_CORE * unit * cores)


def _numbers_of(vms: Sequence[Any]) -> frozenset[str]:
    """Return the paths of numbers that VM types declare; none if the family has no such types."""
    part = next(iter(parts_of(vms)), ()) if len(vms) else ()
    kind = part.node_type if isinstance(part, Columns) else type(part[0]) if len(part) else None
    return frozenset() if kind is None else _quantities(kind, "")


def _quantities(kind: type[Node], before: str) -> frozenset[str]:
    found: set[str] = set()
    for name, declared in declarations(kind).items():
        if isinstance(declared, Block):
            found |= frozenset() if declared.repeated else _quantities(declared.node, f"{before}{name}.")
        elif declared.form == "quantity":
            found.add(before + name)
    return frozenset(found)
