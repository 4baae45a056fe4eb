"""The reference of every block and item, printed from the facts dataclasses that the resolver itself reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mrdsl.contracts.family import Family, QuantityKind
from mrdsl.core import units
from mrdsl.families import family as find_family
from mrdsl.families import family_names
from mrdsl.language.printing import distribution_text
from mrdsl.language.vocabulary import vocabulary
from mrdsl.spec.declared import DISTRIBUTIONS, limit_words
from mrdsl.spec.declared import METHOD_OPTIONS as OPTIONS
from mrdsl.spec.schema import Block, Distribution, Item, Node

_FORMS = {
    "choice": "one of",
    "text": "text",
    "path": "file",
    "name": "name",
    "names": "list of names",
    "moment": "clock time `22:00`, or an offset `90 min`",
    "moments": "list of clock times or offsets, `[22:00, 23:30]`",
}


def reference(families: Iterable[str] | None = None) -> str:
    """Return the generated part of the language reference, in Markdown; by default of all installed families.

    Raises MrdslError if one cannot be loaded.
    """
    parts = ["## Units", "", *_units(), "", "## Random values", "", *_distributions(), ""]
    parts += ["## Options of `solve with`", "", *_item_table(dict(OPTIONS)), ""]
    for name in family_names() if families is None else families:
        family = find_family(name)
        if family is not None:
            parts += [*_family(family), ""]
    return "\n".join(parts)


def _family(family: Family) -> Iterator[str]:
    yield f"## `problem {family.name}`"
    yield ""
    yield f"{family.summary[:1].upper()}{family.summary[1:].rstrip('.')}. Source: {family.paper}."
    yield ""
    goals = ", ".join(f"`{goal.sense} {goal.quantity}`" for goal in family.goals)
    yield f"Goals: {goals}."
    if family.formulations:
        yield "Formulations: " + "; ".join(f"`{f.name}` ({f.doc})" for f in family.formulations) + "."
        able = [f"`{f.name}`" for f in family.formulations if f.other_goals]
        if able:
            yield f"Linear goals of one's own: {', '.join(able)}."
    if family.quantities:
        shown = (form for quantity in family.quantities for form in _forms(quantity))
        yield "Quantities for `subject to` and `let`: " + ", ".join(shown) + "."
    yield ""
    yield from _node(family.facts, "the top level", set())


def _forms(quantity: QuantityKind) -> Iterator[str]:
    """Yield the ways to write a quantity."""
    if not quantity.needs_argument:
        yield f"`{quantity.name}`"
    if quantity.takes_argument:
        first = quantity.over or " | ".join(quantity.words)
        yield f"`{quantity.name}({first})`"
        if quantity.per:
            yield f"`{quantity.name}({first}, {' | '.join((quantity.per, *quantity.per_words))})`"


def _node(node: type[Node], title: str, seen: set[tuple[type[Node], str]]) -> Iterator[str]:
    if (node, title) in seen:
        return
    seen.add((node, title))
    words = vocabulary(node)
    yield f"### {title}"
    yield ""
    items = {key: item for key, (_, item) in words.items.items()}
    if items:
        yield from _item_table(items)
        yield ""
    blocks = [(word, block) for table in (words.singles, words.repeated) for word, (_, block) in table.items()]
    if blocks:
        yield from _block_table(blocks)
        yield ""
    for word, block in blocks:
        name = f"`{word} NAME`" if block.repeated else f"`{word}`"
        parent = "" if title == "the top level" else f" in {title}"
        yield from _node(block.node, f"{name}{parent}", seen)


def _item_table(items: dict[str, Item]) -> Iterator[str]:
    yield "| item | value | default | limits | symbol | meaning |"
    yield "|---|---|---|---|---|---|"
    for key, item in items.items():
        cells = (f"`{key}`", value_form(item), default_text(item), limits_text(item), _symbol(item), item.doc)
        yield f"| {' | '.join(cells)} |"


def _block_table(blocks: list[tuple[str, Block]]) -> Iterator[str]:
    yield "| block | how often | meaning |"
    yield "|---|---|---|"
    for word, block in blocks:
        form = f'`{word} NAME {{ ... }}`, `{block.plural} from "file"`' if block.repeated else f"`{word} {{ ... }}`"
        form += "".join(f', `{block.plural} from {reader}("file")`' for reader in block.catalogues)
        if block.sources and not block.repeated:
            form = ", ".join(f'`{word} from {source}("file") {{ ... }}`' for source in block.sources)
        if block.short:
            form += f", `{word} = ...` for its `{block.short}`"
        often = (
            ("at least one" if block.required else "any number")
            if block.repeated
            else ("one" if block.required else "at most one")
        )
        yield f"| {form} | {often} | {block.doc} |"


def value_form(item: Item) -> str:
    """Return the kind of value of an item, with an example."""
    if item.form == "choice":
        return " or ".join(
            (*(f"`{choice}`" for choice in item.choices), *(["`p1` to `p99`"] if item.percentiles else []))
        )
    if item.form in _FORMS:
        return _FORMS[item.form]
    kind = units.KINDS[item.kind]
    noun = kind.noun.removeprefix("a ").removeprefix("an ")
    if item.whole and item.kind == "number":
        noun = "whole number"
    form = {"range": "range of ", "list": "list of ", "distribution": "fixed or random "}.get(item.form, "")
    share = f" or a share of `{item.share_of}`, `25%`" if item.share_of else ""
    return f"{form}{noun}, `{kind.example()}`{share}"


def default_text(item: Item) -> str:
    """Return an item's default in its own units, or that it is required."""
    if item.required:
        return "required"
    if item.automatic:
        return "`auto`"
    if item.default is None or item.default == ():
        return ""
    if item.form in ("quantity", "range", "distribution") and isinstance(item.default, int | float):
        return f"`{units.show(float(item.default), item.kind)}`"
    if isinstance(item.default, Distribution):
        return f"`{distribution_text(item.default, item.kind, units.DEFAULT_CURRENCY)}`"
    return f"`{item.default}`"


def limits_text(item: Item) -> str:
    """Return an item's limits in words."""
    return ", ".join([*limit_words(item, units.DEFAULT_CURRENCY), *(["whole"] if item.whole else [])])


def _symbol(item: Item) -> str:
    return f"`{item.symbol}`" if item.symbol else ""


def _units() -> Iterator[str]:
    yield "| dimension | units |"
    yield "|---|---|"
    dimensions: dict[units.Dimension, list[str]] = {}
    for unit in units.UNITS.values():
        dimensions.setdefault(unit.dimension, []).append(unit.name)
    for dimension, names in dimensions.items():
        noun = "a share" if dimension == units.NUMBER else units.describe(dimension)
        yield f"| {noun} | {', '.join(f'`{name}`' for name in names)} |"


def _distributions() -> Iterator[str]:
    from mrdsl.language.evaluate import RANDOM_EXAMPLES

    for name in DISTRIBUTIONS:
        yield f"- {RANDOM_EXAMPLES[name]}"
