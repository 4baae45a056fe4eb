"""Facts with some of their numbers multiplied, such as all task times by 1.3.

A quantity is named by its last words: ``deadline`` are all deadlines, ``clicks.deadline`` is that of one block, and
``on_demand.price`` are the prices in one kind of block. ``tasks.time`` are the times of tasks, in all blocks that have
some. Numbers in files of jobs and of samples keep their values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import Any

from mrdsl.core.rounding import ROUNDING
from mrdsl.spec.schema import Item, Node, Range, declarations

SCALE = "scale "
"""Prefix of a factor among the values that override params."""
TASKS, TIME = "tasks", "time"
TASK_TIMES = f"{TASKS}.{TIME}"
_OF_TASKS = frozenset({"map", "shuffle", "reduce", "stage", "task", "coefficients"})
_NOT_OF_TASKS = frozenset({"delay"})
Path = tuple[str, ...]


def scaled(facts: Any, factors: Mapping[str, float]) -> tuple[Any, tuple[str, ...]]:
    """Return the facts with the named quantities multiplied, and the names that match none of their numbers.

    Whole numbers stay whole: they are rounded up. If several names match a number, all their factors count.
    """
    wanted = {name: tuple(name.split(".")) for name in factors}
    used: set[str] = set()

    def factor_of(path: Path, item: Item) -> float:
        product = 1.0
        for name, words in wanted.items():
            if _matches(words, path, item):
                used.add(name)
                product *= factors[name]
        return product

    changed = _scaled_node(facts, (), factor_of)
    return changed, tuple(name for name in factors if name not in used)


def names_in(facts: Any) -> tuple[str, ...]:
    """Return the names of quantities that can be multiplied, each once."""
    found: dict[str, None] = {}

    def note(path: Path, item: Item) -> float:
        if _matches((TASKS, TIME), path, item):
            found[TASK_TIMES] = None
        found[path[-1]] = None
        return 1.0

    _scaled_node(facts, (), note)
    return tuple(found)


def blocks_with_task_times(facts: Any) -> tuple[str, ...]:
    """Return the names of the blocks at the top level whose tasks have times, in order."""
    found: dict[str, None] = {}

    def note(path: Path, item: Item) -> float:
        if len(path) > 2 and _matches((TASKS, TIME), path, item):
            found[path[1]] = None
        return 1.0

    _scaled_node(facts, (), note)
    return tuple(found)


def _matches(words: Path, path: Path, item: Item) -> bool:
    """Return True if the words are the last one of a path, and some of those before it in their order."""
    if words[-2:] == (TASKS, TIME):
        is_time = item.kind == TIME and path[-1] not in _NOT_OF_TASKS and not _OF_TASKS.isdisjoint(path[:-1])
        return is_time and _in_order(words[:-2], path[:-1])
    return words[-1] == path[-1] and _in_order(words[:-1], path[:-1])


def _in_order(words: Path, path: Path) -> bool:
    parts = iter(part for word in path for part in word.split("."))
    return all(word in parts for word in words)


def _scaled_node(node: Node, before: Path, factor_of: Any) -> Any:
    changes: dict[str, Any] = {}
    for field, declared in declarations(type(node)).items():
        value, word = getattr(node, field), field.rstrip("_")
        if isinstance(declared, Item):
            new = _scaled_value(value, (*before, word), declared, factor_of)
        elif isinstance(value, Node):
            new = _scaled_node(value, (*before, word), factor_of)
        elif declared.repeated and isinstance(value, Sequence) and len(value):
            nodes = [_scaled_node(each, (*before, declared.word, each.name), factor_of) for each in value]
            new = tuple(nodes) if any(a is not b for a, b in zip(nodes, value, strict=True)) else value
        else:
            continue
        if new is not value:
            changes[field] = new
    return replace(node, **changes) if changes else node


def _scaled_value(value: Any, path: Path, item: Item, factor_of: Any) -> Any:
    if isinstance(value, Range):
        factor = factor_of(path, item)
        ends = [_times(end, factor, item.whole or _are_whole(item, value)) for end in (value.low, value.high)]
        return value if factor == 1.0 else Range(*ends)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value
    factor = factor_of(path, item)
    return value if factor == 1.0 else _times(value, factor, item.whole)


def _are_whole(item: Item, value: Range) -> bool:
    return item.kind == "jobs" and value.low == int(value.low) and value.high == int(value.high)


def _times(value: float, factor: float, whole: bool) -> float:
    product = value * factor
    return ceil(product * (1.0 - ROUNDING)) if whole else product


def factors_in(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the factors among the values that override params, by quantity."""
    for name, value in given.items():
        if name.startswith(SCALE):
            yield name.removeprefix(SCALE), value
