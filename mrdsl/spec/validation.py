"""Validation of facts that were built in Python, including quantities given as texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

from mrdsl.core import lazy, units
from mrdsl.core.diagnostics import Diagnostic, MrdslError, described, error, is_printable
from mrdsl.core.units import EXAMPLES, parse_clock
from mrdsl.spec.columns import Columns, names_of, parts_of
from mrdsl.spec.declared import (
    DISTRIBUTIONS,
    LARGEST,
    LISTS,
    Mistake,
    acceptable,
    number_mistake,
    problem_of,
    python_number_mistake,
)
from mrdsl.spec.schema import (
    Block,
    Distribution,
    Item,
    Node,
    Range,
    Source,
    declarations,
    is_marked_valid,
    mark_valid,
)

_FORMS = frozenset({"quantity", "range", "distribution", "list"})


def with_values(facts: Any, currency: str) -> Any:
    """Return the facts with the values of all texts in place of quantities; the same facts if there are none."""
    if not isinstance(facts, Node):
        return facts
    changes: dict[str, Any] = {}
    shares: dict[str, Item] = {}
    for name, declared in declarations(type(facts)).items():
        was = getattr(facts, name, None)
        now = _block(was, currency) if isinstance(declared, Block) else _item(name, declared, was, currency)
        if now is not was:
            changes[name] = now
        if isinstance(now, str) and isinstance(declared, Item) and declared.share_of:
            shares[name] = declared
    for name, item in shares.items():
        base: Any = replace(facts, **changes)
        for word in item.share_of.split("."):
            base = getattr(base, word, None)
        if isinstance(base, Real):
            changes[name] = _item(name, item, getattr(facts, name), currency, float(base))
    return replace(facts, **changes) if changes else facts


def mistake_in(key: str, item: Item, text: str, currency: str) -> Mistake | None:
    """Return the mistake in a text as a value of the item, or None if the item takes texts."""
    if item.form not in _FORMS:
        return None
    try:
        lazy.of_quantities()(key, item, text, currency, 1.0)
    except MrdslError as failure:
        first = failure.diagnostics[0]
        return Mistake(first.code, first.message, first.hint)
    return None


def _block(value: Any, currency: str) -> Any:
    if isinstance(value, Node):
        return with_values(value, currency)
    if isinstance(value, Columns) or not isinstance(value, tuple | list):
        return value
    nodes = [with_values(node, currency) for node in value]
    return type(value)(nodes) if any(a is not b for a, b in zip(nodes, value, strict=True)) else value


def _item(name: str, item: Item, value: Any, currency: str, base: float | None = None) -> Any:
    if item.form == "list" and isinstance(value, Sequence) and any(isinstance(each, str) for each in value):
        one = replace(item, form="quantity")
        return tuple(_item(name, one, each, currency) for each in value) if not isinstance(value, str) else value
    if not isinstance(value, str) or item.form not in _FORMS or item.form == "list":
        return value
    try:
        return lazy.of_quantities()(name.rstrip("_"), item, value, currency, base)
    except MrdslError:
        return value


MAX_REPORTED = 50


def validate(facts: Any, facts_type: type[Node], currency: str = units.DEFAULT_CURRENCY) -> tuple[Diagnostic, ...]:
    """Return at most fifty places at which facts break their own declarations; empty for facts that were found valid
    before.

    Facts are frozen, so valid ones are marked and not checked again.
    """
    if isinstance(facts, facts_type) and is_marked_valid(facts):
        return ()
    if not isinstance(facts, facts_type):
        return (
            _told(
                Mistake(
                    "wrong-value",
                    f"the facts are {described(facts)}, not {facts_type.__name__}",
                    f"build a {facts_type.__name__}",
                ),
                "facts",
            ),
        )
    diagnostics = tuple(_first(MAX_REPORTED, _node(facts, "", currency)))
    if not diagnostics:
        mark_valid(facts)
    return diagnostics


def name_mistake(key: str, name: Any) -> Mistake | None:
    """Return the mistake in a name or a title: not a text, or a text with control characters."""
    if not isinstance(name, str):
        return Mistake("wrong-value", f"`{key}` is a text, not {described(name)}", "give a str")
    if not is_printable(name):
        return Mistake("control-character", f"`{key}` holds a control character", "leave it out")
    return None


def _first(count: int, diagnostics: Iterator[Diagnostic]) -> Iterable[Diagnostic]:
    for _, diagnostic in zip(range(count), diagnostics, strict=False):
        yield diagnostic


def _told(mistake: Mistake, path: str) -> Diagnostic:
    return replace(error(mistake.code, mistake.message, hint=mistake.hint), path=path)


def _node(node: Node, path: str, currency: str) -> Iterator[Diagnostic]:
    prefix = f"{path}." if path else ""
    mistake = name_mistake("name", node.name)
    if mistake is not None:
        yield _told(mistake, f"{prefix}name")
    for field_name, declared in declarations(type(node)).items():
        value, at = getattr(node, field_name), prefix + field_name
        if isinstance(declared, Item):
            mistake = item_mistake(field_name.rstrip("_"), declared, value, currency)
            if mistake is not None:
                yield _told(mistake, at)
        elif declared.repeated:
            yield from _repeated(declared, value, at, currency)
        elif value is not None or declared.required:
            if isinstance(value, declared.node):
                yield from _node(value, at, currency)
            else:
                yield _told(_not_a_block(field_name.rstrip("_"), declared, value), at)


def _not_a_block(word: str, declared: Block, value: object) -> Mistake:
    if value is None:
        return Mistake("missing-block", f"the block `{word}` is missing", f"give a {declared.node.__name__}")
    return Mistake("wrong-value", f"`{word}` is a block, not {described(value)}", f"give a {declared.node.__name__}")


def _repeated(declared: Block, nodes: Any, path: str, currency: str) -> Iterator[Diagnostic]:
    if not isinstance(nodes, Sequence) or isinstance(nodes, str | bytes):
        hint = f"give a tuple of {declared.node.__name__}"
        yield _told(Mistake("wrong-value", f"`{path}` are blocks, not {described(nodes)}", hint), path)
        return
    if declared.required and not len(nodes):
        hint = f"give a {declared.node.__name__}"
        yield _told(Mistake("missing-block", f"there is no `{declared.word}`", hint), path)
    start = 0
    for part in parts_of(nodes):
        if isinstance(part, Columns):
            yield from _columns(declared, part, path, start, currency)
        else:
            yield from _nodes(declared, part, path, start, currency)
        start += len(part)
    if all(isinstance(part, Columns) or all(isinstance(node, Node) for node in part) for part in parts_of(nodes)):
        yield from _distinct(declared, nodes, path)


def _nodes(declared: Block, nodes: Sequence[Any], path: str, start: int, currency: str) -> Iterator[Diagnostic]:
    for index, node in enumerate(nodes, start):
        at = f"{path}[{index}]"
        if not isinstance(node, declared.node):
            yield _told(_not_a_block(declared.word, declared, node), at)
            continue
        if node.name == "":
            hint = f"give it a name: {declared.node.__name__}(name=...)"
            yield _told(Mistake("missing-name", f"this `{declared.word}` has no name", hint), f"{at}.name")
        yield from _node(node, at, currency)


def _distinct(declared: Block, nodes: Sequence[Any], path: str) -> Iterator[Diagnostic]:
    if isinstance(nodes, Columns) and nodes.group:
        return
    names = names_of(nodes)
    first: dict[str, int] = {}
    for index, name in enumerate(names):
        if isinstance(name, str) and first.setdefault(name, index) != index:
            message = f"`{declared.word} {name}` is defined twice, first as {path}[{first[name]}]"
            yield _told(Mistake("duplicate", message, "give each its own name"), f"{path}[{index}].name")
            return


def item_mistake(key: str, item: Item, value: Any, currency: str = units.DEFAULT_CURRENCY) -> Mistake | None:
    """Return the mistake in the value of one item, or None. The value None is valid only if it is the default."""
    if value is None:
        if item.default is None:
            return None
        return Mistake("missing-item", f"`{key}` is missing: {item.doc}", f"give `{key}`")
    if isinstance(value, str) and (mistake := mistake_in(key, item, value, currency)) is not None:
        return mistake
    match item.form:
        case "quantity":
            return python_number_mistake(key, item, value, currency)
        case "range":
            return _range_mistake(key, item, value, currency)
        case "distribution":
            if isinstance(value, Distribution):
                return _distribution_mistake(key, item, value)
            return python_number_mistake(key, item, value, currency)
        case "choice":
            if isinstance(value, str) and item.is_choice(value):
                return None
            hint = "one of " + ", ".join(item.listed)
            return Mistake("unknown-choice", f"`{key}` cannot be {described(value)}", hint)
        case "path":
            right = isinstance(value, Source)
            return (
                None
                if right
                else Mistake(
                    "wrong-value", f"`{key}` is a Source, not {described(value)}", "give mrdsl.spec.schema.Source"
                )
            )
        case "moment":
            return _moment_mistake(key, item, value, currency)
        case "text":
            return None if isinstance(value, str) else name_mistake(key, value)
        case "name":
            return name_mistake(key, value)
        case _:
            return _many_mistake(key, item, value, currency)


def _range_mistake(key: str, item: Item, value: Any, currency: str) -> Mistake | None:
    if not isinstance(value, Range):
        return Mistake("wrong-value", f"`{key}` is a Range, not {described(value)}", "give Range(low, high)")
    mistake = python_number_mistake(key, item, value.low, currency) or (
        python_number_mistake(key, item, value.high, currency)
    )
    if mistake is None and value.low > value.high:
        return Mistake(
            "reversed-range",
            f"the range of `{key}` is reversed: {value.low:g} is above {value.high:g}",
            "give the lower end first",
        )
    return mistake


def _distribution_mistake(key: str, item: Item, value: Distribution) -> Mistake | None:
    wanted = DISTRIBUTIONS.get(value.name) if isinstance(value.name, str) else None
    hint = "such as Distribution('uniform', (1.0, 3.0))"
    if wanted is None:
        return Mistake("unknown-function", f"`{key}`: there is no distribution {described(value.name)}", hint)
    if not isinstance(value.parameters, tuple) or len(value.parameters) != wanted:
        return Mistake("wrong-arguments", f"`{key}`: `{value.name}` takes {wanted} parameters in a tuple", hint)
    lists = value.name in LISTS
    for parameter in value.parameters:
        if isinstance(parameter, tuple) != lists or parameter == ():
            return Mistake("wrong-arguments", f"`{key}`: the parameters of `{value.name}` do not match its form", hint)
        for number in parameter if lists else (parameter,):
            mistake = python_number_mistake(key, Item("quantity", "", item.kind), number)
            if mistake is not None:
                return mistake
    problem = problem_of(value.name, list(value.parameters))
    return Mistake("wrong-arguments", f"`{key}`: `{value.name}`: {problem}", hint) if problem else None


def _moment_mistake(key: str, item: Item, value: Any, currency: str) -> Mistake | None:
    if not isinstance(value, str):
        return python_number_mistake(key, item, value, currency)
    if parse_clock(value) is not None:
        return None
    return Mistake("wrong-value", f"`{key}` is {described(value)}, not a clock time", f"give a clock time, {EXAMPLES}")


def _many_mistake(key: str, item: Item, value: Any, currency: str) -> Mistake | None:
    if not isinstance(value, tuple | list):
        return Mistake("wrong-value", f"`{key}` is a tuple, not {described(value)}", "give a tuple")
    if item.form == "names" and all(type(one) is str for one in value) and is_printable("".join(value)):
        return None
    read = _moment_mistake if item.form == "moments" else python_number_mistake
    check = name_mistake if item.form == "names" else lambda k, one: read(k, item, one, currency)
    return next((mistake for one in value if (mistake := check(key, one)) is not None), None)


def _columns(declared: Block, nodes: Columns[Any], path: str, start: int, currency: str) -> Iterator[Diagnostic]:
    """Yield as for nodes, on arrays: one diagnostic for the first wrong row of each column."""
    if not issubclass(nodes.node_type, declared.node):
        yield _told(
            Mistake("wrong-value", f"`{path}` holds {nodes.node_type.__name__}", f"give {declared.node.__name__}"), path
        )
        return
    for index, name in enumerate((nodes.group,) if nodes.group else nodes.names, start):
        mistake = name_mistake("name", name)
        if mistake is None and not name:
            mistake = Mistake("missing-name", f"this `{declared.word}` has no name", "name it")
        if mistake is not None:
            yield _told(mistake, f"{path}[{index}].name")
            break
    for dotted, value in nodes.values.items():
        item = _declared_at(nodes.node_type, dotted)
        if item is None:
            continue
        mistake_of_column = _column_mistake(dotted, item, value, nodes, currency)
        if mistake_of_column is not None:
            yield _told(mistake_of_column[1], f"{path}[{start + mistake_of_column[0]}].{dotted}")


def _declared_at(node_type: type[Node], dotted: str) -> Item | None:
    """Return the item of a column's path, or None for a block that all rows share, and for an unknown path."""
    for word in dotted.split("."):
        declared = declarations(node_type).get(word)
        if isinstance(declared, Item):
            return declared
        if declared is None:
            return None
        node_type = declared.node
    return None


