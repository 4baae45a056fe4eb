"""Completions at a place of a document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from mrdsl.contracts.family import Family, QuantityKind
from mrdsl.core import units
from mrdsl.editor.assist import Context, before, context_at
from mrdsl.editor.written import Written, first_words
from mrdsl.families import family_names, summary
from mrdsl.language import tree
from mrdsl.language.block_context import TOP_LEVEL_WORDS
from mrdsl.language.evaluate import FUNCTIONS
from mrdsl.language.requirements import WORD
from mrdsl.language.vocabulary import name_text, vocabulary
from mrdsl.solving import registry
from mrdsl.spec.declared import DISTRIBUTIONS
from mrdsl.spec.declared import METHOD_OPTIONS as OPTIONS
from mrdsl.spec.schema import Block, Item

_GOAL = re.compile(r"^\s*(minimize|maximize|estimate)\s+$")
_ASKED = re.compile(r"^\s*(let\s+\w+\s*=|(minimize|maximize)\s+\S.*[-+*/(]\s*$)")
"""Text before a quantity of a plan, where an expression continues."""
_EXTENDS = re.compile(r"(?:^|[,{}])\s*([^\W\d]\w*)\s+(.*\S)\s+extends\s+$")
_ARGUMENT = re.compile(r"([^\W\d]\w*)\s*\(\s*$")
_SECOND = re.compile(r"([^\W\d]\w*)\s*\([^(),]+,\s*$")
_ITEM = re.compile(r"([^\W\d]\w*)\s*=[^=]*$")
_LISTED = re.compile(r"([^\W\d]\w*)\s*=\s*\[[^\]]*$")
_QUOTES = re.compile(r'"(?:\\.|[^"\\])*"')
_ABOUT = re.compile(r"(?:^|[,{}])\s*([^\W\d]\w*)\s+$")


@dataclass(frozen=True)
class Completion:
    """One proposal: the inserted text, its kind (``item``, ``block``, ``unit``, ``value``, ``param``), and a short
    description.
    """

    label: str
    kind: str
    detail: str
    insert: str


def complete(written: Written, line: int, column: int) -> list[Completion]:
    """Return the completions at a place: items and blocks at the start of a statement, otherwise values.

    Within open quotes they are names without quotes.
    """
    head = re.sub(r"[^\W\d]\w*$", "", before(written, line, column))
    if _QUOTES.sub("", head).count('"'):
        found = _proposals(written, line, column, head[: head.rindex('"')])
        names = (one for one in found if one.kind == "value" and not one.insert.endswith("($0)"))
        return [replace(one, insert=_plain(name_text(one.label).strip('"'))) for one in names]
    return _proposals(written, line, column, head)


def _proposals(written: Written, line: int, column: int, head: str) -> list[Completion]:
    context = context_at(written, line, column)
    if re.match(r"^\s*problem\s+$", head):
        return [Completion(name, "value", summary(name), f'{name} "$0"') for name in family_names()]
    if re.search(r"[0-9]\s*$", head):
        return _units(context, head)
    if context.block == "subject" or (not context.blocks and _ASKED.match(head)):
        return _in_comparison(written, context, head)
    if not context.blocks and (goal := _GOAL.match(head)):
        return [*_goals(context.family, goal[1]), *_own_goals(written, context.family, goal[1])]
    if not context.blocks and re.match(r"^\s*solve\s+with\s+$", head):
        return _methods(context.family)
    if extended := _EXTENDS.search(head):
        alike = (one.name for one in written.definitions() if one.word == extended[1])
        return [_named(name, extended[1]) for name in alike if name != extended[2].strip('"')]
    about = _ABOUT.search(head)
    if about is not None and context.words is not None and about[1] in context.words.repeated:
        return _named_by(written, context.words.repeated[about[1]][1].of)
    listed = _LISTED.search(head)
    if listed is not None or "=" in re.split(r"[,{}]", head)[-1]:
        return _values(written, context, head)
    if re.match(r"^.*?(^|[,{}])\s*$", head):
        return _statements(context)
    return []


def _statements(context: Context) -> list[Completion]:
    if context.block == "solve":
        return [Completion(word, "item", item.doc, f"{word} = ") for word, item in OPTIONS.items()]
    if context.block == WORD and len(context.blocks) > 1:
        return _required(context)
    if context.words is None:
        problem = Completion("problem", "block", "what kind of problem this is", "problem ")
        return [problem] if context.family is None and not context.blocks else []
    written = frozenset(first_words(context.piece, context.blocks[-1].start)) if context.blocks else frozenset()
    words = context.words
    out = [Completion(w, "item", i.doc, f"{w} = ") for w, (_, i) in words.items.items() if w not in written]
    out += [Completion(w, "block", b.doc, f"{w} {{ $0 }}") for w, (_, b) in words.singles.items() if w not in written]
    out += [
        Completion(word, "block", block.doc, f"{word} ${{1:NAME}} {{ $0 }}")
        for word, (_, block) in words.repeated.items()
    ]
    listed = _listed(context) if len(context.blocks) == 1 else None
    if listed is not None:
        out.append(Completion(WORD, "block", "which rows count", f"{WORD} {{ $0 }}"))
        if set(context.blocks[0].words) & set(listed.catalogues):
            from mrdsl.language.catalogues import OWN_ITEMS

            out += [Completion(w, "item", i.doc, f"{w} = ") for w, i in OWN_ITEMS.items() if w not in written]
    if not context.blocks:
        out += [Completion(word, "block", "statement", f"{word} ") for word in TOP_LEVEL_WORDS]
        if context.family is not None:
            out += [
                Completion(f"{g.sense} {g.quantity}", "block", g.doc, f"{g.sense} {g.quantity}")
                for g in context.family.goals
            ]
    return out


def _listed(context: Context) -> Block | None:
    """Return the blocks that the outermost block reads from a file, or None."""
    words = context.blocks[0].words
    if context.family is None or "from" not in words:
        return None
    plurals = vocabulary(context.family.facts).plurals
    return plurals[words[0]][1] if words[0] in plurals else None


def _required(context: Context) -> list[Completion]:
    """Inside ``require`` of a table: its name and the attributes that a row may have."""
    listed = _listed(context)
    if listed is None:
        return []
    words = vocabulary(listed.node)
    numbers = {word: item for word, (_, item) in words.items.items() if item.form == "quantity"}
    return [
        Completion("name", "item", "names, `*` for any characters", 'name = "$0"'),
        *(Completion(word, "item", item.doc, f"{word} >= ") for word, item in numbers.items()),
        *(Completion(word, "block", block.doc, f"{word} {{ $0 }}") for word, (_, block) in words.singles.items()),
    ]


def _goals(family: Family | None, sense: str) -> list[Completion]:
    goals = () if family is None else family.goals
    return [Completion(goal.quantity, "value", goal.doc, goal.quantity) for goal in goals if goal.sense == sense]


def _own_goals(written: Written, family: Family | None, sense: str) -> list[Completion]:
    """Return the user-defined quantities, and those of the plan, if a formulation takes such objectives."""
    if family is None or sense == "estimate" or not any(each.other_goals for each in family.formulations):
        return []
    goals = {goal.quantity for goal in family.goals}
    others = [_quantity(one) for one in family.quantities if one.name not in goals]
    return [*(Completion(name, "value", "let", name) for name in _lets(written)), *others]


def _lets(written: Written) -> list[str]:
    return [one.name for one in written.definitions() if one.word == "let"]


def _methods(family: Family | None) -> list[Completion]:
    """Return the family's own methods, then the solvers that take models."""
    own = () if family is None else registry.methods_of(family.name)
    solvers = [one.name for one in registry.readable() if not one.is_pipeline]
    known = {**dict.fromkeys(own, "method"), **dict.fromkeys(solvers, "solver")}
    return [Completion(name, "value", kind, _plain(name_text(name))) for name, kind in known.items()]


