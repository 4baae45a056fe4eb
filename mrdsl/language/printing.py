"""A Spec back to text: SI units, every value exact, so that reading the text again gives the same Spec.

Params, imports, ``extends``, tables and generators are gone in a Spec: what they made is written out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from mrdsl.core.units import KINDS
from mrdsl.language.methods import options_of
from mrdsl.language.printing_asked import AskedText
from mrdsl.language.vocabulary import vocabulary
from mrdsl.language.written_words import float_text, name_text, quoted
from mrdsl.spec.schema import Block, Distribution, Item, Node, Range, Source
from mrdsl.spec.spec import Spec

INDENT = "  "


def print_spec(spec: Spec) -> str:
    """The text of a spec, in SI; what ``let`` names is written out wherever it is used."""
    return "\n".join(_statements(spec)) + "\n"


def _statements(spec: Spec) -> Iterator[str]:
    yield f"problem {spec.problem}" + (f" {quoted(spec.title)}" if spec.title else "")
    if spec.seed is not None:
        yield f"seed = {spec.seed}"
    yield from _body(spec.facts, spec.currency, 0)
    asked = AskedText(spec)
    yield from map(asked.let, spec.lets)
    if spec.goal is not None:
        yield asked.goal(spec.goal)
    if spec.constraints:
        yield "subject to {"
        for constraint in spec.constraints:
            yield INDENT + asked.constraint(constraint)
        yield "}"
    if spec.method is not None:
        known = options_of(spec.method.name, spec.problem)
        options = (f"{key} = {_value(known[key], value, spec.currency)}" for key, value in spec.method.options.items())
        yield f"solve with {name_text(spec.method.name)} {{ {', '.join(options)} }}"


def _body(node: Node, currency: str, depth: int) -> Iterator[str]:
    words = vocabulary(type(node))
    indent = INDENT * depth
    for word, (field, item) in words.items.items():
        value = getattr(node, field)
        if value is not None and (value != item.default or item.required):
            yield f"{indent}{word} = {_value(item, value, currency)}"
    for word, (field, _) in words.singles.items():
        inner = getattr(node, field)
        if inner is not None:
            yield from _block(word, inner, currency, depth)
    for word, (field, block) in words.repeated.items():
        yield from _repeated(word, block, getattr(node, field), currency, depth)


def _repeated(word: str, _: Block, nodes: Sequence[Node], currency: str, depth: int) -> Iterator[str]:
    for node in nodes:
        yield from _block(f"{word} {name_text(node.name)}", node, currency, depth)


def _block(header: str, node: Node, currency: str, depth: int) -> Iterator[str]:
    indent = INDENT * depth
    source: Source | None = getattr(node, "source", None)
    if source is not None:
        written = quoted(source.written)
        header += f" from {written if source.reader == 'table' else f'{source.reader}({written})'}"
    yield f"{indent}{header} {{"
    yield from _body(node, currency, depth + 1)
    yield f"{indent}}}"


def _value(item: Item, value: Any, currency: str) -> str:
    match item.form:
        case "text":
            return quoted(value)
        case "path":
            return quoted(value.written)
        case "choice" | "name":
            return name_text(value)
        case "names":
            return f"[{', '.join(map(name_text, value))}]"
        case "list":
            return f"[{', '.join(_number(part, item.kind, currency) for part in value)}]"
        case "moments":
            return f"[{', '.join(_moment(part) for part in value)}]"
        case "moment":
            return _moment(value)
    if isinstance(value, Range):
        return f"{_number(value.low, item.kind, currency)} .. {_number(value.high, item.kind, currency)}"
    if isinstance(value, Distribution):
        return distribution_text(value, item.kind, currency)
    return _number(value, item.kind, currency)


def _moment(value: float | str) -> str:
    return value if isinstance(value, str) else f"{float_text(float(value))} s"


def distribution_text(value: Distribution, kind: str, currency: str) -> str:
    """A distribution as the language writes it, its parameters in the kind's SI unit."""
    parts = []
    for position, parameter in enumerate(value.parameters):
        own = "number" if value.name == "mixture" and position == 0 else kind
        parts.append(
            f"[{', '.join(_number(part, own, currency) for part in parameter)}]"
            if isinstance(parameter, tuple)
            else _number(parameter, own, currency)
        )
    return f"{value.name}({', '.join(parts)})"


def _number(value: float, kind: str, currency: str) -> str:
    """The shortest text that reads back as the same float, with the kind's SI unit."""
    text = repr(value) if isinstance(value, int) else float_text(float(value))
    unit = KINDS[kind].si.format(currency=currency)
    if not unit or kind in ("vms", "slots", "jobs", "tasks"):
        return text
    return f"{text}/s" if unit == "1/s" else f"{text} {unit}"
