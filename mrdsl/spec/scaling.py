"""Facts with some of their numbers multiplied, such as all task times by 1.3.

A quantity is named by its last words: ``deadline`` are all deadlines, ``clicks.deadline`` is that of one block, and
``on_demand.price`` are the prices in one kind of block. ``tasks.time`` are the times of tasks, in all blocks that have
some. Numbers in files of jobs, of samples and of a demand keep their values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from operator import is_
from typing import Any

from mrdsl.core.rounding import ROUNDING
from mrdsl.spec.columns import Columns, Joined, column, parts_of
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
    factor_of = _Factors(factors, {name: tuple(name.split(".")) for name in factors})
    changed = _scaled_node(facts, (), factor_of)
    return changed, tuple(name for name in factors if name not in factor_of.used)


@dataclass(frozen=True)
class _Factors:
    """The factor of a path: the product over all names that match it; ``used`` collects these names."""

    factors: Mapping[str, float]
    wanted: Mapping[str, Path]
    used: set[str] = field(default_factory=set)

    def __call__(self, path: Path, item: Item) -> float:
        product = 1.0
        for name, words in self.wanted.items():
            if _matches(words, path, item):
                self.used.add(name)
                product *= self.factors[name]
        return product

    def name(self, block: str) -> bool:
        """Return True if a factor may depend on the name of a block."""
        return any(not set(words).isdisjoint(block.split(".")) for words in self.wanted.values())


def names_in(facts: Any) -> tuple[str, ...]:
    """Return the names of quantities that can be multiplied, each once."""
    found: dict[str, None] = {}
    for path, item in _numbers(facts, ()):
        if _matches((TASKS, TIME), path, item):
            found[TASK_TIMES] = None
        found[path[-1]] = None
    return tuple(found)


def blocks_with_task_times(facts: Any) -> Iterator[str]:
    """Yield the names of the blocks at the top level whose tasks have times, in order."""
    last = None
    for path, item in _numbers(facts, ()):
        if len(path) > 2 and path[1] != last and _matches((TASKS, TIME), path, item):
            last = path[1]
            yield last


def _numbers(node: Node, before: Path) -> Iterator[tuple[Path, Item]]:
    """Yield the path and the declaration of every number."""
    for field_name, declared in declarations(type(node)).items():
        value, word = getattr(node, field_name), field_name.rstrip("_")
        if isinstance(declared, Item):
            if isinstance(value, Range | int | float) and not isinstance(value, bool):
                yield (*before, word), declared
        elif isinstance(value, Node):
            yield from _numbers(value, (*before, word))
        elif declared.repeated and isinstance(value, Sequence):
            for each in value:
                yield from _numbers(each, (*before, declared.word, each.name))


def _matches(words: Path, path: Path, item: Item) -> bool:
    """Return True if the words are the last one of a path, and some of those before it in their order."""
    if words[-2:] == (TASKS, TIME):
        is_time = item.kind == TIME and path[-1] not in _NOT_OF_TASKS and not _OF_TASKS.isdisjoint(path[:-1])
        return is_time and _in_order(words[:-2], path[:-1])
    return words[-1] == path[-1] and _in_order(words[:-1], path[:-1])


def _in_order(words: Path, path: Path) -> bool:
    parts = iter(part for word in path for part in word.split("."))
    return all(word in parts for word in words)


def _scaled_node(node: Node, before: Path, factor_of: _Factors) -> Any:
    changes: dict[str, Any] = {}
    for field_name, declared in declarations(type(node)).items():
        value, word = getattr(node, field_name), field_name.rstrip("_")
        if isinstance(declared, Item):
            new = _scaled_value(value, (*before, word), declared, factor_of)
        elif isinstance(value, Node):
            new = _scaled_node(value, (*before, word), factor_of)
        elif declared.repeated and isinstance(value, Sequence) and len(value):
            new = _scaled_blocks(value, (*before, declared.word), factor_of)
        else:
            continue
        if new is not value:
            changes[field_name] = new
    return replace(node, **changes) if changes else node


def _scaled_blocks(nodes: Sequence[Any], before: Path, factor_of: _Factors) -> Sequence[Any]:
    """Return repeated blocks with their numbers multiplied; columns stay columns if they hold all numbers."""
    old = parts_of(nodes)
    new = [
        _scaled_columns(part, before, factor_of)
        if isinstance(part, Columns) and _holds_all(part)
        else [_scaled_node(each, (*before, each.name), factor_of) for each in part]
        for part in old
    ]
    if all(a is b or (type(a) is list and all(map(is_, a, b))) for a, b in zip(new, old, strict=True)):
        return nodes
    parts = [tuple(part) if type(part) is list else part for part in new]
    return Joined(parts) if isinstance(nodes, Joined) else parts[0]


def _holds_all(part: Columns[Any]) -> bool:
    """Return True if no number of the blocks is in a node, in repeated blocks, or the default of an inner block."""
    if any(isinstance(value, Node | tuple | list) for value in part.values.values()):
        return False
    blocks = {path.partition(".")[0] for path in part.values if "." in path}
    inner = (each for each in _items(part.node_type, "") if each[0].partition(".")[0] in blocks and "." in each[0])
    return all(_ends(part, path, item) or not _is_number(item.default) for path, item in inner)


def _ends(part: Columns[Any], path: str, item: Item) -> list[str]:
    """Return the paths of the columns with the numbers of an item: its own, or those of the ends of a range."""
    given = [each for each in (path, f"{path}.low", f"{path}.high") if _is_number(part.values.get(each))]
    return given or ([path] if "." not in path and _is_number(item.default) else [])


def _is_number(value: Any) -> bool:
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    return kind in "fiu" if kind else isinstance(value, int | float) and not isinstance(value, bool)


def _items(node_type: type[Node], before: str) -> Iterator[tuple[str, Item]]:
    for field_name, declared in declarations(node_type).items():
        if isinstance(declared, Item):
            yield before + field_name, declared
        elif not declared.repeated:
            yield from _items(declared.node, f"{before}{field_name}.")


def _scaled_columns(part: Columns[Any], before: Path, factor_of: _Factors) -> Columns[Any]:
    import numpy as np

    named = [index for index, name in enumerate(part.names) if factor_of.name(name)]
    values = dict(part.values)
    for path, item in _items(part.node_type, ""):
        arrays = {each: column(part, each) for each in _ends(part, path, item)}
        if not arrays or all(np.isnan(array).all() for array in arrays.values()):
            continue
        words = tuple(word.rstrip("_") for word in path.split("."))
        factors = np.full(len(part), factor_of((*before, "", *words), item))
        for index in named:
            factors[index] = factor_of((*before, part.names[index], *words), item)
        if (factors == 1.0).all():
            continue
        whole = np.full(len(part), item.whole)
        if item.kind == "jobs" and path not in arrays:
            whole |= np.all([array == np.floor(array) for array in arrays.values()], axis=0)
        for each, array in arrays.items():
            product = array * factors
            rounded = np.where(whole, np.ceil(product * (1.0 - ROUNDING)), product)
            values[each] = np.where(factors == 1.0, array, rounded)
    changed = any(value is not part.values.get(path) for path, value in values.items())
    return Columns(part.node_type, part.names, values, part.span_at, part.group) if changed else part


def _scaled_value(value: Any, path: Path, item: Item, factor_of: _Factors) -> Any:
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


def factors_of(given: Mapping[str, Any], path: Path) -> Iterator[str]:
    """Yield the quantities with a factor that match the path of a number, other than times of tasks."""
    for name, _ in factors_in(given):
        words = tuple(name.split("."))
        if words[-1] == path[-1] and _in_order(words[:-1], path[:-1]):
            yield name


def factors_in(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the factors among the values that override params, by quantity."""
    for name, value in given.items():
        if name.startswith(SCALE):
            yield name.removeprefix(SCALE), value