def _in_comparison(written: Written, context: Context, head: str) -> list[Completion]:
    """Return completions inside ``subject to``: quantities of the plan, their arguments, and numbers."""
    quantities = () if context.family is None else context.family.quantities
    asked = _ARGUMENT.search(head)
    if asked is not None and asked[1] not in FUNCTIONS:
        return [_named(name, word) for name, word in _arguments(written, context.family, asked[1])]
    second = _SECOND.search(head)
    kind = next(
        (each for each in quantities if second is not None and (each.name, bool(each.per)) == (second[1], True)), None
    )
    if context.family is not None and kind is not None:
        alike = replace(kind, over=kind.per, words=kind.per_words)
        family = replace(context.family, quantities=(alike,))
        return [_named(name, word) for name, word in _arguments(written, family, kind.name)]
    own = [Completion(name, "value", "let", name) for name in _lets(written)]
    return [*own, *(_quantity(one) for one in quantities), *_numbers(written, FUNCTIONS)]


def _arguments(written: Written, family: Family | None, quantity: str) -> Iterator[tuple[str, str]]:
    """Yield the names of the blocks that a quantity is asked of, each with its block's word."""
    if family is None:
        return
    over = {one.over for one in family.quantities if one.name == quantity}
    outer = vocabulary(family.facts).repeated
    words = {word for word, (name, _) in outer.items() if name in over}
    if not words and sum(one.word in outer for one in written.definitions()) == 1:
        # blocks within others, such as the tasks of a dag; of several dags they bear its name besides
        inner = [vocabulary(block.node).repeated for _, block in outer.values()]
        words = {word for each in inner for word, (name, _) in each.items() if name in over}
    yield from ((one.name, one.word) for one in written.definitions() if one.word in words)
    for kind in family.quantities:
        if kind.name == quantity:
            yield from ((word, "value") for word in kind.words)