def _column_mistake(
    dotted: str, item: Item, value: Any, nodes: Columns[Any], currency: str
) -> tuple[int, Mistake] | None:
    import numpy as np

    rows = len(nodes)
    if not getattr(value, "ndim", 0):
        # The ends of a range stand in columns of their own.
        if item.form == "range" and isinstance(value, int | float):
            mistake = python_number_mistake(dotted, item, value, currency)
        elif item.whole and isinstance(value, float) and value.is_integer():
            mistake = python_number_mistake(dotted, item, int(value), currency)
        else:
            mistake = item_mistake(dotted, item, value, currency)
        return None if mistake is None else (0, mistake)
    if len(value) != rows:
        return 0, Mistake("wrong-length", f"`{dotted}` has {len(value)} values for {rows} rows", "give one a row")
    if value.dtype.kind not in "fiu":
        return None
    lacks = np.isnan(value) if not item.required else nodes.without_block(dotted)
    right = (np.abs(value) <= LARGEST) & acceptable(item, value) | lacks
    if item.whole:
        right &= lacks | (value == np.round(value))
    wrong = np.flatnonzero(~right)
    if not wrong.size:
        return None
    row = int(wrong[0])
    return row, number_mistake(dotted, item, float(value[row]), currency) or Mistake(
        "not-whole", f"`{dotted}` is {value[row]}, but must be a whole number", "round it"
    )
