"""Profiles of job classes, as any family that has ``map``, ``shuffle`` and ``reduce`` blocks reads and checks them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mrdsl.core.diagnostics import Diagnostic, Related, error, warning
from mrdsl.core.source import Span
from mrdsl.core.units import show
from mrdsl.spec.columns import column
from mrdsl.spec.matching import Reader, matching

if TYPE_CHECKING:
    from mrdsl.formulas.mapreduce import Profile

_PAIRS = (
    ("map", "avg", "max"),
    ("shuffle", "first_avg", "first_max"),
    ("shuffle", "avg", "max"),
    ("reduce", "avg", "max"),
)
FAR = 100.0
"""A longest time of so many averages or more is likely a unit that was mistaken."""
_PROFILE = (("map", "map.avg"), ("shuffle", "shuffle.avg"), ("reduce", "reduce.tasks"))
_LEAST = (
    ("map", "min", "avg"),
    ("shuffle", "first_min", "first_avg"),
    ("shuffle", "min", "avg"),
    ("reduce", "min", "avg"),
)


def profile_of(classes: Sequence[Any]) -> Profile:
    """The profiles of all classes as arrays; NaN for what a class does not have, 0 reduce tasks where it has none.

    Correction to paper 000: where only ``first_max`` is given, ``first_avg`` is taken equal to it.
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
    )


def check_profiles(classes: Sequence[Any]) -> Iterator[Diagnostic]:
    """What is wrong within single profiles: a longest time below the average, reduce tasks without their times."""
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
    """Whether a longest time is at least 100 times a positive average: the units of one of them are likely wrong."""
    return (average > 0.0) & (longest >= FAR * average)


def far_above(what: str, average: float, longest: float, span: Span | None) -> Diagnostic:
    """The warning of a longest time that is far above its average."""
    return warning(
        "max-far-above-avg",
        f"{what} is {_time(longest)}, {longest / average:.0f} times its average, {_time(average)}",
        span,
        "compare their units; if both are right, nothing is to be done",
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
            "add avg and max to the reduce block, or set its tasks to 0 for map-only jobs",
        )
    for index in matching(classes, lambda c: (c("reduce.tasks") > 0) & c.lacks("shuffle.avg")):
        node = classes[index]
        yield error(
            "missing-block",
            f"class {node.name} has reduce tasks but no shuffle",
            node.reduce.span or node.span,
            "add shuffle { first_max = ..., avg = ..., max = ... }, all 0 s where nothing is transferred",
        )
    for index in matching(classes, lambda c: c.has("shuffle.avg") & c.lacks("reduce.tasks")):
        node = classes[index]
        yield error(
            "missing-block",
            f"class {node.name} has a shuffle but no reduce block",
            node.shuffle.span or node.span,
            "add reduce { tasks = ..., avg = ..., max = ... }, or leave the shuffle out for map-only jobs",
        )


def check_descriptions(classes: Sequence[Any]) -> Iterator[Diagnostic]:
    """What describes a class: a profile, stages, or coefficients and no choice of an estimate beside them."""
    for index in matching(classes, lambda c: c.lacks("coefficients.A") & c.lacks("map.avg")):
        node = classes[index]
        if node.stages:
            continue
        yield error(
            "missing-block",
            f"class {node.name} has neither a map phase nor stages nor coefficients",
            node.span,
            "add map { tasks = ..., avg = ..., max = ... }, stages, or coefficients { A = ..., B = ..., C = ... }",
        )
    for block, path in _PROFILE:
        for index in matching(classes, lambda c, path=path: c.has("coefficients.A") & c.has(path)):  # type: ignore[misc]
            node = classes[index]
            yield error(
                "coefficients-and-profile",
                f"class {node.name} has coefficients and a {block} block: they say the same thing twice",
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
    """Warnings where the upper estimate is looser than the paper's: see mapreduce.upper."""
    for block, few in (("map", _few_map_tasks), ("reduce", _few_reduce_tasks)):
        for index in matching(classes, lambda c, few=few: few(c) & (c.word("guarantee") != "lower")):  # type: ignore[misc]
            node: Any = classes[index]
            yield warning(
                "few-tasks",
                f"class {node.name} has few {block} tasks: their work is no more than twice the longest of "
                "them, and the upper estimate is looser than the paper's",
                getattr(node, block).span_of("tasks"),
                "nothing to do: the deadline is kept, at a few slots more than strictly needed",
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