def _quantity(kind: QuantityKind) -> Completion:
    return Completion(kind.name, "value", kind.doc, f"{kind.name}($0)" if kind.needs_argument else kind.name)


def _values(written: Written, context: Context, head: str) -> list[Completion]:
    item = _item(context, head)
    if item is not None and item.form == "choice":
        return [*(Completion(choice, "value", item.doc, choice) for choice in item.listed), *_words(written)]
    if item is not None and item.of:
        words = [Completion(word, "value", item.doc, word) for word in item.choices if not _LISTED.search(head)]
        return [*words, *_named_by(written, item.of), *_words(written)]
    if item is not None and item.form in ("name", "names"):
        blocks = {one.name: one.word for one in written.definitions() if one.word not in ("param", "let")}
        return [*(_named(name, word) for name, word in blocks.items()), *_words(written)]
    automatic = (
        [Completion("auto", "value", "mrdsl works it out", "auto")] if item is not None and item.automatic else []
    )
    return [*automatic, *_numbers(written, (*FUNCTIONS, *DISTRIBUTIONS))]


def _named_by(written: Written, of: str) -> list[Completion]:
    """Return the names of the blocks with a word."""
    names = dict.fromkeys(one.name for one in written.definitions() if of and one.word == of)
    return [_named(name, of) for name in names]


def _numbers(written: Written, functions: Iterable[str]) -> list[Completion]:
    params = [one.name for one in written.definitions() if one.word == "param"]
    return [
        *(Completion(name, "param", "param", name) for name in params),
        *(Completion(name, "value", "function", f"{name}($0)") for name in functions),
    ]


def _words(written: Written) -> list[Completion]:
    """Return the params that are words."""
    params = {name: statement.value for piece in written.pieces for name, statement in piece.params.items()}
    return [
        Completion(name, "param", f"param {name}", name) for name, value in params.items() if _is_word(value, params, 0)
    ]


def _is_word(value: Any, params: Mapping[str, Any], depth: int) -> bool:
    """Return True if a param's value is a word, by whatever chain of other params."""
    if not isinstance(value, tree.Name):
        return isinstance(value, tree.Text)
    if value.token in params:
        return depth < len(params) and _is_word(params[str(value.token)], params, depth + 1)
    return value.token not in units.UNITS


def _named(name: str, word: str) -> Completion:
    return Completion(name, "value", f"{word} {name}", _plain(name_text(name)))


def _plain(text: str) -> str:
    """Return a text in which an editor finds no snippet's signs."""
    return re.sub(r"([\\$}])", r"\\\1", text)


def _item(context: Context, head: str) -> Item | None:
    """Return the item whose value is being written."""
    match = _ITEM.search(head)
    word = context.words.items.get(match[1]) if match and context.words is not None else None
    return word[1] if word is not None else None


def _units(context: Context, head: str) -> list[Completion]:
    item = _item(context, head)
    wanted = units.KINDS[item.kind].dimension if item is not None else None
    chosen = [u for u in units.UNITS.values() if wanted is None or u.dimension == wanted]
    out = [Completion(unit.name, "unit", units.describe(unit.dimension), unit.name) for unit in chosen]
    if not out and item is not None:
        shown = units.KINDS[item.kind].shown_in()
        out = [Completion(shown, "unit", units.KINDS[item.kind].noun, shown)] if shown else []
    return out
